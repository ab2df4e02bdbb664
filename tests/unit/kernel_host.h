#pragma once

#include "lib/graph/kernel.h"
#include "tests/unit/test.h"

#include <stdlib.h>

enum { HOST_BLOCKS = 256 };

/* A host for one kernel with one thread, which takes blocks from the last to the first, or forwards. */
struct host {
	void *memory[HOST_BLOCKS];
	int count;
	bool forwards;
};

static struct dfg_err *scratch(struct dfg_kernel *ctx, size_t bytes, void **out_memory)
{
	struct host *host = ctx->runner;
	assert_true(host->count < HOST_BLOCKS);
	*out_memory = host->memory[host->count++] = malloc(bytes ? bytes : 1);
	assert_non_null(*out_memory);
	memset(*out_memory, 0xff, bytes); /* NaN */
	return NULL;
}

static void parallel(struct dfg_kernel *ctx, int64_t n, void (*part)(void *arg, int64_t i), void *arg)
{
	const struct host *host = ctx->runner;
	for (int64_t i = 0; i < n; i++)
		part(arg, host->forwards ? i : n - 1 - i);
}

static const struct dfg_kernel_services services = {.scratch = scratch, .parallel = parallel};

static void release_host(struct host *host)
{
	while (host->count)
		free(host->memory[--host->count]);
}
