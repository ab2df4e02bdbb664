#pragma once

#include "lib/base/arena.h"

#include <stdbool.h>

/*
 * Hands the owner of memory outside of the arena, such as a mapped file, to the arena: release(owner) is called when the
 * arena is released or reset, and must not read its memory. False, with nothing handed over, when memory is short.
 */
bool dfg_arena_defer(struct dfg_arena *arena, void (*release)(void *owner), void *owner);
