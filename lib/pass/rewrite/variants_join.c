/* variants_join. Requires: both graphs are well formed. Result: one graph of both. O(loop depth * edges). */
#include "lib/pass/rewrite/variants_private.h"

#include "lib/graph/loops.h"
#include "lib/graph/names.h"
#include "lib/pass/rewrite/equal_attributes.h"

#include <string.h>

/* All arrays are by node of the graph for training. */
struct join {
	struct dfg_graph *graph;
	const struct dfg_graph *training;
	struct dfg_arena *scratch;
	uint32_t *order;
	struct dfg_loops loops;
	bool *own_loop;    /* by loop: one of its nodes is not in the other graph, so that it is copied whole */
	uint32_t *twin;    /* the node of the same name in the other graph, or DFG_NONE */
	bool *own;         /* the twin computes something else, or there is none */
	bool *initialises; /* of a variable that the other graph initialises too, by its twin */
	uint32_t *number;  /* of the node in the joined graph; DFG_NONE: it is not needed there */
	const char *frame_prefix;
};

static struct dfg_err *begin(struct join *j)
{
	const size_t count = (size_t)j->training->count + 1;
	uint32_t n;
	j->order = dfg_arena_zeros(j->scratch, count, sizeof *j->order);
	j->twin = dfg_arena_zeros(j->scratch, count, sizeof *j->twin);
	j->own = dfg_arena_zeros(j->scratch, count, sizeof *j->own);
	j->initialises = dfg_arena_zeros(j->scratch, count, sizeof *j->initialises);
	j->number = dfg_arena_zeros(j->scratch, count, sizeof *j->number);
	if (!j->order || !j->twin || !j->own || !j->initialises || !j->number)
		return dfg_no_memory("the variant for training");
	DFG_TRY(dfg_graph_order(j->training, j->scratch, j->order, &n));
	DFG_TRY(dfg_loops_find(j->training, j->order, j->scratch, &j->loops));
	j->own_loop = dfg_arena_zeros(j->scratch, (size_t)j->loops.count + 1, sizeof *j->own_loop);
	return j->own_loop ? NULL : dfg_no_memory("the variant for training");
}

static bool is_initialiser(const struct dfg_node *node)
{
	return node->n_in && dfg_node_mark(node, "_dfg_init", NULL);
}

/* A variable is initialised once, whatever the names of the nodes that compute its first value. */
static struct dfg_err *pair_initialisers(struct join *j)
{
	uint32_t *setter = dfg_arena_zeros(j->scratch, (size_t)j->graph->count + 1, sizeof *setter);
	if (!setter)
		return dfg_no_memory("the variant for training");
	for (uint32_t n = 0; n < j->graph->count; n++)
		if (is_initialiser(&j->graph->node[n]))
			setter[j->graph->node[n].in[0].node] = n + 1;
	for (uint32_t n = 0; n < j->training->count; n++) {
		const struct dfg_node *node = &j->training->node[n];
		const uint32_t variable = is_initialiser(node) ? j->twin[node->in[0].node] : DFG_NONE;
		if (variable == DFG_NONE || !setter[variable])
			continue;
		j->twin[n] = setter[variable] - 1;
		j->initialises[n] = true;
	}
	return NULL;
}

static struct dfg_err *pair(struct join *j)
{
	for (uint32_t n = 0; n < j->training->count; n++)
		j->twin[n] = dfg_graph_find(j->graph, j->training->node[n].name);
	return pair_initialisers(j);
}

static bool same_inputs(const struct join *j, const struct dfg_node *a, const struct dfg_node *b)
{
	if (a->n_in != b->n_in || a->n_control != b->n_control)
		return false;
	for (uint32_t e = 0; e < a->n_in + a->n_control; e++) {
		const struct dfg_edge in = b->in[e];
		if (j->own[in.node] || j->twin[in.node] != a->in[e].node || in.port != a->in[e].port)
			return false;
	}
	return true;
}

static bool is_of_own_loop(const struct join *j, uint32_t n)
{
	return j->own_loop[j->loops.of[n]] || j->own_loop[dfg_loop_home(j->training, &j->loops, n)];
}

static bool is_own(const struct join *j, uint32_t n)
{
	if (j->initialises[n])
		return false;
	if (j->twin[n] == DFG_NONE || is_of_own_loop(j, n))
		return true;
	const struct dfg_node *a = &j->graph->node[j->twin[n]], *b = &j->training->node[n];
	return !a->op || a->op != b->op || strcmp(a->device, b->device) || !dfg_attrs_same(a, b) ||
		   !dfg_variant_same_marks(a, b) || !same_inputs(j, a, b);
}

/* The loops around a node that is only in this graph, and those within them. The result says if any is new. */
static bool own_loops(struct join *j)
{
	bool any = false;
	for (uint32_t n = 0; n < j->training->count; n++) {
		if (!j->own[n])
			continue;
		const uint32_t both[] = {j->loops.of[n], dfg_loop_home(j->training, &j->loops, n)};
		for (int i = 0; i < 2; i++) {
			any |= both[i] && !j->own_loop[both[i]];
			j->own_loop[both[i]] = both[i] != 0;
		}
	}
	for (uint32_t l = 1; l < j->loops.count; l++) {
		const bool inherits = j->own_loop[j->loops.loop[l].parent] && !j->own_loop[l];
		j->own_loop[l] |= inherits;
		any |= inherits;
	}
	return any;
}

/* A node differs if one that it reads does, for which each round is in topological order. */
static void compare(struct join *j)
{
	do
		for (uint32_t i = 0; i < j->training->count; i++)
			j->own[j->order[i]] = is_own(j, j->order[i]);
	while (own_loops(j));
}

/* A variable or an input that is another one in training cannot be shared by the variants. */
static const char *find_obstacle(const struct join *j)
{
	for (uint32_t n = 0; n < j->training->count; n++) {
		const enum dfg_role role = dfg_node_role(&j->training->node[n]);
		const bool is_shared = role == DFG_VARIABLE || role == DFG_PLACEHOLDER || role == DFG_PLACEHOLDER_DEFAULT;
		if (is_shared && j->own[n] && j->twin[n] != DFG_NONE)
			return j->training->node[n].name;
	}
	return NULL;
}

/* Numbers what the ends of the graph need of the nodes that are only in it, after the nodes of the other graph. */
static struct dfg_err *number_needed(struct join *j)
{
	const struct dfg_graph *graph = j->training;
	bool *read = dfg_arena_zeros(j->scratch, (size_t)graph->count + 1, sizeof *read);
	uint32_t *stack = dfg_arena_zeros(j->scratch, (size_t)graph->count + 1, sizeof *stack), count = 0;
	if (!read || !stack)
		return dfg_no_memory("the variant for training");
	for (uint32_t n = 0; n < graph->count; n++)
		for (uint32_t e = 0; e < graph->node[n].n_in + graph->node[n].n_control; e++)
			read[graph->node[n].in[e].node] = true;
	for (uint32_t n = 0; n < graph->count; n++)
		if (!read[n] && j->own[n] && (j->number[n] = 1))
			stack[count++] = n;
	while (count) {
		const struct dfg_node *node = &graph->node[stack[--count]];
		for (uint32_t e = 0; e < node->n_in + node->n_control; e++)
			if (j->own[node->in[e].node] && !j->number[node->in[e].node]) {
				j->number[node->in[e].node] = 1;
				stack[count++] = node->in[e].node;
			}
	}
	uint32_t next = j->graph->count;
	for (uint32_t n = 0; n < graph->count; n++)
		j->number[n] = j->number[n] ? next++ : j->own[n] ? DFG_NONE : j->twin[n];
	return NULL;
}

static bool begins_frame(const struct dfg_graph *graph, const char *prefix)
{
	for (uint32_t n = 0; n < graph->count; n++) {
		const struct dfg_attr *frame = dfg_node_attr(&graph->node[n], "frame_name");
		if (frame && frame->kind == DFG_ATTR_STRING && frame->value.s.length >= strlen(prefix) &&
			!memcmp(frame->value.s.s, prefix, strlen(prefix)))
			return true;
	}
	return false;
}

/* The loops that are copied have names of their own. */
static struct dfg_err *choose_frame_prefix(struct join *j)
{
	j->frame_prefix = dfg_variant_prefix(true);
	while (j->frame_prefix && begins_frame(j->graph, j->frame_prefix))
		j->frame_prefix = dfg_arena_print(j->scratch, "%s%s", dfg_variant_prefix(true), j->frame_prefix);
	return j->frame_prefix ? NULL : dfg_no_memory("the names of loops");
}

static struct dfg_err *rename_frame(struct join *j, uint32_t number)
{
	const struct dfg_attr *frame = dfg_node_attr(&j->graph->node[number], "frame_name");
	if (!frame || frame->kind != DFG_ATTR_STRING)
		return NULL;
	const char *name =
		dfg_arena_print(j->graph->arena, "%s%.*s", j->frame_prefix, (int)frame->value.s.length, frame->value.s.s);
	if (!name)
		return dfg_no_memory("the names of loops");
	return dfg_node_set_attr(
		j->graph, number, "frame_name", DFG_ATTR_STRING, (union dfg_value){.s = {name, strlen(name)}});
}

static struct dfg_err *choose_name(struct join *j, struct dfg_names *names, const char *own, const char **out_name)
{
	*out_name = own;
	if (dfg_graph_find(j->graph, own) == DFG_NONE)
		return NULL;
	const char *wanted = dfg_arena_print(j->graph->arena, "%s%s", dfg_variant_prefix(true), own);
	return wanted ? dfg_names_unused(names, j->graph, wanted, out_name) : dfg_no_memory("the names");
}

static struct dfg_err *copy_node(struct join *j, struct dfg_names *names, uint32_t n)
{
	struct dfg_node node = j->training->node[n];
	const uint32_t count = node.n_in + node.n_control;
	struct dfg_edge *in = dfg_arena_zeros(j->graph->arena, (size_t)count + 1, sizeof *in);
	uint32_t number;
	if (!in)
		return dfg_no_memory("the variant for training");
	for (uint32_t e = 0; e < count; e++)
		in[e] = (struct dfg_edge){j->number[node.in[e].node], node.in[e].port};
	node.in = in;
	DFG_TRY(choose_name(j, names, node.name, &node.name));
	DFG_TRY(dfg_graph_add(j->graph, &node, &number));
	DFG_TRY(rename_frame(j, number));
	DFG_TRY(dfg_variant_mark(j->graph, number, false));
	return dfg_node_set_attr(j->graph, number, "_dfg_variant", DFG_ATTR_INT, (union dfg_value){.i = 1});
}

/* Marks the nodes for inference alone. */
static struct dfg_err *mark_others(struct join *j, uint32_t count)
{
	bool *shared = dfg_arena_zeros(j->scratch, (size_t)count + 1, sizeof *shared);
	if (!shared)
		return dfg_no_memory("the variant for inference");
	for (uint32_t n = 0; n < j->training->count; n++)
		if (!j->own[n])
			shared[j->twin[n]] = true;
	for (uint32_t n = 0; n < count; n++)
		if (!shared[n])
			DFG_TRY(dfg_node_set_attr(j->graph, n, "_dfg_variant", DFG_ATTR_INT, (union dfg_value){.i = 0}));
	return NULL;
}

static struct dfg_err *copy_all(struct join *j)
{
	const uint32_t count = j->graph->count;
	struct dfg_names names = {0};
	struct dfg_err *err = choose_frame_prefix(j);
	for (uint32_t n = 0; n < j->training->count && !err; n++)
		if (j->own[n] && j->number[n] != DFG_NONE)
			err = copy_node(j, &names, n);
	dfg_names_release(&names);
	return err ? err : mark_others(j, count);
}

struct dfg_err *dfg_variants_join(
	struct dfg_graph *graph, const struct dfg_graph *training, struct dfg_arena *scratch, const char **out_obstacle)
{
	struct join j = {.graph = graph, .training = training, .scratch = scratch};
	DFG_TRY(begin(&j));
	DFG_TRY(pair(&j));
	compare(&j);
	if ((*out_obstacle = find_obstacle(&j)))
		return NULL;
	DFG_TRY(number_needed(&j));
	return copy_all(&j);
}
