#include "lib/graph/op.h"

#include "lib/base/map.h"

#include <string.h>

/* ops.def is generated from the symbols of the kernels' objects: OP(dfg_op_Add) and so on, sorted. */
#define OP(symbol) extern const struct dfg_op symbol;
#include "ops.def"
#undef OP

const struct dfg_op *const dfg_ops[] = {
#define OP(symbol) &symbol,
#include "ops.def"
#undef OP
};
const size_t dfg_ops_count = sizeof dfg_ops / sizeof *dfg_ops;

/* '>' of a name is '_' in its symbol, so the table is in the order of names with '>' read as '_'. */
static int compare(const char *a, const char *b)
{
	for (;; a++, b++) {
		unsigned char m = *a == '>' ? '_' : (unsigned char)*a, n = *b == '>' ? '_' : (unsigned char)*b;
		if (m != n || !m)
			return m - n;
	}
}

const struct dfg_op *dfg_op_find(const char *name)
{
	size_t low = 0, high = dfg_ops_count;
	while (low < high) {
		size_t middle = (low + high) / 2;
		int order = compare(name, dfg_ops[middle]->name);
		if (!order)
			return strcmp(name, dfg_ops[middle]->name) ? NULL : dfg_ops[middle];
		if (order < 0)
			high = middle;
		else
			low = middle + 1;
	}
	return NULL;
}

const char *dfg_op_nearest(const char *name)
{
	struct dfg_nearest nearest = {.word = name};
	for (size_t i = 0; i < dfg_ops_count; i++)
		dfg_nearest_offer(&nearest, dfg_ops[i]->name);
	return nearest.best;
}

/* Whether it is one of the ops that call a function which stays in the process of Python that made the graph. */
static bool calls_python(const char *name)
{
	return !strcmp(name, "PyFunc") || !strcmp(name, "PyFuncStateless") || !strcmp(name, "EagerPyFunc");
}

struct dfg_err *dfg_op_missing(const char *name)
{
	if (calls_python(name))
		return DFG_ERR(DFG_DATA,
			"no op '%s': it calls a function of the Python process that made the graph, which is not in the file: "
			"replace it with ops of the graph",
			name);
	const char *nearest = dfg_op_nearest(name);
	return nearest ? DFG_ERR(DFG_DATA, "no op '%.100s'; did you mean '%s'?", name, nearest)
				   : DFG_ERR(DFG_DATA, "no op '%.100s'", name);
}

bool dfg_op_computes(const struct dfg_op *op, enum dfg_dtype dtype)
{
	if (op->run || dfg_op_kernel(op, dtype) || dfg_op_row(op, dtype))
		return true;
	return (dtype == DFG_F16 || dtype == DFG_BF16) && (dfg_op_kernel(op, DFG_F32) || dfg_op_row(op, DFG_F32));
}
