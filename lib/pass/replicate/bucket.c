#include "lib/pass/replicate/replicate_private.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct dfg_inferred *fact_of(const struct replicate *r, struct dfg_edge edge)
{
	return dfg_facts_of(&r->builder->facts, edge);
}

/* Bytes of a tensor; 0 if its shape is not known. */
static uint64_t bytes_of(const struct replicate *r, struct dfg_edge edge)
{
	const struct dfg_inferred *fact = fact_of(r, edge);
	size_t bytes;
	if (!dfg_shape_known(&fact->shape))
		return 0;
	struct dfg_err *err = dfg_shape_bytes(&fact->shape, fact->dtype, &bytes);
	dfg_err_free(err);
	return err ? UINT64_MAX / 2 : bytes;
}

static int by_readiness(const void *a, const void *b)
{
	const struct reduction *one = a, *two = b;
	if (one->ready != two->ready)
		return one->ready < two->ready ? -1 : 1;
	if (one->source.port != two->source.port)
		return one->source.port < two->source.port ? -1 : 1;
	return (one->reader > two->reader) - (one->reader < two->reader);
}

/* A bucket that is being filled; it has one dtype and one rule. */
struct open {
	uint32_t number;
	enum dfg_dtype dtype;
	bool is_sum, is_state;
	uint64_t bytes;
};

/* The bucket of a tensor that another cut reduces by the same rule; DFG_NONE: none does. */
static uint32_t shared_bucket(const struct replicate *r, size_t i)
{
	const struct reduction *cut = &r->cut[i];
	for (size_t k = 0; k < i; k++)
		if (!r->cut[k].table && dfg_edge_same(r->cut[k].source, cut->source) && r->cut[k].is_sum == cut->is_sum)
			return r->cut[k].bucket;
	return DFG_NONE;
}

static void fill(struct replicate *r, size_t i, struct open *open, size_t *opens)
{
	struct reduction *cut = &r->cut[i];
	uint64_t bytes = bytes_of(r, cut->source);
	enum dfg_dtype dtype = fact_of(r, cut->source)->dtype;
	for (size_t k = 0; k < *opens; k++) {
		bool alike = open[k].dtype == dtype && open[k].is_sum == cut->is_sum && open[k].is_state == cut->is_state;
		if (!alike)
			continue;
		if (open[k].bytes >= r->options->bucket) {
			open[k].number = r->buckets++;
			open[k].bytes = 0;
		}
		open[k].bytes += bytes ? bytes : 1;
		cut->bucket = open[k].number;
		return;
	}
	cut->bucket = r->buckets++;
	open[(*opens)++] = (struct open){cut->bucket, dtype, cut->is_sum, cut->is_state, bytes ? bytes : 1};
}

static struct dfg_err *number_buckets(struct replicate *r)
{
	enum { KINDS = 4 * DFG_DTYPES };
	struct open *open = dfg_arena_zeros(&r->scratch, KINDS, sizeof *open);
	size_t opens = 0;
	if (!open)
		return dfg_no_memory("the buckets");
	qsort(r->cut, r->cuts, sizeof *r->cut, by_readiness);
	for (size_t i = 0; i < r->cuts; i++) {
		r->cut[i].bucket = shared_bucket(r, i);
		if (r->cut[i].table || r->cut[i].has_rows)
			r->cut[i].bucket = r->buckets++;
		else if (r->cut[i].bucket == DFG_NONE)
			fill(r, i, open, &opens);
	}
	return NULL;
}

/* The cuts of one bucket; a tensor that several cuts share counts once. */
struct content {
	struct dfg_edge *source;
	union dfg_value *name, *shape;
	uint32_t n;
	bool is_sum, is_state, if_fetched;
	enum dfg_dtype dtype;
};

static struct dfg_err *collect(struct replicate *r, uint32_t bucket, struct content *out_content)
{
	*out_content = (struct content){
		.source = dfg_arena_zeros(&r->scratch, r->cuts, sizeof(struct dfg_edge)),
		.name = dfg_arena_zeros(&r->scratch, r->cuts, sizeof(union dfg_value)),
		.shape = dfg_arena_zeros(&r->scratch, r->cuts, sizeof(union dfg_value)),
	};
	if (!out_content->source || !out_content->name || !out_content->shape)
		return dfg_no_memory("a bucket");
	for (size_t i = 0; i < r->cuts; i++) {
		const struct reduction *cut = &r->cut[i];
		uint32_t k = 0;
		while (k < out_content->n && !dfg_edge_same(out_content->source[k], cut->source))
			k++;
		if (cut->bucket != bucket || k < out_content->n)
			continue;
		const struct dfg_inferred *fact = fact_of(r, cut->source);
		out_content->is_sum = cut->is_sum;
		out_content->is_state = cut->is_state;
		out_content->if_fetched = cut->has_rows;
		out_content->dtype = fact->dtype;
		out_content->source[k] = cut->source;
		out_content->name[k].s = (struct dfg_string){cut->name, strlen(cut->name)};
		out_content->shape[k].shape = &fact->shape;
		out_content->n++;
	}
	return NULL;
}

const char *dfg_replicate_rule(const struct replicate *r, bool is_sum, bool is_state)
{
	if (r->options->reduction == DFG_REDUCE_ADASUM && !is_state)
		return "adasum";
	return is_sum ? "sum" : r->options->partial && !is_state ? "share" : "mean";
}

static struct dfg_err *make_start(
	struct replicate *r, uint32_t bucket, const struct content *content, struct dfg_edge *out_ticket)
{
	const struct dfg_list names = {DFG_ATTR_STRING, content->n, content->name};
	struct dfg_attr attr[5] = {
		DFG_ATTR_I("bucket", bucket),
		DFG_ATTR_S("reduce", dfg_replicate_rule(r, content->is_sum, content->is_state)),
		{"tensors", DFG_ATTR_LIST, {.list = &names}},
	};
	uint32_t n_attr = 3;
	if (content->if_fetched)
		attr[n_attr++] = (struct dfg_attr)DFG_ATTR_B("_dfg_if_fetched", true);
	if (r->options->partial)
		attr[n_attr++] = (struct dfg_attr)DFG_ATTR_I("_dfg_partial", 1);
	char name[40];
	snprintf(name, sizeof name, "_dfg/reduce/%u", bucket);
	const struct dfg_new_node node = {.op = "Dfg>AllReduceStart",
		.name = name,
		.exact = true,
		.in = content->source,
		.n_in = content->n,
		.attr = attr,
		.n_attr = n_attr};
	out_ticket->port = 0;
	return dfg_build(r->builder, &node, &out_ticket->node);
}

static struct dfg_err *make_done(
	struct replicate *r, uint32_t bucket, const struct content *content, struct dfg_edge ticket, uint32_t *out_node)
{
	const struct dfg_list shapes = {DFG_ATTR_SHAPE, content->n, content->shape};
	char name[40], start[40];
	union dfg_value with = {.s = {start, 0}}; /* on one device: the bucket is in the memory of its process */
	const struct dfg_list classes = {DFG_ATTR_STRING, 1, &with};
	const struct dfg_attr attr[] = {
		DFG_ATTR_I("N", content->n),
		DFG_ATTR_T("T", content->dtype),
		{"shapes", DFG_ATTR_LIST, {.list = &shapes}},
		{"_class", DFG_ATTR_LIST, {.list = &classes}},
	};
	snprintf(name, sizeof name, "_dfg/reduced/%u", bucket);
	with.s.length = (size_t)snprintf(start, sizeof start, "loc:@_dfg/reduce/%u", bucket);
	const struct dfg_new_node node = {
		.op = "Dfg>AllReduceDone", .name = name, .exact = true, .in = &ticket, .n_in = 1, .attr = attr, .n_attr = 4};
	return dfg_build(r->builder, &node, out_node);
}

void dfg_replicate_redirect(struct replicate *r, const struct reduction *cut, uint32_t start)
{
	struct dfg_graph *graph = r->builder->graph;
	for (uint32_t n = 0; n < graph->count; n++) {
		struct dfg_node *node = &graph->node[n];
		for (uint32_t e = 0; e < node->n_in && n != start; e++)
			if (dfg_edge_same(node->in[e], cut->source) && (cut->reader == DFG_NONE || cut->reader == n))
				node->in[e] = cut->reduced;
	}
	for (uint32_t i = 0; r->keep && i < r->keep->n_fetch && cut->reader == DFG_NONE; i++)
		if (dfg_edge_same(r->keep->fetch[i], cut->source))
			r->keep->fetch[i] = cut->reduced;
}

static struct dfg_err *make_bucket(struct replicate *r, uint32_t bucket)
{
	struct content content;
	struct dfg_edge ticket;
	uint32_t done;
	DFG_TRY(collect(r, bucket, &content));
	DFG_TRY(make_start(r, bucket, &content, &ticket));
	DFG_TRY(make_done(r, bucket, &content, ticket, &done));
	for (size_t i = 0; i < r->cuts; i++)
		for (uint32_t k = 0; k < content.n && r->cut[i].bucket == bucket; k++)
			if (dfg_edge_same(r->cut[i].source, content.source[k])) {
				r->cut[i].reduced = (struct dfg_edge){done, (int32_t)k};
				dfg_replicate_redirect(r, &r->cut[i], ticket.node);
			}
	return NULL;
}

/* The gradient in rows that a bucket is of; NULL: it is dense. */
static struct reduction *rows_of(const struct replicate *r, uint32_t bucket)
{
	for (size_t i = 0; i < r->cuts; i++)
		if (r->cut[i].bucket == bucket && r->cut[i].table)
			return &r->cut[i];
	return NULL;
}

struct dfg_err *dfg_replicate_buckets(struct replicate *r)
{
	uint32_t first = r->buckets;
	if (!r->cuts)
		return NULL;
	DFG_TRY(number_buckets(r));
	for (uint32_t bucket = first; bucket < r->buckets; bucket++) {
		struct reduction *rows = rows_of(r, bucket);
		DFG_TRY(rows ? dfg_replicate_make_rows(r, rows) : make_bucket(r, bucket));
	}
	r->cuts = 0;
	return NULL;
}
