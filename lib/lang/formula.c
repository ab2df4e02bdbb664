#include "lib/lang/lang.h"

#include "lib/lang/eval_private.h"
#include "lib/lang/materialise_private.h"
#include "lib/lang/std_private.h"

#include <string.h>

struct dfg_formula {
	struct dfg_arena arena;
	struct dfg_source source;
	struct dfg_tree *block;
	const char **name; /* the names that it assigns, NULL-terminated */
	uint32_t n_name;
};

/*
 * Counts the names on the left of assignments, and stores them once the array exists. A formula consists of assignments
 * and `static if`.
 */
static struct dfg_err *find_names(struct dfg_formula *formula, const struct dfg_tree *block, uint32_t *n)
{
	for (uint32_t i = 0; i < block->n; i++) {
		const struct dfg_tree *tree = block->kid[i];
		if (tree->kind == DFG_TREE_STATIC_IF) {
			DFG_TRY(find_names(formula, tree->kid[1], n));
			if (tree->kid[2])
				DFG_TRY(find_names(formula, tree->kid[2], n));
			continue;
		}
		if (tree->kind != DFG_TREE_ASSIGN)
			return dfg_source_err(&formula->source, tree->at, DFG_DATA,
				"a formula contains only assignments, such as dx = ..., and `static if`");
		for (uint32_t k = 0; k < tree->kid[0]->n; k++, ++*n)
			if (formula->name)
				formula->name[*n] = tree->kid[0]->kid[k]->text;
	}
	return NULL;
}

static struct dfg_err *read_text(struct dfg_formula *formula, const char *text)
{
	uint32_t n = 0;
	size_t length = strlen(text);
	const char *copy = dfg_arena_copy(&formula->arena, text, length);
	if (!copy)
		return dfg_no_memory("a gradient formula");
	formula->source = (struct dfg_source){"formula", copy, (uint32_t)length, false};
	DFG_TRY(dfg_parse(&formula->source, &formula->arena, &formula->block));
	DFG_TRY(find_names(formula, formula->block, &n));
	formula->name = dfg_arena_zeros(&formula->arena, (size_t)n + 1, sizeof *formula->name);
	if (!formula->name)
		return dfg_no_memory("a gradient formula");
	return find_names(formula, formula->block, &formula->n_name);
}

struct dfg_err *dfg_formula_new(const char *text, struct dfg_formula **out_formula)
{
	struct dfg_formula *formula = dfg_zeros(1, sizeof *formula);
	if (!formula)
		return dfg_no_memory("a gradient formula");
	struct dfg_err *err = read_text(formula, text);
	if (err)
		dfg_formula_free(formula);
	else
		*out_formula = formula;
	return err;
}

void dfg_formula_free(struct dfg_formula *formula)
{
	if (formula)
		dfg_arena_release(&formula->arena);
	dfg_free(formula);
}

const char *const *dfg_formula_names(const struct dfg_formula *formula)
{
	return formula->name;
}

static struct dfg_err *list_value(struct dfg_eval *eval, const struct dfg_list *list, struct dfg_datum *out_datum);

static struct dfg_err *attr_value(
	struct dfg_eval *eval, enum dfg_attr_kind kind, union dfg_value value, struct dfg_datum *out_datum)
{
	switch (kind) {
	case DFG_ATTR_INT:
		*out_datum = DFG_INT(value.i);
		return NULL;
	case DFG_ATTR_FLOAT:
		*out_datum = DFG_FLOAT(value.f);
		return NULL;
	case DFG_ATTR_BOOL:
		*out_datum = DFG_BOOLEAN(value.b);
		return NULL;
	case DFG_ATTR_STRING:
		*out_datum = (struct dfg_datum){DFG_DATUM_STRING, .string = value.s};
		return NULL;
	case DFG_ATTR_DTYPE:
		*out_datum = DFG_TYPE(value.dtype);
		return NULL;
	case DFG_ATTR_LIST:
		return list_value(eval, value.list, out_datum);
	case DFG_ATTR_SHAPE:
		*out_datum = (struct dfg_datum){0};
		if (value.shape->rank < 0)
			return NULL;
		DFG_TRY(dfg_list_new(eval, DFG_DATUM_LIST, (uint32_t)value.shape->rank, out_datum));
		for (int i = 0; i < value.shape->rank; i++)
			out_datum->list.item[i] = DFG_INT(value.shape->dim[i]);
		return NULL;
	default:
		return DFG_ERR(DFG_BUG, "a formula cannot read an attribute of this kind");
	}
}

static struct dfg_err *list_value(struct dfg_eval *eval, const struct dfg_list *list, struct dfg_datum *out_datum)
{
	DFG_TRY(dfg_list_new(eval, DFG_DATUM_LIST, list->count, out_datum));
	for (uint32_t i = 0; i < list->count; i++)
		DFG_TRY(attr_value(eval, list->kind, list->item[i], &out_datum->list.item[i]));
	return NULL;
}

static struct dfg_err *bound_value(
	struct dfg_eval *eval, const struct dfg_binding *binding, struct dfg_datum *out_datum)
{
	switch (binding->kind) {
	case DFG_BIND_TENSOR:
		*out_datum = DFG_TENSOR(*binding->edge);
		return NULL;
	case DFG_BIND_TENSORS:
		DFG_TRY(dfg_list_new(eval, DFG_DATUM_LIST, binding->n, out_datum));
		for (uint32_t i = 0; i < binding->n; i++)
			out_datum->list.item[i] = DFG_TENSOR(binding->edge[i]);
		return NULL;
	case DFG_BIND_VALUE:
		return attr_value(eval, binding->value_kind, binding->value, out_datum);
	default:
		*out_datum = (struct dfg_datum){.kind = DFG_DATUM_NOTHING};
		return NULL;
	}
}

/* Binds each name to its unevaluated right side. */
static struct dfg_err *postpone(struct dfg_eval *eval, struct dfg_name_scope *bindings, const struct dfg_tree *tree)
{
	const struct dfg_tree *names = tree->kid[0];
	struct dfg_later *later = dfg_arena_zeros(eval->arena, names->n, sizeof *later);
	if (!later)
		return dfg_no_memory("a gradient formula");
	for (uint32_t i = 0; i < names->n; i++) {
		later[i] = (struct dfg_later){.tree = tree->kid[1], .bindings = bindings, .part = i, .parts = names->n};
		DFG_TRY(dfg_name_scope_put(
			eval->arena, bindings, names->kid[i]->text, (struct dfg_datum){DFG_DATUM_LATER, .later = &later[i]}));
	}
	return NULL;
}

static struct dfg_err *postpone_all(
	struct dfg_eval *eval, struct dfg_name_scope *bindings, const struct dfg_tree *block)
{
	for (uint32_t i = 0; block && i < block->n; i++) {
		const struct dfg_tree *tree = block->kid[i];
		struct dfg_datum condition;
		if (tree->kind == DFG_TREE_ASSIGN) {
			DFG_TRY(postpone(eval, bindings, tree));
			continue;
		}
		DFG_TRY(dfg_eval_expr(eval, bindings, tree->kid[0], &condition));
		if (condition.kind != DFG_DATUM_BOOL)
			return dfg_eval_at(eval, tree->kid[0],
				DFG_ERR(DFG_DATA, "`static if` requires a bool, not %s", dfg_datum_words(eval, &condition)));
		DFG_TRY(postpone_all(eval, bindings, condition.truth ? tree->kid[1] : tree->kid[2]));
	}
	return NULL;
}

static struct dfg_err *read_result(
	struct dfg_eval *eval, struct dfg_name_scope *bindings, const char *name, struct dfg_edge *out_edge)
{
	const struct dfg_datum *bound = dfg_name_scope_own(bindings, name);
	struct dfg_datum datum;
	*out_edge = (struct dfg_edge){DFG_NONE, 0};
	if (!bound || bound->kind != DFG_DATUM_LATER)
		return NULL;
	const struct dfg_tree reading = {.kind = DFG_TREE_NAME, .at = bound->later->tree->at, .text = name};
	DFG_TRY(dfg_eval_expr(eval, bindings, &reading, &datum));
	if (datum.kind == DFG_DATUM_NONE)
		return NULL;
	return dfg_eval_at(eval, &reading, dfg_to_edge(eval, &datum, DFG_NO_DTYPE, out_edge));
}

static struct dfg_err *apply(struct dfg_eval *eval, const struct dfg_tree *block, const struct dfg_binding *binding,
	uint32_t n_binding, struct dfg_name_scope **out_bindings)
{
	struct dfg_lang_library *library;
	struct dfg_name_scope *given;
	DFG_TRY(dfg_library_get(&library));
	DFG_TRY(dfg_name_scope_new(eval, &library->bindings, &given));
	for (uint32_t i = 0; i < n_binding; i++) {
		struct dfg_datum datum;
		DFG_TRY(bound_value(eval, &binding[i], &datum));
		DFG_TRY(dfg_name_scope_put(eval->arena, given, binding[i].name, datum));
	}
	DFG_TRY(dfg_name_scope_new(eval, given, out_bindings));
	return postpone_all(eval, *out_bindings, block);
}

struct dfg_err *dfg_formula_apply(const struct dfg_formula *formula, struct dfg_builder *builder, const char *scope,
	const struct dfg_binding *binding, uint32_t n_binding, const char *const *result, uint32_t n_result,
	struct dfg_edge *out_edge)
{
	struct dfg_arena arena = {0};
	struct dfg_eval eval = {.builder = builder, .arena = &arena, .source = &formula->source, .scope = scope};
	struct dfg_name_scope *bindings;
	struct dfg_err *err = apply(&eval, formula->block, binding, n_binding, &bindings);
	for (uint32_t i = 0; !err && i < n_result; i++)
		err = read_result(&eval, bindings, result[i], &out_edge[i]);
	err = dfg_eval_finish(&eval, err);
	dfg_eval_release(&eval);
	dfg_arena_release(&arena);
	return err;
}
