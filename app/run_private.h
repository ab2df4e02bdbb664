#pragma once

#include "app/run.h"

/* Binds --feed and --seed. */
DFG_MUST_CHECK struct dfg_err *dfg_run_bind_feeds(struct dfg_run *run);

/* Resolves --fetch and --target in the graph; without either, the declared outputs are fetched. */
DFG_MUST_CHECK struct dfg_err *dfg_run_bind_names(struct dfg_run *run);

/* Fuses spelled-out updates into one op each. Called before the first plan, because a session plans from the graph. */
DFG_MUST_CHECK struct dfg_err *dfg_run_fuse(struct dfg_run *run);

/* Runs --init, then --load. */
DFG_MUST_CHECK struct dfg_err *dfg_run_load(struct dfg_run *run);

/* DFG_USAGE if -o cannot hold the fetches. */
DFG_MUST_CHECK struct dfg_err *dfg_run_check_results(const struct dfg_run *run);
