#pragma once

#include "formats/encode.h"
#include "lib/graph/tensor.h"

/* Messages of TensorFlow Serving's gRPC protocol, from strangers, in protobuf's wire format. */
struct dfg_predict_input {
	const char *name;
	struct dfg_tensor tensor;
};

/* A request about a model. That of a prediction also has inputs, which the caller releases, and names of outputs. */
struct dfg_predict_request {
	const char *model, *version, *signature, *label; /* "": not given; in the arena, as the lists are */
	struct dfg_predict_input *input;
	const char **output;
	uint32_t n_input, n_output;
};

/* Reads a request for a prediction, or for metadata or status. The inputs must be released, also after an error. */
DFG_MUST_CHECK struct dfg_err *dfg_predict_read(const uint8_t *bytes, size_t size, bool is_prediction,
	struct dfg_arena *arena, struct dfg_predict_request *out_request);
void dfg_predict_release(struct dfg_predict_request *request); /* the inputs; those that were taken have no dtype */

/* Encode a TensorProto, and a TensorShapeProto, as the field of a message. */
void dfg_predict_put_tensor(struct dfg_encoder *to, uint32_t field, const struct dfg_tensor *tensor);
void dfg_predict_put_shape(struct dfg_encoder *to, uint32_t field, const struct dfg_shape *shape);
