#include "lib/base/crc32c.h"

#include <pthread.h>
#include <string.h>

/*
 * Both implementations work on the register, which is the bitwise complement of the CRC. A register after n more zero
 * bytes is a linear function of it: three blocks of BLOCK bytes are processed in parallel, and their registers are
 * combined with the table of that function for BLOCK bytes.
 */
enum { BLOCK = 1024 };
static const uint32_t polynomial = 0x82f63b78; /* bits reversed */

static uint32_t step[256];            /* one byte */
static uint32_t block_effect[4][256]; /* effect of BLOCK zero bytes, by the bytes of the register */
static pthread_once_t once = PTHREAD_ONCE_INIT;

static uint32_t plain(uint32_t r, const uint8_t *at, size_t count)
{
	while (count--)
		r = step[(r ^ *at++) & 255] ^ r >> 8;
	return r;
}

static uint32_t after_block(uint32_t r)
{
	return block_effect[0][r & 255] ^ block_effect[1][r >> 8 & 255] ^ block_effect[2][r >> 16 & 255] ^
		   block_effect[3][r >> 24];
}

static void make_tables(void)
{
	static const uint8_t zeros[BLOCK];
	uint32_t bit[32];
	for (uint32_t i = 0; i < 256; i++) {
		uint32_t r = i;
		for (int k = 0; k < 8; k++)
			r = r & 1 ? polynomial ^ r >> 1 : r >> 1;
		step[i] = r;
	}
	for (int k = 0; k < 32; k++)
		bit[k] = plain(1u << k, zeros, BLOCK);
	for (uint32_t i = 0; i < 4 * 256; i++)
		for (int k = 0; k < 8; k++)
			if (i >> k & 1)
				block_effect[i / 256][i % 256] ^= bit[i / 256 * 8 + (uint32_t)k];
}

uint32_t dfg_crc32c_plain(uint32_t crc, const void *bytes, size_t count)
{
	pthread_once(&once, make_tables);
	return ~plain(~crc, bytes, count);
}

#ifdef __x86_64__

static uint64_t word(const uint8_t *at)
{
	uint64_t value;
	memcpy(&value, at, sizeof value);
	return value;
}

__attribute__((target("sse4.2"))) static uint32_t three_blocks(uint32_t r, const uint8_t *at)
{
	uint64_t a = r, b = 0, c = 0;
	for (int i = 0; i < BLOCK; i += 8) {
		a = __builtin_ia32_crc32di(a, word(at + i));
		b = __builtin_ia32_crc32di(b, word(at + BLOCK + i));
		c = __builtin_ia32_crc32di(c, word(at + 2 * BLOCK + i));
	}
	return after_block(after_block((uint32_t)a) ^ (uint32_t)b) ^ (uint32_t)c;
}

__attribute__((target("sse4.2"))) static uint32_t by_instruction(uint32_t r, const uint8_t *at, size_t count)
{
	for (; count >= 3 * BLOCK; count -= 3 * BLOCK, at += 3 * BLOCK)
		r = three_blocks(r, at);
	uint64_t wide = r;
	for (; count >= 8; count -= 8, at += 8)
		wide = __builtin_ia32_crc32di(wide, word(at));
	r = (uint32_t)wide;
	while (count--)
		r = __builtin_ia32_crc32qi(r, *at++);
	return r;
}

uint32_t dfg_crc32c(uint32_t crc, const void *bytes, size_t count)
{
	if (!__builtin_cpu_supports("sse4.2"))
		return dfg_crc32c_plain(crc, bytes, count);
	if (count >= 3 * BLOCK)
		pthread_once(&once, make_tables);
	return ~by_instruction(~crc, bytes, count);
}

#else

uint32_t dfg_crc32c(uint32_t crc, const void *bytes, size_t count)
{
	return dfg_crc32c_plain(crc, bytes, count);
}

#endif
