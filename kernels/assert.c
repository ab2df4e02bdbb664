#include "lib/base/text.h"
#include "lib/graph/kernel.h"

enum { SUMMARIZE }; /* attribute */

/* Appends the first elements of a tensor: "[1 2 3...]". */
static void describe(struct dfg_text *text, const struct dfg_tensor *tensor, int64_t most)
{
	int64_t count = dfg_shape_count(&tensor->shape);
	dfg_text_add(text, " [");
	for (int64_t i = 0; i < count && i < most; i++) {
		dfg_text_add(text, "%s", i ? " " : "");
		if (tensor->dtype == DFG_STRING) {
			const struct dfg_string *element = (const struct dfg_string *)tensor->data + i;
			dfg_text_escape(text, element->s, element->length, 200);
		} else if (dfg_dtype_is(tensor->dtype, "int") || tensor->dtype == DFG_BOOL) {
			dfg_text_add(text, "%lld", (long long)dfg_tensor_int(tensor, i));
		} else {
			dfg_text_f32(text, (float)dfg_tensor_float(tensor, i));
		}
	}
	dfg_text_add(text, "%s]", count > most ? "..." : "");
}

static struct dfg_err *assert_run(struct dfg_kernel *ctx)
{
	const struct dfg_tensor *condition = dfg_kernel_input(ctx, 0);
	int64_t most = dfg_kernel_attr(ctx)[SUMMARIZE].i;
	if (condition->shape.rank)
		return DFG_ERR(DFG_DATA, "the condition has shape %s, expected a scalar", dfg_shape_words(&condition->shape).s);
	if (*(const bool *)condition->data)
		return NULL;
	struct dfg_text text = {0};
	for (int i = 1; i < ctx->call->n_in; i++)
		describe(&text, dfg_kernel_input(ctx, i), most < 0 ? INT64_MAX : most);
	struct dfg_err *err = DFG_ERR(DFG_DATA, "assertion failed:%s", text.s ? text.s : "");
	dfg_text_release(&text);
	return err;
}

static struct dfg_err *assert_shape(struct dfg_infer *node)
{
	if (node->in[0]->rank > 0)
		return DFG_ERR(DFG_DATA, "the condition has shape %s, expected a scalar", dfg_shape_words(node->in[0]).s);
	return NULL;
}

const struct dfg_op dfg_op_Assert = {
	.name = "Assert",
	.doc = "an error that shows the first elements of data, unless condition is true",
	.sig = "<T: [type]>(condition: bool, data: T) -> ()",
	.attr = {[SUMMARIZE] = "summarize: int = 3"},
	.flags = DFG_NO_GRADIENT | DFG_STATEFUL | DFG_ANY_RANK,
	.means = DFG_MEANS_ASSERTION,
	.shape = assert_shape,
	.run = assert_run,
};
