#include "lib/pass/grad/induction.h"
#include "lib/pass/grad/loop_segments.h"
#include "lib/pass/grad/backpropagation.h"

#include <string.h>

/* A gradient loop that is being built: the variables that have no next value yet. */
struct dfg_gradient_loop {
	struct carried {
		const struct dfg_loop_variable *forward;
		struct dfg_new_variable backward;
	} * carried;
	uint32_t count;
	/*
	 * The cotangent sums of the invariants of a loop in segments. The inner loop continues them from segment to segment,
	 * so that they are added up in the same order as without segments.
	 */
	struct invariant_sum {
		uint32_t constant; /* the constant Enter of the outer loop */
		struct dfg_new_variable sum;
		struct dfg_edge next;
		struct invariant_sum *after;
	} * invariant_sum;
};

static struct dfg_make make_of(struct dfg_backprop *s)
{
	return (struct dfg_make){s->builder, s->paths->frames.scope};
}

/* The bounds and the step of the gradient loop's index, at its entry. */
struct numbers {
	struct dfg_edge iterations, zero, one;
};

static struct dfg_err *find_numbers(struct dfg_backprop *s, uint32_t loop, struct numbers *numbers)
{
	struct dfg_gradient_frames *m = &s->paths->frames;
	struct dfg_location entry;
	DFG_TRY(dfg_induction_iterations(m, loop, &numbers->iterations));
	DFG_TRY(dfg_gradient_frames_entry(m, loop, true, &entry));
	DFG_TRY(dfg_gradient_frames_need(m, numbers->iterations, &numbers->iterations));
	DFG_TRY(dfg_gradient_frames_bring(m, numbers->iterations, &entry, &numbers->iterations));
	DFG_TRY(dfg_gradient_frames_int(m, &entry, dfg_induction_dtype(m, loop), 0, &numbers->zero));
	return dfg_gradient_frames_int(m, &entry, dfg_induction_dtype(m, loop), 1, &numbers->one);
}

/* Makes the index of the gradient loop, which counts against the forward one: N - 1 to 0, or 0 to N - 1. */
static struct dfg_err *count(struct dfg_backprop *s, uint32_t loop)
{
	struct dfg_gradient_frames *m = &s->paths->frames;
	const struct dfg_location inside = {.loop = loop, .in_gradient = true};
	struct dfg_new_variable index;
	struct dfg_location entry, body;
	struct numbers numbers;
	const struct dfg_attr mark = DFG_ATTR_B(DFG_SEGMENTS, true);
	struct dfg_edge in[2], *condition = &m->loop[loop].condition;
	DFG_TRY(find_numbers(s, loop, &numbers));
	DFG_TRY(dfg_gradient_frames_entry(m, loop, true, &entry));
	DFG_TRY(dfg_gradient_frames_body(m, loop, true, &body));
	bool down = !m->counter[loop].down;
	struct dfg_edge start = numbers.zero, pair[2] = {numbers.iterations, numbers.one};
	if (down)
		DFG_TRY(
			dfg_gradient_frames_node(m, &entry, &(struct dfg_own_node){.op = "Sub", .in = pair, .n_in = 2}, &start));
	DFG_TRY(dfg_variable_merge(m, loop, true, start, &index));
	in[0] = index.merge;
	DFG_TRY(dfg_gradient_frames_bring(m, down ? numbers.zero : numbers.iterations, &inside, &in[1]));
	DFG_TRY(dfg_gradient_frames_node(
		m, &inside, &(struct dfg_own_node){.op = down ? "GreaterEqual" : "Less", .in = in, .n_in = 2}, &in[0]));
	DFG_TRY(dfg_gradient_frames_node(m, &inside,
		&(struct dfg_own_node){.op = "LoopCond", .in = in, .n_in = 1, .attr = &mark, .n_attr = m->segments[loop]},
		condition));
	DFG_TRY(dfg_variable_switch(m, loop, true, &index));
	m->loop[loop].index = in[0] = index.body;
	DFG_TRY(dfg_gradient_frames_bring(m, numbers.one, &inside, &in[1]));
	DFG_TRY(dfg_gradient_frames_node(
		m, &body, &(struct dfg_own_node){.op = down ? "Sub" : "AddV2", .in = in, .n_in = 2}, &in[0]));
	return dfg_variable_close(m, loop, true, &index, in[0]);
}

/*
 * Moves the cotangents of all Exits of a variable to the first one. DFG_DATA: an Exit of a value that is not a loop
 * variable, which has one iteration more than the body.
 */
static struct dfg_err *join_exits(struct dfg_backprop *s, uint32_t loop)
{
	const struct dfg_graph *graph = s->builder->graph;
	const struct dfg_loops *loops = &s->paths->frames.loops;
	for (uint32_t e = s->paths->exit[loop]; e != DFG_NONE; e = s->paths->next_exit[e]) {
		struct dfg_arrival **from = &s->paths->arrived[dfg_backprop_tensor(s, (struct dfg_edge){e, 0})], **to;
		const struct dfg_node *switch_node = &graph->node[dfg_exit_source(graph, &graph->node[e]).node];
		if (!*from)
			continue;
		uint32_t merge = switch_node->n_in ? switch_node->in[0].node : e;
		if (loops->variable[merge] == DFG_NONE || loops->of[merge] != loop || switch_node->in[0].port)
			return DFG_ERR(DFG_DATA,
				"node '%.200s' (Exit): no gradient of '%.200s', which the condition of a loop computes; make it a loop "
				"variable, or compute it after the loop",
				graph->node[e].name, graph->node[merge].name);
		uint32_t first = loops->loop[loop].variable[loops->variable[merge]].exit;
		if (first == e || first == DFG_NONE)
			continue;
		to = &s->paths->arrived[dfg_backprop_tensor(s, (struct dfg_edge){first, 0})];
		while (*to)
			to = &(*to)->next;
		*to = *from;
		*from = NULL;
	}
	return NULL;
}

static bool flows(const struct dfg_backprop *s, struct dfg_edge edge)
{
	return dfg_flow_dtype(dfg_facts_of(&s->builder->facts, edge)) != DFG_NO_DTYPE;
}

static struct dfg_err *zeros(struct dfg_backprop *s, struct dfg_edge like, struct dfg_edge *out_edge)
{
	struct dfg_make make = make_of(s);
	return dfg_make_filled(&make, like, 0, out_edge);
}

/* A tensor with the shape of the variable's last value. */
static struct dfg_err *like_exit(
	struct dfg_backprop *s, uint32_t loop, const struct dfg_loop_variable *v, struct dfg_edge *out_edge)
{
	struct dfg_new_variable variable = {.merge = {v->merge, 0}};
	const struct dfg_inferred *fact = dfg_facts_of(&s->builder->facts, variable.merge);
	bool known = dfg_shape_known(&fact->shape) && fact->dtype != DFG_VARIANT;
	*out_edge = v->exit == DFG_NONE ? variable.merge : (struct dfg_edge){v->exit, 0};
	if (v->exit != DFG_NONE || known)
		return NULL;
	DFG_TRY(dfg_variable_switch(&s->paths->frames, loop, false, &variable));
	return dfg_variable_exit(&s->paths->frames, loop, false, &variable, out_edge);
}

/* The first value of a variable's cotangent: that of its last value, or zeros. */
static struct dfg_err *start_of(
	struct dfg_backprop *s, uint32_t loop, const struct dfg_loop_variable *v, struct dfg_edge *out_edge)
{
	struct dfg_make make = make_of(s);
	struct dfg_cotangent sum = {.kind = DFG_NO_COTANGENT};
	struct dfg_edge like;
	if (v->exit != DFG_NONE)
		DFG_TRY(dfg_control_gradient_total(s, (struct dfg_edge){v->exit, 0}, &sum));
	DFG_TRY(dfg_gradient_frames_entry(&s->paths->frames, loop, true, &s->paths->frames.here));
	if (sum.kind != DFG_NO_COTANGENT)
		return dfg_cotangent_dense(&make, (struct dfg_edge){v->exit, 0}, &sum, out_edge);
	DFG_TRY(like_exit(s, loop, v, &like));
	return zeros(s, like, out_edge);
}

/* Records that the cotangent has the shape of its tensor, in every iteration. */
static struct dfg_err *know_shape(struct dfg_backprop *s, const struct dfg_new_variable *variable, struct dfg_edge like)
{
	struct dfg_facts *facts = &s->builder->facts;
	struct dfg_inferred *fact = dfg_arena_zeros(facts->arena, 1, sizeof *fact);
	if (!fact)
		return dfg_no_memory("a shape");
	*fact = *dfg_facts_of(facts, variable->merge);
	fact->shape = dfg_flow_shape(dfg_facts_of(facts, like));
	facts->fact[facts->first[variable->merge.node]] = fact;
	return NULL;
}

static struct dfg_err *begin_variable(
	struct dfg_backprop *s, uint32_t loop, const struct dfg_loop_variable *v, struct dfg_new_variable *out_variable)
{
	struct dfg_gradient_frames *m = &s->paths->frames;
	struct dfg_edge start, next = s->builder->graph->node[v->next].in[0];
	DFG_TRY(start_of(s, loop, v, &start));
	DFG_TRY(dfg_variable_merge(m, loop, true, start, out_variable));
	DFG_TRY(know_shape(s, out_variable, (struct dfg_edge){v->merge, 0}));
	DFG_TRY(dfg_variable_switch(m, loop, true, out_variable));
	DFG_TRY(dfg_gradient_frames_body(m, loop, true, &m->here));
	if (!dfg_backprop_wants(s, next))
		return NULL;
	return dfg_control_gradient_add(s, next, &(struct dfg_cotangent){.kind = DFG_DENSE, .value = out_variable->body});
}

static struct dfg_err *enter(struct dfg_backprop *s, uint32_t loop, struct dfg_gradient_loop *open)
{
	const struct dfg_loop *forward = &s->paths->frames.loops.loop[loop];
	DFG_TRY(dfg_frame_name(&s->paths->frames, loop, DFG_NONE, &s->paths->frames.loop[loop].frame));
	DFG_TRY(count(s, loop));
	DFG_TRY(join_exits(s, loop));
	for (uint32_t i = 0; i < forward->n_variable; i++) {
		const struct dfg_loop_variable *v = &forward->variable[i];
		if (!s->depends[v->merge] || v->enter == DFG_NONE || !flows(s, (struct dfg_edge){v->merge, 0}))
			continue;
		struct dfg_scope scope = dfg_backprop_scope(s, v->merge);
		s->paths->frames.scope = scope.s;
		struct carried *carried = &open->carried[open->count++];
		carried->forward = v;
		DFG_TRY(begin_variable(s, loop, v, &carried->backward));
	}
	return NULL;
}

struct dfg_err *dfg_gradient_loop_enter(struct dfg_backprop *s, uint32_t loop)
{
	const struct dfg_loop *forward = &s->paths->frames.loops.loop[loop];
	const char *outer = s->paths->frames.scope;
	struct dfg_scope scope = dfg_backprop_scope(s, forward->condition);
	struct dfg_gradient_loop *open = dfg_arena_zeros(&s->scratch, 1, sizeof *open);
	if (open)
		open->carried = dfg_arena_zeros(&s->scratch, (size_t)forward->n_variable + 1, sizeof *open->carried);
	if (!open || !open->carried)
		return dfg_no_memory("a gradient loop");
	s->paths->open[loop] = open;
	s->paths->frames.scope = scope.s;
	struct dfg_err *err = enter(s, loop, open);
	s->paths->frames.scope = outer;
	return dfg_err_note(err, "loop '%.*s'", (int)forward->name.length, forward->name.s);
}

/* Adds the result of a gradient loop to the cotangents of the tensor that enters the forward loop. */
static struct dfg_err *add_result(
	struct dfg_backprop *s, uint32_t loop, const struct dfg_new_variable *variable, struct dfg_edge to)
{
	struct dfg_gradient_frames *m = &s->paths->frames;
	struct dfg_cotangent result = {.kind = DFG_DENSE};
	if (!dfg_backprop_wants(s, to))
		return NULL;
	DFG_TRY(dfg_variable_exit(m, loop, true, variable, &result.value));
	DFG_TRY(dfg_gradient_frames_entry(m, loop, true, &m->here));
	return dfg_control_gradient_add(s, to, &result);
}

static struct dfg_err *end_variable(struct dfg_backprop *s, uint32_t loop, const struct carried *carried)
{
	const struct dfg_edge merge = {carried->forward->merge, 0};
	struct dfg_make make = make_of(s);
	struct dfg_cotangent sum;
	struct dfg_edge next;
	DFG_TRY(dfg_gradient_frames_body(&s->paths->frames, loop, true, &s->paths->frames.here));
	DFG_TRY(dfg_control_gradient_total(s, merge, &sum));
	if (sum.kind == DFG_NO_COTANGENT)
		DFG_TRY(zeros(s, merge, &next));
	else
		DFG_TRY(dfg_cotangent_dense(&make, merge, &sum, &next));
	DFG_TRY(dfg_variable_close(&s->paths->frames, loop, true, &carried->backward, next));
	return add_result(s, loop, &carried->backward, s->builder->graph->node[carried->forward->enter].in[0]);
}

/*
 * Adds the cotangent of one iteration. Rows are added in place, so that no iteration makes a tensor of the size of the
 * sum.
 */
static struct dfg_err *add_share(
	struct dfg_backprop *s, struct dfg_edge so_far, const struct dfg_cotangent *share, struct dfg_edge *out_edge)
{
	struct dfg_make make = make_of(s);
	struct dfg_edge in[3] = {so_far, share->indices, share->value}, shape;
	if (share->kind == DFG_DENSE) {
		bool list = dfg_facts_of(&s->builder->facts, so_far)->dtype == DFG_VARIANT;
		return dfg_make_binary(&make, list ? "AddN" : "AddV2", so_far, share->value, out_edge);
	}
	DFG_TRY(dfg_make_vector(&make, "shape", DFG_I32, (int64_t[]){-1, 1}, 2, &shape));
	DFG_TRY(dfg_make_binary(&make, "Reshape", share->indices, shape, &in[1]));
	return dfg_make_op(&make, "TensorScatterAdd", in, 3, NULL, 0, out_edge);
}

static struct dfg_err *begin_sum(struct dfg_backprop *s, uint32_t loop, struct dfg_edge start, struct dfg_edge like,
	struct dfg_new_variable *out_sum)
{
	struct dfg_gradient_frames *m = &s->paths->frames;
	DFG_TRY(dfg_variable_merge(m, loop, true, start, out_sum));
	DFG_TRY(know_shape(s, out_sum, like));
	DFG_TRY(dfg_variable_switch(m, loop, true, out_sum));
	return dfg_gradient_frames_body(m, loop, true, &m->here);
}

static struct dfg_err *begin_zero_sum(
	struct dfg_backprop *s, uint32_t loop, struct dfg_edge like, struct dfg_new_variable *out_sum)
{
	struct dfg_edge zero;
	DFG_TRY(dfg_gradient_frames_entry(&s->paths->frames, loop, true, &s->paths->frames.here));
	DFG_TRY(zeros(s, like, &zero));
	return begin_sum(s, loop, zero, like, out_sum);
}

static struct invariant_sum *find_running(const struct dfg_backprop *s, uint32_t loop, uint32_t constant)
{
	struct invariant_sum *invariant_sum = s->paths->open[loop] ? s->paths->open[loop]->invariant_sum : NULL;
	while (invariant_sum && invariant_sum->constant != constant)
		invariant_sum = invariant_sum->after;
	return invariant_sum;
}

/*
 * Whether the sum of the outer loop's invariant can be continued in this loop, because the outer loop is one of
 * segments.
 */
static bool continues_inside(const struct dfg_backprop *s, uint32_t loop, struct dfg_edge outside)
{
	const struct dfg_gradient_frames *m = &s->paths->frames;
	uint32_t outer = m->loops.loop[loop].parent;
	const struct dfg_loop *segments = &m->loops.loop[outer];
	bool enters = false;
	for (uint32_t i = 0; i < segments->n_invariant && m->segments[outer] && outer != m->region; i++)
		enters |= segments->invariant[i] == outside.node;
	return enters && dfg_backprop_wants(s, outside) && !find_running(s, outer, outside.node);
}

static struct dfg_err *continue_inside(
	struct dfg_backprop *s, uint32_t loop, struct dfg_edge outside, const struct dfg_cotangent *share)
{
	struct dfg_gradient_frames *m = &s->paths->frames;
	uint32_t outer = m->loops.loop[loop].parent;
	struct invariant_sum *invariant_sum = dfg_arena_zeros(&s->scratch, 1, sizeof *invariant_sum);
	struct dfg_new_variable sum;
	struct dfg_edge next;
	if (!invariant_sum)
		return dfg_no_memory("a sum");
	*invariant_sum = (struct invariant_sum){.constant = outside.node, .after = s->paths->open[outer]->invariant_sum};
	DFG_TRY(begin_zero_sum(s, outer, s->builder->graph->node[outside.node].in[0], &invariant_sum->sum));
	DFG_TRY(begin_sum(s, loop, invariant_sum->sum.body, outside, &sum));
	DFG_TRY(add_share(s, sum.body, share, &next));
	DFG_TRY(dfg_variable_close(m, loop, true, &sum, next));
	s->paths->open[outer]->invariant_sum = invariant_sum;
	return dfg_variable_exit(m, loop, true, &sum, &invariant_sum->next);
}

/* Makes the cotangent of an invariant: the sum of those of all iterations. */
static struct dfg_err *accumulate(struct dfg_backprop *s, uint32_t loop, uint32_t constant)
{
	struct dfg_gradient_frames *m = &s->paths->frames;
	const struct dfg_edge inside = {constant, 0}, outside = s->builder->graph->node[constant].in[0];
	const struct invariant_sum *invariant_sum = find_running(s, loop, constant);
	struct dfg_new_variable sum;
	struct dfg_cotangent share;
	struct dfg_edge next;
	DFG_TRY(dfg_gradient_frames_body(m, loop, true, &m->here));
	DFG_TRY(dfg_control_gradient_total(s, inside, &share));
	if (share.kind == DFG_NO_COTANGENT && !invariant_sum)
		return NULL;
	if (continues_inside(s, loop, outside))
		return continue_inside(s, loop, outside, &share);
	if (invariant_sum)
		sum = invariant_sum->sum;
	else
		DFG_TRY(begin_zero_sum(s, loop, outside, &sum));
	next = invariant_sum ? invariant_sum->next : sum.body;
	if (share.kind != DFG_NO_COTANGENT)
		DFG_TRY(add_share(s, next, &share, &next));
	DFG_TRY(dfg_variable_close(m, loop, true, &sum, next));
	return add_result(s, loop, &sum, outside);
}

struct dfg_err *dfg_gradient_loop_leave(struct dfg_backprop *s, uint32_t loop)
{
	struct dfg_gradient_frames *m = &s->paths->frames;
	const struct dfg_loop *forward = &m->loops.loop[loop];
	const char *outer = m->scope;
	struct dfg_scope scope;
	struct dfg_err *err = NULL;
	m->scope = scope.s;
	for (uint32_t i = 0; i < s->paths->open[loop]->count && !err; i++) {
		scope = dfg_backprop_scope(s, s->paths->open[loop]->carried[i].forward->merge);
		err = end_variable(s, loop, &s->paths->open[loop]->carried[i]);
	}
	for (uint32_t i = 0; i < forward->n_invariant && !err; i++) {
		scope = dfg_backprop_scope(s, forward->invariant[i]);
		if (s->depends[forward->invariant[i]])
			err = accumulate(s, loop, forward->invariant[i]);
	}
	m->scope = outer;
	return dfg_err_note(err, "loop '%.*s'", (int)forward->name.length, forward->name.s);
}
