#pragma once

#include "lib/graph/dtype.h"

/* Classes of types in addition to those of lib/graph/dtype.h, and the text of each in signatures. */
#define DFG_EACH_longer(X, ...)          \
	DFG_EACH_float(X, __VA_ARGS__)       \
	X(I32, i32, int32_t, 3, __VA_ARGS__) \
	X(I64, i64, int64_t, 9, __VA_ARGS__)
#define DFG_EACH_field(X, ...)    \
	DFG_EACH_real(X, __VA_ARGS__) \
	DFG_EACH_complex(X, __VA_ARGS__)
/* Types with a division that has no remainder. */
#define DFG_EACH_divisible(X, ...) \
	DFG_EACH_float(X, __VA_ARGS__) \
	DFG_EACH_complex(X, __VA_ARGS__)
#define CLASS_divisible "float|complex"
/* Types that have zeros. Lists and optionals have their own kernel. */
#define DFG_EACH_zeroed(X, ...) DFG_EACH_plain(X, __VA_ARGS__)
#define CLASS_zeroed "plain|string|variant"
/* Types that have equality, and types that have sums. Strings have their own kernels. */
#define DFG_EACH_comparable(X, ...) DFG_EACH_plain(X, __VA_ARGS__)
#define CLASS_comparable "plain|string"
#define DFG_EACH_joined(X, ...) DFG_EACH_numeric(X, __VA_ARGS__)
#define CLASS_joined "numeric|string"
#define CLASS_longer "float|i32|i64"
#define CLASS_field "real|complex"
#define CLASS_float "float"
#define CLASS_real "real"
#define CLASS_int "int"
#define CLASS_number "number"
#define CLASS_numeric "numeric"
#define CLASS_complex "complex"
#define CLASS_plain "plain"
