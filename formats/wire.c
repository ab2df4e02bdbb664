#include "formats/wire.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum wire_type { VARINT, FIXED64, LENGTH, GROUP, END_GROUP, FIXED32 };

struct dfg_err *dfg_wire_error(const struct dfg_wire_file *file, const uint8_t *at, const char *fmt, ...)
{
	char text[300];
	va_list args;
	va_start(args, fmt);
	vsnprintf(text, sizeof text, fmt, args);
	va_end(args);
	return DFG_ERR(DFG_DATA, "byte %zu: %s", (size_t)(at - file->start), text);
}

/* An error after which later bytes cannot be trusted. */
#define BROKEN(wire, at, ...) ((wire)->file->broken = true, dfg_wire_error((wire)->file, at, __VA_ARGS__))

struct dfg_wire dfg_wire_start(
	struct dfg_wire_file *file, const ProtobufCMessageDescriptor *type, const uint8_t *bytes, size_t length)
{
	return (struct dfg_wire){.file = file, .type = type, .at = bytes, .end = bytes + length, .depth = 1};
}

struct dfg_err *dfg_wire_open(
	const struct dfg_wire *parent, const struct dfg_wire_field *field, struct dfg_wire *out_wire)
{
	if (parent->depth == DFG_WIRE_DEPTH)
		return BROKEN(parent, field->tag, "messages are nested deeper than %d", DFG_WIRE_DEPTH);
	*out_wire = dfg_wire_start(parent->file, dfg_wire_message_type(field->field), field->bytes, field->length);
	out_wire->depth = parent->depth + 1;
	return NULL;
}

bool dfg_wire_varint(const uint8_t **at, const uint8_t *end, uint64_t *out_value)
{
	uint64_t value = 0;
	const uint8_t *p = *at;
	for (unsigned shift = 0; p < end && shift < 64; shift += 7) {
		uint8_t byte = *p++;
		value |= (uint64_t)(byte & 0x7f) << shift;
		if (byte < 0x80) {
			*at = p;
			*out_value = value;
			return shift < 63 || byte < 2;
		}
	}
	return false;
}

void dfg_wire_put_varint(struct dfg_text *to, uint64_t value)
{
	char bytes[10];
	size_t count = 0;
	for (; value >= 0x80; value >>= 7)
		bytes[count++] = (char)(value | 0x80);
	bytes[count++] = (char)value;
	dfg_text_put(to, bytes, count);
}

struct dfg_err *dfg_wire_copy(struct dfg_arena *arena, const struct dfg_wire_field *field, const char **out_string)
{
	if (memchr(field->bytes, 0, field->length))
		return DFG_ERR(DFG_DATA, "field %s has a zero byte", field->field->name);
	*out_string = dfg_arena_copy(arena, field->bytes, field->length);
	return *out_string ? NULL : dfg_no_memory("a string of the message");
}

size_t dfg_wire_fixed(ProtobufCType type)
{
	switch (type) {
	case PROTOBUF_C_TYPE_FIXED32:
	case PROTOBUF_C_TYPE_SFIXED32:
	case PROTOBUF_C_TYPE_FLOAT:
		return 4;
	case PROTOBUF_C_TYPE_FIXED64:
	case PROTOBUF_C_TYPE_SFIXED64:
	case PROTOBUF_C_TYPE_DOUBLE:
		return 8;
	default:
		return 0;
	}
}

static enum wire_type wire_type_of(ProtobufCType type)
{
	if (type >= PROTOBUF_C_TYPE_STRING)
		return LENGTH;
	size_t fixed = dfg_wire_fixed(type);
	return fixed == 4 ? FIXED32 : fixed == 8 ? FIXED64 : VARINT;
}

/* As in protobuf: too large values lose their upper bits. */
static uint64_t cut(ProtobufCType type, uint64_t value)
{
	switch (type) {
	case PROTOBUF_C_TYPE_INT32:
	case PROTOBUF_C_TYPE_ENUM:
		return (uint64_t)(int64_t)(int32_t)value;
	case PROTOBUF_C_TYPE_UINT32:
		return (uint32_t)value;
	case PROTOBUF_C_TYPE_BOOL:
		return value != 0;
	default:
		return value;
	}
}

static const ProtobufCFieldDescriptor *find_field(const ProtobufCMessageDescriptor *type, uint32_t number)
{
	if (number <= type->n_fields && type->fields[number - 1].id == number)
		return &type->fields[number - 1];
	return protobuf_c_message_descriptor_get_field(type, number);
}

/* Merging repeated messages would need quadratic time, so they are errors; only one member of a oneof may be set. */
static struct dfg_err *check_once(
	const struct dfg_wire *wire, const ProtobufCFieldDescriptor *field, const uint8_t *tag)
{
	bool oneof = field->flags & PROTOBUF_C_FIELD_FLAG_ONEOF;
	if (!oneof && field->type != PROTOBUF_C_TYPE_MESSAGE)
		return NULL;
	for (unsigned i = 0; i < wire->type->n_fields; i++) {
		const ProtobufCFieldDescriptor *other = &wire->type->fields[i];
		bool same_oneof = oneof && (other->flags & PROTOBUF_C_FIELD_FLAG_ONEOF) &&
						  other->quantifier_offset == field->quantifier_offset;
		if (wire->seen >> i & 1 && (other == field || same_oneof))
			return BROKEN(wire, tag, "%s of a %s is given twice, or together with %s", field->name,
				wire->type->short_name, other->name);
	}
	return NULL;
}

/* Reads the tag's number and wire type; *out_found is NULL for an unknown field. */
static struct dfg_err *read_tag(struct dfg_wire *wire, enum wire_type *out_wire_type,
	const ProtobufCFieldDescriptor **out_found, uint32_t *out_number)
{
	const uint8_t *tag = wire->at;
	uint64_t value = *tag;
	if (value < 0x80)
		wire->at++;
	else if (!dfg_wire_varint(&wire->at, wire->end, &value) || value > UINT32_MAX)
		return BROKEN(wire, tag, "invalid tag of a field of %s", wire->type->short_name);
	*out_number = (uint32_t)value >> 3;
	*out_wire_type = value & 7;
	if (!*out_number)
		return BROKEN(wire, tag, "field number 0 in a %s", wire->type->short_name);
	if (*out_wire_type == GROUP || *out_wire_type == END_GROUP || *out_wire_type > FIXED32)
		return BROKEN(wire, tag, "field %" PRIu32 " of a %s has unknown wire type %d", *out_number,
			wire->type->short_name, (int)*out_wire_type);
	*out_found = find_field(wire->type, *out_number);
	return NULL;
}

static struct dfg_err *read_length(struct dfg_wire *wire, const uint8_t *tag, struct dfg_wire_field *out_field)
{
	uint64_t length;
	if (wire->at < wire->end && *wire->at < 0x80)
		length = *wire->at++;
	else if (!dfg_wire_varint(&wire->at, wire->end, &length))
		return BROKEN(wire, tag, "the length of a field of %s is truncated or too long", wire->type->short_name);
	if (length > (size_t)(wire->end - wire->at))
		return BROKEN(wire, tag, "a field of %s has length %" PRIu64 ", but only %zu bytes are left",
			wire->type->short_name, length, (size_t)(wire->end - wire->at));
	out_field->bytes = wire->at;
	out_field->length = (size_t)length;
	wire->at += length;
	return NULL;
}

/* Reads the bytes of a number of that wire type. */
static struct dfg_err *read_number(
	struct dfg_wire *wire, enum wire_type wire_type, const uint8_t *tag, struct dfg_wire_field *out_field)
{
	out_field->bytes = wire->at;
	out_field->value = 0;
	if (wire_type == VARINT) {
		if (!dfg_wire_varint(&wire->at, wire->end, &out_field->value))
			return BROKEN(wire, tag, "a number in a %s is truncated or longer than 64 bits", wire->type->short_name);
	} else {
		size_t size = wire_type == FIXED32 ? 4 : 8;
		if ((size_t)(wire->end - wire->at) < size)
			return BROKEN(wire, tag, "a number in a %s is truncated", wire->type->short_name);
		memcpy(&out_field->value, wire->at, size);
		wire->at += size;
	}
	out_field->length = (size_t)(wire->at - out_field->bytes);
	return NULL;
}

static struct dfg_err *pass_unknown(
	struct dfg_wire *wire, enum wire_type wire_type, const uint8_t *tag, uint32_t number)
{
	struct dfg_wire_field passed;
	struct dfg_wire_file *file = wire->file;
	DFG_TRY(wire_type == LENGTH ? read_length(wire, tag, &passed) : read_number(wire, wire_type, tag, &passed));
	if (file->strict)
		return dfg_wire_error(file, tag, "unknown field %" PRIu32 " in a %s", number, wire->type->short_name);
	if (!file->unknown++) {
		file->first_unknown.message = wire->type->short_name;
		file->first_unknown.number = number;
		file->first_unknown.at = (size_t)(tag - file->start);
	}
	return NULL;
}

/*
 * Fast path for most fields: a string, bytes, or one of many messages, with one byte each for tag and length. False,
 * without moving, for all others.
 */
static inline bool next_short(struct dfg_wire *wire, struct dfg_wire_field *out_field)
{
	const uint8_t *tag = wire->at;
	if (wire->end - tag < 2 || (*tag & 0x87) != LENGTH || tag[1] >= 0x80 || wire->end - tag - 2 < tag[1])
		return false;
	uint32_t number = *tag >> 3;
	if (!number || number > wire->type->n_fields)
		return false;
	const ProtobufCFieldDescriptor *field = &wire->type->fields[number - 1];
	bool many = field->label == PROTOBUF_C_LABEL_REPEATED;
	if (field->id != number || field->type < PROTOBUF_C_TYPE_STRING || field->flags & PROTOBUF_C_FIELD_FLAG_ONEOF ||
		(field->type == PROTOBUF_C_TYPE_MESSAGE && !many))
		return false;
	if (!many)
		wire->seen |= UINT64_C(1) << (number - 1);
	out_field->kind = field->type == PROTOBUF_C_TYPE_MESSAGE ? DFG_WIRE_MESSAGE : DFG_WIRE_BYTES;
	out_field->field = field;
	out_field->tag = tag;
	out_field->bytes = tag + 2;
	out_field->length = tag[1];
	wire->at = tag + 2 + tag[1];
	return true;
}

struct dfg_err *dfg_wire_next(struct dfg_wire *wire, struct dfg_wire_field *out_field)
{
	const ProtobufCFieldDescriptor *field = NULL;
	enum wire_type wire_type = VARINT;
	const uint8_t *tag = wire->at;
	if (next_short(wire, out_field))
		return NULL;
	while (!field) {
		if (wire->at == wire->end) {
			out_field->kind = DFG_WIRE_END;
			return NULL;
		}
		uint32_t number = 0;
		tag = wire->at;
		DFG_TRY(read_tag(wire, &wire_type, &field, &number));
		if (!field)
			DFG_TRY(pass_unknown(wire, wire_type, tag, number));
	}
	bool repeated = field->label == PROTOBUF_C_LABEL_REPEATED;
	bool packed = repeated && wire_type == LENGTH && field->type < PROTOBUF_C_TYPE_STRING;
	if (wire_type != wire_type_of(field->type) && !packed)
		return BROKEN(wire, tag, "%s of a %s has the wrong wire type", field->name, wire->type->short_name);
	if (!repeated) {
		DFG_TRY(check_once(wire, field, tag));
		wire->seen |= UINT64_C(1) << (field - wire->type->fields);
	}
	out_field->field = field;
	out_field->tag = tag;
	if (wire_type == LENGTH) {
		out_field->kind = packed                                   ? DFG_WIRE_ITEMS
						  : field->type == PROTOBUF_C_TYPE_MESSAGE ? DFG_WIRE_MESSAGE
																   : DFG_WIRE_BYTES;
		return read_length(wire, tag, out_field);
	}
	out_field->kind = repeated ? DFG_WIRE_ITEMS : DFG_WIRE_VALUE;
	DFG_TRY(read_number(wire, wire_type, tag, out_field));
	out_field->value = cut(field->type, out_field->value);
	return NULL;
}

struct dfg_err *dfg_wire_item(
	const struct dfg_wire *wire, struct dfg_wire_field *field, uint64_t *out_value, bool *out_more)
{
	*out_more = field->length > 0;
	if (!*out_more)
		return NULL;
	const uint8_t *end = field->bytes + field->length;
	size_t fixed = dfg_wire_fixed(field->field->type);
	*out_value = 0;
	if (fixed > field->length || (!fixed && !dfg_wire_varint(&field->bytes, end, out_value)))
		return BROKEN(wire, field->bytes, "an item of %s is truncated or too long", field->field->name);
	memcpy(out_value, field->bytes, fixed);
	field->bytes += fixed;
	field->length = (size_t)(end - field->bytes);
	*out_value = cut(field->field->type, *out_value);
	return NULL;
}

bool dfg_wire_is_map(const ProtobufCFieldDescriptor *field)
{
	const ProtobufCMessageDescriptor *entry = dfg_wire_message_type(field);
	if (!entry || field->label != PROTOBUF_C_LABEL_REPEATED || entry->n_fields != 2)
		return false;
	size_t length = strlen(entry->short_name);
	return length > 5 && !strcmp(entry->short_name + length - 5, "Entry") && !strcmp(entry->fields[0].name, "key");
}

int dfg_wire_compare_keys(const void *a, size_t a_length, const void *b, size_t b_length)
{
	size_t common = a_length < b_length ? a_length : b_length;
	int order = common ? memcmp(a, b, common) : 0;
	return order ? order : a_length > b_length ? -1 : a_length < b_length;
}
