/*
 * strip. Requires: a graph that verify accepts. Result: nobody reads assertions, checks, prints and identities any more, and
 * they are removed. O(nodes + edges).
 */
#include "lib/pass/rewrite/strip.h"

#include "lib/base/plural.h"
#include "lib/pass/rewrite/renumber.h"

#include <string.h>

enum kind { STAYS, HANDS_ON, ONLY_CHECKS };

struct strip {
	struct dfg_graph *graph;
	struct dfg_arena *scratch;
	uint8_t *kind; /* by node: enum kind */
	bool is_plain; /* no node is dead, repeated or writes state: control edges order nothing but checks */
};

static bool is_one_of(const char *name, const char *const *list)
{
	while (*list && strcmp(name, *list) != 0)
		list++;
	return *list;
}

static enum kind kind_of(const struct dfg_graph *graph, const struct dfg_node *node)
{
	static const char *const passing[] = {
		"Identity", "Snapshot", "StopGradient", "PreventGradient", "CheckNumerics", "CheckNumericsV2", NULL};
	if (!node->op)
		return STAYS;
	if (node->op->means == DFG_MEANS_ASSERTION || !strcmp(node->op_name, "PrintV2"))
		return ONLY_CHECKS;
	const bool is_print = !strcmp(node->op_name, "Print");
	if (!node->n_in || (!is_print && (node->n_in != 1 || !is_one_of(node->op_name, passing))))
		return STAYS;
	const struct dfg_node *source = &graph->node[node->in[0].node];
	const bool is_anchor = source->op && dfg_role_is_structural(source->op->role); /* its liveness is another one */
	return is_anchor || !source->op || dfg_edge_is_ref(graph, node->in[0]) ? STAYS : HANDS_ON;
}

static void keep_all(struct strip *s, const struct dfg_keep *keep)
{
	for (uint32_t i = 0; i < keep->n_feed; i++)
		s->kind[keep->feed[i].node] = STAYS;
	for (uint32_t i = 0; i < keep->n_fetch; i++)
		s->kind[keep->fetch[i].node] = STAYS;
	for (uint32_t i = 0; i < keep->n_target; i++)
		s->kind[keep->target[i]] = STAYS;
}

static void find_kinds(struct strip *s, const struct dfg_keep *keep)
{
	s->is_plain = true;
	for (uint32_t n = 0; n < s->graph->count; n++) {
		const struct dfg_node *node = &s->graph->node[n];
		const bool writes = node->op && node->op->flags & DFG_WRITES && !dfg_node_mark(node, "_dfg_init", NULL);
		s->is_plain &= node->op && !dfg_role_is_structural(node->op->role) && !writes;
		s->kind[n] = (uint8_t)kind_of(s->graph, node);
	}
	keep_all(s, keep);
}

/* A check with control inputs hands its liveness on only by control edges; an identity with some stays. */
static void keep_ordering(struct strip *s)
{
	for (uint32_t n = 0; n < s->graph->count; n++)
		if (s->kind[n] == HANDS_ON && s->graph->node[n].n_control && !s->is_plain)
			s->kind[n] = STAYS;
}

static struct dfg_edge source_of(const struct strip *s, struct dfg_edge edge)
{
	while (edge.port == 0 && s->kind[edge.node] == HANDS_ON)
		edge = s->graph->node[edge.node].in[0];
	return edge;
}

/* The nodes that a control edge from a stripped node stands for, added to `to` unless they are there. */
struct controls {
	uint32_t *node, count, *met, round;
};

static void add_controls(const struct strip *s, uint32_t n, struct controls *to)
{
	uint32_t done = to->count;
	if (to->met[n] == to->round)
		return;
	to->met[n] = to->round;
	to->node[to->count++] = n;
	for (; done < to->count; done++) {
		const uint32_t at = to->node[done];
		const struct dfg_node *node = &s->graph->node[at];
		if (s->kind[at] == STAYS)
			continue;
		const bool values = !s->is_plain || s->kind[at] == HANDS_ON;
		for (uint32_t e = values ? 0 : node->n_in; e < node->n_in + node->n_control; e++)
			if (to->met[node->in[e].node] != to->round) {
				to->met[node->in[e].node] = to->round;
				to->node[to->count++] = node->in[e].node;
			}
	}
}

static struct dfg_err *redirect(struct strip *s, uint32_t n, struct controls *to)
{
	struct dfg_node *node = &s->graph->node[n];
	bool any = false;
	for (uint32_t e = 0; e < node->n_in; e++)
		node->in[e] = source_of(s, node->in[e]);
	for (uint32_t e = node->n_in; e < node->n_in + node->n_control; e++)
		any |= s->kind[node->in[e].node] != STAYS;
	if (!any)
		return NULL;
	to->count = 0;
	to->round++;
	for (uint32_t e = node->n_in; e < node->n_in + node->n_control; e++)
		add_controls(s, node->in[e].node, to);
	struct dfg_edge *in = dfg_arena_zeros(s->graph->arena, (size_t)node->n_in + to->count + 1, sizeof *in);
	if (!in)
		return dfg_no_memory("the nodes");
	if (node->n_in)
		memcpy(in, node->in, node->n_in * sizeof *in);
	node->n_control = 0;
	for (uint32_t i = 0; i < to->count; i++)
		if (s->kind[to->node[i]] == STAYS)
			in[node->n_in + node->n_control++] = (struct dfg_edge){to->node[i], DFG_CONTROL};
	node->in = in;
	return NULL;
}

static struct dfg_err *remove_stripped(struct strip *s, struct dfg_keep *keep, struct dfg_text *report)
{
	const uint32_t before = s->graph->count;
	uint32_t *order = dfg_arena_zeros(s->scratch, (size_t)before + 1, sizeof *order), kept = 0;
	uint32_t *number = dfg_arena_zeros(s->scratch, (size_t)before + 1, sizeof *number);
	if (!order || !number)
		return dfg_no_memory("the nodes");
	for (uint32_t n = 0; n < before; n++)
		if (s->kind[n] == STAYS)
			order[kept++] = n;
	DFG_TRY(dfg_renumber(s->graph, order, kept, number, keep, s->scratch));
	dfg_text_add(report, "strip: removed %u of %u node%s\n", before - kept, before, dfg_plural(before));
	return NULL;
}

struct dfg_err *dfg_strip(
	struct dfg_graph *graph, struct dfg_keep *keep, struct dfg_arena *scratch, struct dfg_text *report)
{
	const size_t count = (size_t)graph->count + 1;
	struct strip s = {.graph = graph, .scratch = scratch, .kind = dfg_arena_zeros(scratch, count, 1)};
	struct controls to = {.node = dfg_arena_zeros(scratch, count, sizeof *to.node),
		.met = dfg_arena_zeros(scratch, count, sizeof *to.met)};
	if (!s.kind || !to.node || !to.met)
		return dfg_no_memory("the nodes");
	find_kinds(&s, keep);
	keep_ordering(&s);
	for (uint32_t n = 0; n < graph->count; n++)
		if (s.kind[n] == STAYS)
			DFG_TRY(redirect(&s, n, &to));
	return remove_stripped(&s, keep, report);
}
