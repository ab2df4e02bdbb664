/* The ops on queues. A kernel whose attempt waits is run again when the attempt is done. */
#include "kernels/shape_rules.h"
#include "kernels/queue.h"
#include "kernels/variable.h"

#include <inttypes.h>
#include <string.h>

/* Creation. Attributes that all kinds have; those of one kind follow. */
enum { SHAPES, CAPACITY, CONTAINER, SHARED_NAME, LEAST, SEED, SEED2 };
#define COMMON(shapes)                                                          \
	[SHAPES] = "shapes: list(shape)" shapes, [CAPACITY] = "capacity: int = -1", \
	[CONTAINER] = "container: string = ''", [SHARED_NAME] = "shared_name: string = ''"

static struct dfg_err *scalar_shape(struct dfg_infer *node)
{
	for (int i = 0; i < node->call->n_out; i++)
		node->out[i] = DFG_SHAPE_SCALAR;
	return NULL;
}

static struct dfg_err *queue_shape(struct dfg_infer *node)
{
	return dfg_queue_make_holds(node, node->call->param[0].list, node->call->attr[SHAPES].list, false);
}

static struct dfg_err *priority_shape(struct dfg_infer *node)
{
	return dfg_queue_make_holds(node, node->call->param[0].list, node->call->attr[SHAPES].list, true);
}

/* FNV-1a of its name is the seed of a queue without one: its order is the same in every run. */
static uint64_t hash(const char *name)
{
	uint64_t value = UINT64_C(0xcbf29ce484222325);
	while (*name)
		value = (value ^ (unsigned char)*name++) * UINT64_C(0x100000001b3);
	return value;
}

static struct dfg_err *make_queue(struct dfg_kernel *ctx, const struct dfg_queue_kind *kind)
{
	const union dfg_value *attr = dfg_kernel_attr(ctx);
	struct dfg_text name;
	struct dfg_queue *queue = NULL;
	struct dfg_err *err = dfg_shared_name(ctx, attr[CONTAINER].s, attr[SHARED_NAME].s, &name);
	if (!err)
		err = dfg_queue_find(ctx->host->state(ctx), name.s, kind, &queue);
	dfg_text_release(&name);
	return err ? err : dfg_object_out(ctx, 0, dfg_resource_ref(&queue->resource));
}

static struct dfg_queue_kind common_kind(const struct dfg_kernel *ctx, enum dfg_queue_order order)
{
	const union dfg_value *attr = dfg_kernel_attr(ctx);
	return (struct dfg_queue_kind){
		.order = order,
		.types = order == DFG_QUEUE_SMALLEST ? NULL : ctx->call->param[0].list,
		.shapes = attr[SHAPES].list,
		.capacity = attr[CAPACITY].i,
	};
}

static struct dfg_err *fifo_run(struct dfg_kernel *ctx)
{
	struct dfg_queue_kind kind = common_kind(ctx, DFG_QUEUE_FIRST);
	return make_queue(ctx, &kind);
}

static struct dfg_err *padding_run(struct dfg_kernel *ctx)
{
	struct dfg_queue_kind kind = common_kind(ctx, DFG_QUEUE_FIRST);
	kind.pads = true;
	return make_queue(ctx, &kind);
}

static struct dfg_err *shuffle_run(struct dfg_kernel *ctx)
{
	const union dfg_value *attr = dfg_kernel_attr(ctx);
	struct dfg_queue_kind kind = common_kind(ctx, DFG_QUEUE_SHUFFLED);
	bool seeded = attr[SEED].i || attr[SEED2].i;
	kind.least = attr[LEAST].i;
	kind.seed = seeded ? (uint64_t)attr[SEED].i : hash(ctx->call->node);
	kind.stream = (uint64_t)attr[SEED2].i;
	if (kind.capacity >= 0 && kind.least >= kind.capacity)
		return DFG_ERR(
			DFG_DATA, "min_after_dequeue is %" PRId64 ", not less than capacity %" PRId64, kind.least, kind.capacity);
	return make_queue(ctx, &kind);
}

/* Component 0 is the priority, which the attributes do not list. */
static struct dfg_err *priority_run(struct dfg_kernel *ctx)
{
	enum { MOST = 64 };
	const struct dfg_list *types = ctx->call->param[0].list, *shapes = dfg_kernel_attr(ctx)[SHAPES].list;
	struct dfg_queue_kind kind = common_kind(ctx, DFG_QUEUE_SMALLEST);
	union dfg_value type[MOST + 1] = {{.dtype = DFG_I64}}, shape[MOST + 1] = {{.shape = &DFG_SHAPE_SCALAR}};
	if (types->count > MOST || shapes->count != types->count)
		return DFG_ERR(
			DFG_DATA, "there are %u components and %u shapes: the limit is %d", types->count, shapes->count, MOST);
	memcpy(type + 1, types->item, types->count * sizeof *type);
	memcpy(shape + 1, shapes->item, shapes->count * sizeof *shape);
	kind.types = &(struct dfg_list){DFG_ATTR_DTYPE, types->count + 1, type};
	kind.shapes = &(struct dfg_list){DFG_ATTR_SHAPE, shapes->count + 1, shape};
	return make_queue(ctx, &kind);
}

#define QUEUE(Name, text, shape_, run_, ...)                        \
	const struct dfg_op dfg_op_##Name = {                           \
		.name = #Name,                                              \
		.doc = text,                                                \
		.sig = "<component_types: [type]>() -> (handle: resource)", \
		.attr = {__VA_ARGS__},                                      \
		.flags = DFG_STATEFUL | DFG_NO_GRADIENT,                    \
		.shape = shape_,                                            \
		.run = run_,                                                \
	};
QUEUE(FIFOQueueV2, "a queue named by shared_name: first in, first out", queue_shape, fifo_run, COMMON(" = []"))
QUEUE(PaddingFIFOQueueV2, "a queue whose elements may differ in shape; those taken together are padded with zeros",
	queue_shape, padding_run, COMMON(" = []"))
QUEUE(RandomShuffleQueueV2, "a queue in random order; min_after_dequeue elements are retained until it is closed",
	queue_shape, shuffle_run,
	COMMON(" = []"), [LEAST] = "min_after_dequeue: int = 0", [SEED] = "seed: int = 0", [SEED2] = "seed2: int = 0")
QUEUE(PriorityQueueV2, "a queue in the order of component 0, an i64, smallest first", priority_shape, priority_run,
	COMMON(""))

/* Attempts. */

static struct dfg_err *new_attempt(int64_t tensors, int64_t wanted, struct dfg_attempt **out_attempt)
{
	struct dfg_attempt *attempt = *out_attempt = dfg_zeros(1, sizeof *attempt);
	if (!attempt)
		return dfg_no_memory("the elements of a queue");
	attempt->wanted = wanted;
	if (dfg_reserve(&attempt->tensor, &attempt->allocated, (size_t)tensors, sizeof *attempt->tensor))
		return NULL;
	dfg_attempt_free(attempt);
	return dfg_no_memory("the elements of a queue");
}

static struct dfg_queue *queue_of(struct dfg_kernel *ctx)
{
	return *(struct dfg_queue **)dfg_kernel_input(ctx, 0)->data;
}

/* Holds a reference to the queue as well: the step may release its handle first. */
struct waiting {
	struct dfg_queue *queue;
	struct dfg_attempt *attempt;
};

static void end_wait(struct dfg_pause *pause)
{
	struct waiting *waiting = pause->attempt;
	dfg_resource_unref(&waiting->queue->resource);
	dfg_free(waiting);
	pause->attempt = NULL;
}

static void abandon(struct dfg_pause *pause)
{
	struct waiting *waiting = pause->attempt;
	dfg_queue_abandon(waiting->queue, waiting->attempt);
	dfg_attempt_free(waiting->attempt);
	end_wait(pause);
}

static struct dfg_err *wait_for(
	struct dfg_kernel *ctx, struct dfg_queue *queue, struct dfg_attempt *attempt, bool *out_done)
{
	struct dfg_pause *pause;
	struct waiting *waiting = dfg_zeros(1, sizeof *waiting);
	struct dfg_err *err = waiting ? ctx->host->pause(ctx, &pause) : dfg_no_memory("the elements of a queue");
	if (err) {
		dfg_free(waiting);
		dfg_queue_abandon(queue, attempt);
		return err;
	}
	dfg_resource_ref(&queue->resource);
	*waiting = (struct waiting){queue, attempt};
	pause->attempt = waiting;
	pause->abandon = abandon;
	if (dfg_queue_wait(queue, attempt, pause))
		pause->wake(pause);
	*out_done = false;
	return NULL;
}

/*
 * Starts the attempt, which may have to wait: the kernel then returns. *out_done: it is done, and the caller frees it.
 */
static struct dfg_err *try(struct dfg_kernel *ctx, struct dfg_attempt *attempt, bool *out_done)
{
	struct dfg_queue *queue = queue_of(ctx);
	struct dfg_err *err = dfg_queue_try(queue, attempt);
	*out_done = !err && attempt->done;
	if (!err && !attempt->done)
		err = wait_for(ctx, queue, attempt, out_done);
	if (err)
		dfg_attempt_free(attempt);
	return err;
}

/* The attempt for which this kernel paused, which is done now; NULL if it has not paused. */
static struct dfg_attempt *attempt_after_pause(struct dfg_kernel *ctx)
{
	struct dfg_pause *pause = ctx->host->paused(ctx);
	if (!pause)
		return NULL;
	struct dfg_attempt *attempt = ((struct waiting *)pause->attempt)->attempt;
	end_wait(pause);
	return attempt;
}

static struct dfg_err *take_err(struct dfg_attempt *attempt)
{
	struct dfg_err *err = attempt->err;
	attempt->err = NULL;
	return err;
}

/* Putting. */

static struct dfg_err *check_component(const struct dfg_queue *queue, int i, const struct dfg_tensor *tensor, int skip)
{
	struct dfg_shape shape = tensor->shape;
	if (queue->dtype[i] != tensor->dtype)
		return DFG_ERR(DFG_DATA, "component %d is %s, expected %s for queue '%s'", i, dfg_dtype_name(tensor->dtype),
			dfg_dtype_name((enum dfg_dtype)queue->dtype[i]), queue->resource.name);
	if (skip && !shape.rank)
		return DFG_ERR(DFG_DATA, "component %d is a scalar, expected a row for each element", i);
	if (skip)
		shape = dfg_element_of_rows(&shape);
	if (!dfg_shape_fits(&shape, &queue->shape[i]))
		return DFG_ERR(DFG_DATA, "component %d has shape %s, expected %s for queue '%s'", i, dfg_shape_words(&shape).s,
			dfg_shape_words(&queue->shape[i]).s, queue->resource.name);
	return NULL;
}

static struct dfg_err *check_put(struct dfg_kernel *ctx, int skip, int64_t *out_elements)
{
	struct dfg_queue *queue;
	DFG_TRY(dfg_object_in(ctx, 0, dfg_queue_kind, &queue));
	int components = ctx->call->n_in - 1;
	if (components != queue->components)
		return DFG_ERR(
			DFG_DATA, "queue '%s' has %d components, not %d", queue->resource.name, queue->components, components);
	for (int i = 0; i < components; i++)
		DFG_TRY(check_component(queue, i, dfg_kernel_input(ctx, i + 1), skip));
	*out_elements = skip ? dfg_kernel_input(ctx, 1)->shape.dim[0] : 1;
	for (int i = 1; skip && i < components; i++)
		if (dfg_kernel_input(ctx, i + 1)->shape.dim[0] != *out_elements)
			return DFG_ERR(DFG_DATA, "component %d has %" PRId64 " elements, component 0 has %" PRId64, i,
				dfg_kernel_input(ctx, i + 1)->shape.dim[0], *out_elements);
	return NULL;
}

/* The part of a tensor that is element `row`; all of it if skip is 0, for a single element. */
static struct dfg_tensor row_of(const struct dfg_tensor *whole, int skip, int64_t row)
{
	struct dfg_shape shape = skip ? dfg_element_of_rows(&whole->shape) : whole->shape;
	return dfg_element_part(whole, row * dfg_shape_count(&shape), &shape);
}

static struct dfg_err *fill(struct dfg_kernel *ctx, int skip, struct dfg_attempt *attempt)
{
	size_t components = (size_t)ctx->call->n_in - 1;
	attempt->count = (size_t)attempt->wanted * components;
	for (size_t i = 0; i < components; i++) {
		struct dfg_tensor whole;
		DFG_TRY(ctx->host->keep(ctx, (int)i + 1, &whole));
		for (int64_t row = 0; row < attempt->wanted; row++)
			attempt->tensor[(size_t)row * components + i] = row_of(&whole, skip, row);
		dfg_tensor_release(&whole);
	}
	return NULL;
}

static struct dfg_err *begin_put(struct dfg_kernel *ctx, int skip, struct dfg_attempt **out_attempt)
{
	int64_t elements;
	DFG_TRY(check_put(ctx, skip, &elements));
	DFG_TRY(new_attempt(elements * (ctx->call->n_in - 1), elements, out_attempt));
	struct dfg_err *err = fill(ctx, skip, *out_attempt);
	if (err)
		dfg_attempt_free(*out_attempt);
	return err;
}

static struct dfg_err *put_components(struct dfg_kernel *ctx, int skip)
{
	struct dfg_attempt *attempt = attempt_after_pause(ctx);
	bool done = attempt;
	if (!done) {
		DFG_TRY(begin_put(ctx, skip, &attempt));
		DFG_TRY(try(ctx, attempt, &done));
	}
	if (!done)
		return NULL;
	struct dfg_err *err = take_err(attempt);
	dfg_attempt_free(attempt);
	return err;
}

static struct dfg_err *enqueue_run(struct dfg_kernel *ctx)
{
	return put_components(ctx, 0);
}

static struct dfg_err *enqueue_many_run(struct dfg_kernel *ctx)
{
	return put_components(ctx, 1);
}

static struct dfg_err *no_shape(struct dfg_infer *node)
{
	(void)node;
	return NULL;
}

#define ENQUEUE(Name, text, shape_, run_)                                                 \
	const struct dfg_op dfg_op_##Name = {                                                 \
		.name = #Name,                                                                    \
		.doc = text,                                                                      \
		.sig = "<Tcomponents: [type]>(handle: resource, components: Tcomponents) -> ()",  \
		.attr = {"timeout_ms: int = -1"},                                                 \
		.flags = DFG_STATEFUL | DFG_PUTS | DFG_BLOCKING | DFG_ANY_RANK | DFG_NO_GRADIENT, \
		.shape = shape_,                                                                  \
		.run = run_,                                                                      \
	};
ENQUEUE(QueueEnqueueV2, "puts one element, a tensor for each component; waits while the queue is full",
	dfg_queue_put_shape, enqueue_run)
ENQUEUE(QueueEnqueueManyV2, "puts the rows of the components, each one element; waits while the queue is full",
	dfg_queue_put_many_shape, enqueue_many_run)

/* Taking. */

/* Sets each output to the component of one element. */
static struct dfg_err *give_one(struct dfg_kernel *ctx, struct dfg_attempt *attempt)
{
	for (int i = 0; i < ctx->call->n_out; i++) {
		struct dfg_tensor tensor = attempt->tensor[i];
		attempt->tensor[i] = (struct dfg_tensor){0};
		DFG_TRY(ctx->host->give(ctx, i, &tensor));
	}
	return NULL;
}

/* The largest size along each dimension. */
static struct dfg_err *largest(const struct dfg_tensor *const *part, int64_t n, struct dfg_shape *out_shape)
{
	*out_shape = part[0]->shape;
	for (int64_t k = 1; k < n; k++) {
		if (part[k]->shape.rank != out_shape->rank)
			return DFG_ERR(DFG_DATA, "cannot stack elements of ranks %d and %d", out_shape->rank, part[k]->shape.rank);
		for (int d = 0; d < out_shape->rank; d++)
			if (part[k]->shape.dim[d] > out_shape->dim[d])
				out_shape->dim[d] = part[k]->shape.dim[d];
	}
	return NULL;
}

/* Copies a part to the first corner of a larger tensor of zeros. */
static void copy_corner(const struct dfg_tensor *part, const struct dfg_shape *whole, char *to)
{
	size_t size = dfg_dtype_size(part->dtype);
	int rank = part->shape.rank;
	int64_t row = rank ? part->shape.dim[rank - 1] : 1, rows = row ? dfg_shape_count(&part->shape) / row : 0;
	for (int64_t r = 0; r < rows; r++) {
		int64_t at = 0, remainder = r, stride = rank ? whole->dim[rank - 1] : 1;
		for (int d = rank - 2; d >= 0; d--) {
			at += remainder % part->shape.dim[d] * stride;
			remainder /= part->shape.dim[d];
			stride *= whole->dim[d];
		}
		memcpy(to + (size_t)at * size, (const char *)part->data + (size_t)(r * row) * size, (size_t)row * size);
	}
}

static struct dfg_err *pad_parts(
	const struct dfg_tensor *const *part, int64_t n, const struct dfg_shape *element, struct dfg_tensor *out_padded)
{
	for (int64_t k = 0; k < n; k++) {
		DFG_TRY(dfg_element_zeros(part[k]->dtype, element, &out_padded[k]));
		copy_corner(part[k], element, out_padded[k].data);
	}
	return NULL;
}

/* The elements as rows of output i. The strings of the parts live until dfg_element_join() has copied them. */
static struct dfg_err *join(struct dfg_kernel *ctx, int i, const struct dfg_tensor **part, int64_t n)
{
	struct dfg_shape element, shape;
	bool even = true;
	DFG_TRY(largest(part, n, &element));
	DFG_TRY(dfg_element_rows(n, &element, &shape));
	for (int64_t k = 0; k < n; k++)
		even &= dfg_shape_equal(&part[k]->shape, &element);
	if (even)
		return dfg_element_join(ctx, i, part, n, &shape);
	struct dfg_tensor *padded = dfg_zeros((size_t)n, sizeof *padded);
	if (!padded)
		return dfg_no_memory("the elements of a queue");
	struct dfg_err *err = pad_parts(part, n, &element, padded);
	for (int64_t k = 0; k < n; k++)
		part[k] = &padded[k];
	if (!err)
		err = dfg_element_join(ctx, i, part, n, &shape);
	for (int64_t k = 0; k < n; k++)
		dfg_tensor_release(&padded[k]);
	dfg_free(padded);
	return err;
}

static struct dfg_err *give_none(struct dfg_kernel *ctx, const struct dfg_queue *queue, int i)
{
	struct dfg_shape shape;
	struct dfg_tensor *out;
	DFG_TRY(dfg_element_rows(0, &queue->shape[i], &shape));
	for (int d = 0; d < shape.rank; d++)
		shape.dim[d] = shape.dim[d] < 0 ? 0 : shape.dim[d];
	return dfg_kernel_output(ctx, i, shape.rank < 0 ? &(struct dfg_shape){.rank = 1} : &shape, &out);
}

static struct dfg_err *give_many(struct dfg_kernel *ctx, struct dfg_attempt *attempt)
{
	size_t components = (size_t)ctx->call->n_out;
	int64_t n = (int64_t)(attempt->count / components);
	const struct dfg_tensor **part = dfg_zeros((size_t)n + 1, sizeof *part);
	struct dfg_err *err = part ? NULL : dfg_no_memory("the elements of a queue");
	for (size_t i = 0; i < components && !err; i++) {
		for (int64_t k = 0; k < n; k++)
			part[k] = &attempt->tensor[(size_t)k * components + i];
		err = n ? join(ctx, (int)i, part, n) : give_none(ctx, queue_of(ctx), (int)i);
	}
	dfg_free(part);
	return err;
}

static struct dfg_err *check_take(struct dfg_kernel *ctx, bool many, int64_t *out_wanted)
{
	struct dfg_queue *queue;
	DFG_TRY(dfg_object_in(ctx, 0, dfg_queue_kind, &queue));
	if (ctx->call->n_out != queue->components)
		return DFG_ERR(DFG_DATA, "queue '%s' has %d components, expected %d", queue->resource.name, queue->components,
			ctx->call->n_out);
	for (int i = 0; i < queue->components; i++) {
		if (queue->dtype[i] != ctx->call->out_dtype[i])
			return DFG_ERR(DFG_DATA, "component %d of queue '%s' is %s, expected %s", i, queue->resource.name,
				dfg_dtype_name((enum dfg_dtype)queue->dtype[i]),
				dfg_dtype_name((enum dfg_dtype)ctx->call->out_dtype[i]));
		if (many && !queue->kind.pads && !dfg_shape_known(&queue->shape[i]))
			return DFG_ERR(
				DFG_DATA, "queue '%s' has unknown shapes, so elements cannot be stacked", queue->resource.name);
	}
	*out_wanted = 1;
	if (many)
		DFG_TRY(dfg_element_index(ctx, 1, out_wanted));
	return *out_wanted < 0 ? DFG_ERR(DFG_DATA, "n is %" PRId64 ", expected at least 0", *out_wanted) : NULL;
}

static struct dfg_err *take(struct dfg_kernel *ctx, bool many, bool fewer)
{
	struct dfg_attempt *attempt = attempt_after_pause(ctx);
	bool done = attempt;
	int64_t wanted;
	if (!done) {
		DFG_TRY(check_take(ctx, many, &wanted));
		DFG_TRY(new_attempt(1, wanted, &attempt));
		attempt->takes = true;
		attempt->fewer = fewer;
		DFG_TRY(try(ctx, attempt, &done));
	}
	if (!done)
		return NULL;
	struct dfg_err *err = take_err(attempt);
	if (!err)
		err = many ? give_many(ctx, attempt) : give_one(ctx, attempt);
	dfg_attempt_free(attempt);
	return err;
}

static struct dfg_err *dequeue_run(struct dfg_kernel *ctx)
{
	return take(ctx, false, false);
}

static struct dfg_err *dequeue_many_run(struct dfg_kernel *ctx)
{
	return take(ctx, true, false);
}

static struct dfg_err *dequeue_up_to_run(struct dfg_kernel *ctx)
{
	return take(ctx, true, true);
}

#define DEQUEUE(Name, text, more, shape_, run_)                                                        \
	const struct dfg_op dfg_op_##Name = {                                                              \
		.name = #Name,                                                                                 \
		.doc = text,                                                                                   \
		.sig = "<component_types: [type]>(handle: resource" more ") -> (components: component_types)", \
		.attr = {"timeout_ms: int = -1"},                                                              \
		.flags = DFG_STATEFUL | DFG_TAKES | DFG_BLOCKING | DFG_ANY_RANK | DFG_NO_GRADIENT,             \
		.shape = shape_,                                                                               \
		.run = run_,                                                                                   \
	};
DEQUEUE(QueueDequeueV2, "one element; waits until there is one", "", dfg_queue_take_shape, dequeue_run)
DEQUEUE(QueueDequeueManyV2, "n elements as rows; waits until there are n", ", n: i32", dfg_queue_take_many_shape,
	dequeue_many_run)
DEQUEUE(QueueDequeueUpToV2, "n elements as rows, or fewer if the queue is closed", ", n: i32",
	dfg_queue_take_up_to_shape, dequeue_up_to_run)

/* Ops that do not wait. */

static struct dfg_err *close_run(struct dfg_kernel *ctx)
{
	struct dfg_queue *queue;
	DFG_TRY(dfg_object_in(ctx, 0, dfg_queue_kind, &queue));
	dfg_queue_close(queue, dfg_kernel_attr(ctx)[0].b);
	return NULL;
}

const struct dfg_op dfg_op_QueueCloseV2 = {
	.name = "QueueCloseV2",
	.doc =
		"closes the queue to new elements; enqueues that wait still complete, or fail if cancel_pending_enqueues is "
		"true",
	.sig = "(handle: resource) -> ()",
	.attr = {"cancel_pending_enqueues: bool = false"},
	.flags = DFG_STATEFUL | DFG_WRITES | DFG_NO_GRADIENT,
	.shape = no_shape,
	.run = close_run,
};

static struct dfg_err *size_run(struct dfg_kernel *ctx)
{
	struct dfg_queue *queue;
	struct dfg_tensor *out;
	DFG_TRY(dfg_object_in(ctx, 0, dfg_queue_kind, &queue));
	DFG_TRY(dfg_kernel_output(ctx, 0, &DFG_SHAPE_SCALAR, &out));
	*(int32_t *)out->data = (int32_t)dfg_queue_size(queue);
	return NULL;
}

const struct dfg_op dfg_op_QueueSizeV2 = {
	.name = "QueueSizeV2",
	.doc = "number of elements in the queue",
	.sig = "(handle: resource) -> (size: i32)",
	.flags = DFG_STATEFUL | DFG_READS | DFG_NO_GRADIENT,
	.shape = scalar_shape,
	.run = size_run,
};

static struct dfg_err *is_closed_run(struct dfg_kernel *ctx)
{
	struct dfg_queue *queue;
	struct dfg_tensor *out;
	DFG_TRY(dfg_object_in(ctx, 0, dfg_queue_kind, &queue));
	DFG_TRY(dfg_kernel_output(ctx, 0, &DFG_SHAPE_SCALAR, &out));
	*(bool *)out->data = dfg_queue_is_closed(queue);
	return NULL;
}

const struct dfg_op dfg_op_QueueIsClosedV2 = {
	.name = "QueueIsClosedV2",
	.doc = "whether the queue is closed",
	.sig = "(handle: resource) -> (is_closed: bool)",
	.flags = DFG_STATEFUL | DFG_READS | DFG_NO_GRADIENT,
	.shape = scalar_shape,
	.run = is_closed_run,
};
