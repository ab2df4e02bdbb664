#pragma once

#include "kernels/resource.h"

#include <pthread.h>

/*
 * A tensor array: tensors by index, each written once and, unless clears is off, read once. The ops are ordered by a
 * scalar, the flow, that goes from one to the next; all are safe on any threads.
 *
 * A gradient array belongs to another array and a source: a name for one call of the gradient, so that two never mix.
 * What is written to one of its elements is added up, when the element is read: in an order that does not depend on
 * the order in which the terms came.
 */
struct dfg_array_terms {
	struct dfg_tensor *at;
	size_t count, room;
};
struct dfg_array_element {
	void *data; /* in the buffer, of which it has a reference; NULL before it is written and when it was cleared */
	struct dfg_buffer *buffer;
	struct dfg_array_terms *terms; /* beside that, of a gradient array */
	uint32_t shape;                /* number in the array's shapes + 1; 0: not known. Stays when it was cleared, and is
	                                  the forward array's before it is written */
	bool is_written, is_read, is_cleared;
};

struct dfg_tensor_array {
	struct dfg_object object;
	pthread_mutex_t lock;
	enum dfg_dtype dtype;
	struct dfg_shape element; /* that all elements have, as far as known */
	struct dfg_shape row;     /* of elements of which none was written: those of an empty scatter */
	bool grows, clears, same, sums, closed;
	int64_t count;                  /* elements */
	size_t room;                    /* of them, those that something is known of */
	struct dfg_array_element *item; /* the first `room` */
	struct dfg_shape *shape;        /* of elements, in the order in which they came, equal ones in a row once */
	size_t n_shapes, shape_room;
	struct dfg_buffer *chunk; /* where small elements lie side by side; before `used` it is taken */
	size_t used;
	struct dfg_array_gradient {
		char *source;
		struct dfg_tensor_array *array;
	} * gradient;
	size_t n_gradient, gradient_room;
};

/* What a new array is. Lives as long as it is held. */
struct dfg_array_kind {
	enum dfg_dtype dtype;
	struct dfg_shape element;
	int64_t count;
	bool grows, clears, same, sums;
};
DFG_MUST_CHECK struct dfg_err *dfg_array_new(
	const char *name, const struct dfg_array_kind *kind, struct dfg_tensor_array **out_array);

/*
 * The array behind input 0, locked, of that dtype (DFG_NO_DTYPE: any). DFG_DATA, and not locked, where it is closed or
 * of another dtype.
 */
DFG_MUST_CHECK struct dfg_err *dfg_array_lock(
	struct dfg_kernel *ctx, enum dfg_dtype dtype, struct dfg_tensor_array **out_array);
static inline void dfg_array_unlock(struct dfg_tensor_array *array)
{
	pthread_mutex_unlock(&array->lock);
}

/* All under the lock. Takes the tensor, which must have a buffer, also where it fails. */
DFG_MUST_CHECK struct dfg_err *dfg_array_write(struct dfg_tensor_array *array, int64_t index, struct dfg_tensor *value);

/* A reference; zeros of the element's shape, given that all are like `like` too, where nothing was written. */
DFG_MUST_CHECK struct dfg_err *dfg_array_read(
	struct dfg_tensor_array *array, int64_t index, const struct dfg_shape *like, struct dfg_tensor *out_value);

/* Makes it at least count elements; DFG_DATA where it is smaller and does not grow. */
DFG_MUST_CHECK struct dfg_err *dfg_array_reach(struct dfg_tensor_array *array, int64_t count);

/* The shape of elements of which there is none. */
DFG_MUST_CHECK struct dfg_err *dfg_array_row(
	const struct dfg_tensor_array *array, const struct dfg_shape *like, struct dfg_shape *out_shape);

/*
 * The gradient array for the source, borrowed; made, with `before` in front of the elements' shapes, if there is none.
 * The array grows no more.
 */
DFG_MUST_CHECK struct dfg_err *dfg_array_gradient(struct dfg_tensor_array *array, struct dfg_string source,
	const struct dfg_shape *before, struct dfg_tensor_array **out_gradient);

void dfg_array_close(struct dfg_tensor_array *array);

/* Output i, a flow, is what input j is. */
DFG_MUST_CHECK struct dfg_err *dfg_array_flow(struct dfg_kernel *ctx, int i, int j);

/* Of shape functions: the shape of elements as the handle in input 0 tells, or unknown; DFG_DATA for another dtype. */
DFG_MUST_CHECK struct dfg_err *dfg_array_holds(
	const struct dfg_infer *node, enum dfg_dtype dtype, struct dfg_shape *out_element);
