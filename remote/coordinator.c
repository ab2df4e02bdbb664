#include "remote/coordinator.h"

#include "lib/exec/transport/rendezvous.h"
#include "remote/coordinator_private.h"

#include <stdio.h>
#include <string.h>

static void free_tables(struct dfg_coordinator *coordinator)
{
	dfg_free(coordinator->state);
	dfg_free(coordinator->traffic);
	dfg_free(coordinator->asked_link);
	dfg_free(coordinator->replica);
	dfg_free(coordinator->absent);
}

struct dfg_err *dfg_coordinator_new(
	const struct dfg_coordinator_options *options, struct dfg_coordinator **out_coordinator)
{
	struct dfg_coordinator *coordinator = dfg_zeros(1, sizeof *coordinator);
	if (!coordinator)
		return dfg_no_memory("the coordinator");
	coordinator->options = *options;
	coordinator->options.replicas = options->replicas ? options->replicas : 1;
	coordinator->width = options->workers / coordinator->options.replicas;
	coordinator->backend = (struct dfg_session_backend){coordinator->options.replicas, dfg_coordinator_plan,
		dfg_coordinator_run, dfg_coordinator_begin_step, dfg_coordinator_compute, dfg_coordinator_update,
		dfg_coordinator_start, dfg_coordinator_finish, dfg_coordinator_recover, dfg_coordinator_stats,
		dfg_coordinator_variables, dfg_coordinator_read, dfg_coordinator_assign};
	size_t workers = options->workers;
	coordinator->state = dfg_zeros(workers, sizeof *coordinator->state);
	coordinator->traffic = dfg_zeros(workers * workers, sizeof *coordinator->traffic);
	coordinator->asked_link = dfg_zeros(workers, sizeof(struct dfg_link *));
	coordinator->replica = dfg_zeros(coordinator->options.replicas, sizeof *coordinator->replica);
	coordinator->absent = dfg_zeros(coordinator->options.replicas, sizeof *coordinator->absent);
	bool all = coordinator->state && coordinator->traffic && coordinator->asked_link && coordinator->replica &&
			   coordinator->absent;
	struct dfg_err *err = all ? NULL : dfg_no_memory("the coordinator");
	for (uint32_t r = 0; r < coordinator->options.replicas && !err; r++)
		coordinator->replica[r].member = true;
	if (!err)
		err = dfg_inbox_init(&coordinator->inbox, &coordinator->event);
	if (!err && (pthread_mutex_init(&coordinator->lock, NULL) || pthread_mutex_init(&coordinator->request_lock, NULL)))
		err = dfg_no_memory("the coordinator");
	if (err) {
		free_tables(coordinator);
		dfg_free(coordinator);
		return err;
	}
	*out_coordinator = coordinator;
	return NULL;
}

struct dfg_session_backend *dfg_coordinator_backend(struct dfg_coordinator *coordinator)
{
	return &coordinator->backend;
}

/*
 * A report that the process ended explains more than a link's error, unless the link lacked memory on our side: then
 * the worker ended because of that.
 */
static bool explains_more(const struct worker_state *state, bool ended)
{
	return ended && !state->ended && !(state->why && state->why->code == DFG_MEMORY);
}

static void lose(struct dfg_coordinator *coordinator, uint32_t worker, struct dfg_err *err, bool ended)
{
	struct worker_state *state = &coordinator->state[worker];
	pthread_mutex_lock(&coordinator->lock);
	if (!state->lost || explains_more(state, ended)) {
		struct dfg_err *before = state->why;
		state->why = dfg_err_note(err, "%s", coordinator->options.peer[worker].name);
		state->lost = true;
		state->ended = ended;
		err = before;
	}
	pthread_mutex_unlock(&coordinator->lock);
	dfg_err_free(err);
	dfg_event_signal(&coordinator->event);
}

void dfg_coordinator_lost(struct dfg_coordinator *coordinator, uint32_t worker, struct dfg_err *err)
{
	lose(coordinator, worker, err, false);
}

void dfg_coordinator_ended(struct dfg_coordinator *coordinator, uint32_t worker, struct dfg_err *err)
{
	lose(coordinator, worker, err, true);
}

bool dfg_coordinator_has_lost(struct dfg_coordinator *coordinator, uint32_t worker)
{
	pthread_mutex_lock(&coordinator->lock);
	bool lost = coordinator->state[worker].lost;
	pthread_mutex_unlock(&coordinator->lock);
	return lost;
}

bool dfg_coordinator_is_broken(struct dfg_coordinator *coordinator)
{
	bool broken = coordinator->broken;
	for (uint32_t i = 0; i < coordinator->options.workers; i++)
		broken |= dfg_coordinator_has_lost(coordinator, i);
	return broken;
}

static void deliver(void *arg, uint32_t peer, struct dfg_message *message)
{
	struct dfg_coordinator *coordinator = arg;
	struct dfg_err *err = NULL;
	if (peer >= coordinator->options.workers || message->kind != DFG_MESSAGE_CONTROL) {
		dfg_tensor_release(&message->tensor);
		return;
	}
	atomic_store(&coordinator->state[peer].heard, dfg_now());
	if (message->key.number == DFG_PACKET_PONG) {
		dfg_coordinator_take_pong(coordinator, peer, message);
		dfg_tensor_release(&message->tensor);
		return;
	}
	if (message->key.number == DFG_PACKET_LEAVE) {
		atomic_store(&coordinator->state[peer].leaves, true);
		dfg_tensor_release(&message->tensor);
		return;
	}
	err = dfg_inbox_deliver(&coordinator->inbox, peer, message);
	if (err)
		dfg_coordinator_lost(coordinator, peer, err);
}

static void lost(void *arg, uint32_t peer, struct dfg_err *err)
{
	struct dfg_coordinator *coordinator = arg;
	if (peer < coordinator->options.workers)
		dfg_coordinator_lost(coordinator, peer, err);
	else
		dfg_err_free(err);
}

struct dfg_link_sink dfg_coordinator_sink(struct dfg_coordinator *coordinator)
{
	return (struct dfg_link_sink){.arg = coordinator, .deliver = deliver, .lost = lost};
}

void dfg_coordinator_ask(struct dfg_coordinator *coordinator, uint32_t worker, struct dfg_packet *packet)
{
	struct worker_state *state = &coordinator->state[worker];
	state->asked = state->sent = packet->number = ++coordinator->asked;
	state->stopped = false;
	struct dfg_err *err = dfg_packet_send(packet, state->link);
	if (!err)
		return;
	if (err->code == DFG_UNAVAILABLE) {
		dfg_coordinator_lost(coordinator, worker, err);
		return;
	}
	state->asked = 0;
	state->err = err;
}

void dfg_coordinator_drop_answers(struct dfg_coordinator *coordinator)
{
	for (uint32_t i = 0; i < coordinator->options.workers; i++) {
		struct worker_state *state = &coordinator->state[i];
		dfg_packet_release(&state->answer);
		dfg_err_free(state->err);
		state->err = NULL;
		state->told = false;
		state->asked = 0;
	}
}

void dfg_coordinator_take_answers(struct dfg_coordinator *coordinator)
{
	struct dfg_packet packet;
	while (dfg_inbox_take(&coordinator->inbox, &packet)) {
		struct worker_state *state = &coordinator->state[packet.peer];
		if (packet.kind == DFG_PACKET_ANSWER && packet.number > state->answered)
			state->answered = packet.number;
		if (packet.kind != DFG_PACKET_ANSWER || packet.number != state->asked) {
			if (dfg_coordinator_land(coordinator, &packet))
				continue;
			dfg_coordinator_take_late(coordinator, &packet);
			dfg_packet_release(&packet);
			continue;
		}
		state->arrived = ++coordinator->arrivals;
		state->asked = 0;
		state->answer = packet;
		state->err = dfg_packet_get_error(&state->answer);
		state->told = state->err && dfg_packet_get_bool(&state->answer);
	}
}

bool dfg_coordinator_poll_answers(struct dfg_coordinator *coordinator, uint32_t *first)
{
	bool waiting = false;
	for (uint32_t i = 0; i < coordinator->options.workers; i++) {
		struct worker_state *state = &coordinator->state[i];
		bool gone = state->asked && dfg_coordinator_has_lost(coordinator, i);
		if (gone)
			state->asked = 0;
		if (*first == DFG_NONE && (gone || state->err))
			*first = i;
		waiting |= state->asked != 0;
	}
	return waiting;
}

/* The first worker of a replica that failed or is lost; DFG_NONE: there is none. */
static uint32_t culprit_in(struct dfg_coordinator *coordinator, uint32_t replica)
{
	for (uint32_t i = replica * coordinator->width; i < (replica + 1) * coordinator->width; i++)
		if (coordinator->state[i].err || dfg_coordinator_has_lost(coordinator, i))
			return i;
	return DFG_NONE;
}

bool dfg_coordinator_fail_on(struct dfg_coordinator *coordinator, uint32_t worker, uint64_t step, uint32_t culprit)
{
	struct dfg_packet packet = {.kind = DFG_PACKET_FAIL};
	struct worker_state *state = &coordinator->state[worker];
	if (state->stopped)
		return false;
	state->stopped = true;
	struct dfg_err *err = DFG_ERR(DFG_STOPPED, "the step has failed on %s", coordinator->options.peer[culprit].name);
	dfg_packet_put(&packet, step);
	dfg_packet_put_error(&packet, err);
	dfg_err_free(err);
	err = dfg_packet_send(&packet, state->link);
	if (err)
		dfg_coordinator_lost(coordinator, worker, err);
	return true;
}

/* Tells workers that have not answered that the step failed; `first` is the first that did. False: all know. */
static bool fail_rest(struct dfg_coordinator *coordinator, uint64_t step, uint32_t first, enum spread spread)
{
	bool told = false;
	for (uint32_t i = 0; i < coordinator->options.workers; i++) {
		uint32_t culprit = spread == TO_REPLICA ? culprit_in(coordinator, i / coordinator->width) : first;
		if (coordinator->state[i].asked && culprit != DFG_NONE)
			told |= dfg_coordinator_fail_on(coordinator, i, step, culprit);
	}
	return told;
}

void dfg_coordinator_wait(struct dfg_coordinator *coordinator, uint32_t seen, uint64_t until)
{
	uint32_t count = 0;
	for (uint32_t i = 0; i < coordinator->options.workers; i++)
		if (coordinator->state[i].asked && !dfg_coordinator_has_lost(coordinator, i))
			coordinator->asked_link[count++] = coordinator->state[i].link;
	if (dfg_poll_awhile(coordinator->asked_link, count, &coordinator->event, seen, &coordinator->in_vain))
		return;
	dfg_event_sleep(&coordinator->event, seen, until);
}

uint64_t dfg_coordinator_grace(const struct dfg_coordinator *coordinator)
{
	double seconds = coordinator->options.lease > 0 ? coordinator->options.lease : 10;
	return dfg_now() + (uint64_t)(seconds * 1e9);
}

/* Errors in a graph read as in one process; errors of a worker name it. */
static struct dfg_err *error_of(struct dfg_coordinator *coordinator, uint32_t worker)
{
	struct worker_state *state = &coordinator->state[worker];
	struct dfg_err *err = state->err;
	state->err = NULL;
	coordinator->blamed = worker;
	return err && err->code != DFG_DATA ? dfg_err_note(err, "%s", coordinator->options.peer[worker].name) : err;
}

/* The first worker that reported a failed receive, joined to the error that explains it. */
static struct dfg_err *add_waiting(struct dfg_coordinator *coordinator, struct dfg_err *err)
{
	for (uint32_t i = 0; i < coordinator->options.workers; i++)
		if (coordinator->state[i].err && coordinator->state[i].err->waited)
			return dfg_err_join(err, error_of(coordinator, i));
	return err;
}

/* A lost worker explains the other errors; next comes the first error, and last the errors that repeat another's. */
static struct dfg_err *choose_error(struct dfg_coordinator *coordinator, uint32_t first)
{
	struct dfg_err *err = dfg_coordinator_why_lost(coordinator);
	coordinator->blamed = DFG_NONE;
	if (err)
		err = add_waiting(coordinator, err);
	if (!err && first != DFG_NONE && coordinator->state[first].err && !coordinator->state[first].told)
		err = error_of(coordinator, first);
	for (int told = 0; told < 2; told++)
		for (uint32_t i = 0; i < coordinator->options.workers && !err; i++)
			if (coordinator->state[i].err && coordinator->state[i].told == told)
				err = error_of(coordinator, i);
	return err;
}

void dfg_coordinator_lose_stopped(struct dfg_coordinator *coordinator)
{
	for (uint32_t i = 0; i < coordinator->options.workers; i++) {
		const struct worker_state *state = &coordinator->state[i];
		if ((state->asked || state->flight) && state->stopped)
			dfg_coordinator_lost(coordinator, i, DFG_ERR(DFG_UNAVAILABLE, "did not stop after a step had failed"));
	}
}

static bool has_answered(const struct dfg_coordinator *coordinator, uint32_t replica)
{
	bool any = false;
	for (uint32_t i = replica * coordinator->width; i < (replica + 1) * coordinator->width; i++)
		any |= coordinator->state[i].answer.kind == DFG_PACKET_ANSWER;
	return any;
}

void dfg_coordinator_note_outcome(struct dfg_coordinator *coordinator)
{
	for (uint32_t r = 0; r < coordinator->options.replicas; r++)
		coordinator->replica[r].done = has_answered(coordinator, r) && culprit_in(coordinator, r) == DFG_NONE;
	coordinator->suspect = DFG_NONE;
	for (uint32_t i = 0; i < coordinator->options.workers; i++)
		if (coordinator->state[i].err && coordinator->state[i].err->code == DFG_UNAVAILABLE)
			coordinator->suspect = i;
}

struct dfg_err *dfg_coordinator_outcome(struct dfg_coordinator *coordinator, uint64_t step, enum spread spread)
{
	return dfg_coordinator_outcome_after(coordinator, step, spread, DFG_NONE);
}

struct dfg_err *dfg_coordinator_outcome_after(
	struct dfg_coordinator *coordinator, uint64_t step, enum spread spread, uint32_t first)
{
	uint64_t until = 0;
	for (;;) {
		uint32_t seen = atomic_load(&coordinator->event.word);
		dfg_coordinator_take_answers(coordinator);
		if (!dfg_coordinator_poll_answers(coordinator, &first))
			break;
		if (step && first != DFG_NONE && fail_rest(coordinator, step, first, spread) && spread != TO_WAITING)
			until = dfg_coordinator_grace(coordinator);
		if (until && dfg_now() >= until) {
			dfg_coordinator_lose_stopped(coordinator);
			until = 0;
			continue;
		}
		uint64_t due = dfg_coordinator_name_slow(coordinator);
		dfg_coordinator_wait(coordinator, seen, until ? until : due);
	}
	dfg_coordinator_note_outcome(coordinator);
	struct dfg_err *err = choose_error(coordinator, first);
	if (err && err->code == DFG_UNAVAILABLE)
		coordinator->broken = true; /* two live workers may have lost each other */
	return err;
}

struct dfg_err *dfg_coordinator_answers(struct dfg_coordinator *coordinator, uint64_t step)
{
	struct dfg_err *err = dfg_coordinator_outcome(coordinator, step, TO_ALL);
	if (err)
		dfg_coordinator_drop_answers(coordinator);
	return err;
}

struct dfg_err *dfg_coordinator_answers_in(struct dfg_coordinator *coordinator, const char *phase)
{
	struct dfg_err *err = dfg_coordinator_answers(coordinator, 0);
	return err && err->code == DFG_UNAVAILABLE ? dfg_err_note(err, "%s", phase) : err;
}

/* Sends pings. If this process was stopped itself, it has received nothing meanwhile: no worker is blamed for that. */
static void *guard(void *arg)
{
	struct dfg_coordinator *coordinator = arg;
	uint64_t lease = (uint64_t)(coordinator->options.lease * 1e9), last = dfg_now();
	while (!atomic_load(&coordinator->ended)) {
		uint32_t seen = atomic_load(&coordinator->guard_event.word);
		uint64_t now = dfg_now(), silence = atomic_load(&coordinator->silence);
		bool slept = now - last > lease / 2;
		last = now;
		for (uint32_t i = 0; i < coordinator->options.workers; i++) {
			if (dfg_coordinator_has_lost(coordinator, i))
				continue;
			if (slept)
				atomic_store(&coordinator->state[i].heard, now);
			if (now > dfg_link_heard(coordinator->state[i].link, atomic_load(&coordinator->state[i].heard)) + silence)
				dfg_coordinator_ended(coordinator, i,
					DFG_ERR(DFG_UNAVAILABLE, "silent for %.3g s%s", (double)silence / 1e9,
						silence > lease ? " while the workers are linked" : ""));
			else
				dfg_coordinator_ping(coordinator, i);
		}
		dfg_event_wait_until(&coordinator->guard_event, seen, now + lease / 10);
	}
	return NULL;
}

static void stop_guard(struct dfg_coordinator *coordinator)
{
	atomic_store(&coordinator->ended, true);
	if (!coordinator->guarded)
		return;
	dfg_event_signal(&coordinator->guard_event);
	pthread_join(coordinator->guard, NULL);
	coordinator->guarded = false;
}

/* Replicas that keep their variables on parameter servers send each other nothing. */
static bool talk(const struct dfg_coordinator *coordinator, uint32_t one, uint32_t two)
{
	uint32_t width = coordinator->width;
	bool same_server = one % width == two % width && dfg_coordinator_is_lane(coordinator, one);
	return !coordinator->options.servers || one / width == two / width || same_server;
}

struct dfg_err *dfg_coordinator_ask_setup(
	struct dfg_coordinator *coordinator, uint32_t worker, double seconds, bool again)
{
	struct dfg_packet packet = {.kind = DFG_PACKET_SETUP};
	struct dfg_worker_config config = {.self = worker,
		.workers = coordinator->options.workers,
		.replicas = coordinator->options.replicas,
		.servers = coordinator->options.servers,
		.async = coordinator->options.async,
		.staleness = coordinator->options.session.staleness,
		.verify_staleness = coordinator->options.checks.staleness,
		.spmd = coordinator->options.spmd,
		.shards = coordinator->options.session.shards,
		.algorithm = coordinator->options.algorithm,
		.session = coordinator->options.session,
		.trace = coordinator->options.trace != NULL,
		.elastic = dfg_coordinator_is_elastic(coordinator),
		.lease = coordinator->options.lease,
		.seconds = seconds};
	if (!again) /* the others' shared memory is of the first epoch */
		DFG_TRY(dfg_coordinator_find_shared(coordinator, worker, &config.shared));
	config.peer = dfg_zeros(config.workers, sizeof *config.peer);
	if (!config.peer)
		return dfg_no_memory("the coordinator");
	for (uint32_t i = 0; i < config.workers; i++) {
		config.peer[i] = coordinator->options.peer[i];
		bool linked = i != worker && dfg_coordinator_takes_part(coordinator, i) && talk(coordinator, i, worker);
		config.peer[i].transport = linked ? coordinator->transport(coordinator->transport_arg, worker, i) : "";
	}
	dfg_worker_config_put(&packet, &config);
	dfg_coordinator_ask(coordinator, worker, &packet);
	dfg_free(config.peer);
	return NULL;
}

static struct dfg_err *start_guard(struct dfg_coordinator *coordinator)
{
	for (uint32_t i = 0; i < coordinator->options.workers; i++)
		atomic_store(&coordinator->state[i].heard, dfg_now());
	if (!(coordinator->options.lease > 0))
		return NULL;
	coordinator->guarded = !pthread_create(&coordinator->guard, NULL, guard, coordinator);
	return coordinator->guarded ? NULL : DFG_ERR(DFG_MEMORY, "cannot start a thread");
}

double dfg_coordinator_patience(double lease, uint32_t workers)
{
	const double pair = 0.005;
	return lease > 0 ? lease + pair * workers * workers : 0;
}

/* Names the first worker that has not answered. */
static struct dfg_err *name_slowest(const struct dfg_coordinator *coordinator, double seconds)
{
	for (uint32_t i = 0; i < coordinator->options.workers; i++)
		if (coordinator->state[i].asked)
			return DFG_ERR(DFG_UNAVAILABLE, "%s: is not linked to the other workers after %.3g s",
				coordinator->options.peer[i].name, seconds);
	return NULL;
}

/* A worker that cannot link may report another's failure: that one is known to be lost a moment later. */
static struct dfg_err *setup_answers(struct dfg_coordinator *coordinator, double seconds)
{
	const uint64_t moment = 500000000;
	uint32_t first = DFG_NONE;
	uint64_t until = dfg_now() + (uint64_t)(seconds * 1e9);
	bool hurried = false;
	for (;;) {
		uint32_t seen = atomic_load(&coordinator->event.word);
		dfg_coordinator_take_answers(coordinator);
		if (!dfg_coordinator_poll_answers(coordinator, &first) || dfg_now() >= until)
			break;
		if (first != DFG_NONE && !hurried && until > dfg_now() + moment)
			until = dfg_now() + moment;
		hurried = first != DFG_NONE;
		dfg_coordinator_wait(coordinator, seen, until);
	}
	struct dfg_err *err = choose_error(coordinator, first);
	if (!err)
		err = name_slowest(coordinator, seconds);
	for (uint32_t i = 0; i < coordinator->options.workers && !err; i++)
		snprintf(coordinator->state[i].products, sizeof coordinator->state[i].products, "%s",
			dfg_packet_get_text(&coordinator->state[i].answer));
	dfg_coordinator_drop_answers(coordinator);
	return err;
}

const char *dfg_coordinator_products(const struct dfg_coordinator *coordinator, uint32_t worker)
{
	return coordinator->state[worker].products;
}

struct dfg_err *dfg_coordinator_begin(struct dfg_coordinator *coordinator, struct dfg_link *const *links,
	double seconds, const char *(*transport)(void *arg, uint32_t one, uint32_t two), void *arg)
{
	double patience = dfg_coordinator_patience(coordinator->options.lease, coordinator->options.workers);
	coordinator->transport = transport;
	coordinator->transport_arg = arg;
	for (uint32_t i = 0; i < coordinator->options.workers; i++)
		coordinator->state[i].link = links[i];
	for (uint32_t i = 0; i < coordinator->options.workers; i++)
		DFG_TRY(dfg_coordinator_ask_setup(coordinator, i, seconds, false));
	atomic_store(&coordinator->silence, (uint64_t)(patience * 1e9));
	DFG_TRY(start_guard(coordinator));
	DFG_TRY(setup_answers(coordinator, seconds));
	atomic_store(&coordinator->silence, (uint64_t)(coordinator->options.lease * 1e9));
	for (uint32_t i = 0; i < coordinator->options.workers && coordinator->options.trace; i++)
		dfg_coordinator_learn_clock(coordinator, i);
	return NULL;
}

void dfg_coordinator_end(struct dfg_coordinator *coordinator)
{
	stop_guard(coordinator);
	for (uint32_t i = 0; i < coordinator->options.workers; i++) {
		struct dfg_packet packet = {.kind = DFG_PACKET_END, .number = ++coordinator->asked};
		if (coordinator->state[i].link && !dfg_coordinator_has_lost(coordinator, i))
			dfg_err_free(dfg_packet_send(&packet, coordinator->state[i].link)); /* a lost worker has ended already */
	}
}

void dfg_coordinator_free(struct dfg_coordinator *coordinator)
{
	if (!coordinator)
		return;
	stop_guard(coordinator);
	dfg_coordinator_drop_answers(coordinator);
	dfg_coordinator_drop_plans(coordinator);
	dfg_coordinator_drop_streams(coordinator);
	dfg_free(coordinator->stream);
	for (size_t i = 0; i < coordinator->sources; i++)
		dfg_free(coordinator->source[i].spec);
	dfg_free(coordinator->source);
	dfg_arena_release(&coordinator->arena);
	for (uint32_t i = 0; i < coordinator->options.workers; i++) {
		dfg_packet_release(&coordinator->state[i].landed);
		dfg_err_free(coordinator->state[i].why);
	}
	dfg_inbox_release(&coordinator->inbox);
	pthread_mutex_destroy(&coordinator->lock);
	pthread_mutex_destroy(&coordinator->request_lock);
	dfg_free(coordinator->plan);
	free_tables(coordinator);
	dfg_free(coordinator);
}
