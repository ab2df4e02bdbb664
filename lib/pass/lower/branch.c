#include "lib/pass/lower/lower_private.h"

#include "lib/graph/build.h"

/*
 * If and Case. A choice among branches [low, high) is a Switch on whether the index is below the middle, the two
 * halves, and a Merge of their results: a tree of conditionals with two sides.
 */
struct choice {
	struct lower *l;
	uint32_t call;
	struct instance *branch;
	uint32_t branches;
	const char *const *name; /* names of the branches, or NULL: "branch_2" */
	bool waits;              /* some branch has effects to wait for besides its results */
};

/* The inputs of a choice and its results. */
struct side {
	uint32_t low, high;
	struct dfg_edge *arg;  /* by input; not set for inputs without readers */
	struct dfg_edge index; /* of type i32; where high - low is 2, a predicate may be given instead */
	struct dfg_edge predicate;
	bool has_predicate;
	struct dfg_edge pivot; /* a bool that is live with this side */
	struct dfg_edge *ret;  /* by output */
	struct dfg_edge done;  /* a bool that is ready when all effects of the branch have happened */
};

struct dfg_err *dfg_lower_attr(
	const struct lower *l, uint32_t call, const char *name, enum dfg_attr_kind kind, union dfg_value *out_value)
{
	const struct dfg_attr *attr = dfg_node_attr(&l->graph->node[call], name);
	if (!attr || attr->kind != kind)
		return dfg_attr_error(name, attr, kind);
	*out_value = attr->value;
	return NULL;
}

struct dfg_err *dfg_lower_truth(struct lower *l, uint32_t call, struct dfg_edge of, enum dfg_dtype dtype,
	const uint32_t *control, uint32_t n_control, struct dfg_edge *out_edge)
{
	const struct dfg_attr attr = DFG_ATTR_T("T", dtype);
	*out_edge = (struct dfg_edge){0, 0};
	return dfg_lower_add(l, call,
		&(struct draft){.op = "ToBool",
			.name = "truth",
			.in = &of,
			.n_in = 1,
			.control = control,
			.n_control = n_control,
			.attr = &attr,
			.n_attr = 1},
		&out_edge->node);
}

static struct dfg_err *add_switch(struct choice *c, const char *name, enum dfg_dtype dtype, struct dfg_edge data,
	struct dfg_edge predicate, uint32_t *out_number)
{
	return dfg_lower_op(c->l, c->call, "Switch", name, dtype, (struct dfg_edge[]){data, predicate}, 2, out_number);
}

static struct dfg_err *add_merge(
	struct choice *c, const char *name, enum dfg_dtype dtype, const struct dfg_edge *in, struct dfg_edge *out_edge)
{
	const struct dfg_attr attr[] = {DFG_ATTR_I("N", 2), DFG_ATTR_T("T", dtype)};
	*out_edge = (struct dfg_edge){0, 0};
	return dfg_lower_add(c->l, c->call,
		&(struct draft){.op = "Merge", .name = name, .in = in, .n_in = 2, .attr = attr, .n_attr = 2}, &out_edge->node);
}

static struct dfg_err *compare(
	struct choice *c, const char *op, struct dfg_edge index, int32_t with, uint32_t control, struct dfg_edge *out_edge)
{
	struct dfg_edge in[2] = {index};
	*out_edge = (struct dfg_edge){0, 0};
	DFG_TRY(dfg_lower_int(c->l, c->call, "number", with, control, &in[1]));
	return dfg_lower_op(c->l, c->call, op, "is_there", DFG_I32, in, 2, &out_edge->node);
}

static bool is_used(const struct choice *c, uint32_t low, uint32_t high, uint32_t i)
{
	for (uint32_t b = low; b < high; b++) {
		const struct instance *instance = &c->branch[b];
		for (uint32_t p = 0; p < instance->body->function.n_in; p++)
			if (i >= instance->in_first[p] && i < instance->in_first[p + 1] && instance->body->used[p])
				return true;
	}
	return false;
}

static struct dfg_err *choose(struct choice *c, struct side *side);

/* Expands one branch. */
static struct dfg_err *write_branch(struct choice *c, struct side *side)
{
	const char *within = c->name ? c->name[side->low] : NULL;
	if (!within)
		DFG_TRY(dfg_lower_numbered(c->l, "branch", side->low, &within));
	struct binding binding = {
		.call = c->call,
		.within = within,
		.instance = &c->branch[side->low],
		.arg = side->arg,
		.anchor = side->pivot.node,
	};
	DFG_TRY(dfg_lower_body(c->l, &binding));
	side->ret = binding.ret;
	side->done = side->pivot;
	if (!binding.n_last)
		return NULL;
	const struct dfg_attr attr = DFG_ATTR_T("T", DFG_BOOL);
	return dfg_lower_add(c->l, c->call,
		&(struct draft){.op = "Identity",
			.name = "done",
			.in = &side->pivot,
			.n_in = 1,
			.control = binding.last,
			.n_control = binding.n_last,
			.attr = &attr,
			.n_attr = 1},
		&side->done.node);
}

/* One half of a choice: output 1 of the Switches is the upper half. */
static struct dfg_err *choose_half(struct choice *c, int port, const uint32_t *switched, struct side *out_half)
{
	uint32_t n_in = c->branch->n_in;
	out_half->arg = dfg_arena_zeros(c->l->scratch, (size_t)n_in + 1, sizeof *out_half->arg);
	if (!out_half->arg)
		return dfg_no_memory("a lowered branch");
	for (uint32_t i = 0; i < n_in; i++)
		out_half->arg[i] = (struct dfg_edge){switched[i], port};
	out_half->index = (struct dfg_edge){switched[n_in], port};
	const struct dfg_edge pivot = {switched[n_in + 1], port};
	const char *name = c->name ? c->name[out_half->low] : port ? "upper" : "lower";
	DFG_TRY(dfg_lower_path(c->l, name, "pivot", &name));
	out_half->pivot = (struct dfg_edge){0, 0};
	DFG_TRY(dfg_lower_op(c->l, c->call, "Identity", name, DFG_BOOL, &pivot, 1, &out_half->pivot.node));
	return choose(c, out_half);
}

static struct dfg_err *merge_halves(
	struct choice *c, const struct side *lower, const struct side *upper, struct side *side)
{
	side->ret = dfg_arena_zeros(c->l->scratch, (size_t)c->branch->n_out + 1, sizeof *side->ret);
	if (!side->ret)
		return dfg_no_memory("a lowered branch");
	for (uint32_t i = 0; i < c->branch->n_out; i++)
		DFG_TRY(add_merge(
			c, "output", c->branch->out_dtype[i], (struct dfg_edge[]){lower->ret[i], upper->ret[i]}, &side->ret[i]));
	return c->waits ? add_merge(c, "done", DFG_BOOL, (struct dfg_edge[]){lower->done, upper->done}, &side->done) : NULL;
}

/* The depth of recursion is the logarithm of the number of branches. */
static struct dfg_err *choose(struct choice *c, struct side *side)
{
	if (side->high - side->low == 1)
		return write_branch(c, side);
	uint32_t middle = side->low + (side->high - side->low) / 2, n_in = c->branch->n_in;
	struct side lower = {.low = side->low, .high = middle}, upper = {.low = middle, .high = side->high};
	struct dfg_edge predicate = side->predicate;
	uint32_t *switched = dfg_arena_zeros(c->l->scratch, (size_t)n_in + 2, sizeof *switched);
	if (!switched)
		return dfg_no_memory("a lowered branch");
	if (!side->has_predicate)
		DFG_TRY(compare(c, "GreaterEqual", side->index, (int32_t)middle, side->pivot.node, &predicate));
	for (uint32_t i = 0; i < n_in; i++)
		if (is_used(c, side->low, side->high, i))
			DFG_TRY(add_switch(c, "input", c->branch->in_dtype[i], side->arg[i], predicate, &switched[i]));
	if (side->high - side->low > 2)
		DFG_TRY(add_switch(c, "index", DFG_I32, side->index, predicate, &switched[n_in]));
	DFG_TRY(add_switch(c, "side", DFG_BOOL, predicate, predicate, &switched[n_in + 1]));
	DFG_TRY(choose_half(c, 0, switched, &lower));
	DFG_TRY(choose_half(c, 1, switched, &upper));
	return merge_halves(c, &lower, &upper, side);
}

static struct dfg_err *open_branches(struct choice *c, const struct dfg_func *const *func)
{
	union dfg_value in, out;
	DFG_TRY(dfg_lower_attr(c->l, c->call, "Tin", DFG_ATTR_LIST, &in));
	DFG_TRY(dfg_lower_attr(c->l, c->call, "Tout", DFG_ATTR_LIST, &out));
	c->branch = dfg_arena_zeros(c->l->scratch, c->branches, sizeof *c->branch);
	if (!c->branch)
		return dfg_no_memory("a lowered branch");
	for (uint32_t b = 0; b < c->branches; b++) {
		DFG_TRY(dfg_lower_instance(c->l, func[b], &c->branch[b]));
		DFG_TRY(dfg_lower_fits(&c->branch[b], in.list, out.list));
		c->waits |= c->branch[b].body->n_last > 0 || !c->branch[b].n_out;
	}
	return NULL;
}

/*
 * The control inputs of the call and, if the index is a loop invariant and so outlives the loop's body, the call's
 * anchor.
 */
static struct dfg_err *find_control(
	struct lower *l, uint32_t call, struct dfg_edge of, uint32_t **out_control, uint32_t *out_count)
{
	const struct dfg_node *node = &l->graph->node[call];
	const struct scope *scope = &l->scope[l->site[call].scope];
	*out_control = dfg_arena_zeros(l->scratch, (size_t)node->n_control + 1, sizeof **out_control);
	if (!*out_control)
		return dfg_no_memory("a lowered branch");
	for (*out_count = 0; *out_count < node->n_control; ++*out_count)
		(*out_control)[*out_count] = node->in[node->n_in + *out_count].node;
	if (scope->is_loop_body && l->site[of.node].is_fixed)
		(*out_control)[(*out_count)++] = scope->anchor;
	return NULL;
}

static struct dfg_err *finish(struct choice *c, struct side *side)
{
	DFG_TRY(choose(c, side));
	return dfg_lower_finish(c->l, c->call, c->branch, side->ret, &side->done.node, c->waits);
}

struct dfg_err *dfg_lower_if(struct lower *l, uint32_t call)
{
	static const char *const name[] = {"else", "then"};
	struct choice c = {.l = l, .call = call, .branches = 2, .name = name};
	struct side side = {.high = 2, .arg = l->graph->node[call].in + 1, .has_predicate = true};
	const struct dfg_edge of = l->graph->node[call].in[0];
	union dfg_value func[2], type;
	uint32_t *control, n_control;
	DFG_TRY(dfg_lower_attr(l, call, "else_branch", DFG_ATTR_FUNC, &func[0]));
	DFG_TRY(dfg_lower_attr(l, call, "then_branch", DFG_ATTR_FUNC, &func[1]));
	DFG_TRY(dfg_lower_attr(l, call, "Tcond", DFG_ATTR_DTYPE, &type));
	DFG_TRY(open_branches(&c, (const struct dfg_func *const[]){func[0].func, func[1].func}));
	DFG_TRY(find_control(l, call, of, &control, &n_control));
	DFG_TRY(dfg_lower_truth(l, call, of, type.dtype, control, n_control, &side.predicate));
	return finish(&c, &side);
}

/* Replaces a negative index by that of the last branch; an index that is too large selects the last branch anyway. */
static struct dfg_err *clamp(struct choice *c, struct dfg_edge index, uint32_t anchor, struct dfg_edge *out_index)
{
	struct dfg_edge in[3] = {{0}, {0}, index};
	*out_index = (struct dfg_edge){0, 0};
	DFG_TRY(compare(c, "Less", index, 0, anchor, &in[0]));
	DFG_TRY(dfg_lower_int(c->l, c->call, "last", (int32_t)c->branches - 1, anchor, &in[1]));
	return dfg_lower_op(c->l, c->call, "SelectV2", "index", DFG_I32, in, 3, &out_index->node);
}

/* The index, waiting for the control inputs of the call. */
static struct dfg_err *find_index(struct choice *c, struct dfg_edge *index)
{
	uint32_t *control, n_control;
	const struct dfg_attr attr = DFG_ATTR_T("T", DFG_I32);
	DFG_TRY(find_control(c->l, c->call, *index, &control, &n_control));
	struct draft draft = {.op = "Identity",
		.name = "index",
		.in = index,
		.n_in = 1,
		.control = control,
		.n_control = n_control,
		.attr = &attr,
		.n_attr = 1};
	if (!n_control)
		return NULL;
	uint32_t number;
	DFG_TRY(dfg_lower_add(c->l, c->call, &draft, &number));
	*index = (struct dfg_edge){number, 0};
	return NULL;
}

struct dfg_err *dfg_lower_case(struct lower *l, uint32_t call)
{
	struct choice c = {.l = l, .call = call};
	const struct dfg_edge *in = l->graph->node[call].in;
	struct side side = {.arg = l->graph->node[call].in + 1, .index = in[0]};
	union dfg_value branches;
	uint32_t anchor;
	DFG_TRY(dfg_lower_attr(l, call, "branches", DFG_ATTR_LIST, &branches));
	side.high = c.branches = branches.list->count;
	const struct dfg_func **func = dfg_arena_zeros(l->scratch, (size_t)c.branches + 1, sizeof *func);
	if (!func)
		return dfg_no_memory("a lowered branch");
	for (uint32_t b = 0; b < c.branches; b++)
		func[b] = branches.list->item[b].func;
	DFG_TRY(open_branches(&c, func));
	if (c.branches == 1)
		return dfg_lower_call(l, call, c.branch, side.arg);
	DFG_TRY(dfg_lower_anchor(l, call, &anchor));
	DFG_TRY(find_index(&c, &side.index));
	side.has_predicate = c.branches == 2;
	if (c.branches == 2)
		DFG_TRY(compare(&c, "NotEqual", side.index, 0, anchor, &side.predicate));
	else
		DFG_TRY(clamp(&c, side.index, anchor, &side.index));
	side.pivot = (struct dfg_edge){anchor, 0};
	return finish(&c, &side);
}
