#include "app/metrics.h"

#include "app/files.h"
#include "app/tensor_text.h"
#include "lib/base/pool.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/*
 * Whether a line is of a later step than steps_done. A line of an evaluation without a step is of the step before it.
 */
static bool is_later(const char *line, size_t length, uint64_t steps_done)
{
	struct dfg_arena arena = {0};
	struct dfg_json *value;
	uint64_t step = 0;
	struct dfg_err *err = dfg_json_read(line, length, &arena, &value);
	bool later = err != NULL; /* truncated when the run that wrote it ended */
	if (!err && dfg_json_get(value, "step")) {
		err = dfg_json_need_size(value, "step", &step);
		later = err || step > steps_done;
	}
	dfg_err_free(err);
	dfg_arena_release(&arena);
	return later;
}

/* The seconds since the start of training in a line written with --times; else 0. */
static double seconds_of(const char *line, size_t length)
{
	struct dfg_arena arena = {0};
	struct dfg_json *value;
	struct dfg_err *err = dfg_json_read(line, length, &arena, &value);
	const struct dfg_json *seconds = err ? NULL : dfg_json_get(value, "seconds");
	double number = seconds && seconds->kind == DFG_JSON_NUMBER && seconds->number > 0 ? seconds->number : 0;
	dfg_err_free(err);
	dfg_arena_release(&arena);
	return number;
}

/* The size of the lines to keep, in bytes, and the time of the last of them. */
static size_t lines_done(const struct dfg_blob *blob, uint64_t steps_done, double *out_seconds)
{
	const char *text = (const char *)blob->bytes, *end = text + blob->size, *at = text, *last = NULL;
	while (at < end) {
		const char *newline = memchr(at, '\n', (size_t)(end - at));
		if (!newline || is_later(at, (size_t)(newline - at), steps_done))
			break;
		last = at;
		at = newline + 1;
	}
	*out_seconds = last ? seconds_of(last, (size_t)(at - 1 - last)) : 0;
	return (size_t)(at - text);
}

static struct dfg_err *keep_lines(const char *path, uint64_t steps_done, double *out_seconds)
{
	struct dfg_blob blob;
	*out_seconds = 0;
	if (!steps_done || access(path, F_OK))
		return NULL;
	DFG_TRY(dfg_blob_open(path, 0, &blob));
	size_t keep = lines_done(&blob, steps_done, out_seconds);
	dfg_blob_close(&blob);
	return truncate(path, (off_t)keep)
			   ? DFG_ERR(dfg_code_of_errno(errno, DFG_NO_OUTPUT), "%s: %s", path, strerror(errno))
			   : NULL;
}

struct dfg_err *dfg_metrics_open(const char *path, bool times, uint64_t steps_done, struct dfg_metrics *out_metrics)
{
	*out_metrics = (struct dfg_metrics){.path = path, .times = times, .since = dfg_seconds()};
	if (!path)
		return NULL;
	if (!strcmp(path, "-")) {
		out_metrics->fd = STDOUT_FILENO;
		out_metrics->open = true;
		return NULL;
	}
	double before;
	DFG_TRY(keep_lines(path, steps_done, &before));
	out_metrics->since -= before;
	struct dfg_err *err = dfg_lines_open(path, steps_done > 0, &out_metrics->fd);
	out_metrics->open = !err;
	return err;
}

/* Closes the JSON object and writes the line. Takes the text. */
static struct dfg_err *put_line(struct dfg_metrics *metrics, struct dfg_json_out *json)
{
	if (metrics->times) {
		dfg_json_key(json, "seconds");
		dfg_json_f64(json, dfg_seconds() - metrics->since);
	}
	dfg_json_close(json, '}');
	dfg_text_put(&json->text, "\n", 1);
	struct dfg_err *err = dfg_text_check(&json->text);
	if (!err)
		err = dfg_fs_write_all(metrics->fd, metrics->path, json->text.s, json->text.length);
	dfg_text_release(&json->text);
	return err;
}

struct dfg_err *dfg_metrics_step(struct dfg_metrics *metrics, uint64_t step, uint64_t epoch,
	const struct dfg_edges *fetch, const struct dfg_tensor *value)
{
	struct dfg_json_out json = {0};
	if (!metrics->open)
		return NULL;
	dfg_json_open(&json, '{');
	dfg_json_key(&json, "step");
	dfg_json_uint(&json, step);
	dfg_json_key(&json, "epoch");
	dfg_json_uint(&json, epoch);
	for (uint32_t i = 0; i < fetch->count; i++) {
		dfg_json_key(&json, fetch->name[i]);
		dfg_json_elements(&json, &value[i]);
	}
	return put_line(metrics, &json);
}

struct dfg_err *dfg_metrics_eval(struct dfg_metrics *metrics, uint64_t step, uint64_t epoch,
	const struct dfg_edges *fetch, const struct dfg_aggregation *means)
{
	struct dfg_json_out json = {0};
	if (!metrics->open)
		return NULL;
	dfg_json_open(&json, '{');
	dfg_json_key(&json, "epoch");
	dfg_json_uint(&json, epoch);
	dfg_json_key(&json, "eval");
	dfg_json_open(&json, '{');
	for (uint32_t i = 0; i < fetch->count; i++) {
		dfg_json_key(&json, fetch->name[i]);
		if (means->fetch[i].whole.shape.rank)
			dfg_json_elements(&json, &means->fetch[i].whole);
		else
			dfg_json_f64(&json, dfg_aggregation_mean(means, i));
	}
	dfg_json_close(&json, '}');
	dfg_json_key(&json, "step");
	dfg_json_uint(&json, step);
	return put_line(metrics, &json);
}

struct dfg_err *dfg_metrics_close(struct dfg_metrics *metrics)
{
	bool open = metrics->open && metrics->fd != STDOUT_FILENO;
	metrics->open = false;
	if (!open || !dfg_fs->close(metrics->fd))
		return NULL;
	return DFG_ERR(dfg_code_of_errno(errno, DFG_IO), "%s: cannot close: %s", metrics->path, strerror(errno));
}
