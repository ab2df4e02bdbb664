#pragma once

#include "lib/graph/graph.h"

/* Nodes that become other ops under their names, for rewrites. */

/* A Const of the value, which is copied to the graph's arena. Marks and control inputs stay, data inputs do not. */
DFG_MUST_CHECK struct dfg_err *dfg_become_constant(
	struct dfg_graph *graph, uint32_t node, const struct dfg_tensor *value);

/* Another op, with these attributes, which are copied and sorted by name, and the node's other marks. Inputs stay. */
DFG_MUST_CHECK struct dfg_err *dfg_become_op(
	struct dfg_graph *graph, uint32_t node, const char *op, const struct dfg_attr *attr, uint32_t n_attr);

/* A literal with a copy of the value's elements, in the graph's arena. */
DFG_MUST_CHECK struct dfg_err *dfg_literal_of_tensor(
	struct dfg_graph *graph, const struct dfg_tensor *value, const struct dfg_literal **out_literal);

/* The literal of a Const, or NULL. */
const struct dfg_literal *dfg_constant_literal(const struct dfg_node *node);
