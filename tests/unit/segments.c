#include "tests/unit/program.h"

#include "lib/base/text.h"
#include "lib/pass/grad/loop_segments.h"
#include "lib/pass/verify/verify.h"

/*
 * Gradients of loops in segments: the same as those of loops that keep everything, to the bit; derivatives of these to
 * rounding, since what comes back to a value comes from where it was computed first, and from where it was again.
 */

enum { RESULTS = 3, POLICIES = 6 };

static const struct dfg_remat policies[POLICIES] = {
	{0},
	{DFG_REMAT_SQRT, 0},
	{DFG_REMAT_EVERY, 1},
	{DFG_REMAT_EVERY, 3},
	{DFG_REMAT_EVERY, 1000},
	{DFG_REMAT_CARRIED, 0},
};

/* A program's y, dy/dx and, where it is asked for, the second derivative. */
struct slopes {
	struct program program;
	struct dfg_edge fetch[RESULTS], in[2];
	uint32_t results, init;
	struct dfg_text notes;
};

static void differentiate(struct slopes *s, const struct dfg_remat *remat, uint32_t orders)
{
	const struct dfg_grad_options options = {.remat = *remat, .notes = &s->notes};
	struct dfg_builder builder;
	succeeds(dfg_builder_init(&builder, &s->program.graph));
	succeeds(dfg_graph_edge(&s->program.graph, "x", &s->in[0]));
	succeeds(dfg_graph_edge(&s->program.graph, "n", &s->in[1]));
	succeeds(dfg_graph_edge(&s->program.graph, "y", &s->fetch[0]));
	for (uint32_t i = 0; i < orders; i++)
		succeeds(dfg_grad_dense(&builder, &s->fetch[i], 1, &s->in[0], 1, &options, &s->fetch[i + 1]));
	s->results = orders + 1;
	dfg_builder_release(&builder);
	succeeds(dfg_verify(&s->program.graph, NULL, NULL));
}

static void begin(struct slopes *s, const char *text, const struct dfg_remat *remat, uint32_t orders)
{
	const struct dfg_lang_options lang = {.grad = dfg_grad_edges, .text = text, .length = strlen(text)};
	*s = (struct slopes){0};
	dfg_graph_init(&s->program.graph, &s->program.arena);
	succeeds(dfg_lang_build("test.dfg", &lang, &s->program.graph));
	differentiate(s, remat, orders);
	s->init = dfg_graph_find(&s->program.graph, "init");
}

static void end(struct slopes *s)
{
	program_end(&s->program);
	dfg_text_release(&s->notes);
}

/* Four elements of x, and n. */
static struct dfg_stats run_slopes(
	struct slopes *s, const struct dfg_session_options *options, int32_t n, struct dfg_tensor *out)
{
	double x[4] = {0.7, -0.3, 1.1, 0.2};
	struct dfg_tensor feed[2] = {
		{.dtype = DFG_F64, .shape = {.rank = 1, .dim = {4}}, .data = x, .capacity = sizeof x},
		{.dtype = DFG_I32, .shape = DFG_SHAPE_SCALAR, .data = &n, .capacity = sizeof n},
	};
	struct dfg_plan *plan;
	struct dfg_stats stats;
	succeeds(dfg_session_new(&s->program.graph, options, &s->program.session));
	if (s->init != DFG_NONE) {
		succeeds(dfg_session_plan(s->program.session, &(struct dfg_step){.target = &s->init, .n_target = 1}, &plan));
		succeeds(dfg_plan_run(plan, NULL, NULL));
	}
	const struct dfg_step step = {.feed = s->in, .n_feed = 2, .fetch = s->fetch, .n_fetch = s->results};
	succeeds(dfg_session_plan(s->program.session, &step, &plan));
	succeeds(dfg_plan_run(plan, feed, out));
	dfg_plan_stats(plan, &stats);
	assert_int_equal(stats.left, 0);
	dfg_session_free(s->program.session);
	s->program.session = NULL;
	return stats;
}

static void release(struct dfg_tensor *tensor, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++)
		dfg_tensor_release(&tensor[i]);
}

static uint32_t count_segments(const struct slopes *s)
{
	uint32_t count = 0;
	for (uint32_t n = 0; n < s->program.graph.count; n++)
		count += dfg_node_mark(&s->program.graph.node[n], DFG_SEGMENTS, NULL);
	return count;
}

static bool agree(const struct dfg_tensor *got, const struct dfg_tensor *want, bool to_the_bit)
{
	bool same = dfg_tensor_bytes(got) == dfg_tensor_bytes(want);
	for (int64_t e = 0; e < dfg_shape_count(&want->shape) && same; e++) {
		double is = ((double *)got->data)[e], wanted = ((double *)want->data)[e];
		same = to_the_bit ? !memcmp(&is, &wanted, sizeof is) : fabs(is - wanted) <= 1e-12 * (1 + fabs(wanted));
	}
	return same;
}

static void compare(struct slopes *plain, struct slopes *other, const char *text, int32_t n, int policy)
{
	struct dfg_tensor want[RESULTS], got[RESULTS];
	run_slopes(plain, &(struct dfg_session_options){.threads = 1}, n, want);
	for (int variant = 0; variant < 6; variant++) {
		struct dfg_session_options options = program_variant(variant);
		run_slopes(other, &options, n, got);
		for (uint32_t i = 0; i < plain->results; i++)
			if (!agree(&got[i], &want[i], i < 2))
				fail_msg("%s\nn = %d, policy %d, variant %d: result %u is %.17g, not %.17g", text, n, policy, variant,
					i, *(double *)got[i].data, *(double *)want[i].data);
		release(got, plain->results);
	}
	release(want, plain->results);
}

/* Zero iterations, one, less than a segment, several, with a last one that is not full. */
static void has_equal_slopes(const char *text, uint32_t orders)
{
	struct slopes plain, other;
	begin(&plain, text, &policies[0], orders);
	for (int policy = 1; policy < POLICIES; policy++) {
		begin(&other, text, &policies[policy], orders);
		assert_true(other.notes.length == 0);
		assert_true((count_segments(&other) > 0) == dfg_remat_in_segments(&policies[policy]));
		for (int32_t n = 0; n < 12; n = n < 4 ? n + 1 : n + 3)
			compare(&plain, &other, text, n, policy);
		end(&other);
	}
	end(&plain);
}

#define INPUTS "input x: f64[4]\ninput n: i32[]\n"

static void a_loop_has_the_same_gradient_in_segments(void **state)
{
	(void)state;
	has_equal_slopes(INPUTS "output y = sum(loop (v = x) for i in 0..n { next sin(v) * x + cos(v) })\n", 2);
	has_equal_slopes(INPUTS "output y = sum(loop (v = x) for i in 0..n with (parallel = 1) { next sin(v) * x })\n", 2);
	has_equal_slopes(INPUTS "output y = sum(loop (v = x) for i in 0..n with (parallel = 32) { next sin(v) * x })\n", 2);
}

static void how_often_a_loop_goes_round_need_not_be_known(void **state)
{
	(void)state;
	has_equal_slopes(INPUTS
		"v, i = loop (v = x, i = 0) while i < n and sum(v * v) < 40.0 { next v * 1.25 + sin(v), i + 1 }\n"
		"output y = sum(v)\n",
		2);
}

static void branches_in_an_iteration_are_run_again(void **state)
{
	(void)state;
	has_equal_slopes(INPUTS
		"v = loop (v = x) for i in 0..n {\n"
		"	w = v * v\n"
		"	next if i % 3 == 1 { sin(w) * x } else { if sum(v) > 0.5 { w - v } else { exp(v) * 0.5 } }\n"
		"}\noutput y = sum(v)\n",
		2);
}

static void loops_in_an_iteration_are_run_again(void **state)
{
	(void)state;
	has_equal_slopes(INPUTS
		"v = loop (v = x) for i in 0..n {\n"
		"	w = loop (w = v) for k in 0..(i % 3) { next sin(w) * v + w * x }\n"
		"	next tanh(w + v)\n"
		"}\noutput y = sum(v)\n",
		2);
}

static void sequences_are_read_again_and_written_once(void **state)
{
	(void)state;
	has_equal_slopes(INPUTS
		"xs = reshape(cos(f64(range(n * 4))), [n, 4])\n"
		"v, ys = loop (v = x) for e in xs {\n"
		"	w = sin(v) * e + x\n"
		"	yield w * v\n"
		"	next w\n"
		"}\noutput y = sum(v) + sum(ys * ys)\n",
		1);
	has_equal_slopes(INPUTS "ys = loop for i in 0..n { yield sin(x * f64(i)) }\noutput y = sum(ys * ys)\n", 1);
}

/* Each iteration has arrays of its own. */
static void arrays_of_an_iteration_are_made_again(void **state)
{
	(void)state;
	has_equal_slopes(INPUTS
		"v = loop (v = x) for i in 0..n {\n"
		"	ys = loop for e in v * 2.0 { yield sin(e) * v[1] }\n"
		"	w, zs = loop (w = v) for e in ys {\n"
		"		yield w * e\n"
		"		next tanh(w + e)\n"
		"	}\n"
		"	next tanh(w * 0.5 + sum(zs, 0) * 0.1)\n"
		"}\noutput y = sum(v)\n",
		1);
}

static void loops_next_to_each_other_and_in_branches_are_cut(void **state)
{
	(void)state;
	has_equal_slopes(INPUTS
		"v = loop (v = x) for i in 0..n { next sin(v) * x }\n"
		"w = if n > 2 { loop (w = v) for i in 0..n { next cos(w) + v } } else { v * x }\n"
		"output y = sum(w)\n",
		2);
}

static void a_derivative_within_an_iteration_is_run_again(void **state)
{
	(void)state;
	has_equal_slopes(INPUTS
		"v = loop (v = x) for i in 0..n {\n"
		"	w = loop (w = v) for k in 0..2 { next sin(w) * v }\n"
		"	next v - 0.25 * grad(w, v)\n"
		"}\noutput y = sum(v)\n",
		2);
}

static void variables_are_read_once(void **state)
{
	(void)state;
	has_equal_slopes(INPUTS
		"param a: f64[4] = ones\n"
		"v = loop (v = x) for i in 0..n { next sin(v) * a }\noutput y = sum(v)\n",
		1);
}

/* y is x times the numbers drawn, so dy/dx is their product only if they are not drawn again. */
static void numbers_are_drawn_once(void **state)
{
	(void)state;
	for (int policy = 0; policy < POLICIES; policy++) {
		struct slopes s;
		struct dfg_tensor out[RESULTS];
		begin(&s,
			INPUTS
			"v = loop (v = x[0]) for i in 0..n { next v * (f64(RandomUniform(shape(v), dtype = f32)) + 0.5) }\n"
			"output y = v\n",
			&policies[policy], 1);
		for (int variant = 0; variant < 4; variant++) {
			struct dfg_session_options options = program_variant(variant);
			run_slopes(&s, &options, 11, out);
			double y = *(double *)out[0].data, slope = *(double *)out[1].data;
			assert_true(fabs(slope * 0.7 / y - 1) < 1e-14);
			release(out, 2);
		}
		end(&s);
	}
}

static void a_loop_whose_condition_draws_numbers_is_left_and_that_is_said(void **state)
{
	(void)state;
	struct slopes s;
	struct dfg_tensor out[RESULTS];
	begin(&s,
		INPUTS
		"v, i = loop (v = x[0], i = 0) while sum(RandomUniform([i // 100 + 1], dtype = f32)) + f32(i) < 3.5 {\n"
		"	next v * 1.5, i + 1\n}\n"
		"output y = v + f64(n)\n",
		&policies[1], 1);
	assert_int_equal(count_segments(&s), 0);
	assert_non_null(s.notes.s);
	assert_non_null(strstr(s.notes.s, "keeps the values of all iterations: 'v/RandomUniform'"));
	assert_non_null(strstr(s.notes.s, "is part of the condition and cannot be computed twice"));
	run_slopes(&s, &(struct dfg_session_options){.threads = 1}, 0, out);
	assert_true(fabs(*(double *)out[1].data * 0.7 / *(double *)out[0].data - 1) < 1e-14);
	release(out, 2);
	end(&s);
}

static size_t peak_of(const char *text, const struct dfg_remat *remat, int32_t n)
{
	struct slopes s;
	struct dfg_tensor out[RESULTS];
	begin(&s, text, remat, 1);
	struct dfg_stats stats = run_slopes(&s, &(struct dfg_session_options){.threads = 1}, n, out);
	release(out, 2);
	end(&s);
	return stats.peak_bytes;
}

static void memory_grows_with_the_square_root_of_the_iterations(void **state)
{
	(void)state;
	const char *text = INPUTS
		"a = sin(f64(range(4096)))\n"
		"v = loop (v = x[0] * a) for i in 0..n { next sin(v) * tanh(v * v) + exp(-v) }\n"
		"output y = sum(v)\n";
	size_t kept = peak_of(text, &policies[0], 900), less = peak_of(text, &policies[1], 900);
	assert_true(less * 8 < kept);
	assert_true(peak_of(text, &policies[1], 3600) < less * 5 / 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_loop_has_the_same_gradient_in_segments),
		cmocka_unit_test(how_often_a_loop_goes_round_need_not_be_known),
		cmocka_unit_test(branches_in_an_iteration_are_run_again),
		cmocka_unit_test(loops_in_an_iteration_are_run_again),
		cmocka_unit_test(sequences_are_read_again_and_written_once),
		cmocka_unit_test(arrays_of_an_iteration_are_made_again),
		cmocka_unit_test(loops_next_to_each_other_and_in_branches_are_cut),
		cmocka_unit_test(a_derivative_within_an_iteration_is_run_again),
		cmocka_unit_test(variables_are_read_once),
		cmocka_unit_test(numbers_are_drawn_once),
		cmocka_unit_test(a_loop_whose_condition_draws_numbers_is_left_and_that_is_said),
		cmocka_unit_test(memory_grows_with_the_square_root_of_the_iterations),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
