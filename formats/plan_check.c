#include "formats/plan.h"

#include <inttypes.h>
#include <string.h>

/* The nodes that a transfer has: one at each end, as it should be. */
struct ends {
	const struct dfg_node *send, *recv;
};

static bool is_string(const struct dfg_node *node, const char *name, const char *wanted)
{
	const struct dfg_attr *attr = dfg_node_attr(node, name);
	size_t length = strlen(wanted);
	return attr && attr->kind == DFG_ATTR_STRING && attr->value.s.length == length &&
		   !memcmp(attr->value.s.s, wanted, length);
}

static bool is_dtype(const struct dfg_node *node, const char *name, enum dfg_dtype dtype)
{
	const struct dfg_attr *attr = dfg_node_attr(node, name);
	return attr && attr->kind == DFG_ATTR_DTYPE && attr->value.dtype == dtype;
}

/* Of a _Recv: what it says of the shape is not less than what the manifest does. */
static bool is_shape(const struct dfg_node *node, const struct dfg_shape *shape)
{
	const struct dfg_attr *attr = dfg_node_attr(node, "_dfg_shape");
	return attr && attr->kind == DFG_ATTR_SHAPE ? dfg_shape_equal(attr->value.shape, shape) : shape->rank < 0;
}

static struct dfg_err *check_end(
	const struct dfg_plan_folder *plan, uint32_t part, const struct dfg_node *node, struct ends *ends)
{
	bool sends = node->op->role == DFG_SEND;
	int64_t number;
	if (!dfg_node_mark(node, "_dfg_edge", &number))
		return DFG_ERR(DFG_DATA, "has no number of a transfer (_dfg_edge)");
	if (number < 0 || number >= plan->parts.transfers)
		return DFG_ERR(DFG_DATA, "is transfer %" PRId64 ", of which the manifest knows nothing", number);
	const struct dfg_transfer *transfer = &plan->parts.transfer[number];
	const struct dfg_node **end = sends ? &ends[number].send : &ends[number].recv;
	uint32_t place = sends ? transfer->from : transfer->to;
	if (*end)
		return DFG_ERR(DFG_DATA, "transfer %" PRId64 " has two of these, '%s' too", number, (*end)->name);
	*end = node;
	if (place != part)
		return DFG_ERR(
			DFG_DATA, "transfer %" PRId64 " has this in w%u, by the manifest, not in w%u", number, place, part);
	if (!is_string(node, "send_device", plan->device[transfer->from]) ||
		!is_string(node, "recv_device", plan->device[transfer->to]))
		return DFG_ERR(DFG_DATA, "transfer %" PRId64 " goes from w%u to w%u, by the manifest; this names other devices",
			number, transfer->from, transfer->to);
	if (!is_dtype(node, sends ? "T" : "tensor_type", transfer->dtype))
		return DFG_ERR(DFG_DATA, "transfer %" PRId64 " is %s, by the manifest; this is another type", number,
			dfg_dtype_name(transfer->dtype));
	if (!sends && !is_shape(node, &transfer->shape))
		return DFG_ERR(DFG_DATA, "transfer %" PRId64 " is %s, by the manifest; this is another shape", number,
			dfg_type_words(transfer->dtype, &transfer->shape).s);
	return NULL;
}

static void check_part(const struct dfg_plan_folder *plan, uint32_t part, struct ends *ends, struct dfg_faults *faults)
{
	const struct dfg_graph *graph = &plan->parts.part[part];
	for (uint32_t n = 0; n < graph->count; n++) {
		const struct dfg_node *node = &graph->node[n];
		if (node->op && (node->op->role == DFG_SEND || node->op->role == DFG_RECV))
			dfg_fault(faults, dfg_err_note(check_end(plan, part, node, ends), "%s: node '%s' (%s)", graph->source,
								  node->name, node->op_name));
	}
}

void dfg_plan_folder_check(const struct dfg_plan_folder *plan, struct dfg_faults *faults)
{
	struct dfg_arena arena = {0};
	struct ends *ends = dfg_arena_zeros(&arena, plan->parts.transfers, sizeof *ends);
	if (!ends) {
		dfg_fault(faults, DFG_ERR(DFG_MEMORY, "out of memory"));
		return;
	}
	for (uint32_t i = 0; i < plan->parts.parts; i++)
		check_part(plan, i, ends, faults);
	for (uint32_t i = 0; i < plan->parts.transfers; i++) {
		const struct dfg_transfer *transfer = &plan->parts.transfer[i];
		if (!ends[i].send)
			dfg_fault(
				faults, DFG_ERR(DFG_DATA, "transfer %u ('%s'): no _Send in w%u", i, transfer->tensor, transfer->from));
		if (!ends[i].recv)
			dfg_fault(
				faults, DFG_ERR(DFG_DATA, "transfer %u ('%s'): no _Recv in w%u", i, transfer->tensor, transfer->to));
	}
	dfg_arena_release(&arena);
}
