#include "lib/lang/name_scope_private.h"

#include "lib/lang/apply_private.h"
#include "lib/lang/eval_private.h"
#include "lib/lang/type_private.h"

#include <string.h>

enum { FEW = 8 };

struct dfg_err *dfg_name_scope_new(
	struct dfg_eval *eval, struct dfg_name_scope *outer, struct dfg_name_scope **out_bindings)
{
	*out_bindings = dfg_arena_zeros(eval->arena, 1, sizeof **out_bindings);
	if (!*out_bindings)
		return dfg_no_memory("the names of the program");
	(*out_bindings)->outer = outer;
	return NULL;
}

static struct dfg_err *grow(struct dfg_arena *arena, struct dfg_name_scope *bindings)
{
	uint32_t capacity = bindings->capacity ? bindings->capacity * 2 : 8;
	struct dfg_name_entry *entry = dfg_arena_zeros(arena, capacity, sizeof *entry);
	if (!entry)
		return dfg_no_memory("the names of the program");
	if (bindings->n)
		memcpy(entry, bindings->entry, bindings->n * sizeof *entry);
	bindings->entry = entry;
	bindings->capacity = capacity;
	return NULL;
}

static uint32_t hash_of(const char *name)
{
	return dfg_map_hash(name, strlen(name));
}

/* Adds new entries to the index, once there are more than a few. */
static struct dfg_err *index_names(struct dfg_arena *arena, struct dfg_name_scope *bindings)
{
	for (uint32_t i = bindings->index.count; bindings->n > FEW && i < bindings->n; i++)
		DFG_TRY(dfg_index_add(arena, &bindings->index, hash_of(bindings->entry[i].name), i));
	return NULL;
}

struct dfg_err *dfg_name_scope_put(
	struct dfg_arena *arena, struct dfg_name_scope *bindings, const char *name, struct dfg_datum datum)
{
	struct dfg_datum *there = dfg_name_scope_own(bindings, name);
	if (there) {
		*there = datum;
		return NULL;
	}
	if (bindings->n == bindings->capacity)
		DFG_TRY(grow(arena, bindings));
	bindings->entry[bindings->n++] = (struct dfg_name_entry){name, datum};
	return index_names(arena, bindings);
}

struct wanted {
	const struct dfg_name_scope *bindings;
	const char *name;
};

static bool is_wanted(const void *arg, uint32_t item)
{
	const struct wanted *wanted = arg;
	return !strcmp(wanted->bindings->entry[item].name, wanted->name);
}

struct dfg_datum *dfg_name_scope_own(struct dfg_name_scope *bindings, const char *name)
{
	if (bindings->index.count) {
		uint32_t at = dfg_index_find(&bindings->index, hash_of(name), is_wanted, &(struct wanted){bindings, name});
		return at == DFG_NONE ? NULL : &bindings->entry[at].datum;
	}
	for (uint32_t i = bindings->n; i--;)
		if (!strcmp(bindings->entry[i].name, name))
			return &bindings->entry[i].datum;
	return NULL;
}

struct dfg_datum *dfg_name_scope_find(struct dfg_name_scope *bindings, const char *name)
{
	for (; bindings; bindings = bindings->outer) {
		struct dfg_datum *datum = dfg_name_scope_own(bindings, name);
		if (datum)
			return datum;
	}
	return NULL;
}

struct dfg_err *dfg_name_scope_unknown(struct dfg_eval *eval, struct dfg_name_scope *bindings, const char *name)
{
	(void)eval;
	struct dfg_nearest nearest = {.word = name};
	for (struct dfg_name_scope *f = bindings; f; f = f->outer)
		for (uint32_t i = f->n; i--;)
			dfg_nearest_offer(&nearest, f->entry[i].name);
	for (const struct dfg_builtin *builtin = dfg_builtins; builtin->name; builtin++)
		dfg_nearest_offer(&nearest, builtin->name);
	if (dfg_type_called(name))
		return DFG_ERR(DFG_DATA, "there is no '%s' here: the type is called %s", name, dfg_type_called(name));
	if (nearest.best)
		return DFG_ERR(DFG_DATA, "there is no '%s' here; did you mean '%s'?", name, nearest.best);
	return DFG_ERR(DFG_DATA, "there is no '%s' here", name);
}
