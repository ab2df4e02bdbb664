/* variants. Requires: every edge names a node. Result: the same nodes, other names and marks. O(nodes). */
#include "lib/pass/rewrite/variants.h"

#include "lib/graph/names.h"
#include "lib/pass/rewrite/surgery.h"
#include "lib/pass/rewrite/variants_private.h"

#include <string.h>

/* The marks of a variant that is in use, and those of one that is not. */
static const struct {
	const char *used, *idle;
} marks[] = {
	{"_dfg_input", "_dfg_idle_input"},
	{"_dfg_output", "_dfg_idle_output"},
	{"_dfg_training", "_dfg_idle_training"},
	{"_dfg_update", "_dfg_idle_update"},
};
enum { N_MARKS = sizeof marks / sizeof *marks };

const char *dfg_variant_prefix(bool training)
{
	return training ? "training/" : "inference/";
}

int dfg_variant_of(const struct dfg_node *node)
{
	int64_t training;
	return dfg_node_mark(node, "_dfg_variant", &training) ? training != 0 : -1;
}

static bool is_marked_idle(const struct dfg_node *node)
{
	for (int i = 0; i < N_MARKS; i++)
		if (dfg_node_attr(node, marks[i].idle))
			return true;
	return false;
}

/* A variant may have no nodes of its own, and nodes of one may be left where a pass has removed the other. */
bool dfg_variants_are_two(const struct dfg_graph *graph)
{
	bool found[2] = {false};
	for (uint32_t n = 0; n < graph->count; n++) {
		const int variant = dfg_variant_of(&graph->node[n]);
		if (variant >= 0 && is_marked_idle(&graph->node[n]))
			return true;
		if (variant >= 0)
			found[variant] = true;
	}
	return found[0] && found[1];
}

/* Renames the node's attribute. Attributes are in the order of their names, so it is taken out and put in again. */
static struct dfg_err *rename_attribute(struct dfg_graph *graph, uint32_t n, const char *old, const char *new)
{
	struct dfg_node *node = &graph->node[n];
	const struct dfg_attr *attr = dfg_node_attr(node, old);
	if (!attr)
		return NULL;
	const struct dfg_attr kept = *attr;
	struct dfg_attr *rest = dfg_arena_zeros(graph->arena, node->n_attr, sizeof *rest);
	uint32_t count = 0;
	if (!rest)
		return dfg_no_memory("the graphs for training and inference");
	for (uint32_t i = 0; i < node->n_attr; i++)
		if (&node->attr[i] != attr)
			rest[count++] = node->attr[i];
	node->attr = rest;
	node->n_attr = count;
	return dfg_node_set_attr(graph, n, new, kept.kind, kept.value);
}

struct dfg_err *dfg_variant_mark(struct dfg_graph *graph, uint32_t node, bool used)
{
	for (int i = 0; i < N_MARKS; i++)
		DFG_TRY(
			rename_attribute(graph, node, used ? marks[i].idle : marks[i].used, used ? marks[i].used : marks[i].idle));
	return NULL;
}

bool dfg_variant_same_marks(const struct dfg_node *a, const struct dfg_node *b)
{
	for (int i = 0; i < N_MARKS; i++) {
		int64_t one = 0, two = 0;
		const bool a_has = dfg_node_mark(a, marks[i].used, &one), b_has = dfg_node_mark(b, marks[i].used, &two);
		if (strcmp(marks[i].used, "_dfg_training") && (a_has != b_has || one != two))
			return false;
	}
	return true;
}

static const char *with_prefix(struct dfg_graph *graph, struct dfg_names *names, bool training, const char *base)
{
	const char *wanted = dfg_arena_print(graph->arena, "%s%s", dfg_variant_prefix(training), base), *name;
	struct dfg_err *err = wanted ? dfg_names_unused(names, graph, wanted, &name) : dfg_no_memory("the names");
	dfg_err_free(err);
	return err ? NULL : name;
}

/* The new names: of nodes of the variant those of the program, which the other one's nodes leave to them. */
static struct dfg_err *choose_names(
	struct dfg_graph *graph, bool training, struct dfg_names *names, const char **out_name)
{
	const char *prefix = dfg_variant_prefix(training);
	for (uint32_t n = 0; n < graph->count; n++)
		out_name[n] = graph->node[n].name;
	for (uint32_t n = 0; n < graph->count; n++) {
		if (dfg_variant_of(&graph->node[n]) != training || strncmp(graph->node[n].name, prefix, strlen(prefix)))
			continue;
		const char *base = graph->node[n].name + strlen(prefix);
		const uint32_t owner = dfg_graph_find(graph, base);
		if (owner != DFG_NONE && dfg_variant_of(&graph->node[owner]) != !training)
			continue;
		if (owner != DFG_NONE && !(out_name[owner] = with_prefix(graph, names, !training, base)))
			return dfg_no_memory("the names");
		out_name[n] = base;
	}
	return NULL;
}

struct dfg_err *dfg_variants_use(struct dfg_graph *graph, bool training, struct dfg_arena *scratch)
{
	struct dfg_names names = {0};
	if (!dfg_variants_are_two(graph))
		return NULL;
	const char **name = dfg_arena_zeros(scratch, (size_t)graph->count + 1, sizeof *name);
	struct dfg_err *err = name ? choose_names(graph, training, &names, name) : dfg_no_memory("the names");
	dfg_names_release(&names);
	if (!err)
		err = dfg_set_names(graph, name, scratch);
	for (uint32_t n = 0; n < graph->count && !err; n++) {
		const int variant = dfg_variant_of(&graph->node[n]);
		if (variant >= 0)
			err = dfg_variant_mark(graph, n, variant == training);
		if (!err && dfg_node_mark(&graph->node[n], "_dfg_output", NULL))
			err = dfg_node_set_attr(graph, n, "_dfg_training", DFG_ATTR_INT, (union dfg_value){.i = training});
	}
	return err;
}

/* The node of that variant in the place of one of the other variant, or DFG_NONE. */
static uint32_t counterpart(const struct dfg_graph *graph, uint32_t node, bool training)
{
	const char *name = graph->node[node].name, *idle = dfg_variant_prefix(!training);
	if (!strncmp(name, idle, strlen(idle))) /* the one in use has the name of the program */
		name += strlen(idle);
	else
		name = dfg_arena_print(graph->arena, "%s%s", dfg_variant_prefix(training), name);
	const uint32_t found = name ? dfg_graph_find(graph, name) : DFG_NONE;
	return found != DFG_NONE && dfg_variant_of(&graph->node[found]) == training ? found : DFG_NONE;
}

uint32_t dfg_variants_inference(const struct dfg_graph *graph, uint32_t node, bool *out_missing)
{
	*out_missing = false;
	if (dfg_variant_of(&graph->node[node]) != 1)
		return node;
	const uint32_t found = counterpart(graph, node, false);
	*out_missing = found == DFG_NONE;
	return *out_missing ? node : found;
}

bool dfg_variants_has_training(const struct dfg_graph *graph, uint32_t node)
{
	return dfg_variant_of(&graph->node[node]) == 0 && counterpart(graph, node, true) != DFG_NONE;
}

static struct dfg_err *keep_counterparts(const struct dfg_graph *graph, struct dfg_arena *arena, struct dfg_keep *keep)
{
	struct dfg_edge *fetch = dfg_arena_zeros(arena, 2 * (size_t)keep->n_fetch + 1, sizeof *fetch);
	uint32_t count = keep->n_fetch;
	if (!fetch)
		return dfg_no_memory("the outputs");
	if (count)
		memcpy(fetch, keep->fetch, count * sizeof *fetch);
	for (uint32_t i = 0; i < keep->n_fetch; i++) {
		const int variant = dfg_variant_of(&graph->node[fetch[i].node]);
		const uint32_t other = variant < 0 ? DFG_NONE : counterpart(graph, fetch[i].node, !variant);
		if (other != DFG_NONE)
			fetch[count++] = (struct dfg_edge){other, fetch[i].port};
	}
	keep->fetch = fetch;
	keep->n_fetch = count;
	return NULL;
}

static struct dfg_err *keep_updates(const struct dfg_graph *graph, struct dfg_arena *arena, struct dfg_keep *keep)
{
	uint32_t *target = dfg_arena_zeros(arena, (size_t)graph->count + keep->n_target + 1, sizeof *target);
	if (!target)
		return dfg_no_memory("the updates");
	if (keep->n_target)
		memcpy(target, keep->target, keep->n_target * sizeof *target);
	keep->target = target;
	for (uint32_t n = 0; n < graph->count; n++)
		if (dfg_node_mark(&graph->node[n], "_dfg_update", NULL) ||
			dfg_node_mark(&graph->node[n], "_dfg_idle_update", NULL))
			target[keep->n_target++] = n;
	return NULL;
}

struct dfg_err *dfg_variants_keep(
	const struct dfg_graph *graph, bool updates, struct dfg_arena *arena, struct dfg_keep *keep)
{
	if (!dfg_variants_are_two(graph))
		return NULL;
	DFG_TRY(keep_counterparts(graph, arena, keep));
	return updates ? keep_updates(graph, arena, keep) : NULL;
}
