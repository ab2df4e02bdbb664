#include "lib/graph/half.h"

#include <complex.h>
#include <string.h>

#undef bool /* `bool` is pasted into names below */

/* elements that are converted at a time if one side is a half */
enum { TILE = 512 };

/*
 * Conversion from a float to an integer: NaN becomes 0, and a value out of range the nearest one in range. `high` is
 * the first float above the range; unlike 2^63 - 1 it is exact in both float types.
 */
#define FROM_FLOAT(name, type, least, most, high)                                           \
	static inline type name##_from_float(double x)                                          \
	{                                                                                       \
		if (x != x)                                                                         \
			return 0;                                                                       \
		return x >= (high) ? (type)(most) : x <= (double)(least) ? (type)(least) : (type)x; \
	}
FROM_FLOAT(i8, int8_t, INT8_MIN, INT8_MAX, 0x1p7)
FROM_FLOAT(i16, int16_t, INT16_MIN, INT16_MAX, 0x1p15)
FROM_FLOAT(i32, int32_t, INT32_MIN, INT32_MAX, 0x1p31)
FROM_FLOAT(i64, int64_t, INT64_MIN, INT64_MAX, 0x1p63)
FROM_FLOAT(u8, uint8_t, 0, UINT8_MAX, 0x1p8)
FROM_FLOAT(u16, uint16_t, 0, UINT16_MAX, 0x1p16)
FROM_FLOAT(u32, uint32_t, 0, UINT32_MAX, 0x1p32)
FROM_FLOAT(u64, uint64_t, 0, UINT64_MAX, 0x1p64)

/* One loop for each pair; `expr` makes the element from x. */
#define LOOP(to_name, to_type, from_name, from_type, expr)                                       \
	static void to_name##_of_##from_name(int64_t n, void *restrict out, const void *restrict in) \
	{                                                                                            \
		const from_type *from = in;                                                              \
		to_type *to = out;                                                                       \
		for (int64_t i = 0; i < n; i++) {                                                        \
			const from_type x = from[i];                                                         \
			to[i] = expr;                                                                        \
		}                                                                                        \
	}

/* A macro cannot expand within itself, so the inner lists are written out. */
#define OF_INTEGERS(X, ...)       \
	X(i8, int8_t, __VA_ARGS__)    \
	X(i16, int16_t, __VA_ARGS__)  \
	X(i32, int32_t, __VA_ARGS__)  \
	X(i64, int64_t, __VA_ARGS__)  \
	X(u8, uint8_t, __VA_ARGS__)   \
	X(u16, uint16_t, __VA_ARGS__) \
	X(u32, uint32_t, __VA_ARGS__) \
	X(u64, uint64_t, __VA_ARGS__) \
	X(bool, _Bool, __VA_ARGS__)
#define OF_FLOATS(X, ...)      \
	X(f32, float, __VA_ARGS__) \
	X(f64, double, __VA_ARGS__)
#define OF_COMPLEX(X, ...)              \
	X(c64, float _Complex, __VA_ARGS__) \
	X(c128, double _Complex, __VA_ARGS__)

#define PLAIN(from_name, from_type, name, type) LOOP(name, type, from_name, from_type, (type)x)
#define SATURATED(from_name, from_type, name, type) LOOP(name, type, from_name, from_type, name##_from_float((double)x))
#define REAL_PART(from_name, from_type, name, type) LOOP(name, type, from_name, from_type, (type)creal(x))
#define REAL_SATURATED(from_name, from_type, name, type) \
	LOOP(name, type, from_name, from_type, name##_from_float(creal(x)))

#define TO_INTEGER(NAME, name, type, ...) \
	OF_INTEGERS(PLAIN, name, type)        \
	OF_FLOATS(SATURATED, name, type)      \
	OF_COMPLEX(REAL_SATURATED, name, type)
#define TO_FLOAT(NAME, name, type, ...) \
	OF_INTEGERS(PLAIN, name, type)      \
	OF_FLOATS(PLAIN, name, type)        \
	OF_COMPLEX(REAL_PART, name, type)
#define TO_ANY(NAME, name, type, ...) \
	OF_INTEGERS(PLAIN, name, type)    \
	OF_FLOATS(PLAIN, name, type)      \
	OF_COMPLEX(PLAIN, name, type)
DFG_EACH_int(TO_INTEGER)
DFG_EACH_float(TO_FLOAT)
DFG_EACH_complex(TO_ANY)
DFG_EACH_bool(TO_ANY)

typedef void convert_fn(int64_t n, void *restrict out, const void *restrict in);

#define COLUMN(NAME, name, ...)              \
	[DFG_##NAME] = {[DFG_I8] = name##_of_i8, \
		[DFG_I16] = name##_of_i16,           \
		[DFG_I32] = name##_of_i32,           \
		[DFG_I64] = name##_of_i64,           \
		[DFG_U8] = name##_of_u8,             \
		[DFG_U16] = name##_of_u16,           \
		[DFG_U32] = name##_of_u32,           \
		[DFG_U64] = name##_of_u64,           \
		[DFG_BOOL] = name##_of_bool,         \
		[DFG_F32] = name##_of_f32,           \
		[DFG_F64] = name##_of_f64,           \
		[DFG_C64] = name##_of_c64,           \
		[DFG_C128] = name##_of_c128},
static convert_fn *const convert[DFG_DTYPES][DFG_DTYPES] = {DFG_EACH_plain(COLUMN)};

/*
 * Halves are converted by way of f32, which holds all their values; wider numbers are first rounded to f32, as in
 * TensorFlow.
 */
static void through_f32(enum dfg_dtype to, char *out, enum dfg_dtype from, const char *in, int64_t n)
{
	float tile[TILE];
	for (int64_t done = 0, part; done < n; done += part) {
		part = n - done < TILE ? n - done : TILE;
		const char *next = in + (size_t)done * dfg_dtype_size(from);
		char *to_next = out + (size_t)done * dfg_dtype_size(to);
		if (dfg_is_half(from))
			dfg_half_widen(from, tile, (const void *)next, part);
		else
			dfg_convert(DFG_F32, tile, from, next, part);
		if (dfg_is_half(to))
			dfg_half_round(to, (void *)to_next, tile, part);
		else
			dfg_convert(to, to_next, DFG_F32, tile, part);
	}
}

void dfg_convert(enum dfg_dtype to, void *out, enum dfg_dtype from, const void *in, int64_t n)
{
	if (to == from)
		memcpy(out, in, (size_t)n * dfg_dtype_size(to));
	else if (dfg_is_half(from) && to == DFG_F32)
		dfg_half_widen(from, out, in, n);
	else if (from == DFG_F32 && dfg_is_half(to))
		dfg_half_round(to, out, in, n);
	else if (dfg_is_half(from) || dfg_is_half(to))
		through_f32(to, out, from, in, n);
	else
		convert[to][from](n, out, in);
}
