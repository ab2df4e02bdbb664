#include "cmd/cmd.h"
#include "cmd/graph.h"
#include "lib/pass/verify.h"

static int64_t errors = 20;
static bool unknown_ops;

static const struct dfg_opt options[] = {
	{"errors", .takes = "N", .number = &errors, .help = "Stop after N errors in a file (20)."},
	{"unknown-ops", .flag = &unknown_ops, .help = "Let ops pass that dfg does not know."},
	{.rows = dfg_graph_in_options},
	{0},
};

/* What is held is zero until it is taken and released in any case, so no step needs to know which came before. */
static struct dfg_err *check_file(const char *path)
{
	struct dfg_graph_file file = {0};
	const struct dfg_verify_options verify = {.most = (long)errors, .unknown_ops = !unknown_ops};
	struct dfg_err *err = dfg_cmd_open_graph(path, &file);
	if (!err)
		err = dfg_err_note(dfg_verify(&file.graph, &verify, NULL), "%s", path);
	dfg_graph_close(&file);
	return err;
}

static struct dfg_err *check(char **paths, int *out_status)
{
	if (errors < 1)
		return DFG_ERR(DFG_USAGE, "--errors is 1 or more");
	for (; *paths; paths++) {
		int status = dfg_cmd_report(check_file(*paths));
		*out_status = *out_status ? *out_status : status;
	}
	return NULL;
}

const struct dfg_cmd dfg_cmd_check = {
	.name = "check",
	.operands = "G...",
	.summary = "validate graphs",
	.options = options,
	.least = 1,
	.most = -1,
	.run = check,
};
