#pragma once

#include "lib/base/text.h"
#include "lib/graph/tensor.h"

/*
 * Messages of protocol buffers within string tensors: summaries, examples, tensors. A message is bytes; its fields are read
 * one after another, without recursion and without copies.
 */
enum dfg_proto_wire { DFG_PROTO_VARINT = 0, DFG_PROTO_FIXED64 = 1, DFG_PROTO_BYTES = 2, DFG_PROTO_FIXED32 = 5 };

/* The first word of a field: its number and its wire type. */
#define DFG_PROTO_KEY(field, wire) ((uint64_t)(field) << 3 | (wire))

/* Writing: text grows; dfg_text_check() tells at the end whether there was memory. */
void dfg_proto_put_varint(struct dfg_text *text, uint64_t value);
void dfg_proto_put_key(struct dfg_text *text, int field, enum dfg_proto_wire wire);
void dfg_proto_put_bytes(struct dfg_text *text, int field, const void *bytes, size_t length);

/* A message within a message, which is released. */
void dfg_proto_put_message(struct dfg_text *text, int field, struct dfg_text *message);

/* Sets output 0, a scalar, to the message, which is released. */
struct dfg_kernel;
DFG_MUST_CHECK struct dfg_err *dfg_proto_give(struct dfg_kernel *ctx, struct dfg_text *message);

/* The bytes of a message that are not read yet; at NULL: the message is damaged. */
struct dfg_proto_reader {
	const uint8_t *at, *end;
};
struct dfg_proto_reader dfg_proto_reader_of(struct dfg_string message);

/* A field: its key, its number (VARINT), and its bytes, borrowed (other wire types). */
struct dfg_proto_field {
	uint64_t key, number;
	struct dfg_string bytes;
};

/* The next field. False: the message ends here, or is damaged. */
bool dfg_proto_next(struct dfg_proto_reader *reader, struct dfg_proto_field *out_field);

/* The next varint of packed ones. False at the end, or for a damaged one. */
bool dfg_proto_varint(struct dfg_proto_reader *reader, uint64_t *out_value);

/* The last field of bytes with this number, or an empty string; false: damaged. */
bool dfg_proto_find(struct dfg_string message, int field, struct dfg_string *out_bytes);
