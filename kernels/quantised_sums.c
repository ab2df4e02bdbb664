#include "kernels/quantised_range.h"
#include "kernels/shape_rules.h"
#include "kernels/window.h"
#include "lib/graph/walk.h"

#include <string.h>

/*
 * Sums and products of quantised tensors in 32 bits, which wrap around. The element of 0 is subtracted first; a product's range
 * is such that 1 in the sum stands for the product of the two values of 1.
 */
struct operand {
	const struct dfg_tensor *in;
	struct dfg_quantised range;
	int64_t zero; /* the element that stands for 0 */
};

static float step_of(const struct operand *operand)
{
	const enum dfg_dtype dtype = operand->in->dtype;
	return (operand->range.max - operand->range.min) / (float)(dfg_quantised_most(dtype) - dfg_quantised_least(dtype));
}

static struct dfg_quantised product_range(const struct operand *a, const struct operand *b)
{
	const float step = step_of(a) * step_of(b);
	return (struct dfg_quantised){step * -2147483648.0f, step * 2147483647.0f};
}

/* Operands in inputs 0 and 1, whose ranges are in inputs range_at to range_at + 3. */
static struct dfg_err *get_operands(struct dfg_kernel *ctx, int range_at, struct operand operand[2])
{
	for (int i = 0; i < 2; i++) {
		operand[i].in = dfg_kernel_input(ctx, i);
		DFG_TRY(dfg_quantised_input(ctx, range_at + 2 * i, &operand[i].range));
		operand[i].zero = dfg_quantise_unclamped(operand[i].in->dtype, operand[i].range, 0);
	}
	return NULL;
}

/* The elements less that of 0. */
static struct dfg_err *centered(struct dfg_kernel *ctx, const struct operand *operand, int32_t **out_elements)
{
	const int64_t n = dfg_shape_count(&operand->in->shape);
	DFG_TRY(dfg_kernel_scratch(ctx, (size_t)n * sizeof **out_elements + 1, (void **)out_elements));
	for (int64_t i = 0; i < n; i++)
		(*out_elements)[i] = (int32_t)(uint32_t)(dfg_quantised_read(operand->in, i) - operand->zero);
	return NULL;
}

/* Matrix products. */
enum { TRANSPOSE_A, TRANSPOSE_B };

struct product {
	const int32_t *a, *b;
	int32_t *out;
	int64_t inner, columns;
	int64_t a_row, a_step, b_row, b_step; /* between elements of a row of the output, and of a sum */
};

static void add_scaled(int64_t n, uint32_t factor, const int32_t *from, int64_t step, int32_t *to)
{
	for (int64_t j = 0; j < n; j++)
		to[j] = (int32_t)((uint32_t)to[j] + factor * (uint32_t)from[j * step]);
}

static void multiply_rows(void *arg, int64_t first, int64_t last)
{
	const struct product *p = arg;
	for (int64_t i = first; i < last; i++) {
		int32_t *to = p->out + i * p->columns;
		memset(to, 0, (size_t)p->columns * sizeof *to);
		for (int64_t k = 0; k < p->inner; k++)
			add_scaled(p->columns, (uint32_t)p->a[i * p->a_row + k * p->a_step], p->b + k * p->b_step, p->b_row, to);
	}
}

static struct dfg_err *matmul_shape(struct dfg_infer *node)
{
	DFG_TRY(dfg_need_rank(node, 0, 2));
	DFG_TRY(dfg_need_rank(node, 1, 2));
	const bool turned_a = node->call->attr[TRANSPOSE_A].b, turned_b = node->call->attr[TRANSPOSE_B].b;
	const struct dfg_shape *a = node->in[0], *b = node->in[1];
	const struct dfg_shape inner = DFG_SHAPE_VECTOR(a->dim[!turned_a]), also = DFG_SHAPE_VECTOR(b->dim[turned_b]);
	if (!dfg_shape_fits(&inner, &also))
		return DFG_ERR(DFG_DATA, "cannot multiply %s by %s", dfg_shape_words(a).s, dfg_shape_words(b).s);
	node->out[0] = (struct dfg_shape){.rank = 2, .dim = {a->dim[turned_a], b->dim[!turned_b]}};
	return dfg_quantised_scalars(node, 2, 6);
}

static struct dfg_err *matmul(struct dfg_kernel *ctx)
{
	const bool turned_a = dfg_kernel_attr(ctx)[TRANSPOSE_A].b, turned_b = dfg_kernel_attr(ctx)[TRANSPOSE_B].b;
	const struct dfg_shape *a = &ctx->in[0]->shape, *b = &ctx->in[1]->shape;
	struct operand operand[2];
	struct dfg_tensor *out;
	int32_t *elements[2];
	DFG_TRY(get_operands(ctx, 2, operand));
	DFG_TRY(dfg_quantised_elements(ctx, &out));
	for (int i = 0; i < 2; i++)
		DFG_TRY(centered(ctx, &operand[i], &elements[i]));
	const int64_t rows = out->shape.dim[0], columns = out->shape.dim[1], inner = a->dim[!turned_a];
	struct product product = {elements[0], elements[1], out->data, inner, columns, turned_a ? 1 : a->dim[1],
		turned_a ? a->dim[1] : 1, turned_b ? b->dim[1] : 1, turned_b ? 1 : b->dim[1]};
	if (rows && columns)
		dfg_kernel_ranges(ctx, rows, dfg_kernel_block(inner * columns, 1 << 16), multiply_rows, &product);
	return dfg_quantised_output(ctx, 1, product_range(&operand[0], &operand[1]));
}

/* Convolutions of images [batch, height, width, channels] by filters [height, width, channels, filters]. */
enum { STRIDES, PADDING, DILATIONS };

struct convolution {
	struct dfg_window window;
	const int32_t *image, *filter;
	int32_t *out;
	int64_t filters;
};

static struct dfg_err *check_space_only(const char *what, const int64_t *along)
{
	if (along[0] == 1 && along[3] == 1)
		return NULL;
	return DFG_ERR(DFG_DATA, "%s is %lld in the batch and %lld in the channels: both must be 1", what,
		(long long)along[0], (long long)along[3]);
}

static struct dfg_err *convolution_window(const struct dfg_resolved_node *call, const struct dfg_shape *image,
	const struct dfg_shape *filter, struct dfg_window *out_window)
{
	struct dfg_window_rule rule = {0};
	DFG_TRY(dfg_window_format((struct dfg_string){"NHWC", 4}, call->attr[PADDING].s, &rule));
	if (image->rank != rule.rank || filter->rank != 4)
		return DFG_ERR(DFG_DATA, "the image has shape %s and the filter %s, expected 4 dimensions",
			dfg_shape_words(image).s, dfg_shape_words(filter).s);
	DFG_TRY(dfg_window_list(call->attr[DILATIONS].list, "dilations", rule.rank, rule.dilation));
	DFG_TRY(dfg_window_list(call->attr[STRIDES].list, "strides", rule.rank, rule.stride));
	const struct dfg_shape channels = DFG_SHAPE_VECTOR(image->dim[3]), also = DFG_SHAPE_VECTOR(filter->dim[2]);
	if (!dfg_shape_fits(&channels, &also))
		return DFG_ERR(DFG_DATA, "the image has shape %s and the filter %s, expected equal numbers of channels",
			dfg_shape_words(image).s, dfg_shape_words(filter).s);
	DFG_TRY(check_space_only("the stride", rule.stride));
	DFG_TRY(check_space_only("the dilation", rule.dilation));
	rule.size[0] = rule.size[3] = 1;
	rule.size[1] = filter->dim[0];
	rule.size[2] = filter->dim[1];
	return dfg_window_fit(&rule, image, out_window);
}

static struct dfg_err *convolution_shape(struct dfg_infer *node)
{
	struct dfg_window window;
	DFG_TRY(dfg_need_rank(node, 0, 4));
	DFG_TRY(dfg_need_rank(node, 1, 4));
	if (node->in[1]->dim[0] < 0 || node->in[1]->dim[1] < 0)
		node->out[0] =
			(struct dfg_shape){.rank = 4, .dim = {node->in[0]->dim[0], DFG_UNKNOWN, DFG_UNKNOWN, node->in[1]->dim[3]}};
	else {
		DFG_TRY(convolution_window(node->call, node->in[0], node->in[1], &window));
		node->out[0] = dfg_window_out(&window, node->in[1]->dim[3]);
	}
	return dfg_quantised_scalars(node, 2, 6);
}

/* Rows [first, last) of all images of the output. */
static void convolve_rows(void *arg, int64_t first, int64_t last)
{
	const struct convolution *c = arg;
	const struct dfg_axis *height = &c->window.axis[1], *width = &c->window.axis[2];
	const int64_t channels = c->window.channels, filters = c->filters;
	for (int64_t row = first; row < last; row++) {
		const int32_t *image = c->image + row / height->out * height->in * width->in * channels;
		for (int64_t column = 0; column < width->out; column++) {
			int32_t *to = c->out + (row * width->out + column) * filters;
			memset(to, 0, (size_t)filters * sizeof *to);
			for (int64_t tap = 0; tap < height->size * width->size; tap++) {
				const int64_t y =
					row % height->out * height->stride - height->before + tap / width->size * height->dilation;
				const int64_t x = column * width->stride - width->before + tap % width->size * width->dilation;
				if (y < 0 || y >= height->in || x < 0 || x >= width->in)
					continue;
				const int32_t *pixel = image + (y * width->in + x) * channels;
				for (int64_t k = 0; k < channels; k++)
					add_scaled(filters, (uint32_t)pixel[k], c->filter + (tap * channels + k) * filters, 1, to);
			}
		}
	}
}

static struct dfg_err *convolution(struct dfg_kernel *ctx)
{
	struct convolution c;
	struct operand operand[2];
	struct dfg_tensor *out;
	int32_t *elements[2];
	DFG_TRY(get_operands(ctx, 2, operand));
	DFG_TRY(convolution_window(ctx->call, &ctx->in[0]->shape, &ctx->in[1]->shape, &c.window));
	DFG_TRY(dfg_quantised_elements(ctx, &out));
	for (int i = 0; i < 2; i++)
		DFG_TRY(centered(ctx, &operand[i], &elements[i]));
	c.image = elements[0];
	c.filter = elements[1];
	c.out = out->data;
	c.filters = out->shape.dim[3];
	const int64_t each = dfg_window_size(&c.window) * c.window.channels * c.filters * c.window.axis[2].out;
	if (dfg_shape_count(&out->shape))
		dfg_kernel_ranges(
			ctx, c.window.batch * c.window.axis[1].out, dfg_kernel_block(each, 1 << 16), convolve_rows, &c);
	return dfg_quantised_output(ctx, 1, product_range(&operand[0], &operand[1]));
}

/* Elementwise. The inputs are x, y and the ranges of both. */

static struct dfg_err *elementwise_shape(struct dfg_infer *node)
{
	DFG_TRY(dfg_shape_broadcast((const struct dfg_shape *const[]){node->in[0], node->in[1]}, 2, &node->out[0]));
	return dfg_quantised_scalars(node, 2, 6);
}

/* The range of a sum is 2^14 times the wider one of the operands, or 2^17 times for a bias, and symmetric. */
static struct dfg_quantised sum_range(const struct operand operand[2], float times)
{
	float most = 0;
	for (int i = 0; i < 2; i++)
		most = fmaxf(most, fmaxf(operand[i].range.max, -operand[i].range.min));
	return (struct dfg_quantised){-most * times, most * times};
}

static int32_t join(const struct operand operand[2], bool sum, struct dfg_quantised range, const int64_t at[2])
{
	int64_t x[2];
	for (int i = 0; i < 2; i++) {
		x[i] = dfg_quantised_read(operand[i].in, at[i]);
		x[i] = sum ? dfg_quantise(DFG_QI32, range, dfg_dequantise(operand[i].in->dtype, operand[i].range, x[i]))
				   : x[i] - operand[i].zero;
	}
	const int64_t zero = sum ? dfg_quantise(DFG_QI32, range, 0) : 0;
	return (int32_t)(uint32_t)(sum ? x[0] + x[1] - zero : (int64_t)((uint64_t)x[0] * (uint64_t)x[1]));
}

/* A sum whose range is `times` that of the operands, or a product if that is 0. */
static struct dfg_err *run_elementwise(struct dfg_kernel *ctx, float times)
{
	struct operand operand[2];
	struct dfg_tensor *out;
	DFG_TRY(get_operands(ctx, 2, operand));
	DFG_TRY(dfg_quantised_elements(ctx, &out));
	const struct dfg_quantised range = times > 0 ? sum_range(operand, times) : product_range(&operand[0], &operand[1]);
	const struct dfg_shape *shape = &out->shape;
	for (int64_t i = 0, n = dfg_shape_count(shape); i < n; i++) {
		int64_t at[2];
		for (int p = 0; p < 2; p++) {
			const struct dfg_shape *in = &operand[p].in->shape;
			int64_t left = i, step = 1;
			at[p] = 0;
			for (int d = shape->rank - 1, own = in->rank - 1; own >= 0; d--, own--) {
				at[p] += in->dim[own] == 1 ? 0 : left % shape->dim[d] * step;
				step *= in->dim[own];
				left /= shape->dim[d];
			}
		}
		((int32_t *)out->data)[i] = join(operand, times > 0, range, at);
	}
	return dfg_quantised_output(ctx, 1, range);
}

static struct dfg_err *add_operands(struct dfg_kernel *ctx)
{
	return run_elementwise(ctx, 1 << 14);
}

static struct dfg_err *multiply_operands(struct dfg_kernel *ctx)
{
	return run_elementwise(ctx, 0);
}

static struct dfg_err *add_bias(struct dfg_kernel *ctx)
{
	return run_elementwise(ctx, 1 << 17);
}

static struct dfg_err *bias_shape(struct dfg_infer *node)
{
	const struct dfg_shape *in = node->in[0], *bias = node->in[1];
	DFG_TRY(dfg_need_rank(node, 1, 1));
	const struct dfg_shape last = DFG_SHAPE_VECTOR(in->rank ? in->dim[in->rank - 1] : 0);
	if (in->rank < 2)
		return DFG_ERR(DFG_DATA, "input 0 has shape %s, expected at least 2 dimensions", dfg_shape_words(in).s);
	if (!dfg_shape_fits(&last, bias))
		return DFG_ERR(DFG_DATA,
			"the bias has shape %s, expected one element for each index of the last dimension of %s",
			dfg_shape_words(bias).s, dfg_shape_words(in).s);
	node->out[0] = *in;
	return dfg_quantised_scalars(node, 2, 6);
}

#define BYTES "qi8|qu8"
#define ELEMENTWISE(Op, function, text)                                                     \
	const struct dfg_op dfg_op_##Op = {                                                     \
		.name = #Op,                                                                        \
		.doc = text,                                                                        \
		.sig = "<T1: " BYTES ", T2: " BYTES                                                 \
			   ", Toutput: qi32 = qi32>(x: T1, y: T2, min_x: f32, max_x: f32, min_y: f32, " \
			   "max_y: f32) -> (z: Toutput, min_z: f32, max_z: f32)",                       \
		.flags = DFG_NO_GRADIENT,                                                           \
		.shape = elementwise_shape,                                                         \
		.run = function,                                                                    \
	};
ELEMENTWISE(QuantizedAdd, add_operands, "sums of quantised elements")
ELEMENTWISE(QuantizedMul, multiply_operands, "products of quantised elements")

const struct dfg_op dfg_op_QuantizedBiasAdd = {
	.name = "QuantizedBiasAdd",
	.doc = "quantised elements, with a bias for each index of the last dimension",
	.sig = "<T1: " BYTES ", T2: " BYTES
		   ", out_type: qi32>(input: T1, bias: T2, min_input: f32, max_input: f32, min_bias: "
		   "f32, max_bias: f32) -> (output: out_type, min_out: f32, max_out: f32)",
	.flags = DFG_NO_GRADIENT,
	.shape = bias_shape,
	.run = add_bias,
};

const struct dfg_op dfg_op_QuantizedMatMul = {
	.name = "QuantizedMatMul",
	.doc = "matrix product of quantised matrices, in 32 bits",
	.sig = "<T1: " BYTES ", T2: " BYTES ", Toutput: qi32 = qi32, Tactivation: " BYTES
		   "|qi32|qi16|qu16 = qu8>(a: T1, b: T2, "
		   "min_a: f32, max_a: f32, min_b: f32, max_b: f32) -> (out: Toutput, min_out: f32, max_out: f32)",
	.attr = {[TRANSPOSE_A] = "transpose_a: bool = false", [TRANSPOSE_B] = "transpose_b: bool = false"},
	.flags = DFG_NO_GRADIENT | DFG_EXPENSIVE,
	.shape = matmul_shape,
	.run = matmul,
};

const struct dfg_op dfg_op_QuantizedConv2D = {
	.name = "QuantizedConv2D",
	.doc = "convolution of quantised images, in 32 bits",
	.sig = "<Tinput: " BYTES ", Tfilter: " BYTES
		   ", out_type: qi32 = qi32>(input: Tinput, filter: Tfilter, min_input: f32, "
		   "max_input: f32, min_filter: f32, max_filter: f32) -> (output: out_type, min_output: f32, max_output: f32)",
	.attr = {[STRIDES] = "strides: list(int)",
		[PADDING] = "padding: string in SAME|VALID",
		[DILATIONS] = "dilations: list(int) = [1, 1, 1, 1]"},
	.flags = DFG_NO_GRADIENT | DFG_EXPENSIVE,
	.shape = convolution_shape,
	.run = convolution,
};
