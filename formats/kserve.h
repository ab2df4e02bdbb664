#pragma once

#include "lib/graph/tensor.h"

/* Requests of KServe's gRPC protocol, from strangers: messages in protobuf's wire format. */

/* The request about a model. The strings are in the arena; "" if they were not given. */
struct dfg_kserve_model_request {
	const char *name, *version;
};
DFG_MUST_CHECK struct dfg_err *dfg_kserve_read_model(
	const uint8_t *bytes, size_t size, struct dfg_arena *arena, struct dfg_kserve_model_request *out_request);

struct dfg_kserve_bytes {
	const uint8_t *bytes;
	size_t size;
};
struct dfg_kserve_input {
	const char *name, *datatype;
	struct dfg_shape shape; /* known */
	bool has_contents;
	struct dfg_kserve_bytes contents; /* an InferTensorContents */
};

/* An inference. Lists and strings are in the arena; the bytes of tensors are borrowed from the message. */
struct dfg_kserve_infer {
	const char *model, *version, *id;
	struct dfg_kserve_input *input;
	const char **output;
	struct dfg_kserve_bytes *raw; /* the elements of each input, if not in its contents */
	uint32_t n_input, n_output, n_raw;
};
DFG_MUST_CHECK struct dfg_err *dfg_kserve_read_infer(
	const uint8_t *bytes, size_t size, struct dfg_arena *arena, struct dfg_kserve_infer *out_infer);

/* The tensor of an input from its contents. DFG_DATA if their number or kind does not fit. */
DFG_MUST_CHECK struct dfg_err *dfg_kserve_read_contents(
	const struct dfg_kserve_input *input, enum dfg_dtype dtype, struct dfg_tensor *out_tensor);
