#include "lib/graph/loop_step.h"
#include "lib/pass/parallel/analysis_private.h"
#include "lib/pass/parallel/blocks_private.h"

#include <string.h>

enum { DEPTH = 8 };

static const struct dfg_node *node_of(const struct dfg_blocking *k, struct dfg_edge edge)
{
	return &k->batch.builder->graph->node[edge.node];
}

/* The source of a tensor outside the loop, through constant Enters; inside it stays. */
static struct dfg_edge outside(const struct dfg_blocking *k, struct dfg_edge edge)
{
	while (dfg_is_constant_enter(node_of(k, edge)) ||
		   (dfg_node_role(node_of(k, edge)) == DFG_IDENTITY && node_of(k, edge)->n_in == 1))
		edge = node_of(k, edge)->in[0];
	return edge;
}

static const struct dfg_loop_variable *counter_of(const struct dfg_blocking *k, struct dfg_edge edge)
{
	edge = outside(k, edge);
	uint32_t v = k->batch.loops->of[edge.node] == k->batch.loop->loop ? k->batch.loops->variable[edge.node] : DFG_NONE;
	const struct dfg_loop_variable *variable = v == DFG_NONE ? NULL : &k->frame->variable[v];
	bool counts = variable && !edge.port && variable->enter != DFG_NONE && variable->next != DFG_NONE &&
				  dfg_loop_step(k->batch.builder->graph, &k->batch.builder->facts, variable) == 1;
	return counts ? variable : NULL;
}

/* bound - first value of the counter (+ 1) */
static struct dfg_err *count_to(struct dfg_blocking *k, const struct dfg_loop_variable *counter, struct dfg_edge bound,
	bool included, struct dfg_edge *out)
{
	const struct dfg_coordinates *c = &k->coordinates;
	struct dfg_edge in[2];
	DFG_TRY(dfg_coordinates_cast(c, bound, &in[0]));
	DFG_TRY(dfg_coordinates_cast(c, node_of(k, (struct dfg_edge){counter->enter, 0})->in[0], &in[1]));
	DFG_TRY(dfg_coordinates_node(c, "Sub", in, 2, NULL, 0, out));
	if (!included)
		return NULL;
	in[0] = *out;
	DFG_TRY(dfg_coordinates_i64(c, 1, &in[1]));
	return dfg_coordinates_node(c, "AddV2", in, 2, NULL, 0, out);
}

static struct dfg_err *count_while(struct dfg_blocking *k, struct dfg_edge condition, int depth, struct dfg_edge *out)
{
	condition = outside(k, condition);
	const struct dfg_node *node = node_of(k, condition);
	enum dfg_meaning means = node->op ? node->op->means : DFG_MEANS_NOTHING;
	struct dfg_edge left, right, side[2];
	if (means == DFG_MEANS_AND && depth) {
		left = node->in[0], right = node->in[1];
		DFG_TRY(count_while(k, left, depth - 1, &side[0]));
		DFG_TRY(count_while(k, right, depth - 1, &side[1]));
		return dfg_coordinates_node(&k->coordinates, "Minimum", side, 2, NULL, 0, out);
	}
	bool less = means == DFG_MEANS_LESS || means == DFG_MEANS_AT_MOST;
	bool greater = means == DFG_MEANS_GREATER || means == DFG_MEANS_AT_LEAST;
	if (!less && !greater)
		return DFG_ERR(DFG_DATA, "its condition is not a comparison of a counter with a bound");
	left = node->in[greater], right = outside(k, node->in[!greater]);
	const struct dfg_loop_variable *counter = counter_of(k, left);
	if (!counter || k->batch.loops->of[right.node] == k->batch.loop->loop)
		return DFG_ERR(DFG_DATA, "its condition compares a counter with a bound that the loop computes");
	return count_to(k, counter, right, means == DFG_MEANS_AT_MOST || means == DFG_MEANS_AT_LEAST, out);
}

struct dfg_err *dfg_blocking_count(struct dfg_blocking *k, struct dfg_edge *out_count)
{
	struct dfg_edge in[2];
	DFG_TRY(count_while(k, k->batch.builder->graph->node[k->frame->condition].in[0], DEPTH, &in[0]));
	DFG_TRY(dfg_coordinates_i64(&k->coordinates, 0, &in[1]));
	return dfg_coordinates_node(&k->coordinates, "Maximum", in, 2, NULL, 0, out_count);
}

/* The operands and attributes of the schedule's node. */
struct operands {
	struct dfg_edge *in;
	uint32_t n;
	union dfg_value *array, *writes, *depth;
	uint32_t n_access;
	const struct dfg_array_access **access; /* of the loop, by number here */
};

static bool is_kept_apart(const struct dfg_loop_dependences *loop, const struct dfg_array_access *access)
{
	const struct dfg_loop_array *array = &loop->array[access->array];
	return array->is_written && !array->is_accumulator;
}

bool dfg_blocking_is_key(const struct dfg_loop_dependences *loop, uint32_t array, uint32_t i)
{
	for (uint32_t a = 0; a < loop->n_access; a++)
		if (loop->access[a].array == array &&
			(i >= loop->access[a].n_subscript || loop->access[a].subscript[i].kind == DFG_SUBSCRIPT_ANY))
			return false;
	return true;
}

/* Whether an access among the first n touches the same rows in the same way, or writes them. */
static bool is_covered(
	const struct dfg_loop_dependences *loop, const struct operands *o, const struct dfg_array_access *x)
{
	for (uint32_t a = 0; a < o->n_access; a++) {
		const struct dfg_array_access *y = o->access[a];
		bool same = y->array == x->array && (y->writes || !x->writes);
		for (uint32_t i = 0; same && i < x->n_subscript; i++)
			same = !dfg_blocking_is_key(loop, x->array, i) || dfg_subscript_equal(&x->subscript[i], &y->subscript[i]);
		if (same)
			return true;
	}
	return false;
}

static struct dfg_err *add_access(struct dfg_blocking *k, const struct dfg_array_access *access, struct operands *o)
{
	const struct dfg_loop_dependences *loop = k->batch.loop;
	int64_t depth = 0;
	if (!is_kept_apart(loop, access) || is_covered(loop, o, access))
		return NULL;
	for (uint32_t i = 0; i < access->n_subscript; i++)
		if (dfg_blocking_is_key(loop, access->array, i)) {
			DFG_TRY(dfg_subscript_build(&k->coordinates, &access->subscript[i], &o->in[o->n++]));
			depth++;
		}
	o->access[o->n_access] = access;
	o->array[o->n_access].i = access->array;
	o->writes[o->n_access].i = access->writes;
	o->depth[o->n_access++].i = depth;
	return NULL;
}

/* Arrays are numbered by their first access here, so that the node's attributes are small and checked. */
static void number_arrays(struct operands *o)
{
	for (uint32_t a = o->n_access; a--;) {
		uint32_t first = 0;
		while (o->access[first]->array != o->access[a]->array)
			first++;
		o->array[a].i = first;
	}
}

static struct dfg_err *read_accesses(struct dfg_blocking *k, struct operands *o)
{
	const struct dfg_loop_dependences *loop = k->batch.loop;
	uint32_t most = loop->n_access + 1;
	o->in = dfg_arena_zeros(k->batch.arena, most * DFG_RANK_MAX + 4, sizeof *o->in);
	o->array = dfg_arena_zeros(k->batch.arena, most, sizeof *o->array);
	o->writes = dfg_arena_zeros(k->batch.arena, most, sizeof *o->writes);
	o->depth = dfg_arena_zeros(k->batch.arena, most, sizeof *o->depth);
	o->access = dfg_arena_zeros(k->batch.arena, most, sizeof *o->access);
	if (!o->in || !o->array || !o->writes || !o->depth || !o->access)
		return dfg_no_memory("the accesses of a loop");
	o->n = 3;
	for (uint32_t writes = 2; writes--;) /* writes first: they cover reads */
		for (uint32_t a = 0; a < loop->n_access; a++)
			if (loop->access[a].writes == writes)
				DFG_TRY(add_access(k, &loop->access[a], o));
	number_arrays(o);
	return NULL;
}

/* The arrays, in the order in which the schedule of a worker gives their moves. */
static struct dfg_err *list_arrays(struct dfg_blocking *k, const struct operands *o)
{
	k->moved = dfg_arena_zeros(k->batch.arena, o->n_access + 1, sizeof *k->moved);
	if (!k->moved)
		return dfg_no_memory("the accesses of a loop");
	for (uint32_t a = 0; a < o->n_access; a++)
		if (o->array[a].i == a)
			k->moved[k->n_moved++] = o->access[a]->array;
	return NULL;
}

static struct dfg_err *none(struct dfg_blocking *k, struct dfg_edge *out)
{
	const struct dfg_shape empty = DFG_SHAPE_VECTOR(0);
	return dfg_build_ints(k->batch.builder, k->coordinates.scope, DFG_I64, &empty, (int64_t[]){0}, out);
}

/* The second coordinate of a wavefront's tiles: the second counter after the skew. */
static struct dfg_err *skewed(struct dfg_blocking *k, struct dfg_edge *out)
{
	const struct dfg_loop_dependences *loop = k->batch.loop;
	struct dfg_edge in[2], digit;
	DFG_TRY(dfg_coordinate_build(&k->coordinates, 1, out));
	if (!loop->skew || !loop->skew[loop->n_counter])
		return NULL;
	DFG_TRY(dfg_coordinate_build(&k->coordinates, 0, &digit));
	DFG_TRY(dfg_coordinates_i64(&k->coordinates, loop->skew[loop->n_counter], &in[1]));
	in[0] = digit;
	DFG_TRY(dfg_coordinates_node(&k->coordinates, "Mul", in, 2, NULL, 0, &in[0]));
	in[1] = *out;
	return dfg_coordinates_node(&k->coordinates, "AddV2", in, 2, NULL, 0, out);
}

static struct dfg_err *find_units(struct dfg_blocking *k, struct dfg_edge out[2], const char **out_clock)
{
	const struct dfg_loop_dependences *loop = k->batch.loop;
	bool is_wave = loop->family == DFG_FAMILY_WAVEFRONT, is_2d = loop->family == DFG_FAMILY_2D;
	*out_clock = is_wave || (is_2d && loop->is_ordered) ? "staircase" : is_2d ? "rotation" : "one";
	DFG_TRY(none(k, &out[0]));
	out[1] = out[0];
	if (is_wave && loop->n_counter < 2)
		*out_clock = "one";
	if (is_wave && loop->n_counter > 1) {
		DFG_TRY(dfg_coordinate_build(&k->coordinates, 0, &out[0]));
		return skewed(k, &out[1]);
	}
	if (loop->family == DFG_FAMILY_1D || is_2d)
		DFG_TRY(dfg_coordinate_build(&k->coordinates, loop->space, &out[0]));
	return is_2d ? dfg_coordinate_build(&k->coordinates, loop->time, &out[1]) : NULL;
}

struct dfg_err *dfg_blocking_schedule(struct dfg_blocking *k)
{
	const struct dfg_loop_dependences *loop = k->batch.loop;
	const struct dfg_block_options *options = k->options;
	struct operands o = {0};
	const char *clock, *name = dfg_arena_copy(k->batch.arena, loop->name.s, loop->name.length);
	DFG_TRY(read_accesses(k, &o));
	DFG_TRY(list_arrays(k, &o));
	o.in[0] = k->coordinates.n;
	DFG_TRY(find_units(k, &o.in[1], &clock));
	if (!name)
		return dfg_no_memory("the schedule of a loop");
	if (o.n == 3)
		DFG_TRY(dfg_coordinates_node(&k->coordinates, "ZerosLike", &k->coordinates.number, 1, NULL, 0, &o.in[o.n++]));
	const struct dfg_list arrays = {DFG_ATTR_INT, o.n_access, o.array}, writes = {DFG_ATTR_INT, o.n_access, o.writes},
						  depths = {DFG_ATTR_INT, o.n_access, o.depth};
	bool is_sorted = loop->is_ordered && loop->family == DFG_FAMILY_2D;
	const struct dfg_attr attr[] = {DFG_ATTR_S("loop", name), DFG_ATTR_I("blocks", options->blocks),
		DFG_ATTR_S("clock", clock), DFG_ATTR_S("balance", options->by_range ? "range" : "histogram"),
		DFG_ATTR_B("sorted", is_sorted), DFG_ATTR_B("verify", options->verify),
		DFG_ATTR_B("singly", options->singly || k->batch.singly), {"arrays", DFG_ATTR_LIST, {.list = &arrays}},
		{"writes", DFG_ATTR_LIST, {.list = &writes}}, {"depths", DFG_ATTR_LIST, {.list = &depths}},
		DFG_ATTR_I("A", k->n_moved)};
	return dfg_coordinates_node(&k->coordinates, k->divides ? "Dfg>WorkerSchedule" : "Dfg>LoopSchedule", o.in, o.n,
		attr, sizeof attr / sizeof *attr - !k->divides, &k->schedule);
}
