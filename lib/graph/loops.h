#pragma once

#include "lib/graph/graph.h"

/*
 * The loops of a graph, recovered from the five primitives. Loop 0 is the root, which is no loop; a loop's number is
 * larger than its parent's. Of a malformed graph something is said, whatever it is: verify is what refuses.
 */
struct dfg_loop_variable {
	uint32_t enter, merge; /* DFG_NONE where there is no such node, as for the others */
	uint32_t turn;         /* the Switch that sends it into the body (1) or out (0) */
	uint32_t next, exit;   /* NextIteration; an Exit, the first if there are several */
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
	uint32_t count;     /* the root among them */
	uint32_t *of;       /* by node: the loop that its outputs are in; an Exit's is outside, an Enter's inside */
	uint32_t *variable; /* by node: number of the loop variable of a Merge in its loop; else DFG_NONE */
};

/* order may be NULL: the file's own. All room from the arena. */
DFG_MUST_CHECK struct dfg_err *dfg_loops_find(
	const struct dfg_graph *graph, const uint32_t *order, struct dfg_arena *arena, struct dfg_loops *out_loops);

/* What an Exit passes on, behind Identities, which TensorFlow puts there to gate gradients: a Switch's side, if all is well. */
struct dfg_edge dfg_exit_source(const struct dfg_graph *graph, const struct dfg_node *exit);

/* The loop that a node belongs to: an Exit belongs to the loop that it leaves. */
uint32_t dfg_loop_home(const struct dfg_graph *graph, const struct dfg_loops *loops, uint32_t node);

/* Whether loop `inner` is loop `outer` or stands in it. */
bool dfg_loop_within(const struct dfg_loops *loops, uint32_t inner, uint32_t outer);

static inline enum dfg_role dfg_node_role(const struct dfg_node *node)
{
	return node->op ? node->op->role : DFG_PLAIN;
}

/* An Enter of what does not vary: it comes in every iteration. */
bool dfg_is_constant_enter(const struct dfg_node *node);

/* An edge into a Merge that closes a loop: the only kind that may close a cycle. */
static inline bool dfg_edge_closes(const struct dfg_graph *graph, const struct dfg_node *node, struct dfg_edge edge)
{
	return dfg_node_role(node) == DFG_MERGE && dfg_node_role(&graph->node[edge.node]) == DFG_NEXT_ITERATION;
}

/* Input e of a node brings it a token. That of a Load's store does not: it may come from another frame. */
static inline bool dfg_edge_brings(const struct dfg_node *node, uint32_t e)
{
	return e || dfg_node_role(node) != DFG_LOAD;
}

/*
 * An order of all nodes, inputs first, in which the nodes of each loop stand together: the loop is done as a whole, its
 * Enters and Exits with it. DFG_DATA where there is none, because a loop waits for what it makes itself.
 */
DFG_MUST_CHECK struct dfg_err *dfg_loops_order(
	const struct dfg_graph *graph, const struct dfg_loops *loops, struct dfg_arena *scratch, uint32_t *out_order);
