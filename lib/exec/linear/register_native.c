#include "lib/exec/linear/region_private.h"

/* Register code as machine code: when it is made, and how it is run. */

enum { ITERATIONS = 4096 }; /* iterations after which machine code is made */

const struct native_code *dfg_region_native(const struct activation *activation, struct region *region)
{
	uint64_t after = activation->watch.options->emit_loops_after;
	const struct native_code *native = atomic_load_explicit(&region->native, memory_order_acquire);
	if (native || atomic_load_explicit(&region->iterations, memory_order_relaxed) < (after ? after : ITERATIONS))
		return native;
	pthread_mutex_lock(&activation->program->plan->lock);
	if (!region->tried && dfg_native_make(&region->code, &region->made))
		atomic_store_explicit(&region->native, &region->made, memory_order_release);
	region->tried = true;
	native = atomic_load_explicit(&region->native, memory_order_acquire);
	pthread_mutex_unlock(&activation->program->plan->lock);
	return native;
}

static int call_op(struct native_frame *frame, uint32_t op)
{
	frame->err = dfg_register_call(frame->activation, &frame->code->op[op]);
	return frame->err != NULL;
}

struct dfg_err *dfg_native_run(struct activation *activation, const struct region *region,
	const struct native_code *native, struct register_state *state)
{
	struct native_frame frame = {.block = activation->block,
		.data = activation->data,
		.row = region->code.row,
		.chosen = activation->chosen,
		.iteration = activation->iteration,
		.most = state->most,
		.fuel = state->fuel,
		.dead = state->dead,
		.call = call_op,
		.activation = activation,
		.code = &region->code};
	uint32_t op = native->run(&frame, native->op[state->op - region->code.op]);
	state->op = &region->code.op[op];
	state->dead = frame.dead;
	state->fuel = frame.fuel;
	return frame.err;
}
