#pragma once

#include "lib/base/mem.h"
#include "lib/exec/state/buffer_pool.h"

/*
 * Where memory is short, values that were saved for later wait in a scratch file. A value there is a tensor without data,
 * whose buffer stands for its place in the file: giving the reference back gives the place back, so whatever keeps such a
 * tensor need not know. The file has no name, and is gone with the process.
 */
struct dfg_spill;

/* What it has done so far. */
struct dfg_spilled {
	uint64_t out, in, out_bytes, in_bytes; /* tensors, and their bytes */
	uint64_t stalled_ns;                   /* while they were written and read, all threads together */
};

/* limit and buffers are borrowed. DFG_NO_OUTPUT where the folder takes no file. */
DFG_MUST_CHECK struct dfg_err *dfg_spill_new(
	const char *folder, const struct dfg_mem_limit *limit, struct buffer_pool *buffers, struct dfg_spill **out_swap);
void dfg_spill_free(struct dfg_spill *swap); /* NULL is fine; no place may be in use */

/* Whether memory is short now: more than SWAP_PERCENT of the limit are in use, what lies idle aside. */
enum { SWAP_PERCENT = 70 };
bool dfg_spill_wants(const struct dfg_spill *swap);

/* Whether to write it would free memory: plain elements, more than SWAP_LEAST bytes, and nobody else has its buffer. */
enum { SWAP_LEAST = 2048 };
bool dfg_spill_fits(const struct dfg_tensor *tensor);

/*
 * Values that were saved are looked at in turn, oldest first. One that others have too is passed by once it is that far
 * behind the newest: before, they may only not have let go of it yet.
 */
enum { SWAP_PATIENCE = 64 };

/* Any thread. The tensor stays as it is; DFG_IO where it cannot be written. */
DFG_MUST_CHECK struct dfg_err *dfg_spill_write(
	struct dfg_spill *swap, const struct dfg_tensor *tensor, struct dfg_tensor *out_tensor);

/* A tensor that is in the file comes back, into a buffer of its own; any other stays. Any thread. */
bool dfg_spill_has(const struct dfg_tensor *tensor);
DFG_MUST_CHECK struct dfg_err *dfg_spill_read(struct dfg_spill *swap, struct dfg_tensor *tensor);

void dfg_spill_tell(struct dfg_spill *swap, struct dfg_spilled *out_swapped);
