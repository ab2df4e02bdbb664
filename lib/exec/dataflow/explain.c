#include "lib/exec/dataflow/executor_private.h"

/* Why a fetch has no value when no record is left to run. */

void dfg_keep_fate(const struct machine *machine, struct fate *place, struct fate fate)
{
	fate.run = machine->run;
	pthread_mutex_lock(&machine->plan->lock);
	*place = fate;
	pthread_mutex_unlock(&machine->plan->lock);
}

/* Whether the value, or the signal, came. */
static bool has_come(const struct machine *machine, uint32_t slot)
{
	return machine->root->state[machine->flow->slot_local[slot]] != EMPTY;
}

/* The first input of the root's record that never came, or DFG_NONE where all of them did. */
static uint32_t missing_input(const struct machine *machine, const struct record *record)
{
	for (int i = 0; i < record->n_in; i++) {
		uint32_t slot = dfg_record_in(machine->plan, record, i);
		if (!has_come(machine, slot))
			return slot;
	}
	return DFG_NONE;
}

/* Goes back from what did not come to what kept it, which is a loop that gave nothing, or waits on itself. */
struct dfg_err *dfg_explain(const struct machine *machine, uint32_t fetch)
{
	struct dfg_plan *plan = machine->plan;
	uint32_t slot = plan->fetch[fetch], local = machine->flow->slot_local[slot];
	if (machine->root->state[local] == DEAD) {
		dfg_keep_fate(
			machine, &plan->dead_fetch, (struct fate){.death = machine->root->slot_death[local], .slot = slot});
		return dfg_dead_fetch(plan, fetch, &machine->root->slot_death[local]);
	}
	const struct record *record = &plan->record[plan->maker[slot]];
	for (uint32_t steps = 0; steps < plan->count && record->role != DFG_EXIT; steps++) {
		uint32_t missing = missing_input(machine, record);
		if (missing == DFG_NONE)
			break;
		record = &plan->record[plan->maker[missing]];
	}
	const char *why = record->role == DFG_EXIT ? "the loop ended, and this gave neither a value nor a dead one"
											   : "it never ran: a control input of it did not come";
	return dfg_err_note(dfg_call_note(DFG_ERR(DFG_DATA, "%s", why), record->call), "fetch '%s' was not produced",
		dfg_slot_words(plan, plan->fetch[fetch]).s);
}
