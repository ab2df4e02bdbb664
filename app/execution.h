#pragma once

#include "lib/exec/session.h"

/* Execution options, as a user gives them. */
struct dfg_execution {
	int64_t threads, seed, max_iterations; /* threads and max_iterations 0: not limited; seed -1: none was given */
	uint64_t memory_limit;                 /* bytes, which the caller enforces by `limit`; 0: none */
	double timeout;                        /* seconds; 0: none */
	const char *denormals;                 /* "flush" or "keep"; NULL: flush */
	int64_t winograd;                      /* 2 or 4: tiles of convolutions by constant weights; 0: 2 */
	bool check_numerics, no_opt, no_compiled_loops, exact_conv;
	const char *schedule;        /* "random:SEED"; NULL: the usual order */
	const char *swap;            /* folder to which saved values are moved when memory is short; NULL: none */
	struct dfg_mem_limit *limit; /* the allocator that enforces memory_limit, which decides when to swap; or NULL */
};

/* Fills the session options, which borrow from `execution`; DFG_USAGE for values out of range. */
DFG_MUST_CHECK struct dfg_err *dfg_execution_session(
	const struct dfg_execution *execution, struct dfg_session_options *out_options);

/* How the run computes with denormals; DFG_USAGE for any other word. */
DFG_MUST_CHECK struct dfg_err *dfg_execution_denormals(
	const struct dfg_execution *execution, enum dfg_denormals *out_denormals);
