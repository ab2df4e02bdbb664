#include "lib/pass/parallel/blocks_private.h"

/*
 * A loop over several workers. All of them run the whole step; of the loop, each runs the units of its own space blocks. Rows
 * move before slices and, after the loop, every worker gets those that others have written, so that the nodes after it compute
 * the same everywhere.
 */
static const struct dfg_graph *graph_of(const struct dfg_blocking *k)
{
	return k->batch.builder->graph;
}

/* Whether the variable has one value in all iterations, such as a handle: it is carried to order accesses. */
static bool only_orders(const struct dfg_blocking *k, const struct dfg_loop_variable *v)
{
	if (v->next == DFG_NONE)
		return false;
	struct dfg_edge value = graph_of(k)->node[v->next].in[0];
	while (dfg_node_role(&graph_of(k)->node[value.node]) == DFG_IDENTITY)
		value = graph_of(k)->node[value.node].in[0];
	return value.node == v->switch_node && value.port == 1;
}

static uint32_t count_readers(const struct dfg_blocking *k, struct dfg_edge edge)
{
	uint32_t count = 0;
	for (uint32_t n = 0; n < k->batch.n_old; n++)
		for (uint32_t e = 0; e < graph_of(k)->node[n].n_in; e++)
			count += dfg_edge_same(graph_of(k)->node[n].in[e], edge);
	return count;
}

/*
 * Whether the variable is the flow of an array that each iteration writes to once, as a yield does, and does not read. Then
 * sets the array's handle outside the loop.
 */
static bool is_yield(const struct dfg_blocking *k, const struct dfg_loop_variable *v, struct dfg_edge *out_handle)
{
	const struct dfg_loop_variable *variable;
	const struct dfg_edge before = {v->switch_node, 1};
	uint32_t n = v->next == DFG_NONE ? DFG_NONE : graph_of(k)->node[v->next].in[0].node;
	const struct dfg_node *write = n == DFG_NONE ? NULL : &graph_of(k)->node[n];
	bool writes = write && write->op && write->op->flags & DFG_TENSOR_ARRAY && write->op->flags & DFG_WRITES;
	if (!writes || k->batch.loops->of[n] != k->batch.loop->loop || count_readers(k, before) != 1 ||
		!dfg_edge_same(write->in[write->n_in - 1], before))
		return false;
	*out_handle = dfg_blocking_handle(k, write->in[0], &variable);
	const struct dfg_handle_type *holds = dfg_batch_fact(&k->batch, *out_handle)->holds;
	return !variable && holds && holds->dtype != DFG_NO_DTYPE && !dfg_dtype_is_object(holds->dtype);
}

static bool is_divisible(struct dfg_blocking *k, const struct dfg_loop_variable *v)
{
	if (only_orders(k, v) || dfg_blocking_is_counter(k, v))
		return true;
	if (!is_yield(k, v, &k->written[k->flows]))
		return false;
	k->flow[k->flows++] = v;
	return true;
}

/* The loop variable that carries the handle by which all accesses to the array go; NULL: there is none. */
static const struct dfg_loop_variable *token_of(const struct dfg_blocking *k, uint32_t array)
{
	const struct dfg_loop_dependences *loop = k->batch.loop;
	const struct dfg_loop_variable *token = NULL, *other;
	for (uint32_t a = 0; a < loop->n_access; a++) {
		if (loop->access[a].array != array)
			continue;
		dfg_blocking_handle(k, graph_of(k)->node[loop->access[a].node].in[0], &other);
		if (!other || (token && other != token) || other->switch_node == DFG_NONE)
			return NULL;
		token = other;
	}
	return token;
}

/* Whether the subscripts that decide the rows of an array are its leading ones. */
static bool has_leading_keys(const struct dfg_loop_dependences *loop, uint32_t array)
{
	bool ended = false;
	for (uint32_t i = 0; i < DFG_RANK_MAX; i++) {
		bool key = dfg_blocking_is_key(loop, array, i);
		if (key && ended)
			return false;
		ended |= !key;
	}
	return true;
}

static struct dfg_err *find_tokens(struct dfg_blocking *k, const char **out_why)
{
	const struct dfg_loop_dependences *loop = k->batch.loop;
	k->token = dfg_arena_zeros(k->batch.arena, loop->n_array + 1, sizeof *k->token);
	if (!k->token)
		return dfg_no_memory("the arrays of a loop");
	for (uint32_t array = 0; array < loop->n_array && !*out_why; array++) {
		if (!loop->array[array].is_written || loop->array[array].is_accumulator)
			continue;
		k->token[array] = token_of(k, array);
		const char *name = loop->array[array].name;
		if (!k->token[array])
			*out_why = dfg_arena_print(
				k->batch.arena, "its accesses to '%s' do not all go through one handle that the loop carries", name);
		else if (!has_leading_keys(loop, array))
			*out_why = dfg_arena_print(k->batch.arena, "rows of '%s' are not selected by its leading subscripts", name);
		if (*out_why == NULL && (!k->token[array] || !has_leading_keys(loop, array)))
			return dfg_no_memory("the arrays of a loop");
	}
	return NULL;
}

struct dfg_err *dfg_blocking_divide(struct dfg_blocking *k, const char **out_why)
{
	*out_why = NULL;
	k->join = DFG_NONE;
	if (!k->options->workers)
		return NULL;
	k->flow = dfg_arena_zeros(k->batch.arena, k->frame->n_variable + 1, sizeof *k->flow);
	k->written = dfg_arena_zeros(k->batch.arena, k->frame->n_variable + 1, sizeof *k->written);
	if (!k->flow || !k->written)
		return dfg_no_memory("the arrays of a loop");
	for (uint32_t i = 0; i < k->frame->n_variable && !*out_why; i++)
		if (!is_divisible(k, &k->frame->variable[i]))
			*out_why = "it carries values other than those that it yields in every iteration";
	if (!*out_why)
		DFG_TRY(find_tokens(k, out_why));
	k->divides = !*out_why;
	return NULL;
}

/* Moves of the i-th array, which the schedule gives. */
static struct dfg_edge moves_of(const struct dfg_blocking *k, uint32_t i)
{
	return (struct dfg_edge){k->schedule.node, (int32_t)(3 + i)};
}

/* In the body, accesses to the array go by a handle that is there after the rows have moved. */
static struct dfg_err *delay_accesses(struct dfg_blocking *k, const struct dfg_loop_variable *token, uint32_t move)
{
	struct dfg_batch *b = &k->batch;
	const struct dfg_edge handle = {token->switch_node, 1};
	struct dfg_edge late;
	DFG_TRY(dfg_batch_build(b, token->switch_node, "Identity", &handle, 1, NULL, 0, &late));
	DFG_TRY(dfg_node_add_control(b->builder->graph, late.node, move));
	b->of[b->builder->facts.first[handle.node] + 1] = (struct dfg_batched){late, false};
	return NULL;
}

struct dfg_err *dfg_blocking_move(struct dfg_blocking *k, struct dfg_edge slice)
{
	struct dfg_batch *b = &k->batch;
	const struct dfg_attr channel = DFG_ATTR_I("channel", k->number);
	struct dfg_edge *in = dfg_arena_zeros(b->arena, 2 * (size_t)k->n_moved + 1, sizeof *in), move;
	if (!in)
		return dfg_no_memory("the rows that workers exchange");
	if (!k->divides || !k->n_moved)
		return NULL;
	in[0] = slice;
	for (uint32_t i = 0; i < k->n_moved; i++) {
		DFG_TRY(dfg_batch_enter(b, moves_of(k, i), &in[1 + i]));
		in[1 + k->n_moved + i] = (struct dfg_edge){k->token[k->moved[i]]->switch_node, 1};
	}
	DFG_TRY(dfg_batch_build(b, slice.node, "Dfg>MoveRows", in, 1 + 2 * k->n_moved, &channel, 1, &move));
	for (uint32_t i = 0; i < k->n_moved; i++)
		DFG_TRY(delay_accesses(k, k->token[k->moved[i]], move.node));
	return NULL;
}

/* The variables of the joined rows, then those of partial results. */
static void joined_variables(const struct dfg_blocking *k, struct dfg_edge *in, uint32_t *n)
{
	const struct dfg_loop_dependences *loop = k->batch.loop;
	const struct dfg_loop_variable *token;
	for (uint32_t i = 0; i < k->n_moved; i++) {
		struct dfg_edge handle = {k->token[k->moved[i]]->enter, 0};
		in[(*n)++] = dfg_blocking_handle(k, handle, &token);
	}
	for (uint32_t a = 0; a < loop->n_access; a++)
		if (k->total[a].node != DFG_NONE)
			in[(*n)++] = k->total[a];
}

/* The Exits after which the arrays and the partial results have their values. */
static uint32_t find_exits(const struct dfg_blocking *k, uint32_t *out_exit)
{
	const struct dfg_loop_dependences *loop = k->batch.loop;
	uint32_t count = 0;
	for (uint32_t i = 0; i < k->frame->n_variable; i++) {
		const struct dfg_loop_variable *v = &k->frame->variable[i], *of;
		bool is_needed = false;
		for (uint32_t a = 0; a < loop->n_access; a++) {
			if (!loop->array[loop->access[a].array].is_written)
				continue;
			dfg_blocking_handle(k, graph_of(k)->node[loop->access[a].node].in[0], &of);
			is_needed |= of == v || !of;
		}
		if (is_needed)
			count += dfg_blocking_exits(k, v, out_exit + count);
	}
	return count;
}

/* A node that waits for the exits, and that all other readers of these wait for. */
static struct dfg_err *put_between(struct dfg_blocking *k, struct dfg_edge node, const uint32_t *exit, uint32_t exits)
{
	DFG_TRY(dfg_blocking_after(k, node, exit, exits));
	for (uint32_t i = 0; i < exits; i++)
		DFG_TRY(dfg_blocking_delay(k, exit[i], node.node));
	return NULL;
}

/* The joins of one loop come one after the other, so that they are in the same order on all workers. */
static struct dfg_err *join_yields(struct dfg_blocking *k, uint32_t *exit)
{
	uint32_t before = k->join;
	for (uint32_t i = 0; i < k->flows; i++) {
		struct dfg_edge join;
		uint32_t exits = dfg_blocking_exits(k, k->flow[i], exit);
		const struct dfg_attr attr[] = {DFG_ATTR_I("channel", k->number), DFG_ATTR_I("array", i)};
		if (!exits)
			continue;
		DFG_TRY(dfg_coordinates_node(&k->coordinates, "Dfg>JoinElements", &k->written[i], 1, attr, 2, &join));
		DFG_TRY(put_between(k, join, exit, exits));
		if (before != DFG_NONE)
			DFG_TRY(dfg_node_add_control(k->batch.builder->graph, join.node, before));
		before = join.node;
	}
	return NULL;
}

static struct dfg_err *join_rows(struct dfg_blocking *k, uint32_t *exit)
{
	struct dfg_batch *b = &k->batch;
	uint32_t most = 2 * k->n_moved + b->loop->n_access + 1, n = 0;
	struct dfg_edge *in = dfg_arena_zeros(b->arena, most, sizeof *in), join;
	if (!in)
		return dfg_no_memory("the rows of the workers");
	for (; n < k->n_moved; n++)
		in[n] = moves_of(k, n);
	joined_variables(k, in, &n);
	if (!n)
		return NULL;
	const struct dfg_attr attr[] = {
		DFG_ATTR_I("channel", k->number), DFG_ATTR_I("M", k->n_moved), DFG_ATTR_I("V", n - k->n_moved)};
	DFG_TRY(dfg_coordinates_node(&k->coordinates, "Dfg>JoinRows", in, n, attr, 3, &join));
	uint32_t exits = find_exits(k, exit);
	DFG_TRY(put_between(k, join, exit, exits));
	for (uint32_t a = 0; a < b->loop->n_access; a++)
		if (k->total[a].node != DFG_NONE)
			DFG_TRY(dfg_node_add_control(b->builder->graph, join.node, k->set[a].node));
	k->join = join.node;
	return NULL;
}

struct dfg_err *dfg_blocking_join(struct dfg_blocking *k)
{
	uint32_t *exit = dfg_arena_zeros(k->batch.arena, k->batch.n_old + 1u, sizeof *exit);
	if (!exit)
		return dfg_no_memory("the rows of the workers");
	if (!k->divides)
		return NULL;
	DFG_TRY(join_rows(k, exit));
	return join_yields(k, exit);
}
