#include "lib/exec/plan/frame_info.h"

#include <stdio.h>

/*
 * The cause of a dead fetch or transfer: the Switch that chose another output and its predicate, or the worker that sent the dead value.
 */

/* The predicate of a Switch as the whole graph names it: a _Recv has the tensor's name there. */
static struct dfg_words predicate_words(const struct dfg_plan *plan, const struct plan_node *node)
{
	uint32_t slot = dfg_plan_node_in(plan, node, 1);
	const struct plan_node *from = slot < plan->first_feed ? &plan->node[plan->maker[slot]] : node;
	if (from->role != DFG_RECV)
		return dfg_slot_words(plan, slot);
	struct dfg_string name = from->call->attr[dfg_op_attr(from->call->signature, "tensor_name")].s;
	struct dfg_words words;
	snprintf(words.s, sizeof words.s, "%.*s", (int)name.length, name.s);
	return words;
}

/* "predicate 'p:0' of node 'x' (Switch) is false in iteration 3 of loop 'w'" */
static void describe_cause(const struct dfg_plan *plan, const struct dead_cause *cause, char *out, size_t capacity)
{
	const struct plan_node *node = &plan->node[cause->origin - 1];
	const struct dfg_resolved_node *call = node->call;
	char where[400] = "";
	uint32_t loop = plan->frame_info ? plan->frame_info->loop_of[cause->origin - 1] : 0;
	if (loop)
		snprintf(where, sizeof where, " in iteration %lld of loop '%.300s'", (long long)cause->iteration,
			plan->frame_info->loop[loop].path);
	if (node->role == DFG_RECV)
		snprintf(out, capacity, "node '%.300s' (%s) received a dead value from worker w%d%s", call->node,
			call->op->name, cause->chosen, where);
	else if (call->in_dtype[1] == DFG_I32)
		snprintf(out, capacity, "predicate '%s' of node '%.300s' (%s) selects output %d%s",
			predicate_words(plan, node).s, call->node, call->op->name, cause->chosen, where);
	else
		snprintf(out, capacity, "predicate '%s' of node '%.300s' (%s) is %s%s", predicate_words(plan, node).s,
			call->node, call->op->name, cause->chosen ? "true" : "false", where);
}

struct dfg_err *dfg_dead_fetch(const struct dfg_plan *plan, uint32_t fetch, const struct dead_cause *cause)
{
	const struct dfg_words name = dfg_slot_words(plan, plan->fetch[fetch]);
	char why[1200];
	if (!cause->origin)
		return DFG_ERR(DFG_DATA, "fetch '%s' is dead", name.s);
	describe_cause(plan, cause, why, sizeof why);
	return DFG_ERR(DFG_DATA, "fetch '%s' is dead: %s", name.s, why);
}

/* The last dead value of the Send, if it was in this iteration; NULL: unknown. */
static const struct last_dead *last_dead_of_transfer(const struct dfg_plan *plan, uint32_t transfer, int64_t iteration)
{
	for (uint32_t r = 0; plan->frame_info && plan->frame_info->port && r < plan->count; r++) {
		const struct port *port = &plan->frame_info->port[r];
		if (plan->node[r].role == DFG_SEND && port->number + 1 == transfer && port->last_dead.iteration == iteration)
			return &port->last_dead;
	}
	return NULL;
}

/* The last dead value of a fetch or a Send, if it was in the plan's last run. */
static bool find_last_dead(
	const struct dfg_plan *plan, uint32_t transfer, int64_t iteration, struct last_dead *out_last_dead)
{
	/* for the lock only; the fields that it protects are only read */
	struct dfg_plan *writable = (struct dfg_plan *)plan;
	pthread_mutex_lock(&writable->lock);
	const struct last_dead *last_dead = transfer ? last_dead_of_transfer(plan, transfer, iteration) : &plan->dead_fetch;
	bool last = last_dead && last_dead->run == plan->runs && last_dead->cause.origin;
	if (last)
		*out_last_dead = *last_dead;
	pthread_mutex_unlock(&writable->lock);
	return last;
}

void dfg_plan_cause(const struct dfg_plan *plan, uint32_t transfer, int64_t iteration, struct dfg_cause *out_cause)
{
	struct last_dead last_dead;
	*out_cause = (struct dfg_cause){0};
	if (!find_last_dead(plan, transfer, iteration, &last_dead))
		return;
	uint32_t origin = last_dead.cause.origin - 1;
	if (plan->node[origin].role == DFG_RECV) {
		out_cause->transfer = plan->frame_info->port[origin].number + 1;
		out_cause->iteration = last_dead.cause.iteration;
	}
	if (!transfer)
		snprintf(
			out_cause->words, sizeof out_cause->words, "fetch '%s' is dead", dfg_slot_words(plan, last_dead.slot).s);
	else if (!out_cause->transfer)
		describe_cause(plan, &last_dead.cause, out_cause->words, sizeof out_cause->words);
}
