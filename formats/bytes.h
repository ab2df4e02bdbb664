#pragma once

#include <stdint.h>

/* Little-endian and big-endian numbers at any alignment. */
static inline uint16_t dfg_le16(const uint8_t *b)
{
	return (uint16_t)(b[0] | b[1] << 8);
}
static inline uint32_t dfg_le32(const uint8_t *b)
{
	return dfg_le16(b) | (uint32_t)dfg_le16(b + 2) << 16;
}
static inline uint64_t dfg_le64(const uint8_t *b)
{
	return dfg_le32(b) | (uint64_t)dfg_le32(b + 4) << 32;
}
static inline uint32_t dfg_be32(const uint8_t *b)
{
	return (uint32_t)b[0] << 24 | (uint32_t)b[1] << 16 | (uint32_t)b[2] << 8 | b[3];
}

static inline uint8_t *dfg_put_le(uint8_t *b, uint64_t value, int bytes)
{
	for (int i = 0; i < bytes; i++, value >>= 8)
		*b++ = (uint8_t)value;
	return b;
}
