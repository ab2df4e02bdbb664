#include "lib/pass/partition/partition_private.h"

#include "lib/pass/verify/predicate.h"

#include <string.h>

enum { BYTES_MOST = 1024, HOPS_MOST = 16 };

const char *dfg_clone_name(struct dfg_arena *arena, uint32_t device, const char *name)
{
	return dfg_arena_print(arena, "_dfg/clone/%u/%s", device, name);
}

static bool is_small(const struct dfg_literal *literal)
{
	size_t bytes = 0;
	if (literal->dtype == DFG_STRING && literal->given <= BYTES_MOST)
		for (int64_t i = 0; i < literal->given; i++)
			bytes += ((const struct dfg_string *)literal->data)[i].length;
	else
		bytes = dfg_literal_bytes(literal);
	return bytes <= BYTES_MOST;
}

/* The number of control inputs other than the loop's pivot. */
static uint32_t waits_of(const struct cut *c, const struct dfg_node *node)
{
	uint32_t waits = 0;
	for (uint32_t e = 0; e < node->n_control; e++)
		waits += !dfg_cut_pivot_of(c, node->in[e].node);
	return waits;
}

static bool is_small_constant(const struct dfg_node *node)
{
	const struct dfg_attr *value = dfg_node_role(node) == DFG_CONST ? dfg_node_attr(node, "value") : NULL;
	return value && value->kind == DFG_ATTR_TENSOR && is_small(value->value.tensor);
}

bool dfg_cut_is_constant(const struct cut *c, uint32_t n)
{
	return is_small_constant(&c->graph->node[n]) && !waits_of(c, &c->graph->node[n]);
}

/* Whether the node is a loop's LoopCond or an Identity of it. */
static bool is_predicate(const struct cut *c, uint32_t n)
{
	const struct dfg_node *node = &c->graph->node[n];
	for (int i = 0; i < HOPS_MOST && dfg_node_role(node) == DFG_IDENTITY && node->n_in == 1 && !node->n_control; i++)
		node = &c->graph->node[n = node->in[0].node];
	return c->loops.loop[c->loops.of[n]].condition == n;
}

bool dfg_cut_is_cloned_enter(const struct dfg_node *node)
{
	return dfg_is_constant_enter(node) && !dfg_node_takes_ref(node, 0);
}

bool dfg_cut_is_cloned(const struct cut *c, uint32_t n)
{
	switch (dfg_node_role(&c->graph->node[n])) {
	case DFG_CONST: /* one that waits for a node is sent only if it waits for several */
		return c->is_copied[n] || (is_small_constant(&c->graph->node[n]) && waits_of(c, &c->graph->node[n]) <= 1);
	case DFG_ENTER:
		return c->is_copied[n] || dfg_cut_is_cloned_enter(&c->graph->node[n]);
	case DFG_IDENTITY:
	case DFG_LOOP_COND:
		return c->is_copied[n] || is_predicate(c, n);
	default:
		return c->is_copied[n];
	}
}

/* Removes the marks: an output or the target of a gradient is the node itself, not its clone. */
static struct dfg_err *strip_marks(struct cut *c, struct dfg_node *node)
{
	const struct dfg_attr *attr = node->attr;
	uint32_t count = node->n_attr;
	if (!(node->attr = dfg_arena_zeros(c->arena, (size_t)count + 1, sizeof *attr)))
		return dfg_no_memory("a clone");
	node->n_attr = 0;
	for (uint32_t i = 0; i < count; i++)
		if (*attr[i].name != '_')
			node->attr[node->n_attr++] = attr[i];
	return NULL;
}

struct dfg_err *dfg_cut_clone(struct cut *c, uint32_t n, uint32_t device, uint32_t *out_number)
{
	struct dfg_node node = c->graph->node[n];
	uint32_t count = node.n_in + node.n_control;
	node.name = dfg_clone_name(c->arena, device, node.name);
	struct dfg_edge *in = dfg_arena_zeros(c->arena, (size_t)count + 1, sizeof *in);
	if (!node.name || !in)
		return dfg_no_memory("a clone");
	if (count)
		memcpy(in, node.in, count * sizeof *in);
	node.in = in;
	DFG_TRY(strip_marks(c, &node));
	return dfg_cut_add(c, &node, device, out_number);
}
