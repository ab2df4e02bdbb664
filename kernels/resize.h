#pragma once

#include "lib/graph/kernel.h"

/* Shapes and sizes of the ops that resize images [batch, height, width, channels] to the size in input 1. */
enum { DFG_RESIZE_IMAGES, DFG_RESIZE_SIZE }; /* inputs */

/* The shape of the resized images, and that of their gradient: inputs are d out and the image. */
DFG_MUST_CHECK struct dfg_err *dfg_resize_shape(struct dfg_infer *node);
DFG_MUST_CHECK struct dfg_err *dfg_resize_gradient_shape(struct dfg_infer *node);

/* Checks the shapes, and the attributes align_corners and half_pixel_centers if the op has them. */
DFG_MUST_CHECK struct dfg_err *dfg_resize_check(const struct dfg_resolved_node *call, const struct dfg_shape *image);
DFG_MUST_CHECK struct dfg_err *dfg_resize_check_gradient(const struct dfg_shape *grads, const struct dfg_shape *image);

/* Reads the new height and width. */
DFG_MUST_CHECK struct dfg_err *dfg_resize_read_size(struct dfg_kernel *ctx, int64_t out_size[2]);
