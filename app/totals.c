#include "app/totals.h"

#include <string.h>

#define MARK "_dfg_total"

/* A walk from a fetch back to totals and feeds. */
struct search {
	const struct dfg_graph *graph;
	const struct dfg_feeds *feeds;
	uint32_t *stack, *seen, *total_of; /* by node: number of the last walk, and the number of its total, or DFG_NONE */
	uint32_t depth, walks;
};

static bool is_total(const struct dfg_node *node)
{
	return dfg_node_role(node) == DFG_IDENTITY && node->n_in == 1 && dfg_node_mark(node, MARK, NULL);
}

static void push_edge(struct search *search, struct dfg_edge edge)
{
	if (dfg_feeds_has(search->feeds, edge) || search->seen[edge.node] == search->walks)
		return;
	search->seen[edge.node] = search->walks;
	search->stack[search->depth++] = edge.node;
}

static void push_inputs(struct search *search, uint32_t n)
{
	const struct dfg_node *node = &search->graph->node[n];
	for (uint32_t i = 0; i < node->n_in + node->n_control; i++)
		push_edge(search, node->in[i]);
}

/* The next total that the walk meets, or DFG_NONE. */
static uint32_t next_total(struct search *search)
{
	while (search->depth) {
		uint32_t n = search->stack[--search->depth];
		if (is_total(&search->graph->node[n]))
			return n;
		push_inputs(search, n);
	}
	return DFG_NONE;
}

static struct dfg_err *search_new(
	const struct dfg_graph *graph, const struct dfg_feeds *feeds, struct dfg_arena *arena, struct search *out_search)
{
	*out_search = (struct search){.graph = graph, .feeds = feeds};
	out_search->stack = dfg_arena_zeros(arena, graph->count, sizeof *out_search->stack);
	out_search->seen = dfg_arena_zeros(arena, graph->count, sizeof *out_search->seen);
	out_search->total_of = dfg_arena_zeros(arena, graph->count, sizeof *out_search->total_of);
	if (!out_search->stack || !out_search->seen || !out_search->total_of)
		return dfg_no_memory("the totals over batches");
	for (uint32_t n = 0; n < graph->count; n++)
		out_search->total_of[n] = DFG_NONE;
	return NULL;
}

static bool any_mark(const struct dfg_graph *graph)
{
	for (uint32_t n = 0; n < graph->count; n++)
		if (is_total(&graph->node[n]))
			return true;
	return false;
}

/* Divides the fetches asked for into those of each batch and the last ones, and counts the totals. */
static void divide(struct search *search, const struct dfg_edges *fetch, uint32_t *n_total, bool *is_last)
{
	for (uint32_t i = 0; i < fetch->count; i++) {
		uint32_t n;
		search->walks++;
		push_edge(search, fetch->edge[i]);
		while ((n = next_total(search)) != DFG_NONE) {
			is_last[i] = true;
			if (search->total_of[n] == DFG_NONE)
				search->total_of[n] = (*n_total)++;
		}
	}
}

static struct dfg_err *check_nesting(struct search *search, uint32_t n)
{
	search->walks++;
	push_inputs(search, n);
	uint32_t inner = next_total(search);
	search->depth = 0;
	if (inner == DFG_NONE)
		return NULL;
	return DFG_ERR(DFG_DATA,
		"node '%s' is a total that depends on the total '%s', which is known only after the last batch",
		search->graph->node[n].name, search->graph->node[inner].name);
}

static struct dfg_err *list(struct dfg_model *model, struct search *search, const struct dfg_edges *fetch,
	const bool *is_last, struct dfg_totals *totals)
{
	uint32_t last = 0, direct = 0;
	for (uint32_t i = 0; i < fetch->count; i++) {
		struct dfg_edges *to = is_last[i] ? &totals->last : &totals->fetch;
		uint32_t at = is_last[i] ? totals->n_direct + last++ : direct++;
		totals->fetch_number[at] = i;
		to->edge[to->count] = fetch->edge[i];
		to->name[to->count++] = fetch->name[i];
	}
	for (uint32_t n = 0; n < search->graph->count; n++) {
		uint32_t number = search->total_of[n];
		if (number == DFG_NONE)
			continue;
		const struct dfg_edge edge = {n, 0};
		const enum dfg_dtype dtype = dfg_model_fact(model, edge)->dtype;
		DFG_TRY(check_nesting(search, n));
		if (!dfg_dtype_is(dtype, "number"))
			return DFG_ERR(DFG_DATA, "node '%s' is a total, which sums numbers, not %s", search->graph->node[n].name,
				dfg_dtype_name(dtype));
		totals->total[number] = (struct dfg_total){.edge = edge, .dtype = dtype};
		totals->fetch.edge[totals->n_direct + number] = edge;
		totals->fetch.name[totals->n_direct + number] = search->graph->node[n].name;
	}
	totals->fetch.count = totals->n_direct + totals->n_total;
	return NULL;
}

static struct dfg_err *new_edges(struct dfg_arena *arena, uint32_t count, struct dfg_edges *out_edges)
{
	out_edges->edge = dfg_arena_zeros(arena, count, sizeof *out_edges->edge);
	out_edges->name = dfg_arena_zeros(arena, count, sizeof *out_edges->name);
	return out_edges->edge && out_edges->name ? NULL : dfg_no_memory("the totals over batches");
}

struct dfg_err *dfg_totals_find(struct dfg_model *model, const struct dfg_feeds *feeds, const struct dfg_edges *fetch,
	struct dfg_totals *out_totals)
{
	const struct dfg_graph *graph = &model->file.graph;
	struct dfg_arena *arena = &model->arena;
	struct search search;
	*out_totals = (struct dfg_totals){.fetch = *fetch, .n_direct = fetch->count};
	if (!any_mark(graph))
		return NULL;
	bool *is_last = dfg_arena_zeros(arena, fetch->count, sizeof *is_last);
	out_totals->fetch_number = dfg_arena_zeros(arena, fetch->count, sizeof *out_totals->fetch_number);
	if (!is_last || !out_totals->fetch_number)
		return dfg_no_memory("the totals over batches");
	DFG_TRY(search_new(graph, feeds, arena, &search));
	divide(&search, fetch, &out_totals->n_total, is_last);
	for (uint32_t i = 0; i < fetch->count; i++)
		out_totals->n_direct -= is_last[i];
	out_totals->total = dfg_arena_zeros(arena, out_totals->n_total, sizeof *out_totals->total);
	if (!out_totals->total)
		return dfg_no_memory("the totals over batches");
	out_totals->fetch.count = 0;
	DFG_TRY(new_edges(arena, fetch->count + out_totals->n_total, &out_totals->fetch));
	DFG_TRY(new_edges(arena, fetch->count, &out_totals->last));
	return list(model, &search, fetch, is_last, out_totals);
}

static struct dfg_err *add_one(struct dfg_total *total, const char *name, const struct dfg_tensor *value)
{
	int64_t count = dfg_shape_count(&value->shape);
	if (!total->sum) {
		total->shape = value->shape;
		if (!(total->sum = dfg_zeros((size_t)count, sizeof *total->sum)))
			return dfg_no_memory("the totals over batches");
	}
	if (!dfg_shape_equal(&total->shape, &value->shape))
		return DFG_ERR(DFG_DATA, "the value of total '%s' is %s in one batch, but %s in another", name,
			dfg_type_words(total->dtype, &total->shape).s, dfg_type_words(value->dtype, &value->shape).s);
	for (int64_t i = 0; i < count; i++)
		total->sum[i] += dfg_tensor_float(value, i);
	return NULL;
}

/* The values of the fetches asked for, in their order; those that depend on totals have none yet. */
static struct dfg_err *add_direct(struct dfg_totals *totals, const struct dfg_edges *fetch, struct dfg_tensor *value,
	int64_t n, struct dfg_aggregation *aggregation)
{
	if (!totals->n_total)
		return dfg_aggregation_add(aggregation, fetch, value, n);
	struct dfg_tensor *asked = dfg_zeros(fetch->count, sizeof *asked);
	if (!asked) {
		for (uint32_t i = 0; i < totals->n_direct; i++)
			dfg_tensor_release(&value[i]);
		return dfg_no_memory("the totals over batches");
	}
	for (uint32_t i = 0; i < totals->n_direct; i++) {
		asked[totals->fetch_number[i]] = value[i];
		value[i] = (struct dfg_tensor){0};
	}
	struct dfg_err *err = dfg_aggregation_add(aggregation, fetch, asked, n);
	dfg_free(asked);
	return err;
}

struct dfg_err *dfg_totals_add(struct dfg_totals *totals, const struct dfg_edges *fetch, struct dfg_tensor *value,
	int64_t n, struct dfg_aggregation *aggregation)
{
	struct dfg_err *err = add_direct(totals, fetch, value, n, aggregation);
	for (uint32_t i = 0; i < totals->n_total; i++) {
		const uint32_t at = totals->n_direct + i;
		if (!err)
			err = add_one(&totals->total[i], totals->fetch.name[at], &value[at]);
		dfg_tensor_release(&value[at]);
	}
	return err;
}

static struct dfg_err *feed_sums(const struct dfg_totals *totals, struct dfg_feeds *feeds)
{
	for (uint32_t i = 0; i < totals->n_total; i++) {
		const struct dfg_total *total = &totals->total[i];
		struct dfg_tensor value;
		DFG_TRY(dfg_tensor_new(total->dtype, &total->shape, &value));
		dfg_convert(total->dtype, value.data, DFG_F64, total->sum, dfg_shape_count(&total->shape));
		DFG_TRY(dfg_feeds_add(feeds, total->edge, &value));
	}
	return NULL;
}

static struct dfg_err *run_last(
	const struct dfg_totals *totals, struct dfg_model *model, const struct dfg_feeds *feeds, struct dfg_tensor *value)
{
	struct dfg_plan *plan;
	const struct dfg_step step = {
		.feed = feeds->edge, .n_feed = feeds->count, .fetch = totals->last.edge, .n_fetch = totals->last.count};
	DFG_TRY(dfg_session_plan(model->session, &step, &plan));
	return dfg_plan_run(plan, feeds->value, value);
}

struct dfg_err *dfg_totals_finish(const struct dfg_totals *totals, struct dfg_model *model,
	const struct dfg_feeds *feeds, struct dfg_aggregation *aggregation)
{
	struct dfg_feeds all = {0};
	if (!totals->n_total || !aggregation->samples)
		return NULL;
	struct dfg_tensor *value = dfg_zeros(totals->last.count, sizeof *value);
	struct dfg_err *err = value ? dfg_feeds_share(feeds, NULL, 0, &all) : dfg_no_memory("the totals over batches");
	if (!err)
		err = feed_sums(totals, &all);
	if (!err)
		err = dfg_err_note(run_last(totals, model, &all, value),
			"computing metrics after the last batch, when only the values of total() are known");
	for (uint32_t i = 0; !err && i < totals->last.count; i++)
		aggregation->fetch[totals->fetch_number[totals->n_direct + i]].whole = value[i];
	dfg_free(value);
	dfg_feeds_release(&all);
	return dfg_err_of_file(err, model->file.graph.source);
}

void dfg_totals_reset(struct dfg_totals *totals)
{
	for (uint32_t i = 0; i < totals->n_total; i++) {
		dfg_free(totals->total[i].sum);
		totals->total[i].sum = NULL;
	}
}
