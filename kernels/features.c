#include "kernels/features.h"

#include "kernels/shape_rules.h"
#include "kernels/strided_copy.h"
#include "lib/base/hash.h"

#include <inttypes.h>
#include <string.h>

/* Messages: Feature has one of three lists, whose values are field 1; an entry of a map has a key and a value. */
enum { BYTES_LIST = 1, FLOAT_LIST = 2, INT64_LIST = 3, VALUE = 1, ENTRY = 1, ENTRY_KEY = 1, ENTRY_VALUE = 2 };

static const enum dfg_dtype dtype_of_list[] = {
	[BYTES_LIST] = DFG_STRING, [FLOAT_LIST] = DFG_F32, [INT64_LIST] = DFG_I64};

/* The values of one field of a list, packed or not; false: damaged. */
static bool read_values(const struct dfg_proto_field *field, enum dfg_dtype dtype, void *out, int64_t *count)
{
	const enum dfg_proto_wire wire = (enum dfg_proto_wire)(field->key & 7);
	if (dtype == DFG_STRING) {
		if (out)
			((struct dfg_string *)out)[*count] = field->bytes;
		++*count;
		return wire == DFG_PROTO_BYTES;
	}
	if (dtype == DFG_F32) {
		if (out && field->bytes.length)
			memcpy((float *)out + *count, field->bytes.s, field->bytes.length);
		*count += (int64_t)(field->bytes.length / sizeof(float));
		return (wire == DFG_PROTO_BYTES || wire == DFG_PROTO_FIXED32) && field->bytes.length % sizeof(float) == 0;
	}
	struct dfg_proto_reader packed = dfg_proto_reader_of(field->bytes);
	uint64_t number = field->number;
	while (wire == DFG_PROTO_VARINT || (packed.at < packed.end && dfg_proto_varint(&packed, &number))) {
		if (out)
			((int64_t *)out)[*count] = (int64_t)number;
		++*count;
		if (wire == DFG_PROTO_VARINT)
			return true;
	}
	return wire == DFG_PROTO_BYTES && packed.at == packed.end;
}

static int64_t list_values(struct dfg_string list, enum dfg_dtype dtype, void *out)
{
	struct dfg_proto_reader reader = dfg_proto_reader_of(list);
	struct dfg_proto_field field;
	int64_t count = 0;
	while (dfg_proto_next(&reader, &field))
		if (field.key >> 3 == VALUE && !read_values(&field, dtype, out, &count))
			return DFG_FEATURE_DAMAGED;
	return reader.at ? count : DFG_FEATURE_DAMAGED;
}

int64_t dfg_feature_values(struct dfg_string feature, enum dfg_dtype dtype, void *out)
{
	struct dfg_proto_reader reader = dfg_proto_reader_of(feature);
	struct dfg_proto_field field;
	while (dfg_proto_next(&reader, &field)) {
		const uint64_t list = field.key >> 3;
		if ((field.key & 7) != DFG_PROTO_BYTES || list < BYTES_LIST || list > INT64_LIST)
			continue;
		return dtype_of_list[list] == dtype ? list_values(field.bytes, dtype, out) : DFG_FEATURE_OTHER;
	}
	return reader.at ? DFG_FEATURE_MISSING : DFG_FEATURE_DAMAGED;
}

/* Batches. */

struct dfg_err *dfg_examples_new(struct dfg_kernel *ctx, int i, int keys, struct dfg_examples *out_examples)
{
	const struct dfg_tensor *messages = dfg_kernel_input(ctx, i);
	struct dfg_examples *x = out_examples;
	*x = (struct dfg_examples){
		.message = messages->data, .count = dfg_shape_count(&messages->shape), .single = !messages->shape.rank};
	x->keys = keys;
	for (x->slots = 16; x->slots < 2 * (size_t)keys; x->slots *= 2)
		;
	const size_t found = (size_t)x->count * (size_t)keys;
	DFG_TRY(dfg_kernel_scratch(ctx, ((size_t)keys + 1) * sizeof *x->key, (void **)&x->key));
	DFG_TRY(dfg_kernel_scratch(ctx, (found + 1) * sizeof *x->found, (void **)&x->found));
	memset(x->found, 0, (found + 1) * sizeof *x->found);
	return dfg_kernel_scratch(ctx, x->slots * sizeof *x->slot, (void **)&x->slot);
}

struct dfg_err *dfg_examples_keys(struct dfg_kernel *ctx, int i, int expected, struct dfg_examples *examples, int first)
{
	const struct dfg_tensor *keys = dfg_kernel_input(ctx, i);
	if (keys->shape.rank != 1 || keys->shape.dim[0] != expected)
		return DFG_ERR(
			DFG_DATA, "input %d, the keys, has shape %s, expected [%d]", i, dfg_shape_words(&keys->shape).s, expected);
	if (expected)
		memcpy(examples->key + first, keys->data, (size_t)expected * sizeof *examples->key);
	return NULL;
}

static bool keys_equal(struct dfg_string a, struct dfg_string b)
{
	return a.length == b.length && (!a.length || !memcmp(a.s, b.s, a.length));
}

/* The slot of a key, or the empty one where it would be. */
static uint32_t *slot_of(const struct dfg_examples *x, struct dfg_string key)
{
	size_t s = dfg_hash_bytes(dfg_hash_key, key.s, key.length) & (x->slots - 1);
	while (x->slot[s] && !keys_equal(x->key[x->slot[s] - 1], key))
		s = (s + 1) & (x->slots - 1);
	return &x->slot[s];
}

static struct dfg_err *index_keys(struct dfg_examples *x, int first, int end)
{
	memset(x->slot, 0, x->slots * sizeof *x->slot);
	for (int k = first; k < end; k++) {
		uint32_t *slot = slot_of(x, x->key[k]);
		if (*slot)
			return DFG_ERR(DFG_DATA, "feature '%.*s' is asked for twice", DFG_KEY_WORDS(x, k));
		*slot = (uint32_t)k + 1;
	}
	return NULL;
}

/* The features of a map, of which the last of a key counts; false: damaged. */
static bool find_features(const struct dfg_examples *x, struct dfg_string map, struct dfg_string *found)
{
	struct dfg_proto_reader reader = dfg_proto_reader_of(map);
	struct dfg_proto_field entry;
	struct dfg_string key, value;
	while (dfg_proto_next(&reader, &entry)) {
		if (entry.key != DFG_PROTO_KEY(ENTRY, DFG_PROTO_BYTES))
			continue;
		if (!dfg_proto_find(entry.bytes, ENTRY_KEY, &key) || !dfg_proto_find(entry.bytes, ENTRY_VALUE, &value))
			return false;
		const uint32_t number = *slot_of(x, key);
		if (number)
			found[number - 1] = value.s ? value : (struct dfg_string){"", 0};
	}
	return reader.at != NULL;
}

struct dfg_err *dfg_examples_find(struct dfg_examples *examples, int field, int first, int end)
{
	DFG_TRY(index_keys(examples, first, end));
	for (int64_t e = 0; e < examples->count; e++) {
		struct dfg_proto_reader reader = dfg_proto_reader_of(examples->message[e]);
		struct dfg_proto_field map;
		bool good = true;
		while (good && dfg_proto_next(&reader, &map))
			if (map.key == DFG_PROTO_KEY(field, DFG_PROTO_BYTES))
				good = find_features(examples, map.bytes, examples->found + e * examples->keys);
		if (!good || !reader.at)
			return DFG_ERR(DFG_DATA, "example %" PRId64 " is damaged: it is not a message of the expected type", e);
	}
	return NULL;
}

struct dfg_err *dfg_feature_check(
	const struct dfg_examples *examples, int64_t example, int key, enum dfg_dtype dtype, int64_t count)
{
	if (count == DFG_FEATURE_DAMAGED)
		return DFG_ERR(
			DFG_DATA, "example %" PRId64 ": feature '%.*s' is damaged", example, DFG_KEY_WORDS(examples, key));
	if (count == DFG_FEATURE_OTHER)
		return DFG_ERR(DFG_DATA, "example %" PRId64 ": feature '%.*s' does not have values of %s", example,
			DFG_KEY_WORDS(examples, key), dfg_dtype_name(dtype));
	return NULL;
}

struct dfg_err *dfg_examples_shape(
	const struct dfg_shape *batch, const struct dfg_shape *shape, struct dfg_shape *out_shape)
{
	*out_shape = *batch;
	if (batch->rank + shape->rank > DFG_RANK_MAX)
		return DFG_ERR(DFG_DATA, "a batch of features of shape %s has more than the limit of %d dimensions",
			dfg_shape_words(shape).s, DFG_RANK_MAX);
	for (int d = 0; d < shape->rank; d++)
		out_shape->dim[out_shape->rank++] = shape->dim[d];
	return NULL;
}

/* Columns. The number of values of each example is counted first; then the outputs have their shape, and are filled. */

static struct dfg_shape batch_of(const struct dfg_examples *x)
{
	return x->single ? DFG_SHAPE_SCALAR : DFG_SHAPE_VECTOR(x->count);
}

static struct dfg_err *count_values(struct dfg_kernel *ctx, const struct dfg_examples *x, int key, enum dfg_dtype dtype,
	int64_t **out_count, int64_t *out_total, int64_t *out_longest)
{
	int64_t *count;
	*out_total = *out_longest = 0;
	DFG_TRY(dfg_kernel_scratch(ctx, ((size_t)x->count + 1) * sizeof *count, (void **)&count));
	for (int64_t e = 0; e < x->count; e++) {
		const struct dfg_string feature = dfg_examples_at(x, e, key);
		count[e] = feature.s ? dfg_feature_values(feature, dtype, NULL) : DFG_FEATURE_MISSING;
		DFG_TRY(dfg_feature_check(x, e, key, dtype, count[e]));
		*out_total += count[e] > 0 ? count[e] : 0;
		*out_longest = count[e] > *out_longest ? count[e] : *out_longest;
	}
	*out_count = count;
	return NULL;
}

/* Output i has all values, one example after another. */
static struct dfg_err *give_values(
	struct dfg_kernel *ctx, const struct dfg_examples *x, int key, int i, const int64_t *count, int64_t total)
{
	struct dfg_tensor *out;
	int64_t at = 0;
	DFG_TRY(dfg_kernel_output(ctx, i, &DFG_SHAPE_VECTOR(total), &out));
	for (int64_t e = 0; e < x->count; e++)
		if (count[e] > 0)
			at += dfg_feature_values(dfg_examples_at(x, e, key), out->dtype, dfg_tensor_at(out, at));
	return dfg_moved(ctx, i);
}

static struct dfg_err *give_sparse(
	struct dfg_kernel *ctx, const struct dfg_feature_columns *columns, const struct dfg_examples *x, int s)
{
	const int key = columns->first_key + s, rank = 1 + !x->single;
	struct dfg_tensor *indices, *shape;
	int64_t *count, total, longest, k = 0;
	DFG_TRY(
		count_values(ctx, x, key, (enum dfg_dtype)ctx->call->out_dtype[columns->values + s], &count, &total, &longest));
	DFG_TRY(give_values(ctx, x, key, columns->values + s, count, total));
	DFG_TRY(
		dfg_kernel_output(ctx, columns->indices + s, &(struct dfg_shape){.rank = 2, .dim = {total, rank}}, &indices));
	for (int64_t e = 0; e < x->count; e++)
		for (int64_t j = 0; j < count[e]; j++) {
			if (!x->single)
				((int64_t *)indices->data)[k++] = e;
			((int64_t *)indices->data)[k++] = j;
		}
	DFG_TRY(dfg_kernel_output(ctx, columns->shapes + s, &DFG_SHAPE_VECTOR(rank), &shape));
	((int64_t *)shape->data)[0] = x->count;
	((int64_t *)shape->data)[rank - 1] = longest;
	return NULL;
}

/* Copies the default of the column to n elements of output i; one value is repeated. */
static void fill_default(struct dfg_kernel *ctx, const struct dfg_tensor *value, int i, int64_t first, int64_t n)
{
	const size_t size = dfg_dtype_size(value->dtype);
	if (dfg_shape_count(&value->shape) == n && n)
		memcpy(dfg_tensor_at(ctx->out[i], first), value->data, (size_t)n * size);
	else
		dfg_repeat(dfg_tensor_at(ctx->out[i], first), n, value->data, size);
}

static bool is_variable(const struct dfg_shape *shape)
{
	return shape->rank > 0 && shape->dim[0] < 0;
}

/* Checks a column of fixed shape before there is memory for it. */
static struct dfg_err *check_fixed(
	const struct dfg_examples *x, int key, const int64_t *count, int64_t row, const struct dfg_tensor *value)
{
	const int64_t given = dfg_shape_count(&value->shape);
	for (int64_t e = 0; e < x->count; e++) {
		if (count[e] == DFG_FEATURE_MISSING && given != row)
			return DFG_ERR(DFG_DATA,
				"example %" PRId64 " has no feature '%.*s', and its default has %" PRId64 " values, expected %" PRId64,
				e, DFG_KEY_WORDS(x, key), given, row);
		if (count[e] >= 0 && count[e] != row)
			return DFG_ERR(DFG_DATA, "example %" PRId64 ": feature '%.*s' has %" PRId64 " values, expected %" PRId64, e,
				DFG_KEY_WORDS(x, key), count[e], row);
	}
	return NULL;
}

/* Fills the output, whose rows have `row` elements; those that an example does not have are the default. */
static struct dfg_err *fill_dense(struct dfg_kernel *ctx, const struct dfg_feature_columns *columns,
	const struct dfg_examples *x, int d, const int64_t *count, int64_t row)
{
	const int key = columns->first_key + columns->sparse + d, i = columns->dense_values + d;
	const struct dfg_tensor *value = dfg_kernel_input(ctx, columns->defaults + d);
	for (int64_t e = 0; e < x->count; e++) {
		const int64_t n = count[e] > 0 ? count[e] : 0;
		if (n)
			(void)dfg_feature_values(dfg_examples_at(x, e, key), value->dtype, dfg_tensor_at(ctx->out[i], e * row));
		if (n < row)
			fill_default(ctx, value, i, e * row + n, row - n);
	}
	return dfg_moved(ctx, i);
}

/* The rows of a column whose first dimension is variable must be whole, and padded with one value. */
static struct dfg_err *check_variable(const struct dfg_examples *x, int key, const int64_t *count,
	const struct dfg_tensor *value, int64_t stride, int64_t *longest)
{
	if (dfg_shape_count(&value->shape) != 1)
		return DFG_ERR(DFG_DATA, "the default of feature '%.*s' has shape %s, expected one value for padding",
			DFG_KEY_WORDS(x, key), dfg_shape_words(&value->shape).s);
	for (int64_t e = 0; e < x->count; e++)
		if (count[e] > 0 && (!stride || count[e] % stride))
			return DFG_ERR(DFG_DATA,
				"example %" PRId64 ": feature '%.*s' has %" PRId64 " values, expected a multiple of %" PRId64, e,
				DFG_KEY_WORDS(x, key), count[e], stride);
	*longest = stride ? *longest / stride : 0;
	return NULL;
}

static struct dfg_err *give_dense(
	struct dfg_kernel *ctx, const struct dfg_feature_columns *columns, const struct dfg_examples *x, int d)
{
	const int key = columns->first_key + columns->sparse + d, i = columns->dense_values + d;
	const struct dfg_tensor *value = dfg_kernel_input(ctx, columns->defaults + d);
	const struct dfg_shape batch = batch_of(x);
	struct dfg_shape shape = *columns->dense_shapes->item[d].shape, all;
	struct dfg_tensor *out;
	int64_t *count, total, longest;
	size_t bytes;
	DFG_TRY(count_values(ctx, x, key, (enum dfg_dtype)ctx->call->out_dtype[i], &count, &total, &longest));
	const bool variable = is_variable(&shape);
	shape.dim[0] = variable ? 1 : shape.dim[0];
	DFG_TRY(dfg_shape_bytes(&shape, DFG_I8, &bytes));
	if (variable)
		DFG_TRY(check_variable(x, key, count, value, dfg_shape_count(&shape), &longest));
	else
		DFG_TRY(check_fixed(x, key, count, dfg_shape_count(&shape), value));
	shape.dim[0] = variable ? longest : shape.dim[0];
	DFG_TRY(dfg_examples_shape(&batch, &shape, &all));
	DFG_TRY(dfg_kernel_output(ctx, i, &all, &out));
	return fill_dense(ctx, columns, x, d, count, dfg_shape_count(&shape));
}

static struct dfg_err *give_splits(struct dfg_kernel *ctx, const struct dfg_examples *x, int i, const int64_t *count)
{
	struct dfg_tensor *out;
	int64_t sum = 0;
	DFG_TRY(dfg_kernel_output(ctx, i, &DFG_SHAPE_VECTOR(x->single ? 0 : x->count + 1), &out));
	for (int64_t e = 0; !x->single && e <= x->count; e++) {
		if (out->dtype == DFG_I32 && sum > INT32_MAX)
			return DFG_ERR(DFG_DATA, "there are more values than splits of i32 can count");
		dfg_convert(out->dtype, dfg_tensor_at(out, e), DFG_I64, &sum, 1);
		sum += e < x->count && count[e] > 0 ? count[e] : 0;
	}
	return NULL;
}

static struct dfg_err *give_ragged(
	struct dfg_kernel *ctx, const struct dfg_feature_columns *columns, const struct dfg_examples *x, int r)
{
	const int key = columns->first_key + columns->sparse + columns->dense + r;
	int64_t *count, total, longest;
	DFG_TRY(count_values(
		ctx, x, key, (enum dfg_dtype)ctx->call->out_dtype[columns->ragged_values + r], &count, &total, &longest));
	DFG_TRY(give_values(ctx, x, key, columns->ragged_values + r, count, total));
	return give_splits(ctx, x, columns->ragged_splits + r, count);
}

struct dfg_err *dfg_columns_give(
	struct dfg_kernel *ctx, const struct dfg_feature_columns *columns, const struct dfg_examples *examples)
{
	for (int s = 0; s < columns->sparse; s++)
		DFG_TRY(give_sparse(ctx, columns, examples, s));
	for (int d = 0; d < columns->dense; d++)
		DFG_TRY(give_dense(ctx, columns, examples, d));
	for (int r = 0; r < columns->ragged; r++)
		DFG_TRY(give_ragged(ctx, columns, examples, r));
	return NULL;
}

/* Shapes before a step. */

static struct dfg_err *check_default(const struct dfg_infer *node, const struct dfg_feature_columns *columns, int d)
{
	const struct dfg_shape *shape = columns->dense_shapes->item[d].shape;
	const struct dfg_shape *value = node->in[columns->defaults + d];
	const bool variable = is_variable(shape);
	bool known = shape->rank >= 0;
	for (int i = variable && !columns->fixed; known && i < shape->rank; i++)
		known = shape->dim[i] >= 0;
	if (!known)
		return DFG_ERR(DFG_DATA, "dense shape %d is %s, expected known dimensions%s", d, dfg_shape_words(shape).s,
			columns->fixed ? "" : " after the first");
	if (value->rank < 0 || !dfg_shape_known(value))
		return NULL;
	const int64_t elements = dfg_shape_count(value);
	if (variable ? elements != 1 : elements && !dfg_shape_fits(shape, value))
		return DFG_ERR(DFG_DATA, "default %d has shape %s, expected %s", d, dfg_shape_words(value).s,
			variable ? "one value for padding" : dfg_shape_words(shape).s);
	return NULL;
}

static struct dfg_err *check_types(const struct dfg_resolved_node *call, int first, int count)
{
	for (int i = first; i < first + count; i++)
		if (call->out_dtype[i] != DFG_F32 && call->out_dtype[i] != DFG_I64 && call->out_dtype[i] != DFG_STRING)
			return DFG_ERR(DFG_DATA, "output %d is %s, but features have values of f32, i64 or string", i,
				dfg_dtype_name((enum dfg_dtype)call->out_dtype[i]));
	return NULL;
}

static struct dfg_err *infer_dense(
	struct dfg_infer *node, const struct dfg_feature_columns *columns, const struct dfg_shape *batch, int d)
{
	DFG_TRY(check_default(node, columns, d));
	if (batch->rank < 0)
		return NULL;
	return dfg_examples_shape(batch, columns->dense_shapes->item[d].shape, &node->out[columns->dense_values + d]);
}

struct dfg_err *dfg_columns_infer(struct dfg_infer *node, const struct dfg_feature_columns *columns, int i)
{
	const struct dfg_shape *batch = node->in[i];
	const int64_t rank = batch->rank < 0 ? DFG_UNKNOWN : 1 + batch->rank;
	if (batch->rank > 1)
		return DFG_ERR(DFG_DATA, "serialized has shape %s, expected a scalar or a vector", dfg_shape_words(batch).s);
	if ((int)columns->dense_shapes->count != columns->dense)
		return DFG_ERR(
			DFG_DATA, "there are %u dense shapes for %d dense features", columns->dense_shapes->count, columns->dense);
	DFG_TRY(check_types(node->call, columns->values, columns->sparse));
	DFG_TRY(check_types(node->call, columns->dense_values, columns->dense));
	DFG_TRY(check_types(node->call, columns->ragged_values, columns->ragged));
	for (int s = 0; s < columns->sparse; s++) {
		node->out[columns->indices + s] = (struct dfg_shape){.rank = 2, .dim = {DFG_UNKNOWN, rank}};
		node->out[columns->values + s] = DFG_SHAPE_VECTOR(DFG_UNKNOWN);
		node->out[columns->shapes + s] = DFG_SHAPE_VECTOR(rank);
	}
	for (int d = 0; d < columns->dense; d++)
		DFG_TRY(infer_dense(node, columns, batch, d));
	for (int r = 0; r < columns->ragged; r++) {
		node->out[columns->ragged_values + r] = DFG_SHAPE_VECTOR(DFG_UNKNOWN);
		node->out[columns->ragged_splits + r] = DFG_SHAPE_VECTOR(DFG_UNKNOWN);
	}
	return NULL;
}
