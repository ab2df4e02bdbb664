#include "lib/lang/region.h"

#include <string.h>

/*
 * Variables in branches and loops. A read gives the value that was written last, carried through Merges and around loops
 * like any other, so no region reads a variable anew. The handle goes the same way: a write takes it, and what comes after
 * takes it after the write. So a fetch of values runs no write, and writes run in the order of the text.
 */

struct sought {
	const struct dfg_region *region;
	const struct dfg_cell *cell;
};

static bool is_sought(const void *arg, uint32_t item)
{
	const struct sought *sought = arg;
	return sought->region->view[item]->cell == sought->cell;
}

static struct dfg_view *find(const struct dfg_region *region, const struct dfg_cell *cell)
{
	const struct sought sought = {region, cell};
	uint32_t at = dfg_index_find(&region->view_index, cell->handle.node * 0x9e3779b1u, is_sought, &sought);
	return at == UINT32_MAX ? NULL : region->view[at];
}

static struct dfg_err *keep(struct dfg_eval *eval, struct dfg_region *region, struct dfg_view *view)
{
	if (region->n_view == region->view_room) {
		uint32_t room = region->view_room ? region->view_room * 2 : 4;
		struct dfg_view **grown = dfg_arena_zeros(eval->arena, room, sizeof(struct dfg_view *));
		if (!grown)
			return DFG_ERR(DFG_MEMORY, "out of memory");
		if (region->n_view)
			memcpy(grown, region->view, region->n_view * sizeof(struct dfg_view *));
		region->view = grown;
		region->view_room = room;
	}
	region->views = region->view[region->n_view] = view;
	return dfg_index_add(eval->arena, &region->view_index, view->cell->handle.node * 0x9e3779b1u, region->n_view++);
}

static struct dfg_err *view_of(
	struct dfg_eval *eval, struct dfg_region *region, struct dfg_cell *cell, struct dfg_view **out_view)
{
	*out_view = find(region, cell);
	if (*out_view)
		return NULL;
	struct dfg_view *view = dfg_arena_zeros(eval->arena, 1, sizeof *view);
	if (!view)
		return DFG_ERR(DFG_MEMORY, "out of memory");
	*view = (struct dfg_view){
		.older = region->views, .cell = cell, .value = {DFG_NONE, 0}, .handle = {DFG_NONE, 0}, .last_write = DFG_NONE};
	*out_view = view;
	return keep(eval, region, view);
}

/* A frame enters it for itself: should the loop write it, this Enter becomes the way in of a carried value. */
struct dfg_err *dfg_view_value(
	struct dfg_eval *eval, struct dfg_cell *cell, struct dfg_region *region, struct dfg_edge *out_edge)
{
	struct dfg_view *view = region ? find(region, cell) : NULL;
	*out_edge = region ? view ? view->value : (struct dfg_edge){DFG_NONE, 0} : cell->value;
	if (out_edge->node != DFG_NONE)
		return NULL;
	DFG_TRY(dfg_eval_room());
	DFG_TRY(dfg_view_value(eval, cell, region->outer, out_edge));
	if (region->branch)
		return NULL;
	DFG_TRY(view_of(eval, region, cell, &view));
	DFG_TRY(dfg_region_bring(eval, *out_edge, region->outer, out_edge));
	DFG_TRY(dfg_region_enter(eval, *out_edge, region, true, &view->value));
	*out_edge = view->value;
	return NULL;
}

/* The write, in the same frame, that the handle as the region has it does not yet come after. */
static uint32_t pending(const struct dfg_cell *cell, const struct dfg_region *region)
{
	for (; region; region = region->outer) {
		const struct dfg_view *view = find(region, cell);
		if (view && view->last_write != DFG_NONE)
			return view->last_write;
		if (!region->branch || (view && view->handle.node != DFG_NONE))
			return DFG_NONE;
	}
	return cell->last_write;
}

/* Whether the region's frame is the root: there the variable was read. */
static bool is_in_root(const struct dfg_region *region)
{
	return !dfg_region_frame((struct dfg_region *)region);
}

/* Nodes that the next write in the region comes after. */
static struct dfg_err *earlier(const struct dfg_cell *cell, const struct dfg_region *region, struct dfg_nodes *nodes)
{
	uint32_t write = pending(cell, region);
	if (is_in_root(region))
		DFG_TRY(dfg_nodes_add(nodes, cell->read.node));
	return write == DFG_NONE ? NULL : dfg_nodes_add(nodes, write);
}

/* The builder's controls and these nodes, for as long as one node is built. */
static struct dfg_err *enter_after(struct dfg_eval *eval, struct dfg_edge edge, struct dfg_region *frame,
	const struct dfg_nodes *nodes, struct dfg_edge *out_edge)
{
	uint32_t *control = dfg_arena_zeros(eval->arena, frame->n_control + nodes->n + 1, sizeof *control);
	const uint32_t *kept = frame->control, n = frame->n_control;
	if (!control)
		return DFG_ERR(DFG_MEMORY, "out of memory");
	if (n)
		memcpy(control, kept, n * sizeof *control);
	if (nodes->n)
		memcpy(control + n, nodes->node, nodes->n * sizeof *control);
	frame->control = control;
	frame->n_control += (uint32_t)nodes->n;
	struct dfg_err *err = dfg_region_enter(eval, edge, frame, false, out_edge);
	frame->control = kept;
	frame->n_control = n;
	return err;
}

static struct dfg_err *handle_of(
	struct dfg_eval *eval, struct dfg_cell *cell, struct dfg_region *region, struct dfg_edge *out_edge);

/* The handle goes around the loop: its body's way in. */
static struct dfg_err *carry_handle(struct dfg_eval *eval, struct dfg_cell *cell, struct dfg_region *body)
{
	struct dfg_loop *loop = body->loop;
	struct dfg_nodes nodes = {0};
	struct dfg_view *view;
	struct dfg_edge in[2], enter = {0, 0};
	uint32_t node;
	DFG_TRY(dfg_eval_room());
	DFG_TRY(handle_of(eval, cell, loop->frame->outer, &in[0]));
	DFG_TRY(dfg_region_bring(eval, in[0], loop->frame->outer, &in[0]));
	struct dfg_err *err = earlier(cell, loop->frame->outer, &nodes);
	if (!err)
		err = enter_after(eval, in[0], loop->frame, &nodes, &enter);
	dfg_free(nodes.node);
	DFG_TRY(err);
	DFG_TRY(view_of(eval, body, cell, &view));
	in[0] = in[1] = enter;
	DFG_TRY(
		dfg_region_build(eval, &(struct dfg_new_node){.op = "Merge", .in = in, .n_in = 2}, loop->frame, &view->merge));
	in[0] = (struct dfg_edge){view->merge, 0};
	in[1] = loop->condition;
	DFG_TRY(dfg_region_build(eval, &(struct dfg_new_node){.op = "Switch", .in = in, .n_in = 2}, body, &node));
	view->handle = (struct dfg_edge){node, 1};
	return NULL;
}

static struct dfg_err *handle_of(
	struct dfg_eval *eval, struct dfg_cell *cell, struct dfg_region *region, struct dfg_edge *out_edge)
{
	*out_edge = cell->handle;
	for (; region; region = region->outer) {
		const struct dfg_view *view = find(region, cell);
		if (!region->branch)
			return DFG_ERR(DFG_DATA, "`set` cannot stand in the condition of a loop");
		if (dfg_region_is_body(region) && (!view || view->handle.node == DFG_NONE)) {
			DFG_TRY(carry_handle(eval, cell, region));
			view = find(region, cell);
		}
		if (view && view->handle.node != DFG_NONE) {
			*out_edge = view->handle;
			return NULL;
		}
	}
	return NULL;
}

struct dfg_err *dfg_view_write(struct dfg_eval *eval, struct dfg_cell *cell, struct dfg_edge value, uint32_t *out_node)
{
	struct dfg_region *region = eval->region;
	struct dfg_nodes nodes = {0};
	struct dfg_view *view;
	struct dfg_edge handle;
	DFG_TRY(handle_of(eval, cell, region, &handle));
	struct dfg_err *err = earlier(cell, region, &nodes);
	struct dfg_edge *in = dfg_arena_zeros(eval->arena, 2 + nodes.n, sizeof *in);
	if (!err && !in)
		err = DFG_ERR(DFG_MEMORY, "out of memory");
	if (!err) {
		struct dfg_new_node want = {.op = "AssignVariableOp", .in = in, .n_in = 2, .n_control = (uint32_t)nodes.n};
		in[0] = handle;
		in[1] = value;
		for (size_t i = 0; i < nodes.n; i++)
			in[2 + i] = (struct dfg_edge){nodes.node[i], DFG_CONTROL};
		err = dfg_eval_build(eval, &want, DFG_NAME_NONE, out_node);
	}
	dfg_free(nodes.node);
	DFG_TRY(err);
	DFG_TRY(view_of(eval, region, cell, &view));
	view->value = value;
	view->last_write = *out_node;
	view->is_set = true;
	return NULL;
}

/* The handle as it leaves the region: after what was written, there or before. */
static struct dfg_err *handle_after(
	struct dfg_eval *eval, struct dfg_cell *cell, struct dfg_region *region, struct dfg_edge *out_edge)
{
	struct dfg_nodes write = {0};
	uint32_t node = pending(cell, region);
	DFG_TRY(handle_of(eval, cell, region, out_edge));
	DFG_TRY(dfg_region_bring(eval, *out_edge, region, out_edge));
	if (node == DFG_NONE)
		return NULL;
	write = (struct dfg_nodes){&node, 1, 1};
	return dfg_region_token(eval, region, *out_edge, &write, out_edge);
}

static struct dfg_err *set_outside(
	struct dfg_eval *eval, struct dfg_cell *cell, struct dfg_region *region, struct dfg_edge value, uint32_t node)
{
	struct dfg_view *view;
	eval->effects++;
	if (!region) {
		DFG_TRY(dfg_cell_written(eval, cell, value, node));
		return dfg_eval_effect(eval, node);
	}
	DFG_TRY(view_of(eval, region, cell, &view));
	view->value = value;
	view->last_write = node;
	view->is_set = true;
	return NULL;
}

static struct dfg_err *join(struct dfg_eval *eval, struct dfg_branch *branch, struct dfg_cell *cell)
{
	struct dfg_region *outer = branch->arm[0]->outer;
	struct dfg_edge value[2], handle[2];
	uint32_t merge[2];
	for (int side = 0; side < 2; side++) {
		DFG_TRY(dfg_view_value(eval, cell, branch->arm[side], &value[side]));
		DFG_TRY(dfg_region_bring(eval, value[side], branch->arm[side], &value[side]));
		DFG_TRY(handle_after(eval, cell, branch->arm[side], &handle[side]));
	}
	DFG_TRY(dfg_region_build(eval, &(struct dfg_new_node){.op = "Merge", .in = value, .n_in = 2}, outer, &merge[0]));
	DFG_TRY(dfg_region_build(eval, &(struct dfg_new_node){.op = "Merge", .in = handle, .n_in = 2}, outer, &merge[1]));
	return set_outside(eval, cell, outer, (struct dfg_edge){merge[0], 0}, merge[1]);
}

struct dfg_err *dfg_view_join(struct dfg_eval *eval, struct dfg_branch *branch)
{
	for (int side = 0; side < 2; side++)
		for (const struct dfg_view *view = branch->arm[side]->views; view; view = view->older) {
			const struct dfg_view *other = side ? find(branch->arm[0], view->cell) : NULL;
			if (view->is_set && !(other && other->is_set))
				DFG_TRY(join(eval, branch, view->cell));
		}
	return NULL;
}

/* Makes a constant Enter an ordinary one: the attribute goes back to its default. */
static void unfreeze(struct dfg_node *enter)
{
	uint32_t kept = 0;
	for (uint32_t i = 0; i < enter->n_attr; i++)
		if (strcmp(enter->attr[i].name, "is_constant") != 0)
			enter->attr[kept++] = enter->attr[i];
	enter->n_attr = kept;
}

struct entered {
	const struct dfg_region *body;
	uint32_t node;
};

static bool is_entered(const void *arg, uint32_t item)
{
	const struct entered *entered = arg;
	return entered->body->view[item]->carried.enter.node == entered->node;
}

/* The value that enters the loop by this node, or NULL. */
static const struct dfg_carried *carried_by(
	const struct dfg_region *body, const struct dfg_index *enters, uint32_t node)
{
	const struct entered entered = {body, node};
	uint32_t at = dfg_index_find(enters, node * 0x9e3779b1u, is_entered, &entered);
	return at == UINT32_MAX ? NULL : &body->view[at]->carried;
}

/* What read an Enter reads the carried value instead: in the body behind the Switch. */
static void redirect(
	const struct dfg_eval *eval, const struct dfg_loop *loop, const struct dfg_index *enters, uint32_t first)
{
	struct dfg_graph *graph = eval->builder->graph;
	for (uint32_t n = first; enters->count && n < graph->count; n++) {
		struct dfg_node *node = &graph->node[n];
		struct dfg_region *region = dfg_region_of(eval, (struct dfg_edge){n, 0});
		if (!region)
			region = dfg_region_of(eval, (struct dfg_edge){n, 1});
		for (uint32_t e = 0; e < node->n_in + node->n_control; e++) {
			const struct dfg_carried *carried = carried_by(loop->body, enters, node->in[e].node);
			if (!carried || n == carried->merge.node)
				continue;
			struct dfg_edge to = dfg_region_within(region, loop->body) ? carried->inside : carried->merge;
			node->in[e] = (struct dfg_edge){to.node, node->in[e].port == DFG_CONTROL ? DFG_CONTROL : to.port};
		}
	}
	for (struct dfg_view *view = loop->body->views; view; view = view->older) {
		const struct dfg_carried *carried = carried_by(loop->body, enters, view->value.node);
		if (carried)
			view->value = carried->inside;
	}
}

/* The value that the loop entered goes around it. */
static struct dfg_err *carry_value(struct dfg_eval *eval, struct dfg_loop *loop, struct dfg_view *view)
{
	struct dfg_carried *carried = &view->carried;
	struct dfg_edge in[2];
	DFG_TRY(dfg_view_value(eval, view->cell, loop->frame, &carried->enter));
	unfreeze(&eval->builder->graph->node[carried->enter.node]);
	in[0] = in[1] = carried->enter;
	DFG_TRY(dfg_region_build(
		eval, &(struct dfg_new_node){.op = "Merge", .in = in, .n_in = 2}, loop->frame, &carried->merge.node));
	return dfg_carry_in(eval, loop, carried);
}

/* All that the body sets, from the last that it read or set on; readers of the Enters, other variables too, follow. */
static struct dfg_err *carry_values(struct dfg_eval *eval, struct dfg_loop *loop)
{
	const struct dfg_region *body = loop->body;
	struct dfg_index enters = {0};
	uint32_t first = UINT32_MAX;
	for (uint32_t i = body->n_view; i--;) {
		struct dfg_view *view = body->view[i];
		if (!view->is_set)
			continue;
		DFG_TRY(carry_value(eval, loop, view));
		uint32_t enter = view->carried.enter.node;
		first = enter < first ? enter : first;
		DFG_TRY(dfg_index_add(eval->arena, &enters, enter * 0x9e3779b1u, i));
	}
	redirect(eval, loop, &enters, first);
	return NULL;
}

static struct dfg_err *close(struct dfg_eval *eval, struct dfg_loop *loop, struct dfg_view *view)
{
	struct dfg_carried handle = {.merge = {view->merge, 0}, .inside = view->handle, .branch = view->handle.node};
	struct dfg_edge next;
	DFG_TRY(dfg_carry_on(eval, loop, &view->carried, view->value));
	DFG_TRY(dfg_carry_out(eval, loop, &view->carried));
	DFG_TRY(handle_after(eval, view->cell, loop->body, &next));
	DFG_TRY(dfg_carry_on(eval, loop, &handle, next));
	DFG_TRY(dfg_carry_out(eval, loop, &handle));
	return set_outside(eval, view->cell, loop->frame->outer, view->carried.outside, handle.outside.node);
}

struct dfg_err *dfg_view_close(struct dfg_eval *eval, struct dfg_loop *loop)
{
	DFG_TRY(carry_values(eval, loop));
	for (struct dfg_view *view = loop->body->views; view; view = view->older)
		if (view->is_set)
			DFG_TRY(close(eval, loop, view));
	return NULL;
}
