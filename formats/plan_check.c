#include "formats/plan.h"

#include <inttypes.h>
#include <string.h>

/* The nodes found for a transfer: there should be one at each end. */
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

/* The shape declared by a _Recv. */
static struct dfg_shape shape_of(const struct dfg_node *node)
{
	const struct dfg_attr *attr = dfg_node_attr(node, "_dfg_shape");
	return attr && attr->kind == DFG_ATTR_SHAPE ? *attr->value.shape : DFG_SHAPE_UNKNOWN;
}

static enum dfg_dtype dtype_of(const struct dfg_node *node)
{
	const struct dfg_attr *attr = dfg_node_attr(node, node->op->role == DFG_SEND ? "T" : "tensor_type");
	return attr && attr->kind == DFG_ATTR_DTYPE ? attr->value.dtype : DFG_NO_DTYPE;
}

/* Whether the node waits for a node of its device's control loops: "_dfg/loop/2/1/turn". */
static bool waits_for(const struct dfg_graph *graph, const struct dfg_node *node, const char *end)
{
	static const char begins[] = "_dfg/loop/";
	for (uint32_t e = node->n_in; e < node->n_in + node->n_control; e++) {
		const char *name = graph->node[node->in[e].node].name, *last = strrchr(name, '/');
		if (!strncmp(name, begins, sizeof begins - 1) && !strcmp(last + 1, end))
			return true;
	}
	return false;
}

/* How often the transfer happens, in the manifest's terms. */
static const char *each_of(const struct dfg_graph *graph, const struct dfg_node *node)
{
	return waits_for(graph, node, "turn") ? "turn" : waits_for(graph, node, "pivot") ? "pivot" : "step";
}

/* Compares the tensor in the manifest with the node's. */
static struct dfg_err *check_tensor(
	const struct dfg_graph *graph, const struct dfg_node *node, const struct dfg_transfer *transfer)
{
	const char *each = dfg_plan_folder_each(transfer);
	struct dfg_shape shape = node->op->role == DFG_SEND ? transfer->shape : shape_of(node);
	if (!is_string(node, "tensor_name", transfer->tensor))
		return DFG_ERR(
			DFG_DATA, "the node names another tensor than manifest.json, which says '%.200s'", transfer->tensor);
	if (dtype_of(node) != transfer->dtype || !dfg_shape_equal(&shape, &transfer->shape))
		return DFG_ERR(DFG_DATA, "'%.200s' is %s in manifest.json, but %s in the node", transfer->tensor,
			dfg_type_words(transfer->dtype, &transfer->shape).s, dfg_type_words(dtype_of(node), &shape).s);
	if (strcmp(each_of(graph, node), each) != 0)
		return DFG_ERR(DFG_DATA,
			"'%.200s' is sent each %s according to manifest.json, but each %s according to the node", transfer->tensor,
			each, each_of(graph, node));
	return NULL;
}

/* Checks the device of each end of a transfer against the manifest. */
static struct dfg_err *check_place(
	const struct dfg_plan_folder *plan, uint32_t part, const struct dfg_node *node, const struct dfg_transfer *transfer)
{
	uint32_t worker = node->op->role == DFG_SEND ? transfer->from : transfer->to;
	if (worker != part)
		return DFG_ERR(DFG_DATA, "must be in w%u according to manifest.json, but is in w%u", worker, part);
	if (!is_string(node, "send_device", plan->device[transfer->from]) ||
		!is_string(node, "recv_device", plan->device[transfer->to]))
		return DFG_ERR(DFG_DATA, "goes from w%u to w%u according to manifest.json, but the node names other devices",
			transfer->from, transfer->to);
	return NULL;
}

static struct dfg_err *check_end(
	const struct dfg_plan_folder *plan, uint32_t part, const struct dfg_node *node, struct ends *ends)
{
	int64_t number;
	if (!dfg_node_mark(node, "_dfg_edge", &number))
		return DFG_ERR(DFG_DATA, "attribute '_dfg_edge', the number of the transfer, is missing");
	if (number < 0 || number >= plan->parts.transfers)
		return DFG_ERR(DFG_DATA, "belongs to transfer %" PRId64 ", which manifest.json does not list", number);
	const struct dfg_transfer *transfer = &plan->parts.transfer[number];
	const struct dfg_node **end = node->op->role == DFG_SEND ? &ends[number].send : &ends[number].recv;
	if (*end)
		return DFG_ERR(
			DFG_DATA, "transfer %" PRId64 " has two nodes of this op, expected one: also '%s'", number, (*end)->name);
	*end = node;
	struct dfg_err *err = check_place(plan, part, node, transfer);
	if (!err)
		err = check_tensor(&plan->parts.part[part], node, transfer);
	return dfg_err_note(err, "transfer %" PRId64, number);
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
		dfg_fault(faults, dfg_no_memory("the transfers of the plan"));
		return;
	}
	for (uint32_t i = 0; i < plan->parts.parts; i++)
		check_part(plan, i, ends, faults);
	for (uint32_t i = 0; i < plan->parts.transfers; i++) {
		const struct dfg_transfer *transfer = &plan->parts.transfer[i];
		if (!ends[i].send)
			dfg_fault(faults, DFG_ERR(DFG_DATA, "%s: has no _Send of transfer %u ('%.200s')",
								  plan->parts.part[transfer->from].source, i, transfer->tensor));
		if (!ends[i].recv)
			dfg_fault(faults, DFG_ERR(DFG_DATA, "%s: has no _Recv of transfer %u ('%.200s')",
								  plan->parts.part[transfer->to].source, i, transfer->tensor));
	}
	dfg_arena_release(&arena);
}
