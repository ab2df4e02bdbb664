#include "lib/exec/transport/link_memory.h"

#include "lib/base/pool.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

struct item {
	struct item *next;
	struct dfg_message message;
};

struct end {
	struct dfg_link link; /* must be the first member */
	struct end *other;
	struct dfg_link_sink sink;
	pthread_t thread;
	pthread_mutex_t reading; /* held by the thread that delivers to this end */
	pthread_mutex_t lock;    /* protects the fields after it, and the counts of sent messages of the other end */
	struct item *first, **last;
	bool gone;              /* the other end is closed */
	struct dfg_event event; /* signalled when a field of this end changes */
	atomic_bool lost, closing;
};

struct pair {
	struct end end[2];
	atomic_int open; /* number of ends that are open */
};

static void free_items(struct item *item)
{
	while (item) {
		struct item *next = item->next;
		dfg_tensor_release(&item->message.tensor);
		dfg_free(item);
		item = next;
	}
}

/* Removes and returns the messages sent to this end, oldest first; *out_gone: no more will follow. */
static struct item *take_all(struct end *end, bool *out_gone)
{
	pthread_mutex_lock(&end->lock);
	struct item *items = end->first;
	end->first = NULL;
	end->last = &end->first;
	*out_gone = end->gone;
	pthread_mutex_unlock(&end->lock);
	return items;
}

static void hang_up(struct end *end)
{
	pthread_mutex_lock(&end->other->lock);
	end->other->gone = true;
	pthread_mutex_unlock(&end->other->lock);
	dfg_event_signal(&end->other->event);
}

/* Reports the link as lost, once. Takes err. */
static void report_lost(struct end *end, struct dfg_err *err)
{
	if (atomic_exchange(&end->lost, true)) {
		dfg_err_free(err);
		return;
	}
	hang_up(end);
	end->sink.lost(end->sink.arg, end->link.peer, err);
}

static struct dfg_err *copy_strings(const struct dfg_tensor *from, struct dfg_tensor *to)
{
	const struct dfg_string *element = from->data;
	int64_t count = dfg_shape_count(&from->shape);
	for (int64_t i = 0; i < count; i++)
		DFG_TRY(dfg_buffer_string(to->buffer, element[i].s, element[i].length, (struct dfg_string *)to->data + i));
	return NULL;
}

/* Copies the tensor into memory of the sink, if it allocates its own. */
static struct dfg_err *place_in_sink(struct end *end, struct dfg_tensor *tensor)
{
	struct dfg_tensor own;
	if (!end->sink.allocate || !tensor->dtype)
		return NULL;
	DFG_TRY(dfg_link_tensor(&end->sink, tensor->dtype, &tensor->shape, &own));
	struct dfg_err *err = NULL;
	if (tensor->dtype == DFG_STRING)
		err = copy_strings(tensor, &own);
	else if (dfg_tensor_bytes(tensor))
		memcpy(own.data, tensor->data, dfg_tensor_bytes(tensor));
	dfg_tensor_release(tensor);
	*tensor = own;
	return err;
}

static struct dfg_err *deliver(struct end *end, struct dfg_message *message)
{
	uint64_t bytes = dfg_message_bytes(message);
	DFG_TRY(place_in_sink(end, &message->tensor));
	__atomic_fetch_add(&end->link.counts.received_messages, 1, __ATOMIC_RELAXED);
	__atomic_fetch_add(&end->link.counts.received_bytes, bytes, __ATOMIC_RELAXED);
	end->sink.deliver(end->sink.arg, end->link.peer, message);
	message->tensor = (struct dfg_tensor){0};
	return NULL;
}

/* With `reading` held. */
static bool read_all(struct end *end)
{
	bool gone, some = false;
	struct item *items = take_all(end, &gone);
	struct dfg_err *err = NULL;
	for (struct item *item = items; item && !err && !atomic_load(&end->lost) && !atomic_load(&end->closing);
		 item = item->next) {
		err = deliver(end, &item->message);
		some |= !err;
	}
	free_items(items);
	if (!err && gone && !atomic_load(&end->closing))
		err = DFG_ERR(DFG_UNAVAILABLE, "%s has closed the link", dfg_peer_words(end->link.peer).s);
	if (err)
		report_lost(end, err);
	return some;
}

static void *run_end(void *arg)
{
	struct end *end = arg;
	for (;;) {
		uint32_t seen = atomic_load(&end->event.word);
		if (atomic_load(&end->closing))
			return NULL;
		pthread_mutex_lock(&end->reading);
		read_all(end);
		pthread_mutex_unlock(&end->reading);
		dfg_event_wait(&end->event, seen);
	}
}

static bool memory_poll(struct dfg_link *link)
{
	struct end *end = (struct end *)link;
	if (pthread_mutex_trylock(&end->reading))
		return false;
	bool some = read_all(end);
	pthread_mutex_unlock(&end->reading);
	return some;
}

static struct dfg_err *memory_send(struct dfg_link *link, const struct dfg_message *message)
{
	struct end *end = (struct end *)link, *to = end->other;
	if (atomic_load(&end->lost))
		return DFG_ERR(DFG_UNAVAILABLE, "the link to %s is lost", dfg_peer_words(link->peer).s);
	DFG_TRY(dfg_message_check(message));
	struct item *item = dfg_zeros(1, sizeof *item);
	if (!item)
		return dfg_no_memory("a message");
	item->message = *message;
	struct dfg_err *err = message->tensor.dtype ? dfg_tensor_share(&message->tensor, &item->message.tensor) : NULL;
	if (err) {
		dfg_free(item);
		return err;
	}
	__atomic_fetch_add(&link->counts.sent_messages, 1, __ATOMIC_RELAXED);
	__atomic_fetch_add(&link->counts.sent_bytes, dfg_message_bytes(message), __ATOMIC_RELAXED);
	pthread_mutex_lock(&to->lock);
	*to->last = item;
	to->last = &item->next;
	pthread_mutex_unlock(&to->lock);
	dfg_event_signal(&to->event);
	return NULL;
}

static struct dfg_err *memory_pass(struct dfg_link *link, uint64_t tag, int fd)
{
	struct end *to = ((struct end *)link)->other;
	int copy = fcntl(fd, F_DUPFD_CLOEXEC, 0);
	if (copy < 0)
		return DFG_ERR(DFG_MEMORY, "cannot copy a file descriptor for another worker: %s", strerror(errno));
	if (to->sink.passed)
		to->sink.passed(to->sink.arg, to->link.peer, tag, copy);
	else
		close(copy);
	return NULL;
}

static void free_pair(struct pair *pair)
{
	for (int i = 0; i < 2; i++) {
		free_items(pair->end[i].first);
		pthread_mutex_destroy(&pair->end[i].reading);
		pthread_mutex_destroy(&pair->end[i].lock);
	}
	dfg_free(pair);
}

static void memory_close(struct dfg_link *link)
{
	struct end *end = (struct end *)link;
	struct pair *pair = (struct pair *)(end < end->other ? end : end->other);
	atomic_store(&end->closing, true);
	dfg_event_signal(&end->event);
	pthread_join(end->thread, NULL);
	hang_up(end);
	if (atomic_fetch_sub(&pair->open, 1) == 1)
		free_pair(pair);
}

static const struct dfg_link_kind memory = {
	.name = "memory", .send = memory_send, .pass = memory_pass, .poll = memory_poll, .close = memory_close};

static bool init_end(struct end *end, struct end *other, const struct dfg_link_sink *sink, uint32_t peer)
{
	end->link = (struct dfg_link){.kind = &memory, .peer = peer};
	end->other = other;
	end->sink = *sink;
	end->last = &end->first;
	return !pthread_mutex_init(&end->reading, NULL) && !pthread_mutex_init(&end->lock, NULL);
}

/* Creates the thread with all signals blocked, so that they go to the caller's threads. */
static bool start_thread(struct end *end)
{
	sigset_t all, before;
	sigfillset(&all);
	pthread_sigmask(SIG_BLOCK, &all, &before);
	bool started = !pthread_create(&end->thread, NULL, run_end, end);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return started;
}

struct dfg_err *dfg_link_memory_pair(const struct dfg_link_sink *sink_a, uint32_t peer_b,
	const struct dfg_link_sink *sink_b, uint32_t peer_a, struct dfg_link **out_a, struct dfg_link **out_b)
{
	struct pair *pair = dfg_zeros(1, sizeof *pair);
	if (!pair)
		return dfg_no_memory("a link");
	struct end *a = &pair->end[0], *b = &pair->end[1];
	atomic_init(&pair->open, 2);
	bool begun = init_end(a, b, sink_a, peer_b) && init_end(b, a, sink_b, peer_a);
	*out_a = &a->link; /* set before a thread may call a sink */
	*out_b = &b->link;
	bool started = begun && start_thread(a);
	if (started && start_thread(b))
		return NULL;
	if (started) {
		atomic_store(&a->closing, true);
		dfg_event_signal(&a->event);
		pthread_join(a->thread, NULL);
	}
	*out_a = *out_b = NULL;
	free_pair(pair);
	return DFG_ERR(DFG_MEMORY, "cannot start a thread for a link");
}
