#include "formats/pbtxt.h"

#include "formats/graph.pb-c.h"
#include "formats/graphdef.h"
#include "lib/base/mem.h"

#include <inttypes.h>
#include <string.h>

enum { FLUSH = 64 * 1024, INDENT = 2 };

struct printer {
	struct dfg_text text; /* not yet written */
	struct dfg_out *out;
	int depth;
};

static struct dfg_err *flush(struct printer *p, size_t least)
{
	DFG_TRY(dfg_text_check(&p->text));
	if (p->text.length < least || !p->text.length)
		return NULL;
	size_t length = p->text.length;
	p->text.length = 0;
	return dfg_out_write(p->out, p->text.s, length);
}

/* Whether a quoted string shows the byte unescaped; above 0x7f only in strings, which are UTF-8. */
static bool is_plain(uint8_t byte, bool utf8)
{
	return byte >= 0x20 && byte != 0x7f && byte != '"' && byte != '\\' && byte != '\'' && (byte < 0x80 || utf8);
}

static struct dfg_err *put_quoted(struct printer *p, const uint8_t *bytes, size_t length, bool utf8)
{
	static const char named[256] = {
		['\n'] = 'n', ['\t'] = 't', ['\r'] = 'r', ['"'] = '"', ['\\'] = '\\', ['\''] = '\''};
	dfg_text_put(&p->text, "\"", 1);
	for (size_t i = 0, run; i < length; i += run) {
		for (run = 0; i + run < length && run < FLUSH && is_plain(bytes[i + run], utf8); run++)
			;
		if (run) {
			dfg_text_put(&p->text, bytes + i, run);
		} else {
			char name = named[bytes[i]];
			run = 1;
			if (name)
				dfg_text_put(&p->text, (char[]){'\\', name}, 2);
			else
				dfg_text_add(&p->text, "\\%03o", bytes[i]);
		}
		DFG_TRY(flush(p, FLUSH));
	}
	dfg_text_put(&p->text, "\"", 1);
	return NULL;
}

static void put_float(struct dfg_text *text, uint64_t bits)
{
	uint32_t low = (uint32_t)bits;
	float value;
	memcpy(&value, &low, sizeof value);
	dfg_text_f32(text, value);
}

static void put_double(struct dfg_text *text, uint64_t bits)
{
	double value;
	memcpy(&value, &bits, sizeof value);
	dfg_text_f64(text, value);
}

static void put_number(struct dfg_text *text, const ProtobufCFieldDescriptor *field, uint64_t value)
{
	const ProtobufCEnumValue *named;
	switch (field->type) {
	case PROTOBUF_C_TYPE_FLOAT:
		put_float(text, value);
		return;
	case PROTOBUF_C_TYPE_DOUBLE:
		put_double(text, value);
		return;
	case PROTOBUF_C_TYPE_BOOL:
		dfg_text_add(text, "%s", value ? "true" : "false");
		return;
	case PROTOBUF_C_TYPE_ENUM:
		named = protobuf_c_enum_descriptor_get_value(field->descriptor, (int)value);
		if (named)
			dfg_text_add(text, "%s", named->name);
		else
			dfg_text_add(text, "%d", (int)value);
		return;
	case PROTOBUF_C_TYPE_UINT32:
	case PROTOBUF_C_TYPE_UINT64:
	case PROTOBUF_C_TYPE_FIXED32:
	case PROTOBUF_C_TYPE_FIXED64:
		dfg_text_add(text, "%" PRIu64, value);
		return;
	default:
		dfg_text_add(text, "%" PRId64, (int64_t)value);
	}
}

static void put_name(struct printer *p, const ProtobufCFieldDescriptor *field, const char *after)
{
	dfg_text_add(&p->text, "%*s%s%s", (p->depth - 1) * INDENT, "", field->name, after);
}

static struct dfg_err *put_items(struct printer *p, const struct dfg_wire *wire, struct dfg_wire_field *field)
{
	for (;;) {
		uint64_t value;
		bool more;
		DFG_TRY(dfg_wire_item(wire, field, &value, &more));
		if (!more)
			return NULL;
		put_name(p, field->field, ": ");
		put_number(&p->text, field->field, value);
		dfg_text_put(&p->text, "\n", 1);
		DFG_TRY(flush(p, FLUSH));
	}
}

static struct dfg_err *put_field(struct printer *p, const struct dfg_wire *wire, struct dfg_wire_field *field)
{
	if (field->kind == DFG_WIRE_ITEMS)
		return put_items(p, wire, field);
	put_name(p, field->field, ": ");
	if (field->kind == DFG_WIRE_BYTES)
		DFG_TRY(put_quoted(p, field->bytes, field->length, field->field->type == PROTOBUF_C_TYPE_STRING));
	else
		put_number(&p->text, field->field, field->value);
	dfg_text_put(&p->text, "\n", 1);
	return flush(p, FLUSH);
}

static struct dfg_err *print(struct printer *p, const struct dfg_wire *message)
{
	struct dfg_wire open[DFG_WIRE_DEPTH];
	open[0] = *message;
	p->depth = 1;
	while (p->depth) {
		struct dfg_wire *wire = &open[p->depth - 1];
		struct dfg_wire_field field;
		DFG_TRY(dfg_wire_next(wire, &field));
		if (field.kind == DFG_WIRE_MESSAGE) {
			DFG_TRY(dfg_wire_open(wire, &field, &open[p->depth]));
			put_name(p, field.field, " {\n");
			p->depth++;
		} else if (field.kind != DFG_WIRE_END) {
			DFG_TRY(put_field(p, wire, &field));
		} else if (--p->depth) {
			dfg_text_add(&p->text, "%*s}\n", (p->depth - 1) * INDENT, "");
		}
	}
	return flush(p, 0);
}

struct dfg_err *dfg_pbtxt_from_wire(const struct dfg_wire *message, struct dfg_out *out)
{
	struct printer p = {.out = out};
	struct dfg_err *err = print(&p, message);
	dfg_text_release(&p.text);
	return err;
}

/* Collects a part of a graph contiguously, as the walker requires. */
struct pieces {
	struct dfg_out *out;
	uint8_t *bytes;
	size_t capacity;
};

static struct dfg_err *print_part(void *pieces_, struct dfg_encoder *part)
{
	struct pieces *pieces = pieces_;
	DFG_TRY(dfg_encoder_check(part));
	size_t length = part->length;
	if (!dfg_reserve(&pieces->bytes, &pieces->capacity, length, 1))
		return dfg_no_memory("the text of a graph");
	dfg_encoder_copy(part, pieces->bytes);
	dfg_encoder_empty(part);
	struct dfg_wire_file file = {.start = pieces->bytes};
	struct dfg_wire wire = dfg_wire_start(&file, &dfg__graph_def__descriptor, pieces->bytes, length);
	return dfg_pbtxt_from_wire(&wire, pieces->out);
}

struct dfg_err *dfg_pbtxt_write(const struct dfg_graph *graph, struct dfg_out *out)
{
	struct pieces pieces = {.out = out};
	struct dfg_err *err = dfg_graphdef_parts(graph, print_part, &pieces);
	dfg_free(pieces.bytes);
	return err;
}
