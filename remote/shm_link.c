#include "remote/shm_link.h"

#include <sched.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

/* Consecutive polls that find nothing: until the core is yielded; until the peer is asked to wake shm's thread. */
enum { POLLS_RUNNING = 20000, POLLS_AWAKE = 1000 };

/* The caller holds `reading`. Takes err. */
static void lose(struct shm_link *link, struct dfg_err *err)
{
	if (link->closed || atomic_exchange(&link->lost, true)) {
		dfg_err_free(err);
		return;
	}
	shutdown(link->fd, SHUT_RDWR);
	pthread_mutex_lock(&link->writing);
	shm_link_drop_queue(link);
	pthread_mutex_unlock(&link->writing);
	link->sink.lost(link->sink.arg, link->link.peer, err);
}

/* The caller holds `reading`. True where bytes came. */
static bool read_all(struct shm_link *link, bool *out_some)
{
	uint64_t before = link->in.at;
	struct dfg_err *err = NULL;
	if (link->closed || atomic_load(&link->lost))
		return false;
	if (atomic_load_explicit(&link->fault, memory_order_relaxed))
		err = DFG_ERR(DFG_PROTOCOL,
			"%s violated the shared memory protocol: it claims to have read bytes that were not written",
			dfg_peer_words(link->link.peer).s);
	if (!err)
		err = shm_link_read(link, out_some);
	if (err)
		lose(link, err);
	return err || link->in.at != before;
}

/* Checks without a lock: an event missed now is seen at the next check. */
static bool seems_quiet(struct shm_link *link)
{
	return atomic_load_explicit(&link->in.way->written, memory_order_relaxed) ==
			   atomic_load_explicit(&link->read_to, memory_order_relaxed) &&
		   !atomic_load_explicit(&link->fault, memory_order_relaxed);
}

bool shm_link_move(struct shm_link *link, bool *out_some)
{
	bool moved = false;
	if (!seems_quiet(link) && !pthread_mutex_trylock(&link->reading)) {
		moved = read_all(link, out_some);
		pthread_mutex_unlock(&link->reading);
	}
	if (atomic_load_explicit(&link->queued, memory_order_relaxed))
		moved |= shm_link_push(link);
	return moved;
}

bool shm_link_could_move(struct shm_link *link)
{
	size_t there;
	pthread_mutex_lock(&link->reading);
	bool could = !atomic_load(&link->lost) && (atomic_load(&link->fault) || !ring_there(&link->in, &there) || there);
	pthread_mutex_unlock(&link->reading);
	return could || shm_link_could_push(link);
}

void shm_link_end(struct shm_link *link, struct dfg_err *err)
{
	bool some = false;
	pthread_mutex_lock(&link->reading);
	while (read_all(link, &some))
		;
	lose(link, err);
	pthread_mutex_unlock(&link->reading);
}

/*
 * While a thread polls, the peer need not wake any thread, and shm's thread only checks now and then that the polling
 * continues. A thread that polls in vain for long may be about to stop.
 */
static bool shm_link_poll(struct dfg_link *base)
{
	struct shm_link *link = (struct shm_link *)base;
	bool some = false;
	if (!atomic_load_explicit(&link->polled, memory_order_relaxed))
		atomic_store_explicit(&link->polled, true, memory_order_relaxed);
	if (shm_link_move(link, &some)) {
		atomic_store_explicit(&link->empty, 0, memory_order_relaxed);
		if (atomic_load_explicit(&link->here->asleep, memory_order_relaxed) & RING_POLLER_ASLEEP)
			atomic_fetch_and(&link->here->asleep, ~(uint32_t)RING_POLLER_ASLEEP);
		return some;
	}
	unsigned empty = atomic_load_explicit(&link->empty, memory_order_relaxed) + 1;
	atomic_store_explicit(&link->empty, empty, memory_order_relaxed);
	if (empty % POLLS_RUNNING == 0)
		sched_yield(); /* the peer may need this core */
	if (empty % POLLS_AWAKE)
		return false;
	atomic_fetch_or(&link->here->asleep, RING_POLLER_ASLEEP);
	atomic_thread_fence(memory_order_seq_cst);
	shm_link_move(link, &some);
	return some;
}

static void shm_link_close(struct dfg_link *base)
{
	struct shm_link *link = (struct shm_link *)base;
	pthread_mutex_lock(&link->reading);
	link->closed = true;
	atomic_store(&link->lost, true);
	pthread_mutex_unlock(&link->reading);
	pthread_mutex_lock(&link->writing);
	shm_link_drop_queue(link);
	pthread_mutex_unlock(&link->writing);
	shutdown(link->fd, SHUT_RDWR);
	shm_forget(link->shm, link);
	shm_link_unref(link);
}

static const struct dfg_link_kind shm_kind = {
	.name = "shm", .send = shm_link_send, .pass = shm_link_pass, .poll = shm_link_poll, .close = shm_link_close};

void shm_link_unref(struct shm_link *link)
{
	if (atomic_fetch_sub(&link->refs, 1) != 1)
		return;
	shm_link_drop_queue(link);
	if (link->half_read) {
		dfg_tensor_release(&link->incoming.message.tensor);
		dfg_free(link->incoming.packed);
	}
	pthread_mutex_destroy(&link->reading);
	pthread_mutex_destroy(&link->writing);
	pthread_mutex_destroy(&link->queue);
	munmap(link->segment, sizeof *link->segment);
	close(link->fd);
	dfg_free(link);
}

struct dfg_err *shm_link_new(struct dfg_shm *shm, const struct dfg_shm_options *options, uint32_t peer, int fd,
	struct ring_segment *segment, bool connected, struct shm_link **out_link)
{
	struct shm_link *link = dfg_zeros(1, sizeof *link);
	if (!link) {
		munmap(segment, sizeof *segment);
		close(fd);
		return dfg_no_memory("a link");
	}
	int here = !connected, there = connected;
	*link = (struct shm_link){.link = {.kind = &shm_kind, .peer = peer},
		.shm = shm,
		.fd = fd,
		.segment = segment,
		.here = &segment->end[here],
		.there = &segment->end[there],
		.sink = options->sink,
		.tensor_bytes = options->tensor_bytes,
		.in = {.way = &segment->way[there], .bytes = segment->bytes[there]},
		.out = {.way = &segment->way[here], .bytes = segment->bytes[here]}};
	atomic_init(&link->refs, 1);
	link->last_small = &link->small;
	link->last_large = &link->large;
	pthread_mutex_init(&link->reading, NULL);
	pthread_mutex_init(&link->writing, NULL);
	pthread_mutex_init(&link->queue, NULL);
	*out_link = link;
	return NULL;
}
