#include "app/serving/serving_private.h"

#include "formats/checkpoint.h"
#include "lib/base/hash.h"
#include "lib/base/path.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

/* The ports of the model as the graph infers them. */
static void fill_port(
	const struct dfg_live_model *live, const char *name, struct dfg_edge edge, struct dfg_serving_port *port)
{
	const struct dfg_inferred *fact = dfg_model_fact(&live->run.model, edge);
	*port = (struct dfg_serving_port){.name = name, .edge = edge, .dtype = fact->dtype, .shape = fact->shape};
}

/* A walk from outputs to what they depend on. It ends at candidates for inputs, whose edges are fed. */
struct walk {
	const struct dfg_graph *graph;
	struct dfg_edges candidate;
	bool *has_candidate; /* by node */
	uint32_t *seen;      /* by node: the number of the last walk that came to it, from 1; 0: none did */
	uint32_t *stack, depth, number;
};

static void follow(struct walk *walk, struct dfg_edge edge, bool *reached)
{
	for (uint32_t k = 0; walk->has_candidate[edge.node] && k < walk->candidate.count; k++)
		if (dfg_edge_same(walk->candidate.edge[k], edge)) {
			reached[k] = true;
			return;
		}
	if (walk->seen[edge.node] != walk->number)
		walk->stack[walk->depth++] = edge.node;
	walk->seen[edge.node] = walk->number;
}

/* Marks the candidates that the edge depends on. */
static void walk_from(struct walk *walk, struct dfg_edge edge, bool *reached)
{
	walk->number++;
	follow(walk, edge, reached);
	while (walk->depth) {
		const struct dfg_node *node = &walk->graph->node[walk->stack[--walk->depth]];
		for (uint32_t i = 0; i < node->n_in + node->n_control; i++)
			follow(walk, node->in[i], reached);
	}
}

/* The inputs that the user names; otherwise all placeholders, of which keep_needed() keeps those that are needed. */
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

static struct dfg_err *start_walk(struct dfg_live_model *live, struct dfg_arena *scratch, struct walk *walk)
{
	uint32_t nodes = walk->graph->count;
	walk->has_candidate = dfg_arena_zeros(scratch, nodes, sizeof *walk->has_candidate);
	walk->seen = dfg_arena_zeros(scratch, nodes, sizeof *walk->seen);
	walk->stack = dfg_arena_zeros(scratch, nodes, sizeof *walk->stack);
	live->out = dfg_arena_zeros(&live->run.model.arena, live->run.fetch.count, sizeof *live->out);
	live->in = dfg_arena_zeros(&live->run.model.arena, walk->candidate.count, sizeof *live->in);
	if (!walk->has_candidate || !walk->seen || !walk->stack || !live->out || !live->in)
		return dfg_no_memory("the model");
	for (uint32_t k = 0; k < walk->candidate.count; k++)
		walk->has_candidate[walk->candidate.edge[k].node] = true;
	return NULL;
}

/* An output's `needs` are by candidate until keep_needed() has chosen the inputs. */
static struct dfg_err *find_outputs(struct dfg_live_model *live, struct walk *walk)
{
	const struct dfg_edges *fetch = &live->run.fetch;
	for (; live->n_out < fetch->count; live->n_out++) {
		struct dfg_serving_port *out = &live->out[live->n_out];
		fill_port(live, fetch->name[live->n_out], fetch->edge[live->n_out], out);
		out->needs = dfg_arena_zeros(&live->run.model.arena, walk->candidate.count, sizeof *out->needs);
		if (!out->needs)
			return dfg_no_memory("the model");
		walk_from(walk, out->edge, out->needs);
		dfg_quick_find(live, out, walk->seen, walk->number);
	}
	return NULL;
}

static bool any_needs(const struct dfg_live_model *live, uint32_t candidate)
{
	for (uint32_t i = 0; i < live->n_out; i++)
		if (live->out[i].needs[candidate])
			return true;
	return false;
}

/* Makes inputs of the candidates that an output needs, and of those that the user names. */
static struct dfg_err *keep_needed(struct dfg_live_model *live, const struct dfg_edges *candidate, bool keeps_all)
{
	for (uint32_t k = 0; k < candidate->count; k++) {
		struct dfg_tensor nothing = {0};
		if (!keeps_all && !any_needs(live, k))
			continue;
		for (uint32_t i = 0; i < live->n_out; i++)
			live->out[i].needs[live->n_in] = live->out[i].needs[k];
		fill_port(live, candidate->name[k], candidate->edge[k], &live->in[live->n_in++]);
		DFG_TRY(dfg_feeds_add(&live->feeds, candidate->edge[k], &nothing));
	}
	return NULL;
}

/* The arrays of a step are not state: no other step sees them. */
static bool writes_state(const struct dfg_op *op)
{
	return op && op->flags & DFG_WRITES && !(op->flags & DFG_TENSOR_ARRAY);
}

static struct dfg_err *check_state(const struct walk *walk)
{
	const struct dfg_graph *graph = walk->graph;
	for (uint32_t n = 0; n < graph->count; n++)
		if (walk->seen[n] && writes_state(graph->node[n].op))
			return DFG_ERR(DFG_DATA, "node '%s' (%s) writes state; --stateful serves it, one step at a time",
				graph->node[n].name, graph->node[n].op_name);
	return NULL;
}

static struct dfg_err *find_rows(struct dfg_live_model *live, struct dfg_arena *scratch)
{
	struct dfg_model *model = &live->run.model;
	struct dfg_edge *in = dfg_arena_zeros(scratch, live->n_in, sizeof *in);
	struct dfg_edge *out = dfg_arena_zeros(scratch, live->n_out, sizeof *out);
	struct dfg_row_verdict *verdict = dfg_arena_zeros(&model->arena, live->n_out, sizeof *verdict);
	if (!in || !out || !verdict)
		return dfg_no_memory("the model");
	for (uint32_t i = 0; i < live->n_in; i++)
		in[i] = live->in[i].edge;
	for (uint32_t i = 0; i < live->n_out; i++) {
		out[i] = live->out[i].edge;
		live->out[i].verdict = &verdict[i];
	}
	return dfg_row_independence(&model->file.graph, &model->facts, in, live->n_in, out, live->n_out, verdict);
}

static struct dfg_err *find_stacks(struct dfg_live_model *live, struct dfg_arena *scratch)
{
	const struct dfg_graph *graph = &live->run.model.file.graph;
	struct dfg_loops loops;
	DFG_TRY(dfg_loops_find(graph, NULL, scratch, &loops));
	for (uint32_t i = 0; i < live->n_out; i++)
		DFG_TRY(dfg_array_stack_find(graph, &loops, live->out[i].edge, &live->run.model.arena, &live->out[i].stack));
	return NULL;
}

static struct dfg_err *find_ports(
	struct dfg_live_model *live, const struct dfg_serving_options *options, struct dfg_arena *scratch)
{
	struct walk walk = {.graph = &live->run.model.file.graph};
	DFG_TRY(find_candidates(live, &options->feed, &walk.candidate));
	DFG_TRY(start_walk(live, scratch, &walk));
	DFG_TRY(find_outputs(live, &walk));
	DFG_TRY(keep_needed(live, &walk.candidate, options->feed.count));
	DFG_TRY(find_rows(live, scratch));
	DFG_TRY(find_stacks(live, scratch));
	return options->stateful ? NULL : check_state(&walk);
}

/* The plan is made now so that variables are initialised, and faults are found, before any request. */
static struct dfg_err *open_run(const struct dfg_served *served, struct dfg_live_model *live)
{
	struct dfg_arena scratch = {0};
	struct dfg_plan *plan;
	DFG_TRY(dfg_run_open(served->path, NULL, &live->run));
	struct dfg_err *err = find_ports(live, &served->serving->options, &scratch);
	dfg_arena_release(&scratch);
	live->version = live->run.loaded_step ? live->run.loaded_step : 1;
	return err ? err : dfg_run_plan(&live->run, &live->feeds, &live->run.fetch, &plan);
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

bool dfg_served_has_version(struct dfg_served *served, const char *text, size_t length, uint64_t *out_version)
{
	struct dfg_live_model *live = dfg_served_live(served);
	char own[24];
	int own_length = snprintf(own, sizeof own, "%llu", (unsigned long long)live->version);
	*out_version = live->version;
	dfg_live_model_unref(live);
	return length == (size_t)own_length && !memcmp(text, own, length);
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
