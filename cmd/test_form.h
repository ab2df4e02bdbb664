#pragma once

#include "formats/json.h"
#include "lib/base/err.h"

/*
 * The form of a case.json (dfg-test(1)): its members are known, of the right kind, and there is something to run. A word
 * that is misspelt would otherwise be a check that is never made. DFG_DATA.
 */
DFG_MUST_CHECK struct dfg_err *dfg_test_form(const struct dfg_json *json);
