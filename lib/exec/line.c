#include "lib/exec/line.h"

#include <string.h>

/* A move between fixed places. */
struct shift {
	void *to;
	const void *from;
};

/* What one step works in. */
struct line {
	struct line *next;
	struct layout *layout;
	const struct dfg_plan *plan;
	void *block;
	struct dfg_tensor *tensor; /* by slot */
	struct dfg_tensor **at;    /* by use */
	void **data;               /* by use: of what has a fixed place */
	struct shift *shift;       /* by move */
	int32_t *chosen;           /* by flag: the side */
	int64_t *iteration;        /* by loop */
	size_t before, live;
	struct runner runner;
	struct watch watch;
	uint64_t dead_tokens, iterations;
	uint32_t frames, peak_frames; /* loops that run */
};

static struct dfg_tensor *output(const struct line *line, const struct op *op, int i)
{
	return line->at[op->first + op->n_in + (uint32_t)i];
}

static uint32_t out_slot(const struct line *line, const struct op *op, int i)
{
	return line->layout->use[op->first + op->n_in + (uint32_t)i];
}

/* Outputs take references to inputs, of which a Switch has one for all. */
static struct dfg_err *run_pass(struct line *line, const struct op *op)
{
	for (int i = 0; i < op->n_out; i++) {
		uint32_t in = op->record->role == DFG_SWITCH ? 0 : (uint32_t)i;
		dfg_tensor_release(output(line, op, i));
		DFG_TRY(dfg_pass(line->at[op->first + in], line->plan->is_ref[out_slot(line, op, i)], output(line, op, i)));
	}
	return NULL;
}

static void start_slot(struct line *line, uint32_t slot)
{
	line->tensor[slot] = line->layout->start[slot];
	if (line->layout->in_block[slot])
		line->tensor[slot].data = (char *)line->block + (uintptr_t)line->layout->start[slot].data;
}

static struct dfg_err *misfit(const struct dfg_tensor *given, const struct dfg_tensor *start)
{
	return DFG_ERR(DFG_BUG, "the result is %s, but was inferred to be %s",
		dfg_type_words(given->dtype, &given->shape).s, dfg_type_words(start->dtype, &start->shape).s);
}

static bool fits(const struct dfg_tensor *given, const struct dfg_tensor *start)
{
	return given->dtype == start->dtype && dfg_shape_equal(&given->shape, &start->shape);
}

/* A kernel gave a buffer for what has its place in the block, where others expect it. */
static struct dfg_err *bring_home(struct line *line, uint32_t slot)
{
	struct dfg_tensor given = line->tensor[slot];
	const struct dfg_tensor *start = &line->layout->start[slot];
	struct dfg_err *err = fits(&given, start) ? NULL : misfit(&given, start);
	start_slot(line, slot);
	if (!err && start->room)
		memcpy(line->tensor[slot].data, given.data, start->room);
	dfg_tensor_release(&given);
	return err;
}

/* The elements go to the slot's fixed place, wherever they are. */
static struct dfg_err *bring(struct line *line, const struct dfg_tensor *from, uint32_t to)
{
	const struct dfg_tensor *start = &line->layout->start[to];
	struct dfg_tensor value = {0};
	if (dfg_is_ref(from))
		DFG_TRY(dfg_variable_read(from->data, &value));
	else
		value = *from;
	struct dfg_err *err = fits(&value, start) ? NULL : misfit(&value, start);
	if (!err && start->room)
		memmove(line->tensor[to].data, value.data, start->room);
	if (dfg_is_ref(from))
		dfg_tensor_release(&value);
	return err;
}

/* What the kernel took or gave counts as alive with what the block holds. */
static struct dfg_err *see_buffers(struct line *line, const struct op *op)
{
	size_t alive = line->layout->alive[op - line->layout->op];
	size_t live = alive + dfg_buffers_used(line->plan->session->buffers) - line->before;
	line->live = live > line->live ? live : line->live;
	line->runner.took = false;
	for (int i = 0; i < op->n_out; i++)
		if (line->layout->in_block[out_slot(line, op, i)] && output(line, op, i)->buffer)
			DFG_TRY(bring_home(line, out_slot(line, op, i)));
	return NULL;
}

static struct dfg_err *run_kernel(struct line *line, const struct op *op)
{
	struct dfg_tensor **at = line->at + op->first;
	line->runner.in_place = op->in_place;
	struct dfg_err *err = dfg_runner_run(&line->runner, op->record, at, at + op->n_in);
	if (!err && line->watch.options->check_numerics)
		err = dfg_check_numerics(op->record->call, at + op->n_in);
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
	struct dfg_tensor *out = line->at[op->first + op->n_in];
	out->data = in->data;
	out->buffer = in->buffer;
}

/* Bytes of few sizes are most of all that is copied. */
static void copy(void *to, const void *from, size_t bytes)
{
	switch (bytes) {
	case 1:
		memcpy(to, from, 1);
		return;
	case 4:
		memcpy(to, from, 4);
		return;
	case 8:
		memcpy(to, from, 8);
		return;
	default:
		memcpy(to, from, bytes);
	}
}

static struct dfg_err *move_value(struct line *line, const struct move *move)
{
	struct dfg_tensor *from = &line->tensor[move->from], *to = &line->tensor[move->to];
	if (move->kind == MOVE_BRING)
		return bring(line, from, move->to);
	struct dfg_tensor value = {0};
	if (move->kind == MOVE_TAKE) {
		value = *from;
		*from = (struct dfg_tensor){0};
	} else if (dfg_is_ref(from)) {
		DFG_TRY(dfg_pass(from, line->plan->is_ref[move->to], &value));
	} else {
		DFG_TRY(dfg_tensor_share(from, &value));
	}
	dfg_tensor_release(to);
	*to = value;
	return NULL;
}

static struct dfg_err *run_moves(struct line *line, const struct op *op)
{
	for (uint32_t m = op->first_move; m < op->first_move + op->n_move; m++) {
		const struct move *move = &line->layout->move[m];
		if (move->kind == MOVE_BYTES)
			copy(line->shift[m].to, line->shift[m].from, move->bytes);
		else
			DFG_TRY(move_value(line, move));
	}
	return NULL;
}

static void release(struct line *line, const struct op *op, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++)
		dfg_tensor_release(&line->tensor[line->layout->release[op->first_release + i]]);
}

static struct dfg_err *run_begin(struct line *line, const struct op *op)
{
	line->iteration[op->flag] = 0;
	line->iterations++;
	if (++line->frames > line->peak_frames)
		line->peak_frames = line->frames;
	return run_moves(line, op);
}

static struct dfg_err *run_choose(struct line *line, const struct op *op)
{
	int chosen;
	struct dfg_tensor value = {0};
	const struct dfg_tensor *predicate = line->at[op->first];
	if (dfg_is_ref(predicate))
		DFG_TRY(dfg_variable_read(predicate->data, &value));
	struct dfg_err *err = dfg_choose(value.dtype ? &value : predicate, (int)op->n, &chosen);
	dfg_tensor_release(&value);
	if (!err)
		line->chosen[op->flag] = chosen;
	return err;
}

static struct dfg_err *run_keep(struct line *line, const struct op *op)
{
	dfg_tensor_release(output(line, op, 0));
	return dfg_is_ref(line->at[op->first]) ? run_pass(line, op)
										   : dfg_tensor_share(line->at[op->first], output(line, op, 0));
}

static struct dfg_err *run_index(struct line *line, const struct op *op)
{
	struct dfg_tensor *index = output(line, op, 0);
	if (!index->data)
		DFG_TRY(dfg_scalar(line->plan->session, DFG_I32, index));
	*(int32_t *)index->data = (int32_t)op->n;
	return NULL;
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
	case OP_PASS:
		return run_pass(line, op);
	case OP_BRING:
		return bring(line, line->at[op->first], out_slot(line, op, 0));
	case OP_KEEP:
		return run_keep(line, op);
	case OP_INDEX:
		return run_index(line, op);
	case OP_CHOOSE:
		return run_choose(line, op);
	case OP_BEGIN:
		return run_begin(line, op);
	case OP_COPY:
		copy(line->data[op->first + 1], line->data[op->first], (size_t)op->n);
		return NULL;
	case OP_SKIP:
	case OP_BACK:
	case OP_DROPPED:
		break;
	}
	return NULL;
}

static void trace(const struct line *line, const struct record *record, uint64_t begin, bool dead)
{
	const struct dfg_session_options *options = line->watch.options;
	options->trace(options->trace_arg, &(struct dfg_trace_event){
										   .node = record->call->node,
										   .op = record->call->op->name,
										   .frame = "",
										   .thread = dfg_pool_thread(),
										   .dead = dead,
										   .begin_ns = begin,
										   .end_ns = dfg_now(),
									   });
}

static struct dfg_err *run_watched(struct line *line, const struct op *op)
{
	uint64_t begin = dfg_now();
	if (line->watch.on)
		DFG_TRY(dfg_watch_check(&line->watch));
	DFG_TRY(run_op(line, op));
	if (line->watch.options->trace && op->record)
		trace(line, op->record, begin, false);
	return NULL;
}

static struct dfg_err *note(const struct line *line, const struct op *op, struct dfg_err *err)
{
	if (err && op->loop)
		err = dfg_err_note(err, "in iteration %lld of loop '%s'", (long long)line->iteration[op->loop],
			line->plan->flow->loop[op->loop].path);
	return op->record ? dfg_call_note(err, op->record->call) : err;
}

static struct dfg_err *run_one(struct line *line, const struct op *op, bool watched)
{
	struct dfg_err *err = watched ? run_watched(line, op) : run_op(line, op);
	if (err)
		return note(line, op, err);
	release(line, op, op->n_release);
	return NULL;
}

/* Past a branch that was not taken. */
static const struct op *skip(struct line *line, const struct op *op)
{
	const struct op *to = line->layout->op + op->to;
	line->dead_tokens += (uint64_t)(to - op) - 1;
	release(line, op, op->n_release);
	for (const struct op *dead = op + 1; dead < to && line->watch.options->trace; dead++)
		if (dead->record)
			trace(line, dead->record, dfg_now(), true);
	return to;
}

/* Ends an iteration: the next op is the first of another one, or the one behind the loop. */
static struct dfg_err *go_back(struct line *line, const struct op *op, const struct op **out_next)
{
	enum { SELDOM = 64 };
	*out_next = op + 1;
	if (line->chosen[op->flag] != 1) {
		line->frames--;
		release(line, op, op->n_release);
		return NULL;
	}
	int64_t most = line->watch.options->max_iterations, number = ++line->iteration[op->loop];
	if (most > 0 && number > most)
		return DFG_ERR(DFG_DATA, "loop '%s' runs more than %lld iterations", line->plan->flow->loop[op->loop].name,
			(long long)most);
	if (line->watch.on && number % SELDOM == 0)
		DFG_TRY(dfg_watch_check(&line->watch));
	line->iterations++;
	DFG_TRY(run_moves(line, op));
	release(line, op, op->n_again);
	*out_next = line->layout->op + op->to;
	return NULL;
}

/* The whole step: one indirect call a node, and nothing to decide where shapes are known. */
static struct dfg_err *run_all(struct line *line)
{
	const struct layout *layout = line->layout;
	bool watched = line->watch.options->trace || line->watch.on;
	for (const struct op *op = layout->op, *end = op + layout->count; op < end;)
		if (op->kind == OP_ROW && !watched) {
			op->row(op->n, line->data[op->first + op->n_in], (const void *const *)line->data + op->first, op->attr);
			op++;
		} else if (op->kind == OP_SKIP) {
			op = line->chosen[op->flag] == op->side ? op + 1 : skip(line, op);
		} else if (op->kind == OP_BACK) {
			DFG_TRY(go_back(line, op, &op));
		} else {
			DFG_TRY(run_one(line, op, watched));
			op++;
		}
	return NULL;
}

static struct dfg_err *give_fetch(struct line *line, uint32_t i, struct dfg_tensor *out_fetch)
{
	uint32_t slot = line->layout->fetch[i];
	struct dfg_tensor *tensor = &line->tensor[slot];
	*out_fetch = (struct dfg_tensor){0};
	if (line->plan->fetch[i] < line->plan->first_feed &&
		!dfg_guard_holds(line->plan->course, line->chosen, line->plan->course->slot_guard[line->plan->fetch[i]]))
		return dfg_dead_branch(line->plan, line->chosen, i);
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
	dfg_free(line->shift);
	dfg_free(line->chosen);
	dfg_free(line->iteration);
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
	line->shift = dfg_zeros(layout->moves_made, sizeof *line->shift);
	line->chosen = dfg_zeros(plan->course->flags, sizeof *line->chosen);
	line->iteration = dfg_zeros(plan->course->loops, sizeof *line->iteration);
	if (!line->block || !line->tensor || !line->at || !line->data || !line->shift || !line->chosen ||
		!line->iteration) {
		free_line(line);
		return DFG_ERR(DFG_MEMORY, "no memory for a step of %zu bytes", layout->block);
	}
	for (uint32_t i = 0; i < plan->slots; i++)
		start_slot(line, i);
	for (uint32_t i = 0; i < layout->uses; i++) {
		line->at[i] = &line->tensor[layout->use[i]];
		line->data[i] = line->at[i]->data;
	}
	for (uint32_t i = 0; i < layout->moves_made; i++)
		line->shift[i] = (struct shift){line->tensor[layout->move[i].to].data, line->tensor[layout->move[i].from].data};
	*out_line = line;
	return NULL;
}

/* After a step: as the next one finds it. */
static void reset(struct line *line, bool failed)
{
	const struct layout *layout = line->layout;
	for (uint32_t i = 0; i < (failed ? layout->n_counted : layout->n_final); i++)
		dfg_tensor_release(&line->tensor[layout->counted[i]]);
	line->frames = 0;
}

static void give_back(struct line *line, struct layout *layout)
{
	struct dfg_plan *plan = layout->plan;
	size_t peak = dfg_buffers_peak(plan->session->buffers);
	pthread_mutex_lock(&plan->lock);
	plan->stats = (struct dfg_stats){
		.peak_bytes = layout->block + (peak > line->before ? peak - line->before : 0),
		.live_bytes = line->live > layout->live ? line->live : layout->live,
		.iterations = line->iterations,
		.dead_tokens = line->dead_tokens,
		.peak_frames = line->peak_frames,
	};
	line->dead_tokens = line->iterations = 0;
	line->peak_frames = 0;
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
