#pragma once

#include "remote/hosts.h"

/*
 * Parameter servers: the hosts whose job is "ps". Each runs one process, which is one worker of each replica: its lanes,
 * which share the variables.
 */

/* The number of entries that are not parameter servers. */
uint32_t dfg_hosts_workers(const struct dfg_hosts *hosts);

/*
 * Makes the list of workers of these replicas: for each of them its workers, in the order of the hosts, then a lane of
 * each parameter server. DFG_DATA if no host is a server, or if the other workers cannot be divided evenly.
 */
DFG_MUST_CHECK struct dfg_err *dfg_hosts_make_lanes(
	const struct dfg_hosts *hosts, uint32_t replicas, struct dfg_arena *arena, struct dfg_hosts *out_hosts);

/* The number of workers in such a list that are lanes. */
uint32_t dfg_hosts_lanes(const struct dfg_hosts *hosts);
