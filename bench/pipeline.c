/*
 * Iterations that overlap: a loop whose body is a chain of eight stages, each of which sleeps and is one at a time, as a
 * device is. With a window of w iterations the ideal is known; for eight and more it is 8n / (n + 7) times one by one.
 */
#include "lib/exec/session.h"
#include "lib/graph/build.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { STAGES = 8, ITERATIONS = 64, WINDOW_MOST = 32 };
enum { STAGE_MS = 5 };

static void expect(struct dfg_err *err)
{
	if (!err)
		return;
	fprintf(stderr, "%s\n", err->text);
	exit(1);
}

static double now(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

struct pipeline {
	struct dfg_builder build;
	int window;
	struct dfg_edge zero, one, iterations, predicate;
};

/* A variable of the loop: what it is in the condition, in the body and after the loop. */
struct carried {
	struct dfg_edge merge, body, exit;
};

static struct dfg_edge op(struct pipeline *p, const char *name, const struct dfg_edge *in, uint32_t n_in)
{
	struct dfg_edge out;
	expect(dfg_build_op(&p->build, name, name, in, n_in, &out));
	return out;
}

static struct dfg_edge enter(struct pipeline *p, struct dfg_edge value, bool constant)
{
	const struct dfg_attr attr[] = {DFG_ATTR_S("frame_name", "pipeline"), DFG_ATTR_B("is_constant", constant),
		DFG_ATTR_I("parallel_iterations", p->window)};
	uint32_t node;
	expect(dfg_build(&p->build,
		&(struct dfg_new_node){.op = "Enter", .name = "Enter", .in = &value, .n_in = 1, .attr = attr, .n_attr = 3},
		&node));
	return (struct dfg_edge){node, 0};
}

/* The way back is what goes in until that is known. */
static struct dfg_edge merge(struct pipeline *p)
{
	struct dfg_edge start = enter(p, p->zero, false);
	return op(p, "Merge", (struct dfg_edge[]){start, start}, 2);
}

static struct carried carry(struct pipeline *p, struct dfg_edge merged)
{
	struct dfg_edge chosen = op(p, "Switch", (struct dfg_edge[]){merged, p->predicate}, 2);
	struct dfg_edge inside = {chosen.node, 1};
	return (struct carried){merged, op(p, "Identity", &inside, 1), op(p, "Exit", &chosen, 1)};
}

static void go_back(struct pipeline *p, const struct carried *variable, struct dfg_edge next)
{
	p->build.graph->node[variable->merge.node].in[1] = op(p, "NextIteration", &next, 1);
}

/* A stage waits for itself, one iteration ago. */
static struct dfg_edge stage(struct pipeline *p, struct dfg_edge x, struct dfg_edge before)
{
	const struct dfg_edge in[] = {x, {before.node, DFG_CONTROL}};
	const struct dfg_attr ms = DFG_ATTR_I("ms", STAGE_MS);
	uint32_t node;
	expect(dfg_build(&p->build,
		&(struct dfg_new_node){
			.op = "Dfg>Sleep", .name = "stage", .in = in, .n_in = 1, .n_control = 1, .attr = &ms, .n_attr = 1},
		&node));
	return (struct dfg_edge){node, 0};
}

/* Gives what the last stage got last. */
static struct dfg_edge make_stages(struct pipeline *p, struct dfg_graph *graph)
{
	struct carried variable[STAGES + 1];
	struct dfg_edge merged[STAGES + 1], limit, step, x;
	expect(dfg_builder_init(&p->build, graph));
	expect(dfg_build_float(&p->build, "zero", DFG_F32, 0, &p->zero));
	expect(dfg_build_float(&p->build, "one", DFG_F32, 1, &p->one));
	expect(dfg_build_float(&p->build, "iterations", DFG_F32, ITERATIONS, &p->iterations));
	limit = enter(p, p->iterations, true);
	step = enter(p, p->one, true);
	for (int i = 0; i <= STAGES; i++)
		merged[i] = merge(p);
	p->predicate = op(p, "Less", (struct dfg_edge[]){merged[STAGES], limit}, 2);
	p->predicate = op(p, "LoopCond", &p->predicate, 1);
	for (int i = 0; i <= STAGES; i++)
		variable[i] = carry(p, merged[i]);
	x = op(p, "Add", (struct dfg_edge[]){variable[STAGES].body, step}, 2);
	go_back(p, &variable[STAGES], x);
	for (int i = 0; i < STAGES; i++) {
		x = stage(p, x, variable[i].body);
		go_back(p, &variable[i], x);
	}
	dfg_builder_release(&p->build);
	return variable[STAGES - 1].exit;
}

static double run_pipeline(int window)
{
	struct dfg_arena arena = {0};
	struct dfg_graph graph;
	struct dfg_session *session;
	struct dfg_plan *plan;
	struct dfg_tensor last;
	struct pipeline pipeline = {.window = window};
	dfg_graph_init(&graph, &arena);
	struct dfg_edge fetch = make_stages(&pipeline, &graph);
	expect(dfg_session_new(&graph, &(struct dfg_session_options){.threads = 1}, &session));
	expect(dfg_session_plan(session, &(struct dfg_step){.fetch = &fetch, .n_fetch = 1}, &plan));
	double start = now();
	expect(dfg_plan_run(plan, NULL, &last));
	double seconds = now() - start;
	if (*(float *)last.data != ITERATIONS) {
		fprintf(stderr, "WRONG VALUE %g\n", *(float *)last.data);
		exit(1);
	}
	dfg_tensor_release(&last);
	dfg_session_free(session);
	dfg_graph_release(&graph);
	dfg_arena_release(&arena);
	return seconds;
}

/* An iteration begins a stage after the one before it, and not before the one a window ago has ended. */
static double ideal(int window)
{
	int start[ITERATIONS] = {0};
	for (int i = 1; i < ITERATIONS; i++) {
		start[i] = start[i - 1] + 1;
		if (i >= window && start[i] < start[i - window] + STAGES)
			start[i] = start[i - window] + STAGES;
	}
	return (double)STAGES * ITERATIONS / (start[ITERATIONS - 1] + STAGES);
}

int main(void)
{
	const double one_by_one = STAGE_MS * 1e-3 * STAGES * ITERATIONS;
	for (int window = 1; window <= WINDOW_MOST; window *= 2) {
		double speed = one_by_one / run_pipeline(window);
		printf(
			"pipeline of 8 sleeping stages, window %2d   %.2f times one by one   ideal %.2f   %.2f of it   to reach "
			"0.90\n",
			window, speed, ideal(window), speed / ideal(window));
	}
	return 0;
}
