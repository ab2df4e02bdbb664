#include "lib/graph/cycle.h"

enum { NAMES_MOST = 8 }; /* the most nodes of a cycle that a message names */

static bool is_ordered(const struct dfg_graph *graph)
{
	for (uint32_t n = 0; n < graph->count; n++) {
		const struct dfg_node *node = &graph->node[n];
		for (uint32_t e = 0; e < node->n_in + node->n_control; e++)
			if (node->in[e].node >= n && !dfg_edge_closes(graph, node, node->in[e]))
				return false;
	}
	return true;
}

struct dfg_err *dfg_pass_order(
	const struct dfg_graph *graph, struct dfg_arena *scratch, uint32_t **out_order, uint32_t *out_count)
{
	*out_order = NULL;
	*out_count = graph->count;
	if (is_ordered(graph))
		return NULL;
	*out_order = dfg_arena_zeros(scratch, graph->count, sizeof **out_order);
	if (!*out_order)
		return DFG_ERR(DFG_MEMORY, "no memory to sort %u nodes", graph->count);
	return dfg_graph_order(graph, scratch, *out_order, out_count);
}

/* An input of n that is not in the order either; each node that is not in it has one. */
static uint32_t step_back(const struct dfg_graph *graph, const bool *placed, uint32_t n)
{
	const struct dfg_node *node = &graph->node[n];
	for (uint32_t e = 0; e < node->n_in + node->n_control; e++)
		if (!placed[node->in[e].node] && !dfg_edge_closes(graph, node, node->in[e]))
			return node->in[e].node;
	return n;
}

struct dfg_err *dfg_cycle_words(const struct dfg_graph *graph, const uint32_t *order, uint32_t count,
	struct dfg_arena *scratch, struct dfg_text *out_text)
{
	bool *placed = dfg_arena_zeros(scratch, graph->count, sizeof *placed);
	uint32_t *path = dfg_arena_zeros(scratch, graph->count, sizeof *path);
	uint32_t *position = dfg_arena_zeros(scratch, graph->count, sizeof *position); /* position in the path, from 1 */
	if (!placed || !path || !position)
		return DFG_ERR(DFG_MEMORY, "no memory to name a cycle");
	for (uint32_t i = 0; i < count; i++)
		placed[order[i]] = true;
	uint32_t n = 0, length = 0;
	while (placed[n])
		n++;
	for (; !position[n]; n = step_back(graph, placed, n)) {
		path[length++] = n;
		position[n] = length;
	}
	/* the path follows edges backwards, so the cycle is its end, read from back to front */
	uint32_t nodes = length - position[n] + 1;
	dfg_text_add(out_text, "'%.200s'", graph->node[n].name);
	for (uint32_t i = 0; i < nodes && i < NAMES_MOST; i++)
		dfg_text_add(out_text, " -> '%.200s'", graph->node[path[length - 1 - i]].name);
	if (nodes > NAMES_MOST)
		dfg_text_add(out_text, " -> ... (%u nodes)", nodes);
	return dfg_text_check(out_text);
}
