#pragma once

#include "lib/pass/grad/grad.h"

/*
 * Gradients of the ops on tensor arrays: reading and writing are each other's, on the gradient array of this call of the
 * gradient. The cotangent of a flow is the flow of the gradient array: that what comes after has given its part.
 */
struct dfg_err *dfg_array_read_gradient(struct dfg_gradient *node);
struct dfg_err *dfg_array_write_gradient(struct dfg_gradient *node);
struct dfg_err *dfg_array_gather_gradient(struct dfg_gradient *node);
struct dfg_err *dfg_array_scatter_gradient(struct dfg_gradient *node);
struct dfg_err *dfg_array_concat_gradient(struct dfg_gradient *node);
struct dfg_err *dfg_array_split_gradient(struct dfg_gradient *node);
