/* Counters: variables that give their value and go to the next, up to a limit. */
#include "kernels/shape_rules.h"
#include "kernels/variable.h"

#include <inttypes.h>

enum { LIMIT };

static struct dfg_err *count_shape(struct dfg_infer *node)
{
	DFG_TRY(dfg_check_variable_dtype(node));
	const struct dfg_shape shape = dfg_variable_shape(node, 0);
	if (!dfg_shape_fits(&shape, &DFG_SHAPE_SCALAR))
		return DFG_ERR(DFG_DATA, "the variable has shape %s, expected a scalar", dfg_shape_words(&shape).s);
	node->out[0] = DFG_SHAPE_SCALAR;
	return NULL;
}

/* Increases the value of the variable, which is locked. */
static struct dfg_err *count(
	const struct dfg_variable *variable, struct dfg_tensor *value, int64_t limit, int64_t *out_before)
{
	if (value->shape.rank || (value->dtype != DFG_I32 && value->dtype != DFG_I64))
		return DFG_ERR(DFG_DATA, "variable '%s' is %s, expected a scalar of i32 or i64", variable->resource.name,
			dfg_type_words(value->dtype, &value->shape).s);
	const int64_t next = *out_before = dfg_tensor_int(value, 0);
	if (next >= limit)
		return DFG_ERR(DFG_DATA, "variable '%s' reached its limit of %" PRId64, variable->resource.name, limit);
	dfg_convert(value->dtype, value->data, DFG_I64, &(int64_t){next + 1}, 1);
	return NULL;
}

static struct dfg_err *count_run(struct dfg_kernel *ctx)
{
	struct dfg_variable *variable;
	struct dfg_tensor *value, *out;
	int64_t before;
	DFG_TRY(dfg_kernel_variable(ctx, 0, &variable));
	if (variable->dtype != (enum dfg_dtype)ctx->call->out_dtype[0])
		return DFG_ERR(DFG_DATA, "variable '%s' is %s, expected %s", variable->resource.name,
			dfg_dtype_name(variable->dtype), dfg_dtype_name(ctx->call->out_dtype[0]));
	DFG_TRY(dfg_kernel_output(ctx, 0, &DFG_SHAPE_SCALAR, &out));
	DFG_TRY(dfg_variable_lock(variable, &value));
	struct dfg_err *err = count(variable, value, dfg_kernel_attr(ctx)[LIMIT].i, &before);
	dfg_variable_unlock(variable);
	if (!err)
		dfg_convert(out->dtype, out->data, DFG_I64, &before, 1);
	return err;
}

#define COUNT(Op, input)                                                                   \
	const struct dfg_op dfg_op_##Op = {                                                    \
		.name = #Op,                                                                       \
		.doc = "the value of a variable, which is then increased by 1; an error at limit", \
		.sig = "<T: index>(" input ") -> (output: T)",                                     \
		.attr = {[LIMIT] = "limit: int"},                                                  \
		.flags = DFG_STATEFUL | DFG_READS | DFG_WRITES | DFG_ANY_RANK | DFG_NO_GRADIENT,   \
		.shape = count_shape,                                                              \
		.run = count_run,                                                                  \
	};
COUNT(CountUpTo, "ref: ref T")
COUNT(ResourceCountUpTo, "resource: resource")
