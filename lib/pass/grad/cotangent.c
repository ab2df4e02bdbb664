#include "lib/pass/grad/cotangent.h"

struct dfg_err *dfg_cotangent_sum_add(
	struct dfg_arena *arena, struct dfg_cotangent_sum **head, const struct dfg_cotangent *cotangent)
{
	struct dfg_cotangent_sum *partial = dfg_arena_zeros(arena, 1, sizeof *partial);
	if (!partial)
		return dfg_no_memory("a partial sum");
	*partial = (struct dfg_cotangent_sum){*cotangent, *head};
	*head = partial;
	return NULL;
}

/* The number of rows of `like`, as i32. */
static struct dfg_err *count_rows(const struct dfg_make *make, struct dfg_edge like, struct dfg_edge *out_edge)
{
	struct dfg_shape shape = dfg_flow_shape(dfg_facts_of(&make->builder->facts, like));
	if (shape.rank > 0 && shape.dim[0] != DFG_UNKNOWN)
		return dfg_make_int(make, "rows", DFG_I32, shape.dim[0], out_edge);
	struct dfg_edge in[4];
	const struct dfg_attr shrink = DFG_ATTR_I("shrink_axis_mask", 1);
	DFG_TRY(dfg_make_shape(make, like, &in[0]));
	DFG_TRY(dfg_make_vector(make, "begin", DFG_I32, (int64_t[]){0}, 1, &in[1]));
	DFG_TRY(dfg_make_vector(make, "end", DFG_I32, (int64_t[]){1}, 1, &in[2]));
	DFG_TRY(dfg_make_vector(make, "step", DFG_I32, (int64_t[]){1}, 1, &in[3]));
	return dfg_make_op(make, "StridedSlice", in, 4, &shrink, 1, out_edge);
}

struct dfg_err *dfg_cotangent_dense(
	const struct dfg_make *make, struct dfg_edge like, const struct dfg_cotangent *cotangent, struct dfg_edge *out_edge)
{
	if (cotangent->kind == DFG_DENSE) {
		*out_edge = cotangent->value;
		return NULL;
	}
	struct dfg_edge in[3] = {cotangent->value, cotangent->indices};
	DFG_TRY(count_rows(make, like, &in[2]));
	return dfg_make_op(make, "UnsortedSegmentSum", in, 3, NULL, 0, out_edge);
}

/* Casts indices to the dtype if they are of the other width. */
static struct dfg_err *same_width(const struct dfg_make *make, enum dfg_dtype dtype, struct dfg_edge *edge)
{
	if (dfg_facts_of(&make->builder->facts, *edge)->dtype == dtype)
		return NULL;
	return dfg_make_op(make, "Cast", edge, 1, &DFG_ATTR_T("DstT", dtype), 1, edge);
}

/* Concatenates `count` values, and their indices; both arrays have space for one more element. */
static struct dfg_err *join_rows(const struct dfg_make *make, struct dfg_edge *values, struct dfg_edge *indices,
	uint32_t count, struct dfg_cotangent *out_cotangent)
{
	enum dfg_dtype dtype = DFG_I32;
	for (uint32_t i = 0; i < count; i++)
		if (dfg_facts_of(&make->builder->facts, indices[i])->dtype == DFG_I64)
			dtype = DFG_I64;
	for (uint32_t i = 0; i < count; i++)
		DFG_TRY(same_width(make, dtype, &indices[i]));
	struct dfg_edge axis;
	DFG_TRY(dfg_make_int(make, "axis", DFG_I32, 0, &axis));
	out_cotangent->kind = DFG_ROWS;
	DFG_TRY(dfg_make_joined(make, "ConcatV2", values, count, &axis, &out_cotangent->value));
	return dfg_make_joined(make, "ConcatV2", indices, count, &axis, &out_cotangent->indices);
}

static struct dfg_err *sum(const struct dfg_make *make, struct dfg_edge like, const struct dfg_cotangent_sum *head,
	struct dfg_edge *edge, uint32_t count, struct dfg_cotangent *out_cotangent)
{
	bool rows = true;
	uint32_t i = 0;
	for (const struct dfg_cotangent_sum *p = head; p; p = p->next)
		rows &= p->cotangent.kind == DFG_ROWS;
	if (rows) {
		for (const struct dfg_cotangent_sum *p = head; p; p = p->next, i++) {
			edge[i] = p->cotangent.value;
			edge[count + 1 + i] = p->cotangent.indices;
		}
		return join_rows(make, edge, edge + count + 1, count, out_cotangent);
	}
	for (const struct dfg_cotangent_sum *p = head; p; p = p->next)
		DFG_TRY(dfg_cotangent_dense(make, like, &p->cotangent, &edge[i++]));
	out_cotangent->kind = DFG_DENSE;
	return dfg_make_joined(make, "AddN", edge, count, NULL, &out_cotangent->value);
}

struct dfg_err *dfg_cotangent_sum_total(const struct dfg_make *make, struct dfg_edge like,
	struct dfg_cotangent_sum *head, struct dfg_cotangent *out_cotangent)
{
	*out_cotangent = (struct dfg_cotangent){.kind = DFG_NO_COTANGENT, .value = {DFG_NONE, 0}};
	if (!head)
		return NULL;
	if (head->next) {
		uint32_t count = 0;
		for (const struct dfg_cotangent_sum *p = head; p; p = p->next)
			count++;
		struct dfg_edge *edge = dfg_zeros(2 * ((size_t)count + 1), sizeof *edge);
		struct dfg_err *err = edge ? sum(make, like, head, edge, count, out_cotangent)
								   : DFG_ERR(DFG_MEMORY, "no memory for a sum of %u terms", count);
		dfg_free(edge);
		DFG_TRY(err);
		*head = (struct dfg_cotangent_sum){.cotangent = *out_cotangent};
	}
	*out_cotangent = head->cotangent;
	return NULL;
}
