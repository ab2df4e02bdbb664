#include "app/feed.h"
#include "app/run_private.h"

#include <stdio.h>

/* Fills floats with noise and all else with zeros: an index or label of 0 is usually valid. */
static struct dfg_err *make_up(const struct dfg_inferred *fact, int64_t batch, struct dfg_tensor *out_value)
{
	bool noise = dfg_dtype_is(fact->dtype, "float");
	struct dfg_shape shape = fact->shape;
	char text[300];
	if (shape.rank < 0)
		return DFG_ERR(DFG_DATA, "its shape is unknown: time it with 'dfg run --feed --repeat'");
	for (int i = 0; i < shape.rank; i++)
		shape.dim[i] = shape.dim[i] < 0 ? batch : shape.dim[i];
	snprintf(text, sizeof text, "%s:%s%s", noise ? "normal" : "zeros", dfg_type_words(fact->dtype, &shape).s,
		noise ? ":seed=1" : "");
	return dfg_feed_value(text, fact, out_value);
}

static struct dfg_err *feed_inputs(struct dfg_run *run, int64_t batch)
{
	const struct dfg_graph *graph = &run->model.file.graph;
	for (uint32_t n = 0; n < graph->count; n++) {
		struct dfg_tensor value;
		struct dfg_edge edge = {n, 0};
		if (!graph->node[n].op || graph->node[n].op->role != DFG_PLACEHOLDER)
			continue;
		DFG_TRY(dfg_err_note(make_up(dfg_model_fact(&run->model, edge), batch, &value), "%s: input '%.200s'",
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
