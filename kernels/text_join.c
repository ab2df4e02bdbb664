/* Strings of a tensor joined: ReduceJoin over axes, UnsortedSegmentJoin by segment. */
#include "kernels/shape_rules.h"
#include "lib/base/text.h"

#include <inttypes.h>
#include <string.h>

enum { KEEP_DIMS, SEPARATOR };

static void put_part(struct dfg_text *text, struct dfg_string part, struct dfg_string separator, bool first)
{
	if (!first)
		dfg_text_put(text, separator.s, separator.length);
	dfg_text_put(text, part.s, part.length);
}

/* The axes in the order in which they are listed. */
struct axes {
	int count, axis[DFG_RANK_MAX];
	bool reduced[DFG_RANK_MAX];
};

static struct dfg_err *add_axis(struct axes *axes, int64_t axis, int rank)
{
	int at;
	DFG_TRY(dfg_axis(axis, rank, &at));
	if (axes->reduced[at])
		return DFG_ERR(DFG_DATA, "axis %d is listed twice", at);
	axes->reduced[at] = true;
	axes->axis[axes->count++] = at;
	return NULL;
}

static struct dfg_shape without_axes(const struct dfg_shape *in, const struct axes *axes, bool keep)
{
	struct dfg_shape out = {.rank = 0};
	for (int d = 0; d < in->rank; d++)
		if (!axes->reduced[d] || keep)
			out.dim[out.rank++] = axes->reduced[d] ? 1 : in->dim[d];
	return out;
}

static struct dfg_err *reduce_shape(struct dfg_infer *node)
{
	struct axes axes = {0};
	int64_t count = dfg_length_of(node, 1);
	bool known = count >= 0, keep = node->call->attr[KEEP_DIMS].b;
	for (int64_t i = 0; known && i < count; i++)
		known = dfg_int_of(node, 1, i) != DFG_NOT_KNOWN;
	if (!known) {
		node->out[0] = DFG_SHAPE_UNKNOWN;
		for (int d = 0; keep && d < node->in[0]->rank; d++)
			node->out[0].dim[d] = DFG_UNKNOWN;
		node->out[0].rank = keep ? node->in[0]->rank : DFG_UNKNOWN;
		return NULL;
	}
	for (int64_t i = 0; node->in[0]->rank && i < count; i++)
		DFG_TRY(add_axis(&axes, dfg_int_of(node, 1, i), node->in[0]->rank));
	node->out[0] = without_axes(node->in[0], &axes, keep);
	return NULL;
}

/* The distance between elements that follow each other along each axis. */
static void strides_of(const struct dfg_shape *shape, int64_t stride[DFG_RANK_MAX])
{
	int64_t step = 1;
	for (int d = shape->rank - 1; d >= 0; d--) {
		stride[d] = step;
		step *= shape->dim[d];
	}
}

/* The offset of the i-th element of a walk over the axes, the last of which changes fastest. */
static int64_t offset_of(const struct dfg_shape *shape, const int64_t *stride, const int *axis, int count, int64_t i)
{
	int64_t at = 0;
	for (int k = count - 1; k >= 0; k--) {
		at += i % shape->dim[axis[k]] * stride[axis[k]];
		i /= shape->dim[axis[k]];
	}
	return at;
}

static struct dfg_err *join_elements(struct dfg_kernel *ctx, const struct axes *axes, struct dfg_text *text)
{
	const struct dfg_tensor *in = ctx->in[0];
	const struct dfg_string *string = in->data;
	struct dfg_string separator = dfg_kernel_attr(ctx)[SEPARATOR].s;
	int64_t stride[DFG_RANK_MAX], parts = 1;
	int kept[DFG_RANK_MAX], n_kept = 0, walked[DFG_RANK_MAX];
	strides_of(&in->shape, stride);
	for (int d = 0; d < in->shape.rank; d++)
		if (!axes->reduced[d])
			kept[n_kept++] = d;
	for (int k = 0; k < axes->count; k++) {
		walked[axes->count - 1 - k] = axes->axis[k];
		parts *= in->shape.dim[axes->axis[k]];
	}
	for (int64_t i = 0; i < dfg_shape_count(&ctx->out[0]->shape); i++) {
		int64_t base = offset_of(&in->shape, stride, kept, n_kept, i);
		text->length = 0;
		for (int64_t p = 0; p < parts; p++)
			put_part(text, string[base + offset_of(&in->shape, stride, walked, axes->count, p)], separator, !p);
		DFG_TRY(dfg_text_check(text));
		DFG_TRY(dfg_kernel_string(ctx, 0, i, text->s, text->length));
	}
	return NULL;
}

static struct dfg_err *reduce_run(struct dfg_kernel *ctx)
{
	struct dfg_text text = {0};
	struct axes axes = {0};
	struct dfg_tensor *out;
	DFG_TRY(dfg_output_now(ctx, &out));
	for (int64_t i = 0; ctx->in[0]->shape.rank && i < dfg_shape_count(&ctx->in[1]->shape); i++)
		DFG_TRY(add_axis(&axes, dfg_tensor_int(ctx->in[1], i), ctx->in[0]->shape.rank));
	struct dfg_err *err = join_elements(ctx, &axes, &text);
	dfg_text_release(&text);
	return err;
}

const struct dfg_op dfg_op_ReduceJoin = {
	.name = "ReduceJoin",
	.doc = "the strings along the axes joined; the axis that is listed first changes fastest",
	.sig = "(inputs: string, reduction_indices: i32) -> (output: string)",
	.attr = {[KEEP_DIMS] = "keep_dims: bool = false", [SEPARATOR] = "separator: string = ''"},
	.flags = DFG_NO_GRADIENT | DFG_EXACT,
	.shape = reduce_shape,
	.run = reduce_run,
};

enum { INPUTS, IDS, NUMBER };

static struct dfg_err *segment_shape(struct dfg_infer *node)
{
	const struct dfg_shape *in = node->in[INPUTS], *ids = node->in[IDS];
	int64_t number = dfg_int_of(node, NUMBER, 0);
	DFG_TRY(dfg_need_rank(node, NUMBER, 0));
	if (!ids->rank)
		return DFG_ERR(DFG_DATA, "segment_ids is a scalar, expected at least a vector");
	for (int d = 0; d < ids->rank; d++)
		if (d >= in->rank || (in->dim[d] >= 0 && ids->dim[d] >= 0 && in->dim[d] != ids->dim[d]))
			return DFG_ERR(DFG_DATA, "segment_ids has shape %s, expected the first dimensions of inputs %s",
				dfg_shape_words(ids).s, dfg_shape_words(in).s);
	if (number != DFG_NOT_KNOWN && number < 0)
		return DFG_ERR(DFG_DATA, "num_segments is %" PRId64 ", expected at least 0", number);
	node->out[0] = (struct dfg_shape){.rank = 1, .dim = {number == DFG_NOT_KNOWN ? DFG_UNKNOWN : number}};
	if (in->rank - ids->rank + 1 > DFG_RANK_MAX)
		return DFG_ERR(DFG_DATA, "the result would have more than %d dimensions", DFG_RANK_MAX);
	for (int d = ids->rank; d < in->rank; d++)
		node->out[0].dim[node->out[0].rank++] = in->dim[d];
	size_t bytes;
	return dfg_shape_known(&node->out[0]) ? dfg_shape_bytes(&node->out[0], DFG_STRING, &bytes) : NULL;
}

/* The rows of each segment in order, as lists: first[segment] and next[row]; -1 ends one. */
struct segments {
	int64_t *first, *next;
};

static struct dfg_err *list_rows(struct dfg_kernel *ctx, int64_t segments, struct segments *out)
{
	const struct dfg_tensor *ids = ctx->in[IDS];
	int64_t rows = dfg_shape_count(&ids->shape);
	void *first, *next;
	DFG_TRY(dfg_kernel_scratch(ctx, ((size_t)segments + 1) * sizeof *out->first, &first));
	DFG_TRY(dfg_kernel_scratch(ctx, ((size_t)rows + 1) * sizeof *out->next, &next));
	*out = (struct segments){first, next};
	for (int64_t s = 0; s < segments; s++)
		out->first[s] = -1;
	for (int64_t row = rows - 1; row >= 0; row--) {
		int64_t id = dfg_tensor_int(ids, row);
		if (id < 0 || id >= segments)
			return DFG_ERR(DFG_DATA, "element %" PRId64 " of segment_ids is %" PRId64 ", outside [0,%" PRId64 ")", row,
				id, segments);
		out->next[row] = out->first[id];
		out->first[id] = row;
	}
	return NULL;
}

/* As in TensorFlow, there is no separator after empty strings at the beginning. */
static struct dfg_err *join_segments(struct dfg_kernel *ctx, const struct segments *list, struct dfg_text *text)
{
	const struct dfg_string *string = ctx->in[INPUTS]->data;
	const struct dfg_shape *in = &ctx->in[INPUTS]->shape;
	int64_t inner = dfg_count_between(in, ctx->in[IDS]->shape.rank, in->rank);
	for (int64_t i = 0; i < dfg_shape_count(&ctx->out[0]->shape); i++) {
		text->length = 0;
		for (int64_t row = list->first[i / inner]; row >= 0; row = list->next[row])
			put_part(text, string[row * inner + i % inner], dfg_kernel_attr(ctx)[0].s, !text->length);
		DFG_TRY(dfg_text_check(text));
		DFG_TRY(dfg_kernel_string(ctx, 0, i, text->s, text->length));
	}
	return NULL;
}

static struct dfg_err *segment_run(struct dfg_kernel *ctx)
{
	struct dfg_text text = {0};
	struct segments list;
	struct dfg_tensor *out;
	DFG_TRY(dfg_output_now(ctx, &out));
	DFG_TRY(list_rows(ctx, out->shape.dim[0], &list));
	struct dfg_err *err = join_segments(ctx, &list, &text);
	dfg_text_release(&text);
	return err;
}

const struct dfg_op dfg_op_UnsortedSegmentJoin = {
	.name = "UnsortedSegmentJoin",
	.doc = "the strings of each segment joined in order",
	.sig =
		"<Tindices: index, Tnumsegments: index = i32>(inputs: string, segment_ids: Tindices, num_segments: "
		"Tnumsegments) -> (output: string)",
	.attr = {"separator: string = ''"},
	.flags = DFG_NO_GRADIENT | DFG_EXACT,
	.shape = segment_shape,
	.run = segment_run,
};
