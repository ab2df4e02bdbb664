/* Reads the functions of a library, which the reader of the graph has put in canonical form. */
#include "lib/graph/function.h"

#include "formats/graph.pb-c.h"
#include "formats/reader.h"

#include <string.h>

enum {
	FUNCTION_NODE = 3,
	FUNCTION_RET = 4,
	FUNCTION_CONTROL_RET = 6,
	OPDEF_IN = 2,
	OPDEF_OUT = 3,
	OPDEF_ATTR = 4,
	ARG_NAME = 1,
	ARG_TYPE = 3,
	ARG_TYPE_ATTR = 4,
	ARG_NUMBER_ATTR = 5,
	ARG_TYPE_LIST_ATTR = 6,
	ARG_IS_REF = 16,
	ATTRDEF_NAME = 1,
	ATTRDEF_DEFAULT = 3,
	MEMORY_LEAST = 256 * 1024,
	MEMORY_TIMES =
		64, /* memory limit as a multiple of a body's bytes: an empty shape has two bytes in the file and a hundred in memory */
};

/* Calls on_field for each field of the message. */
struct each {
	struct dfg_reader *r;
	struct dfg_function *function;
	void *of; /* argument of the caller */
};
typedef struct dfg_err *on_field(struct each *each, const struct dfg_wire *wire, const struct dfg_wire_field *field);

static struct dfg_err *for_each(struct each *each, struct dfg_wire walk, on_field *on)
{
	for (;;) {
		struct dfg_wire_field field;
		DFG_TRY(dfg_wire_next(&walk, &field));
		if (field.kind == DFG_WIRE_END)
			return NULL;
		DFG_TRY(on(each, &walk, &field));
	}
}

static struct dfg_err *for_each_in(
	struct each *each, const struct dfg_wire *wire, const struct dfg_wire_field *field, on_field *on)
{
	struct dfg_wire inner;
	DFG_TRY(dfg_wire_open(wire, field, &inner));
	return for_each(each, inner, on);
}

/* Reads a name; NULL if it is empty. */
static struct dfg_err *read_text(struct dfg_reader *r, const struct dfg_wire_field *field, const char **out_text)
{
	*out_text = NULL;
	return field->length ? dfg_reader_word(r, field, "a name in a function", out_text) : NULL;
}

static struct dfg_err *port_field(struct each *each, const struct dfg_wire *wire, const struct dfg_wire_field *field)
{
	struct dfg_function_port *port = each->of;
	(void)wire;
	switch (field->field->id) {
	case ARG_NAME:
		return read_text(each->r, field, &port->name);
	case ARG_TYPE:
		port->dtype = (enum dfg_dtype)field->value;
		return NULL;
	case ARG_TYPE_ATTR:
		return read_text(each->r, field, &port->type);
	case ARG_NUMBER_ATTR:
		return read_text(each->r, field, &port->number);
	case ARG_TYPE_LIST_ATTR:
		return read_text(each->r, field, &port->types);
	case ARG_IS_REF:
		port->is_ref = field->value;
		return NULL;
	default:
		return NULL;
	}
}

static struct dfg_err *read_port(
	struct each *each, const struct dfg_wire *wire, const struct dfg_wire_field *field, struct dfg_function_port *port)
{
	struct each inner = {each->r, each->function, port};
	DFG_TRY(for_each_in(&inner, wire, field, port_field));
	return port->name ? NULL : DFG_ERR(DFG_DATA, "an input or output has no name");
}

/* Reads an attribute with a default as if it were an entry of a map. */
static struct dfg_err *attr_field(struct each *each, const struct dfg_wire *wire, const struct dfg_wire_field *field)
{
	struct dfg_attr *attr = each->of;
	if (field->field->id == ATTRDEF_NAME)
		return dfg_reader_word(each->r, field, "the name of an attribute", &attr->name);
	if (field->field->id == ATTRDEF_DEFAULT)
		return dfg_reader_attr_value(each->r, wire, field, attr);
	return NULL;
}

static struct dfg_err *read_default(struct each *each, const struct dfg_wire *wire, const struct dfg_wire_field *field)
{
	struct dfg_attr attr = {.kind = DFG_ATTR_NONE};
	struct each inner = {each->r, each->function, &attr};
	DFG_TRY(for_each_in(&inner, wire, field, attr_field));
	if (attr.kind && attr.name)
		each->function->attr[each->function->n_attr++] = attr;
	return NULL;
}

static struct dfg_err *signature_field(
	struct each *each, const struct dfg_wire *wire, const struct dfg_wire_field *field)
{
	struct dfg_function *function = each->function;
	switch (field->field->id) {
	case OPDEF_NAME:
		return dfg_reader_word(each->r, field, "the name of a function", &function->name);
	case OPDEF_IN:
		return read_port(each, wire, field, &function->in[function->n_in++]);
	case OPDEF_OUT:
		return read_port(each, wire, field, &function->out[function->n_out++]);
	case OPDEF_ATTR:
		return read_default(each, wire, field);
	default:
		return NULL;
	}
}

static struct dfg_err *node_field(struct each *each, const struct dfg_wire *wire, const struct dfg_wire_field *field)
{
	struct dfg_function_node *of = each->of;
	switch (field->field->id) {
	case NODE_NAME:
		return dfg_reader_word(each->r, field, "the name of a node", &of->node.name);
	case NODE_OP:
		DFG_TRY(dfg_reader_word(each->r, field, "the op", &of->node.op_name));
		of->node.op = dfg_op_find(of->node.op_name);
		return NULL;
	case NODE_INPUT:
		return dfg_reader_word(each->r, field, "an input", &of->input[of->n_input++]);
	case NODE_DEVICE:
		return field->length ? dfg_reader_word(each->r, field, "the device", &of->node.device) : NULL;
	case NODE_ATTR:
		return dfg_reader_attr(each->r, wire, field);
	default:
		return NULL;
	}
}

static struct dfg_err *count_inputs(struct each *each, const struct dfg_wire *wire, const struct dfg_wire_field *field)
{
	(void)wire;
	*(uint32_t *)each->of += field->field->id == NODE_INPUT;
	return NULL;
}

static struct dfg_err *read_node(struct each *each, const struct dfg_wire *wire, const struct dfg_wire_field *field)
{
	struct dfg_function_node *node = &each->function->node[each->function->n_node++];
	uint32_t inputs = 0;
	struct each inner = {each->r, each->function, &inputs};
	DFG_TRY(for_each_in(&inner, wire, field, count_inputs));
	if (inputs)
		DFG_TRY(dfg_reader_allocate(each->r, inputs, sizeof *node->input, &node->input));
	node->node.device = "";
	inner.of = node;
	size_t base = each->r->n_attr;
	DFG_TRY(for_each_in(&inner, wire, field, node_field));
	if (!node->node.name || !node->node.op_name)
		return DFG_ERR(
			DFG_DATA, "node number %u has no %s", each->function->n_node - 1, node->node.name ? "op" : "name");
	return dfg_reader_attrs_end(each->r, base, &node->node.attr, &node->node.n_attr);
}

/* An entry of a map from names to names. */
struct entry {
	const char *key, *value;
};

static struct dfg_err *entry_field(struct each *each, const struct dfg_wire *wire, const struct dfg_wire_field *field)
{
	struct entry *entry = each->of;
	(void)wire;
	return read_text(each->r, field, field->field->id == ENTRY_KEY ? &entry->key : &entry->value);
}

static struct dfg_err *body_field(struct each *each, const struct dfg_wire *wire, const struct dfg_wire_field *field)
{
	struct dfg_function *function = each->function;
	struct entry entry = {0};
	struct each inner = {each->r, function, &entry};
	switch (field->field->id) {
	case FUNCTION_SIGNATURE:
		return for_each_in(each, wire, field, signature_field);
	case FUNCTION_NODE:
		return read_node(each, wire, field);
	case FUNCTION_RET:
		DFG_TRY(for_each_in(&inner, wire, field, entry_field));
		for (uint32_t i = 0; i < function->n_out && entry.key; i++)
			if (function->out[i].name && !strcmp(function->out[i].name, entry.key))
				function->out[i].from = entry.value;
		return NULL;
	case FUNCTION_CONTROL_RET:
		DFG_TRY(for_each_in(&inner, wire, field, entry_field));
		if (entry.value)
			function->last[function->n_last++] = entry.value;
		return NULL;
	default:
		return NULL;
	}
}

/* Numbers of parts of each kind. */
struct counts {
	uint32_t in, out, attr, node, last;
};

static struct dfg_err *count_signature(
	struct each *each, const struct dfg_wire *wire, const struct dfg_wire_field *field)
{
	struct counts *counts = each->of;
	(void)wire;
	counts->in += field->field->id == OPDEF_IN;
	counts->out += field->field->id == OPDEF_OUT;
	counts->attr += field->field->id == OPDEF_ATTR;
	return NULL;
}

static struct dfg_err *count_body(struct each *each, const struct dfg_wire *wire, const struct dfg_wire_field *field)
{
	struct counts *counts = each->of;
	counts->node += field->field->id == FUNCTION_NODE;
	counts->last += field->field->id == FUNCTION_CONTROL_RET;
	return field->field->id == FUNCTION_SIGNATURE ? for_each_in(each, wire, field, count_signature) : NULL;
}

/* Arrays have one extra element, so that none is empty. */
static struct dfg_err *read_function(struct dfg_reader *r, const struct dfg_wire *wire, struct dfg_function *function)
{
	struct counts counts = {0};
	struct each each = {r, function, &counts};
	DFG_TRY(for_each(&each, *wire, count_body));
	DFG_TRY(dfg_reader_allocate(r, (size_t)counts.in + 1, sizeof *function->in, &function->in));
	DFG_TRY(dfg_reader_allocate(r, (size_t)counts.out + 1, sizeof *function->out, &function->out));
	DFG_TRY(dfg_reader_allocate(r, (size_t)counts.attr + 1, sizeof *function->attr, &function->attr));
	DFG_TRY(dfg_reader_allocate(r, (size_t)counts.node + 1, sizeof *function->node, &function->node));
	DFG_TRY(dfg_reader_allocate(r, (size_t)counts.last + 1, sizeof *function->last, &function->last));
	return for_each(&each, *wire, body_field);
}

static struct dfg_err *open_function(
	const struct dfg_functions *functions, uint32_t number, struct dfg_arena *arena, struct dfg_function *out_function)
{
	const struct dfg_string *body = &functions->body[number];
	size_t limit = arena->limit;
	struct dfg_reader r = {
		.file = {.start = (const uint8_t *)body->s},
		.arena = arena,
		.budget = arena->total + MEMORY_LEAST + MEMORY_TIMES * body->length,
	};
	struct dfg_wire wire =
		dfg_wire_start(&r.file, &dfg__function_def__descriptor, (const uint8_t *)body->s, body->length);
	*out_function = (struct dfg_function){.name = functions->names.name[number].s};
	/* Names are bytes of the body; the 0 after each replaces its length in the body. */
	struct dfg_err *err = dfg_reader_allocate(&r, body->length + 1, 1, &r.pool);
	r.pool_left = body->length + 1;
	if (!err)
		err = read_function(&r, &wire, out_function);
	arena->limit = limit;
	dfg_map_release(&r.words);
	dfg_free(r.word);
	dfg_free(r.attr);
	return dfg_err_note(
		err, "function '%.*s'", (int)functions->names.name[number].length, functions->names.name[number].s);
}

static struct dfg_err *list_functions(
	const struct dfg_graph *graph, struct dfg_arena *arena, struct dfg_functions *out_functions)
{
	struct dfg_wire_file file = {.start = graph->library};
	struct dfg_wire walk =
		dfg_wire_start(&file, &dfg__function_def_library__descriptor, graph->library, graph->n_library);
	size_t capacity = 0, count = 0;
	struct dfg_string *body = NULL;
	for (;;) {
		struct dfg_wire_field field;
		struct dfg_string name;
		uint32_t number;
		DFG_TRY(dfg_wire_next(&walk, &field));
		if (field.kind == DFG_WIRE_END)
			return NULL;
		if (field.field->id != LIBRARY_FUNCTION)
			continue;
		DFG_TRY(dfg_function_name(&walk, &field, &name));
		if (count == capacity) {
			struct dfg_string *more = dfg_arena_zeros(arena, capacity = 2 * capacity + 16, sizeof *more);
			if (!more)
				return dfg_no_memory("the function library");
			if (count)
				memcpy(more, body, count * sizeof *more);
			out_functions->body = body = more;
		}
		const char *kept = dfg_arena_copy(arena, name.s, name.length);
		if (!kept || !dfg_map_put(&out_functions->names, kept, name.length, &number, NULL))
			return dfg_no_memory("the function library");
		body[count++] = (struct dfg_string){(const char *)field.bytes, field.length};
	}
}

const struct dfg_function_codec dfg_function_codec = {list_functions, open_function};
