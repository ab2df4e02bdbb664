#pragma once

#include "lib/lang/naming_private.h"

/* Building nodes in the present region. */

/* A list of nodes by number. A zeroed struct is empty; .node is released with dfg_free(). */
struct dfg_nodes {
	uint32_t *node;
	size_t n, capacity;
};

DFG_MUST_CHECK struct dfg_err *dfg_nodes_add(struct dfg_nodes *nodes, uint32_t node);

/*
 * Builds a node in the present region: its inputs are brought into the region, and it runs only when the region does.
 * Without a name it is named by the scope and its op. DFG_DATA: the op refuses the inputs or attributes.
 */
DFG_MUST_CHECK struct dfg_err *dfg_eval_build(
	struct dfg_eval *eval, const struct dfg_new_node *node, enum dfg_naming_kind kind, uint32_t *out_node);

/* The same with the inputs as given: for nodes at the border of a region, which the caller records itself. */
DFG_MUST_CHECK struct dfg_err *dfg_eval_build_as_is(
	struct dfg_eval *eval, const struct dfg_new_node *node, enum dfg_naming_kind kind, uint32_t *out_node);

/* Builds a node without attributes and gives its output 0. out_edge may be an element of `in`. */
DFG_MUST_CHECK struct dfg_err *dfg_eval_node(
	struct dfg_eval *eval, const char *op, const struct dfg_edge *in, uint32_t n_in, struct dfg_edge *out_edge);

/* A Const of the value, whose elements are copied. In a loop or branch: one of the root, shared by equal values. */
DFG_MUST_CHECK struct dfg_err *dfg_eval_const(
	struct dfg_eval *eval, const struct dfg_tensor *value, struct dfg_edge *out_edge);

/* The inferred dtype and shape of an output; valid as long as the graph. */
const struct dfg_inferred *dfg_eval_fact(const struct dfg_eval *eval, struct dfg_edge edge);

/* Replaces the inferred shape. To be called before any node reads the tensor. */
DFG_MUST_CHECK struct dfg_err *dfg_eval_learn(
	struct dfg_eval *eval, struct dfg_edge edge, const struct dfg_shape *shape);
