#pragma once

#include "formats/json.h"
#include "lib/base/err.h"

/*
 * Checks the form of a case.json (dfg-test(1)): all members are known and of the right kind, and there is something to
 * run, so that a misspelt member does not silently disable a check. DFG_DATA.
 */
DFG_MUST_CHECK struct dfg_err *dfg_test_form(const struct dfg_json *json);
