/*
 * Networks from their programs to the session interface: a picture through a perceptron, training steps of it and of LeNet
 * by gradient descent. Medians; losses are checked. Run from the root of the tree.
 */
#include "lib/exec/session.h"
#include "lib/pass/rewrite/fuse_updates.h"
#include "lib/pass/grad/grad.h"
#include "lib/pass/grad/train.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { ROUNDS = 31 };

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
	return (double)t.tv_sec * 1e6 + (double)t.tv_nsec / 1e3;
}

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;
	return (x > y) - (x < y);
}

/* A program as a graph, with a training step or without. */
struct bench {
	struct dfg_arena arena;
	struct dfg_graph graph;
	struct dfg_edge feed[2], fetch;
	uint32_t init, train; /* DFG_NONE without */
	struct dfg_tensor value[2];
};

static void add_training(struct bench *bench, const struct dfg_lang_options *lang)
{
	struct dfg_builder build;
	struct dfg_text notes = {0};
	struct dfg_arena scratch = {0};
	const struct dfg_train_options options = {.optimizer = "sgd(lr = 0.01)", .lang = lang, .notes = &notes};
	expect(dfg_builder_init(&build, &bench->graph));
	expect(dfg_train(&build, bench->fetch, &options));
	dfg_builder_release(&build);
	bench->train = dfg_graph_find(&bench->graph, "train");
	struct dfg_keep keep = {
		.feed = bench->feed, .n_feed = 2, .fetch = &bench->fetch, .n_fetch = 1, .target = &bench->train, .n_target = 1};
	expect(dfg_fuse_updates(&bench->graph, &keep, &scratch, &notes));
	dfg_arena_release(&scratch);
	dfg_text_release(&notes);
}

static void set_feeds(struct bench *bench, const struct dfg_shape *images)
{
	struct dfg_shape labels = {.rank = 1, .dim = {images->dim[0]}};
	expect(dfg_tensor_new(DFG_F32, images, &bench->value[0]));
	expect(dfg_tensor_new(DFG_I32, &labels, &bench->value[1]));
	unsigned random = 1;
	for (int64_t i = 0; i < dfg_shape_count(images); i++) {
		random = random * 1664525u + 1013904223u;
		((float *)bench->value[0].data)[i] = (float)(random >> 24) / 255;
	}
	for (int64_t i = 0; i < labels.dim[0]; i++)
		((int32_t *)bench->value[1].data)[i] = (int32_t)(i % 10);
}

static void begin(struct bench *bench, const char *path, bool training, int64_t batch)
{
	const char *define[] = {"training=true", NULL};
	const struct dfg_lang_options lang = {.define = training ? define : NULL, .grad = dfg_grad_edges};
	*bench = (struct bench){.train = DFG_NONE};
	dfg_graph_init(&bench->graph, &bench->arena);
	expect(dfg_lang_build(path, &lang, &bench->graph));
	expect(dfg_graph_edge(&bench->graph, "images", &bench->feed[0]));
	expect(dfg_graph_edge(&bench->graph, "labels", &bench->feed[1]));
	expect(dfg_graph_edge(&bench->graph, training ? "loss" : "probabilities", &bench->fetch));
	if (training)
		add_training(bench, &lang);
	bench->init = dfg_graph_find(&bench->graph, "init");
	bool flat = strstr(path, "mlp");
	struct dfg_shape images = {.rank = flat ? 2 : 3, .dim = {batch, flat ? 784 : 28, flat ? 0 : 28}};
	set_feeds(bench, &images);
}

static void end(struct bench *bench)
{
	dfg_tensor_release(&bench->value[0]);
	dfg_tensor_release(&bench->value[1]);
	dfg_graph_release(&bench->graph);
	dfg_arena_release(&bench->arena);
}

/* The first element of what is fetched. */
static float run_step(const struct bench *bench, struct dfg_plan *plan)
{
	struct dfg_tensor out;
	expect(dfg_plan_run(plan, bench->value, &out));
	float value = *(float *)out.data;
	dfg_tensor_release(&out);
	return value;
}

/* Microseconds a step, the median of the rounds. False where the loss does not fall. */
static bool measure(const struct bench *bench, int threads, double *out_median)
{
	bool trains = bench->train != DFG_NONE;
	struct dfg_session *session;
	struct dfg_plan *plan, *init;
	struct dfg_session_options options = {.threads = threads};
	struct dfg_step first = {.target = &bench->init, .n_target = 1};
	struct dfg_step step = {.feed = bench->feed,
		.n_feed = trains ? 2 : 1,
		.fetch = &bench->fetch,
		.n_fetch = 1,
		.target = &bench->train,
		.n_target = trains};
	static double time[ROUNDS];
	expect(dfg_session_new(&bench->graph, &options, &session));
	expect(dfg_session_plan(session, &first, &init));
	expect(dfg_plan_run(init, NULL, NULL));
	expect(dfg_session_plan(session, &step, &plan));
	float before = run_step(bench, plan), after = before;
	double start = now();
	run_step(bench, plan);
	int steps = (int)(2e4 / (now() - start)) + 1; /* between two looks at the clock */
	for (int round = 0; round < ROUNDS; round++) {
		start = now();
		for (int i = 0; i < steps; i++)
			after = run_step(bench, plan);
		time[round] = (now() - start) / steps;
	}
	qsort(time, ROUNDS, sizeof *time, by_value);
	dfg_session_free(session);
	*out_median = time[ROUNDS / 2];
	return trains ? after < before : after == before && isfinite(after);
}

static void report(const char *row, const char *program, bool training, int64_t batch, int threads, double unit)
{
	struct bench bench;
	double median;
	begin(&bench, program, training, batch);
	bool right = measure(&bench, threads, &median);
	end(&bench);
	if (!right) {
		fprintf(stderr, "%s: wrong value\n", row);
		exit(1);
	}
	printf("%s\t%f\n", row, median / unit);
}

int main(void)
{
	report("MLP, one picture", "bench/mlp.dfg", false, 1, 1, 1);
	report("MLP, step of 32", "bench/mlp.dfg", true, 32, 1, 1);
	report("LeNet, step of 64, 1 thread", "bench/lenet.dfg", true, 64, 1, 1e3);
	report("LeNet, step of 64, 2 threads", "bench/lenet.dfg", true, 64, 2, 1e3);
	return 0;
}
