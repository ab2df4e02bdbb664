#pragma once

#include "lib/base/map.h"
#include "remote/hosts.h"

/*
 * Gives the workers [first, first + count), which do not run, hosts of a list that was read again: each keeps its own if the
 * list still has it; the others take, in the order of the list, hosts of their job that no other worker of the run has. If
 * all workers of the run are local, only local ones are taken, since the others listen on no network. *out_without: the first
 * worker for which the list has no host, DFG_NONE if each has one; such workers keep theirs. Strings are borrowed from the
 * list.
 */
DFG_MUST_CHECK struct dfg_err *dfg_hosts_replace(
	struct dfg_hosts *hosts, uint32_t first, uint32_t count, const struct dfg_hosts *listed, uint32_t *out_without);
