#include "lib/lang/eval.h"

#include <string.h>

struct dfg_err *dfg_frame_new(struct dfg_eval *eval, struct dfg_frame *outer, struct dfg_frame **out_frame)
{
	*out_frame = dfg_arena_zeros(eval->arena, 1, sizeof **out_frame);
	if (!*out_frame)
		return DFG_ERR(DFG_MEMORY, "out of memory");
	(*out_frame)->outer = outer;
	return NULL;
}

static struct dfg_err *grow(struct dfg_arena *arena, struct dfg_frame *frame)
{
	uint32_t room = frame->room ? frame->room * 2 : 8;
	struct dfg_entry *entry = dfg_arena_zeros(arena, room, sizeof *entry);
	if (!entry)
		return DFG_ERR(DFG_MEMORY, "out of memory");
	if (frame->n)
		memcpy(entry, frame->entry, frame->n * sizeof *entry);
	frame->entry = entry;
	frame->room = room;
	return NULL;
}

struct dfg_err *dfg_frame_put(
	struct dfg_arena *arena, struct dfg_frame *frame, const char *name, struct dfg_datum datum)
{
	struct dfg_datum *there = dfg_frame_own(frame, name);
	if (there) {
		*there = datum;
		return NULL;
	}
	if (frame->n == frame->room)
		DFG_TRY(grow(arena, frame));
	frame->entry[frame->n++] = (struct dfg_entry){name, datum};
	return NULL;
}

struct dfg_datum *dfg_frame_own(struct dfg_frame *frame, const char *name)
{
	if (frame->index.count) {
		uint32_t at = dfg_map_find(&frame->index, name, strlen(name));
		return at == DFG_NONE ? NULL : &frame->entry[at].datum;
	}
	for (uint32_t i = frame->n; i--;)
		if (!strcmp(frame->entry[i].name, name))
			return &frame->entry[i].datum;
	return NULL;
}

struct dfg_datum *dfg_frame_find(struct dfg_frame *frame, const char *name)
{
	for (; frame; frame = frame->outer) {
		struct dfg_datum *datum = dfg_frame_own(frame, name);
		if (datum)
			return datum;
	}
	return NULL;
}

struct dfg_err *dfg_frame_unknown(struct dfg_eval *eval, struct dfg_frame *frame, const char *name)
{
	(void)eval;
	struct dfg_nearest nearest = {.word = name};
	for (struct dfg_frame *f = frame; f; f = f->outer)
		for (uint32_t i = f->n; i--;)
			dfg_nearest_offer(&nearest, f->entry[i].name);
	for (const struct dfg_builtin *builtin = dfg_builtins; builtin->name; builtin++)
		dfg_nearest_offer(&nearest, builtin->name);
	if (nearest.best)
		return DFG_ERR(DFG_DATA, "there is no '%s' here; did you mean '%s'?", name, nearest.best);
	return DFG_ERR(DFG_DATA, "there is no '%s' here", name);
}

struct dfg_err *dfg_list_grow(struct dfg_datum_list *list, uint32_t depth, uint64_t leaves)
{
	if (depth > DFG_NEST_MAX)
		return DFG_ERR(DFG_DATA, "lists nest deeper than %d", DFG_NEST_MAX);
	if (leaves > DFG_LEAVES_MAX)
		return DFG_ERR(DFG_DATA, "a list has %d items at most, those of lists within it counted", DFG_LEAVES_MAX);
	list->depth = depth;
	list->leaves = (uint32_t)leaves;
	return NULL;
}

struct dfg_err *dfg_list_new(struct dfg_eval *eval, enum dfg_datum_kind kind, uint32_t n, struct dfg_datum *out_datum)
{
	*out_datum = (struct dfg_datum){.kind = kind, .list = {.n = n}};
	DFG_TRY(dfg_list_grow(&out_datum->list, 1, n));
	out_datum->list.item = dfg_arena_zeros(eval->arena, n, sizeof *out_datum->list.item);
	return out_datum->list.item ? NULL : DFG_ERR(DFG_MEMORY, "out of memory");
}
