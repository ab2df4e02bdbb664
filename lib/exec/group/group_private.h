#pragma once

#include "lib/base/mem.h"
#include "lib/base/pool.h"
#include "lib/exec/group/group.h"
#include "lib/exec/group/tree.h"

/*
 * Internals of a group: group.c has the buckets and what one process adds, direct.c, staged.c and shared.c the sums that
 * several replicas add together.
 */

/* A message that another replica has sent, or that is to be sent to it. */
struct group_message {
	uint32_t replica;
	struct dfg_message message;
};

struct group_bucket {
	uint32_t number;
	char name[64];                           /* of its first tensor, for messages; "": not known */
	pthread_mutex_t lock;                    /* guards all fields while the bucket is reduced across replicas */
	bool begun, is_sum, is_share, is_adasum; /* the rule as in struct dfg_contribution */
	enum dfg_dtype dtype;                    /* of the tensors */
	struct dfg_shape *shape;
	size_t *offset; /* by tensor, in elements or rows of the sum; one more entry than tensors */
	uint32_t n;
	enum dfg_dtype indices;    /* of a bucket of rows: the type of their numbers; 0: it is dense */
	struct dfg_tree_sum sum;   /* of the shards of this replica; of all where there is one replica */
	struct dfg_buffer *result; /* NULL: not computed yet */

	struct group_held { /* a contribution that waits for dfg_group_take() */
		uint32_t shard;
		struct dfg_buffer *value;
	} * held;
	size_t n_held, held_capacity;

	/* Across replicas. */
	bool across;
	uint32_t contributed;          /* shards of this replica that have contributed */
	struct dfg_tree_sum slice;     /* the sum of the slice that this replica owns */
	struct dfg_buffer *gathered;   /* the slices of the result that have arrived, each at its place */
	struct dfg_buffer **row_slice; /* by owner, of a bucket of rows: the slices of the result; NULL: not arrived */
	uint32_t row_slices;           /* length of that list */
	bool *arrived;                 /* by owner */
	uint32_t slices;               /* number of those that have arrived */
	struct dfg_buffer *staged;     /* the sum in progress of a bucket that is reduced in stages; NULL: not begun */
	uint32_t stage;                /* the one whose message it waits for */
	struct group_message *early;   /* wait until this replica has begun the step and knows the bucket's shapes */
	size_t earlies, early_capacity;
	/* this replica's first and last contribution; when the sum was there; 0: not in this step */
	uint64_t ready_ns, sent_ns, done_ns;
	struct shared_bucket *shared; /* its memory that all replicas map; NULL: it has none */
};

/* A replica of the group, and what was sent to it. */
struct group_peer {
	struct dfg_link *link; /* NULL: this replica */
	struct dfg_group_sent sent;
	struct dfg_err *lost; /* the reason why it is lost; NULL: it is not. Guarded by the group's lock */
};

struct dfg_group {
	struct dfg_resource resource;
	uint64_t begun;       /* number of steps that have begun */
	pthread_mutex_t step; /* held by the step in progress */
	pthread_mutex_t lock; /* protects the list of buckets, not their contents, and the fields that say so */
	struct group_bucket **bucket;
	size_t count, capacity;
	struct dfg_shard shard; /* of the compute run in progress */
	struct dfg_shard whole; /* the number of shards and the rows of the step in progress */
	bool entered;
	bool picks;  /* the step takes the contributions of the shards that `taken` has, by shard; else of all */
	bool *taken; /* NULL: no step has picked */
	size_t taken_capacity;
	bool holds;     /* contributions are held until dfg_group_take() */
	struct stream { /* a stream of random numbers that the step has drawn from */
		struct dfg_variable *position;
		uint64_t drawn; /* blocks, in the compute run in progress */
	} * stream;
	size_t streams, stream_capacity;

	/* Across replicas. */
	struct group_peer *peer; /* by replica; NULL: one process computes all shards */
	uint32_t self, replicas;
	enum dfg_denormals denormals; /* the mode in which contributions that arrive are added */
	pthread_rwlock_t links;       /* held to read while messages are sent, to write when a link is replaced */
	uint64_t epoch;               /* of the members. Guarded by `lock`; changes between steps only */
	uint32_t *member, members;    /* replicas that take part in steps, ascending; they change with the epoch */
	uint64_t last;                /* step: those up to it are over. Guarded by `lock` */
	_Atomic uint64_t number;      /* of the step in progress; 0: none, or one of this process alone */
	uint32_t *owner, owners;      /* replicas whose shards have rows, ascending: owner i owns slice i of a bucket */
	uint32_t wanted;              /* shards of this replica that have rows */
	enum dfg_algorithm asked;     /* by dfg_group_use() */
	enum dfg_algorithm stages;    /* of the dense buckets of this step: direct, halving or ring */
	uint32_t turn;                /* of the ranges of shards over the members, in this step */
	uint64_t held_number;         /* of the step, while contributions are held */
	bool *absent;                 /* by replica: it takes no part in this step */
	struct dfg_event event;       /* signalled when a bucket is complete, and on failure */
	struct dfg_err *failed;       /* the error that ends the waits of this step. Guarded by `lock` */
	uint64_t stale;               /* messages of another epoch or a step that is over. Guarded by `lock` */
	bool measured;                /* times are taken */
	uint64_t computed_ns;         /* when the last compute run of this replica ended */
	struct dfg_group_times times; /* of the steps that have ended. Guarded by `lock` */
	struct group_shared *shared;  /* memory that all replicas map; NULL: none */
	struct group_passed {         /* the last segment that replica 0 has passed. Guarded by `lock` */
		int fd;
		uint64_t tag;
		bool there;
	} passed;
};

/* The bucket of that number, made where there is none. */
DFG_MUST_CHECK struct dfg_err *dfg_group_bucket(
	struct dfg_group *group, uint32_t number, struct group_bucket **out_bucket);

/* taken.c: the rows of a shard that count in this step. */
int64_t dfg_group_rows(const struct dfg_group *group, uint32_t shard);

/* The rows that count, and the number of shards that have any. */
struct dfg_taken {
	int64_t rows;
	uint32_t shards;
};
struct dfg_taken dfg_group_taken(const struct dfg_group *group);

/* Sets what dfg_group_rows() gives; NULL: all rows. */
DFG_MUST_CHECK struct dfg_err *dfg_group_pick(struct dfg_group *group, const bool *taken);

/* Keeps a contribution for dfg_group_take(). Takes the value. The bucket's lock is held, as below. */
DFG_MUST_CHECK struct dfg_err *dfg_bucket_hold(struct group_bucket *bucket, uint32_t shard, struct dfg_buffer *value);
void dfg_bucket_drop_held(struct group_bucket *bucket);

/* The members of the step that is beginning: which own slices, and how many shards of this replica have rows. */
void dfg_group_find_owners(struct dfg_group *group);

/* The number of a replica's shards that have rows which count. */
uint32_t dfg_group_count_shards(const struct dfg_group *group, uint32_t replica);

/* The time; 0 where none is taken. */
static inline uint64_t dfg_group_now(const struct dfg_group *group)
{
	return group->measured ? dfg_now() : 0;
}

/* times.c: adds the times of the step's buckets, before they end. */
void dfg_group_add_times(struct dfg_group *group);

/* The first element of slice i of a bucket; that of slice `owners` is the bucket's end. */
size_t dfg_slice_first(const struct dfg_group *group, const struct group_bucket *bucket, uint32_t i);

/*
 * The error of a wait: what the bucket waits for after that many seconds, or waited for when `err` ended the wait, which is
 * taken.
 */
DFG_MUST_CHECK struct dfg_err *dfg_group_explain_wait(
	const struct dfg_group *group, const struct group_bucket *bucket, double seconds, struct dfg_err *err);

/* The error that ends the waits of this step; NULL: none. */
DFG_MUST_CHECK struct dfg_err *dfg_group_failure(struct dfg_group *group);

/* The bucket of that index, locked; NULL: there is none. */
struct group_bucket *dfg_group_lock_bucket(struct dfg_group *group, size_t i);

/* Records the shapes of a bucket's tensors, or of the contributions of a step; indices: as bucket->indices. */
DFG_MUST_CHECK struct dfg_err *dfg_bucket_lay_out_shapes(struct group_bucket *bucket, enum dfg_dtype dtype,
	enum dfg_dtype indices, const struct dfg_shape *shape, uint32_t n);
DFG_MUST_CHECK struct dfg_err *dfg_bucket_lay_out(
	struct group_bucket *bucket, const struct dfg_contribution *contribution);

/*
 * Begins a sum over the shards of the step, of `count` elements or rows of the bucket; in the second function shards without
 * rows contribute nothing.
 */
void dfg_bucket_begin_own(
	const struct dfg_group *group, const struct group_bucket *bucket, struct dfg_tree_sum *sum, size_t count);
DFG_MUST_CHECK struct dfg_err *dfg_bucket_begin_sum(
	const struct dfg_group *group, const struct group_bucket *bucket, struct dfg_tree_sum *sum, size_t count);

/* The type of the rows of a bucket of rows. */
struct dfg_row_type dfg_bucket_row_type(const struct group_bucket *bucket);

/* The elements of a sum: f32 or wider; a complex number is two. */
enum dfg_dtype dfg_bucket_sum_dtype(enum dfg_dtype dtype);

/* Copies the tensors of the shard in progress to their places in a sum, weighted by its rows if the weights differ. */
void dfg_bucket_copy(const struct dfg_group *group, const struct group_bucket *bucket,
	const struct dfg_contribution *contribution, struct dfg_buffer *to);

/* The same for a bucket of rows: a set of them. */
DFG_MUST_CHECK struct dfg_err *dfg_bucket_copy_rows(const struct dfg_group *group, const struct group_bucket *bucket,
	const struct dfg_contribution *contribution, struct dfg_buffer **out_set);

/* Divides elements of a sum, or all of one, where the rule is a mean. */
void dfg_bucket_divide(const struct dfg_group *group, const struct group_bucket *bucket, void *element, size_t count);
void dfg_bucket_divide_sum(const struct dfg_group *group, const struct group_bucket *bucket,
	const struct dfg_tree_sum *sum, struct dfg_buffer *value);

/* Makes the divided sum the result: rounds it to halves in a buffer of their own. Takes the sum. */
DFG_MUST_CHECK struct dfg_err *dfg_bucket_finish(struct group_bucket *bucket, struct dfg_buffer *sum);

/* Tensor i of the result, a new reference. */
DFG_MUST_CHECK struct dfg_err *dfg_bucket_read(
	const struct group_bucket *bucket, uint32_t i, struct dfg_tensor *out_tensor);

/* The epoch of a message of kind DFG_MESSAGE_REDUCE. */
uint64_t dfg_direct_epoch(const struct dfg_message *message);

/* The shards that a member computes; none of a replica that takes no part. */
struct dfg_shard dfg_group_shards_of(const struct dfg_group *group, uint32_t replica);

/* The reason why a member is lost, as an error of a wait; NULL: all are there. `lock` is held. */
DFG_MUST_CHECK struct dfg_err *dfg_group_why_lost(const struct dfg_group *group);

/* Whether the contributions of this compute run are reduced across replicas. */
static inline bool dfg_group_is_across(const struct dfg_group *group)
{
	return group->peer && group->entered && atomic_load(&group->number);
}
