/* become. Requires: nothing of the graph. O(attributes + bytes of the value). */
#include "lib/pass/rewrite/become.h"

#include <stdlib.h>
#include <string.h>

const struct dfg_literal *dfg_constant_literal(const struct dfg_node *node)
{
	const struct dfg_attr *value = dfg_node_attr(node, "value");
	const bool is_const = node->op && node->op->role == DFG_CONST && value && value->kind == DFG_ATTR_TENSOR;
	return is_const ? value->value.tensor : NULL;
}

static int by_name(const void *a, const void *b)
{
	return strcmp(((const struct dfg_attr *)a)->name, ((const struct dfg_attr *)b)->name);
}

static bool is_given(const struct dfg_attr *attr, uint32_t n_attr, const char *name)
{
	for (uint32_t i = 0; i < n_attr; i++)
		if (!strcmp(attr[i].name, name))
			return true;
	return false;
}

struct dfg_err *dfg_become_op(
	struct dfg_graph *graph, uint32_t node, const char *op, const struct dfg_attr *attr, uint32_t n_attr)
{
	struct dfg_node *it = &graph->node[node];
	struct dfg_attr *all = dfg_arena_zeros(graph->arena, (size_t)it->n_attr + n_attr + 1, sizeof *all);
	uint32_t count = 0;
	if (!all)
		return dfg_no_memory("a node");
	if (!dfg_op_find(op))
		return dfg_op_missing(op);
	for (uint32_t i = 0; i < it->n_attr; i++)
		if (it->attr[i].name[0] == '_' && !is_given(attr, n_attr, it->attr[i].name))
			all[count++] = it->attr[i];
	for (uint32_t i = 0; i < n_attr; i++)
		all[count++] = attr[i];
	qsort(all, count, sizeof *all, by_name);
	it->attr = all;
	it->n_attr = count;
	it->op = dfg_op_find(op);
	it->op_name = it->op->name;
	return NULL;
}

struct dfg_err *dfg_literal_of_tensor(
	struct dfg_graph *graph, const struct dfg_tensor *value, const struct dfg_literal **out_literal)
{
	struct dfg_literal *literal = dfg_arena_zeros(graph->arena, 1, sizeof *literal);
	if (!literal)
		return dfg_no_memory("a constant");
	*literal = (struct dfg_literal){
		.dtype = value->dtype,
		.shape = value->shape,
		.content = true,
		.given = dfg_shape_count(&value->shape),
		.data = dfg_arena_copy(graph->arena, value->data ? value->data : "", dfg_tensor_bytes(value)),
	};
	*out_literal = literal;
	return literal->data ? NULL : dfg_no_memory("a constant");
}

struct dfg_err *dfg_become_constant(struct dfg_graph *graph, uint32_t node, const struct dfg_tensor *value)
{
	struct dfg_node *it = &graph->node[node];
	const struct dfg_literal *literal;
	DFG_TRY(dfg_literal_of_tensor(graph, value, &literal));
	const struct dfg_attr attr[] = {
		{"dtype", DFG_ATTR_DTYPE, {.dtype = literal->dtype}},
		{"value", DFG_ATTR_TENSOR, {.tensor = literal}},
	};
	DFG_TRY(dfg_become_op(graph, node, "Const", attr, 2));
	it->in += it->n_in;
	it->n_in = 0;
	return NULL;
}
