#include "lib/pass/lower/lower_private.h"

#include <stdlib.h>
#include <string.h>

/* A body that is being copied into the graph: its node n becomes node first + n. */
struct inlining {
	struct lower *l;
	const struct binding *binding;
	const struct body *body;
	uint32_t scope, first;
};

/* The kinds of inputs that a node of the body has. */
struct reach {
	bool nodes, inputs; /* it reads nodes of the body; it reads inputs */
	bool moves;         /* some input may be dead when the anchor is live */
};

static struct dfg_err *push_edge(struct lower *l, struct dfg_edge edge)
{
	if (!dfg_reserve(&l->edge, &l->edge_capacity, (size_t)l->edges + 1, sizeof *l->edge))
		return dfg_no_memory("the body of a function");
	l->edge[l->edges++] = edge;
	return NULL;
}

static enum dfg_role role_of(const struct lower *l, uint32_t node)
{
	return l->graph->node[node].op ? l->graph->node[node].op->role : DFG_PLAIN;
}

/* Appends the tensors of input `part` that "x" or "x:1" refers to. */
static struct dfg_err *add_input(struct inlining *in, uint32_t part, const char *text, struct reach *reach)
{
	const struct instance *instance = in->binding->instance;
	uint32_t first = instance->in_first[part], end = instance->in_first[part + 1];
	const char *colon = strchr(text, ':');
	if (colon) {
		char *rest;
		unsigned long i = strtoul(colon + 1, &rest, 10);
		if (rest == colon + 1 || *rest || i >= end - first)
			return DFG_ERR(
				DFG_DATA, "'%.200s' does not name one of the input's %u tensors, numbered from 0", text, end - first);
		first += (uint32_t)i;
		end = first + 1;
	}
	for (; first < end; first++) {
		struct dfg_edge edge = in->binding->arg[first];
		reach->inputs = true;
		reach->moves |= !in->l->site[edge.node].is_fixed;
		DFG_TRY(push_edge(in->l, edge));
	}
	return NULL;
}

/* "node:output" or "node:output:1" */
static struct dfg_err *add_output(struct inlining *in, uint32_t node, const char *text)
{
	const char *name = strchr(text, ':') ? strchr(text, ':') + 1 : NULL;
	if (!name)
		return DFG_ERR(DFG_DATA, "'%.200s' names a node, expected NODE:OUTPUT", text);
	const struct dfg_string output = {name, strcspn(name, ":")};
	uint32_t first, width;
	DFG_TRY(dfg_lower_output(in->l, &in->l->graph->node[node], &output, &first, &width));
	if (name[output.length]) {
		char *rest;
		unsigned long i = strtoul(name + output.length + 1, &rest, 10);
		if (rest == name + output.length + 1 || *rest || i >= width)
			return DFG_ERR(
				DFG_DATA, "'%.200s' does not name one of the output's %u tensors, numbered from 0", text, width);
		first += (uint32_t)i;
		width = 1;
	}
	for (uint32_t i = 0; i < width; i++)
		DFG_TRY(push_edge(in->l, (struct dfg_edge){node, (int32_t)(first + i)}));
	return NULL;
}

/* Appends the tensors that the text refers to. */
static struct dfg_err *add_tensors(struct inlining *in, const char *text, struct reach *reach)
{
	uint32_t part = dfg_map_find(&in->body->names, text, strcspn(text, ":"));
	if (part == DFG_NONE)
		return DFG_ERR(DFG_DATA, "the function has no input or node '%.*s'", (int)strcspn(text, ":"), text);
	if (part < in->body->function.n_in)
		return add_input(in, part, text, reach);
	reach->nodes = true;
	return add_output(in, in->first + part - in->body->function.n_in, text);
}

/*
 * A control edge from an input becomes one from the input's producer. A Switch does not say which side is live, so the
 * anchor is used instead.
 */
static struct dfg_err *add_control(struct inlining *in, const char *text, struct reach *reach)
{
	uint32_t part = dfg_map_find(&in->body->names, text, strlen(text));
	if (part == DFG_NONE)
		return DFG_ERR(DFG_DATA, "no node '%.200s'", text);
	if (part >= in->body->function.n_in) {
		reach->nodes = true;
		return push_edge(in->l, (struct dfg_edge){in->first + part - in->body->function.n_in, DFG_CONTROL});
	}
	uint32_t first = in->binding->instance->in_first[part];
	if (first == in->binding->instance->in_first[part + 1])
		return NULL;
	uint32_t node = in->binding->arg[first].node;
	if (role_of(in->l, node) == DFG_SWITCH || in->l->site[node].is_fixed)
		node = in->binding->anchor;
	return node == DFG_NONE ? NULL : push_edge(in->l, (struct dfg_edge){node, DFG_CONTROL});
}

/*
 * A node that reads no other node of the body would start by itself; it must neither run before the body nor be live
 * where the body is dead.
 */
static bool needs_anchor(const struct inlining *in, const struct dfg_node *node, const struct reach *reach)
{
	const struct binding *binding = in->binding;
	enum dfg_role role = node->op ? node->op->role : DFG_PLAIN;
	if (binding->anchor == DFG_NONE || reach->nodes)
		return false;
	if (!reach->inputs)
		return !(binding->is_unconditional && (role == DFG_CONST || role == DFG_VARIABLE));
	return binding->waits || (binding->is_loop_body && !reach->moves);
}

/* An Identity of a reference reads it at that moment, so it cannot be bypassed. */
static bool is_pass(const struct lower *l, const struct dfg_node *node)
{
	if (!node->op || node->op->role != DFG_IDENTITY || node->n_control)
		return false;
	for (uint32_t i = 0; i < node->n_in; i++) {
		const struct dfg_node *from = &l->graph->node[node->in[i].node];
		if (!from->op || strstr(from->op->sig, "ref ") || l->site[node->in[i].node].is_fixed)
			return false;
	}
	return true;
}

static struct dfg_err *connect(struct inlining *in, uint32_t n)
{
	struct lower *l = in->l;
	const struct dfg_function_node *from = &in->body->function.node[n];
	struct dfg_node *node = &l->graph->node[in->first + n];
	struct reach reach = {0};
	l->edges = 0;
	uint32_t i = 0;
	for (; i < from->n_input && from->input[i][0] != '^'; i++)
		DFG_TRY(add_tensors(in, from->input[i], &reach));
	node->n_in = l->edges;
	for (; i < from->n_input; i++) {
		if (from->input[i][0] != '^')
			return DFG_ERR(DFG_DATA, "input %u '%.200s' is a data input after a control input", i, from->input[i]);
		DFG_TRY(add_control(in, from->input[i] + 1, &reach));
	}
	if (needs_anchor(in, node, &reach))
		DFG_TRY(push_edge(l, (struct dfg_edge){in->binding->anchor, DFG_CONTROL}));
	node->n_control = l->edges - node->n_in;
	DFG_TRY(dfg_lower_spend(l, l->edges));
	node->in = dfg_arena_zeros(l->graph->arena, (size_t)l->edges + 1, sizeof *node->in);
	if (!node->in)
		return dfg_no_memory("the body of a function");
	if (l->edges)
		memcpy(node->in, l->edge, l->edges * sizeof *l->edge);
	return NULL;
}

/* Gives each expansion of the body a frame of its own. */
static struct dfg_err *rename_frame(struct lower *l, const char *prefix, struct dfg_attr *attr)
{
	const char *name = dfg_arena_copy(l->graph->arena, attr->value.s.s, attr->value.s.length);
	if (!name)
		return dfg_no_memory("the body of a function");
	DFG_TRY(dfg_lower_path(l, prefix, name, &name));
	attr->value.s = (struct dfg_string){name, strlen(name)};
	return NULL;
}

/* "_class" names nodes to be colocated with, which have new names here, so it is dropped. */
static struct dfg_err *set_attrs(
	struct inlining *in, const struct dfg_function_node *from, const char *prefix, struct dfg_node *node)
{
	struct lower *l = in->l;
	DFG_TRY(dfg_lower_attrs(l, in->binding->instance, &from->node, &node->attr));
	bool enters = node->op && node->op->role == DFG_ENTER;
	if (!enters && !dfg_node_attr(node, "_class"))
		return NULL;
	struct dfg_attr *attr = dfg_arena_zeros(l->graph->arena, node->n_attr, sizeof *attr);
	uint32_t count = 0;
	if (!attr)
		return dfg_no_memory("the body of a function");
	for (uint32_t i = 0; i < node->n_attr; i++) {
		if (!strcmp(node->attr[i].name, "_class"))
			continue;
		attr[count] = node->attr[i];
		if (enters && !strcmp(attr[count].name, "frame_name") && attr[count].kind == DFG_ATTR_STRING)
			DFG_TRY(rename_frame(l, prefix, &attr[count]));
		count++;
	}
	node->attr = attr;
	node->n_attr = count;
	return NULL;
}

static struct dfg_err *add_nodes(struct inlining *in)
{
	struct lower *l = in->l;
	const struct dfg_function *function = &in->body->function;
	const char *prefix = l->graph->node[in->binding->call].name;
	if (in->binding->within)
		DFG_TRY(dfg_lower_path(l, prefix, in->binding->within, &prefix));
	in->first = l->graph->count;
	for (uint32_t n = 0; n < function->n_node; n++) {
		const struct dfg_function_node *from = &function->node[n];
		struct dfg_node node = from->node;
		uint32_t number;
		if (!*node.device)
			node.device = l->graph->node[in->binding->call].device;
		DFG_TRY(dfg_err_note(set_attrs(in, from, prefix, &node), "node '%.200s'", from->node.name));
		DFG_TRY(dfg_lower_path(l, prefix, from->node.name, &node.name));
		DFG_TRY(dfg_lower_put(l, &node, in->scope, &number));
	}
	return NULL;
}

static struct dfg_err *find_results(struct inlining *in)
{
	const struct dfg_function *function = &in->body->function;
	const struct instance *instance = in->binding->instance;
	for (uint32_t p = 0; p < function->n_out; p++) {
		struct reach reach = {0};
		uint32_t first = instance->out_first[p], width = instance->out_first[p + 1] - first;
		if (!function->out[p].from)
			return DFG_ERR(DFG_DATA, "output '%.200s' has no value", function->out[p].name);
		in->l->edges = 0;
		DFG_TRY(dfg_err_note(add_tensors(in, function->out[p].from, &reach), "output '%.200s'", function->out[p].name));
		if (in->l->edges != width)
			return DFG_ERR(
				DFG_DATA, "output '%.200s' has %u tensors, expected %u", function->out[p].name, in->l->edges, width);
		if (width)
			memcpy(in->binding->ret + first, in->l->edge, width * sizeof *in->l->edge);
	}
	return NULL;
}

static struct dfg_err *open_scope(struct inlining *in)
{
	struct lower *l = in->l;
	const struct binding *binding = in->binding;
	uint32_t parent = l->site[binding->call].scope;
	if (!dfg_reserve(&l->scope, &l->scope_capacity, (size_t)l->scopes + 1, sizeof *l->scope))
		return dfg_no_memory("the body of a function");
	in->scope = l->scopes++;
	l->scope[in->scope] = (struct scope){
		.call = binding->call,
		.parent = parent,
		.function = binding->instance->number,
		.depth = l->scope[parent].depth + 1,
		.anchor = binding->is_unconditional ? DFG_NONE : binding->anchor,
		.is_even = true,
		.is_loop_body = binding->is_loop_body,
	};
	for (uint32_t n = 0; n < in->body->function.n_node; n++) {
		const struct dfg_op *op = in->body->function.node[n].node.op;
		if (op && dfg_role_is_flow(op->role))
			l->scope[in->scope].is_even = false;
	}
	return NULL;
}

static struct dfg_err *inline_body(struct inlining *in, struct binding *binding)
{
	struct lower *l = in->l;
	const struct body *body = in->body;
	DFG_TRY(open_scope(in));
	DFG_TRY(add_nodes(in));
	for (uint32_t n = 0; n < body->function.n_node; n++)
		DFG_TRY(dfg_err_note(connect(in, n), "node '%.200s'", body->function.node[n].node.name));
	for (uint32_t n = 0; n < body->function.n_node; n++)
		l->site[in->first + n].is_pass = is_pass(l, &l->graph->node[in->first + n]);
	DFG_TRY(find_results(in));
	binding->n_last = body->n_last;
	binding->last = dfg_arena_zeros(l->scratch, (size_t)body->n_last + 1, sizeof *binding->last);
	if (!binding->last)
		return dfg_no_memory("the body of a function");
	for (uint32_t i = 0; i < body->n_last; i++)
		binding->last[i] = in->first + body->last[i];
	return NULL;
}

struct dfg_err *dfg_lower_body(struct lower *l, struct binding *binding)
{
	struct inlining in = {.l = l, .binding = binding, .body = binding->instance->body};
	DFG_TRY(dfg_lower_descend(l, binding->call, binding->instance->number));
	binding->ret = dfg_arena_zeros(l->scratch, (size_t)binding->instance->n_out + 1, sizeof *binding->ret);
	if (!binding->ret)
		return dfg_no_memory("the body of a function");
	return dfg_err_note(inline_body(&in, binding), "function '%.200s'", in.body->function.name);
}

/*
 * Adds a control input that is live when input i of the call is. For a Switch this is an Identity of the side that is
 * read.
 */
static struct dfg_err *add_source(struct lower *l, uint32_t call, uint32_t i, uint32_t *control, uint32_t *count)
{
	const struct dfg_edge in = l->graph->node[call].in[i];
	control[*count] = in.node;
	if (role_of(l, in.node) == DFG_SWITCH) {
		const struct dfg_attr *type = dfg_node_attr(&l->graph->node[in.node], "T");
		if (!type || type->kind != DFG_ATTR_DTYPE)
			return DFG_ERR(DFG_DATA, "input %u is a Switch without attribute 'T'", i);
		DFG_TRY(dfg_lower_op(l, call, "Identity", "input", type->value.dtype, &in, 1, &control[*count]));
	}
	++*count;
	return NULL;
}

struct dfg_err *dfg_lower_anchor(struct lower *l, uint32_t call, uint32_t *out_anchor)
{
	const struct scope *scope = &l->scope[l->site[call].scope];
	const struct dfg_node *node = &l->graph->node[call];
	bool uneven = scope->function == DFG_NONE ? l->site[call].is_uneven : !scope->is_even;
	uint32_t n_in = node->n_in, n_control = node->n_control, count = 0, anchor = scope->anchor;
	uint32_t *control = dfg_arena_zeros(l->scratch, (size_t)n_in + n_control + 1, sizeof *control);
	if (!control)
		return dfg_no_memory("the body of a function");
	for (uint32_t i = 0; i < n_control; i++)
		control[count++] = node->in[n_in + i].node;
	for (uint32_t i = 0; i < n_in && uneven; i++)
		DFG_TRY(add_source(l, call, i, control, &count));
	if (anchor != DFG_NONE && (uneven || !count))
		control[count++] = anchor;
	if (count < 2) {
		*out_anchor = count ? control[0] : DFG_NONE;
		return NULL;
	}
	return dfg_lower_add(
		l, call, &(struct draft){.op = "NoOp", .name = "start", .control = control, .n_control = count}, out_anchor);
}

struct dfg_err *dfg_lower_call(
	struct lower *l, uint32_t call, const struct instance *instance, const struct dfg_edge *arg)
{
	const struct scope scope = l->scope[l->site[call].scope];
	bool waits = l->graph->node[call].n_control > 0, again = instance->n_out == 0;
	struct binding binding = {
		.call = call,
		.instance = instance,
		.arg = arg,
		.is_loop_body = scope.is_loop_body,
		.waits = waits,
		.is_unconditional =
			scope.function == DFG_NONE ? !l->site[call].is_uneven : scope.is_even && scope.anchor == DFG_NONE,
	};
	DFG_TRY(dfg_lower_anchor(l, call, &binding.anchor));
	DFG_TRY(dfg_lower_body(l, &binding));
	/* Results that forward an argument have not waited for anything yet. */
	for (uint32_t i = 0; i < instance->n_out; i++)
		again |= (waits && dfg_lower_same_input(instance, i) != DFG_NONE) ||
				 (scope.is_loop_body && l->site[binding.ret[i].node].is_fixed);
	binding.last[binding.n_last++] = again ? binding.anchor : DFG_NONE;
	return dfg_lower_finish(l, call, instance, binding.ret, binding.last, binding.n_last);
}
