#pragma once

#include <stdint.h>

/*
 * Philox4x32-10 (Salmon et al. 2011): four random words as a pure function of a counter and a key. Blocks of elements
 * use consecutive counters, so any part of a stream can be computed alone.
 */
struct dfg_philox {
	uint32_t counter[4], key[2];
};

static inline void dfg_philox_words(const struct dfg_philox *philox, uint32_t out[4])
{
	uint32_t c0 = philox->counter[0], c1 = philox->counter[1], c2 = philox->counter[2], c3 = philox->counter[3];
	uint32_t k0 = philox->key[0], k1 = philox->key[1];
	for (int round = 0; round < 10; round++) {
		uint64_t p = UINT64_C(0xd2511f53) * c0, q = UINT64_C(0xcd9e8d57) * c2;
		c0 = (uint32_t)(q >> 32) ^ c1 ^ k0;
		c2 = (uint32_t)(p >> 32) ^ c3 ^ k1;
		c1 = (uint32_t)q;
		c3 = (uint32_t)p;
		k0 += 0x9e3779b9u;
		k1 += 0xbb67ae85u;
	}
	out[0] = c0;
	out[1] = c1;
	out[2] = c2;
	out[3] = c3;
}

/* Adds count to the counter of 128 bits. */
static inline void dfg_philox_skip(struct dfg_philox *philox, uint64_t count)
{
	for (int i = 0; i < 4; i++, count >>= 32) {
		count += philox->counter[i];
		philox->counter[i] = (uint32_t)count;
	}
}
