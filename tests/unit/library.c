#include "tests/unit/test.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "lib/exec/session.h"
#include "lib/lang/lang.h"
#include "lib/pass/grad/grad.h"

/* Functions of the standard library, run: each gives what its definition says, worked out by hand or in closed form. */
static char directory[] = "/tmp/dfg-library-XXXXXX";

static int enter(void **state)
{
	(void)state;
	return !mkdtemp(directory) || chdir(directory) != 0;
}

static int leave(void **state)
{
	(void)state;
	remove("t.dfg");
	return chdir("/") != 0 || rmdir(directory) != 0;
}

static struct dfg_err *step_of(const struct dfg_graph *graph, struct dfg_session *session, struct dfg_tensor *out)
{
	struct dfg_edge fetch[2];
	struct dfg_plan *plan;
	uint32_t init = dfg_graph_find(graph, "init");
	DFG_TRY(dfg_graph_edge(graph, "got", &fetch[0]));
	DFG_TRY(dfg_graph_edge(graph, "want", &fetch[1]));
	if (init != DFG_NONE) {
		DFG_TRY(dfg_session_plan(session, &(struct dfg_step){.target = &init, .n_target = 1}, &plan));
		DFG_TRY(dfg_plan_run(plan, NULL, NULL));
	}
	DFG_TRY(dfg_session_plan(session, &(struct dfg_step){.fetch = fetch, .n_fetch = 2}, &plan));
	return dfg_plan_run(plan, NULL, out);
}

static struct dfg_err *run_program(const char *text, struct dfg_tensor *out)
{
	struct dfg_arena arena = {0};
	struct dfg_graph graph;
	struct dfg_session *session = NULL;
	const struct dfg_session_options one_thread = {.threads = 1};
	const struct dfg_lang_options options = {.grad = dfg_grad_edges};
	FILE *file = fopen("t.dfg", "w");
	assert_non_null(file);
	fputs(text, file);
	fclose(file);
	dfg_graph_init(&graph, &arena);
	struct dfg_err *err = dfg_lang_build("t.dfg", &options, &graph);
	if (!err)
		err = dfg_session_new(&graph, &one_thread, &session);
	if (!err)
		err = step_of(&graph, session, out);
	dfg_session_free(session);
	dfg_graph_release(&graph);
	dfg_arena_release(&arena);
	return err;
}

/* Statements, the last of which bind `got` and `want`. */
static void agree(const char *text)
{
	struct dfg_tensor out[2] = {0};
	succeeds(run_program(text, out));
	if (!dfg_shape_equal(&out[0].shape, &out[1].shape))
		fail_msg("%s: got %s, want %s", text, dfg_shape_words(&out[0].shape).s, dfg_shape_words(&out[1].shape).s);
	for (int64_t i = 0; i < dfg_shape_count(&out[0].shape); i++) {
		double got = dfg_tensor_float(&out[0], i), want = dfg_tensor_float(&out[1], i);
		if (!(fabs(got - want) <= 1e-5 + 1e-5 * fabs(want)))
			fail_msg("%s: element %lld is %.9g, want %.9g", text, (long long)i, got, want);
	}
	dfg_tensor_release(&out[0]);
	dfg_tensor_release(&out[1]);
}

#define X "x = f32([[1, 2, 3], [4, 6, 8]])\n"

static void reductions(void **state)
{
	(void)state;
	agree(X "output got = sum(x)\noutput want = f32(24)\n");
	agree(X "output got = mean(x, axis = 0)\noutput want = f32([2.5, 4, 5.5])\n");
	agree(X "output got = variance(x, axis = 1)\noutput want = f32([0.6666666667, 2.6666666667])\n");
	agree(X "output got = logsumexp(x, axis = -1)\noutput want = f32([3.4076059644, 8.1429316284])\n");
	agree(X "output got = max(x, axis = 1, keep_dims = true)\noutput want = f32([[3], [8]])\n");
	agree(X "output got = argmax(x, axis = 0)\noutput want = [1, 1, 1]\n");
}

static void shapes(void **state)
{
	(void)state;
	agree(X "output got = transpose(x)\noutput want = f32([[1, 4], [2, 6], [3, 8]])\n");
	agree(X "output got = x[:, new, ::2]\noutput want = f32([[[1, 3]], [[4, 8]]])\n");
	agree(X
		"a, b = split(x, [1, 2], axis = 1)\noutput got = concat([b, a], axis = 1)\n"
		"output want = f32([[2, 3, 1], [6, 8, 4]])\n");
	agree(X "output got = take(x, [1, 0, 1], axis = 1)\noutput want = f32([[2, 1, 2], [6, 4, 6]])\n");
	agree(X "output got = flatten(x[new])\noutput want = f32([[1, 2, 3, 4, 6, 8]])\n");
	agree("output got = one_hot([1, 0], 3)\noutput want = f32([[0, 1, 0], [1, 0, 0]])\n");
	agree(X "output got = unstack(x, axis = 1)[1]\noutput want = f32([2, 6])\n");
}

static void activations(void **state)
{
	(void)state;
	agree("x = f32([-1, 0, 2])\noutput got = gelu(x)\noutput want = f32([-0.1586552539, 0, 1.9544997361])\n");
	agree("x = f32([-1, 0, 2])\noutput got = silu(x)\noutput want = f32([-0.2689414214, 0, 1.7615941560])\n");
	agree(
		"x = f32([[0, 0.6931471806], [0, 0]])\noutput got = softmax(x, axis = 0)\n"
		"output want = f32([[0.5, 0.6666666667], [0.5, 0.3333333333]])\n");
}

static void losses(void **state)
{
	(void)state;
	agree("output got = cross_entropy(f32([[0, 1.0986122887]]), [1])\noutput want = f32([0.2876820724])\n");
	agree(
		"output got = sigmoid_cross_entropy(f32([0, 2, -2]), f32([1, 1, 1]))\n"
		"output want = f32([0.6931471806, 0.1269280110, 2.1269280110])\n");
	agree("output got = huber(f32([0, 3]), 0.5)\noutput want = f32([0.125, 2])\n");
	agree("output got = accuracy(f32([[0, 1], [1, 0], [3, 4]]), [1, 1, 1])\noutput want = f32(0.6666666667)\n");
}

static void layers(void **state)
{
	(void)state;
	agree(X "output got = dense(2, init = ones)(x)\noutput want = f32([[6, 6], [18, 18]])\n");
	agree(X
		"output got = layer_norm(epsilon = 0)(x)\n"
		"output want = f32([[-1.2247448714, 0, 1.2247448714], [-1.2247448714, 0, 1.2247448714]])\n");
	agree(X
		"output got = batch_norm(epsilon = 0, training = true)(x)\n"
		"output want = f32([[-1, -1, -1], [1, 1, 1]])\n");
	agree(
		"x = f32([[[[1], [2]], [[3], [4]]]])\noutput got = conv(1, size = 2, init = ones)(x)\n"
		"output want = f32([[[[10], [6]], [[7], [4]]]])\n");
	agree(
		"x = f32([[[[1], [2]], [[3], [4]]]])\noutput got = max_pool(x) + avg_pool(x)\noutput want = "
		"f32([[[[6.5]]]])\n");
	agree("output got = embedding(3, 2, init = ones)([[0, 2]])\noutput want = ones([1, 2, 2])\n");
	/* Of zeros, whatever the weights: the gates are sigmoid(0) and sigmoid(1), so c = 2 sigmoid(1), h = tanh(c) / 2. */
	agree(
		"h, c = lstm(1)(f32([[0]]), f32([[0]]), f32([[2]]))\n"
		"output got = concat([h, c], axis = 1)\noutput want = f32([[0.449031506, 1.462117157]])\n");
}

/* A decoder with a cache, carried by a loop after the first three steps, computes what the whole sequence at once does. */
static void attention_with_a_cache_is_that_without(void **state)
{
	(void)state;
	static const char *const layer[] = {"attention(2, causal = true)", "grouped_attention(2, causal = true)",
		"grouped_attention(4, groups = 2, causal = true)"};
	static const int heads[] = {2, 1, 2}, width[] = {4, 4, 2};
	for (int i = 0; i < 3; i++) {
		char text[1024];
		snprintf(text, sizeof text,
			"x = reshape(sin(f32(range(96)) ** 2), [2, 6, 8])\n"
			"a = %s\n"
			"output want = a(x)\n"
			"empty = zeros([2, %d, 7, %d])\n"
			"begin, keys, values = a(x[:, :3], empty, empty, 0)\n"
			"_, _, _, rest = loop (i = 3, k = keys, v = values) while i < 6 {\n"
			"    y, k2, v2 = a(x[:, i : i + 1], k, v, i)\n"
			"    yield y[:, 0]\n"
			"    next i + 1, k2, v2\n"
			"}\n"
			"output got = concat([begin, transpose(rest, [1, 0, 2])], axis = 1)\n",
			layer[i], heads[i], width[i]);
		agree(text);
	}
	agree(
		"x = reshape(sin(f32(range(24))), [6, 4])\n"
		"output got = rotary(x[2:], step = 2)\noutput want = rotary(x)[2:]\n");
}

static void gradients(void **state)
{
	(void)state;
	agree(X "output got = grad(sum(x * x), x)\noutput want = x * 2\n");
	agree(X "y = grad(sum(x ** 3), x)\noutput got = grad(sum(y), x)\noutput want = x * 6\n");
	agree(X "a, b = grad(sum(x * tanh(x)), [x, x])\noutput got = a\noutput want = b\n");
}

static void random_numbers_are_a_function_of_place_and_seed(void **state)
{
	(void)state;
	agree(
		"x = random_uniform([1000])\noutput got = f32([min(x) >= 0 and max(x) < 1 and mean(x) > 0.45 and mean(x) < "
		"0.55])\n"
		"output want = f32([1])\n");
	agree(
		"param w: f32[64, 64] = glorot\noutput got = f32(max(abs(w)) < 0.2165064 and max(abs(w)) > 0.2)\noutput want = "
		"f32(1)\n");
	agree("x = f32([1, 1])\noutput got = dropout(x, 0.5, training = false)\noutput want = x\n");
}

static void schedules(void **state)
{
	(void)state;
	agree(
		"output got = stack([exponential_decay(1, 20, 10, 0.5), cosine_decay(1, 50, 100), warmup(1, 4, 10),\n"
		"    piecewise(i64(15), [10, 20], [3, 2, 1])])\noutput want = f32([0.25, 0.5, 0.5, 2])\n");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(reductions),
		cmocka_unit_test(shapes),
		cmocka_unit_test(activations),
		cmocka_unit_test(losses),
		cmocka_unit_test(layers),
		cmocka_unit_test(attention_with_a_cache_is_that_without),
		cmocka_unit_test(gradients),
		cmocka_unit_test(random_numbers_are_a_function_of_place_and_seed),
		cmocka_unit_test(schedules),
	};
	return cmocka_run_group_tests_name("library", tests, enter, leave);
}
