#pragma once

#include "app/run.h"
#include "formats/checkpoint.h"

/* --checkpoint and its options. */
struct dfg_checkpointing {
	struct dfg_checkpoints checkpoints;
	bool wanted;
	uint64_t every_steps; /* 0: after each epoch, or by time */
	double every_seconds;
	double last;        /* time of the last checkpoint */
	uint64_t last_step; /* step of the last checkpoint made or resumed from */
};

/* Opens the directory; with --resume, sets the variables and *at, except its order, from the newest checkpoint. */
DFG_MUST_CHECK struct dfg_err *dfg_checkpointing_open(
	struct dfg_run *run, struct dfg_checkpointing *out_checkpointing, struct dfg_checkpoint *at);
bool dfg_checkpointing_is_due(const struct dfg_checkpointing *checkpointing, uint64_t step, bool epoch_ended);
DFG_MUST_CHECK struct dfg_err *dfg_checkpointing_commit(
	struct dfg_checkpointing *checkpointing, const struct dfg_run *run, const struct dfg_checkpoint *at);
void dfg_checkpointing_close(struct dfg_checkpointing *checkpointing);
