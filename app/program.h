#pragma once

#include "lib/lang/lang.h"

/*
 * Builds the program at path as dfg_lang_build does. Of a program that tests `training`, which options->define does not set,
 * both variants are built (lib/pass/rewrite/variants.h), of which the one for inference is in use. A variable that depends on
 * `training` prevents that: the graph is for inference, and options->warn is told.
 */
DFG_MUST_CHECK struct dfg_err *dfg_program_build(
	const char *path, const struct dfg_lang_options *options, struct dfg_graph *graph);
