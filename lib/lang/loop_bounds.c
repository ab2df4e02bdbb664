#include "lib/lang/loop_bounds_private.h"

#include "lib/lang/eval_private.h"
#include "lib/lang/materialise_private.h"
#include "lib/lang/name_scope_private.h"
#include "lib/lang/region_private.h"

#include <string.h>

/*
 * Whether the text reads the name. The first kid is followed by iteration, because chains of operators, calls and
 * indices nest there.
 */
static bool mentions(const struct dfg_tree *tree, const char *name)
{
	for (; tree; tree = tree->n ? tree->kid[0] : NULL) {
		if (tree->kind == DFG_TREE_NAME && !strcmp(tree->text, name))
			return true;
		for (uint32_t i = 1; i < tree->n; i++)
			if (mentions(tree->kid[i], name))
				return true;
	}
	return false;
}

static bool yields(const struct dfg_tree *tree)
{
	for (; tree && tree->kind != DFG_TREE_LOOP; tree = tree->n ? tree->kid[0] : NULL) {
		if (tree->kind == DFG_TREE_YIELD)
			return true;
		for (uint32_t i = 1; i < tree->n; i++)
			if (yields(tree->kid[i]))
				return true;
	}
	return false;
}

static bool is_int(const struct dfg_datum *datum, int64_t *out_value)
{
	*out_value = datum->kind == DFG_DATUM_NUMBER ? datum->number.i : 0;
	return datum->kind == DFG_DATUM_NUMBER;
}

static bool are_ints(const struct dfg_datum *a, const struct dfg_datum *b, int64_t *out_a, int64_t *out_b)
{
	*out_a = *out_b = 0;
	return is_int(a, out_a) && is_int(b, out_b);
}

/* Checks that the datum is an int or an i32 scalar; `what` names it. */
static struct dfg_err *check_bound(struct dfg_eval *eval, const struct dfg_datum *datum, const char *what)
{
	struct dfg_edge edge;
	if (datum->kind == DFG_DATUM_NUMBER && datum->number.is_int)
		return datum->number.i == (int32_t)datum->number.i
				   ? NULL
				   : DFG_ERR(
						 DFG_DATA, "%s requires a number that fits i32, not %lld", what, (long long)datum->number.i);
	if (!dfg_datum_is_tensor(datum))
		return DFG_ERR(DFG_DATA, "%s requires an integer, not %s", what, dfg_datum_words(eval, datum));
	if (dfg_datum_dtype(eval, datum) != DFG_I32)
		return DFG_ERR(DFG_DATA, "%s requires i32, not %s: cast it", what, dfg_datum_words(eval, datum));
	DFG_TRY(dfg_to_edge(eval, datum, DFG_I32, &edge));
	if (dfg_eval_fact(eval, edge)->shape.rank > 0)
		return DFG_ERR(DFG_DATA, "%s requires a scalar integer, not %s", what, dfg_datum_words(eval, datum));
	return NULL;
}

struct dfg_err *dfg_count_limit(struct dfg_eval *eval, struct dfg_counting *counting, const struct dfg_datum *datum)
{
	counting->limit = *datum;
	return check_bound(eval, datum, "`limit`");
}

static struct dfg_err *binary(struct dfg_eval *eval, const char *op, const struct dfg_datum *a,
	const struct dfg_datum *b, struct dfg_datum *out_datum)
{
	struct dfg_edge in[2], edge;
	DFG_TRY(dfg_to_edge(eval, a, DFG_I32, &in[0]));
	DFG_TRY(dfg_to_edge(eval, b, DFG_I32, &in[1]));
	DFG_TRY(dfg_eval_node(eval, op, in, 2, &edge));
	*out_datum = DFG_TENSOR(edge);
	return NULL;
}

static struct dfg_err *range_count(struct dfg_eval *eval, struct dfg_sequence *sequence)
{
	const struct dfg_datum *end = &sequence->end;
	int64_t first, last;
	bool from_int = is_int(&sequence->first, &first), to_int = is_int(end, &last);
	if (from_int && to_int)
		sequence->count = DFG_INT(last > first ? last - first : 0);
	else if (from_int && !first)
		sequence->count = *end;
	else
		return binary(eval, "Sub", end, &sequence->first, &sequence->count);
	return NULL;
}

static struct dfg_err *take_range(struct dfg_eval *eval, struct dfg_name_scope *bindings, struct dfg_sequence *sequence)
{
	const struct dfg_tree *tree = sequence->tree;
	struct dfg_datum *end = &sequence->end;
	sequence->is_range = true;
	DFG_TRY(dfg_eval_expr(eval, bindings, tree->kid[0], &sequence->first));
	DFG_TRY(dfg_eval_at(eval, tree->kid[0], check_bound(eval, &sequence->first, "a range")));
	if (!tree->kid[1])
		return NULL;
	DFG_TRY(dfg_eval_expr(eval, bindings, tree->kid[1], end));
	DFG_TRY(dfg_eval_at(eval, tree->kid[1], check_bound(eval, end, "a range")));
	return range_count(eval, sequence);
}

static struct dfg_err *take_rows(struct dfg_eval *eval, struct dfg_name_scope *bindings, struct dfg_sequence *sequence)
{
	struct dfg_datum datum;
	DFG_TRY(dfg_eval_expr(eval, bindings, sequence->tree->kid[0], &datum));
	DFG_TRY(dfg_to_edge(eval, &datum, DFG_NO_DTYPE, &sequence->rows));
	const struct dfg_shape *shape = &dfg_eval_fact(eval, sequence->rows)->shape;
	if (shape->rank == 0)
		return DFG_ERR(DFG_DATA, "a loop runs over the first axis, but %s has no axes; to count, use 0..n",
			dfg_datum_words(eval, &datum));
	if (shape->rank > 0 && shape->dim[0] != DFG_UNKNOWN) {
		sequence->count = DFG_INT(shape->dim[0]);
		return NULL;
	}
	struct dfg_dim *dim = dfg_arena_zeros(eval->arena, 1, sizeof *dim);
	if (!dim)
		return dfg_no_memory("a loop");
	*dim = (struct dfg_dim){.of = sequence->rows, .axis = 0};
	sequence->count = (struct dfg_datum){DFG_DATUM_DIM, .dim = dim};
	return dfg_eval_path(eval, eval->scope, "length", &dim->path);
}

static struct dfg_err *take_sequence(
	struct dfg_eval *eval, struct dfg_name_scope *bindings, struct dfg_lang_loop *loop, uint32_t i)
{
	const struct dfg_tree *argument = loop->tree->kid[1]->kid[i];
	struct dfg_sequence *sequence = &loop->counting->sequence[i];
	const char *scope = eval->scope;
	*sequence = (struct dfg_sequence){.name = argument->text, .tree = argument->kid[0], .array[0].node = DFG_NONE};
	for (uint32_t k = 0; k < i; k++)
		if (!strcmp(loop->counting->sequence[k].name, argument->text))
			return DFG_ERR(DFG_DATA, "the loop already has a sequence named '%s'", argument->text);
	for (uint32_t k = 0; k < loop->n; k++)
		if (!strcmp(loop->carried[k].name, argument->text))
			return DFG_ERR(DFG_DATA, "the loop already carries a value named '%s'", argument->text);
	DFG_TRY(dfg_eval_path(eval, scope, argument->text, &eval->scope));
	struct dfg_err *err = (sequence->tree->range ? take_range : take_rows)(eval, bindings, sequence);
	if (!err && !sequence->is_range && mentions(loop->tree->kid[4], sequence->name))
		err = dfg_rows_open(eval, sequence);
	eval->scope = scope;
	return err;
}

static struct dfg_err *come_after(struct dfg_eval *eval, struct dfg_counting *counting, uint32_t node)
{
	uint32_t *control = dfg_arena_zeros(eval->arena, counting->n_control + 1, sizeof *control);
	if (!control)
		return dfg_no_memory("a loop");
	if (counting->n_control)
		memcpy(control, counting->control, counting->n_control * sizeof *control);
	control[counting->n_control++] = node;
	counting->control = control;
	return NULL;
}

/* The loop comes after an Assert of the condition, whose message is the words and the two numbers. */
static struct dfg_err *require(struct dfg_eval *eval, struct dfg_counting *counting, struct dfg_edge condition,
	const char *words, const struct dfg_datum *a, const struct dfg_datum *b)
{
	struct dfg_datum string = {.kind = DFG_DATUM_STRING};
	struct dfg_edge in[4] = {condition};
	uint32_t node;
	if (!words)
		return dfg_no_memory("a loop");
	string.string = (struct dfg_string){words, strlen(words)};
	DFG_TRY(dfg_to_edge(eval, &string, DFG_STRING, &in[1]));
	DFG_TRY(dfg_to_edge(eval, a, DFG_I32, &in[2]));
	DFG_TRY(dfg_to_edge(eval, b, DFG_I32, &in[3]));
	DFG_TRY(dfg_eval_build(eval, &(struct dfg_new_node){.op = "Assert", .in = in, .n_in = 4}, DFG_NAME_NONE, &node));
	return come_after(eval, counting, node);
}

/* The product of two numbers of iterations. DFG_DATA, or an Assert fails: it does not fit i32. */
static struct dfg_err *multiply(struct dfg_eval *eval, struct dfg_counting *counting, const struct dfg_datum *a,
	const struct dfg_datum *b, struct dfg_datum *out_datum)
{
	const char *words = "a product of ranges has more iterations than fit in i32:";
	struct dfg_edge in[2], fits;
	struct dfg_datum wide[2];
	int64_t x, y;
	if (are_ints(a, b, &x, &y)) {
		*out_datum = DFG_INT(x * y);
		return x && y > INT32_MAX / x ? DFG_ERR(DFG_DATA, "%s %lld * %lld", words, (long long)x, (long long)y) : NULL;
	}
	if (is_int(a, &x) && x == 1) {
		*out_datum = *b;
		return NULL;
	}
	DFG_TRY(dfg_cast(eval, a, DFG_I64, &wide[0]));
	DFG_TRY(dfg_cast(eval, b, DFG_I64, &wide[1]));
	for (int i = 0; i < 2; i++)
		DFG_TRY(dfg_to_edge(eval, &wide[i], DFG_I64, &in[i]));
	DFG_TRY(dfg_eval_node(eval, "Mul", in, 2, &in[0]));
	DFG_TRY(dfg_to_edge(eval, &DFG_INT(INT32_MAX), DFG_I64, &in[1]));
	DFG_TRY(dfg_eval_node(eval, "LessEqual", in, 2, &fits));
	DFG_TRY(require(eval, counting, fits, words, a, b));
	return binary(eval, "Mul", a, b, out_datum);
}

/* Works out the strides of a product's sequences, of which the last is the fastest, and the number of iterations. */
static struct dfg_err *multiply_all(struct dfg_eval *eval, struct dfg_counting *counting)
{
	struct dfg_datum product = DFG_INT(1);
	int64_t n;
	for (uint32_t i = counting->n; i--;) {
		struct dfg_sequence *sequence = &counting->sequence[i];
		if (!is_int(&sequence->count, &n)) {
			const struct dfg_datum count = sequence->count;
			DFG_TRY(binary(eval, "Maximum", &count, &DFG_INT(0), &sequence->count));
		}
		sequence->stride = product;
		DFG_TRY(multiply(eval, counting, &sequence->stride, &sequence->count, &product));
	}
	counting->is_closed = true;
	counting->end = product;
	return NULL;
}

/*
 * Two sequences that end must have the same length. This is checked now if both lengths are known, else by an Assert.
 */
static struct dfg_err *agree(
	struct dfg_eval *eval, struct dfg_counting *counting, const struct dfg_sequence *a, const struct dfg_sequence *b)
{
	struct dfg_datum same;
	int64_t x, y;
	if (are_ints(&a->count, &b->count, &x, &y))
		return x == y ? NULL
					  : DFG_ERR(DFG_DATA, "the sequences differ in length: '%s' has %lld, '%s' has %lld", a->name,
							(long long)x, b->name, (long long)y);
	DFG_TRY(binary(eval, "Equal", &a->count, &b->count, &same));
	return require(eval, counting, same.edge,
		dfg_arena_print(eval->arena, "the sequences '%s' and '%s' differ in length:", a->name, b->name), &a->count,
		&b->count);
}

static struct dfg_err *choose_end(struct dfg_eval *eval, struct dfg_counting *counting)
{
	const struct dfg_sequence *closed = NULL;
	int64_t x, y;
	if (counting->is_product)
		return multiply_all(eval, counting);
	for (uint32_t i = 0; i < counting->n; i++) {
		const struct dfg_sequence *sequence = &counting->sequence[i];
		if (sequence->count.kind == DFG_DATUM_NONE)
			continue;
		if (closed)
			DFG_TRY(agree(eval, counting, closed, sequence));
		if (!closed || is_int(&sequence->count, &x))
			closed = sequence;
	}
	counting->is_closed = closed || counting->limit.kind != DFG_DATUM_NONE;
	counting->end = closed ? closed->count : counting->limit;
	if (!closed || counting->limit.kind == DFG_DATUM_NONE)
		return NULL;
	if (!are_ints(&closed->count, &counting->limit, &x, &y))
		return binary(eval, "Minimum", &closed->count, &counting->limit, &counting->end);
	counting->end = DFG_INT(x < y ? x : y);
	return NULL;
}

/* The counter of a loop over one range takes its values, unless a `yield` requires the number of the iteration. */
static struct dfg_err *choose_bound(struct dfg_eval *eval, struct dfg_lang_loop *loop)
{
	struct dfg_counting *counting = loop->counting;
	const struct dfg_sequence *only = &counting->sequence[0];
	counting->from_first =
		counting->n == 1 && only->is_range && counting->limit.kind == DFG_DATUM_NONE && !yields(loop->tree->kid[4]);
	if (!counting->is_closed)
		return NULL;
	return dfg_to_edge(eval, counting->from_first ? &only->end : &counting->end, DFG_I32, &counting->bound);
}

struct dfg_err *dfg_count_begin(struct dfg_eval *eval, struct dfg_name_scope *bindings, struct dfg_lang_loop *loop)
{
	struct dfg_counting *counting = loop->counting;
	counting->n = loop->tree->kid[1] ? loop->tree->kid[1]->n : 0;
	counting->is_product = counting->n > 1 && loop->tree->kid[1]->truth;
	counting->sequence = dfg_arena_zeros(eval->arena, counting->n + 1, sizeof *counting->sequence);
	counting->control = eval->builder->control;
	counting->n_control = eval->builder->n_control;
	if (!counting->sequence)
		return dfg_no_memory("a loop");
	for (uint32_t i = 0; i < counting->n; i++)
		DFG_TRY(dfg_eval_at(eval, loop->tree->kid[1]->kid[i], take_sequence(eval, bindings, loop, i)));
	DFG_TRY(dfg_eval_at(eval, loop->tree->kid[1] ? loop->tree->kid[1] : loop->tree, choose_end(eval, counting)));
	return choose_bound(eval, loop);
}

struct dfg_err *dfg_count_enter(struct dfg_eval *eval, struct dfg_lang_loop *loop)
{
	struct dfg_counting *counting = loop->counting;
	struct dfg_edge first;
	if (!counting->n && !counting->is_closed)
		return NULL;
	DFG_TRY(dfg_to_edge(eval, counting->from_first ? &counting->sequence[0].first : &DFG_INT(0), DFG_I32, &first));
	return dfg_carry(eval, loop, &loop->counter, first);
}

struct dfg_err *dfg_count_condition(struct dfg_eval *eval, struct dfg_lang_loop *loop, struct dfg_edge *out_edge)
{
	struct dfg_edge in[] = {loop->counter.merge, loop->counting->bound};
	return dfg_eval_node(eval, "Less", in, 2, out_edge);
}

/* The position in a sequence of a product, from the number of the iteration. */
static struct dfg_err *digit(struct dfg_eval *eval, const struct dfg_counting *counting,
	const struct dfg_sequence *sequence, struct dfg_datum *counter)
{
	struct dfg_datum from = *counter;
	int64_t stride;
	if (!is_int(&sequence->stride, &stride) || stride != 1)
		DFG_TRY(binary(eval, "FloorDiv", &from, &sequence->stride, counter));
	from = *counter;
	return sequence == counting->sequence ? NULL : binary(eval, "FloorMod", &from, &sequence->count, counter);
}

static struct dfg_err *bind(
	struct dfg_eval *eval, struct dfg_lang_loop *loop, const struct dfg_sequence *sequence, struct dfg_datum *out_datum)
{
	struct dfg_edge index;
	int64_t first;
	DFG_TRY(dfg_loop_index(eval, loop, &index));
	*out_datum = DFG_TENSOR(index);
	if (!sequence->is_range)
		return dfg_rows_read(eval, sequence, index, out_datum);
	if (loop->counting->is_product)
		DFG_TRY(digit(eval, loop->counting, sequence, out_datum));
	if (loop->counting->from_first || (is_int(&sequence->first, &first) && !first))
		return NULL;
	const struct dfg_datum counter = *out_datum;
	return binary(eval, "AddV2", &counter, &sequence->first, out_datum);
}

struct dfg_err *dfg_count_bind(
	struct dfg_eval *eval, struct dfg_lang_loop *loop, struct dfg_name_scope *names, const struct dfg_tree *reader)
{
	for (uint32_t i = 0; i < loop->counting->n; i++) {
		const struct dfg_sequence *sequence = &loop->counting->sequence[i];
		struct dfg_datum datum = {0};
		bool is_read = mentions(reader, sequence->name);
		if (is_read && !sequence->is_range && eval->region == loop->frame)
			return dfg_eval_at(eval, reader,
				DFG_ERR(DFG_DATA, "`while` cannot read '%s': its rows are read only after the condition is tested",
					sequence->name));
		if (is_read)
			DFG_TRY(bind(eval, loop, sequence, &datum));
		DFG_TRY(dfg_name_scope_put(eval->arena, names, sequence->name, datum));
	}
	return NULL;
}

struct dfg_err *dfg_count_on(struct dfg_eval *eval, struct dfg_lang_loop *loop)
{
	struct dfg_saved_region saved;
	struct dfg_datum next, one = DFG_INT(1), counter = DFG_TENSOR(loop->counter.inside);
	dfg_region_go(eval, loop->body, &saved);
	struct dfg_err *err = binary(eval, "AddV2", &counter, &one, &next);
	dfg_region_back(eval, &saved);
	return err ? err : dfg_carry_on(eval, loop, &loop->counter, next.edge);
}
