#include "lib/graph/loops.h"

/* The consumers of all nodes in one array: those of node n are consumer[first[n]..first[n + 1]). */
struct consumers {
	uint32_t *first, *consumer;
};

static struct dfg_err *count_consumers(
	const struct dfg_graph *graph, struct dfg_arena *scratch, uint32_t *pending, struct consumers *out)
{
	size_t edges = 0;
	if (!(out->first = dfg_arena_zeros(scratch, (size_t)graph->count + 2, sizeof *out->first)))
		return DFG_ERR(DFG_MEMORY, "no memory to sort %u nodes", graph->count);
	for (uint32_t n = 0; n < graph->count; n++) {
		const struct dfg_node *node = &graph->node[n];
		for (uint32_t e = 0; e < node->n_in + node->n_control; e++)
			if (!dfg_edge_closes(graph, node, node->in[e])) {
				out->first[node->in[e].node + 2]++;
				pending[n]++;
				edges++;
			}
	}
	for (uint32_t n = 0; n < graph->count; n++)
		out->first[n + 2] += out->first[n + 1];
	if (!(out->consumer = dfg_arena_zeros(scratch, edges + 1, sizeof *out->consumer)))
		return DFG_ERR(DFG_MEMORY, "no memory to sort %zu edges", edges);
	for (uint32_t n = 0; n < graph->count; n++) {
		const struct dfg_node *node = &graph->node[n];
		for (uint32_t e = 0; e < node->n_in + node->n_control; e++)
			if (!dfg_edge_closes(graph, node, node->in[e]))
				out->consumer[out->first[node->in[e].node + 1]++] = n;
	}
	return NULL;
}

/* The order array is also the queue: the consumers of nodes before `next` are counted down. */
struct dfg_err *dfg_graph_order(
	const struct dfg_graph *graph, struct dfg_arena *scratch, uint32_t *order, uint32_t *out_count)
{
	struct consumers consumers;
	uint32_t *pending = dfg_arena_zeros(scratch, graph->count, sizeof *pending), count = 0;
	if (!pending)
		return DFG_ERR(DFG_MEMORY, "no memory to sort %u nodes", graph->count);
	DFG_TRY(count_consumers(graph, scratch, pending, &consumers));
	for (uint32_t n = 0; n < graph->count; n++)
		if (!pending[n])
			order[count++] = n;
	for (uint32_t next = 0; next < count; next++)
		for (uint32_t c = consumers.first[order[next]]; c < consumers.first[order[next] + 1]; c++)
			if (!--pending[consumers.consumer[c]])
				order[count++] = consumers.consumer[c];
	*out_count = count;
	return NULL;
}
