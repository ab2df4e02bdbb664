#include "lib/pass/grad/unbroadcast.h"

enum verdict { KEEP, SUM, ASK }; /* for an axis; ASK: depends on the run */

/* The dim of a shape that is aligned with dim d of a shape of `rank` dims; 1 if there is none. */
static int64_t dim_under(const struct dfg_shape *shape, int rank, int d)
{
	if (shape->rank == DFG_UNKNOWN)
		return DFG_UNKNOWN;
	int own = d - (rank - shape->rank);
	return own < 0 ? 1 : shape->dim[own];
}

/* Whether input i may be broadcast along dim d of the output, because another input may be larger there. */
static bool may_stretch(const struct dfg_make *make, const struct dfg_stretched *s, int rank, int d)
{
	for (uint32_t other = 0; other < s->n_in; other++) {
		const struct dfg_inferred *fact = dfg_facts_of(&make->builder->facts, s->in[other]);
		if (other != s->i && dim_under(&fact->shape, rank, d) != 1)
			return true;
	}
	return false;
}

static enum verdict judge(const struct dfg_make *make, const struct dfg_stretched *s, const struct dfg_shape *in,
	const struct dfg_shape *out, int d)
{
	int64_t mine = dim_under(in, out->rank, d), its = out->dim[d];
	if (d < out->rank - in->rank || (mine == 1 && its != 1))
		return SUM;
	if (mine != DFG_UNKNOWN || its == 1)
		return KEEP;
	return s->broadcasts && may_stretch(make, s, out->rank, d) ? ASK : KEEP;
}

static struct dfg_err *ask(const struct dfg_make *make, struct dfg_edge in, struct dfg_edge *edge)
{
	struct dfg_edge shape[2], total;
	DFG_TRY(dfg_make_shape(make, in, &shape[0]));
	DFG_TRY(dfg_make_shape(make, *edge, &shape[1]));
	struct dfg_edge both[2] = {*edge};
	DFG_TRY(dfg_make_op(make, "BroadcastGradientArgs", shape, 2, NULL, 0, &both[1]));
	DFG_TRY(dfg_make_op(make, "Sum", both, 2, NULL, 0, &total));
	return dfg_make_binary(make, "Reshape", total, shape[0], edge);
}

static struct dfg_err *sum_axes(
	const struct dfg_make *make, struct dfg_edge in, const int64_t *axis, int count, struct dfg_edge *edge)
{
	struct dfg_edge from[2] = {*edge}, shape;
	int lead =
		dfg_facts_of(&make->builder->facts, *edge)->shape.rank - dfg_facts_of(&make->builder->facts, in)->shape.rank;
	const struct dfg_attr keep = DFG_ATTR_B("keep_dims", true);
	DFG_TRY(dfg_make_vector(make, "axes", DFG_I32, axis, count, &from[1]));
	DFG_TRY(dfg_make_op(make, "Sum", from, 2, &keep, lead == 0, edge));
	if (lead == 0 || lead == count)
		return NULL;
	DFG_TRY(dfg_make_shape(make, in, &shape));
	return dfg_make_binary(make, "Reshape", *edge, shape, edge);
}

struct dfg_err *dfg_unbroadcast(const struct dfg_make *make, const struct dfg_stretched *s, struct dfg_edge *edge)
{
	struct dfg_shape in = dfg_facts_of(&make->builder->facts, s->in[s->i])->shape;
	struct dfg_shape out = dfg_facts_of(&make->builder->facts, *edge)->shape;
	int64_t axis[DFG_RANK_MAX];
	int count = 0;
	if (in.rank == DFG_UNKNOWN || out.rank == DFG_UNKNOWN)
		return s->broadcasts && s->n_in > 1 ? ask(make, s->in[s->i], edge) : NULL;
	for (int d = 0; d < out.rank; d++) {
		enum verdict verdict = judge(make, s, &in, &out, d);
		if (verdict == ASK)
			return ask(make, s->in[s->i], edge);
		if (verdict == SUM)
			axis[count++] = d;
	}
	return count ? sum_axes(make, s->in[s->i], axis, count, edge) : NULL;
}
