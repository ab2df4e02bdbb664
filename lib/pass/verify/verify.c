/* verify. Requires: edges that name nodes. Result: every fault, up to `most`, and the facts. O(nodes + edges). */
#include "lib/pass/verify/verify.h"

#include "lib/base/plural.h"
#include "lib/graph/cycle.h"
#include "lib/pass/verify/liveness.h"
#include "lib/pass/verify/frames.h"
#include "lib/pass/verify/array_flow.h"
#include "lib/pass/verify/races.h"
#include "lib/pass/verify/unneeded.h"
#include "lib/pass/verify/weights.h"

#include <stdio.h>
#include <string.h>

enum {
	FAULTS_MOST = 20,
	CONSUMER = 2474, /* the version of the GraphDef format that is supported */
	NAME_MOST = 4096,
	AHEAD = 4,    /* number of nodes between prefetching facts and using them */
	BATCH = 1024, /* number of nodes after which their scratch memory is released */
};

struct verify {
	const struct dfg_graph *graph;
	bool unknown_ops, joined;
	struct dfg_graph *marked;
	bool flows; /* some node belongs to a loop, a branch or a TensorArray */
	struct dfg_faults *warnings;
	const bool *unneeded; /* by node: an unknown op is not a fault there; NULL: nowhere */
	struct dfg_facts *facts;
	struct dfg_arena scratch; /* lives as long as the check */
	struct dfg_arena brief;   /* lives for one node or a batch of nodes */
	struct dfg_faults faults;
	const struct dfg_inferred **in; /* inputs of the current node */
	size_t in_capacity;
};

static void check_versions(struct verify *v)
{
	const struct dfg_graph *graph = v->graph;
	if (!graph->count)
		dfg_fault(&v->faults, DFG_ERR(DFG_DATA, "graph has no nodes"));
	if (graph->min_consumer > CONSUMER)
		dfg_fault(&v->faults,
			DFG_ERR(DFG_DATA, "requires a reader of GraphDef version %d or later; this one supports version %d",
				graph->min_consumer, CONSUMER));
	for (uint32_t i = 0; i < graph->n_bad_consumer; i++)
		if (graph->bad_consumer[i] == CONSUMER)
			dfg_fault(&v->faults, DFG_ERR(DFG_DATA, "the file excludes readers of GraphDef version %d", CONSUMER));
}

/*
 * Letters, digits and '.', and after the first character also '_', '-', '/' and '>'. A leading '_' marks nodes made by
 * a runtime.
 */
static bool is_name_char(unsigned char c, bool first)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' || c == '_' ||
		   (!first && (c == '-' || c == '/' || c == '>' || c == '\\'));
}

static struct dfg_err *check_name(const struct dfg_node *node, uint32_t n)
{
	size_t length = 0;
	while (is_name_char((unsigned char)node->name[length], !length))
		length++;
	if (!node->name[length] && length && length <= NAME_MOST)
		return NULL;
	if (!*node->name)
		return DFG_ERR(DFG_DATA, "node number %u (%.100s) has no name", n, node->op_name);
	if (length > NAME_MOST)
		return DFG_ERR(DFG_DATA, "node '%.100s...': name is longer than %d bytes", node->name, NAME_MOST);
	struct dfg_text text = {0};
	dfg_text_escape(&text, node->name, strlen(node->name), 128);
	struct dfg_err *err = dfg_text_check(&text);
	if (!err)
		err = DFG_ERR(DFG_DATA,
			"node '%s': a name may contain only letters, digits and '_./->' and must begin with a letter, digit or '.'",
			text.s);
	dfg_text_release(&text);
	return err;
}

static struct dfg_err *count_outputs(const struct dfg_node *node, uint32_t *out_count)
{
	const struct dfg_signature *signature;
	*out_count = 0;
	if (!node->op)
		return NULL;
	DFG_TRY(dfg_op_signature(node->op, &signature));
	for (int p = 0; p < signature->n_out; p++)
		*out_count += dfg_node_port_width(node, signature, &signature->out[p]);
	return NULL;
}

/* Assigns each node the index of its first fact, and allocates all facts. */
static struct dfg_err *lay_out(struct verify *v)
{
	const struct dfg_graph *graph = v->graph;
	struct dfg_facts *facts = v->facts;
	if (!dfg_reserve(&facts->first, &facts->nodes_capacity, (size_t)graph->count + 1, sizeof *facts->first))
		return DFG_ERR(DFG_MEMORY, "no memory for the types of %u nodes", graph->count);
	uint64_t total = 0;
	for (uint32_t n = 0; n < graph->count; n++) {
		uint32_t count;
		DFG_TRY(count_outputs(&graph->node[n], &count));
		facts->first[n] = (uint32_t)total;
		total += count;
		if (total > UINT32_MAX)
			return DFG_ERR(DFG_DATA, "the graph has more than 2^32 tensors, the limit");
	}
	facts->first[graph->count] = (uint32_t)total;
	facts->nodes = graph->count;
	if (!dfg_reserve(&facts->fact, &facts->capacity, (size_t)total, sizeof(void *)))
		return DFG_ERR(DFG_MEMORY, "no memory for the types of %llu tensors", (unsigned long long)total);
	facts->count = (size_t)total;
	return NULL;
}

/* The type and shape of input i; NULL if the edge closes a loop or if its producer is unknown or faulty. */
static struct dfg_err *input_fact(
	const struct verify *v, const struct dfg_node *node, uint32_t i, const struct dfg_inferred **out_fact)
{
	const struct dfg_node *from = &v->graph->node[node->in[i].node];
	uint32_t port = (uint32_t)node->in[i].port, outputs = dfg_facts_outputs(v->facts, node->in[i].node);
	*out_fact = NULL;
	if (port >= outputs && from->op)
		return DFG_ERR(DFG_DATA,
			"node '%.200s' (%.100s): input %u is '%.200s:%u', but '%.200s' (%.100s) has %u output%s", node->name,
			node->op_name, i, from->name, port, from->name, from->op_name, outputs, dfg_plural(outputs));
	if (port < outputs)
		*out_fact = v->facts->fact[v->facts->first[node->in[i].node] + port];
	return NULL;
}

static struct dfg_err *input_facts(struct verify *v, const struct dfg_node *node)
{
	if (!dfg_reserve(&v->in, &v->in_capacity, (size_t)node->n_in + 1, sizeof *v->in))
		return DFG_ERR(DFG_MEMORY, "no memory for %u inputs", node->n_in);
	for (uint32_t i = 0; i < node->n_in; i++)
		DFG_TRY(input_fact(v, node, i, &v->in[i]));
	return NULL;
}

static struct dfg_err *check_call(struct verify *v, uint32_t n, struct dfg_resolved_node *call)
{
	if (!v->graph->node[n].op && (!v->unknown_ops || (v->unneeded && v->unneeded[n])))
		return NULL;
	if (n % BATCH == 0)
		dfg_arena_release(&v->brief);
	return dfg_facts_resolve(v->facts, v->graph, n, &v->brief, call);
}

/* All inputs of the node have been checked before. */
static struct dfg_err *check_node(struct verify *v, uint32_t n)
{
	const struct dfg_node *node = &v->graph->node[n];
	struct dfg_resolved_node call;
	if (node->op &&
		(dfg_role_is_flow_or_saved(node->op->role) || ((node->op->flags & DFG_STATEFUL) && dfg_has_flow(node))))
		v->flows = true;
	DFG_TRY(check_name(node, n));
	DFG_TRY(check_call(v, n, &call));
	DFG_TRY(input_facts(v, node));
	return node->op ? dfg_facts_infer(v->facts, &call, v->in, &v->facts->fact[v->facts->first[n]]) : NULL;
}

static void forget(struct verify *v, uint32_t n)
{
	for (uint32_t i = v->facts->first[n]; i < v->facts->first[n + 1]; i++)
		v->facts->fact[i] = &dfg_fact_nothing;
}

/* Prefetches the facts that the check of node n will read: a distant input costs one or two cache misses. */
static void prefetch_facts(const struct verify *v, uint32_t n)
{
	const struct dfg_node *node = &v->graph->node[n];
	for (uint32_t i = 0; i < node->n_in; i++) {
		__builtin_prefetch(&v->facts->fact[v->facts->first[node->in[i].node]]);
	}
}

static void check_nodes(struct verify *v, const uint32_t *order, uint32_t count)
{
	for (uint32_t i = 0; i < count && v->faults.left > 0; i++) {
		uint32_t n = order ? order[i] : i;
		if (i + AHEAD < count)
			prefetch_facts(v, order ? order[i + AHEAD] : i + AHEAD);
		forget(v, n);
		struct dfg_err *err = check_node(v, n);
		if (err)
			forget(v, n);
		dfg_fault(&v->faults, err);
	}
}

/* Nodes on or after a cycle have no facts; their own declarations are checked all the same. */
static struct dfg_err *check_after_cycle(struct verify *v, const uint32_t *order, uint32_t count)
{
	struct dfg_text words = {0};
	struct dfg_err *err = dfg_cycle_words(v->graph, order, count, &v->scratch, &words);
	if (!err)
		err = DFG_ERR(DFG_DATA, "cycle of nodes (only an edge from NextIteration to Merge may close one): %s", words.s);
	dfg_text_release(&words);
	dfg_fault(&v->faults, err);
	bool *placed = dfg_arena_zeros(&v->scratch, v->graph->count, sizeof *placed);
	if (!placed)
		return DFG_ERR(DFG_MEMORY, "no memory to check %u nodes", v->graph->count);
	for (uint32_t i = 0; i < count; i++)
		placed[order[i]] = true;
	for (uint32_t n = 0; n < v->graph->count && v->faults.left > 0; n++)
		if (!placed[n]) {
			struct dfg_resolved_node call;
			forget(v, n);
			dfg_fault(&v->faults, check_call(v, n, &call));
		}
	return NULL;
}

/* An edge that closes a loop is checked here, because its source comes after the Merge in topological order. */
static void check_back_edges(struct verify *v)
{
	const struct dfg_graph *graph = v->graph;
	for (uint32_t n = 0; n < graph->count && v->faults.left > 0; n++) {
		const struct dfg_node *node = &graph->node[n];
		if (!node->op || node->op->role != DFG_MERGE || !dfg_facts_outputs(v->facts, n))
			continue;
		enum dfg_dtype dtype = v->facts->fact[v->facts->first[n]]->dtype;
		for (uint32_t i = 0; i < node->n_in; i++) {
			const struct dfg_inferred *fact = NULL;
			dfg_fault(&v->faults, input_fact(v, node, i, &fact));
			if (fact && fact->dtype && dtype && fact->dtype != dtype)
				dfg_fault(&v->faults,
					DFG_ERR(DFG_DATA, "node '%.200s' (%s): input %u comes back from the loop as %s, expected %s",
						node->name, node->op_name, i, dfg_dtype_name(fact->dtype), dfg_dtype_name(dtype)));
		}
	}
}

static struct dfg_err *check_flow(struct verify *v, const uint32_t *order)
{
	struct dfg_loops loops;
	check_back_edges(v);
	long left = v->faults.left;
	DFG_TRY(dfg_loops_find(v->graph, order, &v->scratch, &loops));
	DFG_TRY(dfg_frames_check(v->graph, &loops, &v->scratch, &v->faults));
	if (v->faults.left < left)
		return NULL;
	return dfg_liveness_check(v->graph, v->marked, order, v->facts, &loops, &v->scratch, &v->faults, v->warnings);
}

/* One warning for all unneeded nodes: a Saver or summaries may consist of many. */
static void warn_unneeded(struct verify *v)
{
	const struct dfg_node *first = NULL;
	uint32_t more = 0;
	char others[60] = "";
	for (uint32_t n = 0; n < v->graph->count; n++)
		if (!v->graph->node[n].op && v->unneeded[n] && first)
			more++;
		else if (!v->graph->node[n].op && v->unneeded[n])
			first = &v->graph->node[n];
	if (more)
		snprintf(others, sizeof others, " or the other %u with unknown ops", more);
	if (first)
		dfg_fault(v->warnings, DFG_ERR(DFG_DATA, "node '%.200s': no op '%.100s', but no output needs this node%s",
								   first->name, first->op_name, others));
}

static struct dfg_err *find_unneeded(struct verify *v)
{
	bool any = false;
	for (uint32_t n = 0; n < v->graph->count; n++)
		any |= !v->graph->node[n].op;
	if (!any || !v->unknown_ops || !v->warnings)
		return NULL;
	DFG_TRY(dfg_unneeded_find(v->graph, &v->scratch, &v->unneeded));
	warn_unneeded(v);
	return NULL;
}

static struct dfg_err *check(struct verify *v)
{
	uint32_t *order, count;
	check_versions(v);
	DFG_TRY(find_unneeded(v));
	DFG_TRY(lay_out(v));
	DFG_TRY(dfg_pass_order(v->graph, &v->scratch, &order, &count));
	check_nodes(v, order, count);
	if (count < v->graph->count)
		return check_after_cycle(v, order, count);
	if (v->marked && !v->faults.err)
		DFG_TRY(dfg_weights_mark(v->marked, order, &v->scratch));
	if (v->joined || v->faults.left <= 0) /* the nodes after the last fault have no facts */
		return NULL;
	if (v->flows)
		return check_flow(v, order);
	return v->faults.err ? NULL
						 : dfg_races_check(v->graph, order, v->facts, NULL, NULL, NULL, &v->scratch, v->warnings);
}

struct dfg_err *dfg_verify(
	const struct dfg_graph *graph, const struct dfg_verify_options *options, struct dfg_facts *out_facts)
{
	struct dfg_facts own = {0};
	struct verify v = {
		.graph = graph,
		.unknown_ops = options && options->unknown_ops,
		.joined = options && options->joined,
		.warnings = options ? options->warnings : NULL,
		.marked = options ? options->marked : NULL,
		.facts = out_facts ? out_facts : &own,
		.faults.left = options && options->most > 0 ? options->most : FAULTS_MOST,
	};
	struct dfg_arena facts = {0};
	if (!v.facts->arena)
		v.facts->arena = out_facts ? graph->arena : &facts;

	struct dfg_err *err = check(&v);
	const bool broken = err != NULL; /* the check did not reach its end */
	dfg_fault(&v.faults, err);
	err = v.faults.err;
	if (err && out_facts && (broken || !options || !options->keep_facts))
		dfg_facts_release(out_facts);
	dfg_facts_release(&own);
	dfg_free(v.in);
	dfg_arena_release(&v.scratch);
	dfg_arena_release(&v.brief);
	dfg_arena_release(&facts);
	return err;
}
