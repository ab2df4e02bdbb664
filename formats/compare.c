#include "formats/compare.h"

#include "lib/base/text.h"

#include <complex.h>
#include <math.h>
#include <string.h>

static bool near(double got, double want, const struct dfg_tolerance *tolerance)
{
	if (got == want || (isnan(got) && isnan(want)))
		return true;
	return isfinite(got) && isfinite(want) && fabs(got - want) <= tolerance->atol + tolerance->rtol * fabs(want);
}

static struct dfg_err *differs(int64_t i, double got, double want)
{
	return DFG_ERR(DFG_NEGATIVE, "element %lld is %.9g, not %.9g", (long long)i, got, want);
}

static struct dfg_err *compare_floats(
	const struct dfg_tensor *got, const struct dfg_tensor *want, const struct dfg_tolerance *tolerance)
{
	int64_t count = dfg_shape_count(&want->shape);
	for (int64_t i = 0; i < count; i++) {
		double a = dfg_tensor_float(got, i), b = dfg_tensor_float(want, i);
		if (!near(a, b, tolerance))
			return differs(i, a, b);
	}
	return NULL;
}

static struct dfg_err *compare_complex(
	const struct dfg_tensor *got, const struct dfg_tensor *want, const struct dfg_tolerance *tolerance)
{
	int64_t count = dfg_shape_count(&want->shape);
	bool wide = got->dtype == DFG_C128;
	for (int64_t i = 0; i < count; i++) {
		double complex a = wide ? ((double complex *)got->data)[i] : ((float complex *)got->data)[i];
		double complex b = wide ? ((double complex *)want->data)[i] : ((float complex *)want->data)[i];
		struct dfg_tolerance whole = {.atol = tolerance->atol + tolerance->rtol * cabs(b)};
		if (!near(creal(a), creal(b), &whole) || !near(cimag(a), cimag(b), &whole))
			return DFG_ERR(DFG_NEGATIVE, "element %lld is %.9g%+.9gi, not %.9g%+.9gi", (long long)i, creal(a), cimag(a),
				creal(b), cimag(b));
	}
	return NULL;
}

static size_t without_zeros(struct dfg_string string)
{
	while (string.length && !string.s[string.length - 1])
		string.length--;
	return string.length;
}

static struct dfg_err *compare_strings(
	const struct dfg_tensor *got, const struct dfg_tensor *want, const struct dfg_tolerance *tolerance)
{
	int64_t count = dfg_shape_count(&want->shape);
	for (int64_t i = 0; i < count; i++) {
		struct dfg_string a = ((struct dfg_string *)got->data)[i], b = ((struct dfg_string *)want->data)[i];
		size_t m = tolerance->exact_strings ? a.length : without_zeros(a);
		size_t n = tolerance->exact_strings ? b.length : without_zeros(b);
		if (m == n && (!m || !memcmp(a.s, b.s, m)))
			continue;
		struct dfg_text text = {0};
		dfg_text_escape(&text, a.s, m, 60);
		dfg_text_add(&text, "\", not \"");
		dfg_text_escape(&text, b.s, n, 60);
		struct dfg_err *err = DFG_ERR(DFG_NEGATIVE, "element %lld is \"%s\"", (long long)i, text.s ? text.s : "");
		dfg_text_release(&text);
		return err;
	}
	return NULL;
}

static struct dfg_err *compare_exactly(const struct dfg_tensor *got, const struct dfg_tensor *want)
{
	size_t size = dfg_dtype_size(want->dtype);
	int64_t count = dfg_shape_count(&want->shape);
	for (int64_t i = 0; i < count; i++)
		if (memcmp(dfg_tensor_at(got, i), dfg_tensor_at(want, i), size))
			return DFG_ERR(DFG_NEGATIVE, "element %lld is %lld, not %lld", (long long)i,
				(long long)dfg_tensor_int(got, i), (long long)dfg_tensor_int(want, i));
	return NULL;
}

bool dfg_compare_element(
	const struct dfg_tensor *got, const struct dfg_tensor *want, int64_t i, const struct dfg_tolerance *tolerance)
{
	struct dfg_tensor a = *got, b = *want;
	a.shape = b.shape = DFG_SHAPE_SCALAR;
	a.data = dfg_tensor_at(got, i);
	b.data = dfg_tensor_at(want, i);
	if (dfg_dtype_is(a.dtype, "float"))
		return near(dfg_tensor_float(&a, 0), dfg_tensor_float(&b, 0), tolerance);
	if (a.dtype != DFG_STRING && !dfg_dtype_is(a.dtype, "complex"))
		return !memcmp(a.data, b.data, dfg_dtype_size(a.dtype));
	struct dfg_err *err = dfg_compare(&a, &b, tolerance);
	bool same = !err;
	dfg_err_free(err);
	return same;
}

struct dfg_err *dfg_compare(
	const struct dfg_tensor *got, const struct dfg_tensor *want, const struct dfg_tolerance *tolerance)
{
	if (got->dtype != want->dtype || !dfg_shape_equal(&got->shape, &want->shape))
		return DFG_ERR(DFG_NEGATIVE, "is %s, not %s", dfg_type_words(got->dtype, &got->shape).s,
			dfg_type_words(want->dtype, &want->shape).s);
	if (dfg_dtype_is(want->dtype, "float"))
		return compare_floats(got, want, tolerance);
	if (dfg_dtype_is(want->dtype, "complex"))
		return compare_complex(got, want, tolerance);
	return want->dtype == DFG_STRING ? compare_strings(got, want, tolerance) : compare_exactly(got, want);
}
