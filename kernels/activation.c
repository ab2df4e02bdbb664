#include "kernels/elementwise_rows.h"

#define expm1(x) OF_FLOAT(expm1, x)(x)
#define sigmoid(x) OF_FLOAT(sigmoid, x)(x)
#define softplus(x) OF_FLOAT(softplus, x)(x)
#define fabs(x) OF_FLOAT(abs, x)(x)

/*
 * The constants for which Selu keeps mean 0 and variance 1 (Klambauer et al. 2017); alpha is multiplied by the scale.
 */
#define SELU_SCALE 1.0507009873554804934193349852946
#define SELU_ALPHA 1.7580993408473768599402175208123

#define ACTIVATION(Op, types, bits, expr, formula, ...) \
	UNARY_AS(Op, "(features: T) -> (activations: T)", types, bits, expr, formula, __VA_ARGS__)
#define BACKWARD(Op, by, types, expr, formula, ...) \
	BINARY_AS(Op, "(gradients: T, " by ": T) -> (backprops: T)", types, 0, expr, formula, __VA_ARGS__, SAME_SHAPES)

#include "kernels/activation.def"
