#include "kernels/math.h"
#include "kernels/shape_rules.h"

/* Logarithms of running sums of exponentials, one line of the axis after another. The logarithm of an empty sum is -inf. */
enum { EXCLUSIVE, REVERSE }; /* attributes */

struct work {
	const void *in;
	void *out;
	int64_t n, stride; /* of a line, in elements */
	bool exclusive, reverse;
};

#define TEMPLATE "kernels/logsumexp.inc"
#include "kernels/each_float.inc"

static struct dfg_err *scan_shape(struct dfg_infer *node)
{
	int64_t axis = dfg_int_of(node, 1, 0);
	int number;
	DFG_TRY(dfg_need_rank(node, 1, 0));
	if (axis != DFG_NOT_KNOWN)
		DFG_TRY(dfg_axis(axis, node->in[0]->rank, &number));
	node->out[0] = *node->in[0];
	return NULL;
}

static struct dfg_err *scan(struct dfg_kernel *ctx)
{
	const struct dfg_tensor *in = dfg_kernel_input(ctx, 0);
	struct dfg_tensor *out;
	int axis;
	DFG_TRY(dfg_axis(dfg_tensor_int(ctx->in[1], 0), in->shape.rank, &axis));
	DFG_TRY(dfg_output_now(ctx, &out));
	struct work work = {.in = in->data,
		.out = out->data,
		.n = in->shape.dim[axis],
		.stride = dfg_count_between(&in->shape, axis + 1, in->shape.rank),
		.exclusive = dfg_kernel_attr(ctx)[EXCLUSIVE].b,
		.reverse = dfg_kernel_attr(ctx)[REVERSE].b};
	int64_t count = dfg_shape_count(&in->shape);
	if (count)
		dfg_kernel_ranges(
			ctx, count / work.n, work.n < 1024 ? 1024 / work.n : 1, in->dtype == DFG_F32 ? scan_f32 : scan_f64, &work);
	return NULL;
}

#define SCALED(condition, sign)                                              \
	"Exp(CumulativeLogsumexp(SelectV2(" condition "(dout, zeros), Log(" sign \
	"dout), lowest) - out, axis, "                                           \
	"exclusive = exclusive, reverse = not reverse) + x)"

const struct dfg_op dfg_op_CumulativeLogsumexp = {
	.name = "CumulativeLogsumexp",
	.doc = "logarithm of the sum of the exponentials of all elements up to each one",
	.sig = "<T: float, Tidx: index = i32>(x: T, axis: Tidx) -> (out: T)",
	.attr = {[EXCLUSIVE] = "exclusive: bool = false", [REVERSE] = "reverse: bool = false"},
	.shape = scan_shape,
	/* Positive and negative cotangents are summed separately, as logarithms. */
	.gradient =
		"zeros = ZerosLike(dout)\n"
		"lowest = zeros - 1e30\n"
		"dx = " SCALED("Greater", "") " - " SCALED("Less", "-"),
	.kernel = {[DFG_F32] = scan, [DFG_F64] = scan},
};
