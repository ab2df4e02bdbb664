#include "cmd/cmd.h"

#include "lib/base/mem.h"

#include <stdlib.h>

/*
 * For the tests: DFG_FAIL_ALLOCATION=N lets the N-th request for memory fail (from 0), N+ that one and all that follow.
 * Whatever fails, the program must end with status 71, leak nothing, and leave no file half written.
 */
void dfg_fault_install(void)
{
	static struct dfg_mem_failing failing;
	const char *text = getenv("DFG_FAIL_ALLOCATION");
	if (!text)
		return;
	char *end;
	long left = strtol(text, &end, 10);
	dfg_mem_failing_init(&failing, dfg_mem, left, *end == '+');
	unsetenv("DFG_FAIL_ALLOCATION"); /* workers that this starts are not meant */
	dfg_mem = &failing.base;
}
