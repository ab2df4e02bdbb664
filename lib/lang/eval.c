#include "lib/lang/eval_private.h"

#include "lib/lang/apply_private.h"
#include "lib/lang/branch_private.h"
#include "lib/lang/graph_import_private.h"
#include "lib/lang/index_private.h"
#include "lib/lang/loop_private.h"
#include "lib/lang/name_scope_private.h"
#include "lib/lang/operators_private.h"
#include "lib/lang/program_private.h"
#include "lib/lang/variable_private.h"

#include "lib/base/mem.h"
#include "lib/base/stack.h"

#include <ctype.h>
#include <string.h>

enum { DEPTH_MAX = 1000 }; /* nested expressions, those of calls included */

struct dfg_err *dfg_eval_at(struct dfg_eval *eval, const struct dfg_tree *tree, struct dfg_err *err)
{
	if (err && !eval->is_located && (err->code != DFG_MEMORY || eval->is_full)) {
		eval->is_located = true;
		eval->wrong_source = eval->source;
		eval->wrong_at = tree->at;
	}
	return err;
}

struct dfg_err *dfg_eval_warn(struct dfg_eval *eval, const struct dfg_tree *tree, const char *what)
{
	const struct dfg_lang_options *options = eval->options;
	if (!options || !options->warn || eval->source->library)
		return NULL;
	struct dfg_err *warning = dfg_source_warning(eval->source, tree->at, what);
	if (warning->code == DFG_MEMORY)
		return warning;
	options->warn(options->warn_arg, warning->text);
	dfg_err_free(warning);
	return NULL;
}

struct dfg_err *dfg_eval_finish(struct dfg_eval *eval, struct dfg_err *err)
{
	if (!err || !eval->is_located || !eval->wrong_source || (err->code == DFG_MEMORY && !eval->is_full))
		return err;
	const char *what = eval->inside ? dfg_arena_print(eval->arena, "%s, %s", err->text, eval->inside) : err->text;
	struct dfg_err *n_region =
		what ? dfg_source_err(eval->wrong_source, eval->wrong_at, err->code, what) : dfg_no_memory("an error");
	dfg_err_free(err);
	if (!eval->callers)
		return n_region;
	err = dfg_err_of_file(DFG_ERR(n_region->code, "%s\n%s", n_region->text, eval->callers), NULL);
	dfg_err_free(n_region);
	return err;
}

void dfg_eval_release(struct dfg_eval *eval)
{
	dfg_free(eval->naming);
	dfg_free(eval->cell);
	dfg_free(eval->handle_state);
	dfg_free(eval->asserts.node);
	dfg_free(eval->after.node);
	dfg_free(eval->region_by_port);
	dfg_free(eval->constants.node);
	dfg_counter_release(&eval->streams);
	dfg_counter_release(&eval->frames);
}

static struct dfg_err *several_wanted(uint32_t wanted, uint32_t got)
{
	return DFG_ERR(DFG_DATA, "%u results cannot be assigned to %u names", got, wanted);
}

/* Evaluates a name that a formula assigns, together with the other names on the left of its assignment. */
static struct dfg_err *force(struct dfg_eval *eval, struct dfg_later *later)
{
	struct dfg_datum datum;
	const struct dfg_tree *tuple = later->tree;
	if (later->state == DFG_LATER_RUNS)
		return DFG_ERR(DFG_DATA, "the name is read in its own definition");
	later->state = DFG_LATER_RUNS;
	if (tuple->n == later->parts) {
		DFG_TRY(dfg_eval_expr(eval, later->bindings, tuple->kid[later->part], &later->datum));
		later->state = DFG_LATER_DONE;
		return NULL;
	}
	DFG_TRY(dfg_eval_tuple(eval, later->bindings, tuple, &datum));
	bool many = datum.kind == DFG_DATUM_TUPLE || datum.kind == DFG_DATUM_LIST;
	if (!many || datum.list.n != later->parts)
		return several_wanted(later->parts, many ? datum.list.n : 1);
	struct dfg_later *all = later - later->part;
	for (uint32_t i = 0; i < later->parts; i++) {
		all[i].datum = datum.list.item[i];
		all[i].state = DFG_LATER_DONE;
	}
	return NULL;
}

static const struct dfg_builtin *find_builtin(const char *name)
{
	for (const struct dfg_builtin *builtin = dfg_builtins; builtin->name; builtin++)
		if (!strcmp(builtin->name, name))
			return builtin;
	return NULL;
}

static struct dfg_err *find_op(const char *name, struct dfg_datum *out_datum)
{
	*out_datum = (struct dfg_datum){DFG_DATUM_OP, .op = dfg_op_find(name)};
	if (out_datum->op)
		return NULL;
	static const char *const words[][2] = {{"True", "true"}, {"False", "false"}, {"None", "none"}};
	for (size_t i = 0; i < sizeof words / sizeof *words; i++)
		if (!strcmp(name, words[i][0]))
			return DFG_ERR(DFG_DATA, "there is no op %s: write `%s`", name, words[i][1]);
	const char *nearest = dfg_op_nearest(name);
	return nearest ? DFG_ERR(DFG_DATA, "there is no op %s; did you mean %s?", name, nearest)
				   : DFG_ERR(DFG_DATA, "there is no op %s", name);
}

/* The value of a name that is not bound: an op, a type, a built-in function or a constant. */
static struct dfg_err *predefined(
	struct dfg_eval *eval, struct dfg_name_scope *bindings, const char *name, struct dfg_datum *out_datum)
{
	enum dfg_dtype dtype = dfg_dtype_find(name, strlen(name));
	const struct dfg_builtin *builtin = find_builtin(name);
	if (isupper((unsigned char)*name))
		return find_op(name, out_datum);
	if (dtype)
		*out_datum = DFG_TYPE(dtype);
	else if (builtin)
		*out_datum = (struct dfg_datum){DFG_DATUM_BUILTIN, .builtin = builtin};
	else if (!strcmp(name, "training")) {
		*out_datum = DFG_BOOLEAN(eval->training);
		if (eval->program)
			eval->program->asks_training = true;
	} else if (!strcmp(name, "nan"))
		*out_datum = DFG_FLOAT(__builtin_nan(""));
	else if (!strcmp(name, "inf"))
		*out_datum = DFG_FLOAT(__builtin_inf());
	else if (!strcmp(name, "none"))
		*out_datum = (struct dfg_datum){0};
	else
		return dfg_name_scope_unknown(eval, bindings, name);
	return NULL;
}

static struct dfg_err *name(
	struct dfg_eval *eval, struct dfg_name_scope *bindings, const struct dfg_tree *tree, struct dfg_datum *out_datum)
{
	const struct dfg_datum *bound = dfg_name_scope_find(bindings, tree->text);
	if (!bound)
		return predefined(eval, bindings, tree->text, out_datum);
	*out_datum = *bound;
	if (bound->kind != DFG_DATUM_LATER)
		return NULL;
	struct dfg_later *later = bound->later;
	if (later->state != DFG_LATER_DONE)
		DFG_TRY(force(eval, later));
	*out_datum = later->datum;
	return NULL;
}

/* Adds the depth and the items of a nested list to those of the list. */
static struct dfg_err *count_item(struct dfg_datum_list *list, const struct dfg_datum *item)
{
	if (item->kind != DFG_DATUM_LIST && item->kind != DFG_DATUM_TUPLE)
		return NULL;
	uint32_t depth = item->list.depth + 1;
	return dfg_list_grow(list, depth > list->depth ? depth : list->depth, (uint64_t)list->leaves + item->list.leaves);
}

static struct dfg_err *several(struct dfg_eval *eval, struct dfg_name_scope *bindings, const struct dfg_tree *tree,
	enum dfg_datum_kind kind, struct dfg_datum *out_datum)
{
	DFG_TRY(dfg_list_new(eval, kind, tree->n, out_datum));
	DFG_TRY(dfg_list_from(eval, &(struct dfg_list_origin){.tree = tree, .source = eval->source}, out_datum));
	for (uint32_t i = 0; i < tree->n; i++) {
		DFG_TRY(dfg_eval_expr(eval, bindings, tree->kid[i], &out_datum->list.item[i]));
		DFG_TRY(count_item(&out_datum->list, &out_datum->list.item[i]));
	}
	return NULL;
}

struct dfg_err *dfg_eval_tuple(
	struct dfg_eval *eval, struct dfg_name_scope *bindings, const struct dfg_tree *tuple, struct dfg_datum *out_datum)
{
	if (tuple->n == 1)
		return dfg_eval_expr(eval, bindings, tuple->kid[0], out_datum);
	return several(eval, bindings, tuple, DFG_DATUM_TUPLE, out_datum);
}

static struct dfg_err *no_member(struct dfg_eval *eval, const struct dfg_datum *of, const char *name)
{
	if (dfg_datum_is_tensor(of) && !strcmp(name, "shape"))
		return DFG_ERR(DFG_DATA, "a tensor has no '.shape': write shape(x)");
	if (of->kind == DFG_DATUM_GRAPH)
		return DFG_ERR(DFG_DATA, "an imported graph has no member '%s': its tensors are .node(\"%s\")", name, name);
	if (of->kind != DFG_DATUM_TUPLE || !dfg_list_port(of))
		return DFG_ERR(DFG_DATA, "%s has no member '%s'", dfg_datum_words(eval, of), name);
	struct dfg_nearest nearest = {.word = name};
	for (uint32_t i = 0; i < of->list.n; i++)
		dfg_nearest_offer(&nearest, dfg_list_port(of)[i].name);
	return nearest.best ? DFG_ERR(DFG_DATA, "the op has no output '%s'; did you mean '%s'?", name, nearest.best)
						: DFG_ERR(DFG_DATA, "the op has no output '%s'", name);
}

/* An op's output by its name, a param of an instance, a member of an import. */
static struct dfg_err *member(
	struct dfg_eval *eval, struct dfg_name_scope *bindings, const struct dfg_tree *tree, struct dfg_datum *out_datum)
{
	struct dfg_datum of;
	const char *path;
	DFG_TRY(dfg_eval_expr(eval, bindings, tree->kid[0], &of));
	if (of.kind == DFG_DATUM_TUPLE && dfg_list_port(&of))
		for (uint32_t i = 0; i < of.list.n; i++)
			if (!strcmp(dfg_list_port(&of)[i].name, tree->text)) {
				*out_datum = of.list.item[i];
				return NULL;
			}
	if (of.kind == DFG_DATUM_INSTANCE) {
		DFG_TRY(dfg_eval_path(eval, of.instance->path, tree->text, &path));
		*out_datum = (struct dfg_datum){DFG_DATUM_CELL, .cell = dfg_cell_find(eval, path)};
		return out_datum->cell ? NULL
							   : DFG_ERR(DFG_DATA, "%s has no param '%s' yet: params are made when it is first applied",
									 of.instance->callable->name, tree->text);
	}
	if (of.kind == DFG_DATUM_GRAPH && !strcmp(tree->text, "node")) {
		*out_datum = (struct dfg_datum){DFG_DATUM_GRAPH_NODE, .graph = of.graph};
		return NULL;
	}
	const struct dfg_datum *found = of.kind == DFG_DATUM_MODULE ? dfg_name_scope_own(of.module, tree->text) : NULL;
	if (of.kind == DFG_DATUM_MODULE && !found)
		return dfg_name_scope_unknown(eval, of.module, tree->text);
	if (!found)
		return no_member(eval, &of, tree->text);
	*out_datum = *found;
	return NULL;
}

static struct dfg_err *expression(
	struct dfg_eval *eval, struct dfg_name_scope *bindings, const struct dfg_tree *tree, struct dfg_datum *out_datum)
{
	switch (tree->kind) {
	case DFG_TREE_NUMBER:
		*out_datum = (struct dfg_datum){DFG_DATUM_NUMBER, .number = tree->number};
		return NULL;
	case DFG_TREE_STRING:
		*out_datum = (struct dfg_datum){DFG_DATUM_STRING, .string = {tree->text, tree->length}};
		return NULL;
	case DFG_TREE_BOOL:
		*out_datum = DFG_BOOLEAN(tree->truth);
		return NULL;
	case DFG_TREE_NAME:
		return name(eval, bindings, tree, out_datum);
	case DFG_TREE_LIST:
		return several(eval, bindings, tree, DFG_DATUM_LIST, out_datum);
	case DFG_TREE_TUPLE:
		return several(eval, bindings, tree, DFG_DATUM_TUPLE, out_datum);
	case DFG_TREE_CALL:
		return dfg_eval_call(eval, bindings, tree, out_datum);
	case DFG_TREE_INDEX:
		return dfg_eval_index(eval, bindings, tree, out_datum);
	case DFG_TREE_MEMBER:
		return member(eval, bindings, tree, out_datum);
	case DFG_TREE_UNARY:
		return dfg_eval_unary(eval, bindings, tree, out_datum);
	case DFG_TREE_BINARY:
		return dfg_eval_binary(eval, bindings, tree, out_datum);
	case DFG_TREE_IF:
		return dfg_eval_if(eval, bindings, tree, out_datum);
	case DFG_TREE_CASE:
		return dfg_eval_case(eval, bindings, tree, out_datum);
	case DFG_TREE_LOOP:
		return dfg_eval_loop(eval, bindings, tree, out_datum);
	default:
		return DFG_ERR(DFG_BUG, "unknown kind of expression");
	}
}

/*
 * Checked before each expression, so that the error has a location. It leaves an eighth, which one expression alone may
 * need; beyond that the error is the arena's and has no location.
 */
static struct dfg_err *check_memory(struct dfg_eval *eval)
{
	uint64_t taken = eval->arena->total + eval->builder->graph->arena->total;
	if (!eval->memory_limit || taken <= eval->memory_limit - eval->memory_limit / 8)
		return NULL;
	eval->is_full = true;
	return DFG_ERR(DFG_MEMORY, "the build needs more than %llu MiB here (--memory-limit)",
		(unsigned long long)(eval->memory_limit >> 20));
}

struct dfg_err *dfg_eval_check_stack(void)
{
	return dfg_stack_is_low()
			   ? DFG_ERR(DFG_DATA, "expressions, blocks and calls nest too deeply for the stack (ulimit -s)")
			   : NULL;
}

struct dfg_err *dfg_eval_expr(
	struct dfg_eval *eval, struct dfg_name_scope *bindings, const struct dfg_tree *tree, struct dfg_datum *out_datum)
{
	if (eval->depth == DEPTH_MAX)
		return dfg_eval_at(eval, tree, DFG_ERR(DFG_DATA, "expressions and calls nest deeper than %d", DEPTH_MAX));
	DFG_TRY(dfg_eval_at(eval, tree, dfg_eval_check_stack()));
	DFG_TRY(dfg_eval_at(eval, tree, check_memory(eval)));
	eval->depth++;
	struct dfg_err *err = expression(eval, bindings, tree, out_datum);
	eval->depth--;
	return dfg_eval_at(eval, tree, err);
}
