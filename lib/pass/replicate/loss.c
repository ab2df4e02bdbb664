#include "lib/pass/replicate/loss.h"

#include <string.h>

enum { DEPTH_MOST = 200, NODES_MOST = 100000 };

struct verdict {
	enum dfg_loss_kind kind;
	uint32_t node;
};

struct judge {
	const struct dfg_local *local;
	int depth, nodes; /* on the way back from the loss, and in all: terms may be shared */
};

static struct verdict judge_edge(struct judge *judge, struct dfg_edge edge);

/* The verdict on a sum of two terms. A sum over shards counts a term that is not local once a shard; a mean does not. */
static struct verdict join(struct verdict a, struct verdict b)
{
	if (a.kind == DFG_LOSS_OTHER || a.kind == DFG_LOSS_MIXED)
		return a;
	if (b.kind == DFG_LOSS_OTHER || b.kind == DFG_LOSS_MIXED || a.kind == b.kind)
		return b.kind == a.kind ? a : b;
	if (a.kind == DFG_LOSS_SUM || b.kind == DFG_LOSS_SUM)
		return (struct verdict){DFG_LOSS_MIXED, a.kind == DFG_LOSS_SUM ? b.node : a.node};
	return a.kind == DFG_LOSS_MEAN ? a : b;
}

static struct verdict other(uint32_t n)
{
	return (struct verdict){DFG_LOSS_OTHER, n};
}

static struct verdict judge_first(struct judge *judge, uint32_t n)
{
	const struct dfg_node *node = &judge->local->graph->node[n];
	return node->n_in ? judge_edge(judge, node->in[0]) : other(n);
}

static struct verdict judge_terms(struct judge *judge, uint32_t n)
{
	const struct dfg_node *node = &judge->local->graph->node[n];
	struct verdict verdict = judge_first(judge, n);
	for (uint32_t e = 1; e < node->n_in; e++)
		verdict = join(verdict, judge_edge(judge, node->in[e]));
	return verdict;
}

/* A factor that is not local changes nothing. */
static struct verdict judge_product(struct judge *judge, uint32_t n)
{
	const struct dfg_node *node = &judge->local->graph->node[n];
	struct dfg_edge local = {n, 0};
	int count = 0;
	for (uint32_t e = 0; e < node->n_in; e++)
		if (dfg_local_is(judge->local, node->in[e])) {
			local = node->in[e];
			count++;
		}
	return count == 1 ? judge_edge(judge, local) : other(n);
}

static bool is_one_of(const struct dfg_node *node, const char *const *names)
{
	for (; *names; names++)
		if (!strcmp(node->op_name, *names))
			return true;
	return false;
}

/* Whether the value counts rows: the size of a local tensor, or a part of its shape. */
static bool is_count(const struct dfg_local *local, struct dfg_edge edge)
{
	static const char *const counts[] = {"Size", "Shape", NULL};
	static const char *const through[] = {"Cast", "Identity", "StridedSlice", "GatherV2", "Prod", "Reshape", "Squeeze",
		"Maximum", "Mul", "ExpandDims", NULL};
	for (int depth = 0; depth < DEPTH_MOST; depth++) {
		const struct dfg_node *node = &local->graph->node[edge.node];
		if (is_one_of(node, counts))
			return true;
		if (!is_one_of(node, through))
			return false;
		uint32_t e = 0;
		while (e < node->n_in && !dfg_local_is(local, node->in[e]))
			e++;
		if (e == node->n_in)
			return false;
		edge = node->in[e];
	}
	return false;
}

/* A sum divided by the number of rows is a mean. */
static struct verdict judge_quotient(struct judge *judge, uint32_t n)
{
	const struct dfg_node *node = &judge->local->graph->node[n];
	if (node->n_in != 2)
		return other(n);
	struct verdict verdict = judge_edge(judge, node->in[0]);
	if (!dfg_local_is(judge->local, node->in[1]))
		return verdict;
	bool mean = verdict.kind == DFG_LOSS_SUM && is_count(judge->local, node->in[1]);
	return mean ? (struct verdict){DFG_LOSS_MEAN, n} : other(n);
}

/* Whether the reduction removes axis 0. */
static bool removes_rows(const struct dfg_local *local, const struct dfg_node *node)
{
	const struct dfg_inferred *in = dfg_facts_of(local->facts, node->in[0]);
	const struct dfg_known_value *axes = node->n_in > 1 ? dfg_facts_of(local->facts, node->in[1])->known : NULL;
	for (int64_t i = 0; axes && i < axes->count; i++)
		if (axes->v[i] == 0 || (in->shape.rank > 0 && axes->v[i] == -in->shape.rank))
			return true;
	return false;
}

/*
 * A value from which the rows have been reduced is judged by the node that reduced them: in a graph whose batch has no
 * fixed size, its shape is known. With a batch of fixed size both look alike.
 */
static struct verdict judge_reduction(struct judge *judge, uint32_t n, enum dfg_loss_kind kind)
{
	const struct dfg_local *local = judge->local;
	const struct dfg_node *node = &local->graph->node[n];
	const struct dfg_shape *in = &dfg_facts_of(local->facts, node->in[0])->shape,
						   *out = &dfg_facts_of(local->facts, (struct dfg_edge){n, 0})->shape;
	if (dfg_shape_known(in)) {
		struct verdict earlier = judge_edge(judge, node->in[0]);
		if (local->batch == DFG_UNKNOWN || earlier.kind == DFG_LOSS_MEAN || earlier.kind == DFG_LOSS_SUM)
			return earlier;
	}
	bool whole = out->rank == 0 || node->n_in == 1;
	if (!dfg_shape_known(out) || !(whole || removes_rows(local, node)))
		return other(n);
	return (struct verdict){kind, n};
}

static struct verdict judge_mean(struct judge *judge, uint32_t n)
{
	return judge_reduction(judge, n, DFG_LOSS_MEAN);
}

static struct verdict judge_sum(struct judge *judge, uint32_t n)
{
	return judge_reduction(judge, n, DFG_LOSS_SUM);
}

static struct verdict judge_count(struct judge *judge, uint32_t n)
{
	(void)judge;
	return (struct verdict){DFG_LOSS_SUM, n};
}

/* The ops of which a loss is made, once its rows have been reduced. */
static const struct {
	const char *op;
	struct verdict (*judge)(struct judge *judge, uint32_t n);
} rows[] = {
	{"Add", judge_terms},
	{"AddN", judge_terms},
	{"AddV2", judge_terms},
	{"Cast", judge_first},
	{"Div", judge_quotient},
	{"DivNoNan", judge_quotient},
	{"ExpandDims", judge_first},
	{"Identity", judge_first},
	{"L2Loss", judge_sum},
	{"Mean", judge_mean},
	{"Mul", judge_product},
	{"Neg", judge_first},
	{"RealDiv", judge_quotient},
	{"Reshape", judge_first},
	{"Size", judge_count},
	{"Squeeze", judge_first},
	{"StopGradient", judge_first},
	{"Sub", judge_terms},
	{"Sum", judge_sum},
};

static struct verdict judge_edge(struct judge *judge, struct dfg_edge edge)
{
	const struct dfg_node *node = &judge->local->graph->node[edge.node];
	struct verdict verdict = other(edge.node);
	if (!dfg_local_is(judge->local, edge))
		return (struct verdict){DFG_LOSS_CONSTANT, edge.node};
	if (judge->depth > DEPTH_MOST || judge->nodes++ > NODES_MOST)
		return verdict;
	judge->depth++;
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
		if (!strcmp(rows[i].op, node->op_name))
			verdict = rows[i].judge(judge, edge.node);
	judge->depth--;
	return verdict;
}

enum dfg_loss_kind dfg_loss_kind(const struct dfg_local *local, struct dfg_edge loss, uint32_t *out_node)
{
	struct judge judge = {.local = local};
	struct verdict verdict = judge_edge(&judge, loss);
	*out_node = verdict.node;
	return verdict.kind;
}
