#pragma once

#include "lib/base/pool.h"
#include "remote/http_links.h"
#include "remote/launch.h"
#include "remote/process.h"
#include "remote/shm.h"
#include "remote/ssh.h"

/* Inside of a launch: launch_start.c starts the workers, launch.c links them, watches them and ends them. */
enum { LINE_MOST = 1000, START_SECONDS = 20, LINK_SECONDS = 40, END_SECONDS = 3 };

/* A worker's process, and what it said. */
struct hand {
	struct dfg_launch *launch;
	uint32_t number;
	struct dfg_process process;  /* here, or */
	struct dfg_ssh_process *far; /* elsewhere */
	char line[LINE_MOST];        /* of its stderr, as far as it has come */
	size_t at;
	char last[200]; /* the last whole one */
	bool watched;
	pthread_t starter;
	bool starting;
	struct dfg_err *err; /* why it did not start */
};

struct dfg_launch {
	struct dfg_launch_options options;
	struct dfg_arena arena;
	pthread_mutex_t lock; /* of the arena, while workers start */
	char secret[DFG_SECRET_ROOM];
	struct dfg_coordinator *crew;
	struct dfg_http_links *hub;
	struct dfg_shm *shm;
	struct hand *hand; /* by worker, as the rest */
	struct dfg_peer *peer;
	struct dfg_link **link;
	uint32_t workers;
	pthread_t watcher;
	int wake[2]; /* a pipe that ends the watcher */
	bool watching;
	atomic_bool ending;
	uint64_t deadline; /* of the start, by dfg_now(); UINT64_MAX: none */
};

/* So many seconds, or those that are left before the deadline. */
double dfg_launch_seconds(const struct dfg_launch *launch, double most);

static inline const struct dfg_worker_host *dfg_launch_host(const struct dfg_launch *launch, uint32_t number)
{
	return &launch->options.hosts->worker[number];
}

/* Tells whoever wants to know. err is borrowed, NULL where it is none. */
void dfg_launch_reached(
	const struct dfg_launch *launch, uint32_t worker, enum dfg_launch_stage stage, const struct dfg_err *err);

bool dfg_launch_all_local(const struct dfg_launch *launch);

/* Where all are processes here, nothing of the network is opened. */
bool dfg_launch_only_memory(const struct dfg_launch *launch);

/* All at once; who has not started is the error. */
DFG_MUST_CHECK struct dfg_err *dfg_launch_start(struct dfg_launch *launch);
