/* Elementwise ops of strings, for which there are no rows. */
#include "kernels/elementwise_rows.h"

#include <string.h>

/* The element of t that is broadcast to element i of an output of that shape. */
static const struct dfg_string *source(const struct dfg_shape *shape, const struct dfg_tensor *t, int64_t i)
{
	int64_t at = 0, step = 1;
	for (int d = 1; d <= t->shape.rank; d++) {
		int64_t dim = t->shape.dim[t->shape.rank - d], out_dim = shape->dim[shape->rank - d];
		at += dim == 1 ? 0 : i % out_dim * step;
		i /= out_dim;
		step *= dim;
	}
	return dfg_tensor_at(t, at);
}

struct dfg_err *dfg_strings_select(struct dfg_kernel *ctx)
{
	const struct dfg_tensor *condition = dfg_kernel_input(ctx, 0), *t = dfg_kernel_input(ctx, 1),
							*e = dfg_kernel_input(ctx, 2);
	const struct dfg_shape *shapes[] = {&condition->shape, &t->shape, &e->shape};
	struct dfg_shape shape;
	struct dfg_tensor *out;
	DFG_TRY(dfg_shape_broadcast(shapes, 3, &shape));
	DFG_TRY(dfg_kernel_output(ctx, 0, &shape, &out));
	for (int64_t i = 0; i < dfg_shape_count(&shape); i++) {
		const _Bool *where = (const void *)source(&shape, condition, i);
		const struct dfg_string *string = source(&shape, *where ? t : e, i);
		DFG_TRY(dfg_kernel_string(ctx, 0, i, string->s, string->length));
	}
	return NULL;
}

/* Allocates output 0 for the two inputs; *out_apart: they do not broadcast. */
static struct dfg_err *lay_out(struct dfg_kernel *ctx, struct dfg_tensor **out, _Bool *out_apart)
{
	const struct dfg_shape *shapes[] = {&dfg_kernel_input(ctx, 0)->shape, &dfg_kernel_input(ctx, 1)->shape};
	struct dfg_shape shape;
	struct dfg_err *err = dfg_shape_broadcast(shapes, 2, &shape);
	*out_apart = err && ctx->call->op->run;
	if (*out_apart)
		dfg_err_free(err);
	else
		DFG_TRY(err);
	return *out_apart ? NULL : dfg_kernel_output(ctx, 0, &shape, out);
}

static struct dfg_err *compare(struct dfg_kernel *ctx, _Bool differ)
{
	const struct dfg_tensor *x = dfg_kernel_input(ctx, 0), *y = dfg_kernel_input(ctx, 1);
	struct dfg_tensor *out;
	_Bool apart;
	DFG_TRY(lay_out(ctx, &out, &apart));
	if (apart)
		return ctx->call->op->run(ctx);
	for (int64_t i = 0; i < dfg_shape_count(&out->shape); i++) {
		const struct dfg_string *a = source(&out->shape, x, i), *b = source(&out->shape, y, i);
		_Bool same = a->length == b->length && (!a->length || !memcmp(a->s, b->s, a->length));
		((_Bool *)out->data)[i] = same != differ;
	}
	return NULL;
}

struct dfg_err *dfg_strings_equal(struct dfg_kernel *ctx)
{
	return compare(ctx, false);
}

struct dfg_err *dfg_strings_not_equal(struct dfg_kernel *ctx)
{
	return compare(ctx, true);
}

static void append(char *to, const struct dfg_string *from)
{
	if (from->length)
		memcpy(to, from->s, from->length);
}

struct dfg_err *dfg_strings_add(struct dfg_kernel *ctx)
{
	const struct dfg_tensor *x = dfg_kernel_input(ctx, 0), *y = dfg_kernel_input(ctx, 1);
	struct dfg_tensor *out;
	_Bool apart;
	DFG_TRY(lay_out(ctx, &out, &apart));
	for (int64_t i = 0; i < dfg_shape_count(&out->shape); i++) {
		const struct dfg_string *a = source(&out->shape, x, i), *b = source(&out->shape, y, i);
		void *memory;
		DFG_TRY(dfg_kernel_scratch(ctx, a->length + b->length + 1, &memory));
		append(memory, a);
		append((char *)memory + a->length, b);
		DFG_TRY(dfg_kernel_string(ctx, 0, i, memory, a->length + b->length));
	}
	return NULL;
}

struct dfg_err *dfg_strings_zero(struct dfg_kernel *ctx)
{
	struct dfg_tensor *out;
	return dfg_kernel_output(ctx, 0, &dfg_kernel_input(ctx, 0)->shape, &out);
}
