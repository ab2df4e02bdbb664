/* Optionals: a tuple of values, or none. TensorFlow saves values of a branch in them for its gradient. */
#include "kernels/optional.h"

#include "kernels/gradient_helpers.h"

static void free_optional(struct dfg_resource *resource)
{
	struct dfg_optional *optional = (struct dfg_optional *)resource;
	for (int i = 0; i < optional->count; i++)
		dfg_tensor_release(&optional->at[i]);
	dfg_free(optional);
}

struct dfg_err *dfg_optional_new(int count, struct dfg_optional **out_optional)
{
	size_t bytes = sizeof **out_optional + (count > 0 ? (size_t)count * sizeof(struct dfg_tensor) : 0);
	DFG_TRY(dfg_object_new(bytes, dfg_optional_kind, "", out_optional));
	(*out_optional)->object.resource.free = free_optional;
	(*out_optional)->count = count;
	return NULL;
}

struct dfg_err *dfg_optional_put(struct dfg_optional *optional, int i, struct dfg_tensor *value)
{
	optional->at[i] = *value;
	return value->dtype ? dfg_object_hold(&optional->object, value) : NULL;
}

static struct dfg_err *scalar_shape(struct dfg_infer *node)
{
	node->out[0] = DFG_SHAPE_SCALAR;
	return NULL;
}

static struct dfg_err *keep_all(struct dfg_kernel *ctx, struct dfg_optional *optional)
{
	for (int i = 0; i < ctx->call->n_in; i++) {
		struct dfg_tensor value;
		DFG_TRY(ctx->host->keep(ctx, i, &value));
		DFG_TRY(dfg_optional_put(optional, i, &value));
	}
	return NULL;
}

static struct dfg_err *from_run(struct dfg_kernel *ctx)
{
	struct dfg_optional *optional;
	DFG_TRY(dfg_optional_new(ctx->call->n_in, &optional));
	struct dfg_err *err = keep_all(ctx, optional);
	if (!err)
		return dfg_object_out(ctx, 0, &optional->object.resource);
	dfg_resource_unref(&optional->object.resource);
	return err;
}

/* OptionalGetValue with the types and shapes of the tensors `like`. */
static struct dfg_err *get_value(
	struct dfg_gradient *node, struct dfg_edge optional, const struct dfg_edge *like, struct dfg_edge *out_first)
{
	uint32_t n = node->call->n_in;
	struct dfg_shape *shape = dfg_zeros((size_t)n + 1, sizeof *shape);
	union dfg_value *value = dfg_zeros(2 * (size_t)n + 1, sizeof *value);
	struct dfg_err *err = shape && value ? NULL : DFG_ERR(DFG_MEMORY, "no memory for the gradient of %u values", n);
	for (uint32_t i = 0; i < n && !err; i++) {
		struct dfg_inferred fact = dfg_adjoint_fact(node, like[i]);
		shape[i] = fact.shape;
		value[i].dtype = fact.dtype;
		value[n + i].shape = &shape[i];
	}
	const struct dfg_list types = {DFG_ATTR_DTYPE, n, value}, shapes = {DFG_ATTR_SHAPE, n, value ? value + n : NULL};
	const struct dfg_attr attr[] = {
		{"output_types", DFG_ATTR_LIST, {.list = &types}}, {"output_shapes", DFG_ATTR_LIST, {.list = &shapes}}};
	if (!err)
		err = dfg_gradient_op(node, "OptionalGetValue", &optional, 1, attr, 2, out_first);
	dfg_free(shape);
	dfg_free(value);
	return err;
}

static struct dfg_err *from_gradient(struct dfg_gradient *node)
{
	struct dfg_edge value;
	DFG_TRY(get_value(node, node->dy[0], node->in, &value));
	for (int i = 0; i < node->call->n_in; i++)
		if (node->wanted[i])
			dfg_gradient_set(node, i, (struct dfg_edge){value.node, i});
	return NULL;
}

const struct dfg_op dfg_op_OptionalFromValue = {
	.name = "OptionalFromValue",
	.doc = "an optional that has the components as its values",
	.sig = "<Toutput_types: [type]>(components: Toutput_types) -> (optional: variant)",
	.flags = DFG_ANY_RANK,
	.shape = scalar_shape,
	.gradient_fn = from_gradient,
	.run = from_run,
};

static struct dfg_err *none_run(struct dfg_kernel *ctx)
{
	struct dfg_optional *optional;
	DFG_TRY(dfg_optional_new(-1, &optional));
	return dfg_object_out(ctx, 0, &optional->object.resource);
}

const struct dfg_op dfg_op_OptionalNone = {
	.name = "OptionalNone",
	.doc = "an optional without values",
	.sig = "() -> (optional: variant)",
	.shape = scalar_shape,
	.gradient = "",
	.run = none_run,
};

static struct dfg_err *has_run(struct dfg_kernel *ctx)
{
	const struct dfg_optional *optional;
	struct dfg_tensor *out;
	DFG_TRY(dfg_object_in(ctx, 0, dfg_optional_kind, &optional));
	DFG_TRY(dfg_kernel_output(ctx, 0, &DFG_SHAPE_SCALAR, &out));
	*(bool *)out->data = optional->count >= 0;
	return NULL;
}

const struct dfg_op dfg_op_OptionalHasValue = {
	.name = "OptionalHasValue",
	.doc = "whether the optional has values",
	.sig = "(optional: variant) -> (has_value: bool)",
	.shape = scalar_shape,
	.gradient = "",
	.run = has_run,
};

enum { OUTPUT_SHAPES };

static struct dfg_err *get_run(struct dfg_kernel *ctx)
{
	const struct dfg_optional *optional;
	const struct dfg_list *shapes = dfg_kernel_attr(ctx)[OUTPUT_SHAPES].list;
	DFG_TRY(dfg_object_in(ctx, 0, dfg_optional_kind, &optional));
	if (optional->count < 0)
		return DFG_ERR(DFG_DATA, "the optional is empty, expected one with values");
	if (optional->count != ctx->call->n_out)
		return DFG_ERR(DFG_DATA, "the optional has %d values, expected %d", optional->count, ctx->call->n_out);
	for (int i = 0; i < optional->count; i++) {
		const struct dfg_tensor *at = &optional->at[i];
		struct dfg_tensor value;
		if (at->dtype != (enum dfg_dtype)ctx->call->out_dtype[i] || !dfg_shape_fits(&at->shape, shapes->item[i].shape))
			return DFG_ERR(DFG_DATA, "value %d of the optional is %s, expected %s", i,
				dfg_type_words(at->dtype, &at->shape).s,
				dfg_type_words((enum dfg_dtype)ctx->call->out_dtype[i], shapes->item[i].shape).s);
		DFG_TRY(dfg_tensor_share(at, &value));
		DFG_TRY(ctx->host->give(ctx, i, &value));
	}
	return NULL;
}

static struct dfg_err *get_shape(struct dfg_infer *node)
{
	const struct dfg_list *shapes = node->call->attr[OUTPUT_SHAPES].list;
	if (shapes->count != node->call->n_out)
		return DFG_ERR(
			DFG_DATA, "output_shapes has %u shapes, expected %d, one for each value", shapes->count, node->call->n_out);
	for (int i = 0; i < node->call->n_out; i++)
		node->out[i] = *shapes->item[i].shape;
	return NULL;
}

static struct dfg_err *get_gradient(struct dfg_gradient *node)
{
	uint32_t n = node->call->n_out;
	struct dfg_edge dx, *dy = dfg_zeros((size_t)n + 1, sizeof *dy);
	struct dfg_err *err = dy ? NULL : DFG_ERR(DFG_MEMORY, "no memory for the gradient of %u values", n);
	for (uint32_t i = 0; i < n && !err; i++) {
		struct dfg_edge own = dfg_gradient_output(node, (int)i);
		dy[i] = node->dy[i];
		if (!dfg_gradient_has(node, (int)i))
			err = dfg_gradient_op(node, "ZerosLike", &own, 1, NULL, 0, &dy[i]);
	}
	if (!err)
		err = dfg_gradient_op(node, "OptionalFromValue", dy, n, NULL, 0, &dx);
	if (!err)
		dfg_gradient_set(node, 0, dx);
	dfg_free(dy);
	return err;
}

const struct dfg_op dfg_op_OptionalGetValue = {
	.name = "OptionalGetValue",
	.doc = "the values of an optional, which must have them",
	.sig = "<output_types: [type]>(optional: variant) -> (components: output_types)",
	.attr = {[OUTPUT_SHAPES] = "output_shapes: list(shape)"},
	.flags = DFG_ANY_RANK,
	.shape = get_shape,
	.gradient_fn = get_gradient,
	.run = get_run,
};
