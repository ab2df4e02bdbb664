#pragma once

#include "cmd/cmd.h"
#include "formats/graphdef.h"

/* The graph that a command reads, and the one that it writes: rows to share, and what they say done. */
extern const struct dfg_opt dfg_graph_in_options[];  /* --strict */
extern const struct dfg_opt dfg_graph_out_options[]; /* -o, --to, --external-data, --if-changed */

bool dfg_cmd_is_directory(const char *path);

/*
 * Whether a file holds arrays, told from content; of csv, which could be anything, from the suffix. What can be read
 * only once (stdin, a pipe) is taken for a graph.
 */
DFG_MUST_CHECK struct dfg_err *dfg_cmd_holds_arrays(const char *path, bool *out_arrays);

/* What -o, --to and --if-changed say; path is "-" where there is no -o. */
struct dfg_cmd_output {
	const char *path, *format; /* format is NULL where the path's suffix tells it */
	bool if_changed;
};
struct dfg_cmd_output dfg_cmd_output(void);

/*
 * DFG_USAGE where -o has a suffix, or --to a name, that no graph format has. Opening a graph checks this first. An output
 * that is the input is left to what is said of that.
 */
DFG_MUST_CHECK struct dfg_err *dfg_cmd_check_output(const char *input);

/*
 * DFG_USAGE where `path`, which `option` gives, has the suffix of arrays or of a graph: `what`, a text, would be in it.
 * NULL is no path.
 */
DFG_MUST_CHECK struct dfg_err *dfg_cmd_check_text(const char *option, const char *path, const char *what);

/* Whether a program that asks for `training` was built with or without it: 1 or 0, by its outputs; -1: nothing tells. */
int dfg_cmd_training(const struct dfg_graph *graph);

/* A graph of any format, or what a program builds; "-" is stdin. What it has to say is talked about; errors name the file. */
DFG_MUST_CHECK struct dfg_err *dfg_cmd_open_graph(const char *path, struct dfg_graph_file *out_file);

/* The same, telling of all faults that can be found in a graph that cannot be opened. */
DFG_MUST_CHECK struct dfg_err *dfg_cmd_open_thorough(const char *path, struct dfg_graph_file *out_file);

/* A plan; what it has to say is talked about. What is wrong with its transfers goes to faults, or, where that is NULL, is an error. */
struct dfg_plan_folder;
struct dfg_faults;
DFG_MUST_CHECK struct dfg_err *dfg_cmd_open_plan(
	const char *path, struct dfg_faults *faults, struct dfg_plan_folder *out_plan);

/* To -o, else to stdout, which must be no terminal for what is not text. */
DFG_MUST_CHECK struct dfg_err *dfg_cmd_save_graph(const struct dfg_graph *graph);

/* "a,b" given many times as one list of words, in the arena; *out_word is NULL where none was given. */
DFG_MUST_CHECK struct dfg_err *dfg_cmd_words(
	const struct dfg_words_list *list, struct dfg_arena *arena, const char ***out_word, uint32_t *out_count);

/* "fc1:0" as a tensor that the graph has. `what` says what it is for, in an error: "--of". */
DFG_MUST_CHECK struct dfg_err *dfg_cmd_tensor(
	const struct dfg_graph *graph, const char *name, const char *what, struct dfg_edge *out_edge);

/* What --fetch and --target name, for passes that may leave out the rest. */
struct dfg_keep;
DFG_MUST_CHECK struct dfg_err *dfg_cmd_kept(const struct dfg_graph *graph, const struct dfg_words_list *fetch,
	const struct dfg_words_list *target, struct dfg_arena *arena, struct dfg_keep *out_keep);
