#include "lib/exec/dataflow/executor_private.h"

/*
 * Kernels that wait for another one, such as a queue's. A pause may be woken by any thread, whatever locks it holds: it
 * takes none, and only puts the pause on a list that the machine looks through.
 */
static void wake(struct dfg_pause *pause)
{
	struct rest *rest = (struct rest *)pause;
	struct machine *machine = rest->machine;
	rest->next = atomic_load(&machine->awake);
	while (!atomic_compare_exchange_weak(&machine->awake, &rest->next, rest))
		;
	dfg_event_signal(&machine->event);
}

struct dfg_err *dfg_rest_new(struct runner *runner, struct dfg_pause **out_pause)
{
	struct machine *machine = runner->machine;
	struct rest *rest = machine->free_rest;
	if (rest) {
		machine->free_rest = rest->next;
	} else {
		if (!(rest = dfg_zeros(1, sizeof *rest)))
			return dfg_no_memory("a suspended kernel");
		rest->pause.wake = wake;
		rest->machine = machine;
		rest->made = machine->rests;
		machine->rests = rest;
	}
	machine->resting++;
	*out_pause = runner->pausing = &rest->pause;
	return NULL;
}

static void give_back(struct machine *machine, struct rest *rest)
{
	rest->slab = NULL;
	rest->next = machine->free_rest;
	machine->free_rest = rest;
}

/* Those that are awake, in the order in which they woke up. */
static struct rest *take_awake(struct machine *machine)
{
	struct rest *newest = atomic_exchange(&machine->awake, NULL), *oldest = NULL;
	while (newest) {
		struct rest *next = newest->next;
		newest->next = oldest;
		oldest = newest;
		newest = next;
	}
	return oldest;
}

/* What is behind one that fails stays on the list, to be given back. */
struct dfg_err *dfg_run_rests(struct machine *machine, struct runner *runner)
{
	struct dfg_err *err = NULL;
	for (struct rest *rest = take_awake(machine), *next; rest && !err; rest = next) {
		struct ready item = {rest->slab, rest->record, false};
		uint64_t began = rest->began;
		next = rest->next;
		runner->paused = &rest->pause;
		machine->resting--;
		err = dfg_process(machine, runner, &item, began);
		runner->paused = NULL;
		if (!rest->pause.attempt)
			give_back(machine, rest);
	}
	return err;
}

void dfg_end_rests(struct machine *machine)
{
	for (struct rest *rest = machine->rests; rest; rest = rest->made) {
		if (!rest->slab)
			continue;
		if (rest->pause.attempt)
			rest->pause.abandon(&rest->pause);
		give_back(machine, rest);
	}
	machine->resting = 0;
	atomic_store(&machine->awake, NULL);
}

struct dfg_err *dfg_explain_rests(const struct machine *machine)
{
	const struct rest *first = NULL;
	for (const struct rest *rest = machine->rests; rest; rest = rest->made)
		if (rest->slab && (!first || dfg_is_before(rest->slab, rest->record, first->slab, first->record)))
			first = rest;
	return dfg_place_note(DFG_ERR(DFG_DATA, "waits, and nothing is left to run that could end that"), first->slab,
		machine->plan->record[first->record].call);
}
