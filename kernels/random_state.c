/*
 * Random numbers of a generator whose state is a variable: a counter of 128 bits and a key, as TensorFlow keeps it. The numbers
 * are those at the counter, which then moves on.
 */
#include "kernels/random.h"
#include "kernels/shape_rules.h"
#include "lib/exec/state/state.h"

#include <sys/random.h>

enum { RESOURCE, ALGORITHM, SHAPE, MINVAL };
enum { WORDS = 3, BLOCKS_OF_NUMBER = 256 };

/* The state, WORDS numbers; the caller unlocks the variable, but not after an error. */
static struct dfg_err *lock_words(struct dfg_kernel *ctx, struct dfg_variable **out_variable, uint64_t **out_words)
{
	struct dfg_tensor *value;
	DFG_TRY(dfg_kernel_variable(ctx, RESOURCE, out_variable));
	DFG_TRY(dfg_variable_lock(*out_variable, &value));
	if (value->dtype == DFG_I64 && value->shape.rank == 1 && value->shape.dim[0] >= WORDS) {
		*out_words = value->data;
		return NULL;
	}
	struct dfg_err *err = DFG_ERR(DFG_DATA, "the state of the random generator is %s, expected at least i64[%d]",
		dfg_type_words(value->dtype, &value->shape).s, WORDS);
	dfg_variable_unlock(*out_variable);
	return err;
}

/* The stream at the state, which moves on by the blocks of the numbers. */
static struct dfg_err *take(struct dfg_kernel *ctx, uint64_t numbers, uint64_t out_before[WORDS])
{
	struct dfg_variable *variable;
	uint64_t *words;
	DFG_TRY(lock_words(ctx, &variable, &words));
	for (int i = 0; i < WORDS; i++)
		out_before[i] = words[i];
	struct dfg_philox philox = dfg_random_at(words[0], words[1], words[2]);
	dfg_philox_skip(&philox, numbers * BLOCKS_OF_NUMBER);
	words[0] = philox.counter[0] | (uint64_t)philox.counter[1] << 32;
	words[1] = philox.counter[2] | (uint64_t)philox.counter[3] << 32;
	dfg_variable_unlock(variable);
	return NULL;
}

static struct dfg_err *check_algorithm(const struct dfg_kernel *ctx)
{
	const struct dfg_tensor *algorithm = dfg_kernel_input(ctx, ALGORITHM);
	if (dfg_shape_count(&algorithm->shape) != 1)
		return DFG_ERR(DFG_DATA, "the algorithm is %s, expected a scalar", dfg_shape_words(&algorithm->shape).s);
	return dfg_random_check_algorithm(dfg_tensor_int(algorithm, 0));
}

struct dfg_err *dfg_random_take(struct dfg_kernel *ctx, uint64_t numbers, struct dfg_philox *out_philox)
{
	uint64_t before[WORDS];
	DFG_TRY(check_algorithm(ctx));
	DFG_TRY(take(ctx, numbers, before));
	*out_philox = dfg_random_at(before[0], before[1], before[2]);
	return NULL;
}

static struct dfg_err *read_delta(const struct dfg_kernel *ctx, uint64_t *out_delta)
{
	const struct dfg_tensor *delta = dfg_kernel_input(ctx, SHAPE);
	if (dfg_shape_count(&delta->shape) != 1)
		return DFG_ERR(DFG_DATA, "delta is %s, expected a scalar", dfg_shape_words(&delta->shape).s);
	*out_delta = (uint64_t)dfg_tensor_int(delta, 0);
	return NULL;
}

#define ACCESS DFG_STATEFUL | DFG_READS | DFG_WRITES | DFG_NO_GRADIENT

static struct dfg_err *read_shape(struct dfg_infer *node)
{
	DFG_TRY(dfg_need_rank(node, ALGORITHM, 0));
	DFG_TRY(dfg_need_rank(node, SHAPE, 0));
	if (node->call->n_out)
		node->out[0] = DFG_SHAPE_VECTOR(WORDS);
	return NULL;
}

static struct dfg_err *skip_run(struct dfg_kernel *ctx)
{
	uint64_t delta, before[WORDS];
	struct dfg_tensor *out;
	DFG_TRY(check_algorithm(ctx));
	DFG_TRY(read_delta(ctx, &delta));
	DFG_TRY(take(ctx, delta, before));
	if (!ctx->call->n_out)
		return NULL;
	DFG_TRY(dfg_kernel_output(ctx, 0, &DFG_SHAPE_VECTOR(WORDS), &out));
	for (int i = 0; i < WORDS; i++)
		((uint64_t *)out->data)[i] = before[i];
	return NULL;
}

const struct dfg_op dfg_op_RngReadAndSkip = {
	.name = "RngReadAndSkip",
	.doc = "the state of a random generator, which then moves on by delta numbers",
	.sig = "(resource: resource, alg: i32, delta: u64) -> (value: i64)",
	.flags = ACCESS | DFG_ANY_RANK,
	.shape = read_shape,
	.run = skip_run,
};

const struct dfg_op dfg_op_RngSkip = {
	.name = "RngSkip",
	.doc = "moves the state of a random generator on by delta numbers",
	.sig = "(resource: resource, algorithm: i64, delta: i64) -> ()",
	.flags = ACCESS | DFG_ANY_RANK,
	.shape = read_shape,
	.run = skip_run,
};

static struct dfg_err *numbers_shape(struct dfg_infer *node)
{
	return dfg_shape_of(node, SHAPE, &node->out[0]);
}

static struct dfg_err *run_numbers(struct dfg_kernel *ctx, dfg_random_fn *fill)
{
	struct dfg_random random = {0};
	struct dfg_shape shape;
	uint64_t before[WORDS];
	size_t bytes;
	DFG_TRY(check_algorithm(ctx));
	DFG_TRY(dfg_shapes_now(ctx, 1, &shape));
	DFG_TRY(dfg_shape_bytes(&shape, (enum dfg_dtype)ctx->call->out_dtype[0], &bytes));
	if (ctx->call->n_in > MINVAL)
		DFG_TRY(dfg_random_bounds(ctx, MINVAL, &random));
	DFG_TRY(take(ctx, (uint64_t)dfg_shape_count(&shape), before));
	random.philox = dfg_random_at(before[0], before[1], before[2]);
	return dfg_random_run(ctx, &random, fill);
}

#define NUMBERS(Op, types, more, fill, text)                                                                           \
	static struct dfg_err *Op##_run(struct dfg_kernel *ctx)                                                            \
	{                                                                                                                  \
		return run_numbers(ctx, fill);                                                                                 \
	}                                                                                                                  \
	const struct dfg_op dfg_op_##Op = {                                                                                \
		.name = #Op,                                                                                                   \
		.doc = text " from the state of a random generator",                                                           \
		.sig =                                                                                                         \
			"<dtype: " types ", shape_dtype: index = i64>(resource: resource, algorithm: i64, shape: shape_dtype" more \
			") -> (output: dtype)",                                                                                    \
		.flags = ACCESS | DFG_ANY_RANK,                                                                                \
		.shape = numbers_shape,                                                                                        \
		.run = Op##_run,                                                                                               \
	};
NUMBERS(StatefulUniform, "float = f32", "", dfg_random_uniform, "uniform numbers in [0, 1)")
NUMBERS(StatefulStandardNormalV2, "float = f32", "", dfg_random_normal, "normal numbers")
NUMBERS(StatefulTruncatedNormal, "float = f32", "", dfg_random_truncated_normal,
	"normal numbers within two standard deviations")
NUMBERS(StatefulUniformFullInt, "i32|i64|u32|u64 = u64", "", dfg_random_full_int,
	"whole numbers over the whole range of their type")
NUMBERS(StatefulUniformInt, "i32|i64|u32|u64 = i64", ", minval: dtype, maxval: dtype", dfg_random_int,
	"uniform whole numbers in [minval, maxval)")

/* Numbers of the operating system. */

static struct dfg_err *entropy_shape(struct dfg_infer *node)
{
	return dfg_shape_of(node, 0, &node->out[0]);
}

static struct dfg_err *entropy_run(struct dfg_kernel *ctx)
{
	struct dfg_tensor *out;
	ssize_t got = 0;
	DFG_TRY(dfg_output_now(ctx, &out));
	for (size_t at = 0, bytes = dfg_tensor_bytes(out); at < bytes; at += (size_t)got) {
		got = getrandom((char *)out->data + at, bytes - at, 0);
		if (got < 0)
			return DFG_ERR(DFG_IO, "the operating system gives no random bytes");
	}
	return NULL;
}

const struct dfg_op dfg_op_NonDeterministicInts = {
	.name = "NonDeterministicInts",
	.doc = "whole numbers over the whole range of their type, from the operating system: others in each run",
	.sig = "<dtype: i32|i64|u32|u64 = i64, shape_dtype: index = i64>(shape: shape_dtype) -> (output: dtype)",
	.flags = DFG_STATEFUL | DFG_NO_GRADIENT | DFG_ANY_RANK,
	.shape = entropy_shape,
	.run = entropy_run,
};
