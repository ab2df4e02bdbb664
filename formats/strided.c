#include "formats/strided.h"

#include "formats/bytes.h"
#include "formats/npy.h"

#include <string.h>

struct strided_reader {
	struct dfg_row_reader base; /* first member */
	struct dfg_strided strided;
	struct dfg_buffer *file;
	size_t row; /* bytes */
};

static void release(struct dfg_row_reader *reader)
{
	struct strided_reader *self = (struct strided_reader *)reader;
	dfg_buffer_unref(self->file);
	dfg_free(self);
}

/* A string of one byte for each; a zero is an empty one. */
static struct dfg_err *read_characters(const uint8_t *from, size_t count, struct dfg_tensor *to, int64_t element)
{
	for (size_t i = 0; i < count; i++)
		DFG_TRY(dfg_buffer_string(to->buffer, from + i, from[i] != 0, dfg_tensor_at(to, element + (int64_t)i)));
	return NULL;
}

static struct dfg_err *read_rows(
	struct dfg_row_reader *reader, int64_t first, int64_t n, struct dfg_tensor *to, int64_t row)
{
	const struct strided_reader *self = (const struct strided_reader *)reader;
	const struct dfg_strided *strided = &self->strided;
	size_t width = dfg_dtype_size(reader->dtype);
	int64_t elements = (int64_t)(self->row / (reader->dtype == DFG_STRING ? 1 : width));
	for (int64_t i = 0; i < n; i++) {
		const uint8_t *from = strided->data + (size_t)(first + i) * strided->stride;
		int64_t element = (row + i) * elements;
		if (reader->dtype == DFG_STRING)
			DFG_TRY(read_characters(from, self->row, to, element));
		else if (strided->swapped)
			dfg_copy_swapped(dfg_tensor_at(to, element), from, self->row, width);
		else
			memcpy(dfg_tensor_at(to, element), from, self->row);
	}
	struct dfg_shape shape = {.rank = 1, .dim = {n * elements}};
	struct dfg_tensor read = {.dtype = to->dtype, .shape = shape, .data = dfg_tensor_at(to, row * elements)};
	return dfg_err_note(
		dfg_array_check_bools(&read), "rows %lld to %lld", (long long)first, (long long)(first + n - 1));
}

/* The bytes of a row in the file, in which a string is one character. */
static struct dfg_err *row_bytes(const struct dfg_strided *strided, size_t *out_bytes)
{
	struct dfg_shape row = strided->shape;
	if (row.rank)
		row.dim[0] = 1;
	return dfg_shape_bytes(&row, strided->dtype == DFG_STRING ? DFG_U8 : strided->dtype, out_bytes);
}

struct dfg_err *dfg_strided_open(
	const struct dfg_strided *strided, struct dfg_buffer *file, struct dfg_array_rows *out_rows)
{
	size_t row, whole;
	*out_rows = (struct dfg_array_rows){0};
	DFG_TRY(row_bytes(strided, &row));
	DFG_TRY(dfg_shape_bytes(&strided->shape, strided->dtype, &whole));
	bool alone = strided->shape.rank == 0 || strided->shape.dim[0] < 2 || strided->stride == row;
	if (alone && !strided->swapped && strided->dtype != DFG_STRING)
		return dfg_array_view(strided->dtype, &strided->shape, strided->data, file, &out_rows->all);
	struct strided_reader *self = dfg_zeros(1, sizeof *self);
	if (!self)
		return dfg_no_memory("a reader of rows");
	*self = (struct strided_reader){
		{strided->dtype, strided->shape, read_rows, release}, *strided, dfg_buffer_ref(file), row};
	out_rows->reader = &self->base;
	return NULL;
}
