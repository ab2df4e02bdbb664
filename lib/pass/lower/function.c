#include "lib/pass/lower/lower_private.h"

#include <stdlib.h>
#include <string.h>

enum { TENSORS_MOST = UINT16_MAX, CALLS_DEEP = 100 };

/* Inputs first, then nodes. */
static struct dfg_err *name_parts(struct body *body)
{
	const struct dfg_function *function = &body->function;
	for (uint32_t i = 0; i < function->n_in + function->n_node; i++) {
		const char *name = i < function->n_in ? function->in[i].name : function->node[i - function->n_in].node.name;
		bool is_new;
		uint32_t number;
		if (!dfg_map_put(&body->names, name, strlen(name), &number, &is_new))
			return dfg_no_memory("the body of a function");
		if (!is_new)
			return DFG_ERR(DFG_DATA, "two inputs or nodes are named '%s'", name);
	}
	return NULL;
}

/* The input or node that "name", "name:..." or "^name" refers to; DFG_NONE if it does not exist. */
static uint32_t part_of(const struct body *body, const char *text)
{
	text += *text == '^';
	return dfg_map_find(&body->names, text, strcspn(text, ":"));
}

static void mark_used(struct body *body, const char *text)
{
	uint32_t part = text ? part_of(body, text) : DFG_NONE;
	if (part < body->function.n_in)
		body->used[part] = true;
}

/* Marks all data and control predecessors of the marked nodes. */
static struct dfg_err *mark_before(struct lower *l, const struct body *body, bool *marked)
{
	const struct dfg_function *function = &body->function;
	uint32_t *todo = dfg_arena_zeros(l->scratch, (size_t)function->n_node + 1, sizeof *todo), count = 0;
	if (!todo)
		return dfg_no_memory("the body of a function");
	for (uint32_t n = 0; n < function->n_node; n++)
		if (marked[n])
			todo[count++] = n;
	while (count) {
		const struct dfg_function_node *node = &function->node[todo[--count]];
		for (uint32_t i = 0; i < node->n_input; i++) {
			uint32_t part = part_of(body, node->input[i]);
			if (part == DFG_NONE || part < function->n_in || marked[part - function->n_in])
				continue;
			marked[part - function->n_in] = true;
			todo[count++] = part - function->n_in;
		}
	}
	return NULL;
}

static bool is_read(const struct dfg_node *node)
{
	return node->op && node->op->role == DFG_READ;
}

/*
 * The nodes that a call waits for: those that the function declares, except reads that a result depends on anyway; and
 * nodes with effects that would be lost because neither a result nor a declaration depends on them.
 */
static struct dfg_err *find_last(struct lower *l, struct body *body)
{
	const struct dfg_function *function = &body->function;
	bool *before_result = dfg_arena_zeros(l->scratch, (size_t)function->n_node + 1, 1);
	bool *before_last = dfg_arena_zeros(l->scratch, (size_t)function->n_node + 1, 1);
	bool *is_last = dfg_arena_zeros(l->scratch, (size_t)function->n_node + 1, 1);
	body->last = dfg_arena_zeros(l->scratch, (size_t)function->n_node + 1, sizeof *body->last);
	if (!before_result || !before_last || !is_last || !body->last)
		return dfg_no_memory("the body of a function");
	for (uint32_t i = 0; i < function->n_out; i++) {
		uint32_t part = function->out[i].from ? part_of(body, function->out[i].from) : DFG_NONE;
		if (part != DFG_NONE && part >= function->n_in)
			before_result[part - function->n_in] = true;
	}
	for (uint32_t i = 0; i < function->n_last; i++) {
		uint32_t part = part_of(body, function->last[i]);
		if (part == DFG_NONE || part < function->n_in)
			return DFG_ERR(DFG_DATA, "control output '%s' is not a node of the function", function->last[i]);
		is_last[part - function->n_in] = before_last[part - function->n_in] = true;
	}
	DFG_TRY(mark_before(l, body, before_result));
	DFG_TRY(mark_before(l, body, before_last));
	for (uint32_t n = 0; n < function->n_node; n++) {
		const struct dfg_node *node = &function->node[n].node;
		bool lost = !before_last[n] && !(function->n_last && before_result[n]);
		if (lost)
			DFG_TRY(dfg_lower_effects(l, node, 0, &lost));
		if (lost || (is_last[n] && !(is_read(node) && before_result[n])))
			body->last[body->n_last++] = n;
	}
	return NULL;
}

static struct dfg_err *open_body(struct lower *l, uint32_t number, struct body *body)
{
	const struct dfg_function *function = &body->function;
	DFG_TRY(l->graph->codec->open(&l->functions, number, l->graph->arena, &body->function));
	body->is_open = true;
	body->used = dfg_arena_zeros(l->scratch, (size_t)function->n_in + 1, 1);
	if (!body->used)
		return dfg_no_memory("the body of a function");
	DFG_TRY(name_parts(body));
	for (uint32_t n = 0; n < function->n_node; n++)
		for (uint32_t i = 0; i < function->node[n].n_input; i++)
			mark_used(body, function->node[n].input[i]);
	for (uint32_t i = 0; i < function->n_out; i++)
		mark_used(body, function->out[i].from);
	return NULL;
}

static struct dfg_err *no_function(const struct lower *l, const char *name)
{
	struct dfg_nearest nearest = {.word = name};
	for (size_t i = 0; i < l->functions.names.count; i++)
		dfg_nearest_offer(&nearest, l->functions.names.name[i].s);
	return DFG_ERR(DFG_DATA, "no function '%.200s' in the library%s%s%s", name, nearest.best ? "; did you mean '" : "",
		nearest.best ? nearest.best : "", nearest.best ? "'?" : "");
}

/* Opens the function without searching it for effects. */
static struct dfg_err *open_once(struct lower *l, const char *name, uint32_t *out_number)
{
	*out_number = dfg_map_find(&l->functions.names, name, strlen(name));
	if (*out_number == DFG_NONE)
		return no_function(l, name);
	struct body *body = &l->body[*out_number];
	return body->is_open ? NULL : dfg_err_note(open_body(l, *out_number, body), "function '%.200s'", name);
}

struct dfg_err *dfg_lower_open(struct lower *l, const char *name, uint32_t *out_number, struct body **out_body)
{
	DFG_TRY(open_once(l, name, out_number));
	struct body *body = *out_body = &l->body[*out_number];
	return body->last ? NULL : dfg_err_note(find_last(l, body), "function '%.200s'", name);
}

static struct dfg_err *has_effects(struct lower *l, const char *name, int depth, bool *out_some);

struct dfg_err *dfg_lower_effects(struct lower *l, const struct dfg_node *node, int depth, bool *out_some)
{
	*out_some = false;
	if (node->op && node->op->role != DFG_CALL) {
		*out_some = node->op->flags & DFG_STATEFUL && (node->op->role == DFG_PLAIN || node->op->role == DFG_ASSIGN);
		return NULL;
	}
	if (!node->op)
		return has_effects(l, node->op_name, depth, out_some);
	for (uint32_t i = 0; i < node->n_attr && !*out_some; i++) {
		const struct dfg_attr *attr = &node->attr[i];
		if (attr->kind == DFG_ATTR_FUNC)
			DFG_TRY(has_effects(l, attr->value.func->name, depth, out_some));
		if (attr->kind != DFG_ATTR_LIST || attr->value.list->kind != DFG_ATTR_FUNC)
			continue;
		for (uint32_t j = 0; j < attr->value.list->count && !*out_some; j++)
			DFG_TRY(has_effects(l, attr->value.list->item[j].func->name, depth, out_some));
	}
	return NULL;
}

/* A missing or recursive function is reported where it is called, not here. */
static struct dfg_err *has_effects(struct lower *l, const char *name, int depth, bool *out_some)
{
	uint32_t number = dfg_map_find(&l->functions.names, name, strlen(name));
	*out_some = depth > CALLS_DEEP;
	if (number == DFG_NONE || *out_some)
		return NULL;
	struct body *body = &l->body[number];
	if (body->effects == EFFECTS_UNKNOWN) {
		bool some = false;
		body->effects = EFFECTS_ASKED;
		DFG_TRY(open_once(l, name, &number));
		some = body->function.n_last > 0;
		for (uint32_t n = 0; n < body->function.n_node && !some; n++)
			DFG_TRY(dfg_lower_effects(l, &body->function.node[n].node, depth + 1, &some));
		body->effects = some ? EFFECTS_SOME : EFFECTS_NONE;
	}
	*out_some = body->effects == EFFECTS_SOME;
	return NULL;
}

static const struct dfg_attr *attr_of(const struct instance *instance, const char *name)
{
	const struct dfg_function *function = &instance->body->function;
	for (uint32_t i = 0; i < instance->n_attr; i++)
		if (!strcmp(instance->attr[i].name, name))
			return &instance->attr[i];
	for (uint32_t i = 0; i < function->n_attr; i++)
		if (!strcmp(function->attr[i].name, name))
			return &function->attr[i];
	return NULL;
}

static struct dfg_err *wanted_attr(
	const struct instance *instance, const char *name, enum dfg_attr_kind kind, union dfg_value *out_value)
{
	const struct dfg_attr *attr = attr_of(instance, name);
	if (!attr || (attr->kind != kind && !(attr->kind == DFG_ATTR_LIST && !attr->value.list->count)))
		return dfg_attr_error(name, attr, kind);
	*out_value = attr->value;
	return NULL;
}

/* The tensors of one port. Their types are written to dtype unless it is NULL. */
static struct dfg_err *port_tensors(
	const struct instance *instance, const struct dfg_function_port *port, enum dfg_dtype *dtype, uint32_t *out_width)
{
	union dfg_value value = {.i = 1};
	if (port->types) {
		DFG_TRY(wanted_attr(instance, port->types, DFG_ATTR_LIST, &value));
		for (uint32_t i = 0; dtype && i < value.list->count; i++)
			dtype[i] = value.list->item[i].dtype;
		*out_width = value.list->count;
		return NULL;
	}
	if (port->number)
		DFG_TRY(wanted_attr(instance, port->number, DFG_ATTR_INT, &value));
	if (value.i < 0 || value.i > TENSORS_MOST)
		return DFG_ERR(
			DFG_DATA, "'%s' has %lld tensors, expected 0 to %d", port->name, (long long)value.i, TENSORS_MOST);
	*out_width = (uint32_t)value.i;
	value.dtype = port->dtype;
	if (port->type)
		DFG_TRY(wanted_attr(instance, port->type, DFG_ATTR_DTYPE, &value));
	for (uint32_t i = 0; dtype && i < *out_width; i++)
		dtype[i] = value.dtype;
	return NULL;
}

static struct dfg_err *lay_out(struct lower *l, const struct instance *instance, const struct dfg_function_port *port,
	uint32_t n_port, uint32_t **out_first, enum dfg_dtype **out_dtype, uint32_t *out_count)
{
	uint32_t width, *first = dfg_arena_zeros(l->scratch, (size_t)n_port + 1, sizeof *first);
	if (!first)
		return dfg_no_memory("the body of a function");
	for (uint32_t p = 0; p < n_port; p++) {
		DFG_TRY(port_tensors(instance, &port[p], NULL, &width));
		first[p + 1] = first[p] + width;
		if (first[p + 1] > TENSORS_MOST)
			return DFG_ERR(DFG_DATA, "the call has more than %d inputs or outputs, the limit", TENSORS_MOST);
	}
	enum dfg_dtype *dtype = dfg_arena_zeros(l->scratch, (size_t)first[n_port] + 1, sizeof *dtype);
	if (!dtype)
		return dfg_no_memory("the body of a function");
	for (uint32_t p = 0; p < n_port; p++)
		DFG_TRY(port_tensors(instance, &port[p], dtype + first[p], &width));
	*out_first = first;
	*out_dtype = dtype;
	*out_count = first[n_port];
	return NULL;
}

struct dfg_err *dfg_lower_instance(struct lower *l, const struct dfg_func *func, struct instance *out_instance)
{
	struct instance *instance = out_instance;
	*instance = (struct instance){.attr = func->attr, .n_attr = func->n_attr};
	DFG_TRY(dfg_lower_open(l, func->name, &instance->number, &instance->body));
	const struct dfg_function *function = &instance->body->function;
	struct dfg_err *err =
		lay_out(l, instance, function->in, function->n_in, &instance->in_first, &instance->in_dtype, &instance->n_in);
	if (!err)
		err = lay_out(
			l, instance, function->out, function->n_out, &instance->out_first, &instance->out_dtype, &instance->n_out);
	return dfg_err_note(err, "function '%.200s'", func->name);
}

static struct dfg_err *check_types(const struct instance *instance, const enum dfg_dtype *dtype, uint32_t count,
	const struct dfg_list *wanted, bool is_in)
{
	const char *name = instance->body->function.name, *does = is_in ? "takes" : "gives";
	const char *what = is_in ? "input" : "output";
	if (count != wanted->count)
		return DFG_ERR(DFG_DATA, "function '%.200s' %s %u %ss, expected %u", name, does, count, what, wanted->count);
	for (uint32_t i = 0; i < count; i++)
		if (dtype[i] != wanted->item[i].dtype)
			return DFG_ERR(DFG_DATA, "function '%.200s' %s %s as %s %u, expected %s", name, does,
				dfg_dtype_name(dtype[i]), what, i, dfg_dtype_name(wanted->item[i].dtype));
	return NULL;
}

struct dfg_err *dfg_lower_fits(const struct instance *instance, const struct dfg_list *in, const struct dfg_list *out)
{
	if (in)
		DFG_TRY(check_types(instance, instance->in_dtype, instance->n_in, in, true));
	return out ? check_types(instance, instance->out_dtype, instance->n_out, out, false) : NULL;
}

static bool has_placeholder(const struct dfg_attr *attr, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++) {
		if (attr[i].kind == DFG_ATTR_PLACEHOLDER)
			return true;
		if (attr[i].kind == DFG_ATTR_FUNC && has_placeholder(attr[i].value.func->attr, attr[i].value.func->n_attr))
			return true;
		const struct dfg_list *list = attr[i].kind == DFG_ATTR_LIST ? attr[i].value.list : NULL;
		for (uint32_t j = 0; list && list->kind == DFG_ATTR_FUNC && j < list->count; j++)
			if (has_placeholder(list->item[j].func->attr, list->item[j].func->n_attr))
				return true;
	}
	return false;
}

static struct dfg_err *fill_attr(struct lower *l, const struct instance *instance, struct dfg_attr *attr);

static struct dfg_err *fill_func(struct lower *l, const struct instance *instance, union dfg_value *value)
{
	struct dfg_func *func = dfg_arena_zeros(l->graph->arena, 1, sizeof *func);
	struct dfg_attr *attr = dfg_arena_zeros(l->graph->arena, (size_t)value->func->n_attr + 1, sizeof *attr);
	if (!func || !attr)
		return dfg_no_memory("the body of a function");
	*func = (struct dfg_func){value->func->name, attr, value->func->n_attr};
	for (uint32_t i = 0; i < func->n_attr; i++) {
		attr[i] = value->func->attr[i];
		DFG_TRY(fill_attr(l, instance, &attr[i]));
	}
	value->func = func;
	return NULL;
}

static struct dfg_err *fill_list(struct lower *l, const struct instance *instance, union dfg_value *value)
{
	struct dfg_list *list = dfg_arena_zeros(l->graph->arena, 1, sizeof *list);
	union dfg_value *item = dfg_arena_zeros(l->graph->arena, (size_t)value->list->count + 1, sizeof *item);
	if (!list || !item)
		return dfg_no_memory("the body of a function");
	*list = (struct dfg_list){value->list->kind, value->list->count, item};
	for (uint32_t i = 0; i < list->count; i++) {
		item[i] = value->list->item[i];
		DFG_TRY(fill_func(l, instance, &item[i]));
	}
	value->list = list;
	return NULL;
}

/* The nesting of functions in attributes is bounded by that of messages in a file. */
static struct dfg_err *fill_attr(struct lower *l, const struct instance *instance, struct dfg_attr *attr)
{
	if (attr->kind == DFG_ATTR_FUNC)
		return fill_func(l, instance, &attr->value);
	if (attr->kind == DFG_ATTR_LIST && attr->value.list->kind == DFG_ATTR_FUNC)
		return fill_list(l, instance, &attr->value);
	if (attr->kind != DFG_ATTR_PLACEHOLDER)
		return NULL;
	for (uint32_t i = 0; i < instance->n_attr + instance->body->function.n_attr; i++) {
		const struct dfg_attr *from =
			i < instance->n_attr ? &instance->attr[i] : &instance->body->function.attr[i - instance->n_attr];
		if (strlen(from->name) != attr->value.s.length || memcmp(from->name, attr->value.s.s, attr->value.s.length))
			continue;
		attr->kind = from->kind;
		attr->value = from->value;
		return NULL;
	}
	return DFG_ERR(DFG_DATA,
		"attribute '%.100s' refers to the function's attribute '%.*s', which the call does not set", attr->name,
		(int)(attr->value.s.length > 100 ? 100 : attr->value.s.length), attr->value.s.s);
}

struct dfg_err *dfg_lower_attrs(
	struct lower *l, const struct instance *instance, const struct dfg_node *node, struct dfg_attr **out_attr)
{
	*out_attr = node->attr;
	if (!has_placeholder(node->attr, node->n_attr))
		return NULL;
	*out_attr = dfg_arena_zeros(l->graph->arena, node->n_attr, sizeof **out_attr);
	if (!*out_attr)
		return dfg_no_memory("the body of a function");
	for (uint32_t i = 0; i < node->n_attr; i++) {
		(*out_attr)[i] = node->attr[i];
		DFG_TRY(fill_attr(l, instance, &(*out_attr)[i]));
	}
	return NULL;
}

static bool is_named(const char *port, const struct dfg_string *name)
{
	return port && strlen(port) == name->length && !memcmp(port, name->s, name->length);
}

/* The tensors of an output of a node whose op is the name of a function. */
static struct dfg_err *called_output(struct lower *l, const struct dfg_node *node, const struct dfg_string *name,
	uint32_t *out_first, uint32_t *out_width)
{
	struct instance instance;
	DFG_TRY(dfg_lower_instance(l, &(struct dfg_func){node->op_name, node->attr, node->n_attr}, &instance));
	const struct dfg_function *function = &instance.body->function;
	for (uint32_t p = 0; p < function->n_out; p++)
		if (is_named(function->out[p].name, name)) {
			*out_first = instance.out_first[p];
			*out_width = instance.out_first[p + 1] - instance.out_first[p];
			return NULL;
		}
	return DFG_ERR(DFG_DATA, "function '%.200s' has no output '%.*s'", node->op_name, (int)name->length, name->s);
}

struct dfg_err *dfg_lower_output(struct lower *l, const struct dfg_node *node, const struct dfg_string *name,
	uint32_t *out_first, uint32_t *out_width)
{
	const struct dfg_signature *signature;
	if (!node->op && dfg_map_find(&l->functions.names, node->op_name, strlen(node->op_name)) != DFG_NONE)
		return called_output(l, node, name, out_first, out_width);
	if (!node->op)
		return dfg_err_note(dfg_op_missing(node->op_name), "node '%.200s'", node->name);
	DFG_TRY(dfg_op_signature(node->op, &signature));
	*out_first = 0;
	for (int p = 0; p < signature->n_out; p++) {
		*out_width = dfg_node_port_width(node, signature, &signature->out[p]);
		if (is_named(signature->out[p].name, name))
			return NULL;
		*out_first += *out_width;
	}
	return DFG_ERR(DFG_DATA, "node '%.200s' (%s) has no output '%.*s'", node->name, node->op_name,
		(int)(name->length > 100 ? 100 : name->length), name->s);
}

/* The tensor of an input that "x" or "x:1" refers to. */
static uint32_t input_tensor(const struct instance *instance, uint32_t part, const char *text)
{
	const char *colon = strchr(text, ':');
	uint32_t first = instance->in_first[part], width = instance->in_first[part + 1] - first;
	long i = colon ? strtol(colon + 1, NULL, 10) : 0;
	return i >= 0 && i < (long)width && (colon || width == 1) ? first + (uint32_t)i : DFG_NONE;
}

uint32_t dfg_lower_same_input(const struct instance *instance, uint32_t i)
{
	const struct body *body = instance->body;
	const struct dfg_function *function = &body->function;
	uint32_t port = 0;
	while (port + 1 < function->n_out && instance->out_first[port + 1] <= i)
		port++;
	const char *text = function->out[port].from;
	if (instance->out_first[port + 1] - instance->out_first[port] != 1)
		return DFG_NONE;
	for (uint32_t steps = 0; text && steps <= function->n_node; steps++) {
		uint32_t part = part_of(body, text);
		if (part == DFG_NONE)
			return DFG_NONE;
		if (part < function->n_in)
			return input_tensor(instance, part, text);
		const struct dfg_function_node *node = &function->node[part - function->n_in];
		bool one = node->n_input && node->input[0][0] != '^' && (node->n_input == 1 || node->input[1][0] == '^');
		bool passes = one && node->node.op && node->node.op->role == DFG_IDENTITY;
		text = passes ? node->input[0] : NULL;
	}
	return DFG_NONE;
}
