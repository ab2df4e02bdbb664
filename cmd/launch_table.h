#pragma once

#include "lib/base/pool.h"
#include "remote/launch.h"

#include <pthread.h>

/*
 * How far each worker has come while a run is launched: on a terminal a table that is gone when all are ready, and stays
 * where one did not come; with -v a line for each step of each. A zeroed one shows nothing.
 */
struct dfg_launch_table {
	const struct dfg_hosts *hosts;
	struct dfg_launch_row {
		enum dfg_launch_stage stage;
		double after; /* seconds, when it came there */
		char words[200];
	} * row;
	double began;
	pthread_mutex_t lock; /* of the rows */
	pthread_t painter;
	bool painting;
	struct dfg_event event; /* it is over */
	atomic_bool over;
};
void dfg_launch_table_begin(struct dfg_launch_table *table, const struct dfg_hosts *hosts);
void dfg_launch_table_end(struct dfg_launch_table *table, bool failed);

/* As of dfg_launch_options.reached. */
void dfg_launch_table_reached(
	struct dfg_launch_table *table, uint32_t worker, enum dfg_launch_stage stage, const char *words);
void dfg_launch_table_all(struct dfg_launch_table *table, enum dfg_launch_stage stage);
