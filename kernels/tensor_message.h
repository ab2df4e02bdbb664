#pragma once

#include "kernels/protobuf.h"

/* Appends the fields of the tensorflow.TensorProto of a tensor of numbers or strings. */
void dfg_tensor_message(struct dfg_text *text, const struct dfg_tensor *tensor);
