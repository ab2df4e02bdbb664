#include "lib/exec/table/clock.h"
#include "lib/graph/loops.h"
#include "lib/graph/shared_name.h"
#include "remote/worker_private.h"

/* The variables of a part that several workers of this process have. */
struct lane_state {
	struct dfg_state state; /* first member */
	uint64_t part;          /* number of the part: the workers are given the same parts in the same order */
	unsigned refs;
	struct dfg_clocks clocks; /* the updates that were applied, by replica; guarded by the lock of the lanes */
};

struct dfg_lanes {
	pthread_mutex_t lock;
	struct lane_state *newest; /* NULL: no worker has a part; a reference is not counted here */
};

struct dfg_err *dfg_lanes_new(struct dfg_lanes **out_lanes)
{
	*out_lanes = dfg_zeros(1, sizeof **out_lanes);
	if (*out_lanes && !pthread_mutex_init(&(*out_lanes)->lock, NULL))
		return NULL;
	dfg_free(*out_lanes);
	return dfg_no_memory("a parameter server");
}

void dfg_lanes_free(struct dfg_lanes *lanes)
{
	if (!lanes)
		return;
	pthread_mutex_destroy(&lanes->lock);
	dfg_free(lanes);
}

static struct dfg_err *make_state(const struct dfg_worker_config *config, uint64_t part, struct lane_state **out_state)
{
	struct lane_state *state = *out_state = dfg_zeros(1, sizeof *state);
	if (!state)
		return dfg_no_memory("a parameter server");
	state->part = part;
	struct dfg_err *err = dfg_clocks_init(&state->clocks, config->replicas, config->staleness);
	if (!err)
		err = dfg_state_init(&state->state);
	if (!err)
		return NULL;
	dfg_clocks_release(&state->clocks);
	dfg_free(state);
	return err;
}

/* The state of that part, with one more reference. */
static struct dfg_err *take(
	struct dfg_lanes *lanes, const struct dfg_worker_config *config, uint64_t part, struct lane_state **out_state)
{
	struct lane_state *state = lanes->newest;
	if (!state || state->part != part)
		DFG_TRY(make_state(config, part, &state));
	*out_state = lanes->newest = state;
	state->refs++;
	return NULL;
}

struct dfg_err *dfg_worker_take_lane(struct dfg_worker *worker, struct dfg_session *session)
{
	struct dfg_lanes *lanes = worker->options.lanes;
	struct lane_state *state;
	if (!dfg_worker_is_lane(worker) || worker->config.replicas == 1)
		return NULL;
	if (!lanes)
		return DFG_ERR(DFG_PROTOCOL, "the launcher takes this worker for one of a parameter server, which it is not");
	pthread_mutex_lock(&lanes->lock);
	struct dfg_err *err = take(lanes, &worker->config, worker->parts, &state);
	pthread_mutex_unlock(&lanes->lock);
	if (err)
		return err;
	worker->lane = state;
	dfg_state_join(dfg_session_state(session), &state->state);
	return NULL;
}

void dfg_worker_drop_lane(struct dfg_worker *worker)
{
	struct dfg_lanes *lanes = worker->options.lanes;
	struct lane_state *state = worker->lane;
	worker->lane = NULL;
	if (!state)
		return;
	pthread_mutex_lock(&lanes->lock);
	bool last = !--state->refs;
	if (last && lanes->newest == state)
		lanes->newest = NULL;
	pthread_mutex_unlock(&lanes->lock);
	if (!last)
		return;
	dfg_state_release(&state->state);
	dfg_clocks_release(&state->clocks);
	dfg_free(state);
}

/* Marks the nodes that a step runs at most. */
static struct dfg_err *find_needed(
	const struct dfg_graph *part, const struct dfg_step *step, struct dfg_arena *scratch, bool *needed)
{
	uint32_t *stack = dfg_arena_zeros(scratch, (size_t)step->n_fetch + step->n_target + part->count, sizeof *stack);
	uint32_t depth = 0;
	if (!stack)
		return dfg_no_memory("the variables of a step");
	for (uint32_t i = 0; i < step->n_fetch; i++)
		stack[depth++] = step->fetch[i].node;
	for (uint32_t i = 0; i < step->n_target; i++)
		stack[depth++] = step->target[i];
	for (uint32_t i = 0; i < depth; i++)
		needed[stack[i]] = true;
	while (depth) {
		const struct dfg_node *node = &part->node[stack[--depth]];
		for (uint32_t e = 0; e < node->n_in + node->n_control; e++) {
			if (!needed[node->in[e].node])
				stack[depth++] = node->in[e].node;
			needed[node->in[e].node] = true;
		}
	}
	return NULL;
}

static struct dfg_err *list_reads(struct dfg_worker *worker, const bool *needed, struct planned *planned)
{
	const struct dfg_graph *part = &worker->part;
	planned->reads = dfg_arena_zeros(&worker->part_arena, part->count, sizeof *planned->reads);
	for (uint32_t n = 0; n < part->count && planned->reads; n++) {
		if (!needed[n] || dfg_node_role(&part->node[n]) != DFG_VARIABLE)
			continue;
		const char *name = dfg_node_shared_name(&part->node[n], &worker->part_arena);
		if (!name)
			return dfg_no_memory("the variables of a step");
		planned->reads[planned->n_reads++] = name;
	}
	return planned->reads ? NULL : dfg_no_memory("the variables of a step");
}

struct dfg_err *dfg_worker_find_reads(struct dfg_worker *worker, const struct dfg_step *step, struct planned *planned)
{
	struct dfg_arena scratch = {0};
	if (!worker->lane || !worker->config.staleness)
		return NULL;
	bool *needed = dfg_arena_zeros(&scratch, worker->part.count, sizeof *needed);
	struct dfg_err *err =
		needed ? find_needed(&worker->part, step, &scratch, needed) : dfg_no_memory("the variables of a step");
	if (!err)
		err = list_reads(worker, needed, planned);
	dfg_arena_release(&scratch);
	return err;
}

void dfg_worker_tick(struct dfg_worker *worker)
{
	if (!worker->lane)
		return;
	pthread_mutex_lock(&worker->options.lanes->lock);
	worker->lane->clocks.clock[dfg_worker_replica(worker)]++;
	pthread_mutex_unlock(&worker->options.lanes->lock);
}

/* Copies what the plan reads of the variables, as they are now. The launcher lets no update run meanwhile. */
static struct dfg_err *copy_variables(struct dfg_worker *worker, const struct planned *planned)
{
	struct dfg_state *state = dfg_session_state(worker->session);
	bool copied;
	for (uint32_t i = 0; i < planned->n_reads; i++)
		DFG_TRY(dfg_err_note(dfg_state_copy(state, planned->reads[i], &copied), "variable '%s'", planned->reads[i]));
	worker->copied = dfg_clocks_least(&worker->lane->clocks);
	return NULL;
}

static struct dfg_err *check_reads(struct dfg_worker *worker, const struct planned *planned, uint64_t clock)
{
	const struct dfg_clocks *clocks = &worker->lane->clocks;
	uint32_t replica = dfg_worker_replica(worker);
	if (clocks->clock[replica] != clock)
		return DFG_ERR(DFG_BUG, "replica %u begins a step after %llu others, but %llu of its updates were applied",
			replica, (unsigned long long)clock, (unsigned long long)clocks->clock[replica]);
	for (uint32_t i = 0; i < planned->n_reads; i++)
		DFG_TRY(dfg_clocks_check(clocks, planned->reads[i], worker->copied, replica, clock));
	return NULL;
}

static struct dfg_err *read_variables(
	struct dfg_worker *worker, const struct planned *planned, uint64_t clock, bool copies, struct dfg_packet *answer)
{
	bool verified = worker->config.verify_staleness;
	if (copies)
		DFG_TRY(copy_variables(worker, planned));
	if (verified)
		DFG_TRY(check_reads(worker, planned, clock));
	dfg_packet_put(answer, verified ? planned->n_reads : 0);
	return NULL;
}

struct dfg_err *dfg_worker_clock(struct dfg_worker *worker, struct dfg_packet *request, struct dfg_packet *answer)
{
	uint64_t clock = dfg_packet_get(request), plan = dfg_packet_get(request);
	bool reads = dfg_packet_get_bool(request), copies = dfg_packet_get_bool(request);
	DFG_TRY(dfg_packet_check(request));
	if (!worker->lane || !worker->config.staleness || (reads && plan != DFG_NONE && plan >= worker->plans))
		return DFG_ERR(
			DFG_PROTOCOL, "the launcher sends a clock to a worker that has no variables with bounded staleness");
	if (!reads) {
		dfg_worker_tick(worker);
		dfg_packet_put(answer, 0);
		return NULL;
	}
	static const struct planned none;
	pthread_mutex_lock(&worker->options.lanes->lock);
	struct dfg_err *err = read_variables(worker, plan == DFG_NONE ? &none : &worker->plan[plan], clock, copies, answer);
	pthread_mutex_unlock(&worker->options.lanes->lock);
	return err;
}
