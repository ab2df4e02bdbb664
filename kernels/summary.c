/* Summaries, which TensorBoard shows: messages of the protocol buffer tensorflow.Summary, written here field by field. */
#include "kernels/shape_rules.h"
#include "lib/base/hash.h"
#include "lib/base/text.h"

#include <float.h>
#include <inttypes.h>
#include <math.h>
#include <string.h>

/* Fields: Summary.value; Value.tag, .simple_value, .histo, .tensor, .metadata; TensorProto.dtype, .shape, .content. */
enum { VALUE = 1, TAG = 1, SIMPLE = 2, HISTO = 5, TENSOR = 8, METADATA = 9, DTYPE = 1, SHAPE = 2, CONTENT = 4 };
enum { STRINGS = 8 }; /* TensorProto.string_val */
enum wire { VARINT = 0, FIXED64 = 1, BYTES = 2, FIXED32 = 5 };

static void put_varint(struct dfg_text *text, uint64_t value)
{
	for (; value >= 0x80; value >>= 7)
		dfg_text_put(text, &(uint8_t){(uint8_t)(value | 0x80)}, 1);
	dfg_text_put(text, &(uint8_t){(uint8_t)value}, 1);
}

static void put_key(struct dfg_text *text, int field, enum wire wire)
{
	put_varint(text, (uint64_t)field << 3 | wire);
}

static void put_bytes(struct dfg_text *text, int field, const void *bytes, size_t length)
{
	put_key(text, field, BYTES);
	put_varint(text, length);
	if (length)
		dfg_text_put(text, bytes, length);
}

/* A message within a message. */
static void put_message(struct dfg_text *text, int field, const struct dfg_text *message)
{
	put_bytes(text, field, message->s, message->length);
}

static void put_double(struct dfg_text *text, int field, double value)
{
	if (value == 0) /* the default is not written */
		return;
	put_key(text, field, FIXED64);
	dfg_text_put(text, &value, sizeof value);
}

/* Output 0 is a scalar: the Summary, which is released. */
static struct dfg_err *give_summary(struct dfg_kernel *ctx, struct dfg_text *summary)
{
	struct dfg_tensor *out;
	struct dfg_err *err = dfg_text_check(summary);
	if (!err)
		err = dfg_kernel_output(ctx, 0, &DFG_SHAPE_SCALAR, &out);
	if (!err)
		err = dfg_kernel_string(ctx, 0, 0, summary->s ? summary->s : "", summary->length);
	dfg_text_release(summary);
	return err;
}

/* The summary of one value. */
static struct dfg_err *give_value(struct dfg_kernel *ctx, struct dfg_text *value)
{
	struct dfg_text summary = {0};
	struct dfg_err *err = dfg_text_check(value);
	put_message(&summary, VALUE, value);
	dfg_text_release(value);
	if (!err)
		return give_summary(ctx, &summary);
	dfg_text_release(&summary);
	return err;
}

static void put_tag(struct dfg_text *value, struct dfg_string tag)
{
	if (tag.length)
		put_bytes(value, TAG, tag.s, tag.length);
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
		put_key(&value, SIMPLE, FIXED32);
		dfg_text_put(&value, &number, sizeof number);
		put_message(&summary, VALUE, &value);
		summary.short_of_memory |= value.short_of_memory;
		dfg_text_release(&value);
	}
	return give_summary(ctx, &summary);
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
	put_bytes(text, 6, limit, (size_t)n * sizeof *limit);
	put_bytes(text, 7, bucket, (size_t)n * sizeof *bucket);
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
	put_message(&value, HISTO, &histo);
	value.short_of_memory |= histo.short_of_memory;
	dfg_text_release(&histo);
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

static void put_shape(struct dfg_text *tensor, const struct dfg_shape *shape)
{
	struct dfg_text dims = {0};
	for (int d = 0; d < shape->rank; d++) {
		struct dfg_text dim = {0};
		if (shape->dim[d]) {
			put_key(&dim, 1, VARINT);
			put_varint(&dim, (uint64_t)shape->dim[d]);
		}
		put_message(&dims, 2, &dim);
		dims.short_of_memory |= dim.short_of_memory;
		dfg_text_release(&dim);
	}
	put_message(tensor, SHAPE, &dims);
	tensor->short_of_memory |= dims.short_of_memory;
	dfg_text_release(&dims);
}

static void put_tensor(struct dfg_text *value, const struct dfg_tensor *from)
{
	struct dfg_text tensor = {0};
	put_key(&tensor, DTYPE, VARINT);
	put_varint(&tensor, (uint64_t)from->dtype);
	put_shape(&tensor, &from->shape);
	if (from->dtype != DFG_STRING && dfg_tensor_bytes(from))
		put_bytes(&tensor, CONTENT, from->data, dfg_tensor_bytes(from));
	for (int64_t i = 0; from->dtype == DFG_STRING && i < dfg_shape_count(&from->shape); i++)
		put_bytes(&tensor, STRINGS, ((const struct dfg_string *)from->data)[i].s,
			((const struct dfg_string *)from->data)[i].length);
	put_message(value, TENSOR, &tensor);
	value->short_of_memory |= tensor.short_of_memory;
	dfg_text_release(&tensor);
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
	put_bytes(&value, METADATA, metadata->s, metadata->length);
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

/* The bytes of a message that are not read yet. */
struct reader {
	const uint8_t *at, *end;
};

static bool read_varint(struct reader *r, uint64_t *out_value)
{
	*out_value = 0;
	for (int shift = 0; r->at < r->end && shift < 64; shift += 7) {
		const uint8_t byte = *r->at++;
		*out_value |= (uint64_t)(byte & 0x7f) << shift;
		if (byte < 0x80)
			return true;
	}
	return false;
}

/* The next field; a field of bytes is in *out_bytes. False: the message ends here, or is damaged: then r->at is NULL. */
static bool read_field(struct reader *r, uint64_t *out_key, struct dfg_string *out_bytes)
{
	uint64_t length = 0;
	*out_bytes = (struct dfg_string){0};
	if (r->at == r->end)
		return false;
	bool good = read_varint(r, out_key) && *out_key >> 3;
	const int wire = (int)(*out_key & 7);
	if (good && wire == VARINT)
		good = read_varint(r, &length);
	else if (good && (wire == FIXED64 || wire == FIXED32))
		length = wire == FIXED64 ? 8 : 4;
	else if (good)
		good = wire == BYTES && read_varint(r, &length);
	if (good && wire != VARINT) {
		good = length <= (uint64_t)(r->end - r->at);
		*out_bytes = (struct dfg_string){(const char *)r->at, good ? (size_t)length : 0};
		r->at += good ? length : 0;
	}
	if (!good)
		r->at = r->end = NULL;
	return good;
}

static struct reader reader_of(struct dfg_string s)
{
	static const char none[1];
	const uint8_t *at = (const uint8_t *)(s.length ? s.s : none);
	return (struct reader){at, at + s.length};
}

/* The last field of bytes with this number, or an empty string; false: damaged. */
static bool find_bytes(struct dfg_string message, int field, struct dfg_string *out_bytes)
{
	struct reader r = reader_of(message);
	struct dfg_string bytes;
	uint64_t key;
	*out_bytes = (struct dfg_string){0};
	while (read_field(&r, &key, &bytes))
		if (key == ((uint64_t)field << 3 | BYTES))
			*out_bytes = bytes;
	return r.at != NULL;
}

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
	struct reader r = reader_of(from);
	struct dfg_string value, tag;
	uint64_t key;
	while (read_field(&r, &key, &value)) {
		if (key != (VALUE << 3 | BYTES))
			continue;
		if (!find_bytes(value, TAG, &tag))
			return DFG_ERR(DFG_DATA, "a value of the summary is damaged");
		if (tag.length && !is_new(tags, tag))
			return DFG_ERR(
				DFG_DATA, "tag '%.*s' is in more than one summary", (int)(tag.length < 80 ? tag.length : 80), tag.s);
		put_bytes(summary, VALUE, value.s, value.length);
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
		return give_summary(ctx, &summary);
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
