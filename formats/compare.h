#pragma once

#include "lib/graph/tensor.h"

/*
 * DFG_NEGATIVE, with the first difference, unless got has want's dtype, shape and values: |got - want| <= atol + rtol *
 * |want| for floats, NaN equal to NaN, infinities equal if their signs are; all else exactly. Trailing zeros of strings
 * are ignored, as fixed-width files cannot tell them from padding.
 */
struct dfg_tolerance {
	double rtol, atol;
	bool exact_strings; /* trailing zeros of strings count */
};
DFG_MUST_CHECK struct dfg_err *dfg_compare(
	const struct dfg_tensor *got, const struct dfg_tensor *want, const struct dfg_tolerance *tolerance);

/* The same for element i of two tensors of one dtype. */
bool dfg_compare_element(
	const struct dfg_tensor *got, const struct dfg_tensor *want, int64_t i, const struct dfg_tolerance *tolerance);
