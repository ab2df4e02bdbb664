#pragma once

#include "app/feeds.h"
#include "app/model.h"
#include "formats/array.h"

/* The variables of a model in the order of the graph. Their values are in the session. */
struct dfg_variables {
	const char **name; /* names of their nodes */
	struct dfg_variable_ref *ref;
	struct dfg_variable_fact *fact; /* dtype, shape and state as last reported by the session */
	uint32_t count;
};

/* Lists all variables of the graph, allocated from the model's arena. */
DFG_MUST_CHECK struct dfg_err *dfg_variables_list(struct dfg_model *model, struct dfg_variables *out_variables);

/*
 * The values of all variables that are set, under the names of their nodes; references if the session is local. An
 * error names the purpose of the reading.
 */
DFG_MUST_CHECK struct dfg_err *dfg_variables_values(const struct dfg_model *model,
	const struct dfg_variables *variables, const char *purpose, struct dfg_arrays *out_arrays);

/*
 * Sets the variables from arrays of the same name, or of the name that `map` ("OLD=NEW", patterns) gives them. All are
 * checked before the first is set. DFG_DATA if no array is for a variable. `from` names the source; the model remembers
 * the names of its arrays (app/loaded.h).
 */
DFG_MUST_CHECK struct dfg_err *dfg_variables_load(
	struct dfg_model *model, const struct dfg_arrays *arrays, const char *from, const char *const *map, size_t n_map);

/*
 * All variables of the graph, and by variable whether the step reads it while it is unset. Allocated from the model's
 * arena. The step's own feeds count, not only `feeds`.
 */
DFG_MUST_CHECK struct dfg_err *dfg_variables_missing(struct dfg_model *model, const struct dfg_step *step,
	const struct dfg_feeds *feeds, struct dfg_variables *out_variables, bool **out_missing);

/*
 * Runs the initialiser (lib/graph/initialisers.h) of each unset variable that the step reaches, in dependency order, and
 * gives the constant lookup tables that it reads their entries, if exactly one node of the graph does that and the step
 * does not have it.
 * DFG_DATA if sources were loaded and lack a variable that the step reads (dfg_loaded_check).
 */
DFG_MUST_CHECK struct dfg_err *dfg_variables_init(
	struct dfg_model *model, const struct dfg_step *step, const struct dfg_feeds *feeds);

/*
 * If a variable of the step that dfg_variables_init() prepared has no initialiser, adds to the step's error that node
 * 'init' may be one.
 */
DFG_MUST_CHECK struct dfg_err *dfg_variables_hint(struct dfg_model *model, struct dfg_err *err);
