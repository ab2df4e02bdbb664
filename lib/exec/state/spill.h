#pragma once

#include "lib/base/mem.h"
#include "lib/exec/state/buffer_pool.h"

/*
 * The spill file: when memory is short, values that were saved for later are moved to a scratch file. A spilled value
 * is a tensor without data, whose buffer represents its location in the file: releasing the reference frees the
 * location, so an owner of such a tensor requires no special case. The file is unlinked, so it disappears with the
 * process.
 */
struct dfg_spill;

/* Statistics of the spill file. */
struct dfg_spilled {
	uint64_t out, in, out_bytes, in_bytes; /* number of tensors written and read; their bytes */
	uint64_t stalled_ns;                   /* time spent writing and reading, summed over all threads */
};

/* limit and buffers are borrowed. DFG_NO_OUTPUT if no file can be created in the folder. */
DFG_MUST_CHECK struct dfg_err *dfg_spill_new(
	const char *folder, const struct dfg_mem_limit *limit, struct buffer_pool *buffers, struct dfg_spill **out_spill);
void dfg_spill_free(struct dfg_spill *spill); /* NULL is fine; no tensor may still be in the file */

/* Whether memory is short: more than SPILL_PERCENT of the limit are in use, not counting idle buffers. */
enum { SPILL_PERCENT = 70 };
bool dfg_spill_wants(const struct dfg_spill *spill);

/*
 * Whether spilling it would free memory: plain elements, more than SWAP_LEAST bytes, and the only reference to its
 * buffer.
 */
enum { SWAP_LEAST = 2048 };
bool dfg_spill_fits(const struct dfg_tensor *tensor);

/*
 * Saved values are considered for spilling in order, oldest first. One that has other references is skipped for good
 * once it is this many entries older than the newest; before that, the other references may be about to be released.
 */
enum { SWAP_PATIENCE = 64 };

/* After entry e of `count` was considered: moves *looked, the first that is considered next time. `value` is what it has now. */
void dfg_spill_looked(size_t e, size_t count, const struct dfg_tensor *value, size_t *looked);

/* Any thread. *out_tensor is the spilled value; `tensor` is unchanged. DFG_IO if it cannot be written. */
DFG_MUST_CHECK struct dfg_err *dfg_spill_write(
	struct dfg_spill *spill, const struct dfg_tensor *tensor, struct dfg_tensor *out_tensor);

/* dfg_spill_read brings a spilled tensor back, into a buffer of its own; any other is unchanged. Any thread. */
bool dfg_spill_has(const struct dfg_tensor *tensor);
DFG_MUST_CHECK struct dfg_err *dfg_spill_read(struct dfg_spill *spill, struct dfg_tensor *tensor);

void dfg_spill_tell(struct dfg_spill *spill, struct dfg_spilled *out_swapped);
