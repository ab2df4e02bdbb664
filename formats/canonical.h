#pragma once

#include "formats/encode.h"
#include "formats/wire.h"

/*
 * Prepends a message to the encoder's content, in canonical form: fields by number, map entries by key, numbers packed,
 * and defaults omitted except in a oneof and in fields with presence, as in protobuf's deterministic serialisation.
 * Unknown fields are dropped. DFG_DATA if it needs more than `budget` bytes of memory. The result borrows nothing from
 * the message.
 */
DFG_MUST_CHECK struct dfg_err *dfg_canonical_put(
	const struct dfg_wire *message, size_t budget, struct dfg_encoder *encoder);
