#define _GNU_SOURCE
#include "lib/base/stack.h"

#include <pthread.h>
#include <stdint.h>

/* The lowest address of the calling thread's stack; 0 where the system does not say. */
static uintptr_t stack_end(void)
{
	pthread_attr_t attr;
	void *lowest = NULL;
	size_t size;
	if (pthread_getattr_np(pthread_self(), &attr))
		return 0;
	if (pthread_attr_getstack(&attr, &lowest, &size))
		lowest = NULL;
	pthread_attr_destroy(&attr);
	return (uintptr_t)lowest;
}

bool dfg_stack_is_low(void)
{
	static _Thread_local uintptr_t end = UINTPTR_MAX; /* of this thread; not asked for yet */
	if (end == UINTPTR_MAX)
		end = stack_end();
	uintptr_t here = (uintptr_t)__builtin_frame_address(0);
	return here < end || here - end < DFG_STACK_RESERVE;
}
