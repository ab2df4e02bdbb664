#include "lib/exec/dataflow/executor_private.h"

#include <string.h>

/* Parts of one block of memory, aligned for anything. With no block, only the size is counted. */
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

static void cut_slab(struct cutter *cutter, const struct loop *loop, struct slab *slab)
{
	slab->count = cut(cutter, loop->records, sizeof *slab->count);
	slab->left = cut(cutter, loop->slots, sizeof *slab->left);
	slab->choice = cut(cutter, loop->records, sizeof *slab->choice);
	slab->state = cut(cutter, loop->slots, sizeof *slab->state);
	slab->death = cut(cutter, loop->records, sizeof *slab->death);
	slab->slot_death = cut(cutter, loop->slots, sizeof *slab->slot_death);
	slab->child = cut(cutter, loop->children, sizeof(struct frame *));
	slab->store = cut(cutter, loop->saves, sizeof *slab->store);
	slab->tensor = cut(cutter, loop->slots, sizeof *slab->tensor);
	slab->at = cut(cutter, loop->uses, sizeof(struct dfg_tensor *));
}

static struct slab *new_slab(struct machine *machine, struct loop *loop)
{
	struct slab plan = {0};
	struct cutter size = {NULL, (sizeof plan + 15) / 16 * 16};
	cut_slab(&size, loop, &plan);
	struct slab *slab = dfg_zeros(1, size.used);
	if (!slab)
		return NULL;
	struct cutter cutter = {(char *)slab, (sizeof plan + 15) / 16 * 16};
	cut_slab(&cutter, loop, slab);
	for (uint32_t i = 0; i < loop->uses; i++)
		slab->at[i] = &slab->tensor[loop->use[i]];
	for (uint32_t i = 0; i < loop->saves; i++)
		dfg_store_init(&slab->store[i], loop->keys[i]);
	slab->loop = loop;
	slab->made = machine->slabs;
	return machine->slabs = slab;
}

struct dfg_err *dfg_slab_take(struct machine *machine, uint32_t number, struct slab **out_slab)
{
	struct loop *loop = &machine->flow->loop[number];
	struct slab *slab = machine->free_slab[number];
	if (slab)
		machine->free_slab[number] = slab->next;
	else if (!(slab = new_slab(machine, loop)))
		return dfg_no_memory("an iteration");
	memcpy(slab->count, loop->count, loop->records * sizeof *loop->count);
	memcpy(slab->left, loop->left, loop->slots * sizeof *loop->left);
	memset(slab->state, EMPTY, loop->slots);
	memset(slab->child, 0, loop->children * sizeof *slab->child);
	slab->next = NULL;
	slab->frame = NULL;
	slab->iteration = 0;
	slab->outstanding = slab->children = 0;
	slab->used = true;
	machine->live_slabs++;
	*out_slab = slab;
	return NULL;
}

void dfg_slab_give(struct machine *machine, struct slab *slab)
{
	for (uint32_t i = 0; i < slab->loop->slots; i++)
		if (slab->state[i] == LIVE)
			dfg_tensor_release(&slab->tensor[i]);
		else if (slab->state[i] == LENT)
			slab->tensor[i] = (struct dfg_tensor){0};
	for (uint32_t i = 0; i < slab->loop->saves; i++) {
		machine->live_saves -= slab->store[i].live;
		dfg_store_clear(&slab->store[i]);
	}
	size_t number = (size_t)(slab->loop - machine->flow->loop);
	machine->live_slabs--;
	slab->used = false;
	slab->next = machine->free_slab[number];
	machine->free_slab[number] = slab;
}

static struct frame *new_frame(struct machine *machine, const struct loop *loop)
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
	frame->made = machine->frames;
	return machine->frames = frame;
}

void dfg_frame_give(struct machine *machine, struct frame *frame)
{
	size_t number = (size_t)(frame->loop - machine->flow->loop);
	for (uint32_t i = 0; i < frame->n_constant; i++)
		dfg_tensor_release(&frame->constant[i].tensor);
	for (uint32_t i = 0; i < frame->n_parked; i++)
		dfg_tensor_release(&frame->parked[i].tensor);
	frame->n_constant = frame->n_parked = frame->n_exit = 0;
	machine->live_frames--;
	frame->used = false;
	frame->next = machine->free_frame[number];
	machine->free_frame[number] = frame;
}

/* The record's output 0 comes to the slab: dead, lent, or as a reference of its own. */
static struct dfg_err *deliver(struct machine *machine, struct slab *slab, uint32_t record,
	const struct dfg_tensor *value, const struct death *death, bool lend)
{
	const struct record *r = &machine->plan->record[record];
	uint32_t global = dfg_record_out(machine->plan, r, 0), slot = dfg_out_slot(machine, record, 0);
	if (slab->state[slot] != EMPTY)
		return dfg_call_note(DFG_ERR(DFG_DATA, "gives its value twice"), r->call);
	if (death)
		slab->slot_death[slot] = *death;
	else if (lend)
		slab->tensor[slot] = *value;
	else
		DFG_TRY(dfg_call_note(dfg_pass(value, machine->plan->is_ref[global], &slab->tensor[slot]), r->call));
	slab->state[slot] = death ? DEAD : lend ? LENT : LIVE;
	return dfg_notify(machine, slab, record, death);
}

static struct dfg_err *deliver_constants(struct machine *machine, struct frame *frame, struct slab *slab, uint32_t from)
{
	for (uint32_t i = from; i < frame->n_constant; i++) {
		struct constant *constant = &frame->constant[i];
		const struct death *death = constant->dead ? &constant->death : NULL;
		DFG_TRY(deliver(machine, slab, constant->record, &constant->tensor, death, true));
	}
	return NULL;
}

/* One more iteration, the newest. */
static struct dfg_err *begin_iteration(struct machine *machine, struct frame *frame)
{
	struct slab *slab;
	int64_t most = machine->plan->session->options.max_iterations;
	if (most > 0 && frame->newest_number >= most)
		return DFG_ERR(DFG_DATA, "loop '%s' runs more than %lld iterations", frame->loop->path, (long long)most);
	DFG_TRY(dfg_slab_take(machine, (uint32_t)(frame->loop - machine->flow->loop), &slab));
	slab->frame = frame;
	slab->iteration = ++frame->newest_number;
	if (frame->newest)
		frame->newest->next = slab;
	else
		frame->oldest = slab;
	frame->newest = slab;
	frame->outstanding++;
	frame->n_exit = 0;
	machine->stats.iterations++;
	return deliver_constants(machine, frame, slab, 0);
}

static struct dfg_err *begin_frame(struct machine *machine, struct slab *parent, struct frame *frame)
{
	struct slab *first;
	frame->used = true;
	frame->parent = parent;
	frame->enters = frame->loop->enters;
	frame->outstanding = 1;
	frame->newest_number = 0;
	frame->oldest = frame->newest = NULL;
	parent->child[frame->loop->child] = frame;
	parent->children++;
	if (++machine->live_frames > machine->stats.peak_frames)
		machine->stats.peak_frames = machine->live_frames;
	DFG_TRY(dfg_slab_take(machine, (uint32_t)(frame->loop - machine->flow->loop), &first));
	first->frame = frame;
	frame->oldest = frame->newest = first;
	machine->stats.iterations++;
	return NULL;
}

/* The frame that this iteration runs the loop in, made when the first value enters, live or dead. */
static struct dfg_err *find_frame(struct machine *machine, struct slab *slab, uint32_t number, struct frame **out_frame)
{
	struct loop *loop = &machine->flow->loop[number];
	struct frame *frame = slab->child[loop->child];
	if (!frame) {
		if ((frame = machine->free_frame[number]))
			machine->free_frame[number] = frame->next;
		else if (!(frame = new_frame(machine, loop)))
			return dfg_no_memory("an iteration");
		frame->loop = loop;
		DFG_TRY(begin_frame(machine, slab, frame));
	}
	*out_frame = frame;
	return NULL;
}

static struct dfg_err *enter_constant(struct machine *machine, struct frame *frame, uint32_t record,
	const struct dfg_tensor *value, const struct death *death)
{
	const struct record *r = &machine->plan->record[record];
	struct constant *constant = &frame->constant[frame->n_constant];
	*constant = (struct constant){.record = record, .dead = death, .death = death ? *death : (struct death){0}};
	if (!death)
		DFG_TRY(dfg_pass(value, machine->plan->is_ref[dfg_record_out(machine->plan, r, 0)], &constant->tensor));
	frame->n_constant++;
	for (struct slab *slab = frame->oldest; slab; slab = slab->next)
		DFG_TRY(deliver_constants(machine, frame, slab, frame->n_constant - 1));
	return NULL;
}

static const struct dfg_tensor *input(const struct machine *machine, const struct slab *slab, uint32_t record)
{
	return slab->at[machine->flow->first_use[record]];
}

struct dfg_err *dfg_enter(struct machine *machine, struct slab *slab, uint32_t record, const struct death *death)
{
	const struct dfg_call *call = machine->plan->record[record].call;
	uint32_t number = machine->flow->slot_loop[dfg_record_out(machine->plan, &machine->plan->record[record], 0)];
	struct frame *frame = NULL;
	DFG_TRY(find_frame(machine, slab, number, &frame));
	frame->enters--;
	if (call->attr[dfg_op_attr(call->signature, "is_constant")].b)
		DFG_TRY(enter_constant(machine, frame, record, input(machine, slab, record), death));
	else
		DFG_TRY(deliver(machine, frame->oldest, record, input(machine, slab, record), death, false));
	return dfg_settle(machine, frame->oldest);
}

struct dfg_err *dfg_exit(struct machine *machine, struct slab *slab, uint32_t record, const struct death *death)
{
	struct frame *frame = slab->frame;
	if (!death)
		return deliver(machine, frame->parent, record, input(machine, slab, record), NULL, false);
	if (slab == frame->newest)
		frame->exit[frame->n_exit++] = (struct dead_exit){record, *death};
	return NULL;
}

struct dfg_err *dfg_next_iteration(
	struct machine *machine, struct slab *slab, uint32_t record, const struct death *death)
{
	struct frame *frame = slab->frame;
	const struct record *r = &machine->plan->record[record];
	const struct dfg_tensor *value = input(machine, slab, record);
	if (death)
		return NULL;
	if (slab == frame->newest && frame->outstanding >= frame->loop->window) {
		struct parked *parked = &frame->parked[frame->n_parked];
		parked->record = record;
		DFG_TRY(dfg_pass(value, machine->plan->is_ref[dfg_record_out(machine->plan, r, 0)], &parked->tensor));
		frame->n_parked++;
		return NULL;
	}
	if (slab == frame->newest)
		DFG_TRY(begin_iteration(machine, frame));
	return deliver(machine, slab->next, record, value, NULL, false);
}

/* What waited for the window goes on. */
static struct dfg_err *unpark(struct machine *machine, struct frame *frame)
{
	uint32_t n = frame->n_parked;
	struct dfg_err *err = begin_iteration(machine, frame);
	for (uint32_t i = 0; i < n && !err; i++)
		err = deliver(machine, frame->newest, frame->parked[i].record, &frame->parked[i].tensor, NULL, false);
	if (err)
		return err;
	for (uint32_t i = 0; i < n; i++)
		dfg_tensor_release(&frame->parked[i].tensor);
	frame->n_parked = 0;
	return NULL;
}

/* Iterations end in order; iteration 0 not before all has entered. */
static bool is_done(const struct frame *frame, const struct slab *slab)
{
	return !slab->outstanding && !slab->children && (slab->iteration || !frame->enters);
}

static struct dfg_err *end_iterations(struct machine *machine, struct frame *frame)
{
	while (frame->oldest && is_done(frame, frame->oldest)) {
		struct slab *slab = frame->oldest;
		frame->oldest = slab->next;
		if (!frame->oldest)
			frame->newest = NULL;
		frame->outstanding--;
		dfg_slab_give(machine, slab);
		if (frame->n_parked)
			DFG_TRY(unpark(machine, frame));
	}
	return NULL;
}

/* Exits that were dead to the end are dead outside. */
static struct dfg_err *end_frame(struct machine *machine, struct frame *frame)
{
	struct slab *parent = frame->parent;
	parent->child[frame->loop->child] = NULL;
	parent->children--;
	for (uint32_t i = 0; i < frame->n_exit; i++)
		DFG_TRY(deliver(machine, parent, frame->exit[i].record, NULL, &frame->exit[i].death, false));
	dfg_frame_give(machine, frame);
	return NULL;
}

struct dfg_err *dfg_settle(struct machine *machine, struct slab *slab)
{
	while (slab->frame && !slab->outstanding && !slab->children) {
		struct frame *frame = slab->frame;
		DFG_TRY(end_iterations(machine, frame));
		if (frame->oldest || frame->enters)
			return NULL;
		slab = frame->parent;
		DFG_TRY(end_frame(machine, frame));
	}
	return NULL;
}
