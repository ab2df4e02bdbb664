#pragma once

#include "lib/exec/kernel/limits.h"
#include "lib/exec/kernel/services.h"
#include "lib/exec/linear/program_private.h"
#include "lib/exec/linear/saved_values.h"

/* A move between fixed places. */
struct fixed_move {
	void *to;
	const void *from;
};

/* What one step works in. */
struct activation {
	struct activation *next;
	struct program *program;
	const struct dfg_plan *plan;
	void *block;
	struct dfg_tensor *tensor;     /* by slot */
	struct dfg_tensor **at;        /* by use */
	void **data;                   /* by use: of what has a fixed place */
	struct fixed_move *fixed_move; /* by move */
	int32_t *chosen;               /* by predicate: the side */
	int64_t *iteration;            /* by loop */
	struct saved_values *saved;    /* by Save */
	size_t before, live;
	struct runner runner;
	struct watch watch;
	uint64_t dead_tokens, iterations, saves;
	uint32_t frames, peak_frames; /* loops that run */
	bool limited;                 /* they may not go on for ever */
};

/* activation.c. The slot as a step finds it. */
void dfg_activation_start_slot(struct activation *activation, uint32_t slot);

void dfg_activation_free(struct activation *activation);

/* interpreter.c: all that the program says. */
DFG_MUST_CHECK struct dfg_err *dfg_interpret(struct activation *activation);
