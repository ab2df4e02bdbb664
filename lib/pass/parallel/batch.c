#include "lib/pass/parallel/batch_private.h"

#include "lib/pass/rewrite/equal_attributes.h"

#include <string.h>

static size_t place_of(const struct dfg_batch *b, struct dfg_edge edge)
{
	return b->builder->facts.first[edge.node] + (uint32_t)edge.port;
}

struct dfg_batched dfg_batch_of(const struct dfg_batch *b, struct dfg_edge edge)
{
	struct dfg_batched *batched = edge.node < b->n_old ? &b->of[place_of(b, edge)] : NULL;
	return batched && batched->edge.node != DFG_NONE ? *batched : (struct dfg_batched){edge, false};
}

struct dfg_err *dfg_batch_refuse(const struct dfg_batch *b, uint32_t n, const char *why)
{
	const struct dfg_node node = b->builder->graph->node[n];
	return DFG_ERR(DFG_DATA, "node '%s' (%s): %s", node.name, node.op_name, why);
}

struct dfg_err *dfg_batch_rank(const struct dfg_batch *b, uint32_t n, struct dfg_edge edge, int *out_rank)
{
	*out_rank = dfg_batch_fact(b, edge)->shape.rank;
	return *out_rank < 0 ? dfg_batch_refuse(b, n, "the rank of an input is not known before it runs") : NULL;
}

struct dfg_err *dfg_batch_known(
	const struct dfg_batch *b, uint32_t n, uint32_t e, const struct dfg_known_value **out_known)
{
	struct dfg_edge edge = b->builder->graph->node[n].in[e];
	*out_known = dfg_batch_fact(b, edge)->known;
	if (dfg_batch_of(b, edge).varies || !dfg_known_whole(*out_known))
		return dfg_batch_refuse(b, n, "the axes or sizes that it reads are not constants");
	return NULL;
}

/* An earlier new node with the same value, or the node itself. */
static uint32_t earlier(const struct dfg_batch *b, uint32_t made)
{
	const struct dfg_graph *graph = b->builder->graph;
	const struct dfg_node *node = &graph->node[made];
	if (node->op->flags & (DFG_STATEFUL | DFG_READS | DFG_WRITES) || node->n_control)
		return made;
	for (uint32_t n = b->n_old; n < made; n++) {
		const struct dfg_node *other = &graph->node[n];
		bool same = other->op == node->op && other->n_in == node->n_in && !other->n_control &&
					dfg_attrs_same(other, node) && !strcmp(other->device, node->device);
		for (uint32_t e = 0; same && e < node->n_in; e++)
			same = dfg_edge_same(other->in[e], node->in[e]);
		if (same)
			return n;
	}
	return made;
}

static struct dfg_err *build(const struct dfg_batch *b, uint32_t n, struct dfg_new_node *want, struct dfg_edge *out)
{
	struct dfg_builder *builder = b->builder;
	const char *before = builder->device;
	want->name = builder->graph->node[n].name;
	uint32_t number;
	builder->device = builder->graph->node[n].device;
	struct dfg_err *err = dfg_build(builder, want, &number);
	builder->device = before;
	if (!err)
		*out = (struct dfg_edge){earlier(b, number), 0}; /* only now: it may be one of the inputs */
	return err;
}

struct dfg_err *dfg_batch_build(const struct dfg_batch *b, uint32_t n, const char *op, const struct dfg_edge *in,
	uint32_t n_in, const struct dfg_attr *attr, uint32_t n_attr, struct dfg_edge *out_edge)
{
	struct dfg_new_node want = {.op = op, .in = in, .n_in = n_in, .attr = attr, .n_attr = n_attr};
	return build(b, n, &want, out_edge);
}

void dfg_batch_set(struct dfg_batch *b, uint32_t n, struct dfg_edge edge, bool varies)
{
	b->of[place_of(b, (struct dfg_edge){n, 0})] = (struct dfg_batched){edge, varies};
	b->instead[n] = edge.node;
}

struct dfg_err *dfg_batch_replace(struct dfg_batch *b, uint32_t n, const char *op, const struct dfg_edge *in,
	uint32_t n_in, const struct dfg_attr *attr, uint32_t n_attr, bool varies)
{
	const struct dfg_node node = b->builder->graph->node[n];
	uint32_t outputs = dfg_facts_outputs(&b->builder->facts, n);
	struct dfg_edge *all = dfg_arena_zeros(b->arena, n_in + node.n_control + 1, sizeof *all), edge;
	struct dfg_new_node want = {
		.op = op, .in = all, .n_in = n_in, .n_control = node.n_control, .attr = attr, .n_attr = n_attr};
	if (!all)
		return dfg_no_memory("the body of a loop");
	if (n_in)
		memcpy(all, in, n_in * sizeof *all);
	for (uint32_t c = 0; c < node.n_control; c++)
		all[n_in + c] = (struct dfg_edge){b->instead[node.in[node.n_in + c].node], DFG_CONTROL};
	DFG_TRY(build(b, n, &want, &edge));
	b->instead[n] = edge.node;
	for (uint32_t port = 0; port < outputs; port++)
		b->of[place_of(b, (struct dfg_edge){n, (int32_t)port})] =
			(struct dfg_batched){{edge.node, (int32_t)port}, varies};
	return NULL;
}

struct dfg_err *dfg_batch_copy(struct dfg_batch *b, uint32_t n, const struct dfg_edge *in, bool varies)
{
	const struct dfg_node node = b->builder->graph->node[n];
	return dfg_batch_replace(b, n, node.op_name, in, node.n_in, node.attr, node.n_attr, varies);
}

struct dfg_err *dfg_batch_enter(const struct dfg_batch *b, struct dfg_edge outside, struct dfg_edge *out_edge)
{
	const struct dfg_loop *loop = &b->loops->loop[b->loop->loop];
	const char *frame = dfg_arena_copy(b->arena, loop->name.s, loop->name.length);
	if (!frame)
		return dfg_no_memory("the body of a loop");
	const struct dfg_attr attr[] = {DFG_ATTR_S("frame_name", frame), DFG_ATTR_B("is_constant", true),
		DFG_ATTR_I("parallel_iterations", loop->window)};
	return dfg_batch_build(b, loop->enter, "Enter", &outside, 1, attr, 3, out_edge);
}

static struct dfg_err *constant(
	const struct dfg_batch *b, const struct dfg_shape *shape, const int64_t *value, struct dfg_edge *out_edge)
{
	const struct dfg_loop *loop = &b->loops->loop[b->loop->loop];
	DFG_TRY(dfg_build_ints(b->builder, b->builder->graph->node[loop->enter].name, DFG_I32, shape, value, out_edge));
	out_edge->node = earlier(b, out_edge->node);
	return dfg_batch_enter(b, *out_edge, out_edge);
}

struct dfg_err *dfg_batch_ints(
	const struct dfg_batch *b, const int64_t *value, int64_t count, struct dfg_edge *out_edge)
{
	return constant(b, &DFG_SHAPE_VECTOR(count), value, out_edge);
}

struct dfg_err *dfg_batch_int(const struct dfg_batch *b, int64_t value, struct dfg_edge *out_edge)
{
	return constant(b, NULL, &value, out_edge);
}

struct dfg_err *dfg_batch_expand(
	const struct dfg_batch *b, uint32_t n, struct dfg_edge edge, int axes, struct dfg_edge *out_edge)
{
	struct dfg_edge in[2] = {edge};
	if (axes > 0)
		DFG_TRY(dfg_batch_int(b, 1, &in[1]));
	for (int i = 0; i < axes; i++)
		DFG_TRY(dfg_batch_build(b, n, "ExpandDims", in, 2, NULL, 0, &in[0]));
	*out_edge = in[0];
	return NULL;
}

struct dfg_err *dfg_batch_repeat(const struct dfg_batch *b, uint32_t n, struct dfg_edge edge, struct dfg_edge *out_edge)
{
	struct dfg_batched value = dfg_batch_of(b, edge);
	struct dfg_edge part[3] = {b->count}, to[2] = {value.edge, b->count};
	int rank;
	*out_edge = value.edge;
	if (value.varies || b->singly)
		return NULL;
	DFG_TRY(dfg_batch_rank(b, n, edge, &rank));
	if (rank) {
		DFG_TRY(dfg_batch_build(b, n, "Shape", &value.edge, 1, NULL, 0, &part[1]));
		DFG_TRY(dfg_batch_int(b, 0, &part[2]));
		DFG_TRY(dfg_batch_build(b, n, "ConcatV2", part, 3, NULL, 0, &to[1]));
	}
	return dfg_batch_build(b, n, "BroadcastTo", to, 2, NULL, 0, out_edge);
}

/* Whether the node belongs to the loop's own structure, which stays. */
static bool is_frame(const struct dfg_batch *b, uint32_t n)
{
	enum dfg_role role = dfg_node_role(&b->builder->graph->node[n]);
	bool is_variable = b->loops->of[n] == b->loop->loop && b->loops->variable[n] != DFG_NONE;
	return is_variable || role == DFG_ENTER || role == DFG_NEXT_ITERATION || role == DFG_EXIT || role == DFG_LOOP_COND;
}

static bool has_varying(const struct dfg_batch *b, uint32_t n)
{
	const struct dfg_node node = b->builder->graph->node[n];
	for (uint32_t e = 0; e < node.n_in; e++)
		if (dfg_batch_of(b, node.in[e]).varies)
			return true;
	return false;
}

static struct dfg_err *visit(struct dfg_batch *b, uint32_t n)
{
	const struct dfg_node *node = &b->builder->graph->node[n];
	bool writes = node->op && node->op->flags & DFG_WRITES && !(node->op->flags & DFG_TENSOR_ARRAY), selects = false;
	if (!b->singly) {
		DFG_TRY(dfg_batch_check_branch(b, n));
		DFG_TRY(dfg_batch_is_selection(b, n, &selects));
	}
	if (writes && (!b->singly || b->update_of[n]))
		return dfg_batch_update(b, n);
	return !b->singly && (selects || has_varying(b, n)) ? dfg_batch_apply(b, n) : NULL;
}

struct dfg_err *dfg_batch_body(struct dfg_batch *b, const uint32_t *order, const bool *is_inside)
{
	for (uint32_t i = 0; i < b->n_old; i++)
		if (is_inside[order[i]] && !is_frame(b, order[i]))
			DFG_TRY(visit(b, order[i]));
	return NULL;
}
