#include "formats/differ.h"

#include "formats/compare.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum { MOST = 20, WORDS = 600, SHOWN = 60 };

void dfg_differ_say(struct dfg_differ *differ, const char *fmt, ...)
{
	char line[WORDS];
	va_list args;
	if (differ->count++ >= (differ->most ? differ->most : MOST))
		return;
	va_start(args, fmt);
	vsnprintf(line, sizeof line, fmt, args);
	va_end(args);
	dfg_text_printable(&differ->text, line, strlen(line), "");
	dfg_text_put(&differ->text, "\n", 1);
}

void dfg_differ_drop(struct dfg_differ *differ, struct dfg_text *part)
{
	differ->text.short_of_memory |= part->short_of_memory;
	dfg_text_release(part);
}

static bool is_float(enum dfg_dtype dtype)
{
	return dtype == DFG_F16 || dtype == DFG_BF16 || dtype == DFG_F32 || dtype == DFG_F64;
}

static void put_element(struct dfg_text *text, const struct dfg_tensor *tensor, int64_t i)
{
	const void *at = dfg_tensor_at(tensor, i);
	if (tensor->dtype == DFG_STRING) {
		const struct dfg_string *string = at;
		dfg_text_put(text, "\"", 1);
		dfg_text_escape(text, string->s, string->length, SHOWN);
		dfg_text_put(text, "\"", 1);
	} else if (tensor->dtype == DFG_F64) {
		dfg_text_f64(text, *(const double *)at);
	} else if (is_float(tensor->dtype)) {
		dfg_text_f32(text, (float)dfg_tensor_float(tensor, i));
	} else if (tensor->dtype == DFG_C64) {
		const float *parts = at;
		dfg_text_add(text, "%.9g%+.9gi", (double)parts[0], (double)parts[1]);
	} else if (tensor->dtype == DFG_C128) {
		const double *parts = at;
		dfg_text_add(text, "%.17g%+.17gi", parts[0], parts[1]);
	} else if (tensor->dtype == DFG_U64) {
		dfg_text_add(text, "%" PRIu64, *(const uint64_t *)at);
	} else if (dfg_dtype_is(tensor->dtype, "int") || tensor->dtype == DFG_BOOL) {
		dfg_text_add(text, "%" PRId64, dfg_tensor_int(tensor, i));
	} else {
		dfg_text_add(text, "other bits");
	}
}

/* Appends "[2,0]", or nothing for a scalar. */
static void put_index(struct dfg_text *text, const struct dfg_shape *shape, int64_t i)
{
	int64_t index[DFG_RANK_MAX];
	for (int d = shape->rank - 1; d >= 0; i /= shape->dim[d--])
		index[d] = i % shape->dim[d];
	for (int d = 0; d < shape->rank; d++)
		dfg_text_add(text, "%s%" PRId64 "%s", d ? "," : "[", index[d], d == shape->rank - 1 ? "] " : "");
}

void dfg_differ_tensors(
	struct dfg_differ *differ, const char *what, const struct dfg_tensor *a, const struct dfg_tensor *b)
{
	if (a->dtype != b->dtype || !dfg_shape_equal(&a->shape, &b->shape)) {
		dfg_differ_say(differ, "%s: %s, not %s", what, dfg_type_words(b->dtype, &b->shape).s,
			dfg_type_words(a->dtype, &a->shape).s);
		return;
	}
	dfg_differ_repeated(differ, what, &a->shape, a, b);
}

void dfg_differ_repeated(struct dfg_differ *differ, const char *what, const struct dfg_shape *shape,
	const struct dfg_tensor *a, const struct dfg_tensor *b)
{
	const struct dfg_tolerance tolerance = {differ->rtol, differ->atol, !differ->padded};
	int64_t count = dfg_shape_count(shape), of_a = dfg_shape_count(&a->shape), first = -1, differing = 0;
	for (int64_t i = 0; i < of_a; i++)
		if (!dfg_compare_element(a, b, i, &tolerance)) {
			first = first < 0 ? i : first;
			differing += i == of_a - 1 ? count - i : 1;
		}
	if (first < 0)
		return;
	struct dfg_text text = {0};
	put_index(&text, shape, first);
	dfg_text_add(&text, "is ");
	put_element(&text, b, first);
	dfg_text_add(&text, ", not ");
	put_element(&text, a, first);
	if (count > 1)
		dfg_text_add(&text, " (%" PRId64 " of %" PRId64 " differ)", differing, count);
	dfg_differ_say(differ, "%s: %s", what, text.s ? text.s : "");
	dfg_differ_drop(differ, &text);
}

struct dfg_err *dfg_differ_arrays(struct dfg_differ *differ, const struct dfg_arrays *a, const struct dfg_arrays *b)
{
	struct dfg_map names = {0};
	uint32_t number;
	struct dfg_err *err = NULL;
	differ->padded = true;
	for (size_t i = 0; i < b->count && !err; i++)
		if (!dfg_map_put(&names, b->array[i].name, strlen(b->array[i].name), &number, NULL))
			err = dfg_no_memory("the comparison");
	for (size_t i = 0; i < a->count && !err; i++) {
		const char *name = a->array[i].name;
		number = dfg_map_find(&names, name, strlen(name));
		if (number == DFG_NONE)
			dfg_differ_say(differ, "'%.200s': only in the first", name);
		else
			dfg_differ_tensors(differ, *name ? name : "the array", &a->array[i].tensor, &b->array[number].tensor);
	}
	dfg_map_release(&names);
	for (size_t i = 0; i < b->count && !err; i++)
		if (!dfg_arrays_find(a, b->array[i].name))
			dfg_differ_say(differ, "'%.200s': only in the second", b->array[i].name);
	return err ? err : dfg_text_check(&differ->text);
}
