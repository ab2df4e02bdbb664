#pragma once

#include "lib/base/err.h"

/* Faults met so far, joined; `left` more are wanted. */
struct dfg_faults {
	struct dfg_err *err;
	long left;
};

/* Takes err, which may be NULL. Out of memory comes first, and nothing after it. */
static inline void dfg_fault(struct dfg_faults *faults, struct dfg_err *err)
{
	if (!err)
		return;
	if (faults->left <= 0) {
		dfg_err_free(err);
		return;
	}
	faults->left--;
	if (err->code == DFG_MEMORY) {
		faults->err = dfg_err_join(err, faults->err);
		faults->left = 0;
	} else {
		faults->err = dfg_err_join(faults->err, err);
	}
}
