#include "lib/pass/parallel/analysis_private.h"

#include "lib/graph/liveness.h"
#include "lib/graph/loop_step.h"

#include <string.h>

enum { DEPTH = 16 }; /* quotients and remainders of one another */

/* (counter // stride) % extent */
struct counted {
	struct dfg_radix stride, extent;
	bool has_extent;
};

static const struct dfg_radix one = {.constant = 1};

static const struct dfg_node *node_of(const struct dfg_loop_analysis *a, struct dfg_edge edge)
{
	return &a->graph->node[edge.node];
}

/* The variable of a loop that a Merge is, if it has the same value in all iterations; else NULL. */
static const struct dfg_loop_variable *unchanged(const struct dfg_loop_analysis *a, struct dfg_edge edge)
{
	uint32_t v = a->loops->variable[edge.node];
	if (edge.port || v == DFG_NONE || !dfg_edge_is_inside(a, edge))
		return NULL;
	const struct dfg_loop_variable *variable = &a->loops->loop[a->loops->of[edge.node]].variable[v];
	if (variable->enter == DFG_NONE || variable->next == DFG_NONE)
		return NULL;
	struct dfg_edge next = a->graph->node[variable->next].in[0];
	return dfg_comes_from_merge(a->graph, next, variable->merge) ? variable : NULL;
}

struct dfg_edge dfg_parallel_source(const struct dfg_loop_analysis *a, struct dfg_edge edge)
{
	for (;;) {
		edge = dfg_live_source(a->graph, edge);
		const struct dfg_loop_variable *variable = unchanged(a, edge);
		if (!variable)
			return edge;
		edge = a->graph->node[variable->enter].in[0];
	}
}

void dfg_counter_find(struct dfg_loop_analysis *a)
{
	const struct dfg_loop *loop = &a->loops->loop[a->l];
	a->counter = DFG_NONE;
	for (uint32_t i = 0; i < loop->n_variable; i++) {
		const struct dfg_loop_variable *v = &loop->variable[i];
		if (v->enter == DFG_NONE || v->next == DFG_NONE || dfg_loop_step(a->graph, a->facts, v) != 1)
			continue;
		bool from_zero = dfg_scalar_is(a->facts, a->graph->node[v->enter].in[0], 0);
		if (a->counter == DFG_NONE || (from_zero && !a->counts_from_zero)) {
			a->counter = v->merge;
			a->counts_from_zero = from_zero;
		}
	}
}

/* Whether the tensor is the counter, or another one that begins at the same number. */
static bool is_counter(const struct dfg_loop_analysis *a, struct dfg_edge edge)
{
	const struct dfg_loop *loop = &a->loops->loop[a->l];
	uint32_t v = a->loops->of[edge.node] == a->l ? a->loops->variable[edge.node] : DFG_NONE;
	if (edge.port || v == DFG_NONE || edge.node == a->counter || a->counter == DFG_NONE)
		return !edge.port && edge.node == a->counter;
	const struct dfg_loop_variable *x = &loop->variable[v], *y = &loop->variable[a->loops->variable[a->counter]];
	if (x->enter == DFG_NONE || x->next == DFG_NONE || dfg_loop_step(a->graph, a->facts, x) != 1)
		return false;
	const struct dfg_known_value *from = dfg_facts_of(a->facts, a->graph->node[y->enter].in[0])->known;
	return from && from->rank == 0 && from->v[0] != DFG_NOT_KNOWN &&
		   dfg_scalar_is(a->facts, a->graph->node[x->enter].in[0], from->v[0]);
}

static bool radix_times(struct dfg_radix *r, const struct dfg_radix *by)
{
	if (__builtin_mul_overflow(r->constant, by->constant, &r->constant) ||
		r->n_factor + by->n_factor > DFG_RADIX_FACTORS)
		return false;
	for (uint32_t i = 0; i < by->n_factor; i++) {
		uint32_t at = r->n_factor++;
		for (; at && (r->factor[at - 1].node > by->factor[i].node ||
						 (r->factor[at - 1].node == by->factor[i].node && r->factor[at - 1].port > by->factor[i].port));
			 at--)
			r->factor[at] = r->factor[at - 1];
		r->factor[at] = by->factor[i];
	}
	return true;
}

/* *out_quotient * by = r; false if r is not a multiple for all values of the factors. */
static bool radix_quotient(const struct dfg_radix *r, const struct dfg_radix *by, struct dfg_radix *out_quotient)
{
	uint32_t taken = 0;
	*out_quotient = (struct dfg_radix){.constant = r->constant / by->constant};
	for (uint32_t i = 0; i < r->n_factor; i++)
		if (taken < by->n_factor && dfg_edge_same(r->factor[i], by->factor[taken]))
			taken++;
		else
			out_quotient->factor[out_quotient->n_factor++] = r->factor[i];
	return taken == by->n_factor && r->constant % by->constant == 0;
}

static bool radix_equal(const struct dfg_radix *r, const struct dfg_radix *s)
{
	return r->constant == s->constant && r->n_factor == s->n_factor &&
		   !memcmp(r->factor, s->factor, r->n_factor * sizeof *r->factor);
}

/* An element of a shape, or a maximum with a number that is not negative: a divisor that is one is positive. */
static bool is_never_negative(const struct dfg_loop_analysis *a, struct dfg_edge edge)
{
	const struct dfg_node *node = node_of(a, edge);
	for (uint32_t i = 0; dfg_node_means(node, DFG_MEANS_MAXIMUM) && i < 2; i++) {
		const struct dfg_known_value *known = dfg_facts_of(a->facts, node->in[i])->known;
		if (known && known->rank == 0 && known->v[0] >= 0)
			return true;
	}
	if (!dfg_node_means(node, DFG_MEANS_SLICE) && !dfg_node_means(node, DFG_MEANS_ELEMENT))
		return false;
	return dfg_node_means(node_of(a, dfg_parallel_source(a, node->in[0])), DFG_MEANS_OF_SHAPE);
}

/* A conversion between integer types that keeps counts: one to 8 or 16 bits may give two iterations the same number. */
static bool keeps_counts(const struct dfg_loop_analysis *a, struct dfg_edge edge)
{
	const struct dfg_node *node = node_of(a, edge);
	enum dfg_dtype to = dfg_facts_of(a->facts, edge)->dtype;
	return dfg_node_means(node, DFG_MEANS_CAST) && dfg_dtype_is(to, "int") && dfg_dtype_size(to) >= sizeof(int32_t) &&
		   dfg_dtype_is(dfg_facts_of(a->facts, node->in[0])->dtype, "int");
}

static bool read_radix(const struct dfg_loop_analysis *a, struct dfg_edge edge, int depth, struct dfg_radix *out_radix)
{
	struct dfg_radix right;
	edge = dfg_parallel_source(a, edge);
	const struct dfg_known_value *known = dfg_facts_of(a->facts, edge)->known;
	const struct dfg_node *node = node_of(a, edge);
	if (known && known->rank == 0 && known->v[0] != DFG_NOT_KNOWN) {
		*out_radix = (struct dfg_radix){.constant = known->v[0]};
		return known->v[0] > 0;
	}
	if (depth && keeps_counts(a, edge))
		return read_radix(a, node->in[0], depth - 1, out_radix);
	if (depth && dfg_node_means(node, DFG_MEANS_PRODUCT))
		return read_radix(a, node->in[0], depth / 2, out_radix) && read_radix(a, node->in[1], depth / 2, &right) &&
			   radix_times(out_radix, &right);
	*out_radix = (struct dfg_radix){.constant = 1, .factor = {edge}, .n_factor = 1};
	return !dfg_edge_is_inside(a, edge) && is_never_negative(a, edge);
}

/* x // by, and x % by, of a counted x. */
static bool divide(struct counted *x, const struct dfg_radix *by)
{
	struct dfg_radix extent = x->extent;
	return (!x->has_extent || radix_quotient(&extent, by, &x->extent)) && radix_times(&x->stride, by);
}

static bool take_remainder(struct counted *x, const struct dfg_radix *by)
{
	struct dfg_radix quotient;
	if (x->has_extent && !radix_quotient(&x->extent, by, &quotient))
		return false;
	x->extent = *by;
	x->has_extent = true;
	return true;
}

static bool read_counted(const struct dfg_loop_analysis *a, struct dfg_edge edge, int depth, struct counted *out)
{
	struct dfg_radix by;
	edge = dfg_parallel_source(a, edge);
	const struct dfg_node *node = node_of(a, edge);
	*out = (struct counted){.stride = one};
	if (is_counter(a, edge))
		return true;
	if (!depth || !dfg_edge_is_inside(a, edge))
		return false;
	if (keeps_counts(a, edge))
		return read_counted(a, node->in[0], depth - 1, out);
	bool divides = dfg_node_means(node, DFG_MEANS_QUOTIENT) || dfg_node_means(node, DFG_MEANS_FLOOR_QUOTIENT);
	if (!divides && !dfg_node_means(node, DFG_MEANS_REMAINDER) && !dfg_node_means(node, DFG_MEANS_FLOOR_REMAINDER))
		return false;
	return a->counts_from_zero && read_counted(a, node->in[0], depth - 1, out) &&
		   read_radix(a, node->in[1], DEPTH, &by) && (divides ? divide(out, &by) : take_remainder(out, &by));
}

/* Where the radix is, or belongs, among the cuts; DFG_NONE if it is neither a divisor nor a multiple of one of them. */
static uint32_t place_of(const struct dfg_loop_analysis *a, const struct dfg_radix *radix)
{
	struct dfg_radix quotient;
	uint32_t at = 0;
	while (at < a->n_cut && !radix_equal(&a->cut[at], radix) && radix_quotient(radix, &a->cut[at], &quotient))
		at++;
	for (uint32_t i = at; i < a->n_cut; i++)
		if (!radix_quotient(&a->cut[i], radix, &quotient))
			return DFG_NONE;
	return at;
}

static bool add_cut(struct dfg_loop_analysis *a, const struct dfg_radix *radix)
{
	uint32_t at = place_of(a, radix);
	if (at == DFG_NONE || (at == a->n_cut && a->n_cut == DFG_CUTS_MOST))
		return false;
	if (at < a->n_cut && radix_equal(&a->cut[at], radix))
		return true;
	if (a->n_cut == DFG_CUTS_MOST)
		return false;
	memmove(&a->cut[at + 1], &a->cut[at], (a->n_cut - at) * sizeof *a->cut);
	a->cut[at] = *radix;
	a->n_cut++;
	return true;
}

static uint32_t find_cut(const struct dfg_loop_analysis *a, const struct dfg_radix *radix)
{
	for (uint32_t i = 0; i < a->n_cut; i++)
		if (radix_equal(&a->cut[i], radix))
			return i;
	return DFG_NONE;
}

bool dfg_counter_range(struct dfg_loop_analysis *a, struct dfg_edge edge, uint32_t *out_first, uint32_t *out_last)
{
	struct counted x;
	if (!read_counted(a, edge, DEPTH, &x))
		return false;
	struct dfg_radix end = x.stride;
	if (x.has_extent && !radix_times(&end, &x.extent))
		return false;
	if (a->is_collecting) {
		add_cut(a, &x.stride);
		if (x.has_extent)
			add_cut(a, &end);
	}
	uint32_t low = find_cut(a, &x.stride), high = x.has_extent ? find_cut(a, &end) : a->n_cut;
	if (low == DFG_NONE || high == DFG_NONE)
		return false;
	*out_first = a->n_cut - high; /* the last counter is the fastest */
	*out_last = a->n_cut - low;
	return low < high;
}
