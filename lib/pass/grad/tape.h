#pragma once

#include "lib/pass/grad/gradient_frames.h"

/*
 * The tape: values of a loop's iterations that gradient code uses. Each is saved by a Save where it is computed and
 * loaded by a Load at the gradient location. There is one Save for each value, location and region, and one Load for
 * each value and gradient; a value that was itself loaded is loaded again from its original Save.
 */

/* Finds the Saves already in the graph. */
DFG_MUST_CHECK struct dfg_err *dfg_tape_find(struct dfg_gradient_frames *m);

/* location: that of the value's gradient. */
DFG_MUST_CHECK struct dfg_err *dfg_tape_need(struct dfg_gradient_frames *m, struct dfg_edge value,
	const struct dfg_location *location, struct dfg_edge *out_edge);

/* The loop whose iteration is the region of a Save: as many levels out as the Save has keys. */
uint32_t dfg_tape_region(const struct dfg_gradient_frames *m, uint32_t save);

/* The store of a value that cannot be recomputed, and its keys as forward tensors at the value's location. */
DFG_MUST_CHECK struct dfg_err *dfg_tape_keep(struct dfg_gradient_frames *m, struct dfg_edge value,
	struct dfg_edge *out_store, struct dfg_edge **out_key, uint32_t *out_count);

/* The result of an op that reads only the shape of a value, computed at the value's location. */
DFG_MUST_CHECK struct dfg_err *dfg_tape_shape(struct dfg_gradient_frames *m, const char *op, struct dfg_edge value,
	const struct dfg_attr *attr, uint32_t n_attr, struct dfg_edge *out_edge);

/* Saves the cotangent of a Load at the Load's gradient location, for the gradient of its Save. */
DFG_MUST_CHECK struct dfg_err *dfg_tape_cotangent(
	struct dfg_gradient_frames *m, uint32_t load, struct dfg_edge cotangent, struct dfg_edge *out_store);

/* Loads that cotangent at the gradient location of the Save. */
DFG_MUST_CHECK struct dfg_err *dfg_tape_return(
	struct dfg_gradient_frames *m, uint32_t save, struct dfg_edge store, struct dfg_edge *out_edge);
