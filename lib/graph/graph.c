#include "lib/graph/graph.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { PRODUCER = 27 };

void dfg_graph_init(struct dfg_graph *graph, struct dfg_arena *arena)
{
	*graph = (struct dfg_graph){.arena = arena, .producer = PRODUCER, .source = ""};
}

void dfg_graph_release(struct dfg_graph *graph)
{
	dfg_free(graph->node);
	dfg_map_release(&graph->names);
	*graph = (struct dfg_graph){0};
}

struct dfg_err *dfg_graph_add(struct dfg_graph *graph, const struct dfg_node *node, uint32_t *out_number)
{
	bool is_new;
	if (!dfg_reserve(&graph->node, &graph->capacity, (size_t)graph->count + 1, sizeof *graph->node) ||
		!dfg_map_put(&graph->names, node->name, strlen(node->name), out_number, &is_new))
		return DFG_ERR(DFG_MEMORY, "no memory for node '%s'", node->name);
	if (!is_new)
		return DFG_ERR(DFG_DATA, "node '%s' already exists (number %u, a %s)", node->name, *out_number,
			graph->node[*out_number].op_name);
	graph->node[graph->count++] = *node;
	return NULL;
}

uint32_t dfg_graph_find(const struct dfg_graph *graph, const char *name)
{
	return dfg_map_find(&graph->names, name, strlen(name));
}

const char *dfg_graph_nearest(const struct dfg_graph *graph, const char *name)
{
	struct dfg_nearest nearest = {.word = name};
	for (uint32_t i = 0; i < graph->count; i++)
		dfg_nearest_offer(&nearest, graph->node[i].name);
	return nearest.best;
}

static struct dfg_err *no_such_node(const struct dfg_graph *graph, const char *name, size_t length)
{
	char word[128];
	if (length >= sizeof word)
		return DFG_ERR(DFG_DATA, "no node '%.100s...'", name);
	memcpy(word, name, length);
	word[length] = '\0';
	const char *nearest = dfg_graph_nearest(graph, word);
	if (nearest)
		return DFG_ERR(DFG_DATA, "no node '%s'; did you mean '%s'?", word, nearest);
	return DFG_ERR(DFG_DATA, "no node '%s'", word);
}

struct dfg_err *dfg_graph_edge(const struct dfg_graph *graph, const char *tensor, struct dfg_edge *out_edge)
{
	bool control = *tensor == '^';
	const char *name = tensor + control, *colon = control ? NULL : strrchr(name, ':');
	size_t length = colon ? (size_t)(colon - name) : strlen(name);
	long port = control ? DFG_CONTROL : 0;
	if (colon) {
		char *end;
		errno = 0;
		port = strtol(colon + 1, &end, 10);
		if (end == colon + 1 || *end || port < 0 || port > INT32_MAX || errno)
			return DFG_ERR(DFG_DATA, "'%.100s' does not name an output; expected NODE:NUMBER", tensor);
	}
	uint32_t node = dfg_map_find(&graph->names, name, length);
	if (node == DFG_NONE)
		return no_such_node(graph, name, length);
	*out_edge = (struct dfg_edge){node, (int32_t)port};
	return NULL;
}

const char *dfg_graph_tensor_name(const struct dfg_graph *graph, struct dfg_edge edge)
{
	const char *name = graph->node[edge.node].name;
	if (edge.port == DFG_CONTROL)
		return dfg_arena_print(graph->arena, "^%s", name);
	return edge.port ? dfg_arena_print(graph->arena, "%s:%d", name, edge.port) : name;
}

/* The index of the attribute, or where it would be inserted. */
static uint32_t attr_index(const struct dfg_node *node, const char *name)
{
	uint32_t low = 0, high = node->n_attr;
	while (low < high) {
		uint32_t middle = (low + high) / 2;
		if (strcmp(node->attr[middle].name, name) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

const struct dfg_attr *dfg_node_attr(const struct dfg_node *node, const char *name)
{
	uint32_t i = attr_index(node, name);
	return i < node->n_attr && !strcmp(node->attr[i].name, name) ? &node->attr[i] : NULL;
}

struct dfg_err *dfg_node_set_attr(
	struct dfg_graph *graph, uint32_t node, const char *name, enum dfg_attr_kind kind, union dfg_value value)
{
	struct dfg_node *n = &graph->node[node];
	uint32_t i = attr_index(n, name);
	bool there = i < n->n_attr && !strcmp(n->attr[i].name, name);
	struct dfg_attr *attr = dfg_arena_zeros(graph->arena, n->n_attr + !there, sizeof *attr);
	if (!attr)
		return DFG_ERR(DFG_MEMORY, "no memory for an attribute of '%s'", n->name);
	if (n->n_attr) { /* a copy, because nodes may share their attributes */
		memcpy(attr, n->attr, i * sizeof *attr);
		memcpy(attr + i + !there, n->attr + i, (n->n_attr - i) * sizeof *attr);
	}
	n->attr = attr;
	n->n_attr += !there;
	n->attr[i] = (struct dfg_attr){name, kind, value};
	return NULL;
}

struct dfg_err *dfg_node_add_control(struct dfg_graph *graph, uint32_t node, uint32_t control)
{
	struct dfg_node *n = &graph->node[node];
	uint32_t count = n->n_in + n->n_control;
	for (uint32_t i = n->n_in; i < count; i++)
		if (n->in[i].node == control)
			return NULL;
	struct dfg_edge *in = dfg_arena_zeros(graph->arena, count + 1, sizeof *in);
	if (!in)
		return DFG_ERR(DFG_MEMORY, "no memory for an input of '%s'", n->name);
	if (count)
		memcpy(in, n->in, count * sizeof *in);
	in[count] = (struct dfg_edge){control, DFG_CONTROL};
	n->in = in;
	n->n_control++;
	return NULL;
}

bool dfg_node_mark(const struct dfg_node *node, const char *name, int64_t *out_i)
{
	const struct dfg_attr *attr = dfg_node_attr(node, name);
	if (attr && out_i)
		*out_i = attr->kind == DFG_ATTR_INT ? attr->value.i : 0;
	return attr && !(attr->kind == DFG_ATTR_BOOL && !attr->value.b);
}

bool dfg_edge_mark(const struct dfg_graph *graph, const char *name, struct dfg_edge edge)
{
	int64_t mask = 0;
	return edge.port >= 0 && edge.port < 31 && dfg_node_mark(&graph->node[edge.node], name, &mask) &&
		   mask >> edge.port & 1;
}
