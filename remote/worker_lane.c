#include "remote/worker_private.h"

/* The variables of a part that several workers of this process have. */
struct lane_state {
	struct dfg_state state; /* first member */
	uint64_t part;          /* number of the part: the workers are given the same parts in the same order */
	unsigned refs;
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

/* The state of that part, with one more reference. */
static struct dfg_err *take(struct dfg_lanes *lanes, uint64_t part, struct lane_state **out_state)
{
	if (!lanes->newest || lanes->newest->part != part) {
		struct lane_state *state = dfg_zeros(1, sizeof *state);
		if (!state)
			return dfg_no_memory("a parameter server");
		struct dfg_err *err = dfg_state_init(&state->state);
		if (err) {
			dfg_free(state);
			return err;
		}
		state->part = part;
		lanes->newest = state;
	}
	*out_state = lanes->newest;
	lanes->newest->refs++;
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
	struct dfg_err *err = take(lanes, worker->parts, &state);
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
	dfg_free(state);
}
