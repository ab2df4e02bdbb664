#include "cmd/cmd.h"
#include "cmd/graph.h"
#include "formats/array.h"

#include <string.h>
#include <unistd.h>

static const struct dfg_opt options[] = {
	{.rows = dfg_graph_out_options},
	{.rows = dfg_graph_in_options},
	{0},
};

static struct dfg_err *convert_arrays(const char *path, const struct dfg_cmd_output *to)
{
	struct dfg_arrays arrays;
	bool text = to->format && !strcmp(to->format, "csv");
	if (!strcmp(to->path, "-") && isatty(STDOUT_FILENO) && !text)
		return DFG_ERR(DFG_USAGE, "binary output is not written to a terminal: give -o FILE");
	DFG_TRY(dfg_arrays_read_words(path, &arrays));
	struct dfg_err *err = dfg_arrays_write(to->path, to->format, to->if_changed, &arrays);
	dfg_arrays_release(&arrays);
	return err;
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
