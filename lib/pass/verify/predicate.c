#include "lib/pass/verify/predicate.h"

#include <string.h>

enum { CASES = 3 /* number of predicates named in a message */ };

struct claim {
	uint32_t node;
	int32_t port;
	uint32_t what;
};

uint32_t dfg_predicate_claim(struct dfg_predicates *p, struct dfg_edge edge, uint32_t what)
{
	struct claim of = {edge.node, edge.port, what};
	uint32_t number = dfg_map_find(&p->claims, (const char *)&of, sizeof of);
	if (number == DFG_NONE) {
		const char *copy = dfg_arena_copy(p->scratch, &of, sizeof of);
		if (!copy || !dfg_map_put(&p->claims, copy, sizeof of, &number, NULL)) {
			p->no_memory = true;
			return DFG_LOST;
		}
	}
	return dfg_bdd_variable(&p->logic, number + 1);
}

struct dfg_edge dfg_predicate_origin(const struct dfg_predicates *p, struct dfg_edge edge)
{
	const struct dfg_edge *origin = &p->origin[edge.node];
	return origin->port == DFG_CONTROL ? edge : *origin;
}

uint32_t dfg_predicate_value(struct dfg_predicates *p, struct dfg_edge edge)
{
	edge = dfg_predicate_origin(p, edge);
	uint32_t value = edge.port == 0 ? p->value[edge.node] : 0;
	return value ? value - 1 : dfg_predicate_claim(p, edge, DFG_IS_TRUE);
}

static bool passes_on(const struct dfg_node *node)
{
	enum dfg_role role = dfg_node_role(node);
	return (role == DFG_IDENTITY && node->n_in == 1) || (role == DFG_SWITCH && node->n_in) ||
		   (role == DFG_LOOP_COND && node->n_in) || (dfg_is_constant_enter(node) && node->n_in);
}

static bool is_logical(const struct dfg_node *node)
{
	return dfg_node_means(node, DFG_MEANS_NOT) || dfg_node_means(node, DFG_MEANS_AND) ||
		   dfg_node_means(node, DFG_MEANS_OR);
}

/* The value of a NOT, AND or OR. */
static uint32_t combine(struct dfg_predicates *p, const struct dfg_node *node)
{
	uint32_t a = node->n_in ? dfg_predicate_value(p, node->in[0]) : DFG_LOST;
	uint32_t b = node->n_in > 1 ? dfg_predicate_value(p, node->in[1]) : DFG_LOST;
	if (node->op->means == DFG_MEANS_NOT)
		return dfg_bdd_not(a);
	return node->op->means == DFG_MEANS_AND ? dfg_bdd_and(&p->logic, a, b) : dfg_bdd_or(&p->logic, a, b);
}

void dfg_predicates_visit(struct dfg_predicates *p, uint32_t n)
{
	const struct dfg_node *node = &p->graph->node[n];
	p->origin[n].port = DFG_CONTROL;
	if (passes_on(node)) {
		p->origin[n] = dfg_predicate_origin(p, node->in[0]);
	} else if (is_logical(node)) {
		uint32_t value = combine(p, node);
		p->value[n] = value == DFG_LOST ? 0 : value + 1;
	}
}

const char *dfg_predicate_words(struct dfg_predicates *p, uint32_t where, uint32_t given)
{
	uint32_t literal[CASES];
	int count = dfg_bdd_case(&p->logic, where, given, literal, CASES);
	const char *text = "";
	for (int i = 0; i < count && text; i++) {
		struct claim of;
		memcpy(&of, p->claims.name[literal[i] / 2 - 1].s, sizeof of);
		const char *name = dfg_graph_tensor_name(p->graph, (struct dfg_edge){of.node, of.port}),
				   *join = i ? " and" : " where";
		bool yes = literal[i] & 1;
		if (of.what == DFG_IS_TRUE)
			text = dfg_arena_print(p->scratch, "%s%s '%.100s' is %s", text, join, name, yes ? "true" : "false");
		else if (of.what == DFG_IS_LIVE)
			text = dfg_arena_print(p->scratch, "%s%s '%.100s' is %s", text, join, name, yes ? "live" : "dead");
		else
			text = dfg_arena_print(
				p->scratch, "%s%s '%.100s' is %s%u", text, join, name, yes ? "" : "not ", of.what - DFG_IS_NUMBER);
	}
	return text ? text : "";
}

bool dfg_predicates_init(
	struct dfg_predicates *predicates, const struct dfg_graph *graph, struct dfg_arena *scratch, size_t budget)
{
	*predicates = (struct dfg_predicates){
		.graph = graph,
		.scratch = scratch,
		.logic.budget = budget,
		.value = dfg_arena_zeros(scratch, graph->count, sizeof *predicates->value),
		.origin = dfg_arena_zeros(scratch, graph->count, sizeof *predicates->origin),
	};
	return predicates->value && predicates->origin;
}

void dfg_predicates_release(struct dfg_predicates *predicates)
{
	dfg_map_release(&predicates->claims);
	dfg_bdd_release(&predicates->logic);
}
