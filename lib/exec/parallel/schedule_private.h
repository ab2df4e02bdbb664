#pragma once

#include "lib/exec/parallel/loop_schedule.h"
#include "lib/exec/parallel/row_table.h"

/* A schedule at work: by iteration, and tables by array. loop_schedule.c makes slices of it, worker_schedule.c those of a worker. */
struct dfg_scheduling {
	const struct dfg_loop_iterations *loop;
	const struct dfg_loop_cut *cut;
	int32_t *space, *time; /* blocks */
	int32_t *clock, *level;
	int32_t *sorted; /* iterations by clock, then by number */
	int64_t *first;  /* by clock: its first place in `sorted`; clocks + 1 numbers */
	int32_t clocks;
	struct dfg_row_table *table;
	uint32_t n_array;
};

/* Finds blocks, clocks and levels. The caller ends it, also after an error. */
DFG_MUST_CHECK struct dfg_err *dfg_scheduling_find(const struct dfg_loop_iterations *loop,
	const struct dfg_loop_cut *cut, struct dfg_scheduling *out_scheduling, double *out_space_load,
	double *out_time_load);
void dfg_scheduling_end(struct dfg_scheduling *scheduling);
