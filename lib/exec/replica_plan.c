#include "lib/exec/plan/plan.h"
#include "lib/exec/replica_private.h"

#include <string.h>

/* The dependences of a fetch or a target. */
struct reach {
	bool local;   /* a sharded feed, other than through an all-reduce */
	bool reduced; /* an all-reduce */
	bool queued;  /* an end of a queue */
};

struct maker {
	struct replica *replica;
	const struct dfg_graph *graph;
	const struct dfg_step *step;
	struct dfg_arena scratch;
	uint32_t *seen, *stack, walks; /* seen: number of the last walk that met the node */
	bool *has_fed;                 /* by node: an output is fed */
	uint32_t *start;               /* nodes that contribute what the step collects */
	struct dfg_edge *ticket;
	uint32_t n_start;
	struct dfg_edge *compute_fetch, *update_fetch, *update_feed;
	uint32_t *compute_target, *update_target;
	uint32_t n_compute_target, n_update_target, n_update_feed;
};

static struct dfg_err *add_start(struct maker *maker, struct dfg_edge ticket)
{
	const struct dfg_node *node = &maker->graph->node[ticket.node];
	if (dfg_fed(maker->step, ticket) != DFG_NONE)
		return NULL;
	if (!node->op || !(node->op->flags & DFG_CONTRIBUTES))
		return DFG_ERR(DFG_DATA, "node '%s' (%s) is not the start of an all-reduce", node->name, node->op_name);
	for (uint32_t i = 0; i < maker->n_start; i++)
		if (maker->start[i] == ticket.node)
			return NULL;
	maker->start[maker->n_start] = ticket.node;
	maker->ticket[maker->n_start++] = ticket;
	return NULL;
}

/* Looks at one edge of the walk; *out_follow: its node is to be visited. */
static struct dfg_err *meet(struct maker *maker, struct dfg_edge edge, struct reach *reach, bool *out_follow)
{
	uint32_t feed = maker->has_fed[edge.node] && edge.port >= 0 ? dfg_fed(maker->step, edge) : DFG_NONE;
	const struct dfg_node *node = &maker->graph->node[edge.node];
	*out_follow = false;
	if (feed != DFG_NONE)
		reach->local |= maker->replica->sharded[feed];
	if (feed != DFG_NONE || (edge.port == DFG_CONTROL && maker->has_fed[edge.node]))
		return NULL;
	if (node->op && node->op->flags & DFG_COLLECTS && node->n_in) {
		reach->reduced = true;
		return add_start(maker, node->in[0]);
	}
	*out_follow = maker->seen[edge.node] != maker->walks;
	return NULL;
}

/* Walks back from a fetch or a target. */
static struct dfg_err *find_reach(struct maker *maker, struct dfg_edge edge, struct reach *out_reach)
{
	uint32_t depth = 0;
	bool follow;
	*out_reach = (struct reach){0};
	maker->walks++;
	DFG_TRY(meet(maker, dfg_source(maker->graph, maker->step, edge), out_reach, &follow));
	if (follow)
		maker->stack[depth++] = dfg_source(maker->graph, maker->step, edge).node;
	maker->seen[dfg_source(maker->graph, maker->step, edge).node] = maker->walks;
	while (depth) {
		const struct dfg_node *node = &maker->graph->node[maker->stack[--depth]];
		out_reach->queued |= node->op && dfg_op_is_queued(node->op);
		for (uint32_t e = 0; e < node->n_in + node->n_control; e++) {
			struct dfg_edge in = dfg_source(maker->graph, maker->step, node->in[e]);
			DFG_TRY(meet(maker, in, out_reach, &follow));
			if (!follow)
				continue;
			maker->seen[in.node] = maker->walks;
			maker->stack[depth++] = in.node;
		}
	}
	return NULL;
}

static struct dfg_err *both(const struct maker *maker, const char *what, uint32_t node)
{
	return DFG_ERR(DFG_DATA,
		"%s '%.200s' depends both on the rows of one shard and on a value that is reduced over all shards; run it "
		"in a step without shards",
		what, maker->graph->node[node].name);
}

static struct dfg_err *sort_fetch(struct maker *maker, uint32_t i)
{
	struct replica *replica = maker->replica;
	struct dfg_edge edge = maker->step->fetch[i];
	struct reach reach;
	int64_t marks = 0;
	DFG_TRY(find_reach(maker, edge, &reach));
	if (reach.local && reach.reduced)
		return both(maker, "fetch", edge.node);
	if (reach.reduced) {
		replica->merge[i] = OF_UPDATE;
		replica->at[i] = replica->n_update_fetch;
		maker->update_fetch[replica->n_update_fetch++] = edge;
		return NULL;
	}
	(void)dfg_node_mark(&maker->graph->node[edge.node], "_dfg_merge", &marks);
	int64_t mark = edge.port < 31 ? marks >> 2 * edge.port & 3 : 0;
	replica->merge[i] = reach.local ? (uint8_t)mark : MERGE_SAME;
	replica->at[i] = replica->n_compute_fetch;
	maker->compute_fetch[replica->n_compute_fetch++] = edge;
	return NULL;
}

static struct dfg_err *sort_target(struct maker *maker, uint32_t i)
{
	uint32_t node = maker->step->target[i];
	struct reach reach;
	DFG_TRY(find_reach(maker, (struct dfg_edge){node, DFG_CONTROL}, &reach));
	if (reach.local && reach.reduced)
		return both(maker, "target", node);
	if (reach.local || maker->replica->has_rounds)
		maker->compute_target[maker->n_compute_target++] = node;
	else
		maker->update_target[maker->n_update_target++] = node;
	return NULL;
}

static struct dfg_err *allocate(struct maker *maker, struct dfg_arena *arena)
{
	struct replica *replica = maker->replica;
	const struct dfg_step *step = maker->step;
	uint32_t nodes = maker->graph->count;
	struct dfg_arena *scratch = &maker->scratch;
	replica->sharded = dfg_arena_zeros(arena, step->n_feed, sizeof *replica->sharded);
	replica->merge = dfg_arena_zeros(arena, step->n_fetch, sizeof *replica->merge);
	replica->at = dfg_arena_zeros(arena, step->n_fetch, sizeof *replica->at);
	maker->seen = dfg_arena_zeros(scratch, nodes, sizeof *maker->seen);
	maker->stack = dfg_arena_zeros(scratch, nodes, sizeof *maker->stack);
	maker->has_fed = dfg_arena_zeros(scratch, nodes, sizeof *maker->has_fed);
	maker->start = dfg_arena_zeros(scratch, nodes, sizeof *maker->start);
	maker->ticket = dfg_arena_zeros(arena, nodes, sizeof *maker->ticket);
	maker->compute_fetch = dfg_arena_zeros(scratch, step->n_fetch, sizeof *maker->compute_fetch);
	maker->update_fetch = dfg_arena_zeros(scratch, step->n_fetch, sizeof *maker->update_fetch);
	maker->update_feed = dfg_arena_zeros(scratch, (size_t)step->n_feed + nodes, sizeof *maker->update_feed);
	maker->compute_target = dfg_arena_zeros(scratch, (size_t)step->n_target + nodes, sizeof *maker->compute_target);
	maker->update_target = dfg_arena_zeros(scratch, step->n_target, sizeof *maker->update_target);
	bool all = replica->sharded && replica->merge && replica->at && maker->seen && maker->stack && maker->has_fed &&
			   maker->start && maker->ticket && maker->compute_fetch && maker->update_fetch && maker->update_feed &&
			   maker->compute_target && maker->update_target;
	return all ? NULL : dfg_no_memory("the plan of a sharded step");
}

int64_t dfg_replica_bucket(const struct dfg_graph *graph, uint32_t start)
{
	const struct dfg_attr *bucket = dfg_node_attr(&graph->node[start], "bucket");
	return bucket && bucket->kind == DFG_ATTR_INT ? bucket->value.i : 0;
}

/* Whether a fetch or a target of an asynchronous step needs a queue. */
static struct dfg_err *find_queues(struct maker *maker)
{
	const struct dfg_step *step = maker->step;
	for (uint32_t i = 0; i < step->n_fetch + step->n_target && maker->replica->session->options.async; i++) {
		const struct dfg_edge edge =
			i < step->n_fetch ? step->fetch[i] : (struct dfg_edge){step->target[i - step->n_fetch], DFG_CONTROL};
		struct reach reach;
		DFG_TRY(find_reach(maker, edge, &reach));
		maker->replica->has_rounds |= reach.queued && !reach.reduced;
	}
	return NULL;
}

/* Sorts the step's feeds, fetches and targets; *out_any: something depends on a sharded feed. */
static struct dfg_err *sort_step(struct maker *maker, bool *out_any)
{
	struct replica *replica = maker->replica;
	const struct dfg_step *step = maker->step;
	for (uint32_t i = 0; i < step->n_feed; i++) {
		replica->sharded[i] = dfg_edge_mark(maker->graph, "_dfg_shard", step->feed[i]);
		maker->has_fed[step->feed[i].node] = true;
		if (!replica->sharded[i])
			maker->update_feed[maker->n_update_feed++] = step->feed[i];
	}
	*out_any = false;
	DFG_TRY(find_queues(maker));
	for (uint32_t i = 0; i < step->n_fetch; i++) {
		DFG_TRY(sort_fetch(maker, i));
		*out_any |= replica->merge[i] != MERGE_SAME;
	}
	for (uint32_t i = 0; i < step->n_target; i++)
		DFG_TRY(sort_target(maker, i));
	*out_any |= maker->n_compute_target || maker->n_start;
	for (uint32_t i = 0; i < maker->n_start; i++) {
		maker->compute_target[maker->n_compute_target++] = maker->start[i];
		maker->update_feed[maker->n_update_feed++] = maker->ticket[i];
		int64_t bucket = dfg_replica_bucket(maker->graph, maker->start[i]);
		if (bucket >= replica->fetch_bucket && bucket < UINT32_MAX)
			replica->fetch_bucket = (uint32_t)bucket + 1;
	}
	return NULL;
}

/* The plan node that makes the handle in input 0, through nodes that hand it on. */
static const struct plan_node *origin(const struct dfg_plan *plan, const struct plan_node *node)
{
	for (uint32_t depth = 0; depth <= plan->count && node->n_in; depth++) {
		uint32_t slot = dfg_plan_node_in(plan, node, 0);
		if (slot >= plan->first_feed)
			return NULL;
		node = &plan->node[plan->maker[slot]];
		if (node->role == DFG_VARIABLE)
			return node;
		if (node->role == DFG_PLAIN && !(node->call->op->flags & DFG_WRITES))
			return NULL;
	}
	return NULL;
}

/* A compute run may be repeated, so it writes no variable and moves no element of a queue. */
static struct dfg_err *check_compute(const struct dfg_plan *plan)
{
	for (uint32_t r = 0; r < plan->count; r++) {
		const struct plan_node *node = &plan->node[r];
		unsigned flags = node->call->op->flags;
		const struct plan_node *variable = flags & DFG_WRITES ? origin(plan, node) : NULL;
		if (variable)
			return dfg_resolved_note(
				DFG_ERR(DFG_DATA, "would write variable '%.200s' separately for each shard of the batch",
					variable->call->node),
				node->call);
		if (dfg_op_is_queued(node->call->op))
			return dfg_resolved_note(
				DFG_ERR(DFG_DATA, "would use a queue separately for each shard of the batch"), node->call);
	}
	return NULL;
}

static struct dfg_err *make_plan(
	struct replica *replica, const struct dfg_step *step, struct dfg_arena *arena, struct dfg_plan **out_plan)
{
	struct dfg_plan *plan = dfg_arena_zeros(arena, 1, sizeof *plan);
	if (!plan)
		return dfg_no_memory("the plan of a sharded step");
	DFG_TRY(dfg_plan_make(replica->session, step, plan));
	*out_plan = plan;
	return NULL;
}

static struct dfg_err *make_runs(struct maker *maker, struct dfg_arena *arena)
{
	struct replica *replica = maker->replica;
	const struct dfg_step *whole = maker->step;
	const struct dfg_step compute = {
		.feed = whole->feed,
		.n_feed = whole->n_feed,
		.fetch = maker->compute_fetch,
		.n_fetch = replica->n_compute_fetch,
		.target = maker->compute_target,
		.n_target = maker->n_compute_target,
	};
	const struct dfg_step update = {
		.feed = maker->update_feed,
		.n_feed = maker->n_update_feed,
		.fetch = maker->update_fetch,
		.n_fetch = replica->n_update_fetch,
		.target = maker->update_target,
		.n_target = maker->n_update_target,
	};
	DFG_TRY(make_plan(replica, &compute, arena, &replica->compute));
	if (!replica->has_rounds) /* an asynchronous run is not repeated */
		DFG_TRY(check_compute(replica->compute));
	if (update.n_fetch || update.n_target)
		DFG_TRY(make_plan(replica, &update, arena, &replica->update));
	return NULL;
}

static struct dfg_err *make_replica(struct maker *maker, struct dfg_arena *arena, bool *out_made)
{
	const struct dfg_step *step = maker->step;
	*out_made = false;
	for (uint32_t i = 0; i < step->n_feed; i++)
		*out_made |= dfg_edge_mark(maker->graph, "_dfg_shard", step->feed[i]);
	if (!*out_made)
		return NULL;
	DFG_TRY(allocate(maker, arena));
	DFG_TRY(sort_step(maker, out_made));
	if (*out_made)
		DFG_TRY(make_runs(maker, arena));
	for (uint32_t i = 0; i < step->n_feed; i++)
		if (!strcmp(maker->graph->node[step->feed[i].node].name, DFG_LANE_NAME))
			maker->replica->lane_feed = i + 1;
	maker->replica->ticket = maker->ticket;
	maker->replica->n_ticket = maker->n_start;
	return NULL;
}

static struct dfg_err *begin_plan(struct dfg_session *session, const struct dfg_step *step, struct dfg_plan *plan)
{
	struct replica *replica = dfg_arena_zeros(&plan->arena, 1, sizeof *replica);
	if (!replica)
		return dfg_no_memory("the plan of a sharded step");
	DFG_TRY(dfg_step_copy(&plan->arena, step, &plan->step));
	*replica = (struct replica){.session = session,
		.shards = session->options.shards,
		.fetch = plan->step.fetch,
		.n_feed = step->n_feed,
		.n_fetch = step->n_fetch};
	plan->replica = replica;
	return NULL;
}

struct dfg_err *dfg_replica_plan(
	struct dfg_session *session, const struct dfg_step *step, struct dfg_plan *plan, bool *out_made)
{
	struct maker maker = {.graph = session->graph};
	*plan = (struct dfg_plan){.session = session};
	*out_made = false;
	if (pthread_mutex_init(&plan->lock, NULL))
		return dfg_no_memory("the plan of the step");
	struct dfg_err *err = begin_plan(session, step, plan);
	maker.replica = plan->replica;
	maker.step = &plan->step;
	if (!err)
		err = make_replica(&maker, &plan->arena, out_made);
	dfg_arena_release(&maker.scratch);
	if (err || !*out_made)
		dfg_plan_release(plan);
	return err;
}

void dfg_replica_release(struct replica *replica)
{
	if (!replica)
		return;
	dfg_replica_drop_bounded(replica);
	dfg_replica_drop_flights(replica);
	if (replica->compute)
		dfg_plan_release(replica->compute);
	if (replica->update)
		dfg_plan_release(replica->update);
}
