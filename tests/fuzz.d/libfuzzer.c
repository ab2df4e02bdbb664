/* The driver of `make fuzz`: FUZZ_TARGET names the target. */
#include "tests/fuzz.d/targets.h"

#include <stdio.h>
#include <stdlib.h>

size_t LLVMFuzzerMutate(uint8_t *bytes, size_t size, size_t most);
int LLVMFuzzerInitialize(int *count, char ***arguments);
int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);
size_t LLVMFuzzerCustomMutator(uint8_t *bytes, size_t size, size_t most, unsigned seed);

static const struct dfg_fuzz_target *target;

int LLVMFuzzerInitialize(int *count, char ***arguments)
{
	(void)count;
	(void)arguments;
	const char *name = getenv("FUZZ_TARGET");
	target = name ? dfg_fuzz_target_find(name) : NULL;
	if (!target) {
		fprintf(stderr, "FUZZ_TARGET must be one of:");
		for (const struct dfg_fuzz_target *t = dfg_fuzz_targets; t->name; t++)
			fprintf(stderr, " %s", t->name);
		fprintf(stderr, "\n");
		exit(2);
	}
	dfg_fuzz_begin();
	return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	target->examine(bytes, size);
	return 0;
}

size_t LLVMFuzzerCustomMutator(uint8_t *bytes, size_t size, size_t most, unsigned seed)
{
	/* One mutation of eight ignores the structure, so that broken structures are tried too. */
	const bool plain = seed % 8 == 0;
	size_t done = 0;
	if (!plain && target->is_protobuf)
		done = dfg_fuzz_mutate_message(bytes, size, most, seed / 8, LLVMFuzzerMutate);
	if (!done)
		done = LLVMFuzzerMutate(bytes, size, most);
	return !plain && target->repair ? target->repair(bytes, done) : done;
}
