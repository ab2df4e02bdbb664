#pragma once

#include "lib/graph/facts.h"

/*
 * Whether requests can share a step: the rows of the inputs, along axis 0, are a batch, and each row of an output depends
 * on the same row of the inputs alone, with the same bits whatever the number of rows. Proved node by node by the rules of
 * the ops (lib/graph/op.h, `rows`). A reduction over the batch, a normalisation by its statistics, a random op, a state
 * that is written, a loop or branch that the batch decides, and a value that depends on the number of rows are refused.
 */
enum dfg_row_kind {
	DFG_ROWS_NONE, /* the same value for every request */
	DFG_ROWS_EACH, /* a row for each row of the batch */
	DFG_ROWS_MIXED,
};

struct dfg_row_verdict {
	enum dfg_row_kind kind;
	char why[256]; /* of MIXED: "node 'm' (Mean): its axis is the batch" */
};

/*
 * Judges the outputs in a step that is fed `in`. facts: of all nodes, from dfg_verify. out_verdict has an entry for each
 * output.
 */
DFG_MUST_CHECK struct dfg_err *dfg_row_independence(const struct dfg_graph *graph, struct dfg_facts *facts,
	const struct dfg_edge *in, uint32_t n_in, const struct dfg_edge *out, uint32_t n_out,
	struct dfg_row_verdict *out_verdict);
