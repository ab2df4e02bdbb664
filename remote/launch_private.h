#pragma once

#include "lib/base/pool.h"
#include "remote/derived_key.h"
#include "remote/http_links.h"
#include "remote/launch.h"
#include "remote/process.h"
#include "remote/shm.h"
#include "remote/ssh.h"

/* Internals of a launch: launch_start.c starts the workers, launch.c links them, watches them and ends them. */
enum { LINE_MOST = 1000, START_SECONDS = 20, LINK_SECONDS = 40, END_SECONDS = 3 };

/* A worker's process and its output. */
struct worker_process {
	struct dfg_launch *launch;
	uint32_t number;
	struct dfg_process process;  /* of a worker of this machine */
	struct dfg_ssh_process *far; /* of a worker of another machine */
	char line[LINE_MOST];        /* the unfinished line of its stderr */
	size_t at;
	char last[200]; /* its last complete line of stderr */
	atomic_bool watched;
	pthread_t reviver; /* starts it again, where `revives` */
	bool revives;
	_Atomic int revival; /* enum dfg_revival */
	pthread_t starter;
	bool starting;
	char products[8];    /* how its matrix products are rounded, as it said before it was linked; "": it said nothing */
	struct dfg_err *err; /* the reason why it did not start */
};

struct dfg_launch {
	struct dfg_launch_options options;
	struct dfg_arena arena;
	pthread_mutex_t lock; /* guards the arena while workers start */
	char secret[DFG_SECRET_SIZE];
	struct dfg_secret_key key; /* of which the keys of attached workers are made; zero: there are none */
	struct dfg_coordinator *coordinator;
	struct dfg_http_links *http;
	struct dfg_shm *shm;
	struct worker_process *worker_process; /* by worker, as the arrays below */
	struct dfg_peer *peer;
	struct dfg_link **link;
	uint32_t workers;
	bool hosts_changed; /* the list of hosts has changed since the start */
	bool all_local;     /* all workers are processes of this machine, from the start to the end */
	pthread_t watcher;
	int wake[2]; /* a pipe whose closing ends the watcher */
	bool watching;
	struct dfg_event ended; /* signalled when the watcher has seen the end of a process */
	atomic_bool ending;
	uint64_t deadline; /* of the start, by dfg_now(); UINT64_MAX: none */
};

/* `most` seconds, or fewer where the deadline is nearer. */
double dfg_launch_seconds(const struct dfg_launch *launch, double most);

static inline const struct dfg_worker_host *dfg_launch_host(const struct dfg_launch *launch, uint32_t number)
{
	return &launch->options.hosts->worker[number];
}

/* The worker whose process this worker is in: another one, if it is a lane of that one's parameter server. */
static inline uint32_t dfg_launch_process_of(const struct dfg_launch *launch, uint32_t number)
{
	const struct dfg_host_lanes *lanes = &dfg_launch_host(launch, number)->lanes;
	return number - lanes->number * lanes->stride;
}

/* Calls options.reached. err is borrowed; NULL: no failure. */
void dfg_launch_reached(
	const struct dfg_launch *launch, uint32_t worker, enum dfg_launch_stage stage, const struct dfg_err *err);

/* Whether all workers are processes of this machine linked by shared memory: then no network socket is opened. */
bool dfg_launch_only_memory(const struct dfg_launch *launch);

/* launch_revive.c: the functions of dfg_coordinator_options that start lost workers again; arg is the launch. */
bool dfg_launch_revive(void *arg, uint32_t first, uint32_t count);
bool dfg_launch_may_revive(void *arg);
enum dfg_revival dfg_launch_revived(void *arg, uint32_t worker);
struct dfg_err *dfg_launch_relink(void *arg, uint32_t worker, struct dfg_link **out_link);

/* Waits for workers that are being started. */
void dfg_launch_end_revivals(struct dfg_launch *launch);

/* Warns of workers whose matrix products are rounded in another way. */
void dfg_launch_warn_of_products(const struct dfg_launch *launch);

/* Starts one worker, and says where it listens. */
DFG_MUST_CHECK struct dfg_err *dfg_launch_start_worker(struct worker_process *worker_process);

/* A copy in the launch's arena; NULL: no memory. Any thread. */
const char *dfg_launch_copy_text(struct dfg_launch *launch, const char *text);

/* Takes the line in which a worker says where it, and its lanes, listen. */
DFG_MUST_CHECK struct dfg_err *dfg_launch_read_hello(struct dfg_launch *launch, uint32_t number, const char *line);

/* launch_attach.c: waits until a worker that runs already listens, and sets its address and key, and those of its lanes. */
DFG_MUST_CHECK struct dfg_err *dfg_launch_attach(struct dfg_launch *launch, uint32_t number);

/* Waits until such a worker, which was told that the run ends, has closed its link: there is no process to wait for. */
void dfg_launch_await_end(const struct dfg_launch *launch, uint32_t number, uint64_t until);

/* Adds to the error of a link how an attached worker must have been started. Takes err. */
struct dfg_err *dfg_launch_not_attached(const struct dfg_launch *launch, uint32_t number, struct dfg_err *err);

/* Local workers of a run with other machines are reached at an address of this one. */
DFG_MUST_CHECK struct dfg_err *dfg_launch_publish_local(struct dfg_launch *launch);

/* Makes the launcher's link to a worker, which is lost after `patience` seconds without an answer. */
DFG_MUST_CHECK struct dfg_err *dfg_launch_link(struct dfg_launch *launch, uint32_t worker, double patience);

/* Starts all workers in parallel; the error names those that did not start. */
DFG_MUST_CHECK struct dfg_err *dfg_launch_start(struct dfg_launch *launch);
