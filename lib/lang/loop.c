#include "lib/lang/loop_private.h"

#include "lib/lang/eval_private.h"
#include "lib/lang/loop_bounds_private.h"
#include "lib/lang/materialise_private.h"
#include "lib/lang/name_scope_private.h"
#include "lib/lang/parallel_private.h"
#include "lib/lang/ssa_private.h"
#include "lib/base/plural.h"

#include <inttypes.h>
#include <string.h>

/*
 * loop (h = start) for x in xs, t in 0..n while c { yield y; next h2 } becomes one frame with the carried values, a
 * counter if iterations are counted, the condition, and a body that begins at the Switches. Exits give the values for
 * which the condition is false.
 */

enum { WINDOW = 10 }; /* iterations that may run at the same time, unless the loop says otherwise */

static struct dfg_err *eval_named(struct dfg_eval *eval, struct dfg_name_scope *bindings, const char *name,
	const struct dfg_tree *tree, struct dfg_datum *out_datum)
{
	const char *scope = eval->scope;
	DFG_TRY(dfg_eval_path(eval, scope, name, &eval->scope));
	struct dfg_err *err = dfg_eval_expr(eval, bindings, tree, out_datum);
	eval->scope = scope;
	return err;
}

static struct dfg_err *check_name(const struct dfg_lang_loop *loop, const struct dfg_tree *argument, uint32_t before)
{
	if (!argument->text)
		return DFG_ERR(DFG_DATA, "a value that the loop carries requires a name: loop (h = ...)");
	for (uint32_t i = 0; i < before; i++)
		if (!strcmp(loop->carried[i].name, argument->text))
			return DFG_ERR(DFG_DATA, "the loop already carries a value named '%s'", argument->text);
	return NULL;
}

/* Evaluates the first values in the region around the loop. They are kept in .outside until the frame exists. */
static struct dfg_err *first_values(struct dfg_eval *eval, struct dfg_name_scope *bindings, struct dfg_lang_loop *loop)
{
	const struct dfg_tree *arguments = loop->tree->kid[0];
	loop->n = arguments ? arguments->n : 0;
	loop->carried = dfg_arena_zeros(eval->arena, loop->n, sizeof *loop->carried);
	if (!loop->carried)
		return dfg_no_memory("a loop");
	for (uint32_t i = 0; i < loop->n; i++) {
		const struct dfg_tree *argument = arguments->kid[i];
		struct dfg_carried *carried = &loop->carried[i];
		struct dfg_datum first;
		DFG_TRY(dfg_eval_at(eval, argument, check_name(loop, argument, i)));
		*carried = (struct dfg_carried){.name = argument->text, .tree = argument};
		DFG_TRY(eval_named(eval, bindings, argument->text, argument->kid[0], &first));
		DFG_TRY(dfg_eval_at(eval, argument, dfg_to_edge(eval, &first, DFG_NO_DTYPE, &carried->outside)));
	}
	return NULL;
}

static struct dfg_err *mark_growing(struct dfg_eval *eval, struct dfg_lang_loop *loop, const struct dfg_tree *name)
{
	struct dfg_nearest nearest = {.word = name->kind == DFG_TREE_NAME ? name->text : NULL};
	if (name->kind == DFG_TREE_LIST || name->kind == DFG_TREE_TUPLE) {
		for (uint32_t i = 0; i < name->n; i++)
			DFG_TRY(mark_growing(eval, loop, name->kid[i]));
		return NULL;
	}
	if (name->kind != DFG_TREE_NAME)
		return dfg_eval_at(
			eval, name, DFG_ERR(DFG_DATA, "`grows` requires the name of a value that the loop carries: grows = h"));
	for (uint32_t i = 0; i < loop->n; i++) {
		if (!strcmp(loop->carried[i].name, name->text)) {
			loop->carried[i].grows = true;
			return NULL;
		}
		dfg_nearest_offer(&nearest, loop->carried[i].name);
	}
	return dfg_eval_at(eval, name,
		nearest.best ? DFG_ERR(DFG_DATA, "the loop carries no '%s'; did you mean '%s'?", name->text, nearest.best)
					 : DFG_ERR(DFG_DATA, "the loop carries no '%s'", name->text));
}

static struct dfg_err *window(struct dfg_eval *eval, const struct dfg_datum *datum, int64_t *out_window)
{
	DFG_TRY(dfg_to_int(eval, datum, "`parallel`", out_window));
	if (*out_window < 1 || *out_window > INT32_MAX)
		return DFG_ERR(DFG_DATA, "`parallel` is %" PRId64 ", must be from 1 to %d", *out_window, INT32_MAX);
	return NULL;
}

/* with (parallel = 32, limit = 1000, grows = h) */
static struct dfg_err *options(
	struct dfg_eval *eval, struct dfg_name_scope *bindings, struct dfg_lang_loop *loop, struct dfg_counting *counting)
{
	const struct dfg_tree *arguments = loop->tree->kid[3];
	for (uint32_t i = 0; arguments && i < arguments->n; i++) {
		const struct dfg_tree *argument = arguments->kid[i];
		struct dfg_nearest nearest = {.word = argument->text ? argument->text : ""};
		struct dfg_datum datum;
		if (argument->text && !strcmp(argument->text, "grows")) {
			DFG_TRY(mark_growing(eval, loop, argument->kid[0]));
			continue;
		}
		DFG_TRY(dfg_eval_expr(eval, bindings, argument->kid[0], &datum));
		if (argument->text && !strcmp(argument->text, "parallel"))
			DFG_TRY(dfg_eval_at(eval, argument, window(eval, &datum, &counting->window)));
		else if (argument->text && !strcmp(argument->text, "limit"))
			DFG_TRY(dfg_eval_at(eval, argument, dfg_count_limit(eval, counting, &datum)));
		else {
			dfg_nearest_offer(&nearest, "parallel");
			dfg_nearest_offer(&nearest, "limit");
			dfg_nearest_offer(&nearest, "grows");
			return dfg_eval_at(eval, argument,
				DFG_ERR(DFG_DATA, "the options of a loop are `parallel`, `limit` and `grows`%s%s%s",
					nearest.best ? "; did you mean '" : "", nearest.best ? nearest.best : "",
					nearest.best ? "'?" : ""));
		}
	}
	return NULL;
}

static struct dfg_err *make_frame(
	struct dfg_eval *eval, struct dfg_lang_loop *loop, const struct dfg_counting *counting)
{
	DFG_TRY(dfg_region_new(eval, NULL, 0, &loop->frame));
	loop->frame->loop = loop;
	loop->frame->window = counting->window;
	loop->frame->control = counting->control;
	loop->frame->n_control = counting->n_control;
	return dfg_counter_next(eval, &eval->frames, *eval->scope ? eval->scope : "loop", &loop->frame->frame_name);
}

static struct dfg_err *carry_all(struct dfg_eval *eval, struct dfg_lang_loop *loop)
{
	const char *scope = eval->scope;
	struct dfg_err *err = NULL;
	for (uint32_t i = 0; i < loop->n && !err; i++) {
		struct dfg_carried *carried = &loop->carried[i];
		err = dfg_eval_path(eval, scope, carried->name, &eval->scope);
		if (!err)
			err = dfg_carry(eval, loop, carried, carried->outside);
	}
	eval->scope = scope;
	return err;
}

static struct dfg_err *while_condition(
	struct dfg_eval *eval, struct dfg_name_scope *bindings, struct dfg_lang_loop *loop, struct dfg_edge *out_edge)
{
	const struct dfg_tree *tree = loop->tree->kid[2];
	struct dfg_name_scope *names;
	struct dfg_datum datum;
	DFG_TRY(dfg_name_scope_new(eval, bindings, &names));
	names->kind = DFG_SCOPE_LOOP;
	for (uint32_t i = 0; i < loop->n; i++)
		DFG_TRY(dfg_name_scope_put(eval->arena, names, loop->carried[i].name, DFG_TENSOR(loop->carried[i].merge)));
	DFG_TRY(dfg_count_bind(eval, loop, names, tree));
	DFG_TRY(dfg_eval_expr(eval, names, tree, &datum));
	bool is_bool = datum.kind == DFG_DATUM_BOOL || dfg_datum_dtype(eval, &datum) == DFG_BOOL;
	if (is_bool)
		DFG_TRY(dfg_eval_at(eval, tree, dfg_to_edge(eval, &datum, DFG_BOOL, out_edge)));
	if (!is_bool || dfg_eval_fact(eval, *out_edge)->shape.rank > 0)
		return dfg_eval_at(
			eval, tree, DFG_ERR(DFG_DATA, "`while` requires a scalar bool, not %s", dfg_datum_words(eval, &datum)));
	if (datum.kind == DFG_DATUM_BOOL && datum.truth && !loop->counting->is_closed)
		return dfg_eval_at(eval, tree, DFG_ERR(DFG_DATA, "this loop never ends: `while true`"));
	return NULL;
}

static struct dfg_err *condition(struct dfg_eval *eval, struct dfg_name_scope *bindings, struct dfg_lang_loop *loop)
{
	struct dfg_edge in[2], both;
	int n = 0;
	if (loop->counting->is_closed)
		DFG_TRY(dfg_count_condition(eval, loop, &in[n++]));
	if (loop->tree->kid[2])
		DFG_TRY(while_condition(eval, bindings, loop, &in[n++]));
	both = in[0];
	if (n == 2)
		DFG_TRY(dfg_eval_node(eval, "LogicalAnd", in, 2, &both));
	struct dfg_attr mark[DFG_PARALLEL_MARKS];
	struct dfg_new_node want = {.op = "LoopCond", .in = &both, .n_in = 1, .attr = mark};
	want.n_attr = loop->parallel ? dfg_parallel_marks(loop->parallel, mark) : 0;
	loop->condition = (struct dfg_edge){0, 0};
	return dfg_eval_build(eval, &want, DFG_NAME_NONE, &loop->condition.node);
}

static struct dfg_err *decide(struct dfg_eval *eval, struct dfg_name_scope *bindings, struct dfg_lang_loop *loop)
{
	struct dfg_saved_region saved;
	if (!loop->counting->is_closed && !loop->tree->kid[2])
		return DFG_ERR(
			DFG_DATA, "this loop never ends: it requires `while`, a sequence that ends, or `with (limit = n)`");
	dfg_region_go(eval, loop->frame, &saved);
	struct dfg_err *err = condition(eval, bindings, loop);
	dfg_region_back(eval, &saved);
	return err;
}

static struct dfg_err *make_body(struct dfg_eval *eval, struct dfg_lang_loop *loop)
{
	struct dfg_branch *branch = dfg_arena_zeros(eval->arena, 1, sizeof *branch);
	struct dfg_saved_region saved;
	if (!branch)
		return dfg_no_memory("a loop");
	dfg_region_go(eval, loop->frame, &saved);
	struct dfg_err *err = dfg_region_new(eval, branch, 1, &loop->body);
	dfg_region_back(eval, &saved);
	DFG_TRY(err);
	branch->predicate = loop->condition;
	branch->arm[1] = loop->body;
	loop->body->loop = loop;
	const char *scope = eval->scope;
	for (uint32_t i = 0; i < loop->n && !err; i++) {
		err = dfg_eval_path(eval, scope, loop->carried[i].name, &eval->scope);
		if (!err)
			err = dfg_carry_in(eval, loop, &loop->carried[i]);
	}
	eval->scope = scope;
	if (!err && loop->counter.merge.node != DFG_NONE)
		err = dfg_carry_in(eval, loop, &loop->counter);
	return err;
}

static struct dfg_err *evaluate_statements(
	struct dfg_eval *eval, struct dfg_name_scope *names, struct dfg_lang_loop *loop)
{
	const struct dfg_tree *block = loop->tree->kid[4];
	struct dfg_datum last;
	for (uint32_t i = 0; i < loop->n; i++)
		DFG_TRY(dfg_name_scope_put(eval->arena, names, loop->carried[i].name, DFG_TENSOR(loop->carried[i].inside)));
	DFG_TRY(dfg_count_bind(eval, loop, names, block));
	DFG_TRY(dfg_eval_block(eval, names, block, &last));
	if (last.kind != DFG_DATUM_NONE && block->n && block->kid[block->n - 1]->kind == DFG_TREE_DO)
		return dfg_eval_at(eval, block->kid[block->n - 1],
			DFG_ERR(DFG_DATA, "this value is not used: the results of a body are those of `yield` and `next`"));
	if (loop->n && !loop->next)
		return DFG_ERR(DFG_DATA, "`next` is missing: the body does not give '%s' a value for the next iteration",
			loop->carried[0].name);
	return NULL;
}

/* Whether all known dimensions of the first shape are the same in the next one. */
static bool keeps(const struct dfg_shape *first, const struct dfg_shape *next)
{
	if (first->rank < 0)
		return true;
	for (int i = 0; i < first->rank && first->rank == next->rank; i++)
		if (first->dim[i] != DFG_UNKNOWN && first->dim[i] != next->dim[i])
			return false;
	return first->rank == next->rank;
}

static struct dfg_err *check_next(
	struct dfg_eval *eval, const struct dfg_carried *carried, const struct dfg_datum *datum, struct dfg_edge *out_edge)
{
	const struct dfg_inferred *first = dfg_eval_fact(eval, carried->merge);
	enum dfg_dtype dtype = dfg_datum_dtype(eval, datum);
	if (dtype && dtype != first->dtype)
		return DFG_ERR(DFG_DATA, "'%s' begins as %s, but its next value is %s: cast one of them", carried->name,
			dfg_type_words(first->dtype, &first->shape).s, dfg_datum_words(eval, datum));
	struct dfg_err *err = dfg_to_edge(eval, datum, first->dtype, out_edge);
	if (err)
		return dfg_err_note(err, "'%s' begins as %s", carried->name, dfg_type_words(first->dtype, &first->shape).s);
	const struct dfg_inferred *next = dfg_eval_fact(eval, *out_edge);
	if (keeps(&first->shape, &next->shape))
		return NULL;
	const char *words = dfg_arena_print(eval->arena, "%s", dfg_type_words(first->dtype, &first->shape).s);
	if (carried->grows || (first->shape.rank >= 0 && next->shape.rank >= 0 && first->shape.rank != next->shape.rank))
		return DFG_ERR(DFG_DATA, "'%s' begins as %s, but its next value is %s", carried->name, words ? words : "",
			dfg_type_words(next->dtype, &next->shape).s);
	return DFG_ERR(DFG_DATA,
		"'%s' begins as %s, but its next value is %s: if that is intended, add `with (grows = %s)`", carried->name,
		words ? words : "", dfg_type_words(next->dtype, &next->shape).s, carried->name);
}

static struct dfg_err *set_next_values(struct dfg_eval *eval, struct dfg_lang_loop *loop)
{
	const struct dfg_datum *value = &loop->next_value;
	uint32_t n = !loop->next ? 0 : value->kind == DFG_DATUM_TUPLE ? value->list.n : value->kind != DFG_DATUM_NONE;
	const char *scope = eval->scope;
	if (n != loop->n)
		return dfg_eval_at(eval, loop->next,
			DFG_ERR(DFG_DATA, "the loop carries %u value%s, but `next` has %u", loop->n, dfg_plural(loop->n), n));
	for (uint32_t i = 0; i < n; i++) {
		struct dfg_carried *carried = &loop->carried[i];
		const struct dfg_tree *at = loop->next->kid[0]->n == n ? loop->next->kid[0]->kid[i] : loop->next;
		struct dfg_edge edge;
		DFG_TRY(dfg_eval_path(eval, scope, carried->name, &eval->scope));
		struct dfg_err *err =
			check_next(eval, carried, value->kind == DFG_DATUM_TUPLE ? &value->list.item[i] : value, &edge);
		if (!err)
			err = dfg_carry_on(eval, loop, carried, edge);
		eval->scope = scope;
		DFG_TRY(dfg_eval_at(eval, at, err));
	}
	return NULL;
}

static struct dfg_err *body(struct dfg_eval *eval, struct dfg_name_scope *bindings, struct dfg_lang_loop *loop)
{
	struct dfg_lang_loop *outer = eval->loop;
	struct dfg_parallel *parallel = eval->parallel;
	bool under_if = eval->under_if;
	struct dfg_name_scope *names;
	DFG_TRY(dfg_name_scope_new(eval, bindings, &names));
	names->kind = DFG_SCOPE_LOOP;
	eval->loop = loop;
	eval->parallel = loop->parallel ? loop->parallel : parallel;
	eval->under_if = false;
	struct dfg_err *err = evaluate_statements(eval, names, loop);
	if (!err)
		err = set_next_values(eval, loop);
	eval->loop = outer;
	eval->parallel = parallel;
	eval->under_if = under_if;
	return err;
}

static struct dfg_err *evaluate_body(struct dfg_eval *eval, struct dfg_name_scope *bindings, struct dfg_lang_loop *loop)
{
	struct dfg_saved_region saved;
	dfg_region_go(eval, loop->body, &saved);
	struct dfg_err *err = body(eval, bindings, loop);
	dfg_region_back(eval, &saved);
	return err;
}

/* The loop carries a boolean that comes after the effects of the body, so that its Exit comes after all of them. */
static struct dfg_err *keep_effects(struct dfg_eval *eval, struct dfg_lang_loop *loop)
{
	const struct dfg_nodes *effects = &loop->body->effects;
	struct dfg_carried token = {.name = "done"};
	struct dfg_edge next, first;
	if (!effects->n)
		return NULL;
	DFG_TRY(dfg_to_edge(eval, &DFG_BOOLEAN(true), DFG_BOOL, &first));
	DFG_TRY(dfg_carry(eval, loop, &token, first));
	DFG_TRY(dfg_region_token(eval, loop->body, token.inside, effects, &next));
	DFG_TRY(dfg_carry_on(eval, loop, &token, next));
	DFG_TRY(dfg_carry_out(eval, loop, &token));
	return dfg_eval_effect(eval, token.outside.node);
}

static struct dfg_err *results(struct dfg_eval *eval, struct dfg_lang_loop *loop, struct dfg_datum *out_datum)
{
	uint32_t n = loop->n + loop->n_yields;
	DFG_TRY(dfg_list_new(eval, DFG_DATUM_TUPLE, n, out_datum));
	for (uint32_t i = 0; i < loop->n; i++) {
		DFG_TRY(dfg_carry_out(eval, loop, &loop->carried[i]));
		out_datum->list.item[i] = DFG_TENSOR(loop->carried[i].outside);
	}
	DFG_TRY(dfg_yield_out(eval, loop, out_datum->list.item + loop->n));
	if (n == 1)
		*out_datum = out_datum->list.item[0];
	if (!n)
		*out_datum = (struct dfg_datum){0};
	return NULL;
}

/*
 * Whether the value may differ between iterations, as far as a search of a few nodes shows. *out_reads: whether it
 * depends on a value from outside the loop that is not a constant.
 */
static bool may_change(const struct dfg_graph *graph, struct dfg_edge edge, bool *out_reads)
{
	enum { STEPS = 256 };
	uint32_t work[STEPS] = {edge.node}, n = 1;
	*out_reads = false;
	for (uint32_t i = 0; i < n; i++) {
		const struct dfg_node *node = &graph->node[work[i]];
		enum dfg_role role = node->op ? node->op->role : DFG_PLAIN;
		bool plain = role == DFG_CONST || role == DFG_IDENTITY || role == DFG_LOOP_COND ||
					 (role == DFG_PLAIN && node->op && !(node->op->flags & DFG_STATEFUL));
		if (role == DFG_ENTER) {
			const struct dfg_op *op = graph->node[node->in[0].node].op;
			*out_reads |= op && op->role != DFG_CONST;
			continue;
		}
		if (!plain || n + node->n_in > STEPS)
			return true;
		for (uint32_t e = 0; e < node->n_in; e++)
			work[n++] = node->in[e].node;
	}
	return false;
}

/* Warns of a condition that never changes. To be called when all carried values are known, those of variables too. */
static struct dfg_err *warn_of_constant_condition(struct dfg_eval *eval, const struct dfg_lang_loop *loop)
{
	const struct dfg_tree *tree = loop->tree->kid[2];
	bool reads;
	if (!tree || loop->counting->is_closed || may_change(eval->builder->graph, loop->condition, &reads) || !reads)
		return NULL;
	const char *name = tree->kind == DFG_TREE_NAME ? tree->text : NULL;
	const char *what = dfg_arena_print(eval->arena,
		"%s%s%s between iterations, so this loop either never begins or never ends",
		name ? "'" : "no value that the condition reads changes", name ? name : "", name ? "' does not change" : "");
	return what ? dfg_eval_warn(eval, tree, what) : dfg_no_memory("a loop");
}

static struct dfg_err *finish(struct dfg_eval *eval, struct dfg_lang_loop *loop, struct dfg_datum *out_datum)
{
	DFG_TRY(dfg_yield_on(eval, loop));
	if (loop->counter.merge.node != DFG_NONE)
		DFG_TRY(dfg_count_on(eval, loop));
	DFG_TRY(keep_effects(eval, loop));
	DFG_TRY(dfg_view_close(eval, loop));
	if (!loop->n && loop->counter.merge.node == DFG_NONE && !loop->body->views)
		return DFG_ERR(DFG_DATA, "this loop never ends: it carries no value that `while` could test");
	DFG_TRY(warn_of_constant_condition(eval, loop));
	return results(eval, loop, out_datum);
}

struct dfg_err *dfg_eval_loop(
	struct dfg_eval *eval, struct dfg_name_scope *bindings, const struct dfg_tree *tree, struct dfg_datum *out_datum)
{
	struct dfg_lang_loop *loop = dfg_arena_zeros(eval->arena, 1, sizeof *loop);
	struct dfg_counting *counting = dfg_arena_zeros(eval->arena, 1, sizeof *counting);
	if (!loop || !counting)
		return dfg_no_memory("a loop");
	loop->tree = tree;
	loop->counting = counting;
	counting->window = WINDOW;
	loop->counter = (struct dfg_carried){.name = "counter", .merge = {DFG_NONE, 0}};
	loop->condition.node = DFG_NONE;
	DFG_TRY(first_values(eval, bindings, loop));
	DFG_TRY(tree->truth ? dfg_parallel_options(eval, bindings, loop) : options(eval, bindings, loop, counting));
	DFG_TRY(dfg_count_begin(eval, bindings, loop));
	DFG_TRY(make_frame(eval, loop, counting));
	DFG_TRY(carry_all(eval, loop));
	DFG_TRY(dfg_count_enter(eval, loop));
	DFG_TRY(decide(eval, bindings, loop));
	DFG_TRY(make_body(eval, loop));
	DFG_TRY(evaluate_body(eval, bindings, loop));
	return finish(eval, loop, out_datum);
}

static struct dfg_err *misplaced(const struct dfg_eval *eval, const char *what)
{
	if (eval->loop)
		return DFG_ERR(DFG_DATA, "`%s` is not allowed within `if`: assign the value of the `if` to a name and %s that",
			what, what);
	return DFG_ERR(DFG_DATA, "`%s` is allowed only in the body of a loop", what);
}

struct dfg_err *dfg_eval_next(struct dfg_eval *eval, struct dfg_name_scope *bindings, const struct dfg_tree *tree)
{
	struct dfg_lang_loop *loop = eval->loop;
	if (!loop || eval->under_if)
		return misplaced(eval, "next");
	if (loop->parallel)
		return DFG_ERR(
			DFG_DATA, "`next` is not allowed in `parallel for`, whose iterations carry no values: set a state");
	if (loop->next)
		return DFG_ERR(DFG_DATA, "a body may have only one `next`, at its end");
	DFG_TRY(dfg_eval_tuple(eval, bindings, tree->kid[0], &loop->next_value));
	loop->next = tree;
	return NULL;
}

static bool is_same_offset(const void *arg, uint32_t item)
{
	return *(const uint32_t *)arg == item;
}

struct dfg_err *dfg_eval_yield(struct dfg_eval *eval, struct dfg_name_scope *bindings, const struct dfg_tree *tree)
{
	struct dfg_lang_loop *loop = eval->loop;
	struct dfg_datum datum;
	struct dfg_edge edge;
	if (!loop || eval->under_if)
		return misplaced(eval, "yield");
	if (dfg_index_find(&loop->yield_index, tree->at * 0x9e3779b1u, is_same_offset, &tree->at) != UINT32_MAX)
		return DFG_ERR(DFG_DATA, "this `yield` is evaluated twice in an iteration: move it out of `static for`");
	DFG_TRY(dfg_index_add(eval->arena, &loop->yield_index, tree->at * 0x9e3779b1u, tree->at));
	DFG_TRY(dfg_eval_expr(eval, bindings, tree->kid[0], &datum));
	DFG_TRY(dfg_to_edge(eval, &datum, DFG_NO_DTYPE, &edge));
	return dfg_yield_add(eval, loop, tree, edge);
}
