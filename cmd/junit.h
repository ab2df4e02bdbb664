#pragma once

#include "lib/base/err.h"
#include "lib/base/text.h"

#include <stdbool.h>
#include <stdint.h>

/* Results of tests in the XML form of JUnit, as continuous integration reads it. A zeroed struct is empty. */
struct dfg_junit {
	struct dfg_text cases;
	uint32_t tests, failures;
	double seconds;
};

/* Adds a case of a group of cases; err NULL: it passed. */
void dfg_junit_add(
	struct dfg_junit *junit, const char *group, const char *name, double seconds, const struct dfg_err *err);

/* Writes the file. */
DFG_MUST_CHECK struct dfg_err *dfg_junit_write(const struct dfg_junit *junit, const char *path);
void dfg_junit_release(struct dfg_junit *junit);
