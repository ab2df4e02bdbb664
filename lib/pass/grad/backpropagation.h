#pragma once

#include "lib/pass/grad/grad.h"
#include "lib/pass/grad/make_ops.h"
#include "lib/pass/grad/gradient_frames.h"
#include "lib/pass/grad/cotangent.h"
#include "lib/pass/grad/memo.h"

/*
 * The pass that walks over the forward nodes, last to first, and hands cotangents back. What came back to a tensor waits
 * in `sum`; in a graph with control flow in `arrived` instead, with the conditions under which it is live.
 */
struct dfg_backprop {
	struct dfg_builder *builder;
	const char *prefix;
	struct dfg_remat remat;
	struct dfg_arena scratch, brief;
	uint32_t *order; /* NULL: the file's */
	uint32_t count;  /* nodes there were when the pass began */
	uint32_t tensors;
	bool *is_wrt;                   /* by tensor */
	bool *depends;                  /* by node: on something of wrt, through what derivatives flow through */
	struct dfg_cotangent_sum **sum; /* by tensor */
	struct dfg_stamps stamps;
	bool crowded;                       /* names that begin with the prefix are there already */
	bool *begun;                        /* by node: the sweep began there, and may have made nodes in its scope */
	const char *source;                 /* dfg_gradient_source; NULL before the first */
	struct dfg_control_gradient *paths; /* NULL: the graph has no control flow */
};

struct dfg_scope {
	char s[DFG_SCOPE_MOST + 100];
};

struct dfg_arrival {
	struct dfg_cotangent cotangent;
	uint32_t set; /* of the forward place that it mirrors */
	struct dfg_arrival *next;
};

/* What the sweep keeps where there are loops and branches. */
struct dfg_control_gradient {
	struct dfg_gradient_frames mirror;
	struct dfg_arrival **arrived; /* by tensor */
	struct dfg_adjoint {
		struct dfg_edge store;
		struct dfg_adjoint *next;
	} * *adjoint;                    /* by Save: where the cotangents of its Loads were saved */
	struct dfg_gradient_loop **open; /* by loop, while the sweep is in it */
	uint32_t *exit, *next_exit;      /* by loop, its first Exit; by Exit, the next of its loop */
	uint32_t at;                     /* the loop that the sweep is in */
	struct dfg_scope scope;          /* of the node in hand */
};

struct dfg_scope dfg_backprop_scope(const struct dfg_backprop *s, uint32_t node);

static inline uint32_t dfg_backprop_tensor(const struct dfg_backprop *s, struct dfg_edge edge)
{
	return s->builder->facts.first[edge.node] + (uint32_t)edge.port;
}

/* Whether a cotangent of the tensor is of use to somebody. */
bool dfg_backprop_wants(const struct dfg_backprop *s, struct dfg_edge edge);

/* All nodes that `of` is made from, whether it depends on anything or not. */
DFG_MUST_CHECK struct dfg_err *dfg_backprop_makers(
	struct dfg_backprop *s, const struct dfg_edge *of, uint32_t n_of, const bool **out_makes);

/*
 * Loops' results that their conditions compute, on the way from wrt to `of`, are made again behind the loops, where that
 * is certain: lib/pass/grad/recomputed_exits.c. The graph, and `of`, then read those.
 */
DFG_MUST_CHECK struct dfg_err *dfg_recompute_exits(
	struct dfg_backprop *s, struct dfg_edge *of, uint32_t n_of, const struct dfg_edge *wrt, uint32_t n_wrt);

/* control flow: lib/pass/grad/control_flow.c */

/* Whether the graph has any. */
bool dfg_has_control_flow(const struct dfg_graph *graph);

/* Finds loops and branches, in s->order, and puts the loops' nodes together there. */
DFG_MUST_CHECK struct dfg_err *dfg_control_gradient_new(struct dfg_backprop *s);
void dfg_control_gradient_free(struct dfg_backprop *s);

/* y and x must be of one iteration of one loop, which becomes the region. */
DFG_MUST_CHECK struct dfg_err *dfg_control_gradient_region(
	struct dfg_backprop *s, const struct dfg_edge *of, uint32_t n_of, const struct dfg_edge *wrt, uint32_t n_wrt);

/* Marks in s->depends what depends on wrt and what `of` depends on. */
DFG_MUST_CHECK struct dfg_err *dfg_control_gradient_find_dependents(
	struct dfg_backprop *s, const struct dfg_edge *of, uint32_t n_of);

/* A cotangent made where the node's gradient is made, for a tensor. */
DFG_MUST_CHECK struct dfg_err *dfg_control_gradient_add(
	struct dfg_backprop *s, struct dfg_edge edge, const struct dfg_cotangent *cotangent);

/* All that came back, live exactly where the tensor was. */
DFG_MUST_CHECK struct dfg_err *dfg_control_gradient_total(
	struct dfg_backprop *s, struct dfg_edge edge, struct dfg_cotangent *out_cotangent);

/* From now on nodes are made where the gradient of the tensor stands. */
DFG_MUST_CHECK struct dfg_err *dfg_control_gradient_stand(struct dfg_backprop *s, struct dfg_edge edge);

/* Before a node of the order: enters and leaves gradient loops. */
DFG_MUST_CHECK struct dfg_err *dfg_control_gradient_go(struct dfg_backprop *s, uint32_t node);

/* Does what is to be done for a node of control flow. *out_done: nothing is left to do. */
DFG_MUST_CHECK struct dfg_err *dfg_control_gradient_visit(struct dfg_backprop *s, uint32_t node, bool *out_done);

/* From now on nodes are made where the result for wrt stands: made dense there, unless nothing depends on where it is. */
DFG_MUST_CHECK struct dfg_err *dfg_control_gradient_result(
	struct dfg_backprop *s, struct dfg_edge wrt, struct dfg_cotangent *cotangent);

/* After the last: leaves all loops. */
DFG_MUST_CHECK struct dfg_err *dfg_control_gradient_leave(struct dfg_backprop *s);

/* Gradient loops: lib/pass/grad/loop.c */
DFG_MUST_CHECK struct dfg_err *dfg_gradient_loop_enter(struct dfg_backprop *s, uint32_t loop);
DFG_MUST_CHECK struct dfg_err *dfg_gradient_loop_leave(struct dfg_backprop *s, uint32_t loop);

/* Nodes that hang at sums of branches: lib/pass/grad/accumulate.c. All that came to a tensor under the conditions. */
DFG_MUST_CHECK struct dfg_err *dfg_arrival_total(
	struct dfg_backprop *s, struct dfg_edge like, struct dfg_arrival **list, struct dfg_cotangent *out_cotangent);
