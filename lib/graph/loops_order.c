#include "lib/graph/loops.h"

/*
 * The items that are sorted: the nodes and, numbered after them, the loops. Within each loop, and the root, its own
 * nodes and its inner loops are sorted, each of these as one item. An edge orders the two items of one loop that
 * contain its ends.
 */
struct nest {
	const struct dfg_graph *graph;
	const struct dfg_loops *loops;
	uint32_t *home;    /* by node */
	uint32_t *pending; /* by item: edges from items that are not sorted yet */
	uint32_t *first;   /* by item, and one more: the index of its first follower */
	uint32_t *follower;
	uint32_t *next;        /* by item: the next item in the queue of its loop */
	uint32_t *head, *tail; /* by loop: the ends of its queue */
	uint32_t items;
};

struct pair {
	uint32_t from, to;
};

/* The two items that an edge orders; equal if it orders none. */
static struct pair items_of(const struct nest *nest, uint32_t from, uint32_t to)
{
	const struct dfg_loop *loop = nest->loops->loop;
	uint32_t a = nest->home[from], b = nest->home[to], count = nest->graph->count;
	struct pair pair = {from, to};
	while (a != b) {
		if (loop[a].depth >= loop[b].depth) {
			pair.from = count + a;
			a = loop[a].parent;
		} else {
			pair.to = count + b;
			b = loop[b].parent;
		}
	}
	return pair;
}

static bool orders(const struct nest *nest, const struct dfg_node *node, uint32_t e, uint32_t n, struct pair *out_pair)
{
	if (dfg_edge_closes(nest->graph, node, node->in[e]))
		return false;
	*out_pair = items_of(nest, node->in[e].node, n);
	return out_pair->from != out_pair->to;
}

static struct dfg_err *connect(struct nest *nest, struct dfg_arena *scratch)
{
	const struct dfg_graph *graph = nest->graph;
	struct pair pair;
	for (uint32_t n = 0; n < graph->count; n++)
		for (uint32_t e = 0; e < graph->node[n].n_in + graph->node[n].n_control; e++)
			if (orders(nest, &graph->node[n], e, n, &pair))
				nest->first[pair.from + 2]++;
	for (uint32_t i = 0; i < nest->items; i++)
		nest->first[i + 2] += nest->first[i + 1];
	nest->follower = dfg_arena_zeros(scratch, (size_t)nest->first[nest->items + 1] + 1, sizeof *nest->follower);
	if (!nest->follower)
		return DFG_ERR(DFG_MEMORY, "no memory to sort %u nodes", graph->count);
	for (uint32_t n = 0; n < graph->count; n++)
		for (uint32_t e = 0; e < graph->node[n].n_in + graph->node[n].n_control; e++)
			if (orders(nest, &graph->node[n], e, n, &pair)) {
				nest->follower[nest->first[pair.from + 1]++] = pair.to;
				nest->pending[pair.to]++;
			}
	return NULL;
}

static void queue(struct nest *nest, uint32_t item)
{
	uint32_t count = nest->graph->count;
	uint32_t loop = item < count ? nest->home[item] : nest->loops->loop[item - count].parent;
	nest->next[item] = DFG_NONE;
	if (nest->head[loop] == DFG_NONE)
		nest->head[loop] = item;
	else
		nest->next[nest->tail[loop]] = item;
	nest->tail[loop] = item;
}

static void finish(struct nest *nest, uint32_t item)
{
	for (uint32_t f = nest->first[item]; f < nest->first[item + 1]; f++)
		if (!--nest->pending[nest->follower[f]])
			queue(nest, nest->follower[f]);
}

/* Takes items from the queues. A loop that is taken is entered, and finished when its own queue is empty. */
static uint32_t walk(struct nest *nest, uint32_t *order)
{
	uint32_t loop = 0, done = 0, count = nest->graph->count;
	for (;;) {
		uint32_t item = nest->head[loop];
		if (item == DFG_NONE && !loop)
			return done;
		if (item == DFG_NONE) {
			item = count + loop;
			loop = nest->loops->loop[loop].parent;
			finish(nest, item);
			continue;
		}
		nest->head[loop] = nest->next[item];
		if (item >= count) {
			loop = item - count;
			continue;
		}
		order[done++] = item;
		finish(nest, item);
	}
}

struct dfg_err *dfg_loops_order(
	const struct dfg_graph *graph, const struct dfg_loops *loops, struct dfg_arena *scratch, uint32_t *out_order)
{
	struct nest nest = {.graph = graph, .loops = loops, .items = graph->count + loops->count};
	size_t items = nest.items;
	nest.home = dfg_arena_zeros(scratch, (size_t)graph->count + 1, sizeof *nest.home);
	nest.pending = dfg_arena_zeros(scratch, items, sizeof *nest.pending);
	nest.first = dfg_arena_zeros(scratch, items + 2, sizeof *nest.first);
	nest.next = dfg_arena_zeros(scratch, items, sizeof *nest.next);
	nest.head = dfg_arena_zeros(scratch, loops->count, sizeof *nest.head);
	nest.tail = dfg_arena_zeros(scratch, loops->count, sizeof *nest.tail);
	if (!nest.home || !nest.pending || !nest.first || !nest.next || !nest.head || !nest.tail)
		return DFG_ERR(DFG_MEMORY, "no memory to sort %u nodes", graph->count);
	for (uint32_t n = 0; n < graph->count; n++)
		nest.home[n] = dfg_loop_home(graph, loops, n);
	for (uint32_t l = 0; l < loops->count; l++)
		nest.head[l] = DFG_NONE;
	DFG_TRY(connect(&nest, scratch));
	for (uint32_t i = 0; i < nest.items; i++)
		if (!nest.pending[i] && i != graph->count)
			queue(&nest, i);
	if (walk(&nest, out_order) < graph->count)
		return DFG_ERR(DFG_DATA, "a loop depends on its own result, or the graph has a cycle; 'dfg check' shows it");
	return NULL;
}
