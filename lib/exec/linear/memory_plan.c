#include "lib/exec/linear/builder_private.h"

#include <string.h>

/* Where the values of a layout's ops lie, from when to when, and what becomes of their room. */

enum { ROW_MOST = 32 * 1024 }; /* elements: longer rows are cut up for several threads */

/* Whether the op keeps a reference to its input i. */
static bool keeps(const struct laying *laying, const struct op *op, int i)
{
	if (op->kind == OP_SAVE)
		return !i && !laying->layout->saved[op->flag];
	return i && op->record && op->record->role == DFG_ASSIGN;
}

/* Values that leave the step: what they lie in must be counted. A loop's variable is copied out instead. */
static struct dfg_err *find_escapes(struct laying *laying)
{
	const struct dfg_plan *plan = laying->plan;
	struct layout *layout = laying->layout;
	bool *escapes = dfg_arena_zeros(laying->scratch, plan->slots, sizeof *escapes);
	if (!escapes)
		return dfg_no_memory("the memory plan of the step");
	for (uint32_t i = 0; i < plan->step.n_fetch; i++) {
		layout->fetch[i] = laying->forward[plan->fetch[i]];
		if (laying->store[layout->fetch[i]] != DFG_NONE)
			escapes[laying->store[layout->fetch[i]]] = true;
	}
	for (uint32_t o = 0; o < layout->count; o++)
		for (int i = 0; i < layout->op[o].n_in; i++) {
			uint32_t store = laying->store[layout->use[layout->op[o].first + (uint32_t)i]];
			if (store != DFG_NONE && keeps(laying, &layout->op[o], i))
				escapes[store] = true;
		}
	for (uint32_t s = 0; s < plan->slots; s++)
		if (laying->store[s] != DFG_NONE && escapes[laying->store[s]] && !laying->carried[laying->store[s]])
			laying->store[s] = DFG_NONE;
	for (uint32_t o = 0; o < layout->count; o++)
		if (layout->op[o].kind == OP_BRING && laying->store[layout->use[layout->op[o].first + 1]] == DFG_NONE)
			layout->op[o].kind = OP_KEEP;
	return NULL;
}

/* A view of what has a fixed place needs nothing done. */
static bool is_fixed_view(const struct laying *laying, const struct op *op)
{
	return op->kind == OP_VIEW && laying->store[laying->layout->use[op->first]] != DFG_NONE;
}

static bool is_dropped(const struct laying *laying, const struct op *op)
{
	return op->kind == OP_DROPPED || is_fixed_view(laying, op);
}

/* A skip past nothing is dropped, and so may be the one around it. */
static bool drop_skips(struct layout *layout, const uint32_t *number)
{
	bool dropped = false;
	for (uint32_t o = 0; o < layout->count; o++)
		if (layout->op[o].kind == OP_SKIP && number[layout->op[o].to] == number[o] + 1) {
			layout->op[o].kind = OP_DROPPED;
			dropped = true;
		}
	return dropped;
}

/* The ops that are left move together; what leads to one leads to its new place. */
static struct dfg_err *drop_ops(struct laying *laying)
{
	struct layout *layout = laying->layout;
	uint32_t kept = 0, *number = dfg_arena_zeros(laying->scratch, (size_t)layout->count + 1, sizeof *number);
	if (!number)
		return dfg_no_memory("the memory plan of the step");
	do {
		kept = 0;
		for (uint32_t o = 0; o < layout->count; o++) {
			number[o] = kept;
			kept += !is_dropped(laying, &layout->op[o]);
		}
		number[layout->count] = kept;
	} while (drop_skips(layout, number));
	for (uint32_t o = 0; o < layout->count; o++) {
		if (is_dropped(laying, &layout->op[o]))
			continue;
		layout->op[number[o]] = layout->op[o];
		layout->alive[number[o]] = layout->alive[o];
		layout->op[number[o]].to = number[layout->op[o].to];
	}
	for (uint32_t l = 1; l < laying->course->loops; l++) {
		laying->begin[l] = number[laying->begin[l]];
		laying->back[l] = number[laying->back[l]];
	}
	layout->count = kept;
	return NULL;
}

/* Whether loop `inner` is `outer`, or within it. */
static bool is_within(const struct laying *laying, uint32_t inner, uint32_t outer)
{
	while (inner && inner != outer)
		inner = laying->plan->flow->loop[inner].parent;
	return inner == outer;
}

/*
 * Until when a value that op o reads must be kept: what is made outside a loop is there in all its iterations. So is what a
 * view made in the loop lies in.
 */
static uint32_t reach(const struct laying *laying, uint32_t slot, uint32_t o)
{
	const struct flow *flow = laying->plan->flow;
	if (!flow || laying->course->loops == 1)
		return o;
	slot = laying->store[slot] == DFG_NONE ? slot : dfg_home_of(laying, slot);
	for (uint32_t loop = laying->layout->op[o].loop; !is_within(laying, flow->slot_loop[slot], loop);
		 loop = flow->loop[loop].parent)
		o = laying->back[loop];
	return o;
}

static void find_lifetimes(struct laying *laying)
{
	struct layout *layout = laying->layout;
	for (uint32_t o = 0; o < layout->count; o++) {
		const struct op *op = &layout->op[o];
		for (uint32_t i = 0; i < (uint32_t)op->n_in + op->n_out; i++) {
			uint32_t slot = layout->use[op->first + i], group = dfg_group_of(laying, slot);
			uint32_t last = reach(laying, slot, o);
			laying->first[group] = o < laying->first[group] ? o : laying->first[group];
			laying->last[group] = last > laying->last[group] ? last : laying->last[group];
			if (i >= op->n_in)
				laying->under[group] = dfg_laying_over(laying->course, laying->under[group], op->guard);
		}
	}
	for (uint32_t i = 0; i < laying->plan->step.n_fetch; i++)
		laying->last[dfg_group_of(laying, layout->fetch[i])] = DFG_NONE;
}

/* Nobody reads input i after this op, and no other input shares its room, unless all go through it element by element. */
static bool is_last_use(struct laying *laying, const struct op *op, uint32_t o, int i)
{
	const uint32_t *use = laying->layout->use + op->first;
	uint32_t group = dfg_group_of(laying, use[i]);
	if (laying->last[group] != o || use[i] >= laying->plan->first_feed || laying->lent[use[i]] ||
		laying->plan->kind[use[i]] == SLOT_PRESET)
		return false;
	for (int j = 0; j < op->n_in; j++)
		if (j != i && dfg_group_of(laying, use[j]) == group && op->kind > OP_NEW)
			return false;
	return true;
}

/* A row takes the room of any operand, other kernels that work in place that of the first. */
static void try_in_place(struct laying *laying, struct op *op, uint32_t o)
{
	const struct record *record = op->record;
	const uint32_t *use = laying->layout->use + op->first;
	bool makes = op->kind == OP_ROW || op->kind == OP_GUARD || op->kind == OP_GATHER || op->kind == OP_NEW ||
				 op->kind == OP_KERNEL;
	if (!makes || !record->in_place || !op->n_out || laying->plan->session->options.no_opt)
		return;
	uint32_t out = use[op->n_in];
	int most = record->run == dfg_elementwise_run ? op->n_in : 1;
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
		dfg_laying_join(laying, use[i], out);
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
		(struct dfg_tensor){.dtype = fact->dtype, .shape = fact->shape, .room = dfg_laying_bytes(laying, slot)};
}

static bool is_fixed(const struct laying *laying, uint32_t slot)
{
	return slot >= laying->plan->first_feed || laying->store[slot] != DFG_NONE ||
		   (laying->layout->start[slot].data && !laying->plan->is_ref[slot]);
}

/* What the guard looks at is there before the step, and passes. */
static bool passes_guard(const struct laying *laying, const struct op *op)
{
	struct dfg_tensor tensor[DFG_ROW_OPERANDS], *in[DFG_ROW_OPERANDS];
	for (int i = 0; i < op->n_in; i++) {
		uint32_t slot = laying->layout->use[op->first + (uint32_t)i];
		in[i] = &tensor[i];
		tensor[i] = laying->layout->start[slot];
		if (tensor[i].data && !laying->plan->is_ref[slot])
			continue;
		if (op->record->call->op->guard_reads >> i & 1)
			return false;
		tensor[i] = (struct dfg_tensor){.dtype = laying->fact[slot].dtype, .shape = laying->fact[slot].shape};
	}
	struct runner runner = {.session = laying->plan->session};
	struct dfg_err *err = dfg_runner_guard(&runner, op->record, in, NULL);
	dfg_err_free(err);
	return !err;
}

/* A row is called by itself where all it touches is sure to be of one shape. */
static void try_row(struct laying *laying, struct op *op)
{
	const struct record *record = op->record;
	const uint32_t *use = laying->layout->use + op->first;
	const struct dfg_session_options *options = &laying->plan->session->options;
	if (op->kind != OP_KERNEL || !record->row || record->reads_ref || options->no_opt || options->check_numerics ||
		options->trace)
		return;
	const struct dfg_fact *out = &laying->fact[use[op->n_in]];
	int64_t n = dfg_shape_known(&out->shape) ? dfg_shape_count(&out->shape) : ROW_MOST + 1;
	bool fixed = true;
	for (int i = 0; i < op->n_in; i++) {
		const struct dfg_shape *shape = &laying->fact[use[i]].shape;
		if (!is_sure(laying, use[i]) || !dfg_shape_known(shape) || dfg_shape_count(shape) != n)
			return;
		fixed &= is_fixed(laying, use[i]);
	}
	bool counted = laying->store[use[op->n_in]] == DFG_NONE;
	bool guarded = record->call->op->guard && n <= ROW_MOST && !passes_guard(laying, op);
	if (n > ROW_MOST || (guarded && (counted || !fixed)))
		return;
	op->row = record->row;
	op->n = n;
	op->kind = guarded ? OP_GUARD : fixed ? OP_ROW : OP_GATHER;
	if (!counted)
		return;
	op->kind = OP_NEW;
	start_tensor(laying, use[op->n_in]);
}

static void find_counted(struct laying *laying, bool *seen)
{
	struct layout *layout = laying->layout;
	for (uint32_t o = 0; o < layout->count; o++) {
		const struct op *op = &layout->op[o];
		for (uint32_t i = op->n_in; i < (uint32_t)op->n_in + op->n_out && op->kind != OP_VIEW; i++) {
			uint32_t slot = layout->use[op->first + i];
			if (laying->store[slot] == DFG_NONE && !seen[slot])
				layout->counted[layout->n_counted++] = slot;
			seen[slot] = true;
		}
	}
}

static struct dfg_err *finish_ops(struct laying *laying)
{
	struct layout *layout = laying->layout;
	bool *seen = dfg_arena_zeros(laying->scratch, laying->plan->slots, sizeof *seen);
	if (!seen)
		return dfg_no_memory("the memory plan of the step");
	for (uint32_t o = 0; o < layout->count; o++) {
		struct op *op = &layout->op[o];
		try_row(laying, op);
		try_in_place(laying, op, o);
	}
	find_counted(laying, seen);
	if (laying->course->flags)
		DFG_TRY(dfg_laying_meet(laying));
	return dfg_laying_move(laying);
}

static struct dfg_err *place(struct laying *laying)
{
	struct dfg_plan *plan = laying->plan;
	struct layout *layout = laying->layout;
	uint32_t n = 0, *number = dfg_arena_zeros(laying->scratch, plan->slots, sizeof *number);
	if (!number)
		return dfg_no_memory("the memory plan of the step");
	for (uint32_t s = 0; s < plan->slots; s++) {
		if (laying->store[s] != s)
			continue;
		uint32_t group = dfg_group_of(laying, s), last = laying->last[group];
		number[s] = n;
		laying->item[n++] = (struct item){.bytes = dfg_laying_bytes(laying, s),
			.first = laying->first[group],
			.last = plan->session->options.no_opt || last >= layout->count ? layout->count : last};
	}
	DFG_TRY(dfg_pack(laying->item, n, laying->scratch, &layout->block, &layout->live));
	for (uint32_t s = 0; s < plan->slots; s++) {
		if (laying->store[s] == DFG_NONE)
			continue;
		start_tensor(laying, s);
		layout->in_block[s] = true;
		layout->start[s].data = (void *)(uintptr_t)laying->item[number[dfg_home_of(laying, s)]].offset;
	}
	for (uint32_t i = 0; i < n; i++) {
		const struct item *item = &laying->item[i];
		for (uint32_t o = item->first; n < 4096 && o <= item->last && o < layout->count; o++)
			layout->alive[o] += item->bytes;
	}
	return NULL;
}

/* A predicate that lies in a fixed place is a byte to look at. */
static void fix_choice(struct laying *laying, struct op *op)
{
	const struct dfg_fact *fact = &laying->fact[laying->layout->use[op->first]];
	if (is_fixed(laying, laying->layout->use[op->first]) && is_sure(laying, laying->layout->use[op->first]) &&
		fact->dtype == DFG_BOOL && fact->shape.rank == 0 && op->n == 2)
		op->kind = OP_TEST;
}

/* What is copied between fixed places is no more than bytes. */
static void fix_copies(struct laying *laying)
{
	struct layout *layout = laying->layout;
	for (uint32_t o = 0; o < layout->count; o++) {
		struct op *op = &layout->op[o];
		if (op->kind == OP_CHOOSE)
			fix_choice(laying, op);
		if (op->kind != OP_BRING)
			continue;
		uint32_t in = layout->use[op->first], out = layout->use[op->first + 1];
		if (!is_fixed(laying, in) || !dfg_shape_equal(&laying->fact[in].shape, &laying->fact[out].shape))
			continue;
		op->kind =
			laying->store[in] != DFG_NONE && dfg_home_of(laying, in) == dfg_home_of(laying, out) ? OP_DROPPED : OP_COPY;
		op->n = (int64_t)layout->start[out].room;
	}
	for (uint32_t m = 0; m < layout->moves_made; m++)
		layout->move[m].bytes = layout->start[layout->move[m].to].room;
}

/* A view that is not in the block has its shape from the start, and the rest in the step. */
static void shape_views(struct laying *laying)
{
	struct layout *layout = laying->layout;
	for (uint32_t o = 0; o < layout->count; o++)
		if (layout->op[o].kind == OP_VIEW)
			start_tensor(laying, layout->use[layout->op[o].first + layout->op[o].n_in]);
}

/*
 * A slot that holds a reference of its own is released by the op that reads it last, and by the skips that pass that by.
 * What its loop makes anew in each iteration is released in each; what the loop only reads, when it ends.
 */
struct releasing {
	struct laying *laying;
	uint32_t *around; /* by op: the innermost skip that may pass it by, or DFG_NONE */
	uint32_t *next;   /* by op: in layout->release */
	bool fill;
};

static void release_at(struct releasing *of, uint32_t o, uint32_t slot)
{
	struct layout *layout = of->laying->layout;
	if (of->fill)
		layout->release[of->next[o]++] = slot;
	else
		layout->op[o].n_release++;
}

static bool is_made_again(const struct laying *laying, uint32_t slot, const struct op *op)
{
	return op->kind == OP_BACK && laying->plan->flow->slot_loop[slot] == op->loop && !laying->carried[slot];
}

static void release_slot(struct releasing *of, uint32_t slot, bool again)
{
	struct laying *laying = of->laying;
	uint32_t group = dfg_group_of(laying, slot), last = laying->last[group];
	if (last >= laying->layout->count || is_made_again(laying, slot, &laying->layout->op[last]) != again)
		return;
	release_at(of, last, slot);
	if (!of->fill)
		laying->layout->op[last].n_again += again;
	for (uint32_t o = of->around[last]; o != DFG_NONE && laying->first[group] < o; o = of->around[o])
		release_at(of, o, slot);
}

static void release_slots(struct releasing *of)
{
	const struct layout *layout = of->laying->layout;
	for (int again = 1; again >= 0; again--)
		for (uint32_t i = 0; i < layout->n_counted; i++)
			release_slot(of, layout->counted[i], again);
}

static void find_around(struct releasing *of)
{
	const struct layout *layout = of->laying->layout;
	uint32_t inner = DFG_NONE;
	for (uint32_t o = 0; o < layout->count; o++) {
		while (inner != DFG_NONE && layout->op[inner].to <= o)
			inner = of->around[inner];
		of->around[o] = inner;
		if (layout->op[o].kind == OP_SKIP)
			inner = o;
	}
}

/* The final ones first. */
static void sort_counted(struct laying *laying)
{
	struct layout *layout = laying->layout;
	for (uint32_t i = 0; i < layout->n_counted; i++)
		if (laying->last[dfg_group_of(laying, layout->counted[i])] >= layout->count) {
			uint32_t slot = layout->counted[i];
			layout->counted[i] = layout->counted[layout->n_final];
			layout->counted[layout->n_final++] = slot;
		}
}

static struct dfg_err *plan_releases(struct laying *laying)
{
	struct layout *layout = laying->layout;
	struct releasing of = {.laying = laying};
	uint32_t total = 0;
	of.around = dfg_arena_zeros(laying->scratch, layout->count, sizeof *of.around);
	of.next = dfg_arena_zeros(laying->scratch, layout->count, sizeof *of.next);
	if (!of.around || !of.next)
		return dfg_no_memory("the memory plan of the step");
	find_around(&of);
	release_slots(&of);
	for (uint32_t o = 0; o < layout->count; o++) {
		layout->op[o].first_release = of.next[o] = total;
		total += layout->op[o].n_release;
	}
	if (!(layout->release = dfg_arena_zeros(&layout->arena, total, sizeof *layout->release)))
		return dfg_no_memory("the memory plan of the step");
	of.fill = true;
	release_slots(&of);
	sort_counted(laying);
	return NULL;
}

/* A reference goes to the caller where nobody else needs it. */
static void move_fetches(struct laying *laying)
{
	const struct dfg_plan *plan = laying->plan;
	struct layout *layout = laying->layout;
	for (uint32_t i = 0; i < plan->step.n_fetch; i++) {
		layout->moves[i] = false;
		for (uint32_t c = 0; c < layout->n_counted; c++)
			layout->moves[i] |= layout->counted[c] == layout->fetch[i];
		for (uint32_t j = i + 1; j < plan->step.n_fetch; j++)
			layout->moves[i] &= layout->fetch[j] != layout->fetch[i];
	}
}

/* Where the addresses of feeds go, which are known when a step begins. */
static struct dfg_err *find_fed(struct laying *laying)
{
	struct layout *layout = laying->layout;
	for (int fill = 0; fill < 2; fill++) {
		layout->n_fed = 0;
		for (uint32_t o = 0; o < layout->count; o++) {
			const struct op *op = &layout->op[o];
			for (uint32_t u = op->first; u < op->first + op->n_in && op->kind <= OP_COPY; u++) {
				if (layout->use[u] < laying->plan->first_feed)
					continue;
				if (fill)
					layout->fed[layout->n_fed] = u;
				layout->n_fed++;
			}
		}
		if (!fill && !(layout->fed = dfg_arena_zeros(&layout->arena, layout->n_fed, sizeof *layout->fed)))
			return dfg_no_memory("the memory plan of the step");
	}
	return NULL;
}

/*
 * Where a branch is passed by for its other side, what asks for that side next need not ask; where what stands behind it is
 * passed by for the same reason, that is one way. Not where something is to be released on the way.
 */
static void join_skips(const struct laying *laying)
{
	const struct layout *layout = laying->layout;
	for (uint32_t o = layout->count; o--;) {
		struct op *op = &layout->op[o];
		while (op->kind == OP_SKIP && op->to < layout->count) {
			const struct op *next = &layout->op[op->to];
			if (next->kind != OP_SKIP || next->flag != op->flag)
				break;
			bool passes = next->side != op->side;
			if (passes ? laying->course->flag[op->flag].n_out != 2 : next->n_release > 0)
				break;
			op->to = passes ? op->to + 1 : next->to;
			if (passes)
				break;
		}
	}
}

struct dfg_err *dfg_laying_place(struct laying *laying)
{
	DFG_TRY(find_escapes(laying));
	DFG_TRY(drop_ops(laying));
	find_lifetimes(laying);
	DFG_TRY(finish_ops(laying));
	DFG_TRY(place(laying));
	shape_views(laying);
	fix_copies(laying);
	DFG_TRY(plan_releases(laying));
	move_fetches(laying);
	DFG_TRY(drop_ops(laying));
	join_skips(laying);
	return find_fed(laying);
}
