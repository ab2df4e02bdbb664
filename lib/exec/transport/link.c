#include "lib/exec/transport/link.h"

#include <stdio.h>

struct dfg_err *dfg_message_check(const struct dfg_message *message)
{
	const struct dfg_tensor *tensor = &message->tensor;
	if (message->key.depth > DFG_LINK_DEPTH)
		return DFG_ERR(
			DFG_DATA, "a transfer is in %u nested loops, the limit is %d", message->key.depth, DFG_LINK_DEPTH);
	if (!tensor->dtype)
		return NULL;
	if (message->dead)
		return DFG_ERR(DFG_BUG, "a message that is marked dead contains a tensor");
	if (!dfg_dtype_size(tensor->dtype) || dfg_dtype_is_handle(tensor->dtype))
		return DFG_ERR(DFG_DATA, "a tensor of %s cannot be sent to another worker", dfg_dtype_name(tensor->dtype));
	return NULL;
}

uint64_t dfg_message_bytes(const struct dfg_message *message)
{
	const struct dfg_tensor *tensor = &message->tensor;
	if (!tensor->dtype)
		return 0;
	if (tensor->dtype != DFG_STRING)
		return dfg_tensor_bytes(tensor);
	uint64_t bytes = 0;
	int64_t count = dfg_shape_count(&tensor->shape);
	for (int64_t i = 0; i < count; i++)
		bytes += ((const struct dfg_string *)tensor->data)[i].length;
	return bytes;
}

struct dfg_err *dfg_link_tensor(const struct dfg_link_sink *sink, enum dfg_dtype dtype, const struct dfg_shape *shape,
	struct dfg_tensor *out_tensor)
{
	*out_tensor = (struct dfg_tensor){0};
	return sink->allocate ? sink->allocate(sink->arg, dtype, shape, out_tensor)
						  : dfg_tensor_new(dtype, shape, out_tensor);
}

struct dfg_peer_words dfg_peer_words(uint32_t peer)
{
	struct dfg_peer_words words = {"the launcher"};
	if (peer != DFG_LAUNCHER)
		snprintf(words.s, sizeof words.s, "worker %u", peer);
	return words;
}
