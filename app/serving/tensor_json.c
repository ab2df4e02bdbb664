#include "app/serving/serving_private.h"

#include "lib/base/base64.h"

#include <math.h>
#include <string.h>

/* Where the next element goes. */
struct reading {
	struct dfg_tensor *tensor;
	int64_t count, at;
};

static struct dfg_err *bad(const struct reading *reading, const struct dfg_json *element)
{
	return DFG_ERR(DFG_DATA, "element %lld is %s, expected a value of type %s", (long long)reading->at,
		dfg_json_kind_name(element->kind), dfg_dtype_name(reading->tensor->dtype));
}

/* The bytes of {"b64": "..."}, as TensorFlow Serving has it. */
static struct dfg_err *put_base64(struct reading *reading, const struct dfg_json *text)
{
	struct dfg_string *to = dfg_tensor_at(reading->tensor, reading->at);
	size_t size;
	uint8_t *bytes = dfg_zeros(dfg_base64_most(text->count) + 1, 1);
	if (!bytes)
		return dfg_no_memory("a string");
	struct dfg_err *err = dfg_base64_decode(text->string, text->count, bytes, &size)
							  ? dfg_buffer_string(reading->tensor->buffer, bytes, size, to)
							  : DFG_ERR(DFG_DATA, "element %lld: \"b64\" is not base64", (long long)reading->at);
	dfg_free(bytes);
	return err;
}

static struct dfg_err *put_string(struct reading *reading, const struct dfg_json *element)
{
	struct dfg_string *to = dfg_tensor_at(reading->tensor, reading->at);
	if (element->kind == DFG_JSON_STRING)
		return dfg_buffer_string(reading->tensor->buffer, element->string, element->count, to);
	const struct dfg_json *text = dfg_json_get(element, "b64");
	if (!text || text->kind != DFG_JSON_STRING || element->count != 1)
		return bad(reading, element);
	return put_base64(reading, text);
}

/* "NaN", "Infinity" and "-Infinity", as answers spell them. */
static bool special(const struct dfg_json *element, double *out_value)
{
	static const struct {
		const char *name;
		double value;
	} names[] = {{"NaN", NAN}, {"Infinity", INFINITY}, {"-Infinity", -INFINITY}};
	for (size_t i = 0; i < sizeof names / sizeof *names; i++)
		if (element->kind == DFG_JSON_STRING && !strcmp(element->string, names[i].name)) {
			*out_value = names[i].value;
			return true;
		}
	return false;
}

static struct dfg_err *put_integer(struct reading *reading, const struct dfg_json *element)
{
	struct dfg_tensor *tensor = reading->tensor;
	int64_t value = element->integer;
	if (tensor->dtype == DFG_U64 && element->kind == DFG_JSON_NUMBER && element->is_natural) {
		*(uint64_t *)dfg_tensor_at(tensor, reading->at) = element->natural;
		return NULL;
	}
	if (element->kind != DFG_JSON_NUMBER || !element->whole)
		return bad(reading, element);
	dfg_convert(tensor->dtype, dfg_tensor_at(tensor, reading->at), DFG_I64, &value, 1);
	bool is_negative = value < 0 && dfg_dtype_is(tensor->dtype, "unsigned");
	if (is_negative || dfg_tensor_int(tensor, reading->at) != value)
		return DFG_ERR(DFG_DATA, "element %lld is %lld, which %s cannot hold", (long long)reading->at, (long long)value,
			dfg_dtype_name(tensor->dtype));
	return NULL;
}

/* A finite number must not become infinite. */
static struct dfg_err *put_real(struct reading *reading, const struct dfg_json *element, double value)
{
	struct dfg_tensor *tensor = reading->tensor;
	dfg_put_real(tensor->dtype, dfg_tensor_at(tensor, reading->at), value);
	if (element->kind == DFG_JSON_NUMBER && isinf(dfg_tensor_float(tensor, reading->at)))
		return DFG_ERR(DFG_DATA, "element %lld is a number that %s cannot hold", (long long)reading->at,
			dfg_dtype_name(tensor->dtype));
	return NULL;
}

static struct dfg_err *put_element(struct reading *reading, const struct dfg_json *element)
{
	struct dfg_tensor *tensor = reading->tensor;
	double value = element->number;
	if (reading->at == reading->count)
		return DFG_ERR(DFG_DATA, "there are more elements than the %lld of shape %s", (long long)reading->count,
			dfg_shape_words(&tensor->shape).s);
	if (tensor->dtype == DFG_STRING)
		return put_string(reading, element);
	if (tensor->dtype == DFG_BOOL && element->kind == DFG_JSON_BOOL) {
		*(bool *)dfg_tensor_at(tensor, reading->at) = element->truth;
		return NULL;
	}
	if (dfg_dtype_is(tensor->dtype, "int"))
		return put_integer(reading, element);
	if (tensor->dtype == DFG_BOOL || (element->kind != DFG_JSON_NUMBER && !special(element, &value)))
		return bad(reading, element);
	return put_real(reading, element, value);
}

/* Whether a list, and all in it, has the extents of the shape from this axis on. */
static bool has_extents(const struct dfg_json *data, const struct dfg_shape *shape, int axis)
{
	bool is_list = data->kind == DFG_JSON_ARRAY;
	if (is_list != (axis < shape->rank) || (is_list && (int64_t)data->count != shape->dim[axis]))
		return false;
	for (const struct dfg_json *element = is_list ? data->first : NULL; element; element = element->next)
		if (!has_extents(element, shape, axis + 1))
			return false;
	return true;
}

static struct dfg_err *put_next(struct reading *reading, const struct dfg_json *element)
{
	DFG_TRY(put_element(reading, element));
	reading->at++;
	return NULL;
}

/* The lists are nested as the shape is, which bounds the depth. */
static struct dfg_err *put_list(struct reading *reading, const struct dfg_json *data)
{
	if (data->kind != DFG_JSON_ARRAY)
		return put_next(reading, data);
	for (const struct dfg_json *element = data->first; element; element = element->next)
		DFG_TRY(put_list(reading, element));
	return NULL;
}

/* Lists may be nested as the shape is, or not at all. */
static struct dfg_err *put_all(struct reading *reading, const struct dfg_json *data)
{
	bool is_list = data->kind == DFG_JSON_ARRAY;
	bool is_nested = is_list && data->first && data->first->kind == DFG_JSON_ARRAY;
	if (is_nested && !has_extents(data, &reading->tensor->shape, 0))
		return DFG_ERR(DFG_DATA, "the nesting of the lists does not match the shape %s",
			dfg_shape_words(&reading->tensor->shape).s);
	if (!is_list || is_nested)
		return put_list(reading, data);
	for (const struct dfg_json *element = data->first; element; element = element->next)
		DFG_TRY(put_next(reading, element));
	return NULL;
}

struct dfg_err *dfg_json_to_tensor(
	const struct dfg_json *data, enum dfg_dtype dtype, const struct dfg_shape *shape, struct dfg_tensor *out_tensor)
{
	bool is_real = dfg_dtype_is(dtype, "number") || dtype == DFG_F16 || dtype == DFG_BF16;
	if (dtype != DFG_STRING && dtype != DFG_BOOL && !is_real)
		return DFG_ERR(DFG_DATA, "%s cannot be represented in JSON", dfg_dtype_name(dtype));
	DFG_TRY(dfg_tensor_new(dtype, shape, out_tensor));
	struct reading reading = {out_tensor, dfg_shape_count(shape), 0};
	struct dfg_err *err = put_all(&reading, data);
	if (!err && reading.at < reading.count)
		err = DFG_ERR(DFG_DATA, "there are %lld elements, but shape %s has %lld", (long long)reading.at,
			dfg_shape_words(shape).s, (long long)reading.count);
	if (err)
		dfg_tensor_release(out_tensor);
	return err;
}

struct dfg_err *dfg_json_shape(const struct dfg_json *data, struct dfg_shape *out_shape)
{
	*out_shape = (struct dfg_shape){0};
	for (const struct dfg_json *list = data; list && list->kind == DFG_JSON_ARRAY; list = list->first) {
		if (out_shape->rank == DFG_RANK_MAX)
			return DFG_ERR(DFG_DATA, "lists are nested deeper than %d, the highest rank of a tensor", DFG_RANK_MAX);
		out_shape->dim[out_shape->rank++] = (int64_t)list->count;
	}
	return has_extents(data, out_shape, 0)
			   ? NULL
			   : DFG_ERR(DFG_DATA, "the lists differ in length or depth: the first ones have shape %s",
					 dfg_shape_words(out_shape).s);
}
