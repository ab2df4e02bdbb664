#pragma once

#include <stddef.h>
#include <stdint.h>

/* CRC-32C (Castagnoli, RFC 3720 B.4) of the bytes that follow those whose CRC is `crc`; begin with 0. */
uint32_t dfg_crc32c(uint32_t crc, const void *bytes, size_t count);

/* The same without the CPU's instruction, for machines that lack it, and for tests. */
uint32_t dfg_crc32c_plain(uint32_t crc, const void *bytes, size_t count);

/* The form in which LevelDB's and TensorFlow's files store a sum, so that the sum of bytes with sums is not degenerate. */
static inline uint32_t dfg_crc32c_mask(uint32_t sum)
{
	return (sum >> 15 | sum << 17) + 0xa282ead8u;
}

static inline uint32_t dfg_crc32c_unmask(uint32_t masked)
{
	uint32_t sum = masked - 0xa282ead8u;
	return sum >> 17 | sum << 15;
}
