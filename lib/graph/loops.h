#pragma once

#include "lib/graph/graph.h"

/*
 * The loops of a graph, recovered from the five primitives. Loop 0 is the root, which is not a loop; a loop's number is
 * larger than its parent's. The result for a malformed graph is unspecified but safe: dfg_verify refuses such graphs.
 */
struct dfg_loop_variable {
	uint32_t enter, merge; /* each is DFG_NONE if there is no such node */
	uint32_t switch_node;  /* the Switch to the body (output 1) or out of the loop (output 0) */
	uint32_t next, exit;   /* NextIteration; the first Exit */
};

struct dfg_loop {
	struct dfg_string name; /* frame_name */
	uint32_t parent, depth; /* the root has depth 0 */
	uint32_t enter;         /* the first of its Enters */
	uint32_t condition;     /* LoopCond, the first; or DFG_NONE */
	int64_t window;         /* parallel_iterations */
	struct dfg_loop_variable *variable;
	uint32_t n_variable;
	uint32_t *invariant; /* the constant Enters */
	uint32_t n_invariant;
};

struct dfg_loops {
	struct dfg_loop *loop;
	uint32_t count;     /* including the root */
	uint32_t *of;       /* by node: the loop that its outputs are in; outside for an Exit, inside for an Enter */
	uint32_t *variable; /* by node: number of the loop variable of a Merge in its loop; else DFG_NONE */
};

/* order may be NULL: the file's. Everything is allocated from the arena. */
DFG_MUST_CHECK struct dfg_err *dfg_loops_find(
	const struct dfg_graph *graph, const uint32_t *order, struct dfg_arena *arena, struct dfg_loops *out_loops);

/*
 * The source of an Exit, through Identities that TensorFlow adds to gate gradients; the output of a Switch in a valid
 * graph.
 */
struct dfg_edge dfg_exit_source(const struct dfg_graph *graph, const struct dfg_node *exit);

/* The loop that a node belongs to: an Exit belongs to the loop that it leaves. */
uint32_t dfg_loop_home(const struct dfg_graph *graph, const struct dfg_loops *loops, uint32_t node);

/* Whether loop `inner` is loop `outer` or nested in it. */
bool dfg_loop_within(const struct dfg_loops *loops, uint32_t inner, uint32_t outer);

static inline enum dfg_role dfg_node_role(const struct dfg_node *node)
{
	return node->op ? node->op->role : DFG_PLAIN;
}

static inline bool dfg_node_means(const struct dfg_node *node, enum dfg_meaning meaning)
{
	return node->op && node->op->means == meaning;
}

/* Whether the node is an Enter of an invariant, which is live in every iteration. */
bool dfg_is_constant_enter(const struct dfg_node *node);

/* An edge into a Merge that closes a loop: the only kind that may close a cycle. */
static inline bool dfg_edge_closes(const struct dfg_graph *graph, const struct dfg_node *node, struct dfg_edge edge)
{
	return dfg_node_role(node) == DFG_MERGE && dfg_node_role(&graph->node[edge.node]) == DFG_NEXT_ITERATION;
}

/*
 * Whether input e delivers a token of the node's frame. Input 0 of a Load does not: its Save may be in another frame.
 */
static inline bool dfg_edge_brings(const struct dfg_node *node, uint32_t e)
{
	return e || dfg_node_role(node) != DFG_LOAD;
}

/*
 * A topological order in which the nodes of each loop are contiguous, including its Enters and Exits. DFG_DATA if there
 * is none, because a loop depends on its own result.
 */
DFG_MUST_CHECK struct dfg_err *dfg_loops_order(
	const struct dfg_graph *graph, const struct dfg_loops *loops, struct dfg_arena *scratch, uint32_t *out_order);
