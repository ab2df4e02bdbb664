#include "lib/pass/verify/weights.h"

#include "lib/graph/initialisers.h"
#include "lib/graph/loops.h"

struct weights {
	struct dfg_graph *graph;
	const uint32_t *order;
	uint32_t *assign; /* by variable: its initialiser */
	uint32_t *handle; /* by node: the variable that it makes, or whose handle or ref it forwards; or DFG_NONE */
	bool *written;    /* by variable: by a node that is not its initialiser */
	bool *constant;   /* by node */
};

static bool forwards(enum dfg_role role)
{
	return role == DFG_IDENTITY || role == DFG_ENTER || role == DFG_EXIT || role == DFG_SWITCH;
}

/* Follows the variables' handles and refs from node to node, and notes where they are written. */
static void follow_handles(struct weights *w)
{
	for (uint32_t i = 0; i < w->graph->count; i++) {
		const uint32_t n = w->order ? w->order[i] : i;
		const struct dfg_node *node = &w->graph->node[n];
		const enum dfg_role role = dfg_node_role(node);
		w->handle[n] = role == DFG_VARIABLE ? n : DFG_NONE;
		for (uint32_t e = 0; e < node->n_in; e++) {
			const uint32_t v = w->handle[node->in[e].node];
			if (v == DFG_NONE)
				continue;
			if (e == 0 && forwards(role))
				w->handle[n] = v;
			else if (!node->op || role == DFG_MERGE || dfg_role_is_structural(role) ||
					 (node->op->flags & DFG_WRITES && w->assign[v] != n))
				w->written[v] = true;
		}
	}
}

static bool is_constant(const struct weights *w, uint32_t n)
{
	const struct dfg_node *node = &w->graph->node[n];
	const enum dfg_role role = dfg_node_role(node);
	const uint32_t v = w->handle[n];
	if (role == DFG_CONST)
		return true;
	if (v != DFG_NONE)
		return !w->written[v];
	if (!node->op || !node->n_in)
		return false;
	if (forwards(role) || role == DFG_READ)
		return w->constant[node->in[0].node];
	if (role != DFG_PLAIN || node->op->flags & (DFG_STATEFUL | DFG_BLOCKING))
		return false;
	for (uint32_t e = 0; e < node->n_in; e++)
		if (!w->constant[node->in[e].node])
			return false;
	return true;
}

static bool has_weights(const struct dfg_node *node)
{
	return node->op && node->op->flags & DFG_WEIGHTS && node->n_in > 1;
}

static struct dfg_err *mark(struct weights *w)
{
	for (uint32_t i = 0; i < w->graph->count; i++) {
		const uint32_t n = w->order ? w->order[i] : i;
		const struct dfg_node *node = &w->graph->node[n];
		w->constant[n] = is_constant(w, n);
		if (has_weights(node) && w->constant[node->in[1].node] && !dfg_node_mark(node, "_dfg_constant", NULL))
			DFG_TRY(dfg_node_set_attr(w->graph, n, "_dfg_constant", DFG_ATTR_BOOL, (union dfg_value){.b = true}));
	}
	return NULL;
}

struct dfg_err *dfg_weights_mark(struct dfg_graph *graph, const uint32_t *order, struct dfg_arena *scratch)
{
	struct weights w = {.graph = graph, .order = order};
	const size_t count = (size_t)graph->count + 1;
	uint32_t n = 0;
	while (n < graph->count && !has_weights(&graph->node[n]))
		n++;
	if (n == graph->count)
		return NULL;
	w.handle = dfg_arena_zeros(scratch, count, sizeof *w.handle);
	w.written = dfg_arena_zeros(scratch, count, sizeof *w.written);
	w.constant = dfg_arena_zeros(scratch, count, sizeof *w.constant);
	if (!w.handle || !w.written || !w.constant)
		return dfg_no_memory("constant weights");
	DFG_TRY(dfg_initialisers_find(graph, scratch, &w.assign));
	for (n = 0; n < graph->count; n++)
		w.handle[n] = DFG_NONE;
	follow_handles(&w);
	return mark(&w);
}
