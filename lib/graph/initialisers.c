/* initial. Backwards from the Assigns that set variables at first. */
#include "lib/graph/initialisers.h"

enum { UNREAD = UINT32_MAX - 2 }; /* so far */

static bool sets_at_first(const struct dfg_node *node)
{
	return node->n_in && node->op && node->op->role == DFG_ASSIGN && dfg_node_mark(node, "_dfg_init", NULL);
}

/* What both say together. */
static uint32_t both(uint32_t a, uint32_t b)
{
	if (a == UNREAD || a == b)
		return b;
	return a == DFG_NONE || b == DFG_NONE ? DFG_NONE : (uint32_t)DFG_INITIAL_MANY;
}

/* A node that nothing reads is part of a step, unless it is there to wait for what is none. */
static bool waits_for_initial(const struct dfg_graph *graph, uint32_t n)
{
	const struct dfg_node *node = &graph->node[n];
	bool all = node->n_control && !node->n_in;
	for (uint32_t e = 0; e < node->n_control && all; e++)
		all = sets_at_first(&graph->node[node->in[e].node]);
	return all;
}

struct dfg_err *dfg_initialiser_nodes(
	const struct dfg_graph *graph, const uint32_t *order, struct dfg_arena *arena, uint32_t **out_initial)
{
	uint32_t *initial = dfg_arena_zeros(arena, (size_t)graph->count + 1, sizeof *initial);
	if (!initial)
		return DFG_ERR(DFG_MEMORY, "no memory for %u nodes", graph->count);
	for (uint32_t n = 0; n < graph->count; n++)
		initial[n] = UNREAD;
	for (uint32_t i = graph->count; i; i--) {
		uint32_t n = order ? order[i - 1] : i - 1;
		const struct dfg_node *node = &graph->node[n];
		if (sets_at_first(node))
			initial[n] = n;
		else if (initial[n] == UNREAD)
			initial[n] = waits_for_initial(graph, n) ? (uint32_t)DFG_INITIAL_MANY : (uint32_t)DFG_NONE;
		/* The variable that is set is part of a step. */
		for (uint32_t e = 0; e < node->n_in + node->n_control; e++) {
			uint32_t from = node->in[e].node;
			initial[from] = both(initial[from], !e && initial[n] == n ? (uint32_t)DFG_NONE : initial[n]);
		}
	}
	*out_initial = initial;
	return NULL;
}
