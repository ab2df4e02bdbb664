/*
 * Crosses of features: for each row of a batch, all combinations of one value of each column, as strings or hashes. Columns
 * are sparse or dense matrices of strings or i64. The hashes are those of TensorFlow, which are the same everywhere.
 */
#include "kernels/sparse.h"
#include "kernels/text_hash.h"
#include "lib/base/text.h"

#include <inttypes.h>
#include <string.h>

enum { HASHED, BUCKETS, HASH_KEY }; /* attributes of SparseCross */

/* A column: row b has the values from first[b] to first[b + 1]. */
struct column {
	const struct dfg_tensor *values;
	const int64_t *first;
};

struct columns {
	int n;
	struct column *column;
	int64_t rows;
	struct dfg_string separator;
	bool hashed;
	uint64_t buckets, key;
};

static int sparse_columns(const struct dfg_resolved_node *call)
{
	return call->in_first[1];
}

static struct dfg_err *cross_shape(struct dfg_infer *node)
{
	const int n = sparse_columns(node->call), dense = node->call->in_first[3];
	if (node->call->in_first[2] - n != n)
		return DFG_ERR(DFG_DATA, "there are %d types for %d sparse columns", node->call->in_first[2] - n, n);
	for (int i = 0; i < n; i++)
		DFG_TRY(dfg_sparse_need(node, i, n + i, 2 * n + i));
	for (int i = dense; i < node->call->in_first[4]; i++)
		DFG_TRY(dfg_need_rank(node, i, 2));
	if (node->call->signature->n_in > 4)
		DFG_TRY(dfg_need_rank(node, node->call->n_in - 1, 0));
	dfg_sparse_infer(node, 0, 2);
	return NULL;
}

/* Values are taken in the order of the entries, row after row. */
static struct dfg_err *sparse_column(struct dfg_kernel *ctx, int i, struct columns *c)
{
	const int n = sparse_columns(ctx->call);
	struct dfg_sparse s;
	int64_t *first;
	DFG_TRY(dfg_sparse_of(ctx, i, n + i, 2 * n + i, &s));
	if (s.rank != 2)
		return DFG_ERR(DFG_DATA, "column %d has %d dimensions, expected 2", i, s.rank);
	c->rows = i ? c->rows : s.dim[0];
	if (s.dim[0] != c->rows)
		return DFG_ERR(
			DFG_DATA, "column %d has %" PRId64 " rows, expected %" PRId64 " as column 0", i, s.dim[0], c->rows);
	DFG_TRY(dfg_kernel_scratch(ctx, ((size_t)s.dim[0] + 1) * sizeof *first, (void **)&first));
	memset(first, 0, ((size_t)s.dim[0] + 1) * sizeof *first);
	for (int64_t e = 0; e < s.n; e++)
		first[s.at[2 * e] + 1]++;
	for (int64_t b = 0; b < s.dim[0]; b++)
		first[b + 1] += first[b];
	c->column[i] = (struct column){dfg_kernel_input(ctx, n + i), first};
	return NULL;
}

static struct dfg_err *dense_column(struct dfg_kernel *ctx, int i, int number, struct columns *c)
{
	const struct dfg_tensor *values = dfg_kernel_input(ctx, i);
	int64_t *first;
	if (values->shape.rank != 2)
		return DFG_ERR(
			DFG_DATA, "column %d has shape %s, expected a matrix", number, dfg_shape_words(&values->shape).s);
	c->rows = number ? c->rows : values->shape.dim[0];
	if (values->shape.dim[0] != c->rows)
		return DFG_ERR(DFG_DATA, "column %d has %" PRId64 " rows, expected %" PRId64 " as column 0", number,
			values->shape.dim[0], c->rows);
	DFG_TRY(dfg_kernel_scratch(ctx, ((size_t)c->rows + 1) * sizeof *first, (void **)&first));
	for (int64_t b = 0; b <= c->rows; b++)
		first[b] = b * values->shape.dim[1];
	c->column[number] = (struct column){values, first};
	return NULL;
}

static struct dfg_err *read_columns(struct dfg_kernel *ctx, struct columns *c)
{
	const int sparse = sparse_columns(ctx->call), dense = ctx->call->in_first[3];
	c->n = sparse + ctx->call->in_first[4] - dense;
	DFG_TRY(dfg_kernel_scratch(ctx, ((size_t)c->n + 1) * sizeof *c->column, (void **)&c->column));
	for (int i = 0; i < sparse; i++)
		DFG_TRY(sparse_column(ctx, i, c));
	for (int i = sparse; i < c->n; i++)
		DFG_TRY(dense_column(ctx, dense + i - sparse, i, c));
	return NULL;
}

/* The number of combinations of a row. */
static struct dfg_err *count_row(const struct columns *c, int64_t row, int64_t *out_count)
{
	*out_count = c->n > 0;
	for (int i = 0; i < c->n; i++)
		if (__builtin_mul_overflow(*out_count, c->column[i].first[row + 1] - c->column[i].first[row], out_count))
			return DFG_ERR(DFG_DATA, "row %" PRId64 " has more than %" PRId64 " combinations", row, INT64_MAX);
	return NULL;
}

/* TensorFlow's FingerprintCat64. */
static uint64_t shift_mix(uint64_t value)
{
	return value ^ value >> 47;
}

static uint64_t combine_hashes(uint64_t a, uint64_t b)
{
	const uint64_t multiplier = UINT64_C(0xc6a4a7935bd1e995);
	uint64_t hash = a ^ multiplier;
	hash ^= shift_mix(b * multiplier) * multiplier;
	hash *= multiplier;
	return shift_mix(shift_mix(hash) * multiplier);
}

/* The place of the value of column i in combination k of a row, in which the last column changes fastest. */
static int64_t place_of(const struct columns *c, int64_t row, int i, int64_t k)
{
	for (int later = c->n - 1; later > i; later--)
		k /= c->column[later].first[row + 1] - c->column[later].first[row];
	return c->column[i].first[row] + k % (c->column[i].first[row + 1] - c->column[i].first[row]);
}

static int64_t hash_of(const struct columns *c, int64_t row, int64_t k)
{
	uint64_t hash = c->key;
	for (int i = 0; i < c->n; i++) {
		const struct dfg_tensor *values = c->column[i].values;
		const int64_t place = place_of(c, row, i, k);
		const struct dfg_string *string = values->data;
		hash = combine_hashes(hash, values->dtype == DFG_STRING ? dfg_farm_hash(string[place].s, string[place].length)
																: (uint64_t)((const int64_t *)values->data)[place]);
	}
	return (int64_t)(hash % (c->buckets ? c->buckets : (uint64_t)INT64_MAX));
}

static struct dfg_err *put_text(
	struct dfg_kernel *ctx, const struct columns *c, int64_t row, int64_t k, int64_t at, struct dfg_text *text)
{
	text->length = 0;
	for (int i = 0; i < c->n; i++) {
		const struct dfg_tensor *values = c->column[i].values;
		const int64_t place = place_of(c, row, i, k);
		const struct dfg_string *string = values->data;
		if (i)
			dfg_text_put(text, c->separator.s, c->separator.length);
		if (values->dtype == DFG_STRING)
			dfg_text_put(text, string[place].s, string[place].length);
		else
			dfg_text_add(text, "%" PRId64, ((const int64_t *)values->data)[place]);
	}
	DFG_TRY(dfg_text_check(text));
	return dfg_kernel_string(ctx, 1, at, text->length ? text->s : "", text->length);
}

static struct dfg_err *fill_crosses(struct dfg_kernel *ctx, const struct columns *c, int64_t *indices)
{
	struct dfg_text text = {0};
	struct dfg_err *err = NULL;
	int64_t at = 0, count;
	for (int64_t row = 0; row < c->rows && !err; row++) {
		err = count_row(c, row, &count);
		for (int64_t k = 0; !err && k < count; k++, at++) {
			indices[2 * at] = row;
			indices[2 * at + 1] = k;
			if (c->hashed)
				((int64_t *)ctx->out[1]->data)[at] = hash_of(c, row, k);
			else
				err = put_text(ctx, c, row, k, at, &text);
		}
	}
	dfg_text_release(&text);
	return err;
}

static struct dfg_err *cross(struct dfg_kernel *ctx, struct columns *c)
{
	struct dfg_tensor *indices, *values, *shape;
	int64_t total = 0, most = 0, count;
	DFG_TRY(read_columns(ctx, c));
	for (int64_t row = 0; row < c->rows; row++) {
		DFG_TRY(count_row(c, row, &count));
		most = count > most ? count : most;
		if (__builtin_add_overflow(total, count, &total))
			return DFG_ERR(DFG_DATA, "there are more than %" PRId64 " combinations", INT64_MAX);
	}
	DFG_TRY(dfg_kernel_output(ctx, 0, &(struct dfg_shape){.rank = 2, .dim = {total, 2}}, &indices));
	DFG_TRY(dfg_kernel_output(ctx, 1, &DFG_SHAPE_VECTOR(total), &values));
	DFG_TRY(dfg_kernel_output(ctx, 2, &DFG_SHAPE_VECTOR(2), &shape));
	((int64_t *)shape->data)[0] = c->rows;
	((int64_t *)shape->data)[1] = most;
	return fill_crosses(ctx, c, indices->data);
}

static struct dfg_err *v1_run(struct dfg_kernel *ctx)
{
	const union dfg_value *attr = dfg_kernel_attr(ctx);
	struct columns c = {.separator = {"_X_", 3},
		.hashed = attr[HASHED].b,
		.buckets = (uint64_t)attr[BUCKETS].i,
		.key = (uint64_t)attr[HASH_KEY].i};
	return cross(ctx, &c);
}

enum { OUT, INTERNAL }; /* parameters */

/* Whether input i is values of i64: neither indices nor shapes, which always are. */
static bool is_number(const struct dfg_resolved_node *call, int i)
{
	const bool values = (i >= call->in_first[1] && i < call->in_first[2]) || i >= call->in_first[3];
	return values && call->in_dtype[i] == DFG_I64;
}

static struct dfg_err *v1_shape(struct dfg_infer *node)
{
	const bool hashed = node->call->attr[HASHED].b;
	if (hashed != (node->call->out_dtype[1] == DFG_I64))
		return DFG_ERR(DFG_DATA, "out_type is %s, but hashed_output = %s requires %s",
			dfg_dtype_name((enum dfg_dtype)node->call->out_dtype[1]), hashed ? "true" : "false",
			hashed ? "i64" : "string");
	for (int i = 0; i < node->call->n_in; i++)
		if (node->call->param[INTERNAL].dtype == DFG_STRING && is_number(node->call, i))
			return DFG_ERR(DFG_DATA, "input %d has values of i64, expected string as internal_type", i);
	return cross_shape(node);
}

#define COLUMNS "indices: N * i64, values: [sparse_types], shapes: N * i64, dense_inputs: [dense_types]"
#define CROSSES(type) "(output_indices: i64, output_values: " type ", output_shape: i64)"
const struct dfg_op dfg_op_SparseCross = {
	.name = "SparseCross",
	.doc = "all combinations of a value of each column, row by row: strings joined by _X_, or hashes below num_buckets",
	.sig =
		"<out_type: i64|string, internal_type: i64|string, N: int >= 0, sparse_types: [i64|string], "
		"dense_types: [i64|string]>(" COLUMNS ") -> " CROSSES("out_type"),
	.attr = {[HASHED] = "hashed_output: bool", [BUCKETS] = "num_buckets: int >= 0", [HASH_KEY] = "hash_key: int"},
	.flags = DFG_ANY_RANK | DFG_NO_GRADIENT | DFG_EXACT,
	.shape = v1_shape,
	.run = v1_run,
};

static struct dfg_err *v2_run(struct dfg_kernel *ctx)
{
	const struct dfg_tensor *separator = dfg_kernel_input(ctx, ctx->call->n_in - 1);
	if (separator->shape.rank)
		return DFG_ERR(DFG_DATA, "sep has shape %s, expected a scalar", dfg_shape_words(&separator->shape).s);
	struct columns c = {.separator = *(const struct dfg_string *)separator->data};
	return cross(ctx, &c);
}

const struct dfg_op dfg_op_SparseCrossV2 = {
	.name = "SparseCrossV2",
	.doc = "all combinations of a value of each column, row by row, as strings joined by sep",
	.sig = "<N: int >= 0, sparse_types: [i64|string], dense_types: [i64|string]>(" COLUMNS
		   ", sep: string) -> " CROSSES("string"),
	.flags = DFG_ANY_RANK | DFG_NO_GRADIENT | DFG_EXACT,
	.shape = cross_shape,
	.run = v2_run,
};
