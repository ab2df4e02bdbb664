#pragma once

#include "lib/base/arena.h"
#include "lib/base/err.h"
#include "lib/base/text.h"

#include <protobuf-c/protobuf-c.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Protobuf's wire format, for files from strangers: a cursor over the fields of one message, driven by the descriptors
 * that protobuf-c generates. It reads in place, takes no memory, and checks what it passes: lengths, numbers and wire
 * types, depth, and that singular fields are not repeated. To read the fields of a message field, open a cursor on it.
 *
 *     struct dfg_wire_field field;
 *     for (;;) {
 *             DFG_TRY(dfg_wire_next(&wire, &field));
 *             if (field.kind == DFG_WIRE_END)
 *                     break;
 *             ...
 *     }
 */
enum { DFG_WIRE_DEPTH = 100 };

/* State shared by the cursors of a file. A zero-initialised struct with start set is valid. */
struct dfg_wire_file {
	const uint8_t *start; /* offsets in messages are relative to this */
	bool strict;          /* whether unknown fields are errors; else they are skipped and counted */
	bool broken;          /* whether an error was in the wire format itself, so that later bytes cannot be trusted */
	size_t unknown;
	struct {
		const char *message;
		uint32_t number;
		size_t at;
	} first_unknown;
};

struct dfg_wire {
	struct dfg_wire_file *file;
	const ProtobufCMessageDescriptor *type;
	const uint8_t *at, *end;
	uint64_t seen; /* bit i: type->fields[i] was seen */
	int depth;
};

enum dfg_wire_kind {
	DFG_WIRE_END,
	DFG_WIRE_VALUE,   /* a number: value has its bits, truncated to the field's type and sign-extended */
	DFG_WIRE_BYTES,   /* a string (not yet known to be UTF-8) or bytes */
	DFG_WIRE_ITEMS,   /* items of a repeated number, packed or single: read them with dfg_wire_item() */
	DFG_WIRE_MESSAGE, /* a message, as bytes: open a cursor on it, or skip it unchecked */
};

struct dfg_wire_field {
	enum dfg_wire_kind kind;
	const ProtobufCFieldDescriptor *field;
	uint64_t value;
	const uint8_t *bytes; /* points into the file */
	size_t length;
	const uint8_t *tag; /* start of the field */
};

/* A cursor at the first field of a whole message. */
struct dfg_wire dfg_wire_start(
	struct dfg_wire_file *file, const ProtobufCMessageDescriptor *type, const uint8_t *bytes, size_t length);

/* A cursor at the first field of the message that parent has just read. */
DFG_MUST_CHECK struct dfg_err *dfg_wire_open(
	const struct dfg_wire *parent, const struct dfg_wire_field *field, struct dfg_wire *out_wire);

DFG_MUST_CHECK struct dfg_err *dfg_wire_next(struct dfg_wire *wire, struct dfg_wire_field *out_field);

/*
 * Fast path for long lists: moves to the next field if that is another short one of the same string or bytes field;
 * else leaves the cursor unchanged for dfg_wire_next().
 */
static inline bool dfg_wire_next_same(struct dfg_wire *wire, struct dfg_wire_field *field)
{
	const uint8_t *tag = wire->at;
	if (wire->end - tag < 2 || *tag != *field->tag || *tag >= 0x80 || tag[1] >= 0x80 || wire->end - tag - 2 < tag[1])
		return false;
	field->tag = tag;
	field->bytes = tag + 2;
	field->length = tag[1];
	wire->at = field->bytes + field->length;
	return true;
}

/* Reads the next item of the field to *out_value, as for DFG_WIRE_VALUE; *out_more is false if none was left. */
DFG_MUST_CHECK struct dfg_err *dfg_wire_item(
	const struct dfg_wire *wire, struct dfg_wire_field *field, uint64_t *out_value, bool *out_more);

/* Reads a varint at *at and moves past it; false if it is truncated or longer than 64 bits. */
bool dfg_wire_varint(const uint8_t **at, const uint8_t *end, uint64_t *out_value);
void dfg_wire_put_varint(struct dfg_text *to, uint64_t value);

/* Copies the bytes of a string field to the arena and ends them with 0; DFG_DATA if one of them is 0. */
DFG_MUST_CHECK struct dfg_err *dfg_wire_copy(
	struct dfg_arena *arena, const struct dfg_wire_field *field, const char **out_string);

/* Size in bytes of a number of this type on the wire; 0 if that varies. */
size_t dfg_wire_fixed(ProtobufCType type);

/* An error about the file's content at this position. */
DFG_MUST_CHECK struct dfg_err *dfg_wire_error(const struct dfg_wire_file *file, const uint8_t *at, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

/*
 * The order of map keys in canonical form: strings by bytes, but a key is after those that it is a prefix of
 * ("Tindices", "T"); numbers in descending order. It equals that of Python's protobuf in deterministic mode, so that
 * files can be compared.
 */
int dfg_wire_compare_keys(const void *a, size_t a_length, const void *b, size_t b_length);

static inline const ProtobufCMessageDescriptor *dfg_wire_message_type(const ProtobufCFieldDescriptor *field)
{
	return field->type == PROTOBUF_C_TYPE_MESSAGE ? field->descriptor : NULL;
}

/* Whether the field is a map; an entry is a message "SomethingEntry" with a key and a value. */
bool dfg_wire_is_map(const ProtobufCFieldDescriptor *field);
