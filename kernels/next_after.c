/* The neighbour of a number towards another one. */
#include "lib/graph/op.h"

#include <math.h>

#define ROW(name, type, function)                                                                    \
	static void row_##name(int64_t n, void *out, const void *const *in, const union dfg_value *attr) \
	{                                                                                                \
		(void)attr;                                                                                  \
		for (int64_t i = 0; i < n; i++)                                                              \
			((type *)out)[i] = function(((const type *)in[0])[i], ((const type *)in[1])[i]);         \
	}
ROW(f32, float, nextafterf)
ROW(f64, double, nextafter)

const struct dfg_op dfg_op_NextAfter = {
	.name = "NextAfter",
	.doc = "the next representable number after x1 in the direction of x2",
	.sig = "<T: f32|f64 = f32>(x1: T, x2: T) -> (output: T)",
	.flags = DFG_NO_GRADIENT | DFG_EXACT | DFG_IN_PLACE,
	.row = DFG_ROW_TABLE{[DFG_F32] = row_f32, [DFG_F64] = row_f64},
};
