#include "cmd/bench.h"

#include "cmd/graph.h"
#include "cmd/shared_options.h"

#include <stdio.h>

enum { REPEAT = 100 };

static void print(const struct dfg_timing *timing)
{
	for (int i = 0; i < DFG_TIMINGS; i++)
		printf(dfg_globals.json ? "%s\"%s\": %.3f" : "%s%s %.3f\n",
			!dfg_globals.json ? ""
			: i               ? ", "
							  : "{",
			dfg_timing_name[i], timing->value[i]);
	if (dfg_globals.json)
		printf("}\n");
}

struct dfg_err *dfg_bench_file(const char *path, struct dfg_run_options *options, int64_t batch)
{
	struct dfg_run run = {.options = options,
		.execution = &dfg_shared.execution,
		.replication = &dfg_shared.replication,
		.input = dfg_cmd_graph_input()};

	options->repeat = options->repeat < 0 ? REPEAT : options->repeat;
	struct dfg_err *err = dfg_run_made_up(path, batch, &run);
	if (!err)
		print(&run.timing);
	dfg_run_close(&run);
	return err;
}
