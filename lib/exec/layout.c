#include "lib/exec/line.h"

#include <string.h>

enum { ROW_MOST = 32 * 1024 };       /* elements: longer rows are cut up for several threads */
#define BYTES_MOST ((size_t)1 << 46) /* of a value that is worth a plan */

/* What a layout is worked out with; the arrays are scratch. */
struct laying {
	struct dfg_plan *plan;
	struct layout *layout;
	struct dfg_arena *scratch;
	struct dfg_fact *fact;  /* by slot */
	bool *needed;           /* by record */
	uint32_t *forward;      /* by slot: the slot that it simply is */
	uint32_t *group;        /* by slot: towards the slot that speaks for all that may share memory */
	uint32_t *store;        /* by slot: the slot whose room it lies in, itself if that is its own; DFG_NONE: counted */
	uint32_t *first, *last; /* by slot, those that speak for a group: ops */
	struct item *item;
};

static uint32_t group_of(struct laying *laying, uint32_t slot)
{
	while (laying->group[slot] != slot)
		slot = laying->group[slot] = laying->group[laying->group[slot]];
	return slot;
}

static void join(struct laying *laying, uint32_t one, uint32_t two)
{
	one = group_of(laying, one), two = group_of(laying, two);
	laying->group[two] = one;
	laying->first[one] = laying->first[two] < laying->first[one] ? laying->first[two] : laying->first[one];
	laying->last[one] = laying->last[two] > laying->last[one] ? laying->last[two] : laying->last[one];
}

static uint32_t in_slot(const struct laying *laying, const struct record *record, int i)
{
	return laying->forward[laying->plan->slot[record->first + (uint32_t)i]];
}

static uint32_t out_slot(const struct laying *laying, const struct record *record, int i)
{
	return laying->plan->slot[record->first + record->n_in + (uint32_t)i];
}

static bool is_plain(enum dfg_dtype dtype)
{
	return dfg_dtype_size(dtype) && dtype != DFG_STRING && dtype != DFG_RESOURCE && dtype != DFG_VARIANT;
}

/* Small integers that follow from shapes: the node need not run. */
static bool is_known(const struct laying *laying, const struct record *record)
{
	if (record->role != DFG_PLAIN || record->may_die || record->n_control || !record->n_out ||
		record->call->op->flags & (DFG_STATEFUL | DFG_BLOCKING) || laying->plan->session->options.no_opt)
		return false;
	for (int i = 0; i < record->n_out; i++)
		if (!dfg_all_known(laying->fact[out_slot(laying, record, i)].known))
			return false;
	return true;
}

static struct dfg_err *put_known(struct laying *laying, uint32_t slot)
{
	const struct dfg_fact *fact = &laying->fact[slot];
	const struct dfg_shape shape = fact->known->rank ? DFG_SHAPE_VECTOR(fact->known->count) : DFG_SHAPE_SCALAR;
	struct dfg_tensor *tensor = &laying->layout->start[slot];
	void *data = dfg_arena_zeros(&laying->layout->arena, (size_t)fact->known->count, 8);
	if (!data)
		return dfg_no_memory();
	dfg_convert(fact->dtype, data, DFG_I64, fact->known->v, fact->known->count);
	*tensor = (struct dfg_tensor){.dtype = fact->dtype,
		.shape = shape,
		.data = data,
		.room = (size_t)fact->known->count * dfg_dtype_size(fact->dtype)};
	return NULL;
}

/* An Identity that does not read a ref, and cannot die by itself, is its input. */
static bool is_forward(const struct laying *laying, const struct record *record)
{
	if (record->may_die || laying->plan->session->options.no_opt)
		return false;
	if (record->role != DFG_IDENTITY && record->role != DFG_PLACEHOLDER_DEFAULT)
		return false;
	for (int i = 0; i < record->n_out; i++)
		if (laying->plan->is_ref[in_slot(laying, record, i)] != laying->plan->is_ref[out_slot(laying, record, i)])
			return false;
	return true;
}

/* The same elements in a shape that is known, whatever the other inputs say at run time. */
static bool is_view(const struct laying *laying, const struct record *record)
{
	const struct dfg_call *call = record->call;
	bool only_moves = (call->op->flags & (DFG_VIEW | DFG_STATEFUL)) == DFG_VIEW;
	if (record->role != DFG_PLAIN || !only_moves || record->may_die || call->n_out != 1 || !call->n_in ||
		laying->plan->is_ref[in_slot(laying, record, 0)] || laying->plan->session->options.no_opt)
		return false;
	const struct dfg_fact *in = &laying->fact[in_slot(laying, record, 0)];
	const struct dfg_fact *out = &laying->fact[out_slot(laying, record, 0)];
	for (int i = 1; i < call->n_in; i++)
		if (!dfg_all_known(laying->fact[in_slot(laying, record, i)].known))
			return false;
	return in->dtype == out->dtype && is_plain(in->dtype) && dfg_shape_known(&in->shape) &&
		   dfg_shape_known(&out->shape) && dfg_shape_count(&in->shape) == dfg_shape_count(&out->shape);
}

/* Which records run: those that a fetch or target still needs when what is known is taken for granted. */
static struct dfg_err *find_needed(struct laying *laying)
{
	struct dfg_plan *plan = laying->plan;
	uint32_t *number = dfg_arena_zeros(laying->scratch, plan->session->graph->count, sizeof *number);
	if (!number)
		return dfg_no_memory();
	for (uint32_t r = 0; r < plan->count; r++)
		number[plan->record[r].node] = r + 1;
	for (uint32_t i = 0; i < plan->step.n_target; i++)
		if (number[plan->step.target[i]])
			laying->needed[number[plan->step.target[i]] - 1] = true;
	for (uint32_t i = 0; i < plan->step.n_fetch; i++)
		if (plan->fetch[i] < plan->first_feed)
			laying->needed[plan->maker[plan->fetch[i]]] = true;
	for (uint32_t r = plan->count; r--;) {
		const struct record *record = &plan->record[r];
		if (!laying->needed[r] || record->preset || is_known(laying, record))
			continue;
		for (int i = 0; i < record->n_in; i++)
			if (plan->slot[record->first + (uint32_t)i] < plan->first_feed)
				laying->needed[plan->maker[plan->slot[record->first + (uint32_t)i]]] = true;
		for (uint32_t i = 0; i < record->n_control; i++)
			laying->needed[plan->control[record->first_control + i]] = true;
	}
	return NULL;
}

static size_t bytes_of(const struct laying *laying, uint32_t slot)
{
	const struct dfg_fact *fact = &laying->fact[slot];
	size_t bytes = 0;
	struct dfg_err *err = dfg_shape_bytes(&fact->shape, fact->dtype, &bytes);
	dfg_err_free(err);
	return err ? BYTES_MOST : bytes;
}

/* A kernel whose output's size is known writes it into the block; what no machine has room for it will refuse itself. */
static bool fits_block(const struct laying *laying, const struct record *record, uint32_t slot)
{
	const struct dfg_fact *fact = &laying->fact[slot];
	bool made = record->role == DFG_PLAIN && !(record->call->op->flags & DFG_VIEW);
	return made && is_plain(fact->dtype) && dfg_shape_known(&fact->shape) && !laying->plan->is_ref[slot] &&
		   bytes_of(laying, slot) < BYTES_MOST;
}

static struct dfg_err *add_op(struct laying *laying, const struct record *record)
{
	struct layout *layout = laying->layout;
	struct op *op = &layout->op[layout->count];
	*op = (struct op){
		.record = record, .attr = record->call->attr, .first = layout->uses, .n_in = record->n_in, .kind = OP_KERNEL};
	bool view = is_view(laying, record);
	if (record->may_die || !record->run || record->reads_ref)
		op->kind = OP_ANY;
	for (int i = 0; i < record->n_in; i++)
		layout->use[layout->uses++] = in_slot(laying, record, i);
	for (int i = 0; i < record->n_out; i++) {
		uint32_t slot = out_slot(laying, record, i);
		layout->use[layout->uses++] = slot;
		laying->store[slot] = fits_block(laying, record, slot) ? slot : DFG_NONE;
	}
	if (view) {
		uint32_t in = in_slot(laying, record, 0), out = out_slot(laying, record, 0);
		op->kind = OP_VIEW;
		join(laying, in, out);
		laying->store[out] = laying->store[in];
	}
	/* What moves values leaves them where they are: they stay alive as long as the copies. */
	for (int i = 0; i < record->n_in && !record->run; i++)
		for (int o = 0; o < record->n_out; o++)
			join(laying, in_slot(laying, record, i), out_slot(laying, record, o));
	layout->count++;
	return NULL;
}

static struct dfg_err *add_ops(struct laying *laying)
{
	struct dfg_plan *plan = laying->plan;
	for (uint32_t r = 0; r < plan->count; r++) {
		const struct record *record = &plan->record[r];
		if (!laying->needed[r] || record->preset)
			continue;
		if (is_known(laying, record)) {
			for (int i = 0; i < record->n_out; i++)
				DFG_TRY(put_known(laying, out_slot(laying, record, i)));
		} else if (is_forward(laying, record)) {
			for (int i = 0; i < record->n_out; i++)
				laying->forward[out_slot(laying, record, i)] = in_slot(laying, record, i);
		} else {
			DFG_TRY(add_op(laying, record));
		}
	}
	return NULL;
}

/* Values that leave the step: what they lie in must be counted. */
static struct dfg_err *find_escapes(struct laying *laying)
{
	const struct dfg_plan *plan = laying->plan;
	struct layout *layout = laying->layout;
	bool *escapes = dfg_arena_zeros(laying->scratch, plan->slots, sizeof *escapes);
	if (!escapes)
		return dfg_no_memory();
	for (uint32_t i = 0; i < plan->step.n_fetch; i++) {
		layout->fetch[i] = laying->forward[plan->fetch[i]];
		if (laying->store[layout->fetch[i]] != DFG_NONE)
			escapes[laying->store[layout->fetch[i]]] = true;
	}
	for (uint32_t o = 0; o < layout->count; o++)
		for (int i = 1; i < layout->op[o].record->n_in && layout->op[o].record->role == DFG_ASSIGN; i++) {
			uint32_t store = laying->store[layout->use[layout->op[o].first + (uint32_t)i]];
			if (store != DFG_NONE)
				escapes[store] = true;
		}
	for (uint32_t s = 0; s < plan->slots; s++)
		if (laying->store[s] != DFG_NONE && escapes[laying->store[s]])
			laying->store[s] = DFG_NONE;
	return NULL;
}

static void find_lifetimes(struct laying *laying)
{
	struct layout *layout = laying->layout;
	for (uint32_t o = 0; o < layout->count; o++) {
		const struct op *op = &layout->op[o];
		for (uint32_t i = 0; i < (uint32_t)op->record->n_in + op->record->n_out; i++) {
			uint32_t group = group_of(laying, layout->use[op->first + i]);
			laying->first[group] = o < laying->first[group] ? o : laying->first[group];
			laying->last[group] = o > laying->last[group] ? o : laying->last[group];
		}
	}
	for (uint32_t i = 0; i < laying->plan->step.n_fetch; i++)
		laying->last[group_of(laying, layout->fetch[i])] = DFG_NONE;
}

/* Nobody reads input i after this op, and no other input shares its room, unless all go through it element by element. */
static bool is_last_use(struct laying *laying, const struct op *op, uint32_t o, int i)
{
	const uint32_t *use = laying->layout->use + op->first;
	uint32_t group = group_of(laying, use[i]);
	if (laying->last[group] != o || use[i] >= laying->plan->first_feed || laying->plan->kind[use[i]] == SLOT_PRESET)
		return false;
	for (int j = 0; j < op->record->n_in; j++)
		if (j != i && group_of(laying, use[j]) == group && op->kind > OP_NEW)
			return false;
	return true;
}

/* A row takes the room of any operand, other kernels that work in place that of the first. */
static void try_in_place(struct laying *laying, struct op *op, uint32_t o)
{
	const struct record *record = op->record;
	const uint32_t *use = laying->layout->use + op->first;
	if (!record->in_place || !record->n_out || laying->plan->session->options.no_opt)
		return;
	uint32_t out = use[record->n_in];
	int most = record->run == dfg_elementwise_run ? record->n_in : 1;
	for (int i = 0; i < most && i < 32; i++) {
		if (!is_last_use(laying, op, o, i))
			continue;
		op->in_place |= UINT32_C(1) << i;
		const struct dfg_fact *in = &laying->fact[use[i]], *to = &laying->fact[out];
		bool same = dfg_dtype_size(in->dtype) == dfg_dtype_size(to->dtype) && dfg_shape_known(&in->shape) &&
					dfg_shape_known(&to->shape) && dfg_shape_count(&in->shape) == dfg_shape_count(&to->shape);
		if (!same || laying->store[use[i]] == DFG_NONE || laying->store[out] != out)
			continue;
		laying->store[out] = laying->store[use[i]];
		join(laying, use[i], out);
	}
}

/* Whether what the slot will hold is as large as was inferred, whatever a kernel does. */
static bool is_sure(const struct laying *laying, uint32_t slot)
{
	const struct dfg_plan *plan = laying->plan;
	if (slot >= plan->first_feed || plan->kind[slot] == SLOT_PRESET || laying->store[slot] != DFG_NONE)
		return true;
	return laying->layout->start[slot].data || plan->record[plan->maker[slot]].role == DFG_READ;
}

/* A slot has its dtype and shape from the start; data comes. */
static void start_tensor(struct laying *laying, uint32_t slot)
{
	const struct dfg_fact *fact = &laying->fact[slot];
	laying->layout->start[slot] =
		(struct dfg_tensor){.dtype = fact->dtype, .shape = fact->shape, .room = bytes_of(laying, slot)};
}

static bool is_fixed(const struct laying *laying, uint32_t slot)
{
	return laying->store[slot] != DFG_NONE || laying->layout->start[slot].data;
}

/* A row is called by itself where all it touches is sure to be of one shape. */
static void try_row(struct laying *laying, struct op *op)
{
	const struct record *record = op->record;
	const uint32_t *use = laying->layout->use + op->first;
	const struct dfg_session_options *options = &laying->plan->session->options;
	if (op->kind != OP_KERNEL || !record->row || options->no_opt || options->check_numerics || options->trace)
		return;
	const struct dfg_fact *out = &laying->fact[use[record->n_in]];
	int64_t n = dfg_shape_known(&out->shape) ? dfg_shape_count(&out->shape) : ROW_MOST + 1;
	bool fixed = true;
	for (int i = 0; i < record->n_in; i++) {
		const struct dfg_shape *shape = &laying->fact[use[i]].shape;
		if (!is_sure(laying, use[i]) || !dfg_shape_known(shape) || dfg_shape_count(shape) != n)
			return;
		fixed &= is_fixed(laying, use[i]);
	}
	if (n > ROW_MOST)
		return;
	op->row = record->row;
	op->n = n;
	op->kind = fixed ? OP_ROW : OP_GATHER;
	if (laying->store[use[record->n_in]] != DFG_NONE)
		return;
	op->kind = OP_NEW;
	start_tensor(laying, use[record->n_in]);
}

/* A view lies in what it views, and that perhaps in what its maker worked in. */
static uint32_t home_of(const struct laying *laying, uint32_t slot)
{
	while (laying->store[slot] != slot)
		slot = laying->store[slot];
	return slot;
}

static struct dfg_err *place(struct laying *laying)
{
	struct dfg_plan *plan = laying->plan;
	struct layout *layout = laying->layout;
	uint32_t n = 0, *number = dfg_arena_zeros(laying->scratch, plan->slots, sizeof *number);
	if (!number)
		return dfg_no_memory();
	for (uint32_t s = 0; s < plan->slots; s++) {
		if (laying->store[s] != s)
			continue;
		uint32_t group = group_of(laying, s), last = laying->last[group];
		number[s] = n;
		laying->item[n++] = (struct item){.bytes = bytes_of(laying, s),
			.first = laying->first[group],
			.last = plan->session->options.no_opt || last >= layout->count ? layout->count : last};
	}
	DFG_TRY(dfg_pack(laying->item, n, laying->scratch, &layout->block, &layout->live));
	for (uint32_t s = 0; s < plan->slots; s++) {
		if (laying->store[s] == DFG_NONE)
			continue;
		start_tensor(laying, s);
		layout->in_block[s] = true;
		layout->start[s].data = (void *)(uintptr_t)laying->item[number[home_of(laying, s)]].offset;
	}
	for (uint32_t i = 0; i < n; i++) {
		const struct item *item = &laying->item[i];
		for (uint32_t o = item->first; n < 4096 && o <= item->last && o < layout->count; o++)
			layout->alive[o] += item->bytes;
	}
	return NULL;
}

/* Slots that hold a reference of their own are released when their group is read no more, or at the end. */
static struct dfg_err *plan_releases(struct laying *laying)
{
	struct dfg_plan *plan = laying->plan;
	struct layout *layout = laying->layout;
	uint32_t *next = dfg_arena_zeros(laying->scratch, (size_t)layout->count + 1, sizeof *next), total = 0;
	if (!next)
		return dfg_no_memory();
	for (int fill = 0; fill < 2; fill++) {
		for (uint32_t i = 0; i < layout->n_counted; i++) {
			uint32_t last = laying->last[group_of(laying, layout->counted[i])];
			if (last >= layout->count)
				continue;
			if (fill)
				layout->release[next[last]++] = layout->counted[i];
			else
				layout->op[last].n_release++;
		}
		for (uint32_t o = 0; o < layout->count && !fill; o++) {
			layout->op[o].first_release = next[o] = total;
			total += layout->op[o].n_release;
		}
		if (!fill && !(layout->release = dfg_arena_zeros(&layout->arena, total, sizeof *layout->release)))
			return dfg_no_memory();
	}
	for (uint32_t i = 0; i < layout->n_counted; i++)
		if (laying->last[group_of(laying, layout->counted[i])] >= layout->count) {
			uint32_t slot = layout->counted[i];
			layout->counted[i] = layout->counted[layout->n_final];
			layout->counted[layout->n_final++] = slot;
		}
	for (uint32_t i = 0; i < plan->step.n_fetch; i++) {
		layout->moves[i] = false;
		for (uint32_t c = 0; c < layout->n_counted; c++)
			layout->moves[i] |= layout->counted[c] == layout->fetch[i];
		for (uint32_t j = i + 1; j < plan->step.n_fetch; j++)
			layout->moves[i] &= layout->fetch[j] != layout->fetch[i];
	}
	return NULL;
}

static void finish_ops(struct laying *laying)
{
	struct layout *layout = laying->layout;
	for (uint32_t o = 0; o < layout->count; o++) {
		struct op *op = &layout->op[o];
		try_row(laying, op);
		try_in_place(laying, op, o);
	}
	for (uint32_t o = 0; o < layout->count; o++) {
		const struct op *op = &layout->op[o];
		uint32_t first = op->first + op->record->n_in;
		for (uint32_t i = 0; i < op->record->n_out && op->kind != OP_VIEW; i++)
			if (laying->store[layout->use[first + i]] == DFG_NONE)
				layout->counted[layout->n_counted++] = layout->use[first + i];
	}
}

/* A view of what has a fixed place needs nothing done. */
static void drop_fixed_views(struct laying *laying)
{
	struct layout *layout = laying->layout;
	uint32_t kept = 0;
	for (uint32_t o = 0; o < layout->count; o++) {
		const struct op *op = &layout->op[o];
		uint32_t in = layout->use[op->first];
		if (op->kind != OP_VIEW || laying->store[in] == DFG_NONE)
			layout->op[kept++] = *op;
	}
	layout->count = kept;
}

/* A view that is not in the block has its shape from the start, and the rest in the step. */
static void shape_views(struct laying *laying)
{
	struct layout *layout = laying->layout;
	for (uint32_t o = 0; o < layout->count; o++) {
		const struct op *op = &layout->op[o];
		uint32_t out = layout->use[op->first + op->record->n_in];
		if (op->kind == OP_VIEW)
			layout->start[out] = (struct dfg_tensor){
				.dtype = laying->fact[out].dtype, .shape = laying->fact[out].shape, .room = bytes_of(laying, out)};
	}
}

static struct dfg_err *take_room(struct laying *laying)
{
	struct dfg_plan *plan = laying->plan;
	struct layout *layout = laying->layout;
	struct dfg_arena *scratch = laying->scratch, *arena = &layout->arena;
	laying->fact = dfg_arena_zeros(scratch, plan->slots, sizeof *laying->fact);
	laying->needed = dfg_arena_zeros(scratch, plan->count, sizeof *laying->needed);
	laying->forward = dfg_arena_zeros(scratch, plan->slots, sizeof *laying->forward);
	laying->group = dfg_arena_zeros(scratch, plan->slots, sizeof *laying->group);
	laying->store = dfg_arena_zeros(scratch, plan->slots, sizeof *laying->store);
	laying->first = dfg_arena_zeros(scratch, plan->slots, sizeof *laying->first);
	laying->last = dfg_arena_zeros(scratch, plan->slots, sizeof *laying->last);
	laying->item = dfg_arena_zeros(scratch, plan->slots, sizeof *laying->item);
	layout->op = dfg_arena_zeros(arena, plan->count, sizeof *layout->op);
	layout->alive = dfg_arena_zeros(arena, plan->count, sizeof *layout->alive);
	layout->use = dfg_arena_zeros(arena, plan->uses, sizeof *layout->use);
	layout->start = dfg_arena_zeros(arena, plan->slots, sizeof *layout->start);
	layout->in_block = dfg_arena_zeros(arena, plan->slots, sizeof *layout->in_block);
	layout->counted = dfg_arena_zeros(arena, plan->slots, sizeof *layout->counted);
	layout->moves = dfg_arena_zeros(arena, plan->step.n_fetch, sizeof *layout->moves);
	layout->fetch = dfg_arena_zeros(arena, plan->step.n_fetch, sizeof *layout->fetch);
	if (!laying->fact || !laying->needed || !laying->forward || !laying->group || !laying->store || !laying->first ||
		!laying->last || !laying->item || !layout->op || !layout->alive || !layout->use || !layout->start ||
		!layout->in_block || !layout->counted || !layout->moves || !layout->fetch)
		return dfg_no_memory();
	for (uint32_t s = 0; s < plan->slots; s++) {
		laying->forward[s] = laying->group[s] = s;
		laying->store[s] = laying->first[s] = DFG_NONE;
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
		return dfg_no_memory();
	for (uint32_t i = 0; i < n; i++)
		layout->feed[i] = feeds[i].shape;
	return NULL;
}

static struct dfg_err *lay_out(struct laying *laying, const struct dfg_tensor *feeds)
{
	DFG_TRY(take_room(laying));
	DFG_TRY(copy_shapes(laying->layout, feeds));
	DFG_TRY(dfg_plan_infer(laying->plan, feeds, laying->scratch, laying->fact));
	DFG_TRY(find_needed(laying));
	DFG_TRY(add_ops(laying));
	DFG_TRY(find_escapes(laying));
	drop_fixed_views(laying);
	find_lifetimes(laying);
	finish_ops(laying);
	DFG_TRY(place(laying));
	shape_views(laying);
	return plan_releases(laying);
}

struct dfg_err *dfg_layout_make(struct dfg_plan *plan, const struct dfg_tensor *feeds, struct layout **out_layout)
{
	struct dfg_arena scratch = {0};
	struct layout *layout = dfg_zeros(1, sizeof *layout);
	if (!layout)
		return dfg_no_memory();
	layout->plan = plan;
	struct laying laying = {.plan = plan, .layout = layout, .scratch = &scratch};
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
