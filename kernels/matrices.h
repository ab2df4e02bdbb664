#pragma once

#include "lib/graph/kernel.h"

/* Functions of each matrix of a batch, the last two dimensions of input 0, one after another on any thread. */
struct dfg_matrix_work {
	const struct dfg_tensor *in;
	struct dfg_tensor *out[3];
	int64_t rows, columns; /* of a matrix of `in` */
	int64_t wide[2];       /* columns of factors */
	bool with_vectors;
	double *memory; /* scratch memory, `each` numbers for each block of matrices */
	int64_t each;
	int64_t block; /* matrices of a block */
	bool *failed;  /* by matrix */
};

/* Computes matrix t of the outputs from matrix t of the input; false: it has no result. */
typedef bool dfg_matrix_fn(const struct dfg_matrix_work *work, int64_t t, double *memory);

/* Elements [at, at + n) of a tensor, from and to memory of the type `as`. */
void dfg_matrix_read(enum dfg_dtype as, const struct dfg_tensor *tensor, int64_t at, int64_t n, void *to);
void dfg_matrix_write(enum dfg_dtype as, const struct dfg_tensor *tensor, int64_t at, int64_t n, const void *from);

/* DFG_DATA if the shape is not that of matrices, or of square ones. */
DFG_MUST_CHECK struct dfg_err *dfg_need_matrices(const struct dfg_shape *in, bool square);

/* The batch of matrices, followed by `count` further dimensions. */
struct dfg_shape dfg_matrix_shape(const struct dfg_shape *in, int count, int64_t a, int64_t b);

/* The shape of output 0 is that of input 0, whose matrices must be square. */
DFG_MUST_CHECK struct dfg_err *dfg_square_shape(struct dfg_infer *node);

/* The smaller of two dimensions; DFG_UNKNOWN if one is. */
int64_t dfg_smaller_dim(int64_t a, int64_t b);

/*
 * Makes all outputs and runs the function for each matrix, with memory of as many numbers as numbers() says, which is called
 * when the sizes are known. Fails with "matrix i FAILURE" if the function fails for matrix i.
 */
DFG_MUST_CHECK struct dfg_err *dfg_each_matrix(struct dfg_kernel *ctx, struct dfg_matrix_work *work,
	int64_t (*numbers)(const struct dfg_matrix_work *work), dfg_matrix_fn *function, const char *failure);
