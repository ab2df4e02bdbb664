#include "cmd/run_command.h"

#include "lib/base/folder.h"

#include <signal.h>

static volatile sig_atomic_t stopped;

static void on_stop(int number)
{
	if (!stopped) {
		stopped = number;
		return;
	}
	dfg_out_remove_all();
	dfg_folder_remove_all();
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
