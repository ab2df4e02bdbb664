#include "lib/pass/rewrite/renumber.h"

#include <string.h>

struct dfg_err *dfg_renumber(struct dfg_graph *graph, const uint32_t *order, uint32_t count, uint32_t *number,
	struct dfg_keep *keep, struct dfg_arena *scratch)
{
	struct dfg_map names = {0};
	struct dfg_node *node = dfg_arena_zeros(scratch, (size_t)count + 1, sizeof *node);
	if (!node)
		return DFG_ERR(DFG_MEMORY, "no memory to renumber %u nodes", count);
	for (uint32_t i = 0; i < count; i++) {
		node[i] = graph->node[order[i]];
		if (!dfg_map_put(&names, node[i].name, strlen(node[i].name), &number[order[i]], NULL)) {
			dfg_map_release(&names);
			return DFG_ERR(DFG_MEMORY, "no memory for the names of %u nodes", count);
		}
	}
	dfg_map_release(&graph->names);
	graph->names = names;
	graph->count = count;
	if (count)
		memcpy(graph->node, node, count * sizeof *node);
	for (uint32_t n = 0; n < count; n++)
		for (uint32_t e = 0; e < graph->node[n].n_in + graph->node[n].n_control; e++)
			graph->node[n].in[e].node = number[graph->node[n].in[e].node];
	if (keep)
		dfg_keep_renumber(keep, number);
	return NULL;
}
