/*
 * Finds the nodes that a step requires, in topological order. The step's feeds cut the graph. Edges from a
 * NextIteration to a Merge are ignored; any other cycle is an error. O(nodes + edges), not recursive.
 */
#include "lib/exec/plan/plan.h"

#include "lib/graph/loops.h"

uint32_t dfg_fed(const struct dfg_step *step, struct dfg_edge edge)
{
	for (uint32_t i = 0; i < step->n_feed; i++)
		if (dfg_edge_same(step->feed[i], edge))
			return i;
	return DFG_NONE;
}

struct dfg_edge dfg_source(const struct dfg_graph *graph, const struct dfg_step *step, struct dfg_edge edge)
{
	while (edge.port >= 0 && (uint32_t)edge.port < graph->node[edge.node].n_in &&
		   dfg_node_names_outputs(&graph->node[edge.node]) && dfg_fed(step, edge) == DFG_NONE)
		edge = graph->node[edge.node].in[edge.port];
	return edge;
}

enum { UNSEEN, OPEN, DONE };

/* A depth-first search: path is its stack of nodes, and input the next input of each. */
struct walk {
	struct selection *selection;
	uint8_t *state; /* UNSEEN to DONE, by node */
	bool *fed;      /* whether some output is fed, by node */
	bool *put_off;  /* whether it was ever in `later`, by node */
	uint32_t *path, *input, *later;
	uint32_t depth, n_later;
};

static bool is_cut(const struct walk *walk, struct dfg_edge edge)
{
	if (!walk->fed[edge.node])
		return false;
	return edge.port == DFG_CONTROL || dfg_fed(walk->selection->step, edge) != DFG_NONE;
}

static void enter(struct walk *walk, uint32_t node)
{
	walk->state[node] = OPEN;
	walk->path[walk->depth] = node;
	walk->input[walk->depth++] = 0;
}

static void put_off(struct walk *walk, uint32_t node)
{
	if (!walk->put_off[node])
		walk->later[walk->n_later++] = node;
	walk->put_off[node] = true;
}

/*
 * Visits the next input of the node on top of the stack, or finishes the node. The source of a back edge is visited
 * later.
 */
static struct dfg_err *advance(struct walk *walk)
{
	struct selection *selection = walk->selection;
	uint32_t number = walk->path[walk->depth - 1];
	const struct dfg_node *node = &selection->graph->node[number];
	while (walk->input[walk->depth - 1] < node->n_in + node->n_control) {
		struct dfg_edge edge = dfg_source(selection->graph, selection->step, node->in[walk->input[walk->depth - 1]++]);
		if (is_cut(walk, edge) || walk->state[edge.node] == DONE)
			continue;
		if (dfg_edge_closes(selection->graph, node, edge)) {
			put_off(walk, edge.node);
			continue;
		}
		if (walk->state[edge.node] == OPEN)
			return DFG_ERR(DFG_DATA, "node '%s' depends on itself", node->name);
		enter(walk, edge.node);
		return NULL;
	}
	walk->state[number] = DONE;
	walk->depth--;
	selection->number[number] = selection->count;
	selection->node[selection->count++] = number;
	return NULL;
}

static struct dfg_err *walk_from(struct walk *walk, struct dfg_edge start)
{
	start = dfg_source(walk->selection->graph, walk->selection->step, start);
	if (!is_cut(walk, start))
		put_off(walk, start.node);
	while (walk->n_later) {
		uint32_t node = walk->later[--walk->n_later];
		if (walk->state[node] != UNSEEN)
			continue;
		enter(walk, node);
		while (walk->depth)
			DFG_TRY(advance(walk));
	}
	return NULL;
}

static struct dfg_err *allocate_arrays(struct walk *walk)
{
	struct selection *selection = walk->selection;
	struct dfg_arena *scratch = selection->scratch;
	uint32_t count = selection->graph->count;
	walk->state = dfg_arena_zeros(scratch, count, 1);
	walk->fed = dfg_arena_zeros(scratch, count, sizeof *walk->fed);
	walk->put_off = dfg_arena_zeros(scratch, count, sizeof *walk->put_off);
	walk->path = dfg_arena_zeros(scratch, count, sizeof *walk->path);
	walk->input = dfg_arena_zeros(scratch, count, sizeof *walk->input);
	walk->later = dfg_arena_zeros(scratch, count, sizeof *walk->later);
	selection->node = dfg_arena_zeros(scratch, count, sizeof *selection->node);
	selection->number = dfg_arena_zeros(scratch, count, sizeof *selection->number);
	if (!walk->state || !walk->fed || !walk->put_off || !walk->path || !walk->input || !walk->later ||
		!selection->node || !selection->number)
		return dfg_no_memory("the plan of the step");
	for (uint32_t i = 0; i < count; i++)
		selection->number[i] = DFG_NONE;
	return NULL;
}

/*
 * The Enter of the frame that a node is in, found by following any input that carries a token; DFG_NONE: the root. An
 * Exit on the way enters an inner frame, which its Enter leaves.
 */
static uint32_t first_enter(const struct dfg_graph *graph, uint32_t n)
{
	uint32_t inside = 0;
	for (uint32_t steps = 0; steps <= graph->count; steps++) {
		const struct dfg_node *node = &graph->node[n];
		if (dfg_node_role(node) == DFG_ENTER && !inside--)
			return n;
		inside += dfg_node_role(node) == DFG_EXIT;
		uint32_t e = 0, inputs = node->n_in + node->n_control;
		while (e < inputs && (!dfg_edge_brings(node, e) || dfg_edge_closes(graph, node, node->in[e])))
			e++;
		if (e == inputs)
			return DFG_NONE;
		n = node->in[e].node;
	}
	return DFG_NONE;
}

/* A node in a loop has a value in each iteration, so it cannot be fed. */
static struct dfg_err *check_feed(const struct dfg_graph *graph, struct dfg_edge feed)
{
	uint32_t enter = first_enter(graph, feed.node);
	if (enter == DFG_NONE)
		return NULL;
	const struct dfg_attr *name = dfg_node_attr(&graph->node[enter], "frame_name");
	bool named = name && name->kind == DFG_ATTR_STRING;
	return DFG_ERR(DFG_DATA, "feed '%.200s:%d' is inside the loop '%.*s': only values that enter it can be fed",
		graph->node[feed.node].name, feed.port, named ? (int)name->value.s.length : 0, named ? name->value.s.s : "");
}

struct dfg_err *dfg_select(struct selection *selection)
{
	const struct dfg_step *step = selection->step;
	struct walk walk = {.selection = selection};
	for (uint32_t i = 0; i < step->n_feed; i++)
		DFG_TRY(check_feed(selection->graph, step->feed[i]));
	DFG_TRY(allocate_arrays(&walk));
	for (uint32_t i = 0; i < step->n_feed; i++)
		walk.fed[step->feed[i].node] = true;
	for (uint32_t i = 0; i < step->n_fetch; i++)
		DFG_TRY(walk_from(&walk, step->fetch[i]));
	for (uint32_t i = 0; i < step->n_target; i++)
		DFG_TRY(walk_from(&walk, (struct dfg_edge){step->target[i], DFG_CONTROL}));
	return NULL;
}
