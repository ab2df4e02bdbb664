#include "lib/lang/statement_private.h"

#include "lib/lang/apply_private.h"
#include "lib/lang/declare_private.h"
#include "lib/lang/eval_private.h"
#include "lib/lang/loop_private.h"
#include "lib/lang/materialise_private.h"
#include "lib/lang/name_scope_private.h"
#include "lib/lang/ssa_private.h"

#include <ctype.h>
#include <string.h>

enum { ITERATIONS_MAX = 1 << 22 }; /* of all `static for` of a program: each writes its body out */

static struct dfg_err *set_control(struct dfg_eval *eval)
{
	size_t last = eval->asserts.n > 0, n = last + eval->after.n;
	uint32_t *control = dfg_arena_zeros(eval->arena, n, sizeof *control);
	if (!control)
		return dfg_no_memory("the build");
	if (last) /* the last assertion, which comes after those before it */
		*control = eval->asserts.node[eval->asserts.n - 1];
	if (eval->after.n)
		memcpy(control + last, eval->after.node, eval->after.n * sizeof *control);
	eval->builder->control = control;
	eval->builder->n_control = (uint32_t)n;
	return NULL;
}

struct dfg_err *dfg_eval_effect(struct dfg_eval *eval, uint32_t node)
{
	eval->effects++;
	if (eval->region)
		return dfg_region_effect(eval, node);
	if (eval->changes && eval->changes->n && eval->changes->node[eval->changes->n - 1] == node)
		return NULL;
	if (eval->changes)
		return dfg_nodes_add(eval->changes, node);
	return dfg_node_set_attr(eval->builder->graph, node, "_dfg_update", DFG_ATTR_BOOL, (union dfg_value){.b = true});
}

static bool is_skipped(const struct dfg_tree *name)
{
	return !strcmp(name->text, "_");
}

/* The name of the right side's scope: the first on the left that is not `_`. */
static const char *first_name(const struct dfg_tree *names)
{
	for (uint32_t i = 0; i < names->n; i++)
		if (!is_skipped(names->kid[i]))
			return names->kid[i]->text;
	return NULL;
}

/* DFG_DATA if the name is bound outside of the arm or loop: such a value changes only by being carried or merged. */
static struct dfg_err *check_rebound(const struct dfg_name_scope *bindings, const char *name)
{
	for (const struct dfg_name_scope *inner = bindings; inner->kind != DFG_SCOPE_OWN; inner = inner->outer) {
		if (dfg_name_scope_own((struct dfg_name_scope *)inner, name))
			return NULL;
		if (!dfg_name_scope_own(inner->outer, name))
			continue;
		if (inner->kind == DFG_SCOPE_LOOP)
			return DFG_ERR(DFG_DATA, "'%s' is bound outside of the loop; to change it, carry it: loop (%s = %s)", name,
				name, name);
		return DFG_ERR(DFG_DATA,
			"'%s' is bound outside of the `if`; to change it, assign the value of the `if` to it: %s = if ...", name,
			name);
	}
	return NULL;
}

static struct dfg_err *check_names(const struct dfg_name_scope *bindings, const struct dfg_tree *names)
{
	for (uint32_t i = 0; i < names->n; i++)
		if (!is_skipped(names->kid[i]))
			DFG_TRY(check_rebound(bindings, names->kid[i]->text));
	for (uint32_t i = 0; i < names->n; i++)
		if (isupper((unsigned char)*names->kid[i]->text))
			return DFG_ERR(DFG_DATA,
				"'%s' cannot be the name of a value: a word that begins with a capital letter is an op",
				names->kid[i]->text);
	return NULL;
}

/*
 * Names the node of a new value, or a new instance, after the name that it is bound to. A value that existed before
 * keeps its name.
 */
static struct dfg_err *give_name(
	struct dfg_eval *eval, const char *scope, const char *name, const struct dfg_datum *datum, uint32_t since)
{
	const char *path;
	DFG_TRY(dfg_eval_path(eval, scope, name, &path));
	if (datum->kind == DFG_DATUM_INSTANCE && datum->instance->made >= since && !datum->instance->is_bound) {
		datum->instance->is_bound = true;
		return dfg_counter_next(eval, eval->instances, path, &datum->instance->path);
	}
	if (datum->kind == DFG_DATUM_TENSOR && datum->edge.node >= since)
		return dfg_bind_node(eval, datum->edge.node, path);
	if (datum->kind == DFG_DATUM_TUPLE && dfg_list_port(datum) && datum->list.n)
		return give_name(eval, scope, name, &datum->list.item[0], since);
	return NULL;
}

static bool is_same_node(const void *arg, uint32_t item)
{
	return *(const uint32_t *)arg == item;
}

/* Whether an earlier name of the same assignment is bound to an output of the same node. */
static struct dfg_err *is_named_before(
	struct dfg_eval *eval, struct dfg_index *nodes, const struct dfg_datum *datum, bool *out_before)
{
	*out_before = false;
	if (datum->kind != DFG_DATUM_TENSOR)
		return NULL;
	uint32_t node = datum->edge.node, hash = node * 0x9e3779b1u;
	*out_before = dfg_index_find(nodes, hash, is_same_node, &node) != UINT32_MAX;
	return *out_before ? NULL : dfg_index_add(eval->arena, nodes, hash, node);
}

/* Makes a value that gets a name a tensor: a constant is then one node, and the present value of a variable is kept. */
static struct dfg_err *make_tensor(struct dfg_eval *eval, struct dfg_datum *value)
{
	struct dfg_edge edge;
	if (value->kind != DFG_DATUM_LITERAL && value->kind != DFG_DATUM_CELL)
		return NULL;
	DFG_TRY(dfg_to_edge(eval, value, DFG_NO_DTYPE, &edge));
	*value = DFG_TENSOR(edge);
	return NULL;
}

static struct dfg_err *bind_names(struct dfg_eval *eval, struct dfg_name_scope *bindings, const struct dfg_tree *names,
	struct dfg_datum *value, uint32_t since)
{
	struct dfg_index nodes = {0};
	bool before = false;
	for (uint32_t i = 0; i < names->n; i++) {
		const char *name = names->kid[i]->text;
		if (is_skipped(names->kid[i]))
			continue;
		DFG_TRY(make_tensor(eval, &value[i]));
		if (names->n > 1)
			DFG_TRY(is_named_before(eval, &nodes, &value[i], &before));
		if (!before)
			DFG_TRY(give_name(eval, eval->scope, name, &value[i], since));
		DFG_TRY(dfg_name_scope_put(eval->arena, bindings, name, value[i]));
	}
	return NULL;
}

static struct dfg_err *right_side(struct dfg_eval *eval, struct dfg_name_scope *bindings, const char *name,
	const struct dfg_tree *tuple, struct dfg_datum *out_datum)
{
	const char *scope = eval->scope;
	if (eval->program && name)
		DFG_TRY(dfg_eval_path(eval, scope, name, &eval->scope));
	struct dfg_err *err = dfg_eval_tuple(eval, bindings, tuple, out_datum);
	eval->scope = scope;
	return err;
}

static struct dfg_err *assign(struct dfg_eval *eval, struct dfg_name_scope *bindings, const struct dfg_tree *tree)
{
	const struct dfg_tree *names = tree->kid[0];
	struct dfg_datum value;
	uint32_t since = eval->builder->graph->count;
	DFG_TRY(check_names(bindings, names));
	DFG_TRY(right_side(eval, bindings, first_name(names), tree->kid[1], &value));
	if (names->n == 1)
		return bind_names(eval, bindings, names, &value, since);
	bool many = value.kind == DFG_DATUM_TUPLE || value.kind == DFG_DATUM_LIST;
	if (!many || value.list.n != names->n)
		return DFG_ERR(DFG_DATA, "%u value%s cannot be assigned to %u names", many ? value.list.n : 1,
			many && value.list.n != 1 ? "s" : "", names->n);
	return bind_names(eval, bindings, names, value.list.item, since);
}

static struct dfg_err *static_if(
	struct dfg_eval *eval, struct dfg_name_scope *bindings, const struct dfg_tree *tree, struct dfg_datum *out_datum)
{
	struct dfg_datum condition;
	DFG_TRY(dfg_eval_expr(eval, bindings, tree->kid[0], &condition));
	if (condition.kind != DFG_DATUM_BOOL)
		return dfg_eval_at(eval, tree->kid[0],
			DFG_ERR(DFG_DATA, "`static if` requires a bool that is known while building, not %s",
				dfg_datum_words(eval, &condition)));
	const struct dfg_tree *block = condition.truth ? tree->kid[1] : tree->kid[2];
	return block ? dfg_eval_block(eval, bindings, block, out_datum) : NULL;
}

static struct dfg_err *bounds(struct dfg_eval *eval, struct dfg_name_scope *bindings, const struct dfg_tree *sequence,
	int64_t *out_first, int64_t *out_last)
{
	struct dfg_datum first, last;
	if (!sequence->kid[1])
		return DFG_ERR(DFG_DATA, "`static for` requires an end: 0..n");
	DFG_TRY(dfg_eval_expr(eval, bindings, sequence->kid[0], &first));
	DFG_TRY(dfg_eval_expr(eval, bindings, sequence->kid[1], &last));
	DFG_TRY(dfg_to_int(eval, &first, "the first number", out_first));
	return dfg_to_int(eval, &last, "the end", out_last);
}

static struct dfg_err *run_iteration(struct dfg_eval *eval, struct dfg_name_scope *bindings,
	const struct dfg_tree *tree, int64_t i, struct dfg_datum value)
{
	const char *scope = eval->scope, *step = dfg_arena_print(eval->arena, "%s%lld", tree->text, (long long)i);
	struct dfg_datum last;
	if (!step)
		return dfg_no_memory("the build");
	if (eval->program)
		DFG_TRY(dfg_eval_path(eval, scope, step, &eval->scope));
	DFG_TRY(dfg_name_scope_put(eval->arena, bindings, tree->text, value));
	struct dfg_err *err = dfg_eval_block(eval, bindings, tree->kid[1], &last);
	eval->scope = scope;
	return err;
}

/* Counts the iterations, each of which writes the body out, before the first one. DFG_DATA: too many for the memory. */
static struct dfg_err *count_iterations(struct dfg_eval *eval, int64_t iterations)
{
	if (iterations > ITERATIONS_MAX - eval->iterations)
		return DFG_ERR(DFG_DATA,
			"`static for` of %lld iterations: a program has at most %d in all; `loop` has no limit",
			(long long)iterations, ITERATIONS_MAX);
	eval->iterations += iterations;
	return NULL;
}

static struct dfg_err *static_for(struct dfg_eval *eval, struct dfg_name_scope *bindings, const struct dfg_tree *tree)
{
	const struct dfg_tree *sequence = tree->kid[0];
	struct dfg_datum list;
	int64_t first, last;
	if (sequence->range) {
		DFG_TRY(dfg_eval_at(eval, sequence, bounds(eval, bindings, sequence, &first, &last)));
		DFG_TRY(dfg_eval_at(eval, sequence, count_iterations(eval, last > first ? last - first : 0)));
		for (int64_t i = first; i < last; i++)
			DFG_TRY(run_iteration(eval, bindings, tree, i, DFG_INT(i)));
		return NULL;
	}
	DFG_TRY(dfg_eval_expr(eval, bindings, sequence->kid[0], &list));
	if (list.kind != DFG_DATUM_LIST)
		return dfg_eval_at(
			eval, sequence, DFG_ERR(DFG_DATA, "`static for` requires a range or list that is known while building"));
	DFG_TRY(dfg_eval_at(eval, sequence, count_iterations(eval, list.list.n)));
	for (uint32_t i = 0; i < list.list.n; i++)
		DFG_TRY(run_iteration(eval, bindings, tree, i, list.list.item[i]));
	return NULL;
}

static struct dfg_err *on_device(
	struct dfg_eval *eval, struct dfg_name_scope *bindings, const struct dfg_tree *tree, struct dfg_datum *out_datum)
{
	const char *outer = eval->builder->device;
	size_t length = strlen(tree->text);
	eval->builder->device = dfg_arena_copy(eval->builder->graph->arena, tree->text, length);
	if (!eval->builder->device)
		return dfg_no_memory("the build");
	struct dfg_err *err = dfg_eval_block(eval, bindings, tree->kid[0], out_datum);
	eval->builder->device = outer;
	return err;
}

/* Adds the nodes that make the value to those that `after` waits for. */
static struct dfg_err *add_nodes(struct dfg_eval *eval, const struct dfg_datum *datum)
{
	struct dfg_edge edge;
	if (datum->kind == DFG_DATUM_NONE && datum->edge.node)
		return dfg_nodes_add(&eval->after, datum->edge.node);
	uint32_t write = datum->kind == DFG_DATUM_CELL ? dfg_view_pending(datum->cell, eval->region) : DFG_NONE;
	if (write != DFG_NONE)
		return dfg_nodes_add(&eval->after, write);
	if (datum->kind == DFG_DATUM_TUPLE || datum->kind == DFG_DATUM_LIST) {
		for (uint32_t i = 0; i < datum->list.n; i++)
			DFG_TRY(add_nodes(eval, &datum->list.item[i]));
		return NULL;
	}
	DFG_TRY(dfg_to_edge(eval, datum, DFG_NO_DTYPE, &edge));
	DFG_TRY(dfg_region_bring(eval, edge, eval->region, &edge));
	return dfg_nodes_add(&eval->after, edge.node);
}

static struct dfg_err *after(
	struct dfg_eval *eval, struct dfg_name_scope *bindings, const struct dfg_tree *tree, struct dfg_datum *out_datum)
{
	size_t outer = eval->after.n;
	struct dfg_datum first;
	DFG_TRY(dfg_eval_tuple(eval, bindings, tree->kid[0], &first));
	DFG_TRY(dfg_eval_at(eval, tree->kid[0], add_nodes(eval, &first)));
	DFG_TRY(set_control(eval));
	DFG_TRY(dfg_eval_block(eval, bindings, tree->kid[1], out_datum));
	eval->after.n = outer;
	return set_control(eval);
}

static struct dfg_err *assertion(struct dfg_eval *eval, struct dfg_name_scope *bindings, const struct dfg_tree *tree)
{
	struct dfg_datum condition, words = {DFG_DATUM_STRING, .string = {tree->kid[1]->text, tree->kid[1]->length}};
	struct dfg_edge in[2];
	uint32_t node;
	DFG_TRY(dfg_eval_expr(eval, bindings, tree->kid[0], &condition));
	if (condition.kind == DFG_DATUM_BOOL)
		return condition.truth ? NULL : DFG_ERR(DFG_DATA, "%s", tree->kid[1]->text);
	DFG_TRY(dfg_to_edge(eval, &condition, DFG_BOOL, &in[0]));
	DFG_TRY(dfg_to_edge(eval, &words, DFG_STRING, &in[1]));
	struct dfg_new_node want = {.op = "Assert", .in = in, .n_in = 2};
	DFG_TRY(dfg_eval_build(eval, &want, DFG_NAME_NONE, &node));
	DFG_TRY(dfg_nodes_add(&eval->asserts, node));
	return set_control(eval);
}

static bool writes(const struct dfg_eval *eval, uint32_t node)
{
	const struct dfg_op *op = eval->builder->graph->node[node].op;
	return op && (op->flags & DFG_WRITES);
}

/* Records an effect, except for a write in a loop or branch of a target: the order of accesses (ssa.c) makes it run. */
static struct dfg_err *effect_of(struct dfg_eval *eval, uint32_t node)
{
	return eval->region && eval->changes && writes(eval, node) ? NULL : dfg_eval_effect(eval, node);
}

/* Evaluates expressions as a statement: the last one gives the value of the block, the others must change something. */
static struct dfg_err *expressions(struct dfg_eval *eval, struct dfg_name_scope *bindings, const struct dfg_tree *tree,
	bool is_last, struct dfg_datum *out_datum)
{
	uint32_t effects = eval->effects;
	DFG_TRY(dfg_eval_tuple(eval, bindings, tree->kid[0], out_datum));
	bool changes = eval->effects > effects;
	if (changes && out_datum->kind == DFG_DATUM_NONE && out_datum->edge.node)
		return effect_of(eval, out_datum->edge.node);
	if (changes && out_datum->kind == DFG_DATUM_TENSOR && (!is_last || eval->changes))
		return writes(eval, out_datum->edge.node) ? effect_of(eval, out_datum->edge.node) : NULL;
	if (is_last || eval->effects > effects)
		return NULL;
	return DFG_ERR(DFG_DATA, "this expression has no effect, and its value is not used");
}

static struct dfg_err *statement(struct dfg_eval *eval, struct dfg_name_scope *bindings, const struct dfg_tree *tree,
	bool is_last, struct dfg_datum *out_datum)
{
	switch (tree->kind) {
	case DFG_TREE_ASSIGN:
		return assign(eval, bindings, tree);
	case DFG_TREE_DO:
		return expressions(eval, bindings, tree, is_last, out_datum);
	case DFG_TREE_STATIC_IF:
		return static_if(eval, bindings, tree, out_datum);
	case DFG_TREE_STATIC_FOR:
		return static_for(eval, bindings, tree);
	case DFG_TREE_ON:
		return on_device(eval, bindings, tree, out_datum);
	case DFG_TREE_AFTER:
		return after(eval, bindings, tree, out_datum);
	case DFG_TREE_ASSERT:
		return assertion(eval, bindings, tree);
	case DFG_TREE_PARAM:
	case DFG_TREE_STATE:
		return dfg_eval_cell(eval, bindings, tree);
	case DFG_TREE_SET:
		return dfg_eval_set(eval, bindings, tree);
	case DFG_TREE_INPUT:
		return dfg_eval_input(eval, bindings, tree);
	case DFG_TREE_OUTPUT:
		return dfg_eval_output(eval, bindings, tree);
	case DFG_TREE_CONST:
		return dfg_eval_const_declaration(eval, bindings, tree);
	case DFG_TREE_TARGET:
		return dfg_eval_target(eval, bindings, tree);
	case DFG_TREE_IMPORT:
		return dfg_eval_import(eval, bindings, tree);
	case DFG_TREE_YIELD:
		return dfg_eval_yield(eval, bindings, tree);
	case DFG_TREE_NEXT:
		return dfg_eval_next(eval, bindings, tree);
	default:
		return NULL; /* fn and layer are declared already */
	}
}

static struct dfg_err *declare(struct dfg_eval *eval, struct dfg_name_scope *bindings, const struct dfg_tree *tree)
{
	struct dfg_callable *callable = dfg_arena_zeros(eval->arena, 1, sizeof *callable);
	if (!callable)
		return dfg_no_memory("the build");
	if (isupper((unsigned char)*tree->text))
		return DFG_ERR(DFG_DATA,
			"'%s' cannot be the name of a function: a word that begins with a capital letter is an op", tree->text);
	*callable = (struct dfg_callable){tree->text, tree, eval->source, bindings};
	return dfg_name_scope_put(eval->arena, bindings, tree->text,
		(struct dfg_datum){.kind = tree->kind == DFG_TREE_FN ? DFG_DATUM_FN : DFG_DATUM_LAYER, .callable = callable});
}

struct dfg_err *dfg_declare_all(struct dfg_eval *eval, struct dfg_name_scope *bindings, const struct dfg_tree *block)
{
	for (uint32_t i = 0; i < block->n; i++)
		if (block->kid[i]->kind == DFG_TREE_FN || block->kid[i]->kind == DFG_TREE_LAYER)
			DFG_TRY(dfg_eval_at(eval, block->kid[i], declare(eval, bindings, block->kid[i])));
	return NULL;
}

struct dfg_err *dfg_eval_block(
	struct dfg_eval *eval, struct dfg_name_scope *bindings, const struct dfg_tree *block, struct dfg_datum *out_datum)
{
	*out_datum = (struct dfg_datum){0};
	DFG_TRY(dfg_eval_at(eval, block, dfg_eval_check_stack()));
	DFG_TRY(dfg_declare_all(eval, bindings, block));
	for (uint32_t i = 0; i < block->n; i++) {
		*out_datum = (struct dfg_datum){0};
		DFG_TRY(
			dfg_eval_at(eval, block->kid[i], statement(eval, bindings, block->kid[i], i + 1 == block->n, out_datum)));
	}
	return NULL;
}
