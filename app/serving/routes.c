#include "app/serving/serving_private.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int digit(char c)
{
	return c >= '0' && c <= '9' ? c - '0' : (c | 32) >= 'a' && (c | 32) <= 'f' ? (c | 32) - 'a' + 10 : -1;
}

const char *dfg_url_decode(struct dfg_arena *arena, const char *text, size_t length, bool is_query)
{
	char *out = dfg_arena_zeros(arena, length + 1, 1);
	for (size_t i = 0, n = 0; out && i < length; i++, n++) {
		bool escaped = text[i] == '%';
		if (escaped && (i + 2 >= length || digit(text[i + 1]) < 0 || digit(text[i + 2]) < 0))
			return NULL;
		out[n] = (char)(escaped                      ? digit(text[i + 1]) * 16 + digit(text[i + 2])
						: is_query && text[i] == '+' ? ' '
													 : text[i]);
		if (!out[n])
			return NULL;
		i += escaped ? 2 : 0;
	}
	return out;
}

const char *dfg_url_parameter(struct dfg_arena *arena, const char *query, const char *name)
{
	size_t length = strlen(name);
	while (*query) {
		size_t n = strcspn(query, "&");
		if (n > length && !memcmp(query, name, length) && query[length] == '=')
			return dfg_url_decode(arena, query + length + 1, n - length - 1, true);
		query += n + (query[n] == '&');
	}
	return NULL;
}

void dfg_serving_put_error(struct dfg_text *body, const char *text)
{
	struct dfg_json_out json = {.text = *body};
	dfg_json_open(&json, '{');
	dfg_json_key(&json, "error"), dfg_json_string(&json, text);
	dfg_json_close(&json, '}');
	dfg_text_put(&json.text, "\n", 1);
	*body = json.text;
}

void dfg_serving_put_version(struct dfg_json_out *json, const char *key, const struct dfg_live_model *live)
{
	char text[24];
	snprintf(text, sizeof text, "%llu", (unsigned long long)live->version);
	if (key)
		dfg_json_key(json, key);
	dfg_json_string(json, text);
}

/* An error in the form of the request's protocol. */
static void put_refusal(
	const struct dfg_web_request *request, int status, const char *why, struct dfg_web_answer *out_answer)
{
	*out_answer = (struct dfg_web_answer){.status = status, .type = "application/json"};
	if (request && dfg_grpc_is(request))
		dfg_grpc_fail(out_answer, status, why);
	else
		dfg_serving_put_error(&out_answer->body, why);
}

void dfg_serving_refuse(
	void *arg, const struct dfg_web_request *request, int status, const char *why, struct dfg_web_answer *out_answer)
{
	struct dfg_serving *serving = arg;
	dfg_served_count(&serving->other, "none", status);
	put_refusal(request, status, why, out_answer);
}

/* The methods of a path, by its form, also where the model is unknown. */
static const char *methods_of(const char *path)
{
	size_t length = strlen(path), models = strlen("/v1/models/");
	bool is_model = !strncmp(path, "/v1/models/", models) || !strncmp(path, "/v2/models/", models);
	bool is_infer = is_model && length >= 6 && !strcmp(path + length - 6, "/infer");
	if (!strcmp(path, "/trace"))
		return "allow: GET";
	if (is_infer || (is_model && strchr(path + models, ':')) || !strncmp(path, "/run", 4) ||
		!strncmp(path, "/stream", 7) || !strncmp(path, "/inference.", 11) || !strncmp(path, "/tensorflow.", 12))
		return "allow: POST";
	return "allow: GET, HEAD";
}

/* The field that an error must have. */
static const char *field_of(int status, const char *path)
{
	static const struct {
		int status;
		const char *field;
	} fields[] = {{401, "www-authenticate: Bearer"}, {429, "retry-after: 1"}, {503, "retry-after: 1"}};
	if (status == 405)
		return methods_of(path);
	for (size_t i = 0; i < sizeof fields / sizeof *fields; i++)
		if (fields[i].status == status)
			return fields[i].field;
	return NULL;
}

void dfg_serving_reply(
	struct dfg_served *served, struct dfg_web_request *request, const char *protocol, struct dfg_web_answer *answer)
{
	if (answer->body.short_of_memory) {
		dfg_text_release(&answer->body);
		answer->status = 503;
	}
	const char *field = answer->is_grpc ? NULL : field_of(answer->status, request->path);
	if (field)
		snprintf(answer->field, sizeof answer->field, "%s", field);
	answer->with_head = !strcmp(request->method, "HEAD");
	dfg_served_count(served, protocol, answer->status);
	pthread_mutex_lock(&served->lock);
	dfg_histogram_add(&served->seconds, (double)(dfg_now() - request->begin_ns) / 1e9, dfg_seconds_bounds);
	pthread_mutex_unlock(&served->lock);
	dfg_web_answer(request, answer);
}

void dfg_serving_reply_json(
	struct dfg_served *served, struct dfg_web_request *request, const char *protocol, struct dfg_json_out *json)
{
	struct dfg_web_answer answer = {.status = 200, .type = "application/json"};
	dfg_text_put(&json->text, "\n", 1);
	answer.body = json->text;
	dfg_serving_reply(served, request, protocol, &answer);
}

void dfg_serving_error(
	struct dfg_served *served, struct dfg_web_request *request, const char *protocol, int status, const char *fmt, ...)
{
	struct dfg_web_answer answer;
	char text[1200];
	va_list args;
	va_start(args, fmt);
	vsnprintf(text, sizeof text, fmt, args);
	va_end(args);
	put_refusal(request, status, text, &answer);
	dfg_serving_reply(served, request, protocol, &answer);
}

/* A page of a browser elsewhere may send requests to this machine under a name of its own, which is in Host. */
static bool is_own_host(const char *host)
{
	static const char *const own[] = {"localhost", "127.0.0.1", "[::1]"};
	for (size_t i = 0; host && i < sizeof own / sizeof *own; i++) {
		size_t length = strlen(own[i]);
		if (!strncmp(host, own[i], length) && (!host[length] || host[length] == ':'))
			return true;
	}
	return false;
}

/* Compares in constant time. */
static bool has_token(const struct dfg_web_request *request, const char *token)
{
	const char *field = dfg_web_field(request, "authorization");
	size_t length = strlen(token);
	unsigned differs = 0;
	if (!field || strncmp(field, "Bearer ", 7) != 0 || strlen(field + 7) != length)
		return false;
	for (size_t i = 0; i < length; i++)
		differs |= (unsigned)((uint8_t)field[7 + i] ^ (uint8_t)token[i]);
	return !differs;
}

static bool is_health(const char *path)
{
	return !strncmp(path, "/v2/health/", 11) || !strcmp(path, "/inference.GRPCInferenceService/ServerLive") ||
		   !strcmp(path, "/inference.GRPCInferenceService/ServerReady");
}

/* False: refused. */
static bool is_allowed(struct dfg_serving *serving, struct dfg_web_request *request)
{
	bool is_open = !serving->token || (serving->options.open_health && is_health(request->path));
	if (!is_open && !has_token(request, serving->token))
		dfg_serving_error(&serving->other, request, "none", 401, "the Authorization field must be \"Bearer TOKEN\"");
	else if (!serving->token && serving->is_loopback && !is_own_host(dfg_web_field(request, "host")))
		dfg_serving_error(&serving->other, request, "none", 421, "Host must be localhost: this server has no token");
	else
		return true;
	return false;
}

struct dfg_served *dfg_serving_find(struct dfg_serving *serving, const char *name)
{
	for (size_t i = 0; i < serving->n_served; i++)
		if (!strcmp(serving->served[i].name, name))
			return &serving->served[i];
	return NULL;
}

/* The model whose name is written so in a path; NULL: there is none. */
static struct dfg_served *find_served(struct dfg_serving *serving, const char *name, size_t length)
{
	struct dfg_arena arena = {0};
	const char *decoded = dfg_url_decode(&arena, name, length, false);
	struct dfg_served *found = decoded ? dfg_serving_find(serving, decoded) : NULL;
	dfg_arena_release(&arena);
	return found;
}

/* "a, b" */
static void list_models(const struct dfg_serving *serving, char text[256])
{
	size_t at = 0;
	text[0] = 0;
	for (size_t i = 0; i < serving->n_served && at < 200; i++)
		at += (size_t)snprintf(text + at, 256 - at, "%s%.50s", i ? ", " : "", serving->served[i].name);
}

void dfg_serving_refuse_model(
	struct dfg_serving *serving, struct dfg_web_request *request, const char *protocol, const char *name, size_t length)
{
	char names[256];
	list_models(serving, names);
	dfg_serving_error(&serving->other, request, protocol, 404, "unknown model '%.*s'; the models are: %s",
		(int)(length < 200 ? length : 200), name, names);
}

/* "/versions/7" of the path, which must be the live version. Returns the rest of the path, or NULL: refused. */
static const char *pass_version(
	struct dfg_served *served, struct dfg_web_request *request, const char *protocol, const char *rest)
{
	static const char versions[] = "/versions/";
	const char *version = rest + sizeof versions - 1;
	uint64_t live_version;
	if (strncmp(rest, versions, sizeof versions - 1) != 0)
		return rest;
	size_t length = strcspn(version, "/:");
	if (dfg_served_has_version(served, version, length, &live_version))
		return version + length;
	dfg_serving_error(served, request, protocol, 404, "model '%.100s' has version %llu only, not '%.*s'", served->name,
		(unsigned long long)live_version, (int)(length < 40 ? length : 40), version);
	return NULL;
}

typedef void handle_model(struct dfg_served *served, struct dfg_web_request *request, const char *rest);

/* Paths that begin with a prefix and the name of a model. */
static void handle_named(struct dfg_serving *serving, struct dfg_web_request *request, const char *protocol,
	const char *name, handle_model *handle)
{
	size_t length = strcspn(name, "/:");
	struct dfg_served *served = find_served(serving, name, length);
	if (!served) {
		dfg_serving_refuse_model(serving, request, protocol, name, length);
		return;
	}
	const char *rest = pass_version(served, request, protocol, name + length);
	if (rest)
		handle(served, request, rest);
}

typedef void handle_one(struct dfg_served *served, struct dfg_web_request *request);

/* "/run" and "/run/NAME", where `protocol` is "run" */
static void handle_path(struct dfg_serving *serving, struct dfg_web_request *request, const char *protocol,
	const char *rest, handle_one *handle)
{
	char names[256];
	size_t length = *rest ? strlen(rest + 1) : 0;
	struct dfg_served *served = length ? find_served(serving, rest + 1, length) : NULL;
	list_models(serving, names);
	if (!length && serving->n_served == 1)
		served = &serving->served[0];
	if (served)
		handle(served, request);
	else if (length)
		dfg_serving_refuse_model(serving, request, protocol, rest + 1, length);
	else
		dfg_serving_error(
			&serving->other, request, protocol, 404, "give a model: /%s/NAME; the models are: %s", protocol, names);
}

static bool begins(const char *path, const char *prefix, const char **out_rest)
{
	size_t length = strlen(prefix);
	*out_rest = path + length;
	return !strncmp(path, prefix, length);
}

/* Paths that are read. False: there is no such path. */
static bool route_page(struct dfg_serving *serving, struct dfg_web_request *request)
{
	static const struct {
		const char *path;
		void (*show)(struct dfg_serving *serving, struct dfg_web_request *request);
	} pages[] = {{"/", dfg_serving_show_page}, {"/graph", dfg_serving_draw}, {"/status", dfg_serving_show_status},
		{"/metrics", dfg_serving_metrics}, {"/trace", dfg_serving_trace}};
	size_t count = sizeof pages / sizeof *pages, i = 0;
	while (i < count && strcmp(request->path, pages[i].path) != 0)
		i++;
	if (i == count || dfg_grpc_is(request))
		return false;
	if (!strcmp(request->method, "POST"))
		dfg_serving_error(&serving->other, request, "none", 405, "the method of %s must be GET", pages[i].path);
	else
		pages[i].show(serving, request);
	return true;
}

static void route(struct dfg_serving *serving, struct dfg_web_request *request)
{
	const char *rest;
	if (begins(request->path, "/v2/models/", &rest))
		handle_named(serving, request, "kserve-rest", rest, dfg_kserve_model);
	else if (begins(request->path, "/v1/models/", &rest))
		handle_named(serving, request, "tensorflow-rest", rest, dfg_tensorflow_model);
	else if (begins(request->path, "/v2", &rest) && (!*rest || *rest == '/'))
		dfg_kserve_server(serving, request);
	else if (begins(request->path, "/run", &rest) && (!*rest || *rest == '/'))
		handle_path(serving, request, "run", rest, dfg_arrays_run);
	else if (begins(request->path, "/stream", &rest) && (!*rest || *rest == '/'))
		handle_path(serving, request, "stream", rest, dfg_stream_post);
	else if (begins(request->path, "/inference.GRPCInferenceService/", &rest))
		dfg_kserve_grpc(serving, request, rest);
	else if (begins(request->path, "/tensorflow.serving.", &rest))
		dfg_tensorflow_grpc(serving, request, rest);
	else if (!route_page(serving, request))
		dfg_serving_error(&serving->other, request, "none", dfg_grpc_is(request) ? 501 : 404,
			"unknown path %.200s; the paths are /, /v2, /v1/models/NAME, /run, /stream, /metrics and /trace",
			request->path);
}

/* Whether each '%' of a path has two digits after it, and is not a zero byte. */
static bool has_good_escapes(const char *path)
{
	for (; (path = strchr(path, '%')); path++)
		if (digit(path[1]) < 0 || digit(path[2]) < 0 || (path[1] == '0' && path[2] == '0'))
			return false;
	return true;
}

static bool has_plain_body(const struct dfg_web_request *request)
{
	const char *encoding = dfg_web_field(request, "content-encoding");
	return !encoding || !*encoding || !strcmp(encoding, "identity");
}

/* False: refused, because clients do not take their answers. Health and counters are always told. */
static bool has_space(struct dfg_serving *serving, struct dfg_web_request *request)
{
	if (dfg_web_has_space(request) || is_health(request->path) || !strcmp(request->path, "/metrics"))
		return true;
	dfg_serving_error(&serving->other, request, "none", 503,
		"the server holds too many bytes of answers that clients have not taken (--max-answers)");
	return false;
}

void dfg_serving_handle(void *arg, struct dfg_web_request *request)
{
	struct dfg_serving *serving = arg;
	bool is_known =
		!strcmp(request->method, "GET") || !strcmp(request->method, "HEAD") || !strcmp(request->method, "POST");
	if (!is_known)
		dfg_serving_error(
			&serving->other, request, "none", 405, "the method must be GET or POST, not %.20s", request->method);
	else if (!has_good_escapes(request->path))
		dfg_serving_error(&serving->other, request, "none", 400,
			"the path has a '%%' that two hexadecimal digits do not follow, or %%00");
	else if (!has_plain_body(request))
		dfg_serving_error(&serving->other, request, "none", 415,
			"the body must not be compressed: Content-Encoding is '%.40s'", dfg_web_field(request, "content-encoding"));
	else if (is_allowed(serving, request) && has_space(serving, request))
		route(serving, request);
}
