#pragma once

#include "lib/exec/plan/schedule.h"

/*
 * A program is a plan's schedule specialised for feeds of certain shapes: its instructions, the addresses of their
 * values, and the points at which memory is released. It is immutable, so any number of steps may run it concurrently,
 * each in an activation.
 *
 * Values of known size are in one block, at offsets chosen to keep the block small. All others, and those that leave
 * the step (fetches, new values of variables), have reference-counted buffers. The iterations of a loop use the same
 * addresses one after the other.
 */
enum opcode {
	INSTR_ROW,          /* calls `row`, nothing else: all operands have the same shape and fixed addresses */
	INSTR_BRANCH,       /* jumps to `to` if another side was chosen */
	INSTR_TEST,         /* sets a predicate from a bool at a fixed address */
	INSTR_COPY,         /* copies bytes between fixed addresses */
	INSTR_CHECKED_ROW,  /* a row, after a domain check that may reject the elements */
	INSTR_ROW_INDIRECT, /* a row, an operand of which has no fixed address */
	INSTR_ROW_NEW,      /* as INSTR_ROW_INDIRECT, and the output has a buffer of its own */
	INSTR_KERNEL,
	INSTR_GROUP,   /* several ops, tile by tile: see group_private.h */
	INSTR_VIEW,    /* the output is a reshaped view of the input, at whatever address that has in this step */
	INSTR_ALIAS,   /* the outputs are the inputs, at the same address; refs may be read */
	INSTR_COPY_IN, /* copies the input's elements to a fixed address */
	INSTR_RETAIN,  /* the output is a new reference to the input's buffer, or a copy of its elements */
	INSTR_INDEX,   /* the output is the number of the Merge's live input */
	INSTR_SWITCH,  /* sets a predicate from another predicate */
	INSTR_SAVE,    /* see saved_values.h */
	INSTR_LOAD,
	INSTR_CLEAR,      /* drops all that a Save kept in this iteration */
	INSTR_LOOP_ENTER, /* begins a loop: moves the entering values to its variables */
	/* ends an iteration: moves the next values to the variables and jumps to `to`, or leaves the loop */
	INSTR_LOOP_BACK,
	INSTR_NOP,
};

/*
 * The interpreter reads the instructions of a large program from the second-level cache, so their size is its speed: one
 * takes one cache line. Kinds that never need two fields share them.
 */
struct instruction {
	union {
		dfg_row_fn *row;
		struct {
			uint32_t first_move, n_move; /* of INSTR_LOOP_ENTER and INSTR_LOOP_BACK: range of program->move */
		};
	};
	union {
		const union dfg_value *attr;
		const struct group *group; /* of INSTR_GROUP */
		struct {
			uint32_t to; /* of INSTR_BRANCH and INSTR_LOOP_BACK: target of the jump */
			union {
				int32_t side;       /* of INSTR_BRANCH: the predicate's side under which it does not jump */
				uint32_t n_renewed; /* of INSTR_LOOP_BACK: how many of its releases each iteration computes anew */
			};
		};
		/* of INSTR_LOOP_ENTER of an outermost loop: the number of its region + 1; 0: it has none */
		uint32_t region;
	};
	const struct plan_node *node; /* NULL for branches and loop instructions; of a group, one of its members */
	/*
	 * Elements of a row; bytes of a copy; for a branch, by how much the members of the groups that it jumps over exceed the
	 * number of these groups.
	 */
	int64_t n;
	uint32_t first; /* index in program->use of its inputs, then its outputs */
	uint16_t n_in, n_out;
	/* range of program->release: reference-counted slots that it is the last to read */
	uint32_t first_release, n_release;
	/* loop: the one that contains it; for INSTR_LOOP_ENTER and INSTR_LOOP_BACK the one that it begins or ends */
	uint32_t predicate, loop;
	uint32_t in_place; /* bit i: the kernel may write over input i */
	uint8_t kind;
};

_Static_assert(sizeof(struct instruction) <= 64, "an instruction is in one cache line");

/*
 * How a loop variable gets its value: copies bytes between fixed addresses, copies elements to a fixed address, takes a
 * new reference, takes over the source's reference.
 */
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
	struct dfg_shape *feed; /* shapes that it is made for, by feed; NULL: any */
	struct instruction *code;
	size_t *alive; /* bytes of the block that are live during it, by instruction */
	uint32_t count;
	uint32_t groups, grouped; /* instructions that are groups, and members of groups */
	uint32_t *use, uses;
	uint32_t *fed, n_fed; /* uses of feeds whose address must be known before the step */
	struct move *move;
	uint32_t moves_made;
	size_t *saved; /* bytes of each value if they are small and of one size, else 0; by Save */
	uint32_t *release;
	uint32_t slots;           /* of the plan, and after them those of repeated constants, which rows alone read */
	struct dfg_tensor *start; /* tensor at the start of a step, by slot; data is an offset if in_block */
	bool *in_block;
	/* slots that may hold a reference: first those that are kept until the end of the step */
	uint32_t *counted, n_counted;
	uint32_t n_final;
	bool *moves;           /* whether the caller gets the slot's own reference, by fetch */
	uint32_t *fetch;       /* slot of each fetch */
	size_t block, live;    /* bytes of the block; most bytes that are live at once */
	size_t bytes;          /* of the block with the registers of regions after it */
	struct region *region; /* loops in register code: region_private.h */
	uint32_t regions;
	struct activation *idle; /* free activations, protected by plan->lock */
};

/* emit.c */
DFG_MUST_CHECK struct dfg_err *dfg_program_make(
	struct dfg_plan *plan, const struct dfg_tensor *feeds, struct program **out_program);
void dfg_program_free(struct program *program);

/*
 * offsets.c: assigns offsets so that no two ranges that are live at the same time overlap. *out_bytes is the size
 * required.
 */
struct live_range {
	size_t bytes, offset;
	uint32_t first, last;      /* live from instruction first to instruction last, inclusive */
	struct live_range *vacant; /* private to dfg_pack */
};
DFG_MUST_CHECK struct dfg_err *dfg_pack(
	struct live_range *range, uint32_t count, struct dfg_arena *scratch, size_t *out_bytes, size_t *out_live);

/* activation.c: frees a list of activations. */
void dfg_activations_free(struct activation *activation);
