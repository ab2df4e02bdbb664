/* The cost of dfg_grad for a node of a graph of 1 M: y = tanh(y) * x, half a million times over. The best of a few. */
#include "lib/pass/grad/grad.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { PAIRS = 500000, TIMES = 3 };

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

/* Microseconds a node. */
static double once(void)
{
	struct dfg_arena arena = {0};
	struct dfg_graph graph;
	struct dfg_builder build;
	struct dfg_shape shape = DFG_SHAPE_VECTOR(8);
	const struct dfg_attr attr[] = {DFG_ATTR_T("dtype", DFG_F32), {"shape", DFG_ATTR_SHAPE, {.shape = &shape}}};
	const struct dfg_new_node input = {.op = "Placeholder", .name = "x", .attr = attr, .n_attr = 2};
	struct dfg_edge x = {0, 0}, y = {0, 0}, at, out;
	dfg_graph_init(&graph, &arena);
	expect(dfg_builder_init(&build, &graph));
	expect(dfg_build(&build, &input, &x.node));
	expect(dfg_build(&build, &input, &y.node));
	at = y;
	for (int i = 0; i < PAIRS; i++) {
		expect(dfg_build_op(&build, "Tanh", "t", &at, 1, &at));
		expect(dfg_build_op(&build, "Mul", "m", (struct dfg_edge[]){at, x}, 2, &at));
	}
	double start = now();
	expect(dfg_grad_edges(&build, &at, 1, &y, 1, &out));
	double took = now() - start;
	dfg_builder_release(&build);
	dfg_graph_release(&graph);
	dfg_arena_release(&arena);
	return took / (2 * PAIRS);
}

int main(void)
{
	double best = once();
	for (int i = 1; i < TIMES; i++) {
		double took = once();
		best = took < best ? took : best;
	}
	printf("grad of a chain, a node\t%f\n", best);
	return 0;
}
