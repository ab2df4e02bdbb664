/*
 * Rows combined by segment id: sorted ids, any ids (UnsortedSegment...), or rows selected by index (SparseSegment...).
 */
#include "kernels/shape_rules.h"

#include "lib/graph/half.h"

#include <float.h>
#include <inttypes.h>
#include <string.h>

/* The functions of a segment op: initial values of a segment, or those of an empty one; the combination with a row. */
struct segments {
	void (*fill)(int64_t n, void *out, bool empty);
	void (*join)(int64_t n, void *out, const void *in);
	void (*divide)(int64_t n, void *out, int64_t count); /* by the number of rows; NULL: not divided */
};

enum { DATA, IDS, SPARSE_IDS, ROWS }; /* inputs; of the sparse ops IDS are the indices */

static struct dfg_shape with_rows(const struct dfg_shape *data, int skip, int64_t rows)
{
	struct dfg_shape shape = {.rank = data->rank - skip + 1, .dim = {rows}};
	for (int d = 1; d < shape.rank; d++)
		shape.dim[d] = data->dim[d - 1 + skip];
	return shape;
}

static struct dfg_err *segment_shape(struct dfg_infer *node)
{
	const struct dfg_shape *data = node->in[DATA], *ids = node->in[IDS];
	DFG_TRY(dfg_need_rank(node, IDS, 1));
	if (data->rank < 1)
		return DFG_ERR(DFG_DATA, "data is a scalar, expected at least one dimension");
	if (ids->dim[0] >= 0 && data->dim[0] >= 0 && ids->dim[0] != data->dim[0])
		return DFG_ERR(
			DFG_DATA, "%" PRId64 " segment ids, expected one for each row of %s", ids->dim[0], dfg_shape_words(data).s);
	node->out[0] = with_rows(data, 1, DFG_UNKNOWN);
	return NULL;
}

/* Checks that ids do not decrease. The number of segments is the last id + 1. */
static struct dfg_err *count_segments(const struct dfg_tensor *ids, int64_t *out_count)
{
	int64_t last = -1;
	for (int64_t i = 0, n = dfg_shape_count(&ids->shape); i < n; i++) {
		int64_t id = dfg_tensor_int(ids, i);
		if (id < 0 || id < last)
			return DFG_ERR(DFG_DATA, "segment_ids[%" PRId64 "] is %" PRId64 ", which is %s", i, id,
				id < 0 ? "negative" : "out of order");
		last = id;
	}
	if (last == INT64_MAX)
		return DFG_ERR(DFG_DATA, "segment id %" PRId64 " is too large: the output would not fit in memory", last);
	*out_count = last + 1;
	return NULL;
}

/* `count` rows of n elements: row picks[i] of data is combined into segment ids[i]; ids are sorted. */
struct rows {
	const struct dfg_tensor *data, *ids, *picks; /* picks NULL: row i */
	struct dfg_tensor *out;
	int64_t count, n;
};

static struct dfg_err *join_sorted(const struct rows *rows, const struct segments *kind)
{
	size_t bytes = (size_t)rows->n * dfg_dtype_size(rows->data->dtype);
	int64_t segments = rows->out->shape.dim[0], i = 0;
	for (int64_t s = 0; s < segments; s++) {
		char *out = (char *)rows->out->data + (size_t)s * bytes;
		int64_t first = i;
		kind->fill(rows->n, out, i == rows->count || dfg_tensor_int(rows->ids, i) != s);
		for (; i < rows->count && dfg_tensor_int(rows->ids, i) == s; i++) {
			int64_t row = rows->picks ? dfg_tensor_int(rows->picks, i) : i;
			if (row < 0 || row >= rows->data->shape.dim[0])
				return DFG_ERR(DFG_DATA, "indices[%" PRId64 "] is %" PRId64 ", outside [0,%" PRId64 ")", i, row,
					rows->data->shape.dim[0]);
			kind->join(rows->n, out, (const char *)rows->data->data + (size_t)row * bytes);
		}
		if (kind->divide && i > first)
			kind->divide(rows->n, out, i - first);
	}
	return NULL;
}

static struct dfg_err *segment_run(struct dfg_kernel *ctx, const struct segments *kind)
{
	bool sparse = ctx->call->n_in > SPARSE_IDS;
	struct rows rows = {.data = dfg_kernel_input(ctx, DATA), .ids = dfg_kernel_input(ctx, sparse ? SPARSE_IDS : IDS)};
	struct dfg_shape shape;
	int64_t segments;
	DFG_TRY(dfg_shapes_now(ctx, 1, &shape));
	DFG_TRY(count_segments(rows.ids, &segments));
	rows.picks = sparse ? dfg_kernel_input(ctx, IDS) : NULL;
	if (shape.dim[0] != DFG_UNKNOWN && shape.dim[0] < segments)
		return DFG_ERR(DFG_DATA, "segment id %" PRId64 " is outside [0,%" PRId64 ")", segments - 1, shape.dim[0]);
	if (shape.dim[0] == DFG_UNKNOWN)
		shape.dim[0] = segments;
	DFG_TRY(dfg_kernel_output(ctx, 0, &shape, &rows.out));
	rows.count = dfg_shape_count(&rows.ids->shape);
	rows.n = dfg_count_between(&shape, 1, shape.rank);
	return join_sorted(&rows, kind);
}

#define SEGMENTS(stem, type, start, none, joined, divide)                           \
	static void stem##_fill(int64_t n, void *out, bool empty)                       \
	{                                                                               \
		for (int64_t i = 0; i < n; i++)                                             \
			((type *)out)[i] = empty ? (type)(none) : (type)(start);                \
	}                                                                               \
	static void stem##_join(int64_t n, void *restrict out, const void *restrict in) \
	{                                                                               \
		for (int64_t i = 0; i < n; i++) {                                           \
			const type a = ((const type *)out)[i], b = ((const type *)in)[i];       \
			((type *)out)[i] = (type)(joined);                                      \
		}                                                                           \
	}                                                                               \
	static const struct segments stem##_kind = {stem##_fill, stem##_join, divide};

#define DIVIDE(stem, type, by)                                     \
	static void stem##_divide(int64_t n, void *out, int64_t count) \
	{                                                              \
		for (int64_t i = 0; i < n; i++)                            \
			((type *)out)[i] /= (type)(by);                        \
	}

#define RUN(stem)                                       \
	static struct dfg_err *stem(struct dfg_kernel *ctx) \
	{                                                   \
		return segment_run(ctx, &stem##_kind);          \
	}
#define LOWEST_SIGNED(type) ((type)((type)1 << (sizeof(type) * 8 - 1)))
#define LOWEST_UNSIGNED(type) ((type)0)

/* A maximum begins with -infinity, which may also be its result; that of an empty segment is 0. */
#define SUM(NAME, name, type, ...) SEGMENTS(sum_##name, type, 0, 0, a + b, NULL) RUN(sum_##name)
#define PROD(NAME, name, type, ...) SEGMENTS(prod_##name, type, 1, 1, a *b, NULL) RUN(prod_##name)
#define MEAN(NAME, name, type, ...)  \
	DIVIDE(mean_##name, type, count) \
	SEGMENTS(mean_##name, type, 0, 0, a + b, mean_##name##_divide) RUN(mean_##name)
#define SQRTN(NAME, name, type, ...)                          \
	DIVIDE(sqrtn_##name, type, __builtin_sqrt((double)count)) \
	SEGMENTS(sqrtn_##name, type, 0, 0, a + b, sqrtn_##name##_divide) RUN(sqrtn_##name)
#define MAX_FLOAT(NAME, name, type, ...) \
	SEGMENTS(max_##name, type, -(type)__builtin_inf(), 0, a >= b || a != a ? a : b, NULL) RUN(max_##name)
#define MIN_FLOAT(NAME, name, type, ...) \
	SEGMENTS(min_##name, type, (type)__builtin_inf(), 0, a <= b || a != a ? a : b, NULL) RUN(min_##name)
#define MAX_INT(NAME, name, type, number, lowest) \
	SEGMENTS(max_##name, type, lowest(type), 0, a > b ? a : b, NULL) RUN(max_##name)
#define MIN_INT(NAME, name, type, number, lowest) \
	SEGMENTS(min_##name, type, ~lowest(type), 0, a < b ? a : b, NULL) RUN(min_##name)
DFG_EACH_numeric(SUM)
DFG_EACH_numeric(PROD)
DFG_EACH_numeric(MEAN)
DFG_EACH_float(SQRTN)
DFG_EACH_float(MAX_FLOAT)
DFG_EACH_signed(MAX_INT, LOWEST_SIGNED)
DFG_EACH_unsigned(MAX_INT, LOWEST_UNSIGNED)
DFG_EACH_float(MIN_FLOAT)
DFG_EACH_signed(MIN_INT, LOWEST_SIGNED)
DFG_EACH_unsigned(MIN_INT, LOWEST_UNSIGNED)

/* The number of rows of each segment, in the shape [n, 1, 1, ...], which broadcasts to the rows. */
#define COUNTS(ids)                                            \
	"ones = Cast(Fill(ConcatV2([Shape(" ids                    \
	"), Fill(Pack([Rank(data) - 1]), 1)], 0), 1), DstT = T)\n" \
	"counts = SegmentSum(ones, segment_ids)\n"
/* The same for the sparse ops, where the last segments may be empty. */
#define SPARSE_COUNTS                                          \
	"ones = Cast(Fill(ConcatV2([Shape(segment_ids"             \
	"), Fill(Pack([Rank(data) - 1]), 1)], 0), 1), DstT = T)\n" \
	"counts = UnsortedSegmentSum(ones, segment_ids, GatherV2(Shape(output), 0, 0))\n"

/* SelectV2 instead of a product: if no element equals the extreme, as with NaN, the share is infinite. */
#define EXTREME_GRADIENT                                              \
	"is = Equal(data, GatherV2(output, segment_ids, 0))\n"            \
	"share = doutput / SegmentSum(Cast(is, DstT = T), segment_ids)\n" \
	"ddata = SelectV2(is, GatherV2(share, segment_ids, 0), ZerosLike(data))"

/* The derivative by an element is the product of the others: by division, unless it is 0. With two zeros, all are 0. */
#define PROD_GRADIENT                                                                   \
	"zero = Equal(data, ZerosLike(data))\n"                                             \
	"zeros = SegmentSum(Cast(zero, DstT = T), segment_ids)\n"                           \
	"alive = SelectV2(Greater(zeros, OnesLike(zeros)), ZerosLike(doutput), doutput)\n"  \
	"others = SelectV2(zero, OnesLike(data), data)\n"                                   \
	"rest = SelectV2(zero, GatherV2(SegmentProd(others, segment_ids), segment_ids, 0)," \
	" GatherV2(output, segment_ids, 0) / others)\n"                                     \
	"ddata = GatherV2(alive, segment_ids, 0) * rest"

#define SEGMENT_OP(Op, types, stem, text, formula)                                                \
	const struct dfg_op dfg_op_Segment##Op = {                                                    \
		.name = "Segment" #Op,                                                                    \
		.doc = text " of the rows of each segment; ids do not decrease",                          \
		.sig = "<T: " #types ", Tindices: index>(data: T, segment_ids: Tindices) -> (output: T)", \
		.flags = DFG_EXACT,                                                                       \
		.shape = segment_shape,                                                                   \
		.gradient = formula,                                                                      \
		.kernel = {DFG_EACH_##types(DFG_BY_DTYPE, stem)},                                         \
	};
SEGMENT_OP(Sum, numeric, sum, "the sum", "ddata = GatherV2(doutput, segment_ids, 0)")
SEGMENT_OP(Mean, numeric, mean, "the mean", COUNTS("segment_ids") "ddata = GatherV2(doutput / counts, segment_ids, 0)")
SEGMENT_OP(Max, number, max, "the largest elements", EXTREME_GRADIENT)
SEGMENT_OP(Min, number, min, "the smallest elements", EXTREME_GRADIENT)
SEGMENT_OP(Prod, numeric, prod, "the product", PROD_GRADIENT)

static struct dfg_err *sparse_shape(struct dfg_infer *node)
{
	const struct dfg_shape *indices = node->in[IDS], *ids = node->in[SPARSE_IDS];
	int64_t rows = node->call->n_in > ROWS ? dfg_int_of(node, ROWS, 0) : DFG_NOT_KNOWN;
	DFG_TRY(dfg_need_rank(node, IDS, 1));
	DFG_TRY(dfg_need_rank(node, SPARSE_IDS, 1));
	if (node->in[DATA]->rank < 1)
		return DFG_ERR(DFG_DATA, "data is a scalar, expected at least one dimension");
	if (indices->dim[0] >= 0 && ids->dim[0] >= 0 && indices->dim[0] != ids->dim[0])
		return DFG_ERR(DFG_DATA, "there are %" PRId64 " segment ids for %" PRId64 " indices, expected one for each",
			ids->dim[0], indices->dim[0]);
	if (rows < 0 && rows != DFG_NOT_KNOWN)
		return DFG_ERR(DFG_DATA, "num_segments is %" PRId64 ", expected at least 0", rows);
	node->out[0] = with_rows(node->in[DATA], 1, rows == DFG_NOT_KNOWN ? DFG_UNKNOWN : rows);
	return NULL;
}

#define SPARSE_ROWS(value) \
	"ddata = UnsortedSegmentSum(GatherV2(" value ", segment_ids, 0), indices, GatherV2(Shape(data), 0, 0))"

#define SPARSE_AS(Op, types, params, rows, stem, text, formula)                             \
	const struct dfg_op dfg_op_SparseSegment##Op = {                                        \
		.name = "SparseSegment" #Op,                                                        \
		.doc = text,                                                                        \
		.sig = "<T: " #types ", Tidx: index = i32" params                                   \
			   ", Tsegmentids: index = i32>"                                                \
			   "(data: T, indices: Tidx, segment_ids: Tsegmentids" rows ") -> (output: T)", \
		.attr = {"sparse_gradient: bool = false"},                                          \
		.flags = DFG_EXACT,                                                                 \
		.shape = sparse_shape,                                                              \
		.gradient = formula,                                                                \
		.kernel = {DFG_EACH_##types(DFG_BY_DTYPE, stem)},                                   \
	};
#define SPARSE_OP(Op, types, stem, text, formula)                                                                    \
	SPARSE_AS(Op, types, "", "", stem, text " of the rows at indices of each segment; ids do not decrease", formula) \
	SPARSE_AS(Op##WithNumSegments, types, ", Tnumsegments: index = i32", ", num_segments: Tnumsegments", stem,       \
		text " of the rows at indices of each of num_segments segments", formula)
SPARSE_OP(Sum, number, sum, "the sum", SPARSE_ROWS("doutput"))
SPARSE_OP(Mean, float, mean, "the mean", SPARSE_COUNTS SPARSE_ROWS("doutput / counts"))
SPARSE_OP(SqrtN, float, sqrtn, "the sum, divided by the square root of the number of rows,",
	SPARSE_COUNTS SPARSE_ROWS("doutput / Sqrt(counts)"))

enum { COUNT = 2 }; /* input of the unsorted ops */

static struct dfg_err *unsorted_shape(struct dfg_infer *node)
{
	const struct dfg_shape *data = node->in[DATA], *ids = node->in[IDS];
	int64_t count = dfg_int_of(node, COUNT, 0);
	DFG_TRY(dfg_need_rank(node, COUNT, 0));
	if (count < 0 && count != DFG_NOT_KNOWN)
		return DFG_ERR(DFG_DATA, "num_segments is %" PRId64 ", expected at least 0", count);
	for (int d = 0; d < ids->rank; d++)
		if (d >= data->rank || (ids->dim[d] >= 0 && data->dim[d] >= 0 && ids->dim[d] != data->dim[d]))
			return DFG_ERR(DFG_DATA, "segment_ids have shape %s, expected the first dimensions of data %s",
				dfg_shape_words(ids).s, dfg_shape_words(data).s);
	if (data->rank - ids->rank + 1 > DFG_RANK_MAX)
		return DFG_ERR(
			DFG_DATA, "the result has %d dimensions: the limit is %d", data->rank - ids->rank + 1, DFG_RANK_MAX);
	node->out[0] = with_rows(data, ids->rank, count == DFG_NOT_KNOWN ? DFG_UNKNOWN : count);
	return NULL;
}

static struct dfg_err *unsorted_run(struct dfg_kernel *ctx, const struct segments *kind)
{
	const struct dfg_tensor *data = dfg_kernel_input(ctx, DATA), *ids = dfg_kernel_input(ctx, IDS);
	struct dfg_tensor *out;
	DFG_TRY(dfg_output_now(ctx, &out));
	int64_t n = dfg_count_between(&data->shape, ids->shape.rank, data->shape.rank);
	size_t bytes = (size_t)n * dfg_dtype_size(data->dtype);
	kind->fill(dfg_shape_count(&out->shape), out->data, true);
	for (int64_t i = 0, count = dfg_shape_count(&ids->shape); i < count; i++) {
		int64_t id = dfg_tensor_int(ids, i);
		if (id >= out->shape.dim[0])
			return DFG_ERR(
				DFG_DATA, "segment_ids[%" PRId64 "] is %" PRId64 ", outside [0,%" PRId64 ")", i, id, out->shape.dim[0]);
		if (id >= 0)
			kind->join(n, (char *)out->data + (size_t)id * bytes, (const char *)data->data + (size_t)i * bytes);
	}
	return NULL;
}

/* An empty segment of these ops has the lowest or highest finite number. */
#define UNSORTED_RUN(NAME, name, type, number, stem)                        \
	static struct dfg_err *unsorted_##stem##_##name(struct dfg_kernel *ctx) \
	{                                                                       \
		return unsorted_run(ctx, &stem##_##name##_kind);                    \
	}
#define FROM_LOWEST(NAME, name, type, number, lowest) \
	SEGMENTS(most_##name, type, lowest(type), lowest(type), a > b ? a : b, NULL)
#define FROM_HIGHEST(NAME, name, type, number, lowest) \
	SEGMENTS(least_##name, type, ~lowest(type), ~lowest(type), a < b ? a : b, NULL)
SEGMENTS(most_f32, float, -FLT_MAX, -FLT_MAX, a >= b || a != a ? a : b, NULL)
SEGMENTS(most_f64, double, -DBL_MAX, -DBL_MAX, a >= b || a != a ? a : b, NULL)
SEGMENTS(least_f32, float, FLT_MAX, FLT_MAX, a <= b || a != a ? a : b, NULL)
SEGMENTS(least_f64, double, DBL_MAX, DBL_MAX, a <= b || a != a ? a : b, NULL)
DFG_EACH_signed(FROM_LOWEST, LOWEST_SIGNED)
DFG_EACH_unsigned(FROM_LOWEST, LOWEST_UNSIGNED)
DFG_EACH_signed(FROM_HIGHEST, LOWEST_SIGNED)
DFG_EACH_unsigned(FROM_HIGHEST, LOWEST_UNSIGNED)
DFG_EACH_numeric(UNSORTED_RUN, sum)
DFG_EACH_numeric(UNSORTED_RUN, prod)
DFG_EACH_number(UNSORTED_RUN, most)
DFG_EACH_number(UNSORTED_RUN, least)

/* The lowest f32 rounds to an infinity in halves; it is replaced by the lowest half. */
static struct dfg_err *unsorted_half(struct dfg_kernel *ctx)
{
	DFG_TRY(dfg_half_run(ctx));
	const struct dfg_tensor *out = ctx->out[0];
	uint16_t infinity = out->dtype == DFG_F16 ? 0x7c00 : 0x7f80;
	uint16_t *y = out->data;
	for (int64_t i = 0; i < dfg_shape_count(&out->shape); i++)
		if ((y[i] & 0x7fff) == infinity)
			y[i]--;
	return NULL;
}

/* PICKED(x): for each row of data, the row of x of its segment, or 0 if the id is negative. */
#define DROPPED                                                                              \
	"inside = Reshape(GreaterEqual(segment_ids, ZerosLike(segment_ids)),"                    \
	" ConcatV2([Shape(segment_ids), Fill(Pack([Rank(data) - Rank(segment_ids)]), 1)], 0))\n" \
	"ids = Maximum(segment_ids, ZerosLike(segment_ids))\n"
#define PICKED(x) "SelectV2(inside, GatherV2(" x ", ids, 0), ZerosLike(data))"

#define UNSORTED_EXTREME \
	DROPPED "is = LogicalAnd(inside, Equal(data, " PICKED("output") "))\n"                                   \
	"share = doutput / UnsortedSegmentSum(Cast(is, DstT = T), segment_ids, num_segments)\n"                  \
	"ddata = SelectV2(is, GatherV2(share, ids, 0), ZerosLike(data))"

#define UNSORTED_PROD \
	DROPPED "zero = Equal(data, ZerosLike(data))\n"                                                           \
	"zeros = UnsortedSegmentSum(Cast(zero, DstT = T), segment_ids, num_segments)\n"                           \
	"alive = SelectV2(Greater(zeros, OnesLike(zeros)), ZerosLike(doutput), doutput)\n"                        \
	"others = SelectV2(zero, OnesLike(data), data)\n"                                                         \
	"rest = SelectV2(zero, " PICKED("UnsortedSegmentProd(others, segment_ids, num_segments)") ", "            \
	PICKED("output") " / others)\n"                                                                           \
	"ddata = " PICKED("alive") " * rest"

#define UNSORTED_OP(Op, types, stem, text, formula, ...)                                      \
	const struct dfg_op dfg_op_UnsortedSegment##Op = {                                        \
		.name = "UnsortedSegment" #Op,                                                        \
		.doc = text " of the rows of each segment; rows with a negative id are ignored",      \
		.sig = "<T: " #types                                                                  \
			   ", Tindices: index|i16, Tnumsegments: index = i32>"                            \
			   "(data: T, segment_ids: Tindices, num_segments: Tnumsegments) -> (output: T)", \
		.flags = DFG_EXACT,                                                                   \
		.shape = unsorted_shape,                                                              \
		.gradient = formula,                                                                  \
		.kernel = {DFG_EACH_##types(DFG_BY_DTYPE, unsorted_##stem) __VA_ARGS__},              \
	};
UNSORTED_OP(Sum, numeric, sum, "the sum", DROPPED "ddata = " PICKED("doutput"))
UNSORTED_OP(Prod, numeric, prod, "the product", UNSORTED_PROD)
UNSORTED_OP(
	Max, number, most, "the largest elements", UNSORTED_EXTREME, [DFG_F16] = unsorted_half, [DFG_BF16] = unsorted_half)
UNSORTED_OP(Min, number, least, "the smallest elements",
	UNSORTED_EXTREME, [DFG_F16] = unsorted_half, [DFG_BF16] = unsorted_half)
