#pragma once

#include "app/variables.h"

/* Remembers a source and the names of its arrays, in the model's arena. */
DFG_MUST_CHECK struct dfg_err *dfg_loaded_add(
	struct dfg_model *model, const char *from, const struct dfg_arrays *arrays);

/*
 * Checks variables that a step reads and that are unset after the sources were loaded (`missing`, by variable):
 * DFG_DATA, naming the variables and the arrays with the nearest names. With --partial, and for slots of an optimizer,
 * reports a note instead, and the caller initialises them. Another note lists the variables that the sources
 * lack and the step does not read. Each variable is named once, except by an error. Does nothing without sources.
 */
DFG_MUST_CHECK struct dfg_err *dfg_loaded_check(
	struct dfg_model *model, const struct dfg_variables *variables, const bool *missing);
