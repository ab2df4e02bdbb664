/* ParseExample and its forms: batches of tensorflow.Example messages as a column for each feature. */
#include "kernels/features.h"
#include "kernels/shape_rules.h"

#include <inttypes.h>
#include <string.h>

enum { SERIALIZED, FEATURES = 1 }; /* input, and field of the message */
enum { DENSE_SHAPES, SPARSE_KEYS, DENSE_KEYS };

/* The columns of an op whose outputs are sparse, dense and perhaps ragged features, in TensorFlow's order of ports. */
static struct dfg_feature_columns columns_of(const struct dfg_resolved_node *call)
{
	const uint16_t *out = call->out_first;
	const int ports = call->signature->n_out;
	return (struct dfg_feature_columns){
		.indices = out[0],
		.values = out[1],
		.shapes = out[2],
		.dense_values = out[3],
		.ragged_values = ports > 4 ? out[4] : 0,
		.ragged_splits = ports > 4 ? out[5] : 0,
		.sparse = out[1] - out[0],
		.dense = out[4] - out[3],
		.ragged = ports > 4 ? out[5] - out[4] : 0,
		.defaults = call->in_first[call->signature->n_in - 1],
		.dense_shapes = call->attr[DENSE_SHAPES].list,
	};
}

static struct dfg_err *check_counts(const struct dfg_resolved_node *call)
{
	const uint16_t *out = call->out_first;
	if (out[2] - out[1] != out[1] - out[0])
		return DFG_ERR(DFG_DATA, "there are %d types for %d sparse features", out[2] - out[1], out[1] - out[0]);
	if (call->signature->n_out > 4 && out[6] - out[5] != out[5] - out[4])
		return DFG_ERR(
			DFG_DATA, "there are %d types of splits for %d ragged features", out[6] - out[5], out[5] - out[4]);
	return NULL;
}

static struct dfg_err *parse_shape(struct dfg_infer *node)
{
	const struct dfg_feature_columns columns = columns_of(node->call);
	DFG_TRY(check_counts(node->call));
	return dfg_columns_infer(node, &columns, SERIALIZED);
}

static struct dfg_err *parse(
	struct dfg_kernel *ctx, const struct dfg_feature_columns *columns, struct dfg_examples *examples)
{
	DFG_TRY(dfg_examples_find(examples, FEATURES, 0, examples->keys));
	return dfg_columns_give(ctx, columns, examples);
}

static int keys_of(const struct dfg_feature_columns *columns)
{
	return columns->sparse + columns->dense + columns->ragged;
}

#define PARSED(count)                                                                       \
	"sparse_indices: " count " * i64, sparse_values: [sparse_types], sparse_shapes: " count \
	" * i64, "                                                                              \
	"dense_values: [Tdense]"
#define PARSE(Op, text, signature, shape_, run_, ...)                        \
	const struct dfg_op dfg_op_##Op = {                                      \
		.name = #Op,                                                         \
		.doc = text,                                                         \
		.sig = signature,                                                    \
		.attr = {[DENSE_SHAPES] = "dense_shapes: list(shape)", __VA_ARGS__}, \
		.flags = DFG_ANY_RANK | DFG_NO_GRADIENT | DFG_EXACT,                 \
		.shape = shape_,                                                     \
		.run = run_,                                                         \
	};

/* ParseExampleV2, whose keys are vectors. */
enum { V2_SPARSE_KEYS = 2, V2_DENSE_KEYS, V2_RAGGED_KEYS };

static struct dfg_err *v2_run(struct dfg_kernel *ctx)
{
	const struct dfg_feature_columns columns = columns_of(ctx->call);
	struct dfg_examples examples;
	DFG_TRY(dfg_examples_new(ctx, SERIALIZED, keys_of(&columns), &examples));
	DFG_TRY(dfg_examples_keys(ctx, V2_SPARSE_KEYS, columns.sparse, &examples, 0));
	DFG_TRY(dfg_examples_keys(ctx, V2_DENSE_KEYS, columns.dense, &examples, columns.sparse));
	DFG_TRY(dfg_examples_keys(ctx, V2_RAGGED_KEYS, columns.ragged, &examples, columns.sparse + columns.dense));
	return parse(ctx, &columns, &examples);
}

PARSE(ParseExampleV2, "the features of tensorflow.Example messages: sparse, dense and ragged tensors by key",
	"<Tdense: [f32|i64|string], num_sparse: int >= 0, sparse_types: [f32|i64|string], "
	"ragged_value_types: [f32|i64|string], ragged_split_types: [index]>"
	"(serialized: string, names: string, sparse_keys: string, dense_keys: string, ragged_keys: string, "
	"dense_defaults: [Tdense]) -> (" PARSED("num_sparse") ", ragged_values: [ragged_value_types], "
	"ragged_row_splits: [ragged_split_types])",
	parse_shape, v2_run, )

/* ParseExample, whose keys are scalars. */
enum { V1_FIRST_KEY = 2 };

static struct dfg_err *v1_shape(struct dfg_infer *node)
{
	DFG_TRY(dfg_need_rank(node, SERIALIZED, 1));
	return parse_shape(node);
}

static struct dfg_err *v1_run(struct dfg_kernel *ctx)
{
	const struct dfg_feature_columns columns = columns_of(ctx->call);
	struct dfg_examples examples;
	if (ctx->call->in_first[4] - V1_FIRST_KEY != keys_of(&columns))
		return DFG_ERR(
			DFG_DATA, "there are %d keys for %d features", ctx->call->in_first[4] - V1_FIRST_KEY, keys_of(&columns));
	DFG_TRY(dfg_examples_new(ctx, SERIALIZED, keys_of(&columns), &examples));
	for (int k = 0; k < examples.keys; k++) {
		const struct dfg_tensor *key = dfg_kernel_input(ctx, V1_FIRST_KEY + k);
		if (key->shape.rank)
			return DFG_ERR(DFG_DATA, "key %d has shape %s, expected a scalar", k, dfg_shape_words(&key->shape).s);
		examples.key[k] = *(const struct dfg_string *)key->data;
	}
	return parse(ctx, &columns, &examples);
}

PARSE(ParseExample, "the features of tensorflow.Example messages: sparse and dense tensors by key (older form)",
	"<Nsparse: int >= 0, Ndense: int >= 0, sparse_types: [f32|i64|string], Tdense: [f32|i64|string]>"
	"(serialized: string, names: string, sparse_keys: Nsparse * string, dense_keys: Ndense * string, "
	"dense_defaults: [Tdense]) -> (" PARSED("Nsparse") ")",
	v1_shape, v1_run, )

/* ParseSingleExample, whose keys are attributes. */

static struct dfg_err *single_shape(struct dfg_infer *node)
{
	const struct dfg_feature_columns columns = columns_of(node->call);
	const union dfg_value *attr = node->call->attr;
	DFG_TRY(dfg_need_rank(node, SERIALIZED, 0));
	if ((int)attr[SPARSE_KEYS].list->count != columns.sparse || (int)attr[DENSE_KEYS].list->count != columns.dense)
		return DFG_ERR(DFG_DATA, "there are %u sparse and %u dense keys for %d and %d features",
			attr[SPARSE_KEYS].list->count, attr[DENSE_KEYS].list->count, columns.sparse, columns.dense);
	return parse_shape(node);
}

static struct dfg_err *single_run(struct dfg_kernel *ctx)
{
	const struct dfg_feature_columns columns = columns_of(ctx->call);
	const union dfg_value *attr = dfg_kernel_attr(ctx);
	struct dfg_examples examples;
	DFG_TRY(dfg_examples_new(ctx, SERIALIZED, keys_of(&columns), &examples));
	for (int k = 0; k < examples.keys; k++)
		examples.key[k] =
			k < columns.sparse ? attr[SPARSE_KEYS].list->item[k].s : attr[DENSE_KEYS].list->item[k - columns.sparse].s;
	return parse(ctx, &columns, &examples);
}

PARSE(ParseSingleExample, "the features of one tensorflow.Example message: sparse and dense tensors by key",
	"<num_sparse: int >= 0, sparse_types: [f32|i64|string], Tdense: [f32|i64|string]>"
	"(serialized: string, dense_defaults: [Tdense]) -> (" PARSED("num_sparse") ")",
	single_shape, single_run, [SPARSE_KEYS] = "sparse_keys: list(string)", [DENSE_KEYS] = "dense_keys: list(string)")
