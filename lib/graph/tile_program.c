#include "lib/graph/tile_program.h"

#include "lib/graph/grain.h"
#include "lib/graph/reduction.h"

enum {
	BLOCK = 32 * 1024,  /* the least elements that a thread takes at a time, times their cost */
	TILE_LEAST = 256,   /* smaller tiles would cost more in calls than they save in cache */
	CACHED = 24 * 1024, /* bytes of scratch above which tiles are made smaller */
	FAR = 1 << 20,      /* bytes of an input that is not expected in a cache near the processor */
	LINE = 64,          /* bytes of a cache line */
	SLOW = 8,           /* the cost of a row that is not a few instructions: of Exp, say */
};

struct dfg_err *dfg_tile_begin(struct dfg_arena *arena, const struct dfg_shape *shape, int64_t columns,
	uint32_t inputs_most, uint32_t steps_most, struct dfg_tile_program *out_program)
{
	struct dfg_tile_program *p = out_program;
	*p = (struct dfg_tile_program){
		.shape = *shape,
		.count = dfg_shape_count(shape),
		.columns = columns,
		.tile = columns ? columns : DFG_TILE,
		.walk.in = dfg_arena_zeros(arena, inputs_most, sizeof *p->walk.in),
		.input = dfg_arena_zeros(arena, inputs_most, sizeof *p->input),
		.input_shape = dfg_arena_zeros(arena, inputs_most, sizeof(void *)),
		.input_dtype = dfg_arena_zeros(arena, inputs_most, sizeof *p->input_dtype),
		.step = dfg_arena_zeros(arena, steps_most, sizeof *p->step),
		.value = dfg_arena_zeros(arena, (size_t)inputs_most + steps_most, sizeof *p->value),
	};
	bool all = p->walk.in && p->input && p->input_shape && p->input_dtype && p->step && p->value;
	return all ? NULL : dfg_no_memory("a group of ops");
}

static int add_value(struct dfg_tile_program *p, enum dfg_dtype dtype, bool per_row)
{
	p->value[p->values] =
		(struct dfg_tile_value){.size = (uint32_t)dfg_dtype_size(dtype), .output = -1, .per_row = per_row};
	return (int)p->values++;
}

int dfg_tile_input(struct dfg_tile_program *p, int operand, const struct dfg_shape *shape, enum dfg_dtype dtype,
	bool per_row, bool single)
{
	p->input[p->walk.n_in] = (struct dfg_tile_input){(uint16_t)operand, single};
	static const struct dfg_shape scalar = {0};
	p->input_shape[p->walk.n_in] = per_row || single ? &scalar : shape;
	p->input_dtype[p->walk.n_in++] = dtype;
	return add_value(p, dtype, per_row);
}

int dfg_tile_step(struct dfg_tile_program *p, const struct dfg_tile_step *step, enum dfg_dtype dtype)
{
	struct dfg_tile_step *to = &p->step[p->steps];
	*to = *step;
	to->out = (uint16_t)add_value(p, dtype, step->per_row);
	for (int i = 0; i < step->n_in; i++)
		p->value[step->in[i]].last = (uint16_t)p->steps;
	p->value[to->out].last = (uint16_t)p->steps++;
	p->cost += step->per_row ? 0 : step->slow ? SLOW : 1;
	return to->out;
}

void dfg_tile_output(struct dfg_tile_program *p, int value, int output)
{
	p->value[value].output = (int16_t)output;
}

/* Memory of the values that are live, as blocks of one size each: a free list by size. */
struct blocks {
	uint32_t offset[DFG_TILE_VALUES], bytes[DFG_TILE_VALUES];
	bool is_free[DFG_TILE_VALUES];
	uint32_t count, end;
};

static uint32_t take_block(struct blocks *blocks, uint32_t bytes)
{
	bytes = (bytes + DFG_ALIGN - 1) / DFG_ALIGN * DFG_ALIGN;
	for (uint32_t i = 0; i < blocks->count; i++)
		if (blocks->is_free[i] && blocks->bytes[i] == bytes) {
			blocks->is_free[i] = false;
			return blocks->offset[i];
		}
	blocks->offset[blocks->count] = blocks->end;
	blocks->bytes[blocks->count++] = bytes;
	blocks->end += bytes;
	return blocks->end - bytes;
}

static void free_block(struct blocks *blocks, uint32_t offset)
{
	for (uint32_t i = 0; i < blocks->count; i++)
		if (blocks->offset[i] == offset)
			blocks->is_free[i] = true;
}

static uint32_t bytes_of(const struct dfg_tile_program *p, const struct dfg_tile_value *value)
{
	return value->size * (value->per_row ? 1 : (uint32_t)p->tile);
}

/* Whether the step may write its result over an operand: the elements are of one size, and read and written in turn. */
static bool writes_over(const struct dfg_tile_program *p, const struct dfg_tile_step *step, int i)
{
	const struct dfg_tile_value *in = &p->value[step->in[i]], *out = &p->value[step->out];
	return step->kind == DFG_TILE_ROW && in->size == out->size && in->per_row == out->per_row;
}

/* Frees the operands that the step is the last to read: before its result takes memory, or after. */
static void free_operands(const struct dfg_tile_program *p, uint32_t s, bool before, struct blocks *blocks)
{
	const struct dfg_tile_step *step = &p->step[s];
	for (int i = 0; i < step->n_in; i++) {
		const struct dfg_tile_value *in = &p->value[step->in[i]];
		bool own = in->output < 0 && step->in[i] >= p->walk.n_in;
		if (own && in->last == s && writes_over(p, step, i) == before)
			free_block(blocks, in->offset);
	}
}

/* The bytes of scratch that tiles of p->tile elements require. */
static uint32_t assign_scratch(struct dfg_tile_program *p)
{
	struct blocks blocks = {.count = 0};
	for (int i = 0; i < p->walk.n_in; i++)
		if (!p->value[i].per_row && !p->walk.in[i].whole)
			p->value[i].offset = take_block(&blocks, bytes_of(p, &p->value[i]));
	for (uint32_t s = 0; s < p->steps; s++) {
		struct dfg_tile_value *out = &p->value[p->step[s].out];
		free_operands(p, s, true, &blocks);
		if (out->output < 0)
			out->offset = take_block(&blocks, bytes_of(p, out));
		free_operands(p, s, false, &blocks);
	}
	return blocks.end;
}

bool dfg_tile_finish(struct dfg_tile_program *p)
{
	dfg_walk_make(&p->walk, &p->shape, p->input_shape, p->input_dtype);
	while (assign_scratch(p) > CACHED && !p->columns && p->tile > TILE_LEAST)
		p->tile /= 2;
	p->walk.tile = p->tile;
	if (!p->columns)
		dfg_walk_set_tile(&p->walk, p->tile);
	return assign_scratch(p) <= DFG_TILE_SCRATCH;
}

/* Whether all reads of the operand are of elements of this size, in the order of the output, and by step s at the latest. */
static bool is_read_by(const struct dfg_tile_program *p, int operand, uint32_t s, uint32_t size)
{
	for (int i = 0; i < p->walk.n_in; i++)
		if (p->input[i].operand == operand &&
			(!p->walk.in[i].whole || p->value[i].per_row || p->value[i].last > s || p->value[i].size != size))
			return false;
	return true;
}

bool dfg_tile_may_overwrite(const struct dfg_tile_program *p, int operand, int output)
{
	for (uint32_t s = 0; s < p->steps; s++) {
		const struct dfg_tile_value *out = &p->value[p->step[s].out];
		if (out->output == output)
			return !out->per_row && p->step[s].kind == DFG_TILE_ROW && is_read_by(p, operand, s, out->size);
	}
	return false;
}

struct tile_run {
	const struct dfg_tile_program *program;
	const void *const *in;
	void *const *out;
};

static void run_step(const struct dfg_tile_step *step, int64_t n, void *const *at, int64_t columns, size_t size)
{
	const void *in[DFG_ROW_OPERANDS];
	_Alignas(DFG_ACCUMULATOR_MAX) char sum[DFG_ACCUMULATOR_MAX];
	for (int i = 0; i < step->n_in; i++)
		in[i] = at[step->in[i]];
	switch ((enum dfg_tile_step_kind)step->kind) {
	case DFG_TILE_ROW:
		step->row(step->per_row ? 1 : n, at[step->out], in, step->attr);
		break;
	case DFG_TILE_CONVERT:
		dfg_convert(step->to, at[step->out], step->from, in[0], step->per_row ? 1 : n);
		break;
	case DFG_TILE_SPREAD:
		dfg_repeat(at[step->out], n, in[0], size);
		break;
	case DFG_TILE_REDUCE:
		dfg_reduce_row(step->reducer, columns, in[0], sum);
		step->reducer->finish(1, columns, sum, at[step->out]);
		break;
	}
}

/*
 * Asks for the elements of the next tile, as processors themselves read ahead within a page only. What is beyond the end
 * of the array is not read.
 */
static void read_ahead(const char *data, size_t bytes)
{
	for (size_t at = bytes; at < 2 * bytes; at += LINE)
		__builtin_prefetch((const void *)((uintptr_t)data + at));
}

/* Computes elements [first, first + n), which are in row `row`. */
static void run_tile(const struct tile_run *run, int64_t first, int64_t n, int64_t row, char *scratch)
{
	const struct dfg_tile_program *p = run->program;
	void *at[DFG_TILE_VALUES];
	for (int i = 0; i < p->walk.n_in; i++) {
		const char *data = run->in[p->input[i].operand];
		const void *from = p->value[i].per_row
							   ? data + (p->input[i].single ? 0 : (size_t)row * p->value[i].size)
							   : dfg_walk_lend(&p->walk, i, data, first, n, scratch + p->value[i].offset);
		at[i] = (void *)(uintptr_t)from;
		if (p->walk.in[i].whole && !p->value[i].per_row && p->count * p->value[i].size >= FAR)
			read_ahead(from, (size_t)n * p->value[i].size);
	}
	for (uint32_t s = 0; s < p->steps; s++) {
		const struct dfg_tile_value *value = &p->value[p->step[s].out];
		int64_t element = value->per_row ? row : first;
		at[p->step[s].out] = value->output < 0 ? scratch + value->offset
											   : (char *)run->out[value->output] + (size_t)element * value->size;
		run_step(&p->step[s], n, at, p->columns, value->size);
	}
}

/* Writes the operands that are the same in all tiles of elements [first, last). */
static void fill_inputs(const struct tile_run *run, int64_t first, int64_t last, char *scratch)
{
	const struct dfg_tile_program *p = run->program;
	for (int i = 0; i < p->walk.n_in; i++)
		if (!p->value[i].per_row)
			dfg_walk_fill(&p->walk, i, run->in[p->input[i].operand], first, last, scratch + p->value[i].offset);
}

static void run_elements(void *arg, int64_t first, int64_t last)
{
	const struct tile_run *run = arg;
	_Alignas(DFG_ALIGN) char scratch[DFG_TILE_SCRATCH];
	const struct dfg_walk *walk = &run->program->walk;
	for (int64_t n, end = first; first < last; first += n) {
		if (first == end) {
			end = dfg_walk_filled_end(walk, first, last);
			fill_inputs(run, first, end, scratch);
		}
		n = dfg_walk_stretch(walk, first, end);
		run_tile(run, first, n, 0, scratch);
	}
}

static void run_rows(void *arg, int64_t first, int64_t last)
{
	const struct tile_run *run = arg;
	_Alignas(DFG_ALIGN) char scratch[DFG_TILE_SCRATCH];
	int64_t columns = run->program->columns;
	fill_inputs(run, 0, columns, scratch);
	for (int64_t row = first; row < last; row++)
		run_tile(run, row * columns, columns, row, scratch);
}

void dfg_tile_run(const struct dfg_tile_program *p, struct dfg_kernel *ctx, const void *const *in, void *const *out)
{
	struct tile_run run = {p, in, out};
	if (!p->count)
		return;
	const int64_t least = BLOCK / (p->cost + 1);
	if (!p->columns)
		dfg_kernel_ranges(ctx, p->count, dfg_grain(p->count, least), run_elements, &run);
	else
		dfg_kernel_ranges(
			ctx, p->count / p->columns, dfg_grain(p->count / p->columns, least / p->columns), run_rows, &run);
}

void dfg_tile_run_elements(
	const struct dfg_tile_program *p, int64_t first, int64_t last, const void *const *in, void *const *out)
{
	struct tile_run run = {p, in, out};
	run_elements(&run, first, last);
}
