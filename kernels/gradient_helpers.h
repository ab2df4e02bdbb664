#pragma once

#include "lib/pass/grad/grad.h"

/* What gradients in C share; kernels include this, and nothing else of the passes. */

/* What is known of a tensor. A copy: the builder's own moves when nodes are added. */
static inline struct dfg_inferred dfg_adjoint_fact(const struct dfg_gradient *node, struct dfg_edge edge)
{
	return *dfg_facts_of(&node->builder->facts, edge);
}

/* The cotangent of output `port`, or zeros of its shape where there is none. */
DFG_MUST_CHECK struct dfg_err *dfg_adjoint_of(struct dfg_gradient *node, int port, struct dfg_edge *out_edge);

/* A constant vector of i32 (rank 1), or its first element (rank 0); of i64 where a value does not fit. */
DFG_MUST_CHECK struct dfg_err *dfg_adjoint_ints(
	struct dfg_gradient *node, int rank, const int64_t *values, int64_t count, struct dfg_edge *out_edge);

/* The shape of a tensor as i32. */
DFG_MUST_CHECK struct dfg_err *dfg_adjoint_shape(
	struct dfg_gradient *node, struct dfg_edge of, struct dfg_edge *out_edge);

/* An op of up to three inputs without attributes. */
DFG_MUST_CHECK struct dfg_err *dfg_adjoint_op(struct dfg_gradient *node, const char *op, struct dfg_edge a,
	struct dfg_edge b, struct dfg_edge c, struct dfg_edge *out_edge);
#define DFG_NO_EDGE ((struct dfg_edge){DFG_NONE, 0})

/* op(x, in[from], in[from + 1], ...) with the forward node's own attributes (those of its declaration). */
DFG_MUST_CHECK struct dfg_err *dfg_adjoint_same(
	struct dfg_gradient *node, const char *op, const struct dfg_edge *in, uint32_t n_in, struct dfg_edge *out_edge);

/* An error if a cotangent of input i is wanted: the op has no derivative by it, though its value depends on it. */
DFG_MUST_CHECK struct dfg_err *dfg_adjoint_refuse(const struct dfg_gradient *node, int i);
