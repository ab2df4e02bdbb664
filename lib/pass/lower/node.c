#include "lib/pass/lower/lower_private.h"

#include "lib/graph/build.h"

#include <string.h>

enum { BYTES_A_UNIT = 64 };

struct dfg_err *dfg_lower_path(struct lower *l, const char *scope, const char *name, const char **out_path)
{
	*out_path = dfg_arena_path(l->graph->arena, scope, name);
	return *out_path ? NULL : dfg_no_memory("the nodes of a lowered function");
}

struct dfg_err *dfg_lower_numbered(struct lower *l, const char *name, uint32_t number, const char **out_name)
{
	*out_name = dfg_arena_number(l->graph->arena, name, '_', number);
	return *out_name ? NULL : dfg_no_memory("the nodes of a lowered function");
}

struct dfg_err *dfg_lower_put(struct lower *l, struct dfg_node *node, uint32_t scope, uint32_t *out_number)
{
	DFG_TRY(dfg_lower_spend(l, 1 + strlen(node->name) / BYTES_A_UNIT));
	DFG_TRY(dfg_names_unused(&l->names, l->graph, node->name, &node->name));
	if (!dfg_reserve(&l->site, &l->site_capacity, (size_t)l->graph->count + 1, sizeof *l->site))
		return dfg_no_memory("the nodes of a lowered function");
	DFG_TRY(dfg_graph_add(l->graph, node, out_number));
	l->site[*out_number] = (struct call_site){.scope = scope, .is_new = true};
	return NULL;
}

static struct dfg_err *copy_attrs(struct lower *l, const struct dfg_attr *attr, uint32_t count, struct dfg_node *node)
{
	node->n_attr = count;
	if (!count)
		return NULL;
	node->attr = dfg_arena_zeros(l->graph->arena, count, sizeof *attr);
	if (!node->attr)
		return dfg_no_memory("the nodes of a lowered function");
	memcpy(node->attr, attr, count * sizeof *attr);
	return NULL;
}

static struct dfg_err *join_inputs(struct lower *l, const struct dfg_edge *in, uint32_t n_in, const uint32_t *control,
	uint32_t n_control, struct dfg_node *node)
{
	DFG_TRY(dfg_lower_spend(l, (uint64_t)n_in + n_control));
	node->n_in = n_in;
	node->n_control = 0;
	node->in = dfg_arena_zeros(l->graph->arena, (size_t)n_in + n_control + 1, sizeof *node->in);
	if (!node->in)
		return dfg_no_memory("the nodes of a lowered function");
	if (n_in)
		memcpy(node->in, in, n_in * sizeof *in);
	for (uint32_t i = 0; i < n_control; i++) {
		bool there = control[i] == DFG_NONE;
		for (uint32_t j = 0; j < node->n_control; j++)
			there |= node->in[n_in + j].node == control[i];
		if (!there)
			node->in[n_in + node->n_control++] = (struct dfg_edge){control[i], DFG_CONTROL};
	}
	return NULL;
}

struct dfg_err *dfg_lower_add(struct lower *l, uint32_t call, const struct draft *draft, uint32_t *out_number)
{
	const struct dfg_node *of = &l->graph->node[call];
	struct dfg_node node = {.op = dfg_op_find(draft->op), .device = of->device};
	if (!node.op)
		return DFG_ERR(DFG_BUG, "unknown op '%s'", draft->op);
	node.op_name = node.op->name;
	DFG_TRY(dfg_lower_path(l, of->name, draft->name, &node.name));
	DFG_TRY(copy_attrs(l, draft->attr, draft->n_attr, &node));
	DFG_TRY(join_inputs(l, draft->in, draft->n_in, draft->control, draft->n_control, &node));
	return dfg_lower_put(l, &node, l->site[call].scope, out_number);
}

struct dfg_err *dfg_lower_op(struct lower *l, uint32_t call, const char *op, const char *name, enum dfg_dtype dtype,
	const struct dfg_edge *in, uint32_t n_in, uint32_t *out_number)
{
	const struct dfg_attr attr = DFG_ATTR_T("T", dtype);
	return dfg_lower_add(l, call,
		&(struct draft){.op = op, .name = name, .in = in, .n_in = n_in, .attr = &attr, .n_attr = 1}, out_number);
}

struct dfg_err *dfg_lower_int(
	struct lower *l, uint32_t call, const char *name, int32_t value, uint32_t control, struct dfg_edge *out_edge)
{
	struct dfg_literal *literal = dfg_arena_zeros(l->graph->arena, 1, sizeof *literal);
	int32_t *data = dfg_arena_zeros(l->graph->arena, 1, sizeof *data);
	if (!literal || !data)
		return dfg_no_memory("the nodes of a lowered function");
	*data = value;
	*literal = (struct dfg_literal){DFG_I32, DFG_SHAPE_SCALAR, true, 1, data};
	const struct dfg_attr attr[] = {DFG_ATTR_T("dtype", DFG_I32), {"value", DFG_ATTR_TENSOR, {.tensor = literal}}};
	*out_edge = (struct dfg_edge){0, 0};
	return dfg_lower_add(l, call,
		&(struct draft){.op = "Const", .name = name, .control = &control, .n_control = 1, .attr = attr, .n_attr = 2},
		&out_edge->node);
}

/*
 * Sets the types of the outputs, the mark of a lowered call, and dfg's own marks. In byte order '_' comes after all
 * upper-case letters.
 */
static struct dfg_err *finish_attrs(struct lower *l, const struct instance *instance, struct dfg_node *node)
{
	struct dfg_attr *attr = dfg_arena_zeros(l->graph->arena, (size_t)node->n_attr + 2, sizeof *attr);
	struct dfg_list *list = dfg_arena_zeros(l->graph->arena, 1, sizeof *list);
	union dfg_value *item = dfg_arena_zeros(l->graph->arena, (size_t)instance->n_out + 1, sizeof *item);
	uint32_t count = 0;
	if (!attr || !list || !item)
		return dfg_no_memory("the nodes of a lowered function");
	for (uint32_t i = 0; i < instance->n_out; i++)
		item[i].dtype = instance->out_dtype[i];
	*list = (struct dfg_list){DFG_ATTR_DTYPE, instance->n_out, item};
	if (instance->n_out == 1)
		attr[count++] = (struct dfg_attr)DFG_ATTR_T("T", instance->out_dtype[0]);
	else if (instance->n_out)
		attr[count++] = (struct dfg_attr){"T", DFG_ATTR_LIST, {.list = list}};
	if (instance->n_out > 1)
		attr[count++] = (struct dfg_attr)DFG_ATTR_B("_dfg_call", true);
	for (uint32_t i = 0; i < node->n_attr; i++)
		if (!strncmp(node->attr[i].name, "_dfg_", 5) && strcmp(node->attr[i].name, "_dfg_call"))
			attr[count++] = node->attr[i];
	node->attr = attr;
	node->n_attr = count;
	return NULL;
}

struct dfg_err *dfg_lower_finish(struct lower *l, uint32_t call, const struct instance *instance,
	const struct dfg_edge *out, const uint32_t *control, uint32_t n_control)
{
	struct dfg_node node = l->graph->node[call];
	const char *op = !instance->n_out ? "NoOp" : instance->n_out == 1 ? "Identity" : "IdentityN";
	node.op = dfg_op_find(op);
	node.op_name = op;
	node.debug = NULL;
	node.n_debug = 0;
	DFG_TRY(finish_attrs(l, instance, &node));
	DFG_TRY(join_inputs(l, out, instance->n_out, control, n_control, &node));
	bool fixed = false;
	for (uint32_t i = 0; i < instance->n_out; i++)
		fixed |= l->site[out[i].node].is_fixed;
	l->site[call].is_pass = l->site[call].scope && !node.n_control && !fixed;
	l->site[call].is_call_done = true;
	l->graph->node[call] = node;
	return NULL;
}
