#include "lib/exec/linear/group_private.h"
#include "lib/exec/linear/region_private.h"

#include "lib/base/plural.h"
#include "lib/graph/work.h"

#include <stdio.h>
#include <string.h>

static struct dfg_tensor *output(const struct activation *activation, const struct instruction *instruction, int i)
{
	return activation->at[instruction->first + instruction->n_in + (uint32_t)i];
}

static uint32_t out_slot(const struct activation *activation, const struct instruction *instruction, int i)
{
	return activation->program->use[instruction->first + instruction->n_in + (uint32_t)i];
}

/* The outputs become references to the inputs; a Switch forwards its data input to all outputs. */
static struct dfg_err *run_alias(struct activation *activation, const struct instruction *instruction)
{
	for (int i = 0; i < instruction->n_out; i++) {
		uint32_t in = instruction->node->role == DFG_SWITCH ? 0 : (uint32_t)i;
		dfg_tensor_release(output(activation, instruction, i));
		DFG_TRY(dfg_forward_value(activation->at[instruction->first + in],
			activation->plan->is_ref[out_slot(activation, instruction, i)], output(activation, instruction, i)));
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

/* A kernel gave a buffer for an output whose address is in the block: copies it there. */
static struct dfg_err *return_to_block(struct activation *activation, uint32_t slot)
{
	struct dfg_tensor given = activation->tensor[slot];
	const struct dfg_tensor *start = &activation->program->start[slot];
	struct dfg_err *err = fits(&given, start) ? NULL : misfit(&given, start);
	dfg_activation_start_slot(activation, slot);
	if (!err && start->capacity)
		memcpy(activation->tensor[slot].data, given.data, start->capacity);
	dfg_tensor_release(&given);
	return err;
}

/* Copies the elements to the slot's fixed address. */
static struct dfg_err *copy_in(struct activation *activation, const struct dfg_tensor *from, uint32_t to)
{
	const struct dfg_tensor *start = &activation->program->start[to];
	struct dfg_tensor value = {0};
	if (dfg_is_ref(from))
		DFG_TRY(dfg_variable_read(from->data, &value));
	else
		value = *from;
	struct dfg_err *err = fits(&value, start) ? NULL : misfit(&value, start);
	if (!err && start->capacity)
		memmove(activation->tensor[to].data, value.data, start->capacity);
	if (dfg_is_ref(from))
		dfg_tensor_release(&value);
	return err;
}

/*
 * Updates the most bytes live at once after a kernel took or gave a buffer, and copies outputs to their fixed
 * addresses.
 */
static struct dfg_err *account_buffers(struct activation *activation, const struct instruction *instruction)
{
	size_t alive = activation->program->alive[instruction - activation->program->code];
	size_t used = dfg_buffer_pool_used(activation->plan->session->buffers);
	/* a kernel may have released a buffer that it had kept since an earlier step */
	size_t live = used > activation->before ? alive + used - activation->before : alive;
	activation->live = live > activation->live ? live : activation->live;
	activation->runner.took = false;
	for (int i = 0; i < instruction->n_out; i++)
		if (activation->program->in_block[out_slot(activation, instruction, i)] &&
			output(activation, instruction, i)->buffer)
			DFG_TRY(return_to_block(activation, out_slot(activation, instruction, i)));
	return NULL;
}

static struct dfg_err *run_kernel(struct activation *activation, const struct instruction *instruction)
{
	struct dfg_tensor **at = activation->at + instruction->first;
	activation->runner.in_place = instruction->in_place;
	struct dfg_err *err = dfg_runner_run(&activation->runner, instruction->node, at, at + instruction->n_in);
	if (!err && activation->watch.options->check_numerics)
		err = dfg_check_numerics(instruction->node->call, at + instruction->n_in);
	return activation->runner.took ? dfg_err_join(err, account_buffers(activation, instruction)) : err;
}

static void run_row(const struct activation *activation, const struct instruction *instruction)
{
	struct dfg_tensor *const *at = activation->at + instruction->first;
	const void *in[DFG_ROW_OPERANDS];
	for (int i = 0; i < instruction->n_in; i++)
		in[i] = at[i]->data;
	instruction->row(instruction->n, at[instruction->n_in]->data, in, instruction->attr);
}

static struct dfg_err *run_row_new(struct activation *activation, const struct instruction *instruction)
{
	uint32_t slot = activation->program->use[instruction->first + instruction->n_in];
	struct dfg_tensor *out = &activation->tensor[slot];
	struct dfg_buffer *buffer;
	*out = activation->program->start[slot];
	DFG_TRY(dfg_buffer_pool_take(activation->plan->session->buffers, out->dtype, out->capacity, &buffer));
	out->buffer = buffer;
	out->data = buffer->data;
	run_row(activation, instruction);
	return account_buffers(activation, instruction);
}

static void run_view(const struct activation *activation, const struct instruction *instruction)
{
	const struct dfg_tensor *in = activation->at[instruction->first];
	struct dfg_tensor *out = activation->at[instruction->first + instruction->n_in];
	out->data = in->data;
	out->buffer = in->buffer;
}

/* Constant sizes for the most frequent copies, so that they are inlined. */
static void copy_bytes(void *to, const void *from, size_t bytes)
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

static struct dfg_err *move_value(struct activation *activation, const struct move *move)
{
	struct dfg_tensor *from = &activation->tensor[move->from], *to = &activation->tensor[move->to];
	if (move->kind == MOVE_COPY_IN)
		return copy_in(activation, from, move->to);
	struct dfg_tensor value = {0};
	if (move->kind == MOVE_TAKE) {
		value = *from;
		*from = (struct dfg_tensor){0};
	} else if (dfg_is_ref(from)) {
		DFG_TRY(dfg_forward_value(from, activation->plan->is_ref[move->to], &value));
	} else {
		DFG_TRY(dfg_tensor_share(from, &value));
	}
	dfg_tensor_release(to);
	*to = value;
	return NULL;
}

struct dfg_err *dfg_interpret_move(struct activation *activation, uint32_t m)
{
	const struct move *move = &activation->program->move[m];
	if (move->kind != MOVE_BYTES)
		return move_value(activation, move);
	copy_bytes(activation->fixed_move[m].to, activation->fixed_move[m].from, move->bytes);
	return NULL;
}

static struct dfg_err *run_moves(struct activation *activation, const struct instruction *instruction)
{
	for (uint32_t m = instruction->first_move; m < instruction->first_move + instruction->n_move; m++)
		DFG_TRY(dfg_interpret_move(activation, m));
	return NULL;
}

void dfg_interpret_releases(struct activation *activation, const struct instruction *instruction, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++)
		dfg_tensor_release(&activation->tensor[activation->program->release[instruction->first_release + i]]);
}

void dfg_interpret_enter(struct activation *activation, uint32_t loop)
{
	activation->iteration[loop] = 0;
	activation->iterations++;
	if (++activation->frames > activation->peak_frames)
		activation->peak_frames = activation->frames;
}

static struct dfg_err *run_loop_enter(struct activation *activation, const struct instruction *instruction)
{
	dfg_interpret_enter(activation, instruction->predicate);
	return run_moves(activation, instruction);
}

static struct dfg_err *run_switch(struct activation *activation, const struct instruction *instruction)
{
	int chosen;
	DFG_TRY(dfg_select_output(activation->at[instruction->first], (int)instruction->n, &chosen));
	activation->chosen[instruction->predicate] = chosen;
	return NULL;
}

static struct dfg_err *run_retain(struct activation *activation, const struct instruction *instruction)
{
	dfg_tensor_release(output(activation, instruction, 0));
	return dfg_is_ref(activation->at[instruction->first])
			   ? run_alias(activation, instruction)
			   : dfg_tensor_share(activation->at[instruction->first], output(activation, instruction, 0));
}

static struct dfg_err *run_index(struct activation *activation, const struct instruction *instruction)
{
	struct dfg_tensor *index = output(activation, instruction, 0);
	if (!index->data)
		DFG_TRY(dfg_scalar(activation->plan->session, DFG_I32, index));
	*(int32_t *)index->data = (int32_t)instruction->n;
	return NULL;
}

static struct dfg_err *run_op(struct activation *activation, const struct instruction *instruction)
{
	switch ((enum opcode)instruction->kind) {
	case INSTR_ROW:
	case INSTR_ROW_INDIRECT:
		run_row(activation, instruction);
		return NULL;
	case INSTR_CHECKED_ROW:
		DFG_TRY(dfg_runner_check_domain(&activation->runner, instruction->node, activation->at + instruction->first,
			activation->at + instruction->first + instruction->n_in));
		run_row(activation, instruction);
		return NULL;
	case INSTR_TEST:
		activation->chosen[instruction->predicate] = *(const bool *)activation->data[instruction->first];
		return NULL;
	case INSTR_ROW_NEW:
		return run_row_new(activation, instruction);
	case INSTR_KERNEL:
		return run_kernel(activation, instruction);
	case INSTR_GROUP:
		DFG_TRY(dfg_group_run(activation, instruction));
		return activation->runner.took ? account_buffers(activation, instruction) : NULL;
	case INSTR_VIEW:
		run_view(activation, instruction);
		return NULL;
	case INSTR_ALIAS:
		return run_alias(activation, instruction);
	case INSTR_COPY_IN:
		return copy_in(activation, activation->at[instruction->first], out_slot(activation, instruction, 0));
	case INSTR_RETAIN:
		return run_retain(activation, instruction);
	case INSTR_INDEX:
		return run_index(activation, instruction);
	case INSTR_SWITCH:
		return run_switch(activation, instruction);
	case INSTR_SAVE:
		activation->saves++;
		return dfg_saved_put(
			&activation->saved[instruction->predicate], activation->plan->session, activation->at + instruction->first);
	case INSTR_LOAD:
		return dfg_saved_get(&activation->saved[instruction->predicate], activation->plan, instruction->node,
			activation->at + instruction->first, output(activation, instruction, 0));
	case INSTR_CLEAR:
		dfg_saved_clear(&activation->saved[instruction->predicate]);
		return NULL;
	case INSTR_LOOP_ENTER:
		return run_loop_enter(activation, instruction);
	case INSTR_COPY:
		copy_bytes(
			activation->data[instruction->first + 1], activation->data[instruction->first], (size_t)instruction->n);
		return NULL;
	case INSTR_BRANCH:
	case INSTR_LOOP_BACK:
	case INSTR_NOP:
		break;
	}
	return NULL;
}

static void trace(const struct activation *activation, uint32_t loop, struct dfg_trace_event *event)
{
	const struct frame_info *frame_info = activation->plan->frame_info;
	int64_t iteration[LOOP_DEPTH_MAX];
	event->frame = loop ? frame_info->loop[loop].path : "";
	for (; loop && event->depth < LOOP_DEPTH_MAX; loop = frame_info->loop[loop].parent)
		iteration[LOOP_DEPTH_MAX - ++event->depth] = activation->iteration[loop];
	event->iteration = iteration + LOOP_DEPTH_MAX - event->depth;
	event->thread = dfg_pool_thread();
	event->end_ns = dfg_now();
	activation->watch.trace(activation->watch.trace_arg, event);
}

static void trace_node(
	const struct activation *activation, const struct instruction *instruction, uint64_t begin, bool dead)
{
	const struct dfg_resolved_node *call = instruction->node->call;
	trace(activation, instruction->loop,
		&(struct dfg_trace_event){.node = call->node, .op = call->op->name, .dead = dead, .begin_ns = begin});
}

static void trace_group(const struct activation *activation, const struct instruction *instruction, uint64_t begin)
{
	const struct group *group = instruction->group;
	char ops[1000] = "";
	for (uint32_t i = 0, at = 0; i < group->members && at < sizeof ops; i++)
		at += (uint32_t)snprintf(ops + at, sizeof ops - at, i ? " + %s" : "%s", group->member[i]->call->op->name);
	trace(activation, instruction->loop,
		&(struct dfg_trace_event){.node = group->member[group->members - 1]->call->node, .op = ops, .begin_ns = begin});
}

static void trace_region(const struct activation *activation, const struct instruction *instruction, uint64_t begin)
{
	const char *path = activation->plan->frame_info->loop[instruction->predicate].path;
	trace(activation, instruction->loop, &(struct dfg_trace_event){.node = path, .op = "loop", .begin_ns = begin});
}

static struct dfg_err *run_watched(struct activation *activation, const struct instruction *instruction)
{
	uint64_t begin = activation->watch.trace ? dfg_now() : 0;
	if (activation->watch.on)
		DFG_TRY(dfg_watch_check(&activation->watch));
	DFG_TRY(run_op(activation, instruction));
	if (activation->watch.trace && instruction->kind == INSTR_GROUP)
		trace_group(activation, instruction, begin);
	else if (activation->watch.trace && instruction->node)
		trace_node(activation, instruction, begin, false);
	return NULL;
}

/* The node of the instruction; of the end of an iteration, which is not a node's, the loop's condition. NULL: none. */
static const struct plan_node *node_at(const struct activation *activation, const struct instruction *instruction)
{
	const struct dfg_plan *plan = activation->plan;
	for (uint32_t n = 0; !instruction->node && instruction->loop && n < plan->count; n++)
		if (plan->node[n].role == DFG_LOOP_COND && plan->frame_info->loop_of[n] == instruction->loop)
			return &plan->node[n];
	return instruction->node;
}

struct dfg_err *dfg_interpret_note(
	const struct activation *activation, const struct instruction *instruction, struct dfg_err *err)
{
	const struct frame_info *frame_info = activation->plan->frame_info;
	int64_t iteration[LOOP_DEPTH_MAX];
	int depth = LOOP_DEPTH_MAX;
	for (uint32_t loop = instruction->loop; err && loop && depth; loop = frame_info->loop[loop].parent)
		iteration[--depth] = activation->iteration[loop];
	if (err && instruction->loop)
		err = dfg_iteration_note(err, &frame_info->loop[instruction->loop], iteration + depth, LOOP_DEPTH_MAX - depth);
	const struct plan_node *node = err ? node_at(activation, instruction) : NULL;
	return node ? dfg_resolved_note(err, node->call) : err;
}

static struct dfg_err *run_counted(struct activation *activation, const struct instruction *instruction, bool watched)
{
	double operations = dfg_work;
	uint64_t begin = dfg_ticks();
	struct dfg_err *err = watched ? run_watched(activation, instruction) : run_op(activation, instruction);
	uint64_t ticks = dfg_ticks() - begin;
	if (!err)
		dfg_count(activation, instruction, ticks, dfg_work - operations);
	return err;
}

struct dfg_err *dfg_interpret_one(struct activation *activation, const struct instruction *instruction, bool watched)
{
	struct dfg_err *err = activation->counter ? run_counted(activation, instruction, watched)
						  : watched           ? run_watched(activation, instruction)
											  : run_op(activation, instruction);
	if (err)
		return dfg_interpret_note(activation, instruction, err);
	dfg_interpret_releases(activation, instruction, instruction->n_release);
	return NULL;
}

/* As dfg_interpret_one() where nothing watches or counts. */
static struct dfg_err *run_plain(struct activation *activation, const struct instruction *instruction)
{
	struct dfg_err *err = run_op(activation, instruction);
	if (err)
		return dfg_interpret_note(activation, instruction, err);
	dfg_interpret_releases(activation, instruction, instruction->n_release);
	return NULL;
}

/* Jumps over a branch that was not taken. */
static const struct instruction *jump_over(struct activation *activation, const struct instruction *instruction)
{
	const struct instruction *to = activation->program->code + instruction->to;
	activation->dead_tokens += (uint64_t)(to - instruction + instruction->n) - 1;
	dfg_interpret_releases(activation, instruction, instruction->n_release);
	for (const struct instruction *dead = instruction + 1; dead < to && activation->watch.trace; dead++)
		if (dead->node)
			trace_node(activation, dead, dfg_now(), true);
	return to;
}

struct dfg_err *dfg_interpret_limits(const struct activation *activation, uint32_t loop)
{
	enum { SELDOM = 64 };
	int64_t most = activation->watch.options->max_iterations;
	if (most > 0 && activation->iteration[loop] > most)
		return DFG_ERR(DFG_DATA, "loop '%s' runs more than %lld iteration%s",
			activation->plan->frame_info->loop[loop].path, (long long)most, dfg_plural((uint64_t)most));
	return activation->watch.on && activation->iteration[loop] % SELDOM == 0 ? dfg_watch_check(&activation->watch)
																			 : NULL;
}

/* Ends an iteration: the next instruction is the first of the next iteration, or the one after the loop. */
static struct dfg_err *run_loop_back(
	struct activation *activation, const struct instruction *instruction, const struct instruction **out_next)
{
	*out_next = instruction + 1;
	if (activation->chosen[instruction->predicate] != 1) {
		activation->frames--;
		dfg_interpret_releases(activation, instruction, instruction->n_release);
		return NULL;
	}
	activation->iteration[instruction->loop]++;
	activation->iterations++;
	if (activation->limited)
		DFG_TRY(dfg_interpret_limits(activation, instruction->loop));
	DFG_TRY(run_moves(activation, instruction));
	dfg_interpret_releases(activation, instruction, instruction->n_renewed);
	*out_next = activation->program->code + instruction->to;
	return NULL;
}

/*
 * Runs an instruction; *at becomes the next one. An INSTR_ROW, of known shapes, costs one indirect call and no decisions.
 * of_use is activation->data: a row may write anywhere, so the compiler would load it again for each instruction.
 * plain: nothing watches or counts.
 */
__attribute__((always_inline)) static inline struct dfg_err *advance(
	struct activation *activation, void *const *of_use, bool plain, bool watched, const struct instruction **at)
{
	const struct instruction *instruction = *at;
	void *const *data = of_use + instruction->first;
	if (__builtin_expect(instruction->kind == INSTR_ROW && !watched, 1)) {
		instruction->row(instruction->n, data[instruction->n_in], (const void *const *)data, instruction->attr);
		*at = instruction + 1;
	} else if (instruction->kind == INSTR_BRANCH) {
		if (activation->chosen[instruction->predicate] == instruction->side) {
			*at = instruction + 1;
		} else if (instruction->n_release || watched) {
			*at = jump_over(activation, instruction);
		} else {
			const struct instruction *to = activation->program->code + instruction->to;
			activation->dead_tokens += (uint64_t)(to - instruction + instruction->n) - 1;
			*at = to;
		}
	} else if (instruction->kind == INSTR_TEST) {
		activation->chosen[instruction->predicate] = *(const bool *)data[0];
		*at = instruction + 1;
	} else if (instruction->kind == INSTR_LOOP_BACK) {
		const struct instruction *next; /* written by the call, so that *at can stay in a register */
		DFG_TRY(run_loop_back(activation, instruction, &next));
		*at = next;
	} else if (instruction->kind == INSTR_COPY) {
		copy_bytes(data[1], data[0], (size_t)instruction->n);
		*at = instruction + 1;
	} else if (instruction->kind == INSTR_LOOP_ENTER && instruction->region) {
		const struct instruction *next = instruction;
		uint64_t begin = watched && activation->watch.trace ? dfg_now() : 0;
		DFG_TRY(dfg_region_run(activation, &activation->program->region[instruction->region - 1], &next));
		if (begin)
			trace_region(activation, instruction, begin);
		*at = next;
	} else {
		DFG_TRY(plain ? run_plain(activation, instruction) : dfg_interpret_one(activation, instruction, watched));
		*at = instruction + 1;
	}
	return NULL;
}

/*
 * Runs all instructions and counts what each costs. A region is one row, without the instructions in it that the
 * interpreter runs, which count themselves.
 */
__attribute__((noinline)) static struct dfg_err *interpret_counted(struct activation *activation, bool watched)
{
	const struct program *program = activation->program;
	uint64_t begin, end_ticks = dfg_ticks();
	for (const struct instruction *at = program->code, *end = at + program->count; at < end;) {
		const struct instruction *instruction = at;
		bool region = instruction->kind == INSTR_LOOP_ENTER && instruction->region;
		struct profile_counter *counter = &activation->counter[instruction - program->code];
		uint64_t counted = activation->counted, iterations = activation->iterations, calls = counter->calls;
		begin = end_ticks;
		DFG_TRY(advance(activation, activation->data, false, watched, &at));
		end_ticks = dfg_ticks();
		uint64_t ticks = end_ticks - begin;
		counted = activation->counted - counted;
		if (counter->calls != calls && !region)
			continue; /* dfg_interpret_one() has counted it */
		dfg_count(activation, instruction, ticks > counted ? ticks - counted : 0, 0);
		if (region)
			counter->iterations += activation->iterations - iterations;
	}
	return NULL;
}

__attribute__((always_inline)) static inline struct dfg_err *interpret(struct activation *activation, bool watched)
{
	const struct program *program = activation->program;
	void *const *of_use = activation->data;
	for (const struct instruction *at = program->code, *end = at + program->count; at < end;)
		DFG_TRY(advance(activation, of_use, !watched, watched, &at));
	return NULL;
}

/* A function each, so that the loop of a step that nothing watches decides nothing, and the compiler optimizes it alone. */
__attribute__((noinline)) static struct dfg_err *interpret_plain(struct activation *activation)
{
	return interpret(activation, false);
}

__attribute__((noinline)) static struct dfg_err *interpret_watched(struct activation *activation)
{
	return interpret(activation, true);
}

struct dfg_err *dfg_interpret(struct activation *activation)
{
	bool watched = activation->watch.trace || activation->watch.on;
	activation->limited = activation->watch.on || activation->watch.options->max_iterations > 0;
	if (activation->counter)
		return interpret_counted(activation, watched);
	return watched ? interpret_watched(activation) : interpret_plain(activation);
}
