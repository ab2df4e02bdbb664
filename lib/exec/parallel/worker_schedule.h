#pragma once

#include "lib/exec/parallel/loop_schedule.h"

/*
 * The part of a loop's schedule that one of several workers runs, and the rows that move between them. Worker w has the space
 * blocks s with floor(s workers / blocks) = w. It runs the units of each clock by ascending space block: a unit's level is a
 * slice, so that a row can leave as soon as its unit has ended.
 *
 * Before the loop all workers have the newest values of all rows. Where a unit accesses a row that a unit of another worker has
 * written since, the row moves: its writer sends it after that unit, to each worker once. Both ends find the same moves from
 * the iterations alone, so messages contain values only. The results are the values of the schedule of one process, since
 * every iteration has the same operands.
 */

/* A message: sent after the slices before it, or awaited before the slice. */
struct dfg_row_move {
	uint32_t peer;
	bool sends;
	int64_t tag;        /* of the sender's unit: ascending, and unique for sender and receiver */
	int64_t first, end; /* its rows */
};

/* The moves of one array. Keys of a row: numbers, as many as its accesses have. */
struct dfg_array_moves {
	uint32_t array, depth; /* the array's number among the accesses; numbers in a key */
	int64_t *at; /* by slice, and 2 more: moves [at[k], at[k + 1]) come before slice k, or after the last one */
	struct dfg_row_move *move;
	int64_t *key;   /* of the rows of moves */
	int64_t *owner; /* by worker, and 1 more: rows [owner[w], owner[w + 1]) were last written by worker w */
	int64_t *owned; /* their keys */
	int64_t moves, rows;
};

struct dfg_worker_schedule {
	struct dfg_loop_schedule schedule; /* of the worker's own iterations */
	struct dfg_array_moves *array;     /* of those that are written, ascending by number */
	uint32_t arrays;
};

/* Zeroes *out_schedule on failure. There are at least as many blocks as workers. */
DFG_MUST_CHECK struct dfg_err *dfg_worker_schedule_find(const struct dfg_loop_iterations *iterations,
	const struct dfg_loop_cut *cut, uint32_t worker, uint32_t workers, struct dfg_worker_schedule *out_schedule);
void dfg_worker_schedule_release(struct dfg_worker_schedule *schedule);

/* The first space block of a worker; that of `workers` is the number of blocks. */
static inline int64_t dfg_worker_block(uint32_t worker, uint32_t workers, uint32_t blocks)
{
	return ((int64_t)worker * blocks + workers - 1) / workers;
}
