/* tensorflow. Requires: a graph that verify accepts. Result: a graph of TensorFlow's ops only, with the same values. */
#include "lib/pass/rewrite/tensorflow.h"

#include "lib/base/plural.h"
#include "lib/pass/rewrite/renumber.h"
#include "lib/pass/grad/induction.h"
#include "lib/graph/cycle.h"
#include "lib/pass/grad/gradient_frames.h"
#include "lib/graph/loop_shapes.h"
#include "lib/pass/rewrite/tensorflow_private.h"

#include <stdlib.h>
#include <string.h>

/*
 * A Save in a loop becomes a write to a TensorArray that is created where the loop is entered; the Save's last key is
 * the index. The array's handle is a constant of the loop. Its flow, which orders the writes, is a loop variable shared
 * by all arrays of the loop; it follows the Save into the side of a branch. If the region is further out, the handle
 * itself is kept in an array of the enclosing loop, under the previous key, and so on: so no loop has to know the
 * iteration count of another. A Load reads the handles one after another, each where its keys are first known, and then
 * the value.
 */
struct array {
	uint32_t save,
		key; /* the Save that it replaces; the index of the key used: the last, or an earlier one for an array of handles */
	uint32_t loop; /* the loop; the array has an element for each of its iterations */
	struct dfg_edge handle;
	/* The write: its location, value, index and control inputs. */
	struct dfg_location location;
	struct dfg_edge value, index;
	const struct dfg_edge *control;
	uint32_t n_control;
	uint32_t number;
	struct array *next; /* the next array of the same loop */
};

struct store {
	uint32_t loads;
	struct dfg_edge handle, flow; /* of the outermost array, in the region */
};

struct rewriting {
	struct dfg_graph *graph;
	struct dfg_builder builder;
	struct dfg_gradient_frames frames;
	struct dfg_arena *scratch;
	uint32_t count;               /* number of nodes before the pass */
	struct store *store;          /* by Save */
	struct dfg_edge *replacement; /* by Save and Load: its replacement */
	struct array **array;         /* by loop */
	uint32_t arrays;
};

static const struct dfg_node *node_of(const struct rewriting *r, uint32_t n)
{
	return &r->graph->node[n];
}

/* Nodes made from now on are named after the Save or Load and placed on its device. */
static struct dfg_err *name_after(struct rewriting *r, uint32_t n)
{
	const struct dfg_node *node = node_of(r, n);
	const char *end = strrchr(node->name, '/');
	size_t length = end ? (size_t)(end - node->name) : strlen(node->name);
	r->builder.device = node->device;
	r->frames.scope = dfg_arena_copy(&r->frames.arena, node->name, length);
	return r->frames.scope ? NULL : dfg_no_memory("tensor arrays");
}

/* The source of a key, through nodes that only forward or widen it. */
static struct dfg_edge source_of(const struct rewriting *r, struct dfg_edge edge)
{
	for (;;) {
		edge = dfg_live_source(r->graph, edge);
		const struct dfg_node *node = node_of(r, edge.node);
		if (!dfg_node_means(node, DFG_MEANS_CAST) ||
			!dfg_dtype_is(dfg_facts_of(&r->builder.facts, node->in[0])->dtype, "index"))
			return edge;
		edge = node->in[0];
	}
}

/* Indices of TensorArrays are i32. */
static struct dfg_err *narrow_key(struct rewriting *r, struct dfg_edge *key)
{
	const struct dfg_attr to = DFG_ATTR_T("DstT", DFG_I32);
	struct dfg_location at;
	if (dfg_facts_of(&r->builder.facts, *key)->dtype == DFG_I32)
		return NULL;
	DFG_TRY(dfg_gradient_location(&r->frames, *key, &at));
	return dfg_gradient_frames_node(
		&r->frames, &at, &(struct dfg_own_node){.op = "Cast", .in = key, .n_in = 1, .attr = &to, .n_attr = 1}, key);
}

/*
 * Brings a handle into the loop through constant Enters. It need not be switched to the side of a branch, because the
 * index used with it is.
 */
static struct dfg_err *bring_in(struct rewriting *r, struct dfg_edge edge, uint32_t loop, struct dfg_edge *out_edge)
{
	struct dfg_location at;
	DFG_TRY(dfg_gradient_location(&r->frames, edge, &at));
	const struct dfg_location location = {.loop = loop, .set = at.loop == loop ? at.set : 0};
	return dfg_gradient_frames_bring(&r->frames, edge, &location, out_edge);
}

static struct dfg_err *add_array(struct rewriting *r, const struct array *array)
{
	struct array *copy = dfg_arena_zeros(r->scratch, 1, sizeof *copy);
	if (!copy)
		return dfg_no_memory("tensor arrays");
	*copy = *array;
	copy->number = r->arrays++;
	copy->next = r->array[array->loop];
	r->array[array->loop] = copy;
	return NULL;
}

/*
 * Finds the Saves to rewrite: a Save without Loads is dropped, and one in the region's own frame is replaced by its
 * value.
 */
static struct dfg_err *find_saves(struct rewriting *r)
{
	for (uint32_t n = 0; n < r->count; n++)
		if (dfg_node_role(node_of(r, n)) == DFG_LOAD)
			r->store[node_of(r, n)->in[0].node].loads++;
	for (uint32_t n = 0; n < r->count; n++) {
		const struct dfg_node *node = node_of(r, n);
		if (dfg_node_role(node) != DFG_SAVE)
			continue;
		r->replacement[n] = node->in[0];
		struct array array = {.save = n,
			.key = node->n_in - 1,
			.loop = r->frames.loops.of[n],
			.value = node->in[0],
			.index = node->in[node->n_in - 1],
			.control = node->in + node->n_in,
			.n_control = node->n_control};
		DFG_TRY(dfg_gradient_location(&r->frames, (struct dfg_edge){n, 0}, &array.location));
		if (array.key && r->store[n].loads)
			DFG_TRY(add_array(r, &array));
	}
	return NULL;
}

/*
 * TensorFlow infers a vector for the handle of a TensorArray although it is not one, so a handle's shape is left unset.
 */
static struct dfg_err *make_array(struct rewriting *r, struct array *array)
{
	const struct dfg_inferred *fact = dfg_facts_of(&r->builder.facts, array->value);
	const struct dfg_shape *shape = fact->dtype == DFG_RESOURCE ? &DFG_SHAPE_UNKNOWN : &fact->shape;
	bool is_data = array->key == node_of(r, array->save)->n_in - 1;
	const struct dfg_attr attr[] = {
		DFG_ATTR_T("dtype", fact->dtype),
		DFG_ATTR_B("dynamic_size", true),
		DFG_ATTR_B("clear_after_read", is_data && r->store[array->save].loads == 1),
		{"element_shape", DFG_ATTR_SHAPE, {.shape = shape}},
	};
	struct dfg_location entry;
	struct dfg_edge size;
	DFG_TRY(name_after(r, array->save));
	DFG_TRY(dfg_gradient_frames_entry(&r->frames, array->loop, false, &entry));
	DFG_TRY(dfg_gradient_frames_int(&r->frames, &entry, DFG_I32, 0, &size));
	return dfg_gradient_frames_node(&r->frames, &entry,
		&(struct dfg_own_node){.op = "TensorArrayV3", .in = &size, .n_in = 1, .attr = attr, .n_attr = 4},
		&array->handle);
}

static struct dfg_err *write_array(struct rewriting *r, struct array *array, struct dfg_edge *flow)
{
	struct dfg_edge *in = dfg_arena_zeros(r->scratch, (size_t)array->n_control + 4, sizeof *in);
	if (!in)
		return dfg_no_memory("tensor arrays");
	DFG_TRY(name_after(r, array->save));
	DFG_TRY(bring_in(r, array->handle, array->loop, &in[0]));
	in[1] = array->index;
	DFG_TRY(narrow_key(r, &in[1]));
	in[2] = array->value;
	in[3] = *flow;
	if (array->n_control)
		memcpy(in + 4, array->control, array->n_control * sizeof *in);
	DFG_TRY(dfg_gradient_frames_node(&r->frames, &array->location,
		&(struct dfg_own_node){.op = "TensorArrayWriteV3", .in = in, .n_in = 4, .n_control = array->n_control}, flow));
	if (array->key == node_of(r, array->save)->n_in - 1)
		r->replacement[array->save] = *flow;
	return NULL;
}

/* A branch that the flow passes through. */
struct flow_branch {
	struct dfg_location before;
	struct dfg_edge side; /* the output of a Switch */
	int sides;            /* number of outputs of the Switch */
};

static struct dfg_err *flow_into_branches(struct rewriting *r, const struct dfg_location *location,
	struct dfg_edge *flow, struct flow_branch *flow_branch, uint32_t *out_count)
{
	struct dfg_liveness *liveness = &r->frames.liveness;
	struct dfg_location at;
	*out_count = 0;
	DFG_TRY(dfg_gradient_frames_body(&r->frames, location->loop, false, &at));
	for (uint32_t i = 0; i < liveness->set[location->set].count; i++) {
		uint32_t condition = liveness->item[liveness->set[location->set].first + i], before = at.set;
		flow_branch[*out_count] = (struct flow_branch){.before = at, .sides = liveness->condition[condition].sides};
		DFG_TRY(dfg_live_with(liveness, at.set, condition, &at.set));
		if (at.set == before)
			continue;
		DFG_TRY(dfg_gradient_frames_bring(&r->frames, *flow, &at, flow));
		flow_branch[(*out_count)++].side = *flow;
	}
	return NULL;
}

static struct dfg_err *flow_out_of_branch(
	struct rewriting *r, const struct flow_branch *flow_branch, struct dfg_edge *flow)
{
	const struct dfg_attr n = DFG_ATTR_I("N", flow_branch->sides);
	struct dfg_edge *in = dfg_arena_zeros(r->scratch, (size_t)flow_branch->sides, sizeof *in);
	if (!in)
		return dfg_no_memory("tensor arrays");
	for (int side = 0; side < flow_branch->sides; side++)
		in[side] = (struct dfg_edge){flow_branch->side.node, side};
	in[flow_branch->side.port] = *flow;
	const struct dfg_own_node merge = {
		.op = "Merge", .in = in, .n_in = (uint32_t)flow_branch->sides, .attr = &n, .n_attr = 1};
	return dfg_gradient_frames_node(&r->frames, &flow_branch->before, &merge, flow);
}

/* Sorts the arrays of one loop by location, then by number. */
static int by_location(const void *a, const void *b)
{
	const struct array *x = *(struct array *const *)a, *y = *(struct array *const *)b;
	if (x->location.set != y->location.set)
		return x->location.set < y->location.set ? -1 : 1;
	return x->number < y->number ? -1 : x->number > y->number;
}

static struct dfg_err *write_all(struct rewriting *r, struct array **array, uint32_t count, struct dfg_edge *flow)
{
	qsort(array, count, sizeof *array, by_location);
	for (uint32_t i = 0; i < count;) {
		const struct dfg_location location = array[i]->location;
		uint32_t branches = r->frames.liveness.set[location.set].count;
		struct flow_branch *flow_branch = dfg_arena_zeros(r->scratch, (size_t)branches + 1, sizeof *flow_branch);
		if (!flow_branch)
			return dfg_no_memory("tensor arrays");
		DFG_TRY(name_after(r, array[i]->save));
		DFG_TRY(flow_into_branches(r, &location, flow, flow_branch, &branches));
		for (; i < count && array[i]->location.set == location.set; i++)
			DFG_TRY(write_array(r, array[i], flow));
		while (branches--)
			DFG_TRY(flow_out_of_branch(r, &flow_branch[branches], flow));
	}
	return NULL;
}

/* Passes the array's handle on to the Loads: into the region, or into an array of the enclosing loop. */
static struct dfg_err *pass_handle_on(struct rewriting *r, const struct array *array, struct dfg_edge flow)
{
	const struct dfg_loop *loop = &r->frames.loops.loop[array->loop];
	struct dfg_edge *control = dfg_arena_zeros(r->scratch, 1, sizeof *control);
	struct array outer = {.save = array->save,
		.key = array->key - 1,
		.loop = loop->parent,
		.value = array->handle,
		.control = control,
		.n_control = 1};
	if (!control)
		return dfg_no_memory("tensor arrays");
	if (!outer.key) {
		r->store[array->save].handle = array->handle;
		r->store[array->save].flow = flow;
		return NULL;
	}
	*control = (struct dfg_edge){flow.node, DFG_CONTROL};
	DFG_TRY(name_after(r, array->save));
	DFG_TRY(dfg_gradient_frames_entry(&r->frames, array->loop, false, &outer.location));
	struct dfg_edge source = source_of(r, node_of(r, array->save)->in[outer.key]);
	DFG_TRY(dfg_err_note(dfg_gradient_frames_bring(&r->frames, source, &outer.location, &outer.index),
		"node '%.200s': key %u", node_of(r, array->save)->name, outer.key));
	return add_array(r, &outer);
}

static struct dfg_err *list_arrays(
	const struct rewriting *r, uint32_t loop, struct array ***out_array, uint32_t *out_count)
{
	uint32_t count = 0;
	for (struct array *array = r->array[loop]; array; array = array->next)
		count++;
	*out_count = count;
	if (!(*out_array = dfg_arena_zeros(r->scratch, (size_t)count + 1, sizeof **out_array)))
		return dfg_no_memory("tensor arrays");
	for (struct array *array = r->array[loop]; array; array = array->next)
		(*out_array)[--count] = array;
	return NULL;
}

/*
 * Makes the arrays of a loop and writes them in sequence, with one flow as loop variable. Loops within it have been
 * rewritten.
 */
static struct dfg_err *rewrite_loop(struct rewriting *r, uint32_t loop)
{
	struct dfg_new_variable variable;
	struct dfg_edge flow;
	struct array **array;
	uint32_t count;
	DFG_TRY(list_arrays(r, loop, &array, &count));
	if (!count)
		return NULL;
	for (uint32_t i = 0; i < count; i++)
		DFG_TRY(make_array(r, array[i]));
	DFG_TRY(name_after(r, array[0]->save));
	flow = (struct dfg_edge){array[0]->handle.node, 1};
	DFG_TRY(dfg_variable_merge(&r->frames, loop, false, flow, &variable));
	DFG_TRY(dfg_variable_switch(&r->frames, loop, false, &variable));
	flow = variable.body;
	DFG_TRY(write_all(r, array, count, &flow));
	DFG_TRY(name_after(r, array[0]->save));
	DFG_TRY(dfg_variable_close(&r->frames, loop, false, &variable, flow));
	DFG_TRY(dfg_variable_exit(&r->frames, loop, false, &variable, &flow));
	for (uint32_t i = 0; i < count; i++)
		DFG_TRY(pass_handle_on(r, array[i], flow));
	return NULL;
}

/*
 * The location where the first `keys` keys of a Load are all known: that of the Load, or the entry of an enclosing
 * loop.
 */
static struct dfg_err *find_reading(
	struct rewriting *r, uint32_t load, uint32_t keys, struct dfg_location *out_location)
{
	const struct dfg_loops *loops = &r->frames.loops;
	uint32_t own = loops->of[load], known = 0, inner = own;
	for (uint32_t k = 1; k <= keys; k++) {
		struct dfg_location at;
		DFG_TRY(dfg_gradient_location(&r->frames, source_of(r, node_of(r, load)->in[k]), &at));
		if (dfg_loop_within(loops, at.loop, known))
			known = at.loop;
	}
	if (known == own)
		return dfg_gradient_location(&r->frames, (struct dfg_edge){load, 0}, out_location);
	while (loops->loop[inner].parent != known)
		inner = loops->loop[inner].parent;
	return dfg_gradient_frames_entry(&r->frames, inner, false, out_location);
}

static struct dfg_err *read_handle(struct rewriting *r, uint32_t load, uint32_t key, struct dfg_edge *handle)
{
	const struct store *store = &r->store[node_of(r, load)->in[0].node];
	const struct dfg_attr dtype = DFG_ATTR_T("dtype", DFG_RESOURCE);
	struct dfg_location location;
	struct dfg_edge in[3];
	DFG_TRY(find_reading(r, load, key, &location));
	DFG_TRY(bring_in(r, *handle, location.loop, &in[0]));
	DFG_TRY(dfg_gradient_frames_bring(&r->frames, source_of(r, node_of(r, load)->in[key]), &location, &in[1]));
	DFG_TRY(narrow_key(r, &in[1]));
	DFG_TRY(dfg_gradient_frames_bring(&r->frames, store->flow, &location, &in[2]));
	return dfg_gradient_frames_node(&r->frames, &location,
		&(struct dfg_own_node){.op = "TensorArrayReadV3", .in = in, .n_in = 3, .attr = &dtype, .n_attr = 1}, handle);
}

static struct dfg_err *rewrite_load(struct rewriting *r, uint32_t load)
{
	const struct dfg_node node = *node_of(r, load);
	const struct store *store = &r->store[node.in[0].node];
	const struct dfg_attr dtype =
		DFG_ATTR_T("dtype", dfg_facts_of(&r->builder.facts, (struct dfg_edge){load, 0})->dtype);
	struct dfg_edge handle = store->handle, *in = dfg_arena_zeros(r->scratch, (size_t)node.n_control + 3, sizeof *in);
	struct dfg_location location;
	if (!in)
		return dfg_no_memory("tensor arrays");
	DFG_TRY(name_after(r, load));
	DFG_TRY(dfg_gradient_location(&r->frames, (struct dfg_edge){load, 0}, &location));
	if (node.n_in == 1)
		return dfg_gradient_frames_bring(
			&r->frames, node_of(r, node.in[0].node)->in[0], &location, &r->replacement[load]);
	for (uint32_t key = 1; key + 1 < node.n_in; key++)
		DFG_TRY(read_handle(r, load, key, &handle));
	DFG_TRY(bring_in(r, handle, location.loop, &in[0]));
	in[1] = node.in[node.n_in - 1];
	DFG_TRY(narrow_key(r, &in[1]));
	DFG_TRY(bring_in(r, store->flow, location.loop, &in[2]));
	if (node.n_control)
		memcpy(in + 3, node.in + node.n_in, node.n_control * sizeof *in);
	return dfg_gradient_frames_node(&r->frames, &location,
		&(struct dfg_own_node){
			.op = "TensorArrayReadV3", .in = in, .n_in = 3, .n_control = node.n_control, .attr = &dtype, .n_attr = 1},
		&r->replacement[load]);
}

/* Follows replaced Saves and Loads to the final value. */
static struct dfg_edge replaced(const struct rewriting *r, struct dfg_edge edge)
{
	while (edge.node < r->count && edge.port >= 0 && r->replacement[edge.node].node != edge.node)
		edge = r->replacement[edge.node];
	if (edge.node < r->count && edge.port < 0)
		edge.node = replaced(r, (struct dfg_edge){edge.node, 0}).node;
	return edge;
}

static void read_replaced(struct rewriting *r, struct dfg_keep *keep)
{
	for (uint32_t n = 0; n < r->graph->count; n++) {
		struct dfg_node *node = &r->graph->node[n];
		for (uint32_t e = 0; e < node->n_in + node->n_control; e++)
			node->in[e] = replaced(r, node->in[e]);
	}
	for (uint32_t i = 0; i < keep->n_fetch; i++)
		keep->fetch[i] = replaced(r, keep->fetch[i]);
	for (uint32_t i = 0; i < keep->n_target; i++)
		keep->target[i] = replaced(r, (struct dfg_edge){keep->target[i], 0}).node;
}

/* A topological order that keeps the order of old nodes and puts new nodes before their first reader. */
struct sorting {
	const struct dfg_graph *graph;
	bool *met;
	uint32_t *order, count;
	struct visit {
		uint32_t node, e;
	} * visit; /* nodes on the stack, and the next input of each */
	uint32_t depth;
};

static void meet(struct sorting *sorting, uint32_t n)
{
	if (sorting->met[n])
		return;
	sorting->met[n] = true;
	sorting->visit[sorting->depth++] = (struct visit){n, 0};
}

static void place_node(struct sorting *sorting, uint32_t n)
{
	meet(sorting, n);
	while (sorting->depth) {
		struct visit *visit = &sorting->visit[sorting->depth - 1];
		const struct dfg_node *node = &sorting->graph->node[visit->node];
		if (visit->e == node->n_in + node->n_control) {
			sorting->order[sorting->count++] = visit->node;
			sorting->depth--;
			continue;
		}
		struct dfg_edge edge = node->in[visit->e++];
		if (!dfg_edge_closes(sorting->graph, node, edge))
			meet(sorting, edge.node);
	}
}

/* Whether the node reads one output of a Switch twice or more and nothing else. */
static bool doubles_side(const struct dfg_graph *graph, const struct dfg_node *node)
{
	bool same = node->n_in > 1;
	for (uint32_t i = 1; i < node->n_in && same; i++)
		same = dfg_edge_same(node->in[i], node->in[0]);
	return same && dfg_node_role(&graph->node[node->in[0].node]) == DFG_SWITCH;
}

/*
 * TensorFlow's optimizer branches x + x into 2 x and makes the constant 2 wait for output 0 of the Switch, whichever
 * output x is: if x is output 1, it never runs. An Identity between the two prevents this.
 */
static struct dfg_err *part_doubles(struct rewriting *r, bool *out_any)
{
	*out_any = false;
	for (uint32_t n = 0; n < r->count; n++) {
		const struct dfg_node *node = node_of(r, n);
		struct dfg_edge in = node->n_in ? node->in[0] : (struct dfg_edge){0}, side;
		if (!doubles_side(r->graph, node))
			continue;
		if (!*out_any)
			DFG_TRY(dfg_builder_init(&r->builder, r->graph));
		*out_any = true;
		if (dfg_facts_of(&r->builder.facts, in)->is_ref)
			continue;
		r->builder.device = node->device;
		const char *name = dfg_arena_print(r->scratch, "%s/side", node->name);
		if (!name)
			return dfg_no_memory("tensor arrays");
		DFG_TRY(dfg_build_op(&r->builder, "Identity", name, &in, 1, &side));
		for (uint32_t i = 0; i < node_of(r, n)->n_in; i++)
			r->graph->node[n].in[i] = side;
	}
	dfg_builder_release(&r->builder);
	return NULL;
}

static struct dfg_err *arrange(struct rewriting *r, struct dfg_keep *keep)
{
	size_t count = (size_t)r->graph->count + 1;
	struct sorting sorting = {
		.graph = r->graph,
		.met = dfg_arena_zeros(r->scratch, count, sizeof(bool)),
		.order = dfg_arena_zeros(r->scratch, count, sizeof(uint32_t)),
		.visit = dfg_arena_zeros(r->scratch, count, sizeof(struct visit)),
	};
	uint32_t *number = dfg_arena_zeros(r->scratch, count, sizeof *number);
	if (!sorting.met || !sorting.order || !sorting.visit || !number)
		return dfg_no_memory("tensor arrays");
	read_replaced(r, keep);
	for (uint32_t n = 0; n < r->graph->count; n++)
		place_node(&sorting, n < r->count ? replaced(r, (struct dfg_edge){n, 0}).node : n);
	return dfg_renumber(r->graph, sorting.order, sorting.count, number, keep, r->scratch);
}

static struct dfg_err *begin(struct rewriting *r)
{
	struct dfg_gradient_frames *m = &r->frames;
	uint32_t *order = dfg_arena_zeros(r->scratch, (size_t)r->count + 1, sizeof *order), *file_order, ordered;
	m->prefix = "tensorflow";
	DFG_TRY(dfg_builder_init(&r->builder, r->graph));
	DFG_TRY(dfg_pass_order(r->graph, r->scratch, &file_order, &ordered));
	DFG_TRY(dfg_gradient_frames_init(m, &r->builder, file_order, r->scratch));
	r->store = dfg_arena_zeros(r->scratch, (size_t)r->count + 1, sizeof *r->store);
	r->array = dfg_arena_zeros(r->scratch, m->loops.count, sizeof(void *));
	if (!order || !r->store || !r->array)
		return dfg_no_memory("tensor arrays");
	DFG_TRY(dfg_loops_order(r->graph, &m->loops, r->scratch, order));
	DFG_TRY(dfg_loop_shapes(&r->builder, &m->loops, order, r->scratch));
	return dfg_gradient_frames_begin(m, 0);
}

static struct dfg_err *rewrite_stores(struct rewriting *r)
{
	DFG_TRY(begin(r));
	DFG_TRY(find_saves(r));
	for (uint32_t loop = r->frames.loops.count; --loop;)
		DFG_TRY(rewrite_loop(r, loop));
	for (uint32_t n = 0; n < r->count; n++)
		if (dfg_node_role(node_of(r, n)) == DFG_LOAD)
			DFG_TRY(rewrite_load(r, n));
	return NULL;
}

static uint32_t count_stores(const struct dfg_graph *graph)
{
	uint32_t count = 0;
	for (uint32_t n = 0; n < graph->count; n++)
		count += dfg_node_role(&graph->node[n]) == DFG_SAVE;
	return count;
}

static struct dfg_err *rewrite(struct rewriting *r, struct dfg_keep *keep, uint32_t stores)
{
	bool any, copied;
	DFG_TRY(part_doubles(r, &any));
	DFG_TRY(dfg_tensorflow_copy_reads(r->graph, r->scratch, &copied));
	any |= copied;
	r->count = r->graph->count;
	if (!any && !stores)
		return NULL;
	if (!(r->replacement = dfg_arena_zeros(r->scratch, (size_t)r->count + 1, sizeof *r->replacement)))
		return dfg_no_memory("tensor arrays");
	for (uint32_t n = 0; n < r->count; n++)
		r->replacement[n] = (struct dfg_edge){n, 0};
	if (stores)
		DFG_TRY(rewrite_stores(r));
	return arrange(r, keep);
}

struct dfg_err *dfg_tensorflow(
	struct dfg_graph *graph, struct dfg_keep *keep, struct dfg_arena *scratch, struct dfg_text *report)
{
	struct rewriting r = {.graph = graph, .scratch = scratch, .count = graph->count};
	uint32_t stores = count_stores(graph);
	DFG_TRY(dfg_tensorflow_refuse(graph));
	struct dfg_err *err = rewrite(&r, keep, stores);
	dfg_gradient_frames_release(&r.frames);
	dfg_builder_release(&r.builder);
	if (stores)
		dfg_text_add(report, "tensorflow: replaced %u saved value%s by %u tensor array%s\n", stores, dfg_plural(stores),
			r.arrays, dfg_plural(r.arrays));
	return err;
}
