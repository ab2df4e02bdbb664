#pragma once

#include "lib/base/err.h"
#include "lib/exec/session.h"
#include "lib/pass/grad/grad.h"

/* What `dfg test` runs with, from its options. */
struct dfg_distributed;
struct dfg_test_options {
	struct dfg_session_options session;
	struct dfg_remat remat;              /* of the gradients that cases ask for */
	struct dfg_distributed *distributed; /* the workers that run the cases; NULL: they run here */
};

/* Runs the case in a directory (cases/README.md): NULL is passed, an error says why not. */
DFG_MUST_CHECK struct dfg_err *dfg_test_case(const char *directory, const struct dfg_test_options *options);

/* Runs a case of an op, a line of tests/ops: as it is written, then in every other type that can hold its numbers. */
DFG_MUST_CHECK struct dfg_err *dfg_test_line(const char *text, const struct dfg_test_options *options);

/* The tags of the case, from its case.json, a line each. */
struct dfg_text;
DFG_MUST_CHECK struct dfg_err *dfg_test_tags(const char *directory, struct dfg_text *out_tags);
