#include "lib/exec/linear/builder_private.h"

/* Demand analysis: a worklist of needed nodes whose inputs were not visited yet. */
struct need {
	struct program_builder *builder;
	uint32_t *node, nodes;
};

static void need_node(struct need *need, uint32_t r)
{
	if (need->builder->needed[r])
		return;
	need->builder->needed[r] = true;
	need->node[need->nodes++] = r;
}

static void need_slot(struct need *need, uint32_t slot)
{
	if (slot < need->builder->plan->first_feed)
		need_node(need, need->builder->plan->maker[slot]);
}

static void need_condition(struct need *need, uint32_t condition)
{
	const struct schedule *schedule = need->builder->schedule;
	for (; condition != UNREACHABLE && schedule->condition[condition].depth;
		 condition = schedule->condition[condition].parent) {
		uint32_t predicate = schedule->condition[condition].predicate;
		if (!need->builder->tested[predicate])
			need_slot(need, schedule->predicate[predicate].slot);
		need->builder->tested[predicate] = true;
	}
}

/* A loop that contains a needed node runs, with those of its variables that are needed. */
static void need_loops(struct need *need, uint32_t loop)
{
	const struct schedule *schedule = need->builder->schedule;
	for (; loop; loop = need->builder->plan->frame_info->loop[loop].parent) {
		need->builder->tested[schedule->loop_info[loop].predicate] = true;
		need_slot(need, schedule->predicate[schedule->loop_info[loop].predicate].slot);
		need_condition(need, schedule->loop_info[loop].condition);
	}
}

static void need_inputs(struct need *need, uint32_t r)
{
	const struct program_builder *builder = need->builder;
	const struct dfg_plan *plan = builder->plan;
	const struct plan_node *node = &plan->node[r];
	need_loops(need, dfg_loop_of(plan, r));
	bool simple = node->preset || dfg_is_known_node(builder, node) || dfg_is_bound_constant(builder, node);
	for (int i = 0; i < node->n_in && !simple; i++) {
		uint32_t slot = dfg_plan_node_in(plan, node, i);
		need_slot(need, slot);
		if (node->role == DFG_MERGE && slot < plan->first_feed)
			need_condition(need, builder->schedule->slot_condition[slot]);
	}
	if (node->role == DFG_LOAD)
		need_node(need, node->save);
	for (uint32_t i = 0; i < node->n_control; i++)
		need_node(need, plan->control[node->first_control + i]);
	if (!node->preset)
		need_condition(need, builder->schedule->node_condition[r]);
}

struct dfg_err *dfg_program_find_demand(struct program_builder *builder)
{
	struct dfg_plan *plan = builder->plan;
	struct need need = {
		.builder = builder,
		.node = dfg_arena_zeros(builder->scratch, plan->count, sizeof *need.node),
	};
	uint32_t *number = dfg_arena_zeros(builder->scratch, plan->session->graph->count, sizeof *number);
	if (!number || !need.node)
		return dfg_no_memory("the plan of the step");
	for (uint32_t r = 0; r < plan->count; r++)
		number[plan->node[r].graph_node] = r + 1;
	for (uint32_t i = 0; i < plan->step.n_target; i++)
		if (number[plan->step.target[i]])
			need_node(&need, number[plan->step.target[i]] - 1);
	for (uint32_t i = 0; i < plan->step.n_fetch; i++) {
		need_slot(&need, plan->fetch[i]);
		if (plan->fetch[i] < plan->first_feed)
			need_condition(&need, builder->schedule->slot_condition[plan->fetch[i]]);
	}
	while (need.nodes)
		need_inputs(&need, need.node[--need.nodes]);
	return NULL;
}
