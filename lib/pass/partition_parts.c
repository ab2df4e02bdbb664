#include "lib/pass/cutting.h"

#include "lib/base/pool.h"

#include <string.h>

enum { NODES_FOR_MORE_THREADS = 100000 };

/*
 * Nodes go into their parts in the file's order. What was added goes in front of what reads it; a _Send behind what it
 * sends; what nobody reads, and what goes back in a loop, comes last.
 */
struct laying {
	struct cut *c;
	struct dfg_parts *parts;
	uint32_t *number; /* by node, of the common numbering: that in its part; DFG_NONE: not there yet */
	uint32_t *seen;   /* by node: what had it last as a control input, + 1 */
	struct step {
		uint32_t node, input;
	} * stack; /* added nodes that wait for others */
	size_t stack_room;
	struct dfg_err **err; /* by part */
};

/* In room that is there; its name comes later. */
static void put(struct laying *l, uint32_t n, const struct dfg_node *node)
{
	struct dfg_graph *part = &l->parts->part[cut_device(l->c, n)];
	l->number[n] = part->count;
	part->node[part->count++] = *node;
}

static bool is_waiting(const struct laying *l, uint32_t n)
{
	return n >= l->c->graph->count && l->number[n] == DFG_NONE;
}

/* The next of its inputs that has to be put before it, or DFG_NONE. */
static uint32_t next_input(const struct laying *l, struct step *step)
{
	const struct dfg_node *node = cut_node(l->c, step->node);
	while (step->input < node->n_in + node->n_control) {
		uint32_t from = node->in[step->input++].node;
		bool closes = dfg_node_role(node) == DFG_MERGE && dfg_node_role(cut_node(l->c, from)) == DFG_NEXT_ITERATION;
		if (is_waiting(l, from) && !closes)
			return from;
	}
	return DFG_NONE;
}

static struct dfg_err *put_added(struct laying *l, uint32_t n)
{
	size_t depth = 0;
	if (!is_waiting(l, n))
		return NULL;
	for (uint32_t from = n;; from = next_input(l, &l->stack[depth - 1])) {
		if (from == DFG_NONE) {
			uint32_t done = l->stack[--depth].node;
			put(l, done, cut_node(l->c, done));
			if (!depth)
				return NULL;
			continue;
		}
		if (!dfg_reserve(&l->stack, &l->stack_room, depth + 1, sizeof *l->stack))
			return DFG_ERR(DFG_MEMORY, "no memory to cut %u nodes", l->c->graph->count);
		l->stack[depth++] = (struct step){from, 0};
	}
}

/* Several control inputs may have become one. */
static struct dfg_err *take_inputs(struct laying *l, uint32_t n, struct dfg_node *node)
{
	uint32_t count = node->n_in + node->n_control, kept = node->n_in;
	node->in = l->c->in[n];
	for (uint32_t e = 0; e < count; e++) {
		struct dfg_edge to = node->in[e];
		if (to.node >= l->c->graph->count)
			DFG_TRY(put_added(l, to.node));
		if (e < node->n_in)
			continue;
		if (l->seen[to.node] != n + 1)
			node->in[kept++] = to;
		l->seen[to.node] = n + 1;
	}
	node->n_control = kept - node->n_in;
	return NULL;
}

static struct dfg_err *put_sends(struct laying *l, uint32_t n)
{
	for (uint32_t w = l->c->first[n]; w; w = l->c->way[w - 1].next)
		if (l->c->way[w - 1].send != DFG_NONE)
			DFG_TRY(put_added(l, l->c->way[w - 1].send));
	return NULL;
}

static struct dfg_err *put_all(struct laying *l)
{
	struct cut *c = l->c;
	for (uint32_t n = 0; n < c->graph->count; n++) {
		struct dfg_node node = c->graph->node[n];
		node.device = c->options->device[cut_device(c, n)];
		DFG_TRY(take_inputs(l, n, &node));
		put(l, n, &node);
		DFG_TRY(put_sends(l, n));
	}
	for (uint32_t i = 0; i < c->n_added; i++)
		DFG_TRY(put_added(l, c->graph->count + i));
	return NULL;
}

/* Some at a time: while the slot of one is fetched, the next is hashed. */
static struct dfg_err *name_nodes(struct dfg_graph *part)
{
	enum { FEW = 16 };
	uint32_t hash[FEW], length[FEW], number;
	bool is_new = true;
	for (uint32_t first = 0; first < part->count; first += FEW) {
		uint32_t count = part->count - first < FEW ? part->count - first : FEW;
		for (uint32_t i = 0; i < count; i++) {
			length[i] = (uint32_t)strlen(part->node[first + i].name);
			hash[i] = dfg_map_hash(part->node[first + i].name, length[i]);
			dfg_map_prefetch(&part->names, hash[i]);
		}
		for (uint32_t i = 0; i < count; i++) {
			const char *name = part->node[first + i].name;
			if (!dfg_map_put_hash(&part->names, name, length[i], hash[i], &number, &is_new))
				return DFG_ERR(DFG_MEMORY, "no memory for node '%.200s'", name);
			if (!is_new)
				return DFG_ERR(DFG_BUG, "node '%.200s' is in a part twice", name);
		}
	}
	return NULL;
}

static bool calls(const struct dfg_node *node)
{
	if (!node->op || node->op->role == DFG_CALL)
		return true;
	for (uint32_t i = 0; i < node->n_attr; i++)
		if (node->attr[i].kind == DFG_ATTR_FUNC)
			return true;
	return false;
}

/* Names, edges in the part's own numbers, the library where something there may call it; nothing of other parts. */
static void finish(void *laying, int64_t i)
{
	const struct laying *l = laying;
	struct dfg_graph *part = &l->parts->part[i];
	bool has_calls = false;
	for (uint32_t n = 0; n < part->count; n++) {
		struct dfg_node *node = &part->node[n];
		has_calls |= calls(node);
		for (uint32_t e = 0; e < node->n_in + node->n_control; e++)
			node->in[e].node = l->number[node->in[e].node];
	}
	if (!has_calls) {
		part->library = NULL;
		part->n_library = 0;
	}
	l->err[i] = name_nodes(part);
}

static struct dfg_err *finish_all(struct laying *l)
{
	struct dfg_pool *pool;
	struct dfg_err *err = NULL;
	size_t nodes = l->c->graph->count + l->c->n_added;
	DFG_TRY(dfg_pool_new(nodes < NODES_FOR_MORE_THREADS ? 1 : 0, &pool));
	dfg_pool_parallel(pool, l->parts->parts, finish, l);
	dfg_pool_free(pool);
	for (uint32_t d = 0; d < l->parts->parts; d++)
		err = dfg_err_join(err, l->err[d]);
	return err;
}

/* Room for all nodes of each part at once. */
static struct dfg_err *reserve(const struct laying *l)
{
	const struct cut *c = l->c;
	uint32_t *count = dfg_arena_zeros(&l->c->scratch, c->options->devices, sizeof *count);
	if (!count)
		return DFG_ERR(DFG_MEMORY, "no memory for %u parts", c->options->devices);
	for (uint32_t n = 0; n < c->graph->count + (uint32_t)c->n_added; n++)
		count[cut_device(c, n)]++;
	for (uint32_t d = 0; d < l->parts->parts; d++) {
		struct dfg_graph *part = &l->parts->part[d];
		if (!dfg_reserve(&part->node, &part->room, count[d], sizeof *part->node) ||
			!dfg_map_reserve(&part->names, count[d]))
			return DFG_ERR(DFG_MEMORY, "no memory for a part of %u nodes", count[d]);
	}
	return NULL;
}

static struct dfg_err *init(struct laying *l)
{
	const struct dfg_graph *graph = l->c->graph;
	struct cut *c = l->c;
	size_t nodes = (size_t)graph->count + c->n_added;
	l->number = dfg_arena_zeros(&c->scratch, nodes + 1, sizeof *l->number);
	l->seen = dfg_arena_zeros(&c->scratch, nodes + 1, sizeof *l->seen);
	l->parts->part = dfg_arena_zeros(c->arena, c->options->devices, sizeof *l->parts->part);
	l->err = dfg_arena_zeros(&c->scratch, c->options->devices, sizeof(void *));
	if (!l->number || !l->seen || !l->parts->part || !l->err)
		return DFG_ERR(DFG_MEMORY, "no memory for %u parts of %zu nodes", c->options->devices, nodes);
	memset(l->number, 0xff, (nodes + 1) * sizeof *l->number); /* DFG_NONE */
	l->parts->transfer = c->transfer;
	l->parts->transfers = (uint32_t)c->transfers;
	c->transfer = NULL;
	l->parts->parts = c->options->devices;
	for (uint32_t d = 0; d < l->parts->parts; d++)
		l->parts->part[d] = (struct dfg_graph){
			.arena = c->arena,
			.producer = graph->producer,
			.min_consumer = graph->min_consumer,
			.bad_consumer = graph->bad_consumer,
			.n_bad_consumer = graph->n_bad_consumer,
			.library = graph->library,
			.n_library = graph->n_library,
			.codec = graph->codec,
			.old_version = graph->old_version,
			.unversioned = graph->unversioned,
			.source = graph->source,
		};
	return reserve(l);
}

struct dfg_err *dfg_cut_parts(struct cut *c, struct dfg_parts *out_parts)
{
	struct laying l = {.c = c, .parts = out_parts};
	struct dfg_err *err = init(&l);
	if (!err)
		err = put_all(&l);
	if (!err)
		err = finish_all(&l);
	dfg_free(l.stack);
	return err;
}
