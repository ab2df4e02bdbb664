#include "lib/lang/variable_private.h"

#include "lib/lang/apply_private.h"
#include "lib/lang/eval_private.h"
#include "lib/lang/materialise_private.h"
#include "lib/lang/name_scope_private.h"
#include "lib/lang/number_private.h"
#include "lib/lang/parallel_private.h"
#include "lib/lang/row_access_private.h"
#include "lib/lang/rule_private.h"
#include "lib/lang/ssa_private.h"
#include "lib/lang/type_private.h"

#include <string.h>

struct sought {
	const struct dfg_eval *eval;
	const char *path;
};

static bool is_sought(const void *arg, uint32_t item)
{
	const struct sought *sought = arg;
	return !strcmp(sought->eval->cell[item]->path, sought->path);
}

struct dfg_cell *dfg_cell_find(struct dfg_eval *eval, const char *path)
{
	const struct sought sought = {eval, path};
	uint32_t at = dfg_index_find(&eval->cell_index, dfg_map_hash(path, strlen(path)), is_sought, &sought);
	return at == UINT32_MAX ? NULL : eval->cell[at];
}

void dfg_cell_forget(struct dfg_cell *cell)
{
	cell->now =
		(struct dfg_history){.value = cell->read, .is_stale = cell->read.node == DFG_NONE, .last_write = DFG_NONE};
}

struct dfg_err *dfg_cell_add(struct dfg_eval *eval, struct dfg_cell *cell)
{
	if (!dfg_reserve(&eval->cell, &eval->cell_capacity, eval->n_cell + 1, sizeof *eval->cell))
		return dfg_no_memory("the variables of the program");
	eval->cell[eval->n_cell] = cell;
	return dfg_index_add(
		eval->arena, &eval->cell_index, dfg_map_hash(cell->path, strlen(cell->path)), (uint32_t)eval->n_cell++);
}

static struct dfg_err *exact(
	struct dfg_eval *eval, struct dfg_new_node *want, const char *path, const char *part, uint32_t *out_node)
{
	DFG_TRY(dfg_eval_path(eval, path, part, &want->name));
	want->exact = true;
	return dfg_eval_build(eval, want, DFG_NAME_EXACT, out_node);
}

static struct dfg_err *make_handle(struct dfg_eval *eval, struct dfg_cell *cell)
{
	struct dfg_attr attr[] = {
		DFG_ATTR_T("dtype", cell->dtype),
		{"shape", DFG_ATTR_SHAPE, {.shape = &cell->shape}},
		DFG_ATTR_S("shared_name", cell->path),
		DFG_ATTR_B(eval->slots ? "_dfg_slot" : "_dfg_trainable", true),
	};
	struct dfg_new_node want = {.op = "VarHandleOp", .name = cell->path, .exact = true, .attr = attr};
	want.n_attr = cell->trainable || eval->slots ? 4 : 3;
	cell->handle = (struct dfg_edge){0, 0};
	return dfg_eval_build(eval, &want, DFG_NAME_EXACT, &cell->handle.node);
}

static struct dfg_err *make_read(struct dfg_eval *eval, struct dfg_cell *cell)
{
	struct dfg_attr attr = DFG_ATTR_T("dtype", cell->dtype);
	struct dfg_edge in[2] = {cell->handle};
	struct dfg_new_node want = {.op = "ReadVariableOp", .in = in, .n_in = 1, .attr = &attr, .n_attr = 1};
	if (cell->by_rows) {
		in[1] = eval->rows->indices;
		want.op = "ResourceGather";
		want.n_in = 2;
	}
	cell->read = (struct dfg_edge){0, 0};
	DFG_TRY(exact(eval, &want, cell->path, "read", &cell->read.node));
	dfg_cell_forget(cell);
	return NULL;
}

static struct dfg_err *make_assign(struct dfg_eval *eval, struct dfg_cell *cell, struct dfg_edge value)
{
	struct dfg_edge in[] = {cell->handle, value};
	struct dfg_attr attr = DFG_ATTR_B("_dfg_init", true);
	struct dfg_new_node want = {.op = "AssignVariableOp", .in = in, .n_in = 2, .attr = &attr, .n_attr = 1};
	uint32_t node;
	return exact(eval, &want, cell->path, "assign", &node);
}

static struct dfg_err *check_value(
	struct dfg_eval *eval, const struct dfg_cell *cell, const struct dfg_shape *shape, struct dfg_edge value)
{
	const struct dfg_inferred *fact = dfg_eval_fact(eval, value);
	if (fact->dtype == cell->dtype && dfg_shape_fits(&fact->shape, shape))
		return NULL;
	return DFG_ERR(DFG_DATA, "'%s' is %s, but the value is %s", cell->path, dfg_type_words(cell->dtype, shape).s,
		dfg_type_words(fact->dtype, &fact->shape).s);
}

static struct dfg_err *dims_list(struct dfg_eval *eval, const struct dfg_shape *shape, struct dfg_datum *out_datum)
{
	DFG_TRY(dfg_list_new(eval, DFG_DATUM_LIST, (uint32_t)shape->rank, out_datum));
	for (int i = 0; i < shape->rank; i++)
		out_datum->list.item[i] = DFG_INT(shape->dim[i]);
	return NULL;
}

/* The initial value: the result of a function of shape and dtype, a tensor, or a number for all elements. */
static struct dfg_err *initial_value(
	struct dfg_eval *eval, const struct dfg_cell *cell, const struct dfg_datum *initial, struct dfg_edge *out_edge)
{
	struct dfg_datum dims, value = *initial;
	DFG_TRY(dims_list(eval, &cell->shape, &dims));
	struct dfg_argument argument[] = {{.value = dims}, {.value = DFG_TYPE(cell->dtype)}};
	struct dfg_call_site site = {.argument = argument, .n = 2};
	if (initial->kind == DFG_DATUM_FN) {
		site.tree = argument[0].tree = argument[1].tree = initial->callable->tree;
		DFG_TRY(dfg_apply(eval, initial, &site, &value));
	}
	DFG_TRY(dfg_to_edge(eval, &value, cell->dtype, out_edge));
	if (cell->shape.rank > 0 && dfg_eval_fact(eval, *out_edge)->shape.rank == 0) {
		struct dfg_edge in[2] = {{0, 0}, *out_edge};
		struct dfg_datum shape;
		DFG_TRY(dfg_literal_new(eval, &dims, DFG_I32, &shape));
		DFG_TRY(dfg_eval_const(eval, shape.literal, &in[0]));
		DFG_TRY(dfg_eval_node(eval, "Fill", in, 2, out_edge));
	}
	return check_value(eval, cell, &cell->shape, *out_edge);
}

static struct dfg_err *make_nodes(struct dfg_eval *eval, struct dfg_cell *cell, const struct dfg_datum *initial)
{
	struct dfg_edge value;
	DFG_TRY(make_handle(eval, cell));
	DFG_TRY(make_read(eval, cell));
	DFG_TRY(initial_value(eval, cell, initial, &value));
	return make_assign(eval, cell, value);
}

/* Makes the nodes in the root, after none of the assertions and `after` blocks around the declaration. */
struct dfg_err *dfg_cell_new(
	struct dfg_eval *eval, const struct dfg_cell *like, const struct dfg_datum *initial, struct dfg_cell **out_cell)
{
	struct dfg_cell *cell = (struct dfg_cell *)dfg_arena_copy(eval->arena, like, sizeof *like);
	const char *scope = eval->scope;
	struct dfg_saved_region saved;
	if (!cell)
		return dfg_no_memory("the variables of the program");
	dfg_region_go(eval, NULL, &saved);
	eval->scope = cell->path;
	eval->builder->n_control = 0;
	struct dfg_err *err = make_nodes(eval, cell, initial);
	eval->scope = scope;
	dfg_region_back(eval, &saved);
	if (!err)
		*out_cell = cell;
	return err ? err : dfg_cell_add(eval, cell);
}

static struct dfg_err *declare_cell(
	struct dfg_eval *eval, struct dfg_name_scope *bindings, const struct dfg_tree *tree, struct dfg_cell **out_cell)
{
	struct dfg_cell like = {.trainable = tree->kind == DFG_TREE_PARAM};
	struct dfg_datum initial, *there = dfg_name_scope_own(bindings, tree->text);
	DFG_TRY(dfg_eval_path(eval, eval->scope, tree->text, &like.path));
	DFG_TRY(dfg_type_shape(eval, bindings, tree->kid[0], &like.dtype, &like.shape));
	like.by_rows = eval->rows && like.shape.rank > 0 && dfg_shape_equal(&like.shape, &eval->row_part);
	like.by_rule = eval->rule && dfg_shape_equal(&like.shape, &eval->row_part);
	if (eval->rule && !like.by_rule)
		return dfg_eval_at(eval, tree->kid[0],
			DFG_ERR(DFG_DATA, "'%s' is %s, but a state of a rule must have the shape of p", like.path,
				dfg_type_words(like.dtype, &like.shape).s));
	if (like.by_rows || like.by_rule)
		like.shape = eval->rule ? eval->rule->whole : eval->rows->whole;
	if (!dfg_shape_known(&like.shape))
		return dfg_eval_at(eval, tree->kid[0],
			DFG_ERR(DFG_DATA, "'%s' is %s, but its shape must be known while building", like.path,
				dfg_type_words(like.dtype, &like.shape).s));
	*out_cell = dfg_cell_find(eval, like.path);
	if (!*out_cell) {
		struct dfg_saved_region saved;
		dfg_region_go(eval, NULL, &saved);
		struct dfg_err *err = dfg_eval_expr(eval, bindings, tree->kid[1], &initial);
		dfg_region_back(eval, &saved);
		DFG_TRY(err);
		return dfg_cell_new(eval, &like, &initial, out_cell);
	}
	if (there && there->kind == DFG_DATUM_CELL && there->cell == *out_cell)
		return DFG_ERR(DFG_DATA, "'%s' is already declared", like.path);
	if ((*out_cell)->dtype == like.dtype && dfg_shape_equal(&(*out_cell)->shape, &like.shape))
		return NULL;
	return DFG_ERR(DFG_DATA, "'%s' was %s when its layer was first applied, but is %s in this call", like.path,
		dfg_type_words((*out_cell)->dtype, &(*out_cell)->shape).s, dfg_type_words(like.dtype, &like.shape).s);
}

struct dfg_err *dfg_eval_cell(struct dfg_eval *eval, struct dfg_name_scope *bindings, const struct dfg_tree *tree)
{
	struct dfg_cell *cell;
	if (!eval->program && !eval->slots)
		return DFG_ERR(DFG_DATA, "variables can be declared only in programs and optimizers");
	DFG_TRY(declare_cell(eval, bindings, tree, &cell));
	return dfg_name_scope_put(eval->arena, bindings, tree->text, (struct dfg_datum){DFG_DATUM_CELL, .cell = cell});
}

struct dfg_err *dfg_cell_touch(struct dfg_eval *eval, struct dfg_cell *cell)
{
	struct dfg_cell_before *before = eval->target ? dfg_arena_zeros(eval->arena, 1, sizeof *before) : NULL;
	if (!eval->target)
		return NULL;
	if (!before)
		return dfg_no_memory("the variables of the program");
	*before = (struct dfg_cell_before){eval->target->written, cell, cell->now};
	eval->target->written = before;
	return NULL;
}

/* Writes the value to the variable, or combines the two as the SET tree says. */
static struct dfg_err *write(struct dfg_eval *eval, struct dfg_name_scope *bindings, const struct dfg_tree *tree,
	struct dfg_cell *cell, struct dfg_edge value, uint32_t *out_node)
{
	const char *op = dfg_updates[tree->operation].whole;
	bool is_function = tree->operation == DFG_UPDATE_RAISE || tree->operation == DFG_UPDATE_LOWER;
	struct dfg_edge in[2];
	if (cell->by_rule && eval->rule)
		return tree->kid[1] || tree->operation != DFG_UPDATE_ASSIGN
				   ? DFG_ERR(DFG_DATA, "a rule may set its state only with `set %s = ...`", tree->text)
				   : dfg_rule_write(eval, cell, value, out_node);
	DFG_TRY(dfg_parallel_update(eval, cell, tree->operation, &value));
	if (tree->kid[2])
		return dfg_rule_update(eval, bindings, tree, cell, value, out_node);
	if (tree->kid[1] || (tree->operation != DFG_UPDATE_ASSIGN && !is_function))
		return dfg_rows_update(eval, bindings, tree, cell, value, out_node);
	if (is_function) {
		DFG_TRY(dfg_view_value(eval, cell, eval->region, &in[0]));
		in[1] = value;
		DFG_TRY(dfg_eval_node(eval, op, in, 2, &value));
	}
	return dfg_view_write(eval, cell, value, out_node);
}

struct dfg_err *dfg_eval_set(struct dfg_eval *eval, struct dfg_name_scope *bindings, const struct dfg_tree *tree)
{
	const struct dfg_datum *bound = dfg_name_scope_find(bindings, tree->text);
	struct dfg_datum datum;
	struct dfg_edge value;
	uint32_t node;
	if (!bound)
		return dfg_name_scope_unknown(eval, bindings, tree->text);
	if (bound->kind != DFG_DATUM_CELL)
		return DFG_ERR(DFG_DATA, "'%s' is not a param or state", tree->text);
	struct dfg_cell *cell = bound->cell;
	const char *scope = eval->scope;
	if (eval->program)
		DFG_TRY(dfg_eval_path(eval, scope, tree->text, &eval->scope));
	struct dfg_err *err = dfg_eval_expr(eval, bindings, tree->kid[0], &datum);
	if (!err)
		err = dfg_to_edge(eval, &datum, cell->dtype, &value);
	if (!err && !tree->kid[1])
		err = check_value(eval, cell, cell->by_rows || cell->by_rule ? &eval->row_part : &cell->shape, value);
	if (!err)
		err = write(eval, bindings, tree, cell, value, &node);
	eval->scope = scope;
	eval->effects += eval->region != NULL;
	return err || eval->region ? err : dfg_eval_effect(eval, node);
}
