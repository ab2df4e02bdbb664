#include "lib/pass/lower/lower_private.h"

#include "lib/graph/build.h"

#include <string.h>

/*
 * While. Each loop variable enters the frame, is merged with its next value, and is switched to the body or out of the
 * loop by the predicate. An input that the body returns unchanged is an invariant: it enters once, and its output is
 * the value that entered. A loop without variables gets an induction variable of its own.
 */
struct loop {
	struct lower *l;
	uint32_t call;
	struct instance cond, body;
	uint32_t count; /* number of inputs of the call; the added induction variable has this number */
	bool *varies;   /* by input, then the added induction variable: whether it may change */
	uint32_t first; /* the first variable that the predicate depends on; the pivot of the body is derived from it */
	const char *frame;
	int64_t window;
	uint32_t *enter, *merge, *side, *exit; /* by input: nodes */
	uint32_t pivot, predicate;
	struct dfg_edge *value; /* by input: its value in the frame, before or after the Switch */
	bool waits;             /* the body has effects besides its results */
};

static enum dfg_dtype dtype_of(const struct loop *loop, uint32_t i)
{
	return i < loop->count ? loop->body.in_dtype[i] : DFG_I32;
}

static struct dfg_err *open_loop(struct loop *loop)
{
	struct lower *l = loop->l;
	union dfg_value cond, body, types;
	const struct dfg_attr *window = dfg_node_attr(&l->graph->node[loop->call], "parallel_iterations");
	DFG_TRY(dfg_lower_attr(l, loop->call, "cond", DFG_ATTR_FUNC, &cond));
	DFG_TRY(dfg_lower_attr(l, loop->call, "body", DFG_ATTR_FUNC, &body));
	DFG_TRY(dfg_lower_attr(l, loop->call, "T", DFG_ATTR_LIST, &types));
	DFG_TRY(dfg_lower_instance(l, cond.func, &loop->cond));
	DFG_TRY(dfg_lower_instance(l, body.func, &loop->body));
	DFG_TRY(dfg_err_note(dfg_lower_fits(&loop->cond, types.list, NULL), "cond"));
	DFG_TRY(dfg_err_note(dfg_lower_fits(&loop->body, types.list, types.list), "body"));
	if (loop->cond.n_out != 1)
		return DFG_ERR(DFG_DATA, "cond: function '%.200s' gives %u outputs, expected 1: whether the loop continues",
			loop->cond.body->function.name, loop->cond.n_out);
	loop->count = types.list->count;
	loop->window = window && window->kind == DFG_ATTR_INT ? window->value.i : 10;
	loop->waits = loop->cond.body->n_last || loop->body.body->n_last;
	return NULL;
}

/* Whether the predicate depends on the variable; such a variable is needed whichever outputs are used. */
static bool is_decisive(const struct loop *loop, uint32_t i)
{
	const struct instance *cond = &loop->cond;
	for (uint32_t p = 0; p < cond->body->function.n_in; p++)
		if (i >= cond->in_first[p] && i < cond->in_first[p + 1])
			return cond->body->used[p];
	return false;
}

static struct dfg_err *allocate(struct loop *loop)
{
	struct dfg_arena *arena = loop->l->scratch;
	size_t length = (size_t)loop->count + 1;
	loop->varies = dfg_arena_zeros(arena, length, sizeof *loop->varies);
	uint32_t *number = dfg_arena_zeros(arena, 4 * length, sizeof *number);
	loop->value = dfg_arena_zeros(arena, length, sizeof *loop->value);
	if (!loop->varies || !number || !loop->value)
		return dfg_no_memory("a lowered loop");
	loop->enter = number;
	loop->merge = number + length;
	loop->side = number + 2 * length;
	loop->exit = number + 3 * length;
	bool decides = false;
	loop->first = loop->count;
	for (uint32_t i = loop->count; i-- > 0;) {
		loop->varies[i] = dfg_lower_same_input(&loop->body, i) != i;
		if (!loop->varies[i] || (decides && !is_decisive(loop, i)))
			continue;
		loop->first = i;
		decides = is_decisive(loop, i);
	}
	loop->varies[loop->count] = loop->first == loop->count;
	return NULL;
}

/* Frame names are unique. */
static struct dfg_err *name_frame(struct loop *loop)
{
	struct lower *l = loop->l;
	const char *wanted = l->graph->node[loop->call].name;
	bool is_new;
	uint32_t number, n = 0;
	loop->frame = wanted;
	for (;;) {
		if (!dfg_map_put(&l->frames, loop->frame, strlen(loop->frame), &number, &is_new))
			return dfg_no_memory("a lowered loop");
		if (is_new)
			return NULL;
		DFG_TRY(dfg_lower_numbered(l, wanted, ++n, &loop->frame));
	}
}

/*
 * An Enter waits for the call's control inputs; one of an enclosing loop's invariant also waits for the body of that
 * loop.
 */
static struct dfg_err *add_enter(struct loop *loop, uint32_t i, struct dfg_edge from)
{
	struct lower *l = loop->l;
	const struct dfg_node *node = &l->graph->node[loop->call];
	const struct scope *scope = &l->scope[l->site[loop->call].scope];
	uint32_t *control = dfg_arena_zeros(l->scratch, (size_t)node->n_control + 1, sizeof *control), count = 0;
	if (!control)
		return dfg_no_memory("a lowered loop");
	for (; count < node->n_control; count++)
		control[count] = node->in[node->n_in + count].node;
	if (scope->is_loop_body && l->site[from.node].is_fixed)
		control[count++] = scope->anchor;
	const struct dfg_attr attr[] = {
		DFG_ATTR_T("T", dtype_of(loop, i)),
		DFG_ATTR_S("frame_name", loop->frame),
		DFG_ATTR_B("is_constant", !loop->varies[i]),
		DFG_ATTR_I("parallel_iterations", loop->window),
	};
	DFG_TRY(dfg_lower_add(l, loop->call,
		&(struct draft){.op = "Enter",
			.name = "enter",
			.in = &from,
			.n_in = 1,
			.control = control,
			.n_control = count,
			.attr = attr,
			.n_attr = 4},
		&loop->enter[i]));
	l->site[loop->enter[i]].is_fixed = !loop->varies[i];
	return NULL;
}

/* Makes Enters and Merges. The second input of a Merge repeats the first until the NextIteration exists. */
static struct dfg_err *enter_all(struct loop *loop)
{
	struct lower *l = loop->l;
	for (uint32_t i = 0; i <= loop->count; i++) {
		struct dfg_edge from;
		if (i < loop->count) {
			from = l->graph->node[loop->call].in[i];
		} else if (loop->varies[i]) {
			uint32_t anchor;
			DFG_TRY(dfg_lower_anchor(l, loop->call, &anchor));
			DFG_TRY(dfg_lower_int(l, loop->call, "nothing", 0, anchor, &from));
		} else {
			break;
		}
		DFG_TRY(add_enter(loop, i, from));
		loop->value[i] = (struct dfg_edge){loop->enter[i], 0};
		if (!loop->varies[i])
			continue;
		const struct dfg_attr attr[] = {DFG_ATTR_I("N", 2), DFG_ATTR_T("T", dtype_of(loop, i))};
		const struct dfg_edge in[] = {loop->value[i], loop->value[i]};
		DFG_TRY(dfg_lower_add(l, loop->call,
			&(struct draft){.op = "Merge", .name = "merge", .in = in, .n_in = 2, .attr = attr, .n_attr = 2},
			&loop->merge[i]));
		loop->value[i].node = loop->merge[i];
	}
	return NULL;
}

/* Expands the predicate, which runs once more than the body. */
static struct dfg_err *write_cond(struct loop *loop)
{
	struct lower *l = loop->l;
	struct binding binding = {
		.call = loop->call,
		.within = "cond",
		.instance = &loop->cond,
		.arg = loop->value,
		.anchor = loop->merge[loop->first],
	};
	struct dfg_edge truth;
	DFG_TRY(dfg_lower_body(l, &binding));
	DFG_TRY(dfg_lower_truth(l, loop->call, binding.ret[0], loop->cond.out_dtype[0], NULL, 0, &truth));
	return dfg_lower_add(l, loop->call,
		&(struct draft){.op = "LoopCond",
			.name = "goes_on",
			.in = &truth,
			.n_in = 1,
			.control = binding.last,
			.n_control = binding.n_last},
		&loop->predicate);
}

/* Switches the variables to the body or out of the loop. */
static struct dfg_err *split_all(struct loop *loop)
{
	struct lower *l = loop->l;
	for (uint32_t i = 0; i <= loop->count; i++) {
		if (!loop->varies[i])
			continue;
		const struct dfg_edge in[] = {loop->value[i], {loop->predicate, 0}};
		DFG_TRY(dfg_lower_op(l, loop->call, "Switch", "side", dtype_of(loop, i), in, 2, &loop->side[i]));
		loop->value[i] = (struct dfg_edge){loop->side[i], 1};
	}
	return dfg_lower_op(l, loop->call, "Identity", "body/pivot", dtype_of(loop, loop->first), &loop->value[loop->first],
		1, &loop->pivot);
}

/* Makes the NextIteration of a variable. An invariant as its next value must not be live where the body is not. */
static struct dfg_err *add_next_iteration(
	struct loop *loop, uint32_t i, struct dfg_edge value, const struct binding *body)
{
	struct lower *l = loop->l;
	const struct dfg_attr attr = DFG_ATTR_T("T", dtype_of(loop, i));
	uint32_t next;
	if (l->site[value.node].is_fixed) {
		const struct draft draft = {.op = "Identity",
			.name = "body/value",
			.in = &value,
			.n_in = 1,
			.control = &loop->pivot,
			.n_control = 1,
			.attr = &attr,
			.n_attr = 1};
		uint32_t number;
		DFG_TRY(dfg_lower_add(l, loop->call, &draft, &number));
		value = (struct dfg_edge){number, 0};
	}
	DFG_TRY(dfg_lower_add(l, loop->call,
		&(struct draft){.op = "NextIteration",
			.name = "next",
			.in = &value,
			.n_in = 1,
			.control = body->last,
			.n_control = body->n_last,
			.attr = &attr,
			.n_attr = 1},
		&next));
	l->graph->node[loop->merge[i]].in[1] = (struct dfg_edge){next, 0};
	const struct dfg_edge out = {loop->side[i], 0};
	return dfg_lower_op(l, loop->call, "Exit", "exit", dtype_of(loop, i), &out, 1, &loop->exit[i]);
}

static struct dfg_err *write_body(struct loop *loop)
{
	struct binding binding = {
		.call = loop->call,
		.within = "body",
		.instance = &loop->body,
		.arg = loop->value,
		.anchor = loop->pivot,
		.is_loop_body = true,
	};
	DFG_TRY(dfg_lower_body(loop->l, &binding));
	for (uint32_t i = 0; i <= loop->count; i++)
		if (loop->varies[i])
			DFG_TRY(add_next_iteration(loop, i, i < loop->count ? binding.ret[i] : loop->value[i], &binding));
	return NULL;
}

struct dfg_err *dfg_lower_while(struct lower *l, uint32_t call)
{
	struct loop loop = {.l = l, .call = call};
	DFG_TRY(open_loop(&loop));
	DFG_TRY(allocate(&loop));
	DFG_TRY(name_frame(&loop));
	DFG_TRY(enter_all(&loop));
	DFG_TRY(write_cond(&loop));
	DFG_TRY(split_all(&loop));
	DFG_TRY(write_body(&loop));
	struct dfg_edge *out = dfg_arena_zeros(l->scratch, (size_t)loop.count + 1, sizeof *out);
	if (!out)
		return dfg_no_memory("a lowered loop");
	for (uint32_t i = 0; i < loop.count; i++)
		out[i] = loop.varies[i] ? (struct dfg_edge){loop.exit[i], 0} : l->graph->node[call].in[i];
	bool must_end = loop.waits || loop.varies[loop.count];
	return dfg_lower_finish(l, call, &loop.body, out, &loop.exit[loop.first], must_end);
}
