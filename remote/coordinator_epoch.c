#include "remote/coordinator_private.h"

#include <string.h>

/*
 * Epochs of an elastic run: the replicas that take part in steps. A replica that loses one of its workers takes no part
 * any more; the others then divide the shards anew, so that results do not change by a bit. A step of which no replica has
 * the update is repeated; if some have it, the others copy their variables.
 */

bool dfg_coordinator_is_elastic(const struct dfg_coordinator *coordinator)
{
	const struct dfg_coordinator_options *options = &coordinator->options;
	return options->min_replicas && options->min_replicas < options->replicas;
}

bool dfg_coordinator_takes_part(const struct dfg_coordinator *coordinator, uint32_t worker)
{
	return coordinator->replica[worker / coordinator->width].member;
}

uint32_t dfg_coordinator_lead(const struct dfg_coordinator *coordinator)
{
	const struct replica_state *replica = coordinator->replica;
	uint32_t lead = DFG_NONE;
	for (uint32_t r = 0; r < coordinator->options.replicas; r++)
		if (replica[r].member && (lead == DFG_NONE || replica[r].version > replica[lead].version))
			lead = r;
	return lead == DFG_NONE ? 0 : lead;
}

uint32_t dfg_coordinator_lead_worker(const struct dfg_coordinator *coordinator, uint32_t part)
{
	return dfg_coordinator_lead(coordinator) * coordinator->width + part;
}

uint32_t dfg_coordinator_member(const struct dfg_coordinator *coordinator, uint32_t i)
{
	uint32_t r = 0;
	while (r + 1 < coordinator->options.replicas && (!coordinator->replica[r].member || i--))
		r++;
	return r;
}

/* The first lost worker of a replica; DFG_NONE: none is lost. */
static uint32_t lost_worker(struct dfg_coordinator *coordinator, uint32_t replica)
{
	for (uint32_t w = replica * coordinator->width; w < (replica + 1) * coordinator->width; w++)
		if (dfg_coordinator_has_lost(coordinator, w))
			return w;
	return DFG_NONE;
}

/* The replica takes part in no further step, and its other workers end. */
static void dismiss(struct dfg_coordinator *coordinator, uint32_t replica)
{
	coordinator->replica[replica].member = coordinator->replica[replica].done = false;
	coordinator->backend.replicas--;
	for (uint32_t w = replica * coordinator->width; w < (replica + 1) * coordinator->width; w++) {
		struct dfg_packet packet = {.kind = DFG_PACKET_END, .number = ++coordinator->asked};
		if (!dfg_coordinator_has_lost(coordinator, w))
			dfg_err_free(dfg_packet_send(&packet, coordinator->state[w].link)); /* it is not needed any more */
	}
}

static uint32_t dismiss_lost(struct dfg_coordinator *coordinator)
{
	uint32_t dismissed = 0;
	for (uint32_t r = 0; r < coordinator->options.replicas; r++)
		if (coordinator->replica[r].member && lost_worker(coordinator, r) != DFG_NONE) {
			dismiss(coordinator, r);
			dismissed++;
		}
	return dismissed;
}

/*
 * A worker that cannot reach another one, although the launcher reaches both: where that persists, it is lost, unless it
 * is the last one.
 */
static void lose_suspect(struct dfg_coordinator *coordinator)
{
	enum { TRIES = 2 };
	if (coordinator->suspect != DFG_NONE && ++coordinator->unexplained > TRIES)
		dfg_coordinator_lost(
			coordinator, coordinator->suspect, DFG_ERR(DFG_UNAVAILABLE, "cannot reach another worker"));
}

struct dfg_err *dfg_coordinator_send_epoch(struct dfg_coordinator *coordinator)
{
	coordinator->epoch++;
	for (uint32_t w = 0; w < coordinator->options.workers; w++) {
		struct dfg_packet packet = {.kind = DFG_PACKET_EPOCH};
		if (!dfg_coordinator_takes_part(coordinator, w))
			continue;
		dfg_packet_put(&packet, coordinator->epoch);
		dfg_packet_put(&packet, coordinator->backend.replicas);
		for (uint32_t i = 0; i < coordinator->backend.replicas; i++)
			dfg_packet_put(&packet, dfg_coordinator_member(coordinator, i));
		dfg_coordinator_ask(coordinator, w, &packet);
	}
	DFG_TRY(dfg_coordinator_answers(coordinator, 0));
	dfg_coordinator_drop_answers(coordinator);
	return NULL;
}

void dfg_coordinator_note(const struct dfg_coordinator *coordinator, const struct dfg_err *err)
{
	struct dfg_text text = {0};
	for (; err; err = err->next)
		if (!err->next || strcmp(err->text, err->next->text) != 0)
			dfg_text_add(&text, "%s; ", err->text);
	dfg_text_add(&text, "the run continues with %u of %u replicas", coordinator->backend.replicas,
		coordinator->options.replicas);
	if (coordinator->options.note && text.s)
		coordinator->options.note(coordinator->options.note_arg, text.s);
	dfg_text_release(&text);
}

static struct dfg_err *too_few(const struct dfg_coordinator *coordinator, struct dfg_err *err)
{
	uint32_t left = coordinator->backend.replicas;
	return dfg_err_join(
		err, DFG_ERR(DFG_UNAVAILABLE, "%u of %u replicas %s left, fewer than --min-replicas %u", left,
				 coordinator->options.replicas, left == 1 ? "is" : "are", coordinator->options.min_replicas));
}

/* Whether replicas have state that is not in variables, which one that starts again could not copy. */
static bool has_queues(const struct dfg_coordinator *coordinator)
{
	const struct dfg_graph *graph = coordinator->graph;
	for (uint32_t n = 0; graph && n < graph->count; n++)
		if (graph->node[n].op && dfg_op_is_queued(graph->node[n].op))
			return true;
	return false;
}

/* Why lost replicas are not started again, although that was asked for; NULL: they are, or it was not. */
static struct dfg_err *why_not_revived(const struct dfg_coordinator *coordinator)
{
	if (!coordinator->options.revive)
		return NULL;
	if (has_queues(coordinator))
		return DFG_ERR(DFG_UNAVAILABLE,
			"--restarts cannot start a replica of a graph with queues again, since their elements cannot be copied");
	return NULL;
}

void dfg_coordinator_revive_lost(struct dfg_coordinator *coordinator)
{
	const struct dfg_coordinator_options *options = &coordinator->options;
	if (!options->revive || has_queues(coordinator))
		return;
	for (uint32_t r = 0; r < options->replicas; r++)
		if (!coordinator->replica[r].member && !coordinator->replica[r].reviving && !coordinator->replica[r].left)
			coordinator->replica[r].reviving =
				options->revive(options->revive_arg, r * coordinator->width, coordinator->width);
}

struct dfg_err *dfg_coordinator_regroup(struct dfg_coordinator *coordinator, struct dfg_err *err)
{
	while (err && err->code == DFG_UNAVAILABLE && dfg_coordinator_is_elastic(coordinator) &&
		   coordinator->backend.replicas >= coordinator->options.min_replicas) {
		dfg_coordinator_drop_answers(coordinator);
		uint32_t dismissed = dismiss_lost(coordinator);
		if (!dismissed && coordinator->suspect == DFG_NONE && !coordinator->broken)
			return err;
		if (!dismissed)
			lose_suspect(coordinator);
		if (coordinator->backend.replicas < coordinator->options.min_replicas)
			return too_few(coordinator, err);
		if (dismissed) {
			err = dfg_err_join(err, why_not_revived(coordinator));
			dfg_coordinator_note(coordinator, err);
		}
		dfg_coordinator_revive_lost(coordinator);
		dfg_err_free(err);
		coordinator->broken = false;
		err = dfg_coordinator_send_epoch(coordinator);
	}
	return err;
}

bool dfg_coordinator_continues(struct dfg_coordinator *coordinator, struct dfg_err **err)
{
	if (!*err)
		return false;
	*err = dfg_coordinator_regroup(coordinator, *err);
	return !*err;
}

static bool leaves(const struct dfg_coordinator *coordinator, uint32_t worker)
{
	return dfg_coordinator_takes_part(coordinator, worker) && atomic_load(&coordinator->state[worker].leaves);
}

/* The other replicas first copy the variables of the one that leaves, as these may be the newest. */
static struct dfg_err *let_leave(struct dfg_coordinator *coordinator, uint32_t worker)
{
	struct dfg_err *why = DFG_ERR(DFG_UNAVAILABLE, "%s: ended by request", coordinator->options.peer[worker].name);
	struct dfg_err *err;
	if (coordinator->backend.replicas == coordinator->options.min_replicas) {
		dismiss(coordinator, worker / coordinator->width);
		coordinator->broken = true;
		return too_few(coordinator, why);
	}
	do
		err = dfg_coordinator_make_equal(coordinator);
	while (dfg_coordinator_continues(coordinator, &err));
	if (!err && dfg_coordinator_takes_part(coordinator, worker)) {
		coordinator->replica[worker / coordinator->width].left = true;
		dismiss(coordinator, worker / coordinator->width);
		dfg_coordinator_note(coordinator, why);
		err = dfg_coordinator_regroup(coordinator, dfg_coordinator_send_epoch(coordinator));
	}
	dfg_err_free(why);
	return err;
}

struct dfg_err *dfg_coordinator_begin_step(struct dfg_session_backend *backend)
{
	struct dfg_coordinator *coordinator = (struct dfg_coordinator *)backend;
	struct dfg_err *err = NULL;
	pthread_mutex_lock(&coordinator->request_lock);
	for (uint32_t w = 0; w < coordinator->options.workers && !err && dfg_coordinator_is_elastic(coordinator); w++)
		if (leaves(coordinator, w))
			err = let_leave(coordinator, w);
	if (!err && dfg_coordinator_is_elastic(coordinator))
		err = dfg_coordinator_let_rejoin(coordinator);
	pthread_mutex_unlock(&coordinator->request_lock);
	return err;
}

struct dfg_err *dfg_coordinator_recover(struct dfg_session_backend *backend, struct dfg_err *err)
{
	struct dfg_coordinator *coordinator = (struct dfg_coordinator *)backend;
	pthread_mutex_lock(&coordinator->request_lock);
	err = dfg_coordinator_regroup(coordinator, err);
	pthread_mutex_unlock(&coordinator->request_lock);
	return err;
}
