/* Sums and zeros of what variants hold: lists, optionals, and both in each other. */
#include "kernels/optional.h"
#include "kernels/rows.h"
#include "kernels/tensor_list.h"

#include <inttypes.h>
#include <string.h>

/* Zeros like the element; what was never set stays so. */
static struct dfg_err *zeros_like(const struct dfg_tensor *like, struct dfg_tensor *out_zeros)
{
	*out_zeros = (struct dfg_tensor){0};
	if (!like->dtype)
		return NULL;
	DFG_TRY(dfg_held_zeros(like->dtype, &like->shape, out_zeros));
	struct dfg_resource **to = out_zeros->data, **from = like->data;
	struct dfg_err *err = NULL;
	for (int64_t e = 0; like->dtype == DFG_VARIANT && e < dfg_shape_count(&like->shape) && !err; e++)
		err = dfg_variant_zeros(from[e], &to[e]);
	if (err)
		dfg_tensor_release(out_zeros);
	return err;
}

/* The sum of two elements, of which each may never have been set. */
static struct dfg_err *add_elements(const struct dfg_tensor *a, const struct dfg_tensor *b, struct dfg_tensor *out_sum)
{
	*out_sum = (struct dfg_tensor){0};
	if (!a->dtype || !b->dtype)
		return a->dtype || b->dtype ? dfg_tensor_share(a->dtype ? a : b, out_sum) : NULL;
	if (a->dtype != b->dtype || !dfg_shape_equal(&a->shape, &b->shape))
		return DFG_ERR(DFG_DATA, "cannot add elements %s and %s", dfg_type_words(a->dtype, &a->shape).s,
			dfg_type_words(b->dtype, &b->shape).s);
	DFG_TRY(dfg_tensor_share(a, out_sum));
	struct dfg_err *err = dfg_held_add(out_sum, b);
	if (err)
		dfg_tensor_release(out_sum);
	return err;
}

static struct dfg_err *map_list(
	const struct dfg_tensor_list *a, const struct dfg_tensor_list *b, struct dfg_tensor_list *sum)
{
	for (int64_t i = 0; i < a->count; i++) {
		struct dfg_tensor element;
		DFG_TRY(b ? add_elements(dfg_tensor_list_at(a, i), dfg_tensor_list_at(b, i), &element)
				  : zeros_like(dfg_tensor_list_at(a, i), &element));
		DFG_TRY(dfg_tensor_list_push(sum, &element));
	}
	sum->most = a->most;
	return NULL;
}

/* a + b, or where b is NULL zeros like a. */
static struct dfg_err *combine_lists(
	const struct dfg_tensor_list *a, const struct dfg_tensor_list *b, struct dfg_resource **out_list)
{
	struct dfg_shape element = a->element;
	struct dfg_tensor_list *list;
	if (b && a->count != b->count)
		return DFG_ERR(DFG_DATA, "cannot add lists of %" PRId64 " and %" PRId64 " elements", a->count, b->count);
	if (b)
		DFG_TRY(dfg_held_merge(&a->element, &b->element, &element));
	DFG_TRY(dfg_tensor_list_new(a->dtype, &element, &list));
	struct dfg_err *err = map_list(a, b, list);
	if (err) {
		dfg_tensor_list_drop(list);
		return err;
	}
	*out_list = &list->object.resource;
	return NULL;
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

static struct dfg_err *combine(
	const struct dfg_resource *a, const struct dfg_resource *b, struct dfg_resource **out_result)
{
	if (a->kind == dfg_tensor_list_kind)
		return combine_lists((const struct dfg_tensor_list *)a, (const struct dfg_tensor_list *)b, out_result);
	if (a->kind == dfg_optional_kind)
		return combine_optionals((const struct dfg_optional *)a, (const struct dfg_optional *)b, out_result);
	return DFG_ERR(DFG_DATA, "a %s has no zero and no sum", a->kind);
}

struct dfg_err *dfg_variant_add(struct dfg_resource *a, struct dfg_resource *b, struct dfg_resource **out_sum)
{
	if (!a || !b) {
		*out_sum = dfg_resource_ref(a ? a : b);
		return NULL;
	}
	if (a->kind != b->kind)
		return DFG_ERR(DFG_DATA, "cannot add a %s and a %s", a->kind, b->kind);
	return combine(a, b, out_sum);
}

struct dfg_err *dfg_variant_zeros(struct dfg_resource *like, struct dfg_resource **out_zeros)
{
	*out_zeros = NULL;
	return like ? combine(like, NULL, out_zeros) : NULL;
}

struct dfg_err *dfg_zeros_of_variants(struct dfg_kernel *ctx)
{
	struct dfg_tensor zeros;
	DFG_TRY(zeros_like(dfg_kernel_input(ctx, 0), &zeros));
	return ctx->host->give(ctx, 0, &zeros);
}
