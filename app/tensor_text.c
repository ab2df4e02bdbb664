#include "app/tensor_text.h"

#include <complex.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The shortest decimal that rounds to the same half; with an exponent where one of a float would have it. */
static void print_half(struct dfg_text *out, uint16_t bits, float value, uint16_t (*round)(float value))
{
	char digits[40];
	if (!isfinite(value)) {
		dfg_text_f32(out, value);
		return;
	}
	int whole = fabsf(value) < 1e6f ? snprintf(NULL, 0, "%.0f", floor(fabs((double)value))) : 0, precision = 0;
	do
		snprintf(digits, sizeof digits, "%.*g", ++precision, (double)value);
	while (precision < 9 && (precision < whole || round(strtof(digits, NULL)) != bits));
	dfg_text_add(out, "%s", digits);
}

static void print_part(struct dfg_text *out, double value, bool is_double)
{
	if (is_double)
		dfg_text_f64(out, value);
	else
		dfg_text_f32(out, (float)value);
}

static void print_complex(struct dfg_text *out, double _Complex value, bool is_double)
{
	print_part(out, creal(value), is_double);
	if (!signbit(cimag(value)) || isnan(cimag(value)))
		dfg_text_put(out, "+", 1);
	print_part(out, cimag(value), is_double);
	dfg_text_put(out, "j", 1);
}

static void print_float(struct dfg_text *out, enum dfg_dtype dtype, const void *at)
{
	switch (dtype) {
	case DFG_F16:
		print_half(out, *(const uint16_t *)at, dfg_f16_widen(*(const uint16_t *)at), dfg_f16_round);
		break;
	case DFG_BF16:
		print_half(out, *(const uint16_t *)at, dfg_bf16_widen(*(const uint16_t *)at), dfg_bf16_round);
		break;
	case DFG_F32:
		dfg_text_f32(out, *(const float *)at);
		break;
	case DFG_F64:
		dfg_text_f64(out, *(const double *)at);
		break;
	case DFG_C64:
		print_complex(out, *(const float _Complex *)at, false);
		break;
	case DFG_C128:
		print_complex(out, *(const double _Complex *)at, true);
		break;
	default:
		break;
	}
}

static bool is_float(enum dfg_dtype dtype)
{
	return dtype == DFG_F16 || dtype == DFG_BF16 || dtype == DFG_F32 || dtype == DFG_F64 || dtype == DFG_C64 ||
		   dtype == DFG_C128;
}

static void print_element(struct dfg_text *out, const struct dfg_tensor *tensor, int64_t i)
{
	const void *at = dfg_tensor_at(tensor, i);
	if (is_float(tensor->dtype)) {
		print_float(out, tensor->dtype, at);
	} else if (tensor->dtype == DFG_BOOL) {
		dfg_text_add(out, "%s", *(const bool *)at ? "true" : "false");
	} else if (tensor->dtype == DFG_U64) {
		dfg_text_add(out, "%llu", (unsigned long long)*(const uint64_t *)at);
	} else if (dfg_dtype_is(tensor->dtype, "int")) {
		dfg_text_add(out, "%lld", (long long)dfg_tensor_int(tensor, i));
	} else if (tensor->dtype == DFG_STRING) {
		const struct dfg_string *string = at;
		dfg_text_put(out, "\"", 1);
		dfg_text_escape(out, string->s, string->length, string->length);
		dfg_text_put(out, "\"", 1);
	} else { /* a handle, or a type without kernels */
		dfg_text_add(out, "<%s>", dfg_dtype_name(tensor->dtype));
	}
}

/* The index after i of `count`, such that `most` are shown, half of them at the end; dots mark the gap. */
static int64_t step(struct dfg_text *out, int64_t i, int64_t count, int64_t most, const char *dots)
{
	if (most <= 0 || count <= most || i + 1 != most - most / 2)
		return i + 1;
	dfg_text_add(out, "%s", dots);
	return count - most / 2;
}

void dfg_tensor_text(struct dfg_text *out, const char *name, const struct dfg_tensor *tensor, int64_t most)
{
	const struct dfg_shape *shape = &tensor->shape;
	int64_t count = dfg_shape_count(shape);
	dfg_text_printable(out, name, strlen(name), "");
	dfg_text_add(out, ": %s", dfg_type_words(tensor->dtype, shape).s);
	if (!shape->rank) {
		dfg_text_put(out, " ", 1);
		print_element(out, tensor, 0);
	}
	dfg_text_put(out, "\n", 1);
	if (!shape->rank || !count)
		return;
	int64_t columns = shape->dim[shape->rank - 1], rows = count / columns;
	for (int64_t row = 0; row < rows; row = step(out, row, rows, most, "...\n")) {
		for (int64_t column = 0; column < columns; column = step(out, column, columns, most, " ...")) {
			if (column)
				dfg_text_put(out, " ", 1);
			print_element(out, tensor, row * columns + column);
		}
		dfg_text_put(out, "\n", 1);
	}
}

static void json_real(struct dfg_json_out *out, double value, bool is_double)
{
	if (is_double)
		dfg_json_f64(out, value);
	else
		dfg_json_f32(out, (float)value);
}

static void json_element(struct dfg_json_out *out, const struct dfg_tensor *tensor, int64_t i)
{
	const void *at = dfg_tensor_at(tensor, i);
	double _Complex number = 0;
	switch (tensor->dtype) {
	case DFG_BOOL:
		dfg_json_bool(out, *(const bool *)at);
		return;
	case DFG_U64:
		dfg_json_uint(out, *(const uint64_t *)at);
		return;
	case DFG_STRING:
		dfg_json_bytes(out, ((const struct dfg_string *)at)->s, ((const struct dfg_string *)at)->length);
		return;
	case DFG_C64:
	case DFG_C128:
		number = tensor->dtype == DFG_C64 ? *(const float _Complex *)at : *(const double _Complex *)at;
		dfg_json_open(out, '[');
		json_real(out, creal(number), tensor->dtype == DFG_C128);
		json_real(out, cimag(number), tensor->dtype == DFG_C128);
		dfg_json_close(out, ']');
		return;
	default:
		break;
	}
	if (!is_float(tensor->dtype) && !dfg_dtype_is(tensor->dtype, "int")) {
		dfg_json_null(out);
	} else if (!is_float(tensor->dtype)) {
		dfg_json_int(out, dfg_tensor_int(tensor, i));
	} else if (isfinite(dfg_tensor_float(tensor, i))) {
		dfg_json_raw(out);
		print_float(&out->text, tensor->dtype, at);
	} else {
		dfg_json_f64(out, dfg_tensor_float(tensor, i));
	}
}

/* Dimensions up to depth d are open; at[d] is the number of items already written at that depth. */
void dfg_json_elements(struct dfg_json_out *out, const struct dfg_tensor *tensor)
{
	const struct dfg_shape *shape = &tensor->shape;
	int64_t at[DFG_RANK_MAX] = {0}, i = 0;
	for (int d = 0; d >= 0;) {
		if (d == shape->rank) {
			json_element(out, tensor, i++);
			d--;
		} else if (at[d] == shape->dim[d]) {
			if (!shape->dim[d])
				dfg_json_open(out, '[');
			dfg_json_close(out, ']');
			at[d--] = 0;
		} else {
			if (!at[d])
				dfg_json_open(out, '[');
			at[d++]++;
		}
	}
}

void dfg_json_tensor(struct dfg_json_out *out, const struct dfg_tensor *tensor)
{
	dfg_json_open(out, '{');
	dfg_json_key(out, "dtype");
	dfg_json_string(out, dfg_dtype_name(tensor->dtype));
	dfg_json_key(out, "shape");
	dfg_json_open(out, '[');
	for (int d = 0; d < tensor->shape.rank; d++)
		dfg_json_int(out, tensor->shape.dim[d]);
	dfg_json_close(out, ']');
	dfg_json_key(out, "value");
	dfg_json_elements(out, tensor);
	dfg_json_close(out, '}');
}
