#pragma once

#include "lib/exec/group/group_private.h"

/* The messages of an all-reduce. */
enum group_part { GROUP_PARTIAL, GROUP_RESULT, GROUP_LAYOUT, GROUP_STAGE };

/* iteration[] of a message's key; of a stage, FIRST is its number and COUNT 0. */
enum { GROUP_PART, GROUP_FIRST, GROUP_COUNT, GROUP_EPOCH, GROUP_FIELDS };

/* Messages to send when no lock is held. */
struct outbox {
	struct group_message *message;
	size_t count, capacity;
};

/* Sends the messages, and empties the outbox in any case. Takes err, and then sends nothing; returns it or its own. */
DFG_MUST_CHECK struct dfg_err *dfg_outbox_send(struct dfg_group *group, struct outbox *outbox, struct dfg_err *err);

struct dfg_transfer_key dfg_direct_key(
	const struct dfg_group *group, const struct group_bucket *bucket, enum group_part part, struct dfg_tree_node node);

/* Adds a message; the tensor gets another reference. */
DFG_MUST_CHECK struct dfg_err *dfg_direct_post(struct dfg_group *group, struct outbox *outbox, uint32_t to,
	const struct dfg_transfer_key *key, const struct dfg_tensor *tensor);

/* The bucket's result is there. Takes the sum, which is divided. */
DFG_MUST_CHECK struct dfg_err *dfg_direct_finish(
	struct dfg_group *group, struct group_bucket *bucket, struct dfg_buffer *sum);

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
