#include "lib/exec/transport/credit.h"

#include "lib/base/mem.h"

#include <string.h>

bool dfg_transfer_key_equal(const struct dfg_transfer_key *a, const struct dfg_transfer_key *b)
{
	return a->number == b->number && a->step == b->step && a->depth == b->depth &&
		   !memcmp(a->iteration, b->iteration, a->depth * sizeof *a->iteration);
}

void dfg_credit_release(struct dfg_credit *credit)
{
	dfg_free(credit->wanted);
}

static bool has_credit(const struct dfg_credit *credit)
{
	return credit->open || credit->sent - credit->told < credit->limit;
}

/* Removes the key from the list; false if it is not in it. */
static bool take_wanted(struct dfg_credit *credit, const struct dfg_transfer_key *key)
{
	for (size_t i = 0; i < credit->wanted_count; i++)
		if (dfg_transfer_key_equal(&credit->wanted[i], key)) {
			credit->wanted[i] = credit->wanted[--credit->wanted_count];
			return true;
		}
	return false;
}

bool dfg_credit_may_go(struct dfg_credit *credit, const struct dfg_transfer_key *key, uint64_t cost)
{
	if (!has_credit(credit) && !take_wanted(credit, key))
		return false;
	credit->sent += cost;
	return true;
}

bool dfg_credit_hold(struct dfg_credit *credit, struct dfg_wait *wait)
{
	bool must_tell = !credit->stalled;
	wait->next = NULL;
	if (credit->held)
		credit->last_held->next = wait;
	else
		credit->held = wait;
	credit->last_held = wait;
	credit->stalled = true;
	return must_tell;
}

/* Removes and returns the held Sends for which there is credit, in order. */
static struct dfg_wait *release_held(struct dfg_credit *credit)
{
	struct dfg_wait *first = credit->held, *last = NULL;
	for (; credit->held && has_credit(credit); credit->held = last->next) {
		last = credit->held;
		credit->sent += last->cost;
	}
	if (!last)
		return NULL;
	last->next = NULL;
	return first;
}

struct dfg_wait *dfg_credit_taken(struct dfg_credit *credit, uint64_t taken, bool *out_stalled)
{
	*out_stalled = false;
	if (taken <= credit->told)
		return NULL;
	credit->told = taken;
	credit->wanted_count = 0;
	credit->open = false;
	struct dfg_wait *waits = release_held(credit);
	credit->stalled = *out_stalled = credit->held;
	return waits;
}

static bool add_wanted(struct dfg_credit *credit, const struct dfg_transfer_key *key)
{
	if (credit->wanted_count == DFG_WANTED_MOST ||
		!dfg_reserve(&credit->wanted, &credit->wanted_capacity, credit->wanted_count + 1, sizeof *credit->wanted))
		return false;
	credit->wanted[credit->wanted_count++] = *key;
	return true;
}

/* Removes and returns the held Send of the key. */
static struct dfg_wait *take_held(struct dfg_credit *credit, const struct dfg_transfer_key *key)
{
	struct dfg_wait *before = NULL, *wait = credit->held;
	for (; wait && !dfg_transfer_key_equal(&wait->key, key); wait = wait->next)
		before = wait;
	if (!wait)
		return NULL;
	if (before)
		before->next = wait->next;
	else
		credit->held = wait->next;
	if (credit->last_held == wait)
		credit->last_held = before;
	wait->next = NULL;
	return wait;
}

struct dfg_wait *dfg_credit_wanted(struct dfg_credit *credit, const struct dfg_transfer_key *key)
{
	struct dfg_wait *wait = take_held(credit, key);
	if (wait) {
		credit->sent += wait->cost;
		return wait;
	}
	if (!credit->stalled || add_wanted(credit, key))
		return NULL;
	credit->open = true;
	return release_held(credit);
}

bool dfg_credit_tells(struct dfg_credit *credit)
{
	if (credit->taken - credit->said < (credit->limit + 3) / 4)
		return false;
	credit->said = credit->taken;
	credit->peer_stalled = false;
	return true;
}

void dfg_credit_forget(struct dfg_credit *credit, uint64_t before_step)
{
	for (size_t i = 0; i < credit->wanted_count;)
		if (credit->wanted[i].step < before_step)
			credit->wanted[i] = credit->wanted[--credit->wanted_count];
		else
			i++;
}

struct dfg_wait *dfg_credit_give_up(struct dfg_credit *credit)
{
	struct dfg_wait *held = credit->held;
	credit->held = credit->last_held = NULL;
	credit->open = false;
	credit->stalled = false; /* sending STALLED may have failed: the next Send that is held back sends it again */
	return held;
}
