#include "tests/unit/test.h"

#include "lib/base/build_id.h"

#include <stdio.h>

/* Which builds may work together; that a program knows its own is seen by tests/cli/other-build.sh. */

static void builds_of_one_processor_must_be_equal(void **state)
{
	(void)state;
	assert_true(dfg_build_ids_agree("x86_64-0123", "x86_64-0123"));
	assert_false(dfg_build_ids_agree("x86_64-0123", "x86_64-0124"));
	assert_false(dfg_build_ids_agree("x86_64-0123", "x86_64-012"));
	assert_true(dfg_build_ids_agree("x86_64-0123", "aarch64-9999")); /* no program is for both */
	assert_false(dfg_build_ids_agree("x86_64-0123", "x86_64"));
	assert_true(dfg_build_ids_agree("", "x86_64-0123"));
	assert_true(dfg_build_ids_agree("x86_64-0123", ""));
}

static void an_error_names_both(void **state)
{
	(void)state;
	char other[64];
	const char *own = dfg_build_id();
	succeeds(dfg_build_check(own));
	if (!*own)
		return; /* a linker without the note */
	snprintf(other, sizeof other, "%s", own);
	other[strlen(other) - 1] ^= 1;
	fails(dfg_build_check(other), DFG_PROTOCOL, own);
	fails(dfg_build_check(other), DFG_PROTOCOL, other);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(builds_of_one_processor_must_be_equal),
		cmocka_unit_test(an_error_names_both),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
