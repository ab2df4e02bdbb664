#pragma once

#include "formats/encode.h"
#include "formats/wire.h"

/*
 * Puts a message in front of what the encoder holds, in canonical form: fields by number, map entries by key, numbers
 * packed, defaults left out but in a oneof and in what has presence. That is what protobuf's deterministic serialisation
 * gives. Unknown fields are dropped. Takes at most `budget` bytes of memory for itself, else DFG_DATA.
 * Borrows nothing from the message.
 */
DFG_MUST_CHECK struct dfg_err *dfg_canonical_put(
	const struct dfg_wire *message, size_t budget, struct dfg_encoder *encoder);
