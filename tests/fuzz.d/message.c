/* Mutation of protobuf messages by fields. */
#include "tests/fuzz.d/targets.h"

#include "formats/wire.h"

#include <string.h>

enum { FIELDS = 4096, VARINT = 10, BYTES = 1 << 20 };

/* A field: its tag is [begin, body), its value [body, end), where a length lies between for `has_length`. */
struct field {
	size_t begin, body, end;
	bool has_length;
};

static size_t varint_put(uint8_t *to, uint64_t value)
{
	size_t n = 0;
	for (; value > 127; value >>= 7)
		to[n++] = (uint8_t)(value | 128);
	to[n++] = (uint8_t)value;
	return n;
}

/* The bytes of the value after the tag; false: the wire type is unknown, or the bytes end. */
static bool skip_value(unsigned type, const uint8_t **at, const uint8_t *end, uint64_t *out_length)
{
	const size_t left = (size_t)(end - *at);
	*out_length = type == 1 ? 8 : type == 5 ? 4 : 0;
	if (type == 0)
		return dfg_wire_varint(at, end, out_length) && ((*out_length = 0), true);
	if (type == 2)
		return dfg_wire_varint(at, end, out_length) && *out_length <= (size_t)(end - *at);
	return *out_length && *out_length <= left;
}

/* Finds the fields of a message, at most FIELDS; 0: the bytes are not a message. */
static size_t find_fields(const uint8_t *bytes, size_t size, struct field *field)
{
	const uint8_t *at = bytes, *end = bytes + size;
	size_t count = 0;
	while (at < end && count < FIELDS) {
		uint64_t tag, length;
		field[count].begin = (size_t)(at - bytes);
		if (!dfg_wire_varint(&at, end, &tag) || !(tag >> 3))
			return 0;
		const uint8_t *value = at;
		if (!skip_value(tag & 7, &at, end, &length))
			return 0;
		field[count].has_length = (tag & 7) == 2;
		field[count].body = (size_t)((field[count].has_length ? at : value) - bytes);
		at += length;
		field[count++].end = (size_t)(at - bytes);
	}
	return count;
}

/* Replaces the field by `with`, whose size is `size`. */
static size_t splice(
	uint8_t *bytes, size_t total, size_t begin, size_t end, const uint8_t *with, size_t size, size_t most)
{
	if (total - (end - begin) + size > most)
		return total;
	memmove(bytes + begin + size, bytes + end, total - end);
	if (size)
		memcpy(bytes + begin, with, size);
	return total - (end - begin) + size;
}

/* Copies, removes or moves whole fields. */
static size_t shuffle(
	uint8_t *bytes, size_t size, size_t most, const struct field *one, const struct field *two, int kind)
{
	static uint8_t copy[BYTES];
	const size_t length = one->end - one->begin;
	if (kind == 0)
		return splice(bytes, size, one->begin, one->end, NULL, 0, most);
	memcpy(copy, bytes + one->begin, length);
	return kind == 1 ? splice(bytes, size, two->begin, two->begin, copy, length, most)
					 : splice(bytes, size, two->begin, two->end, copy, length, most);
}

/* The mutated value of a field with a length: the tag stays, the length is adapted. */
static size_t mutate_value(uint8_t *bytes, size_t size, size_t most, const struct field *field, unsigned random,
	dfg_fuzz_mutate_fn *mutate, int depth);

static size_t mutate_fields(
	uint8_t *bytes, size_t size, size_t most, unsigned random, dfg_fuzz_mutate_fn *mutate, int depth)
{
	static struct field all[16][FIELDS];
	struct field *field = all[depth];
	const size_t count = depth < 15 ? find_fields(bytes, size, field) : 0;
	if (!count)
		return 0;
	const struct field *one = &field[random % count];
	random = random / 7 + 1;
	if (one->has_length && random % 4)
		return mutate_value(bytes, size, most, one, random, mutate, depth);
	if (random % 3)
		return shuffle(bytes, size, most, one, &field[random / 5 % count], (int)(random % 3));
	if (one->has_length)
		return shuffle(bytes, size, most, one, one, 0);
	/* The number itself: its bytes are replaced by as many or more. */
	uint8_t number[VARINT * 2];
	const size_t length = one->end - one->body;
	memcpy(number, bytes + one->body, length);
	return splice(bytes, size, one->body, one->end, number, mutate(number, length, sizeof number), most);
}

static size_t mutate_value(uint8_t *bytes, size_t size, size_t most, const struct field *field, unsigned random,
	dfg_fuzz_mutate_fn *mutate, int depth)
{
	static uint8_t values[16][BYTES + VARINT * 2];
	uint8_t *value = values[depth] + VARINT * 2; /* space for the tag and the length */
	const size_t length = field->end - field->body, room = most - size;
	const size_t limit = length + room < BYTES ? length + room : BYTES;
	memcpy(value, bytes + field->body, length);
	size_t changed = random % 8 ? mutate_fields(value, length, limit, random / 3 + 1, mutate, depth + 1) : 0;
	if (!changed)
		changed = mutate(value, length, limit);
	uint8_t digits[VARINT];
	const uint8_t *at = bytes + field->begin, *end = bytes + size;
	uint64_t tag;
	if (!dfg_wire_varint(&at, end, &tag))
		return size;
	const size_t n = varint_put(digits, changed), after_tag = (size_t)(at - bytes);
	memcpy(value - n, digits, n);
	return splice(bytes, size, after_tag, field->end, value - n, changed + n, most);
}

size_t dfg_fuzz_mutate_message(uint8_t *bytes, size_t size, size_t most, unsigned random, dfg_fuzz_mutate_fn *mutate)
{
	return size && size <= BYTES && most <= BYTES ? mutate_fields(bytes, size, most, random, mutate, 0) : 0;
}
