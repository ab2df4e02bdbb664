#include "app/compare_runs.h"

#include "app/made_up.h"
#include "app/observed.h"
#include "app/run_private.h"

#include <string.h>

/* One of the two graphs. */
struct side {
	struct dfg_run_options options; /* those of the user, with the tensors to fetch */
	struct dfg_run run;
	struct dfg_observed observed;
	struct dfg_arrays values;
};

struct comparison {
	const struct dfg_compared_runs *runs;
	struct side side[2];
	struct dfg_words_list results; /* names, in the arena */
	struct dfg_arrays inputs;      /* values of --feed, and those made up */
	struct dfg_arena *arena;
};

static bool has_input(const struct dfg_arrays *inputs, const char *name)
{
	return dfg_arrays_find(inputs, name) != NULL;
}

static struct dfg_err *add_word(struct comparison *in, struct dfg_words_list *list, const char *word)
{
	if (list->count + 1 >= list->capacity) {
		const size_t capacity = list->capacity ? 2 * list->capacity : 64;
		const char **more = dfg_arena_zeros(in->arena, capacity, sizeof *more);
		if (!more)
			return dfg_no_memory("the names of tensors");
		if (list->count)
			memcpy(more, list->word, list->count * sizeof *more);
		list->word = more;
		list->capacity = capacity;
	}
	list->word[list->count++] = word;
	list->word[list->count] = NULL;
	return NULL;
}

/* The names of a graph end with it. */
static struct dfg_err *add_name(
	struct comparison *in, const struct dfg_graph *graph, struct dfg_edge edge, struct dfg_words_list *list)
{
	const char *name = dfg_graph_tensor_name(graph, edge);
	if (name)
		name = dfg_arena_copy(in->arena, name, strlen(name));
	return name ? add_word(in, list, name) : dfg_no_memory("the names of tensors");
}

static void close_side(struct side *side)
{
	dfg_observed_release(&side->observed);
	dfg_run_close(&side->run);
	dfg_arrays_release(&side->values);
	side->values = (struct dfg_arrays){0};
}

/* Sets the variables, unless there are none: the other graph may have them as constants. */
static struct dfg_err *load_variables(struct comparison *in, struct side *side)
{
	side->options.load = in->runs->options->load;
	side->options.init = in->runs->options->init;
	return side->run.variables.count ? dfg_run_load(&side->run) : NULL;
}

/* Opens a graph with these fetches, none of which it may lack. */
static struct dfg_err *open_side(struct comparison *in, int which, const struct dfg_words_list *fetch)
{
	struct side *side = &in->side[which];
	side->options = *in->runs->options;
	side->options.fetch = *fetch;
	side->options.load = (struct dfg_words_list){0};
	side->options.init = NULL;
	if (which || in->inputs.count)
		side->options.feed = (struct dfg_words_list){0}; /* they are among the inputs now */
	side->run = (struct dfg_run){.options = &side->options, .execution = in->runs->execution, .input = in->runs->input};
	DFG_TRY(dfg_run_open(in->runs->path[which], NULL, &side->run));
	return load_variables(in, side);
}

/* Whether something reads an output of each node. */
static struct dfg_err *find_read(const struct dfg_graph *graph, struct dfg_arena *arena, bool **out_read)
{
	bool *read = *out_read = dfg_arena_zeros(arena, graph->count, sizeof *read);
	if (!read)
		return dfg_no_memory("the results");
	for (uint32_t n = 0; n < graph->count; n++)
		for (uint32_t e = 0; e < graph->node[n].n_in + graph->node[n].n_control; e++)
			read[graph->node[n].in[e].node] = true;
	return NULL;
}

/* The results of a graph that declares none: what nothing reads, outside loops and branches. */
static struct dfg_err *add_unread(struct comparison *in, const struct dfg_model *model)
{
	const struct dfg_graph *graph = &model->file.graph;
	struct dfg_observed observed = {0};
	struct dfg_edges all = {.edge = dfg_arena_zeros(in->arena, graph->count, sizeof *all.edge)};
	bool *read, has;
	DFG_TRY(find_read(graph, in->arena, &read));
	if (!all.edge)
		return dfg_no_memory("the results");
	for (uint32_t n = 0; n < graph->count; n++)
		if (!read[n])
			all.edge[all.count++] = (struct dfg_edge){n, 0};
	struct dfg_err *err = dfg_observed_find(model, &all, &observed);
	for (uint32_t i = 0; !err && i < all.count; i++) {
		err = dfg_observed_has(&observed, all.edge[i], &has);
		if (!err && has && dfg_node_role(&graph->node[all.edge[i].node]) != DFG_PLACEHOLDER)
			err = add_name(in, graph, all.edge[i], &in->results);
	}
	dfg_observed_release(&observed);
	return err;
}

static struct dfg_err *add_declared(struct comparison *in, const struct dfg_model *model)
{
	const struct dfg_graph *graph = &model->file.graph;
	for (uint32_t n = 0; n < graph->count; n++)
		if (dfg_node_mark(&graph->node[n], "_dfg_output", NULL))
			DFG_TRY(add_name(in, graph, (struct dfg_edge){n, 0}, &in->results));
	return NULL;
}

static struct dfg_err *add_results(struct comparison *in, const struct dfg_model *model)
{
	DFG_TRY(add_declared(in, model));
	if (!in->results.count)
		DFG_TRY(add_unread(in, model));
	return in->results.count ? NULL : DFG_ERR(DFG_DATA, "%s has no results: name some with --fetch", in->runs->path[0]);
}

static struct dfg_err *check_init(const struct comparison *in, const struct dfg_model *model)
{
	const char *init = in->runs->options->init;
	uint32_t node;
	return init ? dfg_err_note(dfg_model_node(model, init, &node), "--init %s", init) : NULL;
}

/* Finds the names of the results before a run of the first graph is opened, because a run requires them. */
static struct dfg_err *find_results(struct comparison *in)
{
	struct dfg_model model = {.session = NULL};
	struct dfg_session_options session;
	const char **word;
	uint32_t count;
	DFG_TRY(dfg_words_split(&in->runs->options->fetch, in->arena, &word, &count));
	for (uint32_t i = 0; i < count; i++)
		DFG_TRY(add_word(in, &in->results, word[i]));
	if (count && !in->runs->options->init)
		return NULL;
	DFG_TRY(dfg_execution_session(in->runs->execution, &session));
	DFG_TRY(dfg_model_open(in->runs->path[0], &in->runs->input, &session, &model));
	struct dfg_err *err = check_init(in, &model);
	if (!err && !count)
		err = add_results(in, &model);
	dfg_model_close(&model);
	return err;
}

/* An output that only the second graph declares is a difference, unless the user has named what to compare. */
static struct dfg_err *tell_more_results(struct comparison *in, struct dfg_differ *differ)
{
	const struct dfg_graph *graph = &in->side[1].run.model.file.graph;
	for (uint32_t n = 0; !in->runs->options->fetch.count && n < graph->count; n++) {
		bool known = !dfg_node_mark(&graph->node[n], "_dfg_output", NULL);
		for (size_t i = 0; i < in->results.count && !known; i++)
			known = !strcmp(in->results.word[i], graph->node[n].name);
		if (!known)
			dfg_differ_say(differ, "output '%.200s': only in the second", graph->node[n].name);
	}
	return NULL;
}

/* The unknown size of made-up inputs: that of an input that is fed, if it has one. */
static int64_t batch_of(const struct comparison *in)
{
	const struct dfg_run *run = &in->side[0].run;
	for (uint32_t i = 0; in->runs->batch < 0 && i < run->feeds.count; i++) {
		const struct dfg_inferred *fact = dfg_model_fact(&run->model, run->feeds.edge[i]);
		if (fact->shape.rank > 0 && fact->shape.dim[0] < 0)
			return run->feeds.value[i].shape.dim[0];
	}
	return in->runs->batch < 0 ? DFG_COMPARED_BATCH : in->runs->batch;
}

/* Makes up the inputs of a graph that have no value yet, each from its name, so that both graphs get the same. */
static struct dfg_err *make_up_inputs(struct comparison *in, const struct side *side)
{
	const struct dfg_graph *graph = &side->run.model.file.graph;
	const int64_t seed = in->runs->execution->seed;
	for (uint32_t n = 0; n < graph->count; n++) {
		const struct dfg_node *node = &graph->node[n];
		struct dfg_made_up how = {batch_of(in), seed < 0 ? 0 : (uint64_t)seed, true};
		struct dfg_tensor value;
		if (dfg_node_role(node) != DFG_PLACEHOLDER || !side->observed.wanted[n] || has_input(&in->inputs, node->name))
			continue;
		for (const char *s = node->name; *s; s++)
			how.seed = how.seed * 31 + (unsigned char)*s;
		struct dfg_err *err =
			dfg_made_up_value(dfg_model_fact(&side->run.model, (struct dfg_edge){n, 0}), &how, &value);
		DFG_TRY(dfg_err_note(err, "%s: input '%.200s'", graph->source, node->name));
		DFG_TRY(dfg_arrays_add(&in->inputs, node->name, &value));
	}
	return NULL;
}

/* Keeps the feeds of the first graph, so that the second gets the same values, also of a file that is read only once. */
static struct dfg_err *keep_feeds(struct comparison *in)
{
	const struct dfg_run *run = &in->side[0].run;
	for (uint32_t i = 0; i < run->feeds.count; i++) {
		struct dfg_tensor value;
		const char *name = dfg_graph_tensor_name(&run->model.file.graph, run->feeds.edge[i]);
		if (!name)
			return dfg_no_memory("the feeds");
		DFG_TRY(dfg_tensor_share(&run->feeds.value[i], &value));
		DFG_TRY(dfg_arrays_add(&in->inputs, name, &value));
	}
	return NULL;
}

/* A graph may lack an input that it has no use for. */
static struct dfg_err *feed_inputs(struct comparison *in, struct side *side)
{
	struct dfg_run *run = &side->run;
	for (size_t i = 0; i < in->inputs.count; i++) {
		struct dfg_edge edge;
		struct dfg_tensor value;
		struct dfg_err *err = dfg_model_tensor(&run->model, in->inputs.array[i].name, &edge);
		if (err && err->code == DFG_DATA) {
			dfg_err_free(err);
			continue;
		}
		DFG_TRY(err);
		DFG_TRY(dfg_tensor_share(&in->inputs.array[i].tensor, &value));
		DFG_TRY(dfg_feeds_add(&run->feeds, edge, &value));
	}
	return NULL;
}

static struct dfg_err *open_both(struct comparison *in, const struct dfg_words_list *fetch)
{
	for (int i = 0; i < 2; i++) {
		close_side(&in->side[i]);
		DFG_TRY(open_side(in, i, fetch));
	}
	return NULL;
}

/* Finds what the results depend on, then the inputs. */
static struct dfg_err *prepare(struct comparison *in)
{
	for (int i = 0; i < 2; i++)
		DFG_TRY(
			dfg_err_of_file(dfg_observed_find(&in->side[i].run.model, &in->side[i].run.fetch, &in->side[i].observed),
				in->runs->path[i]));
	return NULL;
}

static struct dfg_err *run_both(struct comparison *in)
{
	const struct dfg_compared_runs *runs = in->runs;
	for (int i = 0; i < 2; i++) {
		struct side *side = &in->side[i];
		DFG_TRY(feed_inputs(in, side));
		DFG_TRY(i && runs->other ? dfg_other_program_run(runs->other, runs->path[1], &side->options, runs->execution,
									   &in->inputs, &side->values)
								 : dfg_run_once(&side->run, &side->values));
	}
	return NULL;
}

static struct dfg_err *compare_results(struct comparison *in, struct dfg_differ *differ)
{
	DFG_TRY(open_both(in, &in->results));
	DFG_TRY(prepare(in));
	DFG_TRY(keep_feeds(in));
	for (int i = 0; i < 2; i++)
		DFG_TRY(make_up_inputs(in, &in->side[i]));
	DFG_TRY(run_both(in));
	DFG_TRY(tell_more_results(in, differ));
	for (size_t i = 0; i < in->results.count; i++) {
		const char *name = in->results.word[i];
		const char *what = dfg_arena_print(in->arena, "result '%.200s'", name);
		if (!what)
			return dfg_no_memory("the comparison");
		dfg_differ_tensors(differ, what, &dfg_arrays_find(&in->side[0].values, name)->tensor,
			&dfg_arrays_find(&in->side[1].values, name)->tensor);
	}
	return dfg_text_check(&differ->text);
}

/* Whether the second graph has a value for a tensor of the first, by the same name. */
static struct dfg_err *has_counterpart(struct comparison *in, struct dfg_edge edge, bool *out_has)
{
	const struct dfg_graph *a = &in->side[0].run.model.file.graph, *b = &in->side[1].run.model.file.graph;
	const uint32_t node = dfg_graph_find(b, a->node[edge.node].name);
	*out_has = false;
	if (node == DFG_NONE || dfg_feeds_has(&in->side[0].run.feeds, edge))
		return NULL;
	return dfg_observed_has(&in->side[1].observed, (struct dfg_edge){node, edge.port}, out_has);
}

/* Lists the tensors that both graphs have, in the first one's order. */
static struct dfg_err *list_common(struct comparison *in, struct dfg_words_list *list)
{
	struct dfg_observed *observed = &in->side[0].observed;
	*list = (struct dfg_words_list){0};
	for (uint32_t i = 0; i < observed->count; i++)
		for (uint32_t port = 0; port < dfg_facts_outputs(&observed->model->facts, observed->order[i]); port++) {
			const struct dfg_edge edge = {observed->order[i], (int32_t)port};
			bool has, too = false;
			DFG_TRY(dfg_observed_has(observed, edge, &has));
			if (has)
				DFG_TRY(has_counterpart(in, edge, &too));
			if (too)
				DFG_TRY(add_name(in, &observed->model->file.graph, edge, list));
		}
	return NULL;
}

/*
 * Runs both graphs with all tensors that are known to have a value: first those outside branches, among which are
 * predicates, then those of the branches that were taken, and so on.
 */
static struct dfg_err *run_all(struct comparison *in, struct dfg_words_list *list)
{
	struct dfg_words_list more;
	DFG_TRY(list_common(in, list));
	while (list->count) {
		DFG_TRY(open_both(in, list));
		DFG_TRY(prepare(in));
		DFG_TRY(run_both(in));
		for (int i = 0; i < 2; i++)
			DFG_TRY(dfg_observed_know(&in->side[i].observed, &in->side[i].values));
		DFG_TRY(list_common(in, &more));
		if (more.count <= list->count)
			break;
		*list = more;
	}
	return NULL;
}

/* The value of that name, which is usually in the place that it has in the list. */
static const struct dfg_tensor *value_at(const struct dfg_arrays *values, size_t i, const char *name)
{
	if (i < values->count && !strcmp(values->array[i].name, name))
		return &values->array[i].tensor;
	return &dfg_arrays_find(values, name)->tensor;
}

static struct dfg_err *find_first(
	struct comparison *in, const struct dfg_words_list *list, struct dfg_differ *one, const char **out_first)
{
	const struct dfg_graph *graph = &in->side[0].run.model.file.graph;
	for (size_t i = 0; i < list->count && !one->count; i++) {
		struct dfg_edge edge;
		DFG_TRY(dfg_graph_edge(graph, list->word[i], &edge));
		const char *what =
			dfg_arena_print(in->arena, "node '%.200s' (%.100s)", list->word[i], graph->node[edge.node].op_name);
		if (!what)
			return dfg_no_memory("the comparison");
		dfg_differ_tensors(one, what, value_at(&in->side[0].values, i, list->word[i]),
			value_at(&in->side[1].values, i, list->word[i]));
		*out_first = one->count ? list->word[i] : NULL;
	}
	return dfg_text_check(&one->text);
}

/* The line of the first node goes before those of the results. */
static struct dfg_err *find_node(struct comparison *in, struct dfg_differ *differ, const char **out_first)
{
	struct dfg_words_list list;
	struct dfg_differ one = {.rtol = differ->rtol, .atol = differ->atol, .most = 1};
	struct dfg_err *err = run_all(in, &list);
	if (!err)
		err = find_first(in, &list, &one, out_first);
	if (!err && one.count) {
		dfg_text_put(&one.text, differ->text.s, differ->text.length);
		const struct dfg_text results = differ->text;
		differ->text = one.text;
		one.text = results;
		differ->count++;
	}
	dfg_text_release(&one.text);
	return err ? err : dfg_text_check(&differ->text);
}

struct dfg_err *dfg_compared_results(
	const struct dfg_compared_runs *runs, struct dfg_arena *arena, struct dfg_words_list *out_names)
{
	struct comparison in = {.runs = runs, .arena = arena};
	DFG_TRY(find_results(&in));
	*out_names = in.results;
	return NULL;
}

struct dfg_err *dfg_compare_runs(
	const struct dfg_compared_runs *runs, struct dfg_arena *arena, struct dfg_differ *differ, const char **out_first)
{
	struct comparison in = {.runs = runs, .arena = arena};
	*out_first = NULL;
	struct dfg_err *err = find_results(&in);
	if (!err)
		err = compare_results(&in, differ);
	if (!err && (differ->count || runs->every_node))
		err = find_node(&in, differ, out_first);
	for (int i = 0; i < 2; i++)
		close_side(&in.side[i]);
	dfg_arrays_release(&in.inputs);
	return err;
}
