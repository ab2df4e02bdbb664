#pragma once

#include "lib/graph/tensor.h"

/*
 * The order of the iterations of a parallel loop: which of them run together, in one slice. It is a function of the
 * iterations' coordinates, of the rows that they access, and of the number of blocks; not of workers or threads.
 *
 * The space coordinate is cut into blocks, and for two dimensions the time coordinate too; a unit is the iterations of one
 * block of each. Units of one clock have no row in common that one of them writes. Within a unit, the level of an iteration is
 * 1 + the highest level of the earlier iterations that access a row which it writes, or that write a row which it accesses.
 * A slice is the iterations of one level of all units of one clock, by their numbers; slices are in the order of clocks, then
 * of levels. Executing them one after another gives every row the values of the serial order.
 */
enum dfg_unit_clock {
	DFG_CLOCK_ONE,       /* one clock: blocks of the space coordinate have no row in common */
	DFG_CLOCK_ROTATION,  /* unit (space block s, time block t) runs at clock (t - s) mod blocks */
	DFG_CLOCK_STAIRCASE, /* at clock s + t */
};

/* The rows of one array that an access touches: by iteration, n_key numbers identify the row. */
struct dfg_loop_access {
	uint32_t array;
	bool writes;
	const int64_t *const *key; /* n_key vectors of n numbers; borrowed */
	uint32_t n_key;            /* 0: every iteration touches the same rows */
};

struct dfg_loop_iterations {
	int64_t n;
	const int64_t *space,
		*time; /* coordinates by iteration, borrowed; space NULL: blocks are equal runs of iterations */
	const struct dfg_loop_access *access;
	uint32_t n_access;
};

struct dfg_loop_cut {
	uint32_t blocks;
	enum dfg_unit_clock clock;
	bool by_range;     /* blocks are equal ranges of the coordinate, not equal numbers of iterations */
	bool needs_sorted; /* DFG_DATA if iterations are not sorted by (space, time), as a staircase in order requires */
	bool verify;       /* DFG_BUG if two units of a clock have a row in common that one of them writes */
	bool singly;       /* slices of one iteration, in the same order */
};

/* Arrays are in one allocation each, freed by dfg_loop_schedule_release(). */
struct dfg_loop_schedule {
	int64_t *order; /* the iterations, slice after slice */
	int64_t *block; /* the space block of each, in the same order */
	int64_t *start; /* slice k is [start[k], start[k + 1]) of the order; slices + 1 numbers */
	int64_t slices;
	double space_load, time_load; /* iterations of the largest block over their mean; time_load is 0 without time */
};

/* Zeroes *out_schedule on failure. n is at most INT32_MAX - 1; the number of blocks is positive. */
DFG_MUST_CHECK struct dfg_err *dfg_loop_schedule_find(const struct dfg_loop_iterations *iterations,
	const struct dfg_loop_cut *cut, struct dfg_loop_schedule *out_schedule);
void dfg_loop_schedule_release(struct dfg_loop_schedule *schedule);

/*
 * Numbers the n values by block, in out_block. A cut between blocks lies after the value at which the running count of
 * iterations reaches k n / blocks; by_range, the blocks are equal ranges from the least to the greatest value.
 */
DFG_MUST_CHECK struct dfg_err *dfg_loop_blocks_find(
	const int64_t *value, int64_t n, uint32_t blocks, bool by_range, int32_t *out_block);

/* The figures of a schedule that a session keeps: a resource of this kind begins with this struct. */
extern const char dfg_loop_schedule_kind[];
struct dfg_loop_report {
	struct dfg_resource resource;
	const char *loop; /* its name, owned */
	int64_t iterations, slices;
	uint32_t blocks;
	double space_load, time_load;
	uint64_t found; /* how often the schedule was found anew, because its operands had changed */
};
