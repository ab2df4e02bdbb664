#include "app/run_private.h"

#include "app/array_source.h"

static struct dfg_err *load_from(struct dfg_run *run, const char *path)
{
	struct dfg_checkpoint checkpoint;
	struct dfg_err *err = dfg_array_source_read(path, run->input.report, &checkpoint);
	if (!err)
		err =
			dfg_variables_load(&run->model, &checkpoint.arrays, path, run->options->map.word, run->options->map.count);
	if (!err && checkpoint.step)
		run->loaded_step = checkpoint.step;
	dfg_checkpoint_release(&checkpoint);
	return err;
}

static struct dfg_err *run_init(struct dfg_run *run)
{
	uint32_t node;
	struct dfg_plan *plan;
	const char *init = run->options->init;
	DFG_TRY(dfg_err_note(dfg_model_node(&run->model, init, &node), "--init %s", init));
	struct dfg_step step = {.feed = run->feeds.edge, .n_feed = run->feeds.count, .target = &node, .n_target = 1};
	struct dfg_err *err = dfg_session_plan(run->model.session, &step, &plan);
	if (!err)
		err = dfg_plan_run(plan, run->feeds.value, NULL);
	return dfg_err_of_file(dfg_err_note(err, "--init %s", init), run->model.file.graph.source);
}

struct dfg_err *dfg_run_load(struct dfg_run *run)
{
	run->model.loaded.partial = run->options->partial;
	if (run->options->init)
		DFG_TRY(run_init(run));
	for (size_t i = 0; i < run->options->load.count; i++)
		DFG_TRY(load_from(run, run->options->load.word[i]));
	return NULL;
}
