#pragma once

#include "lib/base/float_mode.h"
#include "lib/exec/state/state.h"
#include "lib/exec/transport/link.h"

/*
 * The all-reduce of a training step over the shards of a global batch. Each shard's compute run contributes its
 * gradients, in buckets; when all shards have contributed, the sums, divided where the rule is a mean, are the results
 * that the update run reads. A group is a resource of a session's state. One compute run is in progress at a time; its
 * kernels may contribute to different buckets on different threads.
 */
struct dfg_group;

/* The group of the session; outside steps it has one shard. Borrowed. */
DFG_MUST_CHECK struct dfg_err *dfg_group_of(struct dfg_state *state, struct dfg_group **out_group);

enum { DFG_SHARDS_MOST = 1 << 16 }; /* shards of a batch */

/* The rows of a shard: [first, first + rows) of the global batch. */
struct dfg_shard {
	uint32_t number, shards;
	int64_t first, rows;
	int64_t batch; /* rows of the global batch */
};
struct dfg_shard dfg_shard_of(uint32_t number, uint32_t shards, int64_t batch);

/*
 * Begins a step, when the step in progress, if any, has ended; returns the number of steps that have begun. The end
 * drops contributions and results.
 */
uint64_t dfg_group_begin(struct dfg_group *group, uint32_t shards, int64_t batch);
void dfg_group_end(struct dfg_group *group);

/* The compute run that follows is that of the shard; `shard` NULL: the compute run has ended. */
void dfg_group_enter(struct dfg_group *group, const struct dfg_shard *shard);

/* The shard whose compute run is in progress; false outside a compute run. */
bool dfg_group_shard(const struct dfg_group *group, struct dfg_shard *out_shard);

/*
 * A random op of a compute run draws `blocks` of the stream whose position in blocks is a variable (u64). *out_drawn: the
 * blocks that ops of this compute run have drawn of it before. dfg_group_commit() moves the positions of all streams that
 * were drawn from on by DFG_GROUP_STRIDE.
 */
#define DFG_GROUP_STRIDE (UINT64_C(1) << 36)
DFG_MUST_CHECK struct dfg_err *dfg_group_draw(
	struct dfg_group *group, struct dfg_variable *position, uint64_t blocks, uint64_t *out_drawn);

/* All compute runs have succeeded: writes what they leave in the state besides the update run. */
DFG_MUST_CHECK struct dfg_err *dfg_group_commit(struct dfg_group *group);

/*
 * Contributes n tensors of floats or complex numbers, all of one dtype, copied, to a bucket. The rule is the same for
 * all shards: the mean weighted by rows, or the sum. DFG_DATA if the shapes differ from those of another shard.
 */
struct dfg_contribution {
	uint32_t bucket;
	bool is_sum;
	bool is_share;  /* of a mean: divided by the rows of the whole batch, whichever shards count */
	bool is_adasum; /* and a sum: combined by Adasum in the order of the tree, for 2^n shards; dense */
	const struct dfg_tensor *const *tensor;
	uint32_t n;
	/*
	 * Of rows: tensor 0 has rows of a table of this shape, whose numbers are `indices`, and n is 1; the result is tensor 0,
	 * the numbers, ascending, and tensor 1, the rows. NULL: tensors are dense. The same for all shards.
	 */
	const struct dfg_tensor *indices;
	const struct dfg_shape *table;
	const struct dfg_list *names; /* strings: the first tensors' names, for errors; borrowed, may be NULL */
};
DFG_MUST_CHECK struct dfg_err *dfg_group_contribute(
	struct dfg_group *group, const struct dfg_contribution *contribution);

/* Tensor i of a bucket's result, a new reference. DFG_DATA if a shard has not contributed. */
DFG_MUST_CHECK struct dfg_err *dfg_group_result(
	struct dfg_group *group, uint32_t bucket, uint32_t i, struct dfg_tensor *out_tensor);

/*
 * A group of several replicas, each in a process of its own with a group of its own: replica r computes the shards
 * [first, first + rows) of dfg_group_range(r). Contributions travel over links; the result of a bucket is there when
 * dfg_group_wait() has returned. One process: dfg_group_of() makes the group.
 */
struct dfg_shard dfg_group_range(uint32_t replica, uint32_t replicas, uint32_t shards);

/*
 * link: by replica, NULL for this one; the array is copied, the links are borrowed. denormals: how contributions that
 * arrive are added. Free drops a reference; a state that shares the group has its own.
 */
DFG_MUST_CHECK struct dfg_err *dfg_group_new(const struct dfg_link *const *link, uint32_t self, uint32_t replicas,
	enum dfg_denormals denormals, struct dfg_group **out_group);
void dfg_group_free(struct dfg_group *group);

/*
 * How replicas reduce. Direct: each owns a slice of a bucket, receives the others' sums of it and returns the result. shm: in
 * memory that they share. Halving: each exchanges half of what it still has to add with one other replica at a time: fewer
 * messages, one after the other. Ring: each sends to the next one only; the order of its sums depends on the number of
 * replicas, that of all others on the number of shards alone. Auto: shm where it can be, else halving where replicas are
 * many, else direct.
 */
enum dfg_algorithm {
	DFG_ALGORITHM_AUTO,
	DFG_ALGORITHM_DIRECT,
	DFG_ALGORITHM_SHM,
	DFG_ALGORITHM_HALVING,
	DFG_ALGORITHM_RING
};

/* How the steps that follow reduce dense buckets over links; auto is the default. Between steps. */
void dfg_group_use(struct dfg_group *group, enum dfg_algorithm algorithm);

/*
 * The algorithm over links if that one is asked for: halving requires numbers of replicas and shards that are powers of two.
 * Buckets of rows, and steps in which a shard has no rows, or some are not taken, are reduced directly.
 */
enum dfg_algorithm dfg_group_algorithm(enum dfg_algorithm asked, uint32_t replicas, uint32_t shards);

/* The messages that a replica sends for a bucket, if it has one sum of its shards: direct, halving or ring. */
uint32_t dfg_group_messages(enum dfg_algorithm algorithm, uint32_t replicas);

/* The group becomes that of the session, whose group must not have been asked for before. */
DFG_MUST_CHECK struct dfg_err *dfg_group_share(struct dfg_group *group, struct dfg_state *state);

/*
 * Lays out the buckets of a graph, numbered by `tag`, in memory that all replicas map: they must be on one host, and have
 * the same buckets. Replaces an earlier layout; no step may be in progress. Replica 0 makes the memory and passes it over
 * the links, which must have kind->pass. A bucket that is not laid out is reduced over links, and so are all from the
 * second epoch on.
 */
struct dfg_bucket_layout {
	uint32_t number, n;
	bool is_sum, is_share; /* as in struct dfg_contribution */
	enum dfg_dtype dtype;
	struct dfg_shape *shape; /* of its tensors, completely known */
};
DFG_MUST_CHECK struct dfg_err *dfg_group_lay_out(
	struct dfg_group *group, uint64_t tag, uint32_t shards, const struct dfg_bucket_layout *bucket, size_t count);

/* Takes a descriptor that a replica has passed. Any thread. */
void dfg_group_passed(struct dfg_group *group, uint32_t from, uint64_t tag, int fd);

/*
 * The memory in which the shard in progress contributes tensor i of a bucket that is laid out, so that a contribution of
 * this tensor copies nothing; borrowed until the shard has contributed. DFG_DATA if it has none.
 */
DFG_MUST_CHECK struct dfg_err *dfg_group_place(
	struct dfg_group *group, uint32_t bucket, uint32_t i, struct dfg_tensor *out_tensor);

/* A step of all replicas. */
struct dfg_group_step {
	uint64_t number; /* which all replicas give it, from 1 on, ascending */
	uint32_t shards;
	int64_t batch;
	const bool *taken; /* by shard: whether its contribution counts; NULL: those of all do. Copied */
	bool holds;        /* contributions are held until dfg_group_take() says which count */
	uint32_t turn;     /* member i computes dfg_group_range((i + turn) % members, members, shards) */
	uint32_t only;     /* the step is of that replica, + 1, by itself; 0: of all */
	bool partial;      /* the update is one of several by which the step's sum is applied */
	uint64_t clock;    /* of a partial update: the number of the replica's updates before it */
};
/* dfg_group_begin() of such a step; after an error, none has begun. */
DFG_MUST_CHECK struct dfg_err *dfg_group_join(struct dfg_group *group, const struct dfg_group_step *step);

/*
 * Decides which shards' contributions count, by shard; NULL: all. The others are dropped, and count as if their shards had
 * no rows: sums leave them out, and means divide by the rows that are taken. In a step that holds contributions, once the
 * compute runs have ended; `absent`, by replica, or NULL: those that take no part in the step, and are sent nothing.
 * In a step of one process that does not hold them, before the first contribution. DFG_DATA if no row is left.
 */
DFG_MUST_CHECK struct dfg_err *dfg_group_take(struct dfg_group *group, const bool *taken, const bool *absent);

/* Contributions of the step that has begun are held until dfg_group_take(). */
void dfg_group_hold(struct dfg_group *group);

/*
 * Waits for the result of a bucket, also on a replica whose shards have no rows. An error of dfg_group_fail or
 * dfg_group_lost ends it; DFG_DEADLINE after `timeout` seconds, 0: none. Errors name the bucket and what is missing.
 */
DFG_MUST_CHECK struct dfg_err *dfg_group_wait(struct dfg_group *group, uint32_t number, double timeout);

/* Handles a message of kind DFG_MESSAGE_REDUCE; takes its tensor. Fails the step if it does not fit. Any thread. */
void dfg_group_deliver(struct dfg_group *group, uint32_t from, struct dfg_message *message);

/* Ends the waits of the step in progress. Takes err. Any thread. */
void dfg_group_fail(struct dfg_group *group, struct dfg_err *err);

/* A replica is lost: ends the waits of all steps in which it takes part. Takes err. Any thread. */
void dfg_group_lost(struct dfg_group *group, uint32_t replica, struct dfg_err *err);

/*
 * Begins an epoch, whose number is larger than that of the one before: `members` replicas take part in the steps that
 * follow, in ascending order, and divide the shards: the i-th computes dfg_group_range(i, members, shards). Messages of
 * another epoch are dropped and counted; the first epoch is 0, of all replicas. Between steps. DFG_PROTOCOL if there is
 * no such epoch, or this replica takes no part in it.
 */
DFG_MUST_CHECK struct dfg_err *dfg_group_regroup(
	struct dfg_group *group, uint64_t epoch, const uint32_t *member, uint32_t members);

/* A replica that was lost has another link from now on, which is borrowed. Between steps. */
void dfg_group_relink(struct dfg_group *group, uint32_t replica, struct dfg_link *link);

/* The number of messages that were dropped, since they were of another epoch or of a step that is over. */
uint64_t dfg_group_stale(struct dfg_group *group);

/* The name of stream i that this step has drawn from; NULL: there are fewer. */
const char *dfg_group_stream(const struct dfg_group *group, size_t i);

/* The elements of a sum that a tensor of that many elements takes. */
uint64_t dfg_group_extent(enum dfg_dtype dtype, int64_t elements);

/* The bytes that all replicas together send for a bucket, if every shard has rows. */
struct dfg_group_cost {
	enum dfg_algorithm algorithm; /* direct, halving or ring */
	uint32_t owner;       /* of all of an Adasum: number of the bucket modulo that of replicas; DFG_NONE: it is a sum */
	enum dfg_dtype dtype; /* of the tensors */
	uint64_t extent;      /* elements of the sum */
	uint32_t replicas, shards;
};
uint64_t dfg_group_bytes(const struct dfg_group_cost *cost);

/* The number of rows in a message, of `rows` of a table, from which on they are marked instead of numbered. */
int64_t dfg_group_marked_from(int64_t rows);

/* Totals of contributions and results sent to a replica. */
struct dfg_group_sent {
	uint64_t messages, bytes;
};
struct dfg_group_sent dfg_group_sent(struct dfg_group *group, uint32_t replica);

/*
 * Totals of the steps that have ended, once dfg_group_measure() was called: the time in which a bucket was on its way, from
 * this replica's last contribution to the sum; and how much of it was after the last compute run of this replica.
 */
struct dfg_group_times {
	uint64_t moving_ns, waited_ns;
};
void dfg_group_measure(struct dfg_group *group);
struct dfg_group_times dfg_group_times(struct dfg_group *group);

/*
 * Times of a bucket in the step in progress, ascending, on the monotonic clock: this replica's first and last contribution,
 * which are 0 if its shards have no rows, and the sum. dfg_group_measure() was called before the step.
 */
struct dfg_bucket_times {
	uint32_t number;
	const char *name; /* of its first tensor, "": not known; borrowed from the group */
	uint64_t ready_ns, sent_ns, reduced_ns;
};

/*
 * The first bucket from number *at on whose sum this replica has; *at becomes the number after it. False: there is none.
 * Between the update run and the end of the step.
 */
bool dfg_group_next_times(struct dfg_group *group, size_t *at, struct dfg_bucket_times *out_times);
