#include "app/serving/serving_private.h"

#include "formats/bytes.h"
#include "formats/npy.h"

#include <stdlib.h>
#include <string.h>

/* The extension of KServe's protocol for tensors as bytes. The machine is little-endian, as those that dfg supports are. */

struct dfg_err *dfg_kserve_divide(struct dfg_serving_job *job, size_t *out_json_size)
{
	const struct dfg_web_request *request = job->request;
	const char *field = dfg_web_field(request, "inference-header-content-length");
	char *end;
	*out_json_size = request->size;
	if (!field)
		return NULL;
	unsigned long long size = strtoull(field, &end, 10);
	if (*field < '0' || *field > '9' || *end || size > request->size)
		return DFG_ERR(DFG_DATA, "Inference-Header-Content-Length must be a number up to %zu, the size of the body",
			request->size);
	*out_json_size = (size_t)size;
	job->binary = request->body + size;
	job->binary_size = request->size - (size_t)size;
	return NULL;
}

static struct dfg_err *take_strings(struct dfg_tensor *tensor, const uint8_t *bytes, uint64_t size)
{
	struct dfg_string *element = tensor->data;
	uint64_t at = 0;
	for (int64_t i = 0, count = dfg_shape_count(&tensor->shape); i < count; i++) {
		uint64_t length = size - at >= 4 ? dfg_le32(bytes + at) : UINT64_MAX;
		if (length > size - at - 4)
			return DFG_ERR(
				DFG_DATA, "the binary data ends within element %lld of %lld elements", (long long)i, (long long)count);
		DFG_TRY(dfg_buffer_string(tensor->buffer, bytes + at + 4, (size_t)length, &element[i]));
		at += 4 + length;
	}
	return at == size ? NULL
					  : DFG_ERR(DFG_DATA, "the binary data has %llu bytes after the last element",
							(unsigned long long)(size - at));
}

static struct dfg_err *take_elements(struct dfg_tensor *tensor, const uint8_t *bytes, uint64_t size)
{
	if (size != dfg_tensor_bytes(tensor))
		return DFG_ERR(DFG_DATA, "the binary data has %llu bytes, but %s requires %zu", (unsigned long long)size,
			dfg_type_words(tensor->dtype, &tensor->shape).s, dfg_tensor_bytes(tensor));
	if (size)
		memcpy(tensor->data, bytes, size);
	return tensor->dtype == DFG_BOOL ? dfg_array_check_bools(tensor) : NULL;
}

struct dfg_err *dfg_kserve_take(struct dfg_serving_job *job, uint64_t size, enum dfg_dtype dtype,
	const struct dfg_shape *shape, struct dfg_tensor *out_tensor)
{
	size_t least;
	DFG_TRY(dfg_shape_bytes(
		shape, DFG_U8, &least)); /* an element takes at least a byte, so memory is bounded by the body */
	if (size > job->binary_size)
		return DFG_ERR(DFG_DATA, "binary_data_size is %llu, but only %zu bytes of binary data are left",
			(unsigned long long)size, job->binary_size);
	if (least > size)
		return DFG_ERR(DFG_DATA, "binary_data_size is %llu, too few bytes for the shape %s", (unsigned long long)size,
			dfg_shape_words(shape).s);
	const uint8_t *bytes = job->binary;
	job->binary += size;
	job->binary_size -= (size_t)size;
	DFG_TRY(dfg_tensor_new(dtype, shape, out_tensor));
	struct dfg_err *err =
		dtype == DFG_STRING ? take_strings(out_tensor, bytes, size) : take_elements(out_tensor, bytes, size);
	if (err)
		dfg_tensor_release(out_tensor);
	return err;
}

uint64_t dfg_kserve_binary_size(const struct dfg_tensor *tensor)
{
	const struct dfg_string *element = tensor->data;
	uint64_t size = 0;
	if (tensor->dtype != DFG_STRING)
		return dfg_tensor_bytes(tensor);
	for (int64_t i = 0, count = dfg_shape_count(&tensor->shape); i < count; i++)
		size += 4 + element[i].length;
	return size;
}

void dfg_kserve_put(struct dfg_text *out, const struct dfg_tensor *tensor)
{
	const struct dfg_string *element = tensor->data;
	uint8_t length[4];
	if (tensor->dtype != DFG_STRING) {
		dfg_text_put(out, tensor->data, dfg_tensor_bytes(tensor));
		return;
	}
	for (int64_t i = 0, count = dfg_shape_count(&tensor->shape); i < count; i++) {
		dfg_put_le(length, element[i].length, 4);
		dfg_text_put(out, length, 4);
		dfg_text_put(out, element[i].s, element[i].length);
	}
}
