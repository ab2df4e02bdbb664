#include "lib/lang/graph_import_private.h"

#include "lib/lang/eval_private.h"
#include "lib/lang/materialise_private.h"
#include "lib/lang/number_private.h"
#include "lib/lang/program_private.h"
#include "lib/lang/region_private.h"
#include "lib/lang/statement_private.h"

#include "lib/base/index.h"
#include "lib/base/plural.h"
#include "lib/graph/initialisers.h"
#include "lib/graph/loops.h"
#include "lib/graph/table_entries.h"

#include <ctype.h>
#include <string.h>

enum { LISTED = 5 }; /* the most names that a message lists */

static struct dfg_err *no_memory(void)
{
	return dfg_no_memory("an imported graph");
}

static bool is_input(const struct dfg_node *node)
{
	return dfg_node_role(node) == DFG_PLACEHOLDER || dfg_node_role(node) == DFG_PLACEHOLDER_DEFAULT;
}

/* The inputs: those that a program declared, and otherwise all placeholders. */
static struct dfg_err *list_inputs(struct dfg_eval *eval, struct dfg_imported_graph *g)
{
	const struct dfg_graph *graph = g->file.graph;
	static const struct dfg_graph_mark input = {"_dfg_input", "_dfg_idle_input", true};
	DFG_TRY(dfg_graph_list_marked(eval, g, &input, eval->training, &g->n_input, &g->input));
	if (g->n_input)
		return NULL;
	for (uint32_t i = 0; i < graph->count; i++)
		g->n_input += is_input(&graph->node[i]);
	if (!(g->input = dfg_arena_zeros(eval->arena, g->n_input, sizeof *g->input)))
		return no_memory();
	uint32_t n = 0;
	for (uint32_t i = 0; i < graph->count; i++)
		if (is_input(&graph->node[i]))
			g->input[n++] = i;
	return NULL;
}

/* The argument's name: that of the node, with _ for each character that a name cannot have. */
static struct dfg_err *name_formals(struct dfg_eval *eval, struct dfg_imported_graph *g)
{
	if (!(g->formal = dfg_arena_zeros(eval->arena, g->n_input, sizeof *g->formal)))
		return no_memory();
	for (uint32_t i = 0; i < g->n_input; i++) {
		const char *name = g->file.graph->node[g->input[i]].name;
		char *formal = dfg_arena_copy(eval->arena, name, strlen(name));
		if (!formal)
			return no_memory();
		for (char *c = formal; *c; c++)
			if (!isalnum((unsigned char)*c))
				*c = '_';
		g->formal[i] = formal;
		g->input_number[g->input[i]] = i;
	}
	return NULL;
}

/* Counts the frames around each node; the graph is verified, so all inputs of a node are in the same ones. */
static void count_frames(struct dfg_imported_graph *g)
{
	const struct dfg_graph *graph = g->file.graph;
	for (uint32_t i = 0; i < graph->count; i++) {
		uint32_t n = g->order[i], most = 0;
		const struct dfg_node *node = &graph->node[n];
		for (uint32_t e = 0; e < node->n_in + node->n_control; e++) {
			uint32_t from = g->frames[node->in[e].node];
			most = g->rank[node->in[e].node] < i && from > most ? from : most;
		}
		bool leaves = dfg_node_role(node) == DFG_EXIT && most;
		g->frames[n] = dfg_node_role(node) == DFG_ENTER ? most + 1 : most - leaves;
	}
}

/* Entries that depend on an input, such as the name of a file, are not those of every program. */
static struct dfg_err *drop_fed_entries(struct dfg_eval *eval, struct dfg_imported_graph *g)
{
	const struct dfg_graph *graph = g->file.graph;
	bool *fed = dfg_arena_zeros(eval->arena, graph->count, sizeof *fed);
	if (!fed)
		return no_memory();
	for (uint32_t i = 0; i < graph->count; i++) {
		const struct dfg_node *node = &graph->node[g->order[i]];
		fed[g->order[i]] = dfg_node_role(node) == DFG_PLACEHOLDER;
		for (uint32_t e = 0; e < node->n_in + node->n_control; e++)
			fed[g->order[i]] |= fed[node->in[e].node];
	}
	for (uint32_t n = 0; n < graph->count; n++)
		if (g->entries[n] != DFG_NONE && fed[g->entries[n]])
			g->entries[n] = DFG_NONE;
	return NULL;
}

static struct dfg_err *sort(struct dfg_eval *eval, struct dfg_imported_graph *g)
{
	struct dfg_arena scratch = {0};
	uint32_t count;
	struct dfg_err *err = dfg_graph_order(g->file.graph, &scratch, g->order, &count);
	dfg_arena_release(&scratch);
	DFG_TRY(err);
	if (count < g->file.graph->count)
		return DFG_ERR(DFG_DATA, "the graph has a cycle that is not a loop; 'dfg check' shows it");
	for (uint32_t i = 0; i < count; i++)
		g->rank[g->order[i]] = i;
	count_frames(g);
	DFG_TRY(dfg_initialisers_find(g->file.graph, eval->arena, &g->assign));
	DFG_TRY(dfg_table_entries_find(g->file.graph, eval->arena, &g->entries));
	return g->entries ? drop_fed_entries(eval, g) : NULL;
}

static struct dfg_err *prepare(struct dfg_eval *eval, struct dfg_imported_graph *g)
{
	size_t count = g->file.graph->count;
	uint32_t **const table[] = {&g->order, &g->rank, &g->frames, &g->input_number, &g->shared};
	for (size_t i = 0; i < sizeof table / sizeof *table; i++)
		if (!(*table[i] = dfg_arena_zeros(eval->arena, count, sizeof(uint32_t))))
			return no_memory();
	for (size_t i = 0; i < count; i++)
		g->input_number[i] = g->shared[i] = DFG_NONE;
	DFG_TRY(sort(eval, g));
	DFG_TRY(list_inputs(eval, g));
	DFG_TRY(name_formals(eval, g));
	return dfg_graph_list_results(eval, g);
}

struct dfg_err *dfg_graph_import(
	struct dfg_eval *eval, const char *path, const char *name, struct dfg_imported_graph **out_graph)
{
	const struct dfg_lang_options *options = eval->options;
	struct dfg_imported_graph *g = dfg_arena_zeros(eval->arena, 1, sizeof *g);
	*out_graph = NULL;
	if (!options || !options->graphs)
		return NULL;
	if (!g)
		return no_memory();
	DFG_TRY(options->graphs->open(path, options, eval->training, &g->file));
	if (!g->file.graph)
		return NULL;
	g->path = path;
	g->older = eval->program->graphs;
	eval->program->graphs = g;
	if (!name)
		return DFG_ERR(DFG_DATA, "'%s' is a graph, which requires a name: import \"%s\" as net", path, path);
	void (*tell)(void *arg, const char *path) = options->read;
	if (tell)
		tell(options->read_arg, path);
	DFG_TRY(dfg_counter_next(eval, &eval->program->graph_names, name, &g->name));
	*out_graph = g;
	return dfg_err_note(prepare(eval, g), "%s", path);
}

struct dfg_err *dfg_graph_imports_lend(struct dfg_eval *eval, struct dfg_arena *arena)
{
	for (struct dfg_imported_graph *g = eval->program->graphs; g; g = g->older)
		if (g->is_borrowed)
			DFG_TRY(eval->options->graphs->lend(&g->file, arena));
	return NULL;
}

void dfg_graph_imports_close(struct dfg_eval *eval)
{
	for (struct dfg_imported_graph *g = eval->program->graphs; g; g = g->older)
		eval->options->graphs->close(&g->file);
	dfg_counter_release(&eval->program->graph_names);
}

/* The number of the input that an argument is for. *by_position counts those without a name. */
static struct dfg_err *find_input(
	const struct dfg_imported_graph *g, const struct dfg_argument *argument, uint32_t *by_position, uint32_t *out_input)
{
	struct dfg_nearest nearest = {.word = argument->name};
	*out_input = DFG_NONE;
	if (!argument->name && *by_position >= g->n_input)
		return DFG_ERR(DFG_DATA, "%s has only %u input%s", g->path, g->n_input, dfg_plural(g->n_input));
	if (!argument->name) {
		*out_input = (*by_position)++;
		return NULL;
	}
	for (uint32_t i = 0; i < g->n_input; i++) {
		dfg_nearest_offer(&nearest, g->formal[i]);
		if (strcmp(g->formal[i], argument->name) != 0)
			continue;
		if (*out_input != DFG_NONE)
			return DFG_ERR(DFG_DATA, "'%s' may be input '%s' or '%s': give the inputs by position", argument->name,
				g->file.graph->node[g->input[*out_input]].name, g->file.graph->node[g->input[i]].name);
		*out_input = i;
	}
	if (*out_input != DFG_NONE)
		return NULL;
	return DFG_ERR(DFG_DATA, "%s has no input '%s'%s%s%s", g->path, argument->name,
		nearest.best ? "; did you mean '" : "", nearest.best ? nearest.best : "", nearest.best ? "'?" : "");
}

static struct dfg_err *take_argument(struct dfg_eval *eval, const struct dfg_imported_graph *g, uint32_t input,
	const struct dfg_datum *value, struct dfg_edge *out_edge)
{
	const struct dfg_edge of = {g->input[input], 0};
	const struct dfg_inferred *wanted = dfg_facts_of(g->file.facts, of);
	DFG_TRY(dfg_to_edge(eval, value, wanted->dtype, out_edge));
	const struct dfg_inferred *given = dfg_eval_fact(eval, *out_edge);
	if (given->dtype == wanted->dtype && dfg_shape_fits(&given->shape, &wanted->shape))
		return NULL;
	return DFG_ERR(DFG_DATA, "input '%s' of %s is %s, but the value is %s", g->file.graph->node[of.node].name, g->path,
		dfg_type_words(wanted->dtype, &wanted->shape).s, dfg_type_words(given->dtype, &given->shape).s);
}

static struct dfg_err *take_arguments(struct dfg_eval *eval, const struct dfg_imported_graph *g,
	const struct dfg_call_site *site, uint32_t first, struct dfg_edge *argument)
{
	uint32_t by_position = 0, input;
	for (uint32_t i = 0; i < g->n_input; i++)
		argument[i] = (struct dfg_edge){DFG_NONE, 0};
	for (uint32_t i = first; i < site->n; i++) {
		const struct dfg_argument *given = &site->argument[i];
		if (dfg_graph_is_switch(g, given))
			continue;
		struct dfg_err *err = find_input(g, given, &by_position, &input);
		if (!err && argument[input].node != DFG_NONE)
			err = DFG_ERR(DFG_DATA, "input '%s' is given twice", g->file.graph->node[g->input[input]].name);
		if (!err)
			err = take_argument(eval, g, input, &given->value, &argument[input]);
		DFG_TRY(dfg_eval_at(eval, given->tree, err));
	}
	return NULL;
}

/* The application of the variant to these arguments in the present region, which is made if it does not exist. */
static struct dfg_err *application_of(struct dfg_eval *eval, struct dfg_imported_graph *g,
	const struct dfg_call_site *site, uint32_t first, bool training, struct dfg_application **out_application)
{
	size_t count = g->file.graph->count;
	struct dfg_application *made = dfg_arena_zeros(eval->arena, 1, sizeof *made);
	if (!made || !(made->argument = dfg_arena_zeros(eval->arena, g->n_input, sizeof *made->argument)))
		return no_memory();
	DFG_TRY(take_arguments(eval, g, site, first, made->argument));
	for (struct dfg_application *a = g->applications; a; a = a->older) {
		bool same = a->region == eval->region && a->training == training;
		for (uint32_t i = 0; same && i < g->n_input; i++)
			same = dfg_edge_same(a->argument[i], made->argument[i]);
		if (same) {
			*out_application = g->latest = a;
			return NULL;
		}
	}
	made->scope = g->name;
	if (g->applications)
		DFG_TRY(dfg_counter_next(eval, &eval->program->graph_names, g->name, &made->scope));
	if (!(made->copy = dfg_arena_zeros(eval->arena, count, sizeof *made->copy)))
		return no_memory();
	for (size_t i = 0; i < count; i++)
		made->copy[i] = DFG_NONE;
	made->region = eval->region;
	made->training = training;
	made->older = g->applications;
	g->applications = g->latest = *out_application = made;
	return NULL;
}

static struct dfg_err *no_outputs(struct dfg_eval *eval, const struct dfg_imported_graph *g)
{
	const struct dfg_graph *graph = g->file.graph;
	bool *read = dfg_arena_zeros(eval->arena, graph->count, sizeof *read);
	const char *ends = "";
	uint32_t n = 0;
	if (!read)
		return no_memory();
	for (uint32_t i = 0; i < graph->count; i++)
		for (uint32_t e = 0; e < graph->node[i].n_in + graph->node[i].n_control; e++)
			read[graph->node[i].in[e].node] = true;
	for (uint32_t i = 0; i < graph->count && n <= LISTED; i++) {
		if (read[i] || !dfg_facts_outputs(g->file.facts, i))
			continue;
		ends = dfg_arena_print(
			eval->arena, "%s%s%s", ends, n ? ", " : "; no node reads ", n < LISTED ? graph->node[i].name : "...");
		n++;
		if (!ends)
			return no_memory();
	}
	return DFG_ERR(DFG_DATA, "%s declares no outputs: choose a tensor with .node(\"NAME\", inputs)%s", g->path, ends);
}

/* The writes of a graph that was built for training, such as those of moving averages, become part of the program's. */
static struct dfg_err *copy_updates(
	struct dfg_eval *eval, struct dfg_imported_graph *g, struct dfg_application *application)
{
	const struct dfg_graph_results *results = &g->results[application->training];
	if (application->is_updating || !results->n_update)
		return NULL;
	for (const struct dfg_application *a = g->applications; a; a = a->older)
		if (a->is_updating)
			return DFG_ERR(DFG_DATA, "%s is applied again, but its training update '%s' may run only once per step: %s",
				g->path, dfg_graph_node_name(eval, g, results->update[0]),
				g->file.has_variants ? "apply it with training = false"
									 : "import the graph as built without -D training=true");
	application->is_updating = true;
	for (uint32_t i = 0; i < results->n_update; i++) {
		struct dfg_edge edge;
		DFG_TRY(dfg_graph_copy(eval, g, application, (struct dfg_edge){results->update[i], 0}, &edge));
		DFG_TRY(dfg_eval_effect(eval, edge.node));
	}
	return NULL;
}

struct dfg_err *dfg_graph_apply(struct dfg_eval *eval, struct dfg_imported_graph *graph,
	const struct dfg_call_site *site, struct dfg_datum *out_datum)
{
	struct dfg_application *application;
	bool training;
	DFG_TRY(dfg_graph_choose_variant(eval, graph, site, &training));
	const struct dfg_graph_results *results = &graph->results[training];
	if (!results->n_output)
		return no_outputs(eval, graph);
	DFG_TRY(application_of(eval, graph, site, 0, training, &application));
	DFG_TRY(copy_updates(eval, graph, application));
	DFG_TRY(dfg_list_new(eval, DFG_DATUM_TUPLE, results->n_output, out_datum));
	DFG_TRY(dfg_list_from(eval, &(struct dfg_list_origin){.port = results->port}, out_datum));
	for (uint32_t i = 0; i < results->n_output; i++) {
		struct dfg_edge edge;
		DFG_TRY(dfg_graph_copy(eval, graph, application, (struct dfg_edge){results->output[i], 0}, &edge));
		out_datum->list.item[i] = DFG_TENSOR(edge);
	}
	if (results->n_output == 1)
		*out_datum = out_datum->list.item[0];
	return NULL;
}

struct dfg_err *dfg_graph_node(struct dfg_eval *eval, struct dfg_imported_graph *graph,
	const struct dfg_call_site *site, struct dfg_datum *out_datum)
{
	struct dfg_application *application = graph->latest;
	const struct dfg_datum *name = site->n ? &site->argument[0].value : NULL;
	struct dfg_edge of, edge;
	bool training;
	if (!name || site->argument[0].name || name->kind != DFG_DATUM_STRING)
		return DFG_ERR(
			DFG_DATA, ".node takes the name of a tensor of %s, then the inputs: .node(\"h\", x)", graph->path);
	const char *tensor = dfg_arena_copy(eval->arena, name->string.s, name->string.length);
	if (!tensor)
		return no_memory();
	if (site->n > 1 || !application)
		DFG_TRY(dfg_graph_choose_variant(eval, graph, site, &training));
	else
		training = application->training;
	DFG_TRY(dfg_graph_find_tensor(eval, graph, training, tensor, &of));
	if (!graph->file.graph->node[of.node].op)
		return dfg_err_note(dfg_op_missing(graph->file.graph->node[of.node].op_name), "%s: node '%s'", graph->path,
			graph->file.graph->node[of.node].name);
	if (of.port < 0 || (uint32_t)of.port >= dfg_facts_outputs(graph->file.facts, of.node))
		return DFG_ERR(DFG_DATA, "%s: there is no tensor '%s': node '%s' has %u outputs", graph->path, tensor,
			graph->file.graph->node[of.node].name, dfg_facts_outputs(graph->file.facts, of.node));
	if (site->n > 1)
		DFG_TRY(application_of(eval, graph, site, 1, training, &application));
	if (!application && graph->n_input)
		return DFG_ERR(DFG_DATA, "%s is not applied yet: give the inputs, as in .node(\"%s\", x)", graph->path, tensor);
	if (!application)
		DFG_TRY(application_of(eval, graph, site, 1, training, &application));
	DFG_TRY(dfg_graph_copy(eval, graph, application, of, &edge));
	*out_datum = DFG_TENSOR(edge);
	return NULL;
}
