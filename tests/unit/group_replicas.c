#include "tests/unit/replicas.h"

#include <string.h>

/* The all-reduce over several replicas gives the bits of one process, whatever the replicas, rows and types. */

enum { TENSORS = 3 };

static const struct dfg_shape shape[TENSORS] = {
	{.rank = 1, .dim = {77}}, {.rank = 2, .dim = {3, 0}}, {.rank = 2, .dim = {5, 3}}};

/* Contributes numbers of which each sum depends on the order. */
static void contribute(struct dfg_group *group, const struct dfg_shard *shard, bool is_sum, enum dfg_dtype dtype)
{
	struct dfg_tensor tensor[TENSORS];
	const struct dfg_tensor *list[TENSORS];
	for (int i = 0; i < TENSORS; i++) {
		succeeds(dfg_tensor_new(dtype, &shape[i], &tensor[i]));
		list[i] = &tensor[i];
		int64_t count = dfg_shape_count(&shape[i]);
		for (int64_t e = 0; e < count; e++) {
			double value = (double)((shard->number * 7 + (uint32_t)e) % 11) * (e % 2 ? 1e-3 : 1e3) + (double)e / 3;
			dfg_convert(dtype, (char *)tensor[i].data + (size_t)e * dfg_dtype_size(dtype), DFG_F64, &value, 1);
		}
	}
	dfg_group_enter(group, shard);
	succeeds(dfg_group_contribute(
		group, &(struct dfg_contribution){.bucket = 2, .is_sum = is_sum, .tensor = list, .n = TENSORS}));
	dfg_group_enter(group, NULL);
	for (int i = 0; i < TENSORS; i++)
		dfg_tensor_release(&tensor[i]);
}

static void one_process(
	struct dfg_group *group, uint32_t shards, int64_t batch, bool is_sum, enum dfg_dtype dtype, struct dfg_tensor *out)
{
	dfg_group_begin(group, shards, batch);
	for (uint32_t j = 0; j < shards; j++) {
		struct dfg_shard shard = dfg_shard_of(j, shards, batch);
		if (shard.rows)
			contribute(group, &shard, is_sum, dtype);
	}
	for (uint32_t i = 0; i < TENSORS; i++)
		succeeds(dfg_group_result(group, 2, i, &out[i]));
	dfg_group_end(group);
}

/* The first `members` replicas take part. */
static void members_get(struct replicas *all, uint32_t members, uint64_t step, uint32_t shards, int64_t batch,
	bool is_sum, enum dfg_dtype dtype, const struct dfg_tensor *wanted)
{
	for (uint32_t r = members; r--;) { /* the last one first: its messages come early */
		struct dfg_shard range = dfg_group_range(r, members, shards);
		const struct dfg_group_step at = {.number = step, .shards = shards, .batch = batch};
		succeeds(dfg_group_join(all->node[r].group, &at));
		for (int64_t j = range.first; j < range.first + range.rows; j++) {
			struct dfg_shard shard = dfg_shard_of((uint32_t)j, shards, batch);
			if (shard.rows)
				contribute(all->node[r].group, &shard, is_sum, dtype);
		}
	}
	for (uint32_t r = 0; r < members; r++) {
		succeeds(dfg_group_wait(all->node[r].group, 2, 60));
		for (uint32_t i = 0; i < TENSORS; i++) {
			struct dfg_tensor got;
			succeeds(dfg_group_result(all->node[r].group, 2, i, &got));
			assert_int_equal(got.dtype, dtype);
			assert_true(dfg_shape_equal(&got.shape, &wanted[i].shape));
			assert_memory_equal(got.data, wanted[i].data, dfg_tensor_bytes(&got));
			dfg_tensor_release(&got);
		}
		dfg_group_end(all->node[r].group);
	}
}

static void all_get(struct replicas *all, uint64_t step, uint32_t shards, int64_t batch, bool is_sum,
	enum dfg_dtype dtype, const struct dfg_tensor *wanted)
{
	members_get(all, all->count, step, shards, batch, is_sum, dtype, wanted);
}

static void replicas_add_as_one_process(void **state)
{
	(void)state;
	static const enum dfg_dtype dtypes[] = {DFG_F32, DFG_F64, DFG_F16, DFG_C64};
	static const int64_t batches[] = {24, 10, 2, 1};
	struct dfg_state alone;
	struct dfg_group *group;
	succeeds(dfg_state_init(&alone));
	succeeds(dfg_group_of(&alone, &group));
	for (uint32_t count = 2; count <= REPLICAS_MOST; count++) {
		struct replicas all;
		uint64_t step = 0;
		replicas_begin(&all, count, DFG_KEEP);
		for (uint32_t shards = count; shards <= 12; shards += shards < 6 ? 1 : 3)
			for (int b = 0; b < 4; b++)
				for (int t = 0; t < 4; t++) {
					struct dfg_tensor wanted[TENSORS];
					one_process(group, shards, batches[b], b % 2, dtypes[t], wanted);
					all_get(&all, ++step, shards, batches[b], b % 2, dtypes[t], wanted);
					for (int i = 0; i < TENSORS; i++)
						dfg_tensor_release(&wanted[i]);
				}
		replicas_end(&all);
	}
	dfg_state_release(&alone);
}

/* The result of one process that takes the shards whose bit is set. */
static void one_process_takes(
	struct dfg_group *group, uint32_t shards, int64_t batch, unsigned bits, struct dfg_tensor *out)
{
	bool taken[REPLICAS_MOST];
	for (uint32_t j = 0; j < shards; j++)
		taken[j] = bits >> j & 1;
	dfg_group_begin(group, shards, batch);
	succeeds(dfg_group_take(group, taken, NULL));
	for (uint32_t j = 0; j < shards; j++) {
		struct dfg_shard shard = dfg_shard_of(j, shards, batch);
		if (shard.rows && taken[j])
			contribute(group, &shard, false, DFG_F32);
	}
	for (uint32_t i = 0; i < TENSORS; i++)
		succeeds(dfg_group_result(group, 2, i, &out[i]));
	dfg_group_end(group);
}

/*
 * The same on a replica a shard: all but the last, which is `absent` if its shard is not taken, have contributed before
 * they know which shards count; shards not taken may not have contributed at all.
 */
static void replicas_take(
	struct replicas *all, uint64_t step, int64_t batch, unsigned bits, const struct dfg_tensor *wanted)
{
	uint32_t count = all->count, turn = (uint32_t)(step % count);
	bool taken[REPLICAS_MOST], absent[REPLICAS_MOST] = {0};
	for (uint32_t j = 0; j < count; j++)
		taken[j] = bits >> j & 1;
	absent[count - 1] = !taken[(count - 1 + turn) % count];
	const struct dfg_group_step at = {.number = step, .shards = count, .batch = batch, .holds = true, .turn = turn};
	for (uint32_t r = 0; r < count; r++) {
		struct dfg_shard shard = dfg_shard_of((r + turn) % count, count, batch);
		if (absent[r])
			continue;
		succeeds(dfg_group_join(all->node[r].group, &at));
		if (shard.rows && (taken[shard.number] || r % 2))
			contribute(all->node[r].group, &shard, false, DFG_F32);
	}
	for (uint32_t r = 0; r < count; r++)
		if (!absent[r])
			succeeds(dfg_group_take(all->node[r].group, taken, absent));
	for (uint32_t r = 0; r < count; r++) {
		if (absent[r])
			continue;
		succeeds(dfg_group_wait(all->node[r].group, 2, 60));
		for (uint32_t i = 0; i < TENSORS; i++) {
			struct dfg_tensor got;
			succeeds(dfg_group_result(all->node[r].group, 2, i, &got));
			assert_memory_equal(got.data, wanted[i].data, dfg_tensor_bytes(&got));
			dfg_tensor_release(&got);
		}
		dfg_group_end(all->node[r].group);
	}
}

static void replicas_that_hold_add_what_is_taken(void **state)
{
	(void)state;
	static const int64_t batches[] = {20, 11, 3};
	struct dfg_state alone;
	struct dfg_group *group;
	succeeds(dfg_state_init(&alone));
	succeeds(dfg_group_of(&alone, &group));
	for (uint32_t count = 2; count <= REPLICAS_MOST; count++) {
		struct replicas all;
		uint64_t step = 0;
		replicas_begin(&all, count, DFG_KEEP);
		for (int b = 0; b < 3; b++)
			for (unsigned bits = 1; bits < 1u << count; bits++) {
				struct dfg_tensor wanted[TENSORS];
				int64_t rows = 0;
				for (uint32_t j = 0; j < count; j++)
					rows += (bits >> j & 1) * dfg_shard_of(j, count, batches[b]).rows;
				if (!rows)
					continue;
				one_process_takes(group, count, batches[b], bits, wanted);
				replicas_take(&all, ++step, batches[b], bits, wanted);
				for (int i = 0; i < TENSORS; i++)
					dfg_tensor_release(&wanted[i]);
			}
		for (uint32_t r = 0; r < count; r++)
			assert_int_equal(dfg_group_stale(all.node[r].group), 0);
		replicas_end(&all);
	}
	dfg_state_release(&alone);
}

static uint64_t bytes_of(enum dfg_algorithm algorithm, uint32_t replicas)
{
	return dfg_group_bytes(&(struct dfg_group_cost){algorithm, DFG_NONE, DFG_F32, 80 + 16, replicas, replicas});
}

/* 13. With a shard a replica, each element is sent once to its owner and once back to each: 2 (R - 1) buckets in all. */
static void bytes_are_twice_the_bucket_for_each_other_replica(void **state)
{
	(void)state;
	struct dfg_state alone;
	struct dfg_group *group;
	succeeds(dfg_state_init(&alone));
	succeeds(dfg_group_of(&alone, &group));
	for (uint32_t count = 2; count <= REPLICAS_MOST; count++) {
		struct replicas all;
		struct dfg_tensor wanted[TENSORS];
		uint64_t bytes = 0, messages = 0;
		replicas_begin(&all, count, DFG_KEEP);
		one_process(group, count, 10, false, DFG_F32, wanted);
		all_get(&all, 1, count, 10, false, DFG_F32, wanted);
		for (uint32_t i = 0; i < count; i++)
			for (uint32_t k = 0; k < count; k++) {
				bytes += dfg_group_sent(all.node[i].group, k).bytes;
				messages += dfg_group_sent(all.node[i].group, k).messages;
			}
		assert_int_equal(messages, 2 * count * (count - 1));
		assert_int_equal(dfg_group_extent(DFG_F32, 77), 80);
		assert_int_equal(bytes, bytes_of(DFG_ALGORITHM_DIRECT, count));
		assert_int_equal(bytes, 2 * (count - 1) * (80 + 16) * 4); /* 77 and 15 elements, in lines of 16 */
		for (int i = 0; i < TENSORS; i++)
			dfg_tensor_release(&wanted[i]);
		replicas_end(&all);
	}
	dfg_state_release(&alone);
}

static void use(struct replicas *all, enum dfg_algorithm algorithm)
{
	for (uint32_t i = 0; i < all->count; i++)
		dfg_group_use(all->node[i].group, algorithm);
}

static struct dfg_group_sent sent(const struct replicas *all, uint32_t from, uint32_t to)
{
	return dfg_group_sent(all->node[from].group, to);
}

/*
 * Halving is the tree where the numbers are powers of two and all shards have rows; else the same group reduces directly.
 * Replicas that leave do not change a bit.
 */
static void halving_adds_as_one_process(void **state)
{
	(void)state;
	static const enum dfg_dtype dtypes[] = {DFG_F32, DFG_F64, DFG_BF16, DFG_C64};
	static const uint32_t counts[] = {2, 4, 3}, shards[] = {4, 8, 6}, left[] = {0, 1, 2};
	static const int64_t batches[] = {24, 10, 2};
	struct dfg_state alone;
	struct dfg_group *group;
	succeeds(dfg_state_init(&alone));
	succeeds(dfg_group_of(&alone, &group));
	for (int c = 0; c < 3; c++) {
		struct replicas all;
		uint64_t step = 0;
		replicas_begin(&all, counts[c], DFG_KEEP);
		use(&all, DFG_ALGORITHM_HALVING);
		for (int i = 0; i < 36 + 4; i++) {
			struct dfg_tensor wanted[TENSORS];
			if (i == 36)
				for (uint32_t r = 0; r < counts[c]; r++)
					dfg_err_free(
						dfg_group_regroup(all.node[r].group, 1, left, counts[c] - 1)); /* the last one leaves */
			one_process(group, shards[i % 3], batches[i / 3 % 3], i % 2, dtypes[i / 9 % 4], wanted);
			members_get(&all, i < 36 ? counts[c] : counts[c] - 1, ++step, shards[i % 3], batches[i / 3 % 3], i % 2,
				dtypes[i / 9 % 4], wanted);
			for (int k = 0; k < TENSORS; k++)
				dfg_tensor_release(&wanted[k]);
		}
		replicas_end(&all);
	}
	dfg_state_release(&alone);
}

/* Of 4 replicas, each exchanges halves with two, and sends 2 x 2 messages, of 96 elements in all 2 x (48 + 24). */
static void halving_sends_to_few(void **state)
{
	(void)state;
	struct replicas all;
	struct dfg_state alone;
	struct dfg_group *group;
	struct dfg_tensor wanted[TENSORS];
	succeeds(dfg_state_init(&alone));
	succeeds(dfg_group_of(&alone, &group));
	replicas_begin(&all, 4, DFG_KEEP);
	use(&all, DFG_ALGORITHM_HALVING);
	one_process(group, 4, 8, false, DFG_F32, wanted);
	all_get(&all, 1, 4, 8, false, DFG_F32, wanted);
	for (uint32_t r = 0; r < 4; r++) {
		assert_int_equal(sent(&all, r, r ^ 1).messages, 2);
		assert_int_equal(sent(&all, r, r ^ 1).bytes, 2 * 48 * 4);
		assert_int_equal(sent(&all, r, r ^ 2).messages, 2);
		assert_int_equal(sent(&all, r, r ^ 2).bytes, 2 * 24 * 4);
		assert_int_equal(sent(&all, r, r ^ 3).messages, 0);
	}
	assert_int_equal(bytes_of(DFG_ALGORITHM_HALVING, 4), 4 * 2 * (48 + 24) * 4);
	for (int i = 0; i < TENSORS; i++)
		dfg_tensor_release(&wanted[i]);
	replicas_end(&all);
	dfg_state_release(&alone);
}

/* An element that contribute() gives as f32. */
static float value_of(uint32_t shard, int64_t e)
{
	return (float)((double)((shard * 7 + (uint32_t)e) % 11) * (e % 2 ? 1e-3 : 1e3) + (double)e / 3);
}

/* The sum of slice i of n around the ring: from replica i on. `at` is the element's place in the bucket of 96. */
static float around(uint32_t replicas, int64_t at, int64_t e)
{
	uint32_t slice = 0;
	while (96 * (slice + 1) / replicas <= at)
		slice++;
	float sum = value_of(slice, e);
	for (uint32_t k = 1; k < replicas; k++)
		sum += value_of((slice + k) % replicas, e);
	return sum;
}

static void a_ring_adds_from_one_to_the_next(void **state)
{
	(void)state;
	for (uint32_t count = 2; count <= REPLICAS_MOST; count++) {
		struct replicas all;
		struct dfg_tensor wanted[TENSORS];
		for (int i = 0; i < TENSORS; i++) {
			succeeds(dfg_tensor_new(DFG_F32, &shape[i], &wanted[i]));
			for (int64_t e = 0; e < dfg_shape_count(&shape[i]); e++)
				((float *)wanted[i].data)[e] = around(count, i ? 80 + e : e, e);
		}
		replicas_begin(&all, count, DFG_KEEP);
		use(&all, DFG_ALGORITHM_RING);
		for (uint64_t step = 1; step <= 3; step++)
			all_get(&all, step, count, 24, true, DFG_F32, wanted);
		for (uint32_t r = 0; r < count; r++)
			assert_int_equal(sent(&all, r, (r + 1) % count).messages, 3 * 2 * (count - 1));
		for (int i = 0; i < TENSORS; i++)
			dfg_tensor_release(&wanted[i]);
		replicas_end(&all);
	}
}

static void an_algorithm_is_chosen_by_the_numbers(void **state)
{
	(void)state;
	assert_int_equal(dfg_group_algorithm(DFG_ALGORITHM_AUTO, 16, 16), DFG_ALGORITHM_DIRECT);
	assert_int_equal(dfg_group_algorithm(DFG_ALGORITHM_AUTO, 32, 64), DFG_ALGORITHM_HALVING);
	assert_int_equal(dfg_group_algorithm(DFG_ALGORITHM_AUTO, 32, 96), DFG_ALGORITHM_DIRECT);
	assert_int_equal(dfg_group_algorithm(DFG_ALGORITHM_AUTO, 33, 33), DFG_ALGORITHM_DIRECT);
	assert_int_equal(dfg_group_algorithm(DFG_ALGORITHM_DIRECT, 32, 32), DFG_ALGORITHM_DIRECT);
	assert_int_equal(dfg_group_algorithm(DFG_ALGORITHM_HALVING, 2, 8), DFG_ALGORITHM_HALVING);
	assert_int_equal(dfg_group_algorithm(DFG_ALGORITHM_RING, 3, 7), DFG_ALGORITHM_RING);
	assert_int_equal(dfg_group_messages(DFG_ALGORITHM_HALVING, 32), 10);
	assert_int_equal(dfg_group_messages(DFG_ALGORITHM_DIRECT, 32), 62);
	assert_int_equal(dfg_group_messages(DFG_ALGORITHM_RING, 32), 62);
}

static void a_stage_that_does_not_fit_fails_the_step(void **state)
{
	(void)state;
	static const struct {
		int64_t stage, count;
		uint32_t from;
	} lie[] = {{0, 47, 1}, {0, 48, 2}, {4, 48, 1}, {-1, 48, 1}, {INT64_MAX, 48, 1}};
	for (size_t i = 0; i < sizeof lie / sizeof *lie; i++) {
		struct replicas all;
		struct dfg_shard first = dfg_shard_of(0, 4, 4);
		struct dfg_message message = {
			.kind = DFG_MESSAGE_REDUCE, .key = {.step = 1, .number = 2, .depth = 4, .iteration = {3, lie[i].stage}}};
		replicas_begin(&all, 4, DFG_KEEP);
		use(&all, DFG_ALGORITHM_HALVING);
		succeeds(dfg_group_join(all.node[0].group, &(struct dfg_group_step){.number = 1, .shards = 4, .batch = 4}));
		contribute(all.node[0].group, &first, false, DFG_F32);
		fails(dfg_group_wait(all.node[0].group, 2, 0.01), DFG_DEADLINE, "waits for the sum of replica 1");
		succeeds(dfg_tensor_new(DFG_F32, &DFG_SHAPE_VECTOR(lie[i].count), &message.tensor));
		dfg_group_deliver(all.node[0].group, lie[i].from, &message);
		fails(dfg_group_wait(all.node[0].group, 2, 0), DFG_PROTOCOL, "in stage");
		dfg_group_end(all.node[0].group);
		replicas_end(&all);
	}
}

/* Tensors of two elements, two in a bucket, of each shard; and the result, computed by hand from the formula. */
struct pair {
	float in[4][2][2], out[2][2];
	uint32_t shards;
};

static const struct pair pairs[] = {
	{{{{3, -5}, {0, 7}}, {{3, -5}, {0, 7}}}, {{3, -5}, {0, 7}}, 2},            /* equal gradients: themselves */
	{{{{2, 0}, {0, 1}}, {{0, 3}, {4, 0}}}, {{2, 3}, {4, 1}}, 2},               /* orthogonal ones: their sum */
	{{{{2, 0}, {1, 1}}, {{1, 0}, {-1, -1}}}, {{1.5, 0}, {0, 0}}, 2},           /* parallel: 2 (1 - 2/8) + 1 (1 - 2/2) */
	{{{{0, 0}, {0, 0}}, {{1, 2}, {0, 0}}}, {{1, 2}, {0, 0}}, 2},               /* one of zeros counts for nothing */
	{{{{4, 0}, {0, 1}}, {{0, 4}, {0, 1}}, {{8, 0}, {2, 0}}, {{8, 0}, {2, 0}}}, /* then 1/2 (4, 4) + 3/4 (8, 0) */
		{{8, 2}, {2, 1}}, 4},
};

static void contribute_pair(struct dfg_group *group, const struct pair *pair, const struct dfg_shard *shard)
{
	struct dfg_tensor tensor[2];
	const struct dfg_tensor *list[2] = {&tensor[0], &tensor[1]};
	for (int i = 0; i < 2; i++) {
		succeeds(dfg_tensor_new(DFG_F32, &DFG_SHAPE_VECTOR(2), &tensor[i]));
		memcpy(tensor[i].data, pair->in[shard->number][i], sizeof pair->in[0][i]);
	}
	dfg_group_enter(group, shard);
	succeeds(dfg_group_contribute(
		group, &(struct dfg_contribution){.bucket = 1, .is_sum = true, .is_adasum = true, .tensor = list, .n = 2}));
	dfg_group_enter(group, NULL);
	dfg_tensor_release(&tensor[0]);
	dfg_tensor_release(&tensor[1]);
}

static void has_result(struct dfg_group *group, const struct pair *pair)
{
	struct dfg_tensor got;
	for (uint32_t i = 0; i < 2; i++) {
		succeeds(dfg_group_result(group, 1, i, &got));
		assert_memory_equal(got.data, pair->out[i], sizeof pair->out[i]);
		dfg_tensor_release(&got);
	}
}

/* 32. On each number of replicas, whatever algorithm was asked for, with the weights of unequal shards left out. */
static void adasum_of_pairs(void **state)
{
	(void)state;
	for (size_t p = 0; p < sizeof pairs / sizeof *pairs; p++)
		for (uint32_t count = 2; count <= pairs[p].shards; count++) {
			struct replicas all;
			replicas_begin(&all, count, DFG_KEEP);
			use(&all, p % 2 ? DFG_ALGORITHM_HALVING : DFG_ALGORITHM_DIRECT);
			for (uint32_t r = 0; r < count; r++) {
				struct dfg_shard range = dfg_group_range(r, count, pairs[p].shards);
				const struct dfg_group_step at = {.number = 1, .shards = pairs[p].shards, .batch = 7};
				succeeds(dfg_group_join(all.node[r].group, &at));
				for (int64_t j = range.first; j < range.first + range.rows; j++) {
					struct dfg_shard shard = dfg_shard_of((uint32_t)j, pairs[p].shards, 7);
					contribute_pair(all.node[r].group, &pairs[p], &shard);
				}
			}
			for (uint32_t r = 0; r < count; r++) {
				succeeds(dfg_group_wait(all.node[r].group, 1, 60));
				has_result(all.node[r].group, &pairs[p]);
				dfg_group_end(all.node[r].group);
			}
			replicas_end(&all);
		}
}

static void a_wait_names_what_is_missing(void **state)
{
	(void)state;
	struct replicas all;
	struct dfg_shard first = dfg_shard_of(0, 2, 4);
	replicas_begin(&all, 2, DFG_KEEP);
	succeeds(dfg_group_join(all.node[0].group, &(struct dfg_group_step){.number = 1, .shards = 2, .batch = 4}));
	contribute(all.node[0].group, &first, false, DFG_F32);
	fails(dfg_group_wait(all.node[0].group, 2, 0.01), DFG_DEADLINE, "bucket 2 still waits for shard 1 of replica 1");
	dfg_group_fail(all.node[0].group, DFG_ERR(DFG_STOPPED, "elsewhere"));
	fails(dfg_group_wait(all.node[0].group, 2, 0), DFG_STOPPED, "elsewhere");
	dfg_group_end(all.node[0].group);
	succeeds(dfg_group_join(all.node[0].group, &(struct dfg_group_step){.number = 2, .shards = 2, .batch = 4}));
	all.node[1].to[0]->kind->close(all.node[1].to[0]);
	all.node[1].to[0] = NULL;
	fails(dfg_group_wait(all.node[0].group, 2, 0), DFG_UNAVAILABLE, "bucket 2 waited for");
	dfg_group_end(all.node[0].group);
	replicas_end(&all);
}

/* 21. The replicas that are left divide the shards anew; what they still get of the epoch before is dropped and counted. */
static void an_epoch_has_other_members(void **state)
{
	(void)state;
	static const uint32_t left[] = {0, 1}, absent[] = {1, 2}, unordered[] = {1, 0};
	struct replicas all;
	struct dfg_state alone;
	struct dfg_group *group;
	struct dfg_tensor wanted[TENSORS];
	struct dfg_shard first = dfg_shard_of(0, 4, 10);
	succeeds(dfg_state_init(&alone));
	succeeds(dfg_group_of(&alone, &group));
	one_process(group, 4, 10, false, DFG_F32, wanted);
	replicas_begin(&all, 3, DFG_KEEP);
	for (uint32_t i = 0; i < 2; i++) {
		succeeds(dfg_group_join(all.node[i].group, &(struct dfg_group_step){.number = 1, .shards = 4, .batch = 10}));
		dfg_group_lost(all.node[i].group, 2, DFG_ERR(DFG_UNAVAILABLE, "gone"));
	}
	contribute(all.node[0].group, &first, false, DFG_F32);
	fails(dfg_group_wait(all.node[0].group, 2, 0), DFG_UNAVAILABLE, "replica 1: gone");
	for (uint32_t i = 0; i < 2; i++) {
		dfg_group_end(all.node[i].group);
		fails(dfg_group_regroup(all.node[i].group, 0, left, 2), DFG_PROTOCOL, "epoch 0 cannot follow epoch 0");
		fails(dfg_group_regroup(all.node[i].group, 1, unordered, 2), DFG_PROTOCOL, "expected ascending order");
		succeeds(dfg_group_regroup(all.node[i].group, 1, left, 2));
	}
	for (uint64_t step = 1; step < 4; step++) { /* of a step that is over, and of steps to come */
		struct dfg_message late = {.kind = DFG_MESSAGE_REDUCE, .key = {.step = step, .number = 2, .depth = 4}};
		succeeds(dfg_tensor_new(DFG_F32, &DFG_SHAPE_VECTOR(48), &late.tensor));
		dfg_group_deliver(all.node[0].group, 2, &late);
	}
	uint64_t stale = dfg_group_stale(all.node[0].group);
	assert_true(stale >= 3);
	members_get(&all, 2, 2, 4, 10, false, DFG_F32, wanted);
	assert_int_equal(dfg_group_stale(all.node[0].group), stale);
	fails(dfg_group_regroup(all.node[0].group, 2, absent, 2), DFG_PROTOCOL, "does not include this replica, number 0");
	succeeds(dfg_group_regroup(all.node[0].group, 3, left, 1));
	members_get(&all, 1, 3, 4, 10, false, DFG_F32, wanted);
	for (int i = 0; i < TENSORS; i++)
		dfg_tensor_release(&wanted[i]);
	replicas_end(&all);
	dfg_state_release(&alone);
}

/* A message that does not fit fails the step, and nothing else. */
static void lies_fail_the_step(void **state)
{
	(void)state;
	static const struct {
		int64_t field[3];
		uint32_t depth;
		enum dfg_dtype dtype;
		int64_t count;
	} lie[] = {
		{{0, 0, 1}, 4, DFG_F32, 48}, /* a shard of replica 0 */
		{{0, 1, 2}, 4, DFG_F32, 48}, /* more shards than there are */
		{{0, 1, -1}, 4, DFG_F32, 48},
		{{0, INT64_MAX, 1}, 4, DFG_F32, 48},
		{{0, 1, 1}, 4, DFG_F32, 47},
		{{0, 1, 1}, 4, DFG_F64, 48},
		{{0, 1, 1}, 3, DFG_F32, 48},
		{{1, 0, 0}, 4, DFG_F32, 49},
		{{7, 0, 0}, 4, DFG_F32, 48},
	};
	for (size_t i = 0; i < sizeof lie / sizeof *lie; i++) {
		struct replicas all;
		struct dfg_shard first = dfg_shard_of(0, 2, 4);
		struct dfg_message message = {
			.kind = DFG_MESSAGE_REDUCE, .key = {.step = 1, .number = 2, .depth = lie[i].depth}};
		replicas_begin(&all, 2, DFG_KEEP);
		succeeds(dfg_group_join(all.node[0].group, &(struct dfg_group_step){.number = 1, .shards = 2, .batch = 4}));
		contribute(all.node[0].group, &first, false, DFG_F32);
		memcpy(message.key.iteration, lie[i].field, sizeof lie[i].field);
		succeeds(dfg_tensor_new(lie[i].dtype, &DFG_SHAPE_VECTOR(lie[i].count), &message.tensor));
		dfg_group_deliver(all.node[0].group, 1, &message);
		fails(dfg_group_wait(all.node[0].group, 2, 0), DFG_PROTOCOL, "replica 1");
		dfg_group_end(all.node[0].group);
		replicas_end(&all);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(replicas_add_as_one_process),
		cmocka_unit_test(replicas_that_hold_add_what_is_taken),
		cmocka_unit_test(bytes_are_twice_the_bucket_for_each_other_replica),
		cmocka_unit_test(halving_adds_as_one_process),
		cmocka_unit_test(halving_sends_to_few),
		cmocka_unit_test(a_ring_adds_from_one_to_the_next),
		cmocka_unit_test(an_algorithm_is_chosen_by_the_numbers),
		cmocka_unit_test(a_stage_that_does_not_fit_fails_the_step),
		cmocka_unit_test(adasum_of_pairs),
		cmocka_unit_test(a_wait_names_what_is_missing),
		cmocka_unit_test(an_epoch_has_other_members),
		cmocka_unit_test(lies_fail_the_step),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
