#include "lib/exec/state/spill.h"

#include "lib/base/io.h"
#include "lib/base/pool.h"

#include <pthread.h>
#include <string.h>

/* A location in the file, in use or free. */
struct location {
	struct dfg_buffer base; /* must be the first member */
	struct location *next;  /* next free location */
	uint64_t offset;
	size_t capacity;
};

struct dfg_spill {
	pthread_mutex_t lock; /* protects the locations and the statistics; not held during file input and output */
	const struct dfg_mem_limit *limit;
	struct buffer_pool *buffers;
	char *folder;
	int fd;
	struct location *free;
	uint64_t end;  /* offset after the last location */
	uint64_t used; /* number of locations in use */
	struct dfg_spilled done;
};

enum { PAGE = 4096, LOOKS_MOST = 64 };

static struct dfg_err *open_file(struct dfg_spill *swap, const char *folder)
{
	size_t length = strlen(folder) + 1;
	if (!(swap->folder = dfg_zeros(length, 1)))
		return dfg_no_memory("the path of the spill file");
	memcpy(swap->folder, folder, length);
	return dfg_fs_open_scratch(folder, &swap->fd);
}

struct dfg_err *dfg_spill_new(
	const char *folder, const struct dfg_mem_limit *limit, struct buffer_pool *buffers, struct dfg_spill **out_swap)
{
	struct dfg_spill *swap = dfg_zeros(1, sizeof *swap);
	if (!swap)
		return dfg_no_memory("the spilled values");
	struct dfg_err *err = open_file(swap, folder);
	if (err) {
		dfg_free(swap->folder);
		dfg_free(swap);
		return err;
	}
	pthread_mutex_init(&swap->lock, NULL); /* cannot fail for a default mutex */
	swap->limit = limit;
	swap->buffers = buffers;
	*out_swap = swap;
	return NULL;
}

static void forget_locations(struct dfg_spill *swap)
{
	while (swap->free) {
		struct location *location = swap->free;
		swap->free = location->next;
		dfg_free(location);
	}
	swap->end = 0;
}

void dfg_spill_free(struct dfg_spill *swap)
{
	if (!swap)
		return;
	forget_locations(swap);
	dfg_fs->close(swap->fd);
	pthread_mutex_destroy(&swap->lock);
	dfg_free(swap->folder);
	dfg_free(swap);
}

bool dfg_spill_wants(const struct dfg_spill *swap)
{
	size_t held = atomic_load_explicit(&swap->limit->held, memory_order_relaxed);
	size_t idle = dfg_buffer_pool_idle(swap->buffers);
	return held > idle && held - idle > swap->limit->limit / 100 * SWAP_PERCENT;
}

/* Frees a location. When the last one is free, the file is reused from the start. */
static void release(struct dfg_buffer *buffer)
{
	struct location *location = (struct location *)buffer;
	struct dfg_spill *swap = buffer->owner;
	pthread_mutex_lock(&swap->lock);
	location->next = swap->free;
	swap->free = location;
	if (!--swap->used)
		forget_locations(swap);
	pthread_mutex_unlock(&swap->lock);
}

bool dfg_spill_has(const struct dfg_tensor *tensor)
{
	return tensor->buffer && tensor->buffer->release == release;
}

void dfg_spill_looked(size_t e, size_t count, const struct dfg_tensor *value, size_t *looked)
{
	bool done = !value->dtype || dfg_spill_has(value);
	if (*looked == e && (done || count - e > SWAP_PATIENCE))
		*looked = e + 1;
}

bool dfg_spill_fits(const struct dfg_tensor *tensor)
{
	const struct dfg_buffer *buffer = tensor->buffer;
	return buffer && (dfg_buffer_pool_own(buffer) || !buffer->release) && !dfg_dtype_is_object(tensor->dtype) &&
		   dfg_tensor_bytes(tensor) > SWAP_LEAST && atomic_load_explicit(&buffer->refs, memory_order_acquire) == 1;
}

/* A recently freed location of that size, or a new one at the end. */
static struct dfg_err *take_location(struct dfg_spill *swap, size_t capacity, struct location **out_location)
{
	struct location **at = &swap->free, *location;
	for (int i = 0; *at && (*at)->capacity != capacity && i < LOOKS_MOST; i++)
		at = &(*at)->next;
	if (*at && (*at)->capacity == capacity) {
		location = *at;
		*at = location->next;
	} else {
		if (!(location = dfg_zeros(1, sizeof *location)))
			return dfg_no_memory("the spilled values");
		location->offset = swap->end;
		location->capacity = capacity;
		swap->end += capacity;
	}
	location->base.release = release;
	location->base.owner = swap;
	atomic_init(&location->base.refs, 1);
	swap->used++;
	*out_location = location;
	return NULL;
}

static void count_transfer(struct dfg_spill *swap, uint64_t began, uint64_t *number, uint64_t *sum, size_t bytes)
{
	pthread_mutex_lock(&swap->lock);
	++*number;
	*sum += bytes;
	swap->done.stalled_ns += dfg_now() - began;
	pthread_mutex_unlock(&swap->lock);
}

struct dfg_err *dfg_spill_write(struct dfg_spill *swap, const struct dfg_tensor *tensor, struct dfg_tensor *out_tensor)
{
	struct location *location;
	size_t bytes = dfg_tensor_bytes(tensor);
	uint64_t began = dfg_now();
	pthread_mutex_lock(&swap->lock);
	struct dfg_err *err = take_location(swap, (bytes + PAGE - 1) / PAGE * PAGE, &location);
	pthread_mutex_unlock(&swap->lock);
	if (err)
		return err;
	err = dfg_fs_write_at(swap->fd, swap->folder, tensor->data, bytes, location->offset);
	if (err) {
		dfg_buffer_unref(&location->base);
		return err;
	}
	*out_tensor = (struct dfg_tensor){tensor->dtype, tensor->shape, NULL, 0, &location->base};
	count_transfer(swap, began, &swap->done.out, &swap->done.out_bytes, bytes);
	return NULL;
}

struct dfg_err *dfg_spill_read(struct dfg_spill *swap, struct dfg_tensor *tensor)
{
	struct dfg_buffer *buffer;
	size_t bytes = dfg_tensor_bytes(tensor);
	uint64_t began = dfg_now();
	if (!dfg_spill_has(tensor))
		return NULL;
	DFG_TRY(dfg_buffer_pool_take(swap->buffers, tensor->dtype, bytes, &buffer));
	uint64_t offset = ((const struct location *)tensor->buffer)->offset;
	struct dfg_err *err = dfg_fs_read_at(swap->fd, swap->folder, buffer->data, bytes, offset);
	if (err) {
		dfg_buffer_unref(buffer);
		return err;
	}
	dfg_buffer_unref(tensor->buffer);
	*tensor = (struct dfg_tensor){tensor->dtype, tensor->shape, buffer->data, buffer->room, buffer};
	count_transfer(swap, began, &swap->done.in, &swap->done.in_bytes, bytes);
	return NULL;
}

void dfg_spill_tell(struct dfg_spill *swap, struct dfg_spilled *out_swapped)
{
	pthread_mutex_lock(&swap->lock);
	*out_swapped = swap->done;
	pthread_mutex_unlock(&swap->lock);
}
