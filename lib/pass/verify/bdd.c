#include "lib/pass/verify/bdd.h"

#include "lib/base/hash.h"
#include "lib/base/mem.h"

enum { SLOTS_LEAST = 1024, STEPS_MOST = 64 /* variables of a path in a message */ };

/* A conjunction in progress; the side where the variable is true is computed first. */
struct dfg_conjoining {
	uint32_t a, b, variable, high;
	int stage;
};

static uint32_t mix(struct dfg_hash_key key, uint32_t a, uint32_t b, uint32_t c)
{
	uint64_t hash = dfg_hash_word(key, key.seed, (uint64_t)a << 32 | b);
	return (uint32_t)dfg_hash_word(key, hash, c);
}

static uint32_t variable_of(const struct dfg_bdd *logic, uint32_t f)
{
	return logic->choice[f / 2].variable;
}

static uint32_t side(const struct dfg_bdd *logic, uint32_t f, uint32_t variable, bool high)
{
	const struct dfg_choice *choice = &logic->choice[f / 2];
	if (choice->variable != variable)
		return f;
	return (high ? choice->high : choice->low) ^ (f & 1);
}

static void put_slot(struct dfg_bdd *logic, uint32_t number)
{
	const struct dfg_choice *choice = &logic->choice[number];
	uint32_t h = mix(dfg_hash_key, choice->variable, choice->high, choice->low);
	while (logic->slot[h & (logic->slots - 1)])
		h++;
	logic->slot[h & (logic->slots - 1)] = number;
}

/* Drops the cache of conjunctions: its entries can be computed again. */
static bool grow(struct dfg_bdd *logic)
{
	size_t slots = logic->slots ? logic->slots * 2 : SLOTS_LEAST;
	uint32_t *slot = dfg_zeros(slots, sizeof *slot);
	struct dfg_conjunction *known = dfg_zeros(slots, sizeof *known);
	if (!slot || !known) {
		dfg_free(slot);
		dfg_free(known);
		return false;
	}
	dfg_free(logic->slot);
	dfg_free(logic->known);
	logic->slot = slot;
	logic->known = known;
	logic->slots = slots;
	for (uint32_t i = 1; i < logic->count; i++)
		put_slot(logic, i);
	return true;
}

static bool reserve(struct dfg_bdd *logic)
{
	if (logic->count * 2 >= logic->slots && !grow(logic))
		return false;
	if (!dfg_reserve(&logic->choice, &logic->capacity, logic->count + 2, sizeof *logic->choice))
		return false;
	if (!logic->count)
		logic->count = 1;
	return true;
}

static uint32_t make_decision(struct dfg_bdd *logic, uint32_t variable, uint32_t high, uint32_t low)
{
	if (high == low)
		return high;
	if (!reserve(logic)) {
		logic->no_memory = true;
		return DFG_LOST;
	}
	uint32_t negated = high & 1, h;
	struct dfg_choice wanted = {variable, high ^ negated, low ^ negated};
	for (h = mix(dfg_hash_key, variable, wanted.high, wanted.low); logic->slot[h & (logic->slots - 1)]; h++) {
		uint32_t number = logic->slot[h & (logic->slots - 1)];
		const struct dfg_choice *choice = &logic->choice[number];
		if (choice->variable == variable && choice->high == wanted.high && choice->low == wanted.low)
			return number * 2 + negated;
	}
	uint32_t number = (uint32_t)logic->count++;
	logic->slot[h & (logic->slots - 1)] = number;
	logic->choice[number] = wanted;
	return number * 2 + negated;
}

uint32_t dfg_bdd_variable(struct dfg_bdd *logic, uint32_t variable)
{
	return make_decision(logic, variable, DFG_ALWAYS, DFG_NEVER);
}

/* Conjunctions that are decided without looking at the diagrams. */
static bool is_plain(uint32_t a, uint32_t b, uint32_t *out)
{
	if (a == DFG_LOST || b == DFG_LOST)
		*out = DFG_LOST;
	else if (a == DFG_NEVER || b == DFG_NEVER || a == (b ^ 1))
		*out = DFG_NEVER;
	else if (a == DFG_ALWAYS || a == b)
		*out = b;
	else if (b == DFG_ALWAYS)
		*out = a;
	else
		return false;
	return true;
}

/* The hash key is fixed: a cache miss costs budget, and the budget used must not differ from run to run. */
static struct dfg_conjunction *known_of(struct dfg_bdd *logic, uint32_t a, uint32_t b)
{
	const struct dfg_hash_key key = {UINT64_C(0x9e3779b97f4a7c15), UINT64_C(0xc2b2ae3d27d4eb4f)};
	return &logic->known[mix(key, a, b, 0) & (logic->slots - 1)];
}

static bool is_known(struct dfg_bdd *logic, uint32_t a, uint32_t b, uint32_t *out)
{
	const struct dfg_conjunction *known = known_of(logic, a, b);
	*out = known->both;
	return known->a == a && known->b == b;
}

static bool push_conjunction(struct dfg_bdd *logic, size_t depth, uint32_t a, uint32_t b)
{
	if (!dfg_reserve(&logic->stack, &logic->stack_capacity, depth + 1, sizeof *logic->stack)) {
		logic->no_memory = true;
		return false;
	}
	logic->stack[depth] = a < b ? (struct dfg_conjoining){.a = a, .b = b} : (struct dfg_conjoining){.a = b, .b = a};
	return true;
}

/*
 * Advances the conjunction at the top of the stack by one advance_conjunction: to one side, then to the other, then to the join.
 * Returns false when it is finished.
 */
static bool advance_conjunction(struct dfg_bdd *logic, size_t depth, uint32_t *value, uint32_t *out_a, uint32_t *out_b)
{
	struct dfg_conjoining *top = &logic->stack[depth - 1];
	if (top->stage == 0) {
		if (is_plain(top->a, top->b, value) || is_known(logic, top->a, top->b, value))
			return false;
		uint32_t a = variable_of(logic, top->a), b = variable_of(logic, top->b);
		top->variable = a > b ? a : b;
	} else if (top->stage == 1) {
		top->high = *value;
	} else {
		*value = top->high == DFG_LOST || *value == DFG_LOST ? DFG_LOST
															 : make_decision(logic, top->variable, top->high, *value);
		if (*value != DFG_LOST)
			*known_of(logic, top->a, top->b) = (struct dfg_conjunction){top->a, top->b, *value};
		return false;
	}
	*out_a = side(logic, top->a, top->variable, top->stage == 0);
	*out_b = side(logic, top->b, top->variable, top->stage == 0);
	top->stage++;
	return true;
}

uint32_t dfg_bdd_and(struct dfg_bdd *logic, uint32_t a, uint32_t b)
{
	uint32_t value = DFG_LOST;
	size_t depth = 0;
	if (is_plain(a, b, &value))
		return value;
	if (!push_conjunction(logic, depth++, a, b))
		return DFG_LOST;
	while (depth) {
		if (!logic->budget)
			return DFG_LOST;
		logic->budget--;
		if (!advance_conjunction(logic, depth, &value, &a, &b))
			depth--;
		else if (!push_conjunction(logic, depth++, a, b))
			return DFG_LOST;
	}
	return value;
}

int dfg_bdd_case(struct dfg_bdd *logic, uint32_t where, uint32_t given, uint32_t *out, int most)
{
	int count = 0;
	for (int i = 0; i < STEPS_MOST && where > DFG_NEVER && where != DFG_LOST && count < most; i++) {
		uint32_t variable = variable_of(logic, where), high = side(logic, where, variable, true);
		bool value = high != DFG_NEVER;
		uint32_t says = dfg_bdd_variable(logic, variable);
		if (dfg_bdd_and(logic, given, value ? dfg_bdd_not(says) : says) != DFG_NEVER)
			out[count++] = variable * 2 + value;
		where = value ? high : side(logic, where, variable, false);
	}
	return count;
}

void dfg_bdd_release(struct dfg_bdd *logic)
{
	dfg_free(logic->choice);
	dfg_free(logic->slot);
	dfg_free(logic->known);
	dfg_free(logic->stack);
	*logic = (struct dfg_bdd){0};
}
