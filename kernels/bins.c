#include "kernels/ragged.h"
#include "kernels/shape_rules.h"
#include "kernels/sparse.h"

#include <string.h>

/* Counts of numbers by bins, and positions of numbers in sorted rows. */
struct search {
	const void *sorted, *value;
	void *out;
	int64_t n, values; /* of a row */
	bool upper, wide;
};

#define TEMPLATE "kernels/bins.inc"
#include "kernels/each_number.inc"

static dfg_range_fn *const bound_of[DFG_DTYPES] = {DFG_EACH_number(DFG_BY_DTYPE, bound)};
static bool (*const count_of[DFG_DTYPES])(const struct dfg_tensor *numbers, int64_t first, int64_t n,
	const void *weights, bool binary, int64_t size, void *bins) = {DFG_EACH_number(DFG_BY_DTYPE, count)};

static struct dfg_err *bound_shape(struct dfg_infer *node)
{
	for (int i = 0; i < 2; i++)
		DFG_TRY(dfg_need_rank(node, i, 2));
	if (!dfg_shape_fits(&DFG_SHAPE_VECTOR(node->in[0]->dim[0]), &DFG_SHAPE_VECTOR(node->in[1]->dim[0])))
		return DFG_ERR(DFG_DATA, "sorted_inputs have shape %s and values %s, expected equal first dimensions",
			dfg_shape_words(node->in[0]).s, dfg_shape_words(node->in[1]).s);
	node->out[0] = *node->in[1];
	return NULL;
}

static struct dfg_err *bound(struct dfg_kernel *ctx, bool upper)
{
	const struct dfg_tensor *sorted = dfg_kernel_input(ctx, 0), *values = dfg_kernel_input(ctx, 1);
	struct search search = {.sorted = sorted->data, .value = values->data, .upper = upper};
	struct dfg_tensor *out;
	DFG_TRY(dfg_output_now(ctx, &out));
	search.out = out->data;
	search.wide = out->dtype == DFG_I64;
	search.n = sorted->shape.dim[1];
	search.values = values->shape.dim[1];
	if (!search.wide && search.n > INT32_MAX)
		return DFG_ERR(DFG_DATA, "indices into a row of %lld elements do not fit in i32: set out_type to i64",
			(long long)search.n);
	dfg_kernel_ranges(ctx, dfg_shape_count(&values->shape), 1024, bound_of[sorted->dtype], &search);
	return NULL;
}

static struct dfg_err *lower_bound(struct dfg_kernel *ctx)
{
	return bound(ctx, false);
}

static struct dfg_err *upper_bound(struct dfg_kernel *ctx)
{
	return bound(ctx, true);
}

static struct dfg_err *bincount_shape(struct dfg_infer *node)
{
	const struct dfg_shape *in = node->in[0], *weights = node->in[2];
	int64_t size = dfg_int_of(node, 1, 0);
	DFG_TRY(dfg_need_rank(node, 1, 0));
	if (in->rank < 1 || in->rank > 2)
		return DFG_ERR(DFG_DATA, "the input has shape %s, expected 1 or 2 dimensions", dfg_shape_words(in).s);
	bool none = weights->rank == 1 && weights->dim[0] <= 0; /* or unknown */
	if (!none && !dfg_shape_fits(weights, in))
		return DFG_ERR(DFG_DATA, "weights have shape %s, expected %s or no weights", dfg_shape_words(weights).s,
			dfg_shape_words(in).s);
	if (size != DFG_NOT_KNOWN && size < 0)
		return DFG_ERR(DFG_DATA, "'size' is %lld, expected 0 or more", (long long)size);
	node->out[0] = *in;
	node->out[0].dim[in->rank - 1] = size == DFG_NOT_KNOWN ? DFG_UNKNOWN : size;
	return NULL;
}

static struct dfg_err *bincount(struct dfg_kernel *ctx)
{
	const struct dfg_tensor *in = dfg_kernel_input(ctx, 0), *weights = dfg_kernel_input(ctx, 2);
	bool weighted = dfg_shape_count(&weights->shape) > 0;
	struct dfg_tensor *out;
	DFG_TRY(dfg_output_now(ctx, &out));
	memset(out->data, 0, dfg_tensor_bytes(out));
	int last = in->shape.rank - 1;
	int64_t n = in->shape.dim[last], size = out->shape.dim[last];
	for (int64_t row = 0; row < dfg_count_between(&in->shape, 0, last); row++)
		if (!count_of[out->dtype](in, row * n, n, weighted ? weights->data : NULL, dfg_kernel_attr(ctx)[0].b, size,
				dfg_tensor_at(out, row * size)))
			return DFG_ERR(DFG_DATA, "row %lld of the input has a negative number, expected numbers of at least 0",
				(long long)row);
	return NULL;
}

/* The shape of counts by row and bin; rows NO_ROWS: by bin. */
enum { NO_ROWS = -2 };

static struct dfg_err *counts_shape(struct dfg_infer *node, int64_t rows, int size)
{
	const int64_t bins = dfg_int_of(node, size, 0);
	DFG_TRY(dfg_need_rank(node, size, 0));
	if (bins != DFG_NOT_KNOWN && bins < 0)
		return DFG_ERR(DFG_DATA, "'size' is %lld, expected 0 or more", (long long)bins);
	node->out[0] = (struct dfg_shape){.rank = rows != NO_ROWS, .dim = {rows}};
	node->out[0].dim[node->out[0].rank++] = bins == DFG_NOT_KNOWN ? DFG_UNKNOWN : bins;
	return NULL;
}

static struct dfg_err *check_weights(const struct dfg_shape *values, const struct dfg_shape *weights)
{
	if (dfg_shape_count(weights) && !dfg_shape_equal(values, weights))
		return DFG_ERR(DFG_DATA, "weights have shape %s, expected %s or no weights", dfg_shape_words(weights).s,
			dfg_shape_words(values).s);
	return NULL;
}

/* Counts elements [first, end) of the values in a row of the output. */
static struct dfg_err *count_row(struct dfg_kernel *ctx, int values, int64_t row, int64_t first, int64_t end)
{
	struct dfg_tensor *out = ctx->out[0];
	const struct dfg_tensor *weights = dfg_kernel_input(ctx, ctx->call->n_in - 1);
	const int64_t size = out->shape.dim[out->shape.rank - 1];
	if (!count_of[out->dtype](dfg_kernel_input(ctx, values), first, end - first,
			dfg_shape_count(&weights->shape) ? weights->data : NULL, dfg_kernel_attr(ctx)[0].b, size,
			dfg_tensor_at(out, row * size)))
		return DFG_ERR(DFG_DATA, "row %lld has a negative number, expected numbers of at least 0", (long long)row);
	return NULL;
}

/* SparseBincount. */
enum { SPARSE_INDICES, SPARSE_VALUES, SPARSE_DIMS, SPARSE_SIZE };

static struct dfg_err *sparse_bincount_shape(struct dfg_infer *node)
{
	DFG_TRY(dfg_sparse_need(node, SPARSE_INDICES, SPARSE_VALUES, SPARSE_DIMS));
	const int64_t rank = dfg_length_of(node, SPARSE_DIMS), rows = dfg_int_of(node, SPARSE_DIMS, 0);
	if (rank == DFG_UNKNOWN)
		return dfg_need_rank(node, SPARSE_SIZE, 0);
	if (rank < 1 || rank > 2)
		return DFG_ERR(DFG_DATA, "dense_shape has %lld dimensions, expected 1 or 2", (long long)rank);
	return counts_shape(node, rank == 1 ? NO_ROWS : rows == DFG_NOT_KNOWN ? DFG_UNKNOWN : rows, SPARSE_SIZE);
}

static struct dfg_err *sparse_bincount(struct dfg_kernel *ctx)
{
	struct dfg_sparse s;
	struct dfg_tensor *out;
	DFG_TRY(dfg_sparse_of(ctx, SPARSE_INDICES, SPARSE_VALUES, SPARSE_DIMS, &s));
	DFG_TRY(check_weights(&ctx->in[SPARSE_VALUES]->shape, &ctx->in[ctx->call->n_in - 1]->shape));
	DFG_TRY(dfg_output_now(ctx, &out));
	memset(out->data, 0, dfg_tensor_bytes(out));
	for (int64_t e = 0; e < s.n; e++)
		DFG_TRY(count_row(ctx, SPARSE_VALUES, s.rank == 1 ? 0 : s.at[e * s.rank], e, e + 1));
	return NULL;
}

/* RaggedBincount. */
enum { SPLITS, RAGGED_VALUES, RAGGED_SIZE };

static struct dfg_err *ragged_bincount_shape(struct dfg_infer *node)
{
	const int64_t splits = dfg_length_of(node, SPLITS);
	DFG_TRY(dfg_need_rank(node, SPLITS, 1));
	if (splits == 0)
		return DFG_ERR(DFG_DATA, "splits have no element, expected at least one");
	return counts_shape(node, splits == DFG_UNKNOWN ? DFG_UNKNOWN : splits - 1, RAGGED_SIZE);
}

static struct dfg_err *ragged_bincount(struct dfg_kernel *ctx)
{
	const struct dfg_tensor *splits = dfg_kernel_input(ctx, SPLITS), *values = dfg_kernel_input(ctx, RAGGED_VALUES);
	struct dfg_tensor *out;
	DFG_TRY(check_weights(&values->shape, &ctx->in[ctx->call->n_in - 1]->shape));
	DFG_TRY(dfg_splits_check(splits, 0, dfg_shape_count(&values->shape)));
	DFG_TRY(dfg_output_now(ctx, &out));
	memset(out->data, 0, dfg_tensor_bytes(out));
	for (int64_t row = 0; row < out->shape.dim[0]; row++)
		DFG_TRY(count_row(ctx, RAGGED_VALUES, row, dfg_tensor_int(splits, row), dfg_tensor_int(splits, row + 1)));
	return NULL;
}

static struct dfg_err *histogram_shape(struct dfg_infer *node)
{
	int64_t bins = dfg_int_of(node, 2, 0);
	DFG_TRY(dfg_need_rank(node, 2, 0));
	if (!dfg_shape_fits(node->in[1], &DFG_SHAPE_VECTOR(2)))
		return DFG_ERR(DFG_DATA, "'value_range' has shape %s, expected a vector of 2", dfg_shape_words(node->in[1]).s);
	if (bins != DFG_NOT_KNOWN && bins < 1)
		return DFG_ERR(DFG_DATA, "'nbins' is %lld, expected 1 or more", (long long)bins);
	node->out[0] = DFG_SHAPE_VECTOR(bins == DFG_NOT_KNOWN ? DFG_UNKNOWN : bins);
	return NULL;
}

/* Numbers outside the range are in the first or last bin, NaN in the first. */
static struct dfg_err *histogram(struct dfg_kernel *ctx)
{
	const struct dfg_tensor *values = dfg_kernel_input(ctx, 0), *range = dfg_kernel_input(ctx, 1);
	double low = dfg_tensor_float(range, 0), high = dfg_tensor_float(range, 1);
	struct dfg_tensor *out;
	DFG_TRY(dfg_output_now(ctx, &out));
	if (!(low < high))
		return DFG_ERR(DFG_DATA, "'value_range' is %g to %g, expected an end above the start", low, high);
	memset(out->data, 0, dfg_tensor_bytes(out));
	double bins = (double)out->shape.dim[0], step = (high - low) / bins;
	for (int64_t i = 0; i < dfg_shape_count(&values->shape); i++) {
		double place = (dfg_tensor_float(values, i) - low) / step;
		int64_t bin = !(place > 0) ? 0 : place >= bins ? out->shape.dim[0] - 1 : (int64_t)place;
		if (out->dtype == DFG_I64)
			((int64_t *)out->data)[bin]++;
		else
			((int32_t *)out->data)[bin]++;
	}
	return NULL;
}

const struct dfg_op dfg_op_LowerBound = {
	.name = "LowerBound",
	.doc = "for each value, the number of elements in its sorted row that are less than it",
	.sig = "<T: number, out_type: index = i32>(sorted_inputs: T, values: T) -> (output: out_type)",
	.shape = bound_shape,
	.gradient = "",
	.kernel = {DFG_EACH_number(DFG_FOR_DTYPE, lower_bound)},
};

const struct dfg_op dfg_op_UpperBound = {
	.name = "UpperBound",
	.doc = "for each value, the number of elements in its sorted row that are less than or equal to it",
	.sig = "<T: number, out_type: index = i32>(sorted_inputs: T, values: T) -> (output: out_type)",
	.shape = bound_shape,
	.gradient = "",
	.kernel = {DFG_EACH_number(DFG_FOR_DTYPE, upper_bound)},
};

const struct dfg_op dfg_op_DenseBincount = {
	.name = "DenseBincount",
	.doc = "how often each number below size is in a vector or in each row, or the sum of its weights",
	.sig = "<T: number, Tidx: index>(input: Tidx, size: Tidx, weights: T) -> (output: T)",
	.attr = {"binary_output: bool = false"},
	.flags = DFG_NO_GRADIENT,
	.shape = bincount_shape,
	.kernel = {DFG_EACH_number(DFG_FOR_DTYPE, bincount)},
};

const struct dfg_op dfg_op_SparseBincount = {
	.name = "SparseBincount",
	.doc =
		"how often each number below size is in a sparse vector or in each row of a sparse matrix, or the sum of its "
		"weights",
	.sig =
		"<T: number, Tidx: index>(indices: i64, values: Tidx, dense_shape: i64, size: Tidx, weights: T) -> (output: T)",
	.attr = {"binary_output: bool = false"},
	.flags = DFG_NO_GRADIENT,
	.shape = sparse_bincount_shape,
	.kernel = {DFG_EACH_number(DFG_FOR_DTYPE, sparse_bincount)},
};

const struct dfg_op dfg_op_RaggedBincount = {
	.name = "RaggedBincount",
	.doc = "how often each number below size is in each row of a ragged tensor, or the sum of its weights",
	.sig = "<T: number, Tidx: index>(splits: i64, values: Tidx, size: Tidx, weights: T) -> (output: T)",
	.attr = {"binary_output: bool = false"},
	.flags = DFG_NO_GRADIENT,
	.shape = ragged_bincount_shape,
	.kernel = {DFG_EACH_number(DFG_FOR_DTYPE, ragged_bincount)},
};

const struct dfg_op dfg_op_HistogramFixedWidth = {
	.name = "HistogramFixedWidth",
	.doc = "how many values are in each of nbins equal parts of a range",
	.sig = "<T: number, dtype: index = i32>(values: T, value_range: T, nbins: i32) -> (out: dtype)",
	.shape = histogram_shape,
	.gradient = "",
	.kernel = {DFG_EACH_number(DFG_FOR_DTYPE, histogram)},
};
