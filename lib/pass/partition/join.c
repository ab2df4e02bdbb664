/* join. Requires: the parts of a graph. Result: one graph, in which a _Recv is an Identity. O(nodes + edges). */
#include "lib/base/mem.h"
#include "lib/pass/partition/partition.h"

#include <string.h>

struct join {
	const struct dfg_graph *const *part;
	uint32_t parts, nodes; /* number of parts; number of nodes in all parts, which bounds the number of transfers */
	struct dfg_graph *graph;
	struct dfg_arena scratch;
	uint32_t *send; /* by number of the transfer: 1 + its _Send */
	bool *is_received;
};

#define NODE_WORDS "node '%.200s' (%.100s): "
#define NODE(node) (node)->name, (node)->op_name

static struct dfg_err *number_of(const struct join *j, const struct dfg_node *node, uint32_t *out_number)
{
	const struct dfg_attr *edge = dfg_node_attr(node, "_dfg_edge");
	if (!edge || edge->kind != DFG_ATTR_INT)
		return DFG_ERR(
			DFG_DATA, NODE_WORDS "attribute '_dfg_edge' is missing, so the graph is not a part of a plan", NODE(node));
	if (edge->value.i < 0 || edge->value.i >= j->nodes)
		return DFG_ERR(DFG_DATA,
			NODE_WORDS
			"attribute '_dfg_edge' is %lld, expected the number of a transfer: at least 0 and less than %u, the number "
			"of nodes in the plan",
			NODE(node), (long long)edge->value.i, j->nodes);
	*out_number = (uint32_t)edge->value.i;
	return NULL;
}

static struct dfg_err *note_send(struct join *j, uint32_t n)
{
	uint32_t number;
	const struct dfg_node *node = &j->graph->node[n];
	if (!node->n_in)
		return DFG_ERR(DFG_DATA, NODE_WORDS "has no data input to send", NODE(node));
	DFG_TRY(number_of(j, node, &number));
	if (j->send[number])
		return DFG_ERR(DFG_DATA, NODE_WORDS "sends transfer %u, which '%.200s' also sends", NODE(node), number,
			j->graph->node[j->send[number] - 1].name);
	j->send[number] = n + 1;
	return NULL;
}

/* Appends the nodes of a part. */
static struct dfg_err *append(struct join *j, const struct dfg_graph *part)
{
	uint32_t first = j->graph->count, number;
	for (uint32_t n = 0; n < part->count; n++) {
		struct dfg_node node = part->node[n];
		uint32_t count = node.n_in + node.n_control;
		struct dfg_edge *in = dfg_arena_zeros(j->graph->arena, (size_t)count + 1, sizeof *in);
		if (!in)
			return dfg_no_memory("the graph that the parts make");
		for (uint32_t e = 0; e < count; e++)
			in[e] = (struct dfg_edge){first + node.in[e].node, node.in[e].port};
		node.in = in;
		DFG_TRY(dfg_graph_add(j->graph, &node, &number));
		if (dfg_node_role(&node) == DFG_SEND)
			DFG_TRY(note_send(j, number));
	}
	return NULL;
}

static enum dfg_dtype type_of(const struct dfg_node *node, const char *name)
{
	const struct dfg_attr *type = dfg_node_attr(node, name);
	return type && type->kind == DFG_ATTR_DTYPE ? type->value.dtype : DFG_NO_DTYPE;
}

static struct dfg_err *find_send(struct join *j, const struct dfg_node *node, uint32_t *out_send)
{
	uint32_t number;
	DFG_TRY(number_of(j, node, &number));
	if (!j->send[number])
		return DFG_ERR(DFG_DATA, NODE_WORDS "transfer %u has no _Send", NODE(node), number);
	*out_send = j->send[number] - 1;
	const struct dfg_node *send = &j->graph->node[*out_send];
	if (j->is_received[number])
		return DFG_ERR(DFG_DATA, NODE_WORDS "transfer %u has more than one _Recv", NODE(node), number);
	j->is_received[number] = true;
	enum dfg_dtype sent = type_of(send, "T"), wanted = type_of(node, "tensor_type");
	if (!sent || sent != wanted)
		return DFG_ERR(DFG_DATA, NODE_WORDS "receives %s, but '%.200s' sends %s", NODE(node), dfg_dtype_name(wanted),
			send->name, dfg_dtype_name(sent));
	return NULL;
}

/*
 * Turns a _Recv into an Identity of the tensor sent, with the _Send as a control input, so that a reader of one reaches
 * the other.
 */
static struct dfg_err *receive(struct join *j, uint32_t n)
{
	uint32_t send;
	struct dfg_node *node = &j->graph->node[n];
	if (node->n_in)
		return DFG_ERR(DFG_DATA, NODE_WORDS "a _Recv must not have data inputs", NODE(node));
	DFG_TRY(find_send(j, node, &send));
	struct dfg_edge *in = dfg_arena_zeros(j->graph->arena, (size_t)node->n_control + 2, sizeof *in);
	struct dfg_attr *type = dfg_arena_zeros(j->graph->arena, 1, sizeof *type);
	if (!in || !type)
		return dfg_no_memory("the graph that the parts make");
	in[0] = j->graph->node[send].in[0];
	in[1] = (struct dfg_edge){send, DFG_CONTROL};
	if (node->n_control)
		memcpy(in + 2, node->in, node->n_control * sizeof *in);
	*type = (struct dfg_attr){"T", DFG_ATTR_DTYPE, {.dtype = type_of(node, "tensor_type")}};
	node->op_name = "Identity";
	node->op = dfg_op_find("Identity");
	node->in = in;
	node->n_in = 1;
	node->n_control++;
	node->attr = type;
	node->n_attr = 1;
	return NULL;
}

/* For a device's own LoopCond, the original one; DFG_NONE for other nodes. */
static uint32_t condition_of(const struct dfg_graph *graph, const struct dfg_node *node)
{
	static const char mark[] = "_dfg/clone/";
	const char *name =
		strncmp(node->name, mark, sizeof mark - 1) == 0 ? strchr(node->name + sizeof mark - 1, '/') : NULL;
	return name ? dfg_graph_find(graph, name + 1) : DFG_NONE;
}

/*
 * A loop has one condition. A device that computes it by itself gets it from the original LoopCond, after its own
 * computation.
 */
static struct dfg_err *repeat_condition(struct join *j, uint32_t n, uint32_t condition)
{
	struct dfg_node *node = &j->graph->node[n];
	uint32_t count = node->n_in + node->n_control;
	struct dfg_edge *in = dfg_arena_zeros(j->graph->arena, (size_t)count + 1, sizeof *in);
	struct dfg_attr *type = dfg_arena_zeros(j->graph->arena, 1, sizeof *type);
	if (!in || !type)
		return dfg_no_memory("the graph that the parts make");
	in[0] = (struct dfg_edge){condition, 0};
	for (uint32_t e = 0; e < count; e++)
		in[e + 1] = (struct dfg_edge){node->in[e].node, DFG_CONTROL};
	*type = (struct dfg_attr){"T", DFG_ATTR_DTYPE, {.dtype = DFG_BOOL}};
	node->op_name = "Identity";
	node->op = dfg_op_find("Identity");
	node->in = in;
	node->n_in = 1;
	node->n_control = count;
	node->attr = type;
	node->n_attr = 1;
	return NULL;
}

static struct dfg_err *receive_or_repeat(struct join *j, uint32_t n)
{
	const struct dfg_node *node = &j->graph->node[n];
	if (dfg_node_role(node) == DFG_RECV)
		return receive(j, n);
	uint32_t condition = dfg_node_role(node) == DFG_LOOP_COND ? condition_of(j->graph, node) : DFG_NONE;
	return condition == DFG_NONE ? NULL : repeat_condition(j, n, condition);
}

static void keep_versions(struct dfg_graph *graph, const struct dfg_graph *part)
{
	graph->producer = part->producer;
	graph->min_consumer = part->min_consumer;
	graph->bad_consumer = part->bad_consumer;
	graph->n_bad_consumer = part->n_bad_consumer;
	graph->old_version = part->old_version;
	graph->unversioned = part->unversioned;
	graph->source = part->source;
}

static struct dfg_err *allocate(struct join *j)
{
	for (uint32_t p = 0; p < j->parts; p++)
		j->nodes += j->part[p]->count;
	j->send = dfg_arena_zeros(&j->scratch, (size_t)j->nodes + 1, sizeof *j->send);
	j->is_received = dfg_arena_zeros(&j->scratch, (size_t)j->nodes + 1, sizeof *j->is_received);
	bool has_space = j->send && j->is_received &&
					 dfg_reserve(&j->graph->node, &j->graph->capacity, j->nodes, sizeof *j->graph->node) &&
					 dfg_map_reserve(&j->graph->names, j->nodes);
	return has_space ? NULL : dfg_no_memory("the graph that the parts make");
}

static struct dfg_err *append_all(struct join *j)
{
	for (uint32_t p = 0; p < j->parts; p++) {
		const struct dfg_graph *part = j->part[p];
		if (!p)
			keep_versions(j->graph, part);
		if (part->n_library && !j->graph->n_library) {
			j->graph->library = part->library;
			j->graph->n_library = part->n_library;
			j->graph->codec = part->codec;
		}
		DFG_TRY(append(j, part));
	}
	return NULL;
}

static struct dfg_err *join(struct join *j)
{
	DFG_TRY(allocate(j));
	DFG_TRY(append_all(j));
	for (uint32_t n = 0; n < j->graph->count; n++)
		DFG_TRY(receive_or_repeat(j, n));
	for (uint32_t i = 0; i < j->nodes; i++)
		if (j->send[i] && !j->is_received[i])
			return DFG_ERR(DFG_DATA, NODE_WORDS "its transfer has no _Recv", NODE(&j->graph->node[j->send[i] - 1]));
	return NULL;
}

struct dfg_err *dfg_parts_join(
	const struct dfg_graph *const *part, uint32_t parts, struct dfg_arena *arena, struct dfg_graph *out_graph)
{
	struct join j = {.part = part, .parts = parts, .graph = out_graph};
	dfg_graph_init(out_graph, arena);
	struct dfg_err *err = join(&j);
	if (err)
		dfg_graph_release(out_graph);
	dfg_arena_release(&j.scratch);
	return err;
}
