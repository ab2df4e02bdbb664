#pragma once

#include "kernels/resource.h"

/*
 * A list of tensors: an immutable value, behind an element of a variant tensor. Lists that grew out of each other share
 * their elements: a list is the first `count` of a row of them, and to push onto one that is the whole row is to make the
 * row longer, whoever else has the shorter list. Otherwise the references are copied. An op whose list nobody else has
 * changes it in place.
 *
 * A list of which at most one element is set needs no row: the gradient of reading an element is one, as long as what was
 * read from, and adding it to another costs no more than the one element.
 */
struct dfg_tensor_list_row {
	atomic_uint refs;
	atomic_llong used; /* elements that some list has */
	int64_t room;
	struct dfg_tensor at[]; /* without dtype: never set */
};

struct dfg_tensor_list {
	struct dfg_object object;
	enum dfg_dtype dtype;
	struct dfg_shape element; /* that all elements have, as far as known */
	int64_t most;             /* elements a push may make; < 0: any */
	int64_t count;
	struct dfg_tensor_list_row *row; /* NULL: only what follows is set */
	struct dfg_tensor single;
	int64_t single_at; /* -1: none is */
};

/* An empty list. */
DFG_MUST_CHECK struct dfg_err *dfg_tensor_list_new(
	enum dfg_dtype dtype, const struct dfg_shape *element, struct dfg_tensor_list **out_list);

/* The list behind input i, borrowed, of elements of that dtype (DFG_NO_DTYPE: any). */
DFG_MUST_CHECK struct dfg_err *dfg_tensor_list_in(
	struct dfg_kernel *ctx, int i, enum dfg_dtype dtype, const struct dfg_tensor_list **out_list);

/* Another list with the same elements, which they share. */
DFG_MUST_CHECK struct dfg_err *dfg_tensor_list_copy(
	const struct dfg_tensor_list *list, struct dfg_tensor_list **out_list);

/*
 * A list to change, given out by dfg_tensor_list_out: that behind input 0 where nobody else has it, else one that shares its
 * elements.
 */
DFG_MUST_CHECK struct dfg_err *dfg_tensor_list_change(
	struct dfg_kernel *ctx, enum dfg_dtype dtype, struct dfg_tensor_list **out_list);

/* Output i is the list; takes the reference. */
DFG_MUST_CHECK struct dfg_err *dfg_tensor_list_out(struct dfg_kernel *ctx, int i, struct dfg_tensor_list *list);
static inline void dfg_tensor_list_drop(struct dfg_tensor_list *list)
{
	dfg_resource_unref(&list->object.resource);
}

/* Element i, without dtype where it was never set. */
static inline const struct dfg_tensor *dfg_tensor_list_at(const struct dfg_tensor_list *list, int64_t i)
{
	static const struct dfg_tensor unset = {0};
	if (list->row)
		return &list->row->at[i];
	return i == list->single_at ? &list->single : &unset;
}

/* Of a list to change. Elements are taken, also where it fails; they must have a buffer. */
DFG_MUST_CHECK struct dfg_err *dfg_tensor_list_push(struct dfg_tensor_list *list, struct dfg_tensor *element);
DFG_MUST_CHECK struct dfg_err *dfg_tensor_list_set(
	struct dfg_tensor_list *list, int64_t index, struct dfg_tensor *element);
DFG_MUST_CHECK struct dfg_err *dfg_tensor_list_resize(struct dfg_tensor_list *list, int64_t count);

/* list += term, element by element. */
DFG_MUST_CHECK struct dfg_err *dfg_tensor_list_add(struct dfg_tensor_list *list, const struct dfg_tensor_list *term);

/* The last element, as a reference of its own; the list is one shorter. */
DFG_MUST_CHECK struct dfg_err *dfg_tensor_list_pop(struct dfg_tensor_list *list, struct dfg_tensor *out_element);

/* DFG_DATA where it is not in the list. */
DFG_MUST_CHECK struct dfg_err *dfg_tensor_list_check(const struct dfg_tensor_list *list, int64_t index);

/* The shape of elements that were never set: as the list, `like` and another element say. DFG_DATA where it is not known. */
DFG_MUST_CHECK struct dfg_err *dfg_tensor_list_unset(
	const struct dfg_tensor_list *list, const struct dfg_shape *like, struct dfg_shape *out_shape);

/* Of shape functions: what the list in input i holds, or unknown; DFG_DATA for another dtype. Output o holds the same. */
DFG_MUST_CHECK struct dfg_err *dfg_tensor_list_holds(
	const struct dfg_infer *node, int i, enum dfg_dtype dtype, struct dfg_shape *out_element);
DFG_MUST_CHECK struct dfg_err *dfg_tensor_list_infer(
	struct dfg_infer *node, int o, enum dfg_dtype dtype, const struct dfg_shape *element);

/* The shape that input i spells, as far as it is known: a vector, or -1. */
DFG_MUST_CHECK struct dfg_err *dfg_tensor_list_spelt(const struct dfg_infer *node, int i, struct dfg_shape *out_shape);
