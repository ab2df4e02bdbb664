/*
 * Numbers of a distribution with parameters, by rejection: gamma (Marsaglia and Tsang 2000), Poisson (Knuth; Hoermann 1993)
 * and binomial (sums of geometric numbers; Hoermann 1993). Each number has blocks of a stream of its own, so the order in
 * which they are computed does not matter; they are TensorFlow's numbers.
 */
#include "kernels/random.h"
#include "kernels/random_words.h"
#include "kernels/shape_rules.h"

#include <math.h>
#include <string.h>

enum { BLOCKS_OF_NUMBER = 256, BLOCKS_OF_RARE = 42, GRAIN = 512 /* numbers */ };

/* Gamma. */

/* Whether a normal number x and a uniform one accept v = (1 + c x)^3. */
static bool accepts_gamma(double x, double v, double u, double d)
{
	return u < 1 - 0.0331 * (x * x) * (x * x) || log_f64(u) < 0.5 * x * x + d * (1 - v + log_f64(v));
}

/* Below 1, a number for alpha + 1 is multiplied by a power of a uniform one. NaN for an alpha that is not at least 0. */
static double draw_gamma(struct dfg_philox philox, int64_t n, const double *parameter)
{
	const double alpha = parameter[0], d = alpha + (alpha < 1 ? 2.0 / 3 : -1.0 / 3), c = 1.0 / 3 / sqrt(d);
	struct backwards units = {0}, normals = {0};
	if (!(alpha >= 0))
		return MATH_NAN;
	dfg_philox_skip(&philox, (uint64_t)n * BLOCKS_OF_NUMBER);
	if (alpha == 1)
		return -log1p_f64(-next_unit(&philox, &units));
	for (;;) {
		const double x = next_normal(&philox, &normals), root = 1 + c * x, v = root * root * root;
		if (root <= 0 || !accepts_gamma(x, v, next_unit(&philox, &units), d))
			continue;
		return alpha < 1 ? d * v * dfg_math_pow(next_unit(&philox, &units), 1 / alpha) : d * v;
	}
}

/* Poisson. */

/* Knuth: the uniform numbers whose product is still more than e^-rate. */
static double draw_few(struct dfg_philox *philox, double rate)
{
	const double least = exp_f64(-rate);
	struct backwards units = {0};
	double product = 1, count = 0;
	for (;; count++) {
		product *= next_unit(philox, &units);
		if (product <= least)
			return count;
	}
}

/* Hoermann's transformed rejection, for rates of at least 10. */
static double draw_many(struct dfg_philox *philox, double rate)
{
	const double b = 0.931 + 2.53 * sqrt(rate), a = -0.059 + 0.02483 * b, inverse = 1.1239 + 1.1328 / (b - 3.4);
	struct backwards units = {0};
	for (;;) {
		const double u = next_unit(philox, &units) - 0.5, v = next_unit(philox, &units), from_end = 0.5 - fabs(u),
					 k = floor((2 * a / from_end + b) * u + rate + 0.43);
		if (from_end >= 0.07 && v <= 0.9277 - 3.6224 / (b - 2))
			return k;
		if (k < 0 || (from_end < 0.013 && v > from_end))
			continue;
		if (log_f64(v * inverse / (a / (from_end * from_end) + b)) <=
			-rate + k * log_f64(rate) - dfg_math_lgamma(k + 1))
			return k;
	}
}

static double draw_poisson(struct dfg_philox philox, int64_t n, const double *parameter)
{
	const double rate = parameter[0];
	if (!(rate >= 0 && rate < MATH_INFINITY))
		return MATH_NAN;
	dfg_philox_skip(&philox, (uint64_t)n * BLOCKS_OF_NUMBER);
	return rate < 10 ? draw_few(&philox, rate) : draw_many(&philox, rate);
}

/* Binomial. */

/* The number of geometric numbers whose sum is at most count.  */
static double draw_geometric(struct dfg_philox *philox, double count, double prob)
{
	struct backwards units = {0};
	double sum = 0, number = 0;
	for (;; number++) {
		sum += ceil(log_f64(next_unit(philox, &units)) / log1p_f64(-prob));
		if (!(sum <= count))
			return number;
	}
}

/* The error of Stirling's formula for log k!. */
static double stirling_error(double k)
{
	static const double exact[] = {0.0810614667953272, 0.0413406959554092, 0.0276779256849983, 0.02079067210376509,
		0.0166446911898211, 0.0138761288230707, 0.0118967099458917, 0.0104112652619720, 0.00925546218271273,
		0.00833056343336287};
	const double square = (k + 1) * (k + 1);
	if (k >= 0 && k <= 9)
		return exact[(int)k];
	return (1.0 / 12 - (1.0 / 360 - 1.0 / 1260 / square) / square) / (k + 1);
}

/* The logarithm of the density at k divided by that at the mode m, where r = p / (1 - p). */
static double log_density(double count, double r, double m, double k)
{
	return (m + 0.5) * log_f64((m + 1) / (r * (count - m + 1))) +
		   (count + 1) * log_f64((count - m + 1) / (count - k + 1)) +
		   (k + 0.5) * log_f64(r * (count - k + 1) / (k + 1)) + stirling_error(m) + stirling_error(count - m) -
		   stirling_error(k) - stirling_error(count - k);
}

static double draw_likely(struct dfg_philox *philox, double count, double prob)
{
	const double deviation = sqrt(count * prob * (1 - prob)), b = 1.15 + 2.53 * deviation,
				 a = -0.0873 + 0.0248 * b + 0.01 * prob, c = count * prob + 0.5, height = 0.92 - 4.2 / b,
				 alpha = (2.83 + 5.1 / b) * deviation, mode = floor((count + 1) * prob);
	struct backwards units = {0};
	for (;;) {
		const double u = next_unit(philox, &units) - 0.5, v = next_unit(philox, &units), from_end = 0.5 - fabs(u),
					 k = floor((2 * a / from_end + b) * u + c);
		if (from_end >= 0.07 && v <= height)
			return k;
		if (!(k >= 0 && k <= count))
			continue;
		if (log_f64(v * alpha / (a / (from_end * from_end) + b)) <= log_density(count, prob / (1 - prob), mode, k))
			return k;
	}
}

static double draw_binomial(struct dfg_philox philox, int64_t n, const double *parameter)
{
	const double count = parameter[0], prob = parameter[1], rare = prob <= 0.5 ? prob : 1 - prob;
	if (count <= 0 || prob <= 0)
		return 0;
	if (prob >= 1)
		return count;
	if (!(count < MATH_INFINITY && prob == prob))
		return MATH_NAN;
	const bool likely = count * rare >= 10;
	dfg_philox_skip(&philox, (uint64_t)n * (likely ? BLOCKS_OF_NUMBER : BLOCKS_OF_RARE));
	const double drawn = likely ? draw_likely(&philox, count, rare) : draw_geometric(&philox, count, rare);
	return prob <= 0.5 ? drawn : count - drawn;
}

/* Outputs. */

/* Number n of a stream with these parameters. */
typedef double draw_fn(struct dfg_philox philox, int64_t n, const double *parameter);

enum { PARAMETERS = 2 };

struct work {
	draw_fn *draw;
	struct dfg_philox philox;
	const struct dfg_tensor *parameter[PARAMETERS];
	struct dfg_shape batch; /* that the parameters broadcast to */
	int64_t members, each;  /* elements of batch, and numbers drawn for each */
	struct dfg_tensor *out;
};

int64_t dfg_random_broadcast_index(const struct dfg_shape *shape, const struct dfg_shape *batch, int64_t member)
{
	int64_t index = 0, step = 1;
	for (int d = batch->rank - 1, own = shape->rank - 1; own >= 0; d--, own--) {
		const int64_t place = member % batch->dim[d];
		member /= batch->dim[d];
		index += shape->dim[own] == 1 ? 0 : place * step;
		step *= shape->dim[own];
	}
	return index;
}

/* Number n of those of all members, in whose order the blocks of the stream are counted. */
static double draw_number(const struct work *work, int64_t n)
{
	double parameter[PARAMETERS] = {0};
	for (int i = 0; i < PARAMETERS && work->parameter[i]; i++) {
		const struct dfg_tensor *from = work->parameter[i];
		parameter[i] = dfg_tensor_float(from, dfg_random_broadcast_index(&from->shape, &work->batch, n / work->each));
	}
	return work->draw(work->philox, n, parameter);
}

static void draw_range(void *arg, int64_t first, int64_t last)
{
	const struct work *work = arg;
	for (int64_t n = first; n < last; n++) {
		const double value = draw_number(work, n);
		dfg_convert(work->out->dtype, dfg_tensor_at(work->out, n % work->each * work->members + n / work->each),
			DFG_F64, &value, 1);
	}
}

static struct dfg_err *run_draws(struct dfg_kernel *ctx, struct work *work)
{
	const struct dfg_shape *shape[PARAMETERS];
	int parameters = 0;
	DFG_TRY(dfg_output_now(ctx, &work->out));
	for (; parameters < PARAMETERS && work->parameter[parameters]; parameters++)
		shape[parameters] = &work->parameter[parameters]->shape;
	DFG_TRY(dfg_shape_broadcast(shape, parameters, &work->batch));
	const int64_t count = dfg_shape_count(&work->out->shape);
	work->members = dfg_shape_count(&work->batch);
	work->each = work->members ? count / work->members : 0;
	if (count)
		dfg_kernel_ranges(ctx, count, GRAIN, draw_range, work);
	return NULL;
}

/* The output has the dimensions that input 0 gives, then those of the parameter, input 1. */
static struct dfg_err *appended_shape(struct dfg_infer *node)
{
	struct dfg_shape lead;
	const struct dfg_shape *batch = node->in[1];
	DFG_TRY(dfg_shape_of(node, 0, &lead));
	if (lead.rank < 0 || batch->rank < 0)
		return NULL;
	if (lead.rank + batch->rank > DFG_RANK_MAX)
		return DFG_ERR(
			DFG_DATA, "the output has %d dimensions: the limit is %d", lead.rank + batch->rank, DFG_RANK_MAX);
	for (int d = 0; d < batch->rank; d++)
		lead.dim[lead.rank++] = batch->dim[d];
	node->out[0] = lead;
	return NULL;
}

struct dfg_err *dfg_random_ending_shape(struct dfg_infer *node, int shape, int first)
{
	struct dfg_shape batch, end = DFG_SHAPE_UNKNOWN;
	DFG_TRY(dfg_shape_of(node, shape, &node->out[0]));
	DFG_TRY(dfg_shape_broadcast(node->in + first, node->call->n_in - first, &batch));
	if (batch.rank < 0 || node->out[0].rank < 0)
		return NULL;
	if (batch.rank <= node->out[0].rank) {
		end = (struct dfg_shape){.rank = batch.rank};
		memcpy(end.dim, node->out[0].dim + node->out[0].rank - batch.rank, (size_t)batch.rank * sizeof *end.dim);
	}
	if (end.rank < 0 || !dfg_shape_fits(&end, &batch))
		return DFG_ERR(DFG_DATA, "the shape is %s, but does not end with %s, the shape of the parameters",
			dfg_shape_words(&node->out[0]).s, dfg_shape_words(&batch).s);
	return NULL;
}

static struct dfg_err *by_seed_shape(struct dfg_infer *node)
{
	return dfg_random_ending_shape(node, 0, 2);
}

static struct dfg_err *by_state_shape(struct dfg_infer *node)
{
	DFG_TRY(dfg_need_rank(node, 1, 0));
	return dfg_random_ending_shape(node, 2, 3);
}

static struct dfg_err *by_key_shape(struct dfg_infer *node)
{
	return dfg_random_ending_shape(node, 0, 4);
}

/* New numbers each time. */
static struct dfg_err *run_stream(struct dfg_kernel *ctx, draw_fn *draw)
{
	struct work work = {.draw = draw, .parameter = {dfg_kernel_input(ctx, 1)}};
	struct dfg_shape shape;
	size_t bytes;
	DFG_TRY(dfg_shapes_now(ctx, 1, &shape));
	DFG_TRY(dfg_shape_bytes(&shape, (enum dfg_dtype)ctx->call->out_dtype[0], &bytes));
	DFG_TRY(dfg_random_stream(ctx, (uint64_t)dfg_shape_count(&shape) * BLOCKS_OF_NUMBER, &work.philox));
	return run_draws(ctx, &work);
}

/* Numbers by the seed in input 1. */
static struct dfg_err *run_seeded(struct dfg_kernel *ctx, draw_fn *draw)
{
	struct work work = {.draw = draw, .parameter = {dfg_kernel_input(ctx, 2)}};
	if (ctx->call->n_in > 3)
		work.parameter[1] = dfg_kernel_input(ctx, 3);
	DFG_TRY(dfg_random_seed(ctx, 1, &work.philox));
	return run_draws(ctx, &work);
}

/* The state moves on as TensorFlow's does, by 200 numbers for each four of a member. */
static struct dfg_err *binomial_from_state_run(struct dfg_kernel *ctx)
{
	struct work work = {.draw = draw_binomial, .parameter = {dfg_kernel_input(ctx, 3), dfg_kernel_input(ctx, 4)}};
	const struct dfg_shape *parameters[] = {&work.parameter[0]->shape, &work.parameter[1]->shape};
	struct dfg_shape shape, batch;
	size_t bytes;
	DFG_TRY(dfg_shapes_now(ctx, 1, &shape));
	DFG_TRY(dfg_shape_bytes(&shape, (enum dfg_dtype)ctx->call->out_dtype[0], &bytes));
	DFG_TRY(dfg_shape_broadcast(parameters, 2, &batch));
	const uint64_t members = (uint64_t)dfg_shape_count(&batch);
	const uint64_t each = members ? (uint64_t)dfg_shape_count(&shape) / members : 0;
	DFG_TRY(dfg_random_take(ctx, members * 200 * (each + 3) / 4, &work.philox));
	return run_draws(ctx, &work);
}

static struct dfg_err *gamma_run(struct dfg_kernel *ctx)
{
	return run_stream(ctx, draw_gamma);
}

static struct dfg_err *poisson_run(struct dfg_kernel *ctx)
{
	return run_stream(ctx, draw_poisson);
}

static struct dfg_err *gamma_by_seed_run(struct dfg_kernel *ctx)
{
	return run_seeded(ctx, draw_gamma);
}

static struct dfg_err *poisson_by_seed_run(struct dfg_kernel *ctx)
{
	return run_seeded(ctx, draw_poisson);
}

static struct dfg_err *binomial_by_seed_run(struct dfg_kernel *ctx)
{
	return run_seeded(ctx, draw_binomial);
}

static struct dfg_err *gamma_by_key_run(struct dfg_kernel *ctx)
{
	struct work work = {.draw = draw_gamma, .parameter = {dfg_kernel_input(ctx, 4)}};
	DFG_TRY(dfg_random_key(ctx, 1, &work.philox));
	return run_draws(ctx, &work);
}

/*
 * By implicit differentiation of the distribution function (Figurnov et al. 2018), summed over the numbers of each alpha,
 * whose axes are the last ones.
 */
#define GAMMA_GRADIENT                                   \
	"slope = doutput * RandomGammaGrad(alpha, output)\n" \
	"dalpha = Reshape(Sum(slope, BroadcastGradientArgs(Shape(output), Shape(alpha)).r1), Shape(alpha))"

#define NUMBERS "f16|f32|f64|i32|i64"
#define SEEDS "seed: int = 0", "seed2: int = 0"

const struct dfg_op dfg_op_RandomGamma = {
	.name = "RandomGamma",
	.doc = "gamma-distributed numbers, as many as shape has elements for each alpha; new ones each time",
	.sig = "<S: index, T: f16|f32|f64>(shape: S, alpha: T) -> (output: T)",
	.attr = {SEEDS},
	.flags = DFG_STATEFUL | DFG_ANY_RANK,
	.shape = appended_shape,
	.gradient = GAMMA_GRADIENT,
	.run = gamma_run,
};

const struct dfg_op dfg_op_StatelessRandomGammaV2 = {
	.name = "StatelessRandomGammaV2",
	.doc = "gamma-distributed numbers from a seed; the shape ends with that of alpha",
	.sig = "<dtype: f16|f32|f64, T: index, Tseed: index = i64>(shape: T, seed: Tseed, alpha: dtype) -> (output: dtype)",
	.flags = DFG_ANY_RANK,
	.shape = by_seed_shape,
	.gradient = GAMMA_GRADIENT,
	.run = gamma_by_seed_run,
};

const struct dfg_op dfg_op_StatelessRandomGammaV3 = {
	.name = "StatelessRandomGammaV3",
	.doc = "gamma-distributed numbers from a key and a counter; the shape ends with that of alpha",
	.sig =
		"<dtype: f16|f32|f64, shape_dtype: index = i32>(shape: shape_dtype, key: u64, counter: u64, alg: i32, "
		"alpha: dtype) -> (output: dtype)",
	.flags = DFG_ANY_RANK,
	.shape = by_key_shape,
	.gradient = GAMMA_GRADIENT,
	.run = gamma_by_key_run,
};

const struct dfg_op dfg_op_RandomPoissonV2 = {
	.name = "RandomPoissonV2",
	.doc = "Poisson-distributed numbers, as many as shape has elements for each rate; new ones each time",
	.sig = "<S: index, R: " NUMBERS " = f64, dtype: " NUMBERS " = i64>(shape: S, rate: R) -> (output: dtype)",
	.attr = {SEEDS},
	.flags = DFG_STATEFUL | DFG_ANY_RANK | DFG_NO_GRADIENT,
	.shape = appended_shape,
	.run = poisson_run,
};

const struct dfg_op dfg_op_StatelessRandomPoisson = {
	.name = "StatelessRandomPoisson",
	.doc = "Poisson-distributed numbers from a seed; the shape ends with that of the rates",
	.sig = "<Rtype: " NUMBERS ", dtype: " NUMBERS
		   ", T: index, Tseed: index = i64>(shape: T, seed: Tseed, lam: Rtype) -> "
		   "(output: dtype)",
	.flags = DFG_ANY_RANK | DFG_NO_GRADIENT,
	.shape = by_seed_shape,
	.run = poisson_by_seed_run,
};

const struct dfg_op dfg_op_StatelessRandomBinomial = {
	.name = "StatelessRandomBinomial",
	.doc = "binomially distributed numbers from a seed; the shape ends with that to which counts and probs broadcast",
	.sig = "<S: index, Tseed: index = i64, T: " NUMBERS " = f64, dtype: " NUMBERS
		   " = i64>"
		   "(shape: S, seed: Tseed, counts: T, probs: T) -> (output: dtype)",
	.flags = DFG_ANY_RANK | DFG_NO_GRADIENT,
	.shape = by_seed_shape,
	.run = binomial_by_seed_run,
};

const struct dfg_op dfg_op_StatefulRandomBinomial = {
	.name = "StatefulRandomBinomial",
	.doc =
		"binomial numbers from the state of a random generator; the shape ends with that to which counts and probs "
		"broadcast",
	.sig = "<S: index, T: " NUMBERS " = f64, dtype: " NUMBERS
		   " = i64>(resource: resource, algorithm: i64, shape: S, counts: T, probs: T) -> (output: dtype)",
	.flags = DFG_STATEFUL | DFG_READS | DFG_WRITES | DFG_ANY_RANK | DFG_NO_GRADIENT,
	.shape = by_state_shape,
	.run = binomial_from_state_run,
};
