#include "lib/lang/branch_private.h"

#include "lib/lang/eval_private.h"
#include "lib/lang/materialise_private.h"
#include "lib/lang/name_scope_private.h"
#include "lib/lang/ssa_private.h"
#include "lib/base/plural.h"

#include <string.h>

/*
 * `if` and `case` whose condition only a run knows. Both arms are evaluated into nodes; their inputs come through
 * Switches and their results are merged. A Merge has the false side first.
 */
struct choice {
	struct dfg_branch *branch;
	const struct dfg_tree *arm[2]; /* by side */
	struct dfg_datum *result[2];
	uint32_t n[2];
	const struct dfg_tree *tree;
};

/* The items of a value: those of a tuple, none for NONE, else the value itself. */
static struct dfg_err *list_results(
	struct dfg_eval *eval, const struct dfg_datum *value, struct dfg_datum **out_item, uint32_t *out_n)
{
	*out_n = value->kind == DFG_DATUM_TUPLE ? value->list.n : value->kind != DFG_DATUM_NONE;
	*out_item = dfg_arena_zeros(eval->arena, *out_n, sizeof **out_item);
	if (!*out_item)
		return dfg_no_memory("the arms of a branch");
	if (*out_n)
		memcpy(*out_item, value->kind == DFG_DATUM_TUPLE ? value->list.item : value, *out_n * sizeof **out_item);
	return NULL;
}

static struct dfg_err *eval_arm(
	struct dfg_eval *eval, struct dfg_name_scope *bindings, const struct dfg_tree *arm, struct dfg_datum *out_datum)
{
	struct dfg_name_scope *inner;
	DFG_TRY(dfg_name_scope_new(eval, bindings, &inner));
	inner->kind = DFG_SCOPE_BRANCH;
	bool outer = eval->under_if;
	eval->under_if = true;
	struct dfg_err *err = arm->kind == DFG_TREE_BLOCK ? dfg_eval_block(eval, inner, arm, out_datum)
													  : dfg_eval_expr(eval, inner, arm, out_datum);
	eval->under_if = outer;
	return err;
}

/* Whether later nodes of the arm have control inputs that its first ones do not have, such as an assertion. */
static bool has_own_control(const struct dfg_builder *builder, const struct dfg_region *arm)
{
	return builder->n_control != arm->n_control ||
		   (arm->n_control && memcmp(builder->control, arm->control, arm->n_control * sizeof *arm->control));
}

/* Makes the value a tensor of the arm, after the arm's assertions. */
static struct dfg_err *make_result(
	struct dfg_eval *eval, struct dfg_datum *datum, enum dfg_dtype dtype, const struct dfg_region *arm)
{
	struct dfg_edge edge;
	DFG_TRY(dfg_to_edge(eval, datum, dtype, &edge));
	DFG_TRY(dfg_region_bring(eval, edge, eval->region, &edge));
	if (has_own_control(eval->builder, arm))
		DFG_TRY(dfg_eval_node(eval, "Identity", &edge, 1, &edge));
	*datum = DFG_TENSOR(edge);
	return NULL;
}

static struct dfg_err *evaluate_arm(
	struct dfg_eval *eval, struct dfg_name_scope *bindings, struct choice *choice, int side)
{
	const struct dfg_region *arm = choice->branch->arm[side];
	struct dfg_datum value;
	DFG_TRY(eval_arm(eval, bindings, choice->arm[side], &value));
	DFG_TRY(list_results(eval, &value, &choice->result[side], &choice->n[side]));
	for (uint32_t i = 0; i < choice->n[side]; i++)
		if (!dfg_datum_is_known(&choice->result[side][i]))
			DFG_TRY(
				dfg_eval_at(eval, choice->arm[side], make_result(eval, &choice->result[side][i], DFG_NO_DTYPE, arm)));
	return NULL;
}

static struct dfg_err *evaluate_both(struct dfg_eval *eval, struct dfg_name_scope *bindings, struct choice *choice)
{
	struct dfg_err *err = NULL;
	for (int side = 1; side >= 0 && !err; side--) {
		struct dfg_saved_region saved;
		dfg_region_go(eval, choice->branch->arm[side], &saved);
		err = evaluate_arm(eval, bindings, choice, side);
		dfg_region_back(eval, &saved);
	}
	return err;
}

/* The dtype of a result: that of the arm that has one, else the natural dtype of both numbers together. */
static enum dfg_dtype common(struct dfg_eval *eval, struct dfg_datum *const result[2], uint32_t i)
{
	struct dfg_datum both[] = {result[0][i], result[1][i]};
	const struct dfg_datum list = {DFG_DATUM_LIST, .list = {.item = both, .n = 2}};
	enum dfg_dtype dtype = dfg_datum_dtype(eval, &both[0]);
	if (!dtype)
		dtype = dfg_datum_dtype(eval, &both[1]);
	return dtype ? dtype : dfg_datum_natural(&list);
}

static struct dfg_err *arms_differ(struct dfg_eval *eval, const struct choice *choice, uint32_t i, const char *what)
{
	return DFG_ERR(DFG_DATA, "the arms have the values %s and %s: %s", dfg_datum_words(eval, &choice->result[1][i]),
		dfg_datum_words(eval, &choice->result[0][i]), what);
}

static struct dfg_err *meet(struct dfg_eval *eval, struct choice *choice, uint32_t i, struct dfg_datum *out_datum)
{
	enum dfg_dtype dtype = common(eval, choice->result, i);
	struct dfg_edge in[2], merge = {0, 0};
	for (int side = 0; side < 2; side++) {
		struct dfg_datum *datum = &choice->result[side][i];
		struct dfg_saved_region saved;
		if (datum->kind != DFG_DATUM_TENSOR) {
			dfg_region_go(eval, choice->branch->arm[side], &saved);
			struct dfg_err *err = make_result(eval, datum, dtype, choice->branch->arm[side]);
			dfg_region_back(eval, &saved);
			DFG_TRY(dfg_eval_at(eval, choice->arm[side], err));
		}
		in[side] = datum->edge;
	}
	const struct dfg_inferred *a = dfg_eval_fact(eval, in[1]), *b = dfg_eval_fact(eval, in[0]);
	if (a->dtype != b->dtype)
		return arms_differ(eval, choice, i, "cast one of them");
	if (a->shape.rank >= 0 && b->shape.rank >= 0 && a->shape.rank != b->shape.rank)
		return arms_differ(eval, choice, i, "both must have the same number of axes");
	DFG_TRY(
		dfg_region_build(eval, &(struct dfg_new_node){.op = "Merge", .in = in, .n_in = 2}, eval->region, &merge.node));
	*out_datum = DFG_TENSOR(merge);
	return NULL;
}

/* The effects of an arm must run when the conditional does: a Merge outside represents those of both arms. */
static struct dfg_err *keep_effects(struct dfg_eval *eval, const struct dfg_branch *branch)
{
	struct dfg_edge in[2];
	uint32_t merge;
	if (!branch->arm[0]->effects.n && !branch->arm[1]->effects.n)
		return NULL;
	for (int side = 0; side < 2; side++) {
		struct dfg_edge pivot = {0, 0};
		DFG_TRY(dfg_region_pivot(eval, branch->arm[side], &pivot.node));
		DFG_TRY(dfg_region_token(eval, branch->arm[side], pivot, &branch->arm[side]->effects, &in[side]));
	}
	DFG_TRY(dfg_region_build(eval, &(struct dfg_new_node){.op = "Merge", .in = in, .n_in = 2}, eval->region, &merge));
	return dfg_eval_effect(eval, merge);
}

static struct dfg_err *gather(struct dfg_eval *eval, struct choice *choice, struct dfg_datum *out_datum)
{
	uint32_t n = choice->n[1];
	if (n != choice->n[0])
		return DFG_ERR(DFG_DATA, "one arm has %u value%s, the other %u", n, dfg_plural(n), choice->n[0]);
	*out_datum = (struct dfg_datum){0};
	if (n != 1)
		DFG_TRY(dfg_list_new(eval, DFG_DATUM_TUPLE, n, out_datum));
	for (uint32_t i = 0; i < n; i++)
		DFG_TRY(meet(eval, choice, i, n == 1 ? out_datum : &out_datum->list.item[i]));
	DFG_TRY(dfg_view_join(eval, choice->branch));
	DFG_TRY(keep_effects(eval, choice->branch));
	if (!n)
		*out_datum = (struct dfg_datum){0};
	return NULL;
}

static struct dfg_err *predicate(struct dfg_eval *eval, const struct dfg_datum *datum, struct dfg_edge *out_edge)
{
	enum dfg_dtype dtype = dfg_datum_dtype(eval, datum);
	if (!dfg_datum_is_tensor(datum) || dtype != DFG_BOOL)
		return DFG_ERR(DFG_DATA, "`if` requires a bool, not %s", dfg_datum_words(eval, datum));
	DFG_TRY(dfg_to_edge(eval, datum, DFG_BOOL, out_edge));
	if (dfg_eval_fact(eval, *out_edge)->shape.rank > 0)
		return DFG_ERR(DFG_DATA,
			"`if` requires a scalar bool, not %s; to choose element by element, use where(c, a, b)",
			dfg_datum_words(eval, datum));
	return dfg_region_anchor(eval, *out_edge, out_edge);
}

struct dfg_err *dfg_eval_if(
	struct dfg_eval *eval, struct dfg_name_scope *bindings, const struct dfg_tree *tree, struct dfg_datum *out_datum)
{
	struct choice choice = {.arm = {tree->kid[2], tree->kid[1]}, .tree = tree};
	struct dfg_datum condition;
	DFG_TRY(dfg_eval_expr(eval, bindings, tree->kid[0], &condition));
	if (condition.kind == DFG_DATUM_BOOL)
		return eval_arm(eval, bindings, choice.arm[condition.truth], out_datum);
	choice.branch = dfg_arena_zeros(eval->arena, 1, sizeof *choice.branch);
	if (!choice.branch)
		return dfg_no_memory("the arms of a branch");
	DFG_TRY(dfg_eval_at(eval, tree->kid[0], predicate(eval, &condition, &choice.branch->predicate)));
	for (int side = 0; side < 2; side++)
		DFG_TRY(dfg_region_new(eval, choice.branch, side, &choice.branch->arm[side]));
	DFG_TRY(evaluate_both(eval, bindings, &choice));
	return gather(eval, &choice, out_datum);
}

static struct dfg_err *new_tree(
	struct dfg_eval *eval, enum dfg_tree_kind kind, const struct dfg_tree *like, uint32_t n, struct dfg_tree **out_tree)
{
	struct dfg_tree *tree = dfg_arena_zeros(eval->arena, 1, sizeof *tree);
	if (!tree || !(tree->kid = dfg_arena_zeros(eval->arena, n, sizeof(struct dfg_tree *))))
		return dfg_no_memory("the arms of a branch");
	tree->kind = kind;
	tree->at = like->at;
	tree->n = n;
	*out_tree = tree;
	return NULL;
}

/* `if index == i ARM else REST` */
static struct dfg_err *one_way(struct dfg_eval *eval, const struct dfg_tree *tree, uint32_t i, struct dfg_tree **rest)
{
	struct dfg_tree *choice, *equal, *number, *index;
	DFG_TRY(new_tree(eval, DFG_TREE_IF, tree->kid[i + 1], 3, &choice));
	DFG_TRY(new_tree(eval, DFG_TREE_BINARY, tree->kid[0], 2, &equal));
	DFG_TRY(new_tree(eval, DFG_TREE_NUMBER, tree->kid[0], 0, &number));
	DFG_TRY(new_tree(eval, DFG_TREE_NAME, tree->kid[0], 0, &index));
	index->text = "case index";
	number->number = (struct dfg_number){true, i, i};
	equal->operation = DFG_OPERATOR_EQUAL;
	equal->kid[0] = index;
	equal->kid[1] = number;
	choice->kid[0] = equal;
	choice->kid[1] = tree->kid[i + 1];
	choice->kid[2] = *rest;
	*rest = choice;
	return NULL;
}

/* A `case` is a chain of `if`, so that only one arm runs; an index without an arm of its own selects `else`. */
struct dfg_err *dfg_eval_case(
	struct dfg_eval *eval, struct dfg_name_scope *bindings, const struct dfg_tree *tree, struct dfg_datum *out_datum)
{
	struct dfg_tree *chain = tree->kid[tree->n - 1];
	struct dfg_name_scope *inner;
	struct dfg_datum index;
	DFG_TRY(dfg_eval_expr(eval, bindings, tree->kid[0], &index));
	bool is_int =
		index.kind == DFG_DATUM_NUMBER ? index.number.is_int : dfg_dtype_is(dfg_datum_dtype(eval, &index), "int");
	if (!is_int)
		return dfg_eval_at(
			eval, tree->kid[0], DFG_ERR(DFG_DATA, "`case` requires an integer, not %s", dfg_datum_words(eval, &index)));
	if (index.kind == DFG_DATUM_TENSOR && dfg_eval_fact(eval, index.edge)->shape.rank > 0)
		return dfg_eval_at(eval, tree->kid[0],
			DFG_ERR(DFG_DATA, "`case` requires a scalar integer, not %s", dfg_datum_words(eval, &index)));
	DFG_TRY(dfg_name_scope_new(eval, bindings, &inner));
	inner->kind = DFG_SCOPE_BRANCH;
	DFG_TRY(dfg_name_scope_put(eval->arena, inner, "case index", index));
	for (uint32_t i = tree->n - 2; i--;)
		DFG_TRY(one_way(eval, tree, i, &chain));
	if (chain->kind == DFG_TREE_BLOCK) /* `else` is the only arm */
		return dfg_eval_block(eval, inner, chain, out_datum);
	return dfg_eval_expr(eval, inner, chain, out_datum);
}
