#include "lib/exec/plan/schedule.h"

/* Finds the Switch that made a fetch dead, for the linear executor. */

/* Whether the slot is dead. One inside a loop is asked about only if the loop did not run. */
static bool is_dead(const struct dfg_plan *plan, const int32_t *chosen, uint32_t slot)
{
	bool inside = plan->frame_info && plan->frame_info->slot_loop[slot];
	return !dfg_always_there(plan, slot) &&
		   (inside || !dfg_condition_holds(plan->schedule, chosen, plan->schedule->slot_condition[slot]));
}

/*
 * The first dead data input of the node, or else the first dead control input; DFG_NONE: the node itself is the Switch.
 */
static uint32_t dead_input(const struct dfg_plan *plan, const int32_t *chosen, const struct plan_node *node)
{
	for (int i = 0; i < node->n_in; i++)
		if (is_dead(plan, chosen, dfg_plan_node_in(plan, node, i)))
			return plan->maker[dfg_plan_node_in(plan, node, i)];
	for (uint32_t i = 0; i < node->n_control && node->role != DFG_SWITCH; i++)
		if (!dfg_condition_holds(
				plan->schedule, chosen, plan->schedule->node_condition[plan->control[node->first_control + i]]))
			return plan->control[node->first_control + i];
	return DFG_NONE;
}

/* Follows dead inputs backwards to the Switch that made the fetch dead. */
struct dfg_err *dfg_dead_branch(const struct dfg_plan *plan, const int32_t *chosen, uint32_t fetch)
{
	uint32_t r = plan->maker[plan->fetch[fetch]];
	for (uint32_t steps = 0; steps < plan->count; steps++) {
		uint32_t before = dead_input(plan, chosen, &plan->node[r]);
		if (before == DFG_NONE)
			break;
		r = before;
	}
	const struct plan_node *node = &plan->node[r];
	struct dead_cause cause = {0};
	if (node->role == DFG_SWITCH)
		cause = (struct dead_cause){.origin = r + 1, .chosen = chosen[plan->schedule->node_predicate[r]]};
	return dfg_dead_fetch(plan, fetch, &cause);
}
