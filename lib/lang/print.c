#include "lib/lang/lang.h"

#include <string.h>

/*
 * A graph as text, a statement a node:
 *
 *     "h" = MatMul("x", "w/read", T = f32, transpose_b = true)
 *     "init" = NoOp() after "w/assign", "b/assign"
 */
enum { ELEMENTS = 16, BYTES = 60 }; /* the most that is shown of a constant, and of a string */

static void put_quoted(struct dfg_text *text, const char *bytes, size_t length, size_t most)
{
	dfg_text_put(text, "\"", 1);
	dfg_text_escape(text, bytes, length, most);
	dfg_text_put(text, "\"", 1);
}

static void put_edge(struct dfg_text *text, const struct dfg_graph *graph, struct dfg_edge edge)
{
	const char *name = graph->node[edge.node].name;
	dfg_text_put(text, "\"", 1);
	dfg_text_escape(text, name, strlen(name), SIZE_MAX);
	if (edge.port > 0)
		dfg_text_add(text, ":%d", edge.port);
	dfg_text_put(text, "\"", 1);
}

static void put_element(struct dfg_text *text, const struct dfg_tensor *tensor, int64_t i)
{
	if (tensor->dtype == DFG_STRING) {
		const struct dfg_string *element = dfg_tensor_at(tensor, i);
		put_quoted(text, element->s, element->length, BYTES);
	} else if (tensor->dtype == DFG_BOOL)
		dfg_text_add(text, "%s", dfg_tensor_int(tensor, i) ? "true" : "false");
	else if (tensor->dtype == DFG_U64)
		dfg_text_add(text, "%llu", (unsigned long long)dfg_tensor_int(tensor, i));
	else if (dfg_dtype_is(tensor->dtype, "int"))
		dfg_text_add(text, "%lld", (long long)dfg_tensor_int(tensor, i));
	else if (tensor->dtype == DFG_F64)
		dfg_text_f64(text, dfg_tensor_float(tensor, i));
	else
		dfg_text_f32(text, (float)dfg_tensor_float(tensor, i));
}

static bool is_shown(enum dfg_dtype dtype)
{
	return dtype == DFG_STRING || dtype == DFG_BOOL || dfg_dtype_is(dtype, "int") || dfg_dtype_is(dtype, "float");
}

/* The elements in one row, after the shape; `...` for those that are not shown. */
static struct dfg_err *put_literal(struct dfg_text *text, const struct dfg_literal *literal)
{
	struct dfg_tensor tensor;
	int64_t count = dfg_shape_count(&literal->shape);
	dfg_text_add(text, "%s", dfg_type_words(literal->dtype, &literal->shape).s);
	if (!is_shown(literal->dtype))
		return NULL;
	DFG_TRY(dfg_literal_first(literal, ELEMENTS, &tensor));
	dfg_text_put(text, "(", 1);
	if (literal->shape.rank > 0)
		dfg_text_put(text, "[", 1);
	for (int64_t i = 0; i < count && i < ELEMENTS; i++) {
		dfg_text_add(text, "%s", i ? ", " : "");
		put_element(text, &tensor, i);
	}
	dfg_text_add(text, "%s%s)", count > ELEMENTS ? ", ..." : "", literal->shape.rank > 0 ? "]" : "");
	dfg_tensor_release(&tensor);
	return NULL;
}

static void put_dtype(struct dfg_text *text, enum dfg_dtype dtype)
{
	bool is_ref = (int)dtype > DFG_REF;
	dfg_text_add(text, "%s%s", is_ref ? "ref " : "", dfg_dtype_name(is_ref ? dtype - DFG_REF : dtype));
}

static struct dfg_err *put_value(struct dfg_text *text, enum dfg_attr_kind kind, union dfg_value value)
{
	switch (kind) {
	case DFG_ATTR_STRING:
	case DFG_ATTR_PLACEHOLDER:
		put_quoted(text, value.s.s, value.s.length, BYTES);
		break;
	case DFG_ATTR_INT:
		dfg_text_add(text, "%lld", (long long)value.i);
		break;
	case DFG_ATTR_FLOAT:
		dfg_text_f32(text, (float)value.f);
		break;
	case DFG_ATTR_BOOL:
		dfg_text_add(text, "%s", value.b ? "true" : "false");
		break;
	case DFG_ATTR_DTYPE:
		put_dtype(text, value.dtype);
		break;
	case DFG_ATTR_SHAPE:
		dfg_text_add(text, "%s", dfg_shape_words(value.shape).s);
		break;
	case DFG_ATTR_TENSOR:
		return put_literal(text, value.tensor);
	case DFG_ATTR_FUNC:
		put_quoted(text, value.func->name, strlen(value.func->name), BYTES);
		break;
	case DFG_ATTR_LIST:
		dfg_text_put(text, "[", 1);
		for (uint32_t i = 0; i < value.list->count; i++) {
			dfg_text_add(text, "%s", i ? ", " : "");
			DFG_TRY(put_value(text, value.list->kind, value.list->item[i]));
		}
		dfg_text_put(text, "]", 1);
		break;
	default:
		dfg_text_add(text, "none");
	}
	return NULL;
}

static struct dfg_err *put_node(struct dfg_text *text, const struct dfg_graph *graph, const struct dfg_node *node)
{
	const char *comma = "";
	put_quoted(text, node->name, strlen(node->name), SIZE_MAX);
	dfg_text_add(text, " = %s(", node->op_name);
	for (uint32_t i = 0; i < node->n_in; i++, comma = ", ") {
		dfg_text_add(text, "%s", comma);
		put_edge(text, graph, node->in[i]);
	}
	for (uint32_t i = 0; i < node->n_attr; i++, comma = ", ") {
		dfg_text_add(text, "%s%s = ", comma, node->attr[i].name);
		DFG_TRY(put_value(text, node->attr[i].kind, node->attr[i].value));
	}
	dfg_text_put(text, ")", 1);
	for (uint32_t i = 0; i < node->n_control; i++) {
		dfg_text_add(text, "%s", i ? ", " : " after ");
		put_edge(text, graph, node->in[node->n_in + i]);
	}
	if (node->device && *node->device) {
		dfg_text_add(text, " on ");
		put_quoted(text, node->device, strlen(node->device), SIZE_MAX);
	}
	dfg_text_put(text, "\n", 1);
	return NULL;
}

struct dfg_err *dfg_lang_print(const struct dfg_graph *graph, struct dfg_text *out_text)
{
	for (uint32_t i = 0; i < graph->count; i++)
		DFG_TRY(put_node(out_text, graph, &graph->node[i]));
	return dfg_text_check(out_text);
}
