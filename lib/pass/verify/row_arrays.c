/*
 * Rows in arrays (TensorArrays), which belong to one step: either all elements have rows, or none has, so that those read
 * from it have the kind of those written. The flow tells, as writes to an array are ordered by it: array_flow.h.
 */
#include "lib/pass/verify/array_flow.h"
#include "lib/pass/verify/row_independence_private.h"

#include <string.h>

/* The kind of the input of that name; *out_has: there is one. */
static int kind_named(const struct dfg_row_analysis *a, const struct dfg_node *node, const char *name, bool *out_has)
{
	const struct dfg_signature *signature;
	struct dfg_err *err = dfg_op_signature(node->op, &signature);
	int kind = DFG_ROWS_NONE;
	*out_has = false;
	for (int i = 0; !err && i < signature->n_in && i < (int)node->n_in; i++)
		if (!strcmp(signature->in[i].name, name)) {
			*out_has = true;
			kind = dfg_row_kind(a, node->in[i]);
		}
	dfg_err_free(err);
	return kind;
}

/* The kind of the flow after a value was written, whose rows are those of an element if it is `one` element. MIXED: neither. */
static int after_write(int value, bool one)
{
	if (value == DFG_ROWS_NONE)
		return DFG_ROWS_SAME;
	return value == (one ? (int)DFG_ROWS_EACH : (int)DFG_ROWS_SECOND) ? (int)DFG_ROWS_ELEMENTS : (int)DFG_ROWS_MIXED;
}

static const char *write_array(struct dfg_row_analysis *a, uint32_t n, int flow, int value, bool one)
{
	int after = after_write(value, one);
	if (after == DFG_ROWS_MIXED)
		return one ? "the batch is not the first axis of the element"
				   : "the batch is not the second axis of the elements";
	if (flow != DFG_ROWS_NONE && flow != after)
		return "some elements of the array depend on the batch, others do not";
	dfg_row_set(a, (struct dfg_edge){n, 0}, after);
	return NULL;
}

const char *dfg_row_array(struct dfg_row_analysis *a, uint32_t n)
{
	const struct dfg_node *node = &a->graph->node[n];
	bool is_write, is_one, is_all, is_parts, has_flow;
	int flow = kind_named(a, node, "flow_in", &has_flow), value = kind_named(a, node, "value", &is_write);
	int index = kind_named(a, node, "index", &is_one), indices = kind_named(a, node, "indices", &is_all);
	int lengths = kind_named(a, node, "lengths", &is_parts);
	for (uint32_t i = 0; !has_flow && i < node->n_in; i++)
		if (dfg_row_kind(a, node->in[i]) != DFG_ROWS_NONE)
			return "the size of the array depends on the batch";
	if (index != DFG_ROWS_NONE || indices != DFG_ROWS_NONE || lengths != DFG_ROWS_NONE)
		return "the index of an array element depends on the batch";
	if (is_write && (is_one || is_all))
		return write_array(a, n, flow, value, is_one);
	if (flow != DFG_ROWS_ELEMENTS && (!is_write || value == DFG_ROWS_NONE)) {
		if (is_write)
			return write_array(a, n, flow, value, false);
		return NULL;
	}
	if (is_write || !(is_one || is_all))
		return "it joins or divides elements of an array, or takes its gradient";
	dfg_row_give(a, n, 0, is_one ? 0 : 1);
	return NULL;
}
