#pragma once

#include "app/serving/serving_private.h"
#include "formats/encode.h"

/* gRPC over HTTP/2: calls with one message each way. Errors of HTTP become status codes of gRPC. */

/* A call. `bytes` is its message. */
struct dfg_grpc_call {
	struct dfg_serving *serving;
	struct dfg_web_request *request;
	const char *protocol;
	const uint8_t *bytes;
	size_t size;
};

/* The methods of a service; the last has no name. */
struct dfg_grpc_method {
	const char *name;
	void (*handle)(const struct dfg_grpc_call *call);
};

/* Finds the method and calls it; refuses requests that are not calls, and unknown methods. */
void dfg_grpc_handle(struct dfg_serving *serving, struct dfg_web_request *request, const char *protocol,
	const struct dfg_grpc_method *methods, const char *name);

/* The model of that name, in that version ("": the live one); NULL: refused. */
struct dfg_served *dfg_grpc_model(const struct dfg_grpc_call *call, const char *name, const char *version);

/* Refuses a call whose message cannot be read. Takes the error. */
void dfg_grpc_refuse(const struct dfg_grpc_call *call, struct dfg_err *err);

/* Encodes a string as a field; "", the default, takes no bytes. */
void dfg_grpc_put_string(struct dfg_encoder *to, uint32_t field, const char *text);

/* Puts a message into the body of an answer; answers a request with a message. Both release the encoder. */
DFG_MUST_CHECK struct dfg_err *dfg_grpc_answer(struct dfg_encoder *message, struct dfg_web_answer *answer);
void dfg_grpc_reply(
	struct dfg_served *served, struct dfg_web_request *request, const char *protocol, struct dfg_encoder *message);
