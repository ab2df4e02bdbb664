#include "lib/pass/parallel/analysis_private.h"

#include "lib/graph/liveness.h"
#include "lib/graph/loop_step.h"

#include <inttypes.h>
#include <string.h>

static const struct dfg_node *node_of(const struct dfg_loop_analysis *a, struct dfg_edge edge)
{
	return &a->graph->node[edge.node];
}

static bool is_counter(const struct dfg_loop_analysis *a, const struct dfg_loop_variable *v)
{
	return v->enter != DFG_NONE && v->next != DFG_NONE && dfg_loop_step(a->graph, a->facts, v) == 1;
}

/* Whether the loop variable is the flow of an array to which each iteration writes the element of its own number. */
static bool is_yield(const struct dfg_loop_analysis *a, const struct dfg_loop_variable *v)
{
	if (v->next == DFG_NONE)
		return false;
	const struct dfg_node *write = node_of(a, dfg_parallel_source(a, a->graph->node[v->next].in[0]));
	unsigned flags = DFG_TENSOR_ARRAY | DFG_WRITES;
	return write->op && (write->op->flags & flags) == flags && write->n_in > 2 &&
		   dfg_comes_from_merge(a->graph, write->in[write->n_in - 1], v->merge) &&
		   dfg_comes_from_merge(a->graph, write->in[1], a->counter);
}

static bool is_unchanged(const struct dfg_loop_analysis *a, const struct dfg_loop_variable *v)
{
	return v->next != DFG_NONE && dfg_comes_from_merge(a->graph, a->graph->node[v->next].in[0], v->merge);
}

/* The variable that a node reads whole, + 1; 0: it does something else. */
static uint32_t read_by(const struct dfg_loop_analysis *a, struct dfg_edge edge)
{
	const struct dfg_node *node = node_of(a, dfg_live_source(a->graph, edge));
	return dfg_node_role(node) == DFG_READ ? dfg_alias_of(a->aliases, node->in[0]) : 0;
}

/* Whether the loop variable is the value of a variable, read before the loop and again at the end of each iteration. */
static bool is_read_anew(const struct dfg_loop_analysis *a, const struct dfg_loop_variable *v)
{
	if (v->enter == DFG_NONE || v->next == DFG_NONE)
		return false;
	uint32_t before = read_by(a, a->graph->node[v->enter].in[0]);
	return before && before == read_by(a, a->graph->node[v->next].in[0]);
}

/* The counter, variables and their values, values that do not change, and arrays of yields. */
static struct dfg_err *check_carried(const struct dfg_loop_analysis *a)
{
	const struct dfg_loop *loop = &a->loops->loop[a->l];
	struct dfg_err *errors = NULL;
	for (uint32_t i = 0; i < loop->n_variable; i++) {
		const struct dfg_loop_variable *v = &loop->variable[i];
		if (v->merge == DFG_NONE || is_counter(a, v) || is_yield(a, v) || is_unchanged(a, v) || is_read_anew(a, v))
			continue;
		errors = dfg_err_join(errors,
			DFG_ERR(DFG_DATA,
				"node '%s' carries a value from one iteration to the next: a parallel loop carries only its counter; "
				"keep the value in a variable",
				a->graph->node[v->merge].name));
	}
	return errors;
}

/* A loop variable that is a handle must be of the same variable in all iterations, as dfg_aliases takes it to be. */
static struct dfg_err *check_handle(const struct dfg_loop_analysis *a, const struct dfg_loop_variable *v)
{
	if (v->merge == DFG_NONE || v->next == DFG_NONE)
		return NULL;
	uint32_t variable = dfg_alias_of(a->aliases, (struct dfg_edge){v->merge, 0});
	if (!variable || dfg_alias_of(a->aliases, a->graph->node[v->next].in[0]) == variable)
		return NULL;
	return DFG_ERR(DFG_DATA, "node '%s' is a different variable in each iteration", a->graph->node[v->merge].name);
}

/* The handles of all other loops: this one may be inside them, or get its handles from them. */
static struct dfg_err *check_handles(const struct dfg_loop_analysis *a)
{
	struct dfg_err *errors = NULL;
	for (uint32_t l = 1; l < a->loops->count; l++)
		for (uint32_t i = 0; l != a->l && i < a->loops->loop[l].n_variable; i++)
			errors = dfg_err_join(errors, check_handle(a, &a->loops->loop[l].variable[i]));
	return errors;
}

/* Whether the scalar is a counter, or the same in all iterations. */
static bool is_bound(const struct dfg_loop_analysis *a, struct dfg_edge edge)
{
	const struct dfg_loop *loop = &a->loops->loop[a->l];
	edge = dfg_parallel_source(a, edge);
	for (uint32_t i = 0; i < loop->n_variable; i++)
		if (edge.node == loop->variable[i].merge && is_counter(a, &loop->variable[i]))
			return true;
	return !dfg_edge_is_inside(a, edge) || dfg_facts_of(a->facts, edge)->known;
}

static bool is_count(const struct dfg_loop_analysis *a, struct dfg_edge edge, int depth)
{
	edge = dfg_parallel_source(a, edge);
	const struct dfg_node *node = node_of(a, edge);
	enum dfg_meaning means = node->op ? node->op->means : DFG_MEANS_NOTHING;
	if (depth && means == DFG_MEANS_AND)
		return is_count(a, node->in[0], depth - 1) && is_count(a, node->in[1], depth - 1);
	bool compares = means == DFG_MEANS_LESS || means == DFG_MEANS_AT_MOST || means == DFG_MEANS_GREATER ||
					means == DFG_MEANS_AT_LEAST;
	return compares && is_bound(a, node->in[0]) && is_bound(a, node->in[1]);
}

static struct dfg_err *check_effects(const struct dfg_loop_analysis *a)
{
	struct dfg_err *errors = NULL;
	for (uint32_t n = 0; n < a->graph->count; n++) {
		const struct dfg_node *node = &a->graph->node[n];
		const char *why = NULL;
		if (!a->is_inside[n])
			continue;
		if (!node->op)
			why = "the op is unknown, so a parallel loop cannot contain it";
		else if (node->op->flags & DFG_BLOCKING || node->op->role == DFG_CALL)
			why = "a parallel loop cannot contain an op that waits for others";
		else if (n != a->loops->loop[a->l].condition && node->op->role == DFG_LOOP_COND &&
				 dfg_node_attr(node, "_dfg_parallel"))
			why = "a parallel loop cannot contain another one";
		if (why)
			errors = dfg_err_join(errors, DFG_ERR(DFG_DATA, "node '%s' (%s): %s", node->name, node->op_name, why));
	}
	return errors;
}

/* Whether a delta with the mark leads to the tensor without another access in between. */
static struct dfg_err *find_mark(
	const struct dfg_loop_analysis *a, struct dfg_edge edge, uint32_t *out_mark, int64_t *out_staleness)
{
	struct dfg_arena scratch = {0};
	uint32_t *stack = dfg_arena_zeros(&scratch, a->graph->count, sizeof *stack), depth = 0;
	bool *seen = dfg_arena_zeros(&scratch, a->graph->count, sizeof *seen);
	*out_mark = DFG_NONE;
	if (stack && seen)
		seen[stack[depth++] = edge.node] = true;
	while (depth && *out_mark == DFG_NONE) {
		uint32_t n = stack[--depth];
		const struct dfg_node *node = &a->graph->node[n];
		if (!a->is_inside[n] || (node->op && node->op->flags & (DFG_READS | DFG_WRITES)))
			continue;
		if (dfg_node_mark(node, "_dfg_buffer", out_staleness))
			*out_mark = n;
		for (uint32_t e = 0; e < node->n_in; e++)
			if (!seen[node->in[e].node])
				seen[stack[depth++] = node->in[e].node] = true;
	}
	dfg_arena_release(&scratch);
	return stack && seen ? NULL : dfg_no_memory("the attributes of a loop");
}

static struct dfg_err *mark_error(const struct dfg_loop_analysis *a, uint32_t n, const char *array, const char *why)
{
	return DFG_ERR(DFG_DATA, "node '%s' (%s): variable '%s' is buffered, %s", a->graph->node[n].name,
		a->graph->node[n].op_name, array, why);
}

/* All updates of a buffered variable have the mark, with one staleness, and commute. */
static struct dfg_err *check_buffer(struct dfg_loop_analysis *a, uint32_t i, bool has_mark, int64_t staleness)
{
	const struct dfg_array_access *access = &a->out->access[i];
	struct dfg_loop_array *array = &a->out->array[access->array];
	if (!has_mark || (array->is_buffered && array->staleness == staleness))
		return NULL;
	if (array->is_buffered)
		return mark_error(a, access->node, array->name, "but another update gives it another staleness");
	array->is_buffered = true;
	array->staleness = staleness;
	if (!array->commutes)
		return mark_error(
			a, access->node, array->name, "so it takes only updates that commute, all with the same operation");
	if (a->out->is_ordered)
		return mark_error(a, access->node, array->name, "which an ordered loop does not allow: its reads may be stale");
	return NULL;
}

static struct dfg_err *check_buffers(struct dfg_loop_analysis *a)
{
	struct dfg_err *errors = NULL;
	struct dfg_loop_dependences *out = a->out;
	uint32_t *mark = dfg_arena_zeros(a->arena, out->n_access + 1, sizeof *mark);
	if (!mark)
		return dfg_no_memory("the attributes of a loop");
	for (uint32_t i = 0; i < out->n_access; i++) {
		const struct dfg_node *node = &a->graph->node[out->access[i].node];
		int64_t staleness = 0;
		mark[i] = DFG_NONE;
		if (!out->access[i].writes || node->n_in < 2)
			continue;
		uint32_t update = node->op->elements == DFG_ELEMENTS_ALL || node->n_in < 3 ? 1 : 2;
		DFG_TRY(find_mark(a, node->in[update], &mark[i], &staleness));
		errors = dfg_err_join(errors, check_buffer(a, i, mark[i] != DFG_NONE, staleness));
	}
	for (uint32_t i = 0; i < out->n_access; i++) {
		const struct dfg_loop_array *array = &out->array[out->access[i].array];
		if (out->access[i].is_rule && !array->is_buffered)
			errors = dfg_err_join(errors, DFG_ERR(DFG_DATA,
											  "node '%s' (%s): attribute '_dfg_rule' is allowed only for a buffered "
											  "variable, and '%s' is not buffered",
											  a->graph->node[out->access[i].node].name,
											  a->graph->node[out->access[i].node].op_name, array->name));
		if (array->is_buffered && out->access[i].writes && mark[i] == DFG_NONE)
			errors = dfg_err_join(errors,
				mark_error(a, out->access[i].node, array->name, "but this update has no attribute '_dfg_buffer'"));
	}
	return errors;
}

struct dfg_err *dfg_obligations_check(struct dfg_loop_analysis *a)
{
	const struct dfg_loop *loop = &a->loops->loop[a->l];
	struct dfg_err *errors = NULL;
	if (a->counter == DFG_NONE)
		errors = DFG_ERR(DFG_DATA, "it has no counter that grows by 1 in each iteration");
	else if (!is_count(a, a->graph->node[loop->condition].in[0], 8))
		errors = DFG_ERR(DFG_DATA,
			"node '%s': the condition of a parallel loop must compare its counter with a number that is known before "
			"the loop begins",
			a->graph->node[loop->condition].name);
	if (!errors)
		errors = check_carried(a);
	errors = dfg_err_join(errors, check_handles(a));
	errors = dfg_err_join(errors, check_effects(a));
	return dfg_err_join(errors, check_buffers(a));
}
