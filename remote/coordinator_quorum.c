#include "remote/coordinator_private.h"

#include <string.h>

/*
 * Steps that wait for the first replicas only. Replicas hold their contributions until all know which shards count; a
 * replica whose contribution was not among the first ends its compute run, and takes the update when it comes to it. It is
 * not waited for: it may be one step late. A replica that is later takes no part in steps, and nothing is sent
 * to it, so that what waits for it is bounded; when it has answered all requests, it copies the variables of another one.
 */

/* An update that failed where nothing waited for it: the replica copies the variables of another one. */
void dfg_coordinator_take_late(struct dfg_coordinator *coordinator, struct dfg_packet *packet)
{
	const struct worker_state *state = &coordinator->state[packet->peer];
	struct dfg_err *err = packet->kind == DFG_PACKET_ANSWER ? dfg_packet_get_error(packet) : NULL;
	if (err && (packet->number == state->update[0] || packet->number == state->update[1]))
		coordinator->replica[packet->peer / coordinator->width].torn = true;
	dfg_err_free(err);
}

bool dfg_coordinator_is_busy(const struct dfg_coordinator *coordinator, uint32_t replica)
{
	bool busy = false;
	for (uint32_t w = replica * coordinator->width; w < (replica + 1) * coordinator->width; w++)
		busy |= coordinator->state[w].answered < coordinator->state[w].sent;
	return busy && coordinator->options.quorum;
}

void dfg_coordinator_settle(struct dfg_coordinator *coordinator)
{
	for (uint32_t r = 0; r < coordinator->options.replicas && coordinator->options.quorum; r++) {
		struct replica_state *replica = &coordinator->replica[r];
		if (!replica->due || dfg_coordinator_is_busy(coordinator, r))
			continue;
		if (replica->due > replica->version)
			replica->version = replica->torn ? 0 : replica->due;
		replica->due = 0;
		replica->torn = false;
	}
}

/* The replicas that take part and are lost: the step begins with none of them. */
static struct dfg_err *check_lost(struct dfg_coordinator *coordinator)
{
	struct dfg_err *err = dfg_coordinator_why_lost(coordinator);
	coordinator->broken |= err != NULL;
	return err;
}

struct dfg_err *dfg_coordinator_catch_up(struct dfg_coordinator *coordinator)
{
	for (;;) {
		uint32_t seen = atomic_load(&coordinator->event.word);
		bool busy = false;
		dfg_coordinator_take_answers(coordinator);
		DFG_TRY(check_lost(coordinator));
		for (uint32_t r = 0; r < coordinator->options.replicas; r++)
			busy |= coordinator->replica[r].member && dfg_coordinator_is_busy(coordinator, r);
		if (!busy)
			break;
		dfg_coordinator_wait(coordinator, seen, 0);
	}
	dfg_coordinator_settle(coordinator);
	memset(coordinator->absent, 0, coordinator->options.replicas * sizeof *coordinator->absent);
	return NULL;
}

/*
 * Whether a replica takes part in the step that begins: it has answered all requests of the steps before the last one,
 * and will have the newest variables when it comes to this step.
 */
static bool keeps_up(const struct dfg_coordinator *coordinator, uint32_t replica)
{
	const struct replica_state *state = &coordinator->replica[replica];
	bool keeps = state->member;
	for (uint32_t w = replica * coordinator->width; w < (replica + 1) * coordinator->width; w++)
		keeps &= coordinator->state[w].answered >= coordinator->state[w].mark;
	return keeps && (state->due > state->version ? state->due : state->version) == coordinator->version;
}

static void begin_on(struct dfg_coordinator *coordinator, uint32_t replica)
{
	for (uint32_t w = replica * coordinator->width; w < (replica + 1) * coordinator->width; w++)
		coordinator->state[w].mark = coordinator->state[w].sent;
}

struct dfg_err *dfg_coordinator_begin_quorum(struct dfg_coordinator *coordinator, uint32_t need)
{
	for (;;) {
		uint32_t seen = atomic_load(&coordinator->event.word), count = 0;
		dfg_coordinator_take_answers(coordinator);
		DFG_TRY(check_lost(coordinator));
		DFG_TRY(dfg_coordinator_make_equal(coordinator));
		for (uint32_t r = 0; r < coordinator->options.replicas; r++)
			count += keeps_up(coordinator, r);
		if (count >= need)
			break;
		dfg_coordinator_wait(coordinator, seen, 0);
	}
	for (uint32_t r = 0; r < coordinator->options.replicas; r++) {
		coordinator->replica[r].taken = false;
		coordinator->absent[r] = !keeps_up(coordinator, r);
		if (!coordinator->absent[r])
			begin_on(coordinator, r);
	}
	return NULL;
}

/* The time at which a replica has answered, in the order of all answers; 0: not yet. */
static uint64_t arrival_of(const struct dfg_coordinator *coordinator, const struct plan_run *run, uint32_t replica)
{
	uint64_t last = 0;
	for (uint32_t w = replica * coordinator->width; w < (replica + 1) * coordinator->width; w++) {
		const struct worker_state *state = &coordinator->state[w];
		if (state->asked)
			return 0;
		if (state->answer.kind == DFG_PACKET_ANSWER && state->arrived > last)
			last = state->arrived;
	}
	return run->feeds[replica] ? last : 0;
}

static uint32_t count_arrived(const struct dfg_coordinator *coordinator, const struct plan_run *run)
{
	uint32_t count = 0;
	for (uint32_t r = 0; r < coordinator->options.replicas; r++)
		count += arrival_of(coordinator, run, r) > 0;
	return count;
}

/* Whether the replica is among the first. */
static bool is_first(const struct dfg_coordinator *coordinator, const struct plan_run *run, uint32_t replica)
{
	uint64_t arrival = arrival_of(coordinator, run, replica);
	uint32_t before = 0;
	for (uint32_t r = 0; r < coordinator->options.replicas; r++) {
		uint64_t other = arrival_of(coordinator, run, r);
		before += other && other < arrival;
	}
	return arrival && before < run->need;
}

static void skip_on(struct dfg_coordinator *coordinator, uint32_t worker, uint64_t step)
{
	struct dfg_packet packet = {.kind = DFG_PACKET_SKIP};
	dfg_packet_put(&packet, step);
	struct dfg_err *err = dfg_packet_send(&packet, coordinator->state[worker].link);
	if (err)
		dfg_coordinator_lost(coordinator, worker, err);
}

/* Workers that have not answered are told that the step is decided, and are not waited for. */
static void release_rest(struct dfg_coordinator *coordinator, uint64_t step)
{
	for (uint32_t w = 0; w < coordinator->options.workers; w++)
		if (coordinator->state[w].asked) {
			coordinator->state[w].asked = 0;
			skip_on(coordinator, w, step);
		}
}

/* The compute runs end when enough replicas have theirs. */
static struct dfg_err *first_of(struct dfg_coordinator *coordinator, uint64_t step, const struct plan_run *run)
{
	uint32_t first = DFG_NONE;
	for (;;) {
		uint32_t seen = atomic_load(&coordinator->event.word);
		dfg_coordinator_take_answers(coordinator);
		bool waiting = dfg_coordinator_poll_answers(coordinator, &first);
		if (first != DFG_NONE || !waiting)
			return dfg_coordinator_outcome_after(coordinator, step, run->spread, first);
		if (count_arrived(coordinator, run) >= run->need)
			break;
		dfg_coordinator_wait(coordinator, seen, dfg_coordinator_name_slow(coordinator));
	}
	return NULL;
}

static struct dfg_err *compute(struct dfg_coordinator *coordinator, uint64_t step, const struct plan_run *run)
{
	DFG_TRY(first_of(coordinator, step, run));
	bool *first = dfg_zeros(coordinator->options.replicas, sizeof *first);
	if (!first)
		return dfg_no_memory("a step on the replicas");
	for (uint32_t r = 0; r < coordinator->options.replicas; r++)
		first[r] = is_first(coordinator, run, r);
	release_rest(coordinator, step);
	for (uint32_t r = 0; r < coordinator->options.replicas; r++)
		coordinator->replica[r].done = first[r];
	dfg_free(first);
	return NULL;
}

/* The update of the others is not waited for. */
static void note_late(struct dfg_coordinator *coordinator, const struct plan_run *run)
{
	for (uint32_t w = 0; w < coordinator->options.workers; w++) {
		struct replica_state *replica = &coordinator->replica[w / coordinator->width];
		struct worker_state *state = &coordinator->state[w];
		if (!run->feeds[w / coordinator->width] || !state->asked)
			continue;
		state->update[1] = state->update[0];
		state->update[0] = state->asked;
		if (replica->taken)
			continue;
		state->asked = 0;
		replica->due = run->waits ? replica->due : coordinator->version + 1;
	}
}

/* A failure ends the update of replicas that are not waited for too. */
static void fail_late(struct dfg_coordinator *coordinator, uint64_t step, const struct plan_run *run)
{
	for (uint32_t w = 0; w < coordinator->options.workers; w++) {
		const struct worker_state *state = &coordinator->state[w];
		uint32_t replica = w / coordinator->width;
		if (run->feeds[replica] && !coordinator->replica[replica].taken && state->answered < state->sent)
			skip_on(coordinator, w, step);
	}
}

struct dfg_err *dfg_coordinator_quorum(struct dfg_coordinator *coordinator, uint64_t step, const struct plan_run *run)
{
	if (run->shard)
		return compute(coordinator, step, run);
	note_late(coordinator, run);
	struct dfg_err *err = dfg_coordinator_outcome(coordinator, step, run->spread);
	if (err)
		fail_late(coordinator, step, run);
	return err;
}
