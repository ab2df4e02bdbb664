#include "lib/pass/replicate/replicate_private.h"

#include <stdio.h>
#include <string.h>

/*
 * Control edges between the compute run and the update run. Every one that leads from a node of one run to a node of the
 * other is cut: the runs follow each other anyway.
 */

static uint32_t inputs(const struct dfg_node *node)
{
	return node->n_in + node->n_control;
}

static bool is_end(const struct dfg_node *node)
{
	return node->op && node->op->flags & (DFG_CONTRIBUTES | DFG_COLLECTS);
}

/* The nodes that are not in the order are in or after a cycle, which a reduction has closed: names the value to reduce. */
static struct dfg_err *depends_on_update(struct replicate *r, const uint32_t *order, uint32_t count)
{
	const struct dfg_graph *graph = r->builder->graph;
	bool *ordered = dfg_arena_zeros(&r->scratch, graph->count, sizeof *ordered);
	uint32_t n = r->before, at = 0;
	if (!ordered)
		return dfg_no_memory("the order of the nodes");
	for (uint32_t i = 0; i < count; i++)
		ordered[order[i]] = true;
	while (n < graph->count && (ordered[n] || !(graph->node[n].op && graph->node[n].op->flags & DFG_CONTRIBUTES)))
		n++;
	if (n == graph->count)
		return DFG_ERR(DFG_BUG, "the nodes have a cycle, which does not pass through a reduction");
	while (at + 1 < graph->node[n].n_in && ordered[graph->node[n].in[at].node])
		at++;
	const struct dfg_node *node = &graph->node[graph->node[n].in[at].node];
	return DFG_ERR(DFG_DATA,
		"node '%.200s' (%.100s): cannot be reduced over the shards, as it depends on another reduced value; run the "
		"two reductions in separate steps",
		node->name, node->op_name);
}

/* Marks what depends on the marked nodes, also by control edges. An end of an all-reduce passes nothing on. */
static struct dfg_err *spread(struct replicate *r, bool *marked)
{
	const struct dfg_graph *graph = r->builder->graph;
	uint32_t *order = dfg_arena_zeros(&r->scratch, graph->count, sizeof *order), count;
	if (!order)
		return dfg_no_memory("the order of the nodes");
	DFG_TRY(dfg_graph_order(graph, &r->scratch, order, &count));
	if (count < graph->count)
		return depends_on_update(r, order, count);
	for (bool more = true; more;) { /* again for the back edges of loops */
		more = false;
		for (uint32_t i = 0; i < count; i++) {
			uint32_t n = order[i];
			const struct dfg_node *node = &graph->node[n];
			bool depends = false, ends = is_end(node);
			for (uint32_t e = 0; e < inputs(node) && !ends && !depends; e++)
				depends = marked[node->in[e].node];
			more |= depends && !marked[n];
			marked[n] |= depends;
		}
	}
	return NULL;
}

/* Marks the nodes whose values the contributions to the buckets [0, buckets) depend on. */
static struct dfg_err *find_contributing(struct replicate *r, uint32_t buckets, bool *marked)
{
	const struct dfg_graph *graph = r->builder->graph;
	uint32_t *stack = dfg_arena_zeros(&r->scratch, graph->count, sizeof *stack), depth = 0;
	if (!stack)
		return dfg_no_memory("the nodes that compute gradients");
	for (uint32_t n = r->before; n < graph->count; n++) {
		const struct dfg_attr *bucket = dfg_node_attr(&graph->node[n], "bucket");
		bool starts = graph->node[n].op && graph->node[n].op->flags & DFG_CONTRIBUTES;
		if (starts && bucket && bucket->value.i < buckets)
			stack[depth++] = n;
	}
	while (depth) {
		const struct dfg_node *node = &graph->node[stack[--depth]];
		for (uint32_t e = 0; e < node->n_in; e++) {
			uint32_t in = node->in[e].node;
			if (!marked[in])
				stack[depth++] = in;
			marked[in] = true;
		}
	}
	return NULL;
}

/* A control edge by which a contribution waits for an update. */
struct early_update {
	uint32_t node, update;
};

/* The walk over an update's own nodes, which are marked in `seen`; the gradients may not read a variable that it writes. */
static struct dfg_err *check_early(struct replicate *r, const bool *read, struct early_update early, bool *seen)
{
	const struct dfg_graph *graph = r->builder->graph;
	uint32_t *stack = dfg_arena_zeros(&r->scratch, graph->count, sizeof *stack), depth = 1;
	if (!stack)
		return dfg_no_memory("an update");
	stack[0] = early.update;
	memset(seen, 0, graph->count);
	seen[early.update] = true;
	while (depth) {
		uint32_t n = stack[--depth];
		const struct dfg_node *node = &graph->node[n];
		uint32_t variable = dfg_replicate_writes(graph, node) ? dfg_replicate_variable(graph, node->in[0]) : DFG_NONE;
		if (variable != DFG_NONE && read[variable])
			return DFG_ERR(DFG_DATA,
				"node '%.200s' (%.100s): a gradient reads variable '%.200s' after its update; run the update and that "
				"gradient in separate steps",
				graph->node[early.node].name, graph->node[early.node].op_name, graph->node[variable].name);
		for (uint32_t e = 0; e < inputs(node); e++)
			if (!seen[node->in[e].node] && r->reduced[node->in[e].node]) {
				seen[node->in[e].node] = true;
				stack[depth++] = node->in[e].node;
			}
	}
	return NULL;
}

/* The updates by gradients wait for the update, as they did through the gradients. */
static struct dfg_err *wait_for_update(struct replicate *r, uint32_t update, const bool *precedes)
{
	struct dfg_graph *graph = r->builder->graph;
	for (uint32_t n = 0; n < r->before; n++) {
		const struct dfg_node *node = &graph->node[n];
		bool updates = r->needed[n] && !precedes[n] && dfg_replicate_writes(graph, node);
		for (uint32_t e = 1; e < node->n_in && updates; e++)
			if (graph->node[node->in[e].node].op && graph->node[node->in[e].node].op->flags & DFG_COLLECTS) {
				DFG_TRY(dfg_node_add_control(graph, n, update));
				break;
			}
	}
	return NULL;
}

/* Removes the control edges to a node from those that are reduced, and adds the edges to a list. */
static uint32_t remove_waits(struct replicate *r, uint32_t n, struct early_update *early, uint32_t count)
{
	struct dfg_node *node = &r->builder->graph->node[n];
	uint32_t kept = node->n_in;
	for (uint32_t e = kept; e < inputs(node); e++) {
		if (r->reduced[node->in[e].node])
			early[count++] = (struct early_update){n, node->in[e].node};
		else
			node->in[kept++] = node->in[e];
	}
	node->n_control = kept - node->n_in;
	return count;
}

/* Whether an input in [from, to) is reduced. */
static bool reads_reduced(const struct replicate *r, uint32_t n, uint32_t from, uint32_t to)
{
	for (uint32_t e = from; e < to; e++)
		if (r->reduced[r->builder->graph->node[n].in[e].node])
			return true;
	return false;
}

/*
 * A contribution that waits for an update by a control edge, as TensorFlow's gradients do for the moving averages of a
 * batch normalization, is made before that update instead.
 */
static struct dfg_err *free_contributions(struct replicate *r)
{
	const struct dfg_graph *graph = r->builder->graph;
	uint32_t *order = dfg_arena_zeros(&r->scratch, graph->count, sizeof *order), nodes, count = 0, edges = 0;
	bool *contributes = dfg_arena_zeros(&r->scratch, graph->count, sizeof *contributes),
		 *read = dfg_arena_zeros(&r->scratch, graph->count, sizeof *read),
		 *seen = dfg_arena_zeros(&r->scratch, graph->count, sizeof *seen);
	r->reduced = dfg_arena_zeros(&r->scratch, graph->count, sizeof *r->reduced);
	for (uint32_t n = 0; n < graph->count; n++)
		edges += graph->node[n].n_control;
	struct early_update *early = dfg_arena_zeros(&r->scratch, edges, sizeof *early);
	if (!order || !contributes || !read || !seen || !r->reduced || !early)
		return dfg_no_memory("the nodes that compute gradients");
	DFG_TRY(find_contributing(r, r->buckets, contributes));
	DFG_TRY(find_contributing(r, r->gradient_buckets, read));
	DFG_TRY(dfg_graph_order(graph, &r->scratch, order, &nodes));
	for (uint32_t i = 0; i < nodes; i++) {
		uint32_t n = order[i];
		const struct dfg_node *node = &graph->node[n];
		bool by_value = node->op && node->op->flags & DFG_COLLECTS;
		by_value |= !is_end(node) && reads_reduced(r, n, 0, node->n_in);
		if (contributes[n] && !by_value)
			count = remove_waits(r, n, early, count);
		r->reduced[n] = by_value || (!is_end(node) && reads_reduced(r, n, node->n_in, inputs(node)));
	}
	for (uint32_t i = 0; i < count; i++) {
		uint32_t same = 0;
		while (early[same].update != early[i].update)
			same++;
		if (same < i)
			continue;
		DFG_TRY(check_early(r, read, early[i], seen));
		DFG_TRY(wait_for_update(r, early[i].update, seen));
	}
	return NULL;
}

/* Marks the nodes that depend on an all-reduce, and those that depend on an input that is sharded. */
static struct dfg_err *find_runs(struct replicate *r)
{
	const struct dfg_graph *graph = r->builder->graph;
	r->reduced = dfg_arena_zeros(&r->scratch, graph->count, sizeof *r->reduced);
	r->sharded = dfg_arena_zeros(&r->scratch, graph->count, sizeof *r->sharded);
	if (!r->reduced || !r->sharded)
		return dfg_no_memory("the runs of a step");
	for (uint32_t n = 0; n < graph->count; n++) {
		r->reduced[n] = graph->node[n].op && graph->node[n].op->flags & DFG_COLLECTS;
		r->sharded[n] = dfg_node_mark(&graph->node[n], "_dfg_shard", NULL);
	}
	DFG_TRY(spread(r, r->reduced));
	return spread(r, r->sharded);
}

/* The bucket that stands for all: the update run waits for every bucket. */
static uint32_t end_of_reduction(const struct replicate *r, const char *head)
{
	char name[40];
	snprintf(name, sizeof name, "_dfg/%s/0", head);
	return dfg_graph_find(r->builder->graph, name);
}

/* The node runs in the compute run, before the reduction. */
static struct dfg_err *run_before(struct replicate *r, uint32_t n)
{
	return dfg_node_add_control(r->builder->graph, end_of_reduction(r, "reduce"), n);
}

/* Whether the node reads a value that differs from shard to shard. */
static bool reads_shard(const struct replicate *r, uint32_t n)
{
	const struct dfg_node *node = &r->builder->graph->node[n];
	for (uint32_t e = 0; e < node->n_in; e++)
		if (dfg_local_is(&r->local, node->in[e]))
			return true;
	return false;
}

/*
 * A node of the update run that waits for one of the compute run: an update waits for the reduction instead, before
 * which that node runs. Any other node, such as a constant that TensorFlow has made under a control dependency, need not
 * wait: no compute run writes what it could read.
 */
static struct dfg_err *cut_waits(struct replicate *r, uint32_t n)
{
	struct dfg_graph *graph = r->builder->graph;
	uint32_t kept = graph->node[n].n_in;
	for (uint32_t e = kept; e < inputs(&graph->node[n]); e++) {
		struct dfg_edge edge = graph->node[n].in[e];
		bool before = r->sharded[edge.node] && !r->reduced[edge.node];
		if (before)
			DFG_TRY(run_before(r, edge.node));
		if (before && r->reduced[n])
			edge.node = end_of_reduction(r, "reduced");
		if (!before || r->reduced[n])
			graph->node[n].in[kept++] = edge;
	}
	graph->node[n].n_control = kept - graph->node[n].n_in;
	return NULL;
}

/* Visits the update run: the needed nodes that are reduced, and all that they depend on. */
static struct dfg_err *cut_all_waits(struct replicate *r)
{
	const struct dfg_graph *graph = r->builder->graph;
	uint32_t *stack = dfg_arena_zeros(&r->scratch, graph->count, sizeof *stack), depth = 0;
	bool *seen = dfg_arena_zeros(&r->scratch, graph->count, sizeof *seen);
	if (!stack || !seen)
		return dfg_no_memory("the nodes of an update");
	for (uint32_t n = 0; n < r->before; n++)
		if (r->needed[n] && r->reduced[n] && !reads_shard(r, n)) {
			seen[n] = true;
			stack[depth++] = n;
		}
	while (depth) {
		uint32_t n = stack[--depth];
		DFG_TRY(cut_waits(r, n));
		for (uint32_t e = 0; e < inputs(&graph->node[n]); e++) {
			uint32_t in = graph->node[n].in[e].node;
			if (seen[in] || is_end(&graph->node[in]) || reads_shard(r, in))
				continue;
			seen[in] = true;
			stack[depth++] = in;
		}
	}
	return NULL;
}

/*
 * TensorFlow's training ops often are the loss, to be returned after the update: such a target becomes a node that waits
 * for both.
 */
static struct dfg_err *split_target(struct replicate *r, uint32_t i)
{
	struct dfg_graph *graph = r->builder->graph;
	uint32_t n = r->keep->target[i], count = graph->node[n].n_control, kept = 0;
	struct dfg_edge *wait = dfg_arena_zeros(&r->scratch, (size_t)count + 1, sizeof *wait);
	struct dfg_new_node after = {.op = "NoOp", .name = "_dfg/target", .in = wait};
	if (!wait)
		return dfg_no_memory("a target");
	for (uint32_t e = graph->node[n].n_in; e < graph->node[n].n_in + count; e++) {
		struct dfg_edge edge = graph->node[n].in[e];
		if (r->reduced[edge.node])
			wait[after.n_control++] = edge;
		else
			graph->node[n].in[graph->node[n].n_in + kept++] = edge;
	}
	if (!after.n_control)
		return NULL;
	graph->node[n].n_control = kept;
	DFG_TRY(run_before(r, n));
	return dfg_build(r->builder, &after, &r->keep->target[i]);
}

/* The tensor whose reduced value the node depends on, by the shortest walk back that finds one. */
static struct dfg_err *find_reduced_input(struct replicate *r, uint32_t n, struct dfg_edge *out_source)
{
	const struct dfg_graph *graph = r->builder->graph;
	uint32_t *queue = dfg_arena_zeros(&r->scratch, graph->count, sizeof *queue), first = 0, count = 1;
	bool *seen = dfg_arena_zeros(&r->scratch, graph->count, sizeof *seen);
	if (!queue || !seen)
		return dfg_no_memory("the inputs of a node");
	*out_source = (struct dfg_edge){n, 0};
	queue[0] = n;
	for (; first < count; first++) {
		const struct dfg_node *node = &graph->node[queue[first]];
		for (uint32_t e = 0; e < inputs(node); e++) {
			const struct dfg_node *in = &graph->node[node->in[e].node];
			bool collects = in->op && in->op->flags & DFG_COLLECTS;
			if (collects) {
				int32_t port = node->in[e].port < 0 ? 0 : node->in[e].port;
				*out_source = graph->node[in->in[0].node].in[port];
				return NULL;
			}
			if (r->reduced[node->in[e].node] && !seen[node->in[e].node]) {
				seen[node->in[e].node] = true;
				queue[count++] = node->in[e].node;
			}
		}
	}
	return NULL;
}

static struct dfg_err *depends_on_reduced(struct replicate *r, uint32_t n)
{
	const struct dfg_graph *graph = r->builder->graph;
	struct dfg_edge source;
	DFG_TRY(find_reduced_input(r, n, &source));
	return DFG_ERR(DFG_DATA,
		"node '%.200s' (%.100s): cannot be reduced over the shards, as it depends on '%.200s', which is reduced in the "
		"same step",
		graph->node[n].name, graph->node[n].op_name, graph->node[source.node].name);
}

/* A contribution may not depend on a reduction. */
static struct dfg_err *check_order(struct replicate *r)
{
	const struct dfg_graph *graph = r->builder->graph;
	for (uint32_t n = r->before; n < graph->count; n++) {
		const struct dfg_node *node = &graph->node[n];
		bool is_start = node->op && node->op->flags & DFG_CONTRIBUTES;
		for (uint32_t e = 0; e < node->n_in && is_start; e++)
			if (r->reduced[node->in[e].node])
				return depends_on_reduced(r, node->in[e].node);
	}
	return NULL;
}

struct dfg_err *dfg_replicate_order(struct replicate *r)
{
	uint32_t count = r->builder->graph->count;
	DFG_TRY(free_contributions(r));
	DFG_TRY(find_runs(r));
	DFG_TRY(check_order(r));
	DFG_TRY(cut_all_waits(r));
	for (uint32_t i = 0; r->keep && i < r->keep->n_target; i++)
		if (r->keep->target[i] < count && r->reduced[r->keep->target[i]] && reads_shard(r, r->keep->target[i]))
			DFG_TRY(split_target(r, i));
	return NULL;
}
