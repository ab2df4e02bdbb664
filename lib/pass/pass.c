#include "lib/pass/pass.h"

#include "lib/pass/cse.h"
#include "lib/pass/fold.h"
#include "lib/pass/fuse.h"
#include "lib/pass/lower.h"
#include "lib/pass/prune.h"

const struct dfg_pass dfg_passes[] = {
	{"lower", "Write out calls of functions, conditionals and loops among them.", true, dfg_lower},
	{"fuse", "Make spelled-out updates of variables the op that does the same.", true, dfg_fuse},
	{"fold", "Compute what is the same in every run and on every machine.", true, dfg_fold},
	{"cse", "Join nodes that compute the same.", true, dfg_cse},
	{"prune", "Remove what is not needed.", true, dfg_prune},
	{0},
};

void dfg_keep_renumber(struct dfg_keep *keep, const uint32_t *number)
{
	for (uint32_t i = 0; i < keep->n_feed; i++)
		keep->feed[i].node = number[keep->feed[i].node];
	for (uint32_t i = 0; i < keep->n_fetch; i++)
		keep->fetch[i].node = number[keep->fetch[i].node];
	for (uint32_t i = 0; i < keep->n_target; i++)
		keep->target[i] = number[keep->target[i]];
}
