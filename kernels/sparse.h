#pragma once

#include "kernels/shape_rules.h"

/*
 * A sparse tensor: n entries, whose indices are the rows of a matrix of i64, their values, and the shape as a vector. The
 * rank may be beyond DFG_RANK_MAX, because no dense tensor has it.
 */
struct dfg_sparse {
	int64_t n;
	int rank;
	const int64_t *at;  /* n x rank; borrowed, as is dim */
	const int64_t *dim; /* rank */
};

/*
 * Reads the sparse tensor whose indices, values and shape are inputs `indices`, `values` and `shape`; values < 0: there are
 * none. DFG_DATA if their lengths do not fit, or an index is outside of the shape.
 */
DFG_MUST_CHECK struct dfg_err *dfg_sparse_of(
	const struct dfg_kernel *ctx, int indices, int values, int shape, struct dfg_sparse *out_sparse);

/* The numbers of the entries in the order of their indices; equal ones stay in their order. Scratch memory. */
DFG_MUST_CHECK struct dfg_err *dfg_sparse_order(
	struct dfg_kernel *ctx, const int64_t *at, int64_t n, int rank, int64_t **out_order);

/* Output i has the n elements of input j that are at those places, one after another. */
DFG_MUST_CHECK struct dfg_err *dfg_sparse_pick(struct dfg_kernel *ctx, int i, int j, const int64_t *place, int64_t n);

/* The order of two indices: negative, 0 or positive. */
int dfg_sparse_compare(const int64_t *a, const int64_t *b, int rank);

/* Whether the ranks of the inputs indices, values (or < 0) and shape are 2, 1 and 1. */
DFG_MUST_CHECK struct dfg_err *dfg_sparse_need(const struct dfg_infer *node, int indices, int values, int shape);

/* Infers outputs first to first + 2: indices, values and shape of a sparse tensor with an unknown number of entries. */
void dfg_sparse_infer(struct dfg_infer *node, int first, int64_t rank);
