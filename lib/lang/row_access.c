#include "lib/lang/row_access_private.h"

#include "lib/lang/eval_private.h"
#include "lib/lang/materialise_private.h"
#include "lib/lang/op_private.h"
#include "lib/lang/variable_private.h"

#include <inttypes.h>

bool dfg_rows_are_meant(struct dfg_eval *eval, const struct dfg_datum *index)
{
	if (index->kind == DFG_DATUM_LIST || eval->parallel)
		return true;
	return index->kind == DFG_DATUM_TENSOR && dfg_dtype_is(dfg_datum_dtype(eval, index), "int") &&
		   dfg_eval_fact(eval, index->edge)->shape.rank > 0;
}

static bool is_subscript(const struct dfg_tree *tree)
{
	return tree->kind != DFG_TREE_REST && tree->kind != DFG_TREE_NEW && tree->kind != DFG_TREE_SLICE;
}

static struct dfg_err *check_subscript(struct dfg_eval *eval, const struct dfg_datum *datum)
{
	bool is_int = datum->kind == DFG_DATUM_NUMBER
					  ? datum->number.is_int
					  : dfg_dtype_is(dfg_datum_dtype(eval, datum), "int") || dfg_datum_natural(datum) == DFG_I32;
	if (!is_int)
		return DFG_ERR(
			DFG_DATA, "%s cannot select rows: use an integer or a tensor of integers", dfg_datum_words(eval, datum));
	if (datum->kind == DFG_DATUM_NUMBER && datum->number.i < 0)
		return DFG_ERR(DFG_DATA, "%" PRId64 " cannot select a row: rows are numbered from 0", datum->number.i);
	return NULL;
}

static int rank_of(struct dfg_eval *eval, const struct dfg_datum *datum)
{
	return datum->kind == DFG_DATUM_TENSOR ? dfg_eval_fact(eval, datum->edge)->shape.rank : 0;
}

/* One tensor of index vectors from the n subscripts in the list: packed along a new last axis. */
static struct dfg_err *pack(struct dfg_eval *eval, const struct dfg_datum *list, struct dfg_edge *out_edge)
{
	const struct dfg_datum *item = list->list.item;
	uint32_t n = list->list.n, node;
	int rank = rank_of(eval, &item[0]);
	struct dfg_edge *in = dfg_arena_zeros(eval->arena, n, sizeof *in);
	if (!in)
		return dfg_no_memory("the row subscripts");
	for (uint32_t i = 1; i < n; i++)
		if (rank_of(eval, &item[i]) != rank)
			return DFG_ERR(DFG_DATA, "row subscripts must all be scalars, or all have the same shape");
	if (!rank)
		return dfg_to_edge(eval, list, DFG_NO_DTYPE, out_edge);
	for (uint32_t i = 0; i < n; i++)
		DFG_TRY(dfg_to_edge(eval, &item[i], DFG_NO_DTYPE, &in[i]));
	const struct dfg_attr axis = DFG_ATTR_I("axis", -1);
	struct dfg_new_node want = {.op = "Pack", .in = in, .n_in = n, .attr = &axis, .n_attr = 1};
	DFG_TRY(dfg_eval_build(eval, &want, DFG_NAME_NONE, &node));
	*out_edge = (struct dfg_edge){node, 0};
	return NULL;
}

static struct dfg_err *to_tensor(struct dfg_eval *eval, struct dfg_datum *datum)
{
	struct dfg_edge edge;
	DFG_TRY(dfg_to_edge(eval, datum, DFG_NO_DTYPE, &edge));
	*datum = DFG_TENSOR(edge);
	return NULL;
}

/* Evaluates the leading subscripts among n trees; the first one has the value `first` unless it is NULL. */
struct dfg_err *dfg_rows_subscripts(struct dfg_eval *eval, struct dfg_name_scope *bindings,
	struct dfg_tree *const *tree, uint32_t n, const struct dfg_datum *first, uint32_t *out_n, struct dfg_edge *out_edge)
{
	struct dfg_datum list;
	uint32_t leading = 0;
	while (leading < n && is_subscript(tree[leading]))
		leading++;
	DFG_TRY(dfg_list_new(eval, DFG_DATUM_LIST, leading, &list));
	for (uint32_t i = 0; i < leading; i++) {
		struct dfg_datum *datum = &list.list.item[i];
		if (!i && first)
			*datum = *first;
		else
			DFG_TRY(dfg_eval_expr(eval, bindings, tree[i], datum));
		DFG_TRY(dfg_eval_at(eval, tree[i], check_subscript(eval, datum)));
		if (datum->kind != DFG_DATUM_NUMBER)
			DFG_TRY(to_tensor(eval, datum));
	}
	*out_n = leading;
	return leading == 1 ? dfg_to_edge(eval, &list.list.item[0], DFG_I32, out_edge) : pack(eval, &list, out_edge);
}

static struct dfg_err *call(struct dfg_eval *eval, const struct dfg_tree *tree, const char *op,
	struct dfg_argument *argument, uint32_t n, struct dfg_datum *out_datum)
{
	for (uint32_t i = 0; i < n; i++)
		argument[i].tree = tree;
	const struct dfg_call_site site = {.tree = tree, .argument = argument, .n = n};
	return dfg_op_apply(eval, dfg_op_find(op), &site, out_datum);
}

static struct dfg_err *check_cell(const struct dfg_cell *cell)
{
	if (cell->by_rows || cell->by_rule)
		return DFG_ERR(DFG_DATA, "'%s' is the per-row state of an optimizer, which cannot be indexed", cell->path);
	if (!cell->shape.rank)
		return DFG_ERR(DFG_DATA, "'%s' is a scalar and has no rows", cell->path);
	return NULL;
}

struct dfg_err *dfg_rows_gather(struct dfg_eval *eval, struct dfg_name_scope *bindings, const struct dfg_tree *tree,
	struct dfg_cell *cell, const struct dfg_datum *first, uint32_t *out_kid, struct dfg_datum *out_datum)
{
	struct dfg_edge indices;
	uint32_t n;
	DFG_TRY(check_cell(cell));
	DFG_TRY(dfg_rows_subscripts(eval, bindings, tree->kid + 1, tree->n - 1, first, &n, &indices));
	*out_kid = 1 + n;
	if (*out_kid < tree->n && dfg_eval_fact(eval, indices)->shape.rank != (n > 1))
		return DFG_ERR(DFG_DATA, "a slice can follow row subscripts only if they are scalars");
	struct dfg_argument argument[] = {{.value = {DFG_DATUM_CELL, .cell = cell}}, {.value = DFG_TENSOR(indices)},
		{.name = "dtype", .value = DFG_TYPE(cell->dtype)}};
	return call(eval, tree, n == 1 ? "ResourceGather" : "ResourceGatherNd", argument, 3, out_datum);
}

/* One slice as a batch of one: TensorFlow's scatter ops of slices require a batch of index vectors. */
static struct dfg_err *make_batch(struct dfg_eval *eval, struct dfg_edge *indices, struct dfg_edge *value)
{
	struct dfg_edge in[2];
	DFG_TRY(dfg_to_edge(eval, &DFG_INT(0), DFG_I32, &in[1]));
	in[0] = *indices;
	DFG_TRY(dfg_eval_node(eval, "ExpandDims", in, 2, indices));
	in[0] = *value;
	return dfg_eval_node(eval, "ExpandDims", in, 2, value);
}

struct dfg_err *dfg_rows_update(struct dfg_eval *eval, struct dfg_name_scope *bindings, const struct dfg_tree *tree,
	struct dfg_cell *cell, struct dfg_edge value, uint32_t *out_node)
{
	const struct dfg_update_row *row = &dfg_updates[tree->operation];
	const struct dfg_tree *index = tree->kid[1];
	const char *op = row->whole;
	struct dfg_argument argument[3] = {{.value = {DFG_DATUM_CELL, .cell = cell}}};
	struct dfg_datum done;
	uint32_t n_argument = 1, n;
	if (index) {
		struct dfg_edge indices;
		DFG_TRY(dfg_eval_at(eval, index, check_cell(cell)));
		DFG_TRY(dfg_rows_subscripts(eval, bindings, index->kid, index->n, NULL, &n, &indices));
		op = n == 1 ? row->rows : row->slices;
		if (n > 1 && dfg_eval_fact(eval, indices)->shape.rank == 1)
			DFG_TRY(make_batch(eval, &indices, &value));
		argument[n_argument++].value = DFG_TENSOR(indices);
	}
	argument[n_argument++].value = DFG_TENSOR(value);
	DFG_TRY(call(eval, tree, op, argument, n_argument, &done));
	*out_node = done.edge.node;
	return NULL;
}
