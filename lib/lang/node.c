#include "lib/lang/node_private.h"

#include "lib/lang/eval_private.h"
#include "lib/lang/region_private.h"

#include <string.h>

struct dfg_err *dfg_nodes_add(struct dfg_nodes *nodes, uint32_t node)
{
	if (!dfg_reserve(&nodes->node, &nodes->capacity, nodes->n + 1, sizeof *nodes->node))
		return dfg_no_memory("the build");
	nodes->node[nodes->n++] = node;
	return NULL;
}

const struct dfg_inferred *dfg_eval_fact(const struct dfg_eval *eval, struct dfg_edge edge)
{
	return dfg_facts_of(&eval->builder->facts, edge);
}

struct dfg_err *dfg_eval_learn(struct dfg_eval *eval, struct dfg_edge edge, const struct dfg_shape *shape)
{
	struct dfg_facts *facts = &eval->builder->facts;
	struct dfg_inferred *fact = dfg_arena_zeros(facts->arena, 1, sizeof *fact);
	if (!fact)
		return dfg_no_memory("the build");
	*fact = *dfg_facts_of(facts, edge);
	fact->shape = *shape;
	facts->fact[facts->first[edge.node] + (uint32_t)edge.port] = fact;
	return NULL;
}

/* The name of a program's node is provisional; it only has to be unique. */
struct dfg_err *dfg_eval_build_as_is(
	struct dfg_eval *eval, const struct dfg_new_node *node, enum dfg_naming_kind kind, uint32_t *out_node)
{
	struct dfg_new_node named = *node;
	if (!named.name)
		DFG_TRY(dfg_eval_path(eval, eval->scope, node->op, &named.name));
	named.provisional = true;
	DFG_TRY(dfg_build(eval->builder, &named, out_node));
	return dfg_naming_note(eval, *out_node, kind, named.name);
}

struct dfg_err *dfg_eval_build(
	struct dfg_eval *eval, const struct dfg_new_node *node, enum dfg_naming_kind kind, uint32_t *out_node)
{
	struct dfg_new_node want;
	if (!eval->n_region && !eval->region)
		return dfg_eval_build_as_is(eval, node, kind, out_node);
	DFG_TRY(dfg_region_prepare(eval, node, &want));
	DFG_TRY(dfg_eval_build_as_is(eval, &want, kind, out_node));
	DFG_TRY(dfg_region_note_unchanged(eval, &want, *out_node));
	return dfg_region_note(eval, *out_node, eval->region);
}

struct dfg_err *dfg_eval_node(
	struct dfg_eval *eval, const char *op, const struct dfg_edge *in, uint32_t n_in, struct dfg_edge *out_edge)
{
	uint32_t node; /* out_edge may be one of the inputs */
	DFG_TRY(dfg_eval_build(eval, &(struct dfg_new_node){.op = op, .in = in, .n_in = n_in}, DFG_NAME_NONE, &node));
	*out_edge = (struct dfg_edge){node, 0};
	return NULL;
}

struct sought {
	const struct dfg_eval *eval;
	const struct dfg_tensor *value;
};

static bool is_sought(const void *arg, uint32_t item)
{
	const struct sought *sought = arg;
	const struct dfg_tensor *value = sought->value;
	const struct dfg_node *node = &sought->eval->builder->graph->node[sought->eval->constants.node[item]];
	const struct dfg_literal *literal = dfg_node_attr(node, "value")->value.tensor;
	return literal->dtype == value->dtype && dfg_shape_equal(&literal->shape, &value->shape) &&
		   !memcmp(literal->data, value->data, dfg_tensor_bytes(value));
}

static struct dfg_err *new_const(
	struct dfg_eval *eval, const char *name, const struct dfg_tensor *value, struct dfg_edge *out_edge)
{
	uint32_t n_control = eval->builder->n_control;
	eval->builder->n_control = 0;
	struct dfg_err *err = dfg_build_const(eval->builder, name, value, out_edge);
	eval->builder->n_control = n_control;
	DFG_TRY(err);
	return dfg_naming_note(eval, out_edge->node, DFG_NAME_NONE, name);
}

/* A constant that loops or branches read: one node of the root for equal values, which enters each frame once. */
static struct dfg_err *shared_const(
	struct dfg_eval *eval, const char *name, const struct dfg_tensor *value, struct dfg_edge *out_edge)
{
	if (value->dtype == DFG_STRING)
		return new_const(eval, name, value, out_edge);
	const struct sought sought = {eval, value};
	uint32_t hash = dfg_map_hash(value->data, dfg_tensor_bytes(value));
	uint32_t at = dfg_index_find(&eval->constant_index, hash, is_sought, &sought);
	if (at != UINT32_MAX) {
		*out_edge = (struct dfg_edge){eval->constants.node[at], 0};
		return NULL;
	}
	DFG_TRY(new_const(eval, name, value, out_edge));
	DFG_TRY(dfg_nodes_add(&eval->constants, out_edge->node));
	return dfg_index_add(eval->arena, &eval->constant_index, hash, (uint32_t)eval->constants.n - 1);
}

struct dfg_err *dfg_eval_const(struct dfg_eval *eval, const struct dfg_tensor *value, struct dfg_edge *out_edge)
{
	const char *name;
	DFG_TRY(dfg_eval_path(eval, eval->scope, "Const", &name));
	if (eval->region)
		return shared_const(eval, name, value, out_edge);
	DFG_TRY(dfg_build_const(eval->builder, name, value, out_edge));
	return dfg_naming_note(eval, out_edge->node, DFG_NAME_NONE, name);
}
