#include "app/seeds.h"
#include "cmd/progress.h"
#include "cmd/run_command.h"

#include <string.h>

/* m.jsonl of seed 3 is m-3.jsonl. */
static struct dfg_err *name_metrics(const char *path, int64_t seed, struct dfg_arena *arena, const char **out_path)
{
	const char *slash = strrchr(path, '/'), *dot = strrchr(slash ? slash : path, '.');
	const int length = (int)(dot ? (size_t)(dot - path) : strlen(path));
	*out_path = dfg_arena_print(arena, "%.*s-%lld%s", length, path, (long long)seed, dot ? dot : "");
	return *out_path ? NULL : dfg_no_memory("the name of the metrics");
}

static struct dfg_err *train(
	const char *path, const struct dfg_run *start, struct dfg_seed_scores *scores, int *out_status)
{
	struct dfg_run run = *start;
	struct dfg_progress progress = {0};
	const struct dfg_data_watch watch = dfg_progress_watch(&progress);
	struct dfg_arrays results = {0};
	bool stopped = false;
	struct dfg_err *err = dfg_run_open(path, NULL, &run);
	if (!err)
		err = dfg_variables_hint(&run.model, dfg_run_data(&run, &watch, &results, &stopped));
	if (!err && stopped)
		*out_status = 128 + dfg_stop_signal();
	else if (!err)
		err = dfg_seed_scores_add(scores, &run, &results);
	dfg_arrays_release(&results);
	dfg_run_close(&run);
	return err;
}

static struct dfg_err *train_all(const char *path, const struct dfg_run *start, struct dfg_run_options *options,
	int64_t *seed, struct dfg_seed_scores *scores, struct dfg_arena *arena, int *out_status)
{
	const char *metrics = options->metrics;
	const int64_t first = *seed < 0 ? 0 : *seed, shuffle = options->shuffle < 0 ? 0 : options->shuffle;
	for (int64_t i = 0; i < options->repeat && !*out_status; i++) {
		*seed = first + i;
		options->shuffle = shuffle + i;
		if (metrics)
			DFG_TRY(name_metrics(metrics, *seed, arena, &options->metrics));
		dfg_talk("seed %lld, %lld of %lld", (long long)*seed, (long long)i + 1, (long long)options->repeat);
		DFG_TRY(dfg_err_note(train(path, start, scores, out_status), "seed %lld", (long long)*seed));
	}
	return NULL;
}

struct dfg_err *dfg_run_seeds(
	const char *path, const struct dfg_run *start, struct dfg_run_options *options, int64_t *seed, int *out_status)
{
	struct dfg_seed_scores scores = {0};
	struct dfg_arena arena = {0};
	struct dfg_arrays results = {0};
	struct dfg_run run = *start;
	const struct dfg_run_options given = *options;
	const int64_t given_seed = *seed;
	dfg_stop_catch();
	struct dfg_err *err = train_all(path, start, options, seed, &scores, &arena, out_status);
	*options = given; /* after a restart all begin anew */
	*seed = given_seed;
	if (!err && !*out_status)
		err = dfg_seed_scores_results(&scores, &results);
	dfg_out_begin();
	if (!err && !*out_status)
		err = dfg_run_print(&run, &results);
	err = dfg_out_end(err);
	dfg_arrays_release(&results);
	dfg_seed_scores_release(&scores);
	dfg_arena_release(&arena);
	return err;
}
