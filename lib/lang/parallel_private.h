#pragma once

#include "lib/lang/loop_private.h"

/*
 * `parallel for`: a loop whose iterations may run at the same time as far as their accesses to variables allow. In the
 * graph it is an ordinary loop, which any engine can run serially, with marks on its LoopCond: `_dfg_parallel`,
 * "ordered" or "unordered", and the ints `_dfg_clock` and `_dfg_batch`. An update of a variable that may be read stale
 * takes its delta from an Identity with the mark `_dfg_buffer`, the staleness.
 */
struct dfg_parallel {
	bool is_ordered;
	struct dfg_cell **buffer; /* the n variables that may be read stale, by at most `staleness` clocks */
	uint32_t n_buffer;
	int64_t staleness, clock, batch; /* iterations of a clock and of a batch; 0: not given */
};

enum { DFG_PARALLEL_MARKS = 3 }; /* the most marks of a LoopCond */

/* Evaluates the options of a `parallel for`. DFG_DATA: one is unknown, or two contradict each other. */
DFG_MUST_CHECK struct dfg_err *dfg_parallel_options(
	struct dfg_eval *eval, struct dfg_name_scope *bindings, struct dfg_lang_loop *loop);

/* The marks of the loop's LoopCond; returns their number. */
uint32_t dfg_parallel_marks(const struct dfg_parallel *parallel, struct dfg_attr out_mark[DFG_PARALLEL_MARKS]);

/*
 * To be called before the variable is updated by the value in the present loop: marks the delta of a buffered one.
 * DFG_DATA: it is buffered, and the update assigns.
 */
DFG_MUST_CHECK struct dfg_err *dfg_parallel_update(
	struct dfg_eval *eval, const struct dfg_cell *cell, uint8_t update, struct dfg_edge *value);

/* Whether the loop, which may be NULL, buffers the variable. */
bool dfg_parallel_buffers(const struct dfg_parallel *parallel, const struct dfg_cell *cell);
