#pragma once

#include <stdbool.h>
#include <stdint.h>

/*
 * The argument of a row's kernel, written by lib/exec/device/row.c. An operand of the output's shape is read at the index
 * of the output; another one, whose strides are in elements, at the sum of position times stride.
 */
enum { DFG_LAUNCH_OPERANDS = 4, DFG_LAUNCH_RANK = 8, DFG_LAUNCH_ATTRS = 2 };

union dfg_launch_attr { /* an attribute that a row's expression reads, as union dfg_value */
	bool b;
	int64_t i;
	double f;
};

struct dfg_row_launch {
	int64_t count; /* elements of the output */
	void *out;
	const void *in[DFG_LAUNCH_OPERANDS];
	union dfg_launch_attr attr[DFG_LAUNCH_ATTRS];
	int32_t rank;
	uint32_t plain; /* bit i: operand i has the output's shape */
	int64_t extent[DFG_LAUNCH_RANK];
	int64_t stride[DFG_LAUNCH_OPERANDS][DFG_LAUNCH_RANK]; /* 0 along a dimension that is repeated */
};
