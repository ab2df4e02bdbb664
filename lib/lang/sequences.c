#include "lib/lang/sequences_private.h"

#include "lib/lang/eval_private.h"
#include "lib/lang/loop_bounds_private.h"
#include "lib/lang/materialise_private.h"
#include "lib/lang/region_private.h"

#include <string.h>

static struct dfg_shape row_of(const struct dfg_shape *shape)
{
	struct dfg_shape row = *shape;
	if (shape->rank <= 0)
		return row;
	row.rank--;
	memmove(row.dim, row.dim + 1, (size_t)row.rank * sizeof *row.dim);
	return row;
}

static struct dfg_err *new_array(struct dfg_eval *eval, const struct dfg_datum *size, bool grows,
	const struct dfg_inferred *element, struct dfg_edge out[2])
{
	struct dfg_edge in;
	struct dfg_attr attr[] = {
		DFG_ATTR_T("dtype", element->dtype),
		DFG_ATTR_B("dynamic_size", grows),
		{"element_shape", DFG_ATTR_SHAPE, {.shape = &element->shape}},
	};
	struct dfg_new_node want = {.op = "TensorArrayV3", .in = &in, .n_in = 1, .attr = attr, .n_attr = 3};
	uint32_t node;
	DFG_TRY(dfg_to_edge(eval, size, DFG_I32, &in));
	DFG_TRY(dfg_eval_build(eval, &want, DFG_NAME_NONE, &node));
	out[0] = (struct dfg_edge){node, 0};
	out[1] = (struct dfg_edge){node, 1};
	return NULL;
}

/* The indices 0, 1, ..., count - 1. */
static struct dfg_err *numbers(struct dfg_eval *eval, const struct dfg_datum *count, struct dfg_edge *out_edge)
{
	struct dfg_edge in[3];
	DFG_TRY(dfg_to_edge(eval, &DFG_INT(0), DFG_I32, &in[0]));
	DFG_TRY(dfg_to_edge(eval, count, DFG_I32, &in[1]));
	DFG_TRY(dfg_to_edge(eval, &DFG_INT(1), DFG_I32, &in[2]));
	return dfg_eval_node(eval, "Range", in, 3, out_edge);
}

struct dfg_err *dfg_rows_open(struct dfg_eval *eval, struct dfg_sequence *sequence)
{
	struct dfg_inferred element = *dfg_eval_fact(eval, sequence->rows);
	struct dfg_edge in[4], flow;
	element.shape = row_of(&element.shape);
	DFG_TRY(new_array(eval, &sequence->count, false, &element, sequence->array));
	in[0] = sequence->array[0];
	DFG_TRY(numbers(eval, &sequence->count, &in[1]));
	in[2] = sequence->rows;
	in[3] = sequence->array[1];
	DFG_TRY(dfg_eval_node(eval, "TensorArrayScatterV3", in, 4, &flow));
	sequence->array[1] = flow;
	return NULL;
}

struct dfg_err *dfg_rows_read(
	struct dfg_eval *eval, const struct dfg_sequence *sequence, struct dfg_edge index, struct dfg_datum *out_datum)
{
	const struct dfg_inferred *rows = dfg_eval_fact(eval, sequence->rows);
	const struct dfg_shape row = row_of(&rows->shape);
	struct dfg_edge in[] = {sequence->array[0], index, sequence->array[1]}, made = {0, 0};
	struct dfg_attr attr = DFG_ATTR_T("dtype", rows->dtype);
	struct dfg_new_node want = {.op = "TensorArrayReadV3", .in = in, .n_in = 3, .attr = &attr, .n_attr = 1};
	const char *scope = eval->scope;
	DFG_TRY(dfg_eval_path(eval, scope, sequence->name, &eval->scope));
	struct dfg_err *err = dfg_eval_build(eval, &want, DFG_NAME_NONE, &made.node);
	eval->scope = scope;
	DFG_TRY(err);
	DFG_TRY(dfg_eval_learn(eval, made, &row));
	*out_datum = DFG_TENSOR(made);
	return NULL;
}

struct dfg_err *dfg_yield_add(
	struct dfg_eval *eval, struct dfg_lang_loop *loop, const struct dfg_tree *tree, struct dfg_edge value)
{
	struct dfg_yield *yield = dfg_arena_zeros(eval->arena, 1, sizeof *yield);
	if (!yield)
		return dfg_no_memory("a loop");
	*yield = (struct dfg_yield){.tree = tree, .value = value};
	*(loop->last_yield ? loop->last_yield : &loop->yields) = yield;
	loop->last_yield = &yield->next;
	loop->n_yields++;
	return NULL;
}

/* Whether the number of iterations is known before the first one. */
static bool is_counted(const struct dfg_lang_loop *loop)
{
	return loop->counting->is_closed && !loop->tree->kid[2];
}

/* The number of rows that the loop yields: 0 if the range ends before it begins. */
static struct dfg_err *count_rows(struct dfg_eval *eval, struct dfg_lang_loop *loop, struct dfg_datum *out_count)
{
	struct dfg_edge in[2], most;
	*out_count = loop->counting->end;
	if (out_count->kind == DFG_DATUM_NUMBER)
		*out_count = DFG_INT(out_count->number.i > 0 ? out_count->number.i : 0);
	if (out_count->kind != DFG_DATUM_TENSOR)
		return NULL;
	DFG_TRY(dfg_to_edge(eval, out_count, DFG_I32, &in[0]));
	DFG_TRY(dfg_to_edge(eval, &DFG_INT(0), DFG_I32, &in[1]));
	DFG_TRY(dfg_eval_node(eval, "Maximum", in, 2, &most));
	*out_count = DFG_TENSOR(most);
	return NULL;
}

static struct dfg_err *write(struct dfg_eval *eval, struct dfg_lang_loop *loop, struct dfg_yield *yield)
{
	struct dfg_edge in[4] = {yield->handle}, next;
	struct dfg_saved_region saved;
	dfg_region_go(eval, loop->body, &saved);
	struct dfg_err *err = dfg_loop_index(eval, loop, &in[1]);
	in[2] = yield->value;
	in[3] = yield->flow.inside;
	if (!err)
		err = dfg_eval_node(eval, "TensorArrayWriteV3", in, 4, &next);
	dfg_region_back(eval, &saved);
	return err ? err : dfg_carry_on(eval, loop, &yield->flow, next);
}

struct dfg_err *dfg_yield_on(struct dfg_eval *eval, struct dfg_lang_loop *loop)
{
	struct dfg_datum size = DFG_INT(0);
	bool counted = is_counted(loop);
	if (loop->yields && counted)
		DFG_TRY(count_rows(eval, loop, &size));
	for (struct dfg_yield *yield = loop->yields; yield; yield = yield->next) {
		const struct dfg_inferred element = *dfg_eval_fact(eval, yield->value);
		struct dfg_edge array[2];
		DFG_TRY(new_array(eval, &size, !counted, &element, array));
		yield->handle = array[0];
		DFG_TRY(dfg_carry(eval, loop, &yield->flow, array[1]));
		DFG_TRY(dfg_eval_at(eval, yield->tree, write(eval, loop, yield)));
	}
	loop->counting->end = counted ? size : loop->counting->end;
	return NULL;
}

static struct dfg_err *stack(
	struct dfg_eval *eval, const struct dfg_yield *yield, struct dfg_edge indices, struct dfg_datum *out_datum)
{
	const struct dfg_inferred element = *dfg_eval_fact(eval, yield->value);
	struct dfg_edge in[] = {yield->handle, indices, yield->flow.outside}, made = {0, 0};
	struct dfg_attr attr[] = {
		DFG_ATTR_T("dtype", element.dtype),
		{"element_shape", DFG_ATTR_SHAPE, {.shape = &element.shape}},
	};
	struct dfg_new_node want = {.op = "TensorArrayGatherV3", .in = in, .n_in = 3, .attr = attr, .n_attr = 2};
	struct dfg_shape shape = element.shape;
	DFG_TRY(dfg_eval_build(eval, &want, DFG_NAME_NONE, &made.node));
	const struct dfg_shape *count = &dfg_eval_fact(eval, indices)->shape;
	if (shape.rank >= 0 && shape.rank < DFG_RANK_MAX) {
		memmove(shape.dim + 1, shape.dim, (size_t)shape.rank++ * sizeof *shape.dim);
		shape.dim[0] = count->rank == 1 ? count->dim[0] : DFG_UNKNOWN;
		DFG_TRY(dfg_eval_learn(eval, made, &shape));
	}
	*out_datum = DFG_TENSOR(made);
	return NULL;
}

struct dfg_err *dfg_yield_out(struct dfg_eval *eval, struct dfg_lang_loop *loop, struct dfg_datum *out_item)
{
	struct dfg_datum count = loop->counting->end;
	struct dfg_edge indices;
	if (!loop->yields)
		return NULL;
	if (!is_counted(loop)) {
		DFG_TRY(dfg_carry_out(eval, loop, &loop->counter));
		count = DFG_TENSOR(loop->counter.outside);
	}
	DFG_TRY(numbers(eval, &count, &indices));
	for (struct dfg_yield *yield = loop->yields; yield; yield = yield->next) {
		DFG_TRY(dfg_carry_out(eval, loop, &yield->flow));
		DFG_TRY(stack(eval, yield, indices, out_item++));
	}
	return NULL;
}
