/* Sums and zeros of the objects in variants: lists and optionals, nested in any way. */
#include "kernels/optional.h"
#include "kernels/elementwise_rows.h"
#include "kernels/tensor_list.h"

#include <inttypes.h>
#include <string.h>

/* Zeros like the element; one that is not set stays so. */
static struct dfg_err *zeros_like(const struct dfg_tensor *like, struct dfg_tensor *out_zeros)
{
	*out_zeros = (struct dfg_tensor){0};
	if (!like->dtype)
		return NULL;
	DFG_TRY(dfg_element_zeros(like->dtype, &like->shape, out_zeros));
	struct dfg_resource **to = out_zeros->data, **from = like->data;
	struct dfg_err *err = NULL;
	for (int64_t e = 0; like->dtype == DFG_VARIANT && e < dfg_shape_count(&like->shape) && !err; e++)
		err = dfg_variant_zeros(from[e], &to[e]);
	if (err)
		dfg_tensor_release(out_zeros);
	return err;
}

/* The sum of two elements, each of which may be not set. */
static struct dfg_err *add_elements(const struct dfg_tensor *a, const struct dfg_tensor *b, struct dfg_tensor *out_sum)
{
	*out_sum = (struct dfg_tensor){0};
	if (!a->dtype || !b->dtype)
		return a->dtype || b->dtype ? dfg_tensor_share(a->dtype ? a : b, out_sum) : NULL;
	if (a->dtype != b->dtype || !dfg_shape_equal(&a->shape, &b->shape))
		return DFG_ERR(DFG_DATA, "cannot add elements %s and %s", dfg_type_words(a->dtype, &a->shape).s,
			dfg_type_words(b->dtype, &b->shape).s);
	DFG_TRY(dfg_tensor_share(a, out_sum));
	struct dfg_err *err = dfg_element_add(out_sum, b);
	if (err)
		dfg_tensor_release(out_sum);
	return err;
}

static struct dfg_err *zeros_of(const struct dfg_tensor_list *like, struct dfg_tensor_list *zeros)
{
	DFG_TRY(dfg_tensor_list_resize(zeros, like->count));
	zeros->most = like->most;
	for (int64_t i = like->row ? 0 : like->single_at; i >= 0 && i < like->count; i = like->row ? i + 1 : -1) {
		struct dfg_tensor element;
		if (!dfg_tensor_list_at(like, i)->dtype)
			continue;
		DFG_TRY(zeros_like(dfg_tensor_list_at(like, i), &element));
		DFG_TRY(dfg_tensor_list_set(zeros, i, &element));
	}
	return NULL;
}

static struct dfg_err *list_zeros(const struct dfg_tensor_list *like, struct dfg_resource **out_zeros)
{
	struct dfg_tensor_list *list;
	DFG_TRY(dfg_tensor_list_new(like->dtype, &like->element, &list));
	struct dfg_err *err = zeros_of(like, list);
	if (err)
		dfg_tensor_list_drop(list);
	else
		*out_zeros = &list->object.resource;
	return err;
}

static struct dfg_err *map_optional(
	const struct dfg_optional *a, const struct dfg_optional *b, struct dfg_optional *sum)
{
	for (int i = 0; i < a->count; i++) {
		struct dfg_tensor element;
		DFG_TRY(b ? add_elements(&a->at[i], &b->at[i], &element) : zeros_like(&a->at[i], &element));
		DFG_TRY(dfg_optional_put(sum, i, &element));
	}
	return NULL;
}

static struct dfg_err *combine_optionals(
	const struct dfg_optional *a, const struct dfg_optional *b, struct dfg_resource **out_optional)
{
	struct dfg_optional *optional;
	if (b && a->count != b->count)
		return DFG_ERR(DFG_DATA, "cannot add optionals of %d and %d values", a->count, b->count);
	DFG_TRY(dfg_optional_new(a->count, &optional));
	struct dfg_err *err = map_optional(a, b, optional);
	if (err) {
		dfg_resource_unref(&optional->object.resource);
		return err;
	}
	*out_optional = &optional->object.resource;
	return NULL;
}

/* Adds the term in place if the list has no other holder. */
static struct dfg_err *add_list(struct dfg_resource **sum, const struct dfg_resource *term)
{
	struct dfg_tensor_list *list = (struct dfg_tensor_list *)*sum;
	if (atomic_load_explicit(&(*sum)->refs, memory_order_acquire) > 1) {
		DFG_TRY(dfg_tensor_list_copy(list, &list));
		dfg_resource_unref(*sum);
		*sum = &list->object.resource;
	}
	return dfg_tensor_list_add(list, (const struct dfg_tensor_list *)term);
}

static struct dfg_err *no_sum(const struct dfg_resource *resource)
{
	return DFG_ERR(DFG_DATA, "zeros and sums of a %s are not defined", resource->kind);
}

struct dfg_err *dfg_variant_add(struct dfg_resource **sum, struct dfg_resource *term)
{
	struct dfg_resource *old = *sum;
	if (!old || !term) {
		*sum = old ? old : dfg_resource_ref(term);
		return NULL;
	}
	if (old->kind != term->kind)
		return DFG_ERR(DFG_DATA, "cannot add a %s and a %s", old->kind, term->kind);
	if (old->kind == dfg_tensor_list_kind)
		return add_list(sum, term);
	if (old->kind != dfg_optional_kind)
		return no_sum(old);
	DFG_TRY(combine_optionals((const struct dfg_optional *)old, (const struct dfg_optional *)term, sum));
	dfg_resource_unref(old);
	return NULL;
}

struct dfg_err *dfg_variant_zeros(const struct dfg_resource *like, struct dfg_resource **out_zeros)
{
	*out_zeros = NULL;
	if (!like)
		return NULL;
	if (like->kind == dfg_tensor_list_kind)
		return list_zeros((const struct dfg_tensor_list *)like, out_zeros);
	if (like->kind == dfg_optional_kind)
		return combine_optionals((const struct dfg_optional *)like, NULL, out_zeros);
	return no_sum(like);
}

struct dfg_err *dfg_zeros_of_variants(struct dfg_kernel *ctx)
{
	struct dfg_tensor zeros;
	DFG_TRY(zeros_like(dfg_kernel_input(ctx, 0), &zeros));
	return ctx->host->give(ctx, 0, &zeros);
}
