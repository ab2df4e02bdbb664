#include "lib/exec/linear/builder_private.h"

/* What is needed, and what that needs, as far as it has been followed. */
struct need {
	struct laying *laying;
	uint32_t *record, records;
};

static void need_record(struct need *need, uint32_t r)
{
	if (need->laying->needed[r])
		return;
	need->laying->needed[r] = true;
	need->record[need->records++] = r;
}

static void need_slot(struct need *need, uint32_t slot)
{
	if (slot < need->laying->plan->first_feed)
		need_record(need, need->laying->plan->maker[slot]);
}

static void need_guard(struct need *need, uint32_t guard)
{
	const struct course *course = need->laying->course;
	for (; guard != NEVER && course->guard[guard].depth; guard = course->guard[guard].parent) {
		uint32_t flag = course->guard[guard].flag;
		if (!need->laying->flagged[flag])
			need_slot(need, course->flag[flag].slot);
		need->laying->flagged[flag] = true;
	}
}

/* A loop around what is needed runs, with those of its variables that are needed. */
static void need_loops(struct need *need, uint32_t loop)
{
	const struct course *course = need->laying->course;
	for (; loop; loop = need->laying->plan->flow->loop[loop].parent) {
		need->laying->flagged[course->bend[loop].flag] = true;
		need_slot(need, course->flag[course->bend[loop].flag].slot);
		need_guard(need, course->bend[loop].guard);
	}
}

static void need_inputs(struct need *need, uint32_t r)
{
	const struct laying *laying = need->laying;
	const struct dfg_plan *plan = laying->plan;
	const struct record *record = &plan->record[r];
	need_loops(need, dfg_loop_of(plan, r));
	bool simple = record->preset || dfg_laying_known(laying, record) || dfg_laying_constant(laying, record);
	for (int i = 0; i < record->n_in && !simple; i++) {
		uint32_t slot = dfg_record_in(plan, record, i);
		need_slot(need, slot);
		if (record->role == DFG_MERGE && slot < plan->first_feed)
			need_guard(need, laying->course->slot_guard[slot]);
	}
	if (record->role == DFG_LOAD)
		need_record(need, record->save);
	for (uint32_t i = 0; i < record->n_control; i++)
		need_record(need, plan->control[record->first_control + i]);
	if (!record->preset)
		need_guard(need, laying->course->record_guard[r]);
}

/* Which records run: those that a fetch or target still needs when what is known is taken for granted. */
struct dfg_err *dfg_laying_need(struct laying *laying)
{
	struct dfg_plan *plan = laying->plan;
	struct need need = {
		.laying = laying,
		.record = dfg_arena_zeros(laying->scratch, plan->count, sizeof *need.record),
	};
	uint32_t *number = dfg_arena_zeros(laying->scratch, plan->session->graph->count, sizeof *number);
	if (!number || !need.record)
		return dfg_no_memory("the plan of the step");
	for (uint32_t r = 0; r < plan->count; r++)
		number[plan->record[r].node] = r + 1;
	for (uint32_t i = 0; i < plan->step.n_target; i++)
		if (number[plan->step.target[i]])
			need_record(&need, number[plan->step.target[i]] - 1);
	for (uint32_t i = 0; i < plan->step.n_fetch; i++) {
		need_slot(&need, plan->fetch[i]);
		if (plan->fetch[i] < plan->first_feed)
			need_guard(&need, laying->course->slot_guard[plan->fetch[i]]);
	}
	while (need.records)
		need_inputs(&need, need.record[--need.records]);
	return NULL;
}
