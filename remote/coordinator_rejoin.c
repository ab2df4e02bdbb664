#include "remote/coordinator_private.h"

/*
 * Replicas that were lost and whose workers have been started again: between two steps they get links, their parts, plans
 * and files, and take part from then on. Before the next compute run they copy the variables of the lead.
 */

/* Whether the workers of a replica are there; *out_failed: one could not be started. */
static bool are_there(const struct dfg_coordinator *coordinator, uint32_t replica, bool *out_failed)
{
	const struct dfg_coordinator_options *options = &coordinator->options;
	bool all = true;
	*out_failed = false;
	for (uint32_t w = replica * coordinator->width; w < (replica + 1) * coordinator->width; w++) {
		enum dfg_revival revival = options->revived(options->revive_arg, w);
		all &= revival == DFG_REVIVAL_THERE;
		*out_failed |= revival == DFG_REVIVAL_FAILED;
	}
	return all;
}

/* Makes a new link to a worker that has started again, and resets its state. */
static struct dfg_err *link_again(struct dfg_coordinator *coordinator, uint32_t worker)
{
	struct worker_state *state = &coordinator->state[worker];
	struct dfg_link *link;
	DFG_TRY(coordinator->options.relink(coordinator->options.revive_arg, worker, &link));
	pthread_mutex_lock(&coordinator->lock);
	struct dfg_err *why = state->why;
	state->link = link;
	state->why = NULL;
	state->lost = state->ended = false;
	state->asked = 0;
	state->stale_before += state->stale;
	state->stale = state->round_trip_ns = 0;
	atomic_store(&state->leaves, false);
	atomic_store(&state->heard, dfg_now());
	pthread_mutex_unlock(&coordinator->lock);
	dfg_err_free(why);
	return NULL;
}

/* Asks a worker to link to those of a replica that rejoins. */
static void ask_peers(
	struct dfg_coordinator *coordinator, uint32_t worker, uint32_t first, uint32_t end, double seconds)
{
	struct dfg_packet packet = {.kind = DFG_PACKET_PEER};
	dfg_packet_put_real(&packet, seconds);
	dfg_packet_put(&packet, end - first);
	for (uint32_t i = first; i < end; i++) {
		struct dfg_peer peer = coordinator->options.peer[i];
		peer.transport = coordinator->transport(coordinator->transport_arg, worker, i);
		dfg_packet_put(&packet, i);
		dfg_peer_put(&packet, &peer);
	}
	dfg_coordinator_ask(coordinator, worker, &packet);
}

/* Links the workers of a replica to each other and to those of all other members: all ends are asked at once. */
static struct dfg_err *introduce(struct dfg_coordinator *coordinator, uint32_t first, uint32_t end)
{
	const double seconds = 10;
	for (uint32_t w = 0; w < coordinator->options.workers; w++)
		if (w >= first && w < end)
			DFG_TRY(dfg_coordinator_ask_setup(coordinator, w, seconds, true));
		else if (dfg_coordinator_takes_part(coordinator, w))
			ask_peers(coordinator, w, first, end, seconds);
	DFG_TRY(dfg_coordinator_answers_in(coordinator, "linking a replica that rejoins"));
	dfg_coordinator_drop_answers(coordinator);
	return NULL;
}

static struct dfg_err *give_work(struct dfg_coordinator *coordinator, uint32_t replica)
{
	uint32_t first = replica * coordinator->width, end = first + coordinator->width;
	for (uint32_t w = first; w < end; w++)
		DFG_TRY(dfg_coordinator_ask_part(coordinator, w));
	DFG_TRY(dfg_coordinator_answers_in(coordinator, "a replica that rejoins"));
	dfg_coordinator_drop_answers(coordinator);
	for (size_t i = 0; i < coordinator->plans; i++)
		DFG_TRY(dfg_coordinator_send_plan(coordinator, &coordinator->plan[i], first, end));
	for (size_t i = 0; i < coordinator->sources; i++)
		if (coordinator->source[i].worker >= first && coordinator->source[i].worker < end)
			DFG_TRY(dfg_coordinator_open_again(coordinator, &coordinator->source[i]));
	return NULL;
}

static struct dfg_err *bring_in(struct dfg_coordinator *coordinator, uint32_t replica)
{
	uint32_t first = replica * coordinator->width, end = first + coordinator->width;
	for (uint32_t w = first; w < end; w++)
		DFG_TRY(link_again(coordinator, w));
	DFG_TRY(introduce(coordinator, first, end));
	return give_work(coordinator, replica);
}

static struct dfg_err *begin_epoch(struct dfg_coordinator *coordinator, uint32_t replica)
{
	DFG_TRY(dfg_coordinator_send_epoch(coordinator));
	struct dfg_err *note = DFG_ERR(DFG_UNAVAILABLE, "replica %u (%s) is back", replica,
		coordinator->options.peer[replica * coordinator->width].name);
	dfg_coordinator_note(coordinator, note);
	dfg_err_free(note);
	return NULL;
}

/*
 * A failure before the replica has all that it needs, whatever it is and whoever is lost, loses it once more, and the others
 * continue.
 */
static struct dfg_err *rejoin(struct dfg_coordinator *coordinator, uint32_t replica)
{
	struct replica_state *state = &coordinator->replica[replica];
	state->member = true;
	state->version = state->due = 0;
	state->torn = false;
	coordinator->backend.replicas++;
	struct dfg_err *err = bring_in(coordinator, replica);
	if (err) {
		err->code = DFG_UNAVAILABLE;
		dfg_coordinator_lost(
			coordinator, replica * coordinator->width, DFG_ERR(DFG_UNAVAILABLE, "cannot rejoin: %s", err->text));
	} else {
		err = begin_epoch(coordinator, replica);
	}
	return dfg_coordinator_regroup(coordinator, err);
}

static bool is_out(const struct replica_state *replica)
{
	return !replica->member && !replica->reviving;
}

/* Replicas that left, or that could not be started, are started again where the user has changed the hosts meanwhile. */
static void revive_on_other_hosts(struct dfg_coordinator *coordinator)
{
	const struct dfg_coordinator_options *options = &coordinator->options;
	bool any = false;
	for (uint32_t r = 0; r < options->replicas; r++)
		any |= is_out(&coordinator->replica[r]);
	if (!any || !options->revive || !options->may_revive || !options->may_revive(options->revive_arg))
		return;
	for (uint32_t r = 0; r < options->replicas; r++)
		coordinator->replica[r].left &= !is_out(&coordinator->replica[r]);
	dfg_coordinator_revive_lost(coordinator);
}

struct dfg_err *dfg_coordinator_let_rejoin(struct dfg_coordinator *coordinator)
{
	struct dfg_err *err = NULL;
	revive_on_other_hosts(coordinator);
	for (uint32_t r = 0; r < coordinator->options.replicas && !err; r++) {
		bool failed;
		struct replica_state *replica = &coordinator->replica[r];
		if (!replica->reviving)
			continue;
		bool there = are_there(coordinator, r, &failed);
		replica->reviving = !there && !failed;
		replica->left |= failed;
		if (there)
			err = rejoin(coordinator, r);
	}
	return err;
}
