#include "lib/base/vector.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

int dfg_vectors_known;

static enum dfg_vectors widest(void)
{
#if defined(__x86_64__)
	if (!__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("fma") || !__builtin_cpu_supports("bmi2"))
		return DFG_VECTORS_OF_ALL;
	bool all = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
			   __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
	return all ? DFG_VECTORS_AVX512 : DFG_VECTORS_AVX2;
#else
	return DFG_VECTORS_OF_ALL;
#endif
}

/* DFG_CPU may name a kind of products without vectors of its own: those are for every processor. */
int dfg_vectors_choose(void)
{
	const char *option = getenv("DFG_CPU");
	enum dfg_vectors most = widest(), limit = most;
	if (option && *option && strcmp(option, "avx512"))
		limit = strcmp(option, "avx2") ? DFG_VECTORS_OF_ALL : DFG_VECTORS_AVX2;
	int chosen = (int)(limit < most ? limit : most);
	__atomic_store_n(&dfg_vectors_known, chosen, __ATOMIC_RELAXED);
	return chosen;
}

const char *dfg_vectors_name(void)
{
	static const char *const names[] = {
		[DFG_VECTORS_OF_ALL] = "generic", [DFG_VECTORS_AVX2] = "AVX2", [DFG_VECTORS_AVX512] = "AVX-512"};
	return names[dfg_vectors()];
}
