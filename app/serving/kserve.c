#include "app/serving/serving_private.h"

#include "app/tensor_text.h"

#include <stdio.h>
#include <string.h>

/*
 * The REST form of KServe's Open Inference Protocol, version 2. A tensor is {"name", "datatype", "shape", "data"}, its
 * elements in C order.
 */
static const char protocol[] = "kserve-rest";

/* The protocol's names of types. */
static const struct datatype {
	enum dfg_dtype dtype;
	const char *name;
} datatypes[] = {{DFG_BOOL, "BOOL"}, {DFG_U8, "UINT8"}, {DFG_U16, "UINT16"}, {DFG_U32, "UINT32"}, {DFG_U64, "UINT64"},
	{DFG_I8, "INT8"}, {DFG_I16, "INT16"}, {DFG_I32, "INT32"}, {DFG_I64, "INT64"}, {DFG_F16, "FP16"}, {DFG_BF16, "BF16"},
	{DFG_F32, "FP32"}, {DFG_F64, "FP64"}, {DFG_STRING, "BYTES"}};
enum { DATATYPES = sizeof datatypes / sizeof *datatypes };

const char *dfg_kserve_name(enum dfg_dtype dtype)
{
	for (int i = 0; i < DATATYPES; i++)
		if (datatypes[i].dtype == dtype)
			return datatypes[i].name;
	return NULL;
}

enum dfg_dtype dfg_kserve_dtype(const char *name)
{
	for (int i = 0; i < DATATYPES; i++)
		if (!strcmp(datatypes[i].name, name))
			return datatypes[i].dtype;
	return DFG_NO_DTYPE;
}

static void put_shape(struct dfg_json_out *json, const struct dfg_shape *shape)
{
	dfg_json_key(json, "shape"), dfg_json_open(json, '[');
	for (int i = 0; i < shape->rank; i++)
		dfg_json_int(json, shape->dim[i]);
	dfg_json_close(json, ']');
}

static void put_ports(struct dfg_json_out *json, const char *key, const struct dfg_serving_port *port, uint32_t count)
{
	dfg_json_key(json, key), dfg_json_open(json, '[');
	for (uint32_t i = 0; i < count; i++) {
		const char *type = dfg_kserve_name(port[i].dtype);
		dfg_json_open(json, '{');
		dfg_json_key(json, "name"), dfg_json_string(json, port[i].name);
		dfg_json_key(json, "datatype"), dfg_json_string(json, type ? type : dfg_dtype_name(port[i].dtype));
		put_shape(json, &port[i].shape);
		dfg_json_close(json, '}');
	}
	dfg_json_close(json, ']');
}

static void answer_metadata(struct dfg_served *served, struct dfg_web_request *request)
{
	struct dfg_json_out json = {0};
	struct dfg_live_model *live = dfg_served_live(served);
	dfg_json_open(&json, '{');
	dfg_json_key(&json, "name"), dfg_json_string(&json, served->name);
	dfg_json_key(&json, "versions"), dfg_json_open(&json, '['), dfg_serving_put_version(&json, NULL, live);
	dfg_json_close(&json, ']');
	dfg_json_key(&json, "platform"), dfg_json_string(&json, "dfg_graphdef");
	put_ports(&json, "inputs", live->in, live->n_in);
	put_ports(&json, "outputs", live->out, live->n_out);
	dfg_json_close(&json, '}');
	dfg_live_model_unref(live);
	dfg_serving_reply_json(served, request, protocol, &json);
}

/* {KEY: true} */
static void answer_true(struct dfg_served *served, struct dfg_web_request *request, const char *key)
{
	struct dfg_json_out json = {0};
	dfg_json_open(&json, '{');
	dfg_json_key(&json, key), dfg_json_bool(&json, true);
	dfg_json_close(&json, '}');
	dfg_serving_reply_json(served, request, protocol, &json);
}

static void answer_server(struct dfg_serving *serving, struct dfg_web_request *request)
{
	struct dfg_json_out json = {0};
	dfg_json_open(&json, '{');
	dfg_json_key(&json, "name"), dfg_json_string(&json, "dfg");
	dfg_json_key(&json, "version"), dfg_json_string(&json, DFG_VERSION);
	dfg_json_key(&json, "extensions"), dfg_json_open(&json, '[');
	dfg_json_string(&json, "binary_tensor_data"), dfg_json_close(&json, ']');
	dfg_json_close(&json, '}');
	dfg_serving_reply_json(&serving->other, request, protocol, &json);
}

void dfg_kserve_server(struct dfg_serving *serving, struct dfg_web_request *request)
{
	const char *rest = request->path + 3;
	bool is_repository = !strncmp(rest, "/repository", 11);
	if (!strcmp(request->method, "POST") && !is_repository)
		dfg_serving_error(&serving->other, request, protocol, 405, "the method of %.200s must be GET", request->path);
	else if (!strcmp(rest, "") || !strcmp(rest, "/"))
		answer_server(serving, request);
	else if (!strcmp(rest, "/health/live"))
		answer_true(&serving->other, request, "live");
	else if (!strcmp(rest, "/health/ready") && !serving->draining)
		answer_true(&serving->other, request, "ready");
	else if (!strcmp(rest, "/health/ready"))
		dfg_serving_error(&serving->other, request, protocol, 503, "the server is shutting down");
	else if (is_repository)
		dfg_serving_error(&serving->other, request, protocol, 501, "this server has no model repository");
	else
		dfg_serving_error(&serving->other, request, protocol, 404, "unknown path %.200s", request->path);
}

struct dfg_err *dfg_kserve_put_output(
	struct dfg_json_out *json, const struct dfg_serving_port *port, const struct dfg_tensor *value, bool is_binary)
{
	struct dfg_tensor flat = *value;
	const char *type = dfg_kserve_name(value->dtype);
	if (!type)
		return DFG_ERR(DFG_DATA, "output '%.200s' is %s, which this protocol cannot carry", port->name,
			dfg_dtype_name(value->dtype));
	flat.shape = DFG_SHAPE_VECTOR(dfg_shape_count(&value->shape));
	dfg_json_open(json, '{');
	dfg_json_key(json, "name"), dfg_json_string(json, port->name);
	dfg_json_key(json, "datatype"), dfg_json_string(json, type);
	put_shape(json, &value->shape);
	if (is_binary) {
		dfg_json_key(json, "parameters"), dfg_json_open(json, '{');
		dfg_json_key(json, "binary_data_size"), dfg_json_uint(json, dfg_kserve_binary_size(value));
		dfg_json_close(json, '}');
	} else {
		dfg_json_key(json, "data"), dfg_json_elements(json, &flat);
	}
	dfg_json_close(json, '}');
	return NULL;
}

/* Appends the outputs that are sent as bytes; a header field says where they begin. */
static void put_binary(struct dfg_serving_job *job, struct dfg_text *body, struct dfg_web_answer *answer)
{
	size_t json = body->length;
	bool any = false;
	for (uint32_t i = 0; i < job->n_output; i++)
		if (job->is_binary[job->output[i]]) {
			any = true;
			dfg_kserve_put(body, &job->value[i]);
		}
	if (!any)
		return;
	answer->type = "application/octet-stream";
	snprintf(answer->field, sizeof answer->field, "inference-header-content-length: %zu", json);
}

void dfg_kserve_begin_answer(struct dfg_json_out *json, const struct dfg_serving_job *job)
{
	dfg_json_open(json, '{');
	dfg_json_key(json, "model_name"), dfg_json_string(json, job->served->name);
	dfg_serving_put_version(json, "model_version", job->live);
	if (job->id)
		dfg_json_key(json, "id"), dfg_json_string(json, job->id);
	dfg_json_key(json, "outputs"), dfg_json_open(json, '[');
}

static struct dfg_err *answer(struct dfg_serving_job *job, struct dfg_web_answer *out_answer)
{
	struct dfg_json_out json = {0};
	struct dfg_err *err = NULL;
	dfg_kserve_begin_answer(&json, job);
	for (uint32_t i = 0; i < job->n_output && !err; i++)
		err = dfg_kserve_put_output(
			&json, &job->live->out[job->output[i]], &job->value[i], job->is_binary[job->output[i]]);
	dfg_json_close(&json, ']');
	dfg_json_close(&json, '}');
	dfg_text_put(&json.text, "\n", 1);
	put_binary(job, &json.text, out_answer);
	out_answer->body = json.text;
	return err;
}

static struct dfg_err *read_shape(const struct dfg_json *input, struct dfg_shape *out_shape)
{
	const struct dfg_json *shape;
	DFG_TRY(dfg_json_need(input, "shape", DFG_JSON_ARRAY, &shape));
	if (shape->count > DFG_RANK_MAX)
		return DFG_ERR(DFG_DATA, "\"shape\" has %zu dimensions, more than %d", shape->count, DFG_RANK_MAX);
	*out_shape = (struct dfg_shape){.rank = (int)shape->count};
	int axis = 0;
	for (const struct dfg_json *dim = shape->first; dim; dim = dim->next) {
		if (dim->kind != DFG_JSON_NUMBER || !dim->whole || dim->integer < 0)
			return DFG_ERR(DFG_DATA, "\"shape\" must be a list of integers of at least 0");
		out_shape->dim[axis++] = dim->integer;
	}
	return NULL;
}

/* Memory is bounded by the request's own size: an element takes at least a byte of it. */
static struct dfg_err *check_count(const struct dfg_shape *shape, size_t body)
{
	size_t bytes;
	DFG_TRY(dfg_shape_bytes(shape, DFG_U8, &bytes));
	return bytes <= body ? NULL
						 : DFG_ERR(DFG_DATA, "\"data\" has fewer elements than the shape %s", dfg_shape_words(shape).s);
}

static struct dfg_err *read_data(
	struct dfg_serving_job *job, const struct dfg_json *input, enum dfg_dtype dtype, struct dfg_tensor *out_tensor)
{
	const struct dfg_json *parameters = dfg_json_get(input, "parameters"), *data;
	struct dfg_shape shape;
	uint64_t size;
	DFG_TRY(read_shape(input, &shape));
	if (dfg_json_get(parameters, "binary_data_size")) {
		DFG_TRY(dfg_json_need_size(parameters, "binary_data_size", &size));
		return dfg_kserve_take(job, size, dtype, &shape, out_tensor);
	}
	DFG_TRY(dfg_json_need(input, "data", DFG_JSON_ARRAY, &data));
	DFG_TRY(check_count(&shape, job->request->size));
	return dfg_json_to_tensor(data, dtype, &shape, out_tensor);
}

static struct dfg_err *read_input(struct dfg_serving_job *job, const struct dfg_json *input, const char *name)
{
	const struct dfg_json *type;
	struct dfg_tensor tensor;
	uint32_t number;
	DFG_TRY(dfg_job_find_input(job, name, &number));
	DFG_TRY(dfg_json_need(input, "datatype", DFG_JSON_STRING, &type));
	enum dfg_dtype dtype = dfg_kserve_dtype(type->string);
	if (!dtype)
		return DFG_ERR(DFG_DATA, "unknown datatype '%.40s'", type->string);
	DFG_TRY(read_data(job, input, dtype, &tensor));
	return dfg_job_feed(job, number, &tensor);
}

static struct dfg_err *read_inputs(struct dfg_serving_job *job, const struct dfg_json *root)
{
	const struct dfg_json *inputs, *name;
	DFG_TRY(dfg_json_need(root, "inputs", DFG_JSON_ARRAY, &inputs));
	for (const struct dfg_json *input = inputs->first; input; input = input->next) {
		DFG_TRY(dfg_err_note(dfg_json_need(input, "name", DFG_JSON_STRING, &name), "an input"));
		DFG_TRY(dfg_err_note(read_input(job, input, name->string), "input '%.200s'", name->string));
	}
	if (job->binary_size)
		return DFG_ERR(DFG_DATA, "%zu bytes after the JSON belong to no input", job->binary_size);
	return NULL;
}

/* Whether the parameters of an output, or of the request for all outputs, ask for bytes. */
static bool wants_binary(const struct dfg_json *object, const char *key, bool otherwise)
{
	const struct dfg_json *value = dfg_json_get(dfg_json_get(object, "parameters"), key);
	return value && value->kind == DFG_JSON_BOOL ? value->truth : otherwise;
}

struct dfg_err *dfg_kserve_read_request(struct dfg_serving_job *job, const struct dfg_json *root)
{
	const struct dfg_json *outputs = dfg_json_get(root, "outputs"), *id = dfg_json_get(root, "id"), *name;
	bool all_binary = wants_binary(root, "binary_data_output", false);
	for (uint32_t i = 0; i < job->live->n_out; i++)
		job->is_binary[i] = all_binary;
	if (id)
		DFG_TRY(dfg_json_need(root, "id", DFG_JSON_STRING, &id));
	job->id = id ? id->string : NULL;
	if (outputs && outputs->kind != DFG_JSON_ARRAY)
		return DFG_ERR(DFG_DATA, "\"outputs\" must be a list");
	for (const struct dfg_json *output = outputs ? outputs->first : NULL; output; output = output->next) {
		DFG_TRY(dfg_err_note(dfg_json_need(output, "name", DFG_JSON_STRING, &name), "an output"));
		DFG_TRY(dfg_job_fetch(job, name->string));
		job->is_binary[job->output[job->n_output - 1]] = wants_binary(output, "binary_data", all_binary);
	}
	return read_inputs(job, root);
}

static void infer(struct dfg_served *served, struct dfg_web_request *request)
{
	struct dfg_serving_job *job = dfg_job_new(served, request, protocol);
	size_t size;
	if (!job)
		return;
	job->answer = answer;
	struct dfg_err *err = dfg_kserve_divide(job, &size);
	if (err)
		dfg_job_refuse(job, 400, err);
	else
		dfg_job_submit_json(job, size, dfg_kserve_read_request);
}

static void answer_stats(struct dfg_served *served, struct dfg_web_request *request)
{
	struct dfg_json_out json = {0};
	pthread_mutex_lock(&served->lock);
	uint64_t steps = served->steps, waiting = served->waiting;
	pthread_mutex_unlock(&served->lock);
	dfg_json_open(&json, '{');
	dfg_json_key(&json, "name"), dfg_json_string(&json, served->name);
	dfg_json_key(&json, "steps"), dfg_json_uint(&json, steps);
	dfg_json_key(&json, "waiting"), dfg_json_uint(&json, waiting);
	dfg_json_close(&json, '}');
	dfg_serving_reply_json(served, request, protocol, &json);
}

void dfg_kserve_model(struct dfg_served *served, struct dfg_web_request *request, const char *rest)
{
	bool is_infer = !strcmp(rest, "/infer"), is_post = !strcmp(request->method, "POST");
	if (is_infer != is_post)
		dfg_serving_error(served, request, protocol, 405, "the method of %.200s must be %s", request->path,
			is_infer ? "POST" : "GET");
	else if (is_infer)
		infer(served, request);
	else if (!*rest)
		answer_metadata(served, request);
	else if (!strcmp(rest, "/ready"))
		answer_true(served, request, "ready");
	else if (!strcmp(rest, "/stats"))
		answer_stats(served, request);
	else
		dfg_serving_error(
			served, request, protocol, 404, "model '%.100s' has no endpoint '%.100s'", served->name, rest);
}
