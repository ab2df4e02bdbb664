#include "tests/unit/program.h"

#include "lib/pass/verify/verify.h"

/* Weights that are the same in each step: which nodes have them, and that what kernels keep of them is never out of date. */

#define WAVE                                         \
	"fn wave(shape) {\n"                             \
	"    n = 1\n"                                    \
	"    static for d in shape { n = n * d }\n"      \
	"    reshape(sin(f32(range(n)) * 1.7), shape)\n" \
	"}\n"
#define CONV "Conv2D(wave([2, 9, 8, 5]), w, strides = [1, 1, 1, 1], padding = \"SAME\")\n"

static void begin(struct program *program, const char *text, const struct dfg_session_options *options)
{
	const struct dfg_verify_options verify = {.marked = &program->graph};
	succeeds(program_begin(program, text, options));
	succeeds(dfg_verify(&program->graph, &verify, NULL));
}

/* The number of nodes of this op that bear the mark. */
static int marks(const char *text, const char *op)
{
	struct program program;
	int count = 0;
	begin(&program, text, &(struct dfg_session_options){.threads = 1});
	for (uint32_t n = 0; n < program.graph.count; n++)
		count +=
			!strcmp(program.graph.node[n].op_name, op) && dfg_node_mark(&program.graph.node[n], "_dfg_constant", NULL);
	program_end(&program);
	return count;
}

static void nodes_whose_weights_are_constant_are_marked(void **state)
{
	(void)state;
	assert_int_equal(marks(WAVE "w = wave([3, 3, 5, 6])\noutput y = " CONV, "Conv2D"), 1);
	assert_int_equal(marks(WAVE "param w: f32[3, 3, 5, 6] = wave([3, 3, 5, 6])\noutput y = " CONV, "Conv2D"), 1);
	assert_int_equal(
		marks(WAVE "param v: f32[3, 3, 5, 6] = wave([3, 3, 5, 6])\nw = v * 2 + wave([6])\noutput y = " CONV, "Conv2D"),
		1);
	assert_int_equal(marks(WAVE "input w: f32[3, 3, 5, 6]\noutput y = " CONV, "Conv2D"), 0);
	assert_int_equal(
		marks(WAVE "input k: f32[]\nparam v: f32[3, 3, 5, 6] = wave([3, 3, 5, 6])\nw = v * k\noutput y = " CONV,
			"Conv2D"),
		0);
	assert_int_equal(
		marks(WAVE "param w: f32[3, 3, 5, 6] = wave([3, 3, 5, 6])\noutput y = " CONV "set w = w * 0.5\n", "Conv2D"), 0);
	assert_int_equal(
		marks(WAVE "output y = loop (y = 0.0) for i in 0..3 { w = wave([3, 3, 5, 6])\n next y + sum(" CONV ") }\n",
			"Conv2D"),
		1);
	assert_int_equal(marks(WAVE "input x: f32[4, 3]\noutput y = MatMul(x, wave([3, 2]))\n"
								"output z = MatMul(x, x, transpose_a = true)\n",
						 "MatMul"),
		1);
}

/* The value of a program's y. */
static struct dfg_tensor y_of(struct program *program)
{
	struct dfg_tensor y;
	double two = 2;
	const struct dfg_tensor x = {.dtype = DFG_F64, .shape = DFG_SHAPE_SCALAR, .data = &two, .capacity = sizeof two};
	succeeds(program_run(program, "y", &x, &y));
	return y;
}

static void expect_equal(struct dfg_tensor one, struct dfg_tensor two)
{
	assert_true(dfg_tensor_bytes(&one) == dfg_tensor_bytes(&two) && dfg_tensor_bytes(&one));
	assert_memory_equal(one.data, two.data, dfg_tensor_bytes(&one));
	dfg_tensor_release(&one);
	dfg_tensor_release(&two);
}

static void assign(struct program *program, const char *fetch)
{
	struct dfg_tensor value;
	struct dfg_variable_ref ref = {.name = "w"};
	while (strcmp(program->graph.node[ref.node].name, "w") != 0)
		ref.node++;
	succeeds(program_run(program, fetch, NULL, &value));
	succeeds(dfg_session_assign(program->session, &ref, &value));
}

static size_t packed_bytes(const struct program *program)
{
	struct dfg_plan *plan;
	struct dfg_edge x, y;
	struct dfg_stats stats;
	succeeds(dfg_graph_edge(&program->graph, "x", &x));
	succeeds(dfg_graph_edge(&program->graph, "y", &y));
	succeeds(dfg_session_plan(
		program->session, &(struct dfg_step){.feed = &x, .n_feed = 1, .fetch = &y, .n_fetch = 1}, &plan));
	dfg_plan_stats(plan, &stats);
	return stats.packed_bytes;
}

/* Ops that keep what they make of w: a filter, one with groups, its gradient's, and products that pack or turn it. */
static const struct {
	const char *shape, *y;
} kept[] = {
	{"[3, 3, 5, 6]", "Conv2D(image([2, 9, 8, 5]), w, strides = [1, 1, 1, 1], padding = \"SAME\")\n"},
	{"[3, 3, 5, 6]", "Conv2D(image([2, 9, 8, 15]), w, strides = [1, 2, 2, 1], padding = \"VALID\")\n"},
	{"[3, 3, 5, 6]",
		"Conv2DBackpropInput([2, 9, 8, 5], w, image([2, 5, 4, 6]), strides = [1, 2, 2, 1], padding = "
		"\"SAME\")\n"},
	{"[2, 3, 2, 5, 6]", "Conv3D(image([2, 4, 9, 8, 5]), w, strides = [1, 1, 1, 1, 1], padding = \"SAME\")\n"},
	{"[1200, 70]", "MatMul(image([120, 1200]), w)\n"},
	{"[70, 1200]", "MatMul(image([120, 1200]), w, transpose_b = true)\n"},
	{"[70, 40]", "MatMul(image([3, 40]), w, transpose_b = true)\n"},
	{"[70, 40]", "BatchMatMulV2(image([2, 4, 40]), w, adj_y = true)\n"},
};

/* Each value that w has in turn gives what the same constant gives, in each way to run it, and in each step. */
static void what_is_kept_of_a_variable_is_never_out_of_date(void **state)
{
	(void)state;
	static const char *const value[] = {"one", "two"};
	for (size_t i = 0; i < sizeof kept / sizeof *kept; i++)
		for (int variant = 0; variant < 4; variant++) {
			const struct dfg_session_options options = program_variant(variant);
			struct program variable, constant;
			char values[300], text[1000];
			snprintf(values, sizeof values,
				WAVE
				"input x: f64[]\nfn image(shape) { wave(shape) * f32(x) }\n"
				"one = wave(%s) + 1\ntwo = one * 0.5 - 3\n",
				kept[i].shape);
			snprintf(text, sizeof text, "%sparam w: f32%s = zeros(%s)\noutput y = %s", values, kept[i].shape,
				kept[i].shape, kept[i].y);
			begin(&variable, text, &options);
			assert_int_equal(packed_bytes(&variable), 0); /* makes the plan, and with it the variable */
			for (int step = 0; step < 4; step++) {
				snprintf(text, sizeof text, "%sw = %s\noutput y = %s", values, value[step % 2], kept[i].y);
				begin(&constant, text, &(struct dfg_session_options){.threads = 1});
				assign(&variable, value[step % 2]);
				expect_equal(y_of(&variable), y_of(&constant));
				expect_equal(y_of(&variable), y_of(&constant));
				const size_t bytes = packed_bytes(&constant);
				assert_true(bytes > 0);
				assert_int_equal(packed_bytes(&variable), bytes);
				program_end(&constant);
			}
			program_end(&variable);
		}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(nodes_whose_weights_are_constant_are_marked),
		cmocka_unit_test(what_is_kept_of_a_variable_is_never_out_of_date),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
