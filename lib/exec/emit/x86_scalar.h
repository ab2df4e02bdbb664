#pragma once

#include "lib/exec/emit/code_memory.h"
#include "lib/exec/emit/register_code.h"

/*
 * Register code as machine code of x86-64. The most used registers are in the processor's; each result is also stored in its
 * location, so that the machine code can be left, and entered, at any op.
 */
struct native_frame {
	char *block;
	void *const *data; /* addresses of the operands and results of rows */
	const struct register_row *row;
	int32_t *chosen;
	int64_t *iteration, most; /* of each loop; the limit, or INT64_MAX */
	uint64_t fuel;            /* iterations left before it returns */
	uint64_t dead;            /* instructions passed by jumps, so far */
	/* runs op number `op`, from REG_CALLS on; returns 1 if it fails, else 0 */
	int (*call)(struct native_frame *frame, uint32_t op);
	struct dfg_err *err; /* of a call that failed */
	void *activation;    /* for `call` */
	const struct register_code *code;
};

/* Runs machine code from the address on; returns the number of the op at which the VM continues. */
typedef uint32_t native_fn(struct native_frame *frame, const void *from);

struct native_code {
	struct code_memory memory;
	native_fn *run;
	const void **op; /* the address of each op; heap-allocated */
};

/*
 * Translates register code to machine code. Returns false and an empty *out_native if the processor is not an x86-64, the
 * code is too long, or memory is short.
 */
bool dfg_native_make(const struct register_code *code, struct native_code *out_native);
void dfg_native_release(struct native_code *native);
