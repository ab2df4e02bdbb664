#include "app/nesting.h"

#include "lib/graph/cycle.h"

#include <string.h>

struct maker {
	const struct dfg_graph *graph;
	struct dfg_nesting *nesting;
	struct dfg_loops loops;
	struct dfg_liveness liveness;
	struct dfg_map known; /* maps a box and a key to the number of the box with that key in it */
	uint32_t *loop_box;   /* box number, by loop */
};

/* Finds or adds a box in `parent`; the key tells it from its siblings, the label is printed. */
static struct dfg_err *find_box(struct maker *m, uint32_t parent, const char *key, const char *label, uint32_t *out_box)
{
	struct dfg_nesting *nesting = m->nesting;
	const char *name = dfg_arena_print(&nesting->arena, "%u %s", parent, key);
	uint32_t number;
	bool is_new;
	if (!name || !dfg_map_put(&m->known, name, strlen(name), &number, &is_new) ||
		!dfg_reserve(&nesting->box, &nesting->capacity, nesting->count + 1, sizeof *nesting->box))
		return dfg_no_memory("the nesting of the graph");
	*out_box = number + 1;
	if (!is_new)
		return NULL;
	nesting->box[nesting->count++] = (struct dfg_nesting_box){.parent = parent, .label = label};
	struct dfg_nesting_box *outer = &nesting->box[parent];
	*(outer->last ? &nesting->box[outer->last].next : &outer->child) = *out_box;
	outer->last = *out_box;
	return NULL;
}

/* A loop's own condition is not drawn as a branch. */
static bool is_loops_own(const struct maker *m, uint32_t loop, const struct dfg_condition *condition)
{
	if (!loop || m->loops.loop[loop].condition == DFG_NONE)
		return false;
	struct dfg_edge own = dfg_live_source(m->graph, (struct dfg_edge){m->loops.loop[loop].condition, 0});
	return dfg_edge_same(own, condition->predicate);
}

/* Finds or adds the boxes for the conditions of a node in a loop, inside `box`. */
static struct dfg_err *enter_sides(struct maker *m, uint32_t loop, uint32_t set, uint32_t *box)
{
	uint32_t count;
	const uint32_t *number = dfg_live_conditions(&m->liveness, set, &count);
	for (uint32_t i = 0; i < count; i++) {
		const struct dfg_condition *condition = &m->liveness.condition[number[i]];
		if (is_loops_own(m, loop, condition))
			continue;
		const char *predicate = dfg_graph_tensor_name(m->graph, condition->predicate);
		const char *key = dfg_arena_print(&m->nesting->arena, "side %u", number[i]);
		const char *label =
			condition->sides == 2
				? dfg_arena_print(&m->nesting->arena, "%s is %s", predicate, condition->side ? "true" : "false")
				: dfg_arena_print(&m->nesting->arena, "%s is %d", predicate, (int)condition->side);
		if (!predicate || !key || !label)
			return dfg_no_memory("the nesting of the graph");
		DFG_TRY(find_box(m, *box, key, label, box));
	}
	return NULL;
}

/* The number of a loop is larger than that of its parent. */
static struct dfg_err *box_loops(struct maker *m)
{
	m->loop_box = dfg_arena_zeros(&m->nesting->arena, m->loops.count, sizeof *m->loop_box);
	if (!m->loop_box)
		return dfg_no_memory("the nesting of the graph");
	for (uint32_t i = 1; i < m->loops.count; i++) {
		const struct dfg_loop *loop = &m->loops.loop[i];
		int length = loop->name.length > 200 ? 200 : (int)loop->name.length;
		m->loop_box[i] = m->loop_box[loop->parent];
		DFG_TRY(enter_sides(m, loop->parent, m->liveness.entry[i], &m->loop_box[i]));
		const char *key = dfg_arena_print(&m->nesting->arena, "loop %u", i);
		const char *label = dfg_arena_print(&m->nesting->arena, "loop %.*s", length, loop->name.s);
		if (!key || !label)
			return dfg_no_memory("the nesting of the graph");
		DFG_TRY(find_box(m, m->loop_box[i], key, label, &m->loop_box[i]));
	}
	return NULL;
}

static struct dfg_err *make_boxes(struct maker *m)
{
	struct dfg_nesting *nesting = m->nesting;
	nesting->of = dfg_arena_zeros(&nesting->arena, (size_t)m->graph->count + 1, sizeof *nesting->of);
	if (!nesting->of || !dfg_reserve(&nesting->box, &nesting->capacity, 1, sizeof *nesting->box))
		return dfg_no_memory("the nesting of the graph");
	nesting->box[nesting->count++] = (struct dfg_nesting_box){.label = ""};
	uint32_t *order, count;
	DFG_TRY(dfg_pass_order(m->graph, &nesting->arena, &order, &count));
	if (count < m->graph->count)
		return NULL;
	DFG_TRY(dfg_loops_find(m->graph, order, &nesting->arena, &m->loops));
	DFG_TRY(dfg_liveness_find(m->graph, order, &m->loops, NULL, &m->liveness));
	DFG_TRY(box_loops(m));
	for (uint32_t n = 0; n < m->graph->count; n++) {
		uint32_t loop = dfg_loop_home(m->graph, &m->loops, n);
		bool leaves = loop != m->loops.of[n]; /* an Exit: its outputs are outside the loop */
		nesting->of[n] = m->loop_box[loop];
		if (!leaves && dfg_node_role(&m->graph->node[n]) != DFG_ENTER)
			DFG_TRY(enter_sides(m, loop, m->liveness.of[n], &nesting->of[n]));
	}
	return NULL;
}

struct dfg_err *dfg_nesting_find(const struct dfg_graph *graph, struct dfg_nesting *out_nesting)
{
	struct maker m = {.graph = graph, .nesting = out_nesting};
	*out_nesting = (struct dfg_nesting){.box = NULL};
	struct dfg_err *err = make_boxes(&m);
	dfg_liveness_release(&m.liveness);
	dfg_map_release(&m.known);
	return err;
}

void dfg_nesting_release(struct dfg_nesting *nesting)
{
	dfg_free(nesting->box);
	dfg_arena_release(&nesting->arena);
	*nesting = (struct dfg_nesting){.box = NULL};
}
