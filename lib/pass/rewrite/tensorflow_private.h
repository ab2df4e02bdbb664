#pragma once

#include "lib/graph/graph.h"

/* Steps of the pass `tensorflow`, each in a file of its own. */

/* DFG_DATA, naming the node, if no rewriting lets TensorFlow run the graph. */
DFG_MUST_CHECK struct dfg_err *dfg_tensorflow_refuse(const struct dfg_graph *graph);

/*
 * TensorFlow reads a reference variable without copying it, and updates it in place. A value that was read before an
 * update therefore changes under its later readers. Reads of variables that a step updates become copies (DeepCopy), which
 * the update waits for as it waited for the read. *out_any says whether the graph was changed; its nodes are then in no
 * order.
 */
DFG_MUST_CHECK struct dfg_err *dfg_tensorflow_copy_reads(
	struct dfg_graph *graph, struct dfg_arena *scratch, bool *out_any);
