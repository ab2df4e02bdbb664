#include "app/reduce.h"

#include "app/child.h"
#include "formats/graphdef.h"
#include "lib/base/folder.h"
#include "lib/base/text.h"
#include "lib/pass/rewrite/reduce.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>

struct reduce {
	struct dfg_reduce_command *command;
	struct dfg_arena arena;
	struct dfg_folder folder;
	const char *path; /* of the file for the command */
	const char **argument;
};

/* A word with the path in place of each "{}". */
static const char *fill_in(struct reduce *r, const char *word, bool *any)
{
	struct dfg_text text = {0};
	for (const char *hole; (hole = strstr(word, "{}")); word = hole + 2) {
		dfg_text_put(&text, word, (size_t)(hole - word));
		dfg_text_put(&text, r->path, strlen(r->path));
		*any = true;
	}
	dfg_text_put(&text, word, strlen(word));
	const char *filled = text.short_of_memory ? NULL : dfg_arena_copy(&r->arena, text.s, text.length);
	dfg_text_release(&text);
	return filled;
}

static struct dfg_err *make_arguments(struct reduce *r)
{
	size_t count = 0;
	bool any = false;
	while (r->command->word[count])
		count++;
	if (!(r->argument = dfg_arena_zeros(&r->arena, count + 2, sizeof *r->argument)))
		return dfg_no_memory("the command");
	for (size_t i = 0; i < count; i++)
		if (!(r->argument[i] = fill_in(r, r->command->word[i], &any)))
			return dfg_no_memory("the command");
	if (!any)
		r->argument[count] = r->path;
	return NULL;
}

static struct dfg_err *make_folder(struct reduce *r)
{
	DFG_TRY(dfg_folder_open_scratch("reduce", &r->folder));
	DFG_TRY(dfg_folder_file(&r->folder, "graph.pb", &r->path));
	return make_arguments(r);
}

static struct dfg_err *put_bytes(const char *path, const struct dfg_text *bytes)
{
	const int fd = dfg_fs->open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	struct dfg_err *err = fd < 0 ? DFG_ERR(dfg_code_of_errno(errno, DFG_NO_OUTPUT), "%s: %s", path, strerror(errno))
								 : dfg_fs_write_all(fd, path, bytes->s, bytes->length);
	if (fd >= 0 && dfg_fs->close(fd) && !err)
		err = DFG_ERR(DFG_IO, "%s: %s", path, strerror(errno));
	return err;
}

/* Nobody else reads the file, so it need not be written whole or not at all. */
static struct dfg_err *write_trial(const struct reduce *r, const struct dfg_graph *trial)
{
	struct dfg_text bytes = {0};
	struct dfg_out out;
	DFG_TRY(dfg_out_open_memory(&bytes, &out));
	struct dfg_err *err = dfg_graphdef_write(trial, &out);
	if (!err)
		err = dfg_out_commit(&out);
	dfg_out_release(&out);
	if (!err)
		err = put_bytes(r->path, &bytes);
	dfg_text_release(&bytes);
	return err;
}

static struct dfg_err *run_command(struct reduce *r, const struct dfg_graph *trial, int *out_status)
{
	DFG_TRY(write_trial(r, trial));
	DFG_TRY(dfg_child_run(r->argument, r->command->talks, r->command->timeout, out_status));
	r->command->runs += *out_status != DFG_CHILD_ENDED;
	return NULL;
}

static struct dfg_err *fails(void *arg, const struct dfg_graph *trial, bool *out_fails)
{
	struct reduce *r = arg;
	int status;
	DFG_TRY(run_command(r, trial, &status));
	*out_fails = status == r->command->status;
	return NULL;
}

static bool goes_on(void *arg, uint32_t nodes)
{
	const struct reduce *r = arg;
	return r->command->goes_on(r->command->arg, nodes, r->command->runs);
}

/* The result must fail once more: a command that fails by chance reduces to anything. An interrupt leaves no time for that. */
static struct dfg_err *check_result(struct reduce *r, const struct dfg_graph *graph)
{
	int status;
	DFG_TRY(run_command(r, graph, &status));
	if (status == r->command->status || status == DFG_CHILD_ENDED)
		return NULL;
	return DFG_ERR(DFG_DATA,
		"%s does not fail reliably: run once more for the smallest graph found, its status was not %d",
		r->command->word[0], r->command->status);
}

static struct dfg_err *reduce_graph(
	struct reduce *r, const struct dfg_graph *graph, struct dfg_arena *arena, struct dfg_graph *out_graph)
{
	const struct dfg_reduction how = {fails, goes_on, r};
	bool always, same = false;
	DFG_TRY(make_folder(r));
	DFG_TRY(run_command(r, graph, &r->command->status));
	if (r->command->status == DFG_CHILD_ENDED)
		return NULL;
	if (!r->command->status)
		return DFG_ERR(DFG_DATA, "%s does not fail for the graph: its status is 0", r->command->word[0]);
	if (r->command->lowered)
		DFG_TRY(fails(r, r->command->lowered, &same));
	DFG_TRY(dfg_reduce(same ? r->command->lowered : graph, &how, arena, out_graph, &always));
	if (always)
		return DFG_ERR(DFG_DATA, "%s always fails: its status is also %d for a graph that is a single NoOp",
			r->command->word[0], r->command->status);
	return check_result(r, out_graph);
}

struct dfg_err *dfg_reduce_by_command(const struct dfg_graph *graph, struct dfg_reduce_command *command,
	struct dfg_arena *arena, struct dfg_graph *out_graph)
{
	struct reduce r = {.command = command};
	struct dfg_err *err = reduce_graph(&r, graph, arena, out_graph);
	dfg_folder_release(&r.folder);
	dfg_arena_release(&r.arena);
	return err;
}
