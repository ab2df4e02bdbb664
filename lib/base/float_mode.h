#pragma once

#include <stdbool.h>
#include <stdint.h>

/*
 * How the calling thread's processor computes with floats. Every thread has its own mode. While a session computes, the
 * mode rounds to nearest, raises no trap, and either flushes denormals (a float too small to be normal counts as 0, as an
 * operand and as a result of arithmetic, with its sign) or keeps them. Moves of bits, such as a copy or a negation, flush
 * nothing.
 */
enum dfg_denormals { DFG_FLUSH, DFG_KEEP };

/* "flush" and "keep"; find returns false for any other word. */
extern const char *const dfg_denormals_name[2];
bool dfg_denormals_find(const char *word, enum dfg_denormals *out_denormals);

/* Whether this processor can flush denormals; if not, both modes keep them. */
#if defined __x86_64__ || defined __aarch64__
enum { DFG_CAN_FLUSH = 1 };
#else
enum { DFG_CAN_FLUSH = 0 };
#endif

/* Sets the thread's mode and returns the mode before, for dfg_float_mode_restore(). */
static inline uint64_t dfg_float_mode_set(enum dfg_denormals denormals)
{
#if defined __x86_64__
	const uint32_t masked = 0x1f80, operands = 0x0040, results = 0x8000;
	uint64_t before = __builtin_ia32_stmxcsr();
	__builtin_ia32_ldmxcsr(denormals == DFG_FLUSH ? masked | operands | results : masked);
	return before;
#elif defined __aarch64__
	const uint64_t flush = UINT64_C(1) << 24;
	uint64_t before;
	__asm__ volatile("mrs %0, fpcr" : "=r"(before));
	__asm__ volatile("msr fpcr, %0" : : "r"(denormals == DFG_FLUSH ? flush : 0) : "memory");
	return before;
#else
	(void)denormals;
	return 0;
#endif
}

static inline void dfg_float_mode_restore(uint64_t before)
{
#if defined __x86_64__
	__builtin_ia32_ldmxcsr((uint32_t)before);
#elif defined __aarch64__
	__asm__ volatile("msr fpcr, %0" : : "r"(before) : "memory");
#else
	(void)before;
#endif
}
