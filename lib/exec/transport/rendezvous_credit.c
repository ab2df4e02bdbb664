#include "lib/exec/transport/rendezvous_private.h"

#include "lib/base/mem.h"

/* What the two rendezvous of a pair say to each other about room: credit.h. It is said with no lock held. */
struct dfg_err *dfg_say(
	struct dfg_rendezvous *rendezvous, uint32_t to, enum dfg_message_kind kind, const struct dfg_transfer_key *key)
{
	struct dfg_message message = {.kind = kind};
	struct dfg_link *link = rendezvous->options.link[to];
	dfg_transfer_key_copy(&message.key, key);
	return link ? dfg_err_note(link->kind->send(link, &message), "to worker w%u", to) : NULL;
}

/* Whom the peer does not hear is held up for ever: the step ends, unless the peer is gone, which is told elsewhere. */
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
	struct dfg_credit *budget = &rendezvous->peer[peer].budget;
	uint64_t before = budget->said;
	bool tells = dfg_credit_tells(budget);
	uint64_t taken = budget->said;
	pthread_mutex_unlock(&rendezvous->lock);
	if (!tells)
		return;
	struct dfg_err *err = dfg_say(rendezvous, peer, DFG_MESSAGE_TAKEN, &(struct dfg_transfer_key){.step = taken});
	pthread_mutex_lock(&rendezvous->lock);
	if (err && budget->said == taken)
		budget->said = before; /* it is told with what is taken next */
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
	struct dfg_credit *budget = &rendezvous->peer[wait->from].budget;
	if (dfg_credit_may_go(budget, &message->key, cost))
		return NULL;
	wait->dead = message->dead;
	wait->cost = cost;
	wait->key.step = message->key.step;
	wait->value = (struct dfg_tensor){0};
	if (!message->dead)
		DFG_TRY(dfg_tensor_share(&message->tensor, &wait->value));
	bool says = dfg_credit_hold(budget, wait);
	uint64_t told = budget->told;
	uint32_t to = wait->from;
	*out_held = true;
	if (!says)
		return NULL;
	pthread_mutex_unlock(&rendezvous->lock); /* the wait is not ours any more */
	dfg_say_number(rendezvous, to, DFG_MESSAGE_STALLED, told);
	pthread_mutex_lock(&rendezvous->lock);
	return NULL;
}

/* What was held back, and counted, leaves. */
static void let_go(struct dfg_rendezvous *rendezvous, struct dfg_wait *waits)
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

static void hear_taken(struct dfg_rendezvous *rendezvous, uint32_t from, uint64_t taken)
{
	struct dfg_credit *budget = &rendezvous->peer[from].budget;
	bool stalled;
	pthread_mutex_lock(&rendezvous->lock);
	if (taken > budget->sent) {
		dfg_rendezvous_fail_locked(rendezvous, DFG_ERR(DFG_PROTOCOL, "worker w%u took more than it was sent", from));
		return;
	}
	struct dfg_wait *waits = dfg_credit_taken(budget, taken, &stalled);
	pthread_mutex_unlock(&rendezvous->lock);
	if (stalled)
		dfg_say_number(rendezvous, from, DFG_MESSAGE_STALLED, taken);
	let_go(rendezvous, waits);
}

static void hear_wanted(struct dfg_rendezvous *rendezvous, uint32_t from, const struct dfg_transfer_key *key)
{
	pthread_mutex_lock(&rendezvous->lock);
	struct dfg_wait *waits = dfg_credit_wanted(&rendezvous->peer[from].budget, key);
	pthread_mutex_unlock(&rendezvous->lock);
	let_go(rendezvous, waits);
}

/* The keys that are waited for from the peer, and no more than show that they are too many. With the lock held. */
static struct dfg_err *keys_wanted(
	const struct dfg_rendezvous *rendezvous, uint32_t from, struct dfg_transfer_key **out_keys, size_t *out_count)
{
	size_t room = 0;
	for (size_t b = 0; rendezvous->waits && b < rendezvous->buckets; b++)
		for (const struct dfg_wait *wait = rendezvous->bucket[b].wait; wait; wait = wait->next) {
			if (wait->from != from || *out_count > DFG_WANTED_MOST)
				continue;
			if (!dfg_reserve(out_keys, &room, *out_count + 1, sizeof **out_keys))
				return DFG_ERR(DFG_MEMORY, "out of memory");
			(*out_keys)[(*out_count)++] = wait->key;
		}
	return NULL;
}

static void hear_stalled(struct dfg_rendezvous *rendezvous, uint32_t from, uint64_t told)
{
	struct dfg_credit *budget = &rendezvous->peer[from].budget;
	struct dfg_transfer_key *key = NULL;
	size_t count = 0;
	struct dfg_err *err = NULL;
	pthread_mutex_lock(&rendezvous->lock);
	if (told >= budget->said) { /* else it will hear that there is more room */
		budget->peer_stalled = true;
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

void dfg_hear_of_room(struct dfg_rendezvous *rendezvous, uint32_t from, const struct dfg_message *message)
{
	if (message->kind == DFG_MESSAGE_TAKEN)
		hear_taken(rendezvous, from, message->key.step);
	else if (message->kind == DFG_MESSAGE_STALLED)
		hear_stalled(rendezvous, from, message->key.step);
	else if (message->kind == DFG_MESSAGE_WANTED && message->key.depth <= DFG_LINK_DEPTH)
		hear_wanted(rendezvous, from, &message->key);
}
