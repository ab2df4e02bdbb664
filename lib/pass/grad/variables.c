#include "lib/pass/grad/variables.h"

#include "lib/graph/liveness.h"

#include "lib/pass/grad/make_ops.h"

#include <stdio.h>
#include <string.h>

struct dfg_err *dfg_numbers_add(struct dfg_numbers *numbers, uint32_t number)
{
	if (!dfg_reserve(&numbers->number, &numbers->capacity, numbers->count + 1, sizeof *numbers->number))
		return DFG_ERR(DFG_MEMORY, "no memory for a list of %zu nodes", numbers->count);
	numbers->number[numbers->count++] = number;
	return NULL;
}

void dfg_numbers_release(struct dfg_numbers *numbers)
{
	dfg_free(numbers->number);
	*numbers = (struct dfg_numbers){0};
}

static enum dfg_role role_of(const struct dfg_node *node)
{
	return node->op ? node->op->role : DFG_PLAIN;
}

bool dfg_is_variable(const struct dfg_builder *builder, uint32_t node)
{
	return role_of(&builder->graph->node[node]) == DFG_VARIABLE && dfg_facts_outputs(&builder->facts, node) == 1;
}

static void mark_assigned(const struct dfg_graph *graph, bool *assigned)
{
	for (uint32_t n = 0; n < graph->count; n++)
		if (role_of(&graph->node[n]) == DFG_ASSIGN && graph->node[n].n_in)
			assigned[graph->node[n].in[0].node] = true;
}

/* Whether the variable is a slot: marked, or some prefix of its name up to a '/' is the name of a variable. */
static bool is_slot(const struct dfg_builder *builder, const struct dfg_node *node)
{
	if (dfg_node_mark(node, "_dfg_slot", NULL))
		return true;
	for (const char *s = strchr(node->name, '/'); s; s = strchr(s + 1, '/')) {
		uint32_t owner = dfg_map_find(&builder->graph->names, node->name, (size_t)(s - node->name));
		if (owner != DFG_NONE && dfg_is_variable(builder, owner))
			return true;
	}
	return false;
}

static struct dfg_err *guess(const struct dfg_builder *builder, struct dfg_numbers *variables)
{
	const struct dfg_graph *graph = builder->graph;
	bool *assigned = dfg_zeros((size_t)graph->count + 1, sizeof *assigned);
	if (!assigned)
		return DFG_ERR(DFG_MEMORY, "no memory to look for variables");
	mark_assigned(graph, assigned);
	struct dfg_err *err = NULL;
	for (uint32_t n = 0; n < graph->count && !err; n++)
		if (dfg_is_variable(builder, n) && assigned[n] && !is_slot(builder, &graph->node[n]) &&
			dfg_flow_dtype(dfg_facts_of(&builder->facts, (struct dfg_edge){n, 0})))
			err = dfg_numbers_add(variables, n);
	dfg_free(assigned);
	return err;
}

struct dfg_err *dfg_trainable(const struct dfg_builder *builder, struct dfg_numbers *out_variables, bool *out_guessed)
{
	const struct dfg_graph *graph = builder->graph;
	bool marks = false;
	for (uint32_t n = 0; n < graph->count; n++) {
		if (!dfg_is_variable(builder, n))
			continue;
		for (uint32_t i = 0; i < graph->node[n].n_attr; i++)
			marks |= !strncmp(graph->node[n].attr[i].name, "_dfg_", 5);
		if (dfg_node_mark(&graph->node[n], "_dfg_trainable", NULL))
			DFG_TRY(dfg_numbers_add(out_variables, n));
	}
	*out_guessed = !marks && !out_variables->count;
	return *out_guessed ? guess(builder, out_variables) : NULL;
}

/* Whether the node reads the variable's value through input e. */
static bool reads(const struct dfg_builder *builder, uint32_t n, uint32_t e)
{
	const struct dfg_node *node = &builder->graph->node[n];
	if (role_of(node) == DFG_READ)
		return true;
	if ((role_of(node) == DFG_ASSIGN && e == 0) || !dfg_facts_outputs(&builder->facts, n))
		return false;
	const struct dfg_inferred *fact = dfg_facts_of(&builder->facts, (struct dfg_edge){n, 0});
	return !fact->is_ref && dfg_flow_dtype(fact) && fact->dtype != DFG_RESOURCE;
}

/* The node that makes the edge or, of a handle, its source outside of loops and branches. */
static uint32_t maker(const struct dfg_builder *builder, struct dfg_edge edge)
{
	bool is_handle = (uint32_t)edge.port < dfg_facts_outputs(&builder->facts, edge.node) &&
					 dfg_facts_of(&builder->facts, edge)->dtype == DFG_RESOURCE;
	return is_handle ? dfg_live_source(builder->graph, edge).node : edge.node;
}

struct dfg_err *dfg_readers_find(
	const struct dfg_builder *builder, struct dfg_arena *arena, struct dfg_readers *out_readers)
{
	const struct dfg_graph *graph = builder->graph;
	uint32_t *variable = dfg_arena_zeros(arena, (size_t)graph->count + 1, sizeof *variable), count = 0;
	size_t edges = 1;
	for (uint32_t n = 0; n < graph->count; n++)
		edges += graph->node[n].n_in;
	out_readers->first = dfg_arena_zeros(arena, (size_t)graph->count + 1, sizeof *out_readers->first);
	out_readers->reader = dfg_arena_zeros(arena, edges, sizeof *out_readers->reader);
	if (!variable || !out_readers->first || !out_readers->reader)
		return DFG_ERR(DFG_MEMORY, "no memory to look for reads");
	for (uint32_t n = 0; n < graph->count; n++)
		variable[n] = dfg_is_variable(builder, n) ? n + 1 : 0;
	for (uint32_t n = 0; n < graph->count; n++) {
		const struct dfg_node *node = &graph->node[n];
		for (uint32_t e = 0; e < node->n_in; e++) {
			uint32_t of = variable[maker(builder, node->in[e])];
			if (!of || !reads(builder, n, e))
				continue;
			out_readers->reader[count] = (struct dfg_variable_reader){n, out_readers->first[of - 1]};
			out_readers->first[of - 1] = ++count;
		}
	}
	return NULL;
}

struct dfg_err *dfg_variable_value(
	struct dfg_builder *builder, const struct dfg_readers *readers, uint32_t variable, struct dfg_edge *out_edge)
{
	const struct dfg_graph *graph = builder->graph;
	bool is_ref = dfg_facts_of(&builder->facts, (struct dfg_edge){variable, 0})->is_ref;
	*out_edge = (struct dfg_edge){DFG_NONE, 0};
	for (uint32_t r = readers->first[variable]; r; r = readers->reader[r - 1].next) {
		const struct dfg_node *node = &graph->node[readers->reader[r - 1].node];
		if (role_of(node) == (is_ref ? DFG_IDENTITY : DFG_READ) && node->n_in == 1 && !node->n_control &&
			node->in[0].node == variable)
			out_edge->node = readers->reader[r - 1].node; /* the list ends with the first in the file */
	}
	if (out_edge->node != DFG_NONE)
		return NULL;
	struct dfg_edge handle = {variable, 0};
	struct dfg_attr dtype = DFG_ATTR_T("dtype", dfg_flow_dtype(dfg_facts_of(&builder->facts, handle)));
	char name[DFG_SCOPE_MOST + 16];
	snprintf(name, sizeof name, "%.*s/read", DFG_SCOPE_MOST, graph->node[variable].name);
	struct dfg_new_node node = {.op = is_ref ? "Identity" : "ReadVariableOp",
		.name = name,
		.in = &handle,
		.n_in = 1,
		.attr = &dtype,
		.n_attr = !is_ref};
	return dfg_build(builder, &node, &out_edge->node);
}
