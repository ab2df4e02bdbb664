/* Hashes with a key: who does not know it cannot make names, numbers or constants collide. */
#include "tests/unit/test.h"

#include "lib/base/hash.h"
#include "lib/base/map.h"
#include "lib/pass/rewrite/equal_attributes.h"

#include <stdio.h>
#include <stdlib.h>

enum { MANY = 20000 };
static uint64_t hashes[MANY];

static int by_value(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
	return (x > y) - (x < y);
}

/* How many of the hashes are different. */
static int distinct(void)
{
	int count = 0;
	qsort(hashes, MANY, sizeof *hashes, by_value);
	for (int i = 0; i < MANY; i++)
		count += !i || hashes[i] != hashes[i - 1];
	return count;
}

/* x such that x * factor is 1, for an odd factor: Newton's iteration, each step doubles the bits that are right. */
static uint64_t inverse(uint64_t factor)
{
	uint64_t x = factor;
	for (int i = 0; i < 6; i++)
		x *= 2 - factor * x;
	return x;
}

/*
 * 16 bytes that a hash of multiplications by known constants sends to one number: the second word is free, the first is
 * what undoes it. The hash of 0.1.0 gave all of them the same.
 */
static void craft(uint64_t number, uint64_t word[2])
{
	const uint64_t factor = UINT64_C(0xff51afd7ed558ccd), start = UINT64_C(0x9e3779b97f4a7c15) ^ 16;
	word[1] = number * UINT64_C(0x9e3779b97f4a7c15);
	uint64_t state = UINT64_C(0x1234567890abcdef) ^ word[1];
	word[0] = ((state ^ state >> 32) * inverse(factor)) ^ start;
}

static void names_cannot_be_made_to_collide(void **state)
{
	(void)state;
	for (uint64_t i = 0; i < MANY; i++) {
		uint64_t word[2];
		craft(i, word);
		hashes[i] = dfg_map_hash((const char *)word, sizeof word);
	}
	assert_true(distinct() > MANY - 10); /* of 32 bits, 0.05 collisions are to be expected */
}

static void every_bit_and_length_counts(void **state)
{
	(void)state;
	static const char zeros[MANY];
	char bytes[80] = {0};
	int n = 0;
	for (size_t length = 1; length <= sizeof bytes; length++)
		for (size_t bit = 0; bit < 8 * length && n < MANY; bit++, n++) {
			bytes[bit / 8] = (char)(1 << bit % 8);
			hashes[n] = dfg_hash_bytes(dfg_hash_key, bytes, length);
			bytes[bit / 8] = 0;
		}
	for (size_t length = 0; n < MANY; length++, n++)
		hashes[n] = dfg_hash_bytes(dfg_hash_key, zeros, length);
	assert_int_equal(distinct(), MANY);
}

static void another_key_gives_another_hash(void **state)
{
	(void)state;
	assert_true(dfg_hash_key.seed && dfg_hash_key.secret);
	for (uint64_t i = 0; i < MANY; i++) {
		const struct dfg_hash_key key = {dfg_hash_key.seed ^ (i & 1 ? i : 0), dfg_hash_key.secret ^ (i & 1 ? 0 : i)};
		hashes[i] = dfg_hash_bytes(key, "a name", 6);
	}
	assert_int_equal(distinct(), MANY);
}

/* Numbers that are dense, and such as differ in a high bit only, fill a table evenly. */
static void words_spread(void **state)
{
	(void)state;
	enum { SLOTS = 1 << 15 };
	static int slot[SLOTS];
	int most = 0;
	for (uint64_t i = 0; i < MANY; i++) {
		uint64_t hash = dfg_hash_word(dfg_hash_key, dfg_hash_key.seed, i & 1 ? i : i << 44);
		int count = ++slot[hash % SLOTS];
		most = count > most ? count : most;
	}
	assert_true(most <= 12); /* at random: 12 in a slot once in 10^9 tables */
}

/* Each is compared with all that have its hash, so that what is alike at the beginning must not have the same. */
static void constants_that_begin_alike_have_hashes_of_their_own(void **state)
{
	(void)state;
	static int32_t value[1000];
	struct dfg_literal literal = {
		.dtype = DFG_I32, .shape = DFG_SHAPE_VECTOR(1000), .content = true, .given = 1000, .data = value};
	struct dfg_attr attr = {"value", DFG_ATTR_TENSOR, {.tensor = &literal}};
	const struct dfg_node node = {.name = "c", .op_name = "Const", .attr = &attr, .n_attr = 1};
	for (int32_t i = 0; i < MANY; i++) {
		value[i % 2 ? 500 : 999] = i;
		hashes[i] = dfg_attrs_hash(&node);
	}
	assert_int_equal(distinct(), MANY);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(names_cannot_be_made_to_collide),
		cmocka_unit_test(every_bit_and_length_counts),
		cmocka_unit_test(another_key_gives_another_hash),
		cmocka_unit_test(words_spread),
		cmocka_unit_test(constants_that_begin_alike_have_hashes_of_their_own),
	};
	return cmocka_run_group_tests_name("hash", tests, NULL, NULL);
}
