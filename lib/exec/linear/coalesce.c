#include "lib/exec/linear/builder_private.h"

#include <string.h>

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

/* Who reads a variable, who writes what is to be its next value: ops, in lists by group. */
struct meeting {
	struct laying *laying;
	uint32_t *first_read, *read; /* by group of the variable's Merge */
	uint32_t *first_write, *write;
};

static uint32_t loop_of_slot(const struct laying *laying, uint32_t slot)
{
	return laying->plan->flow ? laying->plan->flow->slot_loop[slot] : 0;
}

/* Counts, then puts, ops into the lists of the groups that they read or write. */
static void list_ops(struct meeting *of, bool fill)
{
	struct laying *laying = of->laying;
	const struct layout *layout = laying->layout;
	for (uint32_t o = 0; o < layout->count; o++) {
		const struct op *op = &layout->op[o];
		for (uint32_t i = 0; i < (uint32_t)op->n_in + op->n_out; i++) {
			bool reads = i < op->n_in;
			uint32_t group = dfg_group_of(laying, layout->use[op->first + i]);
			/* A variable's own next value is not a reader of it. */
			if (reads && op->kind == OP_BACK && group == dfg_group_of(laying, layout->use[op->first + i + op->n_in]))
				continue;
			uint32_t *at = reads ? &of->first_read[group] : &of->first_write[group];
			if (fill)
				(reads ? of->read : of->write)[(*at)++] = o;
			else
				at[1]++;
		}
	}
}

static struct dfg_err *make_lists(struct meeting *of)
{
	struct laying *laying = of->laying;
	size_t slots = laying->plan->slots, uses = laying->layout->uses;
	of->first_read = dfg_arena_zeros(laying->scratch, slots + 1, sizeof *of->first_read);
	of->first_write = dfg_arena_zeros(laying->scratch, slots + 1, sizeof *of->first_write);
	of->read = dfg_arena_zeros(laying->scratch, uses, sizeof *of->read);
	of->write = dfg_arena_zeros(laying->scratch, uses, sizeof *of->write);
	if (!of->first_read || !of->first_write || !of->read || !of->write)
		return dfg_no_memory("the memory plan of the step");
	list_ops(of, false);
	for (size_t s = 0; s < slots; s++) {
		of->first_read[s + 1] += of->first_read[s];
		of->first_write[s + 1] += of->first_write[s];
	}
	list_ops(of, true);
	memmove(of->first_read + 1, of->first_read, slots * sizeof *of->first_read);
	memmove(of->first_write + 1, of->first_write, slots * sizeof *of->first_write);
	of->first_read[0] = of->first_write[0] = 0;
	return NULL;
}

/* The op may write its output into the room of what it reads of the variable. */
static bool works_on(struct laying *laying, const struct op *op, uint32_t merge)
{
	const uint32_t *use = laying->layout->use + op->first;
	bool row = op->kind == OP_ROW || op->kind == OP_GUARD || op->kind == OP_GATHER;
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

/* The op reads nothing of the variable after op `write`, in the same iteration, has made the next value. */
static bool reads_before(struct laying *laying, uint32_t read, uint32_t write, uint32_t merge)
{
	const struct op *reader = &laying->layout->op[read], *writer = &laying->layout->op[write];
	uint32_t loop = loop_of_slot(laying, merge), guard = guard_in(laying, reader, loop);
	if (guard == NEVER || dfg_guards_exclude(laying->course, guard, writer->guard))
		return true;
	for (uint32_t l = reader->loop; l != loop; l = parent_of(laying, l))
		read = laying->back[l];
	return read < write || (read == write && (reader->kind == OP_BRING || works_on(laying, reader, merge)));
}

/* The next value is made in the variable's place, if it is made where the loop goes on, and nobody misses the old one. */
static void meet_next(struct meeting *of, const struct carried *carried)
{
	enum { MANY = 256 };
	struct laying *laying = of->laying;
	uint32_t merge = carried->merge, next = laying->forward[carried->next], loop = loop_of_slot(laying, merge);
	if (laying->store[merge] != merge || laying->store[next] == DFG_NONE)
		return;
	uint32_t home = dfg_home_of(laying, next), group = dfg_group_of(laying, home), own = dfg_group_of(laying, merge);
	uint32_t first = of->first_write[group], last = of->first_write[group + 1];
	if (laying->carried[home] || loop_of_slot(laying, home) != loop || laying->last[group] != laying->back[loop] ||
		!share_size(laying, home, merge) || last - first > MANY)
		return;
	for (uint32_t w = first; w < last; w++) {
		const struct op *writer = &laying->layout->op[of->write[w]];
		if (writer->loop != loop || !dfg_guard_has(laying->course, writer->guard, laying->course->bend[loop].flag, 1))
			return;
		for (uint32_t r = of->first_read[own]; r < of->first_read[own + 1]; r++)
			if (r - of->first_read[own] > MANY || !reads_before(laying, of->read[r], of->write[w], merge))
				return;
	}
	laying->store[home] = merge;
	dfg_laying_join(laying, merge, home);
}

/* The op of an iteration that goes on which reads the variable last; DFG_NONE: none does, or nobody can tell. */
static uint32_t last_read(const struct meeting *of, uint32_t merge)
{
	struct laying *laying = of->laying;
	uint32_t own = dfg_group_of(laying, merge), loop = loop_of_slot(laying, merge), last = DFG_NONE;
	for (uint32_t r = of->first_read[own]; r < of->first_read[own + 1]; r++) {
		const struct op *op = &laying->layout->op[of->read[r]];
		uint32_t guard = guard_in(laying, op, loop), at = of->read[r];
		if (guard == NEVER || dfg_guard_has(laying->course, guard, laying->course->bend[loop].flag, 0))
			continue;
		for (uint32_t l = op->loop; l != loop; l = parent_of(laying, l))
			at = laying->back[l];
		last = last == DFG_NONE || at > last ? at : last;
	}
	return last;
}

/*
 * What reads a counted variable last, in an iteration that goes on and gives the variable another value, may work in its
 * buffer: as if the value ended there.
 */
static void end_value(const struct meeting *of, const struct carried *carried)
{
	struct laying *laying = of->laying;
	uint32_t merge = carried->merge, group = dfg_group_of(laying, merge), loop = loop_of_slot(laying, merge);
	uint32_t last = last_read(of, merge);
	if (laying->store[merge] != DFG_NONE || last == DFG_NONE ||
		dfg_group_of(laying, laying->forward[carried->next]) == group)
		return;
	struct op *op = &laying->layout->op[last];
	const uint32_t *use = laying->layout->use + op->first;
	if (op->kind != OP_KERNEL || !op->record->in_place || op->record->run == dfg_elementwise_run || op->loop != loop ||
		!dfg_guard_has(laying->course, op->guard, laying->course->bend[loop].flag, 1))
		return;
	bool first = op->n_in && dfg_group_of(laying, use[0]) == group;
	for (uint32_t i = 1; i < op->n_in; i++)
		first &= dfg_group_of(laying, use[i]) != group;
	if (first)
		op->in_place |= 1;
}

static bool is_under(const struct course *course, uint32_t inner, uint32_t outer)
{
	while (course->guard[inner].depth > course->guard[outer].depth)
		inner = course->guard[inner].parent;
	return inner == outer;
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
	if (maker->loop != op->loop || laying->under[group] == NEVER ||
		!is_under(laying->course, laying->under[group], op->guard))
		return;
	laying->store[home] = out;
	dfg_laying_join(laying, out, home);
	op->kind = OP_DROPPED;
}

struct dfg_err *dfg_laying_meet(struct laying *laying)
{
	const struct dfg_plan *plan = laying->plan;
	const struct course *course = laying->course;
	struct meeting of = {.laying = laying};
	if (plan->session->options.no_opt)
		return NULL;
	for (uint32_t o = 0; o < laying->layout->count; o++)
		if (laying->layout->op[o].kind == OP_BRING)
			meet_arm(laying, &laying->layout->op[o], o);
	DFG_TRY(make_lists(&of));
	for (uint32_t l = 1; l < course->loops; l++)
		for (uint32_t i = 0; i < course->bend[l].n_carried; i++) {
			const struct carried *carried = &course->carried[course->bend[l].first_carried + i];
			if (!laying->needed[plan->maker[carried->merge]])
				continue;
			meet_next(&of, carried);
			end_value(&of, carried);
		}
	return NULL;
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
	if (op->kind != OP_BACK || use[i] >= laying->plan->first_feed || laying->store[use[i]] != DFG_NONE ||
		laying->last[group] != o || laying->group[use[i]] != use[i] || laying->carried[use[i]] ||
		loop_of_slot(laying, use[i]) != op->loop || !laying->layout->op[laying->first[group]].record)
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
		return dfg_no_memory("the memory plan of the step");
	for (uint32_t o = 0; o < layout->count; o++)
		if (layout->op[o].kind == OP_BEGIN || layout->op[o].kind == OP_BACK)
			move_values(laying, &layout->op[o], o, room);
	return NULL;
}
