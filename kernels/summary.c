/* Summaries, which TensorBoard shows: messages of the protocol buffer tensorflow.Summary, written here field by field. */
#include "kernels/protobuf.h"
#include "kernels/shape_rules.h"
#include "kernels/tensor_message.h"
#include "lib/base/hash.h"
#include "lib/base/text.h"

#include <float.h>
#include <inttypes.h>
#include <math.h>
#include <string.h>

/* Fields: Summary.value; Value.tag, .simple_value, .histo, .tensor, .metadata; TensorProto.dtype, .shape, .content. */
enum { VALUE = 1, TAG = 1, SIMPLE = 2, HISTO = 5, TENSOR = 8, METADATA = 9, DTYPE = 1, SHAPE = 2, CONTENT = 4 };
enum { STRINGS = 8 }; /* TensorProto.string_val */
static void put_double(struct dfg_text *text, int field, double value)
{
	if (value == 0) /* the default is not written */
		return;
	dfg_proto_put_key(text, field, DFG_PROTO_FIXED64);
	dfg_text_put(text, &value, sizeof value);
}

/* The summary of one value. */
static struct dfg_err *give_value(struct dfg_kernel *ctx, struct dfg_text *value)
{
	struct dfg_text summary = {0};
	dfg_proto_put_message(&summary, VALUE, value);
	return dfg_proto_give(ctx, &summary);
}

static void put_tag(struct dfg_text *value, struct dfg_string tag)
{
	if (tag.length)
		dfg_proto_put_bytes(value, TAG, tag.s, tag.length);
}

/* ScalarSummary. */
enum { TAGS, VALUES };

static struct dfg_err *scalar_shape(struct dfg_infer *node)
{
	node->out[0] = DFG_SHAPE_SCALAR;
	if (dfg_shape_fits(node->in[TAGS], node->in[VALUES]))
		return NULL;
	return DFG_ERR(DFG_DATA, "tags have shape %s and values %s, expected equal shapes",
		dfg_shape_words(node->in[TAGS]).s, dfg_shape_words(node->in[VALUES]).s);
}

static struct dfg_err *scalar_run(struct dfg_kernel *ctx)
{
	const struct dfg_tensor *tags = ctx->in[TAGS], *values = ctx->in[VALUES];
	struct dfg_text summary = {0};
	struct dfg_shape shape;
	DFG_TRY(dfg_shapes_now(ctx, 1, &shape));
	for (int64_t i = 0; i < dfg_shape_count(&tags->shape); i++) {
		struct dfg_text value = {0};
		const float number = (float)dfg_tensor_float(values, i);
		put_tag(&value, ((const struct dfg_string *)tags->data)[i]);
		dfg_proto_put_key(&value, SIMPLE, DFG_PROTO_FIXED32);
		dfg_text_put(&value, &number, sizeof number);
		dfg_proto_put_message(&summary, VALUE, &value);
	}
	return dfg_proto_give(ctx, &summary);
}

const struct dfg_op dfg_op_ScalarSummary = {
	.name = "ScalarSummary",
	.doc = "a summary with a number for each tag",
	.sig = "<T: number|half>(tags: string, values: T) -> (summary: string)",
	.flags = DFG_ANY_RANK,
	.shape = scalar_shape,
	.gradient = "",
	.run = scalar_run,
};

/* HistogramSummary. */

/* The limits of the buckets: 0, and 1.1^k 1e-12 up to 1e20 with either sign; the outer ones take the remainder. */
enum { POSITIVE = 774, LIMITS = 2 * (POSITIVE + 1) + 1 };

/* Limits in ascending order; the number that the loop makes is LIMITS (tests/ops/summary.t). */
static int make_limits(double *limit)
{
	double positive[POSITIVE + 1];
	int n = 0, count = 0;
	for (double v = 1e-12; v < 1e20 && n < POSITIVE; v *= 1.1)
		positive[n++] = v;
	positive[n++] = DBL_MAX;
	for (int i = n - 1; i >= 0; i--)
		limit[count++] = -positive[i];
	limit[count++] = 0;
	for (int i = 0; i < n; i++)
		limit[count++] = positive[i];
	return count;
}

/* The first bucket whose limit is above the value; the last if none is. */
static int bucket_of(const double *limit, int count, double value)
{
	int low = 0;
	for (int high = count - 1; low < high;) {
		const int middle = (low + high) / 2;
		if (limit[middle] > value)
			high = middle;
		else
			low = middle + 1;
	}
	return low;
}

struct histogram {
	double limit[LIMITS], bucket[LIMITS], min, max, sum, squares;
	int64_t n;
	int count;
};

static struct dfg_err *count_values(const struct dfg_tensor *values, struct histogram *h)
{
	h->count = make_limits(h->limit);
	h->n = dfg_shape_count(&values->shape);
	h->min = DBL_MAX;
	h->max = -DBL_MAX;
	for (int64_t i = 0; i < h->n; i++) {
		const double value = dfg_tensor_float(values, i);
		if (!isfinite(value))
			return DFG_ERR(DFG_DATA, "element %" PRId64 " is %s, which has no place in a histogram", i,
				isnan(value) ? "NaN" : "infinite");
		h->bucket[bucket_of(h->limit, h->count, value)]++;
		h->min = value < h->min ? value : h->min;
		h->max = value > h->max ? value : h->max;
		h->sum += value;
		h->squares += value * value;
	}
	return NULL;
}

/* Runs of empty buckets become one. */
static int join_empty(const struct histogram *h, double *limit, double *bucket)
{
	int n = 0;
	for (int i = 0; i < h->count;) {
		double end = h->limit[i], count = h->bucket[i];
		i++;
		for (; count <= 0 && i < h->count && h->bucket[i] <= 0; i++)
			end = h->limit[i];
		limit[n] = end;
		bucket[n++] = count;
	}
	return n;
}

static void put_histogram(struct dfg_text *text, const struct histogram *h)
{
	double limit[LIMITS], bucket[LIMITS];
	const int n = join_empty(h, limit, bucket);
	put_double(text, 1, h->min);
	put_double(text, 2, h->max);
	put_double(text, 3, (double)h->n);
	put_double(text, 4, h->sum);
	put_double(text, 5, h->squares);
	dfg_proto_put_bytes(text, 6, limit, (size_t)n * sizeof *limit);
	dfg_proto_put_bytes(text, 7, bucket, (size_t)n * sizeof *bucket);
}

static struct dfg_err *tag_shape(struct dfg_infer *node)
{
	node->out[0] = DFG_SHAPE_SCALAR;
	return dfg_need_rank(node, TAGS, 0);
}

static struct dfg_err *histogram_run(struct dfg_kernel *ctx)
{
	struct histogram *h;
	struct dfg_text histo = {0}, value = {0};
	struct dfg_shape shape;
	DFG_TRY(dfg_shapes_now(ctx, 1, &shape));
	DFG_TRY(dfg_kernel_scratch(ctx, sizeof *h, (void **)&h));
	memset(h, 0, sizeof *h);
	DFG_TRY(count_values(ctx->in[VALUES], h));
	put_histogram(&histo, h);
	put_tag(&value, *(const struct dfg_string *)ctx->in[TAGS]->data);
	dfg_proto_put_message(&value, HISTO, &histo);
	return give_value(ctx, &value);
}

const struct dfg_op dfg_op_HistogramSummary = {
	.name = "HistogramSummary",
	.doc = "a summary with the histogram of values",
	.sig = "<T: number|half = f32>(tag: string, values: T) -> (summary: string)",
	.flags = DFG_ANY_RANK,
	.shape = tag_shape,
	.gradient = "",
	.run = histogram_run,
};

/* TensorSummaryV2. */
enum { TENSOR_TAG, TENSOR_VALUE, TENSOR_METADATA };

static void put_tensor(struct dfg_text *value, const struct dfg_tensor *from)
{
	struct dfg_text tensor = {0};
	dfg_tensor_message(&tensor, from);
	dfg_proto_put_message(value, TENSOR, &tensor);
}

static struct dfg_err *tensor_shape(struct dfg_infer *node)
{
	node->out[0] = DFG_SHAPE_SCALAR;
	DFG_TRY(dfg_need_rank(node, TENSOR_TAG, 0));
	return dfg_need_rank(node, TENSOR_METADATA, 0);
}

static struct dfg_err *tensor_run(struct dfg_kernel *ctx)
{
	struct dfg_text value = {0};
	struct dfg_shape shape;
	DFG_TRY(dfg_shapes_now(ctx, 1, &shape));
	const struct dfg_string *metadata = ctx->in[TENSOR_METADATA]->data;
	put_tag(&value, *(const struct dfg_string *)ctx->in[TENSOR_TAG]->data);
	put_tensor(&value, ctx->in[TENSOR_VALUE]);
	dfg_proto_put_bytes(&value, METADATA, metadata->s, metadata->length);
	return give_value(ctx, &value);
}

const struct dfg_op dfg_op_TensorSummaryV2 = {
	.name = "TensorSummaryV2",
	.doc = "a summary with a tensor, and metadata that say how it is shown",
	.sig = "<T: plain|half|string>(tag: string, tensor: T, serialized_summary_metadata: string) -> (summary: string)",
	.flags = DFG_ANY_RANK,
	.shape = tensor_shape,
	.gradient = "",
	.run = tensor_run,
};

/* MergeSummary. */

/* The tags so far, by hash, with open addressing. */
struct tags {
	struct dfg_string *slot;
	size_t slots;
};

static bool is_new(struct tags *tags, struct dfg_string tag)
{
	size_t s = dfg_hash_bytes(dfg_hash_key, tag.s, tag.length) & (tags->slots - 1);
	for (; tags->slot[s].length; s = (s + 1) & (tags->slots - 1))
		if (tags->slot[s].length == tag.length && !memcmp(tags->slot[s].s, tag.s, tag.length))
			return false;
	tags->slot[s] = tag;
	return true;
}

static struct dfg_err *merge_one(struct dfg_string from, struct tags *tags, struct dfg_text *summary)
{
	struct dfg_proto_reader r = dfg_proto_reader_of(from);
	struct dfg_proto_field value;
	struct dfg_string tag;
	while (dfg_proto_next(&r, &value)) {
		if (value.key != DFG_PROTO_KEY(VALUE, DFG_PROTO_BYTES))
			continue;
		if (!dfg_proto_find(value.bytes, TAG, &tag))
			return DFG_ERR(DFG_DATA, "a value of the summary is damaged");
		if (tag.length && !is_new(tags, tag))
			return DFG_ERR(
				DFG_DATA, "tag '%.*s' is in more than one summary", (int)(tag.length < 80 ? tag.length : 80), tag.s);
		dfg_proto_put_bytes(summary, VALUE, value.bytes.s, value.bytes.length);
	}
	return r.at ? NULL : DFG_ERR(DFG_DATA, "the summary is damaged");
}

/* Space for as many tags as there can be: a value has 2 bytes at least. */
static struct dfg_err *make_tags(struct dfg_kernel *ctx, struct tags *tags)
{
	size_t bytes = 0;
	for (int i = 0; i < ctx->call->n_in; i++)
		for (int64_t e = 0; e < dfg_shape_count(&ctx->in[i]->shape); e++)
			bytes += ((const struct dfg_string *)ctx->in[i]->data)[e].length;
	for (tags->slots = 16; tags->slots < bytes; tags->slots *= 2)
		;
	DFG_TRY(dfg_kernel_scratch(ctx, tags->slots * sizeof *tags->slot, (void **)&tags->slot));
	memset(tags->slot, 0, tags->slots * sizeof *tags->slot);
	return NULL;
}

static struct dfg_err *merge_run(struct dfg_kernel *ctx)
{
	struct dfg_text summary = {0};
	struct dfg_err *err = NULL;
	struct tags tags;
	DFG_TRY(make_tags(ctx, &tags));
	for (int i = 0; i < ctx->call->n_in && !err; i++)
		for (int64_t e = 0; e < dfg_shape_count(&ctx->in[i]->shape) && !err; e++)
			err = dfg_err_note(
				merge_one(((const struct dfg_string *)ctx->in[i]->data)[e], &tags, &summary), "input %d", i);
	if (!err)
		return dfg_proto_give(ctx, &summary);
	dfg_text_release(&summary);
	return err;
}

static struct dfg_err *merge_shape(struct dfg_infer *node)
{
	node->out[0] = DFG_SHAPE_SCALAR;
	return NULL;
}

const struct dfg_op dfg_op_MergeSummary = {
	.name = "MergeSummary",
	.doc = "the values of all summaries in one; each tag may be in one of them",
	.sig = "<N: int>(inputs: N * string) -> (summary: string)",
	.flags = DFG_ANY_RANK,
	.shape = merge_shape,
	.gradient = "",
	.run = merge_run,
};
