#include "app/loaded.h"
#include "app/run_data_private.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static uint64_t shuffle_seed(const struct training *t)
{
	int64_t seed = t->run->options->shuffle;
	return seed < 0 ? 0 : (uint64_t)seed;
}

bool dfg_training_is_over(const struct training *t)
{
	if (dfg_best_ends(&t->best, &t->at.best))
		return true;
	return (t->steps && t->at.step >= t->steps) || (t->epochs && t->at.epoch > t->epochs) ||
		   (t->run->options->steps == 0);
}

int64_t dfg_training_batch_at(const struct training *t, int64_t sample)
{
	int64_t left = t->dataset.samples - sample;
	bool begins = t->round && sample / t->batch % t->round == 0;
	if (t->run->options->drop_last && (left < t->batch || (begins && left / t->batch < t->round)))
		return 0;
	return left < t->batch ? left : t->batch;
}

static int64_t next_batch(const struct training *t)
{
	return dfg_training_batch_at(t, (int64_t)t->at.sample);
}

static struct dfg_err *set_ends(struct training *t)
{
	const struct dfg_run_options *o = t->run->options;
	t->steps = o->steps > 0 ? (uint64_t)o->steps : 0;
	t->epochs = o->epochs > 0 ? (uint64_t)o->epochs : o->steps >= 0 ? 0 : 1;
	if (o->epochs == 0)
		return DFG_ERR(DFG_USAGE, "--epochs must be at least 1, not 0");
	if (!t->dataset.count && o->steps < 0)
		return DFG_ERR(DFG_USAGE, "without --data, --steps N is required");
	if (!t->dataset.count)
		return NULL;
	if (o->drop_last && t->dataset.samples < t->batch)
		return DFG_ERR(DFG_DATA, "--drop-last leaves no batch: the number of samples is %lld, the batch size %lld",
			(long long)t->dataset.samples, (long long)t->batch);
	return NULL;
}

static struct dfg_err *open_data(struct training *t)
{
	const struct dfg_run_options *o = t->run->options;
	DFG_TRY(dfg_err_note(dfg_dataset_open(&t->run->model, t->run->distributed, &o->data, &t->dataset), "--data"));
	int64_t full = o->batch > 0 ? t->dataset.samples / o->batch : 0;
	bool ends_before = o->epochs < 0 && o->steps >= 0 && o->steps <= full; /* the run ends before the short batch */
	DFG_TRY(dfg_dataset_batch_size(&t->run->model, &t->dataset, o->batch, !o->drop_last && !ends_before, &t->batch));
	if (t->async) /* a step is one replica's */
		t->batch = t->batch > t->async ? t->batch / t->async : 1;
	DFG_TRY(set_ends(t));
	struct dfg_edge *data = dfg_arena_zeros(&t->run->model.arena, t->dataset.count, sizeof *data);
	if (!data)
		return dfg_no_memory("the batches");
	for (uint32_t i = 0; i < t->dataset.count; i++)
		data[i] = t->dataset.input[i].edge;
	DFG_TRY(dfg_feeds_share(&t->run->feeds, data, t->dataset.count, &t->feeds));
	t->first_batch = t->feeds.count;
	for (uint32_t i = 0; i < t->dataset.count; i++) {
		struct dfg_tensor none = {0};
		DFG_TRY(dfg_feeds_add(&t->feeds, data[i], &none));
	}
	return NULL;
}

/*
 * Reports steps that cannot run before a file or directory is created. Variables that --load lacks may come from a
 * checkpoint.
 */
static struct dfg_err *check_step(struct training *t)
{
	struct dfg_variables variables;
	bool *missing;
	struct dfg_run *run = t->run;
	struct dfg_step step = {
		.feed = t->feeds.edge,
		.n_feed = t->feeds.count,
		.fetch = run->fetch.edge,
		.n_fetch = run->fetch.count,
		.target = run->target,
		.n_target = run->n_target,
	};
	DFG_TRY(dfg_err_of_file(dfg_session_plan(run->model.session, &step, &t->plan), run->model.file.graph.source));
	if (t->run->options->resume || !run->model.loaded.from)
		return NULL;
	DFG_TRY(dfg_variables_missing(&run->model, &step, &t->feeds, &variables, &missing));
	return dfg_loaded_check(&run->model, &variables, missing);
}

static struct dfg_sample_order sample_order(const struct training *t)
{
	bool shuffled = !t->run->options->no_shuffle;
	return (struct dfg_sample_order){.known = t->dataset.count > 0,
		.shuffled = shuffled,
		.drop_last = t->run->options->drop_last,
		.shards = t->run->model.shards > 1 ? t->run->model.shards : 1,
		.batch = (uint64_t)t->batch,
		.samples = (uint64_t)t->dataset.samples,
		.seed = shuffled ? shuffle_seed(t) : 0};
}

/* The plan of a step. The first one initialises the variables of all fetches. */
static struct dfg_err *plan_steps(struct training *t)
{
	struct dfg_run *run = t->run;
	DFG_TRY(dfg_run_plan(run, &t->feeds, &run->fetch, &t->plan));
	t->fetch = t->totals.fetch = run->fetch;
	if (!t->trains)
		DFG_TRY(dfg_totals_find(&run->model, &t->feeds, &run->fetch, &t->totals));
	if (t->totals.n_total) {
		DFG_TRY(dfg_replication_fetches(&run->model, &t->totals.fetch));
		DFG_TRY(dfg_run_plan(run, &t->feeds, &t->totals.fetch, &t->plan));
		t->fetch = t->totals.fetch;
		t->fetch.count = t->totals.n_direct;
	}
	t->value = dfg_arena_zeros(&run->model.arena, t->totals.fetch.count, sizeof *t->value);
	return t->value ? NULL : dfg_no_memory("the batches");
}

static struct dfg_err *no_rounds(const struct training *t, const char *what, uint64_t number)
{
	return DFG_ERR(DFG_DATA,
		"%s %llu is not a multiple of the %u replicas, whose steps wait for each other in queues of the graph", what,
		(unsigned long long)number, t->round);
}

/* Rounds of steps are whole: what ends one or comes between two must be after a multiple of the replicas. */
static struct dfg_err *check_rounds(struct training *t)
{
	const struct dfg_run_options *o = t->run->options;
	uint64_t samples = (uint64_t)t->dataset.samples, batch = (uint64_t)t->batch;
	if (t->bounded && dfg_plan_has_rounds(t->plan))
		return DFG_ERR(DFG_DATA,
			"--sync ssp: queues of the graph already make the replicas wait for each other: use --sync "
			"async");
	if (!t->async || !dfg_plan_has_rounds(t->plan))
		return NULL;
	t->round = t->async;
	uint64_t each = samples / batch + (samples % batch && !o->drop_last);
	if (each % t->round && !o->drop_last)
		return dfg_err_note(no_rounds(t, "the number of steps in an epoch,", each), "--batch, without --drop-last");
	if (t->steps % t->round)
		return no_rounds(t, "--steps", t->steps);
	uint64_t every = o->eval_every > 0 ? (uint64_t)o->eval_every : 0;
	return every % t->round ? no_rounds(t, "--eval-every", every) : NULL;
}

/* Replicas whose parts of the batch are updates by themselves. */
static struct dfg_err *find_async(struct training *t)
{
	const struct dfg_replication *replication = t->run->replication;
	if (!replication || !replication->async || replication->n_replicas < 2)
		return NULL;
	uint32_t *count = replication->bound ? &t->bounded : &t->async;
	*count = replication->n_replicas;
	t->blocked_ns = dfg_arena_zeros(&t->run->model.arena, *count, sizeof *t->blocked_ns);
	t->read = dfg_arena_zeros(&t->run->model.arena, *count, sizeof *t->read);
	return t->blocked_ns && t->read ? NULL : dfg_no_memory("the replicas");
}

static struct dfg_err *open_all(struct training *t)
{
	struct dfg_run *run = t->run;
	t->trains = run->n_target > 0;
	DFG_TRY(find_async(t));
	DFG_TRY(open_data(t));
	DFG_TRY(check_step(t));
	DFG_TRY(check_rounds(t));
	DFG_TRY(dfg_evaluation_open(run, t->run->options->batch, &t->evaluation));
	DFG_TRY(dfg_best_open(run, &t->evaluation, &t->best));
	t->at = (struct dfg_checkpoint){.order = sample_order(t), .epoch = 1};
	DFG_TRY(dfg_checkpointing_open(run, &t->checkpointing, &t->at));
	DFG_TRY(dfg_evaluation_check(&t->evaluation, run));
	if (t->at.sample > (uint64_t)t->dataset.samples)
		return DFG_ERR(DFG_DATA,
			"%s continues at sample %llu, but the data has only %lld samples: it was made with other data",
			t->run->options->checkpoint, (unsigned long long)t->at.sample, (long long)t->dataset.samples);
	DFG_TRY(plan_steps(t));
	DFG_TRY(dfg_metrics_open(t->run->options->metrics, t->run->options->times, t->at.step, &t->metrics));
	t->begun = t->at.step;
	run->record.step = t->at.step * t->bounded;
	DFG_TRY(dfg_record_open(&run->record, run->model.shards, t->bounded ? run->record.step : t->at.step));
	t->aggregation.fetch = dfg_zeros(run->fetch.count, sizeof *t->aggregation.fetch);
	t->aggregation.count = t->aggregation.fetch ? run->fetch.count : 0;
	return t->aggregation.fetch ? NULL : dfg_no_memory("the batches");
}

/* The first fetch with a single float, shown as progress. */
static const char *followed(const struct training *t, double *out_value)
{
	for (uint32_t i = 0; i < t->fetch.count; i++) {
		const struct dfg_tensor *value = &t->value[i];
		bool real =
			value->dtype == DFG_F32 || value->dtype == DFG_F64 || value->dtype == DFG_F16 || value->dtype == DFG_BF16;
		if (real && dfg_shape_count(&value->shape) == 1) {
			*out_value = dfg_tensor_float(value, 0);
			return t->fetch.name[i];
		}
	}
	return NULL;
}

void dfg_training_tell(struct training *t, uint64_t epoch)
{
	double value = 0;
	const char *name = followed(t, &value);
	if (name && !isfinite(value) && !t->warned) {
		t->watch->hide(t->watch->arg);
		dfg_report_note(t->run->input.report, "warning: '%s' is %s at step %llu; --check-numerics names the node", name,
			isnan(value) ? "nan" : "inf", (unsigned long long)t->at.step);
		t->warned = true;
	}
	t->watch->step(t->watch->arg, t->at.step, epoch, name, value);
}

struct dfg_err *dfg_training_of_step(const struct training *t, struct dfg_err *err)
{
	err = dfg_err_note(err, "step %llu", (unsigned long long)t->at.step + 1);
	return dfg_err_of_file(err, t->run->model.file.graph.source);
}

void dfg_training_release(struct training *t)
{
	for (uint32_t i = 0; i < t->totals.fetch.count; i++)
		dfg_tensor_release(&t->value[i]);
	if (t->run->distributed)
		t->run->distributed->step = t->at.step + 1;
}

static struct dfg_err *one_step(struct training *t, int64_t n)
{
	struct dfg_run *run = t->run;
	DFG_TRY(dfg_dataset_batch(&t->dataset, (int64_t)t->at.sample, n, t->feeds.value + t->first_batch));
	dfg_training_release(t);
	run->record.step = t->at.step + 1;
	DFG_TRY(dfg_training_of_step(t, dfg_plan_run(t->plan, t->feeds.value, t->value)));
	uint64_t epoch = t->at.epoch;
	t->at.step++;
	t->at.sample += (uint64_t)n;
	DFG_TRY(dfg_metrics_step(&t->metrics, t->at.step, epoch, &t->fetch, t->value));
	dfg_training_tell(t, epoch);
	return t->trains ? NULL : dfg_totals_add(&t->totals, &run->fetch, t->value, n ? n : 1, &t->aggregation);
}

/* Keeps the scalars of the evaluation for the caller of the run. */
static struct dfg_err *keep_evaluated(struct training *t, const struct dfg_aggregation *means)
{
	struct dfg_evaluated *kept = &t->run->evaluated;
	if (!kept->name) {
		kept->name = dfg_arena_zeros(&t->run->model.arena, (size_t)means->count + 1, sizeof *kept->name);
		kept->value = dfg_arena_zeros(&t->run->model.arena, (size_t)means->count + 1, sizeof *kept->value);
	}
	if (!kept->name || !kept->value)
		return dfg_no_memory("the evaluation");
	kept->count = 0;
	for (uint32_t i = 0; i < means->count; i++) {
		if (means->fetch[i].whole.shape.rank)
			continue;
		kept->name[kept->count] = t->evaluation.fetch.name[i];
		kept->value[kept->count++] = dfg_aggregation_mean(means, i);
	}
	return NULL;
}

static struct dfg_err *evaluate(struct training *t)
{
	struct dfg_aggregation means = {0};
	struct dfg_err *err = dfg_evaluation_run(&t->evaluation, t->run, t->at.step, &means);
	if (!err)
		err = dfg_metrics_eval(&t->metrics, t->at.step, t->at.epoch, &t->evaluation.fetch, &means);
	if (!err)
		err = dfg_best_see(&t->best, t->run, &means, t->at.step, &t->at.best);
	if (!err)
		err = keep_evaluated(t, &means);
	t->watch->hide(t->watch->arg);
	char when[40] = "";
	if (t->run->options->eval_every > 0)
		snprintf(when, sizeof when, ", step %llu", (unsigned long long)t->at.step);
	for (uint32_t i = 0; !err && i < means.count; i++)
		if (!means.fetch[i].whole.shape.rank)
			dfg_report_note(t->run->input.report, "epoch %llu%s: %s %.6g (evaluation)", (unsigned long long)t->at.epoch,
				when, t->evaluation.fetch.name[i], dfg_aggregation_mean(&means, i));
	dfg_aggregation_release(&means);
	return err;
}

/* Whether a step is followed by an evaluation: every N steps and at the end, or at the end of each epoch. */
static bool evaluation_is_due(const struct training *t, uint64_t step, bool ended)
{
	int64_t every = t->run->options->eval_every;
	bool is_last = (t->steps && step >= t->steps) || (ended && t->epochs && t->at.epoch >= t->epochs);
	if (!t->evaluation.wanted)
		return false;
	return every > 0 ? is_last || step % (uint64_t)every == 0 : ended;
}

/* The metrics line is written before the checkpoint, which includes it in its count. */
struct dfg_err *dfg_training_after_step(struct training *t)
{
	bool ended = t->dataset.count && !next_batch(t);
	if (evaluation_is_due(t, t->at.step, ended))
		DFG_TRY(evaluate(t));
	if (ended) {
		t->at.epoch++;
		t->at.sample = 0;
		if (!dfg_training_is_over(t) && !t->run->options->no_shuffle && t->trains)
			DFG_TRY(dfg_dataset_shuffle(&t->dataset, shuffle_seed(t), t->at.epoch));
	}
	return dfg_checkpointing_is_due(&t->checkpointing, t->at.step, ended)
			   ? dfg_checkpointing_commit(&t->checkpointing, t->run, &t->at)
			   : NULL;
}

/* The number of the last step, by --steps or --epochs, whichever is earlier; 0: unknown. */
static uint64_t last_step(const struct training *t)
{
	uint64_t batch = (uint64_t)t->batch, samples = (uint64_t)t->dataset.samples;
	if (!t->epochs || !t->dataset.count || !batch)
		return t->steps;
	uint64_t full = samples / batch, each = full + (!t->run->options->drop_last && samples % batch), last;
	if (__builtin_mul_overflow(each, t->epochs, &last))
		return t->steps;
	return t->steps && t->steps < last ? t->steps : last;
}

bool dfg_training_is_boundary(const struct training *t)
{
	uint64_t step = t->at.step + t->flying;
	bool ended = !dfg_training_batch_at(t, t->next);
	if (t->round && step % t->round)
		return false;
	return ended || (t->steps && step >= t->steps) ||
		   (t->flying &&
			   (evaluation_is_due(t, step, false) || dfg_checkpointing_is_due(&t->checkpointing, step, false)));
}

/* Once a round has begun, its steps wait for each other. */
static bool in_round(const struct training *t)
{
	return t->round && (t->at.step + t->flying) % t->round;
}

static struct dfg_err *start_steps(struct training *t, bool stops)
{
	while (t->flying < t->async && !dfg_training_is_boundary(t) && (!stops || in_round(t))) {
		int64_t n = dfg_training_batch_at(t, t->next);
		DFG_TRY(dfg_dataset_batch(&t->dataset, t->next, n, t->feeds.value + t->first_batch));
		DFG_TRY(dfg_training_of_step(t, dfg_plan_start(t->plan, t->feeds.value)));
		t->next += n;
		t->flying++;
	}
	return NULL;
}

static struct dfg_err *finish_step(struct training *t)
{
	struct dfg_staleness *staleness = &t->run->staleness;
	uint64_t missed;
	dfg_training_release(t);
	DFG_TRY(dfg_training_of_step(t, dfg_plan_finish(t->plan, t->feeds.value, t->value, &missed)));
	t->flying--;
	t->at.step++;
	staleness->updates++;
	staleness->sum += missed;
	staleness->max = missed > staleness->max ? missed : staleness->max;
	DFG_TRY(dfg_metrics_step(&t->metrics, t->at.step, t->at.epoch, &t->fetch, t->value));
	dfg_training_tell(t, t->at.epoch);
	return NULL;
}

/* A step is an update by one replica; before an evaluation, a checkpoint and the end of an epoch, all complete theirs. */
static struct dfg_err *async_steps(struct training *t)
{
	t->next = (int64_t)t->at.sample;
	while (!dfg_training_is_over(t)) {
		bool stops = t->watch->stop(t->watch->arg) != NULL;
		DFG_TRY(start_steps(t, stops));
		if (!t->flying)
			break;
		DFG_TRY(finish_step(t));
		if (t->flying)
			continue;
		t->at.sample = (uint64_t)t->next;
		DFG_TRY(dfg_training_after_step(t));
		t->next = (int64_t)t->at.sample;
	}
	return NULL;
}

static struct dfg_err *all_steps(struct training *t)
{
	if (t->dataset.count && t->trains && !t->run->options->no_shuffle)
		DFG_TRY(dfg_dataset_shuffle(&t->dataset, shuffle_seed(t), t->at.epoch));
	t->watch->begin(t->watch->arg, t->at.step, last_step(t), t->epochs);
	if (t->async)
		DFG_TRY(async_steps(t));
	if (t->bounded)
		DFG_TRY(dfg_training_bounded(t));
	while (!dfg_training_is_over(t) && !t->watch->stop(t->watch->arg)) {
		DFG_TRY(one_step(t, next_batch(t)));
		DFG_TRY(dfg_training_after_step(t));
	}
	if (t->checkpointing.wanted && t->checkpointing.last_step != t->at.step)
		DFG_TRY(dfg_checkpointing_commit(&t->checkpointing, t->run, &t->at));
	t->watch->hide(t->watch->arg);
	dfg_best_report(&t->best, t->run, t->at.step, &t->at.best);
	dfg_record_report(&t->run->record, t->run->input.report);
	return NULL;
}

/* A run that was stopped before its end, for this cause. */
static struct dfg_err *stop(const struct training *t, const char *cause, bool *out_stopped)
{
	if (t->checkpointing.wanted)
		return DFG_ERR(DFG_STOPPED, "stopped by %s after step %llu; --resume continues from there", cause,
			(unsigned long long)t->at.step);
	dfg_report_note(t->run->input.report, "stopped by %s after step %llu", cause, (unsigned long long)t->at.step);
	*out_stopped = true;
	return NULL;
}

static struct dfg_err *finish(struct training *t, struct dfg_arrays *out_results, bool *out_stopped)
{
	const char *cause = t->watch->stop(t->watch->arg);
	if (cause && !dfg_training_is_over(t))
		return stop(t, cause, out_stopped);
	dfg_plan_stats(t->plan, &t->run->stats);
	if (!t->trains) {
		DFG_TRY(dfg_totals_finish(&t->totals, &t->run->model, &t->run->feeds, &t->aggregation));
		return dfg_aggregation_results(&t->aggregation, &t->run->fetch, out_results);
	}
	bool any = t->run->fetch.count && t->value[0].dtype;
	return any ? dfg_results_add(out_results, &t->run->fetch, t->value) : NULL;
}

struct dfg_err *dfg_run_data(
	struct dfg_run *run, const struct dfg_data_watch *watch, struct dfg_arrays *out_results, bool *out_stopped)
{
	struct training t = {.run = run, .watch = watch};
	*out_stopped = false;
	struct dfg_err *err = open_all(&t);
	if (!err)
		err = all_steps(&t);
	watch->hide(watch->arg);
	err = dfg_err_join(err, dfg_metrics_close(&t.metrics));
	err = dfg_err_join(err, dfg_record_close(&run->record));
	if (!err)
		err = finish(&t, out_results, out_stopped);
	for (uint32_t i = 0; t.value && i < t.totals.fetch.count; i++)
		dfg_tensor_release(&t.value[i]);
	dfg_totals_reset(&t.totals);
	dfg_aggregation_release(&t.aggregation);
	dfg_checkpointing_close(&t.checkpointing);
	dfg_evaluation_close(&t.evaluation);
	dfg_feeds_release(&t.feeds);
	dfg_dataset_release(&t.dataset);
	return err;
}
