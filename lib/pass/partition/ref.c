#include "lib/pass/partition/partition_private.h"

/*
 * A reference, or an Identity of one, is read when its reader runs, which may wait for updates. So each reader on
 * another device has its own reading on the variable's device: an Identity that waits for everything the reader waits
 * for.
 */
enum { HOPS_MOST = 16 };

bool dfg_cut_is_ref(const struct cut *c, struct dfg_edge edge)
{
	return c->has_refs && edge.node < c->graph->count && edge.port != DFG_CONTROL &&
		   (uint32_t)edge.port < dfg_facts_outputs(c->facts, edge.node) && dfg_facts_of(c->facts, edge)->is_ref;
}

struct dfg_edge dfg_cut_variable(const struct cut *c, struct dfg_edge edge)
{
	struct dfg_edge from = edge;
	if (edge.port == DFG_CONTROL)
		return edge;
	for (int i = 0; i < HOPS_MOST && from.node < c->graph->count && !dfg_cut_is_ref(c, from); i++) {
		const struct dfg_node *node = &c->graph->node[from.node];
		if (dfg_node_role(node) != DFG_IDENTITY || node->n_in != 1)
			return edge;
		from = node->in[0];
	}
	return dfg_cut_is_ref(c, from) ? from : edge;
}

struct dfg_err *dfg_cut_reading(struct cut *c, uint32_t reader, struct dfg_edge edge, struct dfg_edge *out_edge)
{
	const struct dfg_node *to = cut_node(c, reader);
	uint32_t count = to->n_in + to->n_control;
	struct dfg_attr *type = dfg_arena_zeros(c->arena, 1, sizeof *type);
	struct dfg_edge *in = dfg_arena_zeros(c->arena, (size_t)count + 1, sizeof *in);
	struct dfg_node node = {.op_name = "Identity", .in = in, .n_in = 1, .attr = type, .n_attr = 1};
	out_edge->port = 0;
	if (!type || !in || !(node.name = dfg_arena_print(c->arena, "_dfg/read/%u", c->readings++)))
		return dfg_no_memory("the reads of a variable");
	*type = (struct dfg_attr){"T", DFG_ATTR_DTYPE, {.dtype = dfg_facts_of(c->facts, edge)->dtype}};
	in[0] = edge;
	for (uint32_t e = 0; e < count && dfg_node_role(to) != DFG_MERGE; e++)
		if (to->in[e].node != edge.node && to->in[e].node < c->graph->count)
			in[node.n_in + node.n_control++] = (struct dfg_edge){to->in[e].node, DFG_CONTROL};
	return dfg_cut_add(c, &node, cut_device(c, edge.node), &out_edge->node);
}
