#pragma once

#include "tests/unit/test.h"

#include "lib/pass/partition.h"
#include "lib/pass/verify.h"

#include "tests/unit/sketch.h"

#include <stdio.h>

/*
 * A sketch, cut: a node whose line ends in "@1" stands on device 1, others on device 0. A Const says "value=7", and
 * "_elements=300" where it is that many sevens.
 */
struct cut_sketch {
	struct sketch sketch;
	struct dfg_facts facts;
	struct dfg_arena arena;
	struct dfg_parts parts;
};

static const char *const cut_devices[] = {
	"/job:worker/task:0/device:CPU:0", "/job:worker/task:1/device:CPU:0", "/job:worker/task:2/device:CPU:0"};

/* Takes the marks out of the text. */
static void cut_marks(char *text, uint32_t *device)
{
	char *to = text;
	uint32_t line = 0;
	for (const char *from = text; *from; from++) {
		if (*from == '@') {
			device[line] = (uint32_t)(*++from - '0');
			continue;
		}
		line += *from == '\n';
		*to++ = *from;
	}
	*to = '\0';
}

static void cut_constant(struct sketch *sketch, uint32_t n)
{
	const struct dfg_attr *value = dfg_node_attr(&sketch->graph.node[n], "value");
	int64_t elements = 1, first = value->value.i;
	bool is_vector = dfg_node_mark(&sketch->graph.node[n], "_elements", &elements);
	struct dfg_literal *literal = dfg_arena_zeros(&sketch->arena, 1, sizeof *literal);
	int32_t *data = dfg_arena_zeros(&sketch->arena, (size_t)elements, sizeof *data);
	for (int64_t i = 0; i < elements; i++)
		data[i] = (int32_t)first;
	*literal = (struct dfg_literal){DFG_I32, {is_vector, {is_vector ? elements : 0}}, true, elements, data};
	succeeds(dfg_node_set_attr(&sketch->graph, n, "dtype", DFG_ATTR_DTYPE, (union dfg_value){.dtype = DFG_I32}));
	succeeds(dfg_node_set_attr(&sketch->graph, n, "value", DFG_ATTR_TENSOR, (union dfg_value){.tensor = literal}));
}

static struct dfg_err *cut_begin(struct cut_sketch *cut, uint32_t devices, const char *text)
{
	static char copy[16000];
	uint32_t device[256] = {0};
	struct dfg_placed placed[256] = {0};
	assert_true(strlen(text) < sizeof copy);
	strcpy(copy, text);
	cut_marks(copy, device);
	*cut = (struct cut_sketch){0};
	sketch_init(&cut->sketch, NULL, copy);
	for (uint32_t n = 0; n < cut->sketch.graph.count; n++) {
		placed[n].device = device[n];
		if (dfg_node_role(&cut->sketch.graph.node[n]) == DFG_CONST)
			cut_constant(&cut->sketch, n);
	}
	succeeds(dfg_verify(&cut->sketch.graph, NULL, &cut->facts));
	const struct dfg_place_options options = {.device = cut_devices, .devices = devices};
	return dfg_partition(&cut->sketch.graph, &cut->facts, placed, &options, &cut->arena, &cut->parts);
}

static void cut_end(struct cut_sketch *cut)
{
	dfg_parts_release(&cut->parts);
	dfg_arena_release(&cut->arena);
	dfg_facts_release(&cut->facts);
	sketch_release(&cut->sketch);
}

static void cut_verify(const struct cut_sketch *cut)
{
	for (uint32_t d = 0; d < cut->parts.parts; d++)
		if (cut->parts.part[d].count)
			succeeds(dfg_verify(&cut->parts.part[d], &(struct dfg_verify_options){.unknown_ops = true}, NULL));
}

/* The part's nodes, "name Op input ..." a line. */
static void cut_print(const struct dfg_graph *part, char *text, size_t room)
{
	*text = '\0';
	for (uint32_t n = 0; n < part->count; n++) {
		const struct dfg_node *node = &part->node[n];
		size_t at = strlen(text);
		at += (size_t)snprintf(text + at, room - at, "%s %s", node->name, node->op_name);
		for (uint32_t e = 0; e < node->n_in + node->n_control; e++)
			at += (size_t)snprintf(text + at, room - at, " %s", dfg_graph_tensor_name(part, node->in[e]));
		assert_true(at + 2 < room);
		strcpy(text + at, "\n");
	}
}

/* The graph is cut into parts that are these, and that verify accepts. */
static void becomes(const char *text, uint32_t devices, const char *const *part)
{
	static char got[16000];
	struct cut_sketch cut;
	succeeds(cut_begin(&cut, devices, text));
	for (uint32_t d = 0; d < devices; d++) {
		cut_print(&cut.parts.part[d], got, sizeof got);
		assert_string_equal(got, part[d]);
	}
	cut_verify(&cut);
	cut_end(&cut);
}
