#include "lib/pass/parallel/coordinates_private.h"

#include <string.h>

struct dfg_err *dfg_coordinates_node(const struct dfg_coordinates *c, const char *op, const struct dfg_edge *in,
	uint32_t n_in, const struct dfg_attr *attr, uint32_t n_attr, struct dfg_edge *out_edge)
{
	struct dfg_new_node want = {.op = op, .name = c->scope, .in = in, .n_in = n_in, .attr = attr, .n_attr = n_attr};
	uint32_t number;
	DFG_TRY(dfg_build(c->builder, &want, &number));
	*out_edge = (struct dfg_edge){number, 0}; /* only now: it may be one of the inputs */
	return NULL;
}

struct dfg_err *dfg_coordinates_i64(const struct dfg_coordinates *c, int64_t value, struct dfg_edge *out_edge)
{
	return dfg_build_ints(c->builder, c->scope, DFG_I64, NULL, &value, out_edge);
}

struct dfg_err *dfg_coordinates_cast(const struct dfg_coordinates *c, struct dfg_edge edge, struct dfg_edge *out_edge)
{
	const struct dfg_attr to = DFG_ATTR_T("DstT", DFG_I64);
	*out_edge = edge;
	if (dfg_facts_of(&c->builder->facts, edge)->dtype == DFG_I64)
		return NULL;
	return dfg_coordinates_node(c, "Cast", &edge, 1, &to, 1, out_edge);
}

static struct dfg_err *combine(
	const struct dfg_coordinates *c, const char *op, struct dfg_edge x, struct dfg_edge y, struct dfg_edge *out)
{
	return dfg_coordinates_node(c, op, (struct dfg_edge[]){x, y}, 2, NULL, 0, out);
}

static struct dfg_err *build_radix(const struct dfg_coordinates *c, const struct dfg_radix *radix, struct dfg_edge *out)
{
	struct dfg_edge factor;
	DFG_TRY(dfg_coordinates_i64(c, radix->constant, out));
	for (uint32_t i = 0; i < radix->n_factor; i++) {
		DFG_TRY(dfg_coordinates_cast(c, radix->factor[i], &factor));
		DFG_TRY(combine(c, "Mul", *out, factor, out));
	}
	return NULL;
}

/* The number of counters [first, last): the last counter is the fastest. */
static struct dfg_err *build_range(struct dfg_coordinates *c, uint32_t first, uint32_t last, struct dfg_edge *out)
{
	uint32_t cuts = c->loop->n_counter;
	struct dfg_edge by;
	*out = c->number;
	if (first) {
		DFG_TRY(build_radix(c, &c->loop->cut[cuts - first], &by));
		DFG_TRY(combine(c, "FloorMod", *out, by, out));
	}
	if (last < cuts) {
		DFG_TRY(build_radix(c, &c->loop->cut[cuts - last], &by));
		DFG_TRY(combine(c, "FloorDiv", *out, by, out));
	}
	return cuts == 1 && c->start.node != DFG_NONE ? combine(c, "AddV2", *out, c->start, out) : NULL;
}

/* An index as the op in the loop counts it: a negative one from the end. */
static struct dfg_err *from_the_start(struct dfg_coordinates *c, const struct dfg_subscript *s, struct dfg_edge shape,
	uint32_t axis, struct dfg_edge *index)
{
	struct dfg_edge zero, extent, sum, negative, at[3] = {shape};
	if (s->offset >= 0 && s->symbol.node == DFG_NONE &&
		(s->kind == DFG_SUBSCRIPT_CONSTANT ||
			(c->loop->coordinate[s->coordinate].is_counter && c->start.node == DFG_NONE)))
		return NULL;
	DFG_TRY(dfg_coordinates_i64(c, axis, &at[1]));
	DFG_TRY(dfg_coordinates_i64(c, 0, &zero));
	at[2] = zero;
	DFG_TRY(dfg_coordinates_node(c, "GatherV2", at, 3, NULL, 0, &extent));
	DFG_TRY(combine(c, "AddV2", *index, extent, &sum));
	DFG_TRY(combine(c, "Less", *index, zero, &negative));
	return dfg_coordinates_node(c, "SelectV2", (struct dfg_edge[]){negative, sum, *index}, 3, NULL, 0, index);
}

static struct dfg_err *build_index(
	struct dfg_coordinates *c, const struct dfg_coordinate *element, struct dfg_edge *out)
{
	const struct dfg_attr type = DFG_ATTR_T("out_type", DFG_I64), last = DFG_ATTR_I("axis", -1);
	struct dfg_edge shape, *index = dfg_arena_zeros(c->arena, element->n_index, sizeof *index);
	if (!index)
		return dfg_no_memory("the coordinates of a loop");
	DFG_TRY(dfg_coordinates_node(c, "Shape", &element->base, 1, &type, 1, &shape));
	for (uint32_t i = 0; i < element->n_index; i++) {
		DFG_TRY(dfg_subscript_build(c, &element->index[i], &index[i]));
		DFG_TRY(from_the_start(c, &element->index[i], shape, i, &index[i]));
	}
	*out = index[0];
	return element->n_index == 1 ? NULL : dfg_coordinates_node(c, "Pack", index, element->n_index, &last, 1, out);
}

/* Elements of a tensor. One of a variable may be assigned between the start of the step and the loop. */
static struct dfg_err *build_element(
	struct dfg_coordinates *c, const struct dfg_coordinate *element, struct dfg_edge *out)
{
	const struct dfg_inferred *fact = dfg_facts_of(&c->builder->facts, element->base);
	bool is_single = element->n_index == 1;
	struct dfg_edge in[3] = {element->base};
	if (!dfg_dtype_is(fact->dtype, "int"))
		return DFG_ERR(DFG_DATA, "coordinate '%s' is not an element of a tensor of integers", element->name);
	DFG_TRY(build_index(c, element, &in[1]));
	DFG_TRY(dfg_coordinates_i64(c, 0, &in[2]));
	return dfg_coordinates_node(c, is_single ? "GatherV2" : "GatherNd", in, is_single ? 3 : 2, NULL, 0, out);
}

struct dfg_err *dfg_coordinate_build(struct dfg_coordinates *c, uint32_t number, struct dfg_edge *out)
{
	const struct dfg_coordinate *coordinate = &c->loop->coordinate[number];
	if (c->of[number].node == DFG_NONE) {
		struct dfg_edge edge;
		if (coordinate->is_counter || coordinate->is_number)
			DFG_TRY(build_range(c, coordinate->first, coordinate->last, &edge));
		else
			DFG_TRY(build_element(c, coordinate, &edge));
		DFG_TRY(dfg_coordinates_cast(c, edge, &c->of[number]));
	}
	*out = c->of[number];
	return NULL;
}

struct dfg_err *dfg_subscript_build(
	struct dfg_coordinates *c, const struct dfg_subscript *subscript, struct dfg_edge *out)
{
	struct dfg_edge term;
	if (subscript->kind == DFG_SUBSCRIPT_COORDINATE)
		DFG_TRY(dfg_coordinate_build(c, subscript->coordinate, out));
	else
		DFG_TRY(dfg_coordinates_node(c, "ZerosLike", &c->number, 1, NULL, 0, out));
	if (subscript->offset) {
		DFG_TRY(dfg_coordinates_i64(c, subscript->offset, &term));
		DFG_TRY(combine(c, "AddV2", *out, term, out));
	}
	if (subscript->symbol.node == DFG_NONE)
		return NULL;
	DFG_TRY(dfg_coordinates_cast(c, subscript->symbol, &term));
	return combine(c, "AddV2", *out, term, out);
}
