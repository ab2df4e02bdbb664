#pragma once

#include "lib/graph/kernel.h"

/*
 * What arrays, stacks, lists and optionals share: objects that an element of a resource or variant tensor points to, and
 * the tensors that they hold.
 *
 * Objects are counted, so none may hold itself, however far round. Each has a level, and holds only what is of a lower
 * one; lists and optionals, which never change, are of that of their elements. An array's level, 1 at first, and a
 * stack's, 2, rises with what it holds, until something holds it: so arrays of arrays are filled from the inside.
 */
struct dfg_object {
	struct dfg_resource resource;
	atomic_int level; /* with a bit for one that rises no more */
	int depth;        /* lists in each other: they are given back one inside the other */
};

extern const char dfg_array_kind[], dfg_stack_kind[], dfg_tensor_list_kind[], dfg_optional_kind[];

/* One reference. The name is copied; it must be in front of the object: dfg_object_new takes the room of both. */
DFG_MUST_CHECK struct dfg_err *dfg_object_new(size_t bytes, const char *kind, const char *name, void *out_object);

/* The object of that kind behind input i, borrowed. */
DFG_MUST_CHECK struct dfg_err *dfg_object_in(struct dfg_kernel *ctx, int i, const char *kind, void *out_object);

/* Output i is a scalar that refers to it. Takes the reference. */
DFG_MUST_CHECK struct dfg_err *dfg_object_out(struct dfg_kernel *ctx, int i, struct dfg_resource *object);

/* Before the object takes the element: refuses what could close a ring; level and depth grow with it. */
DFG_MUST_CHECK struct dfg_err *dfg_object_hold(struct dfg_object *object, const struct dfg_tensor *element);

/* The level that it has from now on: it rises no more. */
int dfg_object_settle(struct dfg_object *object);

/* Input i, an i32 scalar. */
DFG_MUST_CHECK struct dfg_err *dfg_held_index(struct dfg_kernel *ctx, int i, int64_t *out_index);

/* Input i is a vector of integers: how many. */
DFG_MUST_CHECK struct dfg_err *dfg_held_indices(struct dfg_kernel *ctx, int i, int64_t *out_count);

/* Zeros (false, "", nothing) with a buffer of their own. */
DFG_MUST_CHECK struct dfg_err *dfg_held_zeros(
	enum dfg_dtype dtype, const struct dfg_shape *shape, struct dfg_tensor *out_tensor);

/* Rows [first, first + count) of a tensor with a buffer, which the part shares; its shape is given. */
struct dfg_tensor dfg_held_part(const struct dfg_tensor *whole, int64_t first_element, const struct dfg_shape *shape);

/* Output i of that shape is the n parts one behind the other. A part without dtype is zeros: as many as an n-th. */
DFG_MUST_CHECK struct dfg_err *dfg_held_join(
	struct dfg_kernel *ctx, int i, const struct dfg_tensor *const *part, int64_t n, const struct dfg_shape *shape);

/* sum += term, in place where nobody else sees it. Both of one dtype and shape; lists and optionals element by element. */
DFG_MUST_CHECK struct dfg_err *dfg_held_add(struct dfg_tensor *sum, const struct dfg_tensor *term);

/* The same of tensors of variants, in place: nobody else may have their elements. */
DFG_MUST_CHECK struct dfg_err *dfg_held_add_variants(struct dfg_tensor *sum, const struct dfg_tensor *term);

/* [n] + shape, and the shape without its first dim; what is unknown stays so. */
DFG_MUST_CHECK struct dfg_err *dfg_held_rows(int64_t n, const struct dfg_shape *element, struct dfg_shape *out_shape);
struct dfg_shape dfg_held_element(const struct dfg_shape *rows);

/* Both together; DFG_DATA where they do not fit. */
DFG_MUST_CHECK struct dfg_err *dfg_held_merge(
	const struct dfg_shape *a, const struct dfg_shape *b, struct dfg_shape *out_shape);

/* The shape that input i spells: a vector, or the scalar -1 for any. */
DFG_MUST_CHECK struct dfg_err *dfg_held_shape(const struct dfg_tensor *spelt, struct dfg_shape *out_shape);

/* sum += term, of two variants; and zeros like one: lists and optionals, or NULL for nothing. A reference each. */
DFG_MUST_CHECK struct dfg_err *dfg_variant_add(struct dfg_resource **sum, struct dfg_resource *term);
DFG_MUST_CHECK struct dfg_err *dfg_variant_zeros(const struct dfg_resource *like, struct dfg_resource **out_zeros);
