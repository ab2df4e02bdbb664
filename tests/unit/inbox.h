#pragma once

#include "tests/unit/test.h"

#include "lib/exec/transport/link.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <time.h>

/* A sink that keeps what comes, and waits for it. */

struct inbox {
	pthread_mutex_t lock;
	pthread_cond_t changed;
	struct dfg_message *message; /* what came, in order */
	size_t count, capacity;
	uint32_t peer; /* whom the link named as it last called */
	int lost;
	enum dfg_code code; /* of the loss, and its words, cut */
	char words[200];
	int allocations_left;   /* allocate() fails after this many calls; -1: never */
	void *last_allocated;   /* the last memory of allocate() */
	atomic_int inside;      /* calls of deliver that run now */
	bool beside, after_end; /* two at once; one after the loss */
};

static inline void inbox_deliver(void *arg, uint32_t peer, struct dfg_message *message)
{
	struct inbox *inbox = arg;
	bool beside = atomic_fetch_add(&inbox->inside, 1) > 0;
	pthread_mutex_lock(&inbox->lock);
	inbox->beside |= beside;
	inbox->after_end |= inbox->lost > 0;
	inbox->peer = peer;
	if (!dfg_reserve(&inbox->message, &inbox->capacity, inbox->count + 1, sizeof *inbox->message))
		abort();
	inbox->message[inbox->count++] = *message;
	pthread_cond_broadcast(&inbox->changed);
	pthread_mutex_unlock(&inbox->lock);
	atomic_fetch_sub(&inbox->inside, 1);
}

static inline void inbox_lost(void *arg, uint32_t peer, struct dfg_err *err)
{
	struct inbox *inbox = arg;
	pthread_mutex_lock(&inbox->lock);
	inbox->peer = peer;
	inbox->lost++;
	inbox->code = err->code;
	memcpy(inbox->words, err->text, sizeof inbox->words - 1);
	dfg_err_free(err);
	pthread_cond_broadcast(&inbox->changed);
	pthread_mutex_unlock(&inbox->lock);
}

static inline struct dfg_err *inbox_allocate(
	void *arg, enum dfg_dtype dtype, const struct dfg_shape *shape, struct dfg_tensor *out)
{
	struct inbox *inbox = arg;
	pthread_mutex_lock(&inbox->lock);
	int left = inbox->allocations_left;
	inbox->allocations_left -= left > 0;
	struct dfg_err *err = left ? dfg_tensor_new(dtype, shape, out)
							   : DFG_ERR(DFG_MEMORY, "no memory for %s", dfg_type_words(dtype, shape).s);
	inbox->last_allocated = err ? NULL : out->data;
	pthread_mutex_unlock(&inbox->lock);
	return err;
}

static inline void inbox_begin(struct inbox *inbox)
{
	*inbox = (struct inbox){.allocations_left = -1};
	pthread_mutex_init(&inbox->lock, NULL);
	pthread_condattr_t monotonic;
	pthread_condattr_init(&monotonic);
	pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
	pthread_cond_init(&inbox->changed, &monotonic);
	pthread_condattr_destroy(&monotonic);
}

static inline struct dfg_link_sink inbox_sink(struct inbox *inbox, bool allocates)
{
	return (struct dfg_link_sink){
		.arg = inbox, .deliver = inbox_deliver, .lost = inbox_lost, .allocate = allocates ? inbox_allocate : NULL};
}

/* Forgets what came. */
static inline void inbox_empty(struct inbox *inbox)
{
	pthread_mutex_lock(&inbox->lock);
	for (size_t i = 0; i < inbox->count; i++)
		dfg_tensor_release(&inbox->message[i].tensor);
	inbox->count = 0;
	pthread_mutex_unlock(&inbox->lock);
}

static inline void inbox_end(struct inbox *inbox)
{
	inbox_empty(inbox);
	dfg_free(inbox->message);
	pthread_cond_destroy(&inbox->changed);
	pthread_mutex_destroy(&inbox->lock);
}

static inline size_t inbox_count(struct inbox *inbox)
{
	pthread_mutex_lock(&inbox->lock);
	size_t count = inbox->count;
	pthread_mutex_unlock(&inbox->lock);
	return count;
}

/* A failed wait is a failed test: nothing here takes so long. */
static inline bool inbox_sleep(struct inbox *inbox, const struct timespec *until)
{
	return pthread_cond_timedwait(&inbox->changed, &inbox->lock, until) == 0;
}

static inline struct timespec seconds_from_now(int seconds)
{
	struct timespec until;
	clock_gettime(CLOCK_MONOTONIC, &until);
	until.tv_sec += seconds;
	return until;
}

static inline void inbox_wait(struct inbox *inbox, size_t count)
{
	struct timespec until = seconds_from_now(60);
	bool in_time = true;
	pthread_mutex_lock(&inbox->lock);
	while (inbox->count < count && !inbox->lost && in_time)
		in_time = inbox_sleep(inbox, &until);
	size_t got = inbox->count;
	pthread_mutex_unlock(&inbox->lock);
	if (got < count)
		fail_msg("%zu messages of %zu came%s%s", got, count, inbox->lost ? "; lost: " : "", inbox->words);
}

static inline void inbox_wait_lost(struct inbox *inbox)
{
	struct timespec until = seconds_from_now(60);
	bool in_time = true;
	pthread_mutex_lock(&inbox->lock);
	while (!inbox->lost && in_time)
		in_time = inbox_sleep(inbox, &until);
	int lost = inbox->lost;
	pthread_mutex_unlock(&inbox->lock);
	assert_int_equal(lost, 1);
}

/* Message i, a copy: the array may move. */
static inline struct dfg_message inbox_at(struct inbox *inbox, size_t i)
{
	pthread_mutex_lock(&inbox->lock);
	struct dfg_message message = i < inbox->count ? inbox->message[i] : (struct dfg_message){.kind = 99};
	pthread_mutex_unlock(&inbox->lock);
	return message;
}

/* The peer that the link named in its last call, and the last memory of allocate(). */
static inline uint32_t inbox_peer(struct inbox *inbox)
{
	pthread_mutex_lock(&inbox->lock);
	uint32_t peer = inbox->peer;
	pthread_mutex_unlock(&inbox->lock);
	return peer;
}

static inline const void *inbox_last_allocated(struct inbox *inbox)
{
	pthread_mutex_lock(&inbox->lock);
	const void *data = inbox->last_allocated;
	pthread_mutex_unlock(&inbox->lock);
	return data;
}

static inline int inbox_losses(struct inbox *inbox)
{
	pthread_mutex_lock(&inbox->lock);
	int lost = inbox->lost;
	pthread_mutex_unlock(&inbox->lock);
	return lost;
}

/* Messages of one i32. */
static inline struct dfg_err *try_send_int(struct dfg_link *link, uint32_t number, int32_t value)
{
	struct dfg_message message = {.key = {.step = 1, .number = number}};
	message.tensor = (struct dfg_tensor){.dtype = DFG_I32, .data = &value, .capacity = sizeof value};
	return link->kind->send(link, &message);
}

static inline void send_int(struct dfg_link *link, uint32_t number, int32_t value)
{
	succeeds(try_send_int(link, number, value));
}

static inline int32_t int_of(struct dfg_message message)
{
	assert_int_equal(message.tensor.dtype, DFG_I32);
	return *(int32_t *)message.tensor.data;
}

/* Elements that depend on seed; bools are 0 and 1, strings of all lengths up to 40 with zeros in them. */
static inline struct dfg_tensor tensor_of(enum dfg_dtype dtype, const struct dfg_shape *shape, unsigned seed)
{
	struct dfg_tensor tensor;
	succeeds(dfg_tensor_new(dtype, shape, &tensor));
	if (dtype == DFG_STRING) {
		for (int64_t i = 0; i < dfg_shape_count(shape); i++) {
			char bytes[40];
			for (size_t k = 0; k < sizeof bytes; k++)
				bytes[k] = (char)((seed + (unsigned)i) * k);
			succeeds(dfg_buffer_string(
				tensor.buffer, bytes, (seed + (size_t)i) % (sizeof bytes + 1), (struct dfg_string *)tensor.data + i));
		}
		return tensor;
	}
	for (size_t i = 0; i < dfg_tensor_bytes(&tensor); i++) {
		seed = seed * 1664525u + 1013904223u;
		((uint8_t *)tensor.data)[i] = dtype == DFG_BOOL ? seed >> 31 : (uint8_t)(seed >> 24);
	}
	return tensor;
}

static inline void expect_strings(const struct dfg_tensor *got, const struct dfg_tensor *wanted)
{
	const struct dfg_string *a = got->data, *b = wanted->data;
	for (int64_t i = 0; i < dfg_shape_count(&wanted->shape); i++) {
		assert_int_equal(a[i].length, b[i].length);
		if (b[i].length)
			assert_memory_equal(a[i].s, b[i].s, b[i].length);
	}
}

static inline void expect_tensor(const struct dfg_tensor *got, const struct dfg_tensor *wanted)
{
	assert_int_equal(got->dtype, wanted->dtype);
	assert_true(dfg_shape_equal(&got->shape, &wanted->shape));
	if (wanted->dtype == DFG_STRING)
		expect_strings(got, wanted);
	else if (dfg_tensor_bytes(wanted))
		assert_memory_equal(got->data, wanted->data, dfg_tensor_bytes(wanted));
}
