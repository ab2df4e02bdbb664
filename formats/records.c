#include "formats/array_private.h"
#include "formats/array_spec.h"
#include "formats/strided.h"

#include <stdlib.h>
#include <string.h>

/* A number of a range; an empty one is `otherwise`. False if it is not a number below 2^63. */
static bool read_bound(const char *text, size_t length, int64_t otherwise, int64_t *out_bound)
{
	*out_bound = length ? 0 : otherwise;
	for (size_t i = 0; i < length; i++) {
		int digit = text[i] - '0';
		if (digit < 0 || digit > 9 || __builtin_mul_overflow(*out_bound, 10, out_bound) ||
			__builtin_add_overflow(*out_bound, digit, out_bound))
			return false;
	}
	return true;
}

/* Restricts rows of the whole record to the columns C: a number, whose axis is dropped, or a range. */
static struct dfg_err *choose_columns(const char *key, struct dfg_strided *strided)
{
	int64_t from, to, columns = strided->shape.dim[1];
	const char *colon = strchr(key, ':');
	size_t length = colon ? (size_t)(colon - key) : strlen(key);
	bool valid = (*key || colon) && read_bound(key, length, 0, &from) &&
				 read_bound(colon ? colon + 1 : "", colon ? strlen(colon + 1) : 0, columns, &to);
	if (valid && !colon)
		to = from < INT64_MAX ? from + 1 : from;
	if (!valid || from >= to || to > columns)
		return DFG_ERR(DFG_DATA, "'%s' is neither a number nor a range of the %lld columns, which are 0 to %lld", key,
			(long long)columns, (long long)columns - 1);
	strided->data += (size_t)from * (strided->stride / (size_t)columns);
	strided->shape.dim[1] = to - from;
	if (colon)
		return NULL;
	for (int i = 1; i + 1 < strided->shape.rank; i++)
		strided->shape.dim[i] = strided->shape.dim[i + 1];
	strided->shape.dim[--strided->shape.rank] = 0;
	return NULL;
}

struct dfg_err *dfg_records_open(
	const struct dfg_array_file *file, const struct dfg_array_spec *spec, struct dfg_array_rows *out_rows)
{
	size_t bytes;
	struct dfg_strided strided = {
		.dtype = spec->record, .data = file->bytes->data, .shape = {.rank = spec->dims.rank + 1}};
	DFG_TRY(dfg_shape_bytes(&spec->dims, spec->record, &bytes));
	if (file->bytes->capacity % bytes)
		return DFG_ERR(DFG_DATA, "has %zu bytes, which is not a whole number of records of %s (%zu bytes each)",
			file->bytes->capacity, dfg_type_words(spec->record, &spec->dims).s, bytes);
	strided.shape.dim[0] = (int64_t)(file->bytes->capacity / bytes);
	strided.stride = bytes;
	memcpy(&strided.shape.dim[1], spec->dims.dim, (size_t)spec->dims.rank * sizeof *spec->dims.dim);
	if (spec->key)
		DFG_TRY(choose_columns(spec->key, &strided));
	return dfg_strided_open(&strided, file->bytes, out_rows);
}
