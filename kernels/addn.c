/* The sum of any number of tensors of one shape. */
#include "lib/pass/grad/grad.h"

#include "kernels/resource.h"
#include "kernels/elementwise_rows.h"
#include "kernels/row_rules.h"

extern const struct dfg_op dfg_op_Add;

static struct dfg_err *addn_gradient(struct dfg_gradient *node)
{
	for (int i = 0; i < node->call->n_in; i++)
		dfg_gradient_set(node, i, node->dy[0]);
	return NULL;
}

struct sum {
	const struct dfg_kernel *ctx;
	struct dfg_tensor *out;
};

/* Adds from the first input to the last, a tile at a time: the partial sums stay in the first cache. */
static void sum_range(void *arg, int64_t first, int64_t last)
{
	enum { TILE = 2048 };
	const struct sum *sum = arg;
	const struct dfg_resolved_node *call = sum->ctx->call;
	for (int64_t at = first, n; at < last; at += n) {
		n = last - at < TILE ? last - at : TILE;
		char *to = dfg_tensor_at(sum->out, at);
		const char *from = dfg_tensor_at(dfg_kernel_input(sum->ctx, 0), at);
		if (to != from)
			__builtin_memcpy(to, from, (size_t)n * dfg_dtype_size(sum->out->dtype));
		for (int i = 1; i < call->n_in; i++)
			dfg_op_Add.row[sum->out->dtype](
				n, to, (const void *const[]){to, dfg_tensor_at(dfg_kernel_input(sum->ctx, i), at)}, NULL);
	}
}

static struct dfg_err *addn_run(struct dfg_kernel *ctx)
{
	struct sum sum = {.ctx = ctx};
	const struct dfg_shape *shape = &dfg_kernel_input(ctx, 0)->shape;
	DFG_TRY(dfg_guard_same(ctx));
	DFG_TRY(dfg_kernel_output(ctx, 0, shape, &sum.out));
	dfg_kernel_ranges(ctx, dfg_shape_count(shape), 32 * 1024, sum_range, &sum);
	return NULL;
}

/* Adds lists and optionals one after another: in place of the first, where it has no other holder. */
static struct dfg_err *addn_variants(struct dfg_kernel *ctx)
{
	struct dfg_tensor sum;
	DFG_TRY(dfg_guard_same(ctx));
	if (ctx->host->alone(ctx, 0))
		DFG_TRY(ctx->host->keep(ctx, 0, &sum));
	else
		DFG_TRY(dfg_tensor_copy(dfg_kernel_input(ctx, 0), &sum));
	struct dfg_err *err = NULL;
	for (int i = 1; i < ctx->call->n_in && !err; i++)
		err = dfg_element_add_variants(&sum, dfg_kernel_input(ctx, i));
	if (!err)
		return ctx->host->give(ctx, 0, &sum);
	dfg_tensor_release(&sum);
	return err;
}

static struct dfg_err *accumulated_shape(struct dfg_infer *node)
{
	const struct dfg_shape *given = node->call->attr[0].shape;
	DFG_TRY(dfg_shape_same(node));
	if (!dfg_shape_fits(given, &node->out[0]))
		return DFG_ERR(DFG_DATA, "the attribute shape is %s, but the inputs are %s", dfg_shape_words(given).s,
			dfg_shape_words(&node->out[0]).s);
	node->out[0] = dfg_shape_merge(given, &node->out[0]);
	return NULL;
}

#define KERNEL(NAME, ...) [DFG_##NAME] = addn_run,

const struct dfg_op dfg_op_AddN = {
	.name = "AddN",
	.doc = "sum of all inputs, which have equal shapes",
	.sig = "<N: int, T: numeric|variant>(inputs: N * T) -> (sum: T)",
	.flags = DFG_EXACT | DFG_IN_PLACE,
	.shape = dfg_shape_same,
	.rows = dfg_rows_all,
	.gradient_fn = addn_gradient,
	.joins_by = &dfg_op_Add,
	.kernel = {DFG_EACH_numeric(KERNEL)[DFG_VARIANT] = addn_variants},
};

const struct dfg_op dfg_op_AccumulateNV2 = {
	.name = "AccumulateNV2",
	.doc = "sum of all inputs, whose shape is given",
	.sig = "<N: int, T: numeric>(inputs: N * T) -> (sum: T)",
	.attr = {"shape: shape"},
	.flags = DFG_EXACT | DFG_IN_PLACE,
	.shape = accumulated_shape,
	.rows = dfg_rows_all,
	.gradient_fn = addn_gradient,
	.kernel = {DFG_EACH_numeric(KERNEL)},
};
