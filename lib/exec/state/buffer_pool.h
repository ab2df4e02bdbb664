#pragma once

#include "lib/graph/tensor.h"

#include <pthread.h>

/*
 * Buffers of a session, used again instead of given back to the system: fresh pages cost more than most kernels. What
 * lies idle never exceeds what was once in use at a time (or a megabyte). A buffer may outlive the session: the last one
 * out ends it.
 */
struct buffers;

DFG_MUST_CHECK struct dfg_err *dfg_buffers_new(struct buffers **out_buffers);
void dfg_buffers_free(struct buffers *buffers); /* NULL is fine */

/* One reference; zeroed where elements are objects. Any thread. */
DFG_MUST_CHECK struct dfg_err *dfg_buffers_take(
	struct buffers *buffers, enum dfg_dtype dtype, size_t bytes, struct dfg_buffer **out_buffer);

/* Whether the buffer is of this kind: writable by whoever holds the only reference. */
bool dfg_buffers_own(const struct dfg_buffer *buffer);

/* Bytes in use now; and the most since dfg_buffers_mark, which returns what is in use. */
size_t dfg_buffers_mark(struct buffers *buffers);
size_t dfg_buffers_peak(const struct buffers *buffers);
size_t dfg_buffers_used(const struct buffers *buffers);

/* Bytes that lie idle: they are there for whoever asks next. */
size_t dfg_buffers_idle(const struct buffers *buffers);
