#pragma once

#include "lib/base/text.h"
#include "lib/graph/build.h"

/* Node numbers in ascending order. */
struct dfg_numbers {
	uint32_t *number;
	size_t count, capacity;
};
DFG_MUST_CHECK struct dfg_err *dfg_numbers_add(struct dfg_numbers *numbers, uint32_t number);
void dfg_numbers_release(struct dfg_numbers *numbers);

bool dfg_is_variable(const struct dfg_builder *builder, uint32_t node);

/*
 * The variables to train if the user names none: those marked `_dfg_trainable`. In a graph without such marks, made by
 * another program, they are guessed (*out_guessed): float variables that are assigned and are not a slot of another one
 * ("w/Adam" of "w").
 */
DFG_MUST_CHECK struct dfg_err *dfg_trainable(
	const struct dfg_builder *builder, struct dfg_numbers *out_variables, bool *out_guessed);

/* The readers of each variable's value: of a handle its read ops, of a ref the nodes that take its value. */
struct dfg_readers {
	uint32_t *first; /* by node: 1 + the entry */
	struct dfg_variable_reader {
		uint32_t node, next;
	} * reader;
};
DFG_MUST_CHECK struct dfg_err *dfg_readers_find(
	const struct dfg_builder *builder, struct dfg_arena *arena, struct dfg_readers *out_readers);

/* The value of a variable: an existing read, or a new one named VAR/read. */
DFG_MUST_CHECK struct dfg_err *dfg_variable_value(
	struct dfg_builder *builder, const struct dfg_readers *readers, uint32_t variable, struct dfg_edge *out_edge);
