#pragma once

#include "lib/base/rename.h"
#include "lib/base/text.h"
#include "lib/pass/rewrite/keep.h"

/*
 * Changes of a graph that a user asks for by name. Each requires that every edge names a node, and reports what it changed;
 * types are not checked, dfg_verify does that. DFG_DATA, naming the option, if a pattern or name matches nothing.
 */

/* Lets the readers of tensor OLD read tensor NEW, except nodes that NEW depends on. O(entries * edges). */
DFG_MUST_CHECK struct dfg_err *dfg_replace_tensors(struct dfg_graph *graph, const struct dfg_rename *replace,
	size_t count, struct dfg_arena *scratch, struct dfg_text *report);

/* Removes the nodes that match a pattern. DFG_DATA, naming each edge, if a node that stays reads one. */
DFG_MUST_CHECK struct dfg_err *dfg_remove_nodes(struct dfg_graph *graph, struct dfg_keep *keep,
	const char *const *pattern, size_t count, struct dfg_arena *scratch, struct dfg_text *report);

/* Renames nodes, also where others ask to be colocated with them. DFG_DATA if two nodes would have one name. */
DFG_MUST_CHECK struct dfg_err *dfg_rename_nodes(struct dfg_graph *graph, const struct dfg_rename *rename, size_t count,
	struct dfg_arena *scratch, struct dfg_text *report);

/* Gives node n the name name[n], which is in the graph's arena. */
DFG_MUST_CHECK struct dfg_err *dfg_set_names(
	struct dfg_graph *graph, const char *const *name, struct dfg_arena *scratch);

/*
 * Sets attributes: "PATTERN:ATTRIBUTE=VALUE", whose form follows from the op's declaration: true, 3, 0.5, words, f32, [2,?],
 * and lists of these as [1,2]. Without VALUE the attribute is removed.
 */
DFG_MUST_CHECK struct dfg_err *dfg_set_attributes(
	struct dfg_graph *graph, const char *const *word, size_t count, struct dfg_text *report);

/* Sets the requested devices of the nodes that match OLD to NEW, "" for none. */
DFG_MUST_CHECK struct dfg_err *dfg_set_devices(
	struct dfg_graph *graph, const struct dfg_rename *device, size_t count, struct dfg_text *report);

/*
 * Replaces names by numbers: of nodes, except inputs, variables and what is kept; of loops; and drops debug information. The
 * graph must have no functions.
 */
DFG_MUST_CHECK struct dfg_err *dfg_obfuscate(
	struct dfg_graph *graph, const struct dfg_keep *keep, struct dfg_arena *scratch, struct dfg_text *report);
