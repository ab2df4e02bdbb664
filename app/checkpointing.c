#include "app/checkpointing.h"

#include "lib/base/plural.h"
#include "lib/base/pool.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { KEEP = 5 };

static struct dfg_err *parse_every(const char *text, struct dfg_checkpointing *checkpointing)
{
	char *end;
	if (!text)
		return NULL;
	errno = 0;
	double number = strtod(text, &end);
	bool seconds = end > text && !strcmp(end, "s");
	bool steps = end > text && !*end && number == trunc(number);
	if (errno || !(number > 0) || number > 1e15 || (!seconds && !steps))
		return DFG_ERR(DFG_USAGE, "--every must be a number of steps (100) or seconds (30s), not '%s'", text);
	if (seconds)
		checkpointing->every_seconds = number;
	else
		checkpointing->every_steps = (uint64_t)number;
	return NULL;
}

static void talk(void *arg, const char *text)
{
	dfg_report_note(arg, "warning: %s; an older checkpoint is used", text);
}

/* The settings that determine the order of samples and of sums over them: options such as "--batch 4", and the data. */
enum { BATCH, SAMPLES, SHUFFLE, DROP_LAST, SHARDS, ORDER_OPTIONS };
static struct dfg_words say_option(const struct dfg_sample_order *order, int option)
{
	struct dfg_words words;
	if (option == BATCH)
		snprintf(words.s, sizeof words.s, "--batch %llu", (unsigned long long)order->batch);
	else if (option == SAMPLES)
		snprintf(words.s, sizeof words.s, "data of %llu samples", (unsigned long long)order->samples);
	else if (option == SHARDS)
		snprintf(words.s, sizeof words.s, "--shards %llu", (unsigned long long)order->shards);
	else if (option == DROP_LAST)
		snprintf(words.s, sizeof words.s, "%s", order->drop_last ? "--drop-last" : "no --drop-last");
	else if (order->shuffled)
		snprintf(words.s, sizeof words.s, "--shuffle %llu", (unsigned long long)order->seed);
	else
		snprintf(words.s, sizeof words.s, "--no-shuffle");
	return words;
}

/*
 * Within an epoch a different order would use some samples twice and others never; at the start of an epoch it is
 * allowed.
 */
static struct dfg_err *check_order(const char *path, const struct dfg_checkpoint *found,
	const struct dfg_sample_order *now, const struct dfg_report *report)
{
	for (int i = 0; i < ORDER_OPTIONS && found->order.known && now->known; i++) {
		struct dfg_words then = say_option(&found->order, i), given = say_option(now, i);
		if (!strcmp(then.s, given.s) || (i == SAMPLES && !found->order.samples))
			continue;
		if (found->sample)
			return DFG_ERR(DFG_DATA,
				"%s was made with %s, but this run has %s: they must be equal, as the run continues within an epoch, "
				"at "
				"sample %llu",
				path, then.s, given.s, (unsigned long long)found->sample);
		dfg_report_note(report, "warning: %s was made with %s, but this run has %s", path, then.s, given.s);
	}
	return NULL;
}

/* Another mode is allowed, but no single run would compute the values. */
static void warn_of_denormals(const char *path, const struct dfg_checkpoint *found, const struct dfg_checkpoint *now,
	const struct dfg_report *report)
{
	if (found->mode_known && found->denormals != now->denormals)
		dfg_report_note(report, "warning: %s was made with --denormals %s, but this run has --denormals %s", path,
			dfg_denormals_name[found->denormals], dfg_denormals_name[now->denormals]);
}

static struct dfg_err *resume(struct dfg_run *run, const char *path, struct dfg_checkpoint *at)
{
	struct dfg_notes notes = {talk, (void *)run->input.report};
	struct dfg_checkpoint found;
	DFG_TRY(dfg_checkpoint_load(path, &notes, &found));
	struct dfg_err *err = check_order(path, &found, &at->order, run->input.report);
	if (!err)
		err = dfg_variables_load(&run->model, &found.arrays, path, NULL, 0);
	if (!err)
		warn_of_denormals(path, &found, at, run->input.report);
	*at = (struct dfg_checkpoint){.order = at->order,
		.mode_known = true,
		.denormals = at->denormals,
		.step = found.step,
		.epoch = found.epoch,
		.sample = found.sample,
		.best = found.best};
	dfg_checkpoint_release(&found);
	if (!err)
		dfg_report_note(run->input.report, "resumed at step %llu", (unsigned long long)at->step);
	return err;
}

static struct dfg_err *spare_kept(struct dfg_checkpoints *checkpoints, const struct dfg_report *report)
{
	DFG_TRY(dfg_checkpoints_spare(checkpoints));
	if (checkpoints->n_spared)
		dfg_report_note(report,
			"%s: %zu checkpoint%s of an earlier run with a larger --keep will stay; this run keeps its "
			"%llu newest (--keep)",
			checkpoints->path, checkpoints->n_spared, dfg_plural(checkpoints->n_spared),
			(unsigned long long)checkpoints->keep);
	return NULL;
}

struct dfg_err *dfg_checkpointing_open(
	struct dfg_run *run, struct dfg_checkpointing *out_checkpointing, struct dfg_checkpoint *at)
{
	const char *path = run->options->checkpoint;
	bool any;
	*out_checkpointing = (struct dfg_checkpointing){.wanted = path != NULL, .last = dfg_seconds()};
	if (!path)
		return NULL;
	DFG_TRY(parse_every(run->options->every, out_checkpointing));
	DFG_TRY(dfg_execution_denormals(run->execution, &at->denormals));
	at->mode_known = true;
	if (dfg_checkpoint_is(path))
		return DFG_ERR(DFG_NO_OUTPUT,
			"%s is a single checkpoint: give --checkpoint the directory that contains it, or start from it with --load "
			"%s",
			path, path);
	DFG_TRY(dfg_checkpoints_any(path, &any));
	if (any && !run->options->resume && !run->options->force)
		return DFG_ERR(DFG_NO_OUTPUT,
			"%s holds checkpoints: continue from them with --resume, or replace them with --force", path);
	uint64_t keep = run->options->keep < 0 ? KEEP : (uint64_t)run->options->keep;
	if (run->options->force || keep)
		DFG_TRY(dfg_checkpoints_check(path));
	DFG_TRY(dfg_checkpoints_open(path, &out_checkpointing->checkpoints));
	out_checkpointing->checkpoints.keep = keep;
	out_checkpointing->checkpoints.replace = run->options->force;
	if (any && run->options->resume)
		DFG_TRY(spare_kept(&out_checkpointing->checkpoints, run->input.report));
	if (any && run->options->resume)
		DFG_TRY(resume(run, path, at));
	out_checkpointing->last_step = at->step;
	return NULL;
}

bool dfg_checkpointing_is_due(const struct dfg_checkpointing *checkpointing, uint64_t step, bool epoch_ended)
{
	if (!checkpointing->wanted)
		return false;
	if (checkpointing->every_steps)
		return step / checkpointing->every_steps > checkpointing->last_step / checkpointing->every_steps;
	if (checkpointing->every_seconds > 0)
		return dfg_seconds() - checkpointing->last >= checkpointing->every_seconds;
	return epoch_ended;
}

struct dfg_err *dfg_checkpointing_commit(
	struct dfg_checkpointing *checkpointing, const struct dfg_run *run, const struct dfg_checkpoint *at)
{
	struct dfg_checkpoint checkpoint = {.order = at->order,
		.mode_known = at->mode_known,
		.denormals = at->denormals,
		.step = at->step,
		.epoch = at->epoch,
		.sample = at->sample,
		.best = at->best,
		.keep = (int64_t)checkpointing->checkpoints.keep};
	char purpose[40];
	snprintf(purpose, sizeof purpose, "checkpoint of step %llu", (unsigned long long)at->step);
	struct dfg_err *err = dfg_variables_values(&run->model, &run->variables, purpose, &checkpoint.arrays);
	if (!err)
		err = dfg_checkpoints_save(&checkpointing->checkpoints, &checkpoint);
	dfg_checkpoint_release(&checkpoint);
	checkpointing->last = dfg_seconds();
	checkpointing->last_step = at->step;
	return err;
}

void dfg_checkpointing_close(struct dfg_checkpointing *checkpointing)
{
	dfg_checkpoints_release(&checkpointing->checkpoints);
}
