/* Prefix sums and products: Cumsum, Cumprod; and counts: Bincount, Bucketize. */
#include "kernels/row_rules.h"
#include "kernels/gradient_helpers.h"
#include "kernels/shape_rules.h"

#include <inttypes.h>
#include <string.h>

enum { EXCLUSIVE, REVERSE };

static struct dfg_err *scan_shape(struct dfg_infer *node)
{
	int64_t given = dfg_int_of(node, 1, 0);
	int axis;
	DFG_TRY(dfg_need_rank(node, 1, 0));
	node->out[0] = *node->in[0];
	return given == DFG_NOT_KNOWN || node->in[0]->rank < 0 ? NULL : dfg_axis(given, node->in[0]->rank, &axis);
}

/* Runs of dim elements at steps of `inner`; each is scanned from its first element, or backwards from its last. */
struct scan {
	const void *x;
	void *y;
	int64_t dim, inner;
	bool exclusive, reverse;
};

static struct dfg_err *scan_run(struct dfg_kernel *ctx, void (*runs)(void *arg, int64_t first, int64_t last))
{
	const struct dfg_tensor *in = dfg_kernel_input(ctx, 0);
	struct dfg_tensor *out;
	int axis;
	DFG_TRY(dfg_output_now(ctx, &out));
	DFG_TRY(dfg_axis(dfg_tensor_int(ctx->in[1], 0), in->shape.rank, &axis));
	const union dfg_value *attr = dfg_kernel_attr(ctx);
	struct scan scan = {in->data, out->data, in->shape.dim[axis],
		dfg_count_between(&in->shape, axis + 1, in->shape.rank), attr[EXCLUSIVE].b, attr[REVERSE].b};
	if (dfg_shape_count(&in->shape))
		dfg_kernel_ranges(ctx, dfg_shape_count(&in->shape) / scan.dim, (1 << 15) / scan.dim + 1, runs, &scan);
	return NULL;
}

#define SCAN(NAME, name, type, number, stem, none, join)                      \
	static void stem##_runs_##name(void *arg, int64_t first, int64_t last)    \
	{                                                                         \
		const struct scan *s = arg;                                           \
		int64_t step = s->reverse ? -s->inner : s->inner;                     \
		for (int64_t run = first; run < last; run++) {                        \
			int64_t at = run / s->inner * s->dim * s->inner + run % s->inner; \
			type so_far = none;                                               \
			at += s->reverse ? (s->dim - 1) * s->inner : 0;                   \
			for (int64_t i = 0; i < s->dim; i++, at += step) {                \
				const type x = ((const type *)s->x)[at], next = (type)(join); \
				((type *)s->y)[at] = s->exclusive ? so_far : next;            \
				so_far = next;                                                \
			}                                                                 \
		}                                                                     \
	}                                                                         \
	static struct dfg_err *stem##_##name(struct dfg_kernel *ctx)              \
	{                                                                         \
		return scan_run(ctx, stem##_runs_##name);                             \
	}
DFG_EACH_numeric(SCAN, cumsum, 0, so_far + x)
DFG_EACH_numeric(SCAN, cumprod, 1, so_far *x)

static const char *scan_rows(const struct dfg_infer *node, uint64_t by_row)
{
	return dfg_rows_along(node, by_row, 0, 1);
}

#define SCAN_OP(Op, stem, text, ...)                                                            \
	const struct dfg_op dfg_op_##Op = {                                                         \
		.name = #Op,                                                                            \
		.doc = text,                                                                            \
		.sig = "<T: numeric, Tidx: index = i32>(x: T, axis: Tidx) -> (out: T)",                 \
		.attr = {[EXCLUSIVE] = "exclusive: bool = false", [REVERSE] = "reverse: bool = false"}, \
		.flags = DFG_ANY_RANK | DFG_EXACT | DFG_ANALYTIC,                                       \
		.shape = scan_shape,                                                                    \
		.rows = scan_rows,                                                                      \
		__VA_ARGS__,                                                                            \
		.kernel = {DFG_EACH_numeric(DFG_BY_DTYPE, stem)},                                       \
	};
SCAN_OP(Cumsum, cumsum, "the sum of each element and those before it along the axis (exclusive: without it)",
	.gradient = "dx = Cumsum(dout, axis, exclusive = exclusive, reverse = not reverse)")

/*
 * The derivative of a product by an element is the product of the elements before it, times the sum s[i] over the products
 * from there on: s[i] = dout[i] + x[i+1] * s[i+1]. Doubling computes it without a division (Hillis and Steele, "Data
 * parallel algorithms", 1986), so that derivatives of every order are exact where elements are 0: after step k, s[i] has the
 * terms of 2^k elements, and a[i] is the product of the 2^k elements after x[i].
 */
#define SHIFT(v, by)                                                                                  \
	"Reshape(Pad(Slice(" v ", first * " by ", shape - at * " by "), Pack([last * " by ", first * " by \
	"], axis = 1)), shape)"
#define STEP(k, next, by) \
	"by" #k " = Minimum(length, " #by ")\n"              \
	"s" #next " = s" #k " + a" #k " * " SHIFT("s" #k, "by" #k) "\n" \
	"a" #next " = a" #k " * " SHIFT("a" #k, "by" #k) "\n"
#define CUMPROD_GRADIENT(steps, last) \
	"shape = Shape(x)\n"                                                                        \
	"at = OneHot(FloorMod(i32(axis) + Rank(x), Rank(x)), Rank(x), i32(1), i32(0))\n"            \
	"length = Sum(shape * at, 0)\n"                                                             \
	"static if reverse { first, last = at * 0, at } else { first, last = at, at * 0 }\n"        \
	"one = Minimum(length, 1)\n"                                                                \
	"a0 = " SHIFT("x", "one") "\n"                                                              \
	"static if exclusive { s0 = " SHIFT("dout", "one") " } else { s0 = dout }\n" steps          \
	"dx = Cumprod(x, axis, exclusive = true, reverse = reverse) * s" #last

#define STEPS_5 STEP(0, 1, 1) STEP(1, 2, 2) STEP(2, 3, 4) STEP(3, 4, 8) STEP(4, 5, 16)
#define STEPS_10 STEPS_5 STEP(5, 6, 32) STEP(6, 7, 64) STEP(7, 8, 128) STEP(8, 9, 256) STEP(9, 10, 512)
#define STEPS_20                                                                                             \
	STEPS_10 STEP(10, 11, 1024) STEP(11, 12, 2048) STEP(12, 13, 4096) STEP(13, 14, 8192) STEP(14, 15, 16384) \
		STEP(15, 16, 32768) STEP(16, 17, 65536) STEP(17, 18, 131072) STEP(18, 19, 262144) STEP(19, 20, 524288)
#define STEPS_31                                                                                     \
	STEPS_20 STEP(20, 21, 1048576) STEP(21, 22, 2097152) STEP(22, 23, 4194304) STEP(23, 24, 8388608) \
		STEP(24, 25, 16777216) STEP(25, 26, 33554432) STEP(26, 27, 67108864) STEP(27, 28, 134217728) \
			STEP(28, 29, 268435456) STEP(29, 30, 536870912) STEP(30, 31, 1073741824)

/* The formula with enough steps for the length of the axis, where it is known. */
static struct dfg_err *cumprod_gradient(struct dfg_gradient *node)
{
	const struct dfg_shape shape = dfg_adjoint_fact(node, node->in[0]).shape;
	const struct dfg_known_value *given = dfg_adjoint_fact(node, node->in[1]).known;
	int64_t length = DFG_UNKNOWN;
	int axis;
	if (given && shape.rank > 0) {
		DFG_TRY(dfg_axis(given->v[0], shape.rank, &axis));
		length = shape.dim[axis];
	}
	if (length == DFG_UNKNOWN || length > 1 << 20)
		return dfg_gradient_formula(node, CUMPROD_GRADIENT(STEPS_31, 31));
	if (length > 1 << 10)
		return dfg_gradient_formula(node, CUMPROD_GRADIENT(STEPS_20, 20));
	if (length > 1 << 5)
		return dfg_gradient_formula(node, CUMPROD_GRADIENT(STEPS_10, 10));
	return dfg_gradient_formula(node, CUMPROD_GRADIENT(STEPS_5, 5));
}
SCAN_OP(Cumprod, cumprod, "the product of each element and those before it along the axis (exclusive: without it)",
	.gradient_fn = cumprod_gradient)

enum { ARR, SIZE, WEIGHTS };

static struct dfg_err *bincount_shape(struct dfg_infer *node)
{
	const struct dfg_shape *arr = node->in[ARR], *weights = node->in[WEIGHTS];
	int64_t size = dfg_int_of(node, SIZE, 0);
	DFG_TRY(dfg_need_rank(node, SIZE, 0));
	if (size < 0 && size != DFG_NOT_KNOWN)
		return DFG_ERR(DFG_DATA, "size is %" PRId64 ", expected at least 0", size);
	if (dfg_shape_known(weights) && dfg_shape_count(weights) && !dfg_shape_fits(arr, weights))
		return DFG_ERR(DFG_DATA, "weights have shape %s, expected none or the shape %s of arr",
			dfg_shape_words(weights).s, dfg_shape_words(arr).s);
	node->out[0] = DFG_SHAPE_VECTOR(size == DFG_NOT_KNOWN ? DFG_UNKNOWN : size);
	return NULL;
}

/* Without weights each element counts 1. Elements of size or more are ignored. */
#define BINCOUNT(NAME, name, type, ...)                                                            \
	static struct dfg_err *bincount_##name(struct dfg_kernel *ctx)                                 \
	{                                                                                              \
		const struct dfg_tensor *arr = ctx->in[ARR], *weights = ctx->in[WEIGHTS];                  \
		struct dfg_tensor *out;                                                                    \
		DFG_TRY(dfg_output_now(ctx, &out));                                                        \
		memset(out->data, 0, dfg_tensor_bytes(out));                                               \
		bool weighted = dfg_shape_count(&weights->shape) > 0;                                      \
		for (int64_t i = 0, n = dfg_shape_count(&arr->shape); i < n; i++) {                        \
			int32_t bin = ((const int32_t *)arr->data)[i];                                         \
			if (bin < 0)                                                                           \
				return DFG_ERR(DFG_DATA, "element %" PRId64 " is negative: %" PRId32, i, bin);     \
			if (bin < out->shape.dim[0])                                                           \
				((type *)out->data)[bin] += weighted ? ((const type *)weights->data)[i] : (type)1; \
		}                                                                                          \
		return NULL;                                                                               \
	}
DFG_EACH_float(BINCOUNT)
BINCOUNT(I32, i32, int32_t)
BINCOUNT(I64, i64, int64_t)

const struct dfg_op dfg_op_Bincount = {
	.name = "Bincount",
	.doc = "how often each of 0, 1, ... size - 1 is in arr, or the sum of its weights",
	.sig = "<T: i32|i64|f32|f64>(arr: i32, size: i32, weights: T) -> (bins: T)",
	.flags = DFG_NO_GRADIENT | DFG_ANY_RANK | DFG_EXACT,
	.shape = bincount_shape,
	.kernel = {DFG_EACH_float(DFG_BY_DTYPE, bincount)[DFG_I32] = bincount_i32, [DFG_I64] = bincount_i64},
};

static struct dfg_err *bucketize_shape(struct dfg_infer *node)
{
	const struct dfg_list *boundaries = node->call->attr[0].list;
	for (uint32_t i = 1; i < boundaries->count; i++)
		if (!(boundaries->item[i - 1].f <= boundaries->item[i].f))
			return DFG_ERR(DFG_DATA, "boundaries[%u] is %g, expected at least %g, the one before it", i,
				boundaries->item[i].f, boundaries->item[i - 1].f);
	node->out[0] = *node->in[0];
	return NULL;
}

/* The number of boundaries that are not above x. */
static int32_t bucket_of(const struct dfg_list *boundaries, double x)
{
	uint32_t low = 0, high = boundaries->count;
	while (low < high) {
		uint32_t middle = low + (high - low) / 2;
		if (x < boundaries->item[middle].f)
			high = middle;
		else
			low = middle + 1;
	}
	return (int32_t)low;
}

static struct dfg_err *bucketize_run(struct dfg_kernel *ctx)
{
	const struct dfg_tensor *in = dfg_kernel_input(ctx, 0);
	struct dfg_tensor *out;
	DFG_TRY(dfg_output_now(ctx, &out));
	for (int64_t i = 0, n = dfg_shape_count(&in->shape); i < n; i++)
		((int32_t *)out->data)[i] = bucket_of(ctx->call->attr[0].list, dfg_tensor_float(in, i));
	return NULL;
}

const struct dfg_op dfg_op_Bucketize = {
	.name = "Bucketize",
	.doc = "for each element, the index of its bucket between the boundaries",
	.sig = "<T: i32|i64|f32|f64>(input: T) -> (output: i32)",
	.attr = {"boundaries: list(float)"},
	.flags = DFG_NO_GRADIENT | DFG_ANY_RANK | DFG_EXACT,
	.shape = bucketize_shape,
	.run = bucketize_run,
};
