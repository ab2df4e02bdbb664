#include "lib/lang/declare_private.h"

#include "lib/lang/graph_import_private.h"
#include "lib/lang/materialise_private.h"
#include "lib/lang/name_scope_private.h"
#include "lib/lang/program_private.h"
#include "lib/lang/type_private.h"
#include "lib/lang/variable_private.h"

#include <string.h>
#include <unistd.h>

/* Declarations that only a program has: inputs, outputs, targets, constants, imports. */

static struct dfg_err *at_top(const struct dfg_eval *eval, const struct dfg_name_scope *bindings, const char *what)
{
	if (eval->program && eval->program->bindings == bindings && !*eval->scope)
		return NULL;
	return DFG_ERR(
		DFG_DATA, "`%s` is allowed only at the top level of a program, not in functions or repeated blocks", what);
}

static struct dfg_err *make_input(struct dfg_eval *eval, const struct dfg_tree *tree, enum dfg_dtype dtype,
	const struct dfg_shape *shape, const struct dfg_edge *initial, uint32_t *out_node)
{
	struct dfg_attr attr[] = {
		DFG_ATTR_I("_dfg_input", eval->program->inputs++),
		{"shape", DFG_ATTR_SHAPE, {.shape = shape}},
		DFG_ATTR_T("dtype", dtype),
	};
	struct dfg_new_node want = {.op = initial ? "PlaceholderWithDefault" : "Placeholder",
		.name = tree->text,
		.exact = true,
		.in = initial,
		.n_in = initial ? 1 : 0,
		.attr = attr,
		.n_attr = initial ? 2 : 3};
	uint32_t n_control = eval->builder->n_control;
	eval->builder->n_control = 0;
	struct dfg_err *err = dfg_eval_build(eval, &want, DFG_NAME_EXACT, out_node);
	eval->builder->n_control = n_control;
	return err;
}

static struct dfg_err *default_value(struct dfg_eval *eval, struct dfg_name_scope *bindings,
	const struct dfg_tree *tree, enum dfg_dtype dtype, struct dfg_edge *out_edge)
{
	struct dfg_datum value;
	eval->scope = tree->text;
	struct dfg_err *err = dfg_eval_expr(eval, bindings, tree->kid[1], &value);
	if (!err)
		err = dfg_eval_at(eval, tree->kid[1], dfg_to_edge(eval, &value, dtype, out_edge));
	eval->scope = "";
	return err;
}

struct dfg_err *dfg_eval_input(struct dfg_eval *eval, struct dfg_name_scope *bindings, const struct dfg_tree *tree)
{
	enum dfg_dtype dtype;
	struct dfg_shape shape;
	struct dfg_edge initial, edge = {0, 0};
	DFG_TRY(at_top(eval, bindings, "input"));
	DFG_TRY(dfg_type_shape(eval, bindings, tree->kid[0], &dtype, &shape));
	if (tree->kid[1])
		DFG_TRY(default_value(eval, bindings, tree, dtype, &initial));
	DFG_TRY(make_input(eval, tree, dtype, &shape, tree->kid[1] ? &initial : NULL, &edge.node));
	DFG_TRY(dfg_name_scope_put(eval->arena, bindings, tree->text, DFG_TENSOR(edge)));
	return dfg_type_bind_dims(eval, bindings, tree->kid[0], edge, tree->text);
}

/* `output h = e` is `h = e`, then `output h`. */
static struct dfg_err *bind_output(struct dfg_eval *eval, struct dfg_name_scope *bindings, const struct dfg_tree *tree)
{
	struct dfg_datum value;
	uint32_t since = eval->builder->graph->count;
	eval->scope = tree->text;
	struct dfg_err *err = dfg_eval_expr(eval, bindings, tree->kid[0], &value);
	eval->scope = "";
	if (!err && value.kind == DFG_DATUM_TENSOR && value.edge.node >= since)
		err = dfg_bind_node(eval, value.edge.node, tree->text);
	return err ? err : dfg_name_scope_put(eval->arena, bindings, tree->text, value);
}

struct dfg_err *dfg_eval_output(struct dfg_eval *eval, struct dfg_name_scope *bindings, const struct dfg_tree *tree)
{
	struct dfg_attr attr = DFG_ATTR_I("_dfg_output", eval->program ? eval->program->outputs : 0);
	struct dfg_edge in;
	struct dfg_new_node want = {
		.op = "Identity", .name = tree->text, .exact = true, .in = &in, .n_in = 1, .attr = &attr, .n_attr = 1};
	uint32_t node;
	DFG_TRY(at_top(eval, bindings, "output"));
	eval->program->outputs++;
	if (tree->kid[0])
		DFG_TRY(bind_output(eval, bindings, tree));
	const struct dfg_datum *value = dfg_name_scope_find(bindings, tree->text);
	if (!value)
		return dfg_name_scope_unknown(eval, bindings, tree->text);
	eval->scope = tree->text;
	struct dfg_err *err = dfg_to_edge(eval, value, DFG_NO_DTYPE, &in);
	eval->scope = "";
	return err ? err : dfg_eval_build(eval, &want, DFG_NAME_EXACT, &node);
}

/* The writes of a target happen only when it runs, so the text after it sees the variables as they were before it. */
static struct dfg_err *target_body(
	struct dfg_eval *eval, struct dfg_name_scope *bindings, const struct dfg_tree *block, struct dfg_nodes *changes)
{
	struct dfg_target target = {0};
	struct dfg_datum last;
	eval->changes = changes;
	eval->target = &target;
	struct dfg_err *err = dfg_eval_block(eval, bindings, block, &last);
	eval->target = NULL;
	eval->changes = NULL;
	for (const struct dfg_cell_before *before = target.written; before; before = before->older)
		before->cell->now = before->now;
	return err;
}

static struct dfg_err *make_target(struct dfg_eval *eval, const char *name, const struct dfg_nodes *changes)
{
	struct dfg_edge *in = dfg_arena_zeros(eval->arena, changes->n, sizeof *in);
	uint32_t node;
	if (!in)
		return dfg_no_memory("a declaration");
	for (size_t i = 0; i < changes->n; i++)
		in[i] = (struct dfg_edge){changes->node[i], DFG_CONTROL};
	struct dfg_new_node want = {.op = "NoOp", .name = name, .exact = true, .in = in, .n_control = (uint32_t)changes->n};
	return dfg_eval_build(eval, &want, DFG_NAME_EXACT, &node);
}

struct dfg_err *dfg_eval_target(struct dfg_eval *eval, struct dfg_name_scope *bindings, const struct dfg_tree *tree)
{
	struct dfg_nodes changes = {0};
	struct dfg_name_scope *inner;
	DFG_TRY(at_top(eval, bindings, "target"));
	DFG_TRY(dfg_name_scope_new(eval, bindings, &inner));
	eval->scope = tree->text;
	struct dfg_err *err = target_body(eval, inner, tree->kid[0], &changes);
	eval->scope = "";
	if (!err && !changes.n)
		err = DFG_ERR(DFG_DATA, "the target '%s' has no effect: it must assign a state or param", tree->text);
	if (!err)
		err = make_target(eval, tree->text, &changes);
	dfg_free(changes.node);
	return err;
}

/* The text after NAME= in the definition of the name, or NULL. */
static const char *definition(struct dfg_eval *eval, const char *name)
{
	const char *const *define = eval->options ? eval->options->define : NULL;
	size_t length = strlen(name);
	for (int i = 0; define && define[i]; i++)
		if (!strncmp(define[i], name, length) && define[i][length] == '=') {
			eval->program->defined[i] = true;
			return define[i] + length + 1;
		}
	return NULL;
}

/* The kind of value that -D must give for a const with this value. */
static const char *kind_words(const struct dfg_datum *value)
{
	if (value->kind == DFG_DATUM_NUMBER)
		return value->number.is_int ? "a whole number" : "a number";
	if (value->kind == DFG_DATUM_BOOL)
		return "true or false";
	return value->kind == DFG_DATUM_LIST ? "a list" : "a value of the same kind";
}

/* Replaces the value of a const by one from the command line, which must be of the same kind. */
static struct dfg_err *redefine(
	struct dfg_eval *eval, struct dfg_name_scope *bindings, const char *name, const char *text, struct dfg_datum *value)
{
	const char *path = dfg_arena_print(eval->arena, "-D %s", name);
	struct dfg_source source = {path, text, (uint32_t)strlen(text), false};
	struct dfg_tree *tree;
	struct dfg_datum given;
	if (!path)
		return dfg_no_memory("a name");
	if (value->kind == DFG_DATUM_STRING) {
		value->string = (struct dfg_string){text, strlen(text)};
		return NULL;
	}
	DFG_TRY(dfg_parse_expression(&source, eval->arena, &tree));
	struct dfg_err *err = dfg_eval_expr(eval, bindings, tree, &given);
	bool same = !err && given.kind == value->kind;
	if (same && value->kind == DFG_DATUM_NUMBER)
		same = !value->number.is_int || given.number.is_int;
	if (err && err->code == DFG_MEMORY)
		return err;
	if (err || !same) {
		dfg_err_free(err);
		return DFG_ERR(DFG_DATA, "-D %s=%s: '%s' is %s in the program: give %s", name, text, name,
			dfg_datum_words(eval, value), kind_words(value));
	}
	if (value->kind == DFG_DATUM_NUMBER && !value->number.is_int)
		given.number.is_int = false;
	*value = given;
	return NULL;
}

struct dfg_err *dfg_eval_const_declaration(
	struct dfg_eval *eval, struct dfg_name_scope *bindings, const struct dfg_tree *tree)
{
	struct dfg_datum value;
	DFG_TRY(dfg_eval_expr(eval, bindings, tree->kid[0], &value));
	if (value.kind == DFG_DATUM_TENSOR || value.kind == DFG_DATUM_DIM || value.kind == DFG_DATUM_CELL)
		return DFG_ERR(DFG_DATA, "a const must be known while building, not %s", dfg_datum_words(eval, &value));
	const char *given = eval->program && bindings == eval->program->bindings ? definition(eval, tree->text) : NULL;
	struct dfg_err *err = given ? redefine(eval, bindings, tree->text, given, &value) : NULL;
	if (err) { /* the error is on the command line, not in the text */
		eval->is_located = true;
		eval->wrong_source = NULL;
		return err;
	}
	return dfg_name_scope_put(eval->arena, bindings, tree->text, value);
}

/* Searches the directory of the importing text, then each directory of -I. */
static struct dfg_err *find_file(struct dfg_eval *eval, const char *name, const char **out_path)
{
	const char *slash = strrchr(eval->source->path, '/');
	const char *const *include = eval->options ? eval->options->include : NULL;
	int beside = *name == '/' || !slash ? 0 : (int)(slash - eval->source->path) + 1;
	*out_path = dfg_arena_print(eval->arena, "%.*s%s", beside, eval->source->path, name);
	for (;;) {
		if (!*out_path)
			return dfg_no_memory("a declaration");
		if (!access(*out_path, F_OK))
			return NULL;
		if (*name == '/' || !include || !*include)
			return DFG_ERR(DFG_NO_INPUT, "there is no file '%s' beside this one or in the directories of -I", name);
		*out_path = dfg_arena_print(eval->arena, "%s/%s", *include++, name);
	}
}

struct dfg_err *dfg_eval_import(struct dfg_eval *eval, struct dfg_name_scope *bindings, const struct dfg_tree *tree)
{
	const char *path, *name = tree->kid[0] ? tree->kid[0]->text : NULL;
	struct dfg_name_scope *module;
	struct dfg_imported_graph *graph;
	if (!eval->program || *eval->scope)
		return DFG_ERR(DFG_DATA, "`import` is allowed only at the top level of a file");
	DFG_TRY(find_file(eval, tree->text, &path));
	DFG_TRY(dfg_graph_import(eval, path, name, &graph));
	if (graph)
		return dfg_name_scope_put(eval->arena, bindings, name, (struct dfg_datum){DFG_DATUM_GRAPH, .graph = graph});
	DFG_TRY(dfg_load_module(eval, path, &module));
	if (name)
		return dfg_name_scope_put(eval->arena, bindings, name, (struct dfg_datum){DFG_DATUM_MODULE, .module = module});
	for (uint32_t i = 0; i < module->n; i++)
		DFG_TRY(dfg_name_scope_put(eval->arena, bindings, module->entry[i].name, module->entry[i].datum));
	return NULL;
}
