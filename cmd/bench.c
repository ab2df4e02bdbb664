#include "cmd/bench.h"
#include "cmd/graph.h"
#include "cmd/shared_options.h"
#include "formats/synthetic.h"
#include "lib/base/folder.h"
#include "lib/base/pool.h"
#include "lib/pass/verify/verify.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

static struct dfg_run_options run_options = DFG_RUN_DEFAULTS;
static int64_t nodes = -1, edges = -1, batch = -1; /* -1: not given */
static const char *output;
static bool if_changed;
enum { NODES = 100000, EDGES = 1000000, EDGES_MOST = 80000000 };

static const struct dfg_opt options[] = {
	{"nodes", .takes = "N", .number = &nodes, .least = 1, .help = "Number of nodes of the generated graph (100000)."},
	{"edges", .takes = "M", .number = &edges, .help = "Number of its edges (1000000)."},
	{"output", 'o', .takes = "FILE", .text = &output, .help = "Write the generated graph to FILE."},
	{"if-changed", .flag = &if_changed, .help = "Do not touch FILE if its content would not change."},
	{"batch", .takes = "N", .number = &batch, .least = 1,
		.help = "Size of the unknown dimensions of a graph in a file (1)."},
	{"fetch", 'f', .takes = "NAME", .list = &run_options.fetch, .help = "Fetch tensor NAME in each step."},
	{"target", .takes = "NODE", .list = &run_options.target, .help = "Run NODE for its effect."},
	{"repeat", .takes = "N", .number = &run_options.repeat, .least = 1,
		.help = "Time N steps (100), or N calls of each size (for 0.3 seconds)."},
	{.rows = dfg_bench_hosts_options},
	{"warmup", .takes = "W", .number = &run_options.warmup, .help = "Run W untimed steps first (0)."},
	{.rows = dfg_execution_options},
	{"json", .flag = &dfg_globals.json, .help = "Print one JSON document."},
	{0},
};

/* Measurements: seconds, and bytes of file and memory. */
struct figures {
	double load, check, write;
	size_t file, peak;
};

static size_t peak_bytes(void)
{
	struct rusage usage;
	return getrusage(RUSAGE_SELF, &usage) ? 0 : (size_t)usage.ru_maxrss * 1024;
}

static uint64_t seed(void)
{
	return dfg_shared.execution.seed < 0 ? 1 : (uint64_t)dfg_shared.execution.seed;
}

static struct dfg_err *make_graph(const char *path)
{
	struct dfg_out out;
	DFG_TRY(dfg_out_open(path, if_changed, &out));
	struct dfg_err *err = dfg_synthetic_write((uint32_t)nodes, (uint64_t)edges, seed(), &out);
	if (!err)
		err = dfg_out_commit(&out);
	dfg_out_release(&out);
	return err;
}

static struct dfg_err *measure(const char *path, struct figures *figures)
{
	struct dfg_graph_file file;
	double start = dfg_seconds();
	DFG_TRY(dfg_cmd_open_graph(path, &file));
	figures->load = dfg_seconds() - start;
	figures->file = file.blob.size;
	start = dfg_seconds();
	struct dfg_err *err = dfg_verify(&file.graph, NULL, NULL);
	figures->check = dfg_seconds() - start;
	figures->peak = peak_bytes();
	start = dfg_seconds();
	if (!err)
		err = dfg_graph_save(&(struct dfg_graph_output){.path = "/dev/null"}, &file.graph);
	figures->write = dfg_seconds() - start;
	dfg_graph_close(&file);
	return err;
}

static void print_json(const struct figures *figures)
{
	printf("{\"nodes\": %" PRId64 ", \"edges\": %" PRId64 ", \"seed\": %" PRIu64 ", \"file_bytes\": %zu", nodes, edges,
		seed(), figures->file);
	printf(", \"load_s\": %.6f, \"check_s\": %.6f, \"write_s\": %.6f, \"peak_bytes\": %zu}\n", figures->load,
		figures->check, figures->write, figures->peak);
}

static void print_figures(const struct figures *figures)
{
	printf("graph  %" PRId64 " nodes, %" PRId64 " edges, seed %" PRIu64 ", %zu bytes\n", nodes, edges, seed(),
		figures->file);
	printf(
		"load   %.3f s\ncheck  %.3f s\nwrite  %.3f s (encoding only)\n", figures->load, figures->check, figures->write);
	printf("peak   %zu bytes, %.2f times the file\n", figures->peak, (double)figures->peak / (double)figures->file);
}

struct dfg_err *dfg_bench_graph(struct dfg_run_options *unused)
{
	(void)unused;
	struct dfg_folder temporary = {.path = NULL};
	const char *path = output;
	struct figures figures = {0};
	nodes = nodes < 0 ? NODES : nodes;
	edges = edges < 0 ? EDGES : edges;
	if (nodes > EDGES_MOST || edges > EDGES_MOST)
		return DFG_ERR(DFG_USAGE, "--%s must be at most %d, not %lld: a file holds at most 2 GB",
			nodes > EDGES_MOST ? "nodes" : "edges", EDGES_MOST, (long long)(nodes > EDGES_MOST ? nodes : edges));
	struct dfg_err *err = output ? NULL : dfg_folder_open_scratch("bench", &temporary);
	if (!err && !output)
		err = dfg_folder_file(&temporary, "graph.pb", &path);
	if (!err)
		err = make_graph(path);
	if (!err)
		err = measure(path, &figures);
	dfg_folder_release(&temporary);
	if (!err)
		(dfg_globals.json ? print_json : print_figures)(&figures);
	return err;
}

static const struct {
	const char *name;
	struct dfg_err *(*run)(struct dfg_run_options *options);
} benches[] = {
#define BENCH(name, run_bench, NUMBER) {#name, run_bench},
#include "cmd/bench.def"
#undef BENCH
};

/* The numbers of benches. A graph in a file has the number BENCHES. */
enum {
#define BENCH(name, run_bench, NUMBER) NUMBER,
#include "cmd/bench.def"
#undef BENCH
	BENCHES
};

/* Some options are only for the generated graph, for a graph in a file, or for the benches that run steps. */
static struct dfg_err *check_options(int which)
{
	enum { MADE = 1 << GRAPH, STEPS = 1 << KERNELS | 1 << BENCHES, FILE_ONLY = 1 << BENCHES };
	enum { CALLS = STEPS | 1 << ALLREDUCE | 1 << LINK | 1 << PS };
	const struct {
		const char *option;
		bool given;
		int of;
	} rows[] = {
		{"nodes", nodes >= 0, MADE},
		{"edges", edges >= 0, MADE},
		{"output", output, MADE},
		{"if-changed", if_changed, MADE},
		{"batch", batch >= 0, FILE_ONLY},
		{"fetch", run_options.fetch.count, FILE_ONLY},
		{"target", run_options.target.count, FILE_ONLY},
		{"repeat", run_options.repeat >= 0, CALLS},
		{"warmup", run_options.warmup, STEPS},
	};
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
		if (rows[i].given && !(rows[i].of >> which & 1))
			return DFG_ERR(DFG_USAGE, "--%s is only for %s", rows[i].option,
				rows[i].of == MADE        ? "the generated graph ('graph')"
				: rows[i].of == FILE_ONLY ? "a graph in a file"
				: rows[i].of == STEPS     ? "a graph in a file and for 'kernels'"
										  : "benchmarks other than 'graph', which is timed once");
	bool text = false;
	if (if_changed && !output)
		return DFG_ERR(DFG_USAGE, "--if-changed requires -o");
	if (output)
		DFG_TRY(dfg_graph_format(&(struct dfg_graph_output){.path = output}, &text));
	return text ? DFG_ERR(DFG_USAGE, "-o %s: the generated graph can only be written as .pb", output) : NULL;
}

static struct dfg_err *bench(char **operands, int *out_status)
{
	int which = 0;
	(void)out_status;
	while (which < BENCHES && strcmp(*operands, benches[which].name))
		which++;
	DFG_TRY(check_options(which));
	bool on_workers = which == ALLREDUCE || which == LINK || which == PS;
	if (!on_workers && dfg_bench_hosts_asked())
		return DFG_ERR(DFG_USAGE,
			"--hosts, --algorithm, --sizes, --payload, --mode and --verify are only for bench allreduce, link and ps");
	dfg_limit_memory();
	struct dfg_err *err = which < BENCHES ? benches[which].run(&run_options)
										  : dfg_bench_file(*operands, &run_options, batch < 0 ? 1 : batch);
	return dfg_name_memory_limit(err, *operands);
}

const struct dfg_cmd dfg_cmd_bench = {
	.name = "bench",
	.operands = "G|graph|kernels|allreduce|link|ps",
	.summary = "time a graph, kernels, reading and writing a large graph, or the all-reduce and calls between workers",
	.options = options,
	.least = 1,
	.most = 1,
	.run = bench,
};
