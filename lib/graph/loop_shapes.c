#include "lib/graph/loop_shapes.h"

enum { ROUNDS_MOST = 12, FEW = 16 };

struct loop_inference {
	struct dfg_builder *builder;
	const struct dfg_loops *loops;
	struct dfg_arena *scratch;
	const struct dfg_inferred **before; /* by tensor: the facts before this pass */
	struct dfg_shape *assumed;          /* by node: the assumed shape of a loop variable's Merge */
	bool *open;                         /* by node: a loop variable's Merge of unknown rank */
};

static const struct dfg_inferred **fact_at(const struct loop_inference *t, uint32_t node, int port)
{
	return &t->builder->facts.fact[t->builder->facts.first[node] + (uint32_t)port];
}

/* The dims that either shape knows; if the ranks differ, the shape known before. */
static struct dfg_shape both(const struct dfg_shape *before, const struct dfg_shape *now)
{
	struct dfg_shape shape = before->rank == DFG_UNKNOWN ? *now : *before;
	for (int d = 0; d < shape.rank && shape.rank == now->rank; d++)
		if (shape.dim[d] == DFG_UNKNOWN)
			shape.dim[d] = now->dim[d];
	return shape;
}

static struct dfg_err *learn(struct loop_inference *t, const struct dfg_inferred **fact, const struct dfg_shape *shape)
{
	if (dfg_shape_equal(&(*fact)->shape, shape))
		return NULL;
	struct dfg_inferred *known = dfg_arena_zeros(t->builder->facts.arena, 1, sizeof *known);
	if (!known)
		return dfg_no_memory("shapes");
	*known = **fact;
	known->shape = *shape;
	*fact = known;
	return NULL;
}

/*
 * Whether it is the Merge of a loop that is being built: until the NextIteration exists, its second input is a copy of
 * the first.
 */
static bool is_unfinished(const struct dfg_node *node)
{
	return dfg_node_role(node) == DFG_MERGE && node->n_in == 2 && node->in[0].node == node->in[1].node &&
		   node->in[0].port == node->in[1].port;
}

/* Infers a node again. If a body does not fit the assumed shapes, its outputs keep the facts known before. */
static struct dfg_err *infer(struct loop_inference *t, uint32_t n)
{
	const struct dfg_node *node = &t->builder->graph->node[n];
	struct dfg_facts *facts = &t->builder->facts;
	uint32_t outputs = dfg_facts_outputs(facts, n);
	const struct dfg_inferred *few[FEW], **in = few;
	struct dfg_resolved_node call;
	if (!outputs || !node->op || is_unfinished(node))
		return NULL;
	if (node->n_in > FEW && !(in = dfg_arena_zeros(t->scratch, node->n_in, sizeof(void *))))
		return dfg_no_memory("shapes");
	for (uint32_t i = 0; i < node->n_in; i++)
		in[i] = *fact_at(t, node->in[i].node, node->in[i].port);
	DFG_TRY(dfg_facts_resolve(facts, t->builder->graph, n, t->scratch, &call));
	struct dfg_err *err = dfg_facts_infer(facts, &call, in, fact_at(t, n, 0));
	if (err && err->code == DFG_MEMORY)
		return err;
	for (uint32_t p = 0; p < outputs; p++) {
		const struct dfg_inferred **fact = fact_at(t, n, (int)p), *before = t->before[facts->first[n] + p];
		if (err)
			*fact = before;
		struct dfg_shape shape = both(&before->shape, &(*fact)->shape);
		DFG_TRY(learn(t, fact, &shape));
	}
	dfg_err_free(err);
	return NULL;
}

static struct dfg_err *walk(struct loop_inference *t, const uint32_t *order)
{
	for (uint32_t i = 0; i < t->builder->graph->count; i++) {
		uint32_t n = order[i];
		if (t->open[n])
			DFG_TRY(learn(t, fact_at(t, n, 0), &t->assumed[n]));
		else if (t->loops->variable[n] == DFG_NONE)
			DFG_TRY(infer(t, n));
	}
	return NULL;
}

/* Forgets the dims in which the next value differs from the assumption; returns whether there are any. */
static bool give_up(struct dfg_shape *assumed, const struct dfg_shape *next, int round)
{
	bool more = false;
	if (assumed->rank == DFG_UNKNOWN)
		return false;
	if (next->rank != assumed->rank || round == ROUNDS_MOST) {
		assumed->rank = DFG_UNKNOWN;
		return true;
	}
	for (int d = 0; d < assumed->rank; d++)
		if (assumed->dim[d] != DFG_UNKNOWN && assumed->dim[d] != next->dim[d]) {
			assumed->dim[d] = DFG_UNKNOWN;
			more = true;
		}
	return more;
}

/*
 * Assumes that each loop variable of unknown rank keeps the shape of its Enter, which comes before its Merge in the
 * order.
 */
static struct dfg_err *assume(struct loop_inference *t, const uint32_t *order)
{
	for (uint32_t i = 0; i < t->builder->graph->count; i++) {
		uint32_t n = order[i];
		if (t->loops->variable[n] == DFG_NONE) {
			DFG_TRY(infer(t, n));
			continue;
		}
		const struct dfg_loop_variable *v = &t->loops->loop[t->loops->of[n]].variable[t->loops->variable[n]];
		t->open[n] = (*fact_at(t, n, 0))->shape.rank == DFG_UNKNOWN && v->enter != DFG_NONE;
		if (!t->open[n])
			continue;
		t->assumed[n] = (*fact_at(t, v->enter, 0))->shape;
		DFG_TRY(learn(t, fact_at(t, n, 0), &t->assumed[n]));
	}
	return NULL;
}

static bool compare(struct loop_inference *t, int round)
{
	bool more = false;
	for (uint32_t l = 1; l < t->loops->count; l++)
		for (uint32_t i = 0; i < t->loops->loop[l].n_variable; i++) {
			const struct dfg_loop_variable *v = &t->loops->loop[l].variable[i];
			if (!t->open[v->merge])
				continue;
			more |= give_up(&t->assumed[v->merge], &(*fact_at(t, v->enter, 0))->shape, round);
			more |= give_up(&t->assumed[v->merge], &(*fact_at(t, v->next, 0))->shape, round);
		}
	return more;
}

struct dfg_err *dfg_loop_shapes(
	struct dfg_builder *builder, const struct dfg_loops *loops, const uint32_t *order, struct dfg_arena *scratch)
{
	uint32_t count = builder->graph->count;
	struct loop_inference t = {.builder = builder, .loops = loops, .scratch = scratch};
	if (loops->count == 1)
		return NULL;
	t.before = dfg_arena_zeros(scratch, builder->facts.count + 1, sizeof(void *));
	t.assumed = dfg_arena_zeros(scratch, (size_t)count + 1, sizeof *t.assumed);
	t.open = dfg_arena_zeros(scratch, (size_t)count + 1, sizeof *t.open);
	if (!t.before || !t.assumed || !t.open)
		return DFG_ERR(DFG_MEMORY, "no memory for the shapes of %u nodes", count);
	for (size_t i = 0; i < builder->facts.count; i++)
		t.before[i] = builder->facts.fact[i];
	DFG_TRY(assume(&t, order));
	for (int round = 0; compare(&t, round); round++)
		DFG_TRY(walk(&t, order));
	return NULL;
}
