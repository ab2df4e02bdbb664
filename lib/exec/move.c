#include "lib/exec/laying.h"

/*
 * A loop variable lies in one place. Its next value is made there where that is possible: when nobody reads the old one
 * any more. Else it is moved there at the end of the iteration, the moves in an order that overwrites nothing unread.
 */

static uint32_t parent_of(const struct laying *laying, uint32_t loop)
{
	return laying->plan->flow->loop[loop].parent;
}

/* The guard, in loop `loop`, under which an op in it or further in stands. NEVER: it is not in it. */
static uint32_t guard_in(const struct laying *laying, const struct op *op, uint32_t loop)
{
	uint32_t guard = op->guard;
	for (uint32_t at = op->loop; at != loop; at = parent_of(laying, at)) {
		if (!at)
			return NEVER;
		guard = laying->course->bend[at].guard;
	}
	return guard;
}

/* Who meets whom: worked out once all groups are known. */
struct meeting {
	struct laying *laying;
	uint32_t *read; /* by slot, the Merge of a variable: the last op of an iteration that goes on which reads it */
};

static uint32_t loop_of_slot(const struct laying *laying, uint32_t slot)
{
	return laying->plan->flow ? laying->plan->flow->slot_loop[slot] : 0;
}

static void see_read(struct meeting *of, uint32_t merge, uint32_t o)
{
	struct laying *laying = of->laying;
	uint32_t loop = loop_of_slot(laying, merge);
	const struct op *op = &laying->layout->op[o];
	uint32_t guard = guard_in(laying, op, loop);
	if (guard == NEVER || dfg_guard_has(laying->course, guard, laying->course->bend[loop].flag, 0))
		return;
	uint32_t at = o;
	for (uint32_t l = op->loop; l != loop; l = parent_of(laying, l))
		at = laying->back[l];
	of->read[merge] = at > of->read[merge] ? at : of->read[merge];
}

static void find_reads(struct meeting *of, uint32_t *merge_of)
{
	struct laying *laying = of->laying;
	const struct layout *layout = laying->layout;
	for (uint32_t s = 0; s < laying->plan->slots; s++)
		if (laying->carried[s])
			merge_of[dfg_group_of(laying, s)] = s + 1;
	for (uint32_t o = 0; o < layout->count; o++) {
		const struct op *op = &layout->op[o];
		for (uint32_t i = 0; i < op->n_in; i++) {
			uint32_t merge = merge_of[dfg_group_of(laying, layout->use[op->first + i])];
			bool itself = op->kind == OP_BACK && merge == layout->use[op->first + op->n_in + i] + 1;
			if (merge && !itself)
				see_read(of, merge - 1, o);
		}
	}
}

/* The op may write its output into the room of what it reads of the variable. */
static bool works_on(struct laying *laying, const struct op *op, uint32_t merge)
{
	const uint32_t *use = laying->layout->use + op->first;
	bool row = op->kind == OP_ROW || op->kind == OP_GATHER;
	if ((!row && op->kind != OP_KERNEL) || !op->record->in_place || op->n_out != 1)
		return false;
	bool whole = op->record->run == dfg_elementwise_run;
	uint32_t operands = 0;
	for (uint32_t i = 0; i < op->n_in; i++) {
		if (dfg_group_of(laying, use[i]) != dfg_group_of(laying, merge))
			continue;
		const struct dfg_fact *in = &laying->fact[use[i]], *to = &laying->fact[use[op->n_in]];
		bool same = dfg_dtype_size(in->dtype) == dfg_dtype_size(to->dtype) && dfg_shape_known(&in->shape) &&
					dfg_shape_count(&in->shape) == dfg_shape_count(&to->shape);
		if (!same || (!whole && i))
			return false;
		operands++;
	}
	return row || operands < 2;
}

static bool share_size(const struct laying *laying, uint32_t one, uint32_t two)
{
	return dfg_laying_bytes(laying, one) == dfg_laying_bytes(laying, two);
}

/* The next value is made in the variable's place. */
static void meet_next(struct meeting *of, const struct carried *carried)
{
	struct laying *laying = of->laying;
	uint32_t merge = carried->merge, next = laying->forward[carried->next];
	uint32_t loop = loop_of_slot(laying, merge);
	if (laying->store[merge] != merge || laying->store[next] == DFG_NONE)
		return;
	uint32_t home = dfg_home_of(laying, next), group = dfg_group_of(laying, home);
	if (laying->carried[home] || loop_of_slot(laying, home) != loop || laying->last[group] != laying->back[loop] ||
		!share_size(laying, home, merge))
		return;
	const struct op *maker = &laying->layout->op[laying->first[group]];
	if (maker->loop != loop || !dfg_guard_has(laying->course, maker->guard, laying->course->bend[loop].flag, 1) ||
		laying->first[group] < of->read[merge])
		return;
	if (laying->first[group] == of->read[merge] && !works_on(laying, maker, merge))
		return;
	laying->store[home] = merge;
	dfg_laying_join(laying, merge, home);
}

/*
 * What reads a counted variable last, in an iteration that goes on and gives the variable another value, may work in its
 * buffer: as if the value ended there.
 */
static void end_value(struct meeting *of, const struct carried *carried)
{
	struct laying *laying = of->laying;
	uint32_t merge = carried->merge, group = dfg_group_of(laying, merge), loop = loop_of_slot(laying, merge);
	struct op *op = &laying->layout->op[of->read[merge]];
	const uint32_t *use = laying->layout->use + op->first;
	if (laying->store[merge] != DFG_NONE || dfg_group_of(laying, laying->forward[carried->next]) == group ||
		op->kind != OP_KERNEL || !op->record->in_place || op->record->run == dfg_elementwise_run || op->loop != loop ||
		!dfg_guard_has(laying->course, op->guard, laying->course->bend[loop].flag, 1))
		return;
	bool first = op->n_in && dfg_group_of(laying, use[0]) == group;
	for (uint32_t i = 1; i < op->n_in; i++)
		first &= dfg_group_of(laying, use[i]) != group;
	if (first)
		op->in_place |= 1;
}

/* The live input of a Merge is made in the Merge's place, where it is made in the branch. */
static void meet_arm(struct laying *laying, struct op *op, uint32_t o)
{
	uint32_t in = laying->layout->use[op->first], out = laying->layout->use[op->first + 1];
	if (laying->store[in] == DFG_NONE || laying->store[out] != out)
		return;
	uint32_t home = dfg_home_of(laying, in), group = dfg_group_of(laying, home);
	if (laying->carried[home] || home == out || laying->last[group] != o || !share_size(laying, home, out))
		return;
	const struct op *maker = &laying->layout->op[laying->first[group]];
	if (maker->guard != op->guard || maker->loop != op->loop)
		return;
	laying->store[home] = out;
	dfg_laying_join(laying, out, home);
	op->kind = OP_DROPPED;
}

void dfg_laying_meet(struct laying *laying)
{
	const struct dfg_plan *plan = laying->plan;
	const struct course *course = laying->course;
	struct meeting of = {laying, dfg_arena_zeros(laying->scratch, plan->slots, sizeof *of.read)};
	uint32_t *merge_of = dfg_arena_zeros(laying->scratch, plan->slots, sizeof *merge_of);
	if (!of.read || !merge_of || plan->session->options.no_opt)
		return;
	for (uint32_t o = 0; o < laying->layout->count; o++)
		if (laying->layout->op[o].kind == OP_BRING)
			meet_arm(laying, &laying->layout->op[o], o);
	find_reads(&of, merge_of);
	for (uint32_t l = 1; l < course->loops; l++)
		for (uint32_t i = 0; i < course->bend[l].n_carried; i++) {
			const struct carried *carried = &course->carried[course->bend[l].first_carried + i];
			if (!laying->needed[plan->maker[carried->merge]])
				continue;
			meet_next(&of, carried);
			end_value(&of, carried);
		}
}

/* Moves of one op that are still to be put in order. */
struct moving {
	struct laying *laying;
	struct move *left;
	uint32_t n_left;
};

static void add_move(struct laying *laying, struct op *op, const struct move *move)
{
	struct layout *layout = laying->layout;
	layout->move[layout->moves_made++] = *move;
	op->n_move++;
}

static bool overlaps(struct laying *laying, uint32_t one, uint32_t two)
{
	return dfg_group_of(laying, one) == dfg_group_of(laying, two);
}

/* What no move that is left reads is written; where all are read, one goes by way of its spare place. */
static uint32_t next_move(struct moving *moving)
{
	for (uint32_t i = 0; i < moving->n_left; i++) {
		bool unread = true;
		for (uint32_t j = 0; j < moving->n_left && unread; j++)
			unread = i == j || !overlaps(moving->laying, moving->left[i].to, moving->left[j].from);
		if (unread)
			return i;
	}
	return DFG_NONE;
}

static uint32_t spare_of(const struct laying *laying, uint32_t merge)
{
	const struct bend *bend = &laying->course->bend[loop_of_slot(laying, merge)];
	const struct carried *carried = laying->course->carried + bend->first_carried;
	while (carried->merge != merge)
		carried++;
	return carried->spare;
}

static uint8_t kind_of(struct laying *laying, uint32_t from, uint32_t to)
{
	if (laying->store[to] == DFG_NONE)
		return MOVE_SHARE;
	return laying->store[from] == DFG_NONE ? MOVE_BRING : MOVE_BYTES;
}

static void place_spare(struct laying *laying, uint32_t spare, uint32_t merge, uint32_t o)
{
	struct layout *layout = laying->layout;
	laying->fact[spare] = laying->fact[merge];
	laying->first[spare] = laying->last[spare] = o;
	laying->store[spare] = laying->store[merge] == DFG_NONE ? DFG_NONE : spare;
	if (laying->store[merge] == DFG_NONE)
		layout->counted[layout->n_counted++] = spare;
}

static void order_moves(struct moving *moving, struct op *op)
{
	struct laying *laying = moving->laying;
	uint32_t o = (uint32_t)(op - laying->layout->op);
	while (moving->n_left) {
		uint32_t i = next_move(moving);
		if (i == DFG_NONE) {
			struct move *move = &moving->left[0];
			uint32_t spare = spare_of(laying, move->to);
			place_spare(laying, spare, move->to, o);
			add_move(laying, op,
				&(struct move){.from = move->from, .to = spare, .kind = kind_of(laying, move->from, spare)});
			move->from = spare;
			move->kind = laying->store[spare] == DFG_NONE ? MOVE_TAKE : MOVE_BYTES;
			continue;
		}
		add_move(laying, op, &moving->left[i]);
		moving->left[i] = moving->left[--moving->n_left];
	}
}

/* A value that is made in the iteration, counted, and read by this move alone, need not be counted again. */
static bool is_only_read(struct laying *laying, const struct op *op, uint32_t i, uint32_t o)
{
	const uint32_t *use = laying->layout->use + op->first;
	uint32_t group = dfg_group_of(laying, use[i]);
	if (op->kind != OP_BACK || use[i] >= laying->plan->first_feed || laying->last[group] != o ||
		laying->group[use[i]] != use[i] || laying->carried[use[i]] || loop_of_slot(laying, use[i]) != op->loop ||
		!laying->layout->op[laying->first[group]].record)
		return false;
	for (uint32_t j = 0; j < op->n_in; j++)
		if (j != i && dfg_group_of(laying, use[j]) == group)
			return false;
	return laying->layout->op[laying->first[group]].kind == OP_KERNEL ||
		   laying->layout->op[laying->first[group]].kind == OP_NEW;
}

static void move_values(struct laying *laying, struct op *op, uint32_t o, struct move *room)
{
	const uint32_t *from = laying->layout->use + op->first, *to = from + op->n_in;
	struct moving moving = {.laying = laying, .left = room};
	op->first_move = laying->layout->moves_made;
	for (uint32_t i = 0; i < op->n_in; i++) {
		uint8_t kind = kind_of(laying, from[i], to[i]);
		if (kind == MOVE_SHARE && is_only_read(laying, op, i, o))
			kind = MOVE_TAKE;
		bool there = kind == MOVE_BYTES && dfg_home_of(laying, from[i]) == dfg_home_of(laying, to[i]);
		if (from[i] != to[i] && !there)
			moving.left[moving.n_left++] = (struct move){.from = from[i], .to = to[i], .kind = kind};
	}
	order_moves(&moving, op);
}

struct dfg_err *dfg_laying_move(struct laying *laying)
{
	struct layout *layout = laying->layout;
	size_t most = 0, all = 0;
	for (uint32_t o = 0; o < layout->count; o++)
		if (layout->op[o].kind == OP_BEGIN || layout->op[o].kind == OP_BACK) {
			most = layout->op[o].n_in > most ? layout->op[o].n_in : most;
			all += 2 * (size_t)layout->op[o].n_in;
		}
	struct move *room = dfg_arena_zeros(laying->scratch, most, sizeof *room);
	layout->move = dfg_arena_zeros(&layout->arena, all, sizeof *layout->move);
	if (!room || !layout->move)
		return dfg_no_memory();
	for (uint32_t o = 0; o < layout->count; o++)
		if (layout->op[o].kind == OP_BEGIN || layout->op[o].kind == OP_BACK)
			move_values(laying, &layout->op[o], o, room);
	return NULL;
}
