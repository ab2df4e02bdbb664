#pragma once

#include "lib/base/mem.h"
#include "lib/exec/state/buffer_pool.h"

/*
 * Where memory is short, values that were saved for later wait in a scratch file. A value there is a tensor without data,
 * whose buffer stands for its place in the file: giving the reference back gives the place back, so whatever keeps such a
 * tensor need not know. The file has no name, and is gone with the process.
 */
struct dfg_swap;

/* What it has done so far. */
struct dfg_swapped {
	uint64_t out, in, out_bytes, in_bytes; /* tensors, and their bytes */
	uint64_t stalled_ns;                   /* while they were written and read, all threads together */
};

/* limit and buffers are borrowed. DFG_NO_OUTPUT where the folder takes no file. */
DFG_MUST_CHECK struct dfg_err *dfg_swap_new(
	const char *folder, const struct dfg_mem_limit *limit, struct buffers *buffers, struct dfg_swap **out_swap);
void dfg_swap_free(struct dfg_swap *swap); /* NULL is fine; no place may be in use */

/* Whether memory is short now: more than SWAP_PERCENT of the limit are in use, what lies idle aside. */
enum { SWAP_PERCENT = 70 };
bool dfg_swap_wants(const struct dfg_swap *swap);

/* Whether to write it would free memory: plain elements, more than SWAP_LEAST bytes, and nobody else has its buffer. */
enum { SWAP_LEAST = 2048 };
bool dfg_swap_fits(const struct dfg_tensor *tensor);

/*
 * Values that were saved are looked at in turn, oldest first. One that others have too is passed by once it is that far
 * behind the newest: before, they may only not have let go of it yet.
 */
enum { SWAP_PATIENCE = 64 };

/* Any thread. The tensor stays as it is; DFG_IO where it cannot be written. */
DFG_MUST_CHECK struct dfg_err *dfg_swap_write(
	struct dfg_swap *swap, const struct dfg_tensor *tensor, struct dfg_tensor *out_tensor);

/* A tensor that is in the file comes back, into a buffer of its own; any other stays. Any thread. */
bool dfg_swap_has(const struct dfg_tensor *tensor);
DFG_MUST_CHECK struct dfg_err *dfg_swap_read(struct dfg_swap *swap, struct dfg_tensor *tensor);

void dfg_swap_tell(struct dfg_swap *swap, struct dfg_swapped *out_swapped);
