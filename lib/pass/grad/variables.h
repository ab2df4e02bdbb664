#pragma once

#include "lib/base/text.h"
#include "lib/graph/build.h"

/* Node numbers, growing. */
struct dfg_numbers {
	uint32_t *number;
	size_t count, room;
};
DFG_MUST_CHECK struct dfg_err *dfg_numbers_add(struct dfg_numbers *numbers, uint32_t number);
void dfg_numbers_release(struct dfg_numbers *numbers);

bool dfg_is_variable(const struct dfg_builder *builder, uint32_t node);

/*
 * The variables to train where the user names none: those marked `_dfg_trainable`; in a graph without any mark, which no
 * program of ours wrote, a guess: float variables that something assigns and that are no slot of another ("w/Adam" of "w").
 */
DFG_MUST_CHECK struct dfg_err *dfg_trainable(
	const struct dfg_builder *builder, struct dfg_numbers *out_variables, bool *out_guessed);

/* Who reads the value of each variable: of a handle its read nodes, of a ref what takes its value. */
struct dfg_readers {
	uint32_t *first; /* by node: entry number + 1 */
	struct dfg_variable_reader {
		uint32_t node, next;
	} * reader;
};
DFG_MUST_CHECK struct dfg_err *dfg_readers_find(
	const struct dfg_builder *builder, struct dfg_arena *arena, struct dfg_readers *out_readers);

/* The value of a variable as an edge: an existing read, or a new one named VAR/read. */
DFG_MUST_CHECK struct dfg_err *dfg_variable_value(
	struct dfg_builder *builder, const struct dfg_readers *readers, uint32_t variable, struct dfg_edge *out_edge);
