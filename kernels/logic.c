#include "kernels/elementwise_rows.h"

#define BITS (DFG_NO_GRADIENT | DFG_EXACT)

/* Ops of bool alone have no type parameter; their single row is at DFG_NO_DTYPE. */
#define LOGICAL(Op, ports, inputs, operands, expr, text, ...) \
	ROW(bool, _Bool, _Bool, Op, inputs, operands, expr)       \
	const struct dfg_op dfg_op_##Op = {.name = #Op,           \
		.doc = text,                                          \
		.sig = ports,                                         \
		.flags = DFG_NO_GRADIENT | DFG_EXACT | DFG_IN_PLACE,  \
		.row = DFG_ROW_TABLE{[DFG_NO_DTYPE] = Op##_bool},     \
		__VA_ARGS__};

#define WHERE(Op, types, expr, formula, ...)                                                \
	DFG_EACH_##types(ROW_WHERE, Op, expr) const struct dfg_op dfg_op_##Op = {               \
		.name = #Op,                                                                        \
		.sig = "<T: " CLASS_##types "|string>(condition: bool, t: T, e: T) -> (output: T)", \
		.flags = DFG_EXACT,                                                                 \
		.gradient = formula,                                                                \
		.row = DFG_ROW_TABLE{DFG_EACH_##types(DFG_BY_DTYPE, Op)},                           \
		.doc = __VA_ARGS__,                                                                 \
	};

/* If incompatible_shape_error is false, tensors whose shapes do not broadcast are unequal: the result is a scalar. */
static struct dfg_err *equal_shape(struct dfg_infer *node)
{
	_Bool strict = node->call->attr[0].b;
	struct dfg_err *err = dfg_shape_broadcast(node->in, 2, &node->out[0]);
	if (strict)
		return err;
	if (err || !dfg_shape_known(&node->out[0]))
		node->out[0] = (struct dfg_shape){.rank = -1};
	dfg_err_free(err);
	return NULL;
}

/* Compares operands; the result is the scalar `differ` if they do not broadcast. */
static struct dfg_err *compare_or_scalar(struct dfg_kernel *ctx, _Bool differ)
{
	const struct dfg_shape *shapes[] = {&dfg_kernel_input(ctx, 0)->shape, &dfg_kernel_input(ctx, 1)->shape};
	struct dfg_shape scalar = {0};
	struct dfg_tensor *out;
	if (dfg_kernel_attr(ctx)[0].b)
		return dfg_shape_broadcast(shapes, 2, &scalar);
	DFG_TRY(dfg_kernel_output(ctx, 0, &scalar, &out));
	*(_Bool *)out->data = differ;
	return NULL;
}

static struct dfg_err *equal_apart(struct dfg_kernel *ctx)
{
	return compare_or_scalar(ctx, false);
}

static struct dfg_err *not_equal_apart(struct dfg_kernel *ctx)
{
	return compare_or_scalar(ctx, true);
}

#include "kernels/row_names.h"

#include "kernels/logic.def"
