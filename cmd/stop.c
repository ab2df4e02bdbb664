#include "app/child.h"
#include "cmd/run_command.h"
#include "lib/base/folder.h"

#include <signal.h>

static volatile sig_atomic_t stopped;

void dfg_clean_up(void)
{
	dfg_child_end();
	dfg_out_remove_all();
	dfg_folder_remove_all();
}

static void on_stop(int number)
{
	if (!stopped) {
		stopped = number;
		dfg_child_end();
		return;
	}
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
