/*
 * Normal numbers between two ends by rejection (Robert 1995): normal, uniform or exponential numbers are tried, whichever is
 * accepted most often. One stream is read in order, so that the numbers are those of TensorFlow on one thread.
 */
#include "kernels/random.h"
#include "kernels/random_words.h"
#include "kernels/shape_rules.h"

#include <math.h>

enum { PARAMETERS = 4, TRIES = 1000 };

enum { of_block_f32 = 4, of_block_f64 = 2 };

static float unit_of_f32(const uint32_t word[4], int i)
{
	return unit_f32(word[i]);
}

static double unit_of_f64(const uint32_t word[4], int i)
{
	return unit_f64(word[2 * i], word[2 * i + 1]);
}

static void normals_of_f32(const uint32_t word[4], float out[4])
{
	normal_f32(word, out);
	normal_f32(word + 2, out + 2);
}

static void normals_of_f64(const uint32_t word[4], double out[4])
{
	normal_f64(word, out);
}

static float root_f32(float x)
{
	return sqrtf(x);
}

static double root_f64(double x)
{
	return sqrt(x);
}

#define TEMPLATE "kernels/truncated.inc"
#include "kernels/each_float.inc"

static struct dfg_err *draw(struct dfg_tensor *out, const double parameter[PARAMETERS], struct dfg_philox *philox,
	int64_t first, int64_t count, int64_t step)
{
	void *at = dfg_tensor_at(out, first);
	return out->dtype == DFG_F64 ? draw_f64(parameter, philox, count, at, step)
								 : draw_f32(parameter, philox, count, at, step);
}

/* By rows: new numbers each time. */

enum { MEANS = 1 };

static struct dfg_err *rows_shape(struct dfg_infer *node)
{
	DFG_TRY(dfg_shape_of(node, 0, &node->out[0]));
	const struct dfg_shape *out = &node->out[0];
	if (!out->rank)
		return DFG_ERR(DFG_DATA, "the shape is [], expected at least one dimension");
	for (int i = MEANS; i < MEANS + PARAMETERS; i++) {
		const int64_t given = node->in[i]->rank == 1 ? node->in[i]->dim[0] : 1;
		if (node->in[i]->rank > 1 ||
			(given >= 0 && given != 1 && out->rank > 0 && out->dim[0] >= 0 && given != out->dim[0]))
			return DFG_ERR(DFG_DATA, "input %d is %s, expected a scalar or one for each of the %lld rows", i,
				dfg_shape_words(node->in[i]).s, out->rank > 0 ? (long long)out->dim[0] : -1);
	}
	return NULL;
}

/* Rows that have parameters in common are cut into parts of 100 numbers, each of which begins with a new block. */
static bool is_uniform(const struct dfg_kernel *ctx)
{
	for (int i = MEANS; i < MEANS + PARAMETERS; i++)
		if (dfg_shape_count(&ctx->in[i]->shape) != 1 || (i >= MEANS + 2 && ctx->in[i]->shape.rank))
			return false;
	return true;
}

static struct dfg_err *rows_run(struct dfg_kernel *ctx)
{
	enum { PART = 100 };
	struct dfg_tensor *out;
	struct dfg_philox philox;
	DFG_TRY(dfg_output_now(ctx, &out));
	const int64_t all = dfg_shape_count(&out->shape), rows = out->shape.dim[0];
	const bool uniform = is_uniform(ctx);
	const int64_t each = uniform ? PART : rows ? all / rows : 0, parts = uniform ? (all + PART - 1) / PART : rows;
	DFG_TRY(dfg_random_stream(ctx, (uint64_t)parts * 2 * TRIES * (uint64_t)(each + 3) / 4, &philox));
	for (int64_t p = 0; p < parts; p++) {
		double parameter[PARAMETERS];
		for (int i = 0; i < PARAMETERS; i++) {
			const struct dfg_tensor *from = dfg_kernel_input(ctx, MEANS + i);
			parameter[i] = dfg_tensor_float(from, dfg_shape_count(&from->shape) == 1 ? 0 : p);
		}
		const int64_t left = all - p * each;
		DFG_TRY(draw(out, parameter, &philox, p * each, left < each ? left : each, 1));
	}
	return NULL;
}

const struct dfg_op dfg_op_ParameterizedTruncatedNormal = {
	.name = "ParameterizedTruncatedNormal",
	.doc = "normal numbers between minvals and maxvals, which may differ from row to row; new ones each time",
	.sig =
		"<dtype: f32|f64, T: index>(shape: T, means: dtype, stdevs: dtype, minvals: dtype, maxvals: dtype) -> "
		"(output: dtype)",
	.attr = {"seed: int = 0", "seed2: int = 0"},
	.flags = DFG_ANY_RANK | DFG_STATEFUL | DFG_NO_GRADIENT,
	.shape = rows_shape,
	.run = rows_run,
};

/* By a seed. */

enum { STATELESS_MEANS = 2 };

static struct dfg_err *seeded_shape(struct dfg_infer *node)
{
	return dfg_random_ending_shape(node, 0, STATELESS_MEANS);
}

static struct dfg_err *seeded_run(struct dfg_kernel *ctx)
{
	const struct dfg_shape *shape[PARAMETERS];
	struct dfg_shape batch;
	struct dfg_tensor *out;
	struct dfg_philox philox;
	DFG_TRY(dfg_random_seed(ctx, 1, &philox));
	DFG_TRY(dfg_output_now(ctx, &out));
	for (int i = 0; i < PARAMETERS; i++)
		shape[i] = &dfg_kernel_input(ctx, STATELESS_MEANS + i)->shape;
	DFG_TRY(dfg_shape_broadcast(shape, PARAMETERS, &batch));
	const int64_t members = dfg_shape_count(&batch), count = dfg_shape_count(&out->shape);
	for (int64_t m = 0; m < members && count; m++) {
		double parameter[PARAMETERS];
		for (int i = 0; i < PARAMETERS; i++)
			parameter[i] = dfg_tensor_float(
				dfg_kernel_input(ctx, STATELESS_MEANS + i), dfg_random_broadcast_index(shape[i], &batch, m));
		DFG_TRY(draw(out, parameter, &philox, m, count / members, members));
	}
	return NULL;
}

/*
 * By implicit differentiation (Figurnov et al. 2018). The ends in standard deviations depend on mean and stddev too, which
 * TensorFlow's gradient by these two leaves out.
 */
#define SUM_TO(slope, x) \
	"Reshape(Sum(" slope ", BroadcastGradientArgs(Shape(output), Shape(" x ")).r1), Shape(" x "))\n"
static const char gradient[] =
	"at = (output - means) / stddevs\n"
	"low = (minvals - means) / stddevs\n"
	"high = (maxvals - means) / stddevs\n"
	"below = 0.5 * Erfc(-0.7071067811865476 * low)\n"
	"within = (0.5 * Erfc(-0.7071067811865476 * at) - below) / (0.5 * Erfc(-0.7071067811865476 * high) - below)\n"
	"by_low = Exp(0.5 * (at * at - low * low)) * (1 - within)\n"
	"by_high = Exp(0.5 * (at * at - high * high)) * within\n"
	"dmeans = " SUM_TO("doutput * (1 - by_low - by_high)", "means") "dstddevs = " SUM_TO(
		"doutput * (at - MulNoNan(low, by_low) - MulNoNan(high, by_high))",
		"stddevs") "dminvals = " SUM_TO("doutput * by_low", "minvals") "dmaxvals = " SUM_TO("doutput * by_high",
		"maxvals");

const struct dfg_op dfg_op_StatelessParameterizedTruncatedNormal = {
	.name = "StatelessParameterizedTruncatedNormal",
	.doc =
		"normal numbers between minvals and maxvals, from a seed; the shape ends with that to which the parameters "
		"broadcast",
	.sig =
		"<S: index, Tseed: index = i64, dtype: f32|f64>"
		"(shape: S, seed: Tseed, means: dtype, stddevs: dtype, minvals: dtype, maxvals: dtype) -> (output: dtype)",
	.flags = DFG_ANY_RANK,
	.shape = seeded_shape,
	.gradient = gradient,
	.run = seeded_run,
};
