#pragma once

#include "lib/pass/grad/grad.h"
#include "lib/pass/grad/make_ops.h"
#include "lib/pass/grad/gradient_frames.h"
#include "lib/pass/grad/cotangent.h"
#include "lib/pass/grad/memo.h"

/*
 * State of backpropagation: the pass visits the forward nodes in reverse topological order and distributes cotangents.
 * The cotangents of a tensor are collected in `sum`; in a graph with control flow in `arrived` instead, with the
 * conditions under which they are live.
 */
struct dfg_backprop {
	struct dfg_builder *builder;
	const char *prefix;
	struct dfg_remat remat;
	struct dfg_arena scratch, brief;
	uint32_t *order; /* topological; NULL: the file's order */
	uint32_t count;  /* number of nodes when the pass began */
	uint32_t tensors;
	bool *is_wrt;                   /* by tensor */
	bool *depends;                  /* by node: whether it depends on wrt through differentiable edges */
	struct dfg_cotangent_sum **sum; /* by tensor */
	struct dfg_gradient_memos memos;
	bool crowded;                       /* the graph already has names that begin with the prefix */
	bool *begun;                        /* by node: visited, so nodes may have been made in its scope */
	const char *source;                 /* dfg_gradient_source; NULL before the first call */
	struct dfg_control_gradient *paths; /* NULL: the graph has no control flow */
};

struct dfg_scope {
	char s[DFG_SCOPE_MOST + 100];
};

struct dfg_arrival {
	struct dfg_cotangent cotangent;
	uint32_t set; /* liveness set of the forward location */
	struct dfg_arrival *next;
};

/* State of backpropagation for loops and branches. */
struct dfg_control_gradient {
	struct dfg_gradient_frames frames;
	struct dfg_arrival **arrived; /* by tensor */
	struct dfg_adjoint {
		struct dfg_edge store;
		struct dfg_adjoint *next;
	} * *adjoint;                    /* by Save: the stores of the cotangents of its Loads */
	struct dfg_gradient_loop **open; /* by loop, while it is being differentiated */
	uint32_t *exit, *next_exit;      /* by loop: its first Exit; by Exit: the next Exit of its loop */
	uint32_t at;                     /* the current loop */
	struct dfg_scope scope;          /* of the current node */
};

struct dfg_scope dfg_backprop_scope(const struct dfg_backprop *s, uint32_t node);

static inline uint32_t dfg_backprop_tensor(const struct dfg_backprop *s, struct dfg_edge edge)
{
	return s->builder->facts.first[edge.node] + (uint32_t)edge.port;
}

/* Whether a cotangent of the tensor is used. */
bool dfg_backprop_wants(const struct dfg_backprop *s, struct dfg_edge edge);

/* Marks all nodes that `of` is computed from. */
DFG_MUST_CHECK struct dfg_err *dfg_backprop_makers(
	struct dfg_backprop *s, const struct dfg_edge *of, uint32_t n_of, const bool **out_makes);

/*
 * Recomputes after a loop the outputs of its condition that are on the path from wrt to `of`, where this is safe:
 * lib/pass/grad/recomputed_exits.c. The readers of those Exits, and `of`, are redirected.
 */
DFG_MUST_CHECK struct dfg_err *dfg_recompute_exits(
	struct dfg_backprop *s, struct dfg_edge *of, uint32_t n_of, const struct dfg_edge *wrt, uint32_t n_wrt);

/* control flow: lib/pass/grad/control_flow.c */

/* Whether the graph has control flow. */
bool dfg_has_control_flow(const struct dfg_graph *graph);

/* Finds loops and branches, and changes s->order so that the nodes of each loop are contiguous. */
DFG_MUST_CHECK struct dfg_err *dfg_control_gradient_new(struct dfg_backprop *s);
void dfg_control_gradient_free(struct dfg_backprop *s);

/* Sets the region: the loop that contains all of `of` and wrt, which must be in the same iteration. */
DFG_MUST_CHECK struct dfg_err *dfg_control_gradient_region(
	struct dfg_backprop *s, const struct dfg_edge *of, uint32_t n_of, const struct dfg_edge *wrt, uint32_t n_wrt);

/* Marks in s->depends the nodes that depend on wrt and that `of` depends on. */
DFG_MUST_CHECK struct dfg_err *dfg_control_gradient_find_dependents(
	struct dfg_backprop *s, const struct dfg_edge *of, uint32_t n_of);

/* Adds a cotangent of the tensor, made at the location of the current node's gradient. */
DFG_MUST_CHECK struct dfg_err *dfg_control_gradient_add(
	struct dfg_backprop *s, struct dfg_edge edge, const struct dfg_cotangent *cotangent);

/* The sum of the tensor's cotangents, live exactly where the tensor is. */
DFG_MUST_CHECK struct dfg_err *dfg_control_gradient_total(
	struct dfg_backprop *s, struct dfg_edge edge, struct dfg_cotangent *out_cotangent);

/* Makes new nodes at the location of the tensor's gradient. */
DFG_MUST_CHECK struct dfg_err *dfg_control_gradient_locate(struct dfg_backprop *s, struct dfg_edge edge);

/* Called before each node of the order: enters and leaves gradient loops. */
DFG_MUST_CHECK struct dfg_err *dfg_control_gradient_go(struct dfg_backprop *s, uint32_t node);

/* Differentiates a control-flow node. *out_done: the caller has nothing left to do for it. */
DFG_MUST_CHECK struct dfg_err *dfg_control_gradient_visit(struct dfg_backprop *s, uint32_t node, bool *out_done);

/*
 * Makes new nodes at the location of the result for wrt. Rows become dense there unless the location does not matter.
 */
DFG_MUST_CHECK struct dfg_err *dfg_control_gradient_result(
	struct dfg_backprop *s, struct dfg_edge wrt, struct dfg_cotangent *cotangent);

/* Called after the last node: leaves all loops. */
DFG_MUST_CHECK struct dfg_err *dfg_control_gradient_leave(struct dfg_backprop *s);

/* Gradient loops: lib/pass/grad/loop.c */
DFG_MUST_CHECK struct dfg_err *dfg_gradient_loop_enter(struct dfg_backprop *s, uint32_t loop);
DFG_MUST_CHECK struct dfg_err *dfg_gradient_loop_leave(struct dfg_backprop *s, uint32_t loop);

/* Sum over branches (lib/pass/grad/accumulate.c): all cotangents of a tensor with their conditions. */
DFG_MUST_CHECK struct dfg_err *dfg_arrival_total(
	struct dfg_backprop *s, struct dfg_edge like, struct dfg_arrival **list, struct dfg_cotangent *out_cotangent);
