#include "lib/exec/transport/rendezvous_private.h"

#include "lib/base/mem.h"

/* The flow control messages between two rendezvous: credit.h. They are sent without holding a lock. */
struct dfg_err *dfg_say(
	struct dfg_rendezvous *rendezvous, uint32_t to, enum dfg_message_kind kind, const struct dfg_transfer_key *key)
{
	struct dfg_message message = {.kind = kind};
	struct dfg_link *link = rendezvous->options.link[to];
	dfg_transfer_key_copy(&message.key, key);
	return link ? dfg_err_note(link->kind->send(link, &message), "to worker w%u", to) : NULL;
}

/*
 * If the peer does not get a message it may wait forever, so the step fails, unless the peer is lost, which is reported
 * elsewhere.
 */
void dfg_said(struct dfg_rendezvous *rendezvous, struct dfg_err *err)
{
	if (err && err->code != DFG_UNAVAILABLE)
		dfg_rendezvous_fail(rendezvous, err);
	else
		dfg_err_free(err);
}

void dfg_say_number(struct dfg_rendezvous *rendezvous, uint32_t to, enum dfg_message_kind kind, uint64_t number)
{
	dfg_said(rendezvous, dfg_say(rendezvous, to, kind, &(struct dfg_transfer_key){.step = number}));
}

void dfg_unlock_and_tell(struct dfg_rendezvous *rendezvous, uint32_t peer)
{
	struct dfg_credit *credit = &rendezvous->peer[peer].credit;
	uint64_t before = credit->said;
	bool tells = dfg_credit_tells(credit);
	uint64_t taken = credit->said;
	pthread_mutex_unlock(&rendezvous->lock);
	if (!tells)
		return;
	struct dfg_err *err = dfg_say(rendezvous, peer, DFG_MESSAGE_TAKEN, &(struct dfg_transfer_key){.step = taken});
	pthread_mutex_lock(&rendezvous->lock);
	if (err && credit->said == taken)
		credit->said = before; /* reported with the next values taken */
	pthread_mutex_unlock(&rendezvous->lock);
	dfg_said(rendezvous, err);
}

void dfg_tell_peers(struct dfg_rendezvous *rendezvous)
{
	for (uint32_t i = 0; i < rendezvous->options.workers; i++) {
		pthread_mutex_lock(&rendezvous->lock);
		dfg_unlock_and_tell(rendezvous, i);
	}
}

struct dfg_err *dfg_hold(struct dfg_rendezvous *rendezvous, struct dfg_wait *wait, const struct dfg_message *message,
	uint64_t cost, bool *out_held)
{
	struct dfg_credit *credit = &rendezvous->peer[wait->from].credit;
	if (dfg_credit_may_go(credit, &message->key, cost))
		return NULL;
	wait->dead = message->dead;
	wait->cost = cost;
	wait->key.step = message->key.step;
	wait->value = (struct dfg_tensor){0};
	if (!message->dead)
		DFG_TRY(dfg_tensor_share(&message->tensor, &wait->value));
	bool must_tell = dfg_credit_hold(credit, wait);
	uint64_t told = credit->told;
	uint32_t to = wait->from;
	*out_held = true;
	if (!must_tell)
		return NULL;
	pthread_mutex_unlock(&rendezvous->lock); /* the wait may be completed from here on */
	dfg_say_number(rendezvous, to, DFG_MESSAGE_STALLED, told);
	pthread_mutex_lock(&rendezvous->lock);
	return NULL;
}

/* Sends values that were held back, and are counted. */
static void send_released(struct dfg_rendezvous *rendezvous, struct dfg_wait *waits)
{
	for (struct dfg_wait *next; waits; waits = next) {
		next = waits->next;
		struct dfg_message message = {.kind = DFG_MESSAGE_TENSOR, .dead = waits->dead, .tensor = waits->value};
		struct dfg_link *link = rendezvous->options.link[waits->from];
		dfg_transfer_key_copy(&message.key, &waits->key);
		struct dfg_err *err = dfg_err_note(link->kind->send(link, &message), "to worker w%u", waits->from);
		dfg_tensor_release(&waits->value);
		waits->come(waits, &(struct dfg_tensor){0}, false, err);
	}
}

static void on_taken(struct dfg_rendezvous *rendezvous, uint32_t from, uint64_t taken)
{
	struct dfg_credit *credit = &rendezvous->peer[from].credit;
	bool stalled;
	pthread_mutex_lock(&rendezvous->lock);
	if (taken > credit->sent) {
		dfg_rendezvous_fail_locked(rendezvous,
			DFG_ERR(DFG_PROTOCOL, "worker w%u reports that it took more values than were sent to it", from));
		return;
	}
	struct dfg_wait *waits = dfg_credit_taken(credit, taken, &stalled);
	pthread_mutex_unlock(&rendezvous->lock);
	if (stalled)
		dfg_say_number(rendezvous, from, DFG_MESSAGE_STALLED, taken);
	send_released(rendezvous, waits);
}

static void on_wanted(struct dfg_rendezvous *rendezvous, uint32_t from, const struct dfg_transfer_key *key)
{
	pthread_mutex_lock(&rendezvous->lock);
	struct dfg_wait *waits = dfg_credit_wanted(&rendezvous->peer[from].credit, key);
	pthread_mutex_unlock(&rendezvous->lock);
	send_released(rendezvous, waits);
}

/* The keys that this worker waits for from the peer, at most DFG_WANTED_MOST + 1. With the lock held. */
static struct dfg_err *keys_wanted(
	const struct dfg_rendezvous *rendezvous, uint32_t from, struct dfg_transfer_key **out_keys, size_t *out_count)
{
	size_t capacity = 0;
	for (size_t b = 0; rendezvous->waits && b < rendezvous->buckets; b++)
		for (const struct dfg_wait *wait = rendezvous->bucket[b].wait; wait; wait = wait->next) {
			if (wait->from != from || *out_count > DFG_WANTED_MOST)
				continue;
			if (!dfg_reserve(out_keys, &capacity, *out_count + 1, sizeof **out_keys))
				return dfg_no_memory("the transfers that wait");
			(*out_keys)[(*out_count)++] = wait->key;
		}
	return NULL;
}

static void on_stalled(struct dfg_rendezvous *rendezvous, uint32_t from, uint64_t told)
{
	struct dfg_credit *credit = &rendezvous->peer[from].credit;
	struct dfg_transfer_key *key = NULL;
	size_t count = 0;
	struct dfg_err *err = NULL;
	pthread_mutex_lock(&rendezvous->lock);
	if (told >= credit->said) { /* otherwise a TAKEN with more credit is on its way */
		credit->peer_stalled = true;
		err = keys_wanted(rendezvous, from, &key, &count);
	}
	if (err)
		dfg_rendezvous_fail_locked(rendezvous, err);
	else
		pthread_mutex_unlock(&rendezvous->lock);
	for (size_t i = 0; i < count && !err; i++)
		dfg_said(rendezvous, dfg_say(rendezvous, from, DFG_MESSAGE_WANTED, &key[i]));
	dfg_free(key);
}

void dfg_rendezvous_flow_control(struct dfg_rendezvous *rendezvous, uint32_t from, const struct dfg_message *message)
{
	if (message->kind == DFG_MESSAGE_TAKEN)
		on_taken(rendezvous, from, message->key.step);
	else if (message->kind == DFG_MESSAGE_STALLED)
		on_stalled(rendezvous, from, message->key.step);
	else if (message->kind == DFG_MESSAGE_WANTED && message->key.depth <= DFG_LINK_DEPTH)
		on_wanted(rendezvous, from, &message->key);
}
