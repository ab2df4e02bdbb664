#include "formats/npy.h"

#include "formats/bytes.h"

#include <string.h>

static const uint8_t magic[] = {0x93, 'N', 'U', 'M', 'P', 'Y'};

/*
 * The header is a Python literal; only the form that numpy writes for plain arrays is accepted. The limit is numpy's.
 */
enum { HEADER_MOST = 10000 };

struct scan {
	const char *at, *end;
};

static void skip_space(struct scan *scan)
{
	while (scan->at < scan->end && (*scan->at == ' ' || *scan->at == '\n'))
		scan->at++;
}

static bool take(struct scan *scan, char c)
{
	skip_space(scan);
	if (scan->at == scan->end || *scan->at != c)
		return false;
	scan->at++;
	return true;
}

static bool take_word(struct scan *scan, const char *word)
{
	struct scan try = *scan;
	if (!take(&try, *word) || (size_t)(try.end - try.at) < strlen(word + 1) ||
		memcmp(try.at, word + 1, strlen(word + 1)))
		return false;
	scan->at = try.at + strlen(word + 1);
	return true;
}

/* 'text' or "text", without escapes. */
static bool take_string(struct scan *scan, char *to, size_t capacity)
{
	char quote = take(scan, '\'') ? '\'' : take(scan, '"') ? '"' : 0;
	const char *close = quote ? memchr(scan->at, quote, (size_t)(scan->end - scan->at)) : NULL;
	if (!close || (size_t)(close - scan->at) >= capacity || memchr(scan->at, '\\', (size_t)(close - scan->at)))
		return false;
	memcpy(to, scan->at, (size_t)(close - scan->at));
	to[close - scan->at] = '\0';
	scan->at = close + 1;
	return true;
}

static bool take_number(struct scan *scan, int64_t *out_number)
{
	int64_t number = 0;
	while (scan->at < scan->end && *scan->at == ' ')
		scan->at++;
	const char *start = scan->at;
	for (; scan->at < scan->end && *scan->at >= '0' && *scan->at <= '9'; scan->at++)
		if (__builtin_mul_overflow(number, 10, &number) || __builtin_add_overflow(number, *scan->at - '0', &number))
			return false;
	*out_number = number;
	return scan->at > start;
}

/* "(2, 3)", "(2,)", "()" */
static struct dfg_err *take_shape(struct scan *scan, struct dfg_shape *out_shape)
{
	*out_shape = DFG_SHAPE_SCALAR;
	if (!take(scan, '('))
		return DFG_ERR(DFG_DATA, "npy header: the shape is not a tuple");
	bool comma = true;
	while (!take(scan, ')')) {
		int64_t dim;
		if (!comma || !take_number(scan, &dim))
			return DFG_ERR(DFG_DATA, "npy header: the shape is not a tuple of numbers");
		if (out_shape->rank == DFG_RANK_MAX)
			return DFG_ERR(DFG_DATA, "the shape has more than %d dimensions", DFG_RANK_MAX);
		out_shape->dim[out_shape->rank++] = dim;
		comma = take(scan, ',');
	}
	return NULL;
}

static enum dfg_dtype plain_dtype(char kind, size_t width)
{
	static const struct {
		char kind;
		unsigned char width, dtype;
	} dtypes[] = {
		{'f', 2, DFG_F16},
		{'f', 4, DFG_F32},
		{'f', 8, DFG_F64},
		{'V', 2, DFG_BF16},
		{'i', 1, DFG_I8},
		{'i', 2, DFG_I16},
		{'i', 4, DFG_I32},
		{'i', 8, DFG_I64},
		{'u', 1, DFG_U8},
		{'u', 2, DFG_U16},
		{'u', 4, DFG_U32},
		{'u', 8, DFG_U64},
		{'b', 1, DFG_BOOL},
		{'c', 8, DFG_C64},
		{'c', 16, DFG_C128},
	};
	for (size_t i = 0; i < sizeof dtypes / sizeof *dtypes; i++)
		if (dtypes[i].kind == kind && dtypes[i].width == width)
			return dtypes[i].dtype;
	return DFG_NO_DTYPE;
}

/* "<f4", "|S12" */
static struct dfg_err *read_descr(const char *descr, struct dfg_npy_header *header)
{
	char order = *descr && strchr("<>|=", *descr) ? *descr++ : '|';
	int64_t width;
	struct scan scan = {descr + !!*descr, descr + strlen(descr)};
	header->kind = *descr;
	if (*descr == 'O')
		return DFG_ERR(DFG_DATA,
			"holds Python objects (a pickle), which are not supported: save numbers, or strings as bytes (S)");
	if (!take_number(&scan, &width) || *scan.at || width > INT32_MAX)
		return DFG_ERR(DFG_DATA, "numpy's dtype '%.40s' is not supported", descr);
	header->width = (size_t)width;
	header->swapped = order == '>';
	if (*descr == 'S')
		header->dtype = DFG_STRING;
	else if (*descr == 'U')
		return DFG_ERR(DFG_DATA, "numpy's dtype '%.40s' is not supported: save strings as bytes (S)", descr);
	else
		header->dtype = plain_dtype(header->kind, header->width);
	return header->dtype ? NULL : DFG_ERR(DFG_DATA, "numpy's dtype '%.40s' is not supported", descr);
}

/* The three keys, each once, in any order. */
static struct dfg_err *read_literal(struct scan *scan, struct dfg_npy_header *header)
{
	char key[16], descr[64];
	bool has_descr = false, has_order = false, has_shape = false, comma = true;
	if (!take(scan, '{'))
		return DFG_ERR(DFG_DATA, "npy header: it is not a Python dictionary");
	while (!take(scan, '}')) {
		if (!comma || !take_string(scan, key, sizeof key) || !take(scan, ':'))
			return DFG_ERR(DFG_DATA, "npy header: it is not a Python dictionary of three keys");
		if (!strcmp(key, "descr") && !has_descr) {
			has_descr = true;
			if (!take_string(scan, descr, sizeof descr))
				return DFG_ERR(DFG_DATA, "structured dtypes are not supported: save each field as an array of its own");
			DFG_TRY(read_descr(descr, header));
		} else if (!strcmp(key, "fortran_order") && !has_order) {
			has_order = true;
			header->fortran = take_word(scan, "True");
			if (!header->fortran && !take_word(scan, "False"))
				return DFG_ERR(DFG_DATA, "npy header: fortran_order is neither True nor False");
		} else if (!strcmp(key, "shape") && !has_shape) {
			has_shape = true;
			DFG_TRY(take_shape(scan, &header->shape));
		} else {
			return DFG_ERR(DFG_DATA, "npy header: key '%s' is unknown or repeated", key);
		}
		comma = take(scan, ',');
	}
	skip_space(scan);
	if (scan->at != scan->end)
		return DFG_ERR(DFG_DATA, "npy header: unexpected text after the dictionary");
	if (!has_descr || !has_order || !has_shape)
		return DFG_ERR(DFG_DATA, "npy header: descr, fortran_order or shape is missing");
	return NULL;
}

/*
 * Computes the bytes of the elements in the file. The product omits zero dimensions, so that a zero does not hide an
 * overflow.
 */
static struct dfg_err *count_bytes(struct dfg_npy_header *header)
{
	size_t bytes = header->width, in_memory;
	bool empty = false;
	DFG_TRY(dfg_shape_bytes(&header->shape, header->dtype, &in_memory));
	for (int i = 0; i < header->shape.rank; i++) {
		empty |= !header->shape.dim[i];
		if (header->shape.dim[i] && __builtin_mul_overflow(bytes, (size_t)header->shape.dim[i], &bytes))
			return DFG_ERR(
				DFG_DATA, "an array of shape %s is larger than a file can hold", dfg_shape_words(&header->shape).s);
	}
	if (!header->width && !empty)
		return DFG_ERR(DFG_DATA, "strings have width 0, expected at least 1");
	header->bytes = empty ? 0 : bytes;
	return NULL;
}

struct dfg_err *dfg_npy_header(const uint8_t *bytes, size_t size, size_t *out_size, struct dfg_npy_header *out_header)
{
	*out_header = (struct dfg_npy_header){0};
	size_t least = sizeof magic + 4, length;
	size_t known = size < sizeof magic ? size : sizeof magic;
	if (known && memcmp(bytes, magic, known))
		return DFG_ERR(DFG_DATA, "it is not an npy file");
	bool small = size > sizeof magic && bytes[6] == 1;
	least += small ? 0 : 2;
	*out_size = least;
	if (size < least)
		return NULL;
	if (bytes[6] < 1 || bytes[6] > 3 || bytes[7])
		return DFG_ERR(DFG_DATA, "npy version %d.%d is not supported; 1.0, 2.0 and 3.0 are", bytes[6], bytes[7]);
	length = small ? dfg_le16(bytes + 8) : dfg_le32(bytes + 8);
	if (length > HEADER_MOST)
		return DFG_ERR(DFG_DATA, "the npy header has %zu bytes, the limit is %d", length, HEADER_MOST);
	*out_size = least + length;
	if (size < *out_size)
		return NULL;
	struct scan scan = {(const char *)bytes + least, (const char *)bytes + least + length};
	DFG_TRY(read_literal(&scan, out_header));
	out_header->offset = *out_size;
	DFG_TRY(count_bytes(out_header));
	if (__builtin_add_overflow(*out_size, out_header->bytes, out_size))
		return DFG_ERR(
			DFG_DATA, "an array of shape %s is larger than a file can hold", dfg_shape_words(&out_header->shape).s);
	return NULL;
}

static void copy_swapped(uint8_t *to, const uint8_t *from, size_t width, bool swap)
{
	if (!swap)
		memcpy(to, from, width);
	else
		for (size_t i = 0; i < width; i++)
			to[i] = from[width - 1 - i];
}

/* numpy pads strings with zeros, and cannot distinguish them from trailing zeros of a string. */
static struct dfg_err *copy_element(
	const struct dfg_npy_header *header, const uint8_t *from, int64_t i, struct dfg_tensor *to)
{
	size_t part = header->kind == 'c' ? header->width / 2 : header->width;
	if (header->kind == 'S') {
		size_t length = header->width;
		while (length && !from[length - 1])
			length--;
		return dfg_buffer_string(to->buffer, from, length, dfg_tensor_at(to, i));
	}
	for (size_t at = 0; at < header->width; at += part)
		copy_swapped((uint8_t *)dfg_tensor_at(to, i) + at, from + at, part, header->swapped);
	return NULL;
}

/* Copies element by element in C order; `from` advances by the strides of the file. */
static struct dfg_err *copy_elements(const struct dfg_npy_header *header, const uint8_t *from, struct dfg_tensor *to)
{
	const struct dfg_shape *shape = &header->shape;
	int64_t stride[DFG_RANK_MAX], at[DFG_RANK_MAX] = {0}, step = (int64_t)header->width;
	for (int k = 0; k < shape->rank; k++) {
		int d = header->fortran ? k : shape->rank - 1 - k;
		stride[d] = step;
		step *= shape->dim[d];
	}
	int64_t count = dfg_shape_count(shape);
	for (int64_t i = 0; i < count; i++) {
		DFG_TRY(copy_element(header, from, i, to));
		for (int d = shape->rank - 1; d >= 0; d--) {
			from += stride[d];
			if (++at[d] < shape->dim[d])
				break;
			from -= stride[d] * shape->dim[d];
			at[d] = 0;
		}
	}
	return NULL;
}

struct dfg_err *dfg_array_check_bools(const struct dfg_tensor *tensor)
{
	const uint8_t *byte = tensor->data;
	int64_t count = tensor->dtype == DFG_BOOL ? dfg_shape_count(&tensor->shape) : 0;
	for (int64_t i = 0; i < count; i++)
		if (byte[i] > 1)
			return DFG_ERR(DFG_DATA, "element %lld is %d, which is not a bool", (long long)i, byte[i]);
	return NULL;
}

struct dfg_err *dfg_array_view(enum dfg_dtype dtype, const struct dfg_shape *shape, const uint8_t *data,
	struct dfg_buffer *file, struct dfg_tensor *out_tensor)
{
	size_t bytes, element = dfg_dtype_size(dtype);
	*out_tensor = (struct dfg_tensor){0};
	DFG_TRY(dfg_shape_bytes(shape, dtype, &bytes));
	struct dfg_tensor view = {.dtype = dtype, .shape = *shape, .data = (void *)data, .capacity = bytes, .buffer = file};
	DFG_TRY(dfg_array_check_bools(&view));
	if (!file || (uintptr_t)data % (element < 16 ? element : 16)) {
		DFG_TRY(dfg_tensor_new(dtype, shape, out_tensor));
		if (bytes)
			memcpy(out_tensor->data, data, bytes);
		return NULL;
	}
	dfg_buffer_ref(file);
	*out_tensor = view;
	return NULL;
}

struct dfg_err *dfg_npy_tensor(
	const uint8_t *bytes, size_t size, struct dfg_buffer *file, struct dfg_tensor *out_tensor)
{
	struct dfg_npy_header header;
	size_t whole;
	*out_tensor = (struct dfg_tensor){0};
	DFG_TRY(dfg_npy_header(bytes, size, &whole, &header));
	if (size < whole)
		return DFG_ERR(DFG_DATA, "the npy data is truncated: %zu bytes of %zu", size, whole);
	if (size > whole)
		return DFG_ERR(DFG_DATA, "the npy data is followed by %zu more bytes", size - whole);
	bool as_is =
		header.kind != 'S' && (!header.swapped || header.width == 1) && (!header.fortran || header.shape.rank < 2);
	if (as_is)
		return dfg_array_view(header.dtype, &header.shape, bytes + header.offset, file, out_tensor);
	DFG_TRY(dfg_tensor_new(header.dtype, &header.shape, out_tensor));
	struct dfg_err *err = copy_elements(&header, bytes + header.offset, out_tensor);
	if (!err)
		err = dfg_array_check_bools(out_tensor);
	if (err)
		dfg_tensor_release(out_tensor);
	return err;
}

static bool is_npy(const uint8_t *bytes, size_t size)
{
	return size >= sizeof magic && !memcmp(bytes, magic, sizeof magic);
}

static struct dfg_err *read_npy(const struct dfg_blob *blob, struct dfg_buffer *file, struct dfg_arrays *out_arrays)
{
	struct dfg_tensor tensor;
	DFG_TRY(dfg_npy_tensor(blob->bytes, blob->size, file, &tensor));
	return dfg_arrays_add(out_arrays, "", &tensor);
}

static struct dfg_err *write_npy(const struct dfg_arrays *arrays, struct dfg_out *out)
{
	struct dfg_sink sink = dfg_out_sink(out);
	return dfg_npy_put(&arrays->array[0].tensor, &sink);
}

const struct dfg_array_codec dfg_npy = {
	.name = "npy", .suffix = ".npy", .many = false, .is = is_npy, .read = read_npy, .write = write_npy};
