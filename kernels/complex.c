#include "kernels/elementwise_rows.h"

#define REAL(z) __real__(z)
#define IMAGINARY(z) __imag__(z)

static inline float _Complex make_f32(float real, float imaginary)
{
	float _Complex z;
	__real__ z = real;
	__imag__ z = imaginary;
	return z;
}

static inline double _Complex make_f64(double real, double imaginary)
{
	double _Complex z;
	__real__ z = real;
	__imag__ z = imaginary;
	return z;
}

/* Divides by the larger part first: squares of the parts could overflow. */
static inline double absolute_f64(double real, double imaginary)
{
	double a = abs_f64(real), b = abs_f64(imaginary), high = a > b ? a : b, low = a > b ? b : a;
	if (a == MATH_INFINITY || b == MATH_INFINITY)
		return MATH_INFINITY;
	return high == 0 || a != a || b != b ? a + b : high * __builtin_sqrt(1 + low / high * (low / high));
}

static inline float absolute_f32(float real, float imaginary)
{
	return (float)absolute_f64((double)real, (double)imaginary);
}

#define PARTS(function, z) OF_FLOAT(function, REAL(z))(REAL(z), IMAGINARY(z))
#define ABSOLUTE(z) PARTS(absolute, z)
#define ANGLE(z) OF_FLOAT(atan2, REAL(z))(IMAGINARY(z), REAL(z))
#define CONJUGATE(z) OF_FLOAT(make, REAL(z))(REAL(z), -IMAGINARY(z))

/* The loop is chosen by T alone, so Tout must be the matching type. */
static struct dfg_err *guard_parts(struct dfg_kernel *ctx)
{
	enum dfg_dtype in = (enum dfg_dtype)ctx->call->in_dtype[0], out = (enum dfg_dtype)ctx->call->out_dtype[0];
	_Bool narrow = in == DFG_C64 || in == DFG_F32;
	if (narrow == (out == DFG_C64 || out == DFG_F32))
		return NULL;
	return DFG_ERR(DFG_DATA, "the input is %s and the output %s, expected equal precision", dfg_dtype_name(in),
		dfg_dtype_name(out));
}

#define PART(Op, ports, expr, formula, text)                                \
	ROW(c64, float _Complex, float, Op, INPUTS_1, OPERANDS_1, expr)         \
	ROW(c128, double _Complex, double, Op, INPUTS_1, OPERANDS_1, expr)      \
	const struct dfg_op dfg_op_##Op = {                                     \
		.name = #Op,                                                        \
		.doc = text,                                                        \
		.sig = "<T: complex = c64, Tout: f32|f64 = f32>" ports,             \
		.gradient = formula,                                                \
		.row = DFG_ROW_TABLE{[DFG_C64] = Op##_c64, [DFG_C128] = Op##_c128}, \
		.guard = guard_parts,                                               \
	};

ROW(f32, float, float _Complex, Complex, INPUTS_2, OPERANDS_2, make_f32(x, y))
ROW(f64, double, double _Complex, Complex, INPUTS_2, OPERANDS_2, make_f64(x, y))
const struct dfg_op dfg_op_Complex = {
	.name = "Complex",
	.doc = "complex numbers of given real and imaginary parts",
	.sig = "<T: f32|f64 = f32, Tout: complex = c64>(real: T, imag: T) -> (out: Tout)",
	.gradient = "dreal, dimag = Real(dout, Tout = T), Imag(dout, Tout = T)",
	.row = DFG_ROW_TABLE{[DFG_F32] = Complex_f32, [DFG_F64] = Complex_f64},
	.guard = guard_parts,
};

#include "kernels/complex.def"
