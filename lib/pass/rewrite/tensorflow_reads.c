/* tensorflow_reads. Requires: a graph that verify accepts. Result: reads of updated reference variables are copies. */
#include "lib/pass/rewrite/tensorflow_private.h"

#include "lib/graph/build.h"
#include "lib/graph/loops.h"

#include <string.h>

struct reads {
	struct dfg_graph *graph;
	struct dfg_builder builder;
	uint32_t count; /* number of nodes before the pass */
	bool *after;    /* by node: a read of a reference is among its direct or indirect inputs */
	bool *updated;  /* by node whose output is a reference: a node in `after` writes to its target */
};

static bool has_references(const struct dfg_graph *graph)
{
	for (uint32_t n = 0; n < graph->count; n++) {
		const struct dfg_signature *signature;
		if (dfg_node_role(&graph->node[n]) != DFG_VARIABLE)
			continue;
		struct dfg_err *err = dfg_op_signature(graph->node[n].op, &signature);
		bool found = !err && signature->out[0].is_ref;
		dfg_err_free(err);
		if (found)
			return true;
	}
	return false;
}

static bool is_reference(const struct reads *r, struct dfg_edge edge)
{
	return edge.port >= 0 && dfg_facts_of(&r->builder.facts, edge)->is_ref;
}

/* Whether node n takes the value of the reference in input e. */
static bool takes_value(const struct reads *r, uint32_t n, uint32_t e)
{
	const struct dfg_node *node = &r->graph->node[n];
	return is_reference(r, node->in[e]) && !dfg_node_takes_ref(node, e);
}

static bool takes_reference(const struct reads *r, uint32_t n, uint32_t e)
{
	return is_reference(r, r->graph->node[n].in[e]) && dfg_node_takes_ref(&r->graph->node[n], e);
}

/* One pass over the graph; back edges of loops, and nodes that precede their inputs, may require another pass. */
static bool spread_after(struct reads *r)
{
	bool more = false;
	for (uint32_t n = 0; n < r->count; n++) {
		const struct dfg_node *node = &r->graph->node[n];
		bool after = false;
		for (uint32_t e = 0; e < node->n_in + node->n_control && !after; e++)
			after = r->after[node->in[e].node] || (e < node->n_in && takes_value(r, n, e));
		more |= after && !r->after[n];
		r->after[n] |= after;
	}
	return more;
}

/*
 * A node after a read that has a reference as input writes to it; a node that forwards a reference has the same target.
 */
static bool spread_updated(struct reads *r)
{
	bool more = false;
	for (uint32_t n = 0; n < r->count; n++) {
		const struct dfg_node *node = &r->graph->node[n];
		bool writes = r->after[n] && node->op && node->op->role == DFG_PLAIN && node->op->flags & DFG_STATEFUL;
		writes |= r->after[n] && dfg_node_role(node) == DFG_ASSIGN;
		for (uint32_t e = 0; e < node->n_in; e++) {
			uint32_t from = node->in[e].node;
			if (!takes_reference(r, n, e))
				continue;
			bool updated = writes || r->updated[n] || r->updated[from];
			more |= updated && !(r->updated[n] && r->updated[from]);
			r->updated[n] |= updated;
			r->updated[from] |= updated;
		}
	}
	return more;
}

/* Turns the Identity of a reference into a copy. */
static struct dfg_err *make_copy(struct reads *r, uint32_t n)
{
	struct dfg_node *node = &r->graph->node[n];
	node->op = dfg_op_find("DeepCopy");
	if (!node->op)
		return DFG_ERR(DFG_BUG, "unknown op 'DeepCopy'");
	node->op_name = node->op->name;
	return NULL;
}

/*
 * Inserts a copy before input e of a node that reads a reference itself. The copy waits for the node's other inputs, as
 * the read did.
 */
static struct dfg_err *insert_copy(struct reads *r, uint32_t n, uint32_t e, struct dfg_arena *scratch)
{
	const struct dfg_node node = r->graph->node[n];
	bool is_merge = dfg_node_role(&node) == DFG_MERGE;
	struct dfg_edge copy, *in = dfg_arena_zeros(scratch, (size_t)node.n_in + node.n_control + 1, sizeof *in);
	const char *name = dfg_arena_print(scratch, "%s/copy", node.name);
	uint32_t count = 1;
	if (!in || !name)
		return dfg_no_memory("a copy");
	in[0] = node.in[e];
	for (uint32_t i = 0; i < node.n_in + node.n_control; i++)
		if (i >= node.n_in || !(is_merge || is_reference(r, node.in[i])))
			in[count++] = (struct dfg_edge){node.in[i].node, DFG_CONTROL};
	const struct dfg_new_node new = {.op = "DeepCopy", .name = name, .in = in, .n_in = 1, .n_control = count - 1};
	r->builder.device = node.device;
	copy.port = 0;
	DFG_TRY(dfg_build(&r->builder, &new, &copy.node));
	r->graph->node[n].in[e] = copy;
	return NULL;
}

static struct dfg_err *copy_all(struct reads *r, struct dfg_arena *scratch, bool *out_any)
{
	for (uint32_t n = 0; n < r->count; n++)
		for (uint32_t e = 0; e < r->graph->node[n].n_in; e++) {
			if (!takes_value(r, n, e) || !r->updated[r->graph->node[n].in[e].node])
				continue;
			*out_any = true;
			bool is_plain = !strcmp(r->graph->node[n].op_name, "Identity");
			DFG_TRY(is_plain ? make_copy(r, n) : insert_copy(r, n, e, scratch));
		}
	return NULL;
}

struct dfg_err *dfg_tensorflow_copy_reads(struct dfg_graph *graph, struct dfg_arena *scratch, bool *out_any)
{
	struct reads r = {.graph = graph, .count = graph->count};
	*out_any = false;
	if (!has_references(graph))
		return NULL;
	r.after = dfg_arena_zeros(scratch, (size_t)graph->count + 1, sizeof *r.after);
	r.updated = dfg_arena_zeros(scratch, (size_t)graph->count + 1, sizeof *r.updated);
	if (!r.after || !r.updated)
		return DFG_ERR(DFG_MEMORY, "no memory for %u nodes", graph->count);
	struct dfg_err *err = dfg_builder_init(&r.builder, graph);
	if (!err) {
		while (spread_after(&r))
			;
		while (spread_updated(&r))
			;
		err = copy_all(&r, scratch, out_any);
	}
	dfg_builder_release(&r.builder);
	return err;
}
