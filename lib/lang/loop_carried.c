#include "lib/lang/loop_carried_private.h"

#include "lib/lang/eval_private.h"
#include "lib/lang/loop_private.h"
#include "lib/lang/materialise_private.h"
#include "lib/lang/region_private.h"

/* Makes all dimensions unknown, for a value whose shape may differ between iterations. */
static struct dfg_err *widen(struct dfg_eval *eval, struct dfg_edge merge)
{
	struct dfg_shape shape = dfg_eval_fact(eval, merge)->shape;
	for (int i = 0; i < shape.rank; i++)
		shape.dim[i] = DFG_UNKNOWN;
	return dfg_eval_learn(eval, merge, &shape);
}

/* Until dfg_carry_on() the Merge's second input is a copy of its first. */
struct dfg_err *dfg_carry(
	struct dfg_eval *eval, struct dfg_lang_loop *loop, struct dfg_carried *carried, struct dfg_edge first)
{
	DFG_TRY(dfg_region_bring(eval, first, loop->frame->outer, &first));
	DFG_TRY(dfg_region_enter(eval, first, loop->frame, false, &carried->enter));
	struct dfg_edge in[] = {carried->enter, carried->enter};
	carried->merge = (struct dfg_edge){0, 0};
	DFG_TRY(dfg_region_build(
		eval, &(struct dfg_new_node){.op = "Merge", .in = in, .n_in = 2}, loop->frame, &carried->merge.node));
	if (carried->grows)
		DFG_TRY(widen(eval, carried->merge));
	return loop->condition.node == DFG_NONE ? NULL : dfg_carry_in(eval, loop, carried);
}

struct dfg_err *dfg_carry_in(struct dfg_eval *eval, struct dfg_lang_loop *loop, struct dfg_carried *carried)
{
	struct dfg_edge in[] = {carried->merge, loop->condition};
	DFG_TRY(dfg_region_build(
		eval, &(struct dfg_new_node){.op = "Switch", .in = in, .n_in = 2}, loop->body, &carried->branch));
	carried->inside = (struct dfg_edge){carried->branch, 1};
	return NULL;
}

struct dfg_err *dfg_carry_on(
	struct dfg_eval *eval, struct dfg_lang_loop *loop, struct dfg_carried *carried, struct dfg_edge next)
{
	struct dfg_saved_region saved;
	uint32_t node;
	dfg_region_go(eval, loop->body, &saved);
	struct dfg_err *err = dfg_eval_build(
		eval, &(struct dfg_new_node){.op = "NextIteration", .in = &next, .n_in = 1}, DFG_NAME_NONE, &node);
	dfg_region_back(eval, &saved);
	if (!err)
		eval->builder->graph->node[carried->merge.node].in[1] = (struct dfg_edge){node, 0};
	return err;
}

struct dfg_err *dfg_carry_out(struct dfg_eval *eval, struct dfg_lang_loop *loop, struct dfg_carried *carried)
{
	struct dfg_edge in = {carried->branch, 0};
	carried->outside = (struct dfg_edge){0, 0};
	return dfg_region_build(
		eval, &(struct dfg_new_node){.op = "Exit", .in = &in, .n_in = 1}, loop->frame->outer, &carried->outside.node);
}

struct dfg_err *dfg_loop_index(struct dfg_eval *eval, struct dfg_lang_loop *loop, struct dfg_edge *out_edge)
{
	struct dfg_edge zero;
	if (loop->counter.merge.node == DFG_NONE) {
		DFG_TRY(dfg_to_edge(eval, &DFG_INT(0), DFG_I32, &zero));
		DFG_TRY(dfg_carry(eval, loop, &loop->counter, zero));
	}
	*out_edge = loop->body && dfg_region_within(eval->region, loop->body) ? loop->counter.inside : loop->counter.merge;
	return NULL;
}
