#include "lib/exec/linear/linear.h"

#include "lib/exec/linear/activation_private.h"
#include "lib/exec/linear/group_private.h"

/* Counts what the instructions of a program cost, for dfg_session_profile(). */

/* The bytes of the values that an instruction reads and writes; a new reference to a value moves none. */
static uint64_t bytes_of(const struct activation *activation, const struct instruction *instruction)
{
	uint64_t bytes = 0;
	if (instruction->kind == INSTR_VIEW || instruction->kind == INSTR_ALIAS || instruction->kind == INSTR_RETAIN)
		return 0;
	for (uint32_t i = 0; i < (uint32_t)instruction->n_in + instruction->n_out; i++)
		bytes += dfg_tensor_bytes(activation->at[instruction->first + i]);
	return bytes;
}

void dfg_count(struct activation *activation, const struct instruction *instruction, uint64_t ticks, double operations)
{
	struct profile_counter *counter = &activation->counter[instruction - activation->program->code];
	counter->calls++;
	counter->ticks += ticks;
	counter->operations += operations;
	if (instruction->node)
		counter->bytes += bytes_of(activation, instruction);
	activation->counted += ticks;
}

static void put_group(const struct profile_sink *sink, const struct group *group, const struct profile_counter *counter)
{
	const char *node[MEMBERS_MOST], *op[MEMBERS_MOST];
	for (uint32_t i = 0; i < group->members; i++) {
		node[i] = group->member[i]->call->node;
		op[i] = group->member[i]->call->op->name;
	}
	dfg_profile_put(sink, node, op, group->members, counter);
}

static void put_instruction(const struct profile_sink *sink, const struct activation *activation, uint32_t i)
{
	const struct instruction *instruction = &activation->program->code[i];
	const struct profile_counter *counter = &activation->counter[i];
	if (instruction->kind == INSTR_GROUP) {
		put_group(sink, instruction->group, counter);
	} else if (instruction->node) {
		dfg_profile_put(sink, &instruction->node->call->node, &instruction->node->call->op->name, 1, counter);
	} else if (instruction->kind == INSTR_LOOP_ENTER || instruction->kind == INSTR_LOOP_BACK) {
		uint32_t loop = instruction->kind == INSTR_LOOP_ENTER ? instruction->predicate : instruction->loop;
		const char *const path = activation->plan->frame_info->loop[loop].path;
		dfg_profile_put(sink, &path, NULL, 1, counter);
	}
}

void dfg_linear_profile(const struct dfg_plan *plan, const struct profile_sink *sink)
{
	for (const struct program *program = plan->programs; program; program = program->next)
		for (const struct activation *activation = program->idle; activation; activation = activation->next)
			for (uint32_t i = 0; i < program->count; i++)
				put_instruction(sink, activation, i);
}
