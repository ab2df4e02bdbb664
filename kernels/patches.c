#include "kernels/shape_rules.h"
#include "kernels/window.h"

#include <string.h>

/* Patches of images [batch, height, width, channels], and of volumes: the pixels under a window, as the channels of a pixel. */
enum { KSIZES, STRIDES, PADDING, RATES }; /* attributes; volumes have no rates */

struct work {
	struct dfg_window window;
	const char *in;
	char *out;
	size_t pixel; /* bytes */
};

/* Where strides pass over pixels at both ends of a volume, SAME leaves out as many before as after, as TensorFlow does. */
static void center(struct dfg_window *window)
{
	for (int a = 0; a < DFG_AXES; a++) {
		struct dfg_axis *axis = &window->axis[a];
		int64_t missing = (axis->out - 1) * axis->stride + axis->size - axis->in;
		if (axis->out > 0 && axis->in >= 0 && axis->size >= 0 && missing < 0)
			axis->before = missing / 2;
	}
}

static struct dfg_err *fit(
	const struct dfg_resolved_node *call, const struct dfg_shape *image, struct dfg_window *out_window)
{
	const union dfg_value *attr = call->attr;
	const struct dfg_string format = {call->op->attr[RATES] ? "NHWC" : "NDHWC", call->op->attr[RATES] ? 4 : 5};
	struct dfg_window_rule rule = {0};
	DFG_TRY(dfg_window_format(format, attr[PADDING].s, &rule));
	DFG_TRY(dfg_window_list(attr[KSIZES].list, "ksizes", rule.rank, rule.size));
	DFG_TRY(dfg_window_list(attr[STRIDES].list, "strides", rule.rank, rule.stride));
	DFG_TRY(dfg_window_list(call->op->attr[RATES] ? attr[RATES].list : NULL, "rates", rule.rank, rule.dilation));
	DFG_TRY(dfg_window_only_space(&rule, "ksizes", rule.rank - 1));
	DFG_TRY(dfg_window_fit(&rule, image, out_window));
	if (rule.rank == 5 && rule.padding == DFG_SAME)
		center(out_window);
	return NULL;
}

static struct dfg_err *patches_shape(struct dfg_infer *node)
{
	struct dfg_window window;
	int64_t channels, plane;
	DFG_TRY(fit(node->call, node->in[0], &window));
	DFG_TRY(dfg_dim_product(window.axis[0].size, window.axis[1].size, &plane));
	DFG_TRY(dfg_dim_product(plane, window.axis[2].size, &plane));
	DFG_TRY(dfg_dim_product(plane, window.channels, &channels));
	node->out[0] = dfg_window_out(&window, channels);
	return NULL;
}

/* The pixel under the window's pixel `tap` at a position; NULL for padding. */
static const char *source(const struct work *work, int64_t position, int64_t tap)
{
	int64_t pixel = 0, scale = 1;
	for (int a = DFG_AXES - 1; a >= 0; a--) {
		const struct dfg_axis *axis = &work->window.axis[a];
		int64_t at = position % axis->out * axis->stride - axis->before + tap % axis->size * axis->dilation;
		if (at < 0 || at >= axis->in)
			return NULL;
		pixel += at * scale;
		scale *= axis->in;
		position /= axis->out;
		tap /= axis->size;
	}
	return work->in + (size_t)(position * scale + pixel) * work->pixel; /* position is now the image's number */
}

static void extract(void *arg, int64_t first, int64_t last)
{
	const struct work *work = arg;
	int64_t taps = dfg_window_size(&work->window);
	char *to = work->out + (size_t)(first * taps) * work->pixel;
	for (int64_t p = first; p < last; p++)
		for (int64_t tap = 0; tap < taps; tap++, to += work->pixel) {
			const char *from = source(work, p, tap);
			if (from)
				memcpy(to, from, work->pixel);
			else
				memset(to, 0, work->pixel);
		}
}

static struct dfg_err *patches(struct dfg_kernel *ctx)
{
	const struct dfg_tensor *in = dfg_kernel_input(ctx, 0);
	struct work work = {.in = in->data};
	struct dfg_tensor *out;
	DFG_TRY(dfg_output_now(ctx, &out));
	DFG_TRY(fit(ctx->call, &in->shape, &work.window));
	work.out = out->data;
	work.pixel = (size_t)work.window.channels * dfg_dtype_size(in->dtype);
	int64_t each = dfg_window_size(&work.window) * (work.window.channels + 8);
	if (dfg_shape_count(&out->shape))
		dfg_kernel_ranges(ctx, work.window.batch * dfg_window_positions(&work.window),
			dfg_kernel_block(each, 16 * 1024), extract, &work);
	return NULL;
}

/* Patches of an image whose pixels are numbered from 1 give the pixel of each element, or 0 for padding. */
#define GRADIENT(input, op, axes, attrs)                                              \
	"size = Shape(" input                                                             \
	")\n"                                                                             \
	"inner = Slice(size, [1], [" axes                                                 \
	"])\n"                                                                            \
	"count = Prod(inner, [0])\n"                                                      \
	"numbers = Reshape(Range(1, count + 1, 1), ConcatV2([[1], inner], 0))\n"          \
	"places = Reshape(" op "(numbers, " attrs                                         \
	"), [-1]) - 1\n"                                                                  \
	"rows = Reshape(dpatches, ConcatV2([Slice(size, [0], [1]), Shape(places)], 0))\n" \
	"sums = UnsortedSegmentSum(Transpose(rows, [1, 0]), places, count)\n"             \
	"d" input " = Reshape(Transpose(sums, [1, 0]), size)"

const struct dfg_op dfg_op_ExtractImagePatches = {
	.name = "ExtractImagePatches",
	.doc = "the pixels under a window that moves over images, as channels",
	.sig = "<T: plain>(images: T) -> (patches: T)",
	.attr = {[KSIZES] = "ksizes: list(int) >= 4",
		[STRIDES] = "strides: list(int) >= 4",
		[PADDING] = "padding: string in SAME|VALID",
		[RATES] = "rates: list(int) >= 4"},
	.flags = DFG_EXACT,
	.shape = patches_shape,
	.gradient = GRADIENT(
		"images", "ExtractImagePatches", "3", "ksizes = ksizes, strides = strides, rates = rates, padding = padding"),
	.run = patches,
};

const struct dfg_op dfg_op_ExtractVolumePatches = {
	.name = "ExtractVolumePatches",
	.doc = "the pixels under a window that moves over volumes, as channels",
	.sig = "<T: plain>(input: T) -> (patches: T)",
	.attr = {[KSIZES] = "ksizes: list(int) >= 5",
		[STRIDES] = "strides: list(int) >= 5",
		[PADDING] = "padding: string in SAME|VALID"},
	.flags = DFG_EXACT,
	.shape = patches_shape,
	.gradient = GRADIENT("input", "ExtractVolumePatches", "4", "ksizes = ksizes, strides = strides, padding = padding"),
	.run = patches,
};
