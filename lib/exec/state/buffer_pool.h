#pragma once

#include "lib/graph/tensor.h"

#include <pthread.h>

/*
 * Buffers of a session, used again instead of given back to the system: fresh pages cost more than most kernels. What
 * lies idle never exceeds what was once in use at a time (or a megabyte). A buffer may outlive the session: the last one
 * out ends it.
 */
struct buffer_pool;

DFG_MUST_CHECK struct dfg_err *dfg_buffer_pool_new(struct buffer_pool **out_buffers);
void dfg_buffer_pool_free(struct buffer_pool *buffers); /* NULL is fine */

/* One reference; zeroed where elements are objects. Any thread. */
DFG_MUST_CHECK struct dfg_err *dfg_buffer_pool_take(
	struct buffer_pool *buffers, enum dfg_dtype dtype, size_t bytes, struct dfg_buffer **out_buffer);

/* Whether the buffer is of this kind: writable by whoever holds the only reference. */
bool dfg_buffer_pool_own(const struct dfg_buffer *buffer);

/* Bytes in use now; and the most since dfg_buffer_pool_mark, which returns what is in use. */
size_t dfg_buffer_pool_mark(struct buffer_pool *buffers);
size_t dfg_buffer_pool_peak(const struct buffer_pool *buffers);
size_t dfg_buffer_pool_used(const struct buffer_pool *buffers);

/* Bytes that lie idle: they are there for whoever asks next. */
size_t dfg_buffer_pool_idle(const struct buffer_pool *buffers);
