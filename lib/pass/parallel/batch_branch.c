#include "lib/pass/parallel/batch_private.h"

/*
 * Branches. Where the iteration decides, both arms are computed for all iterations, and the Merge becomes a selection: the
 * arms' ops must have no effect and no error of their own. Otherwise the iterations of a slice take the branch together.
 */

/* A slice whose bounds are known: that it is within its tensor has been checked. */
static bool is_known_slice(const struct dfg_batch *b, const struct dfg_node *node)
{
	return dfg_node_means(node, DFG_MEANS_SLICE) && dfg_shape_known(&dfg_batch_fact(b, node->in[0])->shape) &&
		   dfg_known_whole(dfg_batch_fact(b, node->in[1])->known) &&
		   dfg_known_whole(dfg_batch_fact(b, node->in[2])->known);
}

/* Whether the node has a result for all values of its operands, whose shapes are known to fit, and does nothing else. */
static bool is_total(const struct dfg_batch *b, uint32_t n)
{
	const struct dfg_node *node = &b->builder->graph->node[n];
	enum dfg_role role = dfg_node_role(node);
	if (!node->op || node->op->flags & (DFG_STATEFUL | DFG_READS | DFG_WRITES) || node->op->guard)
		return false;
	if (role == DFG_IDENTITY || role == DFG_CONST || role == DFG_SWITCH || role == DFG_MERGE)
		return true;
	bool fits = dfg_shape_known(&dfg_batch_fact(b, (struct dfg_edge){n, 0})->shape);
	bool is_any = node->op->row || node->op->reducer || node->op->flags & DFG_VIEW;
	return fits && (is_any || dfg_node_means(node, DFG_MEANS_PACKED) || is_known_slice(b, node));
}

/* Whether one of the conditions is decided by a tensor that varies. */
static bool depends(const struct dfg_batch *b, uint32_t set)
{
	uint32_t count;
	const uint32_t *condition = dfg_live_conditions(b->liveness, set, &count);
	for (uint32_t i = 0; i < count; i++)
		if (dfg_batch_of(b, b->liveness->condition[condition[i]].predicate).varies)
			return true;
	return false;
}

struct dfg_err *dfg_batch_check_branch(const struct dfg_batch *b, uint32_t n)
{
	const struct dfg_node *node = &b->builder->graph->node[n];
	uint32_t set;
	if (is_total(b, n))
		return NULL;
	DFG_TRY(dfg_live_inputs(b->liveness, node, &set));
	return depends(b, set) ? dfg_batch_refuse(b, n, "it is in a branch that depends on the iteration") : NULL;
}

struct dfg_err *dfg_batch_is_selection(const struct dfg_batch *b, uint32_t n, bool *out_selects)
{
	const struct dfg_node *node = &b->builder->graph->node[n];
	uint32_t set;
	*out_selects = false;
	for (uint32_t e = 0; dfg_node_role(node) == DFG_MERGE && e < node->n_in; e++) {
		DFG_TRY(dfg_live_of(b->liveness, node->in[e], &set));
		*out_selects |= depends(b, set);
	}
	return NULL;
}

struct dfg_err *dfg_batch_switch(struct dfg_batch *b, uint32_t n)
{
	const struct dfg_node node = b->builder->graph->node[n];
	struct dfg_batched data = dfg_batch_of(b, node.in[0]);
	const struct dfg_edge in[2] = {data.edge, dfg_batch_of(b, node.in[1]).edge};
	if (!dfg_batch_of(b, node.in[1]).varies)
		return dfg_batch_copy(b, n, in, data.varies);
	dfg_batch_set(b, n, data.edge, data.varies);
	b->of[b->builder->facts.first[n] + 1] = data;
	return NULL;
}

/* The condition of an input of a Merge that the Merge itself does not have; *out_condition is DFG_NONE if there are several. */
static struct dfg_err *side_of(const struct dfg_batch *b, uint32_t n, uint32_t e, uint32_t *out_condition)
{
	const struct dfg_edge result = {n, 0};
	uint32_t set, all, count, others;
	DFG_TRY(dfg_live_of(b->liveness, b->builder->graph->node[n].in[e], &set));
	DFG_TRY(dfg_live_of(b->liveness, result, &all));
	const uint32_t *condition = dfg_live_conditions(b->liveness, set, &count);
	const uint32_t *other = dfg_live_conditions(b->liveness, all, &others);
	*out_condition = DFG_NONE;
	for (uint32_t i = 0; i < count; i++) {
		bool has = false;
		for (uint32_t k = 0; k < others; k++)
			has |= other[k] == condition[i];
		if (!has && *out_condition != DFG_NONE) {
			*out_condition = DFG_NONE;
			return NULL;
		}
		*out_condition = has ? *out_condition : condition[i];
	}
	return NULL;
}

/* Axes of 1 for the operands of a selection, which broadcast. */
static struct dfg_err *select_value(
	struct dfg_batch *b, uint32_t n, struct dfg_edge predicate, struct dfg_edge yes, struct dfg_edge no)
{
	struct dfg_edge in[3] = {dfg_batch_of(b, predicate).edge};
	int rank;
	DFG_TRY(dfg_batch_rank(b, n, yes, &rank));
	if (dfg_batch_fact(b, no)->shape.rank != rank)
		return dfg_batch_refuse(b, n, "its arms have values of different ranks");
	DFG_TRY(dfg_batch_expand(b, n, in[0], rank, &in[0]));
	DFG_TRY(dfg_batch_repeat(b, n, yes, &in[1]));
	DFG_TRY(dfg_batch_repeat(b, n, no, &in[2]));
	return dfg_batch_replace(b, n, "SelectV2", in, 3, NULL, 0, true);
}

static bool reads_number(const struct dfg_batch *b, uint32_t merge)
{
	const struct dfg_graph *graph = b->builder->graph;
	for (uint32_t n = 0; n < b->n_old; n++)
		for (uint32_t e = 0; e < graph->node[n].n_in; e++)
			if (graph->node[n].in[e].node == merge && graph->node[n].in[e].port == 1)
				return true;
	return false;
}

struct dfg_err *dfg_batch_merge(struct dfg_batch *b, uint32_t n)
{
	const struct dfg_node node = b->builder->graph->node[n];
	uint32_t side[2];
	if (node.n_in != 2 || reads_number(b, n))
		return dfg_batch_refuse(b, n, "a branch with more than two arms depends on the iteration");
	for (uint32_t e = 0; e < 2; e++) {
		DFG_TRY(side_of(b, n, e, &side[e]));
		if (side[e] == DFG_NONE)
			return dfg_batch_refuse(b, n, "its inputs are not the arms of one condition");
	}
	const struct dfg_condition *first = &b->liveness->condition[side[0]], *second = &b->liveness->condition[side[1]];
	if (!dfg_edge_same(first->predicate, second->predicate) || first->sides != 2 || first->side == second->side)
		return dfg_batch_refuse(b, n, "its inputs are not the arms of one condition");
	if (dfg_batch_of(b, first->predicate).varies)
		return select_value(b, n, first->predicate, node.in[first->side ? 0 : 1], node.in[first->side ? 1 : 0]);
	const struct dfg_batched value[2] = {dfg_batch_of(b, node.in[0]), dfg_batch_of(b, node.in[1])};
	if (!value[0].varies || !value[1].varies)
		return dfg_batch_refuse(b, n, "only one of its arms has a value that depends on the iteration");
	return dfg_batch_copy(b, n, (struct dfg_edge[]){value[0].edge, value[1].edge}, true);
}
