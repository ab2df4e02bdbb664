#pragma once

#include "lib/pass/grad/grad.h"

/*
 * Memo of gradients: equal nodes have equal gradients. The gradient of the first is made by its op's rule and recorded
 * as a memo: the nodes added, with their inputs as references to the rule's arguments. For the others the memo is
 * replayed without evaluating the rule or inferring types; the resulting graph is identical to the byte. Rules that look at
 * more than the key tells, such as those of arrays, make stateful nodes, of which no memo is made.
 *
 * Without it the gradient of a chain of 10^6 nodes takes four times as long (`make bench`, grad of a chain).
 */
enum { DFG_SITE_REFS = 16, DFG_SITE_WORDS = DFG_SITE_REFS + 2, DFG_LATE_NAMES = 32 };

struct dfg_gradient_memos {
	struct dfg_builder *builder;
	struct dfg_arena arena; /* keys, each followed by its memo */
	struct dfg_map map;
	/* Names of the latest nodes that are not yet in the graph's map, because their slots are being prefetched. */
	struct {
		uint32_t length, hash;
	} late[DFG_LATE_NAMES];
	uint32_t n_late;
};

/*
 * One application of a rule: its argument edges, and a key that is equal where the rule would make equal nodes, apart
 * from the edges and the scope. words is 0 if no key can tell.
 */
struct dfg_site {
	const char *scope; /* no node of the graph is in this scope, except ones named AddN */
	uint32_t n_ref, words;
	struct dfg_edge ref[DFG_SITE_REFS];
	uint64_t key[DFG_SITE_WORDS];
};

/* The site of a node's gradient: its op's rule and what the pass does with the results. */
void dfg_site_of(const struct dfg_gradient *node, struct dfg_site *out_site);

/* Replays the memo and sets node->dx. *out_done is false if there is no memo for the site. */
DFG_MUST_CHECK struct dfg_err *dfg_gradient_memo_use(
	struct dfg_gradient_memos *memos, const struct dfg_site *site, struct dfg_gradient *node, bool *out_done);

/* Records a memo of what was made at the site: the nodes from `first` on, and node->dx. */
DFG_MUST_CHECK struct dfg_err *dfg_gradient_memo_keep(
	struct dfg_gradient_memos *memos, const struct dfg_site *site, uint32_t first, const struct dfg_gradient *node);

/* Must be called before anything else adds or finds nodes. */
DFG_MUST_CHECK struct dfg_err *dfg_gradient_memos_settle(struct dfg_gradient_memos *memos);

void dfg_gradient_memos_release(struct dfg_gradient_memos *memos);
