#include "lib/pass/partition/partition_private.h"

#include "lib/base/pool.h"

#include <string.h>

enum { NODES_FOR_MORE_THREADS = 100000 };

/*
 * Nodes are put into their parts in the file's order. An added node precedes its first reader; a _Send follows its
 * source; added nodes without readers and those that close loops come last.
 *
 * No edge connects two parts any more, so the parts are built independently, in parallel on all processors.
 */
struct part_builder {
	const struct cut *c;
	struct dfg_graph *part;
	uint32_t *node; /* the nodes of the part in order, then the added ones */
	uint32_t count;
	uint32_t *number; /* by node of the common numbering: its number in its part, or DFG_NONE; shared by all parts */
	uint32_t *seen;   /* by node: 1 + the last node that has it as a control input; shared by all parts */
	struct step {
		uint32_t node, input;
	} * stack; /* added nodes whose inputs are being put */
	size_t stack_capacity;
	struct dfg_err *err;
};

/* Appends a node to the part; space for it is allocated, and its name is set later. */
static void put_node(struct part_builder *l, uint32_t n, const struct dfg_node *node)
{
	l->number[n] = l->part->count;
	l->part->node[l->part->count++] = *node;
}

static bool is_waiting(const struct part_builder *l, uint32_t n)
{
	return n >= l->c->graph->count && l->number[n] == DFG_NONE;
}

static bool is_next_iteration(const struct part_builder *l, uint32_t n)
{
	return dfg_node_role(cut_node(l->c, n)) == DFG_NEXT_ITERATION;
}

/* The next input that must be put before the node, or DFG_NONE. */
static uint32_t next_input(const struct part_builder *l, struct step *step)
{
	const struct dfg_node *node = cut_node(l->c, step->node);
	while (step->input < node->n_in + node->n_control) {
		uint32_t from = node->in[step->input++].node;
		if (is_waiting(l, from) && !(dfg_node_role(node) == DFG_MERGE && is_next_iteration(l, from)))
			return from;
	}
	return DFG_NONE;
}

static struct dfg_err *put_added(struct part_builder *l, uint32_t n)
{
	size_t depth = 0;
	if (!is_waiting(l, n))
		return NULL;
	for (uint32_t from = n;; from = next_input(l, &l->stack[depth - 1])) {
		if (from == DFG_NONE) {
			uint32_t done = l->stack[--depth].node;
			put_node(l, done, cut_node(l->c, done));
			if (!depth)
				return NULL;
			continue;
		}
		if (!dfg_reserve(&l->stack, &l->stack_capacity, depth + 1, sizeof *l->stack))
			return dfg_no_memory("the parts of the graph");
		l->stack[depth++] = (struct step){from, 0};
	}
}

/* Routes the inputs; control inputs that became equal are merged. */
static struct dfg_err *take_inputs(struct part_builder *l, uint32_t n, struct dfg_node *node)
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

static struct dfg_err *put_sends(struct part_builder *l, uint32_t n)
{
	for (uint32_t w = l->c->first[n]; w; w = l->c->route[w - 1].next)
		if (l->c->route[w - 1].send != DFG_NONE)
			DFG_TRY(put_added(l, l->c->route[w - 1].send));
	return NULL;
}

static struct dfg_err *put_all(struct part_builder *l)
{
	const struct cut *c = l->c;
	for (uint32_t i = 0; i < l->count; i++) {
		uint32_t n = l->node[i];
		if (n >= c->graph->count) {
			DFG_TRY(put_added(l, n));
			continue;
		}
		struct dfg_node node = c->graph->node[n];
		node.device = c->options->device[c->device[n]];
		DFG_TRY(take_inputs(l, n, &node));
		put_node(l, n, &node);
		DFG_TRY(put_sends(l, n));
	}
	return NULL;
}

/* Nodes are processed in batches: while the slot of one name is fetched, the next is hashed. */
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

/* Renumbers the edges to the part's own numbers and drops the library if no node of the part can call it. */
static void finish(const struct part_builder *l)
{
	bool has_calls = false;
	for (uint32_t n = 0; n < l->part->count; n++) {
		struct dfg_node *node = &l->part->node[n];
		has_calls |= calls(node);
		for (uint32_t e = 0; e < node->n_in + node->n_control; e++)
			node->in[e].node = l->number[node->in[e].node];
	}
	if (!has_calls) {
		l->part->library = NULL;
		l->part->n_library = 0;
	}
}

static void build_part(void *builders, int64_t i)
{
	struct part_builder *l = (struct part_builder *)builders + i;
	l->err = put_all(l);
	if (!l->err) {
		finish(l);
		l->err = name_nodes(l->part);
	}
	dfg_free(l->stack);
}

static struct dfg_err *build_parts(struct part_builder *l, uint32_t parts, size_t nodes)
{
	struct dfg_pool *pool;
	struct dfg_err *err = NULL;
	DFG_TRY(dfg_pool_new(nodes < NODES_FOR_MORE_THREADS ? 1 : 0, &pool));
	dfg_pool_parallel(pool, parts, build_part, l);
	dfg_pool_free(pool);
	for (uint32_t d = 0; d < parts; d++)
		err = dfg_err_join(err, l[d].err);
	return err;
}

/* Distributes the nodes over the parts and allocates each part at once. */
static struct dfg_err *share_out(struct cut *c, struct part_builder *l, uint32_t parts, uint32_t nodes)
{
	uint32_t *node = dfg_arena_zeros(&c->scratch, (size_t)nodes + 1, sizeof *node);
	if (!node)
		return dfg_no_memory("the parts of the graph");
	for (uint32_t n = 0; n < nodes; n++)
		l[cut_device(c, n)].count++;
	for (uint32_t d = 0; d < parts; d++) {
		if (!dfg_reserve(&l[d].part->node, &l[d].part->capacity, l[d].count, sizeof *l[d].part->node) ||
			!dfg_map_reserve(&l[d].part->names, l[d].count))
			return dfg_no_memory("the parts of the graph");
		l[d].node = node;
		node += l[d].count;
		l[d].count = 0;
	}
	for (uint32_t n = 0; n < nodes; n++) {
		struct part_builder *its = &l[cut_device(c, n)];
		its->node[its->count++] = n;
	}
	return NULL;
}

/* An empty part with the versions and library of the original. */
static struct dfg_graph empty_part(const struct cut *c)
{
	const struct dfg_graph *graph = c->graph;
	return (struct dfg_graph){
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
}

struct dfg_err *dfg_cut_parts(struct cut *c, struct dfg_parts *out_parts)
{
	uint32_t parts = c->options->devices, nodes = c->graph->count + (uint32_t)c->n_added;
	uint32_t *number = dfg_arena_zeros(&c->scratch, (size_t)nodes + 1, sizeof *number);
	uint32_t *seen = dfg_arena_zeros(&c->scratch, (size_t)nodes + 1, sizeof *seen);
	struct part_builder *l = dfg_arena_zeros(&c->scratch, parts, sizeof *l);
	struct dfg_graph *part = dfg_arena_zeros(c->arena, parts, sizeof *part);
	if (!number || !seen || !l || !part)
		return dfg_no_memory("the parts of the graph");
	memset(number, 0xff, ((size_t)nodes + 1) * sizeof *number); /* all bytes 0xff: DFG_NONE */
	for (uint32_t d = 0; d < parts; d++) {
		part[d] = empty_part(c);
		l[d] = (struct part_builder){.c = c, .part = &part[d], .number = number, .seen = seen};
	}
	*out_parts = (struct dfg_parts){part, parts, c->transfer, (uint32_t)c->transfers};
	c->transfer = NULL;
	DFG_TRY(share_out(c, l, parts, nodes));
	return build_parts(l, parts, nodes);
}
