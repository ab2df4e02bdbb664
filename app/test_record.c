#include "app/test_record.h"

#include "formats/json.h"
#include "lib/base/folder.h"

#include <string.h>

/* One step, its inputs and what it gave. */
struct recording {
	const struct dfg_test_record *record;
	struct dfg_run run;
	struct dfg_folder folder;
	struct dfg_arrays before, feeds, results; /* before: the variables */
};

static bool is_ours(const char *name)
{
	static const char *const names[] = {"case.json", "graph.pb", "feeds.npz", "variables.npz", "expect.npz"};
	for (size_t i = 0; i < sizeof names / sizeof *names; i++)
		if (!strcmp(name, names[i]))
			return true;
	return false;
}

static struct dfg_err *keep_feeds(struct recording *r)
{
	for (uint32_t i = 0; i < r->run.feeds.count; i++) {
		struct dfg_tensor value;
		const char *name = dfg_graph_tensor_name(&r->run.model.file.graph, r->run.feeds.edge[i]);
		if (!name)
			return dfg_no_memory("the feeds");
		DFG_TRY(dfg_tensor_share(&r->run.feeds.value[i], &value));
		DFG_TRY(dfg_arrays_add(&r->feeds, name, &value));
	}
	return NULL;
}

/* The plan of the step initialises the variables that it reads; those of no use to it are not set and not recorded. */
static struct dfg_err *run_step(struct recording *r)
{
	struct dfg_plan *plan;
	struct dfg_run *run = &r->run;
	DFG_TRY(dfg_run_open(r->record->graph, NULL, run));
	DFG_TRY(keep_feeds(r));
	DFG_TRY(dfg_run_plan(run, &run->feeds, &run->fetch, &plan));
	DFG_TRY(dfg_variables_list(&run->model, &run->variables));
	DFG_TRY(dfg_variables_values(&run->model, &run->variables, "--record", &r->before));
	return dfg_run_once(run, &r->results);
}

static struct dfg_err *write_arrays(struct recording *r, const char *name, const struct dfg_arrays *arrays)
{
	const char *path;
	if (!arrays->count)
		return NULL;
	DFG_TRY(dfg_folder_file(&r->folder, name, &path));
	return dfg_arrays_write(path, "npz", false, arrays);
}

/* The graph as it was read, not as the run has changed it. */
static struct dfg_err *write_graph(struct recording *r)
{
	struct dfg_graph_file file = {0};
	struct dfg_graph_output output = {.format = "pb"};
	DFG_TRY(dfg_folder_file(&r->folder, "graph.pb", &output.path));
	DFG_TRY(dfg_graph_input_open(r->record->graph, &r->record->input, &file));
	struct dfg_err *err = dfg_graph_save(&output, &file.graph);
	dfg_graph_close(&file);
	return err;
}

static void put_list(struct dfg_json_out *json, const char *key, const char *const *name, uint32_t count)
{
	if (!count)
		return;
	dfg_json_key(json, key), dfg_json_open(json, '[');
	for (uint32_t i = 0; i < count; i++)
		dfg_json_string(json, name[i]);
	dfg_json_close(json, ']');
}

static void put_targets(struct dfg_json_out *json, const struct dfg_run *run)
{
	if (!run->n_target)
		return;
	dfg_json_key(json, "targets"), dfg_json_open(json, '[');
	for (uint32_t i = 0; i < run->n_target; i++)
		dfg_json_string(json, run->model.file.graph.node[run->target[i]].name);
	dfg_json_close(json, ']');
}

static void put_tolerance(struct dfg_json_out *json, const char *key, double value)
{
	if (value > 0)
		dfg_json_key(json, key), dfg_json_f64(json, value);
}

static void put_step(struct dfg_json_out *json, const struct recording *r)
{
	dfg_json_open(json, '{');
	if (r->feeds.count)
		dfg_json_key(json, "feeds"), dfg_json_string(json, "feeds.npz");
	put_targets(json, &r->run);
	put_list(json, "fetch", r->run.fetch.name, r->run.fetch.count);
	if (r->results.count)
		dfg_json_key(json, "expect"), dfg_json_string(json, "expect.npz");
	put_tolerance(json, "rtol", r->record->rtol);
	put_tolerance(json, "atol", r->record->atol);
	dfg_json_close(json, '}');
}

static struct dfg_err *write_case(struct recording *r)
{
	struct dfg_json_out json = {.text = {0}};
	const char *path;
	DFG_TRY(dfg_folder_file(&r->folder, "case.json", &path));
	dfg_json_open(&json, '{');
	if (r->before.count)
		dfg_json_key(&json, "load"), dfg_json_string(&json, "variables.npz");
	dfg_json_key(&json, "steps"), dfg_json_open(&json, '[');
	put_step(&json, r);
	dfg_json_close(&json, ']');
	dfg_json_close(&json, '}');
	dfg_text_put(&json.text, "\n", 1);
	struct dfg_err *err = dfg_out_text(path, false, &json.text);
	dfg_text_release(&json.text);
	return err;
}

static struct dfg_err *write_folder(struct recording *r)
{
	DFG_TRY(dfg_folder_open(r->record->folder, r->record->options->if_changed, is_ours, &r->folder));
	DFG_TRY(write_graph(r));
	DFG_TRY(write_arrays(r, "variables.npz", &r->before));
	DFG_TRY(write_arrays(r, "feeds.npz", &r->feeds));
	DFG_TRY(write_arrays(r, "expect.npz", &r->results));
	DFG_TRY(write_case(r));
	return dfg_folder_commit(&r->folder);
}

struct dfg_err *dfg_test_record_write(const struct dfg_test_record *record)
{
	struct recording r = {
		.record = record, .run = {.options = record->options, .execution = record->execution, .input = record->input}};
	struct dfg_err *err = run_step(&r);
	if (!err)
		err = write_folder(&r);
	err = dfg_folder_end(&r.folder, err);
	dfg_arrays_release(&r.before);
	dfg_arrays_release(&r.feeds);
	dfg_arrays_release(&r.results);
	dfg_run_close(&r.run);
	return err;
}
