/*
 * fold. Requires: a graph that verify accepts. Result: constants where the bits are the same everywhere. O(nodes +
 * edges).
 */
#include "lib/pass/rewrite/fold.h"

#include "lib/base/float_mode.h"
#include "lib/base/plural.h"
#include "lib/graph/kernel.h"
#include "lib/graph/cycle.h"
#include "lib/pass/rewrite/become.h"
#include "lib/pass/verify/verify.h"

#include <string.h>

enum {
	BYTES_MOST = 64 << 10,
	INPUTS_MOST = 64
}; /* limits of a result's bytes (unless the inputs have as many) and of inputs */

struct fold {
	struct dfg_graph *graph;
	struct dfg_arena *scratch;
	struct dfg_facts facts;
	bool *fed;
	bool branches; /* some node may be dead or run more than once */
	uint32_t folded;
};

/* The value of a constant without control inputs; one with control inputs may be dead or in a loop. */
static const struct dfg_literal *free_literal(const struct fold *f, struct dfg_edge edge)
{
	const struct dfg_node *node = &f->graph->node[edge.node];
	return node->n_control || f->fed[edge.node] ? NULL : dfg_constant_literal(node);
}

static bool has_branches(const struct dfg_graph *graph)
{
	for (uint32_t n = 0; n < graph->count; n++)
		if (graph->node[n].op && dfg_role_is_structural(graph->node[n].op->role))
			return true;
	return false;
}

static struct dfg_err *replace(struct fold *f, uint32_t n, const struct dfg_tensor *tensor)
{
	f->folded++;
	return dfg_become_constant(f->graph, n, tensor);
}

static bool may_fold(const struct fold *f, uint32_t n)
{
	const struct dfg_node *node = &f->graph->node[n];
	if (!node->op || node->op->role != DFG_PLAIN || node->n_control || f->fed[n] || !node->n_in ||
		dfg_facts_outputs(&f->facts, n) != 1 || !dfg_op_find("Const"))
		return false;
	enum dfg_dtype dtype = f->facts.fact[f->facts.first[n]]->dtype;
	return !(node->op->flags & (DFG_STATEFUL | DFG_BLOCKING)) && dfg_dtype_is(dtype, "plain");
}

/* Folds an integer tensor whose elements shape inference knows. */
static struct dfg_err *fold_known(struct fold *f, uint32_t n, bool *out_done)
{
	const struct dfg_inferred *fact = f->facts.fact[f->facts.first[n]];
	*out_done = false;
	if (!dfg_known_whole(fact->known) || f->branches)
		return NULL;
	struct dfg_tensor tensor;
	DFG_TRY(dfg_known_tensor(fact->known, fact->dtype, &tensor));
	struct dfg_err *err = replace(f, n, &tensor);
	dfg_tensor_release(&tensor);
	*out_done = true;
	return err;
}

/* Whether the result is known to be small: no larger than the inputs or than BYTES_MOST. */
static bool is_small(const struct fold *f, uint32_t n, const struct dfg_tensor *in, uint32_t n_in)
{
	const struct dfg_inferred *fact = f->facts.fact[f->facts.first[n]];
	size_t bytes, most = BYTES_MOST;
	if (!dfg_shape_known(&fact->shape))
		return false;
	for (uint32_t i = 0; i < n_in; i++)
		most += dfg_tensor_bytes(&in[i]);
	struct dfg_err *err = dfg_shape_bytes(&fact->shape, fact->dtype, &bytes);
	bool small = !err && bytes <= most;
	dfg_err_free(err);
	return small;
}

static struct dfg_err *evaluate_in(enum dfg_denormals denormals, const struct dfg_resolved_node *call,
	const struct dfg_tensor *const *inputs, struct dfg_tensor *out)
{
	uint64_t mode = dfg_float_mode_set(denormals);
	struct dfg_err *err = dfg_eval(call, inputs, SIZE_MAX, out);
	dfg_float_mode_restore(mode);
	return err;
}

/* The result, if a run that flushes denormals and one that keeps them agree on it; else *out_same is false. */
static struct dfg_err *evaluate_both(const struct dfg_resolved_node *call, const struct dfg_tensor *const *inputs,
	struct dfg_tensor *out, bool *out_same)
{
	struct dfg_tensor flushed = {0};
	DFG_TRY(evaluate_in(DFG_KEEP, call, inputs, out));
	struct dfg_err *err = evaluate_in(DFG_FLUSH, call, inputs, &flushed);
	size_t bytes = dfg_tensor_bytes(out);
	*out_same = !err && dfg_tensor_bytes(&flushed) == bytes && (!bytes || !memcmp(out->data, flushed.data, bytes));
	dfg_tensor_release(&flushed);
	return err;
}

/* Evaluates the op. A failure other than lack of memory is left for the run to report. */
static struct dfg_err *evaluate(struct fold *f, uint32_t n, const struct dfg_tensor *in)
{
	const struct dfg_tensor *inputs[INPUTS_MOST];
	struct dfg_resolved_node call;
	struct dfg_tensor out = {0};
	bool same = false;
	uint32_t n_in = f->graph->node[n].n_in;
	if (!is_small(f, n, in, n_in))
		return NULL;
	for (uint32_t i = 0; i < n_in; i++)
		inputs[i] = &in[i];
	DFG_TRY(dfg_node_resolve(f->graph, n, f->scratch, &call));
	struct dfg_err *err = evaluate_both(&call, inputs, &out, &same);
	if (!err && same) {
		err = replace(f, n, &out);
	} else if (err && err->code != DFG_MEMORY) {
		dfg_err_free(err);
		err = NULL;
	}
	dfg_tensor_release(&out);
	return err;
}

/*
 * Whether all inputs are constants no larger than BYTES_MOST plus their size in the file: a constant of 2^40 equal
 * elements is small in the file and allocated only by the run.
 */
static bool may_evaluate(const struct fold *f, const struct dfg_node *node)
{
	size_t most = BYTES_MOST, bytes = 0;
	for (uint32_t i = 0; i < node->n_in; i++) {
		const struct dfg_literal *literal = free_literal(f, node->in[i]);
		if (!literal)
			return false;
		bytes += (size_t)dfg_shape_count(&literal->shape) * dfg_dtype_size(literal->dtype);
		most += dfg_literal_bytes(literal);
		if (bytes > most)
			return false;
	}
	return true;
}

static struct dfg_err *fold_constants(struct fold *f, uint32_t n)
{
	const struct dfg_node *node = &f->graph->node[n];
	struct dfg_tensor in[INPUTS_MOST] = {0};
	if (!(node->op->flags & DFG_EXACT) || node->n_in > INPUTS_MOST || !may_evaluate(f, node))
		return NULL;
	struct dfg_err *err = NULL;
	for (uint32_t i = 0; i < node->n_in && !err; i++)
		err = dfg_literal_tensor(free_literal(f, node->in[i]), &in[i]);
	if (!err)
		err = evaluate(f, n, in);
	for (uint32_t i = 0; i < INPUTS_MOST; i++)
		dfg_tensor_release(&in[i]);
	return err;
}

static struct dfg_err *fold_nodes(struct fold *f)
{
	uint32_t *order, count;
	DFG_TRY(dfg_pass_order(f->graph, f->scratch, &order, &count));
	for (uint32_t i = 0; i < count; i++) {
		uint32_t n = order ? order[i] : i;
		bool done;
		if (!may_fold(f, n))
			continue;
		DFG_TRY(fold_known(f, n, &done));
		if (!done)
			DFG_TRY(fold_constants(f, n));
	}
	return NULL;
}

struct dfg_err *dfg_fold(
	struct dfg_graph *graph, struct dfg_keep *keep, struct dfg_arena *scratch, struct dfg_text *report)
{
	struct fold f = {
		.graph = graph,
		.scratch = scratch,
		.facts = {.arena = scratch},
		.fed = dfg_arena_zeros(scratch, (size_t)graph->count + 1, sizeof *f.fed),
		.branches = has_branches(graph),
	};
	if (!f.fed)
		return DFG_ERR(DFG_MEMORY, "no memory to fold %u nodes", graph->count);
	for (uint32_t i = 0; i < keep->n_feed; i++)
		f.fed[keep->feed[i].node] = true;
	struct dfg_err *err = dfg_verify(graph, NULL, &f.facts);
	if (!err)
		err = fold_nodes(&f);
	dfg_facts_release(&f.facts);
	dfg_text_add(
		report, "fold: replaced %u of %u node%s by constants\n", f.folded, graph->count, dfg_plural(graph->count));
	return err;
}
