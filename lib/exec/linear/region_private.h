#pragma once

#include "lib/exec/emit/x86_scalar.h"
#include "lib/exec/linear/activation_private.h"
#include "lib/exec/linear/builder_private.h"

/*
 * A region is an outermost loop of a program, with all loops in it, translated to register code. Instructions that have
 * no register code of their own are run by the interpreter's functions from there.
 */
struct region {
	struct register_code code;
	atomic_ullong iterations; /* run as register code so far */
	/* the machine code; NULL: it had too few iterations so far, or none could be made */
	_Atomic(const struct native_code *) native;
	struct native_code made; /* protected by the plan's lock, as is the next */
	bool tried;
};

/* region.c: finds the regions of a program whose memory is planned, unless the session's options exclude it. */
DFG_MUST_CHECK struct dfg_err *dfg_program_find_regions(struct program_builder *builder);

/* register_fusion.c: fuses ops of the code that follow each other. */
DFG_MUST_CHECK struct dfg_err *dfg_register_fuse(struct register_code *code, struct dfg_arena *scratch);

/*
 * register_vm.c: runs the region from its first instruction. *out_next is the instruction with which the interpreter
 * continues: the one after the region, or one in it that fails.
 */
DFG_MUST_CHECK struct dfg_err *dfg_region_run(
	struct activation *activation, struct region *region, const struct instruction **out_next);

/* register_native.c: the region's machine code, made after enough iterations; NULL: there is none. */
const struct native_code *dfg_region_native(const struct activation *activation, struct region *region);

/* The state of register code that runs. */
struct register_state {
	const struct register_op *op; /* the next one */
	/* the op that ended an iteration with no fuel left, or with too many iterations of its loop; NULL: none did */
	const struct register_op *back;
	uint64_t dead, fuel; /* instructions that jumps have passed; iterations until the limits are checked */
	int64_t most;        /* iterations of a loop, or INT64_MAX */
};

/* register_native.c: runs machine code from an op to one with which the VM continues. */
DFG_MUST_CHECK struct dfg_err *dfg_native_run(struct activation *activation, const struct region *region,
	const struct native_code *native, struct register_state *state);

/* register_vm.c: runs an op that calls the interpreter: its code is REG_CALLS or larger. */
DFG_MUST_CHECK struct dfg_err *dfg_register_call(struct activation *activation, const struct register_op *op);

/* interpreter.c: parts of instructions, for register_vm.c. */
DFG_MUST_CHECK struct dfg_err *dfg_interpret_one(
	struct activation *activation, const struct instruction *instruction, bool watched);
DFG_MUST_CHECK struct dfg_err *dfg_interpret_move(struct activation *activation, uint32_t move);
void dfg_interpret_enter(struct activation *activation, uint32_t loop);
void dfg_interpret_releases(struct activation *activation, const struct instruction *instruction, uint32_t count);
/* Prepends the instruction's node and iteration to the error. */
DFG_MUST_CHECK struct dfg_err *dfg_interpret_note(
	const struct activation *activation, const struct instruction *instruction, struct dfg_err *err);
DFG_MUST_CHECK struct dfg_err *dfg_interpret_limits(const struct activation *activation, uint32_t loop);
