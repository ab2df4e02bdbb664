#include "lib/exec/linear/group_private.h"

#include "lib/graph/half.h"

#include <string.h>

/*
 * Finds groups: elementwise ops, casts, broadcasts, reshapes that keep the order, and reductions over trailing axes whose
 * values between them need no memory, as one instruction computes them tile by tile.
 *
 * All members of a group are under one condition in one loop, so that they run or are jumped over together. The group runs
 * at the position of one member: after all instructions that make its operands, and before all that read its results. All
 * other instructions keep their order. No group reaches over an instruction that changes state or may wait, so a group
 * delays no Send, and a variable has the same value for all of its members.
 */
enum {
	ELEMENTS_LEAST = 2048, /* fewer are computed faster by calls of rows */
	COLUMNS_LEAST = 64,    /* of a row that a group reduces */
	COLUMNS_MOST = 8 * 1024,
	READERS_MOST = 64, /* of a value; more are not looked at */
	ABSORBED_MOST = 4, /* readers that are taken in for one operand */
};

/* Lists of instructions by slot: of slot s, item[first[s]] up to item[first[s + 1]]. */
struct lists {
	uint32_t *first, *item;
};

struct finder {
	struct program_builder *builder;
	struct lists readers, writers;
	bool *fetched;            /* by slot */
	uint8_t *kind;            /* enum member_kind, by instruction */
	bool *taken;              /* belongs to a finished group, by instruction */
	uint32_t *runs_at;        /* by instruction: itself, or the instruction of the finished group that it belongs to */
	uint32_t *barrier;        /* by instruction: the first one after it that changes state or may wait */
	uint32_t *tried, growths; /* the last growth that tried to add it, by instruction */
	struct candidate candidate;
};

static const struct dfg_shape *shape_of(const struct finder *of, uint32_t slot)
{
	return &of->builder->fact[slot].shape;
}

/* Number and bool types with rows of their own, of known shape. */
static bool is_tensor(const struct finder *of, uint32_t slot)
{
	const struct dfg_inferred *fact = &of->builder->fact[slot];
	return dfg_is_plain(fact->dtype) && !dfg_is_half(fact->dtype) && dfg_shape_known(&fact->shape) &&
		   !of->builder->plan->is_ref[slot];
}

int dfg_member_operands(enum member_kind kind, const struct instruction *instruction)
{
	return kind == MEMBER_ROW || kind == MEMBER_JOIN ? instruction->n_in : 1;
}

/* The number of elements that a reduction over trailing axes combines, or 0. */
static int64_t reduced_columns(const struct finder *of, const struct instruction *instruction)
{
	const uint32_t *use = of->builder->program->use + instruction->first;
	const struct dfg_known_value *axes = of->builder->fact[use[1]].known;
	const struct dfg_shape *in = shape_of(of, use[0]);
	bool gone[DFG_RANK_MAX] = {0};
	int64_t columns = 1;
	if (!dfg_known_whole(axes) || axes->count > DFG_RANK_MAX)
		return 0;
	for (int64_t i = 0; i < axes->count; i++) {
		int64_t axis = axes->v[i] < 0 ? axes->v[i] + in->rank : axes->v[i];
		if (axis < 0 || axis >= in->rank)
			return 0;
		gone[axis] = true;
	}
	for (int d = in->rank - 1; d >= in->rank - (int)axes->count; d--) {
		if (!gone[d])
			return 0;
		columns *= in->dim[d];
	}
	return axes->count && columns > 1 ? columns : 0;
}

/* Whether the instruction joins inputs of one shape by the row of another op. */
static bool is_join(const struct finder *of, const struct instruction *instruction)
{
	const struct dfg_resolved_node *call = instruction->node->call;
	const uint32_t *use = of->builder->program->use + instruction->first;
	if (!call->op->joins_by || !dfg_op_row(call->op->joins_by, dfg_kernel_dtype(call)) || instruction->n_in < 2 ||
		instruction->n_in > JOINED_MOST)
		return false;
	for (int i = 0; i < instruction->n_in; i++)
		if (!dfg_shape_equal(shape_of(of, use[i]), shape_of(of, use[instruction->n_in])))
			return false;
	return true;
}

static enum member_kind kernel_kind(const struct finder *of, const struct instruction *instruction)
{
	const struct dfg_op *op = instruction->node->call->op;
	if (instruction->node->row)
		return op->guard && !dfg_passes_domain_check(of->builder, instruction) ? MEMBER_NONE : MEMBER_ROW;
	if (dfg_op_reducer(op, dfg_kernel_dtype(instruction->node->call)) && instruction->n_in == 2)
		return reduced_columns(of, instruction) ? MEMBER_REDUCE : MEMBER_NONE;
	if (op->means == DFG_MEANS_CAST)
		return MEMBER_CONVERT;
	if (is_join(of, instruction))
		return MEMBER_JOIN;
	return op->means == DFG_MEANS_REPEATED ? MEMBER_REPEAT : MEMBER_NONE;
}

static enum member_kind kind_of(const struct finder *of, const struct instruction *instruction)
{
	const struct plan_node *node = instruction->node;
	const uint32_t *use = of->builder->program->use + instruction->first;
	if ((instruction->kind != INSTR_KERNEL && instruction->kind != INSTR_VIEW) || node->role != DFG_PLAIN ||
		node->reads_ref || instruction->n_out != 1 || !instruction->n_in ||
		node->call->op->flags & (DFG_STATEFUL | DFG_BLOCKING))
		return MEMBER_NONE;
	if (!is_tensor(of, use[instruction->n_in]) || !dfg_slot_has_fixed_size(of->builder, use[instruction->n_in]))
		return MEMBER_NONE;
	enum member_kind kind = instruction->kind == INSTR_VIEW ? MEMBER_VIEW : kernel_kind(of, instruction);
	for (int i = 0; kind != MEMBER_NONE && i < dfg_member_operands(kind, instruction); i++)
		if (!is_tensor(of, use[i]))
			return MEMBER_NONE;
	bool same_dtype = of->builder->fact[use[0]].dtype == of->builder->fact[use[instruction->n_in]].dtype;
	return kind == MEMBER_CONVERT && same_dtype ? MEMBER_NONE : kind;
}

/* A read of a variable is not: members have values, which no read changes. */
static bool is_barrier(const struct instruction *instruction)
{
	const struct plan_node *node = instruction->node;
	return node && node->role != DFG_READ &&
		   (node->role == DFG_ASSIGN || node->call->op->flags & (DFG_STATEFUL | DFG_BLOCKING | DFG_WRITES));
}

static void fill_lists(struct finder *of, bool count)
{
	const struct program *program = of->builder->program;
	for (uint32_t o = 0; o < program->count; o++) {
		const struct instruction *instruction = &program->code[o];
		for (uint32_t i = 0; i < (uint32_t)instruction->n_in + instruction->n_out; i++) {
			struct lists *lists = i < instruction->n_in ? &of->readers : &of->writers;
			uint32_t *at = &lists->first[program->use[instruction->first + i] + 1];
			if (count)
				++*at;
			else
				lists->item[at[-1]++] = o;
		}
	}
}

/* After the items are filled in, first[s] is the end of list s: moves all by one. */
static struct dfg_err *make_lists(struct finder *of)
{
	struct dfg_arena *scratch = of->builder->scratch;
	size_t slots = of->builder->plan->slots, uses = of->builder->program->uses;
	struct lists *both[2] = {&of->readers, &of->writers};
	for (int k = 0; k < 2; k++) {
		both[k]->first = dfg_arena_zeros(scratch, slots + 2, sizeof *both[k]->first);
		both[k]->item = dfg_arena_zeros(scratch, uses, sizeof *both[k]->item);
		if (!both[k]->first || !both[k]->item)
			return dfg_no_memory("the program of the step");
	}
	fill_lists(of, true);
	for (int k = 0; k < 2; k++)
		for (size_t s = 0; s < slots; s++)
			both[k]->first[s + 1] += both[k]->first[s];
	fill_lists(of, false);
	for (int k = 0; k < 2; k++) {
		memmove(both[k]->first + 1, both[k]->first, slots * sizeof *both[k]->first);
		both[k]->first[0] = 0;
	}
	return NULL;
}

static struct dfg_err *prepare(struct finder *of)
{
	const struct program *program = of->builder->program;
	const struct dfg_plan *plan = of->builder->plan;
	of->fetched = dfg_arena_zeros(of->builder->scratch, plan->slots, sizeof *of->fetched);
	of->kind = dfg_arena_zeros(of->builder->scratch, program->count, sizeof *of->kind);
	of->taken = dfg_arena_zeros(of->builder->scratch, program->count, sizeof *of->taken);
	of->barrier = dfg_arena_zeros(of->builder->scratch, program->count, sizeof *of->barrier);
	of->runs_at = dfg_arena_zeros(of->builder->scratch, program->count, sizeof *of->runs_at);
	of->candidate.is_member = dfg_arena_zeros(of->builder->scratch, program->count, sizeof(bool));
	of->tried = dfg_arena_zeros(of->builder->scratch, program->count, sizeof *of->tried);
	if (!of->tried || !of->runs_at || !of->fetched || !of->kind || !of->taken || !of->barrier ||
		!of->candidate.is_member)
		return dfg_no_memory("the program of the step");
	for (uint32_t i = 0; i < plan->step.n_fetch; i++)
		of->fetched[of->builder->forward[plan->fetch[i]]] = true;
	uint32_t barrier = program->count;
	for (uint32_t o = program->count; o--;) {
		of->barrier[o] = barrier;
		of->runs_at[o] = o;
		if (is_barrier(&program->code[o]))
			barrier = o;
		of->kind[o] = (uint8_t)kind_of(of, &program->code[o]);
	}
	return make_lists(of);
}

/* Whether the shape is that of `whole` with 1 instead of trailing dims of `columns` elements. */
static bool is_column(const struct dfg_shape *shape, const struct dfg_shape *whole, int64_t columns)
{
	int64_t product = 1;
	int d = whole->rank;
	if (shape->rank != whole->rank)
		return false;
	while (d > 0 && product < columns)
		product *= whole->dim[--d];
	for (int i = 0; i < whole->rank; i++)
		if (shape->dim[i] != (i < d ? whole->dim[i] : 1))
			return false;
	return product == columns;
}

bool dfg_candidate_is_per_row(const struct candidate *candidate, const struct dfg_shape *shape)
{
	return candidate->columns && dfg_shape_count(shape) * candidate->columns == candidate->count;
}

/* Whether an operand that the group does not compute can be read: see dfg_tile_input(). */
static bool fits_outside(
	const struct candidate *candidate, const struct dfg_shape *operand, const struct dfg_shape *out)
{
	int64_t count = dfg_shape_count(operand);
	if (dfg_candidate_is_per_row(candidate, out))
		return count == 1 || dfg_candidate_is_per_row(candidate, operand);
	return count == candidate->count || count == 1 || dfg_shape_equal(out, &candidate->shape);
}

/* Whether an operand that the group computes has the element that the member reads, or one for its row. */
static bool fits_inside(const struct candidate *candidate, const struct dfg_shape *operand, const struct dfg_shape *out)
{
	bool per_row = dfg_candidate_is_per_row(candidate, operand);
	if (dfg_shape_count(operand) == dfg_shape_count(out))
		return true;
	return per_row && !dfg_candidate_is_per_row(candidate, out) && is_column(operand, out, candidate->columns);
}

/* Whether a member makes the slot. */
static bool is_inside(const struct finder *of, uint32_t slot)
{
	uint32_t first = of->writers.first[slot];
	return of->writers.first[slot + 1] - first == 1 && of->candidate.is_member[of->writers.item[first]];
}

static bool fits_tile(const struct finder *of, uint32_t o)
{
	const struct candidate *candidate = &of->candidate;
	const struct instruction *instruction = &of->builder->program->code[o];
	const uint32_t *use = of->builder->program->use + instruction->first;
	const struct dfg_shape *out = shape_of(of, use[instruction->n_in]);
	bool reduces = of->kind[o] == MEMBER_REDUCE;
	const struct dfg_shape *extent = reduces ? shape_of(of, use[0]) : out;
	if (dfg_shape_count(extent) != candidate->count && (reduces || !dfg_candidate_is_per_row(candidate, out)))
		return false;
	if (reduces)
		return reduced_columns(of, instruction) == candidate->columns;
	for (int i = 0; i < dfg_member_operands(of->kind[o], instruction); i++) {
		const struct dfg_shape *operand = shape_of(of, use[i]);
		if (is_inside(of, use[i]) ? !fits_inside(candidate, operand, out) : !fits_outside(candidate, operand, out))
			return false;
	}
	return true;
}

/* The first instruction outside the group that reads a member's value; *out_reads: there is one, or a fetch. */
static uint32_t first_reader(const struct finder *of, uint32_t member, bool *out_reads)
{
	uint32_t slot = dfg_member_slot(of->builder->program, member), first = DFG_NONE;
	*out_reads = of->fetched[slot];
	for (uint32_t r = of->readers.first[slot]; r < of->readers.first[slot + 1]; r++) {
		uint32_t reader = of->readers.item[r];
		if (of->candidate.is_member[reader])
			continue;
		*out_reads = true;
		first = of->runs_at[reader] < first ? of->runs_at[reader] : first;
	}
	return first;
}

/* The last instruction outside the group that makes an operand of a member, before it. */
static uint32_t last_writer(const struct finder *of, uint32_t member)
{
	const struct instruction *instruction = &of->builder->program->code[member];
	uint32_t last = 0;
	for (int i = 0; i < dfg_member_operands(of->kind[member], instruction); i++) {
		uint32_t slot = of->builder->program->use[instruction->first + (uint32_t)i];
		for (uint32_t w = of->writers.first[slot]; w < of->writers.first[slot + 1]; w++) {
			uint32_t writer = of->writers.item[w];
			if (writer < member && !of->candidate.is_member[writer] && of->runs_at[writer] + 1 > last)
				last = of->runs_at[writer] + 1;
		}
	}
	return last;
}

/* Finds the position of the group: that of its last member before the first reader. False: there is none. */
static bool find_position(struct finder *of, uint32_t *out_blocker)
{
	struct candidate *candidate = &of->candidate;
	uint32_t low = 0, high = DFG_NONE;
	*out_blocker = DFG_NONE;
	candidate->position = DFG_NONE;
	for (uint32_t i = 0; i < candidate->members; i++) {
		uint32_t member = candidate->member[i], low_here = last_writer(of, member);
		bool reads;
		uint32_t reader = first_reader(of, member, &reads);
		candidate->stored[i] = reads;
		if (reads && dfg_member_is_alias(of->kind[member])) {
			*out_blocker = reader;
			return false;
		}
		low = low_here > low ? low_here : low;
		if (reader < high)
			*out_blocker = high = reader;
		if (of->barrier[member] < high)
			high = of->barrier[member], *out_blocker = DFG_NONE;
	}
	for (uint32_t i = 0; i < candidate->members; i++)
		if (candidate->member[i] < high && candidate->member[i] >= low)
			candidate->position = candidate->member[i];
	return candidate->position != DFG_NONE;
}

static bool may_join(const struct finder *of, uint32_t o)
{
	const struct instruction *instruction = &of->builder->program->code[o];
	const struct instruction *first = &of->builder->program->code[of->candidate.member[0]];
	uint32_t slot = of->kind[o] == MEMBER_NONE ? 0 : dfg_member_slot(of->builder->program, o);
	return of->kind[o] != MEMBER_NONE && !of->taken[o] && !of->candidate.is_member[o] &&
		   of->candidate.members < MEMBERS_MOST &&
		   of->builder->condition[o] == of->builder->condition[of->candidate.member[0]] &&
		   instruction->loop == first->loop && of->writers.first[slot + 1] - of->writers.first[slot] == 1 &&
		   of->readers.first[slot + 1] - of->readers.first[slot] <= READERS_MOST;
}

/* Members are in the order of the program. */
static void insert(struct candidate *candidate, uint32_t o)
{
	uint32_t at = candidate->members++;
	for (; at && candidate->member[at - 1] > o; at--)
		candidate->member[at] = candidate->member[at - 1];
	candidate->member[at] = o;
	candidate->is_member[o] = true;
}

static void take_out(struct candidate *candidate, uint32_t o)
{
	uint32_t at = 0;
	while (candidate->member[at] != o)
		at++;
	memmove(
		candidate->member + at, candidate->member + at + 1, (--candidate->members - at) * sizeof *candidate->member);
	candidate->is_member[o] = false;
}

/* All members read what they can: a new one may make a value that another read from outside. */
static bool all_fit(const struct finder *of)
{
	for (uint32_t i = 0; i < of->candidate.members; i++)
		if (!fits_tile(of, of->candidate.member[i]))
			return false;
	return true;
}

/*
 * Adds the instruction, and if the group has no position then because others read its values before, those too. Nothing is
 * added if that does not help.
 */
static bool try_join(struct finder *of, uint32_t o)
{
	uint32_t added[1 + ABSORBED_MOST], n = 0, blocker = o;
	while (n <= ABSORBED_MOST && blocker != DFG_NONE && may_join(of, blocker)) {
		insert(&of->candidate, blocker);
		added[n++] = blocker;
		if (!all_fit(of))
			break;
		if (find_position(of, &blocker))
			return true;
	}
	while (n)
		take_out(&of->candidate, added[--n]);
	return false;
}

/* Adds the makers of the members' operands, and of theirs. */
static void grow(struct finder *of)
{
	const struct program *program = of->builder->program;
	bool grown = true;
	while (grown) {
		grown = false;
		for (uint32_t i = of->candidate.members; i-- && !grown;) {
			const struct instruction *instruction = &program->code[of->candidate.member[i]];
			for (int k = 0; k < dfg_member_operands(of->kind[of->candidate.member[i]], instruction) && !grown; k++) {
				uint32_t slot = program->use[instruction->first + (uint32_t)k], first = of->writers.first[slot];
				uint32_t maker = of->writers.first[slot + 1] - first == 1 ? of->writers.item[first] : DFG_NONE;
				if (maker == DFG_NONE || of->tried[maker] == of->growths)
					continue;
				of->tried[maker] = of->growths;
				grown = try_join(of, maker);
			}
		}
	}
}

static void clear(struct candidate *candidate)
{
	for (uint32_t i = 0; i < candidate->members; i++)
		candidate->is_member[candidate->member[i]] = false;
	candidate->members = 0;
}

/* Members that compute something, and reductions. */
static void count_members(const struct finder *of, uint32_t *out_computing, uint32_t *out_reductions)
{
	*out_computing = *out_reductions = 0;
	for (uint32_t i = 0; i < of->candidate.members; i++) {
		uint8_t kind = of->kind[of->candidate.member[i]];
		*out_computing += kind != MEMBER_VIEW;
		*out_reductions += kind == MEMBER_REDUCE;
	}
}

static int64_t elements_least(const struct program_builder *builder)
{
	uint32_t given = builder->plan->session->options.group_elements;
	return given ? given : ELEMENTS_LEAST;
}

/* Whether any value has the elements of a group: programs without one are not searched. */
static bool has_large_value(const struct program_builder *builder)
{
	int64_t least = elements_least(builder);
	for (uint32_t s = 0; s < builder->plan->slots; s++)
		if (dfg_shape_known(&builder->fact[s].shape) && dfg_shape_count(&builder->fact[s].shape) >= least)
			return true;
	return false;
}

/* Grows a group from its last member. With columns, its rows are reduced. */
static bool grow_from(struct finder *of, uint32_t seed, const struct dfg_shape *shape, int64_t columns)
{
	struct candidate *candidate = &of->candidate;
	uint32_t blocker, computing, reductions;
	clear(candidate);
	candidate->shape = *shape;
	candidate->count = dfg_shape_count(shape);
	candidate->columns = columns;
	bool given = of->builder->plan->session->options.group_elements;
	if (candidate->count < elements_least(of->builder) || columns > COLUMNS_MOST ||
		(columns && columns < (given ? 2 : COLUMNS_LEAST)))
		return false;
	insert(candidate, seed);
	of->tried[seed] = ++of->growths;
	if (!fits_tile(of, seed) || !find_position(of, &blocker))
		return false;
	grow(of);
	count_members(of, &computing, &reductions);
	return find_position(of, &blocker) && computing > 1 && !reductions == !columns;
}

/* The elements of a row are those of the last dim, or what a reduction combines. */
static struct dfg_err *try_seed(struct finder *of, uint32_t seed)
{
	const struct instruction *instruction = &of->builder->program->code[seed];
	const uint32_t *use = of->builder->program->use + instruction->first;
	bool reduces = of->kind[seed] == MEMBER_REDUCE, made = false;
	const struct dfg_shape *shape = shape_of(of, reduces ? use[0] : use[instruction->n_in]);
	if (of->kind[seed] == MEMBER_NONE || dfg_member_is_alias(of->kind[seed]) || of->taken[seed])
		return NULL;
	int64_t columns = reduces ? reduced_columns(of, instruction) : shape->rank ? shape->dim[shape->rank - 1] : 0;
	if (columns > 1 && grow_from(of, seed, shape, columns))
		DFG_TRY(dfg_group_make(of->builder, &of->candidate, of->kind, &made));
	if (!made && !reduces && grow_from(of, seed, shape, 0))
		DFG_TRY(dfg_group_make(of->builder, &of->candidate, of->kind, &made));
	for (uint32_t i = 0; made && i < of->candidate.members; i++) {
		of->taken[of->candidate.member[i]] = true;
		of->runs_at[of->candidate.member[i]] = of->candidate.position;
	}
	clear(&of->candidate);
	return NULL;
}

struct dfg_err *dfg_program_find_groups(struct program_builder *builder)
{
	const struct dfg_session_options *options = &builder->plan->session->options;
	if (options->no_opt || options->check_numerics || options->trace || !has_large_value(builder))
		return NULL;
	struct finder *of = dfg_arena_zeros(builder->scratch, 1, sizeof *of);
	if (!of)
		return dfg_no_memory("the program of the step");
	of->builder = builder;
	DFG_TRY(prepare(of));
	for (uint32_t seed = builder->program->count; seed--;)
		DFG_TRY(try_seed(of, seed));
	return NULL;
}
