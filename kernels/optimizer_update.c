#include "kernels/apply.h"

#include "kernels/shape_rules.h"
#include "lib/graph/half.h"

#include <inttypes.h>
#include <string.h>

enum { TILE = 512, BLOCK = 16 * 1024 };

struct update {
	const struct dfg_rule *rule;
	const struct dfg_tensor *grad, *indices; /* indices NULL: dense */
	const union dfg_value *attr;
	struct dfg_variable *variable[DFG_SLOTS_MOST];
	struct dfg_tensor *slot[DFG_SLOTS_MOST];
	double scalar[DFG_SCALARS_MOST];
};

/* Reads inputs by their names in the declaration: those after the slots, except grad and indices, are scalars. */
static struct dfg_err *read_inputs(struct dfg_kernel *ctx, struct update *u)
{
	const struct dfg_signature *signature = ctx->call->signature;
	int scalars = 0;
	for (int i = u->rule->slots; i < ctx->call->n_in; i++) {
		const struct dfg_tensor *t = dfg_kernel_input(ctx, i);
		const char *name = signature->in[i].name;
		if (!strcmp(name, "grad") || !strcmp(name, "delta"))
			u->grad = t;
		else if (!strcmp(name, "indices"))
			u->indices = t;
		else if (dfg_shape_count(&t->shape) != 1)
			return DFG_ERR(DFG_DATA, "%s has shape %s, expected a scalar", name, dfg_shape_words(&t->shape).s);
		else
			u->scalar[scalars++] = dfg_tensor_float(t, 0);
	}
	return NULL;
}

/* Locks the variables in the order of their addresses, so that two updates cannot deadlock. */
static struct dfg_err *lock_all(struct update *u)
{
	struct dfg_err *err = NULL;
	const struct dfg_variable *last = NULL;
	for (int locked = 0; !err && locked < u->rule->slots; locked++) {
		int next = -1;
		for (int i = 0; i < u->rule->slots; i++)
			if (u->variable[i] > last && (next < 0 || u->variable[i] < u->variable[next]))
				next = i;
		if (next < 0)
			err = DFG_ERR(DFG_DATA, "variable '%s' is used for two slots, expected a variable of its own for each",
				last->resource.name);
		else
			err = dfg_variable_lock(u->variable[next], &u->slot[next]);
		last = next < 0 ? last : u->variable[next];
	}
	return err;
}

static void unlock_all(struct update *u)
{
	for (int i = 0; i < u->rule->slots; i++)
		if (u->slot[i])
			dfg_variable_unlock(u->variable[i]);
}

static struct dfg_err *check_sparse(const struct update *u)
{
	struct dfg_shape rows = u->slot[0]->shape;
	int64_t count = dfg_shape_count(&u->indices->shape);
	if (rows.rank < 1 || u->indices->shape.rank != 1)
		return DFG_ERR(DFG_DATA,
			"the variable has shape %s and indices %s, expected at least one dimension and a vector",
			dfg_shape_words(&rows).s, dfg_shape_words(&u->indices->shape).s);
	int64_t bound = rows.dim[0];
	rows.dim[0] = count;
	if (!dfg_shape_equal(&rows, &u->grad->shape))
		return DFG_ERR(
			DFG_DATA, "grad has shape %s, expected %s", dfg_shape_words(&u->grad->shape).s, dfg_shape_words(&rows).s);
	for (int64_t i = 0; i < count; i++) {
		int64_t index = dfg_tensor_int(u->indices, i);
		if (index < 0 || index >= bound)
			return DFG_ERR(DFG_DATA, "indices[%" PRId64 "] is %" PRId64 ", outside [0,%" PRId64 ")", i, index, bound);
	}
	return NULL;
}

static struct dfg_err *check(const struct update *u)
{
	const struct dfg_tensor *var = u->slot[0];
	for (int i = 0; i < u->rule->slots; i++)
		if (u->slot[i]->dtype != u->grad->dtype || !dfg_shape_equal(&u->slot[i]->shape, &var->shape))
			return DFG_ERR(DFG_DATA, "'%s' is %s, but slot '%s' is %s", u->variable[0]->resource.name,
				dfg_type_words(u->grad->dtype, &var->shape).s, u->variable[i]->resource.name,
				dfg_type_words(u->slot[i]->dtype, &u->slot[i]->shape).s);
	if (u->indices)
		return check_sparse(u);
	if (!dfg_shape_equal(&u->grad->shape, &var->shape))
		return DFG_ERR(DFG_DATA, "grad has shape %s, expected %s", dfg_shape_words(&u->grad->shape).s,
			dfg_shape_words(&var->shape).s);
	return NULL;
}

/* Updates n elements of the slots, the first at `at`, by those of grad, the first at `from`. */
static void change_halves(const struct update *u, int64_t at, int64_t from, int64_t n)
{
	float wide[DFG_SLOTS_MOST][TILE], grad[TILE];
	void *slot[DFG_SLOTS_MOST];
	enum dfg_dtype half = u->grad->dtype;
	for (int64_t done = 0, part; done < n; done += part) {
		part = n - done < TILE ? n - done : TILE;
		dfg_half_widen(half, grad, dfg_tensor_at(u->grad, from + done), part);
		for (int i = 0; i < u->rule->slots; i++)
			dfg_half_widen(half, slot[i] = wide[i], dfg_tensor_at(u->slot[i], at + done), part);
		u->rule->f32(part, slot, grad, u->scalar, u->attr);
		for (int i = 0; i < u->rule->slots; i++)
			dfg_half_round(half, dfg_tensor_at(u->slot[i], at + done), wide[i], part);
	}
}

static void change(const struct update *u, int64_t at, int64_t from, int64_t n)
{
	void *slot[DFG_SLOTS_MOST];
	const void *grad = dfg_tensor_at(u->grad, from);
	if (dfg_is_half(u->grad->dtype)) {
		change_halves(u, at, from, n);
		return;
	}
	for (int i = 0; i < u->rule->slots; i++)
		slot[i] = dfg_tensor_at(u->slot[i], at);
	(u->grad->dtype == DFG_F64 ? u->rule->f64 : u->rule->f32)(n, slot, grad, u->scalar, u->attr);
}

static void change_range(void *arg, int64_t first, int64_t last)
{
	change(arg, first, first, last - first);
}

static struct dfg_err *change_all(struct dfg_kernel *ctx, struct update *u)
{
	DFG_TRY(check(u));
	if (!u->indices) {
		dfg_kernel_ranges(ctx, dfg_shape_count(&u->grad->shape), BLOCK, change_range, u);
		return NULL;
	}
	int64_t inner = dfg_count_between(&u->slot[0]->shape, 1, u->slot[0]->shape.rank);
	for (int64_t i = 0; i < dfg_shape_count(&u->indices->shape); i++)
		change(u, dfg_tensor_int(u->indices, i) * inner, i * inner, inner);
	return NULL;
}

struct dfg_err *dfg_rule_apply(struct dfg_kernel *ctx, const struct dfg_rule *rule)
{
	struct update u = {.rule = rule, .attr = dfg_kernel_attr(ctx)};
	DFG_TRY(read_inputs(ctx, &u));
	for (int i = 0; i < rule->slots; i++)
		DFG_TRY(dfg_kernel_variable(ctx, i, &u.variable[i]));
	struct dfg_err *err = lock_all(&u);
	if (!err)
		err = change_all(ctx, &u);
	unlock_all(&u);
	return err ? err : dfg_give_back(ctx, u.variable[0]);
}

struct dfg_err *dfg_rule_shape(struct dfg_infer *node)
{
	const struct dfg_signature *signature = node->call->signature;
	DFG_TRY(dfg_check_variable_dtype(node));
	struct dfg_shape var = dfg_variable_shape(node, 0);
	bool sparse = !strcmp(signature->param[signature->n_param - 1].name, "Tindices");
	for (int i = 1; i < node->call->n_in && !sparse; i++) {
		const char *name = signature->in[i].name;
		bool grad = !strcmp(name, "grad") || !strcmp(name, "delta");
		if (grad && !dfg_shape_fits(&var, node->in[i]))
			return DFG_ERR(DFG_DATA, "%s has shape %s, expected %s", name, dfg_shape_words(node->in[i]).s,
				dfg_shape_words(&var).s);
	}
	return dfg_shape_of_ref(node);
}
