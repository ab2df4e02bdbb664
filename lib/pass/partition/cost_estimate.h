#pragma once

#include "lib/base/text.h"
#include "lib/pass/partition/partition.h"

/*
 * The communication of one step of a partitioned graph, known before it runs: messages and bytes of each directed link,
 * and the memory of each host. An amount is a sum of terms; a term is a number times unknown sizes times n(loop). `b`
 * is the batch, the leading dimension where that is unknown; every other unknown dimension has a letter of its own.
 * n(loop) is the number of iterations in the whole step: for an inner loop, over all iterations of the outer one.
 * Branches count as taken.
 *
 * 2 + 2*n(outer) messages, 4*b + 8*n(outer) bytes
 */
struct dfg_cost_term {
	uint64_t times;
	const char *sizes; /* "b", "b*c"; "" for none; in the arena */
	const char *loop;  /* "outer/inner"; "" at the root */
};
struct dfg_amount {
	struct dfg_cost_term *term; /* sorted; the terms at the root come first */
	size_t count, capacity;
};
struct dfg_cost_link {
	uint32_t from, to;
	struct dfg_amount messages, bytes;
};

/*
 * An estimate of the memory of a host: variables and constants, and the peak of the values that the host computes in a
 * step. Unknown sizes other than the batch count as 32. Values saved by a loop for its gradient grow with n and are not
 * included.
 */
struct dfg_cost_host {
	struct dfg_amount parameters, activations; /* bytes */
};
struct dfg_cost_letter {
	const char *name, *tensor;
	int axis; /* the dimension that the letter stands for; -1: the number of elements; -2: the bytes of the strings */
};
struct dfg_cost_estimate {
	struct dfg_amount messages, bytes; /* totals over all links */
	struct dfg_cost_link *link;        /* links with traffic, by from and to */
	size_t links, links_capacity;
	struct dfg_cost_host *host;
	uint32_t hosts;
	struct dfg_cost_letter *letter; /* unknown sizes other than `b` */
	size_t letters, letters_capacity;
};

/*
 * graph, facts and placed are those that were partitioned into the parts; transfers that only initialise variables are
 * not counted. Strings are in the arena; dfg_cost_release frees the remainder. DFG_MEMORY is the only error.
 */
DFG_MUST_CHECK struct dfg_err *dfg_cost_estimate(const struct dfg_graph *graph, const struct dfg_facts *facts,
	const struct dfg_placed *placed, const struct dfg_parts *parts, struct dfg_arena *arena,
	struct dfg_cost_estimate *out_estimate);

/* The same for the links alone, for a plan that was read back: graph is its parts joined. */
DFG_MUST_CHECK struct dfg_err *dfg_cost_step(const struct dfg_graph *graph, const struct dfg_parts *parts,
	struct dfg_arena *arena, struct dfg_cost_estimate *out_estimate);

/* The same for the given transfers. */
DFG_MUST_CHECK struct dfg_err *dfg_cost_transfers(const struct dfg_transfer *transfer, uint32_t transfers,
	struct dfg_arena *arena, struct dfg_cost_estimate *out_estimate);
void dfg_cost_release(struct dfg_cost_estimate *estimate);

void dfg_amount_text(const struct dfg_amount *amount, struct dfg_text *out_text); /* "4*b + 8*n(outer)"; "0" */

/* The value of the amount in which every unknown size is `size` and every n is `iterations`. */
double dfg_amount_at(const struct dfg_amount *amount, double size, double iterations);

/* "c is dimension 1 of 'x:0'" */
void dfg_cost_letter_text(const struct dfg_cost_letter *letter, struct dfg_text *out_text);

/* A report: the total, a line for each link, a line for each host, and the meaning of the letters. */
void dfg_cost_text(const struct dfg_cost_estimate *estimate, struct dfg_text *out_text);
