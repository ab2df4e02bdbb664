#include "app/feed.h"

#include "formats/array.h"
#include "lib/base/random.h"
#include "lib/base/text.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static struct dfg_err *cannot_hold(enum dfg_dtype dtype, const char *text, size_t length)
{
	struct dfg_text word = {0};
	dfg_text_escape(&word, text, length, 60);
	struct dfg_err *err = DFG_ERR(DFG_DATA, "%s cannot hold '%s'", dfg_dtype_name(dtype), word.s ? word.s : "");
	dfg_text_release(&word);
	return err;
}

static bool parse_bool(const char *word, void *at)
{
	bool yes = !strcmp(word, "true") || !strcmp(word, "1");
	*(bool *)at = yes;
	return yes || !strcmp(word, "false") || !strcmp(word, "0");
}

/* Parses a number within [least, most]. */
static bool parse_signed(const char *word, int64_t least, int64_t most, int64_t *out_number)
{
	char *end;
	errno = 0;
	*out_number = strtoll(word, &end, 10);
	return !*end && !errno && *out_number >= least && *out_number <= most;
}

static bool parse_unsigned(const char *word, uint64_t most, uint64_t *out_number)
{
	char *end;
	errno = 0;
	*out_number = strtoull(word, &end, 10);
	return !*end && !errno && *word != '-' && *out_number <= most;
}

static bool parse_int(const char *word, enum dfg_dtype dtype, void *at)
{
	int64_t whole;
	uint64_t positive;
	switch (dtype) {
#define SIGNED(NAME, name, type, number, bits)                             \
	case DFG_##NAME:                                                       \
		if (!parse_signed(word, INT##bits##_MIN, INT##bits##_MAX, &whole)) \
			return false;                                                  \
		*(type *)at = (type)whole;                                         \
		return true;
#define UNSIGNED(NAME, name, type, number, bits)                \
	case DFG_##NAME:                                            \
		if (!parse_unsigned(word, UINT##bits##_MAX, &positive)) \
			return false;                                       \
		*(type *)at = (type)positive;                           \
		return true;
		SIGNED(I8, i8, int8_t, 6, 8)
		SIGNED(I16, i16, int16_t, 5, 16)
		SIGNED(I32, i32, int32_t, 3, 32)
		SIGNED(I64, i64, int64_t, 9, 64)
		UNSIGNED(U8, u8, uint8_t, 4, 8)
		UNSIGNED(U16, u16, uint16_t, 17, 16)
		UNSIGNED(U32, u32, uint32_t, 22, 32)
		UNSIGNED(U64, u64, uint64_t, 23, 64)
#undef SIGNED
#undef UNSIGNED
	default:
		return false;
	}
}

/* Text of a finite number must not become infinite. */
static bool parse_float(const char *word, enum dfg_dtype dtype, void *at)
{
	char *end;
	double wide = strtod(word, &end), kept;
	if (*end || (*word != 'n' && *word != 'i' && strpbrk(word, "xX(") != NULL) || !dfg_dtype_is(dtype, "float"))
		return false;
	if (dtype == DFG_F32)
		*(float *)at = strtof(word, NULL);
	else
		dfg_put_real(dtype, at, wide);
	dfg_convert(DFG_F64, &kept, dtype, at, 1);
	return !isinf(kept) || strpbrk(word, "iI");
}

struct dfg_err *dfg_feed_element(const char *text, size_t length, struct dfg_tensor *tensor, int64_t i)
{
	char word[64] = {0};
	void *at = dfg_tensor_at(tensor, i);
	if (tensor->dtype == DFG_STRING)
		return dfg_buffer_string(tensor->buffer, text, length, at);
	while (length && *text == ' ')
		text++, length--;
	while (length && text[length - 1] == ' ')
		length--;
	memcpy(word, text, length < sizeof word ? length : sizeof word - 1);
	bool good = length && length < sizeof word;
	if (good && tensor->dtype == DFG_BOOL)
		good = parse_bool(word, at);
	else if (good && dfg_dtype_is(tensor->dtype, "int"))
		good = parse_int(word, tensor->dtype, at);
	else if (good)
		good = parse_float(word, tensor->dtype, at);
	return good ? NULL : cannot_hold(tensor->dtype, text, length);
}

/* The error for text that is not one value of the dtype; for "1,2" it says how a list is written. */
static struct dfg_err *not_a_scalar(const char *text, enum dfg_dtype dtype, struct dfg_err *err)
{
	int n = 1;
	for (const char *s = text; *s; s++)
		n += *s == ',';
	if (n == 1 || err->code != DFG_DATA)
		return err;
	struct dfg_err *more = DFG_ERR(DFG_DATA, "%s: a list requires its type and shape before it, as in %s[%d]:...",
		err->text, dfg_dtype_name(dtype), n);
	dfg_err_free(err);
	return more;
}

static struct dfg_err *scalar(const char *text, enum dfg_dtype dtype, struct dfg_tensor *out_tensor)
{
	DFG_TRY(dfg_tensor_new(dtype, &DFG_SHAPE_SCALAR, out_tensor));
	struct dfg_err *err = dfg_feed_element(text, strlen(text), out_tensor, 0);
	if (!err)
		return NULL;
	dfg_tensor_release(out_tensor);
	return not_a_scalar(text, dtype, err);
}

/* Parses "f32[2,3]" at *at, and moves *at to its end; false, without moving it, if there is none. */
static bool take_type(const char **at, enum dfg_dtype *out_dtype, struct dfg_shape *out_shape)
{
	const char *open = strchr(*at, '['), *s;
	*out_dtype = open ? dfg_dtype_find(*at, (size_t)(open - *at)) : DFG_NO_DTYPE;
	*out_shape = DFG_SHAPE_SCALAR;
	if (!*out_dtype)
		return false;
	for (s = open + 1; *s != ']';) {
		char *end;
		if (*s < '0' || *s > '9' || out_shape->rank == DFG_RANK_MAX)
			return false;
		errno = 0;
		out_shape->dim[out_shape->rank++] = strtoll(s, &end, 10);
		if (errno || (*end != ',' && *end != ']'))
			return false;
		s = end + (*end == ',');
	}
	*at = s + 1;
	return true;
}

/* Parses "1,2,3": exactly as many elements as the tensor has. */
static struct dfg_err *fill(const char *text, struct dfg_tensor *tensor)
{
	int64_t count = dfg_shape_count(&tensor->shape), given = 0;
	for (bool more = *text || count; more; given++) {
		const char *comma = strchr(text, ',');
		size_t length = comma ? (size_t)(comma - text) : strlen(text);
		if (given < count)
			DFG_TRY(dfg_feed_element(text, length, tensor, given));
		text += length + !!comma;
		more = comma != NULL;
	}
	if (given == count)
		return NULL;
	return DFG_ERR(DFG_DATA, "%s has %lld elements, but %lld are given",
		dfg_type_words(tensor->dtype, &tensor->shape).s, (long long)count, (long long)given);
}

static struct dfg_err *fill_with_ones(struct dfg_tensor *tensor)
{
	int64_t count = dfg_shape_count(&tensor->shape);
	if (count)
		DFG_TRY(dfg_feed_element("1", 1, tensor, 0));
	for (int64_t i = 1; i < count; i++)
		memcpy(dfg_tensor_at(tensor, i), tensor->data, dfg_dtype_size(tensor->dtype));
	return NULL;
}

/* Uniform in (0, 1), so that its logarithm exists. */
static double next_uniform(uint64_t *state)
{
	return ((double)(dfg_random_next(state) >> 11) + 0.5) * 0x1p-53;
}

static struct dfg_err *fill_random(const char *text, bool normal, struct dfg_tensor *tensor)
{
	uint64_t state = 0;
	int64_t count = dfg_shape_count(&tensor->shape);
	if (*text && (strncmp(text, "seed=", 5) || !parse_unsigned(text + 5, UINT64_MAX, &state)))
		return DFG_ERR(DFG_DATA, "'%s' is not seed=N", text);
	if (!dfg_dtype_is(tensor->dtype, "float"))
		return DFG_ERR(DFG_DATA, "random values are floats, but the type is %s", dfg_dtype_name(tensor->dtype));
	for (int64_t i = 0; i < count; i++) {
		double value = next_uniform(&state);
		if (normal)
			value = sqrt(-2 * log(value)) * cos(2 * M_PI * next_uniform(&state));
		dfg_put_real(tensor->dtype, dfg_tensor_at(tensor, i), value);
	}
	return NULL;
}

static struct dfg_err *made(const char *how, const char *text, struct dfg_tensor *tensor)
{
	if (!strcmp(how, "zeros") || !strcmp(how, "ones")) {
		if (*text)
			return DFG_ERR(DFG_DATA, "unexpected '%s' after the type", text);
		if (*how == 'o')
			return tensor->dtype == DFG_STRING ? cannot_hold(DFG_STRING, "1", 1) : fill_with_ones(tensor);
		if (dfg_tensor_bytes(tensor)) /* also empty strings */
			memset(tensor->data, 0, dfg_tensor_bytes(tensor));
		return NULL;
	}
	return fill_random(text, !strcmp(how, "normal"), tensor);
}

/* Generators of whole tensors; NULL: elements follow. */
static const char *const makers[] = {"zeros", "ones", "normal", "uniform"};

static struct dfg_err *typed(const char *how, const char *text, struct dfg_tensor *out_tensor)
{
	enum dfg_dtype dtype;
	struct dfg_shape shape;
	const char *type = text;
	if (!take_type(&text, &dtype, &shape) || (*text && *text != ':') || (!how && !*text))
		return DFG_ERR(DFG_DATA, "'%s' is not a type and shape such as f32[2,3]", type);
	bool zeros = how && *how == 'z' && dfg_dtype_is(dtype, "complex");
	if (!zeros && dtype != DFG_STRING && !dfg_dtype_is(dtype, "number") && dtype != DFG_BOOL && dtype != DFG_F16 &&
		dtype != DFG_BF16)
		return DFG_ERR(DFG_DATA, "values of %s cannot be given as text; use a file", dfg_dtype_name(dtype));
	DFG_TRY(dfg_tensor_new(dtype, &shape, out_tensor));
	text += *text == ':';
	struct dfg_err *err = how ? made(how, text, out_tensor) : fill(text, out_tensor);
	if (err)
		dfg_tensor_release(out_tensor);
	return err;
}

/* Whether the text begins with a type, or with a generator such as "zeros:". */
static bool is_typed(const char *text, const struct dfg_inferred *fact, const char **out_how, const char **out_rest)
{
	enum dfg_dtype dtype;
	struct dfg_shape shape;
	const char *colon = strchr(text, ':'), *at = text;
	*out_how = NULL;
	for (size_t i = 0; colon && i < sizeof makers / sizeof *makers; i++)
		if (!strncmp(text, makers[i], (size_t)(colon - text)) && !makers[i][colon - text])
			*out_how = makers[i];
	*out_rest = *out_how ? colon + 1 : text;
	at = *out_rest;
	bool type = take_type(&at, &dtype, &shape) && (*out_how || *at == ':');
	/* For a tensor of strings, text with any other type is a string. */
	return type ? fact->dtype != DFG_STRING || dtype == DFG_STRING : *out_how && fact->dtype != DFG_STRING;
}

/* Only a csv file whose numbers do not fit fails here; other mismatches are found when it is fed. */
static struct dfg_err *read_file(const char *spec, const struct dfg_inferred *fact, struct dfg_tensor *out_tensor)
{
	const struct dfg_array_input input = {fact->dtype, fact->shape};
	struct dfg_err *unfit;
	DFG_TRY(dfg_array_read_for(spec, &input, false, out_tensor, &unfit));
	if (unfit) {
		unfit = dfg_err_note(unfit, "%s is %s, but the tensor is %s", spec,
			dfg_type_words(out_tensor->dtype, &out_tensor->shape).s, dfg_type_words(fact->dtype, &fact->shape).s);
		dfg_tensor_release(out_tensor);
	}
	return unfit;
}

struct dfg_err *dfg_feed_value(const char *text, const struct dfg_inferred *fact, struct dfg_tensor *out_tensor)
{
	const char *how, *rest;
	*out_tensor = (struct dfg_tensor){0};
	if (*text == '@')
		return read_file(text + 1, fact, out_tensor);
	if (is_typed(text, fact, &how, &rest))
		return typed(how, rest, out_tensor);
	if (dfg_dtype_is_handle(fact->dtype))
		return DFG_ERR(DFG_DATA, "a %s cannot be fed", dfg_dtype_name(fact->dtype));
	return scalar(text, fact->dtype, out_tensor);
}
