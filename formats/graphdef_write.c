#include "formats/graphdef.h"

#include "formats/encode.h"
#include "formats/pbtxt.h"
#include "formats/reader.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { FEW = 16 };

/*
 * Everything is encoded from the end (encode.h): the highest field number first, and lists backwards. The result equals
 * that of canonical.c: fields with default values are omitted.
 */

static void put_if(struct dfg_encoder *to, uint32_t field, uint64_t value)
{
	if (value)
		dfg_encode_number(to, field, value);
}

static void put_shape(struct dfg_encoder *to, const struct dfg_shape *shape)
{
	if (shape->rank < 0)
		dfg_encode_number(to, SHAPE_UNKNOWN_RANK, true);
	for (int i = shape->rank - 1; i >= 0; i--) {
		size_t mark = dfg_encode_mark(to);
		put_if(to, DIM_SIZE, (uint64_t)shape->dim[i]);
		dfg_encode_head(to, SHAPE_DIM, mark);
	}
}

/* Element i of a list of integers, as the number written to the file. */
static uint64_t number_of(enum dfg_dtype dtype, const void *data, size_t i)
{
	uint64_t bits = 0;
	size_t size = dfg_dtype_size(dtype);
	memcpy(&bits, (const uint8_t *)data + i * size, size);
	switch (dtype) {
	case DFG_I8:
	case DFG_QI8:
	case DFG_I4:
	case DFG_I2:
		return (uint64_t)(int64_t)(int8_t)bits;
	case DFG_I16:
	case DFG_QI16:
		return (uint64_t)(int64_t)(int16_t)bits;
	case DFG_I32:
	case DFG_QI32:
		return (uint64_t)(int64_t)(int32_t)bits;
	default:
		return bits;
	}
}

static void put_values(struct dfg_encoder *to, const struct dfg_literal *literal)
{
	uint32_t field = dfg_tensor_list_field(literal->dtype);
	size_t mark = dfg_encode_mark(to), count = (size_t)literal->given;
	const struct dfg_string *string = literal->dtype == DFG_STRING ? literal->data : NULL;
	for (size_t i = count; string && i-- > 0;) {
		size_t inner = dfg_encode_mark(to);
		dfg_encode_borrow(to, string[i].s, string[i].length);
		dfg_encode_head(to, field, inner);
	}
	if (string || !count)
		return;
	switch (literal->dtype) {
	case DFG_F32:
	case DFG_F64:
	case DFG_C64:
	case DFG_C128:
		dfg_encode_borrow(to, literal->data, count * dfg_dtype_size(literal->dtype));
		break;
	default:
		if (field == TENSOR_FLOAT8) {
			dfg_encode_borrow(to, literal->data, count);
			break;
		}
		for (size_t i = count; i-- > 0;)
			dfg_encode_varint(to, number_of(literal->dtype, literal->data, i));
	}
	dfg_encode_head(to, field, mark);
}

static void put_tensor(struct dfg_encoder *to, const struct dfg_literal *literal)
{
	if (dfg_dtype_is_handle(literal->dtype)) {
		dfg_encode_borrow(to, literal->data, dfg_literal_bytes(literal));
		return;
	}
	bool content = literal->content && literal->dtype != DFG_STRING;
	size_t bytes = dfg_literal_bytes(literal), mark;
	if (!content)
		put_values(to, literal);
	if (content && bytes) {
		mark = dfg_encode_mark(to);
		dfg_encode_borrow(to, literal->data, bytes);
		dfg_encode_head(to, TENSOR_CONTENT, mark);
	}
	mark = dfg_encode_mark(to);
	put_shape(to, &literal->shape);
	dfg_encode_head(to, TENSOR_SHAPE, mark);
	put_if(to, TENSOR_DTYPE, literal->dtype);
}

static uint32_t float_bits(double value)
{
	float narrow = (float)value;
	uint32_t bits;
	memcpy(&bits, &narrow, sizeof bits);
	return bits;
}

static void put_attrs(struct dfg_encoder *to, uint32_t field, const struct dfg_attr *attr, uint32_t count);

/* Encodes the content of a value that is a message. */
static void put_message(struct dfg_encoder *to, enum dfg_attr_kind kind, const union dfg_value *value)
{
	if (kind == DFG_ATTR_SHAPE) {
		put_shape(to, value->shape);
	} else if (kind == DFG_ATTR_TENSOR) {
		put_tensor(to, value->tensor);
	} else {
		put_attrs(to, FUNC_ATTR, value->func->attr, value->func->n_attr);
		if (*value->func->name)
			dfg_encode_string(to, FUNC_NAME, value->func->name, strlen(value->func->name));
	}
}

/* The field number of a kind in AttrValue. */
static uint32_t field_of(enum dfg_attr_kind kind)
{
	static const uint8_t field[] = {
		[DFG_ATTR_LIST] = VALUE_LIST,
		[DFG_ATTR_STRING] = VALUE_S,
		[DFG_ATTR_INT] = VALUE_I,
		[DFG_ATTR_FLOAT] = VALUE_F,
		[DFG_ATTR_BOOL] = VALUE_B,
		[DFG_ATTR_DTYPE] = VALUE_TYPE,
		[DFG_ATTR_SHAPE] = VALUE_SHAPE,
		[DFG_ATTR_TENSOR] = VALUE_TENSOR,
		[DFG_ATTR_PLACEHOLDER] = VALUE_PLACEHOLDER,
		[DFG_ATTR_FUNC] = VALUE_FUNC,
	};
	return field[kind];
}

static uint64_t bits_of(enum dfg_attr_kind kind, const union dfg_value *value)
{
	switch (kind) {
	case DFG_ATTR_INT:
		return (uint64_t)value->i;
	case DFG_ATTR_BOOL:
		return value->b;
	case DFG_ATTR_DTYPE:
		return value->dtype;
	default:
		return float_bits(value->f);
	}
}

static bool is_string(enum dfg_attr_kind kind)
{
	return kind == DFG_ATTR_STRING || kind == DFG_ATTR_PLACEHOLDER;
}

static bool is_message(enum dfg_attr_kind kind)
{
	return kind == DFG_ATTR_SHAPE || kind == DFG_ATTR_TENSOR || kind == DFG_ATTR_FUNC;
}

static void put_list(struct dfg_encoder *to, const struct dfg_list *list)
{
	uint32_t field = list->kind == DFG_ATTR_FUNC ? LIST_FUNC : field_of(list->kind);
	bool strings = is_string(list->kind), messages = is_message(list->kind);
	size_t all = dfg_encode_mark(to);
	for (uint32_t i = list->count; i-- > 0;) {
		const union dfg_value *item = &list->item[i];
		size_t mark = dfg_encode_mark(to);
		if (strings)
			dfg_encode_borrow(to, item->s.s, item->s.length);
		else if (messages)
			put_message(to, list->kind, item);
		else if (list->kind == DFG_ATTR_FLOAT)
			dfg_encode_fixed(to, bits_of(list->kind, item), 4);
		else
			dfg_encode_varint(to, bits_of(list->kind, item));
		if (strings || messages)
			dfg_encode_head(to, field, mark);
	}
	if (list->count && !strings && !messages)
		dfg_encode_head(to, field, all);
}

static void put_value(struct dfg_encoder *to, const struct dfg_attr *attr)
{
	uint32_t field = field_of(attr->kind);
	size_t mark = dfg_encode_mark(to);
	if (attr->kind == DFG_ATTR_NONE)
		return;
	if (attr->kind == DFG_ATTR_LIST)
		put_list(to, attr->value.list);
	else if (is_message(attr->kind))
		put_message(to, attr->kind, &attr->value);
	else if (is_string(attr->kind))
		dfg_encode_borrow(to, attr->value.s.s, attr->value.s.length);
	if (attr->kind == DFG_ATTR_FLOAT) {
		dfg_encode_fixed(to, float_bits(attr->value.f), 4);
		dfg_encode_varint(to, field << 3 | PROTOBUF_C_WIRE_TYPE_32BIT);
	} else if (attr->kind == DFG_ATTR_INT || attr->kind == DFG_ATTR_BOOL || attr->kind == DFG_ATTR_DTYPE) {
		dfg_encode_number(to, field, bits_of(attr->kind, &attr->value));
	} else {
		dfg_encode_head(to, field, mark);
	}
}

/* As dfg_wire_compare_keys, but stops at the first difference. */
static int compare(const void *a, const void *b)
{
	const char *m = (*(const struct dfg_attr *const *)a)->name, *n = (*(const struct dfg_attr *const *)b)->name;
	for (; *m == *n && *m; m++)
		n++;
	return *m && *n ? (unsigned char)*m - (unsigned char)*n : !*m - !*n;
}

/* Sorts the attributes in the order of the file. A node keeps them in another, similar order. */
static void order_attrs(const struct dfg_attr **order, const struct dfg_attr *attr, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++)
		order[i] = &attr[i];
	if (count > FEW)
		qsort(order, count, sizeof *order, compare);
	for (uint32_t i = 1; i < count && count <= FEW; i++)
		for (uint32_t j = i; j && compare(&order[j - 1], &order[j]) > 0; j--) {
			const struct dfg_attr *later = order[j - 1];
			order[j - 1] = order[j];
			order[j] = later;
		}
}

static void put_attrs(struct dfg_encoder *to, uint32_t field, const struct dfg_attr *attr, uint32_t count)
{
	const struct dfg_attr *few[FEW], **order = count > FEW ? dfg_zeros(count, sizeof *order) : few;
	if (!order) {
		to->short_of_memory = true;
		return;
	}
	order_attrs(order, attr, count);
	for (uint32_t i = count; i-- > 0;) {
		size_t mark = dfg_encode_mark(to), value = mark;
		put_value(to, order[i]);
		dfg_encode_head(to, ENTRY_VALUE, value);
		dfg_encode_string(to, ENTRY_KEY, order[i]->name, strlen(order[i]->name));
		dfg_encode_head(to, field, mark);
	}
	if (order != few)
		dfg_free(order);
}

/* "node", "node:1" or "^node" */
static void put_input(struct dfg_encoder *to, const struct dfg_graph *graph, struct dfg_edge edge)
{
	size_t mark = dfg_encode_mark(to);
	const struct dfg_name *name = &graph->names.name[edge.node];
	if (edge.port > 0) {
		char digits[16];
		int length = snprintf(digits, sizeof digits, ":%d", edge.port);
		dfg_encode_bytes(to, digits, (size_t)length);
	}
	dfg_encode_bytes(to, name->s, name->length);
	if (edge.port == DFG_CONTROL)
		dfg_encode_bytes(to, "^", 1);
	dfg_encode_head(to, NODE_INPUT, mark);
}

static void put_node(struct dfg_encoder *to, const struct dfg_graph *graph, const struct dfg_node *node)
{
	size_t mark = dfg_encode_mark(to);
	dfg_encode_bytes(to, node->debug, node->n_debug);
	put_attrs(to, NODE_ATTR, node->attr, node->n_attr);
	if (*node->device)
		dfg_encode_string(to, NODE_DEVICE, node->device, strlen(node->device));
	for (uint32_t i = node->n_in + node->n_control; i-- > 0;)
		put_input(to, graph, node->in[i]);
	dfg_encode_string(to, NODE_OP, node->op_name, strlen(node->op_name));
	dfg_encode_string(to, NODE_NAME, node->name, strlen(node->name));
	dfg_encode_head(to, GRAPH_NODE, mark);
}

/* Encodes all fields after the nodes. */
static void put_rest(struct dfg_encoder *to, const struct dfg_graph *graph)
{
	size_t mark = dfg_encode_mark(to), bad;
	if (graph->debug) {
		dfg_encode_borrow(to, graph->debug, graph->n_debug);
		dfg_encode_head(to, GRAPH_DEBUG_INFO, mark);
	}
	if (!graph->unversioned) {
		mark = bad = dfg_encode_mark(to);
		for (uint32_t i = graph->n_bad_consumer; i-- > 0;)
			dfg_encode_varint(to, (uint64_t)(int64_t)graph->bad_consumer[i]);
		if (graph->n_bad_consumer)
			dfg_encode_head(to, VERSIONS_BAD_CONSUMERS, bad);
		put_if(to, VERSIONS_MIN_CONSUMER, (uint64_t)(int64_t)graph->min_consumer);
		put_if(to, VERSIONS_PRODUCER, (uint64_t)(int64_t)graph->producer);
		dfg_encode_head(to, GRAPH_VERSIONS, mark);
	}
	put_if(to, GRAPH_VERSION, (uint64_t)(int64_t)graph->old_version);
	if (graph->library) {
		mark = dfg_encode_mark(to);
		dfg_encode_borrow(to, graph->library, graph->n_library);
		dfg_encode_head(to, GRAPH_LIBRARY, mark);
	}
}

struct dfg_err *dfg_graphdef_parts(
	const struct dfg_graph *graph, struct dfg_err *(*take)(void *arg, struct dfg_encoder *part), void *arg)
{
	struct dfg_encoder encoder = {0};
	struct dfg_err *err = NULL;
	for (uint32_t i = 0; i < graph->count && !err; i++) {
		put_node(&encoder, graph, &graph->node[i]);
		err = take(arg, &encoder);
	}
	put_rest(&encoder, graph);
	if (!err)
		err = take(arg, &encoder);
	dfg_encoder_release(&encoder);
	return err;
}

static struct dfg_err *flush(void *out, struct dfg_encoder *part)
{
	return dfg_encoder_flush(part, out);
}

struct dfg_err *dfg_graphdef_write(const struct dfg_graph *graph, struct dfg_out *out)
{
	return dfg_graphdef_parts(graph, flush, out);
}
