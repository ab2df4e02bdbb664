#include "lib/exec/dataflow/dataflow.h"
#include "lib/exec/dataflow/executor_private.h"
#include "lib/graph/work.h"

#include <string.h>

struct dfg_err *dfg_location_note(
	struct dfg_err *err, const struct iteration_state *iter, const struct dfg_resolved_node *call)
{
	int64_t iteration[KEYS_MOST];
	int depth = KEYS_MOST;
	if (!err || !iter->frame)
		return dfg_resolved_note(err, call);
	for (const struct iteration_state *s = iter; s->frame && depth; s = s->frame->parent)
		iteration[--depth] = s->iteration;
	return dfg_resolved_note(dfg_iteration_note(err, iter->loop, iteration + depth, KEYS_MOST - depth), call);
}

static struct dfg_err *push_ready(struct queue *queue, struct ready item)
{
	if (queue->count == queue->capacity) {
		size_t capacity = queue->capacity ? 2 * queue->capacity : 256;
		struct ready *items = dfg_zeros(capacity, sizeof *items);
		if (!items)
			return dfg_no_memory("the values of the step");
		for (size_t i = 0; i < queue->count; i++)
			items[i] = queue->item[(queue->first + i) & (queue->capacity - 1)];
		dfg_free(queue->item);
		*queue = (struct queue){items, 0, queue->count, capacity};
	}
	queue->item[(queue->first + queue->count++) & (queue->capacity - 1)] = item;
	return NULL;
}

/* Removes the oldest item; with a random schedule, any. */
static struct dfg_err *pop_ready(struct executor *executor, struct queue *queue, struct ready *out_item)
{
	size_t next = 0;
	if (executor->plan->choose)
		DFG_TRY(executor->plan->choose(executor->plan->choose_arg, executor, queue->count, &next));
	else if (executor->plan->session->options.random_schedule) {
		executor->random = executor->random * 6364136223846793005u + 1442695040888963407u;
		next = (executor->random >> 33) % queue->count;
	}
	struct ready *chosen = &queue->item[(queue->first + next) & (queue->capacity - 1)];
	*out_item = *chosen;
	*chosen = queue->item[queue->first];
	queue->first = (queue->first + 1) & (queue->capacity - 1);
	queue->count--;
	return NULL;
}

static bool is_expensive(const struct executor *executor, uint32_t node)
{
	return executor->shared && executor->plan->node[node].call->op->flags & DFG_EXPENSIVE;
}

struct dfg_err *dfg_make_ready(struct executor *executor, struct iteration_state *iter, uint32_t node, bool dead)
{
	iter->outstanding++;
	struct queue *queue = !dead && is_expensive(executor, node) ? &executor->expensive : &executor->cheap;
	return push_ready(queue, (struct ready){iter, node, dead});
}

struct dfg_err *dfg_wake(struct executor *executor, struct iteration_state *iter, uint32_t node)
{
	return push_ready(&executor->cheap, (struct ready){iter, node, false});
}

/* Sets output i to the value of input j. */
static struct dfg_err *forward_input(struct executor *executor, const struct ready *item, int i, int j)
{
	const struct plan_node *node = &executor->plan->node[item->node];
	uint32_t slot = dfg_out_slot(executor, item->node, i);
	DFG_TRY(dfg_forward_value(item->iter->at[executor->frame_info->first_use[item->node] + (uint32_t)j],
		executor->plan->is_ref[dfg_plan_node_out(executor->plan, node, i)], &item->iter->tensor[slot]));
	item->iter->state[slot] = LIVE;
	return NULL;
}

static struct dfg_err *run_switch(struct executor *executor, const struct ready *item)
{
	struct iteration_state *iter = item->iter;
	const struct plan_node *node = &executor->plan->node[item->node];
	int chosen;
	DFG_TRY(dfg_select_output(iter->at[executor->frame_info->first_use[item->node] + 1], node->n_out, &chosen));
	DFG_TRY(forward_input(executor, item, chosen, 0));
	for (int i = 0; i < node->n_out; i++) {
		uint32_t slot = dfg_out_slot(executor, item->node, i);
		if (i == chosen)
			continue;
		iter->state[slot] = DEAD;
		iter->slot_cause[slot] = (struct dead_cause){item->node + 1, chosen, iter->iteration};
	}
	return NULL;
}

static struct dfg_err *run_merge(struct executor *executor, const struct ready *item)
{
	struct iteration_state *iter = item->iter;
	uint32_t chosen = iter->choice[executor->frame_info->local[item->node]];
	uint32_t slot = dfg_out_slot(executor, item->node, 1);
	struct dfg_tensor *index = &iter->tensor[slot];
	DFG_TRY(forward_input(executor, item, 0, (int)chosen));
	if (!executor->plan->node[item->node].tells_index)
		return NULL;
	DFG_TRY(dfg_scalar(executor->plan->session, DFG_I32, index));
	*(int32_t *)index->data = (int32_t)chosen;
	iter->state[slot] = LIVE;
	return NULL;
}

/* The inputs that this node is the last to read, whose buffers may be reused: bits of the first 32. */
static uint32_t last_uses(const struct executor *executor, const struct ready *item)
{
	const struct plan_node *node = &executor->plan->node[item->node];
	const struct iteration_state *iter = item->iter;
	const uint32_t *use = iter->loop->use + executor->frame_info->first_use[item->node];
	uint32_t last = 0;
	for (int i = 0; i < node->n_in && i < 32; i++)
		if (iter->state[use[i]] == LIVE && iter->left[use[i]] == 1)
			last |= UINT32_C(1) << i;
	return last;
}

void dfg_unlock_for_work(struct executor *executor)
{
	atomic_fetch_add(&executor->running, 1);
	if (atomic_load(&executor->arrived))
		dfg_wake_helper(executor);
	dfg_unlock(executor);
}

void dfg_relock(struct executor *executor)
{
	dfg_lock(executor);
	atomic_fetch_sub(&executor->running, 1);
}

static void count(struct executor *executor, const struct ready *item, uint64_t ticks, double operations)
{
	const struct plan_node *node = &executor->plan->node[item->node];
	struct dfg_tensor **at = item->iter->at + executor->frame_info->first_use[item->node];
	struct profile_counter *counter = &executor->counter[item->node];
	counter->calls++;
	counter->ticks += ticks;
	counter->operations += operations;
	for (int i = 0; i < node->n_in + node->n_out; i++)
		counter->bytes += dfg_tensor_bytes(at[i]);
}

void dfg_dataflow_profile(const struct dfg_plan *plan, const struct profile_sink *sink)
{
	for (const struct executor *executor = plan->idle_executor; executor; executor = executor->next)
		for (uint32_t n = 0; n < plan->count; n++)
			dfg_profile_put(sink, &plan->node[n].call->node, &plan->node[n].call->op->name, 1, &executor->counter[n]);
}

static struct dfg_err *run_kernel(struct executor *executor, struct runner *runner, const struct ready *item)
{
	const struct plan_node *node = &executor->plan->node[item->node];
	struct dfg_tensor **at = item->iter->at + executor->frame_info->first_use[item->node];
	bool apart = is_expensive(executor, item->node);
	runner->in_place = node->in_place ? last_uses(executor, item) : 0;
	if (apart)
		dfg_unlock_for_work(executor);
	double operations = dfg_work;
	uint64_t begin = executor->counter ? dfg_ticks() : 0;
	struct dfg_err *err = dfg_runner_run(runner, node, at, at + node->n_in);
	uint64_t ticks = executor->counter ? dfg_ticks() - begin : 0;
	if (!err && executor->plan->session->options.check_numerics)
		err = dfg_check_numerics(node->call, at + node->n_in);
	if (apart)
		dfg_relock(executor);
	if (executor->counter)
		count(executor, item, ticks, dfg_work - operations);
	for (int i = 0; i < node->n_out; i++)
		item->iter->state[dfg_out_slot(executor, item->node, i)] = LIVE;
	return err;
}

static struct dfg_err *run_node(
	struct executor *executor, struct runner *runner, const struct ready *item, bool *out_waits)
{
	const struct plan_node *node = &executor->plan->node[item->node];
	switch (node->role) {
	case DFG_SWITCH:
		return run_switch(executor, item);
	case DFG_MERGE:
		return run_merge(executor, item);
	case DFG_IDENTITY:
	case DFG_PLACEHOLDER_DEFAULT:
	case DFG_LOOP_COND:
		for (int i = 0; i < node->n_out; i++)
			DFG_TRY(forward_input(executor, item, i, i));
		return NULL;
	case DFG_SAVE:
		return dfg_executor_save(executor, item->iter, item->node);
	case DFG_LOAD:
		return dfg_executor_load(executor, item->iter, item->node, out_waits);
	default:
		return node->run ? run_kernel(executor, runner, item) : NULL;
	}
}

static struct dfg_err *propagate_outputs(
	struct executor *executor, const struct ready *item, const struct dead_cause *cause)
{
	struct iteration_state *iter = item->iter;
	switch (executor->plan->node[item->node].role) {
	case DFG_ENTER:
		return dfg_enter(executor, iter, item->node, cause);
	case DFG_EXIT:
		return dfg_exit(executor, iter, item->node, cause);
	case DFG_NEXT_ITERATION:
		return dfg_next_iteration(executor, iter, item->node, cause);
	default:
		break;
	}
	for (int i = 0; i < executor->plan->node[item->node].n_out && cause; i++) {
		uint32_t slot = dfg_out_slot(executor, item->node, i);
		iter->state[slot] = DEAD;
		iter->slot_cause[slot] = *cause;
	}
	return dfg_propagate(executor, iter, item->node, cause);
}

static void trace_node(const struct executor *executor, const struct ready *item, uint64_t begin)
{
	enum { DEEP = 32 };
	const struct plan_node *node = &executor->plan->node[item->node];
	int64_t iteration[DEEP];
	int depth = 0;
	bool crosses = (node->role == DFG_SEND || node->role == DFG_RECV) && dfg_crosses(executor, item->iter, item->node);
	for (const struct iteration_state *iter = item->iter; iter->frame && depth < DEEP; iter = iter->frame->parent)
		iteration[DEEP - ++depth] = iter->iteration;
	executor->watch.trace(
		executor->watch.trace_arg, &(struct dfg_trace_event){
									   .node = node->call->node,
									   .op = node->call->op->name,
									   .frame = item->iter->loop->path,
									   .iteration = iteration + DEEP - depth,
									   .depth = depth,
									   .thread = dfg_pool_thread(),
									   .dead = item->dead,
									   .sends = node->role == DFG_SEND,
									   .transfer = crosses ? executor->frame_info->port[item->node].number + 1 : 0,
									   .begin_ns = begin,
									   .end_ns = dfg_now(),
								   });
}

/* The cause is that of the first dead data input, whatever the order of arrival; else that of a control input. */
const struct dead_cause *dfg_cause_of(const struct executor *executor, const struct ready *item)
{
	const struct iteration_state *iter = item->iter;
	const uint32_t *use = iter->loop->use + executor->frame_info->first_use[item->node];
	for (int i = 0; i < executor->plan->node[item->node].n_in; i++)
		if (iter->state[use[i]] == DEAD)
			return &iter->slot_cause[use[i]];
	return &iter->cause[executor->frame_info->local[item->node]];
}

struct dfg_err *dfg_finish(
	struct executor *executor, const struct ready *item, const struct dead_cause *cause, uint64_t began)
{
	if (executor->watch.trace)
		trace_node(executor, item, began);
	DFG_TRY(propagate_outputs(executor, item, cause));
	dfg_release_inputs(executor, item->iter, item->node);
	item->iter->outstanding--;
	return dfg_retire_iterations(executor, item->iter);
}

/* The kernel that ran requested a pause. */
static void record_suspended(struct runner *runner, const struct ready *item, uint64_t began)
{
	struct suspended_kernel *suspended = (struct suspended_kernel *)runner->pausing;
	runner->pausing = NULL;
	suspended->iter = item->iter;
	suspended->node = item->node;
	suspended->began = began;
}

struct dfg_err *dfg_process(struct executor *executor, struct runner *runner, const struct ready *item, uint64_t began)
{
	const struct plan_node *node = &executor->plan->node[item->node];
	const struct dead_cause *cause = item->dead ? dfg_cause_of(executor, item) : NULL;
	bool waits = false;
	if (executor->watch.on)
		DFG_TRY(dfg_location_note(dfg_watch_check(&executor->watch), item->iter, node->call));
	if (!cause && node->role == DFG_SLEEP)
		return dfg_location_note(dfg_timer_start(executor, item->iter, item->node, began), item->iter, node->call);
	if (!cause && node->role == DFG_RECV)
		return dfg_receive(executor, item->iter, item->node, began);
	if (node->role == DFG_SEND)
		DFG_TRY(dfg_location_note(dfg_send(executor, item, began, &waits), item->iter, node->call));
	else if (!cause)
		DFG_TRY(dfg_location_note(run_node(executor, runner, item, &waits), item->iter, node->call));
	if (runner->pausing) {
		record_suspended(runner, item, began);
		return NULL;
	}
	return waits ? NULL : dfg_finish(executor, item, cause, began);
}

static struct dfg_err *end_sleeps(struct executor *executor)
{
	while (executor->timers && executor->timer->due <= dfg_now()) {
		struct timer timer = dfg_timer_pop(executor);
		DFG_TRY(dfg_finish(executor, &(struct ready){timer.iter, timer.node, false}, NULL, timer.began));
	}
	return NULL;
}

static struct dfg_err *process_timed(struct executor *executor, struct runner *runner, const struct ready *item)
{
	const struct plan_node *node = &executor->plan->node[item->node];
	bool timed = executor->watch.trace || node->role == DFG_SLEEP || node->role == DFG_RECV || node->role == DFG_SEND;
	return dfg_process(executor, runner, item, timed ? dfg_now() : 0);
}

static struct dfg_err *run_next(struct executor *executor, struct runner *runner, bool *out_idle)
{
	struct ready item;
	if (executor->timers)
		DFG_TRY(end_sleeps(executor));
	if (executor->expected) {
		dfg_poll_links(executor);
		DFG_TRY(dfg_complete_transfers(executor));
	}
	if (executor->n_suspended)
		DFG_TRY(dfg_resume_awake(executor, runner));
	struct queue *queue = executor->cheap.count ? &executor->cheap : &executor->expensive;
	*out_idle = !queue->count;
	if (*out_idle)
		return NULL;
	DFG_TRY(pop_ready(executor, queue, &item));
	if (executor->expensive.count)
		dfg_call_helpers(executor);
	return process_timed(executor, runner, &item);
}

void dfg_executor_work(struct executor *executor, struct runner *runner)
{
	bool idle = false;
	while (!executor->stop && !idle) {
		struct dfg_err *err = run_next(executor, runner, &idle);
		executor->stop |= err != NULL;
		executor->err = dfg_err_join(executor->err, err);
	}
}

/*
 * Waits for a helper to leave, for a timer, a transfer or a wake-up, or for the step's limits. Releases the lock
 * meanwhile.
 */
static void wait_for_progress(struct executor *executor)
{
	enum { LOOK_NS = 20000000 }; /* interval of checking for cancellation */
	const struct watch *watch = &executor->watch;
	uint32_t seen = atomic_load(&executor->event.word);
	uint64_t until = executor->timers ? executor->timer->due : 0;
	bool idle = executor->timers || executor->expected || executor->n_suspended;
	if (idle && watch->deadline && (!until || watch->deadline < until))
		until = watch->deadline;
	if (idle && (watch->options->cancel || watch->control) && (!until || dfg_now() + LOOK_NS < until))
		until = dfg_now() + LOOK_NS;
	bool expects = executor->expected;
	dfg_unlock(executor);
	if (expects)
		dfg_wait_for_links(executor, seen, until);
	else if (until)
		dfg_event_wait_until(&executor->event, seen, until);
	else
		dfg_event_wait(&executor->event, seen);
	dfg_lock(executor);
	if (!executor->stop && watch->on && (executor->err = dfg_note_transfers(executor, dfg_watch_check(watch))))
		executor->stop = true;
}

/* Every suspended kernel waits for another kernel, and none is left to run. */
static bool is_stuck(const struct executor *executor)
{
	return executor->plan->session->options.alone && !atomic_load(&executor->awake);
}

/* Works, and waits for helpers, timers, transfers and suspended kernels, until the step is complete. */
static void work_to_the_end(struct executor *executor)
{
	dfg_lock(executor);
	for (;;) {
		dfg_executor_work(executor, &executor->runner);
		dfg_cancel_helpers(executor);
		bool waits = executor->timers || executor->expected || (executor->n_suspended && !is_stuck(executor));
		if (!executor->helpers && (executor->stop || !waits))
			break;
		wait_for_progress(executor);
	}
	dfg_unlock(executor);
}

static void lend(struct executor *executor, uint32_t slot, const struct dfg_tensor *tensor)
{
	uint32_t local = executor->frame_info->slot_local[slot];
	executor->root->tensor[local] = *tensor;
	executor->root->state[local] = BORROWED;
}

static struct dfg_err *begin_step(
	struct executor *executor, const struct dfg_tensor *feeds, const struct dfg_step_control *control)
{
	const struct dfg_plan *plan = executor->plan;
	struct frame_info *frame_info = executor->frame_info;
	executor->stop = false;
	executor->err = NULL;
	executor->stats = (struct dfg_stats){0};
	executor->waiting = executor->free_waiter = 0;
	executor->waiters = executor->timers = 0;
	executor->expected = executor->n_suspended = 0;
	executor->random = plan->session->options.schedule_seed;
	dfg_watch_begin(&executor->watch, &plan->session->options, control);
	DFG_TRY(dfg_iteration_take(executor, 0, &executor->root));
	for (uint32_t i = 0; i < plan->slots; i++)
		if (plan->kind[i] == SLOT_PRESET)
			lend(executor, i, &plan->preset[i]);
	for (uint32_t i = 0; i < plan->step.n_feed; i++)
		lend(executor, plan->first_feed + i, &feeds[i]);
	for (uint32_t i = 0; i < frame_info->n_source; i++)
		DFG_TRY(dfg_make_ready(executor, executor->root, frame_info->source[i], false));
	for (uint32_t i = 0; i < frame_info->n_start; i++)
		DFG_TRY(dfg_token_arrive(executor, executor->root, &frame_info->start[i], NULL));
	return NULL;
}

/* Returns what the step left, complete or not, to the free lists. */
static void release_leftovers(struct executor *executor)
{
	executor->cheap.count = executor->expensive.count = 0;
	for (struct iteration_state *iter = executor->iters; iter; iter = iter->made)
		if (iter->used)
			dfg_iteration_release(executor, iter);
	for (struct frame *frame = executor->frames; frame; frame = frame->made)
		if (frame->used)
			dfg_frame_release(executor, frame);
}

static struct dfg_err *give_fetches(struct executor *executor, struct dfg_tensor *out_fetches)
{
	const struct dfg_plan *plan = executor->plan;
	struct dfg_err *err = NULL;
	uint32_t i;
	for (i = 0; i < plan->step.n_fetch && !err; i++) {
		uint32_t slot = executor->frame_info->slot_local[plan->fetch[i]];
		const struct dfg_tensor *tensor = &executor->root->tensor[slot];
		out_fetches[i] = (struct dfg_tensor){0};
		if (executor->root->state[slot] != LIVE && executor->root->state[slot] != BORROWED)
			err = dfg_explain(executor, i);
		else
			err = dfg_share_fetch(plan, i, tensor, &out_fetches[i]);
	}
	while (err && i--)
		dfg_tensor_release(&out_fetches[i]);
	return err;
}

static void free_executor(struct executor *executor)
{
	dfg_helpers_free(executor);
	while (executor->iters) {
		struct iteration_state *iter = executor->iters;
		executor->iters = iter->made;
		for (uint32_t i = 0; i < iter->loop->saves; i++)
			dfg_keyed_store_release(&iter->store[i]);
		dfg_free(iter);
	}
	while (executor->all_pending) {
		struct pending_transfer *pending = executor->all_pending;
		executor->all_pending = pending->made;
		dfg_free(pending);
	}
	while (executor->frames) {
		struct frame *frame = executor->frames;
		executor->frames = frame->made;
		dfg_free(frame);
	}
	while (executor->all_suspended) {
		struct suspended_kernel *suspended = executor->all_suspended;
		executor->all_suspended = suspended->made;
		dfg_free(suspended);
	}
	dfg_runner_release(&executor->runner);
	dfg_free(executor->counter);
	dfg_free(executor->free_iter);
	dfg_free(executor->free_frame);
	dfg_free(executor->waiter);
	dfg_free(executor->timer);
	dfg_free(executor->cheap.item);
	dfg_free(executor->expensive.item);
	pthread_mutex_destroy(&executor->lock);
	dfg_free(executor);
}

static struct dfg_err *new_executor(struct dfg_plan *plan, struct executor **out_executor)
{
	struct executor *executor = dfg_zeros(1, sizeof *executor);
	if (!executor)
		return dfg_no_memory("the values of the step");
	int threads = dfg_pool_threads(plan->session->pool);
	executor->plan = plan;
	executor->frame_info = plan->frame_info;
	executor->shared = threads > 1;
	executor->runner = (struct runner){.session = plan->session,
		.control = &executor->watch.control,
		.executor = executor,
		.pause = dfg_suspend_kernel};
	executor->free_iter = dfg_zeros(plan->frame_info->loops, sizeof(struct iteration_state *));
	executor->free_frame = dfg_zeros(plan->frame_info->loops, sizeof(struct frame *));
	executor->helper = dfg_helpers_new(executor);
	bool profiles = plan->session->options.profile;
	executor->counter = profiles ? dfg_zeros(plan->count, sizeof *executor->counter) : NULL;
	bool locked = !pthread_mutex_init(&executor->lock, NULL);
	if (!locked || (profiles && !executor->counter) || !executor->free_iter || !executor->free_frame ||
		!executor->helper) {
		free_executor(executor);
		return dfg_no_memory("the values of the step");
	}
	*out_executor = executor;
	return NULL;
}

void dfg_executors_free(struct dfg_plan *plan)
{
	while (plan->idle_executor) {
		struct executor *executor = plan->idle_executor;
		plan->idle_executor = executor->next;
		free_executor(executor);
	}
}

static struct dfg_err *take_executor(struct dfg_plan *plan, struct executor **out_executor)
{
	pthread_mutex_lock(&plan->lock);
	struct executor *executor = *out_executor = plan->idle_executor;
	uint64_t run = ++plan->runs;
	if (executor)
		plan->idle_executor = executor->next;
	pthread_mutex_unlock(&plan->lock);
	if (!executor)
		DFG_TRY(new_executor(plan, out_executor));
	(*out_executor)->run = run;
	return NULL;
}

static void return_executor(struct executor *executor, size_t peak)
{
	struct dfg_plan *plan = executor->plan;
	pthread_mutex_lock(&plan->lock);
	plan->stats = executor->stats;
	plan->stats.peak_bytes = plan->stats.live_bytes = peak;
	executor->next = plan->idle_executor;
	plan->idle_executor = executor;
	pthread_mutex_unlock(&plan->lock);
}

struct dfg_err *dfg_dataflow_run(struct dfg_plan *plan, const struct dfg_tensor *feeds,
	const struct dfg_step_control *control, struct dfg_tensor *out_fetches)
{
	struct executor *executor;
	DFG_TRY(take_executor(plan, &executor));
	size_t before = dfg_buffer_pool_mark(plan->session->buffers);
	executor->err = begin_step(executor, feeds, control);
	if (!executor->err)
		work_to_the_end(executor);
	if (plan->transfers) {
		dfg_abandon_transfers(executor);
		dfg_unregister_helper(executor);
	}
	if (!executor->err && executor->n_suspended)
		executor->err = dfg_explain_suspended(executor);
	dfg_abandon_suspended(executor);
	if (!executor->err && plan->choose)
		executor->err = plan->choose(plan->choose_arg, executor, 0, &(size_t){0});
	if (!executor->err && executor->waiting)
		executor->err = dfg_explain_waiting(executor);
	if (!executor->err)
		executor->err = give_fetches(executor, out_fetches);
	struct dfg_err *err = executor->err;
	release_leftovers(executor);
	executor->stats.left = executor->live_frames + executor->live_iters + executor->live_saves;
	return_executor(executor, dfg_buffer_pool_peak(plan->session->buffers) - before);
	return err;
}
