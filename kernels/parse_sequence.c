/* ParseSequenceExampleV2: tensorflow.SequenceExample messages, which have a context and lists of features. */
#include "kernels/features.h"
#include "kernels/shape_rules.h"
#include "kernels/strided_copy.h"

#include <inttypes.h>
#include <string.h>

enum { SERIALIZED, DEBUG_NAME, CONTEXT_KEYS, LIST_KEYS = 5, MAY_BE_MISSING = 8, DEFAULTS };
enum { CONTEXT = 1, FEATURE_LISTS = 2, STEP = 1 }; /* fields of messages */
enum { CONTEXT_SHAPES, LIST_SHAPES };              /* attributes */
enum {
	SPARSE_INDICES = 6,
	SPARSE_VALUES,
	SPARSE_SHAPES,
	DENSE_VALUES,
	DENSE_LENGTHS,
	RAGGED_VALUES,
	OUTER_SPLITS,
	INNER_SPLITS
};

/* The number of tensors of an output. */
static int outputs_of(const struct dfg_resolved_node *call, int port)
{
	return call->out_first[port + 1] - call->out_first[port];
}

static struct dfg_feature_columns context_of(const struct dfg_resolved_node *call)
{
	const uint16_t *out = call->out_first;
	return (struct dfg_feature_columns){
		.indices = out[0],
		.values = out[1],
		.shapes = out[2],
		.dense_values = out[3],
		.ragged_values = out[4],
		.ragged_splits = out[5],
		.sparse = outputs_of(call, 0),
		.dense = outputs_of(call, 3),
		.ragged = outputs_of(call, 4),
		.defaults = call->in_first[DEFAULTS],
		.dense_shapes = call->attr[CONTEXT_SHAPES].list,
		.fixed = true,
	};
}

static int context_keys(const struct dfg_resolved_node *call)
{
	return outputs_of(call, 0) + outputs_of(call, 3) + outputs_of(call, 4);
}

/* The key of a feature list: sparse ones, dense ones and ragged ones follow the keys of the context. */
static int list_key(const struct dfg_resolved_node *call, int port, int i)
{
	const int sparse = outputs_of(call, SPARSE_VALUES), dense = outputs_of(call, DENSE_VALUES);
	return context_keys(call) + (port == SPARSE_VALUES ? 0 : port == DENSE_VALUES ? sparse : sparse + dense) + i;
}

/* The numbers of steps of a feature list, by example, and of values, by step. */
struct steps {
	int64_t *of_example; /* DFG_FEATURE_MISSING: no list */
	int64_t *values;     /* by step, of all examples one after another */
	int64_t total_steps, most_steps, total_values, most_values;
};

/* The next Feature of a list. */
static bool next_step(struct dfg_proto_reader *reader, struct dfg_string *out_feature)
{
	struct dfg_proto_field field;
	while (dfg_proto_next(reader, &field))
		if (field.key == DFG_PROTO_KEY(STEP, DFG_PROTO_BYTES)) {
			*out_feature = field.bytes;
			return true;
		}
	return false;
}

static struct dfg_err *count_steps(struct dfg_kernel *ctx, const struct dfg_examples *x, int key, struct steps *steps)
{
	*steps = (struct steps){0};
	DFG_TRY(dfg_kernel_scratch(ctx, ((size_t)x->count + 1) * sizeof *steps->of_example, (void **)&steps->of_example));
	for (int64_t e = 0; e < x->count; e++) {
		const struct dfg_string list = dfg_examples_at(x, e, key);
		struct dfg_proto_reader reader = dfg_proto_reader_of(list);
		struct dfg_string feature;
		int64_t n = 0;
		while (next_step(&reader, &feature))
			n++;
		if (!reader.at)
			return dfg_feature_check(x, e, key, DFG_STRING, DFG_FEATURE_DAMAGED);
		steps->of_example[e] = list.s ? n : DFG_FEATURE_MISSING;
		steps->total_steps += n;
		steps->most_steps = n > steps->most_steps ? n : steps->most_steps;
	}
	return NULL;
}

/* Counts steps and their values. Every step must have `expected` values, if that is not -1; a step without a type has none. */
static struct dfg_err *count_all(struct dfg_kernel *ctx, const struct dfg_examples *x, int key, enum dfg_dtype dtype,
	int64_t expected, struct steps *steps)
{
	struct dfg_string feature;
	int64_t s = 0;
	DFG_TRY(count_steps(ctx, x, key, steps));
	DFG_TRY(dfg_kernel_scratch(ctx, ((size_t)steps->total_steps + 1) * sizeof *steps->values, (void **)&steps->values));
	for (int64_t e = 0; e < x->count; e++) {
		struct dfg_proto_reader reader = dfg_proto_reader_of(dfg_examples_at(x, e, key));
		for (int64_t t = 0; next_step(&reader, &feature); t++, s++) {
			const int64_t n = dfg_feature_values(feature, dtype, NULL);
			DFG_TRY(dfg_feature_check(x, e, key, dtype, n));
			if (expected >= 0 && n != expected)
				return DFG_ERR(DFG_DATA,
					"example %" PRId64 ": step %" PRId64 " of feature list '%.*s' has %" PRId64
					" values, expected %" PRId64,
					e, t, DFG_KEY_WORDS(x, key), n < 0 ? 0 : n, expected);
			steps->values[s] = n > 0 ? n : 0;
			steps->total_values += steps->values[s];
			steps->most_values = n > steps->most_values ? n : steps->most_values;
		}
	}
	return NULL;
}

/* Writes the values of an example's steps, one after another; returns their number. */
static int64_t read_steps(
	const struct dfg_examples *x, int64_t e, int key, enum dfg_dtype dtype, const struct dfg_tensor *out, int64_t at)
{
	struct dfg_proto_reader reader = dfg_proto_reader_of(dfg_examples_at(x, e, key));
	struct dfg_string feature;
	int64_t total = 0;
	while (next_step(&reader, &feature)) {
		const int64_t n = dfg_feature_values(feature, dtype, dfg_tensor_at(out, at + total));
		total += n > 0 ? n : 0;
	}
	return total;
}

static struct dfg_err *give_values(
	struct dfg_kernel *ctx, const struct dfg_examples *x, int key, int i, const struct steps *steps)
{
	struct dfg_tensor *out;
	int64_t at = 0;
	DFG_TRY(dfg_kernel_output(ctx, i, &DFG_SHAPE_VECTOR(steps->total_values), &out));
	for (int64_t e = 0; e < x->count; e++)
		at += read_steps(x, e, key, out->dtype, out, at);
	return dfg_moved(ctx, i);
}

static int64_t steps_of(const struct steps *steps, int64_t e)
{
	return steps->of_example[e] > 0 ? steps->of_example[e] : 0;
}

static struct dfg_err *give_sparse(struct dfg_kernel *ctx, const struct dfg_examples *x, int i)
{
	const uint16_t *out = ctx->call->out_first;
	const int key = list_key(ctx->call, SPARSE_VALUES, i), rank = 2 + !x->single;
	struct dfg_tensor *indices, *shape;
	struct steps steps;
	int64_t k = 0, s = 0;
	DFG_TRY(count_all(ctx, x, key, (enum dfg_dtype)ctx->call->out_dtype[out[SPARSE_VALUES] + i], -1, &steps));
	DFG_TRY(give_values(ctx, x, key, out[SPARSE_VALUES] + i, &steps));
	DFG_TRY(dfg_kernel_output(
		ctx, out[SPARSE_INDICES] + i, &(struct dfg_shape){.rank = 2, .dim = {steps.total_values, rank}}, &indices));
	for (int64_t e = 0; e < x->count; e++)
		for (int64_t t = 0; t < steps_of(&steps, e); t++, s++)
			for (int64_t j = 0; j < steps.values[s]; j++) {
				if (!x->single)
					((int64_t *)indices->data)[k++] = e;
				((int64_t *)indices->data)[k++] = t;
				((int64_t *)indices->data)[k++] = j;
			}
	DFG_TRY(dfg_kernel_output(ctx, out[SPARSE_SHAPES] + i, &DFG_SHAPE_VECTOR(rank), &shape));
	((int64_t *)shape->data)[0] = x->count;
	((int64_t *)shape->data)[rank - 2] = steps.most_steps;
	((int64_t *)shape->data)[rank - 1] = steps.most_values;
	return NULL;
}

/* The lengths of a dense list, which may be missing in an example only where the op says so. */
static struct dfg_err *give_lengths(
	struct dfg_kernel *ctx, const struct dfg_examples *x, int i, const struct steps *steps)
{
	const struct dfg_shape batch = x->single ? DFG_SHAPE_SCALAR : DFG_SHAPE_VECTOR(x->count);
	const bool may_be_missing = ((const bool *)dfg_kernel_input(ctx, MAY_BE_MISSING)->data)[i];
	struct dfg_tensor *lengths;
	DFG_TRY(dfg_kernel_output(ctx, ctx->call->out_first[DENSE_LENGTHS] + i, &batch, &lengths));
	for (int64_t e = 0; e < x->count; e++) {
		if (steps->of_example[e] == DFG_FEATURE_MISSING && !may_be_missing)
			return DFG_ERR(DFG_DATA,
				"example %" PRId64
				" has no feature list '%.*s': list it in feature_list_dense_missing_assumed_empty "
				"if that is right",
				e, DFG_KEY_WORDS(x, list_key(ctx->call, DENSE_VALUES, i)));
		((int64_t *)lengths->data)[e] = steps_of(steps, e);
	}
	return NULL;
}

/* [batch, steps] + shape, where a single message has no batch. */
static struct dfg_err *list_shape(
	const struct dfg_shape *batch, int64_t steps, const struct dfg_shape *shape, struct dfg_shape *out_shape)
{
	struct dfg_shape outer = *batch;
	outer.dim[outer.rank++] = steps;
	return dfg_examples_shape(&outer, shape, out_shape);
}

/* Shorter lists are padded with zeros, or with empty strings. */
static struct dfg_err *give_dense(struct dfg_kernel *ctx, const struct dfg_examples *x, int i)
{
	const int output = ctx->call->out_first[DENSE_VALUES] + i, key = list_key(ctx->call, DENSE_VALUES, i);
	const struct dfg_shape *shape = ctx->call->attr[LIST_SHAPES].list->item[i].shape;
	struct dfg_shape all;
	struct dfg_tensor *out;
	struct steps steps;
	size_t bytes;
	DFG_TRY(dfg_shape_bytes(shape, DFG_I8, &bytes));
	const int64_t elements = dfg_shape_count(shape);
	DFG_TRY(count_all(ctx, x, key, (enum dfg_dtype)ctx->call->out_dtype[output], elements, &steps));
	DFG_TRY(give_lengths(ctx, x, i, &steps));
	const struct dfg_shape batch = DFG_SHAPE_VECTOR(x->count);
	DFG_TRY(list_shape(x->single ? &DFG_SHAPE_SCALAR : &batch, steps.most_steps, shape, &all));
	DFG_TRY(dfg_kernel_output(ctx, output, &all, &out));
	if (out->dtype != DFG_STRING)
		memset(out->data, 0, dfg_tensor_bytes(out));
	for (int64_t e = 0; e < x->count; e++)
		(void)read_steps(x, e, key, out->dtype, out, e * steps.most_steps * elements);
	return dfg_moved(ctx, output);
}

/* Output i has the sums of the first 0, 1, 2, ... counts. */
static struct dfg_err *give_splits(struct dfg_kernel *ctx, int i, const int64_t *count, int64_t n)
{
	struct dfg_tensor *out;
	int64_t sum = 0;
	DFG_TRY(dfg_kernel_output(ctx, i, &DFG_SHAPE_VECTOR(n + 1), &out));
	for (int64_t k = 0; k <= n; k++) {
		if (out->dtype == DFG_I32 && sum > INT32_MAX)
			return DFG_ERR(DFG_DATA, "there are more values than splits of i32 can count");
		dfg_convert(out->dtype, dfg_tensor_at(out, k), DFG_I64, &sum, 1);
		sum += k < n && count[k] > 0 ? count[k] : 0;
	}
	return NULL;
}

static struct dfg_err *give_ragged(struct dfg_kernel *ctx, const struct dfg_examples *x, int i)
{
	const uint16_t *out = ctx->call->out_first;
	const int key = list_key(ctx->call, RAGGED_VALUES, i);
	struct steps steps;
	DFG_TRY(count_all(ctx, x, key, (enum dfg_dtype)ctx->call->out_dtype[out[RAGGED_VALUES] + i], -1, &steps));
	DFG_TRY(give_values(ctx, x, key, out[RAGGED_VALUES] + i, &steps));
	DFG_TRY(give_splits(ctx, out[OUTER_SPLITS] + i, steps.of_example, x->single ? -1 : x->count));
	return give_splits(ctx, out[INNER_SPLITS] + i, steps.values, steps.total_steps);
}

/* The number of tensors in one port after another of the same list, which must agree. */
static struct dfg_err *check_same(const struct dfg_resolved_node *call, int first, int last)
{
	for (int port = first + 1; port <= last; port++)
		if (outputs_of(call, port) != outputs_of(call, first))
			return DFG_ERR(DFG_DATA, "outputs '%s' and '%s' have %d and %d tensors, expected equal numbers",
				call->signature->out[first].name, call->signature->out[port].name, outputs_of(call, first),
				outputs_of(call, port));
	return NULL;
}

static struct dfg_err *infer_lists(struct dfg_infer *node)
{
	const struct dfg_resolved_node *call = node->call;
	const struct dfg_list *shapes = call->attr[LIST_SHAPES].list;
	const struct dfg_shape *batch = node->in[SERIALIZED];
	if ((int)shapes->count != outputs_of(call, DENSE_VALUES))
		return DFG_ERR(DFG_DATA, "there are %u dense shapes for %d dense feature lists", shapes->count,
			outputs_of(call, DENSE_VALUES));
	for (uint32_t i = 0; i < shapes->count; i++)
		if (!dfg_shape_known(shapes->item[i].shape))
			return DFG_ERR(DFG_DATA, "shape %u of the dense feature lists is %s, expected known dimensions", i,
				dfg_shape_words(shapes->item[i].shape).s);
	for (int i = 0; i < (int)shapes->count && batch->rank >= 0; i++) {
		DFG_TRY(list_shape(batch, DFG_UNKNOWN, shapes->item[i].shape, &node->out[call->out_first[DENSE_VALUES] + i]));
		node->out[call->out_first[DENSE_LENGTHS] + i] = *batch;
	}
	return NULL;
}

static struct dfg_err *sequence_shape(struct dfg_infer *node)
{
	const struct dfg_feature_columns context = context_of(node->call);
	DFG_TRY(check_same(node->call, 0, 2));
	DFG_TRY(check_same(node->call, 4, 5));
	DFG_TRY(check_same(node->call, SPARSE_INDICES, SPARSE_SHAPES));
	DFG_TRY(check_same(node->call, DENSE_VALUES, DENSE_LENGTHS));
	DFG_TRY(check_same(node->call, RAGGED_VALUES, INNER_SPLITS));
	DFG_TRY(dfg_columns_infer(node, &context, SERIALIZED));
	return infer_lists(node);
}

/* The keys of the three forms, one input each. */
static struct dfg_err *read_keys(struct dfg_kernel *ctx, struct dfg_examples *x)
{
	static const int port[] = {0, 3, 4, SPARSE_VALUES, DENSE_VALUES, RAGGED_VALUES};
	int first = 0;
	for (int i = 0; i < 6; i++) {
		const int count = outputs_of(ctx->call, port[i]);
		DFG_TRY(dfg_examples_keys(ctx, (i < 3 ? CONTEXT_KEYS : LIST_KEYS - 3) + i, count, x, first));
		first += count;
	}
	const struct dfg_shape *missing = &dfg_kernel_input(ctx, MAY_BE_MISSING)->shape;
	if (missing->rank != 1 || missing->dim[0] != outputs_of(ctx->call, DENSE_VALUES))
		return DFG_ERR(DFG_DATA, "feature_list_dense_missing_assumed_empty has shape %s, expected [%d]",
			dfg_shape_words(missing).s, outputs_of(ctx->call, DENSE_VALUES));
	return NULL;
}

static struct dfg_err *sequence_run(struct dfg_kernel *ctx)
{
	const struct dfg_resolved_node *call = ctx->call;
	const struct dfg_feature_columns context = context_of(call);
	const int keys = list_key(call, RAGGED_VALUES, outputs_of(call, RAGGED_VALUES));
	struct dfg_examples x;
	DFG_TRY(dfg_examples_new(ctx, SERIALIZED, keys, &x));
	DFG_TRY(read_keys(ctx, &x));
	DFG_TRY(dfg_examples_find(&x, CONTEXT, 0, context_keys(call)));
	DFG_TRY(dfg_examples_find(&x, FEATURE_LISTS, context_keys(call), keys));
	DFG_TRY(dfg_columns_give(ctx, &context, &x));
	for (int i = 0; i < outputs_of(call, SPARSE_VALUES); i++)
		DFG_TRY(give_sparse(ctx, &x, i));
	for (int i = 0; i < outputs_of(call, DENSE_VALUES); i++)
		DFG_TRY(give_dense(ctx, &x, i));
	for (int i = 0; i < outputs_of(call, RAGGED_VALUES); i++)
		DFG_TRY(give_ragged(ctx, &x, i));
	return NULL;
}

#define VALUE_TYPES "[f32|i64|string]"
const struct dfg_op dfg_op_ParseSequenceExampleV2 = {
	.name = "ParseSequenceExampleV2",
	.doc =
		"contexts and feature lists of tensorflow.SequenceExample messages: sparse, padded dense and ragged tensors by "
		"key",
	.sig =
		"<Ncontext_sparse: int >= 0, Tcontext_dense: " VALUE_TYPES ", context_sparse_types: " VALUE_TYPES
		", context_ragged_value_types: " VALUE_TYPES
		", context_ragged_split_types: [index], Nfeature_list_sparse: int >= 0, Nfeature_list_dense: int >= 0, "
		"feature_list_dense_types: " VALUE_TYPES ", feature_list_sparse_types: " VALUE_TYPES
		", feature_list_ragged_value_types: " VALUE_TYPES
		", feature_list_ragged_split_types: [index]>"
		"(serialized: string, debug_name: string, context_sparse_keys: string, context_dense_keys: string, "
		"context_ragged_keys: string, feature_list_sparse_keys: string, feature_list_dense_keys: string, "
		"feature_list_ragged_keys: string, dense_missing_assumed_empty: bool, context_dense_defaults: [Tcontext_dense])"
		" -> (context_sparse_indices: Ncontext_sparse * i64, context_sparse_values: [context_sparse_types], "
		"context_sparse_shapes: Ncontext_sparse * i64, context_dense_values: [Tcontext_dense], "
		"context_ragged_values: [context_ragged_value_types], context_ragged_row_splits: [context_ragged_split_types], "
		"feature_list_sparse_indices: Nfeature_list_sparse * i64, feature_list_sparse_values: "
		"[feature_list_sparse_types], feature_list_sparse_shapes: Nfeature_list_sparse * i64, "
		"feature_list_dense_values: [feature_list_dense_types], feature_list_dense_lengths: Nfeature_list_dense * i64, "
		"feature_list_ragged_values: [feature_list_ragged_value_types], "
		"feature_list_outer_splits: [feature_list_ragged_split_types], "
		"feature_list_inner_splits: [feature_list_ragged_split_types])",
	.attr = {[CONTEXT_SHAPES] = "context_dense_shapes: list(shape)",
		[LIST_SHAPES] = "feature_list_dense_shapes: list(shape)"},
	.flags = DFG_ANY_RANK | DFG_NO_GRADIENT | DFG_EXACT,
	.shape = sequence_shape,
	.run = sequence_run,
};
