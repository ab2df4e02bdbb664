#include "app/names.h"

#include "lib/pass/pass.h"

#include <string.h>

static size_t count_words(const struct dfg_words_list *list)
{
	size_t count = 0;
	for (size_t i = 0; i < list->count; i++) {
		count++;
		for (const char *s = list->word[i]; *s; s++)
			count += *s == ',';
	}
	return count;
}

struct dfg_err *dfg_words_split(
	const struct dfg_words_list *list, struct dfg_arena *arena, const char ***out_word, uint32_t *out_count)
{
	size_t capacity = count_words(list);
	*out_count = 0;
	*out_word = NULL;
	if (!capacity)
		return NULL;
	if (!(*out_word = dfg_arena_zeros(arena, capacity, sizeof **out_word)))
		return DFG_ERR(DFG_MEMORY, "no memory for %zu names", capacity);
	for (size_t i = 0; i < list->count; i++)
		for (const char *s = list->word[i]; *s; s += *s == ',') {
			size_t length = strcspn(s, ",");
			if (!length || (s[length] && !s[length + 1]))
				return DFG_ERR(DFG_USAGE, "'%s' has an empty name", list->word[i]);
			if (!((*out_word)[(*out_count)++] = dfg_arena_copy(arena, s, length)))
				return dfg_no_memory("a name");
			s += length;
		}
	return NULL;
}

struct dfg_err *dfg_find_tensor(
	const struct dfg_graph *graph, const char *name, const char *what, struct dfg_edge *out_edge)
{
	struct dfg_err *err = dfg_graph_edge(graph, name, out_edge);
	if (!err && out_edge->port == DFG_CONTROL)
		err = DFG_ERR(DFG_DATA, "'%s' is a control input, expected a tensor: NODE or NODE:NUMBER", name);
	return dfg_err_note(err, "%s", what);
}

struct dfg_err *dfg_find_kept(const struct dfg_graph *graph, const struct dfg_words_list *fetch,
	const struct dfg_words_list *target, struct dfg_arena *arena, struct dfg_keep *out_keep)
{
	const char **word;
	uint32_t count;
	*out_keep = (struct dfg_keep){.n_fetch = 0};
	DFG_TRY(dfg_words_split(fetch, arena, &word, &count));
	if (!(out_keep->fetch = dfg_arena_zeros(arena, (size_t)count + 1, sizeof *out_keep->fetch)))
		return DFG_ERR(DFG_MEMORY, "no memory for %u tensors", count);
	for (; out_keep->n_fetch < count; out_keep->n_fetch++)
		DFG_TRY(dfg_find_tensor(graph, word[out_keep->n_fetch], "--fetch", &out_keep->fetch[out_keep->n_fetch]));
	DFG_TRY(dfg_words_split(target, arena, &word, &count));
	if (!(out_keep->target = dfg_arena_zeros(arena, (size_t)count + 1, sizeof *out_keep->target)))
		return DFG_ERR(DFG_MEMORY, "no memory for %u nodes", count);
	for (; out_keep->n_target < count; out_keep->n_target++) {
		struct dfg_edge edge;
		DFG_TRY(dfg_find_tensor(graph, word[out_keep->n_target], "--target", &edge));
		out_keep->target[out_keep->n_target] = edge.node;
	}
	return NULL;
}
