/*
 * Steps of the examples, from their programs to the session interface: a picture through the perceptron, training steps of
 * it and of LeNet by gradient descent. Medians and the least; losses are checked. Run from the root of the tree.
 */
#include "lib/exec/session.h"
#include "lib/pass/fuse.h"
#include "lib/pass/grad.h"
#include "lib/pass/train.h"

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
	expect(dfg_fuse(&bench->graph, &keep, &scratch, &notes));
	dfg_arena_release(&scratch);
	dfg_text_release(&notes);
}

static void set_feeds(struct bench *bench, int64_t batch)
{
	struct dfg_shape images = {.rank = 3, .dim = {batch, 28, 28}}, labels = {.rank = 1, .dim = {batch}};
	expect(dfg_tensor_new(DFG_U8, &images, &bench->value[0]));
	expect(dfg_tensor_new(DFG_U8, &labels, &bench->value[1]));
	unsigned random = 1;
	for (int64_t i = 0; i < batch * 28 * 28; i++)
		((uint8_t *)bench->value[0].data)[i] = (uint8_t)((random = random * 1664525u + 1013904223u) >> 24);
	for (int64_t i = 0; i < batch; i++)
		((uint8_t *)bench->value[1].data)[i] = (uint8_t)(i % 10);
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
	set_feeds(bench, batch);
}

static void end(struct bench *bench)
{
	dfg_tensor_release(&bench->value[0]);
	dfg_tensor_release(&bench->value[1]);
	dfg_graph_release(&bench->graph);
	dfg_arena_release(&bench->arena);
}

/* The first element of what is fetched. */
static float run(const struct bench *bench, struct dfg_plan *plan)
{
	struct dfg_tensor out;
	expect(dfg_plan_run(plan, bench->value, &out));
	float value = *(float *)out.data;
	dfg_tensor_release(&out);
	return value;
}

/* Microseconds a step: the median of the rounds, and the least. False where the loss does not fall. */
static bool measure(const struct bench *bench, int threads, double *out_median, double *out_least)
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
	float before = run(bench, plan), after = before;
	double start = now();
	run(bench, plan);
	int steps = (int)(2e4 / (now() - start)) + 1; /* between two looks at the clock */
	for (int round = 0; round < ROUNDS; round++) {
		start = now();
		for (int i = 0; i < steps; i++)
			after = run(bench, plan);
		time[round] = (now() - start) / steps;
	}
	qsort(time, ROUNDS, sizeof *time, by_value);
	dfg_session_free(session);
	*out_median = time[ROUNDS / 2];
	*out_least = time[0];
	return trains ? after < before : after == before && isfinite(after);
}

static void perceptron(const char *name, bool training, int64_t batch, double limit)
{
	struct bench bench;
	double median, least;
	begin(&bench, "examples/mlp.dfg", training, batch);
	bool right = measure(&bench, 1, &median, &least);
	printf("%-28s %9.2f us   to reach %7.1f us   %5.2f of it   least %.2f us%s\n", name, median, limit, median / limit,
		least, right ? "" : "   WRONG VALUE");
	end(&bench);
	if (!right)
		exit(1);
}

/* The products of a step, forward and back: there is no gradient of the images. */
static double lenet_work(double batch)
{
	double first = batch * 28 * 28 * 25 * 32, second = batch * 14 * 14 * 25 * 32 * 64;
	double dense = batch * 3136 * 512, last = batch * 512 * 10;
	return 2 * (2 * first + 3 * (second + dense + last));
}

/* To reach is 0.8 of TensorFlow's speed, which depends on the machine: of two cores of Zen 5 it made this of them. */
static void lenet(int threads, double peer)
{
	struct bench bench;
	double median, least;
	begin(&bench, "examples/lenet.dfg", true, 64);
	bool right = measure(&bench, threads, &median, &least);
	double rate = lenet_work(64) / median / 1e3;
	printf(
		"LeNet step of 64, %d thread%s %9.2f ms   %.1f GFLOP/s   least %.2f ms, %.1f GFLOP/s   "
		"to reach on Zen 5 %.1f GFLOP/s%s\n",
		threads, threads > 1 ? "s" : " ", median / 1e3, rate, least / 1e3, lenet_work(64) / least / 1e3, peer * 0.8,
		right ? "" : "   WRONG VALUE");
	end(&bench);
	if (!right)
		exit(1);
}

int main(void)
{
	perceptron("MLP, one picture", false, 1, 5);
	perceptron("MLP, step of 32", true, 32, 105);
	lenet(1, 203);
	lenet(2, 307);
	return 0;
}
