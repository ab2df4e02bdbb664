#include "lib/exec/line.h"

#include <string.h>

/* What one step works in. */
struct line {
	struct line *next;
	struct layout *layout;
	const struct dfg_plan *plan;
	void *block;
	struct dfg_tensor *tensor; /* by slot */
	struct dfg_tensor **at;    /* by use */
	void **data;               /* by use: of what has a fixed place */
	bool *dead;                /* by slot */
	struct death *death;       /* by record */
	bool dying;                /* some slot is dead */
	size_t before, live;
	struct runner runner;
	struct watch watch;
	uint64_t dead_tokens;
};

static struct dfg_tensor *output(const struct line *line, const struct op *op, int i)
{
	return line->at[op->first + op->record->n_in + (uint32_t)i];
}

static uint32_t in_slot(const struct line *line, const struct op *op, int i)
{
	return line->layout->use[op->first + (uint32_t)i];
}

static uint32_t out_slot(const struct line *line, const struct op *op, int i)
{
	return line->layout->use[op->first + op->record->n_in + (uint32_t)i];
}

static struct dfg_err *pass(struct line *line, const struct op *op, int i, int j)
{
	return dfg_pass(line->at[op->first + (uint32_t)j], line->plan->is_ref[out_slot(line, op, i)], output(line, op, i));
}

static struct dfg_err *run_switch(struct line *line, const struct op *op)
{
	int chosen;
	DFG_TRY(dfg_choose(line->at[op->first + 1], op->record->n_out, &chosen));
	line->death[op->record - line->plan->record].chosen = chosen;
	line->dying = true;
	for (int i = 0; i < op->record->n_out; i++)
		line->dead[out_slot(line, op, i)] = i != chosen;
	return pass(line, op, chosen, 0);
}

static struct dfg_err *run_merge(struct line *line, const struct op *op)
{
	int live = -1;
	for (int i = 0; i < op->record->n_in; i++) {
		if (line->dead[in_slot(line, op, i)])
			continue;
		bool same = live >= 0 && !op->record->tells_index &&
					dfg_same_value(line->at[op->first + (uint32_t)live], line->at[op->first + (uint32_t)i]);
		if (live >= 0 && !same)
			return DFG_ERR(DFG_DATA, "inputs %d and %d are both live", live, i);
		live = live < 0 ? i : live;
	}
	DFG_TRY(pass(line, op, 0, live));
	DFG_TRY(dfg_scalar(line->plan->session, DFG_I32, output(line, op, 1)));
	*(int32_t *)output(line, op, 1)->data = live;
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
static bool is_dead(const struct line *line, const struct op *op, struct death *out_death)
{
	const struct record *record = op->record;
	int dead = 0;
	if (record->role == DFG_CONTROL_TRIGGER)
		return false;
	for (int i = 0; i < record->n_in; i++) {
		uint32_t slot = in_slot(line, op, i);
		if (line->dead[slot] && !dead++)
			*out_death = death_of(line, slot);
	}
	if (record->role == DFG_MERGE)
		return dead == record->n_in;
	for (uint32_t i = 0; i < record->n_control && !dead; i++) {
		*out_death = line->death[line->plan->control[record->first_control + i]];
		dead += out_death->killer != 0;
	}
	return dead;
}

static void start_slot(struct line *line, uint32_t slot)
{
	line->tensor[slot] = line->layout->start[slot];
	if (line->layout->in_block[slot])
		line->tensor[slot].data = (char *)line->block + (uintptr_t)line->layout->start[slot].data;
}

/* A kernel gave a buffer for what has its place in the block, where others expect it. */
static struct dfg_err *bring_home(struct line *line, uint32_t slot)
{
	struct dfg_tensor given = line->tensor[slot];
	const struct dfg_tensor *start = &line->layout->start[slot];
	bool fits = given.dtype == start->dtype && dfg_shape_equal(&given.shape, &start->shape);
	start_slot(line, slot);
	if (fits && start->room)
		memcpy(line->tensor[slot].data, given.data, start->room);
	struct dfg_err *err =
		fits ? NULL
			 : DFG_ERR(DFG_BUG, "the result is %s, but was inferred to be %s",
				   dfg_type_words(given.dtype, &given.shape).s, dfg_type_words(start->dtype, &start->shape).s);
	dfg_tensor_release(&given);
	return err;
}

/* What the kernel took or gave counts as alive with what the block holds. */
static struct dfg_err *see_buffers(struct line *line, const struct op *op)
{
	size_t alive = line->layout->alive[op - line->layout->op];
	size_t live = alive + dfg_buffers_used(line->plan->session->buffers) - line->before;
	line->live = live > line->live ? live : line->live;
	line->runner.took = false;
	for (int i = 0; i < op->record->n_out; i++)
		if (line->layout->in_block[out_slot(line, op, i)] && output(line, op, i)->buffer)
			DFG_TRY(bring_home(line, out_slot(line, op, i)));
	return NULL;
}

static struct dfg_err *run_kernel(struct line *line, const struct op *op)
{
	struct dfg_tensor **at = line->at + op->first;
	line->runner.in_place = op->in_place;
	struct dfg_err *err = dfg_runner_run(&line->runner, op->record, at, at + op->record->n_in);
	if (!err && line->watch.options->check_numerics)
		err = dfg_check_numerics(op->record->call, at + op->record->n_in);
	return line->runner.took ? dfg_err_join(err, see_buffers(line, op)) : err;
}

static void run_row(const struct line *line, const struct op *op)
{
	struct dfg_tensor *const *at = line->at + op->first;
	const void *in[DFG_ROW_OPERANDS];
	for (int i = 0; i < op->n_in; i++)
		in[i] = at[i]->data;
	op->row(op->n, at[op->n_in]->data, in, op->attr);
}

static struct dfg_err *run_new(struct line *line, const struct op *op)
{
	uint32_t slot = line->layout->use[op->first + op->n_in];
	struct dfg_tensor *out = &line->tensor[slot];
	struct dfg_buffer *buffer;
	*out = line->layout->start[slot];
	DFG_TRY(dfg_buffers_take(line->plan->session->buffers, out->dtype, out->room, &buffer));
	out->buffer = buffer;
	out->data = buffer->data;
	run_row(line, op);
	return see_buffers(line, op);
}

static void run_view(const struct line *line, const struct op *op)
{
	const struct dfg_tensor *in = line->at[op->first];
	struct dfg_tensor *out = line->at[op->first + op->record->n_in];
	out->data = in->data;
	out->buffer = in->buffer;
}

static struct dfg_err *run_any(struct line *line, const struct op *op)
{
	const struct record *record = op->record;
	struct death death = {0};
	if (record->may_die && is_dead(line, op, &death)) {
		for (int i = 0; i < record->n_out; i++)
			line->dead[out_slot(line, op, i)] = true;
		line->death[record - line->plan->record] = death;
		line->dead_tokens++;
		return NULL;
	}
	switch (record->role) {
	case DFG_SWITCH:
		return run_switch(line, op);
	case DFG_MERGE:
		return run_merge(line, op);
	case DFG_IDENTITY:
	case DFG_PLACEHOLDER_DEFAULT:
	case DFG_LOOP_COND:
		for (int i = 0; i < record->n_out; i++)
			DFG_TRY(pass(line, op, i, i));
		return NULL;
	default:
		return record->run ? run_kernel(line, op) : NULL;
	}
}

static struct dfg_err *run_op(struct line *line, const struct op *op)
{
	switch ((enum op_kind)op->kind) {
	case OP_ROW:
	case OP_GATHER:
		run_row(line, op);
		return NULL;
	case OP_NEW:
		return run_new(line, op);
	case OP_KERNEL:
		return run_kernel(line, op);
	case OP_VIEW:
		run_view(line, op);
		return NULL;
	case OP_ANY:
		break;
	}
	return run_any(line, op);
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

static struct dfg_err *run_watched(struct line *line, const struct op *op)
{
	uint64_t begin = dfg_now();
	if (line->watch.deadline)
		DFG_TRY(dfg_watch_deadline(&line->watch));
	DFG_TRY(run_op(line, op));
	if (line->watch.options->trace)
		trace(line, op->record, begin);
	return NULL;
}

static struct dfg_err *run_one(struct line *line, const struct op *op, bool watched)
{
	struct dfg_err *err = watched ? run_watched(line, op) : run_op(line, op);
	if (err)
		return dfg_call_note(err, op->record->call);
	for (uint32_t i = 0; i < op->n_release; i++)
		dfg_tensor_release(&line->tensor[line->layout->release[op->first_release + i]]);
	return NULL;
}

/* The whole step: one indirect call a node, and nothing to decide where shapes are known. */
static struct dfg_err *run_all(struct line *line)
{
	const struct layout *layout = line->layout;
	bool watched = line->watch.options->trace || line->watch.deadline;
	for (const struct op *op = layout->op, *end = op + layout->count; op < end; op++)
		if (op->kind == OP_ROW && !watched)
			op->row(op->n, line->data[op->first + op->n_in], (const void *const *)line->data + op->first, op->attr);
		else
			DFG_TRY(run_one(line, op, watched));
	return NULL;
}

static struct dfg_err *give_fetch(struct line *line, uint32_t i, struct dfg_tensor *out_fetch)
{
	uint32_t slot = line->layout->fetch[i];
	struct dfg_tensor *tensor = &line->tensor[slot];
	*out_fetch = (struct dfg_tensor){0};
	if (line->dead[slot]) {
		struct death death = death_of(line, slot);
		return dfg_dead_fetch(line->plan, i, &death);
	}
	if (dfg_is_ref(tensor))
		return dfg_variable_read(tensor->data, out_fetch);
	if (!line->layout->moves[i] || !tensor->buffer)
		return dfg_tensor_share(tensor, out_fetch);
	*out_fetch = *tensor;
	*tensor = (struct dfg_tensor){0};
	return NULL;
}

static struct dfg_err *give_fetches(struct line *line, struct dfg_tensor *out_fetches)
{
	for (uint32_t i = 0; i < line->plan->step.n_fetch; i++) {
		struct dfg_err *err = give_fetch(line, i, &out_fetches[i]);
		if (!err)
			continue;
		while (i--)
			dfg_tensor_release(&out_fetches[i]);
		return err;
	}
	return NULL;
}

static void free_line(struct line *line)
{
	dfg_runner_release(&line->runner);
	dfg_free(line->block);
	dfg_free(line->tensor);
	dfg_free(line->at);
	dfg_free(line->data);
	dfg_free(line->dead);
	dfg_free(line->death);
	dfg_free(line);
}

void dfg_lines_free(struct line *line)
{
	while (line) {
		struct line *next = line->next;
		free_line(line);
		line = next;
	}
}

static struct dfg_err *new_line(struct layout *layout, struct line **out_line)
{
	const struct dfg_plan *plan = layout->plan;
	struct line *line = dfg_zeros(1, sizeof *line);
	if (!line)
		return dfg_no_memory();
	line->layout = layout;
	line->plan = plan;
	line->runner.session = plan->session;
	line->block = layout->block < SIZE_MAX / 4 ? dfg_mem->take(dfg_mem, layout->block, DFG_ALIGN) : NULL;
	line->tensor = dfg_zeros(plan->slots, sizeof *line->tensor);
	line->at = dfg_zeros(layout->uses, sizeof *line->at);
	line->data = dfg_zeros(layout->uses, sizeof *line->data);
	line->dead = dfg_zeros(plan->slots, sizeof *line->dead);
	line->death = dfg_zeros(plan->count, sizeof *line->death);
	if (!line->block || !line->tensor || !line->at || !line->data || !line->dead || !line->death) {
		free_line(line);
		return DFG_ERR(DFG_MEMORY, "no memory for a step of %zu bytes", layout->block);
	}
	for (uint32_t i = 0; i < plan->slots; i++)
		start_slot(line, i);
	for (uint32_t i = 0; i < layout->uses; i++) {
		line->at[i] = &line->tensor[layout->use[i]];
		line->data[i] = line->at[i]->data;
	}
	*out_line = line;
	return NULL;
}

/* After a step: as the next one finds it. */
static void reset(struct line *line, bool failed)
{
	const struct layout *layout = line->layout;
	for (uint32_t i = 0; i < (failed ? layout->n_counted : layout->n_final); i++)
		dfg_tensor_release(&line->tensor[layout->counted[i]]);
	if (line->dying) {
		memset(line->dead, 0, line->plan->slots * sizeof *line->dead);
		memset(line->death, 0, line->plan->count * sizeof *line->death);
	}
	line->dying = false;
}

static void give_back(struct line *line, struct layout *layout)
{
	struct dfg_plan *plan = layout->plan;
	size_t peak = dfg_buffers_peak(plan->session->buffers);
	pthread_mutex_lock(&plan->lock);
	plan->stats = (struct dfg_stats){
		.peak_bytes = layout->block + (peak > line->before ? peak - line->before : 0),
		.live_bytes = line->live > layout->live ? line->live : layout->live,
		.dead_tokens = line->dead_tokens,
	};
	line->dead_tokens = 0;
	line->live = 0;
	line->next = layout->idle;
	layout->idle = line;
	pthread_mutex_unlock(&plan->lock);
}

static bool is_for(const struct layout *layout, const struct dfg_tensor *feeds)
{
	for (uint32_t i = 0; layout->feed && i < layout->plan->step.n_feed; i++)
		if (!dfg_shape_equal(&layout->feed[i], &feeds[i].shape))
			return false;
	return true;
}

/* More layouts than that are not kept for feeds of ever new shapes: the last one fits all. */
enum { LAYOUTS_MOST = 64 };

static struct dfg_err *find_layout(struct dfg_plan *plan, const struct dfg_tensor *feeds, struct layout **out_layout)
{
	struct layout *layout = plan->layouts;
	while (layout->next && !is_for(layout, feeds))
		layout = layout->next;
	*out_layout = layout;
	if (layout->next || layout->feed || plan->sized || plan->n_layouts >= LAYOUTS_MOST)
		return NULL;
	DFG_TRY(dfg_layout_make(plan, feeds, &layout));
	layout->next = plan->layouts;
	plan->layouts = *out_layout = layout;
	plan->n_layouts++;
	return NULL;
}

struct dfg_err *dfg_layouts_begin(struct dfg_plan *plan)
{
	plan->sized = true;
	for (uint32_t i = 0; i < plan->step.n_feed; i++)
		plan->sized &= dfg_shape_known(&plan->feed[i].shape);
	return dfg_layout_make(plan, NULL, &plan->layouts);
}

void dfg_layouts_free(struct dfg_plan *plan)
{
	while (plan->layouts) {
		struct layout *layout = plan->layouts;
		plan->layouts = layout->next;
		dfg_layout_free(layout);
	}
}

/* With the plan's lock held. */
static struct dfg_err *take(struct dfg_plan *plan, const struct dfg_tensor *feeds, struct line **out_line)
{
	struct layout *layout;
	DFG_TRY(find_layout(plan, feeds, &layout));
	struct line *line = *out_line = layout->idle;
	if (!line)
		return new_line(layout, out_line);
	layout->idle = line->next;
	return NULL;
}

struct dfg_err *dfg_line_run(struct dfg_plan *plan, const struct dfg_tensor *feeds, struct dfg_tensor *out_fetches)
{
	struct line *line;
	pthread_mutex_lock(&plan->lock);
	struct dfg_err *err = take(plan, feeds, &line);
	pthread_mutex_unlock(&plan->lock);
	if (err)
		return err;
	line->before = dfg_buffers_mark(plan->session->buffers);
	for (uint32_t i = 0; i < plan->step.n_feed; i++)
		line->tensor[plan->first_feed + i] = feeds[i];
	dfg_watch_begin(&line->watch, &plan->session->options);
	err = run_all(line);
	if (!err)
		err = give_fetches(line, out_fetches);
	reset(line, err);
	give_back(line, line->layout);
	return err;
}
