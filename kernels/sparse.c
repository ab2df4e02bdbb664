#define _GNU_SOURCE
#include "kernels/sparse.h"

#include "kernels/strided_copy.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* Common parts. */

static struct dfg_err *check_indices(const struct dfg_sparse *s)
{
	for (int64_t i = 0; i < s->n; i++)
		for (int d = 0; d < s->rank; d++)
			if (s->at[i * s->rank + d] < 0 || s->at[i * s->rank + d] >= s->dim[d])
				return DFG_ERR(DFG_DATA,
					"index %" PRId64 " of entry %" PRId64 " is outside [0,%" PRId64 ") in dimension %d",
					s->at[i * s->rank + d], i, s->dim[d], d);
	return NULL;
}

static struct dfg_err *check_dims(const struct dfg_sparse *s)
{
	int64_t count = 1;
	for (int d = 0; d < s->rank; d++)
		if (s->dim[d] < 0)
			return DFG_ERR(DFG_DATA, "the dense shape has dimension %" PRId64, s->dim[d]);
	for (int d = 0; d < s->rank; d++)
		if (__builtin_mul_overflow(count, s->dim[d] ? s->dim[d] : 1, &count))
			return DFG_ERR(DFG_DATA, "the dense shape has more than %" PRId64 " elements", INT64_MAX);
	return NULL;
}

struct dfg_err *dfg_sparse_of(
	const struct dfg_kernel *ctx, int indices, int values, int shape, struct dfg_sparse *out_sparse)
{
	const struct dfg_shape *at = &ctx->in[indices]->shape, *dims = &ctx->in[shape]->shape;
	if (at->rank != 2 || dims->rank != 1 || at->dim[1] != dims->dim[0] || dims->dim[0] > INT16_MAX)
		return DFG_ERR(DFG_DATA, "indices have shape %s and dense_shape %s, expected [n,rank] and [rank]",
			dfg_shape_words(at).s, dfg_shape_words(dims).s);
	if (values >= 0 && (ctx->in[values]->shape.rank != 1 || ctx->in[values]->shape.dim[0] != at->dim[0]))
		return DFG_ERR(DFG_DATA, "values have shape %s, expected one for each of %" PRId64 " indices",
			dfg_shape_words(&ctx->in[values]->shape).s, at->dim[0]);
	*out_sparse = (struct dfg_sparse){at->dim[0], (int)at->dim[1], ctx->in[indices]->data, ctx->in[shape]->data};
	DFG_TRY(check_dims(out_sparse));
	return check_indices(out_sparse);
}

int dfg_sparse_compare(const int64_t *a, const int64_t *b, int rank)
{
	for (int d = 0; d < rank; d++)
		if (a[d] != b[d])
			return a[d] < b[d] ? -1 : 1;
	return 0;
}

struct sorting {
	const int64_t *at;
	int rank;
};

static int by_index(const void *a, const void *b, void *arg)
{
	const struct sorting *s = arg;
	const int64_t i = *(const int64_t *)a, j = *(const int64_t *)b;
	const int order = dfg_sparse_compare(s->at + i * s->rank, s->at + j * s->rank, s->rank);
	return order ? order : i < j ? -1 : i > j;
}

struct dfg_err *dfg_sparse_order(struct dfg_kernel *ctx, const int64_t *at, int64_t n, int rank, int64_t **out_order)
{
	struct sorting sorting = {at, rank};
	bool sorted = true;
	DFG_TRY(dfg_kernel_scratch(ctx, ((size_t)n + 1) * sizeof **out_order, (void **)out_order));
	for (int64_t i = 0; i < n; i++) {
		(*out_order)[i] = i;
		sorted = sorted && (!i || dfg_sparse_compare(at + (i - 1) * rank, at + i * rank, rank) <= 0);
	}
	if (!sorted)
		qsort_r(*out_order, (size_t)n, sizeof **out_order, by_index, &sorting);
	return NULL;
}

struct dfg_err *dfg_sparse_pick(struct dfg_kernel *ctx, int i, int j, const int64_t *place, int64_t n)
{
	const struct dfg_tensor *from = ctx->in[j];
	const size_t bytes = dfg_dtype_size(from->dtype);
	struct dfg_tensor *to;
	DFG_TRY(dfg_kernel_output(ctx, i, &DFG_SHAPE_VECTOR(n), &to));
	for (int64_t k = 0; k < n; k++)
		memcpy((char *)to->data + (size_t)k * bytes, (const char *)from->data + (size_t)place[k] * bytes, bytes);
	return dfg_moved(ctx, i);
}

struct dfg_err *dfg_sparse_need(const struct dfg_infer *node, int indices, int values, int shape)
{
	DFG_TRY(dfg_need_rank(node, indices, 2));
	if (values >= 0)
		DFG_TRY(dfg_need_rank(node, values, 1));
	return dfg_need_rank(node, shape, 1);
}

void dfg_sparse_infer(struct dfg_infer *node, int first, int64_t rank)
{
	node->out[first] = (struct dfg_shape){.rank = 2, .dim = {DFG_UNKNOWN, rank}};
	node->out[first + 1] = DFG_SHAPE_VECTOR(DFG_UNKNOWN);
	node->out[first + 2] = DFG_SHAPE_VECTOR(rank);
}

static struct dfg_err *give_ints(struct dfg_kernel *ctx, int i, const int64_t *value, int64_t n)
{
	struct dfg_tensor *out;
	DFG_TRY(dfg_kernel_output(ctx, i, &DFG_SHAPE_VECTOR(n), &out));
	if (n)
		memcpy(out->data, value, (size_t)n * sizeof *value);
	return NULL;
}

static struct dfg_err *give_matrix(struct dfg_kernel *ctx, int i, int64_t rows, int64_t columns, int64_t **out_data)
{
	struct dfg_tensor *out;
	DFG_TRY(dfg_kernel_output(ctx, i, &(struct dfg_shape){.rank = 2, .dim = {rows, columns}}, &out));
	*out_data = out->data;
	return NULL;
}

static void copy_index(int64_t *to, const int64_t *from, int rank)
{
	if (rank)
		memcpy(to, from, (size_t)rank * sizeof *to);
}

enum { INDICES, VALUES, DIMS };

/* SparseReorder. */

static struct dfg_err *reorder_shape(struct dfg_infer *node)
{
	DFG_TRY(dfg_sparse_need(node, INDICES, VALUES, DIMS));
	node->out[0] = *node->in[INDICES];
	node->out[1] = *node->in[VALUES];
	return NULL;
}

static struct dfg_err *reorder_run(struct dfg_kernel *ctx)
{
	struct dfg_sparse s;
	int64_t *order, *at;
	DFG_TRY(dfg_sparse_of(ctx, INDICES, VALUES, DIMS, &s));
	DFG_TRY(dfg_sparse_order(ctx, s.at, s.n, s.rank, &order));
	DFG_TRY(give_matrix(ctx, 0, s.n, s.rank, &at));
	for (int64_t i = 0; i < s.n; i++)
		copy_index(at + i * s.rank, s.at + order[i] * s.rank, s.rank);
	return dfg_sparse_pick(ctx, 1, VALUES, order, s.n);
}

const struct dfg_op dfg_op_SparseReorder = {
	.name = "SparseReorder",
	.doc = "a sparse tensor with its entries in the order of their indices",
	.sig =
		"<T: type>(input_indices: i64, input_values: T, input_shape: i64) -> (output_indices: i64, output_values: T)",
	.flags = DFG_ANY_RANK,
	.shape = reorder_shape,
	.gradient =
		"indices, order = SparseReorder(input_indices, Range(0, Size(input_values), 1), input_shape)\n"
		"dinput_values = Gather(doutput_values, InvertPermutation(order))",
	.run = reorder_run,
};

/* SparseReshape. */
enum { RESHAPE_DIMS = 1, NEW_DIMS };

static struct dfg_err *reshape_shape(struct dfg_infer *node)
{
	DFG_TRY(dfg_sparse_need(node, INDICES, -1, RESHAPE_DIMS));
	DFG_TRY(dfg_need_rank(node, NEW_DIMS, 1));
	const int64_t rank = node->in[NEW_DIMS]->rank == 1 ? node->in[NEW_DIMS]->dim[0] : DFG_UNKNOWN;
	const int64_t n = node->in[INDICES]->rank == 2 ? node->in[INDICES]->dim[0] : DFG_UNKNOWN;
	node->out[0] = (struct dfg_shape){.rank = 2, .dim = {n, rank}};
	node->out[1] = DFG_SHAPE_VECTOR(rank);
	return NULL;
}

/* The new dimensions, of which one may be -1: it takes the elements that are left. */
static struct dfg_err *new_dims(const struct dfg_sparse *s, const struct dfg_tensor *wanted, int64_t *dim)
{
	int64_t total = 1, product = 1, free = -1;
	for (int d = 0; d < s->rank; d++)
		total *= s->dim[d];
	for (int64_t d = 0; d < wanted->shape.dim[0]; d++) {
		dim[d] = ((const int64_t *)wanted->data)[d];
		if (dim[d] < -1 || (dim[d] == -1 && free >= 0))
			return DFG_ERR(DFG_DATA, "dimension %" PRId64 " of new_shape is %" PRId64 ", expected %s", d, dim[d],
				dim[d] < -1 ? "at least -1" : "one -1 at most");
		if (dim[d] == -1)
			free = d;
		else if (__builtin_mul_overflow(product, dim[d], &product))
			return DFG_ERR(DFG_DATA, "new_shape has more than %" PRId64 " elements", INT64_MAX);
	}
	if (free >= 0 && product <= 0)
		return DFG_ERR(DFG_DATA, "a dimension of new_shape is -1, but another is 0");
	if (free >= 0) {
		dim[free] = total / product;
		product *= dim[free];
	}
	if (product != total)
		return DFG_ERR(
			DFG_DATA, "new_shape has %" PRId64 " elements, but the dense shape has %" PRId64, product, total);
	return NULL;
}

static struct dfg_err *reshape_run(struct dfg_kernel *ctx)
{
	const struct dfg_tensor *wanted = ctx->in[NEW_DIMS];
	struct dfg_sparse s;
	int64_t *dim, *at;
	DFG_TRY(dfg_sparse_of(ctx, INDICES, -1, RESHAPE_DIMS, &s));
	if (wanted->shape.rank != 1)
		return DFG_ERR(DFG_DATA, "new_shape has shape %s, expected a vector", dfg_shape_words(&wanted->shape).s);
	const int64_t rank = wanted->shape.dim[0];
	DFG_TRY(dfg_kernel_scratch(ctx, ((size_t)rank + 1) * sizeof *dim, (void **)&dim));
	DFG_TRY(new_dims(&s, wanted, dim));
	DFG_TRY(give_matrix(ctx, 0, s.n, rank, &at));
	for (int64_t i = 0; i < s.n; i++) {
		int64_t place = 0;
		for (int d = 0; d < s.rank; d++)
			place = place * s.dim[d] + s.at[i * s.rank + d];
		for (int64_t d = rank - 1; d >= 0; place /= dim[d--])
			at[i * rank + d] = place % dim[d];
	}
	return give_ints(ctx, 1, dim, rank);
}

const struct dfg_op dfg_op_SparseReshape = {
	.name = "SparseReshape",
	.doc = "the indices of a sparse tensor in another shape with as many elements",
	.sig = "(input_indices: i64, input_shape: i64, new_shape: i64) -> (output_indices: i64, output_shape: i64)",
	.flags = DFG_ANY_RANK | DFG_NO_GRADIENT,
	.shape = reshape_shape,
	.run = reshape_run,
};

/* SparseSlice. */
enum { START = 3, EXTENT };

static struct dfg_err *slice_shape(struct dfg_infer *node)
{
	DFG_TRY(dfg_sparse_need(node, INDICES, VALUES, DIMS));
	DFG_TRY(dfg_need_rank(node, START, 1));
	DFG_TRY(dfg_need_rank(node, EXTENT, 1));
	dfg_sparse_infer(node, 0, node->in[DIMS]->rank == 1 ? node->in[DIMS]->dim[0] : DFG_UNKNOWN);
	return NULL;
}

/* The extents of the part: what the shape has from the start on, at most the size. */
static struct dfg_err *slice_dims(struct dfg_kernel *ctx, const struct dfg_sparse *s, int64_t *dim)
{
	const struct dfg_tensor *start = ctx->in[START], *size = ctx->in[EXTENT];
	if (start->shape.rank != 1 || size->shape.rank != 1 || start->shape.dim[0] != s->rank ||
		size->shape.dim[0] != s->rank)
		return DFG_ERR(DFG_DATA, "start has shape %s and size %s, expected %d elements each",
			dfg_shape_words(&start->shape).s, dfg_shape_words(&size->shape).s, s->rank);
	for (int d = 0; d < s->rank; d++) {
		const int64_t from = ((const int64_t *)start->data)[d], most = ((const int64_t *)size->data)[d];
		if (from < 0 || most < 0)
			return DFG_ERR(DFG_DATA, "start is %" PRId64 " and size %" PRId64 " in dimension %d, expected at least 0",
				from, most, d);
		const int64_t left = from < s->dim[d] ? s->dim[d] - from : 0;
		dim[d] = left < most ? left : most;
	}
	return NULL;
}

static bool within(const int64_t *at, const int64_t *start, const int64_t *dim, int rank)
{
	for (int d = 0; d < rank; d++)
		if (at[d] < start[d] || at[d] - start[d] >= dim[d])
			return false;
	return true;
}

static struct dfg_err *slice_run(struct dfg_kernel *ctx)
{
	const int64_t *start = ctx->in[START]->data;
	struct dfg_sparse s;
	int64_t *dim, *kept, *at, n = 0;
	DFG_TRY(dfg_sparse_of(ctx, INDICES, VALUES, DIMS, &s));
	DFG_TRY(dfg_kernel_scratch(ctx, ((size_t)s.rank + 1) * sizeof *dim, (void **)&dim));
	DFG_TRY(dfg_kernel_scratch(ctx, ((size_t)s.n + 1) * sizeof *kept, (void **)&kept));
	DFG_TRY(slice_dims(ctx, &s, dim));
	for (int64_t i = 0; i < s.n; i++)
		if (within(s.at + i * s.rank, start, dim, s.rank))
			kept[n++] = i;
	DFG_TRY(give_matrix(ctx, 0, n, s.rank, &at));
	for (int64_t i = 0; i < n; i++)
		for (int d = 0; d < s.rank; d++)
			at[i * s.rank + d] = s.at[kept[i] * s.rank + d] - start[d];
	DFG_TRY(dfg_sparse_pick(ctx, 1, VALUES, kept, n));
	return give_ints(ctx, 2, dim, s.rank);
}

const struct dfg_op dfg_op_SparseSlice = {
	.name = "SparseSlice",
	.doc = "the part of a sparse tensor from `start` on, of at most `size`",
	.sig =
		"<T: type>(indices: i64, values: T, shape: i64, start: i64, size: i64) -> "
		"(output_indices: i64, output_values: T, output_shape: i64)",
	.flags = DFG_ANY_RANK,
	.shape = slice_shape,
	.gradient = "dvalues = SparseSliceGrad(doutput_values, indices, start, output_indices)",
	.run = slice_run,
};

/* SparseSliceGrad. */
enum { SLICE_GRAD, SLICE_IN, SLICE_START, SLICE_OUT };

static struct dfg_err *slice_grad_shape(struct dfg_infer *node)
{
	DFG_TRY(dfg_need_rank(node, SLICE_GRAD, 1));
	DFG_TRY(dfg_need_rank(node, SLICE_IN, 2));
	DFG_TRY(dfg_need_rank(node, SLICE_START, 1));
	DFG_TRY(dfg_need_rank(node, SLICE_OUT, 2));
	node->out[0] = DFG_SHAPE_VECTOR(node->in[SLICE_IN]->rank == 2 ? node->in[SLICE_IN]->dim[0] : DFG_UNKNOWN);
	return NULL;
}

static bool is_moved(const int64_t *in, const int64_t *out, const int64_t *start, int64_t rank)
{
	for (int64_t d = 0; d < rank; d++)
		if ((uint64_t)in[d] - (uint64_t)start[d] != (uint64_t)out[d])
			return false;
	return true;
}

static struct dfg_err *slice_grad_run(struct dfg_kernel *ctx)
{
	const struct dfg_tensor *grad = ctx->in[SLICE_GRAD], *in = ctx->in[SLICE_IN], *out = ctx->in[SLICE_OUT];
	const int64_t *start = ctx->in[SLICE_START]->data, rank = in->shape.dim[1];
	const size_t bytes = dfg_dtype_size(grad->dtype);
	struct dfg_tensor *to;
	if (out->shape.dim[1] != rank || ctx->in[SLICE_START]->shape.dim[0] != rank ||
		out->shape.dim[0] != grad->shape.dim[0])
		return DFG_ERR(DFG_DATA,
			"input_indices have shape %s, input_start %s, output_indices %s and the gradient %s, expected [n,rank], "
			"[rank], [m,rank] and [m]",
			dfg_shape_words(&in->shape).s, dfg_shape_words(&ctx->in[SLICE_START]->shape).s,
			dfg_shape_words(&out->shape).s, dfg_shape_words(&grad->shape).s);
	DFG_TRY(dfg_kernel_output(ctx, 0, &DFG_SHAPE_VECTOR(in->shape.dim[0]), &to));
	memset(to->data, 0, dfg_tensor_bytes(to));
	int64_t next = 0;
	for (int64_t i = 0; i < in->shape.dim[0] && next < out->shape.dim[0]; i++)
		if (is_moved((const int64_t *)in->data + i * rank, (const int64_t *)out->data + next * rank, start, rank))
			memcpy((char *)to->data + (size_t)i * bytes, (const char *)grad->data + (size_t)next++ * bytes, bytes);
	if (next < out->shape.dim[0])
		return DFG_ERR(
			DFG_DATA, "output_indices are not those of a slice of input_indices: entry %" PRId64 " differs", next);
	return NULL;
}

const struct dfg_op dfg_op_SparseSliceGrad = {
	.name = "SparseSliceGrad",
	.doc = "the gradient of SparseSlice: that of an entry of the slice, 0 for the others",
	.sig =
		"<T: numeric|half>(backprop_val_grad: T, input_indices: i64, input_start: i64, output_indices: i64) -> "
		"(val_grad: T)",
	.flags = DFG_NO_GRADIENT,
	.shape = slice_grad_shape,
	.run = slice_grad_run,
};

/* SparseFillEmptyRows. */
enum { FILL_DEFAULT = 3 };

static struct dfg_err *fill_shape(struct dfg_infer *node)
{
	DFG_TRY(dfg_sparse_need(node, INDICES, VALUES, DIMS));
	DFG_TRY(dfg_need_rank(node, FILL_DEFAULT, 0));
	const int64_t rows = dfg_int_of(node, DIMS, 0);
	node->out[0] = (struct dfg_shape){
		.rank = 2, .dim = {DFG_UNKNOWN, node->in[INDICES]->rank == 2 ? node->in[INDICES]->dim[1] : DFG_UNKNOWN}};
	node->out[1] = DFG_SHAPE_VECTOR(DFG_UNKNOWN);
	node->out[2] = DFG_SHAPE_VECTOR(rows == DFG_NOT_KNOWN || rows < 0 ? DFG_UNKNOWN : rows);
	node->out[3] = DFG_SHAPE_VECTOR(node->in[INDICES]->rank == 2 ? node->in[INDICES]->dim[0] : DFG_UNKNOWN);
	return NULL;
}

/* place[r]: where the entries of row r begin in the result, with one for a row without entries. Sum of all at the end. */
static struct dfg_err *place_rows(struct dfg_kernel *ctx, const struct dfg_sparse *s, bool *empty, int64_t **out_place)
{
	const int64_t rows = s->dim[0];
	int64_t *place;
	DFG_TRY(dfg_kernel_scratch(ctx, ((size_t)rows + 1) * sizeof *place, (void **)&place));
	memset(place, 0, ((size_t)rows + 1) * sizeof *place);
	for (int64_t i = 0; i < s->n; i++)
		place[s->at[i * s->rank] + 1]++;
	for (int64_t r = 0; r < rows; r++) {
		empty[r] = !place[r + 1];
		place[r + 1] += place[r] + empty[r];
	}
	*out_place = place;
	return NULL;
}

static struct dfg_err *fill_rows(struct dfg_kernel *ctx, const struct dfg_sparse *s, const bool *empty, int64_t *place)
{
	const int64_t rows = s->dim[0], n = place[rows];
	const struct dfg_tensor *values = ctx->in[VALUES];
	const size_t bytes = dfg_dtype_size(values->dtype);
	struct dfg_tensor *to, *map;
	int64_t *at;
	DFG_TRY(give_matrix(ctx, 0, n, s->rank, &at));
	DFG_TRY(dfg_kernel_output(ctx, 1, &DFG_SHAPE_VECTOR(n), &to));
	DFG_TRY(dfg_kernel_output(ctx, 3, &DFG_SHAPE_VECTOR(s->n), &map));
	for (int64_t r = 0; r < rows; r++) {
		if (!empty[r])
			continue;
		memset(at + place[r] * s->rank, 0, (size_t)s->rank * sizeof *at);
		at[place[r] * s->rank] = r;
		memcpy((char *)to->data + (size_t)place[r] * bytes, ctx->in[FILL_DEFAULT]->data, bytes);
	}
	for (int64_t i = 0; i < s->n; i++) {
		const int64_t where = place[s->at[i * s->rank]]++;
		copy_index(at + where * s->rank, s->at + i * s->rank, s->rank);
		memcpy((char *)to->data + (size_t)where * bytes, (const char *)values->data + (size_t)i * bytes, bytes);
		((int64_t *)map->data)[i] = where;
	}
	return dfg_moved(ctx, 1);
}

static struct dfg_err *fill_run(struct dfg_kernel *ctx)
{
	struct dfg_sparse s;
	struct dfg_tensor *empty;
	int64_t *place;
	DFG_TRY(dfg_sparse_of(ctx, INDICES, VALUES, DIMS, &s));
	if (!s.rank)
		return DFG_ERR(DFG_DATA, "the dense shape has no dimensions, expected at least one");
	DFG_TRY(dfg_kernel_output(ctx, 2, &DFG_SHAPE_VECTOR(s.dim[0]), &empty));
	DFG_TRY(place_rows(ctx, &s, empty->data, &place));
	return fill_rows(ctx, &s, empty->data, place);
}

const struct dfg_op dfg_op_SparseFillEmptyRows = {
	.name = "SparseFillEmptyRows",
	.doc = "a sparse tensor with an entry of default_value in each row that has none",
	.sig =
		"<T: type>(indices: i64, values: T, dense_shape: i64, default_value: T) -> (output_indices: i64, "
		"output_values: T, empty_row_indicator: bool, reverse_index_map: i64)",
	.flags = DFG_ANY_RANK,
	.shape = fill_shape,
	.gradient = "dvalues, ddefault_value = SparseFillEmptyRowsGrad(reverse_index_map, doutput_values)",
	.run = fill_run,
};

static struct dfg_err *fill_grad_shape(struct dfg_infer *node)
{
	DFG_TRY(dfg_need_rank(node, 0, 1));
	DFG_TRY(dfg_need_rank(node, 1, 1));
	node->out[0] = *node->in[0];
	node->out[1] = DFG_SHAPE_SCALAR;
	return NULL;
}

#define FILL_GRAD(NAME, name, type, ...)                                                                             \
	static struct dfg_err *fill_grad_##name(struct dfg_kernel *ctx)                                                  \
	{                                                                                                                \
		const struct dfg_tensor *map = ctx->in[0], *grad = ctx->in[1];                                               \
		const int64_t n = map->shape.dim[0], all = grad->shape.dim[0];                                               \
		struct dfg_tensor *values, *rest;                                                                            \
		bool *taken;                                                                                                 \
		DFG_TRY(dfg_kernel_output(ctx, 0, &map->shape, &values));                                                    \
		DFG_TRY(dfg_kernel_output(ctx, 1, &DFG_SHAPE_SCALAR, &rest));                                                \
		DFG_TRY(dfg_kernel_scratch(ctx, (size_t)all + 1, (void **)&taken));                                          \
		memset(taken, 0, (size_t)all + 1);                                                                           \
		for (int64_t i = 0; i < n; i++) {                                                                            \
			const int64_t at = ((const int64_t *)map->data)[i];                                                      \
			if (at < 0 || at >= all)                                                                                 \
				return DFG_ERR(DFG_DATA,                                                                             \
					"element %" PRId64 " of reverse_index_map is %" PRId64 ", outside [0,%" PRId64 ")", i, at, all); \
			((type *)values->data)[i] = ((const type *)grad->data)[at];                                              \
			taken[at] = true;                                                                                        \
		}                                                                                                            \
		type sum = 0;                                                                                                \
		for (int64_t i = 0; i < all; i++)                                                                            \
			sum = (type)(taken[i] ? sum : sum + ((const type *)grad->data)[i]);                                      \
		*(type *)rest->data = sum;                                                                                   \
		return NULL;                                                                                                 \
	}
DFG_EACH_numeric(FILL_GRAD)

const struct dfg_op dfg_op_SparseFillEmptyRowsGrad = {
	.name = "SparseFillEmptyRowsGrad",
	.doc = "the gradients of SparseFillEmptyRows with respect to the values and the default value",
	.sig = "<T: numeric|half>(reverse_index_map: i64, grad_values: T) -> (d_values: T, d_default_value: T)",
	.flags = DFG_NO_GRADIENT,
	.shape = fill_grad_shape,
	.kernel = {DFG_EACH_numeric(DFG_BY_DTYPE, fill_grad)},
};
