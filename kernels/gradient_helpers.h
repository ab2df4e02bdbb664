#pragma once

#include "lib/pass/grad/grad.h"

/* Helpers of gradients in C. Kernels include this and no other header of the passes. */

/* The facts known of a tensor. A copy, because the builder's own moves when nodes are added. */
static inline struct dfg_inferred dfg_adjoint_fact(const struct dfg_gradient *node, struct dfg_edge edge)
{
	return *dfg_facts_of(&node->builder->facts, edge);
}

/* The cotangent of output `port`, or zeros of its shape if it has none. */
DFG_MUST_CHECK struct dfg_err *dfg_adjoint_of(struct dfg_gradient *node, int port, struct dfg_edge *out_edge);

/* A constant vector (rank 1), or its first element as a scalar (rank 0); i32, or i64 if a value requires it. */
DFG_MUST_CHECK struct dfg_err *dfg_adjoint_ints(
	struct dfg_gradient *node, int rank, const int64_t *values, int64_t count, struct dfg_edge *out_edge);

/* The shape of a tensor as a vector of i32. */
DFG_MUST_CHECK struct dfg_err *dfg_adjoint_shape(
	struct dfg_gradient *node, struct dfg_edge of, struct dfg_edge *out_edge);

/* Adds a node of an op with up to three inputs (DFG_NO_EDGE for those it lacks) and default attributes. */
DFG_MUST_CHECK struct dfg_err *dfg_adjoint_op(struct dfg_gradient *node, const char *op, struct dfg_edge a,
	struct dfg_edge b, struct dfg_edge c, struct dfg_edge *out_edge);
#define DFG_NO_EDGE ((struct dfg_edge){DFG_NONE, 0})

/* Adds a node of an op with the n_in inputs and the forward node's declared attributes. */
DFG_MUST_CHECK struct dfg_err *dfg_adjoint_same(
	struct dfg_gradient *node, const char *op, const struct dfg_edge *in, uint32_t n_in, struct dfg_edge *out_edge);

/* Whether input i is a constant whose only number is not 0. */
bool dfg_adjoint_is_not_zero(const struct dfg_gradient *node, int i);

/* An error if a cotangent of input i is requested: the op's value depends on it, but has no derivative by it. */
DFG_MUST_CHECK struct dfg_err *dfg_adjoint_refuse(const struct dfg_gradient *node, int i);
