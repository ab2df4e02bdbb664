#pragma once

#include "cmd/cmd.h"
#include "formats/graphdef.h"

/*
 * Options of a command for the graph that it reads and the one that it writes: shared rows, and functions that apply
 * them.
 */
extern const struct dfg_opt dfg_graph_in_options[];  /* --strict */
extern const struct dfg_opt dfg_graph_out_options[]; /* -o, --to, --external-data, --if-changed */

/* Whether --strict is given. */
extern bool dfg_cmd_strict;

/*
 * Whether a file holds arrays, by content; for csv, which has no magic number, by suffix. A file that can be read only
 * once (stdin, a pipe) counts as a graph.
 */
DFG_MUST_CHECK struct dfg_err *dfg_cmd_holds_arrays(const char *path, bool *out_arrays);

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

/*
 * DFG_USAGE if `path`, the value of `option`, has a suffix of arrays or graphs although it would hold text (`what`).
 * path may be NULL.
 */
DFG_MUST_CHECK struct dfg_err *dfg_cmd_check_text(const char *option, const char *path, const char *what);

/* Whether a program that tests `training` was built with it (1) or without (0), by its outputs; -1: unknown. */
int dfg_cmd_training(const struct dfg_graph *graph);

/* Opens a graph of any format, or builds a program; "-" is stdin. Prints notes about the file; errors name the file. */
DFG_MUST_CHECK struct dfg_err *dfg_cmd_open_graph(const char *path, struct dfg_graph_file *out_file);

/* The same, but reports all detectable faults of a graph that cannot be opened. */
DFG_MUST_CHECK struct dfg_err *dfg_cmd_open_thorough(const char *path, struct dfg_graph_file *out_file);

/*
 * Opens a plan and prints notes about it. Faults of its transfers are added to `faults`, or are an error if that is
 * NULL.
 */
struct dfg_plan_folder;
struct dfg_faults;
DFG_MUST_CHECK struct dfg_err *dfg_cmd_open_plan(
	const char *path, struct dfg_faults *faults, struct dfg_plan_folder *out_plan);

/* Writes the graph to -o, else to stdout, which must not be a terminal for a binary format. */
DFG_MUST_CHECK struct dfg_err *dfg_cmd_save_graph(const struct dfg_graph *graph);

/* Splits "a,b", given any number of times, into one list of words, in the arena; *out_word is NULL without words. */
DFG_MUST_CHECK struct dfg_err *dfg_cmd_words(
	const struct dfg_words_list *list, struct dfg_arena *arena, const char ***out_word, uint32_t *out_count);

/* Finds a tensor of the graph by name ("fc1:0"). `what` names the option in an error: "--of". */
DFG_MUST_CHECK struct dfg_err *dfg_cmd_tensor(
	const struct dfg_graph *graph, const char *name, const char *what, struct dfg_edge *out_edge);

/* The nodes and tensors named by --fetch and --target, for passes that may remove all others. */
struct dfg_keep;
DFG_MUST_CHECK struct dfg_err *dfg_cmd_kept(const struct dfg_graph *graph, const struct dfg_words_list *fetch,
	const struct dfg_words_list *target, struct dfg_arena *arena, struct dfg_keep *out_keep);
