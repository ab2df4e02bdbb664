#include "lib/pass/grad/induction.h"
#include "lib/pass/grad/loop_segments.h"
#include "lib/pass/grad/tape.h"
#include "lib/pass/grad/backpropagation.h"
#include "lib/graph/loop_shapes.h"

#include <string.h>

bool dfg_has_control_flow(const struct dfg_graph *graph)
{
	for (uint32_t n = 0; n < graph->count; n++)
		if (dfg_role_is_flow_or_saved(dfg_node_role(&graph->node[n])))
			return true;
	return false;
}

static const struct dfg_node *node_of(const struct dfg_backprop *s, uint32_t n)
{
	return &s->builder->graph->node[n];
}

static struct dfg_err *allocate(struct dfg_backprop *s)
{
	struct dfg_control_gradient *paths = s->paths;
	uint32_t loops = paths->frames.loops.count;
	paths->arrived = dfg_arena_zeros(&s->scratch, (size_t)s->tensors + 1, sizeof(void *));
	paths->adjoint = dfg_arena_zeros(&s->scratch, (size_t)s->count + 1, sizeof(void *));
	paths->open = dfg_arena_zeros(&s->scratch, loops, sizeof(void *));
	paths->exit = dfg_arena_zeros(&s->scratch, loops, sizeof *paths->exit);
	paths->next_exit = dfg_arena_zeros(&s->scratch, (size_t)s->count + 1, sizeof *paths->next_exit);
	if (!paths->arrived || !paths->adjoint || !paths->open || !paths->exit || !paths->next_exit)
		return DFG_ERR(DFG_MEMORY, "no memory to differentiate %u nodes", s->count);
	return NULL;
}

static void list_exits(struct dfg_backprop *s)
{
	struct dfg_control_gradient *paths = s->paths;
	for (uint32_t l = 0; l < paths->frames.loops.count; l++)
		paths->exit[l] = DFG_NONE;
	for (uint32_t n = s->count; n--;) {
		uint32_t home = dfg_loop_home(s->builder->graph, &paths->frames.loops, n);
		if (dfg_node_role(node_of(s, n)) != DFG_EXIT)
			continue;
		paths->next_exit[n] = paths->exit[home];
		paths->exit[home] = n;
	}
}

struct dfg_err *dfg_control_gradient_new(struct dfg_backprop *s)
{
	struct dfg_control_gradient *paths = s->paths = dfg_arena_zeros(&s->scratch, 1, sizeof *paths);
	uint32_t *order = dfg_arena_zeros(&s->scratch, (size_t)s->count + 1, sizeof *order);
	if (!paths || !order)
		return DFG_ERR(DFG_MEMORY, "no memory to differentiate %u nodes", s->count);
	paths->frames.prefix = s->prefix;
	paths->frames.remat = s->remat.policy == DFG_REMAT_CARRIED;
	paths->frames.in_segments = dfg_remat_in_segments(&s->remat);
	DFG_TRY(dfg_gradient_frames_init(&paths->frames, s->builder, s->order, &s->scratch));
	if (paths->frames.loops.count > 1) {
		DFG_TRY(dfg_loops_order(s->builder->graph, &paths->frames.loops, &s->scratch, order));
		s->order = order;
		DFG_TRY(dfg_loop_shapes(s->builder, &paths->frames.loops, order, &s->scratch));
	}
	DFG_TRY(allocate(s));
	list_exits(s);
	return NULL;
}

void dfg_control_gradient_free(struct dfg_backprop *s)
{
	if (s->paths)
		dfg_gradient_frames_release(&s->paths->frames);
}

struct dfg_err *dfg_control_gradient_region(
	struct dfg_backprop *s, const struct dfg_edge *of, uint32_t n_of, const struct dfg_edge *wrt, uint32_t n_wrt)
{
	struct dfg_gradient_frames *m = &s->paths->frames;
	uint32_t region = n_of ? m->loops.of[of[0].node] : 0;
	for (uint32_t i = 0; i < n_of + n_wrt; i++) {
		uint32_t n = i < n_of ? of[i].node : wrt[i - n_of].node, loop = m->loops.of[n];
		if (loop == region)
			continue;
		return DFG_ERR(DFG_DATA, "'%.200s' is in loop '%.*s', but '%.200s' is not: both must be of the same iteration",
			node_of(s, loop ? n : of[0].node)->name, (int)m->loops.loop[loop ? loop : region].name.length,
			m->loops.loop[loop ? loop : region].name.s, node_of(s, loop ? of[0].node : n)->name);
	}
	s->paths->at = region;
	return dfg_gradient_frames_begin(m, region);
}

/* Whether the node is in the region and does not lead out of its iteration. */
static bool is_in_region(const struct dfg_backprop *s, uint32_t n)
{
	const struct dfg_gradient_frames *m = &s->paths->frames;
	uint32_t home = dfg_loop_home(s->builder->graph, &m->loops, n);
	enum dfg_role role = dfg_node_role(node_of(s, n));
	bool leaves = home == m->region && (role == DFG_EXIT || role == DFG_NEXT_ITERATION);
	return dfg_loop_within(&m->loops, home, m->region) && !leaves;
}

static bool stops(const struct dfg_op *op)
{
	return !op || (op->gradient && !*op->gradient);
}

static bool input_depends(const struct dfg_backprop *s, const struct dfg_node *node, uint32_t e)
{
	struct dfg_edge edge = node->in[e];
	if (dfg_node_role(node) == DFG_LOAD)
		return e == 0 && s->depends[edge.node];
	return edge.port < (int32_t)dfg_facts_outputs(&s->builder->facts, edge.node) && dfg_backprop_wants(s, edge);
}

static bool walk_dependents(struct dfg_backprop *s)
{
	bool more = false;
	for (uint32_t i = 0; i < s->count; i++) {
		uint32_t n = s->order ? s->order[i] : i;
		const struct dfg_node *node = node_of(s, n);
		bool was = s->depends[n];
		for (uint32_t e = 0; e < node->n_in && !stops(node->op) && !s->depends[n] && is_in_region(s, n); e++)
			s->depends[n] = input_depends(s, node, e);
		more |= s->depends[n] && !was;
	}
	return more;
}

/* Marks the nodes that marked nodes read; returns whether there were more. */
static bool walk_useful(const struct dfg_backprop *s, bool *useful)
{
	bool more = false;
	for (uint32_t i = s->count; i--;) {
		uint32_t n = s->order ? s->order[i] : i;
		const struct dfg_node *node = node_of(s, n);
		for (uint32_t e = 0; e < node->n_in && useful[n] && s->depends[n]; e++) {
			more |= !useful[node->in[e].node];
			useful[node->in[e].node] = true;
		}
	}
	return more;
}

struct dfg_err *dfg_backprop_makers(
	struct dfg_backprop *s, const struct dfg_edge *of, uint32_t n_of, const bool **out_makes)
{
	uint32_t *work = dfg_arena_zeros(&s->scratch, (size_t)s->count + 1, sizeof *work), count = 0;
	bool *makes = dfg_arena_zeros(&s->scratch, (size_t)s->count + 1, sizeof *makes);
	if (!work || !makes)
		return DFG_ERR(DFG_MEMORY, "no memory to differentiate %u nodes", s->count);
	for (uint32_t i = 0; i < n_of; i++)
		if (!makes[of[i].node]) {
			makes[of[i].node] = true;
			work[count++] = of[i].node;
		}
	while (count) {
		const struct dfg_node *node = node_of(s, work[--count]);
		for (uint32_t e = 0; e < node->n_in; e++)
			if (!makes[node->in[e].node]) {
				makes[node->in[e].node] = true;
				work[count++] = node->in[e].node;
			}
	}
	*out_makes = makes;
	return NULL;
}

static bool takes_dependent(const struct dfg_backprop *s, const struct dfg_node *node)
{
	for (uint32_t e = 0; e < node->n_in; e++)
		if (input_depends(s, node, e))
			return true;
	return false;
}

/*
 * DFG_DATA if a value is differentiated through a stack: there is no edge from its push to its pop, so the gradient
 * would miss it.
 */
static struct dfg_err *refuse_stacks(struct dfg_backprop *s, const struct dfg_edge *of, uint32_t n_of)
{
	const bool *makes = NULL;
	for (uint32_t push = 0; push < s->count; push++) {
		const struct dfg_node *node = node_of(s, push);
		if (!dfg_node_means(node, DFG_MEANS_PUSH) || !takes_dependent(s, node))
			continue;
		if (!makes)
			DFG_TRY(dfg_backprop_makers(s, of, n_of, &makes));
		uint32_t stack = dfg_live_source(s->builder->graph, node->in[0]).node;
		for (uint32_t pop = 0; pop < s->count; pop++) {
			const struct dfg_node *other = node_of(s, pop);
			if (makes[pop] && dfg_node_means(other, DFG_MEANS_POP) &&
				dfg_live_source(s->builder->graph, other->in[0]).node == stack)
				return DFG_ERR(DFG_DATA,
					"node '%.200s' (%s): no gradient through the stack '%.200s', which was made by TensorFlow's "
					"gradient code; differentiate the original graph",
					other->name, other->op_name, node_of(s, stack)->name);
		}
	}
	return NULL;
}

struct dfg_err *dfg_control_gradient_find_dependents(struct dfg_backprop *s, const struct dfg_edge *of, uint32_t n_of)
{
	bool *useful = dfg_arena_zeros(&s->scratch, (size_t)s->count + 1, sizeof *useful);
	if (!useful)
		return DFG_ERR(DFG_MEMORY, "no memory to differentiate %u nodes", s->count);
	while (walk_dependents(s))
		;
	DFG_TRY(refuse_stacks(s, of, n_of));
	for (uint32_t i = 0; i < n_of; i++)
		useful[of[i].node] = true;
	while (walk_useful(s, useful))
		;
	for (uint32_t n = 0; n < s->count; n++)
		s->depends[n] &= useful[n];
	return NULL;
}

struct dfg_err *dfg_control_gradient_add(
	struct dfg_backprop *s, struct dfg_edge edge, const struct dfg_cotangent *cotangent)
{
	struct dfg_gradient_frames *m = &s->paths->frames;
	struct dfg_arrival **head = &s->paths->arrived[dfg_backprop_tensor(s, edge)];
	struct dfg_arrival *arrival = dfg_arena_zeros(&s->scratch, 1, sizeof *arrival);
	if (!arrival)
		return dfg_no_memory("a partial sum");
	*arrival = (struct dfg_arrival){*cotangent, m->here.set, *head};
	DFG_TRY(dfg_gradient_frames_need(m, cotangent->value, &arrival->cotangent.value));
	DFG_TRY(dfg_gradient_frames_bring(m, arrival->cotangent.value, &m->here, &arrival->cotangent.value));
	if (cotangent->kind == DFG_ROWS) {
		DFG_TRY(dfg_gradient_frames_need(m, cotangent->indices, &arrival->cotangent.indices));
		DFG_TRY(dfg_gradient_frames_bring(m, arrival->cotangent.indices, &m->here, &arrival->cotangent.indices));
	}
	*head = arrival;
	return NULL;
}

struct dfg_err *dfg_control_gradient_total(
	struct dfg_backprop *s, struct dfg_edge edge, struct dfg_cotangent *out_cotangent)
{
	return dfg_arrival_total(s, edge, &s->paths->arrived[dfg_backprop_tensor(s, edge)], out_cotangent);
}

struct dfg_err *dfg_control_gradient_locate(struct dfg_backprop *s, struct dfg_edge edge)
{
	return dfg_cotangent_location(&s->paths->frames, edge, &s->paths->frames.here);
}

static struct dfg_err *leave(struct dfg_backprop *s)
{
	DFG_TRY(dfg_gradient_loop_leave(s, s->paths->at));
	s->paths->at = s->paths->frames.loops.loop[s->paths->at].parent;
	return NULL;
}

struct dfg_err *dfg_control_gradient_go(struct dfg_backprop *s, uint32_t n)
{
	struct dfg_gradient_frames *m = &s->paths->frames;
	uint32_t home = dfg_loop_home(s->builder->graph, &m->loops, n);
	s->paths->scope = dfg_backprop_scope(s, n);
	m->scope = s->paths->scope.s;
	while (!dfg_loop_within(&m->loops, home, s->paths->at))
		DFG_TRY(leave(s));
	while (s->paths->at != home) {
		uint32_t step = home;
		while (m->loops.loop[step].parent != s->paths->at)
			step = m->loops.loop[step].parent;
		DFG_TRY(dfg_gradient_loop_enter(s, step));
		s->paths->at = step;
	}
	return NULL;
}

struct dfg_err *dfg_control_gradient_leave(struct dfg_backprop *s)
{
	while (s->paths->at != s->paths->frames.region)
		DFG_TRY(leave(s));
	return NULL;
}

/* Adds the cotangent of each output to that of the switched tensor, under the condition of the output. */
static struct dfg_err *visit_switch(struct dfg_backprop *s, uint32_t n)
{
	uint32_t sides = dfg_facts_outputs(&s->builder->facts, n);
	for (uint32_t p = 0; p < sides; p++) {
		struct dfg_edge side = {n, (int32_t)p};
		struct dfg_cotangent sum;
		if (!s->paths->arrived[dfg_backprop_tensor(s, side)] || !dfg_backprop_wants(s, node_of(s, n)->in[0]))
			continue;
		DFG_TRY(dfg_control_gradient_total(s, side, &sum));
		DFG_TRY(dfg_control_gradient_locate(s, side));
		DFG_TRY(dfg_control_gradient_add(s, node_of(s, n)->in[0], &sum));
	}
	return NULL;
}

/* Checks that the inputs are on different sides of one predicate, so that exactly one of them is the output. */
static struct dfg_err *check_sides(struct dfg_backprop *s, uint32_t n)
{
	struct dfg_liveness *l = &s->paths->frames.liveness;
	const struct dfg_node *node = node_of(s, n);
	uint32_t out, set[2];
	DFG_TRY(dfg_live_of(l, (struct dfg_edge){n, 0}, &out));
	for (uint32_t i = 0; i < node->n_in; i++) {
		DFG_TRY(dfg_live_of(l, node->in[i], &set[0]));
		for (uint32_t k = 0; k < i; k++) {
			DFG_TRY(dfg_live_of(l, node->in[k], &set[1]));
			if (!dfg_live_exclusive(l, set[0], set[1]))
				return DFG_ERR(DFG_DATA,
					"no gradient: inputs '%.200s' and '%.200s' must be on different sides of one predicate",
					node_of(s, node->in[k].node)->name, node_of(s, node->in[i].node)->name);
		}
	}
	return NULL;
}

static struct dfg_err *visit_merge(struct dfg_backprop *s, uint32_t n)
{
	uint32_t count = node_of(s, n)->n_in;
	struct dfg_cotangent sum;
	if (s->paths->frames.loops.variable[n] != DFG_NONE)
		return NULL; /* handled by the gradient loop */
	if (!s->paths->arrived[dfg_backprop_tensor(s, (struct dfg_edge){n, 0})])
		return NULL;
	DFG_TRY(check_sides(s, n));
	DFG_TRY(dfg_control_gradient_total(s, (struct dfg_edge){n, 0}, &sum));
	for (uint32_t i = 0; i < count; i++) {
		struct dfg_edge in = node_of(s, n)->in[i];
		if (!dfg_backprop_wants(s, in))
			continue;
		DFG_TRY(dfg_control_gradient_locate(s, in));
		DFG_TRY(dfg_control_gradient_add(s, in, &sum));
	}
	return NULL;
}

static struct dfg_err *visit_load(struct dfg_backprop *s, uint32_t n, const struct dfg_make *make)
{
	const struct dfg_edge loaded = {n, 0};
	struct dfg_adjoint **head = &s->paths->adjoint[node_of(s, n)->in[0].node], *adjoint;
	struct dfg_cotangent sum;
	struct dfg_edge dense;
	DFG_TRY(dfg_control_gradient_total(s, loaded, &sum));
	if (sum.kind == DFG_NO_COTANGENT)
		return NULL;
	DFG_TRY(dfg_control_gradient_locate(s, loaded));
	DFG_TRY(dfg_cotangent_dense(make, loaded, &sum, &dense));
	if (!(adjoint = dfg_arena_zeros(&s->scratch, 1, sizeof *adjoint)))
		return dfg_no_memory("a partial sum");
	DFG_TRY(dfg_tape_cotangent(&s->paths->frames, n, dense, &adjoint->store));
	adjoint->next = *head;
	*head = adjoint;
	return NULL;
}

static struct dfg_err *visit_save(struct dfg_backprop *s, uint32_t n)
{
	struct dfg_edge value = node_of(s, n)->in[0];
	for (struct dfg_adjoint *a = s->paths->adjoint[n]; a && dfg_backprop_wants(s, value); a = a->next) {
		struct dfg_cotangent back = {.kind = DFG_DENSE};
		DFG_TRY(dfg_tape_return(&s->paths->frames, n, a->store, &back.value));
		DFG_TRY(dfg_control_gradient_locate(s, (struct dfg_edge){n, 0}));
		DFG_TRY(dfg_control_gradient_add(s, value, &back));
	}
	return NULL;
}

struct dfg_err *dfg_control_gradient_visit(struct dfg_backprop *s, uint32_t n, bool *out_done)
{
	struct dfg_gradient_frames *m = &s->paths->frames;
	struct dfg_scope scope = dfg_backprop_scope(s, n);
	const struct dfg_make make = {s->builder, scope.s};
	const char *outer = m->scope;
	struct dfg_err *err = NULL;
	*out_done = true;
	m->scope = scope.s;
	switch (dfg_node_role(node_of(s, n))) {
	case DFG_SWITCH:
		err = visit_switch(s, n);
		break;
	case DFG_MERGE:
		err = visit_merge(s, n);
		break;
	case DFG_LOAD:
		err = visit_load(s, n, &make);
		break;
	case DFG_SAVE:
		err = visit_save(s, n);
		break;
	case DFG_ENTER:
	case DFG_EXIT:
	case DFG_NEXT_ITERATION:
		break; /* handled by the gradient loop */
	default:
		*out_done = false;
	}
	m->scope = outer;
	return err;
}

struct dfg_err *dfg_control_gradient_result(
	struct dfg_backprop *s, struct dfg_edge wrt, struct dfg_cotangent *cotangent)
{
	struct dfg_gradient_frames *m = &s->paths->frames;
	struct dfg_scope scope = dfg_backprop_scope(s, wrt.node);
	const struct dfg_make make = {s->builder, scope.s};
	DFG_TRY(dfg_control_gradient_locate(s, wrt));
	if (!m->here.loop && !m->here.set)
		return NULL;
	if (cotangent->kind == DFG_NO_COTANGENT)
		DFG_TRY(dfg_make_filled(&make, wrt, 0, &cotangent->value));
	else
		DFG_TRY(dfg_cotangent_dense(&make, wrt, cotangent, &cotangent->value));
	cotangent->kind = DFG_DENSE;
	return NULL;
}
