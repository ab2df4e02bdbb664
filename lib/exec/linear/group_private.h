#pragma once

#include "lib/exec/linear/builder_private.h"
#include "lib/graph/tile_program.h"

/*
 * A group: instructions that are computed together, tile by tile. Its inputs are the uses of its instruction, as are its
 * outputs: values of members that others read. Values between members have no memory of their own.
 */
struct group {
	struct dfg_tile_program tile;
	const struct attention *attention; /* NULL: the members are those of the tile program, else that has no steps */
	const struct plan_node **member;   /* in the order of the program */
	uint32_t members;
	const struct dfg_inferred *type; /* of each input: the tile program was made for it */
};

/* STEPS_A_MEMBER: its own, two of a sum of three, and one that spreads its value over a row. */
enum { MEMBERS_MOST = 64, INPUTS_MOST = 48, JOINED_MOST = 3, STEPS_A_MEMBER = JOINED_MOST };
_Static_assert(INPUTS_MOST + STEPS_A_MEMBER * MEMBERS_MOST <= DFG_TILE_VALUES, "a group fits a tile program");

enum member_kind {
	MEMBER_NONE,    /* cannot be in a group */
	MEMBER_ROW,     /* an elementwise op; operands broadcast */
	MEMBER_JOIN,    /* a sum of a few inputs of one shape: see joins_by in lib/graph/op.h */
	MEMBER_CONVERT, /* a cast */
	MEMBER_VIEW,    /* input 0 in another shape; its elements are in the same order */
	MEMBER_REPEAT,  /* input 0 broadcast to a shape */
	MEMBER_REDUCE,  /* a reduction over trailing axes */
};

/* A group while it is searched for. Its values have one element for each of the shape, or one a row. */
struct candidate {
	struct dfg_shape shape;
	int64_t count, columns;        /* elements of the shape, and of a row; columns 0: no row is reduced */
	uint32_t member[MEMBERS_MOST]; /* instructions, in the order of the program */
	bool stored[MEMBERS_MOST];     /* others read its value */
	uint32_t members;
	uint32_t position; /* the member at whose position the group runs */
	bool *is_member;   /* by instruction */
};

static inline uint32_t dfg_member_slot(const struct program *program, uint32_t o)
{
	return program->use[program->code[o].first + program->code[o].n_in];
}

/* Whether the member's value is input 0, in another shape or repeated, so that it takes no step. */
static inline bool dfg_member_is_alias(enum member_kind kind)
{
	return kind == MEMBER_VIEW || kind == MEMBER_REPEAT;
}

/* group.c: how many of a member's inputs are operands; the others are shapes and axes, which are known. */
int dfg_member_operands(enum member_kind kind, const struct instruction *instruction);

/* group.c: whether a value of the shape has one element a row. */
bool dfg_candidate_is_per_row(const struct candidate *candidate, const struct dfg_shape *shape);

/* group_make.c: makes the members one instruction. *out_made false: it would require too much memory; nothing changed. */
DFG_MUST_CHECK struct dfg_err *dfg_group_make(
	struct program_builder *builder, const struct candidate *candidate, const uint8_t *kind, bool *out_made);

/*
 * Attention: products of q and k, elementwise ops on these scores, softmax, and products with v, computed a block of rows
 * of the scores at a time, so that the scores have no memory. Each op still runs its own kernel on whole rows, whose bits
 * do not depend on the other rows. The inputs of the group are q, k and v, then those of the elementwise ops.
 */
struct attention {
	const struct dfg_resolved_node *scores, *softmax, *product;
	dfg_run_fn *run_scores, *run_softmax, *run_product;
	struct dfg_tile_program between; /* operand 0 is the scores, operand i is input 2 + i of the group */
	int64_t batch, rows, columns;    /* matrices of scores, and their sizes */
	int64_t width, depth;            /* columns of q, and of the result */
	int64_t block;                   /* rows that are computed together */
};
enum { BETWEEN_MOST = 8, Q = 0, K, V, ATTENDED };

/* attention_run.c: computes the group's output. */
DFG_MUST_CHECK struct dfg_err *dfg_attention_run(
	struct activation *activation, const struct attention *attention, struct dfg_tensor *const *at, void *out);
