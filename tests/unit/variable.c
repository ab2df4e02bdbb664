#include "tests/unit/test.h"

#include "lib/exec/session.h"
#include "lib/graph/build.h"

#include <math.h>

/* Ops on variables and random streams, through a session. */
static struct dfg_arena arena;
static struct dfg_graph graph;
static struct dfg_builder builder;
static struct dfg_session *session;

static int set_up(void **state)
{
	(void)state;
	arena = (struct dfg_arena){0};
	session = NULL;
	dfg_graph_init(&graph, &arena);
	struct dfg_err *err = dfg_builder_init(&builder, &graph);
	return err != NULL;
}

static int tear_down(void **state)
{
	(void)state;
	dfg_session_free(session);
	dfg_builder_release(&builder);
	dfg_graph_release(&graph);
	dfg_arena_release(&arena);
	return 0;
}

static struct dfg_edge build(const char *op, const char *name, const struct dfg_edge *in, uint32_t n_in,
	const struct dfg_attr *attr, uint32_t n_attr)
{
	struct dfg_edge edge = {0};
	succeeds(dfg_build(&builder,
		&(struct dfg_new_node){.op = op, .name = name, .in = in, .n_in = n_in, .attr = attr, .n_attr = n_attr},
		&edge.node));
	return edge;
}

#define EDGES(...) (struct dfg_edge[]){__VA_ARGS__}, sizeof((struct dfg_edge[]){__VA_ARGS__}) / sizeof(struct dfg_edge)

static struct dfg_edge ints(enum dfg_dtype dtype, struct dfg_shape shape, const int64_t *values)
{
	struct dfg_edge edge;
	succeeds(dfg_build_ints(&builder, "c", dtype, &shape, values, &edge));
	return edge;
}

#define INTS(dtype, ...) \
	ints(dtype, DFG_SHAPE_VECTOR(sizeof((int64_t[]){__VA_ARGS__}) / sizeof(int64_t)), (int64_t[]){__VA_ARGS__})

static struct dfg_edge variable(const char *op, const char *name, struct dfg_shape shape)
{
	const struct dfg_attr attr[] = {
		DFG_ATTR_T("dtype", DFG_I32), {"shape", DFG_ATTR_SHAPE, {.shape = &shape}}, DFG_ATTR_S("shared_name", name)};
	return build(op, name, NULL, 0, attr, 3);
}

static struct dfg_err *step(const struct dfg_edge *fetch, uint32_t target, struct dfg_tensor *out)
{
	struct dfg_plan *plan;
	struct dfg_step wanted = {
		.fetch = fetch, .n_fetch = fetch != NULL, .target = &target, .n_target = target != DFG_NONE};
	if (!session)
		DFG_TRY(dfg_session_new(&graph, &(struct dfg_session_options){.threads = 1, .no_opt = true}, &session));
	DFG_TRY(dfg_session_plan(session, &wanted, &plan));
	return dfg_plan_run(plan, NULL, out);
}

static void do_step(struct dfg_edge target)
{
	succeeds(step(NULL, target.node, NULL));
}

static void expect(struct dfg_edge fetch, int64_t n, const double *want)
{
	struct dfg_tensor out;
	succeeds(step(&fetch, DFG_NONE, &out));
	assert_int_equal(dfg_shape_count(&out.shape), n);
	for (int64_t i = 0; i < n; i++) {
		double got;
		dfg_convert(DFG_F64, &got, out.dtype, dfg_tensor_at(&out, i), 1);
		if (fabs(got - want[i]) > 1e-6 * fabs(want[i]))
			fail_msg("element %d is %.9g, not %.9g", (int)i, got, want[i]);
	}
	dfg_tensor_release(&out);
}

#define EXPECT(edge, ...) expect(edge, sizeof((double[]){__VA_ARGS__}) / sizeof(double), (double[]){__VA_ARGS__})

static struct dfg_edge read_of(struct dfg_edge handle)
{
	return build("ReadVariableOp", "read", EDGES(handle), (const struct dfg_attr[]){DFG_ATTR_T("dtype", DFG_I32)}, 1);
}

static void a_value_that_was_read_does_not_change(void **state)
{
	(void)state;
	struct dfg_edge v = variable("VarHandleOp", "v", DFG_SHAPE_VECTOR(3));
	struct dfg_edge init = build("AssignVariableOp", "init", EDGES(v, INTS(DFG_I32, 1, 2, 3)), NULL, 0);
	struct dfg_edge add = build("AssignAddVariableOp", "add", EDGES(v, INTS(DFG_I32, 10, 20, 30)), NULL, 0);
	struct dfg_edge read = read_of(v);
	struct dfg_tensor before;
	do_step(init);
	succeeds(step(&read, DFG_NONE, &before));
	do_step(add);
	EXPECT(read, 11, 22, 33);
	assert_int_equal(((int32_t *)before.data)[2], 3);
	dfg_tensor_release(&before);
	do_step(init);
	EXPECT(read, 1, 2, 3);
}

static void repeated_rows_are_updated_in_order(void **state)
{
	(void)state;
	struct dfg_edge v = variable("VarHandleOp", "v", (struct dfg_shape){2, {3, 2}});
	struct dfg_edge init = build("AssignVariableOp", "init",
		EDGES(v, ints(DFG_I32, (struct dfg_shape){2, {3, 2}}, (int64_t[]){1, 2, 3, 4, 5, 6})), NULL, 0);
	struct dfg_edge rows = ints(DFG_I32, (struct dfg_shape){2, {3, 2}}, (int64_t[]){10, 20, 30, 40, 50, 60});
	struct dfg_edge at = INTS(DFG_I64, 2, 0, 2), read = read_of(v);
	struct dfg_edge add = build("ResourceScatterAdd", "a", EDGES(v, at, rows), NULL, 0);
	struct dfg_edge set = build("ResourceScatterUpdate", "s", EDGES(v, at, rows), NULL, 0);
	struct dfg_edge min = build("ResourceScatterMin", "m", EDGES(v, at, rows), NULL, 0);
	struct dfg_edge one =
		build("ResourceScatterMul", "o", EDGES(v, at, ints(DFG_I32, DFG_SHAPE_SCALAR, (int64_t[]){2})), NULL, 0);
	do_step(init);
	do_step(add);
	EXPECT(read, 31, 42, 3, 4, 65, 86);
	do_step(set);
	EXPECT(read, 30, 40, 3, 4, 50, 60);
	do_step(min);
	EXPECT(read, 30, 40, 3, 4, 10, 20);
	do_step(one);
	EXPECT(read, 60, 80, 3, 4, 40, 80);
}

static void an_index_outside_changes_nothing(void **state)
{
	(void)state;
	struct dfg_edge v = variable("VarHandleOp", "v", DFG_SHAPE_VECTOR(3));
	struct dfg_edge init = build("AssignVariableOp", "init", EDGES(v, INTS(DFG_I32, 1, 2, 3)), NULL, 0);
	struct dfg_edge add = build("ResourceScatterAdd", "a", EDGES(v, INTS(DFG_I32, 0, 3), INTS(DFG_I32, 7, 7)), NULL, 0);
	struct dfg_edge less =
		build("ResourceScatterSub", "b", EDGES(v, INTS(DFG_I32, 0, -1), INTS(DFG_I32, 7, 7)), NULL, 0);
	struct dfg_edge read = read_of(v);
	fails(step(NULL, add.node, NULL), DFG_DATA, "variable 'v' is not initialised");
	do_step(init);
	fails(step(NULL, add.node, NULL), DFG_DATA, "variable 'v': indices[1] is 3, outside [0,3)");
	fails(step(NULL, less.node, NULL), DFG_DATA, "variable 'v': indices[1] is -1, outside [0,3)");
	EXPECT(read, 1, 2, 3);
}

static void slices_are_named_by_vectors(void **state)
{
	(void)state;
	struct dfg_edge v = variable("VariableV2", "v", (struct dfg_shape){2, {2, 2}});
	struct dfg_edge init = build(
		"Assign", "init", EDGES(v, ints(DFG_I32, (struct dfg_shape){2, {2, 2}}, (int64_t[]){1, 2, 3, 4})), NULL, 0);
	struct dfg_edge at = ints(DFG_I32, (struct dfg_shape){2, {2, 2}}, (int64_t[]){1, 0, 1, 0});
	struct dfg_edge add = build("ScatterNdAdd", "a", EDGES(v, at, INTS(DFG_I32, 10, 100)), NULL, 0);
	struct dfg_edge row = ints(DFG_I32, (struct dfg_shape){2, {1, 1}}, (int64_t[]){0});
	struct dfg_edge values = ints(DFG_I32, (struct dfg_shape){2, {1, 2}}, (int64_t[]){8, 9});
	struct dfg_edge set = build("ScatterNdUpdate", "s", EDGES(v, row, values), NULL, 0);
	do_step(init);
	do_step(add);
	EXPECT(build("Identity", "r", EDGES(v), NULL, 0), 1, 2, 113, 4);
	dfg_session_free(session);
	session = NULL;
	do_step(init);
	do_step(set);
	EXPECT(build("Identity", "r2", EDGES(v), NULL, 0), 8, 9, 3, 4);
}

/* A shared buffer would show: one reader waits for the update, the other reads before it. */
static void a_ref_is_read_when_its_reader_runs(void **state)
{
	(void)state;
	struct dfg_edge v = variable("VariableV2", "v", DFG_SHAPE_VECTOR(1));
	struct dfg_edge init = build("Assign", "init", EDGES(v, INTS(DFG_I32, 1)), NULL, 0);
	struct dfg_edge read = build("Identity", "v/read", EDGES(v), NULL, 0);
	struct dfg_edge before = build("Neg", "before", EDGES(read), NULL, 0), in[3], sum;
	struct dfg_edge add = build("AssignAdd", "add", EDGES(v, INTS(DFG_I32, 10)), NULL, 0);
	succeeds(dfg_node_add_control(&graph, add.node, before.node));
	struct dfg_edge after = build("Neg", "after", EDGES(read), NULL, 0);
	succeeds(dfg_node_add_control(&graph, after.node, add.node));
	in[0] = before, in[1] = after;
	sum = build("Pack", "both", in, 2, NULL, 0);
	do_step(init);
	EXPECT(sum, -1, -11);
}

static void one_variable_cannot_be_its_own_slot(void **state)
{
	(void)state;
	const struct dfg_shape shape = DFG_SHAPE_VECTOR(1);
	const struct dfg_attr attr[] = {
		DFG_ATTR_T("dtype", DFG_F32), {"shape", DFG_ATTR_SHAPE, {.shape = &shape}}, DFG_ATTR_S("shared_name", "v")};
	struct dfg_edge v = build("VarHandleOp", "v", NULL, 0, attr, 3), one, ones;
	succeeds(dfg_build_float(&builder, "one", DFG_F32, 1, &one));
	ones = build("Reshape", "ones", EDGES(one, INTS(DFG_I32, 1)), NULL, 0);
	struct dfg_edge init = build("AssignVariableOp", "init", EDGES(v, ones), NULL, 0);
	struct dfg_edge apply = build("ResourceApplyMomentum", "a", EDGES(v, v, one, ones, one), NULL, 0);
	do_step(init);
	fails(step(NULL, apply.node, NULL), DFG_DATA, "variable 'v' is used for two slots");
	do_step(init);
}

/* Values recorded from TensorFlow 2.21 with seed 7 and seed2 9, first and second draw. */
static void streams_go_on_from_step_to_step(void **state)
{
	(void)state;
	const struct dfg_attr seeds[] = {DFG_ATTR_I("seed", 7), DFG_ATTR_I("seed2", 9), DFG_ATTR_T("dtype", DFG_F32)};
	struct dfg_edge shape = INTS(DFG_I32, 3), zero = ints(DFG_I32, DFG_SHAPE_SCALAR, (int64_t[]){0});
	struct dfg_edge most = ints(DFG_I32, DFG_SHAPE_SCALAR, (int64_t[]){1000});
	struct dfg_edge uniform = build("RandomUniform", "u", EDGES(shape), seeds, 3);
	struct dfg_edge normal = build("RandomStandardNormal", "n", EDGES(shape), seeds, 3);
	struct dfg_edge whole = build("RandomUniformInt", "i", EDGES(shape, zero, most), seeds, 2);
	struct dfg_edge truncated = build("TruncatedNormal", "t", EDGES(shape), seeds, 3);
	EXPECT(uniform, 0.5363448858261108, 0.4732365608215332, 0.46388888359069824);
	EXPECT(uniform, 0.07794344425201416, 0.3295109272003174, 0.3944801092147827);
	EXPECT(normal, 0.1868204027414322, -1.1004788875579834, -0.13537488877773285);
	EXPECT(normal, 1.9830013513565063, -1.082242488861084, -1.212226152420044);
	EXPECT(truncated, 0.1868204027414322, -1.1004788875579834, -0.13537488877773285);
	EXPECT(truncated, 1.9830013513565063, -1.082242488861084, -1.212226152420044);
	EXPECT(whole, 331, 820, 718);
	EXPECT(whole, 13, 306, 67);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		TEST(a_value_that_was_read_does_not_change),
		TEST(repeated_rows_are_updated_in_order),
		TEST(an_index_outside_changes_nothing),
		TEST(slices_are_named_by_vectors),
		TEST(a_ref_is_read_when_its_reader_runs),
		TEST(one_variable_cannot_be_its_own_slot),
		TEST(streams_go_on_from_step_to_step),
	};
	return cmocka_run_group_tests_name("variable", tests, NULL, NULL);
}
