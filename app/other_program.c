#include "app/other_program.h"

#include "app/child.h"
#include "lib/base/folder.h"
#include "lib/base/text.h"

#include <unistd.h>

/* Names are joined to lists of this many bytes, because an argument of a program cannot have any length. */
enum { LIST = 64 << 10 };

struct call {
	struct dfg_arena arena;
	const char **word;
	size_t count, capacity;
	struct dfg_folder folder;
	const char *inputs, *values; /* paths in it */
};

static struct dfg_err *add_word(struct call *call, const char *word)
{
	if (!word || !dfg_reserve(&call->word, &call->capacity, call->count + 2, sizeof *call->word))
		return dfg_no_memory("the arguments of a program");
	call->word[call->count++] = word;
	call->word[call->count] = NULL;
	return NULL;
}

static struct dfg_err *add_option(struct call *call, const char *name, const char *value)
{
	DFG_TRY(add_word(call, name));
	return add_word(call, value);
}

static struct dfg_err *add_list(struct call *call, const char *name, const struct dfg_words_list *list)
{
	for (size_t i = 0; i < list->count; i++)
		DFG_TRY(add_option(call, name, list->word[i]));
	return NULL;
}

static struct dfg_err *add_joined(struct call *call, struct dfg_text *names)
{
	DFG_TRY(dfg_text_check(names));
	struct dfg_err *err =
		names->length ? add_option(call, "--fetch", dfg_arena_copy(&call->arena, names->s, names->length)) : NULL;
	names->length = 0;
	return err;
}

static struct dfg_err *add_fetches(struct call *call, const struct dfg_words_list *list)
{
	struct dfg_text names = {0};
	struct dfg_err *err = NULL;
	for (size_t i = 0; i < list->count && !err; i++) {
		dfg_text_add(&names, "%s%s", names.length ? "," : "", list->word[i]);
		if (names.length > LIST)
			err = add_joined(call, &names);
	}
	if (!err)
		err = add_joined(call, &names);
	dfg_text_release(&names);
	return err;
}

static struct dfg_err *add_number(struct call *call, const char *name, int64_t value, int64_t none)
{
	return value == none ? NULL : add_option(call, name, dfg_arena_print(&call->arena, "%lld", (long long)value));
}

/* The options under which this program runs the graph. Those that were not given may be unknown to another version. */
static struct dfg_err *add_execution(struct call *call, const struct dfg_execution *execution)
{
	const struct {
		const char *name;
		bool set;
	} flag[] = {{"--check-numerics", execution->check_numerics}, {"--no-opt", execution->no_opt},
		{"--no-compiled-loops", execution->no_compiled_loops}, {"--exact-conv", execution->exact_conv}};
	const struct {
		const char *name, *text;
	} word[] = {
		{"--denormals", execution->denormals}, {"--schedule", execution->schedule}, {"--swap", execution->swap}};
	DFG_TRY(add_number(call, "--threads", execution->threads, 0));
	DFG_TRY(add_number(call, "--seed", execution->seed, -1));
	DFG_TRY(add_number(call, "--max-iterations", execution->max_iterations, 0));
	DFG_TRY(add_number(call, "--memory-limit", (int64_t)execution->memory_limit, 0));
	DFG_TRY(add_number(call, "--winograd", execution->winograd, 0));
	for (size_t i = 0; i < sizeof flag / sizeof *flag; i++)
		if (flag[i].set)
			DFG_TRY(add_word(call, flag[i].name));
	for (size_t i = 0; i < sizeof word / sizeof *word; i++)
		if (word[i].text)
			DFG_TRY(add_option(call, word[i].name, word[i].text));
	return NULL;
}

static struct dfg_err *add_arguments(struct call *call, const struct dfg_other_program *other, const char *graph,
	const struct dfg_run_options *options, const struct dfg_execution *execution, bool feeds)
{
	DFG_TRY(add_word(call, other->program ? other->program : "/proc/self/exe"));
	DFG_TRY(add_word(call, "run"));
	DFG_TRY(add_word(call, "-q"));
	DFG_TRY(add_word(call, graph));
	if (feeds)
		DFG_TRY(add_option(call, "--feed", call->inputs));
	DFG_TRY(add_fetches(call, &options->fetch));
	DFG_TRY(add_list(call, "--load", &options->load));
	DFG_TRY(add_list(call, "--map", &options->map));
	if (options->partial)
		DFG_TRY(add_word(call, "--partial"));
	if (options->init)
		DFG_TRY(add_option(call, "--init", options->init));
	DFG_TRY(add_execution(call, execution));
	if (other->hosts) {
		DFG_TRY(add_option(call, "--hosts", other->hosts));
		DFG_TRY(add_option(call, "--place", "*=w0"));
	}
	return add_option(call, "-o", call->values);
}

static struct dfg_err *make_folder(struct call *call)
{
	DFG_TRY(dfg_folder_open_scratch("run", &call->folder));
	DFG_TRY(dfg_folder_file(&call->folder, "inputs.npz", &call->inputs));
	return dfg_folder_file(&call->folder, "values.npz", &call->values);
}

static struct dfg_err *call_program(struct call *call, const struct dfg_other_program *other, const char *graph,
	const struct dfg_run_options *options, const struct dfg_execution *execution, const struct dfg_arrays *inputs)
{
	int status;
	DFG_TRY(make_folder(call));
	if (inputs->count)
		DFG_TRY(dfg_arrays_write(call->inputs, "npz", false, inputs));
	DFG_TRY(add_arguments(call, other, graph, options, execution, inputs->count));
	DFG_TRY(dfg_child_run(call->word, true, execution->timeout, &status));
	return status ? DFG_ERR(DFG_UNAVAILABLE, "%s run %s: ended with status %d", call->word[0], graph, status) : NULL;
}

/* A program other than dfg may end well and write anything. */
static struct dfg_err *read_values(
	const struct call *call, const char *graph, const struct dfg_words_list *fetch, struct dfg_arrays *out_values)
{
	const char *program = call->word[0];
	if (access(call->values, F_OK))
		return DFG_ERR(DFG_UNAVAILABLE,
			"%s run %s: ended with status 0, but did not write the file that -o names: is it a dfg?", program, graph);
	DFG_TRY(dfg_err_note(dfg_arrays_read(call->values, out_values), "%s run %s: its results", program, graph));
	for (size_t i = 0; i < fetch->count; i++)
		if (!dfg_arrays_find(out_values, fetch->word[i]))
			return DFG_ERR(
				DFG_UNAVAILABLE, "%s run %s: its results do not include '%.200s'", program, graph, fetch->word[i]);
	return NULL;
}

struct dfg_err *dfg_other_program_run(const struct dfg_other_program *other, const char *graph,
	const struct dfg_run_options *options, const struct dfg_execution *execution, const struct dfg_arrays *inputs,
	struct dfg_arrays *out_values)
{
	struct call call = {.word = NULL};
	struct dfg_err *err = call_program(&call, other, graph, options, execution, inputs);
	if (!err)
		err = read_values(&call, graph, &options->fetch, out_values);
	dfg_folder_release(&call.folder);
	dfg_free(call.word);
	dfg_arena_release(&call.arena);
	return err;
}
