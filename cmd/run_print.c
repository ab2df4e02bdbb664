#include "app/tensor_text.h"
#include "cmd/run_command.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

static struct dfg_err *write_file(const struct dfg_run_options *options, const struct dfg_arrays *results)
{
	const char *path = options->output;
	if (strcmp(path, "-"))
		return dfg_arrays_write(path, NULL, options->if_changed, results);
	if (isatty(STDOUT_FILENO))
		return DFG_ERR(DFG_USAGE, "npy is not written to a terminal: give -o FILE, or no -o for text");
	if (results->count != 1)
		return DFG_ERR(DFG_USAGE, "-o - writes npy, which holds one array: fetch one, or give -o FILE.npz");
	return dfg_arrays_write(path, "npy", false, results);
}

/* Rows and values shown on a terminal; elsewhere all are printed. */
enum { MOST_ON_TERMINAL = 12 };

static void print_text(const struct dfg_arrays *results, struct dfg_text *text)
{
	int64_t most = isatty(STDOUT_FILENO) ? MOST_ON_TERMINAL : 0;
	for (size_t i = 0; i < results->count; i++)
		dfg_tensor_text(text, results->array[i].name, &results->array[i].tensor, most);
}

static void tell_timing(const struct dfg_timing *timing)
{
	for (int i = 0; timing->known && i < DFG_TIMINGS; i++)
		dfg_talk("%s %.3f", dfg_timing_name[i], timing->value[i]);
}

static void print_timing(const struct dfg_timing *timing, struct dfg_json_out *json)
{
	if (!timing->known)
		return;
	dfg_json_key(json, "timing");
	dfg_json_open(json, '{');
	for (int i = 0; i < DFG_TIMINGS; i++) {
		dfg_json_key(json, dfg_timing_name[i]);
		dfg_json_f64(json, timing->value[i]);
	}
	dfg_json_close(json, '}');
}

/* Adds a part of the document that is JSON already, unless it is empty. */
static void print_part(const char *key, const struct dfg_text *part, struct dfg_json_out *json)
{
	if (!part->length)
		return;
	dfg_json_key(json, key);
	dfg_json_raw(json);
	dfg_text_put(&json->text, part->s, part->length);
}

static void print_json(const struct dfg_run *run, const struct dfg_arrays *results, const struct dfg_text *stats,
	const struct dfg_text *profile, struct dfg_json_out *json)
{
	dfg_json_open(json, '{');
	dfg_json_key(json, "results");
	dfg_json_open(json, '{');
	for (size_t i = 0; i < results->count; i++) {
		dfg_json_key(json, results->array[i].name);
		dfg_json_tensor(json, &results->array[i].tensor);
	}
	dfg_json_close(json, '}');
	print_timing(&run->timing, json);
	print_part("stats", stats, json);
	print_part("profile", profile, json);
	print_part("explanation", &run->explanation, json);
	dfg_json_close(json, '}');
	dfg_text_put(&json->text, "\n", 1);
}

struct dfg_err *dfg_run_print(struct dfg_run *run, const struct dfg_arrays *results)
{
	struct dfg_json_out json = {0}, stats = {0}, profile = {0};
	struct dfg_err *err = NULL;
	tell_timing(&run->timing);
	if (run->options->stats)
		dfg_run_print_stats(run, &stats);
	if (run->options->profile)
		err = dfg_run_print_profile(run, &profile);
	if (!err && run->options->output && results->count)
		err = write_file(run->options, results);
	if (dfg_globals.json)
		print_json(run, results, &stats.text, &profile.text, &json);
	else if (!run->options->output)
		print_text(results, &json.text);
	if (!err)
		err = dfg_err_join(
			dfg_err_join(dfg_text_check(&stats.text), dfg_text_check(&profile.text)), dfg_text_check(&json.text));
	if (!err && json.text.length)
		dfg_print(&json.text); /* main() checks stdout for write errors */
	dfg_text_release(&json.text);
	dfg_text_release(&stats.text);
	dfg_text_release(&profile.text);
	return err;
}
