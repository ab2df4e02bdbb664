#include "lib/pass/replicate/replicate_private.h"

#include "lib/graph/liveness.h"
#include "lib/pass/replicate/loss.h"

#include <fnmatch.h>
#include <string.h>

uint32_t dfg_replicate_variable(const struct dfg_graph *graph, struct dfg_edge edge)
{
	for (uint32_t depth = 0; depth <= graph->count && edge.port >= 0; depth++) {
		const struct dfg_node *node = &graph->node[edge.node];
		enum dfg_role role = dfg_node_role(node);
		if (role == DFG_VARIABLE)
			return edge.node;
		uint32_t port = role == DFG_IDENTITY ? (uint32_t)edge.port : 0;
		bool hands_on = role == DFG_IDENTITY || role == DFG_ENTER || role == DFG_SWITCH || role == DFG_MERGE ||
						(role == DFG_EXIT) || (role == DFG_NEXT_ITERATION) ||
						(node->op && node->op->flags & DFG_WRITES && dfg_node_takes_ref(node, 0));
		if (!hands_on || port >= node->n_in)
			return DFG_NONE;
		edge = node->in[port];
	}
	return DFG_NONE;
}

bool dfg_replicate_writes(const struct dfg_graph *graph, const struct dfg_node *node)
{
	bool writes = node->op && (node->op->flags & DFG_WRITES || node->op->role == DFG_ASSIGN);
	return writes && node->n_in && dfg_replicate_variable(graph, node->in[0]) != DFG_NONE;
}

static bool is_real(enum dfg_dtype dtype)
{
	return dfg_dtype_is(dtype, "float") || dfg_dtype_is(dtype, "complex");
}

static const struct dfg_graph *graph_of(const struct replicate *r)
{
	return r->builder->graph;
}

struct dfg_err *dfg_replicate_add_cut(struct replicate *r, const struct reduction *cut)
{
	if (!dfg_reserve(&r->cut, &r->capacity, r->cuts + 1, sizeof *r->cut))
		return dfg_no_memory("the tensors to reduce");
	r->cut[r->cuts++] = *cut;
	return NULL;
}

/* The rule of the gradients. */

static const char *const kinds[] = {
	[DFG_LOSS_MIXED] = "adds a term that is not a sum over the batch to one that is",
	[DFG_LOSS_OTHER] = "is not a mean or a sum over the batch",
};

static struct dfg_err *rule_of(const struct replicate *r, struct dfg_edge loss, bool *out_sum)
{
	uint32_t reason;
	const struct dfg_graph *graph = graph_of(r);
	enum dfg_loss_kind kind = dfg_loss_kind(&r->local, loss, &reason);
	*out_sum = kind == DFG_LOSS_SUM;
	if (kind <= DFG_LOSS_SUM)
		return NULL;
	return DFG_ERR(DFG_DATA,
		"node '%.200s' (%.100s): the loss '%.200s' %s; choose how replicas reduce gradients with --reduce mean or "
		"--reduce sum",
		graph->node[reason].name, graph->node[reason].op_name, graph->node[loss.node].name, kinds[kind]);
}

static struct dfg_err *find_rule(const struct replicate *r, bool *out_sum)
{
	const struct dfg_graph *graph = graph_of(r);
	*out_sum = r->options->reduction == DFG_REDUCE_SUM;
	for (uint32_t n = 0; n < graph->count && r->options->reduction == DFG_REDUCE_BY_LOSS; n++) {
		int64_t port = 0;
		if (!dfg_node_mark(&graph->node[n], "_dfg_loss", &port))
			continue;
		if (port < 0 || port >= dfg_facts_outputs(&r->builder->facts, n))
			return DFG_ERR(DFG_DATA,
				"node '%.200s': attribute '_dfg_loss' names output %lld, which the node does not have",
				graph->node[n].name, (long long)port);
		return rule_of(r, (struct dfg_edge){n, (int32_t)port}, out_sum);
	}
	return NULL;
}

/* Gradients: by pattern, by mark, or the operands of optimizers' ops. */

const char *dfg_replicate_gradient_name(struct replicate *r, const struct dfg_node *node)
{
	const struct dfg_attr *mark = dfg_node_attr(node, "_dfg_gradient_of");
	bool named = mark && mark->kind == DFG_ATTR_STRING && mark->value.s.length;
	return named ? dfg_arena_copy(&r->scratch, mark->value.s.s, mark->value.s.length) : node->name;
}

static struct dfg_err *cut_node(struct replicate *r, uint32_t n, bool is_sum)
{
	struct dfg_edge source = {n, 0};
	bool local = dfg_local_is(&r->local, source);
	if (!r->needed[n] || !(local || r->options->partial))
		return NULL;
	enum dfg_dtype dtype = dfg_facts_of(&r->builder->facts, source)->dtype;
	if (!is_real(dtype))
		return DFG_ERR(DFG_DATA, "node '%.200s' (%.100s): a gradient to reduce must be of floats, not %s",
			graph_of(r)->node[n].name, graph_of(r)->node[n].op_name, dfg_dtype_name(dtype));
	if (dfg_node_mark(&graph_of(r)->node[n], "_dfg_shard", NULL))
		return DFG_ERR(DFG_DATA,
			"node '%.200s' (%.100s): an input that holds rows of the batch cannot be reduced as a gradient",
			graph_of(r)->node[n].name, graph_of(r)->node[n].op_name);
	const struct reduction cut = {.source = source,
		.reader = DFG_NONE,
		.name = dfg_replicate_gradient_name(r, &graph_of(r)->node[n]),
		.is_sum = is_sum && local,
		.has_rows = !r->options->n_gradients && dfg_replicate_has_rows(graph_of(r), n)};
	return cut.name ? dfg_replicate_add_cut(r, &cut) : dfg_no_memory("a gradient");
}

static struct dfg_err *cut_patterns(struct replicate *r, bool is_sum)
{
	const struct dfg_graph *graph = graph_of(r);
	for (size_t i = 0; i < r->options->n_gradients; i++) {
		bool any = false;
		for (uint32_t n = 0; n < graph->count; n++)
			any |= !fnmatch(r->options->gradients[i], graph->node[n].name, 0);
		if (!any)
			return DFG_ERR(DFG_DATA, "--gradients '%s' matches no node", r->options->gradients[i]);
	}
	for (uint32_t n = 0; n < graph->count; n++) {
		bool matches = false;
		for (size_t i = 0; i < r->options->n_gradients; i++)
			matches |= !fnmatch(r->options->gradients[i], graph->node[n].name, 0);
		if (matches)
			DFG_TRY(cut_node(r, n, is_sum));
	}
	return NULL;
}

static struct dfg_err *cut_marked(struct replicate *r, bool is_sum)
{
	const struct dfg_graph *graph = graph_of(r);
	for (uint32_t n = 0; n < graph->count; n++)
		if (dfg_node_mark(&graph->node[n], "_dfg_gradient_of", NULL))
			DFG_TRY(cut_node(r, n, is_sum));
	return dfg_replicate_rows(r, is_sum);
}

/* The input that an optimizer's op calls its gradient; DFG_NONE: it is another op. */
static uint32_t gradient_operand(const struct dfg_graph *graph, const struct dfg_node *node)
{
	const struct dfg_signature *signature;
	if (!dfg_replicate_writes(graph, node) || node->n_in < 3)
		return DFG_NONE;
	struct dfg_err *err = dfg_op_signature(node->op, &signature);
	dfg_err_free(err);
	for (int i = 0; !err && i < signature->n_in && i < (int)node->n_in; i++)
		if (!strcmp(signature->in[i].name, "grad") || !strcmp(signature->in[i].name, "delta"))
			return (uint32_t)i;
	return DFG_NONE;
}

static bool is_clip(const struct dfg_node *node)
{
	return strstr(node->name, "clip") != NULL || strstr(node->op_name, "Clip") != NULL;
}

/* Names the variables whose gradients were found. */
static void note_operands(const struct replicate *r)
{
	struct dfg_text *notes = r->options->notes;
	bool clipped = false;
	dfg_text_add(notes, "no loss is marked, so replicas average the gradients of");
	for (size_t i = 0; i < r->cuts; i++) {
		dfg_text_add(notes, "%s '%s'", i ? "," : "", r->cut[i].name);
		clipped |= is_clip(&graph_of(r)->node[r->cut[i].source.node]);
	}
	dfg_text_add(notes, "%s\n",
		clipped ? ", each clipped in its own shard; to average before the clip, name the unclipped gradients with "
				  "--gradients"
				: "");
}

static struct dfg_err *cut_operand(struct replicate *r, uint32_t n, uint32_t operand, bool is_sum)
{
	const struct dfg_graph *graph = graph_of(r);
	const struct dfg_node *node = &graph->node[n];
	const struct dfg_node *variable = &graph->node[dfg_replicate_variable(graph, node->in[0])];
	const struct reduction cut = {.source = node->in[operand], .reader = n, .name = variable->name, .is_sum = is_sum};
	if (!dfg_local_is(&r->local, cut.source))
		return NULL;
	return dfg_replicate_add_cut(r, &cut);
}

static struct dfg_err *cut_operands(struct replicate *r, bool is_sum)
{
	const struct dfg_graph *graph = graph_of(r);
	for (uint32_t n = 0; n < graph->count; n++) {
		uint32_t operand = r->needed[n] ? gradient_operand(graph, &graph->node[n]) : DFG_NONE;
		if (operand != DFG_NONE)
			DFG_TRY(cut_operand(r, n, operand, is_sum));
	}
	if (r->cuts && r->options->reduction == DFG_REDUCE_BY_LOSS)
		note_operands(r);
	return NULL;
}

/* States: what training assigns besides, such as moving averages. */

static struct dfg_err *not_real(const struct replicate *r, uint32_t n, const char *variable, enum dfg_dtype dtype)
{
	struct dfg_text path = {0};
	dfg_local_path(&r->local, n, &path);
	struct dfg_err *err = DFG_ERR(DFG_DATA,
		"variable '%.200s' is assigned a value that differs between shards, and %s values cannot be averaged (path %s)",
		variable, dfg_dtype_name(dtype), path.s ? path.s : "");
	dfg_text_release(&path);
	return err;
}

static struct dfg_err *cut_state(struct replicate *r, uint32_t n)
{
	const struct dfg_graph *graph = graph_of(r);
	const struct dfg_node *node = &graph->node[n];
	bool assigns = r->needed[n] && node->n_in == 2 && dfg_replicate_writes(graph, node);
	if (!assigns || !dfg_local_is(&r->local, node->in[1]))
		return NULL;
	const char *variable = graph->node[dfg_replicate_variable(graph, node->in[0])].name;
	enum dfg_dtype dtype = dfg_facts_of(&r->builder->facts, node->in[1])->dtype;
	if (!is_real(dtype))
		return not_real(r, node->in[1].node, variable, dtype);
	const struct reduction cut = {.source = node->in[1], .reader = n, .name = variable, .is_state = true};
	return dfg_replicate_add_cut(r, &cut);
}

/* A value in a loop or in a branch does not come once a step. */
static struct dfg_err *check_live(struct replicate *r)
{
	const struct dfg_graph *graph = graph_of(r);
	struct dfg_loops loops;
	struct dfg_liveness liveness = {0};
	uint32_t *order = dfg_arena_zeros(&r->scratch, graph->count, sizeof *order), count;
	if (!order)
		return dfg_no_memory("the order of the nodes");
	DFG_TRY(dfg_graph_order(graph, &r->scratch, order, &count));
	DFG_TRY(dfg_loops_find(graph, order, &r->scratch, &loops));
	struct dfg_err *err = dfg_liveness_find(graph, order, &loops, NULL, &liveness);
	for (size_t i = 0; i < r->cuts && !err; i++) {
		uint32_t n = r->cut[i].source.node;
		bool dead = liveness.of[n] || dfg_node_role(&graph->node[n]) == DFG_SWITCH;
		if (dead || loops.of[n])
			err =
				DFG_ERR(DFG_DATA, "node '%.200s' (%.100s): the value for '%.200s' cannot be reduced over shards: it %s",
					graph->node[n].name, graph->node[n].op_name, r->cut[i].name,
					loops.of[n] ? "is in a loop" : "may be dead, as it is in a branch");
	}
	for (uint32_t i = 0; i < count && !err; i++)
		for (size_t c = 0; c < r->cuts; c++)
			if (r->cut[c].source.node == order[i])
				r->cut[c].ready = i;
	dfg_liveness_release(&liveness);
	return err;
}

struct dfg_err *dfg_replicate_gradients(struct replicate *r)
{
	bool is_sum;
	DFG_TRY(find_rule(r, &is_sum));
	if (r->options->n_gradients)
		DFG_TRY(cut_patterns(r, is_sum));
	else
		DFG_TRY(cut_marked(r, is_sum));
	r->marked = r->cuts && !r->options->n_gradients;
	if (!r->cuts && !r->options->n_gradients)
		DFG_TRY(cut_operands(r, is_sum));
	return check_live(r);
}

struct dfg_err *dfg_replicate_states(struct replicate *r)
{
	const struct dfg_graph *graph = graph_of(r);
	for (uint32_t n = 0; n < r->before; n++)
		if (!r->marked || dfg_node_mark(&graph->node[n], "_dfg_update", NULL))
			DFG_TRY(cut_state(r, n));
	return check_live(r);
}
