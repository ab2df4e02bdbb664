#include "lib/lang/number_private.h"

#include "lib/lang/eval_private.h"
#include "lib/base/plural.h"

#include <math.h>
#include <string.h>

static int64_t floor_quotient(int64_t a, int64_t b)
{
	return a / b - (a % b != 0 && (a < 0) != (b < 0));
}

static bool int_power(int64_t base, int64_t exponent, int64_t *out_value)
{
	int64_t value = 1;
	while (exponent-- > 0)
		if (__builtin_mul_overflow(value, base, &value))
			return false;
	*out_value = value;
	return true;
}

/* False if the result is not an integer or does not fit i64, so that it is computed as a float. */
static bool int_binary(enum dfg_operator operation, int64_t a, int64_t b, int64_t *out)
{
	switch (operation) {
	case DFG_OPERATOR_ADD:
		return !__builtin_add_overflow(a, b, out);
	case DFG_OPERATOR_SUB:
		return !__builtin_sub_overflow(a, b, out);
	case DFG_OPERATOR_MUL:
		return !__builtin_mul_overflow(a, b, out);
	case DFG_OPERATOR_FLOOR_DIV:
	case DFG_OPERATOR_MOD:
		if (!b || (a == INT64_MIN && b == -1))
			return false;
		*out = floor_quotient(a, b);
		if (operation == DFG_OPERATOR_MOD)
			*out = a - *out * b;
		return true;
	case DFG_OPERATOR_POW:
		return b >= 0 && b < 64 && int_power(a, b, out);
	default:
		return false;
	}
}

static bool compare(enum dfg_operator operation, double a, double b, bool *out)
{
	switch (operation) {
	case DFG_OPERATOR_EQUAL:
		*out = a == b;
		return true;
	case DFG_OPERATOR_UNEQUAL:
		*out = a != b;
		return true;
	case DFG_OPERATOR_LESS:
		*out = a < b;
		return true;
	case DFG_OPERATOR_UP_TO:
		*out = a <= b;
		return true;
	case DFG_OPERATOR_MORE:
		*out = a > b;
		return true;
	case DFG_OPERATOR_FROM:
		*out = a >= b;
		return true;
	default:
		return false;
	}
}

static double float_binary(enum dfg_operator operation, double a, double b)
{
	switch (operation) {
	case DFG_OPERATOR_ADD:
		return a + b;
	case DFG_OPERATOR_SUB:
		return a - b;
	case DFG_OPERATOR_MUL:
		return a * b;
	case DFG_OPERATOR_DIV:
		return a / b;
	case DFG_OPERATOR_FLOOR_DIV:
		return floor(a / b);
	case DFG_OPERATOR_MOD:
		return a - floor(a / b) * b;
	default:
		return pow(a, b);
	}
}

struct dfg_err *dfg_number_binary(
	enum dfg_operator operation, struct dfg_number a, struct dfg_number b, struct dfg_datum *out_datum)
{
	int64_t i;
	bool truth;
	if (compare(operation, a.f, b.f, &truth)) {
		*out_datum = DFG_BOOLEAN(truth);
		return NULL;
	}
	bool division = operation == DFG_OPERATOR_FLOOR_DIV || operation == DFG_OPERATOR_MOD;
	if (division && b.f == 0)
		return DFG_ERR(DFG_DATA, "division by zero");
	if (operation == DFG_OPERATOR_AND || operation == DFG_OPERATOR_OR)
		return DFG_ERR(DFG_DATA, "`%s` requires bools, not numbers", dfg_operators[operation].spelling);
	if (operation == DFG_OPERATOR_PRODUCT)
		return DFG_ERR(DFG_DATA, "`@` requires matrices, not numbers");
	bool exact = a.is_int && b.is_int && a.f == (double)a.i && b.f == (double)b.i; /* both fit i64 */
	if (exact && int_binary(operation, a.i, b.i, &i)) {
		*out_datum = DFG_INT(i);
		return NULL;
	}
	*out_datum = DFG_FLOAT(float_binary(operation, a.f, b.f));
	return NULL;
}

/* Places the error at the text of the list, not where the list is used. */
static struct dfg_err *at_list(struct dfg_eval *eval, const struct dfg_datum *datum, struct dfg_err *err)
{
	const struct dfg_source *here = eval->source;
	const struct dfg_list_origin *origin = datum->kind == DFG_DATUM_LIST ? datum->list.origin : NULL;
	if (!err || !origin || !origin->tree)
		return err;
	eval->source = origin->source;
	err = dfg_eval_at(eval, origin->tree, err);
	eval->source = here;
	return err;
}

static struct dfg_err *list_shape(
	struct dfg_eval *eval, const struct dfg_datum *datum, int rank, struct dfg_shape *shape)
{
	if (datum->kind != DFG_DATUM_LIST) {
		if (shape->rank >= 0 && shape->rank != rank)
			return DFG_ERR(DFG_DATA, "the list is ragged: it has both lists and numbers as items");
		shape->rank = rank;
		return NULL;
	}
	if (rank == DFG_RANK_MAX)
		return DFG_ERR(DFG_DATA, "the list is nested deeper than %d", DFG_RANK_MAX);
	if (shape->dim[rank] != DFG_UNKNOWN && shape->dim[rank] != datum->list.n)
		return at_list(eval, datum,
			DFG_ERR(DFG_DATA, "the list is ragged: %u item%s here, %lld in the lists before", datum->list.n,
				dfg_plural(datum->list.n), (long long)shape->dim[rank]));
	shape->dim[rank] = datum->list.n;
	for (uint32_t i = 0; i < datum->list.n; i++)
		DFG_TRY(at_list(eval, datum, list_shape(eval, &datum->list.item[i], rank + 1, shape)));
	/* of [] and [[], []], which have no element at the innermost level */
	if (!datum->list.n && shape->rank < 0)
		shape->rank = rank + 1;
	return NULL;
}

static struct dfg_err *shape_of(struct dfg_eval *eval, const struct dfg_datum *datum, struct dfg_shape *out_shape)
{
	*out_shape = DFG_SHAPE_UNKNOWN;
	for (int i = 0; i < DFG_RANK_MAX; i++)
		out_shape->dim[i] = DFG_UNKNOWN;
	DFG_TRY(list_shape(eval, datum, 0, out_shape));
	for (int i = out_shape->rank; i < DFG_RANK_MAX; i++)
		out_shape->dim[i] = 0;
	return NULL;
}

/* Whether the integer fits. Only the sign is taken from .f, because the largest integers are inexact as floats. */
static bool fits(enum dfg_dtype dtype, const struct dfg_number *number)
{
	int bits = (int)dfg_dtype_size(dtype) * 8;
	bool is_signed = !dfg_dtype_is(dtype, "unsigned");
	uint64_t most = UINT64_MAX >> (64 - bits + is_signed);
	if (number->f >= 0)
		return (uint64_t)number->i <= most;
	return is_signed && (uint64_t) - (number->i + 1) <= most;
}

static struct dfg_err *store_number(const struct dfg_number *number, enum dfg_dtype dtype, void *to)
{
	if (dfg_dtype_is(dtype, "int")) {
		if (!number->is_int)
			return DFG_ERR(DFG_DATA, "%.17g is not an integer, as %s requires", number->f, dfg_dtype_name(dtype));
		if (!fits(dtype, number))
			return DFG_ERR(DFG_DATA, "%.0f does not fit %s", number->f, dfg_dtype_name(dtype));
		memcpy(to, &number->i, dfg_dtype_size(dtype)); /* little-endian: the low bytes are the value */
		return NULL;
	}
	if (dfg_dtype_is(dtype, "float") || dfg_dtype_is(dtype, "complex")) {
		double back;
		if (dfg_dtype_is(dtype, "float"))
			dfg_put_real(dtype, to, number->f);
		else
			dfg_convert(dtype, to, DFG_F64, &number->f, 1);
		dfg_convert(DFG_F64, &back, dtype, to, 1);
		return isinf(back) && !isinf(number->f)
				   ? DFG_ERR(DFG_DATA, "%g does not fit %s", number->f, dfg_dtype_name(dtype))
				   : NULL;
	}
	return DFG_ERR(DFG_DATA, "expected %s, not a number", dfg_dtype_name(dtype));
}

static struct dfg_err *store(struct dfg_eval *eval, const struct dfg_datum *datum, enum dfg_dtype dtype, char **to)
{
	if (datum->kind == DFG_DATUM_LIST) {
		for (uint32_t i = 0; i < datum->list.n; i++)
			DFG_TRY(at_list(eval, datum, store(eval, &datum->list.item[i], dtype, to)));
		return NULL;
	}
	if (datum->kind == DFG_DATUM_NUMBER)
		DFG_TRY(store_number(&datum->number, dtype, *to));
	else if (datum->kind == DFG_DATUM_BOOL && dtype == DFG_BOOL)
		*(bool *)*to = datum->truth;
	else if (datum->kind == DFG_DATUM_STRING && dtype == DFG_STRING)
		*(struct dfg_string *)*to = datum->string;
	else
		return DFG_ERR(DFG_DATA, "expected %s, not %s", dfg_dtype_name(dtype), dfg_datum_words(eval, datum));
	*to += dfg_dtype_size(dtype);
	return NULL;
}

static struct dfg_err *new_tensor(
	struct dfg_eval *eval, enum dfg_dtype dtype, const struct dfg_shape *shape, struct dfg_tensor **out_tensor)
{
	struct dfg_tensor *tensor = dfg_arena_zeros(eval->arena, 1, sizeof *tensor);
	if (!tensor)
		return dfg_no_memory("a constant");
	*tensor = (struct dfg_tensor){.dtype = dtype, .shape = *shape};
	DFG_TRY(dfg_shape_bytes(shape, dtype, &tensor->capacity));
	tensor->data = dfg_arena_zeros(eval->arena, tensor->capacity, 1);
	*out_tensor = tensor;
	return tensor->data ? NULL : dfg_no_memory("a constant");
}

struct dfg_err *dfg_literal_new(
	struct dfg_eval *eval, const struct dfg_datum *datum, enum dfg_dtype dtype, struct dfg_datum *out_datum)
{
	struct dfg_shape shape;
	struct dfg_tensor *tensor;
	DFG_TRY(shape_of(eval, datum, &shape));
	DFG_TRY(new_tensor(eval, dtype ? dtype : dfg_datum_natural(datum), &shape, &tensor));
	char *to = tensor->data;
	DFG_TRY(store(eval, datum, tensor->dtype, &to));
	*out_datum = (struct dfg_datum){DFG_DATUM_LITERAL, .literal = tensor};
	return NULL;
}

struct dfg_err *dfg_literal_cast(
	struct dfg_eval *eval, const struct dfg_tensor *literal, enum dfg_dtype dtype, struct dfg_datum *out_datum)
{
	struct dfg_tensor *tensor;
	DFG_TRY(new_tensor(eval, dtype, &literal->shape, &tensor));
	dfg_convert(dtype, tensor->data, literal->dtype, literal->data, dfg_shape_count(&literal->shape));
	*out_datum = (struct dfg_datum){DFG_DATUM_LITERAL, .literal = tensor};
	return NULL;
}
