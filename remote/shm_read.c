#include "remote/shm_link.h"

/*
 * Reads the bytes of a peer that is not trusted and may change them at the same time: everything is copied out first,
 * then checked, and only the copy is used.
 */
enum { READ_MOST = RING_BYTES }; /* bytes read at once */

static struct dfg_err *broken(const struct shm_link *link, const char *what)
{
	return DFG_ERR(DFG_PROTOCOL, "%s violated the shared memory protocol: %s", dfg_peer_words(link->link.peer).s, what);
}

static bool may_cross(enum dfg_dtype dtype)
{
	return dfg_dtype_size(dtype) && !dfg_dtype_is_handle(dtype);
}

/* Checks the bytes of a message's tensor against its shape; of strings, only the minimum is known. */
static struct dfg_err *check_bytes(const struct shm_link *link, const struct dfg_tensor *tensor, uint64_t bytes)
{
	size_t wanted;
	for (int i = 0; i < tensor->shape.rank; i++)
		if (tensor->shape.dim[i] < 0)
			return broken(link, "a tensor has a negative dimension");
	struct dfg_err *err = dfg_shape_bytes(&tensor->shape, tensor->dtype, &wanted);
	if (err) {
		dfg_err_free(err);
		return broken(link, "the size of a tensor overflows");
	}
	if (link->tensor_bytes && (wanted > link->tensor_bytes || bytes > link->tensor_bytes))
		return DFG_ERR(DFG_PROTOCOL, "%s sent a tensor of type %s, but the limit is %zu bytes",
			dfg_peer_words(link->link.peer).s, dfg_type_words(tensor->dtype, &tensor->shape).s, link->tensor_bytes);
	bool fits =
		tensor->dtype == DFG_STRING ? bytes >= wanted / sizeof(struct dfg_string) * sizeof(uint64_t) : bytes == wanted;
	return fits ? NULL : broken(link, "a tensor's bytes do not fit its shape");
}

/*
 * Copies the head, iterations and dims of a message, without elements. Field by field: most messages are small, and
 * clearing the whole struct would double the cost.
 */
static struct dfg_err *parse(struct shm_link *link, const struct shm_frame *frame, struct dfg_message *out)
{
	out->kind = frame->kind;
	out->dead = frame->dead;
	out->key.step = frame->step;
	out->key.number = frame->number;
	out->key.depth = frame->depth;
	out->tensor.dtype = frame->dtype;
	out->tensor.shape = (struct dfg_shape){.rank = frame->rank};
	out->tensor.data = NULL;
	out->tensor.capacity = 0;
	out->tensor.buffer = NULL;
	ring_get(&link->in, out->key.iteration, frame->depth * sizeof *out->key.iteration);
	ring_get(&link->in, out->tensor.shape.dim, frame->rank * sizeof *out->tensor.shape.dim);
	if (frame->kind >= DFG_MESSAGE_KINDS || frame->dead > 1 || frame->count > frame->bytes)
		return broken(link, "the head of a message is invalid");
	if (!frame->dtype)
		return frame->bytes || frame->rank ? broken(link, "a message without a tensor has elements or a shape") : NULL;
	if (frame->dead || !may_cross(frame->dtype))
		return broken(link, "a message has a tensor although it is dead, or a tensor of an unknown dtype");
	return check_bytes(link, &out->tensor, frame->bytes);
}

/* Allocates a tensor from the sink. */
static struct dfg_err *allocate_payload(struct shm_link *link, struct incoming *in)
{
	enum dfg_dtype dtype = in->message.tensor.dtype;
	struct dfg_shape shape = in->message.tensor.shape;
	struct dfg_tensor tensor;
	DFG_TRY(dfg_link_tensor(&link->sink, dtype, &shape, &tensor));
	in->message.tensor = tensor;
	if (tensor.dtype != dtype || !dfg_shape_equal(&tensor.shape, &shape) || tensor.capacity < dfg_tensor_bytes(&tensor))
		return DFG_ERR(
			DFG_BUG, "internal error: the receive buffer is too small for %s", dfg_type_words(dtype, &shape).s);
	in->to = tensor.data;
	return NULL;
}

/* Leaves `in` in a state that can be dropped, also on failure. */
static struct dfg_err *begin(struct shm_link *link, const struct shm_frame *frame, struct incoming *in)
{
	in->packed = in->to = NULL;
	in->bytes = frame->bytes;
	in->got = 0;
	DFG_TRY(parse(link, frame, &in->message));
	if (!in->message.tensor.dtype)
		return NULL;
	if (in->message.tensor.dtype != DFG_STRING)
		return allocate_payload(link, in);
	if (in->bytes > SIZE_MAX || !(in->packed = dfg_mem->take(dfg_mem, in->bytes, DFG_ALIGN)))
		return DFG_ERR(DFG_MEMORY, "no memory for strings of %llu bytes", (unsigned long long)in->bytes);
	in->to = in->packed;
	return NULL;
}

static struct dfg_err *unpack_strings(struct shm_link *link, struct incoming *in)
{
	size_t count = (size_t)dfg_shape_count(&in->message.tensor.shape);
	const uint64_t *length = (const uint64_t *)in->packed;
	const uint8_t *from = (const uint8_t *)(length + count);
	uint64_t left = in->bytes - count * sizeof *length;
	DFG_TRY(allocate_payload(link, in));
	struct dfg_string *element = in->message.tensor.data;
	for (size_t i = 0; i < count; i++) {
		if (length[i] > left)
			return broken(link, "the strings of a tensor are longer than its bytes");
		DFG_TRY(dfg_buffer_string(in->message.tensor.buffer, from, length[i], &element[i]));
		from += length[i];
		left -= length[i];
	}
	return left ? broken(link, "a tensor has bytes after its last string") : NULL;
}

/* C relies on a bool being 0 or 1; any other byte is refused. */
static struct dfg_err *check_bools(struct shm_link *link, const struct incoming *in)
{
	uint8_t other = 0;
	for (uint64_t i = 0; i < in->bytes; i++)
		other |= in->to[i];
	return other > 1 ? broken(link, "a bool is neither 0 nor 1") : NULL;
}

/* The message is complete. The counters are written by one thread at a time, and read by any. */
static struct dfg_err *deliver(struct shm_link *link, struct incoming *in)
{
	struct dfg_link_counts *counts = &link->link.counts;
	if (in->message.tensor.dtype == DFG_STRING)
		DFG_TRY(unpack_strings(link, in));
	else if (in->message.tensor.dtype == DFG_BOOL)
		DFG_TRY(check_bools(link, in));
	__atomic_store_n(&counts->received_messages, counts->received_messages + 1, __ATOMIC_RELAXED);
	__atomic_store_n(
		&counts->received_bytes, counts->received_bytes + dfg_message_bytes(&in->message), __ATOMIC_RELAXED);
	link->sink.deliver(link->sink.arg, link->link.peer, &in->message);
	return NULL;
}

/* Ends a message that is complete, or that is discarded. */
static struct dfg_err *finish(struct shm_link *link, struct incoming *in, struct dfg_err *err, bool *out_some)
{
	if (!err)
		err = deliver(link, in);
	if (err)
		dfg_tensor_release(&in->message.tensor);
	else
		*out_some = true;
	if (in->packed)
		dfg_free(in->packed);
	return err;
}

/* Reads count more bytes of the tensor. */
static struct dfg_err *fill(struct shm_link *link, struct incoming *in, uint32_t count)
{
	if (count > in->bytes - in->got)
		return broken(link, "more bytes arrived than the tensor has");
	ring_get(&link->in, in->to + in->got, count);
	link->in.at += -count & 7;
	in->got += count;
	return NULL;
}

/* Reads the first frame of a message, or the complete message. */
static struct dfg_err *take_message(struct shm_link *link, const struct shm_frame *frame, bool *out_some)
{
	struct incoming whole, *in = frame->count == frame->bytes ? &whole : &link->incoming;
	if (in == &link->incoming && link->half_read)
		return broken(link, "a large tensor begins within another one");
	struct dfg_err *err = begin(link, frame, in);
	if (!err)
		err = fill(link, in, frame->count);
	if (err || in == &whole)
		return finish(link, in, err, out_some);
	link->half_read = true;
	return NULL;
}

static struct dfg_err *take_more(struct shm_link *link, const struct shm_frame *frame, bool *out_some)
{
	if (!link->half_read || !frame->count)
		return broken(link, "elements arrived that belong to no tensor");
	DFG_TRY(fill(link, &link->incoming, frame->count));
	if (link->incoming.got < link->incoming.bytes)
		return NULL;
	link->half_read = false;
	return finish(link, &link->incoming, NULL, out_some);
}

/* Reads the next frame; the ring holds `there` bytes. */
static struct dfg_err *take_frame(struct shm_link *link, size_t there, bool *out_some)
{
	struct shm_frame frame;
	if (there < sizeof frame)
		return broken(link, "a frame is incomplete");
	ring_get(&link->in, &frame, sizeof frame);
	if (frame.depth > DFG_LINK_DEPTH || frame.rank > DFG_RANK_MAX || frame.count > FRAME_MOST ||
		frame_length(frame.depth, frame.rank, frame.count) > there)
		return broken(link, "a frame exceeds the limits of length, rank and loop depth");
	if (frame.type == FRAME_MESSAGE)
		return take_message(link, &frame, out_some);
	if (frame.type != FRAME_MORE || frame.depth || frame.rank)
		return broken(link, "a frame has an unknown type");
	return take_more(link, &frame, out_some);
}

/* A waiting writer saw the ring fuller than it is now, so checking at this point tells it in time. */
static void tell_capacity(struct shm_link *link)
{
	if (link->given < RING_BYTES / 4)
		return;
	link->given = 0;
	atomic_thread_fence(memory_order_seq_cst);
	if (atomic_load_explicit(&link->there->waiting, memory_order_relaxed))
		shm_link_wake(link);
}

struct dfg_err *shm_link_read(struct shm_link *link, bool *out_some)
{
	uint64_t began = link->in.at;
	for (;;) {
		size_t there;
		uint64_t before = link->in.at;
		if (!ring_there(&link->in, &there))
			return broken(link, "its position is outside of the ring");
		if (!there || before - began >= READ_MOST)
			return NULL;
		DFG_TRY(take_frame(link, there, out_some));
		ring_give_back(&link->in);
		atomic_store_explicit(&link->read_to, link->in.at, memory_order_relaxed);
		link->given += link->in.at - before;
		tell_capacity(link);
	}
}
