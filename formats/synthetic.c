#include "formats/synthetic.h"

#include "formats/encode.h"
#include "formats/reader.h"
#include "lib/base/random.h"
#include "lib/graph/dtype.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { NAME = 64, NEAR = 64, FAR_EVERY = 8, PRODUCER = 27 };

static size_t print_name(uint32_t i, char name[NAME])
{
	return (size_t)snprintf(name, NAME, "layer_%" PRIu32 "/add_%" PRIu32, i / 1024, i);
}

static void put_attr(struct dfg_encoder *to, const char *name, uint32_t kind, uint64_t number)
{
	size_t mark = dfg_encode_mark(to);
	dfg_encode_number(to, kind, number);
	dfg_encode_head(to, ENTRY_VALUE, mark);
	dfg_encode_string(to, ENTRY_KEY, name, strlen(name));
	dfg_encode_head(to, NODE_ATTR, mark);
}

/* Encoded from the end: the last input first. */
static void put_node(struct dfg_encoder *to, uint32_t i, uint64_t inputs, uint64_t *random)
{
	char name[NAME];
	const char *op = inputs ? "AddN" : "Placeholder";
	put_attr(to, inputs ? "T" : "dtype", VALUE_TYPE, DFG_F32);
	if (inputs)
		put_attr(to, "N", VALUE_I, inputs);
	for (uint64_t e = 0; e < inputs; e++) {
		uint64_t r = dfg_random_next(random);
		uint32_t reach = r % FAR_EVERY && i > NEAR ? NEAR : i;
		dfg_encode_string(to, NODE_INPUT, name, print_name(i - 1 - (uint32_t)((r >> 32) % reach), name));
	}
	dfg_encode_string(to, NODE_OP, op, strlen(op));
	dfg_encode_string(to, NODE_NAME, name, print_name(i, name));
	dfg_encode_head(to, GRAPH_NODE, 0);
}

struct dfg_err *dfg_synthetic_write(uint32_t nodes, uint64_t edges, uint64_t seed, struct dfg_out *out)
{
	struct dfg_encoder encoder = {.bytes = NULL};
	struct dfg_err *err = NULL;
	uint64_t random = seed, left = edges;
	for (uint32_t i = 0; i < nodes && !err; i++) {
		uint64_t inputs = i ? left / (nodes - i) : 0;
		left -= inputs;
		put_node(&encoder, i, inputs, &random);
		err = dfg_encoder_flush(&encoder, out);
	}
	dfg_encode_number(&encoder, VERSIONS_PRODUCER, PRODUCER);
	dfg_encode_head(&encoder, GRAPH_VERSIONS, 0);
	if (!err)
		err = dfg_encoder_flush(&encoder, out);
	dfg_encoder_release(&encoder);
	return err;
}
