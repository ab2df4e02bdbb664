#pragma once

#include "lib/graph/tensor.h"

#include <pthread.h>

/*
 * The buffer pool of a session, which reuses buffers instead of returning them to the system: fresh pages cost more
 * than most kernels. The bytes that are idle never exceed the most that were in use at once (or a megabyte). A buffer
 * may outlive the session: the last release frees the pool.
 */
struct buffer_pool;

DFG_MUST_CHECK struct dfg_err *dfg_buffer_pool_new(struct buffer_pool **out_buffers);
void dfg_buffer_pool_free(struct buffer_pool *buffers); /* NULL is fine */

/* Returns one reference; memory is zeroed if elements are objects. Any thread. */
DFG_MUST_CHECK struct dfg_err *dfg_buffer_pool_take(
	struct buffer_pool *buffers, enum dfg_dtype dtype, size_t bytes, struct dfg_buffer **out_buffer);

/* A tensor with such a buffer of its own. */
DFG_MUST_CHECK struct dfg_err *dfg_buffer_pool_tensor(
	struct buffer_pool *buffers, enum dfg_dtype dtype, const struct dfg_shape *shape, struct dfg_tensor *out_tensor);

/* Whether the buffer is from a pool: the holder of its only reference may write it. */
bool dfg_buffer_pool_own(const struct dfg_buffer *buffer);

/* used: bytes in use now. peak: the most since dfg_buffer_pool_mark, which returns the bytes in use. */
size_t dfg_buffer_pool_mark(struct buffer_pool *buffers);
size_t dfg_buffer_pool_peak(const struct buffer_pool *buffers);
size_t dfg_buffer_pool_used(const struct buffer_pool *buffers);

/* Bytes that are idle, available to the next dfg_buffer_pool_take. */
size_t dfg_buffer_pool_idle(const struct buffer_pool *buffers);
