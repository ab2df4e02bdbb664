#include "cmd/remat.h"

#include <stdlib.h>
#include <string.h>

static const char *policy;

const struct dfg_opt dfg_remat_options[] = {
	{"remat", .takes = "POLICY", .text = &policy,
		.help = "Rematerialise values of loops instead of saving them: carried, every=K or sqrt."},
	{0},
};

struct dfg_err *dfg_remat_policy(struct dfg_remat *out_remat)
{
	static const char every[] = "every=";
	char *end = NULL;
	*out_remat = (struct dfg_remat){0};
	if (!policy)
		return NULL;
	if (!strcmp(policy, "carried"))
		out_remat->policy = DFG_REMAT_CARRIED;
	else if (!strcmp(policy, "sqrt"))
		out_remat->policy = DFG_REMAT_SQRT;
	else if (!strncmp(policy, every, strlen(every))) {
		out_remat->policy = DFG_REMAT_EVERY;
		out_remat->every = strtol(policy + strlen(every), &end, 10);
	}
	if (!out_remat->policy || (end && (*end || out_remat->every < 1 || out_remat->every > INT32_MAX)))
		return DFG_ERR(DFG_USAGE, "--remat must be carried, sqrt or every=K with K at least 1, not '%.100s'", policy);
	return NULL;
}
