#pragma once

#include "lib/base/err.h"
#include "lib/exec/session.h"
#include "lib/pass/grad/grad.h"

/* Options of `dfg test`. */
struct dfg_distributed;
struct dfg_test_options {
	struct dfg_session_options session;
	struct dfg_remat remat;              /* rematerialisation in the gradients that cases request */
	struct dfg_distributed *distributed; /* the workers that run the cases; NULL: local */
};

/* Runs the case in a directory (cases/README.md): NULL if it passed, else an error with the reason. */
DFG_MUST_CHECK struct dfg_err *dfg_test_case(const char *directory, const struct dfg_test_options *options);

/* Runs a case of an op, a line of tests/ops: as written, then in each other type that can represent its numbers. */
DFG_MUST_CHECK struct dfg_err *dfg_test_line(const char *text, const struct dfg_test_options *options);

/* Appends the tags of the case's case.json, one per line. */
struct dfg_text;
DFG_MUST_CHECK struct dfg_err *dfg_test_tags(const char *directory, struct dfg_text *out_tags);
