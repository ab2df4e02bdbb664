#pragma once

#include "app/run.h"
#include "formats/checkpoint.h"

/*
 * Checkpoints of a run, in the directory of its option `checkpoint`; without it nothing is written. A checkpoint holds the
 * variables and the position in the data.
 */
struct dfg_checkpointing {
	struct dfg_checkpoints checkpoints;
	bool wanted;
	uint64_t every_steps; /* 0: after each epoch, or by time */
	double every_seconds; /* 0: after each epoch, or by steps */
	double last;          /* time of the last checkpoint, by dfg_seconds() */
	uint64_t last_step;   /* step of the last checkpoint made or resumed from */
};

/*
 * Opens the directory; to resume, sets the variables and *at, except its order, from the newest checkpoint. at->order is
 * that of this run: DFG_DATA if the checkpoint is within an epoch of another order. DFG_NO_OUTPUT if the directory holds
 * checkpoints and the run neither resumes nor replaces them.
 */
DFG_MUST_CHECK struct dfg_err *dfg_checkpointing_open(
	struct dfg_run *run, struct dfg_checkpointing *out_checkpointing, struct dfg_checkpoint *at);

/* Whether a checkpoint is due after that step. */
bool dfg_checkpointing_is_due(const struct dfg_checkpointing *checkpointing, uint64_t step, bool epoch_ended);

/* Writes a checkpoint of the variables, at the position `at`, and removes those that are not to be kept. */
DFG_MUST_CHECK struct dfg_err *dfg_checkpointing_commit(
	struct dfg_checkpointing *checkpointing, const struct dfg_run *run, const struct dfg_checkpoint *at);
void dfg_checkpointing_close(struct dfg_checkpointing *checkpointing);
