#include "lib/exec/plan.h"

#include <string.h>

/* A step of a graph without loops, record by record in the order of the plan. */
struct line {
	struct line *next;
	struct dfg_plan *plan;
	struct dfg_tensor *tensor; /* by slot */
	struct dfg_tensor **at;    /* by use */
	bool *dead;                /* by slot */
	struct death *death;       /* by record */
	uint32_t *last;            /* by slot: the record that reads it last, or DFG_NONE */
	struct runner runner;
	struct watch watch;
	uint64_t dead_tokens;
};

static struct dfg_tensor *output(const struct line *line, const struct record *record, int i)
{
	return line->at[record->first + record->n_in + (uint32_t)i];
}

static uint32_t out_slot(const struct line *line, const struct record *record, int i)
{
	return line->plan->slot[record->first + record->n_in + (uint32_t)i];
}

static struct dfg_err *pass(struct line *line, const struct record *record, int i, int j)
{
	return dfg_pass(
		line->at[record->first + (uint32_t)j], line->plan->is_ref[out_slot(line, record, i)], output(line, record, i));
}

static struct dfg_err *run_switch(struct line *line, const struct record *record)
{
	int chosen;
	DFG_TRY(dfg_choose(line->at[record->first + 1], record->n_out, &chosen));
	line->death[record - line->plan->record].chosen = chosen;
	for (int i = 0; i < record->n_out; i++)
		line->dead[out_slot(line, record, i)] = i != chosen;
	return pass(line, record, chosen, 0);
}

static struct dfg_err *run_merge(struct line *line, const struct record *record)
{
	int live = -1;
	for (int i = 0; i < record->n_in; i++) {
		if (line->dead[line->plan->slot[record->first + (uint32_t)i]])
			continue;
		if (live >= 0)
			return DFG_ERR(DFG_DATA, "inputs %d and %d are both live", live, i);
		live = i;
	}
	DFG_TRY(pass(line, record, 0, live));
	DFG_TRY(dfg_scalar(line->plan->session, DFG_I32, output(line, record, 1)));
	*(int32_t *)output(line, record, 1)->data = live;
	return NULL;
}

/* The Switch that killed the slot. */
static struct death death_of(const struct line *line, uint32_t slot)
{
	uint32_t r = line->plan->maker[slot];
	struct death death = line->death[r];
	return death.killer ? death : (struct death){.killer = r + 1, .chosen = death.chosen};
}

/* Strict nodes die of one dead input, a Merge of all, a ControlTrigger of none. */
static bool is_dead(const struct line *line, const struct record *record, struct death *out_death)
{
	const struct dfg_plan *plan = line->plan;
	int dead = 0;
	if (record->role == DFG_CONTROL_TRIGGER)
		return false;
	for (int i = 0; i < record->n_in; i++) {
		uint32_t slot = plan->slot[record->first + (uint32_t)i];
		if (line->dead[slot] && !dead++)
			*out_death = death_of(line, slot);
	}
	if (record->role == DFG_MERGE)
		return dead == record->n_in;
	for (uint32_t i = 0; i < record->n_control && !dead; i++) {
		*out_death = line->death[plan->control[record->first_control + i]];
		dead += out_death->killer != 0;
	}
	return dead;
}

static struct dfg_err *run_kernel(struct line *line, const struct record *record)
{
	struct dfg_tensor **at = line->at + record->first;
	uint32_t r = (uint32_t)(record - line->plan->record);
	line->runner.in_place = 0;
	for (int i = 0; i < record->n_in && i < 32 && record->in_place; i++) {
		uint32_t slot = line->plan->slot[record->first + (uint32_t)i];
		bool once = line->plan->kind[slot] == SLOT_VALUE && line->last[slot] == r;
		for (int j = 0; j < record->n_in; j++)
			once &= i == j || at[i] != at[j];
		line->runner.in_place |= (uint32_t)once << i;
	}
	DFG_TRY(dfg_runner_run(&line->runner, record, at, at + record->n_in));
	return line->plan->session->options.check_numerics ? dfg_check_numerics(record->call, at + record->n_in) : NULL;
}

static struct dfg_err *run_record(struct line *line, const struct record *record)
{
	struct death death = {0};
	if (record->may_die && is_dead(line, record, &death)) {
		for (int i = 0; i < record->n_out; i++)
			line->dead[out_slot(line, record, i)] = true;
		line->death[record - line->plan->record] = death;
		line->dead_tokens++;
		return NULL;
	}
	switch (record->role) {
	case DFG_SWITCH:
		return run_switch(line, record);
	case DFG_MERGE:
		return run_merge(line, record);
	case DFG_IDENTITY:
	case DFG_PLACEHOLDER_DEFAULT:
	case DFG_LOOP_COND:
		for (int i = 0; i < record->n_out; i++)
			DFG_TRY(pass(line, record, i, i));
		return NULL;
	default:
		return record->run && !record->preset ? run_kernel(line, record) : NULL;
	}
}

static void release_spent(struct line *line, const struct record *record)
{
	for (uint32_t i = 0; i < (uint32_t)record->n_in + record->n_out; i++) {
		uint32_t slot = line->plan->slot[record->first + i];
		if (line->last[slot] == (uint32_t)(record - line->plan->record) && line->plan->kind[slot] == SLOT_VALUE)
			dfg_tensor_release(&line->tensor[slot]);
	}
}

static void trace(const struct line *line, const struct record *record, uint64_t begin)
{
	const struct dfg_session_options *options = line->watch.options;
	options->trace(options->trace_arg, &(struct dfg_trace_event){
										   .node = record->call->node,
										   .op = record->call->op->name,
										   .frame = "",
										   .thread = dfg_pool_thread(),
										   .dead = line->death[record - line->plan->record].killer,
										   .begin_ns = begin,
										   .end_ns = dfg_now(),
									   });
}

static struct dfg_err *run_all(struct line *line)
{
	const struct dfg_plan *plan = line->plan;
	bool traced = line->watch.options->trace;
	for (uint32_t r = 0; r < plan->count; r++) {
		const struct record *record = &plan->record[r];
		uint64_t begin = traced ? dfg_now() : 0;
		if (line->watch.deadline)
			DFG_TRY(dfg_call_note(dfg_watch_deadline(&line->watch), record->call));
		struct dfg_err *err = run_record(line, record);
		if (err)
			return dfg_call_note(err, record->call);
		if (traced)
			trace(line, record, begin);
		release_spent(line, record);
	}
	return NULL;
}

static struct dfg_err *give_fetches(struct line *line, struct dfg_tensor *out_fetches)
{
	const struct dfg_plan *plan = line->plan;
	struct dfg_err *err = NULL;
	uint32_t i;
	for (i = 0; i < plan->step.n_fetch && !err; i++) {
		const struct dfg_tensor *tensor = &line->tensor[plan->fetch[i]];
		struct death death;
		out_fetches[i] = (struct dfg_tensor){0};
		if (line->dead[plan->fetch[i]])
			death = death_of(line, plan->fetch[i]), err = dfg_dead_fetch(plan, i, &death);
		else if (dfg_is_ref(tensor))
			err = dfg_variable_read(tensor->data, &out_fetches[i]);
		else
			err = dfg_tensor_share(tensor, &out_fetches[i]);
	}
	while (err && i--)
		dfg_tensor_release(&out_fetches[i]);
	return err;
}

static void find_last_uses(struct line *line)
{
	const struct dfg_plan *plan = line->plan;
	for (uint32_t r = 0; r < plan->count; r++)
		for (uint32_t i = 0; i < (uint32_t)plan->record[r].n_in + plan->record[r].n_out; i++)
			line->last[plan->slot[plan->record[r].first + i]] = r;
	for (uint32_t i = 0; i < plan->step.n_fetch; i++)
		line->last[plan->fetch[i]] = DFG_NONE;
	for (uint32_t i = 0; i < plan->uses; i++)
		line->at[i] = &line->tensor[plan->slot[i]];
	for (uint32_t i = 0; i < plan->slots; i++)
		if (plan->kind[i] == SLOT_PRESET)
			line->tensor[i] = plan->preset[i];
}

static void free_line(struct line *line)
{
	dfg_runner_release(&line->runner);
	dfg_free(line->tensor);
	dfg_free(line->at);
	dfg_free(line->dead);
	dfg_free(line->death);
	dfg_free(line->last);
	dfg_free(line);
}

static struct dfg_err *new_line(struct dfg_plan *plan, struct line **out_line)
{
	struct line *line = dfg_zeros(1, sizeof *line);
	if (!line)
		return dfg_no_memory();
	line->plan = plan;
	line->runner.session = plan->session;
	line->tensor = dfg_zeros(plan->slots, sizeof *line->tensor);
	line->at = dfg_zeros(plan->uses, sizeof *line->at);
	line->dead = dfg_zeros(plan->slots, sizeof *line->dead);
	line->death = dfg_zeros(plan->count, sizeof *line->death);
	line->last = dfg_zeros(plan->slots, sizeof *line->last);
	if (!line->tensor || !line->at || !line->dead || !line->death || !line->last) {
		free_line(line);
		return dfg_no_memory();
	}
	find_last_uses(line);
	*out_line = line;
	return NULL;
}

void dfg_lines_free(struct dfg_plan *plan)
{
	while (plan->lines) {
		struct line *line = plan->lines;
		plan->lines = line->next;
		free_line(line);
	}
}

static struct dfg_err *take(struct dfg_plan *plan, struct line **out_line)
{
	pthread_mutex_lock(&plan->lock);
	struct line *line = *out_line = plan->lines;
	if (line)
		plan->lines = line->next;
	pthread_mutex_unlock(&plan->lock);
	return line ? NULL : new_line(plan, out_line);
}

static void give_back(struct line *line, size_t peak)
{
	struct dfg_plan *plan = line->plan;
	for (uint32_t i = 0; i < plan->slots; i++) {
		if (plan->kind[i] == SLOT_VALUE || plan->kind[i] == SLOT_REF)
			dfg_tensor_release(&line->tensor[i]);
		line->dead[i] = false;
	}
	memset(line->death, 0, plan->count * sizeof *line->death);
	pthread_mutex_lock(&plan->lock);
	plan->stats = (struct dfg_stats){.peak_bytes = peak, .live_bytes = peak, .dead_tokens = line->dead_tokens};
	line->dead_tokens = 0;
	line->next = plan->lines;
	plan->lines = line;
	pthread_mutex_unlock(&plan->lock);
}

struct dfg_err *dfg_line_run(struct dfg_plan *plan, const struct dfg_tensor *feeds, struct dfg_tensor *out_fetches)
{
	struct line *line;
	DFG_TRY(take(plan, &line));
	size_t before = dfg_buffers_mark(plan->session->buffers);
	for (uint32_t i = 0; i < plan->step.n_feed; i++)
		line->tensor[plan->first_feed + i] = feeds[i];
	dfg_watch_begin(&line->watch, &plan->session->options);
	struct dfg_err *err = run_all(line);
	if (!err)
		err = give_fetches(line, out_fetches);
	give_back(line, dfg_buffers_peak(plan->session->buffers) - before);
	return err;
}
