/*
 * partition. Requires: a flat graph that verify accepts, and the device of each node. Result: a graph for each device
 * and the transfers between them. O(nodes + edges).
 */
#include "lib/pass/partition/partition.h"

#include "lib/pass/partition/partition_private.h"
#include "lib/graph/cycle.h"

#include <string.h>

/* Prefix of the names of added nodes. */
#define RESERVED "_dfg/"

/* The nodes that lib/pass/replicate adds are partitioned like the rest. */
static bool is_reserved(const char *name)
{
	static const char *const allowed[] = {"_dfg/lane", "_dfg/reduce/", "_dfg/reduced/", "_dfg/target"};
	bool reserved = !strncmp(name, RESERVED, sizeof RESERVED - 1);
	for (size_t i = 0; i < sizeof allowed / sizeof *allowed; i++)
		reserved &= strncmp(name, allowed[i], strlen(allowed[i])) != 0;
	return reserved;
}

static struct dfg_err *check_names(const struct dfg_graph *graph)
{
	for (uint32_t n = 0; n < graph->count; n++)
		if (is_reserved(graph->node[n].name))
			return DFG_ERR(DFG_DATA,
				"node '%.200s' (%.100s): names that begin with " RESERVED
				" are reserved for partitioned graphs; a part of a plan cannot be partitioned again",
				graph->node[n].name, graph->node[n].op_name);
	return NULL;
}

static struct dfg_err *find_loops(struct cut *c)
{
	uint32_t *order, count;
	DFG_TRY(dfg_pass_order(c->graph, &c->scratch, &order, &count));
	if (count < c->graph->count)
		return DFG_ERR(DFG_DATA, "the graph has a cycle that is not a loop; 'dfg check' shows it");
	DFG_TRY(dfg_loops_find(c->graph, order, &c->scratch, &c->loops));
	if (c->loops.count > 1)
		DFG_TRY(dfg_liveness_find(c->graph, order, &c->loops, NULL, &c->liveness));
	return dfg_cut_loops(c, order);
}

/* Prepares lookups that each transfer repeats. */
static struct dfg_err *prepare(struct cut *c)
{
	c->send = dfg_op_find("_Send");
	c->recv = dfg_op_find("_Recv");
	c->device_text = dfg_arena_zeros(&c->scratch, c->options->devices, sizeof *c->device_text);
	if (!c->device_text)
		return DFG_ERR(DFG_MEMORY, "no memory for %u devices", c->options->devices);
	for (uint32_t d = 0; d < c->options->devices; d++)
		c->device_text[d] = (struct dfg_string){c->options->device[d], strlen(c->options->device[d])};
	return NULL;
}

static struct dfg_err *partition(struct cut *c, const struct dfg_placed *placed, struct dfg_parts *out_parts)
{
	size_t nodes = (size_t)c->graph->count + 1;
	c->first = dfg_arena_zeros(&c->scratch, nodes, sizeof *c->first);
	c->in = dfg_arena_zeros(&c->scratch, nodes, sizeof(void *));
	c->device = dfg_arena_zeros(&c->scratch, nodes, sizeof *c->device);
	if (!c->first || !c->in || !c->device)
		return DFG_ERR(DFG_MEMORY, "no memory to partition %u nodes", c->graph->count);
	for (uint32_t n = 0; n < c->graph->count; n++)
		c->device[n] = placed[n].device;
	DFG_TRY(prepare(c));
	DFG_TRY(check_names(c->graph));
	DFG_TRY(find_loops(c));
	DFG_TRY(dfg_cut_edges(c));
	return dfg_cut_parts(c, out_parts);
}

struct dfg_err *dfg_partition(struct dfg_graph *graph, const struct dfg_facts *facts, const struct dfg_placed *placed,
	const struct dfg_place_options *options, struct dfg_arena *arena, struct dfg_parts *out_parts)
{
	struct cut c = {.graph = graph, .facts = facts, .options = options, .arena = arena};
	*out_parts = (struct dfg_parts){0};
	struct dfg_err *err = partition(&c, placed, out_parts);
	if (err)
		dfg_parts_release(out_parts);
	dfg_free(c.added);
	dfg_free(c.route);
	dfg_free(c.transfer);
	dfg_liveness_release(&c.liveness);
	dfg_builder_release(&c.builder);
	dfg_arena_release(&c.scratch);
	return err;
}

void dfg_parts_release(struct dfg_parts *parts)
{
	for (uint32_t d = 0; d < parts->parts; d++)
		dfg_graph_release(&parts->part[d]);
	dfg_free(parts->transfer);
	*parts = (struct dfg_parts){0};
}
