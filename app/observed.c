#include "app/observed.h"

#include "lib/graph/cycle.h"

static struct dfg_err *find_order(struct dfg_observed *observed)
{
	const struct dfg_graph *graph = &observed->model->file.graph;
	DFG_TRY(dfg_pass_order(graph, &observed->arena, &observed->order, &observed->count));
	if (observed->order)
		return NULL;
	observed->count = graph->count;
	if (!(observed->order = dfg_arena_zeros(&observed->arena, graph->count, sizeof *observed->order)))
		return dfg_no_memory("the order of the nodes");
	for (uint32_t n = 0; n < graph->count; n++)
		observed->order[n] = n;
	return NULL;
}

static struct dfg_err *find_wanted(struct dfg_observed *observed, const struct dfg_edges *results)
{
	const struct dfg_graph *graph = &observed->model->file.graph;
	uint32_t *stack = dfg_arena_zeros(&observed->arena, graph->count, sizeof *stack), depth = 0;
	observed->wanted = dfg_arena_zeros(&observed->arena, graph->count, sizeof *observed->wanted);
	if (!stack || !observed->wanted)
		return dfg_no_memory("the nodes of the results");
	for (uint32_t i = 0; i < results->count; i++)
		if (!observed->wanted[results->edge[i].node]) {
			observed->wanted[results->edge[i].node] = true;
			stack[depth++] = results->edge[i].node;
		}
	while (depth) {
		const struct dfg_node *node = &graph->node[stack[--depth]];
		for (uint32_t e = 0; e < node->n_in + node->n_control; e++)
			if (!observed->wanted[node->in[e].node]) {
				observed->wanted[node->in[e].node] = true;
				stack[depth++] = node->in[e].node;
			}
	}
	return NULL;
}

static struct dfg_err *find_doubtful(struct dfg_observed *observed)
{
	const struct dfg_graph *graph = &observed->model->file.graph;
	observed->doubtful = dfg_arena_zeros(&observed->arena, graph->count, sizeof *observed->doubtful);
	if (!observed->doubtful)
		return dfg_no_memory("the nodes of the results");
	for (uint32_t i = 0; i < observed->count; i++) {
		const uint32_t n = observed->order[i];
		const struct dfg_node *node = &graph->node[n];
		observed->doubtful[n] = observed->liveness.is_partial[n];
		for (uint32_t e = 0; e < node->n_in + node->n_control; e++)
			observed->doubtful[n] |= observed->doubtful[node->in[e].node];
	}
	return NULL;
}

struct dfg_err *dfg_observed_find(
	const struct dfg_model *model, const struct dfg_edges *results, struct dfg_observed *out_observed)
{
	const struct dfg_graph *graph = &model->file.graph;
	out_observed->model = model;
	DFG_TRY(find_order(out_observed));
	DFG_TRY(find_wanted(out_observed, results));
	DFG_TRY(dfg_loops_find(graph, out_observed->order, &out_observed->arena, &out_observed->loops));
	DFG_TRY(dfg_liveness_find(graph, out_observed->order, &out_observed->loops, NULL, &out_observed->liveness));
	DFG_TRY(find_doubtful(out_observed));
	out_observed->n_holds = out_observed->liveness.n_condition;
	out_observed->holds = dfg_arena_zeros(&out_observed->arena, out_observed->n_holds + 1, sizeof *out_observed->holds);
	return out_observed->holds ? NULL : dfg_no_memory("the conditions of branches");
}

void dfg_observed_release(struct dfg_observed *observed)
{
	dfg_liveness_release(&observed->liveness);
	dfg_arena_release(&observed->arena);
	*observed = (struct dfg_observed){.model = NULL};
}

/* The output that a Switch on this value selects. */
static int64_t side_of(const struct dfg_tensor *value)
{
	return value->dtype == DFG_BOOL ? *(const bool *)value->data : dfg_tensor_int(value, 0);
}

struct dfg_err *dfg_observed_know(struct dfg_observed *observed, const struct dfg_arrays *values)
{
	for (size_t i = 0; i < observed->n_holds; i++) {
		const struct dfg_condition *condition = &observed->liveness.condition[i];
		const char *name = dfg_graph_tensor_name(&observed->model->file.graph, condition->predicate);
		if (!name)
			return dfg_no_memory("the names of predicates");
		const struct dfg_array *value = dfg_arrays_find(values, name);
		if (!value || value->tensor.shape.rank || !value->tensor.data)
			continue;
		int64_t side = side_of(&value->tensor);
		side =
			side < 0 || side >= condition->sides ? condition->sides - 1 : side; /* an index out of range is the last */
		observed->holds[i] = side == condition->side;
	}
	return NULL;
}

struct dfg_err *dfg_observed_has(struct dfg_observed *observed, struct dfg_edge edge, bool *out_has)
{
	uint32_t set, count;
	const struct dfg_facts *facts = &observed->model->facts;
	*out_has = false;
	if (!observed->wanted[edge.node] || observed->doubtful[edge.node] || observed->loops.of[edge.node] ||
		(uint32_t)edge.port >= dfg_facts_outputs(facts, edge.node))
		return NULL;
	const struct dfg_inferred *fact = dfg_facts_of(facts, edge);
	if (fact->is_ref || fact->dtype == DFG_NO_DTYPE || dfg_dtype_is_handle(fact->dtype))
		return NULL;
	DFG_TRY(dfg_live_of(&observed->liveness, edge, &set));
	const uint32_t *condition = dfg_live_conditions(&observed->liveness, set, &count);
	*out_has = !dfg_live_never(&observed->liveness, set);
	for (uint32_t i = 0; i < count; i++)
		*out_has = *out_has && condition[i] < observed->n_holds && observed->holds[condition[i]];
	return NULL;
}
