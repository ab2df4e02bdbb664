#pragma once

#include "lib/exec/kernel/limits.h"
#include "lib/exec/kernel/services.h"
#include "lib/exec/linear/program_private.h"
#include "lib/exec/linear/saved_values.h"
#include "lib/exec/plan/profile.h"

/* A copy between two fixed addresses. */
struct fixed_move {
	void *to;
	const void *from;
};

/* The memory and state of one step that runs a program. */
struct activation {
	struct activation *next;
	struct program *program;
	const struct dfg_plan *plan;
	void *block;
	struct dfg_tensor *tensor;     /* by slot */
	struct dfg_tensor **at;        /* by use */
	void **data;                   /* address of a value in the block, by use */
	struct fixed_move *fixed_move; /* by move; both addresses of a MOVE_BYTES */
	int32_t *chosen;               /* side that was chosen, by predicate */
	int64_t *iteration;            /* number of the running iteration, by loop */
	struct saved_values *saved;    /* by Save */
	size_t before, live;
	struct runner runner;
	struct watch watch;
	uint64_t dead_tokens, iterations, saves;
	uint32_t frames, peak_frames;    /* loops that are running */
	bool limited;                    /* the number of iterations is limited */
	struct profile_counter *counter; /* by instruction; NULL: no profile is asked for */
	uint64_t counted;                /* ticks that they hold together */
};

/* activation.c: resets the slot's tensor to its state at the start of a step. */
void dfg_activation_start_slot(struct activation *activation, uint32_t slot);

void dfg_activation_free(struct activation *activation);

/* interpreter.c: runs all instructions of the program. */
DFG_MUST_CHECK struct dfg_err *dfg_interpret(struct activation *activation);

/* profile.c: counts a call of the instruction. */
void dfg_count(struct activation *activation, const struct instruction *instruction, uint64_t ticks, double operations);

/* group_run.c */
DFG_MUST_CHECK struct dfg_err *dfg_group_run(struct activation *activation, const struct instruction *instruction);
