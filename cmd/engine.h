#pragma once

#include "cmd/cmd.h"
#include "lib/exec/session.h"

/* Execution options, shared by run, test and bench. */
struct dfg_engine {
	int64_t threads, seed, max_iterations; /* seed -1: none was given */
	uint64_t memory_limit;
	double timeout;
	bool check_numerics, no_opt;
	const char *schedule, *swap;
};
extern struct dfg_engine dfg_engine;
extern const struct dfg_opt dfg_engine_options[];

/* Fills the session options; DFG_USAGE for values out of range. */
DFG_MUST_CHECK struct dfg_err *dfg_engine_session(struct dfg_session_options *out_options);

/* Enforces --memory-limit from now on. */
void dfg_engine_limit_memory(void);

/* If the error is that --memory-limit was exceeded, adds the limit and the graph's name. Takes err. */
DFG_MUST_CHECK struct dfg_err *dfg_engine_name_limit(struct dfg_err *err, const char *path);
