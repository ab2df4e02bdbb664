#pragma once

#include "lib/pass/grad/grad.h"

/*
 * Nodes that are alike have gradients that are alike. The first of a kind is made by its op's rule and leaves a stamp: the
 * nodes that were added, with their inputs as references to what the rule was given. The others are stamped: nothing is
 * evaluated, built or inferred again, and the graph comes out the same, to the byte.
 */
enum { DFG_SITE_REFS = 16, DFG_SITE_WORDS = 2 * DFG_SITE_REFS + 4, DFG_LATE_NAMES = 32 };

struct dfg_stamps {
	struct dfg_builder *builder;
	struct dfg_arena arena; /* keys, with the stamp behind each */
	struct dfg_map map;
	/* The last nodes' names are not in the graph's map yet: their slots are being fetched. */
	struct {
		uint32_t length, hash;
	} late[DFG_LATE_NAMES];
	uint32_t n_late;
};

/*
 * A place where a rule is applied: the edges it is given, and a key that is the same where its nodes would be, but for
 * these edges and the scope. words is 0 where no key can tell that.
 */
struct dfg_site {
	const char *scope; /* no node of the graph is in it, unless named AddN */
	uint32_t n_ref, words;
	struct dfg_edge ref[DFG_SITE_REFS];
	uint64_t key[DFG_SITE_WORDS];
};

/* Of the gradient of a node: its op's rule, and what the pass does with the results. */
void dfg_site_of(const struct dfg_gradient *node, struct dfg_site *out_site);

/* Stamps the nodes and sets node->dx. *out_done is false where there is no stamp for the site. */
DFG_MUST_CHECK struct dfg_err *dfg_gradient_memo_use(
	struct dfg_stamps *stamps, const struct dfg_site *site, struct dfg_gradient *node, bool *out_done);

/* Leaves a stamp of what was made at the site: the nodes from `first` on, and node->dx. */
DFG_MUST_CHECK struct dfg_err *dfg_gradient_memo_keep(
	struct dfg_stamps *stamps, const struct dfg_site *site, uint32_t first, const struct dfg_gradient *node);

/* Before anything else adds or looks for nodes. */
DFG_MUST_CHECK struct dfg_err *dfg_gradient_memos_settle(struct dfg_stamps *stamps);

void dfg_gradient_memos_release(struct dfg_stamps *stamps);
