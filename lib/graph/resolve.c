#include "lib/graph/graph.h"

#include "lib/base/plural.h"

#include <stdio.h>
#include <string.h>

struct dfg_err *dfg_resolved_note(struct dfg_err *err, const struct dfg_resolved_node *call)
{
	return call->node ? dfg_err_note(err, "node '%.200s' (%s)", call->node, call->op->name)
					  : dfg_err_note(err, "%s", call->op->name);
}

/* refs: a bit for each of the `ports` ports. */
static bool is_ref(uint8_t refs, const uint16_t *first, int ports, int i)
{
	for (int port = 0; port < ports && refs; port++)
		if (i >= first[port] && i < first[port + 1])
			return refs >> port & 1;
	return false;
}

bool dfg_resolved_in_is_ref(const struct dfg_resolved_node *call, int i)
{
	return is_ref(call->in_ref, call->in_first, call->signature->n_in, i);
}

bool dfg_resolved_out_is_ref(const struct dfg_resolved_node *call, int i)
{
	return is_ref(call->out_ref, call->out_first, call->signature->n_out, i);
}

static const char *kind_name(enum dfg_attr_kind kind)
{
	static const char *const name[] = {"unset", "a string", "an int", "a float", "a bool", "a type", "a shape",
		"a tensor", "a function", "a placeholder", "a list"};
	return name[kind];
}

struct dfg_err *dfg_attr_error(const char *name, const struct dfg_attr *attr, enum dfg_attr_kind expected)
{
	if (!attr)
		return DFG_ERR(DFG_DATA, "attribute '%.100s' is missing, expected %s", name, kind_name(expected));
	return DFG_ERR(DFG_DATA, "attribute '%.100s' is %s, expected %s", name, kind_name(attr->kind), kind_name(expected));
}

/* Whether text is one of "SAME|VALID". */
static bool among(const char *allowed, struct dfg_string text)
{
	for (const char *s = allowed; *s && *s != ' ';) {
		size_t n = strcspn(s, "| ");
		if (n == text.length && !memcmp(s, text.s, n))
			return true;
		s += n + (s[n] == '|');
	}
	return false;
}

static struct dfg_err *check_item(
	const struct dfg_attr_decl *decl, enum dfg_attr_kind kind, const union dfg_value *value)
{
	if (kind != decl->kind)
		return DFG_ERR(DFG_DATA, "attribute '%s' %s %s, must be %s", decl->name,
			decl->is_list ? "has an item that is" : "is", kind_name(kind), kind_name(decl->kind));
	if (kind == DFG_ATTR_STRING && decl->allowed && !among(decl->allowed, value->s))
		return DFG_ERR(DFG_DATA, "attribute '%s' is '%.*s', must be one of %.*s", decl->name,
			(int)(value->s.length > 60 ? 60 : value->s.length), value->s.s, (int)strcspn(decl->allowed, " "),
			decl->allowed);
	if (kind == DFG_ATTR_INT && !decl->is_list && value->i < decl->least)
		return DFG_ERR(DFG_DATA, "attribute '%s' is %lld, must be at least %lld", decl->name, (long long)value->i,
			(long long)decl->least);
	return NULL;
}

static struct dfg_err *check_attr(const struct dfg_attr_decl *decl, const struct dfg_attr *attr)
{
	if (!decl->is_list)
		return check_item(decl, attr->kind, &attr->value);
	if (attr->kind != DFG_ATTR_LIST)
		return dfg_attr_error(decl->name, attr, DFG_ATTR_LIST);
	const struct dfg_list *list = attr->value.list;
	for (uint32_t i = 0; i < list->count; i++)
		DFG_TRY(check_item(decl, list->kind, &list->item[i]));
	if ((int64_t)list->count < decl->least)
		return DFG_ERR(DFG_DATA, "attribute '%s' has %u items, must have at least %lld", decl->name, list->count,
			(long long)decl->least);
	return NULL;
}

static struct dfg_err *fill_attrs(
	const struct dfg_signature *signature, const struct dfg_node *node, union dfg_value *value)
{
	for (int i = 0; i < signature->n_attr; i++) {
		const struct dfg_attr_decl *decl = &signature->attr[i];
		const struct dfg_attr *attr = dfg_node_attr(node, decl->name);
		if (!attr && !decl->has_default)
			return dfg_attr_error(decl->name, NULL, decl->is_list ? DFG_ATTR_LIST : decl->kind);
		value[i] = attr ? attr->value : decl->value;
		if (attr)
			DFG_TRY(check_attr(decl, attr));
	}
	return NULL;
}

/* "f32", or "one of f32 f64". */
static const char *type_words(uint64_t types, char *words, size_t size)
{
	size_t length = (size_t)snprintf(words, size, "%s", types & (types - 1) ? "one of" : "");
	for (int dtype = 0; dtype < DFG_DTYPES; dtype++)
		if (types & dfg_dtype_bit((enum dfg_dtype)dtype))
			length += (size_t)snprintf(
				words + length, size - length, "%s%s", length ? " " : "", dfg_dtype_name((enum dfg_dtype)dtype));
	return words;
}

static struct dfg_err *check_type(const struct dfg_param *param, enum dfg_dtype dtype)
{
	char words[256]; /* longer than the names of all types */

	if ((int)dtype < DFG_DTYPES && param->types & dfg_dtype_bit(dtype))
		return NULL;
	if (!dfg_dtype_size(dtype))
		return DFG_ERR(DFG_DATA, "attribute '%s' has invalid type number %d", param->name, (int)dtype);
	return DFG_ERR(DFG_DATA, "attribute '%s' is %s, must be %s", param->name, dfg_dtype_name(dtype),
		type_words(param->types, words, sizeof words));
}

static struct dfg_err *check_list(const struct dfg_param *param, const struct dfg_list *list)
{
	if (list->count && list->kind != DFG_ATTR_DTYPE)
		return DFG_ERR(
			DFG_DATA, "attribute '%s' has an item that is %s, must be a type", param->name, kind_name(list->kind));
	for (uint32_t i = 0; i < list->count; i++)
		DFG_TRY(check_type(param, list->item[i].dtype));
	return NULL;
}

static struct dfg_err *fill_param(
	const struct dfg_param *param, const struct dfg_attr *attr, union dfg_value *out_value)
{
	enum dfg_attr_kind wanted = !param->types ? DFG_ATTR_INT : param->is_list ? DFG_ATTR_LIST : DFG_ATTR_DTYPE;
	if (!attr) {
		if (!param->default_dtype)
			return dfg_attr_error(param->name, NULL, wanted);
		out_value->dtype = param->default_dtype;
		return NULL;
	}
	if (attr->kind != wanted)
		return dfg_attr_error(param->name, attr, wanted);
	*out_value = attr->value;
	if (wanted == DFG_ATTR_LIST)
		return check_list(param, attr->value.list);
	if (wanted == DFG_ATTR_DTYPE)
		return check_type(param, attr->value.dtype);
	if (attr->value.i < param->least)
		return DFG_ERR(DFG_DATA, "attribute '%s' is %lld, must be at least %d", param->name, (long long)attr->value.i,
			param->least);
	if (attr->value.i > UINT16_MAX)
		return DFG_ERR(
			DFG_DATA, "attribute '%s' is %lld, must be at most %d", param->name, (long long)attr->value.i, UINT16_MAX);
	return NULL;
}

/* The number of tensors at the port. */
static uint32_t port_width(const struct dfg_port *port, const union dfg_value *param)
{
	if (port->is_list)
		return param[port->type].list->count;
	return port->count >= 0 ? (uint32_t)param[port->count].i : 1;
}

static enum dfg_dtype port_dtype(const struct dfg_port *port, const union dfg_value *param, uint32_t i)
{
	if (port->type < 0)
		return port->dtype;
	return port->is_list ? param[port->type].list->item[i].dtype : param[port->type].dtype;
}

/* One side of the call: the first tensor of each port, and the type of each tensor. */
static struct dfg_err *lay_out(const struct dfg_port *port, int n_port, const union dfg_value *param,
	struct dfg_arena *arena, struct dfg_resolved_node *call)
{
	bool is_in = port == call->signature->in;
	uint32_t count = 0;
	for (int p = 0; p < n_port; p++)
		count += port_width(&port[p], param);
	if (count > UINT16_MAX)
		return DFG_ERR(DFG_DATA, "the node has %u %s, the limit is 65535", count, is_in ? "inputs" : "outputs");
	size_t head = ((size_t)n_port + 1) * sizeof(uint16_t);
	uint16_t *first = dfg_arena_zeros(arena, head + count, 1);
	if (!first)
		return dfg_no_memory("the attributes and ports of nodes");
	uint8_t *dtype = (uint8_t *)first + head, refs = 0;
	uint32_t at = 0;
	for (int p = 0; p < n_port; p++) {
		first[p] = (uint16_t)at;
		refs |= (uint8_t)((port[p].is_ref && p < 8) << p);
		for (uint32_t i = 0, width = port_width(&port[p], param); i < width; i++)
			dtype[at++] = (uint8_t)port_dtype(&port[p], param, i);
	}
	first[n_port] = (uint16_t)at;
	if (is_in)
		call->in_first = first, call->in_dtype = dtype, call->n_in = (uint16_t)at, call->in_ref = refs;
	else
		call->out_first = first, call->out_dtype = dtype, call->n_out = (uint16_t)at, call->out_ref = refs;
	return NULL;
}

uint32_t dfg_node_port_width(
	const struct dfg_node *node, const struct dfg_signature *signature, const struct dfg_port *port)
{
	if (!port->is_list && port->count < 0)
		return 1;
	const struct dfg_attr *attr = dfg_node_attr(node, signature->param[port->is_list ? port->type : port->count].name);
	if (!attr)
		return 0;
	if (port->is_list)
		return attr->kind == DFG_ATTR_LIST ? attr->value.list->count : 0;
	return attr->kind == DFG_ATTR_INT && attr->value.i >= 0 && attr->value.i <= UINT16_MAX ? (uint32_t)attr->value.i
																						   : 0;
}

static bool declared(const struct dfg_signature *signature, const char *name)
{
	for (int i = 0; i < signature->n_param; i++)
		if (!strcmp(signature->param[i].name, name))
			return true;
	return dfg_op_attr(signature, name) >= 0;
}

static struct dfg_err *refuse_unknown(
	const struct dfg_graph *graph, const struct dfg_signature *signature, const struct dfg_node *node)
{
	for (uint32_t i = 0; i < node->n_attr; i++)
		if (node->attr[i].name[0] != '_' && !declared(signature, node->attr[i].name))
			return DFG_ERR(DFG_DATA, "%s has no attribute '%.100s' (the file's producer version is %d)", node->op_name,
				node->attr[i].name, graph->producer);
	return NULL;
}

static struct dfg_err *fill(
	const struct dfg_graph *graph, const struct dfg_node *node, struct dfg_arena *arena, struct dfg_resolved_node *call)
{
	const struct dfg_signature *signature;
	DFG_TRY(dfg_op_signature(node->op, &signature));
	union dfg_value *value =
		dfg_arena_zeros(arena, (size_t)signature->n_attr + (size_t)signature->n_param, sizeof *value);
	if (!value)
		return dfg_no_memory("the attributes and ports of nodes");
	union dfg_value *param = value + signature->n_attr;
	call->signature = signature;
	call->attr = value;
	call->param = param;
	DFG_TRY(fill_attrs(signature, node, value));
	for (int i = 0; i < signature->n_param; i++)
		DFG_TRY(fill_param(&signature->param[i], dfg_node_attr(node, signature->param[i].name), &param[i]));
	DFG_TRY(refuse_unknown(graph, signature, node));
	DFG_TRY(lay_out(signature->in, signature->n_in, param, arena, call));
	DFG_TRY(lay_out(signature->out, signature->n_out, param, arena, call));
	if (call->n_in != node->n_in)
		return DFG_ERR(DFG_DATA, "has %u input%s, expected %u", node->n_in, dfg_plural(node->n_in), call->n_in);
	return NULL;
}

struct dfg_err *dfg_node_resolve(
	const struct dfg_graph *graph, uint32_t number, struct dfg_arena *arena, struct dfg_resolved_node *out_call)
{
	const struct dfg_node *node = &graph->node[number];
	if (!node->op)
		return dfg_err_note(dfg_op_missing(node->op_name), "node '%.200s'", node->name);
	*out_call = (struct dfg_resolved_node){.op = node->op, .node = node->name};
	return dfg_resolved_note(fill(graph, node, arena, out_call), out_call);
}

bool dfg_node_takes_ref(const struct dfg_node *node, uint32_t e)
{
	const struct dfg_signature *signature;
	if (!node->op)
		return true;
	struct dfg_err *err = dfg_op_signature(node->op, &signature);
	dfg_err_free(err);
	for (int i = 0; !err && i < signature->n_in; i++) {
		uint32_t width = dfg_node_port_width(node, signature, &signature->in[i]);
		if (e < width)
			return signature->in[i].is_ref;
		e -= width;
	}
	return true;
}

static bool makes_ref(const struct dfg_node *node, uint32_t port)
{
	const struct dfg_signature *signature;
	struct dfg_err *err = dfg_op_signature(node->op, &signature);
	dfg_err_free(err);
	for (int i = 0; !err && i < signature->n_out; i++) {
		uint32_t width = dfg_node_port_width(node, signature, &signature->out[i]);
		if (port < width)
			return signature->out[i].is_ref;
		port -= width;
	}
	return false;
}

bool dfg_edge_is_ref(const struct dfg_graph *graph, struct dfg_edge edge)
{
	for (uint32_t steps = 0; steps <= graph->count && edge.port >= 0; steps++) {
		const struct dfg_node *node = &graph->node[edge.node];
		if (!node->op || makes_ref(node, (uint32_t)edge.port))
			return node->op;
		if (node->op->role != DFG_IDENTITY || (uint32_t)edge.port >= node->n_in)
			return false;
		edge = node->in[edge.port];
	}
	return false;
}

bool dfg_node_names_outputs(const struct dfg_node *node)
{
	return node->op && node->op->role == DFG_IDENTITY && node->n_in > 1 && !node->n_control &&
		   dfg_node_mark(node, "_dfg_call", NULL);
}
