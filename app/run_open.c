#include "app/run_private.h"

#include "app/shard_variables.h"
#include "lib/base/text.h"
#include "lib/pass/rewrite/fuse_updates.h"
#include "lib/pass/rewrite/variants.h"

#include <string.h>

/* Keeps the tensors that batches feed: they have no values yet and are not among the run's feeds. */
static struct dfg_err *keep_given(struct dfg_run *run, const struct dfg_words_list *words, struct dfg_keep *keep)
{
	for (size_t i = 0; i < words->count; i++) {
		const char *equals = strchr(words->word[i], '=');
		const char *name =
			equals ? dfg_arena_copy(&run->model.arena, words->word[i], (size_t)(equals - words->word[i])) : NULL;
		if (name)
			DFG_TRY(dfg_model_tensor(&run->model, name, &keep->feed[keep->n_feed++]));
	}
	return NULL;
}

/* *out_any is false if nothing needs to be fused. */
static struct dfg_err *find_kept(struct dfg_run *run, bool *out_any)
{
	struct dfg_keep *keep = &run->keep;
	*keep = (struct dfg_keep){
		.fetch = run->fetch.edge, .n_fetch = run->fetch.count, .target = run->target, .n_target = run->n_target};
	*out_any = !run->execution->no_opt && run->n_target;
	if (!*out_any)
		return NULL;
	keep->feed =
		dfg_arena_zeros(&run->model.arena, run->feeds.count + run->options->data.count + 1, sizeof *keep->feed);
	if (!keep->feed)
		return dfg_no_memory("the feeds");
	for (; keep->n_feed < run->feeds.count; keep->n_feed++)
		keep->feed[keep->n_feed] = run->feeds.edge[keep->n_feed];
	return keep_given(run, &run->options->data, keep);
}

struct dfg_err *dfg_run_fuse(struct dfg_run *run)
{
	struct dfg_arena scratch = {0};
	struct dfg_text report = {0};
	bool any;
	DFG_TRY(find_kept(run, &any));
	if (!any)
		return NULL;
	struct dfg_err *err = dfg_fuse_updates(&run->model.file.graph, &run->keep, &scratch, &report);
	dfg_text_release(&report);
	dfg_arena_release(&scratch);
	return err;
}

struct dfg_err *dfg_run_bind_names(struct dfg_run *run)
{
	DFG_TRY(dfg_model_tensors(&run->model, &run->options->fetch, &run->fetch));
	DFG_TRY(dfg_model_nodes(&run->model, &run->options->target, &run->target, &run->n_target));
	if (!run->fetch.count && !run->n_target)
		DFG_TRY(dfg_model_outputs(&run->model, &run->fetch));
	if (!run->n_target) /* nothing is trained */
		run->only_training = dfg_model_inference(&run->model, &run->fetch);
	return NULL;
}

/* Resolves the fetches, targets and feeds in the graph. */
static struct dfg_err *ask(struct dfg_run *run)
{
	DFG_TRY(dfg_run_bind_names(run));
	DFG_TRY(dfg_run_check_results(run));
	return dfg_run_bind_feeds(run);
}

/* The tensors that --data feeds are sharded; those of --feed are the same in every shard. */
static struct dfg_err *shard(struct dfg_run *run)
{
	const struct dfg_words_list *data = &run->options->data;
	struct dfg_keep given = {.feed = dfg_arena_zeros(&run->model.arena, data->count + 1, sizeof(struct dfg_edge))};
	struct dfg_keep keep = {
		.fetch = run->fetch.edge, .n_fetch = run->fetch.count, .target = run->target, .n_target = run->n_target};
	if (!run->replication)
		return NULL;
	if (run->model.plan.parts.parts && run->replication->parts.count)
		return DFG_ERR(
			DFG_USAGE, "--shard-variable cannot be used with a plan, in which variables are divided already");
	if (run->model.plan.parts.parts)
		return dfg_replication_fetches(&run->model, &run->fetch);
	if (!given.feed)
		return dfg_no_memory("the feeds");
	DFG_TRY(keep_given(run, data, &given));
	DFG_TRY(dfg_shard_model(&run->replication->parts, &run->model));
	DFG_TRY(dfg_replication_apply(run->replication, &run->model, given.feed, given.n_feed, run->input.report, &keep));
	return dfg_replication_fetches(&run->model, &run->fetch);
}

/* Parallel loops are explained as they are before they are cut. */
static struct dfg_err *find_loops(struct dfg_run *run)
{
	struct dfg_model *model = &run->model;
	return run->options->explain && dfg_parallel_is_marked(&model->file.graph)
			   ? dfg_dependences_find(&model->file.graph, &model->arena, &run->loops)
			   : NULL;
}

static struct dfg_err *explain(void *arg, struct dfg_explained *explained)
{
	struct dfg_run *run = arg;
	explained->shards = run->replication ? run->replication->n_shards : 1;
	explained->loops = run->loops;
	dfg_text_release(&run->explanation);
	return run->options->explain(explained, &run->explanation);
}

/* In a distributed run, updates are fused when the devices of their nodes are known. */
static struct dfg_err *ask_before_the_cut(void *arg)
{
	struct dfg_run *run = arg;
	bool any;
	if (run->options->explain && run->model.plan.parts.parts)
		return DFG_ERR(
			DFG_USAGE, "--explain cannot be used with a plan, whose nodes already have devices: dfg show lists them");
	DFG_TRY(find_loops(run));
	if (run->blocks && !run->model.plan.parts.parts)
		DFG_TRY(dfg_blocks_apply(run->blocks, run->input.report, &run->model));
	DFG_TRY(ask(run));
	DFG_TRY(shard(run));
	DFG_TRY(find_kept(run, &any));
	run->distributed->keep = any ? &run->keep : NULL;
	return NULL;
}

/* Nothing is trained, but a fetch is of the variant for training. */
static void warn_of_inference(const struct dfg_run *run)
{
	const struct dfg_graph *graph = &run->model.file.graph;
	if (!dfg_variants_are_two(graph))
		dfg_report_note(run->input.report,
			"warning: %s was built with -D training=true, and no --target trains: dropout, batch_norm and all else "
			"that tests `training` are on; to use the model, build it without -D training=true",
			graph->source);
	else if (run->only_training)
		dfg_report_note(run->input.report,
			"warning: no --target trains, but '%s' is only computed in training: dropout, batch_norm and all else that "
			"tests `training` are on in it",
			run->only_training);
}

/* Something is trained, or may be, in the variant for inference. */
static void warn_of_target(const struct dfg_run *run)
{
	const struct dfg_graph *graph = &run->model.file.graph;
	if (dfg_graph_has_loss(graph))
		dfg_report_note(run->input.report,
			"warning: --target trains %s, which was built with -D training=false: dropout, batch_norm and all else "
			"that "
			"tests `training` are off; build it without -D training=false before dfg grad",
			graph->source);
	for (uint32_t i = 0; i < run->n_target; i++)
		if (dfg_variants_has_training(graph, run->target[i]))
			dfg_report_note(run->input.report,
				"warning: `training` is false in target '%s': dfg build -D training=true builds the graph where it is "
				"true, -D training=false this one without a warning",
				graph->node[run->target[i]].name);
}

/* Warns where the value of `training` does not suit the step: it should be true in steps that train, false in others. */
static void warn_of_training(const struct dfg_run *run)
{
	const int training = dfg_graph_training(&run->model.file.graph);
	if (training == 1 && !run->n_target)
		warn_of_inference(run);
	if (training == 0 && run->n_target)
		warn_of_target(run);
}

static struct dfg_err *bind(struct dfg_run *run)
{
	if (!run->distributed) {
		if (run->blocks)
			DFG_TRY(dfg_blocks_apply(run->blocks, run->input.report, &run->model));
		DFG_TRY(ask(run));
		DFG_TRY(shard(run));
		DFG_TRY(dfg_run_fuse(run));
	}
	warn_of_training(run);
	DFG_TRY(dfg_variables_list(&run->model, &run->variables));
	return dfg_run_load(run);
}

struct dfg_err *dfg_run_save(struct dfg_run *run)
{
	struct dfg_arrays values = {0};
	if (!run->options->save)
		return NULL;
	struct dfg_err *err = dfg_variables_values(&run->model, &run->variables, "--save", &values);
	if (!err)
		err = dfg_arrays_write(run->options->save, NULL, run->options->if_changed, &values);
	dfg_arrays_release(&values);
	return err;
}

static struct dfg_err *open_model(const char *path, struct dfg_trace *trace, struct dfg_run *run)
{
	struct dfg_session_options session;
	DFG_TRY(dfg_execution_session(run->execution, &session));
	session.trace = trace ? dfg_trace_event : NULL;
	session.trace_arg = trace;
	session.profile = run->options->profile;
	session.shards = run->replication ? run->replication->n_shards : 1;
	session.async = run->replication && run->replication->async;
	session.staleness = run->replication ? run->replication->bound : 0;
	session.quorum = dfg_record_quorum(&run->record, run->replication);
	if (!run->distributed)
		return dfg_model_open(path, &run->input, &session, &run->model);
	if (run->replication && dfg_plan_folder_is(path))
		session.shards = (uint32_t)run->replication->shards;
	run->distributed->trace = trace ? dfg_trace_worker_event : NULL;
	run->distributed->trace_arg = trace;
	run->distributed->opened = ask_before_the_cut;
	run->distributed->opened_arg = run;
	run->distributed->cut = run->options->explain ? explain : NULL;
	run->distributed->cut_arg = run;
	return dfg_model_distribute(path, &run->input, &session, run->distributed, &run->model);
}

struct dfg_err *dfg_run_open(const char *path, struct dfg_trace *trace, struct dfg_run *run)
{
	DFG_TRY(open_model(path, trace, run));
	return bind(run);
}

void dfg_run_close(struct dfg_run *run)
{
	dfg_feeds_release(&run->feeds);
	dfg_text_release(&run->explanation);
	dfg_free(run->staleness.lag);
	run->staleness = (struct dfg_staleness){0};
	dfg_model_close(&run->model);
}
