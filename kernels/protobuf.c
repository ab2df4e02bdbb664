#include "kernels/protobuf.h"

#include "lib/graph/kernel.h"

void dfg_proto_put_varint(struct dfg_text *text, uint64_t value)
{
	for (; value >= 0x80; value >>= 7)
		dfg_text_put(text, &(uint8_t){(uint8_t)(value | 0x80)}, 1);
	dfg_text_put(text, &(uint8_t){(uint8_t)value}, 1);
}

void dfg_proto_put_key(struct dfg_text *text, int field, enum dfg_proto_wire wire)
{
	dfg_proto_put_varint(text, DFG_PROTO_KEY(field, wire));
}

void dfg_proto_put_bytes(struct dfg_text *text, int field, const void *bytes, size_t length)
{
	dfg_proto_put_key(text, field, DFG_PROTO_BYTES);
	dfg_proto_put_varint(text, length);
	if (length)
		dfg_text_put(text, bytes, length);
}

void dfg_proto_put_message(struct dfg_text *text, int field, struct dfg_text *message)
{
	dfg_proto_put_bytes(text, field, message->s, message->length);
	text->short_of_memory |= message->short_of_memory;
	dfg_text_release(message);
}

struct dfg_err *dfg_proto_give(struct dfg_kernel *ctx, struct dfg_text *message)
{
	struct dfg_tensor *out;
	struct dfg_err *err = dfg_text_check(message);
	if (!err)
		err = dfg_kernel_output(ctx, 0, &DFG_SHAPE_SCALAR, &out);
	if (!err)
		err = dfg_kernel_string(ctx, 0, 0, message->s ? message->s : "", message->length);
	dfg_text_release(message);
	return err;
}

bool dfg_proto_varint(struct dfg_proto_reader *reader, uint64_t *out_value)
{
	*out_value = 0;
	for (int shift = 0; reader->at < reader->end && shift < 64; shift += 7) {
		const uint8_t byte = *reader->at++;
		*out_value |= (uint64_t)(byte & 0x7f) << shift;
		if (byte < 0x80)
			return true;
	}
	return false;
}

/* The bytes of a field whose key was read. */
static bool read_bytes(struct dfg_proto_reader *reader, int wire, struct dfg_string *out_bytes)
{
	uint64_t length = wire == DFG_PROTO_FIXED64 ? 8 : 4;
	if (wire != DFG_PROTO_FIXED64 && wire != DFG_PROTO_FIXED32)
		if (wire != DFG_PROTO_BYTES || !dfg_proto_varint(reader, &length))
			return false;
	if (length > (uint64_t)(reader->end - reader->at))
		return false;
	*out_bytes = (struct dfg_string){(const char *)reader->at, (size_t)length};
	reader->at += length;
	return true;
}

bool dfg_proto_next(struct dfg_proto_reader *reader, struct dfg_proto_field *out_field)
{
	*out_field = (struct dfg_proto_field){0};
	if (reader->at == reader->end)
		return false;
	const bool keyed = dfg_proto_varint(reader, &out_field->key) && out_field->key >> 3;
	const int wire = (int)(out_field->key & 7);
	const bool good = keyed && (wire == DFG_PROTO_VARINT ? dfg_proto_varint(reader, &out_field->number)
														 : read_bytes(reader, wire, &out_field->bytes));
	if (!good)
		reader->at = reader->end = NULL;
	return good;
}

struct dfg_proto_reader dfg_proto_reader_of(struct dfg_string message)
{
	static const char none[1];
	const uint8_t *at = (const uint8_t *)(message.length ? message.s : none);
	return (struct dfg_proto_reader){at, at + message.length};
}

bool dfg_proto_find(struct dfg_string message, int field, struct dfg_string *out_bytes)
{
	struct dfg_proto_reader reader = dfg_proto_reader_of(message);
	struct dfg_proto_field one;
	*out_bytes = (struct dfg_string){0};
	while (dfg_proto_next(&reader, &one))
		if (one.key == DFG_PROTO_KEY(field, DFG_PROTO_BYTES))
			*out_bytes = one.bytes;
	return reader.at != NULL;
}
