#pragma once

#include "tests/unit/test.h"
#include "tests/unit/words.h"

#include "lib/exec/session.h"
#include "lib/lang/lang.h"
#include "lib/pass/grad/grad.h"

#include <math.h>
#include <stdio.h>

/* Programs of the language, run by every engine. An input x, where there is one, is f64 and fed. */
struct program {
	struct dfg_arena arena;
	struct dfg_graph graph;
	struct dfg_session *session;
};

static struct dfg_err *program_begin(
	struct program *program, const char *text, const struct dfg_session_options *options)
{
	const struct dfg_lang_options lang = {.grad = dfg_grad_edges, .text = text, .length = strlen(text)};
	*program = (struct program){0};
	dfg_graph_init(&program->graph, &program->arena);
	DFG_TRY(dfg_lang_build("test.dfg", &lang, &program->graph));
	return dfg_session_new(&program->graph, options, &program->session);
}

static void program_end(struct program *program)
{
	dfg_session_free(program->session);
	dfg_graph_release(&program->graph);
	dfg_arena_release(&program->arena);
}

/* The caller releases the tensor. */
static struct dfg_err *program_run(
	struct program *program, const char *fetch, const struct dfg_tensor *x, struct dfg_tensor *out)
{
	struct dfg_edge of, in;
	struct dfg_plan *plan;
	succeeds(dfg_graph_edge(&program->graph, fetch, &of));
	if (x)
		succeeds(dfg_graph_edge(&program->graph, "x", &in));
	DFG_TRY(dfg_session_plan(
		program->session, &(struct dfg_step){.fetch = &of, .n_fetch = 1, .feed = &in, .n_feed = x != NULL}, &plan));
	return dfg_plan_run(plan, x, out);
}

enum { PROGRAM_VARIANTS = 12 };

static struct dfg_session_options program_variant(int variant)
{
	return (struct dfg_session_options){
		.threads = variant % 2 + 1,
		.no_opt = variant == 2,
		.random_schedule = variant > 2,
		.schedule_seed = (uint64_t)variant,
	};
}

/* The value of y, by each executor twice. */
static inline void says(const char *text, const char *wanted)
{
	for (int variant = 0; variant < PROGRAM_VARIANTS; variant++) {
		struct dfg_session_options options = program_variant(variant);
		struct program program;
		succeeds(program_begin(&program, text, &options));
		for (int time = 0; time < 2; time++) {
			struct dfg_tensor y;
			char words[1000];
			succeeds(program_run(&program, "y", NULL, &y));
			program_words(&y, words, sizeof words);
			if (strcmp(words, wanted))
				fail_msg("%s\ny is '%s', not '%s' (variant %d, time %d)", text, words, wanted, variant, time);
			dfg_tensor_release(&y);
		}
		program_end(&program);
	}
}

/* It cannot be built, or not be run. */
static inline void refuses(const char *text, const char *words)
{
	for (int variant = 0; variant < PROGRAM_VARIANTS; variant++) {
		struct dfg_session_options options = program_variant(variant);
		struct program program;
		struct dfg_tensor y;
		struct dfg_err *err = program_begin(&program, text, &options);
		if (!err)
			err = program_run(&program, "y", NULL, &y);
		fails(err, DFG_DATA, words);
		program_end(&program);
	}
}

static double program_number(struct program *program, const char *fetch, const struct dfg_tensor *x, int64_t e)
{
	struct dfg_tensor y;
	succeeds(program_run(program, fetch, x, &y));
	assert_in_range(e, 0, dfg_shape_count(&y.shape) - 1);
	double number = dfg_tensor_float(&y, e);
	dfg_tensor_release(&y);
	return number;
}

static void program_slope(struct program *program, const char *of, const char *derivative, struct dfg_tensor *x)
{
	const double h = 1e-4;
	double *element = x->data;
	for (int64_t e = 0; e < dfg_shape_count(&x->shape); e++) {
		double at = element[e];
		element[e] = at + h;
		double above = program_number(program, of, x, 0);
		element[e] = at - h;
		double below = program_number(program, of, x, 0), wanted = (above - below) / (2 * h);
		element[e] = at;
		double got = program_number(program, derivative, x, e);
		if (!(fabs(got - wanted) <= 1e-5 * (1 + fabs(wanted))))
			fail_msg("%s by x[%d] is %g, should be %g", derivative, (int)e, got, wanted);
	}
}

/*
 * The body binds y, a scalar, by an input x: f64[4]. Its first derivative, and that of a sum of it, against differences.
 */
static inline void differentiates(const char *body)
{
	char text[4000];
	double numbers[4] = {0.5, -1.25, 2, 0.75};
	struct dfg_tensor x = {
		.dtype = DFG_F64, .shape = DFG_SHAPE_VECTOR(4), .data = numbers, .capacity = sizeof numbers, .buffer = NULL};
	snprintf(text, sizeof text,
		"input x: f64[4]\n%s\ndx = grad(y, x)\nz = Sum(dx * f64([1, -2, 3, 5]), [0])\nddx = grad(z, x)\n", body);
	for (int variant = 0; variant < PROGRAM_VARIANTS; variant += 3) {
		struct dfg_session_options options = program_variant(variant);
		struct program program;
		succeeds(program_begin(&program, text, &options));
		program_slope(&program, "y", "dx", &x);
		program_slope(&program, "z", "ddx", &x);
		program_end(&program);
	}
}
