#include "lib/exec/transport/credit.h"

#include "lib/base/mem.h"

#include <string.h>

bool dfg_transfer_key_equal(const struct dfg_transfer_key *a, const struct dfg_transfer_key *b)
{
	return a->number == b->number && a->step == b->step && a->depth == b->depth &&
		   !memcmp(a->iteration, b->iteration, a->depth * sizeof *a->iteration);
}

void dfg_credit_release(struct dfg_credit *budget)
{
	dfg_free(budget->wanted);
}

static bool has_credit(const struct dfg_credit *budget)
{
	return budget->open || budget->sent - budget->told < budget->limit;
}

/* Removes the key from the list; false if it is not in it. */
static bool take_wanted(struct dfg_credit *budget, const struct dfg_transfer_key *key)
{
	for (size_t i = 0; i < budget->wanted_count; i++)
		if (dfg_transfer_key_equal(&budget->wanted[i], key)) {
			budget->wanted[i] = budget->wanted[--budget->wanted_count];
			return true;
		}
	return false;
}

bool dfg_credit_may_go(struct dfg_credit *budget, const struct dfg_transfer_key *key, uint64_t cost)
{
	if (!has_credit(budget) && !take_wanted(budget, key))
		return false;
	budget->sent += cost;
	return true;
}

bool dfg_credit_hold(struct dfg_credit *budget, struct dfg_wait *wait)
{
	bool must_tell = !budget->stalled;
	wait->next = NULL;
	if (budget->held)
		budget->last_held->next = wait;
	else
		budget->held = wait;
	budget->last_held = wait;
	budget->stalled = true;
	return must_tell;
}

/* Removes and returns the held Sends for which there is credit, in order. */
static struct dfg_wait *release_held(struct dfg_credit *budget)
{
	struct dfg_wait *first = budget->held, *last = NULL;
	for (; budget->held && has_credit(budget); budget->held = last->next) {
		last = budget->held;
		budget->sent += last->cost;
	}
	if (!last)
		return NULL;
	last->next = NULL;
	return first;
}

struct dfg_wait *dfg_credit_taken(struct dfg_credit *budget, uint64_t taken, bool *out_stalled)
{
	*out_stalled = false;
	if (taken <= budget->told)
		return NULL;
	budget->told = taken;
	budget->wanted_count = 0;
	budget->open = false;
	struct dfg_wait *waits = release_held(budget);
	budget->stalled = *out_stalled = budget->held;
	return waits;
}

static bool add_wanted(struct dfg_credit *budget, const struct dfg_transfer_key *key)
{
	if (budget->wanted_count == DFG_WANTED_MOST ||
		!dfg_reserve(&budget->wanted, &budget->wanted_capacity, budget->wanted_count + 1, sizeof *budget->wanted))
		return false;
	budget->wanted[budget->wanted_count++] = *key;
	return true;
}

/* Removes and returns the held Send of the key. */
static struct dfg_wait *take_held(struct dfg_credit *budget, const struct dfg_transfer_key *key)
{
	struct dfg_wait *before = NULL, *wait = budget->held;
	for (; wait && !dfg_transfer_key_equal(&wait->key, key); wait = wait->next)
		before = wait;
	if (!wait)
		return NULL;
	if (before)
		before->next = wait->next;
	else
		budget->held = wait->next;
	if (budget->last_held == wait)
		budget->last_held = before;
	wait->next = NULL;
	return wait;
}

struct dfg_wait *dfg_credit_wanted(struct dfg_credit *budget, const struct dfg_transfer_key *key)
{
	struct dfg_wait *wait = take_held(budget, key);
	if (wait) {
		budget->sent += wait->cost;
		return wait;
	}
	if (!budget->stalled || add_wanted(budget, key))
		return NULL;
	budget->open = true;
	return release_held(budget);
}

bool dfg_credit_tells(struct dfg_credit *budget)
{
	if (budget->taken - budget->said < (budget->limit + 3) / 4)
		return false;
	budget->said = budget->taken;
	budget->peer_stalled = false;
	return true;
}

void dfg_credit_forget(struct dfg_credit *budget, uint64_t before_step)
{
	for (size_t i = 0; i < budget->wanted_count;)
		if (budget->wanted[i].step < before_step)
			budget->wanted[i] = budget->wanted[--budget->wanted_count];
		else
			i++;
}

struct dfg_wait *dfg_credit_give_up(struct dfg_credit *budget)
{
	struct dfg_wait *held = budget->held;
	budget->held = budget->last_held = NULL;
	budget->open = false;
	budget->stalled = false; /* sending STALLED may have failed: the next Send that is held back sends it again */
	return held;
}
