#include "cmd/engine.h"

#include "lib/base/mem.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct dfg_engine dfg_engine = {.seed = -1};
#define E dfg_engine

static struct dfg_mem_limit limit;

const struct dfg_opt dfg_engine_options[] = {
	{"threads", .takes = "N", .number = &E.threads, .help = "Use N threads (all processors allowed to this process)."},
	{"seed", .takes = "N", .number = &E.seed, .help = "Seed of random ops."},
	{"memory-limit", .takes = "SIZE", .size = &E.memory_limit, .help = "Fail if more memory than SIZE is needed."},
	{"swap", .takes = "DIR", .text = &E.swap,
		.help = "Move values saved by loops to a scratch file in DIR when memory nears --memory-limit."},
	{"timeout", .takes = "SECONDS", .real = &E.timeout,
		.help = "Fail if a step, or the start of the workers, takes longer; 0: no limit."},
	{"max-iterations", .takes = "N", .number = &E.max_iterations,
		.help = "Fail if a loop has more iterations; 0: no limit."},
	{"check-numerics", .flag = &E.check_numerics, .help = "Fail at the first node that makes a NaN or an infinity."},
	{"schedule", .takes = "random:SEED", .text = &E.schedule, .help = "Run ready nodes in an order drawn from SEED."},
	{"no-opt", .flag = &E.no_opt, .help = "Run the graph without optimizing it."},
	{0},
};

static struct dfg_err *parse_schedule(struct dfg_session_options *session)
{
	static const char random[] = "random:";
	size_t length = sizeof random - 1;
	char *end;
	if (!E.schedule)
		return NULL;
	errno = 0;
	session->random_schedule = true;
	session->schedule_seed = strncmp(E.schedule, random, length) ? 0 : strtoull(E.schedule + length, &end, 10);
	if (strncmp(E.schedule, random, length) || *end || end == E.schedule + length || errno)
		return DFG_ERR(DFG_USAGE, "--schedule must be random:SEED, not '%s'", E.schedule);
	return NULL;
}

struct dfg_err *dfg_engine_session(struct dfg_session_options *out_options)
{
	if (E.threads < 0 || E.threads > 4096)
		return DFG_ERR(DFG_USAGE, "--threads must be a number from 1 to 4096");
	if (E.swap && !E.memory_limit)
		return DFG_ERR(DFG_USAGE, "--swap requires --memory-limit");
	*out_options = (struct dfg_session_options){
		.threads = (int)E.threads,
		.seed = E.seed < 0 ? 0 : (uint64_t)E.seed,
		.no_opt = E.no_opt,
		.alone = true,
		.check_numerics = E.check_numerics,
		.max_iterations = E.max_iterations,
		.timeout = E.timeout,
		.swap = E.swap,
		.limit = &limit,
	};
	return parse_schedule(out_options);
}

void dfg_engine_limit_memory(void)
{
	if (!E.memory_limit)
		return;
	dfg_mem_limit_init(&limit, dfg_mem, E.memory_limit);
	dfg_mem = &limit.base;
}

struct dfg_err *dfg_engine_name_limit(struct dfg_err *err, const char *path)
{
	if (!err || err->code != DFG_MEMORY || !E.memory_limit)
		return err;
	limit.limit = SIZE_MAX; /* lift the limit, so that reporting the error can allocate */
	bool of_file = err->of_file;
	struct dfg_err *said =
		DFG_ERR(DFG_MEMORY, "%s (--memory-limit is %llu)", err->text, (unsigned long long)E.memory_limit);
	dfg_err_free(err);
	return dfg_err_of_file(said, of_file ? NULL : path);
}
