/*
 * The cost and the saving of recomputing a loop's iterations: a training step of an LSTM of 1,000 iterations that keeps
 * all values, and one that keeps the values with which some sqrt(2000) of them begin, alternately in one process; memory
 * and time of the second as fractions of the first. The losses are the same.
 */
#include "lib/base/text.h"
#include "lib/exec/session.h"
#include "lib/pass/grad/train.h"

#include "bench/bench.h"

#include <string.h>

enum { ROUNDS = 7, ITERATIONS = 1000, BATCH = 8, UNITS = 128 };

static const char program[] =
	"input xs: f32[1000, 8, 128]\n"
	"cell = lstm(128)\n"
	"h, c = zeros([8, 128]), zeros([8, 128])\n"
	"h, c = loop (h = h, c = c) for x in xs { next cell(x, h, c) }\n"
	"output loss = mean(h * h)\n";

struct trainer {
	struct dfg_arena arena;
	struct dfg_graph graph;
	struct dfg_session *session;
	struct dfg_plan *plan;
	double time[ROUNDS];
};

static void begin(struct trainer *trainer, const struct dfg_remat *remat)
{
	const struct dfg_lang_options lang = {.grad = dfg_grad_edges, .text = program, .length = strlen(program)};
	struct dfg_text notes = {0};
	const struct dfg_train_options train = {
		.optimizer = "sgd(lr = 0.01)", .lang = &lang, .remat = *remat, .notes = &notes};
	struct dfg_builder builder;
	struct dfg_edge loss, xs;
	struct dfg_plan *init;
	*trainer = (struct trainer){0};
	dfg_graph_init(&trainer->graph, &trainer->arena);
	expect(dfg_lang_build("lstm.dfg", &lang, &trainer->graph));
	expect(dfg_graph_edge(&trainer->graph, "loss", &loss));
	expect(dfg_graph_edge(&trainer->graph, "xs", &xs));
	expect(dfg_builder_init(&builder, &trainer->graph));
	expect(dfg_train(&builder, loss, &train));
	dfg_builder_release(&builder);
	dfg_text_release(&notes);
	uint32_t target[2] = {dfg_graph_find(&trainer->graph, "init"), dfg_graph_find(&trainer->graph, "train")};
	const struct dfg_step first = {.target = &target[0], .n_target = 1};
	const struct dfg_step step = {
		.feed = &xs, .n_feed = 1, .fetch = &loss, .n_fetch = 1, .target = &target[1], .n_target = 1};
	expect(dfg_session_new(&trainer->graph, &(struct dfg_session_options){.threads = 1}, &trainer->session));
	expect(dfg_session_plan(trainer->session, &first, &init));
	expect(dfg_plan_run(init, NULL, NULL));
	expect(dfg_session_plan(trainer->session, &step, &trainer->plan));
}

static void end(struct trainer *trainer)
{
	dfg_session_free(trainer->session);
	dfg_graph_release(&trainer->graph);
	dfg_arena_release(&trainer->arena);
}

static float step(struct trainer *trainer, const struct dfg_tensor *xs, double *out_time)
{
	struct dfg_tensor loss;
	double start = now();
	expect(dfg_plan_run(trainer->plan, xs, &loss));
	*out_time = now() - start;
	float value = *(float *)loss.data;
	dfg_tensor_release(&loss);
	return value;
}

static void set_feed(struct dfg_tensor *xs)
{
	const struct dfg_shape shape = {.rank = 3, .dim = {ITERATIONS, BATCH, UNITS}};
	unsigned random = 1;
	expect(dfg_tensor_new(DFG_F32, &shape, xs));
	for (int64_t i = 0; i < dfg_shape_count(&shape); i++) {
		random = random * 1664525u + 1013904223u;
		((float *)xs->data)[i] = (float)(random >> 24) / 128 - 1;
	}
}

static double median(struct trainer *trainer)
{
	qsort(trainer->time, ROUNDS, sizeof *trainer->time, by_value);
	return trainer->time[ROUNDS / 2];
}

int main(void)
{
	static struct trainer all, less;
	struct dfg_stats of_all, of_less;
	struct dfg_tensor xs;
	double warm;
	set_feed(&xs);
	begin(&all, &(struct dfg_remat){0});
	begin(&less, &(struct dfg_remat){.policy = DFG_REMAT_SQRT});
	bool same = step(&all, &xs, &warm) == step(&less, &xs, &warm);
	for (int round = 0; round < ROUNDS && same; round++)
		same = step(&all, &xs, &all.time[round]) == step(&less, &xs, &less.time[round]);
	if (!same) {
		fprintf(stderr, "the losses differ\n");
		return 1;
	}
	dfg_plan_stats(all.plan, &of_all);
	dfg_plan_stats(less.plan, &of_less);
	printf("LSTM, recomputation: memory\t%f\n", (double)of_less.peak_bytes / (double)of_all.peak_bytes);
	printf("LSTM, recomputation: time\t%f\n", median(&less) / median(&all));
	end(&all);
	end(&less);
	dfg_tensor_release(&xs);
	return 0;
}
