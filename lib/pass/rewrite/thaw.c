/* thaw. Requires: a graph that verify accepts. Result: variables in place of constants. O(patterns * nodes + edges). */
#include "lib/pass/rewrite/freeze.h"

#include "lib/base/plural.h"
#include "lib/graph/build.h"
#include "lib/pass/rewrite/become.h"

#include <fnmatch.h>
#include <string.h>

struct thawing {
	struct dfg_graph *graph;
	struct dfg_names names;
	uint32_t *read; /* by node: the read of the variable that it became; DFG_NONE: it is as before */
	uint32_t count; /* of the nodes that were there before */
	uint32_t thawed;
};

static struct dfg_err *make_node(struct thawing *t, const char *suffix, uint32_t of, struct dfg_node node,
	const struct dfg_attr *attr, uint32_t n_attr, uint32_t *out_number)
{
	struct dfg_graph *graph = t->graph;
	const char *wanted = dfg_arena_path(graph->arena, graph->node[of].name, suffix);
	struct dfg_edge *in = dfg_arena_zeros(graph->arena, (size_t)node.n_in + node.n_control + 1, sizeof *in);
	if (!wanted || !in)
		return dfg_no_memory("a variable");
	if (node.n_in + node.n_control)
		memcpy(in, node.in, (node.n_in + node.n_control) * sizeof *in);
	node.in = in;
	node.device = graph->node[of].device;
	DFG_TRY(dfg_names_unused(&t->names, graph, wanted, &node.name));
	const char *op = node.op_name;
	DFG_TRY(dfg_graph_add(graph, &node, out_number));
	return dfg_become_op(graph, *out_number, op, attr, n_attr);
}

/* The read takes the control inputs of the constant, so that it is live where the constant was. */
static struct dfg_err *make_read(struct thawing *t, uint32_t n, enum dfg_dtype dtype)
{
	const struct dfg_node *constant = &t->graph->node[n];
	const uint32_t controls = constant->n_control;
	const struct dfg_attr attr[] = {DFG_ATTR_T("dtype", dtype)};
	struct dfg_edge *in = dfg_arena_zeros(t->graph->arena, (size_t)controls + 1, sizeof *in);
	if (!in)
		return dfg_no_memory("a variable");
	in[0] = (struct dfg_edge){n, 0};
	if (controls)
		memcpy(in + 1, constant->in, controls * sizeof *in);
	DFG_TRY(make_node(t, "read", n,
		(struct dfg_node){.op_name = "ReadVariableOp", .in = in, .n_in = 1, .n_control = controls}, attr, 1,
		&t->read[n]));
	t->graph->node[n].n_control = 0;
	return NULL;
}

static struct dfg_err *make_initialiser(struct thawing *t, uint32_t n, const struct dfg_literal *literal)
{
	const struct dfg_attr value[] = {
		DFG_ATTR_T("dtype", literal->dtype), {"value", DFG_ATTR_TENSOR, {.tensor = literal}}};
	const struct dfg_attr assign[] = {DFG_ATTR_B("_dfg_init", true), DFG_ATTR_T("dtype", literal->dtype)};
	uint32_t number;
	DFG_TRY(make_node(t, "initial", n, (struct dfg_node){.op_name = "Const"}, value, 2, &number));
	const struct dfg_edge in[] = {{n, 0}, {number, 0}};
	return make_node(t, "assign", n,
		(struct dfg_node){.op_name = "AssignVariableOp", .in = (struct dfg_edge *)in, .n_in = 2}, assign, 2, &number);
}

static struct dfg_err *thaw_constant(struct thawing *t, uint32_t n)
{
	const struct dfg_literal *literal = dfg_constant_literal(&t->graph->node[n]);
	struct dfg_shape *shape = dfg_arena_zeros(t->graph->arena, 1, sizeof *shape);
	const char *name = t->graph->node[n].name;
	if (!shape)
		return dfg_no_memory("a variable");
	*shape = literal->shape;
	const struct dfg_attr attr[] = {
		DFG_ATTR_B("_dfg_trainable", true),
		DFG_ATTR_T("dtype", literal->dtype),
		{"shape", DFG_ATTR_SHAPE, {.shape = shape}},
		DFG_ATTR_S("shared_name", name),
	};
	DFG_TRY(make_read(t, n, literal->dtype));
	DFG_TRY(make_initialiser(t, n, literal));
	t->thawed++;
	return dfg_become_op(t->graph, n, "VarHandleOp", attr, 4);
}

static bool is_kept(const struct dfg_keep *keep, uint32_t n)
{
	for (uint32_t i = 0; i < keep->n_fetch; i++)
		if (keep->fetch[i].node == n)
			return true;
	return false;
}

static struct dfg_err *thaw_matches(struct thawing *t, const struct dfg_keep *keep, const char *pattern)
{
	bool any = false;
	for (uint32_t n = 0; n < t->count; n++) {
		const struct dfg_node *node = &t->graph->node[n];
		const struct dfg_literal *literal = dfg_constant_literal(node);
		if (!literal || !dfg_dtype_is(literal->dtype, "float") || fnmatch(pattern, node->name, 0))
			continue;
		any = true;
		if (is_kept(keep, n))
			return DFG_ERR(DFG_DATA, "--thaw %s: constant '%s' is an output", pattern, node->name);
		if (t->read[n] == DFG_NONE)
			DFG_TRY(thaw_constant(t, n));
	}
	return any ? NULL : DFG_ERR(DFG_DATA, "--thaw %s: no constant of floats has such a name", pattern);
}

/* The nodes that were there read the value where they read the constant. */
static void redirect(struct thawing *t)
{
	for (uint32_t n = 0; n < t->count; n++)
		for (uint32_t e = 0; e < t->graph->node[n].n_in; e++) {
			struct dfg_edge *edge = &t->graph->node[n].in[e];
			if (edge->node < t->count && t->read[edge->node] != DFG_NONE)
				edge->node = t->read[edge->node];
		}
}

struct dfg_err *dfg_thaw(struct dfg_graph *graph, struct dfg_keep *keep, const char *const *pattern,
	struct dfg_arena *scratch, struct dfg_text *report)
{
	struct thawing t = {
		.graph = graph,
		.count = graph->count,
		.read = dfg_arena_zeros(scratch, (size_t)graph->count + 1, sizeof *t.read),
	};
	struct dfg_err *err = t.read ? NULL : dfg_no_memory("the constants");
	for (uint32_t n = 0; !err && n < graph->count; n++)
		t.read[n] = DFG_NONE;
	for (; !err && *pattern; pattern++)
		err = thaw_matches(&t, keep, *pattern);
	if (!err)
		redirect(&t);
	dfg_names_release(&t.names);
	dfg_text_add(report, "thaw: made variables of %u constant%s\n", t.thawed, dfg_plural(t.thawed));
	return err;
}
