#include "lib/pass/verify/frames.h"

#include "lib/base/plural.h"
#include "lib/base/text.h"

#include <string.h>

struct framing {
	const struct dfg_graph *graph;
	const struct dfg_loops *loops;
	struct dfg_faults *faults;
	struct dfg_arena *scratch;
};

#define NODE_WORDS "node '%.200s' (%.100s): "
#define NODE(node) (node)->name, (node)->op_name

const char *dfg_frame_words(const struct dfg_loops *loops, uint32_t loop, struct dfg_arena *arena)
{
	if (!loop)
		return "the root";
	struct dfg_text text = {0};
	dfg_text_add(&text, "frame '");
	dfg_text_escape(&text, loops->loop[loop].name.s, loops->loop[loop].name.length, 200);
	dfg_text_add(&text, "'");
	const char *words = text.s ? dfg_arena_copy(arena, text.s, text.length) : NULL;
	dfg_text_release(&text);
	return words ? words : "a frame";
}

static const char *words(const struct framing *f, uint32_t loop)
{
	return dfg_frame_words(f->loops, loop, f->scratch);
}

static uint32_t home(const struct framing *f, uint32_t n)
{
	return dfg_loop_home(f->graph, f->loops, n);
}

/* A value computed from no inputs is in the root frame, although the author of a loop's body expects it in the loop. */
static struct dfg_err *mixed(const struct framing *f, const struct dfg_node *node, uint32_t a, uint32_t b)
{
	const struct dfg_node *one = &f->graph->node[a], *two = &f->graph->node[b];
	const char *in_a = words(f, f->loops->of[a]), *in_b = words(f, f->loops->of[b]);
	const struct dfg_node *source = !one->n_in && !one->n_control ? one : two, *inside = source == one ? two : one;
	if (!source->n_in && !source->n_control && source->op && source->op->role != DFG_PLACEHOLDER)
		return DFG_ERR(DFG_DATA,
			NODE_WORDS
			"its inputs are in different frames: '%.200s' in %s, '%.200s' in %s; give '%.200s' a control "
			"input from the loop, such as '^%.200s', or bring it in through an Enter",
			NODE(node), one->name, in_a, two->name, in_b, source->name, inside->name);
	return DFG_ERR(DFG_DATA,
		NODE_WORDS
		"its inputs are in different frames: '%.200s' in %s, '%.200s' in %s; a value enters a loop through an "
		"Enter and leaves it through an Exit",
		NODE(node), one->name, in_a, two->name, in_b);
}

/* All inputs of a node must be in one frame. The deepest one is assumed to be the intended frame. */
static struct dfg_err *check_inputs(const struct framing *f, const struct dfg_node *node)
{
	const uint32_t *of = f->loops->of;
	uint32_t best = DFG_NONE, other = DFG_NONE;
	for (uint32_t e = 0; e < node->n_in + node->n_control; e++) {
		uint32_t from = node->in[e].node;
		if (!dfg_edge_brings(node, e) || dfg_edge_closes(f->graph, node, node->in[e]))
			continue;
		if (best != DFG_NONE && of[from] != of[best])
			other = f->loops->loop[of[from]].depth > f->loops->loop[of[best]].depth ? best : from;
		if (best == DFG_NONE || other == best)
			best = from;
	}
	return other == DFG_NONE ? NULL : mixed(f, node, best, other);
}

/* The number of iterations that may run in parallel, from the Enter; TensorFlow's default is 10. */
static int64_t window_of(const struct dfg_node *node)
{
	const struct dfg_attr *attr = dfg_node_attr(node, "parallel_iterations");
	return attr && attr->kind == DFG_ATTR_INT ? attr->value.i : 10;
}

static struct dfg_err *check_enter(const struct framing *f, uint32_t n)
{
	const struct dfg_node *node = &f->graph->node[n];
	const struct dfg_attr *name = dfg_node_attr(node, "frame_name");
	uint32_t number = f->loops->of[n], parent = node->n_in ? f->loops->of[node->in[0].node] : 0;
	const struct dfg_loop *loop = &f->loops->loop[number];
	int64_t window = window_of(node);
	if (!name || name->kind != DFG_ATTR_STRING)
		return NULL; /* reported by the check of attributes */
	const char *first = f->graph->node[loop->enter].name;
	if (loop->parent != parent)
		return DFG_ERR(DFG_DATA,
			NODE_WORDS "enters %s from %s, but '%.200s' enters it from %s; two loops need two frame names", NODE(node),
			words(f, number), words(f, parent), first, words(f, loop->parent));
	if (loop->window != window)
		return DFG_ERR(DFG_DATA, NODE_WORDS "parallel_iterations is %lld, but '%.200s', which enters %s too, has %lld",
			NODE(node), (long long)window, first, words(f, number), (long long)loop->window);
	return NULL;
}

bool dfg_counts_for_gradient(const struct dfg_node *node)
{
	return dfg_node_role(node) == DFG_LOOP_COND && strstr(node->name, "LoopCounter");
}

static struct dfg_err *check_one_condition(const struct framing *f, uint32_t n)
{
	const struct dfg_node *node = &f->graph->node[n];
	uint32_t loop = f->loops->of[n], other = f->loops->loop[loop].condition;
	if (!loop || other == n || other == DFG_NONE || dfg_counts_for_gradient(node) ||
		dfg_counts_for_gradient(&f->graph->node[other]))
		return NULL;
	return DFG_ERR(DFG_DATA,
		NODE_WORDS "%s has another LoopCond, '%.200s'; a loop has one LoopCond, and two loops need two frame names",
		NODE(node), words(f, loop), f->graph->node[other].name);
}

static struct dfg_err *in_no_loop(const struct dfg_node *node)
{
	return DFG_ERR(
		DFG_DATA, NODE_WORDS "is not in a loop: none of its inputs entered a frame through an Enter", NODE(node));
}

/* The LoopCond that the Switch's predicate comes from, through Identities; DFG_NONE if there is none. */
static uint32_t condition_of(const struct dfg_graph *graph, const struct dfg_node *node)
{
	enum { HOPS = 16 };
	uint32_t from = node->n_in > 1 ? node->in[1].node : DFG_NONE;
	for (int i = 0; i < HOPS && from != DFG_NONE; i++) {
		const struct dfg_node *maker = &graph->node[from];
		if (dfg_node_role(maker) == DFG_LOOP_COND)
			return from;
		from = dfg_node_role(maker) == DFG_IDENTITY && maker->n_in == 1 ? maker->in[0].node : DFG_NONE;
	}
	return DFG_NONE;
}

static struct dfg_err *check_exit(const struct framing *f, uint32_t n)
{
	const struct dfg_node *node = &f->graph->node[n];
	if (!home(f, n))
		return in_no_loop(node);
	if (!node->n_in)
		return NULL;
	struct dfg_edge side = dfg_exit_source(f->graph, node);
	const struct dfg_node *from = &f->graph->node[side.node];
	if (dfg_node_role(from) != DFG_SWITCH || side.port != 0)
		return DFG_ERR(DFG_DATA,
			NODE_WORDS
			"its input is '%.200s:%d' (%.100s), expected output 0 (false) of a Switch on the loop's LoopCond",
			NODE(node), from->name, side.port, from->op_name);
	if (condition_of(f->graph, from) == DFG_NONE && from->n_in > 1)
		return DFG_ERR(DFG_DATA,
			NODE_WORDS "leaves %s through '%.200s' (%.100s), whose predicate '%.200s' is not the loop's LoopCond",
			NODE(node), words(f, home(f, n)), from->name, from->op_name, f->graph->node[from->in[1].node].name);
	return NULL;
}

/* The entry input of a loop's Merge must be an Enter that is not constant. */
static struct dfg_err *check_way_in(const struct dfg_node *node, uint32_t input, const struct dfg_node *from)
{
	if (dfg_node_role(from) != DFG_ENTER)
		return DFG_ERR(DFG_DATA, NODE_WORDS "input %u is '%.200s' (%.100s), expected an Enter", NODE(node), input,
			from->name, from->op_name);
	if (dfg_is_constant_enter(from))
		return DFG_ERR(DFG_DATA,
			NODE_WORDS
			"input %u is '%.200s' (%.100s), an Enter with is_constant = true, which is live in every iteration "
			"and collides with the NextIteration; set is_constant = false",
			NODE(node), input, from->name, from->op_name);
	return NULL;
}

/* A loop's Merge has one Enter, one NextIteration and no control inputs. */
static struct dfg_err *check_merge(const struct framing *f, uint32_t n)
{
	const struct dfg_node *node = &f->graph->node[n];
	uint32_t backs = 0, last = 0;
	for (uint32_t i = 0; i < node->n_in; i++) {
		uint32_t from = node->in[i].node;
		if (!dfg_edge_closes(f->graph, node, node->in[i]))
			continue;
		backs++;
		last = i;
		if (node->n_in == 2 && f->loops->of[from] != f->loops->of[n])
			return DFG_ERR(DFG_DATA, NODE_WORDS "its NextIteration '%.200s' is in %s, not in %s", NODE(node),
				f->graph->node[from].name, words(f, f->loops->of[from]), words(f, f->loops->of[n]));
	}
	if (!backs)
		return NULL;
	if (backs > 1)
		return DFG_ERR(DFG_DATA, NODE_WORDS "has %u inputs from NextIteration, expected one", NODE(node), backs);
	if (node->n_in != 2)
		return DFG_ERR(DFG_DATA, NODE_WORDS "a loop's Merge has %u inputs, expected two: an Enter and a NextIteration",
			NODE(node), node->n_in);
	if (node->n_control)
		return DFG_ERR(DFG_DATA,
			NODE_WORDS
			"a loop's Merge cannot have control inputs, here '^%.200s': the loop's result would be lost where "
			"that node is dead; add the control input to '%.200s' instead",
			NODE(node), f->graph->node[node->in[node->n_in].node].name, f->graph->node[node->in[last].node].name);
	return check_way_in(node, 1 - last, &f->graph->node[node->in[1 - last].node]);
}

static struct dfg_err *check_next_iteration(const struct framing *f, uint32_t n)
{
	const struct dfg_node *node = &f->graph->node[n];
	uint32_t loop = f->loops->of[n];
	if (!loop)
		return in_no_loop(node);
	if (f->loops->loop[loop].condition == DFG_NONE)
		return DFG_ERR(DFG_DATA,
			NODE_WORDS "%s has no LoopCond, which marks the predicate that decides whether the loop continues",
			NODE(node), words(f, loop));
	return NULL;
}

/* Saves and Loads. */

/* The loop `levels` levels above; DFG_NONE if the nesting is less deep. */
static uint32_t above(const struct dfg_loops *loops, uint32_t loop, uint32_t levels)
{
	for (; levels; levels--) {
		if (!loop)
			return DFG_NONE;
		loop = loops->loop[loop].parent;
	}
	return loop;
}

/*
 * Numbers the loops in preorder, so that each loop and the loops within it are a range. Returns the start of each
 * loop's range, followed by the size of each range (2 * count entries).
 */
static uint32_t *loop_ranges(const struct framing *f)
{
	uint32_t count = f->loops->count;
	uint32_t *first = dfg_arena_zeros(f->scratch, (size_t)count * 3, sizeof *first);
	uint32_t *size = first + count, *next = size + count;
	if (!first)
		return NULL;
	for (uint32_t i = count - 1; i > 0; i--)
		size[f->loops->loop[i].parent] += ++size[i];
	size[0]++;
	next[0] = 1;
	for (uint32_t i = 1; i < count; i++) {
		uint32_t *at = &next[f->loops->loop[i].parent];
		first[i] = *at;
		next[i] = *at + 1;
		*at += size[i];
	}
	return first;
}

static struct dfg_err *check_load(const struct framing *f, uint32_t n, const uint32_t *first)
{
	const struct dfg_node *node = &f->graph->node[n];
	if (!node->n_in)
		return DFG_ERR(DFG_DATA, NODE_WORDS "has no inputs, expected a Save", NODE(node));
	if (dfg_node_role(&f->graph->node[node->in[0].node]) != DFG_SAVE)
		return DFG_ERR(DFG_DATA, NODE_WORDS "input 0 is '%.200s' (%.100s), expected a Save", NODE(node),
			NODE(&f->graph->node[node->in[0].node]));
	const struct dfg_node *save = &f->graph->node[node->in[0].node];
	if (node->n_in != save->n_in)
		return DFG_ERR(DFG_DATA, NODE_WORDS "has %u keys, but '%.200s' (%.100s) saves under %u keys", NODE(node),
			node->n_in - 1, NODE(save), save->n_in - 1);
	uint32_t own = home(f, n), region = above(f->loops, home(f, node->in[0].node), save->n_in - 1);
	if (region != DFG_NONE &&
		(first[own] < first[region] || first[own] >= first[region] + first[f->loops->count + region]))
		return DFG_ERR(DFG_DATA,
			NODE_WORDS "is in %s, but a value saved by '%.200s' (%.100s) under %u key%s can be loaded only in %s",
			NODE(node), words(f, own), NODE(save), save->n_in - 1, save->n_in == 2 ? "" : "s", words(f, region));
	return NULL;
}

/* A Save has one key for each loop between it and the region that contains its Loads. */
static struct dfg_err *check_save(const struct framing *f, uint32_t n)
{
	const struct dfg_node *node = &f->graph->node[n];
	uint32_t own = home(f, n), depth = f->loops->loop[own].depth;
	if (node->n_in && above(f->loops, own, node->n_in - 1) == DFG_NONE)
		return DFG_ERR(DFG_DATA, NODE_WORDS "has %u keys, but %s is nested only %u loop%s deep", NODE(node),
			node->n_in - 1, words(f, own), depth, dfg_plural(depth));
	return NULL;
}

/* The output of a Save is not a value: only a Load can read it. */
static struct dfg_err *check_stored(const struct framing *f, const struct dfg_node *node)
{
	for (uint32_t i = 0; i < node->n_in; i++) {
		const struct dfg_node *from = &f->graph->node[node->in[i].node];
		if (dfg_node_role(from) == DFG_SAVE && dfg_edge_brings(node, i))
			return DFG_ERR(DFG_DATA, NODE_WORDS "input %u is '%.200s' (%.100s), whose output only a Load can read",
				NODE(node), i, NODE(from));
	}
	return NULL;
}

static struct dfg_err *check_saves(const struct framing *f)
{
	uint32_t *first = loop_ranges(f);
	if (!first)
		return DFG_ERR(DFG_MEMORY, "no memory for %u frames", f->loops->count);
	for (uint32_t n = 0; n < f->graph->count && f->faults->left > 0; n++) {
		const struct dfg_node *node = &f->graph->node[n];
		if (dfg_node_role(node) == DFG_SAVE)
			dfg_fault(f->faults, check_save(f, n));
		if (dfg_node_role(node) == DFG_LOAD)
			dfg_fault(f->faults, check_load(f, n, first));
		dfg_fault(f->faults, check_stored(f, node));
	}
	return NULL;
}

static struct dfg_err *check_role(const struct framing *f, uint32_t n)
{
	switch (dfg_node_role(&f->graph->node[n])) {
	case DFG_ENTER:
		return check_enter(f, n);
	case DFG_EXIT:
		return check_exit(f, n);
	case DFG_MERGE:
		return check_merge(f, n);
	case DFG_LOOP_COND:
		return check_one_condition(f, n);
	case DFG_NEXT_ITERATION:
		return check_next_iteration(f, n);
	default:
		return NULL;
	}
}

struct dfg_err *dfg_frames_check(
	const struct dfg_graph *graph, const struct dfg_loops *loops, struct dfg_arena *scratch, struct dfg_faults *faults)
{
	struct framing f = {.graph = graph, .loops = loops, .faults = faults, .scratch = scratch};
	bool saves = false;
	for (uint32_t n = 0; n < graph->count && faults->left > 0; n++) {
		enum dfg_role role = dfg_node_role(&graph->node[n]);
		saves |= role == DFG_SAVE || role == DFG_LOAD;
		struct dfg_err *err = check_inputs(&f, &graph->node[n]);
		dfg_fault(faults, err ? err : check_role(&f, n));
	}
	return saves ? check_saves(&f) : NULL;
}
