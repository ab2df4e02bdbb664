#include "remote/coordinator.h"

#include "lib/exec/transport/rendezvous.h"
#include "remote/coordinator_private.h"

#include <string.h>

struct dfg_err *dfg_coordinator_new(const struct dfg_coordinator_options *options, struct dfg_coordinator **out_crew)
{
	struct dfg_coordinator *crew = dfg_zeros(1, sizeof *crew);
	if (!crew)
		return DFG_ERR(DFG_MEMORY, "out of memory");
	crew->fleet = (struct dfg_session_backend){dfg_coordinator_plan, dfg_coordinator_run, dfg_coordinator_stats,
		dfg_coordinator_variables, dfg_coordinator_read, dfg_coordinator_assign};
	crew->options = *options;
	size_t workers = options->workers;
	crew->state = dfg_zeros(workers, sizeof *crew->state);
	crew->traffic = dfg_zeros(workers * workers, sizeof *crew->traffic);
	crew->asked_link = dfg_zeros(workers, sizeof(struct dfg_link *));
	struct dfg_err *err =
		crew->state && crew->traffic && crew->asked_link ? NULL : DFG_ERR(DFG_MEMORY, "out of memory");
	if (!err)
		err = dfg_inbox_init(&crew->inbox, &crew->event);
	if (!err && (pthread_mutex_init(&crew->lock, NULL) || pthread_mutex_init(&crew->turn, NULL)))
		err = DFG_ERR(DFG_MEMORY, "out of memory");
	if (err) {
		dfg_free(crew->state);
		dfg_free(crew->traffic);
		dfg_free(crew->asked_link);
		dfg_free(crew);
		return err;
	}
	*out_crew = crew;
	return NULL;
}

struct dfg_session_backend *dfg_coordinator_fleet(struct dfg_coordinator *crew)
{
	return &crew->fleet;
}

/*
 * A report that the process ended explains more than a link's error, unless the link lacked memory on our side: then
 * the worker ended because of that.
 */
static bool explains_more(const struct worker_state *state, bool ended)
{
	return ended && !state->ended && !(state->why && state->why->code == DFG_MEMORY);
}

static void lose(struct dfg_coordinator *crew, uint32_t worker, struct dfg_err *err, bool ended)
{
	struct worker_state *state = &crew->state[worker];
	pthread_mutex_lock(&crew->lock);
	if (!state->lost || explains_more(state, ended)) {
		struct dfg_err *before = state->why;
		state->why = dfg_err_note(err, "%s", crew->options.peer[worker].name);
		state->lost = true;
		state->ended = ended;
		err = before;
	}
	pthread_mutex_unlock(&crew->lock);
	dfg_err_free(err);
	dfg_event_signal(&crew->event);
}

void dfg_coordinator_lost(struct dfg_coordinator *crew, uint32_t worker, struct dfg_err *err)
{
	lose(crew, worker, err, false);
}

void dfg_coordinator_ended(struct dfg_coordinator *crew, uint32_t worker, struct dfg_err *err)
{
	lose(crew, worker, err, true);
}

bool dfg_coordinator_has_lost(struct dfg_coordinator *crew, uint32_t worker)
{
	pthread_mutex_lock(&crew->lock);
	bool lost = crew->state[worker].lost;
	pthread_mutex_unlock(&crew->lock);
	return lost;
}

bool dfg_coordinator_is_broken(struct dfg_coordinator *crew)
{
	bool broken = crew->broken;
	for (uint32_t i = 0; i < crew->options.workers; i++)
		broken |= dfg_coordinator_has_lost(crew, i);
	return broken;
}

/* The pong with the shortest round trip gives the best estimate of the other clock at its midpoint. */
static void take_pong(struct dfg_coordinator *crew, uint32_t peer, const struct dfg_message *message)
{
	uint64_t now = dfg_now();
	struct dfg_packet packet;
	struct worker_state *state = &crew->state[peer];
	struct dfg_err *err = dfg_packet_of(peer, message, &packet);
	if (err) {
		dfg_coordinator_lost(crew, peer, err);
		return;
	}
	uint64_t theirs = dfg_packet_get(&packet);
	pthread_mutex_lock(&crew->lock);
	uint64_t round = now - state->pinged;
	if (packet.number == state->ping && (!state->round_ns || round < state->round_ns)) {
		int64_t ahead = (int64_t)(theirs - (state->pinged + round / 2));
		bool same =
			ahead <= (int64_t)(round / 2) && -ahead <= (int64_t)(round / 2); /* as for processes of one machine */
		state->round_ns = round ? round : 1;
		state->ahead_ns = same ? 0 : ahead;
	}
	pthread_mutex_unlock(&crew->lock);
	dfg_packet_release(&packet);
	dfg_event_signal(&crew->event);
}

static void deliver(void *arg, uint32_t peer, struct dfg_message *message)
{
	struct dfg_coordinator *crew = arg;
	struct dfg_err *err = NULL;
	if (peer >= crew->options.workers || message->kind != DFG_MESSAGE_CONTROL) {
		dfg_tensor_release(&message->tensor);
		return;
	}
	atomic_store(&crew->state[peer].heard, dfg_now());
	if (message->key.number == DFG_PACKET_PONG) {
		take_pong(crew, peer, message);
		dfg_tensor_release(&message->tensor);
		return;
	}
	err = dfg_inbox_deliver(&crew->inbox, peer, message);
	if (err)
		dfg_coordinator_lost(crew, peer, err);
}

static void lost(void *arg, uint32_t peer, struct dfg_err *err)
{
	struct dfg_coordinator *crew = arg;
	if (peer < crew->options.workers)
		dfg_coordinator_lost(crew, peer, err);
	else
		dfg_err_free(err);
}

struct dfg_link_sink dfg_coordinator_sink(struct dfg_coordinator *crew)
{
	return (struct dfg_link_sink){.arg = crew, .deliver = deliver, .lost = lost};
}

void dfg_coordinator_ask(struct dfg_coordinator *crew, uint32_t worker, struct dfg_packet *packet)
{
	struct worker_state *state = &crew->state[worker];
	state->asked = packet->number = ++crew->asked;
	struct dfg_err *err = dfg_packet_send(packet, state->link);
	if (!err)
		return;
	if (err->code == DFG_UNAVAILABLE) {
		dfg_coordinator_lost(crew, worker, err);
		return;
	}
	state->asked = 0;
	state->err = err;
}

void dfg_coordinator_drop_answers(struct dfg_coordinator *crew)
{
	for (uint32_t i = 0; i < crew->options.workers; i++) {
		struct worker_state *state = &crew->state[i];
		dfg_packet_release(&state->answer);
		dfg_err_free(state->err);
		state->err = NULL;
		state->told = false;
		state->asked = 0;
	}
}

static void take_answers(struct dfg_coordinator *crew)
{
	struct dfg_packet packet;
	while (dfg_inbox_take(&crew->inbox, &packet)) {
		struct worker_state *state = &crew->state[packet.peer];
		if (packet.kind != DFG_PACKET_ANSWER || packet.number != state->asked) {
			dfg_packet_release(&packet); /* the answer to a request that is no longer waited for */
			continue;
		}
		state->asked = 0;
		state->answer = packet;
		state->err = dfg_packet_get_error(&state->answer);
		state->told = state->err && dfg_packet_get_bool(&state->answer);
	}
}

/* Whether a worker has still to answer; *out_first is set to the first failed worker found, if it was not set. */
static bool look(struct dfg_coordinator *crew, uint32_t *first)
{
	bool waiting = false;
	for (uint32_t i = 0; i < crew->options.workers; i++) {
		struct worker_state *state = &crew->state[i];
		bool gone = state->asked && dfg_coordinator_has_lost(crew, i);
		if (gone)
			state->asked = 0;
		if (*first == DFG_NONE && (gone || state->err))
			*first = i;
		waiting |= state->asked != 0;
	}
	return waiting;
}

/* Tells the workers that have not answered that the step failed. */
static void fail_rest(struct dfg_coordinator *crew, uint64_t step, uint32_t culprit)
{
	for (uint32_t i = 0; i < crew->options.workers; i++) {
		struct dfg_packet packet = {.kind = DFG_PACKET_FAIL};
		if (!crew->state[i].asked)
			continue;
		struct dfg_err *err = DFG_ERR(DFG_STOPPED, "the step has failed on %s", crew->options.peer[culprit].name);
		dfg_packet_put(&packet, step);
		dfg_packet_put_error(&packet, err);
		dfg_err_free(err);
		err = dfg_packet_send(&packet, crew->state[i].link);
		if (err)
			dfg_coordinator_lost(crew, i, err);
	}
}

/* Waits for the event, or until the deadline. */
static void wait_for_more(struct dfg_coordinator *crew, uint32_t seen, uint64_t until)
{
	uint32_t count = 0;
	for (uint32_t i = 0; i < crew->options.workers; i++)
		if (crew->state[i].asked && !dfg_coordinator_has_lost(crew, i))
			crew->asked_link[count++] = crew->state[i].link;
	if (dfg_poll_awhile(crew->asked_link, count, &crew->event, seen, &crew->in_vain))
		return;
	dfg_event_sleep(&crew->event, seen, until);
}

static uint64_t grace(const struct dfg_coordinator *crew)
{
	double seconds = crew->options.lease > 0 ? crew->options.lease : 10;
	return dfg_now() + (uint64_t)(seconds * 1e9);
}

static struct dfg_err *copy(const struct dfg_err *err)
{
	struct dfg_err *all = NULL;
	for (; err; err = err->next)
		all = dfg_err_join(all, DFG_ERR(err->code, "%s", err->text));
	return all;
}

/* Errors in a graph read as in one process; errors of a worker name it. */
static struct dfg_err *error_of(struct dfg_coordinator *crew, uint32_t worker)
{
	struct worker_state *state = &crew->state[worker];
	struct dfg_err *err = state->err;
	state->err = NULL;
	crew->blamed = worker;
	return err && err->code != DFG_DATA ? dfg_err_note(err, "%s", crew->options.peer[worker].name) : err;
}

/* A link is lost when its process ends, shortly before the watcher can report how it ended. */
static void wait_for_explanation(struct dfg_coordinator *crew, uint32_t worker)
{
	uint64_t until = dfg_now() + 500000000;
	while (crew->options.watched && dfg_now() < until) {
		uint32_t seen = atomic_load(&crew->event.word);
		pthread_mutex_lock(&crew->lock);
		bool ended = crew->state[worker].ended;
		pthread_mutex_unlock(&crew->lock);
		if (ended)
			return;
		dfg_event_wait_until(&crew->event, seen, until);
	}
}

/* The first worker that reported a failed receive, joined to the error that explains it. */
static struct dfg_err *add_waiting(struct dfg_coordinator *crew, struct dfg_err *err)
{
	for (uint32_t i = 0; i < crew->options.workers; i++)
		if (crew->state[i].err && crew->state[i].err->waited)
			return dfg_err_join(err, error_of(crew, i));
	return err;
}

struct dfg_err *dfg_coordinator_why_lost(struct dfg_coordinator *crew)
{
	struct dfg_err *err = NULL;
	for (uint32_t i = 0; i < crew->options.workers && !err; i++) {
		if (!dfg_coordinator_has_lost(crew, i))
			continue;
		wait_for_explanation(crew, i);
		pthread_mutex_lock(&crew->lock);
		err = copy(crew->state[i].why);
		pthread_mutex_unlock(&crew->lock);
	}
	return err;
}

/* A lost worker explains the other errors; next comes the first error, and last the errors that repeat another's. */
static struct dfg_err *choose_error(struct dfg_coordinator *crew, uint32_t first)
{
	struct dfg_err *err = dfg_coordinator_why_lost(crew);
	crew->blamed = DFG_NONE;
	if (err)
		err = add_waiting(crew, err);
	if (!err && first != DFG_NONE && crew->state[first].err && !crew->state[first].told)
		err = error_of(crew, first);
	for (int told = 0; told < 2; told++)
		for (uint32_t i = 0; i < crew->options.workers && !err; i++)
			if (crew->state[i].err && crew->state[i].told == told)
				err = error_of(crew, i);
	return err;
}

struct dfg_err *dfg_coordinator_answers(struct dfg_coordinator *crew, uint64_t step)
{
	uint32_t first = DFG_NONE;
	uint64_t until = 0;
	for (;;) {
		uint32_t seen = atomic_load(&crew->event.word);
		take_answers(crew);
		if (!look(crew, &first))
			break;
		if (step && first != DFG_NONE && !until) {
			until = grace(crew);
			fail_rest(crew, step, first);
		}
		if (until && dfg_now() >= until) {
			for (uint32_t i = 0; i < crew->options.workers; i++)
				if (crew->state[i].asked)
					dfg_coordinator_lost(crew, i, DFG_ERR(DFG_UNAVAILABLE, "does not end its part of a failed step"));
			continue;
		}
		wait_for_more(crew, seen, until);
	}
	struct dfg_err *err = choose_error(crew, first);
	if (err && err->code == DFG_UNAVAILABLE)
		crew->broken = true; /* two live workers may have lost each other */
	if (err)
		dfg_coordinator_drop_answers(crew);
	return err;
}

struct dfg_err *dfg_coordinator_answers_in(struct dfg_coordinator *crew, const char *phase)
{
	struct dfg_err *err = dfg_coordinator_answers(crew, 0);
	return err && err->code == DFG_UNAVAILABLE ? dfg_err_note(err, "%s", phase) : err;
}

static void ping(struct dfg_coordinator *crew, uint32_t worker)
{
	struct worker_state *state = &crew->state[worker];
	struct dfg_packet packet = {.kind = DFG_PACKET_PING, .number = atomic_fetch_add(&crew->pings, 1) + 1};
	pthread_mutex_lock(&crew->lock);
	state->ping = packet.number;
	state->pinged = dfg_now();
	pthread_mutex_unlock(&crew->lock);
	struct dfg_err *err = dfg_packet_send(&packet, state->link);
	if (err)
		dfg_coordinator_lost(crew, worker, err);
}

/* Sends pings. If this process was stopped itself, it has received nothing meanwhile: no worker is blamed for that. */
static void *guard(void *arg)
{
	struct dfg_coordinator *crew = arg;
	uint64_t lease = (uint64_t)(crew->options.lease * 1e9), last = dfg_now();
	while (!atomic_load(&crew->ended)) {
		uint32_t seen = atomic_load(&crew->guard_event.word);
		uint64_t now = dfg_now(), silence = atomic_load(&crew->silence);
		bool slept = now - last > lease / 2;
		last = now;
		for (uint32_t i = 0; i < crew->options.workers; i++) {
			if (dfg_coordinator_has_lost(crew, i))
				continue;
			if (slept)
				atomic_store(&crew->state[i].heard, now);
			if (now > dfg_link_heard(crew->state[i].link, atomic_load(&crew->state[i].heard)) + silence)
				dfg_coordinator_ended(crew, i,
					DFG_ERR(DFG_UNAVAILABLE, "silent for %.3g s%s", (double)silence / 1e9,
						silence > lease ? " while the workers are linked" : ""));
			else
				ping(crew, i);
		}
		dfg_event_wait_until(&crew->guard_event, seen, now + lease / 10);
	}
	return NULL;
}

static void stop_guard(struct dfg_coordinator *crew)
{
	atomic_store(&crew->ended, true);
	if (!crew->guarded)
		return;
	dfg_event_signal(&crew->guard_event);
	pthread_join(crew->guard, NULL);
	crew->guarded = false;
}

/* Some pings before the first step, so that the clock offset is known to some microseconds. */
static void learn_clock(struct dfg_coordinator *crew, uint32_t worker)
{
	enum { PINGS = 5 };
	struct worker_state *state = &crew->state[worker];
	for (int i = 0; i < PINGS; i++) {
		uint64_t until = dfg_now() + 100000000;
		uint64_t before = atomic_load(&state->heard);
		ping(crew, worker);
		while (atomic_load(&state->heard) == before && dfg_now() < until && !dfg_coordinator_has_lost(crew, worker)) {
			uint32_t seen = atomic_load(&crew->event.word);
			if (atomic_load(&state->heard) == before && !state->link->kind->poll(state->link))
				dfg_event_wait_until(&crew->event, seen, until);
		}
	}
}

static struct dfg_err *ask_setup(struct dfg_coordinator *crew, uint32_t worker, double seconds,
	const char *(*transport)(void *arg, uint32_t one, uint32_t two), void *arg)
{
	struct dfg_packet packet = {.kind = DFG_PACKET_SETUP};
	struct dfg_worker_config setup = {.self = worker,
		.workers = crew->options.workers,
		.session = crew->options.session,
		.trace = crew->options.trace != NULL,
		.lease = crew->options.lease,
		.seconds = seconds};
	setup.peer = dfg_zeros(setup.workers, sizeof *setup.peer);
	if (!setup.peer)
		return DFG_ERR(DFG_MEMORY, "out of memory");
	for (uint32_t i = 0; i < setup.workers; i++) {
		setup.peer[i] = crew->options.peer[i];
		setup.peer[i].transport = i == worker ? "" : transport(arg, worker, i);
	}
	dfg_worker_config_put(&packet, &setup);
	dfg_coordinator_ask(crew, worker, &packet);
	dfg_free(setup.peer);
	return NULL;
}

static struct dfg_err *start_guard(struct dfg_coordinator *crew)
{
	for (uint32_t i = 0; i < crew->options.workers; i++)
		atomic_store(&crew->state[i].heard, dfg_now());
	if (!(crew->options.lease > 0))
		return NULL;
	crew->guarded = !pthread_create(&crew->guard, NULL, guard, crew);
	return crew->guarded ? NULL : DFG_ERR(DFG_MEMORY, "cannot start a thread");
}

double dfg_coordinator_patience(double lease, uint32_t workers)
{
	const double pair = 0.005;
	return lease > 0 ? lease + pair * workers * workers : 0;
}

/* Names the first worker that has not answered. */
static struct dfg_err *name_slowest(const struct dfg_coordinator *crew, double seconds)
{
	for (uint32_t i = 0; i < crew->options.workers; i++)
		if (crew->state[i].asked)
			return DFG_ERR(DFG_UNAVAILABLE, "%s: is not linked to the other workers after %.3g s",
				crew->options.peer[i].name, seconds);
	return NULL;
}

/* A worker that cannot link may report another's failure: that one is known to be lost a moment later. */
static struct dfg_err *setup_answers(struct dfg_coordinator *crew, double seconds)
{
	const uint64_t moment = 500000000;
	uint32_t first = DFG_NONE;
	uint64_t until = dfg_now() + (uint64_t)(seconds * 1e9);
	bool hurried = false;
	for (;;) {
		uint32_t seen = atomic_load(&crew->event.word);
		take_answers(crew);
		if (!look(crew, &first) || dfg_now() >= until)
			break;
		if (first != DFG_NONE && !hurried && until > dfg_now() + moment)
			until = dfg_now() + moment;
		hurried = first != DFG_NONE;
		wait_for_more(crew, seen, until);
	}
	struct dfg_err *err = choose_error(crew, first);
	if (!err)
		err = name_slowest(crew, seconds);
	dfg_coordinator_drop_answers(crew);
	return err;
}

struct dfg_err *dfg_coordinator_begin(struct dfg_coordinator *crew, struct dfg_link *const *links, double seconds,
	const char *(*transport)(void *arg, uint32_t one, uint32_t two), void *arg)
{
	double patience = dfg_coordinator_patience(crew->options.lease, crew->options.workers);
	for (uint32_t i = 0; i < crew->options.workers; i++)
		crew->state[i].link = links[i];
	for (uint32_t i = 0; i < crew->options.workers; i++)
		DFG_TRY(ask_setup(crew, i, seconds, transport, arg));
	atomic_store(&crew->silence, (uint64_t)(patience * 1e9));
	DFG_TRY(start_guard(crew));
	DFG_TRY(setup_answers(crew, seconds));
	atomic_store(&crew->silence, (uint64_t)(crew->options.lease * 1e9));
	for (uint32_t i = 0; i < crew->options.workers && crew->options.trace; i++)
		learn_clock(crew, i);
	return NULL;
}

void dfg_coordinator_end(struct dfg_coordinator *crew)
{
	stop_guard(crew);
	for (uint32_t i = 0; i < crew->options.workers; i++) {
		struct dfg_packet packet = {.kind = DFG_PACKET_END, .number = ++crew->asked};
		if (crew->state[i].link && !dfg_coordinator_has_lost(crew, i))
			dfg_err_free(dfg_packet_send(&packet, crew->state[i].link)); /* a lost worker has ended already */
	}
}

void dfg_coordinator_free(struct dfg_coordinator *crew)
{
	if (!crew)
		return;
	stop_guard(crew);
	dfg_coordinator_drop_answers(crew);
	dfg_coordinator_drop_plans(crew);
	dfg_arena_release(&crew->arena);
	for (uint32_t i = 0; i < crew->options.workers; i++)
		dfg_err_free(crew->state[i].why);
	dfg_inbox_release(&crew->inbox);
	pthread_mutex_destroy(&crew->lock);
	pthread_mutex_destroy(&crew->turn);
	dfg_free(crew->plan);
	dfg_free(crew->state);
	dfg_free(crew->traffic);
	dfg_free(crew->asked_link);
	dfg_free(crew);
}
