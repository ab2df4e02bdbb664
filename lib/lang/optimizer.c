#include "lib/lang/lang.h"

#include "lib/lang/apply_private.h"
#include "lib/lang/materialise_private.h"
#include "lib/lang/program_private.h"
#include "lib/lang/std_private.h"

#include <stdlib.h>
#include <string.h>

/* An optimizer, applied to many variables; the nodes of its first arguments are shared by all variables of a graph. */
struct dfg_optimizer {
	struct dfg_arena arena;
	struct dfg_eval eval;
	struct dfg_program imports; /* the imports of the file that declares it */
	struct dfg_source source;
	struct dfg_tree *call;
	struct dfg_name_scope *bindings; /* the scope in which its name is looked up */
	const struct dfg_graph *graph;   /* the graph that .instance was made for */
	struct dfg_instance *instance;
};

/* The length of the file name in "my.dfg:lion(...)", or 0 if there is none. */
static size_t file_length(const char *call)
{
	const char *colon = strstr(call, ".dfg:"), *bracket = strchr(call, '(');
	return colon && (!bracket || colon < bracket) ? (size_t)(colon - call) + strlen(".dfg") : 0;
}

static struct dfg_err *load(struct dfg_optimizer *optimizer, const char *call)
{
	struct dfg_lang_library *library;
	size_t file = file_length(call), begin = file ? file + 1 : 0;
	struct dfg_eval *eval = &optimizer->eval;
	optimizer->source.path = "--optimizer";
	optimizer->source.text = dfg_arena_copy(&optimizer->arena, call + begin, strlen(call + begin));
	optimizer->source.length = (uint32_t)strlen(call + begin);
	const char *path = dfg_arena_copy(&optimizer->arena, call, file);
	if (!path || !optimizer->source.text)
		return dfg_no_memory("an optimizer");
	DFG_TRY(dfg_parse_expression(&optimizer->source, &optimizer->arena, &optimizer->call));
	DFG_TRY(dfg_library_get(&library));
	optimizer->bindings = &library->bindings;
	if (!file)
		return NULL;
	eval->program = &optimizer->imports;
	DFG_TRY(dfg_load_module(eval, path, &optimizer->bindings));
	eval->program = NULL;
	return NULL;
}

static const struct dfg_tree *callee(const struct dfg_optimizer *optimizer)
{
	return optimizer->call->kind == DFG_TREE_CALL ? optimizer->call->kid[0] : optimizer->call;
}

static struct dfg_err *check(struct dfg_optimizer *optimizer)
{
	const struct dfg_tree *name = callee(optimizer);
	struct dfg_eval *eval = &optimizer->eval;
	const struct dfg_datum *found = NULL;
	if (name->kind != DFG_TREE_NAME)
		return dfg_eval_at(eval, name, DFG_ERR(DFG_DATA, "an optimizer must be the call of a layer: adam(lr = 0.001)"));
	found = dfg_name_scope_find(optimizer->bindings, name->text);
	if (!found)
		return dfg_eval_at(eval, name, dfg_name_scope_unknown(eval, optimizer->bindings, name->text));
	if (found->kind != DFG_DATUM_LAYER || found->callable->tree->kid[1]->n != 3)
		return dfg_eval_at(eval, name,
			DFG_ERR(DFG_DATA,
				"'%s' is not an optimizer: an optimizer is a layer with the second argument list (p, g, step)",
				name->text));
	return NULL;
}

struct dfg_err *dfg_optimizer_new(
	const char *call, const struct dfg_lang_options *options, struct dfg_optimizer **out_optimizer)
{
	struct dfg_optimizer *optimizer = dfg_zeros(1, sizeof *optimizer);
	if (!optimizer)
		return dfg_no_memory("an optimizer");
	optimizer->eval = (struct dfg_eval){.options = options,
		.arena = &optimizer->arena,
		.source = &optimizer->source,
		.scope = "",
		.training = true,
		.slots = true};
	struct dfg_err *err = load(optimizer, call);
	if (!err)
		err = check(optimizer);
	err = dfg_eval_finish(&optimizer->eval, err);
	if (err)
		dfg_optimizer_free(optimizer);
	else
		*out_optimizer = optimizer;
	return err;
}

void dfg_optimizer_free(struct dfg_optimizer *optimizer)
{
	if (!optimizer)
		return;
	dfg_eval_release(&optimizer->eval);
	dfg_arena_release(&optimizer->arena);
	dfg_free(optimizer);
}

/* Makes the learning rate the PlaceholderWithDefault train/lr, so that it can be fed. */
static struct dfg_err *make_rate(struct dfg_eval *eval, struct dfg_name_scope *bindings)
{
	struct dfg_datum *rate = dfg_name_scope_own(bindings, "lr");
	struct dfg_edge in, out = {0, 0};
	if (!rate)
		return NULL;
	DFG_TRY(dfg_to_edge(eval, rate, DFG_F32, &in));
	const struct dfg_shape shape = dfg_eval_fact(eval, in)->shape;
	struct dfg_attr attr = {"shape", DFG_ATTR_SHAPE, {.shape = &shape}};
	struct dfg_new_node want = {
		.op = "PlaceholderWithDefault", .name = "train/lr", .in = &in, .n_in = 1, .attr = &attr, .n_attr = 1};
	DFG_TRY(dfg_eval_build(eval, &want, DFG_NAME_EXACT, &out.node));
	*rate = DFG_TENSOR(out);
	return NULL;
}

/* Evaluates the first arguments, once for each graph. They may read `step`. */
static struct dfg_err *make_instance(struct dfg_optimizer *optimizer, struct dfg_edge step)
{
	struct dfg_eval *eval = &optimizer->eval;
	struct dfg_name_counter instances = {0};
	struct dfg_name_scope *bindings;
	struct dfg_datum datum;
	if (optimizer->graph == eval->builder->graph)
		return NULL;
	DFG_TRY(dfg_name_scope_new(eval, optimizer->bindings, &bindings));
	DFG_TRY(dfg_name_scope_put(eval->arena, bindings, "step", DFG_TENSOR(step)));
	eval->scope = "train";
	eval->instances = &instances;
	struct dfg_tree bare = {.kind = DFG_TREE_CALL, .at = optimizer->call->at, .n = 1, .kid = &optimizer->call};
	struct dfg_err *err =
		dfg_eval_expr(eval, bindings, optimizer->call->kind == DFG_TREE_CALL ? optimizer->call : &bare, &datum);
	if (!err)
		err = make_rate(eval, datum.instance->bindings);
	dfg_counter_release(&instances);
	DFG_TRY(err);
	optimizer->instance = datum.instance;
	optimizer->graph = eval->builder->graph;
	return NULL;
}

static struct dfg_err *apply(
	struct dfg_optimizer *optimizer, const char *scope, const struct dfg_edge *in, struct dfg_edge *out_p)
{
	struct dfg_eval *eval = &optimizer->eval;
	struct dfg_argument argument[3] = {0};
	struct dfg_call_site site = {optimizer->call, argument, 3};
	struct dfg_datum instance = {DFG_DATUM_INSTANCE, .instance = optimizer->instance}, result;
	for (int i = 0; i < 3; i++) {
		argument[i].tree = optimizer->call;
		argument[i].value = DFG_TENSOR(in[i]);
	}
	optimizer->instance->path = scope;
	eval->row_part = dfg_eval_fact(eval, in[0])->shape;
	DFG_TRY(dfg_apply(eval, &instance, &site, &result));
	DFG_TRY(dfg_to_edge(eval, &result, DFG_NO_DTYPE, out_p));
	const struct dfg_inferred *old = dfg_eval_fact(eval, in[0]), *made = dfg_eval_fact(eval, *out_p);
	if (old->dtype == made->dtype && dfg_shape_fits(&old->shape, &made->shape))
		return NULL;
	return DFG_ERR(DFG_DATA, "the new value is %s, but the variable is %s", dfg_type_words(made->dtype, &made->shape).s,
		dfg_type_words(old->dtype, &old->shape).s);
}

struct dfg_err *dfg_optimizer_apply(struct dfg_optimizer *optimizer, struct dfg_builder *builder, const char *scope,
	const struct dfg_edge in[3], const struct dfg_optimizer_rows *rows, struct dfg_edge *out_p,
	const uint32_t **out_effects, uint32_t *out_n_effects)
{
	struct dfg_eval *eval = &optimizer->eval;
	struct dfg_nodes changes = {0};
	const char *path = dfg_arena_copy(&optimizer->arena, scope, strlen(scope));
	if (!path)
		return dfg_no_memory("an optimizer");
	eval->builder = builder;
	eval->changes = &changes;
	eval->rows = rows;
	struct dfg_err *err = make_instance(optimizer, in[2]);
	if (!err)
		err = dfg_eval_at(eval, optimizer->call, apply(optimizer, path, in, out_p));
	eval->rows = NULL;
	*out_n_effects = (uint32_t)changes.n;
	*out_effects = (const uint32_t *)dfg_arena_copy(&optimizer->arena, changes.node, changes.n * sizeof(uint32_t));
	if (!err && !*out_effects)
		err = dfg_no_memory("an optimizer");
	dfg_free(changes.node);
	eval->changes = NULL;
	return dfg_eval_finish(eval, err);
}
