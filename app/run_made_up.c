#include "app/made_up.h"
#include "app/run_private.h"

static struct dfg_err *feed_inputs(struct dfg_run *run, int64_t batch)
{
	const struct dfg_graph *graph = &run->model.file.graph;
	const struct dfg_made_up how = {.batch = batch, .seed = 1};
	for (uint32_t n = 0; n < graph->count; n++) {
		struct dfg_tensor value;
		struct dfg_edge edge = {n, 0};
		if (!graph->node[n].op || graph->node[n].op->role != DFG_PLACEHOLDER)
			continue;
		DFG_TRY(dfg_err_note(dfg_made_up_value(dfg_model_fact(&run->model, edge), &how, &value), "%s: input '%.200s'",
			graph->source, graph->node[n].name));
		DFG_TRY(dfg_feeds_add(&run->feeds, edge, &value));
	}
	return NULL;
}

static struct dfg_err *time_steps(struct dfg_run *run, int64_t batch)
{
	struct dfg_arrays results = {0};
	DFG_TRY(dfg_run_bind_names(run));
	DFG_TRY(feed_inputs(run, batch));
	DFG_TRY(dfg_run_fuse(run));
	DFG_TRY(dfg_variables_list(&run->model, &run->variables));
	struct dfg_err *err = dfg_run_once(run, &results);
	dfg_arrays_release(&results);
	return err;
}

struct dfg_err *dfg_run_made_up(const char *path, int64_t batch, struct dfg_run *run)
{
	struct dfg_session_options session;
	DFG_TRY(dfg_execution_session(run->execution, &session));
	session.profile = run->options->profile;
	DFG_TRY(dfg_model_open(path, &run->input, &session, &run->model));
	return time_steps(run, batch);
}
