#pragma once

#include <stddef.h>
#include <stdint.h>

/* CRC-32C (Castagnoli) of bytes behind those that crc is of; begin with 0. As iSCSI and SCTP have it. */
uint32_t dfg_crc32c(uint32_t crc, const void *bytes, size_t count);

/* The same without the CPU's instruction, for machines that have none, and for tests. */
uint32_t dfg_crc32c_plain(uint32_t crc, const void *bytes, size_t count);
