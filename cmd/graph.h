#pragma once

#include "app/graph_input.h"
#include "cmd/cmd.h"

/*
 * Options of a command for the graph that it reads and the one that it writes: shared rows, and functions that apply
 * them.
 */
extern const struct dfg_opt dfg_graph_in_options[];  /* --strict */
extern const struct dfg_opt dfg_graph_out_options[]; /* -o, --to, --external-data, --if-changed */

/* Whether --strict is given. */
extern bool dfg_cmd_strict;

/* Values of -o, --to and --if-changed; path is "-" without -o. */
struct dfg_cmd_output {
	const char *path, *format; /* format is NULL if the suffix of the path decides */
	bool if_changed;
};
struct dfg_cmd_output dfg_cmd_output(void);

/*
 * DFG_USAGE if the suffix of -o, or --to, is not a graph format. Called before a graph is opened. An output that is
 * also the input is not checked here.
 */
DFG_MUST_CHECK struct dfg_err *dfg_cmd_check_output(const char *input);

/* --strict, -o, and a report on stderr. */
struct dfg_graph_input dfg_cmd_graph_input(void);

/* Opens a graph of any format, or builds a program; "-" is stdin. Prints notes about the file; errors name the file. */
DFG_MUST_CHECK struct dfg_err *dfg_cmd_open_graph(const char *path, struct dfg_graph_file *out_file);

/* The same, but reports all detectable faults of a graph that cannot be opened. */
DFG_MUST_CHECK struct dfg_err *dfg_cmd_open_thorough(const char *path, struct dfg_graph_file *out_file);

/*
 * Opens a plan and prints notes about it. Faults of its transfers are added to `faults`, or are an error if that is
 * NULL.
 */
DFG_MUST_CHECK struct dfg_err *dfg_cmd_open_plan(
	const char *path, struct dfg_faults *faults, struct dfg_plan_folder *out_plan);

/* Writes the graph to -o, else to stdout, which must not be a terminal for a binary format. */
DFG_MUST_CHECK struct dfg_err *dfg_cmd_save_graph(const struct dfg_graph *graph);
