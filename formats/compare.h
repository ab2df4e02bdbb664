#pragma once

#include "lib/graph/tensor.h"

/*
 * DFG_NEGATIVE, saying where and what, unless got has want's dtype, shape and values: |got - want| <= atol + rtol *
 * |want| for floats, NaN equal to NaN, infinities by sign; anything else exactly. Strings without their trailing zeros,
 * which fixed-width files cannot tell from padding.
 */
struct dfg_tolerance {
	double rtol, atol;
	bool exact_strings; /* zeros at their end count */
};
DFG_MUST_CHECK struct dfg_err *dfg_compare(
	const struct dfg_tensor *got, const struct dfg_tensor *want, const struct dfg_tolerance *tolerance);

/* The same of element i of two tensors of one dtype. */
bool dfg_compare_element(
	const struct dfg_tensor *got, const struct dfg_tensor *want, int64_t i, const struct dfg_tolerance *tolerance);
