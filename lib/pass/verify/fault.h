#pragma once

#include "lib/base/err.h"

/* The faults found so far, joined and owned by the collector; at most `left` more are accepted. */
struct dfg_faults {
	struct dfg_err *err;
	long left;
};

/* Adds err (NULL adds nothing) and takes ownership. An out-of-memory error is put first and ends the collection. */
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
