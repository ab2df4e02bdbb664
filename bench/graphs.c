/*
 * The cost of the graph tools: loading and checking a graph of 1,000,000 nodes and 10,000,000 edges, and a node of a chain of
 * 1,000,000: to build, to differentiate. Medians of the processor's time where one thread does it, so that a busy
 * machine disturbs little; of the clock where two do.
 */
#include "formats/graphdef.h"
#include "formats/synthetic.h"
#include "lib/pass/grad/grad.h"
#include "lib/pass/verify/verify.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

enum { NODES = 1000000, EDGES = 10000000, RUNS = 5 };

static void expect(struct dfg_err *err)
{
	if (!err)
		return;
	fprintf(stderr, "%s\n", err->text);
	exit(1);
}

static double now(clockid_t clock)
{
	struct timespec t;
	clock_gettime(clock, &t);
	return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;
	return (x > y) - (x < y);
}

static double median(double *value)
{
	qsort(value, RUNS, sizeof *value, by_value);
	return value[RUNS / 2];
}

static void print(const char *name, double value, const char *unit, double goal)
{
	printf("%-28s %9.2f %s   to reach %7.2f %s   %5.2f of it\n", name, value, unit, goal, unit, value / goal);
}

static void write_graph(const char *path)
{
	struct dfg_out out;
	expect(dfg_out_open(path, false, &out));
	expect(dfg_synthetic_write(NODES, EDGES, 1, &out));
	expect(dfg_out_commit(&out));
	dfg_out_release(&out);
}

static void bench_load(const char *path)
{
	double load[RUNS], check[RUNS], both[RUNS];
	size_t bytes = 0;
	for (int run = 0; run < RUNS; run++) {
		struct dfg_graph_file file;
		double start = now(CLOCK_MONOTONIC);
		expect(dfg_graph_open(path, NULL, &file));
		double middle = now(CLOCK_MONOTONIC);
		expect(dfg_verify(&file.graph, NULL, NULL));
		double end = now(CLOCK_MONOTONIC);
		load[run] = middle - start;
		check[run] = end - middle;
		both[run] = end - start;
		bytes = file.blob.size;
		dfg_graph_close(&file);
	}
	struct rusage usage;
	getrusage(RUSAGE_SELF, &usage);
	printf("%-28s %9.2f s\n%-28s %9.2f s\n", "load 1M nodes, 10M edges", median(load), "check them", median(check));
	print("load and check", median(both), "s", 0.6);
	print("peak memory, of the file", (double)usage.ru_maxrss * 1024 / (double)bytes, "x", 4);
}

/* A chain of six ops in turn over a matrix. */
static void build_chain(struct dfg_builder *build)
{
	static const struct {
		const char *op;
		uint32_t n_in;
	} link[] = {{"Tanh", 1}, {"Mul", 2}, {"AddV2", 2}, {"Sigmoid", 1}, {"Sub", 2}, {"Relu", 1}};
	const struct dfg_shape shape = {2, {8, 16}};
	const struct dfg_attr attr[] = {DFG_ATTR_T("dtype", DFG_F32), {"shape", DFG_ATTR_SHAPE, {.shape = &shape}}};
	struct dfg_edge in[2] = {{0, 0}, {0, 0}}, out;
	struct dfg_new_node node = {.op = "Placeholder", .name = "x", .attr = attr, .n_attr = 2};
	expect(dfg_build(build, &node, &in[0].node));
	node.name = "c";
	expect(dfg_build(build, &node, &in[1].node));
	for (uint32_t n = 2; n < NODES; n++) {
		char name[40];
		size_t i = n % (sizeof link / sizeof *link);
		snprintf(name, sizeof name, "layer_%u/node_%u", n / 1024, n);
		expect(dfg_build_op(build, link[i].op, name, in, link[i].n_in, &out));
		in[0] = out;
	}
}

static void bench_grad(void)
{
	double build[RUNS], grad[RUNS];
	for (int run = 0; run < RUNS; run++) {
		struct dfg_arena arena = {0};
		struct dfg_graph graph;
		struct dfg_builder builder;
		struct dfg_cotangent result;
		dfg_graph_init(&graph, &arena);
		expect(dfg_builder_init(&builder, &graph));
		double start = now(CLOCK_THREAD_CPUTIME_ID);
		build_chain(&builder);
		double middle = now(CLOCK_THREAD_CPUTIME_ID);
		struct dfg_edge y = {NODES - 1, 0}, x = {0, 0};
		expect(dfg_grad(&builder, &y, 1, &x, 1, NULL, &result));
		grad[run] = (now(CLOCK_THREAD_CPUTIME_ID) - middle) / NODES * 1e6;
		build[run] = (middle - start) / NODES * 1e6;
		dfg_builder_release(&builder);
		dfg_graph_release(&graph);
		dfg_arena_release(&arena);
	}
	printf("%-28s %9.2f us\n", "build a node of a chain", median(build));
	print("differentiate it", median(grad), "us", 0.5);
}

int main(void)
{
	char path[] = "/tmp/dfg-bench-XXXXXX";
	int fd = mkstemp(path);
	if (fd < 0)
		return 2;
	close(fd);
	write_graph(path);
	bench_load(path);
	unlink(path);
	bench_grad();
	return 0;
}
