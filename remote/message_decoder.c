#include "remote/message_decoder.h"

#include "formats/bytes.h"
#include "remote/crc32c.h"

#include <string.h>

static size_t least(size_t a, size_t b)
{
	return a < b ? a : b;
}

static void forget(struct dfg_incoming *incoming)
{
	if (incoming->message.tensor.dtype == DFG_STRING)
		dfg_free(incoming->bytes);
	else
		dfg_tensor_release(&incoming->message.tensor);
	*incoming = (struct dfg_incoming){0};
}

void dfg_message_decoder_release(struct dfg_message_decoder *inlet)
{
	forget(&inlet->small);
	forget(&inlet->large);
	inlet->now = NULL;
}

/* Allocates the tensor, with the message's dtype and shape. */
static struct dfg_err *make_tensor(const struct dfg_message_decoder *inlet, struct dfg_tensor *tensor)
{
	struct dfg_shape shape = tensor->shape;
	enum dfg_dtype dtype = tensor->dtype;
	*tensor = (struct dfg_tensor){0};
	return dfg_link_tensor(&inlet->sink, dtype, &shape, tensor);
}

/*
 * Allocates memory for the elements, whose size is within the limit. Strings get their tensor when their lengths are
 * known.
 */
static struct dfg_err *allocate_payload(const struct dfg_message_decoder *inlet, struct dfg_incoming *incoming)
{
	if (incoming->message.tensor.dtype == DFG_STRING) {
		incoming->bytes = dfg_mem->take(dfg_mem, incoming->count ? incoming->count : 1, 8);
		return incoming->bytes ? NULL : DFG_ERR(DFG_MEMORY, "no memory for strings of %zu bytes", incoming->count);
	}
	DFG_TRY(make_tensor(inlet, &incoming->message.tensor));
	incoming->bytes = incoming->message.tensor.data;
	return NULL;
}

static struct dfg_err *begin_message(struct dfg_message_decoder *inlet, size_t head)
{
	struct dfg_incoming incoming = {.is_there = true};
	DFG_TRY(dfg_head_get(inlet->front + DFG_LINK_FRAME_HEADER, inlet->limit, &incoming.message, &incoming.count));
	bool whole = incoming.count == inlet->left - head;
	if (!whole && incoming.count < inlet->left - head)
		return DFG_ERR(DFG_PROTOCOL, "%zu bytes after the end of a tensor", inlet->left - head - incoming.count);
	if (!whole && inlet->large.is_there)
		return DFG_ERR(DFG_PROTOCOL, "a long message begins within another one");
	if (incoming.message.tensor.dtype)
		DFG_TRY(allocate_payload(inlet, &incoming));
	inlet->now = whole ? &inlet->small : &inlet->large;
	*inlet->now = incoming;
	inlet->left -= (uint32_t)head;
	return NULL;
}

static struct dfg_err *unpack(const struct dfg_message_decoder *inlet, struct dfg_incoming *incoming)
{
	struct dfg_tensor *tensor = &incoming->message.tensor;
	struct dfg_err *err = make_tensor(inlet, tensor);
	if (!err)
		err = dfg_strings_unpack(incoming->bytes, incoming->count, tensor);
	if (err)
		dfg_tensor_release(tensor);
	dfg_free(incoming->bytes);
	return err;
}

static struct dfg_err *deliver(struct dfg_message_decoder *inlet, struct dfg_incoming *from)
{
	struct dfg_incoming incoming = *from;
	*from = (struct dfg_incoming){0};
	if (incoming.message.tensor.dtype == DFG_STRING)
		DFG_TRY(unpack(inlet, &incoming));
	inlet->message(inlet->arg, &incoming.message);
	return NULL;
}

/* The payload's checksum was right. */
static struct dfg_err *end_frame(struct dfg_message_decoder *inlet)
{
	struct dfg_incoming *now = inlet->now;
	inlet->part = DFG_INLET_HEADER;
	inlet->have = 0;
	inlet->now = NULL;
	if (inlet->frame.kind == DFG_LINK_FRAME_CREDIT)
		inlet->credit(inlet->arg, dfg_le64(inlet->front + DFG_LINK_FRAME_HEADER));
	else if (now->done == now->count)
		return deliver(inlet, now);
	return NULL;
}

static struct dfg_err *begin_frame(struct dfg_message_decoder *inlet)
{
	struct dfg_link_frame *frame = &inlet->frame;
	DFG_TRY(dfg_link_frame_get(inlet->front, frame));
	if (frame->number != inlet->frames++)
		return DFG_ERR(DFG_PROTOCOL, "received frame %u, but frame %u is next", frame->number, inlet->frames - 1);
	inlet->left = frame->length;
	if (frame->kind != DFG_LINK_FRAME_CREDIT && (inlet->taken += frame->length) > inlet->credit_given)
		return DFG_ERR(DFG_PROTOCOL, "more bytes than its credit allows");
	inlet->part = DFG_INLET_FRONT;
	inlet->want = DFG_LINK_FRAME_HEADER + (frame->kind == DFG_LINK_FRAME_CREDIT ? 8 : DFG_HEAD);
	if (frame->kind != DFG_LINK_FRAME_MORE)
		return NULL;
	inlet->now = &inlet->large;
	if (!inlet->large.is_there || inlet->large.count - inlet->large.done < inlet->left)
		return DFG_ERR(DFG_PROTOCOL, "more bytes than the message has");
	inlet->part = DFG_INLET_BODY;
	inlet->crc = dfg_crc32c(0, inlet->front, DFG_LINK_FRAME_HEADER);
	return NULL;
}

/* The requested bytes of header, head or credit are complete. */
static struct dfg_err *have_front(struct dfg_message_decoder *inlet)
{
	if (inlet->part == DFG_INLET_HEADER)
		return begin_frame(inlet);
	if (inlet->frame.kind == DFG_LINK_FRAME_CREDIT) {
		inlet->left = 0;
	} else {
		size_t head;
		DFG_TRY(dfg_head_length(inlet->front + DFG_LINK_FRAME_HEADER, &head));
		if (head > inlet->left)
			return DFG_ERR(DFG_PROTOCOL, "a message's head has %zu bytes, but its frame has %u", head, inlet->left);
		if (inlet->want < DFG_LINK_FRAME_HEADER + head) {
			inlet->want = DFG_LINK_FRAME_HEADER + head;
			return NULL;
		}
		DFG_TRY(begin_message(inlet, head));
	}
	inlet->part = DFG_INLET_BODY;
	inlet->crc = dfg_crc32c(0, inlet->front, inlet->want);
	return NULL;
}

static struct dfg_err *take_front(struct dfg_message_decoder *inlet, const uint8_t **at, size_t *left)
{
	size_t count = least(inlet->want - inlet->have, *left);
	memcpy(inlet->front + inlet->have, *at, count);
	inlet->have += count;
	*at += count;
	*left -= count;
	return inlet->have == inlet->want ? have_front(inlet) : NULL;
}

static void take_body(struct dfg_message_decoder *inlet, const uint8_t **at, size_t *left)
{
	size_t count = least(inlet->left, *left);
	if (count) {
		memcpy(inlet->now->bytes + inlet->now->done, *at, count);
		inlet->crc = dfg_crc32c(inlet->crc, *at, count);
		inlet->now->done += count;
		inlet->left -= (uint32_t)count;
		*at += count;
		*left -= count;
	}
	if (inlet->left)
		return;
	inlet->part = DFG_INLET_TAIL;
	inlet->want = DFG_LINK_FRAME_TAIL;
	inlet->have = 0;
}

static struct dfg_err *take_tail(struct dfg_message_decoder *inlet, const uint8_t **at, size_t *left)
{
	for (; inlet->have < inlet->want && *left; inlet->have++, (*left)--)
		if (*(*at)++ != (uint8_t)(inlet->crc >> 8 * inlet->have))
			return DFG_ERR(DFG_PROTOCOL, "a frame has a wrong checksum");
	return inlet->have == inlet->want ? end_frame(inlet) : NULL;
}

struct dfg_err *dfg_message_decoder_push(struct dfg_message_decoder *inlet, const uint8_t *bytes, size_t count)
{
	while (count)
		switch (inlet->part) {
		case DFG_INLET_HEADER:
			inlet->want = DFG_LINK_FRAME_HEADER;
			DFG_TRY(take_front(inlet, &bytes, &count));
			break;
		case DFG_INLET_FRONT:
			DFG_TRY(take_front(inlet, &bytes, &count));
			break;
		case DFG_INLET_BODY:
			take_body(inlet, &bytes, &count);
			break;
		case DFG_INLET_TAIL:
			DFG_TRY(take_tail(inlet, &bytes, &count));
			break;
		}
	return NULL;
}
