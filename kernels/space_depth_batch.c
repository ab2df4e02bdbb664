/* Blocks of pixels rearranged as channels (SpaceToDepth) or as a batch (SpaceToBatchND), and back. */
#include "kernels/strided_copy.h"
#include "kernels/shape_rules.h"
#include "kernels/row_rules.h"

#include <inttypes.h>
#include <string.h>

enum { BLOCK_SIZE, DATA_FORMAT };

/* The dimensions of an image that are height, width and channels. */
struct layout {
	int height, width, channels;
	bool vector; /* NCHW_VECT_C: the channels are dimensions 1 and 4 */
};

static struct dfg_err *layout_of(
	const struct dfg_resolved_node *call, const struct dfg_shape *in, struct layout *out_layout)
{
	const struct dfg_string format = call->attr[DATA_FORMAT].s;
	if (format.length > strlen("NCHW"))
		return DFG_ERR(DFG_DATA, "data_format is NCHW_VECT_C, must be NHWC or NCHW");
	if (in->rank != 4)
		return DFG_ERR(DFG_DATA, "input has shape %s, expected 4 dimensions", dfg_shape_words(in).s);
	*out_layout = format.s[1] == 'C' ? (struct layout){2, 3, 1, false} : (struct layout){1, 2, 3, false};
	return NULL;
}

static struct dfg_err *depth_shape(const struct dfg_infer *node, bool to_depth)
{
	const struct dfg_shape *in = node->in[0];
	int64_t block = node->call->attr[BLOCK_SIZE].i, area;
	struct layout at;
	DFG_TRY(layout_of(node->call, in, &at));
	DFG_TRY(dfg_dim_product(block, block, &area));
	struct dfg_shape *out = &node->out[0];
	*out = *in;
	int64_t height = in->dim[at.height], width = in->dim[at.width], channels = in->dim[at.channels];
	if (to_depth ? (height >= 0 && height % block) || (width >= 0 && width % block) : channels >= 0 && channels % area)
		return DFG_ERR(DFG_DATA, "%s cannot be divided into blocks of %" PRId64, dfg_shape_words(in).s, block);
	if (to_depth) {
		out->dim[at.height] = height < 0 ? height : height / block;
		out->dim[at.width] = width < 0 ? width : width / block;
		return dfg_dim_product(channels, area, &out->dim[at.channels]);
	}
	out->dim[at.channels] = channels < 0 ? channels : channels / area;
	DFG_TRY(dfg_dim_product(height, block, &out->dim[at.height]));
	return dfg_dim_product(width, block, &out->dim[at.width]);
}

static struct dfg_err *space_to_depth_shape(struct dfg_infer *node)
{
	return depth_shape(node, true);
}

static struct dfg_err *depth_to_space_shape(struct dfg_infer *node)
{
	return depth_shape(node, false);
}

/*
 * Copies between `space`, the tensor of pixels, and `depth`, whose channels are the pixels of a block, then channels.
 */
static struct dfg_strided_box depth_box(
	const struct dfg_shape *space, const struct dfg_shape *depth, const struct layout *at, int64_t block, bool to_depth)
{
	int64_t s[DFG_RANK_MAX], d[DFG_RANK_MAX];
	int64_t channels = space->dim[at->channels];
	dfg_steps(space, s);
	dfg_steps(depth, d);
	struct {
		int64_t dim, space, depth;
	} axis[] = {
		{space->dim[0], s[0], d[0]},
		{depth->dim[at->height], s[at->height] * block, d[at->height]},
		{block, s[at->height], d[at->channels] * channels * block},
		{depth->dim[at->width], s[at->width] * block, d[at->width]},
		{block, s[at->width], d[at->channels] * channels},
		{channels, s[at->channels], d[at->channels]},
	};
	struct dfg_strided_box box = {0};
	for (size_t i = 0; i < sizeof axis / sizeof *axis; i++)
		dfg_box_axis(
			&box, axis[i].dim, to_depth ? axis[i].space : axis[i].depth, to_depth ? axis[i].depth : axis[i].space);
	return box;
}

static struct dfg_err *depth_run(struct dfg_kernel *ctx, bool to_depth)
{
	const struct dfg_tensor *in = dfg_kernel_input(ctx, 0);
	struct layout layout;
	struct dfg_tensor *out;
	DFG_TRY(dfg_output_now(ctx, &out));
	DFG_TRY(layout_of(ctx->call, &in->shape, &layout));
	const struct dfg_shape *space = to_depth ? &in->shape : &out->shape, *depth = to_depth ? &out->shape : &in->shape;
	struct dfg_strided_box box = depth_box(space, depth, &layout, ctx->call->attr[BLOCK_SIZE].i, to_depth);
	dfg_box_copy(ctx, dfg_dtype_size(in->dtype), box, in->data, out->data);
	return dfg_moved(ctx, 0);
}

static struct dfg_err *space_to_depth_run(struct dfg_kernel *ctx)
{
	return depth_run(ctx, true);
}

static struct dfg_err *depth_to_space_run(struct dfg_kernel *ctx)
{
	return depth_run(ctx, false);
}

#define DEPTH_ATTRS                                                              \
	{                                                                            \
		[BLOCK_SIZE] = "block_size: int >= 2",                                   \
		[DATA_FORMAT] = "data_format: string = 'NHWC' in NHWC|NCHW|NCHW_VECT_C", \
	}

const struct dfg_op dfg_op_SpaceToDepth = {
	.name = "SpaceToDepth",
	.doc = "each block of pixels as the channels of one pixel",
	.sig = "<T: type>(input: T) -> (output: T)",
	.attr = DEPTH_ATTRS,
	.flags = DFG_EXACT,
	.shape = space_to_depth_shape,
	.rows = dfg_rows_first,
	.gradient = "dinput = DepthToSpace(doutput, block_size = block_size, data_format = data_format)",
	.run = space_to_depth_run,
};

const struct dfg_op dfg_op_DepthToSpace = {
	.name = "DepthToSpace",
	.doc = "the channels of each pixel as a block of pixels",
	.sig = "<T: type>(input: T) -> (output: T)",
	.attr = DEPTH_ATTRS,
	.flags = DFG_EXACT,
	.shape = depth_to_space_shape,
	.rows = dfg_rows_first,
	.gradient = "dinput = SpaceToDepth(doutput, block_size = block_size, data_format = data_format)",
	.run = depth_to_space_run,
};

enum { INPUT, BLOCK_SHAPE, EDGES };

/* The block sizes of dimensions 1 to n, and the elements added (or cropped) before and after each. */
struct blocks {
	int n;
	int64_t size[DFG_RANK_MAX], before[DFG_RANK_MAX], after[DFG_RANK_MAX], product;
	bool known;
};

/* Also begins the result's shape: the input's, all sizes unknown where the blocks are. */
static struct dfg_err *blocks_of(struct dfg_infer *node, struct blocks *out_blocks)
{
	const struct dfg_shape *in = node->in[INPUT], *edges = node->in[EDGES];
	int64_t n = dfg_length_of(node, BLOCK_SHAPE);
	DFG_TRY(dfg_need_rank(node, BLOCK_SHAPE, 1));
	*out_blocks = (struct blocks){.n = (int)n, .product = 1, .known = n >= 0};
	if (n > DFG_RANK_MAX || (in->rank >= 0 && n >= in->rank))
		return DFG_ERR(DFG_DATA, "block_shape has %" PRId64 " numbers, expected fewer than the dimensions of input, %s",
			n, dfg_shape_words(in).s);
	if (edges->rank >= 0 && n >= 0 && !dfg_shape_fits(edges, &(struct dfg_shape){2, {n, 2}}))
		return DFG_ERR(DFG_DATA, "%s has shape %s, expected [%" PRId64 ",2]", node->call->signature->in[EDGES].name,
			dfg_shape_words(edges).s, n);
	for (int d = 0; d < n; d++) {
		int64_t size = dfg_int_of(node, BLOCK_SHAPE, d), before = dfg_int_of(node, EDGES, 2 * d);
		int64_t after = dfg_int_of(node, EDGES, 2 * d + 1);
		out_blocks->known &= size != DFG_NOT_KNOWN && before != DFG_NOT_KNOWN && after != DFG_NOT_KNOWN;
		if (out_blocks->known && size < 1)
			return DFG_ERR(DFG_DATA, "dimension %d has block size %" PRId64 ", expected at least 1", d + 1, size);
		if (out_blocks->known && (before < 0 || after < 0))
			return DFG_ERR(DFG_DATA, "%s of dimension %d are %" PRId64 " and %" PRId64 ", expected at least 0",
				node->call->signature->in[EDGES].name, d + 1, before, after);
		out_blocks->size[d] = size;
		out_blocks->before[d] = before;
		out_blocks->after[d] = after;
		if (out_blocks->known)
			DFG_TRY(dfg_dim_product(out_blocks->product, size, &out_blocks->product));
	}
	node->out[0] = *in;
	for (int d = 0; !out_blocks->known && d < in->rank; d++)
		node->out[0].dim[d] = DFG_UNKNOWN;
	return NULL;
}

static struct dfg_err *to_batch_shape(struct dfg_infer *node)
{
	const struct dfg_shape *in = node->in[INPUT];
	struct blocks b;
	DFG_TRY(blocks_of(node, &b));
	if (!b.known || in->rank < 0)
		return NULL;
	for (int d = 0; d < b.n; d++) {
		int64_t dim = in->dim[d + 1];
		if (dim >= 0 &&
			(__builtin_add_overflow(dim, b.before[d], &dim) || __builtin_add_overflow(dim, b.after[d], &dim)))
			return DFG_ERR(DFG_DATA, "dimension %d with its padding is more than 2^63 - 1", d + 1);
		if (dim >= 0 && dim % b.size[d])
			return DFG_ERR(DFG_DATA,
				"dimension %d, %" PRId64 " with its padding, is not a multiple of block size %" PRId64, d + 1, dim,
				b.size[d]);
		node->out[0].dim[d + 1] = dim < 0 ? DFG_UNKNOWN : dim / b.size[d];
	}
	return dfg_dim_product(in->dim[0], b.product, &node->out[0].dim[0]);
}

static struct dfg_err *from_batch_shape(struct dfg_infer *node)
{
	const struct dfg_shape *in = node->in[INPUT];
	struct blocks b;
	DFG_TRY(blocks_of(node, &b));
	if (!b.known || in->rank < 0)
		return NULL;
	if (in->dim[0] >= 0 && in->dim[0] % b.product)
		return DFG_ERR(
			DFG_DATA, "a batch of %" PRId64 " is not a multiple of block size %" PRId64, in->dim[0], b.product);
	node->out[0].dim[0] = in->dim[0] < 0 ? DFG_UNKNOWN : in->dim[0] / b.product;
	for (int d = 0; d < b.n; d++) {
		int64_t dim;
		DFG_TRY(dfg_dim_product(in->dim[d + 1], b.size[d], &dim));
		if (dim >= 0 && (b.before[d] > dim || b.after[d] > dim - b.before[d]))
			return DFG_ERR(DFG_DATA,
				"cannot crop %" PRId64 " and %" PRId64 " elements from the ends of dimension %d, which has %" PRId64,
				b.before[d], b.after[d], d + 1, dim);
		node->out[0].dim[d + 1] = dim < 0 ? DFG_UNKNOWN : dim - b.before[d] - b.after[d];
	}
	return NULL;
}

static int64_t ceil_div(int64_t a, int64_t b)
{
	return a <= 0 ? 0 : (a + b - 1) / b;
}

/*
 * Pixel `offset` of block j along a dimension is at j in the tensor of blocks, and at j * size + offset - before in the
 * tensor of pixels. For one offset along each dimension, the pixels inside the latter are a box.
 */
struct corner {
	const struct dfg_tensor *space, *batch; /* the tensor of pixels, and that of blocks */
	const struct dfg_tensor *sizes, *edges;
	bool to_batch;
};

static void copy_corner(struct dfg_kernel *ctx, const struct corner *c, int64_t number)
{
	int64_t s[DFG_RANK_MAX], t[DFG_RANK_MAX], n = dfg_shape_count(&c->sizes->shape), remainder = number;
	const struct dfg_shape *space = &c->space->shape;
	dfg_steps(space, s);
	dfg_steps(&c->batch->shape, t);
	int64_t in_space = 0, in_batch = number * space->dim[0] * t[0];
	struct dfg_strided_box box = {0};
	dfg_box_axis(&box, space->dim[0], c->to_batch ? s[0] : t[0], c->to_batch ? t[0] : s[0]);
	for (int d = (int)n - 1; d >= 0; d--) {
		int64_t size = dfg_tensor_int(c->sizes, d), before = dfg_tensor_int(c->edges, 2 * d);
		int64_t offset = remainder % size - before, dim = space->dim[d + 1];
		remainder /= size;
		int64_t first = ceil_div(-offset, size), last = ceil_div(dim - offset, size);
		in_space += (first * size + offset) * s[d + 1];
		in_batch += first * t[d + 1];
		dfg_box_axis(&box, last > first ? last - first : 0, c->to_batch ? s[d + 1] * size : t[d + 1],
			c->to_batch ? t[d + 1] : s[d + 1] * size);
	}
	for (int d = (int)n + 1; d < space->rank; d++)
		dfg_box_axis(&box, space->dim[d], c->to_batch ? s[d] : t[d], c->to_batch ? t[d] : s[d]);
	for (int i = 0; i < box.rank; i++)
		if (!box.dim[i])
			return;
	const void *in = c->to_batch ? dfg_tensor_at(c->space, in_space) : dfg_tensor_at(c->batch, in_batch);
	void *out = c->to_batch ? dfg_tensor_at(c->batch, in_batch) : dfg_tensor_at(c->space, in_space);
	dfg_box_copy(ctx, dfg_dtype_size(c->space->dtype), box, in, out);
}

static struct dfg_err *blocks_run(struct dfg_kernel *ctx, bool to_batch)
{
	const struct dfg_tensor *in = dfg_kernel_input(ctx, INPUT), *sizes = dfg_kernel_input(ctx, BLOCK_SHAPE);
	struct dfg_tensor *out;
	int64_t product = 1;
	DFG_TRY(dfg_output_now(ctx, &out));
	memset(out->data, 0, dfg_tensor_bytes(out));
	struct corner corner = {to_batch ? in : out, to_batch ? out : in, sizes, dfg_kernel_input(ctx, EDGES), to_batch};
	for (int64_t d = 0; d < dfg_shape_count(&sizes->shape); d++)
		product *= dfg_tensor_int(sizes, d);
	if (dfg_shape_count(&in->shape) && dfg_shape_count(&out->shape))
		for (int64_t number = 0; number < product; number++)
			copy_corner(ctx, &corner, number);
	return dfg_moved(ctx, 0);
}

static struct dfg_err *to_batch_run(struct dfg_kernel *ctx)
{
	return blocks_run(ctx, true);
}

static struct dfg_err *from_batch_run(struct dfg_kernel *ctx)
{
	return blocks_run(ctx, false);
}

const struct dfg_op dfg_op_SpaceToBatchND = {
	.name = "SpaceToBatchND",
	.doc = "the padded input divided into blocks; the pixels at one offset of all blocks are an item of the batch",
	.sig =
		"<T: type, Tblock_shape: index = i32, Tpaddings: index = i32>"
		"(input: T, block_shape: Tblock_shape, paddings: Tpaddings) -> (output: T)",
	.flags = DFG_EXACT | DFG_KNOWS_MATRICES,
	.shape = to_batch_shape,
	.gradient = "dinput = BatchToSpaceND(doutput, block_shape, paddings)",
	.run = to_batch_run,
};

const struct dfg_op dfg_op_BatchToSpaceND = {
	.name = "BatchToSpaceND",
	.doc = "inverse of SpaceToBatchND: items of the batch become the pixels of blocks, and the result is cropped",
	.sig =
		"<T: type, Tblock_shape: index = i32, Tcrops: index = i32>"
		"(input: T, block_shape: Tblock_shape, crops: Tcrops) -> (output: T)",
	.flags = DFG_EXACT | DFG_KNOWS_MATRICES,
	.shape = from_batch_shape,
	.gradient = "dinput = SpaceToBatchND(doutput, block_shape, crops)",
	.run = from_batch_run,
};
