#pragma once

#include "cmd/model.h"
#include "formats/array.h"

/* The variables of a model, in the order of the graph. The session keeps them. */
struct dfg_variables {
	const char **name; /* of their nodes */
	struct dfg_variable_place *place;
	struct dfg_variable_fact *fact; /* as the session said last */
	uint32_t count;
};

/* All of the graph, room from the model's arena. */
DFG_MUST_CHECK struct dfg_err *dfg_variables_list(struct dfg_model *model, struct dfg_variables *out_variables);

/* The values of all that are set by now, under their nodes' names; references where the session is of this process. */
DFG_MUST_CHECK struct dfg_err *dfg_variables_values(
	const struct dfg_model *model, const struct dfg_variables *variables, struct dfg_arrays *out_arrays);

/*
 * Sets the variables from arrays of the same name, or of the name that `map` ("OLD=NEW", patterns) makes of theirs. All
 * are checked before the first is set. DFG_DATA where the arrays are for none of them. `from` names the source; the model
 * remembers what it had (cmd/loaded.h).
 */
DFG_MUST_CHECK struct dfg_err *dfg_variables_load(
	struct dfg_model *model, const struct dfg_arrays *arrays, const char *from, const char *const *map, size_t n_map);

/* What every step is given beside its batch. */
struct dfg_feeds {
	struct dfg_edge *edge;
	struct dfg_tensor *value;
	uint32_t count, room;
};

/*
 * All variables of the graph, and, by their number, whether the step reads one that is not set. Room from the model's
 * arena. The step's own feeds count, not only `feeds`.
 */
DFG_MUST_CHECK struct dfg_err *dfg_variables_missing(struct dfg_model *model, const struct dfg_step *step,
	const struct dfg_feeds *feeds, struct dfg_variables *out_variables, bool **out_missing);

/*
 * Runs the initialiser (lib/graph/initialisers.h) of each variable that the step reaches and that is not set,
 * those that others need first. DFG_DATA where sources were loaded and lack a variable that the step reads
 * (dfg_loaded_check).
 */
DFG_MUST_CHECK struct dfg_err *dfg_variables_init(
	struct dfg_model *model, const struct dfg_step *step, const struct dfg_feeds *feeds);

/* Adds to an error of the step that dfg_variables_init() was for, where a variable has no initialiser, that node 'init' may be one. */
DFG_MUST_CHECK struct dfg_err *dfg_variables_hint(struct dfg_model *model, struct dfg_err *err);
