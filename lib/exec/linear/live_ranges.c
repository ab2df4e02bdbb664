#include "lib/exec/linear/builder_private.h"

/* Live ranges: the instructions during which the memory of a value is in use. */

/* Whether the instruction keeps a reference to its input i. */
static bool keeps_reference(const struct program_builder *builder, const struct instruction *instruction, int i)
{
	if (instruction->kind == INSTR_SAVE)
		return !i && !builder->program->saved[instruction->predicate];
	return i && instruction->node && instruction->node->role == DFG_ASSIGN;
}

/* A value that leaves the step must have a counted buffer. A loop variable is copied out instead. */
struct dfg_err *dfg_program_find_escapes(struct program_builder *builder)
{
	const struct dfg_plan *plan = builder->plan;
	struct program *program = builder->program;
	bool *escapes = dfg_arena_zeros(builder->scratch, plan->slots, sizeof *escapes);
	if (!escapes)
		return dfg_no_memory("the memory plan of the step");
	for (uint32_t i = 0; i < plan->step.n_fetch; i++) {
		program->fetch[i] = builder->forward[plan->fetch[i]];
		if (builder->storage[program->fetch[i]] != DFG_NONE)
			escapes[builder->storage[program->fetch[i]]] = true;
	}
	for (uint32_t o = 0; o < program->count; o++)
		for (int i = 0; i < program->code[o].n_in; i++) {
			uint32_t store = builder->storage[program->use[program->code[o].first + (uint32_t)i]];
			if (store != DFG_NONE && keeps_reference(builder, &program->code[o], i))
				escapes[store] = true;
		}
	for (uint32_t s = 0; s < plan->slots; s++)
		if (builder->storage[s] != DFG_NONE && escapes[builder->storage[s]] && !builder->carried[builder->storage[s]])
			builder->storage[s] = DFG_NONE;
	for (uint32_t o = 0; o < program->count; o++)
		if (program->code[o].kind == INSTR_COPY_IN &&
			builder->storage[program->use[program->code[o].first + 1]] == DFG_NONE)
			program->code[o].kind = INSTR_RETAIN;
	return NULL;
}

/* Whether loop `inner` is `outer` or nested in it. */
static bool is_within(const struct program_builder *builder, uint32_t inner, uint32_t outer)
{
	while (inner && inner != outer)
		inner = builder->plan->frame_info->loop[inner].parent;
	return inner == outer;
}

/*
 * The instruction until which a value that instruction o reads is live: a value computed outside a loop is live until
 * the loop's end, and so is the memory in which a view computed in the loop lies.
 */
static uint32_t live_until(const struct program_builder *builder, uint32_t slot, uint32_t o)
{
	const struct frame_info *frame_info = builder->plan->frame_info;
	if (!frame_info || builder->schedule->loops == 1)
		return o;
	slot = builder->storage[slot] == DFG_NONE ? slot : dfg_storage_root(builder, slot);
	for (uint32_t loop = builder->program->code[o].loop; !is_within(builder, frame_info->slot_loop[slot], loop);
		 loop = frame_info->loop[loop].parent)
		o = builder->back[loop];
	return o;
}

void dfg_program_find_live_ranges(struct program_builder *builder)
{
	struct program *program = builder->program;
	for (uint32_t o = 0; o < program->count; o++) {
		const struct instruction *instruction = &program->code[o];
		for (uint32_t i = 0; i < (uint32_t)instruction->n_in + instruction->n_out; i++) {
			uint32_t slot = program->use[instruction->first + i], group = dfg_alias_class(builder, slot);
			uint32_t last = live_until(builder, slot, o);
			builder->first[group] = o < builder->first[group] ? o : builder->first[group];
			builder->last[group] = last > builder->last[group] ? last : builder->last[group];
			if (i >= instruction->n_in)
				builder->dominating[group] =
					dfg_condition_over(builder->schedule, builder->dominating[group], builder->condition[o]);
		}
	}
	for (uint32_t i = 0; i < builder->plan->step.n_fetch; i++)
		builder->last[dfg_alias_class(builder, program->fetch[i])] = DFG_NONE;
}
