#pragma once

#include "lib/base/io.h"

/*
 * Writes protobuf's wire format from its end to its beginning: so the length that stands before a message is known when
 * it is put, and nothing is measured first or moved later. Whoever encodes puts the last field first, and of a field its
 * content before its length and tag. A zeroed struct is empty. Running out of memory is remembered and told at the end.
 */
struct dfg_encoder {
	uint8_t *bytes; /* the last `used` of `room` are taken */
	size_t room, used;
	struct dfg_encoder_run {
		const void *bytes;
		size_t length;
		size_t used; /* of the encoder, when it was put */
	} * run;         /* long runs of bytes, which are borrowed until the encoder is emptied */
	size_t runs, runs_room;
	size_t length; /* of all */
	bool short_of_memory;
};

void dfg_encode_varint(struct dfg_encoder *encoder, uint64_t value);
void dfg_encode_bytes(struct dfg_encoder *encoder, const void *bytes, size_t count); /* copied */
void dfg_encode_fixed(struct dfg_encoder *encoder, uint64_t value, size_t size);

/* As bytes, but a long run is not copied: it must live until the encoder is emptied. */
void dfg_encode_borrow(struct dfg_encoder *encoder, const void *bytes, size_t count);

/* Whole fields: a number as a varint, a string, and the head of a message whose content is all since the mark. */
void dfg_encode_number(struct dfg_encoder *encoder, uint32_t field, uint64_t value);
void dfg_encode_string(struct dfg_encoder *encoder, uint32_t field, const void *bytes, size_t count);
void dfg_encode_head(struct dfg_encoder *encoder, uint32_t field, size_t mark);
static inline size_t dfg_encode_mark(const struct dfg_encoder *encoder)
{
	return encoder->length;
}

/* DFG_MEMORY if some addition failed. */
DFG_MUST_CHECK struct dfg_err *dfg_encoder_check(const struct dfg_encoder *encoder);

/* All that is in it, to a file; it is empty then. */
DFG_MUST_CHECK struct dfg_err *dfg_encoder_flush(struct dfg_encoder *encoder, struct dfg_out *out);

/* All that is in it, to a place with room for encoder->length bytes. */
void dfg_encoder_copy(const struct dfg_encoder *encoder, uint8_t *to);

void dfg_encoder_empty(struct dfg_encoder *encoder);
void dfg_encoder_release(struct dfg_encoder *encoder);
