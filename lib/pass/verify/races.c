/* races. Needs: a graph without faults. Gives: warnings of accesses to variables that nothing orders. */
#include "lib/pass/verify/races.h"

#include "lib/base/mem.h"
#include "lib/pass/verify/aliases.h"

#include <stdlib.h>
#include <string.h>

enum {
	BATCH = 64, /* accesses whose descendants are found in one pass: bits of a mask */
	PAIRS_MOST = 1 << 18,
	PASSES_MOST = 256,      /* over the whole graph */
	SEVERAL = DFG_NONE - 1, /* in place of a sink: more than one is reached */
};

struct access {
	uint32_t node, variable;
	uint32_t at; /* position in the order */
	bool writes;
};

struct pair {
	uint32_t a, b; /* accesses; a is first in the order */
	uint32_t sink; /* the only sink that needs one of them, or SEVERAL */
	bool ordered, together;
};

struct races {
	const struct dfg_graph *graph;
	const uint32_t *order;
	const struct dfg_facts *facts;
	const struct dfg_loops *loops;
	struct dfg_predicates *predicates;
	const uint32_t *runs;
	struct dfg_arena *scratch;
	struct dfg_faults *warnings;
	struct dfg_aliases aliases;
	uint32_t *sink;        /* by node: the node without consumers that needs it; SEVERAL; DFG_NONE: not found yet */
	uint64_t *mask;        /* by node: the accesses of the batch that precede it */
	struct access *access; /* by variable, then in the order */
	size_t n_access, access_capacity;
	struct pair *pair; /* in doubt */
	size_t n_pair, pair_capacity;
	uint32_t *cone;   /* by node: the last sink found to need it, + 1 */
	uint32_t *stack;  /* of nodes */
	uint32_t outputs; /* in place of a sink: the declared outputs, which one run fetches */
	bool incomplete;
};

static const struct dfg_node *node_at(const struct races *r, uint32_t i, uint32_t *out_n)
{
	*out_n = r->order ? r->order[i] : i;
	return &r->graph->node[*out_n];
}

/* Accesses. */

static struct dfg_err *add_access(struct races *r, uint32_t n, uint32_t at, uint32_t variable, bool writes)
{
	for (size_t i = r->n_access; i-- && r->access[i].node == n;)
		if (r->access[i].variable == variable) {
			r->access[i].writes |= writes;
			return NULL;
		}
	if (!dfg_reserve(&r->access, &r->access_capacity, r->n_access + 1, sizeof *r->access))
		return dfg_no_memory("accesses to variables");
	r->access[r->n_access++] = (struct access){n, variable, at, writes};
	return NULL;
}

/* The op's flags say how it uses a handle or a ref; where a value is required, a ref is read. */
static struct dfg_err *find_accesses(struct races *r, uint32_t n, uint32_t at)
{
	const struct dfg_node *node = &r->graph->node[n];
	unsigned flags = node->op ? node->op->flags & (DFG_READS | DFG_WRITES) : 0;
	for (uint32_t e = 0; e < node->n_in; e++) {
		uint32_t variable = dfg_alias_of(&r->aliases, node->in[e]);
		if (!variable)
			continue;
		bool is_value = dfg_facts_of(r->facts, node->in[e])->is_ref && !dfg_node_takes_ref(node, e);
		if (is_value || flags)
			DFG_TRY(add_access(r, n, at, variable, !is_value && (flags & DFG_WRITES)));
	}
	return NULL;
}

static struct dfg_err *collect(struct races *r)
{
	DFG_TRY(dfg_aliases_find(r->graph, r->order, r->facts, r->scratch, &r->aliases));
	for (uint32_t i = 0; i < r->graph->count; i++)
		DFG_TRY(find_accesses(r, r->order ? r->order[i] : i, i));
	return NULL;
}

static int by_variable(const void *a, const void *b)
{
	const struct access *x = a, *y = b;
	if (x->variable != y->variable)
		return x->variable < y->variable ? -1 : 1;
	return x->at < y->at ? -1 : x->at > y->at;
}

/* Sinks: two accesses that no sink needs together are not in one run. */

static bool add_sink(uint32_t *sink, uint32_t other)
{
	uint32_t now = *sink == DFG_NONE ? other : *sink == other || other == DFG_NONE ? *sink : SEVERAL;
	bool changed = now != *sink;
	*sink = now;
	return changed;
}

/* From consumers to inputs; once more where an edge that closes a loop brought something new. */
static void find_sinks(struct races *r)
{
	bool again = true;
	while (again) {
		again = false;
		for (uint32_t i = r->graph->count; i--;) {
			uint32_t n;
			const struct dfg_node *node = node_at(r, i, &n);
			if (dfg_node_mark(node, "_dfg_output", NULL))
				add_sink(&r->sink[n], r->outputs);
			if (r->sink[n] == DFG_NONE && dfg_node_role(node) != DFG_NEXT_ITERATION)
				r->sink[n] = n;
			for (uint32_t e = 0; e < node->n_in + node->n_control; e++)
				if (add_sink(&r->sink[node->in[e].node], r->sink[n]) && dfg_edge_closes(r->graph, node, node->in[e]))
					again = true;
		}
	}
}

/* Pairs. */

static bool is_input(const struct races *r, uint32_t a, uint32_t b)
{
	const struct dfg_node *node = &r->graph->node[b];
	for (uint32_t e = 0; e < node->n_in + node->n_control; e++)
		if (node->in[e].node == a)
			return true;
	return false;
}

static bool can_both_run(struct races *r, uint32_t a, uint32_t b)
{
	if (!r->runs)
		return true;
	uint32_t both = dfg_bdd_and(&r->predicates->logic, r->runs[a], r->runs[b]);
	return both != DFG_NEVER && both != DFG_LOST;
}

static bool is_in_doubt(struct races *r, const struct access *a, const struct access *b)
{
	uint32_t x = r->sink[a->node], y = r->sink[b->node];
	if ((!a->writes && !b->writes) || (x != y && x != SEVERAL && y != SEVERAL))
		return false;
	return !is_input(r, a->node, b->node) && !is_input(r, b->node, a->node) && can_both_run(r, a->node, b->node);
}

/* A write that always follows an earlier access is the one to compare with from there on. */
static bool replaces(const struct races *r, const struct access *b, const struct access *a)
{
	bool covers = !r->runs || r->runs[b->node] == r->runs[a->node];
	return b->writes && covers && is_input(r, a->node, b->node);
}

static struct pair new_pair(const struct races *r, uint32_t a, uint32_t b)
{
	uint32_t x = r->sink[r->access[a].node], y = r->sink[r->access[b].node];
	return (struct pair){.a = a, .b = b, .sink = x != SEVERAL ? x : y, .together = x == y && x != SEVERAL};
}

static struct dfg_err *add_pairs(struct races *r, size_t first, size_t end)
{
	size_t *open = dfg_arena_zeros(r->scratch, end - first, sizeof *open), n_open = 0;
	if (!open)
		return dfg_no_memory("accesses to variables");
	for (size_t b = first; b < end; b++) {
		size_t kept = 0;
		for (size_t i = 0; i < n_open; i++) {
			if (is_in_doubt(r, &r->access[open[i]], &r->access[b])) {
				if (!dfg_reserve(&r->pair, &r->pair_capacity, r->n_pair + 1, sizeof *r->pair))
					return dfg_no_memory("accesses to variables");
				r->pair[r->n_pair++] = new_pair(r, (uint32_t)open[i], (uint32_t)b);
			}
			if (r->n_pair >= PAIRS_MOST) {
				r->incomplete = true;
				return NULL;
			}
			if (!replaces(r, &r->access[b], &r->access[open[i]]))
				open[kept++] = open[i];
		}
		open[kept++] = b;
		n_open = kept;
	}
	return NULL;
}

/* Marks all that a sink needs. */
static void mark_cone(struct races *r, uint32_t sink)
{
	uint32_t depth = 0, mark = sink + 1;
	for (uint32_t n = sink == r->outputs ? 0 : sink; n < (sink == r->outputs ? r->graph->count : sink + 1); n++)
		if (n == sink || dfg_node_mark(&r->graph->node[n], "_dfg_output", NULL))
			r->cone[n] = mark, r->stack[depth++] = n;
	while (depth) {
		const struct dfg_node *node = &r->graph->node[r->stack[--depth]];
		for (uint32_t e = 0; e < node->n_in + node->n_control; e++)
			if (r->cone[node->in[e].node] != mark) {
				r->cone[node->in[e].node] = mark;
				r->stack[depth++] = node->in[e].node;
			}
	}
}

static int by_sink(const void *a, const void *b)
{
	const struct pair *x = a, *y = b;
	if (x->sink != y->sink)
		return x->sink < y->sink ? -1 : 1;
	return x->a != y->a ? (x->a < y->a ? -1 : 1) : x->b < y->b ? -1 : x->b > y->b;
}

/* Drops the pairs of which one has a single sink that does not need the other, as an initialiser and all else. */
static void drop_apart(struct races *r)
{
	size_t kept = 0;
	int cones = 0;
	uint32_t last = SEVERAL;
	if (!r->n_pair)
		return;
	qsort(r->pair, r->n_pair, sizeof *r->pair, by_sink);
	for (size_t i = 0; i < r->n_pair; i++) {
		struct pair pair = r->pair[i];
		if (pair.sink != SEVERAL && !pair.together) {
			if (pair.sink != last && cones++ < PASSES_MOST)
				mark_cone(r, last = pair.sink);
			pair.together =
				r->cone[r->access[pair.a].node] == pair.sink + 1 && r->cone[r->access[pair.b].node] == pair.sink + 1;
			if (!pair.together && pair.sink == last)
				continue;
		}
		r->pair[kept++] = pair;
	}
	r->n_pair = kept;
}

static struct dfg_err *find_pairs(struct races *r)
{
	for (size_t first = 0, end; first < r->n_access && !r->incomplete; first = end) {
		bool writes = false;
		for (end = first; end < r->n_access && r->access[end].variable == r->access[first].variable; end++)
			writes |= r->access[end].writes;
		if (writes && end - first > 1)
			DFG_TRY(add_pairs(r, first, end));
	}
	return NULL;
}

/* Order: descendants of up to 64 accesses at a time. */

static bool flow(struct races *r, bool closes)
{
	bool changed = false;
	for (uint32_t i = 0; i < r->graph->count; i++) {
		uint32_t n;
		const struct dfg_node *node = node_at(r, i, &n);
		uint64_t mask = r->mask[n];
		for (uint32_t e = 0; e < node->n_in + node->n_control; e++)
			if (closes || !dfg_edge_closes(r->graph, node, node->in[e]))
				mask |= r->mask[node->in[e].node];
		changed |= mask != r->mask[n];
		r->mask[n] = mask;
	}
	return changed;
}

static bool follows(const struct races *r, uint32_t a, uint32_t b, const uint32_t *source, int count)
{
	for (int i = 0; i < count; i++)
		if (source[i] == r->access[a].node)
			return r->mask[r->access[b].node] >> i & 1;
	return false;
}

static uint32_t loop_of(const struct races *r, uint32_t access)
{
	return r->loops ? dfg_loop_home(r->graph, r->loops, r->access[access].node) : 0;
}

static uint64_t bits_of(const struct races *r, const struct pair *pair, const uint32_t *source, int count)
{
	uint64_t bits = 0;
	for (int i = 0; i < count; i++)
		if (source[i] == r->access[pair->a].node || source[i] == r->access[pair->b].node)
			bits |= UINT64_C(1) << i;
	return bits;
}

/* One run executes both if a sink follows both, or some output the one and some output the other. */
static void find_together(struct races *r, size_t first, size_t end, const uint32_t *source, int count)
{
	uint64_t outputs = 0, seen = 0;
	for (uint32_t n = 0; n <= r->graph->count; n++) {
		uint64_t mask = n == r->graph->count ? outputs : r->mask[n];
		if (n < r->graph->count && mask && dfg_node_mark(&r->graph->node[n], "_dfg_output", NULL))
			outputs |= mask;
		if (mask == seen || !(mask & (mask - 1)) || (n < r->graph->count && r->sink[n] != n))
			continue;
		seen = mask;
		for (size_t p = first; p < end; p++) {
			uint64_t bits = bits_of(r, &r->pair[p], source, count);
			r->pair[p].together |= (mask & bits) == bits;
		}
	}
}

static void settle(struct races *r, size_t first, size_t end, const uint32_t *source, int count)
{
	memset(r->mask, 0, r->graph->count * sizeof *r->mask);
	for (int i = 0; i < count; i++)
		r->mask[source[i]] |= UINT64_C(1) << i;
	flow(r, false);
	for (size_t p = first; p < end; p++)
		r->pair[p].ordered = follows(r, r->pair[p].a, r->pair[p].b, source, count);
	while (r->loops && r->loops->count > 1 && flow(r, true))
		continue;
	for (size_t p = first; p < end; p++) {
		struct pair *pair = &r->pair[p];
		if (loop_of(r, pair->a) != loop_of(r, pair->b))
			pair->ordered |= follows(r, pair->a, pair->b, source, count) || follows(r, pair->b, pair->a, source, count);
	}
	find_together(r, first, end, source, count);
}

static void add_source(const struct races *r, uint32_t access, uint32_t *source, int *count)
{
	for (int i = 0; i < *count; i++)
		if (source[i] == r->access[access].node)
			return;
	source[(*count)++] = r->access[access].node;
}

/* Warnings. */

static void tell(struct races *r, const struct pair *pair)
{
	const struct access *a = &r->access[pair->a], *b = &r->access[pair->b];
	const struct dfg_node *x = &r->graph->node[a->node], *y = &r->graph->node[b->node];
	const char *name = dfg_alias_name(&r->aliases, a->variable - 1);
	dfg_fault(r->warnings, DFG_ERR(DFG_DATA,
							   "node '%.200s' (%.100s) %s variable '%.200s' and node '%.200s' (%.100s) %s it, and no "
							   "path orders them: the "
							   "result may differ from run to run; give '%.200s' the control input '^%.200s'",
							   x->name, x->op_name, a->writes ? "writes" : "reads", name, y->name, y->op_name,
							   b->writes ? "writes" : "reads", y->name, x->name));
}

static void look_at_pairs(struct races *r)
{
	size_t first = 0;
	for (int pass = 0; first < r->n_pair && r->warnings->left > 0; pass++) {
		uint32_t source[BATCH];
		int count = 0;
		size_t end = first;
		for (; end < r->n_pair && count + 2 <= BATCH; end++) {
			add_source(r, r->pair[end].a, source, &count);
			add_source(r, r->pair[end].b, source, &count);
		}
		if (pass >= PASSES_MOST) {
			r->incomplete = true;
			return;
		}
		settle(r, first, end, source, count);
		for (; first < end; first++)
			if (!r->pair[first].ordered && r->pair[first].together)
				tell(r, &r->pair[first]);
	}
}

static struct dfg_err *check(struct races *r)
{
	DFG_TRY(collect(r));
	if (!r->n_access)
		return NULL;
	qsort(r->access, r->n_access, sizeof *r->access, by_variable);
	find_sinks(r);
	DFG_TRY(find_pairs(r));
	drop_apart(r);
	look_at_pairs(r);
	if (r->incomplete)
		dfg_fault(r->warnings,
			DFG_ERR(DFG_DATA, "there are too many accesses to variables to compare them all: there may be more races"));
	return NULL;
}

/* A state, and no order that depends on other devices. */
static bool is_concerned(const struct dfg_graph *graph)
{
	bool any = false;
	for (uint32_t n = 0; n < graph->count; n++) {
		enum dfg_role role = dfg_node_role(&graph->node[n]);
		if (role == DFG_RECV)
			return false;
		any |= role == DFG_VARIABLE;
	}
	return any;
}

struct dfg_err *dfg_races_check(const struct dfg_graph *graph, const uint32_t *order, const struct dfg_facts *facts,
	const struct dfg_loops *loops, struct dfg_predicates *predicates, const uint32_t *runs, struct dfg_arena *scratch,
	struct dfg_faults *warnings)
{
	if (!warnings || !is_concerned(graph))
		return NULL;
	struct races r = {
		.graph = graph,
		.order = order,
		.facts = facts,
		.loops = loops,
		.predicates = predicates,
		.runs = runs,
		.scratch = scratch,
		.warnings = warnings,
		.sink = dfg_arena_zeros(scratch, graph->count, sizeof *r.sink),
		.mask = dfg_arena_zeros(scratch, graph->count, sizeof *r.mask),
		.cone = dfg_arena_zeros(scratch, graph->count, sizeof *r.cone),
		.stack = dfg_arena_zeros(scratch, graph->count, sizeof *r.stack),
		.outputs = graph->count,
	};
	if (!r.sink || !r.mask || !r.cone || !r.stack)
		return dfg_no_memory("accesses to variables");
	memset(r.sink, 0xff, graph->count * sizeof *r.sink);
	struct dfg_err *err = check(&r);
	dfg_aliases_release(&r.aliases);
	dfg_free(r.access);
	dfg_free(r.pair);
	return err;
}
