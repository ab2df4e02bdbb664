#include "lib/pass/grad/formula.h"

#include "lib/pass/grad/make_ops.h"

#include <ctype.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

/* A hash table with open addressing, by the addresses of op and text; entries are never removed. */
enum { SLOTS = 4096 };
static struct dfg_op_formula *_Atomic slot[SLOTS];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static size_t slot_of(const struct dfg_op *op, const char *text)
{
	uint64_t key = (uint64_t)(uintptr_t)op * UINT64_C(0x9e3779b97f4a7c15) ^ (uint64_t)(uintptr_t)text;
	size_t i = (size_t)((key * UINT64_C(0x9e3779b97f4a7c15)) >> 52) % SLOTS;
	for (size_t tries = 0; tries < SLOTS; tries++, i = (i + 1) % SLOTS) {
		const struct dfg_op_formula *entry = atomic_load_explicit(&slot[i], memory_order_acquire);
		if (!entry || (entry->op == op && entry->text == text))
			return i;
	}
	return SLOTS;
}

/* Whether the text contains the name as a whole word. */
static bool mentions(const char *text, const char *name)
{
	size_t length = strlen(name);
	for (const char *s = text; (s = strstr(s, name)); s += length)
		if ((s == text || (!isalnum((unsigned char)s[-1]) && s[-1] != '_')) && !isalnum((unsigned char)s[length]) &&
			s[length] != '_')
			return true;
	return false;
}

static void name_ports(struct dfg_op_formula *entry, const struct dfg_signature *signature)
{
	for (int i = 0; i < signature->n_in; i++)
		snprintf(entry->d_in[i], sizeof entry->d_in[i], "d%s", signature->in[i].name);
	for (int i = 0; i < signature->n_out; i++) {
		snprintf(entry->d_out[i], sizeof entry->d_out[i], "d%s", signature->out[i].name);
		entry->reads[i] = mentions(entry->text, entry->d_out[i]);
	}
	char alias[80];
	snprintf(alias, sizeof alias, "%s = %s", entry->d_in[0], entry->d_out[0]);
	entry->is_alias = signature->n_in == 1 && signature->n_out == 1 && !strcmp(alias, entry->text) &&
					  !signature->in[0].is_list && signature->in[0].count < 0;
}

static struct dfg_err *parse(const struct dfg_op *op, const char *text)
{
	size_t i = slot_of(op, text);
	if (i == SLOTS)
		return DFG_ERR(DFG_BUG, "there are more than %d gradient formulas", SLOTS);
	if (atomic_load_explicit(&slot[i], memory_order_acquire))
		return NULL;
	const struct dfg_signature *signature;
	DFG_TRY(dfg_op_signature(op, &signature));
	struct dfg_op_formula *entry = dfg_zeros(1, sizeof *entry);
	if (!entry)
		return dfg_no_memory("a formula");
	entry->op = op;
	entry->text = text;
	name_ports(entry, signature);
	struct dfg_err *err = dfg_formula_new(text, &entry->formula);
	if (err)
		dfg_free(entry);
	else
		atomic_store_explicit(&slot[i], entry, memory_order_release);
	return dfg_err_note(err, "gradient of %s", op->name);
}

struct dfg_err *dfg_op_formula(const struct dfg_op *op, const char *text, const struct dfg_op_formula **out_formula)
{
	size_t i = slot_of(op, text);
	if (i == SLOTS || !atomic_load_explicit(&slot[i], memory_order_acquire)) {
		pthread_mutex_lock(&lock);
		struct dfg_err *err = parse(op, text);
		pthread_mutex_unlock(&lock);
		DFG_TRY(err);
		i = slot_of(op, text);
	}
	*out_formula = atomic_load_explicit(&slot[i], memory_order_acquire);
	return NULL;
}

/* The names that a formula may read, with their values. */
struct bindings {
	struct dfg_binding item[4 * DFG_PORT_MAX + DFG_ATTR_MAX + DFG_PARAM_MAX];
	uint32_t count;
	struct dfg_edge *edge; /* space for the outputs and their cotangents */
};

static void bind_port(
	struct bindings *b, const char *name, const struct dfg_port *port, const struct dfg_edge *edge, uint32_t n)
{
	bool many = port->is_list || port->count >= 0;
	b->item[b->count++] =
		(struct dfg_binding){.name = name, .kind = many ? DFG_BIND_TENSORS : DFG_BIND_TENSOR, .edge = edge, .n = n};
}

static void bind_value(struct bindings *b, const char *name, enum dfg_attr_kind kind, union dfg_value value)
{
	b->item[b->count++] =
		(struct dfg_binding){.name = name, .kind = DFG_BIND_VALUE, .value_kind = kind, .value = value};
}

static void bind_values(struct bindings *b, const struct dfg_resolved_node *call)
{
	const struct dfg_signature *signature = call->signature;
	for (int i = 0; i < signature->n_attr; i++)
		bind_value(b, signature->attr[i].name, signature->attr[i].is_list ? DFG_ATTR_LIST : signature->attr[i].kind,
			call->attr[i]);
	for (int i = 0; i < signature->n_param; i++) {
		const struct dfg_param *param = &signature->param[i];
		enum dfg_attr_kind kind = !param->types ? DFG_ATTR_INT : param->is_list ? DFG_ATTR_LIST : DFG_ATTR_DTYPE;
		bind_value(b, param->name, kind, call->param[i]);
	}
}

/*
 * The cotangent through an analytic function f of complex numbers is dz conj(f') = conj(conj(dz) f'), so the formula
 * for real numbers applies between two conjugations.
 */
static struct dfg_err *conjugate(struct dfg_gradient *node, enum dfg_dtype dtype, struct dfg_edge *edge)
{
	if (!(node->call->op->flags & DFG_ANALYTIC) || edge->node == DFG_NONE || !dfg_dtype_is(dtype, "complex"))
		return NULL;
	return dfg_gradient_op(node, "Conj", edge, 1, NULL, 0, edge);
}

/* The cotangent of an output: zeros if it is missing, others are not, and the formula reads it. */
static struct dfg_err *fill_cotangent(
	const struct dfg_op_formula *f, struct dfg_gradient *node, int port, int i, struct dfg_edge *out_edge)
{
	struct dfg_edge output = dfg_gradient_output(node, i);
	*out_edge = node->dy[i];
	if (out_edge->node != DFG_NONE || !f->reads[port] || !dfg_flow_dtype(dfg_facts_of(&node->builder->facts, output)))
		return NULL;
	struct dfg_make make = {node->builder, node->scope};
	return dfg_make_filled(&make, output, 0, out_edge);
}

static struct dfg_err *bind_outputs(const struct dfg_op_formula *f, struct dfg_gradient *node, struct bindings *b)
{
	const struct dfg_resolved_node *call = node->call;
	struct dfg_edge *output = b->edge, *cotangent = b->edge + call->n_out;
	for (int port = 0; port < call->signature->n_out; port++) {
		uint32_t first = call->out_first[port], n = call->out_first[port + 1] - first;
		bool given = true;
		for (uint32_t i = first; i < first + n; i++) {
			output[i] = dfg_gradient_output(node, (int)i);
			DFG_TRY(fill_cotangent(f, node, port, (int)i, &cotangent[i]));
			DFG_TRY(conjugate(node, (enum dfg_dtype)call->out_dtype[i], &cotangent[i]));
			given &= cotangent[i].node != DFG_NONE;
		}
		bind_port(b, call->signature->out[port].name, &call->signature->out[port], output + first, n);
		if (given)
			bind_port(b, f->d_out[port], &call->signature->out[port], cotangent + first, n);
		else
			b->item[b->count++] = (struct dfg_binding){.name = f->d_out[port], .kind = DFG_BIND_NOTHING};
	}
	return NULL;
}

/* Assigns the cotangents of the wanted inputs, port by port; the items of a list share one. */
static struct dfg_err *apply(const struct dfg_op_formula *f, struct dfg_gradient *node, const struct bindings *b)
{
	const struct dfg_resolved_node *call = node->call;
	const char *name[DFG_PORT_MAX];
	int port_of[DFG_PORT_MAX];
	struct dfg_edge edge[DFG_PORT_MAX];
	uint32_t n = 0;
	for (int port = 0; port < call->signature->n_in; port++) {
		bool wanted = false;
		for (int i = call->in_first[port]; i < call->in_first[port + 1]; i++)
			wanted |= node->wanted[i];
		if (wanted) {
			port_of[n] = port;
			name[n++] = f->d_in[port];
		}
	}
	DFG_TRY(dfg_formula_apply(f->formula, node->builder, node->scope, b->item, b->count, name, n, edge));
	for (uint32_t r = 0; r < n; r++) {
		DFG_TRY(conjugate(node, (enum dfg_dtype)call->in_dtype[call->in_first[port_of[r]]], &edge[r]));
		for (int i = call->in_first[port_of[r]]; i < call->in_first[port_of[r] + 1]; i++)
			if (edge[r].node != DFG_NONE)
				dfg_gradient_set(node, i, edge[r]);
	}
	return NULL;
}

struct dfg_err *dfg_op_formula_apply(const struct dfg_op_formula *formula, struct dfg_gradient *node)
{
	const struct dfg_resolved_node *call = node->call;
	enum { FEW = 8 };
	struct dfg_edge few[2 * FEW];
	struct bindings b; /* large, so only the used items are initialised */
	b.count = 0;
	b.edge = few;
	if (call->n_out > FEW && !(b.edge = dfg_zeros(2 * (size_t)call->n_out, sizeof *b.edge)))
		return DFG_ERR(DFG_MEMORY, "no memory for %u cotangents", call->n_out);
	for (int port = 0; port < call->signature->n_in; port++)
		bind_port(&b, call->signature->in[port].name, &call->signature->in[port], node->in + call->in_first[port],
			call->in_first[port + 1] - call->in_first[port]);
	bind_values(&b, call);
	struct dfg_err *err = bind_outputs(formula, node, &b);
	if (!err)
		err = apply(formula, node, &b);
	if (b.edge != few)
		dfg_free(b.edge);
	return err;
}

struct dfg_err *dfg_gradient_op(struct dfg_gradient *node, const char *op, const struct dfg_edge *in, uint32_t n_in,
	const struct dfg_attr *attr, uint32_t n_attr, struct dfg_edge *out_edge)
{
	struct dfg_make make = {node->builder, node->scope};
	return dfg_make_op(&make, op, in, n_in, attr, n_attr, out_edge);
}

struct dfg_err *dfg_gradient_formula(struct dfg_gradient *node, const char *text)
{
	const struct dfg_op_formula *formula;
	DFG_TRY(dfg_op_formula(node->call->op, text, &formula));
	return dfg_op_formula_apply(formula, node);
}
