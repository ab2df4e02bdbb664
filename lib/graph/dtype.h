#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Element types: X(NAME, name in the language, C type, number in the file, ...what the caller passed on).
 * Lists, not an include file: an op's row expands one of them, and a macro cannot contain #include. Longer functions are
 * templates, which kernels/each_float.inc and its siblings include once a type.
 *
 * f16 and bf16 are stored as bits. No kernel is written for them: they are widened to f32, computed, and rounded at the
 * op's boundary (lib/graph/half.c), so DFG_EACH_float, which rows expand, holds the two types that C computes in.
 */
/* The name of x for an element type; macros in x are expanded first: DFG_TYPE_NAME(sum, f32) is sum_f32. */
#define DFG_TYPE_NAME_(x, suffix) x##suffix
#define DFG_TYPE_NAME(x, name) DFG_TYPE_NAME_(x, _##name)

#define DFG_EACH_half(X, ...)              \
	X(F16, f16, uint16_t, 19, __VA_ARGS__) \
	X(BF16, bf16, uint16_t, 14, __VA_ARGS__)
#define DFG_EACH_float(X, ...)         \
	X(F32, f32, float, 1, __VA_ARGS__) \
	X(F64, f64, double, 2, __VA_ARGS__)
#define DFG_EACH_signed(X, ...)          \
	X(I8, i8, int8_t, 6, __VA_ARGS__)    \
	X(I16, i16, int16_t, 5, __VA_ARGS__) \
	X(I32, i32, int32_t, 3, __VA_ARGS__) \
	X(I64, i64, int64_t, 9, __VA_ARGS__)
#define DFG_EACH_unsigned(X, ...)          \
	X(U8, u8, uint8_t, 4, __VA_ARGS__)     \
	X(U16, u16, uint16_t, 17, __VA_ARGS__) \
	X(U32, u32, uint32_t, 22, __VA_ARGS__) \
	X(U64, u64, uint64_t, 23, __VA_ARGS__)
#define DFG_EACH_int(X, ...)        \
	DFG_EACH_signed(X, __VA_ARGS__) \
	DFG_EACH_unsigned(X, __VA_ARGS__)
#define DFG_EACH_number(X, ...)    \
	DFG_EACH_float(X, __VA_ARGS__) \
	DFG_EACH_int(X, __VA_ARGS__)
/* Numbers that have a sign. */
#define DFG_EACH_real(X, ...)      \
	DFG_EACH_float(X, __VA_ARGS__) \
	DFG_EACH_signed(X, __VA_ARGS__)
#define DFG_EACH_complex(X, ...)                \
	X(C64, c64, float _Complex, 8, __VA_ARGS__) \
	X(C128, c128, double _Complex, 18, __VA_ARGS__)
#define DFG_EACH_numeric(X, ...)    \
	DFG_EACH_number(X, __VA_ARGS__) \
	DFG_EACH_complex(X, __VA_ARGS__)
#define DFG_EACH_bool(X, ...) X(BOOL, bool, _Bool, 10, __VA_ARGS__)
/* Types that tensors are computed in; each has a C type of its own. */
#define DFG_EACH_plain(X, ...)       \
	DFG_EACH_numeric(X, __VA_ARGS__) \
	DFG_EACH_bool(X, __VA_ARGS__)
/* Types whose elements own memory or a reference. */
#define DFG_EACH_object(X, ...)                                   \
	X(STRING, string, struct dfg_string, 7, __VA_ARGS__)          \
	X(RESOURCE, resource, struct dfg_resource *, 20, __VA_ARGS__) \
	X(VARIANT, variant, struct dfg_resource *, 21, __VA_ARGS__)
/* Types that files may contain and that no kernel computes in. */
#define DFG_EACH_stored(X, ...)                   \
	X(QI8, qi8, int8_t, 11, __VA_ARGS__)          \
	X(QU8, qu8, uint8_t, 12, __VA_ARGS__)         \
	X(QI32, qi32, int32_t, 13, __VA_ARGS__)       \
	X(QI16, qi16, int16_t, 15, __VA_ARGS__)       \
	X(QU16, qu16, uint16_t, 16, __VA_ARGS__)      \
	X(F8E5M2, f8e5m2, uint8_t, 24, __VA_ARGS__)   \
	X(F8E4M3, f8e4m3, uint8_t, 25, __VA_ARGS__)   \
	X(F8E4M3Z, f8e4m3z, uint8_t, 26, __VA_ARGS__) \
	X(F8E4M3B, f8e4m3b, uint8_t, 27, __VA_ARGS__) \
	X(F8E5M2Z, f8e5m2z, uint8_t, 28, __VA_ARGS__) \
	X(I4, i4, int8_t, 29, __VA_ARGS__)            \
	X(U4, u4, uint8_t, 30, __VA_ARGS__)           \
	X(I2, i2, int8_t, 31, __VA_ARGS__)            \
	X(U2, u2, uint8_t, 32, __VA_ARGS__)           \
	X(F4, f4, uint8_t, 33, __VA_ARGS__)
#define DFG_EACH_type(X, ...)       \
	DFG_EACH_half(X, __VA_ARGS__)   \
	DFG_EACH_plain(X, __VA_ARGS__)  \
	DFG_EACH_object(X, __VA_ARGS__) \
	DFG_EACH_stored(X, __VA_ARGS__)

enum dfg_dtype {
	DFG_NO_DTYPE,
#define ENUM(NAME, name, type, number, ...) DFG_##NAME = number,
	DFG_EACH_type(ENUM)
#undef ENUM
};

enum {
	DFG_DTYPES = 34,        /* one past the largest number */
	DFG_KERNEL_DTYPES = 24, /* one past the largest number of a type that kernels compute in */
	DFG_REF = 100,          /* a ref type's number in a file is its base type's + 100; see DFG_REF_PORT in op.h */
};

/* An element of a string tensor. The bytes belong to the tensor's buffer. */
struct dfg_string {
	const char *s;
	size_t length;
};

struct dfg_resource; /* the target of a handle; reference-counted: lib/graph/tensor.h */

/* Bytes of an element; 0 for an invalid dtype. */
size_t dfg_dtype_size(enum dfg_dtype dtype);

/* "f32", or "no dtype" for an invalid number. Static. */
const char *dfg_dtype_name(enum dfg_dtype dtype);

/* By name in the language; DFG_NO_DTYPE for none. */
enum dfg_dtype dfg_dtype_find(const char *name, size_t length);

/* Sets of dtypes, one bit each: "float", "int", "number", ... as signatures write them, or a single type; 0 for none. */
uint64_t dfg_dtype_class(const char *name, size_t length);
static inline uint64_t dfg_dtype_bit(enum dfg_dtype dtype)
{
	return UINT64_C(1) << dtype;
}
bool dfg_dtype_is(enum dfg_dtype dtype, const char *class_name);

/*
 * Handles refer to objects of this process; objects are handles and strings, whose elements own a reference or bytes.
 */
static inline bool dfg_dtype_is_handle(enum dfg_dtype dtype)
{
	return dtype == DFG_RESOURCE || dtype == DFG_VARIANT;
}
static inline bool dfg_dtype_is_object(enum dfg_dtype dtype)
{
	return dtype == DFG_STRING || dfg_dtype_is_handle(dtype);
}
