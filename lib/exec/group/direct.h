#pragma once

#include "lib/exec/group/group_private.h"

/* Messages to send when no lock is held. */
struct outbox {
	struct group_message *message;
	size_t count, capacity;
};

/* Sends the messages, and empties the outbox in any case. Takes err, and then sends nothing; returns it or its own. */
DFG_MUST_CHECK struct dfg_err *dfg_outbox_send(struct dfg_group *group, struct outbox *outbox, struct dfg_err *err);

/*
 * The direct algorithm. Begins a bucket whose shapes were recorded; then, after each shard of this replica that was
 * added to the bucket's sum, `contributed`. The bucket's lock is held.
 */
DFG_MUST_CHECK struct dfg_err *dfg_direct_begin(
	struct dfg_group *group, struct group_bucket *bucket, struct outbox *outbox);
DFG_MUST_CHECK struct dfg_err *dfg_direct_contributed(
	struct dfg_group *group, struct group_bucket *bucket, struct outbox *outbox);

/* Ends the step of a bucket, and frees what the algorithm keeps in it. The lock is held. */
void dfg_direct_end(struct group_bucket *bucket);
void dfg_direct_release(struct group_bucket *bucket);

/* The shapes of a bucket as a message, and read from one; *out_fits: it has some. */
DFG_MUST_CHECK struct dfg_err *dfg_direct_put_layout(const struct group_bucket *bucket, struct dfg_tensor *out_layout);
DFG_MUST_CHECK struct dfg_err *dfg_direct_get_layout(
	struct group_bucket *bucket, const struct dfg_tensor *layout, bool *out_fits);
