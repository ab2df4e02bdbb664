#include "lib/pass/grad/recompute.h"

#include "lib/pass/verify/array_flow.h"
#include "lib/pass/grad/loop_segments.h"
#include "lib/pass/grad/tape.h"

#include <string.h>

enum { COPIED = 1024 }; /* a kind of keys after those of tape.c; their detail is the base */

/* An entry of the stack: a node to copy after its inputs. */
struct copy {
	struct dfg_edge edge;   /* one of its outputs */
	struct dfg_edge store;  /* of the Save to load from; .node DFG_NONE: the node is copied */
	struct dfg_edge *needs; /* the forward tensors that it reads, control inputs last */
	uint32_t n_needs, n_control, at;
};

/* A copied loop variable whose next value is copied at the end. */
struct later {
	uint32_t node, input; /* the copied Merge and its input */
	struct dfg_edge next;
};

struct copying {
	struct dfg_gradient_frames *m;
	uint32_t base;
	struct copy *stack;
	size_t depth, stack_capacity;
	struct later *later;
	size_t n_later, later_capacity;
};

static const struct dfg_node *node_of(const struct dfg_gradient_frames *m, uint32_t n)
{
	return &m->builder->graph->node[n];
}

static uint32_t loop_of(const struct dfg_gradient_frames *m, uint32_t n)
{
	return n < m->count ? m->loops.of[n] : m->location[n - m->count].loop;
}

uint32_t dfg_recompute_loop(const struct dfg_gradient_frames *m, uint32_t loop)
{
	for (; loop != m->region && loop; loop = m->loops.loop[loop].parent)
		if (m->segments[loop])
			return loop;
	return DFG_NONE;
}

/* Whether a node of the loop exists when an iteration begins, so that it is not copied. */
static bool begins(const struct dfg_gradient_frames *m, uint32_t base, uint32_t n)
{
	const struct dfg_node *node = node_of(m, n);
	switch (dfg_node_role(node)) {
	case DFG_ENTER:
	case DFG_LOOP_COND:
		return true;
	case DFG_MERGE:
		return m->counter[base].merge == n || (n < m->count && m->loops.variable[n] != DFG_NONE);
	case DFG_SWITCH:
		return node->in[1].node == m->loops.loop[base].condition;
	default:
		return false;
	}
}

static bool only_hands_on(const struct dfg_node *node)
{
	enum dfg_role role = dfg_node_role(node);
	return role == DFG_IDENTITY || role == DFG_SWITCH || dfg_is_constant_enter(node);
}

/* Whether only array ops use the array's handle: a loop that carried it would carry the original, not the copy. */
static bool stays(const struct dfg_gradient_frames *m, uint32_t array)
{
	for (uint32_t n = 0; n < m->count; n++) {
		const struct dfg_node *node = node_of(m, n);
		for (uint32_t e = 0; e < node->n_in && !dfg_has_flow(node) && !only_hands_on(node); e++) {
			const struct dfg_edge from = node->in[e];
			if (dfg_facts_of(&m->builder->facts, from)->dtype == DFG_RESOURCE &&
				dfg_live_source(m->builder->graph, from).node == array)
				return false;
		}
	}
	return true;
}

/* Whether the node uses an array that the iteration itself makes, so that a copy uses a copy of the array. */
static bool has_own_array(const struct dfg_gradient_frames *m, uint32_t base, uint32_t n)
{
	while (n < m->count && dfg_has_flow(node_of(m, n)) && dfg_loop_within(&m->loops, loop_of(m, n), base)) {
		const struct dfg_edge from = node_of(m, n)->in[0];
		if (dfg_facts_of(&m->builder->facts, from)->dtype != DFG_RESOURCE)
			return stays(m, n);
		if (!stays(m, n))
			return false;
		n = dfg_live_source(m->builder->graph, from).node;
	}
	return false;
}

static bool can_copy(const struct dfg_gradient_frames *m, uint32_t base, uint32_t n)
{
	const struct dfg_node *node = node_of(m, n);
	uint32_t loop = loop_of(m, n);
	if (!dfg_loop_within(&m->loops, loop, base) || (loop == base && begins(m, base, n)) || !node->op)
		return false;
	if (dfg_node_role(node) == DFG_SAVE)
		return dfg_loop_within(&m->loops, dfg_tape_region(m, n), base);
	if (dfg_node_role(node) == DFG_LOAD)
		return dfg_loop_within(&m->loops, dfg_tape_region(m, node->in[0].node), base);
	return !(node->op->flags & (DFG_STATEFUL | DFG_BLOCKING)) || has_own_array(m, base, n);
}

uint32_t dfg_recompute_base(const struct dfg_gradient_frames *m, struct dfg_edge edge)
{
	uint32_t base = dfg_recompute_loop(m, loop_of(m, edge.node));
	while (base != DFG_NONE && !can_copy(m, base, edge.node))
		base = dfg_recompute_loop(m, m->loops.loop[base].parent);
	return base == DFG_NONE ? m->region : base;
}

static struct dfg_edge_key key_of(const struct copying *c, struct dfg_edge edge)
{
	return (struct dfg_edge_key){edge, COPIED, c->base};
}

/* Takes a value that exists at the beginning of the iteration from gradient code. */
static struct dfg_err *begin_with(struct copying *c, struct dfg_edge edge)
{
	struct dfg_location location;
	struct dfg_edge mine;
	DFG_TRY(dfg_cotangent_location(c->m, edge, &location));
	DFG_TRY(dfg_gradient_frames_need(c->m, edge, &mine));
	DFG_TRY(dfg_gradient_frames_bring(c->m, mine, &location, &mine));
	return dfg_edge_map_put(&c->m->map, key_of(c, edge), mine);
}

/* Whether one of the remaining inputs has exactly the node's location, so that the copy is live where the node is. */
static struct dfg_err *is_placed(struct copying *c, const struct copy *copy, bool *out_placed)
{
	struct dfg_location own, its;
	enum dfg_role role = dfg_node_role(node_of(c->m, copy->edge.node));
	DFG_TRY(dfg_cotangent_location(c->m, copy->edge, &own));
	*out_placed = role == DFG_ENTER || role == DFG_EXIT;
	for (uint32_t i = 0; i < copy->n_needs && !*out_placed; i++) {
		DFG_TRY(dfg_cotangent_location(c->m, copy->needs[i], &its));
		*out_placed = its.loop == own.loop && its.set == own.set;
	}
	return NULL;
}

/* Adds a pivot if the node's location depended on a control input that is not copied. */
static struct dfg_err *add_copy(struct copying *c, struct copy *copy)
{
	struct dfg_location location;
	bool placed;
	DFG_TRY(is_placed(c, copy, &placed));
	if (placed)
		return NULL;
	DFG_TRY(dfg_cotangent_location(c->m, copy->edge, &location));
	location.in_gradient = false;
	copy->n_control++;
	return dfg_gradient_frames_pivot(c->m, &location, &copy->needs[copy->n_needs++]);
}

/* Lists the inputs to copy: all but those from a NextIteration, and control inputs only if they can be copied. */
static struct dfg_err *list_needs(struct copying *c, struct copy *copy)
{
	const struct dfg_node *node = node_of(c->m, copy->edge.node);
	bool lost = false;
	copy->needs = dfg_arena_zeros(&c->m->arena, (size_t)node->n_in + node->n_control + 1, sizeof *copy->needs);
	if (!copy->needs)
		return dfg_no_memory("inputs");
	for (uint32_t e = 0; e < node->n_in + node->n_control; e++) {
		bool waits = e >= node->n_in, copied = !waits || can_copy(c->m, c->base, node->in[e].node);
		lost |= !copied;
		if (!copied || dfg_edge_closes(c->m->builder->graph, node, node->in[e]))
			continue;
		copy->n_control += waits;
		copy->needs[copy->n_needs++] = node->in[e];
	}
	return lost ? add_copy(c, copy) : NULL;
}

static struct dfg_err *push_edge(struct copying *c, struct dfg_edge edge)
{
	struct copy copy = {.edge = edge, .store = {DFG_NONE, 0}};
	if (dfg_edge_map_find(&c->m->map, key_of(c, edge)))
		return NULL;
	bool copied = can_copy(c->m, c->base, edge.node);
	if (!copied && loop_of(c->m, edge.node) == c->base)
		return begin_with(c, edge);
	if (copied)
		DFG_TRY(list_needs(c, &copy));
	else
		DFG_TRY(dfg_tape_keep(c->m, edge, &copy.store, &copy.needs, &copy.n_needs));
	if (!dfg_reserve(&c->stack, &c->stack_capacity, c->depth + 1, sizeof *c->stack))
		return DFG_ERR(DFG_MEMORY, "no memory to compute '%.200s' again", node_of(c->m, edge.node)->name);
	c->stack[c->depth++] = copy;
	return NULL;
}

static struct dfg_edge mine(const struct copying *c, struct dfg_edge edge)
{
	const struct dfg_edge *copy = dfg_edge_map_find(&c->m->map, key_of(c, edge));
	return copy ? *copy : (struct dfg_edge){DFG_NONE, 0};
}

/* Copies the attributes, without marks of the node's purpose. In each copy a loop has a frame of its own. */
static struct dfg_err *copy_attrs(
	struct copying *c, const struct dfg_node *node, uint32_t loop, struct dfg_attr **out_attr, uint32_t *out_count)
{
	struct dfg_attr *attr = dfg_arena_zeros(&c->m->arena, (size_t)node->n_attr + 1, sizeof *attr);
	*out_attr = attr;
	*out_count = 0;
	if (!attr)
		return DFG_ERR(DFG_MEMORY, "no memory to compute '%.200s' again", node->name);
	for (uint32_t i = 0; i < node->n_attr; i++) {
		const char *frame;
		if (node->attr[i].name[0] == '_' && strcmp(node->attr[i].name, DFG_SEGMENTS))
			continue;
		attr[*out_count] = node->attr[i];
		if (dfg_node_role(node) == DFG_ENTER && !strcmp(node->attr[i].name, "frame_name")) {
			DFG_TRY(dfg_frame_name(c->m, loop, c->base, &frame));
			attr[*out_count].value.s = (struct dfg_string){frame, strlen(frame)};
		}
		++*out_count;
	}
	return NULL;
}

/* Builds a node at the location of the forward one's gradient. */
static struct dfg_err *build(
	struct copying *c, const struct copy *copy, struct dfg_new_node *want, uint32_t *out_number)
{
	struct dfg_gradient_frames *m = c->m;
	const struct dfg_location *outer = m->plain;
	const char *device = m->builder->device;
	struct dfg_location location;
	DFG_TRY(dfg_cotangent_location(m, (struct dfg_edge){copy->edge.node, 0}, &location));
	if (!(want->name = dfg_arena_path(&m->arena, m->prefix, node_of(m, copy->edge.node)->name)))
		return dfg_no_memory("a name");
	m->plain = &location;
	m->builder->device = node_of(m, copy->edge.node)->device;
	struct dfg_err *err = dfg_build(m->builder, want, out_number);
	m->builder->device = device;
	m->plain = outer;
	return err;
}

static struct dfg_err *note_later(struct copying *c, uint32_t copy, uint32_t input, struct dfg_edge next)
{
	if (!dfg_reserve(&c->later, &c->later_capacity, c->n_later + 1, sizeof *c->later))
		return dfg_no_memory("a loop");
	c->later[c->n_later++] = (struct later){copy, input, next};
	return NULL;
}

/* Records the copy, which has the facts of the node. */
static struct dfg_err *note_copy(struct copying *c, uint32_t node, uint32_t copy)
{
	struct dfg_facts *facts = &c->m->builder->facts;
	for (uint32_t p = 0; p < dfg_facts_outputs(facts, node); p++) {
		facts->fact[facts->first[copy] + p] = facts->fact[facts->first[node] + p];
		DFG_TRY(dfg_edge_map_put(
			&c->m->map, key_of(c, (struct dfg_edge){node, (int32_t)p}), (struct dfg_edge){copy, (int32_t)p}));
	}
	return dfg_edge_map_put(
		&c->m->map, key_of(c, (struct dfg_edge){node, DFG_CONTROL}), (struct dfg_edge){copy, DFG_CONTROL});
}

static struct dfg_err *copy_node(struct copying *c, const struct copy *copy)
{
	const struct dfg_node node = *node_of(c->m, copy->edge.node);
	struct dfg_edge *in = dfg_arena_zeros(&c->m->arena, (size_t)node.n_in + copy->n_control + 1, sizeof *in);
	struct dfg_new_node want = {.op = node.op_name, .in = in, .n_in = node.n_in, .n_control = copy->n_control};
	struct dfg_attr *attr;
	uint32_t number;
	if (!in)
		return dfg_no_memory("inputs");
	for (uint32_t e = 0; e < node.n_in; e++)
		in[e] = mine(c, node.in[e]);
	for (uint32_t i = 0; i < copy->n_control; i++)
		in[node.n_in + i] = mine(c, copy->needs[copy->n_needs - copy->n_control + i]);
	DFG_TRY(copy_attrs(c, &node, loop_of(c->m, copy->edge.node), &attr, &want.n_attr));
	want.attr = attr;
	DFG_TRY(build(c, copy, &want, &number));
	for (uint32_t e = 0; e < node.n_in; e++)
		if (dfg_edge_closes(c->m->builder->graph, &node, node.in[e]))
			DFG_TRY(note_later(c, number, e, node.in[e]));
	return note_copy(c, copy->edge.node, number);
}

static struct dfg_err *load_instead(struct copying *c, const struct copy *copy)
{
	struct dfg_gradient_frames *m = c->m;
	const struct dfg_attr type = DFG_ATTR_T("T", dfg_facts_of(&m->builder->facts, copy->store)->holds->dtype);
	struct dfg_edge *in = dfg_arena_zeros(&m->arena, (size_t)copy->n_needs + 1, sizeof *in);
	struct dfg_new_node want = {.op = "Dfg>Load", .in = in, .n_in = copy->n_needs + 1, .attr = &type, .n_attr = 1};
	struct dfg_edge loaded = {0, 0};
	if (!in)
		return dfg_no_memory("keys");
	in[0] = copy->store;
	for (uint32_t i = 0; i < copy->n_needs; i++)
		in[i + 1] = mine(c, copy->needs[i]);
	DFG_TRY(build(c, copy, &want, &loaded.node));
	return dfg_edge_map_put(&m->map, key_of(c, copy->edge), loaded);
}

/* Copies the tensor's node after all nodes that it depends on, except through a NextIteration. */
static struct dfg_err *copy_tree(struct copying *c, struct dfg_edge edge)
{
	DFG_TRY(push_edge(c, edge));
	while (c->depth) {
		struct copy *top = &c->stack[c->depth - 1];
		if (top->at < top->n_needs) {
			DFG_TRY(push_edge(c, top->needs[top->at++]));
			continue;
		}
		const struct copy copy = *top;
		c->depth--;
		DFG_TRY(copy.store.node == DFG_NONE ? copy_node(c, &copy) : load_instead(c, &copy));
	}
	return NULL;
}

static struct dfg_err *copy_all(struct copying *c, struct dfg_edge edge)
{
	DFG_TRY(copy_tree(c, edge));
	for (size_t i = 0; i < c->n_later; i++) {
		const struct later later = c->later[i];
		DFG_TRY(copy_tree(c, later.next));
		c->m->builder->graph->node[later.node].in[later.input] = mine(c, later.next);
	}
	return NULL;
}

struct dfg_err *dfg_recompute_copy(
	struct dfg_gradient_frames *m, uint32_t base, struct dfg_edge edge, struct dfg_edge *out_edge)
{
	struct copying c = {.m = m, .base = base};
	struct dfg_err *err = copy_all(&c, edge);
	dfg_free(c.stack);
	dfg_free(c.later);
	*out_edge = mine(&c, edge);
	return err;
}
