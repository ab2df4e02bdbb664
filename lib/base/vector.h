#pragma once

/*
 * Loops over arrays. A function that DFG_CLONED() begins is compiled once for every processor, and on x86-64 again for
 * the vectors of AVX2 and of AVX-512; each call takes what dfg_vectors() says. The bits are the same, because no compiler
 * may contract or reorder floating point here (-ffp-contract=off, never -ffast-math); fused multiply-adds are written
 * out, and rounded once by every clone. Only for loops that are worth the compile time.
 */
enum dfg_vectors { DFG_VECTORS_OF_ALL = 1, DFG_VECTORS_AVX2, DFG_VECTORS_AVX512 };

/* The widest that the processor has, or those that the environment's DFG_CPU names (kernels/gemm/gemm.h); 0: not chosen. */
extern int dfg_vectors_known;
int dfg_vectors_choose(void);

static inline enum dfg_vectors dfg_vectors(void)
{
	int known = __atomic_load_n(&dfg_vectors_known, __ATOMIC_RELAXED);
	return (enum dfg_vectors)(known ? known : dfg_vectors_choose());
}

/* "AVX-512", "AVX2" or "generic". */
const char *dfg_vectors_name(void);

/* A static function, whose body follows. arguments: the names of the parameters, in parentheses. */
#define DFG_FUNCTION(type, name, parameters, arguments) static type name parameters
#if defined(__x86_64__)
#define DFG_CLONED(type, name, parameters, arguments) DFG_CLONED_AS(type, name, parameters, arguments)
#else
#define DFG_CLONED DFG_FUNCTION
#endif

/* clang takes the widest vectors that a target has; gcc must be told to. */
#ifdef __clang__
#define DFG_WIDEST
#else
#define DFG_WIDEST ",prefer-vector-width=512"
#endif
#define DFG_TARGET_AVX2 __attribute__((target("avx2,fma,bmi,bmi2")))
#define DFG_TARGET_AVX512 __attribute__((target("avx2,fma,bmi,bmi2,avx512f,avx512bw,avx512dq,avx512vl" DFG_WIDEST)))

#define DFG_CLONED_AS(type, name, parameters, arguments)                                      \
	static inline __attribute__((always_inline)) type name##_body parameters;                 \
	DFG_TARGET_AVX512 static type name##_avx512 parameters                                    \
	{                                                                                         \
		return name##_body arguments;                                                         \
	}                                                                                         \
	DFG_TARGET_AVX2 static type name##_avx2 parameters                                        \
	{                                                                                         \
		return name##_body arguments;                                                         \
	}                                                                                         \
	static __attribute__((noinline)) type name##_of_all parameters                            \
	{                                                                                         \
		return name##_body arguments;                                                         \
	}                                                                                         \
	static type name parameters                                                               \
	{                                                                                         \
		const enum dfg_vectors vectors = dfg_vectors();                                       \
		if (vectors == DFG_VECTORS_AVX512)                                                    \
			return name##_avx512 arguments;                                                   \
		return vectors == DFG_VECTORS_AVX2 ? name##_avx2 arguments : name##_of_all arguments; \
	}                                                                                         \
	static inline type name##_body parameters

/*
 * Put before a loop whose iterations are independent although its pointers may be equal: element i is read and element i
 * is written. clang would otherwise report every loop that it finds too costly, or impossible, to vectorise.
 */
#ifdef __clang__
#pragma clang diagnostic ignored "-Wpass-failed"
#define DFG_INDEPENDENT _Pragma("clang loop vectorize(assume_safety)")
#else
#define DFG_INDEPENDENT _Pragma("GCC ivdep")
#endif
