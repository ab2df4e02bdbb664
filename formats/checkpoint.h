#pragma once

#include "formats/array.h"
#include "formats/graphdef.h"

/*
 * A checkpoint directory holds folders step-N, each with data.safetensors and manifest.json. A folder is made under
 * another name, its data written and synced, then the manifest (with the checksum of every tensor and its own), and only
 * then renamed: what is named step-N is whole, whenever the process or the machine stops. Old ones go manifest first.
 * N is written without leading zeros, and read with them.
 */
struct dfg_checkpoint {
	/* What gives a step its samples, where they are of files. */
	struct dfg_sample_order {
		bool known; /* an older checkpoint does not tell */
		bool shuffled, drop_last;
		uint64_t batch, samples, seed; /* samples: 0 where it does not tell; seed: 0 of what is not shuffled */
	} order;
	uint64_t step;   /* done since the beginning of training */
	uint64_t epoch;  /* from 1: that the next step belongs to */
	uint64_t sample; /* of that epoch: the next one to see */
	int64_t keep;    /* the limit that the run had that made it; 0: none; -1: an older checkpoint does not tell */
	struct dfg_arrays arrays;
};

/* Whoever writes holds the directory; a zeroed struct is released. */
struct dfg_checkpoints {
	char *path;
	int lock;
	bool locked;
	bool replace;     /* what is there belongs to another run: it goes once the first of this run is there */
	uint64_t keep;    /* this many of the newest; 0: all */
	uint64_t *spared; /* steps of those that are never removed, in order */
	size_t n_spared;
};

/*
 * Makes the directory where it is not there, and takes its lock: DFG_STOPPED where another process has it. Removes what
 * an interrupted writer left.
 */
DFG_MUST_CHECK struct dfg_err *dfg_checkpoints_open(const char *path, struct dfg_checkpoints *out_checkpoints);
void dfg_checkpoints_release(struct dfg_checkpoints *checkpoints);

/*
 * Before the first is saved: spares those that an earlier run with a larger limit than `keep` has kept, which a run that
 * continues it must not remove; they do not count against `keep`. Those that do not tell their limit are spared where they
 * are more than `keep`.
 */
DFG_MUST_CHECK struct dfg_err *dfg_checkpoints_spare(struct dfg_checkpoints *checkpoints);

/*
 * Whether all that a writer may remove there holds nothing but checkpoints' files; else DFG_NO_OUTPUT names the first that
 * is another's. A directory that is not there is fine.
 */
DFG_MUST_CHECK struct dfg_err *dfg_checkpoints_check(const char *path);

/* Commits one, then lets go of the oldest. After an error nothing of it is left. */
DFG_MUST_CHECK struct dfg_err *dfg_checkpoints_save(
	struct dfg_checkpoints *checkpoints, const struct dfg_checkpoint *checkpoint);

/* Whether there is one, whole or not. A directory that is not there holds none. */
DFG_MUST_CHECK struct dfg_err *dfg_checkpoints_any(const char *path, bool *out_any);

/* Whether path is the folder of one checkpoint, damaged or not, rather than a directory of them. */
bool dfg_checkpoint_is(const char *path);

/*
 * Of a directory, the newest that is whole; older ones after damage, which is a note. DFG_DATA where there is none. Of the
 * folder of one checkpoint, that one and no other.
 */
DFG_MUST_CHECK struct dfg_err *dfg_checkpoint_load(
	const char *path, const struct dfg_notes *notes, struct dfg_checkpoint *out_checkpoint);
void dfg_checkpoint_release(struct dfg_checkpoint *checkpoint);
