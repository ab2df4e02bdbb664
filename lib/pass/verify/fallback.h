#pragma once

#include "lib/graph/facts.h"
#include "lib/graph/loops.h"
#include "lib/pass/verify/bdd.h"

/*
 * The fallback of a Merge of two integer tensors is an input that depends on constants alone and is live in more cases than
 * the other input, which is taken where both are live. TensorFlow's gradients merge indices so: those of a gather, which
 * are constants, and those of the zeros that the other branch gives. TensorFlow itself takes the input that arrives first.
 *
 * The executor reads the fallback's number from the attribute "_dfg_fallback", because a part of a partitioned graph does
 * not show when its inputs are live.
 */
struct dfg_fallbacks {
	const struct dfg_graph *graph;
	const struct dfg_facts *facts;
	struct dfg_graph *marked; /* the same graph, whose Merges get the attribute; or NULL */
	bool *constant; /* by node: it depends on constants and on Merges with a fallback alone; zeroed at first */
};

/* Nodes are visited in topological order. DFG_DATA: the node has the attribute, but is not such a Merge. */
DFG_MUST_CHECK struct dfg_err *dfg_fallback_visit(struct dfg_fallbacks *fallbacks, uint32_t node);

/*
 * A Merge whose inputs are known to be equal may take either: its fallback is the one that the attribute names, or input 0.
 * A part of a graph does not show that they are equal.
 */
DFG_MUST_CHECK struct dfg_err *dfg_fallback_of_equal(struct dfg_fallbacks *fallbacks, uint32_t merge);

/*
 * The fallback of a Merge with two inputs that can both be live, each under its condition in `live`; DFG_NONE if it has
 * none. DFG_DATA: the attribute names the other input.
 */
DFG_MUST_CHECK struct dfg_err *dfg_fallback_find(struct dfg_fallbacks *fallbacks, struct dfg_bdd *logic, uint32_t merge,
	const uint32_t live[2], uint32_t *out_input);
