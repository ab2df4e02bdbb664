#pragma once

#include "tests/unit/test.h"
#include "tests/unit/sketch.h"

#include "lib/exec/session.h"
#include "lib/graph/kernel.h"

#include <stdatomic.h>

/*
 * Steps of small graphs of i32 scalars and vectors, by ops of their own: values can be seen in the head, and nothing but
 * the executor is on trial.
 */

static atomic_int tick_count; /* how often a Tick ran */

#define STEP_ROW(name, expr)                                                                          \
	static void step_##name(int64_t n, void *out, const void *const *in, const union dfg_value *attr) \
	{                                                                                                 \
		(void)attr;                                                                                   \
		const int32_t *x = in[0], *y = in[1];                                                         \
		(void)y;                                                                                      \
		for (int64_t i = 0; i < n; i++)                                                               \
			((int32_t *)out)[i] = (expr);                                                             \
	}
STEP_ROW(add, x[i] + y[i])
STEP_ROW(sub, x[i] - y[i])
STEP_ROW(mul, x[i] * y[i])
STEP_ROW(negate, -x[i])

static struct dfg_err *step_scalar(struct dfg_infer *node)
{
	node->out[0] = DFG_SHAPE_SCALAR;
	return NULL;
}

static struct dfg_err *step_same(struct dfg_infer *node)
{
	node->out[0] = *node->in[0];
	return NULL;
}

static struct dfg_err *step_put(struct dfg_kernel *ctx, int32_t value)
{
	struct dfg_tensor *out;
	DFG_TRY(dfg_kernel_output(ctx, 0, &DFG_SHAPE_SCALAR, &out));
	*(int32_t *)out->data = value;
	return NULL;
}

static struct dfg_err *step_number(struct dfg_kernel *ctx)
{
	return step_put(ctx, (int32_t)dfg_kernel_attr(ctx)[0].i);
}

static struct dfg_err *step_bool(struct dfg_kernel *ctx, bool value)
{
	struct dfg_tensor *out;
	DFG_TRY(dfg_kernel_output(ctx, 0, &DFG_SHAPE_SCALAR, &out));
	*(bool *)out->data = value;
	return NULL;
}

static int64_t step_in(struct dfg_kernel *ctx, int i)
{
	return dfg_tensor_int(dfg_kernel_input(ctx, i), 0);
}

static struct dfg_err *step_less(struct dfg_kernel *ctx)
{
	return step_bool(ctx, step_in(ctx, 0) < step_in(ctx, 1));
}

static struct dfg_err *step_even(struct dfg_kernel *ctx)
{
	return step_bool(ctx, step_in(ctx, 0) % 2 == 0);
}

static struct dfg_err *step_tick(struct dfg_kernel *ctx)
{
	atomic_fetch_add(&tick_count, 1);
	return step_put(ctx, (int32_t)step_in(ctx, 0));
}

static struct dfg_err *step_half(struct dfg_kernel *ctx)
{
	if (step_in(ctx, 0) % 2)
		return DFG_ERR(DFG_DATA, "%d is odd", (int)step_in(ctx, 0));
	return step_put(ctx, (int32_t)(step_in(ctx, 0) / 2));
}

/* Some microseconds of work, on a thread of the pool. */
static struct dfg_err *step_work(struct dfg_kernel *ctx)
{
	volatile int64_t sum = 0;
	for (int i = 0; i < 5000; i++)
		sum = sum + i;
	return step_put(ctx, (int32_t)(step_in(ctx, 0) + 1 + (sum < 0)));
}

static struct dfg_err *step_handle(struct dfg_kernel *ctx)
{
	struct dfg_variable *variable;
	struct dfg_tensor *out;
	DFG_TRY(dfg_state_variable(ctx->host->state(ctx), ctx->call->node, DFG_I32, &DFG_SHAPE_SCALAR, &variable));
	DFG_TRY(dfg_kernel_output(ctx, 0, &DFG_SHAPE_SCALAR, &out));
	*(struct dfg_resource **)out->data = dfg_resource_ref(&variable->resource);
	return NULL;
}

static struct dfg_err *step_read(struct dfg_kernel *ctx)
{
	struct dfg_variable *variable;
	struct dfg_tensor value;
	DFG_TRY(dfg_kernel_variable(ctx, 0, &variable));
	DFG_TRY(dfg_variable_read(variable, &value));
	return ctx->host->give(ctx, 0, &value);
}

static struct dfg_err *step_assign(struct dfg_kernel *ctx)
{
	struct dfg_variable *variable;
	struct dfg_tensor value;
	DFG_TRY(dfg_kernel_variable(ctx, 0, &variable));
	DFG_TRY(ctx->host->keep(ctx, 1, &value));
	return dfg_variable_assign(variable, &value);
}

static struct dfg_err *step_ref(struct dfg_kernel *ctx)
{
	struct dfg_variable *variable;
	DFG_TRY(dfg_state_variable(ctx->host->state(ctx), ctx->call->node, DFG_I32, &DFG_SHAPE_SCALAR, &variable));
	return ctx->host->give_ref(ctx, 0, variable);
}

static struct dfg_err *step_set(struct dfg_kernel *ctx)
{
	struct dfg_variable *variable;
	DFG_TRY(dfg_kernel_variable(ctx, 0, &variable));
	DFG_TRY(step_assign(ctx));
	return ctx->host->give_ref(ctx, 0, variable);
}

static const struct dfg_op step_ops[] = {
	{.name = "Plus",
		.sig = "<T: int>(x: T, y: T) -> (z: T)",
		.flags = DFG_NO_GRADIENT,
		.row = DFG_ROW_TABLE{[DFG_I32] = step_add}},
	{.name = "Minus",
		.sig = "<T: int>(x: T, y: T) -> (z: T)",
		.flags = DFG_NO_GRADIENT,
		.row = DFG_ROW_TABLE{[DFG_I32] = step_sub}},
	{.name = "Times",
		.sig = "<T: int>(x: T, y: T) -> (z: T)",
		.flags = DFG_NO_GRADIENT,
		.row = DFG_ROW_TABLE{[DFG_I32] = step_mul}},
	{.name = "Negate",
		.sig = "<T: int>(x: T) -> (z: T)",
		.flags = DFG_NO_GRADIENT,
		.row = DFG_ROW_TABLE{[DFG_I32] = step_negate}},
	{.name = "Number",
		.role = DFG_CONST,
		.sig = "() -> (y: i32)",
		.attr = {"v: int"},
		.shape = step_scalar,
		.run = step_number},
	{.name = "Below", .sig = "(x: i32, y: i32) -> (z: bool)", .shape = step_scalar, .run = step_less},
	{.name = "Even", .sig = "(x: i32) -> (z: bool)", .shape = step_scalar, .run = step_even},
	{.name = "Tick", .sig = "(x: i32) -> (y: i32)", .flags = DFG_STATEFUL, .shape = step_same, .run = step_tick},
	{.name = "Half", .sig = "(x: i32) -> (y: i32)", .shape = step_same, .run = step_half},
	{.name = "Work", .sig = "(x: i32) -> (y: i32)", .flags = DFG_EXPENSIVE, .shape = step_same, .run = step_work},
	{.name = "Handle",
		.sig = "() -> (h: resource)",
		.flags = DFG_STATEFUL,
		.role = DFG_VARIABLE,
		.shape = step_scalar,
		.run = step_handle},
	{.name = "Read",
		.sig = "(h: resource) -> (x: i32)",
		.flags = DFG_STATEFUL,
		.role = DFG_READ,
		.shape = step_scalar,
		.run = step_read},
	{.name = "Write",
		.sig = "(h: resource, x: i32) -> ()",
		.flags = DFG_STATEFUL,
		.role = DFG_ASSIGN,
		.shape = step_scalar,
		.run = step_assign},
	{.name = "Cell",
		.sig = "() -> (r: ref i32)",
		.flags = DFG_STATEFUL,
		.role = DFG_VARIABLE,
		.shape = step_scalar,
		.run = step_ref},
	{.name = "Set",
		.sig = "(r: ref i32, x: i32) -> (s: ref i32)",
		.flags = DFG_STATEFUL,
		.role = DFG_ASSIGN,
		.shape = step_scalar,
		.run = step_set},
	{0},
};

/* A graph, a session on it, and the plans it makes. */
struct steps {
	struct sketch sketch;
	struct dfg_session *session;
};

static _Thread_local struct dfg_plan *last_plan; /* of the last step; NULL where none was made */

static void steps_begin(struct steps *steps, const struct dfg_session_options *options, const char *graph)
{
	sketch_init(&steps->sketch, step_ops, graph);
	succeeds(dfg_session_new(&steps->sketch.graph, options, &steps->session));
}

static void steps_end(struct steps *steps)
{
	dfg_session_free(steps->session);
	sketch_release(&steps->sketch);
}

/* "x:0=3 y=4" and "z:0 w", targets as "^init". The fetched scalars go to out. */
static struct dfg_err *steps_run(struct steps *steps, const char *feeds, const char *fetches, int32_t *out)
{
	enum { MOST = 16 };
	struct dfg_edge feed[MOST], fetch[MOST];
	uint32_t target[MOST];
	int32_t number[MOST];
	struct dfg_tensor value[MOST], result[MOST];
	struct dfg_step step = {.feed = feed, .fetch = fetch, .target = target};
	char words[400], *rest;
	strcpy(words, feeds);
	for (char *word = strtok_r(words, " ", &rest); word; word = strtok_r(NULL, " ", &rest)) {
		char *equals = strchr(word, '=');
		*equals = '\0';
		number[step.n_feed] = (int32_t)atoi(equals + 1);
		value[step.n_feed] = (struct dfg_tensor){
			.dtype = DFG_I32, .shape = DFG_SHAPE_SCALAR, .data = &number[step.n_feed], .capacity = 4};
		succeeds(dfg_graph_edge(&steps->sketch.graph, word, &feed[step.n_feed++]));
	}
	strcpy(words, fetches);
	for (char *word = strtok_r(words, " ", &rest); word; word = strtok_r(NULL, " ", &rest)) {
		struct dfg_edge edge;
		succeeds(dfg_graph_edge(&steps->sketch.graph, word, &edge));
		if (edge.port == DFG_CONTROL)
			target[step.n_target++] = edge.node;
		else
			fetch[step.n_fetch++] = edge;
	}
	last_plan = NULL;
	DFG_TRY(dfg_session_plan(steps->session, &step, &last_plan));
	DFG_TRY(dfg_plan_run(last_plan, value, result));
	for (uint32_t i = 0; i < step.n_fetch; i++) {
		out[i] = (int32_t)dfg_tensor_int(&result[i], 0);
		dfg_tensor_release(&result[i]);
	}
	return NULL;
}

/*
 * The fetch is `wanted` whatever the engine: line, machine, threads and random schedules, twice in each session. Plans of
 * loops are always a machine's.
 */
static inline void gives(const char *graph, const char *feeds, const char *fetch, int32_t wanted)
{
	for (int variant = 0; variant < 24; variant++) {
		struct dfg_session_options options = {
			.threads = variant % 3 + 1,
			.random_schedule = variant > 3,
			.schedule_seed = (uint64_t)variant,
			.no_opt = variant == 2,
		};
		struct steps steps;
		steps_begin(&steps, &options, graph);
		for (int time = 0; time < 2; time++) {
			int32_t got = -12345;
			succeeds(steps_run(&steps, feeds, fetch, &got));
			if (got != wanted)
				fail_msg("%s is %d, not %d (variant %d, time %d)", fetch, got, wanted, variant, time);
		}
		steps_end(&steps);
	}
}

static inline void refuses(const char *graph, const char *feeds, const char *fetch, const char *words)
{
	for (int variant = 0; variant < 8; variant++) {
		struct dfg_session_options options = {
			.threads = variant % 2 + 1, .random_schedule = variant > 1, .schedule_seed = (uint64_t)variant};
		struct steps steps;
		int32_t got[16];
		steps_begin(&steps, &options, graph);
		for (int time = 0; time < 2; time++)
			fails(steps_run(&steps, feeds, fetch, got), DFG_DATA, words);
		steps_end(&steps);
	}
}
