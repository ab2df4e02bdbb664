#include "lib/pass/replicate/replicate_private.h"

#include <stdio.h>
#include <string.h>

/*
 * Gradients that stay rows, as a gather's is: grad has marked their values and their numbers, both with the name of the dense
 * gradient. Each is a bucket of its own, of Dfg>AllReduceRowsStart and Dfg>AllReduceRowsDone.
 */

/* The node that a mark names; DFG_NONE: the node has no such mark. */
static uint32_t marked(const struct dfg_graph *graph, uint32_t n, const char *mark)
{
	const struct dfg_attr *attr = dfg_node_attr(&graph->node[n], mark);
	if (!attr || attr->kind != DFG_ATTR_STRING)
		return DFG_NONE;
	return dfg_map_find(&graph->names, attr->value.s.s, attr->value.s.length);
}

/* The dense gradient whose rows the node has; DFG_NONE: it has none, or dfg_rows_make_dense() has replaced them. */
static uint32_t dense_of(const struct dfg_graph *graph, uint32_t n)
{
	uint32_t dense = marked(graph, n, "_dfg_gradient_rows");
	return dense != DFG_NONE && graph->node[n].in[0].node == dense ? DFG_NONE : dense;
}

bool dfg_replicate_has_rows(const struct dfg_graph *graph, uint32_t dense)
{
	for (uint32_t n = 0; n < graph->count; n++)
		if (dense_of(graph, n) == dense)
			return true;
	return false;
}

/* The node with the numbers of the rows; DFG_NONE: there is none. */
static uint32_t find_indices(const struct dfg_graph *graph, uint32_t dense)
{
	for (uint32_t n = 0; n < graph->count; n++)
		if (marked(graph, n, "_dfg_gradient_indices") == dense)
			return n;
	return DFG_NONE;
}

static struct dfg_err *add_rows(struct replicate *r, uint32_t values, uint32_t dense, bool is_sum)
{
	const struct dfg_graph *graph = r->builder->graph;
	struct reduction cut = {.source = {values, 0}, .reader = DFG_NONE, .is_sum = is_sum};
	cut.indices.node = find_indices(graph, dense);
	if (!r->needed[values] || !dfg_local_is(&r->local, cut.source) || cut.indices.node == DFG_NONE)
		return NULL;
	const struct dfg_shape *table = &dfg_facts_of(&r->builder->facts, (struct dfg_edge){dense, 0})->shape;
	struct dfg_shape *copy = dfg_arena_zeros(&r->scratch, 1, sizeof *copy);
	if (!copy)
		return dfg_no_memory("a gradient");
	*copy = *table; /* facts move when nodes are added */
	cut.table = copy;
	if (!dfg_shape_known(table))
		return DFG_ERR(DFG_DATA, "node '%.200s' (%.100s): the gradient has rows of a table whose shape is not known",
			graph->node[dense].name, graph->node[dense].op_name);
	cut.name = dfg_replicate_gradient_name(r, &graph->node[dense]);
	return cut.name ? dfg_replicate_add_cut(r, &cut) : dfg_no_memory("a gradient");
}

struct dfg_err *dfg_replicate_rows(struct replicate *r, bool is_sum)
{
	for (uint32_t n = 0; n < r->before; n++) {
		uint32_t dense = dense_of(r->builder->graph, n);
		if (dense != DFG_NONE)
			DFG_TRY(add_rows(r, n, dense, is_sum));
	}
	return NULL;
}

static struct dfg_err *make_start(struct replicate *r, const struct reduction *cut, struct dfg_edge *out_ticket)
{
	const union dfg_value word = {.s = {cut->name, strlen(cut->name)}};
	const struct dfg_list names = {DFG_ATTR_STRING, 1, &word};
	const struct dfg_edge in[] = {cut->indices, cut->source};
	const struct dfg_attr attr[] = {
		DFG_ATTR_I("bucket", cut->bucket),
		DFG_ATTR_S("reduce", dfg_replicate_rule(r, cut->is_sum, false)),
		{"table", DFG_ATTR_SHAPE, {.shape = cut->table}},
		{"tensors", DFG_ATTR_LIST, {.list = &names}},
		DFG_ATTR_I("_dfg_partial", 1),
	};
	char name[40];
	snprintf(name, sizeof name, "_dfg/reduce/%u", cut->bucket);
	const struct dfg_new_node node = {.op = "Dfg>AllReduceRowsStart",
		.name = name,
		.exact = true,
		.in = in,
		.n_in = 2,
		.attr = attr,
		.n_attr = r->options->partial ? 5 : 4};
	out_ticket->port = 0;
	return dfg_build(r->builder, &node, &out_ticket->node);
}

static struct dfg_err *make_done(
	struct replicate *r, const struct reduction *cut, struct dfg_edge ticket, uint32_t *out_node)
{
	const struct dfg_facts *facts = &r->builder->facts;
	char name[40], start[40];
	union dfg_value with = {.s = {start, 0}}; /* on one device: the bucket is in the memory of its process */
	const struct dfg_list classes = {DFG_ATTR_STRING, 1, &with};
	const struct dfg_attr attr[] = {
		DFG_ATTR_T("Tindices", dfg_facts_of(facts, cut->indices)->dtype),
		DFG_ATTR_T("T", dfg_facts_of(facts, cut->source)->dtype),
		{"table", DFG_ATTR_SHAPE, {.shape = cut->table}},
		{"_class", DFG_ATTR_LIST, {.list = &classes}},
	};
	snprintf(name, sizeof name, "_dfg/reduced/%u", cut->bucket);
	with.s.length = (size_t)snprintf(start, sizeof start, "loc:@_dfg/reduce/%u", cut->bucket);
	const struct dfg_new_node node = {.op = "Dfg>AllReduceRowsDone",
		.name = name,
		.exact = true,
		.in = &ticket,
		.n_in = 1,
		.attr = attr,
		.n_attr = 4};
	return dfg_build(r->builder, &node, out_node);
}

struct dfg_err *dfg_replicate_make_rows(struct replicate *r, struct reduction *cut)
{
	struct dfg_edge ticket;
	uint32_t done;
	DFG_TRY(make_start(r, cut, &ticket));
	DFG_TRY(make_done(r, cut, ticket, &done));
	const struct reduction indices = {.source = cut->indices, .reader = DFG_NONE, .reduced = {done, 0}};
	cut->reduced = (struct dfg_edge){done, 1};
	dfg_replicate_redirect(r, &indices, ticket.node);
	dfg_replicate_redirect(r, cut, ticket.node);
	return NULL;
}
