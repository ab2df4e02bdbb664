#include "formats/canonical.h"

#include "lib/base/mem.h"
#include "lib/base/text.h"
#include "lib/base/utf8.h"

#include <stdlib.h>
#include <string.h>

/* A field of the message. value is the number, or for a map with number keys the key. */
struct entry {
	const ProtobufCFieldDescriptor *field;
	const uint8_t *tag, *bytes;
	size_t length;
	uint64_t value;
	const uint8_t *key;
	size_t key_length;
};

/* An open message: its entries are in the common array, and are encoded from the last to the first. */
struct frame {
	struct dfg_wire wire;
	size_t first, left; /* entries [first, left) are not yet encoded */
	size_t mark;
	uint32_t number; /* field number of this message in the frame below */
	bool map_entry;
};

struct canonical {
	struct dfg_encoder *encoder;
	struct entry *entry;
	size_t count, capacity, most;
	struct dfg_text items; /* items of a packed field, the only content built from its beginning */
	struct frame frame[DFG_WIRE_DEPTH];
	int depth;
};

static int compare(const void *a_, const void *b_)
{
	const struct entry *a = a_, *b = b_;
	if (a->field != b->field)
		return a->field->id < b->field->id ? -1 : 1;
	if (a->key && b->key) {
		int order = dfg_wire_compare_keys(a->key, a->key_length, b->key, b->key_length);
		if (order)
			return order;
	} else if (dfg_wire_is_map(a->field) && a->value != b->value) {
		return a->value > b->value ? -1 : 1;
	}
	return a->tag < b->tag ? -1 : a->tag > b->tag;
}

static bool same_key(const struct entry *a, const struct entry *b)
{
	if (a->field != b->field || !dfg_wire_is_map(a->field) || a->key_length != b->key_length)
		return false;
	return a->key ? !a->key_length || !memcmp(a->key, b->key, a->key_length) : a->value == b->value;
}

/* Finds the key of a map's entry. Faults in the entry are reported later, when it is encoded. */
static struct dfg_err *find_key(const struct dfg_wire *wire, const struct dfg_wire_field *field, struct entry *entry)
{
	struct dfg_wire_file quiet = *wire->file;
	struct dfg_wire inner, parent = *wire;
	struct dfg_wire_field met;
	quiet.strict = false;
	parent.file = &quiet;
	DFG_TRY(dfg_wire_open(&parent, field, &inner));
	wire->file->broken = true; /* until the end is reached */
	if (inner.type->fields[0].type == PROTOBUF_C_TYPE_STRING)
		entry->key = field->bytes;
	for (;;) {
		DFG_TRY(dfg_wire_next(&inner, &met));
		if (met.kind == DFG_WIRE_END)
			break;
		if (met.field->id != 1)
			continue;
		entry->value = met.kind == DFG_WIRE_VALUE ? met.value : 0;
		if (met.kind == DFG_WIRE_BYTES) {
			entry->key = met.bytes;
			entry->key_length = met.length;
		}
	}
	wire->file->broken = false;
	return NULL;
}

static struct dfg_err *add_field(struct canonical *c, const struct dfg_wire *wire, const struct dfg_wire_field *field)
{
	if (c->count == c->most)
		return DFG_ERR(DFG_DATA, "a message of more than %zu fields exceeds the loader's memory limit", c->most);
	if (!dfg_reserve(&c->entry, &c->capacity, c->count + 1, sizeof *c->entry))
		return dfg_no_memory("the fields of a message");
	struct entry *entry = &c->entry[c->count++];
	bool has_bytes = field->kind != DFG_WIRE_VALUE;
	*entry = (struct entry){.field = field->field, .tag = field->tag};
	entry->bytes = has_bytes ? field->bytes : NULL;
	entry->length = has_bytes ? field->length : 0;
	entry->value = has_bytes ? 0 : field->value;
	if (field->field->type == PROTOBUF_C_TYPE_STRING && !dfg_utf8_is(field->bytes, field->length))
		return dfg_wire_error(
			wire->file, field->tag, "%s of a %s is not UTF-8", field->field->name, wire->type->short_name);
	return dfg_wire_is_map(field->field) ? find_key(wire, field, entry) : NULL;
}

/* Key and value of a map's entry are always written: missing ones are added as empty. */
static struct dfg_err *complete_map_entry(struct canonical *c, const struct dfg_wire *wire, size_t first)
{
	bool met[2] = {false, false};
	for (size_t i = first; i < c->count; i++)
		met[c->entry[i].field->id - 1] = true;
	for (unsigned i = 0; i < 2; i++) {
		struct dfg_wire_field missing = {.field = &wire->type->fields[i], .tag = wire->end, .bytes = wire->end};
		missing.kind = missing.field->type >= PROTOBUF_C_TYPE_STRING ? DFG_WIRE_BYTES : DFG_WIRE_VALUE;
		if (!met[i])
			DFG_TRY(add_field(c, wire, &missing));
	}
	return NULL;
}

static struct dfg_err *sort(struct canonical *c, const struct dfg_wire *wire, size_t first)
{
	bool sorted = true;
	for (size_t i = first + 1; i < c->count && sorted; i++)
		sorted = compare(&c->entry[i - 1], &c->entry[i]) <= 0;
	if (!sorted)
		qsort(c->entry + first, c->count - first, sizeof *c->entry, compare);
	for (size_t i = first + 1; i < c->count; i++)
		if (same_key(&c->entry[i - 1], &c->entry[i]))
			return dfg_wire_error(wire->file, c->entry[i].tag, "%s has the same key twice, first at byte %zu",
				c->entry[i].field->name, (size_t)(c->entry[i - 1].tag - wire->file->start));
	return NULL;
}

static struct dfg_err *push_message(struct canonical *c, const struct dfg_wire *wire, uint32_t number, bool map_entry)
{
	struct frame *frame = &c->frame[c->depth++];
	struct dfg_wire_field field;
	*frame = (struct frame){*wire, c->count, 0, dfg_encode_mark(c->encoder), number, map_entry};
	struct dfg_wire walk = *wire;
	for (;;) {
		DFG_TRY(dfg_wire_next(&walk, &field));
		if (field.kind == DFG_WIRE_END)
			break;
		DFG_TRY(add_field(c, &walk, &field));
	}
	if (map_entry)
		DFG_TRY(complete_map_entry(c, wire, frame->first));
	DFG_TRY(sort(c, wire, frame->first));
	frame->left = c->count;
	return NULL;
}

/* Appends a number in wire format, from its beginning. */
static void put_item(struct dfg_text *to, ProtobufCType type, uint64_t value)
{
	size_t fixed = dfg_wire_fixed(type), count = 0;
	uint8_t bytes[10];
	for (; count < fixed; count++)
		bytes[count] = (uint8_t)(value >> 8 * count);
	for (; !fixed && value >= 0x80; value >>= 7)
		bytes[count++] = (uint8_t)(value | 0x80);
	if (!fixed)
		bytes[count++] = (uint8_t)value;
	dfg_text_put(to, bytes, count);
}

static void put_number(struct dfg_encoder *encoder, const ProtobufCFieldDescriptor *field, uint64_t value)
{
	size_t fixed = dfg_wire_fixed(field->type);
	if (!fixed) {
		dfg_encode_number(encoder, field->id, value);
		return;
	}
	dfg_encode_fixed(encoder, value, fixed);
	dfg_encode_varint(
		encoder, (uint64_t)field->id << 3 | (fixed == 4 ? PROTOBUF_C_WIRE_TYPE_32BIT : PROTOBUF_C_WIRE_TYPE_64BIT));
}

/* Encodes all items of a repeated number, which may be scattered, as one run. */
static struct dfg_err *put_items(struct canonical *c, const struct frame *frame, size_t first, size_t end)
{
	c->items.length = 0;
	const ProtobufCFieldDescriptor *field = c->entry[first].field;
	for (size_t i = first; i < end; i++) {
		struct dfg_wire_field items = {
			.field = field, .bytes = c->entry[i].bytes, .length = c->entry[i].length, .tag = c->entry[i].tag};
		for (;;) {
			uint64_t value;
			bool more;
			DFG_TRY(dfg_wire_item(&frame->wire, &items, &value, &more));
			if (!more)
				break;
			put_item(&c->items, field->type, value);
		}
	}
	DFG_TRY(dfg_text_check(&c->items));
	if (c->items.length)
		dfg_encode_string(c->encoder, field->id, c->items.s, c->items.length);
	return NULL;
}

/* Whether a singular field is omitted because it has the default value. */
static bool is_default(const struct frame *frame, const struct entry *entry)
{
	bool presence = entry->field->label == PROTOBUF_C_LABEL_OPTIONAL ||
					entry->field->flags & PROTOBUF_C_FIELD_FLAG_ONEOF || dfg_wire_message_type(entry->field);
	return !presence && !frame->map_entry && !entry->value && !entry->length;
}

/* Encodes the last field of the top frame that is not yet encoded. */
static struct dfg_err *put_last(struct canonical *c, struct frame *frame)
{
	const struct entry *entry = &c->entry[--frame->left];
	const ProtobufCFieldDescriptor *field = entry->field;
	bool repeated = field->label == PROTOBUF_C_LABEL_REPEATED;
	if (dfg_wire_message_type(field)) {
		struct dfg_wire_field message = {
			.field = field, .bytes = entry->bytes, .length = entry->length, .tag = entry->tag};
		struct dfg_wire wire;
		DFG_TRY(dfg_wire_open(&frame->wire, &message, &wire));
		return push_message(c, &wire, field->id, dfg_wire_is_map(field));
	}
	if (repeated && field->type >= PROTOBUF_C_TYPE_STRING) {
		dfg_encode_string(c->encoder, field->id, entry->bytes, entry->length);
		return NULL;
	}
	size_t end = frame->left + 1;
	while (frame->left > frame->first && c->entry[frame->left - 1].field == field)
		frame->left--;
	if (repeated)
		return put_items(c, frame, frame->left, end);
	if (is_default(frame, entry))
		return NULL;
	if (field->type >= PROTOBUF_C_TYPE_STRING)
		dfg_encode_string(c->encoder, field->id, entry->bytes, entry->length);
	else
		put_number(c->encoder, field, entry->value);
	return NULL;
}

static struct dfg_err *encode_all(struct canonical *c, const struct dfg_wire *message)
{
	DFG_TRY(push_message(c, message, 0, false));
	while (c->depth) {
		struct frame *frame = &c->frame[c->depth - 1];
		if (frame->left > frame->first) {
			DFG_TRY(put_last(c, frame));
			continue;
		}
		c->count = frame->first;
		if (--c->depth)
			dfg_encode_head(c->encoder, frame->number, frame->mark);
	}
	return dfg_encoder_check(c->encoder);
}

struct dfg_err *dfg_canonical_put(const struct dfg_wire *message, size_t budget, struct dfg_encoder *encoder)
{
	struct canonical *c = dfg_zeros(1, sizeof *c);
	if (!c)
		return dfg_no_memory("the fields of a message");
	c->encoder = encoder;
	c->most = budget / sizeof *c->entry / 3; /* while it grows, the array exists twice, once half as large again */
	struct dfg_err *err = encode_all(c, message);
	dfg_free(c->entry);
	dfg_text_release(&c->items);
	dfg_free(c);
	return err;
}
