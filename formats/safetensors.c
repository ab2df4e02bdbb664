#include "formats/array.h"
#include "formats/bytes.h"
#include "formats/json.h"
#include "formats/npy.h"

#include <stdlib.h>
#include <string.h>

/*
 * Eight bytes of header length, a JSON header, the elements. The elements of all tensors cover the remainder of the
 * file without gaps and overlap, so that a file is unambiguous.
 */
enum { LENGTH = 8, HEADER_MOST = 100000000, ALIGN = 64 };

static const struct {
	const char *name;
	unsigned char dtype;
} dtypes[] = {
	{"F64", DFG_F64},
	{"F32", DFG_F32},
	{"F16", DFG_F16},
	{"BF16", DFG_BF16},
	{"I64", DFG_I64},
	{"I32", DFG_I32},
	{"I16", DFG_I16},
	{"I8", DFG_I8},
	{"U64", DFG_U64},
	{"U32", DFG_U32},
	{"U16", DFG_U16},
	{"U8", DFG_U8},
	{"BOOL", DFG_BOOL},
	{"C64", DFG_C64},
	{"F8_E5M2", DFG_F8E5M2},
	{"F8_E4M3", DFG_F8E4M3},
};
enum { DTYPES = sizeof dtypes / sizeof *dtypes };

static enum dfg_dtype find_dtype(const char *name)
{
	for (int i = 0; i < DTYPES; i++)
		if (!strcmp(dtypes[i].name, name))
			return dtypes[i].dtype;
	return DFG_NO_DTYPE;
}

static const char *dtype_name(enum dfg_dtype dtype)
{
	for (int i = 0; i < DTYPES; i++)
		if (dtypes[i].dtype == dtype)
			return dtypes[i].name;
	return NULL;
}

bool dfg_safetensors_holds(enum dfg_dtype dtype)
{
	return dtype_name(dtype);
}

/* The range of a tensor's elements, relative to the end of the header. */
struct span {
	uint64_t begin, end;
};

static struct dfg_err *read_sizes(const struct dfg_json *array, const char *what, uint64_t *to, size_t most)
{
	size_t i = 0;
	if (array->count > most)
		return DFG_ERR(DFG_DATA, "%s has %zu numbers, the limit is %zu", what, array->count, most);
	for (const struct dfg_json *number = array->first; number; number = number->next) {
		if (!number->whole || number->integer < 0)
			return DFG_ERR(DFG_DATA, "%s must contain integers of at least 0", what);
		to[i++] = (uint64_t)number->integer;
	}
	return NULL;
}

static struct dfg_err *read_entry(
	const struct dfg_json *entry, enum dfg_dtype *out_dtype, struct dfg_shape *out_shape, struct span *out_span)
{
	const struct dfg_json *dtype, *shape, *offsets;
	uint64_t number[DFG_RANK_MAX] = {0};
	size_t bytes;
	DFG_TRY(dfg_json_need(entry, "dtype", DFG_JSON_STRING, &dtype));
	DFG_TRY(dfg_json_need(entry, "shape", DFG_JSON_ARRAY, &shape));
	DFG_TRY(dfg_json_need(entry, "data_offsets", DFG_JSON_ARRAY, &offsets));
	*out_dtype = find_dtype(dtype->string);
	if (!*out_dtype)
		return DFG_ERR(DFG_DATA, "dtype '%.40s' is unknown: expected one such as F32 or I64", dtype->string);
	DFG_TRY(read_sizes(shape, "shape", number, DFG_RANK_MAX));
	*out_shape = (struct dfg_shape){.rank = (int)shape->count};
	for (size_t i = 0; i < shape->count; i++)
		out_shape->dim[i] = (int64_t)number[i];
	DFG_TRY(dfg_shape_bytes(out_shape, *out_dtype, &bytes));
	if (offsets->count != 2)
		return DFG_ERR(DFG_DATA, "data_offsets has %zu numbers, expected 2", offsets->count);
	DFG_TRY(read_sizes(offsets, "data_offsets", number, 2));
	*out_span = (struct span){number[0], number[1]};
	if (out_span->begin > out_span->end || out_span->end - out_span->begin != bytes)
		return DFG_ERR(DFG_DATA, "data_offsets [%llu,%llu] do not span the %zu bytes that %s requires",
			(unsigned long long)number[0], (unsigned long long)number[1], bytes,
			dfg_type_words(*out_dtype, out_shape).s);
	return NULL;
}

static struct dfg_err *check_metadata(const struct dfg_json *metadata)
{
	if (metadata->kind != DFG_JSON_OBJECT)
		return DFG_ERR(DFG_DATA, "is %s, not an object", dfg_json_kind_name(metadata->kind));
	for (const struct dfg_json *member = metadata->first; member; member = member->next)
		if (member->kind != DFG_JSON_STRING)
			return DFG_ERR(DFG_DATA, "\"%s\" is %s, not a string", member->key, dfg_json_kind_name(member->kind));
	return NULL;
}

static int by_place(const void *a, const void *b)
{
	const struct span *one = a, *two = b;
	if (one->begin != two->begin)
		return one->begin < two->begin ? -1 : 1;
	return (one->end > two->end) - (one->end < two->end);
}

static struct dfg_err *check_cover(struct span *span, size_t count, uint64_t size)
{
	uint64_t at = 0;
	if (count)
		qsort(span, count, sizeof *span, by_place);
	for (size_t i = 0; i < count; i++) {
		if (span[i].begin != at)
			return DFG_ERR(DFG_DATA, "the arrays %s at byte %llu of the elements",
				span[i].begin < at ? "overlap" : "leave a hole", (unsigned long long)at);
		at = span[i].end;
	}
	if (at != size)
		return DFG_ERR(DFG_DATA, "the file has %llu bytes of elements, but the header declares %llu",
			(unsigned long long)size, (unsigned long long)at);
	return NULL;
}

static struct dfg_err *read_tensor(const struct dfg_json *entry, const uint8_t *data, uint64_t size, struct span *span,
	struct dfg_buffer *file, struct dfg_tensor *out_tensor)
{
	enum dfg_dtype dtype;
	struct dfg_shape shape;
	if (entry->kind != DFG_JSON_OBJECT)
		return DFG_ERR(DFG_DATA, "is %s, not an object", dfg_json_kind_name(entry->kind));
	DFG_TRY(read_entry(entry, &dtype, &shape, span));
	if (span->end > size)
		return DFG_ERR(DFG_DATA, "ends %llu bytes after the end of the file", (unsigned long long)(span->end - size));
	return dfg_array_view(dtype, &shape, data + span->begin, file, out_tensor);
}

static struct dfg_err *read_tensors(const struct dfg_json *header, const struct dfg_blob *rest, struct span *span,
	struct dfg_buffer *file, struct dfg_arrays *arrays)
{
	size_t count = 0;
	for (const struct dfg_json *entry = header->first; entry; entry = entry->next) {
		struct dfg_tensor tensor;
		struct dfg_err *err;
		if (!strcmp(entry->key, "__metadata__")) {
			DFG_TRY(dfg_err_note(check_metadata(entry), "__metadata__"));
			continue;
		}
		err = read_tensor(entry, rest->bytes, rest->size, &span[count++], file, &tensor);
		if (!err)
			err = dfg_arrays_add(arrays, entry->key, &tensor);
		DFG_TRY(dfg_err_note(err, "%.200s", entry->key));
	}
	return check_cover(span, count, rest->size);
}

static struct dfg_err *read_safetensors(
	const struct dfg_blob *blob, struct dfg_buffer *file, struct dfg_arrays *out_arrays)
{
	uint64_t length = blob->size < LENGTH ? 0 : dfg_le64(blob->bytes);
	if (blob->size < LENGTH || length > blob->size - LENGTH)
		return DFG_ERR(DFG_DATA, "the header should have %llu bytes, but the whole file has %zu",
			(unsigned long long)length, blob->size);
	if (length > HEADER_MOST)
		return DFG_ERR(DFG_DATA, "the header has %llu bytes, the limit is %d", (unsigned long long)length, HEADER_MOST);
	const char *text = (const char *)blob->bytes + LENGTH;
	if (!length || *text != '{')
		return DFG_ERR(DFG_DATA, "the header does not begin with '{'");
	struct dfg_arena arena = {.limit = ((size_t)64 << 20) + 16 * length};
	struct dfg_blob rest = {blob->bytes + LENGTH + length, blob->size - LENGTH - length, false};
	struct dfg_json *header;
	struct dfg_err *err = dfg_err_note(dfg_json_read(text, length, &arena, &header), "header");
	struct span *span = err ? NULL : dfg_arena_zeros(&arena, header->count, sizeof *span);
	if (!err && !span)
		err = dfg_no_memory("the safetensors header");
	if (!err)
		err = read_tensors(header, &rest, span, file, out_arrays);
	dfg_arena_release(&arena);
	return err;
}

static bool is_safetensors(const uint8_t *bytes, size_t size)
{
	return size > LENGTH && bytes[LENGTH] == '{' && dfg_le64(bytes) <= UINT32_MAX;
}

static int by_name(const void *a, const void *b)
{
	const struct dfg_array *const *one = a, *const *two = b;
	return strcmp((*one)->name, (*two)->name);
}

/* Sorts large elements first, so that each array is aligned. */
static int by_width(const void *a, const void *b)
{
	const struct dfg_array *const *one = a, *const *two = b;
	size_t first = dfg_dtype_size((*one)->tensor.dtype), second = dfg_dtype_size((*two)->tensor.dtype);
	return first != second ? (first < second ? 1 : -1) : by_name(a, b);
}

/* The offset of each array: the sum of the sizes of those before it. */
static uint64_t *assign_offsets(const struct dfg_array **sorted, size_t count, const struct dfg_arrays *arrays)
{
	uint64_t *begin = dfg_zeros(count, sizeof *begin), at = 0;
	for (size_t i = 0; begin && i < count; i++) {
		begin[sorted[i] - arrays->array] = at;
		at += dfg_tensor_bytes(&sorted[i]->tensor);
	}
	return begin;
}

static void print_entry(const struct dfg_array *array, uint64_t begin, struct dfg_json_out *json)
{
	const struct dfg_shape *shape = &array->tensor.shape;
	dfg_json_key(json, array->name);
	dfg_json_open(json, '{');
	dfg_json_key(json, "dtype");
	dfg_json_string(json, dtype_name(array->tensor.dtype));
	dfg_json_key(json, "shape");
	dfg_json_open(json, '[');
	for (int i = 0; i < shape->rank; i++)
		dfg_json_int(json, shape->dim[i]);
	dfg_json_close(json, ']');
	dfg_json_key(json, "data_offsets");
	dfg_json_open(json, '[');
	dfg_json_uint(json, begin);
	dfg_json_uint(json, begin + dfg_tensor_bytes(&array->tensor));
	dfg_json_close(json, ']');
	dfg_json_close(json, '}');
}

/* Padded with spaces so that the elements begin at a multiple of 64. */
static struct dfg_err *put_header(
	const struct dfg_array **sorted, size_t count, const struct dfg_array *first, uint64_t *begin, struct dfg_out *out)
{
	uint8_t length[LENGTH];
	struct dfg_json_out json = {0};
	dfg_json_open(&json, '{');
	for (size_t i = 0; i < count; i++)
		print_entry(sorted[i], begin[sorted[i] - first], &json);
	dfg_json_close(&json, '}');
	while (!json.text.short_of_memory && (LENGTH + json.text.length) % ALIGN)
		dfg_text_put(&json.text, " ", 1);
	struct dfg_err *err = dfg_text_check(&json.text);
	dfg_put_le(length, json.text.length, LENGTH);
	if (!err)
		err = dfg_out_write(out, length, LENGTH);
	if (!err)
		err = dfg_out_write(out, json.text.s, json.text.length);
	dfg_text_release(&json.text);
	return err;
}

static struct dfg_err *put_all(
	const struct dfg_arrays *arrays, const struct dfg_array **sorted, uint64_t **begin, struct dfg_out *out)
{
	for (size_t i = 0; i < arrays->count; i++) {
		sorted[i] = &arrays->array[i];
		if (!dtype_name(sorted[i]->tensor.dtype))
			return DFG_ERR(DFG_DATA, "%s: safetensors has no dtype for %s", sorted[i]->name,
				dfg_dtype_name(sorted[i]->tensor.dtype));
		if (!strcmp(sorted[i]->name, "__metadata__"))
			return DFG_ERR(DFG_DATA, "safetensors reserves the name '__metadata__'");
	}
	qsort(sorted, arrays->count, sizeof *sorted, by_width);
	if (!(*begin = assign_offsets(sorted, arrays->count, arrays)))
		return dfg_no_memory("the safetensors header");
	qsort(sorted, arrays->count, sizeof *sorted, by_name);
	DFG_TRY(put_header(sorted, arrays->count, arrays->array, *begin, out));
	qsort(sorted, arrays->count, sizeof *sorted, by_width);
	for (size_t i = 0; i < arrays->count; i++)
		DFG_TRY(dfg_out_write(out, sorted[i]->tensor.data, dfg_tensor_bytes(&sorted[i]->tensor)));
	return NULL;
}

static struct dfg_err *write_safetensors(const struct dfg_arrays *arrays, struct dfg_out *out)
{
	uint64_t *begin = NULL;
	const struct dfg_array **sorted = dfg_zeros(arrays->count, sizeof *sorted);
	struct dfg_err *err = sorted ? put_all(arrays, sorted, &begin, out) : dfg_no_memory("the safetensors header");
	dfg_free(begin);
	dfg_free(sorted);
	return err;
}

const struct dfg_array_codec dfg_safetensors = {.name = "safetensors",
	.suffix = ".safetensors",
	.many = true,
	.is = is_safetensors,
	.read = read_safetensors,
	.write = write_safetensors};
