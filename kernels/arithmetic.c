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

#define floor(x) OF_FLOAT(floor, x)(x)
#define ceil(x) OF_FLOAT(ceil, x)(x)
#define rint(x) OF_FLOAT(rint, x)(x)
#define round(x) OF_NUMBER(round, x)(x)
#define divide(x, y) OF_NUMERIC(divide, x)(x, y)
#define floor_div(x, y) OF_NUMBER(floor_div, x)(x, y)
#define floor_mod(x, y) OF_NUMBER(floor_mod, x)(x, y)
#define truncate_div(x, y) OF_NUMBER(truncate_div, x)(x, y)
#define truncate_mod(x, y) OF_NUMBER(truncate_mod, x)(x, y)
#define power(x, y) OF_NUMBER(power, x)(x, y)

#include "kernels/arithmetic.def"
