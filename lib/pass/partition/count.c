#include "lib/pass/partition/partition_private.h"

#include "lib/pass/verify/predicate.h"

/*
 * A predicate depends on its predecessors within its loop, up to Enters and NextIterations. If these are scalar
 * integers and a few arithmetic ops, each device computes them itself: the inputs of the loop cross once, and the
 * predicate never.
 */
enum { NODES_MOST = 64, CROSSINGS_MOST = 3 };

struct making {
	const struct cut *c;
	uint32_t loop;
	uint32_t node[NODES_MOST], count;
	int crossings;
};

static bool is_integer(const struct dfg_inferred *fact)
{
	return fact->dtype == DFG_BOOL || (fact->dtype && dfg_dtype_is(fact->dtype, "int"));
}

static bool is_elementwise(const struct dfg_op *op)
{
	return op->row && !op->guard && !(op->flags & DFG_STATEFUL);
}

/*
 * Whether an input of the loop is a scalar, and so all that is computed from it element by element. The enclosing loop
 * may be counted too.
 */
static bool enters(struct making *m, const struct dfg_node *node)
{
	uint32_t from = node->in[0].node;
	m->crossings += !m->c->is_copied[from] && !dfg_cut_is_constant(m->c, from);
	bool is_scalar = m->c->is_copied[from] || dfg_facts_of(m->c->facts, node->in[0])->shape.rank == 0;
	return is_scalar && m->crossings <= CROSSINGS_MOST;
}

static bool can_be_made(struct making *m, uint32_t n)
{
	const struct cut *c = m->c;
	const struct dfg_node *node = &c->graph->node[n];
	if (c->loops.of[n] != m->loop)
		return false;
	for (uint32_t i = 0; i < dfg_facts_outputs(c->facts, n); i++)
		if (!is_integer(dfg_facts_of(c->facts, (struct dfg_edge){n, (int32_t)i})))
			return false;
	for (uint32_t e = node->n_in; e < node->n_in + node->n_control; e++)
		if (!dfg_cut_pivot_of(c, node->in[e].node))
			return false;
	switch (dfg_node_role(node)) {
	case DFG_ENTER:
		return enters(m, node);
	case DFG_MERGE:
		return c->loops.variable[n] != DFG_NONE;
	case DFG_SWITCH:
		return node->in[1].node == c->loops.loop[m->loop].condition;
	case DFG_CONST:
		return dfg_facts_of(c->facts, (struct dfg_edge){n, 0})->shape.rank == 0;
	case DFG_IDENTITY:
	case DFG_NEXT_ITERATION:
	case DFG_LOOP_COND:
		return true;
	case DFG_PLAIN:
		return is_elementwise(node->op);
	default:
		return false;
	}
}

static bool add_node(struct making *m, uint32_t n)
{
	for (uint32_t i = 0; i < m->count; i++)
		if (m->node[i] == n)
			return true;
	if (m->count == NODES_MOST || !can_be_made(m, n))
		return false;
	m->node[m->count++] = n;
	return true;
}

void dfg_cut_count(struct cut *c, uint32_t loop)
{
	struct making m = {.c = c, .loop = loop};
	if (!add_node(&m, c->loops.loop[loop].condition))
		return;
	for (uint32_t i = 0; i < m.count; i++) {
		const struct dfg_node *node = &c->graph->node[m.node[i]];
		for (uint32_t e = 0; e < node->n_in && dfg_node_role(node) != DFG_ENTER; e++)
			if (!add_node(&m, node->in[e].node))
				return;
	}
	for (uint32_t i = 0; i < m.count; i++)
		c->is_copied[m.node[i]] = true;
}
