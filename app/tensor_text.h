#pragma once

#include "formats/json.h"
#include "lib/graph/tensor.h"

/*
 * A result as text: "NAME: f32[2,3]", then a line for each row of the last axis, values separated by spaces; a scalar
 * is on the same line. Floats are the shortest decimals that read back as the same bits, strings are quoted. If `most`
 * > 0, at most that many rows and values per row are printed and the middle is omitted: for terminals.
 */
void dfg_tensor_text(struct dfg_text *out, const char *name, const struct dfg_tensor *tensor, int64_t most);

/* Only the elements, as lists nested by the shape. */
void dfg_json_elements(struct dfg_json_out *out, const struct dfg_tensor *tensor);

/* {"dtype": "f32", "shape": [2,3], "value": [[..],[..]]}; complex numbers are pairs. */
void dfg_json_tensor(struct dfg_json_out *out, const struct dfg_tensor *tensor);
