/*
 * A value computed by a loop's condition exists in one more iteration than those of its body, so the gradient loop has
 * no location for its cotangent. If such a value leaves the loop, it equals the same ops applied to the final loop
 * variables: these ops are repeated after the loop for the readers of the Exit, and the gradient goes through them.
 * This is done only where it is safe: for ops without effects that are not in an inner loop.
 */
#include "lib/graph/cycle.h"
#include "lib/pass/grad/backpropagation.h"

struct exit_repeat {
	struct dfg_backprop *s;
	struct dfg_loops loops;
	uint32_t *order;           /* the order of nodes, or NULL */
	uint32_t count;            /* the number of nodes before the pass */
	uint32_t exit, loop;       /* the present Exit, and the loop that it leaves */
	struct dfg_edge condition; /* the loop's predicate, at its source */
	uint32_t *work;
	struct repeated_node {
		uint32_t wanted;      /* the Exit that requires it, + 1 */
		struct dfg_edge edge; /* output 0 of the repeated node after the loop; .node DFG_NONE until it is made */
	} * repeated_node;
};

static const struct dfg_node *node_of(const struct exit_repeat *a, uint32_t n)
{
	return &a->s->builder->graph->node[n];
}

/* Whether the node is an Exit of a value that is not a loop variable, as few graphs have. */
static bool is_of_condition(const struct dfg_graph *graph, uint32_t n)
{
	const struct dfg_node *node = &graph->node[n];
	if (dfg_node_role(node) != DFG_EXIT || !node->n_in)
		return false;
	const struct dfg_node *switch_node = &graph->node[dfg_exit_source(graph, node).node];
	return dfg_node_role(switch_node) == DFG_SWITCH && switch_node->n_in &&
		   dfg_node_role(&graph->node[switch_node->in[0].node]) != DFG_MERGE;
}

static bool is_variable(const struct exit_repeat *a, uint32_t n)
{
	return a->loops.variable[n] != DFG_NONE;
}

/* Whether the node is a loop variable or an Enter, where the search ends. */
static bool is_end(const struct exit_repeat *a, uint32_t n)
{
	return is_variable(a, n) || dfg_node_role(node_of(a, n)) == DFG_ENTER;
}

static bool is_known_end(const struct exit_repeat *a, uint32_t n)
{
	if (is_variable(a, n))
		return a->loops.loop[a->loop].variable[a->loops.variable[n]].switch_node != DFG_NONE;
	return node_of(a, n)->n_in && dfg_is_constant_enter(node_of(a, n));
}

/* Whether the same op after the loop has the same result. */
static bool can_be_repeated(const struct exit_repeat *a, uint32_t n)
{
	const struct dfg_node *node = node_of(a, n);
	switch (dfg_node_role(node)) {
	case DFG_PLAIN:
		return node->op && !(node->op->flags & (DFG_STATEFUL | DFG_BLOCKING));
	case DFG_IDENTITY:
	case DFG_CONST:
	case DFG_MERGE:
		return true;
	case DFG_SWITCH: /* except for those into the body */
		return node->n_in > 1 && dfg_live_source(a->s->builder->graph, node->in[1]).node != a->condition.node;
	default:
		return false;
	}
}

/* Marks the nodes of the loop that a node depends on; false if some cannot be repeated. */
static bool mark(struct exit_repeat *a, uint32_t from)
{
	uint32_t count = 0;
	a->work[count++] = from;
	a->repeated_node[from].wanted = a->exit + 1;
	while (count) {
		uint32_t n = a->work[--count];
		const struct dfg_node *node = node_of(a, n);
		if (a->loops.of[n] != a->loop || !(is_end(a, n) ? is_known_end(a, n) : can_be_repeated(a, n)))
			return false;
		for (uint32_t e = 0; e < node->n_in + node->n_control && !is_end(a, n); e++) {
			struct dfg_edge in = node->in[e];
			if (in.node >= a->count || (is_end(a, in.node) && in.port > 0))
				return false;
			if (a->repeated_node[in.node].wanted == a->exit + 1)
				continue;
			a->repeated_node[in.node].wanted = a->exit + 1;
			a->work[count++] = in.node;
		}
	}
	return true;
}

static struct dfg_err *find_end(struct exit_repeat *a, uint32_t n, struct dfg_edge *out_edge)
{
	const struct dfg_node *node = node_of(a, n);
	const struct dfg_make make = {a->s->builder, node->name};
	*out_edge = node->in[0];
	if (!is_variable(a, n))
		return NULL;
	const struct dfg_loop_variable *v = &a->loops.loop[a->loop].variable[a->loops.variable[n]];
	*out_edge = (struct dfg_edge){v->exit, 0};
	return v->exit == DFG_NONE ? dfg_make_unary(&make, "Exit", (struct dfg_edge){v->switch_node, 0}, out_edge) : NULL;
}

/* Repeats a node after the loop. A node without inputs comes after the Exit, so that it is dead where the loop is. */
static struct dfg_err *repeat_node(struct exit_repeat *a, uint32_t n, struct dfg_edge *out_edge)
{
	const struct dfg_node node = *node_of(a, n);
	struct dfg_arena *arena = &a->s->scratch;
	struct dfg_attr *attr = dfg_arena_zeros(arena, (size_t)node.n_attr + 1, sizeof *attr);
	struct dfg_edge *in = dfg_arena_zeros(arena, (size_t)node.n_in + node.n_control + 1, sizeof *in);
	char *name = dfg_arena_path(arena, a->s->prefix, node.name);
	if (!attr || !in || !name)
		return DFG_ERR(DFG_MEMORY, "no memory to compute '%.200s' again", node.name);
	struct dfg_new_node want = {.op = node.op_name, .name = name, .in = in, .n_in = node.n_in, .attr = attr};
	for (uint32_t i = 0; i < node.n_attr; i++)
		if (node.attr[i].name[0] != '_')
			attr[want.n_attr++] = node.attr[i];
	for (uint32_t e = 0; e < node.n_in; e++) {
		in[e] = a->repeated_node[node.in[e].node].edge;
		in[e].port += node.in[e].port;
	}
	for (uint32_t e = node.n_in; e < node.n_in + node.n_control; e++)
		in[e] = (struct dfg_edge){a->repeated_node[node.in[e].node].edge.node, DFG_CONTROL};
	want.n_control = node.n_control;
	if (!node.n_in)
		in[want.n_control++] = (struct dfg_edge){a->exit, DFG_CONTROL};
	a->s->builder->device = node.device;
	*out_edge = (struct dfg_edge){DFG_NONE, 0};
	return dfg_build(a->s->builder, &want, &out_edge->node);
}

static struct dfg_err *make_marked(struct exit_repeat *a)
{
	for (uint32_t i = 0; i < a->count; i++) {
		uint32_t n = a->order ? a->order[i] : i;
		struct repeated_node *b = &a->repeated_node[n];
		if (b->wanted != a->exit + 1 || b->edge.node != DFG_NONE)
			continue;
		DFG_TRY(is_end(a, n) ? find_end(a, n, &b->edge) : repeat_node(a, n, &b->edge));
	}
	return NULL;
}

/* Redirects the readers of the Exit to the repeated value. */
static void lead_past(struct exit_repeat *a, struct dfg_edge value, struct dfg_edge *of, uint32_t n_of)
{
	const struct dfg_edge out = {a->exit, 0};
	for (uint32_t n = 0; n < a->count; n++)
		for (uint32_t e = 0; e < node_of(a, n)->n_in; e++)
			if (dfg_edge_same(node_of(a, n)->in[e], out))
				a->s->builder->graph->node[n].in[e] = value;
	for (uint32_t i = 0; i < n_of; i++)
		if (dfg_edge_same(of[i], out))
			of[i] = value;
}

/* Whether a cotangent may arrive at the present Exit, and flow on to a tensor to differentiate by. */
static struct dfg_err *is_on_path(
	struct exit_repeat *a, const bool *makes, const struct dfg_edge *wrt, uint32_t n_wrt, bool *out_is)
{
	const struct dfg_edge out = {a->exit, 0};
	const bool *before;
	*out_is = false;
	if (!makes[a->exit] || !dfg_flow_dtype(dfg_facts_of(&a->s->builder->facts, out)))
		return NULL;
	DFG_TRY(dfg_backprop_makers(a->s, &out, 1, &before));
	for (uint32_t i = 0; i < n_wrt; i++) {
		if (dfg_edge_same(wrt[i], out)) {
			*out_is = false;
			return NULL;
		}
		*out_is |= before[wrt[i].node];
	}
	return NULL;
}

static struct dfg_err *go_through(
	struct exit_repeat *a, struct dfg_edge *of, uint32_t n_of, const struct dfg_edge *wrt, uint32_t n_wrt)
{
	const struct dfg_graph *graph = a->s->builder->graph;
	uint32_t region = n_of ? a->loops.of[of[0].node] : 0;
	const bool *makes;
	DFG_TRY(dfg_backprop_makers(a->s, of, n_of, &makes));
	for (a->exit = 0; a->exit < a->count; a->exit++) {
		bool is;
		if (!is_of_condition(graph, a->exit))
			continue;
		struct dfg_edge value = graph->node[dfg_exit_source(graph, &graph->node[a->exit]).node].in[0];
		a->loop = dfg_loop_home(graph, &a->loops, a->exit);
		if (a->loop == region || !dfg_loop_within(&a->loops, a->loop, region) ||
			a->loops.loop[a->loop].condition == DFG_NONE)
			continue;
		a->condition = dfg_live_source(graph, (struct dfg_edge){a->loops.loop[a->loop].condition, 0});
		DFG_TRY(is_on_path(a, makes, wrt, n_wrt, &is));
		if (!is || !mark(a, value.node))
			continue;
		DFG_TRY(make_marked(a));
		lead_past(a, (struct dfg_edge){a->repeated_node[value.node].edge.node, value.port}, of, n_of);
	}
	return NULL;
}

struct dfg_err *dfg_recompute_exits(
	struct dfg_backprop *s, struct dfg_edge *of, uint32_t n_of, const struct dfg_edge *wrt, uint32_t n_wrt)
{
	struct exit_repeat a = {.s = s, .count = s->builder->graph->count};
	const char *device = s->builder->device;
	uint32_t control = s->builder->n_control, first = 0;
	while (first < a.count && !is_of_condition(s->builder->graph, first))
		first++;
	if (first == a.count)
		return NULL;
	a.work = dfg_arena_zeros(&s->scratch, (size_t)a.count + 1, sizeof *a.work);
	a.repeated_node = dfg_arena_zeros(&s->scratch, a.count, sizeof *a.repeated_node);
	if (!a.work || !a.repeated_node)
		return DFG_ERR(DFG_MEMORY, "no memory to differentiate %u nodes", a.count);
	for (uint32_t n = 0; n < a.count; n++)
		a.repeated_node[n].edge.node = DFG_NONE;
	DFG_TRY(dfg_pass_order(s->builder->graph, &s->scratch, &a.order, &first));
	DFG_TRY(dfg_loops_find(s->builder->graph, a.order, &s->scratch, &a.loops));
	s->builder->n_control = 0;
	struct dfg_err *err = go_through(&a, of, n_of, wrt, n_wrt);
	s->builder->device = device;
	s->builder->n_control = control;
	return err;
}
