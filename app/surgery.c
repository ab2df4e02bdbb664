#include "app/surgery.h"

#include "app/array_source.h"
#include "lib/base/mem.h"
#include "lib/pass/lower/lower.h"
#include "lib/pass/rewrite/freeze.h"
#include "lib/pass/rewrite/surgery.h"

#include <string.h>

bool dfg_surgery_any(const struct dfg_surgery *surgery)
{
	return surgery->freeze || surgery->thaw.count || surgery->replace.count || surgery->remove.count ||
		   surgery->rename.count || surgery->set.count || surgery->device.count;
}

/* The values of variables from all sources; the arrays own them. */
struct values {
	struct dfg_map names;
	struct dfg_variable_value_given *given;
	size_t capacity;
	struct dfg_checkpoint *source; /* by --load */
};

static struct dfg_err *add_values(struct values *values, const struct dfg_arrays *arrays,
	const struct dfg_rename *rename, size_t n_rename, struct dfg_arena *arena)
{
	for (size_t i = 0; i < arrays->count; i++) {
		const char *name = dfg_rename_name(rename, n_rename, arrays->array[i].name, arena);
		uint32_t number;
		if (!name || !dfg_map_put(&values->names, name, strlen(name), &number, NULL) ||
			!dfg_reserve(&values->given, &values->capacity, (size_t)number + 1, sizeof *values->given))
			return dfg_no_memory("the variables");
		values->given[number] = (struct dfg_variable_value_given){name, &arrays->array[i].tensor};
	}
	return NULL;
}

static struct dfg_err *read_values(
	const struct dfg_surgery *surgery, struct dfg_arena *arena, const struct dfg_report *report, struct values *values)
{
	struct dfg_rename *rename;
	DFG_TRY(dfg_renames_read("--map", surgery->map.word, surgery->map.count, arena, &rename));
	values->source = dfg_arena_zeros(arena, surgery->load.count + 1, sizeof *values->source);
	if (!values->source)
		return dfg_no_memory("the variables");
	for (size_t i = 0; i < surgery->load.count; i++) {
		DFG_TRY(dfg_array_source_read(surgery->load.word[i], report, &values->source[i]));
		DFG_TRY(add_values(values, &values->source[i].arrays, rename, surgery->map.count, arena));
	}
	return NULL;
}

static struct dfg_err *freeze(const struct dfg_surgery *surgery, struct dfg_graph *graph, struct dfg_keep *keep,
	struct dfg_arena *arena, const struct dfg_report *report, struct dfg_text *text)
{
	struct values values = {.source = NULL};
	struct dfg_err *err = dfg_lower(graph, keep, arena, text);
	if (!err)
		err = read_values(surgery, arena, report, &values);
	if (!err)
		err = dfg_err_note(dfg_freeze(graph, keep, values.given, values.names.count, arena, text), "--freeze");
	for (size_t i = 0; values.source && i < surgery->load.count; i++)
		dfg_checkpoint_release(&values.source[i]);
	dfg_map_release(&values.names);
	dfg_free(values.given);
	return err;
}

/* Changes by tensors and nodes, whose options are pairs of words. */
static struct dfg_err *change_nodes(const struct dfg_surgery *surgery, struct dfg_graph *graph, struct dfg_keep *keep,
	struct dfg_arena *arena, struct dfg_text *text)
{
	struct dfg_rename *pairs;
	if (surgery->replace.count) {
		DFG_TRY(dfg_renames_read("--replace", surgery->replace.word, surgery->replace.count, arena, &pairs));
		DFG_TRY(dfg_replace_tensors(graph, pairs, surgery->replace.count, arena, text));
	}
	if (surgery->remove.count)
		DFG_TRY(dfg_remove_nodes(graph, keep, surgery->remove.word, surgery->remove.count, arena, text));
	if (surgery->rename.count) {
		DFG_TRY(dfg_renames_read("--rename", surgery->rename.word, surgery->rename.count, arena, &pairs));
		DFG_TRY(dfg_rename_nodes(graph, pairs, surgery->rename.count, arena, text));
	}
	if (surgery->set.count)
		DFG_TRY(dfg_set_attributes(graph, surgery->set.word, surgery->set.count, text));
	if (surgery->device.count) {
		DFG_TRY(dfg_renames_read("--set-device", surgery->device.word, surgery->device.count, arena, &pairs));
		DFG_TRY(dfg_set_devices(graph, pairs, surgery->device.count, text));
	}
	return NULL;
}

struct dfg_err *dfg_surgery_apply(const struct dfg_surgery *surgery, struct dfg_graph *graph, struct dfg_keep *keep,
	struct dfg_arena *arena, const struct dfg_report *report, struct dfg_text *text)
{
	if (surgery->freeze)
		DFG_TRY(freeze(surgery, graph, keep, arena, report, text));
	if (surgery->thaw.count)
		DFG_TRY(dfg_thaw(graph, keep, surgery->thaw.word, arena, text));
	return change_nodes(surgery, graph, keep, arena, text);
}
