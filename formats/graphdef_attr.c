#include "formats/reader.h"

#include "lib/base/text.h"
#include "lib/base/utf8.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A key as text for messages, escaped. */
struct key {
	char s[200];
};

static struct key key_words(const struct dfg_wire_field *field)
{
	struct key key;
	struct dfg_text text = {0};
	dfg_text_escape(&text, field->bytes, field->length, 64);
	snprintf(key.s, sizeof key.s, "%.150s", text.s ? text.s : "");
	dfg_text_release(&text);
	return key;
}

static struct dfg_err *read_dim(
	struct dfg_reader *r, const struct dfg_wire *wire, const struct dfg_wire_field *field, int64_t *out_size)
{
	struct dfg_wire walk;
	struct dfg_wire_field met;
	DFG_TRY(dfg_wire_open(wire, field, &walk));
	for (*out_size = 0;;) {
		DFG_TRY(dfg_wire_next(&walk, &met));
		if (met.kind == DFG_WIRE_END)
			return NULL;
		if (met.field->id == DIM_SIZE)
			*out_size = (int64_t)met.value;
		else if (met.length)
			DFG_TRY(dfg_reader_drop(r, &walk, &met));
	}
}

struct dfg_err *dfg_reader_shape(
	struct dfg_reader *r, const struct dfg_wire *wire, const struct dfg_wire_field *field, struct dfg_shape *out_shape)
{
	struct dfg_wire walk;
	struct dfg_wire_field met;
	bool unknown_rank = false;
	DFG_TRY(dfg_wire_open(wire, field, &walk));
	*out_shape = DFG_SHAPE_SCALAR;
	for (;;) {
		DFG_TRY(dfg_wire_next(&walk, &met));
		if (met.kind == DFG_WIRE_END)
			break;
		if (met.field->id == SHAPE_UNKNOWN_RANK) {
			unknown_rank = met.value;
			continue;
		}
		int64_t size;
		DFG_TRY(read_dim(r, &walk, &met, &size));
		if (size < DFG_UNKNOWN)
			return DFG_ERR(
				DFG_DATA, "dimension %d of a shape is %" PRId64 ", must be at least -1", out_shape->rank, size);
		if (out_shape->rank == DFG_RANK_MAX)
			return DFG_ERR(DFG_DATA, "a shape has more than %d dimensions", DFG_RANK_MAX);
		out_shape->dim[out_shape->rank++] = size;
	}
	if (unknown_rank && out_shape->rank)
		return DFG_ERR(DFG_DATA, "a shape of unknown rank has %d dimensions", out_shape->rank);
	if (unknown_rank)
		*out_shape = DFG_SHAPE_UNKNOWN;
	return NULL;
}

static struct dfg_err *read_func(struct dfg_reader *r, const struct dfg_wire *wire, const struct dfg_wire_field *field,
	const struct dfg_func **out_func)
{
	struct dfg_wire walk;
	struct dfg_wire_field met;
	struct dfg_func *func;
	struct dfg_attr *attr = NULL;
	size_t base = r->n_attr;
	DFG_TRY(dfg_wire_open(wire, field, &walk));
	DFG_TRY(dfg_reader_allocate(r, 1, sizeof *func, &func));
	for (func->name = "";;) {
		DFG_TRY(dfg_wire_next(&walk, &met));
		if (met.kind == DFG_WIRE_END)
			break;
		if (met.field->id == FUNC_ATTR)
			DFG_TRY(dfg_reader_attr(r, &walk, &met));
		else
			DFG_TRY(dfg_reader_word(r, &met, "the name of a function", &func->name));
	}
	DFG_TRY(dfg_reader_attrs_end(r, base, &attr, &func->n_attr));
	func->attr = attr;
	*out_func = func;
	return NULL;
}

static struct dfg_err *check_dtype(uint64_t number)
{
	uint64_t base = number > DFG_REF ? number - DFG_REF : number;
	if (number && !dfg_dtype_size((enum dfg_dtype)(base < DFG_DTYPES ? base : 0)))
		return DFG_ERR(DFG_DATA, "type number %" PRId64 " is unknown", (int64_t)number);
	return NULL;
}

static double widen(uint64_t bits)
{
	uint32_t low = (uint32_t)bits;
	float value;
	memcpy(&value, &low, sizeof value);
	return value;
}

/* Reads the value in a field, which is a member of the oneof or, with the same numbers, an item of a list. */
static struct dfg_err *read_value(
	struct dfg_reader *r, const struct dfg_wire *wire, const struct dfg_wire_field *field, union dfg_value *out_value)
{
	struct dfg_shape *shape;
	switch (field->field->type) {
	case PROTOBUF_C_TYPE_STRING:
		if (!dfg_utf8_is(field->bytes, field->length))
			return dfg_wire_error(&r->file, field->tag, "a string is not UTF-8");
		/* fall through */
	case PROTOBUF_C_TYPE_BYTES:
		out_value->s = (struct dfg_string){(const char *)field->bytes, field->length};
		return NULL;
	case PROTOBUF_C_TYPE_INT64:
		out_value->i = (int64_t)field->value;
		return NULL;
	case PROTOBUF_C_TYPE_FLOAT:
		out_value->f = widen(field->value);
		return NULL;
	case PROTOBUF_C_TYPE_BOOL:
		out_value->b = field->value;
		return NULL;
	case PROTOBUF_C_TYPE_ENUM:
		out_value->dtype = (enum dfg_dtype)field->value;
		return check_dtype(field->value);
	default:
		break;
	}
	if (field->field->id == VALUE_TENSOR)
		return dfg_reader_tensor(r, wire, field, &out_value->tensor);
	if (field->field->id != VALUE_SHAPE)
		return read_func(r, wire, field, &out_value->func);
	DFG_TRY(dfg_reader_allocate(r, 1, sizeof *shape, &shape));
	out_value->shape = shape;
	return dfg_reader_shape(r, wire, field, shape);
}

/* Field numbers of AttrValue; those of its ListValue are equal except for functions. */
static enum dfg_attr_kind kind_of(uint32_t number, bool in_list)
{
	static const uint8_t kind[] = {
		[VALUE_LIST] = DFG_ATTR_LIST,
		[VALUE_S] = DFG_ATTR_STRING,
		[VALUE_I] = DFG_ATTR_INT,
		[VALUE_F] = DFG_ATTR_FLOAT,
		[VALUE_B] = DFG_ATTR_BOOL,
		[VALUE_TYPE] = DFG_ATTR_DTYPE,
		[VALUE_SHAPE] = DFG_ATTR_SHAPE,
		[VALUE_TENSOR] = DFG_ATTR_TENSOR,
		[VALUE_PLACEHOLDER] = DFG_ATTR_PLACEHOLDER,
		[VALUE_FUNC] = DFG_ATTR_FUNC,
	};
	return in_list && number == LIST_FUNC ? DFG_ATTR_FUNC : kind[number];
}

/* Counts the items; an item of a packed number has at least a byte. */
static struct dfg_err *count_items(const struct dfg_wire *list, enum dfg_attr_kind *out_kind, size_t *out_most)
{
	struct dfg_wire walk = *list;
	struct dfg_wire_file quiet = *list->file;
	struct dfg_wire_field met;
	quiet.strict = false;
	walk.file = &quiet;
	for (*out_most = 0, *out_kind = DFG_ATTR_NONE;;) {
		DFG_TRY(dfg_wire_next(&walk, &met));
		if (met.kind == DFG_WIRE_END)
			return NULL;
		enum dfg_attr_kind kind = kind_of(met.field->id, true);
		if (*out_kind != DFG_ATTR_NONE && *out_kind != kind)
			return DFG_ERR(DFG_DATA, "a list has items in field %s and in an earlier field, expected one kind of items",
				met.field->name);
		*out_kind = kind;
		size_t fixed = dfg_wire_fixed(met.field->type);
		for (size_t i = 0; met.kind == DFG_WIRE_ITEMS && !fixed && i < met.length; i++)
			*out_most += met.bytes[i] < 0x80;
		if (met.kind == DFG_WIRE_ITEMS && fixed)
			*out_most += met.length / fixed;
		*out_most += met.kind != DFG_WIRE_ITEMS;
	}
}

static struct dfg_err *read_items(struct dfg_reader *r, const struct dfg_wire *walk, struct dfg_wire_field *field,
	union dfg_value *item, uint32_t *count)
{
	bool more = field->kind != DFG_WIRE_ITEMS;
	if (more)
		return read_value(r, walk, field, &item[(*count)++]);
	for (;;) {
		DFG_TRY(dfg_wire_item(walk, field, &field->value, &more));
		if (!more)
			return NULL;
		DFG_TRY(read_value(r, walk, field, &item[(*count)++]));
	}
}

static struct dfg_err *read_list(struct dfg_reader *r, const struct dfg_wire *wire, const struct dfg_wire_field *field,
	const struct dfg_list **out_list)
{
	struct dfg_wire walk;
	struct dfg_list *list;
	union dfg_value *item = NULL;
	size_t most;
	DFG_TRY(dfg_wire_open(wire, field, &walk));
	DFG_TRY(dfg_reader_allocate(r, 1, sizeof *list, &list));
	struct dfg_err *err = count_items(&walk, &list->kind, &most);
	if (!err && most >= UINT32_MAX)
		err = DFG_ERR(DFG_DATA, "a list has %zu items, the limit is %u", most, UINT32_MAX - 1);
	DFG_TRY(err);
	if (most)
		DFG_TRY(dfg_reader_allocate(r, most, sizeof *item, &item));
	list->item = item;
	*out_list = list;
	for (;;) {
		struct dfg_wire_field met;
		DFG_TRY(dfg_wire_next(&walk, &met));
		if (met.kind == DFG_WIRE_END)
			break;
		DFG_TRY(read_items(r, &walk, &met, item, &list->count));
	}
	if (!list->count)
		list->kind = DFG_ATTR_NONE;
	return NULL;
}

struct dfg_err *dfg_reader_attr_value(
	struct dfg_reader *r, const struct dfg_wire *wire, const struct dfg_wire_field *field, struct dfg_attr *attr)
{
	struct dfg_wire walk;
	struct dfg_wire_field met;
	DFG_TRY(dfg_wire_open(wire, field, &walk));
	for (;;) {
		DFG_TRY(dfg_wire_next(&walk, &met));
		if (met.kind == DFG_WIRE_END)
			return NULL;
		attr->kind = kind_of(met.field->id, false);
		if (attr->kind == DFG_ATTR_LIST)
			DFG_TRY(read_list(r, &walk, &met, &attr->value.list));
		else
			DFG_TRY(read_value(r, &walk, &met, &attr->value));
	}
}

struct dfg_err *dfg_reader_attr(struct dfg_reader *r, const struct dfg_wire *wire, const struct dfg_wire_field *entry)
{
	struct dfg_wire walk;
	struct dfg_attr attr = {.kind = DFG_ATTR_NONE};
	struct dfg_wire_field met, key = {.tag = entry->tag, .bytes = entry->bytes};
	struct dfg_err *err = NULL;
	DFG_TRY(dfg_wire_open(wire, entry, &walk));
	while (!err) {
		DFG_TRY(dfg_wire_next(&walk, &met));
		if (met.kind == DFG_WIRE_END)
			break;
		if (met.field->id == ENTRY_KEY)
			key = met;
		else
			err = dfg_reader_attr_value(r, &walk, &met, &attr);
	}
	if (!err)
		err = dfg_reader_word(r, &key, "the name of an attribute", &attr.name);
	if (!err)
		err = dfg_reader_reserve(r, &r->attr, &r->attr_capacity, r->n_attr + 1, sizeof *r->attr);
	if (err)
		return dfg_err_note(err, "attribute '%s'", key_words(&key).s);
	r->attr[r->n_attr++] = attr;
	return NULL;
}

static int compare(const void *a, const void *b)
{
	return strcmp(((const struct dfg_attr *)a)->name, ((const struct dfg_attr *)b)->name);
}

struct dfg_err *dfg_reader_attrs_end(struct dfg_reader *r, size_t base, struct dfg_attr **out_attr, uint32_t *out_count)
{
	struct dfg_attr *attr = r->attr + base;
	size_t count = r->n_attr - base;
	bool sorted = true;
	r->n_attr = base;
	*out_count = (uint32_t)count;
	for (size_t i = 1; i < count && sorted; i++)
		sorted = compare(&attr[i - 1], &attr[i]) <= 0;
	if (!sorted)
		qsort(attr, count, sizeof *attr, compare);
	for (size_t i = 1; i < count; i++)
		if (attr[i].name == attr[i - 1].name) /* words are interned */
			return DFG_ERR(DFG_DATA, "attribute '%s' is given twice", attr[i].name);
	if (count) {
		DFG_TRY(dfg_reader_allocate(r, count, sizeof *attr, out_attr));
		memcpy(*out_attr, attr, count * sizeof *attr);
	}
	return NULL;
}
