#pragma once

#include <stddef.h>
#include <stdint.h>
#include <string.h>

/*
 * Hashing for tables whose keys come from files of strangers. A product of two 64-bit words, folded, with a key that each
 * process draws at its start (as wyhash and foldhash do): without the key nobody can choose names that collide. Hashes
 * therefore differ from run to run, and no result may depend on them; a hash that must be the same everywhere takes a
 * fixed key.
 */
struct dfg_hash_key {
	uint64_t seed, secret;
};

/* The key of this process. */
extern struct dfg_hash_key dfg_hash_key;

static inline uint64_t dfg_hash_fold(uint64_t a, uint64_t b)
{
	__extension__ typedef unsigned __int128 wide;
	wide product = (wide)a * b;
	return (uint64_t)product ^ (uint64_t)(product >> 64);
}

/* Extends a hash by one word; begin with the key's seed. */
static inline uint64_t dfg_hash_word(struct dfg_hash_key key, uint64_t hash, uint64_t word)
{
	return dfg_hash_fold(hash ^ UINT64_C(0x9e3779b97f4a7c15), word ^ key.secret);
}

static inline uint64_t dfg_hash_read(const char *s)
{
	uint64_t word;
	memcpy(&word, s, sizeof word);
	return word;
}

/* The ends of n <= 16 bytes as two words, which overlap where there are fewer. */
static inline void dfg_hash_ends(const char *s, size_t n, uint64_t *out_first, uint64_t *out_last)
{
	*out_first = *out_last = 0;
	if (n >= 8) {
		*out_first = dfg_hash_read(s);
		*out_last = dfg_hash_read(s + n - 8);
	} else if (n >= 4) {
		uint32_t first, last;
		memcpy(&first, s, sizeof first);
		memcpy(&last, s + n - 4, sizeof last);
		*out_first = first;
		*out_last = last;
	} else if (n) {
		*out_first = (uint64_t)(unsigned char)s[0] << 8 | (unsigned char)s[n / 2];
		*out_last = (unsigned char)s[n - 1];
	}
}

static inline uint64_t dfg_hash_bytes(struct dfg_hash_key key, const void *bytes, size_t length)
{
	const char *s = bytes;
	uint64_t hash = key.seed, first, last;
	size_t left = length;
	for (; left > 16; s += 16, left -= 16)
		hash = dfg_hash_fold(dfg_hash_read(s) ^ key.secret, dfg_hash_read(s + 8) ^ hash);
	dfg_hash_ends(s, left, &first, &last);
	hash = dfg_hash_fold(first ^ key.secret, last ^ hash);
	return dfg_hash_fold(hash ^ key.secret, (key.seed ^ UINT64_C(0x9e3779b97f4a7c15)) + length);
}
