#include "lib/graph/tensor.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

int64_t dfg_shape_count(const struct dfg_shape *shape)
{
	int64_t count = 1;
	for (int i = 0; i < shape->rank; i++)
		count *= shape->dim[i];
	return count;
}

struct dfg_err *dfg_shape_bytes(const struct dfg_shape *shape, enum dfg_dtype dtype, size_t *out_bytes)
{
	size_t bytes = dfg_dtype_size(dtype);
	bool empty = false;
	for (int i = 0; i < shape->rank; i++) {
		int64_t dim = shape->dim[i];
		if (dim < 0)
			return DFG_ERR(DFG_DATA, "negative dimension in %s", dfg_shape_words(shape).s);
		empty |= !dim;
		/* a zero must not hide an overflow of the other dimensions: other code may multiply in another order */
		if (dim && (__builtin_mul_overflow(bytes, (size_t)dim, &bytes) || bytes > PTRDIFF_MAX))
			return DFG_ERR(DFG_DATA, "%s is larger than any memory", dfg_type_words(dtype, shape).s);
	}
	*out_bytes = empty ? 0 : bytes;
	return NULL;
}

bool dfg_shape_equal(const struct dfg_shape *a, const struct dfg_shape *b)
{
	return a->rank == b->rank && (a->rank <= 0 || !memcmp(a->dim, b->dim, (size_t)a->rank * sizeof *a->dim));
}

bool dfg_shape_known(const struct dfg_shape *shape)
{
	for (int i = 0; i < shape->rank; i++)
		if (shape->dim[i] < 0)
			return false;
	return shape->rank >= 0;
}

bool dfg_shape_fits(const struct dfg_shape *a, const struct dfg_shape *b)
{
	if (a->rank < 0 || b->rank < 0)
		return true;
	if (a->rank != b->rank)
		return false;
	for (int i = 0; i < a->rank; i++)
		if (a->dim[i] != b->dim[i] && a->dim[i] >= 0 && b->dim[i] >= 0)
			return false;
	return true;
}

struct dfg_shape dfg_shape_merge(const struct dfg_shape *a, const struct dfg_shape *b)
{
	struct dfg_shape shape = a->rank < 0 ? *b : *a;
	for (int i = 0; i < shape.rank && b->rank >= 0; i++)
		if (shape.dim[i] < 0)
			shape.dim[i] = b->dim[i];
	return shape;
}

/* Dimension i, counted from the innermost; 1 beyond the rank. */
static int64_t dim_from_end(const struct dfg_shape *shape, int i)
{
	return i < shape->rank ? shape->dim[shape->rank - 1 - i] : 1;
}

static struct dfg_err *stretch(struct dfg_shape *shape, const struct dfg_shape *other)
{
	struct dfg_shape out = {.rank = shape->rank > other->rank ? shape->rank : other->rank};
	for (int i = 0; i < out.rank; i++) {
		int64_t m = dim_from_end(shape, i), n = dim_from_end(other, i);
		if (m >= 0 && n >= 0 && m != 1 && n != 1 && m != n)
			return DFG_ERR(DFG_DATA, "cannot broadcast %s with %s", dfg_shape_words(shape).s, dfg_shape_words(other).s);
		out.dim[out.rank - 1 - i] = m == 1 || (m == DFG_UNKNOWN && n != 1) ? n : m;
	}
	*shape = out;
	return NULL;
}

struct dfg_err *dfg_shape_broadcast(const struct dfg_shape *const *in, int n_in, struct dfg_shape *out_shape)
{
	struct dfg_shape shape = *in[0];
	for (int i = 0; i < n_in; i++)
		if (in[i]->rank < 0) {
			*out_shape = DFG_SHAPE_UNKNOWN;
			return NULL;
		}
	for (int i = 1; i < n_in; i++)
		DFG_TRY(stretch(&shape, in[i]));
	*out_shape = shape;
	return NULL;
}

struct dfg_words dfg_shape_words(const struct dfg_shape *shape)
{
	struct dfg_words words = {"[...]"};
	if (shape->rank < 0)
		return words;
	char *to = words.s, *end = words.s + sizeof words.s;
	to += snprintf(to, (size_t)(end - to), "[");
	for (int i = 0; i < shape->rank && i < DFG_RANK_MAX; i++)
		if (shape->dim[i] == DFG_UNKNOWN)
			to += snprintf(to, (size_t)(end - to), "%s?", i ? "," : "");
		else
			to += snprintf(to, (size_t)(end - to), "%s%" PRId64, i ? "," : "", shape->dim[i]);
	snprintf(to, (size_t)(end - to), "]");
	return words;
}

struct dfg_words dfg_type_words(enum dfg_dtype dtype, const struct dfg_shape *shape)
{
	struct dfg_words words;
	snprintf(words.s, sizeof words.s, "%.12s%.170s", dfg_dtype_name(dtype), dfg_shape_words(shape).s);
	return words;
}
