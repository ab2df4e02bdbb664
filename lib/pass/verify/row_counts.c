/*
 * The number of rows, as a model gives it to ops that make a tensor with as many: zeros([shape(x)[0], 64]), or a Reshape to
 * [shape(x)[0], -1]. It may be the first element of a shape, be moved, and be used as the first dimension of a result.
 */
#include "lib/pass/verify/row_independence_private.h"

static const char of_count[] = "its value depends on the number of rows";

static const struct dfg_inferred *fact_of(const struct dfg_row_analysis *a, struct dfg_edge edge)
{
	return dfg_facts_of(a->facts, edge);
}

bool dfg_row_is_counted(const struct dfg_row_analysis *a, uint32_t n)
{
	const struct dfg_node *node = &a->graph->node[n];
	bool is_counted = node->op->means == DFG_MEANS_OF_SHAPE;
	for (uint32_t i = 0; i < node->n_in && !is_counted; i++)
		is_counted = dfg_row_kind(a, node->in[i]) == DFG_ROWS_COUNT;
	return is_counted;
}

/* Makes the output a count, if it is an integer or a vector of known length: one with rows has no known length. */
static const char *give_count(struct dfg_row_analysis *a, uint32_t n)
{
	const struct dfg_shape *shape = &fact_of(a, (struct dfg_edge){n, 0})->shape;
	if (shape->rank && !(shape->rank == 1 && shape->dim[0] > 0))
		return of_count;
	dfg_row_set(a, (struct dfg_edge){n, 0}, DFG_ROWS_COUNT);
	return NULL;
}

/* Shape gives a vector; the size of a tensor with rows is a multiple of their number; its rank is known. */
static const char *count_shape(struct dfg_row_analysis *a, uint32_t n)
{
	const struct dfg_node *node = &a->graph->node[n];
	const struct dfg_inferred *out = fact_of(a, (struct dfg_edge){n, 0});
	if (dfg_known_whole(out->known))
		return NULL;
	return node->n_in == 1 && dfg_row_kind(a, node->in[0]) == DFG_ROWS_EACH && out->shape.rank == 1 ? give_count(a, n)
																									: of_count;
}

static bool is_one(const struct dfg_row_analysis *a, struct dfg_edge edge, int64_t value)
{
	const struct dfg_known_value *known = fact_of(a, edge)->known;
	return known && known->count == 1 && known->v[0] == value;
}

static bool has_mask(const struct dfg_node *node, const char *name)
{
	const struct dfg_attr *mask = dfg_node_attr(node, name);
	return mask && mask->value.i;
}

/* A slice of a vector by one range: its first element, a range that begins there, or elements after it. */
static const char *slice(struct dfg_row_analysis *a, uint32_t n)
{
	const struct dfg_node *node = &a->graph->node[n];
	const struct dfg_known_value *begin = fact_of(a, node->in[1])->known;
	const struct dfg_shape *in = &fact_of(a, node->in[0])->shape, *out = &fact_of(a, (struct dfg_edge){n, 0})->shape;
	if (dfg_known_whole(fact_of(a, (struct dfg_edge){n, 0})->known))
		return NULL;
	bool is_plain = begin && begin->count == 1 && begin->v[0] != DFG_NOT_KNOWN && is_one(a, node->in[3], 1) &&
					!has_mask(node, "ellipsis_mask") && !has_mask(node, "new_axis_mask");
	if (!is_plain || in->rank != 1 || out->rank < 0 || out->rank > 1)
		return of_count;
	int64_t first = begin->v[0] < 0 ? begin->v[0] + in->dim[0] : begin->v[0];
	if (first <= 0 || has_mask(node, "begin_mask"))
		return give_count(a, n);
	return NULL;
}

/* Whether input `i` is the only one that depends on the batch. */
static bool is_only(const struct dfg_row_analysis *a, const struct dfg_node *node, uint32_t i)
{
	for (uint32_t k = 0; k < node->n_in; k++)
		if ((dfg_row_kind(a, node->in[k]) != DFG_ROWS_NONE) != (k == i))
			return false;
	return true;
}

static const char *move(struct dfg_row_analysis *a, uint32_t n)
{
	const struct dfg_node *node = &a->graph->node[n];
	enum dfg_dtype dtype = fact_of(a, (struct dfg_edge){n, 0})->dtype;
	bool is_int = dfg_dtype_is(dtype, "int") && dfg_dtype_size(dtype) >= sizeof(int32_t);
	bool moves = node->op->flags & DFG_VIEW || node->op->means == DFG_MEANS_PACKED || node->op->means == DFG_MEANS_CAST;
	return moves && is_int && is_only(a, node, 0) ? give_count(a, n) : of_count;
}

/* A count as the shape of a result: the op's rule is asked as if that input had rows. An input with rows may be a view's. */
static struct dfg_err *use(struct dfg_row_analysis *a, uint32_t n, const char **out_why)
{
	const struct dfg_node *node = &a->graph->node[n];
	bool is_view = node->op->flags & DFG_VIEW && node->n_in == 2 && dfg_row_kind(a, node->in[0]) == DFG_ROWS_EACH;
	uint64_t by_row = is_view ? 3 : 0;
	for (uint32_t i = 0; i < node->n_in && !is_view; i++) {
		int kind = dfg_row_kind(a, node->in[i]);
		if (i > 1 ? kind != DFG_ROWS_NONE : kind != DFG_ROWS_NONE && kind != DFG_ROWS_COUNT)
			return NULL;
		by_row |= (uint64_t)(kind == DFG_ROWS_COUNT) << i;
	}
	const struct dfg_shape *out = &fact_of(a, (struct dfg_edge){n, 0})->shape;
	if (!node->op->rows || out->rank < 1 || out->dim[0] >= 0)
		return NULL;
	DFG_TRY(dfg_row_judge(a, n, by_row, out_why));
	if (!*out_why)
		dfg_row_give(a, n, 0, 0);
	return NULL;
}

struct dfg_err *dfg_row_count(struct dfg_row_analysis *a, uint32_t n, const char **out_why)
{
	const struct dfg_node *node = &a->graph->node[n];
	const struct dfg_shape *out = &fact_of(a, (struct dfg_edge){n, 0})->shape;
	*out_why = of_count;
	if (node->op->means == DFG_MEANS_OF_SHAPE)
		*out_why = count_shape(a, n);
	else if (dfg_facts_outputs(a->facts, n) != 1)
		*out_why = of_count;
	else if (node->op->means == DFG_MEANS_SLICE && is_only(a, node, 0))
		*out_why = slice(a, n);
	else if (out->rank >= 1 && out->dim[0] < 0)
		return use(a, n, out_why);
	else
		*out_why = move(a, n);
	return NULL;
}
