#include "app/child.h"
#include "cmd/run_command.h"
#include "lib/base/folder.h"

#include <signal.h>
#include <time.h>

/* A signal that comes sooner after the first is the same: timeout(1) sends one to its command and one to their group. */
enum { SECOND_MS = 200 };

static volatile sig_atomic_t stopped;
static struct timespec when; /* `stopped` was set */

static bool is_the_same_signal(void)
{
	struct timespec now;
	clock_gettime(CLOCK_MONOTONIC, &now);
	return (now.tv_sec - when.tv_sec) * 1000 + (now.tv_nsec - when.tv_nsec) / 1000000 < SECOND_MS;
}

void dfg_clean_up(void)
{
	dfg_child_end();
	dfg_out_remove_all();
	dfg_folder_remove_all();
}

static void on_stop(int number)
{
	if (!stopped) {
		clock_gettime(CLOCK_MONOTONIC, &when);
		stopped = number;
		dfg_child_end();
		return;
	}
	if (is_the_same_signal())
		return;
	dfg_clean_up();
	signal(number, SIG_DFL);
	raise(number);
}

/* Signals that were ignored at program start, as under nohup, stay ignored. */
void dfg_stop_catch(void)
{
	static const int caught[] = {SIGINT, SIGTERM};
	for (int i = 0; i < 2; i++) {
		struct sigaction action = {.sa_handler = on_stop, .sa_flags = SA_RESTART}, old;
		if (!sigaction(caught[i], NULL, &old) && old.sa_handler != SIG_IGN)
			sigaction(caught[i], &action, NULL);
	}
}

int dfg_stop_signal(void)
{
	return stopped;
}
