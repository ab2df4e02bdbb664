#pragma once

#include "kernels/philox.h"
#include "lib/graph/kernel.h"

/* A tensor to be filled from a stream: the elements that TensorFlow computes from the same counter and key. */
struct dfg_random {
	struct dfg_philox philox;
	int64_t low;
	uint64_t range; /* whole numbers are in [low, low + range) */
	struct dfg_tensor *out;
};

/* Computes elements [first, last) of the distribution; first is a multiple of 4. */
typedef void dfg_random_fn(const struct dfg_random *random, int64_t first, int64_t last);

dfg_random_fn dfg_random_uniform, dfg_random_normal, dfg_random_truncated_normal, dfg_random_int, dfg_random_full_int;

/* Fills output 0, whose shape is the value of input 0, in blocks that do not depend on the number of threads. */
DFG_MUST_CHECK struct dfg_err *dfg_random_run(struct dfg_kernel *ctx, struct dfg_random *random, dfg_random_fn *fill);
struct dfg_err *dfg_random_shape(struct dfg_infer *node);

/* The same from element `first` of the stream instead of element 0. */
DFG_MUST_CHECK struct dfg_err *dfg_random_run_from(
	struct dfg_kernel *ctx, struct dfg_random *random, dfg_random_fn *fill, int64_t first);

/* Sets low and range from inputs i and i + 1, scalars of the output's type; DFG_DATA if the range is empty. */
DFG_MUST_CHECK struct dfg_err *dfg_random_bounds(struct dfg_kernel *ctx, int i, struct dfg_random *random);

/* The stream of the seed in input i, a vector of two. */
DFG_MUST_CHECK struct dfg_err *dfg_random_seed(struct dfg_kernel *ctx, int i, struct dfg_philox *out_philox);

/* The stream of the key, counter and algorithm in inputs i to i + 2. */
DFG_MUST_CHECK struct dfg_err *dfg_random_key(struct dfg_kernel *ctx, int i, struct dfg_philox *out_philox);

/*
 * The stream at the state of a random generator, a variable in input 0, with its algorithm in input 1; the state moves on by
 * that many numbers.
 */
DFG_MUST_CHECK struct dfg_err *dfg_random_take(struct dfg_kernel *ctx, uint64_t numbers, struct dfg_philox *out_philox);

/* The stream of a key from a place, whose number has 128 bits. */
struct dfg_philox dfg_random_at(uint64_t counter_low, uint64_t counter_high, uint64_t key);

/* DFG_DATA if TensorFlow's number of a random algorithm is not that of Philox. */
DFG_MUST_CHECK struct dfg_err *dfg_random_check_algorithm(int64_t number);

/*
 * The stream of an op whose first attributes are seed and seed2, from where its last execution left it. This execution
 * takes that many blocks of four words.
 */
DFG_MUST_CHECK struct dfg_err *dfg_random_stream(
	struct dfg_kernel *ctx, uint64_t blocks, struct dfg_philox *out_philox);

/*
 * Output 0 has the shape that input `shape` gives, whose last dimensions are those to which the parameters broadcast, the
 * inputs from `first` on. The index, in a parameter, of element `member` of the shape to which they broadcast.
 */
DFG_MUST_CHECK struct dfg_err *dfg_random_ending_shape(struct dfg_infer *node, int shape, int first);
int64_t dfg_random_broadcast_index(const struct dfg_shape *parameter, const struct dfg_shape *batch, int64_t member);
