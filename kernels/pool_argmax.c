#include "kernels/shape_rules.h"
#include "kernels/window.h"

#include <string.h>

/*
 * MaxPoolWithArgmax: the largest elements of windows over images [batch, height, width, channels], and their places in the
 * flattened image, or in the whole batch. Of equal elements the first counts; a NaN counts only if it is the first.
 */
enum { KSIZE, STRIDES, PADDING, BATCH_INDEX }; /* attributes */

struct work {
	struct dfg_window window;
	const void *in;
	void *out, *argmax;
	bool wide, whole; /* places are i64, and in the whole batch */
};

static void put_place(const struct work *work, int64_t i, int64_t place)
{
	if (work->wide)
		((int64_t *)work->argmax)[i] = place;
	else
		((int32_t *)work->argmax)[i] = (int32_t)place;
}

static int64_t least(int64_t a, int64_t b)
{
	return a < b ? a : b;
}

/* Positions [first, last) of the windows over all images. A window always covers a pixel. */
#define MAXIMA(NAME, name, type, ...)                                                                  \
	static void maxima_##name(void *arg, int64_t first, int64_t last)                                  \
	{                                                                                                  \
		const struct work *work = arg;                                                                 \
		const struct dfg_axis *y = &work->window.axis[1], *x = &work->window.axis[2];                  \
		const int64_t n = work->window.channels, image = y->in * x->in * n;                            \
		for (int64_t p = first; p < last; p++) {                                                       \
			const int64_t at = p / (y->out * x->out) * image;                                          \
			const int64_t top = p / x->out % y->out * y->stride - y->before,                           \
						  left = p % x->out * x->stride - x->before;                                   \
			const int64_t row = top < 0 ? 0 : top, column = left < 0 ? 0 : left;                       \
			for (int64_t c = 0; c < n; c++) {                                                          \
				int64_t best = (row * x->in + column) * n + c;                                         \
				for (int64_t i = row; i < least(top + y->size, y->in); i++)                            \
					for (int64_t j = column; j < least(left + x->size, x->in); j++) {                  \
						const int64_t here = (i * x->in + j) * n + c;                                  \
						if (((const type *)work->in)[at + here] > ((const type *)work->in)[at + best]) \
							best = here;                                                               \
					}                                                                                  \
				((type *)work->out)[p * n + c] = ((const type *)work->in)[at + best];                  \
				put_place(work, p *n + c, best + (work->whole ? at : 0));                              \
			}                                                                                          \
		}                                                                                              \
	}
DFG_EACH_number(MAXIMA)

static dfg_range_fn *const maxima_of[DFG_DTYPES] = {DFG_EACH_number(DFG_BY_DTYPE, maxima)};

static struct dfg_err *fit(
	const struct dfg_resolved_node *call, const struct dfg_shape *image, struct dfg_window *out_window)
{
	const union dfg_value *attr = call->attr;
	struct dfg_window_rule rule = {0};
	DFG_TRY(dfg_window_format((struct dfg_string){"NHWC", 4}, attr[PADDING].s, &rule));
	DFG_TRY(dfg_window_list(NULL, "dilations", rule.rank, rule.dilation));
	DFG_TRY(dfg_window_list(attr[KSIZE].list, "ksize", rule.rank, rule.size));
	DFG_TRY(dfg_window_list(attr[STRIDES].list, "strides", rule.rank, rule.stride));
	DFG_TRY(dfg_window_only_space(&rule, "ksize", 3));
	return dfg_window_fit(&rule, image, out_window);
}

static struct dfg_err *pool_shape(struct dfg_infer *node)
{
	struct dfg_window window;
	DFG_TRY(fit(node->call, node->in[0], &window));
	node->out[0] = node->out[1] = dfg_window_out(&window, window.channels);
	return NULL;
}

static struct dfg_err *pool(struct dfg_kernel *ctx)
{
	const struct dfg_tensor *in = dfg_kernel_input(ctx, 0);
	struct work work = {.in = in->data, .whole = dfg_kernel_attr(ctx)[BATCH_INDEX].b};
	struct dfg_shape shape[2];
	struct dfg_tensor *out, *argmax;
	DFG_TRY(dfg_shapes_now(ctx, 2, shape));
	DFG_TRY(fit(ctx->call, &in->shape, &work.window));
	DFG_TRY(dfg_kernel_output(ctx, 0, &shape[0], &out));
	DFG_TRY(dfg_kernel_output(ctx, 1, &shape[1], &argmax));
	work.out = out->data;
	work.argmax = argmax->data;
	work.wide = argmax->dtype == DFG_I64;
	if (!work.wide && dfg_shape_count(&in->shape) > INT32_MAX)
		return DFG_ERR(DFG_DATA, "indices of the elements of %s do not fit in i32: set Targmax to i64",
			dfg_shape_words(&in->shape).s);
	int64_t each = dfg_window_size(&work.window) * work.window.channels;
	if (dfg_shape_count(&shape[0]))
		dfg_kernel_ranges(ctx, work.window.batch * dfg_window_positions(&work.window),
			dfg_kernel_block(each, 16 * 1024), maxima_of[in->dtype], &work);
	return NULL;
}

static struct dfg_err *grad_shape(struct dfg_infer *node)
{
	struct dfg_window window;
	DFG_TRY(fit(node->call, node->in[0], &window));
	const struct dfg_shape pooled = dfg_window_out(&window, window.channels);
	for (int i = 1; i < 3; i++)
		if (!dfg_shape_fits(node->in[i], &pooled))
			return DFG_ERR(DFG_DATA, "'%s' has shape %s, expected %s", node->call->signature->in[i].name,
				dfg_shape_words(node->in[i]).s, dfg_shape_words(&pooled).s);
	node->out[0] = *node->in[0];
	return NULL;
}

/* Adds the gradients of one image, or of the batch, to the elements at their places; false for a place outside. */
#define SCATTER(NAME, name, type, ...)                                                                         \
	static bool scatter_##name(                                                                                \
		const struct dfg_tensor *places, int64_t first, int64_t count, const void *grad, void *out, int64_t n) \
	{                                                                                                          \
		for (int64_t i = first; i < first + count; i++) {                                                      \
			const int64_t place = dfg_tensor_int(places, i);                                                   \
			if (place < 0 || place >= n)                                                                       \
				return false;                                                                                  \
			((type *)out)[place] += ((const type *)grad)[i];                                                   \
		}                                                                                                      \
		return true;                                                                                           \
	}
DFG_EACH_number(SCATTER)

static bool (*const scatter_of[DFG_DTYPES])(const struct dfg_tensor *places, int64_t first, int64_t count,
	const void *grad, void *out, int64_t n) = {DFG_EACH_number(DFG_BY_DTYPE, scatter)};

static struct dfg_err *pool_grad(struct dfg_kernel *ctx)
{
	const struct dfg_tensor *grad = dfg_kernel_input(ctx, 1), *places = dfg_kernel_input(ctx, 2);
	struct dfg_tensor *out;
	DFG_TRY(dfg_output_now(ctx, &out));
	memset(out->data, 0, dfg_tensor_bytes(out));
	int64_t images = out->shape.dim[0] && !dfg_kernel_attr(ctx)[BATCH_INDEX].b ? out->shape.dim[0] : 1;
	int64_t from = dfg_shape_count(&grad->shape) / images, to = dfg_shape_count(&out->shape) / images;
	for (int64_t b = 0; b < images; b++)
		if (!scatter_of[out->dtype](places, b * from, from, grad->data, dfg_tensor_at(out, b * to), to))
			return DFG_ERR(DFG_DATA, "'argmax' contains an index outside the %lld elements of %s", (long long)to,
				images > 1 ? "an image" : "the input");
	return NULL;
}

#define ATTRS                                                                                               \
	{                                                                                                       \
		[KSIZE] = "ksize: list(int) >= 4", [STRIDES] = "strides: list(int) >= 4",                           \
		[PADDING] = "padding: string in SAME|VALID", [BATCH_INDEX] = "include_batch_in_index: bool = false" \
	}

const struct dfg_op dfg_op_MaxPoolWithArgmax = {
	.name = "MaxPoolWithArgmax",
	.doc = "the largest element of a window that moves over images, and its index in the flattened image",
	.sig = "<T: number, Targmax: index = i64>(input: T) -> (output: T, argmax: Targmax)",
	.attr = ATTRS,
	.shape = pool_shape,
	.gradient =
		"dinput = MaxPoolGradWithArgmax(input, doutput, argmax, ksize = ksize, strides = strides, "
		"padding = padding, include_batch_in_index = include_batch_in_index)",
	.kernel = {DFG_EACH_number(DFG_FOR_DTYPE, pool)},
};

const struct dfg_op dfg_op_MaxPoolGradWithArgmax = {
	.name = "MaxPoolGradWithArgmax",
	.doc = "gradient of MaxPoolWithArgmax: added to the elements at the indices in argmax",
	.sig = "<T: number, Targmax: index>(input: T, grad: T, argmax: Targmax) -> (output: T)",
	.attr = ATTRS,
	.flags = DFG_NO_GRADIENT,
	.shape = grad_shape,
	.kernel = {DFG_EACH_number(DFG_FOR_DTYPE, pool_grad)},
};
