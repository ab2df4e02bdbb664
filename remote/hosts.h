#pragma once

#include "lib/base/arena.h"
#include "lib/base/err.h"

#include <stdbool.h>
#include <stdint.h>

/*
 * Who takes part in a run: `--hosts` is the path of a file, or the list itself, as in "alpha,beta,local:2". In a file
 *
 *     alpha                                   # an entry of the ssh config
 *     beta   ssh=me@10.0.0.7:2222 slots=2     # two workers there
 *     gamma  job=ps addr=10.1.0.9 dfg=~/bin/dfg
 *     local:2                                 # two processes here, without ssh
 *
 * A worker's number is its position: w0, w1, ... All strings live in the caller's arena.
 */
enum { DFG_HOSTS_MOST = 1024 /* workers */ };

/* One worker, and where it runs. */
struct dfg_worker_host {
	const char *label;  /* "w0" */
	const char *name;   /* for people: "alpha" as the list has it; the label of a local one */
	const char *device; /* "/job:worker/task:0/device:CPU:0" */
	const char *job;
	uint32_t task;    /* position among those of its job */
	uint32_t machine; /* number of the first worker that runs on the same machine */
	bool local;       /* a process here; what follows is then NULL and 0, dfg apart */
	const char *user; /* NULL: as the ssh config says */
	const char *ssh;  /* what ssh is asked for: ADDR of ssh=, else the name */
	const char *addr; /* where the other workers reach it; NULL: where ssh does */
	const char *dfg;  /* the program there; NULL: "dfg" of its PATH, or this program where it is local */
	uint16_t port;    /* of ssh; 0: as the ssh config says */

	/* Where it listens for tensors, local ones too; NULL: on all addresses (local: as few as do), on any port. */
	const char *tcp;   /* an IPv6 address without brackets */
	const char *ports; /* "7000", "7000-7010" */
};

struct dfg_hosts {
	struct dfg_worker_host *worker;
	uint32_t count;
	const char *const *device; /* of each worker, for dfg_place_options */
};

/*
 * DFG_CONFIG for a fault of a file, with FILE:LINE and the nearest right spelling; the same in a list is DFG_USAGE.
 * DFG_NO_INPUT where the file is not there.
 */
DFG_MUST_CHECK struct dfg_err *dfg_hosts_read(const char *hosts, struct dfg_arena *arena, struct dfg_hosts *out_hosts);

/* The same of what is a list, whatever files there are. */
DFG_MUST_CHECK struct dfg_err *dfg_hosts_read_list(
	const char *list, struct dfg_arena *arena, struct dfg_hosts *out_hosts);

/* The first worker with that name or label; DFG_DATA, with the nearest, where there is none. */
DFG_MUST_CHECK struct dfg_err *dfg_hosts_find(const struct dfg_hosts *hosts, const char *name, uint32_t *out_number);

/* Whether it may name a host or a user: of [A-Za-z0-9._-], and no option. */
bool dfg_host_name_valid(const char *name, size_t length);

/* Whether it is an IPv6 address, without brackets: hexadecimal digits and colons. */
bool dfg_host_address_valid(const char *address, size_t length);
