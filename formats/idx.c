#include "formats/array.h"
#include "formats/bytes.h"
#include "formats/npy.h"

/* Two zeros, the element type, the rank; the dims and the elements are big-endian. MNIST's format. */
static const struct {
	unsigned char code, dtype;
} dtypes[] = {{0x08, DFG_U8}, {0x09, DFG_I8}, {0x0b, DFG_I16}, {0x0c, DFG_I32}, {0x0d, DFG_F32}, {0x0e, DFG_F64}};
enum { DTYPES = sizeof dtypes / sizeof *dtypes };

static enum dfg_dtype find_dtype(uint8_t code)
{
	for (int i = 0; i < DTYPES; i++)
		if (dtypes[i].code == code)
			return dtypes[i].dtype;
	return DFG_NO_DTYPE;
}

static bool is_idx(const uint8_t *bytes, size_t size)
{
	return size >= 4 && !bytes[0] && !bytes[1] && find_dtype(bytes[2]);
}

static struct dfg_err *read_idx(const struct dfg_blob *blob, struct dfg_buffer *file, struct dfg_arrays *out_arrays)
{
	struct dfg_tensor tensor;
	struct dfg_shape shape = {.rank = blob->bytes[3]};
	enum dfg_dtype dtype = find_dtype(blob->bytes[2]);
	size_t bytes, offset = 4 + 4 * (size_t)shape.rank;
	if (shape.rank > DFG_RANK_MAX)
		return DFG_ERR(DFG_DATA, "has %d dimensions, the limit is %d", shape.rank, DFG_RANK_MAX);
	if (offset > blob->size)
		return DFG_ERR(DFG_DATA, "the header is truncated");
	for (int i = 0; i < shape.rank; i++)
		shape.dim[i] = dfg_be32(blob->bytes + 4 + 4 * i);
	DFG_TRY(dfg_shape_bytes(&shape, dtype, &bytes));
	if (bytes != blob->size - offset)
		return DFG_ERR(DFG_DATA, "%s requires %zu bytes of elements, but the file has %zu",
			dfg_type_words(dtype, &shape).s, bytes, blob->size - offset);
	if (dfg_dtype_size(dtype) == 1) {
		DFG_TRY(dfg_array_view(dtype, &shape, blob->bytes + offset, file, &tensor));
	} else {
		DFG_TRY(dfg_tensor_new(dtype, &shape, &tensor));
		dfg_copy_swapped(tensor.data, blob->bytes + offset, bytes, dfg_dtype_size(dtype));
	}
	return dfg_arrays_add(out_arrays, "", &tensor);
}

static struct dfg_err *put_elements(const struct dfg_tensor *tensor, struct dfg_out *out)
{
	uint8_t part[4096];
	size_t width = dfg_dtype_size(tensor->dtype), bytes = dfg_tensor_bytes(tensor);
	for (size_t at = 0, n; at < bytes; at += n) {
		n = bytes - at < sizeof part ? bytes - at : sizeof part;
		dfg_copy_swapped(part, (const uint8_t *)tensor->data + at, n, width);
		DFG_TRY(dfg_out_write(out, part, n));
	}
	return NULL;
}

static struct dfg_err *write_idx(const struct dfg_arrays *arrays, struct dfg_out *out)
{
	const struct dfg_tensor *tensor = &arrays->array[0].tensor;
	uint8_t header[4 + 4 * DFG_RANK_MAX] = {0};
	for (int i = 0; i < DTYPES; i++)
		if (dtypes[i].dtype == tensor->dtype)
			header[2] = dtypes[i].code;
	if (!header[2])
		return DFG_ERR(DFG_DATA, "idx has no dtype for %s", dfg_dtype_name(tensor->dtype));
	header[3] = (uint8_t)tensor->shape.rank;
	for (int i = 0; i < tensor->shape.rank; i++) {
		int64_t dim = tensor->shape.dim[i];
		if (dim > UINT32_MAX)
			return DFG_ERR(DFG_DATA, "a dimension of %lld is larger than idx can represent", (long long)dim);
		for (int k = 0; k < 4; k++)
			header[4 + 4 * i + k] = (uint8_t)(dim >> (24 - 8 * k));
	}
	DFG_TRY(dfg_out_write(out, header, 4 + 4 * (size_t)tensor->shape.rank));
	return put_elements(tensor, out);
}

const struct dfg_array_codec dfg_idx = {
	.name = "idx", .suffix = ".idx", .many = false, .is = is_idx, .read = read_idx, .write = write_idx};
