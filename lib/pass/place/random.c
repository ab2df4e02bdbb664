/* random. Places groups without requests at random, by a number drawn from the seed: for tests of partitioning. */
#include "lib/pass/place/place_private.h"

/* A hash in which each bit of both inputs affects each bit of the result (splitmix64). */
static uint64_t draw(uint64_t seed, uint64_t n)
{
	uint64_t x = seed * UINT64_C(0x9e3779b97f4a7c15) + n;
	x = (x ^ x >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
	x = (x ^ x >> 27) * UINT64_C(0x94d049bb133111eb);
	return x ^ x >> 31;
}

struct dfg_err *dfg_place_random(struct dfg_placing *p)
{
	for (uint32_t n = 0; n < p->graph->count; n++) {
		uint32_t root = dfg_place_root(p, n);
		if (p->choice[root] || p->kind[n] & DFG_KIND_PRIMITIVE)
			continue;
		uint32_t device = (uint32_t)(draw(p->options->seed, root) % p->options->devices);
		DFG_TRY(dfg_choice_one(&p->choices, device, &p->choice[root]));
		p->decider[root] = n;
	}
	return NULL;
}
