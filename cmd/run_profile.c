#include "cmd/run_command.h"

#include "app/ceiling.h"
#include "app/profile.h"
#include "formats/json.h"
#include "lib/base/plural.h"
#include "lib/base/pool.h"

#include <stdio.h>
#include <string.h>

/* --profile: the cost of each op and each node. */
struct printer {
	const struct dfg_profile *profile;
	struct dfg_ceiling ceiling;
	struct dfg_json_out *json;
};

static double share_of_limit(const struct printer *p, const struct dfg_profile_row *row)
{
	return dfg_ceiling_share(&p->ceiling, row->seconds, row->calls, row->operations, (double)row->bytes);
}

/* Prints a row of the table; "-" for the rate of a node that counts no operations. */
static void tell_row(const struct printer *p, const struct dfg_profile_row *row, bool of_node)
{
	char rate[24] = "-", name[700];
	double share = p->profile->seconds > 0 ? row->seconds / p->profile->seconds : 0;
	if (row->operations > 0 && row->seconds > 0)
		snprintf(rate, sizeof rate, "%.1f", 1e-9 * row->operations / row->seconds);
	snprintf(name, sizeof name, "%s%s%s%s", row->name, of_node ? " (" : "", of_node ? row->op : "", of_node ? ")" : "");
	if (row->iterations)
		snprintf(name + strlen(name), sizeof name - strlen(name), ", %llu iteration%s",
			(unsigned long long)row->iterations, dfg_plural(row->iterations));
	dfg_talk("%8llu %12.1f %6.1f %12llu %8s %6.1f  %s", (unsigned long long)row->calls, 1e6 * row->seconds, 100 * share,
		(unsigned long long)row->bytes, rate, 100 * share_of_limit(p, row), name);
}

static void print_row(const struct printer *p, const struct dfg_profile_row *row, bool of_node)
{
	struct dfg_json_out *json = p->json;
	dfg_json_open(json, '{');
	if (of_node)
		dfg_json_key(json, "node"), dfg_json_string(json, row->name);
	dfg_json_key(json, "op"), dfg_json_string(json, row->op);
	dfg_json_key(json, "calls"), dfg_json_uint(json, row->calls);
	if (row->iterations)
		dfg_json_key(json, "iterations"), dfg_json_uint(json, row->iterations);
	dfg_json_key(json, "us"), dfg_json_f64(json, 1e6 * row->seconds);
	dfg_json_key(json, "share"), dfg_json_f64(json, p->profile->seconds > 0 ? row->seconds / p->profile->seconds : 0);
	dfg_json_key(json, "bytes"), dfg_json_uint(json, row->bytes);
	dfg_json_key(json, "operations"), dfg_json_f64(json, row->operations);
	dfg_json_key(json, "of_limit"), dfg_json_f64(json, share_of_limit(p, row));
	dfg_json_close(json, '}');
}

static void print_rows(const struct printer *p, const struct dfg_profile_row *row, size_t rows, bool of_node)
{
	dfg_talk(
		"%8s %12s %6s %12s %8s %6s  %s", "calls", "us", "%", "bytes", "GFLOP/s", "limit%", of_node ? "node" : "op");
	dfg_json_key(p->json, of_node ? "nodes" : "ops");
	dfg_json_open(p->json, '[');
	for (size_t i = 0; i < rows; i++) {
		tell_row(p, &row[i], of_node);
		print_row(p, &row[i], of_node);
	}
	dfg_json_close(p->json, ']');
}

struct dfg_err *dfg_run_print_profile(struct dfg_run *run, struct dfg_json_out *json)
{
	struct dfg_profile profile;
	struct printer printer = {.profile = &profile, .json = json};
	int threads = run->execution->threads ? (int)run->execution->threads : dfg_threads_allowed();
	DFG_TRY(dfg_profile_read(run->model.session, &run->model.arena, &profile));
	DFG_TRY(dfg_ceiling_measure(threads, &printer.ceiling));
	dfg_json_open(json, '{');
	dfg_talk("%s", dfg_ceiling_words(&printer.ceiling).s);
	dfg_ceiling_json(&printer.ceiling, json);
	print_rows(&printer, profile.op, profile.ops, false);
	print_rows(&printer, profile.node, profile.nodes, true);
	dfg_json_close(json, '}');
	return NULL;
}
