#include "kernels/gradient_helpers.h"

#include "kernels/elementwise_rows.h" /* undefines bool */

/* The derivatives by the order, which is the first input, cannot be expressed by these ops. */
static struct dfg_err *zeta_gradient(struct dfg_gradient *node)
{
	DFG_TRY(dfg_adjoint_refuse(node, 0));
	return dfg_gradient_formula(node, "dq = dz * -x * Zeta(x + 1, q)");
}

static struct dfg_err *polygamma_gradient(struct dfg_gradient *node)
{
	DFG_TRY(dfg_adjoint_refuse(node, 0));
	return dfg_gradient_formula(node, "dx = dz * Polygamma(a + 1, x)");
}

#include "kernels/row_names.h"

#include "kernels/elementwise.def"
