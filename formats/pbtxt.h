#pragma once

#include "formats/encode.h"
#include "formats/wire.h"
#include "lib/base/text.h"

struct dfg_graph;

/* Protobuf's text format, converted to wire format and back by means of the descriptors; independent of graphs. */

/*
 * Converts text to wire format. Unknown fields are dropped and counted in file, or are errors if file->strict. Errors
 * begin with line:column.
 */
DFG_MUST_CHECK struct dfg_err *dfg_pbtxt_to_wire(const ProtobufCMessageDescriptor *type, const uint8_t *text,
	size_t length, struct dfg_wire_file *file, struct dfg_text *out_wire);

/* Prints the fields of a message, indented by two blanks per level. */
DFG_MUST_CHECK struct dfg_err *dfg_pbtxt_from_wire(const struct dfg_wire *message, struct dfg_out *out);

/* Encodes a graph in parts, each some of its top-level fields in order; `take` must empty the encoder. */
DFG_MUST_CHECK struct dfg_err *dfg_graphdef_parts(
	const struct dfg_graph *graph, struct dfg_err *(*take)(void *arg, struct dfg_encoder *part), void *arg);
