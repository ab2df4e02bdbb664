#include "app/best.h"

#include "lib/base/plural.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Removes the suffix from the length of the text, if it is there. */
static bool take_suffix(const char *text, size_t *length, const char *suffix)
{
	size_t n = strlen(suffix);
	if (*length < n || strncmp(text + *length - n, suffix, n) != 0)
		return false;
	*length -= n;
	return true;
}

/* NAME:K or NAME:K:max; the name may contain a colon too. */
static struct dfg_err *parse(const char *text, struct dfg_best_rule *rule, size_t *out_length)
{
	size_t length = strlen(text), at;
	rule->is_larger = take_suffix(text, &length, ":max");
	if (!rule->is_larger)
		(void)take_suffix(text, &length, ":min");
	for (at = length; at && text[at - 1] >= '0' && text[at - 1] <= '9'; at--)
		continue;
	errno = 0;
	rule->patience = strtoull(text + at, NULL, 10);
	*out_length = at ? at - 1 : 0;
	if (at < 2 || at == length || text[at - 1] != ':' || errno || !rule->patience)
		return DFG_ERR(DFG_USAGE,
			"--stop-early must be NAME:K, or NAME:K:max if a larger value is better, with a number of evaluations K of "
			"at least 1, not '%s'",
			text);
	return NULL;
}

/* The number of the fetch of that name; DFG_NONE: there is none. */
static uint32_t fetch_number(const struct dfg_edges *fetch, const char *name, size_t length)
{
	for (uint32_t i = 0; i < fetch->count; i++)
		if (strlen(fetch->name[i]) == length && !memcmp(fetch->name[i], name, length))
			return i;
	return DFG_NONE;
}

/* The number of the fetch NAME, which may be written eval_NAME as well. */
static struct dfg_err *find_metric(
	const struct dfg_edges *fetch, const char *name, size_t length, struct dfg_best_rule *rule)
{
	static const char prefix[] = "eval_";
	const size_t skip = sizeof prefix - 1;
	rule->metric = fetch_number(fetch, name, length);
	if (rule->metric == DFG_NONE && length > skip && !strncmp(name, prefix, skip))
		rule->metric = fetch_number(fetch, name + skip, length - skip);
	if (rule->metric == DFG_NONE)
		return DFG_ERR(DFG_USAGE, "--stop-early: '%.*s' is not in --eval-fetch, whose first tensor is '%s'",
			(int)length, name, fetch->name[0]);
	return NULL;
}

struct dfg_err *dfg_best_open(
	const struct dfg_run *run, const struct dfg_evaluation *evaluation, struct dfg_best_rule *out_rule)
{
	const struct dfg_run_options *o = run->options;
	size_t length;
	*out_rule = (struct dfg_best_rule){.wanted = o->stop_early || o->keep_best, .file = o->keep_best};
	if (!out_rule->wanted)
		return NULL;
	if (o->stop_early) {
		DFG_TRY(parse(o->stop_early, out_rule, &length));
		DFG_TRY(find_metric(&evaluation->fetch, o->stop_early, length, out_rule));
	}
	out_rule->name = evaluation->fetch.name[out_rule->metric];
	return NULL;
}

static struct dfg_err *write_variables(const struct dfg_best_rule *rule, const struct dfg_run *run)
{
	struct dfg_arrays values = {0};
	struct dfg_err *err = dfg_variables_values(&run->model, &run->variables, "--keep-best", &values);
	if (!err)
		err = dfg_arrays_write(rule->file, NULL, run->options->if_changed, &values);
	dfg_arrays_release(&values);
	return err;
}

struct dfg_err *dfg_best_see(const struct dfg_best_rule *rule, const struct dfg_run *run,
	const struct dfg_aggregation *values, uint64_t step, struct dfg_best *best)
{
	if (!rule->wanted)
		return NULL;
	if (values->fetch[rule->metric].whole.shape.rank)
		return DFG_ERR(DFG_DATA, "'%s', by which the best evaluation is found, is not a scalar", rule->name);
	double value = dfg_aggregation_mean(values, rule->metric);
	bool is_better = isfinite(value) && (!best->known || (rule->is_larger ? value > best->value : value < best->value));
	if (!is_better) {
		best->since++;
		return NULL;
	}
	*best = (struct dfg_best){.known = true, .value = value, .step = step};
	return rule->file ? write_variables(rule, run) : NULL;
}

bool dfg_best_ends(const struct dfg_best_rule *rule, const struct dfg_best *best)
{
	return rule->patience && best->since >= rule->patience;
}

void dfg_best_report(
	const struct dfg_best_rule *rule, const struct dfg_run *run, uint64_t step, const struct dfg_best *best)
{
	const struct dfg_report *report = run->input.report;
	if (!rule->wanted)
		return;
	if (dfg_best_ends(rule, best))
		dfg_report_note(report, "stopped early after step %llu: no better '%s' in %llu evaluation%s",
			(unsigned long long)step, rule->name, (unsigned long long)best->since, dfg_plural(best->since));
	if (best->known)
		dfg_report_note(report, "the best '%s' is %.6g, after step %llu%s%s", rule->name, best->value,
			(unsigned long long)best->step, rule->file ? ": " : "", rule->file ? rule->file : "");
}
