/*
 * Ops that are computed together, tile by tile, have the bytes of the ops one after another: random programs of elementwise
 * ops, casts, broadcasts, reshapes and reductions, of which random values are fetched and fed.
 */
#include "tests/unit/test.h"

#include "lib/exec/session.h"
#include "lib/graph/build.h"
#include "lib/pass/verify/verify.h"

#include <stdlib.h>

enum { NODES = 24, VALUES = NODES + 6, FETCHES = 5 };

struct subject {
	struct dfg_arena arena;
	struct dfg_graph graph;
	struct dfg_builder builder;
	uint64_t random;
	int64_t rows, columns;
	struct dfg_edge value[VALUES];
	int inputs, values;
};

static int draw(struct subject *s, int most)
{
	s->random = s->random * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
	return (int)((s->random >> 33) % (uint64_t)most);
}

static const struct dfg_inferred *type_of(const struct subject *s, struct dfg_edge edge)
{
	return dfg_facts_of(&s->builder.facts, edge);
}

static void add_value(struct subject *s, struct dfg_edge edge)
{
	s->value[s->values++] = edge;
}

static void add_input(struct subject *s, int rank, int64_t rows, int64_t columns)
{
	struct dfg_shape shape = {.rank = rank, .dim = {rows, columns}};
	if (rank == 1)
		shape.dim[0] = columns, shape.dim[1] = 0;
	const struct dfg_attr attr[] = {DFG_ATTR_T("dtype", DFG_F32), {"shape", DFG_ATTR_SHAPE, {.shape = &shape}}};
	uint32_t node;
	succeeds(dfg_build(
		&s->builder, &(struct dfg_new_node){.op = "Placeholder", .name = "x", .attr = attr, .n_attr = 2}, &node));
	add_value(s, (struct dfg_edge){node, 0});
	s->inputs++;
}

static struct dfg_edge op(
	struct subject *s, const char *name, struct dfg_edge a, struct dfg_edge b, int inputs, const struct dfg_attr *attr)
{
	uint32_t node;
	succeeds(dfg_build(&s->builder,
		&(struct dfg_new_node){.op = name,
			.name = name,
			.in = (struct dfg_edge[]){a, b},
			.n_in = (uint32_t)inputs,
			.attr = attr,
			.n_attr = attr ? 1 : 0},
		&node));
	return (struct dfg_edge){node, 0};
}

static struct dfg_edge ints(struct subject *s, int count, const int64_t *value)
{
	struct dfg_edge edge;
	succeeds(dfg_build_ints(&s->builder, "n", DFG_I32, &DFG_SHAPE_VECTOR(count), value, &edge));
	return edge;
}

/* A value that was drawn, as f32. */
static struct dfg_edge any(struct subject *s)
{
	int near = draw(s, 3) ? s->values - 1 - draw(s, s->values < 5 ? s->values : 5) : draw(s, s->values);
	struct dfg_edge edge = s->value[near];
	if (type_of(s, edge)->dtype == DFG_F32)
		return edge;
	return op(s, "Cast", edge, edge, 1, &DFG_ATTR_T("DstT", DFG_F32));
}

static void draw_binary(struct subject *s)
{
	static const char *const names[] = {
		"AddV2", "Sub", "Mul", "Maximum", "Minimum", "RealDiv", "SquaredDifference", "Greater", "Less", "Pow"};
	struct dfg_edge a = any(s), b = any(s);
	const struct dfg_shape *shape[2] = {&type_of(s, a)->shape, &type_of(s, b)->shape};
	struct dfg_shape both;
	struct dfg_err *err = dfg_shape_broadcast(shape, 2, &both);
	if (err || dfg_shape_count(&both) > s->rows * s->columns)
		b = a;
	dfg_err_free(err);
	add_value(s, op(s, names[draw(s, sizeof names / sizeof *names)], a, b, 2, NULL));
}

/* The sum of two to four values of one shape. */
static void draw_sum(struct subject *s)
{
	struct dfg_edge in[4] = {any(s)};
	int n = 2 + draw(s, 3);
	uint32_t node;
	for (int i = 1; i < n; i++) {
		in[i] = any(s);
		if (!dfg_shape_equal(&type_of(s, in[i])->shape, &type_of(s, in[0])->shape))
			in[i] = in[draw(s, i)];
	}
	succeeds(dfg_build(
		&s->builder, &(struct dfg_new_node){.op = "AddN", .name = "sum", .in = in, .n_in = (uint32_t)n}, &node));
	add_value(s, (struct dfg_edge){node, 0});
}

static void draw_unary(struct subject *s)
{
	static const char *const names[] = {
		"Neg", "Exp", "Tanh", "Sqrt", "Square", "Relu", "Abs", "Sigmoid", "Floor", "Log"};
	struct dfg_edge x = any(s);
	add_value(s, op(s, names[draw(s, sizeof names / sizeof *names)], x, x, 1, NULL));
}

static void draw_reduction(struct subject *s)
{
	static const char *const names[] = {"Sum", "Mean", "Max", "Prod", "Min"};
	struct dfg_edge x = any(s);
	int rank = type_of(s, x)->shape.rank;
	const int64_t last[2] = {-1, 0};
	int axes = rank > 1 && !draw(s, 5) ? 2 : 1;
	if (!rank)
		return;
	add_value(s, op(s, names[draw(s, 5)], x, ints(s, axes, draw(s, 6) ? last : last + 2 - axes), 2,
					 &DFG_ATTR_B("keep_dims", draw(s, 3) > 0)));
}

/* The same elements in another shape, or a value repeated to all of them, or turned, which no group contains. */
static void draw_shape(struct subject *s)
{
	struct dfg_edge x = any(s);
	const struct dfg_shape shape = type_of(s, x)->shape, whole = {.rank = 2, .dim = {s->rows, s->columns}};
	int64_t count = dfg_shape_count(&shape);
	struct dfg_shape out;
	struct dfg_err *err = dfg_shape_broadcast((const struct dfg_shape *const[]){&shape, &whole}, 2, &out);
	bool fits = !err && dfg_shape_equal(&out, &whole);
	dfg_err_free(err);
	switch (draw(s, 4)) {
	case 0:
		add_value(s, op(s, "Reshape", x,
						 ints(s, 2, (int64_t[]){count == whole.dim[0] * whole.dim[1] ? s->rows : count, -1}), 2, NULL));
		return;
	case 1:
		add_value(s, op(s, "Reshape", x, ints(s, 1, &(int64_t){-1}), 2, NULL));
		return;
	case 2:
		if (fits)
			add_value(s, op(s, "BroadcastTo", x, ints(s, 2, whole.dim), 2, NULL));
		return;
	default:
		if (shape.rank == 2)
			add_value(s, op(s, "Reshape", op(s, "Transpose", x, ints(s, 2, (int64_t[]){1, 0}), 2, NULL),
							 ints(s, 2, shape.dim), 2, NULL));
	}
}

static void draw_cast(struct subject *s)
{
	static const enum dfg_dtype dtypes[] = {DFG_F64, DFG_I32, DFG_BOOL, DFG_I8, DFG_F16};
	struct dfg_edge x = any(s);
	add_value(s, op(s, "Cast", x, x, 1, &DFG_ATTR_T("DstT", dtypes[draw(s, 5)])));
}

static void make_subject(struct subject *s, uint64_t seed, int64_t rows, int64_t columns)
{
	*s = (struct subject){.random = seed * UINT64_C(0x9e3779b97f4a7c15), .rows = rows, .columns = columns};
	dfg_graph_init(&s->graph, &s->arena);
	succeeds(dfg_builder_init(&s->builder, &s->graph));
	add_input(s, 2, rows, columns);
	add_input(s, 2, rows, columns);
	add_input(s, 2, rows, 1);
	add_input(s, 2, 1, columns);
	add_input(s, 1, 0, columns);
	add_input(s, 0, 0, 0);
	while (s->values < VALUES - 1) {
		int kind = draw(s, 13);
		if (kind < 5)
			draw_binary(s);
		else if (kind == 12)
			draw_sum(s);
		else if (kind < 8)
			draw_unary(s);
		else if (kind < 9)
			draw_reduction(s);
		else if (kind < 11)
			draw_shape(s);
		else
			draw_cast(s);
	}
	add_value(s, any(s));
	succeeds(dfg_verify(&s->graph, NULL, NULL));
}

static void release(struct subject *s)
{
	dfg_builder_release(&s->builder);
	dfg_graph_release(&s->graph);
	dfg_arena_release(&s->arena);
}

static void fill(struct subject *s, struct dfg_tensor *tensor, struct dfg_edge edge)
{
	succeeds(dfg_tensor_new(DFG_F32, &type_of(s, edge)->shape, tensor));
	for (int64_t i = 0; i < dfg_shape_count(&tensor->shape); i++)
		((float *)tensor->data)[i] = (float)(draw(s, 2001) - 1000) / 250;
}

/* Runs the program; returns the number of ops in groups. */
static uint64_t run_subject(struct subject *s, const struct dfg_session_options *options, const struct dfg_step *step,
	const struct dfg_tensor *feeds, struct dfg_tensor *out)
{
	struct dfg_session *session;
	struct dfg_plan *plan;
	struct dfg_stats stats;
	succeeds(dfg_session_new(&s->graph, options, &session));
	succeeds(dfg_session_plan(session, step, &plan));
	for (int i = 0; i < 2; i++) {
		for (uint32_t k = 0; k < step->n_fetch && i; k++)
			dfg_tensor_release(&out[k]);
		succeeds(dfg_plan_run(plan, feeds, out));
	}
	dfg_plan_stats(plan, &stats);
	assert_int_equal(stats.left, 0);
	dfg_session_free(session);
	return stats.grouped;
}

/* Which of two NaNs a sum has the sign of is the compiler's choice, in a vector or in the tail after the last one. */
static bool is_same(const struct dfg_tensor *got, const struct dfg_tensor *want)
{
	const size_t size = dfg_dtype_size(want->dtype);
	if (got->dtype != want->dtype || !dfg_shape_equal(&got->shape, &want->shape))
		return false;
	for (int64_t i = 0; i < dfg_shape_count(&want->shape); i++) {
		const void *a = dfg_tensor_at(got, i), *b = dfg_tensor_at(want, i);
		bool nan =
			want->dtype == DFG_F32 && *(const float *)a != *(const float *)a && *(const float *)b != *(const float *)b;
		if (!nan && memcmp(a, b, size))
			return false;
	}
	return true;
}

static void expect_same(
	uint64_t seed, const struct dfg_step *step, const struct dfg_tensor *got, const struct dfg_tensor *want)
{
	for (uint32_t i = 0; i < step->n_fetch; i++)
		if (!is_same(&got[i], &want[i]))
			fail_msg("seed %llu: fetch %u differs", (unsigned long long)seed, i);
}

static uint64_t try_program(uint64_t seed, int64_t rows, int64_t columns, uint32_t group_elements)
{
	struct subject s;
	struct dfg_edge feed[8], fetch[FETCHES];
	struct dfg_tensor feeds[8], want[FETCHES], got[FETCHES];
	uint64_t grouped = 0;
	make_subject(&s, seed, rows, columns);
	struct dfg_step step = {.feed = feed, .fetch = fetch, .n_fetch = FETCHES, .n_feed = (uint32_t)s.inputs};
	for (int i = 0; i < s.inputs; i++)
		feed[i] = s.value[i];
	int fed = s.inputs + draw(&s, s.values - s.inputs - 1);
	if (draw(&s, 2) && type_of(&s, s.value[fed])->dtype == DFG_F32)
		feed[step.n_feed++] = s.value[fed];
	for (uint32_t i = 0; i < step.n_feed; i++)
		fill(&s, &feeds[i], feed[i]);
	fetch[0] = s.value[s.values - 1];
	for (int i = 1; i < FETCHES; i++)
		fetch[i] = s.value[s.inputs + draw(&s, s.values - s.inputs)];
	run_subject(&s, &(struct dfg_session_options){.threads = 1, .no_opt = true}, &step, feeds, want);
	int most = rows * columns > 32 * 1024 ? 4 : 1; /* fewer elements are one block */
	for (int threads = 1; threads <= most; threads *= 2) {
		grouped += run_subject(
			&s, &(struct dfg_session_options){.threads = threads, .group_elements = group_elements}, &step, feeds, got);
		expect_same(seed, &step, got, want);
		for (int i = 0; i < FETCHES; i++)
			dfg_tensor_release(&got[i]);
	}
	for (int i = 0; i < FETCHES; i++)
		dfg_tensor_release(&want[i]);
	for (uint32_t i = 0; i < step.n_feed; i++)
		dfg_tensor_release(&feeds[i]);
	release(&s);
	return grouped;
}

static uint64_t first = 1, count = 150;

static void groups_have_the_bytes_of_their_ops(void **state)
{
	static const int64_t size[][2] = {{4, 8}, {7, 3}, {16, 16}, {3, 1025}, {70, 33}, {1, 2500}, {129, 257}};
	uint64_t grouped = 0;
	(void)state;
	for (uint64_t seed = first; seed < first + count; seed++) {
		const int64_t *of = size[seed % (sizeof size / sizeof *size)];
		grouped += try_program(seed, of[0], of[1], seed % 7 == 6 ? 0 : 2);
	}
	assert_true(grouped > 3 * count);
}

/* groups [COUNT [FIRST SEED]] */
int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(groups_have_the_bytes_of_their_ops),
	};
	count = argc > 1 ? strtoull(argv[1], NULL, 10) : count;
	first = argc > 2 ? strtoull(argv[2], NULL, 10) : first;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
