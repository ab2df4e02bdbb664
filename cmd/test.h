#pragma once

#include "lib/base/err.h"
#include "lib/exec/session.h"

/* What `dfg test` runs with, from its options. */
struct dfg_test_options {
	struct dfg_session_options session;
};

/* Runs the case in a directory (cases/README.md): NULL is passed, an error says why not. */
DFG_MUST_CHECK struct dfg_err *dfg_test_case(const char *directory, const struct dfg_test_options *options);

/* Whether the case has one of the tags; reads its case.json. Tags are separated by '\n' in out_tags. */
struct dfg_text;
DFG_MUST_CHECK struct dfg_err *dfg_test_tags(const char *directory, struct dfg_text *out_tags);
