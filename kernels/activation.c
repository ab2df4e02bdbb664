#include "kernels/elementwise_rows.h"

#define ACTIVATION(Op, types, bits, expr, formula, ...) \
	UNARY_AS(Op, "(features: T) -> (activations: T)", types, bits, expr, formula, __VA_ARGS__)
#define BACKWARD(Op, by, types, expr, formula, ...) \
	BINARY_AS(Op, "(gradients: T, " by ": T) -> (backprops: T)", types, 0, expr, formula, __VA_ARGS__, SAME_SHAPES)

#include "kernels/row_names.h"

#include "kernels/activation.def"
