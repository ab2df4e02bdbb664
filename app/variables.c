#include "app/variables.h"

#include "app/loaded.h"
#include "app/shard_variables.h"
#include "lib/base/rename.h"
#include "lib/graph/shared_name.h"
#include "lib/pass/rewrite/shard_variable.h"

#include <string.h>

/* Partial results that a step sets anew are not variables of the model. */
static bool is_variable(const struct dfg_node *node)
{
	return node->op && node->op->role == DFG_VARIABLE && !dfg_node_mark(node, "_dfg_temporary", NULL);
}

/* Runs the nodes that create the variables, so that the session has them. */
static struct dfg_err *make_variables(struct dfg_model *model, const struct dfg_variables *variables)
{
	uint32_t *target = dfg_arena_zeros(&model->arena, variables->count, sizeof *target);
	struct dfg_plan *plan;
	if (!target)
		return dfg_no_memory("the variables");
	for (uint32_t i = 0; i < variables->count; i++)
		target[i] = variables->ref[i].node;
	struct dfg_step step = {.target = target, .n_target = variables->count};
	struct dfg_err *err = dfg_session_plan(model->session, &step, &plan);
	if (!err)
		err = dfg_plan_run(plan, NULL, NULL);
	return dfg_err_of_file(dfg_err_note(err, "creating variables"), model->file.graph.source);
}

/* Adds the variable's name to err. Takes err. */
static struct dfg_err *of_variable(
	const struct dfg_model *model, const struct dfg_variables *variables, uint32_t i, struct dfg_err *err)
{
	return dfg_err_of_file(dfg_err_note(err, "variable '%s'", variables->name[i]), model->file.graph.source);
}

static struct dfg_err *ask_facts(const struct dfg_model *model, const struct dfg_variables *variables)
{
	struct dfg_err *err = dfg_session_variables(model->session, variables->ref, variables->count, variables->fact);
	return dfg_err_note(err, "reading variables");
}

/* Asks the session for each variable; variables that it lacks are removed. */
static struct dfg_err *look_up(const struct dfg_model *model, struct dfg_variables *variables)
{
	uint32_t all = variables->count;
	DFG_TRY(dfg_err_of_file(ask_facts(model, variables), model->file.graph.source));
	variables->count = 0;
	for (uint32_t i = 0; i < all; i++) {
		if (!variables->fact[i].dtype)
			continue;
		variables->name[variables->count] = variables->name[i];
		variables->ref[variables->count] = variables->ref[i];
		variables->fact[variables->count++] = variables->fact[i];
	}
	return NULL;
}

/* Several nodes may refer to one variable: it is listed once, by the first. */
static struct dfg_err *drop_doubles(struct dfg_variables *variables)
{
	struct dfg_map names = {0};
	struct dfg_err *err = NULL;
	uint32_t all = variables->count;
	variables->count = 0;
	for (uint32_t i = 0; !err && i < all; i++) {
		struct dfg_variable_ref ref = variables->ref[i];
		bool new = false;
		uint32_t number;
		if (!dfg_map_put(&names, ref.name, strlen(ref.name), &number, &new))
			err = dfg_no_memory("the variables");
		if (err || !new)
			continue;
		variables->name[variables->count] = variables->name[i];
		variables->ref[variables->count++] = ref;
	}
	dfg_map_release(&names);
	return err;
}

struct dfg_err *dfg_variables_list(struct dfg_model *model, struct dfg_variables *out_variables)
{
	const struct dfg_graph *graph = &model->file.graph;
	struct dfg_variables all = {0};
	for (uint32_t n = 0; n < graph->count; n++)
		all.count += is_variable(&graph->node[n]);
	all.name = dfg_arena_zeros(&model->arena, all.count, sizeof *all.name);
	all.ref = dfg_arena_zeros(&model->arena, all.count, sizeof *all.ref);
	all.fact = dfg_arena_zeros(&model->arena, all.count, sizeof *all.fact);
	if (!all.name || !all.ref || !all.fact)
		return dfg_no_memory("the variables");
	all.count = 0;
	for (uint32_t n = 0; n < graph->count; n++) {
		if (!is_variable(&graph->node[n]))
			continue;
		all.name[all.count] = graph->node[n].name;
		all.ref[all.count] = (struct dfg_variable_ref){n, dfg_node_shared_name(&graph->node[n], &model->arena)};
		if (!all.ref[all.count++].name)
			return dfg_no_memory("the variables");
	}
	if (all.count)
		DFG_TRY(make_variables(model, &all));
	DFG_TRY(drop_doubles(&all));
	DFG_TRY(look_up(model, &all));
	*out_variables = all;
	return NULL;
}

/* The whole variable, of which variable i is a part: once, in the place of the first part. */
static struct dfg_err *read_whole(const struct dfg_model *model, const struct dfg_variables *variables, uint32_t i,
	const struct dfg_row_part *part, struct dfg_arrays *out_arrays)
{
	struct dfg_tensor value;
	bool set;
	char *name;
	if (part->part)
		return NULL;
	struct dfg_err *err = dfg_shard_read_whole(model, variables, i, &value, &set);
	if (err || !set)
		return dfg_err_note(err, "variable '%.*s'", (int)part->whole.length, part->whole.s);
	if (!(name = dfg_zeros(part->whole.length + 1, 1))) {
		dfg_tensor_release(&value);
		return dfg_no_memory("the variables");
	}
	memcpy(name, part->whole.s, part->whole.length);
	err = dfg_arrays_add(out_arrays, name, &value);
	dfg_free(name);
	return err;
}

static struct dfg_err *read_values(
	const struct dfg_model *model, const struct dfg_variables *variables, struct dfg_arrays *out_arrays)
{
	DFG_TRY(ask_facts(model, variables));
	for (uint32_t i = 0; i < variables->count; i++) {
		struct dfg_tensor value;
		struct dfg_row_part part;
		if (!variables->fact[i].set)
			continue;
		if (dfg_row_part_of(&model->file.graph.node[variables->ref[i].node], &part)) {
			DFG_TRY(read_whole(model, variables, i, &part, out_arrays));
			continue;
		}
		DFG_TRY(dfg_err_note(
			dfg_session_read(model->session, &variables->ref[i], &value), "variable '%s'", variables->name[i]));
		DFG_TRY(dfg_arrays_add(out_arrays, variables->name[i], &value));
	}
	return NULL;
}

struct dfg_err *dfg_variables_values(const struct dfg_model *model, const struct dfg_variables *variables,
	const char *purpose, struct dfg_arrays *out_arrays)
{
	struct dfg_err *err = dfg_err_note(read_values(model, variables, out_arrays), "%s", purpose);
	return dfg_err_of_file(err, model->file.graph.source);
}

/* The rows that a part has of the whole variable's array; added to `rows`, whose arrays have the names of parts. */
static struct dfg_err *take_rows(
	const struct dfg_row_part *part, const struct dfg_array *whole, const char *name, struct dfg_arrays *rows)
{
	struct dfg_tensor value;
	DFG_TRY(dfg_shard_take_rows(part, &whole->tensor, &value));
	return dfg_arrays_add(rows, name, &value);
}

/* Divides the arrays of variables that have parts. A file may also have the parts themselves. */
static struct dfg_err *divide(const struct dfg_model *model, const struct dfg_variables *variables,
	const struct dfg_arrays *arrays, struct dfg_arrays *rows)
{
	for (uint32_t i = 0; i < variables->count; i++) {
		struct dfg_row_part part;
		if (!dfg_row_part_of(&model->file.graph.node[variables->ref[i].node], &part))
			continue;
		for (size_t k = 0; k < arrays->count; k++)
			if (strlen(arrays->array[k].name) == part.whole.length &&
				!memcmp(arrays->array[k].name, part.whole.s, part.whole.length))
				DFG_TRY(take_rows(&part, &arrays->array[k], variables->name[i], rows));
	}
	return NULL;
}

/* Finds the array for each variable, or NULL. */
static struct dfg_err *match(struct dfg_model *model, const struct dfg_variables *variables,
	const struct dfg_arrays *arrays, const struct dfg_rename *renames, size_t n_renames,
	const struct dfg_array **by_variable)
{
	struct dfg_map names = {0};
	struct dfg_err *err = NULL;
	const struct dfg_array **by_name = dfg_arena_zeros(&model->arena, arrays->count, sizeof *by_name);
	for (size_t i = 0; !err && i < arrays->count; i++) {
		uint32_t number;
		bool new;
		const char *name = dfg_rename_name(renames, n_renames, arrays->array[i].name, &model->arena);
		if (!by_name || !name || !dfg_map_put(&names, name, strlen(name), &number, &new))
			err = dfg_no_memory("the variables");
		else if (!new)
			err = DFG_ERR(DFG_DATA, "arrays '%s' and '%s' both map to variable '%s'", by_name[number]->name,
				arrays->array[i].name, name);
		else
			by_name[number] = &arrays->array[i];
	}
	for (uint32_t i = 0; !err && i < variables->count; i++) {
		uint32_t number = dfg_map_find(&names, variables->name[i], strlen(variables->name[i]));
		by_variable[i] = number == DFG_NONE ? NULL : by_name[number];
	}
	dfg_map_release(&names);
	return err;
}

static struct dfg_err *check(const struct dfg_variables *variables, const struct dfg_array *const *by_variable)
{
	uint32_t found = 0;
	for (uint32_t i = 0; i < variables->count; i++) {
		const struct dfg_variable_fact *variable = &variables->fact[i];
		const struct dfg_tensor *value = by_variable[i] ? &by_variable[i]->tensor : NULL;
		found += value != NULL;
		if (!value || (value->dtype == variable->dtype && dfg_shape_fits(&value->shape, &variable->shape)))
			continue;
		return DFG_ERR(DFG_DATA, "array '%s' is %s, but variable '%s' is %s", by_variable[i]->name,
			dfg_type_words(value->dtype, &value->shape).s, variables->name[i],
			dfg_type_words(variable->dtype, &variable->shape).s);
	}
	return found ? NULL : DFG_ERR(DFG_DATA, "has no array for any variable of the graph");
}

/* Adds the other arrays, under the names that the map gives them. */
static struct dfg_err *add_renamed(struct dfg_model *model, const struct dfg_arrays *arrays,
	const struct dfg_rename *renames, size_t n_renames, struct dfg_arrays *out_arrays)
{
	for (size_t k = 0; k < arrays->count; k++) {
		struct dfg_tensor value;
		const char *name = dfg_rename_name(renames, n_renames, arrays->array[k].name, &model->arena);
		if (!name)
			return dfg_no_memory("the variables");
		DFG_TRY(dfg_tensor_share(&arrays->array[k].tensor, &value));
		DFG_TRY(dfg_arrays_add(out_arrays, name, &value));
	}
	return NULL;
}

static bool any_parts(const struct dfg_model *model, const struct dfg_variables *variables)
{
	struct dfg_row_part part;
	for (uint32_t i = 0; i < variables->count; i++)
		if (dfg_row_part_of(&model->file.graph.node[variables->ref[i].node], &part))
			return true;
	return false;
}

static struct dfg_err *load(struct dfg_model *model, const struct dfg_variables *variables,
	const struct dfg_arrays *arrays, const char *from, const struct dfg_rename *renames, size_t n_renames)
{
	const struct dfg_array **by_variable = dfg_arena_zeros(&model->arena, variables->count, sizeof *by_variable);
	if (!by_variable)
		return dfg_no_memory("the variables");
	DFG_TRY(dfg_err_note(match(model, variables, arrays, renames, n_renames, by_variable), "%s", from));
	DFG_TRY(dfg_err_note(check(variables, by_variable), "%s", from));
	DFG_TRY(dfg_loaded_add(model, from, arrays));
	for (uint32_t i = 0; i < variables->count; i++) {
		struct dfg_tensor value;
		if (!by_variable[i])
			continue;
		DFG_TRY(dfg_tensor_share(&by_variable[i]->tensor, &value));
		DFG_TRY(of_variable(model, variables, i, dfg_session_assign(model->session, &variables->ref[i], &value)));
	}
	return NULL;
}

struct dfg_err *dfg_variables_load(
	struct dfg_model *model, const struct dfg_arrays *arrays, const char *from, const char *const *map, size_t n_map)
{
	struct dfg_variables variables;
	struct dfg_rename *renames;
	DFG_TRY(dfg_renames_read("--map", map, n_map, &model->arena, &renames));
	DFG_TRY(dfg_variables_list(model, &variables));
	if (!any_parts(model, &variables))
		return load(model, &variables, arrays, from, renames, n_map);
	struct dfg_arrays named = {0}, all = {0};
	struct dfg_err *err = add_renamed(model, arrays, renames, n_map, &named);
	if (!err)
		err = add_renamed(model, &named, NULL, 0, &all);
	if (!err)
		err = dfg_err_note(divide(model, &variables, &named, &all), "%s", from);
	if (!err)
		err = load(model, &variables, &all, from, NULL, 0);
	dfg_arrays_release(&named);
	dfg_arrays_release(&all);
	return err;
}
