/* replicate. Requires: facts of every node, and a lowered graph. Result: a graph cut between gradients and updates. */
#include "lib/pass/replicate/replicate.h"

#include "lib/pass/replicate/loss.h"
#include "lib/pass/replicate/replicate_private.h"

#include <stdio.h>
#include <string.h>

static uint32_t inputs(const struct dfg_node *node)
{
	return node->n_in + node->n_control;
}

static void need(struct replicate *r, uint32_t n, uint32_t *stack, uint32_t *depth)
{
	if (!r->needed[n])
		stack[(*depth)++] = n;
	r->needed[n] = true;
}

static struct dfg_err *find_needed(struct replicate *r)
{
	const struct dfg_graph *graph = r->builder->graph;
	uint32_t *stack = dfg_arena_zeros(&r->scratch, graph->count, sizeof *stack), depth = 0;
	r->needed = dfg_arena_zeros(&r->scratch, graph->count, sizeof *r->needed);
	if (!stack || !r->needed)
		return dfg_no_memory("the nodes of a step");
	for (uint32_t n = 0; n < graph->count && !r->keep; n++)
		r->needed[n] = true;
	for (uint32_t i = 0; r->keep && i < r->keep->n_fetch; i++)
		need(r, r->keep->fetch[i].node, stack, &depth);
	for (uint32_t i = 0; r->keep && i < r->keep->n_target; i++)
		need(r, r->keep->target[i], stack, &depth);
	while (depth) {
		const struct dfg_node *node = &graph->node[stack[--depth]];
		for (uint32_t e = 0; e < inputs(node); e++)
			need(r, node->in[e].node, stack, &depth);
	}
	return NULL;
}

/* The tensors that are marked as sharded: inputs, and numbers that are drawn by rows. */
static struct dfg_err *find_marked(const struct dfg_graph *graph, const struct dfg_facts *facts,
	struct dfg_arena *arena, struct dfg_edge **out_edge, uint32_t *out_count)
{
	uint32_t most = 0;
	int64_t mask = 0;
	for (uint32_t n = 0; n < graph->count; n++)
		if (dfg_node_mark(&graph->node[n], "_dfg_shard", &mask))
			most += (uint32_t)__builtin_popcountll((uint64_t)mask);
	*out_count = 0;
	if (!(*out_edge = dfg_arena_zeros(arena, most, sizeof **out_edge)))
		return dfg_no_memory("the sharded inputs");
	for (uint32_t n = 0; n < graph->count; n++) {
		if (!dfg_node_mark(&graph->node[n], "_dfg_shard", &mask))
			continue;
		for (int32_t port = 0; port < 31 && (uint32_t)port < dfg_facts_outputs(facts, n); port++)
			if (mask >> port & 1)
				(*out_edge)[(*out_count)++] = (struct dfg_edge){n, port};
	}
	return NULL;
}

static struct dfg_err *find_local(struct replicate *r)
{
	struct dfg_edge *shard;
	uint32_t n_shard;
	DFG_TRY(find_marked(r->builder->graph, &r->builder->facts, &r->scratch, &shard, &n_shard));
	return dfg_local_find(r->builder->graph, &r->builder->facts, shard, n_shard, &r->scratch, &r->local);
}

static struct dfg_err *mark_inputs(struct replicate *r)
{
	struct dfg_graph *graph = r->builder->graph;
	for (uint32_t i = 0; i < r->options->n_shard; i++) {
		struct dfg_edge edge = r->options->shard[i];
		int64_t mask = 0;
		if (edge.port > 30)
			return DFG_ERR(DFG_DATA, "node '%.200s': output %d cannot be sharded, only the first 31 outputs can",
				graph->node[edge.node].name, edge.port);
		(void)dfg_node_mark(&graph->node[edge.node], "_dfg_shard", &mask);
		DFG_TRY(dfg_node_set_attr(
			graph, edge.node, "_dfg_shard", DFG_ATTR_INT, (union dfg_value){.i = mask | INT64_C(1) << edge.port}));
	}
	return NULL;
}

/* After the cut no write may depend on the rows of a shard. */
static struct dfg_err *check_write(const struct replicate *r, uint32_t n)
{
	const struct dfg_graph *graph = r->builder->graph;
	const struct dfg_node *node = &graph->node[n];
	bool local = r->local.dead[n];
	uint32_t by = n;
	for (uint32_t e = 1; e < node->n_in; e++)
		if (dfg_local_is(&r->local, node->in[e])) {
			local = true;
			by = node->in[e].node;
		}
	if (!local)
		return NULL;
	struct dfg_text path = {0};
	dfg_local_path(&r->local, by, &path);
	struct dfg_err *err = DFG_ERR(DFG_DATA,
		"node '%.200s' (%.100s): variable '%.200s' would be assigned a value of one shard (path %s)", node->name,
		node->op_name, graph->node[dfg_replicate_variable(graph, node->in[0])].name, path.s ? path.s : "");
	dfg_text_release(&path);
	return err;
}

static struct dfg_err *check_writes(const struct replicate *r)
{
	const struct dfg_graph *graph = r->builder->graph;
	for (uint32_t n = 0; n < r->before; n++)
		if (r->needed[n] && dfg_replicate_writes(graph, &graph->node[n])) {
			struct dfg_err *err = check_write(r, n);
			if (err && r->options->n_gradients && !r->gradient_buckets)
				return dfg_err_note(err, "--gradients matches no value of this step that depends on the batch");
			DFG_TRY(err);
		}
	return NULL;
}

/* Gradients first: a state that an optimizer makes of them is not local then. */
static struct dfg_err *reduce(struct replicate *r)
{
	DFG_TRY(dfg_replicate_gradients(r));
	if (!r->cuts)
		return NULL;
	DFG_TRY(dfg_replicate_buckets(r));
	r->gradient_buckets = r->buckets;
	DFG_TRY(find_local(r));
	DFG_TRY(dfg_replicate_states(r));
	return dfg_replicate_buckets(r);
}

static bool needs_queues(const struct replicate *r)
{
	const struct dfg_graph *graph = r->builder->graph;
	bool needs = false;
	for (uint32_t n = 0; n < r->before; n++)
		needs |= r->needed[n] && graph->node[n].op && dfg_op_is_queued(graph->node[n].op);
	return needs;
}

static struct dfg_err *replicate(struct replicate *r)
{
	r->before = r->builder->graph->count;
	DFG_TRY(mark_inputs(r));
	DFG_TRY(find_needed(r));
	DFG_TRY(find_local(r));
	DFG_TRY(dfg_replicate_random(r));
	if (r->options->async && needs_queues(r))
		return NULL;
	DFG_TRY(find_local(r)); /* the numbers that a shard draws are local */
	DFG_TRY(reduce(r));
	DFG_TRY(find_local(r));
	DFG_TRY(check_writes(r));
	return r->buckets ? dfg_replicate_order(r) : NULL;
}

struct dfg_err *dfg_replicate(
	struct dfg_builder *builder, const struct dfg_replicate_options *options, struct dfg_keep *keep)
{
	struct replicate r = {.builder = builder, .options = options, .keep = keep};
	struct dfg_err *err = replicate(&r);
	dfg_free(r.cut);
	dfg_arena_release(&r.scratch);
	return err;
}

/* Rows lead a tensor whose first extent is that of the batch, or is not known. */
static enum dfg_merge merge_of(const struct dfg_local *local, struct dfg_edge edge)
{
	const struct dfg_shape *shape = &dfg_facts_of(local->facts, edge)->shape;
	uint32_t reason;
	if (!dfg_local_is(local, edge))
		return DFG_MERGE_NONE;
	if (dfg_node_mark(&local->graph->node[edge.node], "_dfg_total", NULL))
		return DFG_MERGE_SUM;
	bool fixed = local->batch > 1 && shape->rank > 0 && shape->dim[0] % local->batch == 0;
	if (shape->rank < 0 || (shape->rank > 0 && (fixed || shape->dim[0] == DFG_UNKNOWN)))
		return DFG_MERGE_ROWS;
	switch (dfg_loss_kind(local, edge, &reason)) {
	case DFG_LOSS_SUM:
		return DFG_MERGE_SUM;
	case DFG_LOSS_MEAN:
		return DFG_MERGE_MEAN;
	default:
		return DFG_MERGE_NONE;
	}
}

/* A number that is neither a mean nor a sum by its arithmetic follows the loss. */
static enum dfg_merge merge_of_loss(const struct dfg_local *local)
{
	for (uint32_t n = 0; n < local->graph->count; n++) {
		const struct dfg_node *node = &local->graph->node[n];
		const struct dfg_attr *reduce = dfg_node_attr(node, "reduce");
		bool is_start = node->op && node->op->flags & DFG_CONTRIBUTES;
		if (is_start && reduce && reduce->kind == DFG_ATTR_STRING && reduce->value.s.length == 3)
			return DFG_MERGE_SUM;
	}
	return DFG_MERGE_MEAN;
}

struct dfg_err *dfg_replicate_merge(
	struct dfg_graph *graph, const struct dfg_facts *facts, const struct dfg_edge *fetch, uint32_t n)
{
	struct dfg_arena scratch = {0};
	struct dfg_edge *shard = NULL;
	struct dfg_local local;
	uint32_t n_shard;
	struct dfg_err *err = find_marked(graph, facts, &scratch, &shard, &n_shard);
	if (!err)
		err = dfg_local_find(graph, facts, shard, n_shard, &scratch, &local);
	for (uint32_t i = 0; i < n && !err; i++) {
		enum dfg_merge merge = merge_of(&local, fetch[i]);
		int64_t marks = 0;
		if (!dfg_local_is(&local, fetch[i]) || fetch[i].port > 30)
			continue;
		merge = merge == DFG_MERGE_NONE ? merge_of_loss(&local) : merge;
		(void)dfg_node_mark(&graph->node[fetch[i].node], "_dfg_merge", &marks);
		marks &= ~(INT64_C(3) << 2 * fetch[i].port);
		err = dfg_node_set_attr(graph, fetch[i].node, "_dfg_merge", DFG_ATTR_INT,
			(union dfg_value){.i = marks | (int64_t)merge << 2 * fetch[i].port});
	}
	dfg_arena_release(&scratch);
	return err;
}
