#pragma once

#include "app/blocks.h"
#include "app/distributed.h"
#include "app/replication.h"
#include "cmd/cmd.h"

/* Options that several commands share: the rows, and the values that they set. */
struct dfg_shared_options {
	struct dfg_execution execution;
	struct dfg_placement placement;
	struct dfg_distribution distribution;
	int64_t restarts;
	struct dfg_given_launch {
		bool transport, lease, restarts;
	} given; /* whether the option is on the command line */
	struct dfg_replication replication;
	struct dfg_block_choice blocks;
	const char *device; /* as the user names it; NULL: cpu */
};
extern struct dfg_shared_options dfg_shared;
extern const struct dfg_opt dfg_execution_options[];
extern const struct dfg_opt dfg_placement_options[]; /* --hosts, --place */
extern const struct dfg_opt dfg_launch_options[]; /* those of distribution that a plan can hold, but for --restarts */
extern const struct dfg_opt dfg_distribution_options[]; /* in addition to those of placement */
extern const struct dfg_opt dfg_restarts_options[];
extern const struct dfg_opt dfg_replication_options[];
extern const struct dfg_opt dfg_device_options[]; /* --device */
extern const struct dfg_opt dfg_blocks_options[]; /* --blocks and those of parallel loops */

/* DFG_USAGE if an option is given that requires --hosts, without it. */
DFG_MUST_CHECK struct dfg_err *dfg_check_hosts_given(void);

/*
 * DFG_USAGE for options of parallel loops that do not fit each other or those of replicas; sets whether workers divide the
 * loops.
 */
DFG_MUST_CHECK struct dfg_err *dfg_check_blocks(void);

/*
 * The devices that --device names. DFG_USAGE for an option that cannot be used with a device: `other`, if that is not NULL,
 * and --hosts, --blocks, --place and --swap. Lives in the arena.
 */
DFG_MUST_CHECK struct dfg_err *dfg_find_devices(
	const char *other, struct dfg_arena *arena, struct dfg_devices *out_devices);

/* Enforces --memory-limit from now on. */
void dfg_limit_memory(void);

/* If the error is that --memory-limit was exceeded, adds the limit and the graph's name. Takes err. */
DFG_MUST_CHECK struct dfg_err *dfg_name_memory_limit(struct dfg_err *err, const char *path);
