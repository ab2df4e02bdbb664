#include "lib/exec/dataflow/executor_private.h"

#include <string.h>

struct dfg_err *dfg_place_note(struct dfg_err *err, const struct slab *slab, const struct dfg_call *call)
{
	int64_t iteration[KEYS_MOST];
	int depth = KEYS_MOST;
	if (!err || !slab->frame)
		return dfg_call_note(err, call);
	for (const struct slab *s = slab; s->frame && depth; s = s->frame->parent)
		iteration[--depth] = s->iteration;
	return dfg_call_note(dfg_trip_note(err, slab->loop, iteration + depth, KEYS_MOST - depth), call);
}

static struct dfg_err *push(struct queue *queue, struct ready item)
{
	if (queue->count == queue->room) {
		size_t room = queue->room ? 2 * queue->room : 256;
		struct ready *items = dfg_zeros(room, sizeof *items);
		if (!items)
			return dfg_no_memory("the values of the step");
		for (size_t i = 0; i < queue->count; i++)
			items[i] = queue->item[(queue->first + i) & (queue->room - 1)];
		dfg_free(queue->item);
		*queue = (struct queue){items, 0, queue->count, room};
	}
	queue->item[(queue->first + queue->count++) & (queue->room - 1)] = item;
	return NULL;
}

/* The oldest; with a random schedule any. */
static struct dfg_err *pop(struct machine *machine, struct queue *queue, struct ready *out_item)
{
	size_t next = 0;
	if (machine->plan->choose)
		DFG_TRY(machine->plan->choose(machine->plan->choose_arg, machine, queue->count, &next));
	else if (machine->plan->session->options.random_schedule) {
		machine->random = machine->random * 6364136223846793005u + 1442695040888963407u;
		next = (machine->random >> 33) % queue->count;
	}
	struct ready *chosen = &queue->item[(queue->first + next) & (queue->room - 1)];
	*out_item = *chosen;
	*chosen = queue->item[queue->first];
	queue->first = (queue->first + 1) & (queue->room - 1);
	queue->count--;
	return NULL;
}

static bool is_expensive(const struct machine *machine, uint32_t record)
{
	return machine->shared && machine->plan->record[record].call->op->flags & DFG_EXPENSIVE;
}

struct dfg_err *dfg_make_ready(struct machine *machine, struct slab *slab, uint32_t record, bool dead)
{
	slab->outstanding++;
	struct queue *queue = !dead && is_expensive(machine, record) ? &machine->expensive : &machine->cheap;
	return push(queue, (struct ready){slab, record, dead});
}

struct dfg_err *dfg_wake(struct machine *machine, struct slab *slab, uint32_t record)
{
	return push(&machine->cheap, (struct ready){slab, record, false});
}

/* Sets output i to what input j is. */
static struct dfg_err *pass(struct machine *machine, const struct ready *item, int i, int j)
{
	const struct record *record = &machine->plan->record[item->record];
	uint32_t slot = dfg_out_slot(machine, item->record, i);
	DFG_TRY(dfg_pass(item->slab->at[machine->flow->first_use[item->record] + (uint32_t)j],
		machine->plan->is_ref[dfg_record_out(machine->plan, record, i)], &item->slab->tensor[slot]));
	item->slab->state[slot] = LIVE;
	return NULL;
}

static struct dfg_err *run_switch(struct machine *machine, const struct ready *item)
{
	struct slab *slab = item->slab;
	const struct record *record = &machine->plan->record[item->record];
	int chosen;
	DFG_TRY(dfg_choose(slab->at[machine->flow->first_use[item->record] + 1], record->n_out, &chosen));
	DFG_TRY(pass(machine, item, chosen, 0));
	for (int i = 0; i < record->n_out; i++) {
		uint32_t slot = dfg_out_slot(machine, item->record, i);
		if (i == chosen)
			continue;
		slab->state[slot] = DEAD;
		slab->slot_death[slot] = (struct death){item->record + 1, chosen, slab->iteration};
	}
	return NULL;
}

static struct dfg_err *run_merge(struct machine *machine, const struct ready *item)
{
	struct slab *slab = item->slab;
	uint32_t chosen = slab->choice[machine->flow->local[item->record]];
	uint32_t slot = dfg_out_slot(machine, item->record, 1);
	struct dfg_tensor *index = &slab->tensor[slot];
	DFG_TRY(pass(machine, item, 0, (int)chosen));
	if (!machine->plan->record[item->record].tells_index)
		return NULL;
	DFG_TRY(dfg_scalar(machine->plan->session, DFG_I32, index));
	*(int32_t *)index->data = (int32_t)chosen;
	slab->state[slot] = LIVE;
	return NULL;
}

/* Which inputs' room is free after this record: bits of the first 32. */
static uint32_t last_uses(const struct machine *machine, const struct ready *item)
{
	const struct record *record = &machine->plan->record[item->record];
	const struct slab *slab = item->slab;
	const uint32_t *use = slab->loop->use + machine->flow->first_use[item->record];
	uint32_t last = 0;
	for (int i = 0; i < record->n_in && i < 32; i++)
		if (slab->state[use[i]] == LIVE && slab->left[use[i]] == 1)
			last |= UINT32_C(1) << i;
	return last;
}

void dfg_leave(struct machine *machine)
{
	atomic_fetch_add(&machine->running, 1);
	if (atomic_load(&machine->arrived))
		dfg_call_helper(machine);
	dfg_unlock(machine);
}

void dfg_come_back(struct machine *machine)
{
	dfg_lock(machine);
	atomic_fetch_sub(&machine->running, 1);
}

static struct dfg_err *run_kernel(struct machine *machine, struct runner *runner, const struct ready *item)
{
	const struct record *record = &machine->plan->record[item->record];
	struct dfg_tensor **at = item->slab->at + machine->flow->first_use[item->record];
	bool apart = is_expensive(machine, item->record);
	runner->in_place = record->in_place ? last_uses(machine, item) : 0;
	if (apart)
		dfg_leave(machine);
	struct dfg_err *err = dfg_runner_run(runner, record, at, at + record->n_in);
	if (!err && machine->plan->session->options.check_numerics)
		err = dfg_check_numerics(record->call, at + record->n_in);
	if (apart)
		dfg_come_back(machine);
	for (int i = 0; i < record->n_out; i++)
		item->slab->state[dfg_out_slot(machine, item->record, i)] = LIVE;
	return err;
}

static struct dfg_err *run(struct machine *machine, struct runner *runner, const struct ready *item, bool *out_waits)
{
	const struct record *record = &machine->plan->record[item->record];
	switch (record->role) {
	case DFG_SWITCH:
		return run_switch(machine, item);
	case DFG_MERGE:
		return run_merge(machine, item);
	case DFG_IDENTITY:
	case DFG_PLACEHOLDER_DEFAULT:
	case DFG_LOOP_COND:
		for (int i = 0; i < record->n_out; i++)
			DFG_TRY(pass(machine, item, i, i));
		return NULL;
	case DFG_SAVE:
		return dfg_save(machine, item->slab, item->record);
	case DFG_LOAD:
		return dfg_load(machine, item->slab, item->record, out_waits);
	default:
		return record->run ? run_kernel(machine, runner, item) : NULL;
	}
}

static struct dfg_err *pass_on(struct machine *machine, const struct ready *item, const struct death *death)
{
	struct slab *slab = item->slab;
	switch (machine->plan->record[item->record].role) {
	case DFG_ENTER:
		return dfg_enter(machine, slab, item->record, death);
	case DFG_EXIT:
		return dfg_exit(machine, slab, item->record, death);
	case DFG_NEXT_ITERATION:
		return dfg_next_iteration(machine, slab, item->record, death);
	default:
		break;
	}
	for (int i = 0; i < machine->plan->record[item->record].n_out && death; i++) {
		uint32_t slot = dfg_out_slot(machine, item->record, i);
		slab->state[slot] = DEAD;
		slab->slot_death[slot] = *death;
	}
	return dfg_notify(machine, slab, item->record, death);
}

static void trace(const struct machine *machine, const struct ready *item, uint64_t begin)
{
	enum { DEEP = 32 };
	const struct dfg_session_options *options = &machine->plan->session->options;
	const struct record *record = &machine->plan->record[item->record];
	int64_t iteration[DEEP];
	int depth = 0;
	bool crosses =
		(record->role == DFG_SEND || record->role == DFG_RECV) && dfg_crosses(machine, item->slab, item->record);
	for (const struct slab *slab = item->slab; slab->frame && depth < DEEP; slab = slab->frame->parent)
		iteration[DEEP - ++depth] = slab->iteration;
	options->trace(options->trace_arg, &(struct dfg_trace_event){
										   .node = record->call->node,
										   .op = record->call->op->name,
										   .frame = item->slab->loop->path,
										   .iteration = iteration + DEEP - depth,
										   .depth = depth,
										   .thread = dfg_pool_thread(),
										   .dead = item->dead,
										   .sends = record->role == DFG_SEND,
										   .transfer = crosses ? machine->flow->port[item->record].number + 1 : 0,
										   .begin_ns = begin,
										   .end_ns = dfg_now(),
									   });
}

/* The first input that is dead speaks for all, whatever the order in which they came; else a control input does. */
const struct death *dfg_death_of(const struct machine *machine, const struct ready *item)
{
	const struct slab *slab = item->slab;
	const uint32_t *use = slab->loop->use + machine->flow->first_use[item->record];
	for (int i = 0; i < machine->plan->record[item->record].n_in; i++)
		if (slab->state[use[i]] == DEAD)
			return &slab->slot_death[use[i]];
	return &slab->death[machine->flow->local[item->record]];
}

struct dfg_err *dfg_finish(struct machine *machine, const struct ready *item, const struct death *death, uint64_t began)
{
	if (machine->plan->session->options.trace)
		trace(machine, item, began);
	DFG_TRY(pass_on(machine, item, death));
	dfg_consume(machine, item->slab, item->record);
	item->slab->outstanding--;
	return dfg_settle(machine, item->slab);
}

/* The kernel that ran asked for a pause. */
static void rest(struct runner *runner, const struct ready *item, uint64_t began)
{
	struct rest *rest = (struct rest *)runner->pausing;
	runner->pausing = NULL;
	rest->slab = item->slab;
	rest->record = item->record;
	rest->began = began;
}

struct dfg_err *dfg_process(struct machine *machine, struct runner *runner, const struct ready *item, uint64_t began)
{
	const struct record *record = &machine->plan->record[item->record];
	const struct death *death = item->dead ? dfg_death_of(machine, item) : NULL;
	bool waits = false;
	if (machine->watch.on)
		DFG_TRY(dfg_place_note(dfg_watch_check(&machine->watch), item->slab, record->call));
	if (!death && record->role == DFG_SLEEP)
		return dfg_place_note(dfg_sleep(machine, item->slab, item->record, began), item->slab, record->call);
	if (!death && record->role == DFG_RECV)
		return dfg_receive(machine, item->slab, item->record, began);
	if (record->role == DFG_SEND)
		DFG_TRY(dfg_place_note(dfg_send(machine, item, began, &waits), item->slab, record->call));
	else if (!death)
		DFG_TRY(dfg_place_note(run(machine, runner, item, &waits), item->slab, record->call));
	if (runner->pausing) {
		rest(runner, item, began);
		return NULL;
	}
	return waits ? NULL : dfg_finish(machine, item, death, began);
}

static struct dfg_err *end_sleeps(struct machine *machine)
{
	while (machine->sleepers && machine->sleeper->due <= dfg_now()) {
		struct sleeper sleeper = dfg_sleeper_pop(machine);
		DFG_TRY(dfg_finish(machine, &(struct ready){sleeper.slab, sleeper.record, false}, NULL, sleeper.began));
	}
	return NULL;
}

static struct dfg_err *process(struct machine *machine, struct runner *runner, const struct ready *item)
{
	const struct record *record = &machine->plan->record[item->record];
	bool timed = machine->plan->session->options.trace || record->role == DFG_SLEEP || record->role == DFG_RECV ||
				 record->role == DFG_SEND;
	return dfg_process(machine, runner, item, timed ? dfg_now() : 0);
}

static struct dfg_err *run_next(struct machine *machine, struct runner *runner, bool *out_idle)
{
	struct ready item;
	if (machine->sleepers)
		DFG_TRY(end_sleeps(machine));
	if (machine->expected) {
		dfg_glance(machine);
		DFG_TRY(dfg_open_parcels(machine));
	}
	if (machine->resting)
		DFG_TRY(dfg_run_rests(machine, runner));
	struct queue *queue = machine->cheap.count ? &machine->cheap : &machine->expensive;
	*out_idle = !queue->count;
	if (*out_idle)
		return NULL;
	DFG_TRY(pop(machine, queue, &item));
	if (machine->expensive.count)
		dfg_ask_for_help(machine);
	return process(machine, runner, &item);
}

/* Runs what is ready until nothing is. With the lock held, before and after. */
void dfg_work(struct machine *machine, struct runner *runner)
{
	bool idle = false;
	while (!machine->stop && !idle) {
		struct dfg_err *err = run_next(machine, runner, &idle);
		machine->stop |= err != NULL;
		machine->err = dfg_err_join(machine->err, err);
	}
}

/* For a helper to leave, for somebody's time to come, or for the step's to be over. Gives the lock up meanwhile. */
static void wait(struct machine *machine)
{
	enum { LOOK_NS = 20000000 }; /* how often, for whether the step was stopped */
	const struct watch *watch = &machine->watch;
	uint32_t seen = atomic_load(&machine->event.word);
	uint64_t until = machine->sleepers ? machine->sleeper->due : 0;
	bool idle = machine->sleepers || machine->expected || machine->resting;
	if (idle && watch->deadline && (!until || watch->deadline < until))
		until = watch->deadline;
	if (idle && watch->options->cancel && (!until || dfg_now() + LOOK_NS < until))
		until = dfg_now() + LOOK_NS;
	bool expects = machine->expected;
	dfg_unlock(machine);
	if (expects)
		dfg_poll(machine, seen, until);
	else if (until)
		dfg_event_wait_until(&machine->event, seen, until);
	else
		dfg_event_wait(&machine->event, seen);
	dfg_lock(machine);
	if (!machine->stop && watch->on && (machine->err = dfg_note_parcels(machine, dfg_watch_check(watch))))
		machine->stop = true;
}

/* All that waits waits for a kernel, and there is none. */
static bool is_stuck(const struct machine *machine)
{
	return machine->plan->session->options.alone && !atomic_load(&machine->awake);
}

/* Works, and waits for the helpers and the sleepers, until nothing is left to do. */
static void work_to_the_end(struct machine *machine)
{
	dfg_lock(machine);
	for (;;) {
		dfg_work(machine, &machine->runner);
		dfg_take_back_helpers(machine);
		bool waits = machine->sleepers || machine->expected || (machine->resting && !is_stuck(machine));
		if (!machine->helpers && (machine->stop || !waits))
			break;
		wait(machine);
	}
	dfg_unlock(machine);
}

static void lend(struct machine *machine, uint32_t slot, const struct dfg_tensor *tensor)
{
	uint32_t local = machine->flow->slot_local[slot];
	machine->root->tensor[local] = *tensor;
	machine->root->state[local] = LENT;
}

static struct dfg_err *begin(struct machine *machine, const struct dfg_tensor *feeds)
{
	const struct dfg_plan *plan = machine->plan;
	struct flow *flow = machine->flow;
	machine->stop = false;
	machine->err = NULL;
	machine->stats = (struct dfg_stats){0};
	machine->waiting = machine->free_waiter = 0;
	machine->waiters = machine->sleepers = 0;
	machine->expected = machine->resting = 0;
	machine->random = plan->session->options.schedule_seed;
	dfg_watch_begin(&machine->watch, &plan->session->options);
	DFG_TRY(dfg_slab_take(machine, 0, &machine->root));
	for (uint32_t i = 0; i < plan->slots; i++)
		if (plan->kind[i] == SLOT_PRESET)
			lend(machine, i, &plan->preset[i]);
	for (uint32_t i = 0; i < plan->step.n_feed; i++)
		lend(machine, plan->first_feed + i, &feeds[i]);
	for (uint32_t i = 0; i < flow->n_source; i++)
		DFG_TRY(dfg_make_ready(machine, machine->root, flow->source[i], false));
	for (uint32_t i = 0; i < flow->n_start; i++)
		DFG_TRY(dfg_arrive(machine, machine->root, &flow->start[i], NULL));
	return NULL;
}

/* What the step left, whole or broken off, goes back to the free lists. */
static void clear(struct machine *machine)
{
	machine->cheap.count = machine->expensive.count = 0;
	for (struct slab *slab = machine->slabs; slab; slab = slab->made)
		if (slab->used)
			dfg_slab_give(machine, slab);
	for (struct frame *frame = machine->frames; frame; frame = frame->made)
		if (frame->used)
			dfg_frame_give(machine, frame);
}

static struct dfg_err *give_fetches(struct machine *machine, struct dfg_tensor *out_fetches)
{
	const struct dfg_plan *plan = machine->plan;
	struct dfg_err *err = NULL;
	uint32_t i;
	for (i = 0; i < plan->step.n_fetch && !err; i++) {
		uint32_t slot = machine->flow->slot_local[plan->fetch[i]];
		const struct dfg_tensor *tensor = &machine->root->tensor[slot];
		out_fetches[i] = (struct dfg_tensor){0};
		if (machine->root->state[slot] != LIVE && machine->root->state[slot] != LENT)
			err = dfg_explain(machine, i);
		else if (dfg_is_ref(tensor))
			err = dfg_variable_read(tensor->data, &out_fetches[i]);
		else
			err = dfg_tensor_share(tensor, &out_fetches[i]);
	}
	while (err && i--)
		dfg_tensor_release(&out_fetches[i]);
	return err;
}

static void free_machine(struct machine *machine)
{
	dfg_helpers_free(machine);
	while (machine->slabs) {
		struct slab *slab = machine->slabs;
		machine->slabs = slab->made;
		for (uint32_t i = 0; i < slab->loop->saves; i++)
			dfg_store_release(&slab->store[i]);
		dfg_free(slab);
	}
	while (machine->parcels) {
		struct parcel *parcel = machine->parcels;
		machine->parcels = parcel->made;
		dfg_free(parcel);
	}
	while (machine->frames) {
		struct frame *frame = machine->frames;
		machine->frames = frame->made;
		dfg_free(frame);
	}
	while (machine->rests) {
		struct rest *rest = machine->rests;
		machine->rests = rest->made;
		dfg_free(rest);
	}
	dfg_runner_release(&machine->runner);
	dfg_free(machine->free_slab);
	dfg_free(machine->free_frame);
	dfg_free(machine->waiter);
	dfg_free(machine->sleeper);
	dfg_free(machine->cheap.item);
	dfg_free(machine->expensive.item);
	pthread_mutex_destroy(&machine->lock);
	dfg_free(machine);
}

static struct dfg_err *new_machine(struct dfg_plan *plan, struct machine **out_machine)
{
	struct machine *machine = dfg_zeros(1, sizeof *machine);
	if (!machine)
		return dfg_no_memory("the values of the step");
	int threads = dfg_pool_threads(plan->session->pool);
	machine->plan = plan;
	machine->flow = plan->flow;
	machine->shared = threads > 1;
	machine->runner = (struct runner){.session = plan->session, .machine = machine, .pause = dfg_rest_new};
	machine->free_slab = dfg_zeros(plan->flow->loops, sizeof(struct slab *));
	machine->free_frame = dfg_zeros(plan->flow->loops, sizeof(struct frame *));
	machine->helper = dfg_helpers_new(machine);
	bool locked = !pthread_mutex_init(&machine->lock, NULL);
	if (!locked || !machine->free_slab || !machine->free_frame || !machine->helper) {
		free_machine(machine);
		return dfg_no_memory("the values of the step");
	}
	*out_machine = machine;
	return NULL;
}

void dfg_machines_free(struct dfg_plan *plan)
{
	while (plan->idle_machine) {
		struct machine *machine = plan->idle_machine;
		plan->idle_machine = machine->next;
		free_machine(machine);
	}
}

static struct dfg_err *take(struct dfg_plan *plan, struct machine **out_machine)
{
	pthread_mutex_lock(&plan->lock);
	struct machine *machine = *out_machine = plan->idle_machine;
	uint64_t run = ++plan->runs;
	if (machine)
		plan->idle_machine = machine->next;
	pthread_mutex_unlock(&plan->lock);
	if (!machine)
		DFG_TRY(new_machine(plan, out_machine));
	(*out_machine)->run = run;
	return NULL;
}

static void give_back(struct machine *machine, size_t peak)
{
	struct dfg_plan *plan = machine->plan;
	pthread_mutex_lock(&plan->lock);
	plan->stats = machine->stats;
	plan->stats.peak_bytes = plan->stats.live_bytes = peak;
	machine->next = plan->idle_machine;
	plan->idle_machine = machine;
	pthread_mutex_unlock(&plan->lock);
}

struct dfg_err *dfg_machine_run(struct dfg_plan *plan, const struct dfg_tensor *feeds, struct dfg_tensor *out_fetches)
{
	struct machine *machine;
	DFG_TRY(take(plan, &machine));
	size_t before = dfg_buffers_mark(plan->session->buffers);
	machine->err = begin(machine, feeds);
	if (!machine->err)
		work_to_the_end(machine);
	if (plan->transfers) {
		dfg_end_parcels(machine);
		dfg_dismiss_helper(machine);
	}
	if (!machine->err && machine->resting)
		machine->err = dfg_explain_rests(machine);
	dfg_end_rests(machine);
	if (!machine->err && plan->choose)
		machine->err = plan->choose(plan->choose_arg, machine, 0, &(size_t){0});
	if (!machine->err && machine->waiting)
		machine->err = dfg_explain_waiting(machine);
	if (!machine->err)
		machine->err = give_fetches(machine, out_fetches);
	struct dfg_err *err = machine->err;
	clear(machine);
	machine->stats.left = machine->live_frames + machine->live_slabs + machine->live_saves;
	give_back(machine, dfg_buffers_peak(plan->session->buffers) - before);
	return err;
}
