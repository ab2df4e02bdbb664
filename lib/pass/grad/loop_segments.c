#include "lib/pass/grad/loop_segments.h"

#include "lib/base/text.h"
#include "lib/pass/grad/tape.h"

#include <string.h>

struct maker {
	struct dfg_builder *builder;
	const struct dfg_remat *remat;
	const struct dfg_loop *loop;
	struct dfg_arena *scratch;
	const char *frame;           /* the outer loop's frame, whose name is the scope of new nodes */
	uint32_t around, in, within; /* pivots: outside (DFG_NONE if none is required), in a segment, in an iteration */
	struct dfg_edge condition;   /* the outer loop's LoopCond */
	struct dfg_edge number;      /* the number of the segment */
	struct dfg_edge limit, full; /* the most iterations of the segment; whether it had as many */
};

static struct dfg_err *make_op(struct maker *s, const char *op, const struct dfg_edge *in, uint32_t n_in,
	const struct dfg_attr *attr, uint32_t n_attr, struct dfg_edge *out_edge)
{
	char *name = dfg_arena_path(s->scratch, s->frame, op);
	if (!name)
		return dfg_no_memory("a name");
	*out_edge = (struct dfg_edge){0, 0};
	return dfg_build(s->builder,
		&(struct dfg_new_node){.op = op, .name = name, .in = in, .n_in = n_in, .attr = attr, .n_attr = n_attr},
		&out_edge->node);
}

static struct dfg_err *make2(
	struct maker *s, const char *op, struct dfg_edge a, struct dfg_edge b, struct dfg_edge *out_edge)
{
	return make_op(s, op, (struct dfg_edge[]){a, b}, 2, NULL, 0, out_edge);
}

static struct dfg_err *make1(struct maker *s, const char *op, struct dfg_edge in, struct dfg_edge *out_edge)
{
	return make_op(s, op, &in, 1, NULL, 0, out_edge);
}

/* A scalar that is live where the pivot is. */
static struct dfg_err *constant(
	struct maker *s, enum dfg_dtype dtype, int64_t value, uint32_t pivot, struct dfg_edge *out_edge)
{
	struct dfg_tensor scalar = {.dtype = DFG_BOOL, .shape = DFG_SHAPE_SCALAR, .data = &(bool){value}, .capacity = 1};
	char *name = dfg_arena_path(s->scratch, s->frame, "Const");
	if (!name)
		return dfg_no_memory("a name");
	if (dtype == DFG_BOOL)
		DFG_TRY(dfg_build_const(s->builder, name, &scalar, out_edge));
	else
		DFG_TRY(dfg_build_ints(s->builder, name, dtype, NULL, &value, out_edge));
	return pivot == DFG_NONE ? NULL : dfg_node_add_control(s->builder->graph, out_edge->node, pivot);
}

static struct dfg_err *enter(
	struct maker *s, struct dfg_string frame, struct dfg_edge edge, bool constant, struct dfg_edge *out_edge)
{
	const struct dfg_attr attr[] = {
		{"frame_name", DFG_ATTR_STRING, {.s = frame}},
		DFG_ATTR_B("is_constant", constant),
		DFG_ATTR_I("parallel_iterations", s->loop->window),
	};
	return make_op(s, "Enter", &edge, 1, attr, 3, out_edge);
}

static struct dfg_err *enter_segments(struct maker *s, struct dfg_edge edge, bool constant, struct dfg_edge *out_edge)
{
	return enter(s, (struct dfg_string){s->frame, strlen(s->frame)}, edge, constant, out_edge);
}

/* Gives the node's outputs the facts of the tensor. */
static void know(struct maker *s, struct dfg_edge like, uint32_t node)
{
	struct dfg_facts *facts = &s->builder->facts;
	bool sides = dfg_node_role(&s->builder->graph->node[node]) == DFG_SWITCH;
	for (uint32_t p = 0; p < (sides ? 2u : 1u); p++)
		facts->fact[facts->first[node] + p] = dfg_facts_of(facts, like);
}

/* The Merge of a loop variable of either loop; close() sets its second input. */
static struct dfg_err *merge(struct maker *s, struct dfg_edge entered, struct dfg_edge *out_merge)
{
	return make_op(s, "Merge", (struct dfg_edge[]){entered, {DFG_NONE, 0}}, 2, &DFG_ATTR_I("N", 2), 1, out_merge);
}

static struct dfg_err *close(struct maker *s, struct dfg_edge merge, struct dfg_edge next)
{
	DFG_TRY(make1(s, "NextIteration", next, &next));
	s->builder->graph->node[merge.node].in[1] = next;
	return NULL;
}

/* Makes `source` the input of `from`; `to` takes the old input and the control inputs. */
static struct dfg_err *move(struct maker *s, uint32_t from, struct dfg_edge source, uint32_t to)
{
	struct dfg_node *node = s->builder->graph->node;
	struct dfg_edge *in = dfg_arena_zeros(s->builder->graph->arena, 1, sizeof *in);
	if (!in)
		return dfg_no_memory("inputs");
	*in = source;
	node[to].in = node[from].in;
	node[to].n_control = node[from].n_control;
	node[from].in = in;
	node[from].n_control = 0;
	return NULL;
}

/* Begins the outer loop: its condition, and the variable that numbers the segments. */
static struct dfg_err *begin(struct maker *s, struct dfg_edge *out_go)
{
	struct dfg_edge zero, merge_of, switch_node, one;
	DFG_TRY(constant(s, DFG_BOOL, true, s->around, out_go));
	DFG_TRY(enter_segments(s, *out_go, false, out_go));
	DFG_TRY(merge(s, *out_go, out_go));
	DFG_TRY(make_op(s, "LoopCond", out_go, 1, &DFG_ATTR_B(DFG_SEGMENTS, true), 1, &s->condition));
	DFG_TRY(constant(s, DFG_I32, 0, s->around, &zero));
	DFG_TRY(enter_segments(s, zero, false, &zero));
	DFG_TRY(merge(s, zero, &merge_of));
	DFG_TRY(make2(s, "Switch", merge_of, s->condition, &switch_node));
	switch_node.port = 1;
	DFG_TRY(make1(s, "Identity", switch_node, &s->number));
	s->in = s->number.node;
	DFG_TRY(constant(s, DFG_I32, 1, s->in, &one));
	DFG_TRY(make2(s, "AddV2", s->number, one, &switch_node));
	return close(s, merge_of, switch_node);
}

/*
 * Makes the inner loop end at the segment's limit too. With segments of 1, 2, 3, ... iterations the number of segments
 * is that of iterations in the last.
 */
static struct dfg_err *limit(struct maker *s, struct dfg_edge go)
{
	bool grows = s->remat->policy == DFG_REMAT_SQRT;
	struct dfg_edge start, count, switch_node, bound, less, one, *condition;
	DFG_TRY(constant(s, DFG_I32, grows ? 1 : s->remat->every, s->in, &s->limit));
	if (grows)
		DFG_TRY(make2(s, "AddV2", s->number, s->limit, &s->limit));
	DFG_TRY(constant(s, DFG_I32, 0, s->in, &start));
	DFG_TRY(enter(s, s->loop->name, start, false, &start));
	DFG_TRY(merge(s, start, &count));
	DFG_TRY(enter(s, s->loop->name, s->limit, true, &bound));
	DFG_TRY(make2(s, "Less", count, bound, &less));
	condition = s->builder->graph->node[s->loop->condition].in;
	DFG_TRY(make2(s, "LogicalAnd", *condition, less, condition));
	DFG_TRY(make2(s, "Switch", count, (struct dfg_edge){s->loop->condition, 0}, &switch_node));
	DFG_TRY(make1(s, "Identity", (struct dfg_edge){switch_node.node, 1}, &bound));
	DFG_TRY(constant(s, DFG_I32, 1, bound.node, &one));
	DFG_TRY(make2(s, "AddV2", bound, one, &bound));
	DFG_TRY(close(s, count, bound));
	DFG_TRY(make1(s, "Exit", switch_node, &switch_node));
	DFG_TRY(make2(s, "Equal", switch_node, s->limit, &s->full));
	return close(s, go, s->full);
}

/* Makes the outer loop carry a loop variable from segment to segment. The variable's Exits leave the outer loop. */
static struct dfg_err *carry(struct maker *s, const struct dfg_loop_variable *v, const uint32_t *exit, uint32_t n_exit)
{
	struct dfg_node *node = s->builder->graph->node;
	const struct dfg_edge like = {v->merge, 0};
	struct dfg_edge entered, merge_of, switch_node, out = {v->switch_node, 0};
	DFG_TRY(enter_segments(s, node[v->enter].in[0], false, &entered));
	DFG_TRY(merge(s, entered, &merge_of));
	know(s, like, merge_of.node);
	DFG_TRY(make2(s, "Switch", merge_of, s->condition, &switch_node));
	know(s, like, switch_node.node);
	DFG_TRY(move(s, v->enter, (struct dfg_edge){switch_node.node, 1}, entered.node));
	if (v->switch_node == DFG_NONE)
		DFG_TRY(make2(s, "Switch", like, (struct dfg_edge){s->loop->condition, 0}, &out));
	DFG_TRY(make1(s, "Exit", out, &out));
	know(s, like, out.node);
	DFG_TRY(close(s, merge_of, out));
	node = s->builder->graph->node;
	for (uint32_t i = 0; i < n_exit; i++)
		if (node[node[exit[i]].in[0].node].in[0].node == v->merge)
			node[exit[i]].in[0] = switch_node;
	return NULL;
}

static struct dfg_err *hand_on(struct maker *s, uint32_t invariant)
{
	struct dfg_edge entered;
	DFG_TRY(enter_segments(s, s->builder->graph->node[invariant].in[0], true, &entered));
	know(s, (struct dfg_edge){invariant, 0}, entered.node);
	return move(s, invariant, entered, entered.node);
}

/* Chooses a frame name that is not used yet. */
static struct dfg_err *name_frame(struct maker *s, const struct dfg_loops *loops)
{
	const struct dfg_string of = s->loop->name;
	for (int number = 0;; number++) {
		s->frame = dfg_arena_print(
			s->builder->graph->arena, number ? "%.*s/segments_%d" : "%.*s/segments", (int)of.length, of.s, number);
		bool taken = false;
		if (!s->frame)
			return dfg_no_memory("a name");
		for (uint32_t l = 1; l < loops->count && !taken; l++)
			taken = loops->loop[l].name.length == strlen(s->frame) &&
					!memcmp(loops->loop[l].name.s, s->frame, strlen(s->frame));
		if (!taken)
			return NULL;
	}
}

static struct dfg_err *cut(struct maker *s, const uint32_t *exit, uint32_t n_exit, bool may_die)
{
	const struct dfg_graph *graph = s->builder->graph;
	struct dfg_edge pivot, go;
	s->around = DFG_NONE;
	if (may_die) {
		DFG_TRY(make1(s, "Identity", graph->node[s->loop->variable[0].enter].in[0], &pivot));
		s->around = pivot.node;
	}
	DFG_TRY(begin(s, &go));
	DFG_TRY(limit(s, go));
	for (uint32_t i = 0; i < s->loop->n_variable; i++)
		DFG_TRY(carry(s, &s->loop->variable[i], exit, n_exit));
	for (uint32_t i = 0; i < s->loop->n_invariant; i++)
		DFG_TRY(hand_on(s, s->loop->invariant[i]));
	return NULL;
}

/* The choice of loops. */

struct chooser {
	struct dfg_backprop *s;
	const struct dfg_loops *loops;
	const struct dfg_node *node;
	uint32_t loop;
};

/*
 * Whether the node is part of the condition of the loop, or of a loop within it, and so runs once more than the body.
 */
static bool is_in_condition(const struct chooser *c, uint32_t n)
{
	const struct dfg_gradient_frames *m = &c->s->paths->frames;
	uint32_t set = m->liveness.of[n], loop = c->loops->of[n];
	for (; dfg_live_has(&m->liveness, set, m->body[loop]); loop = c->loops->loop[loop].parent) {
		if (loop == c->loop)
			return false;
		set = m->liveness.entry[loop];
	}
	return true;
}

static bool is_repeatable(const struct dfg_node *node)
{
	return node->op && !(node->op->flags & (DFG_STATEFUL | DFG_BLOCKING));
}

/*
 * Whether the node reads a value that exists only in the first, or in all but the first iterations: others, if the loop
 * is in segments.
 */
static bool reads_some_iterations(const struct chooser *c, const struct dfg_node *node)
{
	for (uint32_t e = 0; e < node->n_in + node->n_control; e++) {
		const struct dfg_edge in = node->in[e];
		const struct dfg_node *from = &c->node[in.node];
		enum dfg_role role = dfg_node_role(from);
		uint32_t merge = c->loops->of[in.node] == c->loop && role == DFG_MERGE ? c->loops->variable[in.node] : DFG_NONE;
		if (merge != DFG_NONE && in.port == 1)
			return true;
		if (c->loops->of[in.node] != c->loop || dfg_node_role(node) == DFG_MERGE)
			continue;
		if (role == DFG_NEXT_ITERATION || (role == DFG_ENTER && !dfg_is_constant_enter(from)))
			return true;
	}
	return false;
}

/* Whether the Exit is that of a loop variable. */
static bool leaves_well(const struct chooser *c, const struct dfg_node *exit)
{
	const struct dfg_node *switch_node = &c->node[exit->in[0].node];
	if (dfg_node_role(switch_node) != DFG_SWITCH || exit->in[0].port || exit->n_control)
		return false;
	uint32_t merge = switch_node->in[0].node;
	return switch_node->in[0].port == 0 && switch_node->in[1].node == c->loops->loop[c->loop].condition &&
		   c->loops->of[merge] == c->loop && c->loops->variable[merge] != DFG_NONE;
}

/* Whether the Switch is on the loop's predicate but not by its LoopCond, which will differ from it. */
static bool goes_by_predicate(const struct chooser *c, const struct dfg_node *node)
{
	const struct dfg_edge condition = {c->loops->loop[c->loop].condition, 0};
	if (dfg_node_role(node) != DFG_SWITCH || node->in[1].node == condition.node)
		return false;
	struct dfg_edge by = dfg_live_source(c->s->builder->graph, node->in[1]);
	struct dfg_edge predicate = dfg_live_source(c->s->builder->graph, condition);
	return dfg_edge_same(by, predicate);
}

/*
 * Whether the Save or Load is for code outside of the loop, so that its keys, one for each loop around, would lack the
 * new loop.
 */
static bool is_kept_beyond(const struct chooser *c, uint32_t n)
{
	const struct dfg_node *node = &c->node[n];
	uint32_t save = dfg_node_role(node) == DFG_LOAD ? node->in[0].node : n;
	if (dfg_node_role(node) != DFG_LOAD && dfg_node_role(node) != DFG_SAVE)
		return false;
	return !dfg_loop_within(c->loops, dfg_tape_region(&c->s->paths->frames, save), c->loop);
}

static const char *why_not_for(const struct chooser *c, uint32_t n)
{
	const struct dfg_node *node = &c->node[n];
	uint32_t home = dfg_loop_home(c->s->builder->graph, c->loops, n);
	bool own = home == c->loop;
	if (!dfg_loop_within(c->loops, home, c->loop))
		return NULL;
	if (dfg_node_role(node) == DFG_EXIT)
		return own && !leaves_well(c, node) ? "leaves the loop but is not a loop variable" : NULL;
	if (dfg_node_role(node) == DFG_LOOP_COND && own && n != c->loops->loop[c->loop].condition)
		return "is a second LoopCond";
	if (own && goes_by_predicate(c, node))
		return "reads the loop's predicate, not its LoopCond";
	if (own && reads_some_iterations(c, node))
		return "differs between the first iteration and the others";
	if (is_kept_beyond(c, n))
		return "belongs to a gradient that was made without segments";
	if (!is_repeatable(node) && is_in_condition(c, n))
		return "is part of the condition and cannot be computed twice";
	return NULL;
}

static bool is_closed(const struct chooser *c)
{
	const struct dfg_loop *loop = &c->loops->loop[c->loop];
	for (uint32_t i = 0; i < loop->n_variable; i++) {
		const struct dfg_loop_variable *v = &loop->variable[i];
		if (v->enter == DFG_NONE || v->next == DFG_NONE ||
			dfg_facts_of(&c->s->builder->facts, (struct dfg_edge){v->merge, 0})->is_ref)
			return false;
	}
	return loop->n_variable;
}

static void tell(const struct chooser *c, const char *node, const char *why, struct dfg_text *notes)
{
	const struct dfg_string name = c->loops->loop[c->loop].name;
	if (!notes)
		return;
	dfg_text_add(notes, "warning: loop '");
	dfg_text_escape(notes, name.s, name.length, 200);
	dfg_text_add(notes, "' keeps the values of all iterations: '%.200s' %s\n", node, why);
}

static bool can_cut(const struct chooser *c, struct dfg_text *notes)
{
	if (!is_closed(c)) {
		tell(c, c->node[c->loops->loop[c->loop].condition].name, "is the condition of a loop that carries references",
			notes);
		return false;
	}
	for (uint32_t n = 0; n < c->s->count; n++) {
		const char *why = why_not_for(c, n);
		if (!why)
			continue;
		tell(c, c->node[n].name, why, notes);
		return false;
	}
	return true;
}

static bool depends(const struct chooser *c)
{
	const struct dfg_loop *loop = &c->loops->loop[c->loop];
	bool found = false;
	for (uint32_t i = 0; i < loop->n_variable; i++)
		found |= c->s->depends[loop->variable[i].merge];
	for (uint32_t i = 0; i < loop->n_invariant; i++)
		found |= c->s->depends[loop->invariant[i]];
	return found;
}

static struct dfg_err *list_exits(const struct chooser *c, uint32_t **out_exit, uint32_t *out_count)
{
	*out_count = 0;
	*out_exit = dfg_arena_zeros(&c->s->scratch, (size_t)c->s->count + 1, sizeof **out_exit);
	if (!*out_exit)
		return dfg_no_memory("exits");
	for (uint32_t n = 0; n < c->s->count; n++)
		if (dfg_node_role(&c->node[n]) == DFG_EXIT && dfg_loop_home(c->s->builder->graph, c->loops, n) == c->loop)
			(*out_exit)[(*out_count)++] = n;
	return NULL;
}

static struct dfg_err *cut_one(const struct chooser *c, const struct dfg_remat *remat, bool may_die)
{
	struct dfg_builder *builder = c->s->builder;
	struct maker maker = {
		.builder = builder, .remat = remat, .loop = &c->loops->loop[c->loop], .scratch = &c->s->scratch};
	const char *device = builder->device;
	uint32_t *exit, n_exit, n_control = builder->n_control;
	DFG_TRY(list_exits(c, &exit, &n_exit));
	DFG_TRY(name_frame(&maker, c->loops));
	builder->device = c->node[maker.loop->condition].device;
	builder->n_control = 0;
	struct dfg_err *err = cut(&maker, exit, n_exit, may_die);
	builder->device = device;
	builder->n_control = n_control;
	return dfg_err_note(err, "loop '%.*s'", (int)maker.loop->name.length, maker.loop->name.s);
}

/* A loop to divide into segments, and whether it may be dead. */
struct choice {
	uint32_t loop;
	bool may_die;
};

static uint32_t choose(struct chooser *c, struct dfg_text *notes, struct choice *out_choice)
{
	const struct dfg_gradient_frames *m = &c->s->paths->frames;
	uint32_t count = 0;
	for (uint32_t l = 1; l < c->loops->count; l++) {
		c->loop = l;
		if (c->loops->loop[l].parent != m->region || !depends(c) ||
			dfg_node_mark(&c->node[c->loops->loop[l].condition], DFG_SEGMENTS, NULL) || !can_cut(c, notes))
			continue;
		out_choice[count++] = (struct choice){l, m->region || m->liveness.entry[l]};
	}
	return count;
}

struct dfg_err *dfg_segments_make(struct dfg_backprop *s, const struct dfg_remat *remat, struct dfg_text *notes)
{
	if (!s->paths)
		return NULL;
	struct dfg_loops loops = s->paths->frames.loops;
	struct chooser c = {s, &loops, s->builder->graph->node, 0};
	struct choice *choice = dfg_arena_zeros(&s->scratch, loops.count, sizeof *choice);
	uint32_t count = choice ? choose(&c, notes, choice) : 0;
	struct dfg_err *err = choice ? NULL : DFG_ERR(DFG_MEMORY, "no memory for %u loops", loops.count);
	dfg_control_gradient_free(s);
	s->paths = NULL;
	for (uint32_t i = 0; i < count && !err; i++) {
		c.node = s->builder->graph->node;
		c.loop = choice[i].loop;
		err = cut_one(&c, remat, choice[i].may_die);
	}
	return err;
}
