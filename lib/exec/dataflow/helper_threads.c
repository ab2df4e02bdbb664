#include "lib/exec/dataflow/executor_private.h"

/*
 * The pool's threads that help an executor: they run expensive nodes, and complete transfers that arrive while all
 * other threads run kernels.
 */
struct helper {
	struct dfg_task task;
	struct executor *executor;
	struct runner runner;
	atomic_bool asked;
};

static void run_helper(struct dfg_task *task)
{
	struct helper *helper = (struct helper *)task;
	struct executor *executor = helper->executor;
	dfg_lock(executor);
	dfg_executor_work(executor, &helper->runner);
	helper->asked = false;
	executor->helpers--;
	dfg_event_signal(&executor->event);
	dfg_unlock(executor);
}

void dfg_call_helpers(struct executor *executor)
{
	int most = dfg_pool_threads(executor->plan->session->pool) - 1;
	for (int i = 0; i < most && (size_t)executor->helpers < executor->expensive.count; i++) {
		if (executor->helper[i].asked)
			continue;
		executor->helper[i].asked = true;
		executor->helpers++;
		dfg_pool_submit(executor->plan->session->pool, &executor->helper[i].task);
	}
}

void dfg_cancel_helpers(struct executor *executor)
{
	int most = dfg_pool_threads(executor->plan->session->pool) - 1;
	for (int i = 0; i < most && executor->helpers; i++)
		if (executor->helper[i].asked && dfg_pool_take_back(executor->plan->session->pool, &executor->helper[i].task)) {
			executor->helper[i].asked = false;
			executor->helpers--;
		}
}

/* Completes transfers that arrive while the other threads run kernels. */
static void complete_arrivals(struct dfg_task *task)
{
	struct helper *helper = (struct helper *)task;
	struct executor *executor = helper->executor;
	dfg_lock(executor);
	executor->helpers++;
	do {
		dfg_executor_work(executor, &helper->runner);
		atomic_store(&helper->asked, false);
	} while (atomic_load(&executor->arrived) && !executor->stop && !atomic_exchange(&helper->asked, true));
	executor->helpers--;
	dfg_event_signal(&executor->event);
	dfg_unlock(executor);
}

void dfg_wake_helper(struct executor *executor)
{
	struct dfg_pool *pool = executor->plan->session->pool;
	struct helper *helper = &executor->helper[dfg_pool_threads(pool) - 1];
	if (executor->shared && atomic_load(&executor->running) && !atomic_exchange(&helper->asked, true))
		dfg_pool_submit(pool, &helper->task);
}

void dfg_unregister_helper(struct executor *executor)
{
	struct dfg_pool *pool = executor->plan->session->pool;
	struct helper *helper = &executor->helper[dfg_pool_threads(pool) - 1];
	dfg_lock(executor);
	while (helper->asked) {
		uint32_t seen = atomic_load(&executor->event.word);
		if (dfg_pool_take_back(pool, &helper->task)) {
			helper->asked = false;
			break;
		}
		dfg_unlock(executor);
		dfg_event_wait(&executor->event, seen);
		dfg_lock(executor);
	}
	dfg_unlock(executor);
}

struct helper *dfg_helpers_new(struct executor *executor)
{
	int threads = dfg_pool_threads(executor->plan->session->pool);
	struct helper *helper = dfg_zeros((size_t)threads, sizeof *helper);
	for (int i = 0; helper && i < threads; i++)
		helper[i] = (struct helper){.task.begin = i == threads - 1 ? complete_arrivals : run_helper,
			.executor = executor,
			.runner = {.session = executor->plan->session,
				.control = &executor->watch.control,
				.executor = executor,
				.pause = dfg_suspend_kernel}};
	return helper;
}

void dfg_helpers_free(struct executor *executor)
{
	for (int i = 0; executor->helper && i < dfg_pool_threads(executor->plan->session->pool); i++)
		dfg_runner_release(&executor->helper[i].runner);
	dfg_free(executor->helper);
}
