#include "lib/exec/linear/group_private.h"

/*
 * Finds attention: a softmax whose only reader multiplies it by a matrix, and which is computed from a product by
 * elementwise ops; no value between is read by anything else. It runs at the position of the last product.
 */
enum {
	SCORES_LEAST = 2048,    /* elements; fewer have no effect on memory */
	BLOCK_SCORES = 1 << 18, /* elements of a block of scores, which fit a cache near the processor */
	BLOCK_LEAST = 64,       /* rows */
};

struct finder {
	struct program_builder *builder;
	uint32_t *reads, *writes;  /* by slot: instructions, or fetches, that read or write it */
	uint32_t *reader, *writer; /* the last of them */
	uint32_t scores, softmax, product;
	uint32_t between[BETWEEN_MOST], count; /* instructions, the last one first */
};

static const struct instruction *at(const struct finder *of, uint32_t o)
{
	return &of->builder->program->code[o];
}

static const uint32_t *uses(const struct finder *of, uint32_t o)
{
	return of->builder->program->use + at(of, o)->first;
}

static uint32_t result(const struct finder *of, uint32_t o)
{
	return uses(of, o)[at(of, o)->n_in];
}

static const struct dfg_shape *shape_of(const struct finder *of, uint32_t slot)
{
	return &of->builder->fact[slot].shape;
}

static struct dfg_err *prepare(struct finder *of)
{
	const struct program *program = of->builder->program;
	const struct dfg_plan *plan = of->builder->plan;
	uint32_t **list[] = {&of->reads, &of->writes, &of->reader, &of->writer};
	for (size_t i = 0; i < sizeof list / sizeof *list; i++)
		if (!(*list[i] = dfg_arena_zeros(of->builder->scratch, plan->slots, sizeof **list[i])))
			return dfg_no_memory("the program of the step");
	for (uint32_t i = 0; i < plan->step.n_fetch; i++)
		of->reads[of->builder->forward[plan->fetch[i]]] += 2;
	for (uint32_t o = 0; o < program->count; o++) {
		const uint32_t *use = uses(of, o);
		for (uint32_t i = 0; i < program->code[o].n_in; i++)
			of->reads[use[i]]++, of->reader[use[i]] = o;
		for (uint32_t i = program->code[o].n_in; i < (uint32_t)program->code[o].n_in + program->code[o].n_out; i++)
			of->writes[use[i]]++, of->writer[use[i]] = o;
	}
	return NULL;
}

/* A kernel with one result of f32 or f64, whose shape and those of its inputs are known. */
static bool is_candidate(const struct finder *of, uint32_t o)
{
	const struct instruction *instruction = at(of, o);
	if (instruction->kind != INSTR_KERNEL || !instruction->node || instruction->node->reads_ref ||
		instruction->n_out != 1 || instruction->node->role != DFG_PLAIN)
		return false;
	const struct dfg_inferred *out = &of->builder->fact[result(of, o)];
	if ((out->dtype != DFG_F32 && out->dtype != DFG_F64) || !dfg_slot_has_fixed_size(of->builder, result(of, o)))
		return false;
	for (int i = 0; i < instruction->n_in; i++)
		if (!dfg_shape_known(shape_of(of, uses(of, o)[i])) || of->builder->plan->is_ref[uses(of, o)[i]])
			return false;
	return true;
}

static bool has_meaning(const struct finder *of, uint32_t o, enum dfg_meaning meaning)
{
	return is_candidate(of, o) && at(of, o)->node->call->op->means == meaning;
}

static bool is_turned(const struct finder *of, uint32_t o, int i)
{
	return at(of, o)->node->call->attr[i].b;
}

/* Whether the slot is made by one instruction and read by one, under the conditions of the softmax. */
static bool is_between(const struct finder *of, uint32_t slot)
{
	const struct program_builder *builder = of->builder;
	if (of->reads[slot] != 1 || of->writes[slot] != 1)
		return false;
	uint32_t o = of->writer[slot];
	return builder->condition[o] == builder->condition[of->softmax] && at(of, o)->loop == at(of, of->softmax)->loop;
}

/* An elementwise op on the scores: *out_slot is the operand that they are. */
static bool follow_row(const struct finder *of, uint32_t o, const struct dfg_shape *shape, uint32_t *out_slot)
{
	const struct instruction *instruction = at(of, o);
	if (!is_candidate(of, o) || !instruction->node->row || instruction->node->call->op->guard)
		return false;
	for (int i = 0; i < instruction->n_in; i++) {
		uint32_t slot = uses(of, o)[i];
		bool same = of->builder->fact[slot].dtype == of->builder->fact[result(of, o)].dtype;
		if (same && dfg_shape_equal(shape_of(of, slot), shape) && is_between(of, slot)) {
			*out_slot = slot;
			return true;
		}
	}
	return false;
}

/* Finds the ops before the softmax, up to the product that makes the scores. */
static bool find_scores(struct finder *of)
{
	uint32_t slot = uses(of, of->softmax)[0];
	const struct dfg_shape *shape = shape_of(of, slot);
	for (of->count = 0; is_between(of, slot); of->between[of->count++] = of->scores) {
		of->scores = of->writer[slot];
		if (has_meaning(of, of->scores, DFG_MEANS_MATRICES))
			return !is_turned(of, of->scores, 0);
		if (of->count == BETWEEN_MOST || !follow_row(of, of->scores, shape, &slot))
			return false;
	}
	return false;
}

/* Whether the matrices of the slot are as many as those of the scores, each for itself. */
static bool fits_batch(const struct finder *of, uint32_t slot, const struct dfg_shape *scores)
{
	const struct dfg_shape *shape = shape_of(of, slot);
	for (int d = 0; d < scores->rank - 2 && shape->rank == scores->rank; d++)
		if (shape->dim[d] != scores->dim[d])
			return false;
	return shape->rank == scores->rank && dfg_shape_count(shape);
}

static bool find_ends(struct finder *of, uint32_t softmax)
{
	uint32_t slot = result(of, softmax);
	of->softmax = softmax;
	if (!is_between(of, slot) || dfg_shape_count(shape_of(of, slot)) < SCORES_LEAST)
		return false;
	of->product = of->reader[slot];
	if (!has_meaning(of, of->product, DFG_MEANS_MATRICES) || uses(of, of->product)[0] != slot ||
		is_turned(of, of->product, 0) || of->builder->condition[of->product] != of->builder->condition[softmax] ||
		at(of, of->product)->loop != at(of, softmax)->loop || !find_scores(of))
		return false;
	const struct dfg_shape *shape = shape_of(of, result(of, of->scores));
	return dfg_shape_equal(shape, shape_of(of, slot)) && fits_batch(of, uses(of, of->scores)[0], shape) &&
		   fits_batch(of, uses(of, of->scores)[1], shape) && fits_batch(of, uses(of, of->product)[1], shape);
}

/* The ops between as a tile program on the scores; adds their other operands to `operand`. */
static struct dfg_err *make_between(
	const struct finder *of, struct dfg_tile_program *out_tile, uint32_t *operand, uint32_t *operands, bool *out_fits)
{
	struct dfg_arena *arena = &of->builder->program->arena;
	const struct dfg_shape *shape = shape_of(of, result(of, of->scores));
	const enum dfg_dtype dtype = of->builder->fact[result(of, of->scores)].dtype;
	uint32_t scores = result(of, of->scores), most = 1 + BETWEEN_MOST * DFG_ROW_OPERANDS;
	DFG_TRY(dfg_tile_begin(arena, shape, 0, most, BETWEEN_MOST, out_tile));
	int value = dfg_tile_input(out_tile, 0, shape, dtype, false, false);
	for (uint32_t i = of->count; i--; scores = result(of, of->between[i]))
		for (int k = 0; k < at(of, of->between[i])->n_in; k++) {
			uint32_t slot = uses(of, of->between[i])[k];
			if (slot == scores)
				continue;
			const struct dfg_inferred *fact = &of->builder->fact[slot];
			dfg_tile_input(out_tile, 1 + (int)*operands - ATTENDED, &fact->shape, fact->dtype, false,
				dfg_shape_count(&fact->shape) == 1);
			operand[(*operands)++] = slot;
		}
	int input = 1;
	scores = result(of, of->scores);
	for (uint32_t i = of->count; i--; scores = result(of, of->between[i])) {
		const struct instruction *instruction = at(of, of->between[i]);
		struct dfg_tile_step step = {
			.kind = DFG_TILE_ROW, .row = instruction->node->row, .attr = instruction->node->call->attr};
		for (int k = 0; k < instruction->n_in; k++)
			step.in[step.n_in++] = (uint16_t)(uses(of, of->between[i])[k] == scores ? value : input++);
		value = dfg_tile_step(out_tile, &step, dtype);
	}
	dfg_tile_output(out_tile, value, 0);
	*out_fits = !of->count || dfg_tile_finish(out_tile);
	return NULL;
}

static struct dfg_err *make_attention(const struct finder *of, struct attention *attention)
{
	const struct dfg_shape *shape = shape_of(of, result(of, of->scores));
	const struct dfg_shape *q = shape_of(of, uses(of, of->scores)[0]), *out = shape_of(of, result(of, of->product));
	int64_t rows = shape->dim[shape->rank - 2], columns = shape->dim[shape->rank - 1];
	int64_t block = BLOCK_SCORES / columns > BLOCK_LEAST ? BLOCK_SCORES / columns : BLOCK_LEAST;
	attention->scores = at(of, of->scores)->node->call;
	attention->softmax = at(of, of->softmax)->node->call;
	attention->product = at(of, of->product)->node->call;
	attention->batch = dfg_shape_count(shape) / (rows * columns);
	attention->rows = rows;
	attention->columns = columns;
	attention->width = q->dim[q->rank - 1];
	attention->depth = out->dim[out->rank - 1];
	attention->block = block < rows ? block : rows;
	DFG_TRY(dfg_kernel_find(attention->scores, &attention->run_scores));
	DFG_TRY(dfg_kernel_find(attention->softmax, &attention->run_softmax));
	return dfg_kernel_find(attention->product, &attention->run_product);
}

/* The members, and the types of the group's inputs. */
static struct dfg_err *list_members(
	const struct finder *of, struct group *group, const uint32_t *operand, uint32_t operands)
{
	struct dfg_arena *arena = &of->builder->program->arena;
	struct dfg_inferred *type = dfg_arena_zeros(arena, operands, sizeof *type);
	group->member = dfg_arena_zeros(arena, BETWEEN_MOST + 3, sizeof *group->member);
	if (!group->member || !type)
		return dfg_no_memory("the program of the step");
	group->member[group->members++] = at(of, of->scores)->node;
	for (uint32_t i = of->count; i--;)
		group->member[group->members++] = at(of, of->between[i])->node;
	group->member[group->members++] = at(of, of->softmax)->node;
	group->member[group->members++] = at(of, of->product)->node;
	for (uint32_t i = 0; i < operands; i++) {
		type[i].dtype = of->builder->fact[operand[i]].dtype;
		type[i].shape = of->builder->fact[operand[i]].shape;
	}
	group->type = type;
	return NULL;
}

static void drop(const struct finder *of, uint32_t o)
{
	struct instruction *instruction = &of->builder->program->code[o];
	of->builder->storage[result(of, o)] = DFG_NONE;
	instruction->kind = INSTR_NOP;
	instruction->n_in = instruction->n_out = 0;
}

/* The group runs in place of the last product; the values of the others have no memory. */
static void replace(const struct finder *of, const struct group *group, const uint32_t *operand, uint32_t operands)
{
	struct program *program = of->builder->program;
	struct instruction *runs_at = &program->code[of->product];
	uint32_t first = program->uses, out = result(of, of->product);
	for (uint32_t i = 0; i < operands; i++)
		program->use[program->uses++] = operand[i];
	program->use[program->uses++] = out;
	program->start[out] = (struct dfg_tensor){.dtype = of->builder->fact[out].dtype,
		.shape = of->builder->fact[out].shape,
		.capacity = dfg_slot_bytes(of->builder, out)};
	drop(of, of->scores);
	drop(of, of->softmax);
	for (uint32_t i = 0; i < of->count; i++)
		drop(of, of->between[i]);
	runs_at->kind = INSTR_GROUP;
	runs_at->group = group;
	runs_at->first = first;
	runs_at->n_in = (uint16_t)operands;
	program->groups++;
	program->grouped += group->members;
}

static struct dfg_err *make_group(const struct finder *of)
{
	struct dfg_arena *arena = &of->builder->program->arena;
	struct group *group = dfg_arena_zeros(arena, 1, sizeof *group);
	struct attention *attention = dfg_arena_zeros(arena, 1, sizeof *attention);
	uint32_t operand[ATTENDED + BETWEEN_MOST * DFG_ROW_OPERANDS], operands = ATTENDED;
	bool fits;
	if (!group || !attention)
		return dfg_no_memory("the program of the step");
	operand[Q] = uses(of, of->scores)[0];
	operand[K] = uses(of, of->scores)[1];
	operand[V] = uses(of, of->product)[1];
	group->attention = attention;
	DFG_TRY(make_between(of, &attention->between, operand, &operands, &fits));
	if (!fits)
		return NULL;
	DFG_TRY(make_attention(of, attention));
	DFG_TRY(list_members(of, group, operand, operands));
	replace(of, group, operand, operands);
	return NULL;
}

struct dfg_err *dfg_program_find_attention(struct program_builder *builder)
{
	const struct dfg_session_options *options = &builder->plan->session->options;
	const struct program *program = builder->program;
	bool any = false;
	for (uint32_t o = 0; o < program->count; o++)
		any |= program->code[o].kind == INSTR_KERNEL && program->code[o].node &&
			   program->code[o].node->call->op->means == DFG_MEANS_SOFTMAX;
	if (!any || options->no_opt || options->check_numerics || options->trace)
		return NULL;
	struct finder *of = dfg_arena_zeros(builder->scratch, 1, sizeof *of);
	if (!of)
		return dfg_no_memory("the program of the step");
	of->builder = builder;
	DFG_TRY(prepare(of));
	for (uint32_t o = 0; o < program->count; o++)
		if (has_meaning(of, o, DFG_MEANS_SOFTMAX) && find_ends(of, o))
			DFG_TRY(make_group(of));
	return NULL;
}
