#include "lib/pass/grad/induction.h"

#include "lib/graph/loop_step.h"

static const struct dfg_node *node_of(const struct dfg_gradient_frames *m, struct dfg_edge edge)
{
	return &m->builder->graph->node[edge.node];
}

/* Whether the loop's condition is that the Merge's value is 0 or more. */
static bool ends_below_zero(const struct dfg_gradient_frames *m, const struct dfg_loop *loop, uint32_t merge)
{
	struct dfg_edge condition = dfg_live_source(m->builder->graph, (struct dfg_edge){loop->condition, 0});
	const struct dfg_node *node = node_of(m, condition);
	return dfg_node_means(node, DFG_MEANS_AT_LEAST) && dfg_comes_from_merge(m->builder->graph, node->in[0], merge) &&
		   dfg_scalar_is(&m->builder->facts, node->in[1], 0);
}

void dfg_induction_find(struct dfg_gradient_frames *m, uint32_t l)
{
	const struct dfg_loop *loop = &m->loops.loop[l];
	struct dfg_induction_variable *counter = &m->counter[l];
	counter->iterations.node = DFG_NONE;
	for (uint32_t i = 0; i < loop->n_variable && !counter->known; i++) {
		const struct dfg_loop_variable *v = &loop->variable[i];
		enum dfg_dtype dtype = dfg_facts_of(&m->builder->facts, (struct dfg_edge){v->merge, 0})->dtype;
		if (v->enter == DFG_NONE || !dfg_dtype_is(dtype, "index"))
			continue;
		struct dfg_edge start = m->builder->graph->node[v->enter].in[0];
		int step = dfg_loop_step(m->builder->graph, &m->builder->facts, v);
		counter->down = step < 0 && ends_below_zero(m, loop, v->merge);
		counter->known = counter->down || (step > 0 && dfg_scalar_is(&m->builder->facts, start, 0));
		counter->merge = v->merge;
	}
}

enum dfg_dtype dfg_induction_dtype(const struct dfg_gradient_frames *m, uint32_t loop)
{
	return dfg_facts_of(&m->builder->facts, (struct dfg_edge){m->counter[loop].merge, 0})->dtype;
}

struct dfg_err *dfg_variable_merge(struct dfg_gradient_frames *m, uint32_t loop, bool in_gradient,
	struct dfg_edge start, struct dfg_new_variable *out_variable)
{
	const struct dfg_location inside = {.loop = loop, .in_gradient = in_gradient};
	struct dfg_edge in[2] = {{0}, {DFG_NONE, 0}}; /* the second is set when the loop is closed */
	const struct dfg_attr two = DFG_ATTR_I("N", 2);
	DFG_TRY(dfg_gradient_frames_enter(m, start, &inside, false, &in[0]));
	return dfg_gradient_frames_node(m, &inside,
		&(struct dfg_own_node){.op = "Merge", .in = in, .n_in = 2, .attr = &two, .n_attr = 1}, &out_variable->merge);
}

struct dfg_err *dfg_variable_switch(
	struct dfg_gradient_frames *m, uint32_t loop, bool in_gradient, struct dfg_new_variable *variable)
{
	struct dfg_location body;
	DFG_TRY(dfg_gradient_frames_body(m, loop, in_gradient, &body));
	DFG_TRY(dfg_gradient_frames_bring(m, variable->merge, &body, &variable->body));
	variable->out = (struct dfg_edge){variable->body.node, 0};
	return NULL;
}

struct dfg_err *dfg_variable_close(struct dfg_gradient_frames *m, uint32_t loop, bool in_gradient,
	const struct dfg_new_variable *variable, struct dfg_edge next)
{
	struct dfg_location body;
	DFG_TRY(dfg_gradient_frames_body(m, loop, in_gradient, &body));
	DFG_TRY(dfg_gradient_frames_bring(m, next, &body, &next));
	DFG_TRY(dfg_gradient_frames_node(
		m, &body, &(struct dfg_own_node){.op = "NextIteration", .in = &next, .n_in = 1}, &next));
	m->builder->graph->node[variable->merge.node].in[1] = next;
	return NULL;
}

struct dfg_err *dfg_variable_exit(struct dfg_gradient_frames *m, uint32_t loop, bool in_gradient,
	const struct dfg_new_variable *variable, struct dfg_edge *out_edge)
{
	struct dfg_location outside;
	DFG_TRY(dfg_gradient_frames_entry(m, loop, in_gradient, &outside));
	return dfg_gradient_frames_node(
		m, &outside, &(struct dfg_own_node){.op = "Exit", .in = &variable->out, .n_in = 1}, out_edge);
}

/* The forward loop's own induction variable. */
static struct dfg_err *own_variable(struct dfg_gradient_frames *m, uint32_t loop, struct dfg_new_variable *out_variable)
{
	out_variable->merge = (struct dfg_edge){m->counter[loop].merge, 0};
	return dfg_variable_switch(m, loop, false, out_variable);
}

static struct dfg_err *add_counter(struct dfg_gradient_frames *m, uint32_t loop)
{
	struct dfg_location entry, body;
	struct dfg_new_variable variable;
	struct dfg_edge in[2];
	DFG_TRY(dfg_gradient_frames_entry(m, loop, false, &entry));
	DFG_TRY(dfg_gradient_frames_body(m, loop, false, &body));
	DFG_TRY(dfg_gradient_frames_int(m, &entry, DFG_I32, 0, &in[0]));
	DFG_TRY(dfg_variable_merge(m, loop, false, in[0], &variable));
	DFG_TRY(dfg_variable_switch(m, loop, false, &variable));
	in[0] = variable.body;
	DFG_TRY(dfg_gradient_frames_int(m, &body, DFG_I32, 1, &in[1]));
	DFG_TRY(dfg_gradient_frames_node(m, &body, &(struct dfg_own_node){.op = "AddV2", .in = in, .n_in = 2}, &in[0]));
	DFG_TRY(dfg_variable_close(m, loop, false, &variable, in[0]));
	m->counter[loop] =
		(struct dfg_induction_variable){.known = true, .merge = variable.merge.node, .iterations = {.node = DFG_NONE}};
	return NULL;
}

struct dfg_err *dfg_induction_index(struct dfg_gradient_frames *m, uint32_t loop, struct dfg_edge *out_edge)
{
	struct dfg_new_variable variable;
	if (!m->counter[loop].known)
		DFG_TRY(add_counter(m, loop));
	DFG_TRY(own_variable(m, loop, &variable));
	*out_edge = variable.body;
	return NULL;
}

/* The existing Exit of the induction variable, or DFG_NONE. */
static uint32_t find_exit(const struct dfg_gradient_frames *m, uint32_t loop)
{
	for (uint32_t i = 0; i < m->loops.loop[loop].n_variable; i++)
		if (m->loops.loop[loop].variable[i].merge == m->counter[loop].merge)
			return m->loops.loop[loop].variable[i].exit;
	return DFG_NONE;
}

/*
 * The number of iterations of a loop that counts down from N - 1: N itself if N - 1 was computed from it, else one
 * more.
 */
static struct dfg_err *iterations_down(struct dfg_gradient_frames *m, uint32_t loop, struct dfg_edge *out_edge)
{
	const struct dfg_graph *graph = m->builder->graph;
	struct dfg_edge start = graph->node[graph->node[m->counter[loop].merge].in[0].node].in[0], in[2] = {start};
	const struct dfg_node *node = node_of(m, start);
	struct dfg_location entry, at;
	DFG_TRY(dfg_gradient_frames_entry(m, loop, false, &entry));
	if (dfg_node_means(node, DFG_MEANS_DIFFERENCE) && dfg_scalar_is(&m->builder->facts, node->in[1], 1)) {
		DFG_TRY(dfg_gradient_location(m, node->in[0], &at));
		*out_edge = node->in[0];
		return NULL;
	}
	DFG_TRY(dfg_gradient_frames_int(m, &entry, dfg_induction_dtype(m, loop), 1, &in[1]));
	return dfg_gradient_frames_node(m, &entry, &(struct dfg_own_node){.op = "AddV2", .in = in, .n_in = 2}, out_edge);
}

struct dfg_err *dfg_induction_iterations(struct dfg_gradient_frames *m, uint32_t loop, struct dfg_edge *out_edge)
{
	struct dfg_edge index, *iterations = &m->counter[loop].iterations;
	struct dfg_new_variable variable;
	DFG_TRY(dfg_induction_index(m, loop, &index));
	uint32_t exit = find_exit(m, loop);
	if (iterations->node == DFG_NONE && m->counter[loop].down)
		DFG_TRY(iterations_down(m, loop, iterations));
	else if (iterations->node == DFG_NONE && exit != DFG_NONE)
		*iterations = (struct dfg_edge){exit, 0};
	else if (iterations->node == DFG_NONE) {
		DFG_TRY(own_variable(m, loop, &variable));
		DFG_TRY(dfg_variable_exit(m, loop, false, &variable, iterations));
	}
	*out_edge = *iterations;
	return NULL;
}
