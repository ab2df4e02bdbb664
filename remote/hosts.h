#pragma once

#include "lib/base/arena.h"
#include "lib/base/err.h"

#include <stdbool.h>
#include <stdint.h>

/*
 * The hosts of a run: `--hosts` is the path of a file, or the list itself, as in "alpha,beta,local:2". In a file
 *
 *     alpha                                   # an entry of the ssh config
 *     beta   ssh=me@10.0.0.7:2222 slots=2     # two workers there
 *     gamma  job=ps addr=10.1.0.9 dfg=~/bin/dfg
 *     local:2                                 # two processes of this machine, without ssh
 *
 * A worker's number is its position: w0, w1, ... All strings live in the caller's arena.
 */
enum { DFG_HOSTS_MOST = 1024 /* workers */ };

/* A process that is several workers, with numbers that differ by `stride`. */
struct dfg_host_lanes {
	uint32_t count;  /* of the process; 0: the process is one worker */
	uint32_t number; /* of this worker among them; worker 0 has the process */
	uint32_t stride;
};

/* One worker, and where it runs. */
struct dfg_worker_host {
	const char *label;  /* "w0" */
	uint32_t entry;     /* its position in the hosts list, which `label` has */
	const char *name;   /* for messages: "alpha" as in the list; the label of a local worker */
	const char *device; /* "/job:worker/task:0/device:CPU:0" */
	const char *job;
	uint32_t task;    /* position among the workers of its job */
	uint32_t machine; /* number of the first worker that runs on the same machine */
	bool local;       /* a process of this machine; the fields below are then NULL and 0, except dfg */
	const char *user; /* NULL: from the ssh config */
	const char *ssh;  /* the host that ssh connects to: ADDR of ssh=, else the name */
	const char *addr; /* the address at which the other workers reach it; NULL: the one that ssh connects to */
	const char *dfg;  /* the path of the program; NULL: "dfg" in the PATH there, or this program where it is local */
	uint16_t port;    /* of ssh; 0: from the ssh config */

	/*
	 * The address and port where it listens for tensors, local ones too; NULL: all addresses (local: only those
	 * needed), any port.
	 */
	const char *tcp;   /* an IPv6 address without brackets */
	const char *ports; /* "7000", "7000-7010" */
	bool
		attached; /* it has been started by someone else, and listens at `tcp` and `ports`; with lanes, each at the next port. Or it is a
				   rank of a job, whose `tcp` is NULL */
	struct dfg_host_lanes lanes;
};

struct dfg_hosts {
	struct dfg_worker_host *worker;
	uint32_t count;
	const char *const *device; /* the device of each worker, for dfg_place_options */
};

/*
 * DFG_CONFIG for an error in a file, with FILE:LINE and the nearest valid spelling; DFG_USAGE for one in a list.
 * DFG_NO_INPUT where the file does not exist.
 */
DFG_MUST_CHECK struct dfg_err *dfg_hosts_read(const char *hosts, struct dfg_arena *arena, struct dfg_hosts *out_hosts);

/* The same where the workers at tcp=ADDR:PORT run already: ADDR may also be a name or a loopback address. */
DFG_MUST_CHECK struct dfg_err *dfg_hosts_read_attached(
	const char *hosts, struct dfg_arena *arena, struct dfg_hosts *out_hosts);

/* The same for a list, even where a file has that name. */
DFG_MUST_CHECK struct dfg_err *dfg_hosts_read_list(
	const char *list, struct dfg_arena *arena, struct dfg_hosts *out_hosts);

/* The first worker with that name or label; DFG_DATA, with the nearest name, where there is none. */
DFG_MUST_CHECK struct dfg_err *dfg_hosts_find(const struct dfg_hosts *hosts, const char *name, uint32_t *out_number);

/* Sets `machine` of each worker from its name. */
void dfg_hosts_find_machines(struct dfg_hosts *hosts);

/* Whether the text is a valid name of a host or user: characters [A-Za-z0-9._-], and not an option. */
bool dfg_host_name_valid(const char *name, size_t length);

/* Whether the text is an IPv6 address, without brackets: hexadecimal digits and colons. */
bool dfg_host_address_valid(const char *address, size_t length);
