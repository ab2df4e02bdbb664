#include "lib/pass/grad/backpropagation.h"

/* The cotangents that arrived under one set of conditions. */
struct group {
	uint32_t set;
	struct dfg_cotangent_sum *partial;
	struct group *next;
};

struct gathering {
	struct dfg_backprop *s;
	struct dfg_make make;
	struct dfg_edge like;         /* the forward tensor whose cotangents are added */
	struct dfg_location location; /* where its gradient belongs */
	struct group *group;
};

static struct dfg_liveness *liveness_of(const struct gathering *g)
{
	return &g->s->paths->frames.liveness;
}

static struct dfg_err *find_group(struct gathering *g, uint32_t set, bool make, struct group **out_group)
{
	for (*out_group = g->group; *out_group && (*out_group)->set != set;)
		*out_group = (*out_group)->next;
	if (*out_group || !make)
		return NULL;
	if (!(*out_group = dfg_arena_zeros(&g->s->scratch, 1, sizeof **out_group)))
		return dfg_no_memory("a partial sum");
	**out_group = (struct group){.set = set, .next = g->group};
	g->group = *out_group;
	return NULL;
}

/* The group with the most conditions, or NULL if only the one with the tensor's own conditions is left. */
static struct group *largest(const struct gathering *g)
{
	struct group *most = NULL;
	for (struct group *group = g->group; group; group = group->next)
		if (group->partial && group->set != g->location.set &&
			(!most || liveness_of(g)->set[group->set].count > liveness_of(g)->set[most->set].count))
			most = group;
	return most;
}

static struct dfg_err *side_of(struct gathering *g, uint32_t set, uint32_t condition, int side, uint32_t *out_set)
{
	struct dfg_liveness *l = liveness_of(g);
	uint32_t common;
	DFG_TRY(dfg_live_without(l, set, condition, &common));
	return dfg_live_with(l, common, condition - (uint32_t)l->condition[condition].side + (uint32_t)side, out_set);
}

/* The condition to remove next: one for whose other sides there are groups too, if there is one; else the innermost. */
static struct dfg_err *choose(struct gathering *g, uint32_t set, uint32_t *out_condition)
{
	struct dfg_liveness *l = liveness_of(g);
	*out_condition = DFG_NONE;
	for (uint32_t i = l->set[set].count; i--;) {
		uint32_t condition = l->item[l->set[set].first + i];
		int sides = l->condition[condition].sides, came = 0;
		if (dfg_live_has(l, g->location.set, condition))
			continue;
		if (*out_condition == DFG_NONE)
			*out_condition = condition;
		for (int side = 0; side < sides; side++) {
			uint32_t its;
			struct group *group;
			DFG_TRY(side_of(g, set, condition, side, &its));
			DFG_TRY(find_group(g, its, false, &group));
			came += group && group->partial;
		}
		if (came == sides) {
			*out_condition = condition;
			break;
		}
	}
	if (*out_condition == DFG_NONE)
		return DFG_ERR(DFG_BUG, "a cotangent is live where its tensor is dead");
	return NULL;
}

static void set_location(const struct gathering *g, uint32_t set)
{
	g->s->paths->frames.here = (struct dfg_location){g->location.loop, set, g->location.in_gradient};
}

/* Adds up a group, which is empty then. */
static struct dfg_err *sum_group(struct gathering *g, uint32_t set, struct dfg_cotangent *out_cotangent)
{
	struct group *group;
	*out_cotangent = (struct dfg_cotangent){.kind = DFG_NO_COTANGENT};
	DFG_TRY(find_group(g, set, false, &group));
	if (!group || !group->partial)
		return NULL;
	set_location(g, set);
	DFG_TRY(dfg_cotangent_sum_total(&g->make, g->like, group->partial, out_cotangent));
	group->partial = NULL;
	return NULL;
}

/* Makes the cotangent of a side dense: zeros if nothing arrived there. */
static struct dfg_err *dense_side(struct gathering *g, uint32_t set, struct dfg_cotangent *cotangent)
{
	set_location(g, set);
	if (cotangent->kind == DFG_NO_COTANGENT)
		DFG_TRY(dfg_make_filled(&g->make, g->like, 0, &cotangent->value));
	else
		DFG_TRY(dfg_cotangent_dense(&g->make, g->like, cotangent, &cotangent->value));
	cotangent->kind = DFG_DENSE;
	return dfg_gradient_frames_bring(
		&g->s->paths->frames, cotangent->value, &g->s->paths->frames.here, &cotangent->value);
}

/* The sides of a condition: the set of conditions of each, and the sum of the cotangents that arrived there. */
struct sides {
	uint32_t count, common; /* common: the set without the condition */
	uint32_t *set;
	struct dfg_cotangent *side;
	struct dfg_edge *in;
};

static struct dfg_err *merge(struct gathering *g, const struct sides *sides, struct dfg_edge *out_edge)
{
	const struct dfg_location location = {g->location.loop, sides->common, g->location.in_gradient};
	return dfg_gradient_frames_node(&g->s->paths->frames, &location,
		&(struct dfg_own_node){.op = "Merge", .in = sides->in, .n_in = sides->count}, out_edge);
}

/* No rows, for a side without cotangents if another side has rows. The shape of a row must be known. */
static struct dfg_err *no_rows(
	struct gathering *g, uint32_t set, const struct dfg_cotangent *rows, struct dfg_cotangent *out_cotangent)
{
	const struct dfg_facts *facts = &g->s->builder->facts;
	struct dfg_shape shape = dfg_facts_of(facts, rows->value)->shape;
	enum dfg_dtype width = dfg_facts_of(facts, rows->indices)->dtype;
	struct dfg_edge in[2], none;
	shape.dim[0] = 0;
	set_location(g, set);
	DFG_TRY(dfg_make_vector(&g->make, "shape", DFG_I32, shape.dim, shape.rank, &in[0]));
	DFG_TRY(dfg_build_float(g->s->builder, g->make.scope, dfg_facts_of(facts, rows->value)->dtype, 0, &in[1]));
	DFG_TRY(dfg_make_op(&g->make, "Fill", in, 2, NULL, 0, &out_cotangent->value));
	DFG_TRY(dfg_make_vector(&g->make, "none", width, NULL, 0, &none));
	out_cotangent->kind = DFG_ROWS;
	out_cotangent->indices = none;
	return NULL;
}

static bool row_is_known(const struct gathering *g, const struct dfg_cotangent *rows)
{
	const struct dfg_shape *shape = &dfg_facts_of(&g->s->builder->facts, rows->value)->shape;
	for (int d = 1; d < shape->rank; d++)
		if (shape->dim[d] == DFG_UNKNOWN)
			return false;
	return shape->rank > 0;
}

/* The rows of one side whose form the others take, or NULL if not all sides can be rows. */
static const struct dfg_cotangent *stay_rows(const struct gathering *g, const struct sides *sides)
{
	const struct dfg_facts *facts = &g->s->builder->facts;
	const struct dfg_cotangent *rows = NULL;
	bool none = false;
	for (uint32_t i = 0; i < sides->count; i++) {
		const struct dfg_cotangent *side = &sides->side[i];
		none |= side->kind == DFG_NO_COTANGENT;
		if (side->kind == DFG_DENSE)
			return NULL;
		if (side->kind != DFG_ROWS)
			continue;
		if (rows && dfg_facts_of(facts, side->indices)->dtype != dfg_facts_of(facts, rows->indices)->dtype)
			return NULL;
		rows = rows && row_is_known(g, rows) ? rows : side;
	}
	return rows && (!none || row_is_known(g, rows)) ? rows : NULL;
}

static struct dfg_err *merge_rows(struct gathering *g, const struct sides *sides, const struct dfg_cotangent *rows,
	struct dfg_cotangent *out_cotangent)
{
	for (uint32_t i = 0; i < sides->count; i++)
		if (sides->side[i].kind == DFG_NO_COTANGENT)
			DFG_TRY(no_rows(g, sides->set[i], rows, &sides->side[i]));
	out_cotangent->kind = DFG_ROWS;
	for (uint32_t i = 0; i < sides->count; i++)
		sides->in[i] = sides->side[i].value;
	DFG_TRY(merge(g, sides, &out_cotangent->value));
	for (uint32_t i = 0; i < sides->count; i++)
		sides->in[i] = sides->side[i].indices;
	return merge(g, sides, &out_cotangent->indices);
}

static struct dfg_err *merge_dense(struct gathering *g, const struct sides *sides, struct dfg_cotangent *out_cotangent)
{
	for (uint32_t i = 0; i < sides->count; i++) {
		DFG_TRY(dense_side(g, sides->set[i], &sides->side[i]));
		sides->in[i] = sides->side[i].value;
	}
	out_cotangent->kind = DFG_DENSE;
	return merge(g, sides, &out_cotangent->value);
}

static struct dfg_err *find_sides(struct gathering *g, uint32_t from, uint32_t condition, struct sides *out_sides)
{
	struct dfg_arena *arena = &g->s->scratch;
	uint32_t count = (uint32_t)liveness_of(g)->condition[condition].sides;
	*out_sides = (struct sides){.count = count,
		.set = dfg_arena_zeros(arena, count, sizeof *out_sides->set),
		.side = dfg_arena_zeros(arena, count, sizeof *out_sides->side),
		.in = dfg_arena_zeros(arena, count, sizeof *out_sides->in)};
	if (!out_sides->set || !out_sides->side || !out_sides->in)
		return DFG_ERR(DFG_MEMORY, "no memory for the gradients of %u branches", count);
	DFG_TRY(dfg_live_without(liveness_of(g), from, condition, &out_sides->common));
	for (uint32_t i = 0; i < count; i++) {
		DFG_TRY(side_of(g, from, condition, (int)i, &out_sides->set[i]));
		DFG_TRY(sum_group(g, out_sides->set[i], &out_sides->side[i]));
	}
	return NULL;
}

/* Removes a condition: merges the sums of its sides. */
static struct dfg_err *remove_condition(struct gathering *g, uint32_t from, uint32_t condition)
{
	struct dfg_cotangent merged;
	struct sides sides;
	struct group *group;
	DFG_TRY(find_sides(g, from, condition, &sides));
	const struct dfg_cotangent *rows = stay_rows(g, &sides);
	if (rows)
		DFG_TRY(merge_rows(g, &sides, rows, &merged));
	else
		DFG_TRY(merge_dense(g, &sides, &merged));
	DFG_TRY(find_group(g, sides.common, true, &group));
	return dfg_cotangent_sum_add(&g->s->scratch, &group->partial, &merged);
}

/* Sorts the arrivals into groups; in each, as in the list, the latest comes first. */
static struct dfg_err *sort(struct gathering *g, struct dfg_arrival *list)
{
	struct dfg_arrival *reversed = NULL, *next;
	struct group *group;
	for (; list; list = next) {
		next = list->next;
		list->next = reversed;
		reversed = list;
	}
	for (; reversed; reversed = reversed->next) {
		DFG_TRY(find_group(g, reversed->set, true, &group));
		DFG_TRY(dfg_cotangent_sum_add(&g->s->scratch, &group->partial, &reversed->cotangent));
	}
	return NULL;
}

struct dfg_err *dfg_arrival_total(
	struct dfg_backprop *s, struct dfg_edge like, struct dfg_arrival **list, struct dfg_cotangent *out_cotangent)
{
	struct dfg_scope scope = dfg_backprop_scope(s, like.node);
	struct gathering g = {.s = s, .make = {s->builder, scope.s}, .like = like};
	*out_cotangent = (struct dfg_cotangent){.kind = DFG_NO_COTANGENT, .value = {DFG_NONE, 0}};
	if (!*list)
		return NULL;
	const struct dfg_location outer = s->paths->frames.here;
	const char *outer_scope = s->paths->frames.scope;
	s->paths->frames.scope = scope.s;
	struct dfg_err *err = dfg_cotangent_location(&s->paths->frames, like, &g.location);
	if (!err)
		err = sort(&g, *list);
	for (struct group *group; !err && (group = largest(&g));) {
		uint32_t condition, from = group->set;
		err = choose(&g, from, &condition);
		if (!err)
			err = remove_condition(&g, from, condition);
	}
	if (!err)
		err = sum_group(&g, g.location.set, out_cotangent);
	s->paths->frames.here = outer;
	s->paths->frames.scope = outer_scope;
	if (!err)
		**list = (struct dfg_arrival){*out_cotangent, g.location.set, NULL};
	return err;
}
