#include "cmd/graph.h"

#include "lib/base/path.h"
#include "lib/base/size.h"

#include <string.h>
#include <unistd.h>

bool dfg_cmd_strict;
static bool if_changed;
static const char *output, *format, *external;

const struct dfg_opt dfg_graph_in_options[] = {
	{"strict", .flag = &dfg_cmd_strict, .help = "Reject fields that this version does not know."},
	{0},
};
const struct dfg_opt dfg_graph_out_options[] = {
	{"output", 'o', .takes = "FILE", .text = &output, .help = "Write to FILE instead of stdout."},
	{"to", .takes = "FORMAT", .text = &format,
		.help = "Write this format (for a graph pb or pbtxt), whatever the suffix of FILE."},
	{"external-data", .takes = "SIZE", .text = &external,
		.help = "Store constants of SIZE bytes or more in FILE.safetensors."},
	{"if-changed", .flag = &if_changed, .help = "Do not touch FILE if its content would not change."},
	{0},
};

struct dfg_graph_input dfg_cmd_graph_input(void)
{
	return (struct dfg_graph_input){.strict = dfg_cmd_strict, .output = output, .report = &dfg_stderr};
}

struct dfg_err *dfg_cmd_open_graph(const char *path, struct dfg_graph_file *out_file)
{
	const struct dfg_graph_input input = dfg_cmd_graph_input();
	DFG_TRY(dfg_cmd_check_output(path));
	return dfg_graph_input_open(path, &input, out_file);
}

struct dfg_err *dfg_cmd_open_thorough(const char *path, struct dfg_graph_file *out_file)
{
	struct dfg_graph_input input = dfg_cmd_graph_input();
	input.thorough = true;
	DFG_TRY(dfg_cmd_check_output(path));
	return dfg_graph_input_open(path, &input, out_file);
}

struct dfg_err *dfg_cmd_open_plan(const char *path, struct dfg_faults *faults, struct dfg_plan_folder *out_plan)
{
	const struct dfg_graph_input input = dfg_cmd_graph_input();
	return dfg_graph_input_plan(path, &input, faults, out_plan);
}

struct dfg_err *dfg_cmd_check_output(const char *input)
{
	bool text;
	if (output && dfg_same_file(output, input))
		return NULL;
	return dfg_graph_format(&(struct dfg_graph_output){.path = output ? output : "-", .format = format}, &text);
}

struct dfg_cmd_output dfg_cmd_output(void)
{
	return (struct dfg_cmd_output){output ? output : "-", format, if_changed};
}

/* Fills the output's path and format from the options. */
static struct dfg_err *graph_output(struct dfg_graph_output *out_output)
{
	uint64_t least = 0;
	*out_output = (struct dfg_graph_output){output ? output : "-", format, if_changed, 0};
	bool to_stdout = !strcmp(out_output->path, "-");
	if (to_stdout && isatty(STDOUT_FILENO) && (!format || strcmp(format, "pbtxt")))
		return DFG_ERR(DFG_USAGE, "a binary graph is not written to a terminal: give -o FILE, or --to pbtxt");
	if (!external)
		return NULL;
	if (to_stdout)
		return DFG_ERR(DFG_USAGE, "--external-data requires -o FILE");
	DFG_TRY(dfg_err_note(dfg_parse_size(external, &least), "--external-data"));
	out_output->external = least ? least : 1;
	return NULL;
}

struct dfg_err *dfg_cmd_save_graph(const struct dfg_graph *graph)
{
	struct dfg_graph_output to;
	DFG_TRY(graph_output(&to));
	return dfg_graph_save(&to, graph);
}
