#pragma once

#include "kernels/resource.h"

/*
 * A list of tensors: an immutable value to which an element of a variant tensor refers. Lists made by pushes share a
 * row of elements: a list is the first `count` of its row. A push onto a list that has all of the row extends the row,
 * even if other lists have a shorter part of it; otherwise references are copied. An op changes a list in place if it
 * is the only holder.
 *
 * A list with at most one element set has no row. The gradient of reading an element is such a list, as long as the one
 * that was read, and adding it to another costs one element.
 */
struct dfg_tensor_list_row {
	atomic_uint refs;
	atomic_llong used;      /* elements that are in a list */
	int64_t allocated;      /* elements allocated */
	struct dfg_tensor at[]; /* DFG_NO_DTYPE: not set */
};

struct dfg_tensor_list {
	struct dfg_object object;
	enum dfg_dtype dtype;
	struct dfg_shape element; /* of all elements, as far as known */
	int64_t most;             /* limit of elements for pushes; < 0: unlimited */
	int64_t count;
	struct dfg_tensor_list_row *row; /* NULL: at most `single` is set */
	struct dfg_tensor single;
	int64_t single_at; /* index of `single`; -1: not set */
};

/* A new empty list with one reference. */
DFG_MUST_CHECK struct dfg_err *dfg_tensor_list_new(
	enum dfg_dtype dtype, const struct dfg_shape *element, struct dfg_tensor_list **out_list);

/* The list to which input i refers, borrowed, of elements of that dtype (DFG_NO_DTYPE: any). */
DFG_MUST_CHECK struct dfg_err *dfg_tensor_list_in(
	struct dfg_kernel *ctx, int i, enum dfg_dtype dtype, const struct dfg_tensor_list **out_list);

/* A new list that shares the elements of another. */
DFG_MUST_CHECK struct dfg_err *dfg_tensor_list_copy(
	const struct dfg_tensor_list *list, struct dfg_tensor_list **out_list);

/*
 * A list that may be changed and then passed to dfg_tensor_list_out(): that of input 0 if it has no other holder, else
 * a new one that shares its elements.
 */
DFG_MUST_CHECK struct dfg_err *dfg_tensor_list_change(
	struct dfg_kernel *ctx, enum dfg_dtype dtype, struct dfg_tensor_list **out_list);

/* Sets output i to the list; takes the reference. */
DFG_MUST_CHECK struct dfg_err *dfg_tensor_list_out(struct dfg_kernel *ctx, int i, struct dfg_tensor_list *list);
static inline void dfg_tensor_list_drop(struct dfg_tensor_list *list)
{
	dfg_resource_unref(&list->object.resource);
}

/* Element i; its dtype is DFG_NO_DTYPE if it is not set. */
static inline const struct dfg_tensor *dfg_tensor_list_at(const struct dfg_tensor_list *list, int64_t i)
{
	static const struct dfg_tensor unset = {0};
	if (list->row)
		return &list->row->at[i];
	return i == list->single_at ? &list->single : &unset;
}

/* For lists that may be changed. Take the element, which must have a buffer, also when they fail. */
DFG_MUST_CHECK struct dfg_err *dfg_tensor_list_push(struct dfg_tensor_list *list, struct dfg_tensor *element);
DFG_MUST_CHECK struct dfg_err *dfg_tensor_list_set(
	struct dfg_tensor_list *list, int64_t index, struct dfg_tensor *element);
DFG_MUST_CHECK struct dfg_err *dfg_tensor_list_resize(struct dfg_tensor_list *list, int64_t count);

/* list += term, element by element. */
DFG_MUST_CHECK struct dfg_err *dfg_tensor_list_add(struct dfg_tensor_list *list, const struct dfg_tensor_list *term);

/* Removes the last element; the caller owns its reference. */
DFG_MUST_CHECK struct dfg_err *dfg_tensor_list_pop(struct dfg_tensor_list *list, struct dfg_tensor *out_element);

/* DFG_DATA if the index is outside the list. */
DFG_MUST_CHECK struct dfg_err *dfg_tensor_list_check(const struct dfg_tensor_list *list, int64_t index);

/* The shape of elements that are not set: by the list, `like` and an element that is set. DFG_DATA if it is unknown. */
DFG_MUST_CHECK struct dfg_err *dfg_tensor_list_unset(
	const struct dfg_tensor_list *list, const struct dfg_shape *like, struct dfg_shape *out_shape);

/*
 * For shape functions: the elements' shape of the list in input i, or unknown; DFG_DATA if they are of another dtype.
 * And the facts of the list that is output o.
 */
DFG_MUST_CHECK struct dfg_err *dfg_tensor_list_holds(
	const struct dfg_infer *node, int i, enum dfg_dtype dtype, struct dfg_shape *out_element);
DFG_MUST_CHECK struct dfg_err *dfg_tensor_list_infer(
	struct dfg_infer *node, int o, enum dfg_dtype dtype, const struct dfg_shape *element);

/* For shape functions: the shape by the value of input i, a vector or -1, as far as it is known. */
DFG_MUST_CHECK struct dfg_err *dfg_tensor_list_shape_input(
	const struct dfg_infer *node, int i, struct dfg_shape *out_shape);
