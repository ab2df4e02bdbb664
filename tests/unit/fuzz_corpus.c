/*
 * Every file of tests/fuzz.d/TARGET, and damaged copies of it, read by its target: tests/fuzz.d/targets.h says what a reader
 * must not do. What a search by `make fuzz` has found stays there as a file.
 */
#include "tests/fuzz.d/targets.h"
#include "tests/unit/test.h"

#include "lib/base/random.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST = 1 << 20, DAMAGED = 40 };

static uint8_t bytes[MOST], damaged[2 * MOST];

static size_t read_file(const char *path)
{
	FILE *file = fopen(path, "rb");
	assert_non_null(file);
	const size_t size = fread(bytes, 1, MOST, file);
	assert_true(feof(file));
	fclose(file);
	return size;
}

/* As a mutator of libFuzzer: some bytes become others, and the end may be lost. */
static size_t damage(uint8_t *at, size_t size, size_t most)
{
	static uint64_t state = 1;
	(void)most;
	for (uint64_t n = size ? 1 + dfg_random_next(&state) % 4 : 0; n; n--)
		at[dfg_random_next(&state) % size] = (uint8_t)dfg_random_next(&state);
	return size && dfg_random_next(&state) % 4 == 0 ? dfg_random_next(&state) % size : size;
}

static void read_damaged(const struct dfg_fuzz_target *target, size_t size, unsigned seed)
{
	size_t done = 0;
	memcpy(damaged, bytes, size);
	if (target->is_protobuf)
		done = dfg_fuzz_mutate_message(damaged, size, MOST, seed * 2654435761u, damage);
	if (!done)
		done = damage(damaged, size, MOST);
	if (target->repair)
		done = target->repair(damaged, done);
	target->examine(damaged, done);
}

static void read_folder(void **state)
{
	const struct dfg_fuzz_target *target = *state;
	char path[512];
	unsigned files = 0;
	snprintf(path, sizeof path, "tests/fuzz.d/%s", target->name);
	DIR *folder = opendir(path);
	assert_non_null(folder);
	for (struct dirent *entry; (entry = readdir(folder));) {
		if (*entry->d_name == '.')
			continue;
		snprintf(path, sizeof path, "tests/fuzz.d/%s/%s", target->name, entry->d_name);
		const size_t size = read_file(path);
		memcpy(damaged, bytes, size);
		target->examine(damaged, size);
		for (unsigned seed = 0; seed < DAMAGED; seed++)
			read_damaged(target, size, seed);
		files++;
	}
	closedir(folder);
	assert_true(files);
	target->examine(bytes, 0);
}

int main(void)
{
	struct CMUnitTest tests[64];
	size_t count = 0;
	dfg_fuzz_begin();
	for (const struct dfg_fuzz_target *target = dfg_fuzz_targets; target->name; target++, count++)
		tests[count] =
			(struct CMUnitTest){.name = target->name, .test_func = read_folder, .initial_state = (void *)target};
	return _cmocka_run_group_tests("fuzz_corpus", tests, count, NULL, NULL);
}
