#include "app/array_source.h"
#include "cmd/cmd.h"
#include "cmd/graph.h"
#include "formats/array.h"
#include "formats/plan.h"
#include "lib/base/path.h"

#include <string.h>
#include <unistd.h>

static const struct dfg_opt options[] = {
	{.rows = dfg_graph_out_options},
	{.rows = dfg_graph_in_options},
	{0},
};

static struct dfg_err *convert_arrays(const char *path, const struct dfg_cmd_output *to)
{
	struct dfg_checkpoint from = {0};
	bool text = to->format && !strcmp(to->format, "csv");
	if (!strcmp(to->path, "-") && isatty(STDOUT_FILENO) && !text)
		return DFG_ERR(DFG_USAGE, "binary output is not written to a terminal: give -o FILE");
	struct dfg_err *err = dfg_array_source_read_words(path, &dfg_stderr, &from);
	if (!err)
		err = dfg_arrays_write(to->path, to->format, to->if_changed, &from.arrays);
	dfg_checkpoint_release(&from);
	return err;
}

/* A folder of arrays cannot become a graph. */
static struct dfg_err *check_folder(const char *path)
{
	bool checkpoints = false;
	if (!dfg_is_directory(path) || dfg_plan_folder_is(path))
		return NULL;
	if (!dfg_checkpoint_is(path))
		DFG_TRY(dfg_checkpoints_any(path, &checkpoints));
	else
		checkpoints = true;
	return checkpoints ? DFG_ERR(DFG_DATA, "%s: a checkpoint holds arrays, not a graph; the output may be %s", path,
							 dfg_array_suffixes().s)
					   : NULL;
}

static struct dfg_err *convert(char **operands, int *out_status)
{
	(void)out_status;
	const struct dfg_cmd_output to = dfg_cmd_output();
	struct dfg_graph_file file;
	if (dfg_array_codec_of(to.path, to.format))
		return convert_arrays(*operands, &to);
	struct dfg_err *unknown = dfg_cmd_check_output(*operands);
	if (unknown) {
		struct dfg_err *both = DFG_ERR(unknown->code, "%s; for arrays %s", unknown->text, dfg_array_suffixes().s);
		dfg_err_free(unknown);
		return both;
	}
	DFG_TRY(check_folder(*operands));
	DFG_TRY(dfg_cmd_open_graph(*operands, &file));
	struct dfg_err *err = dfg_cmd_save_graph(&file.graph);
	dfg_graph_close(&file);
	return err;
}

const struct dfg_cmd dfg_cmd_convert = {
	.name = "convert",
	.operands = "IN",
	.summary = "convert a graph or arrays to another format",
	.options = options,
	.least = 1,
	.most = 1,
	.run = convert,
};
