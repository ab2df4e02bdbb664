#include "lib/exec/course.h"
#include "lib/exec/machine.h"

#include <stdio.h>

/* Where something went wrong, and why a fetch has no value when nothing is left to run. */

struct dfg_words dfg_key_words(const int64_t *key, int keys)
{
	struct dfg_words words = {"["};
	size_t at = 1;
	for (int i = 0; i < keys && at + 24 < sizeof words.s; i++)
		at += (size_t)snprintf(words.s + at, sizeof words.s - at, "%s%lld", i ? "," : "", (long long)key[i]);
	snprintf(words.s + at, sizeof words.s - at, "]");
	return words;
}

struct dfg_err *dfg_trip_note(struct dfg_err *err, const struct loop *loop, const int64_t *iteration, int depth)
{
	if (depth == 1)
		return dfg_err_note(err, "in iteration %lld of loop '%s'", (long long)*iteration, loop->path);
	return dfg_err_note(err, "in iteration %s of loop '%s'", dfg_key_words(iteration, depth).s, loop->path);
}

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

void dfg_keep_fate(const struct machine *machine, struct fate *place, struct fate fate)
{
	fate.run = machine->run;
	pthread_mutex_lock(&machine->plan->lock);
	*place = fate;
	pthread_mutex_unlock(&machine->plan->lock);
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

/*
 * Whether all was chosen that the guard asks for. What was not reached has a side of an earlier time, but then what it
 * depends on was not chosen either.
 */
bool dfg_guard_holds(const struct course *course, const int32_t *chosen, uint32_t guard)
{
	if (guard == NEVER)
		return false;
	for (; course->guard[guard].depth; guard = course->guard[guard].parent)
		if (chosen[course->guard[guard].flag] != course->guard[guard].side)
			return false;
	return true;
}

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
