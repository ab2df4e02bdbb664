#pragma once

#include "lib/exec/session_private.h"

/*
 * A step of a sharded batch: the compute run, once for each shard that has rows, contributes to the all-reduce and gives
 * the fetches that do not depend on it; then the update run, which is fed the tickets in place of the contributions,
 * gives the others and writes the variables. Nothing is written unless all compute runs have succeeded.
 */
struct replica;

/*
 * Makes the plan of a step. *out_made is false, and the plan is not made, if no tensor that the step feeds is marked as
 * sharded, or nothing depends on such a tensor.
 */
DFG_MUST_CHECK struct dfg_err *dfg_replica_plan(
	struct dfg_session *session, const struct dfg_step *step, struct dfg_plan *plan, bool *out_made);
void dfg_replica_release(struct replica *replica);

DFG_MUST_CHECK struct dfg_err *dfg_replica_run(
	struct replica *replica, const struct dfg_tensor *feeds, struct dfg_tensor *out_fetches);

/* Statistics of both runs together. */
void dfg_replica_stats(const struct replica *replica, struct dfg_stats *out_stats);
