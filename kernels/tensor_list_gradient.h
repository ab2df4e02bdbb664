#pragma once

#include "lib/pass/grad/grad.h"

/* Gradients of the ops on lists: the cotangent of a list is the list of the cotangents of its elements. */
struct dfg_err *dfg_tensor_list_push_gradient(struct dfg_gradient *node);
struct dfg_err *dfg_tensor_list_pop_gradient(struct dfg_gradient *node);
struct dfg_err *dfg_tensor_list_get_gradient(struct dfg_gradient *node);
struct dfg_err *dfg_tensor_list_set_gradient(struct dfg_gradient *node);
struct dfg_err *dfg_tensor_list_resize_gradient(struct dfg_gradient *node);
struct dfg_err *dfg_tensor_list_stack_gradient(struct dfg_gradient *node);
struct dfg_err *dfg_tensor_list_from_gradient(struct dfg_gradient *node);
struct dfg_err *dfg_tensor_list_gather_gradient(struct dfg_gradient *node);
struct dfg_err *dfg_tensor_list_scatter_gradient(struct dfg_gradient *node);
struct dfg_err *dfg_tensor_list_scatter_into_gradient(struct dfg_gradient *node);
struct dfg_err *dfg_tensor_list_concat_gradient(struct dfg_gradient *node);
struct dfg_err *dfg_tensor_list_split_gradient(struct dfg_gradient *node);
