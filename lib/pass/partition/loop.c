#include "lib/pass/partition/partition_private.h"

#include "lib/pass/verify/predicate.h"
#include "lib/graph/loop_shapes.h"

#include <string.h>

/*
 * Each device that takes part in a distributed loop runs a control loop, which is not in the original graph:
 *
 * Enter -> Merge (the evaluation) -> Switch on the LoopCond -> Identity (the pivot) -> NextIteration -> Merge
 *
 * The Merge is live in each evaluation of the loop's condition, n + 1 times for n iterations, the pivot in each
 * iteration. The control loop enters from the evaluation of the enclosing control loop, or from its pivot if nothing
 * enters this loop in the last evaluation; an outermost one enters from a constant, so it has one evaluation even in a
 * branch that is not taken. All devices evaluate the same predicate, so by induction their evaluations and pivots are
 * live in the same iterations, and both ends of a transfer agree on whether it happens.
 */
enum {
	HOPS_MOST = 16,
	DEPTH_MOST = 16, /* largest number of loops around a transfer; limited by the key of a link */
};

static const char *words(const struct cut *c, uint32_t loop)
{
	return c->distributed[loop].path;
}

static struct control *control_of(const struct cut *c, uint32_t loop, uint32_t device)
{
	return &c->control[(size_t)loop * c->options->devices + device];
}

/*
 * Finds the devices that take part in each loop; .evaluation is 1 until the control is made. Constant Enters that every
 * reader clones do not count.
 */
static void find_devices(struct cut *c)
{
	for (uint32_t n = 0; n < c->graph->count; n++) {
		uint32_t home = dfg_loop_home(c->graph, &c->loops, n);
		if (dfg_cut_is_cloned_enter(&c->graph->node[n]))
			home = c->loops.loop[home].parent;
		control_of(c, home, cut_device(c, n))->evaluation = 1;
	}
	for (uint32_t l = c->loops.count - 1; l > 0; l--) {
		uint32_t count = 0;
		for (uint32_t d = 0; d < c->options->devices; d++) {
			if (!control_of(c, l, d)->evaluation)
				continue;
			count++;
			control_of(c, c->loops.loop[l].parent, d)->evaluation = 1;
		}
		c->distributed[l].is_distributed = count > 1;
	}
}

static struct dfg_err *check_together(const struct cut *c, uint32_t reader, uint32_t read)
{
	const struct dfg_node *a = &c->graph->node[reader], *b = &c->graph->node[read];
	uint32_t at = cut_device(c, reader), from = cut_device(c, read);
	if (at == from)
		return NULL;
	return DFG_ERR(DFG_DATA,
		"node '%.200s' (%.100s) on %s reads '%.200s' (%.100s) on %s: "
		"the primitives of a loop variable must be on one device",
		a->name, a->op_name, c->options->device[at], b->name, b->op_name, c->options->device[from]);
}

/*
 * A loop variable's Enter, Merge, Switch, NextIteration and Exit must be on one device, and the loop must have one
 * LoopCond.
 */
static struct dfg_err *check_node(const struct cut *c, uint32_t n)
{
	const struct dfg_node *node = &c->graph->node[n];
	uint32_t home = dfg_loop_home(c->graph, &c->loops, n), condition = c->loops.loop[home].condition;
	enum dfg_role role = dfg_node_role(node);
	if (!home || !c->distributed[home].is_distributed)
		return NULL;
	if (condition == DFG_NONE || (role == DFG_LOOP_COND && n != condition))
		return DFG_ERR(DFG_DATA, "node '%.200s' (%.100s): loop '%.200s' has %s LoopCond, so it cannot be distributed",
			node->name, node->op_name, words(c, home), condition == DFG_NONE ? "no" : "more than one");
	if (role != DFG_EXIT && (role != DFG_MERGE || c->loops.variable[n] == DFG_NONE))
		return NULL;
	for (uint32_t e = 0; e < node->n_in; e++)
		DFG_TRY(check_together(c, n, node->in[e].node));
	if (role != DFG_EXIT)
		return NULL;
	struct dfg_edge at = node->in[0], source = dfg_exit_source(c->graph, node);
	for (; at.node != source.node; at = c->graph->node[at.node].in[at.port])
		DFG_TRY(check_together(c, n, at.node));
	return check_together(c, n, source.node);
}

/* Marks nodes that follow an Enter that is not constant, or a NextIteration, but not a Merge of both. */
static void find_uneven(struct cut *c, uint32_t n)
{
	const struct dfg_node *node = &c->graph->node[n];
	bool is_uneven = false;
	if (c->loops.variable[n] != DFG_NONE)
		return;
	for (uint32_t e = 0; e < node->n_in + node->n_control; e++)
		is_uneven |= dfg_edge_brings(node, e) && c->is_uneven[node->in[e].node];
	switch (dfg_node_role(node)) {
	case DFG_ENTER:
		c->distributed[c->loops.of[n]].is_uneven |= is_uneven;
		c->is_uneven[n] = !dfg_is_constant_enter(node);
		return;
	case DFG_EXIT:
		c->is_uneven[n] = c->distributed[dfg_loop_home(c->graph, &c->loops, n)].is_uneven;
		return;
	default:
		c->is_uneven[n] = is_uneven || dfg_node_role(node) == DFG_NEXT_ITERATION;
	}
}

static struct dfg_err *check_all(struct cut *c, const uint32_t *order)
{
	for (uint32_t i = 0; i < c->graph->count; i++) {
		find_uneven(c, order ? order[i] : i);
		DFG_TRY(check_node(c, i));
	}
	for (uint32_t l = 1; l < c->loops.count; l++) {
		if (!c->distributed[l].is_distributed)
			continue;
		if (c->distributed[l].is_uneven)
			return DFG_ERR(DFG_DATA,
				"loop '%.200s' is not entered in each iteration of the enclosing loop, so it cannot be distributed",
				words(c, l));
	}
	return NULL;
}

static struct dfg_err *name_loops(struct cut *c)
{
	for (uint32_t l = 0; l < c->loops.count; l++)
		c->distributed[l].path = "";
	for (uint32_t l = 1; l < c->loops.count; l++) {
		const struct dfg_loop *loop = &c->loops.loop[l];
		const char *outer = c->distributed[loop->parent].path;
		if (!c->distributed[l].is_distributed)
			continue;
		if (loop->depth > DEPTH_MOST)
			return DFG_ERR(DFG_DATA, "loop '%.*s' is nested %u deep; transfers are supported up to depth %d",
				(int)loop->name.length, loop->name.s, loop->depth, DEPTH_MOST);
		c->distributed[l].path =
			dfg_arena_print(c->arena, "%s%s%.*s", outer, *outer ? "/" : "", (int)loop->name.length, loop->name.s);
		if (!c->distributed[l].path)
			return dfg_no_memory("the loops of the partitioned graph");
	}
	return NULL;
}

uint32_t dfg_cut_variable_behind(const struct cut *c, uint32_t n)
{
	const struct dfg_node *node = &c->graph->node[n];
	uint32_t loop = c->loops.of[n];
	if (!loop || !c->distributed[loop].is_distributed || dfg_node_role(node) != DFG_IDENTITY)
		return DFG_NONE;
	struct dfg_edge from = {n, 0};
	for (int i = 0; i < HOPS_MOST && dfg_node_role(node) == DFG_IDENTITY && node->n_in == 1 && !node->n_control; i++) {
		from = node->in[0];
		node = &c->graph->node[from.node];
	}
	bool is_body = dfg_node_role(node) == DFG_SWITCH && from.port == 1 && !node->n_control &&
				   node->in[1].node == c->loops.loop[loop].condition && c->loops.variable[node->in[0].node] != DFG_NONE;
	return is_body ? node->in[0].node : DFG_NONE;
}

uint32_t dfg_cut_pivot_of(const struct cut *c, uint32_t n)
{
	uint32_t merge = dfg_cut_variable_behind(c, n);
	return merge == DFG_NONE || c->orders[merge] ? 0 : c->loops.of[n];
}

struct dfg_err *dfg_cut_gate(
	struct cut *c, uint32_t loop, uint32_t set, uint32_t device, uint32_t *out_node, bool *out_each_evaluation)
{
	*out_node = DFG_NONE;
	*out_each_evaluation = false;
	if (!loop)
		return NULL;
	const struct control *control = control_of(c, loop, device);
	if (!c->distributed[loop].is_distributed || control->evaluation < c->graph->count)
		return DFG_ERR(DFG_BUG, "%s does not take part in loop '%.200s'", c->options->device[device], words(c, loop));
	bool continues = dfg_live_has(&c->liveness, set, c->distributed[loop].continues);
	*out_node = continues ? control->pivot : control->evaluation;
	*out_each_evaluation = !continues;
	return NULL;
}

/* Control loops. */

static struct dfg_err *add_start(struct cut *c, uint32_t device)
{
	static const struct dfg_literal empty = {DFG_F32, {1, {0}}, false, 0, NULL};
	static const struct dfg_attr attr[] = {
		{"dtype", DFG_ATTR_DTYPE, {.dtype = DFG_F32}}, {"value", DFG_ATTR_TENSOR, {.tensor = &empty}}};
	if (c->start[device] != DFG_NONE)
		return NULL;
	struct dfg_node node = {.op_name = "Const", .attr = (struct dfg_attr *)attr, .n_attr = 2};
	node.name = dfg_arena_print(c->arena, "_dfg/start/%u", device);
	return node.name ? dfg_cut_add(c, &node, device, &c->start[device])
					 : dfg_no_memory("the loops of the partitioned graph");
}

/* The node in the enclosing loop that the control loop enters from. */
static struct dfg_err *find_entry(struct cut *c, uint32_t loop, uint32_t device, uint32_t *out_node)
{
	bool each_evaluation;
	uint32_t parent = c->loops.loop[loop].parent;
	if (parent)
		return dfg_cut_gate(c, parent, c->liveness.entry[loop], device, out_node, &each_evaluation);
	DFG_TRY(add_start(c, device));
	*out_node = c->start[device];
	return NULL;
}

enum { ENTER, EVALUATION, SWITCH, PIVOT, NEXT, RING };

static const struct ring {
	const char *name, *op;
	struct {
		int node, port;
	} in[2];
	uint32_t n_in;
} ring[RING] = {
	[ENTER] = {"enter", "Enter", {{0}}, 1},
	[EVALUATION] = {"turn", "Merge", {{ENTER, 0}, {NEXT, 0}}, 2},
	[SWITCH] = {"switch", "Switch", {{EVALUATION, 0}}, 2},
	[PIVOT] = {"pivot", "Identity", {{SWITCH, 1}}, 1},
	[NEXT] = {"next", "NextIteration", {{PIVOT, 0}}, 1},
};

/* The attribute T, and the other attributes of an Enter or a Merge. */
static struct dfg_err *ring_attrs(const struct cut *c, uint32_t loop, int which, struct dfg_node *node)
{
	struct dfg_attr *attr = dfg_arena_zeros(c->arena, 3, sizeof *attr);
	if (!attr)
		return dfg_no_memory("the loops of the partitioned graph");
	attr[node->n_attr++] =
		which == EVALUATION ? DFG_ATTR_I("N", 2) : (struct dfg_attr){"T", DFG_ATTR_DTYPE, {.dtype = DFG_F32}};
	if (which == EVALUATION)
		attr[node->n_attr++] = (struct dfg_attr){"T", DFG_ATTR_DTYPE, {.dtype = DFG_F32}};
	if (which == ENTER) {
		attr[node->n_attr++] = (struct dfg_attr){"frame_name", DFG_ATTR_STRING, {.s = c->loops.loop[loop].name}};
		attr[node->n_attr++] = DFG_ATTR_I("parallel_iterations", c->loops.loop[loop].window);
	}
	node->attr = attr;
	return NULL;
}

static struct dfg_err *add_control(struct cut *c, uint32_t loop, uint32_t device)
{
	uint32_t entry, number, first;
	DFG_TRY(find_entry(c, loop, device, &entry));
	first = c->graph->count + (uint32_t)c->n_added;
	for (int i = 0; i < RING; i++) {
		struct dfg_node node = {.op_name = ring[i].op, .n_in = ring[i].n_in};
		node.name = dfg_arena_print(c->arena, "_dfg/loop/%u/%u/%s", loop, device, ring[i].name);
		node.in = dfg_arena_zeros(c->arena, 2, sizeof *node.in);
		if (!node.name || !node.in)
			return dfg_no_memory("the loops of the partitioned graph");
		for (uint32_t e = 0; e < node.n_in; e++)
			node.in[e] = (struct dfg_edge){first + (uint32_t)ring[i].in[e].node, ring[i].in[e].port};
		if (i == ENTER)
			node.in[0] = (struct dfg_edge){entry, 0};
		if (i == SWITCH)
			node.in[1] = (struct dfg_edge){c->loops.loop[loop].condition, 0};
		DFG_TRY(ring_attrs(c, loop, i, &node));
		DFG_TRY(dfg_cut_add(c, &node, device, &number));
	}
	*control_of(c, loop, device) = (struct control){first + EVALUATION, first + PIVOT};
	return NULL;
}

static struct dfg_err *add_controls(struct cut *c, uint32_t loop)
{
	if (!c->distributed[loop].is_distributed)
		return NULL;
	DFG_TRY(dfg_live_condition(
		&c->liveness, (struct dfg_edge){c->loops.loop[loop].condition, 0}, 1, 2, &c->distributed[loop].continues));
	for (uint32_t d = 0; d < c->options->devices; d++)
		if (control_of(c, loop, d)->evaluation)
			DFG_TRY(add_control(c, loop, d));
	dfg_cut_count(c, loop);
	return NULL;
}

/* Infers the shapes of loop variables over all iterations: transfers need them, and counters must be scalars. */
static struct dfg_err *find_shapes(struct cut *c)
{
	uint32_t *order = dfg_arena_zeros(&c->scratch, (size_t)c->graph->count + 1, sizeof *order);
	if (!order)
		return dfg_no_memory("the loops of the partitioned graph");
	DFG_TRY(dfg_loops_order(c->graph, &c->loops, &c->scratch, order));
	DFG_TRY(dfg_builder_init(&c->builder, c->graph));
	DFG_TRY(dfg_loop_shapes(&c->builder, &c->loops, order, &c->scratch));
	c->facts = &c->builder.facts;
	return NULL;
}

static bool any_is_distributed(const struct cut *c)
{
	for (uint32_t l = 1; l < c->loops.count; l++)
		if (c->distributed[l].is_distributed)
			return true;
	return false;
}

struct dfg_err *dfg_cut_loops(struct cut *c, const uint32_t *order)
{
	c->distributed = dfg_arena_zeros(&c->scratch, c->loops.count, sizeof *c->distributed);
	c->control = dfg_arena_zeros(&c->scratch, (size_t)c->loops.count * c->options->devices, sizeof *c->control);
	c->start = dfg_arena_zeros(&c->scratch, c->options->devices, sizeof *c->start);
	c->is_copied = dfg_arena_zeros(&c->scratch, (size_t)c->graph->count + 1, sizeof *c->is_copied);
	c->is_uneven = dfg_arena_zeros(&c->scratch, (size_t)c->graph->count + 1, sizeof *c->is_uneven);
	if (!c->distributed || !c->control || !c->start || !c->is_copied || !c->is_uneven)
		return dfg_no_memory("the loops of the partitioned graph");
	if (c->loops.count == 1)
		return NULL;
	for (uint32_t d = 0; d < c->options->devices; d++)
		c->start[d] = DFG_NONE;
	find_devices(c);
	if (!any_is_distributed(c))
		return NULL;
	DFG_TRY(name_loops(c));
	DFG_TRY(check_all(c, order));
	DFG_TRY(dfg_cut_order(c));
	DFG_TRY(find_shapes(c));
	for (uint32_t l = 1; l < c->loops.count; l++)
		DFG_TRY(add_controls(c, l));
	return NULL;
}
