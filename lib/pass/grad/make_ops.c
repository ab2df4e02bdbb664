#include "lib/pass/grad/make_ops.h"

#include <string.h>

enum { OWN_MOST = 90 }; /* the most bytes of a name within its scope */

struct scoped {
	char s[DFG_SCOPE_MOST + 100];
};

/* Composed without printf, which would double the time to build a node. */
static struct scoped scoped(const struct dfg_make *make, const char *name)
{
	struct scoped out;
	size_t scope = strnlen(make->scope, DFG_SCOPE_MOST), own = strnlen(name, OWN_MOST);
	memcpy(out.s, make->scope, scope);
	out.s[scope] = '/';
	memcpy(out.s + scope + 1, name, own);
	out.s[scope + 1 + own] = '\0';
	return out;
}

struct dfg_err *dfg_make_op(const struct dfg_make *make, const char *op, const struct dfg_edge *in, uint32_t n_in,
	const struct dfg_attr *attr, uint32_t n_attr, struct dfg_edge *out_edge)
{
	struct scoped name = scoped(make, op);
	struct dfg_new_node node = {.op = op, .name = name.s, .in = in, .n_in = n_in, .attr = attr, .n_attr = n_attr};
	uint32_t number;
	DFG_TRY(dfg_build(make->builder, &node, &number));
	*out_edge = (struct dfg_edge){number, 0};
	return NULL;
}

struct dfg_err *dfg_make_joined(const struct dfg_make *make, const char *op, struct dfg_edge *edge, uint32_t count,
	const struct dfg_edge *last, struct dfg_edge *out_edge)
{
	const uint32_t extra = last != NULL, most = UINT16_MAX - extra;
	for (;;) {
		const uint32_t taken = count < most ? count : most;
		const struct dfg_edge follows = edge[taken];
		if (last)
			edge[taken] = *last;
		struct dfg_edge joined;
		DFG_TRY(dfg_make_op(make, op, edge, taken + extra, NULL, 0, &joined));
		if (taken == count) {
			*out_edge = joined;
			return NULL;
		}
		edge[taken] = follows;
		edge += taken - 1, count -= taken - 1;
		edge[0] = joined;
	}
}

struct dfg_err *dfg_make_unary(
	const struct dfg_make *make, const char *op, struct dfg_edge in, struct dfg_edge *out_edge)
{
	return dfg_make_op(make, op, &in, 1, NULL, 0, out_edge);
}

struct dfg_err *dfg_make_binary(
	const struct dfg_make *make, const char *op, struct dfg_edge a, struct dfg_edge b, struct dfg_edge *out_edge)
{
	return dfg_make_op(make, op, (struct dfg_edge[]){a, b}, 2, NULL, 0, out_edge);
}

struct dfg_err *dfg_make_vector(const struct dfg_make *make, const char *name, enum dfg_dtype dtype,
	const int64_t *values, int count, struct dfg_edge *out_edge)
{
	dtype = dtype == DFG_I32 ? dfg_index_dtype(values, count) : dtype;
	return dfg_build_ints(make->builder, scoped(make, name).s, dtype, &DFG_SHAPE_VECTOR(count), values, out_edge);
}

struct dfg_err *dfg_make_int(
	const struct dfg_make *make, const char *name, enum dfg_dtype dtype, int64_t value, struct dfg_edge *out_edge)
{
	dtype = dtype == DFG_I32 ? dfg_index_dtype(&value, 1) : dtype;
	return dfg_build_ints(make->builder, scoped(make, name).s, dtype, NULL, &value, out_edge);
}

/* Whether cotangents flow through a list: its items are floats, lists or unknown. */
static bool lists_flow(const struct dfg_handle_type *holds)
{
	return !holds || !holds->dtype || holds->dtype == DFG_VARIANT || dfg_dtype_is(holds->dtype, "float") ||
		   dfg_dtype_is(holds->dtype, "complex");
}

enum dfg_dtype dfg_flow_dtype(const struct dfg_inferred *fact)
{
	enum dfg_dtype dtype = fact->dtype;
	if (dtype == DFG_RESOURCE)
		dtype = fact->holds ? fact->holds->dtype : DFG_NO_DTYPE;
	if (dtype == DFG_VARIANT)
		return lists_flow(fact->holds) ? dtype : DFG_NO_DTYPE;
	bool flows = dfg_dtype_is(dtype, "float") || dfg_dtype_is(dtype, "complex");
	return flows ? dtype : DFG_NO_DTYPE;
}

struct dfg_shape dfg_flow_shape(const struct dfg_inferred *fact)
{
	if (fact->dtype != DFG_RESOURCE)
		return fact->shape;
	return fact->holds ? fact->holds->shape : DFG_SHAPE_UNKNOWN;
}

struct dfg_err *dfg_make_shape(const struct dfg_make *make, struct dfg_edge like, struct dfg_edge *out_edge)
{
	const struct dfg_inferred *fact = dfg_facts_of(&make->builder->facts, like);
	struct dfg_shape shape = dfg_flow_shape(fact);
	if (dfg_shape_known(&shape))
		return dfg_make_vector(make, "shape", DFG_I32, shape.dim, shape.rank, out_edge);
	return dfg_make_unary(make, fact->dtype == DFG_RESOURCE ? "VariableShape" : "Shape", like, out_edge);
}

struct dfg_err *dfg_make_filled(const struct dfg_make *make, struct dfg_edge like, int value, struct dfg_edge *out_edge)
{
	const struct dfg_inferred *fact = dfg_facts_of(&make->builder->facts, like);
	struct dfg_shape shape = dfg_flow_shape(fact);
	enum dfg_dtype dtype = dfg_flow_dtype(fact);
	const char *name = value ? "one" : "zero";
	if (dtype == DFG_VARIANT)
		return value ? DFG_ERR(DFG_DATA,
						   "cannot differentiate a variant, which contains a list: differentiate its elements")
					 : dfg_make_unary(make, "ZerosLike", like, out_edge);
	if (!dfg_shape_known(&shape) && fact->dtype != DFG_RESOURCE)
		return dfg_make_unary(make, value ? "OnesLike" : "ZerosLike", like, out_edge);
	if (!shape.rank)
		return dfg_build_float(make->builder, scoped(make, name).s, dtype, value, out_edge);
	struct dfg_edge dims, element;
	DFG_TRY(dfg_make_shape(make, like, &dims));
	DFG_TRY(dfg_build_float(make->builder, scoped(make, name).s, dtype, value, &element));
	return dfg_make_binary(make, "Fill", dims, element, out_edge);
}
