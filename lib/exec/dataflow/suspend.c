#include "lib/exec/dataflow/executor_private.h"

/*
 * Kernels that wait for another one, such as a queue's. Any thread may wake a pause while it holds any locks: waking
 * takes no lock, and only puts the pause on a list that the executor reads.
 */
static void wake(struct dfg_pause *pause)
{
	struct suspended_kernel *suspended = (struct suspended_kernel *)pause;
	struct executor *executor = suspended->executor;
	suspended->next = atomic_load(&executor->awake);
	while (!atomic_compare_exchange_weak(&executor->awake, &suspended->next, suspended))
		;
	dfg_event_signal(&executor->event);
}

struct dfg_err *dfg_suspend_kernel(struct runner *runner, struct dfg_pause **out_pause)
{
	struct executor *executor = runner->executor;
	struct suspended_kernel *suspended = executor->free_suspended;
	if (suspended) {
		executor->free_suspended = suspended->next;
	} else {
		if (!(suspended = dfg_zeros(1, sizeof *suspended)))
			return dfg_no_memory("a suspended kernel");
		suspended->pause.wake = wake;
		suspended->executor = executor;
		suspended->made = executor->all_suspended;
		executor->all_suspended = suspended;
	}
	executor->n_suspended++;
	*out_pause = runner->pausing = &suspended->pause;
	return NULL;
}

static void free_suspended(struct executor *executor, struct suspended_kernel *suspended)
{
	suspended->iter = NULL;
	suspended->next = executor->free_suspended;
	executor->free_suspended = suspended;
}

/* The kernels that are awake, in the order in which they were woken. */
static struct suspended_kernel *take_awake(struct executor *executor)
{
	struct suspended_kernel *newest = atomic_exchange(&executor->awake, NULL), *oldest = NULL;
	while (newest) {
		struct suspended_kernel *next = newest->next;
		newest->next = oldest;
		oldest = newest;
		newest = next;
	}
	return oldest;
}

/* If one fails, those after it remain in use and are released by dfg_abandon_suspended. */
struct dfg_err *dfg_resume_awake(struct executor *executor, struct runner *runner)
{
	struct dfg_err *err = NULL;
	for (struct suspended_kernel *suspended = take_awake(executor), *next; suspended && !err; suspended = next) {
		struct ready item = {suspended->iter, suspended->node, false};
		uint64_t began = suspended->began;
		next = suspended->next;
		runner->paused = &suspended->pause;
		executor->n_suspended--;
		err = dfg_process(executor, runner, &item, began);
		runner->paused = NULL;
		if (!suspended->pause.attempt)
			free_suspended(executor, suspended);
	}
	return err;
}

void dfg_abandon_suspended(struct executor *executor)
{
	for (struct suspended_kernel *suspended = executor->all_suspended; suspended; suspended = suspended->made) {
		if (!suspended->iter)
			continue;
		if (suspended->pause.attempt)
			suspended->pause.abandon(&suspended->pause);
		free_suspended(executor, suspended);
	}
	executor->n_suspended = 0;
	atomic_store(&executor->awake, NULL);
}

struct dfg_err *dfg_explain_suspended(const struct executor *executor)
{
	const struct suspended_kernel *first = NULL;
	for (const struct suspended_kernel *suspended = executor->all_suspended; suspended; suspended = suspended->made)
		if (suspended->iter && (!first || dfg_is_before(suspended->iter, suspended->node, first->iter, first->node)))
			first = suspended;
	return dfg_location_note(DFG_ERR(DFG_DATA, "deadlock: no runnable node can wake it"), first->iter,
		executor->plan->node[first->node].call);
}
