#include "formats/array.h"
#include "formats/bytes.h"
#include "formats/strided.h"
#include "lib/base/arena.h"
#include "lib/base/utf8.h"

#include <string.h>

/*
 * The classic formats of NetCDF: CDF-1, CDF-2 (64-bit offsets) and CDF-5 (64-bit sizes), as their specification
 * describes them. A header of dimensions, attributes and variables is followed by the elements, all big-endian. Variables
 * whose first dimension is the record dimension are interleaved: each record has one slab of each of them.
 */
enum { TYPES = 12 };

static const struct {
	unsigned char dtype, size, version; /* bytes of an element in the file; the first version that has the type */
} types[TYPES] = {{0}, {DFG_I8, 1, 1}, {DFG_STRING, 1, 1}, {DFG_I16, 2, 1}, {DFG_I32, 4, 1}, {DFG_F32, 4, 1},
	{DFG_F64, 8, 1}, {DFG_U8, 1, 5}, {DFG_U16, 2, 5}, {DFG_U32, 4, 5}, {DFG_I64, 8, 5}, {DFG_U64, 8, 5}};

struct variable {
	const char *name;
	struct dfg_shape shape; /* the record dimension has length 0 until the records are counted */
	uint32_t type;
	bool recorded; /* whether the first dimension is the record dimension */
	uint64_t begin;
	uint64_t slab; /* bytes of all elements, or of those of one record */
};

struct header {
	const uint8_t *bytes;
	size_t size, at;
	int version;
	uint64_t records, record_bytes;
	uint64_t *dim; /* lengths; 0 for the record dimension */
	size_t dims;
	struct variable *variable;
	size_t variables;
	struct dfg_arena arena; /* of all that the header refers to */
};

static struct dfg_err *truncated(void)
{
	return DFG_ERR(DFG_DATA, "the header is truncated");
}

static struct dfg_err *get_u32(struct header *h, uint32_t *out_number)
{
	if (h->size - h->at < 4)
		return truncated();
	*out_number = dfg_be32(h->bytes + h->at);
	h->at += 4;
	return NULL;
}

/* A number of 64 bits if `wide`, else of 32. */
static struct dfg_err *get_number(struct header *h, bool wide, uint64_t *out_number)
{
	uint32_t high = 0, low;
	if (wide)
		DFG_TRY(get_u32(h, &high));
	DFG_TRY(get_u32(h, &low));
	*out_number = (uint64_t)high << 32 | low;
	return NULL;
}

/* A size, count or number of a dimension. */
static struct dfg_err *get_size(struct header *h, uint64_t *out_size)
{
	return get_number(h, h->version == 5, out_size);
}

/* Skips bytes, padded to a multiple of four. */
static struct dfg_err *skip(struct header *h, uint64_t count, uint64_t size)
{
	uint64_t bytes;
	if (__builtin_mul_overflow(count, size, &bytes) || bytes > h->size - h->at)
		return truncated();
	bytes += -bytes % 4;
	if (bytes > h->size - h->at)
		return truncated();
	h->at += bytes;
	return NULL;
}

static struct dfg_err *get_name(struct header *h, const char **out_name)
{
	uint64_t length;
	DFG_TRY(get_size(h, &length));
	const char *name = (const char *)h->bytes + h->at;
	DFG_TRY(skip(h, length, 1));
	if (!length || memchr(name, '\0', length) || !dfg_utf8_is(name, length))
		return DFG_ERR(DFG_DATA, "a name is empty, contains a zero byte or is not UTF-8");
	*out_name = dfg_arena_copy(&h->arena, name, length);
	return *out_name ? NULL : dfg_no_memory("a name");
}

/* The number of items of a list, each of which takes at least `least` bytes. */
static struct dfg_err *get_list(struct header *h, uint32_t wanted, size_t least, size_t *out_count)
{
	uint32_t tag;
	uint64_t count;
	DFG_TRY(get_u32(h, &tag));
	DFG_TRY(get_size(h, &count));
	if (tag != wanted && (tag || count))
		return DFG_ERR(DFG_DATA, "a list in the header has tag %u, expected %u, or 0 for an empty list", tag, wanted);
	if (count > (h->size - h->at) / least)
		return truncated();
	*out_count = count;
	return NULL;
}

static struct dfg_err *get_type(struct header *h, uint32_t *out_type)
{
	DFG_TRY(get_u32(h, out_type));
	if (!*out_type || *out_type >= TYPES || types[*out_type].version > h->version)
		return DFG_ERR(DFG_DATA, "type number %u does not exist in CDF-%d", *out_type, h->version);
	return NULL;
}

static struct dfg_err *read_dims(struct header *h)
{
	const char *name;
	bool recorded = false;
	DFG_TRY(get_list(h, 10, 8, &h->dims));
	h->dim = dfg_arena_zeros(&h->arena, h->dims + 1, sizeof *h->dim);
	if (!h->dim)
		return dfg_no_memory("dimensions");
	for (size_t i = 0; i < h->dims; i++) {
		DFG_TRY(get_name(h, &name));
		DFG_TRY(get_size(h, &h->dim[i]));
		if (h->dim[i] > INT64_MAX)
			return DFG_ERR(DFG_DATA, "dimension '%s' is larger than a file can hold", name);
		if (!h->dim[i] && recorded)
			return DFG_ERR(DFG_DATA, "dimension '%s' is a second record dimension, expected at most one", name);
		recorded |= !h->dim[i];
	}
	return NULL;
}

static struct dfg_err *skip_attributes(struct header *h)
{
	size_t count;
	DFG_TRY(get_list(h, 12, 12, &count));
	for (size_t i = 0; i < count; i++) {
		const char *name;
		uint32_t type;
		uint64_t elements;
		DFG_TRY(get_name(h, &name));
		DFG_TRY(get_type(h, &type));
		DFG_TRY(get_size(h, &elements));
		DFG_TRY(skip(h, elements, types[type].size));
	}
	return NULL;
}

static struct dfg_err *read_shape(struct header *h, struct variable *variable)
{
	uint64_t rank, number;
	DFG_TRY(get_size(h, &rank));
	if (rank > DFG_RANK_MAX)
		return DFG_ERR(DFG_DATA, "has %llu dimensions, the limit is %d", (unsigned long long)rank, DFG_RANK_MAX);
	variable->shape.rank = (int)rank;
	for (int i = 0; i < variable->shape.rank; i++) {
		DFG_TRY(get_size(h, &number));
		if (number >= h->dims)
			return DFG_ERR(DFG_DATA, "names dimension number %llu, but the file has %zu dimensions",
				(unsigned long long)number, h->dims);
		variable->shape.dim[i] = (int64_t)h->dim[number];
		if (!h->dim[number] && i)
			return DFG_ERR(DFG_DATA, "has the record dimension as dimension %d, expected it as the first", i);
		variable->recorded |= !h->dim[number];
	}
	return NULL;
}

/* The size in the header (vsize) is ignored, as it overflows in old files. */
static struct dfg_err *read_variable(struct header *h, struct variable *variable)
{
	uint64_t size;
	DFG_TRY(get_name(h, &variable->name));
	struct dfg_err *err = read_shape(h, variable);
	if (!err)
		err = skip_attributes(h);
	if (!err)
		err = get_type(h, &variable->type);
	if (!err)
		err = get_size(h, &size);
	if (!err)
		err = get_number(h, h->version != 1, &variable->begin);
	variable->slab = err ? 0 : types[variable->type].size;
	for (int i = variable->recorded; !err && i < variable->shape.rank; i++)
		if (__builtin_mul_overflow(variable->slab, (uint64_t)variable->shape.dim[i], &variable->slab))
			err = DFG_ERR(DFG_DATA, "is larger than a file can hold");
	return dfg_err_note(err, "variable '%s'", variable->name);
}

/*
 * The bytes of a record: slabs are padded to multiples of four bytes, but not the slab of a single variable. Where the
 * number of records is not in the header, the size of the file tells it.
 */
static struct dfg_err *count_records(struct header *h)
{
	size_t recorded = 0;
	uint64_t first = UINT64_MAX;
	for (size_t i = 0; i < h->variables; i++) {
		const struct variable *variable = &h->variable[i];
		if (!variable->recorded)
			continue;
		recorded++;
		first = variable->begin < first ? variable->begin : first;
		uint64_t slab = variable->slab;
		if (__builtin_add_overflow(slab, -slab % 4, &slab) ||
			__builtin_add_overflow(h->record_bytes, slab, &h->record_bytes))
			return DFG_ERR(DFG_DATA, "a record is larger than a file can hold");
		if (recorded == 1)
			h->record_bytes = variable->slab;
		else if (recorded == 2)
			h->record_bytes += -(h->record_bytes - slab) % 4;
	}
	bool streamed = h->records == (h->version == 5 ? UINT64_MAX : UINT32_MAX);
	if (streamed)
		h->records = h->record_bytes && first < h->size ? (h->size - first) / h->record_bytes : 0;
	if (h->records > INT64_MAX)
		return DFG_ERR(DFG_DATA, "its header declares more records than a file can hold");
	return NULL;
}

/* All elements of the variable must be in the file; the padding after the last slab need not be. */
static struct dfg_err *check_extent(const struct header *h, struct variable *variable)
{
	uint64_t end = variable->slab, last;
	if (variable->recorded) {
		variable->shape.dim[0] = (int64_t)h->records;
		if (!h->records)
			return NULL;
		if (__builtin_mul_overflow(h->records - 1, h->record_bytes, &last) || __builtin_add_overflow(end, last, &end))
			end = UINT64_MAX;
	}
	if (variable->slab && (variable->begin > h->size || end > h->size - variable->begin))
		return DFG_ERR(DFG_DATA,
			"variable '%s' is truncated: it has %llu bytes from offset %llu, but the file has %zu bytes",
			variable->name, (unsigned long long)end, (unsigned long long)variable->begin, h->size);
	return NULL;
}

static struct dfg_err *read_header(struct header *h)
{
	DFG_TRY(get_size(h, &h->records));
	DFG_TRY(read_dims(h));
	DFG_TRY(skip_attributes(h));
	DFG_TRY(get_list(h, 11, 28, &h->variables));
	h->variable = dfg_arena_zeros(&h->arena, h->variables + 1, sizeof *h->variable);
	if (!h->variable)
		return dfg_no_memory("variables");
	for (size_t i = 0; i < h->variables; i++)
		DFG_TRY(read_variable(h, &h->variable[i]));
	DFG_TRY(count_records(h));
	uint64_t left = h->size;
	for (size_t i = 0; i < h->variables; i++) {
		DFG_TRY(check_extent(h, &h->variable[i]));
		uint64_t bytes = h->variable[i].slab * (h->variable[i].recorded ? h->records : 1);
		if (bytes > left)
			return DFG_ERR(DFG_DATA, "variables overlap: all of them together are larger than the file");
		left -= bytes;
	}
	return NULL;
}

static bool is_netcdf(const uint8_t *bytes, size_t size)
{
	return size >= 4 && !memcmp(bytes, "CDF", 3) && (bytes[3] == 1 || bytes[3] == 2 || bytes[3] == 5);
}

/* The caller releases h->arena, in any case. */
static struct dfg_err *open_header(const struct dfg_array_file *file, struct header *h)
{
	const uint8_t *bytes = file->bytes->data;
	*h = (struct header){.bytes = bytes, .size = file->bytes->capacity, .at = 4, .version = bytes[3]};
	return read_header(h);
}

static struct dfg_err *list_variables(const struct dfg_array_file *file, struct dfg_arrays *out_arrays)
{
	struct header h;
	struct dfg_err *err = open_header(file, &h);
	for (size_t i = 0; !err && i < h.variables; i++) {
		struct dfg_tensor type = {
			.dtype = (enum dfg_dtype)types[h.variable[i].type].dtype, .shape = h.variable[i].shape};
		err = dfg_arrays_add(out_arrays, h.variable[i].name, &type);
	}
	dfg_arena_release(&h.arena);
	return err;
}

static struct dfg_err *open_variable(const struct dfg_array_file *file, const struct header *h,
	const struct variable *variable, struct dfg_array_rows *out_rows)
{
	const uint8_t size = types[variable->type].size;
	struct dfg_strided strided = {.dtype = (enum dfg_dtype)types[variable->type].dtype,
		.shape = variable->shape,
		.data = h->bytes + (variable->slab ? variable->begin : 0),
		.swapped = size > 1};
	strided.stride = h->record_bytes;
	if (!variable->recorded)
		strided.stride =
			variable->shape.rank && variable->shape.dim[0] ? variable->slab / (uint64_t)variable->shape.dim[0] : 0;
	return dfg_strided_open(&strided, file->bytes, out_rows);
}

static struct dfg_err *open_named(
	const struct dfg_array_file *file, const char *name, struct dfg_array_rows *out_rows, bool *out_found)
{
	struct header h;
	struct dfg_err *err = open_header(file, &h);
	*out_found = false;
	for (size_t i = 0; !err && !*out_found && i < h.variables; i++)
		if (!strcmp(h.variable[i].name, name)) {
			*out_found = true;
			err = open_variable(file, &h, &h.variable[i], out_rows);
		}
	dfg_arena_release(&h.arena);
	return err;
}

const struct dfg_array_codec dfg_netcdf = {
	.name = "netcdf", .suffix = ".nc", .many = true, .is = is_netcdf, .list = list_variables, .open = open_named};
