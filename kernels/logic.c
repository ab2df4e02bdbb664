#include "kernels/rows.h"

#define abs(x) OF_FLOAT(abs, x)(x)
#define INFINITE ((element)MATH_INFINITY)
#define shift_count(y) OF_INT(shift_count, y)(y)
#define BITS (DFG_NO_GRADIENT | DFG_EXACT)

/* Ops of bool alone have no type parameter, so their one row is that of no dtype. */
#define LOGICAL(Op, ports, inputs, operands, expr, text)     \
	ROW(bool, _Bool, _Bool, Op, inputs, operands, expr)      \
	const struct dfg_op dfg_op_##Op = {                      \
		.name = #Op,                                         \
		.doc = text,                                         \
		.sig = ports,                                        \
		.flags = DFG_NO_GRADIENT | DFG_EXACT | DFG_IN_PLACE, \
		.row = {[DFG_NO_DTYPE] = Op##_bool},                 \
	};

#define WHERE(Op, types, expr, formula, ...)                                                \
	DFG_EACH_##types(ROW_WHERE, Op, expr) const struct dfg_op dfg_op_##Op = {               \
		.name = #Op,                                                                        \
		.sig = "<T: " CLASS_##types "|string>(condition: bool, t: T, e: T) -> (output: T)", \
		.flags = DFG_EXACT,                                                                 \
		.gradient = formula,                                                                \
		.row = {DFG_EACH_##types(DFG_BY_DTYPE, Op)},                                        \
		.doc = __VA_ARGS__,                                                                 \
	};

/* With the attribute off, shapes that do not broadcast would make the result one false; what asks for that is refused. */
static struct dfg_err *guard_equal(struct dfg_kernel *ctx)
{
	const struct dfg_shape *shapes[] = {&dfg_kernel_input(ctx, 0)->shape, &dfg_kernel_input(ctx, 1)->shape};
	struct dfg_shape shape;
	if (dfg_shape_equal(shapes[0], shapes[1]))
		return NULL;
	return dfg_err_note(dfg_shape_broadcast(shapes, 2, &shape), "cannot compare");
}

/* Element i of an output of that shape comes from this element of t. */
static int64_t source(const struct dfg_shape *shape, const struct dfg_tensor *t, int64_t i)
{
	int64_t at = 0, step = 1;
	for (int d = 1; d <= t->shape.rank; d++) {
		int64_t dim = t->shape.dim[t->shape.rank - d], out_dim = shape->dim[shape->rank - d];
		at += dim == 1 ? 0 : i % out_dim * step;
		i /= out_dim;
		step *= dim;
	}
	return at;
}

static struct dfg_err *select_strings(struct dfg_kernel *ctx)
{
	const struct dfg_tensor *condition = dfg_kernel_input(ctx, 0), *t = dfg_kernel_input(ctx, 1),
							*e = dfg_kernel_input(ctx, 2);
	const struct dfg_shape *shapes[] = {&condition->shape, &t->shape, &e->shape};
	struct dfg_shape shape;
	struct dfg_tensor *out;
	DFG_TRY(dfg_shape_broadcast(shapes, 3, &shape));
	DFG_TRY(dfg_kernel_output(ctx, 0, &shape, &out));
	for (int64_t i = 0; i < dfg_shape_count(&shape); i++) {
		const _Bool *where = dfg_tensor_at(condition, source(&shape, condition, i));
		const struct dfg_tensor *from = *where ? t : e;
		const struct dfg_string *string = dfg_tensor_at(from, source(&shape, from, i));
		DFG_TRY(dfg_kernel_string(ctx, 0, i, string->s, string->length));
	}
	return NULL;
}

#include "kernels/logic.def"
