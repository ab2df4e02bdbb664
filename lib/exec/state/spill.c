#include "lib/exec/state/spill.h"

#include "lib/base/io.h"
#include "lib/base/pool.h"

#include <pthread.h>
#include <string.h>

/* A place in the file, in use or free. */
struct place {
	struct dfg_buffer base; /* first, so that one is the other */
	struct place *next;     /* that is free */
	uint64_t offset;
	size_t room;
};

struct dfg_spill {
	pthread_mutex_t lock; /* of the places and the counts; not held while the file is read and written */
	const struct dfg_mem_limit *limit;
	struct buffer_pool *buffers;
	char *folder;
	int fd;
	struct place *free;
	uint64_t end;  /* of the places */
	uint64_t used; /* places */
	struct dfg_spilled done;
};

enum { PAGE = 4096, LOOKS_MOST = 64 };

static struct dfg_err *open_file(struct dfg_spill *swap, const char *folder)
{
	size_t length = strlen(folder) + 1;
	if (!(swap->folder = dfg_zeros(length, 1)))
		return DFG_ERR(DFG_MEMORY, "out of memory");
	memcpy(swap->folder, folder, length);
	return dfg_fs_open_scratch(folder, &swap->fd);
}

struct dfg_err *dfg_spill_new(
	const char *folder, const struct dfg_mem_limit *limit, struct buffer_pool *buffers, struct dfg_spill **out_swap)
{
	struct dfg_spill *swap = dfg_zeros(1, sizeof *swap);
	if (!swap)
		return DFG_ERR(DFG_MEMORY, "out of memory");
	struct dfg_err *err = open_file(swap, folder);
	if (err) {
		dfg_free(swap->folder);
		dfg_free(swap);
		return err;
	}
	pthread_mutex_init(&swap->lock, NULL); /* of this kind it cannot fail */
	swap->limit = limit;
	swap->buffers = buffers;
	*out_swap = swap;
	return NULL;
}

static void forget_places(struct dfg_spill *swap)
{
	while (swap->free) {
		struct place *place = swap->free;
		swap->free = place->next;
		dfg_free(place);
	}
	swap->end = 0;
}

void dfg_spill_free(struct dfg_spill *swap)
{
	if (!swap)
		return;
	forget_places(swap);
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

/* The last one out begins the file anew. */
static void release(struct dfg_buffer *buffer)
{
	struct place *place = (struct place *)buffer;
	struct dfg_spill *swap = buffer->owner;
	pthread_mutex_lock(&swap->lock);
	place->next = swap->free;
	swap->free = place;
	if (!--swap->used)
		forget_places(swap);
	pthread_mutex_unlock(&swap->lock);
}

bool dfg_spill_has(const struct dfg_tensor *tensor)
{
	return tensor->buffer && tensor->buffer->release == release;
}

bool dfg_spill_fits(const struct dfg_tensor *tensor)
{
	const struct dfg_buffer *buffer = tensor->buffer;
	return buffer && (dfg_buffer_pool_own(buffer) || !buffer->release) && !dfg_dtype_is_object(tensor->dtype) &&
		   dfg_tensor_bytes(tensor) > SWAP_LEAST && atomic_load_explicit(&buffer->refs, memory_order_acquire) == 1;
}

/* A free one of that room, of those that were given back last; else behind the others. */
static struct dfg_err *take_place(struct dfg_spill *swap, size_t room, struct place **out_place)
{
	struct place **at = &swap->free, *place;
	for (int i = 0; *at && (*at)->room != room && i < LOOKS_MOST; i++)
		at = &(*at)->next;
	if (*at && (*at)->room == room) {
		place = *at;
		*at = place->next;
	} else {
		if (!(place = dfg_zeros(1, sizeof *place)))
			return DFG_ERR(DFG_MEMORY, "out of memory");
		place->offset = swap->end;
		place->room = room;
		swap->end += room;
	}
	place->base.release = release;
	place->base.owner = swap;
	atomic_init(&place->base.refs, 1);
	swap->used++;
	*out_place = place;
	return NULL;
}

static void count(struct dfg_spill *swap, uint64_t began, uint64_t *number, uint64_t *sum, size_t bytes)
{
	pthread_mutex_lock(&swap->lock);
	++*number;
	*sum += bytes;
	swap->done.stalled_ns += dfg_now() - began;
	pthread_mutex_unlock(&swap->lock);
}

struct dfg_err *dfg_spill_write(struct dfg_spill *swap, const struct dfg_tensor *tensor, struct dfg_tensor *out_tensor)
{
	struct place *place;
	size_t bytes = dfg_tensor_bytes(tensor);
	uint64_t began = dfg_now();
	pthread_mutex_lock(&swap->lock);
	struct dfg_err *err = take_place(swap, (bytes + PAGE - 1) / PAGE * PAGE, &place);
	pthread_mutex_unlock(&swap->lock);
	if (err)
		return err;
	err = dfg_fs_write_at(swap->fd, swap->folder, tensor->data, bytes, place->offset);
	if (err) {
		dfg_buffer_unref(&place->base);
		return err;
	}
	*out_tensor = (struct dfg_tensor){tensor->dtype, tensor->shape, NULL, 0, &place->base};
	count(swap, began, &swap->done.out, &swap->done.out_bytes, bytes);
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
	uint64_t offset = ((const struct place *)tensor->buffer)->offset;
	struct dfg_err *err = dfg_fs_read_at(swap->fd, swap->folder, buffer->data, bytes, offset);
	if (err) {
		dfg_buffer_unref(buffer);
		return err;
	}
	dfg_buffer_unref(tensor->buffer);
	*tensor = (struct dfg_tensor){tensor->dtype, tensor->shape, buffer->data, buffer->room, buffer};
	count(swap, began, &swap->done.in, &swap->done.in_bytes, bytes);
	return NULL;
}

void dfg_spill_tell(struct dfg_spill *swap, struct dfg_spilled *out_swapped)
{
	pthread_mutex_lock(&swap->lock);
	*out_swapped = swap->done;
	pthread_mutex_unlock(&swap->lock);
}
