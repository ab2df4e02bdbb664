#pragma once

#include <stddef.h>
#include <stdint.h>

/* CRC-32C (Castagnoli, RFC 3720 B.4) of the bytes that follow those whose CRC is `crc`; begin with 0. */
uint32_t dfg_crc32c(uint32_t crc, const void *bytes, size_t count);

/* The same without the CPU's instruction, for machines that lack it, and for tests. */
uint32_t dfg_crc32c_plain(uint32_t crc, const void *bytes, size_t count);
