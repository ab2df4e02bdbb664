#include "lib/pass/rewrite/keep.h"

void dfg_keep_renumber(struct dfg_keep *keep, const uint32_t *number)
{
	for (uint32_t i = 0; i < keep->n_feed; i++)
		keep->feed[i].node = number[keep->feed[i].node];
	for (uint32_t i = 0; i < keep->n_fetch; i++)
		keep->fetch[i].node = number[keep->fetch[i].node];
	for (uint32_t i = 0; i < keep->n_target; i++)
		keep->target[i] = number[keep->target[i]];
}
