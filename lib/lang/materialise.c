#include "lib/lang/materialise_private.h"

#include "lib/lang/rule_private.h"
#include "lib/lang/eval_private.h"
#include "lib/lang/number_private.h"
#include "lib/lang/ssa_private.h"

/* Makes the nodes of a dimension, named after it whichever expression reads it first. */
static struct dfg_err *make_dim_here(struct dfg_eval *eval, struct dfg_dim *dim)
{
	const int32_t from = dim->axis, to = dim->axis + 1, step = 1;
	const int32_t *const value[] = {&from, &to, &step};
	const struct dfg_attr attr[] = {
		DFG_ATTR_I("shrink_axis_mask", 1),
	};
	const char *scope = eval->scope;
	struct dfg_edge in[4];
	uint32_t node;
	eval->scope = dim->path;
	DFG_TRY(dfg_eval_node(eval, "Shape", &dim->of, 1, &in[0]));
	for (int i = 0; i < 3; i++) {
		struct dfg_tensor tensor = {.dtype = DFG_I32, .shape = DFG_SHAPE_VECTOR(1), .data = (void *)value[i]};
		DFG_TRY(dfg_eval_const(eval, &tensor, &in[i + 1]));
	}
	struct dfg_new_node slice = {.op = "StridedSlice", .in = in, .n_in = 4, .attr = attr, .n_attr = 1};
	DFG_TRY(dfg_eval_build(eval, &slice, DFG_NAME_NONE, &node));
	DFG_TRY(dfg_bind_node(eval, node, dim->path));
	eval->scope = scope;
	dim->edge = (struct dfg_edge){node, 0};
	dim->is_made = true;
	return NULL;
}

/* Makes the nodes in the region of the tensor. */
static struct dfg_err *make_dim(struct dfg_eval *eval, struct dfg_dim *dim)
{
	struct dfg_region *region = dfg_region_of(eval, dim->of);
	struct dfg_saved_region saved;
	if (!dfg_region_within(eval->region, region))
		return DFG_ERR(
			DFG_DATA, "this is a dimension of a tensor in a loop or branch, and cannot be read outside of it");
	dfg_region_go(eval, region, &saved);
	struct dfg_err *err = make_dim_here(eval, dim);
	dfg_region_back(eval, &saved);
	return err;
}

/* Packs a list that contains tensors; nested lists are packed first. */
static struct dfg_err *pack(
	struct dfg_eval *eval, const struct dfg_datum *list, enum dfg_dtype dtype, struct dfg_edge *out_edge)
{
	struct dfg_edge *in = dfg_arena_zeros(eval->arena, list->list.n, sizeof *in);
	if (!in)
		return dfg_no_memory("the build");
	if (!dtype)
		dtype = dfg_datum_dtype(eval, list);
	for (uint32_t i = 0; i < list->list.n; i++)
		DFG_TRY(dfg_to_edge(eval, &list->list.item[i], dtype, &in[i]));
	return dfg_eval_node(eval, "Pack", in, list->list.n, out_edge);
}

static struct dfg_err *no_tensor(struct dfg_eval *eval, const struct dfg_datum *datum)
{
	if (datum->kind == DFG_DATUM_NOTHING)
		return DFG_ERR(DFG_DATA, "expected a tensor, but this output or input does not exist here");
	return DFG_ERR(DFG_DATA, "expected a tensor, not %s", dfg_datum_words(eval, datum));
}

struct dfg_err *dfg_to_edge(
	struct dfg_eval *eval, const struct dfg_datum *datum, enum dfg_dtype dtype, struct dfg_edge *out_edge)
{
	struct dfg_datum literal = *datum;
	switch (datum->kind) {
	case DFG_DATUM_TENSOR:
		*out_edge = datum->edge;
		return NULL;
	case DFG_DATUM_CELL:
		if (datum->cell->by_rule && eval->rule && dtype != DFG_RESOURCE)
			return dfg_rule_read(eval, datum->cell, out_edge);
		*out_edge = datum->cell->handle;
		return dtype == DFG_RESOURCE ? NULL : dfg_view_value(eval, datum->cell, eval->region, out_edge);
	case DFG_DATUM_DIM:
		if (!datum->dim->is_made)
			DFG_TRY(make_dim(eval, datum->dim));
		*out_edge = datum->dim->edge;
		return NULL;
	case DFG_DATUM_LIST:
		if (!dfg_datum_is_known(datum))
			return pack(eval, datum, dtype, out_edge);
		/* fall through */
	case DFG_DATUM_NUMBER:
	case DFG_DATUM_BOOL:
	case DFG_DATUM_STRING:
		DFG_TRY(dfg_literal_new(eval, datum, dtype, &literal));
		/* fall through */
	case DFG_DATUM_LITERAL:
		return dfg_eval_const(eval, literal.literal, out_edge);
	default:
		return no_tensor(eval, datum);
	}
}

struct dfg_err *dfg_to_int(struct dfg_eval *eval, const struct dfg_datum *datum, const char *what, int64_t *out_value)
{
	if (datum->kind == DFG_DATUM_LITERAL && datum->literal->shape.rank == 0 &&
		dfg_dtype_is(datum->literal->dtype, "int")) {
		*out_value = dfg_tensor_int(datum->literal, 0);
		return NULL;
	}
	if (datum->kind != DFG_DATUM_NUMBER || !datum->number.is_int)
		return DFG_ERR(
			DFG_DATA, "%s must be an int that is known while building, not %s", what, dfg_datum_words(eval, datum));
	*out_value = datum->number.i;
	return NULL;
}

struct dfg_err *dfg_cast(
	struct dfg_eval *eval, const struct dfg_datum *datum, enum dfg_dtype dtype, struct dfg_datum *out_datum)
{
	struct dfg_edge in;
	struct dfg_attr attr = DFG_ATTR_T("DstT", dtype);
	struct dfg_new_node node = {.op = "Cast", .in = &in, .n_in = 1, .attr = &attr, .n_attr = 1};
	uint32_t number;
	if (datum->kind == DFG_DATUM_LITERAL && datum->literal->dtype != DFG_STRING && dtype != DFG_STRING)
		return dfg_literal_cast(eval, datum->literal, dtype, out_datum);
	if (dfg_datum_is_known(datum))
		return dfg_literal_new(eval, datum, dtype, out_datum);
	DFG_TRY(dfg_to_edge(eval, datum, DFG_NO_DTYPE, &in));
	*out_datum = DFG_TENSOR(in);
	if (dfg_eval_fact(eval, in)->dtype == dtype)
		return NULL;
	DFG_TRY(dfg_eval_build(eval, &node, DFG_NAME_NONE, &number));
	*out_datum = DFG_TENSOR(((struct dfg_edge){number, 0}));
	return NULL;
}
