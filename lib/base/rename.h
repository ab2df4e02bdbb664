#pragma once

#include "lib/base/arena.h"
#include "lib/base/err.h"

/* "OLD=NEW", by which names that match the pattern OLD become NEW; a '*' in NEW is what the only '*' of OLD matched. */
struct dfg_rename {
	const char *old, *new;
};

/* Reads the words, NULL-terminated; all memory is the arena's. DFG_USAGE, naming the option, for malformed ones. */
DFG_MUST_CHECK struct dfg_err *dfg_renames_read(
	const char *option, const char *const *word, size_t count, struct dfg_arena *arena, struct dfg_rename **out_rename);

/* The name by the last entry that matches, or the name itself; NULL: out of memory. */
const char *dfg_rename_name(const struct dfg_rename *rename, size_t count, const char *name, struct dfg_arena *arena);
