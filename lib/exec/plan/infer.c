#include "lib/exec/plan/schedule.h"

#include <string.h>

/* Shape inference of all values before a step, from the shapes of its feeds. */

struct inference {
	const struct dfg_plan *plan;
	struct dfg_arena *arena;
	struct dfg_inferred *fact; /* inferred type, by slot */
	uint32_t *varies;          /* by slot of a loop's Merge: bits of the dims that vary from iteration to iteration */
};

enum { RANK_VARIES = 31, PASSES_MAX = 12 };

/* The type and value of a constant that the plan computed. */
static struct dfg_err *fact_of_preset(struct inference *of, uint32_t slot)
{
	const struct dfg_tensor *tensor = &of->plan->preset[slot];
	struct dfg_inferred *fact = &of->fact[slot];
	fact->dtype = tensor->dtype;
	fact->shape = tensor->shape;
	const struct dfg_known_value *known;
	if (fact->known || fact->matrix)
		return NULL;
	DFG_TRY(dfg_known_of(tensor, of->arena, &known));
	dfg_fact_set_known(fact, known);
	return NULL;
}

static struct dfg_err *infer_node(struct inference *of, const struct plan_node *node)
{
	if (node->role == DFG_SAVE)
		return NULL;
	if (node->role == DFG_LOAD) {
		const struct dfg_inferred *value = &of->fact[dfg_plan_node_in(of->plan, &of->plan->node[node->save], 0)];
		of->fact[dfg_plan_node_out(of->plan, node, 0)] =
			(struct dfg_inferred){.dtype = value->dtype, .shape = value->shape};
		return NULL;
	}
	const struct dfg_inferred **in = dfg_arena_zeros(of->arena, node->n_in, sizeof *in);
	if (!in)
		return dfg_no_memory("the shapes of the step");
	for (int i = 0; i < node->n_in; i++) {
		const struct dfg_inferred *fact = &of->fact[dfg_plan_node_in(of->plan, node, i)];
		in[i] = fact->dtype ? fact : NULL;
	}
	struct dfg_inferred *out = node->n_out ? &of->fact[dfg_plan_node_out(of->plan, node, 0)] : NULL;
	struct dfg_err *err = dfg_infer_node(node->call, in, of->arena, out);
	if (!err || !node->may_die || err->code == DFG_MEMORY)
		return err;
	/* A branch whose shapes do not fit may never be taken. */
	dfg_err_free(err);
	if (out)
		memset(out, 0, node->n_out * sizeof *out);
	return NULL;
}

/* A loop variable has the shape of the value that enters, except for the dims that were found to vary. */
static void assume_variable(struct inference *of, const struct plan_node *node)
{
	uint32_t slot = dfg_plan_node_out(of->plan, node, 0), bits = of->varies[slot];
	uint32_t first = dfg_plan_node_in(of->plan, node, 0), second = dfg_plan_node_in(of->plan, node, 1);
	bool swapped = of->plan->node[of->plan->maker[first]].role == DFG_NEXT_ITERATION;
	struct dfg_inferred *fact = &of->fact[slot];
	const struct dfg_inferred *enter = &of->fact[swapped ? second : first];
	fact->shape = enter->shape;
	dfg_fact_set_known(fact, NULL);
	fact->holds = NULL;
	if (bits >> RANK_VARIES)
		fact->shape = DFG_SHAPE_UNKNOWN;
	for (int d = 0; d < fact->shape.rank; d++)
		if (bits >> d & 1)
			fact->shape.dim[d] = DFG_UNKNOWN;
}

/*
 * Whether the next value of a variable has another shape than was assumed. any: then its rank varies, to end the
 * search.
 */
static bool update_variable(struct inference *of, const struct carried *carried, bool any)
{
	const struct dfg_shape *shape = &of->fact[carried->merge].shape, *next = &of->fact[carried->next].shape;
	uint32_t before = of->varies[carried->merge], bits = before;
	if (shape->rank >= 0 && next->rank != shape->rank)
		bits |= UINT32_C(1) << RANK_VARIES;
	for (int d = 0; d < shape->rank && !(bits >> RANK_VARIES); d++)
		if (shape->dim[d] != DFG_UNKNOWN && shape->dim[d] != next->dim[d])
			bits |= UINT32_C(1) << d;
	if (bits != before && any)
		bits |= UINT32_C(1) << RANK_VARIES;
	of->varies[carried->merge] = bits;
	return bits != before;
}

static struct dfg_err *infer_all(struct inference *of)
{
	const struct dfg_plan *plan = of->plan;
	for (uint32_t r = 0; r < plan->count; r++) {
		const struct plan_node *node = &plan->node[r];
		DFG_TRY(infer_node(of, node));
		if (dfg_is_loop_merge(plan, node))
			assume_variable(of, node);
		for (int i = 0; i < node->n_out && node->preset; i++)
			if (!plan->is_ref[dfg_plan_node_out(plan, node, i)])
				DFG_TRY(fact_of_preset(of, dfg_plan_node_out(plan, node, i)));
	}
	return NULL;
}

/*
 * Repeats until the shapes of loop variables are consistent with their next values; those that are not after
 * PASSES_MAX passes are unknown.
 */
static struct dfg_err *infer_loops(struct inference *of)
{
	const struct schedule *schedule = of->plan->schedule;
	bool again = true;
	for (int pass = 0; again; pass++) {
		DFG_TRY(infer_all(of));
		again = false;
		for (uint32_t l = 1; l < schedule->loops; l++)
			for (uint32_t i = 0; i < schedule->loop_info[l].n_carried; i++) {
				const struct carried *carried = &schedule->carried[schedule->loop_info[l].first_carried + i];
				again |= update_variable(of, carried, pass >= PASSES_MAX);
			}
	}
	return NULL;
}

struct dfg_err *dfg_plan_infer(const struct dfg_plan *plan, const struct dfg_tensor *feeds, struct dfg_arena *arena,
	struct dfg_inferred *out_facts)
{
	struct inference of = {.plan = plan, .arena = arena, .fact = out_facts};
	for (uint32_t i = 0; i < plan->step.n_feed; i++) {
		struct dfg_inferred *fact = &out_facts[plan->first_feed + i];
		*fact = plan->feed[i];
		dfg_fact_set_known(fact, NULL);
		if (feeds)
			fact->shape = feeds[i].shape;
	}
	of.varies = dfg_arena_zeros(arena, plan->loops ? plan->slots : 0, sizeof *of.varies);
	if (!of.varies)
		return dfg_no_memory("the shapes of the step");
	return plan->loops ? infer_loops(&of) : infer_all(&of);
}
