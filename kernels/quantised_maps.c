#include "kernels/pool_loops.h"
#include "kernels/quantised_range.h"
#include "kernels/shape_rules.h"

#include <string.h>

/* Ops that map the elements of quantised tensors one to one, move them, or give them another range. */

/* The shape of ops with one quantised input, followed by scalars. */
static struct dfg_err *map_shape(struct dfg_infer *node)
{
	node->out[0] = *node->in[0];
	return dfg_quantised_scalars(node, 1, node->call->n_in);
}

/* Clamps elements between those of 0 and of `most`, in the range of the input. */
static struct dfg_err *clamp(struct dfg_kernel *ctx, float most)
{
	const struct dfg_tensor *in = dfg_kernel_input(ctx, 0);
	struct dfg_quantised range;
	struct dfg_tensor *out;
	DFG_TRY(dfg_quantised_input(ctx, 1, &range));
	DFG_TRY(dfg_kernel_output(ctx, 0, &in->shape, &out));
	const int64_t low = dfg_quantise(in->dtype, range, 0), high = dfg_quantise(in->dtype, range, most);
	for (int64_t i = 0; i < dfg_shape_count(&in->shape); i++) {
		const int64_t x = dfg_quantised_read(in, i), up = x > low ? x : low;
		dfg_quantised_write(out, i, up < high ? up : high);
	}
	return dfg_quantised_output(ctx, 1, range);
}

static struct dfg_err *relu(struct dfg_kernel *ctx)
{
	return clamp(ctx, INFINITY);
}

static struct dfg_err *relu6(struct dfg_kernel *ctx)
{
	return clamp(ctx, 6);
}

/* Pooling. */
enum { KSIZE, STRIDES, PADDING };

static struct dfg_err *window_of(
	const struct dfg_resolved_node *call, const struct dfg_shape *image, struct dfg_window *out_window)
{
	struct dfg_window_rule rule = {0};
	DFG_TRY(dfg_window_format((struct dfg_string){"NHWC", 4}, call->attr[PADDING].s, &rule));
	if (image->rank != rule.rank)
		return DFG_ERR(DFG_DATA, "the image has shape %s, expected 4 dimensions", dfg_shape_words(image).s);
	DFG_TRY(dfg_window_list(NULL, "dilations", rule.rank, rule.dilation));
	DFG_TRY(dfg_window_list(call->attr[KSIZE].list, "ksize", rule.rank, rule.size));
	DFG_TRY(dfg_window_list(call->attr[STRIDES].list, "strides", rule.rank, rule.stride));
	DFG_TRY(dfg_window_only_space(&rule, "ksize", 3));
	return dfg_window_fit(&rule, image, out_window);
}

static struct dfg_err *pool_shape(struct dfg_infer *node)
{
	struct dfg_window window;
	DFG_TRY(window_of(node->call, node->in[0], &window));
	node->out[0] = dfg_window_out(&window, window.channels);
	return dfg_quantised_scalars(node, 1, 3);
}

static struct dfg_err *max_pool(struct dfg_kernel *ctx)
{
	const struct dfg_tensor *in = dfg_kernel_input(ctx, 0);
	struct dfg_quantised range;
	struct dfg_window window;
	struct dfg_tensor *out;
	DFG_TRY(dfg_quantised_input(ctx, 1, &range));
	DFG_TRY(window_of(ctx->call, &in->shape, &window));
	DFG_TRY(dfg_quantised_elements(ctx, &out));
	if (dfg_shape_count(&out->shape))
		DFG_TRY(
			dfg_pool(ctx, DFG_POOL_MAX, &window, in->dtype == DFG_QU8 ? DFG_U8 : DFG_I8, in->data, NULL, out->data));
	return dfg_quantised_output(ctx, 1, range);
}

/* The mean of a window is rounded towards 0. */
static struct dfg_err *mean_pool(struct dfg_kernel *ctx)
{
	const struct dfg_tensor *in = dfg_kernel_input(ctx, 0);
	struct dfg_quantised range;
	struct dfg_window window;
	struct dfg_tensor *out;
	double *wide, *mean;
	DFG_TRY(dfg_quantised_input(ctx, 1, &range));
	DFG_TRY(window_of(ctx->call, &in->shape, &window));
	DFG_TRY(dfg_quantised_elements(ctx, &out));
	int64_t n = dfg_shape_count(&in->shape), count = dfg_shape_count(&out->shape);
	DFG_TRY(dfg_kernel_scratch(ctx, (size_t)n * sizeof *wide + 1, (void **)&wide));
	DFG_TRY(dfg_kernel_scratch(ctx, (size_t)count * sizeof *mean + 1, (void **)&mean));
	for (int64_t i = 0; i < n; i++)
		wide[i] = (double)dfg_quantised_read(in, i);
	if (count)
		DFG_TRY(dfg_pool(ctx, DFG_POOL_MEAN, &window, DFG_F64, wide, NULL, mean));
	for (int64_t i = 0; i < count; i++) /* a quotient of small integers is not nearer to the next one */
		dfg_quantised_write(out, i, (int64_t)(mean[i] + copysign(1e-9, mean[i])));
	return dfg_quantised_output(ctx, 1, range);
}

/* Ranges. */

/* The range of the elements that a tensor has, which includes 0. */
static struct dfg_quantised shrunk(const struct dfg_tensor *in, struct dfg_quantised range)
{
	int64_t n = dfg_shape_count(&in->shape), low = dfg_quantised_most(in->dtype), high = dfg_quantised_least(in->dtype);
	for (int64_t i = 0; i < n; i++) {
		const int64_t x = dfg_quantised_read(in, i);
		low = x < low ? x : low;
		high = x > high ? x : high;
	}
	if (!n)
		return (struct dfg_quantised){0, 0};
	return (struct dfg_quantised){
		fminf(0, dfg_dequantise(in->dtype, range, low)), dfg_dequantise(in->dtype, range, high)};
}

static struct dfg_err *requantise_to(struct dfg_kernel *ctx, struct dfg_quantised from, struct dfg_quantised to)
{
	struct dfg_tensor *out;
	DFG_TRY(dfg_kernel_output(ctx, 0, &ctx->in[0]->shape, &out));
	dfg_requantise(ctx, ctx->in[0], from, out, 0, to);
	return dfg_quantised_output(ctx, 1, to);
}

static struct dfg_err *shrink(struct dfg_kernel *ctx)
{
	struct dfg_quantised range;
	DFG_TRY(dfg_quantised_input(ctx, 1, &range));
	return requantise_to(ctx, range, shrunk(ctx->in[0], range));
}

static struct dfg_err *requantise(struct dfg_kernel *ctx)
{
	struct dfg_quantised from, to;
	DFG_TRY(dfg_quantised_input(ctx, 1, &from));
	DFG_TRY(dfg_quantised_input(ctx, 3, &to));
	return requantise_to(ctx, from, to);
}

static struct dfg_err *range_shape(struct dfg_infer *node)
{
	node->out[0] = (struct dfg_shape){0};
	return dfg_quantised_scalars(node, 1, 3);
}

static struct dfg_err *range(struct dfg_kernel *ctx)
{
	struct dfg_quantised range;
	DFG_TRY(dfg_quantised_input(ctx, 1, &range));
	return dfg_quantised_output(ctx, 0, shrunk(ctx->in[0], range));
}

/* Moved elements. */
extern const struct dfg_op dfg_op_Reshape;

static struct dfg_err *reshape_shape(struct dfg_infer *node)
{
	DFG_TRY(dfg_op_Reshape.shape(node));
	return dfg_quantised_scalars(node, 2, 4);
}

static struct dfg_err *reshape(struct dfg_kernel *ctx)
{
	struct dfg_shape shape[3];
	struct dfg_quantised range;
	DFG_TRY(dfg_quantised_input(ctx, 2, &range));
	DFG_TRY(dfg_shapes_now(ctx, 3, shape));
	DFG_TRY(dfg_kernel_view(ctx, 0, 0, &shape[0]));
	return dfg_quantised_output(ctx, 1, range);
}

/* The inputs are the axis, the values, and the least and the largest value of each. */
static int count_of(const struct dfg_resolved_node *call)
{
	return (call->n_in - 1) / 3;
}

static struct dfg_err *concat_shape(struct dfg_infer *node)
{
	const int count = count_of(node->call);
	int64_t axis = dfg_int_of(node, 0, 0);
	int at;
	DFG_TRY(dfg_need_rank(node, 0, 0));
	DFG_TRY(dfg_quantised_scalars(node, 1 + count, 1 + 3 * count));
	node->out[0] = *node->in[1];
	if (axis != DFG_NOT_KNOWN)
		DFG_TRY(dfg_axis(axis, node->out[0].rank, &at));
	for (int d = 0; d < node->out[0].rank && axis == DFG_NOT_KNOWN; d++)
		node->out[0].dim[d] = DFG_UNKNOWN;
	for (int i = 2; i <= count; i++) {
		struct dfg_shape shape = *node->in[i];
		if (axis != DFG_NOT_KNOWN && shape.rank == node->out[0].rank) {
			int64_t size = shape.dim[at], sum = node->out[0].dim[at];
			node->out[0].dim[at] = size < 0 || sum < 0 ? DFG_UNKNOWN : size + sum;
			shape.dim[at] = DFG_UNKNOWN;
		}
		if (!dfg_shape_fits(&shape, &node->out[0]))
			return DFG_ERR(DFG_DATA, "cannot concatenate %s and %s", dfg_shape_words(node->in[1]).s,
				dfg_shape_words(node->in[i]).s);
	}
	return NULL;
}

static struct dfg_err *concat(struct dfg_kernel *ctx)
{
	const int count = count_of(ctx->call);
	struct dfg_quantised all = {0, -INFINITY};
	struct dfg_tensor *out;
	int axis;
	DFG_TRY(dfg_quantised_elements(ctx, &out));
	DFG_TRY(dfg_axis(dfg_tensor_int(ctx->in[0], 0), out->shape.rank, &axis));
	for (int i = 0; i < count; i++) {
		all.min = fminf(all.min, (float)dfg_tensor_float(ctx->in[1 + count + i], 0));
		all.max = fmaxf(all.max, (float)dfg_tensor_float(ctx->in[1 + 2 * count + i], 0));
	}
	int64_t outer = dfg_count_between(&out->shape, 0, axis);
	int64_t inner = dfg_count_between(&out->shape, axis, out->shape.rank), at = 0;
	for (int i = 0; i < count; i++) {
		const struct dfg_tensor *in = ctx->in[1 + i];
		const struct dfg_quantised from = {
			(float)dfg_tensor_float(ctx->in[1 + count + i], 0), (float)dfg_tensor_float(ctx->in[1 + 2 * count + i], 0)};
		const bool same = from.min == all.min && from.max == all.max;
		int64_t each = dfg_count_between(&in->shape, axis, in->shape.rank);
		for (int64_t o = 0; o < outer; o++)
			for (int64_t j = 0; j < each; j++) {
				const int64_t x = dfg_quantised_read(in, o * each + j);
				dfg_quantised_write(out, o * inner + at + j,
					same ? x : dfg_quantise(out->dtype, all, dfg_dequantise(in->dtype, from, x)));
			}
		at += each;
	}
	return dfg_quantised_output(ctx, 1, all);
}

#define MAP(Op, inputs, outputs, function, text)                                                          \
	const struct dfg_op dfg_op_##Op = {                                                                   \
		.name = #Op,                                                                                      \
		.doc = text,                                                                                      \
		.sig = "<Tinput: qi8|qu8|qi16|qu16|qi32, out_type: qi8|qu8|qi16|qu16|qi32" inputs " -> " outputs, \
		.flags = DFG_NO_GRADIENT,                                                                         \
		.shape = map_shape,                                                                               \
		.run = function,                                                                                  \
	};
#define ACTIVATIONS "(activations: out_type, min_activations: f32, max_activations: f32)"
#define FEATURES " = qu8>(features: Tinput, min_features: f32, max_features: f32)"
#define OUTPUT "(output: out_type, output_min: f32, output_max: f32)"

MAP(QuantizedRelu, FEATURES, ACTIVATIONS, relu, "the larger of each quantised element and 0")
MAP(QuantizedRelu6, FEATURES, ACTIVATIONS, relu6, "quantised elements between 0 and 6")
MAP(QuantizeDownAndShrinkRange, ">(input: Tinput, input_min: f32, input_max: f32)", OUTPUT, shrink,
	"quantised elements in a narrower type, in the range that they have")
MAP(Requantize,
	">(input: Tinput, input_min: f32, input_max: f32, requested_output_min: f32, requested_output_max: f32)", OUTPUT,
	requantise, "quantised elements in a narrower type, in the range that is requested")

const struct dfg_op dfg_op_RequantizationRange = {
	.name = "RequantizationRange",
	.doc = "the smallest range that holds the elements of a quantised tensor",
	.sig =
		"<Tinput: qi8|qu8|qi16|qu16|qi32>(input: Tinput, input_min: f32, input_max: f32) -> (output_min: f32, "
		"output_max: f32)",
	.flags = DFG_NO_GRADIENT,
	.shape = range_shape,
	.run = range,
};

#define POOL(Op, function, text)                                                                                       \
	const struct dfg_op dfg_op_##Op = {                                                                                \
		.name = #Op,                                                                                                   \
		.doc = text,                                                                                                   \
		.sig =                                                                                                         \
			"<T: qi8|qu8>(input: T, min_input: f32, max_input: f32) -> (output: T, min_output: f32, max_output: f32)", \
		.attr = {[KSIZE] = "ksize: list(int)",                                                                         \
			[STRIDES] = "strides: list(int)",                                                                          \
			[PADDING] = "padding: string in SAME|VALID"},                                                              \
		.flags = DFG_NO_GRADIENT,                                                                                      \
		.shape = pool_shape,                                                                                           \
		.run = function,                                                                                               \
	};
POOL(QuantizedMaxPool, max_pool, "the largest quantised element of each window")
POOL(QuantizedAvgPool, mean_pool, "the mean of the quantised elements of each window")

const struct dfg_op dfg_op_QuantizedReshape = {
	.name = "QuantizedReshape",
	.doc = "quantised elements in another shape",
	.sig =
		"<T: qi8|qu8|qi16|qu16|qi32, Tshape: index = i32>(tensor: T, shape: Tshape, input_min: f32, input_max: f32) -> "
		"(output: T, output_min: f32, output_max: f32)",
	.flags = DFG_NO_GRADIENT,
	.shape = reshape_shape,
	.run = reshape,
};

const struct dfg_op dfg_op_QuantizedConcat = {
	.name = "QuantizedConcat",
	.doc = "quantised tensors joined along an axis, in a range that includes those of all",
	.sig =
		"<N: int >= 2, T: qi8|qu8|qi16|qu16|qi32>(concat_dim: i32, values: N * T, input_mins: N * f32, input_maxes: N "
		"* "
		"f32) -> (output: T, output_min: f32, output_max: f32)",
	.flags = DFG_NO_GRADIENT,
	.shape = concat_shape,
	.run = concat,
};
