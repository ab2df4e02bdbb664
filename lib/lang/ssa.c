#include "lib/lang/ssa_private.h"

#include "lib/lang/eval_private.h"
#include "lib/lang/loop_private.h"
#include "lib/lang/materialise_private.h"

#include <string.h>

/*
 * States in branches and loops, in SSA form. A read gives the value that was set last, which Merges and loops carry
 * like any other value, so that a fetch of it runs no write. The state itself is read again only after an op that
 * changes it in place (ResourceScatterAdd). The handle carries the order: an access takes the handle after the last
 * write, and a write also comes after the reads since then. So accesses to one state have the same results as in the
 * order of the text.
 */

static struct dfg_err *add_reads(const struct dfg_history *now, struct dfg_nodes *nodes)
{
	for (uint32_t i = 0; now && i < now->n_read; i++)
		DFG_TRY(dfg_nodes_add(nodes, now->read[i]));
	return NULL;
}

/* Adds the reads in the region's frame since the last write there. */
static struct dfg_err *add_reads_of_frame(
	const struct dfg_cell *cell, const struct dfg_region *region, struct dfg_nodes *nodes)
{
	for (;; region = region->outer) {
		const struct dfg_history *now = dfg_history_at(cell, region);
		DFG_TRY(add_reads(now, nodes));
		if (!region || !region->branch || (now && now->last_write != DFG_NONE))
			return NULL;
	}
}

/* Builds a new read of the state, after the op that changed it. */
static struct dfg_err *read_anew(
	struct dfg_eval *eval, struct dfg_cell *cell, struct dfg_region *region, struct dfg_edge *out_edge)
{
	struct dfg_attr attr = DFG_ATTR_T("dtype", cell->dtype);
	struct dfg_nodes nodes = {0};
	struct dfg_history *now;
	struct dfg_saved_region saved;
	struct dfg_edge *in = NULL, handle;
	dfg_region_go(eval, region, &saved);
	struct dfg_err *err = dfg_view_before(eval, cell, false, &handle, &nodes);
	if (!err && !(in = dfg_arena_zeros(eval->arena, 1 + nodes.n, sizeof *in)))
		err = dfg_no_memory("the values of variables");
	if (!err) {
		in[0] = handle;
		for (size_t i = 0; i < nodes.n; i++)
			in[1 + i] = (struct dfg_edge){nodes.node[i], DFG_CONTROL};
		struct dfg_new_node want = {
			.op = "ReadVariableOp", .in = in, .n_in = 1, .n_control = (uint32_t)nodes.n, .attr = &attr, .n_attr = 1};
		*out_edge = (struct dfg_edge){0, 0};
		err = dfg_eval_build(eval, &want, DFG_NAME_NONE, &out_edge->node);
	}
	if (!err)
		err = dfg_view_after(eval, cell, false, out_edge->node);
	dfg_region_back(eval, &saved);
	dfg_free(nodes.node);
	DFG_TRY(err);
	DFG_TRY(dfg_history_of(eval, cell, region, &now));
	now->value = *out_edge;
	now->is_stale = false;
	return NULL;
}

/*
 * Each frame has an Enter of its own for the value: if the loop writes the state later, it becomes the Enter of a
 * carried value.
 */
struct dfg_err *dfg_view_value(
	struct dfg_eval *eval, struct dfg_cell *cell, struct dfg_region *region, struct dfg_edge *out_edge)
{
	const struct dfg_history *now = dfg_history_at(cell, region);
	struct dfg_view *view;
	if (now && now->is_stale)
		return read_anew(eval, cell, region, out_edge);
	*out_edge = now ? now->value : (struct dfg_edge){DFG_NONE, 0};
	if (out_edge->node != DFG_NONE)
		return NULL;
	DFG_TRY(dfg_eval_check_stack());
	DFG_TRY(dfg_view_value(eval, cell, region->outer, out_edge));
	if (region->branch)
		return NULL;
	DFG_TRY(dfg_view_of(eval, region, cell, &view));
	DFG_TRY(dfg_region_bring(eval, *out_edge, region->outer, out_edge));
	DFG_TRY(dfg_region_enter(eval, *out_edge, region, true, &view->now.value));
	*out_edge = view->now.value;
	return NULL;
}

uint32_t dfg_view_pending(const struct dfg_cell *cell, const struct dfg_region *region)
{
	for (; region; region = region->outer) {
		const struct dfg_view *view = dfg_view_find(region, cell);
		if (view && view->now.last_write != DFG_NONE)
			return view->now.last_write;
		if (!region->branch || (view && view->handle.node != DFG_NONE))
			return DFG_NONE;
	}
	return cell->now.last_write;
}

/* Whether the region's frame is the root, where the variable has its read. */
static bool is_in_root(const struct dfg_region *region)
{
	return !dfg_region_frame((struct dfg_region *)region);
}

/*
 * Adds the nodes that the next access in the region must come after: the last write and, for a write, the reads since
 * then.
 */
static struct dfg_err *earlier(
	const struct dfg_cell *cell, const struct dfg_region *region, bool writes, struct dfg_nodes *nodes)
{
	uint32_t write = dfg_view_pending(cell, region);
	if (writes && is_in_root(region) && cell->read.node != DFG_NONE)
		DFG_TRY(dfg_nodes_add(nodes, cell->read.node));
	if (write != DFG_NONE)
		DFG_TRY(dfg_nodes_add(nodes, write));
	return writes ? add_reads_of_frame(cell, region, nodes) : NULL;
}

/* Builds an Enter that comes after the nodes, and after those that all Enters of the frame come after. */
static struct dfg_err *enter_handle_after(struct dfg_eval *eval, struct dfg_edge edge, struct dfg_region *frame,
	bool is_constant, const struct dfg_nodes *nodes, struct dfg_edge *out_edge)
{
	uint32_t *control = dfg_arena_zeros(eval->arena, frame->n_control + nodes->n + 1, sizeof *control);
	const uint32_t *kept = frame->control, n = frame->n_control;
	if (!control)
		return dfg_no_memory("the values of variables");
	if (n)
		memcpy(control, kept, n * sizeof *control);
	if (nodes->n)
		memcpy(control + n, nodes->node, nodes->n * sizeof *control);
	frame->control = control;
	frame->n_control += (uint32_t)nodes->n;
	struct dfg_err *err = dfg_region_enter(eval, edge, frame, is_constant, out_edge);
	frame->control = kept;
	frame->n_control = n;
	return err;
}

/* Builds the Enter of the handle, after the accesses before the loop. */
static struct dfg_err *enter_handle(struct dfg_eval *eval, struct dfg_cell *cell, struct dfg_region *frame,
	struct dfg_edge handle, bool writes, struct dfg_edge *out_edge)
{
	struct dfg_nodes nodes = {0};
	DFG_TRY(dfg_region_bring(eval, handle, frame->outer, &handle));
	struct dfg_err *err = earlier(cell, frame->outer, writes, &nodes);
	if (!err)
		err = enter_handle_after(eval, handle, frame, !writes, &nodes, out_edge);
	dfg_free(nodes.node);
	return err;
}

static struct dfg_err *root_handle(struct dfg_eval *eval, struct dfg_cell *cell, struct dfg_edge *out_edge)
{
	if (cell->handle.node == DFG_NONE && eval->region)
		DFG_TRY(dfg_to_edge(eval, &DFG_BOOLEAN(true), DFG_BOOL, &cell->handle));
	*out_edge = cell->handle;
	return NULL;
}

/* The handle that a read takes: the carried one if there is one, else a constant Enter of the frame. */
static struct dfg_err *handle_of_read(
	struct dfg_eval *eval, struct dfg_cell *cell, struct dfg_region *region, struct dfg_edge *out_edge)
{
	struct dfg_view *view = NULL;
	for (; region; region = region->outer) {
		view = dfg_view_find(region, cell);
		if (view && view->handle.node != DFG_NONE) {
			*out_edge = view->handle;
			return NULL;
		}
		if (!region->branch)
			break;
	}
	if (!region)
		return root_handle(eval, cell, out_edge);
	DFG_TRY(dfg_eval_check_stack());
	DFG_TRY(handle_of_read(eval, cell, region->outer, out_edge));
	DFG_TRY(dfg_view_of(eval, region, cell, &view));
	DFG_TRY(enter_handle(eval, cell, region, *out_edge, false, &view->handle));
	*out_edge = view->handle;
	return NULL;
}

/*
 * Redirects the readers of the handle's Enter to the carried handle: readers in the body to the output of its Switch,
 * others to its Merge.
 */
static void redirect_handle(
	const struct dfg_eval *eval, const struct dfg_lang_loop *loop, const struct dfg_carried *carried)
{
	struct dfg_graph *graph = eval->builder->graph;
	for (uint32_t n = carried->enter.node + 1; n < graph->count; n++) {
		struct dfg_node *node = &graph->node[n];
		struct dfg_region *region = dfg_region_of(eval, (struct dfg_edge){n, 0});
		if (!region)
			region = dfg_region_of(eval, (struct dfg_edge){n, 1});
		for (uint32_t e = 0; e < node->n_in + node->n_control; e++) {
			if (node->in[e].node != carried->enter.node || n == carried->merge.node)
				continue;
			struct dfg_edge to = dfg_region_within(region, loop->body) ? carried->inside : carried->merge;
			node->in[e] = (struct dfg_edge){to.node, node->in[e].port == DFG_CONTROL ? DFG_CONTROL : to.port};
		}
	}
}

static struct dfg_err *handle_of(
	struct dfg_eval *eval, struct dfg_cell *cell, struct dfg_region *region, struct dfg_edge *out_edge);

/* Makes the loop carry the handle. Earlier reads in the loop took its constant Enter, whose readers are redirected. */
static struct dfg_err *carry_handle(struct dfg_eval *eval, struct dfg_cell *cell, struct dfg_region *body)
{
	struct dfg_lang_loop *loop = body->loop;
	struct dfg_view *view, *entry = dfg_view_find(loop->frame, cell);
	struct dfg_edge in[2], enter;
	struct dfg_carried handle = {.enter = {DFG_NONE, 0}, .merge = {0, 0}};
	uint32_t node;
	DFG_TRY(dfg_eval_check_stack());
	DFG_TRY(handle_of(eval, cell, loop->frame->outer, &in[0]));
	DFG_TRY(enter_handle(eval, cell, loop->frame, in[0], true, &enter));
	DFG_TRY(dfg_view_of(eval, body, cell, &view));
	in[0] = in[1] = enter;
	DFG_TRY(dfg_region_build(
		eval, &(struct dfg_new_node){.op = "Merge", .in = in, .n_in = 2}, loop->frame, &handle.merge.node));
	in[0] = handle.merge;
	in[1] = loop->condition;
	DFG_TRY(dfg_region_build(eval, &(struct dfg_new_node){.op = "Switch", .in = in, .n_in = 2}, body, &node));
	view->merge = handle.merge.node;
	view->handle = handle.inside = (struct dfg_edge){node, 1};
	if (!entry || entry->handle.node == DFG_NONE)
		return NULL;
	handle.enter = entry->handle;
	redirect_handle(eval, loop, &handle);
	return NULL;
}

static struct dfg_err *handle_of(
	struct dfg_eval *eval, struct dfg_cell *cell, struct dfg_region *region, struct dfg_edge *out_edge)
{
	for (; region; region = region->outer) {
		const struct dfg_view *view = dfg_view_find(region, cell);
		if (!region->branch)
			return DFG_ERR(DFG_DATA, "the condition of a loop cannot write a variable");
		if (dfg_region_is_body(region) && (!view || view->handle.node == DFG_NONE)) {
			DFG_TRY(carry_handle(eval, cell, region));
			view = dfg_view_find(region, cell);
		}
		if (view && view->handle.node != DFG_NONE) {
			*out_edge = view->handle;
			return NULL;
		}
	}
	return root_handle(eval, cell, out_edge);
}

struct dfg_err *dfg_view_before(
	struct dfg_eval *eval, struct dfg_cell *cell, bool writes, struct dfg_edge *out_handle, struct dfg_nodes *nodes)
{
	DFG_TRY((writes ? handle_of : handle_of_read)(eval, cell, eval->region, out_handle));
	return earlier(cell, eval->region, writes, nodes);
}

/*
 * Statements outside of targets and loops are independent: a fetch of one runs no other. Only params and states have an
 * order there, that of a training step.
 */
static bool is_ordered(const struct dfg_eval *eval, const struct dfg_cell *cell, const struct dfg_region *region)
{
	return region || eval->changes || *cell->path;
}

struct dfg_err *dfg_view_after(struct dfg_eval *eval, struct dfg_cell *cell, bool writes, uint32_t node)
{
	struct dfg_history *now;
	if (!is_ordered(eval, cell, eval->region))
		return NULL;
	DFG_TRY(dfg_history_of(eval, cell, eval->region, &now));
	if (!writes)
		return dfg_history_read(eval, now, node);
	*now = (struct dfg_history){
		.value = {DFG_NONE, 0}, .is_stale = true, .last_write = node, .read = now->read, .capacity = now->capacity};
	if (eval->region)
		dfg_view_find(eval->region, cell)->is_set = true;
	return NULL;
}

struct dfg_err *dfg_view_write(struct dfg_eval *eval, struct dfg_cell *cell, struct dfg_edge value, uint32_t *out_node)
{
	struct dfg_nodes nodes = {0};
	struct dfg_history *now;
	struct dfg_edge handle;
	struct dfg_err *err = dfg_view_before(eval, cell, true, &handle, &nodes);
	struct dfg_edge *in = dfg_arena_zeros(eval->arena, 3 + nodes.n, sizeof *in);
	if (!err && !in)
		err = dfg_no_memory("the values of variables");
	if (!err) {
		struct dfg_new_node want = {.in = in, .n_in = cell->by_rows ? 3 : 2, .n_control = (uint32_t)nodes.n};
		want.op = cell->by_rows ? "ResourceScatterUpdate" : "AssignVariableOp";
		in[1] = cell->by_rows ? eval->rows->indices : value;
		in[0] = handle, in[want.n_in - 1] = value;
		for (size_t i = 0; i < nodes.n; i++)
			in[want.n_in + i] = (struct dfg_edge){nodes.node[i], DFG_CONTROL};
		err = dfg_eval_build(eval, &want, DFG_NAME_NONE, out_node);
	}
	dfg_free(nodes.node);
	DFG_TRY(err);
	DFG_TRY(dfg_view_after(eval, cell, true, *out_node));
	DFG_TRY(dfg_history_of(eval, cell, eval->region, &now));
	now->value = value;
	now->is_stale = false;
	return NULL;
}

/* The handle at the end of the region, after all accesses in its frame. */
static struct dfg_err *handle_after(
	struct dfg_eval *eval, struct dfg_cell *cell, struct dfg_region *region, struct dfg_edge *out_edge)
{
	struct dfg_nodes nodes = {0};
	uint32_t write = dfg_view_pending(cell, region);
	DFG_TRY(handle_of(eval, cell, region, out_edge));
	DFG_TRY(dfg_region_bring(eval, *out_edge, region, out_edge));
	struct dfg_err *err = write == DFG_NONE ? NULL : dfg_nodes_add(&nodes, write);
	if (!err)
		err = add_reads_of_frame(cell, region, &nodes);
	if (!err && nodes.n)
		err = dfg_region_token(eval, region, *out_edge, &nodes, out_edge);
	dfg_free(nodes.node);
	return err;
}

/* Records that a loop or branch in the region set the state, and its value; .node DFG_NONE: it must be read again. */
static struct dfg_err *set_outside(
	struct dfg_eval *eval, struct dfg_cell *cell, struct dfg_region *region, struct dfg_edge value, uint32_t node)
{
	struct dfg_history *now;
	eval->effects++;
	if (!is_ordered(eval, cell, region))
		return NULL;
	DFG_TRY(dfg_history_of(eval, cell, region, &now));
	*now = (struct dfg_history){.value = value,
		.is_stale = value.node == DFG_NONE,
		.last_write = node,
		.read = now->read,
		.capacity = now->capacity};
	if (!region)
		return dfg_eval_effect(eval, node);
	dfg_view_find(region, cell)->is_set = true;
	return NULL;
}

/* Whether the state must be read again in the region. */
static bool is_stale(const struct dfg_cell *cell, const struct dfg_region *region)
{
	for (;; region = region->outer) {
		const struct dfg_history *now = dfg_history_at(cell, region);
		if (now && (now->is_stale || now->value.node != DFG_NONE))
			return now->is_stale;
		if (!region || !region->branch)
			return false;
	}
}

static struct dfg_err *join_values(
	struct dfg_eval *eval, struct dfg_branch *branch, struct dfg_cell *cell, struct dfg_edge *out_edge)
{
	struct dfg_edge value[2];
	*out_edge = (struct dfg_edge){DFG_NONE, 0};
	if (is_stale(cell, branch->arm[0]) || is_stale(cell, branch->arm[1]))
		return NULL;
	for (int side = 0; side < 2; side++) {
		DFG_TRY(dfg_view_value(eval, cell, branch->arm[side], &value[side]));
		DFG_TRY(dfg_region_bring(eval, value[side], branch->arm[side], &value[side]));
	}
	*out_edge = (struct dfg_edge){0, 0};
	return dfg_region_build(
		eval, &(struct dfg_new_node){.op = "Merge", .in = value, .n_in = 2}, branch->arm[0]->outer, &out_edge->node);
}

static struct dfg_err *join(struct dfg_eval *eval, struct dfg_branch *branch, struct dfg_cell *cell)
{
	struct dfg_region *outer = branch->arm[0]->outer;
	struct dfg_edge value, handle[2];
	uint32_t merge;
	DFG_TRY(join_values(eval, branch, cell, &value));
	for (int side = 0; side < 2; side++)
		DFG_TRY(handle_after(eval, cell, branch->arm[side], &handle[side]));
	DFG_TRY(dfg_region_build(eval, &(struct dfg_new_node){.op = "Merge", .in = handle, .n_in = 2}, outer, &merge));
	return set_outside(eval, cell, outer, value, merge);
}

/* A Merge that comes after the reads of either arm, for a later write. */
static struct dfg_err *join_reads(struct dfg_eval *eval, struct dfg_branch *branch, struct dfg_cell *cell)
{
	struct dfg_region *outer = branch->arm[0]->outer;
	struct dfg_history *now;
	struct dfg_edge in[2];
	uint32_t merge;
	for (int side = 0; side < 2; side++) {
		const struct dfg_history *inside = dfg_history_at(cell, branch->arm[side]);
		struct dfg_nodes reads = {inside ? inside->read : NULL, inside ? inside->n_read : 0, 0};
		struct dfg_edge pivot = {0, 0};
		DFG_TRY(dfg_region_pivot(eval, branch->arm[side], &pivot.node));
		DFG_TRY(dfg_region_token(eval, branch->arm[side], pivot, &reads, &in[side]));
	}
	DFG_TRY(dfg_region_build(eval, &(struct dfg_new_node){.op = "Merge", .in = in, .n_in = 2}, outer, &merge));
	if (!is_ordered(eval, cell, outer))
		return NULL;
	DFG_TRY(dfg_history_of(eval, cell, outer, &now));
	return dfg_history_read(eval, now, merge);
}

static struct dfg_err *join_view(struct dfg_eval *eval, struct dfg_branch *branch, const struct dfg_view *view)
{
	const struct dfg_view *a = dfg_view_find(branch->arm[0], view->cell),
						  *b = dfg_view_find(branch->arm[1], view->cell);
	if (a && b && view == b)
		return NULL; /* done together with the other arm's view */
	if ((a && a->is_set) || (b && b->is_set))
		return join(eval, branch, view->cell);
	return (a && a->now.n_read) || (b && b->now.n_read) ? join_reads(eval, branch, view->cell) : NULL;
}

struct dfg_err *dfg_view_join(struct dfg_eval *eval, struct dfg_branch *branch)
{
	for (int side = 0; side < 2; side++)
		for (const struct dfg_view *view = branch->arm[side]->views; view; view = view->older)
			DFG_TRY(join_view(eval, branch, view));
	return NULL;
}

/* Makes a constant Enter an ordinary one: removes the attribute. */
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

/* The carried value whose Enter this node is, or NULL. */
static const struct dfg_carried *carried_by(
	const struct dfg_region *body, const struct dfg_index *enters, uint32_t node)
{
	const struct entered entered = {body, node};
	uint32_t at = dfg_index_find(enters, node * 0x9e3779b1u, is_entered, &entered);
	return at == UINT32_MAX ? NULL : &body->view[at]->carried;
}

/*
 * Redirects the readers of an Enter to the carried value: readers in the body to the output of its Switch, others to
 * its Merge.
 */
static void redirect(
	const struct dfg_eval *eval, const struct dfg_lang_loop *loop, const struct dfg_index *enters, uint32_t first)
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
		const struct dfg_carried *carried = carried_by(loop->body, enters, view->now.value.node);
		if (carried)
			view->now.value = carried->inside;
	}
}

/* Makes the loop carry the value that it entered. */
static struct dfg_err *carry_value(struct dfg_eval *eval, struct dfg_lang_loop *loop, struct dfg_view *view)
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

/*
 * Whether the loop must carry the value. If no tensor holds it after the body, only if the loop reads it before it
 * changes it.
 */
static bool must_carry(const struct dfg_lang_loop *loop, const struct dfg_view *view)
{
	const struct dfg_history *entered = dfg_history_at(view->cell, loop->frame);
	return view->is_set && (!view->now.is_stale || (entered && entered->value.node != DFG_NONE));
}

/*
 * Carries the values of all states that the body sets, the last one that it accessed first, and redirects the readers
 * of their Enters.
 */
static struct dfg_err *carry_values(struct dfg_eval *eval, struct dfg_lang_loop *loop)
{
	const struct dfg_region *body = loop->body;
	struct dfg_index enters = {0};
	uint32_t first = UINT32_MAX;
	for (uint32_t i = body->n_view; i--;) {
		struct dfg_view *view = body->view[i];
		if (!must_carry(loop, view))
			continue;
		view->carries = true;
		DFG_TRY(carry_value(eval, loop, view));
		uint32_t enter = view->carried.enter.node;
		first = enter < first ? enter : first;
		DFG_TRY(dfg_index_add(eval->arena, &enters, enter * 0x9e3779b1u, i));
	}
	redirect(eval, loop, &enters, first);
	return NULL;
}

static struct dfg_err *close(struct dfg_eval *eval, struct dfg_lang_loop *loop, struct dfg_view *view)
{
	struct dfg_carried handle = {.merge = {view->merge, 0}, .inside = view->handle, .branch = view->handle.node};
	struct dfg_edge next, outside = {DFG_NONE, 0};
	if (view->carries) {
		DFG_TRY(dfg_view_value(eval, view->cell, loop->body, &next));
		DFG_TRY(dfg_carry_on(eval, loop, &view->carried, next));
		DFG_TRY(dfg_carry_out(eval, loop, &view->carried));
		outside = view->carried.outside;
	}
	DFG_TRY(handle_after(eval, view->cell, loop->body, &next));
	DFG_TRY(dfg_carry_on(eval, loop, &handle, next));
	DFG_TRY(dfg_carry_out(eval, loop, &handle));
	return set_outside(eval, view->cell, loop->frame->outer, outside, handle.outside.node);
}

/*
 * A loop that only reads the state: it carries a boolean that comes after the reads of each iteration, for a later
 * write. The reads themselves do not wait for each other.
 */
static struct dfg_err *close_reads(struct dfg_eval *eval, struct dfg_lang_loop *loop, struct dfg_cell *cell)
{
	const struct dfg_history *inside = dfg_history_at(cell, loop->body);
	struct dfg_nodes reads = {inside ? inside->read : NULL, inside ? inside->n_read : 0, 0};
	struct dfg_carried done = {.name = "done"};
	struct dfg_history *now;
	struct dfg_edge next, first;
	DFG_TRY(dfg_to_edge(eval, &DFG_BOOLEAN(true), DFG_BOOL, &first));
	DFG_TRY(dfg_carry(eval, loop, &done, first));
	DFG_TRY(dfg_region_token(eval, loop->body, done.inside, &reads, &next));
	DFG_TRY(dfg_carry_on(eval, loop, &done, next));
	DFG_TRY(dfg_carry_out(eval, loop, &done));
	if (!is_ordered(eval, cell, loop->frame->outer))
		return NULL;
	DFG_TRY(dfg_history_of(eval, cell, loop->frame->outer, &now));
	return dfg_history_read(eval, now, done.outside.node);
}

static struct dfg_err *close_all_reads(struct dfg_eval *eval, struct dfg_lang_loop *loop)
{
	for (struct dfg_view *view = loop->body->views; view; view = view->older)
		if (!view->is_set && view->now.n_read)
			DFG_TRY(close_reads(eval, loop, view->cell));
	for (struct dfg_view *view = loop->frame->views; view; view = view->older) {
		const struct dfg_view *inside = dfg_view_find(loop->body, view->cell);
		if (view->now.n_read && !(inside && (inside->is_set || inside->now.n_read)))
			DFG_TRY(close_reads(eval, loop, view->cell));
	}
	return NULL;
}

struct dfg_err *dfg_view_close(struct dfg_eval *eval, struct dfg_lang_loop *loop)
{
	DFG_TRY(carry_values(eval, loop));
	for (struct dfg_view *view = loop->body->views; view; view = view->older)
		if (view->is_set)
			DFG_TRY(close(eval, loop, view));
	return close_all_reads(eval, loop);
}
