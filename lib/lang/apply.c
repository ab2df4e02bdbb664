#include "lib/lang/apply_private.h"

#include "lib/lang/eval_private.h"
#include "lib/lang/graph_import_private.h"
#include "lib/lang/loop_private.h"
#include "lib/lang/materialise_private.h"
#include "lib/lang/name_scope_private.h"
#include "lib/lang/op_private.h"
#include "lib/lang/type_private.h"
#include "lib/base/plural.h"

#include <string.h>

enum {
	CALLS_MAX = 100,          /* nested calls */
	CALLS_OF_BUILD = 1 << 18, /* calls in all, because a function that calls another twice doubles them */
	SHOWN = 12,               /* the most formals that a message lists */
	SHOWN_CALLS = 4,          /* the most callers that a message lists */
};

/* Names the formal that begins with the word or is spelt nearest to it, and lists all formals. */
static struct dfg_err *no_formal(
	struct dfg_eval *eval, const char *callee, const struct dfg_tree *formals, const char *name)
{
	struct dfg_nearest nearest = {.word = name};
	const char *begins = NULL, *all = "";
	for (uint32_t i = 0; i < formals->n; i++) {
		const char *formal = formals->kid[i]->text;
		dfg_nearest_offer(&nearest, formal);
		if (!begins && !strncmp(formal, name, strlen(name)))
			begins = formal;
		if (i <= SHOWN)
			all = dfg_arena_print(eval->arena, "%s%s%s", all, i ? ", " : "", i < SHOWN ? formal : "...");
		if (!all)
			return dfg_no_memory("the arguments of a call");
	}
	const char *best = begins ? begins : nearest.best;
	if (!formals->n)
		return DFG_ERR(DFG_DATA, "%s takes no arguments here", callee);
	return DFG_ERR(DFG_DATA, "%s takes no '%s' here%s%s%s it takes %s", callee, name, best ? "; did you mean '" : "",
		best ? best : "", best ? "'?" : ":", all);
}

struct sought {
	const struct dfg_tree *formals;
	const char *name;
};

static bool is_sought(const void *arg, uint32_t item)
{
	const struct sought *sought = arg;
	return !strcmp(sought->formals->kid[item]->text, sought->name);
}

/* The number of the formal, or UINT32_MAX. The index is made for the first argument with a name. */
static struct dfg_err *find_formal(
	struct dfg_eval *eval, const struct dfg_tree *formals, struct dfg_index *index, const char *name, uint32_t *out_at)
{
	const struct sought sought = {formals, name};
	for (uint32_t i = index->count; i < formals->n; i++) {
		const char *of = formals->kid[i]->text;
		DFG_TRY(dfg_index_add(eval->arena, index, dfg_map_hash(of, strlen(of)), i));
	}
	*out_at = dfg_index_find(index, dfg_map_hash(name, strlen(name)), is_sought, &sought);
	return NULL;
}

/*
 * Assigns the arguments to formals, by name or, for those without a name, by position. given[i] is NULL where formal i
 * has none.
 */
static struct dfg_err *arrange(struct dfg_eval *eval, const char *callee, const struct dfg_tree *formals,
	const struct dfg_call_site *site, const struct dfg_argument **given)
{
	struct dfg_index index = {0};
	uint32_t by_position = 0;
	for (uint32_t i = 0; i < site->n; i++) {
		const struct dfg_argument *argument = &site->argument[i];
		const struct dfg_tree *tree = argument->named ? argument->named : argument->tree;
		uint32_t at = argument->name ? 0 : by_position++;
		if (argument->name)
			DFG_TRY(find_formal(eval, formals, &index, argument->name, &at));
		if (at == UINT32_MAX)
			return dfg_eval_at(eval, tree, no_formal(eval, callee, formals, argument->name));
		if (at >= formals->n)
			return dfg_eval_at(eval, argument->tree,
				DFG_ERR(DFG_DATA, "%s takes %u argument%s here", callee, formals->n, dfg_plural(formals->n)));
		if (given[at])
			return dfg_eval_at(eval, tree, DFG_ERR(DFG_DATA, "'%s' is given twice", formals->kid[at]->text));
		given[at] = argument;
	}
	return NULL;
}

/* Binds one formal: to its argument, which is of the caller's text, or to its default value, of the callee's text. */
static struct dfg_err *bind_formal(struct dfg_eval *eval, const struct dfg_callable *callable,
	const struct dfg_tree *formal, const struct dfg_argument *argument, struct dfg_name_scope *bindings)
{
	struct dfg_datum datum;
	const struct dfg_source *caller = eval->source;
	struct dfg_err *err = NULL;
	if (argument)
		datum = argument->value;
	else if (!formal->kid[1])
		return DFG_ERR(DFG_DATA, "%s requires '%s'", callable->name, formal->text);
	eval->source = callable->source;
	if (!argument)
		err = dfg_eval_expr(eval, bindings, formal->kid[1], &datum);
	if (!err && formal->kid[0] && datum.kind != DFG_DATUM_NONE)
		err = dfg_type_match(eval, bindings, formal->kid[0], formal->text, &datum);
	eval->source = caller;
	if (err && argument)
		return dfg_eval_at(eval, argument->tree, err);
	return err ? err : dfg_name_scope_put(eval->arena, bindings, formal->text, datum);
}

/* Adds "FILE:LINE:COL: note: NAME is called here" to an error inside the callable, for the innermost calls. */
static void note_call(struct dfg_eval *eval, const char *callee, const struct dfg_tree *site)
{
	uint32_t line, column;
	if (!eval->is_located || !eval->wrong_source || eval->wrong_source->library || eval->source->library)
		return;
	if (eval->n_callers++ > SHOWN_CALLS)
		return;
	dfg_source_location(eval->source, site->at, &line, &column);
	const char *before = eval->callers ? eval->callers : "", *end = *before ? "\n" : "", *callers;
	if (eval->n_callers <= SHOWN_CALLS)
		callers = dfg_arena_print(eval->arena, "%s%s%s:%u:%u: note: %s is called here", before, end,
			dfg_source_words(eval->source).s, line, column, callee);
	else
		callers = dfg_arena_print(
			eval->arena, "%s%s%s: note: outer calls are not shown", before, end, dfg_source_words(eval->source).s);
	eval->callers = callers ? callers : eval->callers;
}

static struct dfg_err *bind_formals(struct dfg_eval *eval, const struct dfg_callable *callable,
	const struct dfg_tree *formals, const struct dfg_call_site *site, struct dfg_name_scope *bindings)
{
	const struct dfg_argument **given = dfg_arena_zeros(eval->arena, formals->n, sizeof(struct dfg_argument *));
	if (!given)
		return dfg_no_memory("the arguments of a call");
	DFG_TRY(arrange(eval, callable->name, formals, site, given));
	for (uint32_t i = 0; i < formals->n; i++) {
		struct dfg_err *err = bind_formal(eval, callable, formals->kid[i], given[i], bindings);
		if (err && !given[i])
			note_call(eval, callable->name, site->tree);
		DFG_TRY(err);
	}
	return NULL;
}

static struct dfg_err *check_results(struct dfg_eval *eval, const struct dfg_callable *callable,
	struct dfg_name_scope *bindings, struct dfg_datum *result)
{
	const struct dfg_tree *types = callable->tree->kid[2];
	uint32_t n = result->kind == DFG_DATUM_TUPLE ? result->list.n : result->kind != DFG_DATUM_NONE;
	if (!types)
		return NULL;
	if (n != types->n)
		return dfg_eval_at(
			eval, types, DFG_ERR(DFG_DATA, "%s declares %u results, but returns %u", callable->name, types->n, n));
	for (uint32_t i = 0; i < n; i++)
		DFG_TRY(dfg_eval_at(eval, types->kid[i],
			dfg_type_match(eval, bindings, types->kid[i], "the result", n == 1 ? result : &result->list.item[i])));
	return NULL;
}

/* An error in the library is reported at the call in the user's text. */
static struct dfg_err *called_from(
	struct dfg_eval *eval, const struct dfg_callable *callable, const struct dfg_tree *site, struct dfg_err *err)
{
	uint32_t line, column;
	const struct dfg_source *caller = eval->source;
	if (!err || !eval->is_located || caller->library || !eval->wrong_source || !eval->wrong_source->library)
		return err;
	dfg_source_location(eval->wrong_source, eval->wrong_at, &line, &column);
	eval->inside =
		dfg_arena_print(eval->arena, "in %s (%s:%u)", callable->name, dfg_source_words(eval->wrong_source).s, line);
	eval->wrong_source = caller;
	eval->wrong_at = site->at;
	return err;
}

static struct dfg_err *evaluate_body(struct dfg_eval *eval, const struct dfg_callable *callable,
	const struct dfg_call_site *site, struct dfg_name_scope *bindings, struct dfg_datum *out_datum)
{
	const struct dfg_source *caller = eval->source;
	if (eval->calls == CALLS_MAX)
		return DFG_ERR(DFG_DATA, "calls of functions nest deeper than %d", CALLS_MAX);
	if (eval->called == CALLS_OF_BUILD)
		return DFG_ERR(DFG_DATA, "the program calls functions more than %d times, the limit", CALLS_OF_BUILD);
	eval->called++;
	struct dfg_lang_loop *loop = eval->loop;
	eval->calls++;
	eval->loop = NULL;
	eval->source = callable->source;
	struct dfg_err *err = dfg_eval_block(eval, bindings, callable->tree->kid[3], out_datum);
	if (!err)
		err = check_results(eval, callable, bindings, out_datum);
	eval->source = caller;
	eval->loop = loop;
	eval->calls--;
	if (err)
		note_call(eval, callable->name, site->tree);
	return err;
}

static struct dfg_err *call_fn(struct dfg_eval *eval, const struct dfg_callable *callable,
	const struct dfg_call_site *site, struct dfg_datum *out_datum)
{
	struct dfg_name_scope *bindings;
	DFG_TRY(dfg_name_scope_new(eval, callable->bindings, &bindings));
	struct dfg_err *err = bind_formals(eval, callable, callable->tree->kid[0], site, bindings);
	if (!err)
		err = evaluate_body(eval, callable, site, bindings, out_datum);
	return called_from(eval, callable, site->tree, err);
}

/* Makes an instance from the first arguments. It gets its name here, so that names follow the order of the text. */
static struct dfg_err *make_instance(struct dfg_eval *eval, const struct dfg_callable *callable,
	const struct dfg_call_site *site, struct dfg_datum *out_datum)
{
	struct dfg_instance *instance = dfg_arena_zeros(eval->arena, 1, sizeof *instance);
	const char *path;
	if (!instance)
		return dfg_no_memory("the arguments of a call");
	instance->callable = callable;
	instance->made = eval->builder->graph->count;
	DFG_TRY(dfg_name_scope_new(eval, callable->bindings, &instance->bindings));
	DFG_TRY(called_from(
		eval, callable, site->tree, bind_formals(eval, callable, callable->tree->kid[0], site, instance->bindings)));
	DFG_TRY(dfg_eval_path(eval, eval->scope, callable->name, &path));
	DFG_TRY(dfg_counter_next(eval, eval->instances, path, &instance->path));
	*out_datum = (struct dfg_datum){DFG_DATUM_INSTANCE, .instance = instance};
	return NULL;
}

/*
 * The nodes of an application are named after the instance. Instances within it are numbered afresh each time, so that
 * each application finds the same params.
 */
static struct dfg_err *apply_instance(struct dfg_eval *eval, const struct dfg_instance *instance,
	const struct dfg_call_site *site, struct dfg_datum *out_datum)
{
	struct dfg_name_counter instances = {0}, *outer = eval->instances;
	const char *scope = eval->scope;
	struct dfg_name_scope *bindings;
	DFG_TRY(dfg_name_scope_new(eval, instance->bindings, &bindings));
	eval->instances = &instances;
	eval->scope = instance->path;
	struct dfg_err *err = bind_formals(eval, instance->callable, instance->callable->tree->kid[1], site, bindings);
	if (!err)
		err = evaluate_body(eval, instance->callable, site, bindings, out_datum);
	eval->instances = outer;
	eval->scope = scope;
	dfg_counter_release(&instances);
	return called_from(eval, instance->callable, site->tree, err);
}

static struct dfg_err *call_dtype(
	struct dfg_eval *eval, enum dfg_dtype dtype, const struct dfg_call_site *site, struct dfg_datum *out_datum)
{
	if (site->n != 1 || site->argument[0].name)
		return DFG_ERR(DFG_DATA, "a cast takes one value: %s(x)", dfg_dtype_name(dtype));
	return dfg_cast(eval, &site->argument[0].value, dtype, out_datum);
}

static struct dfg_err *call_builtin(struct dfg_eval *eval, const struct dfg_builtin *builtin,
	const struct dfg_call_site *site, struct dfg_datum *out_datum)
{
	if ((int)site->n < builtin->least || (int)site->n > builtin->most)
		return DFG_ERR(DFG_DATA, "%s takes %d%s%.0d argument%s, not %u", builtin->name, builtin->least,
			builtin->most > builtin->least ? " to " : "", builtin->most > builtin->least ? builtin->most : 0,
			dfg_plural(builtin->most), site->n);
	for (uint32_t i = 0; i < site->n; i++)
		if (site->argument[i].name)
			return dfg_eval_at(eval, site->argument[i].tree,
				DFG_ERR(DFG_DATA, "%s takes its arguments by position, without names", builtin->name));
	return builtin->call(eval, site, out_datum);
}

struct dfg_err *dfg_apply(struct dfg_eval *eval, const struct dfg_datum *callee, const struct dfg_call_site *site,
	struct dfg_datum *out_datum)
{
	switch (callee->kind) {
	case DFG_DATUM_OP:
		return dfg_op_apply(eval, callee->op, site, out_datum);
	case DFG_DATUM_FN:
		return call_fn(eval, callee->callable, site, out_datum);
	case DFG_DATUM_LAYER:
		return make_instance(eval, callee->callable, site, out_datum);
	case DFG_DATUM_INSTANCE:
		return apply_instance(eval, callee->instance, site, out_datum);
	case DFG_DATUM_DTYPE:
		return call_dtype(eval, callee->dtype, site, out_datum);
	case DFG_DATUM_GRAPH:
		return dfg_graph_apply(eval, callee->graph, site, out_datum);
	case DFG_DATUM_GRAPH_NODE:
		return dfg_graph_node(eval, callee->graph, site, out_datum);
	case DFG_DATUM_BUILTIN:
		return call_builtin(eval, callee->builtin, site, out_datum);
	default:
		return DFG_ERR(DFG_DATA, "%s cannot be called", dfg_datum_words(eval, callee));
	}
}

struct dfg_err *dfg_eval_call(
	struct dfg_eval *eval, struct dfg_name_scope *bindings, const struct dfg_tree *tree, struct dfg_datum *out_datum)
{
	struct dfg_datum callee;
	struct dfg_call_site site = {.tree = tree, .n = tree->n - 1};
	DFG_TRY(dfg_eval_expr(eval, bindings, tree->kid[0], &callee));
	site.argument = dfg_arena_zeros(eval->arena, site.n, sizeof *site.argument);
	if (!site.argument)
		return dfg_no_memory("the arguments of a call");
	for (uint32_t i = 0; i < site.n; i++) {
		const struct dfg_tree *argument = tree->kid[i + 1];
		site.argument[i].name = argument->text;
		site.argument[i].tree = argument->kid[0];
		site.argument[i].named = argument;
		DFG_TRY(dfg_eval_expr(eval, bindings, argument->kid[0], &site.argument[i].value));
	}
	return dfg_apply(eval, &callee, &site, out_datum);
}
