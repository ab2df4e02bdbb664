#pragma once

#include "lib/exec/parallel/loop_schedule.h"
#include "lib/exec/parallel/row_exchange.h"
#include "lib/graph/kernel.h"

/* Shared by the ops that find the schedule of a parallel loop, of one process or of a worker. */
enum { DFG_SCHEDULE_ORDER, DFG_SCHEDULE_START, DFG_SCHEDULE_BLOCK, DFG_SCHEDULE_MOVES }; /* outputs */

#define DFG_SCHEDULE_ATTRIBUTES                                                                             \
	"loop: string", "blocks: int >= 1", "clock: string = 'one' in one|rotation|staircase",                  \
		"balance: string = 'histogram' in histogram|range", "sorted: bool = false", "verify: bool = false", \
		"singly: bool = false", "arrays: list(int) = []", "writes: list(int) = []", "depths: list(int) = []"

DFG_MUST_CHECK struct dfg_err *dfg_schedule_shape(struct dfg_infer *node);

/* The iterations and the cut, as the operands and attributes say; the accesses are scratch memory. */
DFG_MUST_CHECK struct dfg_err *dfg_schedule_operands(
	struct dfg_kernel *ctx, struct dfg_loop_iterations *out_loop, struct dfg_loop_cut *out_cut);

/* The exchange of the workers that divide loops. */
DFG_MUST_CHECK struct dfg_err *dfg_schedule_exchange(struct dfg_kernel *ctx, struct dfg_row_exchange **out_exchange);

/* A vector of n numbers in a buffer of its own. */
DFG_MUST_CHECK struct dfg_err *dfg_schedule_keep(const int64_t *from, int64_t n, struct dfg_tensor *out);

/* The first three outputs, and the figures of the report. */
DFG_MUST_CHECK struct dfg_err *dfg_schedule_give(
	const struct dfg_loop_schedule *schedule, struct dfg_loop_report *report, struct dfg_tensor *output);

/* Gives the outputs that `make` fills, which is called only where the operands are not those of the node's last run. */
typedef struct dfg_err *dfg_schedule_make(
	struct dfg_kernel *ctx, struct dfg_loop_report *report, struct dfg_tensor *output);
DFG_MUST_CHECK struct dfg_err *dfg_schedule_run(struct dfg_kernel *ctx, dfg_schedule_make *make);
