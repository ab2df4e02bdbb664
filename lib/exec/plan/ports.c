#include "lib/exec/plan/frame_info.h"

#include <stdio.h>

/* Transfers: finds for each Send and Recv of a plan its number, type and the worker at its other end. */

static struct dfg_err *find_port(const struct dfg_plan *plan, uint32_t r, struct port *port)
{
	const struct plan_node *node = &plan->node[r];
	const struct dfg_resolved_node *call = node->call;
	const struct dfg_rendezvous *rendezvous = plan->session->options.rendezvous;
	bool sends = node->role == DFG_SEND;
	struct dfg_string device = call->attr[dfg_op_attr(call->signature, sends ? "recv_device" : "send_device")].s;
	struct dfg_words name;
	int64_t number;
	uint32_t depth = 0;
	if (!rendezvous)
		return DFG_ERR(DFG_DATA,
			"is one end of a transfer %s '%.*s': this graph is a part of a plan and cannot run alone",
			sends ? "to" : "from", (int)device.length, device.s);
	if (!dfg_node_mark(&plan->session->graph->node[node->graph_node], "_dfg_edge", &number) || number < 0 ||
		number >= UINT32_MAX)
		return DFG_ERR(DFG_DATA, "has no valid attribute _dfg_edge, the number of its transfer");
	port->number = (uint32_t)number;
	port->dtype = sends ? call->in_dtype[0] : call->out_dtype[0];
	port->shape = sends ? NULL : call->attr[dfg_op_attr(call->signature, "_dfg_shape")].shape;
	for (uint32_t loop = plan->frame_info->loop_of[r]; loop; loop = plan->frame_info->loop[loop].parent)
		depth++;
	if (depth > DFG_LINK_DEPTH)
		return DFG_ERR(DFG_DATA, "is in %u nested loops: a transfer may be in at most %d", depth, DFG_LINK_DEPTH);
	snprintf(name.s, sizeof name.s, "%.*s", (int)device.length, device.s);
	return dfg_rendezvous_worker(rendezvous, name.s, &port->peer);
}

struct dfg_err *dfg_ports_find(struct dfg_plan *plan)
{
	struct port *port = plan->frame_info->port = dfg_arena_zeros(&plan->arena, plan->count, sizeof *port);
	if (!port)
		return dfg_no_memory("a transfer");
	for (uint32_t r = 0; r < plan->count; r++)
		if (plan->node[r].role == DFG_SEND || plan->node[r].role == DFG_RECV)
			DFG_TRY(dfg_resolved_note(find_port(plan, r, &port[r]), plan->node[r].call));
	return NULL;
}
