#pragma once

#include "lib/graph/tensor.h"

#include <stdbool.h>

/*
 * What a compressed file may become: 64 MiB and 64 times itself. Deflate reaches 1000:1 only on what nobody needs to
 * keep, so more than this is an attack, or an array of zeros that is better made than read.
 */
static inline size_t dfg_inflate_limit(size_t size)
{
	return ((size_t)64 << 20) + (size < SIZE_MAX / 128 ? 64 * size : SIZE_MAX / 2);
}

/* A raw deflate stream of exactly `bytes` bytes, as a buffer with one reference. */
DFG_MUST_CHECK struct dfg_err *dfg_inflate(
	const uint8_t *from, size_t size, size_t bytes, struct dfg_buffer **out_buffer);

bool dfg_is_gzip(const uint8_t *bytes, size_t size);

/* All members of a gzip file, one behind the other; out_buffer->room is how many bytes it held. */
DFG_MUST_CHECK struct dfg_err *dfg_gunzip(const uint8_t *from, size_t size, struct dfg_buffer **out_buffer);
