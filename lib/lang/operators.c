#include "lib/lang/operators_private.h"

#include "lib/lang/eval_private.h"
#include "lib/lang/materialise_private.h"
#include "lib/lang/name_scope_private.h"
#include "lib/lang/number_private.h"

#include <string.h>

static const char *op_of(enum dfg_operator operation)
{
	return dfg_operators[operation].op;
}

static bool is_number(const struct dfg_datum *datum)
{
	return datum->kind == DFG_DATUM_NUMBER;
}

static struct dfg_err *mismatch(
	struct dfg_eval *eval, enum dfg_operator operation, const struct dfg_datum *a, const struct dfg_datum *b)
{
	return DFG_ERR(DFG_DATA, "`%s` of %s and %s: cast one of them", dfg_operators[operation].spelling,
		dfg_datum_words(eval, a), dfg_datum_words(eval, b));
}

static const char *product_op(struct dfg_eval *eval, const struct dfg_edge *in)
{
	const struct dfg_inferred *a = dfg_eval_fact(eval, in[0]), *b = dfg_eval_fact(eval, in[1]);
	return a->shape.rank == 2 && b->shape.rank == 2 ? "MatMul" : "BatchMatMulV2";
}

static struct dfg_err *tensor_binary(struct dfg_eval *eval, enum dfg_operator operation, const struct dfg_datum *a,
	const struct dfg_datum *b, struct dfg_datum *out_datum)
{
	struct dfg_edge in[2], edge;
	enum dfg_dtype x = dfg_datum_dtype(eval, a), y = dfg_datum_dtype(eval, b), dtype = x ? x : y;
	if (x && y && x != y)
		return mismatch(eval, operation, a, b);
	if (operation == DFG_OPERATOR_DIV && dfg_dtype_is(dtype, "int"))
		return DFG_ERR(DFG_DATA, "`/` requires floats, not %s: use `//`, or cast", dfg_dtype_name(dtype));
	DFG_TRY(dfg_to_edge(eval, a, dtype, &in[0]));
	DFG_TRY(dfg_to_edge(eval, b, dtype, &in[1]));
	const char *op = operation == DFG_OPERATOR_PRODUCT ? product_op(eval, in) : op_of(operation);
	DFG_TRY(dfg_eval_node(eval, op, in, 2, &edge));
	*out_datum = DFG_TENSOR(edge);
	return NULL;
}

static bool known_equal(const struct dfg_datum *a, const struct dfg_datum *b)
{
	if (a->kind != b->kind)
		return false;
	switch (a->kind) {
	case DFG_DATUM_NUMBER:
		return a->number.f == b->number.f;
	case DFG_DATUM_BOOL:
		return a->truth == b->truth;
	case DFG_DATUM_STRING:
		return a->string.length == b->string.length && !memcmp(a->string.s, b->string.s, a->string.length);
	case DFG_DATUM_DTYPE:
		return a->dtype == b->dtype;
	case DFG_DATUM_LIST:
		if (a->list.n != b->list.n)
			return false;
		for (uint32_t i = 0; i < a->list.n; i++)
			if (!known_equal(&a->list.item[i], &b->list.item[i]))
				return false;
		return true;
	default:
		return a->kind == DFG_DATUM_NONE;
	}
}

enum { LIST_MOST = 1 << 20 }; /* the most items of a list that an operator makes */

/*
 * Makes sure that n free items follow those of the list. Only the list that was joined last has free items; others that
 * begin with the same items are copied.
 */
static struct dfg_err *reserve_items(struct dfg_eval *eval, struct dfg_datum_list *list, uint32_t n)
{
	struct dfg_list_origin *origin = list->origin;
	if (origin && origin->end && origin->end == list->item + list->n && origin->capacity >= n)
		return NULL;
	uint32_t capacity = list->n + n < 4 ? 8 : 2 * (list->n + n);
	struct dfg_datum *item = dfg_arena_zeros(eval->arena, capacity, sizeof *item);
	origin = dfg_arena_zeros(eval->arena, 1, sizeof *origin);
	if (!item || !origin)
		return dfg_no_memory("the operands");
	if (list->n)
		memcpy(item, list->item, list->n * sizeof *item);
	*origin = (struct dfg_list_origin){.end = item + list->n, .capacity = capacity - list->n};
	list->item = item;
	list->origin = origin;
	return NULL;
}

static struct dfg_err *join_lists(
	struct dfg_eval *eval, const struct dfg_datum *a, const struct dfg_datum *b, struct dfg_datum *out_datum)
{
	const struct dfg_datum_list *more = &b->list;
	struct dfg_datum_list joined = a->list;
	if (joined.n + more->n > LIST_MOST)
		return DFG_ERR(DFG_DATA, "lists of %u and %u items are too long to join: the limit is %u", joined.n, more->n,
			(unsigned)LIST_MOST);
	DFG_TRY(dfg_list_grow(
		&joined, joined.depth > more->depth ? joined.depth : more->depth, (uint64_t)joined.leaves + more->leaves));
	DFG_TRY(reserve_items(eval, &joined, more->n));
	if (more->n)
		memcpy(joined.item + joined.n, more->item, more->n * sizeof *more->item);
	joined.n += more->n;
	joined.origin->end += more->n;
	joined.origin->capacity -= more->n;
	*out_datum = (struct dfg_datum){DFG_DATUM_LIST, .list = joined};
	return NULL;
}

/* [0] * 3 is [0, 0, 0]. */
static struct dfg_err *repeat_list(
	struct dfg_eval *eval, const struct dfg_datum *list, const struct dfg_datum *times, struct dfg_datum *out_datum)
{
	int64_t n;
	DFG_TRY(dfg_to_int(eval, times, "the number of repeats", &n));
	if (n < 0 || n > LIST_MOST / (list->list.n ? list->list.n : 1))
		return DFG_ERR(DFG_DATA, "a list cannot be repeated %lld times", (long long)n);
	DFG_TRY(dfg_list_new(eval, DFG_DATUM_LIST, list->list.n * (uint32_t)n, out_datum));
	for (uint32_t i = 0; i < out_datum->list.n; i++)
		out_datum->list.item[i] = list->list.item[i % list->list.n];
	return dfg_list_grow(&out_datum->list, list->list.depth, (uint64_t)list->list.leaves * (uint64_t)n);
}

/* Operators on values that are known while building, except for two numbers. */
static struct dfg_err *static_binary(struct dfg_eval *eval, enum dfg_operator operation, const struct dfg_datum *a,
	const struct dfg_datum *b, struct dfg_datum *out_datum)
{
	bool same = operation == DFG_OPERATOR_EQUAL, differ = operation == DFG_OPERATOR_UNEQUAL;
	bool lists = a->kind == DFG_DATUM_LIST && b->kind == DFG_DATUM_LIST;
	bool bools = a->kind == DFG_DATUM_BOOL && b->kind == DFG_DATUM_BOOL;
	if (same || differ)
		*out_datum = DFG_BOOLEAN(known_equal(a, b) == same);
	else if (bools && operation == DFG_OPERATOR_AND)
		*out_datum = DFG_BOOLEAN(a->truth && b->truth);
	else if (bools && operation == DFG_OPERATOR_OR)
		*out_datum = DFG_BOOLEAN(a->truth || b->truth);
	else if (lists && operation == DFG_OPERATOR_ADD)
		return join_lists(eval, a, b, out_datum);
	else if (a->kind == DFG_DATUM_LIST && is_number(b) && operation == DFG_OPERATOR_MUL)
		return repeat_list(eval, a, b, out_datum);
	else
		return DFG_ERR(DFG_DATA, "`%s` is not defined for %s and %s", dfg_operators[operation].spelling,
			dfg_datum_words(eval, a), dfg_datum_words(eval, b));
	return NULL;
}

/* Whether the datum contains no tensor, so that operators apply to it while building. */
static bool is_static(const struct dfg_datum *datum)
{
	if (datum->kind == DFG_DATUM_LIST) {
		for (uint32_t i = 0; i < datum->list.n; i++)
			if (!is_static(&datum->list.item[i]))
				return false;
		return true;
	}
	return !dfg_datum_is_tensor(datum) && datum->kind != DFG_DATUM_NOTHING;
}

static bool joins_lists(enum dfg_operator operation, const struct dfg_datum *a, const struct dfg_datum *b)
{
	return operation == DFG_OPERATOR_ADD && a->kind == DFG_DATUM_LIST && b->kind == DFG_DATUM_LIST;
}

static struct dfg_err *combine(struct dfg_eval *eval, enum dfg_operator operation, const struct dfg_datum *a,
	const struct dfg_datum *b, struct dfg_datum *out_datum)
{
	if (is_number(a) && is_number(b))
		return dfg_number_binary(operation, a->number, b->number, out_datum);
	bool compares_kind = a->kind == DFG_DATUM_NONE || b->kind == DFG_DATUM_NONE;
	if (compares_kind || joins_lists(operation, a, b) || (is_static(a) && is_static(b)))
		return static_binary(eval, operation, a, b, out_datum);
	return tensor_binary(eval, operation, a, b, out_datum);
}

/* Whether the left operand decides the result: `false and ...` and `true or ...`. */
static bool decided(enum dfg_operator operation, const struct dfg_datum *left)
{
	return left->kind == DFG_DATUM_BOOL &&
		   ((operation == DFG_OPERATOR_AND && !left->truth) || (operation == DFG_OPERATOR_OR && left->truth));
}

/* Chains such as a + b + c nest on the left. They are evaluated by iteration, so that they may have any length. */
struct dfg_err *dfg_eval_binary(
	struct dfg_eval *eval, struct dfg_name_scope *bindings, const struct dfg_tree *tree, struct dfg_datum *out_datum)
{
	uint32_t n = 0;
	const struct dfg_tree *left = tree;
	for (; left->kind == DFG_TREE_BINARY; left = left->kid[0])
		n++;
	const struct dfg_tree **chain = dfg_arena_zeros(eval->arena, n, sizeof *chain);
	if (!chain)
		return dfg_no_memory("the operands");
	for (left = tree; left->kind == DFG_TREE_BINARY; left = left->kid[0])
		chain[--n] = left;

	struct dfg_datum right;
	DFG_TRY(dfg_eval_expr(eval, bindings, left, out_datum));
	for (;; n++) {
		struct dfg_datum sum = *out_datum;
		if (!decided(chain[n]->operation, &sum)) {
			DFG_TRY(dfg_eval_expr(eval, bindings, chain[n]->kid[1], &right));
			DFG_TRY(dfg_eval_at(eval, chain[n], combine(eval, chain[n]->operation, &sum, &right, out_datum)));
		}
		if (chain[n] == tree)
			return NULL;
	}
}

static struct dfg_err *negate(const struct dfg_datum *operand, struct dfg_datum *out_datum)
{
	*out_datum = *operand;
	out_datum->number.i = (int64_t) - (uint64_t)operand->number.i;
	out_datum->number.f = -operand->number.f;
	return NULL;
}

struct dfg_err *dfg_eval_unary(
	struct dfg_eval *eval, struct dfg_name_scope *bindings, const struct dfg_tree *tree, struct dfg_datum *out_datum)
{
	struct dfg_datum operand;
	struct dfg_edge in, edge;
	DFG_TRY(dfg_eval_expr(eval, bindings, tree->kid[0], &operand));
	if (tree->operation == DFG_OPERATOR_NEGATE && is_number(&operand))
		return negate(&operand, out_datum);
	if (tree->operation == DFG_OPERATOR_NOT && operand.kind == DFG_DATUM_BOOL) {
		*out_datum = DFG_BOOLEAN(!operand.truth);
		return NULL;
	}
	DFG_TRY(dfg_to_edge(eval, &operand, DFG_NO_DTYPE, &in));
	DFG_TRY(dfg_eval_node(eval, op_of(tree->operation), &in, 1, &edge));
	*out_datum = DFG_TENSOR(edge);
	return NULL;
}
