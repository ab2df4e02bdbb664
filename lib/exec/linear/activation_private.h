#pragma once

#include "lib/exec/kernel/limits.h"
#include "lib/exec/kernel/services.h"
#include "lib/exec/linear/program_private.h"
#include "lib/exec/linear/saved_values.h"

/* A move between fixed places. */
struct shift {
	void *to;
	const void *from;
};

/* What one step works in. */
struct line {
	struct line *next;
	struct layout *layout;
	const struct dfg_plan *plan;
	void *block;
	struct dfg_tensor *tensor; /* by slot */
	struct dfg_tensor **at;    /* by use */
	void **data;               /* by use: of what has a fixed place */
	struct shift *shift;       /* by move */
	int32_t *chosen;           /* by flag: the side */
	int64_t *iteration;        /* by loop */
	struct saved *saved;       /* by Save */
	size_t before, live;
	struct runner runner;
	struct watch watch;
	uint64_t dead_tokens, iterations, saves;
	uint32_t frames, peak_frames; /* loops that run */
	bool limited;                 /* they may not go on for ever */
};

/* activation.c. The slot as a step finds it. */
void dfg_line_start(struct line *line, uint32_t slot);

void dfg_line_free(struct line *line);

/* interpreter.c: all that the layout says. */
DFG_MUST_CHECK struct dfg_err *dfg_ops_run(struct line *line);
