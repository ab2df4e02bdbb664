#include "lib/graph/loops.h"

bool dfg_is_constant_enter(const struct dfg_node *node)
{
	const struct dfg_attr *attr = dfg_node_role(node) == DFG_ENTER ? dfg_node_attr(node, "is_constant") : NULL;
	return attr && attr->kind == DFG_ATTR_BOOL && attr->value.b;
}

uint32_t dfg_loop_home(const struct dfg_graph *graph, const struct dfg_loops *loops, uint32_t n)
{
	const struct dfg_node *node = &graph->node[n];
	bool leaves = dfg_node_role(node) == DFG_EXIT && node->n_in;
	return loops->of[leaves ? node->in[0].node : n];
}

bool dfg_loop_within(const struct dfg_loops *loops, uint32_t inner, uint32_t outer)
{
	while (loops->loop[inner].depth > loops->loop[outer].depth)
		inner = loops->loop[inner].parent;
	return inner == outer;
}

struct finder {
	const struct dfg_graph *graph;
	struct dfg_arena *arena;
	struct dfg_loops *loops;
	struct dfg_map names; /* frame names; loop i has the name i - 1 */
};

/* The deepest loop of an input; in a valid graph all inputs are in one loop. A node without inputs is in the root. */
static uint32_t loop_of_inputs(const struct finder *f, const struct dfg_node *node)
{
	const struct dfg_loops *loops = f->loops;
	uint32_t deepest = 0;
	for (uint32_t e = 0; e < node->n_in + node->n_control; e++)
		if (dfg_edge_brings(node, e) && !dfg_edge_closes(f->graph, node, node->in[e]) &&
			loops->loop[loops->of[node->in[e].node]].depth > loops->loop[deepest].depth)
			deepest = loops->of[node->in[e].node];
	return deepest;
}

static struct dfg_err *enter(struct finder *f, uint32_t n, uint32_t outer, uint32_t *out_loop)
{
	const struct dfg_node *node = &f->graph->node[n];
	const struct dfg_attr *name = dfg_node_attr(node, "frame_name");
	const struct dfg_attr *window = dfg_node_attr(node, "parallel_iterations");
	uint32_t number;
	bool is_new;
	*out_loop = outer;
	if (!name || name->kind != DFG_ATTR_STRING)
		return NULL;
	if (!dfg_map_put(&f->names, name->value.s.s, name->value.s.length, &number, &is_new))
		return dfg_no_memory("loops");
	*out_loop = number + 1;
	if (!is_new)
		return NULL;
	f->loops->count++;
	f->loops->loop[*out_loop] = (struct dfg_loop){
		.name = name->value.s,
		.parent = outer,
		.depth = f->loops->loop[outer].depth + 1,
		.enter = n,
		.condition = DFG_NONE,
		.window = window && window->kind == DFG_ATTR_INT ? window->value.i : 10,
	};
	return NULL;
}

static struct dfg_err *set_loop(struct finder *f, uint32_t n)
{
	const struct dfg_node *node = &f->graph->node[n];
	uint32_t loop = loop_of_inputs(f, node), *of = &f->loops->of[n];
	*of = loop;
	switch (dfg_node_role(node)) {
	case DFG_ENTER:
		return enter(f, n, loop, of);
	case DFG_EXIT:
		*of = f->loops->loop[loop].parent;
		return NULL;
	case DFG_LOOP_COND:
		if (loop && f->loops->loop[loop].condition == DFG_NONE)
			f->loops->loop[loop].condition = n;
		return NULL;
	default:
		return NULL;
	}
}

/* The NextIteration that is an input of the Merge, or DFG_NONE if it closes no loop. */
static uint32_t next_of(const struct dfg_graph *graph, const struct dfg_node *merge)
{
	for (uint32_t i = 0; i < merge->n_in; i++)
		if (dfg_edge_closes(graph, merge, merge->in[i]))
			return merge->in[i].node;
	return DFG_NONE;
}

static uint32_t enter_of(const struct dfg_graph *graph, const struct dfg_node *merge)
{
	for (uint32_t i = 0; i < merge->n_in; i++)
		if (dfg_node_role(&graph->node[merge->in[i].node]) == DFG_ENTER)
			return merge->in[i].node;
	return DFG_NONE;
}

/* Counts the node as an entry of its loop's lists or, with `put`, adds it there. */
static void note_entry(struct finder *f, uint32_t n, bool put)
{
	const struct dfg_node *node = &f->graph->node[n];
	struct dfg_loop *loop = &f->loops->loop[f->loops->of[n]];
	if (!f->loops->of[n])
		return;
	if (dfg_is_constant_enter(node)) {
		if (put)
			loop->invariant[loop->n_invariant] = n;
		loop->n_invariant++;
	}
	uint32_t next = dfg_node_role(node) == DFG_MERGE ? next_of(f->graph, node) : DFG_NONE;
	if (next == DFG_NONE)
		return;
	if (put) {
		loop->variable[loop->n_variable] =
			(struct dfg_loop_variable){enter_of(f->graph, node), n, DFG_NONE, next, DFG_NONE};
		f->loops->variable[n] = loop->n_variable;
	}
	loop->n_variable++;
}

struct dfg_edge dfg_exit_source(const struct dfg_graph *graph, const struct dfg_node *exit)
{
	enum { HOPS = 16 };
	struct dfg_edge from = exit->in[0];
	for (int i = 0; i < HOPS; i++) {
		const struct dfg_node *maker = &graph->node[from.node];
		if (dfg_node_role(maker) != DFG_IDENTITY || (uint32_t)from.port >= maker->n_in)
			break;
		from = maker->in[from.port];
	}
	return from;
}

/* Records the node as a variable's Switch on the loop's condition, or as the Exit after that. */
static void note_exit(struct finder *f, uint32_t n)
{
	const struct dfg_node *node = &f->graph->node[n];
	if (!node->n_in)
		return;
	if (dfg_node_role(node) == DFG_SWITCH && node->n_in == 2 && f->loops->variable[node->in[0].node] != DFG_NONE) {
		struct dfg_loop *loop = &f->loops->loop[f->loops->of[n]];
		struct dfg_loop_variable *variable = &loop->variable[f->loops->variable[node->in[0].node]];
		if (variable->switch_node == DFG_NONE && node->in[1].node == loop->condition)
			variable->switch_node = n;
	}
	if (dfg_node_role(node) != DFG_EXIT)
		return;
	struct dfg_edge side = dfg_exit_source(f->graph, node);
	const struct dfg_node *switch_node = &f->graph->node[side.node];
	if (dfg_node_role(switch_node) != DFG_SWITCH || side.port || !switch_node->n_in)
		return;
	uint32_t merge = switch_node->in[0].node;
	if (f->loops->variable[merge] == DFG_NONE)
		return;
	struct dfg_loop *loop = &f->loops->loop[f->loops->of[merge]];
	struct dfg_loop_variable *variable = &loop->variable[f->loops->variable[merge]];
	if (variable->switch_node == side.node && variable->exit == DFG_NONE)
		variable->exit = n;
}

static struct dfg_err *list_variables(struct finder *f)
{
	const struct dfg_graph *graph = f->graph;
	for (uint32_t n = 0; n < graph->count; n++)
		note_entry(f, n, false);
	for (uint32_t l = 1; l < f->loops->count; l++) {
		struct dfg_loop *loop = &f->loops->loop[l];
		loop->variable = dfg_arena_zeros(f->arena, (size_t)loop->n_variable + 1, sizeof *loop->variable);
		loop->invariant = dfg_arena_zeros(f->arena, (size_t)loop->n_invariant + 1, sizeof *loop->invariant);
		if (!loop->variable || !loop->invariant)
			return dfg_no_memory("loops");
		loop->n_variable = loop->n_invariant = 0;
	}
	for (uint32_t n = 0; n < graph->count; n++)
		note_entry(f, n, true);
	for (int pass = 0; pass < 2; pass++) /* an Exit may come before its Switch */
		for (uint32_t n = 0; n < graph->count; n++)
			note_exit(f, n);
	return NULL;
}

static struct dfg_err *find(struct finder *f, const uint32_t *order)
{
	const struct dfg_graph *graph = f->graph;
	for (uint32_t i = 0; i < graph->count; i++)
		DFG_TRY(set_loop(f, order ? order[i] : i));
	return f->loops->count > 1 ? list_variables(f) : NULL;
}

struct dfg_err *dfg_loops_find(
	const struct dfg_graph *graph, const uint32_t *order, struct dfg_arena *arena, struct dfg_loops *out_loops)
{
	uint32_t enters = 0;
	for (uint32_t n = 0; n < graph->count; n++)
		enters += dfg_node_role(&graph->node[n]) == DFG_ENTER;
	*out_loops = (struct dfg_loops){
		.loop = dfg_arena_zeros(arena, (size_t)enters + 1, sizeof *out_loops->loop),
		.count = 1,
		.of = dfg_arena_zeros(arena, (size_t)graph->count + 1, sizeof *out_loops->of),
		.variable = dfg_arena_zeros(arena, (size_t)graph->count + 1, sizeof *out_loops->variable),
	};
	if (!out_loops->loop || !out_loops->of || !out_loops->variable)
		return DFG_ERR(DFG_MEMORY, "no memory for the loops of %u nodes", graph->count);
	for (uint32_t n = 0; n < graph->count; n++)
		out_loops->variable[n] = DFG_NONE;
	out_loops->loop[0] = (struct dfg_loop){.enter = DFG_NONE, .condition = DFG_NONE, .window = 1};
	struct finder f = {.graph = graph, .arena = arena, .loops = out_loops};
	struct dfg_err *err = enters ? find(&f, order) : NULL;
	dfg_map_release(&f.names);
	return err;
}
