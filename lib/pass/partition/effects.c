#include "lib/pass/partition/partition_private.h"

/*
 * Finds loop variables that order side effects. A node that waits for a loop variable waits for all that precedes it,
 * for example "the variable was written in the previous iteration", whereas a device's own pivot follows only the
 * predicate.
 */
struct walk {
	const struct cut *c;
	uint32_t *stack, *seen, depth, visit;
};

static bool has_state(const struct dfg_node *node)
{
	switch (dfg_node_role(node)) {
	case DFG_VARIABLE:
	case DFG_SAVE: /* a Load already waits for its Save */
	case DFG_LOAD:
		return false;
	default:
		return node->op && node->op->flags & DFG_STATEFUL;
	}
}

static void reach(struct walk *w, uint32_t n)
{
	if (w->seen[n] == w->visit)
		return;
	w->seen[n] = w->visit;
	w->stack[w->depth++] = n;
}

/*
 * Expands all nodes reached; returns whether one of them has a state. For a predicate, loop variables are not expanded:
 * each device computes the predicate itself.
 */
static bool look_back(struct walk *w, bool of_predicate)
{
	bool found = false;
	while (w->depth) {
		const struct dfg_node *node = &w->c->graph->node[w->stack[--w->depth]];
		found |= has_state(node);
		for (uint32_t e = 0; e < node->n_in + node->n_control; e++)
			if (e < node->n_in || !of_predicate || dfg_cut_variable_behind(w->c, node->in[e].node) == DFG_NONE)
				reach(w, node->in[e].node);
	}
	return found;
}

static void find(struct walk *w, uint32_t merge, bool *out_orders)
{
	w->visit++;
	reach(w, w->c->loops.loop[w->c->loops.of[merge]].condition);
	look_back(w, true);
	reach(w, merge);
	*out_orders = look_back(w, false);
}

static bool is_written(const struct dfg_graph *graph)
{
	for (uint32_t n = 0; n < graph->count; n++)
		if (has_state(&graph->node[n]) && dfg_node_role(&graph->node[n]) != DFG_READ)
			return true;
	return false;
}

struct dfg_err *dfg_cut_order(struct cut *c)
{
	size_t nodes = (size_t)c->graph->count + 1;
	struct walk w = {.c = c, .stack = dfg_arena_zeros(&c->scratch, nodes, sizeof *w.stack)};
	w.seen = dfg_arena_zeros(&c->scratch, nodes, sizeof *w.seen);
	bool *is_known = dfg_arena_zeros(&c->scratch, nodes, sizeof *is_known);
	c->orders = dfg_arena_zeros(&c->scratch, nodes, sizeof *c->orders);
	if (!w.stack || !w.seen || !is_known || !c->orders)
		return DFG_ERR(DFG_MEMORY, "no memory to partition %u nodes", c->graph->count);
	if (!is_written(c->graph))
		return NULL;
	for (uint32_t n = 0; n < c->graph->count; n++) {
		const struct dfg_node *node = &c->graph->node[n];
		for (uint32_t e = node->n_in; e < node->n_in + node->n_control; e++) {
			uint32_t merge = dfg_cut_variable_behind(c, node->in[e].node);
			if (merge == DFG_NONE || is_known[merge])
				continue;
			is_known[merge] = true;
			find(&w, merge, &c->orders[merge]);
		}
	}
	return NULL;
}
