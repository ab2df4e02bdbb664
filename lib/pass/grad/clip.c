#include "lib/pass/grad/clip.h"

static enum dfg_dtype dtype_of(const struct dfg_make *make, struct dfg_edge edge)
{
	return dfg_facts_of(&make->builder->facts, edge)->dtype;
}

static struct dfg_err *cast(const struct dfg_make *make, enum dfg_dtype dtype, struct dfg_edge *edge)
{
	if (dtype_of(make, *edge) == dtype)
		return NULL;
	return dfg_make_op(make, "Cast", edge, 1, &DFG_ATTR_T("DstT", dtype), 1, edge);
}

/* Adds up the squares of all elements, in the dtype of the first gradient. */
static struct dfg_err *add_squares(
	const struct dfg_make *make, const struct dfg_edge *gradient, uint32_t count, struct dfg_edge *term)
{
	enum dfg_dtype dtype = dtype_of(make, gradient[0]);
	for (uint32_t i = 0; i < count; i++) {
		DFG_TRY(dfg_make_unary(make, "L2Loss", gradient[i], &term[i]));
		DFG_TRY(cast(make, dtype, &term[i]));
	}
	struct dfg_edge two;
	DFG_TRY(dfg_build_float(make->builder, "train/clip/two", dtype, 2, &two));
	DFG_TRY(dfg_make_joined(make, "AddN", term, count, NULL, &term[0]));
	return dfg_make_binary(make, "Mul", term[0], two, &term[0]);
}

struct dfg_err *dfg_clip_by_norm(struct dfg_builder *builder, double most, struct dfg_edge *gradient, uint32_t count)
{
	struct dfg_make make = {builder, "train/clip"};
	struct dfg_edge *term = dfg_zeros((size_t)count + 1, sizeof *term), limit, norm, scale;
	if (!term)
		return DFG_ERR(DFG_MEMORY, "no memory to clip %u gradients", count);
	struct dfg_err *err = count ? add_squares(&make, gradient, count, term) : NULL;
	norm = term[0];
	dfg_free(term);
	if (err || !count)
		return err;
	DFG_TRY(dfg_build_float(builder, "train/clip/limit", dtype_of(&make, norm), most, &limit));
	DFG_TRY(dfg_make_unary(&make, "Sqrt", norm, &norm));
	DFG_TRY(dfg_make_binary(&make, "Maximum", norm, limit, &norm));
	DFG_TRY(dfg_make_binary(&make, "RealDiv", limit, norm, &scale));
	for (uint32_t i = 0; i < count; i++) {
		struct dfg_edge own = scale;
		DFG_TRY(cast(&make, dtype_of(&make, gradient[i]), &own));
		DFG_TRY(dfg_make_binary(&make, "Mul", gradient[i], own, &gradient[i]));
	}
	return NULL;
}
