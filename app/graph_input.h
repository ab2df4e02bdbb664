#pragma once

#include "app/report.h"
#include "formats/graphdef.h"

struct dfg_lang_graphs;
struct dfg_plan_folder;
struct dfg_faults;

/* How a graph is opened. */
struct dfg_graph_input {
	bool strict;        /* fields that this version does not know are DFG_DATA, else notes */
	bool thorough;      /* all detectable faults of a graph that cannot be opened are reported, else one */
	const char *output; /* the file that will be written: it must not be the program that is read; or NULL */
	const struct dfg_report *report; /* receives the notes about the file; NULL: nothing does */
};

/* Opens a graph of any format, or builds a program; "-" is stdin. Errors name the file. The caller closes the graph. */
DFG_MUST_CHECK struct dfg_err *dfg_graph_input_open(
	const char *path, const struct dfg_graph_input *input, struct dfg_graph_file *out_file);

/* Opens the graphs that programs import. */
extern const struct dfg_lang_graphs dfg_graph_imports;

/* Opens a plan. Faults of its transfers are added to `faults`, or are an error if that is NULL. */
DFG_MUST_CHECK struct dfg_err *dfg_graph_input_plan(
	const char *path, const struct dfg_graph_input *input, struct dfg_faults *faults, struct dfg_plan_folder *out_plan);

/*
 * Whether a file holds arrays, by content; for csv, which has no magic number, by suffix. A file that can be read only
 * once (stdin, a pipe) counts as a graph.
 */
DFG_MUST_CHECK struct dfg_err *dfg_holds_arrays(const char *path, bool *out_arrays);

/* Whether a program that tests `training` was built with it (1) or without (0), by its outputs; -1: unknown. */
int dfg_graph_training(const struct dfg_graph *graph);

/* Whether `dfg grad --loss` has added a training step to the graph. */
bool dfg_graph_has_loss(const struct dfg_graph *graph);
