#pragma once

#include "formats/graphdef.h"
#include "lib/base/sha256.h"
#include "lib/base/text.h"
#include "lib/pass/verify/fault.h"
#include "lib/pass/partition/partition.h"

/* How a run of a plan starts its workers unless the user says otherwise: options of dfg partition. 0: not given. */
struct dfg_plan_launch {
	char transport[16];
	double lease; /* seconds */
	uint32_t restarts;
	bool push;
};

/*
 * A plan is a folder: a graph for each device, in canonical form, named w0.pb, w1.pb, ... by the device's position in the list
 * of hosts, and manifest.json, which has a line for each device and each transfer:
 *
 *     {"format":"dfg plan","version":1,"devices":[
 *     {"name":"/job:worker/task:0/device:CPU:0","file":"w0.pb","nodes":12,"sha256":"9f86d0..."}
 *     ],"transfers":[
 *     {"number":0,"tensor":"fc1","from":"w0","to":"w1","dtype":"f32","shape":[null,10],"loop":"","depth":0,"each":"step"}
 *     ]}
 *
 * A plan of parallel loops in blocks, which any number of workers up to that of the blocks run, has one device, version 3, and
 * "blocks" before the devices. The plan of a replica of a batch that is cut into shards has version 2, and "shards" and "buckets", the number of its
 * reductions, before the devices.
 *
 * Any of them may have, before the devices, the options of struct dfg_plan_launch that were given to dfg partition, as
 *
 *     "launch":{"transport":"shm","lease":5,"restarts":2,"push":true},
 *
 * `each` is the frequency: "step", or in a loop of n iterations "turn" (n + 1 times) or "pivot" (n times). Equal parts
 * have equal bytes, and the folder contains no other files.
 */
struct dfg_plan_folder {
	struct dfg_parts parts; /* parts; the source of each graph is its file */
	const char **device;    /* full device names, by part */
	struct dfg_blob *blob;  /* the files by part, from which the graphs borrow */
	uint8_t (*digest)[DFG_SHA256];
	uint32_t shards;  /* of a batch, at most DFG_SHARDS_MOST; 1: it is not cut */
	uint32_t blocks;  /* of its parallel loops, which the workers divide; 0: they do not */
	uint32_t buckets; /* number of nodes that contribute to a reduction */
	struct dfg_plan_launch launch;
	uint64_t *nodes;          /* number of nodes of each part in the manifest */
	size_t transfer_capacity; /* allocated entries of parts.transfer if the plan was read and owns it */
	struct dfg_arena arena;
};

/*
 * Whether path is a folder with a manifest.json or a first part, and not a checkpoint; dfg_plan_folder_open() reports
 * its faults.
 */
bool dfg_plan_folder_is(const char *path);

/* Whether a plan may contain a file of that name. */
bool dfg_plan_folder_has(const char *name);

/*
 * Opens a plan without trusting it: DFG_DATA, naming the file, if a part differs from the manifest by its hash, or is
 * not a graph. Faults of its transfers are added to `faults`; if that is NULL, the first one is the error. Parts that
 * the manifest does not list are noted. Zero-initialised: closed.
 */
DFG_MUST_CHECK struct dfg_err *dfg_plan_folder_open(const char *path, const struct dfg_graph_options *options,
	struct dfg_faults *faults, struct dfg_plan_folder *out_plan);
void dfg_plan_folder_close(struct dfg_plan_folder *plan);

/* From the manifest: the number of parts that are not on parameter servers, and of shards. */
DFG_MUST_CHECK struct dfg_err *dfg_plan_folder_size(const char *path, uint32_t *out_workers, uint32_t *out_shards);

/* The number of blocks of a plan, from its manifest. */
DFG_MUST_CHECK struct dfg_err *dfg_plan_folder_blocks(const char *path, uint32_t *out_blocks);

/* The options of a plan's launch, from its manifest. */
DFG_MUST_CHECK struct dfg_err *dfg_plan_folder_launch(const char *path, struct dfg_plan_launch *out_launch);

/*
 * Writes a plan and replaces the plan that is there; DFG_NO_OUTPUT if the path is something else. shards: 1 or more; blocks: 0
 * or as above; launch: NULL if no option was given.
 */
DFG_MUST_CHECK struct dfg_err *dfg_plan_folder_save(const char *path, bool if_changed, const struct dfg_parts *parts,
	const char *const *device, uint32_t shards, uint32_t blocks, const struct dfg_plan_launch *launch);

/* Whether any option was given, and those that were, as a JSON object. */
struct dfg_json_out;
bool dfg_plan_launch_is_given(const struct dfg_plan_launch *launch);
void dfg_plan_launch_json(const struct dfg_plan_launch *launch, struct dfg_json_out *json);

/* How often a transfer happens: "step", "turn" or "pivot". */
const char *dfg_plan_folder_each(const struct dfg_transfer *transfer);

/* Adds the faults of the transfers: a missing _Send or _Recv, or one that differs from the manifest. */
void dfg_plan_folder_check(const struct dfg_plan_folder *plan, struct dfg_faults *faults);

/* Joins the parts into one graph, which borrows from the plan and lives in its arena: dfg_parts_join. */
DFG_MUST_CHECK struct dfg_err *dfg_plan_folder_join(struct dfg_plan_folder *plan, struct dfg_graph *out_graph);

/* Prints and reads the manifest. Reading sets names, numbers and transfers, and leaves the graphs empty. */
DFG_MUST_CHECK struct dfg_err *dfg_plan_folder_print(const struct dfg_plan_folder *plan, struct dfg_out *out);
DFG_MUST_CHECK struct dfg_err *dfg_plan_folder_read(const void *text, size_t length, struct dfg_plan_folder *plan);
