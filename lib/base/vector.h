#pragma once

/*
 * Loops over arrays. A function marked DFG_CLONES is compiled once for every x86-64 and once more for wider vectors; the
 * program takes what the CPU has when it starts. The bits are the same, because no compiler may contract or reorder
 * floating point here (-ffp-contract=off, never -ffast-math); fused multiply-adds are written out, and rounded once by
 * every clone. Only for loops that are worth the compile time.
 *
 * ThreadSanitizer cannot run the resolvers, which are called before it is up.
 */
#if defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define DFG_CLONES
#endif
#endif
#if !defined(DFG_CLONES) && defined(__x86_64__) && !defined(__SANITIZE_THREAD__)
#if defined(__clang__) && __clang_major__ < 17 /* its test for x86-64-v3 is never true: fused multiply-adds are calls */
#define DFG_CLONES __attribute__((target_clones("avx2", "default")))
#else
#define DFG_CLONES __attribute__((target_clones("arch=x86-64-v3", "default")))
#endif
#endif
#ifndef DFG_CLONES
#define DFG_CLONES
#endif

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
