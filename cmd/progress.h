#pragma once

#include "app/run.h"

/* Progress of a training: on a terminal a line that is updated, elsewhere a line every ten seconds. */
struct dfg_progress {
	bool terminal;
	double since, last;
	uint64_t first;         /* steps done before this run */
	uint64_t steps, epochs; /* total number to do; 0: unknown */
};

/* Callbacks that show the progress of a run over data; INT and TERM stop it (dfg_stop_catch). */
struct dfg_data_watch dfg_progress_watch(struct dfg_progress *progress);
