#pragma once

#include "formats/array.h"
#include "formats/graphdef.h"
#include "lib/base/float_mode.h"

/*
 * A checkpoint directory holds folders step-N, each with data.safetensors and manifest.json. A folder is created under
 * a temporary name; its data is written and synced, then the manifest (with a checksum of each tensor and of itself),
 * and then it is renamed. So a folder step-N is complete, whenever the process or the machine stops. The manifest of an
 * old checkpoint is removed first. N is written without leading zeros, and read with or without them.
 */
struct dfg_checkpoint {
	/* The order of samples of a training on files. */
	struct dfg_sample_order {
		bool known; /* false: not recorded by an older version */
		bool shuffled, drop_last;
		uint64_t batch, samples, seed; /* samples: 0 if not recorded; seed: 0 if not shuffled */
		uint64_t shards;               /* into which a batch is cut: 1 or more */
	} order;
	uint64_t step;                /* number of steps since the beginning of training */
	uint64_t epoch;               /* epoch of the next step, from 1 */
	uint64_t sample;              /* number of the next sample in that epoch, from 0 */
	bool mode_known;              /* whether `denormals` was recorded */
	enum dfg_denormals denormals; /* the mode of the run that wrote it */
	int64_t keep;                 /* --keep of the run that wrote it; 0: no limit; -1: not recorded */
	/* The best evaluation so far, if the run looks for one. */
	struct dfg_best {
		bool known;     /* false: none yet, or none is looked for */
		double value;   /* of its metric; finite */
		uint64_t step;  /* the last step before it */
		uint64_t since; /* evaluations after it; if it is not known, all */
	} best;
	struct dfg_arrays arrays;
};

/* The directory of a writer, which holds its lock. Zero-initialised: released. */
struct dfg_checkpoints {
	char *path;
	int lock;
	bool locked;
	bool
		replace; /* existing checkpoints are of another run, and are removed after the first one of this run is written */
	uint64_t keep;    /* number of newest checkpoints to keep; 0: all */
	uint64_t *spared; /* sorted steps of checkpoints that are never removed */
	size_t n_spared;
};

/*
 * Creates the directory if necessary and takes its lock: DFG_STOPPED if another process holds it. Removes partial files
 * of an interrupted writer.
 */
DFG_MUST_CHECK struct dfg_err *dfg_checkpoints_open(const char *path, struct dfg_checkpoints *out_checkpoints);
void dfg_checkpoints_release(struct dfg_checkpoints *checkpoints);

/*
 * Called before the first save: spares checkpoints that an earlier run with a larger limit has kept, which a resumed
 * run must not remove. They do not count against `keep`. Checkpoints without a recorded limit are spared if there are
 * more than `keep`.
 */
DFG_MUST_CHECK struct dfg_err *dfg_checkpoints_spare(struct dfg_checkpoints *checkpoints);

/*
 * DFG_NO_OUTPUT, naming the file, if a folder that a writer may remove contains a file that is not part of a
 * checkpoint. A missing directory is valid.
 */
DFG_MUST_CHECK struct dfg_err *dfg_checkpoints_check(const char *path);

/* Writes a checkpoint, then removes the oldest. After an error nothing of the new one remains. */
DFG_MUST_CHECK struct dfg_err *dfg_checkpoints_save(
	struct dfg_checkpoints *checkpoints, const struct dfg_checkpoint *checkpoint);

/* Whether the directory contains a checkpoint, complete or not. A missing directory has none. */
DFG_MUST_CHECK struct dfg_err *dfg_checkpoints_any(const char *path, bool *out_any);

/* The step of the newest checkpoint of a directory, which may be damaged; 0: there is none. */
DFG_MUST_CHECK struct dfg_err *dfg_checkpoints_newest(const char *path, uint64_t *out_step);

/* Whether path is the folder of one checkpoint, damaged or not, and not a directory of checkpoints. */
bool dfg_checkpoint_is(const char *path);

/*
 * Loads the newest complete checkpoint of a directory, with a note for each damaged one skipped; DFG_DATA if there is
 * none. If path is the folder of one checkpoint, loads only that one.
 */
DFG_MUST_CHECK struct dfg_err *dfg_checkpoint_load(
	const char *path, const struct dfg_notes *notes, struct dfg_checkpoint *out_checkpoint);
void dfg_checkpoint_release(struct dfg_checkpoint *checkpoint);
