#pragma once

#include "cmd/cmd.h"
#include "lib/exec/session.h"

/* How graphs are executed: what run, test and bench share. */
struct dfg_engine {
	int64_t threads, seed, max_iterations; /* seed -1: none was given */
	uint64_t memory_limit;
	double timeout;
	bool check_numerics, no_opt;
	const char *schedule, *swap;
};
extern struct dfg_engine dfg_engine;
extern const struct dfg_opt dfg_engine_options[];

/* DFG_USAGE for values that are out of range. */
DFG_MUST_CHECK struct dfg_err *dfg_engine_session(struct dfg_session_options *out_options);

/* --memory-limit, from here on. */
void dfg_engine_limit_memory(void);

/* Where memory was short of --memory-limit, says so and of which graph. Takes err. */
DFG_MUST_CHECK struct dfg_err *dfg_engine_name_limit(struct dfg_err *err, const char *path);
