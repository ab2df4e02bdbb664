#pragma once

#include "lib/exec/group/direct.h"

/*
 * All-reduces in stages, in each of which a replica sends a range of its sum to one other replica and receives one: first
 * until each replica has the whole sum of one range, then until each has all ranges. The buckets of a step use one if
 * group->stages says so; those of rows are reduced directly.
 */

/* How the step that is beginning reduces: in stages only where all shards have rows. */
enum dfg_algorithm dfg_staged_choose(const struct dfg_group *group);

/* All shards of this replica have contributed to a bucket that has begun. The bucket's lock is held, as below. */
DFG_MUST_CHECK struct dfg_err *dfg_staged_contributed(
	struct dfg_group *group, struct group_bucket *bucket, struct outbox *outbox);

/* Whether a message of this step must wait for an earlier stage. */
bool dfg_staged_is_ahead(
	const struct dfg_group *group, const struct group_bucket *bucket, const struct group_message *message);

/* Takes the message of the bucket's stage; *out_fits: it is one. */
DFG_MUST_CHECK struct dfg_err *dfg_staged_take(struct dfg_group *group, struct group_bucket *bucket,
	const struct group_message *message, struct outbox *outbox, bool *out_fits);

/* The replica whose message a bucket waits for. */
uint32_t dfg_staged_awaited(const struct dfg_group *group, const struct group_bucket *bucket);

/* Ends the step of a bucket. */
void dfg_staged_end(struct group_bucket *bucket);
