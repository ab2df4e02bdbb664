#include "formats/reader.h"

#include "formats/canonical.h"
#include "lib/base/utf8.h"

#include <string.h>

enum { POOL = 64 * 1024, BLOCK_LEAST = 512, WORD_MOST = 4096, ROUND = 16 /* at most this much padding by an arena */ };

static struct dfg_err *over_budget(const struct dfg_reader *r, size_t bytes)
{
	size_t taken = r->arena->total + r->outside_bytes, most = bytes + ROUND;
	if (most < bytes || most > r->budget || taken > r->budget - most)
		return DFG_ERR(DFG_DATA, "needs more than %zu bytes of memory, the limit for a file of its size", r->budget);
	return dfg_no_memory("the graph");
}

struct dfg_err *dfg_reader_allocate(struct dfg_reader *r, size_t count, size_t size, void *out_memory)
{
	r->arena->limit = r->budget > r->outside_bytes ? r->budget - r->outside_bytes : 1;
	void *memory = dfg_arena_zeros(r->arena, count, size);
	if (!memory)
		return over_budget(r, size && count > SIZE_MAX / size ? SIZE_MAX : count * size);
	memcpy(out_memory, &memory, sizeof memory); /* out_memory is the address of a pointer of any type */
	return NULL;
}

struct dfg_err *dfg_reader_reserve(struct dfg_reader *r, void *array, size_t *capacity, size_t count, size_t size)
{
	if (count <= *capacity)
		return NULL;
	size_t old = *capacity, most = (count > old + old / 2 ? count : old + old / 2) + 8;
	if (most > r->budget / size || r->arena->total + r->outside_bytes > r->budget - most * size)
		return over_budget(r, most > SIZE_MAX / size ? SIZE_MAX : most * size);
	if (!dfg_reserve(array, capacity, count, size))
		return dfg_no_memory("the graph");
	r->outside_bytes += (*capacity - old) * size;
	return NULL;
}

size_t dfg_reader_block(size_t last, size_t count, size_t most)
{
	size_t size = last ? 2 * last : BLOCK_LEAST;
	while (size < most && count > size / 4)
		size *= 2;
	return size < most ? size : most;
}

struct dfg_err *dfg_reader_string(struct dfg_reader *r, const uint8_t *bytes, size_t length, const char **out_string)
{
	if (length + 1 > r->pool_left) {
		size_t block = dfg_reader_block(r->pool_size, length + 1, POOL);
		bool alone = length + 1 > block / 4;
		char *fresh = NULL;
		DFG_TRY(dfg_reader_allocate(r, alone ? length + 1 : block, 1, &fresh));
		if (alone) {
			memcpy(fresh, bytes, length);
			*out_string = fresh;
			return NULL;
		}
		r->pool = fresh;
		r->pool_size = r->pool_left = block;
	}
	memcpy(r->pool, bytes, length);
	*out_string = r->pool;
	r->pool += length + 1; /* the storage was zeroed */
	r->pool_left -= length + 1;
	return NULL;
}

static struct dfg_err *check_word(struct dfg_reader *r, const struct dfg_wire_field *field, const char *what)
{
	if (!field->length)
		return dfg_wire_error(&r->file, field->tag, "%s is empty", what);
	if (field->length > WORD_MOST)
		return dfg_wire_error(
			&r->file, field->tag, "%s has %zu bytes, the limit is %d", what, field->length, WORD_MOST);
	for (size_t i = 0; i < field->length; i++)
		if (field->bytes[i] < 0x20 || field->bytes[i] == 0x7f)
			return dfg_wire_error(
				&r->file, field->tag, "%s contains the control character 0x%02x", what, field->bytes[i]);
	if (!dfg_utf8_is(field->bytes, field->length))
		return dfg_wire_error(&r->file, field->tag, "%s is not UTF-8", what);
	return NULL;
}

static struct dfg_err *new_word(
	struct dfg_reader *r, const struct dfg_wire_field *field, const char *what, uint32_t *out_number)
{
	const char *s;
	bool is_new;
	*out_number = dfg_map_find(&r->words, (const char *)field->bytes, field->length);
	if (*out_number != DFG_NONE)
		return NULL;
	DFG_TRY(check_word(r, field, what));
	DFG_TRY(dfg_reader_string(r, field->bytes, field->length, &s));
	DFG_TRY(dfg_reader_reserve(r, &r->word, &r->word_capacity, r->words.count + 1, sizeof *r->word));
	if (!dfg_map_put(&r->words, s, field->length, out_number, &is_new))
		return dfg_no_memory("the graph");
	return NULL;
}

struct dfg_err *dfg_reader_word_number(
	struct dfg_reader *r, const struct dfg_wire_field *field, const char *what, uint32_t *out_number)
{
	size_t length = field->length;
	unsigned mix = length ? field->bytes[0] * 5u + field->bytes[length - 1] * 3u + (unsigned)length : 0;
	struct dfg_reader_recent *recent = &r->recent[mix % (sizeof r->recent / sizeof *r->recent)];
	if (!recent->s || recent->length != length || memcmp(recent->s, field->bytes, length)) {
		uint32_t number;
		DFG_TRY(new_word(r, field, what, &number));
		*recent = (struct dfg_reader_recent){r->words.name[number].s, (uint32_t)length, number};
	}
	*out_number = recent->number;
	return NULL;
}

struct dfg_err *dfg_reader_word(
	struct dfg_reader *r, const struct dfg_wire_field *field, const char *what, const char **out_word)
{
	uint32_t number;
	DFG_TRY(dfg_reader_word_number(r, field, what, &number));
	*out_word = r->words.name[number].s;
	return NULL;
}

struct dfg_err *dfg_reader_canonical(
	struct dfg_reader *r, const struct dfg_wire *message, const void **out_bytes, size_t *out_length)
{
	struct dfg_encoder encoder = {0};
	size_t taken = r->arena->total + r->outside_bytes;
	uint8_t *bytes = NULL;
	struct dfg_err *err = dfg_canonical_put(message, r->budget > taken ? r->budget - taken : 0, &encoder);
	if (!err)
		err = dfg_reader_allocate(r, encoder.length + 1, 1, &bytes); /* present, even if empty */
	if (!err)
		dfg_encoder_copy(&encoder, bytes);
	*out_bytes = bytes;
	*out_length = encoder.length;
	dfg_encoder_release(&encoder);
	return err;
}

struct dfg_err *dfg_reader_drop(struct dfg_reader *r, const struct dfg_wire *wire, const struct dfg_wire_field *field)
{
	if (r->file.strict)
		return dfg_wire_error(&r->file, field->tag, "field %s of a %s cannot be represented and would be lost",
			field->field->name, wire->type->short_name);
	if (!r->file.unknown++) {
		r->file.first_unknown.message = wire->type->short_name;
		r->file.first_unknown.number = field->field->id;
		r->file.first_unknown.at = (size_t)(field->tag - r->file.start);
	}
	return NULL;
}

struct dfg_err *dfg_function_name(
	const struct dfg_wire *library, const struct dfg_wire_field *function, struct dfg_string *out_name)
{
	struct dfg_wire walk, signature;
	struct dfg_wire_field field;
	*out_name = (struct dfg_string){"", 0};
	DFG_TRY(dfg_wire_open(library, function, &walk));
	do {
		DFG_TRY(dfg_wire_next(&walk, &field));
		if (field.kind == DFG_WIRE_END)
			return NULL;
	} while (field.field->id != FUNCTION_SIGNATURE);
	DFG_TRY(dfg_wire_open(&walk, &field, &signature));
	for (;;) {
		DFG_TRY(dfg_wire_next(&signature, &field));
		if (field.kind == DFG_WIRE_END)
			return NULL;
		if (field.field->id == OPDEF_NAME)
			*out_name = (struct dfg_string){(const char *)field.bytes, field.length};
	}
}
