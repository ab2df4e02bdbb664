#pragma once

#include "lib/pass/grad/grad.h"

/*
 * Gradients of the ops on tensor arrays: the gradient of a read is a write to the gradient array, and that of a write
 * is a read. The cotangent of a flow is the flow of the gradient array: it orders reads of that array after the writes.
 */
struct dfg_err *dfg_array_read_gradient(struct dfg_gradient *node);
struct dfg_err *dfg_array_write_gradient(struct dfg_gradient *node);
struct dfg_err *dfg_array_gather_gradient(struct dfg_gradient *node);
struct dfg_err *dfg_array_scatter_gradient(struct dfg_gradient *node);
struct dfg_err *dfg_array_concat_gradient(struct dfg_gradient *node);
struct dfg_err *dfg_array_split_gradient(struct dfg_gradient *node);
