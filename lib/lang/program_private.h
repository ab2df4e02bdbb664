#pragma once

#include "lib/lang/eval_private.h"

/* The state of the evaluation of a whole program. */
struct dfg_program {
	struct dfg_name_scope *bindings; /* the scope of its text */
	bool asks_training;              /* the text reads `training`, so its outputs are marked with the value */
	uint32_t inputs, outputs;        /* declared so far */
	bool *defined;                   /* by definition of options->define: a const took its value */
	struct dfg_import {
		const char *path;
		struct dfg_name_scope *bindings; /* NULL while the file is being read */
		struct dfg_import *older;
	} * imports;                         /* the newest */
	struct dfg_imported_graph *graphs;   /* the newest */
	struct dfg_name_counter graph_names; /* of imported graphs and their applications */
};

/* Reads the imported file, unless it was imported already, and gives its scope. DFG_DATA: it imports itself. */
DFG_MUST_CHECK struct dfg_err *dfg_load_module(
	struct dfg_eval *eval, const char *path, struct dfg_name_scope **out_bindings);
