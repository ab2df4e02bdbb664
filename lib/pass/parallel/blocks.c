#include "lib/pass/parallel/blocks.h"

#include "lib/graph/cycle.h"
#include "lib/graph/loop_shapes.h"
#include "lib/graph/loop_step.h"
#include "lib/pass/parallel/blocks_private.h"
#include "lib/pass/rewrite/renumber.h"

#include <string.h>

static struct dfg_graph *graph_of(const struct dfg_blocking *k)
{
	return k->batch.builder->graph;
}

bool dfg_blocking_is_counter(const struct dfg_blocking *k, const struct dfg_loop_variable *v)
{
	return v->merge != DFG_NONE && v->enter != DFG_NONE && v->next != DFG_NONE &&
		   dfg_loop_step(graph_of(k), &k->batch.builder->facts, v) == 1;
}

/* Whether a node other than the loop's own Switch and condition reads the tensor. */
static bool is_read_elsewhere(const struct dfg_blocking *k, uint32_t merge, uint32_t exit)
{
	const struct dfg_graph *graph = graph_of(k);
	for (uint32_t n = 0; n < k->batch.n_old; n++)
		for (uint32_t e = 0; e < graph->node[n].n_in; e++) {
			uint32_t from = graph->node[n].in[e].node;
			bool compares = graph->node[n].op && graph->node[n].op->means >= DFG_MEANS_EQUAL &&
							graph->node[n].op->means <= DFG_MEANS_AT_LEAST;
			if ((from == exit && exit != DFG_NONE) ||
				(from == merge && dfg_node_role(&graph->node[n]) != DFG_SWITCH && !compares))
				return true;
		}
	return false;
}

/* Why the loop stays as it is; NULL: it can be cut. */
static const char *obstacle(const struct dfg_blocking *k)
{
	const struct dfg_loop_dependences *loop = k->batch.loop;
	if (k->frame->parent)
		return "it is in another loop";
	if (loop->family == DFG_FAMILY_SERIAL)
		return loop->reason;
	for (uint32_t i = 0; i < k->frame->n_variable; i++) {
		const struct dfg_loop_variable *v = &k->frame->variable[i];
		if (dfg_blocking_is_counter(k, v) && is_read_elsewhere(k, v->merge, v->exit))
			return "its counter is read after the loop or by the loop's condition";
	}
	return NULL;
}

static struct dfg_err *find_iterations(struct dfg_blocking *k)
{
	struct dfg_coordinates *c = &k->coordinates;
	uint32_t enter = k->frame->variable[k->batch.loops->variable[k->batch.loop->counter]].enter;
	const struct dfg_edge first = graph_of(k)->node[enter].in[0];
	struct dfg_edge range[3];
	DFG_TRY(dfg_blocking_count(k, &c->n));
	DFG_TRY(dfg_coordinates_i64(c, 0, &range[0]));
	range[1] = c->n;
	DFG_TRY(dfg_coordinates_i64(c, 1, &range[2]));
	DFG_TRY(dfg_coordinates_node(c, "Range", range, 3, NULL, 0, &c->number));
	if (!dfg_scalar_is(&c->builder->facts, first, 0))
		DFG_TRY(dfg_coordinates_cast(c, first, &c->start));
	return NULL;
}

/* The values of a vector of the schedule in the present slice; a scalar if slices have one iteration. */
static struct dfg_err *take_slice(struct dfg_blocking *k, struct dfg_edge values, struct dfg_edge start,
	struct dfg_edge slice, enum dfg_dtype dtype, struct dfg_edge *out)
{
	const struct dfg_batch *b = &k->batch;
	const struct dfg_attr type = DFG_ATTR_T("T", dtype);
	struct dfg_edge in[3] = {values, start, slice}, to[2];
	DFG_TRY(dfg_batch_build(b, slice.node, "Dfg>LoopSlice", in, 3, &type, 1, out));
	if (!b->singly)
		return NULL;
	to[0] = *out;
	DFG_TRY(dfg_batch_ints(b, NULL, 0, &to[1]));
	return dfg_batch_build(b, slice.node, "Reshape", to, 2, NULL, 0, out);
}

/* The counter's value in the body is the iterations of a slice, by which the counter now counts. */
static struct dfg_err *replace_counter(
	struct dfg_blocking *k, const struct dfg_loop_variable *v, struct dfg_edge number)
{
	struct dfg_batch *b = &k->batch;
	const struct dfg_edge first = graph_of(k)->node[v->enter].in[0], body = {v->switch_node, 1};
	enum dfg_dtype dtype = dfg_batch_fact(b, first)->dtype;
	const struct dfg_attr to = DFG_ATTR_T("DstT", dtype);
	struct dfg_edge value = number, zero, in[2];
	if (dfg_batch_fact(b, number)->dtype != dtype)
		DFG_TRY(dfg_batch_build(b, v->switch_node, "Cast", &number, 1, &to, 1, &value));
	if (!dfg_scalar_is(&b->builder->facts, first, 0)) {
		in[0] = value;
		DFG_TRY(dfg_batch_enter(b, first, &in[1]));
		DFG_TRY(dfg_batch_build(b, v->switch_node, "AddV2", in, 2, NULL, 0, &value));
	}
	DFG_TRY(dfg_build_ints(b->builder, k->coordinates.scope, dtype, NULL, (int64_t[]){0}, &zero));
	graph_of(k)->node[v->enter].in[0] = zero;
	b->of[b->builder->facts.first[body.node] + 1] = (struct dfg_batched){value, true};
	return NULL;
}

static struct dfg_err *replace_counters(struct dfg_blocking *k, struct dfg_edge order, struct dfg_edge start)
{
	struct dfg_batch *b = &k->batch;
	const struct dfg_loop_variable *counter = &k->frame->variable[b->loops->variable[b->loop->counter]];
	struct dfg_edge slice = {counter->switch_node, 1}, block = {k->schedule.node, 2};
	enum dfg_dtype dtype = dfg_batch_fact(b, slice)->dtype;
	DFG_TRY(take_slice(k, order, start, slice, dtype == DFG_I64 ? DFG_I64 : DFG_I32, &b->number));
	DFG_TRY(dfg_batch_enter(b, block, &block));
	DFG_TRY(take_slice(k, block, start, slice, DFG_I32, &b->block));
	if (!b->singly)
		DFG_TRY(dfg_batch_build(b, slice.node, "Shape", &b->number, 1, NULL, 0, &b->count));
	for (uint32_t i = 0; i < k->frame->n_variable; i++)
		if (dfg_blocking_is_counter(k, &k->frame->variable[i]))
			DFG_TRY(replace_counter(k, &k->frame->variable[i], b->number));
	return dfg_blocking_move(k, slice);
}

/* The loop continues while there are slices, and is not marked any more. */
static struct dfg_err *replace_condition(struct dfg_blocking *k, struct dfg_edge start)
{
	struct dfg_batch *b = &k->batch;
	struct dfg_graph *graph = graph_of(k);
	uint32_t condition = k->frame->condition;
	struct dfg_edge in[2], size, one, less;
	enum dfg_dtype dtype = dfg_batch_fact(b, (struct dfg_edge){b->loop->counter, 0})->dtype;
	const struct dfg_attr to = DFG_ATTR_T("DstT", dtype), wide = DFG_ATTR_T("out_type", DFG_I64);
	DFG_TRY(dfg_coordinates_node(&k->coordinates, "Size", &start, 1, &wide, 1, &size));
	DFG_TRY(dfg_coordinates_i64(&k->coordinates, 1, &one));
	in[0] = size, in[1] = one;
	DFG_TRY(dfg_coordinates_node(&k->coordinates, "Sub", in, 2, NULL, 0, &in[1]));
	if (dtype != DFG_I64)
		DFG_TRY(dfg_coordinates_node(&k->coordinates, "Cast", &in[1], 1, &to, 1, &in[1]));
	DFG_TRY(dfg_batch_enter(b, in[1], &in[1]));
	in[0] = (struct dfg_edge){b->loop->counter, 0};
	DFG_TRY(dfg_batch_build(b, condition, "Less", in, 2, NULL, 0, &less));
	struct dfg_node *node = &graph->node[condition];
	struct dfg_attr *left = dfg_arena_zeros(graph->arena, node->n_attr + 1, sizeof *left);
	uint32_t count = 0;
	if (!left)
		return dfg_no_memory("the condition of a loop");
	for (uint32_t i = 0; i < node->n_attr; i++)
		if (strncmp(node->attr[i].name, "_dfg_parallel", strlen("_dfg_")) != 0)
			left[count++] = node->attr[i];
	node->attr = left;
	node->n_attr = count;
	node->in[0] = less;
	return NULL;
}

/* The counter of slices. */
static struct dfg_err *count_on(struct dfg_blocking *k, const struct dfg_loop_variable *v)
{
	struct dfg_batch *b = &k->batch;
	const struct dfg_edge body = {v->switch_node, 1};
	enum dfg_dtype dtype = dfg_batch_fact(b, body)->dtype;
	struct dfg_edge in[2] = {body}, next;
	DFG_TRY(dfg_build_ints(b->builder, k->coordinates.scope, dtype, NULL, (int64_t[]){1}, &in[1]));
	DFG_TRY(dfg_batch_enter(b, in[1], &in[1]));
	DFG_TRY(dfg_batch_build(b, v->next, "AddV2", in, 2, NULL, 0, &next));
	graph_of(k)->node[v->next].in[0] = next;
	return NULL;
}

/* A node that stays reads what its inputs have become, and waits for the nodes that replace others. */
static struct dfg_err *follow(struct dfg_blocking *k, uint32_t n)
{
	struct dfg_batch *b = &k->batch;
	struct dfg_node *node = &graph_of(k)->node[n];
	for (uint32_t e = 0; e < node->n_in; e++) {
		struct dfg_batched value = dfg_batch_of(b, node->in[e]);
		if (value.varies && !b->singly)
			return dfg_batch_refuse(b, n, "a loop, or a value that a loop carries, depends on the iteration");
		node->in[e] = value.edge;
	}
	for (uint32_t c = node->n_in; c < node->n_in + node->n_control; c++)
		if (node->in[c].node < b->n_old)
			node->in[c].node = b->instead[node->in[c].node];
	return NULL;
}

static struct dfg_err *follow_all(struct dfg_blocking *k, const bool *is_inside)
{
	for (uint32_t i = 0; i < k->frame->n_variable; i++)
		if (dfg_blocking_is_counter(k, &k->frame->variable[i]))
			DFG_TRY(count_on(k, &k->frame->variable[i]));
	for (uint32_t n = 0; n < k->batch.n_old; n++)
		if (is_inside[n] && k->batch.instead[n] == n)
			DFG_TRY(follow(k, n));
	return NULL;
}

static struct dfg_err *rewrite(struct dfg_blocking *k, const uint32_t *order)
{
	struct dfg_batch *b = &k->batch;
	bool *is_inside = dfg_arena_zeros(b->arena, b->n_old, sizeof *is_inside);
	struct dfg_edge entered, start, start_entered;
	if (!is_inside)
		return dfg_no_memory("the blocks of a loop");
	for (uint32_t n = 0; n < b->n_old; n++)
		is_inside[n] = dfg_loop_within(b->loops, dfg_loop_home(graph_of(k), b->loops, n), b->loop->loop);
	DFG_TRY(find_iterations(k));
	DFG_TRY(dfg_blocking_schedule(k));
	start = (struct dfg_edge){k->schedule.node, 1};
	DFG_TRY(dfg_batch_enter(b, k->schedule, &entered));
	DFG_TRY(dfg_batch_enter(b, start, &start_entered));
	DFG_TRY(replace_counters(k, entered, start_entered));
	DFG_TRY(dfg_blocking_partials(k));
	DFG_TRY(dfg_batch_body(b, order, is_inside));
	DFG_TRY(follow_all(k, is_inside));
	DFG_TRY(replace_condition(k, start));
	DFG_TRY(dfg_blocking_join(k));
	return dfg_blocking_totals(k);
}

static struct dfg_err *begin(struct dfg_blocking *k, uint32_t **out_order)
{
	struct dfg_batch *b = &k->batch;
	const struct dfg_graph *graph = graph_of(k);
	uint32_t *first, count;
	*out_order = dfg_arena_zeros(b->arena, graph->count, sizeof **out_order);
	struct dfg_loops *loops = dfg_arena_zeros(b->arena, 1, sizeof *loops);
	if (!*out_order || !loops)
		return dfg_no_memory("the blocks of a loop");
	DFG_TRY(dfg_pass_order(graph, b->arena, &first, &count));
	DFG_TRY(dfg_loops_find(graph, first, b->arena, loops));
	DFG_TRY(dfg_loops_order(graph, loops, b->arena, *out_order));
	DFG_TRY(dfg_loop_shapes(b->builder, loops, *out_order, b->arena));
	uint32_t tensors = b->builder->facts.first[graph->count];
	b->loops = loops;
	b->n_old = graph->count;
	k->frame = &loops->loop[b->loop->loop];
	b->of = dfg_arena_zeros(b->arena, tensors + 1u, sizeof *b->of);
	b->instead = dfg_arena_zeros(b->arena, graph->count, sizeof *b->instead);
	b->update_of = dfg_arena_zeros(b->arena, graph->count, sizeof *b->update_of);
	b->partial = dfg_arena_zeros(b->arena, b->loop->n_access + 1, sizeof *b->partial);
	k->total = dfg_arena_zeros(b->arena, b->loop->n_access + 1, sizeof *k->total);
	k->set = dfg_arena_zeros(b->arena, b->loop->n_access + 1, sizeof *k->set);
	k->made = dfg_arena_zeros(b->arena, b->loop->n_access * 4 + k->frame->n_variable + 2, sizeof *k->made);
	struct dfg_coordinates *c = &k->coordinates;
	c->of = dfg_arena_zeros(b->arena, b->loop->n_coordinate + 1, sizeof *c->of);
	c->scope = dfg_arena_print(b->arena, "%.*s/blocks", (int)b->loop->name.length, b->loop->name.s);
	if (!b->of || !b->instead || !b->update_of || !b->partial || !k->total || !k->set || !k->made || !c->of ||
		!c->scope)
		return dfg_no_memory("the blocks of a loop");
	for (uint32_t i = 0; i < tensors; i++)
		b->of[i].edge.node = DFG_NONE;
	for (uint32_t n = 0; n < graph->count; n++)
		b->instead[n] = n;
	for (uint32_t i = 0; i < b->loop->n_coordinate; i++)
		c->of[i].node = DFG_NONE;
	c->start.node = DFG_NONE;
	return NULL;
}

/* Removes the old nodes of the body that nothing reads. */
static struct dfg_err *remove_old(struct dfg_blocking *k)
{
	struct dfg_graph *graph = graph_of(k);
	struct dfg_batch *b = &k->batch;
	uint32_t *order = dfg_arena_zeros(b->arena, graph->count, sizeof *order), *number, *stack, left = 0, depth = 0;
	bool *is_live = dfg_arena_zeros(b->arena, graph->count, sizeof *is_live);
	number = dfg_arena_zeros(b->arena, graph->count, sizeof *number);
	stack = dfg_arena_zeros(b->arena, graph->count, sizeof *stack);
	if (!order || !number || !is_live || !stack)
		return dfg_no_memory("the blocks of a loop");
	for (uint32_t n = 0; n < graph->count; n++)
		if (n >= b->n_old || b->instead[n] == n)
			is_live[stack[depth++] = n] = true;
	while (depth) {
		const struct dfg_node *node = &graph->node[stack[--depth]];
		for (uint32_t e = 0; e < node->n_in + node->n_control; e++)
			if (!is_live[node->in[e].node])
				is_live[stack[depth++] = node->in[e].node] = true;
	}
	for (uint32_t n = 0; n < graph->count; n++)
		if (is_live[n])
			order[left++] = n;
	return dfg_renumber(graph, order, left, number, NULL, b->arena);
}

/* A copy whose nodes can be changed. */
static struct dfg_err *copy_graph(const struct dfg_graph *from, struct dfg_graph *out)
{
	*out = *from;
	out->node = NULL;
	out->count = 0;
	out->capacity = 0;
	out->names = (struct dfg_map){0};
	for (uint32_t n = 0; n < from->count; n++) {
		struct dfg_node node = from->node[n];
		uint32_t inputs = node.n_in + node.n_control, number;
		node.in = dfg_arena_zeros(from->arena, inputs + 1, sizeof *node.in);
		if (!node.in)
			return dfg_no_memory("the blocks of a loop");
		if (inputs)
			memcpy(node.in, from->node[n].in, inputs * sizeof *node.in);
		DFG_TRY(dfg_graph_add(out, &node, &number));
	}
	return NULL;
}

static struct dfg_err *cut_in(struct dfg_blocking *k, struct dfg_blocked_loop *out)
{
	struct dfg_liveness liveness;
	uint32_t *order;
	DFG_TRY(begin(k, &order));
	out->why = obstacle(k);
	if (out->why)
		return NULL;
	DFG_TRY(dfg_blocking_divide(k, &out->whole));
	k->batch.liveness = &liveness;
	struct dfg_err *err = dfg_liveness_find(graph_of(k), order, k->batch.loops, NULL, &liveness);
	if (!err)
		err = rewrite(k, order);
	dfg_liveness_release(&liveness);
	DFG_TRY(err);
	out->schedule = graph_of(k)->node[k->schedule.node].name;
	return remove_old(k);
}

/* Cuts one loop in a copy of the graph, which takes its place if that succeeds. */
static struct dfg_err *cut_one(struct dfg_graph *graph, const struct dfg_loop_dependences *loop,
	const struct dfg_block_options *options, bool singly, struct dfg_arena *arena, struct dfg_blocked_loop *out)
{
	struct dfg_blocking k = {.options = options, .number = out->number};
	struct dfg_builder builder = {0};
	struct dfg_graph copy;
	struct dfg_err *err = copy_graph(graph, &copy);
	if (!err)
		err = dfg_builder_init(&builder, &copy);
	k.batch = (struct dfg_batch){.builder = &builder, .loop = loop, .arena = arena, .singly = singly};
	k.coordinates = (struct dfg_coordinates){.builder = &builder, .loop = loop, .arena = arena};
	if (!err)
		err = cut_in(&k, out);
	dfg_builder_release(&builder);
	if (err || !out->schedule) {
		dfg_graph_release(&copy);
		return err;
	}
	dfg_graph_release(graph);
	*graph = copy;
	return NULL;
}

/* In slices if every node of the body has a rule, else one iteration at a time. */
static struct dfg_err *cut_loop(struct dfg_graph *graph, const struct dfg_loop_dependences *loop,
	const struct dfg_block_options *options, struct dfg_arena *arena, struct dfg_blocked_loop *out)
{
	struct dfg_err *err = cut_one(graph, loop, options, options->singly, arena, out);
	if (!err || err->code != DFG_DATA || options->singly)
		return err;
	out->why = dfg_arena_print(arena, "%s", err->text);
	dfg_err_free(err);
	if (!out->why)
		return dfg_no_memory("the blocks of a loop");
	const char *why = out->why;
	err = cut_one(graph, loop, options, true, arena, out);
	out->why = out->schedule ? why : out->why;
	if (!err || err->code != DFG_DATA)
		return err;
	out->why = dfg_arena_print(arena, "%s", err->text);
	dfg_err_free(err);
	return out->why ? NULL : dfg_no_memory("the blocks of a loop");
}

static struct dfg_err *refuse_buffers(const struct dfg_loop_dependences *loop)
{
	for (uint32_t i = 0; i < loop->n_array; i++)
		if (loop->array[i].is_buffered)
			return DFG_ERR(DFG_DATA,
				"parallel loop '%.*s' buffers variable '%s': blocks read what earlier iterations have written; run it "
				"without --blocks",
				(int)loop->name.length, loop->name.s, loop->array[i].name);
	return NULL;
}

/* The first loop that is still marked and whose name is not among those that are done. */
static const struct dfg_loop_dependences *next_loop(const struct dfg_dependences *found, const struct dfg_blocked *done)
{
	for (uint32_t i = 0; i < found->count; i++) {
		bool is_done = false;
		for (uint32_t d = 0; d < done->count; d++)
			is_done |= strlen(done->loop[d].name) == found->loop[i].name.length &&
					   !memcmp(done->loop[d].name, found->loop[i].name.s, found->loop[i].name.length);
		if (!is_done)
			return &found->loop[i];
	}
	return NULL;
}

struct dfg_err *dfg_blocks_cut(struct dfg_graph *graph, const struct dfg_block_options *options,
	struct dfg_arena *arena, struct dfg_blocked *out_blocked)
{
	const struct dfg_loop_dependences *loop;
	struct dfg_dependences found;
	DFG_TRY(dfg_dependences_find(graph, arena, &found));
	*out_blocked = (struct dfg_blocked){.loop = dfg_arena_zeros(arena, found.count + 1, sizeof *out_blocked->loop)};
	if (!out_blocked->loop)
		return dfg_no_memory("the blocks of a loop");
	while ((loop = next_loop(&found, out_blocked))) {
		struct dfg_blocked_loop *out = &out_blocked->loop[out_blocked->count];
		DFG_TRY(refuse_buffers(loop));
		out->family = loop->family;
		out->number = out_blocked->count;
		if (!(out->name = dfg_arena_copy(arena, loop->name.s, loop->name.length)))
			return dfg_no_memory("the blocks of a loop");
		out_blocked->count++;
		DFG_TRY(cut_loop(graph, loop, options, arena, out));
		DFG_TRY(dfg_dependences_find(graph, arena, &found));
	}
	return NULL;
}
