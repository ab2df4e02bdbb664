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
	int64_t dim[DFG_RANK_MAX]; /* outermost first, in elements; those behind rank are 0 */
};

#define DFG_SHAPE_UNKNOWN ((struct dfg_shape){.rank = DFG_UNKNOWN})
#define DFG_SHAPE_SCALAR ((struct dfg_shape){.rank = 0})
#define DFG_SHAPE_VECTOR(n) ((struct dfg_shape){.rank = 1, .dim = {n}})

/* Elements, and bytes. Only the second checks for overflow (on the non-zero dims): what has passed it can be counted. */
int64_t dfg_shape_count(const struct dfg_shape *shape);
DFG_MUST_CHECK struct dfg_err *dfg_shape_bytes(const struct dfg_shape *shape, enum dfg_dtype dtype, size_t *out_bytes);

bool dfg_shape_equal(const struct dfg_shape *a, const struct dfg_shape *b);
bool dfg_shape_known(const struct dfg_shape *shape); /* rank and every dim */

/* Can both be the same shape? Unknown fits anything. */
bool dfg_shape_fits(const struct dfg_shape *a, const struct dfg_shape *b);

/* What both say together of one shape; they must fit. */
struct dfg_shape dfg_shape_merge(const struct dfg_shape *a, const struct dfg_shape *b);

/* The shape that all n_in > 0 stretch to, by NumPy's rule. */
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
 * What a handle refers to: an element of a resource tensor is a pointer to one. Everything of the kind begins with this;
 * it is counted, and freed by its own function. lib/exec/state/state.h has the variables.
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
 * Room for a tensor's elements, counted. Whoever holds a reference may read; whoever holds the only one may write. The
 * bytes of strings, and references to resources, belong to the buffer.
 */
struct dfg_buffer {
	atomic_uint refs;
	enum dfg_dtype holds;
	size_t room;                                /* bytes at data */
	void *data;                                 /* aligned to DFG_ALIGN */
	struct dfg_arena strings;                   /* bytes of the elements of a string tensor */
	void (*release)(struct dfg_buffer *buffer); /* instead of giving data back: mapped files, pools */
	void *owner;                                /* release's own */
};

enum { DFG_ALIGN = 64 };

/* One reference; data undefined, but zeroed where elements are objects. */
DFG_MUST_CHECK struct dfg_err *dfg_buffer_new(enum dfg_dtype dtype, size_t bytes, struct dfg_buffer **out_buffer);
static inline struct dfg_buffer *dfg_buffer_ref(struct dfg_buffer *buffer)
{
	if (buffer)
		atomic_fetch_add_explicit(&buffer->refs, 1, memory_order_relaxed);
	return buffer;
}
void dfg_buffer_unref(struct dfg_buffer *buffer); /* NULL is fine */

/*
 * By value; data in C order. buffer says who owns the data: with a buffer this tensor holds one reference to it; without,
 * data is borrowed from something that the holder knows to live longer. A view has data inside its buffer's.
 */
struct dfg_tensor {
	enum dfg_dtype dtype;
	struct dfg_shape shape;
	void *data;
	size_t room; /* bytes at data that may be used */
	struct dfg_buffer *buffer;
};

/* A tensor with a buffer of its own, elements undefined (objects: zero). */
DFG_MUST_CHECK struct dfg_err *dfg_tensor_new(
	enum dfg_dtype dtype, const struct dfg_shape *shape, struct dfg_tensor *out_tensor);

/* Another reference to the same elements; a borrowed tensor gets a copy with a buffer. */
DFG_MUST_CHECK struct dfg_err *dfg_tensor_share(const struct dfg_tensor *tensor, struct dfg_tensor *out_tensor);

/* A copy with a buffer of its own. */
DFG_MUST_CHECK struct dfg_err *dfg_tensor_copy(const struct dfg_tensor *tensor, struct dfg_tensor *out_tensor);

/* Gives the reference back, if there is one; the tensor is zeroed. */
void dfg_tensor_release(struct dfg_tensor *tensor);

/* Bytes of the elements, which exist; cannot overflow. */
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

/* Copies bytes into a buffer of strings and makes them its element. */
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

/* An f64 as f32, f64, f16 or bf16, rounded once, at `to`. dfg_convert, as Cast, rounds to a half through f32. */
void dfg_put_real(enum dfg_dtype dtype, void *to, double value);

/* n elements from one plain type to another (halves too): saturating to integers, NaN to 0, as C elsewhere. */
void dfg_convert(enum dfg_dtype to, void *out, enum dfg_dtype from, const void *in, int64_t n);
