/* Lists of tensors as values. */
#include "kernels/tensor_list.h"

#include <inttypes.h>
#include <string.h>

static void drop_row(struct dfg_tensor_list_row *row)
{
	if (!row || atomic_fetch_sub_explicit(&row->refs, 1, memory_order_acq_rel) != 1)
		return;
	for (int64_t i = 0; i < atomic_load(&row->used); i++)
		dfg_tensor_release(&row->at[i]);
	dfg_free(row);
}

static void free_list(struct dfg_resource *resource)
{
	struct dfg_tensor_list *list = (struct dfg_tensor_list *)resource;
	drop_row(list->row);
	dfg_tensor_release(&list->single);
	dfg_free(list);
}

struct dfg_err *dfg_tensor_list_new(
	enum dfg_dtype dtype, const struct dfg_shape *element, struct dfg_tensor_list **out_list)
{
	struct dfg_tensor_list *list;
	DFG_TRY(dfg_object_new(sizeof *list, dfg_tensor_list_kind, "", &list));
	list->object.resource.free = free_list;
	list->dtype = dtype;
	list->element = *element;
	list->most = list->single_at = -1;
	*out_list = list;
	return NULL;
}

struct dfg_err *dfg_tensor_list_in(
	struct dfg_kernel *ctx, int i, enum dfg_dtype dtype, const struct dfg_tensor_list **out_list)
{
	DFG_TRY(dfg_object_in(ctx, i, dfg_tensor_list_kind, out_list));
	if (dtype && (*out_list)->dtype != dtype)
		return DFG_ERR(
			DFG_DATA, "the list contains %s, expected %s", dfg_dtype_name((*out_list)->dtype), dfg_dtype_name(dtype));
	return NULL;
}

static bool alone(const atomic_uint *refs)
{
	return atomic_load_explicit(refs, memory_order_acquire) == 1;
}

struct dfg_err *dfg_tensor_list_copy(const struct dfg_tensor_list *list, struct dfg_tensor_list **out_list)
{
	struct dfg_tensor_list *copy;
	DFG_TRY(dfg_tensor_list_new(list->dtype, &list->element, &copy));
	copy->object.level = list->object.level;
	copy->object.depth = list->object.depth;
	copy->most = list->most;
	copy->count = list->count;
	copy->row = list->row;
	copy->single = list->single;
	copy->single_at = list->single_at;
	dfg_buffer_ref(list->single.buffer);
	if (list->row)
		atomic_fetch_add_explicit(&list->row->refs, 1, memory_order_relaxed);
	*out_list = copy;
	return NULL;
}

struct dfg_err *dfg_tensor_list_change(struct dfg_kernel *ctx, enum dfg_dtype dtype, struct dfg_tensor_list **out_list)
{
	const struct dfg_tensor_list *list;
	DFG_TRY(dfg_tensor_list_in(ctx, 0, dtype, &list));
	if (!ctx->host->alone(ctx, 0) || !alone(&list->object.resource.refs))
		return dfg_tensor_list_copy(list, out_list);
	*out_list = *(struct dfg_tensor_list **)ctx->in[0]->data;
	dfg_resource_ref(&(*out_list)->object.resource);
	return NULL;
}

struct dfg_err *dfg_tensor_list_out(struct dfg_kernel *ctx, int i, struct dfg_tensor_list *list)
{
	const struct dfg_tensor *in = ctx->call->n_in ? ctx->in[0] : NULL;
	if (!in || in->dtype != DFG_VARIANT || in->shape.rank || *(struct dfg_tensor_list **)in->data != list)
		return dfg_object_out(ctx, i, &list->object.resource);
	dfg_tensor_list_drop(list);
	return dfg_kernel_view(ctx, i, 0, &DFG_SHAPE_SCALAR);
}

/* Gives the list its own row of at least that capacity: moved if it is the only holder of the old one, else copied. */
static struct dfg_err *new_row(struct dfg_tensor_list *list, int64_t allocated)
{
	struct dfg_tensor_list_row *old = list->row, *row;
	size_t bytes;
	if (__builtin_mul_overflow((size_t)allocated, sizeof *row->at, &bytes) || bytes > SIZE_MAX / 2 ||
		!(row = dfg_zeros(1, sizeof *row + bytes)))
		return DFG_ERR(DFG_MEMORY, "no memory for a list of %" PRId64 " elements", allocated);
	atomic_init(&row->refs, 1);
	atomic_init(&row->used, list->count);
	row->allocated = allocated;
	if (old && list->count)
		memcpy(row->at, old->at, (size_t)list->count * sizeof *row->at);
	else if (list->single_at >= 0)
		row->at[list->single_at] = list->single;
	list->single = (struct dfg_tensor){0};
	list->single_at = -1;
	if (old && alone(&old->refs)) {
		for (int64_t i = list->count; i < atomic_load(&old->used); i++)
			dfg_tensor_release(&old->at[i]);
		dfg_free(old);
	} else if (old) {
		for (int64_t i = 0; i < list->count; i++)
			dfg_buffer_ref(row->at[i].buffer);
		drop_row(old);
	}
	list->row = row;
	return NULL;
}

/* Makes the list the only holder of its row. */
static struct dfg_err *own_row(struct dfg_tensor_list *list)
{
	if (!list->row || !alone(&list->row->refs))
		return new_row(list, list->count);
	for (int64_t i = list->count; i < atomic_load(&list->row->used); i++)
		dfg_tensor_release(&list->row->at[i]);
	atomic_store(&list->row->used, list->count);
	return NULL;
}

static struct dfg_err *check_element(const struct dfg_tensor_list *list, const struct dfg_tensor *element)
{
	if (element->dtype != list->dtype)
		return DFG_ERR(DFG_DATA, "the element is %s, but the list contains %s", dfg_dtype_name(element->dtype),
			dfg_dtype_name(list->dtype));
	if (!dfg_shape_fits(&list->element, &element->shape))
		return DFG_ERR(DFG_DATA, "the element has shape %s, but those of the list have shape %s",
			dfg_shape_words(&element->shape).s, dfg_shape_words(&list->element).s);
	return NULL;
}

/* Reserves the element after the last one for this list. */
static struct dfg_err *extend(struct dfg_tensor_list *list)
{
	long long end = list->count;
	if (list->most >= 0 && list->count >= list->most)
		return DFG_ERR(DFG_DATA, "the list is full: its max_num_elements is %" PRId64, list->most);
	if (list->row && alone(&list->row->refs))
		DFG_TRY(own_row(list));
	if (list->row && list->count < list->row->allocated &&
		atomic_compare_exchange_strong(&list->row->used, &end, list->count + 1))
		return NULL;
	DFG_TRY(new_row(list, list->count < 8 ? 8 : list->count + list->count / 2));
	atomic_store(&list->row->used, list->count + 1);
	return NULL;
}

static struct dfg_err *push_element(struct dfg_tensor_list *list, struct dfg_tensor *element)
{
	if (element->dtype) {
		DFG_TRY(check_element(list, element));
		DFG_TRY(dfg_object_hold(&list->object, element));
	}
	DFG_TRY(extend(list));
	list->row->at[list->count++] = *element;
	return NULL;
}

struct dfg_err *dfg_tensor_list_push(struct dfg_tensor_list *list, struct dfg_tensor *element)
{
	struct dfg_err *err = push_element(list, element);
	if (err)
		dfg_tensor_release(element);
	return err;
}

struct dfg_err *dfg_tensor_list_check(const struct dfg_tensor_list *list, int64_t index)
{
	if (index >= 0 && index < list->count)
		return NULL;
	return DFG_ERR(DFG_DATA, "index %" PRId64 " is outside [0,%" PRId64 ")", index, list->count);
}

static struct dfg_err *set_element(struct dfg_tensor_list *list, int64_t index, const struct dfg_tensor *element)
{
	DFG_TRY(dfg_tensor_list_check(list, index));
	DFG_TRY(check_element(list, element));
	DFG_TRY(dfg_object_hold(&list->object, element));
	if (!list->row && (list->single_at < 0 || list->single_at == index)) {
		dfg_tensor_release(&list->single);
		list->single = *element;
		list->single_at = index;
		return NULL;
	}
	DFG_TRY(own_row(list));
	dfg_tensor_release(&list->row->at[index]);
	list->row->at[index] = *element;
	return NULL;
}

struct dfg_err *dfg_tensor_list_set(struct dfg_tensor_list *list, int64_t index, struct dfg_tensor *element)
{
	struct dfg_err *err = set_element(list, index, element);
	if (err)
		dfg_tensor_release(element);
	return err;
}

struct dfg_err *dfg_tensor_list_resize(struct dfg_tensor_list *list, int64_t count)
{
	if (count < 0)
		return DFG_ERR(DFG_DATA, "the new number of elements is %" PRId64 ", expected at least 0", count);
	if (!list->row) {
		if (list->single_at >= count) {
			dfg_tensor_release(&list->single);
			list->single_at = -1;
		}
		list->count = count;
		return NULL;
	}
	if (count <= list->count) {
		list->count = count;
		return alone(&list->row->refs) ? own_row(list) : NULL;
	}
	DFG_TRY(new_row(list, count));
	atomic_store(&list->row->used, count);
	list->count = count;
	return NULL;
}

struct dfg_err *dfg_tensor_list_pop(struct dfg_tensor_list *list, struct dfg_tensor *out_element)
{
	if (!list->count)
		return DFG_ERR(DFG_DATA, "cannot pop from an empty list");
	*out_element = *dfg_tensor_list_at(list, --list->count);
	dfg_buffer_ref(out_element->buffer);
	if (list->row)
		return alone(&list->row->refs) ? own_row(list) : NULL;
	return dfg_tensor_list_resize(list, list->count);
}

static struct dfg_err *add_element(struct dfg_tensor_list *list, int64_t i, const struct dfg_tensor *term)
{
	const struct dfg_tensor *at = dfg_tensor_list_at(list, i);
	struct dfg_tensor sum;
	if (!at->dtype) {
		sum = *term;
		dfg_buffer_ref(sum.buffer);
		return dfg_tensor_list_set(list, i, &sum);
	}
	if (!dfg_shape_equal(&at->shape, &term->shape))
		return DFG_ERR(
			DFG_DATA, "cannot add elements %s and %s", dfg_shape_words(&at->shape).s, dfg_shape_words(&term->shape).s);
	if (list->row)
		DFG_TRY(own_row(list));
	return dfg_element_add(list->row ? &list->row->at[i] : &list->single, term);
}

struct dfg_err *dfg_tensor_list_add(struct dfg_tensor_list *list, const struct dfg_tensor_list *term)
{
	if (list->count != term->count || list->dtype != term->dtype)
		return DFG_ERR(DFG_DATA, "cannot add lists of %" PRId64 " %s and %" PRId64 " %s elements", list->count,
			dfg_dtype_name(list->dtype), term->count, dfg_dtype_name(term->dtype));
	DFG_TRY(dfg_element_merge(&list->element, &term->element, &list->element));
	if (!term->row)
		return term->single_at < 0 ? NULL : add_element(list, term->single_at, &term->single);
	for (int64_t i = 0; i < term->count; i++)
		if (dfg_tensor_list_at(term, i)->dtype)
			DFG_TRY(add_element(list, i, dfg_tensor_list_at(term, i)));
	return NULL;
}

struct dfg_err *dfg_tensor_list_unset(
	const struct dfg_tensor_list *list, const struct dfg_shape *like, struct dfg_shape *out_shape)
{
	DFG_TRY(dfg_element_merge(&list->element, like, out_shape));
	for (int64_t i = list->row ? 0 : list->single_at; i >= 0 && i < list->count && !dfg_shape_known(out_shape); i++)
		if (dfg_tensor_list_at(list, i)->dtype && dfg_shape_fits(out_shape, &dfg_tensor_list_at(list, i)->shape))
			*out_shape = dfg_tensor_list_at(list, i)->shape;
	if (dfg_shape_known(out_shape))
		return NULL;
	return DFG_ERR(
		DFG_DATA, "an element of the list is not set, and its shape %s is unknown", dfg_shape_words(out_shape).s);
}

struct dfg_err *dfg_tensor_list_holds(
	const struct dfg_infer *node, int i, enum dfg_dtype dtype, struct dfg_shape *out_element)
{
	const struct dfg_handle_type *holds = node->in_holds ? node->in_holds[i] : NULL;
	*out_element = holds ? holds->shape : DFG_SHAPE_UNKNOWN;
	if (!holds || !holds->dtype || !dtype || holds->dtype == dtype)
		return NULL;
	return DFG_ERR(DFG_DATA, "the list contains %s, expected %s", dfg_dtype_name(holds->dtype), dfg_dtype_name(dtype));
}

struct dfg_err *dfg_tensor_list_infer(
	struct dfg_infer *node, int o, enum dfg_dtype dtype, const struct dfg_shape *element)
{
	struct dfg_handle_type *holds = dfg_arena_zeros(node->arena, 1, sizeof *holds);
	if (!holds)
		return dfg_no_memory("the type of a list");
	*holds = (struct dfg_handle_type){dtype, *element, NULL};
	node->out[o] = DFG_SHAPE_SCALAR;
	node->out_holds[o] = holds;
	return NULL;
}

struct dfg_err *dfg_tensor_list_shape_input(const struct dfg_infer *node, int i, struct dfg_shape *out_shape)
{
	const struct dfg_known_value *known = node->known[i];
	const struct dfg_shape *shape = node->in[i];
	*out_shape = DFG_SHAPE_UNKNOWN;
	if (shape->rank > 1)
		return DFG_ERR(DFG_DATA, "the input that gives the shape has shape %s, expected a vector, or -1 as a scalar",
			dfg_shape_words(shape).s);
	if (shape->rank == 1 && shape->dim[0] >= 0 && shape->dim[0] <= DFG_RANK_MAX) {
		*out_shape = (struct dfg_shape){.rank = (int)shape->dim[0]};
		for (int d = 0; d < out_shape->rank; d++)
			out_shape->dim[d] = known && known->v[d] >= 0 ? known->v[d] : DFG_UNKNOWN;
	}
	return NULL;
}
