/* colocation. Finds nodes that must be colocated, and where they may be. Near-linear: union-find over the edges. */
#include "lib/base/mem.h"
#include "lib/graph/shared_name.h"
#include "lib/pass/place/place_private.h"

#include <string.h>

uint32_t dfg_place_root(struct dfg_placing *p, uint32_t n)
{
	while (p->parent[n] != n)
		n = p->parent[n] = p->parent[p->parent[n]];
	return n;
}

/* Merges two groups whose choices intersect. */
static struct dfg_err *unite(struct dfg_placing *p, uint32_t a, uint32_t b, enum dfg_join_why why, uint32_t choice)
{
	uint32_t one = dfg_place_root(p, a), other = dfg_place_root(p, b);
	uint32_t root = one < other ? one : other, child = one < other ? other : one;
	if (!dfg_reserve(&p->join, &p->joins_capacity, p->joins + 1, sizeof *p->join))
		return DFG_ERR(DFG_MEMORY, "no memory to group %u nodes", p->graph->count);
	p->join[p->joins++] = (struct dfg_join){a, b, why};
	if (!p->choice[root] || (p->choice[child] && p->decider[child] < p->decider[root]))
		p->decider[root] = p->decider[child];
	p->choice[root] = choice;
	p->parent[child] = root;
	return NULL;
}

/* Colocates two nodes, or reports the conflict. */
static struct dfg_err *bind(struct dfg_placing *p, uint32_t a, uint32_t b, enum dfg_join_why why)
{
	uint32_t one = dfg_place_root(p, a), other = dfg_place_root(p, b), choice;
	uint32_t by_one = p->decider[one], by_other = p->decider[other];
	if (one == other)
		return NULL;
	DFG_TRY(dfg_choice_both(&p->choices, p->choice[one], p->choice[other], &choice));
	DFG_TRY(unite(p, a, b, why, choice == DFG_NONE ? 0 : choice));
	return choice == DFG_NONE ? dfg_place_conflict(p, by_one, by_other) : NULL;
}

struct dfg_err *dfg_place_attract(
	struct dfg_placing *p, uint32_t a, uint32_t b, enum dfg_join_why why, bool *out_together)
{
	uint32_t one = dfg_place_root(p, a), other = dfg_place_root(p, b), choice;
	*out_together = true;
	if (one == other)
		return NULL;
	DFG_TRY(dfg_choice_both(&p->choices, p->choice[one], p->choice[other], &choice));
	*out_together = choice != DFG_NONE;
	return *out_together ? unite(p, a, b, why, choice) : NULL;
}

static struct dfg_err *bind_edge(struct dfg_placing *p, uint32_t n, uint32_t e)
{
	const struct dfg_node *node = &p->graph->node[n];
	struct dfg_edge edge = node->in[e];
	if (!node->op && !p->graph->node[edge.node].op)
		return bind(p, n, edge.node, DFG_JOIN_UNKNOWN);
	if ((uint32_t)edge.port >= dfg_facts_outputs(p->facts, edge.node))
		return NULL;
	const struct dfg_inferred *fact = dfg_facts_of(p->facts, edge);
	if (dfg_dtype_is_handle(fact->dtype))
		return bind(p, n, edge.node, !e && dfg_node_role(node) == DFG_LOAD ? DFG_JOIN_STORED : DFG_JOIN_HANDLE);
	return fact->is_ref && dfg_node_takes_ref(node, e) ? bind(p, n, edge.node, DFG_JOIN_REF) : NULL;
}

static struct dfg_err *bind_edges(struct dfg_placing *p, uint32_t n)
{
	const struct dfg_node *node = &p->graph->node[n];
	for (uint32_t e = 0; e < node->n_in; e++)
		if (p->kind[node->in[e].node] & DFG_KIND_BINDS)
			DFG_TRY(bind_edge(p, n, e));
	return NULL;
}

/* Names shared by nodes, and the first node of each. */
struct shared {
	struct dfg_map names;
	uint32_t *first;
	size_t capacity;
};

static struct dfg_err *bind_name(
	struct dfg_placing *p, struct shared *shared, uint32_t n, struct dfg_string name, enum dfg_join_why why)
{
	uint32_t number;
	bool is_new;
	const char *copy = dfg_arena_copy(&p->scratch, name.s, name.length);
	if (!copy || !dfg_map_put(&shared->names, copy, name.length, &number, &is_new) ||
		!dfg_reserve(&shared->first, &shared->capacity, shared->names.count, sizeof *shared->first))
		return dfg_no_memory("the names that nodes share");
	if (is_new)
		shared->first[number] = n;
	return bind(p, n, shared->first[number], why);
}

/* Two nodes with the same name attributes make the handle of the same variable. */
static struct dfg_err *bind_variable(struct dfg_placing *p, struct shared *shared, uint32_t n)
{
	const char *whole = dfg_node_shared_name(&p->graph->node[n], &p->scratch);
	if (!whole)
		return dfg_no_memory("the names of variables");
	return bind_name(p, shared, n, (struct dfg_string){whole, strlen(whole)}, DFG_JOIN_NAME);
}

/*
 * "loc:@fc1" colocates with node fc1; if there is no such node, the nodes with that name are colocated with each other.
 */
static struct dfg_err *bind_class(struct dfg_placing *p, struct shared *shared, uint32_t n)
{
	const struct dfg_attr *attr = dfg_node_attr(&p->graph->node[n], "_class");
	const size_t prefix = strlen("loc:@");
	if (!attr || attr->kind != DFG_ATTR_LIST || attr->value.list->kind != DFG_ATTR_STRING)
		return NULL;
	for (uint32_t i = 0; i < attr->value.list->count; i++) {
		struct dfg_string text = attr->value.list->item[i].s;
		if (text.length <= prefix || memcmp(text.s, "loc:@", prefix) != 0)
			continue;
		text = (struct dfg_string){text.s + prefix, text.length - prefix};
		uint32_t with = dfg_map_find(&p->graph->names, text.s, text.length);
		if (with == DFG_NONE)
			DFG_TRY(bind_name(p, shared, n, text, DFG_JOIN_CLASS));
		else
			DFG_TRY(bind(p, n, with, DFG_JOIN_CLASS));
	}
	return NULL;
}

static struct dfg_err *bind_names(struct dfg_placing *p, struct shared *variables, struct shared *classes)
{
	for (uint32_t n = 0; n < p->graph->count; n++) {
		if (dfg_node_role(&p->graph->node[n]) == DFG_VARIABLE)
			DFG_TRY(bind_variable(p, variables, n));
		if (p->graph->node[n].n_attr)
			DFG_TRY(bind_class(p, classes, n));
	}
	return NULL;
}

/* Colocates an Exit with its Switch and the nodes between them. */
static struct dfg_err *bind_exit(struct dfg_placing *p, uint32_t n)
{
	const struct dfg_node *node = &p->graph->node[n];
	struct dfg_edge at = node->in[0], source = dfg_exit_source(p->graph, node);
	for (; at.node != source.node; at = p->graph->node[at.node].in[at.port])
		DFG_TRY(bind(p, n, at.node, DFG_JOIN_CONTROL));
	return bind(p, n, source.node, DFG_JOIN_CONTROL);
}

/* The primitives of a loop variable cannot be separated, whatever `_class` says. */
static struct dfg_err *bind_loop(struct dfg_placing *p, uint32_t n)
{
	const struct dfg_node *node = &p->graph->node[n];
	enum dfg_role role = dfg_node_role(node);
	bool closes = false;
	if (role == DFG_EXIT && node->n_in)
		return bind_exit(p, n);
	for (uint32_t e = 0; e < node->n_in && role == DFG_MERGE; e++)
		closes |= dfg_edge_closes(p->graph, node, node->in[e]);
	for (uint32_t e = 0; e < node->n_in && closes; e++)
		if (!(p->kind[node->in[e].node] & DFG_KIND_INVARIANT))
			DFG_TRY(bind(p, n, node->in[e].node, DFG_JOIN_CONTROL));
	return NULL;
}

static struct dfg_err *bind_all(struct dfg_placing *p)
{
	struct shared variables = {0}, classes = {0};
	struct dfg_err *err = NULL;
	for (uint32_t n = 0; n < p->graph->count && !err; n++)
		if (!(err = bind_edges(p, n)))
			err = bind_loop(p, n);
	if (!err)
		err = bind_names(p, &variables, &classes);
	dfg_map_release(&variables.names);
	dfg_map_release(&classes.names);
	dfg_free(variables.first);
	dfg_free(classes.first);
	return err;
}

static bool is_primitive(enum dfg_role role)
{
	return role == DFG_SWITCH || role == DFG_MERGE || role == DFG_ENTER || role == DFG_EXIT ||
		   role == DFG_NEXT_ITERATION;
}

static bool binds(const struct dfg_facts *facts, uint32_t n)
{
	bool any = false;
	for (uint32_t o = 0; o < dfg_facts_outputs(facts, n) && !any; o++) {
		const struct dfg_inferred *fact = dfg_facts_of(facts, (struct dfg_edge){n, (int32_t)o});
		any = fact->is_ref || dfg_dtype_is_handle(fact->dtype);
	}
	return any;
}

static uint8_t kind_of(const struct dfg_placing *p, uint32_t n)
{
	const struct dfg_node *node = &p->graph->node[n];
	enum dfg_role role = dfg_node_role(node);
	unsigned kind = is_primitive(role) ? DFG_KIND_PRIMITIVE : 0;
	if (dfg_is_constant_enter(node))
		kind |= DFG_KIND_INVARIANT;
	if (role == DFG_PLACEHOLDER || role == DFG_PLACEHOLDER_DEFAULT)
		kind |= DFG_KIND_FED;
	if (!node->op || binds(p->facts, n))
		kind |= DFG_KIND_BINDS;

	return (uint8_t)kind;
}

struct dfg_err *dfg_place_group(struct dfg_placing *p)
{
	for (uint32_t n = 0; n < p->graph->count; n++) {
		p->kind[n] |= kind_of(p, n);
		p->parent[n] = n;
		p->decider[n] = p->follows[n] = DFG_NONE;
		if (p->ask[n].choice && !(p->kind[n] & (DFG_KIND_PRIMITIVE | DFG_KIND_DEFAULT))) {
			p->choice[n] = p->ask[n].choice;
			p->decider[n] = n;
		}
	}
	return bind_all(p);
}
