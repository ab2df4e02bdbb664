#pragma once

#include <limits.h>
#include <linux/futex.h>
#include <stdatomic.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/* Futexes in memory that processes share. A wait ends early now and then, so that the caller can see whether both live. */
static inline void futex_wait(atomic_uint *word, unsigned value)
{
	const struct timespec limit = {0, 20 * 1000 * 1000};
	syscall(SYS_futex, word, FUTEX_WAIT, value, &limit, NULL, 0);
}

static inline void futex_wake(atomic_uint *word)
{
	syscall(SYS_futex, word, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
}
