/* Tensors made from a few numbers: Fill, Range, LinSpace, OneHot. */
#include "kernels/gradient_helpers.h"
#include "kernels/strided_copy.h"
#include "kernels/shape_rules.h"
#include "kernels/row_rules.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

static struct dfg_err *fill_shape(struct dfg_infer *node)
{
	DFG_TRY(dfg_need_rank(node, 1, 0));
	DFG_TRY(dfg_shape_of(node, 0, &node->out[0]));
	for (int d = 0; d < node->out[0].rank; d++)
		if (dfg_int_of(node, 0, d) == -1)
			return DFG_ERR(DFG_DATA, "dimension %d of the shape is -1, expected at least 0", d);
	size_t bytes;
	return dfg_shape_known(&node->out[0]) ? dfg_shape_bytes(&node->out[0], DFG_U8, &bytes) : NULL;
}

static struct dfg_err *fill_known(struct dfg_infer *node)
{
	struct dfg_known_value *known;
	if (node->out[0].rank != 1)
		return NULL;
	DFG_TRY(dfg_known_new(node, 0, 1, node->out[0].dim[0], &known));
	for (int64_t k = 0; known && k < known->count; k++)
		known->v[k] = dfg_int_of(node, 1, 0);
	return NULL;
}

static struct dfg_err *fill_run(struct dfg_kernel *ctx)
{
	struct dfg_tensor *out;
	DFG_TRY(dfg_output_now(ctx, &out));
	dfg_repeat(out->data, dfg_shape_count(&out->shape), ctx->in[1]->data, dfg_dtype_size(out->dtype));
	return dfg_moved(ctx, 0);
}

/* The first dimension is the number of rows: they are all the same. */
static const char *fill_rows(const struct dfg_infer *node, uint64_t by_row)
{
	return by_row == 1 && dfg_length_of(node, 0) > 0 ? NULL : "its value depends on the number of rows";
}

const struct dfg_op dfg_op_Fill = {
	.name = "Fill",
	.doc = "a tensor of the given dimensions, every element of which is value",
	.sig = "<T: type, index_type: index = i32>(dims: index_type, value: T) -> (output: T)",
	.flags = DFG_ANY_RANK | DFG_EXACT,
	.shape = fill_shape,
	.known = fill_known,
	.rows = fill_rows,
	.gradient = "dvalue = Sum(doutput, Range(0, Rank(doutput), 1))",
	.run = fill_run,
};

static struct dfg_err *empty_shape(struct dfg_infer *node)
{
	size_t bytes;
	DFG_TRY(dfg_need_rank(node, 0, 1));
	DFG_TRY(dfg_shape_of(node, 0, &node->out[0]));
	for (int d = 0; d < node->out[0].rank; d++)
		if (dfg_int_of(node, 0, d) == -1)
			return DFG_ERR(DFG_DATA, "dimension %d of the shape is -1, expected at least 0", d);
	return dfg_shape_known(&node->out[0]) ? dfg_shape_bytes(&node->out[0], DFG_U8, &bytes) : NULL;
}

/* The elements are zero even without init, because undefined ones would differ from run to run. */
static struct dfg_err *empty_run(struct dfg_kernel *ctx)
{
	struct dfg_tensor *out;
	DFG_TRY(dfg_output_now(ctx, &out));
	if (dfg_tensor_bytes(out) && !dfg_dtype_is_object(out->dtype))
		memset(out->data, 0, dfg_tensor_bytes(out));
	return NULL;
}

const struct dfg_op dfg_op_Empty = {
	.name = "Empty",
	.doc = "a tensor of the given dimensions whose elements are zero",
	.sig = "<dtype: type>(shape: i32) -> (output: dtype)",
	.attr = {"init: bool = false"},
	.flags = DFG_ANY_RANK | DFG_STATEFUL | DFG_NO_GRADIENT,
	.shape = empty_shape,
	.run = empty_run,
};

static struct dfg_err *range_count(double start, double limit, double delta, double exact, int64_t *out_count)
{
	if (!(delta < 0 || delta > 0))
		return DFG_ERR(DFG_DATA, "delta is %g, expected a number other than 0", delta);
	if (delta > 0 ? !(start <= limit) : !(start >= limit))
		return DFG_ERR(DFG_DATA, "cannot go from %g to %g in steps of %g", start, limit, delta);
	if (!isfinite(start) || !isfinite(limit))
		return DFG_ERR(DFG_DATA, "a range from %g to %g has no end", start, limit);
	double count = ceil(exact);
	if (!(count < 0x1p62))
		return DFG_ERR(DFG_DATA, "a range of %g elements is larger than any memory", count);
	*out_count = (int64_t)count;
	return NULL;
}

/* Computed without overflow: a difference of 64-bit integers may need 65 bits. */
static struct dfg_err *range_count_int(int64_t start, int64_t limit, int64_t delta, int64_t *out_count)
{
	__int128 way = (__int128)limit - start, step = delta;
	if (way < 0) {
		way = -way;
		step = -step;
	}
	if (!delta)
		return DFG_ERR(DFG_DATA, "delta is 0, expected a number other than 0");
	if (way && step < 0)
		return DFG_ERR(DFG_DATA, "cannot go from %" PRId64 " to %" PRId64 " in steps of %" PRId64, start, limit, delta);
	__int128 count = way ? (way + step - 1) / step : 0;
	if (count > INT64_MAX / 16)
		return DFG_ERR(DFG_DATA, "the range from %" PRId64 " to %" PRId64 " is larger than any memory", start, limit);
	*out_count = (int64_t)count;
	return NULL;
}

static struct dfg_err *range_shape(struct dfg_infer *node)
{
	int64_t v[3], count = DFG_UNKNOWN;
	bool known = true;
	for (int i = 0; i < 3; i++) {
		DFG_TRY(dfg_need_rank(node, i, 0));
		v[i] = dfg_int_of(node, i, 0);
		known &= v[i] != DFG_NOT_KNOWN;
	}
	if (known)
		DFG_TRY(range_count_int(v[0], v[1], v[2], &count));
	node->out[0] = DFG_SHAPE_VECTOR(count);
	return NULL;
}

static struct dfg_err *scalars(struct dfg_kernel *ctx, int count)
{
	for (int i = 0; i < count; i++)
		if (ctx->in[i]->shape.rank)
			return DFG_ERR(
				DFG_DATA, "input %d has shape %s, expected a scalar", i, dfg_shape_words(&ctx->in[i]->shape).s);
	return NULL;
}

/* The number of elements of the range. */
static struct dfg_err *range_length(struct dfg_kernel *ctx, int64_t *out_count)
{
	struct dfg_tensor *const *in = ctx->in;
	DFG_TRY(scalars(ctx, 3));
	if (dfg_dtype_is(in[0]->dtype, "int"))
		return range_count_int(dfg_tensor_int(in[0], 0), dfg_tensor_int(in[1], 0), dfg_tensor_int(in[2], 0), out_count);
	double start = dfg_tensor_float(in[0], 0), limit = dfg_tensor_float(in[1], 0), delta = dfg_tensor_float(in[2], 0);
	double exact =
		in[0]->dtype == DFG_F64 ? (limit - start) / delta : (double)(((float)limit - (float)start) / (float)delta);
	return range_count(start, limit, delta, exact, out_count);
}

#define RANGE(NAME, name, type, ...)                                                                 \
	static struct dfg_err *range_##name(struct dfg_kernel *ctx)                                      \
	{                                                                                                \
		int64_t count;                                                                               \
		struct dfg_tensor *out;                                                                      \
		DFG_TRY(range_length(ctx, &count));                                                          \
		DFG_TRY(dfg_kernel_output(ctx, 0, &DFG_SHAPE_VECTOR(count), &out));                          \
		const type start = *(const type *)ctx->in[0]->data, delta = *(const type *)ctx->in[2]->data; \
		for (int64_t i = 0; i < count; i++)                                                          \
			((type *)out->data)[i] = (type)(start + (type)i * delta);                                \
		return NULL;                                                                                 \
	}
DFG_EACH_number(RANGE)

const struct dfg_op dfg_op_Range = {
	.name = "Range",
	.doc = "start, start + delta, start + 2 * delta, ... up to, but not including, limit",
	.sig = "<Tidx: number = i32>(start: Tidx, limit: Tidx, delta: Tidx) -> (output: Tidx)",
	.flags = DFG_ANY_RANK | DFG_EXACT,
	.shape = range_shape,
	.gradient =
		"dstart = Sum(doutput, [0])\n"
		"ddelta = Sum(doutput * Cast(Range(0, Size(doutput), 1), DstT = Tidx), [0])",
	.kernel = {DFG_EACH_number(DFG_BY_DTYPE, range)},
};

static struct dfg_err *linspace_shape(struct dfg_infer *node)
{
	for (int i = 0; i < 3; i++)
		DFG_TRY(dfg_need_rank(node, i, 0));
	int64_t num = dfg_int_of(node, 2, 0);
	if (num <= 0 && num != DFG_NOT_KNOWN)
		return DFG_ERR(DFG_DATA, "num is %" PRId64 ", expected at least 1", num);
	node->out[0] = DFG_SHAPE_VECTOR(num == DFG_NOT_KNOWN ? DFG_UNKNOWN : num);
	return NULL;
}

#define LINSPACE(NAME, name, type, ...)                                                             \
	static struct dfg_err *linspace_##name(struct dfg_kernel *ctx)                                  \
	{                                                                                               \
		struct dfg_tensor *out;                                                                     \
		DFG_TRY(dfg_output_now(ctx, &out));                                                         \
		const type start = *(const type *)ctx->in[0]->data, stop = *(const type *)ctx->in[1]->data; \
		int64_t last = out->shape.dim[0] - 1;                                                       \
		type *y = out->data;                                                                        \
		for (int64_t i = 0; i < last; i++)                                                          \
			y[i] = start + (stop - start) / (type)last * (type)i;                                   \
		y[last] = last ? stop : start;                                                              \
		return NULL;                                                                                \
	}
DFG_EACH_float(LINSPACE)

const struct dfg_op dfg_op_LinSpace = {
	.name = "LinSpace",
	.doc = "num numbers at equal distances from start to stop, including both",
	.sig = "<T: float, Tidx: index = i32>(start: T, stop: T, num: Tidx) -> (output: T)",
	.flags = DFG_ANY_RANK | DFG_EXACT,
	.shape = linspace_shape,
	.gradient =
		"dstart = Sum(doutput * LinSpace(Cast(1, DstT = T), Cast(0, DstT = T), num), [0])\n"
		"dstop = Sum(doutput * LinSpace(Cast(0, DstT = T), Cast(1, DstT = T), num), [0])",
	.kernel = {DFG_EACH_float(DFG_BY_DTYPE, linspace)},
};

enum { INDICES, DEPTH, ON, OFF };

static struct dfg_err *one_hot_shape(struct dfg_infer *node)
{
	const struct dfg_shape *in = node->in[INDICES];
	int64_t depth = dfg_int_of(node, DEPTH, 0);
	int axis;
	for (int i = DEPTH; i <= OFF; i++)
		DFG_TRY(dfg_need_rank(node, i, 0));
	if (depth < 0 && depth != DFG_NOT_KNOWN)
		return DFG_ERR(DFG_DATA, "depth is %" PRId64 ", expected at least 0", depth);
	if (in->rank < 0)
		return NULL;
	if (in->rank == DFG_RANK_MAX)
		return DFG_ERR(
			DFG_DATA, "cannot add a dimension to %s: the limit is %d dimensions", dfg_shape_words(in).s, DFG_RANK_MAX);
	DFG_TRY(dfg_axis(node->call->attr[0].i, in->rank + 1, &axis));
	node->out[0].rank = in->rank + 1;
	for (int d = 0; d <= in->rank; d++)
		node->out[0].dim[d] = d < axis ? in->dim[d] : d > axis ? in->dim[d - 1] : depth < 0 ? DFG_UNKNOWN : depth;
	return NULL;
}

static struct dfg_err *one_hot_run(struct dfg_kernel *ctx)
{
	const struct dfg_tensor *in = dfg_kernel_input(ctx, INDICES);
	struct dfg_tensor *out;
	int axis;
	DFG_TRY(dfg_output_now(ctx, &out));
	DFG_TRY(dfg_axis(ctx->call->attr[0].i, in->shape.rank + 1, &axis));
	int64_t depth = out->shape.dim[axis], inner = dfg_count_between(&in->shape, axis, in->shape.rank);
	size_t size = dfg_dtype_size(out->dtype);
	dfg_repeat(out->data, dfg_shape_count(&out->shape), ctx->in[OFF]->data, size);
	for (int64_t i = 0, n = dfg_shape_count(&in->shape); i < n; i++) {
		int64_t hot = dfg_tensor_int(in, i);
		if (hot >= 0 && hot < depth)
			memcpy(dfg_tensor_at(out, (i / inner * depth + hot) * inner + i % inner), ctx->in[ON]->data, size);
	}
	return dfg_moved(ctx, 0);
}

static const char *one_hot_rows(const struct dfg_infer *node, uint64_t by_row)
{
	const char *why = dfg_rows_first(node, by_row);
	return why ? why : dfg_rows_axis(node->call->attr[0].i, node->out[0].rank);
}

const struct dfg_op dfg_op_OneHot = {
	.name = "OneHot",
	.doc = "a new dimension of size depth, on_value at the index and off_value elsewhere",
	.sig = "<T: type, TI: u8|i8|i32|i64 = i64>(indices: TI, depth: i32, on_value: T, off_value: T) -> (output: T)",
	.attr = {"axis: int = -1"},
	.flags = DFG_ANY_RANK | DFG_EXACT,
	.shape = one_hot_shape,
	.rows = one_hot_rows,
	.gradient =
		"is_on = OneHot(indices, depth, true, false, axis = axis)\n"
		"all = Range(0, Rank(doutput), 1)\n"
		"don_value = Sum(SelectV2(is_on, doutput, ZerosLike(doutput)), all)\n"
		"doff_value = Sum(SelectV2(is_on, ZerosLike(doutput), doutput), all)",
	.run = one_hot_run,
};
