#include "lib/graph/build.h"

#include <string.h>

enum {
	FEW = 16,
	BATCH = 256, /* nodes after which the scratch memory of single nodes is released */
};

/* The fact of an input, or NULL if it has not been inferred (yet). */
static const struct dfg_inferred *fact_of(const struct dfg_facts *facts, struct dfg_edge edge)
{
	if (edge.node >= facts->nodes || (uint32_t)edge.port >= dfg_facts_outputs(facts, edge.node))
		return NULL;
	const struct dfg_inferred *fact = dfg_facts_of(facts, edge);
	return fact->dtype ? fact : NULL;
}

/* Infers the facts of the node's outputs, whose entries exist. */
static struct dfg_err *infer_one(struct dfg_builder *builder, uint32_t n, const struct dfg_resolved_node *call)
{
	struct dfg_facts *facts = &builder->facts;
	const struct dfg_node *node = &builder->graph->node[n];
	const struct dfg_inferred *few[FEW] = {0}, **in = few;
	if (node->n_in > FEW && !(in = dfg_zeros(node->n_in, sizeof(void *))))
		return dfg_no_memory("a new node");
	for (uint32_t i = 0; i < node->n_in; i++)
		in[i] = fact_of(facts, node->in[i]);
	struct dfg_err *err = dfg_facts_infer(facts, call, in, facts->fact + facts->first[n]);
	if (in != few)
		dfg_free(in);
	return err;
}

/*
 * Resolves the call of every node and adds entries for its outputs, in file order, so that facts can be inferred in any
 * order.
 */
static struct dfg_err *call_all(struct dfg_builder *builder, struct dfg_resolved_node *call)
{
	struct dfg_graph *graph = builder->graph;
	for (uint32_t n = 0; n < graph->count; n++) {
		if (graph->node[n].op)
			DFG_TRY(dfg_facts_resolve(&builder->facts, graph, n, builder->facts.arena, &call[n]));
		DFG_TRY(dfg_facts_add(&builder->facts, call[n].n_out));
	}
	return NULL;
}

static struct dfg_err *infer_all(struct dfg_builder *builder, struct dfg_arena *scratch)
{
	struct dfg_graph *graph = builder->graph;
	uint32_t count, *order = dfg_arena_zeros(scratch, graph->count, sizeof *order);
	struct dfg_resolved_node *call = dfg_arena_zeros(scratch, graph->count, sizeof *call);
	if (!order || !call)
		return DFG_ERR(DFG_MEMORY, "no memory for %u nodes", graph->count);
	DFG_TRY(call_all(builder, call));
	DFG_TRY(dfg_graph_order(graph, scratch, order, &count));
	if (count < graph->count)
		return DFG_ERR(DFG_DATA, "the graph has a cycle that is not a loop; 'dfg check' shows it");
	for (uint32_t i = 0; i < count; i++)
		if (graph->node[order[i]].op)
			DFG_TRY(infer_one(builder, order[i], &call[order[i]]));
	return NULL;
}

struct dfg_err *dfg_builder_init(struct dfg_builder *builder, struct dfg_graph *graph)
{
	struct dfg_arena scratch = {0};
	*builder = (struct dfg_builder){.graph = graph, .facts = {.arena = graph->arena}};
	struct dfg_err *err = NULL;
	if (!dfg_reserve(&builder->facts.first, &builder->facts.nodes_capacity, 2, sizeof *builder->facts.first))
		err = dfg_no_memory("a new node");
	if (!err && graph->count)
		err = infer_all(builder, &scratch);
	dfg_arena_release(&scratch);
	if (err)
		dfg_builder_release(builder);
	return err;
}

void dfg_builder_release(struct dfg_builder *builder)
{
	dfg_facts_release(&builder->facts);
	dfg_names_release(&builder->names);
	dfg_arena_release(&builder->brief);
	*builder = (struct dfg_builder){0};
}

/* A node that is being built, with its type and number parameters as far as they are known. */
struct draft {
	struct dfg_builder *builder;
	const struct dfg_new_node *want;
	const struct dfg_signature *signature;
	struct dfg_attr param[DFG_PARAM_MAX];
};

static const struct dfg_attr *given(const struct dfg_new_node *want, const char *name)
{
	for (uint32_t i = 0; i < want->n_attr; i++)
		if (!strcmp(want->attr[i].name, name))
			return &want->attr[i];
	return NULL;
}

/*
 * The number of inputs that are left for ports of variable width, and the number of these ports. At most one count or
 * list may be without an attribute; the split between several would be ambiguous.
 */
static uint32_t spare_inputs(const struct draft *draft, uint32_t *out_ports)
{
	uint32_t fixed = 0;
	*out_ports = 0;
	for (int p = 0; p < draft->signature->n_in; p++) {
		const struct dfg_port *port = &draft->signature->in[p];
		const struct dfg_attr *size = port->count >= 0 ? &draft->param[port->count]
									  : port->is_list  ? &draft->param[port->type]
													   : NULL;
		if (!size)
			fixed++;
		else if (size->kind == DFG_ATTR_INT)
			fixed += (uint32_t)size->value.i;
		else if (size->kind == DFG_ATTR_LIST)
			fixed += size->value.list->count;
		else
			++*out_ports;
	}
	return draft->want->n_in > fixed ? draft->want->n_in - fixed : 0;
}

/* Makes the parameter a list of the types of n inputs from `first` on. */
static struct dfg_err *list_types(struct draft *draft, uint32_t first, uint32_t n, struct dfg_attr *param)
{
	struct dfg_arena *arena = draft->builder->graph->arena;
	struct dfg_list *list = dfg_arena_zeros(arena, 1, sizeof *list);
	union dfg_value *item = dfg_arena_zeros(arena, n, sizeof *item);
	if (!list || !item)
		return dfg_no_memory("a new node");
	for (uint32_t i = 0; i < n; i++) {
		const struct dfg_inferred *fact = fact_of(&draft->builder->facts, draft->want->in[first + i]);
		item[i].dtype = fact ? fact->dtype : DFG_NO_DTYPE;
	}
	*list = (struct dfg_list){n ? DFG_ATTR_DTYPE : DFG_ATTR_NONE, n, item};
	param->kind = DFG_ATTR_LIST;
	param->value.list = list;
	return NULL;
}

/* Derives the parameters of one port from the inputs at it. */
static struct dfg_err *learn_port(struct draft *draft, const struct dfg_port *port, uint32_t first, uint32_t width)
{
	if (port->count >= 0 && !draft->param[port->count].kind) {
		draft->param[port->count].kind = DFG_ATTR_INT;
		draft->param[port->count].value.i = width;
	}
	if (port->type < 0 || draft->param[port->type].kind)
		return NULL;
	if (port->is_list)
		return list_types(draft, first, width, &draft->param[port->type]);
	for (uint32_t i = first; i < first + width && i < draft->want->n_in; i++) {
		const struct dfg_inferred *fact = fact_of(&draft->builder->facts, draft->want->in[i]);
		if (!fact)
			continue;
		draft->param[port->type].kind = DFG_ATTR_DTYPE;
		draft->param[port->type].value.dtype = fact->dtype;
		break;
	}
	return NULL;
}

static struct dfg_err *learn_params(struct draft *draft)
{
	const struct dfg_signature *signature = draft->signature;
	for (int i = 0; i < signature->n_param; i++) {
		const struct dfg_attr *attr = given(draft->want, signature->param[i].name);
		if (attr)
			draft->param[i] = *attr;
		draft->param[i].name = signature->param[i].name;
	}
	uint32_t ports, spare = spare_inputs(draft, &ports), at = 0;
	for (int p = 0; p < signature->n_in; p++) {
		const struct dfg_port *port = &signature->in[p];
		const struct dfg_attr *size = port->count >= 0 ? &draft->param[port->count]
									  : port->is_list  ? &draft->param[port->type]
													   : NULL;
		uint32_t width = !size                         ? 1
						 : size->kind == DFG_ATTR_INT  ? (uint32_t)size->value.i
						 : size->kind == DFG_ATTR_LIST ? size->value.list->count
													   : spare / (ports ? ports : 1);
		DFG_TRY(learn_port(draft, port, at, width));
		at += width;
	}
	for (int i = 0; i < signature->n_param; i++)
		if (!draft->param[i].kind && signature->param[i].default_dtype) {
			draft->param[i].kind = DFG_ATTR_DTYPE;
			draft->param[i].value.dtype = signature->param[i].default_dtype;
		}
	return NULL;
}

static bool same_item(enum dfg_attr_kind kind, union dfg_value a, union dfg_value b)
{
	switch (kind) {
	case DFG_ATTR_STRING:
		return a.s.length == b.s.length && !memcmp(a.s.s, b.s.s, a.s.length);
	case DFG_ATTR_INT:
		return a.i == b.i;
	case DFG_ATTR_FLOAT:
		return a.f == b.f;
	case DFG_ATTR_BOOL:
		return a.b == b.b;
	case DFG_ATTR_DTYPE:
		return a.dtype == b.dtype;
	case DFG_ATTR_SHAPE:
		return dfg_shape_equal(a.shape, b.shape);
	default:
		return false;
	}
}

static bool is_default(const struct dfg_signature *signature, const struct dfg_attr *attr)
{
	int i = dfg_op_attr(signature, attr->name);
	if (i < 0 || !signature->attr[i].has_default)
		return false;
	const struct dfg_attr_decl *decl = &signature->attr[i];
	if (!decl->is_list)
		return attr->kind == decl->kind && same_item(decl->kind, attr->value, decl->value);
	const struct dfg_list *a = attr->value.list, *b = decl->value.list;
	bool same = attr->kind == DFG_ATTR_LIST && a->count == b->count && (!a->count || a->kind == decl->kind);
	for (uint32_t n = 0; same && n < a->count; n++)
		same = same_item(decl->kind, a->item[n], b->item[n]);
	return same;
}

static struct dfg_err *copy_value(struct dfg_arena *arena, enum dfg_attr_kind kind, union dfg_value *value);

static struct dfg_err *copy_list(struct dfg_arena *arena, union dfg_value *value)
{
	struct dfg_list *list = dfg_arena_zeros(arena, 1, sizeof *list);
	union dfg_value *item = dfg_arena_zeros(arena, value->list->count, sizeof *item);
	if (!list || !item)
		return dfg_no_memory("a new node");
	*list = (struct dfg_list){value->list->kind, value->list->count, item};
	for (uint32_t i = 0; i < list->count; i++) {
		item[i] = value->list->item[i];
		DFG_TRY(copy_value(arena, list->kind, &item[i]));
	}
	value->list = list;
	return NULL;
}

/* Replaces the value's pointers by copies in the arena; the elements of a literal are not copied. */
static struct dfg_err *copy_value(struct dfg_arena *arena, enum dfg_attr_kind kind, union dfg_value *value)
{
	const void *copy = value;
	if (kind == DFG_ATTR_LIST)
		return copy_list(arena, value);
	if (kind == DFG_ATTR_STRING || kind == DFG_ATTR_PLACEHOLDER)
		copy = value->s.s = dfg_arena_copy(arena, value->s.s, value->s.length);
	else if (kind == DFG_ATTR_SHAPE)
		copy = value->shape = (void *)dfg_arena_copy(arena, value->shape, sizeof *value->shape);
	else if (kind == DFG_ATTR_TENSOR)
		copy = value->tensor = (void *)dfg_arena_copy(arena, value->tensor, sizeof *value->tensor);
	return copy ? NULL : dfg_no_memory("a new node");
}

/* Strings of the declaration are static; others are copied. */
static const char *keep_name(const struct draft *draft, const char *name)
{
	const struct dfg_signature *signature = draft->signature;
	for (int i = 0; i < signature->n_param; i++)
		if (name == signature->param[i].name)
			return name;
	int i = dfg_op_attr(signature, name);
	if (i >= 0)
		return signature->attr[i].name;
	return dfg_arena_copy(draft->builder->graph->arena, name, strlen(name));
}

/* Inserts a copy of attr in the order of names. */
static struct dfg_err *insert_attr(struct draft *draft, struct dfg_node *node, const struct dfg_attr *attr)
{
	uint32_t i = node->n_attr;
	while (i > 0 && strcmp(node->attr[i - 1].name, attr->name) > 0) {
		node->attr[i] = node->attr[i - 1];
		i--;
	}
	node->attr[i] = *attr;
	node->n_attr++;
	struct dfg_arena *arena = draft->builder->graph->arena;
	if (!(node->attr[i].name = keep_name(draft, attr->name)))
		return dfg_no_memory("a new node");
	return copy_value(arena, attr->kind, &node->attr[i].value);
}

static struct dfg_err *set_attrs(struct draft *draft, struct dfg_node *node)
{
	const struct dfg_signature *signature = draft->signature;
	const struct dfg_new_node *want = draft->want;
	node->attr =
		dfg_arena_zeros(draft->builder->graph->arena, want->n_attr + (uint32_t)signature->n_param, sizeof *node->attr);
	if (!node->attr)
		return dfg_no_memory("a new node");
	for (int i = 0; i < signature->n_param; i++)
		if (draft->param[i].kind)
			DFG_TRY(insert_attr(draft, node, &draft->param[i]));
	for (uint32_t i = 0; i < want->n_attr; i++) {
		bool is_param = false;
		for (int p = 0; p < signature->n_param; p++)
			is_param |= !strcmp(signature->param[p].name, want->attr[i].name);
		if (!is_param && !is_default(signature, &want->attr[i]))
			DFG_TRY(insert_attr(draft, node, &want->attr[i]));
	}
	return NULL;
}

static struct dfg_err *set_inputs(struct draft *draft, struct dfg_node *node)
{
	const struct dfg_new_node *want = draft->want;
	const struct dfg_builder *builder = draft->builder;
	uint32_t count = want->n_in + want->n_control;
	node->in = dfg_arena_zeros(builder->graph->arena, count + builder->n_control, sizeof *node->in);
	if (!node->in)
		return dfg_no_memory("a new node");
	if (count)
		memcpy(node->in, want->in, count * sizeof *node->in);
	node->n_in = want->n_in;
	node->n_control = want->n_control;
	for (uint32_t i = 0; i < builder->n_control; i++) {
		bool there = false;
		for (uint32_t c = 0; c < node->n_control; c++)
			there |= node->in[node->n_in + c].node == builder->control[i];
		if (!there)
			node->in[node->n_in + node->n_control++] = (struct dfg_edge){builder->control[i], DFG_CONTROL};
	}
	return NULL;
}

static struct dfg_err *free_name(struct dfg_builder *builder, const char *wanted, const char **out_name)
{
	const char *name = dfg_arena_copy(builder->graph->arena, wanted, strlen(wanted));
	if (!name)
		return dfg_no_memory("a new node");
	return dfg_names_unused(&builder->names, builder->graph, name, out_name);
}

static struct dfg_err *add_draft(struct draft *draft, struct dfg_node *node, uint32_t *out_number)
{
	DFG_TRY(learn_params(draft));
	DFG_TRY(set_attrs(draft, node));
	DFG_TRY(set_inputs(draft, node));
	return dfg_graph_add(draft->builder->graph, node, out_number);
}

static struct dfg_err *infer_added(struct dfg_builder *builder, uint32_t number)
{
	struct dfg_resolved_node call;
	if (number % BATCH == 0)
		dfg_arena_release(&builder->brief);
	DFG_TRY(dfg_facts_resolve(&builder->facts, builder->graph, number, &builder->brief, &call));
	DFG_TRY(dfg_facts_add(&builder->facts, call.n_out));
	return infer_one(builder, number, &call);
}

static struct dfg_err *make_node(struct draft *draft, struct dfg_node *node, uint32_t *out_number)
{
	struct dfg_builder *builder = draft->builder;
	bool provisional = draft->want->provisional;
	struct dfg_err *err = add_draft(draft, node, out_number);
	if (err)
		return provisional && err->code == DFG_DATA ? dfg_err_note(err, "%s", node->op_name) : err;
	const char **name = &builder->graph->node[*out_number].name;
	*name = provisional ? NULL : node->name; /* dfg_resolved_note leaves out a name that is NULL */
	err = infer_added(builder, *out_number);
	*name = node->name;
	return err;
}

struct dfg_err *dfg_build(struct dfg_builder *builder, const struct dfg_new_node *want, uint32_t *out_number)
{
	struct dfg_new_node changed;
	if (builder->before) {
		changed = *want;
		DFG_TRY(builder->before(builder, &changed));
		want = &changed;
	}
	struct draft draft = {.builder = builder, .want = want};
	struct dfg_node node = {.op_name = want->op, .op = dfg_op_find(want->op)};
	if (!node.op)
		return dfg_op_missing(want->op);
	node.op_name = node.op->name;
	node.device = builder->device ? builder->device : "";
	DFG_TRY(dfg_op_signature(node.op, &draft.signature));
	if (want->exact)
		node.name = dfg_arena_copy(builder->graph->arena, want->name, strlen(want->name));
	else
		DFG_TRY(free_name(builder, want->name, &node.name));
	if (!node.name)
		return dfg_no_memory("a new node");
	return make_node(&draft, &node, out_number);
}

struct dfg_err *dfg_build_input(struct dfg_builder *builder, uint32_t number, struct dfg_edge edge)
{
	struct dfg_node *node = &builder->graph->node[number];
	uint32_t count = node->n_in + node->n_control;
	struct dfg_edge *in = dfg_arena_zeros(builder->graph->arena, count + 1, sizeof *in);
	if (!in)
		return dfg_no_memory("a new node");
	memcpy(in, node->in, node->n_in * sizeof *in);
	in[node->n_in] = edge;
	memcpy(in + node->n_in + 1, node->in + node->n_in, node->n_control * sizeof *in);
	node->in = in;
	node->n_in++;
	return NULL;
}

struct dfg_err *dfg_build_const(
	struct dfg_builder *builder, const char *name, const struct dfg_tensor *value, struct dfg_edge *out_edge)
{
	struct dfg_arena *arena = builder->graph->arena;
	int64_t count = dfg_shape_count(&value->shape);
	void *data = dfg_arena_copy(arena, value->data, dfg_tensor_bytes(value));
	if (!data)
		return dfg_no_memory("a constant");
	for (int64_t i = 0; value->dtype == DFG_STRING && i < count; i++) {
		struct dfg_string *element = (struct dfg_string *)data + i;
		if (!(element->s = dfg_arena_copy(arena, element->s, element->length)))
			return dfg_no_memory("a constant");
	}
	struct dfg_literal literal = {value->dtype, value->shape, value->dtype != DFG_STRING, count, data};
	const struct dfg_attr attr[] = {
		DFG_ATTR_T("dtype", value->dtype),
		{"value", DFG_ATTR_TENSOR, {.tensor = &literal}},
	};
	*out_edge = (struct dfg_edge){0, 0};
	return dfg_build(
		builder, &(struct dfg_new_node){.op = "Const", .name = name, .attr = attr, .n_attr = 2}, &out_edge->node);
}

enum dfg_dtype dfg_index_dtype(const int64_t *values, int64_t count)
{
	for (int64_t i = 0; i < count; i++)
		if (values[i] != (int32_t)values[i])
			return DFG_I64;
	return DFG_I32;
}

/* The number with the largest magnitude; 0 if there is none. */
static int64_t largest(const int64_t *values, int64_t count)
{
	int64_t most = 0;
	for (int64_t i = 0; i < count; i++)
		most = values[i] > most || values[i] < -most ? values[i] : most;
	return most;
}

struct dfg_err *dfg_build_ints(struct dfg_builder *builder, const char *name, enum dfg_dtype dtype,
	const struct dfg_shape *shape, const int64_t *values, struct dfg_edge *out_edge)
{
	struct dfg_tensor tensor;
	shape = shape ? shape : &DFG_SHAPE_SCALAR;
	if (dtype == DFG_I32 && dfg_index_dtype(values, dfg_shape_count(shape)) != DFG_I32)
		return DFG_ERR(DFG_DATA, "constant '%s' would contain the size or index %lld, which does not fit in i32", name,
			(long long)largest(values, dfg_shape_count(shape)));
	DFG_TRY(dfg_tensor_new(dtype, shape, &tensor));
	dfg_convert(dtype, tensor.data, DFG_I64, values, dfg_shape_count(&tensor.shape));
	struct dfg_err *err = dfg_build_const(builder, name, &tensor, out_edge);
	dfg_tensor_release(&tensor);
	return err;
}

struct dfg_err *dfg_build_float(
	struct dfg_builder *builder, const char *name, enum dfg_dtype dtype, double value, struct dfg_edge *out_edge)
{
	struct dfg_tensor tensor;
	DFG_TRY(dfg_tensor_new(dtype, &DFG_SHAPE_SCALAR, &tensor));
	dfg_convert(dtype, tensor.data, DFG_F64, &value, 1);
	struct dfg_err *err = dfg_build_const(builder, name, &tensor, out_edge);
	dfg_tensor_release(&tensor);
	return err;
}

struct dfg_err *dfg_build_op(struct dfg_builder *builder, const char *op, const char *name, const struct dfg_edge *in,
	uint32_t n_in, struct dfg_edge *out_edge)
{
	uint32_t node; /* out_edge may be one of the inputs */
	DFG_TRY(dfg_build(builder, &(struct dfg_new_node){.op = op, .name = name, .in = in, .n_in = n_in}, &node));
	*out_edge = (struct dfg_edge){node, 0};
	return NULL;
}
