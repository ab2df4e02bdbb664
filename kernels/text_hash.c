#include "kernels/text_hash.h"

#include <string.h>

static uint64_t word_at(const uint8_t *s)
{
	uint64_t word;
	memcpy(&word, s, sizeof word);
	return word;
}

static uint64_t half_at(const uint8_t *s)
{
	uint32_t word;
	memcpy(&word, s, sizeof word);
	return word;
}

static uint64_t rotate_right(uint64_t x, int by)
{
	return x >> by | x << (64 - by);
}

static uint64_t fold_high(uint64_t x)
{
	return x ^ x >> 47;
}

#define K0 UINT64_C(0xc3a5c85c97cb3127)
#define K1 UINT64_C(0xb492b66fbe98f273)
#define K2 UINT64_C(0x9ae16a3b2f90404f)

static uint64_t mix_pair(uint64_t u, uint64_t v, uint64_t by)
{
	uint64_t a = fold_high((u ^ v) * by);
	return fold_high((v ^ a) * by) * by;
}

static uint64_t farm_to_16(const uint8_t *s, size_t n)
{
	uint64_t by = K2 + n * 2;
	if (n >= 8) {
		uint64_t a = word_at(s) + K2, b = word_at(s + n - 8);
		return mix_pair(rotate_right(b, 37) * by + a, (rotate_right(a, 25) + b) * by, by);
	}
	if (n >= 4)
		return mix_pair(n + (half_at(s) << 3), half_at(s + n - 4), by);
	if (!n)
		return K2;
	uint64_t y = s[0] + ((uint64_t)s[n >> 1] << 8), z = n + ((uint64_t)s[n - 1] << 2);
	return fold_high(y * K2 ^ z * K0) * K2;
}

static uint64_t farm_to_32(const uint8_t *s, size_t n)
{
	uint64_t by = K2 + n * 2, a = word_at(s) * K1, b = word_at(s + 8), c = word_at(s + n - 8) * by;
	uint64_t d = word_at(s + n - 16) * K2;
	return mix_pair(rotate_right(a + b, 43) + rotate_right(c, 30) + d, a + rotate_right(b + K2, 18) + c, by);
}

static uint64_t farm_to_64(const uint8_t *s, size_t n)
{
	uint64_t by = K2 + n * 2, a = word_at(s) * K2, b = word_at(s + 8), c = word_at(s + n - 8) * by;
	uint64_t y = rotate_right(a + b, 43) + rotate_right(c, 30) + word_at(s + n - 16) * K2;
	uint64_t z = mix_pair(y, a + rotate_right(b + K2, 18) + c, by);
	uint64_t e = word_at(s + 16) * by, f = word_at(s + 24);
	uint64_t g = (y + word_at(s + n - 32)) * by, h = (z + word_at(s + n - 24)) * by;
	return mix_pair(rotate_right(e + f, 43) + rotate_right(g, 30) + h, e + rotate_right(f + a, 18) + g, by);
}

struct farm {
	uint64_t x, y, z, v[2], w[2];
};

static void weak(const uint8_t *s, uint64_t a, uint64_t b, uint64_t out[2])
{
	a += word_at(s);
	b = rotate_right(b + a + word_at(s + 24), 21);
	uint64_t c = a;
	a += word_at(s + 8) + word_at(s + 16);
	out[0] = a + word_at(s + 24);
	out[1] = b + rotate_right(a, 44) + c;
}

/* One block of 64 bytes; the last block has other factors. */
static void farm_block(struct farm *f, const uint8_t *s, uint64_t by, uint64_t nine)
{
	f->x = rotate_right(f->x + f->y + f->v[0] + word_at(s + 8), 37) * by;
	f->y = rotate_right(f->y + f->v[1] + word_at(s + 48), 42) * by;
	f->x ^= f->w[1] * nine;
	f->y += f->v[0] * nine + word_at(s + 40);
	f->z = rotate_right(f->z + f->w[0], 33) * by;
	weak(s, f->v[1] * by, f->x + f->w[0], f->v);
	weak(s + 32, f->z + f->w[1], f->y + word_at(s + 16), f->w);
	uint64_t x = f->x;
	f->x = f->z;
	f->z = x;
}

uint64_t dfg_farm_hash(const void *bytes, size_t n)
{
	const uint8_t *s = bytes;
	if (n <= 64)
		return n <= 16 ? farm_to_16(s, n) : n <= 32 ? farm_to_32(s, n) : farm_to_64(s, n);
	const uint64_t seed = 81;
	struct farm f = {.x = seed * K2 + word_at(s), .y = seed * K1 + 113};
	f.z = fold_high(f.y * K2 + 113) * K2;
	const uint8_t *end = s + (n - 1) / 64 * 64;
	for (; s != end; s += 64)
		farm_block(&f, s, K1, 1);
	uint64_t by = K1 + ((f.z & 0xff) << 1);
	f.w[0] += (n - 1) & 63;
	f.v[0] += f.w[0];
	f.w[0] += f.v[0];
	farm_block(&f, (const uint8_t *)bytes + n - 64, by, 9);
	return mix_pair(mix_pair(f.v[0], f.w[0], by) + fold_high(f.y) * K0 + f.z, mix_pair(f.v[1], f.w[1], by) + f.x, by);
}

uint64_t dfg_murmur_hash(const void *bytes, size_t n)
{
	const uint64_t by = UINT64_C(0xc6a4a7935bd1e995);
	const uint8_t *s = bytes;
	uint64_t hash = UINT64_C(0xdecafcaffe) ^ n * by;
	for (; n >= 8; s += 8, n -= 8) {
		uint64_t word = word_at(s) * by;
		hash = (hash ^ (word ^ word >> 47) * by) * by;
	}
	if (n) {
		for (size_t i = 0; i < n; i++)
			hash ^= (uint64_t)s[i] << 8 * i;
		hash *= by;
	}
	hash = fold_high(hash) * by;
	return fold_high(hash);
}

static void sip_round(uint64_t v[4])
{
	v[0] += v[1];
	v[2] += v[3];
	v[1] = rotate_right(v[1], 64 - 13) ^ v[0];
	v[3] = rotate_right(v[3], 64 - 16) ^ v[2];
	v[0] = rotate_right(v[0], 32);
	v[2] += v[1];
	v[0] += v[3];
	v[1] = rotate_right(v[1], 64 - 17) ^ v[2];
	v[3] = rotate_right(v[3], 64 - 21) ^ v[0];
	v[2] = rotate_right(v[2], 32);
}

static void sip_word(uint64_t v[4], uint64_t word)
{
	v[3] ^= word;
	sip_round(v);
	sip_round(v);
	v[0] ^= word;
}

uint64_t dfg_sip_hash(uint64_t first, uint64_t second, const void *bytes, size_t n)
{
	uint64_t v[4] = {first ^ UINT64_C(0x736f6d6570736575), second ^ UINT64_C(0x646f72616e646f6d),
		first ^ UINT64_C(0x6c7967656e657261), second ^ UINT64_C(0x7465646279746573)};
	const uint8_t *s = bytes;
	uint64_t last = (uint64_t)n << 56;
	size_t left = n;
	for (; left >= 8; s += 8, left -= 8)
		sip_word(v, word_at(s));
	for (size_t i = 0; i < left; i++)
		last |= (uint64_t)s[i] << 8 * i;
	sip_word(v, last);
	v[2] ^= 0xff;
	for (int i = 0; i < 4; i++)
		sip_round(v);
	return v[0] ^ v[1] ^ v[2] ^ v[3];
}
