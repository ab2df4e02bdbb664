#include "lib/exec/plan/frame_info.h"

#include <stdio.h>

/* Why a fetch or a transfer is dead: the Switch that chose another output, or the worker that reported it. */

/* "node 'x' (Switch) saw the predicate false in iteration 3 of loop 'w'" */
static void say_death(const struct dfg_plan *plan, const struct death *death, char *out, size_t room)
{
	const struct dfg_call *call = plan->record[death->killer - 1].call;
	char value[60], where[1000] = "";
	bool number = call->n_in > 1 && call->in_dtype[1] == DFG_I32;
	if (call->op->role == DFG_RECV)
		snprintf(value, sizeof value, "was told so by worker w%d", death->chosen);
	else if (number)
		snprintf(value, sizeof value, "chose output %d", death->chosen);
	else
		snprintf(value, sizeof value, "saw the predicate %s", death->chosen ? "true" : "false");
	uint32_t loop = plan->flow ? plan->flow->loop_of[death->killer - 1] : 0;
	if (loop)
		snprintf(where, sizeof where, " in iteration %lld of loop '%s'", (long long)death->iteration,
			plan->flow->loop[loop].path);
	snprintf(out, room, "node '%s' (%s) %s%s", call->node, call->op->name, value, where);
}

struct dfg_err *dfg_dead_fetch(const struct dfg_plan *plan, uint32_t fetch, const struct death *death)
{
	const struct dfg_words name = dfg_slot_words(plan, plan->fetch[fetch]);
	char why[1200];
	if (!death->killer)
		return DFG_ERR(DFG_DATA, "fetch '%s' is dead", name.s);
	say_death(plan, death, why, sizeof why);
	return DFG_ERR(DFG_DATA, "fetch '%s' is dead: %s", name.s, why);
}

/* The fate of a Send's last value, if that was dead in this iteration of the last run; NULL: not known. */
static const struct fate *fate_of_transfer(const struct dfg_plan *plan, uint32_t transfer, int64_t iteration)
{
	for (uint32_t r = 0; plan->flow && plan->flow->port && r < plan->count; r++) {
		const struct port *port = &plan->flow->port[r];
		if (plan->record[r].role == DFG_SEND && port->number + 1 == transfer && port->fate.iteration == iteration)
			return &port->fate;
	}
	return NULL;
}

/* What is kept of the last step, if it was that which met it. */
static bool last_fate(const struct dfg_plan *plan, uint32_t transfer, int64_t iteration, struct fate *out_fate)
{
	struct dfg_plan *writable = (struct dfg_plan *)plan; /* the lock, not what it guards */
	pthread_mutex_lock(&writable->lock);
	const struct fate *fate = transfer ? fate_of_transfer(plan, transfer, iteration) : &plan->dead_fetch;
	bool last = fate && fate->run == plan->runs && fate->death.killer;
	if (last)
		*out_fate = *fate;
	pthread_mutex_unlock(&writable->lock);
	return last;
}

void dfg_plan_cause(const struct dfg_plan *plan, uint32_t transfer, int64_t iteration, struct dfg_cause *out_cause)
{
	struct fate fate;
	*out_cause = (struct dfg_cause){0};
	if (!last_fate(plan, transfer, iteration, &fate))
		return;
	uint32_t killer = fate.death.killer - 1;
	if (plan->record[killer].role == DFG_RECV) {
		out_cause->transfer = plan->flow->port[killer].number + 1;
		out_cause->iteration = fate.death.iteration;
	}
	if (!transfer)
		snprintf(out_cause->words, sizeof out_cause->words, "fetch '%s' is dead", dfg_slot_words(plan, fate.slot).s);
	else if (!out_cause->transfer)
		say_death(plan, &fate.death, out_cause->words, sizeof out_cause->words);
}
