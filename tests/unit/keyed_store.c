#include "tests/unit/test.h"

#include "lib/exec/state/keyed_store.h"

/* A value under the key: the key's own first number. */
static void put_key(struct dfg_keyed_store *store, const int64_t *key)
{
	struct dfg_keyed_entry *entry;
	struct dfg_tensor tensor;
	assert_int_equal(dfg_keyed_store_find(store, key, &entry), DFG_ENTRY_EMPTY);
	succeeds(dfg_keyed_store_reach(store, key, &entry));
	succeeds(dfg_tensor_new(DFG_I64, &DFG_SHAPE_SCALAR, &tensor));
	*(int64_t *)tensor.data = key[0];
	dfg_keyed_store_fill(store, entry, &tensor);
	assert_null(tensor.buffer);
}

static int64_t get_key(struct dfg_keyed_store *store, const int64_t *key)
{
	struct dfg_keyed_entry *entry;
	assert_int_equal(dfg_keyed_store_find(store, key, &entry), DFG_ENTRY_FULL);
	return *(const int64_t *)entry->tensor.data;
}

static void drop(struct dfg_keyed_store *store, const int64_t *key)
{
	struct dfg_keyed_entry *entry;
	assert_int_equal(dfg_keyed_store_find(store, key, &entry), DFG_ENTRY_FULL);
	dfg_keyed_store_drop(store, entry);
	assert_int_equal(dfg_keyed_store_find(store, key, &entry), DFG_ENTRY_SPENT);
	assert_null(entry);
}

enum { MANY = 5000 };

static void fill_and_empty(struct dfg_keyed_store *store, int64_t first, int64_t step)
{
	for (int64_t i = 0; i < MANY; i++)
		put_key(store, &(int64_t){first + i * step});
	assert_int_equal(store->live, MANY);
	for (int64_t i = MANY - 1; i >= 0; i--)
		assert_true(get_key(store, &(int64_t){first + i * step}) == first + i * step);
	for (int64_t i = 0; i < MANY; i++)
		drop(store, &(int64_t){first + i * step});
	assert_int_equal(store->live, 0);
}

static void keys_may_count_from_anywhere_by_any_step(void **state)
{
	(void)state;
	static const struct {
		int64_t first, step;
	} ways[] = {
		{0, 1}, {MANY, -1}, {INT64_MAX - MANY, 1}, {INT64_MIN, 1}, {-MANY / 2, 1}, {0, 4096}, {1, INT64_C(1) << 40}};
	struct dfg_keyed_store store;
	dfg_keyed_store_init(&store, 1);
	for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) {
		fill_and_empty(&store, ways[i].first, ways[i].step);
		dfg_keyed_store_clear(&store);
	}
	dfg_keyed_store_release(&store);
}

static void a_store_that_was_cleared_needs_no_more_memory(void **state)
{
	(void)state;
	struct dfg_keyed_store store;
	dfg_keyed_store_init(&store, 1);
	fill_and_empty(&store, 0, 1);
	size_t capacity = store.capacity, entries = store.entry_capacity;
	for (int64_t i = 0; i < MANY; i++)
		assert_int_equal(dfg_keyed_store_find(&store, &i, &(struct dfg_keyed_entry *){NULL}), DFG_ENTRY_SPENT);
	for (int time = 0; time < 3; time++) {
		dfg_keyed_store_clear(&store);
		assert_int_equal(
			dfg_keyed_store_find(&store, &(int64_t){7}, &(struct dfg_keyed_entry *){NULL}), DFG_ENTRY_EMPTY);
		fill_and_empty(&store, time, 1);
	}
	assert_int_equal(store.capacity, capacity);
	assert_int_equal(store.entry_capacity, entries);
	dfg_keyed_store_release(&store);
}

/* As many as are alive, however many there have been. */
static void entries_of_dropped_values_are_used_again(void **state)
{
	(void)state;
	struct dfg_keyed_store store;
	dfg_keyed_store_init(&store, 1);
	for (int64_t i = 0; i < MANY; i++) {
		put_key(&store, &i);
		if (i >= 3)
			drop(&store, &(int64_t){i - 3});
	}
	assert_int_equal(store.live, 3);
	assert_true(store.entries <= 4);
	dfg_keyed_store_release(&store);
}

static void keys_may_be_pairs_or_nothing(void **state)
{
	(void)state;
	struct dfg_keyed_store pairs, one;
	dfg_keyed_store_init(&pairs, 2);
	dfg_keyed_store_init(&one, 0);
	for (int64_t i = 0; i < 70; i++)
		for (int64_t j = 0; j <= i; j++)
			put_key(&pairs, (int64_t[]){i, j});
	for (int64_t i = 0; i < 70; i++) {
		assert_true(get_key(&pairs, (int64_t[]){i, i / 2}) == i);
		assert_int_equal(
			dfg_keyed_store_find(&pairs, (int64_t[]){i, i + 1}, &(struct dfg_keyed_entry *){NULL}), DFG_ENTRY_EMPTY);
	}
	put_key(&one, &(int64_t){5});
	assert_true(get_key(&one, &(int64_t){6}) == 5); /* there is no key to differ in */
	drop(&one, &(int64_t){5});
	dfg_keyed_store_release(&pairs);
	dfg_keyed_store_release(&one);
}

static void a_place_may_be_waited_for(void **state)
{
	(void)state;
	struct dfg_keyed_store store;
	struct dfg_keyed_entry *entry, *again;
	dfg_keyed_store_init(&store, 1);
	succeeds(dfg_keyed_store_reach(&store, &(int64_t){9}, &entry));
	entry->mark = 77;
	for (int64_t i = 10; i < 100; i++)
		put_key(&store, &i);
	assert_int_equal(dfg_keyed_store_find(&store, &(int64_t){9}, &again), DFG_ENTRY_EMPTY);
	assert_int_equal(again->mark, 77);
	dfg_keyed_store_release(&store);
}

static void no_memory_is_an_error_and_breaks_nothing(void **state)
{
	(void)state;
	struct dfg_allocator *before = dfg_mem;
	for (long left = 0; left < 40; left++) {
		struct dfg_mem_failing failing;
		struct dfg_keyed_store store;
		int64_t kept = 0;
		dfg_mem_failing_init(&failing, before, left, false);
		dfg_keyed_store_init(&store, 1);
		for (int64_t i = 0; i < 100; i++) {
			struct dfg_keyed_entry *entry;
			struct dfg_tensor tensor = {.dtype = DFG_I64, .data = &store};
			dfg_mem = &failing.base;
			struct dfg_err *err = dfg_keyed_store_reach(&store, &i, &entry);
			dfg_mem = before;
			if (err) {
				assert_int_equal(err->code, DFG_MEMORY);
				dfg_err_free(err);
				continue;
			}
			dfg_keyed_store_fill(&store, entry, &tensor);
			kept++;
		}
		assert_int_equal(store.live, kept);
		assert_true(kept >= 99);
		dfg_keyed_store_release(&store);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(keys_may_count_from_anywhere_by_any_step),
		cmocka_unit_test(a_store_that_was_cleared_needs_no_more_memory),
		cmocka_unit_test(entries_of_dropped_values_are_used_again),
		cmocka_unit_test(keys_may_be_pairs_or_nothing),
		cmocka_unit_test(a_place_may_be_waited_for),
		cmocka_unit_test(no_memory_is_an_error_and_breaks_nothing),
	};
	return cmocka_run_group_tests_name("keyed_store", tests, NULL, NULL);
}
