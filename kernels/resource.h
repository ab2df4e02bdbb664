#pragma once

#include "lib/graph/kernel.h"

/*
 * Arrays, stacks, lists and optionals: objects to which an element of a resource or variant tensor refers, and the
 * tensors that they contain.
 *
 * Objects are reference counted, so they must not form cycles. Each object has a level and contains only objects of
 * lower levels. Lists and optionals are immutable, and have the level of their elements. The level of an array is 1 at
 * first, that of a stack 2; it rises with their elements until another object contains them. Arrays of arrays are
 * therefore filled from the inside.
 */
struct dfg_object {
	struct dfg_resource resource;
	atomic_int level; /* with a bit that is set when the level is settled */
	int depth;        /* of nested lists: bounded, because they are freed recursively */
};

extern const char dfg_array_kind[], dfg_stack_kind[], dfg_tensor_list_kind[], dfg_optional_kind[];

/*
 * A new object, which begins with struct dfg_object, with one reference; memory of `bytes` and for a copy of the name.
 */
DFG_MUST_CHECK struct dfg_err *dfg_object_new(size_t bytes, const char *kind, const char *name, void *out_object);

/* The object of that kind to which input i refers, borrowed; DFG_DATA if it is of another kind. */
DFG_MUST_CHECK struct dfg_err *dfg_object_in(struct dfg_kernel *ctx, int i, const char *kind, void *out_object);

/* Sets output i to a scalar that refers to the object. Takes the reference. */
DFG_MUST_CHECK struct dfg_err *dfg_object_out(struct dfg_kernel *ctx, int i, struct dfg_resource *object);

/* Raises level and depth before the object takes an element; DFG_DATA if the element could close a cycle. */
DFG_MUST_CHECK struct dfg_err *dfg_object_hold(struct dfg_object *object, const struct dfg_tensor *element);

/* Settles the object's level, which does not rise afterwards, and returns it. */
int dfg_object_settle(struct dfg_object *object);

/* The value of input i, an i32 scalar. */
DFG_MUST_CHECK struct dfg_err *dfg_element_index(struct dfg_kernel *ctx, int i, int64_t *out_index);

/* The length of input i, a vector of integers. */
DFG_MUST_CHECK struct dfg_err *dfg_element_indices(struct dfg_kernel *ctx, int i, int64_t *out_count);

/* Zeros (false, "", no object) with their own buffer. */
DFG_MUST_CHECK struct dfg_err *dfg_element_zeros(
	enum dfg_dtype dtype, const struct dfg_shape *shape, struct dfg_tensor *out_tensor);

/* The part of the given shape that begins at an element of a tensor with a buffer, which the part shares. */
struct dfg_tensor dfg_element_part(
	const struct dfg_tensor *whole, int64_t first_element, const struct dfg_shape *shape);

/* Output i of that shape is the n parts one after another. A part without dtype is zeros: an n-th of the output. */
DFG_MUST_CHECK struct dfg_err *dfg_element_join(
	struct dfg_kernel *ctx, int i, const struct dfg_tensor *const *part, int64_t n, const struct dfg_shape *shape);

/* sum += term, in place if sum has no other holder. Equal dtypes and shapes; lists and optionals element by element. */
DFG_MUST_CHECK struct dfg_err *dfg_element_add(struct dfg_tensor *sum, const struct dfg_tensor *term);

/* The same for tensors of variants, in place: their elements must have no other holder. */
DFG_MUST_CHECK struct dfg_err *dfg_element_add_variants(struct dfg_tensor *sum, const struct dfg_tensor *term);

/* [n] + shape, and a shape without its first dimension; those of unknown shapes are unknown. */
DFG_MUST_CHECK struct dfg_err *dfg_element_rows(
	int64_t n, const struct dfg_shape *element, struct dfg_shape *out_shape);
struct dfg_shape dfg_element_of_rows(const struct dfg_shape *rows);

/* The merged shape; DFG_DATA if they do not fit each other. */
DFG_MUST_CHECK struct dfg_err *dfg_element_merge(
	const struct dfg_shape *a, const struct dfg_shape *b, struct dfg_shape *out_shape);

/* The shape given by a value: a vector of dimensions, or the scalar -1 for any shape. */
DFG_MUST_CHECK struct dfg_err *dfg_element_shape(const struct dfg_tensor *value, struct dfg_shape *out_shape);

/* sum += term for two variants, and zeros like one: lists, optionals, or NULL. Results have one reference. */
DFG_MUST_CHECK struct dfg_err *dfg_variant_add(struct dfg_resource **sum, struct dfg_resource *term);
DFG_MUST_CHECK struct dfg_err *dfg_variant_zeros(const struct dfg_resource *like, struct dfg_resource **out_zeros);
