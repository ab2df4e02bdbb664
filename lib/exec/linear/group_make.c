#include "lib/exec/linear/group_private.h"

/* Makes one instruction of the members of a group: a tile program, its inputs and its outputs. */

struct group_maker {
	struct program_builder *builder;
	const struct candidate *candidate;
	const uint8_t *kind; /* enum member_kind, by instruction */
	struct group *group;
	uint32_t operand[INPUTS_MOST], operands; /* slots */
	/* values of the tile program: of inputs, which are operands read in one of two ways; of members */
	uint32_t input_operand[INPUTS_MOST];
	bool input_per_row[INPUTS_MOST];
	int inputs;
	int value[MEMBERS_MOST], spread[MEMBERS_MOST]; /* -1: none yet */
	bool too_many;
};

static const struct instruction *member(const struct group_maker *of, uint32_t i)
{
	return &of->builder->program->code[of->candidate->member[i]];
}

static uint32_t operand_of(const struct group_maker *of, uint32_t i, int k)
{
	return of->builder->program->use[member(of, i)->first + (uint32_t)k];
}

static int operands_of(const struct group_maker *of, uint32_t i)
{
	return dfg_member_operands((enum member_kind)of->kind[of->candidate->member[i]], member(of, i));
}

/* The member that makes the slot, or DFG_NONE. */
static uint32_t inside(const struct group_maker *of, uint32_t slot)
{
	for (uint32_t i = 0; i < of->candidate->members; i++)
		if (dfg_member_slot(of->builder->program, of->candidate->member[i]) == slot)
			return i;
	return DFG_NONE;
}

static bool is_per_row(const struct group_maker *of, uint32_t slot)
{
	return dfg_candidate_is_per_row(of->candidate, &of->builder->fact[slot].shape);
}

/* The number of the slot among the operands. */
static uint32_t add_operand(struct group_maker *of, uint32_t slot)
{
	for (uint32_t i = 0; i < of->operands; i++)
		if (of->operand[i] == slot)
			return i;
	of->too_many |= of->operands >= INPUTS_MOST;
	of->operand[of->too_many ? 0 : of->operands] = slot;
	return of->too_many ? 0 : of->operands++;
}

static int find_input(const struct group_maker *of, uint32_t slot, bool per_row)
{
	for (int i = 0; i < of->inputs; i++)
		if (of->operand[of->input_operand[i]] == slot && of->input_per_row[i] == per_row)
			return i;
	return -1;
}

/* An operand that has all elements has the order of the group's, whatever its shape. */
static void add_input(struct group_maker *of, uint32_t slot, bool per_row)
{
	const struct dfg_inferred *fact = &of->builder->fact[slot];
	int64_t count = dfg_shape_count(&fact->shape);
	if (find_input(of, slot, per_row) >= 0)
		return;
	uint32_t operand = add_operand(of, slot);
	of->too_many |= of->inputs >= INPUTS_MOST;
	if (of->too_many)
		return;
	of->input_operand[of->inputs] = operand;
	of->input_per_row[of->inputs++] = per_row;
	const struct dfg_shape *shape = count == of->candidate->count ? &of->candidate->shape : &fact->shape;
	dfg_tile_input(&of->group->tile, (int)operand, shape, fact->dtype, per_row, count == 1);
}

static void add_inputs(struct group_maker *of)
{
	for (uint32_t i = 0; i < of->candidate->members; i++) {
		bool reduces = of->kind[of->candidate->member[i]] == MEMBER_REDUCE;
		bool per_row = !reduces && is_per_row(of, dfg_member_slot(of->builder->program, of->candidate->member[i]));
		for (int k = 0; k < operands_of(of, i); k++)
			if (inside(of, operand_of(of, i, k)) == DFG_NONE)
				add_input(of, operand_of(of, i, k), per_row);
	}
}

static int spread(struct group_maker *of, uint32_t i)
{
	uint32_t slot = dfg_member_slot(of->builder->program, of->candidate->member[i]);
	if (of->spread[i] < 0)
		of->spread[i] = dfg_tile_step(&of->group->tile,
			&(struct dfg_tile_step){.kind = DFG_TILE_SPREAD, .n_in = 1, .in = {(uint16_t)of->value[i]}},
			of->builder->fact[slot].dtype);
	return of->spread[i];
}

/* The value of operand k as member i reads it. */
static int read_operand(struct group_maker *of, uint32_t i, int k)
{
	uint32_t slot = operand_of(of, i, k), own = dfg_member_slot(of->builder->program, of->candidate->member[i]);
	bool reduces = of->kind[of->candidate->member[i]] == MEMBER_REDUCE, per_row = !reduces && is_per_row(of, own);
	uint32_t maker = inside(of, slot);
	if (maker == DFG_NONE)
		return find_input(of, slot, per_row);
	return is_per_row(of, slot) && !per_row ? spread(of, maker) : of->value[maker];
}

/* The operands in step.in joined by a row, the first two and then one after another. */
static int add_joins(
	struct group_maker *of, const struct dfg_tile_step *operands, dfg_row_fn *row, enum dfg_dtype dtype)
{
	struct dfg_tile_step step = {.kind = DFG_TILE_ROW, .row = row, .per_row = operands->per_row, .n_in = 2};
	int joined = operands->in[0];
	for (int k = 1; k < operands->n_in; k++) {
		step.in[0] = (uint16_t)joined;
		step.in[1] = operands->in[k];
		joined = dfg_tile_step(&of->group->tile, &step, dtype);
	}
	return joined;
}

static void add_step(struct group_maker *of, uint32_t i)
{
	const struct instruction *instruction = member(of, i);
	const struct dfg_resolved_node *call = instruction->node->call;
	uint32_t slot = dfg_member_slot(of->builder->program, of->candidate->member[i]);
	enum member_kind kind = (enum member_kind)of->kind[of->candidate->member[i]];
	struct dfg_tile_step step = {
		.attr = call->attr, .per_row = is_per_row(of, slot), .slow = !(call->op->flags & DFG_EXACT)};
	for (int k = 0; k < operands_of(of, i); k++)
		step.in[step.n_in++] = (uint16_t)read_operand(of, i, k);
	if (dfg_member_is_alias(kind)) {
		of->value[i] = step.in[0];
		return;
	}
	if (kind == MEMBER_JOIN) {
		dfg_row_fn *row = dfg_op_row(call->op->joins_by, dfg_kernel_dtype(call));
		of->value[i] = add_joins(of, &step, row, of->builder->fact[slot].dtype);
		return;
	}
	if (kind == MEMBER_ROW) {
		step.kind = DFG_TILE_ROW;
		step.row = instruction->node->row;
	} else if (kind == MEMBER_REDUCE) {
		step.kind = DFG_TILE_REDUCE;
		step.reducer = dfg_op_reducer(call->op, dfg_kernel_dtype(call));
	} else {
		step.kind = DFG_TILE_CONVERT;
		step.from = call->in_dtype[0];
		step.to = call->out_dtype[0];
	}
	of->value[i] = dfg_tile_step(&of->group->tile, &step, of->builder->fact[slot].dtype);
}

/* The tile program; outputs are numbered in the order of the members. */
static struct dfg_err *make_tile(struct group_maker *of, bool *out_fits)
{
	const struct candidate *candidate = of->candidate;
	struct dfg_tile_program *tile = &of->group->tile;
	int outputs = 0;
	DFG_TRY(dfg_tile_begin(&of->builder->program->arena, &candidate->shape, candidate->columns, INPUTS_MOST,
		STEPS_A_MEMBER * candidate->members, tile));
	add_inputs(of);
	for (uint32_t i = 0; i < candidate->members; i++)
		of->value[i] = of->spread[i] = -1;
	for (uint32_t i = 0; i < candidate->members && !of->too_many; i++) {
		add_step(of, i);
		if (candidate->stored[i])
			dfg_tile_output(tile, of->value[i], outputs++);
	}
	*out_fits = !of->too_many && dfg_tile_finish(tile);
	return NULL;
}

static struct dfg_err *list_members(struct group_maker *of)
{
	struct group *group = of->group;
	struct dfg_arena *arena = &of->builder->program->arena;
	struct dfg_inferred *type = dfg_arena_zeros(arena, of->operands, sizeof *type);
	group->member = dfg_arena_zeros(arena, of->candidate->members, sizeof *group->member);
	if (!group->member || !type)
		return dfg_no_memory("the program of the step");
	for (uint32_t i = 0; i < of->candidate->members; i++)
		if (of->kind[of->candidate->member[i]] != MEMBER_VIEW)
			group->member[group->members++] = member(of, i)->node;
	for (uint32_t i = 0; i < of->operands; i++) {
		type[i].dtype = of->builder->fact[of->operand[i]].dtype;
		type[i].shape = of->builder->fact[of->operand[i]].shape;
	}
	group->type = type;
	return NULL;
}

/* The instruction of the group replaces one member; the others do nothing. */
static void replace_members(struct group_maker *of)
{
	struct program_builder *builder = of->builder;
	struct program *program = builder->program;
	const struct candidate *candidate = of->candidate;
	struct instruction *runs_at = &program->code[candidate->position];
	uint32_t first = program->uses, n_out = 0;
	for (uint32_t i = 0; i < of->operands; i++)
		program->use[program->uses++] = of->operand[i];
	for (uint32_t i = 0; i < candidate->members; i++) {
		uint32_t slot = dfg_member_slot(program, candidate->member[i]);
		if (candidate->stored[i]) {
			program->use[program->uses++] = slot;
			program->start[slot] = (struct dfg_tensor){.dtype = builder->fact[slot].dtype,
				.shape = builder->fact[slot].shape,
				.capacity = dfg_slot_bytes(builder, slot)};
			n_out++;
		} else {
			builder->storage[slot] = DFG_NONE;
		}
	}
	for (uint32_t i = 0; i < candidate->members; i++) {
		struct instruction *old = &program->code[candidate->member[i]];
		old->kind = INSTR_NOP;
		old->n_in = old->n_out = 0;
	}
	runs_at->kind = INSTR_GROUP;
	program->groups++;
	program->grouped += of->group->members;
	runs_at->group = of->group;
	runs_at->first = first;
	runs_at->n_in = (uint16_t)of->operands;
	runs_at->n_out = (uint16_t)n_out;
}

struct dfg_err *dfg_group_make(
	struct program_builder *builder, const struct candidate *candidate, const uint8_t *kind, bool *out_made)
{
	struct group_maker *of = dfg_arena_zeros(builder->scratch, 1, sizeof *of);
	struct group *group = dfg_arena_zeros(&builder->program->arena, 1, sizeof *group);
	*out_made = false;
	if (!of || !group)
		return dfg_no_memory("the program of the step");
	*of = (struct group_maker){.builder = builder, .candidate = candidate, .kind = kind, .group = group};
	DFG_TRY(make_tile(of, out_made));
	if (!*out_made)
		return NULL;
	DFG_TRY(list_members(of));
	replace_members(of);
	return NULL;
}
