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

static struct dfg_err *open_file(struct dfg_spill *spill, const char *folder)
{
	size_t length = strlen(folder) + 1;
	if (!(spill->folder = dfg_zeros(length, 1)))
		return dfg_no_memory("the path of the spill file");
	memcpy(spill->folder, folder, length);
	return dfg_fs_open_scratch(folder, &spill->fd);
}

struct dfg_err *dfg_spill_new(
	const char *folder, const struct dfg_mem_limit *limit, struct buffer_pool *buffers, struct dfg_spill **out_spill)
{
	struct dfg_spill *spill = dfg_zeros(1, sizeof *spill);
	if (!spill)
		return dfg_no_memory("the spilled values");
	struct dfg_err *err = open_file(spill, folder);
	if (err) {
		dfg_free(spill->folder);
		dfg_free(spill);
		return err;
	}
	pthread_mutex_init(&spill->lock, NULL); /* cannot fail for a default mutex */
	spill->limit = limit;
	spill->buffers = buffers;
	*out_spill = spill;
	return NULL;
}

static void forget_locations(struct dfg_spill *spill)
{
	while (spill->free) {
		struct location *location = spill->free;
		spill->free = location->next;
		dfg_free(location);
	}
	spill->end = 0;
}

void dfg_spill_free(struct dfg_spill *spill)
{
	if (!spill)
		return;
	forget_locations(spill);
	dfg_fs->close(spill->fd);
	pthread_mutex_destroy(&spill->lock);
	dfg_free(spill->folder);
	dfg_free(spill);
}

bool dfg_spill_wants(const struct dfg_spill *spill)
{
	size_t used = atomic_load_explicit(&spill->limit->used, memory_order_relaxed);
	size_t idle = dfg_buffer_pool_idle(spill->buffers);
	return used > idle && used - idle > spill->limit->limit / 100 * SPILL_PERCENT;
}

/* Frees a location. When the last one is free, the file is reused from the start. */
static void release(struct dfg_buffer *buffer)
{
	struct location *location = (struct location *)buffer;
	struct dfg_spill *spill = buffer->owner;
	pthread_mutex_lock(&spill->lock);
	location->next = spill->free;
	spill->free = location;
	if (!--spill->used)
		forget_locations(spill);
	pthread_mutex_unlock(&spill->lock);
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
static struct dfg_err *take_location(struct dfg_spill *spill, size_t capacity, struct location **out_location)
{
	struct location **at = &spill->free, *location;
	for (int i = 0; *at && (*at)->capacity != capacity && i < LOOKS_MOST; i++)
		at = &(*at)->next;
	if (*at && (*at)->capacity == capacity) {
		location = *at;
		*at = location->next;
	} else {
		if (!(location = dfg_zeros(1, sizeof *location)))
			return dfg_no_memory("the spilled values");
		location->offset = spill->end;
		location->capacity = capacity;
		spill->end += capacity;
	}
	location->base.release = release;
	location->base.owner = spill;
	atomic_init(&location->base.refs, 1);
	spill->used++;
	*out_location = location;
	return NULL;
}

static void count_transfer(struct dfg_spill *spill, uint64_t began, uint64_t *number, uint64_t *sum, size_t bytes)
{
	pthread_mutex_lock(&spill->lock);
	++*number;
	*sum += bytes;
	spill->done.stalled_ns += dfg_now() - began;
	pthread_mutex_unlock(&spill->lock);
}

struct dfg_err *dfg_spill_write(struct dfg_spill *spill, const struct dfg_tensor *tensor, struct dfg_tensor *out_tensor)
{
	struct location *location;
	size_t bytes = dfg_tensor_bytes(tensor);
	uint64_t began = dfg_now();
	pthread_mutex_lock(&spill->lock);
	struct dfg_err *err = take_location(spill, (bytes + PAGE - 1) / PAGE * PAGE, &location);
	pthread_mutex_unlock(&spill->lock);
	if (err)
		return err;
	err = dfg_fs_write_at(spill->fd, spill->folder, tensor->data, bytes, location->offset);
	if (err) {
		dfg_buffer_unref(&location->base);
		return err;
	}
	*out_tensor = (struct dfg_tensor){tensor->dtype, tensor->shape, NULL, 0, &location->base};
	count_transfer(spill, began, &spill->done.out, &spill->done.out_bytes, bytes);
	return NULL;
}

struct dfg_err *dfg_spill_read(struct dfg_spill *spill, struct dfg_tensor *tensor)
{
	struct dfg_buffer *buffer;
	size_t bytes = dfg_tensor_bytes(tensor);
	uint64_t began = dfg_now();
	if (!dfg_spill_has(tensor))
		return NULL;
	DFG_TRY(dfg_buffer_pool_take(spill->buffers, tensor->dtype, bytes, &buffer));
	uint64_t offset = ((const struct location *)tensor->buffer)->offset;
	struct dfg_err *err = dfg_fs_read_at(spill->fd, spill->folder, buffer->data, bytes, offset);
	if (err) {
		dfg_buffer_unref(buffer);
		return err;
	}
	dfg_buffer_unref(tensor->buffer);
	*tensor = (struct dfg_tensor){tensor->dtype, tensor->shape, buffer->data, buffer->capacity, buffer};
	count_transfer(spill, began, &spill->done.in, &spill->done.in_bytes, bytes);
	return NULL;
}

void dfg_spill_tell(struct dfg_spill *spill, struct dfg_spilled *out_swapped)
{
	pthread_mutex_lock(&spill->lock);
	*out_swapped = spill->done;
	pthread_mutex_unlock(&spill->lock);
}
