#pragma once

#include "app/distributed.h"
#include "lib/base/pool.h"

#include <pthread.h>

/*
 * Progress of each worker during launch: on a terminal a table that is removed when all are ready, and remains if one
 * fails; with -v a line for each stage of each worker. Zero-initialised: shows nothing.
 */
struct dfg_launch_table {
	const struct dfg_hosts *hosts;
	struct dfg_launch_row {
		enum dfg_launch_stage stage;
		double after; /* seconds from the start until this stage */
		char words[200];
	} * row;
	double began;
	pthread_mutex_t lock; /* protects the rows */
	pthread_t painter;
	bool painting;
	struct dfg_event event; /* set when the launch is over */
	atomic_bool over;
};

/* Callbacks that fill the table. */
struct dfg_launch_watch dfg_launch_table_watch(struct dfg_launch_table *table);
