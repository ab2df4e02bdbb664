#include "app/model.h"

#include "app/distributed.h"
#include "app/server_placement.h"
#include "formats/bundle.h"
#include "lib/base/text.h"
#include "lib/pass/lower/lower.h"
#include "lib/pass/rewrite/variants.h"
#include "lib/pass/verify/verify.h"

#include <stdlib.h>
#include <string.h>

static struct dfg_err *open_graph(const char *path, const struct dfg_graph_input *input, struct dfg_model *model)
{
	struct dfg_verify_options verify = {.marked = &model->file.graph};
	DFG_TRY(dfg_graph_input_open(path, input, &model->file));
	if (!model->file.graph.count)
		return DFG_ERR(DFG_DATA, "%s: the graph has no nodes", path);
	DFG_TRY(dfg_err_of_file(dfg_lower_whole(&model->file.graph), path));
	return dfg_err_of_file(dfg_verify(&model->file.graph, &verify, &model->facts), path);
}

/* The plan must name these workers, because its transfers go to devices by name. */
static struct dfg_err *check_devices(const struct dfg_plan_folder *plan, const struct dfg_distributed *distributed)
{
	const struct dfg_hosts *hosts = &distributed->first;
	if (plan->parts.parts != hosts->count)
		return DFG_ERR(DFG_DATA, "the plan is for %u workers, but --hosts has %u%s", plan->parts.parts, hosts->count,
			distributed->options.replicas > 1 ? " for each replica" : "");
	for (uint32_t i = 0; i < hosts->count; i++)
		if (strcmp(plan->device[i], hosts->device[i]) != 0)
			return DFG_ERR(DFG_DATA, "w%u is %s in the plan, but %s in --hosts", i, plan->device[i], hosts->device[i]);
	return NULL;
}

static struct dfg_err *join_plan(const struct dfg_distributed *distributed, struct dfg_model *model)
{
	const struct dfg_plan_folder *plan = &model->plan;
	const struct dfg_graph **part = dfg_arena_zeros(&model->arena, plan->parts.parts, sizeof(struct dfg_graph *));
	const struct dfg_verify_options verify = {.joined = true};
	if (!part)
		return dfg_no_memory("the model");
	DFG_TRY(check_devices(plan, distributed));
	const struct dfg_hosts *hosts = &distributed->first;
	for (uint32_t i = 0; i < plan->parts.parts; i++) {
		part[i] = &plan->parts.part[i];
		DFG_TRY(dfg_err_note(dfg_verify(part[i], NULL, NULL), "w%u.pb", i));
		if (distributed->options.servers && !hosts->worker[i].lanes.count)
			DFG_TRY(dfg_server_check_part(part[i], i));
	}
	DFG_TRY(dfg_parts_join(part, plan->parts.parts, &model->file.arena, &model->file.graph));
	return dfg_verify(&model->file.graph, &verify, &model->facts);
}

static struct dfg_err *open_plan(const char *path, const struct dfg_graph_input *input,
	const struct dfg_distributed *distributed, struct dfg_model *model)
{
	DFG_TRY(dfg_graph_input_plan(path, input, NULL, &model->plan));
	struct dfg_err *err = join_plan(distributed, model);
	if (!err && !(model->file.graph.source = dfg_arena_copy(&model->file.arena, path, strlen(path))))
		err = dfg_no_memory("the model");
	return dfg_err_of_file(err, path);
}

/* Buckets of a plan that is for bounded staleness are marked: a shard's part of a mean is an update by itself. */
static struct dfg_err *check_partial(
	const struct dfg_model *model, const struct dfg_distributed *distributed, const struct dfg_session_options *session)
{
	const struct dfg_graph *graph = &model->file.graph;
	bool any = false, partial = false, alone = distributed->options.async || distributed->options.quorum;
	for (uint32_t n = 0; n < graph->count; n++) {
		any |= graph->node[n].op && graph->node[n].op->flags & DFG_CONTRIBUTES;
		partial |= dfg_node_mark(&graph->node[n], "_dfg_partial", NULL);
	}
	if (any && session->staleness && !partial)
		return DFG_ERR(
			DFG_DATA, "the plan is not for --sync ssp with a --staleness of 1 or more: partition with these");
	if (partial && alone && !session->staleness)
		return DFG_ERR(DFG_DATA, "the plan is for --sync ssp with a --staleness of 1 or more, not for --sync %s",
			distributed->options.async ? "async" : "quorum");
	return NULL;
}

/* The plan decides the number of shards. */
static struct dfg_err *check_shards(
	struct dfg_model *model, const struct dfg_distributed *distributed, struct dfg_session_options *session)
{
	uint32_t shards = model->plan.shards, replicas = distributed->options.replicas;
	if (model->plan.blocks) {
		model->shards = session->shards = 1;
		return NULL;
	}
	if (session->shards && session->shards != shards)
		return DFG_ERR(DFG_DATA, "the plan is for --shards %u, not %u", shards, session->shards);
	if (replicas > shards)
		return DFG_ERR(DFG_DATA, "the plan is for %u shard%s, fewer than %u replicas: partition with --shards", shards,
			shards > 1 ? "s" : "", replicas);
	if ((distributed->options.quorum || distributed->options.async) && replicas != shards)
		return DFG_ERR(DFG_DATA, "the plan is for %u shards, but --sync %s requires one for each of %u replicas",
			shards,
			!distributed->options.async ? "quorum"
			: session->staleness        ? "ssp"
										: "async",
			replicas);
	model->shards = session->shards = shards;
	return check_partial(model, distributed, session);
}

struct dfg_err *dfg_model_distribute(const char *path, const struct dfg_graph_input *input,
	const struct dfg_session_options *options, struct dfg_distributed *distributed, struct dfg_model *out_model)
{
	struct dfg_session_options session = *options;
	bool plan = dfg_plan_folder_is(path);
	*out_model = (struct dfg_model){.report = input->report};
	if (plan && distributed->options.placement->place.count)
		return DFG_ERR(DFG_USAGE, "--place: %s is a plan, whose nodes already have devices", path);
	struct dfg_err *err = plan ? open_plan(path, input, distributed, out_model) : open_graph(path, input, out_model);
	if (!err && plan)
		err = dfg_err_of_file(check_shards(out_model, distributed, &session), path);
	if (!err && distributed->opened)
		err = distributed->opened(distributed->opened_arg);
	if (!err && !plan)
		dfg_placement_warn(distributed->options.placement, &out_model->file.graph, input->report);
	if (!err)
		err = dfg_err_of_file(dfg_distributed_load(distributed, &out_model->file.graph, &out_model->facts,
								  plan ? &out_model->plan.parts : NULL, &session),
			path);
	if (!err)
		err = dfg_session_new(&out_model->file.graph, &session, &out_model->session);
	if (err)
		dfg_model_close(out_model);
	return err;
}

struct dfg_err *dfg_model_open(const char *path, const struct dfg_graph_input *input,
	const struct dfg_session_options *options, struct dfg_model *out_model)
{
	struct dfg_session_options session = *options;
	session.files = &dfg_bundle_files;
	*out_model = (struct dfg_model){.report = input->report};
	struct dfg_err *err = open_graph(path, input, out_model);
	if (!err)
		err = dfg_session_new(&out_model->file.graph, &session, &out_model->session);
	if (err)
		dfg_model_close(out_model);
	return err;
}

void dfg_model_close(struct dfg_model *model)
{
	dfg_session_free(model->session);
	dfg_facts_release(&model->facts);
	dfg_graph_close(&model->file);
	dfg_plan_folder_close(&model->plan);
	dfg_arena_release(&model->arena);
	*model = (struct dfg_model){0};
}

struct dfg_err *dfg_model_tensor(const struct dfg_model *model, const char *name, struct dfg_edge *out_edge)
{
	const struct dfg_graph *graph = &model->file.graph;
	struct dfg_err *err = dfg_graph_edge(graph, name, out_edge);
	if (!err && out_edge->port == DFG_CONTROL)
		err = DFG_ERR(DFG_DATA, "'%s' is a control input, not a tensor", name);
	uint32_t outputs = err ? 0 : dfg_facts_outputs(&model->facts, out_edge->node);
	if (!err && (uint32_t)out_edge->port >= outputs) {
		const struct dfg_node *node = &graph->node[out_edge->node];
		err = node->op ? DFG_ERR(DFG_DATA, "there is no tensor '%s': the number of outputs of node '%s' (%s) is %u",
							 name, node->name, node->op_name, outputs)
					   : dfg_err_note(dfg_op_missing(node->op_name), "node '%s'", node->name);
	}
	return dfg_err_of_file(err, graph->source);
}

const struct dfg_inferred *dfg_model_fact(const struct dfg_model *model, struct dfg_edge edge)
{
	return dfg_facts_of(&model->facts, edge);
}

struct dfg_err *dfg_model_node(const struct dfg_model *model, const char *name, uint32_t *out_node)
{
	struct dfg_edge edge;
	DFG_TRY(dfg_err_of_file(dfg_graph_edge(&model->file.graph, name, &edge), model->file.graph.source));
	*out_node = edge.node;
	return NULL;
}

struct dfg_err *dfg_model_tensors(
	struct dfg_model *model, const struct dfg_words_list *words, struct dfg_edges *out_edges)
{
	DFG_TRY(dfg_words_split(words, &model->arena, &out_edges->name, &out_edges->count));
	out_edges->edge = dfg_arena_zeros(&model->arena, out_edges->count, sizeof *out_edges->edge);
	if (!out_edges->edge)
		return dfg_no_memory("the model");
	for (uint32_t i = 0; i < out_edges->count; i++)
		DFG_TRY(dfg_model_tensor(model, out_edges->name[i], &out_edges->edge[i]));
	return NULL;
}

struct dfg_err *dfg_model_nodes(
	struct dfg_model *model, const struct dfg_words_list *words, uint32_t **out_node, uint32_t *out_count)
{
	const char **names;
	DFG_TRY(dfg_words_split(words, &model->arena, &names, out_count));
	*out_node = dfg_arena_zeros(&model->arena, *out_count, sizeof **out_node);
	if (!*out_node)
		return dfg_no_memory("the model");
	for (uint32_t i = 0; i < *out_count; i++)
		DFG_TRY(dfg_model_node(model, names[i], &(*out_node)[i]));
	return NULL;
}

/* Lists the nodes that no other node reads, for the message. */
static struct dfg_err *no_outputs(struct dfg_model *model)
{
	const struct dfg_graph *graph = &model->file.graph;
	struct dfg_text names = {0};
	bool *read = dfg_arena_zeros(&model->arena, graph->count, sizeof *read);
	if (!read)
		return dfg_no_memory("the names of the outputs");
	for (uint32_t n = 0; n < graph->count; n++)
		for (uint32_t i = 0; i < graph->node[n].n_in + graph->node[n].n_control; i++)
			read[graph->node[n].in[i].node] = true;
	int listed = 0;
	for (uint32_t n = 0; n < graph->count && listed < 20; n++)
		if (!read[n])
			dfg_text_add(&names, "%s%s", listed++ ? ", " : "", graph->node[n].name);
	struct dfg_err *err =
		DFG_ERR(DFG_USAGE, "%s declares no outputs: name some with --fetch or --target; not read by other nodes: %s",
			graph->source, names.s ? names.s : "");
	dfg_text_release(&names);
	return err;
}

struct output {
	uint32_t node;
	int64_t number;
};

static int by_number(const void *a, const void *b)
{
	const struct output *one = a, *two = b;
	return (one->number > two->number) - (one->number < two->number);
}

struct dfg_err *dfg_model_outputs(struct dfg_model *model, struct dfg_edges *out_edges)
{
	const struct dfg_graph *graph = &model->file.graph;
	struct output *output = dfg_arena_zeros(&model->arena, graph->count, sizeof *output);
	uint32_t count = 0;
	if (!output)
		return dfg_no_memory("the model");
	for (uint32_t n = 0; n < graph->count; n++)
		if (dfg_node_mark(&graph->node[n], "_dfg_output", &output[count].number))
			output[count++].node = n;
	if (!count)
		return no_outputs(model);
	qsort(output, count, sizeof *output, by_number);
	out_edges->edge = dfg_arena_zeros(&model->arena, count, sizeof *out_edges->edge);
	out_edges->name = dfg_arena_zeros(&model->arena, count, sizeof *out_edges->name);
	if (!out_edges->edge || !out_edges->name)
		return dfg_no_memory("the model");
	for (out_edges->count = 0; out_edges->count < count; out_edges->count++) {
		out_edges->edge[out_edges->count] = (struct dfg_edge){output[out_edges->count].node, 0};
		out_edges->name[out_edges->count] = graph->node[output[out_edges->count].node].name;
	}
	return NULL;
}

const char *dfg_model_inference(const struct dfg_model *model, struct dfg_edges *edges)
{
	const char *trained = NULL;
	if (dfg_graph_training(&model->file.graph) != 1) /* names mean that variant already */
		return NULL;
	for (uint32_t i = 0; i < edges->count; i++) {
		bool missing;
		edges->edge[i].node = dfg_variants_inference(&model->file.graph, edges->edge[i].node, &missing);
		if (missing && !trained)
			trained = edges->name[i];
	}
	return trained;
}
