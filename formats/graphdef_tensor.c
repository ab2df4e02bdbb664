#include "formats/npy.h"
#include "formats/reader.h"

#include <inttypes.h>
#include <string.h>

/* The fields of a TensorProto before its elements are read. */
struct parts {
	uint64_t dtype;
	struct dfg_shape shape;
	struct dfg_wire_field content; /* or float8_val, which is equivalent */
	uint32_t list;                 /* field number of the list of values; 0: none */
	size_t items, runs;            /* number of values, and of the runs that contain them */
	struct dfg_wire_field run;     /* the last run */
};

uint32_t dfg_tensor_list_field(enum dfg_dtype dtype)
{
	static const uint8_t field[DFG_DTYPES] = {
		[DFG_F32] = 5,
		[DFG_F64] = 6,
		[DFG_I32] = 7,
		[DFG_I16] = 7,
		[DFG_I8] = 7,
		[DFG_U8] = 7,
		[DFG_U16] = 7,
		[DFG_QI8] = 7,
		[DFG_QU8] = 7,
		[DFG_QI32] = 7,
		[DFG_QI16] = 7,
		[DFG_QU16] = 7,
		[DFG_I4] = 7,
		[DFG_U4] = 7,
		[DFG_I2] = 7,
		[DFG_U2] = 7,
		[DFG_STRING] = 8,
		[DFG_C64] = 9,
		[DFG_I64] = 10,
		[DFG_BOOL] = 11,
		[DFG_C128] = 12,
		[DFG_F16] = 13,
		[DFG_BF16] = 13,
		[DFG_RESOURCE] = 14,
		[DFG_VARIANT] = 15,
		[DFG_U32] = 16,
		[DFG_U64] = 17,
		[DFG_F8E5M2] = 18,
		[DFG_F8E4M3] = 18,
		[DFG_F8E4M3Z] = 18,
		[DFG_F8E4M3B] = 18,
		[DFG_F8E5M2Z] = 18,
		[DFG_F4] = 18,
	};
	return field[dtype];
}

/* Number of items in a run of a packed field; 1 for other fields. */
static size_t items_in(const struct dfg_wire_field *field)
{
	size_t fixed = dfg_wire_fixed(field->field->type), count = 0;
	if (field->kind != DFG_WIRE_ITEMS)
		return 1;
	if (fixed)
		return field->length / fixed;
	for (size_t i = 0; i < field->length; i++)
		count += field->bytes[i] < 0x80;
	return count;
}

static struct dfg_err *note_values(const struct dfg_wire_field *field, struct parts *parts)
{
	if (parts->list && parts->list != field->field->id)
		return DFG_ERR(
			DFG_DATA, "a tensor has two lists of values, field %" PRIu32 " and %s", parts->list, field->field->name);
	parts->list = field->field->id;
	parts->items += items_in(field);
	parts->runs++;
	parts->run = *field;
	return NULL;
}

static struct dfg_err *read_parts(struct dfg_reader *r, const struct dfg_wire *wire, struct parts *parts)
{
	struct dfg_wire walk = *wire;
	struct dfg_wire_field met;
	*parts = (struct parts){.shape = DFG_SHAPE_SCALAR};
	for (;;) {
		DFG_TRY(dfg_wire_next(&walk, &met));
		if (met.kind == DFG_WIRE_END)
			return NULL;
		switch (met.field->id) {
		case TENSOR_DTYPE:
			parts->dtype = met.value;
			break;
		case TENSOR_SHAPE:
			DFG_TRY(dfg_reader_shape(r, &walk, &met, &parts->shape));
			break;
		case TENSOR_VERSION:
			if (met.value)
				DFG_TRY(dfg_reader_drop(r, &walk, &met));
			break;
		case TENSOR_CONTENT:
			parts->content = met;
			break;
		default:
			if (met.kind != DFG_WIRE_ITEMS || met.length)
				DFG_TRY(note_values(&met, parts));
		}
	}
}

static struct dfg_err *check_parts(const struct parts *parts, struct dfg_literal *literal, int64_t *out_count)
{
	size_t bytes, size = parts->dtype < DFG_DTYPES ? dfg_dtype_size((enum dfg_dtype)parts->dtype) : 0;
	if (!size)
		return DFG_ERR(DFG_DATA, "a tensor has the invalid type number %" PRId64, (int64_t)parts->dtype);
	if (!dfg_shape_known(&parts->shape))
		return DFG_ERR(DFG_DATA, "a tensor has shape %s, expected known dimensions", dfg_shape_words(&parts->shape).s);
	literal->dtype = (enum dfg_dtype)parts->dtype;
	literal->shape = parts->shape;
	DFG_TRY(dfg_shape_bytes(&literal->shape, literal->dtype, &bytes));
	*out_count = (int64_t)(bytes / size);
	if (parts->content.length && parts->list)
		return DFG_ERR(DFG_DATA, "a tensor has both tensor_content and %s", parts->run.field->name);
	if (parts->list && parts->list != dfg_tensor_list_field(literal->dtype))
		return DFG_ERR(DFG_DATA, "a tensor of %s has its values in field %s, which holds other types",
			dfg_dtype_name(literal->dtype), parts->run.field->name);
	return NULL;
}

static struct dfg_err *take_content(const struct parts *parts, int64_t count, struct dfg_literal *literal)
{
	const struct dfg_wire_field *content = &parts->content;
	size_t size = dfg_dtype_size(literal->dtype);
	if (literal->dtype == DFG_STRING)
		return DFG_ERR(
			DFG_DATA, "a tensor of %s has tensor_content, expected string_val", dfg_dtype_name(literal->dtype));
	if (content->length != (size_t)count * size)
		return DFG_ERR(DFG_DATA, "%s has %zu bytes in tensor_content, not %zu",
			dfg_type_words(literal->dtype, &literal->shape).s, content->length, (size_t)count * size);
	for (size_t i = 0; literal->dtype == DFG_BOOL && i < content->length; i++)
		if (content->bytes[i] > 1)
			return DFG_ERR(
				DFG_DATA, "element %zu of a bool tensor is the byte %d, expected 0 or 1", i, content->bytes[i]);
	literal->content = true;
	literal->given = count;
	literal->data = content->bytes;
	return NULL;
}

/* Stores a number of the list as an element of the tensor's type; only little-endian machines are supported. */
static void put_element(enum dfg_dtype dtype, uint64_t value, void *data, size_t i)
{
	size_t size = dfg_dtype_size(dtype);
	size /= dtype == DFG_C64 || dtype == DFG_C128 ? 2 : 1;
	memcpy((uint8_t *)data + i * size, &value, size);
}

static struct dfg_err *copy_values(
	struct dfg_reader *r, const struct dfg_wire *wire, const struct parts *parts, struct dfg_literal *literal)
{
	struct dfg_wire walk = *wire;
	struct dfg_wire_field met;
	uint8_t *data;
	size_t i = 0;
	DFG_TRY(dfg_reader_allocate(r, (size_t)literal->given + 1, dfg_dtype_size(literal->dtype), &data));
	literal->data = data;
	for (;;) {
		DFG_TRY(dfg_wire_next(&walk, &met));
		if (met.kind == DFG_WIRE_END)
			return NULL;
		if (met.field->id != parts->list)
			continue;
		if (met.kind == DFG_WIRE_BYTES)
			((struct dfg_string *)(void *)data)[i++] = (struct dfg_string){(const char *)met.bytes, met.length};
		while (met.kind == DFG_WIRE_ITEMS) {
			uint64_t value;
			bool more;
			DFG_TRY(dfg_wire_item(&walk, &met, &value, &more));
			if (!more)
				break;
			put_element(literal->dtype, value, data, i++);
		}
	}
}

static struct dfg_err *take_values(struct dfg_reader *r, const struct dfg_wire *wire, const struct parts *parts,
	int64_t count, struct dfg_literal *literal)
{
	bool pairs = literal->dtype == DFG_C64 || literal->dtype == DFG_C128;
	bool bytes = parts->list == TENSOR_FLOAT8;
	size_t given = bytes ? parts->run.length : pairs ? parts->items / 2 : parts->items;
	if (given > (size_t)count || (pairs && parts->items % 2))
		return DFG_ERR(DFG_DATA, "%s has %zu values in %s, expected at most %zu",
			dfg_type_words(literal->dtype, &literal->shape).s, parts->items, parts->run.field->name,
			(size_t)count << pairs);
	literal->given = (int64_t)given;
	size_t fixed = dfg_wire_fixed(parts->run.field->type);
	bool one_run = bytes || (fixed && parts->runs == 1);
	if (!one_run)
		return copy_values(r, wire, parts, literal);
	if (fixed && parts->run.length % fixed)
		return DFG_ERR(DFG_DATA, "%s is truncated", parts->run.field->name);
	literal->data = parts->run.bytes;
	return NULL;
}

static struct dfg_err *keep_objects(struct dfg_reader *r, const struct dfg_wire *wire, const struct parts *parts,
	int64_t count, struct dfg_literal *literal)
{
	size_t length;
	if (parts->content.length || parts->items > (size_t)count)
		return DFG_ERR(DFG_DATA, "%s has %zu values%s, expected at most %zu values and no tensor_content",
			dfg_type_words(literal->dtype, &literal->shape).s, parts->items,
			parts->content.length ? " and tensor_content" : "", (size_t)count);
	DFG_TRY(dfg_reader_canonical(r, wire, &literal->data, &length));
	literal->given = (int64_t)length;
	return NULL;
}

struct dfg_err *dfg_reader_tensor(struct dfg_reader *r, const struct dfg_wire *wire, const struct dfg_wire_field *field,
	const struct dfg_literal **out)
{
	struct dfg_wire inner;
	struct parts parts;
	struct dfg_literal *literal;
	int64_t count;
	DFG_TRY(dfg_wire_open(wire, field, &inner));
	DFG_TRY(dfg_reader_allocate(r, 1, sizeof *literal, &literal));
	*out = literal;
	DFG_TRY(read_parts(r, &inner, &parts));
	DFG_TRY(check_parts(&parts, literal, &count));
	if (dfg_dtype_is_handle(literal->dtype))
		return keep_objects(r, &inner, &parts, count, literal);
	if (parts.content.length)
		return take_content(&parts, count, literal);
	return parts.list ? take_values(r, &inner, &parts, count, literal) : NULL;
}
