/* initialiser_search. The Assign that initialises each variable. */
#include "lib/graph/initialisers.h"
#include "lib/graph/loops.h"

#include <string.h>

enum {
	ON_VARIABLE = 1, /* the value depends on a variable */
	ON_STEP = 2,     /* it depends on a feed, a file or an iteration, so it is not an initial value */
};

struct search {
	const struct dfg_graph *graph;
	uint8_t *depends;        /* by node: the flags above, its own and those of all nodes it depends on */
	uint32_t *assign;        /* by variable */
	uint32_t *free, *n_free; /* by variable: an Assign of a value without these flags, and the number of such Assigns */
	uint32_t *seen, walks;   /* by node: the number of the last walk that visited it */
	uint32_t *stack;
};

/* The variable whose handle or reference the node takes first, through nodes that pass it on; DFG_NONE. */
static uint32_t variable_of(const struct dfg_graph *graph, uint32_t n)
{
	const struct dfg_node *node = &graph->node[n];
	for (uint32_t steps = 0; node->n_in && steps < graph->count; steps++) {
		n = node->in[0].node;
		node = &graph->node[n];
		if (dfg_node_role(node) == DFG_VARIABLE)
			return n;
	}
	return DFG_NONE;
}

static bool reads_checkpoint(const struct dfg_node *node)
{
	return !strncmp(node->op_name, "Restore", strlen("Restore"));
}

static uint8_t own_flags(const struct dfg_node *node)
{
	enum dfg_role role = dfg_node_role(node);
	if (!node->op || role == DFG_PLACEHOLDER || role == DFG_ENTER || reads_checkpoint(node))
		return ON_STEP;
	return role == DFG_VARIABLE ? ON_VARIABLE : 0;
}

/*
 * Propagates the flags once in file order; returns whether any changed, because back edges and nodes before their
 * inputs require another pass.
 */
static bool propagate(struct search *s)
{
	bool more = false;
	for (uint32_t n = 0; n < s->graph->count; n++) {
		const struct dfg_node *node = &s->graph->node[n];
		uint8_t flags = s->depends[n] | own_flags(node);
		for (uint32_t e = 0; e < node->n_in + node->n_control; e++)
			flags |= s->depends[node->in[e].node];
		more |= flags != s->depends[n];
		s->depends[n] = flags;
	}
	return more;
}

/* The flags of the value that the Assign sets, and of its control inputs. */
static uint8_t value_flags(const struct search *s, const struct dfg_node *assign)
{
	uint8_t flags = 0;
	for (uint32_t e = 1; e < assign->n_in + assign->n_control; e++)
		flags |= s->depends[assign->in[e].node];
	return flags;
}

static void push_once(struct search *s, uint32_t node, uint32_t *depth)
{
	if (s->seen[node] == s->walks)
		return;
	s->seen[node] = s->walks;
	s->stack[(*depth)++] = node;
}

/* Whether the value of the Assign depends on the variable. */
static bool depends_on(struct search *s, const struct dfg_node *assign, uint32_t variable)
{
	uint32_t depth = 0;
	s->walks++;
	for (uint32_t e = 1; e < assign->n_in + assign->n_control; e++)
		push_once(s, assign->in[e].node, &depth);
	while (depth) {
		const struct dfg_node *node = &s->graph->node[s->stack[--depth]];
		for (uint32_t e = 0; e < node->n_in + node->n_control; e++)
			push_once(s, node->in[e].node, &depth);
	}
	return s->seen[variable] == s->walks;
}

static bool is_named_for(const struct dfg_node *assign, const struct dfg_node *variable)
{
	size_t length = strlen(variable->name);
	return !strncmp(assign->name, variable->name, length) && !strcmp(assign->name + length, "/Assign");
}

static void find_marked(struct search *s)
{
	for (uint32_t n = 0; n < s->graph->count; n++) {
		uint32_t v = dfg_node_mark(&s->graph->node[n], "_dfg_init", NULL) ? variable_of(s->graph, n) : DFG_NONE;
		if (v != DFG_NONE)
			s->assign[v] = n;
	}
}

static bool may_be(const struct dfg_node *node)
{
	return dfg_node_role(node) == DFG_ASSIGN && node->n_in > 1 && !dfg_node_mark(node, "_dfg_init", NULL);
}

static void count_free(struct search *s)
{
	for (uint32_t n = 0; n < s->graph->count; n++) {
		const struct dfg_node *node = &s->graph->node[n];
		uint32_t v = may_be(node) && !value_flags(s, node) ? variable_of(s->graph, n) : DFG_NONE;
		if (v == DFG_NONE)
			continue;
		s->free[v] = n;
		s->n_free[v]++;
	}
}

static void guess(struct search *s)
{
	count_free(s);
	for (uint32_t v = 0; v < s->graph->count; v++)
		if (s->n_free[v] == 1 && s->assign[v] == DFG_NONE)
			s->assign[v] = s->free[v];
	for (uint32_t n = 0; n < s->graph->count; n++) {
		const struct dfg_node *node = &s->graph->node[n];
		uint32_t v = may_be(node) && !(value_flags(s, node) & ON_STEP) ? variable_of(s->graph, n) : DFG_NONE;
		if (v != DFG_NONE && s->assign[v] == DFG_NONE && is_named_for(node, &s->graph->node[v]) &&
			!depends_on(s, node, v))
			s->assign[v] = n;
	}
}

/* Whether some variable has no marked initialiser, so that one must be guessed. */
static bool lacks_marks(const struct search *s)
{
	for (uint32_t n = 0; n < s->graph->count; n++)
		if (dfg_node_role(&s->graph->node[n]) == DFG_VARIABLE && s->assign[n] == DFG_NONE)
			return true;
	return false;
}

struct dfg_err *dfg_initialisers_find(const struct dfg_graph *graph, struct dfg_arena *arena, uint32_t **out_assign)
{
	size_t count = (size_t)graph->count + 1;
	struct search s = {.graph = graph, .assign = dfg_arena_zeros(arena, count, sizeof(uint32_t))};
	if (!s.assign)
		return dfg_no_memory("initialisers");
	*out_assign = s.assign;
	for (uint32_t n = 0; n < graph->count; n++)
		s.assign[n] = DFG_NONE;
	find_marked(&s);
	if (!lacks_marks(&s))
		return NULL;
	s.depends = dfg_arena_zeros(arena, count, sizeof *s.depends);
	s.free = dfg_arena_zeros(arena, count, sizeof *s.free);
	s.n_free = dfg_arena_zeros(arena, count, sizeof *s.n_free);
	s.seen = dfg_arena_zeros(arena, count, sizeof *s.seen);
	s.stack = dfg_arena_zeros(arena, count, sizeof *s.stack);
	if (!s.depends || !s.free || !s.n_free || !s.seen || !s.stack)
		return dfg_no_memory("initialisers");
	while (propagate(&s))
		;
	guess(&s);
	return NULL;
}

bool dfg_initialiser_guessed(const struct dfg_graph *graph, uint32_t assign)
{
	return !dfg_node_mark(&graph->node[assign], "_dfg_init", NULL);
}
