#include "app/serving/grpc_private.h"

#include "formats/bytes.h"
#include "lib/base/mem.h"

#include <stdlib.h>
#include <string.h>

enum { PREFIX = 5 }; /* bytes before each message: whether it is compressed, and its length */

static const char content_type[] = "application/grpc";

bool dfg_grpc_is(const struct dfg_web_request *request)
{
	const char *type = dfg_web_field(request, "content-type");
	size_t n = sizeof content_type - 1;
	return request->connection && type && !strncmp(type, content_type, n) &&
		   (!type[n] || type[n] == ';' || !strcmp(type + n, "+proto"));
}

static int code_of(int status)
{
	static const struct {
		int status, code;
	} codes[] = {{200, 0}, {400, 3}, {401, 16}, {404, 5}, {405, 12}, {408, 4}, {413, 8}, {415, 12}, {421, 7}, {422, 3},
		{429, 8}, {431, 8}, {500, 13}, {501, 12}, {503, 14}, {504, 4}};
	for (size_t i = 0; i < sizeof codes / sizeof *codes; i++)
		if (codes[i].status == status)
			return codes[i].code;
	return 2;
}

/* Adds the text; all but printable ASCII is percent-encoded. */
static void put_message(struct dfg_text *out, const char *text)
{
	for (; *text; text++)
		if (*text >= ' ' && *text <= '~' && *text != '%')
			dfg_text_put(out, text, 1);
		else
			dfg_text_add(out, "%%%02X", (uint8_t)*text);
}

void dfg_grpc_fail(struct dfg_web_answer *answer, int status, const char *text)
{
	answer->type = content_type;
	answer->is_grpc = true;
	answer->grpc_status = code_of(status);
	put_message(&answer->grpc_message, text);
}

struct dfg_err *dfg_grpc_answer(struct dfg_encoder *message, struct dfg_web_answer *answer)
{
	size_t length = message->length;
	struct dfg_text *body = &answer->body;
	struct dfg_err *err = dfg_encoder_check(message);
	if (!err && length > UINT32_MAX)
		err = DFG_ERR(DFG_DATA, "the answer has %zu bytes, more than a gRPC message can hold", length);
	if (!err && !dfg_reserve(&body->s, &body->capacity, PREFIX + length + 1, 1))
		err = dfg_no_memory("the answer");
	if (!err) {
		body->s[0] = 0;
		for (int i = 0; i < 4; i++)
			body->s[1 + i] = (char)(length >> (24 - 8 * i));
		dfg_encoder_copy(message, (uint8_t *)body->s + PREFIX);
		body->s[PREFIX + length] = 0;
		body->length = PREFIX + length;
		answer->type = content_type;
		answer->is_grpc = true;
	}
	dfg_encoder_release(message);
	return err;
}

void dfg_grpc_reply(
	struct dfg_served *served, struct dfg_web_request *request, const char *protocol, struct dfg_encoder *message)
{
	struct dfg_web_answer answer = {.status = 200};
	struct dfg_err *err = dfg_grpc_answer(message, &answer);
	if (err)
		dfg_serving_error(served, request, protocol, 503, "%s", err->text);
	else
		dfg_serving_reply(served, request, protocol, &answer);
	dfg_err_free(err);
}

void dfg_grpc_put_string(struct dfg_encoder *to, uint32_t field, const char *text)
{
	if (*text)
		dfg_encode_string(to, field, text, strlen(text));
}

/* Finds the only message of the request; false: the request is refused. */
static bool unframe(struct dfg_serving *serving, struct dfg_web_request *request, struct dfg_grpc_call *call)
{
	const uint8_t *body = request->body;
	size_t size = request->size, length = 0;
	for (int i = 1; size >= PREFIX && i < PREFIX; i++)
		length = length << 8 | body[i];
	if (size >= PREFIX && body[0] == 1)
		dfg_serving_error(&serving->other, request, call->protocol, 501, "compressed messages are not supported");
	else if (size < PREFIX || body[0] || length != size - PREFIX)
		dfg_serving_error(&serving->other, request, call->protocol, 400,
			"the body must be one gRPC message: a prefix of five bytes, then as many bytes as the prefix says; the "
			"body has %zu bytes",
			size);
	else {
		call->bytes = body + PREFIX;
		call->size = length;
		return true;
	}
	return false;
}

struct dfg_served *dfg_grpc_model(const struct dfg_grpc_call *call, const char *name, const char *version)
{
	struct dfg_serving *serving = call->serving;
	struct dfg_served *served = NULL;
	uint64_t live_version;
	for (size_t i = 0; i < serving->n_served; i++)
		if (!strcmp(serving->served[i].name, name))
			served = &serving->served[i];
	if (!served) {
		dfg_serving_refuse_model(serving, call->request, call->protocol, name, strlen(name));
		return NULL;
	}
	if (!*version || dfg_served_has_version(served, version, strlen(version), &live_version))
		return served;
	dfg_serving_error(served, call->request, call->protocol, 404, "model '%.100s' has version %llu only, not %.40s",
		served->name, (unsigned long long)live_version, version);
	return NULL;
}

void dfg_grpc_refuse(const struct dfg_grpc_call *call, struct dfg_err *err)
{
	dfg_serving_error(&call->serving->other, call->request, call->protocol, err->code == DFG_MEMORY ? 503 : 400,
		"the message is malformed: %s", err->text);
	dfg_err_free(err);
}

void dfg_grpc_handle(struct dfg_serving *serving, struct dfg_web_request *request, const char *protocol,
	const struct dfg_grpc_method *methods, const char *name)
{
	struct dfg_grpc_call call = {.serving = serving, .request = request, .protocol = protocol};
	const struct dfg_grpc_method *method = methods;
	while (method->name && strcmp(method->name, name) != 0)
		method++;
	if (!dfg_grpc_is(request) || strcmp(request->method, "POST") != 0)
		dfg_serving_error(&serving->other, request, protocol, 415,
			"%.200s is a method of gRPC, which needs HTTP/2 and POST with the type application/grpc", request->path);
	else if (!method->name)
		dfg_serving_error(&serving->other, request, protocol, 501, "the method %.200s is not supported", request->path);
	else if (unframe(serving, request, &call))
		method->handle(&call);
}

bool dfg_grpc_timeout(const struct dfg_web_request *request, uint64_t *out_ns)
{
	static const struct {
		char unit;
		uint64_t ns;
	} units[] = {{'H', 3600000000000}, {'M', 60000000000}, {'S', 1000000000}, {'m', 1000000}, {'u', 1000}, {'n', 1}};
	const char *text = dfg_web_field(request, "grpc-timeout");
	size_t digits = text ? strspn(text, "0123456789") : 0;
	*out_ns = 0;
	if (!text)
		return true;
	if (!digits || digits > 8 || !text[digits] || text[digits + 1])
		return false;
	uint64_t count = strtoull(text, NULL, 10), most = UINT64_MAX / 2; /* 8 digits of hours can be more than 2^64 ns */
	for (size_t i = 0; i < sizeof units / sizeof *units; i++)
		if (units[i].unit == text[digits])
			*out_ns = count < most / units[i].ns ? count * units[i].ns : most;
	return *out_ns > 0;
}
