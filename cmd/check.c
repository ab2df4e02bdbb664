#include "cmd/cmd.h"
#include "cmd/graph.h"
#include "formats/plan.h"
#include "lib/base/folder.h"
#include "lib/pass/verify/verify.h"
#include "lib/pass/lower/lower.h"

static int64_t errors = 20;
static bool unknown_ops;

static const struct dfg_opt options[] = {
	{"errors", .takes = "N", .number = &errors, .help = "Stop after N errors in a file (20)."},
	{"unknown-ops", .flag = &unknown_ops, .help = "Let ops pass that dfg does not know."},
	{.rows = dfg_graph_in_options},
	{0},
};

static void print_warnings(const char *path, struct dfg_err *warnings)
{
	for (const struct dfg_err *err = warnings; err; err = err->next)
		dfg_talk("%s: warning: %s", path, err->text);
	dfg_err_free(warnings);
}

/*
 * Functions are looked at as they are called; those with ops that nobody knows cannot be.
 *
 * What is held is zero until it is taken and released in any case, so no step needs to know which came before.
 */
static struct dfg_err *check_file(const char *path)
{
	struct dfg_graph_file file = {0};
	struct dfg_faults warnings = {.left = (long)errors};
	const struct dfg_verify_options verify = {.most = (long)errors, .unknown_ops = !unknown_ops, .warnings = &warnings};
	struct dfg_err *err = dfg_cmd_open_graph(path, &file);
	if (!err && !unknown_ops)
		err = dfg_err_note(dfg_lower_whole(&file.graph), "%s", path);
	if (!err)
		err = dfg_err_note(dfg_verify(&file.graph, &verify, NULL), "%s", path);
	print_warnings(path, warnings.err);
	dfg_graph_close(&file);
	return err;
}

static struct dfg_err *talk_of_foreign(void *path, const char *name)
{
	if (!dfg_plan_folder_has(name))
		dfg_talk("%s: warning: '%s' is no file of a plan", (const char *)path, name);
	return NULL;
}

/* Each part as a graph, then what is between them. */
static struct dfg_err *check_plan(const char *path)
{
	struct dfg_plan_folder plan;
	struct dfg_graph whole = {.arena = NULL};
	struct dfg_faults faults = {.left = (long)errors}, warnings = {.left = (long)errors};
	DFG_TRY(dfg_folder_each(path, talk_of_foreign, (void *)path));
	DFG_TRY(dfg_cmd_open_plan(path, &faults, &plan));
	for (uint32_t i = 0; i < plan.parts.parts && faults.left > 0; i++) {
		const struct dfg_verify_options verify = {
			.most = faults.left, .unknown_ops = !unknown_ops, .warnings = &warnings};
		const char *source = plan.parts.part[i].source;
		dfg_fault(&faults, dfg_err_note(dfg_verify(&plan.parts.part[i], &verify, NULL), "%s", source));
		print_warnings(source, warnings.err);
		warnings.err = NULL;
	}
	if (!faults.err) {
		dfg_fault(&faults, dfg_err_note(dfg_plan_folder_join(&plan, &whole), "%s", path));
		dfg_graph_release(&whole);
	}
	dfg_plan_folder_close(&plan);
	return faults.err;
}

static struct dfg_err *check(char **paths, int *out_status)
{
	if (errors < 1)
		return DFG_ERR(DFG_USAGE, "--errors is 1 or more");
	for (; *paths; paths++) {
		int status = dfg_cmd_report(dfg_plan_folder_is(*paths) ? check_plan(*paths) : check_file(*paths));
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
