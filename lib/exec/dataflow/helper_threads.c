#include "lib/exec/dataflow/executor_private.h"

/* The threads of the pool that help a machine: when there is expensive work, and when something arrives while it is done. */
struct helper {
	struct dfg_task task;
	struct machine *machine;
	struct runner runner;
	atomic_bool asked;
};

static void help(struct dfg_task *task)
{
	struct helper *helper = (struct helper *)task;
	struct machine *machine = helper->machine;
	dfg_lock(machine);
	dfg_work(machine, &helper->runner);
	helper->asked = false;
	machine->helpers--;
	dfg_event_signal(&machine->event);
	dfg_unlock(machine);
}

void dfg_ask_for_help(struct machine *machine)
{
	int most = dfg_pool_threads(machine->plan->session->pool) - 1;
	for (int i = 0; i < most && (size_t)machine->helpers < machine->expensive.count; i++) {
		if (machine->helper[i].asked)
			continue;
		machine->helper[i].asked = true;
		machine->helpers++;
		dfg_pool_submit(machine->plan->session->pool, &machine->helper[i].task);
	}
}

void dfg_take_back_helpers(struct machine *machine)
{
	int most = dfg_pool_threads(machine->plan->session->pool) - 1;
	for (int i = 0; i < most && machine->helpers; i++)
		if (machine->helper[i].asked && dfg_pool_take_back(machine->plan->session->pool, &machine->helper[i].task)) {
			machine->helper[i].asked = false;
			machine->helpers--;
		}
}

/* Opens what arrives while others are at kernels. */
static void answer(struct dfg_task *task)
{
	struct helper *helper = (struct helper *)task;
	struct machine *machine = helper->machine;
	dfg_lock(machine);
	machine->helpers++;
	do {
		dfg_work(machine, &helper->runner);
		atomic_store(&helper->asked, false);
	} while (atomic_load(&machine->arrived) && !machine->stop && !atomic_exchange(&helper->asked, true));
	machine->helpers--;
	dfg_event_signal(&machine->event);
	dfg_unlock(machine);
}

void dfg_call_helper(struct machine *machine)
{
	struct dfg_pool *pool = machine->plan->session->pool;
	struct helper *helper = &machine->helper[dfg_pool_threads(pool) - 1];
	if (machine->shared && atomic_load(&machine->running) && !atomic_exchange(&helper->asked, true))
		dfg_pool_submit(pool, &helper->task);
}

void dfg_dismiss_helper(struct machine *machine)
{
	struct dfg_pool *pool = machine->plan->session->pool;
	struct helper *helper = &machine->helper[dfg_pool_threads(pool) - 1];
	dfg_lock(machine);
	while (helper->asked) {
		uint32_t seen = atomic_load(&machine->event.word);
		if (dfg_pool_take_back(pool, &helper->task)) {
			helper->asked = false;
			break;
		}
		dfg_unlock(machine);
		dfg_event_wait(&machine->event, seen);
		dfg_lock(machine);
	}
	dfg_unlock(machine);
}

struct helper *dfg_helpers_new(struct machine *machine)
{
	int threads = dfg_pool_threads(machine->plan->session->pool);
	struct helper *helper = dfg_zeros((size_t)threads, sizeof *helper);
	for (int i = 0; helper && i < threads; i++)
		helper[i] = (struct helper){.task.begin = i == threads - 1 ? answer : help,
			.machine = machine,
			.runner = {.session = machine->plan->session, .machine = machine, .pause = dfg_rest_new}};
	return helper;
}

void dfg_helpers_free(struct machine *machine)
{
	for (int i = 0; machine->helper && i < dfg_pool_threads(machine->plan->session->pool); i++)
		dfg_runner_release(&machine->helper[i].runner);
	dfg_free(machine->helper);
}
