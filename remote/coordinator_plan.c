#include "remote/coordinator_private.h"

/*
 * The work of each worker in a step: the nodes that its own fetches and targets need, as a session of its part would
 * select them, and the _Send of each needed _Recv, on any worker, with the nodes that this one needs in turn.
 */
struct walk {
	struct dfg_coordinator *coordinator;
	struct step_plan *plan;
	struct dfg_arena scratch;
	bool **seen, **fed; /* by worker, by node */
	struct worker_node *stack;
	size_t depth, capacity;
};

static const struct dfg_graph *part(const struct walk *walk, uint32_t worker)
{
	return &walk->coordinator->parts->part[worker];
}

static struct dfg_err *push_node(struct walk *walk, struct worker_node at)
{
	if (walk->seen[at.worker][at.node])
		return NULL;
	if (!dfg_reserve(&walk->stack, &walk->capacity, walk->depth + 1, sizeof *walk->stack))
		return dfg_no_memory("the plan of the step on the workers");
	walk->seen[at.worker][at.node] = true;
	walk->stack[walk->depth++] = at;
	return NULL;
}

static struct dfg_err *push_edge(struct walk *walk, uint32_t worker, struct dfg_edge edge)
{
	const struct dfg_step *step = &walk->plan->worker_step[worker].step;
	edge = dfg_source(part(walk, worker), step, edge);
	bool cut = walk->fed[worker][edge.node] && (edge.port == DFG_CONTROL || dfg_fed(step, edge) != DFG_NONE);
	return cut ? NULL : push_node(walk, (struct worker_node){worker, edge.node});
}

static struct dfg_err *add_edge(struct dfg_edge edge, uint32_t number, uint32_t **numbers, size_t *number_capacity,
	const struct dfg_edge **edges, uint32_t *count)
{
	size_t capacity = *number_capacity;
	if (!dfg_reserve(numbers, number_capacity, *count + 1, sizeof **numbers) ||
		!dfg_reserve(edges, &capacity, *count + 1, sizeof **edges))
		return dfg_no_memory("the plan of the step on the workers");
	(*numbers)[*count] = number;
	((struct dfg_edge *)*edges)[(*count)++] = edge;
	return NULL;
}

static struct dfg_err *add_target(struct walk *walk, struct worker_node at)
{
	struct worker_step *worker_step = &walk->plan->worker_step[at.worker];
	if (!dfg_reserve(&worker_step->target, &worker_step->target_capacity, worker_step->step.n_target + 1,
			sizeof *worker_step->target))
		return dfg_no_memory("the plan of the step on the workers");
	worker_step->target[worker_step->step.n_target++] = at.node;
	worker_step->step.target = worker_step->target;
	return NULL;
}

/* Each received tensor needs its _Send. */
static struct dfg_err *follow_transfer(struct walk *walk, const struct dfg_node *recv)
{
	int64_t number;
	const struct dfg_parts *parts = walk->coordinator->parts;
	if (!dfg_node_mark(recv, "_dfg_edge", &number) || number < 0 || number >= parts->transfers)
		return DFG_ERR(DFG_DATA, "node '%s' (%s) is not a transfer of the plan", recv->name, recv->op_name);
	struct worker_node send = walk->coordinator->send[number];
	if (send.worker == DFG_NONE)
		return DFG_ERR(DFG_DATA, "node '%s' (%s) receives a tensor that no part sends", recv->name, recv->op_name);
	if (walk->seen[send.worker][send.node])
		return NULL;
	DFG_TRY(add_target(walk, send));
	return push_node(walk, send);
}

static struct dfg_err *follow_all(struct walk *walk)
{
	while (walk->depth) {
		struct worker_node at = walk->stack[--walk->depth];
		const struct dfg_node *node = &part(walk, at.worker)->node[at.node];
		if (dfg_node_role(node) == DFG_RECV)
			DFG_TRY(follow_transfer(walk, node));
		for (uint32_t i = 0; i < node->n_in + node->n_control; i++)
			DFG_TRY(push_edge(walk, at.worker, node->in[i]));
	}
	return NULL;
}

static struct dfg_err *add_feed(struct walk *walk, struct worker_node at, int32_t port, uint32_t number)
{
	struct worker_step *worker_step = &walk->plan->worker_step[at.worker];
	walk->fed[at.worker][at.node] = true;
	return add_edge((struct dfg_edge){at.node, port}, number, &worker_step->feed, &worker_step->feed_capacity,
		&worker_step->step.feed, &worker_step->step.n_feed);
}

/* Nodes that were cloned instead of sent are fed on each worker that has a clone (lib/pass/partition/clone.c). */
static struct dfg_err *add_feeds(struct walk *walk, const struct dfg_step *step)
{
	for (uint32_t i = 0; i < step->n_feed; i++) {
		struct worker_node home = walk->coordinator->home[step->feed[i].node];
		const char *name = part(walk, home.worker)->node[home.node].name;
		DFG_TRY(add_feed(walk, home, step->feed[i].port, i));
		for (uint32_t w = 0; w < walk->coordinator->width; w++) {
			const char *clone = dfg_clone_name(&walk->scratch, w, name);
			uint32_t node = clone ? dfg_graph_find(part(walk, w), clone) : DFG_NONE;
			if (!clone)
				return dfg_no_memory("the plan of the step on the workers");
			if (node != DFG_NONE)
				DFG_TRY(add_feed(walk, (struct worker_node){w, node}, step->feed[i].port, i));
		}
	}
	return NULL;
}

static struct dfg_err *add_wanted(struct walk *walk, const struct dfg_step *step)
{
	for (uint32_t i = 0; i < step->n_fetch; i++) {
		struct worker_node home = walk->coordinator->home[step->fetch[i].node];
		struct worker_step *worker_step = &walk->plan->worker_step[home.worker];
		struct dfg_edge edge = {home.node, step->fetch[i].port};
		DFG_TRY(add_edge(edge, i, &worker_step->fetch, &worker_step->fetch_capacity, &worker_step->step.fetch,
			&worker_step->step.n_fetch));
		DFG_TRY(push_edge(walk, home.worker, edge));
	}
	for (uint32_t i = 0; i < step->n_target; i++) {
		struct worker_node home = walk->coordinator->home[step->target[i]];
		DFG_TRY(add_target(walk, home));
		DFG_TRY(push_edge(walk, home.worker, (struct dfg_edge){home.node, DFG_CONTROL}));
	}
	return NULL;
}

static struct dfg_err *divide(struct walk *walk, const struct dfg_step *step)
{
	uint32_t workers = walk->coordinator->width;
	walk->seen = dfg_arena_zeros(&walk->scratch, workers, sizeof *walk->seen);
	walk->fed = dfg_arena_zeros(&walk->scratch, workers, sizeof *walk->fed);
	if (!walk->seen || !walk->fed)
		return dfg_no_memory("the plan of the step on the workers");
	for (uint32_t i = 0; i < workers; i++) {
		walk->seen[i] = dfg_arena_zeros(&walk->scratch, part(walk, i)->count, sizeof **walk->seen);
		walk->fed[i] = dfg_arena_zeros(&walk->scratch, part(walk, i)->count, sizeof **walk->fed);
		if (!walk->seen[i] || !walk->fed[i])
			return dfg_no_memory("the plan of the step on the workers");
	}
	DFG_TRY(add_feeds(walk, step));
	DFG_TRY(add_wanted(walk, step));
	return follow_all(walk);
}

static void put_edges(struct dfg_packet *packet, const struct dfg_edge *edge, uint32_t count)
{
	dfg_packet_put(packet, count);
	for (uint32_t i = 0; i < count; i++) {
		dfg_packet_put(packet, edge[i].node);
		dfg_packet_put(packet, (uint64_t)edge[i].port);
	}
}

static void ask_plan(struct dfg_coordinator *coordinator, uint32_t worker, struct worker_step *worker_step)
{
	struct dfg_packet packet = {.kind = DFG_PACKET_PLAN};
	const struct dfg_step *step = &worker_step->step;
	worker_step->runs = step->n_fetch || step->n_target;
	if (!worker_step->runs)
		return;
	put_edges(&packet, step->feed, step->n_feed);
	put_edges(&packet, step->fetch, step->n_fetch);
	dfg_packet_put(&packet, step->n_target);
	for (uint32_t i = 0; i < step->n_target; i++)
		dfg_packet_put(&packet, step->target[i]);
	dfg_coordinator_ask(coordinator, worker, &packet);
}

struct dfg_err *dfg_coordinator_send_plan(
	struct dfg_coordinator *coordinator, struct step_plan *plan, uint32_t first, uint32_t end)
{
	for (uint32_t i = first; i < end; i++)
		if (dfg_coordinator_takes_part(coordinator, i))
			ask_plan(coordinator, i, &plan->worker_step[i % coordinator->width]);
	DFG_TRY(dfg_coordinator_answers_in(coordinator, "sending a step"));
	struct dfg_err *err = NULL;
	for (uint32_t i = first; i < end; i++) {
		if (!plan->worker_step[i % coordinator->width].runs || !dfg_coordinator_takes_part(coordinator, i))
			continue;
		plan->number[i] = dfg_packet_get_u32(&coordinator->state[i].answer);
		err = dfg_err_join(err, dfg_packet_check(&coordinator->state[i].answer));
	}
	dfg_coordinator_drop_answers(coordinator);
	return err;
}

static void release_plan(const struct dfg_coordinator *coordinator, struct step_plan *plan)
{
	for (uint32_t i = 0; plan->worker_step && i < coordinator->width; i++) {
		struct worker_step *worker_step = &plan->worker_step[i];
		dfg_free(worker_step->feed);
		dfg_free(worker_step->fetch);
		dfg_free(worker_step->target);
		dfg_free((void *)worker_step->step.feed);
		dfg_free((void *)worker_step->step.fetch);
	}
	dfg_free(plan->worker_step);
	dfg_free(plan->number);
}

void dfg_coordinator_drop_plans(struct dfg_coordinator *coordinator)
{
	while (coordinator->plans)
		release_plan(coordinator, &coordinator->plan[--coordinator->plans]);
}

static struct dfg_err *make_plan(
	struct dfg_coordinator *coordinator, const struct dfg_step *step, struct step_plan *plan)
{
	struct walk walk = {.coordinator = coordinator, .plan = plan};
	plan->worker_step = dfg_zeros(coordinator->width, sizeof *plan->worker_step);
	plan->number = dfg_zeros(coordinator->options.workers, sizeof *plan->number);
	plan->n_fetch = step->n_fetch;
	struct dfg_err *err =
		plan->worker_step && plan->number ? divide(&walk, step) : dfg_no_memory("the plan of the step on the workers");
	dfg_free(walk.stack);
	dfg_arena_release(&walk.scratch);
	do
		err = err ? err : dfg_coordinator_send_plan(coordinator, plan, 0, coordinator->options.workers);
	while (dfg_coordinator_continues(coordinator, &err));
	return err;
}

struct dfg_err *dfg_coordinator_plan(
	struct dfg_session_backend *backend, const struct dfg_step *step, uint32_t *out_plan)
{
	struct dfg_coordinator *coordinator = (struct dfg_coordinator *)backend;
	struct step_plan plan = {0};
	pthread_mutex_lock(&coordinator->request_lock);
	struct dfg_err *err = make_plan(coordinator, step, &plan);
	if (!err && !dfg_reserve(
					&coordinator->plan, &coordinator->plan_capacity, coordinator->plans + 1, sizeof *coordinator->plan))
		err = dfg_no_memory("the plan of the step on the workers");
	if (err) {
		release_plan(coordinator, &plan);
	} else {
		*out_plan = (uint32_t)coordinator->plans;
		coordinator->plan[coordinator->plans++] = plan;
	}
	pthread_mutex_unlock(&coordinator->request_lock);
	return err;
}
