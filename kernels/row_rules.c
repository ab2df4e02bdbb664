#include "kernels/row_rules.h"

#include "kernels/shape_rules.h"

const char *dfg_rows_first(const struct dfg_infer *node, uint64_t by_row)
{
	(void)node;
	return by_row == 1 ? NULL : "an input other than the first depends on the batch";
}

const char *dfg_rows_matrix(const struct dfg_infer *node, uint64_t by_row)
{
	const char *why = dfg_rows_first(node, by_row);
	return why || node->in[0]->rank > 1 ? why : "its only axis is the batch";
}

const char *dfg_rows_all(const struct dfg_infer *node, uint64_t by_row)
{
	for (int i = 0; i < node->call->n_in; i++)
		if (!(by_row >> i & 1))
			return "some of its inputs depend on the batch, others do not";
	return NULL;
}

const char *dfg_rows_axis(int64_t axis, int rank)
{
	if (axis == DFG_NOT_KNOWN || rank < 0)
		return "its axis is not known before it runs";
	return axis == 0 || axis == -rank ? "its axis is the batch" : NULL;
}

const char *dfg_rows_along(const struct dfg_infer *node, uint64_t by_row, int first, int axis)
{
	if (by_row != (uint64_t)1 << first)
		return "an input other than its value depends on the batch";
	return dfg_rows_axis(dfg_int_of(node, axis, 0), node->in[first]->rank);
}
