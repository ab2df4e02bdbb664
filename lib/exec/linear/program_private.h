#pragma once

#include "lib/exec/plan/schedule.h"

/*
 * A layout is a plan with its course, worked out for feeds of certain shapes: which nodes still run, where their values
 * lie, when room is free again. It is made once and never written, so any number of steps may run it, each in a line.
 *
 * Values whose size is known lie in one block, at offsets that were chosen so that it is small. The others, and those
 * that leave the step (fetches, new values of variables), have buffers that are counted. The iterations of a loop use the
 * same places, one after the other.
 */
enum op_kind {
	OP_ROW,    /* elements of one shape, all in fixed places: the row is called, and nothing else */
	OP_SKIP,   /* goes on at `to` where another side was chosen */
	OP_TEST,   /* sets a flag by a bool in a fixed place */
	OP_COPY,   /* bytes from a fixed place to a fixed place */
	OP_GUARD,  /* a row, and before it a guard that may refuse the elements */
	OP_GATHER, /* a row, but some place is found in the step */
	OP_NEW,    /* the same, and the output has a buffer of its own */
	OP_KERNEL,
	OP_VIEW,   /* the output is the input in another shape, wherever that lies in this step */
	OP_PASS,   /* the outputs are the inputs, which stay where they are; refs may be read */
	OP_BRING,  /* the elements of the input, wherever they are, go to a fixed place */
	OP_KEEP,   /* the output is a reference of its own to the input's elements, or a copy of them */
	OP_INDEX,  /* the output is which input of a Merge lived */
	OP_CHOOSE, /* sets a flag by a predicate */
	OP_SAVE,   /* see saved_values.h */
	OP_LOAD,
	OP_FORGET, /* all that a Save kept in this iteration */
	OP_BEGIN,  /* of a loop: what enters is moved to its variables */
	OP_BACK,   /* where the loop goes on: variables get their next values, and `to` is next */
	OP_DROPPED,
};

struct op {
	dfg_row_fn *row;
	const union dfg_value *attr;
	const struct record *record; /* NULL: of a skip, and a loop's */
	int64_t n;                   /* elements of a row; bytes */
	uint32_t first;              /* in layout->use: inputs, then outputs */
	uint32_t in_place;
	uint32_t first_release, n_release; /* in layout->release: counted slots that nobody reads after it */
	uint32_t n_again;                  /* of these, those that each iteration of the loop makes anew: OP_BACK */
	uint32_t to;                       /* op */
	uint32_t flag, guard, loop;        /* loop: that it is in; the one that it begins or ends */
	int32_t side;
	uint32_t first_move, n_move; /* in layout->move */
	uint16_t n_in, n_out;
	uint8_t kind;
};

/* How a loop variable gets its value. */
enum move_kind { MOVE_BYTES, MOVE_BRING, MOVE_SHARE, MOVE_TAKE };
struct move {
	uint32_t from, to; /* slots */
	size_t bytes;
	uint8_t kind;
};

struct layout {
	struct layout *next;
	struct dfg_plan *plan;
	struct dfg_arena arena;
	struct dfg_shape *feed; /* by feed; NULL: any */
	struct op *op;
	size_t *alive; /* by op: bytes of the block that are alive while it runs */
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
	bool *moves;        /* by fetch: the reference goes to the caller */
	uint32_t *fetch;    /* by fetch: its slot */
	size_t block, live; /* bytes, and the most of them that are alive at once */
	struct line *idle;  /* under the plan's lock */
};

/* emit.c */
DFG_MUST_CHECK struct dfg_err *dfg_layout_make(
	struct dfg_plan *plan, const struct dfg_tensor *feeds, struct layout **out_layout);
void dfg_layout_free(struct layout *layout);

/* offsets.c: an offset for each item, such that no two that are alive at the same time overlap; returns the bytes needed. */
struct item {
	size_t bytes, offset;
	uint32_t first, last; /* alive from op first to op last, both included */
	struct item *vacant;  /* dfg_pack's own */
};
DFG_MUST_CHECK struct dfg_err *dfg_pack(
	struct item *item, uint32_t count, struct dfg_arena *scratch, size_t *out_bytes, size_t *out_live);

/* activation.c: of a list of lines, all. */
void dfg_lines_free(struct line *line);
