#include "remote/shm_link.h"

#include <errno.h>
#include <sys/socket.h>

/*
 * A sender writes straight into the ring if no message waits before its own and there is space; else the message waits
 * in a queue, and the next holder of `writing` takes it from there. A sender never waits for space, nor for another
 * sender.
 */
/* bytes written at once; shm's thread writes the remainder, so that senders return soon */
enum { PUSH_MOST = RING_BYTES };

void shm_link_wake(struct shm_link *link)
{
	atomic_thread_fence(memory_order_seq_cst); /* orders the stores before the check who sleeps */
	if (atomic_load_explicit(&link->there->asleep, memory_order_relaxed) && atomic_exchange(&link->there->asleep, 0))
		/* full: the peer has been woken; ended: poll() reports it */
		(void)!send(link->fd, "", 1, MSG_DONTWAIT | MSG_NOSIGNAL);
}

static bool fault(struct shm_link *link)
{
	atomic_store(&link->fault, true);
	shm_nudge(link->shm);
	return false;
}

/* The message is written completely. The counters are written by one thread at a time, and read by any. */
static void count(struct shm_link *link, const struct outgoing *out)
{
	struct dfg_link_counts *counts = &link->link.counts;
	uint64_t bytes = out->packed ? out->bytes - (uint64_t)dfg_shape_count(&out->message->tensor.shape) * 8 : out->bytes;
	__atomic_store_n(&counts->sent_messages, counts->sent_messages + 1, __ATOMIC_RELAXED);
	__atomic_store_n(&counts->sent_bytes, counts->sent_bytes + bytes, __ATOMIC_RELAXED);
}

/* Writes the next frame of the message, of at most `free` bytes. The caller holds `writing`. */
static void write_frame(struct shm_link *link, struct outgoing *out, size_t free)
{
	const struct dfg_message *message = out->message;
	const struct dfg_transfer_key *key = &message->key;
	struct shm_frame frame = {.type = FRAME_MORE};
	if (!out->begun)
		frame = (struct shm_frame){.type = FRAME_MESSAGE,
			.kind = (uint8_t)message->kind,
			.dead = message->dead,
			.dtype = (uint8_t)message->tensor.dtype,
			.number = key->number,
			.depth = (uint8_t)key->depth,
			.rank = message->tensor.dtype ? (uint8_t)message->tensor.shape.rank : 0,
			.step = key->step,
			.bytes = out->bytes};
	uint64_t most = free - frame_length(frame.depth, frame.rank, 0), left = out->bytes - out->sent;
	most = most < FRAME_MOST ? most : FRAME_MOST;
	frame.count = (uint32_t)(left < most ? left : most);
	ring_put(&link->out, &frame, sizeof frame);
	ring_put(&link->out, key->iteration, frame.depth * sizeof *key->iteration);
	ring_put(&link->out, message->tensor.shape.dim, frame.rank * sizeof *message->tensor.shape.dim);
	ring_put(&link->out, out->payload + out->sent, frame.count);
	link->out.at += -frame.count & 7;
	ring_publish(&link->out);
	shm_link_wake(link);
	out->begun = true;
	out->sent += frame.count;
	if (out->sent == out->bytes)
		count(link, out);
}

/* Bytes of space needed to continue: all of a small message, or a part of a large one that is worth a frame. */
static size_t needs(const struct outgoing *out)
{
	uint64_t left = out->bytes - out->sent, least = out->bytes > SMALL_MOST ? FRAME_MOST / 4 : SMALL_MOST;
	const struct dfg_message *message = out->message;
	return frame_length(message->key.depth, message->tensor.shape.rank, left < least ? left : least);
}

/*
 * Whether there is space to continue. If not, the peer is told that a writer waits. False too where the ring is broken.
 */
static bool has_space(struct shm_link *link, const struct outgoing *out, size_t *out_free)
{
	size_t want = needs(out);
	if (!ring_space(&link->out, want, out_free))
		return fault(link);
	if (*out_free >= want)
		return true;
	atomic_store(&link->here->waiting, 1);
	/* the peer reads, then checks for waiting writers; this checks for space again after the store */
	atomic_thread_fence(memory_order_seq_cst);
	if (!ring_space(&link->out, want, out_free))
		return fault(link);
	return *out_free >= want;
}

static struct outgoing *next_of(struct shm_link *link)
{
	pthread_mutex_lock(&link->queue);
	struct outgoing *out = link->small ? link->small : link->large;
	pthread_mutex_unlock(&link->queue);
	return out;
}

static void drop(struct outgoing *out)
{
	dfg_tensor_release(&out->own.tensor);
	dfg_free(out->packed);
	dfg_free(out);
}

/* Removes the completely written message. */
static void dequeue(struct shm_link *link, struct outgoing *out)
{
	pthread_mutex_lock(&link->queue);
	if (out == link->small && !(link->small = out->next))
		link->last_small = &link->small;
	else if (out == link->large && !(link->large = out->next))
		link->last_large = &link->large;
	atomic_fetch_sub(&link->queued, 1);
	pthread_mutex_unlock(&link->queue);
	drop(out);
}

/* The caller holds `writing`. True where messages remain and there is space. */
static bool write_queued(struct shm_link *link, size_t *left, bool *moved)
{
	while (*left && atomic_load(&link->queued)) {
		size_t free;
		struct outgoing *out = next_of(link);
		if (!has_space(link, out, &free))
			return false;
		uint64_t before = out->sent;
		write_frame(link, out, free);
		*moved = true;
		size_t length = out->sent - before + sizeof(struct shm_frame);
		*left -= length < *left ? length : *left;
		if (out->sent == out->bytes)
			dequeue(link, out);
	}
	if (!atomic_load(&link->queued))
		atomic_store_explicit(&link->here->waiting, 0, memory_order_relaxed);
	return true;
}

/*
 * A thread that finds `writing` held leaves its message to the holder, so the holder checks the queue again after
 * releasing it.
 */
bool shm_link_push(struct shm_link *link)
{
	size_t left = PUSH_MOST;
	bool moved = false, capacity = true;
	while (capacity && left && atomic_load(&link->queued) && !atomic_load(&link->lost)) {
		if (pthread_mutex_trylock(&link->writing))
			return moved;
		capacity = write_queued(link, &left, &moved);
		pthread_mutex_unlock(&link->writing);
	}
	if (!left && atomic_load(&link->queued))
		shm_nudge(link->shm);
	return moved;
}

bool shm_link_could_push(struct shm_link *link)
{
	size_t free;
	bool could = false;
	pthread_mutex_lock(&link->writing); /* the holder may have checked before the peer was asked to wake us */
	if (atomic_load(&link->queued) && !atomic_load(&link->lost))
		could = has_space(link, next_of(link), &free);
	pthread_mutex_unlock(&link->writing);
	return could;
}

void shm_link_drop_queue(struct shm_link *link)
{
	pthread_mutex_lock(&link->queue);
	struct outgoing *small = link->small, *large = link->large;
	link->small = link->large = NULL;
	link->last_small = &link->small;
	link->last_large = &link->large;
	atomic_store(&link->queued, 0);
	pthread_mutex_unlock(&link->queue);
	for (struct outgoing *out; (out = small ? small : large);) {
		*(small ? &small : &large) = out->next;
		drop(out);
	}
}

/* Writes lengths, then bytes. */
static struct dfg_err *pack_strings(struct outgoing *out)
{
	const struct dfg_tensor *tensor = &out->message->tensor;
	const struct dfg_string *element = tensor->data;
	size_t count = (size_t)dfg_shape_count(&tensor->shape);
	out->bytes = count * sizeof(uint64_t) + dfg_message_bytes(out->message);
	uint64_t *length = out->packed = dfg_zeros(out->bytes, 1);
	if (!length)
		return DFG_ERR(DFG_MEMORY, "no memory for strings of %llu bytes", (unsigned long long)out->bytes);
	uint8_t *to = (uint8_t *)(length + count);
	for (size_t i = 0; i < count; i++) {
		length[i] = element[i].length;
		if (length[i])
			memcpy(to, element[i].s, length[i]);
		to += length[i];
	}
	out->payload = out->packed;
	return NULL;
}

/* Prepares the sender's message, which remains the sender's. `own` is not used yet: most messages never wait. */
static struct dfg_err *prepare(struct outgoing *out, const struct dfg_message *message)
{
	DFG_TRY(dfg_message_check(message));
	const struct dfg_tensor *tensor = &message->tensor;
	out->message = message;
	out->packed = NULL;
	out->payload = tensor->data;
	out->bytes = tensor->dtype && tensor->dtype != DFG_STRING ? dfg_tensor_bytes(tensor) : 0;
	out->sent = 0;
	out->begun = false;
	return tensor->dtype == DFG_STRING ? pack_strings(out) : NULL;
}

/* Writes straight into the ring; false where the message must wait. */
static bool write_now(struct shm_link *link, struct outgoing *out)
{
	size_t free;
	if (out->bytes > SMALL_MOST || atomic_load(&link->queued) || pthread_mutex_trylock(&link->writing))
		return false;
	bool now = !atomic_load(&link->queued) && has_space(link, out, &free);
	if (now)
		write_frame(link, out, free);
	pthread_mutex_unlock(&link->writing);
	return now;
}

static bool same_key(const struct dfg_message *a, const struct dfg_message *b)
{
	const struct dfg_transfer_key *x = &a->key, *y = &b->key;
	return a->kind == b->kind && x->step == y->step && x->number == y->number && x->depth == y->depth &&
		   !memcmp(x->iteration, y->iteration, x->depth * sizeof *x->iteration);
}

static bool overtakes(struct shm_link *link, const struct outgoing *out)
{
	if (out->bytes > SMALL_MOST)
		return false;
	for (const struct outgoing *other = link->large; other; other = other->next)
		if (same_key(other->message, out->message))
			return false;
	return true;
}

/* Copies the borrowed message, and takes a reference to its tensor if it has bytes left to write. */
static struct dfg_err *copy_message(const struct outgoing *from, struct outgoing *out)
{
	struct dfg_tensor *tensor = &out->own.tensor;
	out->own = *from->message;
	out->message = &out->own;
	out->packed = from->packed;
	out->payload = from->payload;
	out->bytes = from->bytes;
	tensor->buffer = NULL;
	if (!tensor->dtype || out->packed || !out->bytes)
		return NULL;
	DFG_TRY(dfg_tensor_share(&from->message->tensor, tensor));
	out->payload = tensor->data;
	return NULL;
}

/* Takes the packed strings on success. */
static struct dfg_err *enqueue(struct shm_link *link, struct outgoing *from)
{
	struct outgoing *out = dfg_zeros(1, sizeof *out);
	struct dfg_err *err = out ? copy_message(from, out) : dfg_no_memory("a message");
	if (err) {
		dfg_free(out);
		return err;
	}
	from->packed = NULL;
	pthread_mutex_lock(&link->queue);
	struct outgoing ***last = overtakes(link, out) ? &link->last_small : &link->last_large;
	**last = out;
	*last = &out->next;
	atomic_fetch_add(&link->queued, 1);
	pthread_mutex_unlock(&link->queue);
	return NULL;
}

struct dfg_err *shm_link_send(struct dfg_link *base, const struct dfg_message *message)
{
	struct shm_link *link = (struct shm_link *)base;
	struct outgoing out;
	if (atomic_load_explicit(&link->lost, memory_order_relaxed))
		return DFG_ERR(DFG_UNAVAILABLE, "the link to %s is lost", dfg_peer_words(base->peer).s);
	DFG_TRY(prepare(&out, message));
	struct dfg_err *err = NULL;
	if (!write_now(link, &out)) {
		err = enqueue(link, &out);
		shm_link_push(link);
	}
	if (out.packed)
		dfg_free(out.packed);
	return err;
}

/* Wakes the peer too. The socket has space, since other packets are sent only to a peer that sleeps. */
struct dfg_err *shm_link_pass(struct dfg_link *base, uint64_t tag, int fd)
{
	struct shm_link *link = (struct shm_link *)base;
	if (shm_packet_send(link->fd, &tag, sizeof tag, fd) == sizeof tag)
		return NULL;
	return DFG_ERR(DFG_UNAVAILABLE, "cannot pass memory to %s: %s", dfg_peer_words(base->peer).s, strerror(errno));
}
