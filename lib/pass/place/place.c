/* place. Requires: facts of every node, and no calls. Result: the device of each node, with a reason. Near-linear. */
#include "lib/pass/place/place.h"

#include "lib/base/mem.h"
#include "lib/graph/cycle.h"
#include "lib/pass/place/place_private.h"

static struct dfg_err *allocate(struct dfg_placing *p)
{
	size_t nodes = (size_t)p->graph->count + 1;
	p->kind = dfg_arena_zeros(&p->scratch, nodes, sizeof *p->kind);
	p->ask = dfg_arena_zeros(&p->scratch, nodes, sizeof *p->ask);
	p->parent = dfg_arena_zeros(&p->scratch, nodes, sizeof *p->parent);
	p->choice = dfg_arena_zeros(&p->scratch, nodes, sizeof *p->choice);
	p->decider = dfg_arena_zeros(&p->scratch, nodes, sizeof *p->decider);
	p->follows = dfg_arena_zeros(&p->scratch, nodes, sizeof *p->follows);
	p->device = dfg_arena_zeros(&p->scratch, nodes, sizeof *p->device);
	if (!p->kind || !p->ask || !p->parent || !p->choice || !p->decider || !p->follows || !p->device)
		return DFG_ERR(DFG_MEMORY, "no memory to place %u nodes", p->graph->count);
	return NULL;
}

static const char *request_of(const struct dfg_placing *p, uint32_t n)
{
	uint32_t request = p->ask[n].request;
	return request == DFG_NONE ? p->graph->node[n].device : p->options->request[request].text;
}

/* The node's own request if it was used, else the node that it follows, else the node of its group that decided. */
static struct dfg_placed reason_of(const struct dfg_placing *p, uint32_t n)
{
	uint32_t decider = p->decider[p->parent[n]];
	struct dfg_placed placed = {.device = p->device[p->parent[n]], .with = DFG_NONE};
	placed.reason = p->options->random ? DFG_PLACED_RANDOM : DFG_PLACED_SCHEDULED;
	if (p->choices.devices == 1) {
		placed.reason = DFG_PLACED_ONLY;
	} else if (p->ask[n].choice && dfg_choice_has(&p->choices, p->ask[n].choice, placed.device)) {
		placed.reason = p->ask[n].request == DFG_NONE ? DFG_PLACED_FILE : DFG_PLACED_REQUEST;
		placed.request = request_of(p, n);
	} else if (p->kind[n] & DFG_KIND_FOLLOWS) {
		placed.reason = DFG_PLACED_CONSUMER;
		placed.with = p->follows[n];
	} else if (decider != n) {
		placed.reason = DFG_PLACED_TOGETHER;
		placed.with = decider;
	}
	return placed;
}

/* Without a request, the first node of the group that does not follow another represents it. */
static void name_deciders(struct dfg_placing *p)
{
	for (uint32_t n = 0; n < p->graph->count; n++)
		if (p->decider[p->parent[n]] == DFG_NONE && !(p->kind[n] & DFG_KIND_FOLLOWS))
			p->decider[p->parent[n]] = n;
}

static struct dfg_err *explain(struct dfg_placing *p, struct dfg_arena *arena, struct dfg_placed **out_placed)
{
	struct dfg_placed *placed = dfg_arena_zeros(arena, (size_t)p->graph->count + 1, sizeof *placed);
	if (!placed)
		return DFG_ERR(DFG_MEMORY, "no memory to place %u nodes", p->graph->count);
	name_deciders(p);
	for (uint32_t n = 0; n < p->graph->count; n++)
		placed[n] = reason_of(p, n);
	*out_placed = placed;
	return NULL;
}

static struct dfg_err *place(struct dfg_placing *p)
{
	uint32_t count;
	DFG_TRY(dfg_choices_init(&p->choices, p->options->device, p->options->devices));
	DFG_TRY(allocate(p));
	DFG_TRY(dfg_pass_order(p->graph, &p->scratch, &p->order, &count));
	if (count != p->graph->count)
		return DFG_ERR(DFG_DATA, "the graph has a cycle that is not a loop; 'dfg check' shows it");
	DFG_TRY(dfg_loops_find(p->graph, p->order, &p->scratch, &p->loops));
	DFG_TRY(dfg_place_ask(p));
	DFG_TRY(dfg_place_group(p));
	if (p->options->random)
		DFG_TRY(dfg_place_random(p));
	DFG_TRY(dfg_place_follow(p));
	DFG_TRY(dfg_place_schedule(p));
	return dfg_place_refine(p);
}

struct dfg_err *dfg_place(const struct dfg_graph *graph, const struct dfg_facts *facts,
	const struct dfg_place_options *options, struct dfg_arena *arena, struct dfg_placed **out_placed)
{
	struct dfg_placing p = {.graph = graph, .facts = facts, .options = options};
	if (!options->devices)
		return DFG_ERR(DFG_DATA, "there is no device to place nodes on");
	struct dfg_err *err = place(&p);
	if (!err)
		err = explain(&p, arena, out_placed);
	dfg_choices_release(&p.choices);
	dfg_free(p.join);
	dfg_arena_release(&p.scratch);
	return err;
}
