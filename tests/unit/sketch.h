#pragma once

#include "lib/graph/graph.h"

#include <stdlib.h>
#include <string.h>

/*
 * Graphs for tests, a node a line: "y Add x b:1 ^c T=f32 n=3 s='text' shape=[2,-1]". Ops are the test's own, or those of
 * the table. Only for what must succeed: it asserts.
 */
struct sketch {
	struct dfg_arena arena;
	struct dfg_graph graph;
	const struct dfg_op *ops; /* ends with a NULL name; tried before the table */
};

static const struct dfg_op *sketch_op(const struct sketch *sketch, const char *name)
{
	for (const struct dfg_op *op = sketch->ops; op && op->name; op++)
		if (!strcmp(op->name, name))
			return op;
	return dfg_op_find(name);
}

static const struct dfg_shape *sketch_shape(struct sketch *sketch, const char *text)
{
	struct dfg_shape *shape = dfg_arena_zeros(&sketch->arena, 1, sizeof *shape);
	for (char *at = (char *)text + 1; *at && *at != ']'; at += *at == ',')
		shape->dim[shape->rank++] = strtoll(at, &at, 10);
	return shape;
}

static void sketch_attr(struct sketch *sketch, uint32_t node, const char *word)
{
	const char *equals = strchr(word, '='), *text = equals + 1;
	char *name = dfg_arena_copy(&sketch->arena, word, (size_t)(equals - word)), *end;
	union dfg_value value = {0};
	enum dfg_attr_kind kind = DFG_ATTR_INT;
	if (*text == '\'') {
		kind = DFG_ATTR_STRING;
		value.s = (struct dfg_string){dfg_arena_copy(&sketch->arena, text + 1, strlen(text) - 2), strlen(text) - 2};
	} else if (*text == '[') {
		kind = DFG_ATTR_SHAPE;
		value.shape = sketch_shape(sketch, text);
	} else if (!strcmp(text, "true") || !strcmp(text, "false")) {
		kind = DFG_ATTR_BOOL;
		value.b = *text == 't';
	} else if (dfg_dtype_find(text, strlen(text))) {
		kind = DFG_ATTR_DTYPE;
		value.dtype = dfg_dtype_find(text, strlen(text));
	} else {
		value.i = strtoll(text, &end, 10);
		assert_int_equal(*end, '\0');
	}
	assert_null(dfg_node_set_attr(&sketch->graph, node, name, kind, value));
}

/* Inputs may name nodes of later lines. */
static void sketch_inputs(struct sketch *sketch, struct dfg_node *node, char *words)
{
	node->in = dfg_arena_zeros(&sketch->arena, 64, sizeof *node->in);
	for (char *word = strtok(words, " "); word; word = strtok(NULL, " ")) {
		if (strchr(word, '='))
			continue;
		struct dfg_edge *edge = &node->in[node->n_in + node->n_control];
		assert_null(dfg_graph_edge(&sketch->graph, word, edge));
		if (edge->port == DFG_CONTROL)
			node->n_control++;
		else
			node->n_in++;
	}
}

static void sketch_init(struct sketch *sketch, const struct dfg_op *ops, const char *text)
{
	*sketch = (struct sketch){.ops = ops};
	dfg_graph_init(&sketch->graph, &sketch->arena);
	char *copy = dfg_arena_copy(&sketch->arena, text, strlen(text)), *rest[256];
	uint32_t lines = 0;
	for (char *line = copy, *next; *line; line = next) {
		next = line + strcspn(line, "\n");
		if (*next)
			*next++ = '\0';
		char *op = line + strcspn(line, " ");
		if (!*op)
			continue;
		*op++ = '\0';
		rest[lines] = op + strcspn(op, " ");
		if (*rest[lines])
			*rest[lines]++ = '\0';
		struct dfg_node node = {.name = line, .op_name = op, .op = sketch_op(sketch, op), .device = ""};
		uint32_t number;
		assert_null(dfg_graph_add(&sketch->graph, &node, &number));
		char *attrs = dfg_arena_copy(&sketch->arena, rest[lines], strlen(rest[lines]));
		for (char *word = strtok(attrs, " "); word; word = strtok(NULL, " "))
			if (strchr(word, '='))
				sketch_attr(sketch, number, word);
		lines++;
	}
	for (uint32_t n = 0; n < lines; n++)
		sketch_inputs(sketch, &sketch->graph.node[n], rest[n]);
}

static void sketch_release(struct sketch *sketch)
{
	dfg_graph_release(&sketch->graph);
	dfg_arena_release(&sketch->arena);
}
