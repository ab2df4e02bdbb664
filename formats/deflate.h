#pragma once

#include "lib/graph/tensor.h"

#include <stdbool.h>

/*
 * The limit on the unpacked size of a file: 64 MiB and 64 times its size. Deflate reaches 1000:1 only on data such as
 * zeros, so a larger size is most likely an attack.
 */
static inline size_t dfg_inflate_limit(size_t size)
{
	return ((size_t)64 << 20) + (size < SIZE_MAX / 128 ? 64 * size : SIZE_MAX / 2);
}

/* Unpacks a raw deflate stream of exactly `bytes` bytes to a buffer with one reference. */
DFG_MUST_CHECK struct dfg_err *dfg_inflate(
	const uint8_t *from, size_t size, size_t bytes, struct dfg_buffer **out_buffer);

bool dfg_is_gzip(const uint8_t *bytes, size_t size);

/* Unpacks all consecutive members of a gzip file; out_buffer->capacity is the number of bytes. */
DFG_MUST_CHECK struct dfg_err *dfg_gunzip(const uint8_t *from, size_t size, struct dfg_buffer **out_buffer);
