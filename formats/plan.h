#pragma once

#include "formats/graphdef.h"
#include "lib/base/sha256.h"
#include "lib/base/text.h"
#include "lib/pass/verify/fault.h"
#include "lib/pass/partition/partition.h"

/*
 * A plan is a folder: a graph for each device, in canonical form, named w0.pb, w1.pb, ... by the device's place in the list
 * of hosts, and manifest.json, which has a line for each device and each transfer:
 *
 *     {"format":"dfg plan","version":1,"devices":[
 *     {"name":"/job:worker/task:0/device:CPU:0","file":"w0.pb","nodes":12,"sha256":"9f86d0..."}
 *     ],"transfers":[
 *     {"number":0,"tensor":"fc1","from":"w0","to":"w1","dtype":"f32","shape":[null,10],"loop":"","depth":0,"each":"step"}
 *     ]}
 *
 * `each` says when it happens: once a step, or, in a loop, each turn (n + 1 times) or each pivot (n times). The same parts
 * are the same bytes, and nothing else is in the folder.
 */
struct dfg_plan_folder {
	struct dfg_parts parts; /* each graph's source is its file */
	const char **device;    /* full names, by part */
	struct dfg_blob *blob;  /* the files, by part, which the graphs borrow from */
	uint8_t (*digest)[DFG_SHA256];
	uint64_t *nodes;      /* how many each part has, by the manifest */
	size_t transfer_room; /* of parts.transfer, where the plan was read: its own then */
	struct dfg_arena arena;
};

/* Whether there is a folder of that name with a manifest.json in it, or a first part, that is not a checkpoint: open() says what is wrong with that. */
bool dfg_plan_folder_is(const char *path);

/* Whether a plan may have a file of that name. */
bool dfg_plan_folder_has(const char *name);

/*
 * Opens a plan, and believes nothing of it: DFG_DATA, naming the file, where a part is not what the manifest says, by its
 * hash, or is no graph. What is wrong with its transfers goes to faults; where that is NULL, the first is an error too.
 * A part that the manifest does not name is noted. A zeroed plan is closed.
 */
DFG_MUST_CHECK struct dfg_err *dfg_plan_folder_open(const char *path, const struct dfg_graph_options *options,
	struct dfg_faults *faults, struct dfg_plan_folder *out_plan);
void dfg_plan_folder_close(struct dfg_plan_folder *plan);

/* Writes it in the place of the plan that is there, if one is; DFG_NO_OUTPUT where anything else is. */
DFG_MUST_CHECK struct dfg_err *dfg_plan_folder_save(
	const char *path, bool if_changed, const struct dfg_parts *parts, const char *const *device);

/* How often a transfer happens: "step", "turn" or "pivot". */
const char *dfg_plan_folder_each(const struct dfg_transfer *transfer);

/* What is wrong between the parts: whether each transfer has its _Send and its _Recv, and these are what it says. */
void dfg_plan_folder_check(const struct dfg_plan_folder *plan, struct dfg_faults *faults);

/* The parts as one graph, which borrows from the plan and lives in its arena: dfg_parts_join. */
DFG_MUST_CHECK struct dfg_err *dfg_plan_folder_join(struct dfg_plan_folder *plan, struct dfg_graph *out_graph);

/* The manifest. What reads it takes names, numbers and transfers from it, and leaves the graphs empty. */
DFG_MUST_CHECK struct dfg_err *dfg_plan_folder_print(const struct dfg_plan_folder *plan, struct dfg_out *out);
DFG_MUST_CHECK struct dfg_err *dfg_plan_folder_read(const void *text, size_t length, struct dfg_plan_folder *plan);
