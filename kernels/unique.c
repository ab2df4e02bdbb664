/*
 * Distinct elements and slices: Unique, UniqueWithCounts, ListDiff; and the indices of elements that are not zero:
 * Where.
 */
#include "kernels/shape_rules.h"
#include "kernels/strided_copy.h"
#include "lib/base/hash.h"

#include <inttypes.h>
#include <string.h>

/*
 * Numbers elements by value, in order of first occurrence. A hash table with open addressing; a slot is a number + 1.
 */
struct numbering {
	size_t size;
	bool is_string;
	enum dfg_dtype dtype;
	const void **element; /* by number */
	uint32_t *slot;
	uint64_t mask;
	int64_t count;
};

static struct dfg_err *numbering_init(
	struct dfg_kernel *ctx, enum dfg_dtype dtype, size_t size, int64_t most, struct numbering *n)
{
	uint64_t slots = 16;
	if (most > UINT32_MAX / 4)
		return DFG_ERR(DFG_MEMORY, "%" PRId64 " elements are too many for a hash table", most);
	while (slots < 2 * (uint64_t)most)
		slots *= 2;
	void *element, *slot;
	DFG_TRY(dfg_kernel_scratch(ctx, ((size_t)most + 1) * sizeof *n->element, &element));
	DFG_TRY(dfg_kernel_scratch(ctx, slots * sizeof *n->slot, &slot));
	memset(slot, 0, slots * sizeof *n->slot);
	*n = (struct numbering){size, dtype == DFG_STRING, dtype, element, slot, slots - 1, 0};
	return NULL;
}

/* The bytes that represent a value: 0 and -0 are equal, and a NaN is equal to nothing. */
static const void *bytes_of(const struct numbering *n, const void *element, size_t *out_length, bool *out_nan)
{
	static const char zeros[16];
	*out_length = n->size;
	*out_nan = false;
	if (n->is_string) {
		*out_length = ((const struct dfg_string *)element)->length;
		return ((const struct dfg_string *)element)->s;
	}
	bool zero = false;
	if (n->dtype == DFG_F32 || n->dtype == DFG_F64) {
		double value = n->dtype == DFG_F32 ? (double)*(const float *)element : *(const double *)element;
		*out_nan = value != value;
		zero = value == 0;
	} else if (n->dtype == DFG_F16 || n->dtype == DFG_BF16) {
		uint16_t bits = *(const uint16_t *)element & 0x7fff;
		*out_nan = bits > (n->dtype == DFG_F16 ? 0x7c00 : 0x7f80);
		zero = !bits;
	}
	return zero ? zeros : element;
}

/* The number of the element; if it has none, the next number is added, or without `add` the result is -1. */
static int64_t number_of(struct numbering *n, const void *element, bool add)
{
	size_t length, other_length;
	bool nan, other_nan;
	const void *bytes = bytes_of(n, element, &length, &nan);
	uint64_t at = dfg_hash_bytes(dfg_hash_key, bytes, length);
	at = (nan ? at + (uint64_t)n->count * UINT64_C(0x9e3779b97f4a7c15) : at) &
		 n->mask; /* NaNs must not form one chain */
	for (; n->slot[at]; at = (at + 1) & n->mask) {
		const void *other = bytes_of(n, n->element[n->slot[at] - 1], &other_length, &other_nan);
		if (!nan && length == other_length && (!length || !memcmp(bytes, other, length)))
			return n->slot[at] - 1;
	}
	if (!add)
		return -1;
	n->element[n->count] = element;
	n->slot[at] = (uint32_t)++n->count;
	return n->count - 1;
}

enum { X, AXIS };
enum { Y, IDX, COUNT };

/* n slices of x along an axis, each of which is `outer` runs of `inner` elements. */
struct slices {
	int axis;
	int64_t n, outer, inner;
};

/* The axis by the second input. Without it, or if it is empty, x must be a vector. */
static struct dfg_err *axis_of(const struct dfg_shape *x, bool given, int64_t axis, int *out_axis)
{
	*out_axis = 0;
	if (given)
		return dfg_axis(axis, x->rank, out_axis);
	if (x->rank != 1)
		return DFG_ERR(DFG_DATA, "x has shape %s, expected a vector", dfg_shape_words(x).s);
	return NULL;
}

static struct dfg_err *unique_shape(struct dfg_infer *node)
{
	const struct dfg_shape *x = node->in[X];
	int64_t given = node->call->n_in > AXIS ? dfg_length_of(node, AXIS) : 0;
	int64_t where = given == 1 ? dfg_int_of(node, AXIS, 0) : 0;
	int axis;
	if (node->call->n_in > AXIS)
		DFG_TRY(dfg_need_rank(node, AXIS, 1));
	if (given > 1)
		return DFG_ERR(DFG_DATA, "axis has %" PRId64 " elements, expected at most one", given);
	if (given < 0 || where == DFG_NOT_KNOWN)
		return NULL;
	DFG_TRY(axis_of(x, given, where, &axis));
	node->out[Y] = *x;
	node->out[Y].dim[axis] = DFG_UNKNOWN;
	node->out[IDX] = DFG_SHAPE_VECTOR(x->dim[axis]);
	if (node->call->n_out > COUNT)
		node->out[COUNT] = DFG_SHAPE_VECTOR(DFG_UNKNOWN);
	return NULL;
}

/* Sets the output of counts: how often each number occurs. */
static struct dfg_err *give_counts(struct dfg_kernel *ctx, int64_t numbers)
{
	struct dfg_tensor *count;
	DFG_TRY(dfg_kernel_output(ctx, COUNT, &DFG_SHAPE_VECTOR(numbers), &count));
	memset(count->data, 0, dfg_tensor_bytes(count));
	for (int64_t i = 0, n = ctx->out[IDX]->shape.dim[0]; i < n; i++) {
		int64_t number = dfg_tensor_int(ctx->out[IDX], i);
		dfg_tensor_put_int(count, number, dfg_tensor_int(count, number) + 1);
	}
	return NULL;
}

/* Sets the output of distinct slices. first[k] is the first slice with number k. */
static struct dfg_err *give_unique(
	struct dfg_kernel *ctx, const struct slices *slices, const int64_t *first, int64_t numbers)
{
	const struct dfg_tensor *x = ctx->in[X];
	struct dfg_shape shape = x->shape;
	struct dfg_tensor *y;
	shape.dim[slices->axis] = numbers;
	DFG_TRY(dfg_kernel_output(ctx, Y, &shape, &y));
	size_t run = (size_t)slices->inner * dfg_dtype_size(x->dtype);
	for (int64_t o = 0; o < slices->outer && run; o++)
		for (int64_t k = 0; k < numbers; k++)
			memcpy(dfg_tensor_at(y, (o * numbers + k) * slices->inner),
				dfg_tensor_at(x, (o * slices->n + first[k]) * slices->inner), run);
	DFG_TRY(dfg_moved(ctx, Y));
	return ctx->call->n_out > COUNT ? give_counts(ctx, numbers) : NULL;
}

/* Replaces elements by their numbers, so that equal slices are equal bytes. */
static struct dfg_err *number_elements(struct dfg_kernel *ctx, const struct slices *slices, int64_t **out_numbers)
{
	const struct dfg_tensor *x = ctx->in[X];
	struct numbering elements;
	void *numbers;
	int64_t count = dfg_shape_count(&x->shape);
	DFG_TRY(numbering_init(ctx, x->dtype, dfg_dtype_size(x->dtype), count, &elements));
	DFG_TRY(dfg_kernel_scratch(ctx, ((size_t)count + 1) * sizeof(int64_t), &numbers));
	int64_t *to = *out_numbers = numbers;
	for (int64_t i = 0; i < slices->n; i++)
		for (int64_t o = 0; o < slices->outer; o++)
			for (int64_t e = 0; e < slices->inner; e++)
				*to++ = number_of(&elements, dfg_tensor_at(x, (o * slices->n + i) * slices->inner + e), true);
	return NULL;
}

/* Numbers slices; those of one element directly. */
static struct dfg_err *number_slices(
	struct dfg_kernel *ctx, const struct slices *slices, int64_t *first, int64_t *out_numbers)
{
	const struct dfg_tensor *x = ctx->in[X];
	int64_t width = slices->outer * slices->inner, *elements = NULL;
	struct numbering numbering;
	if (width != 1)
		DFG_TRY(number_elements(ctx, slices, &elements));
	DFG_TRY(numbering_init(ctx, elements ? DFG_I64 : x->dtype,
		elements ? (size_t)width * sizeof *elements : dfg_dtype_size(x->dtype), slices->n, &numbering));
	for (int64_t i = 0; i < slices->n; i++) {
		const void *slice = elements ? (const void *)(elements + i * width) : dfg_tensor_at(x, i);
		int64_t before = numbering.count, number = number_of(&numbering, slice, true);
		if (number == before)
			first[number] = i;
		dfg_tensor_put_int(ctx->out[IDX], i, number);
	}
	*out_numbers = numbering.count;
	return NULL;
}

static struct dfg_err *unique_run(struct dfg_kernel *ctx)
{
	const struct dfg_tensor *x = dfg_kernel_input(ctx, X);
	bool given = ctx->call->n_in > AXIS && dfg_shape_count(&ctx->in[AXIS]->shape);
	struct slices slices;
	struct dfg_tensor *idx;
	int64_t numbers;
	void *first;
	DFG_TRY(axis_of(&x->shape, given, given ? dfg_tensor_int(ctx->in[AXIS], 0) : 0, &slices.axis));
	slices.n = x->shape.dim[slices.axis];
	slices.outer = dfg_count_between(&x->shape, 0, slices.axis);
	slices.inner = dfg_count_between(&x->shape, slices.axis + 1, x->shape.rank);
	DFG_TRY(dfg_kernel_output(ctx, IDX, &DFG_SHAPE_VECTOR(slices.n), &idx));
	DFG_TRY(dfg_kernel_scratch(ctx, ((size_t)slices.n + 1) * sizeof(int64_t), &first));
	DFG_TRY(number_slices(ctx, &slices, first, &numbers));
	return give_unique(ctx, &slices, first, numbers);
}

#define UNIQUE(Op, text, ports, outputs)                                         \
	const struct dfg_op dfg_op_##Op = {                                          \
		.name = #Op,                                                             \
		.doc = text,                                                             \
		.sig = "<T: plain|string, " ports " -> (y: T, idx: out_idx" outputs ")", \
		.flags = DFG_NO_GRADIENT | DFG_EXACT,                                    \
		.shape = unique_shape,                                                   \
		.run = unique_run,                                                       \
	};
#define OF_VECTOR "out_idx: index = i32>(x: T)"
#define OF_SLICES "Taxis: index = i64, out_idx: index = i32>(x: T, axis: Taxis)"
UNIQUE(Unique, "the distinct elements of x in order of first occurrence, and for each of x its index among them",
	OF_VECTOR, "")
UNIQUE(UniqueWithCounts, "as Unique, and how often each distinct element occurs", OF_VECTOR, ", count: out_idx")
UNIQUE(UniqueV2, "as Unique, of the slices of x along an axis; of its elements if axis is empty", OF_SLICES, "")
UNIQUE(UniqueWithCountsV2, "as UniqueV2, and how often each distinct slice occurs", OF_SLICES, ", count: out_idx")

static struct dfg_err *list_diff_shape(struct dfg_infer *node)
{
	DFG_TRY(dfg_need_rank(node, 0, 1));
	DFG_TRY(dfg_need_rank(node, 1, 1));
	node->out[0] = node->out[1] = DFG_SHAPE_VECTOR(DFG_UNKNOWN);
	return NULL;
}

static struct dfg_err *list_diff_run(struct dfg_kernel *ctx)
{
	const struct dfg_tensor *x = dfg_kernel_input(ctx, 0), *y = dfg_kernel_input(ctx, 1);
	struct numbering numbering;
	struct dfg_tensor *out, *idx;
	int64_t left = 0;
	if (x->shape.rank != 1 || y->shape.rank != 1)
		return DFG_ERR(DFG_DATA, "x and y have shape %s and %s, expected vectors", dfg_shape_words(&x->shape).s,
			dfg_shape_words(&y->shape).s);
	DFG_TRY(numbering_init(ctx, y->dtype, dfg_dtype_size(y->dtype), y->shape.dim[0], &numbering));
	for (int64_t i = 0; i < y->shape.dim[0]; i++)
		number_of(&numbering, dfg_tensor_at(y, i), true);
	for (int64_t i = 0; i < x->shape.dim[0]; i++)
		left += number_of(&numbering, dfg_tensor_at(x, i), false) < 0;
	DFG_TRY(dfg_kernel_output(ctx, 1, &DFG_SHAPE_VECTOR(left), &idx));
	DFG_TRY(dfg_kernel_output(ctx, 0, &DFG_SHAPE_VECTOR(left), &out));
	for (int64_t i = 0, to = 0; i < x->shape.dim[0]; i++)
		if (number_of(&numbering, dfg_tensor_at(x, i), false) < 0) {
			memcpy(dfg_tensor_at(out, to), dfg_tensor_at(x, i), numbering.size);
			dfg_tensor_put_int(idx, to++, i);
		}
	return dfg_moved(ctx, 0);
}

const struct dfg_op dfg_op_ListDiff = {
	.name = "ListDiff",
	.doc = "the elements of x that are not in y, and their indices in x",
	.sig = "<T: plain|string, out_idx: index = i32>(x: T, y: T) -> (out: T, idx: out_idx)",
	.flags = DFG_NO_GRADIENT | DFG_EXACT,
	.shape = list_diff_shape,
	.run = list_diff_run,
};

static struct dfg_err *where_shape(struct dfg_infer *node)
{
	int rank = node->in[0]->rank;
	if (rank == 0)
		return DFG_ERR(DFG_DATA, "input is a scalar, expected at least one dimension");
	node->out[0] = (struct dfg_shape){.rank = 2, .dim = {DFG_UNKNOWN, rank < 0 ? DFG_UNKNOWN : rank}};
	return NULL;
}

static void put_place(const struct dfg_shape *shape, int64_t i, int64_t *place)
{
	for (int d = shape->rank - 1; d >= 0; d--) {
		place[d] = i % shape->dim[d];
		i /= shape->dim[d];
	}
}

#define WHERE(NAME, name, type, ...)                                                                           \
	static struct dfg_err *where_##name(struct dfg_kernel *ctx)                                                \
	{                                                                                                          \
		const struct dfg_shape *shape = &ctx->in[0]->shape;                                                    \
		const type *x = ctx->in[0]->data;                                                                      \
		int64_t n = dfg_shape_count(shape), found = 0;                                                         \
		struct dfg_tensor *out;                                                                                \
		if (!shape->rank)                                                                                      \
			return DFG_ERR(DFG_DATA, "input is a scalar, expected at least one dimension");                    \
		for (int64_t i = 0; i < n; i++)                                                                        \
			found += x[i] != 0;                                                                                \
		DFG_TRY(dfg_kernel_output(ctx, 0, &(struct dfg_shape){.rank = 2, .dim = {found, shape->rank}}, &out)); \
		int64_t *place = out->data;                                                                            \
		for (int64_t i = 0; i < n; i++)                                                                        \
			if (x[i] != 0) {                                                                                   \
				put_place(shape, i, place);                                                                    \
				place += shape->rank;                                                                          \
			}                                                                                                  \
		return NULL;                                                                                           \
	}
DFG_EACH_plain(WHERE)

const struct dfg_op dfg_op_Where = {
	.name = "Where",
	.doc = "the indices of the elements that are true or not 0, one in each row",
	.sig = "<T: plain = bool>(input: T) -> (index: i64)",
	.flags = DFG_NO_GRADIENT | DFG_ANY_RANK | DFG_EXACT,
	.shape = where_shape,
	.kernel = {DFG_EACH_plain(DFG_BY_DTYPE, where)},
};
