#include "remote/coordinator_private.h"

/*
 * Asynchronous steps: each replica has a compute run of its own in progress, whose answers are kept apart from those of
 * other requests, so that an update of one replica, or a question to another, is not held up by it.
 */

bool dfg_coordinator_land(struct dfg_coordinator *coordinator, struct dfg_packet *packet)
{
	struct worker_state *state = &coordinator->state[packet->peer];
	if (packet->kind != DFG_PACKET_ANSWER || !state->flight || packet->number != state->flight)
		return false;
	state->flight = 0;
	state->landed = *packet;
	return true;
}

static bool is_of(const struct dfg_coordinator *coordinator, uint32_t worker, uint32_t replica)
{
	return worker / coordinator->width == replica;
}

/* The compute run of a replica. */
static struct plan_run run_of(struct dfg_coordinator *coordinator, uint32_t replica, const struct dfg_tensor *feeds,
	const struct run_lists *lists)
{
	const struct replica_state *state = &coordinator->replica[replica];
	lists->feeds[replica] = feeds ? feeds : &dfg_coordinator_no_feeds;
	lists->fetches[replica] = state->flight_fetches;
	lists->shard[replica] = replica;
	return (struct plan_run){
		.feeds = lists->feeds, .fetches = lists->fetches, .sharded = state->flight_step, .shard = lists->shard};
}

static void ask_clock(
	struct dfg_coordinator *coordinator, uint32_t worker, const struct dfg_group_step *step, bool reads)
{
	const struct dfg_replica_checks *checks = &coordinator->options.checks;
	uint32_t replica = worker / coordinator->width;
	const struct step_plan *plan = coordinator->replica[replica].flight_plan;
	bool has_plan = plan->worker_step[worker % coordinator->width].runs;
	bool stale = checks->stale_step && step->clock + 1 >= checks->stale_step && replica == checks->stale_replica;
	struct dfg_packet packet = {.kind = DFG_PACKET_CLOCK};
	dfg_packet_put(&packet, step->clock);
	dfg_packet_put(&packet, has_plan ? plan->number[worker] : DFG_NONE);
	dfg_packet_put(&packet, reads);
	dfg_packet_put(&packet, !stale);
	dfg_coordinator_ask(coordinator, worker, &packet);
}

/*
 * With bounded staleness: the servers copy what the run that follows reads, before the next update, so that all of it is of
 * one time.
 */
static struct dfg_err *move_clock(
	struct dfg_coordinator *coordinator, const struct dfg_group_step *step, const struct dfg_shard_run *run)
{
	for (uint32_t w = 0; w < coordinator->options.workers; w++)
		if (is_of(coordinator, w, run->replica) && dfg_coordinator_is_lane(coordinator, w))
			ask_clock(coordinator, w, step, run->shard.rows > 0);
	struct dfg_err *err = dfg_coordinator_answers_in(coordinator, "reading the variables");
	for (uint32_t w = 0; w < coordinator->options.workers && !err; w++)
		if (is_of(coordinator, w, run->replica) && dfg_coordinator_is_lane(coordinator, w))
			coordinator->reads_checked += dfg_packet_get(&coordinator->state[w].answer);
	dfg_coordinator_drop_answers(coordinator);
	return err;
}

static struct dfg_err *start(
	struct dfg_coordinator *coordinator, const struct dfg_group_step *step, const struct dfg_shard_run *run)
{
	struct run_lists lists;
	struct replica_state *replica = &coordinator->replica[run->replica];
	struct dfg_err *err = dfg_coordinator_make_equal(coordinator);
	if (!err && step->partial)
		err = move_clock(coordinator, step, run);
	if (err || !run->shard.rows)
		return err;
	err = dfg_coordinator_new_lists(coordinator, 0, &lists);
	replica->flight_step = step;
	replica->flight_fetches = run->fetches;
	if (!err) {
		const struct plan_run asked = run_of(coordinator, run->replica, run->feeds, &lists);
		replica->flight_number = ++coordinator->step;
		dfg_coordinator_ask_runs(coordinator, replica->flight_plan, &asked, replica->flight_number);
	}
	for (uint32_t w = 0; w < coordinator->options.workers; w++)
		if (is_of(coordinator, w, run->replica)) {
			coordinator->state[w].flight = coordinator->state[w].asked;
			coordinator->state[w].asked = 0;
		}
	dfg_coordinator_free_lists(&lists, 0);
	return err;
}

struct dfg_err *dfg_coordinator_start(struct dfg_session_backend *backend, uint32_t plan,
	const struct dfg_group_step *step, const struct dfg_shard_run *run)
{
	struct dfg_coordinator *coordinator = (struct dfg_coordinator *)backend;
	pthread_mutex_lock(&coordinator->request_lock);
	coordinator->replica[run->replica].flight_plan = &coordinator->plan[plan];
	struct dfg_err *err = start(coordinator, step, run);
	if (err || !run->shard.rows)
		coordinator->replica[run->replica].flight_plan = NULL;
	coordinator->broken |= err && err->code == DFG_UNAVAILABLE;
	pthread_mutex_unlock(&coordinator->request_lock);
	return err;
}

/* A replica whose workers have all answered, the wanted one; DFG_NONE: any, or there is none yet. */
static uint32_t find_landed(const struct dfg_coordinator *coordinator, uint32_t wanted)
{
	for (uint32_t r = 0; r < coordinator->options.replicas; r++) {
		bool waits = !coordinator->replica[r].flight_plan || (wanted != DFG_NONE && r != wanted);
		for (uint32_t w = 0; w < coordinator->options.workers; w++)
			waits |= is_of(coordinator, w, r) && coordinator->state[w].flight;
		if (!waits)
			return r;
	}
	return DFG_NONE;
}

static bool has_failed(const struct worker_state *state)
{
	struct dfg_packet answer = state->landed; /* its code is read again later */
	return answer.kind == DFG_PACKET_ANSWER && dfg_packet_get(&answer);
}

/* A compute run that has failed on one worker of a replica ends on the others too. False: all know. */
static bool fail_flights(struct dfg_coordinator *coordinator)
{
	bool told = false;
	for (uint32_t failed = 0; failed < coordinator->options.workers; failed++) {
		uint32_t replica = failed / coordinator->width;
		for (uint32_t w = 0; w < coordinator->options.workers && has_failed(&coordinator->state[failed]); w++)
			if (is_of(coordinator, w, replica) && coordinator->state[w].flight)
				told |= dfg_coordinator_fail_on(coordinator, w, coordinator->replica[replica].flight_number, failed);
	}
	return told;
}

/* Waits for the first replica that has done its compute run, or for the wanted one. */
static struct dfg_err *await(struct dfg_coordinator *coordinator, uint32_t wanted, uint32_t *out_replica)
{
	uint64_t until = 0;
	for (;;) {
		uint32_t seen = atomic_load(&coordinator->event.word);
		dfg_coordinator_take_answers(coordinator);
		DFG_TRY(dfg_coordinator_why_lost(coordinator));
		*out_replica = find_landed(coordinator, wanted);
		if (*out_replica != DFG_NONE)
			return NULL;
		if (fail_flights(coordinator))
			until = dfg_coordinator_grace(coordinator);
		if (until && dfg_now() >= until)
			dfg_coordinator_lose_stopped(coordinator);
		else
			dfg_coordinator_wait(coordinator, seen, until);
	}
}

/* Moves the answers of a replica to where those of requests are; its error: the first that repeats no other worker's. */
static struct dfg_err *take_landed(struct dfg_coordinator *coordinator, uint32_t replica)
{
	struct dfg_err *err = NULL, *repeated = NULL;
	for (uint32_t w = replica * coordinator->width; w < (replica + 1) * coordinator->width; w++) {
		struct worker_state *state = &coordinator->state[w];
		if (state->landed.kind != DFG_PACKET_ANSWER)
			continue;
		state->answer = state->landed;
		state->landed = (struct dfg_packet){0};
		struct dfg_err *failed = dfg_packet_get_error(&state->answer);
		bool told = failed && dfg_packet_get_bool(&state->answer);
		failed = failed && failed->code == DFG_DATA ? dfg_err_note(failed, "replica %u", replica)
													: dfg_err_note(failed, "%s", coordinator->options.peer[w].name);
		struct dfg_err **kept = told ? &repeated : &err;
		if (*kept)
			dfg_err_free(failed);
		else
			*kept = failed;
	}
	if (!err)
		return repeated;
	dfg_err_free(repeated);
	return err;
}

static struct dfg_err *finish(struct dfg_coordinator *coordinator, uint32_t replica)
{
	struct run_lists lists;
	struct replica_state *state = &coordinator->replica[replica];
	struct dfg_err *err = take_landed(coordinator, replica);
	if (!err) {
		err = dfg_coordinator_new_lists(coordinator, 0, &lists);
		for (uint32_t r = 0; r < coordinator->options.replicas; r++)
			coordinator->replica[r].done = r == replica;
		dfg_coordinator_drop_streams(coordinator);
		if (!err) {
			const struct plan_run run = run_of(coordinator, replica, NULL, &lists);
			err = dfg_coordinator_take_shares(coordinator, state->flight_plan, &run);
		}
		dfg_coordinator_free_lists(&lists, 0);
	}
	dfg_coordinator_drop_answers(coordinator);
	state->flight_plan = NULL;
	return err;
}

struct dfg_err *dfg_coordinator_finish(struct dfg_session_backend *backend, uint32_t wanted, uint32_t *out_replica)
{
	struct dfg_coordinator *coordinator = (struct dfg_coordinator *)backend;
	pthread_mutex_lock(&coordinator->request_lock);
	struct dfg_err *err = await(coordinator, wanted, out_replica);
	if (!err)
		err = finish(coordinator, *out_replica);
	coordinator->broken |= err && err->code == DFG_UNAVAILABLE;
	pthread_mutex_unlock(&coordinator->request_lock);
	return err;
}
