#include "lib/exec/linear/activation_private.h"

#include <string.h>

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
	dfg_line_start(line, slot);
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
	case OP_GUARD:
		DFG_TRY(dfg_runner_guard(&line->runner, op->record, line->at + op->first, line->at + op->first + op->n_in));
		run_row(line, op);
		return NULL;
	case OP_TEST:
		line->chosen[op->flag] = *(const bool *)line->data[op->first];
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
	case OP_SAVE:
		line->saves++;
		return dfg_saved_put(&line->saved[op->flag], line->plan->session, line->at + op->first);
	case OP_LOAD:
		return dfg_saved_get(&line->saved[op->flag], line->plan, op->record, line->at + op->first, output(line, op, 0));
	case OP_FORGET:
		dfg_saved_clear(&line->saved[op->flag]);
		return NULL;
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
	const struct flow *flow = line->plan->flow;
	int64_t iteration[LOOP_DEEPEST];
	int depth = LOOP_DEEPEST;
	for (uint32_t loop = op->loop; err && loop && depth; loop = flow->loop[loop].parent)
		iteration[--depth] = line->iteration[loop];
	if (err && op->loop)
		err = dfg_trip_note(err, &flow->loop[op->loop], iteration + depth, LOOP_DEEPEST - depth);
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

static struct dfg_err *check_limits(const struct line *line, uint32_t loop)
{
	enum { SELDOM = 64 };
	int64_t most = line->watch.options->max_iterations;
	if (most > 0 && line->iteration[loop] > most)
		return DFG_ERR(
			DFG_DATA, "loop '%s' runs more than %lld iterations", line->plan->flow->loop[loop].path, (long long)most);
	return line->watch.on && line->iteration[loop] % SELDOM == 0 ? dfg_watch_check(&line->watch) : NULL;
}

/* Ends an iteration: the next op is the first of another one, or the one behind the loop. */
static struct dfg_err *go_back(struct line *line, const struct op *op, const struct op **out_next)
{
	*out_next = op + 1;
	if (line->chosen[op->flag] != 1) {
		line->frames--;
		release(line, op, op->n_release);
		return NULL;
	}
	line->iteration[op->loop]++;
	line->iterations++;
	if (line->limited)
		DFG_TRY(check_limits(line, op->loop));
	DFG_TRY(run_moves(line, op));
	release(line, op, op->n_again);
	*out_next = line->layout->op + op->to;
	return NULL;
}

/* The whole step: one indirect call a node, and nothing to decide where shapes are known. */
struct dfg_err *dfg_ops_run(struct line *line)
{
	const struct layout *layout = line->layout;
	bool watched = line->watch.options->trace || line->watch.on;
	line->limited = line->watch.on || line->watch.options->max_iterations > 0;
	for (const struct op *op = layout->op, *end = op + layout->count; op < end;) {
		void *const *data = line->data + op->first;
		if (op->kind == OP_ROW && !watched) {
			op->row(op->n, data[op->n_in], (const void *const *)data, op->attr);
			op++;
		} else if (op->kind == OP_SKIP) {
			if (line->chosen[op->flag] == op->side) {
				op++;
			} else if (op->n_release || watched) {
				op = skip(line, op);
			} else {
				line->dead_tokens += op->to - (uint32_t)(op - layout->op) - 1;
				op = layout->op + op->to;
			}
		} else if (op->kind == OP_TEST) {
			line->chosen[op->flag] = *(const bool *)data[0];
			op++;
		} else if (op->kind == OP_BACK) {
			DFG_TRY(go_back(line, op, &op));
		} else if (op->kind == OP_COPY) {
			copy(data[1], data[0], (size_t)op->n);
			op++;
		} else {
			DFG_TRY(run_one(line, op, watched));
			op++;
		}
	}
	return NULL;
}
