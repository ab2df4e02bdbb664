#include "kernels/gradient_helpers.h"

#include "kernels/elementwise_rows.h" /* undefines bool */

#define POW_BY_Y                                                                                                 \
	"dy = dz * z * SelectV2(Greater(x, ZerosLike(x)), Log(SelectV2(Greater(x, ZerosLike(x)), x, OnesLike(x))), " \
	"ZerosLike(x))"

/*
 * The derivative of x^0 is 0, but y x^(y - 1) is nan where both are 0: there the base is 1 instead, so that derivatives by x of
 * every order are 0. An exponent that is not 0 does not require that.
 */
static struct dfg_err *pow_gradient(struct dfg_gradient *node)
{
	if (dfg_adjoint_is_not_zero(node, 1))
		return dfg_gradient_formula(node, "dx = dz * y * Pow(x, y - 1)\n" POW_BY_Y);
	return dfg_gradient_formula(node,
		"both = LogicalAnd(Equal(x, ZerosLike(x)), Equal(y, ZerosLike(y)))\n"
		"dx = dz * y * Pow(SelectV2(both, OnesLike(x), x), y - 1)\n" POW_BY_Y);
}

#include "kernels/row_names.h"

#include "kernels/arithmetic.def"
