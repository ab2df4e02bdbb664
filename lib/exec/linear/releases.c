#include "lib/exec/linear/builder_private.h"

/* Plans the releases of reference-counted values. */

/*
 * A slot that holds a reference of its own is released by the last instruction that reads it, and by the branches that
 * jump over that instruction. A value that a loop's body computes is released in each iteration; one that the loop only
 * reads, at the loop's end.
 */
struct releasing {
	struct program_builder *builder;
	uint32_t *around; /* by instruction: the innermost branch that may jump over it, or DFG_NONE */
	uint32_t *next;   /* by instruction: the next index in program->release */
	uint32_t *maker;  /* by slot: the instruction whose kernel computes it, or DFG_NONE */
	bool fill;
};

static void release_at(struct releasing *of, uint32_t o, uint32_t slot)
{
	struct program *program = of->builder->program;
	if (of->fill)
		program->release[of->next[o]++] = slot;
	else
		program->code[o].n_release++;
}

static bool is_recomputed(const struct program_builder *builder, uint32_t slot, const struct instruction *instruction)
{
	return instruction->kind == INSTR_LOOP_BACK && builder->plan->frame_info->slot_loop[slot] == instruction->loop &&
		   !builder->carried[slot];
}

/*
 * A kernel writes into the buffer that its output slot has. If that value is read after the loop, through a loop
 * variable, the slot must be released before the next iteration.
 */
static void release_in_loop(struct releasing *of, uint32_t slot, uint32_t last)
{
	struct program_builder *builder = of->builder;
	const struct instruction *maker = of->maker[slot] == DFG_NONE ? NULL : &builder->program->code[of->maker[slot]];
	if (!maker || !maker->loop || last <= builder->back[maker->loop])
		return;
	release_at(of, builder->back[maker->loop], slot);
	if (!of->fill)
		builder->program->code[builder->back[maker->loop]].n_renewed++;
}

static void release_slot(struct releasing *of, uint32_t slot, bool renewed)
{
	struct program_builder *builder = of->builder;
	uint32_t group = dfg_alias_class(builder, slot), last = builder->last[group];
	if (renewed)
		release_in_loop(of, slot, last);
	if (last >= builder->program->count || is_recomputed(builder, slot, &builder->program->code[last]) != renewed)
		return;
	release_at(of, last, slot);
	if (!of->fill)
		builder->program->code[last].n_renewed += renewed;
	for (uint32_t o = of->around[last]; o != DFG_NONE && builder->first[group] < o; o = of->around[o])
		release_at(of, o, slot);
}

static void release_slots(struct releasing *of)
{
	const struct program *program = of->builder->program;
	for (int renewed = 1; renewed >= 0; renewed--)
		for (uint32_t i = 0; i < program->n_counted; i++)
			release_slot(of, program->counted[i], renewed);
}

static void find_enclosing_branches(struct releasing *of)
{
	const struct program *program = of->builder->program;
	uint32_t inner = DFG_NONE;
	for (uint32_t o = 0; o < program->count; o++) {
		while (inner != DFG_NONE && program->code[inner].to <= o)
			inner = of->around[inner];
		of->around[o] = inner;
		if (program->code[o].kind == INSTR_BRANCH)
			inner = o;
	}
}

static void find_makers(struct releasing *of)
{
	const struct program *program = of->builder->program;
	for (uint32_t s = 0; s < of->builder->plan->slots; s++)
		of->maker[s] = DFG_NONE;
	for (uint32_t o = 0; o < program->count; o++)
		for (uint32_t i = 0; (program->code[o].kind == INSTR_KERNEL || program->code[o].kind == INSTR_GROUP) &&
							 i < program->code[o].n_out;
			 i++)
			of->maker[program->use[program->code[o].first + program->code[o].n_in + i]] = o;
}

/* Sorts the slots that are kept until the end of the step first. */
static void sort_counted(struct program_builder *builder)
{
	struct program *program = builder->program;
	for (uint32_t i = 0; i < program->n_counted; i++)
		if (builder->last[dfg_alias_class(builder, program->counted[i])] >= program->count) {
			uint32_t slot = program->counted[i];
			program->counted[i] = program->counted[program->n_final];
			program->counted[program->n_final++] = slot;
		}
}

/* The interpreter runs the most frequent instructions without a look at their releases; the general forms have them. */
static void use_general_form(struct instruction *instruction)
{
	if (!instruction->n_release)
		return;
	if (instruction->kind == INSTR_ROW)
		instruction->kind = INSTR_ROW_INDIRECT;
	else if (instruction->kind == INSTR_COPY)
		instruction->kind = INSTR_COPY_IN;
	else if (instruction->kind == INSTR_TEST)
		instruction->kind = INSTR_SWITCH;
}

struct dfg_err *dfg_program_plan_releases(struct program_builder *builder)
{
	struct program *program = builder->program;
	struct releasing of = {.builder = builder};
	uint32_t total = 0;
	of.around = dfg_arena_zeros(builder->scratch, program->count, sizeof *of.around);
	of.next = dfg_arena_zeros(builder->scratch, program->count, sizeof *of.next);
	of.maker = dfg_arena_zeros(builder->scratch, builder->plan->slots, sizeof *of.maker);
	if (!of.around || !of.next || !of.maker)
		return dfg_no_memory("the memory plan of the step");
	find_enclosing_branches(&of);
	find_makers(&of);
	release_slots(&of);
	for (uint32_t o = 0; o < program->count; o++) {
		program->code[o].first_release = of.next[o] = total;
		total += program->code[o].n_release;
		use_general_form(&program->code[o]);
	}
	if (!(program->release = dfg_arena_zeros(&program->arena, total, sizeof *program->release)))
		return dfg_no_memory("the memory plan of the step");
	of.fill = true;
	release_slots(&of);
	sort_counted(builder);
	return NULL;
}
