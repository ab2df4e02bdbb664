#include "lib/exec/dataflow/executor_private.h"

#include "lib/base/plural.h"

#include <string.h>

/* Divides one block of memory into aligned parts. Without a block it only counts the size. */
struct cutter {
	char *block;
	size_t used;
};

static void *cut(struct cutter *cutter, size_t count, size_t size)
{
	void *part = cutter->block ? cutter->block + cutter->used : NULL;
	cutter->used += (count * size + 15) / 16 * 16;
	return part;
}

static void cut_iteration(struct cutter *cutter, const struct loop *loop, struct iteration_state *iter)
{
	iter->count = cut(cutter, loop->nodes, sizeof *iter->count);
	iter->left = cut(cutter, loop->slots, sizeof *iter->left);
	iter->choice = cut(cutter, loop->nodes, sizeof *iter->choice);
	iter->state = cut(cutter, loop->slots, sizeof *iter->state);
	iter->cause = cut(cutter, loop->nodes, sizeof *iter->cause);
	iter->slot_cause = cut(cutter, loop->slots, sizeof *iter->slot_cause);
	iter->child = cut(cutter, loop->children, sizeof(struct frame *));
	iter->store = cut(cutter, loop->saves, sizeof *iter->store);
	iter->tensor = cut(cutter, loop->slots, sizeof *iter->tensor);
	iter->at = cut(cutter, loop->uses, sizeof(struct dfg_tensor *));
}

static struct iteration_state *new_iteration(struct executor *executor, struct loop *loop)
{
	struct iteration_state plan = {0};
	struct cutter size = {NULL, (sizeof plan + 15) / 16 * 16};
	cut_iteration(&size, loop, &plan);
	struct iteration_state *iter = dfg_zeros(1, size.used);
	if (!iter)
		return NULL;
	struct cutter cutter = {(char *)iter, (sizeof plan + 15) / 16 * 16};
	cut_iteration(&cutter, loop, iter);
	for (uint32_t i = 0; i < loop->uses; i++)
		iter->at[i] = &iter->tensor[loop->use[i]];
	for (uint32_t i = 0; i < loop->saves; i++)
		dfg_keyed_store_init(&iter->store[i], loop->keys[i]);
	iter->loop = loop;
	iter->made = executor->iters;
	return executor->iters = iter;
}

struct dfg_err *dfg_iteration_take(struct executor *executor, uint32_t number, struct iteration_state **out_iter)
{
	struct loop *loop = &executor->frame_info->loop[number];
	struct iteration_state *iter = executor->free_iter[number];
	if (iter)
		executor->free_iter[number] = iter->next;
	else if (!(iter = new_iteration(executor, loop)))
		return dfg_no_memory("an iteration");
	memcpy(iter->count, loop->count, loop->nodes * sizeof *loop->count);
	memcpy(iter->left, loop->left, loop->slots * sizeof *loop->left);
	memset(iter->state, EMPTY, loop->slots);
	memset(iter->child, 0, loop->children * sizeof *iter->child);
	iter->next = NULL;
	iter->frame = NULL;
	iter->iteration = 0;
	iter->outstanding = iter->children = 0;
	iter->used = true;
	executor->live_iters++;
	*out_iter = iter;
	return NULL;
}

void dfg_iteration_release(struct executor *executor, struct iteration_state *iter)
{
	for (uint32_t i = 0; i < iter->loop->slots; i++)
		if (iter->state[i] == LIVE)
			dfg_tensor_release(&iter->tensor[i]);
		else if (iter->state[i] == BORROWED)
			iter->tensor[i] = (struct dfg_tensor){0};
	for (uint32_t i = 0; i < iter->loop->saves; i++) {
		executor->live_saves -= iter->store[i].live;
		dfg_keyed_store_clear(&iter->store[i]);
	}
	size_t number = (size_t)(iter->loop - executor->frame_info->loop);
	executor->live_iters--;
	iter->used = false;
	iter->next = executor->free_iter[number];
	executor->free_iter[number] = iter;
}

static struct frame *new_frame(struct executor *executor, const struct loop *loop)
{
	struct frame plan = {0};
	struct cutter cutter = {NULL, (sizeof plan + 15) / 16 * 16};
	cut(&cutter, loop->constants, sizeof *plan.constant);
	cut(&cutter, loop->nexts, sizeof *plan.parked);
	cut(&cutter, loop->exits, sizeof *plan.exit);
	struct frame *frame = dfg_zeros(1, cutter.used);
	if (!frame)
		return NULL;
	cutter = (struct cutter){(char *)frame, (sizeof plan + 15) / 16 * 16};
	frame->constant = cut(&cutter, loop->constants, sizeof *frame->constant);
	frame->parked = cut(&cutter, loop->nexts, sizeof *frame->parked);
	frame->exit = cut(&cutter, loop->exits, sizeof *frame->exit);
	frame->made = executor->frames;
	return executor->frames = frame;
}

void dfg_frame_release(struct executor *executor, struct frame *frame)
{
	size_t number = (size_t)(frame->loop - executor->frame_info->loop);
	for (uint32_t i = 0; i < frame->n_constant; i++)
		dfg_tensor_release(&frame->constant[i].tensor);
	for (uint32_t i = 0; i < frame->n_parked; i++)
		dfg_tensor_release(&frame->parked[i].tensor);
	frame->n_constant = frame->n_parked = frame->n_exit = 0;
	executor->live_frames--;
	frame->used = false;
	frame->next = executor->free_frame[number];
	executor->free_frame[number] = frame;
}

/* Delivers the value of the node's output 0 to iter: dead, borrowed, or with a reference of its own. */
static struct dfg_err *deliver(struct executor *executor, struct iteration_state *iter, uint32_t node,
	const struct dfg_tensor *value, const struct dead_cause *cause, bool lend)
{
	const struct plan_node *r = &executor->plan->node[node];
	uint32_t global = dfg_plan_node_out(executor->plan, r, 0), slot = dfg_out_slot(executor, node, 0);
	if (iter->state[slot] != EMPTY)
		return dfg_resolved_note(DFG_ERR(DFG_DATA,
									 "has live values in two iterations of one frame, expected one: an Exit is live in "
									 "the last iteration only"),
			r->call);
	if (cause)
		iter->slot_cause[slot] = *cause;
	else if (lend)
		iter->tensor[slot] = *value;
	else
		DFG_TRY(
			dfg_resolved_note(dfg_forward_value(value, executor->plan->is_ref[global], &iter->tensor[slot]), r->call));
	iter->state[slot] = cause ? DEAD : lend ? BORROWED : LIVE;
	return dfg_propagate(executor, iter, node, cause);
}

static struct dfg_err *deliver_constants(
	struct executor *executor, struct frame *frame, struct iteration_state *iter, uint32_t from)
{
	for (uint32_t i = from; i < frame->n_constant; i++) {
		struct constant *constant = &frame->constant[i];
		const struct dead_cause *cause = constant->dead ? &constant->cause : NULL;
		DFG_TRY(deliver(executor, iter, constant->node, &constant->tensor, cause, true));
	}
	return NULL;
}

/* Begins the next iteration of the frame. */
static struct dfg_err *begin_iteration(struct executor *executor, struct frame *frame)
{
	struct iteration_state *iter;
	int64_t most = executor->plan->session->options.max_iterations;
	if (most > 0 && frame->newest_number >= most)
		return DFG_ERR(DFG_DATA, "loop '%s' runs more than %lld iteration%s", frame->loop->path, (long long)most,
			dfg_plural((uint64_t)most));
	DFG_TRY(dfg_iteration_take(executor, (uint32_t)(frame->loop - executor->frame_info->loop), &iter));
	iter->frame = frame;
	iter->iteration = ++frame->newest_number;
	if (frame->newest)
		frame->newest->next = iter;
	else
		frame->oldest = iter;
	frame->newest = iter;
	frame->outstanding++;
	frame->n_exit = 0;
	executor->stats.iterations++;
	return deliver_constants(executor, frame, iter, 0);
}

static struct dfg_err *begin_frame(struct executor *executor, struct iteration_state *parent, struct frame *frame)
{
	struct iteration_state *first;
	frame->used = true;
	frame->parent = parent;
	frame->enters = frame->loop->enters;
	frame->outstanding = 1;
	frame->newest_number = 0;
	frame->oldest = frame->newest = NULL;
	parent->child[frame->loop->child] = frame;
	parent->children++;
	if (++executor->live_frames > executor->stats.peak_frames)
		executor->stats.peak_frames = executor->live_frames;
	DFG_TRY(dfg_iteration_take(executor, (uint32_t)(frame->loop - executor->frame_info->loop), &first));
	first->frame = frame;
	frame->oldest = frame->newest = first;
	executor->stats.iterations++;
	return NULL;
}

/* The frame in which this iteration runs the loop. It is made when the first value enters, live or dead. */
static struct dfg_err *find_frame(
	struct executor *executor, struct iteration_state *iter, uint32_t number, struct frame **out_frame)
{
	struct loop *loop = &executor->frame_info->loop[number];
	struct frame *frame = iter->child[loop->child];
	if (!frame) {
		if ((frame = executor->free_frame[number]))
			executor->free_frame[number] = frame->next;
		else if (!(frame = new_frame(executor, loop)))
			return dfg_no_memory("an iteration");
		frame->loop = loop;
		DFG_TRY(begin_frame(executor, iter, frame));
	}
	*out_frame = frame;
	return NULL;
}

static struct dfg_err *enter_constant(struct executor *executor, struct frame *frame, uint32_t node,
	const struct dfg_tensor *value, const struct dead_cause *cause)
{
	const struct plan_node *r = &executor->plan->node[node];
	struct constant *constant = &frame->constant[frame->n_constant];
	*constant = (struct constant){.node = node, .dead = cause, .cause = cause ? *cause : (struct dead_cause){0}};
	if (!cause)
		DFG_TRY(dfg_forward_value(
			value, executor->plan->is_ref[dfg_plan_node_out(executor->plan, r, 0)], &constant->tensor));
	frame->n_constant++;
	for (struct iteration_state *iter = frame->oldest; iter; iter = iter->next)
		DFG_TRY(deliver_constants(executor, frame, iter, frame->n_constant - 1));
	return NULL;
}

static const struct dfg_tensor *input(
	const struct executor *executor, const struct iteration_state *iter, uint32_t node)
{
	return iter->at[executor->frame_info->first_use[node]];
}

struct dfg_err *dfg_enter(
	struct executor *executor, struct iteration_state *iter, uint32_t node, const struct dead_cause *cause)
{
	const struct dfg_resolved_node *call = executor->plan->node[node].call;
	uint32_t number =
		executor->frame_info->slot_loop[dfg_plan_node_out(executor->plan, &executor->plan->node[node], 0)];
	struct frame *frame = NULL;
	DFG_TRY(find_frame(executor, iter, number, &frame));
	frame->enters--;
	if (call->attr[dfg_op_attr(call->signature, "is_constant")].b)
		DFG_TRY(enter_constant(executor, frame, node, input(executor, iter, node), cause));
	else
		DFG_TRY(deliver(executor, frame->oldest, node, input(executor, iter, node), cause, false));
	return dfg_retire_iterations(executor, frame->oldest);
}

struct dfg_err *dfg_exit(
	struct executor *executor, struct iteration_state *iter, uint32_t node, const struct dead_cause *cause)
{
	struct frame *frame = iter->frame;
	if (!cause)
		return deliver(executor, frame->parent, node, input(executor, iter, node), NULL, false);
	if (iter == frame->newest)
		frame->exit[frame->n_exit++] = (struct dead_exit){node, *cause};
	return NULL;
}

struct dfg_err *dfg_next_iteration(
	struct executor *executor, struct iteration_state *iter, uint32_t node, const struct dead_cause *cause)
{
	struct frame *frame = iter->frame;
	const struct plan_node *r = &executor->plan->node[node];
	const struct dfg_tensor *value = input(executor, iter, node);
	if (cause)
		return NULL;
	if (iter == frame->newest && frame->outstanding >= frame->loop->window) {
		struct parked *parked = &frame->parked[frame->n_parked];
		parked->node = node;
		DFG_TRY(
			dfg_forward_value(value, executor->plan->is_ref[dfg_plan_node_out(executor->plan, r, 0)], &parked->tensor));
		frame->n_parked++;
		return NULL;
	}
	if (iter == frame->newest)
		DFG_TRY(begin_iteration(executor, frame));
	return deliver(executor, iter->next, node, value, NULL, false);
}

/* The window admits the next iteration: delivers the values that waited for it. */
static struct dfg_err *unpark(struct executor *executor, struct frame *frame)
{
	uint32_t n = frame->n_parked;
	struct dfg_err *err = begin_iteration(executor, frame);
	for (uint32_t i = 0; i < n && !err; i++)
		err = deliver(executor, frame->newest, frame->parked[i].node, &frame->parked[i].tensor, NULL, false);
	if (err)
		return err;
	for (uint32_t i = 0; i < n; i++)
		dfg_tensor_release(&frame->parked[i].tensor);
	frame->n_parked = 0;
	return NULL;
}

/* Iterations end in order, and iteration 0 not before all Enters have arrived. */
static bool is_done(const struct frame *frame, const struct iteration_state *iter)
{
	return !iter->outstanding && !iter->children && (iter->iteration || !frame->enters);
}

static struct dfg_err *end_iterations(struct executor *executor, struct frame *frame)
{
	while (frame->oldest && is_done(frame, frame->oldest)) {
		struct iteration_state *iter = frame->oldest;
		frame->oldest = iter->next;
		if (!frame->oldest)
			frame->newest = NULL;
		frame->outstanding--;
		dfg_iteration_release(executor, iter);
		if (frame->n_parked)
			DFG_TRY(unpark(executor, frame));
	}
	return NULL;
}

/* An Exit that was dead in the last iteration has a dead output outside the loop. */
static struct dfg_err *end_frame(struct executor *executor, struct frame *frame)
{
	struct iteration_state *parent = frame->parent;
	parent->child[frame->loop->child] = NULL;
	parent->children--;
	for (uint32_t i = 0; i < frame->n_exit; i++)
		DFG_TRY(deliver(executor, parent, frame->exit[i].node, NULL, &frame->exit[i].cause, false));
	dfg_frame_release(executor, frame);
	return NULL;
}

struct dfg_err *dfg_retire_iterations(struct executor *executor, struct iteration_state *iter)
{
	while (iter->frame && !iter->outstanding && !iter->children) {
		struct frame *frame = iter->frame;
		DFG_TRY(end_iterations(executor, frame));
		if (frame->oldest || frame->enters)
			return NULL;
		iter = frame->parent;
		DFG_TRY(end_frame(executor, frame));
	}
	return NULL;
}
