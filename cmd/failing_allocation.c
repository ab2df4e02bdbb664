#include "cmd/cmd.h"

#include "lib/base/mem.h"

#include <stdlib.h>

/*
 * For the tests: with DFG_FAIL_ALLOCATION=N the N-th memory request (from 0) fails, with N+ also all later ones. In
 * each case the program must end with status 71, without leaks and without a partial file.
 */
void dfg_failing_allocation_install(void)
{
	static struct dfg_mem_failing failing;
	const char *text = getenv("DFG_FAIL_ALLOCATION");
	if (!text)
		return;
	char *end;
	long left = strtol(text, &end, 10);
	dfg_mem_failing_init(&failing, dfg_mem, left, *end == '+');
	unsetenv("DFG_FAIL_ALLOCATION"); /* workers started by this process are unaffected */
	dfg_mem = &failing.base;
}
