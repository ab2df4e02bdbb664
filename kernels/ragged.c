/*
 * Ragged tensors: values, and for each ragged dimension the splits of its rows: row r has the elements
 * [splits[r], splits[r + 1]) of the dimension below it.
 */
#include "kernels/ragged.h"

#include "kernels/gradient_helpers.h"
#include "kernels/shape_rules.h"
#include "kernels/strided_copy.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

/* An error for values beyond the type of the tensor. */
static struct dfg_err *check_index(enum dfg_dtype dtype, int64_t value)
{
	if (dtype == DFG_I32 && value > INT32_MAX)
		return DFG_ERR(DFG_DATA, "there are %" PRId64 " values, more than splits of i32 can count", value);
	return NULL;
}

struct dfg_err *dfg_splits_check(const struct dfg_tensor *splits, int number, int64_t end)
{
	int64_t last = 0;
	if (splits->shape.rank != 1 || splits->shape.dim[0] < 1)
		return DFG_ERR(DFG_DATA, "splits[%d] has shape %s, expected a vector of at least one element", number,
			dfg_shape_words(&splits->shape).s);
	for (int64_t i = 0; i < splits->shape.dim[0]; i++) {
		int64_t at = dfg_tensor_int(splits, i);
		if (i ? at < last : at != 0)
			return DFG_ERR(DFG_DATA, "splits[%d][%" PRId64 "] is %" PRId64 ", expected %s%" PRId64, number, i, at,
				i ? "at least " : "", last);
		last = at;
	}
	if (end >= 0 && last > end)
		return DFG_ERR(
			DFG_DATA, "splits[%d] ends at %" PRId64 ", but the values have %" PRId64 " rows", number, last, end);
	return NULL;
}

/* The splits of `rank` ragged dimensions, from input `first` on, and the values that follow them. */
static struct dfg_err *check_nested(struct dfg_kernel *ctx, int first, int rank, const struct dfg_tensor *values)
{
	if (values->shape.rank < 1)
		return DFG_ERR(DFG_DATA, "the values are a scalar, expected at least one dimension");
	for (int i = 0; i < rank; i++) {
		const struct dfg_tensor *below = i + 1 < rank ? ctx->in[first + i + 1] : NULL;
		int64_t end = below ? (below->shape.rank == 1 ? below->shape.dim[0] - 1 : -1) : values->shape.dim[0];
		DFG_TRY(dfg_splits_check(ctx->in[first + i], i, end));
	}
	return NULL;
}

/* RaggedRange. */
enum { STARTS, LIMITS, DELTAS };

/* The number of rows: that of the vectors among the inputs, which must agree; 1 if all are scalars. */
static struct dfg_err *range_rows(const struct dfg_infer *node, int64_t *out_rows)
{
	*out_rows = 1;
	bool vector = false;
	for (int i = STARTS; i <= DELTAS; i++) {
		if (node->in[i]->rank > 1)
			return DFG_ERR(DFG_DATA, "%s have shape %s, expected a scalar or a vector",
				node->call->signature->in[i].name, dfg_shape_words(node->in[i]).s);
		if (node->in[i]->rank != 1)
			continue;
		int64_t rows = node->in[i]->dim[0];
		if (vector && rows >= 0 && *out_rows >= 0 && rows != *out_rows)
			return DFG_ERR(DFG_DATA,
				"starts, limits and deltas have %" PRId64 " and %" PRId64
				" elements, expected equal numbers or scalars",
				*out_rows, rows);
		*out_rows = vector && rows < 0 ? *out_rows : rows;
		vector = true;
	}
	return NULL;
}

static struct dfg_err *range_shape(struct dfg_infer *node)
{
	int64_t rows;
	DFG_TRY(range_rows(node, &rows));
	node->out[0] = DFG_SHAPE_VECTOR(rows < 0 ? DFG_UNKNOWN : rows + 1);
	node->out[1] = DFG_SHAPE_VECTOR(DFG_UNKNOWN);
	return NULL;
}

/* The length of [start, limit) in steps of delta, for integers and for floats. */
static struct dfg_err *whole_length(int64_t start, int64_t limit, int64_t delta, int64_t *out_length)
{
	uint64_t span = delta > 0 ? (uint64_t)limit - (uint64_t)start : (uint64_t)start - (uint64_t)limit;
	uint64_t step = delta > 0 ? (uint64_t)delta : 0 - (uint64_t)delta;
	*out_length = 0;
	if (delta > 0 ? limit <= start : limit >= start)
		return NULL;
	uint64_t length = span / step + (span % step != 0);
	if (length > INT64_MAX)
		return DFG_ERR(DFG_DATA, "a range of %" PRIu64 " elements is too long", length);
	*out_length = (int64_t)length;
	return NULL;
}

static struct dfg_err *real_length(double start, double limit, double delta, int64_t *out_length)
{
	double length = ceil(fabs((limit - start) / delta));
	*out_length = 0;
	if (isnan(length))
		return DFG_ERR(DFG_DATA, "a range from %g to %g in steps of %g has no defined length", start, limit, delta);
	if (delta > 0 ? limit < start : limit > start)
		return NULL;
	if (!(length < 0x1p63))
		return DFG_ERR(DFG_DATA, "a range from %g to %g in steps of %g is too long", start, limit, delta);
	*out_length = (int64_t)length;
	return NULL;
}

static int64_t row_element(const struct dfg_tensor *tensor, int64_t row)
{
	return tensor->shape.rank ? row : 0;
}

static struct dfg_err *range_length(struct dfg_kernel *ctx, int64_t row, int64_t *out_length)
{
	struct dfg_tensor *const *in = ctx->in;
	int64_t at[3];
	for (int i = STARTS; i <= DELTAS; i++)
		at[i] = row_element(in[i], row);
	if (dfg_tensor_float(in[DELTAS], at[DELTAS]) == 0)
		return DFG_ERR(DFG_DATA, "the step of row %" PRId64 " is 0", row);
	if (dfg_dtype_is(in[STARTS]->dtype, "float"))
		return real_length(dfg_tensor_float(in[STARTS], at[STARTS]), dfg_tensor_float(in[LIMITS], at[LIMITS]),
			dfg_tensor_float(in[DELTAS], at[DELTAS]), out_length);
	return whole_length(dfg_tensor_int(in[STARTS], at[STARTS]), dfg_tensor_int(in[LIMITS], at[LIMITS]),
		dfg_tensor_int(in[DELTAS], at[DELTAS]), out_length);
}

/* Each element is the one before it plus the step, rounded to the type, as in TensorFlow. Integers wrap. */
static void fill_range(struct dfg_tensor *out, int64_t first, int64_t n, struct dfg_tensor *const *in, int64_t row)
{
	const int64_t start = row_element(in[STARTS], row), delta = row_element(in[DELTAS], row);
	if (out->dtype == DFG_F32) {
		float value = ((const float *)in[STARTS]->data)[start], step = ((const float *)in[DELTAS]->data)[delta];
		for (int64_t i = 0; i < n; i++, value += step)
			((float *)out->data)[first + i] = value;
	} else if (out->dtype == DFG_F64) {
		double value = ((const double *)in[STARTS]->data)[start], step = ((const double *)in[DELTAS]->data)[delta];
		for (int64_t i = 0; i < n; i++, value += step)
			((double *)out->data)[first + i] = value;
	} else {
		uint64_t value = (uint64_t)dfg_tensor_int(in[STARTS], start),
				 step = (uint64_t)dfg_tensor_int(in[DELTAS], delta);
		for (int64_t i = 0; i < n; i++, value += step)
			dfg_tensor_put_int(out, first + i, (int64_t)value);
	}
}

static struct dfg_err *range_run(struct dfg_kernel *ctx)
{
	struct dfg_tensor *splits, *values;
	struct dfg_shape shape[2];
	int64_t sum = 0;
	DFG_TRY(dfg_shapes_now(ctx, 2, shape));
	DFG_TRY(dfg_kernel_output(ctx, 0, &shape[0], &splits));
	dfg_tensor_put_int(splits, 0, 0);
	for (int64_t row = 0; row + 1 < shape[0].dim[0]; row++) {
		int64_t length;
		DFG_TRY(range_length(ctx, row, &length));
		if (__builtin_add_overflow(sum, length, &sum))
			return DFG_ERR(DFG_DATA, "the ranges have more than %" PRId64 " elements", INT64_MAX);
		DFG_TRY(check_index(splits->dtype, sum));
		dfg_tensor_put_int(splits, row + 1, sum);
	}
	DFG_TRY(dfg_kernel_output(ctx, 1, &DFG_SHAPE_VECTOR(sum), &values));
	for (int64_t row = 0; row + 1 < shape[0].dim[0]; row++) {
		int64_t first = dfg_tensor_int(splits, row);
		fill_range(values, first, dfg_tensor_int(splits, row + 1) - first, ctx->in, row);
	}
	return NULL;
}

const struct dfg_op dfg_op_RaggedRange = {
	.name = "RaggedRange",
	.doc = "a row of numbers from starts to limits in steps of deltas, for each element of these",
	.sig =
		"<T: f32|f64|i32|i64 = i32, Tsplits: index = i64>(starts: T, limits: T, deltas: T) -> "
		"(rt_nested_splits: Tsplits, rt_dense_values: T)",
	.gradient = "",
	.shape = range_shape,
	.run = range_run,
};

/* RaggedGather. */
enum { PARAMS_RANK = 3, OUTPUT_RANK }; /* parameters of the signature */

static struct dfg_err *gather_shape(struct dfg_infer *node)
{
	const int n = (int)node->call->param[PARAMS_RANK].i, m = (int)node->call->param[OUTPUT_RANK].i;
	const struct dfg_shape *values = node->in[n], *indices = node->in[n + 1];
	if (indices->rank >= 0 && m != n + indices->rank - 1)
		return DFG_ERR(DFG_DATA, "OUTPUT_RAGGED_RANK is %d, expected %d for indices %s", m, n + indices->rank - 1,
			dfg_shape_words(indices).s);
	for (int i = 0; i < m; i++)
		node->out[i] = DFG_SHAPE_VECTOR(DFG_UNKNOWN);
	node->out[m] = *values;
	if (values->rank > 0)
		node->out[m].dim[0] = DFG_UNKNOWN;
	return NULL;
}

/* Splits of the dimensions of indices but the last: their rows are all equally long. */
static struct dfg_err *give_uniform_splits(struct dfg_kernel *ctx, const struct dfg_shape *indices)
{
	for (int d = 0; d + 1 < indices->rank; d++) {
		const int64_t rows = dfg_count_between(indices, 0, d + 1);
		struct dfg_tensor *splits;
		DFG_TRY(dfg_kernel_output(ctx, d, &DFG_SHAPE_VECTOR(rows + 1), &splits));
		for (int64_t i = 0; i <= rows; i++)
			dfg_tensor_put_int(splits, i, i * indices->dim[d + 1]);
	}
	return NULL;
}

/* Pieces of the dimension below: [first[i], end[i]) for the i-th row of the result. */
struct pieces {
	int64_t n, *first, *end;
};

static struct dfg_err *begin_pieces(struct dfg_kernel *ctx, const struct dfg_tensor *indices, struct pieces *p)
{
	const int64_t rows = ctx->in[0]->shape.dim[0] - 1;
	p->n = dfg_shape_count(&indices->shape);
	DFG_TRY(dfg_kernel_scratch(ctx, ((size_t)p->n + 1) * sizeof *p->first, (void **)&p->first));
	DFG_TRY(dfg_kernel_scratch(ctx, ((size_t)p->n + 1) * sizeof *p->end, (void **)&p->end));
	for (int64_t i = 0; i < p->n; i++) {
		int64_t row = dfg_tensor_int(indices, i);
		if (row < 0 || row >= rows)
			return DFG_ERR(DFG_DATA, "indices[%" PRId64 "] is %" PRId64 ", outside [0,%" PRId64 ")", i, row, rows);
		p->first[i] = row;
		p->end[i] = row + 1;
	}
	return NULL;
}

/* The pieces become those of the dimension below. */
static void descend(const struct dfg_tensor *splits, struct pieces *p)
{
	for (int64_t i = 0; i < p->n; i++) {
		p->first[i] = dfg_tensor_int(splits, p->first[i]);
		p->end[i] = dfg_tensor_int(splits, p->end[i]);
	}
}

/* Writes the splits of the chosen rows of one dimension. A scalar index chooses one row, which needs none of the first. */
static struct dfg_err *give_splits(struct dfg_kernel *ctx, int out, const struct dfg_tensor *splits, struct pieces *p)
{
	struct dfg_tensor *to;
	int64_t rows = 0, sum = 0, at = 0;
	for (int64_t i = 0; i < p->n; i++)
		if (__builtin_add_overflow(rows, p->end[i] - p->first[i], &rows))
			return DFG_ERR(DFG_DATA, "the result has more than %" PRId64 " rows", INT64_MAX);
	DFG_TRY(dfg_kernel_output(ctx, out, &DFG_SHAPE_VECTOR(rows + 1), &to));
	dfg_tensor_put_int(to, at++, 0);
	for (int64_t i = 0; i < p->n; i++) {
		const int64_t base = dfg_tensor_int(splits, p->first[i]);
		for (int64_t row = p->first[i]; row < p->end[i]; row++)
			dfg_tensor_put_int(to, at++, sum + dfg_tensor_int(splits, row + 1) - base);
		sum += dfg_tensor_int(splits, p->end[i]) - base;
		DFG_TRY(check_index(to->dtype, sum));
	}
	return NULL;
}

static struct dfg_err *give_pieces(struct dfg_kernel *ctx, int out, const struct dfg_tensor *values, struct pieces *p)
{
	struct dfg_shape shape = values->shape;
	const int64_t each = dfg_count_between(&shape, 1, shape.rank);
	const size_t bytes = (size_t)each * dfg_dtype_size(values->dtype);
	struct dfg_tensor *to;
	shape.dim[0] = 0;
	for (int64_t i = 0; i < p->n; i++)
		shape.dim[0] += p->end[i] - p->first[i];
	DFG_TRY(dfg_kernel_output(ctx, out, &shape, &to));
	char *at = to->data;
	for (int64_t i = 0; i < p->n && bytes; i++) {
		const size_t length = (size_t)(p->end[i] - p->first[i]) * bytes;
		if (length)
			memcpy(at, (const char *)values->data + (size_t)p->first[i] * bytes, length);
		at += length;
	}
	return dfg_moved(ctx, out);
}

static struct dfg_err *gather_run(struct dfg_kernel *ctx)
{
	const int n = (int)ctx->call->param[PARAMS_RANK].i, m = (int)ctx->call->param[OUTPUT_RANK].i;
	const struct dfg_tensor *values = ctx->in[n], *indices = ctx->in[n + 1];
	struct dfg_shape shape[2 * DFG_RANK_MAX];
	struct pieces pieces;
	if (m >= 2 * DFG_RANK_MAX)
		return DFG_ERR(DFG_DATA, "OUTPUT_RAGGED_RANK is %d, expected less than %d", m, 2 * DFG_RANK_MAX);
	DFG_TRY(dfg_shapes_now(ctx, m + 1, shape));
	DFG_TRY(check_nested(ctx, 0, n, values));
	DFG_TRY(begin_pieces(ctx, indices, &pieces));
	DFG_TRY(give_uniform_splits(ctx, &indices->shape));
	for (int i = 0; i < n; i++) {
		if (m - n + i >= 0)
			DFG_TRY(give_splits(ctx, m - n + i, ctx->in[i], &pieces));
		descend(ctx->in[i], &pieces);
	}
	return give_pieces(ctx, m, values, &pieces);
}

/* The rows of the values that each index chose are a range: the cotangents are added to them. */
static struct dfg_err *gather_gradient(struct dfg_gradient *node)
{
	const int n = (int)node->call->param[PARAMS_RANK].i, m = (int)node->call->param[OUTPUT_RANK].i;
	struct dfg_edge splits = node->in[0], indices, all[3], range, shape, ends;
	if (!dfg_gradient_has(node, m) || !node->wanted[n])
		return NULL;
	DFG_TRY(dfg_adjoint_ints(node, 1, &(int64_t){-1}, 1, &shape));
	for (int i = 1; i < n; i++)
		DFG_TRY(dfg_adjoint_op(node, "Gather", node->in[i], splits, DFG_NO_EDGE, &splits));
	DFG_TRY(dfg_adjoint_op(node, "Reshape", node->in[n + 1], shape, DFG_NO_EDGE, &indices));
	DFG_TRY(dfg_adjoint_op(node, "Gather", splits, indices, DFG_NO_EDGE, &all[0]));
	DFG_TRY(dfg_adjoint_op(node, "OnesLike", indices, DFG_NO_EDGE, DFG_NO_EDGE, &ends));
	DFG_TRY(dfg_adjoint_op(node, "AddV2", indices, ends, DFG_NO_EDGE, &ends));
	DFG_TRY(dfg_adjoint_op(node, "Gather", splits, ends, DFG_NO_EDGE, &all[1]));
	DFG_TRY(dfg_adjoint_op(node, "OnesLike", all[0], DFG_NO_EDGE, DFG_NO_EDGE, &all[2]));
	DFG_TRY(dfg_gradient_op(node, "RaggedRange", all, 3, NULL, 0, &range));
	range.port = 1;
	dfg_gradient_set_rows(node, n, node->dy[m], range);
	return NULL;
}

const struct dfg_op dfg_op_RaggedGather = {
	.name = "RaggedGather",
	.doc = "the rows of a ragged tensor that the indices choose",
	.sig =
		"<Tvalues: type, Tindices: index, Tsplits: index = i64, PARAMS_RAGGED_RANK: int, OUTPUT_RAGGED_RANK: int >= 0>"
		"(params_nested_splits: PARAMS_RAGGED_RANK * Tsplits, params_dense_values: Tvalues, indices: Tindices) -> "
		"(output_nested_splits: OUTPUT_RAGGED_RANK * Tsplits, output_dense_values: Tvalues)",
	.flags = DFG_ANY_RANK,
	.shape = gather_shape,
	.gradient_fn = gather_gradient,
	.run = gather_run,
};

/* RaggedTensorToSparse. */
enum { SPARSE_RANK = 2 }; /* parameter of the signature */

static struct dfg_err *sparse_shape(struct dfg_infer *node)
{
	const int n = (int)node->call->param[SPARSE_RANK].i;
	const struct dfg_shape *values = node->in[n];
	const bool ranked = values->rank >= 0;
	if (values->rank == 0)
		return DFG_ERR(DFG_DATA, "rt_dense_values are a scalar, expected at least one dimension");
	int64_t count = ranked && dfg_shape_known(values) ? dfg_shape_count(values) : DFG_UNKNOWN;
	node->out[0] = (struct dfg_shape){.rank = 2, .dim = {count, ranked ? n + values->rank : DFG_UNKNOWN}};
	node->out[1] = DFG_SHAPE_VECTOR(count);
	node->out[2] = DFG_SHAPE_VECTOR(ranked ? n + values->rank : DFG_UNKNOWN);
	return NULL;
}

/* index[row][d] for the ragged dimensions d of each row of the values. */
static struct dfg_err *ragged_indices(struct dfg_kernel *ctx, int n, int64_t rows, int64_t *index)
{
	for (int64_t r = 0; r < rows; r++)
		index[r * (n + 1) + n] = r;
	for (int d = n; d > 0;
		 d--) { /* a row's number in dimension d becomes its place in its row, and that row's number */
		const struct dfg_tensor *splits = ctx->in[d - 1];
		int64_t row = 0;
		for (int64_t r = 0; r < rows; r++) {
			int64_t at = index[r * (n + 1) + d];
			while (dfg_tensor_int(splits, row + 1) <= at)
				row++;
			index[r * (n + 1) + d] = at - dfg_tensor_int(splits, row);
			index[r * (n + 1) + d - 1] = row;
		}
	}
	return NULL;
}

static void put_dense_shape(struct dfg_kernel *ctx, int n, const struct dfg_shape *values, int64_t *to)
{
	to[0] = ctx->in[0]->shape.dim[0] - 1;
	for (int d = 0; d < n; d++) {
		to[d + 1] = 0;
		for (int64_t r = 0; r + 1 < ctx->in[d]->shape.dim[0]; r++) {
			int64_t length = dfg_tensor_int(ctx->in[d], r + 1) - dfg_tensor_int(ctx->in[d], r);
			to[d + 1] = length > to[d + 1] ? length : to[d + 1];
		}
	}
	for (int d = 1; d < values->rank; d++)
		to[n + d] = values->dim[d];
}

/* Each value belongs to a row. */
static struct dfg_err *check_all_used(struct dfg_kernel *ctx, int n, const struct dfg_tensor *values)
{
	const struct dfg_tensor *last = ctx->in[n - 1];
	const int64_t end = dfg_tensor_int(last, last->shape.dim[0] - 1);
	if (end != values->shape.dim[0])
		return DFG_ERR(DFG_DATA, "splits[%d] ends at %" PRId64 ", but the values have %" PRId64 " rows", n - 1, end,
			values->shape.dim[0]);
	return NULL;
}

static struct dfg_err *sparse_run(struct dfg_kernel *ctx)
{
	const int n = (int)ctx->call->param[SPARSE_RANK].i;
	const struct dfg_tensor *values = ctx->in[n];
	struct dfg_tensor *indices, *shape;
	struct dfg_shape out[3];
	int64_t *index;
	DFG_TRY(check_nested(ctx, 0, n, values));
	DFG_TRY(check_all_used(ctx, n, values));
	DFG_TRY(dfg_shapes_now(ctx, 3, out));
	DFG_TRY(dfg_kernel_output(ctx, 0, &out[0], &indices));
	DFG_TRY(dfg_kernel_output(ctx, 2, &out[2], &shape));
	const int64_t rows = values->shape.dim[0], inner = dfg_count_between(&values->shape, 1, values->shape.rank);
	const int rank = n + values->shape.rank;
	DFG_TRY(dfg_kernel_scratch(ctx, ((size_t)rows * ((size_t)n + 1) + 1) * sizeof *index, (void **)&index));
	DFG_TRY(ragged_indices(ctx, n, rows, index));
	for (int64_t i = 0; i < rows * inner; i++) {
		int64_t *to = (int64_t *)indices->data + i * rank, left = i % inner;
		memcpy(to, index + i / inner * (n + 1), ((size_t)n + 1) * sizeof *to);
		for (int d = values->shape.rank - 1; d > 0; left /= values->shape.dim[d--])
			to[n + d] = left % values->shape.dim[d];
	}
	put_dense_shape(ctx, n, &values->shape, shape->data);
	return dfg_kernel_view(ctx, 1, n, &out[1]);
}

static struct dfg_err *sparse_gradient(struct dfg_gradient *node)
{
	const int n = (int)node->call->param[SPARSE_RANK].i;
	struct dfg_edge shape, dx;
	if (!dfg_gradient_has(node, 1) || !node->wanted[n])
		return NULL;
	DFG_TRY(dfg_adjoint_shape(node, node->in[n], &shape));
	DFG_TRY(dfg_adjoint_op(node, "Reshape", node->dy[1], shape, DFG_NO_EDGE, &dx));
	dfg_gradient_set(node, n, dx);
	return NULL;
}

const struct dfg_op dfg_op_RaggedTensorToSparse = {
	.name = "RaggedTensorToSparse",
	.doc = "a ragged tensor as a sparse one",
	.sig =
		"<T: type, Tsplits: index = i64, RAGGED_RANK: int>(rt_nested_splits: RAGGED_RANK * Tsplits, rt_dense_values: "
		"T) "
		"-> (sparse_indices: i64, sparse_values: T, sparse_dense_shape: i64)",
	.flags = DFG_ANY_RANK,
	.shape = sparse_shape,
	.gradient_fn = sparse_gradient,
	.run = sparse_run,
};
