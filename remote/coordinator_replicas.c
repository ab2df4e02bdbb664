#include "remote/coordinator_private.h"

#include <string.h>

/*
 * Several replicas of a graph. A plan runs on all of them, so that each makes its own variables, tables and queues; the
 * variables of replica 0 then replace those of the others before the next compute run, since they may have been loaded
 * there alone.
 */
struct lists {
	const struct dfg_tensor **feeds; /* by replica */
	struct dfg_tensor **fetches;
	uint32_t *shard;
};

/* The feeds of a plan without feeds, as NULL in lists.feeds means that the plan does not run. */
static const struct dfg_tensor no_feeds;

static struct dfg_err *new_lists(const struct dfg_coordinator *coordinator, struct lists *out_lists)
{
	size_t replicas = coordinator->options.replicas;
	*out_lists = (struct lists){.feeds = dfg_zeros(replicas, sizeof(struct dfg_tensor *)),
		.fetches = dfg_zeros(replicas, sizeof(struct dfg_tensor *)),
		.shard = dfg_zeros(replicas, sizeof(uint32_t))};
	bool all = out_lists->feeds && out_lists->fetches && out_lists->shard;
	return all ? NULL : dfg_no_memory("a step on the replicas");
}

static void free_lists(struct lists *lists)
{
	dfg_free(lists->feeds);
	dfg_free(lists->fetches);
	dfg_free(lists->shard);
}

static struct dfg_err *run_on_all(struct dfg_coordinator *coordinator, struct step_plan *plan, struct plan_run *run,
	const struct dfg_tensor *feeds, struct dfg_tensor *out_fetches)
{
	struct lists lists;
	struct dfg_err *err = new_lists(coordinator, &lists);
	if (!err) {
		for (uint32_t r = 0; r < coordinator->options.replicas; r++)
			lists.feeds[r] = feeds ? feeds : &no_feeds;
		lists.fetches[0] = out_fetches;
		run->feeds = lists.feeds;
		run->fetches = lists.fetches;
		err = dfg_coordinator_run_on(coordinator, plan, run);
	}
	free_lists(&lists);
	return err;
}

struct dfg_err *dfg_coordinator_run(
	struct dfg_session_backend *backend, uint32_t plan, const struct dfg_tensor *feeds, struct dfg_tensor *out_fetches)
{
	struct dfg_coordinator *coordinator = (struct dfg_coordinator *)backend;
	struct plan_run run = {0};
	pthread_mutex_lock(&coordinator->request_lock);
	struct dfg_err *err = run_on_all(coordinator, &coordinator->plan[plan], &run, feeds, out_fetches);
	coordinator->unequal = true;
	pthread_mutex_unlock(&coordinator->request_lock);
	return err;
}

/* Copies the names and values that replica 0's worker of a part has sent into a request for the others. */
static struct dfg_err *copy_state(struct dfg_packet *answer, struct dfg_packet *request)
{
	uint32_t count = dfg_packet_get_count(answer, 2 * sizeof(uint64_t));
	dfg_packet_put(request, count);
	for (uint32_t i = 0; i < count; i++) {
		struct dfg_tensor value;
		const char *name = dfg_packet_get_text(answer);
		dfg_packet_get_tensor(answer, &value);
		DFG_TRY(dfg_packet_check(answer));
		dfg_packet_put_text(request, name);
		dfg_packet_put_tensor(request, &value);
		dfg_tensor_release(&value);
	}
	return NULL;
}

static struct dfg_err *send_state(struct dfg_coordinator *coordinator, struct dfg_packet *request)
{
	uint32_t width = coordinator->width;
	for (uint32_t w = 0; w < width; w++)
		dfg_coordinator_ask(coordinator, w, &(struct dfg_packet){.kind = DFG_PACKET_STATE});
	DFG_TRY(dfg_coordinator_answers_in(coordinator, "reading the variables of replica 0"));
	struct dfg_err *err = NULL;
	for (uint32_t w = width; w < coordinator->options.workers && !err; w++) {
		struct dfg_packet *answer = &coordinator->state[w % width].answer;
		size_t at = answer->at;
		request[w].kind = DFG_PACKET_ADOPT;
		err = copy_state(answer, &request[w]);
		answer->at = at;
	}
	dfg_coordinator_drop_answers(coordinator);
	for (uint32_t w = width; w < coordinator->options.workers && !err; w++)
		dfg_coordinator_ask(coordinator, w, &request[w]);
	if (!err)
		err = dfg_coordinator_answers_in(coordinator, "sending the variables of replica 0");
	if (!err)
		dfg_coordinator_drop_answers(coordinator);
	return err;
}

/* Makes the variables of all replicas those of replica 0. */
static struct dfg_err *make_equal(struct dfg_coordinator *coordinator)
{
	if (!coordinator->unequal || coordinator->options.replicas < 2)
		return NULL;
	struct dfg_packet *request = dfg_zeros(coordinator->options.workers, sizeof *request);
	struct dfg_err *err = request ? send_state(coordinator, request) : dfg_no_memory("the variables of the replicas");
	for (uint32_t w = 0; request && w < coordinator->options.workers; w++)
		dfg_packet_release(&request[w]);
	dfg_free(request);
	coordinator->unequal = err != NULL;
	return err;
}

static struct dfg_err *compute(struct dfg_coordinator *coordinator, struct step_plan *plan, uint64_t step,
	const struct dfg_shard_run *runs, uint32_t n)
{
	struct lists lists;
	struct dfg_err *err = new_lists(coordinator, &lists);
	for (uint32_t i = 0; i < n && !err; i++) {
		lists.feeds[runs[i].replica] = runs[i].feeds ? runs[i].feeds : &no_feeds;
		lists.fetches[runs[i].replica] = runs[i].fetches;
		lists.shard[runs[i].replica] = runs[i].shard.number;
	}
	const struct plan_run run = {.feeds = lists.feeds,
		.fetches = lists.fetches,
		.sharded = step,
		.shards = runs[0].shard.shards,
		.batch = runs[0].shard.batch,
		.shard = lists.shard};
	if (!err)
		err = dfg_coordinator_run_on(coordinator, plan, &run);
	free_lists(&lists);
	return err;
}

struct dfg_err *dfg_coordinator_compute(
	struct dfg_session_backend *backend, uint32_t plan, uint64_t step, const struct dfg_shard_run *runs, uint32_t n)
{
	struct dfg_coordinator *coordinator = (struct dfg_coordinator *)backend;
	pthread_mutex_lock(&coordinator->request_lock);
	if (step != coordinator->sharded)
		dfg_coordinator_drop_streams(coordinator);
	struct dfg_err *err = make_equal(coordinator);
	if (!err)
		err = compute(coordinator, &coordinator->plan[plan], step, runs, n);
	pthread_mutex_unlock(&coordinator->request_lock);
	return err;
}

struct dfg_err *dfg_coordinator_update(struct dfg_session_backend *backend, uint32_t plan, uint64_t step,
	uint32_t shards, int64_t batch, const struct dfg_tensor *feeds, struct dfg_tensor *out_fetches)
{
	struct dfg_coordinator *coordinator = (struct dfg_coordinator *)backend;
	struct plan_run run = {.sharded = step, .shards = shards, .batch = batch};
	struct dfg_err *err = NULL;
	pthread_mutex_lock(&coordinator->request_lock);
	if (plan != DFG_NONE || coordinator->streams)
		err = run_on_all(coordinator, plan != DFG_NONE ? &coordinator->plan[plan] : NULL, &run, feeds, out_fetches);
	dfg_coordinator_drop_streams(coordinator);
	pthread_mutex_unlock(&coordinator->request_lock);
	return err;
}

struct dfg_err *dfg_coordinator_note_stream(struct dfg_coordinator *coordinator, const char *name)
{
	for (size_t i = 0; i < coordinator->streams; i++)
		if (!strcmp(coordinator->stream[i], name))
			return NULL;
	size_t length = strlen(name);
	char *copy = dfg_zeros(length + 1, 1);
	if (!copy || !dfg_reserve(&coordinator->stream, &coordinator->stream_room, coordinator->streams + 1, sizeof copy)) {
		dfg_free(copy);
		return dfg_no_memory("a step on the replicas");
	}
	coordinator->stream[coordinator->streams++] = memcpy(copy, name, length + 1);
	return NULL;
}

void dfg_coordinator_drop_streams(struct dfg_coordinator *coordinator)
{
	while (coordinator->streams)
		dfg_free(coordinator->stream[--coordinator->streams]);
}
