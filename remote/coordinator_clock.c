#include "remote/coordinator_private.h"

/* The clocks of the workers, and whether they are alive: pings. */

/* The pong with the shortest round trip gives the best estimate of the other clock at its midpoint. */
void dfg_coordinator_take_pong(struct dfg_coordinator *coordinator, uint32_t peer, const struct dfg_message *message)
{
	uint64_t now = dfg_now();
	struct dfg_packet packet;
	struct worker_state *state = &coordinator->state[peer];
	struct dfg_err *err = dfg_packet_of(peer, message, &packet);
	if (err) {
		dfg_coordinator_lost(coordinator, peer, err);
		return;
	}
	uint64_t theirs = dfg_packet_get(&packet);
	pthread_mutex_lock(&coordinator->lock);
	uint64_t round = now - state->pinged;
	if (packet.number == state->ping && (!state->round_trip_ns || round < state->round_trip_ns)) {
		int64_t ahead = (int64_t)(theirs - (state->pinged + round / 2));
		bool same =
			ahead <= (int64_t)(round / 2) && -ahead <= (int64_t)(round / 2); /* as for processes of one machine */
		state->round_trip_ns = round ? round : 1;
		state->ahead_ns = same ? 0 : ahead;
	}
	pthread_mutex_unlock(&coordinator->lock);
	dfg_packet_release(&packet);
	dfg_event_signal(&coordinator->event);
}

void dfg_coordinator_ping(struct dfg_coordinator *coordinator, uint32_t worker)
{
	struct worker_state *state = &coordinator->state[worker];
	struct dfg_packet packet = {.kind = DFG_PACKET_PING, .number = atomic_fetch_add(&coordinator->pings, 1) + 1};
	pthread_mutex_lock(&coordinator->lock);
	state->ping = packet.number;
	state->pinged = dfg_now();
	pthread_mutex_unlock(&coordinator->lock);
	struct dfg_err *err = dfg_packet_send(&packet, state->link);
	if (err)
		dfg_coordinator_lost(coordinator, worker, err);
}

/* Some pings before the first step, so that the clock offset is known to some microseconds. */
void dfg_coordinator_learn_clock(struct dfg_coordinator *coordinator, uint32_t worker)
{
	enum { PINGS = 5 };
	struct worker_state *state = &coordinator->state[worker];
	for (int i = 0; i < PINGS; i++) {
		uint64_t until = dfg_now() + 100000000;
		uint64_t before = atomic_load(&state->heard);
		dfg_coordinator_ping(coordinator, worker);
		while (atomic_load(&state->heard) == before && dfg_now() < until &&
			   !dfg_coordinator_has_lost(coordinator, worker)) {
			uint32_t seen = atomic_load(&coordinator->event.word);
			if (atomic_load(&state->heard) == before && !state->link->kind->poll(state->link))
				dfg_event_wait_until(&coordinator->event, seen, until);
		}
	}
}
