#include "lib/lang/graph_import_private.h"

#include "lib/lang/eval_private.h"
#include "lib/lang/program_private.h"

#include <stdlib.h>
#include <string.h>

/* The variants of an imported graph: what each of them gives, and the argument by which a call chooses one. */

/* Node numbers with the number by which they were declared. */
struct declared {
	int64_t at;
	uint32_t node;
};

static int by_declaration(const void *a, const void *b)
{
	const struct declared *x = a, *y = b;
	if (x->at != y->at)
		return x->at < y->at ? -1 : 1;
	return x->node < y->node ? -1 : x->node > y->node;
}

/* The variant that node n belongs to: 1 for training, 0 for inference, -1 for all that the graph has. */
static int variant_of(const struct dfg_imported_graph *g, uint32_t n)
{
	int64_t training;
	bool is_of_one = g->file.has_variants && dfg_node_mark(&g->file.graph->node[n], "_dfg_variant", &training);
	return is_of_one ? training != 0 : -1;
}

/* Whether the node has the mark in a variant; a node of the variant that is not open has it in its idle form. */
static bool is_marked(
	const struct dfg_imported_graph *g, uint32_t n, const struct dfg_graph_mark *mark, bool training, int64_t *out_at)
{
	const struct dfg_node *node = &g->file.graph->node[n];
	const int variant = variant_of(g, n);
	*out_at = 0;
	if (dfg_node_mark(node, mark->used, out_at))
		return mark->of_both || variant < 0 || variant == training;
	return dfg_node_mark(node, mark->idle, out_at) && (mark->of_both || variant == training);
}

struct dfg_err *dfg_graph_list_marked(struct dfg_eval *eval, const struct dfg_imported_graph *g,
	const struct dfg_graph_mark *mark, bool training, uint32_t *out_n, uint32_t **out_node)
{
	const struct dfg_graph *graph = g->file.graph;
	uint32_t n = 0;
	int64_t at;
	for (uint32_t i = 0; i < graph->count; i++)
		n += is_marked(g, i, mark, training, &at);
	struct declared *found = dfg_arena_zeros(eval->arena, n, sizeof *found);
	*out_node = dfg_arena_zeros(eval->arena, n, sizeof **out_node);
	if (!found || !*out_node)
		return dfg_no_memory("an imported graph");
	*out_n = n;
	n = 0;
	for (uint32_t i = 0; i < graph->count; i++)
		if (is_marked(g, i, mark, training, &at))
			found[n++] = (struct declared){at, i};
	if (n)
		qsort(found, n, sizeof *found, by_declaration);
	for (uint32_t i = 0; i < n; i++)
		(*out_node)[i] = found[i].node;
	return NULL;
}

const char *dfg_graph_node_name(const struct dfg_eval *eval, const struct dfg_imported_graph *g, uint32_t n)
{
	const char *name = g->file.graph->node[n].name, *prefix = g->file.idle_prefix;
	bool is_idle = variant_of(g, n) == !eval->training && !strncmp(name, prefix, strlen(prefix));
	return name + (is_idle ? strlen(prefix) : 0);
}

static struct dfg_err *name_outputs(
	struct dfg_eval *eval, const struct dfg_imported_graph *g, struct dfg_graph_results *results)
{
	if (!(results->port = dfg_arena_zeros(eval->arena, results->n_output, sizeof *results->port)))
		return dfg_no_memory("an imported graph");
	for (uint32_t i = 0; i < results->n_output; i++) {
		const char *name = dfg_graph_node_name(eval, g, results->output[i]);
		size_t length = strlen(name), most = sizeof results->port[i].name - 1;
		memcpy(results->port[i].name, name, length < most ? length : most);
	}
	return NULL;
}

struct dfg_err *dfg_graph_list_results(struct dfg_eval *eval, struct dfg_imported_graph *g)
{
	static const struct dfg_graph_mark output = {"_dfg_output", "_dfg_idle_output", false};
	static const struct dfg_graph_mark update = {"_dfg_update", "_dfg_idle_update", false};
	for (int training = 0; training < 2; training++) {
		struct dfg_graph_results *results = &g->results[training];
		DFG_TRY(dfg_graph_list_marked(eval, g, &output, training, &results->n_output, &results->output));
		DFG_TRY(dfg_graph_list_marked(eval, g, &update, training, &results->n_update, &results->update));
		DFG_TRY(name_outputs(eval, g, results));
	}
	return NULL;
}

bool dfg_graph_is_switch(const struct dfg_imported_graph *g, const struct dfg_argument *argument)
{
	if (!argument->name || strcmp(argument->name, "training") != 0)
		return false;
	for (uint32_t i = 0; i < g->n_input; i++)
		if (!strcmp(g->formal[i], "training"))
			return false;
	return true;
}

/* A graph of one variant takes no other value than its own. */
static struct dfg_err *check_switch(const struct dfg_imported_graph *g, bool training)
{
	const struct dfg_graph *graph = g->file.graph;
	int64_t built = -1;
	for (uint32_t n = 0; n < graph->count && !dfg_node_mark(&graph->node[n], "_dfg_training", &built); n++)
		;
	if (g->file.has_variants || built == training)
		return NULL;
	if (built < 0)
		return DFG_ERR(DFG_DATA, "%s does not depend on `training`: leave the argument out", g->path);
	return DFG_ERR(DFG_DATA, "%s has no variant for %s: build it without -D training=%s", g->path,
		training ? "training" : "inference", training ? "false" : "true");
}

struct dfg_err *dfg_graph_choose_variant(
	struct dfg_eval *eval, const struct dfg_imported_graph *g, const struct dfg_call_site *site, bool *out_training)
{
	const struct dfg_argument *given = NULL;
	*out_training = eval->training;
	for (uint32_t i = 0; i < site->n; i++) {
		if (!dfg_graph_is_switch(g, &site->argument[i]))
			continue;
		if (given)
			return dfg_eval_at(eval, site->argument[i].tree, DFG_ERR(DFG_DATA, "argument 'training' is given twice"));
		given = &site->argument[i];
	}
	if (!given) {
		eval->program->asks_training |= g->file.has_variants;
		return NULL;
	}
	if (given->value.kind != DFG_DATUM_BOOL)
		return dfg_eval_at(eval, given->tree,
			DFG_ERR(DFG_DATA, "argument 'training' is true or false, known while the program is built, not %s",
				dfg_datum_words(eval, &given->value)));
	*out_training = given->value.truth;
	return dfg_eval_at(eval, given->tree, check_switch(g, *out_training));
}

struct dfg_err *dfg_graph_find_tensor(struct dfg_eval *eval, const struct dfg_imported_graph *g, bool training,
	const char *tensor, struct dfg_edge *out_edge)
{
	const struct dfg_graph *graph = g->file.graph;
	const int length = (int)strcspn(tensor, ":");
	const char *node = dfg_arena_print(eval->arena, "%s%.*s", g->file.idle_prefix, length, tensor);
	const char *whole = dfg_arena_print(eval->arena, "%s%s", g->file.idle_prefix, tensor);
	if (!node || !whole)
		return dfg_no_memory("an imported graph");
	const uint32_t n = training == eval->training ? DFG_NONE : dfg_graph_find(graph, node);
	const bool is_idle = n != DFG_NONE && variant_of(g, n) == training;
	return dfg_err_note(dfg_graph_edge(graph, is_idle ? whole : tensor, out_edge), "%s", g->path);
}
