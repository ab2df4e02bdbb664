#include "cmd/run_command.h"

#include "formats/npy.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* Bytes read that are not yet part of an array. */
struct stream {
	uint8_t *bytes;
	size_t count, capacity;
	bool ended;
};

static struct dfg_err *read_more(struct stream *stream, size_t want)
{
	if (!dfg_reserve(&stream->bytes, &stream->capacity, want, 1))
		return DFG_ERR(DFG_MEMORY, "stdin: no memory for an array of %zu bytes", want);
	while (stream->count < want && !stream->ended) {
		ssize_t got = dfg_fs->read(STDIN_FILENO, stream->bytes + stream->count, want - stream->count);
		if (got < 0 && errno != EINTR)
			return DFG_ERR(dfg_code_of_errno(errno, DFG_IO), "stdin: %s", strerror(errno));
		stream->ended = got == 0;
		stream->count += got > 0 ? (size_t)got : 0;
	}
	return NULL;
}

/* Reads the next array; *out_any is false at the end of the stream. */
static struct dfg_err *next_array(struct stream *stream, struct dfg_tensor *out_tensor, bool *out_any)
{
	struct dfg_npy_header header;
	size_t want = 1;
	do {
		DFG_TRY(read_more(stream, want));
		*out_any = stream->count > 0;
		if (!*out_any)
			return NULL;
		if (stream->count < want)
			return DFG_ERR(DFG_DATA, "stdin: npy is truncated");
		DFG_TRY(dfg_err_note(dfg_npy_header(stream->bytes, stream->count, &want, &header), "stdin"));
	} while (stream->count < want);
	struct dfg_err *err = dfg_npy_tensor(stream->bytes, want, NULL, out_tensor);
	memmove(stream->bytes, stream->bytes + want, stream->count - want);
	stream->count -= want;
	return dfg_err_note(err, "stdin");
}

/* Prints the results immediately: as text, as one JSON document per line, or with -o - as consecutive npy arrays. */
static struct dfg_err *give(struct dfg_run *run, const struct dfg_arrays *results)
{
	if (!run->options->output)
		DFG_TRY(dfg_run_print(run, results));
	else
		return dfg_arrays_write("-", "npy", false, results);
	return fflush(stdout) ? DFG_ERR(dfg_code_of_errno(errno, DFG_IO), "cannot write to stdout: %s", strerror(errno))
						  : NULL;
}

static struct dfg_err *one_step(
	struct dfg_run *run, struct dfg_plan *plan, const struct dfg_feeds *feeds, struct dfg_tensor *value)
{
	struct dfg_arrays results = {0};
	DFG_TRY(dfg_plan_run(plan, feeds->value, value));
	dfg_plan_stats(plan, &run->stats);
	struct dfg_err *err = dfg_results_add(&results, &run->fetch, value);
	if (!err)
		err = give(run, &results);
	dfg_arrays_release(&results);
	return err;
}

/* The stream's feed is the last one, and is replaced for each step. */
static struct dfg_err *all_steps(struct dfg_run *run, struct dfg_plan *plan, struct dfg_feeds *feeds)
{
	struct stream stream = {0};
	struct dfg_err *err = NULL;
	bool any = true;
	struct dfg_tensor *value = dfg_arena_zeros(&run->model.arena, run->fetch.count, sizeof *value);
	struct dfg_tensor *input = &feeds->value[feeds->count - 1];
	if (!value)
		return dfg_no_memory("the arrays of stdin");
	for (long step = 1; !err; step++) {
		dfg_tensor_release(input);
		err = next_array(&stream, input, &any);
		if (err || !any)
			break;
		err = dfg_err_note(one_step(run, plan, feeds, value), "array %ld", step);
		err = dfg_err_of_file(err, run->model.file.graph.source);
	}
	dfg_free(stream.bytes);
	return err;
}

static struct dfg_err *bind_stream(struct dfg_run *run, const char *word, struct dfg_feeds *feeds)
{
	struct dfg_edge edge;
	struct dfg_tensor none = {0};
	const char *equals = strchr(word, '=');
	if (!equals || strcmp(equals, "=@-"))
		return DFG_ERR(DFG_USAGE, "--each must be NAME=@-, not '%s'", word);
	const char *name = dfg_arena_copy(&run->model.arena, word, (size_t)(equals - word));
	if (!name)
		return dfg_no_memory("the arrays of stdin");
	DFG_TRY(dfg_model_tensor(&run->model, name, &edge));
	DFG_TRY(dfg_feeds_share(&run->feeds, &edge, 1, feeds));
	return dfg_feeds_add(feeds, edge, &none);
}

struct dfg_err *dfg_run_each(struct dfg_run *run)
{
	struct dfg_feeds feeds = {0};
	struct dfg_plan *plan;
	if (run->options->output && (strcmp(run->options->output, "-") || run->fetch.count != 1))
		return DFG_ERR(DFG_USAGE, "--each allows only -o -, with one fetch");
	struct dfg_err *err = bind_stream(run, run->options->each, &feeds);
	if (!err)
		err = dfg_run_plan(run, &feeds, &run->fetch, &plan);
	if (!err)
		err = all_steps(run, plan, &feeds);
	dfg_feeds_release(&feeds);
	return err;
}
