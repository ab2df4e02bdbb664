/* The ops on lookup tables. */
#include "kernels/shape_rules.h"
#include "kernels/table.h"
#include "kernels/variable.h"

#include <inttypes.h>

/* Creation. Attributes that all kinds have; those of one kind follow. */
enum { CONTAINER, SHARED_NAME, USE_NODE_NAME_SHARING, VALUE_SHAPE, INITIAL_NUM_BUCKETS };
enum { KEY, VALUE }; /* parameters */
#define COMMON                                                                          \
	[CONTAINER] = "container: string = ''", [SHARED_NAME] = "shared_name: string = ''", \
	[USE_NODE_NAME_SHARING] = "use_node_name_sharing: bool = false"

struct dfg_err *dfg_table_make_holds(
	struct dfg_infer *node, const struct dfg_tensor_type *key, const struct dfg_tensor_type *value)
{
	struct dfg_handle_type *holds = dfg_arena_zeros(node->arena, 1, sizeof *holds);
	struct dfg_component_types *component =
		dfg_arena_zeros(node->arena, 1, sizeof *component + sizeof *component->item);
	node->out[0] = DFG_SHAPE_SCALAR;
	if (!holds || !component)
		return dfg_no_memory("the type of a lookup table");
	component->count = 1;
	component->item[0] = *key;
	*holds = (struct dfg_handle_type){value->dtype, value->shape, component};
	node->out_holds[0] = holds;
	return NULL;
}

static struct dfg_tensor_type type_of(
	const struct dfg_resolved_node *call, int parameter, const struct dfg_shape *shape)
{
	return (struct dfg_tensor_type){call->param[parameter].dtype, *shape};
}

/* HashTableV2 and MutableHashTableV2, whose keys and values are scalars. */
static struct dfg_err *scalars_shape(struct dfg_infer *node)
{
	const struct dfg_tensor_type key = type_of(node->call, KEY, &DFG_SHAPE_SCALAR),
								 value = type_of(node->call, VALUE, &DFG_SHAPE_SCALAR);
	return dfg_table_make_holds(node, &key, &value);
}

static struct dfg_err *tensors_shape(struct dfg_infer *node)
{
	const struct dfg_tensor_type key = type_of(node->call, KEY, &DFG_SHAPE_SCALAR),
								 value = type_of(node->call, VALUE, node->call->attr[VALUE_SHAPE].shape);
	return dfg_table_make_holds(node, &key, &value);
}

static struct dfg_err *check_dense(struct dfg_infer *node)
{
	int64_t buckets = node->call->attr[INITIAL_NUM_BUCKETS].i;
	if (buckets < 1 || buckets & (buckets - 1))
		return DFG_ERR(DFG_DATA, "initial_num_buckets is %" PRId64 ", expected a power of two", buckets);
	if (!dfg_shape_fits(node->in[0], node->in[1]))
		return DFG_ERR(DFG_DATA, "empty_key has shape %s and deleted_key %s, expected the same shape",
			dfg_shape_words(node->in[0]).s, dfg_shape_words(node->in[1]).s);
	return NULL;
}

static struct dfg_err *dense_shape(struct dfg_infer *node)
{
	DFG_TRY(check_dense(node));
	const struct dfg_tensor_type key = type_of(node->call, KEY, node->in[0]),
								 value = type_of(node->call, VALUE, node->call->attr[VALUE_SHAPE].shape);
	return dfg_table_make_holds(node, &key, &value);
}

static struct dfg_err *make_table(struct dfg_kernel *ctx, const struct dfg_table_kind *kind)
{
	const union dfg_value *attr = dfg_kernel_attr(ctx);
	struct dfg_text name;
	struct dfg_table *table = NULL;
	struct dfg_err *err = dfg_shared_name(ctx, attr[CONTAINER].s, attr[SHARED_NAME].s, &name);
	if (!err)
		err = dfg_table_find(ctx->host->state(ctx), name.s, kind, &table);
	dfg_text_release(&name);
	return err ? err : dfg_object_out(ctx, 0, dfg_resource_ref(&table->resource));
}

static struct dfg_err *make_scalars(struct dfg_kernel *ctx, enum dfg_table_form form)
{
	const struct dfg_table_kind kind = {
		.form = form,
		.key = type_of(ctx->call, KEY, &DFG_SHAPE_SCALAR),
		.value = type_of(ctx->call, VALUE, &DFG_SHAPE_SCALAR),
	};
	return make_table(ctx, &kind);
}

static struct dfg_err *constant_run(struct dfg_kernel *ctx)
{
	return make_scalars(ctx, DFG_TABLE_CONSTANT);
}

static struct dfg_err *mutable_run(struct dfg_kernel *ctx)
{
	return make_scalars(ctx, DFG_TABLE_MUTABLE);
}

static struct dfg_err *tensors_run(struct dfg_kernel *ctx)
{
	const struct dfg_table_kind kind = {
		.form = DFG_TABLE_MUTABLE,
		.key = type_of(ctx->call, KEY, &DFG_SHAPE_SCALAR),
		.value = type_of(ctx->call, VALUE, dfg_kernel_attr(ctx)[VALUE_SHAPE].shape),
	};
	return make_table(ctx, &kind);
}

static struct dfg_err *dense_run(struct dfg_kernel *ctx)
{
	const struct dfg_tensor *empty = dfg_kernel_input(ctx, 0), *deleted = dfg_kernel_input(ctx, 1);
	const struct dfg_table_kind kind = {
		.form = DFG_TABLE_DENSE,
		.key = type_of(ctx->call, KEY, &empty->shape),
		.value = type_of(ctx->call, VALUE, dfg_kernel_attr(ctx)[VALUE_SHAPE].shape),
		.reserved = {empty, deleted},
	};
	if (!dfg_shape_equal(&empty->shape, &deleted->shape))
		return DFG_ERR(DFG_DATA, "empty_key has shape %s and deleted_key %s, expected the same shape",
			dfg_shape_words(&empty->shape).s, dfg_shape_words(&deleted->shape).s);
	return make_table(ctx, &kind);
}

#define TABLE(Name, text, inputs, shape_, run_, ...)                                           \
	const struct dfg_op dfg_op_##Name = {                                                      \
		.name = #Name,                                                                         \
		.doc = text,                                                                           \
		.sig = "<key_dtype: type, value_dtype: type>(" inputs ") -> (table_handle: resource)", \
		.attr = {__VA_ARGS__},                                                                 \
		.flags = DFG_STATEFUL | DFG_ANY_RANK | DFG_NO_GRADIENT,                                \
		.shape = shape_,                                                                       \
		.run = run_,                                                                           \
	};
TABLE(HashTableV2, "a lookup table named by shared_name, whose entries are given once, by InitializeTable", "",
	scalars_shape, constant_run, COMMON)
TABLE(MutableHashTableV2, "a lookup table named by shared_name, from scalars to scalars", "", scalars_shape,
	mutable_run, COMMON)
TABLE(MutableHashTableOfTensorsV2, "a lookup table named by shared_name, from scalars to tensors of one shape", "",
	tensors_shape, tensors_run, COMMON, [VALUE_SHAPE] = "value_shape: shape = []")
TABLE(MutableDenseHashTableV2,
	"a lookup table named by shared_name, from tensors to tensors; no entry has the empty or the deleted key",
	"empty_key: key_dtype, deleted_key: key_dtype", dense_shape, dense_run,
	COMMON, [VALUE_SHAPE] = "value_shape: shape = []", [INITIAL_NUM_BUCKETS] = "initial_num_buckets: int = 131072",
	"max_load_factor: float = 0.8")

/* Types before a step. */

/* The types of keys and values of the table in input 0; NULL: unknown. */
static struct dfg_err *table_type(const struct dfg_infer *node, const struct dfg_handle_type **out_holds)
{
	const struct dfg_handle_type *holds = *out_holds = node->in_holds[0];
	if (holds && (!holds->component || !holds->dtype))
		return DFG_ERR(DFG_DATA, "input 0 is the handle of another object, expected that of a lookup table");
	return NULL;
}

static struct dfg_err *check_dtype(const char *what, enum dfg_dtype dtype, enum dfg_dtype expected)
{
	if (dtype == expected)
		return NULL;
	return DFG_ERR(DFG_DATA, "%s are %s, but those of the lookup table are %s", what, dfg_dtype_name(dtype),
		dfg_dtype_name(expected));
}

/* The leading dimensions of keys, which count entries, if the dimensions after them fit those of one key. */
static struct dfg_err *leading(const struct dfg_shape *keys, const struct dfg_shape *key, struct dfg_shape *out_shape)
{
	*out_shape = DFG_SHAPE_UNKNOWN;
	if (keys->rank < 0 || key->rank < 0)
		return NULL;
	bool fits = keys->rank >= key->rank;
	*out_shape = (struct dfg_shape){.rank = keys->rank - key->rank};
	for (int d = 0; d < keys->rank && fits; d++) {
		const int64_t *of_key = d < out_shape->rank ? NULL : &key->dim[d - out_shape->rank];
		if (of_key)
			fits = *of_key < 0 || keys->dim[d] < 0 || *of_key == keys->dim[d];
		else
			out_shape->dim[d] = keys->dim[d];
	}
	return fits ? NULL
				: DFG_ERR(DFG_DATA, "keys have shape %s, expected a shape that ends with %s", dfg_shape_words(keys).s,
					  dfg_shape_words(key).s);
}

/* The shape of a tensor with an entry of this shape for each of the leading dimensions. */
static struct dfg_err *entries(
	const struct dfg_shape *count, const struct dfg_shape *entry, struct dfg_shape *out_shape)
{
	*out_shape = DFG_SHAPE_UNKNOWN;
	if (count->rank < 0 || entry->rank < 0)
		return NULL;
	if (count->rank + entry->rank > DFG_RANK_MAX)
		return DFG_ERR(DFG_DATA, "keys of shape %s with values of shape %s make more than the limit of %d dimensions",
			dfg_shape_words(count).s, dfg_shape_words(entry).s, DFG_RANK_MAX);
	*out_shape = *count;
	for (int d = 0; d < entry->rank; d++)
		out_shape->dim[out_shape->rank++] = entry->dim[d];
	return NULL;
}

static struct dfg_err *check_default(
	const struct dfg_shape *given, const struct dfg_shape *value, const struct dfg_shape *all)
{
	if (dfg_shape_fits(given, value) || dfg_shape_fits(given, all))
		return NULL;
	return DFG_ERR(DFG_DATA, "default_value has shape %s, expected %s or %s", dfg_shape_words(given).s,
		dfg_shape_words(value).s, dfg_shape_words(all).s);
}

static struct dfg_err *find_shape(struct dfg_infer *node)
{
	const struct dfg_handle_type *holds;
	struct dfg_shape count;
	DFG_TRY(table_type(node, &holds));
	if (!holds)
		return NULL;
	DFG_TRY(check_dtype("keys", (enum dfg_dtype)node->call->in_dtype[1], holds->component->item[0].dtype));
	DFG_TRY(check_dtype("values", (enum dfg_dtype)node->call->in_dtype[2], holds->dtype));
	DFG_TRY(leading(node->in[1], &holds->component->item[0].shape, &count));
	DFG_TRY(entries(&count, &holds->shape, &node->out[0]));
	return check_default(node->in[2], &holds->shape, &node->out[0]);
}

/* The shape function of ops that put entries: keys in input 1, values in input 2. */
static struct dfg_err *put_shape(struct dfg_infer *node)
{
	const struct dfg_handle_type *holds;
	struct dfg_shape count, values;
	DFG_TRY(table_type(node, &holds));
	if (!holds)
		return NULL;
	DFG_TRY(check_dtype("keys", (enum dfg_dtype)node->call->in_dtype[1], holds->component->item[0].dtype));
	DFG_TRY(check_dtype("values", (enum dfg_dtype)node->call->in_dtype[2], holds->dtype));
	DFG_TRY(leading(node->in[1], &holds->component->item[0].shape, &count));
	DFG_TRY(entries(&count, &holds->shape, &values));
	if (!dfg_shape_fits(node->in[2], &values))
		return DFG_ERR(DFG_DATA, "values have shape %s, but keys of shape %s require %s",
			dfg_shape_words(node->in[2]).s, dfg_shape_words(node->in[1]).s, dfg_shape_words(&values).s);
	return NULL;
}

static struct dfg_err *remove_shape(struct dfg_infer *node)
{
	const struct dfg_handle_type *holds;
	struct dfg_shape count;
	DFG_TRY(table_type(node, &holds));
	if (!holds)
		return NULL;
	DFG_TRY(check_dtype("keys", (enum dfg_dtype)node->call->in_dtype[1], holds->component->item[0].dtype));
	return leading(node->in[1], &holds->component->item[0].shape, &count);
}

static struct dfg_err *size_shape(struct dfg_infer *node)
{
	const struct dfg_handle_type *holds;
	node->out[0] = DFG_SHAPE_SCALAR;
	return table_type(node, &holds);
}

static struct dfg_err *export_shape(struct dfg_infer *node)
{
	const struct dfg_handle_type *holds;
	const struct dfg_shape count = {.rank = 1, .dim = {DFG_UNKNOWN}};
	DFG_TRY(table_type(node, &holds));
	if (!holds)
		return NULL;
	DFG_TRY(check_dtype("keys", (enum dfg_dtype)node->call->out_dtype[0], holds->component->item[0].dtype));
	DFG_TRY(check_dtype("values", (enum dfg_dtype)node->call->out_dtype[1], holds->dtype));
	DFG_TRY(entries(&count, &holds->component->item[0].shape, &node->out[0]));
	return entries(&count, &holds->shape, &node->out[1]);
}

/* Kernels check again what shape functions may not have known. */

static struct dfg_err *table_in(struct dfg_kernel *ctx, struct dfg_table **out_table)
{
	return dfg_object_in(ctx, 0, dfg_table_kind, out_table);
}

/* The table of input 0 and the number of keys in input 1. */
static struct dfg_err *keys_in(
	struct dfg_kernel *ctx, struct dfg_table **out_table, struct dfg_shape *out_count, int64_t *out_n)
{
	const struct dfg_tensor *keys = dfg_kernel_input(ctx, 1);
	DFG_TRY(table_in(ctx, out_table));
	DFG_TRY(check_dtype("keys", keys->dtype, (*out_table)->key.dtype));
	DFG_TRY(leading(&keys->shape, &(*out_table)->key.shape, out_count));
	*out_n = dfg_shape_count(out_count);
	return NULL;
}

/* Whether there is a default for each key, and not one for all. */
static struct dfg_err *defaults_in(
	struct dfg_kernel *ctx, const struct dfg_table *table, const struct dfg_shape *all, bool *out_each)
{
	const struct dfg_tensor *given = dfg_kernel_input(ctx, 2);
	DFG_TRY(check_dtype("values", given->dtype, table->value.dtype));
	DFG_TRY(check_default(&given->shape, &table->value.shape, all));
	*out_each = !dfg_shape_equal(&given->shape, &table->value.shape);
	if (*out_each && table->form == DFG_TABLE_CONSTANT) /* TensorFlow takes the first of them */
		return DFG_ERR(DFG_DATA, "default_value has shape %s, expected a scalar for a constant lookup table",
			dfg_shape_words(&given->shape).s);
	return NULL;
}

/* Copies the default value of key k to its place in output 0. */
static struct dfg_err *give_default(struct dfg_kernel *ctx, const struct dfg_table *table, int64_t k, bool each)
{
	const struct dfg_tensor *given = dfg_kernel_input(ctx, 2);
	const struct dfg_table_column defaults = {
		.dtype = given->dtype,
		.elements = table->value.elements,
		.bytes = table->value.bytes,
		.data = given->data,
	};
	return dfg_table_give(ctx, 0, k * (int64_t)table->value.elements, &defaults, each ? k : 0);
}

static struct dfg_err *check_initialised(const struct dfg_table *table)
{
	if (!table->initialised)
		return DFG_ERR(DFG_DATA, "lookup table '%s' is not initialised", table->resource.name);
	return NULL;
}

static struct dfg_err *find_all(struct dfg_kernel *ctx, const struct dfg_table *table, int64_t n, bool each)
{
	DFG_TRY(check_initialised(table));
	for (int64_t k = 0; k < n; k++) {
		int64_t position = dfg_table_position(table, dfg_kernel_input(ctx, 1), k);
		if (position < 0)
			DFG_TRY(give_default(ctx, table, k, each));
		else
			DFG_TRY(dfg_table_give(ctx, 0, k * (int64_t)table->value.elements, &table->value, position));
	}
	return NULL;
}

static struct dfg_err *find_run(struct dfg_kernel *ctx)
{
	struct dfg_table *table;
	struct dfg_shape count, all;
	struct dfg_tensor *out;
	int64_t n;
	bool each;
	DFG_TRY(keys_in(ctx, &table, &count, &n));
	DFG_TRY(entries(&count, &table->value.shape, &all));
	DFG_TRY(defaults_in(ctx, table, &all, &each));
	DFG_TRY(dfg_kernel_output(ctx, 0, &all, &out));
	pthread_rwlock_rdlock(&table->lock);
	struct dfg_err *err = find_all(ctx, table, n, each);
	pthread_rwlock_unlock(&table->lock);
	return err;
}

const struct dfg_op dfg_op_LookupTableFindV2 = {
	.name = "LookupTableFindV2",
	.doc = "the values of keys in a lookup table, and the default value for those that it does not have",
	.sig = "<Tin: type, Tout: type>(table_handle: resource, keys: Tin, default_value: Tout) -> (values: Tout)",
	.flags = DFG_STATEFUL | DFG_READS | DFG_ANY_RANK | DFG_NO_GRADIENT,
	.shape = find_shape,
	.run = find_run,
};

/* The value tensor of an op that puts entries; DFG_DATA if its shape is not that of n values. */
static struct dfg_err *check_values(
	struct dfg_kernel *ctx, const struct dfg_table *table, const struct dfg_shape *count)
{
	const struct dfg_tensor *values = dfg_kernel_input(ctx, 2);
	struct dfg_shape expected;
	DFG_TRY(check_dtype("values", values->dtype, table->value.dtype));
	DFG_TRY(entries(count, &table->value.shape, &expected));
	if (!dfg_shape_equal(&values->shape, &expected))
		return DFG_ERR(DFG_DATA, "values have shape %s, expected %s", dfg_shape_words(&values->shape).s,
			dfg_shape_words(&expected).s);
	return NULL;
}

typedef struct dfg_err *put_fn(
	struct dfg_table *table, const struct dfg_tensor *keys, const struct dfg_tensor *values, int64_t n);

static struct dfg_err *replace(
	struct dfg_table *table, const struct dfg_tensor *keys, const struct dfg_tensor *values, int64_t n)
{
	dfg_table_clear(table);
	return dfg_table_put(table, keys, values, n);
}

static struct dfg_err *put_entries(struct dfg_kernel *ctx, bool constant, put_fn *put)
{
	struct dfg_table *table;
	struct dfg_shape count;
	int64_t n;
	DFG_TRY(keys_in(ctx, &table, &count, &n));
	DFG_TRY(check_values(ctx, table, &count));
	if (constant != (table->form == DFG_TABLE_CONSTANT))
		return DFG_ERR(DFG_DATA, "lookup table '%s' is %s", table->resource.name,
			constant ? "mutable: use LookupTableInsertV2" : "constant: use InitializeTableV2");
	pthread_rwlock_wrlock(&table->lock);
	struct dfg_err *err = put(table, dfg_kernel_input(ctx, 1), dfg_kernel_input(ctx, 2), n);
	pthread_rwlock_unlock(&table->lock);
	return err;
}

static struct dfg_err *insert_run(struct dfg_kernel *ctx)
{
	return put_entries(ctx, false, dfg_table_put);
}

static struct dfg_err *import_run(struct dfg_kernel *ctx)
{
	return put_entries(ctx, false, replace);
}

static struct dfg_err *initialise_run(struct dfg_kernel *ctx)
{
	return put_entries(ctx, true, dfg_table_initialise);
}

#define PUT(Name, text, Tkey, Tvalue, run_, means_)                                                                    \
	const struct dfg_op dfg_op_##Name = {                                                                              \
		.name = #Name,                                                                                                 \
		.doc = text,                                                                                                   \
		.sig = "<" Tkey ": type, " Tvalue ": type>(table_handle: resource, keys: " Tkey ", values: " Tvalue ") -> ()", \
		.flags = DFG_STATEFUL | DFG_WRITES | DFG_ANY_RANK | DFG_NO_GRADIENT,                                           \
		.means = means_,                                                                                               \
		.shape = put_shape,                                                                                            \
		.run = run_,                                                                                                   \
	};
PUT(LookupTableInsertV2, "puts entries into a mutable lookup table; the value of a key that is there is replaced",
	"Tin", "Tout", insert_run, DFG_MEANS_NOTHING)
PUT(LookupTableImportV2, "replaces all entries of a mutable lookup table", "Tin", "Tout", import_run, DFG_MEANS_NOTHING)
PUT(InitializeTableV2, "gives a constant lookup table its entries", "Tkey", "Tval", initialise_run,
	DFG_MEANS_TABLE_ENTRIES)

static struct dfg_err *remove_run(struct dfg_kernel *ctx)
{
	struct dfg_table *table;
	struct dfg_shape count;
	int64_t n;
	DFG_TRY(keys_in(ctx, &table, &count, &n));
	if (table->form == DFG_TABLE_CONSTANT)
		return DFG_ERR(DFG_DATA, "lookup table '%s' is constant: no entry can be removed", table->resource.name);
	pthread_rwlock_wrlock(&table->lock);
	struct dfg_err *err = dfg_table_remove(table, dfg_kernel_input(ctx, 1), n);
	pthread_rwlock_unlock(&table->lock);
	return err;
}

const struct dfg_op dfg_op_LookupTableRemoveV2 = {
	.name = "LookupTableRemoveV2",
	.doc = "removes keys, with their values, from a mutable lookup table",
	.sig = "<Tin: type>(table_handle: resource, keys: Tin) -> ()",
	.flags = DFG_STATEFUL | DFG_WRITES | DFG_ANY_RANK | DFG_NO_GRADIENT,
	.shape = remove_shape,
	.run = remove_run,
};

static struct dfg_err *size_run(struct dfg_kernel *ctx)
{
	struct dfg_table *table;
	struct dfg_tensor *out;
	DFG_TRY(table_in(ctx, &table));
	DFG_TRY(dfg_kernel_output(ctx, 0, &DFG_SHAPE_SCALAR, &out));
	pthread_rwlock_rdlock(&table->lock);
	*(int64_t *)out->data = (int64_t)table->count;
	pthread_rwlock_unlock(&table->lock);
	return NULL;
}

const struct dfg_op dfg_op_LookupTableSizeV2 = {
	.name = "LookupTableSizeV2",
	.doc = "number of entries of a lookup table",
	.sig = "(table_handle: resource) -> (size: i64)",
	.flags = DFG_STATEFUL | DFG_READS | DFG_NO_GRADIENT,
	.shape = size_shape,
	.run = size_run,
};

static struct dfg_err *export_column(
	struct dfg_kernel *ctx, int i, const struct dfg_table *table, const struct dfg_table_column *column)
{
	const struct dfg_shape count = {.rank = 1, .dim = {(int64_t)table->count}};
	struct dfg_shape shape;
	struct dfg_tensor *out;
	int64_t first = 0;
	DFG_TRY(entries(&count, &column->shape, &shape));
	DFG_TRY(dfg_kernel_output(ctx, i, &shape, &out));
	for (int64_t position = 0; position < (int64_t)table->used; position++) {
		if (table->removed[position])
			continue;
		DFG_TRY(dfg_table_give(ctx, i, first, column, position));
		first += (int64_t)column->elements;
	}
	return NULL;
}

static struct dfg_err *export_run(struct dfg_kernel *ctx)
{
	struct dfg_table *table;
	DFG_TRY(table_in(ctx, &table));
	DFG_TRY(check_dtype("keys", (enum dfg_dtype)ctx->call->out_dtype[0], table->key.dtype));
	DFG_TRY(check_dtype("values", (enum dfg_dtype)ctx->call->out_dtype[1], table->value.dtype));
	pthread_rwlock_rdlock(&table->lock);
	struct dfg_err *err = check_initialised(table);
	if (!err)
		err = export_column(ctx, 0, table, &table->key);
	if (!err)
		err = export_column(ctx, 1, table, &table->value);
	pthread_rwlock_unlock(&table->lock);
	return err;
}

const struct dfg_op dfg_op_LookupTableExportV2 = {
	.name = "LookupTableExportV2",
	.doc = "all keys and values of a lookup table, in the order in which the keys were put",
	.sig = "<Tkeys: type, Tvalues: type>(table_handle: resource) -> (keys: Tkeys, values: Tvalues)",
	.flags = DFG_STATEFUL | DFG_READS | DFG_ANY_RANK | DFG_NO_GRADIENT,
	.shape = export_shape,
	.run = export_run,
};
