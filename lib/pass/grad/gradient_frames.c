#include "lib/pass/grad/gradient_frames.h"

#include "lib/pass/grad/recompute.h"
#include "lib/pass/grad/induction.h"
#include "lib/pass/grad/loop_segments.h"
#include "lib/pass/grad/tape.h"

#include <string.h>

enum { RECOMPUTE_MOST = 100 };             /* the most nested ops that are computed again */
enum { DEPTH_MOST = 100 };                 /* the most nested loops */
enum { SWITCHED, ENTERED, PIVOT, NEEDED }; /* kinds of keys of .map; others in tape.c and recompute.c */

static const struct dfg_node *node_of(const struct dfg_gradient_frames *m, uint32_t n)
{
	return &m->builder->graph->node[n];
}

static struct dfg_err *note(struct dfg_gradient_frames *m, uint32_t n, const struct dfg_location *location)
{
	if (!dfg_reserve(&m->location, &m->location_capacity, (size_t)(n - m->count) + 1, sizeof *m->location))
		return dfg_no_memory("locations");
	m->location[n - m->count] = *location;
	return NULL;
}

struct dfg_err *dfg_gradient_location(
	struct dfg_gradient_frames *m, struct dfg_edge edge, struct dfg_location *out_location)
{
	if (edge.node >= m->count) {
		*out_location = m->location[edge.node - m->count];
		return NULL;
	}
	*out_location = (struct dfg_location){.loop = m->loops.of[edge.node]};
	return dfg_live_of(&m->liveness, edge, &out_location->set);
}

/* Adds the condition of the loop's body: a node of the loop's condition runs once more, but has no cotangent then. */
static struct dfg_err *in_body(struct dfg_gradient_frames *m, uint32_t loop, uint32_t set, uint32_t *out_set)
{
	*out_set = set;
	return loop ? dfg_live_with(&m->liveness, set, m->body[loop], out_set) : NULL;
}

struct dfg_err *dfg_cotangent_location(
	struct dfg_gradient_frames *m, struct dfg_edge edge, struct dfg_location *out_location)
{
	DFG_TRY(dfg_gradient_location(m, edge, out_location));
	out_location->in_gradient = out_location->loop != m->region;
	return in_body(m, out_location->loop, out_location->set, &out_location->set);
}

struct dfg_err *dfg_gradient_frames_body(
	struct dfg_gradient_frames *m, uint32_t loop, bool in_gradient, struct dfg_location *out_location)
{
	*out_location = (struct dfg_location){.loop = loop, .in_gradient = in_gradient && loop != m->region};
	return in_body(m, loop, 0, &out_location->set);
}

struct dfg_err *dfg_gradient_frames_entry(
	struct dfg_gradient_frames *m, uint32_t loop, bool in_gradient, struct dfg_location *out_location)
{
	uint32_t outer = m->loops.loop[loop].parent;
	*out_location = (struct dfg_location){.loop = outer, .in_gradient = in_gradient && outer != m->region};
	return in_body(m, outer, m->liveness.entry[loop], &out_location->set);
}

struct dfg_err *dfg_gradient_frames_node(struct dfg_gradient_frames *m, const struct dfg_location *location,
	const struct dfg_own_node *own, struct dfg_edge *out_edge)
{
	const struct dfg_location *outer = m->plain;
	uint32_t number;
	char *name = dfg_arena_path(&m->arena, m->scope, own->op);
	if (!name)
		return dfg_no_memory("a name");
	struct dfg_new_node node = {.op = own->op,
		.name = name,
		.in = own->in,
		.n_in = own->n_in,
		.n_control = own->n_control,
		.attr = own->attr,
		.n_attr = own->n_attr};
	m->plain = location;
	struct dfg_err *err = dfg_build(m->builder, &node, &number);
	m->plain = outer;
	*out_edge = (struct dfg_edge){number, 0};
	return err;
}

/* The predicate of a condition, at the location where a Switch requires it. */
static struct dfg_err *predicate_in(
	struct dfg_gradient_frames *m, uint32_t condition, const struct dfg_location *at, struct dfg_edge *out_edge);

/* Switches the tensor to a side of one condition. */
static struct dfg_err *switch_by(
	struct dfg_gradient_frames *m, struct dfg_edge *edge, struct dfg_location *at, uint32_t condition)
{
	const struct dfg_edge_key key = {*edge, SWITCHED, condition};
	const struct dfg_edge *there = dfg_edge_map_find(&m->map, key);
	const struct dfg_condition by = m->liveness.condition[condition];
	const struct dfg_attr sides = DFG_ATTR_I("num_outs", by.sides);
	bool numbered = dfg_facts_of(&m->builder->facts, by.predicate)->dtype != DFG_BOOL;
	struct dfg_edge in[2] = {*edge};
	DFG_TRY(dfg_live_with(&m->liveness, at->set, condition, &at->set));
	if (there) {
		*edge = *there;
		return NULL;
	}
	DFG_TRY(predicate_in(m, condition, at, &in[1]));
	DFG_TRY(dfg_gradient_frames_node(m, at,
		&(struct dfg_own_node){
			.op = numbered ? "_SwitchN" : "Switch", .in = in, .n_in = 2, .attr = &sides, .n_attr = numbered},
		edge));
	edge->port = by.side;
	return dfg_edge_map_put(&m->map, key, *edge);
}

/* Switches the tensor to the sides of all conditions of a set, in the tensor's loop. */
static struct dfg_err *narrow(struct dfg_gradient_frames *m, struct dfg_edge *edge, uint32_t set)
{
	struct dfg_location at;
	DFG_TRY(dfg_gradient_location(m, *edge, &at));
	for (uint32_t i = 0; i < m->liveness.set[set].count; i++) {
		uint32_t condition = m->liveness.item[m->liveness.set[set].first + i];
		if (!dfg_live_has(&m->liveness, at.set, condition))
			DFG_TRY(switch_by(m, edge, &at, condition));
	}
	if (at.set != set)
		return DFG_ERR(DFG_DATA,
			"'%.200s' is computed in one branch only, but a gradient requires it outside that branch",
			node_of(m, edge->node)->name);
	return NULL;
}

struct dfg_err *dfg_gradient_frames_enter(struct dfg_gradient_frames *m, struct dfg_edge edge,
	const struct dfg_location *inside, bool constant, struct dfg_edge *out_edge)
{
	const struct dfg_loop *loop = &m->loops.loop[inside->loop];
	struct dfg_string frame = loop->name;
	bool recomputes = inside->in_gradient && m->segments[inside->loop]; /* one segment at a time */
	int64_t window = recomputes ? 1 : loop->window;
	if (inside->in_gradient)
		frame = (struct dfg_string){m->loop[inside->loop].frame, strlen(m->loop[inside->loop].frame)};
	const struct dfg_attr attr[] = {
		{"frame_name", DFG_ATTR_STRING, {.s = frame}},
		DFG_ATTR_B("is_constant", constant),
		DFG_ATTR_I("parallel_iterations", window),
	};
	const struct dfg_location location = {.loop = inside->loop, .in_gradient = inside->in_gradient};
	return dfg_gradient_frames_node(m, &location,
		&(struct dfg_own_node){.op = "Enter", .in = &edge, .n_in = 1, .attr = attr, .n_attr = 3}, out_edge);
}

/* Brings the tensor into the next inner loop, as an invariant. */
static struct dfg_err *go_in(struct dfg_gradient_frames *m, struct dfg_edge *edge, uint32_t loop, bool in_gradient)
{
	const struct dfg_edge_key key = {*edge, ENTERED, 2 * loop + in_gradient};
	const struct dfg_edge *there = dfg_edge_map_find(&m->map, key);
	struct dfg_location entry, inside = {.loop = loop, .in_gradient = in_gradient};
	if (there) {
		*edge = *there;
		return NULL;
	}
	DFG_TRY(dfg_gradient_frames_entry(m, loop, in_gradient, &entry));
	DFG_TRY(narrow(m, edge, entry.set));
	DFG_TRY(dfg_gradient_frames_enter(m, *edge, &inside, true, edge));
	return dfg_edge_map_put(&m->map, key, *edge);
}

/* Brings the tensor into a loop, from one that contains it. */
static struct dfg_err *reach(struct dfg_gradient_frames *m, struct dfg_edge *edge, uint32_t loop, bool in_gradient)
{
	struct dfg_location at;
	DFG_TRY(dfg_gradient_location(m, *edge, &at));
	if (!dfg_loop_within(&m->loops, loop, at.loop))
		return DFG_ERR(DFG_DATA, "a gradient requires the value of '%.200s' in each iteration, but is outside its loop",
			node_of(m, edge->node)->name);
	while (at.loop != loop) {
		uint32_t step = loop;
		while (m->loops.loop[step].parent != at.loop)
			step = m->loops.loop[step].parent;
		DFG_TRY(go_in(m, edge, step, in_gradient && step != m->region));
		at.loop = step;
	}
	return NULL;
}

struct dfg_err *dfg_gradient_frames_bring(
	struct dfg_gradient_frames *m, struct dfg_edge edge, const struct dfg_location *location, struct dfg_edge *out_edge)
{
	DFG_TRY(reach(m, &edge, location->loop, location->in_gradient));
	DFG_TRY(narrow(m, &edge, location->set));
	*out_edge = edge;
	return NULL;
}

static struct dfg_err *predicate_in(
	struct dfg_gradient_frames *m, uint32_t condition, const struct dfg_location *at, struct dfg_edge *out_edge)
{
	struct dfg_edge edge = m->liveness.condition[condition].predicate;
	if (at->loop && condition == m->body[at->loop]) {
		*out_edge =
			at->in_gradient ? m->loop[at->loop].condition : (struct dfg_edge){m->loops.loop[at->loop].condition, 0};
		return NULL;
	}
	if (at->in_gradient)
		DFG_TRY(dfg_gradient_frames_need(m, edge, &edge));
	DFG_TRY(reach(m, &edge, at->loop, at->in_gradient));
	*out_edge = edge;
	return NULL;
}

struct dfg_err *dfg_gradient_frames_pivot(
	struct dfg_gradient_frames *m, const struct dfg_location *location, struct dfg_edge *out_edge)
{
	const struct dfg_edge_key key = {{location->loop, location->in_gradient}, PIVOT, location->set};
	const struct dfg_edge *there = dfg_edge_map_find(&m->map, key);
	struct dfg_edge edge;
	if (there) {
		*out_edge = *there;
		return NULL;
	}
	uint32_t first = m->liveness.item[m->liveness.set[location->set].first];
	DFG_TRY(predicate_in(m, first, location, &edge));
	DFG_TRY(narrow(m, &edge, location->set));
	DFG_TRY(dfg_gradient_frames_node(
		m, location, &(struct dfg_own_node){.op = "Identity", .in = &edge, .n_in = 1}, out_edge));
	out_edge->port = DFG_CONTROL;
	return dfg_edge_map_put(&m->map, key, *out_edge);
}

struct dfg_err *dfg_gradient_frames_int(struct dfg_gradient_frames *m, const struct dfg_location *location,
	enum dfg_dtype dtype, int64_t value, struct dfg_edge *out_edge)
{
	const struct dfg_location outer = m->here, *plain = m->plain;
	char *name = dfg_arena_path(&m->arena, m->scope, "Const");
	if (!name)
		return dfg_no_memory("a name");
	m->here = *location;
	m->plain = NULL;
	struct dfg_err *err = dfg_build_ints(m->builder, name, dtype, NULL, &value, out_edge);
	m->here = outer;
	m->plain = plain;
	return err;
}

/* Whether a loop is the region or contains it, so that its tensors can be read directly. */
static bool is_around(const struct dfg_gradient_frames *m, uint32_t loop)
{
	return dfg_loop_within(&m->loops, m->region, loop);
}

/* The source of a value, through nodes that only pass it on, as far as they are outside of the region. */
static struct dfg_edge source_of(const struct dfg_gradient_frames *m, struct dfg_edge edge)
{
	while (
		edge.node < m->count && !is_around(m, m->loops.of[edge.node]) && dfg_live_step_back(m->builder->graph, &edge))
		;
	return edge;
}

/* Copies a constant of a loop into the gradient loop. */
static struct dfg_err *copy_constant(
	struct dfg_gradient_frames *m, struct dfg_edge edge, const struct dfg_location *location, struct dfg_edge *out_edge)
{
	const struct dfg_node *node = node_of(m, edge.node);
	struct dfg_attr attr[DFG_ATTR_MAX];
	uint32_t count = node->n_attr < DFG_ATTR_MAX ? node->n_attr : DFG_ATTR_MAX, kept = 0;
	struct dfg_edge control;
	for (uint32_t i = 0; i < count; i++)
		if (node->attr[i].name[0] != '_')
			attr[kept++] = node->attr[i];
	DFG_TRY(dfg_gradient_frames_pivot(m, location, &control));
	return dfg_gradient_frames_node(m, location,
		&(struct dfg_own_node){.op = "Const", .in = &control, .n_control = 1, .attr = attr, .n_attr = kept}, out_edge);
}

static bool is_index(const struct dfg_gradient_frames *m, struct dfg_edge edge, uint32_t loop)
{
	return edge.port == 0 && m->counter[loop].known && m->counter[loop].merge == edge.node;
}

/* Whether the value is a loop's index, cast to another width. */
static bool is_cast_index(const struct dfg_gradient_frames *m, struct dfg_edge edge)
{
	const struct dfg_node *node = node_of(m, edge.node);
	if (!dfg_node_means(node, DFG_MEANS_CAST) || !node->n_in)
		return false;
	edge = source_of(m, node->in[0]);
	return is_index(m, edge, edge.node < m->count ? m->loops.of[edge.node] : m->location[edge.node - m->count].loop);
}

static struct dfg_err *cast_index(
	struct dfg_gradient_frames *m, struct dfg_edge edge, const struct dfg_location *location, struct dfg_edge *out_edge)
{
	const struct dfg_attr to = DFG_ATTR_T("DstT", dfg_facts_of(&m->builder->facts, edge)->dtype);
	DFG_TRY(dfg_gradient_frames_need(m, node_of(m, edge.node)->in[0], &edge));
	DFG_TRY(dfg_gradient_frames_bring(m, edge, location, &edge));
	return dfg_gradient_frames_node(
		m, location, &(struct dfg_own_node){.op = "Cast", .in = &edge, .n_in = 1, .attr = &to, .n_attr = 1}, out_edge);
}

static bool can_recompute(const struct dfg_gradient_frames *m, struct dfg_edge edge)
{
	const struct dfg_node *node = node_of(m, edge.node);
	return edge.node < m->count && dfg_node_role(node) == DFG_PLAIN && node->op && node->n_in &&
		   !(node->op->flags & (DFG_STATEFUL | DFG_BLOCKING));
}

/*
 * Computes the value again in gradient code: the same op on the values that replace its inputs, which may be computed
 * again in turn.
 */
static struct dfg_err *recompute(
	struct dfg_gradient_frames *m, struct dfg_edge edge, const struct dfg_location *location, struct dfg_edge *out_edge)
{
	const struct dfg_location here = m->here, *plain = m->plain;
	const struct dfg_node node = *node_of(m, edge.node);
	struct dfg_attr *attr = dfg_arena_zeros(&m->arena, (size_t)node.n_attr + 1, sizeof *attr);
	char *name = dfg_arena_path(&m->arena, m->prefix, node.name);
	uint32_t kept = 0, number = 0;
	if (!attr || !name)
		return DFG_ERR(DFG_MEMORY, "no memory to compute '%.200s' again", node.name);
	for (uint32_t i = 0; i < node.n_attr; i++)
		if (node.attr[i].name[0] != '_')
			attr[kept++] = node.attr[i];
	m->here = *location;
	m->plain = NULL;
	m->recomputing++;
	struct dfg_err *err = dfg_build(m->builder,
		&(struct dfg_new_node){
			.op = node.op_name, .name = name, .in = node.in, .n_in = node.n_in, .attr = attr, .n_attr = kept},
		&number);
	m->recomputing--;
	m->here = here;
	m->plain = plain;
	uint32_t outputs = err ? 0 : dfg_facts_outputs(&m->builder->facts, number);
	for (uint32_t p = 0; p < outputs && !err; p++)
		err = dfg_edge_map_put(
			&m->map, (struct dfg_edge_key){{edge.node, (int32_t)p}, NEEDED, 0}, (struct dfg_edge){number, (int32_t)p});
	*out_edge = (struct dfg_edge){number, edge.port};
	return err;
}

static struct dfg_err *find_need(
	struct dfg_gradient_frames *m, struct dfg_edge edge, struct dfg_location *location, struct dfg_edge *out_edge)
{
	const struct dfg_node *node = node_of(m, edge.node);
	if (!m->loop[location->loop].frame)
		return DFG_ERR(DFG_DATA, "a gradient requires the value of '%.200s' in each iteration, but is outside its loop",
			node->name);
	DFG_TRY(dfg_cotangent_location(m, edge, location));
	if (is_index(m, edge, location->loop)) {
		*out_edge = m->loop[location->loop].index;
		return NULL;
	}
	if (dfg_node_role(node) == DFG_CONST)
		return copy_constant(m, edge, location, out_edge);
	if (is_cast_index(m, edge))
		return cast_index(m, edge, location, out_edge);
	if (m->remat && m->recomputing < RECOMPUTE_MOST && can_recompute(m, edge))
		return recompute(m, edge, location, out_edge);
	uint32_t base = dfg_recompute_base(m, edge);
	if (base == location->loop)
		return dfg_recompute_copy(m, base, edge, out_edge);
	return dfg_tape_need(m, edge, location, out_edge);
}

struct dfg_err *dfg_gradient_frames_need(struct dfg_gradient_frames *m, struct dfg_edge edge, struct dfg_edge *out_edge)
{
	struct dfg_location location;
	*out_edge = edge = source_of(m, edge);
	DFG_TRY(dfg_gradient_location(m, edge, &location));
	if (location.in_gradient || is_around(m, location.loop))
		return NULL;
	const struct dfg_edge_key key = {edge, NEEDED, 0};
	const struct dfg_edge *there = dfg_edge_map_find(&m->map, key);
	if (there) {
		*out_edge = *there;
		return NULL;
	}
	DFG_TRY(find_need(m, edge, &location, out_edge));
	return dfg_edge_map_put(&m->map, key, *out_edge);
}

static bool is_filled(enum dfg_meaning meaning)
{
	return meaning == DFG_MEANS_ZEROS || meaning == DFG_MEANS_ONES;
}

static bool is_deeper(const struct dfg_gradient_frames *m, struct dfg_edge edge)
{
	edge = source_of(m, edge);
	bool in_gradient = edge.node >= m->count && m->location[edge.node - m->count].in_gradient;
	uint32_t loop = edge.node < m->count ? m->loops.of[edge.node] : m->location[edge.node - m->count].loop;
	return !in_gradient && !is_around(m, loop);
}

/*
 * Saves the shape of a value instead of the value, if only its shape is read: then *out_saved is set and `want` is an Identity
 * of the shape.
 */
static struct dfg_err *ask_shape(struct dfg_gradient_frames *m, enum dfg_meaning meaning, struct dfg_new_node *want,
	struct dfg_edge *in, bool *out_saved)
{
	struct dfg_edge edge = source_of(m, want->in[0]);
	const struct dfg_edge_key key = {edge, NEEDED, 0};
	bool fills = is_filled(meaning);
	enum dfg_dtype dtype = dfg_facts_of(&m->builder->facts, edge)->dtype;
	*out_saved = false;
	if ((!fills && meaning != DFG_MEANS_OF_SHAPE) || !is_deeper(m, edge) || dfg_edge_map_find(&m->map, key) ||
		dfg_dtype_is_handle(dtype))
		return NULL;
	DFG_TRY(dfg_tape_shape(m, fills ? "Shape" : want->op, edge, want->attr, fills ? 0 : want->n_attr, &in[0]));
	want->op = "Identity";
	want->attr = NULL;
	want->n_attr = 0;
	*out_saved = true;
	return NULL;
}

static struct dfg_err *fill_shape(
	struct dfg_gradient_frames *m, struct dfg_new_node *want, struct dfg_edge *in, bool ones)
{
	enum dfg_dtype dtype = dfg_facts_of(&m->builder->facts, want->in[0])->dtype;
	char *name = dfg_arena_path(&m->arena, m->scope, ones ? "one" : "zero");
	if (!name)
		return dfg_no_memory("a name");
	want->op = "Fill";
	want->n_in = 2;
	return dfg_build_float(m->builder, name, dtype, ones, &in[1]);
}

/* Replaces inputs by their values in gradient code, in the present loop. */
static struct dfg_err *move_inputs(struct dfg_gradient_frames *m, const struct dfg_new_node *want, struct dfg_edge *in)
{
	for (uint32_t i = 0; i < want->n_in; i++) {
		DFG_TRY(dfg_gradient_frames_need(m, in[i], &in[i]));
		DFG_TRY(reach(m, &in[i], m->here.loop, m->here.in_gradient));
	}
	return NULL;
}

static struct dfg_err *needs_pivot(
	struct dfg_gradient_frames *m, const struct dfg_new_node *want, const struct dfg_edge *in, bool *out_needs)
{
	struct dfg_location at;
	*out_needs = m->here.set != 0;
	for (uint32_t i = 0; i < want->n_in && *out_needs; i++) {
		DFG_TRY(dfg_gradient_location(m, in[i], &at));
		*out_needs = at.set != m->here.set;
	}
	return NULL;
}

static struct dfg_err *move(struct dfg_gradient_frames *m, struct dfg_new_node *want)
{
	const struct dfg_op *op = dfg_op_find(want->op);
	enum dfg_meaning meaning = op ? op->means : DFG_MEANS_NOTHING;
	bool saved = false, needs;
	const struct dfg_edge *control = want->in + want->n_in;
	struct dfg_edge *in = dfg_arena_zeros(&m->arena, (size_t)want->n_in + want->n_control + 3, sizeof *in);
	if (!in)
		return dfg_no_memory("inputs");
	if (want->n_in)
		memcpy(in, want->in, want->n_in * sizeof *in);
	if (want->n_in == 1)
		DFG_TRY(ask_shape(m, meaning, want, in, &saved));
	if (saved && is_filled(meaning))
		DFG_TRY(fill_shape(m, want, in, meaning == DFG_MEANS_ONES));
	DFG_TRY(move_inputs(m, want, in));
	if (want->n_control)
		memcpy(in + want->n_in, control, want->n_control * sizeof *in);
	DFG_TRY(needs_pivot(m, want, in, &needs));
	if (needs)
		DFG_TRY(dfg_gradient_frames_pivot(m, &m->here, &in[want->n_in + want->n_control++]));
	want->in = in;
	return NULL;
}

static struct dfg_err *before(struct dfg_builder *builder, struct dfg_new_node *want)
{
	struct dfg_gradient_frames *m = builder->before_state;
	const struct dfg_location location = m->plain ? *m->plain : m->here;
	if (!m->plain)
		DFG_TRY(move(m, want));
	builder->n_control = location.loop == m->region ? m->n_control : 0;
	return note(m, builder->graph->count, &location);
}

/* Records existing Switches and constant Enters, which are used in place of new ones. */
static struct dfg_err *find_existing(struct dfg_gradient_frames *m, uint32_t n)
{
	const struct dfg_node *node = node_of(m, n);
	uint32_t set, with;
	if (dfg_is_constant_enter(node)) {
		const struct dfg_edge_key key = {node->in[0], ENTERED, 2 * m->loops.of[n]};
		return dfg_edge_map_find(&m->map, key) ? NULL : dfg_edge_map_put(&m->map, key, (struct dfg_edge){n, 0});
	}
	if (dfg_node_role(node) != DFG_SWITCH || dfg_facts_of(&m->builder->facts, (struct dfg_edge){n, 0})->is_ref)
		return NULL;
	uint32_t sides = (uint32_t)m->liveness.condition[m->liveness.side[n]].sides;
	for (uint32_t p = 0; p < sides; p++) {
		const struct dfg_edge side = {n, (int32_t)p};
		uint32_t condition = m->liveness.side[n] + p;
		const struct dfg_edge_key key = {node->in[0], SWITCHED, condition};
		DFG_TRY(dfg_live_of(&m->liveness, node->in[0], &set));
		DFG_TRY(dfg_live_with(&m->liveness, set, condition, &with));
		DFG_TRY(dfg_live_of(&m->liveness, side, &set));
		if (set == with && !dfg_edge_map_find(&m->map, key))
			DFG_TRY(dfg_edge_map_put(&m->map, key, side));
	}
	return NULL;
}

static struct dfg_err *find_bodies(struct dfg_gradient_frames *m)
{
	const struct dfg_node *node = m->builder->graph->node;
	for (uint32_t l = 1; l < m->loops.count; l++) {
		const struct dfg_loop *loop = &m->loops.loop[l];
		if (loop->condition == DFG_NONE)
			return DFG_ERR(DFG_DATA, "loop '%.*s' has no LoopCond", (int)loop->name.length, loop->name.s);
		if (loop->depth > DEPTH_MOST)
			return DFG_ERR(DFG_DATA, "loops are nested more than %d deep", DEPTH_MOST);
		m->segments[l] = m->in_segments && dfg_node_mark(&node[loop->condition], DFG_SEGMENTS, NULL);
		DFG_TRY(dfg_live_condition(&m->liveness, (struct dfg_edge){loop->condition, 0}, 1, 2, &m->body[l]));
	}
	return NULL;
}

struct dfg_err *dfg_gradient_frames_init(
	struct dfg_gradient_frames *m, struct dfg_builder *builder, const uint32_t *order, struct dfg_arena *scratch)
{
	const struct dfg_graph *graph = builder->graph;
	m->builder = builder;
	m->count = graph->count;
	m->scope = m->prefix;
	m->n_control = builder->n_control;
	DFG_TRY(dfg_loops_find(graph, order, scratch, &m->loops));
	DFG_TRY(dfg_liveness_find(graph, order, &m->loops, NULL, &m->liveness));
	m->body = dfg_arena_zeros(scratch, m->loops.count, sizeof *m->body);
	m->counter = dfg_arena_zeros(scratch, m->loops.count, sizeof *m->counter);
	m->loop = dfg_arena_zeros(scratch, m->loops.count, sizeof *m->loop);
	m->segments = dfg_arena_zeros(scratch, m->loops.count, sizeof *m->segments);
	if (!m->body || !m->counter || !m->loop || !m->segments)
		return DFG_ERR(DFG_MEMORY, "no memory for %u loops", m->loops.count);
	DFG_TRY(find_bodies(m));
	for (uint32_t n = 0; n < m->count; n++)
		DFG_TRY(find_existing(m, n));
	return NULL;
}

struct dfg_err *dfg_gradient_frames_begin(struct dfg_gradient_frames *m, uint32_t region)
{
	m->region = region;
	for (uint32_t l = 1; l < m->loops.count; l++)
		if (l != region && dfg_loop_within(&m->loops, l, region))
			dfg_induction_find(m, l);
	DFG_TRY(dfg_tape_find(m));
	m->builder->before = before;
	m->builder->before_state = m;
	return NULL;
}

void dfg_gradient_frames_release(struct dfg_gradient_frames *m)
{
	if (m->builder) {
		m->builder->before = NULL;
		m->builder->before_state = NULL;
		m->builder->n_control = m->n_control;
	}
	dfg_liveness_release(&m->liveness);
	dfg_edge_map_release(&m->map);
	dfg_free(m->location);
	dfg_arena_release(&m->arena);
}
