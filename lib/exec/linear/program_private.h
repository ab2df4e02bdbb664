#pragma once

#include "lib/exec/plan/schedule.h"

/*
 * A program is a plan with its schedule, worked out for feeds of certain shapes: which nodes still run, where their values
 * lie, when room is free again. It is made once and never written, so any number of steps may run it, each in an activation.
 *
 * Values whose size is known lie in one block, at offsets that were chosen so that it is small. The others, and those
 * that leave the step (fetches, new values of variables), have buffers that are counted. The iterations of a loop use the
 * same places, one after the other.
 */
enum opcode {
	INSTR_ROW,          /* elements of one shape, all in fixed places: the row is called, and nothing else */
	INSTR_BRANCH,       /* goes on at `to` where another side was chosen */
	INSTR_TEST,         /* sets a predicate by a bool in a fixed place */
	INSTR_COPY,         /* bytes from a fixed place to a fixed place */
	INSTR_CHECKED_ROW,  /* a row, and before it a condition that may refuse the elements */
	INSTR_ROW_INDIRECT, /* a row, but some place is found in the step */
	INSTR_ROW_NEW,      /* the same, and the output has a buffer of its own */
	INSTR_KERNEL,
	INSTR_VIEW,    /* the output is the input in another shape, wherever that lies in this step */
	INSTR_ALIAS,   /* the outputs are the inputs, which stay where they are; refs may be read */
	INSTR_COPY_IN, /* the elements of the input, wherever they are, go to a fixed place */
	INSTR_RETAIN,  /* the output is a reference of its own to the input's elements, or a copy of them */
	INSTR_INDEX,   /* the output is which input of a Merge lived */
	INSTR_SWITCH,  /* sets a predicate by a predicate */
	INSTR_SAVE,    /* see saved_values.h */
	INSTR_LOAD,
	INSTR_CLEAR,      /* all that a Save kept in this iteration */
	INSTR_LOOP_ENTER, /* of a loop: what enters is moved to its variables */
	INSTR_LOOP_BACK,  /* where the loop goes on: variables get their next values, and `to` is next */
	INSTR_NOP,
};

struct instruction {
	dfg_row_fn *row;
	const union dfg_value *attr;
	const struct plan_node *node; /* NULL: of a skip, and a loop's */
	int64_t n;                    /* elements of a row; bytes */
	uint32_t first;               /* in program->use: inputs, then outputs */
	uint32_t in_place;
	uint32_t first_release, n_release; /* in program->release: counted slots that nobody reads after it */
	uint32_t n_again;                  /* of these, those that each iteration of the loop makes anew: INSTR_LOOP_BACK */
	uint32_t to;                       /* instruction */
	uint32_t predicate, condition, loop; /* loop: that it is in; the one that it begins or ends */
	int32_t side;
	uint32_t first_move, n_move; /* in program->move */
	uint16_t n_in, n_out;
	uint8_t kind;
};

/* How a loop variable gets its value. */
enum move_kind { MOVE_BYTES, MOVE_COPY_IN, MOVE_SHARE, MOVE_TAKE };
struct move {
	uint32_t from, to; /* slots */
	size_t bytes;
	uint8_t kind;
};

struct program {
	struct program *next;
	struct dfg_plan *plan;
	struct dfg_arena arena;
	struct dfg_shape *feed; /* by feed; NULL: any */
	struct instruction *code;
	size_t *alive; /* by instruction: bytes of the block that are alive while it runs */
	uint32_t count;
	uint32_t *use, uses;
	uint32_t *fed, n_fed; /* uses of feeds that need to know the address before the step */
	struct move *move;
	uint32_t moves_made;
	size_t *saved; /* by Save: bytes of each value, where they are small and alike; else 0 */
	uint32_t *release;
	struct dfg_tensor *start; /* by slot: as a step finds it; data is an offset where in_block */
	bool *in_block;
	uint32_t *counted, n_counted; /* slots that may hold a reference; the final ones, first, until the step ends */
	uint32_t n_final;
	bool *moves;             /* by fetch: the reference goes to the caller */
	uint32_t *fetch;         /* by fetch: its slot */
	size_t block, live;      /* bytes, and the most of them that are alive at once */
	struct activation *idle; /* under the plan's lock */
};

/* emit.c */
DFG_MUST_CHECK struct dfg_err *dfg_program_make(
	struct dfg_plan *plan, const struct dfg_tensor *feeds, struct program **out_program);
void dfg_program_free(struct program *program);

/* offsets.c: an offset for each range, such that no two that are alive at the same time overlap; returns the bytes needed. */
struct live_range {
	size_t bytes, offset;
	uint32_t first, last;      /* alive from op first to op last, both included */
	struct live_range *vacant; /* dfg_pack's own */
};
DFG_MUST_CHECK struct dfg_err *dfg_pack(
	struct live_range *range, uint32_t count, struct dfg_arena *scratch, size_t *out_bytes, size_t *out_live);

/* activation.c: of a list of lines, all. */
void dfg_activations_free(struct activation *activation);
