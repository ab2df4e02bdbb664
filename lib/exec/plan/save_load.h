#pragma once

#include "lib/exec/plan/frame_info.h"

/*
 * The rules of Save and Load, which both executors follow: a key is saved once, a Load reads it once, and the last of its
 * Loads takes the value over. Each executor has a storage of its own: the dataflow executor a keyed store where Loads can
 * wait (dataflow/save_load.c), the linear one the values side by side in the order of saving (linear/saved_values.h).
 *
 * `key` has `keys` numbers, one for each loop between the Save or Load and its region, outermost first.
 */

/* The error of a Save whose key has been saved, and of a Load whose key no Save will define any more. */
DFG_MUST_CHECK struct dfg_err *dfg_saved_twice(const int64_t *key, int keys);
DFG_MUST_CHECK struct dfg_err *dfg_never_saved(
	const struct dfg_plan *plan, const struct plan_node *load, const int64_t *key, int keys);

/*
 * Counts a Load as a reader of a key. *readers is the key's: one bit for each Load that has read it, initially 0. An error if
 * this one has. *out_last: all have read it now, so that this one takes the value; false where the Loads are not counted and
 * values stay until the region ends.
 */
DFG_MUST_CHECK struct dfg_err *dfg_count_reader(const struct dfg_plan *plan, const struct plan_node *load,
	const int64_t *key, int keys, uint64_t *readers, bool *out_last);
