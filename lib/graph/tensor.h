#pragma once

#include "lib/base/arena.h"
#include "lib/base/err.h"
#include "lib/base/mem.h"
#include "lib/graph/dtype.h"

#include <stdatomic.h>

enum {
	DFG_RANK_MAX = 8,
	DFG_UNKNOWN = -1,
};

/* By value. A dim, or the rank, may be DFG_UNKNOWN until the graph runs. */
struct dfg_shape {
	int rank;
	int64_t dim[DFG_RANK_MAX]; /* in elements, the outermost first; 0 from .rank on */
};

#define DFG_SHAPE_UNKNOWN ((struct dfg_shape){.rank = DFG_UNKNOWN})
#define DFG_SHAPE_SCALAR ((struct dfg_shape){.rank = 0})
#define DFG_SHAPE_VECTOR(n) ((struct dfg_shape){.rank = 1, .dim = {n}})

/*
 * The number of elements, and of bytes. Only the second checks for overflow, of the product of all dims that are not 0;
 * a shape that it accepts can be counted.
 */
int64_t dfg_shape_count(const struct dfg_shape *shape);
DFG_MUST_CHECK struct dfg_err *dfg_shape_bytes(const struct dfg_shape *shape, enum dfg_dtype dtype, size_t *out_bytes);

bool dfg_shape_equal(const struct dfg_shape *a, const struct dfg_shape *b);
bool dfg_shape_known(const struct dfg_shape *shape); /* rank and every dim */

/* Whether both can be the same shape; an unknown dim or rank fits any. */
bool dfg_shape_fits(const struct dfg_shape *a, const struct dfg_shape *b);

/* The shape with the dims that either knows; they must fit. */
struct dfg_shape dfg_shape_merge(const struct dfg_shape *a, const struct dfg_shape *b);

/* The shape that all n_in > 0 shapes broadcast to, by NumPy's rule. */
DFG_MUST_CHECK struct dfg_err *dfg_shape_broadcast(
	const struct dfg_shape *const *in, int n_in, struct dfg_shape *out_shape);

/* "[3,?]", "[...]" for an unknown rank. dfg_shape_words(&shape).s lives to the end of the full expression. */
struct dfg_words {
	char s[DFG_RANK_MAX * 21 + 24];
};
struct dfg_words dfg_shape_words(const struct dfg_shape *shape);

/* "f32[3,?]" */
struct dfg_words dfg_type_words(enum dfg_dtype dtype, const struct dfg_shape *shape);

/*
 * The target of a handle: an element of a resource tensor is a pointer to one. Each kind of resource begins with this
 * struct, is reference-counted and has its own function to free it; variables are in lib/exec/state/state.h.
 */
struct dfg_resource {
	atomic_uint refs;
	const char *kind; /* "variable": a handle is checked against it */
	const char *name;
	void (*free)(struct dfg_resource *resource);
};
static inline struct dfg_resource *dfg_resource_ref(struct dfg_resource *resource)
{
	if (resource)
		atomic_fetch_add_explicit(&resource->refs, 1, memory_order_relaxed);
	return resource;
}
static inline void dfg_resource_unref(struct dfg_resource *resource)
{
	if (resource && atomic_fetch_sub_explicit(&resource->refs, 1, memory_order_acq_rel) == 1)
		resource->free(resource);
}

/*
 * The memory of a tensor's elements, reference-counted. A holder of a reference may read it, and the only holder may
 * write it. The bytes of strings, and references to resources, belong to the buffer.
 */
struct dfg_device; /* lib/exec/device/device.h */
struct dfg_buffer {
	atomic_uint refs;
	enum dfg_dtype holds;
	size_t capacity;                            /* bytes at data */
	void *data;                                 /* aligned to DFG_ALIGN */
	struct dfg_arena strings;                   /* bytes of the elements of a string tensor */
	void (*release)(struct dfg_buffer *buffer); /* frees a mapped or pooled buffer; or NULL */
	void *owner;                                /* for release() */
	struct dfg_device *device; /* whose memory `data` is, so that it must not be read; NULL: the host's */
};

enum { DFG_ALIGN = 64 };

/* A buffer with one reference. data is undefined, or zeroed if the elements are objects. */
DFG_MUST_CHECK struct dfg_err *dfg_buffer_new(enum dfg_dtype dtype, size_t bytes, struct dfg_buffer **out_buffer);
static inline struct dfg_buffer *dfg_buffer_ref(struct dfg_buffer *buffer)
{
	if (buffer)
		atomic_fetch_add_explicit(&buffer->refs, 1, memory_order_relaxed);
	return buffer;
}
void dfg_buffer_unref(struct dfg_buffer *buffer); /* buffer may be NULL */

/*
 * A tensor, passed by value; data is in C order. With a buffer the tensor holds one reference to it, and data points
 * into it; without one, data is borrowed from an owner that lives longer.
 */
struct dfg_tensor {
	enum dfg_dtype dtype;
	struct dfg_shape shape;
	void *data;
	size_t capacity; /* usable bytes at data */
	struct dfg_buffer *buffer;
};

/* A tensor with a buffer of its own. Elements are undefined, objects zero. */
DFG_MUST_CHECK struct dfg_err *dfg_tensor_new(
	enum dfg_dtype dtype, const struct dfg_shape *shape, struct dfg_tensor *out_tensor);

/* Another reference to the same elements; a borrowed tensor gets a copy with a buffer. */
DFG_MUST_CHECK struct dfg_err *dfg_tensor_share(const struct dfg_tensor *tensor, struct dfg_tensor *out_tensor);

/* A copy with a buffer of its own. */
DFG_MUST_CHECK struct dfg_err *dfg_tensor_copy(const struct dfg_tensor *tensor, struct dfg_tensor *out_tensor);

/* Drops the reference, if there is one, and zeroes the tensor. */
void dfg_tensor_release(struct dfg_tensor *tensor);

/* The bytes of the elements; cannot overflow, because the tensor exists. */
static inline size_t dfg_tensor_bytes(const struct dfg_tensor *tensor)
{
	return (size_t)dfg_shape_count(&tensor->shape) * dfg_dtype_size(tensor->dtype);
}

/* The address of element i. */
static inline void *dfg_tensor_at(const struct dfg_tensor *tensor, int64_t i)
{
	return (char *)tensor->data + (size_t)i * dfg_dtype_size(tensor->dtype);
}

/* Element i of a tensor of any integer type or bool, widened; of any plain real type. */
int64_t dfg_tensor_int(const struct dfg_tensor *tensor, int64_t i);
double dfg_tensor_float(const struct dfg_tensor *tensor, int64_t i);

/* Sets element i of a tensor of i32 or i64, cut to its type. */
static inline void dfg_tensor_put_int(struct dfg_tensor *tensor, int64_t i, int64_t value)
{
	if (tensor->dtype == DFG_I64)
		((int64_t *)tensor->data)[i] = value;
	else
		((int32_t *)tensor->data)[i] = (int32_t)value;
}

/* Copies the bytes into the buffer, of strings, and makes the element refer to them. */
DFG_MUST_CHECK struct dfg_err *dfg_buffer_string(
	struct dfg_buffer *buffer, const void *bytes, size_t length, struct dfg_string *out_element);

/* Halves. Rounded to nearest, ties to even. */
float dfg_f16_widen(uint16_t bits);
uint16_t dfg_f16_round(float value);
static inline float dfg_bf16_widen(uint16_t bits)
{
	union {
		uint32_t bits;
		float value;
	} wide = {(uint32_t)bits << 16};
	return wide.value;
}
uint16_t dfg_bf16_round(float value);

/* Writes an f64 as f32, f64, f16 or bf16, rounded once. dfg_convert(), like Cast, rounds to a half by way of f32. */
void dfg_put_real(enum dfg_dtype dtype, void *to, double value);

/*
 * Converts n elements from one plain type to another, halves included. Floats to integers saturate, and NaN becomes 0;
 * otherwise as in C.
 */
void dfg_convert(enum dfg_dtype to, void *out, enum dfg_dtype from, const void *in, int64_t n);

/*
 * Concatenates the rows of 1 or more tensors along axis 0; those without a dtype are passed over. DFG_DATA if the other
 * extents or the dtypes differ, or a tensor is a scalar or a handle.
 */
DFG_MUST_CHECK struct dfg_err *dfg_tensor_concatenate(
	const struct dfg_tensor *part, size_t parts, struct dfg_tensor *out_tensor);
