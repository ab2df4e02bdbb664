#include "lib/lang/op_private.h"

#include "lib/lang/eval_private.h"
#include "lib/lang/materialise_private.h"
#include "lib/lang/number_private.h"
#include "lib/lang/state_private.h"
#include "lib/base/plural.h"

#include <stdio.h>
#include <string.h>

static int find_port(const struct dfg_signature *signature, const char *name)
{
	for (int i = 0; i < signature->n_in; i++)
		if (!strcmp(signature->in[i].name, name))
			return i;
	return -1;
}

static int find_param(const struct dfg_signature *signature, const char *name)
{
	for (int i = 0; i < signature->n_param; i++)
		if (!strcmp(signature->param[i].name, name))
			return i;
	return -1;
}

static struct dfg_err *no_attr(const struct dfg_op *op, const struct dfg_signature *signature, const char *name)
{
	struct dfg_nearest nearest = {.word = name};
	for (int i = 0; i < signature->n_in; i++)
		dfg_nearest_offer(&nearest, signature->in[i].name);
	for (int i = 0; i < signature->n_attr; i++)
		dfg_nearest_offer(&nearest, signature->attr[i].name);
	if (nearest.best)
		return DFG_ERR(DFG_DATA, "%s has no input or attribute '%s'; did you mean '%s'?", op->name, name, nearest.best);
	return DFG_ERR(DFG_DATA, "%s has no input or attribute '%s'", op->name, name);
}

static struct dfg_err *inputs_missing(const struct dfg_arranged *arranged, uint32_t given)
{
	char names[200] = "";
	for (int i = 0; i < arranged->signature->n_in; i++)
		snprintf(names + strlen(names), sizeof names - strlen(names), "%s%s", i ? ", " : "",
			arranged->signature->in[i].name);
	return DFG_ERR(DFG_DATA, "%s takes %d input%s (%s), not %u", arranged->op->name, arranged->signature->n_in,
		dfg_plural((uint64_t)arranged->signature->n_in), names, given);
}

static struct dfg_err *attr_value(
	struct dfg_eval *eval, enum dfg_attr_kind kind, const struct dfg_datum *datum, union dfg_value *out_value);

static struct dfg_err *attr_list(
	struct dfg_eval *eval, enum dfg_attr_kind kind, const struct dfg_datum *datum, union dfg_value *out_value)
{
	struct dfg_list *list = dfg_arena_zeros(eval->arena, 1, sizeof *list);
	union dfg_value *item = dfg_arena_zeros(eval->arena, datum->list.n, sizeof *item);
	if (datum->kind != DFG_DATUM_LIST)
		return DFG_ERR(DFG_DATA, "expected a list, not %s", dfg_datum_words(eval, datum));
	if (!list || !item)
		return dfg_no_memory("the inputs of an op");
	for (uint32_t i = 0; i < datum->list.n; i++)
		DFG_TRY(attr_value(eval, kind, &datum->list.item[i], &item[i]));
	*list = (struct dfg_list){datum->list.n ? kind : DFG_ATTR_NONE, datum->list.n, item};
	out_value->list = list;
	return NULL;
}

static struct dfg_err *attr_shape(struct dfg_eval *eval, const struct dfg_datum *datum, union dfg_value *out_value)
{
	struct dfg_shape *shape = dfg_arena_zeros(eval->arena, 1, sizeof *shape);
	if (!shape)
		return dfg_no_memory("the inputs of an op");
	out_value->shape = shape;
	*shape = DFG_SHAPE_UNKNOWN;
	if (datum->kind == DFG_DATUM_NONE)
		return NULL;
	if (datum->kind != DFG_DATUM_LIST || datum->list.n > DFG_RANK_MAX)
		return DFG_ERR(DFG_DATA, "expected a shape, not %s", dfg_datum_words(eval, datum));
	shape->rank = (int)datum->list.n;
	for (uint32_t i = 0; i < datum->list.n; i++) {
		shape->dim[i] = DFG_UNKNOWN;
		if (datum->list.item[i].kind != DFG_DATUM_DIM)
			DFG_TRY(dfg_to_int(eval, &datum->list.item[i], "a dimension", &shape->dim[i]));
	}
	return NULL;
}

static struct dfg_err *attr_tensor(struct dfg_eval *eval, const struct dfg_datum *datum, union dfg_value *out_value)
{
	struct dfg_datum made = *datum;
	struct dfg_literal *literal = dfg_arena_zeros(eval->arena, 1, sizeof *literal);
	if (!literal)
		return dfg_no_memory("the inputs of an op");
	if (dfg_datum_is_known(datum))
		DFG_TRY(dfg_literal_new(eval, datum, DFG_NO_DTYPE, &made));
	if (made.kind != DFG_DATUM_LITERAL)
		return DFG_ERR(
			DFG_DATA, "expected a tensor that is known while building, not %s", dfg_datum_words(eval, datum));
	const struct dfg_tensor *tensor = made.literal;
	*literal = (struct dfg_literal){
		tensor->dtype, tensor->shape, tensor->dtype != DFG_STRING, dfg_shape_count(&tensor->shape), tensor->data};
	out_value->tensor = literal;
	return NULL;
}

static struct dfg_err *attr_value(
	struct dfg_eval *eval, enum dfg_attr_kind kind, const struct dfg_datum *datum, union dfg_value *out_value)
{
	if (kind == DFG_ATTR_SHAPE)
		return attr_shape(eval, datum, out_value);
	if (kind == DFG_ATTR_TENSOR)
		return attr_tensor(eval, datum, out_value);
	if (kind == DFG_ATTR_INT)
		return dfg_to_int(eval, datum, "it", &out_value->i);
	if (kind == DFG_ATTR_FLOAT && datum->kind == DFG_DATUM_NUMBER) {
		out_value->f = (float)datum->number.f; /* the precision of a GraphDef */
		return NULL;
	}
	if (kind == DFG_ATTR_BOOL && datum->kind == DFG_DATUM_BOOL) {
		out_value->b = datum->truth;
		return NULL;
	}
	if (kind == DFG_ATTR_STRING && datum->kind == DFG_DATUM_STRING) {
		out_value->s = datum->string;
		return NULL;
	}
	if (kind == DFG_ATTR_DTYPE && datum->kind == DFG_DATUM_DTYPE) {
		out_value->dtype = datum->dtype;
		return NULL;
	}
	static const char *const wanted[] = {[DFG_ATTR_FLOAT] = "a number",
		[DFG_ATTR_BOOL] = "true or false",
		[DFG_ATTR_STRING] = "a string",
		[DFG_ATTR_DTYPE] = "a dtype"};
	return DFG_ERR(DFG_DATA, "expected %s that is known while building, not %s",
		kind < sizeof wanted / sizeof *wanted && wanted[kind] ? wanted[kind] : "a value of the attribute's kind",
		dfg_datum_words(eval, datum));
}

/* Takes an argument that is an attribute or a type parameter of the op. */
static struct dfg_err *take_attr(
	struct dfg_eval *eval, struct dfg_arranged *arranged, const struct dfg_argument *argument)
{
	const struct dfg_signature *signature = arranged->signature;
	int number = dfg_op_attr(signature, argument->name), param = find_param(signature, argument->name);
	struct dfg_attr *attr = &arranged->attr[arranged->n_attr++];
	attr->name = argument->name;
	struct dfg_err *err = NULL;
	if (number >= 0) {
		const struct dfg_attr_decl *decl = &signature->attr[number];
		attr->kind = decl->is_list ? DFG_ATTR_LIST : decl->kind;
		err = (decl->is_list ? attr_list : attr_value)(eval, decl->kind, &argument->value, &attr->value);
	} else if (param >= 0 && argument->value.kind == DFG_DATUM_LIST) {
		attr->kind = DFG_ATTR_LIST;
		err = attr_list(eval, DFG_ATTR_DTYPE, &argument->value, &attr->value);
	} else if (param >= 0) {
		attr->kind = signature->param[param].types ? DFG_ATTR_DTYPE : DFG_ATTR_INT;
		err = attr_value(eval, attr->kind, &argument->value, &attr->value);
		if (!err && attr->kind == DFG_ATTR_DTYPE)
			arranged->param[param] = attr->value.dtype;
	} else {
		err = no_attr(arranged->op, signature, argument->name);
	}
	return dfg_eval_at(eval, argument->tree, number >= 0 || param >= 0 ? dfg_err_note(err, "%s", attr->name) : err);
}

static struct dfg_err *assign_arguments(
	struct dfg_eval *eval, const struct dfg_call_site *site, struct dfg_arranged *arranged)
{
	int next = 0;
	for (uint32_t i = 0; i < site->n; i++) {
		const struct dfg_argument *argument = &site->argument[i];
		int port = argument->name ? find_port(arranged->signature, argument->name) : next++;
		if (argument->name && port < 0)
			DFG_TRY(take_attr(eval, arranged, argument));
		else if (port >= arranged->signature->n_in)
			return dfg_eval_at(eval, argument->tree, inputs_missing(arranged, site->n));
		else if (arranged->port[port])
			return DFG_ERR(DFG_DATA, "%s is given twice", arranged->signature->in[port].name);
		else
			arranged->port[port] = argument;
	}
	for (int i = 0; i < arranged->signature->n_in; i++)
		if (!arranged->port[i])
			return inputs_missing(arranged, (uint32_t)next);
	return NULL;
}

static bool allows(const struct dfg_param *param, enum dfg_dtype dtype)
{
	return dtype && (param->types & dfg_dtype_bit(dtype));
}

/*
 * The dtype of a type parameter with only untyped numbers: their natural one if the op allows it, else the first in
 * this order that it allows.
 */
static enum dfg_dtype untyped_dtype(const struct dfg_param *param, enum dfg_dtype natural)
{
	static const enum dfg_dtype order[] = {DFG_F32, DFG_I32, DFG_I64, DFG_F64, DFG_BOOL, DFG_STRING, DFG_C64, DFG_U8,
		DFG_I8, DFG_U64, DFG_U32, DFG_U16, DFG_I16};
	if (natural == DFG_I32 && param->default_dtype && dfg_dtype_is(param->default_dtype, "int"))
		return param->default_dtype;
	if (allows(param, natural))
		return natural;
	for (unsigned i = 0; i < sizeof order / sizeof *order; i++)
		if (allows(param, order[i]))
			return order[i];
	return natural;
}

static enum dfg_dtype join(enum dfg_dtype a, enum dfg_dtype b)
{
	if (!a || !b)
		return a ? a : b;
	return a == DFG_F32 || b == DFG_F32 ? DFG_F32 : a == DFG_I64 || b == DFG_I64 ? DFG_I64 : a;
}

/*
 * Gives each type parameter the dtype of the tensors at its ports or, if there are none, one for the untyped numbers.
 */
static void infer_params(struct dfg_eval *eval, struct dfg_arranged *arranged)
{
	const struct dfg_signature *signature = arranged->signature;
	enum dfg_dtype natural[DFG_PARAM_MAX] = {0};
	for (int i = 0; i < signature->n_in; i++) {
		const struct dfg_port *port = &signature->in[i];
		const struct dfg_datum *datum = &arranged->port[i]->value;
		if (port->type < 0 || port->is_list)
			continue;
		if (!arranged->param[port->type])
			arranged->param[port->type] = dfg_datum_dtype(eval, datum);
		natural[port->type] = join(natural[port->type], dfg_datum_natural(datum));
	}
	for (int p = 0; p < signature->n_param; p++)
		if (!arranged->param[p] && natural[p])
			arranged->param[p] = untyped_dtype(&signature->param[p], natural[p]);
}

struct dfg_err *dfg_op_arrange(
	struct dfg_eval *eval, const struct dfg_op *op, const struct dfg_call_site *site, struct dfg_arranged *out)
{
	*out = (struct dfg_arranged){.op = op};
	out->attr = dfg_arena_zeros(eval->arena, site->n, sizeof *out->attr);
	if (!out->attr)
		return dfg_no_memory("the inputs of an op");
	DFG_TRY(dfg_op_signature(op, &out->signature));
	DFG_TRY(assign_arguments(eval, site, out));
	infer_params(eval, out);
	return NULL;
}

static enum dfg_dtype port_dtype(const struct dfg_arranged *arranged, const struct dfg_port *port)
{
	return port->is_list ? DFG_NO_DTYPE : port->type < 0 ? port->dtype : arranged->param[port->type];
}

struct edges {
	struct dfg_edge *edge;
	uint32_t n, capacity;
};

static struct dfg_err *add_edge(struct dfg_eval *eval, struct edges *edges, struct dfg_edge edge)
{
	if (edges->n == edges->capacity) {
		uint32_t capacity = edges->capacity ? edges->capacity * 2 : 4;
		struct dfg_edge *larger = dfg_arena_zeros(eval->arena, capacity, sizeof *larger);
		if (!larger)
			return dfg_no_memory("the inputs of an op");
		if (edges->n)
			memcpy(larger, edges->edge, edges->n * sizeof *larger);
		edges->edge = larger;
		edges->capacity = capacity;
	}
	edges->edge[edges->n++] = edge;
	return NULL;
}

static struct dfg_err *port_inputs(
	struct dfg_eval *eval, const struct dfg_arranged *arranged, int i, struct edges *edges)
{
	const struct dfg_port *port = &arranged->signature->in[i];
	const struct dfg_datum *datum = &arranged->port[i]->value;
	enum dfg_dtype dtype = port_dtype(arranged, port);
	struct dfg_edge edge;
	if (port->count < 0 && !port->is_list) {
		DFG_TRY(dfg_to_edge(eval, datum, dtype, &edge));
		return add_edge(eval, edges, edge);
	}
	if (datum->kind != DFG_DATUM_LIST && datum->kind != DFG_DATUM_TUPLE)
		return DFG_ERR(DFG_DATA, "%s: '%s' must be a list of tensors, [...], not %s", arranged->op->name, port->name,
			dfg_datum_words(eval, datum));
	for (uint32_t k = 0; k < datum->list.n; k++) {
		DFG_TRY(dfg_to_edge(eval, &datum->list.item[k], dtype, &edge));
		DFG_TRY(add_edge(eval, edges, edge));
	}
	return NULL;
}

struct dfg_err *dfg_op_inputs(
	struct dfg_eval *eval, const struct dfg_arranged *arranged, struct dfg_edge **out_edge, uint32_t *out_n)
{
	struct edges edges = {0};
	for (int i = 0; i < arranged->signature->n_in; i++)
		DFG_TRY(dfg_eval_at(eval, arranged->port[i]->tree, port_inputs(eval, arranged, i, &edges)));
	*out_edge = edges.edge;
	*out_n = edges.n;
	return NULL;
}

static struct dfg_err *port_result(
	struct dfg_eval *eval, const struct dfg_resolved_node *call, int port, uint32_t node, struct dfg_datum *out_datum)
{
	const struct dfg_port *decl = &call->signature->out[port];
	uint16_t first = call->out_first[port], width = (uint16_t)(call->out_first[port + 1] - first);
	if (decl->count < 0 && !decl->is_list) {
		*out_datum = DFG_TENSOR(((struct dfg_edge){node, first}));
		return NULL;
	}
	DFG_TRY(dfg_list_new(eval, DFG_DATUM_LIST, width, out_datum));
	for (uint16_t i = 0; i < width; i++)
		out_datum->list.item[i] = DFG_TENSOR(((struct dfg_edge){node, first + i}));
	return NULL;
}

struct dfg_err *dfg_op_results(struct dfg_eval *eval, uint32_t node, struct dfg_datum *out_datum)
{
	struct dfg_resolved_node call;
	const struct dfg_signature *signature;
	DFG_TRY(dfg_op_signature(eval->builder->graph->node[node].op, &signature));
	if (signature->n_out == 1 && signature->out[0].count < 0 && !signature->out[0].is_list) {
		*out_datum = DFG_TENSOR(((struct dfg_edge){node, 0}));
		return NULL;
	}
	DFG_TRY(dfg_node_resolve(eval->builder->graph, node, eval->arena, &call));
	int n = call.signature->n_out;
	if (n == 1)
		return port_result(eval, &call, 0, node, out_datum);
	*out_datum = (struct dfg_datum){DFG_DATUM_NONE, .edge = {node, 0}};
	if (!n)
		return NULL;
	DFG_TRY(dfg_list_new(eval, DFG_DATUM_TUPLE, (uint32_t)n, out_datum));
	DFG_TRY(dfg_list_from(eval, &(struct dfg_list_origin){.port = call.signature->out}, out_datum));
	for (int i = 0; i < n; i++)
		DFG_TRY(port_result(eval, &call, i, node, &out_datum->list.item[i]));
	return NULL;
}

struct dfg_err *dfg_op_apply(
	struct dfg_eval *eval, const struct dfg_op *op, const struct dfg_call_site *site, struct dfg_datum *out_datum)
{
	struct dfg_arranged arranged;
	struct dfg_new_node node = {.op = op->name};
	uint32_t number;
	struct dfg_edge *in;
	DFG_TRY(dfg_op_arrange(eval, op, site, &arranged));
	struct dfg_access *accesses;
	DFG_TRY(dfg_op_inputs(eval, &arranged, &in, &node.n_in));
	node.attr = arranged.attr;
	node.n_attr = arranged.n_attr;
	DFG_TRY(dfg_state_before(eval, &arranged, &in, &node, &accesses));
	node.in = in;
	DFG_TRY(dfg_eval_build(eval, &node, DFG_NAME_NONE, &number));
	DFG_TRY(dfg_state_after(eval, accesses, number));
	if (op->flags & DFG_STATEFUL)
		eval->effects++;
	return dfg_op_results(eval, number, out_datum);
}
