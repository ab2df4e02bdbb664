#include "lib/base/hash.h"

#include <sys/auxv.h>
#include <sys/random.h>

struct dfg_hash_key dfg_hash_key;

/* Before main. The kernel gives every process 16 random bytes; they serve where its pool is not ready yet. */
__attribute__((constructor)) static void draw_key(void)
{
	if (getrandom(&dfg_hash_key, sizeof dfg_hash_key, GRND_NONBLOCK) == sizeof dfg_hash_key)
		return;
	const void *random = (const void *)getauxval(AT_RANDOM);
	if (random)
		memcpy(&dfg_hash_key, random, sizeof dfg_hash_key);
	dfg_hash_key.seed = dfg_hash_fold(dfg_hash_key.seed ^ UINT64_C(0x9e3779b97f4a7c15), dfg_hash_key.secret | 1);
}
