#include "formats/differ.h"

#include "formats/graph.pb-c.h"
#include "formats/reader.h"
#include "lib/graph/function.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct pair {
	struct dfg_differ *differ;
	const struct dfg_graph *a, *b;
	const struct dfg_node *m, *n; /* the two nodes being compared */
	char location[300];
};

static bool same_values(struct pair *pair, enum dfg_attr_kind kind, const union dfg_value *a, const union dfg_value *b);

static bool same_text(const struct dfg_string *a, const struct dfg_string *b)
{
	return a->length == b->length && (!a->length || !memcmp(a->s, b->s, a->length));
}

static bool same_funcs(struct pair *pair, const struct dfg_func *a, const struct dfg_func *b)
{
	if (strcmp(a->name, b->name) || a->n_attr != b->n_attr)
		return false;
	for (uint32_t i = 0; i < a->n_attr; i++) {
		const struct dfg_attr *m = &a->attr[i], *n = &b->attr[i];
		if (strcmp(m->name, n->name) || m->kind != n->kind || !same_values(pair, m->kind, &m->value, &n->value))
			return false;
	}
	return true;
}

static bool same_lists(struct pair *pair, const struct dfg_list *a, const struct dfg_list *b)
{
	if (a->count != b->count || (a->count && a->kind != b->kind))
		return false;
	for (uint32_t i = 0; i < a->count; i++)
		if (!same_values(pair, a->kind, &a->item[i], &b->item[i]))
			return false;
	return true;
}

/* Whether the representations are equal, so that large constants need not be expanded. */
static bool same_form(const struct dfg_literal *a, const struct dfg_literal *b)
{
	if (a->dtype != b->dtype || a->dtype == DFG_STRING || a->given != b->given ||
		!dfg_shape_equal(&a->shape, &b->shape))
		return false;
	size_t bytes = dfg_literal_bytes(a);
	return !bytes || !memcmp(a->data, b->data, bytes);
}

/* Compares the constants by value; handles and variants by their bytes. */
static bool same_literals(struct pair *pair, const struct dfg_literal *a, const struct dfg_literal *b)
{
	if (a->dtype == b->dtype && dfg_dtype_is_handle(a->dtype))
		return a->given == b->given && (!a->given || !memcmp(a->data, b->data, dfg_literal_bytes(a)));
	if (same_form(a, b))
		return true;
	struct dfg_differ inner = {.rtol = pair->differ->rtol, .atol = pair->differ->atol, .most = 1};
	struct dfg_tensor m = {.buffer = NULL}, n = {.buffer = NULL};
	int64_t given = a->given > b->given ? a->given : b->given; /* after the larger count, each repeats its last value */
	struct dfg_err *err = dfg_literal_first(a, given ? given : 1, &m);
	if (!err)
		err = dfg_literal_first(b, given ? given : 1, &n);
	if (!err && a->dtype == b->dtype && dfg_shape_equal(&a->shape, &b->shape))
		dfg_differ_repeated(&inner, "value", &a->shape, &m, &n);
	else if (!err)
		dfg_differ_say(
			&inner, "value: %s, not %s", dfg_type_words(b->dtype, &b->shape).s, dfg_type_words(a->dtype, &a->shape).s);
	pair->differ->text.short_of_memory |= err && err->code == DFG_MEMORY;
	if (err || inner.count)
		dfg_differ_say(pair->differ, "%s: %.*s", pair->location, inner.text.length ? (int)inner.text.length - 1 : 100,
			err ? err->text : inner.text.s);
	dfg_err_free(err);
	dfg_differ_drop(pair->differ, &inner.text);
	dfg_tensor_release(&m);
	dfg_tensor_release(&n);
	return !inner.count;
}

static bool same_values(struct pair *pair, enum dfg_attr_kind kind, const union dfg_value *a, const union dfg_value *b)
{
	switch (kind) {
	case DFG_ATTR_STRING:
	case DFG_ATTR_PLACEHOLDER:
		return same_text(&a->s, &b->s);
	case DFG_ATTR_INT:
		return a->i == b->i;
	case DFG_ATTR_FLOAT:
		return !memcmp(&a->f, &b->f, sizeof a->f) || a->f == b->f;
	case DFG_ATTR_BOOL:
		return a->b == b->b;
	case DFG_ATTR_DTYPE:
		return a->dtype == b->dtype;
	case DFG_ATTR_SHAPE:
		return dfg_shape_equal(a->shape, b->shape);
	case DFG_ATTR_TENSOR:
		return same_literals(pair, a->tensor, b->tensor);
	case DFG_ATTR_FUNC:
		return same_funcs(pair, a->func, b->func);
	case DFG_ATTR_LIST:
		return same_lists(pair, a->list, b->list);
	default:
		return true;
	}
}

/* Appends a value as text, shortened. */
static void put_value(struct dfg_text *text, enum dfg_attr_kind kind, const union dfg_value *value)
{
	bool ref;
	switch (kind) {
	case DFG_ATTR_STRING:
	case DFG_ATTR_PLACEHOLDER:
		dfg_text_put(text, "\"", 1);
		dfg_text_escape(text, value->s.s, value->s.length, 60);
		dfg_text_put(text, "\"", 1);
		return;
	case DFG_ATTR_INT:
		dfg_text_add(text, "%" PRId64, value->i);
		return;
	case DFG_ATTR_FLOAT:
		dfg_text_f32(text, (float)value->f);
		return;
	case DFG_ATTR_BOOL:
		dfg_text_add(text, "%s", value->b ? "true" : "false");
		return;
	case DFG_ATTR_DTYPE:
		ref = (int)value->dtype > DFG_REF;
		dfg_text_add(text, "%s%s", ref ? "ref " : "", dfg_dtype_name(value->dtype - (ref ? DFG_REF : 0)));
		return;
	case DFG_ATTR_SHAPE:
		dfg_text_add(text, "%s", dfg_shape_words(value->shape).s);
		return;
	case DFG_ATTR_FUNC:
		dfg_text_add(text, "function '%.100s'", value->func->name);
		return;
	default:
		dfg_text_add(text, "a value of another kind");
	}
}

static void put_attr(struct dfg_text *text, const struct dfg_attr *attr)
{
	if (attr->kind != DFG_ATTR_LIST) {
		put_value(text, attr->kind, &attr->value);
		return;
	}
	const struct dfg_list *list = attr->value.list;
	dfg_text_put(text, "[", 1);
	for (uint32_t i = 0; i < list->count && i < 8; i++) {
		dfg_text_add(text, "%s", i ? ", " : "");
		put_value(text, list->kind, &list->item[i]);
	}
	dfg_text_add(text, "%s]", list->count > 8 ? ", ..." : "");
}

static void compare_attrs(struct pair *pair, const struct dfg_attr *a, const struct dfg_attr *b)
{
	size_t before = pair->differ->count;
	if (a->kind == b->kind && same_values(pair, a->kind, &a->value, &b->value))
		return;
	if (pair->differ->count > before) /* a constant that was already reported */
		return;
	struct dfg_text text = {0};
	put_attr(&text, b);
	dfg_text_add(&text, ", not ");
	put_attr(&text, a);
	dfg_differ_say(pair->differ, "%s: attribute '%.100s' is %.250s", pair->location, a->name, text.s ? text.s : "");
	dfg_differ_drop(pair->differ, &text);
}

/* Finds the node's attribute, or its op's default; false if there is neither. */
static bool find_attr(struct pair *pair, const struct dfg_node *node, const char *name, struct dfg_attr *out_attr)
{
	const struct dfg_attr *attr = dfg_node_attr(node, name);
	const struct dfg_signature *signature;
	if (attr) {
		*out_attr = *attr;
		return true;
	}
	struct dfg_err *err = node->op ? dfg_op_signature(node->op, &signature) : NULL;
	int i = node->op && !err ? dfg_op_attr(signature, name) : -1;
	pair->differ->text.short_of_memory |= err && err->code == DFG_MEMORY;
	dfg_err_free(err);
	if (i < 0 || !signature->attr[i].has_default)
		return false;
	*out_attr = (struct dfg_attr){name, signature->attr[i].kind, signature->attr[i].value};
	if (signature->attr[i].is_list)
		out_attr->kind = DFG_ATTR_LIST;
	return true;
}

static void compare_attr(struct pair *pair, const char *name)
{
	struct dfg_attr a, b;
	bool in_a = find_attr(pair, pair->m, name, &a), in_b = find_attr(pair, pair->n, name, &b);
	if (in_a && in_b)
		compare_attrs(pair, &a, &b);
	else
		dfg_differ_say(
			pair->differ, "%s: attribute '%.100s' is only in the %s", pair->location, name, in_a ? "first" : "second");
}

static int by_number(const void *a, const void *b)
{
	uint32_t m = *(const uint32_t *)a, n = *(const uint32_t *)b;
	return m < n ? -1 : m > n;
}

/* The node's control inputs as sorted numbers of a's nodes, without duplicates. */
static uint32_t sort_controls(
	const struct dfg_graph *graph, const struct dfg_node *node, const struct dfg_graph *a, uint32_t *number)
{
	uint32_t kept = 0;
	for (uint32_t i = 0; i < node->n_control; i++)
		number[i] = dfg_graph_find(a, graph->node[node->in[node->n_in + i].node].name);
	qsort(number, node->n_control, sizeof *number, by_number);
	for (uint32_t i = 0; i < node->n_control; i++)
		if (!i || number[i] != number[i - 1])
			number[kept++] = number[i];
	return kept;
}

static struct dfg_err *compare_controls(struct pair *pair)
{
	if (!pair->m->n_control && !pair->n->n_control)
		return NULL;
	uint32_t *m = dfg_zeros((size_t)pair->m->n_control + pair->n->n_control, sizeof *m);
	if (!m)
		return dfg_no_memory("the comparison");
	uint32_t *n = m + pair->m->n_control;
	uint32_t in_m = sort_controls(pair->a, pair->m, pair->a, m), in_n = sort_controls(pair->b, pair->n, pair->a, n);
	uint32_t i = 0;
	while (i < in_m && i < in_n && m[i] == n[i])
		i++;
	if (i < in_m && (i == in_n || m[i] < n[i]))
		dfg_differ_say(
			pair->differ, "%s: control input '%.200s' is only in the first", pair->location, pair->a->node[m[i]].name);
	else if (i < in_n)
		dfg_differ_say(pair->differ, "%s: control input '%.200s' is only in the second", pair->location,
			n[i] == DFG_NONE ? "of a new node" : pair->a->node[n[i]].name);
	dfg_free(m);
	return NULL;
}

static void put_edge(struct dfg_text *text, const struct dfg_graph *graph, struct dfg_edge edge)
{
	dfg_text_add(text, "'%.200s", graph->node[edge.node].name);
	dfg_text_add(text, edge.port ? ":%d'" : "'", edge.port);
}

static void compare_inputs(struct pair *pair)
{
	const struct dfg_node *m = pair->m, *n = pair->n;
	if (m->n_in != n->n_in) {
		dfg_differ_say(pair->differ, "%s: has %u inputs, not %u", pair->location, n->n_in, m->n_in);
		return;
	}
	for (uint32_t i = 0; i < m->n_in; i++) {
		const char *from = pair->a->node[m->in[i].node].name, *other = pair->b->node[n->in[i].node].name;
		if (m->in[i].port == n->in[i].port && !strcmp(from, other))
			continue;
		struct dfg_text text = {0};
		put_edge(&text, pair->b, n->in[i]);
		dfg_text_add(&text, ", not ");
		put_edge(&text, pair->a, m->in[i]);
		dfg_differ_say(pair->differ, "%s: input %u is %s", pair->location, i, text.s ? text.s : "");
		dfg_differ_drop(pair->differ, &text);
	}
}

static struct dfg_err *compare_nodes(struct pair *pair)
{
	const struct dfg_node *m = pair->m, *n = pair->n;
	snprintf(pair->location, sizeof pair->location, "node '%.200s' (%.80s)", m->name, m->op_name);
	if (strcmp(m->op_name, n->op_name)) {
		dfg_differ_say(pair->differ, "node '%.200s': op %.100s, not %.100s", m->name, n->op_name, m->op_name);
		return NULL;
	}
	if (strcmp(m->device, n->device))
		dfg_differ_say(pair->differ, "%s: device '%.100s', not '%.100s'", pair->location, n->device, m->device);
	compare_inputs(pair);
	for (uint32_t i = 0; i < m->n_attr; i++)
		compare_attr(pair, m->attr[i].name);
	for (uint32_t i = 0; i < n->n_attr; i++)
		if (!dfg_node_attr(m, n->attr[i].name))
			compare_attr(pair, n->attr[i].name);
	return compare_controls(pair);
}

/* The wire form is canonical, so equal functions have equal bytes. */
static void compare_functions(struct pair *pair, const struct dfg_functions *a, const struct dfg_functions *b)
{
	for (uint32_t i = 0; i < a->names.count; i++) {
		const struct dfg_name *name = &a->names.name[i];
		uint32_t other = dfg_map_find(&b->names, name->s, name->length);
		if (other == DFG_NONE)
			dfg_differ_say(pair->differ, "function '%.*s': only in the first", (int)name->length, name->s);
		else if (!same_text(&a->body[i], &b->body[other]))
			dfg_differ_say(pair->differ, "function '%.*s': differs", (int)name->length, name->s);
	}
	for (uint32_t i = 0; i < b->names.count; i++)
		if (dfg_map_find(&a->names, b->names.name[i].s, b->names.name[i].length) == DFG_NONE)
			dfg_differ_say(
				pair->differ, "function '%.*s': only in the second", (int)b->names.name[i].length, b->names.name[i].s);
}

static struct dfg_err *compare_libraries(struct pair *pair)
{
	struct dfg_functions a = {.body = NULL}, b = {.body = NULL};
	struct dfg_arena arena = {0};
	struct dfg_err *err = dfg_functions_list(pair->a, &arena, &a);
	if (!err)
		err = dfg_functions_list(pair->b, &arena, &b);
	if (!err)
		compare_functions(pair, &a, &b);
	dfg_functions_release(&a);
	dfg_functions_release(&b);
	dfg_arena_release(&arena);
	return err;
}

struct dfg_err *dfg_differ_graphs(struct dfg_differ *differ, const struct dfg_graph *a, const struct dfg_graph *b)
{
	struct pair pair = {.differ = differ, .a = a, .b = b};
	for (uint32_t i = 0; i < a->count; i++) {
		uint32_t other = dfg_graph_find(b, a->node[i].name);
		pair.m = &a->node[i];
		if (other == DFG_NONE) {
			dfg_differ_say(differ, "node '%.200s' (%.80s): only in the first", pair.m->name, pair.m->op_name);
			continue;
		}
		pair.n = &b->node[other];
		DFG_TRY(compare_nodes(&pair));
	}
	for (uint32_t i = 0; i < b->count; i++)
		if (dfg_graph_find(a, b->node[i].name) == DFG_NONE)
			dfg_differ_say(differ, "node '%.200s' (%.80s): only in the second", b->node[i].name, b->node[i].op_name);
	DFG_TRY(compare_libraries(&pair));
	return dfg_text_check(&differ->text);
}
