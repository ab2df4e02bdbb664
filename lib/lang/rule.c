#include "lib/lang/rule_private.h"

#include "lib/lang/apply_private.h"
#include "lib/lang/materialise_private.h"
#include "lib/lang/op_private.h"
#include "lib/lang/parallel_private.h"
#include "lib/lang/row_access_private.h"
#include "lib/lang/variable_private.h"

#include <string.h>

/* A call of an op on rows of a variable. */
static struct dfg_err *call(struct dfg_eval *eval, const char *op, struct dfg_argument *argument, uint32_t n,
	const char *mark, struct dfg_edge *out_edge)
{
	const struct dfg_call_site site = {.tree = eval->rule->tree, .argument = argument, .n = n};
	struct dfg_datum done;
	for (uint32_t i = 0; i < n; i++)
		argument[i].tree = eval->rule->tree;
	DFG_TRY(dfg_op_apply(eval, dfg_op_find(op), &site, &done));
	*out_edge = done.edge;
	if (!mark)
		return NULL;
	return dfg_node_set_attr(eval->builder->graph, done.edge.node, mark, DFG_ATTR_INT, (union dfg_value){.i = 1});
}

static struct dfg_err *gather(struct dfg_eval *eval, struct dfg_cell *cell, const char *mark, struct dfg_edge *out_edge)
{
	struct dfg_argument argument[] = {{.value = {DFG_DATUM_CELL, .cell = cell}},
		{.value = DFG_TENSOR(eval->rule->indices)}, {.name = "dtype", .value = DFG_TYPE(cell->dtype)}};
	return call(eval, "ResourceGather", argument, 3, mark, out_edge);
}

static const char *mark_of(const struct dfg_row_rule *rule)
{
	return rule->is_buffered ? "_dfg_rule" : NULL;
}

static struct dfg_row_rule_state *find_state(struct dfg_row_rule *rule, const struct dfg_cell *cell)
{
	for (uint32_t i = 0; i < rule->n_state; i++)
		if (rule->state[i].cell == cell)
			return &rule->state[i];
	return NULL;
}

static struct dfg_err *keep_state(
	struct dfg_row_rule *rule, const struct dfg_cell *cell, struct dfg_edge value, bool is_set)
{
	struct dfg_row_rule_state *state = find_state(rule, cell);
	if (!state && rule->n_state == sizeof rule->state / sizeof *rule->state)
		return DFG_ERR(DFG_DATA, "a rule has more than %u states", rule->n_state);
	if (!state)
		state = &rule->state[rule->n_state++];
	*state = (struct dfg_row_rule_state){cell, value, is_set};
	return NULL;
}

/* Rows are distinct, so that rows that were set, or read before, are known. */
struct dfg_err *dfg_rule_read(struct dfg_eval *eval, struct dfg_cell *cell, struct dfg_edge *out_edge)
{
	struct dfg_row_rule *rule = eval->rule;
	const struct dfg_row_rule_state *state = find_state(rule, cell);
	if (state) {
		*out_edge = state->value;
		return NULL;
	}
	DFG_TRY(gather(eval, cell, mark_of(rule), out_edge));
	return eval->region == rule->region ? keep_state(rule, cell, *out_edge, false) : NULL;
}

static struct dfg_err *scatter(struct dfg_eval *eval, struct dfg_cell *cell, struct dfg_edge value, uint32_t *out_node)
{
	struct dfg_argument argument[] = {{.value = {DFG_DATUM_CELL, .cell = cell}},
		{.value = DFG_TENSOR(eval->rule->indices)}, {.value = DFG_TENSOR(value)}};
	struct dfg_edge done;
	DFG_TRY(call(eval, "ResourceScatterUpdate", argument, 3, mark_of(eval->rule), &done));
	*out_node = done.node;
	return NULL;
}

struct dfg_err *dfg_rule_write(struct dfg_eval *eval, struct dfg_cell *cell, struct dfg_edge value, uint32_t *out_node)
{
	if (eval->region != eval->rule->region)
		return DFG_ERR(DFG_DATA, "a rule may set its states only outside of branches and loops");
	DFG_TRY(keep_state(eval->rule, cell, value, true));
	return scatter(eval, cell, value, out_node);
}

struct dfg_err *dfg_rule_seen(struct dfg_eval *eval, struct dfg_cell *cell, struct dfg_edge *out_edge)
{
	const struct dfg_row_rule *rule = eval->rule;
	const struct dfg_row_rule_state *state = find_state(eval->rule, cell);
	if (state && state->is_set)
		return DFG_ERR(DFG_DATA, "seen(%s) must come before the rule sets that state", cell->path);
	DFG_TRY(gather(eval, cell, mark_of(rule), out_edge));
	if (!rule->is_buffered)
		return NULL;
	return dfg_node_set_attr(
		eval->builder->graph, out_edge->node, "_dfg_seen", DFG_ATTR_INT, (union dfg_value){.i = 1});
}

static struct dfg_err *node2(
	struct dfg_eval *eval, const char *op, struct dfg_edge x, struct dfg_edge y, struct dfg_edge *out)
{
	return dfg_eval_node(eval, op, (struct dfg_edge[]){x, y}, 2, out);
}

/* One row as a vector of one. */
static struct dfg_err *take_single(struct dfg_eval *eval, struct dfg_edge *indices, struct dfg_edge *slope)
{
	struct dfg_edge zero;
	DFG_TRY(dfg_to_edge(eval, &DFG_INT(0), DFG_I32, &zero));
	DFG_TRY(node2(eval, "ExpandDims", *indices, zero, indices));
	return node2(eval, "ExpandDims", *slope, zero, slope);
}

/* Distinct rows, and the sums of the slopes that are for the same one. */
static struct dfg_err *sum_duplicates(
	struct dfg_eval *eval, const struct dfg_cell *cell, struct dfg_edge *indices, struct dfg_edge *slope)
{
	int64_t dim[DFG_RANK_MAX + 1] = {-1};
	struct dfg_edge all, shape, flat, unique, count, in[3];
	uint32_t node;
	for (int d = 1; d < cell->shape.rank; d++)
		dim[d] = cell->shape.dim[d];
	DFG_TRY(dfg_build_ints(eval->builder, "rows", DFG_I32, &DFG_SHAPE_VECTOR(1), dim, &all));
	DFG_TRY(dfg_build_ints(eval->builder, "rows", DFG_I32, &DFG_SHAPE_VECTOR(cell->shape.rank), dim, &shape));
	DFG_TRY(node2(eval, "Reshape", *indices, all, &flat));
	DFG_TRY(node2(eval, "Reshape", *slope, shape, slope));
	struct dfg_new_node want = {.op = "Unique", .in = &flat, .n_in = 1};
	DFG_TRY(dfg_eval_build(eval, &want, DFG_NAME_NONE, &node));
	unique = (struct dfg_edge){node, 0};
	DFG_TRY(dfg_eval_node(eval, "Size", &unique, 1, &count));
	in[0] = *slope, in[1] = (struct dfg_edge){node, 1}, in[2] = count;
	*indices = unique;
	return dfg_eval_node(eval, "UnsortedSegmentSum", in, 3, slope);
}

static struct dfg_err *find_rows(struct dfg_eval *eval, struct dfg_name_scope *bindings, const struct dfg_tree *tree,
	const struct dfg_cell *cell, struct dfg_edge *slope, struct dfg_edge *out_indices)
{
	uint32_t n;
	if (!tree->kid[1] || cell->shape.rank < 1)
		return DFG_ERR(DFG_DATA, "`by` requires the rows that it updates: `set %s[ids] -= g by sgd()`", tree->text);
	if (tree->operation != DFG_UPDATE_DECREASE)
		return DFG_ERR(DFG_DATA, "`by` may follow only `-= g`: the rule turns the gradient g into an update");
	DFG_TRY(dfg_rows_subscripts(eval, bindings, tree->kid[1]->kid, tree->kid[1]->n, NULL, &n, out_indices));
	if (n != 1 || tree->kid[1]->n != 1)
		return DFG_ERR(DFG_DATA, "a rule updates whole rows: give one subscript");
	struct dfg_shape rows = dfg_eval_fact(eval, *out_indices)->shape, given = dfg_eval_fact(eval, *slope)->shape;
	int rank = rows.rank;
	for (int d = 1; d < cell->shape.rank; d++)
		rows.dim[rows.rank++] = cell->shape.dim[d];
	if (!dfg_shape_fits(&given, &rows))
		return DFG_ERR(DFG_DATA, "the gradient has shape %s, but the rows have shape %s", dfg_shape_words(&given).s,
			dfg_shape_words(&rows).s);
	return rank ? sum_duplicates(eval, cell, out_indices, slope) : take_single(eval, out_indices, slope);
}

static struct dfg_err *find_step(struct dfg_eval *eval, struct dfg_datum *out_step)
{
	const struct dfg_builtin *builtin = dfg_builtins;
	while (strcmp(builtin->name, "step") != 0)
		builtin++;
	return builtin->call(eval, &(struct dfg_call_site){0}, out_step);
}

/* Calls the layer, whose states are named after the variable. */
static struct dfg_err *apply(struct dfg_eval *eval, const struct dfg_tree *tree, const struct dfg_cell *cell,
	struct dfg_datum *rule, const struct dfg_edge in[2], struct dfg_edge *out_p)
{
	struct dfg_argument argument[3] = {{.value = DFG_TENSOR(in[0])}, {.value = DFG_TENSOR(in[1])}};
	const struct dfg_call_site site = {tree->kid[2], argument, 3};
	struct dfg_datum result;
	for (int i = 0; i < 3; i++)
		argument[i].tree = tree->kid[2];
	DFG_TRY(find_step(eval, &argument[2].value));
	rule->instance->path = dfg_arena_path(eval->arena, cell->path, rule->instance->callable->name);
	if (!rule->instance->path)
		return dfg_no_memory("a rule");
	DFG_TRY(dfg_apply(eval, rule, &site, &result));
	return dfg_to_edge(eval, &result, cell->dtype, out_p);
}

static struct dfg_err *update(struct dfg_eval *eval, const struct dfg_tree *tree, struct dfg_cell *cell,
	struct dfg_datum *instance, struct dfg_edge slope, uint32_t *out_node)
{
	struct dfg_edge in[2] = {{0, 0}, slope}, p;
	DFG_TRY(gather(eval, cell, mark_of(eval->rule), &in[0]));
	eval->row_part = dfg_eval_fact(eval, in[0])->shape;
	DFG_TRY(apply(eval, tree, cell, instance, in, &p));
	const struct dfg_inferred *old = dfg_eval_fact(eval, in[0]), *made = dfg_eval_fact(eval, p);
	if (old->dtype != made->dtype || !dfg_shape_fits(&old->shape, &made->shape))
		return DFG_ERR(DFG_DATA, "the new value of the rows is %s, but the rows are %s",
			dfg_type_words(made->dtype, &made->shape).s, dfg_type_words(old->dtype, &old->shape).s);
	return scatter(eval, cell, p, out_node);
}

struct dfg_err *dfg_rule_update(struct dfg_eval *eval, struct dfg_name_scope *bindings, const struct dfg_tree *tree,
	struct dfg_cell *cell, struct dfg_edge slope, uint32_t *out_node)
{
	struct dfg_row_rule rule = {.tree = tree->kid[2],
		.region = eval->region,
		.whole = cell->shape,
		.is_buffered = dfg_parallel_buffers(eval->parallel, cell)};
	struct dfg_datum instance;
	DFG_TRY(dfg_eval_expr(eval, bindings, tree->kid[2], &instance));
	if (instance.kind != DFG_DATUM_INSTANCE || instance.instance->callable->tree->kid[1]->n != 3)
		return dfg_eval_at(eval, tree->kid[2],
			DFG_ERR(DFG_DATA,
				"a rule is an optimizer with its arguments, such as adagrad(lr = 0.1): a layer of (p, g, step)"));
	if (eval->rule)
		return DFG_ERR(DFG_DATA, "a rule cannot contain an update by another rule");
	DFG_TRY(dfg_eval_at(eval, tree, find_rows(eval, bindings, tree, cell, &slope, &rule.indices)));
	eval->rule = &rule;
	struct dfg_err *err = dfg_eval_at(eval, tree->kid[2], update(eval, tree, cell, &instance, slope, out_node));
	eval->rule = NULL;
	return err;
}
