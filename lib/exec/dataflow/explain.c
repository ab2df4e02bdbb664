#include "lib/exec/dataflow/executor_private.h"

/* Explains why a fetch has no value when no node is left to run. */

void dfg_keep_last_dead(const struct executor *executor, struct last_dead *slot, struct last_dead last_dead)
{
	last_dead.run = executor->run;
	pthread_mutex_lock(&executor->plan->lock);
	*slot = last_dead;
	pthread_mutex_unlock(&executor->plan->lock);
}

/* Whether the value, live or dead, arrived in the slot. */
static bool has_arrived(const struct executor *executor, uint32_t slot)
{
	return executor->root->state[executor->frame_info->slot_local[slot]] != EMPTY;
}

/* The first input of the node, in the root, that never arrived; or DFG_NONE. */
static uint32_t missing_input(const struct executor *executor, const struct plan_node *node)
{
	for (int i = 0; i < node->n_in; i++) {
		uint32_t slot = dfg_plan_node_in(executor->plan, node, i);
		if (!has_arrived(executor, slot))
			return slot;
	}
	return DFG_NONE;
}

/* Follows missing inputs backwards to the node that caused it: a loop without a result, or a cycle. */
struct dfg_err *dfg_explain(const struct executor *executor, uint32_t fetch)
{
	struct dfg_plan *plan = executor->plan;
	uint32_t slot = plan->fetch[fetch], local = executor->frame_info->slot_local[slot];
	if (executor->root->state[local] == DEAD) {
		dfg_keep_last_dead(
			executor, &plan->dead_fetch, (struct last_dead){.cause = executor->root->slot_cause[local], .slot = slot});
		return dfg_dead_fetch(plan, fetch, &executor->root->slot_cause[local]);
	}
	const struct plan_node *node = &plan->node[plan->maker[slot]];
	for (uint32_t steps = 0; steps < plan->count && node->role != DFG_EXIT; steps++) {
		uint32_t missing = missing_input(executor, node);
		if (missing == DFG_NONE)
			break;
		node = &plan->node[plan->maker[missing]];
	}
	const char *why = node->role == DFG_EXIT ? "the loop ended before this Exit had a live or dead input"
											 : "it never ran because a control input never arrived";
	return dfg_err_note(dfg_resolved_note(DFG_ERR(DFG_DATA, "%s", why), node->call), "fetch '%s' was not produced",
		dfg_slot_words(plan, plan->fetch[fetch]).s);
}
