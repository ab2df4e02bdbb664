/*
 * The cost of loops, on one thread: an iteration that counts, FizzBuzz (branches in a loop), Collatz, Newton, a loop over
 * f32[64] with its gradient (saved values), a recurrence that decays. Medians; values are checked.
 */
#include "bench/bench.h"
#include "lib/exec/session.h"
#include "lib/graph/build.h"

#include <math.h>
#include <string.h>

/* A graph with one placeholder, "x". */
struct bench {
	struct dfg_arena arena;
	struct dfg_graph graph;
	struct dfg_builder build;
	struct dfg_edge x;
	const char *frame; /* of new Enters */
};

static struct dfg_edge add_node(struct bench *bench, const struct dfg_new_node *node)
{
	uint32_t number;
	expect(dfg_build(&bench->build, node, &number));
	return (struct dfg_edge){number, 0};
}

static void begin(struct bench *bench, enum dfg_dtype dtype, const struct dfg_shape *shape)
{
	*bench = (struct bench){.frame = "loop"};
	dfg_graph_init(&bench->graph, &bench->arena);
	expect(dfg_builder_init(&bench->build, &bench->graph));
	const struct dfg_attr attr[] = {DFG_ATTR_T("dtype", dtype), {"shape", DFG_ATTR_SHAPE, {.shape = shape}}};
	bench->x = add_node(bench, &(struct dfg_new_node){.op = "Placeholder", .name = "x", .attr = attr, .n_attr = 2});
}

static void end(struct bench *bench)
{
	dfg_builder_release(&bench->build);
	dfg_graph_release(&bench->graph);
	dfg_arena_release(&bench->arena);
}

static enum dfg_denormals denormals; /* of the sessions to come */

/* ns a step, the median of `runs`; the first fetch's elements stay in *out, to be released. */
static double measure(
	struct bench *bench, struct dfg_tensor *feed, struct dfg_edge fetch, int runs, struct dfg_tensor *out)
{
	struct dfg_session *session;
	struct dfg_plan *plan;
	struct dfg_session_options options = {.threads = 1, .denormals = denormals};
	struct dfg_step step = {.feed = &bench->x, .n_feed = 1, .fetch = &fetch, .n_fetch = 1};
	double *time = calloc((size_t)runs, sizeof *time);
	expect(dfg_session_new(&bench->graph, &options, &session));
	expect(dfg_session_plan(session, &step, &plan));
	for (int run = -2; run < runs; run++) {
		struct dfg_tensor result;
		double start = now();
		expect(dfg_plan_run(plan, feed, &result));
		if (run >= 0)
			time[run] = now() - start;
		if (run == runs - 1)
			*out = result;
		else
			dfg_tensor_release(&result);
	}
	qsort(time, (size_t)runs, sizeof *time, by_value);
	double median = time[runs / 2];
	free(time);
	dfg_session_free(session);
	return median;
}

/* "NAME<tab>VALUE", which bench/run sets beside what is to be reached and the peers. */
static void report(const char *name, double value, bool right)
{
	printf("%s\t%.4g\n", name, value);
	if (right)
		return;
	printf("%s: WRONG VALUE\n", name);
	exit(1);
}

static struct dfg_edge typed(struct bench *bench, enum dfg_dtype dtype, int64_t value)
{
	struct dfg_edge edge;
	expect(dfg_build_ints(&bench->build, "n", dtype, NULL, &value, &edge));
	return edge;
}

static struct dfg_edge number(struct bench *bench, int value)
{
	return typed(bench, DFG_I32, value);
}

static struct dfg_edge op(struct bench *bench, const char *name, struct dfg_edge a, struct dfg_edge b)
{
	return add_node(
		bench, &(struct dfg_new_node){.op = name, .name = name, .in = (struct dfg_edge[]){a, b}, .n_in = 2});
}

static struct dfg_edge op1(struct bench *bench, const char *name, struct dfg_edge a)
{
	return add_node(bench, &(struct dfg_new_node){.op = name, .name = name, .in = &a, .n_in = 1});
}

static struct dfg_edge enter(struct bench *bench, struct dfg_edge value, bool constant)
{
	const struct dfg_attr attr[] = {DFG_ATTR_S("frame_name", bench->frame), DFG_ATTR_B("is_constant", constant)};
	return add_node(bench,
		&(struct dfg_new_node){.op = "Enter", .name = "Enter", .in = &value, .n_in = 1, .attr = attr, .n_attr = 2});
}

/* A loop variable: its value in the condition, in the body, and after the loop. */
struct variable {
	struct dfg_edge merge, body, left;
};

static struct variable carry(struct bench *bench, struct dfg_edge start)
{
	struct dfg_edge in = enter(bench, start, false);
	return (struct variable){.merge = op(bench, "Merge", in, in)};
}

static void switch_on(struct bench *bench, struct variable *variable, struct dfg_edge condition)
{
	struct dfg_edge split = op(bench, "Switch", variable->merge, condition);
	variable->body = (struct dfg_edge){split.node, 1};
	variable->left = op1(bench, "Exit", split);
}

static void become(struct bench *bench, const struct variable *variable, struct dfg_edge next)
{
	bench->graph.node[variable->merge.node].in[1] = op1(bench, "NextIteration", next);
}

static struct dfg_tensor scalar(int32_t *value)
{
	return (struct dfg_tensor){.dtype = DFG_I32, .shape = DFG_SHAPE_SCALAR, .data = value, .capacity = sizeof *value};
}

/* while i < x: i += 1 */
static void count(void)
{
	enum { ITERATIONS = 10000 };
	struct bench bench;
	struct dfg_tensor out;
	int32_t iterations = ITERATIONS;
	struct dfg_tensor feed = scalar(&iterations);
	begin(&bench, DFG_I32, &DFG_SHAPE_SCALAR);
	struct variable i = carry(&bench, number(&bench, 0));
	struct dfg_edge most = enter(&bench, bench.x, true), one = enter(&bench, number(&bench, 1), true);
	switch_on(&bench, &i, op1(&bench, "LoopCond", op(&bench, "Less", i.merge, most)));
	become(&bench, &i, op(&bench, "AddV2", i.body, one));
	double ns = measure(&bench, &feed, i.left, 400, &out);
	report("loop that counts, an iteration", ns / ITERATIONS, *(int32_t *)out.data == ITERATIONS);
	dfg_tensor_release(&out);
	end(&bench);
}

/* FizzBuzz of 1 to x: how often each is said, by branches that pass on or add one. */
struct counts {
	struct dfg_edge of[3];
};

static struct counts split(struct bench *bench, const struct counts *counts, struct dfg_edge predicate, int side)
{
	struct counts in;
	for (int k = 0; k < 3; k++)
		in.of[k] = (struct dfg_edge){op(bench, "Switch", counts->of[k], predicate).node, side};
	return in;
}

/* The constant is in the branch: it waits for the tensor by which the branch is entered. */
static struct counts plus_one(struct bench *bench, struct counts counts, int which)
{
	bench->build.control = &counts.of[which].node;
	bench->build.n_control = 1;
	struct dfg_edge one = number(bench, 1);
	bench->build.n_control = 0;
	counts.of[which] = op(bench, "AddV2", counts.of[which], one);
	return counts;
}

static struct dfg_edge divides(struct bench *bench, struct dfg_edge i, struct dfg_edge by, struct dfg_edge zero)
{
	return op(bench, "Equal", op(bench, "FloorMod", i, by), zero);
}

static struct counts merge(struct bench *bench, const struct counts *no, const struct counts *yes)
{
	struct counts out;
	for (int k = 0; k < 3; k++)
		out.of[k] = op(bench, "Merge", no->of[k], yes->of[k]);
	return out;
}

static void fizzbuzz(void)
{
	struct bench bench;
	struct variable i, said[3];
	struct counts all = {0};
	struct dfg_tensor out;
	int32_t most = 100000;
	struct dfg_tensor feed = scalar(&most);
	begin(&bench, DFG_I32, &DFG_SHAPE_SCALAR);
	i = carry(&bench, number(&bench, 1));
	for (int k = 0; k < 3; k++)
		said[k] = carry(&bench, number(&bench, 0));
	struct dfg_edge last = enter(&bench, bench.x, true), one = enter(&bench, number(&bench, 1), true);
	struct dfg_edge zero = enter(&bench, number(&bench, 0), true), by[3];
	for (int k = 0; k < 3; k++)
		by[k] = enter(&bench, number(&bench, (int[]){15, 3, 5}[k]), true);
	struct dfg_edge on = op1(&bench, "LoopCond", op(&bench, "LessEqual", i.merge, last));
	switch_on(&bench, &i, on);
	for (int k = 0; k < 3; k++) {
		switch_on(&bench, &said[k], on);
		all.of[k] = said[k].body;
	}
	/* The predicate of a conditional in an else is computed there. */
	struct dfg_edge at = i.body, predicate[3];
	struct counts no[4] = {all}, yes[3];
	for (int k = 0; k < 3; k++) {
		struct dfg_edge divisor = by[k], nothing = zero;
		for (int outer = 0; outer < k; outer++) {
			divisor = op(&bench, "Switch", divisor, predicate[outer]);
			nothing = op(&bench, "Switch", nothing, predicate[outer]);
		}
		predicate[k] = divides(&bench, at, divisor, nothing);
		yes[k] = split(&bench, &no[k], predicate[k], 1);
		yes[k] = plus_one(&bench, yes[k], k);
		no[k + 1] = split(&bench, &no[k], predicate[k], 0);
		at = op(&bench, "Switch", at, predicate[k]);
	}
	struct counts out_of = no[3];
	for (int k = 3; k--;)
		out_of = merge(&bench, &out_of, &yes[k]);
	for (int k = 0; k < 3; k++)
		become(&bench, &said[k], out_of.of[k]);
	become(&bench, &i, op(&bench, "AddV2", i.body, one));
	struct dfg_edge result = op(&bench, "AddV2", op(&bench, "Mul", said[0].left, number(&bench, 100)),
		op(&bench, "Sub", said[1].left, said[2].left));
	double ns = measure(&bench, &feed, result, 25, &out);
	report("FizzBuzz to 100,000", ns / 1e6, *(int32_t *)out.data == 666600 + 26667 - 13334);
	dfg_tensor_release(&out);
	end(&bench);
}

/* while x > 1: x = x // 2 if x is even, else 3 x + 1 */
static void collatz(void)
{
	enum { ITERATIONS = 1348 };
	struct bench bench;
	struct dfg_tensor out;
	int64_t start = 989345275647;
	struct dfg_tensor feed = {.dtype = DFG_I64, .shape = DFG_SHAPE_SCALAR, .data = &start, .capacity = sizeof start};
	begin(&bench, DFG_I64, &DFG_SHAPE_SCALAR);
	struct dfg_edge zero = typed(&bench, DFG_I64, 0), in[4];
	struct variable x = carry(&bench, bench.x), steps = carry(&bench, zero);
	for (int k = 0; k < 4; k++)
		in[k] = enter(&bench, typed(&bench, DFG_I64, k), true);
	struct dfg_edge on = op1(&bench, "LoopCond", op(&bench, "Greater", x.merge, in[1]));
	switch_on(&bench, &x, on);
	switch_on(&bench, &steps, on);
	struct dfg_edge even = divides(&bench, x.body, in[2], in[0]), way = op(&bench, "Switch", x.body, even);
	struct dfg_edge two = op(&bench, "Switch", in[2], even), three = op(&bench, "Switch", in[3], even);
	struct dfg_edge one = op(&bench, "Switch", in[1], even), yes = {way.node, 1};
	struct dfg_edge half = op(&bench, "FloorDiv", yes, (struct dfg_edge){two.node, 1});
	struct dfg_edge more = op(&bench, "AddV2", op(&bench, "Mul", way, three), one);
	become(&bench, &x, op(&bench, "Merge", half, more));
	become(&bench, &steps, op(&bench, "AddV2", steps.body, in[1]));
	double ns = measure(&bench, &feed, steps.left, 400, &out);
	report("Collatz in i64, an iteration", ns / ITERATIONS, *(int64_t *)out.data == ITERATIONS);
	dfg_tensor_release(&out);
	end(&bench);
}

/* 10,000 times y = (y + x / y) / 2 */
static void newton(void)
{
	enum { ITERATIONS = 10000 };
	struct bench bench;
	struct dfg_tensor out;
	double square = 2, half = 0.5;
	struct dfg_tensor feed = {.dtype = DFG_F64, .shape = DFG_SHAPE_SCALAR, .data = &square, .capacity = sizeof square};
	struct dfg_tensor factor = {.dtype = DFG_F64, .shape = DFG_SHAPE_SCALAR, .data = &half, .capacity = sizeof half};
	struct dfg_edge constant;
	begin(&bench, DFG_F64, &DFG_SHAPE_SCALAR);
	expect(dfg_build_const(&bench.build, "half", &factor, &constant));
	struct variable i = carry(&bench, number(&bench, 0)), y = carry(&bench, bench.x);
	struct dfg_edge most = enter(&bench, number(&bench, ITERATIONS), true),
					one = enter(&bench, number(&bench, 1), true);
	struct dfg_edge x = enter(&bench, bench.x, true), by = enter(&bench, constant, true);
	struct dfg_edge on = op1(&bench, "LoopCond", op(&bench, "Less", i.merge, most));
	switch_on(&bench, &i, on);
	switch_on(&bench, &y, on);
	become(&bench, &y, op(&bench, "Mul", op(&bench, "AddV2", y.body, op(&bench, "RealDiv", x, y.body)), by));
	become(&bench, &i, op(&bench, "AddV2", i.body, one));
	double ns = measure(&bench, &feed, y.left, 100, &out);
	report("Newton in f64, an iteration", ns / ITERATIONS, fabs(*(double *)out.data - sqrt(2)) < 1e-15);
	dfg_tensor_release(&out);
	end(&bench);
}

static struct dfg_edge keyed(struct bench *bench, const char *name, struct dfg_edge value, struct dfg_edge key)
{
	const struct dfg_attr attr[] = {DFG_ATTR_T("T", DFG_F32), DFG_ATTR_I("N", 1)};
	return add_node(bench, &(struct dfg_new_node){.op = name,
							   .name = name[4] == 'S' ? "save" : "load",
							   .in = (struct dfg_edge[]){value, key},
							   .n_in = 2,
							   .attr = attr,
							   .n_attr = 2});
}

/* v = v * w + w, 10,000 times from x, all f32[64], and what the sum of its elements changes with w. */
static void gradient(void)
{
	enum { ITERATIONS = 10000, WIDE = 64 };
	struct bench bench;
	struct dfg_tensor out, w, ones;
	float x[WIDE];
	struct dfg_tensor feed = {.dtype = DFG_F32, .shape = DFG_SHAPE_VECTOR(WIDE), .data = x, .capacity = sizeof x};
	double value[WIDE], slope[WIDE] = {0};
	begin(&bench, DFG_F32, &DFG_SHAPE_VECTOR(WIDE));
	expect(dfg_tensor_new(DFG_F32, &DFG_SHAPE_VECTOR(WIDE), &w));
	expect(dfg_tensor_new(DFG_F32, &DFG_SHAPE_VECTOR(WIDE), &ones));
	for (int k = 0; k < WIDE; k++) {
		value[k] = x[k] = (float)k / WIDE;
		((float *)w.data)[k] = 0.5f + (float)k / 512;
		((float *)ones.data)[k] = 1;
	}
	for (int i = 0; i < ITERATIONS; i++)
		for (int k = 0; k < WIDE; k++) {
			double by = ((float *)w.data)[k];
			slope[k] = slope[k] * by + value[k] + 1;
			value[k] = value[k] * by + by;
		}
	struct dfg_edge weight, unit;
	expect(dfg_build_const(&bench.build, "w", &w, &weight));
	expect(dfg_build_const(&bench.build, "ones", &ones, &unit));
	struct dfg_edge zero = number(&bench, 0), step = number(&bench, 1);
	struct variable i = carry(&bench, zero), v = carry(&bench, bench.x);
	struct dfg_edge most = enter(&bench, number(&bench, ITERATIONS), true), one = enter(&bench, step, true);
	struct dfg_edge by = enter(&bench, weight, true);
	struct dfg_edge on = op1(&bench, "LoopCond", op(&bench, "Less", i.merge, most));
	switch_on(&bench, &i, on);
	switch_on(&bench, &v, on);
	struct dfg_edge saved = keyed(&bench, "Dfg>Save", v.body, i.body);
	become(&bench, &v, op(&bench, "AddV2", op(&bench, "Mul", v.body, by), by));
	become(&bench, &i, op(&bench, "AddV2", i.body, one));

	bench.frame = "gradient";
	struct variable left = carry(&bench, i.left), dv = carry(&bench, unit),
					dw = carry(&bench, op1(&bench, "ZerosLike", unit));
	one = enter(&bench, step, true), zero = enter(&bench, zero, true), by = enter(&bench, weight, true);
	on = op1(&bench, "LoopCond", op(&bench, "Greater", left.merge, zero));
	switch_on(&bench, &left, on);
	switch_on(&bench, &dv, on);
	switch_on(&bench, &dw, on);
	struct dfg_edge key = op(&bench, "Sub", left.body, one), old = keyed(&bench, "Dfg>Load", saved, key);
	become(&bench, &left, key);
	become(&bench, &dw, op(&bench, "AddV2", op(&bench, "AddV2", dw.body, op(&bench, "Mul", dv.body, old)), dv.body));
	become(&bench, &dv, op(&bench, "Mul", dv.body, by));
	struct dfg_edge fetch = op(&bench, "AddV2", dw.left, op(&bench, "Sub", v.left, v.left));
	double ns = measure(&bench, &feed, fetch, 25, &out);
	bool right = true;
	for (int k = 0; k < WIDE; k++)
		right &= fabs(((float *)out.data)[k] - slope[k]) < 1e-4 * (1 + fabs(slope[k]));
	report("loop of f32[64] with gradient", ns / ITERATIONS, right);
	dfg_tensor_release(&out);
	dfg_tensor_release(&w);
	dfg_tensor_release(&ones);
	end(&bench);
}

/* v = v * 0.99, 20,000 times from 1, of f32[64]: 0 when denormals are flushed, else a denormal from 8,700 iterations on. */
static void decay(const char *name, enum dfg_denormals mode)
{
	enum { ITERATIONS = 20000, WIDE = 64 };
	struct bench bench;
	struct dfg_tensor out;
	float x[WIDE], factor = 0.99F;
	struct dfg_tensor feed = {.dtype = DFG_F32, .shape = DFG_SHAPE_VECTOR(WIDE), .data = x, .capacity = sizeof x};
	struct dfg_tensor by = {.dtype = DFG_F32, .shape = DFG_SHAPE_SCALAR, .data = &factor, .capacity = sizeof factor};
	struct dfg_edge constant;
	for (int k = 0; k < WIDE; k++)
		x[k] = 1;
	begin(&bench, DFG_F32, &DFG_SHAPE_VECTOR(WIDE));
	expect(dfg_build_const(&bench.build, "factor", &by, &constant));
	struct variable i = carry(&bench, number(&bench, 0)), v = carry(&bench, bench.x);
	struct dfg_edge most = enter(&bench, number(&bench, ITERATIONS), true),
					one = enter(&bench, number(&bench, 1), true);
	struct dfg_edge weight = enter(&bench, constant, true);
	struct dfg_edge on = op1(&bench, "LoopCond", op(&bench, "Less", i.merge, most));
	switch_on(&bench, &i, on);
	switch_on(&bench, &v, on);
	become(&bench, &v, op(&bench, "Mul", v.body, weight));
	become(&bench, &i, op(&bench, "AddV2", i.body, one));
	denormals = mode;
	double ns = measure(&bench, &feed, v.left, 25, &out);
	denormals = DFG_FLUSH;
	uint32_t last; /* 50 times the least float: 49.5 of it rounds to 50 */
	memcpy(&last, out.data, sizeof last);
	report(name, ns / ITERATIONS, last == (mode == DFG_KEEP ? 50 : 0));
	dfg_tensor_release(&out);
	end(&bench);
}

int main(void)
{
	count();
	fizzbuzz();
	collatz();
	newton();
	gradient();
	decay("decay of f32[64], an iteration", DFG_FLUSH);
	decay("decay, denormals kept, an iteration", DFG_KEEP);
	return 0;
}
