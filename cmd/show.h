#pragma once

#include "cmd/cmd.h"
#include "formats/array.h"
#include "formats/graphdef.h"
#include "formats/plan.h"
#include "lib/base/text.h"
#include "lib/graph/build.h"

/* Options of `dfg show`. */
struct dfg_show_options {
	bool tree, text, dot, svg;
	const char *node;
	int64_t head;           /* rows of each array to print; -1: not given */
	bool hostfile;          /* print what mpirun takes as a hostfile */
	const char *kubernetes; /* the image whose job is printed; NULL: not given */
	const char *hosts;      /* of the hostfile; NULL: this machine */
	int64_t replicas;       /* 0: one for each shard */
	bool several;           /* several files: unnamed arrays, and lists of arrays, have the file name as a heading */
};

/* Whether the file is one of metrics as run writes them. dfg_show_metrics() draws a curve of each value. */
bool dfg_is_metrics(const struct dfg_blob *blob);
DFG_MUST_CHECK struct dfg_err *dfg_show_metrics(const struct dfg_blob *blob, bool svg, struct dfg_text *out);

/* Draws the curves of several such files, the same value of all in one picture. NULL ends the paths. */
DFG_MUST_CHECK struct dfg_err *dfg_show_runs(char **paths, bool svg, struct dfg_text *out);

/* Whether the file is a trace, as run --trace writes it. dfg_show_trace() adds its times up by op, node and thread. */
bool dfg_is_trace(const struct dfg_blob *blob);
DFG_MUST_CHECK struct dfg_err *dfg_show_trace(const struct dfg_blob *blob, struct dfg_text *out);

/* Prints a line per array with least, largest and mean value; for a single array also its elements. */
DFG_MUST_CHECK struct dfg_err *dfg_show_arrays(
	const char *path, const struct dfg_arrays *arrays, const struct dfg_show_options *options, struct dfg_text *out);

/* Reads the first n rows of the array that the words name; a scalar whole. */
DFG_MUST_CHECK struct dfg_err *dfg_show_first_rows(const char *words, int64_t n, struct dfg_tensor *out_rows);

/* Prints the newest complete checkpoint of a directory. */
DFG_MUST_CHECK struct dfg_err *dfg_show_checkpoint(
	const char *path, const struct dfg_show_options *options, struct dfg_text *out);

/* A graph and its inferred types, which are empty if the graph is invalid. */
struct dfg_shown {
	const struct dfg_graph *graph;
	const struct dfg_facts *facts; /* NULL: unknown */
	const char *path;
};

/* An invalid graph can also be shown, without types; the reason is printed on stderr. */
DFG_MUST_CHECK struct dfg_err *dfg_shown_init(
	const struct dfg_graph *graph, struct dfg_facts *facts, struct dfg_shown *out_shown);

/* Each of these functions appends to `out`. */
DFG_MUST_CHECK struct dfg_err *dfg_show_summary(const struct dfg_shown *shown, struct dfg_text *out);
DFG_MUST_CHECK struct dfg_err *dfg_show_functions(const struct dfg_shown *shown, struct dfg_text *out);
DFG_MUST_CHECK struct dfg_err *dfg_show_graph_json(const struct dfg_shown *shown, struct dfg_text *out);
DFG_MUST_CHECK struct dfg_err *dfg_show_node(const struct dfg_shown *shown, const char *name, struct dfg_text *out);
DFG_MUST_CHECK struct dfg_err *dfg_show_tree(const struct dfg_shown *shown, struct dfg_text *out);
DFG_MUST_CHECK struct dfg_err *dfg_show_dot(const struct dfg_shown *shown, struct dfg_text *out);

/* The body of a dot(1) graph; node number 3 is named "NAMEn3". */
DFG_MUST_CHECK struct dfg_err *dfg_show_dot_part(const struct dfg_shown *shown, const char *name, struct dfg_text *out);

/* Prints a plan: its devices, the transfers between them, and the options for each part. */
DFG_MUST_CHECK struct dfg_err *dfg_show_plan(
	const char *path, const struct dfg_show_options *options, struct dfg_text *out);
DFG_MUST_CHECK struct dfg_err *dfg_show_plan_dot(const struct dfg_plan_folder *plan, struct dfg_text *out);

/* Prints options.hostfile or options.kubernetes, by which others start the workers of a plan. The options were checked. */
DFG_MUST_CHECK struct dfg_err *dfg_show_job_check(const struct dfg_show_options *options);
DFG_MUST_CHECK struct dfg_err *dfg_show_job(
	const struct dfg_plan_folder *plan, const struct dfg_show_options *options, struct dfg_text *out);

/* The type of an output, as "f32[?,10]", or "" if unknown; for a variable, the type of its value. */
struct dfg_words dfg_shown_type(const struct dfg_shown *shown, struct dfg_edge edge);

/* Prints an attribute in the syntax of the language; long lists and tensors are shortened. */
void dfg_show_attr(const struct dfg_attr *attr, struct dfg_text *out);
