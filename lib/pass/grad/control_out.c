#include "lib/pass/grad/control_out.h"

#include "lib/graph/cycle.h"

struct dfg_err *dfg_control_out_init(struct dfg_control_out *o, struct dfg_builder *builder)
{
	uint32_t *order, count;
	*o = (struct dfg_control_out){.builder = builder, .count = builder->graph->count};
	DFG_TRY(dfg_pass_order(builder->graph, &o->arena, &order, &count));
	DFG_TRY(dfg_loops_find(builder->graph, order, &o->arena, &o->loops));
	DFG_TRY(dfg_liveness_find(builder->graph, order, &o->loops, NULL, &o->liveness));
	o->instead = dfg_arena_zeros(&o->arena, (size_t)o->count + 1, sizeof *o->instead);
	return o->instead ? NULL : dfg_no_memory("control edges");
}

void dfg_control_out_release(struct dfg_control_out *o)
{
	dfg_liveness_release(&o->liveness);
	dfg_arena_release(&o->arena);
}

static struct dfg_err *add_node(struct dfg_control_out *o, const char *op, const struct dfg_edge *in, uint32_t n_in,
	uint32_t n_control, uint32_t *out_node)
{
	const struct dfg_new_node node = {.op = op, .name = o->name, .in = in, .n_in = n_in, .n_control = n_control};
	return dfg_build(o->builder, &node, out_node);
}

/* Makes a node that is live and comes after the node even where that one is dead, on a side that is not taken. */
static struct dfg_err *trigger(struct dfg_control_out *o, uint32_t node, uint32_t *out_node)
{
	const struct dfg_edge control = {node, DFG_CONTROL};
	return add_node(o, "ControlTrigger", &control, 0, 1, out_node);
}

static struct dfg_err *enter(struct dfg_control_out *o, const struct dfg_loop *loop, uint32_t *out_node)
{
	const struct dfg_attr attr[] = {
		{"frame_name", DFG_ATTR_STRING, {.s = loop->name}},
		DFG_ATTR_I("parallel_iterations", loop->window),
	};
	const struct dfg_edge in = o->builder->graph->node[loop->enter].in[0];
	return dfg_build(o->builder,
		&(struct dfg_new_node){.op = "Enter", .name = o->name, .in = &in, .n_in = 1, .attr = attr, .n_attr = 2},
		out_node);
}

/*
 * Makes a node outside of the loop that comes after the node in all iterations: a new loop variable waits for it. Its
 * first value is that of an existing variable, so that it is live where the others are.
 */
static struct dfg_err *leave(struct dfg_control_out *o, const struct dfg_loop *loop, uint32_t node, uint32_t *out_node)
{
	uint32_t entered, merge, switch_node, done, next;
	if (loop->condition == DFG_NONE)
		return DFG_ERR(DFG_DATA, "loop '%.*s' has no LoopCond", (int)loop->name.length, loop->name.s);
	DFG_TRY(trigger(o, node, &done));
	DFG_TRY(enter(o, loop, &entered));
	DFG_TRY(add_node(o, "Merge", (struct dfg_edge[]){{entered, 0}, {entered, 0}}, 2, 0, &merge));
	DFG_TRY(add_node(o, "Switch", (struct dfg_edge[]){{merge, 0}, {loop->condition, 0}}, 2, 0, &switch_node));
	DFG_TRY(add_node(o, "Identity", (struct dfg_edge[]){{switch_node, 1}, {done, DFG_CONTROL}}, 1, 1, &next));
	DFG_TRY(add_node(o, "NextIteration", (struct dfg_edge[]){{next, 0}}, 1, 0, &next));
	o->builder->graph->node[merge].in[1] = (struct dfg_edge){next, 0};
	return add_node(o, "Exit", (struct dfg_edge[]){{switch_node, 0}}, 1, 0, out_node);
}

struct dfg_err *dfg_control_out_of(struct dfg_control_out *o, uint32_t node, uint32_t *out_node)
{
	*out_node = node;
	if (node >= o->count)
		return NULL;
	if (o->instead[node]) {
		*out_node = o->instead[node] - 1;
		return NULL;
	}
	if (!(o->name = dfg_arena_path(&o->arena, o->builder->graph->node[node].name, "done")))
		return dfg_no_memory("a name");
	uint32_t loop = o->loops.of[node];
	bool may_die = o->liveness.of[node] != 0;
	for (; loop; loop = o->loops.loop[loop].parent) {
		DFG_TRY(leave(o, &o->loops.loop[loop], *out_node, out_node));
		may_die = o->liveness.entry[loop] != 0;
	}
	if (may_die)
		DFG_TRY(trigger(o, *out_node, out_node));
	o->instead[node] = *out_node + 1;
	return NULL;
}
