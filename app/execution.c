#include "app/execution.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static struct dfg_err *parse_schedule(const char *schedule, struct dfg_session_options *session)
{
	static const char random[] = "random:";
	size_t length = sizeof random - 1;
	char *end;
	if (!schedule)
		return NULL;
	errno = 0;
	session->random_schedule = true;
	session->schedule_seed = strncmp(schedule, random, length) ? 0 : strtoull(schedule + length, &end, 10);
	if (strncmp(schedule, random, length) || *end || end == schedule + length || errno)
		return DFG_ERR(DFG_USAGE, "--schedule must be random:SEED, not '%s'", schedule);
	return NULL;
}

struct dfg_err *dfg_execution_denormals(const struct dfg_execution *execution, enum dfg_denormals *out_denormals)
{
	const char *word = execution->denormals ? execution->denormals : dfg_denormals_name[DFG_FLUSH];
	return dfg_denormals_find(word, out_denormals)
			   ? NULL
			   : DFG_ERR(DFG_USAGE, "--denormals must be flush or keep, not '%s'", word);
}

static struct dfg_err *parse_winograd(const struct dfg_execution *execution, enum dfg_winograd *out_winograd)
{
	const int64_t tile = execution->winograd;
	if (tile && tile != 2 && tile != 4)
		return DFG_ERR(DFG_USAGE, "--winograd must be 2 or 4, not %lld", (long long)tile);
	if (tile && execution->exact_conv)
		return DFG_ERR(DFG_USAGE, "--exact-conv excludes --winograd");
	*out_winograd = execution->exact_conv ? DFG_NO_WINOGRAD : tile == 4 ? DFG_WINOGRAD_4 : DFG_WINOGRAD_2;
	return NULL;
}

struct dfg_err *dfg_execution_session(const struct dfg_execution *execution, struct dfg_session_options *out_options)
{
	if (execution->threads < 0 || execution->threads > 4096)
		return DFG_ERR(DFG_USAGE, "--threads must be a number from 1 to 4096, not %lld", (long long)execution->threads);
	if (execution->swap && !execution->memory_limit)
		return DFG_ERR(DFG_USAGE, "--swap requires --memory-limit");
	*out_options = (struct dfg_session_options){
		.threads = (int)execution->threads,
		.seed = execution->seed < 0 ? 0 : (uint64_t)execution->seed,
		.no_opt = execution->no_opt,
		.no_compiled_loops = execution->no_compiled_loops,
		.alone = true,
		.check_numerics = execution->check_numerics,
		.max_iterations = execution->max_iterations,
		.timeout = execution->timeout,
		.swap = execution->swap,
		.limit = execution->limit,
	};
	DFG_TRY(dfg_execution_denormals(execution, &out_options->denormals));
	DFG_TRY(parse_winograd(execution, &out_options->winograd));
	return parse_schedule(execution->schedule, out_options);
}
