#include "kernels/elementwise_rows.h"

/* Index of the first element of an integer tensor that is outside the domain, or -1. */
#define FIND(NAME, name, type, number, what, test)                    \
	static int64_t first_##what##_##name(const void *data, int64_t n) \
	{                                                                 \
		const type *y = data;                                         \
		int64_t bad = 0;                                              \
		for (int64_t i = 0; i < n; i++)                               \
			bad += test;                                              \
		for (int64_t i = 0; bad && i < n; i++)                        \
			if (test)                                                 \
				return i;                                             \
		return -1;                                                    \
	}
DFG_EACH_int(FIND, zero, y[i] == 0)
DFG_EACH_signed(FIND, negative, y[i] < 0)

typedef int64_t find_fn(const void *data, int64_t n);

static struct dfg_err *refuse(struct dfg_kernel *ctx, find_fn *const *find, const char *what)
{
	const struct dfg_tensor *x = dfg_kernel_input(ctx, 0), *y = dfg_kernel_input(ctx, 1);
	if (!find[y->dtype] || !dfg_shape_count(&x->shape))
		return NULL;
	int64_t at = find[y->dtype](y->data, dfg_shape_count(&y->shape));
	if (at >= 0)
		return DFG_ERR(
			DFG_DATA, "%s at element %lld of %s", what, (long long)at, dfg_type_words(y->dtype, &y->shape).s);
	return NULL;
}

struct dfg_err *dfg_guard_divisor(struct dfg_kernel *ctx)
{
	static find_fn *const find[DFG_DTYPES] = { DFG_EACH_int(DFG_BY_DTYPE, first_zero) };
	return refuse(ctx, find, "integer division by zero");
}

struct dfg_err *dfg_guard_power(struct dfg_kernel *ctx)
{
	static find_fn *const find[DFG_DTYPES] = { DFG_EACH_signed(DFG_BY_DTYPE, first_negative) };
	return refuse(ctx, find, "an integer to a negative power");
}

struct dfg_err *dfg_shape_same(struct dfg_infer *node)
{
	struct dfg_shape shape = *node->in[0];
	for (int i = 1; i < node->call->n_in; i++) {
		if (!dfg_shape_fits(&shape, node->in[i]))
			return DFG_ERR(DFG_DATA, "inputs must have equal shapes, not %s and %s", dfg_shape_words(&shape).s,
				dfg_shape_words(node->in[i]).s);
		shape = dfg_shape_merge(&shape, node->in[i]);
	}
	node->out[0] = shape;
	return NULL;
}

struct dfg_err *dfg_guard_same(struct dfg_kernel *ctx)
{
	const struct dfg_shape *first = &dfg_kernel_input(ctx, 0)->shape;
	for (int i = 1; i < ctx->call->n_in; i++) {
		const struct dfg_shape *shape = &dfg_kernel_input(ctx, i)->shape;
		if (!dfg_shape_equal(first, shape))
			return DFG_ERR(DFG_DATA, "inputs must have equal shapes, not %s and %s", dfg_shape_words(first).s,
				dfg_shape_words(shape).s);
	}
	return NULL;
}
