#define _GNU_SOURCE
#include "tests/unit/replicas.h"

#include "lib/exec/group/shared.h"

#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* The all-reduce in shared memory gives the bits of one process, and no contents of it harm a replica. */

enum { MOST = 4, TENSORS = 2, BUCKETS = 2, STEPS = 4, SHARDS_MOST = 7 };

struct sharing {
	struct replicas replicas;
	uint32_t shards;
	int64_t batch;
	bool is_sum;
	enum dfg_dtype dtype;
	const struct dfg_tensor *wanted; /* by step, bucket, tensor */
};

struct replica_thread {
	pthread_t id;
	const struct sharing *all;
	uint32_t self; /* the number of the replica */
};

/* A small bucket, which one replica adds, and one in slices that no block divides. */
static struct dfg_shape shape[BUCKETS][TENSORS] = {
	{{.rank = 1, .dim = {77}}, {.rank = 2, .dim = {3, 0}}}, {{.rank = 1, .dim = {20003}}, {.rank = 2, .dim = {5, 3}}}};

static void lay_out(struct sharing *all, uint64_t tag)
{
	struct dfg_bucket_layout layout[BUCKETS];
	for (uint32_t b = 0; b < BUCKETS; b++)
		layout[b] = (struct dfg_bucket_layout){
			.number = b, .n = TENSORS, .is_sum = all->is_sum, .dtype = all->dtype, .shape = shape[b]};
	for (uint32_t r = all->replicas.count; r--;)
		succeeds(dfg_group_lay_out(all->replicas.node[r].group, tag, all->shards, layout, BUCKETS));
}

static void contribute(struct dfg_group *group, const struct dfg_shard *shard, const struct sharing *all, uint64_t step)
{
	dfg_group_enter(group, shard);
	for (uint32_t b = 0; b < BUCKETS; b++) {
		struct dfg_tensor tensor[TENSORS];
		const struct dfg_tensor *list[TENSORS];
		for (int i = 0; i < TENSORS; i++) {
			succeeds(dfg_tensor_new(all->dtype, &shape[b][i], &tensor[i]));
			list[i] = &tensor[i];
			int64_t count = dfg_shape_count(&shape[b][i]);
			for (int64_t e = 0; e < count; e++) {
				double value = (double)((shard->number * 7 + (uint32_t)e + step) % 11) * (e % 2 ? 1e-3 : 1e3) + 1. / 3;
				dfg_convert(all->dtype, dfg_tensor_at(&tensor[i], e), DFG_F64, &value, 1);
			}
		}
		succeeds(dfg_group_contribute(
			group, &(struct dfg_contribution){.bucket = b, .is_sum = all->is_sum, .tensor = list, .n = TENSORS}));
		for (int i = 0; i < TENSORS; i++)
			dfg_tensor_release(&tensor[i]);
	}
	dfg_group_enter(group, NULL);
}

/* The shards that a step takes: all, or two in three if one of them has rows; NULL: all. */
static const bool *find_taken(const struct sharing *all, uint64_t step, bool *taken)
{
	bool any = false;
	for (uint32_t j = 0; j < all->shards; j++) {
		taken[j] = (j + step) % 3 != 0;
		any |= taken[j] && dfg_shard_of(j, all->shards, all->batch).rows;
	}
	return any && step % 2 == 0 ? taken : NULL;
}

static void contribute_range(
	struct dfg_group *group, const struct dfg_shard *range, const struct sharing *all, uint64_t step)
{
	for (int64_t j = range->first; j < range->first + range->rows; j++) {
		struct dfg_shard shard = dfg_shard_of((uint32_t)j, all->shards, all->batch);
		bool list[SHARDS_MOST];
		const bool *taken = find_taken(all, step, list);
		if (shard.rows && (!taken || taken[j]))
			contribute(group, &shard, all, step);
	}
}

static void one_process(struct dfg_group *group, struct sharing *all, struct dfg_tensor *out)
{
	for (uint64_t step = 1; step <= STEPS; step++) {
		const struct dfg_shard range = {.rows = all->shards};
		bool list[SHARDS_MOST];
		dfg_group_begin(group, all->shards, all->batch);
		succeeds(dfg_group_take(group, find_taken(all, step, list), NULL));
		contribute_range(group, &range, all, step);
		for (uint32_t i = 0; i < BUCKETS * TENSORS; i++)
			succeeds(dfg_group_result(group, i / TENSORS, i % TENSORS, out++));
		dfg_group_end(group);
	}
}

/* A replica's steps. The results of the first are kept, as by a variable, and must not change. */
static void *live(void *arg)
{
	const struct replica_thread *thread = arg;
	const struct sharing *all = thread->all;
	struct dfg_group *group = all->replicas.node[thread->self].group;
	struct dfg_tensor kept[BUCKETS * TENSORS];
	struct dfg_shard range = dfg_group_range(thread->self, all->replicas.count, all->shards);
	for (uint64_t step = 1; step <= STEPS; step++) {
		const struct dfg_tensor *wanted = all->wanted + (step - 1) * BUCKETS * TENSORS;
		bool list[SHARDS_MOST];
		const struct dfg_group_step at = {
			.number = step, .shards = all->shards, .batch = all->batch, .taken = find_taken(all, step, list)};
		succeeds(dfg_group_join(group, &at));
		contribute_range(group, &range, all, step);
		for (uint32_t b = 0; b < BUCKETS; b++)
			succeeds(dfg_group_wait(group, b, 60));
		for (uint32_t i = 0; i < BUCKETS * TENSORS; i++) {
			struct dfg_tensor got;
			succeeds(dfg_group_result(group, i / TENSORS, i % TENSORS, &got));
			assert_int_equal(got.dtype, all->dtype);
			assert_memory_equal(got.data, wanted[i].data, dfg_tensor_bytes(&got));
			if (step == 1)
				kept[i] = got;
			else
				dfg_tensor_release(&got);
		}
		dfg_group_end(group);
	}
	for (uint32_t i = 0; i < BUCKETS * TENSORS; i++) {
		assert_memory_equal(kept[i].data, all->wanted[i].data, dfg_tensor_bytes(&kept[i]));
		dfg_tensor_release(&kept[i]);
	}
	return NULL;
}

static void shared_memory_gives_the_bits_of_one_process(void **state)
{
	(void)state;
	static const enum dfg_dtype dtypes[] = {DFG_F32, DFG_F64, DFG_F16, DFG_C64};
	static const int64_t batches[] = {24, 10, 2, 1};
	struct dfg_state alone;
	struct dfg_group *group;
	succeeds(dfg_state_init(&alone));
	succeeds(dfg_group_of(&alone, &group));
	for (uint32_t count = 2; count <= MOST; count++) {
		struct sharing all = {.shards = count};
		struct replica_thread thread[MOST];
		uint64_t tag = 0;
		replicas_begin(&all.replicas, count, DFG_FLUSH);
		for (; all.shards <= SHARDS_MOST; all.shards++)
			for (int b = 0; b < 4; b++) {
				struct dfg_tensor wanted[STEPS * BUCKETS * TENSORS];
				all.batch = batches[b];
				all.is_sum = b % 2;
				all.dtype = dtypes[(all.shards + (uint32_t)b) % 4];
				one_process(group, &all, wanted);
				all.wanted = wanted;
				lay_out(&all, ++tag);
				for (uint32_t r = 0; r < count; r++) {
					thread[r] = (struct replica_thread){.all = &all, .self = r};
					assert_int_equal(pthread_create(&thread[r].id, NULL, live, &thread[r]), 0);
				}
				for (uint32_t r = 0; r < count; r++)
					pthread_join(thread[r].id, NULL);
				for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++)
					dfg_tensor_release(&wanted[i]);
			}
		replicas_end(&all.replicas);
	}
	dfg_state_release(&alone);
}

static void two(struct sharing *all)
{
	*all = (struct sharing){.shards = 2, .batch = 4, .dtype = DFG_F32};
	replicas_begin(&all->replicas, 2, DFG_FLUSH);
	lay_out(all, 1);
	for (uint32_t r = 0; r < 2; r++)
		succeeds(dfg_group_join(
			all->replicas.node[r].group, &(struct dfg_group_step){.number = 1, .shards = 2, .batch = 4}));
}

static void a_wait_names_what_is_missing(void **state)
{
	(void)state;
	struct sharing all;
	const struct dfg_shard first = dfg_shard_of(0, 2, 4), second = dfg_shard_of(1, 2, 4);
	two(&all);
	contribute(all.replicas.node[1].group, &second, &all, 1);
	fails(dfg_group_wait(all.replicas.node[1].group, 1, 0.01), DFG_DEADLINE,
		"bucket 1 still waits for shard 0 of replica 0");
	contribute(all.replicas.node[0].group, &first, &all, 1);
	fails(dfg_group_wait(all.replicas.node[0].group, 1, 0.01), DFG_DEADLINE,
		"bucket 1 still waits for the sum of replica 1");
	dfg_group_fail(all.replicas.node[0].group, DFG_ERR(DFG_STOPPED, "elsewhere"));
	fails(dfg_group_wait(all.replicas.node[0].group, 1, 0), DFG_STOPPED, "elsewhere");
	dfg_group_end(all.replicas.node[0].group);
	dfg_group_end(all.replicas.node[1].group);
	replicas_end(&all.replicas);
}

static void *fail_soon(void *arg)
{
	usleep(20000);
	dfg_group_lost(arg, 1, DFG_ERR(DFG_UNAVAILABLE, "gone"));
	return NULL;
}

static void a_loss_wakes_a_replica_that_sleeps(void **state)
{
	(void)state;
	struct sharing all;
	pthread_t thread;
	const struct dfg_shard first = dfg_shard_of(0, 2, 4);
	two(&all);
	contribute(all.replicas.node[0].group, &first, &all, 1);
	pthread_create(&thread, NULL, fail_soon, all.replicas.node[0].group);
	fails(dfg_group_wait(all.replicas.node[0].group, 1, 0), DFG_UNAVAILABLE, "gone");
	pthread_join(thread, NULL);
	dfg_group_end(all.replicas.node[0].group);
	dfg_group_end(all.replicas.node[1].group);
	replicas_end(&all.replicas);
}

/* Values that a peer writes may make the result wrong or late, but do not change other memory of this process. */
static void lies_give_a_wrong_sum_or_none(void **state)
{
	(void)state;
	uint32_t random = 1;
	for (int round = 0; round < 300; round++) {
		struct sharing all;
		const struct dfg_shard first = dfg_shard_of(0, 2, 4);
		two(&all);
		contribute(all.replicas.node[0].group, &first, &all, 1);
		struct group_shared *shared = all.replicas.node[0].group->shared;
		uint32_t *word = (uint32_t *)shared->base;
		for (size_t i = 0; i < shared->results / sizeof *word; i++) {
			random = random * 1664525 + 1013904223;
			uint32_t kind = random >> 28;
			if (i >= 2048 && round % 8)
				break; /* the counters are in front */
			word[i] = kind < 6 ? 1 : kind < 8 ? UINT32_MAX : kind < 12 ? random : word[i];
		}
		for (uint32_t b = 0; b < BUCKETS; b++) {
			struct dfg_err *err = dfg_group_wait(all.replicas.node[0].group, b, 0.001);
			assert_true(!err || err->code == DFG_DEADLINE);
			dfg_err_free(err);
		}
		dfg_group_end(all.replicas.node[0].group);
		dfg_group_end(all.replicas.node[1].group);
		replicas_end(&all.replicas);
	}
}

/* A segment that could shrink under a reader, or that has another size, is not mapped. */
static void a_malformed_segment_is_refused(void **state)
{
	(void)state;
	static const struct {
		off_t more;
		int seals;
		bool file;
	} row[] = {{0, 0, false}, {4096, F_SEAL_SHRINK, false}, {-4096, F_SEAL_SHRINK, false}, {0, 0, true}};
	for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
		struct sharing all;
		const struct dfg_shard second = dfg_shard_of(1, 2, 4);
		two(&all);
		struct dfg_group *group = all.replicas.node[1].group;
		int fd = row[i].file ? open("/dev/null", O_RDWR | O_CLOEXEC) : memfd_create("lie", MFD_ALLOW_SEALING);
		if (!row[i].file)
			assert_int_equal(ftruncate(fd, (off_t)group->shared->bytes + row[i].more), 0);
		assert_true(row[i].file || !fcntl(fd, F_ADD_SEALS, row[i].seals));
		dfg_group_passed(group, 0, 1, fd);
		dfg_group_enter(group, &second);
		struct dfg_tensor tensor;
		const struct dfg_tensor *list[] = {&tensor};
		succeeds(dfg_tensor_new(DFG_F32, &shape[0][0], &tensor));
		fails(dfg_group_contribute(group, &(struct dfg_contribution){.bucket = 0, .tensor = list, .n = 1}),
			DFG_PROTOCOL, "not a sealed segment");
		dfg_tensor_release(&tensor);
		dfg_group_end(group);
		dfg_group_end(all.replicas.node[0].group);
		replicas_end(&all.replicas);
	}
}

/* A tensor that is made in the bucket's memory is not copied, and the result is a view. */
static void a_place_is_the_memory_of_the_bucket(void **state)
{
	(void)state;
	struct sharing all;
	two(&all);
	for (uint32_t r = 0; r < 2; r++) {
		const struct dfg_shard shard = dfg_shard_of(r, 2, 4);
		struct dfg_tensor tensor[TENSORS];
		const struct dfg_tensor *list[] = {&tensor[0], &tensor[1]};
		dfg_group_enter(all.replicas.node[r].group, &shard);
		for (uint32_t i = 0; i < TENSORS; i++)
			succeeds(dfg_group_place(all.replicas.node[r].group, 0, i, &tensor[i]));
		for (int i = 0; i < 77; i++)
			((float *)tensor[0].data)[i] = (float)(i + (int)r);
		succeeds(dfg_group_contribute(all.replicas.node[r].group,
			&(struct dfg_contribution){.bucket = 0, .is_sum = true, .tensor = list, .n = TENSORS}));
		dfg_group_enter(all.replicas.node[r].group, NULL);
	}
	for (uint32_t r = 0; r < 2; r++) {
		struct dfg_tensor got;
		succeeds(dfg_group_wait(all.replicas.node[r].group, 0, 60));
		succeeds(dfg_group_result(all.replicas.node[r].group, 0, 0, &got));
		for (int i = 0; i < 77; i++)
			assert_true(((float *)got.data)[i] == (float)(2 * i + 1));
		dfg_tensor_release(&got);
		dfg_group_end(all.replicas.node[r].group);
	}
	replicas_end(&all.replicas);
}

/* Two replicas share two contributions and a result of a bucket of 1000000 f32; each counts all of it until it ends. */
static void shared_memory_counts_against_the_limit(void **state)
{
	(void)state;
	enum { SHARED = 3 * 4000000, SLACK = 1000000 };
	struct dfg_mem_limit limit;
	struct dfg_allocator *heap = dfg_mem;
	struct dfg_shape large = DFG_SHAPE_VECTOR(1000000);
	const struct dfg_bucket_layout layout = {.n = 1, .dtype = DFG_F32, .shape = &large};
	struct replicas all;
	dfg_mem_limit_init(&limit, heap, (size_t)1 << 30);
	dfg_mem = &limit.base;
	replicas_begin(&all, 2, DFG_KEEP);
	size_t before = atomic_load(&limit.used);
	for (uint32_t r = 2; r--;)
		succeeds(dfg_group_lay_out(all.node[r].group, 1, 2, &layout, 1));
	size_t used = atomic_load(&limit.used) - before;
	assert_true(used >= 2 * SHARED && used < 2 * SHARED + SLACK);
	succeeds(dfg_group_lay_out(all.node[0].group, 2, 2, &layout, 0)); /* another graph, without buckets */
	assert_true(atomic_load(&limit.used) - before < SHARED + SLACK);
	limit.limit = atomic_load(&limit.used) + SHARED - SLACK;
	fails(dfg_group_lay_out(all.node[0].group, 3, 2, &layout, 1), DFG_MEMORY,
		"shared bytes in which replicas reduce gradients");
	limit.limit = (size_t)1 << 30;
	replicas_end(&all);
	assert_true(atomic_load(&limit.used) <= before);
	dfg_mem = heap;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(shared_memory_gives_the_bits_of_one_process),
		cmocka_unit_test(a_wait_names_what_is_missing),
		cmocka_unit_test(a_loss_wakes_a_replica_that_sleeps),
		cmocka_unit_test(lies_give_a_wrong_sum_or_none),
		cmocka_unit_test(a_malformed_segment_is_refused),
		cmocka_unit_test(shared_memory_counts_against_the_limit),
		cmocka_unit_test(a_place_is_the_memory_of_the_bucket),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
