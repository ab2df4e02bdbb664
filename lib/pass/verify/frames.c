#include "lib/pass/verify/frames.h"

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

/* A value made from nothing stands in the root, where nobody who writes a loop's body means it to stand. */
static struct dfg_err *mixed(const struct framing *f, const struct dfg_node *node, uint32_t a, uint32_t b)
{
	const struct dfg_node *one = &f->graph->node[a], *two = &f->graph->node[b];
	const char *in_a = words(f, f->loops->of[a]), *in_b = words(f, f->loops->of[b]);
	const struct dfg_node *source = !one->n_in && !one->n_control ? one : two, *inside = source == one ? two : one;
	if (!source->n_in && !source->n_control && source->op && source->op->role != DFG_PLACEHOLDER)
		return DFG_ERR(DFG_DATA,
			NODE_WORDS
			"its inputs are in different frames: '%.200s' in %s, '%.200s' in %s; give '%.200s' a control "
			"input from the loop, such as '^%.200s', or let it in by an Enter",
			NODE(node), one->name, in_a, two->name, in_b, source->name, inside->name);
	return DFG_ERR(DFG_DATA,
		NODE_WORDS
		"its inputs are in different frames: '%.200s' in %s, '%.200s' in %s; a value comes into a loop by an "
		"Enter and out of it by an Exit",
		NODE(node), one->name, in_a, two->name, in_b);
}

/* All inputs of a node are in one frame: the deepest of them is the one that was meant. */
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

/* The window of iterations that an Enter asks for; TensorFlow's default is 10. */
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
		return NULL; /* told as any attribute that is wrong */
	const char *first = f->graph->node[loop->enter].name;
	if (loop->parent != parent)
		return DFG_ERR(DFG_DATA,
			NODE_WORDS "enters %s from %s, but '%.200s' enters it from %s; two loops need two frame names", NODE(node),
			words(f, number), words(f, parent), first, words(f, loop->parent));
	if (loop->window != window)
		return DFG_ERR(DFG_DATA,
			NODE_WORDS "parallel_iterations is %lld, but that of '%.200s', which enters %s too, is %lld", NODE(node),
			(long long)window, first, words(f, number), (long long)loop->window);
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
		NODE_WORDS "%s has another LoopCond, '%.200s'; a loop has one, and two loops need two frame names", NODE(node),
		words(f, loop), f->graph->node[other].name);
}

static struct dfg_err *in_no_loop(const struct dfg_node *node)
{
	return DFG_ERR(DFG_DATA, NODE_WORDS "stands in no loop: nothing that it reads came in by an Enter", NODE(node));
}

/* The LoopCond that the Switch goes by, through Identities; DFG_NONE where it is none. */
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
			NODE_WORDS "its input '%.200s:%d' (%.100s) must be the false side of a Switch on the loop's LoopCond",
			NODE(node), from->name, side.port, from->op_name);
	if (condition_of(f->graph, from) == DFG_NONE && from->n_in > 1)
		return DFG_ERR(DFG_DATA,
			NODE_WORDS "leaves %s by '%.200s' (%.100s), whose predicate '%.200s' is not the loop's LoopCond",
			NODE(node), words(f, home(f, n)), from->name, from->op_name, f->graph->node[from->in[1].node].name);
	return NULL;
}

/* What stands at the one way in. */
static struct dfg_err *check_way_in(const struct dfg_node *node, uint32_t input, const struct dfg_node *from)
{
	if (dfg_node_role(from) != DFG_ENTER)
		return DFG_ERR(DFG_DATA, NODE_WORDS "input %u is '%.200s' (%.100s), must be an Enter", NODE(node), input,
			from->name, from->op_name);
	if (dfg_is_constant_enter(from))
		return DFG_ERR(DFG_DATA,
			NODE_WORDS
			"input %u is '%.200s' (%.100s), which comes in every iteration (is_constant), as what the loop "
			"comes back with does",
			NODE(node), input, from->name, from->op_name);
	return NULL;
}

/* A Merge that a loop comes back to has one way in, one way back, and waits for nothing else. */
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
			return DFG_ERR(DFG_DATA, NODE_WORDS "comes back from '%.200s', which is in %s, not in %s", NODE(node),
				f->graph->node[from].name, words(f, f->loops->of[from]), words(f, f->loops->of[n]));
	}
	if (!backs)
		return NULL;
	if (backs > 1)
		return DFG_ERR(DFG_DATA, NODE_WORDS "has %u inputs from NextIteration, must have one", NODE(node), backs);
	if (node->n_in != 2)
		return DFG_ERR(DFG_DATA, NODE_WORDS "a loop's Merge has %u inputs, must have two: an Enter and a NextIteration",
			NODE(node), node->n_in);
	if (node->n_control)
		return DFG_ERR(DFG_DATA,
			NODE_WORDS
			"a loop's Merge cannot have control inputs, here '^%.200s': the loop would lose its result where "
			"that is dead; let '%.200s' have it",
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
			NODE_WORDS "%s has no LoopCond, which marks the predicate that says how long it goes on", NODE(node),
			words(f, loop));
	return NULL;
}

/* Saves and Loads. */

/* The loop so many levels above; DFG_NONE where there are not as many. */
static uint32_t above(const struct dfg_loops *loops, uint32_t loop, uint32_t levels)
{
	for (; levels; levels--) {
		if (!loop)
			return DFG_NONE;
		loop = loops->loop[loop].parent;
	}
	return loop;
}

/* Loops numbered so that each encloses a range: where that begins, and behind all of these, how many loops it has. */
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
	if (!node->n_in || dfg_node_role(&f->graph->node[node->in[0].node]) != DFG_SAVE)
		return DFG_ERR(DFG_DATA, NODE_WORDS "input 0 must be a Save", NODE(node));
	const struct dfg_node *save = &f->graph->node[node->in[0].node];
	if (node->n_in != save->n_in)
		return DFG_ERR(DFG_DATA, NODE_WORDS "has %u keys, but '%.200s' (%.100s) saves under %u", NODE(node),
			node->n_in - 1, NODE(save), save->n_in - 1);
	uint32_t own = home(f, n), region = above(f->loops, home(f, node->in[0].node), save->n_in - 1);
	if (region != DFG_NONE &&
		(first[own] < first[region] || first[own] >= first[region] + first[f->loops->count + region]))
		return DFG_ERR(DFG_DATA,
			NODE_WORDS "is in %s, but what '%.200s' (%.100s) saves under %u key%s can be loaded in %s only", NODE(node),
			words(f, own), NODE(save), save->n_in - 1, save->n_in == 2 ? "" : "s", words(f, region));
	return NULL;
}

/* A key for each loop between the Save and the region, where its Loads are. */
static struct dfg_err *check_save(const struct framing *f, uint32_t n)
{
	const struct dfg_node *node = &f->graph->node[n];
	uint32_t own = home(f, n), depth = f->loops->loop[own].depth;
	if (node->n_in && above(f->loops, own, node->n_in - 1) == DFG_NONE)
		return DFG_ERR(DFG_DATA, NODE_WORDS "has %u keys, but %s is %u loop%s deep", NODE(node), node->n_in - 1,
			words(f, own), depth, depth == 1 ? "" : "s");
	return NULL;
}

/* What comes out of a Save is no value: only a Load can read it. */
static struct dfg_err *check_stored(const struct framing *f, const struct dfg_node *node)
{
	for (uint32_t i = 0; i < node->n_in; i++) {
		const struct dfg_node *from = &f->graph->node[node->in[i].node];
		if (dfg_node_role(from) == DFG_SAVE && dfg_edge_brings(node, i))
			return DFG_ERR(DFG_DATA, NODE_WORDS "input %u is '%.200s' (%.100s), which only a Load can read", NODE(node),
				i, NODE(from));
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
