#include "lib/exec/linear/builder_private.h"

#include "lib/graph/walk.h"

#include <string.h>

/*
 * Constants of one element that rows of several elements read. A row is called directly if its operands are as long as its
 * result, so the program has a copy of such a constant with as many elements, in a slot of its own after those of the plan.
 * These slots exist once all else is planned: until then the row reads the constant's slot.
 */

/*
 * The most elements of a row, beyond which the row takes longer than to find out how an operand is repeated; the most copies,
 * and the most bytes of all of them.
 */
enum { ROW_MOST = 1024, COPIES_MOST = 1024, BYTES_MOST = 1 << 20 };

bool dfg_repeats_constant(struct program_builder *builder, uint32_t slot, int64_t n)
{
	const struct dfg_plan *plan = builder->plan;
	const struct dfg_tensor *constant = &builder->program->start[slot];
	if (slot >= plan->first_feed || plan->is_ref[slot] || !constant->data || !dfg_is_plain(constant->dtype) ||
		dfg_shape_count(&constant->shape) != 1 || n < 2 || n > ROW_MOST)
		return false;
	const size_t bytes = (size_t)n * dfg_dtype_size(constant->dtype);
	if (builder->repeated_bytes + bytes > BYTES_MOST || builder->repeats == COPIES_MOST)
		return false;
	builder->repeated_bytes += bytes;
	builder->repeats++;
	return true;
}

static bool is_row(const struct instruction *instruction)
{
	return instruction->kind == INSTR_ROW || instruction->kind == INSTR_ROW_INDIRECT ||
		   instruction->kind == INSTR_ROW_NEW;
}

/* A copy that was made for an earlier row, or a new one; `from` is the constant's slot. */
static struct dfg_err *find_copy(
	struct program_builder *builder, uint32_t *constant_of, uint32_t from, int64_t n, uint32_t *out_slot)
{
	struct program *program = builder->program;
	const struct dfg_tensor *constant = &program->start[from];
	const size_t size = dfg_dtype_size(constant->dtype), bytes = (size_t)n * size;
	const uint32_t first = builder->plan->slots;
	for (*out_slot = first; *out_slot < program->slots; ++*out_slot)
		if (constant_of[*out_slot - first] == from && program->start[*out_slot].capacity == bytes)
			return NULL;
	void *copy = dfg_arena_zeros(&program->arena, bytes + DFG_ALIGN, 1);
	if (!copy)
		return dfg_no_memory("the program of the step");
	copy = (void *)(((uintptr_t)copy + DFG_ALIGN - 1) / DFG_ALIGN * DFG_ALIGN);
	dfg_repeat(copy, n, constant->data, size);
	constant_of[program->slots - first] = from;
	program->start[program->slots++] = (struct dfg_tensor){constant->dtype, DFG_SHAPE_VECTOR(n), copy, bytes, NULL};
	return NULL;
}

static struct dfg_err *repeat_operands(
	struct program_builder *builder, const struct instruction *instruction, uint32_t *constant_of)
{
	struct program *program = builder->program;
	for (uint32_t i = instruction->first; i < instruction->first + instruction->n_in; i++) {
		const struct dfg_tensor *in = &program->start[program->use[i]];
		if (program->use[i] < builder->plan->first_feed && !program->in_block[program->use[i]] && in->data &&
			dfg_shape_count(&in->shape) == 1)
			DFG_TRY(find_copy(builder, constant_of, program->use[i], instruction->n, &program->use[i]));
	}
	return NULL;
}

struct dfg_err *dfg_program_repeat_constants(struct program_builder *builder)
{
	struct program *program = builder->program;
	const size_t slots = builder->plan->slots, all = slots + builder->repeats;
	program->slots = builder->plan->slots;
	if (!builder->repeats)
		return NULL;
	uint32_t *constant_of = dfg_arena_zeros(builder->scratch, builder->repeats, sizeof *constant_of);
	struct dfg_tensor *start = dfg_arena_zeros(&program->arena, all, sizeof *start);
	bool *in_block = dfg_arena_zeros(&program->arena, all, sizeof *in_block);
	if (!constant_of || !start || !in_block)
		return dfg_no_memory("the program of the step");
	memcpy(start, program->start, slots * sizeof *start);
	memcpy(in_block, program->in_block, slots * sizeof *in_block);
	program->start = start;
	program->in_block = in_block;
	for (uint32_t o = 0; o < program->count; o++)
		if (is_row(&program->code[o]) && program->code[o].n > 1)
			DFG_TRY(repeat_operands(builder, &program->code[o], constant_of));
	return NULL;
}
