#include "formats/encode.h"

#include "lib/base/mem.h"

#include <protobuf-c/protobuf-c.h>
#include <string.h>

enum { ROOM = 4096, RUN = 4096, VARINT_MOST = 10 };

static bool grow(struct dfg_encoder *encoder, size_t count)
{
	size_t capacity = encoder->capacity ? encoder->capacity * 2 : ROOM;
	capacity = capacity - encoder->used < count ? encoder->used + count + ROOM : capacity;
	uint8_t *bytes = encoder->short_of_memory ? NULL : dfg_mem->take(dfg_mem, capacity, 1);
	if (!bytes) {
		encoder->short_of_memory = true;
		return false;
	}
	if (encoder->used)
		memcpy(bytes + capacity - encoder->used, encoder->bytes + encoder->capacity - encoder->used, encoder->used);
	dfg_free(encoder->bytes);
	encoder->bytes = bytes;
	encoder->capacity = capacity;
	return true;
}

/* Reserves `count` bytes in front of the content; NULL if out of memory. */
static inline uint8_t *front(struct dfg_encoder *encoder, size_t count)
{
	if (count > encoder->capacity - encoder->used && !grow(encoder, count))
		return NULL;
	encoder->used += count;
	encoder->length += count;
	return encoder->bytes + encoder->capacity - encoder->used;
}

void dfg_encode_bytes(struct dfg_encoder *encoder, const void *bytes, size_t count)
{
	uint8_t *to = count ? front(encoder, count) : NULL;
	if (to)
		memcpy(to, bytes, count);
}

void dfg_encode_varint(struct dfg_encoder *encoder, uint64_t value)
{
	uint8_t bytes[VARINT_MOST];
	size_t count = 0;
	if (value < 0x80) {
		uint8_t *one = front(encoder, 1);
		if (one)
			*one = (uint8_t)value;
		return;
	}
	for (; value >= 0x80; value >>= 7)
		bytes[count++] = (uint8_t)(value | 0x80);
	bytes[count++] = (uint8_t)value;
	uint8_t *to = front(encoder, count);
	if (to)
		memcpy(to, bytes, count);
}

void dfg_encode_fixed(struct dfg_encoder *encoder, uint64_t value, size_t size)
{
	uint8_t *to = front(encoder, size);
	for (size_t i = 0; to && i < size; i++)
		to[i] = (uint8_t)(value >> 8 * i);
}

void dfg_encode_borrow(struct dfg_encoder *encoder, const void *bytes, size_t count)
{
	if (count < RUN) {
		dfg_encode_bytes(encoder, bytes, count);
		return;
	}
	if (!dfg_reserve(&encoder->run, &encoder->runs_capacity, encoder->runs + 1, sizeof *encoder->run)) {
		encoder->short_of_memory = true;
		return;
	}
	encoder->run[encoder->runs++] = (struct dfg_encoder_run){bytes, count, encoder->used};
	encoder->length += count;
}

static void put_tag(struct dfg_encoder *encoder, uint32_t field, ProtobufCWireType wire_type)
{
	dfg_encode_varint(encoder, (uint64_t)field << 3 | wire_type);
}

void dfg_encode_number(struct dfg_encoder *encoder, uint32_t field, uint64_t value)
{
	dfg_encode_varint(encoder, value);
	put_tag(encoder, field, PROTOBUF_C_WIRE_TYPE_VARINT);
}

/* Fast path: most heads are two bytes. */
void dfg_encode_head(struct dfg_encoder *encoder, uint32_t field, size_t mark)
{
	size_t length = encoder->length - mark;
	if (length < 0x80 && field < 0x10) {
		uint8_t *two = front(encoder, 2);
		if (two) {
			two[0] = (uint8_t)(field << 3 | PROTOBUF_C_WIRE_TYPE_LENGTH_PREFIXED);
			two[1] = (uint8_t)length;
		}
		return;
	}
	dfg_encode_varint(encoder, length);
	put_tag(encoder, field, PROTOBUF_C_WIRE_TYPE_LENGTH_PREFIXED);
}

void dfg_encode_string(struct dfg_encoder *encoder, uint32_t field, const void *bytes, size_t count)
{
	size_t mark = dfg_encode_mark(encoder);
	dfg_encode_bytes(encoder, bytes, count);
	dfg_encode_head(encoder, field, mark);
}

struct dfg_err *dfg_encoder_check(const struct dfg_encoder *encoder)
{
	return encoder->short_of_memory ? dfg_no_memory("the encoded graph") : NULL;
}

struct dfg_err *dfg_encoder_flush(struct dfg_encoder *encoder, struct dfg_out *out)
{
	DFG_TRY(dfg_encoder_check(encoder));
	const uint8_t *end = encoder->bytes + encoder->capacity;
	size_t left = encoder->used;
	while (encoder->runs) {
		const struct dfg_encoder_run *run = &encoder->run[--encoder->runs];
		DFG_TRY(dfg_out_write(out, end - left, left - run->used));
		DFG_TRY(dfg_out_write(out, run->bytes, run->length));
		left = run->used;
	}
	if (left)
		DFG_TRY(dfg_out_write(out, end - left, left));
	dfg_encoder_empty(encoder);
	return NULL;
}

void dfg_encoder_copy(const struct dfg_encoder *encoder, uint8_t *to)
{
	size_t left = encoder->used;
	for (size_t i = encoder->runs; i-- > 0;) {
		const struct dfg_encoder_run *run = &encoder->run[i];
		memcpy(to, encoder->bytes + encoder->capacity - left, left - run->used);
		memcpy(to + left - run->used, run->bytes, run->length);
		to += left - run->used + run->length;
		left = run->used;
	}
	if (left)
		memcpy(to, encoder->bytes + encoder->capacity - left, left);
}

void dfg_encoder_empty(struct dfg_encoder *encoder)
{
	encoder->used = encoder->length = encoder->runs = 0;
}

void dfg_encoder_release(struct dfg_encoder *encoder)
{
	dfg_free(encoder->bytes);
	dfg_free(encoder->run);
	*encoder = (struct dfg_encoder){0};
}
