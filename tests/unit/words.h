#pragma once

#include "tests/unit/test.h"

#include "lib/graph/tensor.h"

#include <stdio.h>

/* "[2,1] 1.5 2", strings as they are. */
static void program_words(const struct dfg_tensor *tensor, char *out, size_t capacity)
{
	size_t at = (size_t)snprintf(out, capacity, "%s", dfg_shape_words(&tensor->shape).s);
	for (int64_t e = 0; e < dfg_shape_count(&tensor->shape); e++) {
		assert_true(at + 40 < capacity);
		if (tensor->dtype == DFG_STRING) {
			const struct dfg_string *s = (const struct dfg_string *)tensor->data + e;
			at += (size_t)snprintf(out + at, capacity - at, " %.*s", (int)s->length, s->length ? s->s : "");
		} else {
			at += (size_t)snprintf(out + at, capacity - at, " %g",
				dfg_tensor_float(tensor, e) != 0 ? dfg_tensor_float(tensor, e) : (double)dfg_tensor_int(tensor, e));
		}
	}
}
