#include "lib/lang/parallel_private.h"

#include "lib/lang/eval_private.h"
#include "lib/lang/materialise_private.h"
#include "lib/lang/name_scope_private.h"
#include "lib/lang/variable_private.h"

#include <inttypes.h>
#include <string.h>

static struct dfg_err *take_buffer(struct dfg_eval *eval, struct dfg_parallel *parallel, const struct dfg_datum *datum)
{
	bool many = datum->kind == DFG_DATUM_LIST;
	const struct dfg_datum *item = many ? datum->list.item : datum;
	uint32_t n = many ? datum->list.n : 1;
	parallel->buffer = dfg_arena_zeros(eval->arena, n, sizeof *parallel->buffer);
	if (!parallel->buffer)
		return dfg_no_memory("a loop");
	for (uint32_t i = 0; i < n; i++) {
		if (item[i].kind != DFG_DATUM_CELL)
			return DFG_ERR(
				DFG_DATA, "`buffer` requires the name of a param or state, not %s", dfg_datum_words(eval, &item[i]));
		parallel->buffer[parallel->n_buffer++] = item[i].cell;
	}
	return NULL;
}

static struct dfg_err *take_number(
	struct dfg_eval *eval, const char *name, const struct dfg_datum *datum, int64_t least, int64_t *out_number)
{
	DFG_TRY(dfg_to_int(eval, datum, name, out_number));
	if (*out_number < least || *out_number > INT32_MAX)
		return DFG_ERR(
			DFG_DATA, "`%s` is %" PRId64 ", must be from %" PRId64 " to %d", name, *out_number, least, INT32_MAX);
	return NULL;
}

static struct dfg_err *no_option(const char *given)
{
	static const char *const names[] = {"ordered", "buffer", "staleness", "clock", "batch"};
	struct dfg_nearest nearest = {.word = given ? given : ""};
	for (size_t i = 0; i < sizeof names / sizeof *names; i++)
		dfg_nearest_offer(&nearest, names[i]);
	return DFG_ERR(DFG_DATA,
		"the options of `parallel for` are `ordered`, `buffer`, `staleness`, `clock` and `batch`%s%s%s",
		nearest.best ? "; did you mean '" : "", nearest.best ? nearest.best : "", nearest.best ? "'?" : "");
}

static struct dfg_err *take_option(struct dfg_eval *eval, struct dfg_name_scope *bindings,
	const struct dfg_tree *argument, struct dfg_parallel *parallel)
{
	const struct dfg_tree *value = argument->kid[0];
	const char *name = argument->text;
	struct dfg_datum datum;
	if (!name && value->kind == DFG_TREE_NAME && !strcmp(value->text, "ordered")) {
		parallel->is_ordered = true;
		return NULL;
	}
	struct {
		const char *name;
		int64_t least, *number;
	} numbers[] = {
		{"staleness", 0, &parallel->staleness}, {"clock", 1, &parallel->clock}, {"batch", 1, &parallel->batch}};
	for (size_t i = 0; name && i < sizeof numbers / sizeof *numbers; i++)
		if (!strcmp(name, numbers[i].name)) {
			DFG_TRY(dfg_eval_expr(eval, bindings, value, &datum));
			return take_number(eval, name, &datum, numbers[i].least, numbers[i].number);
		}
	if (!name || strcmp(name, "buffer") != 0)
		return no_option(name ? name : value->kind == DFG_TREE_NAME ? value->text : NULL);
	DFG_TRY(dfg_eval_expr(eval, bindings, value, &datum));
	return take_buffer(eval, parallel, &datum);
}

struct dfg_err *dfg_parallel_options(struct dfg_eval *eval, struct dfg_name_scope *bindings, struct dfg_lang_loop *loop)
{
	const struct dfg_tree *arguments = loop->tree->kid[3];
	struct dfg_parallel *parallel = dfg_arena_zeros(eval->arena, 1, sizeof *parallel);
	if (!parallel)
		return dfg_no_memory("a loop");
	if (eval->parallel)
		return DFG_ERR(DFG_DATA,
			"a `parallel for` cannot contain another one: run over a product, `parallel for (i, j) in (0..n, 0..m)`");
	parallel->staleness = -1;
	for (uint32_t i = 0; arguments && i < arguments->n; i++)
		DFG_TRY(dfg_eval_at(eval, arguments->kid[i], take_option(eval, bindings, arguments->kid[i], parallel)));
	if (parallel->is_ordered && parallel->n_buffer)
		return DFG_ERR(
			DFG_DATA, "`ordered` and `buffer` exclude each other: reads of a buffered variable may be stale");
	if (parallel->staleness >= 0 && !parallel->n_buffer)
		return DFG_ERR(DFG_DATA, "`staleness` requires `buffer`, which names the variables that may be read stale");
	parallel->staleness = parallel->staleness < 0 ? 0 : parallel->staleness;
	loop->parallel = parallel;
	return NULL;
}

uint32_t dfg_parallel_marks(const struct dfg_parallel *parallel, struct dfg_attr out_mark[DFG_PARALLEL_MARKS])
{
	uint32_t n = 0;
	out_mark[n++] = DFG_ATTR_S("_dfg_parallel", parallel->is_ordered ? "ordered" : "unordered");
	if (parallel->clock)
		out_mark[n++] = DFG_ATTR_I("_dfg_clock", parallel->clock);
	if (parallel->batch)
		out_mark[n++] = DFG_ATTR_I("_dfg_batch", parallel->batch);
	return n;
}

bool dfg_parallel_buffers(const struct dfg_parallel *parallel, const struct dfg_cell *cell)
{
	for (uint32_t i = 0; parallel && i < parallel->n_buffer; i++)
		if (parallel->buffer[i] == cell)
			return true;
	return false;
}

struct dfg_err *dfg_parallel_update(
	struct dfg_eval *eval, const struct dfg_cell *cell, uint8_t update, struct dfg_edge *value)
{
	struct dfg_attr mark;
	uint32_t node;
	if (!dfg_parallel_buffers(eval->parallel, cell))
		return NULL;
	if (update == DFG_UPDATE_ASSIGN)
		return DFG_ERR(DFG_DATA,
			"'%s' is buffered, so it takes only updates that commute: `+=`, `-=`, `max=` or `min=`", cell->path);
	mark = DFG_ATTR_I("_dfg_buffer", eval->parallel->staleness);
	struct dfg_new_node want = {.op = "Identity", .in = value, .n_in = 1, .attr = &mark, .n_attr = 1};
	DFG_TRY(dfg_eval_build(eval, &want, DFG_NAME_NONE, &node));
	*value = (struct dfg_edge){node, 0};
	return NULL;
}
