#pragma once

#include "lib/base/text.h"
#include "lib/pass/partition/partition.h"

/*
 * What a step of a graph that was cut costs, before it runs: messages and bytes of each directed link, and the memory of each
 * host. Amounts are formulas: sums of terms, a term being a number times sizes that are not known (`b`, the batch, is the
 * leading dimension where that is not known, every other one has a letter of its own) times n(loop), the iterations of a loop in
 * the whole step, those of an inner loop over all of the outer one's. Branches count as taken.
 *
 *     2 + 2*n(outer) messages, 4*b + 8*n(outer) bytes
 */
struct dfg_cost_term {
	uint64_t times;
	const char *sizes; /* "b", "b*c"; "" for none */
	const char *loop;  /* "outer/inner"; "" at the root */
};
struct dfg_amount {
	struct dfg_cost_term *term; /* the root's first */
	size_t count, room;
};
struct dfg_cost_link {
	uint32_t from, to;
	struct dfg_amount messages, bytes;
};

/*
 * An estimate: variables and constants, and what is alive at once of the values that the host makes, at its largest; sizes
 * that are not known, but for the batch, count as 32. What a loop keeps for its gradient grows with n and is not in it.
 */
struct dfg_cost_host {
	struct dfg_amount parameters, activations; /* bytes */
};
struct dfg_cost_letter {
	const char *name, *tensor;
	int axis; /* its dimension that is meant; -1: all its elements; -2: the bytes of its strings */
};
struct dfg_cost_estimate {
	struct dfg_amount messages, bytes; /* of all links */
	struct dfg_cost_link *link;        /* that have any, by from and to */
	size_t links, links_room;
	struct dfg_cost_host *host;
	uint32_t hosts;
	struct dfg_cost_letter *letter; /* but for `b` */
	size_t letters, letters_room;
};

/* graph and placed are what was cut into the parts; what only sets variables at first is left out. Strings come from the arena; the rest is released. */
DFG_MUST_CHECK struct dfg_err *dfg_cost_estimate(const struct dfg_graph *graph, const struct dfg_facts *facts,
	const struct dfg_placed *placed, const struct dfg_parts *parts, struct dfg_arena *arena,
	struct dfg_cost_estimate *out_bill);

/* Of the links alone, the same, as for a plan that was read back: graph is its parts joined. */
DFG_MUST_CHECK struct dfg_err *dfg_cost_step(const struct dfg_graph *graph, const struct dfg_parts *parts,
	struct dfg_arena *arena, struct dfg_cost_estimate *out_bill);

/* Of all these transfers. */
DFG_MUST_CHECK struct dfg_err *dfg_cost_transfers(const struct dfg_transfer *transfer, uint32_t transfers,
	struct dfg_arena *arena, struct dfg_cost_estimate *out_bill);
void dfg_cost_release(struct dfg_cost_estimate *bill);

void dfg_amount_text(const struct dfg_amount *amount, struct dfg_text *out_text); /* "4*b + 8*n(outer)"; "0" */

/* The amount where every size that is not known, and every n, is what is given. */
double dfg_amount_at(const struct dfg_amount *amount, double size, double trips);

/* "c is dimension 1 of 'x:0'" */
void dfg_cost_letter_text(const struct dfg_cost_letter *letter, struct dfg_text *out_text);

/* All of it, for reading: the sum, a line a link, a line a host, what the letters mean. */
void dfg_cost_text(const struct dfg_cost_estimate *bill, struct dfg_text *out_text);
