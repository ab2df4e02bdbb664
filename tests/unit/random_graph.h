#pragma once

#include "tests/unit/random_program.h"

#include "lib/pass/grad/grad.h"

/* A program as a graph: what a body or a side reads of what is around it enters by constant Enter and Switch. */
struct place {
	const struct place *around;
	const char *frame; /* of a loop's body, or NULL: the side of a branch */
	int64_t window;
	struct dfg_edge predicate; /* of the branch, in the place around */
	int side, ways;
	uint32_t pivot; /* control input of constants; DFG_NONE in the root */
};

struct emitter {
	struct dfg_builder *builder;
	struct dfg_remat remat;
	int frames;
	struct {
		struct dfg_edge edge;
		const struct place *at;
	} value[NAMES_MOST];
};

static struct dfg_edge emit(struct emitter *e, const char *op, const struct dfg_edge *in, uint32_t n,
	const struct dfg_attr *attr, uint32_t n_attr)
{
	struct dfg_edge out = {0};
	succeeds(dfg_build(e->builder,
		&(struct dfg_new_node){.op = op, .name = op, .in = in, .n_in = n, .attr = attr, .n_attr = n_attr}, &out.node));
	return out;
}

static struct dfg_edge emit2(struct emitter *e, const char *op, struct dfg_edge a, struct dfg_edge b)
{
	return emit(e, op, (struct dfg_edge[]){a, b}, 2, NULL, 0);
}

static struct dfg_edge emit1(struct emitter *e, const char *op, struct dfg_edge a)
{
	return emit(e, op, &a, 1, NULL, 0);
}

static struct dfg_edge emit_constant(struct emitter *e, const struct place *at, enum dfg_dtype dtype, double value)
{
	struct dfg_edge edge;
	if (dtype == DFG_F64)
		succeeds(dfg_build_float(e->builder, "c", dtype, value, &edge));
	else
		succeeds(dfg_build_ints(e->builder, "n", dtype, NULL, &(int64_t){(int64_t)value}, &edge));
	if (at->pivot != DFG_NONE)
		succeeds(dfg_node_add_control(e->builder->graph, edge.node, at->pivot));
	return edge;
}

static struct dfg_edge enter(struct emitter *e, const struct place *at, struct dfg_edge edge, bool constant)
{
	const struct dfg_attr attr[] = {DFG_ATTR_S("frame_name", at->frame), DFG_ATTR_B("is_constant", constant),
		DFG_ATTR_I("parallel_iterations", at->window)};
	return emit(e, "Enter", &edge, 1, attr, 3);
}

/* The side of a branch: of two by a truth, of more by a number. */
static struct dfg_edge emit_side(struct emitter *e, const struct place *at, struct dfg_edge edge)
{
	const struct dfg_edge in[2] = {edge, at->predicate};
	const struct dfg_attr ways = DFG_ATTR_I("num_outs", at->ways);
	bool many = at->ways > 2;
	return (struct dfg_edge){emit(e, many ? "_SwitchN" : "Switch", in, 2, &ways, many).node, at->side};
}

/* The tensor of location `from`, as it is read at location `at`. */
static struct dfg_edge bring(struct emitter *e, struct dfg_edge edge, const struct place *from, const struct place *at)
{
	if (from == at)
		return edge;
	edge = bring(e, edge, from, at->around);
	if (at->frame)
		return enter(e, at, edge, true);
	return emit_side(e, at, edge);
}

static struct dfg_edge read_name(struct emitter *e, int name, const struct place *at)
{
	return bring(e, e->value[name].edge, e->value[name].at, at);
}

static void bind(struct emitter *e, int name, const struct place *at, struct dfg_edge edge)
{
	e->value[name].edge = edge;
	e->value[name].at = at;
}

static void emit_block(struct emitter *e, const struct statement *block, const struct place *at);

static struct dfg_edge emit_rest(struct emitter *e, const struct place *at, struct dfg_edge edge, int64_t by)
{
	struct dfg_edge limit = emit_constant(e, at, DFG_I32, (double)by);
	if (dfg_facts_of(&e->builder->facts, edge)->dtype == DFG_F64) {
		const struct dfg_attr to = DFG_ATTR_T("DstT", DFG_I32);
		edge = emit2(e, "FloorMod", emit1(e, "Floor", edge), emit_constant(e, at, DFG_F64, (double)by));
		edge = emit(e, "Cast", &edge, 1, &to, 1);
	}
	return emit2(e, "FloorMod", edge, limit);
}

/* A node that reads only invariants of the loop would run once too often. */
static struct dfg_edge in_iteration(struct emitter *e, const struct place *at, struct dfg_edge edge)
{
	if (at->frame)
		succeeds(dfg_node_add_control(e->builder->graph, edge.node, at->pivot));
	return edge;
}

static void emit_op(struct emitter *e, const struct statement *st, const struct place *at)
{
	static const char *const op[] = {
		[ADD] = "AddV2", [MUL] = "Mul", [NEG] = "Neg", [RECIP] = "Reciprocal", [COPY] = "Identity"};
	struct dfg_edge out;
	if (st->fn == CONST) {
		bind(e, st->out, at, emit_constant(e, at, DFG_F64, st->value));
		return;
	}
	out = read_name(e, st->arg[0], at);
	if (st->fn == ITERATIONS)
		out = emit_rest(e, at, out, 4);
	else if (st->fn == ODD)
		out = emit2(e, "Equal", emit_rest(e, at, out, 2), emit_constant(e, at, DFG_I32, 1));
	else if (st->fn == ADD || st->fn == MUL)
		out = emit2(e, op[st->fn], out, read_name(e, st->arg[1], at));
	else
		out = emit1(e, op[st->fn], out);
	bind(e, st->out, at, in_iteration(e, at, out));
}

struct turning {
	struct dfg_edge merge, body;
};

static struct turning begin_turning(struct emitter *e, const struct place *body, struct dfg_edge start)
{
	struct dfg_edge first = enter(e, body, start, false);
	return (struct turning){.merge = emit2(e, "Merge", first, first)};
}

static void close_turning(struct emitter *e, const struct turning *turning, struct dfg_edge next)
{
	e->builder->graph->node[turning->merge.node].in[1] = emit1(e, "NextIteration", next);
}

/* A value that leaves the loop and is not one of its variables. */
static struct dfg_edge emit_peek(struct emitter *e, const struct statement *st, const struct place *body,
	const struct turning *carried, struct dfg_edge condition, struct dfg_edge fixed)
{
	struct dfg_edge seen = emit2(e, "AddV2", carried[st->peek[1]].merge, enter(e, body, fixed, true));
	seen = emit2(e, "Mul", carried[st->peek[0]].merge, seen);
	return emit1(e, "Exit", emit2(e, "Switch", seen, condition));
}

/* Counts from 0 by 1, or, so that no variable says which iteration it is, from iterations down as long as it is more than 0. */
static void emit_loop(struct emitter *e, const struct statement *st, const struct place *at)
{
	struct place *body = dfg_arena_zeros(e->builder->graph->arena, 1, sizeof *body);
	struct dfg_edge iterations = read_name(e, st->iterations, at), zero = emit_constant(e, at, DFG_I32, 0),
					out[CARRIED_MOST + 1];
	struct turning count, carried[CARRIED_MOST];
	*body = (struct place){.around = at, .window = st->window, .pivot = DFG_NONE};
	body->frame = dfg_arena_print(e->builder->graph->arena, "loop%d", e->frames++);
	count = begin_turning(e, body, st->plain ? zero : iterations);
	for (int i = 0; i < st->n; i++)
		carried[i] = begin_turning(e, body, read_name(e, st->init[i], at));
	struct dfg_edge bound = enter(e, body, st->plain ? iterations : zero, true);
	struct dfg_edge condition = emit1(e, "LoopCond", emit2(e, st->plain ? "Less" : "Greater", count.merge, bound));
	struct dfg_edge turn = emit2(e, "Switch", count.merge, condition);
	count.body = emit1(e, "Identity", (struct dfg_edge){turn.node, 1});
	body->pivot = count.body.node;
	for (int i = 0; i < st->n; i++) {
		turn = emit2(e, "Switch", carried[i].merge, condition);
		out[i] = emit1(e, "Exit", turn);
		bind(e, st->inside[i], body, emit1(e, "Identity", (struct dfg_edge){turn.node, 1}));
	}
	if (st->peeks)
		out[st->n] = emit_peek(e, st, body, carried, condition, read_name(e, st->arg[0], at));
	bind(e, st->index, body, st->plain ? count.body : emit2(e, "Sub", enter(e, body, iterations, true), count.body));
	emit_block(e, st->block[0], body);
	close_turning(e, &count, emit2(e, st->plain ? "AddV2" : "Sub", count.body, emit_constant(e, body, DFG_I32, 1)));
	for (int i = 0; i < st->n; i++) {
		struct dfg_edge next = read_name(e, st->next[i], body);
		if (e->value[st->next[i]].at != body) /* an invariant is live once more than the body */
			next = (struct dfg_edge){emit2(e, "Switch", next, condition).node, 1};
		close_turning(e, &carried[i], next);
	}
	for (int i = 0; i < st->n + st->peeks; i++)
		bind(e, st->result[i], at, out[i]);
}

static void emit_branch(struct emitter *e, const struct statement *st, const struct place *at)
{
	struct dfg_edge predicate = read_name(e, st->iterations, at), in[CARRIED_MOST][WAYS_MOST];
	for (int side = 0; side < st->ways; side++) {
		struct place *place = dfg_arena_zeros(e->builder->graph->arena, 1, sizeof *place);
		*place = (struct place){.around = at, .predicate = predicate, .side = side, .ways = st->ways};
		place->pivot = emit1(e, "Identity", emit_side(e, place, predicate)).node;
		emit_block(e, st->block[side], place);
		for (int i = 0; i < st->n; i++)
			in[i][side] = read_name(e, st->side[side][i], place);
	}
	for (int i = 0; i < st->n; i++)
		bind(e, st->result[i], at, emit(e, "Merge", in[i], (uint32_t)st->ways, NULL, 0));
}

static struct dfg_edge derive(struct emitter *e, struct dfg_edge y, struct dfg_edge x)
{
	const struct dfg_grad_options options = {.unnamed = true, .remat = e->remat};
	struct dfg_cotangent slope;
	succeeds(dfg_grad(e->builder, &y, 1, &x, 1, &options, &slope));
	if (slope.kind == DFG_NO_COTANGENT)
		succeeds(dfg_build_float(e->builder, "zero", DFG_F64, 0, &slope.value));
	return slope.value;
}

/* The derivative is at x's location, where it is requested. */
static void emit_derive(struct emitter *e, const struct statement *st, const struct place *at)
{
	struct dfg_edge x = in_iteration(e, at, emit1(e, "Identity", read_name(e, st->arg[0], at))), y;
	bind(e, st->inside[0], at, x);
	emit_block(e, st->block[0], at);
	y = read_name(e, st->arg[1], at);
	bind(e, st->out, at, derive(e, y, x));
}

static void emit_block(struct emitter *e, const struct statement *st, const struct place *at)
{
	for (; st; st = st->after) {
		if (st->kind == OP)
			emit_op(e, st, at);
		else if (st->kind == LOOP)
			emit_loop(e, st, at);
		else if (st->kind == BRANCH)
			emit_branch(e, st, at);
		else
			emit_derive(e, st, at);
	}
}
