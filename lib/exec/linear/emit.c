#include "lib/exec/linear/builder_private.h"
#include "lib/exec/linear/saved_values.h"

#include <string.h>

/* Which records run, and in what way: as ops, in the order of the course, with skips around branches. */

enum { COPY_MOST = 16 * 1024 }; /* bytes that a Merge copies; what is larger stays where it is */

static uint32_t in_slot(const struct laying *laying, const struct record *record, int i)
{
	return laying->forward[dfg_record_in(laying->plan, record, i)];
}

static uint32_t out_slot(const struct laying *laying, const struct record *record, int i)
{
	return dfg_record_out(laying->plan, record, i);
}

static struct dfg_err *put_known(struct laying *laying, uint32_t slot)
{
	const struct dfg_fact *fact = &laying->fact[slot];
	const struct dfg_shape shape = fact->known->rank ? DFG_SHAPE_VECTOR(fact->known->count) : DFG_SHAPE_SCALAR;
	struct dfg_tensor *tensor = &laying->layout->start[slot];
	void *data = dfg_arena_zeros(&laying->layout->arena, (size_t)fact->known->count, 8);
	if (!data)
		return dfg_no_memory("the program of the step");
	dfg_convert(fact->dtype, data, DFG_I64, fact->known->v, fact->known->count);
	*tensor = (struct dfg_tensor){.dtype = fact->dtype,
		.shape = shape,
		.data = data,
		.room = (size_t)fact->known->count * dfg_dtype_size(fact->dtype)};
	return NULL;
}

/* What only passes its input on, and does not read a ref, is its input. */
static bool is_forward(const struct laying *laying, const struct record *record)
{
	bool optional = record->role == DFG_IDENTITY || record->role == DFG_PLACEHOLDER_DEFAULT;
	bool passes = record->role == DFG_SWITCH || record->role == DFG_LOOP_COND || record->role == DFG_ENTER ||
				  (record->role == DFG_EXIT && !laying->kept[record - laying->plan->record]);
	if (!passes && (!optional || laying->plan->session->options.no_opt))
		return false;
	for (int i = 0; i < record->n_out; i++)
		if (laying->plan->is_ref[in_slot(laying, record, optional ? i : 0)] !=
			laying->plan->is_ref[out_slot(laying, record, i)])
			return false;
	return true;
}

static void forward(struct laying *laying, const struct record *record)
{
	bool one = record->role == DFG_SWITCH;
	for (int i = 0; i < record->n_out; i++)
		laying->forward[out_slot(laying, record, i)] = in_slot(laying, record, one ? 0 : i);
}

/* The same elements in a shape that is known, whatever the other inputs say at run time. */
static bool is_view(const struct laying *laying, const struct record *record)
{
	const struct dfg_call *call = record->call;
	bool only_moves = (call->op->flags & (DFG_VIEW | DFG_STATEFUL)) == DFG_VIEW;
	if (record->role != DFG_PLAIN || !only_moves || call->n_out != 1 || !call->n_in ||
		laying->plan->is_ref[in_slot(laying, record, 0)] || laying->plan->session->options.no_opt)
		return false;
	const struct dfg_fact *in = &laying->fact[in_slot(laying, record, 0)];
	const struct dfg_fact *out = &laying->fact[out_slot(laying, record, 0)];
	for (int i = 1; i < call->n_in; i++)
		if (!dfg_known_whole(laying->fact[in_slot(laying, record, i)].known))
			return false;
	return in->dtype == out->dtype && dfg_is_plain(in->dtype) && dfg_shape_known(&in->shape) &&
		   dfg_shape_known(&out->shape) && dfg_shape_count(&in->shape) == dfg_shape_count(&out->shape);
}

/* Ops being added: which skips stand open, and since which loop. */
struct adding {
	struct laying *laying;
	uint32_t guard;                                    /* under which the next op would stand */
	uint32_t open[(LOOP_DEEPEST + 1) * GUARD_DEEPEST]; /* ops, the innermost last; the root has branches too */
	uint32_t n_open;
	uint32_t outer[LOOP_DEEPEST + 2]; /* guards around the loops that are open */
	uint32_t depth;
};

static struct op *new_op(struct adding *adding, uint8_t kind, const struct record *record)
{
	struct layout *layout = adding->laying->layout;
	struct op *op = &layout->op[layout->count++];
	*op = (struct op){.kind = kind,
		.record = record,
		.attr = record ? record->call->attr : NULL,
		.first = layout->uses,
		.guard = adding->guard,
		.loop = adding->laying->course->guard[adding->guard].loop};
	return op;
}

static void close_skip(struct adding *adding)
{
	const struct course *course = adding->laying->course;
	struct layout *layout = adding->laying->layout;
	layout->op[adding->open[--adding->n_open]].to = layout->count;
	adding->guard = course->guard[adding->guard].parent;
}

/* Goes to where the guard holds: out of branches, and into others. */
static void go_to(struct adding *adding, uint32_t guard)
{
	const struct course *course = adding->laying->course;
	uint32_t path[GUARD_DEEPEST], n = 0;
	for (uint32_t g = guard; g != adding->guard;) {
		if (course->guard[g].depth > course->guard[adding->guard].depth) {
			path[n++] = g;
			g = course->guard[g].parent;
		} else {
			close_skip(adding);
		}
	}
	while (n--) {
		const struct guard *next = &course->guard[path[n]];
		struct op *skip = new_op(adding, OP_SKIP, NULL);
		skip->flag = next->flag;
		skip->side = next->side;
		adding->open[adding->n_open++] = (uint32_t)(skip - adding->laying->layout->op);
		adding->guard = path[n];
	}
}

static void use_in(struct adding *adding, struct op *op, uint32_t slot)
{
	struct layout *layout = adding->laying->layout;
	layout->use[layout->uses++] = slot;
	op->n_in++;
}

/* Of which the place is in the block, if it can be and may. */
static void use_out(struct adding *adding, struct op *op, uint32_t slot, bool may)
{
	struct laying *laying = adding->laying;
	laying->layout->use[laying->layout->uses++] = slot;
	laying->store[slot] = may && dfg_laying_fits(laying, slot) ? slot : DFG_NONE;
	op->n_out++;
}

/* Small values of one size lie side by side; references are kept of others. */
static void add_save(struct adding *adding, uint32_t r)
{
	struct laying *laying = adding->laying;
	const struct record *record = &laying->plan->record[r];
	struct op *op = new_op(adding, OP_SAVE, record);
	uint32_t value = in_slot(laying, record, 0);
	op->flag = laying->course->save[r];
	for (int i = 0; i < record->n_in; i++)
		use_in(adding, op, in_slot(laying, record, i));
	if (dfg_laying_fits(laying, value) && dfg_laying_bytes(laying, value) <= SAVED_SMALL)
		laying->layout->saved[op->flag] = dfg_laying_bytes(laying, value);
}

static void add_load(struct adding *adding, const struct record *record)
{
	struct laying *laying = adding->laying;
	struct op *op = new_op(adding, OP_LOAD, record);
	op->flag = laying->course->save[record->save];
	for (int i = 0; i < record->n_in; i++)
		use_in(adding, op, in_slot(laying, record, i));
	use_out(adding, op, out_slot(laying, record, 0), laying->layout->saved[op->flag]);
}

static void forget_saves(struct adding *adding, uint32_t loop)
{
	struct laying *laying = adding->laying;
	const struct dfg_plan *plan = laying->plan;
	for (uint32_t r = 0; r < plan->count && plan->flow->loop[loop].saves; r++)
		if (plan->record[r].role == DFG_SAVE && plan->flow->keep[r].region == loop && laying->needed[r])
			new_op(adding, OP_FORGET, NULL)->flag = laying->course->save[r];
}

static void add_record(struct adding *adding, const struct record *record)
{
	struct laying *laying = adding->laying;
	bool view = is_view(laying, record);
	struct op *op = new_op(adding, !record->run ? OP_PASS : view ? OP_VIEW : OP_KERNEL, record);
	if (record->role == DFG_EXIT)
		op->kind = OP_KEEP;
	for (int i = 0; i < record->n_in; i++)
		use_in(adding, op, in_slot(laying, record, i));
	bool made = record->role == DFG_PLAIN && !(record->call->op->flags & DFG_VIEW);
	for (int i = 0; i < record->n_out; i++)
		use_out(adding, op, out_slot(laying, record, i), made);
	if (view) {
		uint32_t in = in_slot(laying, record, 0), out = out_slot(laying, record, 0);
		dfg_laying_join(laying, in, out);
		laying->store[out] = laying->store[in];
		laying->lent[out] = laying->lent[in] || in >= laying->plan->first_feed || laying->layout->start[in].data;
	}
	/* What moves values leaves them where they are: they stay alive as long as the copies. */
	for (int i = 0; i < record->n_in && op->kind == OP_PASS; i++)
		for (int o = 0; o < record->n_out; o++)
			dfg_laying_join(laying, in_slot(laying, record, i), out_slot(laying, record, o));
}

/* A live input of a Merge becomes its output. */
static void add_arm(struct adding *adding, const struct stop *stop)
{
	struct laying *laying = adding->laying;
	const struct record *record = &laying->plan->record[stop->number];
	uint32_t in = in_slot(laying, record, stop->input), out = out_slot(laying, record, 0);
	bool copies = dfg_laying_fits(laying, out) && dfg_laying_bytes(laying, out) <= COPY_MOST;
	struct op *op = new_op(adding, copies ? OP_BRING : OP_PASS, record);
	use_in(adding, op, in);
	use_out(adding, op, out, copies);
	if (!copies)
		dfg_laying_join(laying, in, out);
	if (!record->tells_index)
		return;
	op = new_op(adding, OP_INDEX, record);
	op->n = stop->input;
	use_out(adding, op, out_slot(laying, record, 1), true);
}

static void add_choice(struct adding *adding, const struct stop *stop)
{
	struct laying *laying = adding->laying;
	const struct flag *flag = &laying->course->flag[stop->number];
	struct op *op = new_op(adding, OP_CHOOSE, &laying->plan->record[flag->record]);
	op->flag = stop->number;
	op->n = flag->n_out;
	use_in(adding, op, laying->forward[flag->slot]);
}

static bool is_carried(const struct laying *laying, const struct carried *carried)
{
	return laying->needed[laying->plan->maker[carried->merge]];
}

static void add_begin(struct adding *adding, uint32_t loop)
{
	struct laying *laying = adding->laying;
	const struct bend *bend = &laying->course->bend[loop];
	struct op *op = new_op(adding, OP_BEGIN, NULL);
	const struct carried *carried = laying->course->carried + bend->first_carried;
	laying->begin[loop] = (uint32_t)(op - laying->layout->op);
	op->flag = loop;
	for (uint32_t i = 0; i < bend->n_carried; i++)
		if (is_carried(laying, &carried[i]))
			use_in(adding, op, laying->forward[carried[i].enter]);
	for (uint32_t i = 0; i < bend->n_carried; i++)
		if (is_carried(laying, &carried[i])) {
			use_out(adding, op, carried[i].merge, true);
			laying->carried[carried[i].merge] = true;
		}
	adding->outer[adding->depth++] = adding->guard;
	adding->guard = loop;
}

static void add_back(struct adding *adding, uint32_t loop)
{
	struct laying *laying = adding->laying;
	const struct bend *bend = &laying->course->bend[loop];
	const struct carried *carried = laying->course->carried + bend->first_carried;
	forget_saves(adding, loop);
	struct op *op = new_op(adding, OP_BACK, NULL);
	laying->back[loop] = (uint32_t)(op - laying->layout->op);
	op->flag = bend->flag;
	op->to = laying->begin[loop] + 1;
	for (uint32_t i = 0; i < bend->n_carried; i++)
		if (is_carried(laying, &carried[i]))
			use_in(adding, op, laying->forward[carried[i].next]);
	for (uint32_t i = 0; i < bend->n_carried; i++)
		if (is_carried(laying, &carried[i]))
			use_out(adding, op, carried[i].merge, true);
	adding->guard = adding->outer[--adding->depth];
}

/* A stop of which nothing is left to do, or that never comes. */
static bool is_idle(const struct laying *laying, const struct stop *stop)
{
	const struct course *course = laying->course;
	if (stop->guard == NEVER)
		return true;
	if (stop->kind == STOP_CHOOSE)
		return !laying->flagged[stop->number];
	if (stop->kind == STOP_BEGIN || stop->kind == STOP_BACK)
		return !laying->flagged[course->bend[stop->number].flag];
	return !laying->needed[stop->number] || laying->plan->record[stop->number].preset;
}

static struct dfg_err *add_stop(struct adding *adding, const struct stop *stop)
{
	struct laying *laying = adding->laying;
	const struct record *record = &laying->plan->record[stop->number];
	if (stop->kind == STOP_RECORD) {
		bool nothing = record->role == DFG_NO_OP || record->role == DFG_CONTROL_TRIGGER;
		if (nothing || record->role == DFG_MERGE || record->role == DFG_NEXT_ITERATION)
			return NULL;
		if (dfg_laying_constant(laying, record)) {
			laying->layout->start[out_slot(laying, record, 0)] = laying->plan->preset[out_slot(laying, record, 0)];
			return NULL;
		}
		if (dfg_laying_known(laying, record)) {
			for (int i = 0; i < record->n_out; i++)
				DFG_TRY(put_known(laying, out_slot(laying, record, i)));
			return NULL;
		}
		if (is_forward(laying, record)) {
			forward(laying, record);
			return NULL;
		}
	}
	go_to(adding, stop->guard);
	switch ((enum stop_kind)stop->kind) {
	case STOP_RECORD:
		if (record->role == DFG_SAVE)
			add_save(adding, stop->number);
		else if (record->role == DFG_LOAD)
			add_load(adding, record);
		else
			add_record(adding, record);
		break;
	case STOP_CHOOSE:
		add_choice(adding, stop);
		break;
	case STOP_MOVE:
		add_arm(adding, stop);
		break;
	case STOP_BEGIN:
		add_begin(adding, stop->number);
		break;
	case STOP_BACK:
		add_back(adding, stop->number);
		break;
	}
	return NULL;
}

static struct dfg_err *add_ops(struct laying *laying)
{
	const struct course *course = laying->course;
	struct adding *adding = dfg_arena_zeros(laying->scratch, 1, sizeof *adding);
	if (!adding)
		return dfg_no_memory("the program of the step");
	adding->laying = laying;
	for (uint32_t i = 0; i < course->stops; i++)
		if (!is_idle(laying, &course->stop[i]))
			DFG_TRY(add_stop(adding, &course->stop[i]));
	go_to(adding, 0);
	return NULL;
}

/* Exits by which something leaves the step: their loops keep their own places. */
static void keep_exit(struct laying *laying, uint32_t slot)
{
	const struct dfg_plan *plan = laying->plan;
	while (slot < plan->first_feed) {
		uint32_t r = plan->maker[slot];
		const struct record *record = &plan->record[r];
		if (record->role == DFG_EXIT)
			laying->kept[r] = true;
		if (record->role != DFG_IDENTITY && record->role != DFG_SWITCH)
			return;
		uint32_t i = record->role == DFG_IDENTITY ? slot - out_slot(laying, record, 0) : 0;
		slot = dfg_record_in(plan, record, (int)i);
	}
}

static void find_kept(struct laying *laying)
{
	const struct dfg_plan *plan = laying->plan;
	for (uint32_t i = 0; i < plan->step.n_fetch && plan->loops; i++)
		keep_exit(laying, plan->fetch[i]);
	for (uint32_t r = 0; r < plan->count && plan->loops; r++)
		for (int i = 1; i < plan->record[r].n_in && plan->record[r].role == DFG_ASSIGN; i++)
			keep_exit(laying, dfg_record_in(plan, &plan->record[r], i));
}

static struct dfg_err *take_scratch(struct laying *laying)
{
	const struct dfg_plan *plan = laying->plan;
	struct dfg_arena *scratch = laying->scratch;
	laying->fact = dfg_arena_zeros(scratch, plan->slots, sizeof *laying->fact);
	laying->needed = dfg_arena_zeros(scratch, plan->count, sizeof *laying->needed);
	laying->flagged = dfg_arena_zeros(scratch, laying->course->flags, sizeof *laying->flagged);
	laying->kept = dfg_arena_zeros(scratch, plan->count, sizeof *laying->kept);
	laying->forward = dfg_arena_zeros(scratch, plan->slots, sizeof *laying->forward);
	laying->group = dfg_arena_zeros(scratch, plan->slots, sizeof *laying->group);
	laying->store = dfg_arena_zeros(scratch, plan->slots, sizeof *laying->store);
	laying->first = dfg_arena_zeros(scratch, plan->slots, sizeof *laying->first);
	laying->under = dfg_arena_zeros(scratch, plan->slots, sizeof *laying->under);
	laying->last = dfg_arena_zeros(scratch, plan->slots, sizeof *laying->last);
	laying->begin = dfg_arena_zeros(scratch, laying->course->loops, sizeof *laying->begin);
	laying->back = dfg_arena_zeros(scratch, laying->course->loops, sizeof *laying->back);
	laying->carried = dfg_arena_zeros(scratch, plan->slots, sizeof *laying->carried);
	laying->lent = dfg_arena_zeros(scratch, plan->slots, sizeof *laying->lent);
	laying->item = dfg_arena_zeros(scratch, plan->slots, sizeof *laying->item);
	bool all = laying->fact && laying->needed && laying->flagged && laying->kept && laying->forward && laying->group &&
			   laying->store && laying->first && laying->under && laying->last && laying->begin && laying->back &&
			   laying->carried && laying->lent && laying->item;
	return all ? NULL : dfg_no_memory("the program of the step");
}

static struct dfg_err *take_room(struct laying *laying)
{
	const struct dfg_plan *plan = laying->plan;
	struct layout *layout = laying->layout;
	struct dfg_arena *arena = &layout->arena;
	size_t ops = (size_t)laying->course->stops + laying->course->skips + laying->course->saves + plan->uses;
	DFG_TRY(take_scratch(laying));
	layout->op = dfg_arena_zeros(arena, ops, sizeof *layout->op);
	layout->alive = dfg_arena_zeros(arena, ops, sizeof *layout->alive);
	layout->use = dfg_arena_zeros(arena, 3 * (size_t)plan->uses + laying->course->stops, sizeof *layout->use);
	layout->saved = dfg_arena_zeros(arena, laying->course->saves, sizeof *layout->saved);
	layout->start = dfg_arena_zeros(arena, plan->slots, sizeof *layout->start);
	layout->in_block = dfg_arena_zeros(arena, plan->slots, sizeof *layout->in_block);
	layout->counted = dfg_arena_zeros(arena, plan->slots, sizeof *layout->counted);
	layout->moves = dfg_arena_zeros(arena, plan->step.n_fetch, sizeof *layout->moves);
	layout->fetch = dfg_arena_zeros(arena, plan->step.n_fetch, sizeof *layout->fetch);
	if (!layout->saved || !layout->op || !layout->alive || !layout->use || !layout->start || !layout->in_block ||
		!layout->counted || !layout->moves || !layout->fetch)
		return dfg_no_memory("the program of the step");
	for (uint32_t s = 0; s < plan->slots; s++) {
		laying->forward[s] = laying->group[s] = s;
		laying->store[s] = laying->first[s] = DFG_NONE;
		laying->under[s] = UNWRITTEN;
		if (plan->kind[s] == SLOT_PRESET)
			layout->start[s] = plan->preset[s];
	}
	return NULL;
}

static struct dfg_err *copy_shapes(struct layout *layout, const struct dfg_tensor *feeds)
{
	uint32_t n = layout->plan->step.n_feed;
	if (!feeds)
		return NULL;
	if (!(layout->feed = dfg_arena_zeros(&layout->arena, n, sizeof *layout->feed)))
		return dfg_no_memory("the program of the step");
	for (uint32_t i = 0; i < n; i++)
		layout->feed[i] = feeds[i].shape;
	return NULL;
}

static struct dfg_err *lay_out(struct laying *laying, const struct dfg_tensor *feeds)
{
	DFG_TRY(take_room(laying));
	DFG_TRY(copy_shapes(laying->layout, feeds));
	DFG_TRY(dfg_plan_infer(laying->plan, feeds, laying->scratch, laying->fact));
	find_kept(laying);
	DFG_TRY(dfg_laying_need(laying));
	DFG_TRY(add_ops(laying));
	return dfg_laying_place(laying);
}

struct dfg_err *dfg_layout_make(struct dfg_plan *plan, const struct dfg_tensor *feeds, struct layout **out_layout)
{
	struct dfg_arena scratch = {0};
	struct layout *layout = dfg_zeros(1, sizeof *layout);
	if (!layout)
		return dfg_no_memory("the program of the step");
	layout->plan = plan;
	struct laying laying = {.plan = plan, .course = plan->course, .layout = layout, .scratch = &scratch};
	struct dfg_err *err = lay_out(&laying, feeds);
	dfg_arena_release(&scratch);
	if (err)
		dfg_layout_free(layout);
	else
		*out_layout = layout;
	return err;
}

void dfg_layout_free(struct layout *layout)
{
	dfg_lines_free(layout->idle);
	dfg_arena_release(&layout->arena);
	dfg_free(layout);
}
