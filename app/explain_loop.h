#pragma once

#include "formats/json.h"
#include "lib/base/text.h"
#include "lib/pass/parallel/dependences.h"

/*
 * One parallel loop in three lines: its coordinates; each variable's accesses and distance vectors; the plan. Lines after
 * the first are indented. with_order: the first says ordered or unordered, as those of plans do.
 */
void dfg_explain_loop_text(const struct dfg_loop_dependences *loop, bool with_order, struct dfg_text *text);

/* The same as an object. */
void dfg_explain_loop_json(
	const struct dfg_graph *graph, const struct dfg_loop_dependences *loop, struct dfg_json_out *json);
