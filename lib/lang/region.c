#include "lib/lang/region_private.h"

#include "lib/lang/eval_private.h"
#include "lib/lang/loop_private.h"
#include "lib/lang/materialise_private.h"

#include <string.h>

struct dfg_region *dfg_region_of(const struct dfg_eval *eval, struct dfg_edge edge)
{
	return edge.node < eval->n_region ? eval->region_by_port[2 * (size_t)edge.node + (edge.port == 1)] : NULL;
}

static struct dfg_err *note(struct dfg_eval *eval, uint32_t node, struct dfg_region *port_0, struct dfg_region *port_1)
{
	size_t capacity = eval->region_capacity;
	if (!port_0 && !port_1 && node >= eval->n_region)
		return NULL;
	if (!dfg_reserve(
			&eval->region_by_port, &eval->region_capacity, 2 * ((size_t)node + 1), sizeof *eval->region_by_port))
		return dfg_no_memory("a loop or branch");
	memset(eval->region_by_port + capacity, 0, (eval->region_capacity - capacity) * sizeof *eval->region_by_port);
	eval->region_by_port[2 * (size_t)node] = port_0;
	eval->region_by_port[2 * (size_t)node + 1] = port_1;
	if (node >= eval->n_region)
		eval->n_region = node + 1;
	return NULL;
}

struct dfg_err *dfg_region_note(struct dfg_eval *eval, uint32_t node, struct dfg_region *region)
{
	return note(eval, node, region, region);
}

struct dfg_err *dfg_region_new(
	struct dfg_eval *eval, struct dfg_branch *branch, int32_t side, struct dfg_region **out_region)
{
	struct dfg_region *region = dfg_arena_zeros(eval->arena, 1, sizeof *region);
	if (!region)
		return dfg_no_memory("a loop or branch");
	region->outer = eval->region;
	region->branch = branch;
	region->side = side;
	region->control = eval->builder->control;
	region->n_control = eval->builder->n_control;
	region->pivot = DFG_NONE;
	*out_region = region;
	return NULL;
}

bool dfg_region_within(const struct dfg_region *a, const struct dfg_region *b)
{
	while (a && a != b)
		a = a->outer;
	return a == b;
}

struct dfg_region *dfg_region_frame(struct dfg_region *region)
{
	while (region && region->branch)
		region = region->outer;
	return region;
}

/* Takes the control inputs of an outer region: those at the beginning of its region that contains the present one. */
static void take_outer_control(struct dfg_eval *eval, const struct dfg_region *region)
{
	const struct dfg_region *door = eval->region;
	while (door->outer != region)
		door = door->outer;
	eval->builder->control = door->control;
	eval->builder->n_control = door->n_control;
}

void dfg_region_go(struct dfg_eval *eval, struct dfg_region *region, struct dfg_saved_region *out_saved)
{
	struct dfg_builder *builder = eval->builder;
	*out_saved = (struct dfg_saved_region){
		eval->region, builder->control, builder->n_control, eval->asserts, eval->after, false};
	out_saved->continues =
		region == eval->region || (region && region->outer == eval->region && region->branch && !region->loop);
	if (!out_saved->continues) {
		eval->asserts = eval->after = (struct dfg_nodes){0};
		if (dfg_region_within(eval->region, region))
			take_outer_control(eval, region);
		else
			builder->n_control = 0;
	}
	if (region && region->is_left) {
		builder->control = region->inside;
		builder->n_control = region->n_inside;
	}
	eval->region = region;
}

void dfg_region_back(struct dfg_eval *eval, struct dfg_saved_region *saved)
{
	struct dfg_region *left = eval->region;
	if (left && dfg_region_within(left, saved->region) && left != saved->region) {
		left->is_left = true;
		left->inside = eval->builder->control;
		left->n_inside = eval->builder->n_control;
	}
	if (saved->continues) {
		eval->asserts.n = saved->asserts.n;
		eval->after.n = saved->after.n;
	} else {
		dfg_free(eval->asserts.node);
		dfg_free(eval->after.node);
		eval->asserts = saved->asserts;
		eval->after = saved->after;
	}
	eval->region = saved->region;
	eval->builder->control = saved->control;
	eval->builder->n_control = saved->n_control;
}

static struct dfg_err *build_after(struct dfg_eval *eval, const struct dfg_new_node *want, struct dfg_region *region,
	const struct dfg_region *door, uint32_t *out_node)
{
	struct dfg_builder *builder = eval->builder;
	const uint32_t *control = builder->control, n_control = builder->n_control;
	builder->control = door ? door->control : NULL;
	builder->n_control = door ? door->n_control : 0;
	struct dfg_err *err = dfg_eval_build_as_is(eval, want, DFG_NAME_NONE, out_node);
	builder->control = control;
	builder->n_control = n_control;
	return err ? err : dfg_region_note(eval, *out_node, region);
}

struct dfg_err *dfg_region_build(
	struct dfg_eval *eval, const struct dfg_new_node *want, struct dfg_region *region, uint32_t *out_node)
{
	return build_after(eval, want, region, NULL, out_node);
}

struct dfg_err *dfg_region_effect(struct dfg_eval *eval, uint32_t node)
{
	struct dfg_nodes *effects = &eval->region->effects;
	if (effects->n == effects->capacity) {
		size_t capacity = effects->capacity ? effects->capacity * 2 : 4;
		uint32_t *grown = dfg_arena_zeros(eval->arena, capacity, sizeof *grown);
		if (!grown)
			return dfg_no_memory("a loop or branch");
		if (effects->n)
			memcpy(grown, effects->node, effects->n * sizeof *grown);
		*effects = (struct dfg_nodes){grown, effects->n, capacity};
	}
	effects->node[effects->n++] = node;
	return NULL;
}

struct sought {
	const struct dfg_captures *captures;
	struct dfg_edge from;
};

static bool is_sought(const void *arg, uint32_t item)
{
	const struct sought *sought = arg;
	return dfg_edge_same(sought->captures->item[item].from, sought->from);
}

static uint32_t hash_of(struct dfg_edge edge)
{
	return (edge.node ^ (uint32_t)edge.port << 24) * 0x9e3779b1u;
}

static uint32_t captured(const struct dfg_captures *captures, struct dfg_edge edge)
{
	const struct sought sought = {captures, edge};
	uint32_t at = dfg_index_find(&captures->index, hash_of(edge), is_sought, &sought);
	return at == UINT32_MAX ? DFG_NONE : captures->item[at].node;
}

static struct dfg_err *add_capture(
	struct dfg_eval *eval, struct dfg_captures *captures, struct dfg_edge from, uint32_t node)
{
	if (captures->n == captures->capacity) {
		uint32_t capacity = captures->capacity ? captures->capacity * 2 : 4;
		struct dfg_capture *item = dfg_arena_zeros(eval->arena, capacity, sizeof *item);
		if (!item)
			return dfg_no_memory("a loop or branch");
		if (captures->n)
			memcpy(item, captures->item, captures->n * sizeof *item);
		captures->item = item;
		captures->capacity = capacity;
	}
	captures->item[captures->n] = (struct dfg_capture){from, node};
	return dfg_index_add(eval->arena, &captures->index, hash_of(from), captures->n++);
}

/*
 * All Enters of a frame must be live together, so an invariant from outside a body enters an inner loop only where the
 * body runs.
 */
struct dfg_err *dfg_region_enter(
	struct dfg_eval *eval, struct dfg_edge edge, struct dfg_region *frame, bool is_constant, struct dfg_edge *out_edge)
{
	struct dfg_attr attr[] = {DFG_ATTR_S("frame_name", frame->frame_name), DFG_ATTR_B("is_constant", is_constant),
		DFG_ATTR_I("parallel_iterations", frame->window)};
	struct dfg_edge in[2] = {edge, {0, DFG_CONTROL}};
	bool is_ref = is_constant && dfg_eval_fact(eval, edge)->is_ref;
	struct dfg_new_node want = {.op = is_ref ? "RefEnter" : "Enter", .in = in, .n_in = 1, .attr = attr, .n_attr = 3};
	*out_edge = (struct dfg_edge){0, 0};
	if (frame->outer && frame->outer->branch && dfg_region_of(eval, edge) != frame->outer) {
		DFG_TRY(dfg_region_pivot(eval, frame->outer, &in[1].node));
		want.n_control = 1;
	}
	return build_after(eval, &want, frame, frame, &out_edge->node);
}

static struct dfg_err *enter_once(
	struct dfg_eval *eval, struct dfg_edge edge, struct dfg_region *frame, struct dfg_edge *out_edge)
{
	*out_edge = (struct dfg_edge){captured(&frame->entered, edge), 0};
	if (out_edge->node != DFG_NONE)
		return NULL;
	DFG_TRY(dfg_region_enter(eval, edge, frame, true, out_edge));
	return add_capture(eval, &frame->entered, edge, out_edge->node);
}

/* The Switch of a carried value, or DFG_NONE. */
static uint32_t switch_of_carried(const struct dfg_region *region, struct dfg_edge edge)
{
	const struct dfg_lang_loop *loop = region->loop;
	for (uint32_t i = 0; loop && i < loop->n; i++)
		if (loop->carried[i].merge.node == edge.node && edge.port == 0)
			return loop->carried[i].branch;
	return loop && loop->counter.merge.node == edge.node && edge.port == 0 ? loop->counter.branch : DFG_NONE;
}

static struct dfg_err *switch_once(
	struct dfg_eval *eval, struct dfg_edge edge, struct dfg_region *arm, struct dfg_edge *out_edge)
{
	struct dfg_branch *branch = arm->branch;
	uint32_t node = captured(&branch->switched, edge);
	if (node == DFG_NONE)
		node = switch_of_carried(arm, edge);
	*out_edge = (struct dfg_edge){node, arm->side};
	if (node != DFG_NONE)
		return NULL;
	struct dfg_edge in[] = {edge, branch->predicate};
	bool is_ref = dfg_eval_fact(eval, edge)->is_ref;
	struct dfg_new_node want = {.op = is_ref ? "RefSwitch" : "Switch", .in = in, .n_in = 2};
	DFG_TRY(dfg_region_build(eval, &want, NULL, &node));
	DFG_TRY(note(eval, node, branch->arm[0], branch->arm[1]));
	out_edge->node = node;
	return add_capture(eval, &branch->switched, edge, node);
}

static bool has_role(const struct dfg_eval *eval, struct dfg_edge edge, enum dfg_role role)
{
	const struct dfg_op *op = eval->builder->graph->node[edge.node].op;
	return op && op->role == role;
}

struct dfg_err *dfg_region_bring(
	struct dfg_eval *eval, struct dfg_edge edge, struct dfg_region *region, struct dfg_edge *out_edge)
{
	*out_edge = edge;
	if (dfg_region_of(eval, edge) == region)
		return NULL;
	if (!region)
		return DFG_ERR(DFG_DATA, "a value of a loop or branch is read outside of it");
	DFG_TRY(dfg_eval_check_stack());
	DFG_TRY(dfg_region_bring(eval, edge, region->outer, &edge));
	*out_edge = edge;
	if (!region->branch)
		return enter_once(eval, edge, region, out_edge);
	bool is_invariant = region->loop && has_role(eval, edge, DFG_ENTER);
	return is_invariant ? NULL : switch_once(eval, edge, region, out_edge);
}

struct dfg_err *dfg_region_anchor(struct dfg_eval *eval, struct dfg_edge edge, struct dfg_edge *out_edge)
{
	struct dfg_region *region = eval->region;
	DFG_TRY(dfg_region_bring(eval, edge, region, out_edge));
	bool is_anchored = !region || !region->branch || dfg_region_of(eval, *out_edge) == region;
	return is_anchored ? NULL : switch_once(eval, *out_edge, region, out_edge);
}

/*
 * Brings an input of a node. A constant of the root gets no Switch: another input of the node decides whether it runs.
 */
static struct dfg_err *bring_input(struct dfg_eval *eval, struct dfg_edge edge, struct dfg_edge *out_edge)
{
	struct dfg_region *region = eval->region;
	if (has_role(eval, edge, DFG_CONST) && !dfg_region_of(eval, edge))
		region = dfg_region_frame(region);
	return dfg_region_bring(eval, edge, region, out_edge);
}

static struct dfg_err *make_pivot(struct dfg_eval *eval, struct dfg_region *region)
{
	struct dfg_lang_loop *loop = region->loop;
	struct dfg_carried *carried = loop && loop->n ? &loop->carried[0] : loop ? &loop->counter : NULL;
	struct dfg_edge in;
	bool is_carried = carried && carried->merge.node != DFG_NONE;
	if (!region->branch && is_carried) {
		region->pivot = carried->merge.node;
		return NULL;
	}
	if (!region->branch) {
		DFG_TRY(dfg_to_edge(eval, &DFG_BOOLEAN(true), DFG_BOOL, &in));
		DFG_TRY(dfg_region_bring(eval, in, region, &in));
		region->pivot = in.node;
		return NULL;
	}
	in = is_carried ? carried->inside : region->branch->predicate;
	DFG_TRY(is_carried ? NULL : switch_once(eval, in, region, &in));
	struct dfg_new_node want = {.op = "Identity", .in = &in, .n_in = 1};
	return dfg_region_build(eval, &want, region, &region->pivot);
}

struct dfg_err *dfg_region_pivot(struct dfg_eval *eval, struct dfg_region *region, uint32_t *out_node)
{
	if (region->pivot == DFG_NONE)
		DFG_TRY(make_pivot(eval, region));
	*out_node = region->pivot;
	return NULL;
}

static bool is_node(const void *arg, uint32_t item)
{
	return *(const uint32_t *)arg == item;
}

static bool is_constant_enter(const struct dfg_eval *eval, uint32_t node)
{
	const struct dfg_attr *constant = dfg_node_attr(&eval->builder->graph->node[node], "is_constant");
	return has_role(eval, (struct dfg_edge){node, 0}, DFG_ENTER) && constant && constant->value.b;
}

/* Whether all inputs of a node of a loop's condition are the same in every iteration. */
static bool reads_unchanged(const struct dfg_eval *eval, const struct dfg_new_node *want)
{
	for (uint32_t i = 0; i < want->n_in + want->n_control; i++) {
		uint32_t node = want->in[i].node;
		if (!is_constant_enter(eval, node) &&
			dfg_index_find(&eval->unchanged, node * 0x9e3779b1u, is_node, &node) == UINT32_MAX)
			return false;
	}
	return true;
}

struct dfg_err *dfg_region_note_unchanged(struct dfg_eval *eval, const struct dfg_new_node *want, uint32_t node)
{
	if (!eval->region || eval->region->branch || !reads_unchanged(eval, want))
		return NULL;
	return dfg_index_add(eval->arena, &eval->unchanged, node * 0x9e3779b1u, node);
}

/*
 * Whether a node of a loop's condition may run in one iteration more than the condition requires: it cannot fail, and
 * changes nothing.
 */
static bool may_run_once_more(const char *name)
{
	const struct dfg_op *op = dfg_op_find(name);
	return op && op->role == DFG_PLAIN && !(op->flags & DFG_STATEFUL) && !op->guard;
}

/*
 * Whether the node's inputs already make it live and dead with its region. In a condition invariants are as live as
 * other values.
 */
static bool is_anchored(const struct dfg_eval *eval, const struct dfg_new_node *want)
{
	const struct dfg_region *region = eval->region;
	if (!region->branch)
		return want->n_in && (may_run_once_more(want->op) || !reads_unchanged(eval, want));
	for (uint32_t i = 0; i < want->n_in; i++)
		if (dfg_region_of(eval, want->in[i]) == region)
			return true;
	return false;
}

struct dfg_err *dfg_region_prepare(
	struct dfg_eval *eval, const struct dfg_new_node *want, struct dfg_new_node *out_want)
{
	struct dfg_region *region = eval->region;
	struct dfg_edge *in = dfg_arena_zeros(eval->arena, want->n_in + want->n_control + 1, sizeof *in);
	if (!in)
		return dfg_no_memory("a loop or branch");
	*out_want = *want;
	out_want->in = in;
	for (uint32_t i = 0; i < want->n_in; i++)
		DFG_TRY(bring_input(eval, want->in[i], &in[i]));
	if (want->n_control)
		memcpy(in + want->n_in, want->in + want->n_in, want->n_control * sizeof *in);
	if (!region || is_anchored(eval, out_want))
		return NULL;
	if (want->n_in && region->branch && !region->loop)
		return dfg_region_bring(eval, want->in[0], region, &in[0]);
	uint32_t pivot;
	DFG_TRY(dfg_region_pivot(eval, region, &pivot));
	in[want->n_in + out_want->n_control++] = (struct dfg_edge){pivot, DFG_CONTROL};
	return NULL;
}

struct dfg_err *dfg_region_token(struct dfg_eval *eval, struct dfg_region *region, struct dfg_edge of,
	const struct dfg_nodes *after, struct dfg_edge *out_edge)
{
	struct dfg_edge *in = dfg_arena_zeros(eval->arena, after->n + 1, sizeof *in);
	if (!in)
		return dfg_no_memory("a loop or branch");
	in[0] = of;
	for (size_t i = 0; i < after->n; i++)
		in[i + 1] = (struct dfg_edge){after->node[i], DFG_CONTROL};
	struct dfg_new_node want = {.op = "Identity", .in = in, .n_in = 1, .n_control = (uint32_t)after->n};
	*out_edge = (struct dfg_edge){0, 0};
	return dfg_region_build(eval, &want, region, &out_edge->node);
}
