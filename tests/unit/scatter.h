#pragma once

#include "lib/graph/build.h"
#include "lib/pass/place/place.h"

#include <stdlib.h>

/*
 * Placement by chance: what has to stand together does (edges of handles, variants and refs, one variable under two names,
 * a loop variable's way in, round and out), all else where the dice say.
 */
struct scatter {
	const struct dfg_graph *graph;
	const struct dfg_facts *facts;
	uint32_t *parent;
	uint64_t seed;
};

static uint32_t scatter_dice(struct scatter *s, uint32_t n)
{
	s->seed = s->seed * UINT64_C(6364136223846793005) + 1442695040888963407;
	return (uint32_t)(s->seed >> 33) % n;
}

static uint32_t scatter_root(const struct scatter *s, uint32_t n)
{
	while (s->parent[n] != n)
		n = s->parent[n] = s->parent[s->parent[n]];
	return n;
}

static void scatter_bind(struct scatter *s, uint32_t a, uint32_t b)
{
	s->parent[scatter_root(s, a)] = scatter_root(s, b);
}

static struct dfg_string scatter_text(const struct dfg_node *node, const char *name)
{
	const struct dfg_attr *attr = dfg_node_attr(node, name);
	return attr && attr->kind == DFG_ATTR_STRING ? attr->value.s : (struct dfg_string){"", 0};
}

static bool scatter_shares(const struct dfg_node *a, const struct dfg_node *b)
{
	struct dfg_string one = scatter_text(a, "shared_name"), other = scatter_text(b, "shared_name");
	return one.length && one.length == other.length && !memcmp(one.s, other.s, one.length);
}

static void scatter_edges(struct scatter *s, uint32_t n)
{
	const struct dfg_node *node = &s->graph->node[n];
	enum dfg_role role = dfg_node_role(node);
	for (uint32_t e = 0; e < node->n_in; e++) {
		struct dfg_edge edge = node->in[e];
		const struct dfg_inferred *fact = (uint32_t)edge.port < dfg_facts_outputs(s->facts, edge.node)
											  ? dfg_facts_of(s->facts, edge)
											  : &dfg_fact_nothing;
		bool loop_merge = false;
		for (uint32_t i = 0; i < node->n_in; i++)
			loop_merge |= dfg_edge_closes(s->graph, node, node->in[i]);
		if (fact->dtype == DFG_RESOURCE || fact->dtype == DFG_VARIANT || fact->is_ref || loop_merge)
			scatter_bind(s, n, edge.node);
	}
	if (role == DFG_EXIT) {
		struct dfg_edge at = node->in[0], source = dfg_exit_source(s->graph, node);
		for (; at.node != source.node; at = s->graph->node[at.node].in[at.port])
			scatter_bind(s, n, at.node);
		scatter_bind(s, n, source.node);
	}
}

static void scatter_begin(struct scatter *s, const struct dfg_graph *graph, const struct dfg_facts *facts)
{
	*s = (struct scatter){
		.graph = graph, .facts = facts, .parent = calloc((size_t)graph->count + 1, sizeof(uint32_t)), .seed = 1};
	for (uint32_t n = 0; n < graph->count; n++)
		s->parent[n] = n;
	for (uint32_t n = 0; n < graph->count; n++) {
		scatter_edges(s, n);
		for (uint32_t k = 0; k < n && dfg_node_role(&graph->node[n]) == DFG_VARIABLE; k++)
			if (dfg_node_role(&graph->node[k]) == DFG_VARIABLE && scatter_shares(&graph->node[n], &graph->node[k]))
				scatter_bind(s, n, k);
	}
}

/* placed has an element for each node. */
static void scatter_place(struct scatter *s, uint32_t devices, struct dfg_placed *placed)
{
	for (uint32_t n = 0; n < s->graph->count; n++)
		placed[n] = (struct dfg_placed){.device = scatter_dice(s, devices), .with = DFG_NONE};
	for (uint32_t n = 0; n < s->graph->count; n++)
		placed[n].device = placed[scatter_root(s, n)].device;
}

static void scatter_end(struct scatter *s)
{
	free(s->parent);
}
