#pragma once

#include "cmd/cmd.h"
#include "formats/array.h"
#include "formats/graphdef.h"
#include "formats/plan.h"
#include "lib/base/text.h"
#include "lib/graph/build.h"

/* What `dfg show` was asked for, beyond what the content says. */
struct dfg_show_options {
	bool tree, text, dot, svg;
	const char *node;
	bool several; /* files, so that each array that has no name, or list of arrays, is headed by its file's */
};

/* A file of metrics, as run writes them: a curve of each value. */
bool dfg_is_metrics(const struct dfg_blob *blob);
DFG_MUST_CHECK struct dfg_err *dfg_show_metrics(const struct dfg_blob *blob, bool svg, struct dfg_text *out);

/* Arrays: a line each with least, largest and mean value; of one alone its elements too. */
DFG_MUST_CHECK struct dfg_err *dfg_show_arrays(
	const char *path, const struct dfg_arrays *arrays, const struct dfg_show_options *options, struct dfg_text *out);

/* The newest whole checkpoint of a directory. */
DFG_MUST_CHECK struct dfg_err *dfg_show_checkpoint(
	const char *path, const struct dfg_show_options *options, struct dfg_text *out);

/* A graph and what could be inferred of it: facts are empty where the graph is not valid. */
struct dfg_shown {
	const struct dfg_graph *graph;
	const struct dfg_facts *facts; /* NULL: nothing is known */
	const char *path;
};

/* A graph that is not valid can be shown too; then nothing is known of its types, and why is talked about. */
DFG_MUST_CHECK struct dfg_err *dfg_shown_init(
	const struct dfg_graph *graph, struct dfg_facts *facts, struct dfg_shown *out_shown);

/* Each prints to `out`. */
DFG_MUST_CHECK struct dfg_err *dfg_show_summary(const struct dfg_shown *shown, struct dfg_text *out);
DFG_MUST_CHECK struct dfg_err *dfg_show_functions(const struct dfg_shown *shown, struct dfg_text *out);
DFG_MUST_CHECK struct dfg_err *dfg_show_graph_json(const struct dfg_shown *shown, struct dfg_text *out);
DFG_MUST_CHECK struct dfg_err *dfg_show_node(const struct dfg_shown *shown, const char *name, struct dfg_text *out);
DFG_MUST_CHECK struct dfg_err *dfg_show_tree(const struct dfg_shown *shown, struct dfg_text *out);
DFG_MUST_CHECK struct dfg_err *dfg_show_dot(const struct dfg_shown *shown, struct dfg_text *out);

/* What stands within the braces of a drawing; node number 3 is drawn as "NAMEn3". */
DFG_MUST_CHECK struct dfg_err *dfg_show_dot_part(const struct dfg_shown *shown, const char *name, struct dfg_text *out);

/* A plan: its devices, what goes between them, and of each part what was asked for. */
DFG_MUST_CHECK struct dfg_err *dfg_show_plan(
	const char *path, const struct dfg_show_options *options, struct dfg_text *out);
DFG_MUST_CHECK struct dfg_err *dfg_show_plan_dot(const struct dfg_plan_folder *plan, struct dfg_text *out);

/* "f32[?,10]", or "" where nothing is known of the output; of a variable, what it holds. */
struct dfg_words dfg_shown_type(const struct dfg_shown *shown, struct dfg_edge edge);

/* An attribute's value as the language writes it; long lists and tensors are cut. */
void dfg_show_attr(const struct dfg_attr *attr, struct dfg_text *out);
