#include "lib/exec/group/shared.h"

#include "lib/base/mem_charge.h"

#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* The layout of the memory that the replicas share, and its mapping. */

static void unmap_view(struct dfg_buffer *buffer)
{
	struct shared_view *view = (struct shared_view *)buffer;
	munmap(view->buffer.data, view->bytes);
	dfg_free(view);
}

static void free_bucket(struct group_bucket *bucket)
{
	struct shared_bucket *shared = bucket->shared;
	bucket->shared = NULL;
	if (!shared)
		return;
	if (shared->view)
		dfg_buffer_unref(&shared->view->buffer);
	dfg_free(shared->place);
	dfg_free(shared);
}

static void free_shared(struct group_shared *shared)
{
	if (shared->base)
		munmap(shared->base, shared->results);
	dfg_segment_close(&shared->segment);
	dfg_mem_discharge(shared->charged);
	pthread_mutex_destroy(&shared->adding);
	dfg_free(shared->node);
	dfg_free(shared->first);
	dfg_free(shared->program);
	dfg_free(shared->scratch);
	dfg_free(shared->bucket);
	dfg_free(shared->pending);
	dfg_free(shared);
}

static void take_passed(struct dfg_group *group, struct group_passed *out_passed)
{
	pthread_mutex_lock(&group->lock);
	*out_passed = group->passed;
	group->passed = (struct group_passed){0};
	pthread_mutex_unlock(&group->lock);
}

/* The partial sums of a bucket may lie in the memory. */
void dfg_shared_release(struct dfg_group *group)
{
	struct group_shared *shared = group->shared;
	for (size_t i = 0; shared && i < shared->buckets; i++) {
		dfg_tree_sum_release(&shared->bucket[i]->sum);
		free_bucket(shared->bucket[i]);
	}
	pthread_mutex_lock(&group->lock);
	group->shared = NULL;
	pthread_mutex_unlock(&group->lock);
	if (shared)
		free_shared(shared);
}

/* The complete subtrees of all replicas' shards. */
static struct dfg_err *lay_out_nodes(const struct dfg_group *group, struct group_shared *shared)
{
	shared->node = dfg_zeros(shared->shards, sizeof *shared->node);
	shared->first = dfg_zeros((size_t)group->replicas + 1, sizeof *shared->first);
	shared->program = dfg_zeros(2 * (size_t)shared->shards, sizeof *shared->program);
	if (!shared->node || !shared->first || !shared->program)
		return dfg_no_memory("shared memory");
	for (uint32_t r = 0; r < group->replicas; r++) {
		struct dfg_shard range = dfg_group_range(r, group->replicas, shared->shards);
		uint32_t first = shared->first[r];
		shared->first[r + 1] =
			first + dfg_tree_cover(shared->shards, (uint32_t)range.first, (uint32_t)range.rows, &shared->node[first]);
	}
	return NULL;
}

static struct dfg_err *too_large(void)
{
	return DFG_ERR(DFG_MEMORY, "the buckets of all replicas are too large for shared memory");
}

/* Adds `count` pieces of `each` bytes to the size of the segment. */
static bool grow(size_t *size, size_t count, size_t each)
{
	size_t bytes;
	return !__builtin_mul_overflow(count, each, &bytes) && !__builtin_add_overflow(*size, bytes, size) &&
		   *size < INT64_MAX / 2;
}

static struct dfg_err *add_bucket(
	struct dfg_group *group, struct group_shared *shared, const struct dfg_bucket_layout *layout)
{
	struct group_bucket *bucket;
	DFG_TRY(dfg_group_bucket(group, layout->number, &bucket));
	if (bucket->shared)
		return DFG_ERR(DFG_DATA, "bucket %u is given twice", layout->number);
	if (!layout->n)
		return DFG_ERR(DFG_DATA, "bucket %u has no tensors", layout->number);
	DFG_TRY(dfg_bucket_lay_out_shapes(bucket, layout->dtype, 0, layout->shape, layout->n));
	bucket->is_sum = layout->is_sum;
	bucket->is_share = layout->is_share;
	bucket->shared = dfg_zeros(1, sizeof *bucket->shared);
	if (!bucket->shared)
		return dfg_no_memory("shared memory");
	shared->bucket[shared->buckets++] = bucket;
	uint32_t own = shared->first[group->self + 1] - shared->first[group->self];
	bucket->shared->place = dfg_zeros(own, sizeof *bucket->shared->place);
	size_t stride = bucket->offset[bucket->n] * dfg_dtype_size(dfg_bucket_sum_dtype(bucket->dtype));
	bucket->shared->stride = stride > SEGMENT_LINE ? stride : SEGMENT_LINE;
	return bucket->shared->place ? NULL : dfg_no_memory("shared memory");
}

/* The offsets, which all replicas compute alike: bells, marks, claims; contributions; results, in pages of their own. */
static struct dfg_err *lay_out(const struct dfg_group *group, struct group_shared *shared)
{
	size_t size = group->replicas * sizeof(struct segment_bell);
	if (!grow(&size, shared->buckets, (group->replicas + 2) * sizeof(struct segment_mark)))
		return too_large();
	for (size_t i = 0; i < shared->buckets; i++)
		if (!grow(&size, shared->first[group->replicas], shared->bucket[i]->shared->stride))
			return too_large();
	shared->results = shared->bytes = dfg_segment_pages(size);
	for (size_t i = 0; i < shared->buckets; i++) {
		struct shared_bucket *bucket = shared->bucket[i]->shared;
		bucket->result = shared->bytes;
		if (!grow(&shared->bytes, 1, dfg_segment_pages(bucket->stride)))
			return too_large();
	}
	return NULL;
}

static struct dfg_err *new_shared(struct dfg_group *group, uint64_t tag, uint32_t shards, size_t count)
{
	struct group_shared *shared = dfg_zeros(1, sizeof *shared);
	if (!shared || pthread_mutex_init(&shared->adding, NULL)) {
		dfg_free(shared);
		return dfg_no_memory("shared memory");
	}
	shared->tag = tag;
	shared->shards = shards;
	shared->bucket = dfg_zeros(count, sizeof(struct group_bucket *));
	shared->pending = dfg_zeros(count, sizeof(struct group_bucket *));
	shared->scratch = dfg_zeros(SHARED_DEPTH, SHARED_BLOCK);
	pthread_mutex_lock(&group->lock);
	group->shared = shared;
	pthread_mutex_unlock(&group->lock);
	return shared->bucket && shared->pending && shared->scratch ? NULL : dfg_no_memory("shared memory");
}

/* Each replica maps the whole segment. */
static struct dfg_err *charge(struct group_shared *shared)
{
	if (!dfg_mem_charge(shared->bytes))
		return DFG_ERR(
			DFG_MEMORY, "no memory for the %zu shared bytes in which replicas reduce gradients", shared->bytes);
	shared->charged = shared->bytes;
	return NULL;
}

static struct dfg_err *make_layout(
	struct dfg_group *group, uint64_t tag, uint32_t shards, const struct dfg_bucket_layout *bucket, size_t count)
{
	DFG_TRY(new_shared(group, tag, shards, count));
	DFG_TRY(lay_out_nodes(group, group->shared));
	for (size_t i = 0; i < count; i++)
		DFG_TRY(add_bucket(group, group->shared, &bucket[i]));
	DFG_TRY(lay_out(group, group->shared));
	return charge(group->shared);
}

static struct dfg_err *pass(struct dfg_group *group)
{
	struct group_shared *shared = group->shared;
	DFG_TRY(dfg_segment_new(shared->bytes, &shared->segment));
	for (uint32_t i = 1; i < group->replicas; i++) {
		struct dfg_link *link = group->peer[i].link;
		if (!link->kind->pass)
			return DFG_ERR(
				DFG_UNAVAILABLE, "replica %u may be on another host, so that memory cannot be shared with it", i);
		DFG_TRY(link->kind->pass(link, shared->tag, shared->segment.fd));
	}
	return NULL;
}

struct dfg_err *dfg_group_lay_out(
	struct dfg_group *group, uint64_t tag, uint32_t shards, const struct dfg_bucket_layout *bucket, size_t count)
{
	dfg_shared_release(group);
	if (!count || !group->peer || group->epoch)
		return NULL;
	struct dfg_err *err = make_layout(group, tag, shards, bucket, count);
	if (!err && !group->self)
		err = pass(group);
	if (err)
		dfg_shared_release(group);
	return err;
}

void dfg_group_passed(struct dfg_group *group, uint32_t from, uint64_t tag, int fd)
{
	pthread_mutex_lock(&group->lock);
	struct group_passed before = group->passed;
	if (!from)
		group->passed = (struct group_passed){fd, tag, true};
	pthread_mutex_unlock(&group->lock);
	if (from)
		close(fd);
	else if (before.there)
		close(before.fd);
	dfg_event_signal(&group->event);
}

/* The buffers of this replica's contributions; the group keeps a reference, so that no sum uses them for another. */
static void make_places(const struct dfg_group *group, const struct group_bucket *bucket)
{
	const struct group_shared *shared = group->shared;
	struct shared_bucket *own = bucket->shared;
	for (uint32_t i = shared->first[group->self]; i < shared->first[group->self + 1]; i++) {
		struct dfg_buffer *place = &own->place[i - shared->first[group->self]];
		place->holds = dfg_bucket_sum_dtype(bucket->dtype);
		place->capacity = own->stride;
		place->data = own->value + i * own->stride;
		atomic_init(&place->refs, 1);
	}
}

struct dfg_err *dfg_shared_map_view(struct group_shared *shared, struct shared_bucket *bucket)
{
	struct shared_view *view = dfg_zeros(1, sizeof *view);
	size_t bytes = dfg_segment_pages(bucket->stride);
	if (!view)
		return dfg_no_memory("shared memory");
	struct dfg_err *err = dfg_segment_map(&shared->segment, bucket->result, bytes, &view->buffer.data);
	if (err) {
		dfg_free(view);
		return err;
	}
	view->bytes = bytes;
	view->buffer.capacity = bucket->stride;
	view->buffer.release = unmap_view;
	atomic_init(&view->buffer.refs, 1);
	bucket->view = view;
	return NULL;
}

static struct dfg_err *map(struct dfg_group *group)
{
	struct group_shared *shared = group->shared;
	void *base;
	for (size_t i = 0; i < shared->buckets; i++) /* first, because the buckets own their views */
		if (!shared->bucket[i]->shared->view)
			DFG_TRY(dfg_shared_map_view(shared, shared->bucket[i]->shared));
	DFG_TRY(dfg_segment_map(&shared->segment, 0, shared->results, &base));
	struct segment_bell *bell = base;
	struct segment_mark *mark = (struct segment_mark *)(bell + group->replicas);
	char *value = (char *)(mark + shared->buckets * (group->replicas + 2));
	for (size_t i = 0; i < shared->buckets; i++) {
		struct shared_bucket *bucket = shared->bucket[i]->shared;
		bucket->mark = mark + i * (group->replicas + 2);
		bucket->claimed = &bucket->mark[group->replicas + 1].ready;
		bucket->value = value;
		value += shared->first[group->replicas] * bucket->stride;
		make_places(group, shared->bucket[i]);
	}
	shared->bell = bell;
	pthread_mutex_lock(&group->lock);
	shared->base = base; /* from now on an error wakes by the bell */
	pthread_mutex_unlock(&group->lock);
	return NULL;
}

static bool has_rows(const struct dfg_group *group, struct dfg_tree_node node)
{
	const struct dfg_shard *whole = &group->whole;
	struct dfg_shard last = dfg_shard_of(node.first + node.count - 1, whole->shards, whole->batch);
	bool any = false;
	for (uint32_t i = 0; i < node.count && group->picks && !any; i++)
		any = dfg_group_rows(group, node.first + i) > 0;
	return group->picks ? any : last.first + last.rows > dfg_shard_of(node.first, whole->shards, whole->batch).first;
}

/* Emits the sum of a node; false, and nothing: none of its shards has rows. */
static bool emit(const struct dfg_group *group, struct group_shared *shared, struct dfg_tree_node node)
{
	struct dfg_tree_node child[2];
	if (!has_rows(group, node))
		return false;
	for (uint32_t i = 0; i < shared->first[group->replicas]; i++)
		if (shared->node[i].first == node.first && shared->node[i].count == node.count) {
			shared->program[shared->steps++] = (int32_t)i;
			return true;
		}
	dfg_tree_children(node, child);
	bool left = emit(group, shared, child[0]), right = emit(group, shared, child[1]);
	if (left && right)
		shared->program[shared->steps++] = SHARED_ADD;
	return true;
}

static void make_program(struct dfg_group *group)
{
	struct group_shared *shared = group->shared;
	if (shared->batch == group->whole.batch && !group->picks)
		return;
	shared->steps = 0;
	(void)emit(group, shared, (struct dfg_tree_node){0, shared->shards});
	shared->batch = group->picks ? 0 : group->whole.batch;
}

static struct dfg_err *open_passed(struct dfg_group *group)
{
	struct group_shared *shared = group->shared;
	struct group_passed passed;
	take_passed(group, &passed);
	if (!passed.there)
		return NULL;
	if (passed.tag == shared->tag)
		return dfg_segment_open(passed.fd, shared->bytes, &shared->segment);
	close(passed.fd);
	return NULL;
}

static struct dfg_err *attach(struct dfg_group *group)
{
	struct group_shared *shared = group->shared;
	if (!shared->base && !shared->segment.bytes)
		DFG_TRY(open_passed(group));
	if (!shared->base && shared->segment.bytes)
		DFG_TRY(map(group));
	if (shared->base)
		make_program(group);
	return NULL;
}

struct dfg_err *dfg_shared_attach(struct dfg_group *group)
{
	pthread_mutex_lock(&group->shared->adding);
	struct dfg_err *err = attach(group);
	pthread_mutex_unlock(&group->shared->adding);
	return err;
}
