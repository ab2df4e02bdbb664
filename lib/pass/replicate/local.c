#include "lib/pass/replicate/local.h"

#include "lib/base/text.h"

/* Readers of each node, by data and control edges: readers[first[n]..first[n + 1]). */
struct walk {
	struct dfg_local *local;
	struct dfg_loops loops;
	uint32_t *first, *reader;
	uint32_t *work, n_work;
	bool *waits; /* by node: it is in `work` */
};

static uint32_t inputs(const struct dfg_node *node)
{
	return node->n_in + node->n_control;
}

static struct dfg_err *find_readers(struct walk *walk, struct dfg_arena *arena)
{
	const struct dfg_graph *graph = walk->local->graph;
	size_t edges = 0;
	for (uint32_t n = 0; n < graph->count; n++)
		edges += inputs(&graph->node[n]);
	walk->first = dfg_arena_zeros(arena, (size_t)graph->count + 2, sizeof *walk->first);
	walk->reader = dfg_arena_zeros(arena, edges, sizeof *walk->reader);
	walk->work = dfg_arena_zeros(arena, graph->count, sizeof *walk->work);
	walk->waits = dfg_arena_zeros(arena, graph->count, sizeof *walk->waits);
	if (!walk->first || !walk->reader || !walk->work || !walk->waits)
		return dfg_no_memory("the readers of nodes");
	for (uint32_t n = 0; n < graph->count; n++)
		for (uint32_t e = 0; e < inputs(&graph->node[n]); e++)
			walk->first[graph->node[n].in[e].node + 2]++;
	for (uint32_t n = 0; n < graph->count; n++)
		walk->first[n + 2] += walk->first[n + 1];
	for (uint32_t n = 0; n < graph->count; n++)
		for (uint32_t e = 0; e < inputs(&graph->node[n]); e++)
			walk->reader[walk->first[graph->node[n].in[e].node + 1]++] = n;
	return NULL;
}

static void push_readers(struct walk *walk, uint32_t n)
{
	for (uint32_t r = walk->first[n]; r < walk->first[n + 1]; r++) {
		uint32_t reader = walk->reader[r];
		if (!walk->waits[reader])
			walk->work[walk->n_work++] = reader;
		walk->waits[reader] = true;
	}
}

bool dfg_local_is(const struct dfg_local *local, struct dfg_edge edge)
{
	return edge.port >= 0 && (uint32_t)edge.port < dfg_facts_outputs(local->facts, edge.node) &&
		   local->tensor[local->facts->first[edge.node] + (uint32_t)edge.port];
}

static bool is_known(const struct dfg_local *local, struct dfg_edge edge)
{
	const struct dfg_inferred *fact = dfg_facts_of(local->facts, edge);
	return dfg_known_whole(fact->known) || dfg_known_whole(fact->matrix);
}

static bool set_local(struct dfg_local *local, struct dfg_edge edge, uint32_t from)
{
	bool *at = &local->tensor[local->facts->first[edge.node] + (uint32_t)edge.port];
	if (*at || is_known(local, edge))
		return false;
	*at = true;
	if (local->from[edge.node] == edge.node)
		local->from[edge.node] = from;
	return true;
}

/* A loop that is entered by a local predicate may not run at all. */
static bool enters_dead(const struct walk *walk, uint32_t exit)
{
	uint32_t n = walk->local->graph->node[exit].n_in ? walk->local->graph->node[exit].in[0].node : exit;
	const struct dfg_loop *loop = &walk->loops.loop[walk->loops.of[n]];
	for (uint32_t i = 0; i < loop->n_variable; i++)
		if (loop->variable[i].enter != DFG_NONE && walk->local->dead[loop->variable[i].enter])
			return true;
	return false;
}

/* Which of the node's inputs makes it dead by a local predicate; DFG_NONE: none. */
static uint32_t dead_by(const struct walk *walk, uint32_t n)
{
	const struct dfg_local *local = walk->local;
	const struct dfg_node *node = &local->graph->node[n];
	enum dfg_role role = dfg_node_role(node);
	if (role == DFG_MERGE || (role == DFG_EXIT && !enters_dead(walk, n)))
		return DFG_NONE;
	if (role == DFG_SWITCH && node->n_in > 1 && dfg_local_is(local, node->in[1]))
		return node->in[1].node;
	for (uint32_t e = 0; e < inputs(node); e++)
		if (local->dead[node->in[e].node])
			return node->in[e].node;
	return DFG_NONE;
}

/* Which input makes output `port` of the node local. A node with the role of an identity hands each input on. */
static uint32_t local_by(const struct dfg_local *local, uint32_t n, uint32_t port)
{
	const struct dfg_node *node = &local->graph->node[n];
	enum dfg_role role = dfg_node_role(node);
	for (uint32_t e = 0; e < node->n_in; e++) {
		bool dead_arm = role == DFG_MERGE && local->dead[node->in[e].node];
		if (role == DFG_IDENTITY && e != port)
			continue;
		if (dfg_local_is(local, node->in[e]) || dead_arm)
			return node->in[e].node;
	}
	return DFG_NONE;
}

static void visit(struct walk *walk, uint32_t n)
{
	struct dfg_local *local = walk->local;
	const struct dfg_node *node = &local->graph->node[n];
	bool changed = false;
	if (node->op && node->op->flags & (DFG_CONTRIBUTES | DFG_COLLECTS))
		return;
	uint32_t dead = local->dead[n] ? DFG_NONE : dead_by(walk, n);
	if (dead != DFG_NONE) {
		local->dead[n] = changed = true;
		local->from[n] = local->from[n] == n ? dead : local->from[n];
	}
	for (uint32_t port = 0; port < dfg_facts_outputs(local->facts, n); port++) {
		uint32_t by = local_by(local, n, port);
		if (by != DFG_NONE)
			changed |= set_local(local, (struct dfg_edge){n, (int32_t)port}, by);
	}
	if (changed)
		push_readers(walk, n);
}

static struct dfg_err *allocate(struct dfg_local *local, struct dfg_arena *arena)
{
	uint32_t nodes = local->graph->count;
	local->tensor = dfg_arena_zeros(arena, local->facts->count, sizeof *local->tensor);
	local->dead = dfg_arena_zeros(arena, nodes, sizeof *local->dead);
	local->from = dfg_arena_zeros(arena, nodes, sizeof *local->from);
	if (!local->tensor || !local->dead || !local->from)
		return dfg_no_memory("the local tensors of a graph");
	for (uint32_t n = 0; n < nodes; n++)
		local->from[n] = n;
	return NULL;
}

struct dfg_err *dfg_local_find(const struct dfg_graph *graph, const struct dfg_facts *facts,
	const struct dfg_edge *shard, uint32_t n_shard, struct dfg_arena *arena, struct dfg_local *out_local)
{
	*out_local = (struct dfg_local){.graph = graph, .facts = facts};
	struct walk walk = {.local = out_local};
	DFG_TRY(allocate(out_local, arena));
	DFG_TRY(find_readers(&walk, arena));
	DFG_TRY(dfg_loops_find(graph, NULL, arena, &walk.loops));
	out_local->batch = DFG_UNKNOWN;
	for (uint32_t i = 0; i < n_shard; i++) {
		if (shard[i].port < 0 || (uint32_t)shard[i].port >= dfg_facts_outputs(facts, shard[i].node))
			return DFG_ERR(
				DFG_DATA, "node '%.200s' has no output %d to shard", graph->node[shard[i].node].name, shard[i].port);
		const struct dfg_shape *shape = &dfg_facts_of(facts, shard[i])->shape;
		out_local->batch = shape->rank > 0 && out_local->batch == DFG_UNKNOWN ? shape->dim[0] : out_local->batch;
	}
	for (uint32_t i = 0; i < n_shard; i++)
		if (set_local(out_local, shard[i], DFG_NONE))
			push_readers(&walk, shard[i].node);
	while (walk.n_work) {
		uint32_t n = walk.work[--walk.n_work];
		walk.waits[n] = false;
		visit(&walk, n);
	}
	return NULL;
}

void dfg_local_path(const struct dfg_local *local, uint32_t node, struct dfg_text *text)
{
	enum { MOST = 6 };
	uint32_t length = 1, at = node;
	for (; local->from[at] != DFG_NONE && local->from[at] != at && length <= local->graph->count; length++)
		at = local->from[at];
	for (uint32_t i = 0; i < length; i++) {
		if (length > MOST && i == MOST / 2)
			dfg_text_add(text, " > ...");
		if (length > MOST && i >= MOST / 2 && i < length - MOST / 2)
			continue;
		at = node;
		for (uint32_t back = i + 1; back < length; back++)
			at = local->from[at];
		dfg_text_add(text, "%s'%.200s'", i ? " > " : "", local->graph->node[at].name);
	}
}
