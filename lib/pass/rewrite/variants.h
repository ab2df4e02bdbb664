#pragma once

#include "lib/pass/rewrite/keep.h"

/*
 * A program that tests `training` has two variants: for inference, where it is false, and for training. A graph of it carries
 * both. What is equal in them, such as inputs and variables, is there once; other nodes bear the mark `_dfg_variant`, an int: 1
 * for training. One variant is in use: its nodes have the names of the program, its outputs and updates their marks. A node of
 * the other one whose name is taken is named training/NAME or inference/NAME, and its marks begin with `_dfg_idle_`.
 */

/* Names of a variant's nodes begin with this while it is not in use and the names of the program are taken. */
const char *dfg_variant_prefix(bool training);

/* Whether the graph carries both variants. */
bool dfg_variants_are_two(const struct dfg_graph *graph);

/*
 * Adds the variant for training to a graph of the other one, of which it has the arena. *out_obstacle: a variable whose type or
 * initialiser depends on `training`, so that nothing was added; NULL: none.
 */
DFG_MUST_CHECK struct dfg_err *dfg_variants_join(
	struct dfg_graph *graph, const struct dfg_graph *training, struct dfg_arena *scratch, const char **out_obstacle);

/* Puts the variant for training, or the one for inference, to use. A graph without variants stays as it is. */
DFG_MUST_CHECK struct dfg_err *dfg_variants_use(struct dfg_graph *graph, bool training, struct dfg_arena *scratch);

/*
 * The node that has this one's place where `training` is false: itself, unless it is of the variant for training.
 * *out_missing: it is, and no node for inference has its name. O(1).
 */
uint32_t dfg_variants_inference(const struct dfg_graph *graph, uint32_t node, bool *out_missing);

/* Whether the node is for inference, and one for training has its place. O(1). */
bool dfg_variants_has_training(const struct dfg_graph *graph, uint32_t node);

/*
 * Adds to `keep` what the other variant needs to be used later: the counterparts of its fetches and, if `updates`, the
 * updates of both. The arrays are replaced by others in the arena.
 */
DFG_MUST_CHECK struct dfg_err *dfg_variants_keep(
	const struct dfg_graph *graph, bool updates, struct dfg_arena *arena, struct dfg_keep *keep);
