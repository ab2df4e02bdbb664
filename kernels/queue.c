/* Queues: their elements, and the attempts that wait for them. */
#include "kernels/queue.h"

#include "kernels/philox.h"
#include "lib/exec/state/state.h"

#include <inttypes.h>
#include <string.h>

const char dfg_queue_kind[] = "queue";

static struct dfg_err *no_memory(const struct dfg_queue *queue)
{
	return DFG_ERR(DFG_MEMORY, "no memory for queue '%s'", queue->resource.name);
}

static void release_all(struct dfg_tensor *tensor, size_t count)
{
	for (size_t i = 0; i < count; i++)
		dfg_tensor_release(&tensor[i]);
}

void dfg_attempt_free(struct dfg_attempt *attempt)
{
	if (!attempt)
		return;
	release_all(attempt->tensor + attempt->first, attempt->count - attempt->first);
	dfg_free(attempt->tensor);
	dfg_err_free(attempt->err);
	dfg_free(attempt);
}

static void free_queue(struct dfg_resource *resource)
{
	struct dfg_queue *queue = (struct dfg_queue *)resource;
	size_t each = (size_t)queue->components;
	release_all(queue->tensor + queue->first * each, queue->count * each);
	dfg_free(queue->tensor);
	pthread_mutex_destroy(&queue->lock);
	dfg_free(queue);
}

/* The shapes, the dtypes and the name follow the queue in one allocation. */
static struct dfg_err *make_queue(void *arg, const char *name, struct dfg_resource **out_resource)
{
	const struct dfg_queue_kind *kind = arg;
	size_t components = kind->types->count, length = strlen(name);
	struct dfg_queue *queue = dfg_zeros(1, sizeof *queue + components * (sizeof(struct dfg_shape) + 1) + length + 1);
	if (!queue || pthread_mutex_init(&queue->lock, NULL)) {
		dfg_free(queue);
		return dfg_no_memory("a queue");
	}
	queue->shape = (struct dfg_shape *)(queue + 1);
	queue->dtype = (uint8_t *)(queue->shape + components);
	char *copy = memcpy(queue->dtype + components, name, length + 1);
	queue->resource = (struct dfg_resource){.kind = dfg_queue_kind, .name = copy, .free = free_queue};
	atomic_init(&queue->resource.refs, 1);
	queue->components = (int)components;
	queue->kind = *kind;
	for (size_t i = 0; i < components; i++) {
		queue->dtype[i] = (uint8_t)kind->types->item[i].dtype;
		queue->shape[i] = kind->shapes->count ? *kind->shapes->item[i].shape : DFG_SHAPE_UNKNOWN;
	}
	queue->kind.types = queue->kind.shapes = NULL; /* they are the node's */
	*out_resource = &queue->resource;
	return NULL;
}

static struct dfg_err *check_kind(const struct dfg_queue_kind *kind)
{
	if (!kind->types->count)
		return DFG_ERR(DFG_DATA, "a queue requires at least one component");
	if (kind->shapes->count && kind->shapes->count != kind->types->count)
		return DFG_ERR(DFG_DATA, "there are %u shapes for %u components, expected one for each", kind->shapes->count,
			kind->types->count);
	for (uint32_t i = 0; i < kind->types->count; i++) {
		const struct dfg_shape *shape = kind->shapes->count ? kind->shapes->item[i].shape : NULL;
		if (dfg_dtype_is_handle(kind->types->item[i].dtype))
			return DFG_ERR(DFG_DATA, "component %u is %s, which a queue cannot contain", i,
				dfg_dtype_name(kind->types->item[i].dtype));
		if (shape && !kind->pads && !dfg_shape_known(shape))
			return DFG_ERR(DFG_DATA, "component %u has shape %s, which must be known", i, dfg_shape_words(shape).s);
	}
	if (kind->order == DFG_QUEUE_SMALLEST && kind->types->item[0].dtype != DFG_I64)
		return DFG_ERR(
			DFG_DATA, "component 0, the priority, is %s, expected i64", dfg_dtype_name(kind->types->item[0].dtype));
	return NULL;
}

static struct dfg_err *check_same(const struct dfg_queue *queue, const struct dfg_queue_kind *kind)
{
	const char *name = queue->resource.name;
	if (queue->kind.order != kind->order)
		return DFG_ERR(
			DFG_DATA, "queue '%s' already exists as a queue of another kind: FIFO, random or by priority", name);
	if (queue->kind.capacity != kind->capacity)
		return DFG_ERR(DFG_DATA, "queue '%s' already exists with capacity %" PRId64 ", not %" PRId64, name,
			queue->kind.capacity, kind->capacity);
	if (queue->components != (int)kind->types->count)
		return DFG_ERR(DFG_DATA, "queue '%s' already exists with %d components, not %u", name, queue->components,
			kind->types->count);
	for (int i = 0; i < queue->components; i++) {
		const struct dfg_shape *shape = kind->shapes->count ? kind->shapes->item[i].shape : &queue->shape[i];
		if (queue->dtype[i] != kind->types->item[i].dtype || !dfg_shape_equal(&queue->shape[i], shape))
			return DFG_ERR(DFG_DATA, "queue '%s' already exists with component %d of %s, not %s", name, i,
				dfg_type_words(queue->dtype[i], &queue->shape[i]).s,
				dfg_type_words(kind->types->item[i].dtype, shape).s);
	}
	return NULL;
}

struct dfg_err *dfg_queue_find(
	struct dfg_state *state, const char *name, const struct dfg_queue_kind *kind, struct dfg_queue **out_queue)
{
	struct dfg_resource *resource;
	struct dfg_queue_kind copy = *kind;
	DFG_TRY(check_kind(kind));
	DFG_TRY(dfg_state_resource(state, name, dfg_queue_kind, make_queue, &copy, &resource));
	*out_queue = (struct dfg_queue *)resource;
	return check_same(*out_queue, kind);
}

static bool is_closed_to(const struct dfg_queue *queue, const struct dfg_attempt *attempt)
{
	return queue->closed && !attempt->takes;
}

/* Memory for a new element after the last; NULL if there is none. May move all elements to the front. */
static struct dfg_tensor *reserve_element(struct dfg_queue *queue)
{
	size_t each = (size_t)queue->components;
	if (queue->first && queue->first >= queue->count) {
		memmove(queue->tensor, queue->tensor + queue->first * each, queue->count * each * sizeof *queue->tensor);
		queue->first = 0;
	}
	if (!dfg_reserve(
			&queue->tensor, &queue->allocated, (queue->first + queue->count + 1) * each, sizeof *queue->tensor))
		return NULL;
	return queue->tensor + (queue->first + queue->count) * each;
}

/* Puts one element; false if the queue is full. */
static bool put_one(struct dfg_queue *queue, struct dfg_attempt *attempt)
{
	size_t each = (size_t)queue->components;
	if (queue->kind.capacity >= 0 && queue->count >= (uint64_t)queue->kind.capacity)
		return false;
	struct dfg_tensor *element = reserve_element(queue);
	if (!element) {
		attempt->err = no_memory(queue);
		return true;
	}
	memcpy(element, attempt->tensor + attempt->first, each * sizeof *element);
	attempt->first += each;
	attempt->wanted--;
	queue->count++;
	return true;
}

/* The index of the element that is taken next, counted from the first. */
static size_t choose(struct dfg_queue *queue)
{
	size_t chosen = 0, each = (size_t)queue->components;
	const struct dfg_tensor *first = queue->tensor + queue->first * each;
	if (queue->kind.order == DFG_QUEUE_SHUFFLED) {
		uint64_t seed = queue->kind.seed, stream = queue->kind.stream;
		uint32_t word[4];
		struct dfg_philox philox = {
			{0, 0, (uint32_t)stream, (uint32_t)(stream >> 32)}, {(uint32_t)seed, (uint32_t)(seed >> 32)}};
		dfg_philox_skip(&philox, queue->drawn / 4);
		dfg_philox_words(&philox, word);
		chosen = word[queue->drawn++ % 4] % queue->count;
	}
	for (size_t i = 1; queue->kind.order == DFG_QUEUE_SMALLEST && i < queue->count; i++)
		if (dfg_tensor_int(&first[i * each], 0) < dfg_tensor_int(&first[chosen * each], 0))
			chosen = i;
	return chosen;
}

static void remove_element(struct dfg_queue *queue, size_t chosen)
{
	size_t each = (size_t)queue->components, bytes = each * sizeof *queue->tensor;
	struct dfg_tensor *first = queue->tensor + queue->first * each, *hole = first + chosen * each;
	queue->count--;
	if (queue->kind.order == DFG_QUEUE_SHUFFLED)
		memmove(hole, first + queue->count * each, bytes); /* the last element replaces it */
	else if (chosen)
		memmove(hole, hole + each, (queue->count - chosen) * bytes);
	else
		queue->first++;
}

/* Whether an element can be taken: until it is closed, a shuffling queue retains some to choose from. */
static bool has_element(const struct dfg_queue *queue)
{
	int64_t least = queue->closed ? 0 : queue->kind.least;
	return (int64_t)queue->count > (least > 0 ? least : 0);
}

static bool take_one(struct dfg_queue *queue, struct dfg_attempt *attempt)
{
	size_t each = (size_t)queue->components;
	if (!has_element(queue))
		return false;
	if (!dfg_reserve(&attempt->tensor, &attempt->allocated, attempt->count + each, sizeof *attempt->tensor)) {
		attempt->err = no_memory(queue);
		return true;
	}
	size_t chosen = choose(queue);
	memcpy(attempt->tensor + attempt->count, queue->tensor + (queue->first + chosen) * each,
		each * sizeof *attempt->tensor);
	attempt->count += each;
	attempt->wanted--;
	remove_element(queue, chosen);
	return true;
}

/* Returns the elements of an attempt that failed to the front of the queue, in their order. */
static struct dfg_err *put_back(struct dfg_queue *queue, struct dfg_attempt *attempt)
{
	size_t each = (size_t)queue->components, elements = attempt->count / each, size = sizeof *queue->tensor;
	if (!dfg_reserve(&queue->tensor, &queue->allocated, (queue->first + queue->count + elements) * each, size))
		return no_memory(queue);
	if (!attempt->count)
		return NULL;
	struct dfg_tensor *first = queue->tensor + queue->first * each;
	memmove(first + attempt->count, first, queue->count * each * size);
	memcpy(first, attempt->tensor, attempt->count * size);
	queue->count += elements;
	attempt->wanted += (int64_t)elements;
	attempt->count = 0;
	return NULL;
}

/*
 * Ends an attempt for which no more elements will come: with fewer if it accepts that and has some, else with an error.
 */
static bool end_unmet(struct dfg_queue *queue, struct dfg_attempt *attempt)
{
	size_t taken = attempt->count / (size_t)queue->components;
	if (!queue->closed || queue->put || has_element(queue))
		return false;
	if (attempt->fewer && taken) {
		attempt->wanted = 0;
		return true;
	}
	long long wanted = (long long)attempt->wanted + (long long)taken;
	attempt->err = put_back(queue, attempt);
	if (!attempt->err)
		attempt->err = DFG_ERR(DFG_DATA, "queue '%s' is closed and has %zu elements, fewer than the %lld requested",
			queue->resource.name, queue->count, wanted);
	return true;
}

/* Removes the oldest attempt from its list and wakes its kernel. */
static void finish(struct dfg_attempt **list)
{
	struct dfg_attempt *attempt = *list;
	*list = attempt->next;
	attempt->next = NULL;
	attempt->done = true;
	if (attempt->pause)
		attempt->pause->wake(attempt->pause);
}

/* Serves the oldest attempt of a list as far as possible; whether that changed anything. */
static bool advance(struct dfg_queue *queue, struct dfg_attempt **list)
{
	struct dfg_attempt *attempt = *list;
	bool further = false;
	if (!attempt)
		return false;
	while (
		attempt->wanted > 0 && !attempt->err && (attempt->takes ? take_one(queue, attempt) : put_one(queue, attempt)))
		further = true;
	if (attempt->takes && attempt->wanted > 0 && !attempt->err)
		further |= end_unmet(queue, attempt);
	if (attempt->wanted > 0 && !attempt->err)
		return further;
	finish(list);
	return true;
}

static void serve(struct dfg_queue *queue)
{
	bool further = true;
	while (further) {
		further = advance(queue, &queue->put);
		further |= advance(queue, &queue->take);
	}
}

struct dfg_err *dfg_queue_try(struct dfg_queue *queue, struct dfg_attempt *attempt)
{
	struct dfg_err *err = NULL;
	pthread_mutex_lock(&queue->lock);
	if (is_closed_to(queue, attempt)) {
		err = DFG_ERR(DFG_DATA, "queue '%s' is closed", queue->resource.name);
	} else {
		struct dfg_attempt **last = attempt->takes ? &queue->take : &queue->put;
		while (*last)
			last = &(*last)->next;
		*last = attempt;
		serve(queue);
	}
	pthread_mutex_unlock(&queue->lock);
	return err;
}

bool dfg_queue_wait(struct dfg_queue *queue, struct dfg_attempt *attempt, struct dfg_pause *pause)
{
	pthread_mutex_lock(&queue->lock);
	bool done = attempt->done;
	if (!done)
		attempt->pause = pause;
	pthread_mutex_unlock(&queue->lock);
	return done;
}

void dfg_queue_close(struct dfg_queue *queue, bool cancel)
{
	pthread_mutex_lock(&queue->lock);
	queue->closed = true;
	while (cancel && queue->put) {
		queue->put->err = DFG_ERR(DFG_DATA, "cancelled: queue '%s' was closed", queue->resource.name);
		finish(&queue->put);
	}
	serve(queue);
	pthread_mutex_unlock(&queue->lock);
}

/* Elements that cannot be put back because memory is short are lost, as is the step. */
void dfg_queue_abandon(struct dfg_queue *queue, struct dfg_attempt *attempt)
{
	pthread_mutex_lock(&queue->lock);
	struct dfg_attempt **at = attempt->takes ? &queue->take : &queue->put;
	while (*at && *at != attempt)
		at = &(*at)->next;
	if (*at)
		*at = attempt->next;
	if (attempt->takes && attempt->count)
		dfg_err_free(put_back(queue, attempt));
	serve(queue);
	pthread_mutex_unlock(&queue->lock);
}

int64_t dfg_queue_size(struct dfg_queue *queue)
{
	pthread_mutex_lock(&queue->lock);
	int64_t size = (int64_t)queue->count;
	pthread_mutex_unlock(&queue->lock);
	return size;
}

bool dfg_queue_is_closed(struct dfg_queue *queue)
{
	pthread_mutex_lock(&queue->lock);
	bool closed = queue->closed;
	pthread_mutex_unlock(&queue->lock);
	return closed;
}
