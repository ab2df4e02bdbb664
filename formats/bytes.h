#pragma once

#include <stddef.h>
#include <stdint.h>
#include <string.h>

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
static inline uint64_t dfg_be64(const uint8_t *b)
{
	return (uint64_t)dfg_be32(b) << 32 | dfg_be32(b + 4);
}

/* Copies numbers of `width` bytes, reversing the bytes of each. */
static inline void dfg_copy_swapped(void *to, const void *from, size_t bytes, size_t width)
{
#define SWAP(type, swap)                                      \
	for (size_t i = 0; i < bytes; i += sizeof(type)) {        \
		type value;                                           \
		memcpy(&value, (const char *)from + i, sizeof value); \
		value = swap(value);                                  \
		memcpy((char *)to + i, &value, sizeof value);         \
	}
	if (width == 8)
		SWAP(uint64_t, __builtin_bswap64)
	else if (width == 4)
		SWAP(uint32_t, __builtin_bswap32)
	else if (width == 2)
		SWAP(uint16_t, __builtin_bswap16)
	else if (bytes)
		memcpy(to, from, bytes);
#undef SWAP
}

static inline uint8_t *dfg_put_le(uint8_t *b, uint64_t value, int bytes)
{
	for (int i = 0; i < bytes; i++, value >>= 8)
		*b++ = (uint8_t)value;
	return b;
}
