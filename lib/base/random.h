#pragma once

#include <stdint.h>

/* The next number of splitmix64; every state begins a sequence, the same on each machine. Not for secrets. */
static inline uint64_t dfg_random_next(uint64_t *state)
{
	uint64_t z = *state += UINT64_C(0x9e3779b97f4a7c15);
	z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
	z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
	return z ^ z >> 31;
}
