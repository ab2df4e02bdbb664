#include "lib/pass/replicate/replicate_private.h"

#include <stdio.h>

/* The op that draws for the rows of a shard; NULL: the node's op has none. */
static const struct dfg_op *sharded_op(const struct dfg_node *node)
{
	char name[200];
	if (!node->op || node->op->flags & DFG_STATEFUL)
		return NULL;
	snprintf(name, sizeof name, "Dfg>Shard%.150s", node->op->name);
	return dfg_op_find(name);
}

/* With a batch of fixed size the shape is known; the numbers are of its rows if a local tensor has as many. */
static bool has_fixed_rows(const struct replicate *r, uint32_t n, int depth)
{
	const struct dfg_graph *graph = r->builder->graph;
	const struct dfg_shape *shape = &dfg_facts_of(&r->builder->facts, (struct dfg_edge){n, 0})->shape;
	if (r->local.batch <= 0 || shape->rank < 1 || shape->dim[0] <= 0 || shape->dim[0] % r->local.batch)
		return false;
	for (uint32_t reader = 0; reader < graph->count; reader++) {
		const struct dfg_node *node = &graph->node[reader];
		bool reads = false, local = false;
		for (uint32_t e = 0; e < node->n_in; e++) {
			reads |= node->in[e].node == n;
			local |= dfg_local_is(&r->local, node->in[e]);
		}
		if (reads && (local || (depth && node->n_in == 2 && has_fixed_rows(r, reader, depth - 1))))
			return true;
	}
	return false;
}

struct dfg_err *dfg_replicate_random(struct replicate *r)
{
	enum { READERS = 4 };
	struct dfg_graph *graph = r->builder->graph;
	for (uint32_t n = 0; n < graph->count; n++) {
		const struct dfg_op *op = sharded_op(&graph->node[n]);
		if (!op || !r->needed[n] || dfg_facts_outputs(&r->builder->facts, n) != 1)
			continue;
		const struct dfg_shape *shape = &dfg_facts_of(&r->builder->facts, (struct dfg_edge){n, 0})->shape;
		bool local = dfg_local_is(&r->local, (struct dfg_edge){n, 0}), fixed = !local && has_fixed_rows(r, n, READERS);
		if (!local && !fixed)
			continue;
		bool by_rows = fixed || shape->rank < 0 || (shape->rank > 0 && shape->dim[0] == DFG_UNKNOWN);
		graph->node[n].op = op;
		graph->node[n].op_name = op->name;
		DFG_TRY(dfg_node_set_attr(graph, n, "by_rows", DFG_ATTR_BOOL, (union dfg_value){.b = by_rows}));
		if (fixed) /* nothing else tells that it differs from shard to shard */
			DFG_TRY(dfg_node_set_attr(graph, n, "_dfg_shard", DFG_ATTR_INT, (union dfg_value){.i = 1}));
	}
	return NULL;
}
