#include "lib/lang/apply_private.h"

#include "lib/lang/rule_private.h"
#include "lib/lang/eval_private.h"
#include "lib/lang/materialise_private.h"
#include "lib/lang/number_private.h"
#include "lib/lang/region_private.h"
#include "lib/lang/variable_private.h"

#include <string.h>

/*
 * Functions that cannot be written in the language: properties of tensors that are known while building, and nodes of
 * which a graph has one.
 */

static struct dfg_err *tensor_argument(
	struct dfg_eval *eval, const struct dfg_call_site *site, uint32_t i, struct dfg_edge *out_edge)
{
	return dfg_eval_at(
		eval, site->argument[i].tree, dfg_to_edge(eval, &site->argument[i].value, DFG_NO_DTYPE, out_edge));
}

/* The argument's shape as far as it is known. *out_edge is set only if the argument is not a literal. */
static struct dfg_err *shape_argument(
	struct dfg_eval *eval, const struct dfg_call_site *site, struct dfg_shape *out_shape, struct dfg_edge *out_edge)
{
	const struct dfg_datum *datum = &site->argument[0].value;
	struct dfg_datum literal = *datum;
	if (datum->kind != DFG_DATUM_LITERAL && dfg_datum_is_known(datum))
		DFG_TRY(dfg_literal_new(eval, datum, DFG_NO_DTYPE, &literal));
	if (literal.kind == DFG_DATUM_LITERAL) {
		*out_shape = literal.literal->shape;
		return NULL;
	}
	DFG_TRY(tensor_argument(eval, site, 0, out_edge));
	*out_shape = dfg_eval_fact(eval, *out_edge)->shape;
	return NULL;
}

/* shape(x): the list of its dimensions or, if its rank is not known, the output of a Shape. */
static struct dfg_err *shape(struct dfg_eval *eval, const struct dfg_call_site *site, struct dfg_datum *out_datum)
{
	struct dfg_shape dims;
	struct dfg_edge edge, made;
	DFG_TRY(shape_argument(eval, site, &dims, &edge));
	if (dims.rank < 0) {
		DFG_TRY(dfg_eval_node(eval, "Shape", &edge, 1, &made));
		*out_datum = DFG_TENSOR(made);
		return NULL;
	}
	DFG_TRY(dfg_list_new(eval, DFG_DATUM_LIST, (uint32_t)dims.rank, out_datum));
	for (int i = 0; i < dims.rank; i++) {
		struct dfg_datum *item = &out_datum->list.item[i];
		*item = DFG_INT(dims.dim[i]);
		if (dims.dim[i] != DFG_UNKNOWN)
			continue;
		struct dfg_dim *dim = dfg_arena_zeros(eval->arena, 1, sizeof *dim);
		if (!dim)
			return dfg_no_memory("the build");
		*dim = (struct dfg_dim){.of = edge, .axis = i};
		DFG_TRY(dfg_eval_path(eval, eval->scope, "dim", &dim->path));
		*item = (struct dfg_datum){DFG_DATUM_DIM, .dim = dim};
	}
	return NULL;
}

/* rank(x) or rank(x, otherwise), whose second argument is the result if the rank is not known. */
static struct dfg_err *rank(struct dfg_eval *eval, const struct dfg_call_site *site, struct dfg_datum *out_datum)
{
	struct dfg_shape dims;
	struct dfg_edge edge;
	DFG_TRY(shape_argument(eval, site, &dims, &edge));
	if (dims.rank < 0 && site->n == 2)
		*out_datum = site->argument[1].value;
	else if (dims.rank < 0)
		return DFG_ERR(
			DFG_DATA, "the rank of %s is not known while building", dfg_datum_words(eval, &site->argument[0].value));
	else
		*out_datum = DFG_INT(dims.rank);
	return NULL;
}

/* axes(x): [0, 1, ...] up to the rank or, if that is not known, the output of a Range. */
static struct dfg_err *axes(struct dfg_eval *eval, const struct dfg_call_site *site, struct dfg_datum *out_datum)
{
	struct dfg_shape dims;
	struct dfg_edge edge, in[3], made;
	DFG_TRY(shape_argument(eval, site, &dims, &edge));
	if (dims.rank >= 0) {
		DFG_TRY(dfg_list_new(eval, DFG_DATUM_LIST, (uint32_t)dims.rank, out_datum));
		for (int i = 0; i < dims.rank; i++)
			out_datum->list.item[i] = DFG_INT(i);
		return dfg_literal_new(eval, out_datum, DFG_I32, out_datum);
	}
	DFG_TRY(dfg_to_edge(eval, &DFG_INT(0), DFG_I32, &in[0]));
	DFG_TRY(dfg_eval_node(eval, "Rank", &edge, 1, &in[1]));
	DFG_TRY(dfg_to_edge(eval, &DFG_INT(1), DFG_I32, &in[2]));
	DFG_TRY(dfg_eval_node(eval, "Range", in, 3, &made));
	*out_datum = DFG_TENSOR(made);
	return NULL;
}

static struct dfg_err *dtype(struct dfg_eval *eval, const struct dfg_call_site *site, struct dfg_datum *out_datum)
{
	const struct dfg_datum *datum = &site->argument[0].value;
	enum dfg_dtype known = dfg_datum_dtype(eval, datum);
	if (!known)
		known = dfg_datum_natural(datum);
	if (!known)
		return DFG_ERR(DFG_DATA, "%s has no dtype", dfg_datum_words(eval, datum));
	*out_datum = DFG_TYPE(known);
	return NULL;
}

static struct dfg_err *length(struct dfg_eval *eval, const struct dfg_call_site *site, struct dfg_datum *out_datum)
{
	const struct dfg_datum *datum = &site->argument[0].value;
	if (datum->kind != DFG_DATUM_LIST && datum->kind != DFG_DATUM_TUPLE)
		return DFG_ERR(DFG_DATA, "len takes a list, not %s", dfg_datum_words(eval, datum));
	*out_datum = DFG_INT(datum->list.n);
	return NULL;
}

static struct dfg_err *is_list(struct dfg_eval *eval, const struct dfg_call_site *site, struct dfg_datum *out_datum)
{
	(void)eval;
	*out_datum = DFG_BOOLEAN(site->argument[0].value.kind == DFG_DATUM_LIST);
	return NULL;
}

/* is_static(x): whether x is known while building, so that `static if` can test it. */
static struct dfg_err *is_static(struct dfg_eval *eval, const struct dfg_call_site *site, struct dfg_datum *out_datum)
{
	(void)eval;
	const struct dfg_datum *datum = &site->argument[0].value;
	*out_datum = DFG_BOOLEAN(datum->kind == DFG_DATUM_NONE || dfg_datum_is_known(datum));
	return NULL;
}

/* Within a loop both values of a gradient must be of the same iteration. */
static struct dfg_err *check_iteration(
	struct dfg_eval *eval, struct dfg_edge of, const struct dfg_edge *wrt, uint32_t n)
{
	struct dfg_region *frame = dfg_region_frame(dfg_region_of(eval, of));
	for (uint32_t i = 0; i < n; i++)
		if (dfg_region_frame(dfg_region_of(eval, wrt[i])) != frame)
			return DFG_ERR(DFG_DATA,
				"`grad` requires two values of the same iteration: carry the value from outside into the loop, or "
				"take the gradient after the loop");
	return NULL;
}

/* A gradient belongs to the region of the value that it is with respect to, not to the present one. */
static struct dfg_err *call_grad(
	struct dfg_eval *eval, struct dfg_edge of, const struct dfg_edge *wrt, uint32_t n, struct dfg_edge *out_wrt)
{
	uint32_t first = eval->builder->graph->count, n_control = eval->builder->n_control;
	if (eval->region)
		eval->builder->n_control = 0;
	struct dfg_err *err = eval->options->grad(eval->builder, &of, 1, wrt, n, out_wrt);
	eval->builder->n_control = n_control;
	for (uint32_t i = 0; i < n && !err; i++)
		if (out_wrt[i].node >= first)
			err = dfg_region_note(eval, out_wrt[i].node, dfg_region_of(eval, wrt[i]));
	return err;
}

/* Whether rows of the variable are read in place, by a node that its value does not pass through. */
static bool has_row_reads(const struct dfg_eval *eval, const struct dfg_cell *cell)
{
	const struct dfg_graph *graph = eval->builder->graph;
	for (uint32_t n = 0; n < graph->count; n++)
		for (uint32_t i = 0; i < graph->node[n].n_in; i++)
			if (dfg_edge_same(graph->node[n].in[i], cell->handle) && n != cell->read.node && graph->node[n].op &&
				(graph->node[n].op->flags & DFG_READS))
				return true;
	return false;
}

/*
 * The tensor to differentiate with respect to. For a variable whose rows are read in place that is the handle, so that
 * the gradients of all reads are summed.
 */
static struct dfg_err *wrt_edge(struct dfg_eval *eval, const struct dfg_datum *by, struct dfg_edge *out_edge)
{
	const struct dfg_cell *cell = by->kind == DFG_DATUM_CELL ? by->cell : NULL;
	if (!cell || !has_row_reads(eval, cell))
		return dfg_to_edge(eval, by, DFG_NO_DTYPE, out_edge);
	if (eval->region || !dfg_edge_same(cell->now.value, cell->read))
		return DFG_ERR(DFG_DATA,
			"grad() with respect to '%s', whose rows are read by index, is possible only outside of loops and branches "
			"and before the first `set`: elsewhere, take it with respect to the rows",
			cell->path);
	*out_edge = cell->handle;
	return NULL;
}

/* grad(y, x) and grad(y, [a, b]). */
static struct dfg_err *grad(struct dfg_eval *eval, const struct dfg_call_site *site, struct dfg_datum *out_datum)
{
	const struct dfg_datum *wrt = &site->argument[1].value;
	bool many = wrt->kind == DFG_DATUM_LIST || wrt->kind == DFG_DATUM_TUPLE;
	uint32_t n = many ? wrt->list.n : 1;
	struct dfg_edge of, *x = dfg_arena_zeros(eval->arena, n, sizeof *x),
						*dx = dfg_arena_zeros(eval->arena, n, sizeof *dx);
	if (!x || !dx)
		return dfg_no_memory("the build");
	if (!eval->options || !eval->options->grad)
		return DFG_ERR(DFG_DATA, "grad() is not available in a gradient formula");
	DFG_TRY(tensor_argument(eval, site, 0, &of));
	for (uint32_t i = 0; i < n; i++) {
		const struct dfg_datum *by = many ? &wrt->list.item[i] : wrt;
		if (by->kind != DFG_DATUM_TENSOR && by->kind != DFG_DATUM_CELL)
			return dfg_eval_at(eval, site->argument[1].tree,
				DFG_ERR(DFG_DATA, "grad() takes a gradient with respect to a tensor or a param, not %s",
					dfg_datum_words(eval, by)));
		DFG_TRY(dfg_eval_at(eval, site->argument[1].tree, wrt_edge(eval, by, &x[i])));
	}
	DFG_TRY(check_iteration(eval, of, x, n));
	DFG_TRY(call_grad(eval, of, x, n, dx));
	*out_datum = DFG_TENSOR(dx[0]);
	if (!many)
		return NULL;
	DFG_TRY(dfg_list_new(eval, DFG_DATUM_TUPLE, n, out_datum));
	for (uint32_t i = 0; i < n; i++)
		out_datum->list.item[i] = DFG_TENSOR(dx[i]);
	return NULL;
}

static uint64_t hash(const char *s)
{
	uint64_t h = UINT64_C(0xcbf29ce484222325); /* FNV-1a, then mixed, so that similar names have unrelated streams */
	for (; *s; s++)
		h = (h ^ (unsigned char)*s) * UINT64_C(0x100000001b3);
	h = (h ^ h >> 33) * UINT64_C(0xff51afd7ed558ccd);
	h = (h ^ h >> 33) * UINT64_C(0xc4ceb9fe1a85ec53);
	return h ^ h >> 33;
}

/* stream(): a u64 of this call alone, the hash of its name. It is the key of random numbers. */
static struct dfg_err *stream(struct dfg_eval *eval, const struct dfg_call_site *site, struct dfg_datum *out_datum)
{
	const char *name;
	struct dfg_tensor *key = dfg_arena_zeros(eval->arena, 1, sizeof *key);
	uint64_t *value = dfg_arena_zeros(eval->arena, 1, sizeof *value);
	(void)site;
	if (!key || !value)
		return dfg_no_memory("the build");
	DFG_TRY(dfg_counter_next(eval, &eval->streams, eval->scope, &name));
	*value = hash(name);
	*key = (struct dfg_tensor){.dtype = DFG_U64, .shape = DFG_SHAPE_SCALAR, .data = value, .capacity = sizeof *value};
	*out_datum = (struct dfg_datum){DFG_DATUM_LITERAL, .literal = key};
	return NULL;
}

/* step(): the number of training steps so far, an i64 variable that the whole graph shares. */
static struct dfg_err *step(struct dfg_eval *eval, const struct dfg_call_site *site, struct dfg_datum *out_datum)
{
	struct dfg_graph *graph = eval->builder->graph;
	struct dfg_cell *cell = dfg_cell_find(eval, "train/step");
	uint32_t read = dfg_graph_find(graph, "train/step/read");
	(void)site;
	if (!cell && read != DFG_NONE) {
		*out_datum = DFG_TENSOR(((struct dfg_edge){read, 0}));
		return NULL;
	}
	if (!cell) {
		const struct dfg_cell like = {.path = "train/step", .dtype = DFG_I64, .shape = DFG_SHAPE_SCALAR};
		bool slots = eval->slots;
		eval->slots = false;
		struct dfg_err *err = dfg_cell_new(eval, &like, &DFG_INT(0), &cell);
		eval->slots = slots;
		DFG_TRY(err);
	}
	*out_datum = DFG_TENSOR(cell->read);
	return NULL;
}

/* A scalar that the run feeds, 0 by default: a node at the root with that name, which the whole graph shares. */
static struct dfg_err *make_fed(struct dfg_eval *eval, const char *name, enum dfg_dtype dtype, uint32_t *out_node)
{
	const char *scope = eval->scope;
	struct dfg_saved_region saved;
	struct dfg_edge zero;
	struct dfg_attr attr = {"shape", DFG_ATTR_SHAPE, {.shape = &DFG_SHAPE_SCALAR}};
	struct dfg_new_node want = {.op = "PlaceholderWithDefault",
		.name = name,
		.exact = true,
		.in = &zero,
		.n_in = 1,
		.attr = &attr,
		.n_attr = 1};
	dfg_region_go(eval, NULL, &saved);
	eval->scope = "dfg";
	eval->builder->n_control = 0;
	struct dfg_err *err = dfg_to_edge(eval, &DFG_INT(0), dtype, &zero);
	if (!err)
		err = dfg_eval_build(eval, &want, DFG_NAME_EXACT, out_node);
	eval->scope = scope;
	dfg_region_back(eval, &saved);
	return err;
}

static struct dfg_err *fed(struct dfg_eval *eval, const char *name, enum dfg_dtype dtype, struct dfg_datum *out_datum)
{
	uint32_t node = dfg_graph_find(eval->builder->graph, name);
	if (node == DFG_NONE)
		DFG_TRY(make_fed(eval, name, dtype, &node));
	*out_datum = DFG_TENSOR(((struct dfg_edge){node, 0}));
	return NULL;
}

/* seed(): the value of `dfg run --seed`. */
static struct dfg_err *seed(struct dfg_eval *eval, const struct dfg_call_site *site, struct dfg_datum *out_datum)
{
	(void)site;
	return fed(eval, "dfg/seed", DFG_I64, out_datum);
}

/* lane(): the number of the replica that a step with `--sync async` is of. */
static struct dfg_err *lane(struct dfg_eval *eval, const struct dfg_call_site *site, struct dfg_datum *out_datum)
{
	(void)site;
	return fed(eval, "_dfg/lane", DFG_I32, out_datum);
}

/* indices(): the iteration of each loop around the call, the outermost first. Random numbers depend on them. */
static struct dfg_err *indices(struct dfg_eval *eval, const struct dfg_call_site *site, struct dfg_datum *out_datum)
{
	struct dfg_edge index;
	struct dfg_region *region;
	uint32_t n = 0;
	(void)site;
	for (region = dfg_region_frame(eval->region); region; region = dfg_region_frame(region->outer))
		n++;
	DFG_TRY(dfg_list_new(eval, DFG_DATUM_LIST, n, out_datum));
	for (region = dfg_region_frame(eval->region); region; region = dfg_region_frame(region->outer)) {
		DFG_TRY(dfg_loop_index(eval, region->loop, &index));
		out_datum->list.item[--n] = DFG_TENSOR(index);
	}
	return NULL;
}

/* total(x): x in one step; over the batches of an evaluation the sum of x (app/totals.h). */
static struct dfg_err *total(struct dfg_eval *eval, const struct dfg_call_site *site, struct dfg_datum *out_datum)
{
	struct dfg_edge in;
	struct dfg_attr attr = DFG_ATTR_B("_dfg_total", true);
	struct dfg_new_node want = {.op = "Identity", .in = &in, .n_in = 1, .attr = &attr, .n_attr = 1};
	uint32_t node;
	DFG_TRY(tensor_argument(eval, site, 0, &in));
	if (eval->region)
		return DFG_ERR(DFG_DATA, "total() is allowed only outside of loops and branches");
	if (!dfg_dtype_is(dfg_eval_fact(eval, in)->dtype, "number"))
		return DFG_ERR(DFG_DATA, "total() sums numbers, not %s", dfg_dtype_name(dfg_eval_fact(eval, in)->dtype));
	DFG_TRY(dfg_eval_build(eval, &want, DFG_NAME_NONE, &node));
	*out_datum = DFG_TENSOR(((struct dfg_edge){node, 0}));
	return NULL;
}

/* seen(s): in a rule, the rows of the state s as the read saw it from which the slope was computed; elsewhere its value. */
static struct dfg_err *seen(struct dfg_eval *eval, const struct dfg_call_site *site, struct dfg_datum *out_datum)
{
	const struct dfg_datum *of = &site->argument[0].value;
	struct dfg_edge edge;
	if (of->kind != DFG_DATUM_CELL)
		return DFG_ERR(DFG_DATA, "seen() requires the name of a state, not %s", dfg_datum_words(eval, of));
	if (of->cell->by_rule && eval->rule)
		DFG_TRY(dfg_rule_seen(eval, of->cell, &edge));
	else
		DFG_TRY(dfg_to_edge(eval, of, DFG_NO_DTYPE, &edge));
	*out_datum = DFG_TENSOR(edge);
	return NULL;
}

const struct dfg_builtin dfg_builtins[] = {
	{"axes", 1, 1, axes},
	{"dtype", 1, 1, dtype},
	{"grad", 2, 2, grad},
	{"indices", 0, 0, indices},
	{"is_list", 1, 1, is_list},
	{"is_static", 1, 1, is_static},
	{"lane", 0, 0, lane},
	{"len", 1, 1, length},
	{"rank", 1, 2, rank},
	{"seed", 0, 0, seed},
	{"seen", 1, 1, seen},
	{"shape", 1, 1, shape},
	{"step", 0, 0, step},
	{"stream", 0, 0, stream},
	{"total", 1, 1, total},
	{0},
};
