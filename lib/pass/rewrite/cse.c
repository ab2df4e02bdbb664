/*
 * cse. Requires: a graph that verify accepts. Result: one node for all that compute the same. O(nodes + edges)
 * expected.
 */
#include "lib/pass/rewrite/cse.h"

#include "lib/base/hash.h"
#include "lib/base/plural.h"
#include "lib/graph/cycle.h"
#include "lib/pass/rewrite/equal_attributes.h"
#include "lib/pass/verify/verify.h"

#include <string.h>

struct cse {
	struct dfg_graph *graph;
	struct dfg_facts facts;
	bool *fed;
	uint32_t *first; /* by node: the node that replaces it */
	uint32_t *slot;  /* hash table: node number + 1 */
	size_t slots;
};

static bool reads_state(const struct cse *c, const struct dfg_node *node)
{
	for (uint32_t i = 0; i < node->n_in; i++) {
		const struct dfg_inferred *fact = dfg_facts_of(&c->facts, node->in[i]);
		if (fact->is_ref || dfg_dtype_is_handle(fact->dtype))
			return true;
	}
	return false;
}

static bool has_facts(const struct cse *c, const struct dfg_node *node)
{
	for (uint32_t i = 0; i < node->n_in; i++)
		if ((uint32_t)node->in[i].port >= dfg_facts_outputs(&c->facts, node->in[i].node))
			return false;
	return true;
}

/* dfg's own marks belong to the particular node. */
static bool is_marked(const struct dfg_node *node)
{
	for (uint32_t i = 0; i < node->n_attr; i++)
		if (!strncmp(node->attr[i].name, "_dfg_", 5))
			return true;
	return false;
}

static bool may_join(const struct cse *c, uint32_t n)
{
	const struct dfg_node *node = &c->graph->node[n];
	const struct dfg_op *op = node->op;
	return op && (op->role == DFG_PLAIN || op->role == DFG_CONST || op->role == DFG_IDENTITY) &&
		   !(op->flags & (DFG_STATEFUL | DFG_BLOCKING)) && dfg_facts_outputs(&c->facts, n) && !c->fed[n] &&
		   !is_marked(node) && has_facts(c, node) && !reads_state(c, node);
}

static void use_first(const struct cse *c, struct dfg_node *node)
{
	for (uint32_t e = 0; e < node->n_in + node->n_control; e++)
		node->in[e].node = c->first[node->in[e].node];
}

static bool same_inputs(const struct dfg_node *a, const struct dfg_node *b)
{
	bool same = true;
	for (uint32_t e = 0; e < a->n_in && same; e++)
		same = dfg_edge_same(a->in[e], b->in[e]);
	if (same || !(a->op->flags & DFG_COMMUTATIVE) || a->n_in != 2)
		return same;
	return dfg_edge_same(a->in[0], b->in[1]) && dfg_edge_same(a->in[1], b->in[0]);
}

/* Control inputs are a set without duplicates, usually empty. */
static bool same_controls(const struct dfg_node *a, const struct dfg_node *b)
{
	for (uint32_t e = a->n_in; e < a->n_in + a->n_control; e++) {
		bool there = false;
		for (uint32_t f = b->n_in; f < b->n_in + b->n_control && !there; f++)
			there = a->in[e].node == b->in[f].node;
		if (!there)
			return false;
	}
	return true;
}

static bool same(const struct dfg_node *a, const struct dfg_node *b)
{
	enum { CONTROLS_MOST = 32 };
	return a->op == b->op && a->n_in == b->n_in && a->n_control == b->n_control && a->n_control <= CONTROLS_MOST &&
		   !strcmp(a->device, b->device) && same_inputs(a, b) && same_controls(a, b) && dfg_attrs_same(a, b);
}

/* Inputs are summed, so that their order does not matter. */
static uint64_t hash(const struct dfg_node *node)
{
	uint64_t sum = (uint64_t)(uintptr_t)node->op ^ dfg_attrs_hash(node);
	for (uint32_t e = 0; e < node->n_in + node->n_control; e++)
		sum += dfg_hash_word(
			dfg_hash_key, dfg_hash_key.seed, (uint64_t)node->in[e].node << 32 | (uint32_t)(node->in[e].port + 1));
	return dfg_hash_word(dfg_hash_key, dfg_hash_key.seed, sum);
}

static void join(struct cse *c, uint32_t n)
{
	struct dfg_node *node = &c->graph->node[n];
	size_t i = hash(node) & (c->slots - 1);
	for (; c->slot[i]; i = (i + 1) & (c->slots - 1))
		if (same(node, &c->graph->node[c->slot[i] - 1])) {
			c->first[n] = c->slot[i] - 1;
			return;
		}
	c->slot[i] = n + 1;
}

static struct dfg_err *join_nodes(struct cse *c, struct dfg_arena *scratch, uint32_t *out_joined)
{
	uint32_t *order, count;
	*out_joined = 0;
	DFG_TRY(dfg_pass_order(c->graph, scratch, &order, &count));
	for (uint32_t i = 0; i < count; i++) {
		uint32_t n = order ? order[i] : i;
		use_first(c, &c->graph->node[n]);
		if (may_join(c, n))
			join(c, n);
		*out_joined += c->first[n] != n;
	}
	/* NextIteration edges were visited before their sources. */
	for (uint32_t n = 0; n < c->graph->count; n++)
		use_first(c, &c->graph->node[n]);
	return NULL;
}

static struct dfg_err *allocate(struct cse *c, struct dfg_keep *keep, struct dfg_arena *scratch)
{
	for (c->slots = 16; c->slots < 2 * (size_t)c->graph->count; c->slots *= 2)
		;
	c->fed = dfg_arena_zeros(scratch, (size_t)c->graph->count + 1, sizeof *c->fed);
	c->first = dfg_arena_zeros(scratch, (size_t)c->graph->count + 1, sizeof *c->first);
	c->slot = dfg_arena_zeros(scratch, c->slots, sizeof *c->slot);
	if (!c->fed || !c->first || !c->slot)
		return DFG_ERR(DFG_MEMORY, "no memory to compare %u nodes", c->graph->count);
	for (uint32_t n = 0; n < c->graph->count; n++)
		c->first[n] = n;
	for (uint32_t i = 0; i < keep->n_feed; i++)
		c->fed[keep->feed[i].node] = true;
	return NULL;
}

struct dfg_err *dfg_cse(
	struct dfg_graph *graph, struct dfg_keep *keep, struct dfg_arena *scratch, struct dfg_text *report)
{
	struct cse c = {.graph = graph, .facts = {.arena = scratch}};
	uint32_t joined = 0;
	DFG_TRY(allocate(&c, keep, scratch));
	struct dfg_err *err = dfg_verify(graph, NULL, &c.facts);
	if (!err)
		err = join_nodes(&c, scratch, &joined);
	dfg_facts_release(&c.facts);
	dfg_text_add(
		report, "cse: merged %u of %u node%s with equal ones\n", joined, graph->count, dfg_plural(graph->count));
	return err;
}
