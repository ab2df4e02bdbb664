#pragma once

#include "tests/unit/test.h"

#include "lib/pass/partition/partition.h"
#include "lib/pass/verify/verify.h"

#include "tests/unit/sketch.h"

#include <stdio.h>

/*
 * A sketch, cut: a node whose line ends in "@1" is on device 1, others on device 0. A Const says "value=7", and
 * "_elements=300" where it is that many sevens; "_scalar=true" gives a Placeholder a shape.
 */
struct cut_sketch {
	struct sketch sketch;
	struct dfg_facts facts;
	struct dfg_arena arena;
	struct dfg_parts parts;
};

static const char *const cut_devices[] = {
	"/job:worker/task:0/device:CPU:0", "/job:worker/task:1/device:CPU:0", "/job:worker/task:2/device:CPU:0"};

static const struct dfg_shape scalar = {.rank = 0};

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

/* The sketch, and what the marks say. */
static void cut_read(struct cut_sketch *cut, const char *text, uint32_t device[256])
{
	static char copy[16000];
	assert_true(strlen(text) < sizeof copy);
	strcpy(copy, text);
	cut_marks(copy, device);
	*cut = (struct cut_sketch){0};
	sketch_init(&cut->sketch, NULL, copy);
	for (uint32_t n = 0; n < cut->sketch.graph.count; n++)
		if (dfg_node_role(&cut->sketch.graph.node[n]) == DFG_CONST)
			cut_constant(&cut->sketch, n);
		else if (dfg_node_mark(&cut->sketch.graph.node[n], "_scalar", NULL))
			succeeds(
				dfg_node_set_attr(&cut->sketch.graph, n, "shape", DFG_ATTR_SHAPE, (union dfg_value){.shape = &scalar}));
	succeeds(dfg_verify(&cut->sketch.graph, &(struct dfg_verify_options){.marked = &cut->sketch.graph}, &cut->facts));
}

static struct dfg_err *cut_apart(struct cut_sketch *cut, uint32_t devices, const uint32_t device[256])
{
	struct dfg_placed placed[256] = {0};
	for (uint32_t n = 0; n < cut->sketch.graph.count; n++)
		placed[n].device = device[n];
	const struct dfg_place_options options = {.device = cut_devices, .devices = devices};
	return dfg_partition(&cut->sketch.graph, &cut->facts, placed, &options, &cut->arena, &cut->parts);
}

static struct dfg_err *cut_begin(struct cut_sketch *cut, uint32_t devices, const char *text)
{
	uint32_t device[256] = {0};
	cut_read(cut, text, device);
	return cut_apart(cut, devices, device);
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
