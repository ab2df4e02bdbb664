/*
 * Select, older than SelectV2: t and e have equal shapes; the condition has that shape, or is a scalar, or one bool a
 * row.
 */
#include "kernels/strided_copy.h"
#include "kernels/shape_rules.h"

#include <string.h>

extern const struct dfg_op dfg_op_SelectV2;

enum { CONDITION, T, E };

static struct dfg_err *fit(const struct dfg_shape *condition, const struct dfg_shape *t, const struct dfg_shape *e)
{
	bool rows = condition->rank == 1 && t->rank > 1;
	if (!dfg_shape_fits(t, e))
		return DFG_ERR(
			DFG_DATA, "t has shape %s and e %s, expected equal shapes", dfg_shape_words(t).s, dfg_shape_words(e).s);
	if (!condition->rank || dfg_shape_fits(condition, t) ||
		(rows && (condition->dim[0] == t->dim[0] || condition->dim[0] < 0 || t->dim[0] < 0)))
		return NULL;
	return DFG_ERR(DFG_DATA, "the condition has shape %s, expected %s, a scalar or a vector of its rows",
		dfg_shape_words(condition).s, dfg_shape_words(t).s);
}

static struct dfg_err *select_shape(struct dfg_infer *node)
{
	DFG_TRY(fit(node->in[CONDITION], node->in[T], node->in[E]));
	node->out[0] = dfg_shape_merge(node->in[T], node->in[E]);
	return NULL;
}

/* Each element of the condition selects `run` elements. */
static struct dfg_err *choose(struct dfg_kernel *ctx, int64_t run, struct dfg_tensor *out)
{
	const bool *condition = dfg_kernel_input(ctx, CONDITION)->data;
	int64_t count = dfg_shape_count(&out->shape);
	size_t bytes = (size_t)run * dfg_dtype_size(out->dtype);
	for (int64_t i = 0; i * run < count; i++) {
		const struct dfg_tensor *from = dfg_kernel_input(ctx, condition[i] ? T : E);
		if (out->dtype != DFG_STRING) {
			memcpy(dfg_tensor_at(out, i * run), dfg_tensor_at(from, i * run), bytes);
			continue;
		}
		const struct dfg_string *string = from->data;
		for (int64_t e = i * run; e < (i + 1) * run; e++)
			DFG_TRY(dfg_kernel_string(ctx, 0, e, string[e].s, string[e].length));
	}
	return out->dtype == DFG_VARIANT ? dfg_moved(ctx, 0) : NULL;
}

static struct dfg_err *select_run(struct dfg_kernel *ctx)
{
	const struct dfg_tensor *condition = dfg_kernel_input(ctx, CONDITION), *t = dfg_kernel_input(ctx, T),
							*e = dfg_kernel_input(ctx, E);
	struct dfg_tensor *out;
	DFG_TRY(fit(&condition->shape, &t->shape, &e->shape));
	int64_t truths = dfg_shape_count(&condition->shape), count = dfg_shape_count(&t->shape);
	DFG_TRY(dfg_kernel_output(ctx, 0, &t->shape, &out));
	if (!count)
		return NULL;
	if (truths != count || !dfg_op_SelectV2.row[out->dtype])
		return choose(ctx, count / truths, out);
	dfg_op_SelectV2.row[out->dtype](count, out->data, (const void *const[]){condition->data, t->data, e->data}, NULL);
	return NULL;
}

const struct dfg_op dfg_op_Select = {
	.name = "Select",
	.doc = "elements of t where the condition is true, else of e",
	.sig = "<T: plain|string|variant>(condition: bool, t: T, e: T) -> (output: T)",
	.flags = DFG_EXACT,
	.shape = select_shape,
	.gradient =
		"zeros = ZerosLike(doutput)\n"
		"dt, de = Select(condition, doutput, zeros), Select(condition, zeros, doutput)",
	.run = select_run,
};
