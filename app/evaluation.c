#include "app/evaluation.h"

#include "app/loaded.h"
#include "lib/pass/rewrite/variants.h"

#include <string.h>

/* Binds the run's feeds whose names the graph has, then reserves entries for the batch. */
static struct dfg_err *bind_feeds(struct dfg_evaluation *evaluation, const struct dfg_run *run)
{
	const struct dfg_graph *graph = &run->model.file.graph;
	for (uint32_t i = 0; i < run->feeds.count; i++) {
		struct dfg_tensor value;
		struct dfg_edge edge = run->feeds.edge[i];
		edge.node = dfg_graph_find(&evaluation->model->file.graph, graph->node[edge.node].name);
		if (edge.node == DFG_NONE || (uint32_t)edge.port >= dfg_facts_outputs(&evaluation->model->facts, edge.node))
			continue;
		DFG_TRY(dfg_tensor_share(&run->feeds.value[i], &value));
		DFG_TRY(dfg_feeds_add(&evaluation->feeds, edge, &value));
	}
	struct dfg_feeds shared = evaluation->feeds;
	evaluation->feeds = (struct dfg_feeds){0};
	struct dfg_edge *data = dfg_arena_zeros(&evaluation->model->arena, evaluation->dataset.count, sizeof *data);
	for (uint32_t i = 0; data && i < evaluation->dataset.count; i++)
		data[i] = evaluation->dataset.input[i].edge;
	struct dfg_err *err = data ? dfg_feeds_share(&shared, data, evaluation->dataset.count, &evaluation->feeds)
							   : dfg_no_memory("the evaluation");
	dfg_feeds_release(&shared);
	evaluation->first_batch = evaluation->feeds.count;
	for (uint32_t i = 0; !err && i < evaluation->dataset.count; i++) {
		struct dfg_tensor none = {0};
		err = dfg_feeds_add(&evaluation->feeds, data[i], &none);
	}
	return err;
}

static struct dfg_err *open_graph(struct dfg_run *run, struct dfg_evaluation *evaluation)
{
	struct dfg_session_options session;
	DFG_TRY(dfg_execution_session(run->execution, &session));
	evaluation->model = &run->model;
	if (!run->options->eval_graph)
		return NULL;
	DFG_TRY(dfg_model_open(run->options->eval_graph, &run->input, &session, &evaluation->own));
	evaluation->model = &evaluation->own;
	return dfg_variables_list(&evaluation->own, &evaluation->variables);
}

/* only: a fetch that is only in the variant for training, or NULL. */
static void warn_of_training(const struct dfg_run *run, const struct dfg_model *model, const char *only)
{
	const struct dfg_graph *graph = &model->file.graph;
	if (dfg_graph_training(graph) == 1 && !dfg_variants_are_two(graph))
		dfg_report_note(run->input.report,
			"warning: the evaluation runs %s, which was built with -D training=true: dropout, batch_norm and all else "
			"that tests `training` are on; build it without that, or give --eval-graph",
			graph->source);
	else if (only)
		dfg_report_note(run->input.report,
			"warning: the evaluation runs '%s', which is only computed in training: dropout, batch_norm and all else "
			"that tests `training` are on in it",
			only);
}

struct dfg_err *dfg_evaluation_open(struct dfg_run *run, int64_t batch, struct dfg_evaluation *out_evaluation)
{
	*out_evaluation = (struct dfg_evaluation){.wanted = run->options->eval_fetch.count > 0};
	if (!out_evaluation->wanted)
		return NULL;
	DFG_TRY(open_graph(run, out_evaluation));
	struct dfg_model *model = out_evaluation->model;
	DFG_TRY(dfg_model_tensors(model, &run->options->eval_fetch, &out_evaluation->fetch));
	const struct dfg_distributed *distributed = run->options->eval_graph ? NULL : run->distributed;
	DFG_TRY(dfg_err_note(
		dfg_dataset_open(model, distributed, &run->options->eval_data, &out_evaluation->dataset), "--eval-data"));
	DFG_TRY(dfg_err_note(
		dfg_dataset_batch_size(model, &out_evaluation->dataset, batch, true, &out_evaluation->batch), "--eval-data"));
	warn_of_training(run, model, dfg_model_inference(model, &out_evaluation->fetch));
	DFG_TRY(bind_feeds(out_evaluation, run));
	struct dfg_totals *totals = &out_evaluation->totals;
	DFG_TRY(
		dfg_err_note(dfg_totals_find(model, &out_evaluation->feeds, &out_evaluation->fetch, totals), "--eval-fetch"));
	DFG_TRY(dfg_replication_fetches(model, &totals->fetch));
	out_evaluation->value = dfg_arena_zeros(&model->arena, totals->fetch.count, sizeof(struct dfg_tensor));
	return out_evaluation->value ? NULL : dfg_no_memory("the evaluation");
}

static struct dfg_step step_of(const struct dfg_evaluation *evaluation)
{
	return (struct dfg_step){
		.feed = evaluation->feeds.edge,
		.n_feed = evaluation->feeds.count,
		.fetch = evaluation->fetch.edge,
		.n_fetch = evaluation->fetch.count,
	};
}

static struct dfg_err *check_trained(
	const struct dfg_evaluation *evaluation, const struct dfg_run *run, const struct dfg_node *node)
{
	const struct dfg_graph *graph = &evaluation->own.file.graph;
	struct dfg_nearest nearest = {.word = node->name};
	bool found = false;
	for (uint32_t i = 0; i < run->variables.count; i++) {
		dfg_nearest_offer(&nearest, run->variables.name[i]);
		found |= !strcmp(run->variables.name[i], node->name);
	}
	if (found || !dfg_node_mark(node, "_dfg_trainable", NULL))
		return NULL;
	return DFG_ERR(DFG_DATA, "%s: the evaluation needs variable '%s', but %s does not have it%s%s%s", graph->source,
		node->name, run->model.file.graph.source, nearest.best ? "; did you mean '" : "",
		nearest.best ? nearest.best : "", nearest.best ? "'?" : "");
}

struct dfg_err *dfg_evaluation_check(struct dfg_evaluation *evaluation, const struct dfg_run *run)
{
	struct dfg_variables variables;
	struct dfg_step step = step_of(evaluation);
	bool *missing;
	if (!evaluation->wanted)
		return NULL;
	DFG_TRY(dfg_variables_missing(evaluation->model, &step, &evaluation->feeds, &variables, &missing));
	if (evaluation->model == &run->model)
		return dfg_loaded_check(evaluation->model, &variables, missing);
	for (uint32_t i = 0; i < variables.count; i++)
		if (missing[i])
			DFG_TRY(check_trained(evaluation, run, &evaluation->own.file.graph.node[variables.ref[i].node]));
	return NULL;
}

/* Sets the variables of the evaluation graph to references to those of the same name. */
static struct dfg_err *take_variables(struct dfg_evaluation *evaluation, const struct dfg_run *run)
{
	struct dfg_map names = {0};
	struct dfg_err *err = NULL;
	uint32_t number;
	for (uint32_t i = 0; !err && i < run->variables.count; i++)
		if (!dfg_map_put(&names, run->variables.name[i], strlen(run->variables.name[i]), &number, NULL))
			err = dfg_no_memory("the evaluation");
	if (!err)
		err = dfg_err_note(
			dfg_session_variables(run->model.session, run->variables.ref, run->variables.count, run->variables.fact),
			"reading variables");
	for (uint32_t i = 0; !err && i < evaluation->variables.count; i++) {
		const char *name = evaluation->variables.name[i];
		uint32_t from = dfg_map_find(&names, name, strlen(name));
		struct dfg_tensor value;
		if (from == DFG_NONE || !run->variables.fact[from].set)
			continue;
		err = dfg_session_read(run->model.session, &run->variables.ref[from], &value);
		if (!err)
			err = dfg_session_assign(evaluation->model->session, &evaluation->variables.ref[i], &value);
		err = dfg_err_note(err, "variable '%s'", name);
	}
	dfg_map_release(&names);
	return err;
}

static struct dfg_err *run_batches(
	struct dfg_evaluation *evaluation, struct dfg_plan *plan, struct dfg_aggregation *means)
{
	const struct dfg_dataset *dataset = &evaluation->dataset;
	for (int64_t at = 0, n; at < dataset->samples; at += n) {
		n = dataset->samples - at < evaluation->batch ? dataset->samples - at : evaluation->batch;
		DFG_TRY(dfg_dataset_batch(dataset, at, n, evaluation->feeds.value + evaluation->first_batch));
		DFG_TRY(dfg_plan_run(plan, evaluation->feeds.value, evaluation->value));
		DFG_TRY(dfg_totals_add(&evaluation->totals, &evaluation->fetch, evaluation->value, n, means));
	}
	const struct dfg_feeds initial = {
		evaluation->feeds.edge, evaluation->feeds.value, evaluation->first_batch, evaluation->first_batch};
	DFG_TRY(dfg_totals_finish(&evaluation->totals, evaluation->model, &initial, means));
	for (uint32_t i = 0; i < means->count; i++)
		if (means->fetch[i].parts)
			return DFG_ERR(DFG_DATA, "--eval-fetch '%s' is not a scalar, so it has no mean over the samples",
				evaluation->fetch.name[i]);
	return NULL;
}

static struct dfg_err *evaluate(struct dfg_evaluation *evaluation, struct dfg_run *run, struct dfg_aggregation *means)
{
	const struct dfg_feeds initial = {
		evaluation->feeds.edge, evaluation->feeds.value, evaluation->first_batch, evaluation->first_batch};
	struct dfg_step step = step_of(evaluation);
	struct dfg_plan *plan;
	*means = (struct dfg_aggregation){.count = evaluation->fetch.count};
	if (!(means->fetch = dfg_zeros(means->count, sizeof *means->fetch)))
		return dfg_no_memory("the evaluation");
	DFG_TRY(take_variables(evaluation, run));
	DFG_TRY(dfg_variables_init(evaluation->model, &step, &initial));
	dfg_totals_reset(&evaluation->totals);
	step.fetch = evaluation->totals.fetch.edge;
	step.n_fetch = evaluation->totals.fetch.count;
	DFG_TRY(dfg_session_plan(evaluation->model->session, &step, &plan));
	return run_batches(evaluation, plan, means);
}

struct dfg_err *dfg_evaluation_run(
	struct dfg_evaluation *evaluation, struct dfg_run *run, uint64_t step, struct dfg_aggregation *out_means)
{
	struct dfg_err *err = evaluate(evaluation, run, out_means);
	err = dfg_err_note(err, "evaluation after step %llu", (unsigned long long)step);
	return dfg_err_of_file(err, evaluation->model->file.graph.source);
}

void dfg_evaluation_close(struct dfg_evaluation *evaluation)
{
	dfg_totals_reset(&evaluation->totals);
	dfg_feeds_release(&evaluation->feeds);
	dfg_dataset_release(&evaluation->dataset);
	dfg_model_close(&evaluation->own);
}
