#include "remote/frame.h"

#include "formats/bytes.h"

#include <string.h>

enum { VERSION = 1, FLAG_DEAD = 1, FLAG_TENSOR = 2 };

/* Elements are sent in their memory layout. */
_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "elements would have to be byte-swapped");

void dfg_link_frame_put(uint8_t out[DFG_LINK_FRAME_HEADER], const struct dfg_link_frame *frame)
{
	out = dfg_put_le(out, frame->length, 4);
	out = dfg_put_le(out, frame->kind, 1);
	out = dfg_put_le(out, VERSION, 3);
	dfg_put_le(out, frame->number, 4);
}

struct dfg_err *dfg_link_frame_get(const uint8_t in[DFG_LINK_FRAME_HEADER], struct dfg_link_frame *out_frame)
{
	uint32_t length = dfg_le32(in), rest = dfg_le32(in + 4);
	if (rest >> 8 != VERSION)
		return DFG_ERR(DFG_PROTOCOL, "a frame has version %u, not %d", rest >> 8, VERSION);
	if (length > DFG_LINK_FRAME_MOST)
		return DFG_ERR(DFG_PROTOCOL, "a frame has %u bytes, the limit is %d", length, DFG_LINK_FRAME_MOST);
	switch (rest & 255) {
	case DFG_LINK_FRAME_MESSAGE:
		if (length < DFG_HEAD)
			return DFG_ERR(DFG_PROTOCOL, "a message has %u bytes, but its head alone requires %d", length, DFG_HEAD);
		break;
	case DFG_LINK_FRAME_MORE:
		if (!length)
			return DFG_ERR(DFG_PROTOCOL, "a frame is empty");
		break;
	case DFG_LINK_FRAME_CREDIT:
		if (length != 8)
			return DFG_ERR(DFG_PROTOCOL, "a credit frame has %u bytes, not 8", length);
		break;
	default:
		return DFG_ERR(DFG_PROTOCOL, "a frame has the unknown kind %u", rest & 255);
	}
	*out_frame = (struct dfg_link_frame){.length = length, .kind = rest & 255, .number = dfg_le32(in + 8)};
	return NULL;
}

size_t dfg_head_put(uint8_t out[DFG_HEAD_MOST], const struct dfg_message *message, uint64_t bytes)
{
	const struct dfg_tensor *tensor = &message->tensor;
	bool has_tensor = tensor->dtype && !message->dead;
	int rank = has_tensor ? tensor->shape.rank : 0;
	uint8_t *at = out;
	at = dfg_put_le(at, message->kind, 1);
	at = dfg_put_le(at, (message->dead ? FLAG_DEAD : 0) | (has_tensor ? FLAG_TENSOR : 0), 1);
	at = dfg_put_le(at, has_tensor ? tensor->dtype : 0, 1);
	at = dfg_put_le(at, (uint64_t)rank, 1);
	at = dfg_put_le(at, message->key.number, 4);
	at = dfg_put_le(at, message->key.step, 8);
	at = dfg_put_le(at, bytes, 8);
	at = dfg_put_le(at, message->key.depth, 8);
	for (uint32_t i = 0; i < message->key.depth; i++)
		at = dfg_put_le(at, (uint64_t)message->key.iteration[i], 8);
	for (int i = 0; i < rank; i++)
		at = dfg_put_le(at, (uint64_t)tensor->shape.dim[i], 8);
	return (size_t)(at - out);
}

struct dfg_err *dfg_head_length(const uint8_t in[DFG_HEAD], size_t *out_length)
{
	uint64_t rank = in[3], depth = dfg_le64(in + 24);
	if (rank > DFG_RANK_MAX || depth > DFG_LINK_DEPTH)
		return DFG_ERR(DFG_PROTOCOL, "a message has a tensor of rank %u and loop depth %llu; the limits are %d and %d",
			(unsigned)rank, (unsigned long long)depth, DFG_RANK_MAX, DFG_LINK_DEPTH);
	*out_length = DFG_HEAD + 8 * (size_t)(rank + depth);
	return NULL;
}

/* The bytes must match the shape; strings have at least their lengths. */
static struct dfg_err *check_bytes(const struct dfg_tensor *tensor, uint64_t bytes)
{
	size_t capacity;
	for (int i = 0; i < tensor->shape.rank; i++)
		if (tensor->shape.dim[i] < 0)
			return DFG_ERR(DFG_PROTOCOL, "a tensor has the invalid shape %s", dfg_shape_words(&tensor->shape).s);
	struct dfg_err *err = dfg_shape_bytes(&tensor->shape, tensor->dtype, &capacity);
	if (err) {
		err->code = DFG_PROTOCOL;
		return err;
	}
	bool strings = tensor->dtype == DFG_STRING;
	uint64_t least = strings ? (uint64_t)dfg_shape_count(&tensor->shape) * 8 : capacity;
	if (bytes < least || (bytes > least && (!strings || !capacity)))
		return DFG_ERR(DFG_PROTOCOL, "a tensor of type %s cannot have %llu bytes",
			dfg_type_words(tensor->dtype, &tensor->shape).s, (unsigned long long)bytes);
	return NULL;
}

static struct dfg_err *check_tensor(const struct dfg_message *message, uint64_t bytes, size_t limit)
{
	const struct dfg_tensor *tensor = &message->tensor;
	if (!dfg_dtype_size(tensor->dtype) || dfg_dtype_is_handle(tensor->dtype))
		return DFG_ERR(
			DFG_PROTOCOL, "a tensor of type %s cannot be sent to another process", dfg_dtype_name(tensor->dtype));
	/* A string takes 16 bytes in memory for the 8 of its length in the stream. */
	if (bytes > (tensor->dtype == DFG_STRING ? limit / 2 : limit))
		return DFG_ERR(DFG_PROTOCOL, "a tensor has %llu bytes, the limit is %zu", (unsigned long long)bytes, limit);
	return check_bytes(tensor, bytes);
}

struct dfg_err *dfg_head_get(const uint8_t *in, size_t limit, struct dfg_message *out_message, size_t *out_bytes)
{
	uint8_t kind = in[0], flags = in[1], rank = in[3];
	uint64_t bytes = dfg_le64(in + 16);
	struct dfg_message message = {.kind = kind, .dead = flags & FLAG_DEAD};
	if (kind >= DFG_MESSAGE_KINDS || flags > FLAG_TENSOR)
		return DFG_ERR(DFG_PROTOCOL, "a message has the unknown kind %u (flags %u)", kind, flags);
	message.key.number = dfg_le32(in + 4);
	message.key.step = dfg_le64(in + 8);
	message.key.depth = (uint32_t)dfg_le64(in + 24);
	const uint8_t *at = in + DFG_HEAD;
	for (uint32_t i = 0; i < message.key.depth; i++, at += 8)
		message.key.iteration[i] = (int64_t)dfg_le64(at);
	message.tensor.shape.rank = rank;
	for (int i = 0; i < rank; i++, at += 8)
		message.tensor.shape.dim[i] = (int64_t)dfg_le64(at);
	message.tensor.dtype = in[2];
	if (flags & FLAG_TENSOR)
		DFG_TRY(check_tensor(&message, bytes, limit));
	else if (bytes || rank || in[2])
		return DFG_ERR(DFG_PROTOCOL, "a message without a tensor has a dtype or a shape");
	*out_message = message;
	*out_bytes = bytes;
	return NULL;
}

size_t dfg_strings_size(const struct dfg_tensor *tensor)
{
	const struct dfg_string *element = tensor->data;
	int64_t count = dfg_shape_count(&tensor->shape);
	size_t size = 0;
	for (int64_t i = 0; i < count; i++)
		size += 8 + element[i].length;
	return size;
}

void dfg_strings_pack(const struct dfg_tensor *tensor, uint8_t *out)
{
	const struct dfg_string *element = tensor->data;
	int64_t count = dfg_shape_count(&tensor->shape);
	for (int64_t i = 0; i < count; i++)
		out = dfg_put_le(out, element[i].length, 8);
	for (int64_t i = 0; i < count; i++) {
		if (element[i].length)
			memcpy(out, element[i].s, element[i].length);
		out += element[i].length;
	}
}

struct dfg_err *dfg_strings_unpack(const uint8_t *in, size_t bytes, struct dfg_tensor *tensor)
{
	struct dfg_string *element = tensor->data;
	size_t count = (size_t)dfg_shape_count(&tensor->shape);
	const uint8_t *at = in + 8 * count;
	size_t left = bytes - 8 * count;
	for (size_t i = 0; i < count; i++) {
		uint64_t length = dfg_le64(in + 8 * i);
		if (length > left)
			return DFG_ERR(
				DFG_PROTOCOL, "a string has %llu bytes, but only %zu are left", (unsigned long long)length, left);
		DFG_TRY(dfg_buffer_string(tensor->buffer, at, length, &element[i]));
		at += length;
		left -= length;
	}
	return left ? DFG_ERR(DFG_PROTOCOL, "%zu bytes after the last string", left) : NULL;
}
