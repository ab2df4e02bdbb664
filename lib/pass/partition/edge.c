#include "lib/pass/partition/partition_private.h"

#include <string.h>

enum { HOPS_MOST = 16 };

struct dfg_err *dfg_cut_add(struct cut *c, const struct dfg_node *node, uint32_t device, uint32_t *out_number)
{
	if (c->graph->count + c->n_added >= DFG_NONE - 1 ||
		!dfg_reserve(&c->added, &c->added_capacity, c->n_added + 1, sizeof *c->added))
		return DFG_ERR(DFG_MEMORY, "no memory to partition %u nodes", c->graph->count);
	struct added *added = &c->added[c->n_added];
	*added = (struct added){*node, device};
	if (!node->op)
		added->node.op = dfg_op_find(node->op_name);
	added->node.device = c->options->device[device];
	*out_number = c->graph->count + (uint32_t)c->n_added++;
	return NULL;
}

/* The route of the edge to the device, or NULL. For a control edge, a _Recv of any output will do. */
static const struct route *find_route(const struct cut *c, uint32_t reader, struct dfg_edge edge, uint32_t device)
{
	uint32_t owner = dfg_cut_is_ref(c, edge) ? reader + 1 : 0;
	const struct route *other = NULL;
	bool any = edge.port == DFG_CONTROL && dfg_node_role(&c->graph->node[edge.node]) != DFG_SWITCH;
	for (uint32_t w = c->first[edge.node]; w; w = c->route[w - 1].next) {
		const struct route *route = &c->route[w - 1];
		if (route->device != device || route->reader != owner)
			continue;
		if (route->port == edge.port || route->port == ROUTE_OF_ALL)
			return route;
		if (any)
			other = route;
	}
	return other;
}

static struct dfg_err *add_route(struct cut *c, uint32_t node, const struct route *route)
{
	if (!dfg_reserve(&c->route, &c->route_capacity, c->routes + 1, sizeof *c->route))
		return DFG_ERR(DFG_MEMORY, "no memory to partition %u nodes", c->graph->count);
	uint32_t *end = &c->first[node];
	while (*end)
		end = &c->route[*end - 1].next;
	c->route[c->routes] = *route;
	*end = (uint32_t)++c->routes;
	return NULL;
}

static struct dfg_err *clone(struct cut *c, uint32_t n, uint32_t device)
{
	struct route route = {.device = device, .port = ROUTE_OF_ALL, .send = DFG_NONE};
	DFG_TRY(dfg_cut_clone(c, n, device, &route.to));
	return add_route(c, n, &route);
}

static struct dfg_attr text_attr(const char *name, struct dfg_string text)
{
	return (struct dfg_attr){name, DFG_ATTR_STRING, {.s = text}};
}

/* A copy in the arena, shared between transfers of the same shape. */
static const struct dfg_shape *keep_shape(struct cut *c, const struct dfg_shape *shape)
{
	if (c->shape && dfg_shape_equal(c->shape, shape))
		return c->shape;
	struct dfg_shape *kept = dfg_arena_zeros(c->arena, 1, sizeof *kept);
	if (kept)
		*kept = *shape;
	return c->shape = kept;
}

enum { SEND_ATTRS = 6, RECV_ATTRS = 7 /* the last only if the shape is known */ };

/* The attributes that _Send and _Recv share, sorted by name. Returns the position after them. */
static struct dfg_attr *put_attrs(
	const struct cut *c, const struct dfg_transfer *transfer, const struct dfg_shape *shape, struct dfg_attr *attr)
{
	*attr++ = (struct dfg_attr){"T", DFG_ATTR_DTYPE, {.dtype = transfer->dtype}};
	*attr++ = DFG_ATTR_I("_dfg_edge", (int64_t)c->transfers);
	if (shape)
		*attr++ = (struct dfg_attr){"_dfg_shape", DFG_ATTR_SHAPE, {.shape = shape}};
	*attr++ = text_attr("recv_device", c->device_text[transfer->to]);
	*attr++ = text_attr("send_device", c->device_text[transfer->from]);
	*attr++ = DFG_ATTR_I("send_device_incarnation", 0);
	*attr++ = text_attr("tensor_name", (struct dfg_string){transfer->tensor, strlen(transfer->tensor)});
	return attr;
}

/*
 * The type is attribute T of a _Send and tensor_type of a _Recv, as in TensorFlow, so the _Recv's list is that of the
 * _Send shifted by one; a known shape is added to the _Recv only.
 */
static struct dfg_err *end_attrs(
	struct cut *c, const struct dfg_transfer *transfer, struct dfg_node *send, struct dfg_node *recv)
{
	bool is_shared = transfer->shape.rank == DFG_UNKNOWN;
	const struct dfg_shape *shape = is_shared ? NULL : keep_shape(c, &transfer->shape);
	struct dfg_attr *attr =
		dfg_arena_zeros(c->arena, is_shared ? SEND_ATTRS + 1 : SEND_ATTRS + 1 + RECV_ATTRS, sizeof *attr);
	if (!attr || (!is_shared && !shape))
		return dfg_no_memory("a transfer");
	struct dfg_attr *end = put_attrs(c, transfer, shape, attr);
	*end++ = (struct dfg_attr){"tensor_type", DFG_ATTR_DTYPE, {.dtype = transfer->dtype}};
	recv->attr = attr + 1;
	recv->n_attr = (uint32_t)(end - recv->attr);
	send->attr = is_shared ? attr : end;
	send->n_attr = SEND_ATTRS;
	if (!is_shared)
		put_attrs(c, transfer, NULL, end);
	return NULL;
}

/* Sets at most one data input and at most one control input. */
static struct dfg_err *inputs(struct cut *c, struct dfg_node *node, struct dfg_edge data, uint32_t control)
{
	node->n_in = data.node != DFG_NONE;
	node->n_control = control != DFG_NONE;
	if (!(node->in = dfg_arena_zeros(c->arena, node->n_in + node->n_control, sizeof *node->in)))
		return dfg_no_memory("a transfer");
	if (node->n_in)
		node->in[0] = data;
	if (node->n_control)
		node->in[node->n_in] = (struct dfg_edge){control, DFG_CONTROL};
	return NULL;
}

/* Makes an empty tensor that is available when the node has run. */
static struct dfg_err *add_signal(struct cut *c, uint32_t after, struct dfg_edge *out_edge)
{
	static const struct dfg_literal empty = {DFG_F32, {1, {0}}, false, 0, NULL};
	static const struct dfg_attr attr[] = {
		{"dtype", DFG_ATTR_DTYPE, {.dtype = DFG_F32}}, {"value", DFG_ATTR_TENSOR, {.tensor = &empty}}};
	struct dfg_node node = {.op_name = "Const", .attr = (struct dfg_attr *)attr, .n_attr = 2};
	out_edge->port = 0;
	if (!(node.name = dfg_arena_number(c->arena, "_dfg/signal", '/', c->transfers)))
		return dfg_no_memory("a transfer");
	DFG_TRY(inputs(c, &node, (struct dfg_edge){DFG_NONE, 0}, after));
	return dfg_cut_add(c, &node, cut_device(c, after), &out_edge->node);
}

/* gate: the control node at each end that decides whether there is a transfer. */
static struct dfg_err *add_ends(struct cut *c, const struct dfg_transfer *transfer, struct dfg_edge data,
	const uint32_t gate[2], struct route *out_route)
{
	struct dfg_node send = {.op_name = "_Send", .op = c->send}, recv = {.op_name = "_Recv", .op = c->recv};
	send.name = dfg_arena_number(c->arena, "_dfg/send", '/', c->transfers);
	recv.name = dfg_arena_number(c->arena, "_dfg/recv", '/', c->transfers);
	if (!send.name || !recv.name)
		return dfg_no_memory("a transfer");
	DFG_TRY(end_attrs(c, transfer, &send, &recv));
	DFG_TRY(inputs(c, &send, data, gate[0]));
	DFG_TRY(inputs(c, &recv, (struct dfg_edge){DFG_NONE, 0}, gate[1]));
	DFG_TRY(dfg_cut_add(c, &send, transfer->from, &out_route->send));
	return dfg_cut_add(c, &recv, transfer->to, &out_route->to);
}

/* The type that the reader expects of an output of an unknown op, which may exist where no output needs it. */
static struct dfg_err *expected_type(
	const struct cut *c, uint32_t reader, struct dfg_edge edge, enum dfg_dtype *out_dtype)
{
	const struct dfg_node *to = cut_node(c, reader);
	struct dfg_resolved_node call;
	*out_dtype = DFG_NO_DTYPE;
	if (c->graph->node[edge.node].op || reader >= c->graph->count || !to->op)
		return NULL;
	DFG_TRY(dfg_node_resolve(c->graph, reader, c->arena, &call));
	for (uint32_t e = 0; e < to->n_in; e++)
		if (dfg_edge_same(c->graph->node[reader].in[e], edge))
			*out_dtype = (enum dfg_dtype)call.in_dtype[e];
	return NULL;
}

/* Checks that the value can be sent: its type is known, and it is not a reference, handle or variant. */
static struct dfg_err *check_crossing(const struct cut *c, uint32_t reader, struct dfg_edge edge)
{
	const struct dfg_node *from = &c->graph->node[edge.node], *to = cut_node(c, reader);
	const char *here = c->options->device[cut_device(c, edge.node)], *there = c->options->device[cut_device(c, reader)];
	const struct dfg_inferred *fact = NULL;
	if ((uint32_t)edge.port < dfg_facts_outputs(c->facts, edge.node))
		fact = dfg_facts_of(c->facts, edge);
	if (!fact || !fact->dtype)
		return DFG_ERR(DFG_DATA, "node '%.200s' (%.100s) on %s reads '%.200s' (%.100s) on %s, whose type is unknown",
			to->name, to->op_name, there, from->name, from->op_name, here);
	bool is_taken = false;
	for (uint32_t e = 0; e < to->n_in && fact->is_ref; e++)
		is_taken |= to->in[e].node == edge.node && dfg_node_takes_ref(to, e);
	if (dfg_dtype_is_handle(fact->dtype) || is_taken)
		return DFG_ERR(DFG_DATA,
			"node '%.200s' (%.100s) on %s reads '%.200s' (%.100s) on %s, which is a %s%s and cannot be sent: both "
			"nodes must "
			"be on one device",
			to->name, to->op_name, there, from->name, from->op_name, here, is_taken ? "ref " : "",
			dfg_dtype_name(fact->dtype));
	return NULL;
}

static struct dfg_err *describe(struct cut *c, uint32_t reader, struct dfg_edge edge, struct dfg_transfer *out)
{
	const char *name = c->graph->node[edge.node].name;
	bool is_signal = edge.port == DFG_CONTROL;
	*out = (struct dfg_transfer){
		.from = cut_device(c, edge.node),
		.to = cut_device(c, reader),
		.tensor = is_signal ? dfg_arena_print(c->arena, "^%s", name)
							: dfg_arena_number(c->arena, name, ':', (uint32_t)edge.port),
		.dtype = DFG_F32,
		.shape = DFG_SHAPE_VECTOR(0),
		.loop = "",
	};
	if (!out->tensor)
		return dfg_no_memory("a transfer");
	if (is_signal)
		return NULL;
	DFG_TRY(expected_type(c, reader, edge, &out->dtype));
	out->shape = DFG_SHAPE_UNKNOWN;
	if (out->dtype != DFG_NO_DTYPE)
		return NULL;
	DFG_TRY(check_crossing(c, reader, edge));
	out->dtype = dfg_facts_of(c->facts, edge)->dtype;
	out->shape = dfg_facts_of(c->facts, edge)->shape;
	return NULL;
}

/* The control nodes at both ends of a transfer in a loop. */
static struct dfg_err *gates(struct cut *c, struct dfg_edge edge, struct dfg_transfer *transfer, uint32_t gate[2])
{
	uint32_t loop = c->loops.of[edge.node], set = 0;
	if (loop && c->is_uneven[edge.node])
		return DFG_ERR(DFG_DATA,
			"node '%.200s' (%.100s): does not run in every iteration of loop '%.200s', so its value cannot be sent "
			"from %s to %s",
			c->graph->node[edge.node].name, c->graph->node[edge.node].op_name, c->distributed[loop].path,
			c->options->device[transfer->from], c->options->device[transfer->to]);
	if (loop)
		DFG_TRY(dfg_live_of(&c->liveness, edge, &set));
	transfer->loop = loop ? c->distributed[loop].path : "";
	transfer->depth = c->loops.loop[loop].depth;
	DFG_TRY(dfg_cut_gate(c, loop, set, transfer->from, &gate[0], &transfer->each_evaluation));
	return dfg_cut_gate(c, loop, set, transfer->to, &gate[1], &transfer->each_evaluation);
}

/* Makes a transfer, or for a variable on the same device only a reading. */
static struct dfg_err *transfer(struct cut *c, uint32_t reader, struct dfg_edge edge)
{
	struct dfg_transfer transfer;
	struct dfg_edge data = edge;
	struct route route = {.device = cut_device(c, reader), .port = edge.port};
	uint32_t gate[2];
	DFG_TRY(describe(c, reader, edge, &transfer));
	if (edge.port == DFG_CONTROL)
		DFG_TRY(add_signal(c, edge.node, &data));
	if (dfg_cut_is_ref(c, edge)) {
		route.reader = reader + 1;
		DFG_TRY(dfg_cut_reading(c, reader, edge, &data));
	}
	if (transfer.from == transfer.to) {
		route.to = data.node;
		route.send = DFG_NONE;
		return add_route(c, edge.node, &route);
	}
	DFG_TRY(gates(c, edge, &transfer, gate));
	DFG_TRY(add_ends(c, &transfer, data, gate, &route));
	if (!dfg_reserve(&c->transfer, &c->transfer_capacity, c->transfers + 1, sizeof *c->transfer))
		return dfg_no_memory("a transfer");
	c->transfer[c->transfers++] = transfer;
	return add_route(c, edge.node, &route);
}

/*
 * In a loop, where nothing can be fed, the source of the value through Identities. At the root an Identity may be fed.
 */
static struct dfg_edge source_of(const struct cut *c, struct dfg_edge edge)
{
	for (int i = 0; i < HOPS_MOST && edge.port != DFG_CONTROL && c->loops.of[edge.node]; i++) {
		const struct dfg_node *node = &c->graph->node[edge.node];
		if (dfg_node_role(node) != DFG_IDENTITY || node->n_control || (uint32_t)edge.port >= node->n_in)
			break;
		edge = node->in[edge.port];
	}
	return edge;
}

struct dfg_err *dfg_cut_lead(struct cut *c, uint32_t reader, struct dfg_edge edge, struct dfg_edge *out_edge)
{
	uint32_t device = cut_device(c, reader);
	struct dfg_edge from = c->has_refs ? dfg_cut_variable(c, edge) : edge;
	*out_edge = edge;
	if (cut_device(c, edge.node) == device && cut_device(c, from.node) == device)
		return NULL;
	*out_edge = from = source_of(c, from);
	if (cut_device(c, from.node) == device && !dfg_cut_is_ref(c, from))
		return NULL;
	uint32_t loop = from.port == DFG_CONTROL ? dfg_cut_pivot_of(c, from.node) : 0;
	if (loop) {
		out_edge->node = c->control[(size_t)loop * c->options->devices + device].pivot;
		return NULL;
	}
	const struct route *route = find_route(c, reader, from, device);
	if (!route) {
		DFG_TRY(dfg_cut_is_cloned(c, from.node) ? clone(c, from.node, device) : transfer(c, reader, from));
		route = &c->route[c->routes - 1];
	}
	out_edge->node = route->to;
	if (route->port != ROUTE_OF_ALL && from.port != DFG_CONTROL)
		out_edge->port = 0;
	return NULL;
}

static struct dfg_err *lead_inputs(struct cut *c, uint32_t n, uint32_t e, uint32_t end)
{
	const struct dfg_edge *in = c->graph->node[n].in;
	uint32_t device = c->device[n];
	for (; e < end; e++)
		if (c->device[in[e].node] == device && !c->has_refs)
			c->in[n][e] = in[e];
		else
			DFG_TRY(dfg_cut_lead(c, n, in[e], &c->in[n][e]));
	return NULL;
}

/* Data edges are routed first: their _Recvs also serve control edges to the same device. */
static struct dfg_err *lead_all(struct cut *c)
{
	for (uint32_t n = 0; n < c->graph->count; n++) {
		const struct dfg_node *node = &c->graph->node[n];
		c->in[n] = dfg_arena_zeros(c->arena, (size_t)node->n_in + node->n_control, sizeof **c->in);
		if (!c->in[n])
			return dfg_no_memory("a transfer");
		DFG_TRY(lead_inputs(c, n, 0, node->n_in));
	}
	for (uint32_t n = 0; n < c->graph->count; n++) {
		const struct dfg_node *node = &c->graph->node[n];
		DFG_TRY(lead_inputs(c, n, node->n_in, node->n_in + node->n_control));
	}
	return NULL;
}

struct dfg_err *dfg_cut_edges(struct cut *c)
{
	for (size_t i = 0; i < c->facts->count && !c->has_refs; i++)
		c->has_refs = c->facts->fact[i]->is_ref;
	DFG_TRY(lead_all(c));
	for (; c->settled < c->n_added; c->settled++) {
		uint32_t number = c->graph->count + (uint32_t)c->settled;
		struct dfg_edge *in =
			c->added[c->settled].node.in; /* in the arena, so the pointer remains valid while nodes are added */
		uint32_t count = c->added[c->settled].node.n_in + c->added[c->settled].node.n_control;
		for (uint32_t e = 0; e < count; e++)
			DFG_TRY(dfg_cut_lead(c, number, in[e], &in[e]));
	}
	return NULL;
}
