#include "lib/exec/transport/rendezvous.h"

#include "lib/base/hash.h"
#include "lib/base/map.h"
#include "lib/base/mem.h"
#include "lib/exec/transport/rendezvous_private.h"

#include <stdio.h>
#include <string.h>

/*
 * One hash table under one lock, which is not held while a link sends or a wait is completed. A key has either a value
 * that was not received yet, or a wait. Values of later steps are in the same table, since keys include the step.
 */
enum {
	EARLY_VALUES = 1 << 18,
	EARLY_BYTES = 1 << 30,
	BUCKETS_LEAST = 64, /* a power of two */
};

/* Returns the old error, which must be freed without the lock. */
static struct dfg_err *replace(struct dfg_err **at, struct dfg_err *err)
{
	struct dfg_err *old = *at;
	*at = err;
	return old;
}

struct dfg_err *dfg_rendezvous_new(const struct dfg_rendezvous_options *options, struct dfg_rendezvous **out_rendezvous)
{
	struct dfg_rendezvous *rendezvous = dfg_zeros(1, sizeof *rendezvous);
	if (!rendezvous)
		return dfg_no_memory("the rendezvous");
	if (pthread_mutex_init(&rendezvous->lock, NULL)) {
		dfg_free(rendezvous);
		return dfg_no_memory("the rendezvous");
	}
	rendezvous->options = *options;
	if (!options->early_values)
		rendezvous->options.early_values = EARLY_VALUES;
	if (!options->credit)
		rendezvous->options.credit = DFG_CREDIT;
	if (!options->early_bytes)
		rendezvous->options.early_bytes = EARLY_BYTES + options->workers * rendezvous->options.credit;
	rendezvous->buckets = BUCKETS_LEAST;
	rendezvous->bucket = dfg_zeros(BUCKETS_LEAST, sizeof *rendezvous->bucket);
	rendezvous->peer = dfg_zeros(options->workers, sizeof *rendezvous->peer);
	if (!rendezvous->bucket || !rendezvous->peer) {
		dfg_rendezvous_free(rendezvous);
		return dfg_no_memory("the rendezvous");
	}
	for (uint32_t i = 0; i < options->workers; i++)
		rendezvous->peer[i].credit.limit = rendezvous->options.credit;
	*out_rendezvous = rendezvous;
	return NULL;
}

/* Removes the value that *at points to from the table. */
static void drop_value(struct dfg_rendezvous *rendezvous, struct value **at)
{
	struct value *value = *at;
	*at = value->next;
	dfg_credit_take(&rendezvous->peer[value->from].credit, value->cost);
	dfg_tensor_release(&value->tensor);
	value->next = rendezvous->free_value;
	rendezvous->free_value = value;
	rendezvous->values--;
}

/* Drops the values of earlier steps; returns how many. */
static uint64_t drop_before(struct dfg_rendezvous *rendezvous, uint64_t step)
{
	uint64_t dropped = 0;
	for (size_t b = 0; b < rendezvous->buckets && rendezvous->values; b++)
		for (struct value **at = &rendezvous->bucket[b].value; *at;)
			if ((*at)->key.step < step) {
				drop_value(rendezvous, at);
				dropped++;
			} else {
				at = &(*at)->next;
			}
	return dropped;
}

void dfg_rendezvous_free(struct dfg_rendezvous *rendezvous)
{
	if (!rendezvous)
		return;
	for (size_t b = 0; rendezvous->bucket && b < rendezvous->buckets; b++)
		while (rendezvous->bucket[b].value)
			drop_value(rendezvous, &rendezvous->bucket[b].value);
	while (rendezvous->free_value) {
		struct value *value = rendezvous->free_value;
		rendezvous->free_value = value->next;
		dfg_free(value);
	}
	dfg_err_free(rendezvous->failed);
	dfg_err_free(rendezvous->lost);
	dfg_err_free(rendezvous->late);
	for (uint32_t i = 0; rendezvous->peer && i < rendezvous->options.workers; i++)
		dfg_credit_release(&rendezvous->peer[i].credit);
	dfg_free(rendezvous->bucket);
	dfg_free(rendezvous->peer);
	pthread_mutex_destroy(&rendezvous->lock);
	dfg_free(rendezvous);
}

struct dfg_err *dfg_rendezvous_worker(const struct dfg_rendezvous *rendezvous, const char *device, uint32_t *out_worker)
{
	char names[600] = "none";
	size_t at = 0;
	for (uint32_t i = 0; i < rendezvous->options.workers; i++) {
		const char *name = rendezvous->options.device[i];
		if (!strcmp(name, device)) {
			*out_worker = i;
			return NULL;
		}
		if (at + strlen(name) + 3 < sizeof names)
			at += (size_t)snprintf(names + at, sizeof names - at, "%s%s", at ? ", " : "", name);
	}
	return DFG_ERR(DFG_DATA, "no worker has the device '%s'; the devices are %s", device, names);
}

static uint64_t mix(uint64_t hash, uint64_t word)
{
	return dfg_hash_word(dfg_hash_key, hash, word);
}

static struct bucket *find_bucket(const struct dfg_rendezvous *rendezvous, const struct dfg_transfer_key *key)
{
	uint64_t hash = mix(mix(dfg_hash_key.seed, key->step), (uint64_t)key->number << 32 | key->depth);
	for (uint32_t i = 0; i < key->depth; i++)
		hash = mix(hash, (uint64_t)key->iteration[i]);
	return &rendezvous->bucket[hash & (rendezvous->buckets - 1)];
}

static struct value **find_value(struct bucket *bucket, const struct dfg_transfer_key *key)
{
	struct value **at = &bucket->value;
	while (*at && !dfg_transfer_key_equal(&(*at)->key, key))
		at = &(*at)->next;
	return at;
}

static struct dfg_wait **find_wait(struct bucket *bucket, const struct dfg_transfer_key *key)
{
	struct dfg_wait **at = &bucket->wait;
	while (*at && !dfg_transfer_key_equal(&(*at)->key, key))
		at = &(*at)->next;
	return at;
}

/* Doubles the number of buckets if there are as many values and waits. Without memory, chains stay long. */
static void grow_table(struct dfg_rendezvous *rendezvous)
{
	struct bucket *old = rendezvous->bucket;
	size_t buckets = rendezvous->buckets;
	if (rendezvous->values + rendezvous->waits < buckets)
		return;
	struct bucket *bucket = dfg_zeros(2 * buckets, sizeof *bucket);
	if (!bucket)
		return;
	rendezvous->bucket = bucket;
	rendezvous->buckets = 2 * buckets;
	for (size_t b = 0; b < buckets; b++) {
		for (struct value *value = old[b].value, *next; value; value = next) {
			struct bucket *to = find_bucket(rendezvous, &value->key);
			next = value->next;
			value->next = to->value;
			to->value = value;
		}
		for (struct dfg_wait *wait = old[b].wait, *next; wait; wait = next) {
			struct bucket *to = find_bucket(rendezvous, &wait->key);
			next = wait->next;
			wait->next = to->wait;
			to->wait = wait;
		}
	}
	dfg_free(old);
}

/* Removes all waits from the table, and all Sends that are held back; returns them as a list. */
static struct dfg_wait *take_waits(struct dfg_rendezvous *rendezvous)
{
	struct dfg_wait *waits = NULL;
	for (size_t b = 0; b < rendezvous->buckets && rendezvous->waits; b++)
		while (rendezvous->bucket[b].wait) {
			struct dfg_wait *wait = rendezvous->bucket[b].wait;
			rendezvous->bucket[b].wait = wait->next;
			wait->next = waits;
			waits = wait;
			rendezvous->waits--;
		}
	for (uint32_t i = 0; i < rendezvous->options.workers; i++)
		for (struct dfg_wait *held = dfg_credit_give_up(&rendezvous->peer[i].credit), *next; held; held = next) {
			next = held->next;
			held->next = waits;
			waits = held;
		}
	return waits;
}

static void tell_all(struct dfg_wait *waits, const struct dfg_err *err)
{
	for (struct dfg_wait *next; waits; waits = next) {
		next = waits->next;
		dfg_tensor_release(&waits->value);
		waits->come(waits, &(struct dfg_tensor){0}, false, dfg_err_copy(err));
	}
}

/* Steps. */

void dfg_rendezvous_begin(struct dfg_rendezvous *rendezvous, uint64_t step)
{
	pthread_mutex_lock(&rendezvous->lock);
	rendezvous->step = step;
	rendezvous->running = true;
	drop_before(rendezvous, step);
	struct dfg_err *old = replace(&rendezvous->failed, NULL), *late = NULL;
	rendezvous->early_values = rendezvous->early_bytes = 0;
	for (size_t b = 0; b < rendezvous->buckets && rendezvous->values; b++)
		for (const struct value *value = rendezvous->bucket[b].value; value; value = value->next)
			if (value->key.step > step) {
				rendezvous->early_values++;
				rendezvous->early_bytes += dfg_tensor_bytes(&value->tensor);
			}
	if (rendezvous->late && rendezvous->late_step <= step)
		late = replace(&rendezvous->late, NULL);
	if (rendezvous->lost)
		rendezvous->failed = dfg_err_copy(rendezvous->lost);
	else if (late && rendezvous->late_step == step)
		rendezvous->failed = replace(&late, NULL);
	for (uint32_t i = 0; i < rendezvous->options.workers; i++) {
		rendezvous->peer[i].waited = (struct dfg_waited){0};
		dfg_credit_forget(&rendezvous->peer[i].credit, step);
	}
	pthread_mutex_unlock(&rendezvous->lock);
	dfg_err_free(old);
	dfg_err_free(late);
	dfg_tell_peers(rendezvous);
}

uint64_t dfg_rendezvous_end(struct dfg_rendezvous *rendezvous)
{
	pthread_mutex_lock(&rendezvous->lock);
	rendezvous->running = false;
	rendezvous->step++;
	uint64_t left = drop_before(rendezvous, rendezvous->step) + rendezvous->waits;
	for (uint32_t i = 0; i < rendezvous->options.workers; i++)
		left += rendezvous->peer[i].credit.held != NULL;
	pthread_mutex_unlock(&rendezvous->lock);
	dfg_tell_peers(rendezvous);
	return left;
}

/* With the lock held. */
static struct dfg_err *check_running(const struct dfg_rendezvous *rendezvous)
{
	if (rendezvous->failed)
		return dfg_err_copy(rendezvous->failed);
	return rendezvous->running ? NULL : DFG_ERR(DFG_BUG, "no step is running");
}

void dfg_rendezvous_fail_locked(struct dfg_rendezvous *rendezvous, struct dfg_err *err)
{
	struct dfg_wait *waits = NULL;
	struct dfg_err *told = NULL;
	if (rendezvous->running && !rendezvous->failed) {
		waits = take_waits(rendezvous);
		rendezvous->failed = err;
		told = dfg_err_copy(err);
		err = NULL;
	}
	pthread_mutex_unlock(&rendezvous->lock);
	tell_all(waits, told);
	dfg_err_free(told);
	dfg_err_free(err);
}

void dfg_rendezvous_fail(struct dfg_rendezvous *rendezvous, struct dfg_err *err)
{
	pthread_mutex_lock(&rendezvous->lock);
	dfg_rendezvous_fail_locked(rendezvous, err);
}

/* Names the worker by its number, and by its host's name if that is different. */
static struct dfg_err *note_lost(const struct dfg_rendezvous *rendezvous, uint32_t peer, struct dfg_err *err)
{
	const char *const *names = rendezvous->options.name;
	char number[16];
	snprintf(number, sizeof number, "w%u", peer);
	if (!names || !strcmp(names[peer], number))
		return dfg_err_note(err, "worker %s is lost", number);
	return dfg_err_note(err, "worker %s (%s) is lost", number, names[peer]);
}

void dfg_rendezvous_lost(struct dfg_rendezvous *rendezvous, uint32_t peer, struct dfg_err *err)
{
	if (peer != DFG_LAUNCHER)
		err = note_lost(rendezvous, peer, err);
	pthread_mutex_lock(&rendezvous->lock);
	if (!rendezvous->lost)
		rendezvous->lost = dfg_err_copy(err);
	dfg_rendezvous_fail_locked(rendezvous, err);
}

/* Values. */

static struct dfg_err *wrong_sender(const struct dfg_transfer_key *key, uint32_t wanted, uint32_t from)
{
	return DFG_ERR(DFG_PROTOCOL, "transfer %u came from worker w%u, expected w%u", key->number, from, wanted);
}

/* Cost in credit; values sent to this worker itself cost nothing. */
static uint64_t cost_of(const struct dfg_rendezvous *rendezvous, uint32_t peer, const struct dfg_message *message)
{
	return peer == rendezvous->options.self ? 0 : dfg_credit_cost(message);
}

static struct dfg_err *keep_value(
	struct dfg_rendezvous *rendezvous, struct bucket *bucket, uint32_t from, const struct dfg_message *message)
{
	struct value *value = rendezvous->free_value;
	if (value)
		rendezvous->free_value = value->next;
	else if (!(value = dfg_zeros(1, sizeof *value)))
		return dfg_no_memory("the rendezvous");
	dfg_transfer_key_copy(&value->key, &message->key);
	value->from = from;
	value->dead = message->dead;
	value->tensor = message->tensor;
	value->cost = cost_of(rendezvous, from, message);
	value->next = bucket->value;
	bucket->value = value;
	rendezvous->values++;
	grow_table(rendezvous);
	return NULL;
}

/* Delivers a value of the running step. Takes the tensor. The lock is held before, and released. */
static void deliver_now(struct dfg_rendezvous *rendezvous, uint32_t from, struct dfg_message *message)
{
	struct bucket *bucket = find_bucket(rendezvous, &message->key);
	struct dfg_wait **at = find_wait(bucket, &message->key), *wait = *at;
	struct dfg_err *err = NULL;
	if (wait) {
		*at = wait->next;
		rendezvous->waits--;
		dfg_credit_take(&rendezvous->peer[from].credit, cost_of(rendezvous, from, message));
		dfg_unlock_and_tell(rendezvous, from);
		if (wait->from != from)
			err = wrong_sender(&message->key, wait->from, from);
		if (err)
			dfg_tensor_release(&message->tensor);
		wait->come(wait, &message->tensor, message->dead && !err, err);
		return;
	}
	if (*find_value(bucket, &message->key))
		err = DFG_ERR(DFG_PROTOCOL, "transfer %u arrived twice from worker w%u", message->key.number, from);
	else
		err = keep_value(rendezvous, bucket, from, message);
	if (!err) {
		pthread_mutex_unlock(&rendezvous->lock);
		return;
	}
	dfg_rendezvous_fail_locked(rendezvous, err);
	dfg_tensor_release(&message->tensor);
}

/* Stores a value of a future step. With the lock held; false if it is refused. */
static bool keep_early(struct dfg_rendezvous *rendezvous, uint32_t from, struct dfg_message *message)
{
	size_t bytes = dfg_tensor_bytes(&message->tensor);
	struct dfg_err *err = NULL;
	if (rendezvous->early_values >= rendezvous->options.early_values ||
		bytes > rendezvous->options.early_bytes - rendezvous->early_bytes)
		err = DFG_ERR(DFG_PROTOCOL,
			"worker w%u sent more values of a step that has not begun here than may be stored: there are %llu already",
			from, (unsigned long long)rendezvous->early_values);
	else
		err = keep_value(rendezvous, find_bucket(rendezvous, &message->key), from, message);
	if (!err) {
		rendezvous->early_values++;
		rendezvous->early_bytes += bytes;
		return true;
	}
	if (!rendezvous->late || message->key.step < rendezvous->late_step) {
		rendezvous->late_step = message->key.step;
		err = replace(&rendezvous->late, err);
	}
	dfg_err_free(err);
	return false;
}

static void deliver_value(struct dfg_rendezvous *rendezvous, uint32_t from, struct dfg_message *message)
{
	uint64_t step = message->key.step;
	bool kept = false;
	pthread_mutex_lock(&rendezvous->lock);
	bool now = rendezvous->running && step == rendezvous->step;
	if (message->key.depth > DFG_LINK_DEPTH) {
		dfg_rendezvous_fail_locked(
			rendezvous, DFG_ERR(DFG_PROTOCOL, "worker w%u sent a value from %u nested loops, the limit is %d", from,
							message->key.depth, DFG_LINK_DEPTH));
	} else if (now && !rendezvous->failed) {
		deliver_now(rendezvous, from, message);
		return;
	} else {
		kept = !now && step >= rendezvous->step && keep_early(rendezvous, from, message);
		pthread_mutex_unlock(&rendezvous->lock);
	}
	if (kept)
		return;
	uint64_t cost = cost_of(rendezvous, from, message);
	dfg_tensor_release(&message->tensor);
	pthread_mutex_lock(&rendezvous->lock);
	dfg_credit_take(&rendezvous->peer[from].credit, cost);
	dfg_unlock_and_tell(rendezvous, from);
}

void dfg_rendezvous_deliver(struct dfg_rendezvous *rendezvous, uint32_t from, struct dfg_message *message)
{
	if (from < rendezvous->options.workers && message->kind == DFG_MESSAGE_TENSOR) {
		deliver_value(rendezvous, from, message);
		return;
	}
	dfg_tensor_release(&message->tensor);
	if (from < rendezvous->options.workers)
		dfg_rendezvous_flow_control(rendezvous, from, message);
}

static void count_sent(struct dfg_sent *sent, const struct dfg_message *message)
{
	sent->messages++;
	sent->dead += message->dead;
	sent->bytes += message->dead ? 0 : dfg_tensor_bytes(&message->tensor);
}

/* wait: NULL, or the wait of the Send, which is kept while there is no credit for it. */
static struct dfg_err *send_message(
	struct dfg_rendezvous *rendezvous, uint32_t to, struct dfg_wait *wait, struct dfg_message *message, bool *out_held)
{
	bool self = to == rendezvous->options.self;
	uint64_t cost = cost_of(rendezvous, to, message);
	pthread_mutex_lock(&rendezvous->lock);
	struct dfg_err *err = check_running(rendezvous);
	message->key.step = rendezvous->step;
	if (!err)
		count_sent(&rendezvous->peer[to].sent, message);
	if (!err && wait && !self)
		err = dfg_hold(rendezvous, wait, message, cost, out_held);
	else if (!err)
		rendezvous->peer[to].credit.sent += cost;
	pthread_mutex_unlock(&rendezvous->lock);
	if (err || *out_held)
		return err;
	if (self) {
		struct dfg_message own = *message;
		if (!own.dead)
			DFG_TRY(dfg_tensor_share(&message->tensor, &own.tensor));
		dfg_rendezvous_deliver(rendezvous, to, &own);
		return NULL;
	}
	struct dfg_link *link = rendezvous->options.link[to];
	if (!link)
		return DFG_ERR(DFG_BUG, "there is no link to worker w%u", to);
	return dfg_err_note(link->kind->send(link, message), "to worker w%u", to);
}

struct dfg_err *dfg_rendezvous_offer(
	struct dfg_rendezvous *rendezvous, struct dfg_wait *wait, const struct dfg_tensor *tensor, bool *out_held)
{
	struct dfg_message message = {.kind = DFG_MESSAGE_TENSOR, .dead = !tensor};
	dfg_transfer_key_copy(&message.key, &wait->key);
	if (tensor)
		message.tensor = *tensor;
	*out_held = false;
	return send_message(rendezvous, wait->from, wait, &message, out_held);
}

struct dfg_err *dfg_rendezvous_send(
	struct dfg_rendezvous *rendezvous, uint32_t to, const struct dfg_transfer_key *key, const struct dfg_tensor *tensor)
{
	struct dfg_message message = {.kind = DFG_MESSAGE_TENSOR, .dead = !tensor};
	bool held = false;
	dfg_transfer_key_copy(&message.key, key);
	if (tensor)
		message.tensor = *tensor;
	return send_message(rendezvous, to, NULL, &message, &held);
}

/* Takes the value, or registers the wait. With the lock held. */
static struct dfg_err *take_or_wait(struct dfg_rendezvous *rendezvous, struct dfg_wait *wait,
	struct dfg_tensor *out_tensor, bool *out_dead, bool *out_there)
{
	DFG_TRY(check_running(rendezvous));
	wait->key.step = rendezvous->step;
	struct bucket *bucket = find_bucket(rendezvous, &wait->key);
	struct value **at = find_value(bucket, &wait->key), *value = *at;
	*out_there = value != NULL;
	if (value && value->from != wait->from)
		return wrong_sender(&wait->key, wait->from, value->from);
	if (value) {
		*out_tensor = value->tensor;
		*out_dead = value->dead;
		value->tensor = (struct dfg_tensor){0};
		drop_value(rendezvous, at);
		return NULL;
	}
	if (*find_wait(bucket, &wait->key))
		return DFG_ERR(DFG_DATA, "transfer %u is received by two nodes at once", wait->key.number);
	wait->next = bucket->wait;
	bucket->wait = wait;
	rendezvous->waits++;
	grow_table(rendezvous);
	return NULL;
}

struct dfg_err *dfg_rendezvous_receive(struct dfg_rendezvous *rendezvous, struct dfg_wait *wait,
	struct dfg_tensor *out_tensor, bool *out_dead, bool *out_there)
{
	uint32_t from = wait->from;
	pthread_mutex_lock(&rendezvous->lock);
	struct dfg_err *err = take_or_wait(rendezvous, wait, out_tensor, out_dead, out_there);
	bool wanted = !err && !*out_there && rendezvous->peer[from].credit.peer_stalled;
	struct dfg_transfer_key key; /* copied because the wait may be completed, and gone, once the lock is released */
	if (wanted)
		dfg_transfer_key_copy(&key, &wait->key);
	dfg_unlock_and_tell(rendezvous, from);
	if (wanted)
		dfg_said(rendezvous, dfg_say(rendezvous, from, DFG_MESSAGE_WANTED, &key));
	return err;
}

bool dfg_rendezvous_poll(struct dfg_rendezvous *rendezvous)
{
	bool came = false;
	for (uint32_t i = 0; i < rendezvous->options.workers; i++) {
		struct dfg_link *link = rendezvous->options.link[i];
		if (link && link->kind->poll)
			came |= link->kind->poll(link);
	}
	return came;
}

void dfg_rendezvous_rest(struct dfg_rendezvous *rendezvous)
{
	for (uint32_t i = 0; i < rendezvous->options.workers; i++) {
		struct dfg_link *link = rendezvous->options.link[i];
		if (link && link->kind->idle)
			link->kind->idle(link);
	}
}

void dfg_rendezvous_sent(const struct dfg_rendezvous *rendezvous, uint32_t worker, struct dfg_sent *out_sent)
{
	/* for the lock only; the fields that it protects are only read */
	struct dfg_rendezvous *writable = (struct dfg_rendezvous *)rendezvous;
	pthread_mutex_lock(&writable->lock);
	*out_sent = rendezvous->peer[worker].sent;
	pthread_mutex_unlock(&writable->lock);
}

/* Called only by the thread that runs the step, so no lock is needed. */
void dfg_rendezvous_waited(struct dfg_rendezvous *rendezvous, uint32_t from, uint32_t number, uint64_t ns)
{
	struct dfg_waited *waited = &rendezvous->peer[from].waited;
	waited->waits++;
	waited->ns += ns;
	if (ns > waited->longest_ns) {
		waited->longest_ns = ns;
		waited->longest = number;
	}
}

struct dfg_waited dfg_rendezvous_waits(const struct dfg_rendezvous *rendezvous, uint32_t from)
{
	return rendezvous->peer[from].waited;
}
