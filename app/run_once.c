#include "app/run.h"

#include "lib/base/pool.h"

#include <stdlib.h>

struct dfg_err *dfg_run_plan(
	struct dfg_run *run, const struct dfg_feeds *feeds, const struct dfg_edges *fetch, struct dfg_plan **out_plan)
{
	struct dfg_step step = {
		.feed = feeds->edge,
		.n_feed = feeds->count,
		.fetch = fetch->edge,
		.n_fetch = fetch->count,
		.target = run->target,
		.n_target = run->n_target,
	};
	DFG_TRY(dfg_variables_init(&run->model, &step, &run->feeds));
	return dfg_err_of_file(dfg_session_plan(run->model.session, &step, out_plan), run->model.file.graph.source);
}

struct dfg_err *dfg_results_add(struct dfg_arrays *results, const struct dfg_edges *fetch, struct dfg_tensor *value)
{
	struct dfg_err *err = NULL;
	for (uint32_t i = 0; i < fetch->count; i++)
		if (err || dfg_arrays_find(results, fetch->name[i])) /* fetched twice, returned once */
			dfg_tensor_release(&value[i]);
		else
			err = dfg_arrays_add(results, fetch->name[i], &value[i]);
	return err;
}

static int by_value(const void *a, const void *b)
{
	const double *one = a, *two = b;
	return (*one > *two) - (*one < *two);
}

static double quantile(const double *sorted, size_t count, double part)
{
	return sorted[(size_t)((double)(count - 1) * part + 0.5)];
}

const char *const dfg_timing_name[DFG_TIMINGS] = {"median_us", "p10_us", "p90_us", "steps_per_s", "first_us"};

static struct dfg_timing sum_up(double *us, size_t count, double first)
{
	double sum = 0;
	for (size_t i = 0; i < count; i++)
		sum += us[i];
	qsort(us, count, sizeof *us, by_value);
	return (struct dfg_timing){true, {quantile(us, count, 0.5), quantile(us, count, 0.1), quantile(us, count, 0.9),
										 sum > 0 ? 1e6 * (double)count / sum : 0, first}};
}

/* Adds the number of the step, where there are several; the `warmup` steps of --warmup are negative. Takes err. */
static struct dfg_err *of_step(struct dfg_err *err, int64_t step, int64_t warmup, bool several)
{
	if (!several)
		return err;
	return step < 0 ? dfg_err_note(err, "warm-up step %lld of %lld", (long long)(step + warmup + 1), (long long)warmup)
					: dfg_err_note(err, "step %lld", (long long)step + 1);
}

/* Returns the last step's values in `value`, and the times of the timed steps in `us`. */
static struct dfg_err *repeat(
	struct dfg_run *run, struct dfg_plan *plan, struct dfg_tensor *value, double *us, size_t count)
{
	int64_t warmup = run->options->warmup;
	double first = 0;
	for (int64_t i = -warmup; i < (int64_t)count; i++) {
		for (uint32_t k = 0; k < run->fetch.count; k++)
			dfg_tensor_release(&value[k]);
		uint64_t begin = dfg_now();
		DFG_TRY(of_step(dfg_plan_run(plan, run->feeds.value, value), i, warmup, count > 1 || warmup));
		double took = (double)(dfg_now() - begin) / 1e3;
		if (i == -warmup)
			first = took;
		if (i >= 0)
			us[i] = took;
	}
	if (run->options->repeat > 0 || warmup)
		run->timing = sum_up(us, count, first);
	return NULL;
}

static void release_all(struct dfg_tensor *value, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++)
		dfg_tensor_release(&value[i]);
}

struct dfg_err *dfg_run_once(struct dfg_run *run, struct dfg_arrays *out_results)
{
	struct dfg_plan *plan;
	size_t count = run->options->repeat > 0 ? (size_t)run->options->repeat : 1;
	DFG_TRY(dfg_run_plan(run, &run->feeds, &run->fetch, &plan));
	struct dfg_tensor *value = dfg_arena_zeros(&run->model.arena, run->fetch.count, sizeof *value);
	double *us = dfg_arena_zeros(&run->model.arena, count, sizeof *us);
	if (!value || !us)
		return dfg_no_memory("the results of the step");
	struct dfg_err *err = dfg_err_of_file(repeat(run, plan, value, us, count), run->model.file.graph.source);
	if (err) {
		release_all(value, run->fetch.count);
		return err;
	}
	dfg_plan_stats(plan, &run->stats);
	return dfg_results_add(out_results, &run->fetch, value);
}
