#include "lib/exec/state/buffer_pool.h"

#include <string.h>

/* Sizes are rounded up to a class: four classes for each power of two, from 64 bytes. */
enum { LEAST_SHIFT = 6, CLASSES = 4 * 44, IDLE_LEAST = 1 << 20 };

struct pooled {
	struct dfg_buffer base; /* must be the first member */
	struct pooled *next;
	int class;
};

/* Data is in the same block, at the first aligned address after the header. */
enum { HEAD = (sizeof(struct pooled) + DFG_ALIGN - 1) / DFG_ALIGN * DFG_ALIGN };

struct buffer_pool {
	pthread_mutex_t lock;
	struct pooled *idle[CLASSES];
	size_t most_used;
	atomic_size_t idle_bytes, used_bytes, peak; /* written under the lock */
	size_t out;                                 /* number of buffers in use */
	bool closed;
};

static int class_of(size_t bytes, size_t *out_capacity)
{
	if (bytes <= (size_t)1 << LEAST_SHIFT) {
		*out_capacity = (size_t)1 << LEAST_SHIFT;
		return 0;
	}
	int shift = 63 - __builtin_clzll((unsigned long long)bytes - 1);
	size_t step = (size_t)1 << (shift - 2), part = (bytes - 1 - ((size_t)1 << shift)) / step;
	*out_capacity = ((size_t)1 << shift) + (part + 1) * step;
	return (shift - LEAST_SHIFT) * 4 + (int)part + 1;
}

struct dfg_err *dfg_buffer_pool_new(struct buffer_pool **out_buffers)
{
	struct buffer_pool *buffers = dfg_zeros(1, sizeof *buffers);
	if (!buffers)
		return dfg_no_memory("the buffer pool");
	if (pthread_mutex_init(&buffers->lock, NULL)) {
		dfg_free(buffers);
		return dfg_no_memory("the buffer pool");
	}
	*out_buffers = buffers;
	return NULL;
}

static void destroy_pool(struct buffer_pool *buffers)
{
	pthread_mutex_destroy(&buffers->lock);
	dfg_free(buffers);
}

static void set_idle(struct buffer_pool *buffers, size_t bytes)
{
	atomic_store_explicit(&buffers->idle_bytes, bytes, memory_order_relaxed);
}

/* With the lock held. */
static void drop_idle(struct buffer_pool *buffers)
{
	for (int class = 0; class < CLASSES; class ++)
		while (buffers->idle[class]) {
			struct pooled *kept = buffers->idle[class];
			buffers->idle[class] = kept->next;
			dfg_free(kept);
		}
	set_idle(buffers, 0);
}

void dfg_buffer_pool_free(struct buffer_pool *buffers)
{
	if (!buffers)
		return;
	pthread_mutex_lock(&buffers->lock);
	drop_idle(buffers);
	buffers->closed = true;
	bool last = !buffers->out;
	pthread_mutex_unlock(&buffers->lock);
	if (last)
		destroy_pool(buffers);
}

static void release(struct dfg_buffer *buffer)
{
	struct pooled *kept = (struct pooled *)buffer;
	struct buffer_pool *buffers = buffer->owner;
	size_t capacity;
	class_of(buffer->capacity, &capacity);
	pthread_mutex_lock(&buffers->lock);
	size_t used = atomic_load_explicit(&buffers->used_bytes, memory_order_relaxed) - buffer->capacity;
	atomic_store_explicit(&buffers->used_bytes, used, memory_order_relaxed);
	buffers->out--;
	size_t most = buffers->most_used > IDLE_LEAST ? buffers->most_used : IDLE_LEAST;
	size_t idle = dfg_buffer_pool_idle(buffers) + capacity;
	bool keep = !buffers->closed && idle <= most;
	bool last = buffers->closed && !buffers->out;
	if (keep) {
		set_idle(buffers, idle);
		kept->next = buffers->idle[kept->class];
		buffers->idle[kept->class] = kept;
	}
	pthread_mutex_unlock(&buffers->lock);
	if (!keep)
		dfg_free(kept);
	if (last)
		destroy_pool(buffers);
}

static struct pooled *take_idle(struct buffer_pool *buffers, int class, size_t capacity, size_t bytes)
{
	pthread_mutex_lock(&buffers->lock);
	struct pooled *kept = buffers->idle[class];
	if (kept) {
		buffers->idle[class] = kept->next;
		set_idle(buffers, dfg_buffer_pool_idle(buffers) - capacity);
	}
	buffers->out++;
	size_t used = atomic_load_explicit(&buffers->used_bytes, memory_order_relaxed) + bytes;
	atomic_store_explicit(&buffers->used_bytes, used, memory_order_relaxed);
	if (used > atomic_load_explicit(&buffers->peak, memory_order_relaxed))
		atomic_store_explicit(&buffers->peak, used, memory_order_relaxed);
	if (used > buffers->most_used)
		buffers->most_used = used;
	pthread_mutex_unlock(&buffers->lock);
	return kept;
}

/* If the system has no more memory, frees the idle buffers and tries again. */
static struct pooled *take_new(struct buffer_pool *buffers, size_t capacity, size_t bytes)
{
	struct pooled *kept = dfg_mem->take(dfg_mem, HEAD + capacity, DFG_ALIGN);
	if (!kept) {
		pthread_mutex_lock(&buffers->lock);
		drop_idle(buffers);
		pthread_mutex_unlock(&buffers->lock);
		kept = dfg_mem->take(dfg_mem, HEAD + capacity, DFG_ALIGN);
	}
	if (kept)
		return kept;
	pthread_mutex_lock(&buffers->lock);
	buffers->out--;
	buffers->used_bytes -= bytes;
	pthread_mutex_unlock(&buffers->lock);
	return NULL;
}

struct dfg_err *dfg_buffer_pool_take(
	struct buffer_pool *buffers, enum dfg_dtype dtype, size_t bytes, struct dfg_buffer **out_buffer)
{
	size_t capacity = 0;
	int class = bytes <= SIZE_MAX / 4 ? class_of(bytes, &capacity) : CLASSES;
	struct pooled *kept = class < CLASSES ? take_idle(buffers, class, capacity, bytes) : NULL;
	if (!kept && class < CLASSES)
		kept = take_new(buffers, capacity, bytes);
	if (!kept)
		return DFG_ERR(DFG_MEMORY, "no memory for a tensor of %zu bytes", bytes);
	kept->base = (struct dfg_buffer){
		.holds = dtype,
		.capacity = bytes,
		.data = (char *)kept + HEAD,
		.release = release,
		.owner = buffers,
	};
	atomic_init(&kept->base.refs, 1);
	kept->class = class;
	if (dfg_dtype_is_object(dtype))
		memset(kept->base.data, 0, bytes);
	*out_buffer = &kept->base;
	return NULL;
}

struct dfg_err *dfg_buffer_pool_tensor(
	struct buffer_pool *buffers, enum dfg_dtype dtype, const struct dfg_shape *shape, struct dfg_tensor *out_tensor)
{
	struct dfg_buffer *buffer;
	size_t bytes;
	DFG_TRY(dfg_shape_bytes(shape, dtype, &bytes));
	DFG_TRY(dfg_buffer_pool_take(buffers, dtype, bytes, &buffer));
	*out_tensor = (struct dfg_tensor){
		.dtype = dtype, .shape = *shape, .data = buffer->data, .capacity = buffer->capacity, .buffer = buffer};
	return NULL;
}

bool dfg_buffer_pool_own(const struct dfg_buffer *buffer)
{
	return buffer->release == release;
}

size_t dfg_buffer_pool_mark(struct buffer_pool *buffers)
{
	size_t used = dfg_buffer_pool_used(buffers);
	atomic_store_explicit(&buffers->peak, used, memory_order_relaxed);
	return used;
}

size_t dfg_buffer_pool_peak(const struct buffer_pool *buffers)
{
	return atomic_load_explicit(&buffers->peak, memory_order_relaxed);
}

size_t dfg_buffer_pool_used(const struct buffer_pool *buffers)
{
	return atomic_load_explicit(&buffers->used_bytes, memory_order_relaxed);
}

size_t dfg_buffer_pool_idle(const struct buffer_pool *buffers)
{
	return atomic_load_explicit(&buffers->idle_bytes, memory_order_relaxed);
}
