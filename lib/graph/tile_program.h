#pragma once

#include "lib/base/arena.h"
#include "lib/graph/kernel.h"
#include "lib/graph/walk.h"

/*
 * A tile program computes several elementwise ops at once, tile by tile, so that the values between them stay in the
 * first-level cache: each step calls the row of its op, so that the bits are those of the ops one after another. A program
 * with reductions over the trailing elements is computed row by row: it has values of a whole row, and values of one
 * element a row.
 *
 * A value is an input or the result of a step, and is known by its number. Immutable once it is finished; any number of
 * threads may run it.
 */
enum { DFG_TILE = 1024, DFG_TILE_VALUES = 256, DFG_TILE_SCRATCH = 128 * 1024 };

enum dfg_tile_step_kind { DFG_TILE_ROW, DFG_TILE_CONVERT, DFG_TILE_SPREAD, DFG_TILE_REDUCE };

struct dfg_tile_step {
	union {
		dfg_row_fn *row;
		const struct dfg_reducer *reducer;
	};
	const union dfg_value *attr;
	uint16_t in[DFG_ROW_OPERANDS], out; /* values */
	uint8_t kind, n_in, from, to;       /* from and to: dtypes of a conversion */
	bool per_row, slow;                 /* computes one element a row; is not a few instructions an element */
};

struct dfg_tile_value {
	uint32_t size;   /* of an element */
	uint32_t offset; /* of its memory in the scratch of a thread, unless it is an output or an input in place */
	uint16_t last;   /* the last step that reads it */
	int16_t output;  /* number of the output, or -1 */
	bool per_row;
};

/* An input: the elements of operand `operand` of a run. */
struct dfg_tile_input {
	uint16_t operand;
	bool single; /* of a value per row: it is one element for all rows */
};

struct dfg_tile_program {
	struct dfg_walk walk; /* of the inputs, over all elements; those that are read per row are constants in it */
	struct dfg_shape shape;
	int64_t count, columns; /* elements; elements of a row, or 0: there are no rows */
	int64_t tile;           /* elements that are computed at once */
	struct dfg_tile_input *input;
	struct dfg_tile_step *step;
	struct dfg_tile_value *value;
	const struct dfg_shape **input_shape; /* while it is made */
	enum dfg_dtype *input_dtype;
	uint32_t steps, values;
	uint32_t cost; /* of an element, in steps that are a few instructions */
};

/*
 * An empty program over elements of the shape. columns: see above; it divides the number of elements. inputs_most and
 * steps_most are together at most DFG_TILE_VALUES.
 */
DFG_MUST_CHECK struct dfg_err *dfg_tile_begin(struct dfg_arena *arena, const struct dfg_shape *shape, int64_t columns,
	uint32_t inputs_most, uint32_t steps_most, struct dfg_tile_program *out_program);

/*
 * These add a value and return its number. All inputs must be added first. The shape of an input, which is borrowed until
 * the program is finished, broadcasts to that of the program; or the input is read per row, and has one element a row.
 * single: it has one element in all.
 */
int dfg_tile_input(struct dfg_tile_program *program, int operand, const struct dfg_shape *shape, enum dfg_dtype dtype,
	bool per_row, bool single);
int dfg_tile_step(struct dfg_tile_program *program, const struct dfg_tile_step *step, enum dfg_dtype dtype);

/* The value is output number `output`. */
void dfg_tile_output(struct dfg_tile_program *program, int value, int output);

/* Assigns memory to the values. False: they do not fit into DFG_TILE_SCRATCH, so that the program cannot run. */
bool dfg_tile_finish(struct dfg_tile_program *program);

/* Whether output `output` may have the memory of an input that `operand` is, as both are read and written in one order. */
bool dfg_tile_may_overwrite(const struct dfg_tile_program *program, int operand, int output);

/* Computes all elements of the outputs. */
void dfg_tile_run(
	const struct dfg_tile_program *program, struct dfg_kernel *ctx, const void *const *in, void *const *out);

/* Computes elements [first, last), on this thread, of a program without rows. */
void dfg_tile_run_elements(
	const struct dfg_tile_program *program, int64_t first, int64_t last, const void *const *in, void *const *out);
