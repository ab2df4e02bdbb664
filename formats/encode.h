#pragma once

#include "lib/base/io.h"

/*
 * Writes protobuf's wire format from the end to the beginning, so that the length of a message is known before it is
 * written, and nothing is measured first or moved later. The caller encodes the last field first, and the content of a
 * field before its length and tag. A zero-initialised struct is empty. An allocation failure is recorded and reported
 * by dfg_encoder_check().
 */
struct dfg_encoder {
	uint8_t *bytes; /* buffer of `capacity` bytes, of which the last `used` are taken */
	size_t capacity, used;
	struct dfg_encoder_run {
		const void *bytes;
		size_t length;
		size_t used; /* the encoder's length when the run was added */
	} * run;         /* long runs of bytes, borrowed until the encoder is emptied */
	size_t runs, runs_capacity;
	size_t length; /* total length in bytes */
	bool short_of_memory;
};

void dfg_encode_varint(struct dfg_encoder *encoder, uint64_t value);
void dfg_encode_bytes(struct dfg_encoder *encoder, const void *bytes, size_t count); /* copied */
void dfg_encode_fixed(struct dfg_encoder *encoder, uint64_t value, size_t size);

/* As bytes, but a long run is borrowed: it must live until the encoder is emptied. */
void dfg_encode_borrow(struct dfg_encoder *encoder, const void *bytes, size_t count);

/*
 * Whole fields: a number as a varint, a string, and the head of a message whose content is all bytes added since the
 * mark.
 */
void dfg_encode_number(struct dfg_encoder *encoder, uint32_t field, uint64_t value);
void dfg_encode_string(struct dfg_encoder *encoder, uint32_t field, const void *bytes, size_t count);
void dfg_encode_head(struct dfg_encoder *encoder, uint32_t field, size_t mark);
static inline size_t dfg_encode_mark(const struct dfg_encoder *encoder)
{
	return encoder->length;
}

/* DFG_MEMORY if an addition failed. */
DFG_MUST_CHECK struct dfg_err *dfg_encoder_check(const struct dfg_encoder *encoder);

/* Writes the content to a file and empties the encoder. */
DFG_MUST_CHECK struct dfg_err *dfg_encoder_flush(struct dfg_encoder *encoder, struct dfg_out *out);

/* Copies the content to a buffer of encoder->length bytes. */
void dfg_encoder_copy(const struct dfg_encoder *encoder, uint8_t *to);

void dfg_encoder_empty(struct dfg_encoder *encoder);
void dfg_encoder_release(struct dfg_encoder *encoder);
