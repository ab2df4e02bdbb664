#pragma once

#include "kernels/resource.h"

#include <pthread.h>

/*
 * A tensor array: tensors by index, each written once and, if `clears` is set, read once. A scalar, the flow, that each
 * op passes to the next orders them; all are thread safe.
 *
 * A gradient array belongs to another array and a source, the name of one call of the gradient, so that two calls do
 * not mix. The terms that are written to one of its elements are summed when the element is read, in an order that does
 * not depend on the order of their arrival.
 */
struct dfg_array_terms {
	struct dfg_tensor *at;
	size_t count, allocated;
};
struct dfg_array_element {
	void *data; /* in the buffer, to which it has a reference; NULL before it is written and after it is cleared */
	struct dfg_buffer *buffer;
	struct dfg_array_terms *terms; /* further terms of the sum, in a gradient array */
	uint32_t shape; /* index in the array's shapes + 1; 0: unknown. Valid after it is cleared too; before it
	                                  is written, that of the forward array */
	bool is_written, is_read, is_cleared;
};

struct dfg_tensor_array {
	struct dfg_object object;
	pthread_mutex_t lock;
	enum dfg_dtype dtype;
	struct dfg_shape element; /* of all elements, as far as known */
	struct dfg_shape row;     /* of the elements of an empty scatter; for reading an empty array */
	bool grows, clears, same, sums, closed;
	int64_t count;    /* elements */
	size_t allocated; /* elements of `item` that are allocated; those after them were never written */
	struct dfg_array_element *item;
	struct dfg_shape *shape; /* of elements, in the order of arrival; equal ones in sequence are stored once */
	size_t n_shapes, shapes_allocated;
	struct dfg_buffer *chunk; /* memory for small elements; its first `used` bytes are taken */
	size_t used;
	struct dfg_array_gradient {
		char *source;
		struct dfg_tensor_array *array;
	} * gradient;
	size_t n_gradient, gradients_allocated;
};

/* The attributes of a new array. */
struct dfg_array_kind {
	enum dfg_dtype dtype;
	struct dfg_shape element;
	int64_t count;
	bool grows, clears, same, sums;
};
DFG_MUST_CHECK struct dfg_err *dfg_array_new(
	const char *name, const struct dfg_array_kind *kind, struct dfg_tensor_array **out_array);

/*
 * The array to which input 0 refers, locked, of that dtype (DFG_NO_DTYPE: any). DFG_DATA, and not locked, if it is
 * closed or of another dtype.
 */
DFG_MUST_CHECK struct dfg_err *dfg_array_lock(
	struct dfg_kernel *ctx, enum dfg_dtype dtype, struct dfg_tensor_array **out_array);
static inline void dfg_array_unlock(struct dfg_tensor_array *array)
{
	pthread_mutex_unlock(&array->lock);
}

/* The following require the lock. Writes an element; takes the tensor, which must have a buffer, also when it fails. */
DFG_MUST_CHECK struct dfg_err *dfg_array_write(struct dfg_tensor_array *array, int64_t index, struct dfg_tensor *value);

/* Reads an element as a new reference; if it was never written, zeros of the shape merged with `like`. */
DFG_MUST_CHECK struct dfg_err *dfg_array_read(
	struct dfg_tensor_array *array, int64_t index, const struct dfg_shape *like, struct dfg_tensor *out_value);

/* Grows the array to at least count elements; DFG_DATA if it is smaller and must not grow. */
DFG_MUST_CHECK struct dfg_err *dfg_array_reach(struct dfg_tensor_array *array, int64_t count);

/* The shape of the elements of an empty array, merged with `like`; DFG_DATA if it is unknown. */
DFG_MUST_CHECK struct dfg_err *dfg_array_row(
	const struct dfg_tensor_array *array, const struct dfg_shape *like, struct dfg_shape *out_shape);

/*
 * The gradient array for the source, borrowed; created, with `before` prepended to the elements' shapes, if there is
 * none. The array does not grow afterwards.
 */
DFG_MUST_CHECK struct dfg_err *dfg_array_gradient(struct dfg_tensor_array *array, struct dfg_string source,
	const struct dfg_shape *before, struct dfg_tensor_array **out_gradient);

void dfg_array_close(struct dfg_tensor_array *array);

/* Sets output i, a flow, to input j. */
DFG_MUST_CHECK struct dfg_err *dfg_array_flow(struct dfg_kernel *ctx, int i, int j);

/* For shape functions: the elements' shape by the handle in input 0, or unknown; DFG_DATA if it is of another dtype. */
DFG_MUST_CHECK struct dfg_err *dfg_array_holds(
	const struct dfg_infer *node, enum dfg_dtype dtype, struct dfg_shape *out_element);
