#include "kernels/shape_rules.h"
#include "kernels/window.h"

#include <float.h>
#include <string.h>

/*
 * Grey-scale dilation of images [batch, height, width, channels]: the largest sum of a pixel under the filter and the filter
 * there. The first of equal sums counts.
 */
enum { STRIDES, RATES, PADDING };     /* attributes */
enum { INPUT, FILTER, OUT_BACKPROP }; /* inputs */
enum { WORK = 16 * 1024 };            /* sums of a block */

struct work {
	struct dfg_window window;
	const void *in, *filter, *grad;
	void *out;
	bool of_filter;
};

/* The elements whose sum is the largest, in the input and in the filter; -1: there are none. */
struct best {
	int64_t pixel, tap;
};

#define TEMPLATE "kernels/dilation.inc"
#include "kernels/each_number.inc"

static struct dfg_err *fit(const struct dfg_resolved_node *call, const struct dfg_shape *image,
	const struct dfg_shape *filter, struct dfg_window *out_window)
{
	struct dfg_window_rule rule = {0};
	DFG_TRY(dfg_window_format((struct dfg_string){"NHWC", 4}, call->attr[PADDING].s, &rule));
	DFG_TRY(dfg_window_list(call->attr[STRIDES].list, "strides", rule.rank, rule.stride));
	DFG_TRY(dfg_window_list(call->attr[RATES].list, "rates", rule.rank, rule.dilation));
	if (filter->rank != 3)
		return DFG_ERR(DFG_DATA, "the filter has shape %s, expected 3 dimensions", dfg_shape_words(filter).s);
	for (int i = 0; i < rule.rank; i++)
		rule.size[i] = i == 1 || i == 2 ? filter->dim[i - 1] : 1;
	DFG_TRY(dfg_window_fit(&rule, image, out_window));
	if (!dfg_shape_fits(&DFG_SHAPE_VECTOR(image->dim[3]), &DFG_SHAPE_VECTOR(filter->dim[2])))
		return DFG_ERR(DFG_DATA, "the image has shape %s and the filter %s, expected equal channels",
			dfg_shape_words(image).s, dfg_shape_words(filter).s);
	return NULL;
}

static struct dfg_err *dilation_shape(struct dfg_infer *node)
{
	struct dfg_window window;
	DFG_TRY(fit(node->call, node->in[INPUT], node->in[FILTER], &window));
	node->out[0] = dfg_window_out(&window, window.channels);
	return NULL;
}

static struct dfg_err *back_shape(struct dfg_infer *node, int i)
{
	struct dfg_window window;
	DFG_TRY(fit(node->call, node->in[INPUT], node->in[FILTER], &window));
	const struct dfg_shape grad = dfg_window_out(&window, window.channels);
	if (!dfg_shape_fits(node->in[OUT_BACKPROP], &grad))
		return DFG_ERR(DFG_DATA, "'out_backprop' has shape %s, expected %s", dfg_shape_words(node->in[OUT_BACKPROP]).s,
			dfg_shape_words(&grad).s);
	node->out[0] = *node->in[i];
	return NULL;
}

static struct dfg_err *input_shape(struct dfg_infer *node)
{
	return back_shape(node, INPUT);
}

static struct dfg_err *filter_shape(struct dfg_infer *node)
{
	return back_shape(node, FILTER);
}

static dfg_range_fn *const dilate_of[DFG_DTYPES] = {DFG_EACH_number(DFG_BY_DTYPE, dilate)};
static dfg_range_fn *const backward_of[DFG_DTYPES] = {DFG_EACH_number(DFG_BY_DTYPE, backward)};

static struct dfg_err *work_of(struct dfg_kernel *ctx, struct work *work, struct dfg_tensor **out_tensor)
{
	work->in = ctx->in[INPUT]->data;
	work->filter = ctx->in[FILTER]->data;
	DFG_TRY(dfg_output_now(ctx, out_tensor));
	work->out = (*out_tensor)->data;
	return fit(ctx->call, &ctx->in[INPUT]->shape, &ctx->in[FILTER]->shape, &work->window);
}

static struct dfg_err *dilation(struct dfg_kernel *ctx)
{
	struct work work = {0};
	struct dfg_tensor *out;
	DFG_TRY(work_of(ctx, &work, &out));
	if (dfg_shape_count(&out->shape))
		dfg_kernel_ranges(ctx, work.window.batch * dfg_window_positions(&work.window),
			dfg_kernel_block(dfg_window_size(&work.window) * work.window.channels, WORK), dilate_of[out->dtype], &work);
	return NULL;
}

static struct dfg_err *back(struct dfg_kernel *ctx, bool of_filter)
{
	struct work work = {.grad = ctx->in[OUT_BACKPROP]->data, .of_filter = of_filter};
	struct dfg_tensor *out;
	DFG_TRY(work_of(ctx, &work, &out));
	memset(out->data, 0, dfg_tensor_bytes(out));
	const struct dfg_window *window = &work.window;
	int64_t each = dfg_window_positions(window) * dfg_window_size(window);
	int64_t parts = of_filter ? window->channels : window->batch;
	if (dfg_shape_count(&ctx->in[OUT_BACKPROP]->shape))
		dfg_kernel_ranges(ctx, parts, dfg_kernel_block(each * (of_filter ? window->batch : window->channels), WORK),
			backward_of[out->dtype], &work);
	return NULL;
}

static struct dfg_err *back_input(struct dfg_kernel *ctx)
{
	return back(ctx, false);
}

static struct dfg_err *back_filter(struct dfg_kernel *ctx)
{
	return back(ctx, true);
}

#define ATTRS                                                                     \
	{                                                                             \
		[STRIDES] = "strides: list(int) >= 4", [RATES] = "rates: list(int) >= 4", \
		[PADDING] = "padding: string in SAME|VALID"                               \
	}
#define SAME "doutput, strides = strides, rates = rates, padding = padding)"

const struct dfg_op dfg_op_Dilation2D = {
	.name = "Dilation2D",
	.doc = "the largest sum of a filter and the pixels under it, as it moves over images",
	.sig = "<T: number>(input: T, filter: T) -> (output: T)",
	.attr = ATTRS,
	.shape = dilation_shape,
	.gradient = "dinput = Dilation2DBackpropInput(input, filter, " SAME
				"\ndfilter = Dilation2DBackpropFilter(input, filter, " SAME,
	.kernel = {DFG_EACH_number(DFG_FOR_DTYPE, dilation)},
};

const struct dfg_op dfg_op_Dilation2DBackpropInput = {
	.name = "Dilation2DBackpropInput",
	.doc = "gradient of Dilation2D with respect to the images",
	.sig = "<T: number>(input: T, filter: T, out_backprop: T) -> (in_backprop: T)",
	.attr = ATTRS,
	.flags = DFG_NO_GRADIENT,
	.shape = input_shape,
	.kernel = {DFG_EACH_number(DFG_FOR_DTYPE, back_input)},
};

const struct dfg_op dfg_op_Dilation2DBackpropFilter = {
	.name = "Dilation2DBackpropFilter",
	.doc = "gradient of Dilation2D with respect to the filter",
	.sig = "<T: number>(input: T, filter: T, out_backprop: T) -> (filter_backprop: T)",
	.attr = ATTRS,
	.flags = DFG_NO_GRADIENT,
	.shape = filter_shape,
	.kernel = {DFG_EACH_number(DFG_FOR_DTYPE, back_filter)},
};
