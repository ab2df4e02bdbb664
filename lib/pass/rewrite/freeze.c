/*
 * freeze. Requires: a graph that verify accepts, without calls. Result: constants in place of variables. O(nodes + edges).
 */
#include "lib/pass/rewrite/freeze.h"

#include "lib/base/map.h"
#include "lib/base/mem.h"
#include "lib/base/plural.h"
#include "lib/graph/build.h"
#include "lib/graph/shared_name.h"
#include "lib/pass/rewrite/become.h"
#include "lib/pass/rewrite/renumber.h"

#include <string.h>

struct freezing {
	struct dfg_graph *graph;
	struct dfg_arena *scratch;
	bool *needed;            /* by node: keep depends on it */
	enum dfg_dtype *becomes; /* by node: what it carries instead of a handle or ref; 0: as before */
	uint32_t *first, *next;  /* by node: 1 + a reader by data; by edge: 1 + the next one */
	uint32_t *reader;        /* by edge */
	uint32_t *queue, queued;
	uint32_t frozen;
};

static void need(struct freezing *f, uint32_t node)
{
	if (!f->needed[node])
		f->queue[f->queued++] = node;
	f->needed[node] = true;
}

static void find_needed(struct freezing *f, const struct dfg_keep *keep)
{
	for (uint32_t i = 0; i < keep->n_feed; i++)
		need(f, keep->feed[i].node);
	for (uint32_t i = 0; i < keep->n_fetch; i++)
		need(f, keep->fetch[i].node);
	for (uint32_t i = 0; i < keep->n_target; i++)
		need(f, keep->target[i]);
	while (f->queued) {
		const struct dfg_node *node = &f->graph->node[f->queue[--f->queued]];
		for (uint32_t e = 0; e < node->n_in + node->n_control; e++)
			need(f, node->in[e].node);
	}
}

/* Lists the readers that remain. */
static struct dfg_err *find_readers(struct freezing *f)
{
	const struct dfg_graph *graph = f->graph;
	size_t edges = 0, at = 0;
	for (uint32_t n = 0; n < graph->count; n++)
		edges += graph->node[n].n_in;
	f->next = dfg_arena_zeros(f->scratch, edges + 1, sizeof *f->next);
	f->reader = dfg_arena_zeros(f->scratch, edges + 1, sizeof *f->reader);
	if (!f->next || !f->reader)
		return dfg_no_memory("the readers of variables");
	for (uint32_t n = graph->count; n--;)
		for (uint32_t e = graph->node[n].n_in; f->needed[n] && e--; at++) {
			const uint32_t source = graph->node[n].in[e].node;
			f->reader[at] = n;
			f->next[at] = f->first[source];
			f->first[source] = (uint32_t)at + 1;
		}
	return NULL;
}

/* Values by name, and the name that nodes of one shared variable have in common. */
struct values {
	const struct dfg_variable_value_given *given;
	struct dfg_map names;  /* of `given` */
	struct dfg_map shared; /* names under which a session keeps variables */
	uint32_t *node;        /* by shared name: the first node */
	size_t capacity;
};

static struct dfg_err *list_values(struct values *values, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		uint32_t number;
		bool new;
		if (!dfg_map_put(&values->names, values->given[i].name, strlen(values->given[i].name), &number, &new))
			return dfg_no_memory("the variables");
		if (!new)
			return DFG_ERR(DFG_DATA, "variable '%s' is given twice", values->given[i].name);
	}
	return NULL;
}

/* The value of a variable: under its node's name, or that of the first node that shares it. NULL: there is none. */
static struct dfg_err *find_value(
	struct freezing *f, struct values *values, uint32_t node, const struct dfg_tensor **out_value)
{
	const char *shared = dfg_node_shared_name(&f->graph->node[node], f->scratch);
	const char *name = f->graph->node[node].name;
	uint32_t number;
	bool new;
	*out_value = NULL;
	if (!shared || !dfg_map_put(&values->shared, shared, strlen(shared), &number, &new) ||
		!dfg_reserve(&values->node, &values->capacity, (size_t)number + 1, sizeof *values->node))
		return dfg_no_memory("the variables");
	if (new)
		values->node[number] = node;
	number = dfg_map_find(&values->names, name, strlen(name));
	if (number == DFG_NONE) {
		name = f->graph->node[values->node[dfg_map_find(&values->shared, shared, strlen(shared))]].name;
		number = dfg_map_find(&values->names, name, strlen(name));
	}
	if (number != DFG_NONE)
		*out_value = values->given[number].value;
	return NULL;
}

static struct dfg_err *check_type(const struct dfg_node *node, const struct dfg_tensor *value)
{
	const struct dfg_attr *dtype = dfg_node_attr(node, "dtype"), *shape = dfg_node_attr(node, "shape");
	const bool is_known = shape && shape->kind == DFG_ATTR_SHAPE && shape->value.shape->rank >= 0;
	const struct dfg_shape any = {.rank = -1}, *want = is_known ? shape->value.shape : &any;
	if (dtype && dtype->value.dtype == value->dtype && dfg_shape_fits(want, &value->shape))
		return NULL;
	return DFG_ERR(DFG_DATA, "variable '%s' is %s, but its value is %s", node->name,
		dfg_type_words(dtype ? dtype->value.dtype : DFG_NO_DTYPE, want).s,
		dfg_type_words(value->dtype, &value->shape).s);
}

static void visit(struct freezing *f, uint32_t node, enum dfg_dtype dtype)
{
	f->becomes[node] = dtype;
	f->queue[f->queued++] = node;
}

static struct dfg_err *freeze_variables(struct freezing *f, struct values *values)
{
	struct dfg_text missing = {0};
	struct dfg_err *err = NULL;
	size_t lacks = 0;
	for (uint32_t n = 0; !err && n < f->graph->count; n++) {
		const struct dfg_node *node = &f->graph->node[n];
		const struct dfg_tensor *value;
		if (!f->needed[n] || !node->op || node->op->role != DFG_VARIABLE)
			continue;
		err = find_value(f, values, n, &value);
		if (!err && !value && ++lacks <= 5)
			dfg_text_add(&missing, "%s'%s'", missing.length ? ", " : "", node->name);
		if (err || !value)
			continue;
		err = check_type(node, value);
		if (!err)
			err = dfg_become_constant(f->graph, n, value);
		f->frozen++;
		visit(f, n, value->dtype);
	}
	if (!err && lacks > 5)
		dfg_text_add(&missing, " and %zu more", lacks - 5);
	if (!err && lacks)
		err = DFG_ERR(DFG_DATA, "no value for variable%s %s in the files of --load", lacks > 1 ? "s" : "",
			missing.s ? missing.s : "");
	dfg_text_release(&missing);
	return err;
}

/* The op that does with a value what this op does with a variable's handle or ref; NULL: there is none. */
struct counterpart {
	const char *op, *becomes;
	bool carries_on;             /* its output is the variable, too */
	const char *from[3], *to[3]; /* attributes that stay, under their new names */
};
static const struct counterpart counterparts[] = {
	{"ReadVariableOp", "Identity", false, {"dtype"}, {"T"}},
	{"ResourceGather", "Gather", false, {"dtype", "Tindices", "validate_indices"},
		{"Tparams", "Tindices", "validate_indices"}},
	{"ResourceGatherNd", "GatherNd", false, {"dtype", "Tindices"}, {"Tparams", "Tindices"}},
	{"VariableShape", "Shape", false, {"out_type"}, {"out_type"}},
	{"RefIdentity", "Identity", true, {"T"}, {"T"}},
	{"RefEnter", "Enter", true, {"T", "frame_name", "is_constant"}, {"T", "frame_name", "is_constant"}},
	{"RefSwitch", "Switch", true, {"T"}, {"T"}},
};

static const struct counterpart *find_counterpart(const char *op)
{
	for (size_t i = 0; i < sizeof counterparts / sizeof *counterparts; i++)
		if (!strcmp(op, counterparts[i].op))
			return &counterparts[i];
	return NULL;
}

static struct dfg_err *become_counterpart(
	struct freezing *f, uint32_t n, const struct counterpart *to, enum dfg_dtype dtype)
{
	const struct dfg_node *node = &f->graph->node[n];
	const struct dfg_attr *batch = dfg_node_attr(node, "batch_dims");
	struct dfg_attr attr[4];
	uint32_t count = 0;
	if (batch && batch->value.i)
		return DFG_ERR(DFG_DATA, "node '%s' (%s) has attribute batch_dims, which no op on a constant supports",
			node->name, node->op_name);
	for (int i = 0; i < 3 && to->from[i]; i++) {
		const struct dfg_attr *from = dfg_node_attr(node, to->from[i]);
		if (from)
			attr[count++] = (struct dfg_attr){to->to[i], from->kind, from->value};
	}
	/* Shape has the type of its input as an attribute, which VariableShape does not have. */
	if (!strcmp(to->becomes, "Shape"))
		attr[count++] = DFG_ATTR_T("T", dtype);
	return dfg_become_op(f->graph, n, to->becomes, attr, count);
}

/* Nodes that carry a handle on, in branches and loops, carry the value. */
static bool carries_on(const struct dfg_node *node)
{
	const enum dfg_role role = node->op->role;
	return (role == DFG_IDENTITY && node->n_in == 1) || role == DFG_ENTER || role == DFG_SWITCH || role == DFG_MERGE ||
		   role == DFG_EXIT || role == DFG_NEXT_ITERATION;
}

static struct dfg_err *freeze_reader(struct freezing *f, uint32_t n, enum dfg_dtype dtype, bool was_resource)
{
	struct dfg_node *node = &f->graph->node[n];
	const struct counterpart *to = find_counterpart(node->op_name);
	const struct dfg_attr *type = dfg_node_attr(node, "T");
	if (to) {
		DFG_TRY(become_counterpart(f, n, to, dtype));
		if (to->carries_on)
			visit(f, n, dtype);
		return NULL;
	}
	if (carries_on(node) && type && type->value.dtype == DFG_RESOURCE) {
		visit(f, n, dtype);
		return dfg_node_set_attr(f->graph, n, "T", DFG_ATTR_DTYPE, (union dfg_value){.dtype = dtype});
	}
	if (!was_resource)
		return NULL; /* it takes the value of a ref */
	return DFG_ERR(DFG_DATA,
		"node '%s' (%s) requires the variable itself, so the variable cannot become a constant: name "
		"outputs that do not depend on this node, by --fetch",
		node->name, node->op_name);
}

/* No node that stays may write what becomes a constant. */
static struct dfg_err *check_reader(const struct freezing *f, uint32_t n, uint32_t variable, bool is_resource)
{
	const struct dfg_node *node = &f->graph->node[n];
	const bool writes = node->op && (node->op->flags & DFG_WRITES || node->op->role == DFG_ASSIGN);
	for (uint32_t e = 0; writes && e < node->n_in; e++)
		if (node->in[e].node == variable && (is_resource || dfg_node_takes_ref(node, e)))
			return DFG_ERR(DFG_DATA,
				"node '%s' (%s) writes variable '%s', and an output depends on it: name outputs that do not, by "
				"--fetch",
				node->name, node->op_name, f->graph->node[variable].name);
	return node->op ? NULL : DFG_ERR(DFG_DATA, "node '%s' (%s): unknown op", node->name, node->op_name);
}

static struct dfg_err *freeze_readers(struct freezing *f, const bool *was_resource)
{
	while (f->queued) {
		const uint32_t n = f->queue[--f->queued];
		for (uint32_t at = f->first[n]; at; at = f->next[at - 1]) {
			const uint32_t reader = f->reader[at - 1];
			if (f->becomes[reader])
				continue;
			DFG_TRY(check_reader(f, reader, n, was_resource[n]));
			DFG_TRY(freeze_reader(f, reader, f->becomes[n], was_resource[n]));
		}
	}
	return NULL;
}

/* Whether a node makes or carries on a handle. */
static struct dfg_err *find_resources(const struct freezing *f, bool **out_resource)
{
	bool *is = *out_resource = dfg_arena_zeros(f->scratch, (size_t)f->graph->count + 1, sizeof *is);
	for (uint32_t n = 0; is && n < f->graph->count; n++) {
		const struct dfg_node *node = &f->graph->node[n];
		const struct dfg_attr *type = dfg_node_attr(node, "T");
		const bool is_ref = node->op && node->op->role == DFG_VARIABLE && strstr(node->op->sig, "ref ");
		is[n] = node->op && node->op->role == DFG_VARIABLE ? !is_ref : type && type->value.dtype == DFG_RESOURCE;
	}
	return is ? NULL : dfg_no_memory("the variables");
}

static struct dfg_err *remove_others(struct freezing *f, struct dfg_keep *keep, struct dfg_text *report)
{
	const uint32_t before = f->graph->count;
	uint32_t kept = 0, *number = dfg_arena_zeros(f->scratch, (size_t)before + 1, sizeof *number);
	if (!number)
		return dfg_no_memory("the nodes");
	for (uint32_t n = 0; n < before; n++)
		if (f->needed[n])
			f->queue[kept++] = n;
	DFG_TRY(dfg_renumber(f->graph, f->queue, kept, number, keep, f->scratch));
	dfg_text_add(report, "freeze: made constants of %u variable%s, removed %u of %u nodes\n", f->frozen,
		dfg_plural(f->frozen), before - kept, before);
	return NULL;
}

static struct dfg_err *freeze(struct freezing *f, struct values *values, size_t n_given, const struct dfg_keep *keep)
{
	bool *was_resource;
	DFG_TRY(list_values(values, n_given));
	find_needed(f, keep);
	DFG_TRY(find_readers(f));
	DFG_TRY(find_resources(f, &was_resource));
	DFG_TRY(freeze_variables(f, values));
	return freeze_readers(f, was_resource);
}

struct dfg_err *dfg_freeze(struct dfg_graph *graph, struct dfg_keep *keep, const struct dfg_variable_value_given *given,
	size_t n_given, struct dfg_arena *scratch, struct dfg_text *report)
{
	const size_t count = (size_t)graph->count + 1;
	struct values values = {.given = given};
	struct freezing f = {
		.graph = graph,
		.scratch = scratch,
		.needed = dfg_arena_zeros(scratch, count, sizeof *f.needed),
		.becomes = dfg_arena_zeros(scratch, count, sizeof *f.becomes),
		.first = dfg_arena_zeros(scratch, count, sizeof *f.first),
		.queue = dfg_arena_zeros(scratch, count, sizeof *f.queue),
	};
	if (!f.needed || !f.becomes || !f.first || !f.queue)
		return dfg_no_memory("the variables");
	struct dfg_err *err = freeze(&f, &values, n_given, keep);
	dfg_map_release(&values.names);
	dfg_map_release(&values.shared);
	dfg_free(values.node);
	return err ? err : remove_others(&f, keep, report);
}
