#include "app/serving/serving_private.h"

#include "formats/checkpoint.h"
#include "lib/base/hash.h"
#include "lib/base/path.h"

#include <string.h>
#include <sys/stat.h>

/* The ports of the model as the graph infers them. */
static void fill_port(
	const struct dfg_live_model *live, const char *name, struct dfg_edge edge, struct dfg_serving_port *port)
{
	const struct dfg_inferred *fact = dfg_model_fact(&live->run.model, edge);
	*port = (struct dfg_serving_port){.name = name, .edge = edge, .dtype = fact->dtype, .shape = fact->shape};
}

/* Marks the nodes that an edge depends on; the walk ends at fed edges. */
static struct dfg_err *mark_needed(
	struct dfg_live_model *live, struct dfg_edge from, const struct dfg_edges *fed, bool *needed)
{
	const struct dfg_graph *graph = &live->run.model.file.graph;
	uint32_t *stack = dfg_arena_zeros(&live->run.model.arena, graph->count, sizeof *stack), depth = 0;
	if (!stack)
		return dfg_no_memory("the model");
	if (!needed[from.node])
		stack[depth++] = from.node;
	needed[from.node] = true;
	while (depth) {
		const struct dfg_node *node = &graph->node[stack[--depth]];
		for (uint32_t i = 0; i < node->n_in + node->n_control; i++) {
			bool is_fed = needed[node->in[i].node];
			for (uint32_t k = 0; k < fed->count && !is_fed; k++)
				is_fed = dfg_edge_same(fed->edge[k], node->in[i]);
			if (is_fed)
				continue;
			needed[node->in[i].node] = true;
			stack[depth++] = node->in[i].node;
		}
	}
	return NULL;
}

/* The inputs that the user names; otherwise all placeholders, of which find_inputs() keeps those that are needed. */
static struct dfg_err *find_candidates(
	struct dfg_live_model *live, const struct dfg_words_list *feed, struct dfg_edges *out)
{
	const struct dfg_graph *graph = &live->run.model.file.graph;
	struct dfg_arena *arena = &live->run.model.arena;
	if (feed->count)
		return dfg_model_tensors(&live->run.model, feed, out);
	out->edge = dfg_arena_zeros(arena, graph->count, sizeof *out->edge);
	out->name = dfg_arena_zeros(arena, graph->count, sizeof *out->name);
	if (!out->edge || !out->name)
		return dfg_no_memory("the model");
	for (uint32_t n = 0; n < graph->count; n++)
		if (dfg_node_role(&graph->node[n]) == DFG_PLACEHOLDER) {
			out->edge[out->count] = (struct dfg_edge){n, 0};
			out->name[out->count++] = graph->node[n].name;
		}
	return NULL;
}

static struct dfg_err *check_state(const struct dfg_live_model *live, const bool *needed, bool stateful)
{
	const struct dfg_graph *graph = &live->run.model.file.graph;
	for (uint32_t n = 0; n < graph->count && !stateful; n++)
		if (needed[n] && graph->node[n].op && (graph->node[n].op->flags & DFG_WRITES))
			return DFG_ERR(DFG_DATA, "node '%s' (%s) writes state; --stateful serves it, one step at a time",
				graph->node[n].name, graph->node[n].op_name);
	return NULL;
}

static struct dfg_err *find_inputs(struct dfg_live_model *live, const struct dfg_serving_options *options)
{
	struct dfg_arena *arena = &live->run.model.arena;
	struct dfg_edges all = {0}, none = {0};
	bool *needed = dfg_arena_zeros(arena, live->run.model.file.graph.count, 1);
	DFG_TRY(find_candidates(live, &options->feed, &all));
	live->in = dfg_arena_zeros(arena, all.count, sizeof *live->in);
	if (!needed || !live->in)
		return dfg_no_memory("the model");
	for (uint32_t i = 0; i < live->run.fetch.count; i++)
		DFG_TRY(mark_needed(live, live->run.fetch.edge[i], options->feed.count ? &all : &none, needed));
	DFG_TRY(check_state(live, needed, options->stateful));
	for (uint32_t i = 0; i < all.count; i++) {
		struct dfg_tensor nothing = {0};
		if (!options->feed.count && !needed[all.edge[i].node])
			continue;
		fill_port(live, all.name[i], all.edge[i], &live->in[live->n_in++]);
		DFG_TRY(dfg_feeds_add(&live->feeds, all.edge[i], &nothing));
	}
	return NULL;
}

static struct dfg_err *find_needs(struct dfg_live_model *live, struct dfg_serving_port *out)
{
	struct dfg_arena *arena = &live->run.model.arena;
	uint32_t nodes = live->run.model.file.graph.count;
	out->needs = dfg_arena_zeros(arena, live->n_in, sizeof *out->needs);
	bool *needed = dfg_arena_zeros(arena, nodes, 1);
	if (!out->needs || !needed)
		return dfg_no_memory("the model");
	DFG_TRY(mark_needed(live, out->edge, &(struct dfg_edges){0}, needed));
	for (uint32_t i = 0; i < live->n_in; i++)
		out->needs[i] = needed[live->in[i].edge.node];
	return NULL;
}

static struct dfg_err *find_outputs(struct dfg_live_model *live)
{
	const struct dfg_edges *fetch = &live->run.fetch;
	live->out = dfg_arena_zeros(&live->run.model.arena, fetch->count, sizeof *live->out);
	if (!live->out)
		return dfg_no_memory("the model");
	for (; live->n_out < fetch->count; live->n_out++) {
		fill_port(live, fetch->name[live->n_out], fetch->edge[live->n_out], &live->out[live->n_out]);
		DFG_TRY(find_needs(live, &live->out[live->n_out]));
	}
	return NULL;
}

static struct dfg_err *open_run(const struct dfg_served *served, struct dfg_live_model *live)
{
	const struct dfg_serving_options *options = &served->serving->options;
	DFG_TRY(dfg_run_open(served->path, NULL, &live->run));
	DFG_TRY(find_inputs(live, options));
	DFG_TRY(find_outputs(live));
	live->version = live->run.loaded_step ? live->run.loaded_step : 1;
	struct dfg_plan
		*plan; /* made now so that the variables are initialised, and faults are found, before any request */
	return dfg_run_plan(&live->run, &live->feeds, &live->run.fetch, &plan);
}

/* The sources: those of the command line, then the model's own. */
static struct dfg_err *fill_options(const struct dfg_served *served, struct dfg_live_model *live)
{
	const struct dfg_serving_options *options = &served->serving->options;
	size_t count = options->load.count + (served->source ? 1 : 0);
	const char **load = dfg_arena_zeros(&live->arena, count + 1, sizeof *load);
	if (!load)
		return dfg_no_memory("the model");
	if (options->load.count)
		memcpy(load, options->load.word, options->load.count * sizeof *load);
	if (served->source)
		load[count - 1] = served->source;
	live->options = (struct dfg_run_options)DFG_RUN_DEFAULTS;
	live->options.load = (struct dfg_words_list){load, count, count};
	live->options.map = options->map;
	live->options.partial = options->partial;
	live->options.fetch = options->fetch;
	live->run = (struct dfg_run){
		.options = &live->options, .execution = options->execution, .input = {.report = options->report}};
	return NULL;
}

struct dfg_err *dfg_live_model_open(const struct dfg_served *served, struct dfg_live_model **out_live)
{
	struct dfg_live_model *live = dfg_zeros(1, sizeof *live);
	if (!live)
		return dfg_no_memory("the model");
	atomic_store(&live->refs, 1);
	struct dfg_err *err = fill_options(served, live);
	if (!err)
		err = dfg_err_of_file(open_run(served, live), served->path);
	if (err)
		dfg_live_model_unref(live);
	else
		*out_live = live;
	return err;
}

void dfg_live_model_unref(struct dfg_live_model *live)
{
	if (!live || atomic_fetch_sub(&live->refs, 1) > 1)
		return;
	dfg_feeds_release(&live->feeds);
	dfg_run_close(&live->run);
	dfg_arena_release(&live->arena);
	dfg_free(live);
}

struct dfg_live_model *dfg_served_live(struct dfg_served *served)
{
	pthread_mutex_lock(&served->lock);
	struct dfg_live_model *live = served->live;
	atomic_fetch_add(&live->refs, 1);
	pthread_mutex_unlock(&served->lock);
	return live;
}

static uint64_t mark_source(uint64_t mark, const char *path)
{
	struct stat stat_;
	uint64_t step = 0;
	struct dfg_err *err = dfg_is_directory(path) ? dfg_checkpoints_newest(path, &step) : NULL;
	dfg_err_free(err);
	if (step || err || stat(path, &stat_))
		return dfg_hash_word(dfg_hash_key, mark, step);
	mark = dfg_hash_word(dfg_hash_key, mark, (uint64_t)stat_.st_ino);
	mark = dfg_hash_word(dfg_hash_key, mark, (uint64_t)stat_.st_size);
	return dfg_hash_word(
		dfg_hash_key, mark, (uint64_t)stat_.st_mtim.tv_sec * 1000000000 + (uint64_t)stat_.st_mtim.tv_nsec);
}

uint64_t dfg_served_mark(const struct dfg_served *served)
{
	const struct dfg_words_list *load = &served->serving->options.load;
	uint64_t mark = mark_source(dfg_hash_key.seed, served->path);
	for (size_t i = 0; i < load->count; i++)
		mark = mark_source(mark, load->word[i]);
	return served->source ? mark_source(mark, served->source) : mark;
}
