#include "lib/lang/name_scope_private.h"

#include "lib/lang/apply_private.h"
#include "lib/lang/eval_private.h"
#include "lib/lang/type_private.h"

#include <string.h>

enum { FEW = 8 };

struct dfg_err *dfg_frame_new(struct dfg_eval *eval, struct dfg_name_scope *outer, struct dfg_name_scope **out_frame)
{
	*out_frame = dfg_arena_zeros(eval->arena, 1, sizeof **out_frame);
	if (!*out_frame)
		return DFG_ERR(DFG_MEMORY, "out of memory");
	(*out_frame)->outer = outer;
	return NULL;
}

static struct dfg_err *grow(struct dfg_arena *arena, struct dfg_name_scope *frame)
{
	uint32_t capacity = frame->capacity ? frame->capacity * 2 : 8;
	struct dfg_name_entry *entry = dfg_arena_zeros(arena, capacity, sizeof *entry);
	if (!entry)
		return DFG_ERR(DFG_MEMORY, "out of memory");
	if (frame->n)
		memcpy(entry, frame->entry, frame->n * sizeof *entry);
	frame->entry = entry;
	frame->capacity = capacity;
	return NULL;
}

static uint32_t hash_of(const char *name)
{
	return dfg_map_hash(name, strlen(name));
}

/* Adds new entries to the index, once there are more than a few. */
static struct dfg_err *index_names(struct dfg_arena *arena, struct dfg_name_scope *frame)
{
	for (uint32_t i = frame->index.count; frame->n > FEW && i < frame->n; i++)
		DFG_TRY(dfg_index_add(arena, &frame->index, hash_of(frame->entry[i].name), i));
	return NULL;
}

struct dfg_err *dfg_frame_put(
	struct dfg_arena *arena, struct dfg_name_scope *frame, const char *name, struct dfg_datum datum)
{
	struct dfg_datum *there = dfg_frame_own(frame, name);
	if (there) {
		*there = datum;
		return NULL;
	}
	if (frame->n == frame->capacity)
		DFG_TRY(grow(arena, frame));
	frame->entry[frame->n++] = (struct dfg_name_entry){name, datum};
	return index_names(arena, frame);
}

struct wanted {
	const struct dfg_name_scope *frame;
	const char *name;
};

static bool is_wanted(const void *arg, uint32_t item)
{
	const struct wanted *wanted = arg;
	return !strcmp(wanted->frame->entry[item].name, wanted->name);
}

struct dfg_datum *dfg_frame_own(struct dfg_name_scope *frame, const char *name)
{
	if (frame->index.count) {
		uint32_t at = dfg_index_find(&frame->index, hash_of(name), is_wanted, &(struct wanted){frame, name});
		return at == DFG_NONE ? NULL : &frame->entry[at].datum;
	}
	for (uint32_t i = frame->n; i--;)
		if (!strcmp(frame->entry[i].name, name))
			return &frame->entry[i].datum;
	return NULL;
}

struct dfg_datum *dfg_frame_find(struct dfg_name_scope *frame, const char *name)
{
	for (; frame; frame = frame->outer) {
		struct dfg_datum *datum = dfg_frame_own(frame, name);
		if (datum)
			return datum;
	}
	return NULL;
}

struct dfg_err *dfg_frame_unknown(struct dfg_eval *eval, struct dfg_name_scope *frame, const char *name)
{
	(void)eval;
	struct dfg_nearest nearest = {.word = name};
	for (struct dfg_name_scope *f = frame; f; f = f->outer)
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
