#include "lib/pass/verify/fallback.h"

#define MARK "_dfg_fallback"
#define NODE_WORDS "node '%.200s' (%.100s): "
#define NODE(node) (node)->name, (node)->op_name

static bool closes_loop(const struct dfg_graph *graph, const struct dfg_node *node)
{
	for (uint32_t i = 0; i < node->n_in; i++)
		if (dfg_edge_closes(graph, node, node->in[i]))
			return true;
	return false;
}

static bool can_have_fallback(const struct dfg_fallbacks *fallbacks, uint32_t n)
{
	const struct dfg_node *node = &fallbacks->graph->node[n];
	bool known = dfg_facts_outputs(fallbacks->facts, n);
	enum dfg_dtype dtype = known ? dfg_facts_of(fallbacks->facts, (struct dfg_edge){n, 0})->dtype : DFG_NO_DTYPE;
	return dfg_node_role(node) == DFG_MERGE && node->n_in == 2 && !closes_loop(fallbacks->graph, node) &&
		   (dtype == DFG_I32 || dtype == DFG_I64);
}

/* Whether the node, which is not a Merge, computes the same whenever it runs. */
static bool depends_on_constants(const struct dfg_fallbacks *fallbacks, const struct dfg_node *node)
{
	enum dfg_role role = dfg_node_role(node);
	if (role == DFG_CONST)
		return true;
	if (!node->op || !node->n_in || (node->op->flags & DFG_STATEFUL) || (role != DFG_PLAIN && role != DFG_IDENTITY))
		return false;
	for (uint32_t i = 0; i < node->n_in; i++)
		if (!fallbacks->constant[node->in[i].node])
			return false;
	return true;
}

struct dfg_err *dfg_fallback_visit(struct dfg_fallbacks *fallbacks, uint32_t n)
{
	const struct dfg_node *node = &fallbacks->graph->node[n];
	int64_t mark;
	fallbacks->constant[n] = depends_on_constants(fallbacks, node);
	if (dfg_node_role(node) != DFG_MERGE || !dfg_node_mark(node, MARK, &mark))
		return NULL;
	if (!can_have_fallback(fallbacks, n) || (mark != 0 && mark != 1))
		return DFG_ERR(DFG_DATA,
			NODE_WORDS "attribute '" MARK
					   "' is %lld, but only a Merge of two i32 or i64 inputs that does not begin a loop may have it, "
					   "and its value must be 0 or 1; remove it: dfg sets it where it is needed",
			NODE(node), (long long)mark);
	fallbacks->constant[n] = true;
	return NULL;
}

/* Compares the mark that a file has with the verifier's finding: it is not trusted. */
static struct dfg_err *set_mark(struct dfg_fallbacks *fallbacks, uint32_t n, uint32_t input)
{
	const struct dfg_node *node = &fallbacks->graph->node[n];
	int64_t mark = input;
	if (dfg_node_mark(node, MARK, &mark) && mark != input)
		return DFG_ERR(DFG_DATA,
			NODE_WORDS "attribute '" MARK
					   "' is %lld, but it is input %u that is a constant and live in more cases; remove the attribute: "
					   "dfg sets it where it is needed",
			NODE(node), (long long)mark, input);
	fallbacks->constant[n] = true;
	if (!fallbacks->marked)
		return NULL;
	return dfg_node_set_attr(fallbacks->marked, n, MARK, DFG_ATTR_INT, (union dfg_value){.i = input});
}

struct dfg_err *dfg_fallback_of_equal(struct dfg_fallbacks *fallbacks, uint32_t merge)
{
	int64_t mark = 0;
	if (!can_have_fallback(fallbacks, merge))
		return NULL;
	dfg_node_mark(&fallbacks->graph->node[merge], MARK, &mark);
	return set_mark(fallbacks, merge, mark == 1);
}

struct dfg_err *dfg_fallback_find(
	struct dfg_fallbacks *fallbacks, struct dfg_bdd *logic, uint32_t merge, const uint32_t live[2], uint32_t *out_input)
{
	const struct dfg_node *node = &fallbacks->graph->node[merge];
	*out_input = DFG_NONE;
	if (!can_have_fallback(fallbacks, merge) || live[0] == live[1])
		return NULL;
	for (uint32_t i = 0; i < 2; i++) {
		bool is_wider = dfg_bdd_and(logic, live[1 - i], dfg_bdd_not(live[i])) == DFG_NEVER;
		if (is_wider && fallbacks->constant[node->in[i].node]) {
			*out_input = i;
			return set_mark(fallbacks, merge, i);
		}
	}
	return NULL;
}
