#include "lib/base/trial.h"
#include "tests/unit/test.h"

#include <signal.h>
#include <stdlib.h>

/* Foreign code in a child process: it may crash or never end, and changes nothing here. */

static void returns(void *number)
{
	++*(int *)number;
}

static void crashes(void *arg)
{
	(void)arg;
	abort();
}

static void loops(void *arg)
{
	(void)arg;
	for (volatile int i = 0;;)
		i = i ^ 1;
}

static void a_call_that_returns_changes_nothing(void **state)
{
	int number = 1;
	(void)state;
	succeeds(dfg_trial("code", "a reason", returns, &number, 1));
	assert_int_equal(number, 1);
}

static void a_crash_and_an_endless_loop_are_errors(void **state)
{
	(void)state;
	fails(dfg_trial("code", "a reason", crashes, NULL, 1), DFG_DATA, "code crashes (signal 6): a reason");
	fails(dfg_trial("code", "a reason", loops, NULL, 1), DFG_DATA, "code takes more than 1 s: a reason");
}

/* The signals that the process ignores or blocks are not those of the child. */
static void signals_of_the_process_do_not_matter(void **state)
{
	sigset_t all, before;
	(void)state;
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	signal(SIGPROF, SIG_IGN);
	struct dfg_err *err = dfg_trial("code", "a reason", loops, NULL, 1);
	signal(SIGPROF, SIG_DFL);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	fails(err, DFG_DATA, "takes more than 1 s");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_call_that_returns_changes_nothing),
		cmocka_unit_test(a_crash_and_an_endless_loop_are_errors),
		cmocka_unit_test(signals_of_the_process_do_not_matter),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
