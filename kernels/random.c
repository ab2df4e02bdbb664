/* Random ops. Stateless ones are functions of their operands; the others draw from a stream that the session owns. */
#include "kernels/random.h"

#include "kernels/shape_rules.h"
#include "lib/base/text.h"
#include "lib/exec/group/group.h"
#include "lib/exec/state/state.h"

#include <string.h>

enum { PHILOX = 1, AUTOMATIC = 3 };

static void split(uint64_t from, uint32_t out[2])
{
	out[0] = (uint32_t)from;
	out[1] = (uint32_t)(from >> 32);
}

/*
 * The key and half of the counter are random words of the seed, number may therefore be any number; the other half
 * counts.
 */
static struct dfg_philox scramble(uint64_t seed_0, uint64_t seed_1)
{
	struct dfg_philox philox = {.key = {0x3ec8f720u, 0x02461e29u}};
	uint32_t mixed[4];
	split(seed_0, philox.counter);
	split(seed_1, philox.counter + 2);
	dfg_philox_words(&philox, mixed);
	return (struct dfg_philox){{0, 0, mixed[2], mixed[3]}, {mixed[0], mixed[1]}};
}

struct dfg_err *dfg_random_seed(struct dfg_kernel *ctx, int i, struct dfg_philox *out_philox)
{
	const struct dfg_tensor *seed = dfg_kernel_input(ctx, i);
	if (seed->shape.rank != 1 || seed->shape.dim[0] != 2)
		return DFG_ERR(DFG_DATA, "seed has shape %s, expected [2]", dfg_shape_words(&seed->shape).s);
	*out_philox = scramble((uint64_t)dfg_tensor_int(seed, 0), (uint64_t)dfg_tensor_int(seed, 1));
	return NULL;
}

/* A large odd factor keeps the keys of shards apart; shard 0 has the key of a batch that is not sharded. */
static void mix(struct dfg_philox *philox, const struct dfg_shard *shard)
{
	uint64_t key = philox->key[0] | (uint64_t)philox->key[1] << 32;
	split(key + shard->number * UINT64_C(0x9e3779b97f4a7c15), philox->key);
}

static struct dfg_err *find_shard(struct dfg_kernel *ctx, bool *out_sharded, struct dfg_shard *out_shard)
{
	struct dfg_state *state = ctx->host->state(ctx);
	struct dfg_group *group;
	*out_sharded = false;
	if (!state)
		return NULL;
	DFG_TRY(dfg_group_of(state, &group));
	*out_sharded = dfg_group_shard(group, out_shard);
	return NULL;
}

/*
 * In the run of a shard: rows that are the batch's get the numbers that they have in a batch that is not sharded. The
 * first extent may be a multiple of the rows: rows and steps of a sequence flattened into one. Other numbers differ
 * from shard to shard.
 */
static struct dfg_err *run_sharded(struct dfg_kernel *ctx, struct dfg_random *random, dfg_random_fn *fill)
{
	bool by_rows = dfg_kernel_attr(ctx)[0].b, sharded;
	struct dfg_shard shard;
	struct dfg_shape shape;
	DFG_TRY(find_shard(ctx, &sharded, &shard));
	if (!sharded)
		return dfg_random_run(ctx, random, fill);
	DFG_TRY(dfg_shapes_now(ctx, 1, &shape));
	if (by_rows && shape.rank && shape.dim[0] % shard.rows == 0)
		return dfg_random_run_from(ctx, random, fill, dfg_shape_count(&shape) / shard.rows * shard.first);
	mix(&random->philox, &shard);
	return dfg_random_run(ctx, random, fill);
}

/* An op with attributes is the sharded one. */
static struct dfg_err *run_stateless(struct dfg_kernel *ctx, struct dfg_random *random, dfg_random_fn *fill)
{
	return ctx->call->signature->n_attr ? run_sharded(ctx, random, fill) : dfg_random_run(ctx, random, fill);
}

enum { SHAPE, KEY, COUNTER, ALG, MINVAL };

struct dfg_err *dfg_random_check_algorithm(int64_t number)
{
	if (number == PHILOX || number == AUTOMATIC)
		return NULL;
	return DFG_ERR(DFG_DATA, "random algorithm %lld is unknown, expected 1 (Philox)", (long long)number);
}

struct dfg_err *dfg_random_key(struct dfg_kernel *ctx, int i, struct dfg_philox *out_philox)
{
	const struct dfg_tensor *key = dfg_kernel_input(ctx, i), *counter = dfg_kernel_input(ctx, i + 1),
							*alg = dfg_kernel_input(ctx, i + 2);
	if (dfg_shape_count(&key->shape) != 1 || counter->shape.rank != 1 || counter->shape.dim[0] < 2 ||
		dfg_shape_count(&alg->shape) != 1)
		return DFG_ERR(DFG_DATA, "key, counter and alg are %s, %s and %s, expected [1], [2] and a scalar",
			dfg_shape_words(&key->shape).s, dfg_shape_words(&counter->shape).s, dfg_shape_words(&alg->shape).s);
	DFG_TRY(dfg_random_check_algorithm(dfg_tensor_int(alg, 0)));
	*out_philox = dfg_random_at(
		((const uint64_t *)counter->data)[0], ((const uint64_t *)counter->data)[1], *(const uint64_t *)key->data);
	return NULL;
}

struct dfg_philox dfg_random_at(uint64_t counter_low, uint64_t counter_high, uint64_t key)
{
	struct dfg_philox philox;
	split(key, philox.key);
	split(counter_low, philox.counter);
	split(counter_high, philox.counter + 2);
	return philox;
}

static struct dfg_err *by_key(struct dfg_kernel *ctx, dfg_random_fn *fill)
{
	struct dfg_random random = {0};
	DFG_TRY(dfg_random_key(ctx, KEY, &random.philox));
	if (ctx->call->n_in > MINVAL)
		DFG_TRY(dfg_random_bounds(ctx, MINVAL, &random));
	return run_stateless(ctx, &random, fill);
}

enum { SEED_INPUT = 1, SEED_MINVAL };

static struct dfg_err *by_seed(struct dfg_kernel *ctx, dfg_random_fn *fill)
{
	struct dfg_random random = {0};
	DFG_TRY(dfg_random_seed(ctx, SEED_INPUT, &random.philox));
	if (ctx->call->n_in > SEED_MINVAL)
		DFG_TRY(dfg_random_bounds(ctx, SEED_MINVAL, &random));
	return run_stateless(ctx, &random, fill);
}

/* The ops of a distribution: by key and counter, and by seed; the latter may be that of a sharded batch. */
#define STATELESS(Op, way, types, inputs, fill, text)         \
	static struct dfg_err *Op##_run(struct dfg_kernel *ctx)   \
	{                                                         \
		return way(ctx, fill);                                \
	}                                                         \
	const struct dfg_op dfg_op_##Op = {                       \
		.name = #Op,                                          \
		.doc = text,                                          \
		.sig = "<dtype: " types inputs " -> (output: dtype)", \
		.flags = DFG_NO_GRADIENT,                             \
		.shape = dfg_random_shape,                            \
		.run = Op##_run,                                      \
	};                                                        \
	const struct dfg_op dfg_op_Dfg_Shard##Op = {              \
		.name = "Dfg>Shard" #Op,                              \
		.doc = text " for the rows of a shard",               \
		.sig = "<dtype: " types inputs " -> (output: dtype)", \
		.attr = {"by_rows: bool = false"},                    \
		.flags = DFG_NO_GRADIENT | DFG_STATEFUL,              \
		.shape = dfg_random_shape,                            \
		.run = Op##_run,                                      \
	};
#define BY_KEY ", Tshape: index = i32>(shape: Tshape, key: u64, counter: u64, alg: i32"
#define BY_SEED ", T: index = i32, Tseed: index = i64>(shape: T, seed: Tseed"
#define BOUNDS ", minval: dtype, maxval: dtype)"
#define FLOATS "float = f32"
#define WHOLE "i32|i64|u32|u64"
#define BOTH(V1, V2, types, types_v2, more, fill, text)      \
	STATELESS(V2, by_key, types_v2, BY_KEY more, fill, text) \
	STATELESS(V1, by_seed, types, BY_SEED more, fill, text)
BOTH(StatelessRandomUniform, StatelessRandomUniformV2, FLOATS, FLOATS, ")", dfg_random_uniform,
	"uniform numbers in [0, 1)")
BOTH(StatelessRandomNormal, StatelessRandomNormalV2, FLOATS, FLOATS, ")", dfg_random_normal, "normal numbers")
BOTH(StatelessTruncatedNormal, StatelessTruncatedNormalV2, FLOATS, FLOATS, ")", dfg_random_truncated_normal,
	"normal numbers within two standard deviations")
BOTH(StatelessRandomUniformFullInt, StatelessRandomUniformFullIntV2, WHOLE " = u64", WHOLE " = u64", ")",
	dfg_random_full_int, "whole numbers over the whole range of their type")
BOTH(StatelessRandomUniformInt, StatelessRandomUniformIntV2, "i32|i64", WHOLE, BOUNDS, dfg_random_int,
	"uniform whole numbers in [minval, maxval)")

static struct dfg_err *key_shape(struct dfg_infer *node)
{
	node->out[0] = DFG_SHAPE_VECTOR(1);
	if (node->call->n_out > 1)
		node->out[1] = DFG_SHAPE_VECTOR(2);
	if (node->call->n_out > 2)
		node->out[2] = DFG_SHAPE_SCALAR;
	return NULL;
}

static struct dfg_err *key_run(struct dfg_kernel *ctx)
{
	struct dfg_philox philox;
	struct dfg_tensor *key, *counter, *alg;
	DFG_TRY(dfg_random_seed(ctx, 0, &philox));
	DFG_TRY(dfg_kernel_output(ctx, 0, &DFG_SHAPE_VECTOR(1), &key));
	DFG_TRY(dfg_kernel_output(ctx, 1, &DFG_SHAPE_VECTOR(2), &counter));
	*(uint64_t *)key->data = philox.key[0] | (uint64_t)philox.key[1] << 32;
	((uint64_t *)counter->data)[0] = 0;
	((uint64_t *)counter->data)[1] = philox.counter[2] | (uint64_t)philox.counter[3] << 32;
	if (ctx->call->n_out > 2) {
		DFG_TRY(dfg_kernel_output(ctx, 2, &DFG_SHAPE_SCALAR, &alg));
		*(int32_t *)alg->data = PHILOX;
	}
	return NULL;
}

const struct dfg_op dfg_op_StatelessRandomGetKeyCounter = {
	.name = "StatelessRandomGetKeyCounter",
	.doc = "key and first counter of the random stream of a seed",
	.sig = "<Tseed: index = i64>(seed: Tseed) -> (key: u64, counter: u64)",
	.flags = DFG_NO_GRADIENT,
	.shape = key_shape,
	.run = key_run,
};

const struct dfg_op dfg_op_StatelessRandomGetKeyCounterAlg = {
	.name = "StatelessRandomGetKeyCounterAlg",
	.doc = "key, first counter and algorithm of the random stream of a seed",
	.sig = "<Tseed: index = i64>(seed: Tseed) -> (key: u64, counter: u64, alg: i32)",
	.flags = DFG_NO_GRADIENT,
	.shape = key_shape,
	.run = key_run,
};

static struct dfg_err *scalar_shape(struct dfg_infer *node)
{
	node->out[0] = DFG_SHAPE_SCALAR;
	return NULL;
}

static struct dfg_err *alg_run(struct dfg_kernel *ctx)
{
	struct dfg_tensor *alg;
	DFG_TRY(dfg_kernel_output(ctx, 0, &DFG_SHAPE_SCALAR, &alg));
	*(int32_t *)alg->data = PHILOX;
	return NULL;
}

const struct dfg_op dfg_op_StatelessRandomGetAlg = {
	.name = "StatelessRandomGetAlg",
	.doc = "the number of the random algorithm: 1, Philox",
	.sig = "() -> (alg: i32)",
	.flags = DFG_NO_GRADIENT,
	.shape = scalar_shape,
	.run = alg_run,
};

enum { SEED, SEED2 };

/* FNV-1a of the node's name is the seed of a node without one: its numbers are the same in every run. */
static uint64_t hash_name(const char *name)
{
	uint64_t hash = UINT64_C(0xcbf29ce484222325);
	for (; *name; name++)
		hash = (hash ^ (uint8_t)*name) * UINT64_C(0x100000001b3);
	return hash;
}

static struct dfg_err *find_position(struct dfg_kernel *ctx, struct dfg_variable **out_position)
{
	struct dfg_state *state = ctx->host->state(ctx);
	struct dfg_text name = {0};
	if (!state)
		return DFG_ERR(DFG_DATA, "%s requires a session", ctx->call->op->name);
	dfg_text_add(&name, "dfg/stream/%s", ctx->call->node);
	struct dfg_err *err = dfg_text_check(&name);
	if (!err)
		err = dfg_state_variable(state, name.s, DFG_U64, &DFG_SHAPE_SCALAR, out_position);
	dfg_text_release(&name);
	return err;
}

/*
 * The run of a shard writes no state: the position moves on at the end of the step, by the same number for every stream
 * and however many numbers a shard has drawn.
 */
static struct dfg_err *draw_in_shard(
	struct dfg_kernel *ctx, struct dfg_variable *position, uint64_t blocks, uint64_t *out_first)
{
	struct dfg_group *group;
	uint64_t drawn;
	DFG_TRY(dfg_group_of(ctx->host->state(ctx), &group));
	DFG_TRY(dfg_group_draw(group, position, blocks, &drawn));
	pthread_mutex_lock(&position->lock);
	*out_first = (position->set ? *(const uint64_t *)position->value.data : 0) + drawn;
	pthread_mutex_unlock(&position->lock);
	return NULL;
}

struct dfg_err *dfg_random_stream(struct dfg_kernel *ctx, uint64_t blocks, struct dfg_philox *out_philox)
{
	const union dfg_value *attr = dfg_kernel_attr(ctx);
	struct dfg_variable *position;
	uint64_t first;
	bool sharded;
	struct dfg_shard shard;
	*out_philox = (struct dfg_philox){0};
	DFG_TRY(find_position(ctx, &position));
	DFG_TRY(find_shard(ctx, &sharded, &shard));
	if (sharded)
		DFG_TRY(draw_in_shard(ctx, position, blocks, &first));
	else
		DFG_TRY(dfg_variable_advance(position, blocks, &first));
	bool seeded = attr[SEED].i || attr[SEED2].i;
	split(seeded ? (uint64_t)attr[SEED].i : hash_name(ctx->call->node), out_philox->key);
	split((uint64_t)attr[SEED2].i, out_philox->counter + 2);
	if (sharded)
		mix(out_philox, &shard);
	dfg_philox_skip(out_philox, first);
	return NULL;
}

static struct dfg_err *stateful(struct dfg_kernel *ctx, struct dfg_random *random, dfg_random_fn *fill)
{
	struct dfg_shape shape;
	DFG_TRY(dfg_shapes_now(ctx, 1, &shape));
	DFG_TRY(dfg_random_stream(ctx, (uint64_t)dfg_shape_count(&shape) * 256, &random->philox));
	return dfg_random_run(ctx, random, fill);
}

#define SEEDS [SEED] = "seed: int = 0", [SEED2] = "seed2: int = 0"
#define STATEFUL(Op, fill, text)                                        \
	static struct dfg_err *Op##_run(struct dfg_kernel *ctx)             \
	{                                                                   \
		return stateful(ctx, &(struct dfg_random){0}, fill);            \
	}                                                                   \
	const struct dfg_op dfg_op_##Op = {                                 \
		.name = #Op,                                                    \
		.doc = text,                                                    \
		.sig = "<dtype: float, T: index>(shape: T) -> (output: dtype)", \
		.attr = {SEEDS},                                                \
		.flags = DFG_NO_GRADIENT | DFG_STATEFUL,                        \
		.shape = dfg_random_shape,                                      \
		.run = Op##_run,                                                \
	};
STATEFUL(RandomUniform, dfg_random_uniform, "uniform numbers in [0, 1), new ones each time")
STATEFUL(RandomStandardNormal, dfg_random_normal, "normal numbers, new ones each time")
STATEFUL(
	TruncatedNormal, dfg_random_truncated_normal, "normal numbers within two standard deviations, new ones each time")

static struct dfg_err *uniform_int_run(struct dfg_kernel *ctx)
{
	struct dfg_random random = {0};
	DFG_TRY(dfg_random_bounds(ctx, 1, &random));
	return stateful(ctx, &random, dfg_random_int);
}

const struct dfg_op dfg_op_RandomUniformInt = {
	.name = "RandomUniformInt",
	.doc = "uniform whole numbers in [minval, maxval), new ones each time",
	.sig = "<Tout: index, T: index>(shape: T, minval: Tout, maxval: Tout) -> (output: Tout)",
	.attr = {SEEDS},
	.flags = DFG_NO_GRADIENT | DFG_STATEFUL,
	.shape = dfg_random_shape,
	.run = uniform_int_run,
};
