#pragma once

#include "lib/graph/graph.h"

/* Words that a user gives, in order; not owned. Zero-initialised: empty. */
struct dfg_words_list {
	const char **word; /* NULL-terminated */
	size_t count, capacity;
};

/* Splits "a,b", given any number of times, into one list of words, in the arena; *out_word is NULL without words. */
DFG_MUST_CHECK struct dfg_err *dfg_words_split(
	const struct dfg_words_list *list, struct dfg_arena *arena, const char ***out_word, uint32_t *out_count);

/* Finds a tensor of the graph by name ("fc1:0"). `what` names the option in an error: "--of". */
DFG_MUST_CHECK struct dfg_err *dfg_find_tensor(
	const struct dfg_graph *graph, const char *name, const char *what, struct dfg_edge *out_edge);

/*
 * The nodes and tensors named by --fetch and --target, for passes that may remove all others. Allocated from the arena.
 */
struct dfg_keep;
DFG_MUST_CHECK struct dfg_err *dfg_find_kept(const struct dfg_graph *graph, const struct dfg_words_list *fetch,
	const struct dfg_words_list *target, struct dfg_arena *arena, struct dfg_keep *out_keep);
