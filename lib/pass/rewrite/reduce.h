#pragma once

#include "lib/graph/graph.h"

/*
 * Delta debugging: makes a graph smaller while a test still fails for it. Nodes are taken away in chunks that halve (a
 * reader gets a constant of zeros instead, where type and rank are known), then replaced by one of their inputs, then
 * stripped of attributes and control inputs; constants become zeros. A loop is taken away as a whole. If the graph is valid,
 * so is each graph that is tried.
 */
struct dfg_reduction {
	/* Whether the test fails for the graph. An error ends the reduction. */
	struct dfg_err *(*fails)(void *arg, const struct dfg_graph *trial, bool *out_fails);
	/* Whether to continue, asked between tests; nodes: the size of the smallest graph that was found. */
	bool (*goes_on)(void *arg, uint32_t nodes);
	void *arg;
};

/*
 * The test fails for the graph, which is borrowed. The result is in the arena of out_graph, and what it shares with the graph
 * must outlive it. *out_always: the test fails even for a graph of one NoOp, which is then the result.
 */
DFG_MUST_CHECK struct dfg_err *dfg_reduce(const struct dfg_graph *graph, const struct dfg_reduction *reduction,
	struct dfg_arena *arena, struct dfg_graph *out_graph, bool *out_always);
