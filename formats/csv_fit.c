#include "formats/csv.h"

#include "lib/base/text.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static bool is_plain(enum dfg_dtype dtype)
{
	return dfg_dtype_is(dtype, "int") || dfg_dtype_is(dtype, "float") || dtype == DFG_BOOL;
}

/* Whether dtype represents the number at `at` (i64 or f64) exactly; stores it in *to. */
static bool put_exactly(enum dfg_dtype from, const void *at, enum dfg_dtype dtype, void *to)
{
	double real, back; /* 2 ** 53 and 2 ** 63 bound the exact range: conversion to an integer saturates */
	int64_t integer;
	dfg_convert(DFG_F64, &real, from, at, 1);
	dfg_convert(dtype, to, from, at, 1);
	if (dfg_dtype_is(dtype, "float") && isnan(real))
		return true;
	if (dfg_dtype_is(dtype, "unsigned") && real < 0)
		return false;
	dfg_convert(DFG_F64, &back, dtype, to, 1);
	if (from == DFG_F64)
		return back == real && (dfg_dtype_is(dtype, "float") || fabs(real) <= 0x1p53);
	dfg_convert(DFG_I64, &integer, dtype, to, 1);
	return integer == *(const int64_t *)at && (!dfg_dtype_is(dtype, "float") || back < 0x1p63);
}

static struct dfg_err *cannot_hold(const struct dfg_tensor *tensor, int64_t i, enum dfg_dtype dtype)
{
	struct dfg_text text = {0};
	double real = dfg_tensor_float(tensor, i);
	int64_t columns = tensor->shape.rank == 2 ? tensor->shape.dim[1] : 1;
	if (tensor->dtype == DFG_I64)
		dfg_text_add(&text, "%" PRId64, dfg_tensor_int(tensor, i));
	else
		dfg_text_f64(&text, real);
	struct dfg_err *err = DFG_ERR(DFG_DATA, "row %" PRId64 ", column %" PRId64 " %s%s, which %s cannot hold%s",
		i / columns, i % columns, isnan(real) ? "has no value: it is " : "is ", text.s ? text.s : "",
		dfg_dtype_name(dtype), isnan(real) ? "" : " exactly");
	dfg_text_release(&text);
	return err;
}

/* The error for a table of text where numbers are required: it names the first cell that is not one. */
static struct dfg_err *not_numbers(const struct dfg_tensor *tensor, enum dfg_dtype dtype)
{
	struct dfg_text text = {0};
	const struct dfg_string *cell = tensor->data;
	int64_t count = dfg_shape_count(&tensor->shape), columns = tensor->shape.rank == 2 ? tensor->shape.dim[1] : 1;
	for (int64_t i = 0; i < count; i++) {
		char *end = NULL, number[64];
		size_t length = cell[i].length < sizeof number ? cell[i].length : 0;
		memcpy(number, cell[i].s, length);
		number[length] = '\0';
		if (cell[i].length && (strtod(number, &end), end == number || *end)) {
			dfg_text_escape(&text, cell[i].s, cell[i].length, 40);
			struct dfg_err *err =
				DFG_ERR(DFG_DATA, "row %" PRId64 ", column %" PRId64 " is '%s', which is not a number for %s",
					i / columns, i % columns, text.s ? text.s : "", dfg_dtype_name(dtype));
			dfg_text_release(&text);
			return err;
		}
	}
	return NULL;
}

struct dfg_err *dfg_csv_fit(struct dfg_tensor *tensor, enum dfg_dtype dtype, const struct dfg_shape *shape)
{
	struct dfg_tensor fit;
	int64_t count = dfg_shape_count(&tensor->shape);
	if (tensor->shape.rank == 1 && shape->rank == 2 && (shape->dim[1] == 1 || shape->dim[1] == DFG_UNKNOWN))
		tensor->shape = (struct dfg_shape){2, {tensor->shape.dim[0], 1}};
	if (tensor->dtype == DFG_STRING && is_plain(dtype))
		return not_numbers(tensor, dtype);
	if (tensor->dtype == dtype || !is_plain(dtype) || !is_plain(tensor->dtype))
		return NULL;
	DFG_TRY(dfg_tensor_new(dtype, &tensor->shape, &fit));
	for (int64_t i = 0; i < count; i++)
		if (!put_exactly(tensor->dtype, dfg_tensor_at(tensor, i), dtype, dfg_tensor_at(&fit, i))) {
			dfg_tensor_release(&fit);
			return cannot_hold(tensor, i, dtype);
		}
	dfg_tensor_release(tensor);
	*tensor = fit;
	return NULL;
}
