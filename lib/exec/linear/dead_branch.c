#include "lib/exec/plan/schedule.h"

/* The linear executor: which branch made a fetch dead. */

/* Whether the slot, outside loops or of a loop that did not begin, is dead. */
static bool is_dead(const struct dfg_plan *plan, const int32_t *chosen, uint32_t slot)
{
	bool inside = plan->flow && plan->flow->slot_loop[slot];
	return !dfg_always_there(plan, slot) &&
		   (inside || !dfg_guard_holds(plan->course, chosen, plan->course->slot_guard[slot]));
}

/* The first dead input of the record, else of what was to run before it; DFG_NONE: it is a Switch that killed. */
static uint32_t dead_input(const struct dfg_plan *plan, const int32_t *chosen, const struct record *record)
{
	for (int i = 0; i < record->n_in; i++)
		if (is_dead(plan, chosen, dfg_record_in(plan, record, i)))
			return plan->maker[dfg_record_in(plan, record, i)];
	for (uint32_t i = 0; i < record->n_control && record->role != DFG_SWITCH; i++)
		if (!dfg_guard_holds(
				plan->course, chosen, plan->course->record_guard[plan->control[record->first_control + i]]))
			return plan->control[record->first_control + i];
	return DFG_NONE;
}

/* Goes back to the Switch behind a dead fetch. */
struct dfg_err *dfg_dead_branch(const struct dfg_plan *plan, const int32_t *chosen, uint32_t fetch)
{
	uint32_t r = plan->maker[plan->fetch[fetch]];
	for (uint32_t steps = 0; steps < plan->count; steps++) {
		uint32_t before = dead_input(plan, chosen, &plan->record[r]);
		if (before == DFG_NONE)
			break;
		r = before;
	}
	const struct record *record = &plan->record[r];
	struct death death = {0};
	if (record->role == DFG_SWITCH)
		death = (struct death){.killer = r + 1, .chosen = chosen[plan->course->record_flag[r]]};
	return dfg_dead_fetch(plan, fetch, &death);
}
