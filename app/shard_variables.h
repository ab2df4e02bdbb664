#pragma once

#include "app/model.h"
#include "app/names.h"
#include "app/variables.h"

/*
 * --shard-variable 'PATTERN=K[,mod|div]': divides variables of the model into parts (lib/pass/rewrite/shard_variable.h), and
 * brings its facts up to date. DFG_USAGE for a malformed word; DFG_DATA if nothing matches, or a variable cannot be divided.
 */
DFG_MUST_CHECK struct dfg_err *dfg_shard_model(const struct dfg_words_list *words, struct dfg_model *model);

/*
 * Files have a variable that is divided whole, under its own name. The value of the whole one, from its parts, of which
 * variable `i` is the first; *out_set is false unless all parts are set.
 */
DFG_MUST_CHECK struct dfg_err *dfg_shard_read_whole(const struct dfg_model *model,
	const struct dfg_variables *variables, uint32_t i, struct dfg_tensor *out_tensor, bool *out_set);

/* The rows of the whole variable's value that a part has. DFG_DATA if the value does not have the rows of the whole one. */
struct dfg_row_part;
DFG_MUST_CHECK struct dfg_err *dfg_shard_take_rows(
	const struct dfg_row_part *part, const struct dfg_tensor *whole, struct dfg_tensor *out_tensor);
