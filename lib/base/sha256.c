#include "lib/base/sha256.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <string.h>

enum { BLOCK = 64, ROUNDS = 64 };

static const uint32_t constant[ROUNDS] = {
	0x428a2f98,
	0x71374491,
	0xb5c0fbcf,
	0xe9b5dba5,
	0x3956c25b,
	0x59f111f1,
	0x923f82a4,
	0xab1c5ed5,
	0xd807aa98,
	0x12835b01,
	0x243185be,
	0x550c7dc3,
	0x72be5d74,
	0x80deb1fe,
	0x9bdc06a7,
	0xc19bf174,
	0xe49b69c1,
	0xefbe4786,
	0x0fc19dc6,
	0x240ca1cc,
	0x2de92c6f,
	0x4a7484aa,
	0x5cb0a9dc,
	0x76f988da,
	0x983e5152,
	0xa831c66d,
	0xb00327c8,
	0xbf597fc7,
	0xc6e00bf3,
	0xd5a79147,
	0x06ca6351,
	0x14292967,
	0x27b70a85,
	0x2e1b2138,
	0x4d2c6dfc,
	0x53380d13,
	0x650a7354,
	0x766a0abb,
	0x81c2c92e,
	0x92722c85,
	0xa2bfe8a1,
	0xa81a664b,
	0xc24b8b70,
	0xc76c51a3,
	0xd192e819,
	0xd6990624,
	0xf40e3585,
	0x106aa070,
	0x19a4c116,
	0x1e376c08,
	0x2748774c,
	0x34b0bcb5,
	0x391c0cb3,
	0x4ed8aa4a,
	0x5b9cca4f,
	0x682e6ff3,
	0x748f82ee,
	0x78a5636f,
	0x84c87814,
	0x8cc70208,
	0x90befffa,
	0xa4506ceb,
	0xbef9a3f7,
	0xc67178f2,
};

void dfg_sha256_init(struct dfg_sha256 *sha)
{
	*sha = (struct dfg_sha256){
		.state = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19}};
}

static uint32_t rotate_right(uint32_t x, int by)
{
	return x >> by | x << (32 - by);
}

/* The words of a block, each of the later ones made of four before it. */
static void schedule(uint32_t word[ROUNDS], const uint8_t *block)
{
	for (int i = 0; i < 16; i++)
		word[i] = (uint32_t)block[4 * i] << 24 | (uint32_t)block[4 * i + 1] << 16 | (uint32_t)block[4 * i + 2] << 8 |
				  block[4 * i + 3];
	for (int i = 16; i < ROUNDS; i++) {
		uint32_t far = word[i - 15], near = word[i - 2];
		word[i] = word[i - 16] + (rotate_right(far, 7) ^ rotate_right(far, 18) ^ far >> 3) + word[i - 7] +
				  (rotate_right(near, 17) ^ rotate_right(near, 19) ^ near >> 10);
	}
}

/* The eight words move down by one place in each round; instead, round i finds word k at place k - i. */
static void mix(uint32_t state[8], const uint8_t *block)
{
	uint32_t word[ROUNDS], s[8];
	schedule(word, block);
	memcpy(s, state, sizeof s);
#pragma GCC unroll 64
	for (unsigned i = 0; i < ROUNDS; i++) {
		uint32_t a = s[-i & 7], b = s[(1 - i) & 7], c = s[(2 - i) & 7];
		uint32_t e = s[(4 - i) & 7], f = s[(5 - i) & 7], g = s[(6 - i) & 7];
		uint32_t *d = &s[(3 - i) & 7], *h = &s[(7 - i) & 7];
		*h += (rotate_right(e, 6) ^ rotate_right(e, 11) ^ rotate_right(e, 25)) + ((e & f) ^ (~e & g)) + constant[i] +
			  word[i];
		*d += *h;
		*h += (rotate_right(a, 2) ^ rotate_right(a, 13) ^ rotate_right(a, 22)) + ((a & b) ^ (a & c) ^ (b & c));
	}
	for (int i = 0; i < 8; i++)
		state[i] += s[i];
}

#ifdef __x86_64__
#include <cpuid.h>
#include <immintrin.h>

/* Asked once: a virtual machine takes a microsecond or two to answer. */
static bool has_instructions(void)
{
	enum { NOT_ASKED, NO, YES };
	static atomic_int known;
	const unsigned sha = 1u << 29;
	unsigned a, b, c, d;
	if (known == NOT_ASKED)
		known = __get_cpuid_count(7, 0, &a, &b, &c, &d) && (b & sha) && __builtin_cpu_supports("sse4.1") ? YES : NO;
	return known == YES;
}

/* The instructions keep the state as (a, b, e, f) and (c, d, g, h), highest word first, and do two rounds each. */
__attribute__((target("sha,sse4.1"))) static void mix_fast(uint32_t state[8], const uint8_t *block, size_t blocks)
{
	const __m128i swap = _mm_set_epi64x(0x0c0d0e0f08090a0b, 0x0405060700010203);
	__m128i low = _mm_shuffle_epi32(_mm_loadu_si128((const __m128i *)state), 0xb1);
	__m128i high = _mm_shuffle_epi32(_mm_loadu_si128((const __m128i *)(state + 4)), 0x1b);
	__m128i abef = _mm_alignr_epi8(low, high, 8), cdgh = _mm_blend_epi16(high, low, 0xf0);
	for (; blocks; blocks--, block += BLOCK) {
		__m128i word[4], abef_before = abef, cdgh_before = cdgh;
		for (int i = 0; i < 4; i++)
			word[i] = _mm_shuffle_epi8(_mm_loadu_si128((const __m128i *)(block + 16 * i)), swap);
#pragma GCC unroll 16
		for (int i = 0; i < ROUNDS / 4; i++) {
			__m128i now = _mm_add_epi32(word[i & 3], _mm_loadu_si128((const __m128i *)(constant + 4 * i)));
			cdgh = _mm_sha256rnds2_epu32(cdgh, abef, now);
			abef = _mm_sha256rnds2_epu32(abef, cdgh, _mm_shuffle_epi32(now, 0x0e));
			__m128i last = word[(i + 3) & 3], seventh = _mm_alignr_epi8(last, word[(i + 2) & 3], 4);
			__m128i sum = _mm_add_epi32(_mm_sha256msg1_epu32(word[i & 3], word[(i + 1) & 3]), seventh);
			word[i & 3] = _mm_sha256msg2_epu32(sum, last);
		}
		abef = _mm_add_epi32(abef, abef_before);
		cdgh = _mm_add_epi32(cdgh, cdgh_before);
	}
	low = _mm_shuffle_epi32(abef, 0x1b);
	high = _mm_shuffle_epi32(cdgh, 0xb1);
	_mm_storeu_si128((__m128i *)state, _mm_blend_epi16(low, high, 0xf0));
	_mm_storeu_si128((__m128i *)(state + 4), _mm_alignr_epi8(high, low, 8));
}
#else
static bool has_instructions(void)
{
	return false;
}

static void mix_fast(uint32_t state[8], const uint8_t *block, size_t blocks)
{
	(void)state, (void)block, (void)blocks;
}
#endif

static void mix_all(struct dfg_sha256 *sha, const uint8_t *block, size_t blocks)
{
	if (!sha->portable && has_instructions())
		mix_fast(sha->state, block, blocks);
	else
		for (; blocks; blocks--, block += BLOCK)
			mix(sha->state, block);
}

void dfg_sha256_add(struct dfg_sha256 *sha, const void *bytes, size_t count)
{
	const uint8_t *at = bytes;
	size_t have = sha->length % BLOCK;
	sha->length += count;
	if (have) {
		size_t most = count < BLOCK - have ? count : BLOCK - have;
		memcpy(sha->rest + have, at, most);
		if (have + most < BLOCK)
			return;
		mix_all(sha, sha->rest, 1);
		at += most;
		count -= most;
	}
	if (count >= BLOCK)
		mix_all(sha, at, count / BLOCK);
	if (count % BLOCK)
		memcpy(sha->rest, at + count / BLOCK * BLOCK, count % BLOCK);
}

void dfg_sha256_end(struct dfg_sha256 *sha, uint8_t out_digest[DFG_SHA256])
{
	uint8_t tail[BLOCK + 8] = {0x80};
	uint64_t bits = sha->length * 8;
	size_t zeros = (BLOCK + 56 - sha->length % BLOCK - 1) % BLOCK + 1;
	for (int i = 0; i < 8; i++)
		tail[zeros + (size_t)i] = (uint8_t)(bits >> (56 - 8 * i));
	dfg_sha256_add(sha, tail, zeros + 8);
	for (int i = 0; i < DFG_SHA256; i++)
		out_digest[i] = (uint8_t)(sha->state[i / 4] >> (24 - 8 * (i % 4)));
}

struct dfg_sha256_words dfg_sha256_words(const uint8_t digest[DFG_SHA256])
{
	static const char digit[] = "0123456789abcdef";
	struct dfg_sha256_words words = {""};
	for (int i = 0; i < DFG_SHA256; i++) {
		words.s[2 * i] = digit[digest[i] >> 4];
		words.s[2 * i + 1] = digit[digest[i] & 15];
	}
	return words;
}
