#include "lib/exec/dataflow/executor_private.h"

/* Tokens: what the arrival of a value, live or dead, does to the record that it comes to, and what becomes of it then. */

static struct dfg_err *two_live(
	const struct machine *machine, const struct slab *slab, uint32_t record, uint32_t one, uint32_t two)
{
	const uint32_t *use = slab->loop->use + machine->flow->first_use[record];
	if (machine->plan->record[record].may_agree && dfg_same_value(&slab->tensor[use[one]], &slab->tensor[use[two]]))
		return NULL;
	return dfg_place_note(
		DFG_ERR(DFG_DATA, "inputs %u and %u are both live", one < two ? one : two, one < two ? two : one), slab,
		machine->plan->record[record].call);
}

/*
 * A Merge runs with the first live input, or dead when all that can come are dead; in either case after its control
 * inputs, whose deadness does not matter. pending is 1 + 2 for each control input to come; the 1 goes with the live input.
 * Of a loop's Merge, the back edges cannot come in iteration 0: so a loop that is entered dead ends.
 */
static struct dfg_err *merge_arrival(
	struct machine *machine, struct slab *slab, const struct arc *arc, const struct death *death)
{
	uint32_t local = machine->flow->local[arc->to];
	struct count *count = &slab->count[local];
	uint32_t can_come = slab->iteration ? machine->plan->record[arc->to].n_in : machine->flow->forward[arc->to];
	if (arc->output == DFG_CONTROL) {
		count->pending -= 2;
	} else if (death) {
		slab->death[local] = *death;
		count->dead++;
	} else {
		if (!(count->pending & 1))
			return two_live(machine, slab, arc->to, slab->choice[local], arc->input);
		slab->choice[local] = arc->input;
		count->pending--;
	}
	bool dead = count->pending == 1 && count->dead >= can_come;
	bool live = count->pending == 0 && (!death || arc->output == DFG_CONTROL);
	return dead || live ? dfg_make_ready(machine, slab, arc->to, dead) : NULL;
}

struct dfg_err *dfg_arrive(struct machine *machine, struct slab *slab, const struct arc *arc, const struct death *death)
{
	enum dfg_role role = machine->plan->record[arc->to].role;
	if (role == DFG_MERGE)
		return merge_arrival(machine, slab, arc, death);
	struct count *count = &slab->count[machine->flow->local[arc->to]];
	if (death && !count->dead++)
		slab->death[machine->flow->local[arc->to]] = *death;
	if (--count->pending)
		return NULL;
	return dfg_make_ready(machine, slab, arc->to, count->dead && role != DFG_CONTROL_TRIGGER);
}

/* A value that nobody wants any more. */
static void spend(struct slab *slab, uint32_t slot)
{
	dfg_tensor_release(&slab->tensor[slot]);
	slab->state[slot] = SPENT;
}

struct dfg_err *dfg_notify(struct machine *machine, struct slab *slab, uint32_t record, const struct death *death)
{
	const struct flow *flow = machine->flow;
	for (uint32_t a = flow->first_arc[record]; a < flow->first_arc[record + 1]; a++) {
		const struct arc *arc = &flow->arc[a];
		const struct death *dead = death;
		if (!dead && arc->output >= 0) {
			uint32_t slot = dfg_out_slot(machine, record, arc->output);
			dead = slab->state[slot] == DEAD ? &slab->slot_death[slot] : NULL;
		}
		machine->stats.dead_tokens += dead != NULL;
		DFG_TRY(dfg_arrive(machine, slab, arc, dead));
	}
	for (int i = 0; i < machine->plan->record[record].n_out; i++) {
		uint32_t slot = dfg_out_slot(machine, record, i);
		if (slab->state[slot] == LIVE && !slab->left[slot])
			spend(slab, slot);
	}
	return NULL;
}

void dfg_consume(struct machine *machine, struct slab *slab, uint32_t record)
{
	const uint32_t *use = slab->loop->use + machine->flow->first_use[record];
	if (machine->plan->record[record].may_agree) /* others that come live are compared with it */
		return;
	for (int i = 0; i < machine->plan->record[record].n_in; i++)
		if (slab->state[use[i]] == LIVE && !--slab->left[use[i]])
			spend(slab, use[i]);
}
