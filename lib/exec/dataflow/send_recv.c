#include "lib/exec/dataflow/executor_private.h"
#include "lib/exec/device/device.h"
#include "lib/exec/transport/rendezvous.h"

#include <sched.h>
#include <stdio.h>

/*
 * Send and Recv. A Recv whose value has not arrived registers a pending transfer, and its thread continues; so does a
 * Send without credit, whose transfer completes when it has left. The thread that reads a link and completes a transfer
 * puts it on a list and wakes the executor without taking a lock, so it may hold any lock, even the executor's.
 */

bool dfg_crosses(const struct executor *executor, const struct iteration_state *iter, uint32_t node)
{
	const uint32_t *use = iter->loop->use + executor->frame_info->first_use[node];
	uint32_t dead_data = executor->plan->node[node].n_in && iter->state[use[0]] == DEAD;
	return iter->count[executor->frame_info->local[node]].dead == dead_data;
}

static void fill_key(
	const struct executor *executor, const struct iteration_state *iter, uint32_t node, struct dfg_transfer_key *key)
{
	uint32_t depth = 0;
	for (const struct iteration_state *s = iter; s->frame; s = s->frame->parent)
		depth++;
	key->number = executor->frame_info->port[node].number;
	key->depth = depth;
	for (; iter->frame; iter = iter->frame->parent)
		key->iteration[--depth] = iter->iteration;
}

static void free_pending(struct executor *executor, struct pending_transfer *pending)
{
	pending->iter = NULL;
	pending->next = executor->free_pending;
	executor->free_pending = pending;
}

/*
 * dfg_wait's come. Once the transfer is on the list, it belongs to the executor; once `delivering` is 0, this thread no
 * longer refers to it.
 */
static void transfer_completed(struct dfg_wait *wait, struct dfg_tensor *tensor, bool dead, struct dfg_err *err)
{
	struct pending_transfer *pending = (struct pending_transfer *)wait;
	struct executor *executor = pending->executor;
	atomic_fetch_add(&executor->delivering, 1);
	pending->tensor = *tensor;
	pending->dead = dead;
	pending->err = err;
	pending->next = atomic_load(&executor->arrived);
	while (!atomic_compare_exchange_weak(&executor->arrived, &pending->next, pending))
		;
	dfg_event_signal(&executor->event);
	dfg_wake_helper(executor);
	atomic_fetch_sub(&executor->delivering, 1);
}

static struct dfg_err *take_pending(struct executor *executor, struct pending_transfer **out_pending)
{
	struct pending_transfer *pending = *out_pending = executor->free_pending;
	if (pending) {
		executor->free_pending = pending->next;
		return NULL;
	}
	if (!(pending = dfg_zeros(1, sizeof *pending)))
		return dfg_no_memory("a transfer");
	pending->wait.come = transfer_completed;
	pending->executor = executor;
	pending->made = executor->all_pending;
	*out_pending = executor->all_pending = pending;
	return NULL;
}

/* A pending transfer for the Send or Recv. */
static struct dfg_err *new_pending(
	struct executor *executor, const struct ready *item, uint64_t began, struct pending_transfer **out_pending)
{
	DFG_TRY(take_pending(executor, out_pending));
	struct pending_transfer *pending = *out_pending;
	fill_key(executor, item->iter, item->node, &pending->wait.key);
	pending->wait.from = executor->frame_info->port[item->node].peer;
	pending->iter = item->iter;
	pending->node = item->node;
	pending->began = began;
	return NULL;
}

/*
 * Copying a large value to a peer's memory takes time, so it is done without the lock. The transfer counts as expected
 * before it is offered, since another thread may complete it before dfg_rendezvous_offer returns.
 */
static struct dfg_err *send_value(
	struct executor *executor, struct pending_transfer *pending, const struct dfg_tensor *tensor, bool *out_held)
{
	enum { LARGE = 1 << 16 };
	struct dfg_rendezvous *rendezvous = executor->plan->session->options.rendezvous;
	bool apart = executor->shared && tensor && dfg_tensor_bytes(tensor) >= LARGE;
	executor->expected++;
	if (apart)
		dfg_unlock_for_work(executor);
	struct dfg_err *err = dfg_rendezvous_offer(rendezvous, &pending->wait, tensor, out_held);
	if (apart)
		dfg_relock(executor);
	if (!*out_held) {
		executor->expected--;
		free_pending(executor, pending);
	}
	return err;
}

struct dfg_err *dfg_send(struct executor *executor, const struct ready *item, uint64_t began, bool *out_held)
{
	const struct iteration_state *iter = item->iter;
	const struct dfg_tensor *in = iter->at[executor->frame_info->first_use[item->node]];
	struct pending_transfer *pending;
	struct dfg_tensor value;
	if (!dfg_crosses(executor, iter, item->node))
		return NULL;
	DFG_TRY(new_pending(executor, item, began, &pending));
	if (item->dead) {
		dfg_keep_last_dead(executor, &executor->frame_info->port[item->node].last_dead,
			(struct last_dead){.cause = *dfg_cause_of(executor, item), .iteration = iter->iteration});
		return send_value(executor, pending, NULL, out_held);
	}
	struct dfg_err *err = dfg_host_value(in, &value);
	if (err) {
		free_pending(executor, pending);
		return err;
	}
	err = send_value(executor, pending, &value, out_held);
	dfg_tensor_release(&value);
	return err;
}

/* A value from another worker is not trusted: it must have the declared dtype and shape. */
static struct dfg_err *check_value(const struct port *port, const struct dfg_tensor *value)
{
	if (value->dtype == port->dtype && dfg_shape_fits(&value->shape, port->shape))
		return NULL;
	return DFG_ERR(DFG_PROTOCOL, "worker w%u sent %s, expected %s", port->peer,
		dfg_type_words(value->dtype, &value->shape).s, dfg_type_words(port->dtype, port->shape).s);
}

/* A received value that a kernel of the device reads is copied there. An error releases it. */
static struct dfg_err *move_to_device(const struct executor *executor, uint32_t node, struct dfg_tensor *value)
{
	const struct dfg_plan *plan = executor->plan;
	struct dfg_tensor copy = {0};
	if (!plan->device_reads || !plan->device_reads[dfg_plan_node_out(plan, &plan->node[node], 0)])
		return NULL;
	struct dfg_err *err = dfg_device_copy_in(plan->session->options.device, value, &copy);
	dfg_tensor_release(value);
	*value = copy;
	return err;
}

/* Finishes the node. Takes the value. */
static struct dfg_err *finish_transfer(struct executor *executor, struct pending_transfer *pending)
{
	struct iteration_state *iter = pending->iter;
	uint32_t node = pending->node;
	const struct port *port = &executor->frame_info->port[node];
	struct dead_cause cause = {node + 1, (int)port->peer, iter->iteration};
	bool sends = executor->plan->node[node].role == DFG_SEND;
	struct ready item = {iter, node, sends ? pending->wait.dead : pending->dead};
	if (sends)
		return dfg_finish(executor, &item, item.dead ? dfg_cause_of(executor, &item) : NULL, pending->began);
	if (pending->dead)
		return dfg_finish(executor, &item, &cause, pending->began);
	struct dfg_err *err = check_value(port, &pending->tensor);
	if (err) {
		dfg_tensor_release(&pending->tensor);
		return dfg_location_note(err, iter, executor->plan->node[node].call);
	}
	uint32_t slot = dfg_out_slot(executor, node, 0);
	DFG_TRY(dfg_location_note(move_to_device(executor, node, &pending->tensor), iter, executor->plan->node[node].call));
	iter->tensor[slot] = pending->tensor;
	iter->state[slot] = LIVE;
	return dfg_finish(executor, &item, NULL, pending->began);
}

struct dfg_err *dfg_receive(struct executor *executor, struct iteration_state *iter, uint32_t node, uint64_t began)
{
	struct pending_transfer *pending;
	struct dfg_tensor value = {0};
	bool dead = false, there = false;
	DFG_TRY(new_pending(executor, &(struct ready){iter, node, false}, began, &pending));
	struct dfg_err *err =
		dfg_rendezvous_receive(executor->plan->session->options.rendezvous, &pending->wait, &value, &dead, &there);
	if (!err && !there) { /* it may have arrived meanwhile: the transfer may already be in use elsewhere */
		executor->expected++;
		return NULL;
	}
	struct pending_transfer mine = *pending;
	free_pending(executor, pending);
	if (err)
		return dfg_location_note(err, iter, executor->plan->node[node].call);
	mine.tensor = value;
	mine.dead = dead;
	return finish_transfer(executor, &mine);
}

/* The transfers that arrived, the oldest first. */
static struct pending_transfer *take_arrived(struct executor *executor)
{
	struct pending_transfer *newest = atomic_exchange(&executor->arrived, NULL), *oldest = NULL;
	while (newest) {
		struct pending_transfer *next = newest->next;
		newest->next = oldest;
		oldest = newest;
		newest = next;
		executor->expected--;
	}
	return oldest;
}

/* After the step has failed: releases values, and keeps errors, of which the first is reported. */
static void keep_errors(struct executor *executor, struct pending_transfer *all_pending)
{
	for (struct pending_transfer *next; all_pending; all_pending = next) {
		next = all_pending->next;
		dfg_tensor_release(&all_pending->tensor);
		if (!all_pending->err) {
			free_pending(executor, all_pending);
			continue;
		}
		all_pending->next = executor->refused;
		executor->refused = all_pending;
	}
}

struct dfg_err *dfg_complete_transfers(struct executor *executor)
{
	struct pending_transfer *pending = take_arrived(executor);
	struct dfg_rendezvous *rendezvous = executor->plan->session->options.rendezvous;
	struct dfg_err *err = NULL;
	uint64_t now = pending ? dfg_now() : 0;
	while (pending && !pending->err && !err) {
		struct pending_transfer mine = *pending;
		free_pending(executor, pending);
		pending = mine.next;
		if (executor->plan->node[mine.node].role == DFG_RECV)
			dfg_rendezvous_waited(rendezvous, mine.wait.from, mine.wait.key.number, now - mine.began);
		err = finish_transfer(executor, &mine);
	}
	executor->stop |= err || pending;
	keep_errors(executor, pending);
	return err;
}

void dfg_poll_links(struct executor *executor)
{
	enum { POLL_INTERVAL = 64 };
	if (++executor->runs_since_poll < POLL_INTERVAL)
		return;
	executor->runs_since_poll = 0;
	dfg_unlock(executor);
	dfg_rendezvous_poll(executor->plan->session->options.rendezvous);
	dfg_lock(executor);
}

/*
 * A peer answers within microseconds, or much later. After KEEN_NS other threads may need the processor. A thread that
 * sleeps is woken by the link's own thread, which reads the link only now and then while some thread polls: an answer
 * shortly after polling has ended costs many times the polling. So polling lasts MOST_NS.
 */
void dfg_wait_for_links(struct executor *executor, uint32_t seen, uint64_t until)
{
	enum { KEEN_NS = 2000, MOST_NS = 250000, AT_ONCE = 16 };
	struct dfg_rendezvous *rendezvous = executor->plan->session->options.rendezvous;
	uint64_t began = dfg_now(), now = began;
	do {
		for (int i = 0; i < AT_ONCE; i++) {
			if (atomic_load(&executor->arrived) || atomic_load(&executor->event.word) != seen)
				return;
			if (!dfg_rendezvous_poll(rendezvous))
				dfg_pause_briefly();
		}
		now = dfg_now();
		if (now - began > KEEN_NS)
			sched_yield();
	} while (now - began < MOST_NS && (!until || now < until));
	dfg_rendezvous_rest(rendezvous);
	if (!atomic_load(&executor->arrived))
		dfg_event_sleep(&executor->event, seen, until);
}

/* The first by dfg_is_before: of all pending transfers, or of those with errors. */
static struct pending_transfer *first_of(const struct executor *executor, bool refused)
{
	struct pending_transfer *first = NULL, *next;
	for (struct pending_transfer *pending = refused ? executor->refused : executor->all_pending; pending;
		 pending = next) {
		next = refused ? pending->next : pending->made;
		if (pending->iter && (!first || dfg_is_before(pending->iter, pending->node, first->iter, first->node)))
			first = pending;
	}
	return first;
}

static struct dfg_err *note_pending(
	const struct executor *executor, const struct pending_transfer *first, struct dfg_err *err)
{
	const struct dfg_resolved_node *call = executor->plan->node[first->node].call;
	const struct dfg_transfer_key *key = &first->wait.key;
	struct dfg_string name = call->attr[dfg_op_attr(call->signature, "tensor_name")].s;
	char where[400] = "", more[40] = "";
	if (first->iter->frame)
		snprintf(where, sizeof where, ", in iteration %s of loop '%.150s'",
			dfg_key_words(key->iteration, (int)key->depth).s, first->iter->loop->path);
	if (executor->expected > 1)
		snprintf(more, sizeof more, ", and for %u more", executor->expected - 1);
	bool sends = executor->plan->node[first->node].role == DFG_SEND;
	return dfg_err_note(dfg_err_that_waited(err), "waited %.3g s %s '%.*s' %s w%u%s%s",
		(double)(dfg_now() - first->began) * 1e-9, sends ? "for credit to send" : "for", (int)name.length, name.s,
		sends ? "to" : "from", first->wait.from, where, more);
}

struct dfg_err *dfg_note_transfers(const struct executor *executor, struct dfg_err *err)
{
	const struct pending_transfer *first = err ? first_of(executor, false) : NULL;
	return first ? note_pending(executor, first, err) : err;
}

/* The error that ended the step, for the other transfers at the rendezvous. */
static struct dfg_err *failure(const struct executor *executor)
{
	const struct pending_transfer *first = first_of(executor, true);
	const struct dfg_err *err = executor->err ? executor->err : first ? first->err : NULL;
	return err ? dfg_err_copy(err) : DFG_ERR(DFG_BUG, "the step failed");
}

void dfg_abandon_transfers(struct executor *executor)
{
	if (executor->stop)
		dfg_rendezvous_fail(executor->plan->session->options.rendezvous, failure(executor));
	while (executor->expected) {
		uint32_t seen = atomic_load(&executor->event.word);
		struct pending_transfer *arrived = take_arrived(executor);
		keep_errors(executor, arrived);
		if (!arrived)
			dfg_event_wait(&executor->event, seen);
	}
	while (atomic_load(&executor->delivering))
		dfg_pause_briefly();
	struct pending_transfer *first = first_of(executor, true);
	if (first && !executor->err) {
		bool elsewhere = first->err->code == DFG_UNAVAILABLE || first->err->code == DFG_STOPPED;
		executor->err = elsewhere ? note_pending(executor, first, first->err)
								  : dfg_location_note(first->err, first->iter, executor->plan->node[first->node].call);
		first->err = NULL;
	}
	while (executor->refused) {
		struct pending_transfer *pending = executor->refused;
		executor->refused = pending->next;
		dfg_err_free(pending->err);
		free_pending(executor, pending);
	}
}
