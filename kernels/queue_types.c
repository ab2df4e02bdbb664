/* The types and shapes of the elements of queues, known before a step: from the op of the handle to those that put and take. */
#include "kernels/queue.h"

#include <inttypes.h>

struct dfg_err *dfg_queue_make_holds(
	struct dfg_infer *node, const struct dfg_list *types, const struct dfg_list *shapes, bool has_priority)
{
	const uint32_t first = has_priority, count = types->count + first;
	struct dfg_handle_type *holds = dfg_arena_zeros(node->arena, 1, sizeof *holds);
	struct dfg_component_types *component =
		dfg_arena_zeros(node->arena, 1, sizeof *component + count * sizeof *component->item);
	node->out[0] = DFG_SHAPE_SCALAR;
	if (!holds || !component)
		return dfg_no_memory("the type of a queue");
	component->count = count;
	if (has_priority)
		component->item[0] = (struct dfg_tensor_type){DFG_I64, DFG_SHAPE_SCALAR};
	for (uint32_t i = 0; i < types->count; i++)
		component->item[i + first] = (struct dfg_tensor_type){
			types->item[i].dtype, i < shapes->count ? *shapes->item[i].shape : DFG_SHAPE_UNKNOWN};
	*holds = (struct dfg_handle_type){DFG_NO_DTYPE, DFG_SHAPE_UNKNOWN, component};
	node->out_holds[0] = holds;
	return NULL;
}

/* The components of the queue in input 0; NULL: not known. */
static struct dfg_err *components_of(
	const struct dfg_infer *node, uint32_t count, const struct dfg_component_types **out_components)
{
	const struct dfg_handle_type *holds = node->in_holds[0];
	*out_components = holds ? holds->component : NULL;
	if (!holds)
		return NULL;
	if (!holds->component || holds->dtype)
		return DFG_ERR(DFG_DATA, "input 0 is the handle of %s, expected that of a queue",
			dfg_type_words(holds->dtype, &holds->shape).s);
	if (holds->component->count != count)
		return DFG_ERR(DFG_DATA, "the queue has %u components, not %u", holds->component->count, count);
	return NULL;
}

static struct dfg_err *check_put(
	const struct dfg_infer *node, int i, const struct dfg_tensor_type *component, bool has_rows)
{
	const enum dfg_dtype dtype = (enum dfg_dtype)node->call->in_dtype[i + 1];
	const struct dfg_shape *whole = node->in[i + 1];
	struct dfg_shape shape = has_rows ? dfg_element_of_rows(whole) : *whole;
	if (has_rows && !whole->rank)
		return DFG_ERR(DFG_DATA, "component %d is a scalar, expected a row for each element", i);
	if (dtype == component->dtype && dfg_shape_fits(&shape, &component->shape))
		return NULL;
	return DFG_ERR(DFG_DATA, "component %d of the element is %s, but that of the queue is %s", i,
		dfg_type_words(dtype, &shape).s, dfg_type_words(component->dtype, &component->shape).s);
}

/* Checks all components that are put: one element, or rows of elements. */
static struct dfg_err *check_puts(const struct dfg_infer *node, bool has_rows)
{
	const struct dfg_component_types *component;
	DFG_TRY(components_of(node, node->call->n_in - 1u, &component));
	for (uint32_t i = 0; component && i < component->count; i++)
		DFG_TRY(check_put(node, (int)i, &component->item[i], has_rows));
	return NULL;
}

struct dfg_err *dfg_queue_put_shape(struct dfg_infer *node)
{
	return check_puts(node, false);
}

struct dfg_err *dfg_queue_put_many_shape(struct dfg_infer *node)
{
	return check_puts(node, true);
}

/* *rows: the number of elements taken, or DFG_UNKNOWN; NULL: a single element, without a dimension for rows. */
static struct dfg_err *infer_taken(struct dfg_infer *node, const int64_t *rows)
{
	const struct dfg_component_types *component;
	DFG_TRY(components_of(node, node->call->n_out, &component));
	for (uint32_t i = 0; component && i < component->count; i++) {
		const struct dfg_tensor_type *is = &component->item[i];
		const enum dfg_dtype dtype = (enum dfg_dtype)node->call->out_dtype[i];
		if (dtype != is->dtype)
			return DFG_ERR(DFG_DATA, "component %u of the queue is %s, expected %s", i, dfg_dtype_name(is->dtype),
				dfg_dtype_name(dtype));
		node->out[i] = is->shape;
		if (rows)
			DFG_TRY(dfg_element_rows(*rows, &is->shape, &node->out[i]));
	}
	return NULL;
}

struct dfg_err *dfg_queue_take_shape(struct dfg_infer *node)
{
	return infer_taken(node, NULL);
}

struct dfg_err *dfg_queue_take_many_shape(struct dfg_infer *node)
{
	const struct dfg_known_value *n = node->known[1];
	int64_t rows = n && !n->rank && n->v[0] >= 0 ? n->v[0] : DFG_UNKNOWN;
	return infer_taken(node, &rows);
}

struct dfg_err *dfg_queue_take_up_to_shape(struct dfg_infer *node)
{
	int64_t rows = DFG_UNKNOWN;
	return infer_taken(node, &rows);
}
