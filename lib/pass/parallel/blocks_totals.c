#include "lib/pass/parallel/blocks_private.h"

#include <math.h>
#include <string.h>

static struct dfg_graph *graph_of(const struct dfg_blocking *k)
{
	return k->batch.builder->graph;
}

static struct dfg_err *node(struct dfg_blocking *k, const char *op, const struct dfg_edge *in, uint32_t n_in,
	const struct dfg_attr *attr, uint32_t n_attr, struct dfg_edge *out)
{
	return dfg_coordinates_node(&k->coordinates, op, in, n_in, attr, n_attr, out);
}

/* The value that leaves others as they are. */
static struct dfg_err *neutral(
	struct dfg_blocking *k, enum dfg_meaning combines, enum dfg_dtype dtype, struct dfg_edge *out)
{
	struct dfg_builder *builder = k->batch.builder;
	const char *scope = k->coordinates.scope;
	bool is_max = combines == DFG_MEANS_MAXIMUM;
	int64_t least = dtype == DFG_I32 ? INT32_MIN : INT64_MIN, most = dtype == DFG_I32 ? INT32_MAX : INT64_MAX;
	if (combines == DFG_MEANS_SUM || dfg_dtype_is(dtype, "float"))
		return dfg_build_float(builder, scope, dtype,
			combines == DFG_MEANS_SUM ? 0
			: is_max                  ? -INFINITY
									  : INFINITY,
			out);
	if (dtype != DFG_I32 && dtype != DFG_I64)
		return DFG_ERR(
			DFG_DATA, "accumulators of %s with max or min cannot be divided into blocks", dfg_dtype_name(dtype));
	return dfg_build_ints(builder, scope, dtype, NULL, is_max ? &least : &most, out);
}

/* A variable of `blocks` values, which is set anew each time. */
static struct dfg_err *make_variable(struct dfg_blocking *k, const struct dfg_handle_type *holds,
	enum dfg_meaning combines, struct dfg_edge *out_variable, struct dfg_edge *out_set)
{
	struct dfg_shape shape = {.rank = 1 + holds->shape.rank, .dim = {k->options->blocks}};
	struct dfg_edge in[2], fill[2];
	for (int d = 0; d < holds->shape.rank; d++)
		shape.dim[1 + d] = holds->shape.dim[d];
	const char *name = dfg_arena_print(k->batch.arena, "%s/%u", k->coordinates.scope, k->batch.builder->graph->count);
	if (!name)
		return dfg_no_memory("the accumulators of a loop");
	const struct dfg_attr attr[] = {DFG_ATTR_T("dtype", holds->dtype), {"shape", DFG_ATTR_SHAPE, {.shape = &shape}},
		DFG_ATTR_S("shared_name", name), DFG_ATTR_I("_dfg_temporary", 1)};
	const struct dfg_shape vector = DFG_SHAPE_VECTOR(shape.rank);
	DFG_TRY(node(k, "VarHandleOp", NULL, 0, attr, 4, out_variable));
	DFG_TRY(dfg_build_ints(k->batch.builder, k->coordinates.scope, DFG_I64, &vector, shape.dim, &fill[0]));
	DFG_TRY(neutral(k, combines, holds->dtype, &fill[1]));
	in[0] = *out_variable;
	DFG_TRY(node(k, "Fill", fill, 2, NULL, 0, &in[1]));
	return node(k, "AssignVariableOp", in, 2, NULL, 0, out_set);
}

static struct dfg_err *make_partial(struct dfg_blocking *k, uint32_t access)
{
	struct dfg_batch *b = &k->batch;
	const struct dfg_array_access *update = &b->loop->access[access];
	const struct dfg_handle_type *holds = dfg_batch_fact(b, b->builder->graph->node[update->node].in[0])->holds;
	struct dfg_edge *set = &k->set[access];
	if (!holds || holds->dtype == DFG_NO_DTYPE || !dfg_shape_known(&holds->shape) || holds->shape.rank == DFG_RANK_MAX)
		return DFG_ERR(DFG_DATA, "the shape of accumulator '%s' is not known before the loop runs",
			b->loop->array[update->array].name);
	DFG_TRY(make_variable(k, holds, update->combines, &k->total[access], set));
	DFG_TRY(dfg_batch_enter(b, k->total[access], &b->partial[access]));
	return dfg_node_add_control(b->builder->graph, b->partial[access].node, set->node);
}

/* Each update has its own, so that their order within an iteration does not matter. */
struct dfg_err *dfg_blocking_partials(struct dfg_blocking *k)
{
	struct dfg_batch *b = &k->batch;
	const struct dfg_loop_dependences *loop = b->loop;
	for (uint32_t a = 0; a < loop->n_access; a++) {
		const struct dfg_array_access *access = &loop->access[a];
		k->total[a] = b->partial[a] = (struct dfg_edge){DFG_NONE, 0};
		if (!loop->array[access->array].is_accumulator)
			continue;
		if (!dfg_batch_has_partial(&b->builder->graph->node[access->node]))
			return dfg_batch_refuse(b, access->node, "an accumulator that it updates cannot be divided into blocks");
		b->update_of[access->node] = a + 1;
		DFG_TRY(make_partial(k, a));
	}
	return NULL;
}

static const char *combiner(enum dfg_meaning combines)
{
	return combines == DFG_MEANS_SUM ? "AddV2" : combines == DFG_MEANS_MAXIMUM ? "Maximum" : "Minimum";
}

/* Rows first, first + step, ... before `end` of x. */
static struct dfg_err *rows_of(
	struct dfg_blocking *k, struct dfg_edge x, int64_t first, int64_t end, int64_t step, struct dfg_edge *out)
{
	const struct dfg_shape one = DFG_SHAPE_VECTOR(1);
	const int64_t number[] = {first, end, step};
	struct dfg_edge in[4] = {x};
	for (int i = 0; i < 3; i++)
		DFG_TRY(dfg_build_ints(k->batch.builder, k->coordinates.scope, DFG_I32, &one, &number[i], &in[i + 1]));
	return node(k, "StridedSlice", in, 4, NULL, 0, out);
}

/* One level of the tree: neighbours are combined, and an odd last one is passed on. */
static struct dfg_err *halve(struct dfg_blocking *k, const char *op, int64_t count, struct dfg_edge *x)
{
	struct dfg_edge in[3], rest;
	int64_t even = count / 2 * 2;
	DFG_TRY(rows_of(k, *x, 0, even, 2, &in[0]));
	DFG_TRY(rows_of(k, *x, 1, even, 2, &in[1]));
	if (count > even)
		DFG_TRY(rows_of(k, *x, even, count, 1, &rest));
	DFG_TRY(node(k, op, in, 2, NULL, 0, x));
	if (count == even)
		return NULL;
	in[0] = *x;
	in[1] = rest;
	DFG_TRY(dfg_build_ints(k->batch.builder, k->coordinates.scope, DFG_I32, NULL, (int64_t[]){0}, &in[2]));
	return node(k, "ConcatV2", in, 3, NULL, 0, x);
}

/* The only row of x. */
static struct dfg_err *only_row(struct dfg_blocking *k, struct dfg_edge *x)
{
	const struct dfg_attr mask = DFG_ATTR_I("shrink_axis_mask", 1);
	const struct dfg_shape one = DFG_SHAPE_VECTOR(1);
	struct dfg_edge cut[4] = {*x};
	DFG_TRY(dfg_build_ints(k->batch.builder, k->coordinates.scope, DFG_I32, &one, (int64_t[]){0}, &cut[1]));
	DFG_TRY(dfg_build_ints(k->batch.builder, k->coordinates.scope, DFG_I32, &one, (int64_t[]){1}, &cut[2]));
	cut[3] = cut[2];
	return node(k, "StridedSlice", cut, 4, &mask, 1, x);
}

struct dfg_err *dfg_blocking_after(struct dfg_blocking *k, struct dfg_edge edge, const uint32_t *exit, uint32_t n_exit)
{
	k->made[k->n_made++] = edge.node;
	for (uint32_t i = 0; i < n_exit; i++)
		DFG_TRY(dfg_node_add_control(k->batch.builder->graph, edge.node, exit[i]));
	return NULL;
}

/* Combines the variable with the total; the result is the node that does. */
static struct dfg_err *assign_total(struct dfg_blocking *k, struct dfg_edge handle, enum dfg_dtype dtype,
	enum dfg_meaning combines, struct dfg_edge total, const uint32_t *exit, uint32_t n_exit, struct dfg_edge *out)
{
	const struct dfg_attr type = DFG_ATTR_T("dtype", dtype);
	struct dfg_edge in[2] = {handle, total}, side[2] = {{0, 0}, total};
	if (combines == DFG_MEANS_SUM) {
		DFG_TRY(node(k, "AssignAddVariableOp", in, 2, NULL, 0, out));
		return dfg_blocking_after(k, *out, exit, n_exit);
	}
	DFG_TRY(node(k, "ReadVariableOp", &handle, 1, &type, 1, &side[0]));
	DFG_TRY(dfg_blocking_after(k, side[0], exit, n_exit));
	DFG_TRY(node(k, combiner(combines), side, 2, NULL, 0, &in[1]));
	return node(k, "AssignVariableOp", in, 2, NULL, 0, out);
}

struct dfg_edge dfg_blocking_handle(
	const struct dfg_blocking *k, struct dfg_edge edge, const struct dfg_loop_variable **out_variable)
{
	const struct dfg_graph *graph = k->batch.builder->graph;
	*out_variable = NULL;
	for (;;) {
		const struct dfg_node *at = &graph->node[edge.node];
		uint32_t v =
			k->batch.loops->of[edge.node] == k->batch.loop->loop ? k->batch.loops->variable[edge.node] : DFG_NONE;
		if (v != DFG_NONE && dfg_node_role(at) == DFG_MERGE) {
			*out_variable = &k->frame->variable[v];
			edge = graph->node[(*out_variable)->enter].in[0];
		} else if (dfg_node_role(at) == DFG_SWITCH || dfg_node_role(at) == DFG_IDENTITY ||
				   dfg_node_role(at) == DFG_ENTER) {
			edge = at->in[0];
		} else {
			return edge;
		}
	}
}

uint32_t dfg_blocking_exits(const struct dfg_blocking *k, const struct dfg_loop_variable *of, uint32_t *out_exit)
{
	const struct dfg_batch *b = &k->batch;
	uint32_t count = 0;
	for (uint32_t n = 0; n < b->n_old; n++) {
		const struct dfg_node *exit = &b->builder->graph->node[n];
		if (dfg_node_role(exit) != DFG_EXIT || dfg_loop_home(b->builder->graph, b->loops, n) != b->loop->loop)
			continue;
		if (!of || dfg_exit_source(b->builder->graph, exit).node == of->switch_node)
			out_exit[count++] = n;
	}
	return count;
}

static bool is_made(const struct dfg_blocking *k, uint32_t n)
{
	for (uint32_t i = 0; i < k->n_made; i++)
		if (k->made[i] == n)
			return true;
	return false;
}

struct dfg_err *dfg_blocking_delay(struct dfg_blocking *k, uint32_t exit, uint32_t last)
{
	struct dfg_graph *graph = k->batch.builder->graph;
	const struct dfg_edge from = {exit, 0};
	struct dfg_edge late;
	DFG_TRY(node(k, "Identity", &from, 1, NULL, 0, &late));
	DFG_TRY(dfg_node_add_control(graph, late.node, last));
	for (uint32_t n = 0; n < graph->count; n++) {
		struct dfg_node *reader = &graph->node[n];
		for (uint32_t e = 0; n != late.node && !is_made(k, n) && e < reader->n_in + reader->n_control; e++)
			if (reader->in[e].node == exit)
				reader->in[e].node = late.node;
	}
	return NULL;
}

/* before: the node that has combined an earlier update of the variable, and becomes that of this one. exit is scratch. */
static struct dfg_err *make_total(struct dfg_blocking *k, uint32_t access, uint32_t *before, uint32_t *exit)
{
	const struct dfg_array_access *update = &k->batch.loop->access[access];
	const struct dfg_loop_variable *variable;
	struct dfg_edge handle = dfg_blocking_handle(k, graph_of(k)->node[update->node].in[0], &variable);
	enum dfg_dtype dtype = dfg_batch_fact(&k->batch, handle)->holds->dtype;
	const struct dfg_attr type = DFG_ATTR_T("dtype", dtype);
	uint32_t n_exit = dfg_blocking_exits(k, variable, exit), n_wait = n_exit;
	struct dfg_edge x, last;
	if (*before != DFG_NONE)
		exit[n_wait++] = *before;
	DFG_TRY(node(k, "ReadVariableOp", &k->total[access], 1, &type, 1, &x));
	DFG_TRY(dfg_blocking_after(k, x, exit, n_wait));
	DFG_TRY(
		dfg_node_add_control(graph_of(k), x.node, k->set[access].node)); /* which a loop without iterations does not */
	for (int64_t count = k->options->blocks; count > 1; count = (count + 1) / 2)
		DFG_TRY(halve(k, combiner(update->combines), count, &x));
	DFG_TRY(only_row(k, &x));
	DFG_TRY(assign_total(k, handle, dtype, update->combines, x, exit, n_wait, &last));
	for (uint32_t i = 0; i < n_exit; i++)
		DFG_TRY(dfg_blocking_delay(k, exit[i], last.node));
	*before = last.node;
	return NULL;
}

struct dfg_err *dfg_blocking_totals(struct dfg_blocking *k)
{
	const struct dfg_loop_dependences *loop = k->batch.loop;
	uint32_t *exit = dfg_arena_zeros(k->batch.arena, k->batch.n_old + 1u, sizeof *exit);
	uint32_t *before = dfg_arena_zeros(k->batch.arena, loop->n_array + 1, sizeof *before);
	if (!exit || !before)
		return dfg_no_memory("the accumulators of a loop");
	for (uint32_t array = 0; array < loop->n_array; array++)
		before[array] = k->join;
	for (uint32_t a = 0; a < loop->n_access; a++)
		if (k->total[a].node != DFG_NONE)
			DFG_TRY(make_total(k, a, &before[loop->access[a].array], exit));
	return NULL;
}
