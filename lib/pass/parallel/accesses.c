#include "lib/pass/parallel/analysis_private.h"

static bool is_handle(const struct dfg_inferred *fact)
{
	return fact->is_ref || fact->dtype == DFG_RESOURCE;
}

static struct dfg_err *node_error(const struct dfg_loop_analysis *a, uint32_t n, const char *why)
{
	const struct dfg_node *node = &a->graph->node[n];
	return DFG_ERR(DFG_DATA, "node '%s' (%s): %s", node->name, node->op_name, why);
}

static int64_t bytes_of(const struct dfg_inferred *handle)
{
	const struct dfg_handle_type *holds = handle->holds;
	if (!holds || holds->dtype == DFG_NO_DTYPE || !dfg_shape_known(&holds->shape))
		return DFG_UNKNOWN;
	return dfg_shape_count(&holds->shape) * (int64_t)dfg_dtype_size(holds->dtype);
}

static uint32_t array_of(struct dfg_loop_analysis *a, uint32_t variable, const struct dfg_inferred *handle)
{
	uint32_t *array = &a->array_of[variable];
	if (!*array) {
		a->out->array[a->out->n_array] = (struct dfg_loop_array){
			.name = dfg_alias_name(a->aliases, variable),
			.bytes = bytes_of(handle),
		};
		*array = ++a->out->n_array;
	}
	return *array - 1;
}

/* The access of a node to the variable of its input e; a value of a ref is a read of all of the variable. */
static struct dfg_err *take_access(
	struct dfg_loop_analysis *a, uint32_t n, uint32_t e, uint32_t variable, bool is_value, bool put)
{
	const struct dfg_node *node = &a->graph->node[n];
	struct dfg_loop_dependences *out = a->out;
	if (!put) {
		out->n_access++;
		return NULL;
	}
	uint32_t array = array_of(a, variable, dfg_facts_of(a->facts, node->in[e]));
	bool writes = !is_value && node->op->flags & DFG_WRITES;
	bool is_rule = dfg_node_mark(node, "_dfg_rule", NULL); /* its owner applies it to sums of deltas */
	bool is_update =
		writes && !e && (node->op->role == DFG_ASSIGN || node->op->combines || node->op->elements != DFG_ELEMENTS_ALL);
	out->access[out->n_access++] = (struct dfg_array_access){
		.node = n,
		.array = array,
		.reads = !is_update && !is_rule,
		.writes = writes,
		.is_rule = is_rule,
		.combines = is_rule     ? DFG_MEANS_SUM
					: is_update ? node->op->combines
								: DFG_MEANS_NOTHING,
	};
	out->array[array].is_written |= writes;
	return NULL;
}

/* Whether the node reads, from an array that an iteration has not made for itself, elements that iterations write. */
static bool reads_yields(const struct dfg_loop_analysis *a, const struct dfg_node *node, uint32_t handle)
{
	struct dfg_edge made = dfg_parallel_source(a, node->in[handle]);
	struct dfg_edge content = dfg_parallel_source(a, node->in[node->n_in - 1]);
	return node->op->flags & DFG_READS && !dfg_edge_is_inside(a, made) && dfg_edge_is_inside(a, content);
}

/* A handle that is not of a known variable: of a queue, a table, an array, or of one of several variables. */
static struct dfg_err *check_other(struct dfg_loop_analysis *a, uint32_t n, uint32_t e)
{
	const struct dfg_node *node = &a->graph->node[n];
	unsigned flags = node->op ? node->op->flags : 0;
	struct dfg_edge source = dfg_parallel_source(a, node->in[e]);
	const struct dfg_node *maker = &a->graph->node[source.node];
	if (!(flags & (DFG_READS | DFG_WRITES)) || node->op->role == DFG_SAVE)
		return NULL;
	if (flags & DFG_TENSOR_ARRAY)
		return reads_yields(a, node, e)
				   ? node_error(a, n, "it reads values of other iterations from an array: keep them in a variable")
				   : NULL;
	bool is_made = dfg_node_role(maker) == DFG_PLAIN && maker->op && maker->op->flags & DFG_STATEFUL &&
				   !(maker->op->flags & DFG_VIEW);
	if (is_made && !dfg_edge_is_inside(a, source) && !(flags & DFG_WRITES))
		return NULL;
	return node_error(a, n,
		flags & DFG_WRITES
			? "a parallel loop may change only variables that the graph creates"
			: "the handle may refer to a variable that the loop changes: read that variable through its own handle");
}

static bool is_passed_on(const struct dfg_node *node)
{
	return dfg_role_is_flow(dfg_node_role(node)) || dfg_node_role(node) == DFG_IDENTITY;
}

/* Whether the node reads a variable for no reader, as the read that TensorFlow adds after an update. */
static bool is_idle(const struct dfg_loop_analysis *a, uint32_t n)
{
	const struct dfg_node *node = &a->graph->node[n];
	return !a->has_reader[n] && node->op && !(node->op->flags & DFG_WRITES);
}

static struct dfg_err *visit(struct dfg_loop_analysis *a, uint32_t n, bool put)
{
	const struct dfg_node *node = &a->graph->node[n];
	unsigned flags = node->op ? node->op->flags & (DFG_READS | DFG_WRITES) : 0;
	for (uint32_t e = 0; e < node->n_in; e++) {
		const struct dfg_inferred *fact = dfg_facts_of(a->facts, node->in[e]);
		uint32_t variable = dfg_alias_of(a->aliases, node->in[e]);
		if (!is_handle(fact))
			continue;
		bool is_value = fact->is_ref && !dfg_node_takes_ref(node, e);
		if (!variable && !put)
			DFG_TRY(check_other(a, n, e));
		else if (variable && (flags || is_value) && is_idle(a, n))
			continue;
		else if (variable && (flags || is_value))
			DFG_TRY(take_access(a, n, e, variable - 1, is_value, put));
		else if (variable && !put && !is_passed_on(node) && !dfg_node_means(node, DFG_MEANS_OF_SHAPE))
			return node_error(a, n, "a parallel loop may pass variables only to ops that read or write them");
	}
	return NULL;
}

/* Whether updates of this kind may be applied in any order. */
static bool commutes(enum dfg_meaning combines)
{
	return combines == DFG_MEANS_SUM || combines == DFG_MEANS_PRODUCT || combines == DFG_MEANS_MAXIMUM ||
		   combines == DFG_MEANS_MINIMUM;
}

static void find_accumulators(struct dfg_loop_dependences *out)
{
	for (uint32_t i = 0; i < out->n_array; i++) {
		struct dfg_loop_array *array = &out->array[i];
		enum dfg_meaning by = DFG_MEANS_NOTHING;
		array->is_accumulator = array->commutes = array->is_written;
		for (uint32_t k = 0; k < out->n_access; k++) {
			const struct dfg_array_access *access = &out->access[k];
			if (access->array != i)
				continue;
			array->is_accumulator &= !access->reads && !access->is_rule;
			array->commutes &= !access->writes || (commutes(access->combines) && (!by || by == access->combines));
			by = access->writes ? access->combines : by;
		}
		array->is_accumulator &= array->commutes;
	}
}

struct dfg_err *dfg_accesses_find(struct dfg_loop_analysis *a)
{
	struct dfg_loop_dependences *out = a->out;
	struct dfg_err *errors = NULL;
	a->has_reader = dfg_arena_zeros(a->arena, a->graph->count, sizeof *a->has_reader);
	if (!a->has_reader)
		return dfg_no_memory("the accesses of a loop");
	for (uint32_t n = 0; n < a->graph->count; n++)
		for (uint32_t e = 0; e < a->graph->node[n].n_in; e++)
			a->has_reader[a->graph->node[n].in[e].node] = true;
	for (uint32_t n = 0; n < a->graph->count; n++)
		if (a->is_inside[n])
			errors = dfg_err_join(errors, visit(a, n, false));
	if (errors)
		return errors;
	out->access = dfg_arena_zeros(a->arena, out->n_access + 1, sizeof *out->access);
	out->array = dfg_arena_zeros(a->arena, out->n_access + 1, sizeof *out->array);
	a->array_of = dfg_arena_zeros(a->arena, a->aliases->names.count + 1, sizeof *a->array_of);
	if (!out->access || !out->array || !a->array_of)
		return dfg_no_memory("the accesses of a loop");
	out->n_access = 0;
	for (uint32_t n = 0; n < a->graph->count; n++)
		if (a->is_inside[n])
			DFG_TRY(visit(a, n, true));
	find_accumulators(out);
	return NULL;
}
