#pragma once

#include "cmd/variables.h"

/* Remembers a source and the names of its arrays, in the model's arena. */
DFG_MUST_CHECK struct dfg_err *dfg_loaded_add(
	struct dfg_model *model, const char *from, const struct dfg_arrays *arrays);

/*
 * What a step reads and nothing has set, by number in `missing`, after sources were loaded: DFG_DATA, naming the variables
 * and the arrays of the nearest names. With --partial, and for what an optimizer keeps beside the variables it trains, it
 * is a line on stderr, and the caller initialises them. Without sources nothing is missing. Another line names what they
 * lack and the step does not read. No variable is named twice, but by an error.
 */
DFG_MUST_CHECK struct dfg_err *dfg_loaded_check(
	struct dfg_model *model, const struct dfg_variables *variables, const bool *missing);
