#include "lib/pass/verify/aliases.h"

#include "lib/graph/shared_name.h"

#include <string.h>

uint32_t dfg_alias_of(const struct dfg_aliases *a, struct dfg_edge edge)
{
	bool is_tensor = edge.port >= 0 && (uint32_t)edge.port < dfg_facts_outputs(a->facts, edge.node);
	return is_tensor ? a->of[a->facts->first[edge.node] + (uint32_t)edge.port] : 0;
}

const char *dfg_alias_name(const struct dfg_aliases *a, uint32_t number)
{
	return a->names.name[number].s;
}

static struct dfg_err *name_variable(
	struct dfg_aliases *a, const struct dfg_graph *graph, uint32_t n, struct dfg_arena *arena)
{
	const char *key = dfg_node_shared_name(&graph->node[n], arena);
	uint32_t number = 0;
	if (!key || !dfg_map_put(&a->names, key, strlen(key), &number, NULL))
		return dfg_no_memory("the variables' names");
	if (dfg_facts_outputs(a->facts, n))
		a->of[a->facts->first[n]] = number + 1;
	return NULL;
}

/* The variable that all inputs refer to, those on back edges aside; 0 if they differ. */
static uint32_t merged(const struct dfg_aliases *a, const struct dfg_graph *graph, const struct dfg_node *node)
{
	uint32_t variable = node->n_in ? dfg_alias_of(a, node->in[0]) : 0;
	for (uint32_t e = 1; e < node->n_in; e++)
		if (!dfg_edge_closes(graph, node, node->in[e]) && dfg_alias_of(a, node->in[e]) != variable)
			return 0;
	return variable;
}

static void hand_on(struct dfg_aliases *a, const struct dfg_graph *graph, uint32_t n)
{
	static const uint32_t passes = 1U << DFG_SWITCH | 1U << DFG_ENTER | 1U << DFG_EXIT | 1U << DFG_NEXT_ITERATION;
	const struct dfg_node *node = &graph->node[n];
	uint32_t first = a->facts->first[n], outputs = dfg_facts_outputs(a->facts, n);
	enum dfg_role role = dfg_node_role(node);
	for (uint32_t i = 0; i < outputs && node->n_in; i++) {
		const struct dfg_inferred *fact = a->facts->fact[first + i];
		bool is_state = node->op && (node->op->flags & (DFG_READS | DFG_WRITES));
		if (!fact->is_ref && fact->dtype != DFG_RESOURCE)
			continue;
		if (role == DFG_MERGE)
			a->of[first + i] = merged(a, graph, node);
		else if (role == DFG_IDENTITY && i < node->n_in)
			a->of[first + i] = dfg_alias_of(a, node->in[i]);
		else if ((passes >> role & 1) || (is_state && fact->is_ref))
			a->of[first + i] = dfg_alias_of(a, node->in[0]);
	}
}

struct dfg_err *dfg_aliases_find(const struct dfg_graph *graph, const uint32_t *order, const struct dfg_facts *facts,
	struct dfg_arena *arena, struct dfg_aliases *out_aliases)
{
	struct dfg_aliases *a = out_aliases;
	*a = (struct dfg_aliases){.facts = facts, .of = dfg_arena_zeros(arena, facts->count + 1, sizeof *a->of)};
	if (!a->of)
		return dfg_no_memory("the variables' names");
	for (uint32_t i = 0; i < graph->count; i++) {
		uint32_t n = order ? order[i] : i;
		if (dfg_node_role(&graph->node[n]) == DFG_VARIABLE)
			DFG_TRY(name_variable(a, graph, n, arena));
		else
			hand_on(a, graph, n);
	}
	return NULL;
}

void dfg_aliases_release(struct dfg_aliases *a)
{
	dfg_map_release(&a->names);
}
