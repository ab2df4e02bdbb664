#pragma once

#include "app/names.h"
#include "app/report.h"
#include "lib/base/text.h"
#include "lib/pass/rewrite/keep.h"

/*
 * Changes of a graph by name, as `dfg opt` makes them before its passes: in the order of the members, each by names that the
 * graph has then (lib/pass/rewrite/surgery.h, freeze.h).
 */
struct dfg_surgery {
	bool freeze;                   /* variables become constants; requires `load` and something to keep */
	struct dfg_words_list load;    /* array files and checkpoints with their values, of which later ones win */
	struct dfg_words_list map;     /* OLD=NEW: patterns by which these arrays are renamed */
	struct dfg_words_list thaw;    /* patterns of constants that become variables */
	struct dfg_words_list replace; /* OLD=NEW: tensors */
	struct dfg_words_list remove;  /* patterns of nodes */
	struct dfg_words_list rename;  /* OLD=NEW: patterns of nodes */
	struct dfg_words_list set;     /* PATTERN:ATTRIBUTE=VALUE */
	struct dfg_words_list device;  /* PATTERN=DEVICE */
};

/* Whether anything is to be changed. */
bool dfg_surgery_any(const struct dfg_surgery *surgery);

/* Changes the graph, which verify accepts. Lines about the changes are added to `text`, notes go to the report. */
DFG_MUST_CHECK struct dfg_err *dfg_surgery_apply(const struct dfg_surgery *surgery, struct dfg_graph *graph,
	struct dfg_keep *keep, struct dfg_arena *arena, const struct dfg_report *report, struct dfg_text *text);
