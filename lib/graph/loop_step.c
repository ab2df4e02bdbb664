#include "lib/graph/loop_step.h"

#include "lib/graph/liveness.h"

bool dfg_scalar_is(const struct dfg_facts *facts, struct dfg_edge edge, int64_t value)
{
	const struct dfg_known_value *known = dfg_facts_of(facts, edge)->known;
	return known && known->rank == 0 && known->v[0] == value;
}

bool dfg_comes_from_merge(const struct dfg_graph *graph, struct dfg_edge edge, uint32_t merge)
{
	edge = dfg_live_source(graph, edge);
	return edge.node == merge && edge.port == 0;
}

int dfg_loop_step(
	const struct dfg_graph *graph, const struct dfg_facts *facts, const struct dfg_loop_variable *variable)
{
	const struct dfg_node *node = &graph->node[dfg_live_source(graph, graph->node[variable->next].in[0]).node];
	bool adds = dfg_node_means(node, DFG_MEANS_SUM), subtracts = dfg_node_means(node, DFG_MEANS_DIFFERENCE);
	if (node->n_in != 2 || (!adds && !subtracts))
		return 0;
	int sign = subtracts ? -1 : 1;
	for (int i = 0; i < 1 + adds; i++)
		if (dfg_comes_from_merge(graph, node->in[i], variable->merge))
			return dfg_scalar_is(facts, node->in[1 - i], sign)    ? 1
				   : dfg_scalar_is(facts, node->in[1 - i], -sign) ? -1
																  : 0;
	return 0;
}
