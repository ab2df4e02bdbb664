#include "lib/exec/linear/group_private.h"

#include <string.h>

/*
 * Coalescing of loop variables. A variable has one address. Its next value is computed there if no node reads the old
 * value afterwards. Otherwise it is moved there at the end of the iteration; the moves are ordered so that no value is
 * overwritten before it is read (parallel moves).
 */

static uint32_t parent_of(const struct program_builder *builder, uint32_t loop)
{
	return builder->plan->frame_info->loop[loop].parent;
}

uint32_t dfg_condition_in_loop(
	const struct program_builder *builder, const struct instruction *instruction, uint32_t loop)
{
	uint32_t condition = dfg_condition_of(builder, instruction);
	for (uint32_t at = instruction->loop; at != loop; at = parent_of(builder, at)) {
		if (!at)
			return UNREACHABLE;
		condition = builder->schedule->loop_info[at].condition;
	}
	return condition;
}

/* The reads and writes of each alias class: instruction numbers, in lists. */
struct accesses {
	struct program_builder *builder;
	/* lists by root of an alias class; the list of class c is read[first_read[c]] up to read[first_read[c + 1]] */
	uint32_t *first_read, *read;
	uint32_t *first_write, *write;
};

static uint32_t loop_of_slot(const struct program_builder *builder, uint32_t slot)
{
	return builder->plan->frame_info ? builder->plan->frame_info->slot_loop[slot] : 0;
}

/* Counts, or with fill writes, the instructions that read or write each class. */
static void list_ops(struct accesses *of, bool fill)
{
	struct program_builder *builder = of->builder;
	const struct program *program = builder->program;
	for (uint32_t o = 0; o < program->count; o++) {
		const struct instruction *instruction = &program->code[o];
		for (uint32_t i = 0; i < (uint32_t)instruction->n_in + instruction->n_out; i++) {
			bool reads = i < instruction->n_in;
			uint32_t group = dfg_alias_class(builder, program->use[instruction->first + i]);
			/* The move of a variable to itself is not a read. */
			if (reads && instruction->kind == INSTR_LOOP_BACK &&
				group == dfg_alias_class(builder, program->use[instruction->first + i + instruction->n_in]))
				continue;
			uint32_t *at = reads ? &of->first_read[group] : &of->first_write[group];
			if (fill)
				(reads ? of->read : of->write)[(*at)++] = o;
			else
				at[1]++;
		}
	}
}

static struct dfg_err *make_lists(struct accesses *of)
{
	struct program_builder *builder = of->builder;
	size_t slots = builder->plan->slots, uses = builder->program->uses;
	of->first_read = dfg_arena_zeros(builder->scratch, slots + 1, sizeof *of->first_read);
	of->first_write = dfg_arena_zeros(builder->scratch, slots + 1, sizeof *of->first_write);
	of->read = dfg_arena_zeros(builder->scratch, uses, sizeof *of->read);
	of->write = dfg_arena_zeros(builder->scratch, uses, sizeof *of->write);
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

static bool group_can_write_over(struct program_builder *builder, const struct instruction *instruction, uint32_t merge)
{
	const uint32_t *use = builder->program->use + instruction->first;
	for (int i = 0; i < instruction->n_in; i++)
		if (dfg_alias_class(builder, use[i]) == dfg_alias_class(builder, merge) &&
			!dfg_tile_may_overwrite(&instruction->group->tile, i, 0))
			return false;
	return instruction->n_out == 1;
}

/* The instruction may write its output over the operands that are in the variable's class. */
static bool can_write_over(struct program_builder *builder, const struct instruction *instruction, uint32_t merge)
{
	const uint32_t *use = builder->program->use + instruction->first;
	bool row = instruction->kind == INSTR_ROW || instruction->kind == INSTR_CHECKED_ROW ||
			   instruction->kind == INSTR_ROW_INDIRECT;
	if (instruction->kind == INSTR_GROUP)
		return group_can_write_over(builder, instruction, merge);
	if ((!row && instruction->kind != INSTR_KERNEL) || !instruction->node->in_place || instruction->n_out != 1)
		return false;
	bool whole = instruction->node->run == dfg_elementwise_run;
	uint32_t operands = 0;
	for (uint32_t i = 0; i < instruction->n_in; i++) {
		if (dfg_alias_class(builder, use[i]) != dfg_alias_class(builder, merge))
			continue;
		const struct dfg_inferred *in = &builder->fact[use[i]], *to = &builder->fact[use[instruction->n_in]];
		bool same = dfg_dtype_size(in->dtype) == dfg_dtype_size(to->dtype) && dfg_shape_known(&in->shape) &&
					dfg_shape_count(&in->shape) == dfg_shape_count(&to->shape);
		if (!same || (!whole && i))
			return false;
		operands++;
	}
	return row || operands < 2;
}

static bool share_size(const struct program_builder *builder, uint32_t one, uint32_t two)
{
	return dfg_slot_bytes(builder, one) == dfg_slot_bytes(builder, two);
}

/*
 * The instruction does not read the variable after instruction `write`, in the same iteration, has computed the next
 * value.
 */
static bool reads_before(struct program_builder *builder, uint32_t read, uint32_t write, uint32_t merge)
{
	const struct instruction *reader = &builder->program->code[read], *writer = &builder->program->code[write];
	uint32_t loop = loop_of_slot(builder, merge), condition = dfg_condition_in_loop(builder, reader, loop);
	if (condition == UNREACHABLE ||
		dfg_conditions_exclude(builder->schedule, condition, dfg_condition_of(builder, writer)))
		return true;
	for (uint32_t l = reader->loop; l != loop; l = parent_of(builder, l))
		read = builder->back[l];
	return read < write || (read == write && (reader->kind == INSTR_COPY_IN || can_write_over(builder, reader, merge)));
}

/*
 * The next value is computed at the variable's address if all its writers are in the loop's body and the old value is
 * not read after them.
 */
static void coalesce_next(struct accesses *of, const struct carried *carried)
{
	enum { MANY = 256 };
	struct program_builder *builder = of->builder;
	uint32_t merge = carried->merge, next = builder->forward[carried->next], loop = loop_of_slot(builder, merge);
	if (builder->storage[merge] != merge || builder->storage[next] == DFG_NONE)
		return;
	uint32_t home = dfg_storage_root(builder, next), group = dfg_alias_class(builder, home),
			 own = dfg_alias_class(builder, merge);
	uint32_t first = of->first_write[group], last = of->first_write[group + 1];
	if (builder->carried[home] || loop_of_slot(builder, home) != loop || builder->last[group] != builder->back[loop] ||
		!share_size(builder, home, merge) || last - first > MANY)
		return;
	for (uint32_t w = first; w < last; w++) {
		const struct instruction *writer = &builder->program->code[of->write[w]];
		if (writer->loop != loop || !dfg_condition_has(builder->schedule, dfg_condition_of(builder, writer),
										builder->schedule->loop_info[loop].predicate, 1))
			return;
		for (uint32_t r = of->first_read[own]; r < of->first_read[own + 1]; r++)
			if (r - of->first_read[own] > MANY || !reads_before(builder, of->read[r], of->write[w], merge))
				return;
	}
	builder->storage[home] = merge;
	dfg_alias_join(builder, merge, home);
}

/*
 * The last instruction that reads the variable, in an iteration that is not the loop's last; DFG_NONE: there is none.
 */
static uint32_t last_read(const struct accesses *of, uint32_t merge)
{
	struct program_builder *builder = of->builder;
	uint32_t own = dfg_alias_class(builder, merge), loop = loop_of_slot(builder, merge), last = DFG_NONE;
	for (uint32_t r = of->first_read[own]; r < of->first_read[own + 1]; r++) {
		const struct instruction *instruction = &builder->program->code[of->read[r]];
		uint32_t condition = dfg_condition_in_loop(builder, instruction, loop), at = of->read[r];
		if (condition == UNREACHABLE ||
			dfg_condition_has(builder->schedule, condition, builder->schedule->loop_info[loop].predicate, 0))
			continue;
		for (uint32_t l = instruction->loop; l != loop; l = parent_of(builder, l))
			at = builder->back[l];
		last = last == DFG_NONE || at > last ? at : last;
	}
	return last;
}

/*
 * The last reader of a reference-counted variable, in an iteration that assigns another value to it, may write into the
 * variable's buffer: the live range ends there.
 */
static void allow_reuse(const struct accesses *of, const struct carried *carried)
{
	struct program_builder *builder = of->builder;
	uint32_t merge = carried->merge, group = dfg_alias_class(builder, merge), loop = loop_of_slot(builder, merge);
	uint32_t last = last_read(of, merge);
	if (builder->storage[merge] != DFG_NONE || last == DFG_NONE ||
		dfg_alias_class(builder, builder->forward[carried->next]) == group)
		return;
	struct instruction *instruction = &builder->program->code[last];
	const uint32_t *use = builder->program->use + instruction->first;
	if (instruction->kind != INSTR_KERNEL || !instruction->node->in_place ||
		instruction->node->run == dfg_elementwise_run || instruction->loop != loop ||
		!dfg_condition_has(
			builder->schedule, dfg_condition_of(builder, instruction), builder->schedule->loop_info[loop].predicate, 1))
		return;
	bool first = instruction->n_in && dfg_alias_class(builder, use[0]) == group;
	for (uint32_t i = 1; i < instruction->n_in; i++)
		first &= dfg_alias_class(builder, use[i]) != group;
	if (first)
		instruction->in_place |= 1;
}

static bool is_under(const struct schedule *schedule, uint32_t inner, uint32_t outer)
{
	while (schedule->condition[inner].depth > schedule->condition[outer].depth)
		inner = schedule->condition[inner].parent;
	return inner == outer;
}

/* A Merge input that is computed within its branch is computed at the Merge's address. */
static void coalesce_merge_input(struct program_builder *builder, struct instruction *instruction, uint32_t o)
{
	uint32_t in = builder->program->use[instruction->first], out = builder->program->use[instruction->first + 1];
	if (builder->storage[in] == DFG_NONE || builder->storage[out] != out)
		return;
	uint32_t home = dfg_storage_root(builder, in), group = dfg_alias_class(builder, home);
	if (builder->carried[home] || home == out || builder->last[group] != o || !share_size(builder, home, out))
		return;
	const struct instruction *maker = &builder->program->code[builder->first[group]];
	if (maker->loop != instruction->loop || builder->dominating[group] == UNREACHABLE ||
		!is_under(builder->schedule, builder->dominating[group], dfg_condition_of(builder, instruction)))
		return;
	builder->storage[home] = out;
	dfg_alias_join(builder, out, home);
	instruction->kind = INSTR_NOP;
}

struct dfg_err *dfg_program_coalesce(struct program_builder *builder)
{
	const struct dfg_plan *plan = builder->plan;
	const struct schedule *schedule = builder->schedule;
	struct accesses of = {.builder = builder};
	if (plan->session->options.no_opt)
		return NULL;
	for (uint32_t o = 0; o < builder->program->count; o++)
		if (builder->program->code[o].kind == INSTR_COPY_IN)
			coalesce_merge_input(builder, &builder->program->code[o], o);
	DFG_TRY(make_lists(&of));
	for (uint32_t l = 1; l < schedule->loops; l++)
		for (uint32_t i = 0; i < schedule->loop_info[l].n_carried; i++) {
			const struct carried *carried = &schedule->carried[schedule->loop_info[l].first_carried + i];
			if (!builder->needed[plan->maker[carried->merge]])
				continue;
			coalesce_next(&of, carried);
			allow_reuse(&of, carried);
		}
	return NULL;
}

/* Moves of one instruction that are not ordered yet. */
struct moving {
	struct program_builder *builder;
	struct move *left;
	uint32_t n_left;
};

static void add_move(struct program_builder *builder, struct instruction *instruction, const struct move *move)
{
	struct program *program = builder->program;
	program->move[program->moves_made++] = *move;
	instruction->n_move++;
}

static bool overlaps(struct program_builder *builder, uint32_t one, uint32_t two)
{
	return dfg_alias_class(builder, one) == dfg_alias_class(builder, two);
}

/*
 * The first move whose destination no other remaining move reads; DFG_NONE: all are read, so one goes through a spare
 * slot.
 */
static uint32_t next_move(struct moving *moving)
{
	for (uint32_t i = 0; i < moving->n_left; i++) {
		bool unread = true;
		for (uint32_t j = 0; j < moving->n_left && unread; j++)
			unread = i == j || !overlaps(moving->builder, moving->left[i].to, moving->left[j].from);
		if (unread)
			return i;
	}
	return DFG_NONE;
}

static uint32_t spare_of(const struct program_builder *builder, uint32_t merge)
{
	const struct loop_info *loop_info = &builder->schedule->loop_info[loop_of_slot(builder, merge)];
	const struct carried *carried = builder->schedule->carried + loop_info->first_carried;
	while (carried->merge != merge)
		carried++;
	return carried->spare;
}

static uint8_t kind_of(struct program_builder *builder, uint32_t from, uint32_t to)
{
	if (builder->storage[to] == DFG_NONE)
		return MOVE_SHARE;
	return builder->storage[from] == DFG_NONE ? MOVE_COPY_IN : MOVE_BYTES;
}

static void place_spare(struct program_builder *builder, uint32_t spare, uint32_t merge, uint32_t o)
{
	struct program *program = builder->program;
	builder->fact[spare] = builder->fact[merge];
	builder->first[spare] = builder->last[spare] = o;
	builder->storage[spare] = builder->storage[merge] == DFG_NONE ? DFG_NONE : spare;
	if (builder->storage[merge] == DFG_NONE)
		program->counted[program->n_counted++] = spare;
}

static void order_moves(struct moving *moving, struct instruction *instruction)
{
	struct program_builder *builder = moving->builder;
	uint32_t o = (uint32_t)(instruction - builder->program->code);
	while (moving->n_left) {
		uint32_t i = next_move(moving);
		if (i == DFG_NONE) {
			struct move *move = &moving->left[0];
			uint32_t spare = spare_of(builder, move->to);
			place_spare(builder, spare, move->to, o);
			add_move(builder, instruction,
				&(struct move){.from = move->from, .to = spare, .kind = kind_of(builder, move->from, spare)});
			move->from = spare;
			move->kind = builder->storage[spare] == DFG_NONE ? MOVE_TAKE : MOVE_BYTES;
			continue;
		}
		add_move(builder, instruction, &moving->left[i]);
		moving->left[i] = moving->left[--moving->n_left];
	}
}

static bool makes(const struct program_builder *builder, const struct instruction *instruction, uint32_t slot)
{
	for (uint32_t i = instruction->n_in; i < (uint32_t)instruction->n_in + instruction->n_out; i++)
		if (builder->program->use[instruction->first + i] == slot)
			return true;
	return false;
}

/*
 * A counted value that was computed in the iteration and is last read by this move: its reference can be taken over. A
 * constant is excluded, since the next iteration reads it too.
 */
static bool is_only_read(struct program_builder *builder, const struct instruction *instruction, uint32_t i, uint32_t o)
{
	const uint32_t *use = builder->program->use + instruction->first;
	uint32_t group = dfg_alias_class(builder, use[i]);
	if (instruction->kind != INSTR_LOOP_BACK || use[i] >= builder->plan->first_feed ||
		builder->storage[use[i]] != DFG_NONE || builder->last[group] != o || builder->alias_class[use[i]] != use[i] ||
		builder->carried[use[i]] || loop_of_slot(builder, use[i]) != instruction->loop ||
		!builder->program->code[builder->first[group]].node)
		return false;
	for (uint32_t j = 0; j < instruction->n_in; j++)
		if (j != i && dfg_alias_class(builder, use[j]) == group)
			return false;
	const struct instruction *maker = &builder->program->code[builder->first[group]];
	return (maker->kind == INSTR_KERNEL || maker->kind == INSTR_GROUP || maker->kind == INSTR_ROW_NEW) &&
		   makes(builder, maker, use[i]);
}

static void move_values(
	struct program_builder *builder, struct instruction *instruction, uint32_t o, struct move *moves)
{
	const uint32_t *from = builder->program->use + instruction->first, *to = from + instruction->n_in;
	struct moving moving = {.builder = builder, .left = moves};
	instruction->first_move = builder->program->moves_made;
	for (uint32_t i = 0; i < instruction->n_in; i++) {
		uint8_t kind = kind_of(builder, from[i], to[i]);
		if (kind == MOVE_SHARE && is_only_read(builder, instruction, i, o))
			kind = MOVE_TAKE;
		bool there = kind == MOVE_BYTES && dfg_storage_root(builder, from[i]) == dfg_storage_root(builder, to[i]);
		if (from[i] != to[i] && !there)
			moving.left[moving.n_left++] = (struct move){.from = from[i], .to = to[i], .kind = kind};
	}
	order_moves(&moving, instruction);
}

struct dfg_err *dfg_program_move_variables(struct program_builder *builder)
{
	struct program *program = builder->program;
	size_t most = 0, all = 0;
	for (uint32_t o = 0; o < program->count; o++)
		if (program->code[o].kind == INSTR_LOOP_ENTER || program->code[o].kind == INSTR_LOOP_BACK) {
			most = program->code[o].n_in > most ? program->code[o].n_in : most;
			all += 2 * (size_t)program->code[o].n_in;
		}
	struct move *moves = dfg_arena_zeros(builder->scratch, most, sizeof *moves);
	program->move = dfg_arena_zeros(&program->arena, all, sizeof *program->move);
	if (!moves || !program->move)
		return dfg_no_memory("the memory plan of the step");
	for (uint32_t o = 0; o < program->count; o++)
		if (program->code[o].kind == INSTR_LOOP_ENTER || program->code[o].kind == INSTR_LOOP_BACK)
			move_values(builder, &program->code[o], o, moves);
	return NULL;
}
