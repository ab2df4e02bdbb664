#include "cmd/show.h"

#include "formats/json.h"
#include "lib/base/plural.h"

#include <string.h>

static const struct dfg_inferred *fact_of(const struct dfg_shown *shown, struct dfg_edge edge)
{
	const struct dfg_facts *facts = shown->facts;
	if (!facts || edge.port < 0 || (uint32_t)edge.port >= dfg_facts_outputs(facts, edge.node))
		return NULL;
	const struct dfg_inferred *fact = dfg_facts_of(facts, edge);
	return fact->dtype ? fact : NULL;
}

struct dfg_words dfg_shown_type(const struct dfg_shown *shown, struct dfg_edge edge)
{
	const struct dfg_inferred *fact = fact_of(shown, edge);
	if (fact && fact->holds && fact->holds->dtype)
		return dfg_type_words(fact->holds->dtype, &fact->holds->shape);
	return fact ? dfg_type_words(fact->dtype, &fact->shape) : (struct dfg_words){""};
}

static void show_tensor(const struct dfg_literal *literal, struct dfg_text *out)
{
	enum { MOST = 6 };
	struct dfg_tensor tensor;
	dfg_text_add(out, "%s", dfg_type_words(literal->dtype, &literal->shape).s);
	struct dfg_err *err = dfg_literal_first(literal, MOST, &tensor);
	int64_t count = err ? 0 : dfg_shape_count(&literal->shape);
	for (int64_t i = 0; i < count && i < MOST && dfg_dtype_is(tensor.dtype, "plain"); i++) {
		dfg_text_add(out, "%s", i ? ", " : ":");
		if (dfg_dtype_is(tensor.dtype, "int"))
			dfg_text_add(out, "%lld", (long long)dfg_tensor_int(&tensor, i));
		else
			dfg_text_f32(out, (float)dfg_tensor_float(&tensor, i));
	}
	dfg_text_add(out, "%s", count > MOST ? ", ..." : "");
	if (!err)
		dfg_tensor_release(&tensor);
	out->short_of_memory |= err && err->code == DFG_MEMORY;
	dfg_err_free(err);
}

static void show_value(enum dfg_attr_kind kind, union dfg_value value, struct dfg_text *out)
{
	switch (kind) {
	case DFG_ATTR_STRING:
	case DFG_ATTR_PLACEHOLDER:
		dfg_text_add(out, "\"");
		dfg_text_escape(out, value.s.s, value.s.length, 60);
		dfg_text_add(out, "\"");
		return;
	case DFG_ATTR_INT:
		dfg_text_add(out, "%lld", (long long)value.i);
		return;
	case DFG_ATTR_FLOAT:
		dfg_text_f32(out, (float)value.f);
		return;
	case DFG_ATTR_BOOL:
		dfg_text_add(out, "%s", value.b ? "true" : "false");
		return;
	case DFG_ATTR_DTYPE:
		dfg_text_add(out, "%s", dfg_dtype_name((enum dfg_dtype)((int)value.dtype % DFG_REF)));
		return;
	case DFG_ATTR_SHAPE:
		dfg_text_add(out, "%s", dfg_shape_words(value.shape).s);
		return;
	case DFG_ATTR_TENSOR:
		show_tensor(value.tensor, out);
		return;
	case DFG_ATTR_FUNC:
		dfg_text_add(out, "%s", value.func->name);
		return;
	case DFG_ATTR_LIST:
	case DFG_ATTR_NONE:
		return;
	}
}

void dfg_show_attr(const struct dfg_attr *attr, struct dfg_text *out)
{
	enum { MOST = 16 };
	if (attr->kind != DFG_ATTR_LIST) {
		show_value(attr->kind, attr->value, out);
		return;
	}
	const struct dfg_list *list = attr->value.list;
	dfg_text_add(out, "[");
	for (uint32_t i = 0; i < list->count && i < MOST; i++) {
		dfg_text_add(out, "%s", i ? ", " : "");
		show_value(list->kind, list->item[i], out);
	}
	dfg_text_add(out, "%s]", list->count > MOST ? ", ..." : "");
}

/* Numbers of inputs, outputs, variables and so on, and the number of elements of the variables. */
struct totals {
	uint32_t edges, controls, variables, trainable, unknown;
	uint64_t parameters;
};

static struct totals total(const struct dfg_shown *shown)
{
	struct totals totals = {0};
	for (uint32_t n = 0; n < shown->graph->count; n++) {
		const struct dfg_node *node = &shown->graph->node[n];
		totals.edges += node->n_in;
		totals.controls += node->n_control;
		totals.unknown += !node->op;
		if (!node->op || node->op->role != DFG_VARIABLE)
			continue;
		const struct dfg_inferred *fact = fact_of(shown, (struct dfg_edge){n, 0});
		const struct dfg_shape *shape = fact && fact->holds ? &fact->holds->shape : fact ? &fact->shape : NULL;
		bool trainable = dfg_node_mark(node, "_dfg_trainable", NULL);
		totals.variables++;
		totals.trainable += trainable;
		if (trainable && shape && dfg_shape_known(shape))
			totals.parameters += (uint64_t)dfg_shape_count(shape);
	}
	return totals;
}

/* Lists the nodes with the mark, or the role, one per line. */
static void list_nodes(
	const struct dfg_shown *shown, const char *title, const char *mark, enum dfg_role role, struct dfg_text *out)
{
	bool any = false;
	for (uint32_t n = 0; n < shown->graph->count; n++) {
		const struct dfg_node *node = &shown->graph->node[n];
		if (!(mark && dfg_node_mark(node, mark, NULL)) && !(role && node->op && node->op->role == role))
			continue;
		dfg_text_add(out, "%s", any ? "" : title);
		dfg_text_add(out, "  %-40s %s\n", node->name, dfg_shown_type(shown, (struct dfg_edge){n, 0}).s);
		any = true;
	}
}

/* Lists the ops by frequency, ties by name. Quadratic in the number of different ops, which is small. */
static struct dfg_err *list_ops(const struct dfg_shown *shown, struct dfg_text *out)
{
	struct dfg_map ops = {0};
	uint32_t *count = NULL;
	size_t capacity = 0;
	struct dfg_err *err = NULL;
	for (uint32_t n = 0; n < shown->graph->count && !err; n++) {
		const char *name = shown->graph->node[n].op_name;
		uint32_t number;
		if (!dfg_map_put(&ops, name, strlen(name), &number, NULL) ||
			!dfg_reserve(&count, &capacity, (size_t)number + 1, sizeof *count))
			err = dfg_no_memory("the list of ops");
		else
			count[number]++;
	}
	dfg_text_add(out, "%s", ops.count ? "ops\n" : "");
	for (size_t printed = 0; printed < ops.count && !err; printed++) {
		size_t best = 0;
		for (size_t i = 1; i < ops.count; i++)
			if (count[i] > count[best] || (count[i] == count[best] && strcmp(ops.name[i].s, ops.name[best].s) < 0))
				best = i;
		dfg_text_add(out, "  %6u %s\n", count[best], ops.name[best].s);
		count[best] = 0;
	}
	dfg_map_release(&ops);
	dfg_free(count);
	return err;
}

struct dfg_err *dfg_show_summary(const struct dfg_shown *shown, struct dfg_text *out)
{
	struct totals totals = total(shown);
	dfg_text_printable(out, shown->path, strlen(shown->path), "");
	dfg_text_add(out, ": %u node%s, %u edge%s, %u control edge%s, producer %d\n", shown->graph->count,
		dfg_plural(shown->graph->count), totals.edges, dfg_plural(totals.edges), totals.controls,
		dfg_plural(totals.controls), shown->graph->producer);
	if (totals.variables)
		dfg_text_add(out, "%u variable%s, %u trainable with %llu element%s\n", totals.variables,
			dfg_plural(totals.variables), totals.trainable, (unsigned long long)totals.parameters,
			dfg_plural(totals.parameters));
	if (totals.unknown)
		dfg_text_add(out, "%u node%s of unknown ops\n", totals.unknown, dfg_plural(totals.unknown));
	list_nodes(shown, "inputs\n", NULL, DFG_PLACEHOLDER, out);
	list_nodes(shown, "outputs\n", "_dfg_output", DFG_PLAIN, out);
	list_nodes(shown, "variables\n", NULL, DFG_VARIABLE, out);
	list_nodes(shown, "gradients kept as rows\n", "_dfg_gradient_rows", DFG_PLAIN, out);
	DFG_TRY(dfg_show_functions(shown, out));
	return list_ops(shown, out);
}

static void put_node(const struct dfg_shown *shown, uint32_t n, struct dfg_json_out *out)
{
	const struct dfg_node *node = &shown->graph->node[n];
	dfg_json_open(out, '{');
	dfg_json_key(out, "name"), dfg_json_string(out, node->name);
	dfg_json_key(out, "op"), dfg_json_string(out, node->op_name);
	dfg_json_key(out, "device"), dfg_json_string(out, node->device);
	dfg_json_key(out, "inputs"), dfg_json_open(out, '[');
	for (uint32_t i = 0; i < node->n_in + node->n_control; i++) {
		const char *name = dfg_graph_tensor_name(shown->graph, node->in[i]);
		out->text.short_of_memory |= !name;
		dfg_json_string(out, name ? name : "");
	}
	dfg_json_close(out, ']');
	dfg_json_key(out, "attributes"), dfg_json_open(out, '{');
	for (uint32_t i = 0; i < node->n_attr; i++) {
		struct dfg_text value = {0};
		dfg_show_attr(&node->attr[i], &value);
		dfg_json_key(out, node->attr[i].name), dfg_json_string(out, value.s ? value.s : "");
		out->text.short_of_memory |= value.short_of_memory;
		dfg_text_release(&value);
	}
	dfg_json_close(out, '}');
	dfg_json_key(out, "outputs"), dfg_json_open(out, '[');
	for (uint32_t i = 0; shown->facts && i < dfg_facts_outputs(shown->facts, n); i++)
		dfg_json_string(out, dfg_shown_type(shown, (struct dfg_edge){n, (int32_t)i}).s);
	dfg_json_close(out, ']');
	dfg_json_close(out, '}');
}

struct dfg_err *dfg_show_graph_json(const struct dfg_shown *shown, struct dfg_text *out)
{
	struct dfg_json_out json = {.text = *out};
	dfg_json_open(&json, '{');
	dfg_json_key(&json, "producer"), dfg_json_int(&json, shown->graph->producer);
	dfg_json_key(&json, "nodes"), dfg_json_open(&json, '[');
	for (uint32_t n = 0; n < shown->graph->count; n++)
		put_node(shown, n, &json);
	dfg_json_close(&json, ']');
	dfg_json_close(&json, '}');
	dfg_text_add(&json.text, "\n");
	*out = json.text;
	return NULL;
}

static struct dfg_err *node_json(const struct dfg_shown *shown, uint32_t n, struct dfg_text *out)
{
	struct dfg_json_out json = {.text = *out};
	put_node(shown, n, &json);
	dfg_text_add(&json.text, "\n");
	*out = json.text;
	return NULL;
}

struct dfg_err *dfg_show_node(const struct dfg_shown *shown, const char *name, struct dfg_text *out)
{
	const struct dfg_graph *graph = shown->graph;
	struct dfg_edge edge;
	DFG_TRY(dfg_graph_edge(graph, name, &edge));
	if (dfg_globals.json)
		return node_json(shown, edge.node, out);
	const struct dfg_node *node = &graph->node[edge.node];
	dfg_text_add(out, "%s (%s)\n", node->name, node->op_name);
	if (*node->device)
		dfg_text_add(out, "  device    %s\n", node->device);
	for (uint32_t i = 0; i < node->n_in + node->n_control; i++) {
		const char *from = dfg_graph_tensor_name(graph, node->in[i]);
		out->short_of_memory |= !from;
		dfg_text_add(out, "  input     %-32s %s\n", from ? from : "",
			node->in[i].port < 0 ? "" : dfg_shown_type(shown, node->in[i]).s);
	}
	for (uint32_t i = 0; i < node->n_attr; i++) {
		dfg_text_add(out, "  attribute %s = ", node->attr[i].name);
		dfg_show_attr(&node->attr[i], out);
		dfg_text_add(out, "\n");
	}
	for (uint32_t i = 0; shown->facts && i < dfg_facts_outputs(shown->facts, edge.node); i++)
		dfg_text_add(out, "  output    %u %s\n", i, dfg_shown_type(shown, (struct dfg_edge){edge.node, (int32_t)i}).s);
	for (uint32_t n = 0; n < graph->count; n++)
		for (uint32_t i = 0; i < graph->node[n].n_in + graph->node[n].n_control; i++)
			if (graph->node[n].in[i].node == edge.node)
				dfg_text_add(out, "  used by   %s\n", graph->node[n].name);
	return NULL;
}
