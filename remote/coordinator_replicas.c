#include "remote/coordinator_private.h"

#include <string.h>

/*
 * Several replicas of a graph. A plan runs on all of them, so that each makes its own variables, tables and queues; the
 * variables of the lead, replica 0 unless it is lost, then replace those of the others before the next compute run, since
 * they may have been loaded there alone.
 */

/* NULL in feeds of lists means that the plan does not run. */
const struct dfg_tensor dfg_coordinator_no_feeds;

struct dfg_err *dfg_coordinator_new_lists(
	const struct dfg_coordinator *coordinator, uint32_t n_fetch, struct run_lists *out_lists)
{
	size_t replicas = coordinator->options.replicas;
	*out_lists = (struct run_lists){.feeds = dfg_zeros(replicas, sizeof(struct dfg_tensor *)),
		.fetches = dfg_zeros(replicas, sizeof(struct dfg_tensor *)),
		.shard = dfg_zeros(replicas, sizeof(uint32_t)),
		.value = dfg_zeros(replicas * n_fetch + 1, sizeof(struct dfg_tensor))};
	bool all = out_lists->feeds && out_lists->fetches && out_lists->shard && out_lists->value;
	return all ? NULL : dfg_no_memory("a step on the replicas");
}

void dfg_coordinator_free_lists(struct run_lists *lists, size_t values)
{
	for (size_t i = 0; lists->value && i < values; i++)
		dfg_tensor_release(&lists->value[i]);
	dfg_free(lists->feeds);
	dfg_free(lists->fetches);
	dfg_free(lists->shard);
	dfg_free(lists->value);
}

/* The fetches are those of the lead, or of the first other replica that has done the run. */
static uint32_t giver(const struct dfg_coordinator *coordinator)
{
	uint32_t lead = dfg_coordinator_lead(coordinator), r = 0;
	if (coordinator->replica[lead].done)
		return lead;
	while (r + 1 < coordinator->options.replicas && !coordinator->replica[r].done)
		r++;
	return r;
}

/* A run on all members. *out_lost: as of dfg_coordinator_run_on(). */
static struct dfg_err *run_on_all(struct dfg_coordinator *coordinator, struct step_plan *plan, struct plan_run *run,
	const struct dfg_tensor *feeds, struct dfg_tensor *out_fetches, struct dfg_err **out_lost)
{
	struct run_lists lists;
	uint32_t n_fetch = plan ? plan->n_fetch : 0, replicas = coordinator->options.replicas;
	bool elastic = dfg_coordinator_is_elastic(coordinator);
	struct dfg_err *err = dfg_coordinator_new_lists(coordinator, n_fetch, &lists);
	*out_lost = NULL;
	for (uint32_t r = 0; r < replicas && !err; r++) {
		bool holds = run->sharded && run->sharded->holds;
		bool runs = coordinator->replica[r].member && (!run->of_done || coordinator->replica[r].done);
		runs &= !holds || !coordinator->absent[r];
		bool alone = run->sharded && run->sharded->only == r + 1;
		runs &= alone || !run->sharded || !run->sharded->only;
		runs &= run->sharded || !coordinator->options.servers || r == dfg_coordinator_lead(coordinator);
		lists.feeds[r] = !runs ? NULL : feeds ? feeds : &dfg_coordinator_no_feeds;
		if (!run->waits &&
			(elastic || alone || (holds ? coordinator->replica[r].taken : r == dfg_coordinator_lead(coordinator))))
			lists.fetches[r] = lists.value + (size_t)r * n_fetch;
	}
	run->feeds = lists.feeds;
	run->fetches = lists.fetches;
	if (!err)
		err = dfg_coordinator_run_on(coordinator, plan, run, out_lost);
	struct dfg_tensor *value = err ? NULL : lists.value + (size_t)giver(coordinator) * n_fetch;
	for (uint32_t i = 0; i < n_fetch && value && out_fetches; i++) {
		out_fetches[i] = value[i];
		value[i] = (struct dfg_tensor){0};
	}
	dfg_coordinator_free_lists(&lists, (size_t)replicas * n_fetch);
	return err;
}

/* The members that have done a run have newer variables than the others, which are the same if `all_same`. */
static void note_versions(struct dfg_coordinator *coordinator, bool all_same)
{
	uint32_t first = giver(coordinator);
	coordinator->version++;
	for (uint32_t r = 0; r < coordinator->options.replicas; r++)
		if (r == first || (all_same && coordinator->replica[r].done))
			coordinator->replica[r].version = coordinator->version;
}

static struct dfg_err *run_once(struct dfg_coordinator *coordinator, struct step_plan *plan,
	const struct dfg_tensor *feeds, struct dfg_tensor *out_fetches)
{
	bool elastic = dfg_coordinator_is_elastic(coordinator);
	struct plan_run run = {.spread = elastic ? TO_REPLICA : TO_ALL};
	struct dfg_err *lost = NULL, *err = coordinator->options.spmd ? dfg_coordinator_make_equal(coordinator) : NULL;
	if (!err)
		err = run_on_all(coordinator, plan, &run, feeds, out_fetches, &lost);
	if (!err)
		note_versions(coordinator, coordinator->options.spmd);
	if (!err && lost && (err = dfg_coordinator_regroup(coordinator, lost)))
		for (uint32_t i = 0; i < plan->n_fetch && out_fetches; i++)
			dfg_tensor_release(&out_fetches[i]);
	return err;
}

struct dfg_err *dfg_coordinator_run(
	struct dfg_session_backend *backend, uint32_t plan, const struct dfg_tensor *feeds, struct dfg_tensor *out_fetches)
{
	struct dfg_coordinator *coordinator = (struct dfg_coordinator *)backend;
	struct dfg_err *err;
	pthread_mutex_lock(&coordinator->request_lock);
	do
		err = run_once(coordinator, &coordinator->plan[plan], feeds, out_fetches);
	while (dfg_coordinator_continues(coordinator, &err));
	pthread_mutex_unlock(&coordinator->request_lock);
	return err;
}

/* Copies the names and values that the lead's worker of a part has sent into a request for the others. */
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

static bool is_older(const struct dfg_coordinator *coordinator, uint32_t replica)
{
	uint64_t newest = coordinator->replica[dfg_coordinator_lead(coordinator)].version;
	const struct replica_state *state = &coordinator->replica[replica];
	return state->member && state->version < newest && !dfg_coordinator_is_busy(coordinator, replica);
}

/* Reads the variables of the lead, and writes the requests for the members that have older ones. Lanes have the lead's. */
static struct dfg_err *read_state(struct dfg_coordinator *coordinator, struct dfg_packet *request)
{
	uint32_t width = coordinator->width;
	for (uint32_t w = 0; w < width; w++)
		if (!dfg_coordinator_is_lane(coordinator, w))
			dfg_coordinator_ask(coordinator, dfg_coordinator_lead_worker(coordinator, w),
				&(struct dfg_packet){.kind = DFG_PACKET_STATE});
	DFG_TRY(dfg_coordinator_answers_in(coordinator, "reading the variables of a replica"));
	struct dfg_err *err = NULL;
	for (uint32_t w = 0; w < coordinator->options.workers && !err; w++) {
		if (!is_older(coordinator, w / width) || dfg_coordinator_is_lane(coordinator, w))
			continue;
		struct dfg_packet *answer = &coordinator->state[dfg_coordinator_lead_worker(coordinator, w % width)].answer;
		size_t at = answer->at;
		request[w].kind = DFG_PACKET_ADOPT;
		err = copy_state(answer, &request[w]);
		answer->at = at;
	}
	dfg_coordinator_drop_answers(coordinator);
	return err;
}

/* A member that has adopted the variables has their version, even if another one is lost meanwhile. */
static struct dfg_err *send_state(struct dfg_coordinator *coordinator, struct dfg_packet *request)
{
	uint64_t newest = coordinator->replica[dfg_coordinator_lead(coordinator)].version;
	DFG_TRY(read_state(coordinator, request));
	for (uint32_t w = 0; w < coordinator->options.workers; w++)
		if (request[w].kind == DFG_PACKET_ADOPT)
			dfg_coordinator_ask(coordinator, w, &request[w]);
	struct dfg_err *err = dfg_coordinator_outcome(coordinator, 0, TO_ALL);
	for (uint32_t r = 0; r < coordinator->options.replicas; r++)
		if (coordinator->replica[r].done)
			coordinator->replica[r].version = newest;
	dfg_coordinator_drop_answers(coordinator);
	return dfg_err_note(err, "sending the newest variables to the replicas that lack them");
}

struct dfg_err *dfg_coordinator_make_equal(struct dfg_coordinator *coordinator)
{
	bool any = false;
	dfg_coordinator_settle(coordinator);
	for (uint32_t r = 0; r < coordinator->options.replicas; r++)
		any |= is_older(coordinator, r);
	if (!any)
		return NULL;
	struct dfg_packet *request = dfg_zeros(coordinator->options.workers, sizeof *request);
	struct dfg_err *err = request ? send_state(coordinator, request) : dfg_no_memory("the variables of the replicas");
	for (uint32_t w = 0; request && w < coordinator->options.workers; w++)
		dfg_packet_release(&request[w]);
	dfg_free(request);
	return err;
}

static struct dfg_err *compute(struct dfg_coordinator *coordinator, struct step_plan *plan,
	const struct dfg_group_step *step, struct dfg_shard_run *runs, uint32_t n, uint32_t need)
{
	struct run_lists lists;
	struct dfg_err *lost, *err = dfg_coordinator_new_lists(coordinator, 0, &lists);
	for (uint32_t i = 0; i < n && !err; i++) {
		uint32_t replica = dfg_coordinator_member(coordinator, runs[i].replica);
		if (coordinator->absent[replica])
			continue;
		lists.feeds[replica] = runs[i].feeds ? runs[i].feeds : &dfg_coordinator_no_feeds;
		lists.fetches[replica] = runs[i].fetches;
		lists.shard[replica] = runs[i].shard.number;
	}
	const struct plan_run run = {
		.feeds = lists.feeds, .fetches = lists.fetches, .sharded = step, .need = need, .shard = lists.shard};
	if (!err)
		err = dfg_coordinator_run_on(coordinator, plan, &run, &lost);
	for (uint32_t i = 0; i < n && !err; i++) {
		struct replica_state *replica = &coordinator->replica[dfg_coordinator_member(coordinator, runs[i].replica)];
		runs[i].taken = replica->done && lists.feeds[replica - coordinator->replica];
		replica->taken |= runs[i].taken;
	}
	dfg_coordinator_free_lists(&lists, 0);
	return err;
}

/* The first compute run of a step: with a quorum, replicas may be late. */
static struct dfg_err *begin_compute(struct dfg_coordinator *coordinator, const struct dfg_group_step *step)
{
	struct dfg_err *err = NULL;
	if (step->number == coordinator->sharded)
		return NULL;
	dfg_coordinator_drop_streams(coordinator);
	if (coordinator->options.quorum && !step->holds)
		err = dfg_coordinator_catch_up(coordinator);
	return err ? err : dfg_coordinator_make_equal(coordinator);
}

struct dfg_err *dfg_coordinator_compute(struct dfg_session_backend *backend, uint32_t plan,
	const struct dfg_group_step *step, struct dfg_shard_run *runs, uint32_t n, uint32_t need)
{
	struct dfg_coordinator *coordinator = (struct dfg_coordinator *)backend;
	pthread_mutex_lock(&coordinator->request_lock);
	bool begins = step->number != coordinator->sharded;
	struct dfg_err *err = begin_compute(coordinator, step);
	if (!err && begins && step->holds)
		err = dfg_coordinator_begin_quorum(coordinator, need);
	if (!err)
		err = compute(coordinator, &coordinator->plan[plan], step, runs, n, need);
	pthread_mutex_unlock(&coordinator->request_lock);
	return err;
}

/* Replicas without the step's update copy it from one that has it; an error if all that had it are lost. */
static struct dfg_err *spread_update(struct dfg_coordinator *coordinator, struct dfg_err *lost)
{
	uint64_t version = coordinator->version;
	struct dfg_err *err = dfg_coordinator_regroup(coordinator, lost);
	while (!err && coordinator->replica[dfg_coordinator_lead(coordinator)].version == version) {
		struct dfg_err *more = dfg_coordinator_make_equal(coordinator);
		if (!more)
			return NULL;
		err = dfg_coordinator_regroup(coordinator, more);
	}
	if (!err) {
		coordinator->broken = true;
		err = DFG_ERR(
			DFG_UNAVAILABLE, "all replicas that had the last update are lost; --resume continues from a checkpoint");
	}
	return err;
}

/* Replicas whose update ended half done, since two of their workers lost each other. */
static void lose_half_done(struct dfg_coordinator *coordinator)
{
	for (uint32_t w = 0; w < coordinator->options.workers; w++)
		if (dfg_coordinator_takes_part(coordinator, w) && coordinator->replica[w / coordinator->width].waited &&
			!coordinator->replica[w / coordinator->width].done)
			dfg_coordinator_lost(
				coordinator, w, DFG_ERR(DFG_UNAVAILABLE, "the update of the variables of its replica has failed"));
}

/*
 * The update of replicas of several workers: it begins where all workers of a replica have their buckets, so that none has
 * half of it.
 */
static struct dfg_err *update_in_two(struct dfg_coordinator *coordinator, struct step_plan *plan,
	const struct plan_run *run, const struct dfg_tensor *feeds, struct dfg_tensor *out_fetches,
	struct dfg_err **out_lost)
{
	struct dfg_err *lost;
	struct plan_run first = *run, second = *run;
	first.waits = second.of_done = true;
	first.spread = TO_ALL;
	second.spread = TO_REPLICA;
	DFG_TRY(run_on_all(coordinator, plan, &first, feeds, NULL, &lost));
	for (uint32_t r = 0; r < coordinator->options.replicas; r++)
		coordinator->replica[r].waited = coordinator->replica[r].done;
	struct dfg_err *err = run_on_all(coordinator, plan, &second, feeds, out_fetches, out_lost);
	if (*out_lost || (err && err->code == DFG_UNAVAILABLE))
		lose_half_done(coordinator);
	if (err) {
		dfg_err_free(lost);
		return err;
	}
	*out_lost = dfg_err_join(lost, *out_lost);
	return NULL;
}

/* With a quorum, late replicas first complete their updates. */
static struct dfg_err *compare(struct dfg_coordinator *coordinator)
{
	if (coordinator->options.quorum) {
		DFG_TRY(dfg_coordinator_catch_up(coordinator));
		DFG_TRY(dfg_coordinator_make_equal(coordinator));
	}
	return dfg_coordinator_verify(coordinator);
}

/* The step is over: what is lost now is only noted. */
static struct dfg_err *check_replicas(struct dfg_coordinator *coordinator)
{
	const struct dfg_replica_checks *checks = &coordinator->options.checks;
	struct dfg_err *err = NULL;
	coordinator->updates++;
	if (coordinator->updates == checks->flip_step)
		DFG_TRY(dfg_coordinator_damage(coordinator, checks->flip_replica));
	do
		err = checks->every && coordinator->updates % checks->every == 0 ? compare(coordinator) : NULL;
	while (dfg_coordinator_continues(coordinator, &err));
	return err;
}

static struct dfg_err *update(struct dfg_coordinator *coordinator, struct step_plan *plan, struct plan_run *run,
	const struct dfg_tensor *feeds, struct dfg_tensor *out_fetches)
{
	struct dfg_err *lost = NULL, *err;
	if (plan && coordinator->width > 1 && dfg_coordinator_is_elastic(coordinator))
		err = update_in_two(coordinator, plan, run, feeds, out_fetches, &lost);
	else
		err = run_on_all(coordinator, plan, run, feeds, out_fetches, &lost);
	if (err || run->sharded->only) /* the variables are those of all replicas */
		return err;
	note_versions(coordinator, true);
	coordinator->unexplained = 0;
	if (lost)
		err = spread_update(coordinator, lost);
	if (!err)
		err = check_replicas(coordinator);
	for (uint32_t i = 0; plan && i < plan->n_fetch && err; i++)
		dfg_tensor_release(&out_fetches[i]);
	return err;
}

struct dfg_err *dfg_coordinator_update(struct dfg_session_backend *backend, uint32_t plan,
	const struct dfg_group_step *step, const struct dfg_tensor *feeds, struct dfg_tensor *out_fetches)
{
	struct dfg_coordinator *coordinator = (struct dfg_coordinator *)backend;
	struct dfg_err *err = NULL;
	pthread_mutex_lock(&coordinator->request_lock);
	bool elastic = dfg_coordinator_is_elastic(coordinator);
	struct plan_run run = {.sharded = step, .spread = elastic ? TO_WAITING : TO_ALL};
	if (plan != DFG_NONE || coordinator->streams)
		err = update(coordinator, plan != DFG_NONE ? &coordinator->plan[plan] : NULL, &run, feeds, out_fetches);
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
	if (!copy ||
		!dfg_reserve(&coordinator->stream, &coordinator->stream_capacity, coordinator->streams + 1, sizeof copy)) {
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

struct dfg_err *dfg_coordinator_find_shared(
	const struct dfg_coordinator *coordinator, uint32_t worker, bool *out_shared)
{
	const struct dfg_coordinator_options *options = &coordinator->options;
	uint32_t first = worker % coordinator->width;
	bool reduces = !options->servers || dfg_coordinator_is_lane(coordinator, worker);
	bool may = options->algorithm == DFG_ALGORITHM_AUTO || options->algorithm == DFG_ALGORITHM_SHM;
	*out_shared = may && reduces && !options->quorum;
	for (uint32_t i = first + coordinator->width; i < options->workers && *out_shared; i += coordinator->width) {
		const char *name = coordinator->transport(coordinator->transport_arg, first, i);
		*out_shared = !strcmp(name, "shm");
		if (!*out_shared && options->algorithm == DFG_ALGORITHM_SHM)
			return DFG_ERR(DFG_DATA, "--algorithm shm requires --transport shm between the replicas; %s and %s use %s",
				options->peer[first].name, options->peer[i].name, name);
	}
	return NULL;
}
