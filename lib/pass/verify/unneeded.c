/* unneeded. Requires: edges that name nodes. Result: the nodes that no output of the graph depends on. */
#include "lib/pass/verify/unneeded.h"

#include <string.h>

struct search {
	const struct dfg_graph *graph;
	bool *unneeded;
	uint32_t *stack, depth;
};

/*
 * Whether the node is an op of TensorFlow's Saver or summaries, recognised by parts of its name: SaveV2, MergeSummary,
 * ...
 */
static bool keeps_record(const struct dfg_node *node)
{
	static const char *const parts[] = {"Save", "Restore", "Summary", "MergeV2Checkpoints", "ShardedFile"};
	bool found = false;
	for (size_t i = 0; i < sizeof parts / sizeof *parts && !found; i++)
		found = strstr(node->op_name, parts[i]);
	return found && strncmp(node->op_name, "Dfg>", 4) != 0;
}

static void need(struct search *s, uint32_t n)
{
	if (!s->unneeded[n])
		return;
	s->unneeded[n] = false;
	s->stack[s->depth++] = n;
}

/* Marks the declared outputs or, if there are none, every node without readers, as needed. */
static void need_ends(struct search *s, const bool *is_read, bool declared)
{
	for (uint32_t n = 0; n < s->graph->count; n++) {
		const struct dfg_node *node = &s->graph->node[n];
		bool is_end = declared ? dfg_node_mark(node, "_dfg_output", NULL) : !is_read[n] && !keeps_record(node);
		if (is_end)
			need(s, n);
	}
}

struct dfg_err *dfg_unneeded_find(const struct dfg_graph *graph, struct dfg_arena *arena, const bool **out_unneeded)
{
	size_t count = (size_t)graph->count + 1;
	bool declared = false, *is_read = dfg_arena_zeros(arena, count, sizeof *is_read);
	struct search s = {.graph = graph,
		.unneeded = dfg_arena_zeros(arena, count, sizeof *s.unneeded),
		.stack = dfg_arena_zeros(arena, count, sizeof *s.stack)};
	if (!is_read || !s.unneeded || !s.stack)
		return dfg_no_memory("unneeded nodes");
	for (uint32_t n = 0; n < graph->count; n++) {
		const struct dfg_node *node = &graph->node[n];
		s.unneeded[n] = true;
		declared |= dfg_node_mark(node, "_dfg_output", NULL);
		for (uint32_t e = 0; e < node->n_in + node->n_control; e++)
			is_read[node->in[e].node] = true;
	}
	need_ends(&s, is_read, declared);
	while (s.depth) {
		const struct dfg_node *node = &graph->node[s.stack[--s.depth]];
		for (uint32_t e = 0; e < node->n_in + node->n_control; e++)
			if (declared || !keeps_record(&graph->node[node->in[e].node]))
				need(&s, node->in[e].node);
	}
	*out_unneeded = s.unneeded;
	return NULL;
}
