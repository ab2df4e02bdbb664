#include "lib/base/message.h"

#include <stdatomic.h>
#include <stddef.h>

static _Atomic(dfg_message_fn *) receiver;

void dfg_messages_to(dfg_message_fn *write)
{
	atomic_store_explicit(&receiver, write, memory_order_release);
}

void dfg_message(const char *text)
{
	dfg_message_fn *write = atomic_load_explicit(&receiver, memory_order_acquire);
	if (write)
		write(text);
}
