/* initialisers. Backwards from the Assigns that initialise variables. */
#include "lib/graph/initialisers.h"

enum { UNREAD = UINT32_MAX - 2 }; /* a node without readers so far */

/* The result for a node with these two kinds of reader. */
static uint32_t both(uint32_t a, uint32_t b)
{
	if (a == UNREAD || a == b)
		return b;
	return a == DFG_NONE || b == DFG_NONE ? DFG_NONE : (uint32_t)DFG_INITIAL_MANY;
}

/* Whether the node only waits for initialisers, as a group does; other nodes without readers are part of a step. */
static bool waits_for_initial(const struct dfg_graph *graph, const bool *sets, uint32_t n)
{
	const struct dfg_node *node = &graph->node[n];
	bool all = node->n_control && !node->n_in;
	for (uint32_t e = 0; e < node->n_control && all; e++)
		all = sets[node->in[e].node];
	return all;
}

/*
 * The initialiser that a node is or belongs to; `readers` is that of all its readers. A guessed Assign that a step
 * reads is not an initialiser.
 */
static uint32_t served(const struct dfg_graph *graph, const bool *sets, uint32_t n, uint32_t readers)
{
	if (sets[n] && (readers != DFG_NONE || !dfg_initialiser_guessed(graph, n)))
		return n;
	if (readers == UNREAD)
		return waits_for_initial(graph, sets, n) ? (uint32_t)DFG_INITIAL_MANY : (uint32_t)DFG_NONE;
	return readers;
}

/* By node: whether it is the initialiser of a variable. */
static struct dfg_err *find_sets(const struct dfg_graph *graph, struct dfg_arena *arena, bool **out_sets)
{
	uint32_t *assign;
	DFG_TRY(dfg_initialisers_find(graph, arena, &assign));
	*out_sets = dfg_arena_zeros(arena, (size_t)graph->count + 1, sizeof **out_sets);
	for (uint32_t n = 0; n < graph->count && *out_sets; n++)
		if (assign[n] != DFG_NONE)
			(*out_sets)[assign[n]] = true;
	return *out_sets ? NULL : dfg_no_memory("initialisers");
}

struct dfg_err *dfg_initialiser_nodes(
	const struct dfg_graph *graph, const uint32_t *order, struct dfg_arena *arena, uint32_t **out_initial)
{
	bool *sets;
	uint32_t *initial = dfg_arena_zeros(arena, (size_t)graph->count + 1, sizeof *initial);
	if (!initial)
		return dfg_no_memory("initialisers");
	DFG_TRY(find_sets(graph, arena, &sets));
	for (uint32_t n = 0; n < graph->count; n++)
		initial[n] = UNREAD;
	for (uint32_t i = graph->count; i; i--) {
		uint32_t n = order ? order[i - 1] : i - 1;
		const struct dfg_node *node = &graph->node[n];
		initial[n] = served(graph, sets, n, initial[n]);
		/* the variable that an Assign sets is part of a step */
		for (uint32_t e = 0; e < node->n_in + node->n_control; e++) {
			uint32_t from = node->in[e].node;
			initial[from] = both(initial[from], !e && initial[n] == n ? (uint32_t)DFG_NONE : initial[n]);
		}
	}
	*out_initial = initial;
	return NULL;
}
