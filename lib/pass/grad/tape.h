#pragma once

#include "lib/pass/grad/gradient_frames.h"

/*
 * Values that gradient code needs of a loop's iterations: a Save where the value is, a Load where its mirror is. One Save
 * for each value, place and region, one Load for each value and gradient; a value that was loaded itself is loaded again
 * from where it was saved.
 */

/* Finds the Saves that there are already. */
DFG_MUST_CHECK struct dfg_err *dfg_tape_find(struct dfg_gradient_frames *m);

/* place: that of the value's gradient. */
DFG_MUST_CHECK struct dfg_err *dfg_tape_need(
	struct dfg_gradient_frames *m, struct dfg_edge value, const struct dfg_location *place, struct dfg_edge *out_edge);

/* The loop whose iteration is the region of a Save: as many levels out as there are keys. */
uint32_t dfg_tape_region(const struct dfg_gradient_frames *m, uint32_t save);

/* Where a value is kept that cannot be computed again: its store, and its keys as forward tensors at the value's place. */
DFG_MUST_CHECK struct dfg_err *dfg_tape_keep(struct dfg_gradient_frames *m, struct dfg_edge value,
	struct dfg_edge *out_store, struct dfg_edge **out_key, uint32_t *out_count);

/* What an op that asks for a shape gives of a value, computed where the value is. */
DFG_MUST_CHECK struct dfg_err *dfg_tape_shape(struct dfg_gradient_frames *m, const char *op, struct dfg_edge value,
	const struct dfg_attr *attr, uint32_t n_attr, struct dfg_edge *out_edge);

/* The cotangent of a Load, which stands at the Load's mirror: saved there for the gradient of its Save. */
DFG_MUST_CHECK struct dfg_err *dfg_tape_cotangent(
	struct dfg_gradient_frames *m, uint32_t load, struct dfg_edge cotangent, struct dfg_edge *out_store);

/* What such a store holds, at the mirror of the Save. */
DFG_MUST_CHECK struct dfg_err *dfg_tape_return(
	struct dfg_gradient_frames *m, uint32_t save, struct dfg_edge store, struct dfg_edge *out_edge);
