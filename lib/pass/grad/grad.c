/*
 * The derivative of a graph. Requires the facts of every node; adds nodes after the existing ones. O(nodes + edges), no
 * recursion.
 */
#include "lib/pass/grad/grad.h"

#include "lib/graph/cycle.h"
#include "lib/pass/grad/formula.h"
#include "lib/pass/grad/unbroadcast.h"
#include "lib/pass/grad/loop_segments.h"
#include "lib/pass/grad/backpropagation.h"

#include <string.h>

enum { BATCH = 256 }; /* number of nodes after which their scratch memory is released */

static const struct dfg_inferred *fact_of(const struct dfg_backprop *s, struct dfg_edge edge)
{
	return dfg_facts_of(&s->builder->facts, edge);
}

/* Whether the op's derivative is always zero, by its declaration. */
static bool stops(const struct dfg_op *op)
{
	return !op || (op->gradient && !*op->gradient);
}

bool dfg_backprop_wants(const struct dfg_backprop *s, struct dfg_edge edge)
{
	return (s->depends[edge.node] || s->is_wrt[dfg_backprop_tensor(s, edge)]) && dfg_flow_dtype(fact_of(s, edge));
}

static bool input_depends(const struct dfg_backprop *s, struct dfg_edge edge)
{
	bool known = edge.port < (int32_t)dfg_facts_outputs(&s->builder->facts, edge.node);
	return known && dfg_backprop_wants(s, edge);
}

/* Marks the nodes that depend on a tensor to differentiate by, inputs first. */
static void find_dependents(struct dfg_backprop *s)
{
	const struct dfg_graph *graph = s->builder->graph;
	for (uint32_t i = 0; i < s->count; i++) {
		uint32_t n = s->order ? s->order[i] : i;
		const struct dfg_node *node = &graph->node[n];
		for (uint32_t e = 0; e < node->n_in && !stops(node->op) && !s->depends[n]; e++)
			s->depends[n] = input_depends(s, node->in[e]);
	}
}

struct dfg_scope dfg_backprop_scope(const struct dfg_backprop *s, uint32_t n)
{
	static const char end[] = "_grad";
	const char *name = s->builder->graph->node[n].name;
	struct dfg_scope scope;
	size_t head = strnlen(s->prefix, 90), length = strnlen(name, DFG_SCOPE_MOST - 100);
	memcpy(scope.s, s->prefix, head);
	scope.s[head] = '/';
	memcpy(scope.s + head + 1, name, length);
	memcpy(scope.s + head + 1 + length, end, sizeof end);
	return scope;
}

/* Adds a cotangent of a tensor, from the present location. */
static struct dfg_err *add_cotangent(
	struct dfg_backprop *s, struct dfg_edge edge, const struct dfg_cotangent *cotangent)
{
	if (s->paths)
		return dfg_control_gradient_add(s, edge, cotangent);
	return dfg_cotangent_sum_add(&s->scratch, &s->sum[dfg_backprop_tensor(s, edge)], cotangent);
}

/* The sum of the cotangents of a tensor. */
static struct dfg_err *total(struct dfg_backprop *s, struct dfg_edge edge, struct dfg_cotangent *out_cotangent)
{
	if (s->paths)
		return dfg_control_gradient_total(s, edge, out_cotangent);
	struct dfg_cotangent_sum *head = s->sum[dfg_backprop_tensor(s, edge)];
	if (head && !head->next) {
		*out_cotangent = head->cotangent;
		return NULL;
	}
	DFG_TRY(dfg_gradient_memos_settle(&s->memos));
	struct dfg_scope scope = dfg_backprop_scope(s, edge.node);
	return dfg_cotangent_sum_total(&(struct dfg_make){s->builder, scope.s}, edge, head, out_cotangent);
}

static struct dfg_err *refuse(const struct dfg_op *op)
{
	if (op->role == DFG_CALL)
		return DFG_ERR(DFG_DATA, "no gradient through a call of a function: lower the graph first");
	return DFG_ERR(DFG_DATA, "%s has no gradient", op->name);
}

/* Applies the op's gradient. */
static struct dfg_err *derive(struct dfg_gradient *node)
{
	const struct dfg_op *op = node->call->op;
	if (op->gradient_fn)
		return op->gradient_fn(node);
	if (!op->gradient)
		return refuse(op);
	const struct dfg_op_formula *formula;
	DFG_TRY(dfg_op_formula(op, op->gradient, &formula));
	return dfg_op_formula_apply(formula, node);
}

/* A cotangent must have its input's type and be summable to its shape. */
static struct dfg_err *check_result(const struct dfg_backprop *s, struct dfg_edge in, struct dfg_edge value)
{
	const struct dfg_inferred *mine = fact_of(s, in), *its = fact_of(s, value);
	struct dfg_shape shape = dfg_flow_shape(mine);
	if (dfg_flow_dtype(mine) == its->dtype && dfg_shape_fits(&shape, &its->shape))
		return NULL;
	return DFG_ERR(DFG_BUG, "its gradient has type %s for an input of type %s",
		dfg_type_words(its->dtype, &its->shape).s, dfg_type_words(dfg_flow_dtype(mine), &shape).s);
}

static bool broadcasts(const struct dfg_op *op)
{
	return !op->shape || op->flags & DFG_BROADCASTS;
}

/* Sums the cotangents of a node's inputs over the axes along which the inputs were broadcast. */
static struct dfg_err *fit(struct dfg_backprop *s, struct dfg_gradient *node)
{
	struct dfg_make make = {s->builder, node->scope};
	for (uint32_t i = 0; i < node->call->n_in; i++) {
		struct dfg_cotangent *dx = &node->dx[i];
		if (!node->wanted[i] || dx->kind != DFG_DENSE)
			continue;
		struct dfg_stretched stretched = {node->in, node->call->n_in, i, broadcasts(node->call->op)};
		if (fact_of(s, node->in[i])->dtype != DFG_RESOURCE)
			DFG_TRY(dfg_unbroadcast(&make, &stretched, &dx->value));
		DFG_TRY(check_result(s, node->in[i], dx->value));
	}
	return NULL;
}

/* Adds the cotangents of a node's inputs to those of the tensors there. */
static struct dfg_err *hand_back(struct dfg_backprop *s, const struct dfg_gradient *node)
{
	for (uint32_t i = 0; i < node->call->n_in; i++)
		if (node->wanted[i] && node->dx[i].kind != DFG_NO_COTANGENT)
			DFG_TRY(add_cotangent(s, node->in[i], &node->dx[i]));
	return NULL;
}

/* Passes a cotangent of rows through a node whose gradient is its cotangent; other gradients require dense tensors. */
static struct dfg_err *pass_rows(struct dfg_backprop *s, uint32_t n, bool *out_done)
{
	const struct dfg_node *node = &s->builder->graph->node[n];
	const struct dfg_op_formula *formula;
	struct dfg_cotangent dy;
	*out_done = false;
	if (!node->op->gradient || node->n_in != 1 || dfg_facts_outputs(&s->builder->facts, n) != 1)
		return NULL;
	DFG_TRY(dfg_op_formula(node->op, node->op->gradient, &formula));
	if (!formula->is_alias)
		return NULL;
	struct dfg_edge in = node->in[0];
	DFG_TRY(total(s, (struct dfg_edge){n, 0}, &dy));
	*out_done = true;
	return add_cotangent(s, in, &dy);
}

/* Sets up the gradient's context for a node, in scratch memory that is released batch by batch. */
static struct dfg_err *set_up(
	struct dfg_backprop *s, uint32_t n, struct dfg_gradient *node, struct dfg_resolved_node *call)
{
	DFG_TRY(dfg_facts_resolve(&s->builder->facts, s->builder->graph, n, &s->brief, call));
	bool *wanted = dfg_arena_zeros(&s->brief, (size_t)call->n_in + 1, sizeof *wanted);
	node->dx = dfg_arena_zeros(&s->brief, (size_t)call->n_in + 1, sizeof *node->dx);
	if (!wanted || !node->dx)
		return dfg_no_memory("a gradient");
	node->in = s->builder->graph->node[n].in;
	for (uint32_t i = 0; i < call->n_in; i++)
		wanted[i] = dfg_backprop_wants(s, node->in[i]);
	node->wanted = wanted;
	return NULL;
}

/* Adds up the cotangents of a node's outputs, and makes them dense. */
static struct dfg_err *gather(struct dfg_backprop *s, struct dfg_gradient *node)
{
	struct dfg_make make = {s->builder, node->scope};
	uint32_t outputs = node->call->n_out;
	struct dfg_edge *dy = dfg_arena_zeros(&s->brief, (size_t)outputs + 1, sizeof *dy);
	if (!dy)
		return dfg_no_memory("a gradient");
	node->dy = dy;
	for (uint32_t p = 0; p < outputs; p++) {
		struct dfg_edge output = dfg_gradient_output(node, (int)p);
		struct dfg_cotangent sum;
		DFG_TRY(total(s, output, &sum));
		dy[p].node = DFG_NONE;
		if (sum.kind == DFG_ROWS)
			DFG_TRY(dfg_gradient_memos_settle(&s->memos));
		if (sum.kind != DFG_NO_COTANGENT)
			DFG_TRY(dfg_cotangent_dense(&make, output, &sum, &dy[p]));
	}
	return NULL;
}

/*
 * Whether one part of the source, between slashes, is the name: the sources of higher derivatives contain those of
 * lower ones.
 */
static bool has_part(struct dfg_string source, const char *name)
{
	size_t length = strlen(name);
	for (size_t i = 0; i + length <= source.length; i++)
		if ((!i || source.s[i - 1] == '/') && (i + length == source.length || source.s[i + length] == '/') &&
			!memcmp(source.s + i, name, length))
			return true;
	return false;
}

static bool is_source(const struct dfg_backprop *s, const char *name)
{
	for (uint32_t n = 0; n < s->count; n++) {
		const struct dfg_attr *attr = dfg_node_attr(&s->builder->graph->node[n], "source");
		if (attr && attr->kind == DFG_ATTR_STRING && has_part(attr->value.s, name))
			return true;
	}
	return false;
}

struct dfg_err *dfg_gradient_source(struct dfg_gradient *node, const char **out_source)
{
	struct dfg_backprop *s = node->pass;
	const char *name = s->source ? s->source : s->prefix;
	for (int i = 1; name && !s->source && is_source(s, name); i++)
		name = dfg_arena_print(&s->scratch, "%s_%d", s->prefix, i);
	if (!name)
		return dfg_no_memory("a name");
	*out_source = s->source = name;
	return NULL;
}

static bool has_cotangent(const struct dfg_backprop *s, uint32_t n)
{
	for (uint32_t t = s->builder->facts.first[n]; t < s->builder->facts.first[n + 1]; t++)
		if (s->paths ? (void *)s->paths->arrived[t] : (void *)s->sum[t])
			return true;
	return false;
}

/* Whether the scope of n contains no nodes but sums of cotangents, which are those from node `since` on. */
static bool is_fresh(const struct dfg_backprop *s, uint32_t n, uint32_t since)
{
	const struct dfg_graph *graph = s->builder->graph;
	bool fresh = !s->crowded && !s->begun[n] && strnlen(graph->node[n].name, DFG_SCOPE_MOST) < DFG_SCOPE_MOST - 100;
	for (uint32_t i = since; i < graph->count && fresh; i++)
		fresh = !strcmp(graph->node[i].op_name, "AddN");
	return fresh;
}

/* Derives the node by its op's gradient, or by the memo of an equal node. */
static struct dfg_err *derive_alike(struct dfg_backprop *s, struct dfg_gradient *node, bool fresh)
{
	struct dfg_site site = {.words = 0};
	bool done = false;
	if (fresh)
		dfg_site_of(node, &site);
	DFG_TRY(dfg_gradient_memo_use(&s->memos, &site, node, &done));
	if (done)
		return NULL;
	uint32_t first = s->builder->graph->count;
	DFG_TRY(dfg_gradient_memos_settle(&s->memos));
	DFG_TRY(derive(node));
	DFG_TRY(fit(s, node));
	return dfg_gradient_memo_keep(&s->memos, &site, first, node);
}

static struct dfg_err *visit(struct dfg_backprop *s, uint32_t n)
{
	bool done = false;
	if (s->paths)
		DFG_TRY(dfg_control_gradient_visit(s, n, &done));
	if (done || !has_cotangent(s, n))
		return NULL;
	if (s->paths)
		DFG_TRY(dfg_control_gradient_locate(s, (struct dfg_edge){n, 0}));
	DFG_TRY(pass_rows(s, n, &done));
	if (done)
		return NULL;
	struct dfg_scope scope = dfg_backprop_scope(s, n);
	struct dfg_resolved_node call;
	struct dfg_gradient node = {.builder = s->builder, .node = n, .call = &call, .scope = scope.s, .pass = s};
	uint32_t since = s->builder->graph->count;
	DFG_TRY(set_up(s, n, &node, &call));
	DFG_TRY(gather(s, &node));
	DFG_TRY(derive_alike(s, &node, is_fresh(s, n, since)));
	return hand_back(s, &node);
}

static struct dfg_err *sweep_back(struct dfg_backprop *s)
{
	const char *device = s->builder->device;
	struct dfg_err *err = NULL;
	for (uint32_t i = s->count; i-- && !err;) {
		uint32_t n = s->order ? s->order[i] : i;
		const struct dfg_node *node = &s->builder->graph->node[n];
		if (!s->depends[n])
			continue;
		if (i % BATCH == 0)
			dfg_arena_release(&s->brief);
		const char *name = node->name, *op_name = node->op_name;
		s->builder->device = node->device;
		if (s->paths)
			err = dfg_control_gradient_go(s, n);
		if (err || (err = visit(s, n)))
			err = dfg_err_note(err, "node '%.200s' (%.100s)", name, op_name);
	}
	if (s->paths && !err)
		err = dfg_control_gradient_leave(s);
	s->builder->device = device;
	return err ? err : dfg_gradient_memos_settle(&s->memos);
}

static struct dfg_err *check_edge(const struct dfg_backprop *s, struct dfg_edge edge, const char *what)
{
	const struct dfg_node *node = &s->builder->graph->node[edge.node];
	uint32_t outputs = dfg_facts_outputs(&s->builder->facts, edge.node);
	if (edge.port < 0 || (uint32_t)edge.port >= outputs)
		return DFG_ERR(
			DFG_DATA, "node '%.200s' (%.100s): has no output %d to %s", node->name, node->op_name, edge.port, what);
	const struct dfg_inferred *fact = fact_of(s, edge);
	if (dfg_flow_dtype(fact))
		return NULL;
	enum dfg_dtype dtype =
		fact->dtype == DFG_RESOURCE && fact->holds && fact->holds->dtype ? fact->holds->dtype : fact->dtype;
	return DFG_ERR(DFG_DATA, "node '%.200s' (%.100s): cannot %s %s, only floats and complex numbers", node->name,
		node->op_name, what, dfg_dtype_name(dtype));
}

static bool is_crowded(const struct dfg_graph *graph, const char *prefix)
{
	size_t length = strlen(prefix);
	for (uint32_t n = 0; n < graph->count; n++)
		if (!strncmp(graph->node[n].name, prefix, length) && graph->node[n].name[length] == '/')
			return true;
	return length >= 90; /* scopes are truncated to this length */
}

static struct dfg_err *prepare(
	struct dfg_backprop *s, struct dfg_edge *of, uint32_t n_of, const struct dfg_edge *wrt, uint32_t n_wrt)
{
	const struct dfg_graph *graph = s->builder->graph;
	uint32_t ordered;
	s->count = graph->count;
	for (uint32_t i = 0; i < n_of; i++)
		DFG_TRY(check_edge(s, of[i], "differentiate"));
	for (uint32_t i = 0; i < n_wrt; i++)
		DFG_TRY(check_edge(s, wrt[i], "differentiate with respect to"));
	DFG_TRY(dfg_recompute_exits(s, of, n_of, wrt, n_wrt));
	s->count = graph->count;
	s->tensors = (uint32_t)s->builder->facts.count;
	DFG_TRY(dfg_pass_order(graph, &s->scratch, &s->order, &ordered));
	if (ordered < s->count)
		return DFG_ERR(DFG_DATA, "the graph has a cycle that is not a loop; 'dfg check' shows it");
	s->is_wrt = dfg_arena_zeros(&s->scratch, (size_t)s->tensors + 1, sizeof *s->is_wrt);
	s->sum = dfg_arena_zeros(&s->scratch, (size_t)s->tensors + 1, sizeof(void *));
	s->depends = dfg_arena_zeros(&s->scratch, (size_t)s->count + 1, sizeof *s->depends);
	s->begun = dfg_arena_zeros(&s->scratch, (size_t)s->count + 1, sizeof *s->begun);
	if (!s->is_wrt || !s->sum || !s->depends || !s->begun)
		return DFG_ERR(DFG_MEMORY, "no memory to differentiate %u nodes", s->count);
	for (uint32_t i = 0; i < n_wrt; i++)
		s->is_wrt[dfg_backprop_tensor(s, wrt[i])] = true;
	s->crowded = is_crowded(graph, s->prefix);
	if (!dfg_has_control_flow(graph)) {
		find_dependents(s);
		return NULL;
	}
	s->crowded = true; /* equal nodes in loops may have different contexts */
	DFG_TRY(dfg_control_gradient_new(s));
	DFG_TRY(dfg_control_gradient_region(s, of, n_of, wrt, n_wrt));
	return dfg_control_gradient_find_dependents(s, of, n_of);
}

/* Adds the cotangents that back-propagation begins with. */
static struct dfg_err *begin(
	struct dfg_backprop *s, const struct dfg_edge *of, uint32_t n_of, const struct dfg_edge *dy)
{
	for (uint32_t i = 0; i < n_of; i++) {
		if (!dfg_backprop_wants(s, of[i]))
			continue;
		struct dfg_cotangent one = {.kind = DFG_DENSE};
		if (s->paths)
			DFG_TRY(dfg_control_gradient_locate(s, of[i]));
		struct dfg_scope scope = dfg_backprop_scope(s, of[i].node);
		s->begun[of[i].node] = true;
		if (dy)
			one.value = dy[i];
		else
			DFG_TRY(dfg_make_filled(&(struct dfg_make){s->builder, scope.s}, of[i], 1, &one.value));
		DFG_TRY(add_cotangent(s, of[i], &one));
	}
	return NULL;
}

static struct dfg_err *name_result(struct dfg_backprop *s, struct dfg_edge wrt, struct dfg_cotangent *cotangent)
{
	const char *name = s->builder->graph->node[wrt.node].name;
	struct dfg_scope scope = dfg_backprop_scope(s, wrt.node);
	struct dfg_make make = {s->builder, scope.s};
	struct dfg_edge value;
	if (cotangent->kind == DFG_NO_COTANGENT)
		DFG_TRY(dfg_make_filled(&make, wrt, 0, &value));
	else
		DFG_TRY(dfg_cotangent_dense(&make, wrt, cotangent, &value));
	const char *wanted = wrt.port ? dfg_arena_print(&s->brief, "%s/%s_%d", s->prefix, name, wrt.port)
								  : dfg_arena_print(&s->brief, "%s/%s", s->prefix, name);
	if (!wanted)
		return dfg_no_memory("a name");
	if (dfg_graph_find(s->builder->graph, wanted) != DFG_NONE)
		return DFG_ERR(DFG_DATA, "node '%.200s' already exists; choose another name with --prefix", wanted);
	struct dfg_new_node node = {.op = "Identity", .name = wanted, .exact = true, .in = &value, .n_in = 1};
	*cotangent = (struct dfg_cotangent){.kind = DFG_DENSE, .value = {DFG_NONE, 0}};
	return dfg_build(s->builder, &node, &cotangent->value.node);
}

/* Divides loops into segments, in a pass of its own: back-propagation then starts from the changed graph. */
static struct dfg_err *cut_loops(const struct dfg_backprop *like, struct dfg_edge *of, uint32_t n_of,
	const struct dfg_edge *wrt, uint32_t n_wrt, const struct dfg_grad_options *options)
{
	struct dfg_backprop s = {.builder = like->builder, .prefix = like->prefix};
	if (!options || !dfg_remat_in_segments(&options->remat) || !dfg_has_control_flow(s.builder->graph))
		return NULL;
	struct dfg_err *err = prepare(&s, of, n_of, wrt, n_wrt);
	if (!err)
		err = dfg_segments_make(&s, &options->remat, options->notes);
	dfg_control_gradient_free(&s);
	dfg_arena_release(&s.scratch);
	dfg_arena_release(&s.brief);
	return err;
}

static struct dfg_err *differentiate(struct dfg_backprop *s, const struct dfg_edge *of, uint32_t n_of,
	const struct dfg_edge *wrt, uint32_t n_wrt, const struct dfg_grad_options *options, struct dfg_cotangent *out_wrt)
{
	struct dfg_edge *from = dfg_arena_zeros(&s->scratch, (size_t)n_of + 1, sizeof *from);
	if (!from)
		return DFG_ERR(DFG_MEMORY, "no memory for %u gradients", n_of);
	memcpy(from, of, n_of * sizeof *from);
	DFG_TRY(cut_loops(s, from, n_of, wrt, n_wrt, options));
	DFG_TRY(prepare(s, from, n_of, wrt, n_wrt));
	DFG_TRY(begin(s, from, n_of, options ? options->dy : NULL));
	DFG_TRY(sweep_back(s));
	for (uint32_t i = 0; i < n_wrt; i++) {
		DFG_TRY(total(s, wrt[i], &out_wrt[i]));
		if (s->paths)
			DFG_TRY(dfg_control_gradient_result(s, wrt[i], &out_wrt[i]));
		if (!options || !options->unnamed)
			DFG_TRY(name_result(s, wrt[i], &out_wrt[i]));
	}
	return NULL;
}

struct dfg_err *dfg_grad(struct dfg_builder *builder, const struct dfg_edge *of, uint32_t n_of,
	const struct dfg_edge *wrt, uint32_t n_wrt, const struct dfg_grad_options *options, struct dfg_cotangent *out_wrt)
{
	struct dfg_backprop s = {.builder = builder, .prefix = options && options->prefix ? options->prefix : "grad"};
	if (options)
		s.remat = options->remat;
	s.memos.builder = builder;
	struct dfg_err *err = differentiate(&s, of, n_of, wrt, n_wrt, options, out_wrt);
	dfg_control_gradient_free(&s);
	dfg_gradient_memos_release(&s.memos);
	dfg_arena_release(&s.scratch);
	dfg_arena_release(&s.brief);
	return err;
}

struct dfg_err *dfg_grad_dense(struct dfg_builder *builder, const struct dfg_edge *of, uint32_t n_of,
	const struct dfg_edge *wrt, uint32_t n_wrt, const struct dfg_grad_options *options, struct dfg_edge *out_wrt)
{
	struct dfg_grad_options unnamed = *options;
	struct dfg_make make = {builder, options->prefix ? options->prefix : "grad"};
	struct dfg_cotangent *cotangent = dfg_zeros((size_t)n_wrt + 1, sizeof *cotangent);
	if (!cotangent)
		return DFG_ERR(DFG_MEMORY, "no memory for %u gradients", n_wrt);
	unnamed.unnamed = true;
	struct dfg_err *err = dfg_grad(builder, of, n_of, wrt, n_wrt, &unnamed, cotangent);
	for (uint32_t i = 0; i < n_wrt && !err; i++)
		err = cotangent[i].kind == DFG_NO_COTANGENT ? dfg_make_filled(&make, wrt[i], 0, &out_wrt[i])
													: dfg_cotangent_dense(&make, wrt[i], &cotangent[i], &out_wrt[i]);
	dfg_free(cotangent);
	return err;
}

struct dfg_err *dfg_grad_edges(struct dfg_builder *builder, const struct dfg_edge *of, uint32_t n_of,
	const struct dfg_edge *wrt, uint32_t n_wrt, struct dfg_edge *out_wrt)
{
	return dfg_grad_dense(builder, of, n_of, wrt, n_wrt, &(struct dfg_grad_options){0}, out_wrt);
}
