#include "remote/message_decoder.h"

#include "formats/bytes.h"
#include "lib/base/crc32c.h"

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

void dfg_message_decoder_release(struct dfg_message_decoder *decoder)
{
	forget(&decoder->small);
	forget(&decoder->large);
	decoder->now = NULL;
}

/* Allocates the tensor, with the message's dtype and shape. */
static struct dfg_err *make_tensor(const struct dfg_message_decoder *decoder, struct dfg_tensor *tensor)
{
	struct dfg_shape shape = tensor->shape;
	enum dfg_dtype dtype = tensor->dtype;
	*tensor = (struct dfg_tensor){0};
	return dfg_link_tensor(&decoder->sink, dtype, &shape, tensor);
}

/*
 * Allocates memory for the elements, whose size is within the limit. Strings get their tensor when their lengths are
 * known.
 */
static struct dfg_err *allocate_payload(const struct dfg_message_decoder *decoder, struct dfg_incoming *incoming)
{
	if (incoming->message.tensor.dtype == DFG_STRING) {
		incoming->bytes = dfg_mem->take(dfg_mem, incoming->count ? incoming->count : 1, 8);
		return incoming->bytes ? NULL : DFG_ERR(DFG_MEMORY, "no memory for strings of %zu bytes", incoming->count);
	}
	DFG_TRY(make_tensor(decoder, &incoming->message.tensor));
	incoming->bytes = incoming->message.tensor.data;
	return NULL;
}

static struct dfg_err *begin_message(struct dfg_message_decoder *decoder, size_t head)
{
	struct dfg_incoming incoming = {.is_there = true};
	DFG_TRY(dfg_head_get(decoder->front + DFG_LINK_FRAME_HEADER, decoder->limit, &incoming.message, &incoming.count));
	bool whole = incoming.count == decoder->left - head;
	if (!whole && incoming.count < decoder->left - head)
		return DFG_ERR(
			DFG_PROTOCOL, "a message has %zu bytes after the end of its tensor", decoder->left - head - incoming.count);
	if (!whole && decoder->large.is_there)
		return DFG_ERR(DFG_PROTOCOL, "a long message begins within another one");
	if (incoming.message.tensor.dtype)
		DFG_TRY(allocate_payload(decoder, &incoming));
	decoder->now = whole ? &decoder->small : &decoder->large;
	*decoder->now = incoming;
	decoder->left -= (uint32_t)head;
	return NULL;
}

static struct dfg_err *unpack(const struct dfg_message_decoder *decoder, struct dfg_incoming *incoming)
{
	struct dfg_tensor *tensor = &incoming->message.tensor;
	struct dfg_err *err = make_tensor(decoder, tensor);
	if (!err)
		err = dfg_strings_unpack(incoming->bytes, incoming->count, tensor);
	if (err)
		dfg_tensor_release(tensor);
	dfg_free(incoming->bytes);
	return err;
}

static struct dfg_err *deliver(struct dfg_message_decoder *decoder, struct dfg_incoming *from)
{
	struct dfg_incoming incoming = *from;
	*from = (struct dfg_incoming){0};
	if (incoming.message.tensor.dtype == DFG_STRING)
		DFG_TRY(unpack(decoder, &incoming));
	decoder->message(decoder->arg, &incoming.message);
	return NULL;
}

/* The payload's checksum was right. */
static struct dfg_err *end_frame(struct dfg_message_decoder *decoder)
{
	struct dfg_incoming *now = decoder->now;
	decoder->part = DFG_INLET_HEADER;
	decoder->have = 0;
	decoder->now = NULL;
	if (decoder->frame.kind == DFG_LINK_FRAME_CREDIT)
		decoder->credit(decoder->arg, dfg_le64(decoder->front + DFG_LINK_FRAME_HEADER));
	else if (now->done == now->count)
		return deliver(decoder, now);
	return NULL;
}

static struct dfg_err *begin_frame(struct dfg_message_decoder *decoder)
{
	struct dfg_link_frame *frame = &decoder->frame;
	DFG_TRY(dfg_link_frame_get(decoder->front, frame));
	if (frame->number != decoder->frames++)
		return DFG_ERR(DFG_PROTOCOL, "received frame %u, but frame %u is next", frame->number, decoder->frames - 1);
	decoder->left = frame->length;
	if (frame->kind != DFG_LINK_FRAME_CREDIT && (decoder->taken += frame->length) > decoder->credit_given)
		return DFG_ERR(DFG_PROTOCOL, "more bytes arrived than the credit allows");
	decoder->part = DFG_INLET_FRONT;
	decoder->want = DFG_LINK_FRAME_HEADER + (frame->kind == DFG_LINK_FRAME_CREDIT ? 8 : DFG_HEAD);
	if (frame->kind != DFG_LINK_FRAME_MORE)
		return NULL;
	decoder->now = &decoder->large;
	if (!decoder->large.is_there || decoder->large.count - decoder->large.done < decoder->left)
		return DFG_ERR(DFG_PROTOCOL, "more bytes arrived than the message has");
	decoder->part = DFG_INLET_BODY;
	decoder->crc = dfg_crc32c(0, decoder->front, DFG_LINK_FRAME_HEADER);
	return NULL;
}

/* The requested bytes of header, head or credit are complete. */
static struct dfg_err *have_front(struct dfg_message_decoder *decoder)
{
	if (decoder->part == DFG_INLET_HEADER)
		return begin_frame(decoder);
	if (decoder->frame.kind == DFG_LINK_FRAME_CREDIT) {
		decoder->left = 0;
	} else {
		size_t head;
		DFG_TRY(dfg_head_length(decoder->front + DFG_LINK_FRAME_HEADER, &head));
		if (head > decoder->left)
			return DFG_ERR(DFG_PROTOCOL, "the head of a message has %zu bytes, but the frame around it has %u", head,
				decoder->left);
		if (decoder->want < DFG_LINK_FRAME_HEADER + head) {
			decoder->want = DFG_LINK_FRAME_HEADER + head;
			return NULL;
		}
		DFG_TRY(begin_message(decoder, head));
	}
	decoder->part = DFG_INLET_BODY;
	decoder->crc = dfg_crc32c(0, decoder->front, decoder->want);
	return NULL;
}

static struct dfg_err *take_front(struct dfg_message_decoder *decoder, const uint8_t **at, size_t *left)
{
	size_t count = least(decoder->want - decoder->have, *left);
	memcpy(decoder->front + decoder->have, *at, count);
	decoder->have += count;
	*at += count;
	*left -= count;
	return decoder->have == decoder->want ? have_front(decoder) : NULL;
}

static void take_body(struct dfg_message_decoder *decoder, const uint8_t **at, size_t *left)
{
	size_t count = least(decoder->left, *left);
	if (count) {
		memcpy(decoder->now->bytes + decoder->now->done, *at, count);
		decoder->crc = dfg_crc32c(decoder->crc, *at, count);
		decoder->now->done += count;
		decoder->left -= (uint32_t)count;
		*at += count;
		*left -= count;
	}
	if (decoder->left)
		return;
	decoder->part = DFG_INLET_TAIL;
	decoder->want = DFG_LINK_FRAME_TAIL;
	decoder->have = 0;
}

static struct dfg_err *take_tail(struct dfg_message_decoder *decoder, const uint8_t **at, size_t *left)
{
	for (; decoder->have < decoder->want && *left; decoder->have++, (*left)--)
		if (*(*at)++ != (uint8_t)(decoder->crc >> 8 * decoder->have))
			return DFG_ERR(DFG_PROTOCOL, "the checksum of a frame is wrong");
	return decoder->have == decoder->want ? end_frame(decoder) : NULL;
}

struct dfg_err *dfg_message_decoder_push(struct dfg_message_decoder *decoder, const uint8_t *bytes, size_t count)
{
	while (count)
		switch (decoder->part) {
		case DFG_INLET_HEADER:
			decoder->want = DFG_LINK_FRAME_HEADER;
			DFG_TRY(take_front(decoder, &bytes, &count));
			break;
		case DFG_INLET_FRONT:
			DFG_TRY(take_front(decoder, &bytes, &count));
			break;
		case DFG_INLET_BODY:
			take_body(decoder, &bytes, &count);
			break;
		case DFG_INLET_TAIL:
			DFG_TRY(take_tail(decoder, &bytes, &count));
			break;
		}
	return NULL;
}
