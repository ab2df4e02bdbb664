#include "lib/exec/plan/profile.h"

#include "lib/exec/dataflow/dataflow.h"
#include "lib/exec/linear/linear.h"
#include "lib/exec/replica_private.h"

static void profile_plan(const struct dfg_plan *plan, const struct profile_sink *sink)
{
	if (plan->replica) {
		profile_plan(plan->replica->compute, sink);
		if (plan->replica->update)
			profile_plan(plan->replica->update, sink);
		return;
	}
	dfg_linear_profile(plan, sink);
	dfg_dataflow_profile(plan, sink);
}

void dfg_session_profile(struct dfg_session *session, dfg_profile_visit *visit, void *arg)
{
	const struct profile_clock *began = &session->clock;
	uint64_t ticks = dfg_ticks() - began->ticks;
	const struct profile_sink sink = {visit, arg, ticks ? 1e-9 * (double)(dfg_now() - began->ns) / (double)ticks : 0};
	if (!session->options.profile)
		return;
	for (const struct dfg_plan *plan = session->plans; plan; plan = plan->next)
		profile_plan(plan, &sink);
}
