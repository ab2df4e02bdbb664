#include "lib/pass/frames.h"

#include "lib/pass/cycle.h"

#include <string.h>

enum { ROOT };

struct frame {
	uint32_t enter; /* the first */
	uint32_t parent;
	int64_t window;
	uint32_t condition; /* its LoopCond, or DFG_NONE */
};

struct frames {
	const struct dfg_graph *graph;
	struct dfg_faults *faults;
	struct dfg_map names; /* number of a name + 1 = number of its frame */
	struct frame *frame;
	uint32_t *out; /* by node: the frame that its outputs are in */
};

static enum dfg_role role_of(const struct dfg_node *node)
{
	return node->op ? node->op->role : DFG_PLAIN;
}

static const char *frame_words(const struct frames *f, uint32_t frame)
{
	return frame == ROOT ? "the root" : f->graph->node[f->frame[frame].enter].name;
}

#define NODE_WORDS "node '%.200s' (%.100s): "

/* From a Save to a Load: such an edge carries nothing, so may leave a frame. */
static bool is_stored(const struct dfg_graph *graph, const struct dfg_node *node, uint32_t e)
{
	return e == 0 && node->n_in && role_of(node) == DFG_LOAD && role_of(&graph->node[node->in[0].node]) == DFG_SAVE;
}

/* The frame that all inputs are in; a node without inputs stands in the root. */
static uint32_t frame_of_inputs(struct frames *f, const struct dfg_node *node)
{
	uint32_t frame = DFG_NONE, first = 0;
	for (uint32_t e = 0; e < node->n_in + node->n_control; e++) {
		uint32_t from = node->in[e].node;
		if (dfg_edge_goes_back(f->graph, node, node->in[e]) || is_stored(f->graph, node, e))
			continue;
		if (frame == DFG_NONE) {
			frame = f->out[from];
			first = from;
		} else if (f->out[from] != frame) {
			dfg_fault(f->faults, DFG_ERR(DFG_DATA,
									 NODE_WORDS "its inputs are in different frames: '%.200s' in that of '%.200s', "
												"'%.200s' in that of '%.200s'",
									 node->name, node->op_name, f->graph->node[first].name, frame_words(f, frame),
									 f->graph->node[from].name, frame_words(f, f->out[from])));
			break;
		}
	}
	return frame == DFG_NONE ? ROOT : frame;
}

/* The window of iterations that an Enter asks for; TensorFlow's default is 10. */
static int64_t window_of(const struct dfg_node *node)
{
	const struct dfg_attr *attr = dfg_node_attr(node, "parallel_iterations");
	return attr && attr->kind == DFG_ATTR_INT ? attr->value.i : 10;
}

static struct dfg_err *enter(struct frames *f, uint32_t n, uint32_t parent, uint32_t *out_frame)
{
	const struct dfg_node *node = &f->graph->node[n];
	const struct dfg_attr *name = dfg_node_attr(node, "frame_name");
	int64_t window = window_of(node);
	uint32_t number;
	bool is_new;
	*out_frame = parent;
	if (!name || name->kind != DFG_ATTR_STRING || !name->value.s.length)
		return DFG_ERR(DFG_DATA, NODE_WORDS "has an empty frame_name", node->name, node->op_name);
	if (window < 1 || window > INT32_MAX)
		return DFG_ERR(DFG_DATA, NODE_WORDS "parallel_iterations is %lld, must be 1 or more", node->name, node->op_name,
			(long long)window);
	if (!dfg_map_put(&f->names, name->value.s.s, name->value.s.length, &number, &is_new))
		return DFG_ERR(DFG_MEMORY, "no memory for frames");
	struct frame *frame = &f->frame[number + 1];
	if (is_new)
		*frame = (struct frame){n, parent, window, DFG_NONE};
	*out_frame = number + 1;
	if (frame->parent != parent)
		return DFG_ERR(DFG_DATA,
			NODE_WORDS "enters the frame of '%.200s' from another frame: that of '%.200s', not '%.200s'", node->name,
			node->op_name, f->graph->node[frame->enter].name, frame_words(f, parent), frame_words(f, frame->parent));
	if (frame->window != window)
		return DFG_ERR(DFG_DATA,
			NODE_WORDS "parallel_iterations is %lld, but that of '%.200s', of the same frame, is %lld", node->name,
			node->op_name, (long long)window, f->graph->node[frame->enter].name, (long long)frame->window);
	return NULL;
}

static struct dfg_err *leave(struct frames *f, const struct dfg_node *node, uint32_t frame, uint32_t *out_frame)
{
	*out_frame = f->frame[frame].parent;
	if (frame == ROOT)
		return DFG_ERR(DFG_DATA, NODE_WORDS "stands in no loop", node->name, node->op_name);
	if (!node->n_in)
		return NULL;
	const struct dfg_node *from = &f->graph->node[node->in[0].node];
	if (role_of(from) != DFG_SWITCH || node->in[0].port != 0)
		return DFG_ERR(DFG_DATA, NODE_WORDS "its input '%.200s:%d' (%.100s) must be the false side of a Switch",
			node->name, node->op_name, from->name, node->in[0].port, from->op_name);
	return NULL;
}

/* Loops that TensorFlow's gradients count with share the frame of the loop they mirror; it tells them by this word. */
static bool counts_for_gradient(const struct dfg_node *node)
{
	return strstr(node->name, "LoopCounter") != NULL;
}

static struct dfg_err *condition(struct frames *f, uint32_t n, uint32_t frame)
{
	const struct dfg_node *node = &f->graph->node[n];
	if (frame == ROOT || counts_for_gradient(node))
		return NULL;
	uint32_t other = f->frame[frame].condition;
	if (other != DFG_NONE)
		return DFG_ERR(DFG_DATA, NODE_WORDS "its frame has another LoopCond, '%.200s'", node->name, node->op_name,
			f->graph->node[other].name);
	f->frame[frame].condition = n;
	return NULL;
}

static struct dfg_err *place(struct frames *f, uint32_t n)
{
	const struct dfg_node *node = &f->graph->node[n];
	uint32_t frame = frame_of_inputs(f, node);
	f->out[n] = frame;
	switch (role_of(node)) {
	case DFG_ENTER:
		return enter(f, n, frame, &f->out[n]);
	case DFG_EXIT:
		return leave(f, node, frame, &f->out[n]);
	case DFG_LOOP_COND:
		return condition(f, n, frame);
	case DFG_NEXT_ITERATION:
		if (frame == ROOT)
			return DFG_ERR(DFG_DATA, NODE_WORDS "stands in no loop", node->name, node->op_name);
		return NULL;
	default:
		return NULL;
	}
}

/* A Merge that a loop comes back to has one way in, one way back, and waits for nothing else. */
static struct dfg_err *check_merge(const struct frames *f, uint32_t n)
{
	const struct dfg_node *node = &f->graph->node[n];
	uint32_t backs = 0;
	for (uint32_t i = 0; i < node->n_in; i++) {
		uint32_t from = node->in[i].node;
		if (!dfg_edge_goes_back(f->graph, node, node->in[i]))
			continue;
		backs++;
		if (f->out[from] != f->out[n])
			return DFG_ERR(DFG_DATA,
				NODE_WORDS "comes back from '%.200s', which is in the frame of '%.200s', not '%.200s'", node->name,
				node->op_name, f->graph->node[from].name, frame_words(f, f->out[from]), frame_words(f, f->out[n]));
	}
	if (!backs)
		return NULL;
	if (backs > 1)
		return DFG_ERR(
			DFG_DATA, NODE_WORDS "has %u inputs from NextIteration, must have one", node->name, node->op_name, backs);
	if (node->n_control)
		return DFG_ERR(DFG_DATA, NODE_WORDS "a loop's Merge cannot have control inputs, '^%.200s'", node->name,
			node->op_name, f->graph->node[node->in[node->n_in].node].name);
	for (uint32_t i = 0; i < node->n_in; i++) {
		const struct dfg_node *from = &f->graph->node[node->in[i].node];
		if (role_of(from) != DFG_NEXT_ITERATION && role_of(from) != DFG_ENTER)
			return DFG_ERR(DFG_DATA, NODE_WORDS "input %u is '%.200s' (%.100s), must be an Enter", node->name,
				node->op_name, i, from->name, from->op_name);
	}
	return NULL;
}

struct dfg_err *dfg_frames_check(
	const struct dfg_graph *graph, const uint32_t *order, struct dfg_arena *scratch, struct dfg_faults *faults)
{
	uint32_t enters = 0;
	for (uint32_t n = 0; n < graph->count; n++)
		enters += role_of(&graph->node[n]) == DFG_ENTER;
	struct frames f = {
		.graph = graph,
		.faults = faults,
		.frame = dfg_arena_zeros(scratch, (size_t)enters + 1, sizeof *f.frame),
		.out = dfg_arena_zeros(scratch, graph->count, sizeof *f.out),
	};
	if (!f.frame || !f.out)
		return DFG_ERR(DFG_MEMORY, "no memory for the frames of %u nodes", graph->count);
	for (uint32_t i = 0; i < graph->count && faults->left > 0; i++)
		dfg_fault(faults, place(&f, order ? order[i] : i));
	for (uint32_t n = 0; n < graph->count && faults->left > 0; n++)
		if (role_of(&graph->node[n]) == DFG_MERGE)
			dfg_fault(faults, check_merge(&f, n));
	dfg_map_release(&f.names);
	return NULL;
}
