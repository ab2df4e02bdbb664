#include "lib/exec/linear/region_private.h"

/*
 * Fuses ops of register code that follow each other where none but the first is the target of a jump: a comparison with the
 * test and the branch on its result, an addition with the end of the iteration, a remainder with the comparison and the
 * branch.
 */
struct fusion {
	struct register_code *code;
	bool *target;     /* whether a jump goes to the op; by op */
	uint32_t *number; /* number of the op in the code that is fused, or of the next one; by op */
};

static bool jumps(const struct register_op *op)
{
	return op->to != DFG_NONE && op->code != REG_LEAVE;
}

/* The op's follower n, if no jump goes to it or to those between; NULL: one does, or it is another kind of op. */
static struct register_op *follower(const struct fusion *fusion, struct register_op *op, uint32_t n, uint16_t code)
{
	size_t at = (size_t)(op - fusion->code->op);
	if (at + n >= fusion->code->count || op[n].code != code)
		return NULL;
	for (uint32_t i = 1; i <= n; i++)
		if (fusion->target[at + i])
			return NULL;
	return &op[n];
}

static void become_branch(struct register_op *op, const struct register_op *branch)
{
	op->predicate = branch->predicate;
	op->side = branch->side;
	op->to = branch->to;
	op->dead = branch->dead;
	op->dead_next = branch->dead_next;
}

/* Each returns the number of ops that have become one, in the place of the first; 1: nothing was fused. */
static uint32_t fuse_branch(const struct fusion *fusion, struct register_op *op)
{
	uint32_t comparison = dfg_register_branch((enum register_opcode)op->code) != REG_OPCODES;
	struct register_op *test = comparison ? follower(fusion, op, 1, REG_TEST) : op;
	struct register_op *branch =
		test && test->code == REG_TEST ? follower(fusion, op, comparison + 1, REG_BRANCH) : NULL;
	if (!branch || branch->predicate != test->predicate || (comparison && test->a != op->out))
		return 1;
	op->code = comparison ? dfg_register_branch((enum register_opcode)op->code) : REG_TEST_BRANCH;
	if (op->once)
		op->out = fusion->code->unread;
	become_branch(op, branch);
	return comparison + 2;
}

static uint32_t fuse_divisible(const struct fusion *fusion, struct register_op *op)
{
	struct register_op *equal = op->code == REG_FLOOR_MOD_BY ? follower(fusion, op, 1, REG_EQ_i32) : NULL;
	struct register_op *test = equal ? follower(fusion, op, 2, REG_TEST) : NULL;
	const struct register_op *branch = test ? follower(fusion, op, 3, REG_BRANCH) : NULL;
	if (!test || test->a != equal->out || equal->a != op->out || equal->b == op->out)
		return 1;
	bool branches = branch && branch->predicate == test->predicate;
	op->code = branches ? REG_DIVISIBLE : REG_DIVISIBLE_TEST;
	op->predicate = test->predicate;
	op->b = equal->b;
	op->c = equal->once ? fusion->code->unread : equal->out;
	if (op->once)
		op->out = fusion->code->unread;
	if (branches)
		become_branch(op, branch);
	return branches ? 4 : 3;
}

static uint32_t fuse_back(const struct fusion *fusion, struct register_op *op)
{
	const struct register_op *back = follower(fusion, op, 1, REG_BACK);
	if (!back || (op->code != REG_ADD_i32 && op->code != REG_ADD_i64))
		return 1;
	op->code = op->code == REG_ADD_i32 ? REG_ADD_BACK_i32 : REG_ADD_BACK_i64;
	op->to = back->to;
	op->loop = back->loop;
	return 2;
}

static uint32_t fuse_op(const struct fusion *fusion, struct register_op *op)
{
	uint32_t taken = fuse_divisible(fusion, op);
	if (taken == 1)
		taken = fuse_branch(fusion, op);
	return taken == 1 ? fuse_back(fusion, op) : taken;
}

struct dfg_err *dfg_register_fuse(struct register_code *code, struct dfg_arena *scratch)
{
	struct fusion fusion = {.code = code};
	uint32_t kept = 0;
	fusion.target = dfg_arena_zeros(scratch, code->count, sizeof *fusion.target);
	fusion.number = dfg_arena_zeros(scratch, code->count, sizeof *fusion.number);
	if (!fusion.target || !fusion.number)
		return dfg_no_memory("the program of the step");
	for (uint32_t i = 0; i < code->count; i++)
		if (jumps(&code->op[i]))
			fusion.target[code->op[i].to] = true;
	for (uint32_t i = 0, taken; i < code->count; i += taken) {
		taken = fuse_op(&fusion, &code->op[i]);
		for (uint32_t j = 0; j < taken; j++)
			fusion.number[i + j] = kept;
		if (code->op[i].code != REG_JUMP || code->op[i].to != i + 1)
			code->op[kept++] = code->op[i];
	}
	code->count = kept;
	for (uint32_t i = 0; i < kept; i++)
		if (jumps(&code->op[i])) {
			struct register_op *op = &code->op[i];
			op->to = fusion.number[op->to];
			op->jump = ((int32_t)op->to - (int32_t)i) * (int32_t)sizeof *op;
		}
	return NULL;
}
