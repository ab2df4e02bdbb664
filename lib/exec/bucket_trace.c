#include "lib/exec/bucket_trace.h"

#include "lib/base/pool.h"

void dfg_trace_buckets(
	struct dfg_group *group, void (*trace)(void *arg, const struct dfg_trace_event *event), void *trace_arg)
{
	struct dfg_bucket_times times;
	uint64_t now = dfg_now();
	for (size_t at = 0; trace && dfg_group_next_times(group, &at, &times);)
		trace(trace_arg, &(struct dfg_trace_event){
							 .node = times.name,
							 .op = "",
							 .frame = "",
							 .thread = dfg_pool_thread(),
							 .bucket = times.number + 1,
							 .begin_ns = times.ready_ns ? times.ready_ns : times.reduced_ns,
							 .end_ns = now,
							 .sent_ns = times.sent_ns,
							 .reduced_ns = times.reduced_ns,
						 });
}
