#include "lib/exec/group/shared.h"
#include "lib/graph/half.h"

#include <string.h>

#if defined __SSE2__
#include <immintrin.h>
#endif

enum {
	WAIT_MOST = 60,       /* seconds until replica 0 has passed the memory */
	SPIN_NS = 20000,      /* until a thread that waits sleeps */
	SLEEP_NS = 100000000, /* until it looks again in any case: no peer is trusted to wake it */
};

static uint32_t generation(const struct dfg_group *group)
{
	return (uint32_t)atomic_load_explicit(&group->number, memory_order_relaxed);
}

static bool is_small(const struct group_bucket *bucket)
{
	return bucket->shared->stride <= SHARED_AT_ONCE;
}

static void ring_others(const struct dfg_group *group)
{
	for (uint32_t r = 0; r < group->replicas; r++)
		if (r != group->self)
			dfg_bell_ring(&group->shared->bell[r]);
}

static bool all_ready(const struct dfg_group *group, const struct group_bucket *bucket)
{
	uint32_t now = generation(group);
	for (uint32_t r = 0; r < group->replicas; r++)
		if (atomic_load(&bucket->shared->mark[r].ready) != now)
			return false;
	return true;
}

static bool is_complete(const struct dfg_group *group, const struct group_bucket *bucket)
{
	const struct segment_mark *mark = bucket->shared->mark;
	uint32_t now = generation(group);
	if (is_small(bucket))
		return atomic_load_explicit(&mark[group->replicas].done, memory_order_acquire) == now;
	for (uint32_t i = 0; i < group->owners; i++)
		if (atomic_load_explicit(&mark[group->owner[i]].done, memory_order_acquire) != now)
			return false;
	return true;
}

static void add_f32(size_t n, float *to, const float *left, const float *right)
{
	for (size_t i = 0; i < n; i++)
		to[i] = left[i] + right[i];
}

static void add_f64(size_t n, double *to, const double *left, const double *right)
{
	for (size_t i = 0; i < n; i++)
		to[i] = left[i] + right[i];
}

static void add_blocks(bool wide, size_t n, void *to, const void *left, const void *right)
{
	if (wide)
		add_f64(n, to, left, right);
	else
		add_f32(n, to, left, right);
}

/* Stores past the caches, since the result is larger than they are; bytes are a multiple of 64, as both addresses. */
static void store(char *to, const char *from, size_t bytes, bool past_caches)
{
#if defined __SSE2__
	if (past_caches) {
		for (size_t i = 0; i < bytes; i += 16)
			_mm_stream_si128((__m128i *)(to + i), _mm_load_si128((const __m128i *)(from + i)));
		return;
	}
#endif
	(void)past_caches;
	if (to != from)
		memcpy(to, from, bytes);
}

static void stored(void)
{
#if defined __SSE2__
	_mm_sfence();
#endif
}

/* Adds `bytes` bytes of all contributions from an offset on, at most a block, and stores their sum or mean. */
static void add_block(const struct dfg_group *group, const struct group_bucket *bucket, size_t at, size_t bytes)
{
	const struct group_shared *shared = group->shared;
	const struct shared_bucket *own = bucket->shared;
	enum { STREAM_LEAST = 1 << 20 };
	bool wide = bucket->sum.dtype == DFG_F64;
	size_t n = bytes / dfg_dtype_size(bucket->sum.dtype);
	const char *stack[SHARED_DEPTH];
	uint32_t depth = 0;
	for (uint32_t i = 0; i < shared->steps; i++) {
		if (shared->program[i] != SHARED_ADD) {
			stack[depth++] = own->value + (size_t)shared->program[i] * own->stride + at;
			continue;
		}
		depth--;
		char *to = (char *)shared->scratch + (size_t)(depth - 1) * SHARED_BLOCK;
		add_blocks(wide, n, to, stack[depth - 1], stack[depth]);
		stack[depth - 1] = to;
	}
	char *sum = shared->scratch;
	if (stack[0] != sum)
		memcpy(sum, stack[0], bytes);
	dfg_bucket_divide(group, bucket, sum, n);
	store((char *)own->view->buffer.data + at, sum, bytes, own->stride >= STREAM_LEAST);
}

/* The caller is the only thread of this process that adds. */
static void add_range(const struct dfg_group *group, const struct group_bucket *bucket, size_t at, size_t end)
{
	for (size_t bytes; at < end; at += bytes) {
		bytes = end - at < SHARED_BLOCK ? end - at : SHARED_BLOCK;
		add_block(group, bucket, at, bytes);
	}
	stored();
}

/* The first byte of the slice of an owner: slices begin in lines of their own. */
static size_t slice_at(const struct dfg_group *group, const struct group_bucket *bucket, uint32_t i)
{
	size_t lines = bucket->offset[bucket->n] * dfg_dtype_size(bucket->sum.dtype) / DFG_ALIGN;
	return (size_t)((unsigned __int128)lines * i / group->owners) * DFG_ALIGN;
}

/* Adds this replica's slice. */
static void add_slice(const struct dfg_group *group, const struct group_bucket *bucket)
{
	for (uint32_t i = 0; i < group->owners; i++)
		if (group->owner[i] == group->self)
			add_range(group, bucket, slice_at(group, bucket, i), slice_at(group, bucket, i + 1));
	atomic_store_explicit(&bucket->shared->mark[group->self].done_ns, dfg_group_now(group), memory_order_relaxed);
	atomic_store(&bucket->shared->mark[group->self].done, generation(group));
	ring_others(group);
}

/* All have contributed to a small bucket: one of those that see it adds all of it. */
static void add_all(const struct dfg_group *group, const struct group_bucket *bucket)
{
	uint32_t now = generation(group);
	if (atomic_exchange(bucket->shared->claimed, now) == now)
		return;
	add_range(group, bucket, 0, slice_at(group, bucket, group->owners));
	atomic_store_explicit(&bucket->shared->mark[group->replicas].done_ns, dfg_group_now(group), memory_order_relaxed);
	atomic_store(&bucket->shared->mark[group->replicas].done, now);
	ring_others(group);
}

/* Adds the slices of buckets to which all have contributed. `adding` is held. */
static void add_pending(struct dfg_group *group)
{
	struct group_shared *shared = group->shared;
	size_t left = 0;
	for (size_t i = 0; i < shared->pendings; i++)
		if (all_ready(group, shared->pending[i]))
			add_slice(group, shared->pending[i]);
		else
			shared->pending[left++] = shared->pending[i];
	shared->pendings = left;
}

/* This replica has contributed to the bucket, or has nothing to. */
static void publish(struct dfg_group *group, struct group_bucket *bucket)
{
	struct group_shared *shared = group->shared;
	bucket->sent_ns = group->wanted ? dfg_group_now(group) : 0;
	atomic_store(&bucket->shared->mark[group->self].ready, generation(group));
	bool all = all_ready(group, bucket);
	if (is_small(bucket) && !all && !shared->pendings)
		return;
	pthread_mutex_lock(&shared->adding);
	if (is_small(bucket) && all)
		add_all(group, bucket);
	else if (!is_small(bucket) && group->wanted)
		shared->pending[shared->pendings++] = bucket;
	if (all)
		ring_others(group);
	add_pending(group);
	pthread_mutex_unlock(&shared->adding);
}

/* Waits until replica 0 has passed the memory. */
static struct dfg_err *wait_for_memory(struct dfg_group *group)
{
	uint64_t until = dfg_now() + UINT64_C(1000000000) * WAIT_MOST;
	for (;;) {
		uint32_t seen = atomic_load(&group->event.word);
		DFG_TRY(dfg_shared_attach(group));
		if (group->shared->base)
			return NULL;
		DFG_TRY(dfg_group_failure(group));
		if (dfg_now() >= until)
			return DFG_ERR(DFG_DEADLINE, "replica 0 has not passed on its shared memory after %d s", WAIT_MOST);
		dfg_event_sleep(&group->event, seen, until);
	}
}

/* Shards of this replica without rows contribute nothing. */
struct dfg_err *dfg_shared_begin(struct dfg_group *group, struct group_bucket *bucket)
{
	const struct dfg_shard *whole = &group->whole;
	struct dfg_shard range = dfg_group_shards_of(group, group->self);
	if (group->shared->shards != whole->shards)
		return DFG_ERR(
			DFG_BUG, "the shared memory is for %u shards, expected %u", group->shared->shards, whole->shards);
	DFG_TRY(dfg_group_failure(group));
	DFG_TRY(wait_for_memory(group));
	bucket->begun = bucket->across = true;
	bucket->contributed = 0;
	dfg_tree_sum_begin(&bucket->sum, whole->shards, dfg_bucket_sum_dtype(bucket->dtype), bucket->offset[bucket->n]);
	for (int64_t i = range.first; i < range.first + range.rows; i++)
		if (!dfg_group_rows(group, (uint32_t)i))
			DFG_TRY(dfg_tree_sum_add(&bucket->sum, (struct dfg_tree_node){(uint32_t)i, 1}, NULL));
	return NULL;
}

/* The sum of a node is made in the buffer of its first shard. */
struct dfg_err *dfg_shared_buffer(struct dfg_group *group, struct group_bucket *bucket, struct dfg_buffer **out_buffer)
{
	const struct group_shared *shared = group->shared;
	uint32_t first = shared->first[group->self];
	for (uint32_t i = first; i < shared->first[group->self + 1]; i++)
		if (shared->node[i].first == group->shard.number) {
			*out_buffer = dfg_buffer_ref(&bucket->shared->place[i - first]);
			return NULL;
		}
	return dfg_tree_sum_buffer(&bucket->sum, out_buffer);
}

/* The sums that were made elsewhere are copied to their places. */
static void move_to_places(const struct dfg_group *group, const struct group_bucket *bucket)
{
	const struct group_shared *shared = group->shared;
	uint32_t first = shared->first[group->self];
	size_t bytes = bucket->sum.count * dfg_dtype_size(bucket->sum.dtype);
	for (size_t i = 0; i < bucket->sum.partials; i++)
		for (uint32_t k = first; k < shared->first[group->self + 1]; k++) {
			const struct dfg_partial *partial = &bucket->sum.partial[i];
			void *place = bucket->shared->place[k - first].data;
			bool here = shared->node[k].first == partial->node.first && partial->value;
			if (here && partial->value->data != place && bytes)
				memcpy(place, partial->value->data, bytes);
		}
}

/* Counts what links would carry: the partial sums of other slices, and the own slice of the result. */
static void count_sent(struct dfg_group *group, const struct group_bucket *bucket)
{
	const struct group_shared *shared = group->shared;
	uint32_t nodes = shared->first[group->self + 1] - shared->first[group->self];
	size_t size = dfg_dtype_size(bucket->sum.dtype);
	pthread_mutex_lock(&group->lock);
	for (uint32_t i = 0; i < group->owners; i++) {
		size_t bytes = (dfg_slice_first(group, bucket, i + 1) - dfg_slice_first(group, bucket, i)) * size;
		bool own = group->owner[i] == group->self;
		for (uint32_t r = 0; r < group->replicas; r++) {
			uint32_t messages = own ? r != group->self : r == group->owner[i] ? nodes : 0;
			group->peer[r].sent.messages += messages;
			group->peer[r].sent.bytes += messages * bytes;
		}
	}
	pthread_mutex_unlock(&group->lock);
}

struct dfg_err *dfg_shared_contributed(struct dfg_group *group, struct group_bucket *bucket)
{
	if (++bucket->contributed < group->wanted)
		return NULL;
	move_to_places(group, bucket);
	count_sent(group, bucket);
	publish(group, bucket);
	return NULL;
}

/* A replica without rows takes part in all buckets, since it does not know which of them the others contribute to. */
static struct dfg_err *publish_nothing(struct dfg_group *group)
{
	struct group_shared *shared = group->shared;
	for (size_t i = 0; i < shared->buckets; i++)
		if (!shared->bucket[i]->begun) {
			DFG_TRY(dfg_shared_begin(group, shared->bucket[i]));
			publish(group, shared->bucket[i]);
		}
	return NULL;
}

struct shared_missing dfg_shared_missing(const struct dfg_group *group, const struct group_bucket *bucket)
{
	for (uint32_t r = 0; r < group->replicas && group->shared->base; r++)
		if (atomic_load(&bucket->shared->mark[r].ready) != generation(group))
			return (struct shared_missing){(uint32_t)dfg_group_shards_of(group, r).first, DFG_NONE};
	for (uint32_t i = 0; i < group->owners && group->shared->base && !is_small(bucket); i++)
		if (atomic_load(&bucket->shared->mark[group->owner[i]].done) != generation(group))
			return (struct shared_missing){DFG_NONE, group->owner[i]};
	return (struct shared_missing){DFG_NONE, DFG_NONE};
}

/* Adds what can be added; whether the bucket is complete then. */
static bool look(struct dfg_group *group, const struct group_bucket *bucket)
{
	struct group_shared *shared = group->shared;
	if (shared->pendings) {
		pthread_mutex_lock(&shared->adding);
		add_pending(group);
		pthread_mutex_unlock(&shared->adding);
	}
	return is_complete(group, bucket);
}

static bool spin(struct dfg_group *group, const struct group_bucket *bucket)
{
	enum { LOOKS = 64 };
	uint64_t until = 0;
	do {
		for (int i = 0; i < LOOKS; i++) {
			if (look(group, bucket))
				return true;
			dfg_pause_briefly();
		}
		until = until ? until : dfg_now() + SPIN_NS;
	} while (dfg_now() < until);
	return false;
}

/* Sleeps until the bucket may be complete, a slice can be added, or an error is there. */
static void sleep_once(struct dfg_group *group, const struct group_bucket *bucket, uint64_t until)
{
	struct segment_bell *bell = &group->shared->bell[group->self];
	uint64_t most = dfg_now() + SLEEP_NS;
	atomic_fetch_add(&bell->sleepers, 1);
	uint32_t seen = atomic_load(&bell->word);
	struct dfg_err *err = dfg_group_failure(group);
	if (!err && !look(group, bucket))
		dfg_bell_sleep(bell, seen, until && until < most ? until : most);
	dfg_err_free(err);
	atomic_fetch_sub(&bell->sleepers, 1);
}

/* When the last slice was complete, as the replicas say, if that can be. */
static uint64_t find_done(const struct dfg_group *group, const struct group_bucket *bucket)
{
	const struct segment_mark *mark = bucket->shared->mark;
	uint64_t now = dfg_group_now(group), done = 0;
	if (is_small(bucket))
		done = atomic_load_explicit(&mark[group->replicas].done_ns, memory_order_relaxed);
	for (uint32_t i = 0; i < group->owners && !is_small(bucket); i++) {
		uint64_t ns = atomic_load_explicit(&mark[group->owner[i]].done_ns, memory_order_relaxed);
		done = ns > done ? ns : done;
	}
	return done < bucket->sent_ns ? bucket->sent_ns : done > now ? now : done;
}

static struct dfg_err *take_result(struct group_bucket *bucket)
{
	if (bucket->result)
		return NULL;
	struct dfg_buffer *view = &bucket->shared->view->buffer;
	view->holds = bucket->sum.dtype;
	return dfg_bucket_finish(bucket, dfg_buffer_ref(view));
}

static struct dfg_err *wait_until_complete(struct dfg_group *group, const struct group_bucket *bucket, double timeout)
{
	uint64_t until = timeout > 0 ? dfg_now() + (uint64_t)(timeout * 1e9) : 0;
	DFG_TRY(wait_for_memory(group));
	if (!group->wanted)
		DFG_TRY(publish_nothing(group));
	while (!spin(group, bucket)) {
		struct dfg_err *err = dfg_group_failure(group);
		if (err || (until && dfg_now() >= until))
			return dfg_group_explain_wait(group, bucket, err ? 0 : timeout, err);
		sleep_once(group, bucket, until);
	}
	return NULL;
}

struct dfg_err *dfg_shared_wait(struct dfg_group *group, struct group_bucket *bucket, double timeout)
{
	uint64_t mode = dfg_float_mode_set(group->denormals);
	struct dfg_err *waited = wait_until_complete(group, bucket, timeout);
	dfg_float_mode_restore(mode);
	DFG_TRY(waited);
	pthread_mutex_lock(&bucket->lock);
	struct dfg_err *err = take_result(bucket);
	bucket->done_ns = find_done(group, bucket);
	pthread_mutex_unlock(&bucket->lock);
	return err;
}

/*
 * The memory of the result is written again in the next step. If a variable or a fetch has it, its pages are replaced by
 * a copy, and the group maps the memory anew.
 */
static struct dfg_err *give_away(struct dfg_group *group, struct shared_bucket *shared)
{
	struct shared_view *view = shared->view;
	DFG_TRY(dfg_segment_detach(view->buffer.data, view->bytes));
	shared->view = NULL;
	dfg_buffer_unref(&view->buffer);
	return dfg_shared_map_view(group->shared, shared);
}

void dfg_shared_end(struct dfg_group *group, struct group_bucket *bucket)
{
	struct shared_bucket *shared = bucket->shared;
	struct dfg_err *err = NULL;
	dfg_buffer_unref(bucket->result);
	bucket->result = NULL;
	bucket->begun = bucket->across = false;
	if (shared->view && atomic_load_explicit(&shared->view->buffer.refs, memory_order_acquire) > 1)
		err = give_away(group, shared);
	if (err)
		dfg_group_lost(group, group->self, err);
}

/* A step that has failed leaves buckets to which not all have contributed. */
void dfg_shared_drop_pending(struct dfg_group *group)
{
	if (!group->shared)
		return;
	pthread_mutex_lock(&group->shared->adding);
	group->shared->pendings = 0;
	pthread_mutex_unlock(&group->shared->adding);
}

void dfg_shared_wake(struct dfg_group *group)
{
	pthread_mutex_lock(&group->lock);
	if (group->shared && group->shared->base)
		dfg_bell_strike(&group->shared->bell[group->self]);
	pthread_mutex_unlock(&group->lock);
}

struct dfg_err *dfg_group_place(struct dfg_group *group, uint32_t number, uint32_t i, struct dfg_tensor *out_tensor)
{
	struct group_bucket *bucket;
	struct dfg_buffer *buffer = NULL;
	DFG_TRY(dfg_group_bucket(group, number, &bucket));
	if (!dfg_group_is_across(group) || !bucket->shared || i >= bucket->n || dfg_is_half(bucket->dtype))
		return DFG_ERR(DFG_DATA, "bucket %u has no shared memory for tensor %u", number, i);
	DFG_TRY(wait_for_memory(group));
	DFG_TRY(dfg_shared_buffer(group, bucket, &buffer));
	size_t at = bucket->offset[i] * dfg_dtype_size(dfg_bucket_sum_dtype(bucket->dtype));
	*out_tensor = (struct dfg_tensor){.dtype = bucket->dtype,
		.shape = bucket->shape[i],
		.data = (char *)buffer->data + at,
		.capacity = buffer->capacity - at};
	dfg_buffer_unref(buffer);
	return NULL;
}
