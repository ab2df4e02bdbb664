#include "lib/exec/line.h"

#include <string.h>

/* What is known of every value before a step, from the shapes of its feeds. */

struct inference {
	const struct dfg_plan *plan;
	struct dfg_arena *arena;
	struct dfg_fact *fact; /* by slot */
};

static uint32_t out_slot(const struct dfg_plan *plan, const struct record *record, int i)
{
	return plan->slot[record->first + record->n_in + (uint32_t)i];
}

bool dfg_all_known(const struct dfg_known *known)
{
	for (int64_t i = 0; known && i < known->count; i++)
		if (known->v[i] == DFG_NOT_KNOWN)
			return false;
	return known;
}

/* What is in a constant that the plan made. */
static struct dfg_err *fact_of_preset(struct inference *of, uint32_t slot)
{
	enum { MOST = 64 };
	const struct dfg_tensor *tensor = &of->plan->preset[slot];
	struct dfg_fact *fact = &of->fact[slot];
	fact->dtype = tensor->dtype;
	fact->shape = tensor->shape;
	if (fact->known || tensor->shape.rank > 1 || dfg_shape_count(&tensor->shape) > MOST ||
		!dfg_dtype_is(tensor->dtype, "index"))
		return NULL;
	int64_t count = dfg_shape_count(&tensor->shape);
	struct dfg_known *known = dfg_arena_zeros(of->arena, 1, sizeof *known + (size_t)count * sizeof *known->v);
	if (!known)
		return dfg_no_memory();
	known->rank = tensor->shape.rank;
	known->count = count;
	for (int64_t i = 0; i < count; i++)
		known->v[i] = dfg_tensor_int(tensor, i);
	fact->known = known;
	return NULL;
}

static struct dfg_err *infer_record(struct inference *of, const struct record *record)
{
	const struct dfg_fact **in = dfg_arena_zeros(of->arena, record->n_in, sizeof *in);
	if (!in)
		return dfg_no_memory();
	for (int i = 0; i < record->n_in; i++) {
		const struct dfg_fact *fact = &of->fact[of->plan->slot[record->first + (uint32_t)i]];
		in[i] = fact->dtype ? fact : NULL;
	}
	struct dfg_fact *out = record->n_out ? &of->fact[out_slot(of->plan, record, 0)] : NULL;
	struct dfg_err *err = dfg_infer_node(record->call, in, of->arena, out);
	if (!err || !record->may_die)
		return err;
	/* A branch that does not fit may never be taken. */
	dfg_err_free(err);
	if (out)
		memset(out, 0, record->n_out * sizeof *out);
	return NULL;
}

struct dfg_err *dfg_plan_infer(
	const struct dfg_plan *plan, const struct dfg_tensor *feeds, struct dfg_arena *arena, struct dfg_fact *out_facts)
{
	struct inference of = {plan, arena, out_facts};
	for (uint32_t i = 0; i < plan->step.n_feed; i++) {
		struct dfg_fact *fact = &out_facts[plan->first_feed + i];
		*fact = plan->feed[i];
		fact->known = NULL;
		if (feeds)
			fact->shape = feeds[i].shape;
	}
	for (uint32_t r = 0; r < plan->count; r++) {
		DFG_TRY(infer_record(&of, &plan->record[r]));
		for (int i = 0; i < plan->record[r].n_out && plan->record[r].preset; i++)
			if (!plan->is_ref[out_slot(plan, &plan->record[r], i)])
				DFG_TRY(fact_of_preset(&of, out_slot(plan, &plan->record[r], i)));
	}
	return NULL;
}
