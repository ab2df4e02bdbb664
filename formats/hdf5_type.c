#include "formats/bytes.h"
#include "formats/hdf5_private.h"
#include "formats/npy.h"

#include <string.h>

/* IEEE floats and bfloat16: position of the sign, bits of exponent and mantissa. */
static const struct {
	enum dfg_dtype dtype;
	size_t size, exponent, mantissa;
} floats[] = {{DFG_F16, 2, 5, 10}, {DFG_BF16, 2, 8, 7}, {DFG_F32, 4, 8, 23}, {DFG_F64, 8, 11, 52}};

static const enum dfg_dtype integers[2][9] = {
	{[1] = DFG_U8, [2] = DFG_U16, [4] = DFG_U32, [8] = DFG_U64},
	{[1] = DFG_I8, [2] = DFG_I16, [4] = DFG_I32, [8] = DFG_I64},
};

static enum dfg_dtype float_type(int64_t type)
{
	size_t size = dfg_H5Tget_size(type), sign, exponent, exponent_bits, mantissa, mantissa_bits;
	if (dfg_H5Tget_fields(type, &sign, &exponent, &exponent_bits, &mantissa, &mantissa_bits) < 0)
		return DFG_NO_DTYPE;
	for (size_t i = 0; i < sizeof floats / sizeof *floats; i++)
		if (size == floats[i].size && sign == 8 * size - 1 && exponent_bits == floats[i].exponent && !mantissa &&
			mantissa_bits == floats[i].mantissa && exponent == mantissa_bits)
			return floats[i].dtype;
	return DFG_NO_DTYPE;
}

static enum dfg_dtype integer_type(int64_t type)
{
	size_t size = dfg_H5Tget_size(type);
	bool whole = size <= 8 && dfg_H5Tget_precision(type) == 8 * size && !dfg_H5Tget_offset(type);
	return whole ? integers[dfg_H5Tget_sign(type) == 1][size] : DFG_NO_DTYPE;
}

static bool is_named(int64_t type, unsigned member, const char *one, const char *other)
{
	char *name = dfg_H5Tget_member_name(type, member);
	bool is = name && (!strcmp(name, one) || !strcmp(name, other));
	if (name)
		dfg_H5free_memory(name);
	return is;
}

/* Two floats with the names that h5py and others give the parts of a complex number. */
static enum dfg_dtype complex_type(int64_t type)
{
	if (dfg_H5Tget_nmembers(type) != 2 || !is_named(type, 0, "r", "real") || !is_named(type, 1, "i", "imag"))
		return DFG_NO_DTYPE;
	enum dfg_dtype part[2] = {DFG_NO_DTYPE, DFG_NO_DTYPE};
	for (unsigned i = 0; i < 2; i++) {
		int64_t member = dfg_H5Tget_member_type(type, i);
		if (member >= 0 && dfg_H5Tget_class(member) == H5T_FLOAT)
			part[i] = float_type(member);
		if (member >= 0)
			dfg_H5Tclose(member);
	}
	bool joined = part[0] == part[1] && !dfg_H5Tget_member_offset(type, 0) &&
				  dfg_H5Tget_member_offset(type, 1) == dfg_dtype_size(part[0]) &&
				  dfg_H5Tget_size(type) == 2 * dfg_dtype_size(part[0]);
	if (!joined)
		return DFG_NO_DTYPE;
	return part[0] == DFG_F32 ? DFG_C64 : part[0] == DFG_F64 ? DFG_C128 : DFG_NO_DTYPE;
}

/* The integers of an enumeration, or bool where its names are FALSE and TRUE. */
static enum dfg_dtype enum_type(int64_t type)
{
	uint8_t value[2][8] = {{0}};
	int64_t base = dfg_H5Tget_super(type);
	if (base < 0)
		return DFG_NO_DTYPE;
	enum dfg_dtype dtype = integer_type(base);
	dfg_H5Tclose(base);
	if (dfg_dtype_size(dtype) != 1 || dfg_H5Tget_nmembers(type) != 2 || !is_named(type, 0, "FALSE", "False") ||
		!is_named(type, 1, "TRUE", "True"))
		return dtype;
	bool read = dfg_H5Tget_member_value(type, 0, value[0]) >= 0 && dfg_H5Tget_member_value(type, 1, value[1]) >= 0;
	return read && value[0][0] == 0 && value[1][0] == 1 ? DFG_BOOL : dtype;
}

static const char *const classes[] = {"integers", "floats", "times", "text", "bit fields", "opaque data", "structures",
	"references", "enumerations", "lists", "arrays"};

struct dfg_err *dfg_hdf5_type(int64_t type, struct dfg_hdf5_type *out_type, const char **out_words)
{
	int class = dfg_H5Tget_class(type);
	if (class < 0)
		return dfg_hdf5_err("has no valid type");
	*out_words = (size_t) class < sizeof classes / sizeof *classes ? classes[class] : "of an unknown type";
	*out_type = (struct dfg_hdf5_type){.size = dfg_H5Tget_size(type)};
	if (class == H5T_STRING) {
		out_type->dtype = DFG_STRING;
		out_type->variable = dfg_H5Tis_variable_str(type) > 0;
		out_type->padding = dfg_H5Tget_strpad(type);
		if (!out_type->variable || out_type->size == sizeof(char *))
			return NULL;
	} else if (class == H5T_INTEGER) {
		out_type->dtype = integer_type(type);
	} else if (class == H5T_FLOAT) {
		out_type->dtype = float_type(type);
	} else if (class == H5T_COMPOUND) {
		out_type->dtype = complex_type(type);
	} else if (class == H5T_ENUM) {
		out_type->dtype = enum_type(type);
	}
	int order = out_type->size > 1 && out_type->dtype ? dfg_H5Tget_order(type) : H5T_ORDER_LE;
	if ((order != H5T_ORDER_LE && order != H5T_ORDER_BE) || dfg_dtype_size(out_type->dtype) != out_type->size)
		out_type->dtype = DFG_NO_DTYPE;
	if (order == H5T_ORDER_BE)
		out_type->swapped = class == H5T_COMPOUND ? out_type->size / 2 : out_type->size;
	return NULL;
}

/* The length of a string of fixed size. */
static size_t padded_length(const char *s, size_t size, int padding)
{
	if (padding == H5T_STR_NULLTERM)
		return strnlen(s, size);
	while (size && s[size - 1] == (padding == H5T_STR_SPACEPAD ? ' ' : '\0'))
		size--;
	return size;
}

static struct dfg_err *convert_text(
	const struct dfg_hdf5_type *type, const char *from, int64_t count, struct dfg_tensor *to, int64_t element)
{
	for (int64_t i = 0; i < count; i++, from += type->size) {
		const char *s = from;
		if (type->variable)
			memcpy(&s, from, sizeof s);
		size_t length = !s ? 0 : type->variable ? strlen(s) : padded_length(s, type->size, type->padding);
		DFG_TRY(dfg_buffer_string(to->buffer, s, length, dfg_tensor_at(to, element + i)));
	}
	return NULL;
}

struct dfg_err *dfg_hdf5_convert(
	const struct dfg_hdf5_type *type, const void *from, int64_t count, struct dfg_tensor *to, int64_t element)
{
	void *at = dfg_tensor_at(to, element);
	if (type->dtype == DFG_STRING)
		return convert_text(type, from, count, to, element);
	if (type->swapped)
		dfg_copy_swapped(at, from, (size_t)count * type->size, type->swapped);
	const struct dfg_tensor read = {.dtype = to->dtype, .shape = DFG_SHAPE_VECTOR(count), .data = at};
	return dfg_array_check_bools(&read);
}
