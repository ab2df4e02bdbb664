#include "lib/pass/verify/array_stack.h"

#include "lib/pass/verify/array_flow.h"

#include <string.h>

/* A walk along the flow of an array, from a read back to its writes. */
struct walk {
	const struct dfg_graph *graph;
	const struct dfg_loops *loops;
	bool *seen; /* by node */
	uint32_t *stack, depth;
	struct dfg_array_stack *found;
};

/* The input of the op's array nodes with that name; -1: the node is not an array's, or has none. */
static int input_named(const struct dfg_node *node, const char *name)
{
	const struct dfg_signature *signature;
	if (!dfg_has_flow(node))
		return -1;
	struct dfg_err *err = dfg_op_signature(node->op, &signature);
	for (int i = 0; !err && i < signature->n_in && i < (int)node->n_in; i++)
		if (!strcmp(signature->in[i].name, name))
			return i;
	dfg_err_free(err);
	return -1;
}

static uint32_t outermost(const struct dfg_loops *loops, uint32_t loop)
{
	while (loop && loops->loop[loop].parent)
		loop = loops->loop[loop].parent;
	return loop;
}

static void push_edge(struct walk *walk, struct dfg_edge edge)
{
	if (edge.port >= 0 && !walk->seen[edge.node])
		walk->stack[walk->depth++] = edge.node;
	walk->seen[edge.node] |= edge.port >= 0;
}

static void visit(struct walk *walk, uint32_t n)
{
	const struct dfg_node *node = &walk->graph->node[n];
	enum dfg_role role = dfg_node_role(node);
	int flow = input_named(node, "flow_in");
	if (flow >= 0 && input_named(node, "index") >= 0 && node->op->flags & DFG_WRITES) {
		uint32_t loop = outermost(walk->loops, walk->loops->of[n]);
		walk->found->loop = loop ? loop : walk->found->loop;
		walk->found->writer[walk->found->n_writer++] = node->name;
	}
	if (flow >= 0)
		push_edge(walk, node->in[flow]);
	else if (role == DFG_MERGE)
		for (uint32_t i = 0; i < node->n_in; i++)
			push_edge(walk, node->in[i]);
	else if (node->n_in && (role == DFG_IDENTITY || dfg_role_is_flow(role)))
		push_edge(walk, node->in[0]);
}

struct dfg_err *dfg_array_stack_find(const struct dfg_graph *graph, const struct dfg_loops *loops, struct dfg_edge edge,
	struct dfg_arena *arena, struct dfg_array_stack *out_stack)
{
	const struct dfg_node *node = &graph->node[edge.node];
	*out_stack = (struct dfg_array_stack){0};
	for (uint32_t i = 0; i < graph->count && dfg_node_role(node) == DFG_IDENTITY && edge.port >= 0; i++) {
		edge = node->in[edge.port];
		node = &graph->node[edge.node];
	}
	int flow = input_named(node, "flow_in");
	if (flow < 0 || input_named(node, "indices") < 0 || !(node->op->flags & DFG_READS))
		return NULL;
	struct dfg_arena scratch = {0};
	struct walk walk = {.graph = graph,
		.loops = loops,
		.seen = dfg_arena_zeros(&scratch, graph->count, sizeof *walk.seen),
		.stack = dfg_arena_zeros(&scratch, graph->count, sizeof *walk.stack),
		.found = out_stack};
	out_stack->flow = node->in[flow];
	out_stack->writer = dfg_arena_zeros(arena, graph->count, sizeof *out_stack->writer);
	bool has_memory = walk.seen && walk.stack && out_stack->writer;
	if (has_memory)
		push_edge(&walk, out_stack->flow);
	while (walk.depth)
		visit(&walk, walk.stack[--walk.depth]);
	dfg_arena_release(&scratch);
	return has_memory ? NULL : dfg_no_memory("the stack of a loop");
}
