#include "formats/npy.h"

#include "formats/bytes.h"
#include "lib/base/text.h"

#include <stdio.h>
#include <string.h>

static struct dfg_err *put_out(void *arg, const void *bytes, size_t count)
{
	return dfg_out_write(arg, bytes, count);
}

struct dfg_sink dfg_out_sink(struct dfg_out *out)
{
	return (struct dfg_sink){put_out, out};
}

static const char *descr(enum dfg_dtype dtype)
{
	switch (dtype) {
	case DFG_F16:
		return "<f2";
	case DFG_BF16:
		return "|V2";
	case DFG_F32:
		return "<f4";
	case DFG_F64:
		return "<f8";
	case DFG_I8:
		return "|i1";
	case DFG_I16:
		return "<i2";
	case DFG_I32:
		return "<i4";
	case DFG_I64:
		return "<i8";
	case DFG_U8:
		return "|u1";
	case DFG_U16:
		return "<u2";
	case DFG_U32:
		return "<u4";
	case DFG_U64:
		return "<u8";
	case DFG_C64:
		return "<c8";
	case DFG_C128:
		return "<c16";
	case DFG_BOOL:
		return "|b1";
	default:
		return NULL;
	}
}

/* The length of the longest string, at least 1 as in numpy. DFG_DATA for a trailing zero, which would be lost. */
static struct dfg_err *string_width(const struct dfg_tensor *tensor, size_t *out_width)
{
	const struct dfg_string *element = tensor->data;
	int64_t count = dfg_shape_count(&tensor->shape);
	*out_width = 1;
	for (int64_t i = 0; i < count; i++) {
		if (element[i].length && !element[i].s[element[i].length - 1])
			return DFG_ERR(DFG_DATA, "string %lld ends in a zero byte, which npy cannot represent", (long long)i);
		if (element[i].length > *out_width)
			*out_width = element[i].length;
	}
	return NULL;
}

/*
 * Byte for byte as numpy writes it: spaces for as many digits as the first dimension may have, then up to a multiple of
 * 64, so that the elements are aligned in a mapped file.
 */
static void print_header(const char *type, const struct dfg_shape *shape, struct dfg_text *out)
{
	char first[24] = "";
	dfg_text_add(out, "{'descr': '%s', 'fortran_order': False, 'shape': (", type);
	for (int i = 0; i < shape->rank; i++)
		dfg_text_add(out, i ? ", %lld" : "%lld", (long long)shape->dim[i]);
	dfg_text_add(out, "%s), }", shape->rank == 1 ? "," : "");
	if (shape->rank)
		snprintf(first, sizeof first, "%lld", (long long)shape->dim[0]);
	size_t spare = shape->rank ? 21 - strlen(first) : 0;
	for (size_t least = out->length + spare; out->length < least || (10 + out->length + 1) % 64;) {
		if (out->short_of_memory)
			return;
		dfg_text_put(out, " ", 1);
	}
	dfg_text_put(out, "\n", 1);
}

static struct dfg_err *put_header(const char *type, const struct dfg_shape *shape, const struct dfg_sink *sink)
{
	uint8_t prefix[10] = {0x93, 'N', 'U', 'M', 'P', 'Y', 1, 0};
	struct dfg_text text = {0};
	print_header(type, shape, &text);
	struct dfg_err *err = dfg_text_check(&text);
	dfg_put_le(prefix + 8, text.length, 2);
	if (!err)
		err = sink->put(sink->arg, prefix, sizeof prefix);
	if (!err)
		err = sink->put(sink->arg, text.s, text.length);
	dfg_text_release(&text);
	return err;
}

static struct dfg_err *put_strings(const struct dfg_tensor *tensor, const struct dfg_sink *sink)
{
	static const char zeros[256];
	char type[24];
	size_t width;
	const struct dfg_string *element = tensor->data;
	int64_t count = dfg_shape_count(&tensor->shape);
	DFG_TRY(string_width(tensor, &width));
	snprintf(type, sizeof type, "|S%zu", width);
	DFG_TRY(put_header(type, &tensor->shape, sink));
	for (int64_t i = 0; i < count; i++) {
		DFG_TRY(sink->put(sink->arg, element[i].s, element[i].length));
		for (size_t left = width - element[i].length, n; left; left -= n) {
			n = left < sizeof zeros ? left : sizeof zeros;
			DFG_TRY(sink->put(sink->arg, zeros, n));
		}
	}
	return NULL;
}

struct dfg_err *dfg_npy_put(const struct dfg_tensor *tensor, const struct dfg_sink *sink)
{
	if (tensor->dtype == DFG_STRING)
		return put_strings(tensor, sink);
	const char *type = descr(tensor->dtype);
	if (!type)
		return DFG_ERR(DFG_DATA, "npy has no dtype for %s", dfg_dtype_name(tensor->dtype));
	DFG_TRY(put_header(type, &tensor->shape, sink));
	return sink->put(sink->arg, tensor->data, dfg_tensor_bytes(tensor));
}
