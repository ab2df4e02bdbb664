#include "app/loaded.h"

#include "lib/base/plural.h"
#include "lib/base/text.h"

#include <string.h>

enum { NAMED = 5 }; /* number of variables that a message names; it counts the others */

struct dfg_err *dfg_loaded_add(struct dfg_model *model, const char *from, const struct dfg_arrays *arrays)
{
	struct dfg_loaded *loaded = &model->loaded;
	size_t all = loaded->count + arrays->count;
	const char **name = dfg_arena_zeros(&model->arena, all, sizeof *name);
	loaded->from = loaded->from ? dfg_arena_print(&model->arena, "%s, %s", loaded->from, from)
								: dfg_arena_copy(&model->arena, from, strlen(from));
	if (!name || !loaded->from)
		return dfg_no_memory("the names of the arrays");
	if (loaded->count)
		memcpy(name, loaded->name, loaded->count * sizeof *name);
	loaded->name = name;
	for (size_t i = 0; i < arrays->count; i++) {
		const char *copy = dfg_arena_copy(&model->arena, arrays->array[i].name, strlen(arrays->array[i].name));
		if (!copy)
			return dfg_no_memory("the names of the arrays");
		name[loaded->count++] = copy;
	}
	return NULL;
}

/* TensorFlow does not mark slots, but names them after their variable: "w/Adam" for "w". */
static bool is_named_slot(const struct dfg_graph *graph, const char *name)
{
	for (const char *s = strchr(name, '/'); s; s = strchr(s + 1, '/')) {
		uint32_t owner = dfg_map_find(&graph->names, name, (size_t)(s - name));
		if (owner != DFG_NONE && graph->node[owner].op && graph->node[owner].op->role == DFG_VARIABLE)
			return true;
	}
	return false;
}

/* Whether it is state of an optimizer beside the trained variables, including its step count. */
static bool is_slot(const struct dfg_graph *graph, const struct dfg_node *node, bool marked)
{
	if (dfg_node_mark(node, "_dfg_slot", NULL) || !strcmp(node->name, "train/step"))
		return true;
	return !marked && is_named_slot(graph, node->name);
}

/* Whether the graph marks its trained variables, and so its slots. */
static bool has_marks(const struct dfg_graph *graph)
{
	for (uint32_t n = 0; n < graph->count; n++)
		if (dfg_node_mark(&graph->node[n], "_dfg_trainable", NULL))
			return true;
	return false;
}

/* A list of names for a message, and the number of variables of one kind. */
struct list {
	struct dfg_text text;
	uint32_t count;
};

static void add_name(struct list *list, const char *name, const char *nearest)
{
	if (list->count++ >= NAMED)
		return;
	dfg_text_add(&list->text, "%s'%s'", list->count > 1 ? ", " : "", name);
	if (nearest && strcmp(nearest, name))
		dfg_text_add(&list->text, " (nearest is '%s')", nearest);
	else if (nearest)
		dfg_text_add(&list->text, " (--map renames its array)");
}

static void end_list(struct list *list)
{
	if (list->count > NAMED)
		dfg_text_add(&list->text, " and %u more", list->count - NAMED);
}

static const char *nearest_array(const struct dfg_loaded *loaded, const char *name)
{
	struct dfg_nearest nearest = {.word = name};
	for (size_t i = 0; i < loaded->count; i++)
		dfg_nearest_offer(&nearest, loaded->name[i]);
	return nearest.best;
}

/* Variables that no source has: those that the step needs, slots, and those that the step does not read. */
struct lack {
	struct list needed, slots, unread;
};

static void sort_out(
	const struct dfg_model *model, const struct dfg_variables *variables, const bool *missing, struct lack *lack)
{
	const struct dfg_loaded *loaded = &model->loaded;
	const struct dfg_graph *graph = &model->file.graph;
	bool marked = has_marks(graph);
	for (uint32_t v = 0; v < variables->count; v++) {
		const struct dfg_node *node = &graph->node[variables->ref[v].node];
		if (variables->fact[v].set)
			continue;
		struct list *list = !missing[v] ? &lack->unread : is_slot(graph, node, marked) ? &lack->slots : &lack->needed;
		if (list == &lack->needed && !loaded->partial)
			add_name(list, node->name, list->count < NAMED ? nearest_array(loaded, node->name) : NULL);
		else if (!loaded->told[variables->ref[v].node])
			add_name(list, node->name, NULL);
		loaded->told[variables->ref[v].node] = true;
	}
	end_list(&lack->needed);
	end_list(&lack->slots);
	end_list(&lack->unread);
}

static void tell(const struct dfg_model *model, const struct list *list, const char *what)
{
	const struct dfg_loaded *loaded = &model->loaded;
	if (list->count)
		dfg_report_note(model->report, "%s: no array for %u variable%s %s: %s", loaded->from, list->count,
			dfg_plural(list->count), what, list->text.s);
}

static struct dfg_err *judge(const struct dfg_model *model, const struct lack *lack)
{
	const struct dfg_loaded *loaded = &model->loaded;
	DFG_TRY(dfg_text_check(&lack->needed.text));
	DFG_TRY(dfg_text_check(&lack->slots.text));
	DFG_TRY(dfg_text_check(&lack->unread.text));
	if (lack->needed.count && !loaded->partial)
		return DFG_ERR(DFG_DATA,
			"%s: no array for %u variable%s that the step needs: %s; rename arrays by --map OLD=NEW, or initialise "
			"them by --partial",
			loaded->from, lack->needed.count, dfg_plural(lack->needed.count), lack->needed.text.s);
	tell(model, &lack->needed, "that the step needs, initialised (--partial)");
	tell(model, &lack->slots, "of the optimizer, initialised as in a new training");
	tell(model, &lack->unread, "that the step does not read");
	return NULL;
}

struct dfg_err *dfg_loaded_check(struct dfg_model *model, const struct dfg_variables *variables, const bool *missing)
{
	struct lack lack = {0};
	if (!model->loaded.from)
		return NULL;
	if (!model->loaded.told)
		model->loaded.told = dfg_arena_zeros(&model->arena, model->file.graph.count, sizeof *model->loaded.told);
	if (!model->loaded.told)
		return dfg_no_memory("the names of the variables");
	sort_out(model, variables, missing, &lack);
	struct dfg_err *err = judge(model, &lack);
	dfg_text_release(&lack.needed.text);
	dfg_text_release(&lack.slots.text);
	dfg_text_release(&lack.unread.text);
	return err;
}
