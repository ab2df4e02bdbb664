/*
 * The cost to run a node: a chain and a DAG of 1,000 scalar additions on one thread, one call of a graph of one
 * node. Medians; values are checked. See bench/rows.txt.
 */
#include "bench/bench.h"
#include "lib/exec/session.h"
#include "lib/graph/build.h"

#include <string.h>

enum { NODES = 1000, RUNS = 400 };

/* A graph of f32 scalars with one placeholder, "x". */
struct bench {
	struct dfg_arena arena;
	struct dfg_graph graph;
	struct dfg_builder build;
	struct dfg_edge x, one;
};

static void begin(struct bench *bench)
{
	*bench = (struct bench){0};
	dfg_graph_init(&bench->graph, &bench->arena);
	expect(dfg_builder_init(&bench->build, &bench->graph));
	const struct dfg_attr attr[] = {
		DFG_ATTR_T("dtype", DFG_F32), {"shape", DFG_ATTR_SHAPE, {.shape = &DFG_SHAPE_SCALAR}}};
	uint32_t node;
	expect(dfg_build(
		&bench->build, &(struct dfg_new_node){.op = "Placeholder", .name = "x", .attr = attr, .n_attr = 2}, &node));
	bench->x = (struct dfg_edge){node, 0};
	expect(dfg_build_float(&bench->build, "one", DFG_F32, 1, &bench->one));
}

static struct dfg_edge op(struct bench *bench, const char *name, struct dfg_edge a, struct dfg_edge b)
{
	struct dfg_edge out;
	expect(dfg_build_op(&bench->build, name, "n", (struct dfg_edge[]){a, b}, 2, &out));
	return out;
}

/* ns a step, the median of RUNS; the fetched scalar goes to *out_value. */
static double measure(struct bench *bench, struct dfg_edge fetch, float x, float *out_value)
{
	struct dfg_session *session;
	struct dfg_plan *plan;
	struct dfg_session_options options = {.threads = 1};
	struct dfg_step step = {.feed = &bench->x, .n_feed = 1, .fetch = &fetch, .n_fetch = 1};
	struct dfg_tensor feed = {.dtype = DFG_F32, .shape = DFG_SHAPE_SCALAR, .data = &x, .capacity = sizeof x}, out;
	static double time[RUNS];
	expect(dfg_session_new(&bench->graph, &options, &session));
	expect(dfg_session_plan(session, &step, &plan));
	double began = now();
	expect(dfg_plan_run(plan, &feed, &out));
	dfg_tensor_release(&out);
	int batch = (int)(2e5 / (now() - began)) + 1; /* steps between two looks at the clock */
	for (int run = -10; run < RUNS; run++) {
		double start = now();
		for (int i = 0; i < batch; i++) {
			expect(dfg_plan_run(plan, &feed, &out));
			*out_value = *(float *)out.data;
			dfg_tensor_release(&out);
		}
		if (run >= 0)
			time[run] = (now() - start) / batch;
	}
	qsort(time, RUNS, sizeof *time, by_value);
	dfg_session_free(session);
	return time[RUNS / 2];
}

static void end(struct bench *bench)
{
	dfg_builder_release(&bench->build);
	dfg_graph_release(&bench->graph);
	dfg_arena_release(&bench->arena);
}

static void report(const char *row, double value, bool right)
{
	if (right) {
		printf("%s\t%f\n", row, value);
		return;
	}
	fprintf(stderr, "%s: wrong value\n", row);
	exit(1);
}

static void chain(void)
{
	struct bench bench;
	float got;
	begin(&bench);
	struct dfg_edge at = bench.x;
	for (int i = 0; i < NODES; i++)
		at = op(&bench, "AddV2", at, bench.one);
	double ns = measure(&bench, at, 5, &got);
	report("chain of 1000, a node", ns / NODES, got == 5 + NODES);
	end(&bench);
}

/* Each node adds two of those before it, near and far; every value is used. */
static void dag(void)
{
	struct bench bench;
	static struct dfg_edge node[NODES];
	static float value[NODES];
	unsigned random = 1;
	float got;
	begin(&bench);
	node[0] = bench.x;
	value[0] = 3;
	for (int i = 1; i < NODES; i++) {
		random = random * 1664525u + 1013904223u;
		int far = (int)(random >> 8) % i;
		bool plus = random >> 31;
		node[i] = op(&bench, plus ? "AddV2" : "Sub", node[i - 1], node[far]);
		value[i] = plus ? value[i - 1] + value[far] : value[i - 1] - value[far];
	}
	double ns = measure(&bench, node[NODES - 1], 3, &got);
	report("DAG of 1000, a node", ns / NODES, got == value[NODES - 1] || got != got);
	end(&bench);
}

static void call(void)
{
	struct bench bench;
	float got;
	begin(&bench);
	double ns = measure(&bench, op(&bench, "AddV2", bench.x, bench.one), 1, &got);
	report("call of a trivial graph", ns / 1e3, got == 2);
	end(&bench);
}

int main(void)
{
	chain();
	dag();
	call();
	return 0;
}
