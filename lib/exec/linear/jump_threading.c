#include "lib/exec/linear/group_private.h"

/* Removes instructions that turned out to do nothing, and shortens jumps. */

/* A view of a value at a fixed address needs no instruction. */
static bool is_fixed_view(const struct program_builder *builder, const struct instruction *instruction)
{
	return instruction->kind == INSTR_VIEW && builder->storage[builder->program->use[instruction->first]] != DFG_NONE;
}

static bool is_dropped(const struct program_builder *builder, const struct instruction *instruction)
{
	return !instruction->n_release && (instruction->kind == INSTR_NOP || is_fixed_view(builder, instruction));
}

/* Drops branches around no instructions, which may make an enclosing branch empty. */
static bool drop_empty_branches(struct program *program, const uint32_t *number)
{
	bool dropped = false;
	for (uint32_t o = 0; o < program->count; o++)
		if (program->code[o].kind == INSTR_BRANCH && !program->code[o].n_release &&
			number[program->code[o].to] == number[o] + 1) {
			program->code[o].kind = INSTR_NOP;
			dropped = true;
		}
	return dropped;
}

/* Removes dropped instructions and renumbers jump targets. */
struct dfg_err *dfg_program_drop_instructions(struct program_builder *builder)
{
	struct program *program = builder->program;
	uint32_t kept = 0, *number = dfg_arena_zeros(builder->scratch, (size_t)program->count + 1, sizeof *number);
	if (!number)
		return dfg_no_memory("the memory plan of the step");
	do {
		kept = 0;
		for (uint32_t o = 0; o < program->count; o++) {
			number[o] = kept;
			kept += !is_dropped(builder, &program->code[o]);
		}
		number[program->count] = kept;
	} while (drop_empty_branches(program, number));
	for (uint32_t o = 0; o < program->count; o++) {
		if (is_dropped(builder, &program->code[o]))
			continue;
		struct instruction *instruction = &program->code[number[o]];
		*instruction = program->code[o];
		if (instruction->kind == INSTR_BRANCH || instruction->kind == INSTR_LOOP_BACK)
			instruction->to = number[instruction->to];
		program->alive[number[o]] = program->alive[o];
		builder->condition[number[o]] = builder->condition[o];
	}
	for (uint32_t l = 1; l < builder->schedule->loops; l++) {
		builder->begin[l] = number[builder->begin[l]];
		builder->back[l] = number[builder->back[l]];
	}
	program->count = kept;
	return NULL;
}

/*
 * Jump threading: a branch whose target is a branch on the same predicate jumps to that one's outcome, unless values
 * must be released on the way.
 */
void dfg_program_thread_jumps(const struct program_builder *builder)
{
	const struct program *program = builder->program;
	for (uint32_t o = program->count; o--;) {
		struct instruction *instruction = &program->code[o];
		while (instruction->kind == INSTR_BRANCH && instruction->to < program->count) {
			const struct instruction *next = &program->code[instruction->to];
			if (next->kind != INSTR_BRANCH || next->predicate != instruction->predicate)
				break;
			bool passes = next->side != instruction->side;
			if (passes ? builder->schedule->predicate[instruction->predicate].n_out != 2 : next->n_release > 0)
				break;
			instruction->to = passes ? instruction->to + 1 : next->to;
			if (passes)
				break;
		}
	}
}

struct dfg_err *dfg_program_weigh_branches(const struct program_builder *builder)
{
	const struct program *program = builder->program;
	int64_t *before = dfg_arena_zeros(builder->scratch, (size_t)program->count + 1, sizeof *before);
	if (!before)
		return dfg_no_memory("the program of the step");
	for (uint32_t o = 0; o < program->count; o++)
		before[o + 1] =
			before[o] + (program->code[o].kind == INSTR_GROUP ? (int64_t)program->code[o].group->members - 1 : 0);
	for (uint32_t o = 0; o < program->count; o++)
		if (program->code[o].kind == INSTR_BRANCH)
			program->code[o].n = before[program->code[o].to] - before[o];
	return NULL;
}
