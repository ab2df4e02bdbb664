#include "kernels/variable.h"

#include "lib/graph/half.h"

#include <string.h>

enum { TILE = 512 };

struct dfg_err *dfg_row_of(const struct dfg_op *op, enum dfg_dtype dtype, dfg_row_fn **out_row)
{
	*out_row = dfg_op_row(op, dfg_is_half(dtype) ? DFG_F32 : dtype);
	if (!*out_row)
		return DFG_ERR(DFG_DATA, "%s does not support %s", op->name, dfg_dtype_name(dtype));
	return NULL;
}

static void combine_halves(dfg_row_fn *row, enum dfg_dtype dtype, int64_t n, uint16_t *to, const uint16_t *with)
{
	float wide[TILE], other[TILE];
	const void *in[] = {wide, other};
	for (int64_t done = 0, part; done < n; done += part) {
		part = n - done < TILE ? n - done : TILE;
		dfg_half_widen(dtype, wide, to + done, part);
		dfg_half_widen(dtype, other, with + done, part);
		row(part, wide, in, NULL);
		dfg_half_round(dtype, to + done, wide, part);
	}
}

void dfg_combine(dfg_row_fn *row, enum dfg_dtype dtype, int64_t n, void *to, const void *with)
{
	if (!row)
		memcpy(to, with, (size_t)n * dfg_dtype_size(dtype));
	else if (dfg_is_half(dtype))
		combine_halves(row, dtype, n, to, with);
	else
		row(n, to, (const void *const[]){to, with}, NULL);
}

struct dfg_err *dfg_give_back(struct dfg_kernel *ctx, struct dfg_variable *variable)
{
	return ctx->call->n_out ? ctx->host->give_ref(ctx, 0, variable) : NULL;
}

struct dfg_shape dfg_variable_shape(const struct dfg_infer *node, int i)
{
	if (node->call->in_dtype[i] != DFG_RESOURCE)
		return *node->in[i];
	return node->in_holds[i] ? node->in_holds[i]->shape : DFG_SHAPE_UNKNOWN;
}

struct dfg_err *dfg_check_variable_dtype(const struct dfg_infer *node)
{
	enum dfg_dtype dtype = node->call->param[0].dtype;
	for (int i = 0; i < node->call->n_in; i++) {
		const struct dfg_handle_type *holds = node->in_holds[i];
		if (holds && holds->component)
			return DFG_ERR(DFG_DATA, "input %d is a queue, expected a variable of %s", i, dfg_dtype_name(dtype));
		if (node->call->in_dtype[i] == DFG_RESOURCE && holds && holds->dtype != dtype)
			return DFG_ERR(DFG_DATA, "input %d is a variable of %s, expected one of %s", i,
				dfg_dtype_name(holds->dtype), dfg_dtype_name(dtype));
	}
	return NULL;
}

struct dfg_err *dfg_shape_of_ref(struct dfg_infer *node)
{
	if (node->call->n_out) {
		node->out[0] = *node->in[0];
		node->out_holds[0] = node->in_holds[0];
	}
	return NULL;
}
