#include "lib/lang/index_private.h"

#include "lib/lang/eval_private.h"
#include "lib/lang/materialise_private.h"
#include "lib/lang/name_scope_private.h"
#include "lib/lang/row_access_private.h"

enum { BEGIN, END, STRIDE };

/* The inputs and masks of a StridedSlice. */
struct slice {
	const struct dfg_datum *first; /* the value of the first index if it is evaluated already, or NULL */
	struct dfg_datum list[3];
	int64_t begin_mask, end_mask, ellipsis_mask, new_axis_mask, shrink_axis_mask;
};

static struct dfg_err *one_more(struct dfg_eval *eval, const struct dfg_datum *at, struct dfg_datum *out_datum)
{
	struct dfg_edge in[2], sum;
	if (at->kind == DFG_DATUM_NUMBER) {
		*out_datum = DFG_INT(at->number.i + 1);
		return NULL;
	}
	DFG_TRY(dfg_to_edge(eval, at, DFG_NO_DTYPE, &in[0]));
	DFG_TRY(dfg_to_edge(eval, &DFG_INT(1), dfg_eval_fact(eval, in[0])->dtype, &in[1]));
	DFG_TRY(dfg_eval_node(eval, "AddV2", in, 2, &sum));
	*out_datum = DFG_TENSOR(sum);
	return NULL;
}

static bool is_index(struct dfg_eval *eval, const struct dfg_datum *datum)
{
	if (datum->kind == DFG_DATUM_NUMBER)
		return datum->number.is_int;
	return dfg_datum_is_tensor(datum) && dfg_dtype_is(dfg_datum_dtype(eval, datum), "int");
}

/* Sets *out_datum to the value of the tree, which must be an integer. */
static struct dfg_err *check_bound(
	struct dfg_eval *eval, const struct dfg_tree *tree, const struct dfg_datum *datum, struct dfg_datum *out_datum)
{
	*out_datum = *datum;
	if (is_index(eval, datum))
		return NULL;
	return dfg_eval_at(eval, tree,
		DFG_ERR(DFG_DATA,
			"%s cannot be an index: use an integer scalar, a slice, `...` or `new`; to gather rows, use take(x, ids)",
			dfg_datum_words(eval, datum)));
}

static struct dfg_err *bound(
	struct dfg_eval *eval, struct dfg_name_scope *bindings, const struct dfg_tree *tree, struct dfg_datum *out_datum)
{
	struct dfg_datum datum;
	if (!tree)
		return NULL;
	DFG_TRY(dfg_eval_expr(eval, bindings, tree, &datum));
	return check_bound(eval, tree, &datum, out_datum);
}

static struct dfg_err *put_bound(struct dfg_eval *eval, struct dfg_name_scope *bindings, const struct dfg_tree *index,
	uint32_t i, struct slice *slice)
{
	struct dfg_datum *begin = &slice->list[BEGIN].list.item[i], *end = &slice->list[END].list.item[i],
					 *stride = &slice->list[STRIDE].list.item[i];
	int64_t bit = INT64_C(1) << i;
	*begin = *end = DFG_INT(0);
	*stride = DFG_INT(1);
	switch (index->kind) {
	case DFG_TREE_REST:
		if (slice->ellipsis_mask)
			return DFG_ERR(DFG_DATA, "an index may have only one `...`");
		slice->ellipsis_mask = bit;
		return NULL;
	case DFG_TREE_NEW:
		slice->new_axis_mask |= bit;
		return NULL;
	case DFG_TREE_SLICE:
		slice->begin_mask |= index->kid[0] ? 0 : bit;
		slice->end_mask |= index->kid[1] ? 0 : bit;
		DFG_TRY(bound(eval, bindings, index->kid[0], begin));
		DFG_TRY(bound(eval, bindings, index->kid[1], end));
		return bound(eval, bindings, index->kid[2], stride);
	default:
		slice->shrink_axis_mask |= bit;
		if (!i && slice->first)
			DFG_TRY(check_bound(eval, index, slice->first, begin));
		else
			DFG_TRY(bound(eval, bindings, index, begin));
		return one_more(eval, begin, end);
	}
}

/* Slices `of` by the kids of the INDEX from number `from` on; `first`: the value of that kid, or NULL. */
static struct dfg_err *slice_tensor(struct dfg_eval *eval, struct dfg_name_scope *bindings, const struct dfg_tree *tree,
	uint32_t from, const struct dfg_datum *first, const struct dfg_datum *of, struct dfg_datum *out_datum)
{
	struct slice slice = {.first = first};
	struct dfg_edge in[4];
	uint32_t node, n = tree->n - from;
	if (n > 31)
		return DFG_ERR(DFG_DATA, "an index may have at most 31 items");
	for (int i = 0; i < 3; i++)
		DFG_TRY(dfg_list_new(eval, DFG_DATUM_LIST, n, &slice.list[i]));
	DFG_TRY(dfg_to_edge(eval, of, DFG_NO_DTYPE, &in[0]));
	for (uint32_t i = 0; i < n; i++)
		DFG_TRY(dfg_eval_at(eval, tree->kid[from + i], put_bound(eval, bindings, tree->kid[from + i], i, &slice)));

	enum dfg_dtype dtype = DFG_NO_DTYPE;
	for (int i = 0; i < 3 && !dtype; i++)
		dtype = dfg_datum_dtype(eval, &slice.list[i]);
	for (int i = 0; i < 3; i++)
		DFG_TRY(dfg_to_edge(eval, &slice.list[i], dtype ? dtype : DFG_I32, &in[i + 1]));
	const struct dfg_attr attr[] = {
		DFG_ATTR_I("begin_mask", slice.begin_mask),
		DFG_ATTR_I("ellipsis_mask", slice.ellipsis_mask),
		DFG_ATTR_I("end_mask", slice.end_mask),
		DFG_ATTR_I("new_axis_mask", slice.new_axis_mask),
		DFG_ATTR_I("shrink_axis_mask", slice.shrink_axis_mask),
	};
	struct dfg_new_node want = {.op = "StridedSlice", .in = in, .n_in = 4, .attr = attr, .n_attr = 5};
	DFG_TRY(dfg_eval_build(eval, &want, DFG_NAME_NONE, &node));
	*out_datum = DFG_TENSOR(((struct dfg_edge){node, 0}));
	return NULL;
}

/* An index or bound of a list, as in a tensor: a negative one counts from the end. */
static struct dfg_err *list_bound(struct dfg_eval *eval, struct dfg_name_scope *bindings, const struct dfg_tree *tree,
	int64_t count, int64_t otherwise, int64_t *out_at)
{
	struct dfg_datum datum;
	*out_at = otherwise;
	if (!tree)
		return NULL;
	DFG_TRY(dfg_eval_expr(eval, bindings, tree, &datum));
	DFG_TRY(dfg_eval_at(eval, tree, dfg_to_int(eval, &datum, "the index of a list", out_at)));
	if (*out_at < 0)
		*out_at += count;
	return NULL;
}

static struct dfg_err *slice_list(struct dfg_eval *eval, struct dfg_name_scope *bindings, const struct dfg_tree *index,
	const struct dfg_datum *of, struct dfg_datum *out_datum)
{
	int64_t count = of->list.n, first, last;
	if (index->kid[2])
		return DFG_ERR(DFG_DATA, "a slice of a list cannot have a step");
	DFG_TRY(list_bound(eval, bindings, index->kid[0], count, 0, &first));
	DFG_TRY(list_bound(eval, bindings, index->kid[1], count, count, &last));
	first = first < 0 ? 0 : first > count ? count : first;
	last = last < first ? first : last > count ? count : last;
	*out_datum = *of;
	out_datum->kind = DFG_DATUM_LIST;
	out_datum->list = (struct dfg_datum_list){.item = of->list.item + first, .n = (uint32_t)(last - first)};
	return dfg_list_grow(&out_datum->list, of->list.depth, of->list.depth == 1 ? out_datum->list.n : of->list.leaves);
}

static struct dfg_err *index_list(struct dfg_eval *eval, struct dfg_name_scope *bindings, const struct dfg_tree *tree,
	const struct dfg_datum *of, struct dfg_datum *out_datum)
{
	int64_t at;
	if (tree->n != 2 || tree->kid[1]->kind == DFG_TREE_REST || tree->kid[1]->kind == DFG_TREE_NEW)
		return DFG_ERR(DFG_DATA, "a list takes one index: an integer or a slice");
	if (tree->kid[1]->kind == DFG_TREE_SLICE)
		return slice_list(eval, bindings, tree->kid[1], of, out_datum);
	DFG_TRY(list_bound(eval, bindings, tree->kid[1], of->list.n, 0, &at));
	if (at < 0 || at >= of->list.n)
		return DFG_ERR(DFG_DATA, "index %lld is out of range: the list has %u items",
			(long long)(at < 0 ? at - of->list.n : at), of->list.n);
	*out_datum = of->list.item[at];
	return NULL;
}

/* An index of a param or state: of rows of the variable itself, or of its value. */
static struct dfg_err *index_cell(struct dfg_eval *eval, struct dfg_name_scope *bindings, const struct dfg_tree *tree,
	const struct dfg_datum *of, struct dfg_datum *out_datum)
{
	const struct dfg_tree *index = tree->kid[1];
	struct dfg_datum first, rows;
	uint32_t next;
	if (index->kind == DFG_TREE_REST || index->kind == DFG_TREE_NEW || index->kind == DFG_TREE_SLICE)
		return slice_tensor(eval, bindings, tree, 1, NULL, of, out_datum);
	DFG_TRY(dfg_eval_expr(eval, bindings, index, &first));
	if (!dfg_rows_are_meant(eval, &first))
		return slice_tensor(eval, bindings, tree, 1, &first, of, out_datum);
	DFG_TRY(dfg_rows_gather(eval, bindings, tree, of->cell, &first, &next, &rows));
	*out_datum = rows;
	return next == tree->n ? NULL : slice_tensor(eval, bindings, tree, next, NULL, &rows, out_datum);
}

struct dfg_err *dfg_eval_index(
	struct dfg_eval *eval, struct dfg_name_scope *bindings, const struct dfg_tree *tree, struct dfg_datum *out_datum)
{
	struct dfg_datum of;
	DFG_TRY(dfg_eval_expr(eval, bindings, tree->kid[0], &of));
	if (of.kind == DFG_DATUM_LIST || of.kind == DFG_DATUM_TUPLE)
		return index_list(eval, bindings, tree, &of, out_datum);
	if (of.kind == DFG_DATUM_CELL)
		return index_cell(eval, bindings, tree, &of, out_datum);
	return slice_tensor(eval, bindings, tree, 1, NULL, &of, out_datum);
}
